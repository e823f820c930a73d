"""The same targets guided by coverage, for as long as you like: see CONTRIBUTING.md.

Words after the target's name are for libFuzzer: options such as `-max_total_time=60`, and
folders with inputs, the first of which also receives new ones.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import atheris

sys.path.insert(0, str(Path(__file__).parents[1]))
with atheris.instrument_imports(include=["cudaswitch"]):
    from fuzz.targets import TARGETS, attempt


def main() -> None:
    if len(sys.argv) == 1 or sys.argv[1] not in TARGETS:
        sys.exit(f"name one of: {', '.join(map(repr, TARGETS))}")
    name = sys.argv.pop(1)
    seeds = Path(tempfile.mkdtemp(prefix="seeds-"))
    for number, seed in enumerate(TARGETS[name].seeds):
        (seeds / str(number)).write_bytes(seed)
    atheris.Setup([*sys.argv, str(seeds)], lambda data: attempt(name, data))
    atheris.Fuzz()


main()

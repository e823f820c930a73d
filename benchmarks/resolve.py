"""Time `resolve` over an environment of 1,000 distributions against a bare start of the command.

Run: python benchmarks/resolve.py [RUNS]
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

DISTRIBUTIONS = 1000
RUNS = 15


def environment(prefix: Path) -> Path:
    """Write an environment with many distributions, torch among them."""
    site = prefix / "lib/python3.11/site-packages"
    for number in range(DISTRIBUTIONS - 1):
        record = site / f"package_{number}-1.{number}.dist-info"
        record.mkdir(parents=True)
        (record / "METADATA").write_text(f"Name: package-{number}\nVersion: 1.{number}\n")
        (site / f"package_{number}").mkdir()
    record = site / "torch-2.5.1.dist-info"
    record.mkdir()
    (record / "METADATA").write_text("Name: torch\nVersion: 2.5.1\n")
    (site / "torch").mkdir()
    (site / "torch/version.py").write_text("__version__ = '2.5.1+cu124'\ncuda = '12.4'\n")
    (prefix / "pyvenv.cfg").write_text("home = /usr/bin\n")
    return prefix


def seconds(runs: int, *arguments: str | Path) -> float:
    """Return the best time of several runs: the machine's noise only ever adds."""
    command = [sys.executable, "-m", "cudaswitch", *map(str, arguments)]
    best = float("inf")
    for _ in range(runs):
        start = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        best = min(best, time.perf_counter() - start)
    return best


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else RUNS
    with tempfile.TemporaryDirectory() as folder:
        prefix = environment(Path(folder) / "env")
        resolve = seconds(runs, "resolve", "-p", prefix, "--driver", "580.65.06", "--cc", "9.0")
    print(f"resolve, {DISTRIBUTIONS} distributions  {resolve * 1000:6.1f} ms")
    for name, arguments in (("--help", ["--help"]), ("resolve --help", ["resolve", "--help"])):
        bare = seconds(runs, *arguments)
        print(f"{name:<28}{bare * 1000:6.1f} ms, ratio {resolve / bare:.2f}")


if __name__ == "__main__":
    main()

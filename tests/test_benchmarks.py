"""The benchmarks: what counts as the cost of an operation."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"


def test_what_only_a_first_round_does_is_no_cost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where a shell reads the whole integration at the first `use`."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import measure

    loop = measure.Loop("bash", "case ${slept-} in '') slept=1; sleep 0.2 ;; esac")
    bench = measure.Bench({"PATH": os.environ["PATH"]}, tmp_path)
    _, microseconds = bench._difference(loop, rounds=1)
    assert microseconds < 100_000

"""The benchmarks: what they print for somebody who has never run one, and what a cost is."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"


@pytest.mark.parametrize("name", ["switching", "resolve", "install", "download"])
def test_each_says_how_it_is_run(name: str) -> None:
    """Also where what it measures with is not installed: that is what somebody asks."""
    done = subprocess.run(
        [sys.executable, "-S", BENCHMARKS / f"{name}.py", "--help"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert "--times N" in done.stdout


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


def test_a_tool_that_does_nothing_has_no_cost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As Lmod, which succeeds where a library of its own is missing, or a shell that is."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import measure

    (tmp_path / "bash").symlink_to(shutil.which("bash") or "")
    bench = measure.Bench({"PATH": str(tmp_path)}, tmp_path)
    loop = measure.Loop("bash", "x=1", proof='[ "$x" = 2 ]')
    assert bench.check(loop) == "exit status 98: it did not do what it was to do"
    assert [bench.can_run(measure.Loop(shell, ":")) for shell in ("bash", "zsh", "zle")] == [
        True, False, False,
    ]  # fmt: skip

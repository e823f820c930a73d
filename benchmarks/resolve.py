"""Time `resolve` over an environment of 1,000 distributions against a bare start of the command.

The bare start is `cudaswitch --help`, which loads the command line and nothing of what it does;
`resolve --help` and `--version`, which starts without the command line, are there to compare.
Driver and GPU are given, as the time a machine takes to tell them is not ours. Runs alternate, so
that a machine that gets slower slows all of them; the best of each counts, as noise only adds.

Run: python benchmarks/resolve.py [--times N]
with an interpreter that cudaswitch is installed for.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

DISTRIBUTIONS = 1000
COMMANDS = {
    "resolve": ("resolve", "--driver", "580.65.06", "--cc", "9.0"),
    "--help": ("--help",),
    "resolve --help": ("resolve", "--help"),
    "--version": ("--version",),
}


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


def processor_seconds(variables: dict[str, str], arguments: tuple[str, ...]) -> float:
    """Run the command once and return its processor time, which other load hardly affects."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "-m", "cudaswitch", *arguments],
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=variables,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=15, metavar="N", help="runs of each command")
    runs = parser.parse_args().times
    with tempfile.TemporaryDirectory() as folder:
        prefix = environment(Path(folder) / "env")
        variables = os.environ | {
            "HOME": folder,
            "VIRTUAL_ENV": str(prefix),
            "PYTHONPATH": os.pathsep.join(sys.path[1:]),
        }
        # As installed, with compiled modules: pip writes those, a checkout may lack them.
        variables.pop("PYTHONDONTWRITEBYTECODE", None)
        timed: dict[str, list[float]] = {name: [] for name in COMMANDS}
        for _ in range(runs + 1):
            for name, arguments in COMMANDS.items():
                timed[name].append(processor_seconds(variables, arguments))
    best = {name: min(times[1:]) for name, times in timed.items()}
    print(f"{DISTRIBUTIONS} distributions, processor time, best of {runs}")
    for name, took in best.items():
        print(
            f"  {name:<16}{took * 1000:6.1f} ms, resolve costs {best['resolve'] / took:.2f} of it"
        )


if __name__ == "__main__":
    main()

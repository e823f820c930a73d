"""Time unpacking against the tools people use, in each format.

The conda packages hold a real toolkit, the `.tar.xz` its largest component; the wheel is cuBLAS
from PyPI, half a gigabyte unpacked: with a small one, start-up time decides.

Ours verifies every file against the package's own hashes and hashes the archive; the others do
what they do. Runs alternate, so that a machine that gets slower slows all of them; medians count.
On a busy machine, look at the processor time: the ratio of wall times tends to its ratio. Rivals
that are not installed are left out. Peak memory is of the process itself.

Run: python benchmarks/install.py [--times N] [--json FILE]
with an interpreter that cudaswitch and the tests' packages (filelock) are installed for.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from itertools import chain
from pathlib import Path

from present import is_present

ROOT = Path(__file__).parent.parent
CUBLAS = "nvidia-cublas-cu12==12.4.5.8"
OURS = """
import sys
from pathlib import Path
from cudaswitch.archives import unpacking
to = Path(sys.argv[2]); (to / "tree").mkdir(parents=True); (to / "info").mkdir()
unpacking.unpack(Path(sys.argv[1]), to / "tree", to / "info")
"""
MEASURE = """
import json, os, subprocess, sys, time
began = time.monotonic()
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_, status, used = os.wait4(process.pid, 0)
spent = {"wall": time.monotonic() - began, "cpu": used.ru_utime + used.ru_stime}
print(json.dumps(spent | {"peak": used.ru_maxrss / 1024}))
sys.exit(os.waitstatus_to_exitcode(status))
"""
"""A small process in between: a command inherits the peak memory of the process that execs it."""
RATTLER = """
import asyncio, sys
from rattler.package_streaming import extract
extract(sys.argv[1], sys.argv[2])
"""
Command = Callable[[Path, Path], list[str]]


def python(text: str) -> Command:
    return lambda archive, to: [sys.executable, "-c", text, str(archive), str(to)]


def tar(option: str) -> Command:
    return lambda archive, to: ["sh", "-c", f"mkdir '{to}' && tar x{option}f '{archive}' -C '{to}'"]


def cph(archive: Path, to: Path) -> list[str]:
    program = "from conda_package_handling.cli import main; main()"
    return [sys.executable, "-c", program, "x", str(archive), "--dest", str(to)]


def uv(archive: Path, to: Path) -> list[str]:
    return ["uv", "pip", "install", "-q", "--no-deps", "--no-cache", "--target", str(to),
            str(archive)]  # fmt: skip


def pip(archive: Path, to: Path) -> list[str]:
    return [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-cache-dir",
            "--no-compile", "--target", str(to), str(archive)]  # fmt: skip


RIVALS: dict[str, dict[str, Command]] = {
    "tar.bz2": {"tar": tar("j"), "cph": cph, "py-rattler": python(RATTLER)},
    "conda": {"cph": cph, "py-rattler": python(RATTLER)},
    "whl": {"uv": uv, "pip": pip},
    "tar.xz": {"tar": tar("J")},
}


def corpus(folder: Path) -> dict[str, Path]:
    """The toolkit as one conda package of each kind, its largest wheel and redist archive.

    The `.tar.bz2` is packed again as conda packs it: in one stream, with the highest compression.
    """
    sys.path.insert(0, str(ROOT / "tests"))
    try:
        import builders  # noqa: PLC0415  # in the tests' folder, not installed
    except ImportError as error:
        message = f"install.py: what it unpacks is packed by tests/builders: {error}"
        raise SystemExit(message) from None
    plain = builders.toolkit_conda_package("tar.bz2")
    single = folder / plain.name
    subprocess.run(["sh", "-c", f"bzip2 -dc '{plain}' | bzip2 -9 > '{single}'"], check=True)
    download = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(folder)]
    subprocess.run([*download, CUBLAS], check=True)
    return {
        "tar.bz2": single,
        "conda": builders.toolkit_conda_package("conda"),
        "whl": next(folder.glob("*.whl")),
        "tar.xz": max(builders.redist_archives(), key=lambda path: path.stat().st_size),
    }


def run(command: list[str]) -> dict[str, float]:
    """Run a command; return its seconds of wall and processor time and its peak memory (MiB)."""
    words = [sys.executable, "-ISc", MEASURE, *command]
    done = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=5, metavar="N", help="runs of each tool")
    parser.add_argument("--json", type=Path, metavar="FILE", help="file for every single run")
    options = parser.parse_args()
    results: dict[str, dict[str, dict[str, list[float]]]] = {}
    present = {rival for rival in dict.fromkeys(chain(*RIVALS.values())) if is_present(rival)}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for form, archive in corpus(folder).items():
            rivals = {tool: command for tool, command in RIVALS[form].items() if tool in present}
            tools = {"cudaswitch": python(OURS), **rivals}
            of_form = results[form] = {tool: {} for tool in tools}
            for _ in range(options.times):
                for tool, command in tools.items():
                    to = folder / "to"
                    for measure, value in run(command(archive, to)).items():
                        of_form[tool].setdefault(measure, []).append(value)
                    shutil.rmtree(to)
            ours = {key: statistics.median(found) for key, found in of_form["cudaswitch"].items()}
            for tool, found in of_form.items():
                middle = {key: statistics.median(values) for key, values in found.items()}
                wall, cpu = (ours[key] / middle[key] for key in ("wall", "cpu"))
                print(
                    f"{form:8} {tool:11} wall {middle['wall']:6.2f} s  cpu {middle['cpu']:6.2f} s"
                    f"  peak {middle['peak']:4.0f} MiB  ours: {wall:.2f} of wall, {cpu:.2f} of cpu",
                    flush=True,
                )
    if options.json:
        cores = len(os.sched_getaffinity(0))
        about = {"machine": platform.platform(), "cores": cores, "runs": options.times}
        options.json.write_text(json.dumps({**about, "results": results}, indent=1) + "\n")


if __name__ == "__main__":
    main()

"""Probe the machine: driver, GPUs, host compilers, C library. Bounded in time, never failing."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from cudaswitch.errors import RequestError
from cudaswitch.versions import Version

SMI_TIMEOUT = 5.0
"""Seconds that nvidia-smi may take; on a machine with a broken driver it can hang."""
DRIVER_VARIABLE = "CUDASWITCH_DRIVER"

_DRIVER = re.compile(r"\b(\d{3}\.\d{1,4}(?:\.\d{1,4})?)\b", re.ASCII)
_CC = re.compile(r"\d{1,2}\.\d", re.ASCII)
_GCC = re.compile(r"gcc-(\d{1,2})(?:\.exe)?$", re.ASCII)
_SMI = ("usr/bin/nvidia-smi", "usr/lib/wsl/lib/nvidia-smi", "opt/bin/nvidia-smi")


@dataclass(frozen=True)
class Machine:
    """What was found out; None and empty mean unknown."""

    driver: str | None = None
    driver_source: str = ""
    cc: tuple[str, ...] = ()
    cc_source: str = ""
    gcc: tuple[int, ...] = ()
    glibc: str | None = None


def probe(avoid: Path | None = None, root: Path = Path("/")) -> Machine:
    """Look at this machine. Nothing inside `avoid`, the environment, is ever started."""
    driver, source = kernel_driver(root)
    smi_driver, cc = nvidia_smi(find_smi(avoid, root))
    if driver is None and smi_driver:
        driver, source = smi_driver, "nvidia-smi"
    return Machine(
        driver=driver,
        driver_source=source,
        cc=cc,
        cc_source="nvidia-smi" if cc else "",
        gcc=host_gccs(root),
        glibc=glibc(),
    )


def asked_driver(driver: str | None) -> tuple[str | None, str]:
    """Read the driver that a person or CUDASWITCH_DRIVER names instead of the machine's.

    Raises RequestError when it is no driver version.
    """
    text, source = driver, "--driver"
    if text is None:
        text, source = os.environ.get(DRIVER_VARIABLE) or None, DRIVER_VARIABLE
    if text is None:
        return None, ""
    try:
        return str(Version(text.strip())), source
    except RequestError:
        raise RequestError(
            f"`{text}` is not a driver version (asked for by {source})",
            "write it as `nvidia-smi` does, for example 535.104.05",
        ) from None


def kernel_driver(root: Path = Path("/")) -> tuple[str | None, str]:
    """Read the version of the loaded NVIDIA kernel module, and from where."""
    for name in ("sys/module/nvidia/version", "proc/driver/nvidia/version"):
        try:
            with (root / name).open("rb") as file:
                text = file.read(4096).decode("ascii", errors="replace")
        except OSError:
            continue
        if match := _DRIVER.search(text):
            return match[1], f"/{name}"
    return None, ""


def find_smi(avoid: Path | None, root: Path = Path("/")) -> Path | None:
    """Find the system's nvidia-smi: its usual places, WSL's, then PATH outside `avoid`."""
    candidates = [root / name for name in _SMI]
    on_path = shutil.which("nvidia-smi")
    if on_path:
        candidates.append(Path(on_path))
    for path in candidates:
        inside = avoid is not None and avoid.resolve() in (path.resolve(), *path.resolve().parents)
        if not inside and os.access(path, os.X_OK):
            return path
    return None


def nvidia_smi(
    tool: Path | None, timeout: float = SMI_TIMEOUT
) -> tuple[str | None, tuple[str, ...]]:
    """Ask nvidia-smi for the driver and the compute capabilities, newest GPU first.

    Older ones do not know `compute_cap` and then tell the driver only.
    """
    if tool is None:
        return None, ()
    for fields in ("driver_version,compute_cap", "driver_version"):
        try:
            done = subprocess.run(
                [tool, f"--query-gpu={fields}", "--format=csv,noheader"],
                capture_output=True,
                timeout=timeout,
                check=False,
                text=True,
                errors="replace",
                stdin=subprocess.DEVNULL,
            )
        except (OSError, subprocess.TimeoutExpired):
            return None, ()
        driver = _DRIVER.search(done.stdout)
        if done.returncode == 0 and driver:
            rows = [line.rpartition(",")[2].strip() for line in done.stdout.splitlines()]
            found = {row for row in rows if "," in done.stdout and _CC.fullmatch(row)}
            return driver[1], tuple(sorted(found, key=Version, reverse=True))
    return None, ()


def host_gccs(root: Path = Path("/")) -> tuple[int, ...]:
    """List the majors of the installed gcc, the default one first, without starting any."""
    majors: list[int] = []
    default = shutil.which("gcc") if root == Path("/") else str(root / "usr/bin/gcc")
    folders = sorted((root / "usr/lib/gcc").glob("*/[0-9]*"))
    installed = sorted({int(f.name.split(".")[0]) for f in folders if f.name[0].isdigit()})
    if default and Path(default).exists():
        # Debian's gcc is a link to gcc-12; where it is a file of its own there is one only.
        match = _GCC.search(Path(default).resolve().name)
        majors += [int(match[1])] if match else installed[-1:]
    for major in reversed(installed):
        if major not in majors and (root / f"usr/bin/gcc-{major}").exists():
            majors.append(major)
    return tuple(majors)


def glibc() -> str | None:
    """Tell the version of this machine's glibc; None where it has another C library."""
    try:
        name, _, version = (os.confstr("CS_GNU_LIBC_VERSION") or "").partition(" ")
    except (AttributeError, OSError, ValueError):
        return None
    return version if name == "glibc" and re.fullmatch(r"\d+\.\d+", version) else None

"""Probe the machine: driver, GPUs, host compilers, C library. Bounded in time, never failing."""

from __future__ import annotations

import os
import platform
import re
from pathlib import Path

from cudaswitch.detect.gpus import DRIVER, gpus
from cudaswitch.errors import RequestError
from cudaswitch.namedtuples import NamedTuple
from cudaswitch.programs import is_program, search_path
from cudaswitch.regular import read_regular
from cudaswitch.versions import Version

DRIVER_VARIABLE = "CUDASWITCH_DRIVER"
_LEAST_DRIVER = 100

_GCC = r"(?a:gcc-(\d{1,2})$)"


class Machine(NamedTuple):
    """What was found out; None and empty mean unknown."""

    driver: str | None = None
    driver_source: str = ""
    cc: tuple[str, ...] = ()
    gcc: tuple[int, ...] = ()
    glibc: str | None = None


def probe(
    avoid: Path | None = None, root: Path = Path("/"), *, driver: bool = True, cc: bool = True
) -> Machine:
    """Look at this machine. Nothing inside `avoid`, the environment, is ever started.

    Without `driver` or `cc`, these are not looked for: the user has named others.
    """
    version, source = kernel_driver(root) if driver else (None, "")
    # Asking the GPUs takes longest by far, and they know the driver too.
    found = gpus(avoid, root) if cc or (driver and version is None) else None
    if driver and version is None and found:
        version, source = found.driver, found.source
    return Machine(
        driver=version,
        driver_source=source,
        cc=found.cc if found and cc else (),
        gcc=host_gccs(root),
        glibc=glibc(),
    )


def asked_driver(driver: str | None) -> tuple[str | None, str]:
    """Read the driver that an option or CUDASWITCH_DRIVER names instead of the machine's.

    Raises RequestError when it is not a driver version.
    """
    text, source = driver, "--driver"
    if text is None:
        text, source = os.environ.get(DRIVER_VARIABLE) or None, DRIVER_VARIABLE
    if text is None:
        return None, ""
    try:
        version = Version(text.strip())
    except RequestError:
        version = None
    # The driver of every CUDA known here has a major of three digits; 12.4 is a CUDA release.
    if version is None or version.major < _LEAST_DRIVER:
        raise RequestError(
            f"`{text}` is not a driver version (asked for by {source})",
            "give it as `nvidia-smi` shows it after `Driver Version` or `KMD Version`, for example"
            " 535.104.05",
        )
    return str(version), source


def kernel_driver(root: Path = Path("/")) -> tuple[str | None, str]:
    """Return the version of the loaded NVIDIA kernel module, and the file that states it."""
    for name in ("sys/module/nvidia/version", "proc/driver/nvidia/version"):
        try:
            text = read_regular(root / name, 4096, head=True).decode("ascii", errors="replace")
        except OSError:
            continue
        if match := re.search(DRIVER, text):
            return match[1], f"/{name}"
    return None, ""


def host_gccs(root: Path) -> tuple[int, ...]:
    """List the majors of the installed gcc, the default one first, without starting any."""
    majors: list[int] = []
    installed = _gccs_below(root / "usr")
    if real := _default_gcc(root):
        # Debian's gcc is a link to gcc-12; where it is a file of its own, as in an environment
        # module's folder, there is only one below that. A script that starts one has none there.
        match = re.search(_GCC, real)
        below = [int(match[1])] if match else _gccs_below(Path(real).parent.parent)
        majors += (below or installed)[-1:]
    for major in reversed(installed):
        if major not in majors and os.path.exists(root / f"usr/bin/gcc-{major}"):
            majors.append(major)
    return tuple(majors)


def _default_gcc(root: Path) -> str | None:
    """Return the file behind the default gcc, None if there is none.

    Links to ccache and its like stand in for the next one on PATH.
    """
    usual = f"{root}/usr/bin"
    folders = search_path(os.environ).split(os.pathsep) if root == Path("/") else [usual]
    programs = filter(is_program, (os.path.join(folder, "gcc") for folder in folders))
    found = list(map(os.path.realpath, programs))
    return next((it for it in found if "gcc" in os.path.basename(it)), next(iter(found), None))


def _gccs_below(prefix: Path) -> list[int]:
    """List the majors of the gcc that are installed below a prefix, the newest last."""
    # Cross compilers have folders there too, such as x86_64-w64-mingw32/12-win32.
    folders = (prefix / "lib/gcc").glob(f"{platform.machine()}-*linux*/*")
    matches = (re.fullmatch(r"(?a:(\d{1,3})[\d.]*)", folder.name) for folder in folders)
    return sorted({int(match[1]) for match in matches if match})


def glibc() -> str | None:
    """Tell the version of this machine's glibc; None if it has another C library."""
    try:
        name, _, version = (os.confstr("CS_GNU_LIBC_VERSION") or "").partition(" ")
    except (AttributeError, OSError, ValueError):
        return None
    return version if name == "glibc" and re.fullmatch(r"\d+\.\d+", version) else None

"""The files of this machine as its loader sees them, and what the loader has built in."""

from __future__ import annotations

import errno
import os
import platform
import re
from collections.abc import Hashable

from cudaswitch.binaries import read_elf
from cudaswitch.detect.machine import glibc
from cudaswitch.elf import MACHINES, Elf, ElfError
from cudaswitch.loader import System, parse_cache
from cudaswitch.regular import read_regular

_LIMIT = 16 << 20
"""Bytes of a file in /etc, /proc or of the loader itself that are read."""

_LOADERS = {"x86_64": "/lib64/ld-linux-x86-64.so.2", "aarch64": "/lib/ld-linux-aarch64.so.1"}
_FOLDER_LIST = re.compile(rb"(?<=\0)(?:/[\w+./-]*lib[\w+./-]*/\0)+")
_USUAL_FOLDERS = ("/lib64", "/usr/lib64", "/lib", "/usr/lib")

_LEVELS = {
    "x86-64-v2": "cx16 lahf_lm popcnt pni sse4_1 sse4_2 ssse3",
    "x86-64-v3": "abm avx avx2 bmi1 bmi2 f16c fma movbe",
    "x86-64-v4": "avx512bw avx512cd avx512dq avx512f avx512vl",
}
"""glibc-hwcaps folder → the flags of /proc/cpuinfo that it takes, besides those before it.

From sysdeps/x86_64/dl-hwcaps-subdirs.c and the x86-64 psABI, section 3.1.1.
"""

_HWCAPS_SINCE, _LEGACY_UNTIL = (2, 33), (2, 36)
"""glibc versions: the first with glibc-hwcaps, the last with `tls`, `haswell` and the like."""


class Disk:
    """Real files, each read once."""

    def __init__(self) -> None:
        self._read: dict[str, Elf | Exception | None] = {}

    def elf(self, path: str) -> Elf | None:
        """Read a file; None if none can be opened. Raises ElfError and OSError as `Files` says."""
        if path not in self._read:
            try:
                self._read[path] = read_elf(path)
            except (ElfError, OSError) as error:
                self._read[path] = None if _passed_over(path, error) else error
            except ValueError:  # a name with a NUL
                self._read[path] = None
        known = self._read[path]
        if isinstance(known, Exception):
            raise known
        return known

    def identity(self, path: str) -> Hashable:
        """Return device and inode."""
        try:
            status = os.stat(path)
        except OSError:
            return path
        return status.st_dev, status.st_ino


def _passed_over(path: str, error: Exception) -> bool:
    """Tell whether the loader goes on to the next folder after an error of opening."""
    if not isinstance(error, OSError):
        return False
    # The loader does not check whether a relative folder exists.
    here = not path.startswith("/") or os.path.isdir(os.path.dirname(path))
    return not here or error.errno in (errno.ENOENT, errno.EACCES)


def this_system(interpreter: str | None, directory: str) -> System:
    """Read what the loader of this machine has built in and reads from `/etc`.

    `interpreter` is the loader, by default that of the machine.
    """
    machine = platform.machine()
    loader = _head(interpreter or _LOADERS.get(machine, ""))
    defaults = _built_in(loader) or _USUAL_FOLDERS
    flags, vendor = _processor()
    version = tuple(map(int, (glibc() or "2.36").split(".")))
    hwcaps = _hwcaps(flags) if version >= _HWCAPS_SINCE else ()
    name, extra = _legacy(machine, flags, vendor) if version <= _LEGACY_UNTIL else (machine, ())
    subfolders = [f"glibc-hwcaps/{level}" for level in hwcaps]
    if version <= _LEGACY_UNTIL:
        subfolders += _combinations(("tls", name, *extra))
    return System(
        defaults=defaults,
        lib=next((at[5:] for at in defaults if at.startswith("/usr/")), "lib64"),
        platform=name,
        directory=directory,
        kind=(64, False, MACHINES.get(machine, 0)),
        subfolders=tuple(subfolders),
        hwcaps=hwcaps,
        cache=parse_cache(_head("/etc/ld.so.cache")),
        preload=_head("/etc/ld.so.preload").decode("utf-8", "surrogateescape"),
    )


def _head(path: str) -> bytes:
    try:
        return read_regular(path, _LIMIT, head=True)
    except OSError:
        return b""


def _built_in(loader: bytes) -> tuple[str, ...]:
    """Find the default folders in the loader's file: consecutive texts that end with a slash."""
    rows = [match[0].split(b"\0")[:-1] for match in _FOLDER_LIST.finditer(loader)]
    best = max(rows, key=len, default=[])
    return tuple(at.decode("ascii").rstrip("/") for at in best)


def _processor() -> tuple[set[str], str]:
    """Return the flags of the processor and its vendor."""
    text = _head("/proc/cpuinfo").decode("utf-8", "replace").partition("\n\n")[0]
    values = dict(re.findall(r"^(flags|Features|vendor_id)\s*:(.*)$", text, re.MULTILINE))
    flags = values.get("flags", "") + values.get("Features", "")
    return set(flags.split()), values.get("vendor_id", "").strip()


def _hwcaps(flags: set[str]) -> tuple[str, ...]:
    usable: list[str] = []
    for level, needs in _LEVELS.items():
        if not flags.issuperset(needs.split()):
            break
        usable.insert(0, level)
    return tuple(usable)


def _legacy(machine: str, flags: set[str], vendor: str) -> tuple[str, tuple[str, ...]]:
    """Return $PLATFORM, and the other names of subfolders, up to glibc 2.36.

    From `init_cpu_features` of sysdeps/x86/cpu-features.c and sysdeps/aarch64/dl-hwcap.h.
    """
    if machine == "aarch64":
        return machine, ("atomics",) if "atomics" in flags else ()
    if machine != "x86_64":
        return machine, ()
    if vendor != "GenuineIntel":
        return machine, ("x86_64",)
    if {"avx512cd", "avx512er", "avx512pf"} <= flags:
        return "xeon_phi", ("x86_64",)
    wide = {"avx512cd", "avx512bw", "avx512dq", "avx512vl"} <= flags
    haswell = {"avx2", "bmi1", "bmi2", "fma", "abm", "movbe", "popcnt"} <= flags
    return "haswell" if haswell else machine, (*(("avx512_1",) if wide else ()), "x86_64")


def _combinations(names: tuple[str, ...]) -> list[str]:
    """Join every choice of at least one name, in their order, to a path; that of all is first."""
    choices = range(2 ** len(names) - 1, 0, -1)
    places = range(len(names) - 1, -1, -1)
    paths = (
        "/".join(name for name, place in zip(names, places, strict=True) if choice >> place & 1)
        for choice in choices
    )
    return list(dict.fromkeys(paths))

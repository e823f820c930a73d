"""Toolkits that are already on the machine: where they are, and which version each is."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from shlex import quote

from cudaswitch.activation import LIBRARY_FOLDERS
from cudaswitch.archives.components import cudnn_version
from cudaswitch.download.urls import local_path
from cudaswitch.environments import kind_of
from cudaswitch.errors import CudaswitchError, RequestError, SourceError
from cudaswitch.platforms import at_home
from cudaswitch.programs import output_of
from cudaswitch.regular import read_regular
from cudaswitch.versions import Version

_PLACES = ("/usr/local/cuda", "/usr/local/cuda-*", "/opt/cuda", "/opt/cuda-*", "/opt/nvidia/cuda*")
_PARTS = (
    *("bin/nvcc.profile", "version.json", "version.txt", "nvvm"),
    *("include/cuda*.h", "targets/*/include/cuda*.h"),
    *("lib*/*cudart*", "targets/*/lib/*cudart*", "bin/*cudart*", "lib/x64/*cudart*"),
)
"""What shows that there is a toolkit, and not just something that is called nvcc."""
_READ_LIMIT = 1 << 20
_DATED = re.compile(r"[0-9]+\.[0-9]+\.20[0-9]{6}", re.ASCII)
"""What some toolkits of 11 and 12 state instead of their release: `11.8.20220929`."""


def resolved(path: Path) -> Path:
    """Return the toolkit's real folder, links resolved, so that no toolkit is counted twice.

    Raises SourceError when there is no toolkit.
    """
    place = Path(at_home(str(path)))
    try:
        real = place.resolve(strict=True)
    except (OSError, RuntimeError) as error:  # RuntimeError: a link to itself, before Python 3.13
        if isinstance(error, FileNotFoundError | NotADirectoryError) and not os.path.lexists(place):
            raise SourceError(f"there is no `{path}`", _way_to(str(path))) from None
        reason = getattr(error, "strerror", None) or "it cannot be resolved"
        raise SourceError(
            f"`{path}` is not a toolkit: {reason}", "cudaswitch adopt --scan"
        ) from None
    if os.path.isfile(real):
        whole = (at for at in real.parents if os.path.exists(at / "bin/nvcc") and _is_toolkit(at))
        top = next(whole, None)
        hint = f"adopt {quote(str(top))}" if top else f"install {quote(str(path))}"
        raise SourceError(f"`{path}` is a file", f"cudaswitch {hint}")
    if not _is_toolkit(real):
        raise SourceError(
            f"`{path}` is not a CUDA toolkit: it has neither bin/nvcc nor libcudart",
            "name the folder that CUDA_HOME would be, such as /usr/local/cuda",
        )
    return real


def _way_to(named: str) -> str:
    """Return the hint for what is not there; as a path, a URL has lost one of its two slashes."""
    if named.startswith("file:/") and os.path.isdir(folder := local_path(named)):
        return f"cudaswitch adopt {quote(str(folder))}"
    is_url = re.match(r"(?:https?|file|ftp):/", named)
    return "for a URL, use cudaswitch install" if is_url else "cudaswitch adopt --scan"


def refuse_environment(toolkit: Path) -> None:
    """Raise SourceError for a conda environment: its python would be on PATH with its nvcc.

    The hint says how to get only its CUDA. It names no source: conda has no nvcc up to CUDA 11.
    """
    if kind_of(toolkit) != "C":
        return
    try:
        release = version_of(toolkit).minor
    except SourceError:
        release = "VERSION"
    raise SourceError(
        f"`{toolkit}` is a conda environment, and its whole bin folder would be on PATH",
        f"cudaswitch install {release}, or the files of its CUDA packages",
    )


def scan(variables: Mapping[str, str]) -> dict[Path, Version]:
    """Find the machine's toolkits: the usual places, CUDA_HOME and the nvcc on PATH.

    Those in conda environments do not count.
    """
    candidates = [
        match for place in _PLACES for match in sorted(Path("/").glob(place.removeprefix("/")))
    ]
    candidates += [
        Path(variables[name]) for name in ("CUDA_HOME", "CUDA_PATH") if variables.get(name)
    ]
    for folder in variables.get("PATH", "").split(os.pathsep):
        if folder and os.path.isfile(Path(folder) / "nvcc.profile"):
            candidates.append(Path(folder).parent)
    found: dict[Path, Version] = {}
    for candidate in candidates:
        try:
            real = resolved(candidate)
            # Links lead to most of them again; finding the version anew may start nvcc.
            if real not in found and kind_of(real) != "C":
                found[real] = version_of(real)
        except CudaswitchError:
            continue
    return found


def version_of(toolkit: Path, *, runs: bool = True) -> Version:
    """Detect a toolkit's version by the first of these that states it:

    version.json, version.txt, `nvcc --version` (only if `runs`), cuda.h, the runtime's name.
    Raises SourceError when none does, or when nvcc has nothing of a toolkit next to it: it may
    be a wrapper in /usr/local/bin, whose version is that of a toolkit elsewhere.
    """
    if not any(any(toolkit.glob(part)) for part in _PARTS):
        raise SourceError(
            f"`{toolkit}` has bin/nvcc, but nothing else of a CUDA toolkit",
            "name the folder that this nvcc belongs to, or force it with --as VERSION",
        )
    for rung in _LADDER:
        if rung is _from_nvcc and not runs:
            continue
        try:
            if found := rung(toolkit):
                return Version(found)
        except (OSError, ValueError, RecursionError, RequestError):
            continue
    raise SourceError(
        f"cannot tell the version of the toolkit in `{toolkit}`", "state it: --as VERSION"
    )


def is_newer_than(toolkit: str, record: str) -> bool:
    """Tell whether the files that tell a toolkit's version are newer than its record in a store.

    If they are older, a version that is not theirs is the one that the user gave it (`--as`).
    """
    there = (f"{toolkit}/{at}" for at in ("version.json", "version.txt", "bin/nvcc"))
    changed = max((os.stat(at).st_ctime_ns for at in there if os.path.exists(at)), default=0)
    return changed > os.stat(record).st_ctime_ns


def cudnn_of(toolkit: Path) -> Version | None:
    """Read from its header which cuDNN was copied into a toolkit; None if there is none."""
    for header in ("cudnn.h", "cudnn_version.h"):
        try:
            found = cudnn_version(_head(toolkit / "include" / header))
        except OSError:
            continue
        if found:
            # The header may have been left behind when the library was removed.
            library = f"libcudnn.so.{found.partition('.')[0]}"
            there = any(os.path.exists(toolkit / at / library) for at in LIBRARY_FOLDERS)
            return Version(found) if there else None
    return None


def _is_toolkit(folder: Path) -> bool:
    return os.path.exists(folder / "bin" / "nvcc") or any(_runtimes(folder))


def _runtimes(toolkit: Path) -> list[Path]:
    folders = ("lib64", "lib", "targets/*/lib", "bin", "lib/x64")
    return [file for at in folders for file in sorted(toolkit.glob(f"{at}/*cudart*"))]


def _from_json(toolkit: Path) -> str | None:
    data = json.loads(_text(toolkit / "version.json"))
    cuda = data.get("cuda") if isinstance(data, dict) else None
    found = _number(cuda.get("version", "")) if isinstance(cuda, dict) else None
    return None if found and _DATED.fullmatch(found) else found


def _from_text(toolkit: Path) -> str | None:
    match = re.search(r"CUDA Version (\S+)", _text(toolkit / "version.txt"), re.ASCII)
    return _number(match[1]) if match else None


def _from_nvcc(toolkit: Path) -> str | None:
    said = output_of([str(toolkit / "bin" / "nvcc"), "--version"], os.environ)
    match = re.search(r"\bV([0-9.]+)", said or "", re.ASCII)
    return _number(match[1]) if match else None


def _from_header(toolkit: Path) -> str | None:
    match = re.search(
        r"^#define CUDA_VERSION\s+(\d+)",
        _text(toolkit / "include" / "cuda.h"),
        re.ASCII | re.MULTILINE,
    )
    number = int(match[1]) if match else 0
    return f"{number // 1000}.{number % 1000 // 10}" if number else None


def _from_soname(toolkit: Path) -> str | None:
    names = [file.name for file in _runtimes(toolkit)]
    matches = [re.fullmatch(r"libcudart\.so\.([0-9.]+)", name, re.ASCII) for name in names]
    numbers = [match[1] for match in matches if match]
    return _number(max(numbers, key=len)) if numbers else None


_LADDER: tuple[Callable[[Path], str | None], ...] = (
    _from_json,
    _from_text,
    _from_nvcc,
    _from_header,
    _from_soname,
)


def _number(text: object) -> str | None:
    match = re.match(r"\d+(?:\.\d+){0,4}", str(text), re.ASCII)
    return match[0] if match else None


def _text(path: Path) -> str:
    return _head(path).decode("utf-8", "replace")


def _head(path: Path) -> bytes:
    return read_regular(path, _READ_LIMIT, head=True)

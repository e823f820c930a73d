"""`cuda.lock`: the exact packages of a project's toolkits, as text that people can compare.

TOML, with one key a line and everything in a fixed order, so that a diff shows just what changed.
It has no date, no credentials, and no path except that of a package that is a file of this machine:
two people who lock the same packages write the same text.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import Any

from cudaswitch.download.urls import file_name, redact
from cudaswitch.errors import CudaswitchError, RequestError
from cudaswitch.platforms import PLATFORMS
from cudaswitch.regular import read_regular
from cudaswitch.toolkit import is_sha256
from cudaswitch.versions import Version

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

NAME = "cuda.lock"
FORMAT = 1
LIMIT = 1 << 20
"""Bytes of a lock file. A whole toolkit takes about 20 thousand."""
_DOTS = 50
"""Most dots in a line: the time to read a key grows with the square of its parts."""

_HEADER = """\
# The exact packages of this project's CUDA, written by `cudaswitch lock`. Keep it with the project.
# `cudaswitch sync` installs them on any machine. To change them, run `cudaswitch lock` again.
"""
_SOURCES = ("pypi", "nvidia", "conda", "runfile", "file")
_URL = re.compile(r"(?:https?|file)://[^\s\\\"'`<>\x00-\x1f\x7f]+", re.ASCII)
_LONGEST = 200
_WORD = re.compile(rf"[A-Za-z0-9_][A-Za-z0-9_.+!-]{{0,{_LONGEST - 1}}}", re.ASCII)
_OTHER = re.compile(r"[^A-Za-z0-9_.+-]|^[.+-]", re.ASCII)
_REQUEST = re.compile(r"[A-Za-z0-9_.+<>=!, -]{1,200}", re.ASCII)
_FORMS = (
    # conda packages, NVIDIA's archives, cuDNN's older ones, wheels, runfiles
    re.compile(r"(?P<name>.+)-(?P<version>[^-]+)-(?P<build>[^-]+)\.(?:conda|tar\.bz2)"),
    re.compile(
        r"(?P<name>[a-z0-9_]+)-(?:linux|windows)-[a-z0-9_]+-(?P<version>[0-9.]+)"
        r"(?:_(?P<build>cuda[0-9.]+))?-archive\..+"
    ),
    re.compile(r"(?P<name>cudnn)-(?P<build>[0-9.]+)-[^-]+-[^-]+-v(?P<version>[0-9.]+[0-9])\..+"),
    re.compile(
        r"(?P<name>[^-]+)-(?P<version>[^-]+)(?:-[0-9][^-]*)?-[^-]+-[^-]+-(?P<build>.+)\.whl"
    ),
    re.compile(r"(?P<name>cuda)_(?P<version>[0-9.]+[0-9])(?:_(?P<build>[0-9.]+))?_linux.*"),
)


@dataclass(frozen=True)
class Locked:
    """One package: what its file's name says about it, and the file; `size` in bytes, if known."""

    name: str
    version: str
    build: str
    source: str
    url: str
    sha256: str
    size: int | None = None

    @property
    def file(self) -> str:
        """The file's name, which no folder is part of."""
        return file_name(self.url)


@dataclass(frozen=True)
class LockedToolkit:
    """A request, and the packages that it resolved to on a platform.

    `release` is the CUDA release that the pieces belong to, None if a package tells it.
    """

    cuda: str
    cudnn: str | None
    platform: str
    release: str | None
    packages: tuple[Locked, ...]


def locked(url: str, sha256: str, size: int | None, source: str) -> Locked:
    """Return the row of a file, with name, version and build as far as its name tells them."""
    file = file_name(url)
    for form in _FORMS:
        match = form.fullmatch(file)
        # Somebody, such as a browser, may have renamed the file.
        if match and all(map(_WORD.fullmatch, filter(None, match.groups()))):
            found = match.groupdict()
            return Locked(
                found["name"], found["version"], found["build"] or "", source, url, sha256, size
            )
    return Locked(_OTHER.sub("_", file)[:_LONGEST], "", "", source, url, sha256, size)


def lock_text(toolkits: Sequence[LockedToolkit]) -> str:
    """Spell a lock file."""
    lines = [_HEADER, f"version = {FORMAT}"]
    for kit in sorted(toolkits, key=lambda one: (one.cuda, one.cudnn or "", one.platform)):
        lines += ["", "[[toolkit]]"]
        told = {"cuda": kit.cuda, "cudnn": kit.cudnn, "platform": kit.platform}
        lines += _pairs({**told, "release": kit.release})
        for package in sorted(kit.packages, key=lambda one: (one.name, one.url)):
            lines += ["", "[[toolkit.package]]", *_pairs(_public(package))]
    return "\n".join(lines) + "\n"


def _public(package: Locked) -> dict[str, str | int | None]:
    return vars(package) | {"url": redact(package.url)}


def _pairs(values: Mapping[str, str | int | None]) -> list[str]:
    # JSON strings of printable characters are valid TOML, which knows no pairs of surrogates;
    # reading refuses everything else.
    return [
        f"{key} = {json.dumps(value, ensure_ascii=False)}"
        for key, value in values.items()
        if value not in (None, "")
    ]


def read_lock(path: Path) -> tuple[LockedToolkit, ...]:
    """Read a lock file that anybody may have written; CudaswitchError says what is wrong."""
    try:
        content = read_regular(path, LIMIT)
    except (FileNotFoundError, NotADirectoryError):
        raise CudaswitchError(f"there is no file `{path}`", "create one: cudaswitch lock") from None
    except OSError as error:
        hint = "check who owns it, or run cudaswitch lock again"
        if isinstance(error, IsADirectoryError):
            hint = f"name a file in it: --lock {quote(str(path / NAME))}"
        raise CudaswitchError(f"cannot read `{path}`: {error.strerror}", hint) from None
    return parse_lock(content, path)


def parse_lock(content: bytes, path: Path) -> tuple[LockedToolkit, ...]:
    """Read the content of a lock file; `path` names it in messages."""
    if any(line.count(b".") > _DOTS for line in content.splitlines()):
        raise _unusable(path, "it has a line that cudaswitch did not write")
    try:
        # Some editors begin a file with a byte order mark.
        data = tomllib.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise _unusable(path, f"it is not valid TOML ({error})") from None
    if not data:
        raise _unusable(path, "it is empty")
    found = data.get("version")
    if found is None:
        raise _unusable(path, "it does not state the version of its format")
    if found != FORMAT:
        raise CudaswitchError(
            f"`{path}` has format {found!r:.20}, and this cudaswitch reads format {FORMAT}",
            "use the newer cudaswitch that wrote it, or run cudaswitch lock again",
        )
    return tuple(_toolkit(row, path) for row in _rows(data, "toolkit", path))


def _toolkit(row: Mapping[str, Any], path: Path) -> LockedToolkit:
    cuda, cudnn, release = (row.get(key) for key in ("cuda", "cudnn", "release"))
    for key, value in (("cuda", cuda), ("cudnn", cudnn)):
        if value is not None and not (isinstance(value, str) and _REQUEST.fullmatch(value)):
            raise _unusable(path, f"a toolkit has no valid `{key}`")
    if row.get("platform") not in PLATFORMS:
        raise _unusable(path, "a toolkit has no valid `platform`")
    try:
        if release is not None:
            Version(release)
    except (RequestError, TypeError, AttributeError):
        raise _unusable(path, "a toolkit has no valid `release`") from None
    packages = tuple(_package(one, path) for one in _rows(row, "package", path))
    if not packages:
        raise _unusable(path, "a toolkit has no packages")
    return LockedToolkit(cuda or "", cudnn, str(row["platform"]), release, packages)


def _package(row: Mapping[str, Any], path: Path) -> Locked:
    for key, fits in (("url", _URL.fullmatch), ("sha256", is_sha256), ("name", _WORD.fullmatch)):
        value = row.get(key)
        if not isinstance(value, str) or not fits(value):
            raise _unusable(path, f"a package has no valid `{key}`")
    for key in ("version", "build"):
        value = row.get(key, "")
        if not isinstance(value, str) or (value and not _WORD.fullmatch(value)):
            raise _unusable(path, f"{row['name']} has no valid `{key}`")
    size = row.get("size")
    if size is not None and (type(size) is not int or size <= 0):
        raise _unusable(path, f"{row['name']} has no valid `size`")
    if row.get("source") not in _SOURCES:
        raise _unusable(path, f"{row['name']} has no valid `source`")
    if row["source"] == "pypi" and not row.get("version"):
        raise _unusable(path, f"{row['name']} has no valid `version`")
    texts = {key: row.get(key, "") for key in ("name", "version", "build", "source", "url")}
    return Locked(**texts, sha256=row["sha256"], size=size)


def _rows(data: Mapping[str, Any], key: str, path: Path) -> list[Mapping[str, Any]]:
    rows = data.get(key, [])
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise _unusable(path, f"`{key}` is not a table")
    return rows


def _unusable(path: Path, reason: str) -> CudaswitchError:
    # A file of another name may not be a lock file at all.
    other = "name a lock file written by cudaswitch lock"
    hint = "run cudaswitch lock again" if path.name == NAME else other
    return CudaswitchError(f"cannot use `{path}`: {reason}", hint)

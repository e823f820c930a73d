"""What a conda package says of its own files: `info/paths.json` and the older lists.

Formats: conda-build's documentation, "Package metadata"; they are read as conda reads them.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from cudaswitch.archives.faults import DamagedError, UnsafeError, shown
from cudaswitch.archives.layout import text_of
from cudaswitch.archives.limits import MEMBERS
from cudaswitch.archives.members import check_text, safe_path
from cudaswitch.archives.placing import Placing
from cudaswitch.toolkit import is_sha256

PATHS, FILES = "info/paths.json", "info/files"
HAS_PREFIX, NO_LINK = "info/has_prefix", "info/no_link"
# Split in two, as in conda's own source, so that no tool replaces the placeholder in this file.
DEFAULT_PLACEHOLDER = "/opt/anaconda1anaconda2" + "anaconda3"
TYPES = {"hardlink": "file", "softlink": "link", "directory": "directory"}

Mode = Literal["text", "binary"]


@dataclass(frozen=True)
class Listed:
    """What the file list says of one path; None where it says nothing."""

    type: str | None = None
    size: int | None = None
    sha256: str | None = None
    placeholder: str | None = None
    mode: Mode | None = None
    copy: bool = False


def json_object(data: bytes, path: str) -> dict[str, Any]:
    """Return a JSON object in which no key occurs twice."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            raise UnsafeError(f"`{path}` is ambiguous")
        return found

    # Each bracket is one byte here, but the list or object takes a hundred times that in memory.
    if data.count(b"[") + data.count(b"{") > MEMBERS:
        raise UnsafeError(f"`{path}` lists more files than any CUDA package has")
    try:
        found = json.loads(text_of(data, path), object_pairs_hook=once)
    except ValueError as error:
        raise DamagedError(f"`{path}` is not valid JSON") from error
    if not isinstance(found, dict):
        raise DamagedError(f"`{path}` is not a JSON object")
    return found


def _lines(data: bytes, path: str) -> list[str]:
    return [safe_path(line.strip()) for line in text_of(data, path).splitlines() if line.strip()]


def _from_paths_json(data: bytes) -> dict[str, Listed]:
    found: dict[str, Listed] = {}
    records = json_object(data, PATHS).get("paths")
    if not isinstance(records, list):
        raise DamagedError(f"`{PATHS}` lists no paths")
    for record in records:
        path, said = _listed(record)
        if path in found:
            raise DamagedError(f"`{PATHS}` lists {shown(path)} twice")
        found[path] = said
    return found


def _listed(record: Any) -> tuple[str, Listed]:
    if not isinstance(record, dict) or not isinstance(record.get("_path"), str):
        raise DamagedError(f"`{PATHS}` lists something without a path")
    path = safe_path(record["_path"])
    kind, size, digest = (
        record.get("path_type", "hardlink"),
        record.get("size_in_bytes"),
        record.get("sha256"),
    )
    placeholder, mode = record.get("prefix_placeholder"), record.get("file_mode")
    sane = (
        isinstance(kind, str)
        and kind in TYPES
        and (size is None or type(size) is int)
        and (digest is None or (isinstance(digest, str) and is_sha256(digest)))
        and isinstance(record.get("no_link", False), bool)
        and (placeholder is None or (isinstance(placeholder, str) and mode in ("text", "binary")))
    )
    if not sane:
        raise DamagedError(f"`{PATHS}` is broken where it lists {shown(path)}")
    if placeholder is None:
        mode = None
    else:
        _check_placeholder(placeholder, path)
    # For links, conda-build records the size and hash of the target.
    if kind != "hardlink":
        size, digest = None, None
    copy = record.get("no_link", False)
    return path, Listed(TYPES[kind], size, digest, placeholder, mode, copy)


def _from_has_prefix(data: bytes) -> Iterator[tuple[str, str, Mode]]:
    """Yield path, placeholder, mode; a line is `path` or `placeholder mode path`, maybe quoted."""
    modes: dict[str, Mode] = {"text": "text", "binary": "binary"}
    for line in text_of(data, HAS_PREFIX).splitlines():
        try:
            words = [word.strip("\"'") for word in shlex.split(line, posix=False)]
        except ValueError as error:
            raise DamagedError(f"`{HAS_PREFIX}` has an invalid line") from error
        if not words:
            continue
        if len(words) == 1:
            words = [DEFAULT_PLACEHOLDER, "text", words[0]]
        if len(words) != 3 or words[1] not in modes:
            raise DamagedError(f"`{HAS_PREFIX}` has an invalid line")
        path = safe_path(words[2])
        _check_placeholder(words[0], path)
        yield path, words[0], modes[words[1]]


def _check_placeholder(placeholder: str, path: str) -> None:
    # A Windows placeholder has backslashes, which check_text refuses in names.
    check_text(placeholder.replace("\\", "/"))
    if len(placeholder) < 2:
        raise DamagedError(f"the placeholder in {shown(path)} is too short to be one")


def complete(placed: Placing, listed: dict[str, Listed] | None, texts: dict[str, bytes]) -> None:
    """Check what was placed against the list, and note on each entry how conda links it."""
    if listed is not None:
        for path, said in listed.items():
            _check(path, said, placed)
        extra = placed.entries.keys() - listed.keys()
        if extra:
            raise DamagedError(f"{shown(min(extra))} is not in its file list")
        for path, entry in placed.entries.items():
            said = listed[path]
            placed.entries[path] = entry._replace(
                placeholder=said.placeholder, mode=said.mode, copy=said.copy
            )
    if PATHS not in texts:
        for path, placeholder, mode in _from_has_prefix(texts.get(HAS_PREFIX, b"")):
            found = placed.entries.get(path)
            if found is None or found.target is not None:
                raise DamagedError(
                    f"`{HAS_PREFIX}` names {shown(path)}, which is not one of its files"
                )
            placed.entries[path] = found._replace(placeholder=placeholder, mode=mode)
    for path in _lines(texts.get(NO_LINK, b""), NO_LINK):
        if path in placed.entries:
            placed.entries[path] = placed.entries[path]._replace(copy=True)


def read_list(texts: dict[str, bytes]) -> dict[str, Listed] | None:
    """Return the file list among the metadata `texts`, by path; None when there is none."""
    if PATHS in texts:
        return _from_paths_json(texts[PATHS])
    if FILES in texts:
        return {path: Listed() for path in _lines(texts[FILES], FILES)}
    return None


def _check(path: str, said: Listed, placed: Placing) -> None:
    entry = placed.entries.get(path)
    if entry is None:
        if said.type == "directory" and placed.is_folder(path):
            return
        raise DamagedError(f"{shown(path)} is in its file list but not in the package")
    kind = "file" if entry.target is None else "link"
    if said.type not in (None, kind):
        raise DamagedError(f"{shown(path)} is a {kind}, and its file list says {said.type}")
    if said.size not in (None, entry.size) or said.sha256 not in (None, entry.sha256):
        raise DamagedError(
            f"{shown(path)} does not have the size and sha256 that its file list states"
        )

"""Packages laid out as files for any web server, in the way that their makers do it.

    conda/SUBDIR/...                  a channel, indexed by rattler: --channel URL/conda
    nvidia/PRODUCT/redist/...         NVIDIA's index: --from nvidia --mirror URL/nvidia
    nvidia/cuda/...                   runfiles, where NVIDIA has them: --from runfile --mirror
    simple/PROJECT/...                a simple index (PEP 503): --from pypi --mirror URL/simple
    files/...                         anything else: its URL

A tree can be added to: what is there stays, and is listed again.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from packaging.utils import canonicalize_name

from cudaswitch import settings
from cudaswitch.compat.redist import known_releases
from cudaswitch.compat.runfiles import runfiles
from cudaswitch.download.cache import file_sha256
from cudaswitch.durable import copy_atomically, write_atomically
from cudaswitch.errors import SourceError, StoreError, hint_for
from cudaswitch.lockfile import Locked
from cudaswitch.locks import passing
from cudaswitch.platforms import PLATFORMS
from cudaswitch.sources.redist import FOLDERS
from cudaswitch.versions import Version

_REDIST = re.compile(
    r"/(?P<product>cuda|cudnn)/redist/(?P<path>(?:[A-Za-z0-9_][A-Za-z0-9._+-]*/)*"
    r"[A-Za-z0-9_][A-Za-z0-9._+-]*)",
    re.ASCII,
)
_LINK = re.compile(r'<a href="(?P<file>[^"#]+)(?:#sha256=(?P<sha256>[0-9a-f]{64}))?">')
_PAGE = "<!DOCTYPE html>\n<html><body>\n{}</body></html>\n"


@dataclass(frozen=True)
class Item:
    """A file for a mirror: its row of a lock file, and the platform and release that it is of."""

    row: Locked
    platform: str
    release: str | None
    path: Path


def put(path: Path, folder: Path, name: str, sha256: str) -> Path:
    """Copy a file into a folder, whole or not at all; one that is there with this hash stays.

    If another file has the name, the copy goes into a folder of its own. Raises OSError.
    """
    final = folder / name
    if os.path.isfile(final):
        if file_sha256(final) == sha256:
            return final
        return put(path, folder / sha256, name, sha256)
    copy_atomically(path, final)
    return final


def require_indexer() -> None:
    """Raise SourceError if the library that indexes conda channels is missing."""
    try:
        import rattler.index  # noqa: F401, PLC0415  # an extra, and large
    except ImportError:
        raise SourceError(
            "indexing a conda channel requires py-rattler", "pip install 'cudaswitch[conda]'"
        ) from None


def lay_out(folder: Path, items: list[Item]) -> list[str]:
    """Add files to the tree in `folder`; return the parts of it, such as `conda`, that they are in.

    Raises StoreError if it cannot be written, SourceError if the indexer fails.
    """
    touched: dict[str, None] = {}
    try:
        # Locked, as indexes are read, and written again with what was added.
        with passing(folder, "mirror", settings.value("wait")):
            for item in items:
                touched |= dict.fromkeys(_PLACES[item.row.source](folder, item))
            if "conda" in touched:
                _index_channel(folder / "conda")
    except OSError as error:
        raise StoreError(
            f"cannot write `{error.filename or folder}`: {error.strerror}",
            hint_for(error, "name another folder"),
        ) from None
    return list(touched)


def _conda(folder: Path, item: Item) -> list[str]:
    subdir = PurePosixPath(unquote(urlsplit(item.row.url).path)).parent.name
    if subdir not in (*PLATFORMS, "noarch"):
        subdir = item.platform
    _replace(item, folder / "conda" / subdir / item.row.file)
    return ["conda"]


def _index_channel(channel: Path) -> None:
    import asyncio  # noqa: PLC0415  # few mirrors have a channel

    from rattler.index import index_fs  # noqa: PLC0415  # an extra, and large

    try:
        asyncio.run(index_fs(channel, write_zst=True, write_shards=False))
    except OSError:
        raise
    except Exception as error:  # its errors have no common base class
        why = " ".join(str(error).split())[:300]
        raise SourceError(f"cannot index `{channel}`: {why}") from None
    with contextlib.suppress(OSError):
        (channel / ".tmp").rmdir()


def _nvidia(folder: Path, item: Item) -> list[str]:
    found = _REDIST.search(unquote(urlsplit(item.row.url).path))
    if found is None:
        return _file(folder, item)
    product, path = found["product"], found["path"]
    redist = folder / "nvidia" / product / "redist"
    release = item.release if product == "cuda" else _cudnn_release(item.row.version)
    if release is None:
        raise SourceError(
            f"the lock file does not state the CUDA release of `{item.row.file}`",
            "create one that does: cudaswitch lock",
        )
    index = redist / f"redistrib_{release}.json"
    text = _with_entry(index, item, path)
    _replace(item, redist / path)
    write_atomically(index, text)
    # Servers need not list folders: this page is the listing.
    names = sorted(one.name for one in redist.glob("redistrib_*.json"))
    links = "".join(f'<a href="{escape(name)}">{escape(name)}</a><br>\n' for name in names)
    write_atomically(redist / "index.html", _PAGE.format(links))
    return ["nvidia"]


def _with_entry(index: Path, item: Item, path: str) -> str:
    """Return the text of an index with a file added to what it lists already."""
    row = item.row
    entry = {"relative_path": path, "sha256": row.sha256, "size": str(item.path.stat().st_size)}
    try:
        known: dict[str, Any] = json.loads(index.read_bytes()) if os.path.isfile(index) else {}
        component = known.setdefault(row.name, {"name": row.name})
        component["version"] = row.version
        if row.build.startswith("cuda"):
            major = row.build.partition(".")[0]
            component.setdefault(FOLDERS[item.platform], {})[major] = entry
        else:
            component[FOLDERS[item.platform]] = entry
    except (ValueError, TypeError, AttributeError, RecursionError):
        raise SourceError(
            f"`{index}` is not one of NVIDIA's indexes",
            "remove it, then mirror again what it listed",
        ) from None
    return json.dumps(known, indent=2, sort_keys=True) + "\n"


def _cudnn_release(version: str) -> str:
    """Name the index of a cuDNN as NVIDIA does: 9.1.0.70 is in that of 9.1.0."""
    full = Version(version)
    fitting = [str(one) for one in known_releases("cudnn") if full.starts_with(one)]
    return max(fitting, key=len) if fitting else ".".join(version.split(".")[:3])


def _runfile(folder: Path, item: Item) -> list[str]:
    known = next((each for each in runfiles() if each.sha256 == item.row.sha256), None)
    if known is None:
        return _file(folder, item)
    _replace(item, folder / "nvidia" / known.path)
    return ["nvidia"]


def _pypi(folder: Path, item: Item) -> list[str]:
    name = canonicalize_name(item.row.name)
    project = folder / "simple" / name
    _replace(item, project / item.row.file)
    page = project / "index.html"
    text = page.read_text(encoding="utf-8", errors="replace") if os.path.isfile(page) else ""
    hashes = {unquote(found["file"]): found["sha256"] for found in _LINK.finditer(text)}
    hashes[item.row.file] = item.row.sha256
    links = "".join(
        f'<a href="{quote(file)}#sha256={sha256 or file_sha256(project / file)}">'
        f"{escape(file)}</a><br>\n"
        for file, sha256 in sorted(hashes.items())
        if os.path.isfile(project / file)
    )
    write_atomically(page, _PAGE.format(links))
    names = sorted(one.name for one in project.parent.iterdir() if os.path.isdir(one))
    links = "".join(f'<a href="{quote(one)}/">{escape(one)}</a><br>\n' for one in names)
    write_atomically(project.parent / "index.html", _PAGE.format(links))
    return ["simple"]


def _file(folder: Path, item: Item) -> list[str]:
    put(item.path, folder / "files", item.row.file, item.row.sha256)
    return ["files"]


def _replace(item: Item, final: Path) -> None:
    """Put a file where the index names it; another file there is replaced."""
    if os.path.isfile(final) and file_sha256(final) == item.row.sha256:
        return
    copy_atomically(item.path, final)


_PLACES: dict[str, Callable[[Path, Item], list[str]]] = {
    "conda": _conda,
    "nvidia": _nvidia,
    "pypi": _pypi,
    "runfile": _runfile,
    "file": _file,
}
"""Source → what lays out its files, and returns the parts of the tree that they are in."""

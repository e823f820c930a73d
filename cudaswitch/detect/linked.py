"""Packages whose files are outside site-packages: editable installs, `develop`, eggs."""

from __future__ import annotations

import os
from pathlib import Path

from cudaswitch.detect.packages import Dist, normalised
from cudaswitch.detect.reading import Reading

_SCHEME = "file://"


def files_of(dist: Dist, reading: Reading) -> Path:
    """Return the folder that a distribution's packages are imported from.

    That is its site-packages, unless it was installed with `pip install -e` (PEP 610).
    """
    if not dist.folder.endswith(".dist-info"):
        return dist.site
    told = reading.json_values(dist.record / "direct_url.json")
    url = str(told.get("url"))
    if told.get("dir_info.editable") is not True or not url.startswith(_SCHEME):
        return dist.site
    from urllib.parse import unquote  # noqa: PLC0415  # few are editable

    tree = unquote(url.removeprefix(_SCHEME).removeprefix("localhost"))
    return _tree(tree, dist.record / "direct_url.json", reading) or dist.site


def develop_install(link: Path, reading: Reading) -> Dist | None:
    """Follow the `.egg-link` of `setup.py develop` to the source tree that it names."""
    path = (reading.text(link) or "").partition("\n")[0].strip()
    tree = _tree(path, link, reading) if path else None
    if tree is None:
        return None
    name = normalised(link.name.removesuffix(".egg-link"))
    folders = [it for it in reading.names(tree) if it.endswith(".egg-info")]
    info = next((it for it in folders if normalised(it.removesuffix(".egg-info")) == name), "")
    pairs = dict(reversed(reading.metadata(tree / info / "PKG-INFO"))) if info else {}
    return Dist(name, pairs.get("version", ""), info, tree)


def _tree(path: str, told_by: Path, reading: Reading) -> Path | None:
    if not (path.isprintable() and os.path.isabs(path) and os.path.isdir(path)):
        reading.note("names a source tree that is not there", told_by)
        return None
    reading.note(f"is installed from the source tree {path}", told_by)
    return Path(path)

"""Downloading what an index describes, and giving the files the names they have there."""

from __future__ import annotations

import tempfile
from pathlib import Path

from cudaswitch.download.several import fetch_all
from cudaswitch.download.urls import file_name, redact
from cudaswitch.durable import make_link
from cudaswitch.errors import StoreError
from cudaswitch.install import Artifact
from cudaswitch.paths import cache
from cudaswitch.sources import Chosen, Delivery


def bring(found: Chosen, source: str, *, workdir: Path, offline: bool) -> Delivery:
    """Download what was chosen, several files at once, under the names that their URLs end with."""
    files = fetch_all(found.files, cache(), offline=offline)
    artifacts = tuple(
        Artifact(named(file, file_name(each.url), workdir), redact(each.url), source, each.sha256)
        for each, file in zip(found.files, files, strict=True)
    )
    return Delivery(artifacts, found.toolkit)


def named(path: Path, name: str, workdir: Path) -> Path:
    """Return a path to the file that ends in `name`, its name at its origin ("" if unknown).

    The cache names files by content, but an archive's name may tell what it is. Each link is in a
    fresh folder in `workdir`, as others may have the same name. Raises StoreError.
    """
    if name in ("", path.name):
        return path
    try:
        link = Path(tempfile.mkdtemp(prefix="named-", dir=workdir)) / name
        make_link(link, path.absolute())
    except OSError as error:
        raise StoreError(f"cannot write to `{workdir}`: {error.strerror}") from None
    return link

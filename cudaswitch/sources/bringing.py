"""What an index describes, brought onto this machine under the names that it has there."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from cudaswitch.download.several import Wanted, fetch_all
from cudaswitch.download.urls import file_name, redact
from cudaswitch.errors import StoreError
from cudaswitch.install import Artifact
from cudaswitch.paths import cache


def bring(
    wanted: Sequence[Wanted], source: str, *, workdir: Path, offline: bool
) -> tuple[Artifact, ...]:
    """Download the files, several at once, and name them in a fresh folder in `workdir`.

    The cache names files by content, and archives tell with their names what they are.
    """
    files = fetch_all(wanted, cache(), offline=offline)
    try:
        folder = Path(tempfile.mkdtemp(prefix=f"{source}-", dir=workdir))
        artifacts = []
        for each, file in zip(wanted, files, strict=True):
            name = folder / file_name(each.url)
            name.symlink_to(file.absolute())
            artifacts.append(Artifact(name, redact(each.url), source))
    except OSError as error:
        raise StoreError(f"cannot write in `{workdir}`: {error.strerror}") from None
    return tuple(artifacts)

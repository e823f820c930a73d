"""Files on this machine and on the web, as they are named on the command line."""

from __future__ import annotations

import os
import re
from pathlib import Path

from cudaswitch.download import first_use
from cudaswitch.download.fetching import fetch, open_local
from cudaswitch.download.urls import file_name, redact
from cudaswitch.errors import RequestError
from cudaswitch.install import Artifact
from cudaswitch.platforms import at_home
from cudaswitch.sources import Delivery
from cudaswitch.sources.bringing import named
from cudaswitch.versions import parse_request

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/")
_ARCHIVE = re.compile(
    r".*\.(?:conda|whl|zip|tgz|tbz2?|txz|run|deb|gz|bz2|xz|zst)|cuda_[0-9._]+_linux(?:-run)?",
    re.IGNORECASE,
)
"""Names of archives; the runfiles of CUDA 8 to 10.0 end in `_linux` or `_linux-run`."""


def is_url(what: str) -> bool:
    """Tell whether `what` is written as a URL, of whatever kind."""
    return bool(_URL.match(what))


def names_file(what: str) -> bool:
    """Tell whether `what` names a URL or a path rather than a version.

    If it can be a version, it does not matter whether the working directory has such a file.
    """
    # A lock file is not a package; refused as a version, it gets a hint at the right command.
    if what.endswith(".lock") and not is_url(what):
        return False
    is_path = os.sep in what or (what.startswith("~") and not what.startswith("~="))
    if is_path or _ARCHIVE.fullmatch(what):
        return True
    try:
        parse_request(what)
    except RequestError:
        # Downloads have all kinds of endings; a file that is not an archive is refused as such.
        return os.path.lexists(what)
    return False


def obtain(
    what: str,
    *,
    cache: Path,
    workdir: Path,
    sha256: str | None = None,
    offline: bool = False,
) -> Delivery:
    """Bring the file that a path or URL names, checked against `sha256` if given.

    A downloaded file gets its own name in `workdir`, since the cache names it by content,
    and only the name of an old cuDNN archive says what it is.
    A URL without `sha256` must deliver the same file as before, if one is remembered.
    Raises SourceError, StoreError or RequestError, as `fetch` does.
    """
    asked = sha256.lower() if sha256 else None
    if not is_url(what):
        path = open_local(Path(at_home(what)), sha256=asked)
        return Delivery((Artifact(path, str(path.absolute()), None, asked),))
    path = fetch(what, cache, sha256=asked, offline=offline)
    if what.lower().startswith("file:"):
        return Delivery((Artifact(path, redact(what), None, asked),))
    # The cache names files by their hash.
    if asked is None:
        first_use.compare(cache, what, path.name)
    link = named(path, file_name(what), workdir)
    return Delivery((Artifact(link, redact(what), None, path.name),))


def remember(what: str, delivery: Delivery, cache: Path) -> None:
    """Record the sha256 that a URL delivered (trust on first use); paths are not recorded."""
    [artifact] = delivery.artifacts
    if is_url(what) and not what.lower().startswith("file:") and artifact.sha256:
        first_use.remember(cache, what, artifact.sha256)

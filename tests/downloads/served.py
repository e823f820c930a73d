"""What the server of these tests has, and what a download leaves of it on disk."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from cudaswitch.download.fetching import fetch
from cudaswitch.errors import SourceError
from http_modes import random_bytes

CONTENT = random_bytes(1 << 20)
HASH = hashlib.sha256(CONTENT).hexdigest()


def whole_files(cache: Path) -> list[str]:
    return sorted(path.name for path in cache.glob("*") if path.is_file())


def parts(cache: Path) -> list[Path]:
    return list(cache.glob("urls/*.part"))


def leave_part(cache: Path, url: str, sha256: str | None = None) -> None:
    """Let one try end halfway, as with a broken connection."""
    os.environ["CUDASWITCH_RETRIES"] = "0"
    with pytest.raises(SourceError):
        fetch(url, cache, sha256=sha256)
    os.environ["CUDASWITCH_RETRIES"] = "1"

"""Licences of downloads: each is announced once, and a note of that is kept.

NVIDIA lets its archives be downloaded without a question; to install them is to accept the
licence. So nothing is asked, and the note says which licence that was and when.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection
from datetime import datetime, timezone

from cudaswitch import talk
from cudaswitch.download.cache import write_note
from cudaswitch.download.urls import redact
from cudaswitch.paths import cache
from cudaswitch.sources.redist import LICENCES


def tell_once(licence: str, url: str) -> None:
    """Say on stderr, once for each licence, that it applies, and that it can be read at `url`.

    What was said is noted in `<cache>/licences/`. Raises StoreError if that is impossible.
    """
    url = redact(url)
    name = re.sub(r"[^a-z0-9]+", "-", licence.lower()).strip("-")
    note = cache() / "licences" / f"{name}.json"
    if os.path.exists(note):
        return
    talk.show(f"licence: {licence}, accepted by installing: {url}")
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    said = {"licence": licence, "url": url, "accepted": now}
    write_note(note, json.dumps(said, indent=2) + "\n")


def tell_of_locked(urls: Collection[str]) -> None:
    """Do the same for archives of NVIDIA's index that are known only by their URLs."""
    for product, usual in LICENCES.items():
        if any(f"/{product}/redist/" in url for url in urls):
            tell_once(*usual)

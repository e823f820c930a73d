"""The places that the user has set for packages, with their credentials.

Lock files and the store keep URLs without credentials; to fetch from there again, they are needed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from urllib.parse import unquote

from cudaswitch import settings
from cudaswitch.download.urls import redact
from cudaswitch.errors import CudaswitchError
from cudaswitch.sources.channels import places, usual_channels
from cudaswitch.sources.condarc import read_condarc


def with_credentials(url: str) -> str:
    """Return a redacted URL with the credentials of the place that it belongs to.

    It is returned as it was if no such place is set. Credentials never go to a server, or to
    a folder on it, other than the one they were set for.
    """
    for place in _known():
        shown = redact(place)
        below = url.removeprefix(f"{shown}/")
        # A server may follow `..` upwards, however it is encoded.
        if shown != place and below != url and ".." not in unquote(below).split("/"):
            return f"{place}/{below}"
    return url


def _known() -> Iterator[str]:
    for name in ("mirrors.conda", "mirrors.nvidia"):
        if url := settings.value(name):
            yield url.rstrip("/")
    try:
        conda = read_condarc(os.environ)
        for name in usual_channels():
            for place in places(name, conda):
                yield from place.urls
    except CudaswitchError:
        # Commands that use a channel report what is wrong with the settings.
        return
    yield from filter(None, (conda.channel_alias, *conda.custom_channels.values()))

"""Where the person has said that packages lie, with the credentials for there.

Lock files and the store keep URLs without them; whoever asks that place again needs them again.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from urllib.parse import unquote

from cudaswitch import settings
from cudaswitch.download.urls import redact
from cudaswitch.errors import CudaswitchError
from cudaswitch.sources.channels import places, usual_channels
from cudaswitch.sources.condarc import NOTHING_SET, read_condarc


def with_credentials(url: str) -> str:
    """Return a redacted URL with the credentials of the place that it lies in.

    It comes back as it was where nobody has set such a place. Credentials never go to another
    server, nor to another folder of it, than they were set for.
    """
    for place in _known():
        shown = redact(place)
        below = url.removeprefix(f"{shown}/")
        # Whoever is asked goes up by `..`, however that is spelt.
        if shown != place and below != url and ".." not in unquote(below).split("/"):
            return f"{place}/{below}"
    return url


def _known() -> Iterator[str]:
    for name in ("mirrors.conda", "mirrors.nvidia"):
        if url := settings.value(name):
            yield url.rstrip("/")
    conda = NOTHING_SET
    try:
        conda = read_condarc(os.environ)
        for name in usual_channels():
            for place in places(name, conda):
                yield from place.urls
    except CudaswitchError:
        # Who uses a channel is told what is wrong with the settings.
        return
    yield from filter(None, (conda.channel_alias, *conda.custom_channels.values()))

"""A web page as text, such as a server's listing of a folder: small, and not kept."""

from __future__ import annotations

from cudaswitch.download.access import Limits
from cudaswitch.download.client import Session, ask, read_some
from cudaswitch.download.failures import TransientError, broken
from cudaswitch.download.patience import Pace
from cudaswitch.download.urls import refused


def read_page(url: str, limit: int) -> str:
    """Return the page at `url`, which may have `limit` bytes. There are no retries.

    Raises SourceError; NotFoundError if there is no such page.
    """
    limits = Limits.from_environment()
    text = bytearray()
    try:
        with Session() as session, ask(session, url, {}, limits) as response:
            if response.status_code != 200:
                raise broken(url, response)
            pace = Pace(limits)
            while piece := read_some(response, limits):
                text += piece
                pace.check(len(piece))
                if len(text) > limit:
                    raise refused(url, f"it is larger than {limit} bytes", "check the URL")
    except TransientError as cut:
        raise refused(url, cut.reason, "check the network and the URL") from None
    return text.decode(errors="replace")

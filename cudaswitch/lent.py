"""What requests mean that only a shared store answers, kept until one of the stores changes.

The ready answers of one's own store are written when it changes. Nobody is told when another
person's does, so shells compare what it offers (`__cudaswitch_lent`): lent/NAME holds what
CUDASWITCH_STORES or `requests/.stores` said, the stores, their fingerprints, and the want. Times
would tell nothing of a store that is replaced by another one.
"""

from __future__ import annotations

import contextlib
import os

from cudaswitch import settings
from cudaswitch.activation import Want
from cudaswitch.errors import CudaswitchError
from cudaswitch.ownership import is_anothers
from cudaswitch.paths import home, listed, stores
from cudaswitch.platforms import expanded
from cudaswitch.store import all_stores, newest, offered
from cudaswitch.versions import Request

_MOST = 50
"""Answers that are kept, which are all dropped then: some script may ask for ever new ones."""


def state() -> str | None:
    """Return what tells one state of the shared stores from another; None where one is closed."""
    offers = [offered(store) for store in stores()[1:]]
    return None if None in offers else "".join(f":{each}" for each in offers)


def keep(request: Request, want: Want, offers: str | None) -> None:
    """Keep what a request means that the person's own store has no answer to.

    `want` is without what the request says besides, `offers` the `state` of
    before it was looked up. Nothing is kept where nothing may be written, or that is not known.
    """
    from cudaswitch.durable import write_atomically  # noqa: PLC0415  # as all that is for writing
    from cudaswitch.staging import plain_modes, require_writable  # noqa: PLC0415

    own, *shared = stores()
    folders = [store.folder for store in shared]
    is_named = request.prefix is not None or request.is_range or request.text == "latest"
    if not is_named or not shared or not os.path.exists(own.layout) or is_anothers(own.folder):
        return
    # In these the lines and folders of the file have their ends.
    if offers is None or any(end in folder for folder in folders for end in ":\n"):
        return
    with contextlib.suppress(CudaswitchError, OSError), plain_modes(own.root):
        named = filter(None, (newest(request, store.toolkits()) for store in all_stores()))
        meant = next(named, None)
        # What is away for a while is meant again when it is back.
        if meant is None or meant.path != want.home:
            return
        require_writable(own)
        own.lent.mkdir(exist_ok=True)
        if len(listed(own.lent)) >= _MOST:
            forget()
        text = f"{_said()}\n{os.pathsep.join(folders)}\n{offers}\n{want}\n"
        # It can be looked up again.
        write_atomically(own.lent / str(request), text, lasting=False)


def _said() -> str:
    """Return what shells can see of the shared stores without Python."""
    written = os.pathsep.join(map(expanded, settings.stores_in_file()))
    return os.environ.get("CUDASWITCH_STORES") or written


def forget() -> None:
    """Drop all of them: the settings, or what one's own store has, are others now."""
    folder = home().at("lent")
    for name in listed(folder):
        with contextlib.suppress(OSError):
            os.unlink(f"{folder}/{name}")

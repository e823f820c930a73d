"""Answers to requests that only a shared store satisfies, kept until one of the stores changes.

The ready answers of the user's own store are written when it changes. Nobody is told when a
shared one does, so shells compare what it offers (`__cudaswitch_lent`): lent/NAME holds what
CUDASWITCH_STORES or `requests/.stores` said, the stores, their fingerprints, and the want. File
times would not show that a store was replaced by another one.
"""

from __future__ import annotations

import contextlib
import os

from cudaswitch import settings
from cudaswitch.activation import Want
from cudaswitch.errors import CudaswitchError
from cudaswitch.ownership import is_another_users
from cudaswitch.paths import home, listed, stores
from cudaswitch.store import all_stores, newest, offered
from cudaswitch.versions import Request

_MOST = 50
"""Limit of kept answers; when reached, all are dropped: a script may ask for ever new ones."""


def state() -> str | None:
    """Return a text that differs for each state of the shared stores; None if one is closed."""
    offers = [offered(store) for store in stores()[1:]]
    return None if None in offers else "".join(f":{each}" for each in offers)


def keep(request: Request, want: Want, offers: str | None) -> None:
    """Keep the answer to a request that the user's own store has no answer to.

    `want` is without the request's other options, `offers` is the `state` from before the
    lookup. Nothing is kept if nothing may be written, or if that state is not known.
    """
    from cudaswitch.durable import write_atomically  # noqa: PLC0415  # as all that is for writing
    from cudaswitch.staging import plain_modes, require_writable  # noqa: PLC0415

    own, *shared = stores()
    folders = [store.folder for store in shared]
    is_named = request.prefix is not None or request.is_range or request.text == "latest"
    if not is_named or not shared or not os.path.exists(own.layout) or is_another_users(own.folder):
        return
    # These characters end folders and lines in the file.
    if offers is None or any(end in folder for folder in folders for end in ":\n"):
        return
    with contextlib.suppress(CudaswitchError, OSError), plain_modes(own.root):
        named = filter(None, (newest(request, store.toolkits()) for store in all_stores()))
        meant = next(named, None)
        # A toolkit that is away for now is meant again once it is back.
        if meant is None or meant.path != want.home:
            return
        require_writable(own)
        if len(listed(own.lent)) >= _MOST:
            forget()
        text = f"{_said()}\n{os.pathsep.join(folders)}\n{offers}\n{want}\n"
        # No flush: it can be looked up again.
        write_atomically(own.lent / str(request), text, lasting=False)


def _said() -> str:
    """Return what shells can see of the shared stores without Python."""
    return os.environ.get("CUDASWITCH_STORES") or settings.stores_in_file()


def forget() -> None:
    """Drop all kept answers: the settings or the user's own store have changed."""
    folder = home().at("lent")
    for name in listed(folder):
        with contextlib.suppress(OSError):
            os.unlink(f"{folder}/{name}")

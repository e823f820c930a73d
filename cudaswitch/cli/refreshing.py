"""What is updated after each change of what is installed: hooks, shims, ready files."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from cudaswitch import talk
from cudaswitch.changing import own_store
from cudaswitch.errors import CudaswitchError, StoreError


def bring_up_to_date() -> None:
    """Update hooks, shims and ready files after a change of what is installed.

    What a killed run did not get to is done too.
    """
    from cudaswitch import pins, ready, shims  # noqa: PLC0415  # only changes need it

    own_store().settle()
    pins.refresh()
    try:
        shims.refresh()
    except StoreError as error:
        # Only a caution: what was asked for is done.
        talk.caution(error)
    ready.refresh()


@contextlib.contextmanager
def brought_up_to_date() -> Iterator[None]:
    """Update what depends on the store, even if a change of several steps ends half way.

    In that case, only what ended it is reported.
    """
    try:
        yield
    except BaseException:
        with contextlib.suppress(CudaswitchError, OSError):
            bring_up_to_date()
        raise
    bring_up_to_date()

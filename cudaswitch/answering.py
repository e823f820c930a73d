"""What shells are told about `use`, pins and version files if there is no ready answer."""

from __future__ import annotations

import os
from functools import partial

from cudaswitch import automatic, lent, ready, running, settings, talk
from cudaswitch.activation import Want
from cudaswitch.changing import own_store
from cudaswitch.decision import NOTHING, answer_to, answer_to_pin
from cudaswitch.environments import (
    Environment,
    active_environment,
    environment_at,
    environment_pinned_by,
    pin_of,
    read_request,
)
from cudaswitch.versions import Request, parse_request

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


def of_file(file: str) -> None:
    """Print the want of a version file or pin, "" if it asks for nothing."""
    began = _begun()
    pinned = environment_pinned_by(file)
    found = answer_to_pin(pinned) if pinned else answer_to(file)
    talk.line(str(found.want) if found is not NOTHING else "")
    _remember(pin_of(pinned) if pinned else read_request(file), found.want, began, pinned)


def of_environment(prefix: str) -> None:
    """Print the want of an environment whose packages have changed, "" if there is none."""
    from cudaswitch.pins import wanted_by  # noqa: PLC0415  # slow to load

    _begun()
    talk.line(str(wanted_by(environment_at(prefix)) or ""))


def of_request(
    request: str,
    cudnn: str | None = None,
    libraries: str | None = None,
    gpus: str | None = None,
    *,
    for_use: bool,
) -> None:
    """Print the want of what somebody asks for: by `use`, else by CUDASWITCH_VERSION."""
    began = _begun()
    origin = "" if for_use else "CUDASWITCH_VERSION"
    chosen = running.asked(request, cudnn, libraries, gpus, origin)
    if for_use:
        running.change_here(chosen)  # for its warning; the shell makes the change
    talk.line(str(chosen))
    _remember(parse_request(request, cudnn), chosen, began)


FORMS: dict[str, Callable[[str], None]] = {
    "--": partial(of_request, for_use=False),
    "--for-use": partial(of_request, for_use=True),
    "--file": of_file,
    "--environment": of_environment,
}
"""The word that a shell asks with → what answers the word after it."""


def _begun() -> str | None:
    """Return the state of shared stores: what changes from now on is looked up the next time."""
    ready.refresh()  # the next shell may otherwise find an older cudaswitch's
    return lent.state()


def _remember(
    request: Request, want: Want, began: str | None, pinned: Environment | None = None
) -> None:
    """Keep a ready answer for the next time: to a range, to `auto` here, and to what is lent.

    `want` is what was told, `began` what `_begun` returned before it was looked up.
    """
    environment = pinned or active_environment(os.environ)
    usual = settings.usual_libraries()
    if request.text == "auto" and environment:
        automatic.recall(environment)
    elif want.home in {kit.path for kit in own_store().present()}:
        own_store().remember(request)
    elif usual != "always" and want.home != "system":
        lent.keep(request, want._replace(libraries=usual, gpus=None), began)

"""Pins: written for environments, directories and the user, and kept up to date."""

from __future__ import annotations

import contextlib
import json
import os
import time
from pathlib import Path

from cudaswitch import automatic, lent
from cudaswitch.activation import Want
from cudaswitch.changing import own_store
from cudaswitch.decision import Decision, answer
from cudaswitch.durable import write_all
from cudaswitch.environments import (
    Environment,
    another_file,
    environment_at,
    leads_elsewhere,
    pin_of,
    read_request,
    sudo_caller,
)
from cudaswitch.errors import CudaswitchError, RequestError, StoreError
from cudaswitch.holders import WrittenPin, written_pins
from cudaswitch.hooks import (
    is_automatic,
    is_current,
    pin_text,
    remove_pin,
    staying,
    sweep_leftovers,
    write_pin,
)
from cudaswitch.ownership import is_another_users
from cudaswitch.paths import Home, home, identity, stores
from cudaswitch.processes import moment
from cudaswitch.regular import toolkit_is_there
from cudaswitch.staging import hint_at, require_writable
from cudaswitch.store import dealias
from cudaswitch.talk import say
from cudaswitch.toolkit import Toolkit
from cudaswitch.versions import Request


def pin_environment(environment: Environment, request: Request) -> Decision:
    """Pin an environment to a request."""
    require_writable(home())
    with own_store().pinning():
        seen = time.time_ns()
        decision = answer(request, environment)
        note = _note(environment.pin_file, decision.want.home)
        write_pin(environment, request, decision.want, seen, note)
    return decision


def pin_file(path: Path, request: Request) -> Toolkit | None:
    """Pin a directory (its `.cuda-version`) or the user to a request."""
    kit = None if dealias(request).text == "auto" else answer(request).toolkit
    require_writable(home())
    anothers = is_another_users(path)
    try:
        with own_store().pinning():
            note = _note(path, None, held=kit and kit.path)
            write_all({**note, _written(path): pin_text(request)}, kept=True)
    except OSError as error:
        raise StoreError(
            f"cannot write `{error.filename}`: {error.strerror}",
            hint_at(home(), error, "pin a directory you can write to"),
        ) from None
    if anothers:
        say(f"`{path}` belonged to another user, and is now yours")
    return kit


def _written(path: Path) -> Path:
    """Return the file to write a version file's text into: where a link of the user's own leads.

    Raises RequestError if that is no place for a version.
    """
    if not os.path.islink(path):
        if os.path.exists(path) and not os.path.isfile(path):
            raise RequestError(f"`{path}` is not a regular file", "move it away")
        return path
    if os.lstat(path).st_uid not in {os.geteuid(), sudo_caller()}:
        return path
    target = Path(os.path.realpath(path))
    is_lost = not os.path.exists(target)
    if is_lost and (leads_elsewhere(path) or not os.path.isdir(target.parent)):
        raise RequestError(f"`{path}` is a link to `{target}`, which does not exist", "remove it")
    if leads_elsewhere(path) or not (is_lost or os.path.isfile(target)):
        raise another_file(str(path))
    return target


def wanted_by(environment: Environment) -> Want | None:
    """Return what an environment asks for, now that its packages have changed.

    The user's own environment that is pinned to `auto` gets its hooks written anew. If nothing
    fits, they stay as they are and are not looked at again before the next change. If they are
    another user's or may not be written, each entry asks until their owner has updated them.
    """
    if not os.path.exists(environment.pin_file):
        found = automatic.recall(environment)
        if found.refusal:
            raise found.refusal
        return found.want
    request = pin_of(environment)
    if not environment.is_own():
        return answer(request, environment).want
    try:
        return pin_environment(environment, request).want
    except StoreError:
        return answer(request, environment).want
    except CudaswitchError:
        with contextlib.suppress(OSError):
            os.utime(environment.want_file)
        raise


def unpin_environment(environment: Environment) -> bool:
    """Remove an environment's pin; False if it had none.

    If hooks stay for shells that are in it now, so does the record: by it, `gc` finds the hooks,
    and knows since when no new shell can need them.
    """
    record = _record_of(environment.pin_file)
    with own_store().pinning():
        note: dict[Path, str | None] = {record: None}
        if staying(environment):
            note |= _note(environment.pin_file, None, left=moment())
        if remove_pin(environment, note):
            return True
        if os.path.exists(record):
            # A killed run got no further.
            write_all(note)
    return False


def unpin_file(path: Path) -> bool:
    """Remove a directory's or the user's pin; False if there was none."""
    try:
        with own_store().pinning():
            was_there = os.path.isfile(path) or os.path.islink(path)
            anothers = is_another_users(path)
            # The note goes last: it holds the toolkit while the pin is there.
            texts: dict[Path, str | None] = {path: None} if was_there else {}
            write_all({**texts, _record_of(path): None})
    except OSError as error:
        raise StoreError(
            f"cannot remove `{error.filename}`: {error.strerror}",
            hint_at(home(), error, "check who can write there"),
        ) from None
    if anothers:
        say(f"`{path}` belonged to another user")
    return was_there


def refresh() -> None:
    """Bring hooks and kept answers up to date after a change of what is installed.

    A pin is a request: `10.1` means the newest 10.1 installed, with the newest cuDNN. A hook
    that has no answer any more stays as it is; so does one that cannot be rewritten, with a
    message. After an update of cudaswitch, hooks get its new texts.
    """
    automatic.forget()
    lent.forget()
    if any(record.hooked is not None for record in written_pins()):
        with own_store().pinning():
            # The previous holder may have changed them.
            _refresh(written_pins())


def _refresh(noted: list[WrittenPin]) -> None:
    for record in noted:
        if record.hooked is None:
            continue
        try:
            environment = environment_at(record.prefix)
            sweep_leftovers(environment)
            request = read_request(record.path)
            seen = time.time_ns()
            kept, want = environment.want_kept(), answer(request, environment).want
            if kept and _is_kept_elsewhere(record.path, kept):
                continue
            note = _note(record.path, want.home)
            # An alias may have come to mean `auto`, or have ceased to.
            same_way = is_automatic(environment) == (dealias(request).text == "auto")
            if record.hooked != want.home or kept != want or not same_way:
                _refuse_others(environment)
                write_pin(environment, request, want, seen, note)
            elif environment.is_own() and not is_current(environment):
                # Hooks of an older cudaswitch still work: if they cannot be rewritten, they stay.
                with contextlib.suppress(StoreError):
                    write_pin(environment, request, want, seen, note)
            elif not any(map(os.path.exists, note)):
                # It was moved or copied: while it is not active, only a note can tell of it.
                with contextlib.suppress(OSError):
                    write_all(note)
        except StoreError as error:
            say(error.message)
        except CudaswitchError:
            pass  # nothing answers it any more, or it is another user's now


def _is_kept_elsewhere(pin: str, kept: Want) -> bool:
    """Tell whether hooks lead to a toolkit of another store that has noted them, and updates them.

    Ours may be a copy of it, or somebody has pinned the environment there since. One that was
    moved has left nothing at its old place.
    """
    other = Home(os.path.dirname(os.path.dirname(kept.home)))
    is_ours = identity(other.folder) in {identity(each.folder) for each in stores()}
    return not is_ours and toolkit_is_there(kept.home) and os.path.exists(_record_of(pin, other))


def _refuse_others(environment: Environment) -> None:
    """Raise StoreError if the environment is somebody else's, who could decide what we write."""
    if not environment.is_own():
        raise StoreError(
            f"the hooks of `{environment.prefix}` were not updated: they belong to another user"
        )


def _record_of(path: str | Path, store: Home | None = None) -> Path:
    from hashlib import sha256  # noqa: PLC0415  # only writing needs it

    return (store or home()).pins / sha256(os.fsencode(path)).hexdigest()[:16]


def _note(path: str | Path, hooked: str | None, **more: str | None) -> dict[Path, str]:
    """Return the note of a pin. It is written first: a pin without a note holds no toolkit."""
    return {_record_of(path): json.dumps({"path": str(path), "hooked": hooked, **more}) + "\n"}

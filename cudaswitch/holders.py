"""Who pins what: the pins that were written and are still there."""

from __future__ import annotations

import os
import stat

from cudaswitch.decision import answer, toolkit_at, version_file, working_directory
from cudaswitch.environments import (
    entered,
    environment_at,
    pin_of,
    read_request,
)
from cudaswitch.errors import CudaswitchError
from cudaswitch.named import known_environments
from cudaswitch.namedtuples import NamedTuple
from cudaswitch.ownership import is_another_users
from cudaswitch.paths import home, identity, listed, real_path
from cudaswitch.regular import read_json, toolkit_is_there
from cudaswitch.store import dealias

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from cudaswitch.paths import Identity
    from cudaswitch.toolkit import Toolkit

NOTE_BYTES = 64 << 10
"""Bytes of a note; it has two paths."""


class WrittenPin(NamedTuple):
    """A pin that was written: its file, and for hooks the toolkit's path baked into them.

    `held` is the toolkit that answered a version file when it was pinned.
    """

    path: str
    hooked: str | None
    held: str | None = None

    @property
    def prefix(self) -> str:
        """The environment whose pin it is."""
        return self.path.removesuffix("/etc/cudaswitch/pin")

    @property
    def shown(self) -> str:
        if self.hooked is not None:
            return self.prefix
        is_users = _place(self.path) == _place(home().at("global"))
        return "you (--global)" if is_users and not is_another_users(self.path) else self.path


class Holding(NamedTuple):
    """A pin and what it gets: the path of a toolkit, which may be gone, or `system`.

    None if nothing that is installed satisfies it.
    """

    file: str
    holder: str
    home: str | None

    @property
    def request(self) -> str | None:
        """What it asks for, None if it cannot be read."""
        try:
            return str(read_request(self.file, anyones=True))
        except CudaswitchError:
            return None


def holdings(kits: Iterable[Toolkit]) -> list[Holding]:
    """List all pins that are still there, with what they get, of these toolkits or others."""
    adopted = {identity(kit.path): kit for kit in kits if not kit.packages}
    return [Holding(record.path, record.shown, _gets(record, adopted)) for record in written_pins()]


def without_toolkit(
    holdings: Iterable[Holding], kits: Iterable[Toolkit]
) -> tuple[list[Holding], list[Holding]]:
    """Return the pins that get nothing, and those that get an existing folder not among `kits`."""
    held = {identity(kit.path) for kit in kits}
    others = [
        one
        for one in holdings
        if one.home is None or (one.home != "system" and identity(one.home) not in held)
    ]
    there = [one for one in others if one.home and os.path.isdir(one.home)]
    return [one for one in others if one not in there], there


def _gets(record: WrittenPin, adopted: Mapping[Identity, Toolkit]) -> str | None:
    if record.hooked is None and not os.access(record.path, os.R_OK):
        return record.held
    path = _hooked(record)
    is_there = path is not None and (path == "system" or toolkit_is_there(path))
    if path is not None and is_there and not _became_another(record, adopted.get(identity(path))):
        return path
    # If it is gone, as when the store was moved, the integration takes what answers now. Another
    # user's version file decides nothing for us, but its owner needs what it asks for.
    try:
        return answer(read_request(record.path, anyones=record.hooked is None)).want.home
    except CudaswitchError:
        return None if is_there else path


def _became_another(record: WrittenPin, kit: Toolkit | None) -> bool:
    """Tell whether hooks lead to an adopted toolkit that was upgraded in place, and fits no more.

    What `auto` has chosen stays, and other users' hooks are used as they are.
    """
    if kit is None:
        return False
    try:
        environment = environment_at(record.prefix)
        request = dealias(pin_of(environment))
    except CudaswitchError:
        return False
    return not kit.fits(request) and request.text != "auto" and environment.is_own()


def _hooked(record: WrittenPin) -> str | None:
    """Return the toolkit in an environment's hooks now: another user may have pinned it anew."""
    if record.hooked is None:
        return None
    try:
        want = environment_at(record.prefix).want_kept()
    except CudaswitchError:  # it is closed to us now
        return record.hooked
    return want.home if want else record.hooked


def held_by(holdings: Iterable[Holding]) -> dict[Identity, list[str]]:
    """Map toolkits, by `identity`, to those who pin them: environments, directories, the user.

    Hooks may have been written under another spelling of the store's path.
    """
    found: dict[Identity, list[str]] = {}
    for one in holdings:
        if one.home and one.home != "system":
            found.setdefault(identity(one.home), []).append(one.holder)
    return {kit: sorted(each) for kit, each in found.items()}


def written_pins() -> list[WrittenPin]:
    """List the pins that are still there; an environment that was removed pins nothing."""
    folder, noted = home().at("pins"), []
    for name in listed(folder):
        if name.startswith("."):
            continue
        try:
            row = read_json(f"{folder}/{name}", NOTE_BYTES)
            written = os.stat(f"{folder}/{name}").st_mtime_ns
            path, *homes = row["path"], row["hooked"], row.get("held")
            # os.stat would take a number for a file descriptor.
            if isinstance(path, str) and may_pin(path) and all(map(_is_home, homes)):
                noted.append((written, WrittenPin(path, *homes)))
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            # A damaged note is as good as none: what counts is the pin itself, if it is there.
            continue
    # If an environment was pinned under two spellings of its path, the newest note wins.
    noted.sort()
    found = {_place(record.path): record for _, record in noted}
    there = sorted(found.values())
    return [*there, *_unnoted([record.path for record in there])]


def _is_home(value: str | None) -> bool:
    return value is None or bool(real_path(value))


def _place(path: str) -> str:
    folder, _, name = path.rpartition("/")
    return f"{os.path.realpath(folder)}/{name}"


def may_pin(path: str) -> bool:
    """Tell whether a pin is there, or in a folder that is closed to us now."""
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except OSError as error:
        return isinstance(error, PermissionError)


def _unnoted(noted: Iterable[str]) -> Iterator[WrittenPin]:
    """Yield the pins that have no note of ours, as far as they can be found.

    An environment that was copied or moved has the pin and the hooks of the original: conda may
    know it, or it may be active here. A version file may have come with its directory tree.
    """
    seen = {os.path.realpath(path) for path in noted}
    for prefix in (*known_environments(os.environ), *entered(os.environ)):
        try:
            environment = environment_at(prefix)
            file = environment.pin_file
            real = os.path.realpath(file)
            if real in seen:
                continue
            seen.add(real)
            # Another user's pin does not count.
            want = environment.want_kept() if environment.is_own() else None
            if want and toolkit_at(want.home):
                yield WrittenPin(file, want.home)
        except (CudaswitchError, OSError):
            continue
    try:
        here = version_file(working_directory(os.environ), os.environ)
    except (CudaswitchError, OSError):  # there is no such folder any more
        return
    if here and os.path.realpath(here) not in seen:
        yield WrittenPin(here, None)

"""The store changed: put in, taken out, its answers published. Stage, then rename.

A folder is there whole or not at all: it is filled below `.staging` of the same store and
appears under its name by one rename. Locks only keep two processes from doing the same work.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path

from cudaswitch import settings
from cudaswitch.activation import Want
from cudaswitch.contents import read_contents
from cudaswitch.durable import write_all, write_atomically
from cudaswitch.errors import CudaswitchError, StoreError
from cudaswitch.ownership import is_anothers
from cudaswitch.paths import FINGERPRINT, Home, listed, stores
from cudaswitch.platforms import current_platform, expanded
from cudaswitch.regular import read_regular, toolkit_is_there
from cudaswitch.staging import REMOVED, Staging, plain_modes, require_writable, written
from cudaswitch.store import (
    Store,
    compiler_for,
    dealias,
    find,
    newest,
    rank,
    read_package,
    read_toolkit,
)
from cudaswitch.toolkit import Package, Toolkit
from cudaswitch.versions import OPERATORS, Request, Version, parse_request

_MOST_RANGES = 50
"""Answers for ranges that are kept. Beyond that all go: each is computed anew at each change."""
_ANSWER_BYTES = 64 << 10
_STORES = ".stores"
"""The stores that config.toml names, with colons between, for shims and completion."""


def own_store() -> OwnStore:
    """Return the person's own store."""
    return OwnStore(stores()[0])


class OwnStore(Store):
    """The person's own store, the only one that is ever changed."""

    def __init__(self, home: Home) -> None:
        super().__init__(home)
        self.alone = False
        """Whether the store is held, and nobody else can hold it."""
        self.staging = Staging(home)
        self._locked: set[str] = set()

    def used(self, leaving: Collection[str] = ()) -> set[str]:
        """Name the packages that toolkits are made of, those of the toolkits `leaving` apart.

        They are all packages where a toolkit does not tell of which it is made.
        """
        recorded = {kit.name: kit.packages for kit in self.toolkits()}
        parts = {**self.unrecorded(), **recorded}
        if None in parts.values():
            return set(listed(self.home.packages))
        return {at for name in parts.keys() - leaving for at in parts[name] or ()}

    def unrecorded(self) -> dict[str, tuple[str, ...] | None]:
        """Map toolkits whose record is lost or damaged to the packages that their list names.

        `verify --repair` makes the record of the list. None stands for what cannot be read.
        """
        found: dict[str, tuple[str, ...] | None] = {}
        for name in listed(self.home.toolkits):
            folder = self.home.toolkits / name
            try:
                if read_toolkit(folder):
                    continue
                is_damaged = False
            except StoreError:
                is_damaged = True
            try:
                contents = read_contents(folder)
            except StoreError:
                contents, is_damaged = None, True
            if contents or is_damaged:
                found[name] = contents and tuple(package.id for package in contents.packages)
        return found

    def lost_with(self, kits: Sequence[Toolkit]) -> list[Package]:
        """List the packages that only these toolkits use."""
        gone = {at for kit in kits for at in kit.packages} - self.used({kit.name for kit in kits})
        return list(filter(None, (read_package(self.home.packages / at) for at in sorted(gone))))

    def folders_of(self, kits: Sequence[Toolkit]) -> list[Path]:
        """List the folders that go with these toolkits, whose files somebody may have mapped."""
        places = [self.home.toolkits / kit.name for kit in kits]
        return places + [self.home.packages / package.id for package in self.lost_with(kits)]

    def remove(
        self, kit: Toolkit, refuse: Callable[[list[Path]], None] = lambda _: None
    ) -> list[Package]:
        """Take a toolkit out, and the packages that only it used; return those.

        `refuse` is shown the folders when nobody finds them any more and none is deleted yet;
        when it raises, they come back.
        """
        require_writable(self.home)
        with contextlib.ExitStack() as held:
            # An install holds its packages until they are part of a toolkit.
            for package_id in sorted(kit.packages):
                held.enter_context(self.lock(package_id))
            with self.changing() as undo:
                orphans = self.lost_with([kit])
                self.staging.discard(self.home.toolkits / kit.name, undo, REMOVED)
                for package in orphans:
                    self.staging.discard(self.home.packages / package.id, undo)
                refuse(self.staging.discarded)
                # Where locks do not work, somebody may have begun to use one.
                if again := self.used() & {package.id for package in orphans}:
                    raise StoreError(f"{min(again)} is used again", "try again")
        return orphans

    def set_alias(self, name: str, request: str | None) -> None:
        """Give a name to a request, or take it away with None."""
        require_writable(self.home)
        with self.changing():
            write_all({self.home.aliases / name: request and request + "\n"})

    def remember(self, request: Request) -> None:
        """Have a ready answer to a range from now on, where this store has one.

        Of what is installed no list of all ranges can be made, so those are kept that were asked
        for. Where the store is held or may not be written, Python is asked the next time too.
        """
        file = self.home.requests / str(request)
        if not request.is_range or os.path.exists(file) or not os.path.exists(self.home.layout):
            return
        with contextlib.suppress(CudaswitchError, OSError):
            # What is away for a while may be meant when it is back.
            is_all_there = len(self.present()) == len(self.names())
            # With root's there, the person could not have it changed.
            if is_anothers(self.home.folder) or not self._ready_at_all() or not is_all_there:
                return
            require_writable(self.home)
            with self.lock("store", 0), written(self.home):
                kit = find(request, [self])
                ranges = self._ranges()
                # Some script may ask for ever new ones.
                for name in ranges if len(ranges) >= _MOST_RANGES else ():
                    (self.home.requests / name).unlink(missing_ok=True)
                # The compiler that all are told of, whoever asks.
                want = Want(kit.path, settings.usual_libraries(), compiler=self.compiler_of(kit))
                write_atomically(file, f"{want}\n", lasting=False)

    def _publish_requests(self) -> None:
        """Write the ready answers that shells read: requests/NAME holds a want."""
        from hashlib import sha256  # noqa: PLC0415  # only writing needs it

        answers = self._answers()
        # Most have many names.
        kits = {kit.path: kit for kit in answers.values()}
        compilers = {path: compiler_for(kit) for path, kit in kits.items()}
        usual = settings.usual_libraries()
        wants = {path: str(Want(path, usual, compiler=at)) for path, at in compilers.items()}
        wanted = {name: wants[kit.path] + "\n" for name, kit in self._ready(answers).items()}
        if shared := _stores_text():
            wanted[_STORES] = shared
        failure: OSError | None = None
        found = self._published()
        offered = [
            # Stores are moved; an adopted toolkit that is elsewhere is another one.
            (name, kit.name if kit.packages else kit.path, compilers[kit.path])
            for name, kit in sorted(answers.items())
            if not _is_range(name)
        ]
        # Aliases for `auto` and `system` have no answer here.
        aliases = sorted(self.aliases().items())
        told = repr((offered, aliases))
        mode = settings.value("libraries")
        fingerprint = f"{sha256(told.encode()).hexdigest()} {mode}\n"
        for name in found.keys() - wanted.keys() - {FINGERPRINT}:
            (self.home.requests / name).unlink(missing_ok=True)
        for name, text in wanted.items():
            path = self.home.requests / name
            if found.get(name) != text:
                # Whole is enough: what is lost, Python answers and the next change writes.
                try:
                    write_atomically(path, text, lasting=False)
                except OSError as error:
                    # None is better than one that is wrong.
                    path.unlink(missing_ok=True)
                    failure = failure or error
        if failure:
            raise failure
        # Where the first change of an empty store failed, no fingerprint stays behind.
        is_bare = not (offered or aliases or FINGERPRINT in found)
        if found.get(FINGERPRINT) != fingerprint and not is_bare:
            write_atomically(self.home.requests / FINGERPRINT, fingerprint, lasting=False)

    def _published(self) -> dict[str, str]:
        """Return the answers that are ready, by name; others may be at work on them."""
        found = {}
        for name in listed(self.home.requests):
            # What is no file is no answer.
            with contextlib.suppress(OSError):
                text = read_regular(self.home.at("requests", name), _ANSWER_BYTES, head=True)
                found[name] = text.decode(errors="replace")
        return found

    def _ranges(self) -> list[str]:
        """List the ranges that have been asked for."""
        folder = self.home.at("requests")
        names = filter(_is_range, listed(folder))
        return [name for name in names if os.path.isfile(f"{folder}/{name}")]

    def _answers(self) -> dict[str, Toolkit]:
        """Map each request that has one answer here to it: 10.1, 10.1+cudnn7, an alias.

        So are the ranges that have been asked for. What means a toolkit that is away for a while
        has no answer, since it is meant again when it is back: until then Python answers.
        """
        kits = [kit for kit in self.toolkits() if kit.platform == current_platform()]
        answers: dict[str, Toolkit] = {}
        for kit in kits:
            versions = _prefixes(kit.version)
            libraries = [f"+cudnn{text}" for text in _prefixes(kit.cudnn)] if kit.cudnn else []
            for version in (*versions, "latest"):
                for library in ["", *(libraries or ["+cudnnnone"])]:
                    words = version, library.removeprefix("+cudnn")
                    rival = answers.get(version + library)
                    if rival is None or rank(kit, *words) >= rank(rival, *words):
                        answers[version + library] = kit
        ranges = {name: name for name in self._ranges()}
        for name, text in {**self.aliases(), **ranges}.items():
            with contextlib.suppress(CudaswitchError):
                if found := newest(dealias(parse_request(text), [self]), kits):
                    answers[name] = found
        return {name: kit for name, kit in answers.items() if toolkit_is_there(kit.ground)}

    def _ready(self, answers: dict[str, Toolkit]) -> dict[str, Toolkit]:
        return answers if self._ready_at_all() else {}

    def _ready_at_all(self) -> bool:
        """Tell whether answers may be published: with `libraries = always` the command warns."""
        return settings.usual_libraries() != "always"

    def publish_anew(self) -> None:
        """Write the answers again: compilers or settings are others, or a killed run left some."""
        require_writable(self.home)
        with self.changing():
            pass

    # -- changing --------------------------------------------------------------------

    @contextlib.contextmanager
    def changing(self, *, heals: bool = True) -> Iterator[contextlib.ExitStack]:
        """Hold the store alone for a change of what it offers, and publish the answers after it.

        Gives a stack of what to undo when the change fails. Raises StoreError where the
        store cannot be written. Quick work only: unpacking comes before.
        """
        with self.held(heals=heals), contextlib.ExitStack() as undo:
            undo.callback(self._publish_again)
            yield undo
            self._publish_requests()
            undo.pop_all()

    def settle(self) -> None:
        """Finish what a killed run left undone, if there is anything."""
        home = self.home
        if not os.path.exists(home.layout):
            return
        staged = os.path.isdir(home.staging) and any(home.staging.iterdir())
        wanted = {name: kit.path for name, kit in self._ready(self._answers()).items()}
        published = self._published()
        found = {
            name: Want.parse(text.rstrip("\n")).home
            for name, text in published.items()
            if not name.startswith(".")
        }
        # The fingerprint records the setting too, which no answer may tell.
        mode = settings.value("libraries")
        is_told = published.get(FINGERPRINT, mode).rstrip("\n").endswith(mode)
        is_told = is_told and published.get(_STORES, "") == _stores_text()
        if staged or found != wanted or not is_told:
            self.publish_anew()

    @contextlib.contextmanager
    def held(self, *, heals: bool = True) -> Iterator[None]:
        """Hold the store's lock for a change that affects no ready answer, such as of packages.

        What killed runs left is removed first (`heals`), what is discarded last.
        """
        from cudaswitch.healing import heal, leftovers  # noqa: PLC0415  # only writing needs it

        with self.lock("store") as alone, written(self.home):
            self.alone = alone
            if alone:
                self._finish_removals()
            if alone and heals:
                heal(leftovers(self.home, self._locked, self.staging.folders))
            try:
                yield
            finally:
                self.alone = False
                self.staging.delete_discarded()

    def _finish_removals(self) -> None:
        """Take the packages out, too, of toolkits whose removal was killed in between."""
        lost: set[str] = set()
        for folder in self.home.staging.glob(f"{REMOVED}-*"):
            # Of one whose record is damaged they stay: `gc` finds them.
            with contextlib.suppress(StoreError):
                if kit := read_toolkit(folder):
                    lost.update(kit.packages)
        if not lost:
            return
        for at in sorted(lost - self.used()):
            # A package that somebody installs is wanted again.
            with contextlib.suppress(StoreError), self.lock(at, 0):
                self.staging.discard(self.home.packages / at, contextlib.ExitStack())

    def _publish_again(self) -> None:
        """Bring the answers back after a failure, as far as that goes."""
        with contextlib.suppress(OSError, CudaswitchError):
            self._publish_requests()

    @contextlib.contextmanager
    def pinning(self) -> Iterator[None]:
        """Be the only one to change pins, their notes and hooks; where there is no store, as is."""
        with contextlib.ExitStack() as stack:
            if os.path.isdir(self.home.locks):
                stack.enter_context(self.lock("pins"))
            # Most of it lies outside the store, where its group has no say.
            stack.enter_context(plain_modes())
            yield

    @contextlib.contextmanager
    def lock(self, name: str, seconds: float | None = None) -> Iterator[bool]:
        """Be the only process with the lock of that name; StoreError after so many seconds.

        Gives False where the file system has no locks, so that others may be at work too.
        """
        from cudaswitch.locks import held  # noqa: PLC0415  # only writing needs it

        patience = float(settings.value("wait")) if seconds is None else seconds
        with contextlib.ExitStack() as stack:
            with written(self.home):
                works = stack.enter_context(held(self.home.locks / f"{name}.lock", name, patience))
            if works:
                self._locked.add(name)
                stack.callback(self._locked.discard, name)
            yield works


def _stores_text() -> str:
    """Spell what shims and completion read of shared stores, "" where the file names none."""
    shared = settings.stores_in_file()
    return os.pathsep.join(map(expanded, shared)) + "\n" if shared else ""


def _is_range(name: str) -> bool:
    return name.startswith(OPERATORS)


def _prefixes(version: Version) -> list[str]:
    parts = str(version).split(".")
    return [".".join(parts[:count]) for count in range(1, len(parts) + 1)]

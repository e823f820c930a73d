"""Change the store: add to it, remove from it. Stage, then rename, then publish the answers.

A folder is there whole or not at all: it is filled below `.staging` of the same store and
appears under its name by one rename. Locks only keep two processes from doing the same work.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path

from cudaswitch import publishing, settings
from cudaswitch.contents import read_contents
from cudaswitch.durable import restorable, write_all
from cudaswitch.errors import CudaswitchError, StoreError
from cudaswitch.ownership import is_another_users
from cudaswitch.paths import Home, listed, stores
from cudaswitch.staging import REMOVED, Staging, plain_modes, require_writable, writing
from cudaswitch.store import Store, read_package, read_toolkit
from cudaswitch.toolkit import Package, Toolkit
from cudaswitch.versions import Request


def own_store() -> OwnStore:
    """Return the user's own store."""
    return OwnStore(stores()[0])


class OwnStore(Store):
    """The user's own store, the only one that is ever changed."""

    def __init__(self, home: Home) -> None:
        super().__init__(home)
        self.alone = False
        """Whether the store is held, and no other process can hold it."""
        self.staging = Staging(home)
        self._locked: set[str] = set()

    def used(self, leaving: Collection[str] = ()) -> set[str]:
        """Name the packages that toolkits are made of, not counting the toolkits `leaving`.

        Returns all packages if some toolkit does not tell what it is made of.
        """
        recorded = {kit.name: kit.packages for kit in self.toolkits()}
        parts = {**self.unrecorded(), **recorded}
        if None in parts.values():
            return set(listed(self.home.packages))
        return {at for name in parts.keys() - leaving for at in parts[name] or ()}

    def unrecorded(self) -> dict[str, tuple[str, ...] | None]:
        """Map toolkits whose record is lost or damaged to the packages that their list names.

        `verify --repair` rebuilds the record from the list. None: there is no readable list.
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

    def remove(self, kit: Toolkit, refuse: Callable[[list[Path]], None] = lambda _: None) -> None:
        """Remove a toolkit and the packages that only it used.

        `refuse` is passed the folders once they are out of sight but not yet deleted; if it
        raises, they are restored.
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
                # Where locks do not work, another process may have begun to use one.
                if again := self.used() & {package.id for package in orphans}:
                    raise StoreError(f"{min(again)} is used again", "try again")

    def set_alias(self, name: str, request: str | None) -> None:
        """Name a request, or remove the name with None."""
        require_writable(self.home)
        file = self.home.aliases / name
        with contextlib.ExitStack() as held, self.changing() as undo:
            held.enter_context(restorable(file, undo))
            write_all({file: request and request + "\n"})

    def remember(self, request: Request) -> None:
        """Keep a ready answer for a range from now on, if this store has a toolkit for it.

        All possible ranges cannot be listed, so those that were asked for are kept. If the store
        is held or not writable, nothing is kept, and the next request goes to Python again.
        """
        file = self.home.requests / str(request)
        if not request.is_range or os.path.exists(file) or not os.path.exists(self.home.layout):
            return
        with contextlib.suppress(CudaswitchError, OSError):
            # The range may mean a toolkit that is away for now, once it is back.
            is_all_there = len(self.present()) == len(self.names())
            # The user's own commands could not update an answer that root wrote.
            if is_another_users(self.home.folder) or not publishing.is_on() or not is_all_there:
                return
            require_writable(self.home)
            with self.lock("store", 0), writing(self.home):
                publishing.add_range(self, request)

    def publish_anew(self) -> None:
        """Write the answers again: compilers or settings changed, or a killed run left old ones."""
        require_writable(self.home)
        with self.changing():
            pass

    # -- changing --------------------------------------------------------------------

    @contextlib.contextmanager
    def changing(self, *, heals: bool = True) -> Iterator[contextlib.ExitStack]:
        """Hold the store for a change of what it offers, and publish the answers afterwards.

        Yields a stack of what to undo if the change fails. Raises StoreError if the store
        cannot be written. For quick work only: unpack beforehand.
        """
        with self.held(heals=heals), contextlib.ExitStack() as undo:
            undo.callback(self._publish_again)
            yield undo
            publishing.publish(self)
            undo.pop_all()

    def settle(self) -> None:
        """Finish what a killed run left undone, if there is anything."""
        home = self.home
        if not os.path.exists(home.layout):
            return
        staged = os.path.isdir(home.staging) and any(home.staging.iterdir())
        if staged or not publishing.is_current(self):
            self.publish_anew()

    @contextlib.contextmanager
    def held(self, *, heals: bool = True) -> Iterator[None]:
        """Hold the store's lock for a change that affects no ready answer, such as of packages.

        Leftovers of killed runs are removed first (`heals`), discarded folders last.
        """
        from cudaswitch.healing import heal, leftovers  # noqa: PLC0415  # only writing needs it

        with self.lock("store") as alone, writing(self.home):
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
        """Also remove the packages of toolkits whose removal was killed half way."""
        lost: set[str] = set()
        for folder in self.home.staging.glob(f"{REMOVED}-*"):
            # If the list is damaged, the packages stay: `gc` finds them.
            with contextlib.suppress(StoreError):
                if contents := read_contents(folder):
                    lost.update(package.id for package in contents.packages)
        if not lost:
            return
        for at in sorted(lost - self.used()):
            # A package whose lock is held is being installed, so it is wanted again.
            with contextlib.suppress(StoreError), self.lock(at, 0):
                self.staging.discard(self.home.packages / at, contextlib.ExitStack())

    def _publish_again(self) -> None:
        """Restore the answers after a failure, as far as possible."""
        with contextlib.suppress(OSError, CudaswitchError):
            publishing.publish(self)

    @contextlib.contextmanager
    def pinning(self) -> Iterator[None]:
        """Hold the lock for pins, their notes and hooks; without a store there is none to hold."""
        with contextlib.ExitStack() as stack:
            if os.path.isdir(self.home.locks):
                stack.enter_context(self.lock("pins"))
            # Most of these files are outside the store, where its group has no rights.
            stack.enter_context(plain_modes())
            yield

    @contextlib.contextmanager
    def lock(self, name: str, seconds: float | None = None) -> Iterator[bool]:
        """Hold the lock of that name alone; raises StoreError after waiting that many seconds.

        Yields False if the file system has no locks, so others may be at work too.
        """
        from cudaswitch.locks import held  # noqa: PLC0415  # only writing needs it

        patience = float(settings.value("wait")) if seconds is None else seconds
        with contextlib.ExitStack() as stack:
            with writing(self.home):
                works = stack.enter_context(held(self.home.locks / f"{name}.lock", name, patience))
            if works:
                self._locked.add(name)
                stack.callback(self._locked.discard, name)
            yield works

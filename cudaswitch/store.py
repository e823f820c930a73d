"""The store: what is installed, found, put in and taken out. Stage, then rename.

A folder is there whole or not at all: it is filled below `.staging` of the same store and
appears under its name by one rename. Reading takes no lock; locks only keep two processes
from doing the same work.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from cudaswitch import settings
from cudaswitch.activation import Want
from cudaswitch.durable import write_all, write_atomically
from cudaswitch.errors import CudaswitchError, NotInstalledError, RequestError, StoreError
from cudaswitch.ownership import plain_modes, refuse_everybodys
from cudaswitch.paths import Home, listed, stores
from cudaswitch.regular import read_regular
from cudaswitch.staging import MANIFEST, REMOVED, Staging, written
from cudaswitch.toolkit import Package, Toolkit, current_platform
from cudaswitch.versions import Request, Version, is_alias_name, parse_request, quote_request

_RECORD_BYTES = 64 << 20
"""Bytes of a record; that of a package lists its files, and has a few MiB."""
_ALIAS_BYTES = 4096
FINGERPRINT = ".fingerprint"
"""A digest of what is offered, beside the ready answers: where it changes, shells ask again."""
_Kind = TypeVar("_Kind", Package, Toolkit)


class Store:
    """One store on disk, usually the person's own."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self.alone = False
        """Whether the store is held, and nobody else can hold it."""
        self.staging = Staging(home)
        self._locked: set[str] = set()

    def toolkits(self) -> list[Toolkit]:
        """List the toolkits, oldest version first, the bare one before those with cuDNN."""
        kits = list(filter(None, map(read_toolkit, listed(self.home.toolkits))))
        return sorted(kits, key=lambda kit: (kit.platform, kit.version, kit.cudnn or Version("0")))

    def present(self) -> list[Toolkit]:
        """List the toolkits that are there: what was adopted may have been deleted since."""
        return [kit for kit in self.toolkits() if Path(kit.ground).is_dir()]

    def packages(self) -> list[Package]:
        """List the packages with their files, by name."""
        return list(filter(None, map(read_package, listed(self.home.packages))))

    def tree(self, package: Package) -> Path:
        """Return the folder that holds a package's files."""
        return self.home.packages / package.id / "tree"

    def lost_with(self, kits: Sequence[Toolkit]) -> list[Package]:
        """List the packages that only these toolkits use."""
        names = {kit.name for kit in kits}
        kept = {at for kit in self.toolkits() if kit.name not in names for at in kit.packages}
        gone = {at for kit in kits for at in kit.packages} - kept
        return list(filter(None, (read_package(self.home.packages / at) for at in sorted(gone))))

    def folders_of(self, kits: Sequence[Toolkit]) -> list[Path]:
        """List the folders that go with these toolkits, whose files somebody may have mapped."""
        places = [self.home.toolkits / kit.name for kit in kits]
        return places + [self.home.packages / package.id for package in self.lost_with(kits)]

    # -- taking out ------------------------------------------------------------------

    def remove(
        self, kit: Toolkit, refuse: Callable[[list[Path]], None] = lambda _: None
    ) -> list[Package]:
        """Take a toolkit out, and the packages that only it used; return those.

        `refuse` is shown the folders when nobody finds them any more and none is deleted yet;
        when it raises, they come back.
        """
        self.home.require_writable()
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
                used = {at for other in self.toolkits() for at in other.packages}
                if again := used & {package.id for package in orphans}:
                    raise StoreError(f"{min(again)} is used again", "try again")
        return orphans

    # -- requests --------------------------------------------------------------------

    def aliases(self) -> dict[str, str]:
        """Return the aliases and what each stands for."""
        return {
            path.name: read_regular(path, _ALIAS_BYTES, head=True).decode(errors="replace").strip()
            for path in listed(self.home.aliases)
            if is_alias_name(path.name) and path.is_file()
        }

    def set_alias(self, name: str, request: str | None) -> None:
        """Give a name to a request, or take it away with None."""
        self.home.require_writable()
        with self.changing():
            write_all({self.home.aliases / name: request and request + "\n"})

    def _publish_requests(self) -> None:
        """Write the ready answers that shells read: requests/NAME holds a want."""
        from hashlib import sha256  # noqa: PLC0415  # only writing needs it

        answers = self._answers()
        compilers = {kit.path: chosen(kit) for kit in answers.values()}
        wants = {path: str(Want(path, compiler=compiler)) for path, compiler in compilers.items()}
        wanted = {name: wants[kit.path] + "\n" for name, kit in answers.items()}
        failure: OSError | None = None
        found = self._published()
        offered = [(name, kit.name, compilers[kit.path]) for name, kit in sorted(answers.items())]
        fingerprint = sha256(repr(offered).encode()).hexdigest() + "\n"
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
        if found.get(FINGERPRINT) != fingerprint:
            write_atomically(self.home.requests / FINGERPRINT, fingerprint, lasting=False)

    def _published(self) -> dict[str, str]:
        """Return the answers that are ready, by name; others may be at work on them."""
        found = {}
        for path in listed(self.home.requests):
            with contextlib.suppress(FileNotFoundError):
                found[path.name] = path.read_text(encoding="utf-8", errors="replace")
        return found

    def _answers(self) -> dict[str, Toolkit]:
        """Map each request that has one answer here to it: 10.1, 10.1+cudnn7, an alias."""
        # A shell that takes an answer that is ready does not look at settings.
        if settings.value("libraries") != "auto":
            return {}
        kits = [kit for kit in self.present() if kit.platform == current_platform()]
        answers: dict[str, Toolkit] = {}
        for kit in kits:
            versions = _prefixes(kit.version)
            libraries = [f"+cudnn{text}" for text in _prefixes(kit.cudnn)] if kit.cudnn else []
            for version in (*versions, "latest"):
                for library in ["", *(libraries or ["+cudnnnone"])]:
                    # toolkits() is sorted, so the newest comes last and stays.
                    answers[version + library] = kit
        for name, text in self.aliases().items():
            with contextlib.suppress(CudaswitchError):
                answers[name] = find(parse_request(text), [self])
        return answers

    def compiler_of(self, kit: Toolkit) -> str | None:
        """Return the host compiler to name for a toolkit, as shells are told it (see `choice`)."""
        name = f"{kit.version}+cudnn{kit.cudnn or 'none'}"
        with contextlib.suppress(OSError, ValueError):
            text = (self.home.requests / name).read_text(encoding="utf-8")
            want = Want.parse(text.partition("\n")[0])
            if want.home == kit.path:
                return want.compiler
        return chosen(kit)

    def publish_anew(self) -> None:
        """Write the answers again: compilers or settings are others, or a killed run left some."""
        self.home.require_writable()
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
        if not home.layout.exists():
            return
        staged = home.staging.is_dir() and any(home.staging.iterdir())
        wanted = {name: kit.path for name, kit in self._answers().items()}
        found = {
            name: Want.parse(text.rstrip("\n")).home
            for name, text in self._published().items()
            if not name.startswith(".")
        }
        if staged or found != wanted:
            self.publish_anew()

    @contextlib.contextmanager
    def held(self, *, heals: bool = True) -> Iterator[None]:
        """Hold the store alone for a change of something that nobody asks for by name.

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
        removed = filter(None, map(read_toolkit, self.home.staging.glob(f"{REMOVED}-*")))
        lost = {at for kit in removed for at in kit.packages}
        if not lost:
            return
        for at in sorted(lost - {at for kit in self.toolkits() for at in kit.packages}):
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
            if self.home.locks.is_dir():
                stack.enter_context(self.lock("pins"))
            stack.enter_context(plain_modes(self.home.root))
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


def chosen(kit: Toolkit) -> str | None:
    """Choose the host compiler to name for a toolkit (see `hostcompiler.choice`)."""
    if not compiles_here(kit):
        return None
    from cudaswitch.hostcompiler import choice  # noqa: PLC0415  # starts compilers, if need be

    return choice(Path(kit.path), kit.version)


def compiles_here(kit: Toolkit) -> bool:
    """Tell whether a toolkit has an nvcc, and it is for this machine."""
    return kit.platform == current_platform() and (Path(kit.path) / "bin" / "nvcc").exists()


def own_store() -> Store:
    """Return the person's own store."""
    return Store(stores()[0])


def all_stores() -> list[Store]:
    """Return the person's own store and the shared ones behind it."""
    return [Store(home) for home in stores()]


def all_toolkits() -> list[Toolkit]:
    """List the toolkits of all stores, the person's own first."""
    return [kit for store in all_stores() for kit in store.toolkits()]


def find(request: Request, searched: Sequence[Store] | None = None) -> Toolkit:
    """Choose the installed toolkit for a request: the newest that it names.

    The first store that has one wins. Among equals the newest cuDNN does, unless the
    request says which. Raises NotInstalledError naming who asked, and StoreError where everybody
    may change what is in that store.
    """
    searched = all_stores() if searched is None else searched
    request = dealias(request, searched)
    for store in searched:
        fitting = [kit for kit in store.present() if _fits(kit, request)]
        if fitting:
            refuse_everybodys(store.home.root)
            return fitting[-1]
    gone = [kit for store in searched for kit in store.toolkits() if _fits(kit, request)]
    asked = f" (asked for by {request.origin})" if request.origin else ""
    if gone:
        message = f"toolkit `{gone[-1].ground}` is gone{asked}"
        raise NotInstalledError(message, f"cudaswitch remove {gone[-1].name}")
    extra = ""
    if request.cudnn:
        extra = " without cuDNN" if request.cudnn == "none" else f" with cuDNN {request.cudnn}"
    option = f" --cudnn {request.cudnn}" if request.cudnn not in (None, "none") else ""
    raise NotInstalledError(
        f"CUDA {request.text}{extra} is not installed{asked}",
        f"cudaswitch install {quote_request(request.text)}{option}",
    )


def _fits(kit: Toolkit, request: Request) -> bool:
    return (
        kit.platform == current_platform()
        and request.accepts(kit.version)
        and request.accepts_cudnn(kit.cudnn)
    )


def dealias(request: Request, searched: Sequence[Store] | None = None) -> Request:
    """Replace an alias by what it stands for; anything else comes back as it is."""
    if not request.is_alias:
        return request
    for store in all_stores() if searched is None else searched:
        text = store.aliases().get(request.text)
        if text:
            meant = parse_request(text, request.cudnn, request.libraries, request.origin)
            if meant.is_alias:
                break
            return meant
    asked = f" (asked for by {request.origin})" if request.origin else ""
    raise NotInstalledError(
        f"no alias `{request.text}` is known{asked}",
        f"see cudaswitch list, or make it: cudaswitch alias {request.text} VERSION",
    )


def read_toolkit(folder: Path) -> Toolkit | None:
    """Return the toolkit whose folder it is in a store, None where there is none.

    Raises StoreError when its record is damaged.
    """
    kit = _record(folder, Toolkit.from_json)
    # A store that was moved, or is mounted elsewhere, has its toolkits where it is now.
    return kit._replace(path=str(folder)) if kit and kit.packages else kit


def read_package(folder: Path) -> Package | None:
    """Return the package whose folder it is in a store, as `read_toolkit` does."""
    return _record(folder, Package.from_json)


def _record(folder: Path, read: Callable[[dict[str, Any]], _Kind]) -> _Kind | None:
    path = folder / MANIFEST
    try:
        return read(json.loads(read_regular(path, _RECORD_BYTES)))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise StoreError(f"cannot read `{path}`: {error.strerror}", "see who owns it") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, RequestError):
        raise StoreError(f"the record `{path}` is damaged", "cudaswitch verify --repair") from None


def _prefixes(version: Version) -> list[str]:
    parts = str(version).split(".")
    return [".".join(parts[:count]) for count in range(1, len(parts) + 1)]

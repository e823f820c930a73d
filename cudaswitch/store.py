"""What is installed: the toolkits and packages of a store, and the one that fits a request.

Reading takes no lock: a folder is there whole or not at all (see `changing`).
"""

from __future__ import annotations

import os

from cudaswitch.activation import Want
from cudaswitch.environments import another_file, leads_elsewhere
from cudaswitch.errors import NotInstalledError, RequestError, StoreError, nearest
from cudaswitch.ownership import refuse_world_writable
from cudaswitch.paths import FINGERPRINT, MANIFEST, Home, listed, real_path, stores
from cudaswitch.platforms import current_platform
from cudaswitch.regular import is_there, opening, read_json, read_regular, toolkit_is_there
from cudaswitch.talk import caution
from cudaswitch.toolkit import Package, Toolkit
from cudaswitch.versions import (
    KEYWORDS,
    TAKEN,
    Request,
    Version,
    is_alias_name,
    parse_request,
    quote_request,
    spelling_hint,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from os import PathLike
    from pathlib import Path
    from typing import Any, TypeVar

    _Kind = TypeVar("_Kind", Package, Toolkit)
    _Result = TypeVar("_Result")

RECORD_BYTES = 64 << 20
"""Bytes of a record; that of a package lists its files, and has a few MiB."""
_SMALL_BYTES = 4096
"""Bytes of an alias, and of a ready answer."""

_told: set[str] = set()
"""Messages about what was skipped: each is shown once, however often it is looked at."""


class Store:
    """One store on disk. What cannot be read in it is reported, and skipped.

    In the user's own store it raises StoreError, unless it is a single toolkit or alias.
    """

    def __init__(self, home: Home, *, shared: bool = False) -> None:
        self.home = home
        self.shared = shared

    def is_away(self) -> bool:
        """Tell whether it is missing: on a disk that is not mounted, say, or its name is mistyped.

        The user's own is created if it is missing, so it is away only if it is a dangling link.
        """
        if not self.shared:
            return os.path.islink(self.home.folder) and not os.path.exists(self.home.folder)
        try:
            return not is_there(self.home.at("layout"))
        except OSError:  # it may not be read, which is reported elsewhere
            return False

    def why_unseen(self) -> tuple[str, str]:
        """Say why nothing of a store can be seen, and what to do."""
        store = f"the store `{self.home.folder}`"
        if self.is_away():
            return f"{store} does not exist", "check that its disk is mounted"
        return f"{store} cannot be read", self.ask_maintainer

    @property
    def ask_maintainer(self) -> str:
        """The hint for what is wrong in a shared store."""
        return f"tell the maintainer of the store `{self.home.folder}`"

    def toolkits(self, *, required: bool = False) -> list[Toolkit]:
        """List the toolkits, oldest version first, the bare one before those with cuDNN.

        With `required`, one of the user's own store that cannot be read raises StoreError.
        """
        kits = self._records("toolkits", read_toolkit, required=required)
        return sorted(kits, key=lambda kit: (kit.platform, kit.version, kit.cudnn or Version("0")))

    def names(self) -> list[str]:
        """List the names of the toolkits, including those whose records are damaged."""
        return self._tried(names_in, self.home.at("toolkits")) or []

    def present(self) -> list[Toolkit]:
        """List the toolkits that are there: what was adopted may have been deleted since."""
        return [kit for kit in self.toolkits() if toolkit_is_there(kit.ground)]

    def packages(self) -> list[Package]:
        """List the packages with their files, by name."""
        return self._records("packages", read_package, required=True)

    def _records(
        self, kind: str, read: Callable[[str], _Kind | None], *, required: bool
    ) -> list[_Kind]:
        folder = self.home.at(kind)
        paths = [f"{folder}/{name}" for name in self._tried(listed, folder) or ()]
        return list(filter(None, (self._tried(read, at, required=required) for at in paths)))

    def _tried(
        self, read: Callable[[str], _Result], path: str, *, required: bool = True
    ) -> _Result | None:
        try:
            return read(path)
        except StoreError as error:
            if required and not self.shared:
                raise
            if error.message not in _told:
                _told.add(error.message)
                passed = f"{error.message}, so it is skipped"
                caution(StoreError(passed, self.ask_maintainer if self.shared else error.hint))
            return None

    def tree(self, package: Package) -> Path:
        """Return the folder that holds a package's files."""
        return self.home.packages / package.id / "tree"

    def aliases(self) -> dict[str, str]:
        """Return the aliases and what each stands for."""
        folder = self.home.at("aliases")
        found = {
            name: self._tried(_alias_in, f"{folder}/{name}", required=False)
            for name in self._tried(listed, folder) or ()
            if is_alias_name(name) and os.path.isfile(f"{folder}/{name}")
        }
        return {name: target for name, target in found.items() if target is not None}

    def compiler_of(self, kit: Toolkit) -> str | None:
        """Return the host compiler to name for a toolkit, as shells are told it (see `choice`)."""
        file = self.home.at("requests", f"{kit.version}+cudnn{kit.cudnn or 'none'}")
        try:
            want = Want.parse(_first_of(file).partition("\n")[0])
        except OSError:
            return compiler_for(kit)
        return want.compiler if want.home == kit.path else compiler_for(kit)


def _alias_in(path: str) -> str:
    try:
        return _first_of(path).strip()
    except OSError as error:
        hint = opening(path, "ask its owner to open it")
        raise StoreError(f"cannot read `{path}`: {error.strerror}", hint) from None


def already_told(error: StoreError) -> None:
    """Do not say why something is skipped: the caller does, with a better hint."""
    _told.add(error.message)


def _first_of(file: str) -> str:
    return read_regular(file, _SMALL_BYTES, head=True).decode(errors="replace")


def offered(home: Home) -> str | None:
    """Return a text that differs for each state of what a store offers, None if it is closed."""
    try:
        return _first_of(home.at("requests", FINGERPRINT)).partition("\n")[0]
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except OSError:
        return None


def compiler_for(kit: Toolkit) -> str | None:
    """Choose the host compiler to name for a toolkit (see `hostcompiler.choice`)."""
    if not compiles_here(kit):
        return None
    from pathlib import Path  # noqa: PLC0415  # slow to load

    from cudaswitch.hostcompiler import choice  # noqa: PLC0415  # starts compilers, if need be

    return choice(Path(kit.path), kit.version)


def compiles_here(kit: Toolkit) -> bool:
    """Tell whether a toolkit has an nvcc, and it is for this machine."""
    return kit.platform == current_platform() and os.path.exists(f"{kit.path}/bin/nvcc")


def names_in(folder: str | PathLike[str]) -> list[str]:
    """List the toolkits or packages in their folder. Raises StoreError if it cannot be read."""
    return [name for name in listed(folder) if not name.startswith(".")]


def all_stores() -> list[Store]:
    """Return the user's own store, then the shared ones."""
    own, *shared = stores()
    return [Store(own), *(Store(home, shared=True) for home in shared)]


def all_toolkits() -> list[Toolkit]:
    """List the toolkits of all stores, the user's own first."""
    return [kit for store in all_stores() for kit in store.toolkits()]


def toolkits_here() -> list[Toolkit]:
    """List those of `all_toolkits` that are for this machine's platform."""
    return [kit for kit in all_toolkits() if kit.platform == current_platform()]


def all_present() -> list[Toolkit]:
    """List the toolkits of all stores that are there (see `present`), in the same order."""
    return [kit for store in all_stores() for kit in store.present()]


def out_of_reach(kit: Toolkit) -> Store | None:
    """Return the shared store that has the base of a toolkit, if it cannot be seen.

    Its disk is not mounted at the moment, say: nobody can tell whether anything of it is gone.
    """
    try:
        os.stat(kit.ground)
    # A damaged record may name what has no bytes.
    except (OSError, UnicodeEncodeError) as error:
        is_closed = not isinstance(error, (FileNotFoundError, NotADirectoryError))
        ground = real_path(kit.ground)
        for store in all_stores()[1:]:
            below = ground.startswith(f"{real_path(store.home.folder)}/")
            if below and (is_closed or store.is_away()):
                return store
    return None


def find(request: Request) -> Toolkit:
    """Choose the installed toolkit for a request: the newest that it names (see `rank`).

    The first store that has one wins. Among equals, the newest cuDNN does, unless the request
    says which. Raises NotInstalledError naming who asked, and StoreError as `taken` does.
    """
    searched = all_stores()
    request = dealias(request, searched)
    if kit := newest(request, taken(searched, lambda kit: _fits(kit, request))):
        return kit
    gone = [(kit, store) for store in searched for kit in store.toolkits() if _fits(kit, request)]
    raise _gone(request, *gone[-1]) if gone else _lacking(request, searched)


def _gone(request: Request, kit: Toolkit, store: Store) -> NotInstalledError:
    """Return the error for a request that only a toolkit satisfies whose folder is not there."""
    if below := out_of_reach(kit):
        why, hint = below.why_unseen()
        message = f"toolkit `{kit.ground}` is out of reach{request.asked}; {why}"
        return NotInstalledError(message, f"{hint}, or request another toolkit")
    # By force, as pins may hold it, though they get nothing from it any more.
    mend = f"cudaswitch remove --force {kit.name}"
    hint = f"{store.ask_maintainer}, or request another toolkit" if store.shared else mend
    return NotInstalledError(f"toolkit `{kit.ground}` is gone{request.asked}", hint)


def _lacking(request: Request, searched: Sequence[Store]) -> NotInstalledError:
    """Return the error for a request that no toolkit in these stores satisfies."""
    extra = option = ""
    if request.cudnn:
        extra = " without cuDNN" if request.cudnn == "none" else f" with cuDNN {request.cudnn}"
        option = f" --cudnn {request.cudnn}"
    away = "".join(f"; {store.why_unseen()[0]}" for store in searched if store.is_away())
    meant = spelling_hint(request.text) if request.text.isdigit() else None
    return NotInstalledError(
        f"CUDA {request.text}{extra} is not installed{request.asked}{away}",
        meant or f"cudaswitch install {quote_request(request.text)}{option}",
    )


def newest(request: Request, kits: Sequence[Toolkit]) -> Toolkit | None:
    """Choose among toolkits the newest that a request names, which must not be an alias."""
    fitting = [kit for kit in kits if _fits(kit, request)]
    fitting.sort(key=lambda kit: rank(kit, request.text, request.cudnn))
    return fitting[-1] if fitting else None


def rank(kit: Toolkit, version: str, cudnn: str | None) -> tuple[bool, Version, bool, Version]:
    """Return the sort key of toolkits that a version prefix names: the greatest is meant.

    An exact match is greater than longer versions, or it could never be named.
    """
    library = kit.cudnn or Version("0")
    return (str(kit.version) == version, kit.version, str(kit.cudnn) == cudnn, library)


def taken(searched: Sequence[Store], fits: Callable[[Toolkit], bool]) -> list[Toolkit]:
    """Return the toolkits that fit, of the first store that has any, to run something of them.

    Raises StoreError if everybody may change what is in that store.
    """
    for store in searched:
        fitting = [kit for kit in store.present() if fits(kit)]
        if fitting:
            refuse_world_writable(store.home.folder)
            return fitting
    return []


def _fits(kit: Toolkit, request: Request) -> bool:
    return kit.platform == current_platform() and kit.fits(request)


def dealias(request: Request, searched: Sequence[Store] | None = None) -> Request:
    """Replace an alias by what it finally stands for; anything else comes back as it is.

    Raises NotInstalledError for one that does not exist, and RequestError if it leads to itself.
    """
    if not request.is_alias:
        return request
    tables = [store.aliases() for store in (all_stores() if searched is None else searched)]
    try:
        return followed(request, tables)
    except NotInstalledError:
        file = request.origin.rpartition(":")[0]
        if leads_elsewhere(file):
            raise another_file(file) from None
        raise


def followed(request: Request, tables: Sequence[Mapping[str, str]]) -> Request:
    """Do the work of `dealias` with given aliases, one table for each store."""
    passed: list[str] = []
    while request.is_alias:
        name = request.text
        text = next((table[name] for table in tables if table.get(name)), None)
        if text is None:
            raise NotInstalledError(
                f"there is no alias `{name}`{request.asked}", _meant(name, tables, passed)
            )
        if name in passed:
            raise RequestError(
                f"alias `{name}` refers to itself: {', '.join((*passed, name))}{request.asked}",
                f"cudaswitch alias {name} VERSION",
            )
        passed.append(name)
        said = (request.cudnn, request.libraries, request.origin, request.gpus)
        request = parse_request(text, *said)
    return request


def _meant(name: str, tables: Sequence[Mapping[str, str]], passed: Sequence[str]) -> str:
    """Return the hint for a word that is not an alias in any store; those `passed` led to it."""
    if hint := spelling_hint(name):
        return hint
    low = name.lower()
    if low in TAKEN and low not in KEYWORDS:
        return "`system` means no toolkit"
    words = {
        word.lower(): word
        for word in (*KEYWORDS, *(word for it in tables for word in it if it[word]))
        if word not in passed
    }
    if near := nearest(low, words):
        return f"did you mean `{words[near]}`?"
    from cudaswitch.compat.frameworks import framework_called  # noqa: PLC0415  # few mistake one

    if framework := framework_called(name):
        return (
            "cudaswitch install auto installs what the active environment needs;"
            f" cudaswitch compat {framework.name} shows what that may be"
        )
    there = "cudaswitch list shows the toolkits, cudaswitch alias the names"
    return f"{there}; to create it: cudaswitch alias {name} VERSION"


def read_toolkit(folder: str | PathLike[str]) -> Toolkit | None:
    """Return the toolkit in that folder of a store, None if there is none.

    Raises StoreError if its record is damaged, or that of another: paths are made from its name.
    """
    kit = _record(folder, Toolkit.from_json)
    # A store that was moved, or is mounted elsewhere, has its toolkits where it is now.
    return kit._replace(path=str(folder)) if kit and kit.packages else kit


def read_package(folder: str | PathLike[str]) -> Package | None:
    """Return the package in that folder of a store, as `read_toolkit` does."""
    return _record(folder, Package.from_json)


def _record(folder: str | PathLike[str], read: Callable[[dict[str, Any]], _Kind]) -> _Kind | None:
    path, mend = os.path.join(folder, MANIFEST), "cudaswitch verify --repair"
    try:
        found = read(read_json(path, RECORD_BYTES))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise StoreError(f"cannot read `{path}`: {error.strerror}", mend) from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, RequestError):
        raise StoreError(f"the record `{path}` is damaged", mend) from None
    name = found.name if isinstance(found, Toolkit) else found.id
    if name != os.path.basename(folder):
        raise StoreError(f"the record `{path}` is that of {name}", mend)
    return found

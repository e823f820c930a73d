"""The store: what is installed, found, put in and taken out. Stage, then rename.

A folder is there whole or not at all: it is filled below `.staging` of the same store and
appears under its name by one rename. Reading takes no lock; locks only keep two processes
from doing the same work.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from cudaswitch.errors import CudaswitchError, NotInstalledError, StoreError
from cudaswitch.paths import Home, stores, write_atomically
from cudaswitch.toolkit import (
    Package,
    Toolkit,
    current_platform,
)
from cudaswitch.versions import Request, Version, parse_request

MANIFEST = "cudaswitch.json"
"""The record in a toolkit's or package's folder; a folder without one does not count."""

_LOCK_SECONDS = 600


class Store:
    """One store on disk, usually the person's own."""

    def __init__(self, home: Home) -> None:
        self.home = home

    def toolkits(self) -> list[Toolkit]:
        """List the toolkits, oldest version first, the bare one before those with cuDNN."""
        found = [read_manifest(path) for path in self.home.toolkits.glob(f"*/{MANIFEST}")]
        kits = [Toolkit.from_json(data) for data in found if data]
        return sorted(kits, key=lambda kit: (kit.platform, kit.version, kit.cudnn or Version("0")))

    def packages(self) -> list[Package]:
        """List the packages with their files, by name."""
        found = [read_manifest(path) for path in sorted(self.home.packages.glob(f"*/{MANIFEST}"))]
        return [Package.from_json(data) for data in found if data]

    def tree(self, package: Package) -> Path:
        """Return the folder that holds a package's files."""
        return self.home.packages / package.id / "tree"

    def folders_of(self, kit: Toolkit) -> list[Path]:
        """List the folders whose files a user of the toolkit has mapped."""
        alone = [
            self.home.packages / package
            for package in kit.packages
            if not any(package in o.packages for o in self.toolkits() if o.name != kit.name)
        ]
        return [self.home.toolkits / kit.name, *alone]

    # -- taking out ------------------------------------------------------------------

    def remove(self, kit: Toolkit) -> list[Package]:
        """Take a toolkit out, and the packages that only it used; return those."""
        self.home.require_writable()
        with self.lock(kit.name):
            self.discard(self.home.toolkits / kit.name)
        used = {package for other in self.toolkits() for package in other.packages}
        orphans = [
            package
            for package in self.packages()
            if package.id in kit.packages and package.id not in used
        ]
        for package in orphans:
            with self.lock(package.id):
                self.discard(self.home.packages / package.id)
        self.publish_requests()
        return orphans

    # -- requests --------------------------------------------------------------------

    def aliases(self) -> dict[str, str]:
        """Return the aliases and what each stands for."""
        found = sorted(self.home.aliases.glob("*")) if self.home.aliases.is_dir() else []
        return {path.name: path.read_text(encoding="utf-8").strip() for path in found}

    def set_alias(self, name: str, request: str | None) -> None:
        """Give a name to a request, or take it away with None."""
        self.home.require_writable()
        self.home.aliases.mkdir(exist_ok=True)
        if request is None:
            (self.home.aliases / name).unlink(missing_ok=True)
        else:
            write_atomically(self.home.aliases / name, request + "\n")
        self.publish_requests()

    def publish_requests(self) -> None:
        """Write the ready answers that shells read: requests/NAME holds a toolkit's path."""
        with self.lock("requests"):
            wanted = {name: kit.path + "\n" for name, kit in self._answers().items()}
            for path in self.home.requests.iterdir():
                if path.name not in wanted:
                    path.unlink(missing_ok=True)
            for name, text in wanted.items():
                path = self.home.requests / name
                if not path.exists() or path.read_text(encoding="utf-8") != text:
                    write_atomically(path, text)

    def _answers(self) -> dict[str, Toolkit]:
        """Map each request that has one answer here to it: 10.1, 10.1+cudnn7, an alias."""
        kits = [kit for kit in self.toolkits() if kit.platform == current_platform()]
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

    # -- staging ---------------------------------------------------------------------

    @contextlib.contextmanager
    def lock(self, name: str) -> Iterator[None]:
        from filelock import FileLock, Timeout  # noqa: PLC0415  # only writing needs it

        path = self.home.locks / f"{name}.lock"
        try:
            with FileLock(path, timeout=_LOCK_SECONDS):
                yield
        except Timeout:
            raise StoreError(
                f"another cudaswitch has been busy with {name} for {_LOCK_SECONDS} s",
                f"see who holds `{path}`, for example with fuser",
            ) from None

    @contextlib.contextmanager
    def staged(self, name: str) -> Iterator[Path]:
        """Give an empty folder to fill; whatever is left of it afterwards is swept.

        The caller holds the lock of that name, so what an earlier process left there is
        nobody's.
        """
        stage = self.home.staging / name
        _sweep(stage)
        try:
            stage.mkdir()
            yield stage
        except OSError as error:
            raise StoreError(
                f"cannot write `{error.filename or stage}`: {error.strerror}",
                "make room or set CUDASWITCH_HOME to another file system",
            ) from None
        finally:
            _sweep(stage)

    def publish(self, stage: Path, final: Path, manifest: dict[str, object]) -> None:
        write_atomically(stage / MANIFEST, json.dumps(manifest, indent=1) + "\n")
        if final.exists():
            self.discard(final)
        stage.rename(final)

    def discard(self, folder: Path) -> None:
        """Take a folder out of sight by one rename, then delete it at leisure."""
        aside = self.home.staging / f"discarded-{folder.name}"
        _sweep(aside)
        with contextlib.suppress(FileNotFoundError):
            folder.rename(aside)
        _sweep(aside)


def own_store() -> Store:
    """Return the person's own store."""
    return Store(stores()[0])


def all_stores() -> list[Store]:
    """Return the person's own store and the shared ones behind it."""
    return [Store(home) for home in stores()]


def find(request: Request, searched: Sequence[Store] | None = None) -> Toolkit:
    """Choose the installed toolkit for a request: the newest that it names.

    The first store that has one wins. Among equals the newest cuDNN does, unless the
    request says which. Raises NotInstalledError naming who asked.
    """
    searched = all_stores() if searched is None else searched
    request = dealias(request, searched)
    for store in searched:
        fitting = [
            kit
            for kit in store.toolkits()
            if kit.platform == current_platform()
            and request.accepts(kit.version)
            and request.accepts_cudnn(kit.cudnn)
        ]
        if fitting:
            return fitting[-1]
    asked = f" (asked for by {request.origin})" if request.origin else ""
    extra = ""
    if request.cudnn:
        extra = " without cuDNN" if request.cudnn == "none" else f" with cuDNN {request.cudnn}"
    option = f" --cudnn {request.cudnn}" if request.cudnn not in (None, "none") else ""
    raise NotInstalledError(
        f"CUDA {request.text}{extra} is not installed{asked}",
        f"cudaswitch install {quote_request(request.text)}{option}",
    )


def quote_request(text: str) -> str:
    """Quote a request for a command line, where ranges hold `<` and `>`."""
    return f"'{text}'" if set(text) & set("<>=,!") else text


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
        f"no alias `{request.text}` is known{asked}", f"cudaswitch alias {request.text} VERSION"
    )


def read_manifest(path: Path) -> dict[str, object] | None:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise StoreError(f"cannot read `{path}`: {error}", "cudaswitch verify") from None
    return data if isinstance(data, dict) else None


def _sweep(folder: Path) -> None:
    if os.path.lexists(folder):
        shutil.rmtree(folder, ignore_errors=False)


def _prefixes(version: Version) -> list[str]:
    parts = str(version).split(".")
    return [".".join(parts[:count]) for count in range(1, len(parts) + 1)]

"""How folders enter and leave a store: by one rename each, from and to `.staging`.

Code that changes a store holds it (`OwnStore.changing`), and passes on the stack of what to undo
if the change fails.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from cudaswitch.durable import exchange, make_folders, rename, sync_folder, write_atomically
from cudaswitch.errors import UNREADABLE, StoreError, hint_for
from cudaswitch.ownership import refuse_sudo, refuse_world_writable, warn_of_world_writable
from cudaswitch.paths import CONTENTS, MANIFEST, Home, first_there
from cudaswitch.regular import read_regular
from cudaswitch.sweeping import DOOMED, sweep
from cudaswitch.talk import say
from cudaswitch.toolkit import refuse_unsafe_path

LAYOUT = "1"
"""Version of the store's layout; a store that states another one is not written to."""

_LAYOUT_BYTES = 64

REMOVED = "removed"
_ANOTHER_STORE = "set CUDASWITCH_HOME to a folder you can write to"
_OCCUPIED = (errno.ENOTEMPTY, errno.EEXIST)


@contextlib.contextmanager
def plain_modes(within: Path | None = None) -> Iterator[None]:
    """Create folders with mode 0755 and files with 0644, whatever the umask.

    If the group may write the store or environment `within`, it may also write what is created.
    """
    groups = within and os.path.isdir(within) and within.stat().st_mode & stat.S_IWGRP
    before = os.umask(0o002 if groups else 0o022)
    try:
        yield
    finally:
        os.umask(before)


def require_writable(home: Home, *, mends: bool = False) -> None:
    """Make the store's folders, or say in one line why it cannot be written.

    A damaged file `layout` is refused or, with `mends`, written anew.
    """
    refuse_unsafe_path(home.folder)
    refuse_world_writable(home.folder)
    warn_of_world_writable(home.folder)
    made = (home.packages, home.toolkits, home.requests, home.pins, home.staging, home.locks)
    try:
        refuse_sudo(home.folder)
        with plain_modes(home.root), contextlib.ExitStack() as undo:
            for folder in made:
                make_folders(folder, undo, lasting=True)
            undo.pop_all()
            if not os.path.exists(home.layout) or (mends and not layout_of(home)):
                write_atomically(home.layout, LAYOUT + "\n")
    except OSError as error:
        raise _unwritable(home, error) from None
    found = layout_of(home)
    if not found:
        raise StoreError(f"the file `{home.layout}` is damaged", "cudaswitch verify --repair")
    if found != LAYOUT:
        raise StoreError(
            f"the store `{home.folder}` has layout {found}, but this cudaswitch writes {LAYOUT}",
            "use the newer cudaswitch that created it",
        )


def refuse_unwritable(home: Home) -> None:
    """Say in one line why a store cannot be written, before anything is downloaded for it.

    Makes no folders, as there may be nothing to put there.
    """
    import tempfile  # noqa: PLC0415  # only installing needs it

    try:
        refuse_sudo(home.folder)
        # Only trying shows what a mount or a quota permits.
        tempfile.TemporaryFile(dir=first_there(home.staging)).close()
    except OSError as error:
        raise _unwritable(home, error) from None


def _unwritable(home: Home, error: OSError) -> StoreError:
    return StoreError(
        f"cannot write the store `{home.folder}`: {error.strerror}",
        hint_for(error, _ANOTHER_STORE),
    )


def layout_of(home: Home) -> str | None:
    """Return the number of a store's layout, ours if it states none; None if it is damaged."""
    try:
        text = read_regular(home.layout, _LAYOUT_BYTES, head=True).strip()
    except FileNotFoundError:
        return LAYOUT
    except OSError:
        return None
    return text.decode() if text.isdigit() else None


class Staging:
    """What this process stages in a store, and has discarded there."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self.folders: set[Path] = set()
        """The folders that are being filled."""
        self.discarded: list[Path] = []
        """The folders that are out of sight, and not deleted yet."""

    @contextlib.contextmanager
    def folder(self, name: str) -> Iterator[Path]:
        """Yield an empty folder to fill; whatever is left of it afterwards is deleted.

        Its name is unique, even where locks do not work. Raises StoreError.
        """
        stage = self._aside(name)
        with writing(self.home):
            try:
                stage.mkdir()
                self.folders.add(stage)
                yield stage
            finally:
                self.folders.discard(stage)
                if stage not in self.discarded:
                    _sweep_later(stage)

    def publish(
        self,
        stage: Path,
        final: Path,
        manifest: dict[str, object],
        undo: contextlib.ExitStack,
        *,
        replaces: bool = False,
    ) -> None:
        """Let a staged folder appear under its name; `undo` learns how to take it back.

        The folder's content must be on disk already (`sync_tree`), except for the manifest. A
        whole folder that has the name stays unless this one `replaces` it: where locks do not
        work, another process may have come first. What has no record is set aside and reported.
        """
        write_atomically(stage / MANIFEST, manifest_text(manifest))
        if not os.path.isfile(final / MANIFEST):
            self._clear(final, undo)
        elif replaces and exchange(stage, final):
            # The folder that was there is now where this one was staged.
            self._bring_back_later(stage, final, undo)
            sync_folder(final.parent)
            return
        elif replaces:
            self.discard(final, undo)
        try:
            rename(stage, final)
        except OSError as error:
            if error.errno in _OCCUPIED and os.path.isfile(final / MANIFEST):
                return
            raise
        undo.callback(self._withdraw, final)
        sync_folder(final.parent)

    def discard(
        self, folder: Path, undo: contextlib.ExitStack, kind: str = "discarded"
    ) -> Path | None:
        """Take a folder out of sight by one rename; it is deleted when the change is done.

        Returns where it is until then. With the `kind` REMOVED, its packages are to go too.
        """
        aside = self._aside(f"{kind}-{folder.name}")
        try:
            rename(folder, aside)
        except FileNotFoundError:
            return None
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            # In a container, a folder of the image cannot be renamed.
            _sweep_on_the_spot(folder)
            return None
        self._bring_back_later(aside, folder, undo)
        sync_folder(folder.parent)
        return aside

    def set_aside(self, path: Path) -> Path | None:
        """Keep what somebody put into the store: it may be their only copy. Return where it is."""
        from datetime import datetime, timezone  # noqa: PLC0415  # few stores have such a thing

        if not os.path.lexists(path):
            return None
        stamp = datetime.now(timezone.utc).strftime("%Y%m%d-%H%M%S-%f")
        kept = self.home.set_aside / stamp / path.relative_to(self.home.root)
        kept.parent.mkdir(parents=True)
        rename(path, kept)
        sync_folder(kept.parent)
        return kept

    def delete_discarded(self) -> None:
        """Delete the discarded folders, as far as possible."""
        for folder in self.discarded:
            _sweep_later(folder)
        self.discarded.clear()

    def _clear(self, final: Path, undo: contextlib.ExitStack) -> None:
        """Free a name; what has no record is set aside, unless a run had begun to delete it."""
        with contextlib.suppress(OSError):
            # An empty folder is nobody's.
            final.rmdir()
        if os.path.lexists(final / DOOMED):
            self.discard(final, undo)
        elif kept := self.set_aside(final):
            say(f"moved `{final}`, which does not belong to cudaswitch, to `{kept}`")

    def _withdraw(self, folder: Path) -> None:
        """Undo a publication: put the folder out of sight or, if that fails, delete it in place."""
        with contextlib.suppress(OSError), contextlib.ExitStack() as undo:
            try:
                self.discard(folder, undo)
            except OSError:
                _sweep_on_the_spot(folder)
            undo.pop_all()

    def _bring_back_later(self, aside: Path, folder: Path, undo: contextlib.ExitStack) -> None:
        self.discarded.append(aside)
        undo.callback(self._bring_back, aside, folder)

    def _bring_back(self, aside: Path, folder: Path) -> None:
        if exchange(aside, folder):
            # What had replaced the folder is now in `aside`, and is deleted instead.
            return
        with contextlib.suppress(OSError):
            rename(aside, folder)
            self.discarded.remove(aside)

    def _aside(self, name: str) -> Path:
        return self.home.staging / f"{name}-{os.urandom(4).hex()}"


def _sweep_on_the_spot(folder: Path) -> None:
    """Delete a folder in place. What a kill leaves of it has no record, but the mark DOOMED."""
    # On a full disk, it goes without the mark.
    with contextlib.suppress(OSError):
        (folder / MANIFEST).rename(folder / DOOMED)
    for record in (CONTENTS, MANIFEST):
        (folder / record).unlink(missing_ok=True)
    sweep(folder)


def _sweep_later(folder: Path) -> None:
    """Delete a folder; what cannot be deleted now, the next run removes."""
    with contextlib.suppress(OSError):
        sweep(folder)


def manifest_text(manifest: dict[str, object]) -> str:
    """Spell the record of a toolkit or package."""
    return json.dumps(manifest, indent=1) + "\n"


@contextlib.contextmanager
def writing(home: Home) -> Iterator[None]:
    """Write with the store's modes; a failure raises StoreError instead of OSError."""
    try:
        with plain_modes(home.root):
            yield
    except OSError as error:
        # Calls relative to a folder's descriptor report a bare name, which says nothing.
        named = Path(error.filename or "")
        named = named if named.is_absolute() else home.root
        does, elsewhere = "write", _ANOTHER_STORE
        if not named.is_relative_to(home.root):
            # It is in the toolkit that another one is laid over.
            does, elsewhere = "read", UNREADABLE
        raise StoreError(
            f"cannot {does} `{named}`: {error.strerror}", hint_for(error, elsewhere)
        ) from None


def hint_at(home: Home, error: OSError, elsewhere: str) -> str:
    """Return the hint for what cannot be written, in the store or `elsewhere`."""
    is_inside = Path(error.filename or "").is_relative_to(home.root)
    return hint_for(error, _ANOTHER_STORE if is_inside else elsewhere)

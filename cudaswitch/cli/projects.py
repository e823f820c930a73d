"""Commands for projects: lock, sync, download."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click

from cudaswitch import talk
from cudaswitch.changing import own_store
from cudaswitch.cli import options, output
from cudaswitch.cli.choosing import (
    Asked,
    asking,
    choose,
    chosen_or_locked,
    find_lock,
    lock_option,
    locked_for,
    project_file,
)
from cudaswitch.cli.outcome import tell_of_no_toolkit
from cudaswitch.cli.refreshing import bring_up_to_date
from cudaswitch.download.cache import workplace
from cudaswitch.download.urls import HIDDEN, redact
from cudaswitch.durable import write_atomically
from cudaswitch.errors import NotFoundError, RequestError, StoreError, hint_for
from cudaswitch.install import Artifact, install
from cudaswitch.lockfile import NAME, LockedToolkit, lock_text, parse_lock, read_lock
from cudaswitch.paths import cache
from cudaswitch.platforms import current_platform
from cudaswitch.rewriting import write_where_named
from cudaswitch.sources.exact import bring_exactly, of_locked
from cudaswitch.sources.licences import tell_of_locked
from cudaswitch.staging import refuse_unwritable
from cudaswitch.store import Store
from cudaswitch.toolkit import Toolkit
from cudaswitch.versions import Version


@click.command(epilog=output.examples("cudaswitch lock", "cudaswitch lock 12.4 --cudnn 9.1"))
@asking
@click.option(
    "-o",
    "--output",
    "target",
    type=options.FromHome(),
    metavar="FILE",
    help=f"File to write, - for stdout.  [default: {NAME} beside the `.cuda-version`, or here]",
)
def lock(asked: Asked, target: str | None) -> None:
    """Record the exact packages for WHAT, each with its URL and sha256.

    WHAT is as for `install`; the default is what the project's `.cuda-version` requests. Nothing
    is downloaded if the source publishes hashes.
    """
    path = _default_place(asked) if target is None else _named_place(target)
    asked.use_mirror()
    with workplace(cache()) as work:
        chosen = choose(asked, work)
    text = _checked([one.kit for one in chosen], Path(path))
    if _is_stdout(path):
        talk.script(text)
        place = "on stdout"
    else:
        place = f"`{path}`"
        try:
            write_where_named(path, os.fsencode(text))
        except OSError as error:
            raise StoreError(
                f"cannot write `{path}`: {error.strerror}",
                hint_for(error, "name another file: -o FILE"),
            ) from None
    for one in chosen:
        talk.say(f"{place}: {_told(one.kit)}")
        for row in one.kit.packages:
            if (url := redact(row.url)).endswith(HIDDEN):
                talk.say(f"`{url}`: its query may be secret, so sync cannot download it")
                talk.hint("cudaswitch download -d DIR; then sync with --from-dir DIR")


def _named_place(target: str) -> str:
    """Return the path for a lock file. Raises RequestError if none can be there."""
    if os.path.isdir(target) or target.endswith("/"):
        file = shlex.quote(os.path.join(target, NAME))
        raise RequestError(f"`{target}` is a folder", f"name a file in it: -o {file}")
    return target


def _default_place(asked: Asked) -> str:
    """Return where a project has its lock file. Raises RequestError if something else is there.

    That may have come with the project: a link to any file of the user's, or a pipe.
    """
    file = None if asked.what else project_file()
    path = str(file.with_name(NAME)) if file else NAME
    is_other = os.path.exists(path) and not os.path.isfile(path)
    if is_other or not os.path.realpath(path).endswith(NAME):
        raise RequestError(
            f"`{path}` is not a lock file", "move it away, or name another file: -o FILE"
        )
    return path


def _is_stdout(path: str) -> bool:
    """Tell whether a name stands for stdout, as /dev/stdout does, which may be a socket or file."""
    if path == "-":
        return True
    try:
        return os.path.samestat(os.stat(path), os.fstat(sys.stdout.fileno()))
    except OSError:
        return False


def _checked(kits: Sequence[LockedToolkit], path: Path) -> str:
    """Spell a lock file, and make sure that it can be read, whatever an index put into URLs."""
    text = lock_text(kits)
    parse_lock(text.encode(), path)
    return text


def _told(kit: LockedToolkit) -> str:
    what = f"CUDA {kit.cuda}" if kit.cuda else "files"
    if kit.release and kit.release != kit.cuda:
        what += f" is {kit.release}"
    what += f" with cuDNN {kit.cudnn}" if kit.cudnn else ""
    return f"{what} for {kit.platform}: {talk.counted(len(kit.packages), 'package')}"


@click.command(
    epilog=output.examples("cudaswitch sync", "cudaswitch sync --offline --from-dir /mnt/usb")
)
@lock_option
@click.option(
    "--from-dir",
    "folder",
    type=options.FromHome(path_type=Path),
    metavar="DIR",
    help="Look for packages in DIR first, such as one filled by `download`.",
)
@options.offline
@click.option("--force", is_flag=True, help="Replace toolkits that have the same name.")
def sync(lock_file: Path | None, folder: Path | None, offline: bool, force: bool) -> None:
    """Install exactly the packages that the lock file names for this platform.

    Every file must match its sha256. Nothing is pinned: `.cuda-version` says which toolkit to
    use. Toolkits already installed from exactly these packages are left as they are.
    """
    path = find_lock(lock_file, folder)
    mine = locked_for(path, [current_platform()])
    store = own_store()
    missing = [kit for kit in mine if force or not _present(store, kit)]
    if missing:
        refuse_unwritable(store.home)
    with workplace(cache()) as work:
        try:
            brought = [(_brought(kit, work, offline, folder), _release(kit)) for kit in missing]
        except NotFoundError as error:
            raise NotFoundError(f"{error.message} (listed in `{path}`)", error.hint) from None
        rows = [row for kit in missing for row in kit.packages]
        tell_of_locked([row.url for row in rows if row.source == "nvidia"])
        made = install(store, brought, force=force, exact=True)
    bring_up_to_date()
    fresh = dict(zip(missing, made, strict=True))
    names: dict[str, None] = {}
    for kit in mine:
        # Of one package in conda's other container, the store keeps the hash that it had first.
        alone = [one for one in fresh.get(kit, []) if len(one.packages) <= len(kit.packages)]
        there = _present(store, kit) or alone[-1:]
        names |= dict.fromkeys(one.name for one in there)
    if not names:
        tell_of_no_toolkit(store)
    for name in names:
        talk.line(name)


def _brought(
    kit: LockedToolkit, work: Path, offline: bool, folder: Path | None
) -> tuple[Artifact, ...]:
    """Return the files of a locked toolkit, each with the hash that it must have."""
    wanted = [of_locked(row, kit.platform) for row in kit.packages]
    return bring_exactly(wanted, workdir=work, offline=offline, folder=folder)


def _release(kit: LockedToolkit) -> Version | None:
    return Version(kit.release) if kit.release else None


def _present(store: Store, kit: LockedToolkit) -> list[Toolkit]:
    """Return the toolkits that are composed of just the locked packages, if all of those are used.

    That is one, or one for each cuDNN.
    """
    hashes = {package.id: package.sha256 for package in store.packages()}
    wanted = {row.sha256 for row in kit.packages}
    made = {one: {hashes.get(at, "") for at in one.packages} for one in store.toolkits()}
    made = {one: parts for one, parts in made.items() if parts <= wanted}
    if wanted.difference(*made.values()):
        return []
    return [one for one, parts in made.items() if not any(map(parts.__lt__, made.values()))]


@click.command(
    epilog=output.examples(
        "cudaswitch download 12.4 -d usb", "cudaswitch download --lock cuda.lock -d usb"
    )
)
@asking
@lock_option
@click.option(
    "-d",
    "--directory",
    "folder",
    type=options.FromHome(path_type=Path, file_okay=False),
    default=Path("cuda-packages"),
    show_default=True,
    metavar="DIR",
    help="The folder to fill.",
)
def download(asked: Asked, lock_file: Path | None, folder: Path) -> None:
    """Download the packages' files into a plain folder, with a lock file that lists them.

    WHAT is as for `install`; the default is what the lock file lists, for all its platforms
    unless --platform is given. What DIR has from an earlier download stays listed.

    For machines without a network: `cudaswitch sync --offline --from-dir DIR` installs them there.
    """
    from cudaswitch.mirroring import put  # noqa: PLC0415  # only this needs it

    asked.use_mirror()
    with workplace(cache()) as work:
        kits = [one.kit for one in chosen_or_locked(asked, lock_file, work)]
        text = _checked(_with_earlier(kits, folder / NAME), folder / NAME)
        paths = []
        try:
            for kit in kits:
                artifacts = _brought(kit, work, asked.offline, None)
                for row, artifact in zip(kit.packages, artifacts, strict=True):
                    paths.append(put(artifact.path, folder, row.file, row.sha256))
            write_atomically(folder / NAME, text)
        except OSError as error:
            raise StoreError(
                f"cannot write `{error.filename or folder}`: {error.strerror}",
                hint_for(error, "name another folder"),
            ) from None
    for path in paths:
        talk.line(str(path))


def _with_earlier(kits: Sequence[LockedToolkit], path: Path) -> list[LockedToolkit]:
    """Add what a folder's lock file lists already: other requests, and other named files."""
    if not os.path.lexists(path):
        return list(kits)
    listed = {(kit.cuda, kit.cudnn, kit.platform): kit for kit in read_lock(path)}
    for kit in kits:
        key = kit.cuda, kit.cudnn, kit.platform
        earlier = listed[key].packages if key in listed and not kit.cuda else ()
        rows = {(row.file, row.sha256): row for row in (*earlier, *kit.packages)}
        listed[key] = replace(kit, packages=tuple(rows.values()))
    return list(listed.values())

"""What `lock`, `download` and `mirror` work on: a lock file, or what one would list."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import Any

import click

from cudaswitch import sources, talk
from cudaswitch.cli import options
from cudaswitch.cli.wanting import LIBRARY_OF_FILE, refuse_unheeded, refuse_words, wanted
from cudaswitch.decision import version_file, working_directory
from cudaswitch.download.cache import file_sha256
from cudaswitch.environments import read_request
from cudaswitch.errors import CudaswitchError, RequestError
from cudaswitch.install import identified
from cudaswitch.lockfile import NAME, Locked, LockedToolkit, locked, read_lock
from cudaswitch.paths import cache
from cudaswitch.platforms import current_platform
from cudaswitch.sources import files
from cudaswitch.sources.choosing import source_for
from cudaswitch.store import dealias
from cudaswitch.versions import Request

_WRITES = "create a lock file: cudaswitch lock"

lock_option = click.option(
    "--lock",
    "lock_file",
    type=options.FromHome(path_type=Path),
    metavar="FILE",
    help=f"Lock file to read.  [default: {NAME} here, or beside the `.cuda-version`]",
)


@dataclass(frozen=True)
class Asked:
    """What was asked for, and how, as the options say."""

    what: tuple[str, ...]
    cudnn: str | None
    source: str | None
    mirror: str | None
    channels: tuple[str, ...]
    components: str
    platforms: tuple[str, ...]
    offline: bool

    def use_mirror(self) -> None:
        """Take what the source has from its mirror from now on, also for a lock file."""
        sources.use_mirror(self.source, self.mirror)


_ASKING = (
    click.argument("what", nargs=-1, metavar="[WHAT...]"),
    *(options.cudnn, options.source, options.mirror, options.channels, options.components),
    *(options.platforms, options.offline),
)
"""The parameters for the fields of Asked, in the order of `--help`."""


def asking(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command WHAT and the options for it, which it gets as one value, `asked`.

    If it has `lock_option` too, only one of the two may be given, and options that say how to get
    a version require WHAT.
    """

    @wraps(command)
    def gathered(**values: Any) -> None:
        mine = {field.name: values.pop(field.name) for field in fields(Asked)}
        if mine["what"] and values.get("lock_file"):
            raise click.UsageError("give either WHAT or --lock, not both")
        if "lock_file" in values and not mine["what"]:
            refuse_unheeded("a lock file names the exact packages")
        command(asked=Asked(**mine), **values)

    for option in reversed(_ASKING):
        gathered = option(gathered)
    return gathered


@dataclass(frozen=True)
class ChosenKit:
    """A toolkit's packages, and what a mirror needs beside them."""

    kit: LockedToolkit
    beside: tuple[Locked, ...] = ()


def chosen_or_locked(asked: Asked, lock_file: Path | None, work: Path) -> list[ChosenKit]:
    """Return the packages of WHAT, or those that a lock file names."""
    if asked.what:
        return choose(asked, work)
    path = find_lock(lock_file, hint=f"name a version, or {_WRITES}")
    return [ChosenKit(kit) for kit in locked_for(path, asked.platforms)]


def find_lock(named: Path | None, folder: Path | None = None, hint: str = _WRITES) -> Path:
    """Return the lock file: the one named, that of the project, or that in the folder.

    Raises RequestError with the hint if there is none.
    """
    if named is not None:
        return named
    file = project_file()
    places = [Path(), *([file.parent] if file else []), *([folder] if folder else [])]
    for place in places:
        if os.path.isfile(place / NAME):
            return place / NAME
    raise RequestError(f"no {NAME} found here", hint)


def locked_for(path: Path, platforms: Sequence[str]) -> list[LockedToolkit]:
    """Read what a lock file lists for these platforms, or for all if none are named.

    Raises CudaswitchError if it has nothing for one of them, or at all, as another tool's file.
    """
    found = read_lock(path)
    if not found:
        raise CudaswitchError(f"`{path}` lists no toolkits", "cudaswitch lock")
    there = sorted({kit.platform for kit in found})
    for platform in platforms:
        if platform not in there:
            raise CudaswitchError(
                f"`{path}` has nothing for {platform}, only for {', '.join(there)}",
                f"cudaswitch lock --platform {platform}",
            )
    return [kit for kit in found if not platforms or kit.platform in platforms]


def choose(asked: Asked, work: Path) -> list[ChosenKit]:
    """Work out the exact packages; a file is downloaded only if its index states no hash."""
    chosen = []
    named = tuple(dict.fromkeys(each for each in asked.what if files.names_file(each)))
    if named and asked.cudnn:
        raise click.UsageError(LIBRARY_OF_FILE)
    if named and len(named) == len(set(asked.what)):
        refuse_unheeded("a file is taken as it is")
    for platform in dict.fromkeys(asked.platforms) or (current_platform(),):
        if named:
            chosen.append(ChosenKit(_of_files(named, platform, work, asked.offline)))
        for request in dict.fromkeys(_requests(asked, named)):
            chosen.append(_of_request(request, asked, platform, work))
    return chosen


def _requests(asked: Asked, named: Sequence[str]) -> list[Request]:
    if asked.what:
        refuse_words(asked.what)
        return [wanted(each, asked.cudnn) for each in asked.what if each not in named]
    file = project_file()
    if file is None:
        raise RequestError(
            "nothing to lock: name a version, or create a `.cuda-version`"
            " (none here or in a parent folder)",
            "cudaswitch pin VERSION --dir .",
        )
    request = dealias(read_request(file))
    if request.text in ("auto", "system"):
        raise RequestError(
            f"`{file}` says `{request.text}`, which differs from machine to machine",
            "name a version: cudaswitch lock VERSION",
        )
    return [request._replace(cudnn=asked.cudnn or request.cudnn)]


def project_file() -> Path | None:
    """Return the `.cuda-version` that applies in the working directory."""
    found = version_file(working_directory(os.environ), os.environ)
    return Path(found) if found else None


def _of_request(request: Request, asked: Asked, platform: str, work: Path) -> ChosenKit:
    source, why = source_for(request, asked.source, asked.channels)
    index = sources.index(source, asked.channels)
    found = index.choose(
        request,
        components=asked.components,
        workdir=work,
        platform=platform,
        offline=asked.offline,
    )
    if why:
        talk.say(why)
    rows, beside = (
        tuple(locked(one.url, one.sha256, one.size, source) for one in some)
        for some in (found.files, found.beside)
    )
    cudnn = request.wanted_cudnn
    release = str(found.toolkit) if found.toolkit else None
    return ChosenKit(LockedToolkit(request.text, cudnn, platform, release, rows), beside)


def _of_files(named: Sequence[str], platform: str, work: Path, offline: bool) -> LockedToolkit:
    artifacts = [
        artifact
        for each in named
        for artifact in files.obtain(each, cache=cache(), workdir=work, offline=offline).artifacts
    ]
    rows = []
    # What install leaves out (one file under two names, an empty package) would be missed by sync.
    for artifact, _ in identified(artifacts, platform):
        origin = artifact.origin
        url = origin if files.is_url(origin) else _url_of(Path(origin))
        size = artifact.path.stat().st_size
        rows.append(locked(url, file_sha256(artifact.path), size, "file"))
    return LockedToolkit("", None, platform, None, tuple(rows))


def _url_of(path: Path) -> str:
    """Spell a file's place with its folder resolved; its own name tells what it is, and stays."""
    return (path.parent.resolve() / path.name).as_uri()

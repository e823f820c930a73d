"""Exactly these files, known by their sha256: from a folder, the cache, or where they came from."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from packaging.utils import canonicalize_name

from cudaswitch.download.access import ANYBODY
from cudaswitch.download.cache import Cache, file_sha256
from cudaswitch.download.several import WantedFile, fetch_all
from cudaswitch.download.urls import HIDDEN, file_name, refused
from cudaswitch.errors import NotFoundError, SourceError
from cudaswitch.install import Artifact
from cudaswitch.lockfile import Locked
from cudaswitch.paths import cache
from cudaswitch.sources.bringing import named
from cudaswitch.toolkit import Package

_PYPI = re.compile(r"pypi:([A-Za-z0-9._-]+)==([A-Za-z0-9.+!_-]+)", re.ASCII)

_WAY = "on a machine with a network: cudaswitch download -d DIR; then sync with --from-dir DIR"


@dataclass(frozen=True)
class Exact:
    """A file by its content. `origin` is a URL, `pypi:NAME==VERSION` or a path.

    `name` is the file's name, empty if it is not known and does not matter; `size` is None if it
    is not known.
    """

    name: str
    origin: str
    sha256: str
    size: int | None
    source: str
    platform: str


def of_package(package: Package) -> Exact:
    """Return the file that a package was unpacked from."""
    origin, is_wheel = package.origin, bool(_PYPI.fullmatch(package.origin))
    name = "" if is_wheel else file_name(origin)
    return Exact(name, origin, package.sha256, package.size, package.source, package.platform)


def of_locked(row: Locked, platform: str) -> Exact:
    """Return the file that a row of a lock file names, for a toolkit of that platform."""
    wheel = f"pypi:{canonicalize_name(row.name)}=={row.version}"
    origin = wheel if row.source == "pypi" else row.url
    return Exact(row.file, origin, row.sha256, row.size, row.source, platform)


def bring_exactly(
    wanted: Sequence[Exact], *, workdir: Path, offline: bool, folder: Path | None = None
) -> tuple[Artifact, ...]:
    """Return the files in their order, under their names, each with the sha256 that it must have.

    `folder` and all folders below it are searched first. Raises SourceError, or StoreError
    if the work folder or cache cannot be written.
    """
    found: dict[str, Path] = {}
    if folder is not None:
        found |= _in_folder(folder, wanted)
    store = Cache(cache())
    for each in wanted:
        if each.sha256 not in found and (path := store.find(each.sha256)):
            found[each.sha256] = path
    missing = [each for each in wanted if each.sha256 not in found]
    lacking = [one for one in missing if not _is_here(one)]
    if folder is not None and lacking and offline:
        raise _incomplete(folder, lacking)
    found |= _from_pip([one for one in missing if _PYPI.fullmatch(one.origin)], workdir, offline)
    plain = [one for one in missing if not _PYPI.fullmatch(one.origin)]
    found |= _fetched(plain, offline)
    return tuple(
        Artifact(
            named(found[each.sha256], each.name, workdir),
            each.origin,
            None if each.source == "file" else each.source,
            each.sha256,
        )
        for each in wanted
    )


def _in_folder(folder: Path, wanted: Sequence[Exact]) -> dict[str, Path]:
    """Find files by content; only those that have one of the names or sizes are read."""
    if not os.path.isdir(folder):
        raise SourceError(
            f"there is no folder `{folder}`", "create one: cudaswitch download -d DIR"
        )
    names = {each.name for each in wanted}
    sizes = {each.size for each in wanted}
    hashes = {each.sha256 for each in wanted}
    found = {}
    for above, _, files in os.walk(folder):
        for name in files:
            path = Path(above) / name
            try:
                if not os.path.isfile(path) or not (name in names or path.stat().st_size in sizes):
                    continue
                sha256 = file_sha256(path)
            except OSError as error:
                raise SourceError(f"cannot read `{path}`: {error.strerror}") from None
            if sha256 in hashes:
                found[sha256] = path
    return found


def _incomplete(folder: Path, missing: Sequence[Exact]) -> SourceError:
    """Tell what a folder lacks: a file has other content (perhaps cut short), or is not there."""
    names = {name: Path(above) / name for above, _, files in os.walk(folder) for name in files}
    others = [names[each.name] for each in missing if each.name in names]
    if others:
        told = f"`{others[0]}` is not the file that was locked"
    else:
        first, *more = (one.name or one.origin for one in missing)
        told = f"{first} {f'and {len(more)} more are' if more else 'is'} neither in `{folder}`"
        told += " nor in the cache"
    return NotFoundError(f"{told}, and nothing is downloaded offline", _WAY)


def _is_here(each: Exact) -> bool:
    """Tell whether a file came from this machine, not from a network."""
    return each.origin.startswith(("file:", "/"))


def _fetched(wanted: Sequence[Exact], offline: bool) -> dict[str, Path]:
    from cudaswitch.sources.channels import condas_settings  # noqa: PLC0415  # few need them
    from cudaswitch.sources.places import with_credentials  # noqa: PLC0415  # loads them too

    todo = []
    of_conda = ANYBODY
    if any(each.source == "conda" and not _is_here(each) for each in wanted):
        of_conda = condas_settings(offline=offline).access
    for each in wanted:
        is_path = each.origin.startswith("/")
        url = Path(each.origin).as_uri() if is_path else with_credentials(each.origin)
        if url.endswith(HIDDEN) and not offline:
            raise refused(
                url,
                "its query may be secret, and was not recorded",
                "install it from its full URL, or sync with --from-dir DIR",
            )
        access = of_conda if each.source == "conda" else ANYBODY
        todo.append(WantedFile(url, each.sha256, each.size, access))
    try:
        paths = fetch_all(todo, cache(), offline=offline)
    except NotFoundError:
        names = [each.name for each in wanted if not _is_here(each)]
        if not (offline and names):
            raise
        raise NotFoundError(
            f"{', '.join(names)} {'are' if names[1:] else 'is'} not in the cache, and offline"
            " nothing is downloaded",
            _WAY,
        ) from None
    return {each.sha256: path for each, path in zip(wanted, paths, strict=True)}


def _from_pip(wanted: Sequence[Exact], workdir: Path, offline: bool) -> dict[str, Path]:
    """Let pip download wheels with exactly these hashes, from the index it is configured for."""
    if not wanted:
        return {}
    from cudaswitch.sources.kept_wheels import keep  # noqa: PLC0415  # few files come through pip
    from cudaswitch.sources.pip_process import run_pip  # noqa: PLC0415  # the same
    from cudaswitch.sources.wheel_tags import tags_of  # noqa: PLC0415  # the same

    found: dict[str, Path] = {}
    for platform in sorted({each.platform for each in wanted}):
        group = [each for each in wanted if each.platform == platform]
        work = Path(tempfile.mkdtemp(prefix="pip-", dir=workdir))
        lines = [f"{_requirement(each)} --hash=sha256:{each.sha256}\n" for each in group]
        listed = work / "requirements.txt"
        listed.write_text("".join(lines))
        dest = work / "wheels"
        what = _requirement(group[0]) + (f" and {len(group) - 1} more" if group[1:] else "")
        try:
            run_pip(
                [
                    *("download", "--no-deps", "--only-binary=:all:", "--require-hashes"),
                    *([] if platform == "noarch" else tags_of(platform)),
                    *("--dest", str(dest), "--requirement", str(listed)),
                ],
                what,
                offline=offline,
            )
        except NotFoundError as error:
            raise NotFoundError(error.message, _WAY) from None
        brought = {keep(path): path for path in sorted(dest.iterdir())}
        for each in group:
            if each.sha256 not in brought:
                raise SourceError(f"pip did not deliver {_requirement(each)} as locked")
            found[each.sha256] = brought[each.sha256]
    return found


def _requirement(each: Exact) -> str:
    match = _PYPI.fullmatch(each.origin)
    return f"{match[1]}=={match[2]}" if match else each.name

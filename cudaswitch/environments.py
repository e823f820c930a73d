"""Conda prefixes and virtualenvs: find them, and read what they ask for."""

from __future__ import annotations

import os
import stat

from cudaswitch.activation import Want
from cudaswitch.errors import CudaswitchError, EnvironmentNotFoundError, RequestError
from cudaswitch.namedtuples import NamedTuple
from cudaswitch.platforms import at_home
from cudaswitch.regular import (
    opening,
    read_regular,
    toolkit_is_there,
    why_no_folder,
    without_waiting,
)
from cudaswitch.sites import extended, matching
from cudaswitch.versions import VERSION_FILE, VERSION_FILE_LIMIT, Request, parse_version_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from os import PathLike
    from typing import Literal

    Owner = Literal["C", "V"]

ENVIRONMENT_VARIABLE: dict[Owner, str] = {"C": "CONDA_PREFIX", "V": "VIRTUAL_ENV"}
"""The variable that names the active environment of each kind: conda prefix, virtualenv."""
WANT_LIMIT = 64 << 10
"""Bytes of a kept answer, which has two paths."""


class Environment(NamedTuple):
    """A conda prefix (`owner` C) or a virtualenv (`owner` V); `prefix` is its folder."""

    prefix: str
    owner: Owner

    @property
    def folder(self) -> str:
        """Where our own files are; nothing is ever put into conda-meta."""
        return f"{self.prefix}/etc/cudaswitch"

    @property
    def pin_file(self) -> str:
        return f"{self.folder}/pin"

    @property
    def want_file(self) -> str:
        """The finished answer as data, for shells that no environment has scripts for.

        Its slashes are line breaks: cloning an environment replaces its old prefix in every
        text file, and must not find it at the start of another path.
        """
        return f"{self.folder}/want"

    def is_own(self) -> bool:
        """Tell whether all folders that hooks are written in are this user's, and none is a link.

        The owner of a link chooses where writes through it go.
        """
        parts = {"C": ("conda", "conda/activate.d", "conda/deactivate.d"), "V": ("../bin",)}
        inner = ("", "cudaswitch", "cudaswitch/pin", "cudaswitch/want", *parts[self.owner])
        for path in (os.path.realpath(self.prefix), *(f"{self.prefix}/etc/{at}" for at in inner)):
            try:
                status = os.lstat(path.rstrip("/"))
            except FileNotFoundError:
                continue
            except OSError:
                return False
            if status.st_uid != os.geteuid() or stat.S_ISLNK(status.st_mode):
                return False
        return True

    def want_kept(self) -> Want | None:
        """Return what its hooks ask for, None if that is not known."""
        text = self.want_text()
        return None if text is None else Want.parse(text)

    def want_text(self) -> str | None:
        """Return what its hooks ask for as the state variables spell it, None if not known."""
        try:
            text = read_regular(self.want_file, WANT_LIMIT).decode()
        except (OSError, ValueError):
            return None
        return text.rstrip("\n").replace("\n", "/")

    def changed_since(self, file: str) -> bool:
        """Tell by file times whether packages changed since a file was written.

        Raises OSError.
        """
        folders = [f"{self.prefix}/conda-meta"]
        for python in "23":
            folders += matching(self.prefix, f"lib/python{python}*/site-packages")
        written = os.stat(file).st_mtime_ns
        return any(os.stat(at).st_mtime_ns > written for at in folders if os.path.isdir(at))

    def answer_file(self, folder: str) -> str:
        """The file in `folder` that keeps what the frameworks need: the prefix, then a want or "".

        If there is a reason with a hint, they follow: why there is no want, or why it may not
        work.
        """
        return os.path.join(folder, self.prefix.replace("/", "%"))

    def answer_kept(self, folder: str) -> list[str] | None:
        """Return what `answer_file` has after the prefix: first the want, "" for none.

        None if there is no such file, packages have changed since or the toolkit is gone.
        """
        file = self.answer_file(folder)
        try:
            prefix, *kept = read_regular(file, WANT_LIMIT).decode().removesuffix("\n").split("\n")
            is_current = prefix == self.prefix and not self.changed_since(file)
            home = kept[0].partition(":")[0]
        except (OSError, ValueError, IndexError):
            return None
        return kept if is_current and (not home or toolkit_is_there(home)) else None


def kind_of(prefix: str | PathLike[str]) -> Owner | None:
    """Tell a conda prefix (C) from a virtualenv (V); None if it is neither, or cannot be seen.

    virtualenv has written a pyvenv.cfg since 20.
    """
    if os.path.isdir(os.path.join(prefix, "conda-meta")):
        return "C"
    marks = ("pyvenv.cfg", "bin/activate_this.py")
    return "V" if any(os.path.isfile(os.path.join(prefix, mark)) for mark in marks) else None


def environment_at(prefix: str | PathLike[str]) -> Environment:
    """Return the environment at `prefix`; for a layer of `uv run --with`, the one below it.

    Raises EnvironmentNotFoundError if there is none.
    """
    folder = extended(os.path.abspath(at_home(os.fspath(prefix))))
    if kind := kind_of(folder):
        return Environment(folder, kind)
    without_marks = ("has neither conda-meta nor pyvenv.cfg", "check the path")
    what, hint = why_no_folder(folder) or without_marks
    raise EnvironmentNotFoundError(
        f"`{folder}` is not a conda environment or virtualenv: it {what}",
        f"{hint}, or name another with -n or -p",
    )


def active_environment(variables: Mapping[str, str]) -> Environment | None:
    """Return the environment whose programs come first on PATH, None if none is active."""
    return next(standing_environments(variables), None)


def required_environment(variables: Mapping[str, str], asked: str) -> Environment:
    """Return the active one for `auto`; raises EnvironmentNotFoundError if there is none."""
    if environment := active_environment(variables):
        return environment
    raise EnvironmentNotFoundError(
        f"`auto` needs an active environment{asked}", "activate one, or name a version"
    )


def standing_environments(variables: Mapping[str, str]) -> Iterator[Environment]:
    """Yield the active environment and those that it is stacked on, downwards."""
    for prefix in entered(variables):
        try:
            yield environment_at(prefix)
        except EnvironmentNotFoundError:
            continue


def entered(variables: Mapping[str, str]) -> list[str]:
    """List the prefixes that were activated, the last one first; some may be gone by now.

    Of conda's, the active one and those that `conda activate --stack` has left on PATH, by
    level; a virtualenv comes between them where PATH has it.
    """
    path = variables.get("PATH", "").split(os.pathsep)

    def place(prefix: str) -> int:
        return path.index(f"{prefix}/bin") if f"{prefix}/bin" in path else len(path)

    active, virtualenv = variables.get("CONDA_PREFIX"), variables.get("VIRTUAL_ENV")
    named = [active, *stacked_on(variables)] if active else []
    if virtualenv:
        above = (at for at, prefix in enumerate(named) if place(virtualenv) <= place(prefix))
        named.insert(next(above, len(named)), virtualenv)
    return list(filter(os.path.isabs, dict.fromkeys(named)))


def pinned_environment(variables: Mapping[str, str]) -> Environment | None:
    """Return the topmost of the standing environments that has a pin: it decides for all."""
    standing = standing_environments(variables)
    return next((one for one in standing if os.path.exists(one.pin_file)), None)


def stacked_on(variables: Mapping[str, str]) -> list[str]:
    """List the conda prefixes on PATH that the active one was stacked on, downwards."""
    level, folders = variables.get("CONDA_SHLVL", ""), variables.get("PATH", "").split(os.pathsep)
    counts = level.isascii() and level.isdecimal() and len(level) < 3 and level[0] != "0"
    levels = range(int(level) if counts else 0, 1, -1)
    stacked = [it for it in levels if variables.get(f"CONDA_STACKED_{it}")]
    below = [variables.get(f"CONDA_PREFIX_{it - 1}", "") for it in stacked]
    return [prefix for prefix in below if f"{prefix}/bin" in folders]


def pin_of(environment: Environment) -> Request:
    """Read the pin of an environment that the user has activated, or has named.

    It may be another user's: activating an environment runs its scripts, hooks among them.
    Raises what read_request raises.
    """
    return read_request(environment.pin_file, anyones=True)


def environment_pinned_by(file: str | PathLike[str]) -> Environment | None:
    """Return the environment that a file is the pin of, None if it is no pin."""
    try:
        environment = environment_at(f"{os.path.dirname(file)}/../..")
    except EnvironmentNotFoundError:
        return None
    return environment if environment.pin_file == str(file) else None


def read_request(path: str | PathLike[str], *, anyones: bool = False) -> Request:
    """Read a `.cuda-version` file or a pin: data, never more than VERSION_FILE_LIMIT bytes.

    Raises RequestError, or CudaswitchError if the file may not decide anything: it is not regular,
    or belongs to somebody other than us, root and the user behind `sudo`, unless it may be
    `anyones`.
    """
    shown = str(path)
    try:
        with open(path, "rb", opener=without_waiting) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise CudaswitchError(f"`{shown}` is not a regular file", "remove it")
            # A link's owner counts too: it can lead to any file, such as one of ours or of root's.
            owners = {status.st_uid, os.lstat(path).st_uid}
            content = file.read(VERSION_FILE_LIMIT + 1)
            if not anyones and not owners <= {0, os.geteuid(), sudo_caller()}:
                # Show nothing read through a link: its owner may be unable to read that file.
                version = _told(content) if len(owners) == 1 else "VERSION"
                raise CudaswitchError(
                    f"`{shown}` belongs to another user and is not followed",
                    f"if you trust it, run cudaswitch use {version}, or set"
                    f" CUDASWITCH_VERSION={version} for exec and shims",
                )
    except OSError as error:
        instead = "set CUDASWITCH_VERSION to a version"
        hint = opening(path, instead) if isinstance(error, PermissionError) else "remove it"
        raise CudaswitchError(f"cannot read `{shown}`: {error.strerror}", hint) from None
    if len(content) > VERSION_FILE_LIMIT:
        raise CudaswitchError(
            f"`{shown}` is longer than {VERSION_FILE_LIMIT} bytes", "it needs only one request"
        )
    try:
        return parse_version_file(content.decode("utf-8", "replace"), shown)
    except RequestError:
        if leads_elsewhere(path):
            raise another_file(shown) from None
        raise


def leads_elsewhere(path: str | PathLike[str]) -> bool:
    """Tell whether a version file is a link to a file of another kind.

    It may have come with a project, and lead to content that no message should show. Where users
    keep such files elsewhere, only the dot at the start of the name may differ.
    """
    is_link = os.path.basename(path) == VERSION_FILE and os.path.islink(path)
    return is_link and not os.path.realpath(path).endswith(VERSION_FILE[1:])


def another_file(shown: str) -> RequestError:
    """Return the error for such a link."""
    return RequestError(
        f"`{shown}` is a link to some other kind of file, which does not request a version",
        "write the version into a regular file",
    )


def sudo_caller() -> int | None:
    """Return the user who has called us by `sudo`; None if nobody has, or we are not root.

    Whoever can set SUDO_UID for a program of root can set CUDASWITCH_VERSION as well.
    """
    caller = os.environ.get("SUDO_UID", "")
    is_number = caller.isascii() and caller.isdecimal() and len(caller) <= 10
    return int(caller) if is_number and os.geteuid() == 0 else None


def _told(content: bytes) -> str:
    """Return what a version file asks for, as a shell word for a user who trusts it."""
    from shlex import quote  # noqa: PLC0415  # only refusals need it

    if len(content) > VERSION_FILE_LIMIT:
        return "VERSION"
    try:
        return quote(str(parse_version_file(content.decode(), "")))
    except (ValueError, CudaswitchError):
        return "VERSION"

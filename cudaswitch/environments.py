"""Conda prefixes and virtualenvs: find them, and read what they ask for."""

from __future__ import annotations

import os
import stat

from cudaswitch.activation import Want
from cudaswitch.errors import CudaswitchError, EnvironmentNotFoundError, RequestError
from cudaswitch.namedtuples import NamedTuple
from cudaswitch.platforms import at_home, home_folder
from cudaswitch.regular import opening, read_regular
from cudaswitch.sites import matching, names_of
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
_LIST_LIMIT = 1 << 20
"""Bytes of conda's list of environments that are read; some are of years."""


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
        """The finished answer as data, for shells whose own scripts no environment runs.

        Each slash is a line break there: cloning an environment replaces its old prefix in
        every text file, and must not find it at the head of another path.
        """
        return f"{self.folder}/want"

    def is_own(self) -> bool:
        """Tell whether all folders that hooks are written in are this user's, and none is a link.

        Whoever owns a link chooses what is written through it.
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
        """Return what its hooks ask for, None where that is not known."""
        try:
            text = read_regular(self.want_file, WANT_LIMIT).decode()
        except (OSError, ValueError):
            return None
        return Want.parse(text.rstrip("\n").replace("\n", "/"))

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
        """Where `folder` keeps what the frameworks need: the prefix, and a want or nothing."""
        return os.path.join(folder, self.prefix.replace("/", "%"))

    def answer_kept(self, folder: str) -> str | None:
        """Return the want of the frameworks, as `folder` keeps it, "" for none.

        None where it is not there, packages have changed since or the toolkit is gone.
        """
        file = self.answer_file(folder)
        try:
            prefix, want = read_regular(file, WANT_LIMIT).decode().split("\n")[:2]
            is_current = prefix == self.prefix and not self.changed_since(file)
        except (OSError, ValueError):
            return None
        home = want.partition(":")[0]
        return want if is_current and (not want or os.path.isdir(home)) else None


def environment_at(prefix: str | PathLike[str]) -> Environment:
    """Return the environment at `prefix`; raises EnvironmentNotFoundError when there is none."""
    folder = os.path.abspath(at_home(os.fspath(prefix)))
    if os.path.isdir(f"{folder}/conda-meta"):
        return Environment(folder, "C")
    if any(os.path.isfile(f"{folder}/{mark}") for mark in ("pyvenv.cfg", "bin/activate_this.py")):
        return Environment(folder, "V")
    what = "holds no conda-meta and no pyvenv.cfg" if os.path.isdir(folder) else "is not there"
    raise EnvironmentNotFoundError(
        f"`{folder}` is no conda environment or virtualenv: it {what}",
        "create it first, or name another with -n or -p",
    )


def active_environment(variables: Mapping[str, str]) -> Environment | None:
    """Return the environment whose programs come first on PATH, None when none is active."""
    return next(standing_environments(variables), None)


def standing_environments(variables: Mapping[str, str]) -> Iterator[Environment]:
    """Yield the active environment and those that it stands on, downwards."""
    for prefix in entered(variables):
        try:
            yield environment_at(prefix)
        except EnvironmentNotFoundError:
            continue


def entered(variables: Mapping[str, str]) -> list[str]:
    """List the prefixes that were activated, the last one first; some may be gone since.

    Of conda's, those that `conda activate --stack` has left on PATH, by their levels; between
    them a virtualenv as PATH has it.
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


def environment_named(name: str, variables: Mapping[str, str]) -> Environment:
    """Find an environment by conda's name for it, or virtualenvwrapper's.

    Raises EnvironmentNotFoundError where none has it, or several that go by their paths.
    """
    known = known_environments(variables)
    roots, folders = _places(variables)
    folders += [f"{prefix}/envs" for prefix in known if _is_root(prefix)]
    if name == "base":  # what is called so by its path alone conda means by no name
        has_name = [prefix for prefix in known if os.path.dirname(prefix) in folders]
        fitting = [*filter(_is_root, known), *(at for at in has_name if at.endswith("/base"))]
    else:
        fitting = [prefix for prefix in known if os.path.basename(prefix) == name]
    if not fitting:
        names = {"base" if _is_root(prefix) else os.path.basename(prefix) for prefix in known}
        known_ones = f"known are {', '.join(sorted(names))}; " if names else ""
        hint = f"{known_ones}name it with -p PREFIX"
        raise EnvironmentNotFoundError(f"no environment `{name}` is known", hint)
    named = [at for at in fitting if at in roots or os.path.dirname(at) in folders]
    if not named and len({os.path.realpath(prefix) for prefix in fitting}) > 1:
        paths = ", ".join(f"`{prefix}`" for prefix in fitting)
        raise EnvironmentNotFoundError(f"`{name}` may be each of {paths}", "name one with -p")
    return environment_at((named or fitting)[0])


def known_environments(variables: Mapping[str, str]) -> list[str]:
    """List the environments that conda and virtualenvwrapper know.

    Those that have names of their own come before those that go by their paths.
    """
    found, folders = _places(variables)
    for folder in folders:
        found += [f"{folder}/{name}" for name in names_of(folder)]
    for folder in _of_conda(variables):
        try:
            text = read_regular(f"{folder}/environments.txt", _LIST_LIMIT, head=True)
        except OSError:
            continue
        noted = [_plain(os.fsdecode(line)) for line in text.splitlines() if line]
        found += [*noted, *filter(None, map(_root_of, noted))]
    # Others' folders, which may not be looked at, are named there too.
    return [
        prefix
        for prefix in dict.fromkeys(found)
        if os.path.isdir(f"{prefix}/conda-meta") or os.path.isfile(f"{prefix}/pyvenv.cfg")
    ]


def _places(variables: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """Return the roots of conda and mamba, and the folders of environments that have names."""
    roots = []
    if variables.get("MAMBA_ROOT_PREFIX"):
        roots.append(_plain(variables["MAMBA_ROOT_PREFIX"]))
    if variables.get("CONDA_EXE"):
        roots.append(os.path.dirname(os.path.dirname(_plain(variables["CONDA_EXE"]))))
    else:  # nothing of conda's has run in this shell, but it may be there
        above = (os.path.dirname(_plain(at)) for at in variables.get("PATH", "").split(os.pathsep))
        roots += [at for at in above if at and os.path.isfile(f"{at}/condabin/conda")]
    folders = [f"{root}/envs" for root in roots] + [f"{at}/envs" for at in _of_conda(variables)]
    for name in ("CONDA_ENVS_DIRS", "CONDA_ENVS_PATH", "WORKON_HOME"):
        folders += map(_plain, filter(None, variables.get(name, "").split(os.pathsep)))
    return roots, folders


def _plain(path: str) -> str:
    """Spell a path as others spell it: without a slash at its end."""
    return path.rstrip("/") or path


def _of_conda(variables: Mapping[str, str]) -> list[str]:
    """Return the folder that conda has in the person's home folder, none where none is known."""
    home = home_folder(variables)
    return [os.path.join(home, ".conda")] if home else []


def _is_root(prefix: str) -> bool:
    """Tell whether an environment is a base: conda may be installed in others, too."""
    has = os.path.isdir(f"{prefix}/condabin") or os.path.isdir(f"{prefix}/envs")
    return has and not _root_of(prefix)


def _root_of(prefix: str) -> str:
    """Return the base that an environment has its name from, "" where it goes by its path."""
    root = os.path.dirname(os.path.dirname(prefix))
    named = os.path.dirname(prefix) == f"{root}/envs" and os.path.isdir(f"{root}/conda-meta")
    return root if named else ""


def pin_of(environment: Environment) -> Request:
    """Read the pin of an environment that somebody has activated, or has named.

    It may be another user's: who activates an environment runs its scripts, hooks among them.
    Raises what read_request raises.
    """
    return read_request(environment.pin_file, anyones=True)


def environment_pinned_by(file: str | PathLike[str]) -> Environment | None:
    """Return the environment whose pin a file is, None where it is no pin."""
    try:
        environment = environment_at(f"{os.path.dirname(file)}/../..")
    except EnvironmentNotFoundError:
        return None
    return environment if environment.pin_file == str(file) else None


def read_request(path: str | PathLike[str], *, anyones: bool = False) -> Request:
    """Read a `.cuda-version` file or a pin: data, never more than VERSION_FILE_LIMIT bytes.

    Raises RequestError, or CudaswitchError when the file is none that may decide anything: not
    regular, or another user's than ours, root's and that of who has called root by `sudo`, unless
    it may be `anyones`.
    """
    shown = str(path)
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise CudaswitchError(f"`{shown}` is not a regular file", "remove it")
            # A link leads to whatever file its owner likes, one's own or root's.
            owners = {status.st_uid, os.lstat(path).st_uid}
            content = file.read(VERSION_FILE_LIMIT + 1)
            if not anyones and not owners <= {0, os.geteuid(), sudo_caller()}:
                # Behind a link may be what its owner could not read.
                version = _told(content) if len(owners) == 1 else "VERSION"
                raise CudaswitchError(
                    f"`{shown}` belongs to another user and is not followed",
                    f"if you trust it: cudaswitch use {version}, or CUDASWITCH_VERSION={version}"
                    " for exec and shims",
                )
    except OSError as error:
        instead = "set CUDASWITCH_VERSION to a version"
        hint = opening(path, instead) if isinstance(error, PermissionError) else "remove it"
        raise CudaswitchError(f"cannot read `{shown}`: {error.strerror}", hint) from None
    if len(content) > VERSION_FILE_LIMIT:
        raise CudaswitchError(
            f"`{shown}` is longer than {VERSION_FILE_LIMIT} bytes", "one request a line is enough"
        )
    try:
        return parse_version_file(content.decode("utf-8", "replace"), shown)
    except RequestError:
        if leads_elsewhere(path):
            raise another_file(shown) from None
        raise


def leads_elsewhere(path: str | PathLike[str]) -> bool:
    """Tell whether a version file is a link to one of another kind.

    It may come with a project, and lead to what nobody is to see in a message. Those who keep
    such files elsewhere have names of their own for the dot.
    """
    is_link = os.path.basename(path) == VERSION_FILE and os.path.islink(path)
    return is_link and not os.path.realpath(path).endswith(VERSION_FILE[1:])


def another_file(shown: str) -> RequestError:
    """Return what there is to say of such a link."""
    return RequestError(
        f"`{shown}` is a link to a file of another kind, which asks for no version",
        "write a version into a file of its own",
    )


def sudo_caller() -> int | None:
    """Return the user who has called us by `sudo`; None where that is nobody, or we are not root.

    Whoever can set SUDO_UID for a program of root can set CUDASWITCH_VERSION as well.
    """
    caller = os.environ.get("SUDO_UID", "")
    is_number = caller.isascii() and caller.isdecimal() and len(caller) <= 10
    return int(caller) if is_number and os.geteuid() == 0 else None


def _told(content: bytes) -> str:
    """Return what a version file asks for, as a word for the shell of who trusts it."""
    from shlex import quote  # noqa: PLC0415  # only refusals need it

    if len(content) > VERSION_FILE_LIMIT:
        return "VERSION"
    try:
        return quote(str(parse_version_file(content.decode(), "")))
    except (ValueError, CudaswitchError):
        return "VERSION"

"""Conda prefixes and virtualenvs: find them, and read what they ask for."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, NamedTuple

from cudaswitch.activation import Want
from cudaswitch.errors import CudaswitchError, EnvironmentNotFoundError
from cudaswitch.versions import VERSION_FILE_LIMIT, Request, parse_version_file


class Environment(NamedTuple):
    """A conda prefix (`owner` C) or a virtualenv (`owner` V)."""

    prefix: Path
    owner: Literal["C", "V"]

    @property
    def folder(self) -> Path:
        """Where our own files are; nothing is ever put into conda-meta."""
        return self.prefix / "etc" / "cudaswitch"

    @property
    def pin_file(self) -> Path:
        return self.folder / "pin"

    @property
    def want_file(self) -> Path:
        """The finished answer as data, for shells whose own scripts no environment runs.

        Each slash is a line break there: cloning an environment replaces its old prefix in
        every text file, and must not find it at the head of another path.
        """
        return self.folder / "want"

    def want_kept(self) -> Want | None:
        """Return what its hooks ask for, None where that is not known."""
        try:
            text = self.want_file.read_text(encoding="utf-8")
        except (OSError, ValueError):
            return None
        return Want.parse(text.rstrip("\n").replace("\n", "/"))

    def changed_since(self, file: Path) -> bool:
        """Have the packages changed since a file was written? By file times; raises OSError."""
        folders = [self.prefix / "conda-meta"]
        folders += self.prefix.glob("lib/python[23]*/site-packages")
        written = file.stat().st_mtime_ns
        return any(
            os.path.isdir(folder) and folder.stat().st_mtime_ns > written for folder in folders
        )

    def answer_file(self, folder: Path) -> Path:
        """Where `folder` keeps what the frameworks need: the prefix, and a want or nothing."""
        return folder / str(self.prefix).replace("/", "%")

    def answer_kept(self, folder: Path) -> str | None:
        """Return the want of the frameworks, as `folder` keeps it, "" for none.

        None where it is not there, packages have changed since or the toolkit is gone.
        """
        file = self.answer_file(folder)
        try:
            prefix, want = file.read_text(encoding="utf-8").split("\n")[:2]
            is_current = prefix == str(self.prefix) and not self.changed_since(file)
        except (OSError, ValueError):
            return None
        home = want.partition(":")[0]
        return want if is_current and (not want or os.path.isdir(home)) else None


def environment_at(prefix: Path) -> Environment:
    """Return the environment at `prefix`; raises EnvironmentNotFoundError when there is none."""
    prefix = Path(os.path.normpath(Path(os.path.expanduser(prefix)).absolute()))
    if os.path.isdir(prefix / "conda-meta"):
        return Environment(prefix, "C")
    if os.path.isfile(prefix / "pyvenv.cfg") or os.path.isfile(prefix / "bin" / "activate_this.py"):
        return Environment(prefix, "V")
    what = "holds no conda-meta and no pyvenv.cfg" if os.path.isdir(prefix) else "is not there"
    raise EnvironmentNotFoundError(
        f"`{prefix}` is no conda environment or virtualenv: it {what}",
        "create it first, or name another with -n or -p",
    )


def active_environment(variables: Mapping[str, str]) -> Environment | None:
    """Return the environment whose programs come first on PATH, None when none is active."""
    named = [variables[name] for name in ("VIRTUAL_ENV", "CONDA_PREFIX") if variables.get(name)]
    path = variables.get("PATH", "").split(os.pathsep)
    places = {prefix: os.path.join(prefix, "bin") for prefix in named}  # noqa: PTH118  # as text
    named.sort(key=lambda at: path.index(places[at]) if places[at] in path else len(path))
    for prefix in named:
        try:
            return environment_at(Path(prefix))
        except EnvironmentNotFoundError:
            continue
    return None


def environment_named(name: str, variables: Mapping[str, str]) -> Environment:
    """Find an environment by conda's name for it, or virtualenvwrapper's.

    Raises EnvironmentNotFoundError where none has it, or several that go by their paths.
    """
    known = known_environments(variables)
    fitting = [
        prefix for prefix in known if prefix.name == name or (name == "base" and _is_root(prefix))
    ]
    if not fitting:
        names = {"base" if _is_root(prefix) else prefix.name for prefix in known}
        known_ones = f"known are {', '.join(sorted(names))}; " if names else ""
        hint = f"{known_ones}name it with -p PREFIX"
        raise EnvironmentNotFoundError(f"no environment `{name}` is known", hint)
    roots, folders = _places(variables)
    folders += [prefix / "envs" for prefix in known if _is_root(prefix)]
    named = [prefix for prefix in fitting if prefix in roots or prefix.parent in folders]
    if not named and len({os.path.realpath(prefix) for prefix in fitting}) > 1:
        paths = ", ".join(f"`{prefix}`" for prefix in fitting)
        raise EnvironmentNotFoundError(f"`{name}` may be each of {paths}", "name one with -p")
    return environment_at((named or fitting)[0])


def known_environments(variables: Mapping[str, str]) -> list[Path]:
    """List the environments that conda and virtualenvwrapper know.

    Those that have names of their own come before those that go by their paths.
    """
    found, folders = _places(variables)
    for folder in folders:
        with contextlib.suppress(OSError):
            found += sorted(folder.iterdir())
    # Others' folders, which may not be looked at, are named there too.
    with contextlib.suppress(OSError):
        text = (_home(variables) / ".conda" / "environments.txt").read_bytes()
        found += [Path(os.fsdecode(line)) for line in text.splitlines() if line]
    return [
        prefix
        for prefix in dict.fromkeys(found)
        if os.path.isdir(prefix / "conda-meta") or os.path.isfile(prefix / "pyvenv.cfg")
    ]


def _places(variables: Mapping[str, str]) -> tuple[list[Path], list[Path]]:
    """Return the roots of conda and mamba, and the folders of environments that have names."""
    roots = []
    if variables.get("MAMBA_ROOT_PREFIX"):
        roots.append(Path(variables["MAMBA_ROOT_PREFIX"]))
    if variables.get("CONDA_EXE"):
        roots.append(Path(variables["CONDA_EXE"]).parent.parent)
    folders = [root / "envs" for root in roots] + [_home(variables) / ".conda" / "envs"]
    for name in ("CONDA_ENVS_DIRS", "CONDA_ENVS_PATH"):
        folders += [Path(part) for part in variables.get(name, "").split(os.pathsep) if part]
    if variables.get("WORKON_HOME"):
        folders.append(Path(variables["WORKON_HOME"]))
    return roots, folders


def _home(variables: Mapping[str, str]) -> Path:
    return Path(os.path.expanduser(variables.get("HOME", "~")))


def _is_root(prefix: Path) -> bool:
    return os.path.isdir(prefix / "condabin") or os.path.isdir(prefix / "envs")


def read_request(path: Path, shown: str | None = None) -> Request:
    """Read a `.cuda-version` file or a pin: data, never more than VERSION_FILE_LIMIT bytes.

    `shown` is how messages name it. Raises RequestError, or CudaswitchError when the file
    is none that may decide anything: not regular, or another user's.
    """
    shown = shown or str(path)
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise CudaswitchError(f"`{shown}` is not a regular file", "remove it")
            if status.st_uid not in (0, os.geteuid()):
                raise CudaswitchError(
                    f"`{shown}` belongs to another user and is not followed",
                    f"if you trust it: cudaswitch use VERSION, or copy {path.name} for yourself",
                )
            content = file.read(VERSION_FILE_LIMIT + 1)
    except OSError as error:
        raise CudaswitchError(f"cannot read `{shown}`: {error.strerror}", "remove it") from None
    if len(content) > VERSION_FILE_LIMIT:
        raise CudaswitchError(
            f"`{shown}` is longer than {VERSION_FILE_LIMIT} bytes", "one request a line is enough"
        )
    return parse_version_file(content.decode("utf-8", "replace"), shown)

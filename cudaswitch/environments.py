"""Conda prefixes and virtualenvs: find them, read their pins, write and remove their hooks."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cudaswitch import shells
from cudaswitch.activation import Want
from cudaswitch.errors import CudaswitchError, EnvironmentNotFoundError, StoreError
from cudaswitch.paths import write_atomically
from cudaswitch.versions import VERSION_FILE_LIMIT, Request, parse_version_file

_OPEN, _CLOSE = "# >>> cudaswitch >>>\n", "# <<< cudaswitch <<<"
# A script whose last line has no end keeps it that way: there the line break is ours.
_BLOCK = re.compile(rf"\n{_OPEN}.*?^{_CLOSE}\Z|^{_OPEN}.*?^{_CLOSE}\n", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Environment:
    """A conda prefix (`owner` C) or a virtualenv (`owner` V)."""

    prefix: Path
    owner: shells.Owner

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

    def hook_files(self, half: str) -> dict[str, Path]:
        """Map each family of shells to the file of one half of the hook, enter or leave."""
        if self.owner == "V":
            name = {"enter": "on", "leave": "off"}[half]
            return {family: self.folder / f"{name}.{family}" for family in shells.FAMILIES}
        folder = {"enter": "activate.d", "leave": "deactivate.d"}[half]
        # `~~` sorts behind every other package's script, and undo runs in reverse order.
        place = self.prefix / "etc" / "conda" / folder
        return {family: place / f"~~cudaswitch.{family}" for family in shells.FAMILIES}


def environment_at(prefix: Path) -> Environment:
    """Return the environment at `prefix`; raises EnvironmentNotFoundError when there is none."""
    prefix = Path(os.path.normpath(prefix.expanduser().absolute()))
    if (prefix / "conda-meta").is_dir():
        return Environment(prefix, "C")
    if (prefix / "pyvenv.cfg").is_file() or (prefix / "bin" / "activate_this.py").is_file():
        return Environment(prefix, "V")
    what = "holds no conda-meta and no pyvenv.cfg" if prefix.is_dir() else "is not there"
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
    """Find an environment by conda's name for it, or virtualenvwrapper's."""
    known = list(known_environments(variables))
    for prefix in known:
        if prefix.name == name or (name == "base" and _is_root(prefix)):
            return environment_at(prefix)
    names = ", ".join(sorted({"base" if _is_root(prefix) else prefix.name for prefix in known}))
    raise EnvironmentNotFoundError(
        f"no environment `{name}` is known", f"known are {names}" if names else "name it with -p"
    )


def known_environments(variables: Mapping[str, str]) -> list[Path]:
    """List the environments that conda and virtualenvwrapper would know by name."""
    home = Path(variables.get("HOME", "~")).expanduser()
    roots = [Path(variables[name]) for name in ("MAMBA_ROOT_PREFIX",) if variables.get(name)]
    if variables.get("CONDA_EXE"):
        roots.append(Path(variables["CONDA_EXE"]).parent.parent)
    folders = [root / "envs" for root in roots] + [home / ".conda" / "envs"]
    for name in ("CONDA_ENVS_DIRS", "CONDA_ENVS_PATH"):
        folders += [Path(part) for part in variables.get(name, "").split(os.pathsep) if part]
    if variables.get("WORKON_HOME"):
        folders.append(Path(variables["WORKON_HOME"]))
    found = [root for root in roots if (root / "conda-meta").is_dir()]
    listed = home / ".conda" / "environments.txt"
    if listed.is_file():
        lines = listed.read_text(encoding="utf-8", errors="replace").splitlines()
        found += [Path(line) for line in lines if line and Path(line).is_dir()]
    for folder in folders:
        if folder.is_dir():
            found += [at for at in sorted(folder.iterdir()) if at.is_dir()]
    return [
        prefix
        for prefix in dict.fromkeys(found)
        if (prefix / "conda-meta").is_dir() or (prefix / "pyvenv.cfg").is_file()
    ]


def _is_root(prefix: Path) -> bool:
    return (prefix / "condabin").is_dir() or (prefix / "envs").is_dir()


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


def write_pin(environment: Environment, request: Request, want: Want) -> None:
    """Write the pin and the hooks, the half that undoes before the half that does."""
    try:
        environment.folder.mkdir(parents=True, exist_ok=True)
        for family in shells.FAMILIES:
            write_atomically(environment.folder / f"core.{family}", shells.core(family))
        for half in ("leave", "enter"):
            for family, path in environment.hook_files(half).items():
                path.parent.mkdir(parents=True, exist_ok=True)
                text = shells.hook(family, half, environment.owner, want.home, want.options)
                write_atomically(path, text)
        if environment.owner == "V":
            _edit_activate_scripts(environment, put_in=True)
        write_atomically(environment.want_file, str(want).replace("/", "\n") + "\n")
        write_atomically(environment.pin_file, pin_text(request))
    except OSError as error:
        raise StoreError(
            f"cannot pin `{environment.prefix}`: {error.strerror} (`{error.filename}`)",
            "pin an environment that you may write, or a directory with --dir",
        ) from None


def remove_pin(environment: Environment) -> bool:
    """Take pin and hook away; return False when there was none.

    The half that undoes stays, inert, for shells that are activated now.
    """
    if not environment.pin_file.exists() and not any(
        path.exists() for path in environment.hook_files("enter").values()
    ):
        return False
    try:
        for path in environment.hook_files("enter").values():
            path.unlink(missing_ok=True)
        if environment.owner == "V":
            _edit_activate_scripts(environment, put_in=False)
        environment.want_file.unlink(missing_ok=True)
        environment.pin_file.unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(
            f"cannot unpin `{environment.prefix}`: {error.strerror} (`{error.filename}`)",
            "ask the owner of the environment",
        ) from None
    return True


def pin_text(request: Request) -> str:
    """Spell a request as a pin or a `.cuda-version` file does."""
    lines = {
        "cuda": request.text,
        "cudnn": request.cudnn,
        "libraries": request.libraries,
    }
    said = {key: value for key, value in lines.items() if value}
    if len(said) == 1:
        return f"{request.text}\n"
    return "".join(f"{key} {value}\n" for key, value in said.items())


def _edit_activate_scripts(environment: Environment, *, put_in: bool) -> None:
    for family in shells.FAMILIES.values():
        path = environment.prefix / "bin" / family.activate
        if not path.is_file() or path.is_symlink():
            continue
        before = path.read_bytes().decode("utf-8", "surrogateescape")
        after = _hooked(before, family) if put_in else _unhooked(before, family)
        if after != before:
            write_atomically(path, after, stat.S_IMODE(path.stat().st_mode))


def _hooked(text: str, family: shells.Family) -> str:
    """Put the two guarded lines into an activate script: once, however often it is done."""
    text = _unhooked(text, family)
    leave = family.source.format(half="off") + family.ending
    text = family.deactivate.sub(lambda match: match[0] + leave, text, count=1)
    block = f"{_OPEN}{family.source.format(half='on')}\n{_CLOSE}"
    return f"{text}{block}\n" if text.endswith("\n") else f"{text}\n{block}"


def _unhooked(text: str, family: shells.Family) -> str:
    leave = family.source.format(half="off") + family.ending
    return _BLOCK.sub("", text).replace(leave, "")

"""What a rule is, what it finds, and the facts that it looks at."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from cudaswitch.compat.compilers import Bounds, GlibcLimit
from cudaswitch.decision import Decision
from cudaswitch.environments import Environment
from cudaswitch.errors import CudaswitchError
from cudaswitch.lookup import Found as FoundFile
from cudaswitch.namedtuples import NamedTuple
from cudaswitch.resolver import Facts as Needs
from cudaswitch.resolver import Resolution
from cudaswitch.startfiles import SecondLine
from cudaswitch.toolkit import Toolkit
from cudaswitch.versions import Request, Version

Severity = Literal["error", "warning"]
"""An error breaks programs as things are; a warning breaks them as soon as something changes."""


class Library(NamedTuple):
    """A CUDA library in a folder: its name there, the real file, and its SONAME if it is ELF."""

    name: str
    real: str
    soname: str | None


class Kit(NamedTuple):
    """A folder taken for a toolkit, links resolved; `version` is None if none can be told.

    `has` is what `folders.parts_of` tells.
    """

    home: str
    version: Version | None
    has: frozenset[str]


class Folder(NamedTuple):
    """An element of a list of folders: `text` as it is in the list, `path` made absolute.

    `kit` is the toolkit that it belongs to.
    """

    text: str
    path: str
    exists: bool
    libraries: tuple[Library, ...] = ()
    tools: frozenset[str] = frozenset()
    kit: Kit | None = None

    def versions_of(self, stem: str) -> list[Version]:
        """List the versions in the real names of a library: libcudnn.so.8.9.7 is 8.9.7."""
        number = re.compile(rf"{re.escape(stem)}\.so\.([0-9]{{1,9}}(?:\.[0-9]{{1,9}}){{0,4}})")
        real = {Path(one.real).name for one in self.libraries if one.name.startswith(f"{stem}.so.")}
        return sorted(Version(match[1]) for match in map(number.match, real) if match)


class Tool(NamedTuple):
    """A program on PATH: as it is found, links resolved, and the toolkit that it belongs to."""

    path: str
    real: str
    kit: Kit


class Away(NamedTuple):
    """Shared stores that are not there, and those that are, as the setting names them.

    `variable` is the environment variable that names them, "" if config.toml does; `missed` are
    the names of toolkits elsewhere that are laid over some of theirs.
    """

    stores: tuple[str, ...]
    others: tuple[str, ...]
    variable: str
    missed: tuple[str, ...] = ()


class ConfLine(NamedTuple):
    """A line of the loader's configuration, and the folder that it names."""

    file: str
    number: int
    text: str
    folder: Folder


class Setting(NamedTuple):
    """A statement in a script that sets a variable; `lines` are its lines, by number.

    `alone` tells whether nothing else is in them.
    """

    file: str
    lines: Mapping[int, str]
    name: str
    value: str
    alone: bool

    @property
    def number(self) -> int:
        return next(iter(self.lines))

    @property
    def text(self) -> str:
        """Its first line."""
        return self.lines[self.number]


class Hook(NamedTuple):
    """A pinned environment: what its pin asks for and in which state its hooks are.

    `request` is None, and `refused` says why, if the pin cannot be read. `automatic` tells of a
    refused one whether it asks for what the environment's packages need.
    `gone` is the toolkit in its hooks that is not there any more, `behind` the newer answer,
    `changed` names the options whose values differ from those of the answer now,
    `missing`, `edited` and `old` are files, the last an earlier cudaswitch's, `unhooked` and
    `halved` activate scripts without our lines and with some of them, `closed` a file that is there
    and cannot be read.
    """

    environment: Environment
    request: Request | None
    gone: str | None = None
    behind: str | None = None
    changed: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    edited: tuple[str, ...] = ()
    old: tuple[str, ...] = ()
    unhooked: tuple[str, ...] = ()
    halved: tuple[str, ...] = ()
    refused: CudaswitchError | None = None
    automatic: bool = False
    closed: str | None = None


class Script(NamedTuple):
    """A script that an environment runs on activation and that no package brought.

    `exits` is the number of a line with `exit`, which ends the shell that sources it.
    """

    file: str
    settings: tuple[Setting, ...]
    exits: int | None = None


class Kernel(NamedTuple):
    """A Jupyter kernel whose Python is in a pinned environment, started without the pin."""

    file: str
    name: str
    prefix: str


class Stranger(NamedTuple):
    """A library that an environment brings, and the other file that is loaded in its place."""

    name: str
    path: str
    why: str
    asked_by: str


class Integration(NamedTuple):
    """How the user's shell loads cudaswitch.

    `loads` tells whether its startup file does; if not, `closed` tells whether that cannot be
    edited. `fault` is what is wrong with the line there, `twice` a second line that does the same.
    """

    shell: str
    file: str
    loads: bool
    fault: str | None = None
    twice: SecondLine | None = None
    closed: bool = False


@dataclass(frozen=True)
class Facts:
    """Everything that rules look at, gathered once; rules open no file.

    `homes` are the toolkits that variables name, those of a list under `NAME:folder`; `nvcc`
    and `ptxas` are the programs on PATH.
    `active` is the toolkit that builds here: CUDA_HOME, else that of the first nvcc.
    `loads` maps names of libraries to the file that the loader takes, None for none.
    """

    variables: Mapping[str, str]
    shell: str
    path: tuple[Folder, ...]
    ld_library_path: tuple[Folder, ...]
    homes: Mapping[str, Kit]
    nvcc: tuple[Tool, ...]
    ptxas: tuple[Tool, ...]
    needs: Needs
    resolution: Resolution
    active: Kit | None
    installed: tuple[Toolkit, ...]
    parts: Mapping[str, frozenset[str]]
    """What is in the installed toolkits, by their folders, as in `Kit.has`."""
    wanted: Mapping[str, str]
    """Requests that hold here, by who makes them."""
    applied: str | None = None
    closed: tuple[str, str] | None = None
    """Why the nvcc of CUDA_HOME may not be executed, and what to do."""
    decided: Decision | None = None
    """What is asked for here, and by whom."""
    instead: str | None = None
    """What this shell has instead, as `current` says it; None if it has what is asked for."""
    unanswered: CudaswitchError | None = None
    """Why what is asked for here has no answer."""
    asking: str | None = None
    """The strongest that asks here: CUDASWITCH_VERSION, or a file."""
    environment: Environment | None = None
    strangers: tuple[Stranger, ...] = ()
    loads: Mapping[str, FoundFile | None] = field(default_factory=dict)
    wheels: Mapping[str, str] = field(default_factory=dict)
    """Libraries that NVIDIA's wheels bring into the environment, and their folders."""
    conf: tuple[ConfLine, ...] = ()
    local_cuda: tuple[str, str] | None = None
    """/usr/local/cuda if it is a dangling link, with its target."""
    other_kits: tuple[str, ...] = ()
    """The toolkits of the machine, in their usual places."""
    wsl: bool = False
    settings: tuple[Setting, ...] = ()
    scripts: tuple[Script, ...] = ()
    hooks: tuple[Hook, ...] = ()
    kernels: tuple[Kernel, ...] = ()
    project: tuple[str, str] | None = None
    """A folder with settings of VS Code above the working directory, and its `.env` text."""
    integration: Integration | None = None
    xla_sees: str | None = None
    """A libdevice in a place where XLA looks, and in `libdevice` one that is elsewhere."""
    libdevice: str | None = None
    xla_data: str | None = None
    """The folder that XLA_FLAGS names, if that has no libdevice."""
    lost: Mapping[Toolkit, tuple[str, ...]] = field(default_factory=dict)
    """Toolkits of the user's own store that are gone (see `ground`), and who has pinned them."""
    unrecorded: tuple[str, ...] = ()
    """Names of toolkits of that store whose record is lost or damaged."""
    upgraded: Mapping[Toolkit, Version] = field(default_factory=dict)
    """Adopted toolkits of that store that were upgraded in place, with their versions now."""
    away: Away | None = None
    store_link: tuple[str, str] | None = None
    """The user's own store if it is a dangling link, with its target."""
    accepts: Bounds | None = None
    """The host compilers that the active toolkit accepts."""
    glibc_limit: GlibcLimit | None = None
    """What keeps its headers from compiling with this machine's C library."""
    hosts: Mapping[str, str] = field(default_factory=dict)
    """Compilers that variables name and that are not there, by variable."""

    def get(self, name: str) -> str:
        return self.variables.get(name, "")

    def is_sought(self, folder: str) -> bool:
        """Tell whether a framework here finds its CUDA only if LD_LIBRARY_PATH has this folder.

        It may have it under another name.
        """
        sought = (at for one in self.resolution.frameworks for at in one.by_path)
        return bool(folder) and os.path.realpath(folder) in map(os.path.realpath, sought)


class LinesOut(NamedTuple):
    """Change lines of a file, by number: the text now and the text afterwards, None to remove it.

    The text guards against numbers that have shifted. `loaders` marks a file of the loader's
    configuration, which is root's, and which the loader's cache is made of.
    """

    file: str
    lines: Mapping[int, tuple[str, str | None]]
    loaders: bool = False


class Aside(NamedTuple):
    """Move a file aside, where nothing runs it."""

    file: str


class Repin(NamedTuple):
    """Write the hooks of a pinned environment anew."""

    prefix: str


class Install(NamedTuple):
    """Write the line and the ready file that load cudaswitch into a shell."""

    shell: str


class WrapKernel(NamedTuple):
    """Let a Jupyter kernel start in its environment's toolkit."""

    file: str


Safe = LinesOut | Aside | Repin | Install | WrapKernel
"""What `--fix` may do by itself: each can be undone."""


class Relist(NamedTuple):
    """A mend of a list of folders: `change` maps its elements, and `before` is run first.

    It is spelled as a command only later, from the list that earlier mends have left, so that it
    does not bring back what they removed.
    """

    name: str
    change: Callable[[list[str]], list[str]]
    before: str = ""


class Found(NamedTuple):
    """What a rule has found: what shows it, what mends it, and what --fix does."""

    evidence: str
    mend: str | Relist | LinesOut
    safe: Safe | None = None


@dataclass(frozen=True)
class Rule:
    """One thing that can be wrong.

    `code` never changes; `cause` says why it hurts; `threads` are where people met it.
    """

    code: str
    severity: Severity
    title: str
    cause: str
    threads: tuple[str, ...]
    check: Callable[[Facts], Iterable[Found]]


@dataclass(frozen=True)
class Finding:
    """A rule, what it has found, and the command that mends it."""

    rule: Rule
    found: Found
    fix: str

    def to_json(self) -> dict[str, Any]:
        return {
            "code": self.rule.code,
            "severity": self.rule.severity,
            "title": self.rule.title,
            "evidence": self.found.evidence,
            "cause": self.rule.cause,
            "fix": self.fix,
        }

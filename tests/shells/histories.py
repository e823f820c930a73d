"""Random evenings at a shell: drawn, put into words, played by the hundred, and compared."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from shells.driver import FISH, TCSH, Shell
from shells.kits import STATE, Kit, Person
from shells.quick_conda import QuickConda
from shells.world import Place, World

Event = tuple[str, ...]
History = tuple[Event, ...]

FLAGS = ("NVCC_PREPEND_FLAGS", "XLA_FLAGS")
SHOWN = ("CUDA_HOME", "CUDA_PATH", "CUDAToolkit_ROOT", "CUDACXX", "CUDAHOSTCXX", *FLAGS)
UNSET = "(unset)"
SEPARATOR = "\x1f"

_PRELUDE = {
    "sh": r"""
own_prepend() { eval "export $1=\"\$2\${$1:+:\$$1}\""; }
own_append() { eval "export $1=\"\${$1:+\$$1:}\$2\""; }
own_drop() {
    eval "own_list=:\${$1-}:"
    case $own_list in
        *":$2:"*) own_head=${own_list%%":$2:"*} own_list=$own_head${own_list#"$own_head:$2"} ;;
        *) return 0 ;;
    esac
    own_list=${own_list#:} own_list=${own_list%:}
    eval "export $1=\"\$own_list\""
}
own_venv_leave() { if [ -n "${VIRTUAL_ENV-}" ]; then deactivate; fi; }
own_forget() { eval "$(set | /usr/bin/sed -n 's/^\(_cudaswitch_[A-Za-z_]*\)=.*/unset \1/p')"; }
own_back() { if [ -n "${_CUDASWITCH_PREVIOUS+x}" ]; then cudaswitch use -; fi; }
show() {
    printf '%s\037' "$PATH" "${LD_LIBRARY_PATH-(unset)}" "${CUDA_HOME-(unset)}" \
        "${CUDA_PATH-(unset)}" "${CUDAToolkit_ROOT-(unset)}" "${CUDACXX-(unset)}" \
        "${CUDAHOSTCXX-(unset)}" "${NVCC_PREPEND_FLAGS-(unset)}" "${XLA_FLAGS-(unset)}"
    printf '\n'
}
""",
    "fish": r"""
function own_prepend
    if test -n "$$argv[1]"
        set -gx $argv[1] $argv[2] $$argv[1]
    else
        set -gx $argv[1] $argv[2]
    end
end
function own_append
    if test -n "$$argv[1]"
        set -gx $argv[1] $$argv[1] $argv[2]
    else
        set -gx $argv[1] $argv[2]
    end
end
function own_drop
    if set -l at (contains --index -- $argv[2] $$argv[1])
        set -e $argv[1][$at]
    end
end
function own_venv_leave; test -n "$VIRTUAL_ENV"; and deactivate; end
function own_forget
    for name in (set --names | string match '_cudaswitch_*')
        set -e $name
    end
end
function own_back; set -q _CUDASWITCH_PREVIOUS; and cudaswitch use -; end
function show
    printf '%s\x1f' "$PATH"
    for name in LD_LIBRARY_PATH CUDA_HOME CUDA_PATH CUDAToolkit_ROOT CUDACXX \
        CUDAHOSTCXX NVCC_PREPEND_FLAGS XLA_FLAGS
        set -q $name; and printf '%s\x1f' "$$name"; or printf '(unset)\x1f'
    end
    printf '\n'
end
""",
    "csh": "".join(
        f"alias {name} 'source {Path(__file__).with_suffix('.csh')} {word} \\!*'\n"
        for name, word in (
            *((f"own_{edit}", edit) for edit in ("prepend", "append", "drop")),
            *(("own_venv_leave", "leave"), ("own_back", "back"), ("show", "show")),
        )
    ),
}

_FRESH_FISH = r"""
set -g own_kept CONDA_EXE CONDA_PYTHON_EXE VIRTUAL_ENV_DISABLE_PROMPT
set -a own_kept CUDASWITCH_HOME CUDASWITCH_QUIET
for name in (set --names \
    | string match --regex '^(?:_CUDASWITCH_|CONDA_|VIRTUAL_ENV|_OLD_|CUDA|NVCC_|XLA_).*')
    contains -- $name $own_kept; or set -e $name
end
set -e LD_LIBRARY_PATH
functions --query deactivate; and functions --erase deactivate
functions --query __cudaswitch_repair; and functions --erase __cudaswitch_repair
set -gx CONDA_SHLVL 0
set -g _cudaswitch_seen ''
set -g _cudaswitch_asked ''
"""


@dataclass(frozen=True)
class Stage:
    """What all histories of a session have in common; `texts` are what `env` prints."""

    person: Person
    folder: Path
    conda: Mapping[str, Place]
    venvs: Mapping[str, Place]
    directories: Mapping[str, Kit | None]
    texts: Mapping[str, Path]

    def at(self, name: str) -> Path:
        return self.folder / name

    def kit(self, number: str) -> Kit | None:
        return None if number == "system" else self.person.kits[int(number) - 1]


@dataclass(frozen=True)
class Evening:
    """A history with the variables it starts from; without `loaded`, there are only hooks."""

    loaded: bool
    path: tuple[str, ...]
    ld: tuple[str, ...] | None
    scalars: tuple[tuple[str, str], ...]
    events: History


def world(stage: Stage, shell: Shell, evening: Evening, *, heedless: bool = False) -> World:
    made = World(
        conda_places=dict(stage.conda),
        venv_places=dict(stage.venvs),
        directories=dict(stage.directories),
        path=list(evening.path),
        ld=None if evening.ld is None else list(evening.ld),
        scalars=dict(evening.scalars),
        cd_looks=evening.loaded and shell.name in ("zsh", "fish", "tcsh"),
        hears=evening.loaded and shell is not TCSH,
        at_once=evening.loaded and shell.name in ("bash", "zsh"),
        heedless=heedless,
    )
    if evening.loaded:
        made.look()
    return made


def act(stage: Stage, state: World, event: Event) -> None:
    """Let an event happen in the model."""
    match event:
        case ["use", number]:
            state.use(stage.kit(number))
        case ["text", number]:
            state.use_by_text(stage.kit(number))
        case ["stack", name]:
            state.activate(name, stack=True)
        case ["libraries", "unset"]:
            state.set_libraries(None)
        case ["libraries", "empty"]:
            state.set_libraries([])
        case ["value", name]:
            state.set_value(name, None)
        case ["value", name, value]:
            state.set_value(name, value)
        case [name, *rest]:
            getattr(state, name)(*rest)


def say(stage: Stage, shell: Shell, event: Event) -> str:
    """Put an event into the shell's words."""
    conda, kits = QuickConda(), stage.person.kits
    script = "activate" if shell.suffix == "sh" else f"activate.{shell.suffix}"

    def use(number: str) -> str:
        return f"cudaswitch use {number if number == 'system' else kits[int(number) - 1].version}"

    def libraries(how: str) -> str:
        name = "LD_LIBRARY_PATH"
        return shell.unset(name) if how == "unset" else shell.set(name, "")

    def edit(kind: str) -> Callable[[str, str], str]:
        return lambda variable, folder: f"own_{kind} {variable} {shell.quote(folder)}"

    words: dict[str, Callable[..., str]] = {
        "use": use,
        "use_previous": lambda: "own_back",
        "off": lambda: "cudaswitch off",
        "child": lambda: f"own_forget\n{opened(stage.person, shell)}",
        "text": lambda number: shell.source(stage.texts[f"{number}.{shell.suffix}"]),
        "prompt": lambda: "precmd" if shell is TCSH else "__cudaswitch_prompt",
        "activate": lambda name: conda.activate(shell, stage.at(name)),
        "stack": lambda name: conda.activate(shell, stage.at(name), stack=True),
        "reactivate": lambda: conda.reactivate(shell),
        "deactivate": conda.deactivate,
        "venv_activate": lambda name: shell.source(stage.at(name) / "bin" / script),
        "venv_deactivate": lambda: "own_venv_leave",
        "cd": lambda name: f"cd {shell.quote(str(stage.folder / name))}",
        "libraries": libraries,
        "value": lambda name, *to: shell.set(name, *to) if to else shell.unset(name),
        **{kind: edit(kind) for kind in ("prepend", "append", "drop")},
    }
    kind, *rest = event
    return words[kind](*rest)


def draw(stage: Stage, shell: Shell, dice: random.Random) -> Evening:
    """Draw a history, and the way home from wherever it ends."""
    kits = stage.person.kits
    # conda writes PATH between double quotes, in which tcsh expands every dollar.
    own = ["/own/bin", "/own two/(z)&*[a]" if shell is TCSH else "/own two/$(z)&*[a]"]
    alike = [kits[0].bin, kits[-1].bin, kits[0].lib[0], kits[-1].lib[0]]
    loaded = shell.name in stage.person.init and dice.random() < 0.8
    path = ["/usr/bin", "/bin"]
    for folder in dice.sample([*own, *alike[:2]], dice.randint(0, 2)):
        path.insert(dice.randint(0, len(path)), folder)
    lists = [("/own/lib",), ("/x y", alike[2]), (alike[3], "/x", alike[3]), ("", "/own/lib")]
    ld = dice.choice([None, (), *lists])
    values = [("CUDA_HOME", "/mine"), ("CUDACXX", "mine"), ("CUDA_HOME", str(kits[0].home))]
    flags = [(name, dice.choice(_flags(stage, name))) for name in (*FLAGS, "CUDAHOSTCXX")]
    flags = [(name, value) for name, value in flags if value is not None and dice.random() < 0.3]
    scalars = (*dice.sample(values[:2], dice.randint(0, 2)), *flags)
    start = Evening(loaded, tuple(path), ld, scalars, ())
    state = world(stage, shell, start)
    events: list[Event] = []

    def happen(event: Event) -> None:
        events.append(event)
        act(stage, state, event)
        if loaded and dice.random() < 0.7:
            events.append(("prompt",))
            state.prompt()

    for _ in range(dice.randint(1, 14)):
        happen(_event(stage, shell, state, dice, loaded, [*own, *alike]))
    if state.venv:
        happen(("venv_deactivate",))
    while state.levels:
        happen(("deactivate",))
    home: list[Event] = [("cd", "nowhere"), ("off",), ("prompt",)]
    events += home if loaded else [("text", "system")]
    return Evening(start.loaded, start.path, start.ld, start.scalars, tuple(events))


def _event(
    stage: Stage,
    shell: Shell,
    state: World,
    dice: random.Random,
    loaded: bool,
    folders: Sequence[str],
) -> Event:
    numbers = ["system", *(str(number) for number, _ in enumerate(stage.person.kits, 1))]
    kinds: dict[str, tuple[float, Callable[[], Event]]] = {
        "conda": (
            4,
            lambda: (dice.choice(["activate"] * 3 + ["stack"]), dice.choice([*stage.conda])),
        ),
        "again": (1 if state.levels else 0, lambda: ("reactivate",)),
        "out": (3 if state.levels else 0, lambda: ("deactivate",)),
        "venv": (2, lambda: ("venv_activate", dice.choice([*stage.venvs]))),
        "leave": (2 if state.venv else 0, lambda: ("venv_deactivate",)),
        "use": (3 if loaded else 0, lambda: ("use", dice.choice(numbers))),
        "child": (1 if loaded and shell is not TCSH else 0, lambda: ("child",)),
        "back": (0.5 if loaded else 0, lambda: ("use_previous",)),
        "off": (1.5 if loaded else 0, lambda: ("off",)),
        "text": (0 if loaded else 1, lambda: ("text", dice.choice(numbers))),
        "cd": (2 if loaded else 0, lambda: ("cd", dice.choice([*stage.directories]))),
        "edit": (2, lambda: _edit(state, dice, folders)),
        "libraries": (0.5, lambda: ("libraries", dice.choice(["unset", "empty"]))),
        "value": (1, lambda: ("value", "CUDA_HOME", *dice.choice([(), ("/mine",), ("/other",)]))),
        "flags": (1, lambda: _flag(stage, state, dice)),
    }
    weights = [weight for weight, _ in kinds.values()]
    return dice.choices([make for _, make in kinds.values()], weights)[0]()


def _flags(stage: Stage, name: str) -> list[str | None]:
    """List what people set a variable to."""
    if name == "CUDAHOSTCXX":
        return [None, "/mine/g++", "", str(stage.person.kits[1].compiler)]
    if name == "XLA_FLAGS":
        data = [f"{one.data_dir} -x" for one in stage.person.kits[1:]]
        return [None, "", " ", "--xla_dump_to=/x", " -a  -b ", "/a/file of flags", *data]
    return [None, "", " ", "-O2", "-a  -b ", "-O2 -ccbin=/mine/g++"]


def _flag(stage: Stage, state: World, dice: random.Random) -> Event:
    """Set one of the variables that hold flags, or put a word before or after what is there."""
    name = dice.choice([*FLAGS, *FLAGS, "CUDAHOSTCXX"])
    now = state.scalars.get(name)
    choice = dice.choice([*_flags(stage, name), *([f"{now} -z", f"-z {now}", now] if now else [])])
    return ("value", name) if choice is None else ("value", name, choice)


def _edit(state: World, dice: random.Random, folders: Sequence[str]) -> Event:
    variable = dice.choice(["PATH", "LD_LIBRARY_PATH"])
    fitting = [one for one in folders if ("/lib" in one) == (variable != "PATH")] + ["/own"]
    if variable == "PATH" and state.venv:
        # Once a virtualenv was left for another, it cannot be known whether one of two equal
        # entries is in the PATH that it keeps aside.
        fitting = ["/own"]
    return (dice.choice(["prepend", "append", "drop"]), variable, dice.choice(fitting))


def opened(person: Person, shell: Shell) -> str:
    """Load cudaswitch, and come to the first prompt: all before that counts as startup files."""
    return "\n".join([person.load(shell), *([shell.prompt] if shell.name in person.init else [])])


def script(stage: Stage, shell: Shell, evenings: Sequence[Evening]) -> str:
    conda = QuickConda()
    lines = ["set prompt = ''"] if shell is TCSH else []
    lines += [shell.set(name, "1") for name in ("CUDASWITCH_QUIET", "VIRTUAL_ENV_DISABLE_PROMPT")]
    lines += [f"cd {shell.quote(str(stage.folder / 'nowhere'))}", conda.init(shell)]
    lines += [_PRELUDE[shell.suffix], opened(stage.person, shell)]
    for evening in evenings:
        # Each history has a subshell of its own, a fish made fresh, or (`play`) a tcsh process.
        lines += {"fish": [_FRESH_FISH], "csh": []}.get(shell.suffix, ["("])
        lines.append(f"cd {shell.quote(str(stage.folder / 'nowhere'))}")
        lines.append(
            shell.set("PATH", ":".join(evening.path))
            if shell is not FISH
            else f"set -gx PATH {' '.join(map(shell.quote, evening.path))}"
        )
        if evening.ld is not None:
            lines.append(shell.set("LD_LIBRARY_PATH", ":".join(evening.ld)))
        lines += [shell.set(name, value) for name, value in evening.scalars]
        if evening.loaded:
            if shell is TCSH:
                lines.append("set _cudaswitch_seen = ()\nprecmd")
            else:
                lines += (
                    ["__cudaswitch_look"]
                    if shell is FISH
                    else ["_cudaswitch_seen=''", "__cudaswitch_look"]
                )
        elif shell.suffix == "sh":
            # As long as nothing has looked (`_cudaswitch_seen` is empty), nothing looks by itself.
            lines.append("_cudaswitch_seen=''")
        lines.append("show")
        for event in evening.events:
            lines += [say(stage, shell, event), "show"]
        lines += ["/usr/bin/env -0", "printf '\\nend\\n'"]
        lines += [")"] if shell.suffix == "sh" else []
    return "\n".join(lines) + "\n"


def expected(stage: Stage, shell: Shell, evening: Evening) -> tuple[list[str], World]:
    """Return what `show` must print at the start and after each event, and how it ends."""
    state = world(stage, shell, evening)
    shown = [_shown(state)]
    for event in evening.events:
        act(stage, state, event)
        shown.append(_shown(state))
    return shown, state


def _shown(state: World) -> str:
    ld = UNSET if state.ld is None else ":".join(state.ld)
    values = [state.scalars.get(name, UNSET) for name in SHOWN]
    return SEPARATOR.join([":".join(state.path), ld, *values, ""])


def play(stage: Stage, shell: Shell, evenings: Sequence[Evening]) -> list[str | None]:
    """Play histories in one shell; return for each what went wrong, None for nothing."""
    if shell is TCSH and len(evenings) > 1:
        return [fault for one in evenings for fault in play(stage, shell, [one])]
    file = stage.folder / f"histories.{shell.name}"
    file.write_text(script(stage, shell, evenings))
    done = subprocess.run(
        [*shell.argv(), file],
        env=stage.person.home.env,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    parts = done.stdout.split("\nend\n")
    faults: list[str | None] = []
    for number, evening in enumerate(evenings):
        part = parts[number] if number < len(parts) - 1 else ""
        faults.append(_fault(stage, shell, evening, part, done.stderr))
    return faults


def _fault(stage: Stage, shell: Shell, evening: Evening, part: str, stderr: str) -> str | None:
    wanted, final = expected(stage, shell, evening)
    lines = part.split("\n", len(wanted))
    for number, (want, line) in enumerate(zip(wanted, lines, strict=False)):
        if want != line:
            event = evening.events[number - 1] if number else "the start"
            names = ("PATH", "LD_LIBRARY_PATH", *SHOWN)
            pairs = zip(names, want.split(SEPARATOR), line.split(SEPARATOR), strict=False)
            differing = [f"  {n}\n    must {w}\n    is   {i}" for n, w, i in pairs if w != i]
            return f"after {number} ({event}):\n" + "\n".join(differing)
    if len(lines) <= len(wanted):
        return f"ended early: {stderr[-2000:]}"
    if stderr:
        return f"stderr: {stderr[:2000]}"
    pairs = (entry.partition("=") for entry in lines[-1].split("\0") if entry)
    env = {name: value for name, _, value in pairs}
    exported = SEPARATOR.join(
        [env["PATH"], *(env.get(n, UNSET) for n in ("LD_LIBRARY_PATH", *SHOWN)), ""]
    )
    if exported != wanted[-1]:
        return f"exported is {exported}"
    left = [n for n in env if n.startswith(STATE) and n not in (f"{STATE}PREVIOUS", f"{STATE}U")]
    if final.applied or final.wants.keys() - {"U"}:
        return None
    return f"left behind: {left}" if left else None


def shrunk(evening: Evening, fails: Callable[[Evening], bool]) -> Evening:
    """Take out every event, and every starting value, without which it still fails."""
    at = 0
    while at < len(evening.events):
        fewer = replace(evening, events=evening.events[:at] + evening.events[at + 1 :])
        if fails(fewer):
            evening, at = fewer, 0
        else:
            at += 1
    plain = Evening(evening.loaded, ("/usr/bin", "/bin"), None, (), evening.events)
    for name in ("path", "ld", "scalars"):
        simpler = replace(evening, **{name: getattr(plain, name)})
        if fails(simpler):
            evening = simpler
    return evening

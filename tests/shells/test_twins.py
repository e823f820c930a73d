"""Random histories in pairs: the same events with and without cudaswitch, and conda as a process.

In the end, when all environments are left and no toolkit is asked for, both shells must be the
same. Unlike in test_histories, environments have variables of their own (`conda env config vars`)
and packages with scripts, which may come while they are active, and if a real conda is on PATH,
it is tested too.
"""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from homes import HOSTILE_FOLDER
from pairs import every_pair
from shells.conda import CONDAS, Conda, conda_prefix, write_hook
from shells.conftest import make_person
from shells.driver import BASH, DASH, FISH, TCSH, ZSH, Shell
from shells.histories import Evening, Event, Stage, act, shrunk, world
from shells.kits import foreign
from shells.package_scripts import FISH_SCRIPTS, FOLDERS, SCRIPTS
from shells.pinned import Session
from shells.venvs import activate, with_venv
from shells.world import Place, World

COUNT = int(os.environ.get("CUDASWITCH_HISTORIES", "600"))
PAIRS = COUNT // 30
"""Pairs for each shell: every transition is a process here, a slow one with a real conda. tcsh,
which takes twice as long, has a quarter."""

CONDA = {
    **{"a": "10.1", "b": None, "c": "11.8", "f": "12.4", "g": None, "h": "10.1", "v": None},
    **{"k": "12.4", "m": None, "p": None},
}
VENVS = {"x": "11.8", "y": None}
VARIABLES = {
    "f": {"CUDA_HOME": "/vars f", "LD_LIBRARY_PATH": "/vars f/lib", "NVCC_PREPEND_FLAGS": "-vars"},
    "v": {"CUDA_HOME": "/vars", "CUDACXX": "/vars/nvcc", "LD_LIBRARY_PATH": "/vars/lib:/more"},
}
LATE = {half: text.replace("/own", "/late") for half, text in FOLDERS.items()}
"""Scripts of a package that comes to the active environment, which is then activated again."""
COMING = """
[ -n "$CONDA_PREFIX" ] || exit 0
for half in activate deactivate; do
    cp "$0/$half" "$CONDA_PREFIX/etc/conda/$half.d/late.sh"
done
"""
GONE = '[ ! -d "$0" ] || mv "$0" "$0.away"'
"""Somebody deletes a toolkit."""
HOOKLESS = 'rm -f "$CONDA_PREFIX"/etc/conda/*activate.d/~~cudaswitch.*'
"""Somebody deletes our hooks in the active environment."""


def environments(folder: Path) -> dict[str, Path]:
    """Make all environments, as yet without pins; return the prefixes."""
    for name in VENVS:
        with_venv(folder / name)
    for half, text in LATE.items():
        (folder / half).write_text(text)
    for name in CONDA:
        prefix = conda_prefix(folder / name)
        if name in VARIABLES:
            state = json.dumps({"env_vars": VARIABLES[name]})
            (prefix / "conda-meta" / "state").write_text(state)
        for suffix, scripts in (("sh", SCRIPTS), ("fish", FISH_SCRIPTS)):
            for package, halves in scripts.get(name, {}).items():
                for half, text in halves.items():
                    write_hook(prefix, half, f"{package}_{half}.{suffix}", text)
    return {name: folder / name for name in CONDA | VENVS}


@pytest.fixture(scope="session")
def twins(tmp_path_factory: pytest.TempPathFactory) -> Stage:
    """Environments with pins below `folder`, and the same without below `bare` in there."""
    place = tmp_path_factory.mktemp("compilers")
    person = make_person(place / HOSTILE_FOLDER, ("bash", "zsh", "fish", "tcsh"), place)
    folder = tmp_path_factory.mktemp("twins")
    kits = {None: None} | {kit.version.rpartition(".")[0]: kit for kit in person.kits}
    environments(folder / "bare")
    pins, places = CONDA | VENVS, {}
    for name, prefix in environments(folder).items():
        places[name] = Place(str(prefix), bool(pins[name]), kits[pins[name]])
        if pins[name]:
            person.pin(str(pins[name]), prefix)
        if name in CONDA:
            shutil.copytree(prefix / "etc/conda", prefix / "etc/kept")
    for name in ("nowhere", "one"):
        for at in (folder, folder / "bare"):
            (at / name).mkdir()
    (folder / "one" / ".cuda-version").write_text("10.1\n")
    conda, venvs = ({name: places[name] for name in kind} for kind in (CONDA, VENVS))
    return Stage(person, folder, conda, venvs, {"nowhere": None, "one": person.kits[0]}, {})


def drawn(stage: Stage, shell: Shell, dice: random.Random) -> Evening:
    """Draw a history."""
    same = dice.choice(stage.person.kits).lib[0]
    ld = dice.choice([None, ("/own/lib",), ("/x y", "/own/lib"), ("/own/lib", same)])
    scalars = dice.choice(
        [(), (("CUDA_HOME", "/mine"),), (("CUDACXX", "mine"),), (("NVCC_PREPEND_FLAGS", "-O2"),)]
    )
    evening = Evening(dice.random() < 0.8, (), ld, scalars, ())
    state = world(stage, shell, evening)
    events: list[Event] = []

    for _ in range(dice.randint(2, 9)):
        event = _event(state, dice, loaded=evening.loaded)
        happening = [event, ("reactivate",)] if event == ("arrive",) else [event]
        if evening.loaded and dice.random() < 0.8:
            happening.append(("prompt",))
        for event in happening:
            happen(stage, state, event)
        events += happening
    return replace(evening, events=tuple(events))


UNKNOWN = ("arrive", "gone", "hookless")
"""Events that the model does not know: packages that come, and our files that others delete."""


def happen(stage: Stage, state: World, event: Event) -> None:
    """Let an event happen in the model."""
    if event[0] not in UNKNOWN:
        act(stage, state, event)


def home(stage: Stage, shell: Shell, evening: Evening) -> Evening:
    """Add the events that leave everything, from wherever it ends."""
    state = world(stage, shell, evening)
    for event in evening.events:
        happen(stage, state, event)
    way: list[Event] = [("venv_deactivate",)] if state.venv else []
    way += [("deactivate",) for _ in state.levels]
    way += [("cd", "nowhere"), ("off",), ("prompt",)] if evening.loaded else []
    return replace(evening, events=(*evening.events, *way))


def _event(state: World, dice: random.Random, *, loaded: bool) -> Event:
    into, venv = dice.choice([*CONDA]), dice.choice([*VENVS])
    # Hooks alone cannot see a virtualenv that is left for one without a pin.
    followed = loaded or not state.venv or bool(VENVS[venv])
    kinds: list[tuple[float, Event]] = [
        (5, ("activate", into)),
        (2, ("stack", into)),
        (1.5 if state.levels else 0, ("reactivate",)),
        (3 if state.levels else 0, ("deactivate",)),
        (3 if loaded else 0, ("use", dice.choice(["1", "2", "3", "system"]))),
        (1 if loaded else 0, ("off",)),
        (1 if loaded else 0, ("cd", dice.choice(["nowhere", "one"]))),
        (1 if state.levels else 0, ("arrive",)),
        (1 if followed else 0, ("venv_activate", venv)),
        (1 if state.venv else 0, ("venv_deactivate",)),
        (0.5, ("value", "CUDA_HOME", "/later")),
        (1, (dice.choice(["prepend", "append"]), "PATH", "/own")),
        (1, ("prepend", "LD_LIBRARY_PATH", "/later")),
        # Hooks alone cannot undo anything when they are gone.
        (0.7 if loaded and state.levels else 0, ("hookless",)),
        (0.3, ("gone", dice.choice(["1", "2", "3"]))),
    ]
    return dice.choices([event for _, event in kinds], [weight for weight, _ in kinds])[0]


def say(session: Session, event: Event, *, heedless: bool) -> str:
    """Return the shell's command for an event; `heedless` shells do nothing for ours."""
    shell, kits = session.shell, session.person.kits

    words: dict[str, Callable[..., str]] = {
        "activate": lambda name: session.conda.activate(shell, session.folder / name),
        "stack": lambda name: session.conda.activate(shell, session.folder / name, stack=True),
        "arrive": lambda: f"sh -c {shell.quote(COMING)} {shell.quote(str(session.folder))}",
        "reactivate": lambda: session.conda.reactivate(shell),
        "venv_activate": lambda name: activate(shell, session.folder / name),
        "venv_deactivate": lambda: "deactivate",
        "value": shell.set,
        "deactivate": session.conda.deactivate,
        "cd": lambda name: f"cd {shell.quote(str(session.folder / name))}",
        "prepend": shell.prepend,
        "append": shell.append,
    }
    own: dict[str, Callable[..., str]] = {
        "use": lambda n: f"cudaswitch use {kits[int(n) - 1].version if n.isdigit() else n}",
        "off": lambda: "cudaswitch off",
        "prompt": lambda: shell.prompt,
        "gone": lambda n: f"sh -c {shell.quote(GONE)} {shell.quote(str(kits[int(n) - 1].home))}",
        "hookless": lambda: f"sh -c {shell.quote(HOOKLESS)}",
    }
    kind, *rest = event
    if kind in own:
        return "true" if heedless else own[kind](*rest)
    return words[kind](*rest)


def played(session: Session, evening: Evening, *, heedless: bool) -> list[dict[str, str]]:
    """Return the environment of children after each event; the first two are from before any."""
    ld = {"LD_LIBRARY_PATH": None if evening.ld is None else ":".join(evening.ld)}
    variables = dict(evening.scalars)
    for late in session.folder.glob("?/etc/conda/*activate.d/late.sh"):
        late.unlink()
    for away in session.person.kits[0].home.parent.glob("*.away"):
        away.rename(away.with_suffix(""))
    for kept in session.folder.glob("?/etc/kept"):
        shutil.copytree(kept, kept.with_name("conda"), dirs_exist_ok=True)
    steps = [f"cd {session.shell.quote(str(session.folder / 'nowhere'))}"]
    steps += [say(session, event, heedless=heedless) for event in evening.events]
    loaded = evening.loaded and not heedless
    result = session.play(*steps, load=loaded, **ld | variables)
    # A real conda warns about variables that it replaces.
    said = [one for one in result.stderr.splitlines() if "overwriting" not in one]
    if any(event[0] == "gone" for event in evening.events):
        said = [one for one in said if not one.startswith(("cudaswitch: ", "hint: "))]
    assert said == []
    return [result.snaps[str(number)] for number in range(1, len(steps) + 2)]


def plainly(env: dict[str, str], folder: Path) -> dict[str, str]:
    """Leave out our bookkeeping, copies that conda forgets, repeated blanks, and the folder."""
    known = {
        name: " ".join(value.replace(str(folder), "").split())
        for name, value in foreign(env).items()
        if value
    }
    return {name: value for name, value in known.items() if not name.startswith("__CONDA_SHLVL_")}


def fault(stage: Stage, shell: Shell, conda: Conda, evening: Evening) -> str | None:
    """Return what is wrong, or None, also for histories that are impossible."""
    evening = home(stage, shell, evening)
    state = world(stage, shell, evening)
    for event in evening.events:
        if event == ("venv_deactivate",) and not state.venv:
            return None
        happen(stage, state, event)
    bare = stage.folder / "bare"
    ours = played(Session(stage.person, stage.folder, shell, conda), evening, heedless=False)
    theirs = played(Session(stage.person, bare, shell, conda), evening, heedless=True)
    state = world(stage, shell, evening)
    calm = not {event[0] for event in evening.events} & {"gone", "hookless"}
    for number, event in enumerate(evening.events):
        happen(stage, state, event)
        want = state.strongest()
        if event == ("prompt",) and calm:
            folders = ours[number + 2]["PATH"].split(":")
            on = [kit for kit in stage.person.kits for folder in folders if folder == kit.bin]
            if on != ([want.kit] if want and want.kit else []):
                return f"after {number} PATH is {folders}"
    now, must = plainly(ours[-1], stage.folder), plainly(theirs[-1], bare)
    names = sorted(name for name in {*now, *must} if now.get(name) != must.get(name))
    # conda never deletes its copies. If it restored a value that was long gone, and the variable
    # was ours by then, the copy has been overwritten: all the better.
    old = {name[len("__CONDA_SHLVL_0_") :] for name in theirs[-1] if "__CONDA_SHLVL_" in name}
    names = [
        name
        for name in names
        if name not in old or any(word in now.get(name, "") for word in ("toolkits", "vars"))
    ]
    return "\n".join(f"{n}\n  must {must.get(n)}\n  is   {now.get(n)}" for n in names) or None


FOUND: dict[str, tuple[Event, ...]] = {
    "a copy with a package's folder in it": (("activate", "h"), ("activate", "v")),
    "a choice before the way back": (("activate", "h"), ("activate", "v"), ("use", "3")),
    "an older choice that was undone": (
        *(("use", "2"), ("activate", "a"), ("deactivate",), ("activate", "v"), ("prompt",)),
        *(("deactivate",), ("prompt",), ("activate", "f")),
    ),
    "a virtualenv in between": (("activate", "h"), ("activate", "v"), ("venv_activate", "x")),
    "conda's own old copy": (
        *(("activate", "f"), ("stack", "v"), ("deactivate",), ("deactivate",)),
        *(("stack", "a"), ("stack", "f")),
    ),
    "what a script keeps of what conda brings back": (("activate", "k"), ("activate", "v")),
    "what a script keeps": (("use", "2"), ("activate", "m"), ("prompt",)),
    "what a script keeps below another": (("activate", "h"), ("stack", "k")),
    "a PATH that a script keeps": (("activate", "c"), ("stack", "p"), ("prompt",)),
    "the environment below, with a virtualenv's toolkit in between": (
        *(("venv_activate", "x"), ("stack", "a"), ("stack", "c"), ("activate", "a"), ("prompt",)),
    ),
    "a copy while the environment below is taken up": (
        *(("stack", "c"), ("stack", "a"), ("activate", "c"), ("deactivate",), ("activate", "v")),
    ),
    "a stack where nothing is applied": (
        *(("use", "system"), ("activate", "c"), ("stack", "a"), ("deactivate",)),
    ),
    "an older folder on PATH": (
        *(("activate", "c"), ("hookless",), ("venv_activate", "x"), ("activate", "b")),
    ),
}
"""Histories that random runs have found."""
WITH_US = ("use", "prompt", "hookless")
"""Events only for the integration: hooks alone cannot undo anything when they are gone."""


@every_pair(
    {
        "conda": CONDAS,
        "shell": (BASH, ZSH, FISH, TCSH),
        "loaded": [True, False],
        "words": FOUND,
    }
)
def test_found(twins: Stage, shell: Shell, conda: Conda, words: str, loaded: bool) -> None:
    events = [one for one in FOUND[words] if loaded or one[0] not in WITH_US]
    assert fault(twins, shell, conda, Evening(loaded, (), None, (), tuple(events))) is None


def given_back(
    stage: Stage,
    shell: Shell,
    conda: Conda,
    events: tuple[Event, ...],
    names: str = "both",
    *,
    loaded: bool = True,
) -> None:
    """Check that variables that named a toolkit from the start are the same in the end."""
    kit = stage.person.kits[0]
    own = (("CUDA_HOME", str(kit.home)),) if names != "LD_LIBRARY_PATH" else ()
    ld = kit.lib[:1] if names != "CUDA_HOME" else None
    events = events if loaded else tuple(one for one in events if one != ("prompt",))
    evening = home(stage, shell, Evening(loaded, (), ld, own, events))
    *_, after = played(Session(stage.person, stage.folder, shell, conda), evening, heedless=False)
    must = dict(own) | ({"LD_LIBRARY_PATH": ":".join(ld)} if ld else {})
    left = {name: after[name] for name in ("CUDA_HOME", "LD_LIBRARY_PATH") if after.get(name)}
    assert left == must


@every_pair(
    {
        "conda": CONDAS,
        "shell": (BASH, ZSH, FISH, TCSH, DASH),
        "loaded": [True, False],
        "names": ["bva", "vba", "ava"],
    }
)
def test_the_persons_own_toolkit_below_many_environments(
    twins: Stage, shell: Shell, conda: Conda, names: str, loaded: bool
) -> None:
    """The person's own value comes back, though it equals the toolkit's in conda's copies."""
    events = tuple(event for name in names for event in (("activate", name), ("prompt",)))
    loaded = loaded and shell is not DASH
    given_back(twins, shell, conda, events, loaded=loaded)


REGAINED = {
    "a choice in an environment": (("activate", "v"), ("use", "1"), ("deactivate",)),
    "a choice before": (("use", "1"), ("activate", "v"), ("deactivate",)),
    "a stack": (("activate", "a"), ("stack", "v"), ("deactivate",)),
    "a directory": (("cd", "one"), ("activate", "v"), ("deactivate",), ("cd", "nowhere")),
    "another environment after it": (
        *(("activate", "v"), ("use", "1"), ("deactivate",), ("activate", "b")),
    ),
    "two rounds": (("activate", "a"), ("activate", "v"), ("deactivate",), ("deactivate",)) * 2,
    "a round without a pin before": (
        *(("activate", "b"), ("activate", "v"), ("deactivate",), ("deactivate",)),
        *(("activate", "a"), ("activate", "v"), ("deactivate",), ("deactivate",)),
    ),
    "the same environment after it": (
        *(("activate", "v"), ("use", "1"), ("deactivate",), ("activate", "v"), ("deactivate",)),
    ),
    "two left without a prompt in between": (("use", "1"), ("activate", "b"), ("activate", "v")),
    "two left of which the lower one has it": (("activate", "v"), ("activate", "b"), ("use", "1")),
}


@every_pair(
    {
        "conda": CONDAS,
        "shell": (BASH, ZSH, FISH, TCSH),
        "names": ["both", "CUDA_HOME", "LD_LIBRARY_PATH"],
        "words": REGAINED,
    }
)
def test_the_persons_own_toolkit_comes_back_while_it_is_chosen(
    twins: Stage, shell: Shell, conda: Conda, words: str, names: str
) -> None:
    events = tuple(event for one in REGAINED[words] for event in (one, ("prompt",)))
    given_back(twins, shell, conda, events, names)


@pytest.mark.parametrize("conda", CONDAS, ids=str)
@pytest.mark.parametrize("shell", (BASH, ZSH, FISH, TCSH), ids=str)
def test_a_list_that_came_back_has_the_persons_own_copy(
    twins: Stage, shell: Shell, conda: Conda
) -> None:
    """It is counted, although the list of before, which the environment set, had none."""
    session, own = Session(twins.person, twins.folder, shell, conda), twins.person.kits[0].lib[0]
    enter, leave = conda.activate(shell, twins.folder / "v"), conda.deactivate()
    steps = [enter, "cudaswitch use 10.1", leave, shell.set("LD_LIBRARY_PATH", own)]
    prompted = [f"{step}\n{shell.prompt}" for step in [*steps, "cudaswitch off"]]
    result = session.play(*prompted, load=True, LD_LIBRARY_PATH=own)
    assert result.snaps["4"]["LD_LIBRARY_PATH"].split(":").count(own) == 2
    assert result.snaps["6"]["LD_LIBRARY_PATH"] == own
    restored = result.snaps["3"] | {"LD_LIBRARY_PATH": own, "CONDA_SHLVL": "0"}
    asked = twins.person.home.run("exec", "10.1", "--", "printenv", "_CUDASWITCH_LIB", **restored)
    assert asked.stdout.startswith(f"1{own}")


@pytest.mark.parametrize("conda", CONDAS, ids=str)
def test_what_a_script_keeps_in_a_plain_shell(twins: Stage, conda: Conda) -> None:
    evening = Evening(False, (), None, (), FOUND["what a script keeps below another"])
    assert fault(twins, DASH, conda, evening) is None


@pytest.mark.parametrize("conda", CONDAS, ids=str)
@pytest.mark.parametrize(
    ("shell", "renamed"),
    [
        (BASH, 'eval "$(declare -f | sed s/__conda_hashr/own_hashr/g)"; unset -f __conda_hashr'),
        (TCSH, "alias rehash true"),
    ],
    ids=str,
)
def test_a_conda_that_does_not_say_when_it_has_finished(
    twins: Stage, conda: Conda, shell: Shell, renamed: str
) -> None:
    """If conda's last call does not reach us, the prompt takes the toolkit out of its copies."""
    session = Session(twins.person, twins.folder, shell, conda)
    steps = [*(conda.activate(shell, twins.folder / name) for name in "av"), conda.deactivate()]
    prompted = [f"{step}\n{shell.prompt}" for step in steps]
    result = session.play(renamed, *prompted, load=True, LD_LIBRARY_PATH="/own/lib")
    assert not [line for line in result.stderr.splitlines() if "not found" in line]
    last = result.snaps["4"]
    assert last["CUDA_HOME"] == "/vars"
    assert not [name for name, value in last.items() if "toolkits" in value and "SHLVL" in name]
    *_, own = result.snaps["5"]["LD_LIBRARY_PATH"].split(":")
    assert own == "/own/lib"


@pytest.mark.parametrize("conda", CONDAS, ids=str)
@pytest.mark.parametrize("shell", (BASH, ZSH, FISH, TCSH), ids=str)
@pytest.mark.parametrize("part", range(4))
def test_both_are_the_same_in_the_end(twins: Stage, shell: Shell, conda: Conda, part: int) -> None:
    for number in range(part, PAIRS // 4 if shell is TCSH else PAIRS, 4):
        seed = f"{shell} {number}"
        evening = drawn(twins, shell, random.Random(seed))
        if fault(twins, shell, conda, evening) is None:
            continue
        least = shrunk(evening, lambda one: fault(twins, shell, conda, one) is not None)
        told = f"seed `{seed}`: {least}\n{fault(twins, shell, conda, least)}"
        pytest.fail(told.replace(f"{twins.folder}/", ""), pytrace=False)

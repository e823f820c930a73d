"""Homes, environments and trees with absurd paths, and stores where none can be."""

from __future__ import annotations

from pathlib import Path

import pytest

from homes import HOSTILE_FOLDER, HOSTILE_NAME, Home, make_home
from made_environments import Env
from shells.conda import Emulator, conda_prefix
from shells.conftest import make_person
from shells.driver import BASH, FISH, SHELLS, TCSH, XONSH, ZSH, Shell
from shells.frameworks import entered, left
from shells.hostile import CANARY
from shells.kits import Kit, Person, foreign
from shells.moving import cd, homes
from shells.pinned import Session
from shells.venvs import activate, assert_as_before, assert_on, with_uv

every = pytest.mark.parametrize("shell", SHELLS, ids=str)
integrated = pytest.mark.parametrize(
    "shell", [shell for shell in SHELLS if shell.name != "dash"], ids=str
)

TRAP = f"$(touch {CANARY})`touch {CANARY}`; touch {CANARY}"
PLACES = {
    "semicolon": "a;b",
    "quote": "it's",
    "double quote": 'a"b',
    "dollar": "a$HOME ${x}",
    "backtick": "a`x`",
    "backslash": "a\\b\\",
    "options": "-n --help",
    "pattern": "[a]*?{b,c}",
    "trap": TRAP,
    "all": HOSTILE_NAME,
    "line break": "a\nb\n",
    "bytes": "a\udcffb",
    "dots": "..a b..",
    "equals": "a=b=env=c",
}
"""What is odd → a folder's name."""

OF_VIRTUALENVS = ("trap", "all", "line break", "backslash", "options", "pattern")
"""The first two have the characters of those left out; the makers refuse what is not UTF-8."""

OF_CONDA = ("semicolon", "options", "pattern", "dots")
"""conda's own scripts break on the others."""


@pytest.fixture(scope="module")
def virtualenvs(person: Person, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("virtualenvs")
    for why in OF_VIRTUALENVS:
        with_uv(folder / PLACES[why] / "v")
        person.pin("10.1", folder / PLACES[why] / "v")
    return folder


@every
@pytest.mark.parametrize("why", OF_VIRTUALENVS)
def test_a_virtualenv(shell: Shell, why: str, person: Person, virtualenvs: Path) -> None:
    if shell is TCSH and why == "line break":
        return  # the makers' activate.csh does not survive it
    prefix = virtualenvs / PLACES[why] / "v"
    bare = Person(person.home, person.kits, {})
    enter = activate(shell, prefix)
    result = bare.play(shell, enter, enter, "nvcc", "deactivate").check()
    for number in (1, 2):
        assert_on(result, number, prefix, person.kits[0])
    assert result.stdout == "nvcc of 10.1.243\n"
    assert_as_before(result, 4)
    assert not list(person.home.path.glob(CANARY))


@pytest.mark.parametrize("shell", (BASH, ZSH, FISH, XONSH), ids=str)
def test_a_virtualenv_in_a_conda_environment(shell: Shell, person: Person, tmp_path: Path) -> None:
    """Line breaks in its path change neither which of two pins decides, nor which GPUs it names."""
    below, above = Env(tmp_path / "c"), Env(tmp_path / PLACES["line break"] / "v")
    (conda_prefix(below.prefix) / "bin").mkdir(exist_ok=True)
    above.write("pyvenv.cfg", "home = /usr/bin\n")
    person.pin("11.8", below.prefix)
    person.pin("10.1", above.prefix, "--gpus", "0,2")
    steps = [
        entered(shell, below, "CONDA_PREFIX"),
        entered(shell, above),
        "cudaswitch alias",
    ]
    result = person.play(shell, *steps, left(shell))
    assert (result.rc, result.stderr) == (0, "")
    assert homes(person, result) == "-2112"
    chosen = [result.snaps["3"][f"CUDA_{name}"] for name in ("VISIBLE_DEVICES", "DEVICE_ORDER")]
    assert chosen == ["0,2", "PCI_BUS_ID"]


@every
@pytest.mark.parametrize("why", OF_CONDA)
def test_a_conda_environment(shell: Shell, why: str, person: Person, tmp_path: Path) -> None:
    conda = Emulator()
    prefix = conda_prefix(tmp_path / PLACES[why] / "c")
    person.pin("10.1", prefix)
    steps = [conda.activate(shell, prefix), conda.reactivate(shell), conda.deactivate()]
    result = Session(person, tmp_path, shell, conda).play(*steps).check()
    for number in ("2", "3"):
        now = result.snaps[number]
        assert now["PATH"] == f"{person.kits[0].bin}:{prefix}/bin:{conda.base_path}"
    last = result.snaps["4"]
    assert (last["PATH"], last) == (conda.base_path, foreign(last))


TREES = {why: name for why, name in PLACES.items() if why != "line break"}


@integrated
def test_a_tree(shell: Shell, person: Person, tmp_path: Path) -> None:
    assert_followed(shell, person, tmp_path, TREES)


@pytest.mark.parametrize("shell", (BASH, ZSH, FISH), ids=str)
def test_a_tree_whose_name_has_line_breaks(shell: Shell, person: Person, tmp_path: Path) -> None:
    assert_followed(shell, person, tmp_path, {"line break": "a\nb\n"})


def assert_followed(shell: Shell, person: Person, tmp_path: Path, names: dict[str, str]) -> None:
    steps = []
    for name in names.values():
        (tmp_path / name / "inner").mkdir(parents=True)
        (tmp_path / name / ".cuda-version").write_text("10.1\n")
        steps += [cd(shell, tmp_path / name / "inner"), cd(shell, tmp_path)]
    result = person.play(shell, *steps).check()
    home = str(person.kits[0].home)
    for number, why in enumerate(names):
        inside, outside = (result.snaps[str(2 * number + n)] for n in (1, 2))
        assert inside.get("CUDA_HOME") == home, why
        assert "CUDA_HOME" not in outside, why
    assert not list(tmp_path.rglob(CANARY))


@integrated
def test_a_home(shell: Shell, person: Person, tmp_path: Path) -> None:
    """The search for a version file ends at a home of any name, and nothing in the name is run."""
    (tmp_path / ".cuda-version").write_text("11.8\n")
    steps = []
    for name in TREES.values():
        home = tmp_path / name
        (home / "work").mkdir(parents=True)
        steps += [f"{shell.set('HOME', str(home))}\n{cd(shell, home / 'work')}"]
        steps += [cd(shell, tmp_path), "cudaswitch use 10.1", "cudaswitch off"]
    result = person.play(shell, *steps).check()
    one, two, _ = (str(kit.home) for kit in person.kits)
    for number, why in enumerate(TREES):
        homes = [result.snaps[str(4 * number + n)].get("CUDA_HOME") for n in range(1, 5)]
        assert homes == [None, two, one, two], why
    assert not list(tmp_path.rglob(CANARY))


@every
def test_a_toolkit_whose_path_is_a_pattern(shell: Shell, tmp_path: Path) -> None:
    """A `*` in a toolkit's path does not match the options that follow the path in a want."""
    person = make_person(tmp_path / "person", ())
    kit = Kit(tmp_path / "cuda*", "10.2.89", ("lib64",)).build()
    person.adopt(kit)
    person.pin("10.2", conda_prefix(tmp_path / "a"), "--libraries", "never")
    session = Session(person, tmp_path, shell, Emulator())
    result = session.play(*session.steps("a out")).check()
    assert result.snaps["2"]["CUDA_HOME"] == str(kit.home)
    assert "LD_LIBRARY_PATH" not in result.snaps["2"]
    assert foreign(result.snaps["3"]).get("CUDA_HOME") is None


@pytest.mark.parametrize("char", "':\n", ids=repr)
def test_a_home_that_can_hold_no_store(char: str, person: Person, tmp_path: Path) -> None:
    """Without CUDASWITCH_HOME the store would be in there: the message says what to set."""
    home = make_home(tmp_path / f"a{char}b")
    done = home.run("adopt", person.kits[0].home, CUDASWITCH_HOME=None)
    assert done.returncode == 1
    error, hint = done.stderr.splitlines()
    assert "cannot hold a toolkit" in error
    assert "CUDASWITCH_HOME" in hint
    again = home.run("adopt", person.kits[0].home, CUDASWITCH_HOME=str(tmp_path / "store"))
    assert again.returncode == 0, again.stderr


@integrated
def test_a_home_like_that_with_its_store_elsewhere(shell: Shell, tmp_path: Path) -> None:
    """A home that can hold no store works for all else: configuration, cache and rc files."""
    plain = make_home(tmp_path / HOSTILE_FOLDER)
    home = make_home(tmp_path / f"{TRAP}'\"")
    moved = Home(home.path, plain.store, home.env | {"CUDASWITCH_HOME": str(plain.store)})
    done = moved.run("init", shell.name)
    assert (done.returncode, done.stderr) == (0, "")
    init = home.path / "init"
    init.write_text(done.stdout)
    person = Person(moved, ((),) * 3, {shell.name: init})  # type: ignore[arg-type]  # none needed
    result = person.play(shell, shell.prompt, "cudaswitch use system").check()
    assert result.snaps["2"].get("_CUDASWITCH_U") == "system"
    assert not list(tmp_path.rglob(CANARY))

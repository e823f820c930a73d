"""The shell, `current`, `exec` and shims agree about environments on top of each other."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest

from made_environments import Env
from shells.conda import CONDAS, Conda, conda_prefix, write_hook
from shells.conftest import make_person
from shells.driver import BASH, FISH, NU, TCSH, XONSH, ZSH, Shell
from shells.frameworks import entered, left
from shells.kits import Person, foreign
from shells.moving import cd
from shells.pinned import Session
from tools import root_only

every_conda = pytest.mark.parametrize("conda", CONDAS, ids=str)
STACKED = ["conda", "stacked"]


class Standing:
    """A person in bash who has entered environments, some of them pinned."""

    def __init__(self, folder: Path, conda: Conda) -> None:
        self.person = make_person(folder / "person", ("bash",))
        assert self.person.home.run("shims", "install").returncode == 0
        self.folder, self.conda = folder, conda

    def made(self, name: str) -> Env:
        env = Env(self.folder / name)
        if name.startswith("venv"):
            env.write("pyvenv.cfg", "home = /usr/bin\n")
            (env.prefix / "bin").mkdir()
        else:
            conda_prefix(env.prefix)
        return env

    def enter(self, env: Env) -> str:
        name = env.prefix.name
        if name.startswith("venv"):
            return entered(BASH, env)
        return self.conda.activate(BASH, env.prefix, stack=name.startswith("stacked"))

    def agree_on(self, number: int, decided: Path, *steps: str) -> None:
        """Check that the shell, `current`, `exec` and the shim all follow `decided`."""
        kit = self.person.kits[number]
        shown = "./.cuda-version" if decided.name == ".cuda-version" else decided
        # Without this, a shim that takes the system's nvcc would find the shell's toolkit.
        bare = 'PATH=$(printf %s "$PATH" | sed "s,[^:]*/toolkits/[^:]*:,,g")'
        shim = self.person.home.store / "shims" / "nvcc"
        told = f"cudaswitch current\ncudaswitch exec -- nvcc\n{bare} {shim}"
        session = Session(self.person, self.folder, BASH, self.conda)
        result = session.play(*steps, BASH.prompt, told, load=True).check()
        assert result.snaps[str(len(steps) + 1)]["CUDA_HOME"] == str(kit.home)
        assert result.stdout.splitlines() == [
            f"{kit.version} (asked for by {shown}:1)",
            str(kit.home),
            *[f"nvcc of {kit.version}"] * 2,
        ]


@pytest.fixture
def standing(tmp_path: Path, conda: Conda) -> Standing:
    return Standing(tmp_path, conda)


@every_conda
@pytest.mark.parametrize("pinned", ["10.1", "auto"])
@pytest.mark.parametrize(
    "names",
    ["conda venv", "venv conda", "conda stacked", "conda stacked venv", "conda venv stacked"],
)
def test_a_pin_below_environments_without(pinned: str, names: str, standing: Standing) -> None:
    envs = [standing.made(name) for name in names.split()]
    envs[0].dist("cupy-cuda101", "7.8.0")
    standing.person.pin(pinned, envs[0].prefix)
    tree = standing.folder / "tree"
    tree.mkdir()
    (tree / ".cuda-version").write_text("12.4\n")
    pin = envs[0].prefix / "etc" / "cudaswitch" / "pin"
    standing.agree_on(0, pin, *map(standing.enter, envs), cd(BASH, tree))


@every_conda
@pytest.mark.parametrize("names", ["conda venv stacked", "venv conda stacked"])
def test_the_topmost_pin_below_one_without(names: str, standing: Standing) -> None:
    below, middle, active = map(standing.made, names.split())
    standing.person.pin("10.1", below.prefix)
    standing.person.pin("11.8", middle.prefix)
    pin = middle.prefix / "etc" / "cudaswitch" / "pin"
    standing.agree_on(1, pin, *map(standing.enter, (below, middle, active)))


@every_conda
def test_one_that_was_left_asks_for_nothing_where_path_has_it(standing: Standing) -> None:
    """A pin does not count in an environment that was left, even if the user has it on PATH."""
    base, active = (standing.made(name) for name in ("conda", "conda2"))
    standing.person.pin("10.1", base.prefix)
    tree = standing.folder / "tree"
    tree.mkdir()
    (tree / ".cuda-version").write_text("11.8\n")
    own = f'PATH="$PATH:{base.prefix}/bin"'
    steps = [own, *map(standing.enter, (base, active)), cd(BASH, tree)]
    standing.agree_on(1, tree / ".cuda-version", *steps)


@every_conda
def test_one_that_path_has_lost_is_left(standing: Standing) -> None:
    below, middle, active = (standing.made(name) for name in ("conda", "stacked1", "stacked2"))
    standing.person.pin("10.1", below.prefix)
    standing.person.pin("11.8", middle.prefix)
    lost = f'PATH=$(printf %s "$PATH" | sed "s,{middle.prefix}/bin:,,")'
    steps = [*map(standing.enter, (below, middle, active)), lost, cd(BASH, standing.folder)]
    standing.agree_on(0, below.prefix / "etc" / "cudaswitch" / "pin", *steps)


@every_conda
def test_the_active_one_that_path_has_lost(standing: Standing) -> None:
    """The active pin counts even if a virtualenv's `deactivate` took its environment off PATH."""
    below, venv, active = (standing.made(name) for name in ("conda", "venv", "stacked"))
    standing.person.pin("10.1", below.prefix)
    standing.person.pin("11.8", active.prefix)
    keep, back = "kept=$PATH", f"PATH=$kept\n{left(BASH)}"
    steps = [standing.enter(below), keep, standing.enter(venv), standing.enter(active), back]
    standing.agree_on(1, active.prefix / "etc" / "cudaswitch" / "pin", *steps)


@every_conda
def test_below_one_that_is_none_any_more(standing: Standing) -> None:
    below, active = map(standing.made, STACKED)
    standing.person.pin("10.1", below.prefix)
    gone = f"mv {active.prefix} {active.prefix}-gone"
    steps = [standing.enter(below), standing.enter(active), gone]
    standing.agree_on(0, below.prefix / "etc" / "cudaswitch" / "pin", *steps)


@root_only
@every_conda
def test_an_environment_of_somebody_else(standing: Standing) -> None:
    """Another user's pin counts: whoever activates that environment runs its scripts anyway."""
    env = standing.made("conda")
    standing.person.pin("10.1", env.prefix)
    for path in (env.prefix, *env.prefix.rglob("*")):
        os.chown(path, 12345, 12345)
    pin = env.prefix / "etc" / "cudaswitch" / "pin"
    standing.agree_on(0, pin, standing.enter(env))


@root_only
@pytest.mark.parametrize("own", [True, False], ids=["one of one's own", "none of one's own"])
@every_conda
def test_one_pinned_to_a_toolkit_of_their_store(standing: Standing, own: bool) -> None:
    """The toolkit in the owner's hooks is used, even if our own store has one that fits the pin."""
    theirs = make_person(standing.folder / "theirs", ())
    env = standing.made("conda")
    theirs.pin("10.1", env.prefix)
    for path in (env.prefix, *env.prefix.rglob("*")):
        os.chown(path, 12345, 12345)
    if not own:
        assert standing.person.home.run("remove", "--force", "10.1").returncode == 0
    pin, home = env.prefix / "etc" / "cudaswitch" / "pin", theirs.kits[0].home
    told = 'cudaswitch current\ncudaswitch exec -- nvcc\n"$CUDASWITCH_HOME/shims/nvcc"'
    session = Session(standing.person, standing.folder, BASH, standing.conda)
    store = {"CUDASWITCH_HOME": str(standing.person.home.store)}
    result = session.play(standing.enter(env), BASH.prompt, told, load=True, **store).check()
    assert result.snaps["2"]["CUDA_HOME"] == str(home)
    assert result.stdout.splitlines() == [
        f"{home} (asked for by {pin}:1)", str(home), *["nvcc of 10.1.243"] * 2
    ]  # fmt: skip


@pytest.mark.parametrize("shell", (BASH, ZSH, FISH, TCSH, XONSH, NU), ids=str)
def test_one_pinned_to_a_toolkit_that_this_person_does_not_see(
    shell: Shell, tmp_path: Path
) -> None:
    """If the user does not see the pinned toolkit, their own store answers the pin's request."""
    theirs, person = make_person(tmp_path / "a", ()), make_person(tmp_path / "b", (shell.name,))
    env = Env(tmp_path / "venv")
    env.write("pyvenv.cfg", "home = /usr/bin\n")
    theirs.pin("10.1", env.prefix, "--gpus", "1")
    wants = env.prefix / "etc" / "cudaswitch" / "want"
    before = wants.read_text()
    if os.geteuid() == 0:
        for path in (env.prefix, *env.prefix.rglob("*")):
            os.chown(path, 12345, 12345)
    theirs.kits[0].home.rename(tmp_path / "elsewhere")
    steps = [entered(shell, env), "cudaswitch exec -- nvcc", left(shell)]
    result = person.play(shell, *steps).check()
    assert result.snaps["1"]["CUDA_HOME"] == str(person.kits[0].home)
    assert result.snaps["1"]["CUDA_VISIBLE_DEVICES"] == "1"
    assert "nvcc of 10.1.243" in result.stdout
    assert "CUDA_HOME" not in result.snaps["3"]
    assert wants.read_text() == before


@root_only
def test_one_of_somebody_else_to_auto_whose_packages_are_other_ones(tmp_path: Path) -> None:
    """`exec`, like the hooks, works out `auto` again after another user's packages changed."""
    person, env = make_person(tmp_path / "person", ()), Env(tmp_path / "venv")
    env.write("pyvenv.cfg", "home = /usr/bin\n")
    dist = env.dist("cupy-cuda101", "7.8.0")
    person.pin("auto", env.prefix)
    for path in (env.prefix, *env.prefix.rglob("*")):
        os.chown(path, 12345, 12345)
    active = {"VIRTUAL_ENV": str(env.prefix), "PATH": f"{env.prefix}/bin:{person.home.env['PATH']}"}
    assert person.home.run("exec", "--", "nvcc", **active).stdout == "nvcc of 10.1.243\n"
    time.sleep(0.02)
    shutil.rmtree(dist.parent)
    env.dist("cupy-cuda11x", "11.0.0")
    assert person.home.run("exec", "--", "nvcc", **active).stdout == "nvcc of 11.8.0\n"


def test_a_pin_of_one_s_own_that_was_edited_is_what_it_says(tmp_path: Path) -> None:
    """`exec` follows a hand-edited pin, whose hooks still have the old toolkit until rewritten."""
    person, env = make_person(tmp_path / "person", ()), Env(tmp_path / "venv")
    env.write("pyvenv.cfg", "home = /usr/bin\n")
    person.pin("10.1", env.prefix)
    (env.prefix / "etc" / "cudaswitch" / "pin").write_text("11.8\n")
    active = {"VIRTUAL_ENV": str(env.prefix), "PATH": f"{env.prefix}/bin:{person.home.env['PATH']}"}
    done = person.home.run("exec", "--", "nvcc", **active)
    assert done.stdout == "nvcc of 11.8.0\n"


@pytest.mark.parametrize("conda", CONDAS[:1], ids=str)
def test_a_pipe_in_the_place_of_a_pin_stops_nobody(standing: Standing) -> None:
    env = standing.made("conda")
    (env.prefix / "etc" / "cudaswitch").mkdir(parents=True)
    os.mkfifo(env.prefix / "etc" / "cudaswitch" / "pin")
    shim = standing.person.home.store / "shims" / "nvcc"
    session = Session(standing.person, standing.folder, BASH, standing.conda)
    result = session.play(standing.enter(env), str(shim), "cudaswitch current", load=True)
    assert result.stderr.count("is not a regular file") == 2


@every_conda
@pytest.mark.parametrize("shell", (BASH, ZSH, FISH, TCSH), ids=str)
@pytest.mark.parametrize("words", ["config set nosuch 3", "which nvcc"])
def test_a_command_in_a_script_of_an_environment_that_is_left(
    shell: Shell, conda: Conda, words: str, person: Person, tmp_path: Path
) -> None:
    """A command in a deactivate script, before conda has finished, does not restore the toolkit."""
    for name in "ab":
        conda_prefix(tmp_path / name)
    person.pin("10.1", tmp_path / "a")
    said = shell.hush(f"cudaswitch {words}")
    text = f"{said}; true" if shell in (BASH, ZSH) else said
    write_hook(tmp_path / "a", "deactivate", f"x.{shell.suffix}", text)
    session = Session(person, tmp_path, shell, conda)
    result = session.play(*session.steps("a out a b"), load=True)
    for after in "35":
        assert "CUDA_HOME" not in result.snaps[after]
        assert foreign(result.snaps[after]) == result.snaps[after]
    assert result.snaps["3"]["PATH"] == conda.base_path

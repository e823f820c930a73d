"""Pinned conda environments that are changed, cloned or read-only; condas of other kinds."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from made_environments import Env
from shells.conda import CONDAS as WHOLE_CONDAS
from shells.conda import Conda, Emulator, conda_prefix, skip_conda_s_own_tcsh, write_hook
from shells.driver import BASH, FISH, NU, POSIX_SHELLS, SHELLS, TCSH, XONSH, ZSH, Shell
from shells.kits import Person, foreign
from shells.pinned import Session, pinned_environments
from shells.quick_conda import CONDAS
from shells.venvs import with_venv
from tools import console_script

every_shell = pytest.mark.parametrize("shell", SHELLS, ids=str)
every_conda = pytest.mark.parametrize("conda", CONDAS, ids=str)
whole_conda = pytest.mark.parametrize("conda", WHOLE_CONDAS, ids=str)


@every_conda
@every_shell
class TestChangedWhileActive:
    @pytest.fixture
    def mine(self, person: Person, tmp_path: Path, shell: Shell, conda: Conda) -> Iterator[Session]:
        yield Session(person, pinned_environments(person, tmp_path / "e"), shell, conda)
        if not person.kits[0].home.exists():
            person.kits[0].build()

    def test_toolkit_deleted(self, mine: Session) -> None:
        gone = f"rm -r {mine.shell.quote(str(mine.person.kits[0].home))}"
        steps = [*mine.steps("a"), gone, *mine.steps("out a b a again +c out out out out")]
        result = mine.play(*steps).check()
        after = result.snaps["4"]
        assert after["PATH"] == mine.conda.base_path
        assert after == foreign(after)
        for number in (5, 7, 8, 10):
            now = result.snaps[str(number)]
            assert now["PATH"] in (f"{mine.folder}/a/bin:{mine.conda.base_path}",)
            assert not {"CUDA_HOME", "LD_LIBRARY_PATH"} & now.keys(), number
        assert result.snaps["9"]["CUDA_HOME"] == str(mine.person.kits[1].home)
        assert result.snaps["13"] == foreign(result.snaps["13"])

    def test_unpinned(self, mine: Session) -> None:
        prefix = mine.shell.quote(str(mine.folder / "a"))
        unpin = mine.shell.hush(f"{console_script()} unpin -p {prefix}")
        steps = [*mine.steps("a"), unpin, *mine.steps("out a again out")]
        result = mine.play(*steps).check()
        for number in (4, 7):
            after = result.snaps[str(number)]
            assert (after["PATH"], after) == (mine.conda.base_path, foreign(after))
        assert "CUDA_HOME" not in result.snaps["5"]

    def test_pinned_to_another(self, mine: Session) -> None:
        prefix = mine.shell.quote(str(mine.folder / "a"))
        pin = mine.shell.hush(f"{console_script()} pin 12.4 -p {prefix}")
        result = mine.play(*mine.steps("a"), pin, *mine.steps("again out a out")).check()
        for number in (4, 6):
            assert result.snaps[str(number)]["CUDA_HOME"] == str(mine.person.kits[2].home)
        for number in (5, 7):
            after = result.snaps[str(number)]
            assert (after["PATH"], after) == (mine.conda.base_path, foreign(after))


def test_a_clone_keeps_its_toolkit(person: Person, tmp_path: Path) -> None:
    """A clone keeps its toolkit, though cloning replaces every path that begins like the prefix."""
    kit = person.kits[0]
    original = conda_prefix(kit.home.with_name(kit.home.name[:-2]))
    assert str(kit.home).startswith(str(original))
    person.pin("10.1", original)
    clone = tmp_path / "clone"
    shutil.copytree(original, clone)
    for file in (path for path in clone.rglob("*") if path.is_file()):
        file.write_text(file.read_text().replace(str(original), str(clone)))
    shutil.rmtree(original)
    for shell in SHELLS:
        session = Session(person, tmp_path, shell, CONDAS[0])
        enter = session.conda.activate(shell, clone)
        result = session.play(enter, session.conda.deactivate()).check()
        assert result.snaps["2"]["CUDA_HOME"] == str(kit.home)
        assert result.snaps["3"] == foreign(result.snaps["3"])
        assert result.snaps["3"]["PATH"] == session.conda.base_path


def test_a_read_only_environment_is_a_clear_error(person: Person, tmp_path: Path) -> None:
    prefix = conda_prefix(tmp_path / "env")
    for path in (prefix, prefix / "etc", *(prefix / "etc").rglob("*")):
        path.chmod(0o555)
    done = person.home.run_plainly("pin", "10.1", "-p", prefix)
    assert done.returncode == 1
    error, hint = done.stderr.splitlines()
    assert error.startswith(f"cudaswitch: cannot pin `{prefix}`: Permission denied")
    assert hint.startswith("hint: ")
    for path in (prefix / "etc", *(prefix / "etc").rglob("*"), prefix):
        path.chmod(0o755)


def test_who_may_not_write_an_environment_is_answered_all_the_same(
    person: Person, tmp_path: Path
) -> None:
    """`want` answers a pin to `auto` whose packages changed, also in a read-only environment."""
    env = Env(conda_prefix(tmp_path / "env"))
    old = env.dist("cupy-cuda101", "7.8.0")
    person.pin("auto", env.prefix)
    shutil.rmtree(old.parent)
    env.dist("cupy-cuda11x", "11.0.0")
    closed = [env.prefix / "etc", *(env.prefix / "etc").rglob("*")]
    for path in closed:
        path.chmod(path.stat().st_mode & ~0o222)
    done = person.home.run_plainly("want", "--environment", env.prefix)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{person.kits[1].home}\n"
    for path in closed:
        path.chmod(path.stat().st_mode | 0o200)


class TestOtherCondas:
    @pytest.mark.parametrize("shell", POSIX_SHELLS, ids=str)
    def test_without_the_private_function_the_next_hook_repairs(
        self, person: Person, pinned_folder: Path, shell: Shell, tmp_path: Path
    ) -> None:
        """If conda's last function has another name, the next hook repairs PATH."""
        conda = Emulator()
        init = conda.init(shell)
        emulator = Path(__file__).with_name("conda_emulator.sh")
        other = tmp_path / "emulator.sh"
        other.write_text(emulator.read_text().replace("__conda_hashr", "__conda_rehash"))
        session = Session(person, pinned_folder, shell, conda)
        steps = [init.replace(str(emulator), str(other)), *session.steps("a b c out out out out")]
        result = person.__class__(person.home, person.kits, {}).play(
            shell, *steps, PATH=conda.base_path
        )
        last = result.check().snaps[str(len(steps))]
        assert (last["PATH"], last) == (conda.base_path, foreign(last))


@every_conda
@pytest.mark.parametrize("load", [False, True], ids=["hooks", "integration"])
def test_conda_fails_where_its_last_call_does(
    person: Person, pinned_folder: Path, conda: Conda, load: bool
) -> None:
    """Under `set +h` conda fails because its last call, `hash -r`, does; PATH is right anyway."""
    session = Session(person, pinned_folder, BASH, conda)
    steps = [f"{step}\necho status=$?" for step in session.steps("a b c out out out out")]
    result = session.play("set +h", *steps, load=load)
    assert result.stdout.split().count("status=1") == len(steps)
    last = result.snaps[str(len(steps) + 1)]
    assert (last["PATH"], last) == (conda.base_path, foreign(last))


@pytest.fixture
def without_the_third(person: Person) -> Iterator[None]:
    """Move the third toolkit's folder away without telling cudaswitch."""
    home = person.kits[2].home
    away = home.with_name("away")
    home.rename(away)
    yield
    away.rename(home)


@every_shell
def test_a_script_is_not_told_of_a_toolkit_that_is_gone(
    shell: Shell, person: Person, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Activation with a missing toolkit prints nothing in a script; only terminals are told."""
    person.pin("12.4", conda_prefix(tmp_path / "a"))
    request.getfixturevalue("without_the_third")
    session = Session(person, tmp_path, shell, Emulator())
    result = session.play(*session.steps("a out")).check()
    assert all("CUDA_HOME" not in result.snaps[number] for number in "23")


@pytest.mark.parametrize("shell", (BASH, ZSH, FISH, TCSH, XONSH, NU), ids=str)
@pytest.mark.parametrize("typed", ["cudaswitch off", "cd /"])
def test_a_toolkit_that_goes_meanwhile_is_taken_off_by_what_is_typed_next(
    typed: str, shell: Shell, person: Person, tmp_path: Path
) -> None:
    """The next `off` or `cd` clears the variables of a toolkit whose folder has disappeared."""
    prefix = with_venv(tmp_path / "venv")
    person.pin("12.4", prefix)
    home, away = person.kits[2].home, person.kits[2].home.with_name("away")
    entered = f"{shell.set('VIRTUAL_ENV', str(prefix))}\n{shell.prompt}"
    gone = f"mv {shell.quote(str(home))} {shell.quote(str(away))}"
    again = f"{typed}\n{shell.prompt}"
    try:
        result = person.play(shell, entered, gone, again, again, again)
    finally:
        away.rename(home)
    assert result.snaps["1"]["CUDA_HOME"] == str(home)
    moved = {"PWD", "OLDPWD", "VIRTUAL_ENV"}
    before, *after = (
        {name: value for name, value in foreign(result.snaps[n]).items() if name not in moved}
        for n in "035"
    )
    assert after == [before, before]
    assert result.stderr.count("is gone") <= 1


@pytest.mark.usefixtures("without_the_third")
@pytest.mark.parametrize("shell", (*POSIX_SHELLS, TCSH), ids=str)
def test_a_variable_that_asks_for_one_that_is_gone_leaves_the_pin(
    shell: Shell, person: Person, tmp_path: Path
) -> None:
    person.pin("10.1", conda_prefix(tmp_path / "a"))
    session = Session(person, tmp_path, shell, Emulator())
    result = session.play(*session.steps("a out"), CUDASWITCH_VERSION="12.4").check()
    homes = [result.snaps[number].get("CUDA_HOME") for number in "23"]
    assert homes == [str(person.kits[0].home), None]


@whole_conda
@pytest.mark.parametrize("shell", (BASH, ZSH, FISH, TCSH), ids=str)
def test_a_script_that_leaves_a_tree_on_the_way_out(
    shell: Shell, conda: Conda, person: Person, tmp_path: Path
) -> None:
    """The prompt repairs the PATH that conda computed before a deactivate script left the tree."""
    write_hook(conda_prefix(tmp_path / "b"), "deactivate", f"way.{shell.suffix}", "cd /\n")
    (conda_prefix(tmp_path / "c") / ".cuda-version").write_text("10.1\n")
    skip_conda_s_own_tcsh(shell, conda)
    session = Session(person, tmp_path, shell, conda)
    steps = [f"cd {shell.quote(str(tmp_path / 'c'))}", *session.steps("b c out out")]
    result = session.play(*(f"{step}\n{shell.prompt}" for step in steps), load=True).check()
    assert result.snaps["3"]["CUDA_HOME"] == str(person.kits[0].home)
    assert "CUDA_HOME" not in result.snaps["4"]
    assert result.snaps["6"]["PATH"] == result.snaps["1"]["PATH"]


def test_an_empty_list_gets_no_empty_element(person: Person, pinned_folder: Path) -> None:
    """An empty LD_LIBRARY_PATH gets no empty element, which would mean the working directory."""
    session = Session(person, pinned_folder, FISH, Emulator())
    result = session.play(*session.steps("a out"), LD_LIBRARY_PATH="").check()
    assert result.snaps["2"]["LD_LIBRARY_PATH"].startswith(str(person.kits[0].home))
    assert not result.snaps["2"]["LD_LIBRARY_PATH"].endswith(":")
    assert result.snaps["3"]["LD_LIBRARY_PATH"] == ""

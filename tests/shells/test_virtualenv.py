"""Pinned virtualenvs of every maker: activate scripts that switch, and restore themselves."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from shells.conda import conda_prefix
from shells.conftest import make_person
from shells.driver import BASH, DASH, FISH, SHELLS, STRICT, TCSH, ZSH, Shell, ShellResult
from shells.kits import STATE, Person, switched
from shells.quick_conda import QuickConda
from shells.venvs import (
    MAKERS,
    Maker,
    activate,
    assert_as_before,
    assert_on,
    bare,
    scripts,
    with_venv,
)
from tools import console_script

every_shell = pytest.mark.parametrize("shell", SHELLS, ids=str)
integrated = pytest.mark.parametrize("shell", (BASH, ZSH, FISH, TCSH), ids=str)

NAME = "my env [x] é"


@dataclass(frozen=True)
class Envs:
    """Environments of one maker: `v` and `x` pinned to two toolkits, `w` not pinned."""

    v: Path
    w: Path
    x: Path
    original: dict[str, bytes]

    def __truediv__(self, name: str) -> Path:
        return {"v": self.v, "w": self.w, "x": self.x}[name]


@pytest.fixture(scope="module", params=MAKERS)
def envs(
    request: pytest.FixtureRequest, person: Person, tmp_path_factory: pytest.TempPathFactory
) -> Envs:
    return made(MAKERS[request.param], person, tmp_path_factory.mktemp(request.param))


@pytest.fixture(scope="module")
def plain_envs(person: Person, tmp_path_factory: pytest.TempPathFactory) -> Envs:
    return made(with_venv, person, tmp_path_factory.mktemp("plain"))


def made(maker: Maker, person: Person, folder: Path) -> Envs:
    v, w, x = (folder / NAME / name for name in "vwx")
    for prefix in (v, w, x):
        maker(prefix)
    original = scripts(v)
    person.pin("10.1", v)
    person.pin("11.8", x)
    return Envs(v, w, x, original)


@every_shell
class TestHooksAlone:
    """Without integration: scripts, Makefiles, `. activate && command`."""

    @staticmethod
    def play(person: Person, shell: Shell, *steps: str, **variables: str | None) -> ShellResult:
        return Person(person.home, person.kits, {}).play(shell, *steps, **variables)

    @pytest.mark.parametrize("libraries", [None, "", "/own lib:$x"], ids=repr)
    def test_there_and_back(
        self, person: Person, shell: Shell, envs: Envs, libraries: str | None
    ) -> None:
        steps = [activate(shell, envs.v), "nvcc", "deactivate"]
        result = self.play(
            person, shell, *steps, LD_LIBRARY_PATH=libraries, CUDA_HOME=libraries
        ).check()
        assert_on(result, 1, envs.v, person.kits[0])
        assert result.stdout == "nvcc of 10.1.243\n"
        assert_as_before(result, 3)

    def test_from_one_to_the_next_without_deactivation(
        self, person: Person, shell: Shell, envs: Envs
    ) -> None:
        steps = [activate(shell, prefix) for prefix in (envs.w, envs.v, envs.x, envs.v, envs.v)]
        result = self.play(person, shell, *steps, "deactivate").check()
        for number, prefix, kit in ((2, envs.v, 0), (3, envs.x, 1), (4, envs.v, 0), (5, envs.v, 0)):
            assert_on(result, number, prefix, person.kits[kit])
        assert_as_before(result, 6)

    def test_edits_in_between(self, person: Person, shell: Shell, plain_envs: Envs) -> None:
        edits = [shell.prepend("LD_LIBRARY_PATH", "/mine"), shell.set("CUDA_HOME", "/mine")]
        steps = [activate(shell, plain_envs.v), "\n".join(edits), "deactivate"]
        result = self.play(person, shell, *steps, LD_LIBRARY_PATH="/own").check()
        expected = bare(result.snaps["0"])
        assert bare(result.snaps["3"]) == expected | {
            "LD_LIBRARY_PATH": "/mine:/own",
            "CUDA_HOME": "/mine",
        }

    def test_strict_shells(self, person: Person, shell: Shell, plain_envs: Envs) -> None:
        steps = [
            STRICT.get(shell.name, ""),
            activate(shell, plain_envs.v),
            activate(shell, plain_envs.x),
        ]
        result = self.play(person, shell, *steps, "deactivate").check()
        assert_on(result, 3, plain_envs.x, person.kits[1])
        assert_as_before(result, 4)

    def test_conda_below_and_above(
        self, person: Person, shell: Shell, plain_envs: Envs, conda_env: Path
    ) -> None:
        conda = QuickConda()
        start = f"{conda.init(shell)}\n{shell.set('PATH', conda.base_path)}"
        into, out = conda.activate(shell, conda_env), conda.deactivate()
        venv = activate(shell, plain_envs.v)
        for steps, expected in (
            ([into, venv, "deactivate", out], "3 1 3 -"),
            ([venv, into, out, "deactivate"], "1 3 1 -"),
            # conda is left below the virtualenv, which stays the active one.
            ([into, venv, conda.reactivate(shell), out, "deactivate"], "3 1 1 1 -"),
            ([into, venv, out, "deactivate"], "3 1 1 -"),
        ):
            result = self.play(person, shell, start, *steps).check()
            homes = [result.snaps[str(n)].get("CUDA_HOME") for n in range(2, len(steps) + 2)]
            numbers = {str(kit.home): str(n) for n, kit in enumerate(person.kits, 1)}
            assert " ".join(numbers.get(home or "", "-") for home in homes) == expected
            last = result.snaps[str(len(steps) + 1)]
            assert not [name for name in last if name.startswith(STATE)]
            assert not [one for one in last["PATH"].split(":") if "toolkits" in one]
            assert "LD_LIBRARY_PATH" not in last

    def test_what_comes_to_light_when_conda_switches(
        self, person: Person, shell: Shell, plain_envs: Envs, tmp_path: Path
    ) -> None:
        """A toolkit that leaving an environment applied survives conda's PATH, computed before."""
        conda = QuickConda()
        person.pin("system", conda_prefix(tmp_path / "system"))
        conda_prefix(tmp_path / "free")
        start = f"{conda.init(shell)}\n{shell.set('PATH', conda.base_path)}"
        into = [conda.activate(shell, tmp_path / name) for name in ("system", "free")]
        steps = [start, activate(shell, plain_envs.v), *into]
        result = self.play(person, shell, *steps).check()
        assert "CUDA_HOME" not in result.snaps["3"]
        assert result.snaps["4"]["CUDA_HOME"] == str(person.kits[0].home)
        assert result.snaps["4"]["PATH"].split(":")[0] == person.kits[0].bin

    def test_conda_is_entered_inside_and_outlives_the_virtualenv(
        self, person: Person, shell: Shell, plain_envs: Envs, conda_env: Path
    ) -> None:
        """conda's toolkit is on PATH once after `deactivate` restored it without conda's folder."""
        conda = QuickConda()
        start = f"{conda.init(shell)}\n{shell.set('PATH', conda.base_path)}"
        into, again = conda.activate(shell, conda_env), conda.reactivate(shell)
        steps = [start, activate(shell, plain_envs.w), into, "deactivate", again, again]
        result = self.play(person, shell, *steps, conda.deactivate()).check()
        toolkit = person.kits[2].bin
        for number in ("5", "6"):
            folders = result.snaps[number]["PATH"].split(":")
            assert (folders[0], folders.count(toolkit)) == (toolkit, 1)
        assert result.snaps["7"]["PATH"] == conda.base_path


@pytest.fixture(scope="module")
def conda_env(person: Person, tmp_path_factory: pytest.TempPathFactory) -> Path:
    prefix = conda_prefix(tmp_path_factory.mktemp("conda") / "env")
    person.pin("12.4", prefix)
    return prefix


class TestScripts:
    @pytest.mark.parametrize("maker", MAKERS)
    def test_pinned_twice_is_once_and_unpinned_is_never(
        self, person: Person, maker: str, tmp_path: Path
    ) -> None:
        MAKERS[maker](tmp_path / "v")
        original = scripts(tmp_path / "v")
        modes = {path.name: path.stat().st_mode for path in (tmp_path / "v" / "bin").iterdir()}
        person.pin("10.1", tmp_path / "v")
        once = scripts(tmp_path / "v")
        assert {name for name in once if once[name] != original[name]} == {
            "activate",
            "activate.fish",
            "activate.csh",
            *(("deactivate.csh",) if maker == "virtualenv" else ()),
        }
        person.pin("11.8", tmp_path / "v", "--libraries", "never")
        assert scripts(tmp_path / "v") == once
        done = person.home.run("unpin", "-p", str(tmp_path / "v"))
        assert done.returncode == 0, done.stderr
        assert scripts(tmp_path / "v") == original
        assert modes == {
            path.name: path.stat().st_mode for path in (tmp_path / "v" / "bin").iterdir()
        }

    @pytest.mark.parametrize("ending", ["", "\n", "\n\n", "\r\n"], ids=repr)
    def test_any_last_line_comes_back(self, person: Person, tmp_path: Path, ending: str) -> None:
        with_venv(tmp_path / "v")
        for name in ("activate", "activate.fish", "activate.csh"):
            script = tmp_path / "v" / "bin" / name
            script.write_bytes(script.read_bytes().rstrip() + ending.encode())
        original = scripts(tmp_path / "v")
        person.pin("10.1", tmp_path / "v")
        person.pin("10.1", tmp_path / "v")
        assert scripts(tmp_path / "v")["activate"] != original["activate"]
        assert person.home.run("unpin", "-p", str(tmp_path / "v")).returncode == 0
        assert scripts(tmp_path / "v") == original

    @every_shell
    def test_unpinned_while_active(self, person: Person, shell: Shell, tmp_path: Path) -> None:
        with_venv(tmp_path / "v")
        person.pin("10.1", tmp_path / "v")
        unpin = shell.hush(f"cudaswitch unpin -p {shell.quote(str(tmp_path / 'v'))}")
        steps = [activate(shell, tmp_path / "v"), unpin, "deactivate"]
        bare_person = Person(person.home, person.kits, {})
        result = bare_person.play(shell, *steps).check()
        assert_as_before(result, 3)


@pytest.mark.parametrize("shell", (BASH, ZSH, FISH, DASH), ids=str)
@pytest.mark.parametrize("how", ["rm -rf {}", "{} -m venv --without-pip --clear {}"])
def test_gone_or_made_anew_while_active(
    person: Person, shell: Shell, tmp_path: Path, how: str
) -> None:
    """Leaving works without hooks if a virtualenv was deleted or made anew while active."""
    prefix = tmp_path / "v"
    with_venv(prefix)
    person.pin("10.1", prefix)
    words = (sys.executable, str(prefix)) if "venv" in how else (str(prefix),)
    again = how.format(*map(shell.quote, words))
    alone = Person(person.home, person.kits, {})
    result = alone.play(shell, activate(shell, prefix), again, "deactivate").check()
    assert "CUDA_HOME" in result.snaps["2"]
    assert_as_before(result, 3)


@pytest.mark.parametrize("shell", (BASH, ZSH, FISH, TCSH), ids=str)
@pytest.mark.parametrize("kind", ["venv", "conda"])
def test_unpinned_in_another_terminal(
    person: Person, shell: Shell, tmp_path: Path, kind: str
) -> None:
    prefix, conda = tmp_path / "env", QuickConda()
    if kind == "venv":
        with_venv(prefix)
        enter = activate(shell, prefix)
    else:
        enter = conda.activate(shell, conda_prefix(prefix))
    person.pin("10.1", prefix)
    elsewhere = f"{console_script()} unpin -p {shell.quote(str(prefix))}"
    steps = (f"{step}\n{shell.prompt}" for step in (enter, elsewhere, "cd /"))
    result = person.play(shell, conda.init(shell), *steps)
    homes = [result.snaps[number].get("CUDA_HOME") for number in "234"]
    assert homes == [str(person.kits[0].home)] * 2 + [None]
    assert result.snaps["4"]["PATH"] == f"{prefix}/bin:{result.snaps['1']['PATH']}"


@integrated
class TestPrompt:
    """The prompt hook of `cudaswitch init` does what activate scripts cannot."""

    def test_from_pinned_to_unpinned_without_deactivation(
        self, person: Person, shell: Shell, envs: Envs
    ) -> None:
        steps = [f"{activate(shell, envs / name)}\n{shell.prompt}" for name in "vwxwv"]
        result = person.play(shell, *steps, f"deactivate\n{shell.prompt}").check()
        for number, prefix, kit in ((1, envs.v, 0), (3, envs.x, 1), (5, envs.v, 0)):
            assert_on(result, number, prefix, person.kits[kit])
        for number in (2, 4):
            now, before = result.snaps[str(number)], result.snaps["0"]
            assert bare(now) == bare(before) | {"PATH": f"{envs.w}/bin:{before['PATH']}"}
        assert_as_before(result, 6)

    def test_one_that_was_passed_through_between_two_prompts(
        self, person: Person, shell: Shell, plain_envs: Envs
    ) -> None:
        """A pinned virtualenv entered and left between two prompts leaves nothing behind."""
        v, w = (activate(shell, plain_envs / name) for name in "vw")
        steps = (f"{v}\n{w}\ndeactivate", w, f"{v}\n{w}", "deactivate")
        result = person.play(shell, *(f"{step}\n{shell.prompt}" for step in steps)).check()
        for number in (1, 4):
            assert_as_before(result, number)
        assert bare(result.snaps["3"]) == bare(result.snaps["2"])

    def test_rewritten_scripts_are_healed(
        self, person: Person, shell: Shell, tmp_path: Path
    ) -> None:
        with_venv(tmp_path / "v")
        person.pin("10.1", tmp_path / "v")
        pinned = scripts(tmp_path / "v")
        with_venv(tmp_path / "v")
        assert scripts(tmp_path / "v") != pinned
        steps = [activate(shell, tmp_path / "v"), shell.prompt, "deactivate", shell.prompt]
        result = person.play(shell, *steps).check()
        assert bare(result.snaps["1"]).get("CUDA_HOME") is None
        assert_on(result, 2, tmp_path / "v", person.kits[0])
        assert_as_before(result, 4)

    def test_a_variable_alone_is_seen(self, person: Person, shell: Shell, plain_envs: Envs) -> None:
        """The prompt follows VIRTUAL_ENV even if no script runs, as with direnv."""
        steps = [
            shell.set("VIRTUAL_ENV", str(plain_envs.v)) + "\n" + shell.prompt,
            shell.unset("VIRTUAL_ENV") + "\n" + shell.prompt,
        ]
        result = person.play(shell, *steps).check()
        assert result.snaps["1"]["CUDA_HOME"] == str(person.kits[0].home)
        assert_as_before(result, 2)


@integrated
class TestUseInside:
    def test_use_outlives_the_environment(self, person: Person, shell: Shell, envs: Envs) -> None:
        for name, pinned in (("v", person.kits[0]), ("w", None)):
            into = activate(shell, envs / name)
            steps = [into, "cudaswitch use 12.4", "deactivate", "cudaswitch off"]
            result = person.play(shell, *steps, CUDASWITCH_QUIET="1").check()
            assert_on(result, 2, envs / name, person.kits[2])
            before = result.snaps["0"]
            assert bare(result.snaps["3"]) == bare(switched(before, person.kits[2]))
            assert bare(result.snaps["4"]) == bare(before)
            if pinned:
                assert_on(result, 1, envs / name, pinned)

    def test_off_returns_to_the_environment_s_pin(
        self, person: Person, shell: Shell, plain_envs: Envs
    ) -> None:
        into = activate(shell, plain_envs.v)
        steps = ["cudaswitch use 12.4", into, "cudaswitch off", "deactivate"]
        result = person.play(shell, *steps).check()
        assert_on(result, 2, plain_envs.v, person.kits[2])
        assert_on(result, 3, plain_envs.v, person.kits[0])
        assert bare(result.snaps["4"]) == bare(result.snaps["0"])

    def test_own_copies_added_inside_are_not_taken_for_ours(
        self, person: Person, shell: Shell, plain_envs: Envs
    ) -> None:
        """Copies added inside are not taken for ours when `deactivate` restores an older PATH."""
        own = shell.prepend("PATH", person.kits[0].bin)
        into = activate(shell, plain_envs.w)
        use, off = "cudaswitch use 10.1", "cudaswitch off"
        result = person.play(shell, use, into, own, use, "deactivate", off).check()
        assert bare(result.snaps["6"]) == bare(result.snaps["0"])


@every_shell
def test_a_host_compiler_beside_flags_of_ones_own(shell: Shell, tmp_path: Path) -> None:
    """The long way, which own flags need, also clears the PATH that the virtualenv saves."""
    (tmp_path / "compilers").mkdir()
    refused = make_person(tmp_path / "person", compilers=tmp_path / "compilers")
    (refused.kits[1].home / "lib64").symlink_to("targets/x86_64-linux/lib")
    with_venv(tmp_path / "env")
    refused.pin("11.8", tmp_path / "env")
    steps = [activate(shell, tmp_path / "env"), "deactivate"]
    result = refused.play(shell, *steps, NVCC_PREPEND_FLAGS="-O2").check()
    assert result.snaps["1"]["CUDA_HOME"] == str(refused.kits[1].home)
    assert_as_before(result, 2)


@every_shell
def test_a_child_shell_does_not_know_what_a_virtualenv_keeps(shell: Shell, person: Person) -> None:
    """The person's own copy stays in a child shell that rebuilt PATH, with no saved one known."""
    path = person.home.env["PATH"]
    kept = {"VIRTUAL_ENV": "/v", "_OLD_VIRTUAL_PATH": path}
    own = f"{person.kits[0].bin}:{path}"
    anew = f"{shell.unset('_OLD_VIRTUAL_PATH')}\n{shell.set('PATH', own)}"
    steps = [person.use(shell, "10.1"), anew, person.use(shell, "system")]
    result = person.play(shell, *steps, PATH=own, **kept)
    assert result.check().snaps["3"]["PATH"] == own

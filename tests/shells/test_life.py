"""Pinned environments that are packed, upgraded, stacked, unpinned or copied afterwards."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from shells.conda import CONDAS, Conda, Emulator, conda_prefix, write_hook
from shells.driver import BASH, FISH, NU, POSIX_SHELLS, SHELLS, TCSH, XONSH, ZSH, Shell, run_shell
from shells.kits import STATE, Person, foreign
from shells.pinned import Session
from shells.venvs import activate, assert_as_before, assert_on, scripts, with_uv, with_venv
from tools import console_script

every = pytest.mark.parametrize("shell", SHELLS, ids=str)


def bare(person: Person) -> Person:
    return Person(person.home, person.kits, {})


def files_of(prefix: Path) -> set[str]:
    return {str(path.relative_to(prefix)) for path in prefix.rglob("*") if not path.is_dir()}


@pytest.fixture(scope="module")
def unpacked(person: Person, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pinned environment that conda-pack packed, unpacked elsewhere; the original is gone."""
    folder = tmp_path_factory.mktemp("packed")
    prefix = conda_prefix(folder / "original")
    (prefix / "bin" / "tool").write_text("#!/bin/sh\n")
    person.pin("10.1", prefix)
    archive = folder / "env.tar"
    program = Path(sys.executable).with_name("conda-pack")
    command = [program, "-q", "-p", prefix, "-o", archive, "--format", "tar"]
    subprocess.run(command, check=True, capture_output=True, env=person.home.env)
    shutil.rmtree(prefix)
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    subprocess.run(["tar", "-xf", archive, "-C", elsewhere], check=True)
    return elsewhere


@pytest.mark.parametrize("shell", (BASH, ZSH), ids=str)
def test_packed_and_unpacked_elsewhere(shell: Shell, person: Person, unpacked: Path) -> None:
    """conda-pack's `activate` runs our hook; its `deactivate` does so before it repairs PATH."""
    enter, leave = (shell.source(unpacked / "bin" / f"{way}activate") for way in ("", "de"))
    result = bare(person).play(shell, enter, leave, enter, leave).check()
    for number in ("1", "3"):
        now = result.snaps[number]
        assert now["CUDA_HOME"] == str(person.kits[0].home)
        assert now["PATH"].split(":")[0] == person.kits[0].bin
        assert now["PATH"].split(":").count(person.kits[0].bin) == 1
    for number in ("2", "4"):
        now = result.snaps[number]
        assert not [name for name in now if name.startswith((STATE, "CUDA_", "LD_"))]
        assert person.kits[0].bin not in now["PATH"].split(":")


def by_hand(shell: Shell, prefix: Path) -> str:
    """Return commands that enter a conda environment by its variable and PATH alone."""
    folder = shell.prepend("PATH", str(prefix / "bin"))
    return f"{shell.set('CONDA_PREFIX', str(prefix))}\n{folder}"


@every
@pytest.mark.parametrize("level", [None, "0"])
def test_what_counts_no_levels_brings_no_path_back(
    shell: Shell, level: str | None, person: Person, tmp_path: Path
) -> None:
    """Hooks that run without conda's levels leave no note for a PATH that conda would export."""
    prefix = conda_prefix(tmp_path / "c")
    person.pin("10.1", prefix)
    enter, leave = (
        shell.source(prefix / "etc" / "conda" / half / f"~~cudaswitch.{shell.suffix}")
        for half in ("activate.d", "deactivate.d")
    )
    steps = (f"{by_hand(shell, prefix)}\n{enter}", leave)
    result = bare(person).play(shell, *steps, CONDA_SHLVL=level).check()
    assert result.snaps["1"]["CUDA_HOME"] == str(person.kits[0].home)
    after = result.snaps["2"]
    assert not [name for name in after if name.startswith(STATE)]
    assert after["PATH"] == f"{prefix}/bin:{result.snaps['0']['PATH']}"


@every
@pytest.mark.parametrize("level", ["", "two", "-1", "x[$(touch PROOF)]", "2 -o 1", "99999"])
def test_a_level_that_is_none(shell: Shell, level: str, person: Person, tmp_path: Path) -> None:
    """An odd CONDA_SHLVL is harmless, though some shells evaluate what they compare as numbers."""
    prefix = conda_prefix(tmp_path / "a")
    person.pin("10.1", prefix)
    enter, leave = (
        shell.source(prefix / "etc" / "conda" / half / f"~~cudaswitch.{shell.suffix}")
        for half in ("activate.d", "deactivate.d")
    )
    steps = f"{by_hand(shell, prefix)}\n{enter}", leave
    kept = {"CONDA_STACKED_2": "true", "__CONDA_SHLVL_1_CUDA_HOME": str(person.kits[0].home)}
    for more in ({}, kept):
        result = bare(person).play(shell, *steps, CONDA_SHLVL=level, **more).check()
        assert result.snaps["1"]["CUDA_HOME"] == str(person.kits[0].home)
        assert "CUDA_HOME" not in result.snaps["2"]
    assert not (person.home.path / "PROOF").exists()


@every
@pytest.mark.parametrize("whose", [bare, lambda person: person], ids=["hooks", "integration"])
def test_a_path_that_another_shell_computed(
    shell: Shell, whose: Callable[[Person], Person], person: Person, tmp_path: Path
) -> None:
    """A PATH computed by another shell, as with `conda spawn --replace`, loses the old toolkit."""
    one, two = (conda_prefix(tmp_path / name) for name in ("one", "two"))
    person.pin("10.1", one)
    person.pin("11.8", two)
    login = person.home.env["PATH"]

    def hook(prefix: Path, half: str) -> str:
        return shell.source(prefix / "etc" / "conda" / half / f"~~cudaswitch.{shell.suffix}")

    def levels(prefix: Path, level: str) -> list[str]:
        return [shell.set("CONDA_PREFIX", str(prefix)), shell.set("CONDA_SHLVL", level)]

    someone = whose(person)
    steps = (
        [by_hand(shell, one), *levels(one, "1"), hook(one, "activate.d")],
        [shell.set("PATH", login), shell.prompt if shell.name in someone.init else ""],
        [
            hook(one, "deactivate.d"),
            shell.set("PATH", f"/tools:{person.kits[0].bin}:{two}/bin:{login}"),
            *levels(two, "2"),
            hook(two, "activate.d"),
        ],
    )
    result = someone.play(shell, *map("\n".join, steps)).check()
    assert result.snaps["1"]["CUDA_HOME"] == str(person.kits[0].home)
    assert result.snaps["3"]["CUDA_HOME"] == str(person.kits[1].home)
    assert result.snaps["3"]["PATH"] == f"{person.kits[1].bin}:/tools:{two}/bin:{login}"


@pytest.mark.parametrize("shell", (BASH, ZSH, FISH, TCSH, XONSH, NU), ids=str)
def test_a_folder_on_path_is_no_environment_where_conda_has_none(
    shell: Shell, person: Person, tmp_path: Path
) -> None:
    """Without CONDA_PREFIX nothing is stacked, even if a virtualenv restored a folder on PATH."""
    prefix = conda_prefix(tmp_path / "c")
    person.pin("11.8", prefix)
    steps = (by_hand(shell, prefix), shell.unset("CONDA_PREFIX"))
    result = person.play(shell, *(f"{step}\n{shell.prompt}" for step in steps)).check()
    assert result.snaps["1"]["CUDA_HOME"] == str(person.kits[1].home)
    assert "CUDA_HOME" not in result.snaps["2"]
    assert result.snaps["2"]["PATH"] == f"{prefix}/bin:{result.snaps['0']['PATH']}"


@pytest.mark.parametrize("shell", (BASH, ZSH, FISH, TCSH, XONSH, NU), ids=str)
def test_a_folder_on_path_is_no_environment_at_the_first_level(
    shell: Shell, person: Person, tmp_path: Path
) -> None:
    """At level 1 nothing is stacked, as in a child where conda counts anew, as it does in tcsh."""
    below, above = (conda_prefix(tmp_path / name) for name in "ab")
    person.pin("11.8", below)
    steps = (by_hand(shell, prefix) for prefix in (below, above))
    steps = (f"{step}\n{shell.prompt}" for step in steps)
    result = person.play(shell, *steps, CONDA_SHLVL="1").check()
    assert result.snaps["1"]["CUDA_HOME"] == str(person.kits[1].home)
    assert "CUDA_HOME" not in result.snaps["2"]
    assert result.snaps["2"]["PATH"].startswith(f"{above}/bin:{below}/bin:")


@every
@pytest.mark.parametrize("way", ["--upgrade", "again"])
def test_a_virtualenv_that_is_upgraded(
    shell: Shell, way: str, person: Person, tmp_path: Path
) -> None:
    """`venv --upgrade` keeps the hook; making the virtualenv again loses it until a new pin."""
    with_venv(tmp_path / "v")
    person.pin("10.1", tmp_path / "v")
    pinned = scripts(tmp_path / "v")
    options = ["--upgrade"] if way == "--upgrade" else []
    command = [sys.executable, "-m", "venv", "--without-pip", *options, str(tmp_path / "v")]
    subprocess.run(command, check=True)
    if way == "again":
        assert scripts(tmp_path / "v") != pinned
        person.pin("10.1", tmp_path / "v")
    assert scripts(tmp_path / "v") == pinned
    steps = [activate(shell, tmp_path / "v"), "deactivate"]
    result = bare(person).play(shell, *steps).check()
    assert_on(result, 1, tmp_path / "v", person.kits[0])
    assert_as_before(result, 2)


def test_workon(person: Person, tmp_path: Path) -> None:
    """`workon` works: virtualenvwrapper renames `deactivate`, with our line in it, and wraps it."""
    for name, request in (("one", "10.1"), ("two", "11.8")):
        with_uv(tmp_path / name)
        person.pin(request, tmp_path / name)
    script = Path(sys.executable).with_name("virtualenvwrapper.sh")
    env = {"WORKON_HOME": str(tmp_path), "VIRTUALENVWRAPPER_PYTHON": sys.executable}
    start = f". {BASH.quote(str(script))} >/dev/null 2>&1"
    steps = [start, "workon one", "workon two", "deactivate"]
    result = bare(person).play(BASH, *steps, **env).check()
    one, two, _ = (str(kit.home) for kit in person.kits)
    homes = [result.snaps[str(number)].get("CUDA_HOME") for number in range(1, 5)]
    assert homes == [None, one, two, None]
    last = result.snaps["4"]
    assert last["PATH"] == result.snaps["1"]["PATH"]
    assert [name for name in last if name.startswith((STATE, "LD_"))] == []


# What the compiler packages of conda-forge do, in other words: one adds flags for the host
# compiler and drops them, the older one saves CUDA_HOME, sets its own and gives it back.
NVCC = (
    'export NVCC_PREPEND_FLAGS="${NVCC_PREPEND_FLAGS-} -ccbin=cxx" CFLAGS="${CFLAGS-} -Ix"',
    'export NVCC_PREPEND_FLAGS="${NVCC_PREPEND_FLAGS% -ccbin=cxx}" CFLAGS="${CFLAGS% -Ix}"',
)
OLD_NVCC = (
    'export CUDA_HOME_KEPT="${CUDA_HOME-}" CFLAGS_KEPT="${CFLAGS-}"\n'
    'export CUDA_HOME=/theirs CFLAGS="${CFLAGS-} -I/theirs/include"',
    'export CUDA_HOME="$CUDA_HOME_KEPT" CFLAGS="$CFLAGS_KEPT"\n'
    'if [ -z "$CUDA_HOME" ]; then unset CUDA_HOME; fi\n'
    "unset CUDA_HOME_KEPT CFLAGS_KEPT",
)
PACKAGES = {
    "before ours": ("~cuda-nvcc_activate", "~cuda-nvcc_deactivate"),
    "behind ours": ("~~~nvcc_activate", "~~~nvcc_deactivate"),
}


@pytest.mark.parametrize("shell", POSIX_SHELLS, ids=str)
@pytest.mark.parametrize("order", PACKAGES)
@pytest.mark.parametrize("package", [NVCC, OLD_NVCC], ids=["flags", "CUDA_HOME"])
def test_scripts_of_compiler_packages(
    shell: Shell, order: str, package: tuple[str, str], person: Person, tmp_path: Path
) -> None:
    prefix = conda_prefix(tmp_path / "a")
    conda_prefix(tmp_path / "b")
    for kind, name, text in zip(("activate", "deactivate"), PACKAGES[order], package, strict=True):
        write_hook(prefix, kind, f"{name}.sh", text + "\n")
    person.pin("10.1", prefix)
    session = Session(person, tmp_path, shell, Emulator())
    own = {"CFLAGS": "-O2", "NVCC_PREPEND_FLAGS": "-own"}
    result = session.play(*session.steps("a again b a out out out"), **own).check()
    theirs = package is OLD_NVCC and order == "behind ours"
    for number in ("2", "3", "5", "7"):
        assert result.snaps[number]["CUDA_HOME"] == (
            "/theirs" if theirs else str(person.kits[0].home)
        )
    last = result.snaps["8"]
    assert foreign(last) == last
    for name in ("CUDA_HOME", "CUDA_PATH", "PATH", "LD_LIBRARY_PATH", *own):
        assert last.get(name) == result.snaps["1"].get(name), name


FIRST_ON_ITS_LIST = (
    'export LD_LIBRARY_PATH="$CONDA_PREFIX/own${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"\n',
    'LD_LIBRARY_PATH=${LD_LIBRARY_PATH#"$CONDA_PREFIX/own"} LD_LIBRARY_PATH=${LD_LIBRARY_PATH#:}\n'
    'if [ -z "$LD_LIBRARY_PATH" ]; then unset LD_LIBRARY_PATH; fi\n',
)
"""A package that removes its folder only from the head of the list, where it put it."""


@pytest.mark.parametrize("conda", CONDAS, ids=str)
@pytest.mark.parametrize("shell", POSIX_SHELLS, ids=str)
@pytest.mark.parametrize("brings", "ab")
def test_what_is_taken_up_again_follows_the_active_environment(
    shell: Shell, conda: Conda, person: Person, tmp_path: Path, brings: str
) -> None:
    """A pin below gives no libraries if the active or the pinned environment brings CUDA."""
    for name, request in (("a", "10.1"), ("b", None), ("c", "11.8")):
        prefix = conda_prefix(tmp_path / name)
        if name == brings:
            (prefix / "conda-meta" / "cudatoolkit-10.1.243-h6bb024c_0.json").write_text("{}")
        if request:
            person.pin(request, prefix)
    session = Session(person, tmp_path, shell, conda)
    result = session.play(*session.steps("a +b +c out"), LD_LIBRARY_PATH=None).check()
    in_a, in_b = result.snaps["2"], result.snaps["5"]
    assert (in_a["CUDA_HOME"], in_b["CUDA_HOME"]) == (str(person.kits[0].home),) * 2
    ours = ":".join(person.kits[0].lib)
    assert in_a.get("LD_LIBRARY_PATH") == (None if brings == "a" else ours)
    assert "LD_LIBRARY_PATH" not in in_b


@pytest.mark.parametrize("conda", CONDAS, ids=str)
@pytest.mark.parametrize("shell", (*POSIX_SHELLS, FISH), ids=str)
def test_what_lies_below_and_is_off_path_is_not_taken_up(
    shell: Shell, conda: Conda, person: Person, tmp_path: Path
) -> None:
    """An environment taken off PATH below is not applied again, though it was entered above too."""
    for name, request in (("a", "10.1"), ("b", None), ("c", "system")):
        prefix = conda_prefix(tmp_path / name)
        if request:
            person.pin(request, prefix)
    session = Session(person, tmp_path, shell, conda)
    again = shell.set("PATH", conda.base_path)
    steps = [*session.steps("a"), again, *session.steps("+c a b")]
    result = session.play(*steps, LD_LIBRARY_PATH=None).check()
    in_c, in_a, in_b = (result.snaps[number].get("CUDA_HOME") for number in "456")
    assert (in_c, in_a, in_b) == (None, str(person.kits[0].home), None)
    assert result.snaps["6"]["PATH"] == f"{tmp_path}/b/bin:{conda.base_path}"


@pytest.mark.parametrize("conda", CONDAS, ids=str)
@pytest.mark.parametrize("shell", POSIX_SHELLS, ids=str)
@pytest.mark.parametrize("way", ["b out", "b a out out"], ids=["back", "over another"])
def test_what_is_taken_up_again_comes_after_the_scripts_of_what_is_left(
    shell: Shell, conda: Conda, way: str, person: Person, tmp_path: Path
) -> None:
    """A pin below is applied again only after all scripts of the environment that is left."""
    for name, request in (("a", "10.1"), ("b", "11.8")):
        person.pin(request, conda_prefix(tmp_path / name))
    for half, text in zip(("activate", "deactivate"), FIRST_ON_ITS_LIST, strict=True):
        write_hook(tmp_path / "b", half, "own.sh", text)
    session = Session(person, tmp_path, shell, conda)
    steps = session.steps(f"a +{way} out")
    result = session.play(*steps, LD_LIBRARY_PATH=None).check()
    assert result.snaps["3"]["LD_LIBRARY_PATH"].split(":")[-1] == f"{tmp_path}/b/own"
    below, left = (result.snaps[str(len(steps) + more)] for more in (0, 1))
    assert below["LD_LIBRARY_PATH"] == ":".join(person.kits[0].lib)
    assert "LD_LIBRARY_PATH" not in left


SHARED = ("core", "below", "copies", "first", "flags", "own", "take", "version")
"""The files that hooks share, without their suffixes."""


class TestUnpinned:
    def test_what_is_left_of_a_conda_environment(self, person: Person, tmp_path: Path) -> None:
        """`unpin` leaves the deactivate hook and what it needs, and nothing else."""
        prefix = conda_prefix(tmp_path / "c")
        before = files_of(prefix)
        person.pin("10.1", prefix)
        done = person.home.run("unpin", "-p", str(prefix))
        assert done.returncode == 0, done.stderr
        left = files_of(prefix) - before
        assert {Path(name).stem for name in left} == {"~~cudaswitch", *SHARED}
        assert {str(Path(name).parent) for name in left} == {
            "etc/conda/deactivate.d",
            "etc/cudaswitch",
        }

    def test_what_is_left_of_a_virtualenv(self, person: Person, tmp_path: Path) -> None:
        with_venv(tmp_path / "v")
        before, original = files_of(tmp_path / "v"), scripts(tmp_path / "v")
        person.pin("10.1", tmp_path / "v")
        assert person.home.run("unpin", "-p", str(tmp_path / "v")).returncode == 0
        left = files_of(tmp_path / "v") - before
        assert {Path(name).stem for name in left} == {"off", *SHARED}
        assert {str(Path(name).parent) for name in left} == {"etc/cudaswitch"}
        assert scripts(tmp_path / "v") == original

    @every
    def test_what_is_left_does_nothing(self, shell: Shell, person: Person, tmp_path: Path) -> None:
        conda = Emulator()
        prefix = conda_prefix(tmp_path / "a")
        conda_prefix(tmp_path / "b")
        person.pin("10.1", prefix)
        assert person.home.run("unpin", "-p", str(prefix)).returncode == 0
        session = Session(person, tmp_path, shell, conda)
        result = session.play(*session.steps("a again b a out out")).check()
        for number in range(1, 8):
            now = result.snaps[str(number)]
            assert foreign(now) == now
            assert "CUDA_HOME" not in now

    @pytest.mark.parametrize("shell", (BASH, ZSH, FISH), ids=str)
    def test_while_another_shell_is_active_there(
        self, shell: Shell, person: Person, tmp_path: Path
    ) -> None:
        """Another terminal unpins; this one, with integration, goes on and leaves cleanly."""
        conda = CONDAS[0]
        prefix = conda_prefix(tmp_path / "a")
        conda_prefix(tmp_path / "b")
        person.pin("10.1", prefix)
        unpin = f"{console_script()} unpin -p {shell.quote(str(prefix))} 2>/dev/null"
        session = Session(person, tmp_path, shell, conda)
        steps = [f"{step}\n{shell.prompt}" for step in session.steps("a b out out")]
        steps.insert(1, f"{unpin}\n{shell.prompt}")
        result = session.play(*steps, load=True).check()
        assert result.snaps["2"]["CUDA_HOME"] == str(person.kits[0].home)
        for number in ("4", "5", "6"):
            now = result.snaps[number]
            assert "CUDA_HOME" not in now, number
            assert person.kits[0].bin not in now["PATH"].split(":")
        assert result.snaps["6"]["PATH"] == conda.base_path


@every
def test_of_another_machine_without_the_toolkit(
    shell: Shell, person: Person, tmp_path: Path
) -> None:
    """An environment copied to a machine without its toolkit silently changes nothing."""
    prefix = conda_prefix(tmp_path / "a")
    person.pin("10.1", prefix)
    for path in prefix.rglob("*cudaswitch.*"):
        text = path.read_text()
        path.write_text(text.replace("cuda-10.1", "cuda-10.9"))
    conda = Emulator()
    script = [conda.init(shell), "snap before", conda.activate(shell, prefix), "snap in"]
    script += [conda.deactivate(), "snap after"]
    env = person.home.env | {"PATH": conda.base_path}
    result = run_shell(shell, "\n".join(script), env).check()
    assert "CUDA_HOME" not in result.snaps["in"]
    assert result.snaps["in"]["PATH"] == f"{prefix}/bin:{conda.base_path}"
    assert foreign(result.snaps["after"]) == result.snaps["after"]

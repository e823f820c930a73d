"""mamba and micromamba: nearly conda's order of events, with functions of other names.

`eval "$(micromamba shell hook ...)"`, as in scripts, sets no variable that tells of micromamba.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from made_environments import Env
from shells.conda import CONDAS, EMULATOR, Conda, Emulator, conda_prefix
from shells.driver import BASH, DASH, FISH, ZSH, Environment, Shell
from shells.kits import Person, foreign, switched
from shells.pinned import Session, pinned_environments
from shells.terminal import Open


@dataclass(frozen=True)
class Mamba(Emulator):
    """The emulator, with mamba's function in place of conda's own."""

    name: str = "mamba"

    def init(self, shell: Shell) -> str:
        text = EMULATOR.with_suffix(f".{shell.suffix}").read_text()
        text = text.replace("__conda_hashr", "__mamba_hashr")
        own = {"EMULATED": "mamba"} | ({"MAMBA_SHLVL": "0"} if shell is FISH else {})
        sets = [shell.set(*pair) for pair in own.items()]
        return "\n".join([self.variables(shell), *sets, text])


@dataclass(frozen=True)
class RealMamba(Mamba):
    """The micromamba on PATH."""

    name: str = "real"
    # An activation adds this first folder if it is missing.
    base_path: str = f"/nowhere/condabin:{Mamba.base_path}"

    def init(self, shell: Shell) -> str:
        kind = {BASH: "bash", ZSH: "zsh", FISH: "fish"}.get(shell, "posix")
        root = shell.set("MAMBA_ROOT_PREFIX", "/nowhere")
        hook = f"{shutil.which('micromamba')} shell hook -s {kind}"
        return f"{root}\n" + (f"{hook} | source" if shell is FISH else f'eval "$({hook})"')

    def activate(self, shell: Shell, prefix: Path, *, stack: bool = False) -> str:
        words = super().activate(shell, prefix, stack=stack).replace("conda", "micromamba", 1)
        # micromamba warns about variables that it replaces.
        return f"{words} 2>/dev/null"

    def deactivate(self) -> str:
        return "micromamba deactivate"


MAMBAS = [Mamba(), *([RealMamba()] if shutil.which("micromamba") else [])]


@dataclass(frozen=True)
class Both(Mamba):
    """A shell that has conda too, whose function is defined but never called."""

    name: str = "both"
    says_so: str = "export MAMBA_ROOT_PREFIX=/mamba"

    def init(self, shell: Shell) -> str:
        return f"{super().init(shell)}\n__conda_hashr() {{ :; }}\n{self.says_so}"


LEFT = [(conda, loaded) for conda in (*MAMBAS, Both()) for loaded in (True, False)]
LEFT.append((Both(name="both untold", says_so=""), False))
"""No `both untold` with the integration, where only the prompt repairs PATH."""


@pytest.mark.parametrize(
    ("conda", "loaded"),
    LEFT,
    ids=[f"{conda}-{'loaded' * loaded or 'alone'}" for conda, loaded in LEFT],
)
@pytest.mark.parametrize("shell", [BASH, ZSH, DASH], ids=str)
def test_nothing_stays_on_path(
    shell: Shell, conda: Mamba, person: Person, pinned_folder: Path, loaded: bool
) -> None:
    """No toolkit stays on PATH, computed before the deactivate hook, but exported after it."""
    session = Session(person, pinned_folder, shell, conda)
    result = session.play(*session.steps("b a b c b out out"), load=loaded).check()
    plain = foreign(result.snaps["2"])
    for number, kit in (("4", None), ("5", person.kits[1]), ("6", None)):
        seen = {name: result.snaps[number].get(name) for name in ("PATH", "LD_LIBRARY_PATH")}
        prefix = result.snaps[number]["CONDA_PREFIX"]
        path = plain["PATH"].replace(plain["CONDA_PREFIX"], prefix)
        bare = plain | {"PATH": path}
        must = switched(bare, kit) if kit else bare
        assert seen == {name: must.get(name) for name in seen}, number


OWN = {"CUDA_HOME": "/vars", "LD_LIBRARY_PATH": "/vars/lib"}


@pytest.fixture
def varied(person: Person, tmp_path: Path) -> Path:
    """Return a folder with pinned environments, and with `d`, which has variables of its own."""
    pinned_environments(person, tmp_path)
    state = conda_prefix(tmp_path / "d") / "conda-meta" / "state"
    state.write_text(json.dumps({"env_vars": OWN}))
    return tmp_path


def assert_nothing_stays(snaps: Mapping[str, Environment]) -> None:
    """Check the steps `a d out out`: only `d`'s values inside, and nothing after."""
    inside = {name: snaps["3"].get(name) for name in (*OWN, "CUDACXX")}
    assert inside == {**OWN, "CUDACXX": None}
    left = {name: snaps["5"].get(name) or "" for name in ("PATH", *OWN)}
    assert left == {"PATH": snaps["1"]["PATH"], "CUDA_HOME": "", "LD_LIBRARY_PATH": ""}


@pytest.mark.parametrize("loaded", [True, False], ids=["loaded", "alone"])
@pytest.mark.parametrize("conda", MAMBAS, ids=str)
@pytest.mark.parametrize("shell", [BASH, ZSH, DASH, FISH], ids=str)
def test_what_it_keeps_of_ours(
    shell: Shell, conda: Mamba, person: Person, varied: Path, loaded: bool
) -> None:
    """mamba by itself saves and restores what an environment's variables replace, ours too."""
    session = Session(person, varied, shell, conda)
    steps = session.steps("a d out out")
    snaps = session.play(*steps, load=loaded).check().snaps
    assert_nothing_stays(snaps)
    again = {name: snaps["4"].get(name) for name in OWN}
    assert again == {name: snaps["2"].get(name) for name in OWN}


@pytest.mark.parametrize("loaded", [True, False], ids=["loaded", "alone"])
@pytest.mark.parametrize("conda", CONDAS, ids=str)
@pytest.mark.parametrize("shell", [BASH, ZSH, FISH], ids=str)
def test_conda_beside_it_keeps_nothing_of_ours(
    shell: Shell, conda: Conda, person: Person, varied: Path, loaded: bool
) -> None:
    """conda keeps nothing of ours, even with MAMBA_SHLVL, which mamba's fish hook exports."""
    session = Session(person, varied, shell, conda)
    steps = map(shell.hush, session.steps("a d out out"))
    # conda warns about variables that it overwrites.
    assert_nothing_stays(session.play(*steps, load=loaded, MAMBA_SHLVL="0").snaps)


@pytest.mark.parametrize("conda", [Emulator(), *MAMBAS], ids=str)
@pytest.mark.parametrize("shell", [BASH, ZSH], ids=str)
def test_an_environment_without_a_pin_has_its_toolkit_on_the_line_that_enters_it(
    shell: Shell, conda: Emulator, person: Person, tmp_path: Path
) -> None:
    """An unpinned environment, even a shell's first, has its toolkit before any prompt comes."""
    Env(conda_prefix(tmp_path / "b")).dist("cupy-cuda101", "7.8.0")
    [enter] = Session(person, tmp_path, shell, conda).steps("b")
    start = [conda.init(shell), shell.set("PATH", conda.base_path), person.load(shell)]
    bare = Person(person.home, person.kits, {})
    result = bare.play(shell, "\n".join((*start, shell.prompt)), enter).check()
    assert result.snaps["2"].get("CUDA_HOME") == str(person.kits[0].home)


@pytest.mark.parametrize("behind", ["", "cudaswitch off"], ids=["lazy", "parsed"])
@pytest.mark.parametrize("conda", [*CONDAS, *MAMBAS], ids=str)
@pytest.mark.parametrize("shell", [BASH, ZSH], ids=str)
def test_so_it_has_where_conda_s_lines_stand_behind_ours(
    shell: Shell, conda: Conda, behind: str, person: Person, tmp_path: Path, at_prompt: Open
) -> None:
    """An unpinned environment has its toolkit at once though conda is loaded after us, as usual."""
    Env(conda_prefix(tmp_path / "b")).dist("cupy-cuda101", "7.8.0")
    lines = (person.load(shell), behind, conda.init(shell), "return")
    enter = conda.activate(shell, tmp_path / "b")
    said = at_prompt(shell, "\n".join(lines)).say(f'{enter}; echo "is:$CUDA_HOME"')
    assert f"is:{person.kits[0].home}" in said

"""What many people's startup files hold, and what must not come between us and them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from shells.conda import conda_prefix
from shells.driver import BASH, FISH, TCSH, ZSH, Shell, run_shell
from shells.kits import Person
from shells.quick_conda import QuickConda
from shells.test_virtualenv import activate, with_venv

CAPITALS = "; ".join(f"alias -g {letter}='| cat'" for letter in map(chr, range(65, 91)))
"""zsh lets such a word stand anywhere in a command, and they are in many lists of tricks."""


@pytest.mark.parametrize("habit", [CAPITALS, "setopt csh_junkie_quotes"], ids=["capitals", "csh"])
@pytest.mark.parametrize("loaded", [True, False], ids=["loaded", "hooks alone"])
def test_how_zsh_reads_words(person: Person, tmp_path: Path, habit: str, loaded: bool) -> None:
    conda, venv = QuickConda(), tmp_path / "v"
    with_venv(venv)
    for prefix, request in ((venv, "10.1"), (conda_prefix(tmp_path / "c"), "11.8")):
        person.pin(request, prefix)
    # The emulated conda is parsed before: it is not what is asked of here.
    steps = [conda.init(ZSH), habit, activate(ZSH, venv), "deactivate"]
    steps += [conda.activate(ZSH, tmp_path / "c"), conda.deactivate()]
    who = person if loaded else Person(person.home, person.kits, {})
    result = who.play(ZSH, *steps).check()
    on = {str(kit.home): str(number) for number, kit in enumerate(person.kits)}
    homes = [on.get(result.snaps[str(n)].get("CUDA_HOME", ""), "-") for n in range(1, 7)]
    assert "".join(homes) == "--0-1-"


@pytest.mark.parametrize("shell", (BASH, ZSH, FISH), ids=str)
@pytest.mark.parametrize("way", ["ready file", "eval"])
@pytest.mark.parametrize("words", ["{program}", "command cudaswitch", "cudaswitch"])
def test_an_alias_for_the_command(shell: Shell, person: Person, way: str, words: str) -> None:
    """Of a person whose cudaswitch is in a virtualenv of its own, for example."""
    program = shutil.which("cudaswitch", path=person.home.env["PATH"])
    meant = shell.quote(words.format(program=program))
    before = [f"alias cudaswitch={meant}"]
    if shell is BASH:
        before.insert(0, "shopt -s expand_aliases")
    texts = {BASH: 'eval "$({})"', ZSH: 'eval "$({})"', FISH: "{} | source"}
    load = texts[shell].format(f"command cudaswitch init {shell.name}")
    load = load if way == "eval" else person.load(shell)
    nobody = Person(person.home, person.kits, {})
    steps = [*before, load, "cudaswitch use 11.8", "cudaswitch off"]
    result = nobody.play(shell, *steps).check()
    homes = [result.snaps[str(len(before) + n)].get("CUDA_HOME") for n in (2, 3)]
    assert homes == [str(person.kits[1].home), None]


@pytest.mark.parametrize("shell", (BASH, ZSH), ids=str)
@pytest.mark.parametrize("command", ["use 9.9", "exec -- false", "pin 9.9", "off 9", "nonsense"])
@pytest.mark.parametrize("parsed", [True, False], ids=["parsed", "to be parsed"])
def test_a_script_that_ends_where_something_fails(
    shell: Shell, person: Person, command: str, parsed: bool
) -> None:
    first = "cudaswitch use 11.8" if parsed else ""
    result = person.play(shell, f"set -e; {first}", f"cudaswitch {command}; echo went on")
    assert result.rc != 0
    assert "went on" not in result.stdout


@pytest.mark.parametrize("characters", ["", "@^"], ids=["none", "others"])
def test_characters_of_history_in_tcsh(person: Person, tmp_path: Path, characters: str) -> None:
    """With others than `!`, or none, no alias is given its words by that."""
    (tmp_path / ".cuda-version").write_text("10.1\n")
    steps = [person.load(TCSH), f"set histchars = '{characters}'", "cudaswitch use 11.8"]
    steps += ["printenv CUDA_HOME", "cudaswitch off", f"cd {TCSH.quote(str(tmp_path))}", "precmd"]
    steps += ["printenv CUDA_HOME", "cd /", "printenv CUDA_HOME"]
    result = run_shell(TCSH, "\n".join(steps), person.home.env | {"CUDASWITCH_QUIET": "1"})
    homes = [str(person.kits[number].home) for number in (1, 0)]
    assert (result.stdout.splitlines(), result.stderr) == (homes, "")

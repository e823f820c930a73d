"""In a shell where nothing asks for a toolkit, most of the integration is not even parsed."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from cudaswitch import shells
from shells.conda import conda_prefix
from shells.driver import BASH, FISH, ZSH, Shell
from shells.kits import Person
from shells.terminal import Open, Terminal, home_of
from tools import require

every_shell = pytest.mark.parametrize("shell", (BASH, ZSH, FISH), ids=str)
WORDS = "builtin emulate eval export local printf read return set shift source test typeset unset"
ALIASES = "; ".join(f"alias {word}=false" for word in WORDS.split())
PARSING = {
    BASH: (
        "set -o posix",
        "shopt -s extglob failglob nullglob dotglob",
        "set -o noclobber",
        f"{ALIASES}; alias case=false",
    ),
    ZSH: (
        "setopt ignore_braces ignore_close_braces rc_quotes csh_junkie_quotes csh_junkie_loops",
        "setopt ksh_glob extended_glob sh_word_split ksh_arrays glob_subst no_short_loops",
        "setopt no_aliases",
        "setopt posix_builtins posix_identifiers no_multi_func_def warn_create_global",
        f"{ALIASES}; alias -g local=false case=false",
    ),
}
"""Options and aliases set after our line that change how a shell parses text."""


PLACEHOLDERS = {f"__cudaswitch_{name}" for name in ("attend", "edited", "enter", "leave", "look")}
"""Functions that a new shell has in a form that loads the integration."""


@pytest.mark.parametrize("shell", (BASH, ZSH, FISH), ids=str)
def test_no_function_takes_the_place_of_another(shell: Shell) -> None:
    """A shell's texts define no function twice: they are joined, and the later one would win."""
    kinds = (".fish",) if shell is FISH else (".sh", f".{shell.name}")
    folder = Path(shells.__file__).parent
    texts = [path.read_text() for path in folder.iterdir() if path.suffix in kinds]
    made = r"^(?:function (__\w+)|(__\w+)\(\) [{(])"
    found = Counter(one[1] or one[2] for text in texts for one in re.finditer(made, text, re.M))
    assert len(found) > 40
    assert {name for name, count in found.items() if count > 1} <= PLACEHOLDERS


def is_parsed(terminal: Terminal) -> bool:
    ask = "functions -q" if terminal.shell is FISH else "command -v"
    terminal.say(f"{ask} __cudaswitch_choose")
    return terminal.child.match.group(1) == "0"


@pytest.fixture(params=("ready file", "printed"))
def person(request: pytest.FixtureRequest, person: Person, tmp_path: Path) -> Person:
    """Somebody whose shells load the ready file, or what `init` prints."""
    if request.param == "ready file":
        return person
    printed = {}
    for shell in ("bash", "zsh", "fish"):
        printed[shell] = tmp_path / f"init.{shell}"
        printed[shell].write_text(person.home.run("init", shell).stdout)
    return replace(person, init=printed)


@every_shell
def test_nothing_more_is_parsed_until_something_asks(
    shell: Shell, person: Person, tree: Path, at_prompt: Open
) -> None:
    terminal = at_prompt(shell)
    assert not is_parsed(terminal)
    terminal.say(f"cd {shell.quote(str(tree.parent))}")
    assert not is_parsed(terminal)
    terminal.say(f"cd {shell.quote(str(tree))}")
    assert home_of(terminal) == str(person.kits[0].home)
    assert is_parsed(terminal)


@every_shell
def test_hooks_take_what_is_there(shell: Shell, person: Person, tmp_path: Path) -> None:
    """Hooks use the loaded core: the environment's copy takes time, and may be another version."""
    prefix = conda_prefix(tmp_path / "env")
    person.pin("10.1", prefix)
    core = prefix / "etc" / "cudaswitch" / f"core.{shell.suffix}"
    core.write_text("echo read\n")
    hook = prefix / "etc" / "conda" / "activate.d" / f"~~cudaswitch.{shell.suffix}"
    steps = f"{shell.set('CONDA_PREFIX', str(prefix))}\n{shell.source(hook)}"
    result = person.play(shell, steps).check()
    assert result.stdout == ""
    assert result.snaps["1"]["CUDA_HOME"] == str(person.kits[0].home)


@every_shell
def test_a_file_that_appears_is_seen(
    shell: Shell, person: Person, tmp_path: Path, at_prompt: Open
) -> None:
    """A version file that appears in the current folder is seen by the look at the next prompt."""
    terminal = at_prompt(shell)
    terminal.say(f"cd {shell.quote(str(tmp_path))}")
    terminal.say("echo 10.1 > .cuda-version")
    terminal.say("")
    assert home_of(terminal) == str(person.kits[0].home)


@pytest.mark.parametrize(
    ("shell", "setting"), [(shell, text) for shell, texts in PARSING.items() for text in texts]
)
def test_whatever_is_set_by_then(
    shell: Shell, setting: str, person: Person, tree: Path, at_prompt: Open
) -> None:
    terminal = at_prompt(shell)
    terminal.say(setting)
    terminal.say(f"cd {shell.quote(str(tree))}")
    assert home_of(terminal) == str(person.kits[0].home)
    terminal.say("cudaswitch use 11.8")
    assert home_of(terminal) == str(person.kits[1].home)
    terminal.say("cudaswitch off")
    terminal.say("cd /")
    assert home_of(terminal) == ""


def test_fish_parses_each_function_by_itself(tmp_path: Path) -> None:
    """Each function is on line 1: whenever one calls another, fish counts the lines before it."""
    file = tmp_path / "all.fish"
    texts = ("answers.fish", "init.fish", "command.fish")
    file.write_text(shells.core("fish") + "".join(map(shells.text_of, texts)))
    ask = (
        "for name in (functions --all --names | string match '*cudaswitch*')\n"
        "echo $name (functions --details --verbose $name)[3]\n"
        "end\n"
    )
    command = [require("fish"), "--no-config", "-c", f"source {FISH.quote(str(file))}\n{ask}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = dict(line.split() for line in done.stdout.splitlines())
    assert len(lines) > 40
    assert set(lines.values()) == {"1"}


@pytest.mark.parametrize("person", ["printed"], indirect=True)
def test_zsh_evaluates_short_texts_one_after_another(person: Person, tmp_path: Path) -> None:
    """In 5.9, what a text takes grows with the square of its length: 80 KB took 44 ms, not 7."""
    script = tmp_path / "script.zsh"
    script.write_text(
        f"{person.init['zsh'].read_text()}\n"
        'eval() { print -r -- ${#1}; builtin eval "$1"; }\n__cudaswitch_load\n'
    )
    done = subprocess.run(
        [require("zsh"), "-f", script], capture_output=True, text=True, env=person.home.env,
        check=False,
    )  # fmt: skip
    lengths = [int(line) for line in done.stdout.splitlines()]
    assert (done.returncode, done.stderr) == (0, "")
    assert sum(lengths) > 50_000
    assert max(lengths) < 20_000

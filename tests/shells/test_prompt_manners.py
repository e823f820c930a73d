"""The prompt hook touches nothing of the person's: options, traps, statuses, other hooks."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from shells.driver import BASH, FISH, ZSH, Shell
from shells.kits import Person
from shells.terminal import Open, Terminal, cd, home_of, printed, seen

every_shell = pytest.mark.parametrize("shell", (BASH, ZSH, FISH), ids=str)
bash_and_zsh = pytest.mark.parametrize("shell", (BASH, ZSH), ids=str)

OPTIONS = {
    BASH: {
        "set -u": "set +u",
        "set -k": "set +k",
        "set -o vi": "set -o emacs",
        "set -f": "set +f",
        "set -C": "set +C",
        "set -o pipefail": "set +o pipefail",
        "set -o posix": "set +o posix",
        "set -T -E": "set +T +E",
        "shopt -s failglob nullglob extglob dotglob": "shopt -u failglob nullglob dotglob",
        "shopt -s extdebug": "shopt -u extdebug",
        "shopt -s nocasematch compat31": "shopt -u nocasematch compat31",
        "IFS=/:a0123456789": "unset IFS",
    },
    ZSH: {
        f"setopt {name}": f"unsetopt {name}"
        for name in (
            *("sh_word_split", "ksh_arrays", "warn_create_global", "posix_argzero"),
            *("err_return", "no_unset", "extended_glob", "glob_subst", "null_glob"),
            *("no_glob", "csh_null_glob", "no_clobber", "posix_builtins", "ksh_glob"),
            *("rc_expand_param", "no_equals", "ksh_typeset", "no_multios", "no_nomatch"),
            *("c_bases", "no_short_loops", "pipe_fail", "posix_identifiers", "all_export"),
        )
    }
    | {"IFS=/:a0123456789": "IFS=$' \\t\\n\\0'"},
}
"""Shell → commands that a person may have typed, and those that undo them."""
WORDS = ("use 12.4", "use -", "off")
TOLD = "cudaswitch: "


@bash_and_zsh
def test_options(shell: Shell, person: Person, tree: Path, at_prompt: Open) -> None:
    """Switching works under each option, prints nothing, and leaves the options as they were."""
    terminal = at_prompt(shell)
    show = "set -o; shopt" if shell is BASH else "set -o"
    faults = {}
    for on, off in OPTIONS[shell].items():
        terminal.say(on)
        options = terminal.say(show)
        said = [*printed(terminal, f"cd '{tree}'")]
        homes = [told(terminal)]
        for step in (f"cd '{tree}/inner'", *(f"cudaswitch {word}" for word in WORDS), "cd /"):
            said += printed(terminal, step)
            homes.append(told(terminal))
        kept = terminal.say(show) == options
        terminal.say(off)
        wanted = [*(str(person.kits[number].home) for number in (0, 1, 2, 1, 1)), ""]
        if (said, homes, kept) != ([], wanted, True):
            faults[on] = (said, homes, kept)
    assert faults == {}


@every_shell
def test_the_line_goes_where_stderr_of_the_command_goes(
    shell: Shell, tmp_path: Path, at_prompt: Open
) -> None:
    terminal, file = at_prompt(shell), tmp_path / "said"
    terminal.say("set -e CUDASWITCH_QUIET" if shell is FISH else "unset CUDASWITCH_QUIET")
    words = ("use 10.1", "use 10.1", "use 11.8", "use -", "off")
    assert not any(TOLD in terminal.say(f"cudaswitch {word} 2>>'{file}'") for word in words)
    lines = [line.removeprefix(TOLD) for line in file.read_text().splitlines()]
    assert lines == ["CUDA 10.1", "CUDA 10.1", "CUDA 11.8", "CUDA 10.1", "no toolkit"]
    assert f"{TOLD}CUDA 11.8" in terminal.say("cudaswitch use 11.8")


def test_a_profile_that_zsh_reads_as_sh_does(person: Person, tree: Path, at_prompt: Open) -> None:
    """Loading works in zsh's sh mode, in which some distributions read /etc/profile."""
    terminal, load = at_prompt(ZSH), f"emulate sh -c {ZSH.quote(person.load(ZSH))}"
    assert printed(terminal, f"precmd_functions=() chpwd_functions=(); {load}; {load}") == []
    assert printed(terminal, "echo $precmd_functions $chpwd_functions") == [
        "__cudaswitch_prompt __cudaswitch_moved"
    ]
    assert printed(terminal, f"cd '{tree}'") == []
    assert told(terminal) == str(person.kits[0].home)


def test_warnings_of_zsh_about_nested_variables(tree: Path, at_prompt: Open) -> None:
    terminal = at_prompt(ZSH, "__conda_hashr() { :; }")
    terminal.say("setopt warn_nested_var")
    for step in ("cudaswitch use 10.1", "cudaswitch off", f"cd '{tree}'", "__conda_hashr", ":"):
        assert printed(terminal, step) == []


def told(terminal: Terminal) -> str:
    """Return CUDA_HOME without an expansion that an option could make an error."""
    return "".join(printed(terminal, "printenv CUDA_HOME"))


def after(terminal: Terminal, command: str, question: str) -> list[str]:
    """Type a command, and at the next prompt a question about it."""
    terminal.child.sendline(command)
    return printed(terminal, question)


ASKED = {
    BASH: ("false | true | (exit 3)", 'echo "is:${PIPESTATUS[*]}"'),
    ZSH: ("false | true | (exit 3)", 'echo "is:${pipestatus[*]}"'),
    FISH: ("false | true | sh -c 'exit 3'", 'echo "is:$pipestatus"'),
}


@every_shell
def test_every_status_of_a_pipe(shell: Shell, tree: Path, at_prompt: Open) -> None:
    terminal = at_prompt(shell)
    command, question = ASKED[shell]
    assert "is:1 0 3" in after(terminal, command, question)
    enter = f"cd {shell.quote(str(tree))}; {command}"
    assert "is:1 0 3" in after(terminal, enter, question)


@bash_and_zsh
def test_the_last_argument(shell: Shell, tree: Path, at_prompt: Open) -> None:
    terminal = at_prompt(shell)
    for command in ("true one two", f"cd '{tree}'; true one two"):
        assert after(terminal, command, 'echo "is:$_"') == ["is:two"], command


def test_traps_of_bash(person: Person, tree: Path, at_prompt: Open) -> None:
    terminal = at_prompt(BASH)
    terminal.say("trap 'echo failed' ERR; trap 'echo back' RETURN; set -E")
    assert after(terminal, "false", ":") == ["failed"]
    assert printed(terminal, f"cd '{tree}'") == []
    assert printed(terminal, "cudaswitch use 11.8") == []
    terminal.say("trap - ERR RETURN; set +E")
    # Once for each command and for the prompt command, not for what runs within that.
    terminal.say("trap 'count=$((count + 1))' DEBUG; count=0")
    lines = printed(terminal, 'cd /; cd - >/dev/null; echo "is:$count"')
    assert 3 <= int(lines[0].partition(":")[2]) < 12
    terminal.say("trap - DEBUG")
    assert home_of(terminal) == str(person.kits[1].home)


def test_traps_of_zsh(person: Person, tree: Path, at_prompt: Open) -> None:
    terminal = at_prompt(ZSH)
    terminal.say("trap 'echo failed' ZERR")
    assert after(terminal, "false", ":") == ["failed"]
    # Even if our line cannot be written, about which zsh complains.
    look = "CUDASWITCH_QUIET= __cudaswitch_prompt 2>/dev/full"
    said = printed(terminal, f"cd '{tree}'; {look}")
    assert said == ["zsh: write error"]
    assert printed(terminal, "cudaswitch use 11.8") == []
    terminal.say("trap - ZERR; TRAPEXIT() { echo left >>seen-exit }")
    assert home_of(terminal) == str(person.kits[1].home)


@bash_and_zsh
def test_a_trace_is_not_flooded(shell: Shell, at_prompt: Open) -> None:
    terminal = at_prompt(shell)
    terminal.say("set -x")
    lines = printed(terminal, ":")
    terminal.say("set +x")
    ours = [line for line in lines if "cudaswitch" in line or "_csw" in line]
    assert len(lines) <= 20, lines
    assert len(ours) <= 10, lines


@bash_and_zsh
def test_a_prompt_that_others_change(shell: Shell, tree: Path, at_prompt: Open) -> None:
    """A word that conda or a virtualenv put before PS1 stays when the prompt hook switches."""
    terminal = at_prompt(shell)
    terminal.say("PS1='(env) '\"$PS1\"")
    cd(terminal, tree)
    assert "is:(env)" in " ".join(printed(terminal, 'echo "is:$PS1"'))


@pytest.mark.parametrize("behind", ["", "trap : DEBUG;", ":;"], ids=["before", "trap", "behind"])
def test_an_exported_prompt_command_is_harmless_in_a_shell_without_us(
    behind: str, person: Person, tree: Path, tmp_path: Path, at_prompt: Open
) -> None:
    """An exported PROMPT_COMMAND causes no errors in `bash --norc`, which lacks our functions."""
    own = tmp_path / "own"
    before = f"PROMPT_COMMAND='echo $? >>{own}'"
    late = f"{before}\n{person.load(BASH)}\n{behind} export PROMPT_COMMAND\nreturn"
    terminal = at_prompt(BASH, late if behind else f"export {before}")
    assert seen(terminal)["PROMPT_COMMAND"].count("__cudaswitch_prompt") == 1
    cd(terminal, tree)
    assert home_of(terminal) == str(person.kits[0].home)
    terminal.say("(exit 7)")
    assert "7" in own.read_text().splitlines()
    said = terminal.say("bash --norc --noprofile -i") + terminal.say("true")
    assert "not found" not in said
    own.unlink()
    terminal.say("true")
    assert own.is_file()
    # A child with startup files of its own has one entry, which works.
    terminal.say("exit")
    rc = BASH.quote(str(Path(terminal.directory) / "rc"))
    terminal.say(f"bash --noprofile --rcfile {rc} -i")
    cd(terminal, tmp_path)
    assert "CUDA_HOME" not in seen(terminal)
    cd(terminal, tree)
    assert home_of(terminal) == str(person.kits[0].home)
    assert seen(terminal)["PROMPT_COMMAND"].count("__cudaswitch_prompt") == 1


def test_so_is_one_that_is_exported_when_others_come_to_ours(
    person: Person, tree: Path, at_prompt: Open
) -> None:
    late = 'export PROMPT_COMMAND="$PROMPT_COMMAND; history -a"'
    terminal = at_prompt(BASH, f"unset PROMPT_COMMAND\n{person.load(BASH)}\n{late}\nreturn")
    said = terminal.say("bash --norc --noprofile -i") + terminal.say("true")
    assert "not found" not in said
    terminal.say("exit")
    cd(terminal, tree)
    assert home_of(terminal) == str(person.kits[0].home)


@pytest.mark.parametrize("before", ["unset", "export", "declare", "declare -a", "trap : DEBUG;"])
def test_a_startup_file_that_is_read_again(
    before: str, person: Person, tree: Path, at_prompt: Open
) -> None:
    """A startup file that is read again adds no second entry, whatever form the first has."""
    end = "" if before == "unset" else "=true"
    terminal = at_prompt(BASH, f"{before} PROMPT_COMMAND{end}")
    kept = printed(terminal, "declare -p PROMPT_COMMAND")
    terminal.say(person.load(BASH))
    assert [printed(terminal, "declare -p PROMPT_COMMAND") for _ in range(2)] == [kept, kept]
    cd(terminal, tree)
    assert home_of(terminal) == str(person.kits[0].home)


def test_arrays_as_of_bash_preexec(person: Person, tree: Path, at_prompt: Open) -> None:
    """We work beside a hook that runs an array of functions, and wants to be first and last."""
    before = """
precmd_functions=(one)
one() { echo "one $?" >>"$ZDOTDIR/one"; }
first() { code=$?; local f; for f in "${precmd_functions[@]}"; do (exit $code); $f; done; }
PROMPT_COMMAND=$'first\\n:;  '
"""
    terminal = at_prompt(BASH, before)
    cd(terminal, tree)
    terminal.say("(exit 9)")
    assert home_of(terminal) == str(person.kits[0].home)
    assert "one 9\n" in (Path(terminal.directory) / "one").read_text()


def test_hooks_as_of_ble(person: Person, tree: Path, at_prompt: Open) -> None:
    """With ble.sh, which once attached discards changes of PROMPT_COMMAND, we use its own hooks."""
    before = """
BLE_ATTACHED=1 hooks=()
blehook() { hooks+=("${1#PRECMD!=}"); }
attached() {
    local code=$? one; PROMPT_COMMAND=attached
    for one in "${hooks[@]}"; do (exit $code); $one; done
}
PROMPT_COMMAND=attached
"""
    terminal = at_prompt(BASH, before)
    cd(terminal, tree)
    assert home_of(terminal) == str(person.kits[0].home)
    cd(terminal, tree.parent)
    assert home_of(terminal) == ""
    assert printed(terminal, 'echo "${hooks[@]}"') == ["__cudaswitch_prompt"]
    assert "anew" not in terminal.say("CUDASWITCH_QUIET= cudaswitch doctor")


def test_so_it_is_where_there_is_no_prompt_command(person: Person) -> None:
    script = 'BLE_ATTACHED=1\nblehook() { echo "$1"; }\n'
    script += f'{person.load(BASH)}\necho "${{PROMPT_COMMAND-unset}}"'
    argv = ["bash", "--norc", "-c", script]
    done = subprocess.run(argv, env=person.home.env, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["PRECMD!=__cudaswitch_prompt", "unset"]

"""The prompt hook touches nothing of the person's: options, traps, statuses, other hooks."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from shells.driver import BASH, FISH, ZSH, Shell
from shells.kits import Person
from shells.terminal import Terminal
from shells.test_interactive import Open, at_prompt, home_of, tree
from shells.test_prompt_life import cd, printed, seen
from shells.test_virtualenv import with_uv
from tools import require

__all__ = ["at_prompt", "tree"]  # fixtures

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
"""Shell → what a person may have set, and its way back."""
WORDS = ("use 12.4", "use -", "off")


@bash_and_zsh
def test_options(shell: Shell, person: Person, tree: Path, at_prompt: Open) -> None:
    """The switch works under each, prints nothing, and leaves each as it was."""
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


def test_a_profile_that_zsh_reads_as_sh_does(person: Person, tree: Path, at_prompt: Open) -> None:
    """Login shells of zsh do so with /etc/profile in some distributions."""
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
    """Return CUDA_HOME without a word that an option could make an error of."""
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
    # Once for the command, once for the prompt's, and never for what is in that.
    terminal.say("trap 'count=$((count + 1))' DEBUG; count=0")
    lines = printed(terminal, 'cd /; cd - >/dev/null; echo "is:$count"')
    assert 3 <= int(lines[0].partition(":")[2]) < 12
    terminal.say("trap - DEBUG")
    assert home_of(terminal) == str(person.kits[1].home)


def test_traps_of_zsh(person: Person, tree: Path, at_prompt: Open) -> None:
    terminal = at_prompt(ZSH)
    terminal.say("trap 'echo failed' ZERR")
    assert after(terminal, "false", ":") == ["failed"]
    # Even where our line cannot be written, of which zsh complains.
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


@pytest.mark.parametrize("shell", (BASH, ZSH, FISH), ids=str)
@pytest.mark.parametrize("first", ["direnv", "cudaswitch"])
def test_direnv(shell: Shell, first: str, person: Person, tmp_path: Path, at_prompt: Open) -> None:
    """It exports what an activate script did, our bookkeeping too, and takes it back."""
    direnv = require("direnv")
    with_uv(tmp_path / "v")
    person.pin("10.1", tmp_path / "v")
    project = tmp_path / "project"
    (project / "inner").mkdir(parents=True)
    (project / ".envrc").write_text(f". '{tmp_path}/v/bin/activate'\n")
    subprocess.run([direnv, "allow"], cwd=project, env=person.home.env, check=True)
    terminal = beside_direnv(shell, at_prompt, direnv, first)
    before = seen(terminal)
    for _ in range(2):
        for folder in (project, project / "inner"):
            cd(terminal, folder)
            terminal.say("")
            inside = seen(terminal)
            assert inside["CUDA_HOME"] == str(person.kits[0].home)
            assert inside["PATH"].split(":").count(person.kits[0].bin) == 1
            assert inside["LD_LIBRARY_PATH"] == ":".join(person.kits[0].lib)
        cd(terminal, tmp_path)
        terminal.say("")
        assert seen(terminal) == before


def beside_direnv(shell: Shell, at_prompt: Open, direnv: str, first: str) -> Terminal:
    """Open a shell that has both, in the order of their lines in its startup file."""
    if shell is FISH:
        hook = f"set -gx DIRENV_LOG_FORMAT; {direnv} hook fish | source"
    else:
        hook = f'export DIRENV_LOG_FORMAT=; eval "$({direnv} hook {shell.name})"'
    terminal = at_prompt(shell, hook if first == "direnv" else "")
    if first == "cudaswitch":
        terminal.say(hook)
    return terminal


EVENINGS_WITH_DIRENV = {
    "pinned": (("in", 1), ("inner", 1), ("out", None)),
    "used inside": (("in", None), ("use 12.4", 2), ("inner", 2), ("out", 2), ("off", None)),
    "used before": (("use 10.1", 0), ("in", 0), ("out", 0), ("off", None)),
    "off inside": (("use 10.1", 0), ("in", 0), ("inner", 0), ("off", None), ("out", None)),
    "another inside": (("use 10.1", 0), ("in", 0), ("use 12.4", 2), ("out", 2), ("off", None)),
}
"""What is done, and the toolkit that is active then."""


@pytest.mark.parametrize("shell", (BASH, ZSH, FISH), ids=str)
@pytest.mark.parametrize("first", ["direnv", "cudaswitch"])
@pytest.mark.parametrize("own", ["", "CUDA_HOME", "CUDACXX"])
@pytest.mark.parametrize("evening", EVENINGS_WITH_DIRENV)
def test_what_direnv_brings_back(
    shell: Shell,
    first: str,
    own: str,
    evening: str,
    person: Person,
    tmp_path: Path,
    at_prompt: Open,
) -> None:
    """It keeps each variable as it was, whatever was active then."""
    direnv = require("direnv")
    inner = tmp_path / "project" / "inner"
    inner.mkdir(parents=True)
    added = "PATH_add bin\npath_add LD_LIBRARY_PATH lib\n"
    (inner.parent / ".envrc").write_text(f"{added}export {own}=/theirs\n" if own else added)
    if evening == "pinned":
        (inner.parent / ".cuda-version").write_text("11.8\n")
    subprocess.run([direnv, "allow"], cwd=inner.parent, env=person.home.env, check=True)
    terminal = beside_direnv(shell, at_prompt, direnv, first)
    before = seen(terminal)
    folders = {"in": inner.parent, "inner": inner, "out": tmp_path}
    for what, number in EVENINGS_WITH_DIRENV[evening] * 2:
        if what in folders:
            cd(terminal, folders[what])
            terminal.say("")
        else:
            terminal.say(f"cudaswitch {what}")
        now = seen(terminal)
        bins = {kit.bin: at for at, kit in enumerate(person.kits)}
        libs = {lib: at for at, kit in enumerate(person.kits) for lib in kit.lib[:1]}
        on = [] if number is None else [number]
        assert [bins[one] for one in now["PATH"].split(":") if one in bins] == on, what
        rest = now.get("LD_LIBRARY_PATH", "").split(":")
        assert [libs[one] for one in rest if one in libs] == on, what
        theirs = "/theirs" if own == "CUDA_HOME" and f"{inner.parent}/bin" in now["PATH"] else None
        assert now.get("CUDA_HOME") == (theirs if number is None else str(person.kits[number].home))
    after = {name: value for name, value in seen(terminal).items() if "PREVIOUS" not in name}
    assert after == before


@pytest.mark.parametrize("shell", (BASH, ZSH, FISH), ids=str)
@pytest.mark.parametrize("first", ["direnv", "cudaswitch"])
def test_the_next_command_has_not_what_direnv_brought_back(
    shell: Shell, first: str, person: Person, tmp_path: Path, at_prompt: Open
) -> None:
    """In fish, whose folder of startup files comes first, its hook comes after ours."""
    direnv = require("direnv")
    project = tmp_path / "project"
    project.mkdir()
    (project / ".envrc").write_text("PATH_add bin\n")
    (project / ".cuda-version").write_text("11.8\n")
    subprocess.run([direnv, "allow"], cwd=project, env=person.home.env, check=True)
    terminal = beside_direnv(shell, at_prompt, direnv, first)
    before = seen(terminal)
    for _ in range(2):
        for folder in (project, tmp_path):
            terminal.child.sendline(f"cd {shell.quote(str(folder))}")
            now = seen(terminal)
            assert (person.kits[1].bin in now["PATH"].split(":")) == (folder == project)
        assert now == before


@pytest.mark.parametrize("shell", (BASH, ZSH, FISH), ids=str)
@pytest.mark.parametrize("first", ["mise", "cudaswitch"])
def test_mise(shell: Shell, first: str, person: Person, tmp_path: Path, at_prompt: Open) -> None:
    """It works PATH out anew at a prompt, from what it was when mise was loaded."""
    mise = require("mise")
    project = tmp_path / "project"
    (project / "tools").mkdir(parents=True)
    (project / "mise.toml").write_text('[env]\nOWN = "1"\n_.path = ["./tools"]\n')
    (project / ".cuda-version").write_text("11.8\n")
    subprocess.run([mise, "trust", "--all"], cwd=project, env=person.home.env, check=True)
    hook = (
        f"{mise} activate fish | source"
        if shell is FISH
        else f'eval "$({mise} activate {shell.name})"'
    )
    terminal = at_prompt(shell, hook if first == "mise" else "")
    if first == "cudaswitch":
        terminal.say(hook)
    terminal.say("")

    def others() -> dict[str, str]:
        return {name: value for name, value in seen(terminal).items() if "MISE" not in name}

    before = others()
    for kit, switch in ((person.kits[1], ":"), (person.kits[0], "cudaswitch use 10.1")):
        terminal.say(switch)
        for _ in range(2):
            cd(terminal, project)
            terminal.say("")
            inside = seen(terminal)
            folders = inside["PATH"].split(":")
            assert folders.count(kit.bin) == folders.count(f"{project}/tools") == 1
            assert inside["LD_LIBRARY_PATH"] == ":".join(kit.lib)
            cd(terminal, tmp_path)
            terminal.say("")
            assert f"{project}/tools" not in seen(terminal)["PATH"].split(":")
        terminal.say("cudaswitch off")
        terminal.say("")
        assert others() == before


@bash_and_zsh
def test_a_prompt_that_others_change(shell: Shell, tree: Path, at_prompt: Open) -> None:
    """conda and virtualenvs put a word before PS1 and take it away: neither is ours."""
    terminal = at_prompt(shell)
    terminal.say("PS1='(env) '\"$PS1\"")
    cd(terminal, tree)
    assert "is:(env)" in " ".join(printed(terminal, 'echo "is:$PS1"'))


@pytest.mark.parametrize("behind", ["", "trap : DEBUG;", ":;"], ids=["before", "trap", "behind"])
def test_an_exported_prompt_command_is_harmless_in_a_shell_without_us(
    behind: str, person: Person, tree: Path, tmp_path: Path, at_prompt: Open
) -> None:
    """Many people export theirs; `bash --norc` then has it, and no function of ours."""
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
    # One with startup files of its own has one entry, which works.
    terminal.say("exit")
    rc = BASH.quote(str(Path(terminal.directory) / "rc"))
    terminal.say(f"bash --noprofile --rcfile {rc} -i")
    cd(terminal, tmp_path)
    assert "CUDA_HOME" not in seen(terminal)
    cd(terminal, tree)
    assert home_of(terminal) == str(person.kits[0].home)
    assert seen(terminal)["PROMPT_COMMAND"].count("__cudaswitch_prompt") == 1


@pytest.mark.parametrize("before", ["unset", "export", "declare", "declare -a", "trap : DEBUG;"])
def test_a_startup_file_that_is_read_again(
    before: str, person: Person, tree: Path, at_prompt: Open
) -> None:
    """Whatever way we have come into PROMPT_COMMAND: we are known there."""
    end = "" if before == "unset" else "=true"
    terminal = at_prompt(BASH, f"{before} PROMPT_COMMAND{end}")
    kept = printed(terminal, "declare -p PROMPT_COMMAND")
    terminal.say(person.load(BASH))
    assert [printed(terminal, "declare -p PROMPT_COMMAND") for _ in range(2)] == [kept, kept]
    cd(terminal, tree)
    assert home_of(terminal) == str(person.kits[0].home)


def test_arrays_as_of_bash_preexec(person: Person, tree: Path, at_prompt: Open) -> None:
    """A hook that runs the functions of an array, and that wants to be the first and the last."""
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

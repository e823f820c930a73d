"""Completion in real bash, zsh and fish: all offer the same, at once, with no process started."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pexpect
import pytest

from checks import succeeded
from cudaswitch.cli import COMMANDS
from cudaswitch.completion import SCRIPTS, script
from cudaswitch.settings import FLAG, MODE, SETTINGS
from cudaswitch.versions import LIBRARIES
from homes import Home
from offered import SHELLS, by_bash, offers
from tools import require

ROOT = Path(__file__).parent.parent
_FOLDER = ROOT / "completions"


@pytest.fixture
def stocked(home: Home) -> Home:
    """A home with toolkits, aliases and environments as far as completion looks: at their names."""
    for name in ("10.1.243", "10.1.243+cudnn7.6.5", "12.4.1", "10.1.243@win-64"):
        (home.store / "toolkits" / name / "bin").mkdir(parents=True)
        (home.store / "toolkits" / name / "cudaswitch.json").touch()
    (home.store / "toolkits" / "half-removed").mkdir()
    for folder, name, text in (
        ("aliases", "thesis", "10.1+cudnn7.6"),
        ("requests", "latest", str(home.store / "toolkits" / "12.4.1")),
    ):
        (home.store / folder).mkdir()
        (home.store / folder / name).write_text(text + "\n")
    for tool in ("nvcc", "nsys"):
        (home.store / "toolkits" / "12.4.1" / "bin" / tool).touch(0o755)
    root = home.path / "miniforge3"
    prefixes = [root, root / "envs" / "thesis", home.path / "far" / "a b", root / "envs" / "tf1"]
    for prefix in prefixes:
        (prefix / "conda-meta").mkdir(parents=True)
    (home.path / "gone").mkdir()
    (home.path / ".conda" / "envs" / "tf1" / "conda-meta").mkdir(parents=True)
    listed = "\n".join(map(str, [*prefixes, home.path / "gone"]))
    (home.path / ".conda" / "environments.txt").write_text(listed)
    return home


@pytest.mark.parametrize("option", ["shopt -s failglob", "set -f", "IFS=:", "IFS=$'\\n'", "IFS="])
def test_bash_that_reads_words_and_patterns_in_another_way(stocked: Home, option: str) -> None:
    asked = ("use ", "which ", "alias --delete thesis ", "search cuda 12.4", "config set offline ")
    lines = [f"cudaswitch {line}" for line in asked]
    assert by_bash(stocked, lines, option) == by_bash(stocked, lines)


@pytest.mark.parametrize("shell", SHELLS)
def test_an_alias_that_cannot_be_read(stocked: Home, shell: str) -> None:
    """A broken link, or a pipe, which nobody may wait for, among the files of aliases."""
    (stocked.store / "aliases/broken").symlink_to("gone")
    os.mkfifo(stocked.store / "aliases/pipe")
    [offered] = offers(shell, stocked, "cudaswitch use ")
    assert offered.keys() - {"broken", "pipe"} >= REQUESTS


@pytest.mark.parametrize("shell", SHELLS)
def test_a_file_that_begins_as_a_version_does(stocked: Home, shell: str) -> None:
    (stocked.path / "12.4-local.run").touch()
    [offered] = offers(shell, stocked, "cudaswitch install 12.4")
    assert {"12.4-local.run", "12.4.1"} <= set(offered)


@pytest.mark.parametrize("shell", SHELLS)
def test_shared_stores_of_the_settings(stocked: Home, shell: str) -> None:
    lab = stocked.path / "the lab"
    (lab / "toolkits" / "9.2.148").mkdir(parents=True)
    (lab / "toolkits" / "9.2.148" / "cudaswitch.json").touch()
    for record in stocked.store.glob("toolkits/*/cudaswitch.json"):
        record.unlink()
    succeeded(stocked.run("config", "set", "stores", str(lab)))
    [offered] = offers(shell, stocked, "cudaswitch remove ")
    assert set(offered) == {"9.2.148"}
    succeeded(stocked.run("config", "unset", "stores"))
    assert offers(shell, stocked, "cudaswitch remove ") == [{}]


VISIBLE = {name for name, (_, line) in COMMANDS.items() if line}
TOOLKITS = {"10.1.243", "10.1.243+cudnn7.6.5", "12.4.1"}
REQUESTS = {*TOOLKITS, "thesis", "latest", "auto", "system"}
ENVIRONMENTS = {"base", "thesis", "a b", "tf1"}
VALUES = {
    **{name: LIBRARIES for name, setting in SETTINGS.items() if setting.kind is MODE},
    **{name: ("true", "false") for name, setting in SETTINGS.items() if setting.kind is FLAG},
}
WITH_INIT = {"bash", "zsh", "xonsh", "pwsh", "fish", "tcsh", "nu"}
CASES: dict[str, set[str]] = {
    "cudaswitch ": VISIBLE,
    "cudaswitch un": {"unpin"},
    "cudaswitch use ": REQUESTS,
    "cudaswitch use 10": {"10.1.243", "10.1.243+cudnn7.6.5"},
    "cudaswitch use 10.1.243+": {"10.1.243+cudnn7.6.5"},
    "cudaswitch use --cudnn ": {"7.6.5", "none"},
    "cudaswitch use --cudnn 7.6.5 12": {"12.4.1"},
    "cudaswitch use --libraries always t": {"thesis"},
    "cudaswitch pin -n ": ENVIRONMENTS,
    "cudaswitch unpin --name th": {"thesis"},
    "cudaswitch pin -n tf1 la": {"latest"},
    "cudaswitch pin --libraries ": {"auto", "always", "never"},
    "cudaswitch remove ": {*TOOLKITS, "10.1.243@win-64"},
    "cudaswitch remove 12.4.1 ": {*TOOLKITS, "10.1.243@win-64"},
    "cudaswitch alias ": {"thesis"},
    "cudaswitch alias mine ": REQUESTS,
    "cudaswitch alias --delete ": {"thesis"},
    "cudaswitch alias --delete thesis ": set(),
    "cudaswitch alias thesis --delete ": set(),
    "cudaswitch which n": {"nvcc", "nsys"},
    "cudaswitch env 10.1 --format j": {"json"},
    "cudaswitch env 10.1 --shell ": {*WITH_INIT, "sh", "cmd", "elvish"},
    "cudaswitch init ": WITH_INIT,
    "cudaswitch shims ": {"install", "refresh", "path"},
    "cudaswitch shims r": {"refresh"},
    "cudaswitch exec 12": {"12.4.1"},
    "cudaswitch install 12.4": {"12.4.0", "12.4.1"},
    "cudaswitch install 12.4.1 10.2": {"10.2.89"},
    "cudaswitch search 12.4": {"12.4.0", "12.4.1"},
    "cudaswitch search cu": {"cuda", "cudnn"},
    "cudaswitch search l": {"latest"},
    "cudaswitch search t": {"thesis"},
    "cudaswitch search cuda 12.4": {"12.4.0", "12.4.1"},
    "cudaswitch search cuda l": {"latest"},
    "cudaswitch search cuda 12.4.1 ": set(),
    "cudaswitch search cudnn ": set(),
    "cudaswitch search 12.4 ": set(),
    **{f"cudaswitch config set {name} ": set(words) for name, words in VALUES.items()},
    "cudaswitch config set libraries auto ": set(),
    "cudaswitch config set jobs ": set(),
    "cudaswitch use 10.1 --gpus ": set(),
    "cudaswitch use 12.4.1 ": set(),
    "cudaswitch list ": set(),
    "cudaswitch adopt --as ": set(),
}


@pytest.mark.parametrize("shell", SCRIPTS)
def test_it_offers_what_fits(stocked: Home, shell: str) -> None:
    found = offers(shell, stocked, *CASES)
    # zsh offers options where no argument is left.
    words = [{word for word in each if not word.startswith("-")} for each in found]
    assert dict(zip(CASES, words, strict=True)) == CASES
    assert {line for line, each in zip(CASES, found, strict=True) if "-" in each} == {
        "cudaswitch use "
    }


@pytest.mark.parametrize("shell", SCRIPTS)
def test_it_offers_every_option_of_every_command(stocked: Home, shell: str) -> None:
    """Completion offers every option that --help of the running command shows."""
    told: dict[str, set[str]] = {}
    for line in [*sorted(VISIBLE), "shims install", "config set"]:
        told_by_help = stocked.run(*line.split(), "--help").stdout
        text = told_by_help.partition("Options:")[2].partition("\n\n")[0]
        starts = [row.split("  ")[1] for row in text.splitlines() if row.startswith("  -")]
        words = {word.strip(",") for start in starts for word in start.split()}
        told[f"cudaswitch {line} --"] = {word for word in words if word.startswith("--")}
    found = offers(shell, stocked, *told)
    assert {
        line: {word.rstrip("=") for word in words} for line, words in zip(told, found, strict=True)
    } == told


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_it_says_what_each_is(stocked: Home, shell: str) -> None:
    commands, requests, places, options = offers(
        shell, stocked, "cudaswitch ", "cudaswitch use ", "cudaswitch pin -n ", "cudaswitch list --"
    )
    assert COMMANDS["list"][1] in commands["list"]
    assert "10.1+cudnn7.6" in requests["thesis"]
    assert "CUDA 10.1.243 with cuDNN 7.6.5" in requests["10.1.243+cudnn7.6.5"]
    assert "~/far/a b" in places["a b"]
    assert "JSON" in options["--json"]


@pytest.mark.parametrize("shell", SCRIPTS)
def test_it_finds_the_store_where_the_command_does(stocked: Home, shell: str) -> None:
    """Completion looks in CUDASWITCH_HOME or the user's data folder, then in shared stores."""
    data = Path(stocked.env["XDG_DATA_HOME"])
    stocked.store.rename(data / "cudaswitch")
    shared = stocked.path / "lab"
    (shared / "toolkits" / "9.2.148").mkdir(parents=True)
    (shared / "toolkits" / "9.2.148" / "cudaswitch.json").touch()
    del stocked.env["CUDASWITCH_HOME"]
    stocked.env["CUDASWITCH_STORES"] = f"/nowhere:{shared}"
    [found] = offers(shell, stocked, "cudaswitch pin ")
    assert set(found) == {*REQUESTS, "9.2.148"}
    assert stocked.run("shims", "path").stdout == f"{data}/cudaswitch/shims\n"
    (data / "cudaswitch").rename(stocked.path / "a store")
    stocked.env["CUDASWITCH_HOME"] = "~/a store"
    assert offers(shell, stocked, "cudaswitch pin ") == [found]
    assert stocked.run("shims", "path").stdout == f"{stocked.path}/a store/shims\n"


@pytest.mark.parametrize("shell", SCRIPTS)
def test_an_empty_home_is_no_error(home: Home, shell: str) -> None:
    found = offers(shell, home, "cudaswitch pin ", "cudaswitch pin -n ", "cudaswitch which ")
    assert [set(words) for words in found] == [{"latest", "auto", "system"}, set(), set()]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_it_offers_files_and_folders(stocked: Home, shell: str) -> None:
    """zsh and fish offer files and folders; in bash readline does, which no script can ask."""
    (stocked.path / "work a").mkdir()
    (stocked.path / "work.conda").touch()
    quoted = "work\\ "
    lines = [
        "install wo",
        "which ./work",
        f"adopt {quoted}",
        "adopt wo",
        "pin --dir=wo",
        "pin -p w",
        "lock -o w",
        "sync --lock w",
        "which nvcc --from w",
    ]
    files, here, part, folders, valued, short, *named = offers(
        shell, stocked, *(f"cudaswitch {line}" for line in lines)
    )
    for found in (files, *named):
        assert set(found) == {"work a", "work.conda"}
    assert {word.removeprefix("./") for word in here} == {"work a", "work.conda"}
    assert [set(found) for found in (part, folders, short)] == [{"work a"}] * 3
    assert {word.removeprefix("--dir=") for word in valued} == {"work a"}


@pytest.mark.parametrize("shell", SCRIPTS)
def test_what_may_be_said_again_is_offered_again(stocked: Home, shell: str) -> None:
    option, value, once = offers(
        shell,
        stocked,
        "cudaswitch lock 12.4 --platform linux-64 --platf",
        "cudaswitch lock 12.4 --platform linux-64 --platform w",
        "cudaswitch install 12.4 --channel nvidia --channel d",
    )
    assert [word.rstrip("=") for word in option] == ["--platform"]
    assert [set(value), set(once)] == [{"win-64"}, {"defaults"}]


def test_fish_completes_the_command_that_exec_runs(stocked: Home) -> None:
    (stocked.path / "work.conda").touch()
    words, dashes, options, file = offers(
        "fish",
        stocked,
        "cudaswitch exec -- cudasw",
        "cudaswitch exec -- --j",
        "cudaswitch exec 12.4.1 -- cudaswitch list --js",
        "cudaswitch exec -- cat 'wor",
    )
    assert "--json" in options
    assert set(file) == {"work.conda"}
    assert words == dashes == {}, "there is no such command on this PATH"


@pytest.mark.parametrize(
    ("line", "completed"),
    [
        ("exec -- ./wo", r"exec -- ./work\ a/"),
        (r"exec 12.4.1 -- ./work\ a/", r"exec 12.4.1 -- ./work\ a/b\ c "),
        ("exec -- cudaswitch-of-m", "exec -- cudaswitch-of-mine "),
        (r"pin -n my\ e", r"pin -n my\ env "),
        ("pin --name=my", r"pin --name=my\ env "),
    ],
)
def test_bash_at_a_real_line(stocked: Home, line: str, completed: str) -> None:
    """bash completes at a real prompt of readline, without the package `bash-completion`."""
    (stocked.path / "work a").mkdir()
    (stocked.path / "work a" / "b c").touch(0o755)
    (stocked.path / "cudaswitch-of-mine").touch(0o755)
    (stocked.path / ".conda" / "envs" / "my env" / "conda-meta").mkdir(parents=True)
    env = stocked.env | {"PATH": str(stocked.path), "PS1": "ready> ", "TERM": "vt100"}
    start = f"source {shlex.quote(str(_FOLDER / SCRIPTS['bash']))}"
    options = ["--norc", "--noprofile", "-i"]
    with pexpect.spawn(
        require("bash"), options, env=env, cwd=str(stocked.path), encoding="utf-8", timeout=60
    ) as shell:
        shell.sendline(start)
        shell.expect("ready> .*ready> ")
        shell.send(f"cudaswitch {line}\t|\x15exit\r")
        shell.expect(r"cudaswitch ([^|\r\n]*)\|")
        assert shell.match[1] == completed


@pytest.mark.parametrize("shell", ["bash", "fish"])
def test_a_value_behind_an_equals_sign(stocked: Home, shell: str) -> None:
    split = " = " if shell == "bash" else "="  # bash breaks words at COMP_WORDBREAKS
    [found] = offers(shell, stocked, f"cudaswitch pin --libraries{split}n")
    assert {word.removeprefix("--libraries=") for word in found} == {"never"}


def test_bash_quotes_what_it_offers(home: Home, tmp_path: Path) -> None:
    """A name with shell characters is completed as one word, and runs nothing."""
    name = "a b'c\"d$(touch x)`touch y`&e;f*"
    (tmp_path / name / "conda-meta").mkdir(parents=True)
    (home.path / ".conda").mkdir()
    (home.path / ".conda" / "environments.txt").write_text(f"{tmp_path / name}\n")
    assert offers("bash", home, "cudaswitch pin -n ") == [{name: ""}]


def test_zsh_without_compinit_is_told_so(home: Home) -> None:
    text = f"source {shlex.quote(str(_FOLDER / SCRIPTS['zsh']))}; echo on"
    done = subprocess.run(
        [require("zsh"), "-f", "-c", text],
        env=home.env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "on\n"
    assert done.stderr.splitlines() == [
        "cudaswitch: completion requires compinit",
        "hint: autoload -Uz compinit && compinit",
    ]


@pytest.mark.parametrize("shell", SCRIPTS)
def test_the_command_prints_the_script_that_is_checked_in(home: Home, shell: str) -> None:
    text = (_FOLDER / SCRIPTS[shell]).read_text(encoding="utf-8")
    assert home.run("completion", shell).stdout == text == script(shell)


def test_the_scripts_are_what_the_generator_writes() -> None:
    done = subprocess.run(
        [sys.executable, _FOLDER / "generate.py", "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_another_shell_has_none(home: Home) -> None:
    done = home.run("completion", "csh")
    assert done.returncode == 2
    assert "csh" in done.stderr


@pytest.mark.parametrize(
    "breaks", ["$COMP_WORDBREAKS", "${COMP_WORDBREAKS//[=@]/}", "$COMP_WORDBREAKS+"]
)
def test_bash_completes_at_a_real_prompt(stocked: Home, breaks: str) -> None:
    """What Tab completes reaches the command as one word, blanks and all.

    By itself bash splits words at `=` and `@`; npm's completions take both out of COMP_WORDBREAKS.
    """
    env = stocked.env | {"PATH": str(stocked.path), "PS1": "", "TERM": "dumb"}
    with pexpect.spawn(
        require("bash"), ["--norc", "--noprofile", "-i"], env=env, timeout=60, encoding="utf-8"
    ) as shell:
        shell.sendline("bind 'set enable-bracketed-paste off'")
        shell.sendline(f". {shlex.quote(str(_FOLDER / SCRIPTS['bash']))}")
        shell.sendline("cudaswitch() { printf '<%s>' \"$@\"; echo; }")
        shell.sendline(f"COMP_WORDBREAKS={breaks}; cd {shlex.quote(str(stocked.path))}")
        for typed, words in (
            ("use 12\t", "<use><12.4.1>"),
            ("use --cudnn=7\t", "<use><--cudnn=7.6.5>"),
            ("use --libraries=al\t12\t", "<use><--libraries=always><12.4.1>"),
            ("use 10.1.243+cu\t", "<use><10.1.243+cudnn7.6.5>"),
            ("remove 10.1.243@\t", "<remove><10.1.243@win-64>"),
            ("remove 10.1.243@w\t", "<remove><10.1.243@win-64>"),
            ("pin --dir=fa\t", "<pin><--dir=far/>"),
        ):
            shell.sendline(f"cudaswitch {typed}")
            shell.expect_exact(words)
        shell.sendline("cudaswitch pin -n a\t")
        shell.expect_exact("<pin><-n><a b>")
        # The cursor may stand within a word, and the target of a redirection is a file.
        shell.sendline("cudaswitch use 12X\x02\t")
        shell.expect_exact("<use><12.4.1X>")
        (stocked.path / "far.txt").touch()
        shell.sendline('cudaswitch list > far.t\t; read -r line < far.txt; echo "seen $line"')
        shell.expect_exact("seen <list>")
        shell.sendline("exit")


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_the_newest_release_comes_first(stocked: Home, shell: str) -> None:
    text = shlex.quote(str(_FOLDER / SCRIPTS[shell]))
    starts = {
        "bash": ("bind 'TAB: menu-complete'", f". {text}"),
        "zsh": ("bindkey '^I' menu-complete; autoload -U compinit; compinit -D", f". {text}"),
    }
    options = {"bash": ["--norc", "--noprofile", "-i"], "zsh": ["-f", "-i"]}[shell]
    env = stocked.env | {"TERM": "dumb"}
    with pexpect.spawn(require(shell), options, env=env, timeout=60, encoding="utf-8") as terminal:
        for line in (*starts[shell], "cudaswitch() { printf '<%s>' \"$@\"; echo; }"):
            terminal.sendline(line)
        terminal.sendline("cudaswitch install 12.6.\t")
        terminal.expect_exact("<install><12.6.3>")
        terminal.sendline("exit")

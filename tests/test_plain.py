"""The plainest forms of the most used commands, which start without click, say what click says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from checks import refused, succeeded
from cudaswitch.cli import COMMANDS
from homes import Home
from tools import console_script, executable

_THROUGH_CLICK = "import sys, cudaswitch.__main__ as m; m._run_plainly = lambda _: False; "
_THROUGH_CLICK += "m._ready_text = lambda _: None; "
_THROUGH_CLICK += "sys.argv[0] = sys.argv.pop(1); sys.exit(m.main())"

LINES = [
    ["list"],
    ["list", "--json"],
    ["current"],
    ["current", "--json"],
    ["which", "sh"],
    ["which", "nvcc"],
    ["which", "libc.so.6"],
    ["which", "no-such-tool"],
    ["which", ""],
    ["which", "a\nb"],
    ["exec", "--", "sh", "-c", "echo $CUDA_HOME; exit 3"],
    ["exec", "10.1", "--", "sh", "-c", 'printf "<%s>" "$@"', "x", "--", "-h", "--help", ""],
    ["exec", "10.1", "--", "nvcc", "--version"],
    ["exec", "--", "--", "x"],
    ["exec", "9.9", "--", "true"],
    ["exec", "", "--", "true"],
    ["exec", "10.1+", "--", "true"],
    ["exec", "system", "--", "no-such-command"],
    ["exec", "10.1", "--", "no-such-command"],
    ["exec", "10.1", "--", "./no"],
    ["env", "10.1"],
    ["env", "system"],
    ["env", "9.9"],
    ["env", ""],
    ["env", "10.1+"],
    ["want", "--", "10.1"],
    ["want", "--", "9.9"],
    ["want", "--", "auto"],
    ["want", "--for-use", "10.1"],
    ["want", "--for-use", "9.9"],
    ["want", "--for-use", "10.1+"],
    ["want", "--file", "config/version"],
    ["want", "--file", "nowhere"],
    ["want", "--environment", "nowhere"],
    ["init", "bash"],
    ["init", "nu"],
    ["init", "no-such-shell"],
    ["init", ""],
    ["completion", ""],
    ["list", ""],
    ["current", "--json", ""],
    [],
    *([name, "--help"] for name, (_, line) in COMMANDS.items() if line),
    ["config", "get", "-h"],
    ["shims", "install", "--help"],
    # These must be left to click.
    ["--help", "pin"],
    ["no-such-command", "--help"],
    ["cudaswitch", "--help"],
    ["x" * 300, "--help"],
    ["config-get", "--help"],
    ["pin", "--help", "--help"],
    ["pin", "10.1", "-h"],
    ["want", "-h"],
    ["want"],
    ["want", "10.1"],
    ["want", "--", "-"],
    ["want", "--", ""],
    ["want", "--for-use", "-"],
    ["want", "--for-use", "--gpus"],
    ["want", "--for-use", "10.1", "--gpus", "0"],
    ["want", "--file", ""],
    ["", "-h"],
    ["env"],
    ["env", "-h"],
    ["env", "--", "10.1"],
    ["env", "10.1", "11"],
    ["env", "10.1", "--shell", "fish"],
    ["env", "10.1", "--format", "json"],
    ["init"],
    ["init", "bash", "x"],
    ["init", "--", "bash"],
    ["list", "extra"],
    ["list", "--jsn"],
    ["current", "--json", "--json"],
    ["current", "-h"],
    ["which"],
    ["which", "-h"],
    ["which", "--", "sh"],
    ["which", "--json", "sh"],
    ["which", "sh", "--json"],
    ["exec", "--"],
    ["exec", "10.1"],
    ["exec", "--help", "--", "true"],
    ["exec", "--gpus", "0", "--", "sh", "-c", "echo $CUDA_VISIBLE_DEVICES"],
    ["exec", "-x", "--", "true"],
    ["exec", "10.1", "11", "--", "true"],
    ["lst"],
]


_HEAVY = {
    *("click", "cudaswitch.cli", "dataclasses", "difflib", "filelock", "hashlib"),
    *("importlib.metadata", "inspect", "platformdirs", "shutil", "subprocess", "tempfile"),
}


def _both(home: Home, arguments: list[str], **variables: str) -> list[tuple[int, str, str]]:
    found = []
    for start in ([], [sys.executable, "-c", _THROUGH_CLICK]):
        done = subprocess.run(
            [*start, str(console_script()), *arguments],
            env=home.env | variables,
            cwd=home.path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert "internal error" not in done.stderr
        found.append((done.returncode, done.stdout, done.stderr))
    return found


@pytest.mark.parametrize("arguments", LINES, ids=" ".join)
def test_it_says_the_same(stocked: Home, arguments: list[str]) -> None:
    if arguments[:1] in (["list"], ["current"]):
        succeeded(stocked.run("pin", "10.1", "--global"))
    plain, through_click = _both(stocked, arguments)
    assert plain == through_click


@pytest.mark.parametrize("arguments", [["list"], ["current"], ["exec", "--", "true"]], ids=" ".join)
def test_it_fails_in_the_same_words(stocked: Home, arguments: list[str]) -> None:
    (stocked.path / ".cuda-version").write_text("$(touch x)\n")
    plain, through_click = _both(stocked, arguments)
    assert plain == through_click
    assert (plain[0] == 1) is (arguments != ["list"])
    record = next((stocked.store / "toolkits").glob("*/cudaswitch.json"))
    record.write_text("{")
    plain, through_click = _both(stocked, arguments)
    assert plain == through_click
    assert "so it is skipped" in plain[2] or arguments != ["list"]
    assert (plain[0] == 1) is (arguments != ["list"])


@pytest.mark.parametrize(
    "arguments",
    [
        ["list"],
        ["current"],
        ["which", "sh"],
        ["exec", "--", "true"],
        ["exec", "10.1", "--", "true"],
        [],
        ["--help"],
        ["pin", "--help"],
        ["config", "get", "-h"],
    ],
    ids=" ".join,
)
def test_it_starts_without_click_and_what_else_takes_long(
    stocked: Home, arguments: list[str]
) -> None:
    loaded = _loaded(stocked, arguments)
    heavy = _HEAVY | {"collections", "contextlib", "enum", "functools", "json", "pathlib", "re"}
    assert not loaded & (heavy | {"typing"})
    asks_for_help = arguments[-1:] in ([], ["-h"], ["--help"])
    assert ("cudaswitch.talk" in loaded) is not asks_for_help


@pytest.mark.parametrize(
    "arguments", [["init", "bash"], ["init", "fish"], ["env", "10.1"]], ids=" ".join
)
def test_shell_text_is_printed_without_click(stocked: Home, arguments: list[str]) -> None:
    """Texts for shells are printed without click: some are in startup files, where shells wait."""
    assert not _loaded(stocked, arguments) & _HEAVY


@pytest.mark.parametrize("asked", ["--", "--for-use"])
def test_shells_are_answered_without_click(stocked: Home, asked: str) -> None:
    late = {"click", "typing", "cudaswitch.hooks"}
    assert not _loaded(stocked, ["want", asked, ">=10"]) & late


def test_settings_cost_no_library(stocked: Home) -> None:
    """Settings are read without a library as `config set` writes them, else by the library."""
    for setting in (
        ["channels", "conda-forge", "nvidia"],
        ["offline", "true"],
        ["jobs", "8"],
        ["stores", str(stocked.path / "a store")],
        ["libraries", "never"],
        ["mirrors.conda", "https://host.invalid/conda:1?[#"],
    ):
        succeeded(stocked.run("config", "set", *setting))
    assert not _loaded(stocked, ["list"]) & {"tomllib", "tomli", "re"}
    file = Path(json.loads(stocked.run("config", "list", "--json").stdout)["file"])
    file.write_text(file.read_text().replace("jobs = 8", "jobs = 0x8  # as many as cores"))
    assert _loaded(stocked, ["list"]) & {"tomllib", "tomli"}
    assert stocked.run("config", "get", "jobs").stdout == "8\n"


_NEEDLESS = {
    "config list": set(),
    "install 10.1 --offline": {"cudaswitch.resolver", "cudaswitch.sources.pypi", "zipfile"},
    "search --from runfile": {"cudaswitch.resolver", "cudaswitch.sources.channels"},
    "sync": {"cudaswitch.resolver", "cudaswitch.sources.pip_process"},
    "verify": {"cudaswitch.mending", "cudaswitch.install", "cudaswitch.sources.exact"},
}
"""Command → modules that it has no use for where there is little to do."""


@pytest.mark.parametrize("command", _NEEDLESS)
def test_a_command_loads_what_it_needs(stocked: Home, pair: list[Path], command: str) -> None:
    succeeded(stocked.run("lock", *pair))
    loaded = _loaded(stocked, command.split())
    assert "click" in loaded
    # What loads `inspect` and `dis`: threads of Python 3.14, and deprecations of 3.13 and newer.
    loading = "packaging.version" in loaded and sys.version_info >= (3, 13)
    loading |= "concurrent.futures.thread" in loaded and sys.version_info >= (3, 14)
    late = set() if loading else {"inspect", "dis"}
    assert not loaded & (_NEEDLESS[command] | late)


def test_verify_without_files_starts_no_threads(home: Home) -> None:
    assert not _loaded(home, ["verify"]) & {"concurrent.futures", "hashlib"}


def test_postponed_inspect_is_inspect() -> None:
    asked = (
        "import sys; from cudaswitch.postponed import inspect_postponed\n"
        "with inspect_postponed(): import inspect as early\n"
        "assert 'inspect' not in sys.modules\n"
        "one, two = '  a\\tline ', ' first\\n    second\\n  third'\n"
        "short = early.cleandoc(one)\n"
        "class Named: __annotations__ = {'name': 'str'}\n"
        "named = early.get_annotations(Named)\n"
        "assert 'inspect' not in sys.modules\n"
        "import inspect as late\n"
        "assert short == late.cleandoc(one) and early.cleandoc(two) == late.cleandoc(two)\n"
        "assert named == late.get_annotations(Named) == {'name': 'str'}\n"
        "assert early.get_annotations(Named, eval_str=True) == {'name': str}\n"
        "assert early.get_annotations(late.cleandoc) == late.get_annotations(late.cleandoc)\n"
        "assert early is not late and early.signature is late.signature\n"
        "with inspect_postponed(): import inspect as again\n"
        "assert again is late\n"
        "for name in ('inspect', 'dis', 'ast'): del sys.modules[name]\n"
        "with inspect_postponed(): import inspect as lazy; lazy.signature(len)\n"
        "import inspect; assert inspect.signature is lazy.signature"
    )
    subprocess.run([sys.executable, "-c", asked], check=True)


@pytest.mark.parametrize("waiting", [False, True])
def test_a_process_ends_at_once_but_for_threads(waiting: bool) -> None:
    """A process writes its output and skips Python's own end, unless a thread still runs."""
    started = (
        "import atexit, sys, threading; from cudaswitch.__main__ import entry\n"
        "atexit.register(print, 'late')\n"
        "end = threading.main_thread().join\n"
        "thread = threading.Thread(target=lambda: (end(), print('worked')))\n"
        f"{'thread.start()' if waiting else ''}\n"
        "sys.argv[1:] = ['which']; sys.exit(entry())"
    )
    done = subprocess.run(
        [sys.executable, "-c", started], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stdout == ("worked\nlate\n" if waiting else "")
    assert done.stderr.startswith("cudaswitch: Missing argument")


def test_what_cannot_be_written_is_told(stocked: Home) -> None:
    for words in ("list", "--version", "config list"):
        done = _in_bash(stocked, f"{words} > /dev/full")
        assert (done.returncode, done.stderr) == (1, "cudaswitch: No space left on device\n")


def test_what_a_command_finds_is_written_or_told(stocked: Home) -> None:
    [file] = (stocked.store / "packages").glob("*-10.1.243-*/tree/**/libcudart.so.10.1.243")
    file.unlink()
    for rest in ("| cat", "> /dev/full"):
        done = _in_bash(stocked, f"verify {rest}")
        assert done.returncode == 1
        assert ("libcudart.so.10.1.243" in done.stdout) is (rest == "| cat")
        assert ("No space left" in done.stderr) is (rest != "| cat")


def _in_bash(home: Home, words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", f"set -o pipefail; '{console_script()}' {words}"],
        env=home.env,
        capture_output=True,
        text=True,
        check=False,
    )


def _loaded(home: Home, arguments: list[str]) -> set[str]:
    """Return the modules that a command line loads."""
    started = "import sys; from cudaswitch.__main__ import main; sys.exit(main())"
    done = subprocess.run(
        # Not the launcher, in which some installers load a slow module.
        [sys.executable, "-X", "importtime", "-c", started, *arguments],
        env=home.env,
        cwd=home.path,
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "cudaswitch" in loaded
    return loaded


def test_a_reader_that_goes_away_is_no_error(stocked: Home) -> None:
    line = f"'{console_script()}' list | : ; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", line], env=stocked.env, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_program_keeps_its_arguments_and_its_name(stocked: Home) -> None:
    """`exec` searches PATH as shells do: an empty entry is the working directory."""
    tool = stocked.path / "tool"
    tool.write_text('#!/bin/sh\necho "$0 $*"\n')
    refused(
        stocked.run("exec", "10.1", "--", "tool"),
        "`tool` is not on PATH",
        code=127,
        hint="check its name",
    )
    tool.chmod(0o755)
    path = os.pathsep.join(["", stocked.env["PATH"]])
    [said] = succeeded(stocked.run("exec", "10.1", "--", "tool", "a  b", PATH=path))
    assert said.endswith("tool a  b")
    [said] = succeeded(stocked.run("exec", "10.1", "--", "./tool"))
    assert said == "./tool "


def test_a_script_that_says_not_what_runs_it(stocked: Home, tmp_path: Path) -> None:
    """A script without `#!` is run by sh, as `env`, `nice` and every shell do."""
    script = executable(tmp_path / "script", 'echo "$0 $1 $CUDA_HOME"\n')
    [said] = succeeded(stocked.run("exec", "10.1", "--", script, "a b"))
    assert said.startswith(f"{script} a b {stocked.store}/toolkits/10.1")
    script.chmod(0o644)
    done = stocked.run("exec", "10.1", "--", script)
    assert (done.returncode, done.stderr) == (
        127,
        f"cudaswitch: `{script}` exists, but is not executable\nhint: chmod +x {script}\n",
    )


def test_a_program_that_cannot_be_run(stocked: Home, tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_bytes(b"#!/bin/sh\r\necho here\r\n")
    closed, foreign = tmp_path / "closed", tmp_path / "foreign"
    closed.write_text(f"#!{script.with_name('data')}\n")
    script.with_name("data").touch(0o644)
    foreign.write_bytes(b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x02\0\xff\xff" + bytes(44))
    for path in (script, closed, foreign):
        path.chmod(0o755)
    for tool, why in (
        (script, f"`{script}` is run by `/bin/sh\\r`, which does not exist"),
        (closed, f"`{closed}` is run by `{tmp_path}/data`, which is not executable"),
        (tmp_path, f"`{tmp_path}` is a folder, not a program"),
        ("", "there is no program ``"),
    ):
        refused(stocked.run("exec", "10.1", "--", tool), why, code=127, hint=None)
    refused(
        stocked.run("exec", "10.1", "--", foreign), "is not a program for this machine", hint=None
    )


def test_a_program_where_path_is_unset(stocked: Home) -> None:
    command = ["env", "-u", "PATH", console_script(), "exec", "10.1", "--", "ls", "/"]
    done = subprocess.run(command, env=stocked.env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_what_a_program_calls_is_found_where_path_is_unset(stocked: Home) -> None:
    """Where PATH is unset, `exec` hides none of the folders that programs search then."""
    command = ["env", "-u", "PATH", console_script(), "exec", "10.1", "--", "sh", "-c", "ls -d /"]
    done = subprocess.run(command, env=stocked.env, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("/\n", "")


@pytest.mark.parametrize("locale", [{}, {"LANG": "C"}, {"LC_CTYPE": "C"}, {"LC_ALL": "C.UTF-8"}])
def test_exec_adds_no_locale(stocked: Home, locale: dict[str, str]) -> None:
    """`exec` passes on no locale that Python sets for itself where the locale is C (PEP 538)."""
    kept = {name: at for name, at in stocked.env.items() if not name.startswith(("LC_", "LANG"))}
    for request in ("10.1", "system"):
        done = subprocess.run(
            [console_script(), "exec", request, "--", "env"],
            env=kept | locale, capture_output=True, text=True, check=True,
        )  # fmt: skip
        lines = [line for line in done.stdout.splitlines() if line.startswith(("LC_", "LANG"))]
        assert lines == [f"{name}={value}" for name, value in locale.items()]


def test_messages_that_a_shell_passes_on(stocked: Home, tmp_path: Path) -> None:
    many = stocked.run("want", "--for-use", "1", "2")
    refused(many, "extra argument", code=2, hint="cudaswitch use --help")
    assert "\\x" not in refused(stocked.run("completion"), "bash", code=2)
    gone = tmp_path / "gone"
    gone.mkdir()
    command = f"cd '{gone}'; rmdir '{gone}'; exec '{console_script()}' pin 10.1 --dir ."
    done = subprocess.run(
        ["sh", "-c", command], env=stocked.env, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (
        1,
        "cudaswitch: the working directory no longer exists\nhint: change to another directory\n",
    )

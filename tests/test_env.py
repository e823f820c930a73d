"""`env`: the change for each format and shell, read back as its consumers read it."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import builders
from adoptable import toolkit
from checks import refused, succeeded
from homes import Home, make_home
from shells.conda import conda_prefix
from stock import BARE, FULL, kit
from tools import console_script, require

BEFORE = {"LD_LIBRARY_PATH": "/o'ne:/t $wo`x`\"", "PATH": "/usr/bin:/bin:/s p\\ace"}


def expected(home: Home) -> dict[str, str]:
    toolkit = str(kit(home))
    return {
        "CUDA_HOME": toolkit,
        "CUDA_PATH": toolkit,
        "CUDAToolkit_ROOT": toolkit,
        "PATH": f"{toolkit}/bin:{BEFORE['PATH']}",
        "LD_LIBRARY_PATH": f"{toolkit}/lib64:{BEFORE['LD_LIBRARY_PATH']}",
    }


def test_env_as_json(lent: Home) -> None:
    done = lent.run("env", "10.1", "--format", "json", **BEFORE)
    assert json.loads("\n".join(succeeded(done))) == expected(lent)
    inside = lent.run(
        "exec", "10.1", "--", console_script(), "env", "system", "--format", "json",
        CUDA_HOME="/mine",
    )  # fmt: skip
    back = json.loads("\n".join(succeeded(inside)))
    assert (back["CUDA_HOME"], back["CUDA_PATH"]) == ("/mine", None)
    assert str(lent.store) not in json.dumps(back)


def read_by_a_shell(file: Path, *shell: str) -> dict[str, str | None]:
    script = f"set -a; . ./{file.name}; set +a; /usr/bin/env -0"
    read = subprocess.run(
        [*(shell or ["/bin/sh"]), "-euc", script],
        env={},
        cwd=file.parent,
        capture_output=True,
        text=True,
        check=True,
    )
    pairs = [pair.partition("=") for pair in read.stdout.split("\0") if pair]
    return {name: value for name, _, value in pairs}


def read_by_zsh(file: Path) -> dict[str, str | None]:
    return read_by_a_shell(file, require("zsh"), "-f")


def read_by_python_dotenv(file: Path) -> dict[str, str | None]:
    values: dict[str, str | None] = pytest.importorskip("dotenv").dotenv_values(file)
    return values


@pytest.mark.parametrize("read", [read_by_a_shell, read_by_zsh, read_by_python_dotenv])
@pytest.mark.parametrize(
    "value",
    [
        "/usr/lib:/o+t_h.e-r@1%,2",
        "/usr/lib:=ls/lib",
        '/a b:~/c#d:!e"f&(g)[h]{i}*?<j>|\\k è',
        '/t $wo`x`$(touch trap)"',
        "/o'ne\"",
        "/two\\\\:/one\\",
        "/a\nEVIL=1",
        "/it's\nEVIL=1",
    ],
)
def test_env_as_dotenv_is_read_alike_by_those_who_take_it(
    lent: Home, tmp_path: Path, value: str, read: Callable[[Path], dict[str, str | None]]
) -> None:
    done = lent.run("env", "10.1", "--format", "dotenv", LD_LIBRARY_PATH=value)
    # Docker takes what follows the equals sign as it is.
    assert f"CUDA_HOME={kit(lent)}" in succeeded(done)
    (tmp_path / ".env").write_text(done.stdout)
    wanted = expected(lent) | {"LD_LIBRARY_PATH": f"{kit(lent)}/lib64:{value}"}
    del wanted["PATH"]
    found = read(tmp_path / ".env")
    assert {name: found.get(name) for name in wanted} == wanted
    assert "EVIL" not in found
    assert not (tmp_path / "trap").exists()


def test_zsh_reads_what_is_given_back(lent: Home, tmp_path: Path) -> None:
    words = [console_script(), "env", "system", "--format", "dotenv"]
    done = lent.run("exec", "10.1", "--", *words, LD_LIBRARY_PATH="=ls/lib")
    (tmp_path / ".env").write_text("\n".join(succeeded(done)))
    assert read_by_zsh(tmp_path / ".env")["LD_LIBRARY_PATH"] == "=ls/lib"


def test_env_for_github(lent: Home) -> None:
    lines = succeeded(lent.run("env", "10.1", "--format", "github", **BEFORE))
    assert dict(line.split("=", 1) for line in lines) == expected(lent)
    # A line break in a value must not begin a variable of its own.
    hostile = "/a\nEVIL=1\ncudaswitch\ncudaswitch_\n%0A ::set-env::'\"é"
    done = lent.run("env", "10.1", "--format", "github", LD_LIBRARY_PATH=hostile)
    found = read_as_github_does(done.stdout)
    assert found["LD_LIBRARY_PATH"] == f"{kit(lent)}/lib64:{hostile}"
    assert "EVIL" not in found


@pytest.mark.parametrize("form", ["dotenv", "github"])
def test_a_file_that_cannot_unset_hides_no_gpu(lent: Home, form: str) -> None:
    """Formats that cannot unset leave out the list of GPUs: an empty one hides all from CUDA."""
    chosen = ("exec", "10.1", "--gpus", "0", "--", console_script(), "env")
    done = lent.run(*chosen, "10.1", "--cudnn", "none", "--format", form)
    names = {line.partition("=")[0] for line in succeeded(done)}
    assert "CUDA_HOME" in names
    assert not names & {"CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"}
    [said] = done.stderr.splitlines()
    assert said.startswith("cudaswitch: CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER: left out")
    # A value that is given back is not empty, so it is written.
    mine = lent.run(*chosen, "system", "--format", form, CUDA_VISIBLE_DEVICES="3")
    given_back = [line for line in succeeded(mine) if line.startswith("CUDA_VISIBLE_DEVICES=")]
    assert given_back == ["CUDA_VISIBLE_DEVICES=3"]


def test_env_for_cmd(lent: Home) -> None:
    variables = {"LD_LIBRARY_PATH": "/50%/a&b|c^d<e>!f'g"}
    done = lent.run("env", "10.1", "--shell", "cmd", **variables)
    lines = [line for line in done.stdout.split("\n") if line]
    assert f'@set "CUDA_HOME={str(kit(lent)).replace("%", "%%")}"' in [*map(str.strip, lines)]
    read = {}
    for line in lines:
        assert line.startswith('@set "')
        assert line.rstrip("\r").endswith('"')
        name, _, value = line.rstrip("\r")[6:-1].partition("=")
        assert not value.replace("%%", "").count("%"), line
        read[name] = value.replace("%%", "%")
    assert read["LD_LIBRARY_PATH"] == f"{kit(lent)}/lib64:{variables['LD_LIBRARY_PATH']}"
    back = lent.run("env", "system", "--shell", "cmd", **variables | read).stdout
    assert '@set "CUDA_HOME="' in back
    assert f'@set "LD_LIBRARY_PATH={variables["LD_LIBRARY_PATH"].replace("%", "%%")}"' in back
    for hostile in ('/a"b', "/a\nset EVIL=1"):
        odd = lent.run("env", "10.1", "--shell", "cmd", LD_LIBRARY_PATH=hostile)
        refused(odd, "LD_LIBRARY_PATH", "batch file", hint="another shell")


def read_as_github_does(text: str) -> dict[str, str]:
    """Read an environment file as the runner documents it: `N=V`, or `N<<END` ... `END`."""
    found, lines = {}, iter(text.splitlines())
    for line in lines:
        name, heredoc, end = line.partition("<<")
        if heredoc and "=" not in name:
            found[name] = "\n".join(iter(lambda end=end: next(lines), end))
        else:
            name, _, found[line.partition("=")[0]] = line.partition("=")
    return found


def test_env_as_a_modulefile_is_tcl(tmp_path: Path) -> None:
    """A modulefile is quoted for Tcl, where brackets within quotes run commands."""
    tclsh = require("tclsh")
    home = make_home(tmp_path / "a [exec touch trap] {è} #")
    succeeded(home.run("install", builders.cudatoolkit_10_1(tmp_path)))
    folder = kit(home, BARE)
    done = home.run("env", "10.1", "--format", "modulefile", **BEFORE)
    assert done.stdout.startswith("#%Module1.0\n")
    (tmp_path / "module").write_text(done.stdout)
    (tmp_path / "read.tcl").write_text(
        "fconfigure stdout -encoding utf-8\n"
        'proc pushenv {n v} {puts "set $n $v"}\n'
        'proc prepend-path {n v} {puts "add $n $v"}\n'
        "source module\n"
    )
    read = subprocess.run(
        [tclsh, "read.tcl"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert sorted(read.stdout.splitlines()) == sorted(
        [f"set {name} {folder}" for name in ("CUDA_HOME", "CUDA_PATH", "CUDAToolkit_ROOT")]
        + [f"add PATH {folder}/bin", f"add LD_LIBRARY_PATH {folder}/lib64"]
    )
    assert not (tmp_path / "trap").exists()


def test_a_modulefile_has_the_order_of_a_shell(home: Home, tmp_path: Path) -> None:
    """A modulefile lists folders in reverse, as each line puts its own before those above."""
    place = toolkit(tmp_path / "cuda-11.2")
    (place / "extras/CUPTI/lib64").mkdir(parents=True)
    succeeded(home.run("adopt", place))
    lines = succeeded(home.run("env", "11.2", "--format", "modulefile"))
    added = [line.split('"')[1] for line in lines if line.startswith("prepend-path LD_")]
    change = json.loads(home.run("env", "11.2", "--format", "json", LD_LIBRARY_PATH=None).stdout)
    assert len(added) == 2
    assert ":".join(reversed(added)) == change["LD_LIBRARY_PATH"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "sh", "dash"])
def test_env_for_shells(lent: Home, shell: str) -> None:
    program = require("dash" if shell == "sh" else shell)
    text = "\n".join(succeeded(lent.run("env", "10.1", "--shell", shell)))
    options = {"fish": ["--no-config"], "zsh": ["-f"]}.get(shell, [])
    done = subprocess.run(
        [program, *options, "-c", text + "\nprintenv CUDA_HOME"],
        env=lent.env, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == f"{kit(lent)}\n"


def test_env_of_an_unknown_shell(lent: Home) -> None:
    done = lent.run("env", "10.1", "--shell", "command.com")
    refused(done, "unknown shell `command.com`", code=2, hint="nu, cmd, elvish")
    unknown = lent.run("env", "10.1", SHELL="/bin/strange")
    assert succeeded(unknown) == succeeded(lent.run("env", "10.1", "--shell", "sh"))


@pytest.mark.parametrize(
    ("name", "row"),
    [("dash", "sh"), ("ash", "sh"), ("yash", "sh"), ("strange", "sh"), ("csh", "tcsh")],
)
def test_env_of_a_shell_that_is_another_ones_kin(lent: Home, name: str, row: str) -> None:
    """dash gets sh's words, and csh those of tcsh: neither understands bash's."""
    mine = lent.run("env", "10.1", SHELL=f"/bin/{name}")
    assert succeeded(mine) == succeeded(lent.run("env", "10.1", "--shell", row))
    hint = "init tcsh" if row == "tcsh" else "env 10.1 --shell sh"
    refused(lent.run("use", "10.1", SHELL=f"/bin/{name}"), "`use`", hint=hint)


def typed(home: Home, command: list[str], login: str) -> subprocess.CompletedProcess[str]:
    """Run a command that finds `cudaswitch` on PATH, with `login` as the user's own shell."""
    path = f"{Path(console_script()).parent}:{home.env['PATH']}"
    env = home.env | {"SHELL": f"/usr/bin/{login}", "PATH": path}
    return subprocess.run(
        command, env=env, cwd=home.path, capture_output=True, text=True, check=False
    )


EVALUATE = 'eval "$(cudaswitch env 10.1)"; echo "$CUDA_HOME"'


@pytest.mark.parametrize("login", ["bash", "fish", "tcsh", "none"])
@pytest.mark.parametrize("shell", ["dash", "bash", "zsh", "fish", "busybox sh", "make"])
def test_env_is_for_the_shell_that_asks(lent: Home, tmp_path: Path, shell: str, login: str) -> None:
    """`env` is for the shell that runs it, as in a script, a recipe or a shell, not for $SHELL."""
    name, *more = shell.split()
    command = [require(name), *more, "-c", EVALUATE]
    if shell == "make":
        recipe = EVALUATE.replace("$", "$$")
        (tmp_path / "Makefile").write_text(f"all:\n\t@{recipe}\n")
        command = [require("make"), "-C", str(tmp_path), "-s"]
    done = typed(lent, command, login)
    assert succeeded(done) == [str(kit(lent))]


def test_env_is_for_a_shell_that_was_updated_while_it_is_open(lent: Home, tmp_path: Path) -> None:
    """`env` recognizes a shell whose program was replaced, or has a version in its name."""
    shell = tmp_path / "fish-3.6.1"
    shutil.copy(require("fish"), shell)
    script = f"rm {shell}; cudaswitch env 10.1 | source; echo $CUDA_HOME"
    assert succeeded(typed(lent, [shell, "-c", script], "bash")) == [str(kit(lent))]


HINTS = {
    "dash": 'eval "$(cudaswitch env 10.1 --shell sh)"',
    "yash": 'eval "$(cudaswitch env 10.1 --shell sh)"',
    "bash": 'eval "$(cudaswitch init bash)"',
    "fish": "cudaswitch init fish | source",
    "tcsh": 'eval "`cudaswitch init tcsh`"',
    "elvish": "eval (cudaswitch env 10.1 --shell elvish | slurp)",
}


@pytest.mark.parametrize("shell", HINTS)
def test_the_hint_is_for_the_shell_that_asks(lent: Home, shell: str) -> None:
    done = typed(lent, [require(shell), "-c", "cudaswitch use 10.1; true"], "bash")
    assert f"hint: {HINTS[shell]}" in done.stderr.splitlines()


SH = 'eval "$(cudaswitch env {} --shell sh)"'
WITHOUT = {
    **dict.fromkeys(("dash", "yash", "busybox sh"), SH),
    "elvish": "eval (cudaswitch env {} --shell elvish | slurp)",
    **dict.fromkeys(("ksh", "mksh"), "cudaswitch exec {} -- ksh"),
}
"""Shell without an integration → what brings a request into it."""


@pytest.mark.parametrize("shell", WITHOUT)
def test_current_names_what_a_shell_without_integration_has(
    lent: Home, tmp_path: Path, shell: str
) -> None:
    """`current` names what works in such a shell, since neither `init --install` nor `use` does."""
    name, *more = shell.split()

    def hint(*before: str | Path) -> str:
        command = [*map(str, before), require(name), *more, "-c", "cudaswitch current; true"]
        return typed(lent, command, name).stderr.splitlines()[-1].removeprefix("hint: ")

    there = WITHOUT[shell].format(FULL)
    exec_ = (console_script(), "exec", "10.1", "--", "env")
    assert hint(*exec_, "CUDA_HOME=/x") == there
    assert hint("env", "_CUDASWITCH_U=/gone") == WITHOUT[shell].format("system")
    # Shells that read hooks get them with the activation.
    prefix = conda_prefix(tmp_path / "env")
    succeeded(lent.run("pin", "10.1", "-p", prefix))
    inside = "activate the environment again" if WITHOUT[shell] == SH else there
    assert hint("env", f"CONDA_PREFIX={prefix}") == inside
    assert hint("env", "CUDASWITCH_VERSION=10.1") == there


def test_current_in_a_shell_that_we_do_not_know(lent: Home) -> None:
    done = lent.run("current", CUDASWITCH_VERSION="10.1", SHELL="/bin/strange")
    assert done.stderr.splitlines()[-1] == f"hint: {SH.format(FULL)}"

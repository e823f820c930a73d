"""Every command as a person or a script meets it: help, exit codes, streams, formats."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import builders
from checks import PYTHON, RUNTIME_ANSWER, refused, succeeded
from cudaswitch.cli import COMMANDS
from homes import Home, make_home
from shells.conda import conda_prefix
from tools import console_script, require

BARE, FULL = "10.1.243", "10.1.243+cudnn7.6.5"
SHOWN = [name for name, (_, line) in COMMANDS.items() if line]


@pytest.fixture(scope="module")
def stocked(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """A home with cudatoolkit 10.1.243, bare and with cuDNN 7.6.5; shared, not to be changed."""
    folder = tmp_path_factory.mktemp("stocked")
    home = make_home(folder)
    files = [builders.cudatoolkit_10_1(folder), builders.cudnn_7_6_5(folder)]
    assert succeeded(home.run("install", *files)) == [BARE, FULL]
    return home


def kit(home: Home, name: str = FULL) -> Path:
    return home.store / "toolkits" / name


# -- help and wrong usage ----------------------------------------------------------------


@pytest.mark.parametrize("command", SHOWN)
def test_help_shows_an_example(home: Home, command: str) -> None:
    done = home.run(command, "--help")
    text = "\n".join(succeeded(done))
    assert text.startswith("Usage: cudaswitch ")
    first, *further = text.partition("Example: ")[2].splitlines()
    # Each is whole, on a line of its own.
    for example in (first, *further):
        assert re.match(
            r'(cudaswitch|eval "\$\(cudaswitch|source <\(cudaswitch) ', example.strip()
        ), text
    assert done.stderr == ""
    assert home.run(command, "-h").stdout == done.stdout
    assert not home.store.exists()


@pytest.mark.parametrize("command", SHOWN)
def test_help_waits_for_nothing_that_only_the_work_needs(home: Home, command: str) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", console_script(), command, "--help"],
        env=home.env, capture_output=True, text=True, check=True,
    )  # fmt: skip
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert {"click", "cudaswitch.cli"} <= loaded
    heavy = {"requests", "urllib3", "asyncio", "yaml", "msgpack", "isal", "packaging.markers"}
    assert not loaded & (heavy | {"rattler", "conda_package_streaming", "cudaswitch.archives.zips"})


def test_help_lists_every_command(home: Home) -> None:
    text = "\n".join(succeeded(home.run("--help")))
    for command in SHOWN:
        assert re.search(rf"^  {command} +\S", text, re.MULTILINE), command
    assert max(map(len, text.splitlines())) <= 100
    for group in ("shims", "config"):
        assert "...\n" not in home.run(group, "--help").stdout.partition("Commands:")[2]


WRONG = {
    "no such command": ["instal"],
    "no such option": ["list", "--jsn"],
    "nothing to install": ["install"],
    "nothing to remove": ["remove"],
    "too much": ["current", "10.1"],
    "an odd choice": ["install", "x.conda", "--platform", "amiga"],
    "an odd source": ["install", "13.0", "--from", "apt"],
    "no command behind exec": ["exec", "10.1"],
    "nothing behind --": ["exec", "10.1", "--"],
    "two requests": ["exec", "10.1", "10.2", "--", "true"],
    "cuDNN for what is active": ["exec", "--cudnn", "7.6", "--", "true"],
    "two places": ["pin", "10.1", "--global", "--dir", "."],
    "two environments": ["resolve", "-n", "a", "-p", "b"],
    "two spellings": ["env", "10.1", "--shell", "bash", "--format", "json"],
    "no value": ["install", "x.conda", "--sha256"],
    "a hash of a version": ["install", "13.0", "--sha256", "0" * 64],
    "cuDNN by version with a file": ["install", "./x.conda", "--cudnn", "7.6"],
    "half an alias": ["alias", "lab"],
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_usage(home: Home, case: str) -> None:
    refused(home.run(*WRONG[case]), code=2, hint="--help")
    assert not home.store.exists()


def test_a_typo_names_what_was_meant(home: Home) -> None:
    message = refused(home.run("instal", "13.0"), "instal", code=2, hint="")
    assert message.splitlines()[0].endswith("No such command 'instal'. Did you mean 'install'?")
    assert "Did you mean" not in refused(home.run("xyzzy"), "xyzzy", code=2, hint="")


def test_without_arguments_it_tells_what_it_can(home: Home) -> None:
    assert succeeded(home.run()) == succeeded(home.run("--help"))


def test_version(home: Home) -> None:
    from cudaswitch import __version__

    assert succeeded(home.run("--version")) == [f"cudaswitch {__version__}"]
    module = subprocess.run(
        [sys.executable, "-m", "cudaswitch", "--version"],
        env=home.env, cwd="/", capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert module.stdout == f"cudaswitch {__version__}\n"


# -- exec --------------------------------------------------------------------------------


def test_exec_passes_arguments_and_exit_codes(stocked: Home) -> None:
    odd = ["a b", "", "--help", "--", "$HOME", "*", "'", "\n", "-x"]
    show = [PYTHON, "-c", "import sys; print(sys.argv[1:])", *odd]
    assert succeeded(stocked.run("exec", "10.1", "--", *show)) == [str(odd)]
    for code in (0, 1, 2, 42, 127, 255):
        done = stocked.run("exec", "10.1", "--", "sh", "-c", f"exit {code}")
        assert (done.returncode, done.stderr) == (code, "")
    assert stocked.run("exec", "10.1", "--", "cat", stdin="in").stdout == "in"


def test_exec_becomes_the_command(stocked: Home) -> None:
    child = subprocess.Popen(
        [console_script(), "exec", "10.1", "--", "sh", "-c", "echo $$; exec sleep 60"],
        env=stocked.env, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert child.stdout
    assert int(child.stdout.readline()) == child.pid
    child.send_signal(signal.SIGTERM)
    assert child.wait(10) == -signal.SIGTERM


def test_exec_without_a_request(stocked: Home, tmp_path: Path) -> None:
    show = ["exec", "--", "printenv", "CUDA_HOME"]
    done = stocked.run(*show)
    assert (done.returncode, done.stdout) == (1, "")
    (tmp_path / ".cuda-version").write_text("10.1\n")
    assert succeeded(stocked.run(*show, cwd=tmp_path)) == [str(kit(stocked))]
    inside = tmp_path / "a/b"
    inside.mkdir(parents=True)
    assert succeeded(stocked.run(*show, cwd=inside)) == [str(kit(stocked))]
    (tmp_path / ".cuda-version").write_text("cuda 10.1\ncudnn none\n")
    assert succeeded(stocked.run(*show, cwd=inside)) == [str(kit(stocked, BARE))]
    chosen = stocked.run(*show, cwd=inside, CUDASWITCH_VERSION="10.1+cudnn7")
    assert succeeded(chosen) == [str(kit(stocked))]
    (tmp_path / ".cuda-version").write_text("11.0\n")
    message = refused(stocked.run(*show, cwd=inside), "CUDA 11.0", "not installed", hint="install")
    assert f"{tmp_path}/.cuda-version:1" in message


def test_exec_takes_cudnn_and_libraries(stocked: Home) -> None:
    for options, name in ((["--cudnn", "none"], BARE), (["--cudnn", "7.6"], FULL)):
        done = stocked.run("exec", "10.1", *options, "--", "printenv", "LD_LIBRARY_PATH")
        assert succeeded(done) == [str(kit(stocked, name) / "lib64")]
    refused(stocked.run("exec", "10.1", "--cudnn", "8", "--", "true"), "with cuDNN 8", hint="8")
    done = stocked.run("exec", "10.1", "--libraries", "never", "--", "printenv", "LD_LIBRARY_PATH")
    assert (done.returncode, done.stdout) == (1, "")


def test_exec_takes_libraries_for_what_is_active(stocked: Home, tmp_path: Path) -> None:
    (tmp_path / ".cuda-version").write_text("cuda 10.1\nlibraries never\n")
    show = ["--", "sh", "-c", "echo $CUDA_HOME ${LD_LIBRARY_PATH-unset}"]
    for mode, expected in (("never", "unset"), ("always", f"{kit(stocked)}/lib64")):
        done = stocked.run("exec", "--libraries", mode, *show, cwd=tmp_path)
        assert succeeded(done) == [f"{kit(stocked)} {expected}"]
    done = stocked.run("exec", "--libraries", "never", *show, CUDASWITCH_VERSION="10.1")
    assert succeeded(done) == [f"{kit(stocked)} unset"]


def test_exec_loads_the_libraries(stocked: Home) -> None:
    ask = [PYTHON, "-c", RUNTIME_ANSWER, "libcudart.so.10.1"]
    assert succeeded(stocked.run("exec", "10.1", "--", *ask)) == ["10010"]
    assert stocked.run("exec", "system", "--", *ask).returncode == 1
    nested = stocked.run("exec", "10.1", "--", console_script(), "exec", "system", "--", *ask)
    assert nested.returncode == 1


def test_exec_never_takes_the_tool_of_another_toolkit(stocked: Home, tmp_path: Path) -> None:
    """10.1.243 of conda has no nvcc; one further down PATH would compile for the wrong CUDA."""
    other = tmp_path / "other"
    (other / "bin").mkdir(parents=True)
    (other / "bin" / "nvcc").write_text("#!/bin/sh\necho other\n")
    (other / "bin" / "nvcc").chmod(0o755)
    (other / "version.txt").write_text("CUDA Version 11.8.89\n")
    succeeded(stocked.run("adopt", other))
    path = f"{other / 'bin'}:{stocked.env['PATH']}"
    done = stocked.run("exec", "10.1", "--", "nvcc", PATH=path)
    refused(done, "CUDA 10.1.243+cudnn7.6.5 has no `nvcc`", code=127, hint="11.8.89")
    assert succeeded(stocked.run("exec", "11.8", "--", "nvcc")) == ["other"]
    assert succeeded(stocked.run("exec", "system", "--", "nvcc", PATH=path)) == ["other"]


def test_exec_of_what_is_not_there(stocked: Home, tmp_path: Path) -> None:
    refused(
        stocked.run("exec", "10.1", "--", "nothing-of-it"), "nothing-of-it", code=127, hint=None
    )
    script = tmp_path / "data"
    script.write_bytes(b"no\0program")
    refused(stocked.run("exec", "10.1", "--", script), str(script), code=127, hint=None)
    script.chmod(0o755)
    refused(stocked.run("exec", "10.1", "--", script), str(script), hint=None)


# -- env ---------------------------------------------------------------------------------

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


def test_env_as_json(stocked: Home) -> None:
    done = stocked.run("env", "10.1", "--format", "json", **BEFORE)
    assert json.loads("\n".join(succeeded(done))) == expected(stocked)
    inside = stocked.run(
        "exec", "10.1", "--", console_script(), "env", "system", "--format", "json",
        CUDA_HOME="/mine",
    )  # fmt: skip
    back = json.loads("\n".join(succeeded(inside)))
    assert (back["CUDA_HOME"], back["CUDA_PATH"]) == ("/mine", None)
    assert str(stocked.store) not in json.dumps(back)


def test_env_as_dotenv_is_read_back_by_a_shell(stocked: Home, tmp_path: Path) -> None:
    done = stocked.run("env", "10.1", "--format", "dotenv", **BEFORE)
    assert done.returncode == 0
    (tmp_path / ".env").write_text(done.stdout)
    names = list(expected(stocked))
    script = "set -a; . ./.env; set +a; /usr/bin/env -0"
    read = subprocess.run(
        ["/bin/sh", "-euc", script],
        env={},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    found = dict(pair.split("=", 1) for pair in read.stdout.split("\0") if pair)
    assert {name: found[name] for name in names} == expected(stocked)


def test_env_for_github(stocked: Home) -> None:
    lines = succeeded(stocked.run("env", "10.1", "--format", "github", **BEFORE))
    assert dict(line.split("=", 1) for line in lines) == expected(stocked)
    # A line break in a value must not begin a variable of its own.
    hostile = "/a\nEVIL=1\ncudaswitch_\n%0A ::set-env::'\"é"
    done = stocked.run("env", "10.1", "--format", "github", LD_LIBRARY_PATH=hostile)
    found = read_as_github_does(done.stdout)
    assert found["LD_LIBRARY_PATH"] == f"{kit(stocked)}/lib64:{hostile}"
    assert "EVIL" not in found


def test_env_for_cmd(stocked: Home) -> None:
    variables = {"LD_LIBRARY_PATH": "/50%/a&b|c^d<e>!f'g"}
    done = stocked.run("env", "10.1", "--shell", "cmd", **variables)
    lines = [line for line in done.stdout.split("\n") if line]
    assert f'@set "CUDA_HOME={str(kit(stocked)).replace("%", "%%")}"' in [*map(str.strip, lines)]
    read = {}
    for line in lines:
        assert line.startswith('@set "')
        assert line.rstrip("\r").endswith('"')
        name, _, value = line.rstrip("\r")[6:-1].partition("=")
        assert not value.replace("%%", "").count("%"), line
        read[name] = value.replace("%%", "%")
    assert read["LD_LIBRARY_PATH"] == f"{kit(stocked)}/lib64:{variables['LD_LIBRARY_PATH']}"
    back = stocked.run("env", "system", "--shell", "cmd", **variables | read).stdout
    assert '@set "CUDA_HOME="' in back
    assert f'@set "LD_LIBRARY_PATH={variables["LD_LIBRARY_PATH"].replace("%", "%%")}"' in back
    for hostile in ('/a"b', "/a\nset EVIL=1"):
        odd = stocked.run("env", "10.1", "--shell", "cmd", LD_LIBRARY_PATH=hostile)
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


def test_env_as_a_modulefile_is_tcl(stocked: Home, tmp_path: Path) -> None:
    tclsh = require("tclsh")
    done = stocked.run("env", "10.1", "--format", "modulefile", **BEFORE)
    assert done.stdout.startswith("#%Module1.0\n")
    (tmp_path / "module").write_text(done.stdout)
    (tmp_path / "read.tcl").write_text(
        "proc pushenv {n v} {puts [list set $n $v]}\n"
        "proc prepend-path {n v} {puts [list add $n $v]}\n"
        "source module\n"
    )
    read = subprocess.run(
        [tclsh, "read.tcl"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    toolkit = str(kit(stocked))
    assert sorted(read.stdout.splitlines()) == sorted(
        [f"set {name} {toolkit}" for name in ("CUDA_HOME", "CUDA_PATH", "CUDAToolkit_ROOT")]
        + [f"add PATH {toolkit}/bin", f"add LD_LIBRARY_PATH {toolkit}/lib64"]
    )


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "sh", "dash"])
def test_env_for_shells(stocked: Home, shell: str) -> None:
    program = require("dash" if shell == "sh" else shell)
    text = "\n".join(succeeded(stocked.run("env", "10.1", "--shell", shell)))
    options = {"fish": ["--no-config"], "zsh": ["-f"]}.get(shell, [])
    done = subprocess.run(
        [program, *options, "-c", text + "\nprintenv CUDA_HOME"],
        env=stocked.env, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == f"{kit(stocked)}\n"


def test_env_of_an_unknown_shell(stocked: Home) -> None:
    done = stocked.run("env", "10.1", "--shell", "command.com")
    refused(done, "no shell `command.com`", code=2, hint="nu, cmd, elvish")
    unknown = stocked.run("env", "10.1", SHELL="/bin/strange")
    assert succeeded(unknown) == succeeded(stocked.run("env", "10.1", "--shell", "bash"))


@pytest.mark.parametrize(("name", "row"), [("dash", "sh"), ("ash", "sh"), ("csh", "tcsh")])
def test_env_of_a_shell_that_is_another_ones_kin(stocked: Home, name: str, row: str) -> None:
    """bash's words are not dash's, and no csh understands them."""
    mine = stocked.run("env", "10.1", SHELL=f"/bin/{name}")
    assert succeeded(mine) == succeeded(stocked.run("env", "10.1", "--shell", row))
    hint = "init tcsh" if row == "tcsh" else "init bash"
    refused(stocked.run("use", "10.1", SHELL=f"/bin/{name}"), "`use`", hint=hint)


# -- asking ------------------------------------------------------------------------------


def test_current(stocked: Home, tmp_path: Path) -> None:
    def current(*before: str | Path, **more: str) -> dict[str, object]:
        done = stocked.run(*before, console_script(), "current", "--json", cwd=tmp_path, **more)
        data: dict[str, object] = json.loads("\n".join(succeeded(done)))
        return data

    nothing = json.loads(stocked.run("current", "--json", cwd=tmp_path).stdout)
    assert nothing == {
        "toolkit": None, "version": None, "path": None, "origin": "nothing", "agrees": True,
    }  # fmt: skip
    on = {"toolkit": FULL, "version": "10.1.243", "path": str(kit(stocked))}
    used = current("exec", "10.1", "--")
    assert used == {**on, "origin": "this shell (`cudaswitch use`)", "agrees": True}
    (tmp_path / ".cuda-version").write_text("# ours\n10.1\n")
    asked = json.loads(stocked.run("current", "--json", cwd=tmp_path).stdout)
    assert asked == {**on, "origin": f"{tmp_path}/.cuda-version:2", "agrees": False}
    assert current("exec", "--")["agrees"] is True
    spoiled = stocked.run(
        "exec", "10.1", "--", "env", "CUDA_HOME=/x", console_script(), "current", "--json",
    )  # fmt: skip
    assert json.loads(spoiled.stdout)["agrees"] is False
    human = stocked.run("current", cwd=tmp_path)
    assert succeeded(human) == [
        f"{FULL} (asked for by {tmp_path}/.cuda-version:2)", str(kit(stocked)),
    ]  # fmt: skip
    assert "this shell has" in human.stderr
    assert human.stderr.endswith("hint: cudaswitch init --install\n")
    prefix = conda_prefix(tmp_path / "env")
    succeeded(stocked.run("pin", "10.1", "-p", prefix))
    human = stocked.run("current", CONDA_PREFIX=str(prefix))
    assert human.stderr.endswith("hint: activate the environment again\n")
    assert "hint: " in human.stderr


def test_which(stocked: Home, tmp_path: Path) -> None:
    other = tmp_path / "lib64/libcudnn.so.7"
    builders.elf_library(other, "libcudnn.so.7", {"x": 1})
    ask = ["exec", "10.1", "--", console_script(), "which"]
    where = {"LD_LIBRARY_PATH": str(other.parent)}
    found = json.loads("\n".join(succeeded(stocked.run(*ask, "libcudnn.so.7", "--json", **where))))
    assert found.keys() == {"path", "why", "shadows", "consumer", "runs", "notes"}
    assert found["path"] == str(kit(stocked) / "lib64/libcudnn.so.7.6.5")
    assert found["why"] == f"`{kit(stocked)}/lib64` is in LD_LIBRARY_PATH, in CUDA {FULL}"
    assert found["shadows"] == [str(other)]
    human = stocked.run(*ask, "libcudnn.so.7", **where)
    assert succeeded(human) == [found["path"]]
    assert f"shadows {other}" in human.stderr
    refused(stocked.run("which", "nothing-of-it"), "is not found", code=127, hint=None)
    missing = stocked.run("which", "libcudnn.so.7")
    refused(missing, "`libcudnn.so.7` is not found", code=127, hint=f"use {FULL}")
    for odd in ("../../etc/passwd", "", ".", "/etc/passwd", "a\nb"):
        refused(stocked.run("which", odd), "is not found", code=127, hint=None)


RESOLUTION = {
    "cuda", "cudnn", "runs", "bundled", "toolkit", "frameworks", "reasons", "rejected", "hint",
}  # fmt: skip


def test_resolve(stocked: Home, tmp_path: Path) -> None:
    prefix = conda_prefix(tmp_path / "env")
    info = prefix / "lib/python3.7/site-packages/tensorflow_gpu-2.3.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: tensorflow-gpu\nVersion: 2.3.0\n")
    done = stocked.run("resolve", "-p", prefix, "--json", "--driver", "450.80.02")
    data = json.loads("\n".join(succeeded(done)))
    assert data.keys() >= RESOLUTION
    assert (data["cuda"], data["cudnn"], data["toolkit"]) == ("10.1", "7.6", FULL)
    text = "\n".join(succeeded(stocked.run("resolve", "-p", prefix, "--driver", "450.80.02")))
    assert "10.1" in text
    refused(stocked.run("resolve"), "no environment is active", hint="-n or -p")
    refused(stocked.run("resolve", "-p", tmp_path / "none"), "is not there", hint="")
    refused(stocked.run("resolve", "-n", "none"), "no environment `none`", hint="")


def test_use_without_the_integration_says_how_to_get_it(stocked: Home) -> None:
    for arguments in (["use", "10.1"], ["off"], ["use", "-"]):
        refused(stocked.run(*arguments, SHELL="/bin/zsh"), "has not loaded", hint="init zsh")
    refused(stocked.run("use", "11.0"), "CUDA 11.0 is not installed", hint="install 11.0")


def test_init_of_an_unknown_shell(home: Home) -> None:
    refused(home.run("init", "cmd"), "no shell `cmd`", code=2, hint="one of bash")
    refused(home.run("init", "dash"), "has no integration", hint="bash")


PINS = {
    "no environment of that name": (["pin", "10.1", "-n", "none"], "no environment `none`"),
    "an empty name": (["pin", "10.1", "-n", ""], "no environment ``"),
    "no environment there": (["pin", "10.1", "-p", "none"], "is not there"),
    "no such folder": (["pin", "10.1", "--dir", "none"], "is no directory"),
    "not installed": (["pin", "11.0", "--dir", "."], "CUDA 11.0 is not installed"),
    "no version": (["pin", "$(id)", "--dir", "."], "is not a CUDA version"),
    "nothing to unpin": (["unpin", "--dir", "."], "holds no pin"),
}


@pytest.mark.parametrize("case", PINS)
def test_pins_that_cannot_be(stocked: Home, tmp_path: Path, case: str) -> None:
    arguments, word = PINS[case]
    refused(stocked.run(*arguments, cwd=tmp_path), word)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("asked", ["10.1", ">=10,<11", " >=10 , <11 "])
def test_what_a_pin_says_is_read_again(stocked: Home, tmp_path: Path, asked: str) -> None:
    for words in ([], ["--cudnn", "7.6"], ["--libraries", "never", "--gpus", "0"]):
        succeeded(stocked.run("pin", asked, *words, "--dir", ".", cwd=tmp_path))
        assert "10.1.243" in succeeded(stocked.run("current", cwd=tmp_path))[0]


def test_a_range_by_hand_may_have_blanks_behind_its_commas(stocked: Home, tmp_path: Path) -> None:
    file = tmp_path / ".cuda-version"
    file.write_text("cuda >=10.1, <11\ncudnn 7.6\n")
    show = ["exec", "--", "printenv", "CUDA_HOME"]
    assert succeeded(stocked.run(*show, cwd=tmp_path)) == [str(kit(stocked))]
    file.write_text("cuda 10.1, cudnn 7.6\n")
    refused(stocked.run("current", cwd=tmp_path), "10.1, cudnn 7.6", ".cuda-version:1")


BROKEN = {
    "two on a line": "cuda 10.1 cudnn 7.6\n",
    "a command": "$(touch x)\n",
    "two versions": "10.1\n10.2\n",
    "binary": "\udcff\udcfe\0",
    "long": "#" * 5000,
    "empty": "",
    "an odd key": "rocm 5.0\n",
}


@pytest.mark.parametrize("text", BROKEN)
def test_a_broken_version_file(stocked: Home, tmp_path: Path, text: str) -> None:
    file = tmp_path / ".cuda-version"
    file.write_text(BROKEN[text], errors="surrogateescape")
    for command in (["current"], ["exec", "--", "true"]):
        refused(stocked.run(*command, cwd=tmp_path), str(file), hint=None)
    assert list(tmp_path.iterdir()) == [file]

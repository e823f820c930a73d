"""`exec`: one command with a toolkit, and nothing of ours in between."""

from __future__ import annotations

import shlex
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from checks import PYTHON, RUNTIME_ANSWER, refused, succeeded
from homes import Home
from mounts import in_own_mounts
from stock import BARE, FULL, kit
from tools import console_script, executable


def test_exec_passes_arguments_and_exit_codes(lent: Home) -> None:
    odd = ["a b", "", "--help", "--", "$HOME", "*", "'", "\n", "-x"]
    show = [PYTHON, "-c", "import sys; print(sys.argv[1:])", *odd]
    assert succeeded(lent.run("exec", "10.1", "--", *show)) == [str(odd)]
    for code in (0, 1, 2, 42, 127, 255):
        done = lent.run("exec", "10.1", "--", "sh", "-c", f"exit {code}")
        assert (done.returncode, done.stderr) == (code, "")
    assert lent.run("exec", "10.1", "--", "cat", stdin="in").stdout == "in"


def test_exec_becomes_the_command(lent: Home) -> None:
    child = subprocess.Popen(
        [console_script(), "exec", "10.1", "--", "sh", "-c", "echo $$; exec sleep 120"],
        env=lent.env, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert child.stdout
    assert int(child.stdout.readline()) == child.pid
    child.send_signal(signal.SIGTERM)
    assert child.wait(60) == -signal.SIGTERM


@pytest.mark.parametrize("request_text", ["10.1", "system"])
def test_exec_passes_on_what_has_a_name(lent: Home, request_text: str) -> None:
    """Variables with odd names are passed on, but not one without a name, which Python cannot."""
    done = subprocess.run(
        ["env", "=weird", "a b=c", "BASH_FUNC_f%%=() { :; }", console_script(), "exec",
         request_text, "--", "env"],
        env=lent.env, capture_output=True, text=True, check=False,
    )  # fmt: skip
    found = succeeded(done)
    assert done.stderr == ""
    assert {"a b=c", "BASH_FUNC_f%%=() { :; }"} <= set(found)
    assert "=weird" not in found


@pytest.mark.parametrize("options", [[], ["--libraries", "auto"]], ids=["plain", "through click"])
def test_exec_ignores_no_signal_that_was_not_ignored(lent: Home, options: list[str]) -> None:
    """A program gets the signals as they were: SIGPIPE, which Python ignores, is not ignored."""
    start = [console_script(), "exec", "10.1", *options, "--"]
    for ignored in ("", "HUP", "HUP INT TERM"):
        asked = [
            subprocess.run(
                ["sh", "-c", 'for it in $1; do trap "" "$it"; done; shift; exec "$@"', "sh",
                 ignored, *command, "grep", "^SigIgn:", "/proc/self/status"],
                env=lent.env, stdout=subprocess.PIPE, text=True, check=True,
            ).stdout
            for command in (["env"], start)
        ]  # fmt: skip
        assert asked[0] == asked[1], ignored
    line = '"$@" yes | head -1; exit ${PIPESTATUS[0]}'
    done = subprocess.run(
        ["bash", "-c", line, "bash", *start], env=lent.env, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (128 + signal.SIGPIPE, "y\n", "")


def test_exec_without_a_request(lent: Home, tmp_path: Path) -> None:
    show = ["exec", "--", "printenv", "CUDA_HOME"]
    done = lent.run(*show)
    assert (done.returncode, done.stdout) == (1, "")
    (tmp_path / ".cuda-version").write_text("10.1\n")
    assert succeeded(lent.run(*show, cwd=tmp_path)) == [str(kit(lent))]
    inside = tmp_path / "a/b"
    inside.mkdir(parents=True)
    assert succeeded(lent.run(*show, cwd=inside)) == [str(kit(lent))]
    (tmp_path / ".cuda-version").write_text("cuda 10.1\ncudnn none\n")
    assert succeeded(lent.run(*show, cwd=inside)) == [str(kit(lent, BARE))]
    chosen = lent.run(*show, cwd=inside, CUDASWITCH_VERSION="10.1+cudnn7")
    assert succeeded(chosen) == [str(kit(lent))]
    (tmp_path / ".cuda-version").write_text("11.0\n")
    message = refused(lent.run(*show, cwd=inside), "CUDA 11.0", "not installed", hint="install")
    assert f"{tmp_path}/.cuda-version:1" in message


def test_exec_keeps_the_gpus_of_a_job(lent: Home, tmp_path: Path) -> None:
    """A job keeps its own GPUs, though submitted under others, unless its request names some."""
    show = ["printenv", "CUDA_HOME", "CUDA_VISIBLE_DEVICES"]
    (tmp_path / ".cuda-version").write_text("10.1\ngpus 0\n")
    submitted = lent.run("exec", "--", "env", "-0", cwd=tmp_path).stdout
    active = dict(one.split("=", 1) for one in submitted.split("\0") if one)
    assert active["CUDA_VISIBLE_DEVICES"] == "0"

    def given(*options: str, **variables: str) -> list[str]:
        done = lent.run("exec", *options, "--", *show, cwd=tmp_path, **active | variables)
        return succeeded(done)

    here = str(kit(lent))
    assert given() == given(CUDA_VISIBLE_DEVICES="") == [here, "0"]
    assert given(CUDA_VISIBLE_DEVICES="2") == [here, "2"]
    assert given("--gpus", "1", CUDA_VISIBLE_DEVICES="2") == [here, "1"]
    # The request is not the one that was active.
    (tmp_path / ".cuda-version").write_text("10.1\ngpus 3\n")
    outside = {name: value for name, value in active.items() if name != "_CUDASWITCH_U"}
    outside["CUDA_VISIBLE_DEVICES"] = "2"
    done = lent.run("exec", "--", *show, cwd=tmp_path, _CUDASWITCH_U=None, **outside)
    assert succeeded(done) == [here, "3"]


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("12.4 nvcc --version", "12.4 -- nvcc --version"),
        ("12.4 make", "12.4 -- make"),
        ("--gpus 0 10.1 --cudnn=7 sh -c 'echo $CUDA_HOME'",
         "--gpus 0 10.1 --cudnn=7 -- sh -c 'echo $CUDA_HOME'"),
        ("nvcc --help", "-- nvcc --help"),
        ("--cudnn 7 ./run.sh", "--cudnn 7 -- ./run.sh"),
        ("latest make -j8", "latest -- make -j8"),
    ],
)  # fmt: skip
def test_a_command_without_the_dashes_before_it(home: Home, typed: str, meant: str) -> None:
    done = home.run("exec", *shlex.split(typed))
    # These two leave us without it, as it was typed.
    told = "put the command after `--` (`-- --` under poetry and hatch, which drop one)"
    refused(done, told, code=2, hint=f"cudaswitch exec {meant}")
    assert done.stderr.endswith(f"cudaswitch exec {meant}\n")


def test_a_command_that_cannot_be_shown_is_not_spelt_as_another(home: Home) -> None:
    done = home.run("exec", "10.1", "a\nb")
    refused(done, "put the command after `--`", code=2, hint="cudaswitch exec 10.1 -- CMD...")
    assert "x0a" not in done.stderr
    assert home.run("exec", "a\nb").stderr.endswith("hint: cudaswitch exec -- CMD...\n")


@pytest.mark.parametrize("typed", ["10.1", "10.1 --bogus", "--bogus make", "auto"])
def test_a_line_of_exec_without_a_command(home: Home, typed: str) -> None:
    refused(home.run("exec", *typed.split()), code=2, hint="cudaswitch exec --help")


def test_exec_takes_cudnn_and_libraries(lent: Home) -> None:
    for options, name in ((["--cudnn", "none"], BARE), (["--cudnn", "7.6"], FULL)):
        done = lent.run("exec", "10.1", *options, "--", "printenv", "LD_LIBRARY_PATH")
        assert succeeded(done) == [str(kit(lent, name) / "lib64")]
    refused(lent.run("exec", "10.1", "--cudnn", "8", "--", "true"), "with cuDNN 8", hint="8")
    done = lent.run("exec", "10.1", "--libraries", "never", "--", "printenv", "LD_LIBRARY_PATH")
    assert (done.returncode, done.stdout) == (1, "")


def test_exec_takes_libraries_for_what_is_active(lent: Home, tmp_path: Path) -> None:
    (tmp_path / ".cuda-version").write_text("cuda 10.1\nlibraries never\n")
    show = ["--", "sh", "-c", "echo $CUDA_HOME ${LD_LIBRARY_PATH-unset}"]
    for mode, expected in (("never", "unset"), ("always", f"{kit(lent)}/lib64")):
        done = lent.run("exec", "--libraries", mode, *show, cwd=tmp_path)
        assert succeeded(done) == [f"{kit(lent)} {expected}"]
    done = lent.run("exec", "--libraries", "never", *show, CUDASWITCH_VERSION="10.1")
    assert succeeded(done) == [f"{kit(lent)} unset"]


def test_exec_loads_the_libraries(lent: Home) -> None:
    ask = [PYTHON, "-c", RUNTIME_ANSWER, "libcudart.so.10.1"]
    assert succeeded(lent.run("exec", "10.1", "--", *ask)) == ["10010"]
    assert lent.run("exec", "system", "--", *ask).returncode == 1
    nested = lent.run("exec", "10.1", "--", console_script(), "exec", "system", "--", *ask)
    assert nested.returncode == 1


def test_exec_never_takes_the_tool_of_another_toolkit(lent: Home, tmp_path: Path) -> None:
    """A tool that a toolkit lacks, as conda's 10.1.243 lacks nvcc, comes from no other toolkit."""
    other = tmp_path / "other"
    executable(other / "bin" / "nvcc", "#!/bin/sh\necho other\n")
    (other / "version.txt").write_text("CUDA Version 11.8.89\n")
    succeeded(lent.run("adopt", other))
    path = f"{other / 'bin'}:{lent.env['PATH']}"
    done = lent.run("exec", "10.1", "--", "nvcc", PATH=path)
    lacks = "`nvcc` is not in CUDA 10.1.243+cudnn7.6.5"
    assert refused(done, code=127, hint="11.8.89") == f"cudaswitch: {lacks}"
    done = lent.run("exec", "--", "nvcc", CUDASWITCH_VERSION="10.1")
    refused(done, f"{lacks} (asked for by CUDASWITCH_VERSION)", code=127, hint="11.8.89")
    assert succeeded(lent.run("exec", "11.8", "--", "nvcc")) == ["other"]
    assert succeeded(lent.run("exec", "system", "--", "nvcc", PATH=path)) == ["other"]


CLOSED = {
    "noexec": 'mount --bind "$kit" "$kit"; mount -o remount,bind,noexec "$kit"',
    "mode": 'chmod a-x "$kit"/bin/*',
}


@pytest.mark.parametrize("how", CLOSED)
def test_a_tool_that_may_not_be_executed(home: Home, hostile_folder: Path, how: str) -> None:
    """A tool that may not be executed is reported as such, and none of another toolkit is taken."""
    nvcc, other = hostile_folder / "kit/bin/nvcc", hostile_folder / "other/bin/nvcc"
    for tool, release in ((nvcc, "12.4.131"), (other, "11.8.89")):
        executable(tool, f"#!/bin/sh\necho {release}\n")
        shutil.copy(tool, tool.with_name("our-tool"))
        (tool.parent.parent / "version.txt").write_text(f"CUDA Version {release}\n")
        succeeded(home.run("adopt", tool.parent.parent))
    script = f"""
        kit=$1 PATH=$2; shift 2
        {CLOSED[how]}
        cudaswitch "$@" 2>said || code=$?
        cat said >&2
        eval "$(sed -n 's/^hint: //; s/, or move .*//; $p' said)"
        cudaswitch "$@" >&2
        exit $code
    """
    path = f"{console_script().parent}:{nvcc.parent}:{home.env['PATH']}"
    kit = nvcc.parent.parent
    for words, behind, found in (
        (["exec", "12.4", "--", "nvcc"], other.parent, "12.4.131"),
        (["exec", "12.4", "--", str(nvcc)], other.parent, "12.4.131"),
        (["exec", "12.4", "--", "our-tool"], "/nowhere", "12.4.131"),
        (["which", "our-tool"], "/nowhere", "is on PATH, in CUDA 12.4.131"),
    ):
        named = nvcc.with_name(Path(words[-1]).name)
        there = f"{path}:{behind}"
        done = in_own_mounts(script, kit, there, *words, cwd=home.path, env=home.env)
        told, hint, said = done.stderr.split("\n", 2)
        assert told.startswith(f"cudaswitch: `{named}` exists, but is not executable")
        assert (f"`{kit}` is mounted noexec" in told) == (how == "noexec")
        assert hint.startswith("hint: ")
        assert found in said
        assert done.returncode == 127


def test_exec_of_what_is_not_there(lent: Home, tmp_path: Path) -> None:
    refused(lent.run("exec", "10.1", "--", "nothing-of-it"), "nothing-of-it", code=127, hint=None)
    script = tmp_path / "data"
    script.write_bytes(b"no\0program")
    refused(lent.run("exec", "10.1", "--", script), str(script), code=127, hint=None)
    script.chmod(0o755)
    refused(lent.run("exec", "10.1", "--", script), str(script), hint=None)

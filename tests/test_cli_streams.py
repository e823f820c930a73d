"""Streams, signals, surroundings: commands behave well whatever these are."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import builders
from adoptable import toolkit
from checks import refused, succeeded
from homes import Home
from stock import BARE
from tools import console_script


def test_a_reader_that_left_is_no_error(lent: Home) -> None:
    for command in ("list", "list --json", "--help", "env 10.1", "init bash", "completion bash"):
        script = f"{{ {shlex.quote(str(console_script()))} {command}; echo $? >&2; }} | true"
        done = subprocess.run(
            ["sh", "-c", script], env=lent.env, capture_output=True, text=True, check=False
        )
        assert done.stderr == "0\n", command


@pytest.mark.parametrize("command", ["list", "--version", "completion bash", "alias --help"])
def test_full_output_is_an_error(lent: Home, command: str) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [console_script(), *command.split()], env=lent.env, stdout=full,
            stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr.splitlines()[0] == "cudaswitch: No space left on device"
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("stream", [0, 1, 2])
def test_closed_streams(lent: Home, stream: int) -> None:
    script = f"{shlex.quote(str(console_script()))} list {stream}>&-"
    done = subprocess.run(
        ["sh", "-c", script], env=lent.env, capture_output=True, text=True, check=False
    )
    assert "Traceback" not in done.stderr
    assert "internal error" not in done.stderr


def test_without_standard_input_nothing_is_asked(home: Home) -> None:
    script = f"{shlex.quote(str(console_script()))} init bash --install <&-"
    done = subprocess.run(
        ["sh", "-c", script], env=home.env, capture_output=True, text=True, check=False
    )
    assert "internal error" not in done.stderr
    assert "in every new bash" in done.stderr
    assert done.returncode == 0


ENDINGS = {
    f"{name}-{what}": (number, what)
    for name, number in (("int", signal.SIGINT), ("term", signal.SIGTERM), ("hup", signal.SIGHUP))
    for what in ("x.conda", "13")
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_interrupted(home: Home, ending: str) -> None:
    from http_server import Server

    number, what = ENDINGS[ending]
    with Server() as server:
        index = {
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_INDEX_URL": server.url("stall:90", "simple"),
        }
        url = server.url("slow:1000", what)
        child = subprocess.Popen(
            [console_script(), "install", what if what == "13" else url],
            env=home.env | index, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        while not server.asked:
            assert child.poll() is None, child.communicate()
            time.sleep(0.02)
        children = Path(f"/proc/{child.pid}/task/{child.pid}/children").read_text().split()
        assert len(children) == (what == "13"), "pip is one of them"
        child.send_signal(number)
        out, err = child.communicate(timeout=60)
    assert (child.returncode, out) == (128 + number, "")
    assert not [one for one in children if Path("/proc", one).exists()]
    assert not list((home.path / "xdg-cache/cudaswitch").glob("work-*"))
    assert err.splitlines()[-1] == "cudaswitch: interrupted"
    assert "Traceback" not in err
    assert not (home.store / "packages").exists()


def test_interrupted_where_a_class_is_made() -> None:
    """An interrupt while a class is made is one, though Python up to 3.11 raises another error."""
    started = (
        "import sys, cudaswitch.__main__ as program\n"
        "class Interrupted:\n"
        "    def __set_name__(self, *_): raise KeyboardInterrupt(15)\n"
        "program._run_plainly = lambda _: type('made', (), {'one': Interrupted()})\n"
        "sys.argv[1:] = ['alias']; sys.exit(program.entry())"
    )
    done = subprocess.run(
        [sys.executable, "-c", started], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (128 + 15, "cudaswitch: interrupted\n")


def test_too_little_memory_is_no_defect() -> None:
    started = (
        "import sys, cudaswitch.__main__ as program\n"
        "program._run_plainly = lambda _: bytearray(sys.maxsize // 2)\n"
        "sys.argv[1:] = ['list']; sys.exit(program.entry())"
    )
    command = [sys.executable, "-c", started]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    refused(done, "out of memory", hint="ulimit -v")


@pytest.mark.parametrize("command", ["install", "verify"])
def test_too_few_threads_are_no_defect(lent: Home, pair: list[Path], command: str) -> None:
    """Too few threads, as under `ulimit -u`, are reported; here each asks for too large a stack."""
    started = (
        "import sys, threading, cudaswitch.__main__ as program\n"
        "threading.stack_size(1 << 50); sys.exit(program.entry())"
    )
    words = [command, "--force", pair[0]] if command == "install" else [command]
    done = subprocess.run(
        [sys.executable, "-c", started, *words], env=lent.env, capture_output=True, text=True,
        timeout=60, check=False,
    )  # fmt: skip
    refused(done, "cannot start another thread", hint="ulimit -u")


def test_an_error_that_cannot_be_told_keeps_its_code(home: Home) -> None:
    for words, code in (("which nope", 127), ("nope", 2), ("remove nope", 1)):
        line = f"'{console_script()}' {words} 2> /dev/full"
        done = subprocess.run(["bash", "-c", line], env=home.env, check=False)
        assert done.returncode == code


def test_what_cannot_be_told_was_done_all_the_same(lent: Home, tmp_path: Path) -> None:
    file = tmp_path / "tree" / ".cuda-version"
    file.parent.mkdir()
    for command in ("pin 10.1", "unpin"):
        was_there = file.exists()
        line = f"'{console_script()}' {command} --dir {file.parent} 2> /dev/full"
        done = subprocess.run(["sh", "-c", line], env=lent.env, check=False)
        assert done.returncode == 0
        assert file.exists() != was_there


@pytest.mark.parametrize("known", [True, False], ids=["PWD", "no PWD"])
def test_without_a_working_directory(lent: Home, tmp_path: Path, known: bool) -> None:
    gone = tmp_path / "gone"
    script = f"{'unset' if not known else 'export'} PWD; rmdir ../gone; {console_script()}"
    ends = {"list": 0, "exec 10.1 -- true": 0, "current": 0 if known else 1, "pin 10.1": 1}
    for command, code in ends.items():
        gone.mkdir()
        done = subprocess.run(
            ["dash", "-c", f"{script} {command}"],
            env=lent.env, cwd=gone, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if code:
            refused(done, str(gone) if known else "the working directory no longer exists")
        else:
            assert done.returncode == 0, f"{command}: {done.stderr}"
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_installed_without_a_working_directory(home: Home, tmp_path: Path) -> None:
    """A package with links of its own is laid out from a folder that was removed, too."""
    package, gone = builders.cudatoolkit_10_1(tmp_path), tmp_path / "gone"
    gone.mkdir()
    line = f"rmdir ../gone; exec '{console_script()}' install '{package}'"
    done = subprocess.run(
        ["sh", "-c", line], env=home.env, cwd=gone, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("10.1.243\n", "")


def test_without_a_home(lent: Home) -> None:
    for missing in ({"HOME": None}, {"HOME": ""}, {"HOME": "/nowhere"}):
        done = lent.run("list", **missing)
        assert done.returncode == 0, done.stderr


def test_a_default_store_and_relative_ones(home: Home, tmp_path: Path) -> None:
    file = builders.cudatoolkit_10_1(tmp_path)
    succeeded(home.run("install", file, CUDASWITCH_HOME=None))
    [kit_path] = Path(home.env["XDG_DATA_HOME"]).glob("cudaswitch/toolkits/*")
    done = home.run("exec", "10.1", "--", "printenv", "CUDA_HOME", CUDASWITCH_HOME=None)
    assert succeeded(done) == [str(kit_path)]
    succeeded(home.run("install", file, cwd=tmp_path, CUDASWITCH_HOME="re/../lative"))
    done = home.run(
        "exec", "10.1", "--", "printenv", "CUDA_HOME", cwd=tmp_path, CUDASWITCH_HOME="lative"
    )
    assert succeeded(done) == [f"{tmp_path}/lative/toolkits/{BARE}"]


def test_a_terminal_cannot_be_driven_by_names(home: Home, tmp_path: Path) -> None:
    name = tmp_path / "\x1b]0;owned\x07\n.conda"
    done = home.run("install", name)
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", done.stderr)
    refused(done, "no file", hint="")
    name.write_bytes(b"x")
    done = home.run("install", name)
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", done.stderr)
    refused(done, hint=None)


def test_names_that_are_no_text(home: Home, tmp_path: Path) -> None:
    name = os.fsdecode(os.fsencode(tmp_path) + b"/\xff\xfe.conda")
    refused(home.run("install", name), "no file", hint="")
    refused(home.run("adopt", name), "there is no `", hint="")
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff"))
    folder.mkdir()
    file = builders.cudatoolkit_10_1(folder)
    assert succeeded(home.run("install", file)) == [BARE]
    assert home.run("list", "--json").returncode == 0


@pytest.mark.parametrize("encoding", ["latin-1", "ascii", "utf-8:strict", "utf-16"])
def test_paths_go_out_as_they_are_on_disk(home: Home, tmp_path: Path, encoding: str) -> None:
    """Paths are printed byte for byte, in whatever encoding Python was told to write."""
    kit = toolkit(tmp_path / "куда")
    succeeded(home.run("adopt", kit))
    other = b"/opt/\xff/lib"
    variables = {"PYTHONIOENCODING": encoding, "LD_LIBRARY_PATH": os.fsdecode(other)}

    def printed(*arguments: str) -> bytes:
        done = subprocess.run(
            [console_script(), *arguments],
            env=home.env | variables,
            capture_output=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, b"")
        return done.stdout

    assert os.fsencode(kit) in printed("list")
    assert b":" + other in printed("env", "11.2", "--format", "dotenv")
    script = printed("env", "11.2", "--shell", "sh") + b'printf %s "$CUDA_HOME"'
    done = subprocess.run(["sh"], input=script, env=home.env, capture_output=True, check=True)
    assert done.stdout == os.fsencode(kit)


def test_debugging_shows_where(home: Home) -> None:
    done = home.run("install", "nothing.conda", CUDASWITCH_DEBUG="1")
    assert "Traceback" in done.stderr
    assert done.stderr.splitlines()[-1].startswith("hint: ")

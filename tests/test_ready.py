"""Ready files: a new shell has everything and starts no process, wherever the program goes."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import cudaswitch
from checks import snapshot, succeeded
from homes import Home
from startup_files import FILES, install, remove
from tools import console_script, require

OTHERS = {
    "tcsh": (".tcshrc", ("-c",), "cudaswitch use 10.1; echo $CUDA_HOME"),
    "xonsh": (
        "xdg-config/xonsh/rc.xsh",
        ("--rc", "{file}", "-c"),
        "cudaswitch use 10.1; echo $CUDA_HOME",
    ),
    "nu": (
        "xdg-config/nushell/autoload/cudaswitch.nu",
        ("-e",),
        "cudaswitch use 10.1; print $env.CUDA_HOME; exit",
    ),
}
"""The startup file of each shell, and how the shell is told what to do after reading it."""
HINT = "hint: reinstall cudaswitch and run cudaswitch init --install, or remove its marked lines"
HINT += " from the startup file"


def test_ready_files_follow_the_program(stocked: Home) -> None:
    """After an update, the next command that changes something rewrites the ready files."""
    install(stocked, "bash")
    ready = stocked.store / "init" / "bash"
    text = ready.read_text()
    bound = ready.with_name(".bound")
    mine = f"{cudaswitch.__version__} {console_script()}"
    package = Path(str(cudaswitch.__file__)).parent
    assert bound.read_text() == f"{mine}\n{package}\n"

    def after(binding: str) -> str:
        ready.write_text("# older\n")
        bound.write_text(f"{binding}\n")
        succeeded(stocked.run("alias", "mine", "10.1"))
        succeeded(stocked.run("want", "--for-use", ">=10"))
        return ready.read_text()

    assert after(f"0.0.1 {console_script()}\n{package}") == text
    assert after(f"0.0.1 /gone/bin/cudaswitch\n{package}") == text
    # The package, whose texts the ready files load, is elsewhere with another Python.
    assert after(f"{mine}\n/usr/lib/python2.7/cudaswitch") == text
    assert after(mine) == text
    assert after(f"{mine}\n{package}") == "# older\n"
    # Another installation that is still there keeps its ready files.
    assert after(f"0.0.1 {sys.executable}\n/usr") == "# older\n"
    bound.unlink()
    ready.unlink()
    before = snapshot(stocked.store)
    succeeded(stocked.run("want", "--for-use", ">=10"))
    assert snapshot(stocked.store) == before


def test_another_program_takes_over_all_of_them(stocked: Home) -> None:
    """All ready files have one binding, so none may stay with a program that may go."""
    install(stocked, "bash")
    ready = stocked.store / "init" / "bash"
    text, bound = ready.read_text(), ready.with_name(".bound")
    ready.write_text("# another's\n")
    bound.write_text(f"0.0.1 {sys.executable}\n/usr\n")
    install(stocked, "zsh")
    assert ready.read_text() == text
    ready.write_text("# by hand\n")
    install(stocked, "fish")
    assert ready.read_text() == "# by hand\n"


def test_a_ready_file_that_is_gone_is_no_error(stocked: Home) -> None:
    for shell in FILES:
        install(stocked, shell)
    shutil.rmtree(stocked.store)
    for shell in FILES:
        done = _interactive(stocked, shell, "echo fine")
        assert (done.returncode, done.stdout) == (0, "fine\n")
        assert "cudaswitch" not in done.stderr


@pytest.mark.parametrize("shell", [*FILES, "tcsh", "xonsh", "nu"])
def test_a_command_that_was_moved_is_found_on_path(stocked: Home, shell: str) -> None:
    """A moved command is found on PATH and bound to; if there is none, one line says so."""
    old, new = (stocked.path / name / "cudaswitch" for name in ("old", "new"))
    old.parent.mkdir()
    shutil.copy(console_script(), old)
    done = subprocess.run([old, "init", "--install", shell], env=stocked.env, check=False)
    assert done.returncode == 0
    old.parent.rename(new.parent)
    home = Home(stocked.path, stocked.store, stocked.env | {"PATH": f"{new.parent}:/usr/bin:/bin"})

    def told(script: str) -> subprocess.CompletedProcess[str]:
        if shell in FILES:
            return _interactive(home, shell, script)
        file, options, _ = OTHERS[shell]
        start = [option.format(file=home.path / file) for option in options]
        return subprocess.run(
            [require(shell), *start, script],
            env=home.env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
        )  # fmt: skip

    end = "print $env.CUDA_HOME; exit" if shell == "nu" else "echo $CUDA_HOME"
    done = told(f"cudaswitch list; cudaswitch use '>=10'; {end}")
    assert f"{stocked.store}/toolkits/10.1.243+cudnn7.6.5\n" in done.stdout
    assert "cudaswitch: CUDA 10.1.243+cudnn7.6.5\n" in done.stderr
    assert str(old) not in done.stderr
    assert (stocked.store / "init" / ".bound").read_text().splitlines()[0].endswith(f" {new}")

    new.unlink()
    done = told("cudaswitch list" if shell in ("tcsh", "xonsh") else "cudaswitch use '>=9'")
    said = re.findall("^(?:cudaswitch|hint|Exc|FileN).*", done.stderr, re.MULTILINE)
    if shell == "nu":
        gone = f"cudaswitch: `{new}` is gone, and no other is on PATH help: {HINT[6:]}"
        # Nushell breaks lines.
        assert "".join(gone.split()) in re.sub(r"\s|\|", "", done.stderr)
    else:
        assert said == [f"cudaswitch: `{new}` is gone, and no other is on PATH", HINT]
    assert done.returncode != 0


@pytest.mark.parametrize("shell", [*FILES, "tcsh"])
def test_what_it_sources_goes_with_the_ready_file(stocked: Home, shell: str) -> None:
    install(stocked, shell)
    sourced = "core.csh" if shell == "tcsh" else "rest"
    file = stocked.store / "init" / f".{shell}" / sourced
    assert file.is_file()
    file.unlink()
    told = stocked.run("doctor", "--json", SHELL=f"/bin/{shell}").stdout
    assert f"`{file.parent}` lacks the files it sources" in told
    remove(stocked, shell)
    assert not (stocked.store / "init").exists()


def hint_in(home: Home, shell: str, **variables: str) -> str:
    """Return the last line of `current` in a shell that lacks what is requested, or nothing."""
    path = f"{console_script().parent}:{home.env['PATH']}"
    env = home.env | variables | {"PATH": path, "CUDASWITCH_VERSION": "10.1"}
    command = [require(shell), "-c", "cudaswitch current; true"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    return done.stderr.strip().rpartition("\n")[2]


@pytest.mark.parametrize("shell", ["bash", "fish", "tcsh", "xonsh", "nu"])
def test_a_line_that_loads_what_another_store_has(
    stocked: Home, tmp_path: Path, shell: str
) -> None:
    """A line that loads another store's file, as after a move, is found, and mended by `init`."""
    install(stocked, shell)
    stocked.store.rename(tmp_path / "moved")
    moved = {"CUDASWITCH_HOME": str(tmp_path / "moved"), "SHELL": f"/bin/{shell}"}

    def evidence() -> list[str]:
        findings = json.loads(stocked.run("doctor", "--json", **moved).stdout)["findings"]
        return [one["evidence"] for one in findings if one["code"] == "CS077"]

    [told] = evidence()
    mine = f"{tmp_path}/moved/init/{shell}"
    assert re.search(f" does not load `{mine}[.a-z]*`: its line names another file$", told)
    assert hint_in(stocked, shell, **moved) == f"hint: cudaswitch init --install {shell}"
    succeeded(stocked.run("init", "--install", shell, "--yes", **moved))
    assert evidence() == []
    assert "--install" not in hint_in(stocked, shell, **moved)


def test_a_line_that_evaluates_the_text_needs_no_ready_file(stocked: Home) -> None:
    """A startup file that evaluates what `init` prints is all right, so a new shell will do."""
    (stocked.path / ".bashrc").write_text('eval "$(cudaswitch init bash)"\n')
    assert hint_in(stocked, "bash").startswith("hint: open a new bash, or run in this one:")


@pytest.mark.parametrize("package", ["there", "gone"])
def test_tcsh_without_the_texts_that_it_sources(stocked: Home, package: str) -> None:
    """Without its texts tcsh sources the package's; without those it calls the command on PATH."""
    install(stocked, "tcsh")
    ready = stocked.store / "init" / "tcsh"
    shutil.rmtree(stocked.store / "init" / ".tcsh")
    told = stocked.run("doctor", "--json", SHELL="/bin/tcsh").stdout
    lacking = f"`{ready.parent}/.tcsh` lacks the files it sources"
    assert [one["evidence"] for one in json.loads(told)["findings"] if one["code"] == "CS077"] == [
        f"`{stocked.path}/.tcshrc` loads `{ready}`: {lacking}"
    ]
    texts = f"{Path(cudaswitch.__file__).parent}/shells"
    assert texts in ready.read_text()
    if package == "gone":
        ready.write_text(ready.read_text().replace(texts, "/gone"))
    done = _interactive(stocked, "tcsh", "cudaswitch list; cudaswitch use 10.1; echo $?CUDA_HOME")
    assert "10.1.243" in done.stdout
    assert "No such file" not in done.stderr
    assert done.stdout.endswith("1\n" if package == "there" else "0\n")


def _interactive(
    home: Home, shell: str, script: str, *before: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*before, require(shell), "-i", "-c", script],
        env=home.env | {"PS1": "", "fish_greeting": ""},
        cwd=home.path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        start_new_session=True,  # without a terminal, so that no shell waits for its turn
    )


@pytest.mark.parametrize("shell", FILES)
def test_a_new_shell_is_ready_and_starts_no_process(stocked: Home, shell: str) -> None:
    install(stocked, shell)
    trace = stocked.path / "trace"
    tracer = [require("strace"), "-f", "-qq", "-e", "trace=execve", "-o", str(trace)]
    switch = "cudaswitch use 10.1 && echo $CUDA_HOME"
    done = _interactive(stocked, shell, switch, *tracer)
    assert done.stdout == f"{stocked.store}/toolkits/10.1.243+cudnn7.6.5\n", done.stderr
    started = re.findall(r'execve\("([^"]+)', trace.read_text())
    # fish starts a few processes of its own in its first shell, whatever is installed.
    assert [Path(at).name for at in started if "python" in at or "cudaswitch" in at] == []
    if shell != "fish":
        assert [Path(at).name for at in started] == [shell]


@pytest.mark.parametrize("shell", FILES)
def test_the_same_shell_without_the_line_is_not(stocked: Home, shell: str) -> None:
    """A shell is not ready without the line, so the tests of ready shells can fail."""
    install(stocked, shell)
    remove(stocked, shell)
    done = _interactive(stocked, shell, "cudaswitch use 10.1")
    assert done.returncode != 0
    assert "has not loaded cudaswitch" in done.stderr


@pytest.mark.parametrize("shell", OTHERS)
def test_further_shells_find_the_ready_file(stocked: Home, shell: str) -> None:
    name, options, script = OTHERS[shell]
    file = stocked.path / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("# mine\n")
    install(stocked, shell)
    for text in ("", "# the ready file is gone\n"):
        done = subprocess.run(
            [require(shell), *(option.format(file=file) for option in options), script],
            env=stocked.env | {"CUDASWITCH_QUIET": "1"},
            cwd=stocked.path,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        has = f"{stocked.store}/toolkits/10.1.243+cudnn7.6.5" in done.stdout
        assert has is not bool(text), done.stderr
        if not text:
            (stocked.store / "init").rename(stocked.store / "away")
    remove(stocked, shell)
    assert file.read_text() == "# mine\n"


@pytest.mark.parametrize("shut", [["init"], ["", "init", "locks", "locks/init.lock"]], ids=str)
def test_a_ready_file_that_cannot_be_deleted_keeps_no_line(home: Home, shut: list[str]) -> None:
    """A ready file that cannot be deleted does no harm once the startup file's line is gone."""
    (home.path / ".bashrc").write_text("# mine\n")
    install(home, "bash")
    for at in shut:
        path = home.store / at
        path.chmod(path.stat().st_mode & ~0o222)
    before = snapshot(home.store)
    done = home.run_plainly("init", "--remove", "bash")
    assert succeeded(done) == []
    *_, stays, told = done.stderr.splitlines()
    ready = home.store / "init/bash"
    assert stays == f"cudaswitch: `{ready}` stays, which does no harm: you cannot delete it"
    assert told.endswith(".bashrc` no longer loads cudaswitch")
    assert (home.path / ".bashrc").read_text() == "# mine\n"
    assert snapshot(home.store) == before


def test_in_a_groups_store_the_ready_file_stays_for_the_others(home: Home, tmp_path: Path) -> None:
    """A member who no longer loads it leaves the file that others' startup files load."""
    home.store.mkdir()
    home.store.chmod(0o2775)
    (tmp_path / "other").mkdir()
    others = {"HOME": str(tmp_path / "other")}
    succeeded(home.run("init", "--install", "bash", **others))
    install(home, "bash")
    before = snapshot(home.store)
    done = home.run("init", "--remove", "bash")
    assert succeeded(done) == []
    *_, stays, told = done.stderr.splitlines()
    why = "which does no harm: others in the store's group may load it"
    assert stays == f"cudaswitch: `{home.store}/init/bash` stays, {why}"
    assert told.endswith(".bashrc` no longer loads cudaswitch")
    assert not (home.path / ".bashrc").exists()
    assert snapshot(home.store) == before

"""`init --install` and `--remove`: one line in the right file, and that file given back."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pexpect
import pytest

import cudaswitch
from checks import refused, snapshot, succeeded
from homes import Home
from tools import console_script, require

FILES = {
    "bash": ".bashrc",
    "zsh": ".zshrc",
    "fish": "xdg-config/fish/conf.d/cudaswitch.fish",
}
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
"""The startup file of each, and how it is told what to do once it has read it."""
HINT = "hint: install cudaswitch again, then cudaswitch init --install"
OPEN, CLOSE = b"# >>> cudaswitch >>>", b"# <<< cudaswitch <<<"
TEXTS = {
    "plain": b"alias ll='ls -l'\n",
    "empty": b"",
    "no end": b"alias ll='ls -l'",
    "only blank": b"\n\n",
    "Windows": b"alias ll='ls -l'\r\nset -o vi\r\n",
    "Windows, no end": b"alias ll='ls -l'\r\nset -o vi",
    "no text": b"\xff\xfe\x00\x80 not any encoding\n\x1b[31m\n",
    "others' markers": b"# >>> conda initialize >>>\nx\n# <<< conda initialize <<<\n",
}


def install(home: Home, *arguments: str) -> str:
    done = home.run("init", "--install", *arguments)
    assert succeeded(done) == []
    return done.stderr


def remove(home: Home, *arguments: str) -> str:
    done = home.run("init", "--remove", *arguments)
    assert succeeded(done) == []
    return done.stderr


@pytest.mark.parametrize("shell", FILES)
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_the_file_comes_back_byte_for_byte(home: Home, shell: str, text: bytes) -> None:
    path = home.path / FILES[shell]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text)
    path.chmod(0o640)
    install(home, shell)
    once = path.read_bytes()
    assert once.startswith(text)
    assert [once.count(OPEN), once.count(CLOSE)] == [1, 1]
    assert len(once.splitlines()) == len(text.splitlines()) + 3
    end = b"\r\n" if b"\r\n" in text else b"\n"
    assert once.endswith(CLOSE + end)
    install(home, shell)
    assert path.read_bytes() == once
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    remove(home, shell)
    assert path.read_bytes() == text
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert sorted(path.parent.glob(".*.tmp")) == []


@pytest.mark.parametrize("shell", FILES)
def test_a_file_that_was_not_there_goes_again(home: Home, shell: str) -> None:
    path = home.path / FILES[shell]
    assert not path.exists()
    install(home, shell)
    assert (home.store / "init" / shell).is_file()
    remove(home, shell)
    assert not path.exists()
    assert not (home.store / "init").exists()
    # What was written into it meanwhile is the person's.
    install(home, shell)
    with path.open("ab") as file:
        file.write(b"# mine\n")
    remove(home, shell)
    assert path.read_bytes() == b"# mine\n"


def test_what_was_added_behind_the_line_stays(home: Home) -> None:
    path = home.path / ".bashrc"
    path.write_bytes(b"one=1")
    install(home, "bash")
    with path.open("ab") as file:
        file.write(b"two=2\n")
    assert path.read_bytes().splitlines()[-1] == b"two=2"
    remove(home, "bash")
    assert path.read_bytes() == b"one=1\ntwo=2\n"


def test_a_line_of_another_store_is_replaced_in_its_place(home: Home) -> None:
    path = home.path / ".bashrc"
    path.write_bytes(b"first=1\n")
    install(home, "bash")
    path.write_bytes(path.read_bytes() + b"last=1\n")
    done = home.run("init", "--install", "bash", CUDASWITCH_HOME=str(home.path / "other"))
    succeeded(done)
    lines = path.read_text().splitlines()
    assert [lines[0], lines[-1], len(lines)] == ["first=1", "last=1", 5]
    assert str(home.path / "other" / "init" / "bash") in lines[2]
    signs = [line[0] for line in done.stderr.splitlines()]
    assert [signs.count(sign) for sign in "-+"] == [2, 2]  # one line, and the patch's head


def test_it_shows_the_change(home: Home) -> None:
    (home.path / ".bashrc").write_bytes(b"mine=\x1b[2J\n")
    said = install(home, "bash").splitlines()
    assert said[:2] == [f"{sign} {home.path}/.bashrc" for sign in ("---", "+++")]
    assert " mine=\\x1b[2J" in said
    assert next(line[0] for line in said if f"{home.store}/init/bash" in line) == "+"
    assert not [line for line in install(home, "bash").splitlines() if line.startswith("+")]
    assert f"-{OPEN.decode()}" in remove(home, "bash").splitlines()


@pytest.mark.parametrize(
    ("shell", "file"),
    [("/bin/zsh", ".zshrc"), ("/opt/bin/bash", ".bashrc"), ("/bin/csh", ".tcshrc")],
)
def test_the_shell_is_that_of_the_person(home: Home, shell: str, file: str) -> None:
    succeeded(home.run("init", "--install", SHELL=shell))
    assert (home.path / file).is_file()
    succeeded(home.run("init", "--remove", SHELL=shell))
    assert not (home.path / file).is_file()


def test_variables_move_the_file(home: Home) -> None:
    for name, shell, place in (
        ("ZDOTDIR", "zsh", ".zshrc"),
        ("XDG_CONFIG_HOME", "fish", "fish/conf.d/cudaswitch.fish"),
    ):
        moved = home.path / f"my {name}"
        moved.mkdir()
        succeeded(home.run("init", "--install", shell, **{name: str(moved)}))
        assert (moved / place).is_file()


def test_what_zshenv_says_moves_the_file(home: Home) -> None:
    """It need not be exported, and other lines may print."""
    moved = home.path / "my zsh"
    moved.mkdir()
    (home.path / ".zshenv").write_text('echo hello\nZDOTDIR="$HOME/my zsh"\n')
    succeeded(home.run("init", "--install", "zsh", ZDOTDIR=None))
    assert (moved / ".zshrc").is_file()
    assert not (home.path / ".zshrc").exists()
    succeeded(home.run("init", "--remove", "zsh", ZDOTDIR=None))
    assert not (moved / ".zshrc").exists()


@pytest.mark.parametrize("shell", ["", "/bin/ksh93", "/bin/csh-of-mine"])
def test_a_shell_that_we_do_not_know(home: Home, shell: str) -> None:
    refused(home.run("init", "--install", SHELL=shell), "$SHELL", hint="bash, zsh")
    refused(home.run("init", "--install", "ksh93"), "`ksh93`", hint="bash, zsh")
    assert not home.store.exists()


def test_a_dotfile_manager_keeps_its_link(home: Home) -> None:
    real = home.path / "dotfiles" / "bashrc"
    real.parent.mkdir()
    real.write_bytes(b"x=1\n")
    link = home.path / ".bashrc"
    link.symlink_to("dotfiles/bashrc")
    install(home, "bash")
    assert link.readlink() == Path("dotfiles/bashrc")
    assert OPEN in real.read_bytes()
    remove(home, "bash")
    assert link.readlink() == Path("dotfiles/bashrc")
    assert real.read_bytes() == b"x=1\n"


def test_other_names_of_the_file_change_with_it(home: Home) -> None:
    path = home.path / ".bashrc"
    path.write_bytes(b"x=1\n" * 9)
    (home.path / "same").hardlink_to(path)
    install(home, "bash")
    assert path.samefile(home.path / "same")
    remove(home, "bash")
    assert (home.path / "same").read_bytes() == b"x=1\n" * 9


def _read_only(path: Path) -> None:
    path.write_bytes(b"x=1\n")
    path.chmod(0o444)


def _another_users(path: Path) -> None:
    path.write_bytes(b"x=1\n")
    os.chown(path, 1234, 1234)


def _half_a_block(path: Path) -> None:
    path.write_bytes(OPEN + b"\nexport MINE=1\n")


REFUSED = {
    "is read-only": _read_only,
    "not a regular file": Path.mkdir,
    "other half": _half_a_block,
    "is not a regular": lambda path: path.symlink_to("/dev/null"),
    "a regular file": os.mkfifo,
    "Too many levels": lambda path: path.symlink_to(path.name),
}


@pytest.mark.parametrize("why", REFUSED)
def test_a_file_that_is_not_to_be_edited(home: Home, why: str) -> None:
    path = home.path / ".bashrc"
    REFUSED[why](path)
    before = path.read_bytes() if path.is_file() else None
    for way in ("--install", "--remove"):
        refused(home.run("init", way, "bash"), f"`{path}`", why)
    assert before == (path.read_bytes() if path.is_file() else None)
    assert not (home.store / "init").exists()


root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")


@root
def test_root_edits_no_other_users_file(home: Home) -> None:
    """`sudo cudaswitch init --install` with the person's HOME."""
    path = home.path / ".bashrc"
    _another_users(path)
    refused(home.run("init", "--install", "bash"), "belongs to another user")
    assert path.read_bytes() == b"x=1\n"
    path.unlink()
    os.chown(home.path, 1234, 1234)
    refused(home.run("init", "--install", "bash"), "belongs to another user")
    assert not path.exists()


def test_it_asks_at_a_terminal_only(home: Home) -> None:
    path = home.path / ".bashrc"
    for answer, written in (("n", False), ("y", True)):
        with pexpect.spawn(
            str(console_script()), ["init", "--install", "bash"], env=home.env, timeout=30
        ) as child:
            child.expect_exact("Write it? [Y/n]")
            child.sendline(answer)
            child.expect(pexpect.EOF)
        assert path.exists() is written
        assert (child.exitstatus, b"stays as it is" in child.before) == (1 - written, not written)
    with pexpect.spawn(
        str(console_script()), ["init", "--remove", "bash", "--yes"], env=home.env, timeout=30
    ) as child:
        child.expect(pexpect.EOF)
        assert b"Write it?" not in child.before
    assert not path.exists()


def test_bash_is_told_of_login_shells_and_of_a_second_line(home: Home) -> None:
    said = install(home, "bash")
    assert "login shells" in said
    assert ".bash_profile" in said
    (home.path / ".profile").write_text("export X=1\n")
    assert f"`{home.path}/.profile`" in install(home, "bash")
    (home.path / ".profile").write_text("# not like .bashrc\nexport X=1")
    hint = install(home, "bash").partition("hint: ")[2].strip()
    subprocess.run(["bash", "-c", hint], env=home.env, check=True)
    assert "export X=1\n. ~/.bashrc\n" in (home.path / ".profile").read_text()
    assert "login shells" not in install(home, "bash")
    (home.path / ".profile").write_text('[ -f "$HOME/.bashrc" ] && . "$HOME/.bashrc"\n')
    (home.path / ".bashrc").write_text('eval "$(cudaswitch init bash)"\n')
    said = install(home, "bash")
    assert "login shells" not in said
    assert "starts Python" in said
    (home.path / ".bash_profile").write_text(". ~/.profile\n")
    assert "login shells" not in install(home, "bash")
    (home.path / ".bashrc").write_text('# eval "$(cudaswitch init bash)"\n')
    assert "starts Python" not in install(home, "bash")


def test_ready_files_follow_the_program(stocked: Home) -> None:
    """After an update, the next command that changes something rewrites them."""
    install(stocked, "bash")
    ready = stocked.store / "init" / "bash"
    text = ready.read_text()
    bound = ready.with_name(".bound")
    assert bound.read_text() == f"{cudaswitch.__version__} {console_script()}\n"

    def after(binding: str) -> str:
        ready.write_text("# older\n")
        bound.write_text(f"{binding}\n")
        succeeded(stocked.run("alias", "mine", "10.1"))
        succeeded(stocked.run("want", "--for-use", ">=10"))
        return ready.read_text()

    assert after(f"0.0.1 {console_script()}") == text
    assert after("0.0.1 /gone/bin/cudaswitch") == text
    # Another installation that is there keeps its own.
    assert after(f"0.0.1 {sys.executable}") == "# older\n"
    bound.unlink()
    ready.unlink()
    before = snapshot(stocked.store)
    succeeded(stocked.run("want", "--for-use", ">=10"))
    assert snapshot(stocked.store) == before


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
    """It then binds the ready file to itself; where there is none, that is one clear line."""
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
    assert (stocked.store / "init" / ".bound").read_text().endswith(f" {new}\n")

    new.unlink()
    done = told("cudaswitch list" if shell == "tcsh" else "cudaswitch use '>=10'")
    said = re.findall("^(?:cudaswitch|hint|Exc|FileN).*", done.stderr, re.MULTILINE)
    if shell == "tcsh":
        assert said == ["cudaswitch: Command not found."]
    elif shell == "nu":
        gone = f"cudaswitch: `{new}` is gone, and no other is on PATH help: {HINT[6:]}"
        # It breaks lines.
        assert "".join(gone.split()) in re.sub(r"\s|\|", "", done.stderr)
    else:
        assert said == [f"cudaswitch: `{new}` is gone, and no other is on PATH", HINT]
    assert done.returncode != 0


def test_tcsh_without_the_texts_that_it_sources(stocked: Home) -> None:
    """They are in the package; where that was moved, the command on PATH is called as it is."""
    install(stocked, "tcsh")
    ready = stocked.store / "init" / "tcsh"
    texts = f"{Path(cudaswitch.__file__).parent}/shells"
    assert texts in ready.read_text()
    ready.write_text(ready.read_text().replace(texts, "/gone"))
    done = _interactive(stocked, "tcsh", "cudaswitch list")
    assert "10.1.243" in done.stdout
    assert "No such file" not in done.stderr


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
    # fish starts a few of its own in its first shell, whatever is installed.
    assert [Path(at).name for at in started if "python" in at or "cudaswitch" in at] == []
    if shell != "fish":
        assert [Path(at).name for at in started] == [shell]


@pytest.mark.parametrize("shell", FILES)
def test_the_same_shell_without_the_line_is_not(stocked: Home, shell: str) -> None:
    """The measure of the test above can fail."""
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

"""`init --install` and `--remove`: one line in the right file, and then the file as it was."""

from __future__ import annotations

import os
import pwd
import re
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

import pexpect
import pytest

from checks import refused, succeeded
from cudaswitch.shells import SHELLS
from cudaswitch.startfiles import startup_file
from homes import Home
from mounts import in_own_mounts
from startup_files import FILES, install, remove
from tools import console_script, require, root_only

OPEN, CLOSE = b"# >>> cudaswitch >>>", b"# <<< cudaswitch <<<"
TEXTS = {
    "plain": b"alias ll='ls -l'\n",
    "empty": b"",
    "no end": b"alias ll='ls -l'",
    "only blank": b"\n\n",
    "Windows": b"alias ll='ls -l'\r\nset -o vi\r\n",
    "Windows, no end": b"alias ll='ls -l'\r\nset -o vi",
    "no text": b"\xff\xfe\x00\x80 no encoding, no line\r\x1b[31m\r",
    "others' markers": b"# >>> conda initialize >>>\nx\n# <<< conda initialize <<<\n",
}


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


def test_a_folder_of_settings_that_hangs_on_the_directory_is_none(home: Home) -> None:
    """A relative XDG_CONFIG_HOME is none, by the XDG specification and for all settings here."""
    home.env["XDG_CONFIG_HOME"] = "relative"
    install(home, "fish")
    assert (home.path / ".config/fish/conf.d/cudaswitch.fish").is_file()
    assert not (home.path / "relative").exists()


@pytest.mark.parametrize("home_of", [{}, {"HOME": ""}, {"HOME": "here"}], ids=str)
def test_a_home_that_is_none_is_that_of_the_account(home_of: dict[str, str]) -> None:
    folder = pwd.getpwuid(os.geteuid()).pw_dir
    assert startup_file(SHELLS["bash"], home_of) == Path(folder, ".bashrc")


def test_a_file_that_is_mounted_is_written_all_the_same(home: Home) -> None:
    """A mounted file, as in containers, is written in place: no other file can replace it."""
    (home.path / "outside").write_text("alias ll='ls -l'\n")
    (home.path / ".bashrc").touch()
    script = (
        "mount --bind outside .bashrc; cudaswitch init --install bash\n"
        "grep -c '' outside; cudaswitch init --remove bash"
    )
    done = in_own_mounts(script, cwd=home.path, env=home.env)
    assert succeeded(done) == ["4"]
    assert (home.path / "outside").read_text() == "alias ll='ls -l'\n"


@pytest.mark.parametrize(
    ("shell", "file", "asked", "answer"),
    [
        *((name, file, "type cudaswitch", "function") for name, file in FILES.items()),
        ("tcsh", ".tcshrc", "alias cudaswitch", "source"),
    ],
)
def test_a_file_with_line_ends_of_windows_loads_it(
    home: Home, require: Callable[[str], str], shell: str, file: str, asked: str, answer: str
) -> None:
    """The line works in a file with Windows' line ends, though most shells take CR for text."""
    path = home.path / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"# mine\r\n")
    install(home, shell)
    done = subprocess.run(
        [require(shell), "-i", "-c", asked],
        env=home.env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert answer in done.stdout, done.stderr
    assert not re.search("syntax|unexpected|No such file|not found", done.stderr), done.stderr


@pytest.mark.parametrize("shell", FILES)
def test_a_file_that_was_not_there_goes_again(home: Home, shell: str) -> None:
    path = home.path / FILES[shell]
    assert not path.exists()
    install(home, shell)
    assert (home.store / "init" / shell).is_file()
    remove(home, shell)
    assert not path.exists()
    assert not (home.store / "init").exists()
    # What the user wrote into the file in the meantime stays.
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


def test_in_a_container_it_is_the_one_that_calls(home: Home) -> None:
    refused(
        home.run("init", "--install", SHELL=None), "$SHELL is not set, and `sh` has no", hint=""
    )
    command = f"unset SHELL; {console_script()} init --install --yes; :"
    subprocess.run([require("zsh"), "-c", command], env=home.env, check=True)
    assert (home.path / ".zshrc").is_file()


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
    """A ZDOTDIR of .zshenv moves the startup file, exported or not, even if other lines print."""
    moved = home.path / "my zsh"
    moved.mkdir()
    (home.path / ".zshenv").write_text('echo hello | tee -a ~/runs\nZDOTDIR="$HOME/my zsh"\n')
    succeeded(home.run("init", "--install", "zsh", ZDOTDIR=None))
    assert (home.path / "runs").read_text() == "hello\n"
    assert (moved / ".zshrc").is_file()
    assert not (home.path / ".zshrc").exists()
    succeeded(home.run("init", "--remove", "zsh", ZDOTDIR=None))
    assert not (moved / ".zshrc").exists()


def test_what_another_startup_file_loads_stays(home: Home) -> None:
    """`--remove` for a file that never had the line takes it out of no other."""
    other = home.path / "z"
    other.mkdir()
    succeeded(home.run("init", "--install", "zsh", "--yes", ZDOTDIR=str(other)))
    done = home.run("init", "--remove", "zsh", "--yes", ZDOTDIR=None)
    assert "does not load cudaswitch" in done.stderr
    asked = [require("zsh"), "-i", "-c", "whence -w cudaswitch"]
    env = home.env | {"ZDOTDIR": str(other)}
    there = subprocess.run(asked, env=env, capture_output=True, text=True, check=True)
    assert there.stdout == "cudaswitch: function\n"


@pytest.mark.parametrize("shell", ["", "/bin/ksh93", "/bin/csh-of-mine"])
def test_a_shell_that_we_do_not_know(home: Home, shell: str) -> None:
    refused(home.run("init", "--install", SHELL=shell), "$SHELL", hint="bash, zsh")
    for option in ("--install", "--remove"):
        named = home.run("init", option, "rc")
        refused(named, "`rc`", code=2, hint=f"cudaswitch init {option} bash")
    refused(home.run("init", "--remove", SHELL=shell), hint="cudaswitch init --remove bash")
    refused(home.run("init", "rc"), "`rc`", code=2, hint="bash, zsh")
    for words in (("ksh93",), ("--install", "ksh93")):
        refused(
            home.run("init", *words),
            "ksh cannot be switched",
            code=2,
            hint="cudaswitch exec VERSION",
        )
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


def _made_by_a_tool(path: Path) -> None:
    (path.parent / "made").write_bytes(b"x=1\n")
    (path.parent / "made").chmod(0o444)
    path.symlink_to("made")


REFUSED = {
    # why: what makes it so, and the hint, None where it depends on what is to be done
    "it is read-only": (_read_only, "chmod u+w {path}"),
    ": it is read-only": (_made_by_a_tool, None),
    "it is a folder": (Path.mkdir, "move it away"),
    "only one of": (_half_a_block, "remove the lines from"),
    "is not a regular": (lambda path: path.symlink_to("/dev/null"), "move it away"),
    "a regular file": (os.mkfifo, "move it away"),
    "Too many levels": (lambda path: path.symlink_to(path.name), None),
}


@pytest.mark.parametrize("why", REFUSED)
def test_a_file_that_is_not_to_be_edited(home: Home, why: str) -> None:
    path = home.path / ".bashrc"
    make, hint = REFUSED[why]
    make(path)
    before = path.read_bytes() if path.is_file() else None
    for way, do in (
        ("--install", "add this line to what generates the file: eval"),
        ("--remove", "remove the marked lines from what generates the file"),
    ):
        done = home.run("init", way, "bash")
        refused(done, f"`{path}`", why, hint=f"hint: {(hint or do).format(path=path)}")
    assert before == (path.read_bytes() if path.is_file() else None)
    assert not (home.store / "init").exists()


@root_only
def test_root_edits_no_other_users_file(home: Home) -> None:
    """Root edits no other user's file, as by `sudo cudaswitch init --install` with their HOME."""
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
    ends = {b"n\n": (1, b"was not changed"), b"\x03": (130, b"^C\r\ncudaswitch: interrupted")}
    for answer, (code, said) in {**ends, b"y\n": (0, b" in every new bash")}.items():
        with pexpect.spawn(
            str(console_script()), ["init", "--install", "bash"], env=home.env, timeout=60
        ) as child:
            child.expect_exact("Write this change? [Y/n]")
            child.send(answer)
            child.expect(pexpect.EOF)
        assert (child.exitstatus, said in child.before) == (code, True), child.before
        assert path.exists() is (code == 0)
    words = ["init", "--remove", "bash", "--yes"]
    with pexpect.spawn(str(console_script()), words, env=home.env, timeout=60) as child:
        child.expect(pexpect.EOF)
        assert b"Write this change?" not in child.before
    assert not path.exists()


def test_a_line_that_cannot_be_taken_out_still_loads_it(home: Home) -> None:
    """If somebody edits the file while the question waits, the line and what it loads stay."""
    install(home, "bash", "--yes")
    [ready] = home.store.glob("init/bash")
    before = ready.read_bytes()
    with pexpect.spawn(
        str(console_script()), ["init", "--remove", "bash"], env=home.env, timeout=60
    ) as child:
        child.expect_exact("Write this change? [Y/n]")
        with (home.path / ".bashrc").open("a") as file:
            file.write("x=1\n")
        child.sendline("y")
        child.expect_exact("was changed in the meantime")
        child.expect(pexpect.EOF)
    assert child.exitstatus == 1
    assert ready.read_bytes() == before


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("x=1\nexec zsh -l\n", 2),
        ("return\n", 1),
        ("case $- in *i*) ;; *)\n    return;; esac\n", 0),
        ("exec 2>/dev/null\nreturned=1\n# return\n[ -t 0 ] || return\n", 0),
    ],
)
def test_a_file_that_ends_before_the_line_is_told_of(home: Home, text: str, line: int) -> None:
    (home.path / ".bashrc").write_text(text)
    said = install(home, "bash")
    told = f"`{home.path}/.bashrc` may end in line {line} (`{text.splitlines()[line - 1]}`)"
    assert (told in said) is bool(line)
    assert ("may end" in said) is bool(line)
    # A line above such an end is reached.
    path = home.path / ".bashrc"
    path.write_text(path.read_text().removeprefix(text) + text)
    assert "may end" not in install(home, "bash")


@pytest.mark.parametrize("shell", FILES)
def test_what_is_told_then_is_of_use_in_the_shell_that_asks(stocked: Home, shell: str) -> None:
    """The hint is for the shell that asks, not for $SHELL, and another once the line is there."""
    (stocked.path / ".cuda-version").write_text("10.1\n")
    path = f"{console_script().parent}:{stocked.env['PATH']}"
    env = stocked.env | {"SHELL": "/bin/strange", "PATH": path}
    row = SHELLS[shell]

    def told() -> str:
        command = [require(shell), "-c", "cudaswitch current; true"]
        done = subprocess.run(
            command, env=env, cwd=stocked.path, capture_output=True, text=True, check=True
        )
        return done.stderr.splitlines()[-1]

    assert told() == f"hint: cudaswitch init --install {shell}"
    assert install(stocked, shell).splitlines()[-1 if shell != "bash" else -3].endswith(row.load)
    assert told() == f"hint: open a new {shell}, or run in this one: {row.load}"


def test_bash_is_told_of_login_shells_and_of_a_second_line(home: Home) -> None:
    said = install(home, "bash")
    assert "login shells" in said
    assert ".bash_profile" in said
    (home.path / ".profile").write_text("export X=1\n")
    assert f"`{home.path}/.profile`" in install(home, "bash")
    (home.path / ".profile").write_text("# not like .bashrc\nexport X=1")
    hint = install(home, "bash").partition("hint: ")[2].strip()
    subprocess.run(["bash", "-c", hint], env=home.env, check=True)
    line = '[ -z "$BASH_VERSION" ] || . ~/.bashrc'
    assert f"export X=1\n{line}\n" in (home.path / ".profile").read_text()
    assert "login shells" not in install(home, "bash")
    (home.path / ".profile").write_text('[ -f "$HOME/.bashrc" ] && . "$HOME/.bashrc"\n')
    (home.path / ".bashrc").write_text('eval "$(cudaswitch init bash)"\n')
    said = install(home, "bash")
    assert "login shells" not in said
    assert "also loads" in said
    (home.path / ".bash_profile").write_text(". ~/.profile\n")
    assert "login shells" not in install(home, "bash")
    (home.path / ".bashrc").write_text('# eval "$(cudaswitch init bash)"\n')
    assert "also loads" not in install(home, "bash")


@pytest.mark.parametrize("sh", ["dash", "busybox", "bash", "mksh", "yash"])
@pytest.mark.parametrize("guard", ['[ -z "$BASH_VERSION" ] || ', ""])
def test_a_login_of_sh_goes_on_behind_it(home: Home, sh: str, guard: str) -> None:
    """A /bin/sh that reads `.profile`, as session scripts have it do, survives bash's text."""
    install(home, "bash")
    (home.path / ".profile").write_text(f"X=1\n{guard}. ~/.bashrc\n")
    start = [require(sh), *(["sh"] if sh == "busybox" else [])]
    command = [*start, "-c", ". ~/.profile && echo goes on"]
    done = subprocess.run(command, env=home.env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "goes on\n", "")


def test_the_line_for_an_open_nushell_loads_it(stocked: Home) -> None:
    """The line for an open Nushell, which evaluates no text, writes over no file of its startup."""
    nu = [require("nu"), "--no-config-file", "-c"]

    def said(text: str) -> list[str]:
        done = subprocess.run([*nu, text], env=env, capture_output=True, text=True, check=False)
        return (done.stdout + done.stderr).splitlines()

    env = stocked.env | {"PATH": f"{console_script().parent}:{stocked.env['PATH']}"}
    assert said("cudaswitch use 10.1")[-1] == "hint: cudaswitch init --install nu"
    line = install(stocked, "nu").splitlines()[-1].partition("in this one: ")[2]
    assert said("cudaswitch use 10.1")[-1] == f"hint: {line}"
    home = said(f"{line}\n$env.CUDASWITCH_QUIET = 1\ncudaswitch use 10.1\nprint $env.CUDA_HOME")[-1]
    assert home == stocked.run("exec", "10.1", "--", "printenv", "CUDA_HOME").stdout.strip()
    assert "no longer loads" in remove(stocked, "nu")

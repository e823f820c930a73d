"""The system calls of a command, as strace sees them: what it changed, and what it started."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from homes import Home
from tools import console_script, require

CALLS = ("write", "pwrite64", "writev", "sendfile", "copy_file_range", "ftruncate")
MADE = ("open", "openat", "creat", "mkdir", "mkdirat", "link", "linkat", "symlink", "symlinkat")
FLUSHED = ("fsync", "fdatasync")
RENAMED = ("rename", "renameat", "renameat2")
_TRACED = (*CALLS, *MADE, *FLUSHED, *RENAMED, "unlink", "unlinkat", "rmdir")
_LINE = re.compile(r"(?P<process>\d+) +(?P<text>.*)")
_BEGUN = re.compile(r"(?P<name>\w+)\((?P<rest>.*) <unfinished \.\.\.>")
_ENDED = re.compile(r"<\.\.\. (?P<name>\w+) resumed>(?P<rest>.*)")
_WHOLE = re.compile(r"(?P<name>\w+)\((?P<rest>.*)\) += (?P<result>-?\d+).*")
_FILE = re.compile(r"(?:-?\d+|AT_FDCWD)<(?P<file>[^>]*)>")
_PROGRAM = re.compile(
    r'\d+ +execve\("(?:[^"\\]|\\.)*", \[(?P<words>(?:"(?:[^"\\]|\\.)*"(?:, )?)*)\]'
)
_ARGUMENT = re.compile(r'(?:(?:-?\d+|AT_FDCWD)<(?P<folder>[^>]*)>, )?"(?P<path>(?:[^"\\]|\\.)*)"')


@dataclass(frozen=True)
class Call:
    """One call that succeeded: `paths` are absolute, `begun` and `ended` lines of the trace."""

    name: str
    paths: tuple[Path, ...]
    begun: int
    ended: int
    text: str


def traced(home: Home, *arguments: str | Path, cwd: Path) -> list[Call]:
    """Run a command that must succeed, and return its calls in the order in which they ended."""
    options = ["-y", "-s", "4096", "-e", f"trace={','.join(_TRACED)}"]
    done, lines = _under_strace(home, options, arguments, cwd, {})
    assert done.returncode == 0, done.stderr
    return list(_calls(lines))


def started(
    home: Home, *arguments: str | Path, **variables: str | None
) -> tuple[subprocess.CompletedProcess[str], list[str]]:
    """Run a command, and return how it ended and the command lines of all that it started."""
    # Only -v shows more than 32 arguments; the variables that it shows, too, are left out below.
    options = ["-v", "-s", "65536", "-e", "trace=execve", "--seccomp-bpf"]
    done, lines = _under_strace(home, options, arguments, home.path, variables)
    first, *others = (match["words"] for match in map(_PROGRAM.match, lines) if match)
    assert "cudaswitch" in first
    assert len(others) + 1 == sum(" execve(" in line for line in lines)
    return done, others


def _under_strace(
    home: Home,
    options: Sequence[str],
    arguments: Sequence[str | Path],
    cwd: Path,
    variables: Mapping[str, str | None],
) -> tuple[subprocess.CompletedProcess[str], list[str]]:
    """Return how a command ended, and the lines of strace about it and all that it started."""
    log = home.path / "strace"
    env = home.env | {"PYTHONDONTWRITEBYTECODE": "1"} | variables
    done = subprocess.run(
        [require("strace"), "-f", *options, "-o", log, console_script(), *arguments],
        env={name: value for name, value in env.items() if value is not None}, cwd=cwd,
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    log.unlink()
    return done, lines


def injected(rule: str, *command: str | Path) -> list[str | Path]:
    """Return a command line that runs a command while strace makes one of its calls fail."""
    name = rule.partition(":")[0]
    quiet = ["-f", "-qq", "-o", "/dev/null", "-e", f"trace={name}"]
    return [require("strace"), *quiet, "-e", f"inject={rule}", *command]


def _calls(lines: Sequence[str]) -> Iterator[Call]:
    begun: dict[str, tuple[int, str]] = {}
    for number, line in enumerate(lines):
        match = _LINE.fullmatch(line)
        assert match, line
        process, text, first = match["process"], match["text"], number
        if part := _BEGUN.fullmatch(text):
            begun[process] = number, f"{part['name']}({part['rest']}"
            continue
        if part := _ENDED.fullmatch(text):
            first, head = begun.pop(process)
            text = head + part["rest"]
        whole = _WHOLE.fullmatch(text)
        if whole and int(whole["result"]) >= 0:
            paths = tuple(_paths(whole["name"], whole["rest"]))
            yield Call(whole["name"], paths, first, number, text)


def _paths(name: str, rest: str) -> Iterator[Path]:
    if name in (*CALLS, *FLUSHED):
        match = _FILE.match(rest)
        if match:
            yield Path(match["file"])
        return
    for match in _ARGUMENT.finditer(rest):
        yield Path(match["folder"] or "/") / match["path"]

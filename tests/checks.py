"""What many tests check: a refusal in one clear line, a store byte for byte, an answer, and
what a process does while another is in the middle of something."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from homes import Home

Done = subprocess.CompletedProcess[str]

RUNTIME_ANSWER = (
    "import ctypes, sys; number = ctypes.c_int();"
    " ctypes.CDLL(sys.argv[1]).cudaRuntimeGetVersion(ctypes.byref(number)); print(number.value)"
)
"""A Python program: loads the runtime library named, through the loader's own search."""

PYTHON = sys.executable


@contextmanager
def in_the_middle(code: str, *arguments: str | Path) -> Iterator[subprocess.Popen[str]]:
    """Give a Python process that has run `code` until it printed `True`; afterwards, kill it.

    After printing, `code` has to wait, by `input()`.
    """
    process = subprocess.Popen(
        [PYTHON, "-c", code, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "True\n"
        yield process
    finally:
        process.kill()
        process.communicate()


def succeeded(done: Done) -> list[str]:
    """Return the lines on stdout of a command that must have succeeded."""
    assert done.returncode == 0, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    assert "Traceback" not in done.stderr
    return done.stdout.splitlines()


def complete(toolkit: Path, cudnn: str | None) -> None:
    """Check that a toolkit has what build tools look for, and no links that lead nowhere."""
    names = [
        *("bin/nvcc", "include/cuda.h", "include/cuda_runtime.h", "lib64/libcudart.so"),
        *("lib64/libcudart_static.a", "lib/libcudart.so", "nvvm/bin/cicc", "version.json"),
    ]
    if cudnn is not None:
        major = cudnn.partition(".")[0]
        names += ["include/cudnn.h", "lib64/libcudnn.so", f"lib64/libcudnn.so.{major}"]
        names += [f"targets/x86_64-linux/{name}" for name in ("include/cudnn.h", "lib/libcudnn.so")]
    for name in names:
        assert (toolkit / name).is_file(), name
    for name in ("nvcc", "ptxas", "cudafe++", "nvlink", "fatbinary"):
        assert os.access(toolkit / "bin" / name, os.X_OK), name
    broken = [path for path in toolkit.rglob("*") if path.is_symlink() and not path.exists()]
    assert broken == []


def remarks(done: Done) -> list[str]:
    """Return the lines on stderr, but for what a new C library adds for old toolkits."""
    return [line for line in done.stderr.splitlines() if "do not compile with glibc" not in line]


def refused(done: Done, *words: str, code: int = 1, hint: str | None = "") -> str:
    """Check that a command refused in one clear line, and return that line.

    `words` must be in it. `hint` must be in the hint; with None, there may be no hint.
    """
    shown = f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    assert done.returncode == code, shown
    assert done.stdout == "", shown
    said = [line for line in done.stderr.splitlines() if line]
    message = said[0]
    assert message.startswith("cudaswitch: "), shown
    assert not message.endswith("."), shown
    assert "internal error" not in message, shown
    for word in words:
        assert word in message, f"`{word}` is missing:\n{shown}"
    if hint is not None:
        assert len(said) == 2, shown
        assert said[1].startswith("hint: "), shown
        assert hint in said[1], shown
    return message


def snapshot(root: Path) -> dict[str, str]:
    """Describe a store: each path with its kind, mode, and hash or target.

    Locks are left out, and so is the staging folder itself.
    """
    found = {}
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        if name.startswith("locks") or name == ".staging":
            continue
        if path.is_symlink():
            found[name] = f"-> {path.readlink()}"
        elif path.is_dir():
            found[name] = "folder"
        else:
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            found[name] = f"{path.stat().st_mode:o} {digest}"
    return found


def bytes_in(root: Path) -> int:
    """Count the bytes of all files below `root`, each inode once."""
    inodes = {}
    for path in root.rglob("*"):
        if path.is_file() and not path.is_symlink():
            status = path.stat()
            inodes[status.st_ino] = status.st_size
    return sum(inodes.values())


def inodes_in(root: Path) -> dict[str, int]:
    """Map each path below `root` to its inode, links not followed."""
    return {str(path.relative_to(root)): path.lstat().st_ino for path in root.rglob("*")}


def proven(home: Home, *words: str, code: int = 0, **variables: str) -> dict[str, dict[str, Any]]:
    """Return the results of `check`, by their names."""
    done = home.run("check", *words, "--json", timeout=900, **variables)
    assert done.returncode == code, done.stdout + done.stderr
    said = json.loads(done.stdout)
    assert said["passed"] == (code == 0)
    return {result["name"]: result for result in said["results"]}

"""A process that has loaded cudaswitch, and forks for each run of it, with or without a fault.

    python -m faults.forking SOCKET      requests and replies as lines of JSON

Starting Python takes most of a short command's time, and there are thousands of runs. Each run
is a process of its own all the same: it can be killed, and its locks and files go with it. Each
connection has a process of its own too, so that several can have runs at once.
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import signal
import socket
import sys
import time
from importlib import import_module
from typing import Any

from cudaswitch import __main__ as program
from cudaswitch.cli import COMMANDS

_LOADED = (
    "archives",
    "collecting",
    "compose",
    "healing",
    "install",
    "locks",
    "mirroring",
    "sources",
)
_LIMIT = 60.0
"""Seconds after which a run counts as hanging."""


def _load() -> None:
    for module, _ in COMMANDS.values():
        import_module(f"cudaswitch.cli.{module}")
    for name in _LOADED:
        import_module(f"cudaswitch.{name}")
    import_module("tqdm")
    import_module("rattler.index")


def _child(asked: dict[str, Any]) -> None:
    os.chdir(asked["cwd"])
    os.environ.clear()
    os.environ.update(asked["env"])
    sys.argv = asked["argv"]
    for descriptor, path in enumerate(asked["files"]):
        flags = os.O_RDONLY if descriptor == 0 else os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        os.dup2(os.open(path, flags, 0o600), descriptor)
    log = os.open(asked["log"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    if asked["act"]:
        arm = ctypes.CDLL(None).faults_arm
        arm(asked["root"].encode(), asked["act"], asked["at"], asked["errno"], log)
    try:
        code = program.main()
    except SystemExit as done:
        code = done.code if isinstance(done.code, int) else 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _run(asked: dict[str, Any]) -> dict[str, Any]:
    begun = time.monotonic()
    child = os.fork()
    if child == 0:
        try:
            _child(asked)
        finally:
            os._exit(99)
    watched = os.pidfd_open(child)
    killed_after = asked["kill_after"]
    ready, _, _ = select.select([watched], [], [], _LIMIT if killed_after is None else killed_after)
    if not ready:
        os.kill(child, signal.SIGKILL)
    os.close(watched)
    _, status = os.waitpid(child, 0)
    hung = not ready and killed_after is None
    code = os.waitstatus_to_exitcode(status)
    return {"code": code, "hung": hung, "seconds": time.monotonic() - begun}


def _serve(connection: socket.socket) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    with connection, connection.makefile("rw", encoding="utf-8") as lines:
        for line in lines:
            print(json.dumps(_run(json.loads(line))), file=lines, flush=True)


def main() -> None:
    _load()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(sys.argv[1])
        server.listen()
        print("ready", flush=True)
        while True:
            connection, _ = server.accept()
            if os.fork() == 0:
                server.close()
                _serve(connection)
                os._exit(0)
            connection.close()


if __name__ == "__main__":
    main()

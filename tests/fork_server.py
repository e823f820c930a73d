"""A process that has loaded the command, and forks for each run of it.

    python fork_server.py DESCRIPTOR      of a socket, on which jobs arrive

Loading Python and its modules takes most of a short command's time, and the tests run ten thousand
commands. Each run is a process of its own all the same. What a start loads, and in which order,
is for tests that start the command from disk.
"""

from __future__ import annotations

import atexit
import json
import os
import pkgutil
import resource
import selectors
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import IO, Any

LOCALE = "C.UTF-8"
"""LC_ALL of all runs."""
_LARGEST = 1 << 17
"""Most bytes of a job."""


@dataclass(frozen=True)
class Ended:
    """How a run ended: `code` is negative for a signal, `cpu` in seconds, `memory` in bytes."""

    code: int
    out: bytes
    err: bytes
    cpu: float
    memory: int


class ForkServer:
    """That process, as seen by the tests. It ends together with theirs."""

    def __init__(self) -> None:
        self._jobs, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, __file__, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                env=os.environ | {"LC_ALL": LOCALE},
            )
        atexit.register(self._end)

    def _end(self) -> None:
        self._jobs.close()
        self._process.wait(timeout=10)

    def run(
        self,
        command: list[str],
        *,
        env: Mapping[str, str],
        cwd: Path,
        stdin: IO[Any],
        timeout: float,
        limit: int = 0,
    ) -> Ended:
        """Run a command line of cudaswitch; `limit` is how many bytes it may map, 0 for any.

        Raises `subprocess.TimeoutExpired` after so many seconds, as `subprocess.run` does.
        """
        job = {"command": command, "env": dict(env), "cwd": str(cwd), "limit": limit}
        pipes = [os.pipe() for _ in range(3)]
        given = [stdin.fileno(), *(end for _, end in pipes)]
        socket.send_fds(self._jobs, [json.dumps(job).encode()], given)
        for _, end in pipes:
            os.close(end)
        out, err, told = _read_all([end for end, _ in pipes], command, timeout)
        answer = json.loads(told.split(b"\n")[1])
        return Ended(answer["code"], out, err, answer["cpu"], answer["memory"])


@cache
def fork_server() -> ForkServer:
    """Return the fork server of this process."""
    return ForkServer()


def _read_all(pipes: list[int], command: list[str], timeout: float) -> list[bytes]:
    """Read pipes to their ends; the first line of the last one is the process to kill if late."""
    texts = dict.fromkeys(pipes, b"")
    end = time.monotonic() + timeout
    with selectors.DefaultSelector() as waiting:
        for pipe in pipes:
            waiting.register(pipe, selectors.EVENT_READ)
        while waiting.get_map():
            ready = waiting.select(end - time.monotonic())
            if not ready:
                os.kill(int(texts[pipes[-1]].split()[0]), 9)
                raise subprocess.TimeoutExpired(command, timeout, *list(texts.values())[:2])
            for key, _ in ready:
                piece = os.read(key.fd, 1 << 16)
                texts[key.fd] += piece
                if not piece:
                    waiting.unregister(key.fd)
                    os.close(key.fd)
    return list(texts.values())


def _load() -> None:
    """Load every module of cudaswitch, with all that it imports."""
    import cudaswitch  # only in the server, not in the tests' process

    for module in pkgutil.walk_packages(cudaswitch.__path__, "cudaswitch."):
        # These modules run in the Pythons of other programs.
        if not module.name.endswith(("xonsh", "check.child")):
            import_module(module.name)


def _become(job: dict[str, Any], streams: list[int]) -> int:
    """Become a process as a shell would have started it."""
    for number, handle in enumerate(streams):
        os.dup2(handle, number)
    os.closerange(3, 256)
    # The parent's stream objects know what these descriptors were in the parent.
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        setattr(sys, name, os.fdopen(number, mode, closefd=False))
    if job["limit"]:
        resource.setrlimit(resource.RLIMIT_AS, (job["limit"], job["limit"]))
    os.environ.clear()
    os.environ.update(job["env"])
    os.chdir(job["cwd"])
    sys.argv = job["command"]
    from cudaswitch.__main__ import entry  # as the console script does

    return entry()


def _serve(jobs: socket.socket) -> None:
    waiting = selectors.DefaultSelector()
    waiting.register(jobs, selectors.EVENT_READ)
    while True:
        for key, _ in waiting.select():
            if key.fileobj is jobs:
                message, handles, _, _ = socket.recv_fds(jobs, _LARGEST, 4)
                if not message:
                    return
                *streams, reply = handles
                pid = os.fork()
                if pid == 0:
                    sys.exit(_become(json.loads(message), streams))
                for handle in streams:
                    os.close(handle)
                os.write(reply, b"%d\n" % pid)
                waiting.register(os.pidfd_open(pid), selectors.EVENT_READ, (pid, reply))
            else:
                pid, reply = key.data
                waiting.unregister(key.fd)
                os.close(key.fd)
                _, status, used = os.wait4(pid, 0)
                answer = {
                    "code": os.waitstatus_to_exitcode(status),
                    "cpu": used.ru_utime + used.ru_stime,
                    "memory": used.ru_maxrss << 10,
                }
                os.write(reply, json.dumps(answer).encode())
                os.close(reply)


if __name__ == "__main__":
    # Runs must not find the tests' modules on sys.path.
    del sys.path[0]
    _load()
    _serve(socket.socket(fileno=int(sys.argv[1])))

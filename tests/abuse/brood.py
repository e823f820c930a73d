"""A process that has loaded the command and runs it in one fork for each line on stdin.

Started by arena.py: hundreds of inputs cost a fork each, not a start of Python. A line is JSON:
`arguments`, `variables`, `directory`, `input`, `output` (files for stdin and both outputs) and
`seconds` (of wall-clock time, after which the child is killed). The answer is JSON too: `code`
(negative for a signal), `cpu` (seconds) and `memory` (bytes at most resident).
"""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import resource
import select
import signal
import sys
from typing import Any

import cudaswitch
from cudaswitch.__main__ import main

_PROGRAMS = ("xonsh", "check.child")
"""Ends of modules that are run elsewhere, not imported."""

for _module in pkgutil.walk_packages(cudaswitch.__path__, "cudaswitch."):
    # What a fork has need not be loaded by each of the children.
    if not _module.name.endswith(_PROGRAMS):
        importlib.import_module(_module.name)


def child(job: dict[str, Any]) -> int:
    """Become a process as the shell would start it."""
    # Far above what is allowed: the machine of the tests is to survive a failure.
    resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
    os.environ.clear()
    os.environ.update(job["variables"])
    os.chdir(job["directory"])
    for number, path, flags in (
        (0, job["input"], os.O_RDONLY),
        (1, job["output"] + ".out", os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
        (2, job["output"] + ".err", os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
    ):
        handle = os.open(path, flags, 0o600)
        os.dup2(handle, number)
        os.close(handle)
    sys.argv = ["cudaswitch", *job["arguments"]]
    return main()


def wait(pid: int, seconds: float) -> tuple[int, Any]:
    """Wait for a child, or kill it after so many seconds."""
    handle = os.pidfd_open(pid)
    if not select.select([handle], [], [], seconds)[0]:
        os.kill(pid, signal.SIGKILL)
    os.close(handle)
    _, status, used = os.wait4(pid, 0)
    return os.waitstatus_to_exitcode(status), used


for line in sys.stdin:
    job = json.loads(line)
    pid = os.fork()
    if pid == 0:
        code = 70
        try:
            code = child(job)
            sys.stdout.flush()
            sys.stderr.flush()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 70
        finally:
            os._exit(code)
    code, used = wait(pid, job["seconds"])
    answer = {"code": code, "cpu": used.ru_utime + used.ru_stime, "memory": used.ru_maxrss << 10}
    os.write(1, json.dumps(answer).encode() + b"\n")

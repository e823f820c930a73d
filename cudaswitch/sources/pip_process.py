"""pip as a child process, with the user's own configuration, and its failures in one line."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from threading import Event

from cudaswitch import settings
from cudaswitch.download.access import Limits
from cudaswitch.download.urls import redact
from cudaswitch.errors import FULL, NotFoundError, SourceError, printable
from cudaswitch.paths import cache
from cudaswitch.platforms import home_folder
from cudaswitch.sources.choosing import instead
from cudaswitch.versions import Request, Version, is_version

_SETTINGS = {
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "PIP_NO_COLOR": "1",  # what it says becomes our line, also under FORCE_COLOR
    "PIP_NO_INPUT": "1",
    # These override what the user may have set for installing: we only read and download.
    "PIP_QUIET": "0",
    "PIP_REQUIRE_HASHES": "0",
    "PIP_REQUIRE_VIRTUALENV": "0",
    "PIP_USER": "0",
}
MEMORY = 2 << 30
"""Bytes of memory that pip may have."""
_LOOK = 0.2
"""Seconds between checks whether pip is to be stopped."""
_TIDYING = 3.0
"""Seconds that pip has for deleting its temporary files after an interrupt."""
_FULL = re.compile(rf"\[Errno (?:{'|'.join(map(str, FULL))})\]")
_UNREACHABLE = re.compile(r"connection broken by|Could not fetch URL|Max retries exceeded")
_CAUSE = re.compile(
    r"\[Errno [0-9-]+\] ([^'\")\]]+)|(timed out)|(certificate verify failed: [^(]*[^( ])"
)

_LACKING = re.compile(
    r"requirement ([\w.-]+)==([0-9.]+?)(?:\.\*)? \(from versions: ([0-9][^)]*)\)", re.ASCII
)


def pip_command() -> list[str]:
    """Return the command that starts pip: this Python's, else the one on PATH."""
    spec = importlib.util.find_spec("pip")
    if spec is not None and spec.origin is not None:
        # By its path, since `-m pip` would look in the working directory first.
        return [sys.executable, str(Path(spec.origin).parent)]
    for name in ("pip", "pip3"):
        # Not `find_program`: on Windows it is `pip.exe`.
        if found := shutil.which(name):
            return [found]
    raise SourceError(
        "packages from PyPI are downloaded with pip, which was not found",
        "install pip into cudaswitch's environment, or put one on PATH",
    )


def run_pip(
    arguments: Sequence[str],
    what: str,
    *,
    offline: bool,
    show: bool = False,
    stop: Event | None = None,
) -> str:
    """Run pip for `what` and return its output; with `show`, its progress goes to stderr.

    Another thread ends pip by setting `stop`.

    Raises SourceError with pip's own last error, without credentials.
    """
    command, *rest = arguments
    searched = ["--no-index"] if offline else []
    os.getcwd()  # fails if the folder is gone; pip would only say that some file is not there
    try:
        pip = subprocess.Popen(
            [*pip_command(), command, *searched, *rest],
            env=os.environ | _SETTINGS | _home() | _index(),
            stdin=subprocess.DEVNULL,
            stdout=sys.stderr if show else subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
    except OSError as error:
        raise SourceError(f"cannot start pip: {error.strerror}") from None
    out, err = _bounded(pip, what, stop)
    if pip.returncode == 0:
        return (out or b"").decode(errors="replace")
    # pip reports bad certificates on stdout.
    raise _failure(what, ((out or b"") + err).decode(errors="replace"), offline)


def _bounded(
    pip: subprocess.Popen[bytes], what: str, stop: Event | None
) -> tuple[bytes | None, bytes]:
    """Wait for pip and return its output, within bounds: an index may send data without end."""
    seconds = Limits.from_environment().seconds
    try:
        # pip may have ended already.
        with contextlib.suppress(OSError, ValueError):
            resource.prlimit(pip.pid, resource.RLIMIT_DATA, (MEMORY, MEMORY))
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0 and not (stop and stop.is_set()):
            with contextlib.suppress(subprocess.TimeoutExpired):
                return pip.communicate(timeout=min(left, _LOOK) if stop else left)
        # Also if it was stopped: then the failure that stopped it is what is told.
        raise SourceError(
            f"pip took longer than {seconds:g} s for {what}",
            "set CUDASWITCH_MAX_TIME to allow more",
        )
    finally:
        if pip.poll() is None:
            _end(pip)


def _end(pip: subprocess.Popen[bytes]) -> None:
    """Interrupt pip, which then deletes its temporary files; kill it if that takes too long."""
    try:
        pip.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            pip.wait(_TIDYING)
    finally:
        pip.kill()
        pip.wait()


def _home() -> dict[str, str]:
    folder = home_folder()
    # Newer versions of pip fail without a home. Nothing is below devnull, nor can be put there.
    return {"HOME": folder} if folder else {"HOME": os.devnull, "PIP_NO_CACHE_DIR": "1"}


def _index() -> dict[str, str]:
    url = settings.value("mirrors.pypi")
    return {"PIP_INDEX_URL": url} if url else {}


def _failure(what: str, said: str, offline: bool) -> SourceError:
    last = printable(redact(_last_error(said)))
    if "unknown command" in last:
        return SourceError("this pip is too old", "pip 23.1 or newer is needed: upgrade pip")
    if _FULL.search(said):
        return SourceError(
            f"pip ran out of space for {what}, in `{cache()}` or `{tempfile.gettempdir()}`",
            "free some space, or set CUDASWITCH_CACHE and TMPDIR to folders elsewhere",
        )
    if "MemoryError" in said:
        return SourceError(
            f"pip ran out of memory for {what}: its index sends too much", "pip config list"
        )
    if offline:
        return NotFoundError(
            f"the folders that pip searches offline do not have {what}: {last}",
            f"{settings.way_online()}, or name a folder of wheels in PIP_FIND_LINKS",
        )
    return _of_index(what, said, last)


def _of_index(what: str, said: str, last: str) -> SourceError:
    url = settings.value("mirrors.pypi")
    mirror = f"`{printable(redact(url))}`" if url else ""
    if _UNREACHABLE.search(said):
        causes = [next(filter(None, found)) for found in _CAUSE.findall(said)]
        because = printable(causes[-1]) if causes else last
        return SourceError(
            f"pip cannot reach {mirror or 'its package index'} for {what}: {because}",
            "check the network, the proxy and the certificates"
            if mirror
            else "check the network, the proxy, the certificates and `pip config list`",
        )
    if lacking := _LACKING.search(said):
        name, version, there = lacking.groups()
        offered = [Version(one) for one in there.split(", ") if is_version(one)]
        where = mirror or "pip's index"
        return SourceError(f"{where} has no {name} {version}", instead(Request(version), offered))
    whence = f" from {mirror}" if mirror else ""
    return SourceError(
        f"pip cannot get {what}{whence}: {last}",
        "check that it has that, or name what it has with --components"
        if mirror
        else "check what pip uses: `pip config list`",
    )


def _last_error(said: str) -> str:
    """Return the most telling line: the one that lists the available versions, or the last."""
    errors: list[str] = re.findall(r"^ERROR: (.*\S)", said, re.MULTILINE)
    for error in errors:
        if re.search(r"\(from versions: [0-9]", error):
            return error
    # A traceback follows, and its last line tells the reason.
    if errors[-1:] == ["Exception:"]:
        errors = []
    return (errors or said.strip().splitlines() or ["it gave no reason"])[-1]

"""The ready answers for `init xonsh`, and when it asks Python instead.

Runs in xonsh: see `shells.carrying`, which sets `root` (the store that the integration was written
for) and `program` (the command itself).
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

from xonsh.built_ins import XSH

from cudaswitch.environments import Environment, environment_at, pin_of
from cudaswitch.errors import CudaswitchError
from cudaswitch.regular import toolkit_is_there
from cudaswitch.versions import VERSION_FILE_LIMIT, parse_version_file

root: str = globals()["root"]
program: str = globals()["program"]


asked: dict[tuple[Path, bytes | None], tuple[str | None, tuple[str, bytes | None] | None]] = {}
"""What was last asked about (a version file and its content then, or the environment), mapped to
Python's answer, and the store and what was installed in it then."""


def store() -> str:
    """Return the store that answers; requests/NAME in it holds the ready answer to a request.

    That is the one that CUDASWITCH_HOME names, else the one that the integration was written for.
    If only the command can resolve its path, no answer is ready.
    """
    chosen = str(XSH.env.get("CUDASWITCH_HOME") or root)
    if chosen.startswith("~/"):
        chosen = str(XSH.env.get("HOME", "")) + chosen[1:]
    return chosen if os.path.isabs(chosen) else os.devnull


def ready(request: str) -> str | None:
    """Return the ready answer to a request, None where Python must be asked."""
    if not re.fullmatch("[A-Za-z0-9_+<>=!][A-Za-z0-9._+<>=!,-]*", request):
        return None
    try:
        want = Path(store(), "requests", request).read_text(encoding="utf-8").partition("\n")[0]
    except OSError:
        return None
    return want if toolkit_is_there(want.partition(":")[0]) else None


def located() -> str:
    """Return the command; if it was moved or reinstalled elsewhere, the one on PATH."""
    if os.access(program, os.X_OK):
        return program
    return shutil.which("cudaswitch", path=XSH.env.detype().get("PATH")) or program


def run(*arguments: str, stderr: Any = None, **streams: Any) -> subprocess.CompletedProcess[bytes]:
    """Run the command; status 127, with a message, if there is none."""
    line = [located(), *arguments]
    try:
        return subprocess.run(line, env=XSH.env.detype(), stderr=stderr, check=False, **streams)
    except FileNotFoundError:
        out = stderr or sys.stderr
        print(f"cudaswitch: `{program}` is gone, and no other is on PATH", file=out)
        again = "reinstall cudaswitch and run cudaswitch init --install"
        print(f"hint: {again}, or remove its marked lines from the startup file", file=out)
        return subprocess.CompletedProcess(line, 127)


def ask(*arguments: str, stderr: Any = None) -> str | None:
    """Return Python's answer, None if it refuses, which it reports itself, to `stderr` if given."""
    done = run("want", *arguments, stdout=subprocess.PIPE, stderr=stderr)
    return os.fsdecode(done.stdout).rstrip("\n") if done.returncode == 0 else None


def ask_once(about: Path, content: bytes | None, option: str) -> str | None:
    """Return Python's answer, for which it is asked once as long as nothing has changed."""
    now = store(), content_of(Path(store(), "requests", ".fingerprint"))
    want, then = asked.get((about, content), (None, None))
    home = (want or "").partition(":")[0]
    if then != now or (home.startswith("/") and not toolkit_is_there(home)):
        asked.clear()
        want = ask(option, str(about))
        asked[about, content] = want, now
    return want


def content_of(file: Path) -> bytes | None:
    """Return what a version file holds, None if it is another user's, too long, or missing."""
    try:
        status = file.stat()
        owners = {status.st_uid, file.lstat().st_uid}
        is_own = stat.S_ISREG(status.st_mode) and owners <= {0, os.geteuid()}
        return file.read_bytes() if is_own and status.st_size <= VERSION_FILE_LIMIT else None
    except OSError:
        return None


def answer(file: Path, content: bytes | None) -> str | None:
    """Return the answer to a version file; Python is asked once on the way into a tree."""
    try:
        request = parse_version_file((content or b"").decode(), str(file))
        want = ready(str(request))
        options = {"lib": request.libraries, "gpus": request.gpus}
        # The settings may have said so already.
        if want and not (request.libraries and ":lib=" in want):
            return ":".join([want, *(f"{key}={said}" for key, said in options.items() if said)])
    except (ValueError, CudaswitchError):
        pass
    return ask_once(file, content, "--file")


def framework(environment: Environment) -> str | None:
    """Return what the frameworks in an environment need; Python is asked once in it."""
    kept = environment.answer_kept(os.path.join(store(), "auto"))
    return kept[0] if kept else ask_once(Path(environment.prefix), None, "--environment")


def is_outdated(environment: Environment) -> bool:
    """Tell whether the packages of an environment that is pinned to `auto` have changed since.

    An alias may stand for `auto`.
    """
    try:
        if not environment.changed_since(environment.want_file):
            return False
        request = pin_of(environment)
    except (OSError, CudaswitchError):
        return False
    return request.text == "auto" or request.is_alias


def is_pinned(prefix: str) -> bool:
    """Tell whether an environment still has a pin: another terminal may have unpinned it."""
    try:
        return os.path.isfile(environment_at(prefix).want_file)
    except (OSError, ValueError, CudaswitchError):
        return False


def pinned(prefix: str) -> str:
    """Return what an environment's pin asks for, "" if there is none (see `want_file`)."""
    try:
        environment = environment_at(prefix)
    except (OSError, ValueError, CudaswitchError):
        return ""
    text = environment.want_text()
    if text is None:
        return ""
    if is_outdated(environment):
        text = ask("--environment", prefix) or text
    home, colon, options = text.partition(":")
    if home != "system" and not toolkit_is_there(home):
        # Somebody else may have pinned it, and this user's store may have another for that pin.
        other = ask("--file", environment.pin_file, stderr=subprocess.DEVNULL)
        if other:
            return f"{other}:env={prefix}"
        if sys.stderr.isatty():
            print(
                f"cudaswitch: `{home}` is gone, so nothing is switched (pinned by `{prefix}`)",
                file=sys.stderr,
            )
        home = "gone"
    return f"{home}{colon}{options}:env={prefix}"

"""What `cudaswitch init xonsh` adds to core_xonsh.py: the command, and the look-round.

Runs in xonsh: see `shells.carried`, which sets `root` (the store; requests/NAME in it holds
the ready answer to a request) and `program` (the command itself).
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from xonsh.built_ins import XSH
from xonsh.events import events
from xonsh.tools import unthreadable

from cudaswitch.errors import CudaswitchError
from cudaswitch.shells.core_xonsh import (
    OWNERS,
    environment_of,
    settled,
    strongest,
    variables,
    write,
)
from cudaswitch.versions import VERSION_FILE_LIMIT, parse_version_file

root: str = globals()["root"]
program: str = globals()["program"]

CHANGING = ("pin", "unpin", "install", "adopt", "remove", "alias")
"""Commands after which an active environment's hook may ask for another thing."""

HERE = "__cudaswitch_here"
"""The alias that runs `change_here`."""

seen: tuple[str, ...] | None = None
"""What `watched` said at the last look."""

kept = ""
"""What was applied, in the form of BIN, when the virtualenv was entered."""

asked: dict[tuple[str, bytes], str | None] = {}
"""Python's answer to the version file last asked about, and its content then."""


def watched() -> tuple[str, ...]:
    """Return what a change of calls for a look: environments, directory, version."""
    names = (*OWNERS.values(), "PWD", "CUDASWITCH_VERSION")
    return tuple(str(XSH.env.get(name, "")) for name in names)


def ready(request: str) -> str | None:
    """Return the ready answer to a request, None where Python must be asked."""
    if not re.fullmatch("[A-Za-z0-9_+][A-Za-z0-9._+-]*", request):
        return None
    try:
        want = Path(root, "requests", request).read_text(encoding="utf-8").partition("\n")[0]
    except OSError:
        return None
    return want if Path(want).is_dir() else None


def ask(*arguments: str, stderr: Any = None) -> str | None:
    """Return Python's answer, None when it refuses, which it says itself."""
    done = subprocess.run(
        [program, "want", *arguments],
        stdout=subprocess.PIPE,
        stderr=stderr,
        env=XSH.env.detype(),
        check=False,
    )
    return os.fsdecode(done.stdout).rstrip("\n") if done.returncode == 0 else None


def answer(file: Path) -> str | None:
    """Return the answer to a version file; Python is asked once on the way into a tree."""
    content = b""
    try:
        content = file.read_bytes()
        if file.stat().st_uid == os.geteuid() and len(content) <= VERSION_FILE_LIMIT:
            request = parse_version_file(content.decode(), str(file))
            want = ready(str(request))
            options = {"lib": request.libraries, "gpus": request.gpus}
            if want:
                return ":".join([want, *(f"{key}={said}" for key, said in options.items() if said)])
    except (OSError, ValueError, CudaswitchError):
        pass
    key = (str(file), content)
    if key not in asked:
        asked.clear()
        asked[key] = ask("--file", str(file))
    return asked[key]


def directory(state: dict[str, str]) -> str | None:
    """Return what the directory asks for, else the user."""
    start = Path(state.get("PWD") or "/")
    for folder in (start, *start.parents):
        if (folder / ".cuda-version").is_file():
            return answer(folder / ".cuda-version")
        if str(folder) == state.get("HOME"):
            break
    chosen = Path(root, "global")
    return answer(chosen) if chosen.is_file() else None


def pinned(prefix: str) -> str:
    """Return what an environment's pin wants, "" where there is none (see `want_file`)."""
    try:
        text = Path(prefix, "etc/cudaswitch/want").read_text(encoding="utf-8")
    except OSError:
        return ""
    home, colon, options = text.rstrip("\n").replace("\n", "/").partition(":")
    if home != "system" and not Path(home).is_dir():
        if sys.stderr.isatty():
            print(
                f"cudaswitch: `{home}` is gone, so nothing is switched (pinned by `{prefix}`)",
                file=sys.stderr,
            )
        home = "gone"
    return f"{home}{colon}{options}:env={prefix}"


def look(**_: Any) -> None:
    """Drop what belongs to an environment that was left, take up what is asked for, settle."""
    global seen, kept  # noqa: PLW0603  # a namespace of its own, carried into xonsh
    before = variables()
    now, was = watched(), seen
    state = dict(before)
    if was and was[0] != now[0]:
        # `vox deactivate` brings back the PATH of its activation.
        gone = [record for record in (state.get("_CUDASWITCH_GONE"), was[0] and kept) if record]
        state |= {"_CUDASWITCH_GONE": ":".join(gone)} if gone else {}
        kept = before.get("_CUDASWITCH_BIN", "")
    for owner, name in OWNERS.items():
        key, prefix = f"_CUDASWITCH_{owner}", state.get(name, "")
        left = environment_of(state, owner)
        # Below a stacked environment this one is still active: its folder is on PATH.
        stacked = owner == "C" and f"{left}/bin" in state.get("PATH", "").split(os.pathsep)
        if left != prefix and not stacked:
            state.pop(key, None)
        if prefix and not state.get(key) and (want := pinned(prefix)):
            state[key] = want
    if was is None or was[-1] != now[-1]:
        version = now[-1]
        if not version:
            state.pop("_CUDASWITCH_X", None)
        elif want := ready(version) or ask("--", version) or "":
            state["_CUDASWITCH_X"] = want
    if state.get("_CUDASWITCH_C") or state.get("_CUDASWITCH_V"):
        state.pop("_CUDASWITCH_D", None)
    elif not state.get("_CUDASWITCH_U"):
        state.pop("_CUDASWITCH_D", None)
        if want := directory(state) or "":
            state["_CUDASWITCH_D"] = want
    on = before.get("_CUDASWITCH_ON", "")
    # Without a reason nothing is touched: people put their own folders before ours.
    moved = was is None or was[:2] != now[:2] or bool(state.get("_CUDASWITCH_GONE"))
    if moved or strongest(state) != on.removesuffix(":nvcc"):
        state = settled(state)
    write(before, state)
    seen = watched()
    if state.get("_CUDASWITCH_ON", "") != on:
        say(state)


def say(state: dict[str, str]) -> None:
    """Print one line on what is active now."""
    on = state.get("_CUDASWITCH_ON", "")
    if state.get("CUDASWITCH_QUIET"):
        return
    line = f"CUDA {Path(on.partition(':')[0]).name}" if on else "no toolkit"
    if on and not state.get("_CUDASWITCH_LIB"):
        own = "this environment brings its own CUDA"
        asked_for = ":lib=never" in on
        line += f" (LD_LIBRARY_PATH left alone{', as asked' if asked_for else f': {own}'})"
    print(f"cudaswitch: {line}", file=sys.stderr)


def choose(want: str) -> None:
    """Make `want` this shell's choice, "" for none."""
    before = variables()
    state = dict(before)
    state["_CUDASWITCH_PREVIOUS"] = state.pop("_CUDASWITCH_U", "")
    if want:
        state["_CUDASWITCH_U"] = want
        state = settled(state)
    write(before, state)
    if want:
        say(state)
    else:
        look()


def use(arguments: list[str], stderr: Any) -> int:
    """Switch this shell; return the exit status."""
    want: str | None
    if arguments == ["-"]:
        want = XSH.env.get("_CUDASWITCH_PREVIOUS")
        if want is None:
            print("cudaswitch: there is no earlier choice in this shell", file=stderr or sys.stderr)
            print("hint: cudaswitch use VERSION", file=stderr or sys.stderr)
            return 1
    elif arguments == ["system"]:
        want = "system"
    else:
        want = ready(arguments[0]) if len(arguments) == 1 else None
        want = want or ask("--for-use", *arguments, stderr=stderr)
    if want is None:
        return 1
    choose(want)
    return 0


def command(arguments: list[str]) -> list[str]:
    """Return what `cudaswitch` stands for: its own process, but where the shell changes."""
    here = {"use", "off", *CHANGING}.intersection(arguments[:1])
    asks_for_help = {"-h", "--help"}.intersection(arguments)
    return [HERE if here and not asks_for_help else program, *arguments]


def change_here(
    arguments: list[str], stdin: Any = None, stdout: Any = None, stderr: Any = None
) -> int:
    """Run a command that changes this shell; return the exit status."""
    global seen  # noqa: PLW0603  # a namespace of its own, carried into xonsh
    if arguments[0] == "use":
        return use(arguments[1:], stderr)
    if arguments == ["off"]:
        choose("")
        return 0
    try:
        code = subprocess.run(
            [program, *arguments],
            env=XSH.env.detype(),
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            check=False,
        ).returncode
    except KeyboardInterrupt:
        return 130
    if code == 0:
        before = variables()
        state = dict(before)
        for owner, name in OWNERS.items():
            if environment_of(state, owner) == state.get(name):
                state.pop(f"_CUDASWITCH_{owner}", None)
        write(before, state)
        seen = None
        asked.clear()
        look()
    return code


def prompt(**_: Any) -> None:
    """Look round where something changed; handlers of events are given keywords."""
    if watched() != seen or XSH.env.get("_CUDASWITCH_GONE"):
        look()


# In the terminal itself, not in a thread, which has none.
XSH.aliases[HERE] = unthreadable(change_here)
XSH.aliases["cudaswitch"] = XSH.aliases.return_command(command)
for event in ("on_pre_prompt", "on_chdir", "vox_on_activate", "vox_on_deactivate"):
    getattr(events, event)(prompt)
look()

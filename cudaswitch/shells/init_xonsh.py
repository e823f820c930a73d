"""What `cudaswitch init xonsh` adds to core_xonsh.py: the command, and the look.

Runs in xonsh: see `shells.carrying`.
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

from cudaswitch.activation import Want, host_compiler, undone
from cudaswitch.environments import active_environment, stacked_on
from cudaswitch.regular import toolkit_is_there
from cudaswitch.shells.answers_xonsh import (
    answer,
    ask,
    asked,
    content_of,
    framework,
    is_pinned,
    located,
    pinned,
    ready,
    run,
    store,
)
from cudaswitch.shells.core_xonsh import (
    OWNERS,
    environment_of,
    settled,
    strongest,
    variables,
    write,
)

CHANGING = (
    *("pin", "unpin", "install", "adopt", "remove", "alias", "sync", "gc"),
    *("config+set", "config+unset", "doctor+--fix", "verify+--repair"),
)
"""Commands, some only with a certain argument, after which this shell may have to switch."""

HERE = "__cudaswitch_here"
"""The alias that runs `change_here`."""

again = False
"""Whether a command may have changed what is asked for since the last look."""

seen: tuple[str, ...] | None = None
"""What `watched` said at the last look."""

kept = ""
"""What was applied, in the form of BIN, when the virtualenv was entered."""

applied: dict[str, str] = {}
"""Our state at the last look: what hooks note is lost with the bash that runs them."""

told: str | None = None
"""The last line on what is active; what the shell started with is not news to it."""

news: dict[str, str] | None = None
"""What the last look left, if nobody has reported it yet."""

deciding: tuple[Path, bytes | None] | None = None
"""The version file that decides, and its content, for comparison."""


def watched() -> tuple[str, ...]:
    """Return the values whose change calls for a look: environments, directory, store, version."""
    names = (*OWNERS.values(), "PWD", "CUDASWITCH_HOME", "CUDASWITCH_VERSION")
    return tuple(str(XSH.env.get(name, "")) for name in names)


def directory(state: dict[str, str]) -> str | None:
    """Return what the directory asks for, else the environment's frameworks, else the user."""
    global deciding  # noqa: PLW0603  # a namespace of its own, carried into xonsh
    start = Path(state.get("PWD") or "/")
    left, deciding = deciding, None
    for folder in (start, *start.parents):
        if os.path.isfile(folder / ".cuda-version"):
            deciding = folder / ".cuda-version", content_of(folder / ".cuda-version")
            break
        if str(folder) == state.get("HOME", "").rstrip("/"):
            break
    # A refusal in a tree is reported again on the next visit.
    if left and left != deciding and asked.get(left, ("",))[0] is None:
        del asked[left]
    if deciding:
        return answer(*deciding)
    environment = active_environment(state)
    if environment and (want := framework(environment)):
        return want
    chosen = Path(store(), "global")
    return answer(chosen, content_of(chosen)) if os.path.isfile(chosen) else None


def edited() -> bool:
    """Has the version file that decides changed, or is there a nearer one?

    False if something stronger decides.
    """
    if any(XSH.env.get(f"_CUDASWITCH_{owner}") for owner in "UXCV"):
        return False
    here = Path(str(XSH.env.get("PWD", "/")), ".cuda-version")
    file, content = deciding or (None, None)
    if file != here and os.path.isfile(here):
        return True
    return file is not None and (content_of(file) != content or not os.path.isfile(file))


def standing(state: dict[str, str]) -> list[str]:
    """Return the active conda environment, and those that it was stacked on."""
    active = state.get("CONDA_PREFIX", "")
    return [active, *stacked_on(state)] if active else []


def look(**_: Any) -> None:
    """Drop what belongs to an environment that was left, take up what is asked for, settle."""
    global again, seen, told, news  # noqa: PLW0603  # a namespace of its own, carried into xonsh
    before = variables()
    told = told or line_on(before)
    now, was = watched(), seen
    version = now[-1]
    moved = was is None or was[:2] != now[:2]
    is_new = was is None or was[-2:] != now[-2:] or again
    state = put_right(before) if moved else dict(before)
    if moved:
        asked.clear()
    if was and was[0] != now[0]:
        note_virtualenv(state, left=was[0])
    # The hook saw no PATH to come back if something had restored one without our folder.
    if was and was[1] != now[1]:
        note_gone(state, applied.get("_CUDASWITCH_BIN", ""))
    # A hook runs in a bash without the integration, which takes CUDASWITCH_VERSION for the want of
    # the pin, and does not check whether packages have changed since.
    home = state.get("_CUDASWITCH_ON", "/").partition(":")[0]
    take_pins(state, anew=moved or is_new or not os.path.isdir(home))
    if is_new or (moved and by_environment(state, version)):
        take_version(state, version)
    again = False
    take_directory(state)
    on = before.get("_CUDASWITCH_ON", "")
    # Nothing is touched without a reason: users put their own folders before ours.
    if moved or state.get("_CUDASWITCH_GONE") or strongest(state) != on.removesuffix(":nvcc"):
        state = settled(state)
    change_to(before, state)
    seen = watched()
    # Reporting is left to the prompt: this and the hooks run in scripts as well.
    news = state


def note_virtualenv(state: dict[str, str], left: str) -> None:
    """Note what will come back: `vox deactivate` restores the PATH of its activation.

    `left` is the virtualenv that was left, "" for none.
    """
    global kept  # noqa: PLW0603  # a namespace of its own, carried into xonsh
    if left:
        note_gone(state, kept)
    kept = state.get("_CUDASWITCH_BIN", "")


def note_gone(state: dict[str, str], record: str) -> None:
    """Note that folders of a record, in the form of BIN, may be back on PATH."""
    if record and record != state.get("_CUDASWITCH_BIN"):
        gone = state.get("_CUDASWITCH_GONE")
        state["_CUDASWITCH_GONE"] = f"{gone}:{record}" if gone else record


def take_pins(state: dict[str, str], *, anew: bool) -> None:
    """Let the pins of the active environments decide, read `anew` or if not known yet."""
    for owner, places in (("V", [state.get("VIRTUAL_ENV", "")]), ("C", standing(state))):
        stayed = "" if anew else environment_of(state, owner)
        known = state.pop(f"_CUDASWITCH_{owner}", None)
        # A relative path would be looked for in any directory.
        for place in filter(os.path.isabs, places):
            if want := known if place == stayed and is_pinned(place) else pinned(place):
                state[f"_CUDASWITCH_{owner}"] = want
                break


def by_environment(state: dict[str, str], version: str) -> bool:
    """Tell whether a version may mean another toolkit in another environment.

    That is `auto`, or an alias for it. A refusal is reported once.
    """
    if version in ("auto", "system", "latest"):
        return version == "auto"
    return "_CUDASWITCH_X" in state and bool(re.fullmatch(r"[A-Za-z][\w.+-]*", version))


def take_directory(state: dict[str, str]) -> None:
    """Let the directory decide as it is now, unless something stronger does."""
    global deciding  # noqa: PLW0603  # a namespace of its own, carried into xonsh
    if any(state.get(f"_CUDASWITCH_{owner}") for owner in "XCV"):
        state.pop("_CUDASWITCH_D", None)
        deciding = None
    elif not state.get("_CUDASWITCH_U"):
        state.pop("_CUDASWITCH_D", None)
        if want := directory(state):
            state["_CUDASWITCH_D"] = want


def change_to(before: dict[str, str], after: dict[str, str]) -> None:
    """Change xonsh's environment, and remember what is applied."""
    global applied  # noqa: PLW0603  # a namespace of its own, carried into xonsh
    write(before, after)
    applied = {name: value for name, value in after.items() if name.startswith("_CUDASWITCH_")}


def put_right(state: dict[str, str]) -> dict[str, str]:
    """Remove what was applied from conda's copies, which are older than the undo."""
    kept = {name: value for name, value in state.items() if name.startswith("__CONDA_SHLVL_")}
    right = undone(kept | applied)
    return {
        name: right.get(name, value)
        for name, value in state.items()
        if name not in kept or name in right
    }


def take_version(state: dict[str, str], version: str) -> None:
    """Let CUDASWITCH_VERSION decide as it is now, not at all if Python refuses it."""
    if want := version and (ready(version) or ask("--", version)):
        state["_CUDASWITCH_X"] = want
    else:
        state.pop("_CUDASWITCH_X", None)


def tell_news(stderr: Any = None) -> None:
    """Print one line on what the last look left, if it differs from the last line."""
    if news is not None:
        tell(news, told, stderr)


def tell(state: dict[str, str], last: str | None = None, stderr: Any = None) -> None:
    """Print one line on what is active now, if it differs from `last`."""
    global told, news  # a namespace of its own, carried into xonsh
    told, news = line_on(state), None
    if told != last and not state.get("CUDASWITCH_QUIET"):
        print(f"cudaswitch: {told}", file=stderr or sys.stderr)


def line_on(state: dict[str, str]) -> str:
    """Say what is active."""
    on = state.get("_CUDASWITCH_ON", "")
    home = Path(on.partition(":")[0])
    name = home.name.removeprefix("cuda-") if any(map(str.isdigit, home.name)) else str(home)
    line = f"CUDA {name}" if on else "no toolkit"
    if on and not state.get("_CUDASWITCH_LIB"):
        own = "this environment brings its own CUDA"
        asked_for = ":lib=never" in on
        line += f" (LD_LIBRARY_PATH left alone{', as asked' if asked_for else f': {own}'})"
    compiler = host_compiler(Want.parse(on), state, os.path.exists)
    if compiler and not os.path.exists(compiler):
        line += f" (its nvcc refuses the gcc here: install {Path(compiler).name})"
    return line


def choose(want: str, stderr: Any) -> None:
    """Make `want` this shell's choice, "" for none."""
    before = variables()
    state = dict(before)
    # Without a choice, `off` gives up nothing that `use -` could return to.
    if want or state.get("_CUDASWITCH_U"):
        state["_CUDASWITCH_PREVIOUS"] = state.pop("_CUDASWITCH_U", "")
    if want:
        state["_CUDASWITCH_U"] = want
        state = settled(state)
    change_to(before, state)
    if want:
        tell(state, stderr=stderr)
    else:
        look()
        tell_news(stderr)


def use(arguments: list[str], stderr: Any) -> int:
    """Switch this shell; return the exit status."""
    want: str | None
    if arguments == ["-"]:
        want = XSH.env.get("_CUDASWITCH_PREVIOUS")
        if want is None:
            return refused("there is no previous choice in this shell", stderr)
        home = want.partition(":")[0]
        if home.startswith("/") and not toolkit_is_there(home):
            return refused(f"`{home}` is gone", stderr)
    elif arguments == ["system"]:
        want = "system"
    else:
        want = ready(arguments[0]) if len(arguments) == 1 else None
    if want is None:
        done = run("want", "--for-use", *arguments, stdout=subprocess.PIPE, stderr=stderr)
        if done.returncode:
            return done.returncode
        want = os.fsdecode(done.stdout).rstrip("\n")
    choose(want, stderr)
    return 0


def refused(why: str, stderr: Any) -> int:
    print(f"cudaswitch: {why}\nhint: cudaswitch use VERSION", file=stderr or sys.stderr)
    return 1


def command(arguments: list[str]) -> list[str]:
    """Return what `cudaswitch` stands for: its own process, unless it changes this shell."""
    global again  # noqa: PLW0603  # a namespace of its own, carried into xonsh
    name = arguments[0] if arguments else ""
    if not {"-h", "--help"}.intersection(arguments):
        if name in ("use", "off", "pin", "unpin"):
            return [HERE, *arguments]
        # These report what the look finds, and the active environment may have been deleted.
        if name in ("current", "which", "doctor"):
            look()
        # What runs in the shell is in no pipeline; for these, the next prompt is early enough.
        again = again or name in CHANGING or any(f"{name}+{it}" in CHANGING for it in arguments)
    # If it is gone, ours says what to do: xonsh would merely not find it.
    there = located()
    return [there if os.access(there, os.X_OK) else HERE, *arguments]


def change_here(
    arguments: list[str], stdin: Any = None, stdout: Any = None, stderr: Any = None
) -> int:
    """Run a command that changes this shell; return the exit status."""
    global again  # noqa: PLW0603  # a namespace of its own, carried into xonsh
    if arguments[0] == "use":
        return use(arguments[1:], stderr)
    if arguments in (["off"], ["off", "--"]):
        choose("", stderr)
        return 0
    try:
        code = run(*arguments, stdin=stdin, stdout=stdout, stderr=stderr).returncode
    except KeyboardInterrupt:
        return 130
    if code == 0:
        again = True
        asked.clear()
        look()
        tell_news(stderr)
    return code


def look_if_changed(**_: Any) -> None:
    """Look if something has changed; event handlers are given keywords."""
    if again or watched() != seen or XSH.env.get("_CUDASWITCH_GONE") or edited():
        look()


def prompt(**_: Any) -> None:
    """Look before the prompt, and report what has changed since the last one."""
    look_if_changed()
    tell_news()


# In the terminal itself, not in a thread, which has none.
XSH.aliases[HERE] = unthreadable(change_here)
XSH.aliases["cudaswitch"] = XSH.aliases.return_command(command)
events.on_pre_prompt(prompt)
for event in ("on_chdir", "vox_on_activate", "vox_on_deactivate"):
    getattr(events, event)(look_if_changed)
look()

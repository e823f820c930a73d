"""Environments' hooks and pins: written, updated, removed."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

from cudaswitch import marked, shells
from cudaswitch.activation import Want
from cudaswitch.bundled import watched
from cudaswitch.durable import sweep_beside, write_all
from cudaswitch.environments import Environment
from cudaswitch.errors import StoreError
from cudaswitch.paths import home
from cudaswitch.regular import is_there, read_regular
from cudaswitch.staging import hint_at, plain_modes
from cudaswitch.store import dealias
from cudaswitch.versions import Request

_HALVES: tuple[Literal["leave", "enter"], ...] = ("leave", "enter")
_HOOK_LIMIT = _SCRIPT_LIMIT = 1 << 20
"""Limits in bytes of a hook and of an activate script; real ones have a few thousand."""
_WATCHED = (
    r"(?m)^ *__cudaswitch_enter .* '(conda-meta|lib/py[\w.]+/site-packages)'"
    r" '(?:conda-meta|pyvenv.cfg)'(?: '([yn]x?)')?$"
)
_MISREAD = re.compile(r'["`]|\$[\w!#$(*+=?@\[^{~-]|\\[\\$\n]')
"""What some POSIX shell does not take literally in the double quotes of conda's `. "FILE"`."""
_LEAVING = re.compile(rb"^.*/etc/cudaswitch/off\..*# cudaswitch[ \t]*\r?\n", re.MULTILINE)
"""The line of an activate script that runs the half that leaves, however it is worded."""
_AUTOMATIC = r"(?m)^ *__cudaswitch_enter .* 'auto'(?: |$)"


def misread(environment: Environment) -> list[str]:
    """Return the characters in a conda environment's path that conda's `. "FILE"` does not escape.

    A POSIX shell expands these or ends the string there, and runs what is in backticks. Such an
    environment can be activated only as long as it has no script.
    """
    return _MISREAD.findall(environment.prefix) if environment.owner == "C" else []


def hook_files(environment: Environment, half: str) -> dict[str, Path]:
    """Map each family of shells to the file of one half of the hook, enter or leave."""
    if environment.owner == "V":
        name = {"enter": "on", "leave": "off"}[half]
        return {family: Path(environment.folder, f"{name}.{family}") for family in shells.FAMILIES}
    folder = {"enter": "activate.d", "leave": "deactivate.d"}[half]
    # `~~` sorts after every other package's script, and undo runs in reverse order.
    place = Path(environment.prefix, "etc", "conda", folder)
    return {family: place / f"~~cudaswitch.{family}" for family in shells.FAMILIES}


def hook_texts(
    environment: Environment, request: Request, want: Want, watched: tuple[str, ...]
) -> dict[Path, str]:
    """Map each file of an environment's hooks to its text, in the order of writing.

    The half that undoes comes before the half that does. `watched` is that of `bundled`.
    """
    texts = shared_texts(environment)
    for half in _HALVES:
        for family, path in hook_files(environment, half).items():
            texts[path] = shells.hook(
                family,
                half,
                environment.owner,
                want.home,
                want.options,
                automatic=dealias(request).text == "auto",
                watched=watched,
            )
    return texts


def shared_texts(environment: Environment) -> dict[Path, str]:
    """Map the files that both halves source to their texts; a file comes after what it sources.

    Nobody has a reason to edit them, so different texts are those of another cudaswitch.
    """
    texts: dict[Path, str] = {}
    for name, family in shells.FAMILIES.items():
        texts |= {Path(environment.folder, other): shells.text_of(other) for other in family.beside}
        texts[Path(environment.folder, f"core.{name}")] = shells.core(name)
    return texts


def is_current(environment: Environment) -> bool:
    """Tell whether what both halves source is what this cudaswitch writes."""
    try:
        return all(holds(path, text) for path, text in shared_texts(environment).items())
    except OSError:
        return False


def holds(path: Path, text: str) -> bool:
    """Tell whether a file holds just this text. Raises OSError if it cannot be read."""
    expected = text.encode("utf-8", "surrogateescape")
    return read_regular(path, len(expected) + 1, head=True) == expected


def watched_since(environment: Environment) -> tuple[str, ...]:
    """Return what the hooks were written to watch, and what the environment brought then."""
    found = re.search(_WATCHED, _entering(environment))
    return tuple(filter(None, found.groups())) if found else ()


def is_automatic(environment: Environment) -> bool:
    """Tell whether the hooks were written to check whether packages have changed."""
    return bool(re.search(_AUTOMATIC, _entering(environment)))


def _entering(environment: Environment) -> str:
    try:
        return read_regular(hook_files(environment, "enter")["sh"], _HOOK_LIMIT).decode()
    except (OSError, ValueError):
        return ""


def unhooked_scripts(environment: Environment) -> tuple[list[Path], list[Path]]:
    """Return the activate scripts of a virtualenv without our lines, and those with older ones.

    Older lines are an earlier cudaswitch's, and still run the hooks. Raises StoreError if a script
    has half a block of ours.
    """
    lacking: list[Path] = []
    worded: list[Path] = []
    for path, after in _edited_scripts(environment, put_in=True).items():
        there, wanted = map(_commands, (read_regular(path, _SCRIPT_LIMIT), after))
        if there.keys() != wanted.keys():
            lacking.append(path)
        elif there != wanted:
            worded.append(path)
    return lacking, worded


def _commands(script: bytes) -> dict[bytes, bytes]:
    """Map the halves that a script runs to the lines that run them, wherever those are."""
    lines = re.findall(rb"(?m)^(?=.*?/etc/cudaswitch/(on|off)\.)(.*?)[ \t#\r]*$", script)
    return dict(lines)


def half_hooked_scripts(environment: Environment) -> list[Path]:
    """List the activate scripts of a virtualenv that have half a block of ours."""
    paths = (path for _, path in _activate_scripts(environment))
    return [path for path in paths if marked.is_half(read_regular(path, _SCRIPT_LIMIT))]


def write_pin(
    environment: Environment,
    request: Request,
    want: Want,
    seen: int,
    noted: Mapping[Path, str],
) -> None:
    """Write the pin and the hooks, the half that undoes before the half that does.

    `seen` is when the environment was looked at, in ns since the epoch: newer packages are not
    considered in `want`. `noted` are files that are written with them.
    """
    sweep_leftovers(environment)
    hooks = hook_texts(environment, request, want, watched(environment.prefix))
    texts: dict[Path, str | bytes | None] = {**hooks}
    try:
        texts |= _edited_scripts(environment, put_in=True)
        texts[Path(environment.want_file)] = str(want).replace("/", "\n") + "\n"
        # A pin without a note protects no toolkit; a note ahead of the hooks keeps them outdated.
        is_new = not os.path.exists(environment.pin_file)
        texts[Path(environment.pin_file)] = pin_text(request)
        # Packages that others of its group install have scripts in the same folders.
        modes = plain_modes(Path(environment.prefix))
        texts = {**noted, **texts} if is_new else {**texts, **noted}
        write_all(texts, kept=True, folders_within=modes)
        os.utime(environment.want_file, ns=(seen, seen))
    except OSError as error:
        raise StoreError(
            f"cannot pin `{environment.prefix}`: {error.strerror} (`{error.filename}`)",
            hint_at(
                home(), error, "pin an environment you can write to, or a directory with --dir"
            ),
        ) from None


def remove_pin(environment: Environment, noted: Mapping[Path, str | None]) -> bool:
    """Remove pin and hook; return False if there was none.

    The half that undoes stays, inert, for shells in which the environment is active. `noted` are
    files that are written with it.
    """
    sweep_leftovers(environment)
    enter = hook_files(environment, "enter").values()
    texts: dict[Path, str | bytes | None] = dict.fromkeys(enter)
    try:
        if not any(map(is_there, (Path(environment.pin_file), *enter))):
            return False
        texts |= _edited_scripts(environment, put_in=False)
        texts |= dict.fromkeys(map(Path, (environment.want_file, environment.pin_file)))
        write_all({**texts, **noted}, kept=True)
    except OSError as error:
        raise StoreError(
            f"cannot unpin `{environment.prefix}`: {error.strerror} (`{error.filename}`)",
            hint_at(home(), error, "ask the environment's owner"),
        ) from None
    return True


def sweep_leftovers(environment: Environment) -> None:
    """Delete what killed runs left where hooks and pins are written."""
    files = [*shared_texts(environment)]
    for half in _HALVES:
        files += hook_files(environment, half).values()
    names = (name for row in shells.FAMILIES.values() for name in (row.activate, row.leaver))
    files += [Path(environment.prefix, "bin", name) for name in names if name]
    sweep_beside([*files, *map(Path, (environment.want_file, environment.pin_file))])


def left_behind(environment: Environment) -> list[Path]:
    """List what `remove_pin` left in an environment that is not pinned."""
    return [] if os.path.exists(environment.pin_file) else staying(environment)


def staying(environment: Environment) -> list[Path]:
    """List what `remove_pin` leaves for shells in which the environment is active."""
    files = [*hook_files(environment, "leave").values(), *shared_texts(environment)]
    return [path for path in files if os.path.isfile(path)]


def pin_text(request: Request) -> str:
    """Spell a request as a pin or a `.cuda-version` file does."""
    lines = {
        "cuda": request.text,
        "cudnn": request.cudnn,
        "libraries": request.libraries,
        "gpus": request.gpus,
    }
    said = {key: value for key, value in lines.items() if value}
    if len(said) == 1:
        return f"{request.text}\n"
    return "".join(f"{key} {value}\n" for key, value in said.items())


def _activate_scripts(environment: Environment) -> Iterator[tuple[shells.Family, Path]]:
    """Yield the scripts of a virtualenv that run hooks; one that is a link is somebody else's."""
    if environment.owner == "C":
        return
    for family in shells.FAMILIES.values():
        for name in filter(None, (family.activate, family.leaver)):
            path = Path(environment.prefix, "bin", name)
            if os.path.isfile(path) and not os.path.islink(path):
                yield family, path


def _edited_scripts(environment: Environment, *, put_in: bool) -> dict[Path, bytes]:
    """Map the activate scripts that are not yet as they should be to what they should be.

    Raises StoreError for one with half a block of ours.
    """
    texts = {}
    for family, path in _activate_scripts(environment):
        before = read_regular(path, _SCRIPT_LIMIT)
        marked.refuse_half(before, path)
        after = _unhooked(before, family)
        if put_in:
            leaves = path.name == family.leaver
            after = _leave(family) + after if leaves else _hooked(after, family)
        if after != before:
            texts[path] = after
    return texts


def _hooked(text: bytes, family: shells.Family) -> bytes:
    """Put the two guarded lines into an activate script that has none."""
    opening, leave = family.deactivate.encode(), family.leave.encode()
    text = re.sub(opening, lambda match: match[0] + leave, text, count=1)
    return marked.put_in(text, family.source.format(half="on").encode())


def _leave(family: shells.Family) -> bytes:
    """Spell the line with which a separate script for `deactivate` begins."""
    return f"{family.source.format(half='off')}  # cudaswitch\n".encode()


def _unhooked(text: bytes, family: shells.Family) -> bytes:
    text = _LEAVING.sub(b"", marked.taken_out(text))
    # In csh, it is a part of a line.
    return text.replace(family.leave.encode(), b"")

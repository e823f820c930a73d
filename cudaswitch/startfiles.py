"""Which of a user's startup files load cudaswitch, and in which lines."""

from __future__ import annotations

import contextlib
import functools
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from cudaswitch import marked, ready, shells
from cudaswitch.errors import StoreError
from cudaswitch.namedtuples import NamedTuple
from cudaswitch.platforms import home_folder, xdg
from cudaswitch.programs import output_of
from cudaswitch.regular import read_regular

_LIMIT = 4 << 20
"""Limit in bytes of a startup file; real ones have thousands."""
_BY_HAND = re.compile(rb"^[^#\n]*\bcudaswitch(?:['\"]?\s+|/)init\b", re.MULTILINE)
_OF_BASHRC = re.compile(rb"^[^#\n]*bashrc", re.MULTILINE)
_OF_PROFILE = re.compile(rb"^[^#\n]*\.profile\b", re.MULTILINE)
_LOGIN_FILES = (".bash_profile", ".bash_login", ".profile")
"""What bash reads in a login shell, the first that is there, instead of `.bashrc`."""
BESIDE = {
    "bash": tuple(f"{{HOME}}/{name}" for name in _LOGIN_FILES),
    "zsh": ("{ZDOTDIR}/.zshenv", "{ZDOTDIR}/.zprofile", "{ZDOTDIR}/.zlogin"),
    "fish": ("{XDG_CONFIG_HOME}/fish/config.fish",),
    "nu": ("{XDG_CONFIG_HOME}/nushell/config.nu",),
    "sh": ("{HOME}/.profile",),
}
"""What shells read besides the files of `shells.Shell.startup`."""


class SecondLine(NamedTuple):
    """A line that loads cudaswitch without its markers.

    `along` tells whether the shells that read the marked line read this one too.
    """

    path: Path
    number: int
    text: str
    along: bool


def folders(variables: Mapping[str, str]) -> dict[str, str]:
    """Return the folders that a row's `startup` may name, by the variables that move them.

    Raises StoreError for a user with neither HOME nor an account with a home folder.
    """
    base = home_folder(variables)
    if base is None:
        from cudaswitch.shells.spelling import setting_here  # noqa: PLC0415  # only hints need it

        raise StoreError("your home folder is not known", setting_here("HOME", "FOLDER"))
    return {
        "HOME": base,
        "ZDOTDIR": variables.get("ZDOTDIR") or _zdotdir(base, tuple(variables.items())) or base,
        "XDG_CONFIG_HOME": xdg("config", variables),
    }


@functools.cache
def _zdotdir(base: str, variables: tuple[tuple[str, str], ...]) -> str:
    """Ask zsh, once, for the folder that `.zshenv` names, which need not be exported."""
    try:
        if b"ZDOTDIR" not in read_regular(Path(base, ".zshenv"), _LIMIT):
            return ""
    except OSError:
        return ""
    asked = ["zsh", "-c", r'printf "\0%s" "$ZDOTDIR"']
    said = output_of(asked, {**dict(variables), "HOME": base})
    return (said or "").rpartition("\0")[2]


def startup_file(shell: shells.Shell, variables: Mapping[str, str]) -> Path:
    """Return the user's startup file of a shell: the first that exists, else the first."""
    places = places_of(shell, variables)
    return next(filter(os.path.lexists, places), places[0])


def loaded_by(shell: shells.Shell, variables: Mapping[str, str]) -> tuple[Path, bool] | None:
    """Return the startup file that loads cudaswitch, or would, and whether one does in any way.

    None if no home folder is known, in which it would be.
    """
    if home_folder(variables) is None:
        return None
    places = places_of(shell, variables)
    ours = next(filter(has_line, places), None)
    if ours:
        return ours, True
    path = startup_file(shell, variables)
    by_hand = next((one for one in second_lines(shell, path, variables) if one.along), None)
    return (by_hand.path, True) if by_hand else (path, False)


def second_lines(
    shell: shells.Shell, path: Path, variables: Mapping[str, str]
) -> Iterator[SecondLine]:
    """Yield the lines besides the marked one in `path`, there and in the shell's other files."""
    beside = [Path(it.format(**folders(variables))) for it in BESIDE.get(shell.name, ())]
    if shell.name == "bash":
        beside = [*filter(None, [login_file(variables)])]
    files = (path, *places_of(shell, variables), *beside)
    for place in {os.path.realpath(it): it for it in reversed(files)}.values():
        with contextlib.suppress(OSError):
            plain = marked.blanked(read_regular(place, _LIMIT))
            if match := _BY_HAND.search(plain):
                number = plain.count(b"\n", 0, match.start()) + 1
                text = plain.split(b"\n")[number - 1].decode("utf-8", "replace")
                yield SecondLine(place, number, text, _is_read_along(place, path))


def _is_read_along(place: Path, path: Path) -> bool:
    """Tell whether the shells that read `path` read another startup file too."""
    if place.name in _LOGIN_FILES:
        return mentions_bashrc(place)
    pair = {it.name: it for it in (place, path)}
    if pair.keys() != {".tcshrc", ".cshrc"}:
        return True
    # tcsh reads `.cshrc` only if there is no `.tcshrc`, or if that one has it do so.
    with contextlib.suppress(OSError):
        return b".cshrc" in read_regular(pair[".tcshrc"], _LIMIT)
    return False


def ready_fault(shell: shells.Shell, path: Path) -> str | None:
    """Tell what is wrong with the marked line in `path`, None if nothing is or there is none."""
    if not has_line(path):
        return None
    mine = str(ready.path_of(shell))
    with contextlib.suppress(OSError):
        if os.fsencode(shell.quote(mine)) not in read_regular(path, _LIMIT):
            return f"does not load `{mine}`: its line names another file"
    fault = ready.fault(shell)
    return f"loads `{mine}`: {fault}" if fault else None


def login_file(variables: Mapping[str, str]) -> Path | None:
    """Return what bash reads in a login shell, None if there is no such file."""
    places = [Path(folders(variables)["HOME"], name) for name in _LOGIN_FILES]
    return next((path for path in places if os.path.isfile(path)), None)


def places_of(shell: shells.Shell, variables: Mapping[str, str]) -> list[Path]:
    return [Path(text.format(**folders(variables))) for text in shell.startup]


def has_line(path: Path) -> bool:
    with contextlib.suppress(OSError):
        return marked.opens_in(read_regular(path, _LIMIT))
    return False


def mentions_bashrc(path: Path) -> bool:
    with contextlib.suppress(OSError):
        text = read_regular(path, _LIMIT)
        if path.name != ".profile" and _OF_PROFILE.search(text):
            return mentions_bashrc(path.with_name(".profile")) or bool(_OF_BASHRC.search(text))
        return bool(_OF_BASHRC.search(text))
    return False

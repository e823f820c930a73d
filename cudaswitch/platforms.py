"""The platforms that there are packages for, which one this is, and its user folders."""

from __future__ import annotations

import os
import sys

from cudaswitch.errors import StoreError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

PLATFORMS = ("linux-64", "linux-aarch64", "win-64")
"""Under conda's names."""
_XDG = {
    "cache": ("XDG_CACHE_HOME", "~/.cache"),
    "config": ("XDG_CONFIG_HOME", "~/.config"),
    "data": ("XDG_DATA_HOME", "~/.local/share"),
}


def system_of(platform: str) -> str:
    """Return the system of a platform: `linux` or `win`."""
    return platform.partition("-")[0]


def current_platform() -> str:
    """Name this machine's platform as conda does."""
    if sys.platform == "win32":
        return "win-64"
    return "linux-aarch64" if os.uname().machine in ("aarch64", "arm64") else "linux-64"


def user_folder(kind: str) -> str:
    """Return our folder for the user's `cache`, `config` or `data`; it may begin with `~`."""
    if sys.platform == "linux":
        # Every command needs one; the library that knows all platforms takes longer to load
        # than most commands to run.
        return os.path.join(_xdg(kind, os.environ), "cudaswitch")
    import platformdirs  # noqa: PLC0415  # not needed elsewhere

    folder = getattr(platformdirs, f"user_{kind}_dir")("cudaswitch", appauthor=False)
    return str(folder)


def xdg(kind: str, variables: Mapping[str, str]) -> str:
    """Return the folder for the user's `cache`, `config` or `data`, "" if no home is known."""
    found = at_home(_xdg(kind, variables), variables)
    return "" if found.startswith("~") else found


def _xdg(kind: str, variables: Mapping[str, str]) -> str:
    variable, usual = _XDG[kind]
    folder = variables.get(variable, "")
    # The XDG specification does not allow relative paths.
    return folder if folder.startswith("/") else usual


def home_folder(variables: Mapping[str, str] = os.environ) -> str | None:
    """Return the user's home folder: HOME, else that of the account; None without either."""
    folder = variables.get("HOME", "")
    if not os.path.isabs(folder):
        # An empty HOME would be `/`, a relative one another folder in each directory.
        import pwd  # noqa: PLC0415  # few need it

        try:
            folder = pwd.getpwuid(os.geteuid()).pw_dir
        except KeyError:
            return None
    return folder if os.path.isabs(folder) else None


def at_home(path: str, variables: Mapping[str, str] = os.environ) -> str:
    """Return a path with its leading `~` or `~user`, if any, replaced by the home folder.

    Unchanged if that folder is not known: then nothing is there.
    """
    if path != "~" and not path.startswith("~/"):
        return os.path.expanduser(path)
    folder = home_folder(variables)
    return path if folder is None else folder.rstrip("/") + path[1:] or "/"


def with_variables(text: str, variables: Mapping[str, str]) -> str:
    """Expand the variables in a text, as os.path.expandvars and conda do."""
    if "$" not in text:
        return text
    import re  # noqa: PLC0415  # slow to load, and seldom needed

    pattern = re.compile(r"\$(?:(\w+)|\{([^}]*)\})", re.ASCII)
    return pattern.sub(lambda at: variables.get(at[1] or at[2], at[0]), text)


def expanded(path: str) -> str:
    """Return the absolute path for one that may begin with `~`; StoreError if that is unknown."""
    found = at_home(path)
    if found.startswith("~"):
        # Otherwise a folder called `~` would be created here.
        variables = "CUDASWITCH_HOME, CUDASWITCH_CACHE or CUDASWITCH_CONFIG"
        hint = f"set HOME, or use an absolute path in {variables}"
        raise StoreError(f"cannot expand `{path}`: that home folder is not known", hint)
    return os.path.abspath(found)

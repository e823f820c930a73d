"""What people set once: a table of names, each read from its variable, else from `config.toml`.

A flag on the command line is stronger than both. Nothing is read before it is asked for, and
the file only if it exists.
"""

from __future__ import annotations

import os
import sys

from cudaswitch import plaintoml
from cudaswitch.errors import ChoiceError, RequestError, nearest
from cudaswitch.namedtuples import NamedTuple
from cudaswitch.platforms import at_home, expanded, user_folder
from cudaswitch.regular import opening, read_regular
from cudaswitch.versions import LIBRARIES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from typing import Any

    from cudaswitch.versions import Libraries

_LIMIT = 1 << 20
"""Bytes of `config.toml`; real ones have a few hundred."""

Value = str | int | float | bool | tuple[str, ...]
_EMPTY = ("", ("",), [""])
"""What an empty value looks like, from the file or the command line."""
ELSEWHERE = "set CUDASWITCH_CONFIG to a file of your own"
"""What to do if the file, or its folder, cannot be opened up."""
MARK = "\ufeff"
"""The byte order mark that some editors begin a file with; TOML has none."""
_MOST_SECONDS = 100_000_000
"""Three years: system clocks overflow long before floats do."""
_read: dict[str, dict[str, Value]] = {}
"""What has been read, by file."""


class Kind(NamedTuple):
    """How a value is written: in the file, and as text (a variable, the command line)."""

    what: str
    is_right: Callable[[Any], bool]
    from_text: Callable[[str], Value]


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value) and value.isprintable()


def _is_url(value: Any) -> bool:
    if not _is_text(value) or not value.startswith(("https://", "http://", "file://")):
        return False
    place = value.partition("://")[2].replace("?", "/").replace("#", "/").partition("/")[0]
    if not place and not value.startswith("file://"):
        return False
    if value.isascii() and not {":", "[", "]"} & set(place):
        return True
    from urllib.parse import urlsplit  # noqa: PLC0415  # slow to load, and most are plain

    try:
        return urlsplit(str(value)).port != 0
    except ValueError:
        return False


def _is_folder(value: Any) -> bool:
    # A relative one would be another folder in each directory.
    return _is_text(value) and (os.path.isabs(value) or value.startswith("~"))


def _is_index(value: Any) -> bool:
    return _is_url(value) or (_is_text(value) and os.path.isabs(value))


def _are_folders(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(map(_is_folder, value))


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(map(_is_text, value))


def _is_count(value: Any) -> bool:
    return type(value) is int and 1 <= value <= 64


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value <= _MOST_SECONDS


def _is_above_0(value: Any) -> bool:
    return _is_number(value) and value > 0


def _flag(text: str) -> bool | str:
    return {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}.get(
        text.lower(), text
    )


def _number(text: str, kind: type[int] | type[float]) -> Value:
    try:
        return kind(text)
    except ValueError:
        return text


FOLDER = Kind("an absolute path, or one that begins with ~", _is_folder, str)
URL = Kind("an https, http or file URL", _is_url, str)
INDEX = Kind("an https, http or file URL, or an absolute path", _is_index, str)
NAMES = Kind("a list of strings", _is_list, lambda text: tuple(text.replace(",", " ").split()))
PATHS = Kind(
    "a list of folders, each an absolute path or one that begins with ~",
    _are_folders,
    lambda text: tuple(filter(None, text.split(os.pathsep))),
)
FLAG = Kind("true or false", lambda value: isinstance(value, bool), _flag)
COUNT = Kind("a number from 1 to 64", _is_count, lambda text: _number(text, int))
SECONDS = Kind(
    f"a number of seconds, at most {_MOST_SECONDS}", _is_number, lambda text: _number(text, float)
)
SOME_SECONDS = Kind(
    f"a number of seconds above 0, at most {_MOST_SECONDS}", _is_above_0, SECONDS.from_text
)
MODE = Kind("auto, always or never", lambda value: value in LIBRARIES, str)


class Setting(NamedTuple):
    """One setting; `variable` is the environment variable that is stronger than the file."""

    kind: Kind
    default: Value | None
    variable: str | None
    doc: str


SETTINGS = {
    # No variable: ready answers must not differ from one shell to the next.
    "libraries": Setting(MODE, "auto", None, "Whether to add toolkits to LD_LIBRARY_PATH"),
    "stores": Setting(PATHS, (), "CUDASWITCH_STORES", "Shared stores, searched after your own"),
    "cache": Setting(FOLDER, None, "CUDASWITCH_CACHE", "The folder for downloads"),
    "offline": Setting(FLAG, False, "CUDASWITCH_OFFLINE", "Use only what is on this machine"),
    "jobs": Setting(COUNT, 4, "CUDASWITCH_JOBS", "Files downloaded at once"),
    "timeout": Setting(SOME_SECONDS, 30, "CUDASWITCH_TIMEOUT", "Seconds to wait for a server"),
    "wait": Setting(SECONDS, 600, "CUDASWITCH_WAIT", "Seconds to wait for another cudaswitch"),
    "channels": Setting(NAMES, (), "CUDASWITCH_CHANNELS", "conda channels, in the order searched"),
    "mirrors.conda": Setting(
        URL, None, "CUDASWITCH_CHANNEL_ALIAS", "Where channels with plain names are"
    ),
    "mirrors.nvidia": Setting(URL, None, "CUDASWITCH_NVIDIA_URL", "A mirror of NVIDIA's server"),
    "mirrors.pypi": Setting(INDEX, None, "PIP_INDEX_URL", "The package index that pip uses"),
}


class Set(NamedTuple):
    """A value and who set it: a variable, the file, or `default`."""

    value: Value | None
    origin: str


def config_file() -> str:
    """Return the path of the file: CUDASWITCH_CONFIG, else in the platform's config folder.

    It begins with `~` if that home folder is not known: then there is no such file.
    """
    chosen = os.environ.get("CUDASWITCH_CONFIG")
    path = at_home(chosen or os.path.join(user_folder("config"), "config.toml"))
    return path if path.startswith("~") else os.path.abspath(path)


def asked(name: str) -> Set:
    """Return a setting's value and origin. Raises RequestError if it is not of its kind."""
    setting = SETTINGS[name]
    text = os.environ.get(setting.variable) if setting.variable else None
    if setting.variable and text:
        where = f", as {setting.variable} sets it,"
        found = checked(name, setting.kind.from_text(text), where, setting.variable)
        return Set(found, setting.variable)
    path = config_file()
    written = _of_file(path)
    if name in written:
        return Set(written[name], path)
    return Set(setting.default, "default")


def stores_in_file() -> str:
    """Return the shared stores that the file names, as the variable would name them."""
    found: Any = _of_file(config_file()).get("stores", ())
    return os.pathsep.join(map(expanded, found))


def value(name: str) -> Any:
    """Return a setting's value."""
    return asked(name).value


def usual_libraries() -> Libraries | None:
    """Return the library mode of requests that do not name one, None for `auto`."""
    mode: Libraries = value("libraries")
    return None if mode == "auto" else mode


def way_online() -> str:
    """Return the hint that lets a command use the network, if it was kept from that."""
    found = asked("offline")
    if not found.value:
        return "run the command without --offline"
    is_variable = found.origin == SETTINGS["offline"].variable
    return _unset(found.origin) if is_variable else "cudaswitch config unset offline"


def _unset(variable: str) -> str:
    from cudaswitch.shells.spelling import setting_here  # noqa: PLC0415  # only hints need it

    return setting_here(variable, "")


def checked(name: str, found: Any, where: str = "", variable: str = "") -> Value:
    """Return a value if it is of the setting's kind, or raise RequestError with `where` in it.

    `variable` is the environment variable that has the value, if any.
    """
    kind = SETTINGS[name].kind
    if not kind.is_right(found):
        # The value is not shown: there may be a password in it.
        hint = _unset(variable) if variable else f"cudaswitch config set {name} VALUE"
        must = "not be empty" if found in _EMPTY else f"be {kind.what}"
        raise RequestError(f"`{name}`{where} must {must}", hint)
    return tuple(found) if isinstance(found, list) else found


def known(name: str, where: str = "") -> str:
    """Return the name of a setting, or raise ChoiceError with the nearest one.

    `where` is the file that has it: then it is a RequestError.
    """
    if name in SETTINGS:
        return name
    near = nearest(name, SETTINGS)
    hint = f"did you mean `{near}`?" if near else "cudaswitch config list shows them all"
    if not where:
        raise ChoiceError(f"there is no setting `{name}`", hint)
    from shlex import quote  # noqa: PLC0415  # only mistakes need it

    # No other command runs as long as the file has that name.
    out = f"cudaswitch config unset {'-- ' if name.startswith('-') else ''}{quote(name)}"
    raise RequestError(
        f"`{name}` in `{where}` is not a setting", f"{hint} If not: {out}" if near else out
    )


def way_in(error: OSError, path: str, way: str = "u+r") -> str:
    """Return the hint that makes the file usable; `path` is what is closed, it or its folder."""
    if not isinstance(error, PermissionError):
        return "put a valid file in its place"
    return opening(path, ELSEWHERE, way)


def written() -> Collection[str]:
    """Return the names in the file, which need not be those of settings."""
    return _parsed(config_file())


def faults() -> list[RequestError]:
    """List errors in the file, one for each setting. Raises RequestError if it is not TOML."""
    path, found = config_file(), []
    for name, each in _parsed(path).items():
        try:
            checked(known(name, path), each, f" in `{path}`")
        except RequestError as error:
            found.append(error)
    return found


def _of_file(path: str) -> dict[str, Value]:
    if path not in _read:
        _read[path] = {
            known(name, path): checked(name, found, f" in `{path}`")
            for name, found in _parsed(path).items()
        }
    return _read[path]


def _parsed(path: str) -> dict[str, Any]:
    if path.startswith("~"):
        return {}  # otherwise a file of the working directory would be read
    try:
        data = read_regular(path, _LIMIT)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise RequestError(f"cannot read `{path}`: {error.strerror}", way_in(error, path)) from None
    try:
        return _flat(_loaded(data.decode().removeprefix(MARK)))
    except (ValueError, RecursionError) as error:
        raise RequestError(f"`{path}` is not valid TOML: {error}", "fix the file") from None


def _loaded(text: str) -> dict[str, Any]:
    try:
        return plaintoml.loads(text)
    except plaintoml.NotPlainError:
        pass
    if sys.version_info >= (3, 11):
        import tomllib  # noqa: PLC0415  # few need it
    else:
        import tomli as tomllib  # noqa: PLC0415  # the same
    table: dict[str, Any] = tomllib.loads(text)
    return table


def _flat(table: dict[str, Any]) -> dict[str, Any]:
    """Write `[mirrors] conda` as `mirrors.conda`."""
    flat: dict[str, Any] = {}
    for name, found in table.items():
        if isinstance(found, dict) and name not in SETTINGS:
            flat |= {f"{name}.{inner}": each for inner, each in found.items()}
        else:
            flat[name] = found
    return flat


def forget() -> None:
    """Drop what was read, as the file has changed."""
    _read.clear()

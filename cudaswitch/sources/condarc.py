"""The user's settings for conda: channels, mirrors, proxies, certificates, folders.

Files, their order and how they are merged: conda's documentation, "Using the .condarc conda
configuration file", section "Searching for .condarc". Lists and tables of several files are
combined, entries of the stronger file first. The marks `#!final`, `#!top` and `#!bottom` are
ignored.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cudaswitch.download.access import ANYBODY, Access
from cudaswitch.errors import SourceError
from cudaswitch.platforms import at_home, home_folder, with_variables, xdg
from cudaswitch.regular import names_of, read_regular

_SYSTEM = (Path("/etc/conda"), Path("/var/lib/conda"))
_NAMES = (".condarc", "condarc", "condarc.d")
_SUFFIXES = (".yml", ".yaml")
_VARIABLES = ("channel_alias", "ssl_verify", "offline", "client_ssl_cert", "client_ssl_cert_key")
"""Settings that `CONDA_<NAME>` overrides."""
_LISTS = ("channels", "default_channels")
"""Settings that `CONDA_<NAME>` extends: its names, between commas, come first."""
_TRUE = frozenset(("true", "yes", "on", "y"))
_FALSE = frozenset(("false", "off", "n", "no", "non", "none"))
"""conda's words for flags, besides numbers (conda/auxlib/type_coercion.py)."""
_ALIASES = {
    "channel": "channels",
    "verify_ssl": "ssl_verify",
    "client_cert": "client_ssl_cert",
    "client_cert_key": "client_ssl_cert_key",
    "envs_path": "envs_dirs",
}
"""conda's other names for settings → the usual ones."""
_TRUSTED_STORE = "truststore"
_LIMIT = 64 << 10
"""Bytes that a file may have; real ones have a few hundred."""
_MOST = 20_000
"""Values that a file may have, each counted as often as an alias repeats it."""
_BRACKETS = 500
_BROKEN = (ValueError, LookupError, TypeError, AttributeError, RecursionError)
"""What reading YAML raises: a value tagged as a number or a date may not be one."""


@dataclass(frozen=True)
class Condarc:
    """The settings of conda that matter here, merged; empty if nothing is set."""

    channels: tuple[str, ...] = ()
    channel_alias: str = ""
    default_channels: tuple[str, ...] = ()
    custom_channels: Mapping[str, str] = field(default_factory=dict)
    custom_multichannels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    mirrored_channels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    access: Access = ANYBODY
    offline: bool = False


def read_condarc(variables: Mapping[str, str]) -> Condarc:
    """Read conda's files, and the variables that override them. SourceError if one is broken."""
    found = _read(_places(variables), variables)
    _override(found, variables)
    proxies = _mapping(found, "proxy_servers").items()
    return Condarc(
        channels=_texts(found.get("channels")),
        channel_alias=str(found.get("channel_alias") or "").rstrip("/"),
        default_channels=_texts(found.get("default_channels")),
        custom_channels={
            str(name).strip("/"): str(url).rstrip("/")
            for name, url in _mapping(found, "custom_channels").items()
        },
        custom_multichannels=_lists(found, "custom_multichannels"),
        mirrored_channels=_lists(found, "mirrored_channels"),
        access=Access(
            tuple((str(key), str(url)) for key, url in proxies if url),
            _trust(found.get("ssl_verify"), variables),
            _certificate(found, variables),
        ),
        offline=_flag(found.get("offline")) is True,
    )


def _override(found: dict[str, Any], variables: Mapping[str, str]) -> None:
    """Let the variables change what files say. (conda refuses two names of one setting.)"""
    for name in (*_ALIASES, *_LISTS, *_VARIABLES):
        setting, variable = _ALIASES.get(name, name), f"CONDA_{name.upper()}"
        text = variables.get(variable)
        if text and setting in _LISTS:
            named = (each.strip() for each in text.split(","))
            found[setting] = [*named, *_texts(found.get(setting))]
        elif text and setting in _VARIABLES:
            try:
                found[setting] = _parsed(text)
            except _BROKEN:
                raise SourceError(f"{variable} is not valid YAML", "unset it, or fix it") from None


def folders_of_environments(variables: Mapping[str, str], root: str) -> tuple[str, ...]:
    """Return the `envs_dirs` of conda's files and micromamba's, whose root is `root`, or "".

    Source: `compute_default_rc_sources` of libmamba, which reads conda's files too. Raises
    SourceError if one is broken.
    """
    home = home_folder(variables)
    of_all = [*_SYSTEM, *([Path(root)] if root else [])]
    places = [folder / name for folder in of_all for name in (*_NAMES, ".mambarc")]
    places += _places(variables)
    above = ((xdg("config", variables), "mamba"), (home, ".mamba"))
    own = [Path(folder, name) for folder, name in above if folder]
    places += [folder / name for folder in own for name in (".mambarc", "mambarc", "mambarc.d")]
    if home:
        places.append(Path(home, ".mambarc"))
    if chosen := variables.get("MAMBARC"):
        places.append(Path(at_home(chosen, variables)))
    found = _texts(_read(places, variables).get("envs_dirs"))
    return tuple(at_home(each, variables) for each in found)


def _read(places: Iterable[Path], variables: Mapping[str, str]) -> dict[str, Any]:
    """Read and merge the files that exist, the weakest first; of folders, the files in them."""
    found: dict[str, Any] = {}
    for place in dict.fromkeys(places):
        paths = [place] if os.path.isfile(place) else []
        if os.path.isdir(place):
            # names_of lists nothing for a folder that cannot be read; conda skips it as well.
            inner = (place / name for name in names_of(place))
            paths = [path for path in inner if path.suffix in _SUFFIXES]
        for path in paths:
            found = _merged(_table(path, variables), found)
    return found


def _places(variables: Mapping[str, str]) -> list[Path]:
    """List where conda's files may be, the weakest first."""
    home = home_folder(variables)
    folders = [*_SYSTEM]
    if root := variables.get("CONDA_ROOT") or _root(variables.get("CONDA_EXE", "")):
        folders.append(Path(root))
    config = variables.get("XDG_CONFIG_HOME", "")
    if config.startswith("/"):
        folders.append(Path(config) / "conda")
    if home:
        folders += [Path(home, ".config/conda"), Path(home, ".conda")]
    places = [folder / name for folder in folders for name in _NAMES]
    if home:
        places.append(Path(home, ".condarc"))
    if prefix := variables.get("CONDA_PREFIX"):
        places += [Path(prefix) / name for name in _NAMES]
    if chosen := variables.get("CONDARC"):
        place = Path(at_home(chosen, variables))
        # conda ignores a CONDARC with any other name.
        if place.name in _NAMES or place.suffix in _SUFFIXES or os.path.isdir(place):
            places.append(place)
    return places


def _root(executable: str) -> str:
    return str(Path(executable).parent.parent) if executable.startswith("/") else ""


def _parsed(text: str) -> Any:
    """Read YAML; raises what `_BROKEN` names."""
    import yaml  # noqa: PLC0415  # most people have set nothing for conda

    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError("no YAML") from error


def _table(path: Path, variables: Mapping[str, str]) -> dict[str, Any]:
    mend = "fix it" if "mambarc" in str(path) else "conda config --validate"
    try:
        text = read_regular(path, _LIMIT).decode()
        # Reading nested values takes time quadratic in their depth.
        if text.count("[") + text.count("{") > _BRACKETS:
            raise ValueError("too deep")  # reported like any invalid YAML
        table = _expanded(_parsed(text), variables, iter(range(_MOST)))
    except OSError as error:
        raise SourceError(f"cannot read `{path}`: {error.strerror}", "check who owns it") from None
    except _BROKEN:
        # Do not repeat the library's message: it quotes the line, which may contain a token.
        raise SourceError(f"`{path}` is not valid YAML", mend) from None
    if table is None:
        return {}
    if not isinstance(table, dict):
        raise SourceError(f"`{path}` has no conda settings", mend)
    return {_ALIASES.get(str(name), str(name)): value for name, value in table.items()}


def _expanded(value: Any, variables: Mapping[str, str], left: Iterator[int]) -> Any:
    """Expand the variables that a file names, as conda does: tokens are often kept in them.

    `left` is a budget: one item for each value. Raises ValueError when it is used up.
    """
    if next(left, None) is None:
        raise ValueError("too many values")
    if isinstance(value, dict):
        return {str(key): _expanded(each, variables, left) for key, each in value.items()}
    if isinstance(value, list):
        return [_expanded(each, variables, left) for each in value]
    if isinstance(value, str):
        return with_variables(value, variables)
    return value


def _merged(strong: dict[str, Any], weak: dict[str, Any]) -> dict[str, Any]:
    merged = weak | strong
    for name in strong.keys() & weak.keys():
        first, second = strong[name], weak[name]
        if isinstance(first, list) and isinstance(second, list):
            merged[name] = [*first, *(each for each in second if each not in first)]
        elif isinstance(first, dict) and isinstance(second, dict):
            merged[name] = second | first
    return merged


def _texts(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        value = [value]
    return tuple(str(each) for each in value if each) if isinstance(value, list) else ()


def _mapping(found: dict[str, Any], name: str) -> dict[str, Any]:
    value = found.get(name)
    return value if isinstance(value, dict) else {}


def _lists(found: dict[str, Any], name: str) -> dict[str, tuple[str, ...]]:
    return {str(key): _texts(each) for key, each in _mapping(found, name).items()}


def _flag(value: Any) -> bool | None:
    """Return what conda takes a value for where it expects a flag; None if it is none."""
    if isinstance(value, bool | int | float):
        return bool(value)
    word = value.strip().lower() if isinstance(value, str) else None
    if word in _TRUE or word in _FALSE:
        return word in _TRUE
    return int(word) != 0 if word and word.isdecimal() else None


def _trust(value: Any, variables: Mapping[str, str]) -> bool | str | None:
    """Return what to check servers against; None means the usual authorities."""
    flag = _flag(value)
    if flag is None and isinstance(value, str) and value not in ("", _TRUSTED_STORE):
        return at_home(value, variables)
    return False if flag is False else None


def _certificate(
    found: dict[str, Any], variables: Mapping[str, str]
) -> str | tuple[str, str] | None:
    certificate, key = found.get("client_ssl_cert"), found.get("client_ssl_cert_key")
    if not certificate:
        return None
    plain = at_home(str(certificate), variables)
    return (plain, at_home(str(key), variables)) if key else plain

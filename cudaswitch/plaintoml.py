"""TOML as most settings are written, read without the library, which loads longer than Python.

Whatever is not quite plain, mistakes included, is left to the library: only it decides what valid
TOML is.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class NotPlainError(Exception):
    """The text may be TOML, but it is not plain."""


def loads(text: str) -> dict[str, Any]:
    """Read a text as `tomllib.loads` does, or raise NotPlainError.

    Plain TOML consists of comments, tables with a single name, and names with a boolean, an
    integer, a string without escapes, or a list of such strings; each on one line.
    """
    whole: dict[str, Any] = {}
    table = whole
    for line in (each.strip(" ") for each in text.split("\n")):
        if not line.isprintable():
            raise NotPlainError
        if not line or line[0] == "#":
            continue
        if line[0] == "[":
            table = {}
            _add(whole, _unwrapped(line, "[]"), table)
        else:
            name, _, value = line.partition("=")
            _add(table, name.rstrip(" "), _value(value.lstrip(" ")))
    return whole


def _add(table: dict[str, Any], name: str, value: Any) -> None:
    bare = name.replace("-", "").replace("_", "")
    # Names of nothing but these two are rare, and left to the library.
    if name in table or not (bare.isascii() and bare.isalnum()):
        raise NotPlainError
    table[name] = value


def _value(text: str) -> bool | int | str | list[str]:
    if text in ("true", "false"):
        return text == "true"
    if text.isascii() and text.isdigit() and (text[0] != "0" or text == "0"):
        return int(text)
    if text[:1] != "[":
        return _text(text)
    inner = _unwrapped(text, "[]").strip(" ")
    texts = inner.removesuffix(",").split(",") if inner else []
    return [_text(each.strip(" ")) for each in texts]


def _text(text: str) -> str:
    inner = _unwrapped(text, '""')
    if '"' in inner or "\\" in inner:
        raise NotPlainError
    return inner


def _unwrapped(text: str, ends: str) -> str:
    if len(text) < 2 or text[0] != ends[0] or text[-1] != ends[1]:
        raise NotPlainError
    return text[1:-1]

"""Shell scripts read for the variables that they set: data only, nothing is run or expanded."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from cudaswitch.detect.reading import Reading
from cudaswitch.doctor.model import Setting
from cudaswitch.marked import CONDAS, OURS, blanked

_START = r"(?P<before>\s*|[^#\n]*?(?:[;&|({]|\b(?:then|do|else|and|or))\s*)"
"""What may come before a statement in its line: another one, or the head of a block."""

_LINE = re.compile(
    rf"""^{_START}
    (?P<export>(?:export|declare\s+-x|typeset\s+-x)\s+)?
    (?P<name>[A-Za-z_]\w*)=(?P<value>"[^"\n]*"|'[^'\n]*'|[^\s;&|"'#]*)
    (?P<after>[^\n]*)$""",
    re.VERBOSE,
)
_FISH = re.compile(
    rf"""^{_START}(?:set\s+(?:-\w+\s+|--\w+\s+)+|setenv\s+)
    (?P<name>[A-Za-z_]\w*)\s+(?P<value>[^;#\n]*)(?P<after>[^\n]*)$""",
    re.VERBOSE,
)
_FISH_PATH = re.compile(
    r"^(?P<before>\s*)fish_add_path\s+(?:-\w+\s+|--\w+\s+)*(?P<value>[^;#\n]*)(?P<after>[^\n]*)$"
)
_EXIT = re.compile(rf"(?:{_START}|[^#\n]*?\)\s*)exit(?![\w-])")
"""As a command, also of a `case`; not a word in an argument."""
_WITHIN = re.compile(
    r"""(?P<comment>(?<![^\s;&|()])\#[^\n]*)
    | (?P<joint>\\\n[ \t]*) | \\.
    | (?P<mark>["`]|(?<=\$)')(?:\\.|(?!(?P=mark))[^\\])*(?P=mark) | '[^']*'
    | (?<!<)<<-?[ \t]*[\\"']?(?P<word>[A-Za-z_]\w*).*?(?:\n[ \t]*(?P=word)[ \t]*(?=\n|\Z)|\Z)""",
    re.VERBOSE | re.DOTALL,
)
"""What holds no statement: comments, escapes, quoted texts and here-documents."""
_FUNCTION = re.compile(
    r"""^(?P<indent>[ \t]*)
    (?:function[ \t]+[^\s()]+(?:[ \t]*\(\))? | [^\s()=]+[ \t]*\([ \t]*\)) (?!\s*\()
    (?:[^\n]*(?:[;\s]\}|;[ \t]*end\b) | .*?(?:\n(?P=indent)(?:\}|end\b)|\Z))""",
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
"""One whose end is not found is taken to go on: no line of it counts."""
_SUBSHELL = re.compile(r"\([^()]*\)")
"""It keeps what it sets, and `exit` ends it alone. An array looks the same."""
_DEPTH = 8
"""How many of them are looked for within each other."""
_HIDDEN = {code: 0x10FF00 + code for code in range(128)}
"""Stands for characters that no pattern here may see; no text has these."""
_SHOWN = {hidden: code for code, hidden in _HIDDEN.items()}
_BREAK = "\n".translate(_HIDDEN)
_COMMAND = re.compile(r"\s+[^\s;&|#)}]")
"""After an assignment: a command, which alone gets the variable."""
_PLAIN_AFTER = re.compile(r"\s*;?\s*(#.*)?")


def settings_of(path: Path) -> tuple[Setting, ...]:
    """List the statements of a script that set a variable, ours and conda's own left out."""
    text = Reading(path.parent).text(path)
    return tuple(_settings(str(path), text)) if text else ()


def exit_in(path: Path) -> int | None:
    """Return the number of the first line that runs `exit`."""
    text = Reading(path.parent).text(path) or ""
    return next((lines[0] for lines, whole in _statements(text) if _EXIT.match(whole)), None)


def _statements(text: str) -> Iterator[tuple[range, str]]:
    """Yield lines that belong together, by their numbers and as one; what counts not is hidden."""
    text = _FUNCTION.sub(_hidden, _WITHIN.sub(_marked, text))
    for _ in range(_DEPTH):
        text = _SUBSHELL.sub(_hidden, text)
    start = 1
    for whole in text.split("\n"):
        end = start + 1 + whole.count(_BREAK)
        yield range(start, end), whole.replace(_BREAK, "")
        start = end


def _hidden(match: re.Match[str]) -> str:
    return match[0].translate(_HIDDEN)


def _marked(match: re.Match[str]) -> str:
    """Hide what is between marks, not the marks themselves, which tell where a word ends."""
    if match["joint"]:
        return _BREAK
    text = re.sub(r"\\\n[ \t]*", "\n", match[0])
    head = text[0] if text[0] in "#\"'`" else ""
    tail = head.strip("#")
    return head + text[len(head) : len(text) - len(tail)].translate(_HIDDEN) + tail


def _settings(file: str, text: str) -> Iterator[Setting]:
    text = blanked(text.encode(), OURS, CONDAS).decode()
    lines = text.split("\n")
    for numbers, whole in _statements(text):
        match = _FISH.match(whole) or _FISH_PATH.match(whole) or _LINE.match(whole)
        if match is None:
            continue
        fields = match.groupdict()
        if match.re is _LINE and not fields["export"] and _COMMAND.match(fields["after"]):
            continue
        alone = not fields["before"].strip() and bool(_PLAIN_AFTER.fullmatch(fields["after"]))
        value = fields["value"].strip().strip("\"'")
        name = fields.get("name") or "PATH"
        if match.re is not _LINE:
            value = ":".join(part.strip("\"'") for part in value.split())
        own = {number: lines[number - 1] for number in numbers}
        yield Setting(file, own, name, value.translate(_SHOWN), alone)

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
    for number, line in enumerate(text.splitlines(), 1):
        if _EXIT.match(line):
            return number
    return None


def _settings(file: str, text: str) -> Iterator[Setting]:
    lines = blanked(text.encode(), OURS, CONDAS).decode().split("\n")
    number = 0
    while number < len(lines):
        start = number
        whole = lines[number]
        while whole.endswith("\\") and number + 1 < len(lines):
            number += 1
            whole = whole[:-1] + lines[number].strip()
        number += 1
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
        own = dict(enumerate(lines[start:number], start + 1))
        yield Setting(file, own, name, value, alone)

"""Words and variables as users type them in a shell."""

from __future__ import annotations

import os
import re

from cudaswitch.shells import Shell, running_row

_PLAIN = re.compile(r"[\w+./:=@-]+", re.ASCII)
"""What no shell takes for anything but a word."""


def is_plain(text: str) -> bool:
    """Tell whether a word needs no quotes in any shell."""
    return bool(_PLAIN.fullmatch(text))


def word(row: Shell, text: str) -> str:
    """Spell one argument of a command."""
    return text if is_plain(text) else row.quote(text)


def setting(row: Shell, name: str, value: str) -> str:
    """Spell a command that sets a variable, or unsets it for an empty value."""
    if not value:
        return row.unset.format(name=name)
    return _export(row).format(name=name, value=word(row, value) if row.words else row.quote(value))


def exporting(row: Shell, name: str) -> str:
    """Spell a command that exports a variable of the shell's own."""
    return _export(row).format(name=name, value=f"${name}")


def setting_here(name: str, value: str) -> str:
    """Spell `setting` for the shell that has called us."""
    return setting(running_row(os.environ), name, value)


def exporting_here(name: str) -> str:
    """Spell `exporting` for the shell that has called us."""
    return exporting(running_row(os.environ), name)


def _export(row: Shell) -> str:
    # A backslash guards against aliases, a semicolon joins lines: users need type neither.
    return row.export.strip("\\;")

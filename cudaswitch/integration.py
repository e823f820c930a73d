"""What `init` prints: a shell's whole integration. Starts without click."""

from __future__ import annotations

from cudaswitch import completion, shells, talk
from cudaswitch.paths import home, program


def show(name: str) -> None:
    """Print the integration of a shell, for `eval`; ChoiceError if there is none for it."""
    row = shells.integrated(name)
    scripts = completion.folder_of(row.name)
    talk.script(shells.init(row, root=home().folder, program=program(), scripts=scripts))

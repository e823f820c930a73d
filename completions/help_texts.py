"""What `--help` prints for each command, as click words it."""

from __future__ import annotations

from collections.abc import Iterable

from click.testing import CliRunner

from cudaswitch.cli import cli
from cudaswitch.helptexts import WIDTH, file_of


def help_texts(names: Iterable[str]) -> dict[str, str]:
    """Map the file for each command, named as it is typed (`shims install`), to its text."""
    return {file_of(*name.split()): _help(name.split()) for name in names}


def _help(words: list[str]) -> str:
    done = CliRunner().invoke(cli, [*words, "--help"], prog_name="cudaswitch", terminal_width=WIDTH)
    return done.output

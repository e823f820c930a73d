"""How commands of the command line talk, and the option that lets them talk JSON."""

from __future__ import annotations

import click

from cudaswitch.talk import data, hint, line, say, table, warn_of_forced_libraries

__all__ = ["data", "hint", "json_option", "line", "say", "table", "warn_of_forced_libraries"]

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON with stable keys.")

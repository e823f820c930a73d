"""What completes each parameter of the command line."""

from __future__ import annotations

from cudaswitch.compat.redist import FIRST_TOOLKIT, known_releases
from cudaswitch.compat.runfiles import runfiles
from cudaswitch.settings import SETTINGS
from cudaswitch.shells import INTEGRATED, ROWS
from cudaswitch.sources.channels import CHANNELS
from cudaswitch.sources.components import FULL, SETS

FREE = ""
"""The kind of a value that only the person knows."""

KINDS = {
    "alias.name": "aliases",
    "alias.request": "meanings",
    "cc": FREE,
    "channels": " ".join(CHANNELS),
    "components": " ".join((*SETS, FULL)),
    **{f"config {each}.name": " ".join(SETTINGS) for each in ("get", "set", "unset")},
    "consumer": "consumers",
    "cudnn": "cudnns",
    "directory": "folders",
    "driver": FREE,
    "folder": "folders",
    "env.shell": " ".join(ROWS),
    "gcc": FREE,
    "gpus": FREE,
    "lock_file": "files",
    "init.shell": " ".join(INTEGRATED),
    "mirror": FREE,
    "name": "environments",
    "path": "folders",
    "prefix": "folders",
    "request": "requests",
    "sha256": FREE,
    "target": "files",
    "toolkits": "toolkits",
    "use.request": "usable",
    "version": FREE,
    "what": "installable",
    "which.name": "tools",
}
"""Parameter → the function of the templates that completes it, or the words themselves.

A parameter with choices of its own needs no row; `command.parameter` goes before the latter.
"""
IN_TURN = {"config set.values": ("values",), "search.request": ("searchable", "sought")}
"""Argument of several words → the function for each in turn; behind the last one nothing comes."""
FUNCTIONS = {
    *("aliases", "consumers", "cudnns", "environments", "files", "folders"),
    *("installable", "meanings", "requests", "searchable", "sought", "toolkits", "tools"),
    *("usable", "values"),
}


def available() -> list[str]:
    """List the CUDA releases that `install` finds without a file or channel, newest first.

    Those of the tables that the package carries: what completes must ask no network.
    """
    indexed = {release for release in known_releases("cuda") if release >= FIRST_TOOLKIT}
    return list(map(str, sorted(indexed | {row.cuda for row in runfiles()}, reverse=True)))

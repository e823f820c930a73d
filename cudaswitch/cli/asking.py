"""Commands that only tell: current, which."""

from __future__ import annotations

import os
from pathlib import Path

import click

from cudaswitch.activation import applied
from cudaswitch.cli import output
from cudaswitch.decision import NOTHING, Decision, decide, toolkit_at, working_directory
from cudaswitch.errors import ToolMissingError
from cudaswitch.lookup import find_file
from cudaswitch.store import all_stores


@click.command(epilog="Example: cudaswitch current --json")
@output.json_option
def current(as_json: bool) -> None:
    """Tell what is active, who asked for it, and whether the shell agrees.

    The shell agrees when CUDA_HOME and the first CUDA on PATH are those of the toolkit.
    """
    decision = decide(os.environ, working_directory(os.environ))
    kit = decision.toolkit
    path = decision.want.home if decision.want.home != "system" else None
    agrees = _agrees(decision)
    if as_json:
        output.data(
            {
                "toolkit": kit.name if kit else None,
                "version": str(kit.version) if kit else None,
                "path": path,
                "origin": decision.origin,
                "agrees": agrees,
            }
        )
        return
    if path is None:
        output.line(
            f"system (asked for by {decision.origin})" if decision is not NOTHING else "none"
        )
    else:
        output.line(f"{kit.name if kit else path} (asked for by {decision.origin})")
        output.line(path)
    if not agrees:
        has = applied(os.environ)
        output.say(
            f"this shell has {has.home if has else os.environ.get('CUDA_HOME', 'no toolkit')}"
        )
        output.hint(
            "load the integration (cudaswitch init --help), or activate the environment again"
        )


def _agrees(decision: Decision) -> bool:
    wanted = decision.want.home
    on = applied(os.environ)
    if wanted == "system":
        return on is None
    folders = [Path(at) for at in os.environ.get("PATH", "").split(os.pathsep) if at]
    first = next((at for at in folders if (at / "nvcc").exists()), None)
    ours = Path(wanted) / "bin"
    wins = first == ours if (ours / "nvcc").exists() else ours in folders
    return os.environ.get("CUDA_HOME") == wanted and wins


@click.command(epilog="Example: cudaswitch which nvcc    cudaswitch which libcudnn.so.7")
@click.argument("name", metavar="TOOL|LIB")
@output.json_option
def which(name: str, as_json: bool) -> None:
    """Tell which file wins in this shell for a tool or library, why, and what it shadows."""
    found = find_file(name, os.environ)
    if not found:
        having = [
            kit.name for store in all_stores() for kit in store.toolkits() if _has(kit.path, name)
        ]
        raise ToolMissingError(
            f"`{name}` is not found in this shell",
            f"cudaswitch use {having[-1]}" if having else None,
        )
    winner, *shadowed = found
    kit = next((kit for kit in map(toolkit_at, [winner.toolkit]) if kit), None)
    why = winner.why + (f", in CUDA {kit.name}" if kit else "")
    if as_json:
        output.data(
            {"path": winner.path, "why": why, "shadows": [other.path for other in shadowed]}
        )
        return
    output.line(winner.path)
    output.say(why)
    for other in shadowed:
        output.say(f"shadows {other.path} ({other.why})")


def _has(home: str, name: str) -> bool:
    return any((Path(home) / folder / name).exists() for folder in ("bin", "lib64", "lib"))

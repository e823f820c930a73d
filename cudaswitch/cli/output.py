"""What several commands spell alike: examples, numbers, what a toolkit builds with, --json."""

from __future__ import annotations

import os

import click

from cudaswitch import talk
from cudaswitch.platforms import current_platform
from cudaswitch.versions import quote_request

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cudaswitch.store import Store
    from cudaswitch.toolkit import Toolkit

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON with stable keys.")


class Group(click.Group):
    """A command with subcommands: `--help` lists them like the others, without full stops."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        shown = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, one.get_short_help_str(200).rstrip(".")) for name, one in shown if one]
            )


def examples(*commands: str) -> str:
    """Return the end of a command's help: each example whole, on a line of its own."""
    # click does not wrap a paragraph that begins with \b.
    return "\b\nExample: " + "\n         ".join(commands)


def tell_of_building(kit: Toolkit, compiler: str | None) -> None:
    """Say if a toolkit's nvcc is too old for this machine's C library or its compiler.

    `compiler` is the one that is named for it instead; if that is not there, a hint says which
    package brings it.
    """
    from cudaswitch.store import compiles_here  # noqa: PLC0415  # --help needs no store

    if not compiles_here(kit):
        return
    from pathlib import Path  # noqa: PLC0415  # only for what compiles

    from cudaswitch.compat.compilers import glibc_limit  # noqa: PLC0415  # only for what compiles
    from cudaswitch.detect.machine import glibc  # noqa: PLC0415  # only for what compiles
    from cudaswitch.hostcompiler import what_compiles  # noqa: PLC0415  # only for what compiles
    from cudaswitch.programs import search_path  # noqa: PLC0415  # only for what compiles
    from cudaswitch.versions import Version  # noqa: PLC0415  # only for what compiles

    library = glibc()
    limit = glibc_limit(kit.version, Version(library)) if library else None
    if limit:
        talk.say(f"{limit.text}; this machine has glibc {library}")
    if compiler is None:
        return
    found = what_compiles(Path(kit.path), kit.version, {"PATH": search_path(os.environ)})
    is_there = os.path.exists(Path(compiler))
    talk.say(f"{found}, so nvcc will use it" if is_there and found.better else str(found))
    if not is_there and found.hint:
        talk.hint(found.hint)


def tell_of_no_toolkit(store: Store) -> None:
    """Say that what was installed is not part of a toolkit yet, such as cuDNN alone."""
    used = {package for kit in store.toolkits() for package in kit.packages}
    lone = {
        (one.cuda, one.platform)
        for one in store.packages()
        if one.component == "cudnn" and one.cuda and one.id not in used
    }
    talk.say("installed, but no installed toolkit goes with it yet")
    what = "install the CUDA toolkit it was built for"
    if len(lone) == 1:
        [(cuda, platform)] = lone
        what = f"cudaswitch install {quote_request(cuda)}"
        what += f" --platform {platform}" if platform != current_platform() else ""
    talk.hint(f"{what}, and the two will be combined")


def size(count: int) -> str:
    """Spell a number of bytes for people."""
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if count >= unit:
            return f"{count / unit:.1f} {name}" if unit == 1 << 30 else f"{count / unit:.0f} {name}"
    return f"{count} B"

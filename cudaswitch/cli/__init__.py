"""The command line: one row per command, loaded only when it is called."""

from __future__ import annotations

import gc
import shlex
from importlib import import_module
from typing import Any

import click

from cudaswitch import __version__, helptexts
from cudaswitch.errors import brief, nearest

COMMANDS = {
    "install": ("installing", "Install toolkits and cuDNN by version, file or URL"),
    "adopt": ("adopting", "Register a toolkit that is already on this machine"),
    "search": ("searching", "Show which toolkits and cuDNN versions are available"),
    "list": ("packages", "List what is installed, active and pinned"),
    "remove": ("packages", "Remove toolkits that nothing uses"),
    "gc": ("collecting", "Remove packages and leftovers that are no longer needed"),
    "verify": ("verifying", "Check every file against its recorded hash, and repair"),
    "lock": ("projects", "Record a project's exact packages, with their hashes"),
    "sync": ("projects", "Install exactly the packages in a lock file"),
    "download": ("projects", "Download packages into a folder, for machines without a network"),
    "mirror": ("mirroring", "Lay packages out as a tree that any web server can serve"),
    "alias": ("packages", "Give a name to a version"),
    "use": ("switching", "Switch this shell to a toolkit"),
    "off": ("switching", "Undo `use` in this shell"),
    "pin": ("pins", "Pin a version for an environment, a directory or yourself"),
    "unpin": ("pins", "Remove a pin"),
    "current": ("asking", "Show what is active and what requested it"),
    "which": ("asking", "Show which file wins for a tool or library"),
    "doctor": ("doctor", "Show what is wrong here, and how to fix it"),
    "check": ("checking", "Check that a toolkit loads, compiles and runs"),
    "resolve": ("resolving", "Show which CUDA an environment needs, and why"),
    "compat": ("compat", "Show what works with what: CUDA, drivers, GPUs, frameworks"),
    "exec": ("switching", "Run a command with a toolkit"),
    "env": ("switching", "Print the environment changes for a shell or in another format"),
    "init": ("init", "Load cudaswitch into your shell"),
    "shims": ("shims", "Manage shims, which find the right toolkit without a shell hook"),
    "completion": ("completing", "Print a shell's completion script"),
    "config": ("config", "List, get, set and unset settings"),
    "want": ("answering", ""),
}
"""Command → (module that holds it, its line in `--help`; hidden when empty)."""

_SYNONYMS = {
    **dict.fromkeys(("activate", "load", "set", "switch"), "use"),
    **dict.fromkeys(("deactivate", "system", "unload", "unset", "unuse"), "off"),
    **dict.fromkeys(("delete", "rm", "unadopt", "uninstall"), "remove"),
    **dict.fromkeys(("active", "info", "status"), "current"),
    **dict.fromkeys(("available", "list-remote", "ls-remote"), "search"),
    **dict.fromkeys(("installed", "ls", "versions"), "list"),
    **dict.fromkeys(("default", "global"), "pin --global"),
    **dict.fromkeys(("link", "register"), "adopt"),
    **dict.fromkeys(("clean", "prune"), "gc"),
    "help": "--help",
    "local": "pin",
    "rehash": "shims install",
    "run": "exec",
    "version": "--version",
}
"""Word of a similar tool → what it is called here."""


class _Commands(click.Group):
    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        extra.setdefault("terminal_width", helptexts.width())
        return super().make_context(info_name, args, parent, **extra)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for name, (_, line) in COMMANDS.items() if line]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"cudaswitch.cli.{COMMANDS[cmd_name][0]}")
        command: click.Command = getattr(module, cmd_name, None) or getattr(
            module, f"{cmd_name}_command"
        )
        # Loaded modules stay: the collector need not examine them again and again.
        gc.freeze()
        gc.enable()
        return command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        words = list(args)
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            at = next((at for at, word in enumerate(words) if word in COMMANDS), None)
            if at is None or nearest(error.option_name, ["--help"]):
                raise
            behind = words.index("--") if "--" in words else len(words)
            meant = shlex.join(["cudaswitch", *words[at:behind], *words[:at], *words[behind:]])
            message = f"No such option {error.option_name!r} before a command. Did you mean"
            raise click.UsageError(f"{message} {brief(meant)!r}?", ctx) from None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            name, command, words = super().resolve_command(ctx, args)
        except click.UsageError as error:
            meant = _SYNONYMS.get(args[0]) or nearest(args[0], self.list_commands(ctx))
            if not meant:
                raise
            # In click's words for options.
            message = f"{error.message.rstrip('.')}. Did you mean {meant!r}?"
            raise click.UsageError(message, ctx) from None
        if name and command and any(not word or word.endswith("=") for word in words):
            from cudaswitch.cli.empty import refuse_empty  # noqa: PLC0415  # few lines have one

            refuse_empty(command, name, words, ctx)
        return name, command, words

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items() if line])


@click.group(
    cls=_Commands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="To get started: cudaswitch install 13.0, then cudaswitch init --help",
)
@click.version_option(__version__, prog_name="cudaswitch", message="%(prog)s %(version)s")
@click.pass_context
def cli(context: click.Context) -> None:
    """Give each environment the CUDA toolkit and cuDNN it needs, switched automatically."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())

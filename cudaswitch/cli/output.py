"""What several commands spell alike: examples, numbers, --json."""

from __future__ import annotations

import click

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


def size(count: int) -> str:
    """Spell a number of bytes for people."""
    for unit, name, digits in ((1 << 30, "GiB", 1), (1 << 20, "MiB", 0), (1 << 10, "KiB", 0)):
        if count >= unit:
            return f"{count / unit:.{digits}f} {name}"
    return f"{count} B"

"""The command that removes what nobody needs: gc."""

from __future__ import annotations

import click

from cudaswitch import talk
from cudaswitch.changing import own_store
from cudaswitch.cli import output
from cudaswitch.collecting import collect
from cudaswitch.paths import cache


@click.command(epilog=output.examples("cudaswitch gc --dry-run", "cudaswitch gc --downloads"))
@click.option("--dry-run", is_flag=True, help="Only show what would be removed.")
@click.option("--downloads", is_flag=True, help="Also remove downloaded files.")
def gc(dry_run: bool, downloads: bool) -> None:
    """Remove what is no longer needed.

    That is: packages that no toolkit uses, leftovers of killed processes, hooks that `unpin`
    left for running shells, and cached answers for environments that are gone. Installs in
    progress are not disturbed.
    """
    found = collect(own_store(), cache(), downloads=downloads, dry_run=dry_run)
    talk.table([(one.kind, output.size(one.size), str(one.path)) for one in found])
    if not found:
        talk.say("nothing to remove")
        return
    total = output.size(sum(one.size for one in found))
    done = "would remove" if dry_run else "removed"
    talk.say(f"{done} {talk.counted(len(found), 'thing')}, {total}")

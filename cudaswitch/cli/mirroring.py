"""The command mirror."""

from __future__ import annotations

import os
from pathlib import Path

import click

from cudaswitch import talk
from cudaswitch.cli import options, output
from cudaswitch.cli.choosing import Asked, asking, chosen_or_locked, lock_option
from cudaswitch.download.cache import workplace
from cudaswitch.mirroring import Item, lay_out, require_indexer
from cudaswitch.paths import cache
from cudaswitch.sources.exact import bring_exactly, of_locked
from cudaswitch.versions import is_version

_FOLDER = options.FromHome(path_type=Path, file_okay=False)
_HINTS = {
    "conda": "cudaswitch install VERSION --channel URL/conda",
    "nvidia": "cudaswitch install VERSION --from nvidia --mirror URL/nvidia",
    "simple": "cudaswitch install VERSION --from pypi --mirror URL/simple",
    "files": "cudaswitch install URL/files/NAME",
}
"""Part of the tree → how it is used, with the URL that the tree has on a server."""
_OF_LOCK = {"simple": "cudaswitch config set mirrors.pypi URL/simple, then cudaswitch sync"}
"""The same for a tree with just what a lock file names, without a list of releases."""


@click.command(
    epilog=output.examples(
        "cudaswitch mirror /srv/www/cuda 12.4 --cudnn 9.1",
        "cudaswitch mirror /srv/www/cuda --lock cuda.lock",
    )
)
@click.argument("folder", type=_FOLDER, metavar="DIR")
@asking
@lock_option
def mirror(folder: Path, asked: Asked, lock_file: Path | None) -> None:
    """Lay packages out in DIR as a tree of plain files that any web server can serve.

    One download then serves a whole lab: `install --channel` and `install --mirror` get from it
    what they would otherwise get from the vendors' servers. Later runs add to the tree. WHAT is
    as for `install`; the default is what the lock file lists, for all its platforms unless
    --platform is given.
    """
    if is_version(str(folder)) and not os.path.isdir(folder):
        raise click.UsageError(f"DIR comes first: cudaswitch mirror DIR {folder}")
    asked.use_mirror()
    with workplace(cache()) as work:
        chosen = chosen_or_locked(asked, lock_file, work)
        rows = [(row, one.kit) for one in chosen for row in (*one.kit.packages, *one.beside)]
        if any(row.source == "conda" for row, _ in rows):
            require_indexer()
        wanted = [of_locked(row, kit.platform) for row, kit in rows]
        artifacts = bring_exactly(wanted, workdir=work, offline=asked.offline)
        items = [
            Item(row, kit.platform, kit.release, artifact.path)
            for (row, kit), artifact in zip(rows, artifacts, strict=True)
        ]
        parts = lay_out(folder, items)
    talk.line(str(folder))
    hints = _HINTS if asked.what else _HINTS | _OF_LOCK
    for part in parts:
        talk.hint(hints[part])

"""The command that installs toolkits: install."""

from __future__ import annotations

import contextlib

import click
from click.core import ParameterSource

from cudaswitch import sources, talk
from cudaswitch.changing import own_store
from cudaswitch.cli import options, output
from cudaswitch.cli.outcome import tell_of_building, tell_of_no_toolkit, tell_of_roots
from cudaswitch.cli.refreshing import bring_up_to_date
from cudaswitch.cli.wanting import (
    LIBRARY_OF_FILE,
    Order,
    chosen_here,
    means_auto,
    refuse_words,
    wanted,
)
from cudaswitch.download.cache import workplace
from cudaswitch.errors import CudaswitchError
from cudaswitch.install import install as install_artifacts
from cudaswitch.paths import cache
from cudaswitch.sources import files
from cudaswitch.staging import refuse_unwritable
from cudaswitch.toolkit import Toolkit


@click.command(
    epilog=output.examples("cudaswitch install 13.0", "cudaswitch install ./cudatoolkit-*.tar.bz2")
)
@click.argument("what", nargs=-1, required=True, metavar="WHAT...")
@click.option(
    "--cudnn", metavar="V", help="cuDNN version to install with it, such as 7.6, or none."
)
@options.source
@options.mirror
@options.channels
@options.components
@options.platform
@click.option("--sha256", metavar="H", help="Expected hash; requires exactly one file or URL.")
@options.offline
@click.option("--force", is_flag=True, help="Replace what is already installed under that name.")
def install(
    what: tuple[str, ...],
    cudnn: str | None,
    source: str | None,
    mirror: str | None,
    channels: tuple[str, ...],
    components: str,
    platform: str | None,
    sha256: str | None,
    offline: bool,
    force: bool,
) -> None:
    """Install toolkits and cuDNN.

    WHAT is a version (13.0), a range, `latest`, an alias, `auto` for what the active environment
    needs, a file (conda package, cuDNN or component archive, wheel, runfile) or a URL. Give all
    pieces of one toolkit in one command. What is already installed stays as it is, whatever --from
    and --components say; --force reinstalls it.
    """
    named = [each for each in what if files.names_file(each)]
    if sha256 and not (named and len(what) == 1):
        raise click.UsageError("--sha256 requires exactly one file or URL")
    if cudnn and len(named) == len(what):
        raise click.UsageError(LIBRARY_OF_FILE)
    refuse_words(what)
    # All requests are checked before anything is downloaded.
    requests = {each: wanted(each, cudnn) for each in what if each not in named}
    said_by = click.get_current_context().get_parameter_source("components")
    are_named = said_by is not ParameterSource.DEFAULT
    sources.use_mirror(source, mirror)
    store = own_store()
    if any(map(files.is_url, named)):
        refuse_unwritable(store.home)
    made: dict[str, Toolkit] = {}
    with workplace(cache()) as work:
        deliveries = {
            each: files.obtain(each, cache=cache(), workdir=work, sha256=sha256, offline=offline)
            for each in named
        }
        # Files on one command line belong together, whatever their number.
        brought = [artifact for delivery in deliveries.values() for artifact in delivery.artifacts]
        bundles = [sources.Delivery(tuple(brought))] if brought else []
        lacking = False
        for each, request in requests.items():
            chosen, lacks = (None, False) if platform else chosen_here(each)
            lacking |= lacks
            order = Order(
                *(store.home, source, channels, components, platform, offline, work),
                anew=force or lacks,
                fitting=means_auto(each),
                chosen=chosen,
                names_components=are_named,
            )
            got = order.supply(request)
            if isinstance(got, Toolkit):
                made[got.name] = got
            else:
                bundles.append(got)
        # An adopted toolkit that lacks parts gives way to one of its name that has them.
        anew = force or lacking
        for kits in install_artifacts(store, bundles, platform=platform, force=anew):
            made |= {kit.name: kit for kit in kits}
        for each, delivery in deliveries.items():
            files.remember(each, delivery, cache())
    if not bundles:
        # The host compiler for a toolkit may be another one by now.
        with contextlib.suppress(CudaswitchError):
            store.publish_anew()
    bring_up_to_date()
    if brought or not made:
        tell_of_no_toolkit(store, {one.origin for one in brought}, beside_others=bool(made))
    for name, kit in made.items():
        talk.line(name)
        tell_of_building(kit, store.compiler_of(kit))
    tell_of_roots(store)

"""The command search: what the sources have, before anything is downloaded."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import click

from cudaswitch import sources, talk
from cudaswitch.cli import options, output
from cudaswitch.compat.drivers import required
from cudaswitch.detect.machine import asked_driver, kernel_driver
from cudaswitch.download.urls import redact
from cudaswitch.errors import CudaswitchError, RequestError, SourceError
from cudaswitch.platforms import current_platform, system_of
from cudaswitch.sources import Listed, Sought
from cudaswitch.store import dealias
from cudaswitch.versions import Version, parse_request

TITLES = ("source", "what", "version", "CUDA", "nvcc", "size", "driver")
_ANSWERS = {True: "yes", False: "no", None: "-"}
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)*", re.ASCII)
_CUDNN = re.compile(rf"cudnn[-_]?({_NUMBER.pattern})", re.ASCII)
_DRIVER = {True: "runs it", False: "too old", None: "-"}


@click.command(
    epilog=output.examples(
        "cudaswitch search 12.4", "cudaswitch search cudnn 8 --from nvidia --json"
    )
)
@click.argument("request", nargs=-1)
@click.option("--from", "source", type=click.Choice(sources.NAMES), help="Search only this source.")
@options.channels
@options.mirror
@options.platform
@options.offline
@output.json_option
def search(
    request: tuple[str, ...],
    source: str | None,
    channels: tuple[str, ...],
    mirror: str | None,
    platform: str | None,
    offline: bool,
    as_json: bool,
) -> None:
    """Show which toolkits and cuDNN versions each source offers, newest first.

    REQUEST is a version or range of CUDA (12.4, '>=11.2,<12', 12.4+cudnn9), an alias, `latest` for
    the newest of each source, or `cuda` or `cudnn` with or without a version; the default is
    everything. A source that cannot be reached is reported, and the others are still shown.
    """
    sought = _sought(" ".join(request))
    if channels and source is None:
        source = "conda"
    sources.use_mirror(source, mirror)
    places = list(_places(source, channels))
    found: list[Listed] = []
    failed: list[CudaswitchError] = []
    target = platform or current_platform()
    for name, index in places:
        try:
            listed = index.listed(sought, platform=target, offline=offline)
        except CudaswitchError as error:
            talk.say(f"{name}: {error.message}")
            failed.append(error)
            continue
        found += _meant(sought, sorted(listed, key=_newest_first, reverse=True))
    # Runfiles are known from our own table, so they are no source's answer.
    if failed and len(failed) == sum(name != "runfile" for name, _ in places):
        raise SourceError("no source could be reached", failed[0].hint)
    rows = [(each, _runs(each, target)) for each in found]
    if as_json:
        talk.data({"packages": [_json(*row) for row in rows]})
    elif rows:
        talk.table([TITLES, *(_cells(*row) for row in rows)])
    if not rows:
        asked = "no source that answered" if failed else "no source"
        raise SourceError(
            f"{asked} has {' '.join(request) or 'anything'} for {target}", "cudaswitch search"
        )


def _meant(sought: Sought, listed: list[Listed]) -> list[Listed]:
    """Return what is listed, newest first; only one of the toolkits if `latest` is sought."""
    if sought.cuda is None or sought.cuda.text != "latest":
        return listed
    kits = [each for each in listed if each.component == "cuda"]
    return kits[:1] + [each for each in listed if each.component != "cuda"]


def _sought(text: str) -> Sought:
    """Read what the user searches for."""
    component, _, version = text.strip().partition(" ")
    if not component:
        return Sought()
    if component == "cudnn":
        return Sought(("cudnn",), cudnn=Version(version.strip()) if version.strip() else None)
    if component == "cuda":
        if not version.strip():
            return Sought(("cuda",))
        text = version
    try:
        request = dealias(parse_request(text))
    except CudaswitchError as error:
        if cudnn := _CUDNN.fullmatch(text):
            error.hint = f"cudaswitch search cudnn {cudnn[1]}"
        raise
    if request.text in ("auto", "system"):
        raise RequestError(f"`{request.text}` cannot be searched for", "name a version or range")
    if request.wanted_cudnn is None:
        return Sought(("cuda",), request)
    return Sought(("cuda", "cudnn"), request, Version(request.wanted_cudnn))


def _places(source: str | None, channels: tuple[str, ...]) -> Iterator[tuple[str, sources.Index]]:
    """Yield the sources to ask, each conda channel separately, with names for messages."""
    for name in [source] if source else sources.NAMES:
        if name != "conda":
            yield name, sources.index(name, channels)
            continue
        from cudaswitch.sources.channels import usual_channels  # noqa: PLC0415  # slow to load

        try:
            each = channels or usual_channels()
        except SourceError:
            if source:
                raise
            # The source fails in the same way, and is reported like any other.
            yield name, sources.index(name)
            continue
        for channel in each:
            yield f"{name} ({redact(channel)})", sources.index(name, (channel,))


def _newest_first(each: Listed) -> tuple[bool, Version, Version]:
    # The CUDA that a cuDNN was built for may be a range.
    bounds = map(Version, _NUMBER.findall(each.cuda or ""))
    return each.component == "cuda", each.version, min(bounds, default=Version("0"))


def _runs(each: Listed, platform: str) -> bool | None:
    """Tell whether this machine's driver runs a toolkit; None if that is not known."""
    if each.component != "cuda" or platform != current_platform():
        return None
    driver, system = _driver(), system_of(platform)
    bound = required(each.version, system)
    least = bound.on(system) if bound else None
    return Version(driver) >= least if driver and least else None


@lru_cache
def _driver() -> str | None:
    """Return the driver that is asked for, or else this machine's; the same for every row."""
    return asked_driver(None)[0] or kernel_driver()[0]


def _json(each: Listed, runs: bool | None) -> dict[str, Any]:
    return {**each._asdict(), "version": str(each.version), "runs": runs}


def _cells(each: Listed, runs: bool | None) -> tuple[str, ...]:
    return (
        f"{each.source} {each.channel}" if each.channel else each.source,
        each.component,
        str(each.version),
        each.cuda or "-" if each.component == "cudnn" else "",
        _ANSWERS[each.has_nvcc],
        "-" if each.size is None else output.size(each.size),
        _DRIVER[runs],
    )

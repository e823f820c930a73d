"""CUDA and cuDNN from conda channels.

Up to 11.8 a toolkit is one package, `cudatoolkit` (libraries without nvcc), next to one of
`cudnn`, and choosing takes no solver: the newest version that fits, of that the newest
build, of that the `.conda`. From 12 on it is many packages, see `sources.split`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from cudaswitch.download.urls import redact
from cudaswitch.errors import RequestError, SourceError
from cudaswitch.platforms import current_platform
from cudaswitch.sources import Chosen, Delivery, Listed, Sought, split
from cudaswitch.sources.bringing import bring
from cudaswitch.sources.channels import Channel, Record, chosen_channels, refuse_unread, shown_names
from cudaswitch.sources.choosing import instead
from cudaswitch.sources.components import FULL, SETS
from cudaswitch.sources.conda_cudnn import cuda_of, cudnn_records, is_in_pieces
from cudaswitch.versions import Request, Version

SINGLE = "cudatoolkit"


@dataclass(frozen=True)
class Channels:
    """The source `conda` over these channels; without any, over the usual ones."""

    names: tuple[str, ...] = ()

    def obtain(
        self, request: Request, *, components: str, workdir: Path, platform: str, offline: bool
    ) -> Delivery:
        """Bring the newest release that satisfies the request, with its cuDNN if it names one."""
        found = self.choose(
            request, components=components, workdir=workdir, platform=platform, offline=offline
        )
        return bring(found, "conda", workdir=workdir, offline=offline)

    def choose(
        self, request: Request, *, components: str, workdir: Path, platform: str, offline: bool
    ) -> Chosen:
        """Tell what `obtain` would bring.

        The first channel with a fitting toolkit is taken. `components` is for toolkits that
        come in pieces. Raises SourceError or RequestError.
        """
        channels = self._channels(platform, offline)
        channel, toolkit = _first(request, channels, platform)
        release = None
        beside: list[Record] = []
        if toolkit.name == SINGLE:
            _refuse_choice(components, toolkit)
            records = [toolkit]
        else:
            release = toolkit.version
            records, beside = split.pieces_of(release, channel, components, platform, workdir)
        if request.wanted_cudnn:
            libraries = cudnn_records(request.wanted_cudnn, toolkit.version, channels)
            kept, empty = _with_files(libraries)
            records += kept
            beside += empty
        files, others = (tuple(one.wanted() for one in some) for some in (records, beside))
        return Chosen(files, release, others)

    def obtain_cudnn(
        self, cudnn: str, cuda: Version, *, workdir: Path, platform: str, offline: bool
    ) -> Delivery:
        """Bring the newest cuDNN with the version prefix `cudnn` that was built for that CUDA."""
        records = cudnn_records(cudnn, cuda, self._channels(platform, offline))
        found = Chosen(tuple(record.wanted() for record in _with_files(records)[0]))
        return bring(found, "conda", workdir=workdir, offline=offline)

    def newest(self, request: Request, *, platform: str) -> Version:
        """Tell which release `obtain` would bring."""
        channels = self._channels(platform, offline=False)
        return _first(request, channels, platform)[1].version

    def newest_cudnn(self, cudnn: str, cuda: Version, *, platform: str) -> Version:
        """Tell which cuDNN `obtain_cudnn` would bring."""
        channels = self._channels(platform, offline=False)
        return cudnn_records(cudnn, cuda, channels)[0].version

    def listed(self, sought: Sought, *, platform: str, offline: bool) -> list[Listed]:
        """List what the channels have that matches `sought`, each version in its newest build."""
        found: dict[tuple[str, ...], tuple[Record, Listed]] = {}
        channels = self._channels(platform, offline)
        for channel in channels:
            for record in _sought_in(channel, sought):
                listed = _listed(record, channel, platform)
                key = (channel.name, record.name, str(record.version), listed.cuda or "")
                rival = found.get(key)
                if rival is None or record.rank > rival[0].rank:
                    found[key] = record, listed
        fitting = [listed for _, listed in found.values() if sought.wants(listed)]
        if not fitting:
            refuse_unread("CUDA" if "cuda" in sought.components else "cuDNN", channels)
        return fitting

    def _channels(self, platform: str, offline: bool) -> list[Channel]:
        return chosen_channels(self.names, platform, offline=offline)


def _sought_in(channel: Channel, sought: Sought) -> Iterator[Record]:
    """Yield the records that may match `sought`."""
    if "cuda" in sought.components:
        prefix = sought.cuda.prefix if sought.cuda else None
        # The index for every platform (noarch) is large, and CUDA up to 11 is not in it.
        old = prefix is not None and prefix.major < split.FIRST
        records = channel.own if old else channel.everything
        yield from (one for one in records if one.name in (SINGLE, split.META))
    if "cudnn" in sought.components:
        yield from (one for one in channel.own if one.name == "cudnn" and cuda_of(one))


def _with_files(cudnn: list[Record]) -> tuple[list[Record], list[Record]]:
    """Split the records of one cuDNN into those with files and the empty one that requires them."""
    return (cudnn[1:], cudnn[:1]) if is_in_pieces(cudnn[0]) else (cudnn, [])


def _listed(record: Record, channel: Channel, platform: str) -> Listed:
    """Describe a record; one that stands for many packages has no size and no file of its own."""
    in_many = record.name == split.META or is_in_pieces(record)
    size, sha256 = (None if in_many else record.data.get(key) for key in ("size", "sha256"))
    component = "cudnn" if record.name == "cudnn" else "cuda"
    return Listed(
        component,
        record.version,
        cuda_of(record) if component == "cudnn" else record.version.minor,
        platform,
        "conda",
        redact(channel.name),
        size=size if isinstance(size, int) else None,
        has_nvcc=in_many if component == "cuda" else None,
        url=redact(record.folder if in_many else f"{record.folder}/{record.file}"),
        sha256=sha256 if isinstance(sha256, str) else None,
    )


def _toolkits(channel: Channel) -> list[Record]:
    """List a channel's toolkits, in one package or in many."""
    single = [record for record in channel.own if record.name == SINGLE]
    return single + [record for record in channel.everything if record.name == split.META]


def _first(request: Request, channels: Sequence[Channel], platform: str) -> tuple[Channel, Record]:
    """Return the newest fitting toolkit of the first channel that has one."""
    for channel in channels:
        single = [one for one in channel.own if one.name == SINGLE]
        fitting = [one for one in single if request.accepts(one.version)]
        # The index for every platform (noarch) is large, and CUDA up to 11 is not in it.
        if not (fitting and request.prefix):
            fitting = [one for one in _toolkits(channel) if request.accepts(one.version)]
        if fitting:
            return channel, max(
                fitting, key=lambda one: (one.version, one.name == SINGLE, *one.rank)
            )
    there = {one.version for channel in channels for one in _toolkits(channel)}
    refuse_unread(f"CUDA {request.text}", channels)
    of, check = "", "check the names of the channels"
    if platform != current_platform():
        of, check = f" for {platform}", f"{check}, and the platform"
    raise SourceError(
        f"no CUDA {request.text}{of} in {shown_names(channels)}{request.asked}",
        instead(request, there) or check,
    )


def _refuse_choice(components: str, toolkit: Record) -> None:
    if components not in (*SETS, FULL):
        raise RequestError(
            f"CUDA {toolkit.version} is one package there, without nvcc: its components cannot be"
            " chosen",
            "leave --components out, or try --from nvidia",
        )

"""cuDNN from conda channels: one package, or conda-forge's three since 9.

conda-forge/cudnn-feedstock: `libcudnn` has the libraries, `libcudnn-dev` the headers and links,
and `cudnn` nothing but the requirement of `libcudnn-dev`; all of one version and for one CUDA.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cudaswitch.archives.conda import built_for
from cudaswitch.errors import SourceError
from cudaswitch.sources.channels import Channel, Record, refuse_unread, shown_names
from cudaswitch.versions import Version, parse_request

_PIECE = "libcudnn"
"""What the names of cuDNN's pieces begin with."""


def cudnn_records(cudnn: str, cuda: Version, channels: Sequence[Channel]) -> list[Record]:
    """Return the newest fitting cuDNN of the first channel that has a complete one.

    If it is in pieces, the first record has no files. Raises SourceError.
    """
    prefix, incomplete = Version(cudnn), ""
    for channel in channels:
        fitting = [
            record
            for record in channel.own
            if record.name == "cudnn"
            and record.version.starts_with(prefix)
            and is_built_for(record, cuda)
        ]
        for record in sorted(fitting, key=lambda one: one.rank, reverse=True):
            found = [record, *_pieces(record, channel)]
            if is_in_pieces(record) and len(found) == 1:
                incomplete = incomplete or f", where {record.file} is incomplete"
                continue
            return found
    refuse_unread(f"cuDNN {cudnn}", channels)
    raise SourceError(
        f"no cuDNN {cudnn} for CUDA {cuda.minor} in {shown_names(channels)}{incomplete}",
        f"cudaswitch search cudnn {cudnn}",
    )


def is_in_pieces(cudnn: Record) -> bool:
    """Tell whether a package of the name `cudnn` only requires others."""
    return any(True for _ in _required(cudnn))


def cuda_of(cudnn: Record) -> str | None:
    """Return which CUDA a record was built for, as a request text, or None."""
    return built_for("cudnn", cudnn.version, list(cudnn.depends), cudnn.build)


def is_built_for(cudnn: Record, cuda: Version) -> bool:
    """Tell whether a record says that it is for that CUDA."""
    built = cuda_of(cudnn)
    return built is not None and parse_request(built).accepts(cuda)


def _pieces(cudnn: Record, channel: Channel) -> list[Record]:
    """Return what a record needs to be a whole cuDNN; nothing if the channel lacks a piece."""
    found: dict[str, Record] = {}
    todo = list(_required(cudnn))
    while todo:
        name, build = todo.pop()
        if name in found:
            continue
        fitting = [
            record
            for record in channel.own
            if record.name == name
            and record.version == cudnn.version
            and build in ("", record.build)
            and cuda_of(record) == cuda_of(cudnn)
        ]
        if not fitting:
            return []
        found[name] = max(fitting, key=lambda record: record.rank)
        todo += _required(found[name])
    return list(found.values())


def _required(record: Record) -> Iterator[tuple[str, str]]:
    """Yield the names of the pieces that a record requires, with their build if it names one."""
    for dependency in record.depends:
        name, _, build = (*dependency.split()[:3], "", "", "")[:3]
        if name.startswith(_PIECE):
            yield name, "" if "*" in build else build

"""Where packages come from: one module per source, all of them in one table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Protocol

from cudaswitch.errors import RequestError
from cudaswitch.install import Artifact
from cudaswitch.versions import Request, Version


@dataclass(frozen=True)
class Delivery:
    """What a source brought: files to install, under the names that their makers gave them.

    `toolkit` is the CUDA release that they belong together as, None where each file says
    that for itself. The files may lie in the work folder: install before it goes.
    """

    artifacts: tuple[Artifact, ...]
    toolkit: Version | None = None


class Index(Protocol):
    """A source that offers versions (files and URLs are `sources.files` instead)."""

    def available(self, *, offline: bool = False) -> list[Version]:
        """List the CUDA releases that can be obtained, newest first."""

    def obtain(
        self, request: Request, *, components: str, workdir: Path, platform: str, offline: bool
    ) -> Delivery:
        """Bring the newest release that satisfies the request, with its cuDNN if it names one."""

    def obtain_cudnn(
        self, cudnn: str, cuda: Version, *, workdir: Path, platform: str, offline: bool
    ) -> Delivery:
        """Bring cuDNN alone, for a CUDA that is installed."""


NAMES = ("pypi", "nvidia", "conda")
"""The sources that a version can be asked of; each is the module of that name."""


def index(name: str, channels: Sequence[str] = ()) -> Index:
    """Return the source of that name; `channels` are for conda, in the order to ask them.

    Raises RequestError where there is no such source, or it knows no channels.
    """
    if name not in NAMES:
        raise RequestError(f"`{name}` is not a source", f"there are: {', '.join(NAMES)}")
    module = import_module(f"cudaswitch.sources.{name}")
    if channels and name != "conda":
        raise RequestError(f"`{name}` has no channels", "--channel goes with --from conda")
    found: Index = module.Channels(tuple(channels)) if name == "conda" else module
    return found

"""Where packages come from: one module per source, all of them in one table."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from cudaswitch.errors import ChoiceError, RequestError, brief
from cudaswitch.namedtuples import NamedTuple
from cudaswitch.settings import SETTINGS
from cudaswitch.versions import Request, Version, parse_request

if TYPE_CHECKING:  # code that names sources, or looks at local files, needs no downloader
    from cudaswitch.download.several import WantedFile
    from cudaswitch.install import Artifact


class Delivery(NamedTuple):
    """What a source brought: files to install, under the names that their makers gave them.

    `toolkit` is the CUDA release that they make up together, None where each file states its
    own. The files may be in the work folder: install them before that is removed.
    """

    artifacts: tuple[Artifact, ...]
    toolkit: Version | None = None


class Chosen(NamedTuple):
    """What a source would bring, none of it downloaded: files, and their release as in Delivery.

    `beside` are further files that a mirror must have for the release to be found there.
    """

    files: tuple[WantedFile, ...]
    toolkit: Version | None = None
    beside: tuple[WantedFile, ...] = ()


class Sought(NamedTuple):
    """What is searched for: components `cuda` and `cudnn`, in all versions if none is named.

    `cudnn` is a version prefix; `cuda` is the toolkits' version and what cuDNN is built for.
    """

    components: tuple[str, ...] = ("cuda", "cudnn")
    cuda: Request | None = None
    cudnn: Version | None = None

    def wants_toolkit(self, version: Version) -> bool:
        return "cuda" in self.components and (self.cuda is None or self.cuda.accepts(version))

    def wants_cudnn(self, version: Version) -> bool:
        # The index file of 8.9.7.29 may be called 8.9.7.
        named = self.cudnn is None or version.starts_with(self.cudnn)
        return "cudnn" in self.components and (
            named or bool(self.cudnn and self.cudnn.starts_with(version))
        )

    def wants(self, found: Listed) -> bool:
        """Tell whether something that a source has matches."""
        if found.component == "cuda":
            return self.wants_toolkit(found.version)
        return self.wants_cudnn(found.version) and self.wants_built_for(found.cuda)

    def wants_built_for(self, cuda: str | None) -> bool:
        """Tell whether a cuDNN built for that CUDA (a request text) goes with the toolkits."""
        prefix = self.cuda.prefix if self.cuda else None
        if prefix is None or cuda is None:
            return True
        built = parse_request(cuda)
        return built.accepts(prefix) or bool(built.prefix and built.prefix.starts_with(prefix))


class Listed(NamedTuple):
    """Something that a source has, as `search` shows it.

    `cuda` is a toolkit's release (`12.4`), or the CUDA that a cuDNN was built for (a request
    text). `size` is in bytes, of the components that `install` takes; `url` (no credentials) is
    that of the file, or of the index if there are many. None: the source does not say.
    """

    component: str
    version: Version
    cuda: str | None
    platform: str
    source: str
    channel: str | None = None
    size: int | None = None
    has_nvcc: bool | None = None
    url: str | None = None
    sha256: str | None = None


class Index(Protocol):
    """A source that offers versions (files and URLs are `sources.files` instead)."""

    def obtain(
        self, request: Request, *, components: str, workdir: Path, platform: str, offline: bool
    ) -> Delivery:
        """Bring the newest release that satisfies the request, with its cuDNN if it names one."""

    def choose(
        self, request: Request, *, components: str, workdir: Path, platform: str, offline: bool
    ) -> Chosen:
        """Tell what `obtain` would bring."""

    def obtain_cudnn(
        self, cudnn: str, cuda: Version, *, workdir: Path, platform: str, offline: bool
    ) -> Delivery:
        """Bring cuDNN alone, for a CUDA that is installed."""

    def newest(self, request: Request, *, platform: str) -> Version:
        """Tell which release `obtain` would bring. Raises SourceError."""

    def newest_cudnn(self, cudnn: str, cuda: Version, *, platform: str) -> Version:
        """Tell which cuDNN `obtain_cudnn` would bring. Raises SourceError."""

    def listed(self, sought: Sought, *, platform: str, offline: bool) -> list[Listed]:
        """List what the source has that matches `sought`, in any order. Raises SourceError."""


NAMES = ("pypi", "nvidia", "conda", "runfile")
"""The sources that offer versions; each is the module of that name."""

MIRRORS = {
    "pypi": "mirrors.pypi",
    "nvidia": "mirrors.nvidia",
    "conda": "mirrors.conda",
    "runfile": "mirrors.nvidia",
}
"""Source → the setting that names a mirror of its maker's server."""


def use_mirror(name: str | None, url: str | None) -> None:
    """Use the mirror `url` for the source `name`, in this process and its children.

    Raises ChoiceError for a URL without a source, and RequestError for an invalid one.
    """
    if url is None:
        return
    if name is None:
        raise ChoiceError(
            "--mirror requires --from: say which source it mirrors", "add --from SOURCE"
        )
    setting = SETTINGS[MIRRORS[name]]
    if not setting.kind.is_right(url):
        from cudaswitch.download.urls import redact  # noqa: PLC0415  # only refusals need it

        # What comes before an @ may be a password.
        shown = brief(redact(url).rpartition("@")[2])
        hint = "such as --mirror https://HOST/PATH or --mirror file:///FOLDER"
        raise RequestError(f"`--mirror {shown}` must be {setting.kind.what}", hint)
    os.environ[str(setting.variable)] = url


def index(name: str, channels: Sequence[str] = ()) -> Index:
    """Return the source of that name; `channels` are for conda, in the order to ask them.

    Raises what `require` does.
    """
    require(name, channels)
    module = import_module(f"cudaswitch.sources.{name}")
    found: Index = module.Channels(tuple(channels)) if name == "conda" else module
    return found


def require(name: str, channels: Sequence[str] = ()) -> None:
    """Raise RequestError if channels are given and the source has none."""
    if channels and name != "conda":
        raise RequestError(f"`{name}` has no channels", "--channel requires --from conda")

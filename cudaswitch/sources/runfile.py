"""CUDA 8.0 and later from NVIDIA's runfiles, with nvcc: the whole toolkit in one large file.

compat.runfiles lists them with their sha256. CUDASWITCH_NVIDIA_URL names another base, as for
`sources.nvidia`. They are taken apart, never run (archives.runfiles).
"""

from __future__ import annotations

from pathlib import Path

from cudaswitch import settings
from cudaswitch.compat.runfiles import Runfile, runfiles
from cudaswitch.download.several import WantedFile
from cudaswitch.errors import RequestError, SourceError
from cudaswitch.sources import Chosen, Delivery, Listed, Sought
from cudaswitch.sources.bringing import bring
from cudaswitch.sources.choosing import instead
from cudaswitch.sources.components import FULL, SETS
from cudaswitch.versions import Request, Version

PLATFORM = "linux-64"
_NO_CUDNN = "no runfile has cuDNN"
_THEN = "install the toolkit alone, then add cuDNN: --cudnn with --from conda or nvidia"


def obtain(
    request: Request, *, components: str, workdir: Path, platform: str, offline: bool
) -> Delivery:
    """Bring the newest release that satisfies `request`; SourceError if it names a cuDNN."""
    found = choose(
        request, components=components, workdir=workdir, platform=platform, offline=offline
    )
    return bring(found, "runfile", workdir=workdir, offline=offline)


def choose(
    request: Request, *, components: str, workdir: Path, platform: str, offline: bool
) -> Chosen:
    """Tell what `obtain` would bring; no server is asked."""
    if request.wanted_cudnn:
        raise SourceError(_NO_CUDNN, _THEN)
    if components not in (*SETS, FULL):
        raise RequestError(
            "a runfile is a whole toolkit: its components cannot be chosen",
            "leave --components out, or try --from nvidia",
        )
    found = _chosen(request, platform)
    return Chosen((WantedFile(_url(found), found.sha256, None),))


def _chosen(request: Request, platform: str) -> Runfile:
    if platform != PLATFORM:
        raise RequestError(
            f"no runfile for `{platform}` is known", "give its URL, or try --from nvidia"
        )
    found = next((each for each in runfiles() if request.accepts(each.cuda)), None)
    if found is None:
        raise SourceError(
            f"no runfile of CUDA {request.text} is known{request.asked}",
            instead(request, (each.cuda for each in runfiles())),
        )
    return found


def obtain_cudnn(
    cudnn: str, cuda: Version, *, workdir: Path, platform: str, offline: bool
) -> Delivery:
    """Raise SourceError."""
    raise SourceError(_NO_CUDNN, _THEN)


def newest(request: Request, *, platform: str) -> Version:
    """Tell which release `obtain` would bring; no server is asked."""
    return _chosen(request, platform).cuda


def newest_cudnn(cudnn: str, cuda: Version, *, platform: str) -> Version:
    """Raise SourceError."""
    raise SourceError(_NO_CUDNN, _THEN)


def listed(sought: Sought, *, platform: str, offline: bool) -> list[Listed]:
    """List what matches `sought`; no server is asked, and no size is known."""
    if platform != PLATFORM:
        return []
    return [
        Listed(
            "cuda",
            each.cuda,
            each.cuda.minor,
            platform,
            "runfile",
            has_nvcc=True,
            url=_url(each),
            sha256=each.sha256,
        )
        for each in runfiles()
        if sought.wants_toolkit(each.cuda)
    ]


def _url(each: Runfile) -> str:
    base = settings.value("mirrors.nvidia") or each.base
    return f"{base.rstrip('/')}/{each.path}"

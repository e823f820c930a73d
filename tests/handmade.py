"""Facts about environments and machines, made by hand for the rules that judge them."""

from __future__ import annotations

from cudaswitch.resolver import Claim, Facts, FoundFramework
from cudaswitch.toolkit import Toolkit
from cudaswitch.versions import Version

ARCHS = "sm_35 sm_50 sm_60 sm_70 sm_75 compute_80"
"""What TensorFlow releases of the time of CUDA 11 hold code for."""


def toolkit(name: str, platform: str = "linux-64") -> Toolkit:
    version, _, cudnn = name.partition("+cudnn")
    return Toolkit(
        name=name,
        version=Version(version),
        cudnn=Version(cudnn) if cudnn else None,
        path=f"/store/{name}",
        source="conda",
        platform=platform,
    )


def found(name: str, version: str, cuda=None, cudnn=None, *, dist=None, origin="pip", **more):
    claims = [Claim("cuda", cuda, "file")] if cuda else []
    claims += [Claim("cudnn", cudnn, "file")] if cudnn else []
    claims += [Claim(gives, value, "file") for gives, value in more.items()]
    return FoundFramework(name, dist or name, version, origin, "record", tuple(claims))


def tensorflow(version: str, cuda=None, cudnn=None, **more):
    return found("tensorflow", version, cuda, cudnn, **more)


def torch(version: str, cuda=None, cudnn=None, **more):
    return found("torch", version, cuda, cudnn, **more)


def facts(*frameworks, platform="linux-64", driver="610.43.02", **more) -> Facts:
    return Facts(platform=platform, frameworks=frameworks, driver=driver, **more)

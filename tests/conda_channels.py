"""Channels with the file names, build strings and requirements of the real ones."""

from __future__ import annotations

import hashlib
import json
import tempfile
from pathlib import Path
from typing import Any

import builders
from builders import Content, Link, conda_package
from cudaswitch.sources import Delivery
from cudaswitch.sources.conda import Channels
from cudaswitch.versions import parse_request
from zstd_library import zstd

DEFAULTS = {
    **dict.fromkeys(
        (
            *("cudatoolkit-9.0-h13b8566_0", "cudatoolkit-9.2-0", "cudatoolkit-10.0.130-0"),
            *("cudatoolkit-10.1.168-0", "cudatoolkit-10.2.89-hfd86e86_0"),
            *("cudatoolkit-10.2.89-hfd86e86_1", "cudatoolkit-11.0.221-h6bb024c_0"),
            *("cudatoolkit-11.3.1-h2bc3f7f_2", "cudatoolkit-11.8.0-h6a678d5_0"),
        ),
        (),
    ),
    "cudnn-7.3.1-cuda9.2_0": ("cudatoolkit 9.2.*",),
    "cudnn-7.6.4-cuda10.1_0": ("cudatoolkit 10.1.*",),
    "cudnn-7.6.5-cuda10.2_0": ("cudatoolkit 10.2.*",),
    "cudnn-7.6.5-cuda9.2_0": ("cudatoolkit 9.2.*",),
    "cudnn-8.2.1-cuda11.3_0": ("cudatoolkit 11.3.*",),
    "cudnn-8.9.2.26-cuda11_0": ("cudatoolkit 11.*",),
    "cudnn-7.9.9-0": (),  # not a real one: it does not say for which CUDA it is
    "numpy-1.19.2-py38h54aff64_0": ("python >=3.8",),
}
"""Of pkgs/main, linux-64: stem and requirements."""

NVIDIA = {
    **dict.fromkeys(
        (
            *("cudatoolkit-11.1.74-h6bb024c_0", "cudatoolkit-11.2.0-h73cb219_8"),
            *("cudatoolkit-11.2.1-h8204236_8", "cudatoolkit-11.2.2-he111cf0_8"),
            *("cudatoolkit-11.2.72-h2bc3f7f_0", "cudatoolkit-11.3.1-ha36c431_9"),
            *("cudatoolkit-11.4.0-hebf7ef1_9", "cudatoolkit-11.4.1-h8ab8bb3_9"),
            *("cudatoolkit-11.5.0-h36ae40a_9", "cudatoolkit-11.5.1-hcf5317a_9"),
            *("cudatoolkit-11.6.0-habf752d_9", "cudatoolkit-11.7.0-hd8887f6_10"),
        ),
        ("libgcc-ng >=7.3.0",),
    ),
    "cuda-toolkit-12.1.0-0": ("cuda-compiler >=12.1.0", "cuda-libraries >=12.1.0"),
    "cudnn-8.0.4-cuda11.0_0": ("cudatoolkit 11.0.*",),
    "cudnn-8.0.4-cuda11.1_0": ("cudatoolkit 11.1.*",),
}

CONDA_FORGE = {
    **dict.fromkeys(
        (
            *("cudatoolkit-11.1.1-h6406543_9", "cudatoolkit-11.1.1-ha002fc5_10"),
            *("cudatoolkit-11.1.1-hb139c0e_12", "cudatoolkit-11.1.1-hb139c0e_13"),
            *("cudatoolkit-11.2.2-he111cf0_9", "cudatoolkit-11.2.2-hbe64b41_11"),
            *("cudatoolkit-11.2.2-hc23eb0c_13", "cudatoolkit-11.8.0-h37601d7_10"),
            *("cudatoolkit-11.8.0-h4ba93d1_12", "cudatoolkit-11.8.0-h4ba93d1_13"),
        ),
        ("__glibc >=2.17,<3.0.a0", "libgcc-ng >=12", "libstdcxx-ng >=12"),
    ),
    "cudnn-8.9.7.29-h092f7fd_3": ("cuda-version >=12.0,<13", "libgcc-ng >=12", "libzlib >=1.2"),
    "cudnn-9.14.0.64-h01fe47c_0": (
        "cuda-version >=13,<14.0a0",
        "libcudnn-dev 9.14.0.64 h58dd1b1_0",
    ),
}


def add_records(channel: Path, packages: dict[str, tuple[str, ...]]) -> None:
    """List packages without files in a channel's index; those of conda-forge in both forms."""
    path = channel / "linux-64/repodata.json"
    index: dict[str, Any] = {"info": {"subdir": "linux-64"}, "packages": {}, "packages.conda": {}}
    if path.is_file():
        index = json.loads(path.read_text())
    for stem, depends in packages.items():
        name, version, build = stem.rsplit("-", 2)
        record = {
            "build": build,
            "build_number": int(build.rpartition("_")[2]),
            "depends": list(depends),
            "license": "NVIDIA End User License Agreement",
            "md5": hashlib.md5(stem.encode()).hexdigest(),
            "name": name,
            "sha256": hashlib.sha256(stem.encode()).hexdigest(),
            "size": 123456,
            "subdir": "linux-64",
            "timestamp": 1600000000000,
            "version": version,
        }
        if record["build_number"] < 12 and not build.startswith("h092"):
            index["packages"][f"{stem}.tar.bz2"] = record
        if channel.name == "conda-forge":
            index["packages.conda"][f"{stem}.conda"] = record
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(index, indent=2))


def compress(channel: Path) -> None:
    """Leave only the compressed form of a channel's indexes."""
    for path in channel.glob("*/repodata.json"):
        (path.parent / "repodata.json.zst").write_bytes(zstd.compress(path.read_bytes()))
        path.unlink()


def split_toolkit(channel: Path) -> None:
    """Lay the real toolkit out as conda-forge splits it, most of it below targets/ and noarch.

    Names, requirements and pins are as in the packages of 12.6.77 there; `gcc_linux-64` and
    other packages that are not part of CUDA are required, but not in the channel.
    """
    targets, release = "targets/x86_64-linux", "13.0.2"
    owners: dict[str, dict[str, Content]] = {}
    version = builders.toolkit_version()
    for part in builders.parts():
        for path, content in part.files.items():
            owner = _owner(part.component.redist, path)
            below = path.startswith(("include/", "lib/"))
            owners.setdefault(owner, {})[f"{targets}/{path}" if below else path] = content
    runtime = next(path for path in owners["cuda-cudart_linux-64"])
    owners["cuda-cudart"] = {f"lib/{Path(runtime).name}": Link(f"../{runtime}")}
    own = f"cuda-version >={version[:4]},<{version[:2]}.{int(version[3]) + 1}.0a0"
    packages = []
    with tempfile.TemporaryDirectory() as folder:
        for name, depends in _REQUIRES.items():
            at = release if name in _RELEASED else version
            at = version[:4] if name == "cuda-version" else at
            needs = [one.format(version=version, release=release, own=own) for one in depends]
            subdir = "noarch" if name.endswith("_linux-64") or name in _NOARCH else "linux-64"
            tree = owners.get(name, {})
            made = conda_package(
                Path(folder), name, at, "h5888daf_0", subdir, tree, depends=needs, form="conda"
            )
            packages.append(made)
        assert owners.keys() <= _REQUIRES.keys()
        builders.local_channel(channel, packages)


_REQUIRES: dict[str, tuple[str, ...]] = {
    "cuda-version": (),
    "cuda-toolkit": (
        *("__linux", "cuda-compiler {release}.*", "cuda-libraries-dev {release}.*"),
        "cuda-nvml-dev {version}.*",
    ),
    "cuda-compiler": ("cuda-nvcc {version}.*", "c-compiler", "cxx-compiler"),
    "cuda-libraries-dev": ("cuda-cudart-dev {version}.*", "cuda-cccl_linux-64 {version}.*"),
    "cuda-nvml-dev": ("{own}",),
    "cuda-nvcc": ("cuda-nvcc_linux-64 {version}.*", "gcc_linux-64", "gxx_linux-64"),
    "cuda-nvcc_linux-64": (
        *("{own}", "cuda-cudart-dev_linux-64 {version}.*", "cuda-nvcc-dev_linux-64 {version}.*"),
        *("cuda-nvcc-impl {version}.*", "cuda-nvcc-tools {version}.*", "sysroot_linux-64 >=2.17"),
    ),
    "cuda-nvcc-impl": (
        *("cuda-cudart >={version},<14.0a0", "cuda-cudart-dev", "cuda-nvvm-impl {version}"),
        *("cuda-nvcc-dev_linux-64 {version} h5888daf_0", "cuda-nvcc-tools {version} h5888daf_0"),
        "{own}",
    ),
    "cuda-nvcc-tools": ("cuda-nvvm-tools {version} h5888daf_0", "{own}", "libgcc >=12"),
    "cuda-nvcc-dev_linux-64": ("cuda-crt-dev_linux-64 {version} h5888daf_0", "{own}"),
    "cuda-crt-dev_linux-64": ("{own}",),
    "cuda-nvvm-tools": ("{own}", "libstdcxx >=12"),
    "cuda-nvvm-impl": ("{own}",),
    "cuda-cudart": ("__glibc >=2.17,<3.0.a0", "cuda-cudart_linux-64 {version} h5888daf_0", "{own}"),
    "cuda-cudart_linux-64": ("{own}",),
    "cuda-cudart-dev": (
        *("cuda-cudart {version} h5888daf_0", "cuda-cudart-dev_linux-64 {version} h5888daf_0"),
        *("{own}", "libgcc >=13"),
    ),
    "cuda-cudart-dev_linux-64": (
        *("cuda-cccl_linux-64", "cuda-cudart-static_linux-64", "cuda-cudart_linux-64", "{own}"),
    ),
    "cuda-cudart-static_linux-64": ("{own}",),
    "cuda-cccl_linux-64": ("{own}",),
}
_RELEASED = ("cuda-toolkit", "cuda-compiler", "cuda-libraries-dev")
_NOARCH = (*_RELEASED, "cuda-version")


def _owner(part: str, path: str) -> str:
    """Tell which of conda-forge's packages has a file of one of NVIDIA's components."""
    if part == "cuda_cudart":
        static = "cuda-cudart-static_linux-64" if path.endswith(".a") else "cuda-cudart_linux-64"
        return static if path.startswith("lib/") else "cuda-cudart-dev_linux-64"
    if part == "cuda_nvcc":
        return "cuda-nvcc-tools" if path.startswith("bin/") else "cuda-nvcc-dev_linux-64"
    if part == "libnvvm":
        return "cuda-nvvm-tools" if path.startswith("nvvm/bin/") else "cuda-nvvm-impl"
    return {
        "cuda_crt": "cuda-crt-dev_linux-64",
        "cuda_cccl": "cuda-cccl_linux-64",
        "cuda_culibos": "cuda-cudart-static_linux-64",
    }[part]


def obtain(tmp_path: Path, text: str, *channels: str, **options: Any) -> Delivery:
    """Obtain what `text` requests from these channels, in the existing folder `work`."""
    options = {"platform": "linux-64", "offline": False, "components": "build"} | options
    return Channels(channels).obtain(parse_request(text), workdir=tmp_path / "work", **options)

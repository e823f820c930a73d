"""Whether an environment brings its own CUDA, asked each time that one is switched."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from cudaswitch.detect.packages import seen_base, sites_of, user_sites
from cudaswitch.detect.reading import Reading

_CONDA_PACKAGES = ("cudatoolkit-", "cuda-cudart-", "libcublas-")
"""What the names of conda's records begin with, a version behind it."""

_LIBDEVICE = ("nvidia/cuda_nvcc", "nvidia/cu[0-9]*", "jaxlib/cuda")
"""What wheels of NVIDIA's before 13 and since, and of JAX up to 0.4.30, have it in."""


def bundles_cuda(prefix: Path) -> str | None:
    """Name the file or folder that shows that an environment brings its own CUDA.

    A virtualenv that sees its base's packages has theirs too, and the user's, as a conda
    environment has. The hooks look at the same places (`__cudaswitch_bundled`); both must
    answer alike, so change them together.
    """
    reading = Reading(prefix)
    own, base = sites_of(prefix), seen_base(prefix, reading)
    prefixes, sites = [prefix], own
    if base:
        prefixes, sites = [prefix, base.prefix], [*own, *user_sites(own), *base.sites()]
    elif (prefix / "conda-meta").is_dir():
        sites = [*own, *user_sites(own)]
    shown = (*map(_in_site, sites), *(_in_records(at, reading) for at in prefixes))
    return next((path for places in shown for path in places), None)


def lacks_libdevice(prefix: Path) -> bool:
    """Tell whether an environment has TensorFlow or JAX, and no libdevice where they look for it.

    XLA looks in what XLA_FLAGS names, then beside the framework and in the environment; the
    wheels and conda-forge's packages put one there. The hooks look at the same places.
    """
    if (prefix / "nvvm" / "libdevice").exists():
        return False
    return any(
        any((site / name).exists() for name in ("tensorflow", "jaxlib"))
        and not any(any(site.glob(f"{at}/nvvm/libdevice")) for at in _LIBDEVICE)
        for site in sites_of(prefix)
    )


def _in_site(site: Path) -> Iterator[str]:
    """Find what wheels of NVIDIA's and of PyTorch put there."""
    nvidia = site / "nvidia"
    folders = sorted(os.listdir(nvidia)) if nvidia.is_dir() else []  # noqa: PTH208 - names
    candidates = [nvidia / folder / "lib" for folder in folders if not folder.startswith(".")]
    candidates.append(site / "torch" / "lib" / "libtorch_cuda.so")
    yield from (str(path) for path in candidates if path.exists())


def _in_records(prefix: Path, reading: Reading) -> Iterator[str]:
    folder = prefix / "conda-meta"
    for name in sorted(reading.names(folder)):
        start = next((it for it in _CONDA_PACKAGES if name.startswith(it)), None)
        if start and name[len(start) :][:1].isdecimal() and name.endswith(".json"):
            path = folder / name
            if path.exists():
                yield str(path)

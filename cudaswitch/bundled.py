"""Whether an environment brings its own CUDA, asked each time that one is switched.

xonsh runs this too: see `shells.carried`. The other shells have words of their own for it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from cudaswitch.regular import read_regular
from cudaswitch.sites import Base, base_in, sites_of, user_sites

_CONDA_PACKAGES = ("cudatoolkit-", "cuda-cudart-", "libcublas-")
"""What the names of conda's records begin with, a version behind it."""

_LIBDEVICE = ("nvidia/cuda_nvcc", "nvidia/cu[0-9]*", "jaxlib/cuda")
"""What wheels of NVIDIA's before 13 and since, and of JAX up to 0.4.30, have it in."""

_CONFIG_LIMIT = 64 << 10
"""Bytes of a pyvenv.cfg that is read."""


def bundles_cuda(prefix: Path, variables: Mapping[str, str] = os.environ) -> str | None:
    """Name the file or folder that shows that an environment brings its own CUDA.

    A virtualenv that sees its base's packages has theirs too, and the user's, as a conda
    environment has. The hooks look at the same places (`__cudaswitch_bundled`); both must
    answer alike, so change them together.
    """
    own, base = sites_of(prefix), _seen_base(prefix)
    prefixes, sites = [prefix], own
    if base:
        prefixes = [prefix, base.prefix]
        sites = [*own, *user_sites(own, variables), *base.sites()]
    elif (prefix / "conda-meta").is_dir():
        sites = [*own, *user_sites(own, variables)]
    shown = (*map(_in_site, sites), *map(_in_records, prefixes))
    return next((path for places in shown for path in places), None)


def plain_site(prefix: Path) -> str:
    """Name the folder of packages, relative to it, of an environment that brings no CUDA.

    Nor has it anything that looks for libdevice. As long as nothing is put into that folder or
    conda-meta, and pyvenv.cfg stays as it is, hooks need not look (`__cudaswitch_enter`). ""
    where it is not so, or where more folders would have to be watched.
    """
    sites = [site.resolve() for site in sites_of(prefix)]
    folder = f"lib/{sites[0].parent.name}/site-packages" if sites else "conda-meta"
    watched = [(prefix / folder).resolve()] == sites or (not sites and (prefix / folder).is_dir())
    alone = _seen_base(prefix) is None
    plain = watched and alone and not bundles_cuda(prefix) and not lacks_libdevice(prefix)
    return folder if plain else ""


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


def _seen_base(prefix: Path) -> Base | None:
    try:
        text = read_regular(prefix / "pyvenv.cfg", _CONFIG_LIMIT).decode(errors="replace")
    except OSError:
        return None
    return None if "\0" in text else base_in(text)


def _in_site(site: Path) -> Iterator[str]:
    """Find what wheels of NVIDIA's and of PyTorch put there."""
    nvidia = site / "nvidia"
    folders = sorted(os.listdir(nvidia)) if nvidia.is_dir() else []  # noqa: PTH208 - names
    candidates = [nvidia / folder / "lib" for folder in folders if not folder.startswith(".")]
    candidates.append(site / "torch" / "lib" / "libtorch_cuda.so")
    yield from (str(path) for path in candidates if path.exists())


def _in_records(prefix: Path) -> Iterator[str]:
    folder = prefix / "conda-meta"
    try:
        names = sorted(os.listdir(folder))  # noqa: PTH208 - thousands of names, no paths
    except OSError:
        return
    for name in names:
        start = next((it for it in _CONDA_PACKAGES if name.startswith(it)), None)
        known = start and name[len(start) :][:1].isdecimal() and name.endswith(".json")
        # Names with control characters are no installer's.
        if known and name.isprintable() and (folder / name).exists():
            yield str(folder / name)

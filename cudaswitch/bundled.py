"""Whether an environment brings its own CUDA, asked at each switch within one.

xonsh runs this too: see `shells.carrying`. The other shells have code of their own for it.
"""

from __future__ import annotations

import os

from cudaswitch.regular import names_of
from cudaswitch.sites import base_in, config_of, extended, overlaid, sites_of, user_sites

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from os import PathLike

_CONDA_PACKAGES = ("cudatoolkit-", "cuda-cudart-", "libcublas-")
"""Beginnings of the names of conda's records, followed by a version."""


def bundles_cuda(
    prefix: str | PathLike[str], variables: Mapping[str, str] = os.environ
) -> str | None:
    """Name the file or folder that shows that an environment brings its own CUDA.

    A virtualenv that sees its base's packages has theirs too, and the user's, as a conda
    environment has; a layer of `uv run --with` has those below it and what `--with` adds. The
    hooks look at the same places (`__cudaswitch_brings`), except for Windows' `Lib` and a base
    whose version is not stated; both must answer alike, so change them together.
    """
    prefix = extended(os.fspath(prefix))
    own, base = sites_of(prefix), base_in(config_of(prefix))
    prefixes, sites = [prefix], own
    layer = variables.get("VIRTUAL_ENV", "")
    if base:
        prefixes.append(base.prefix)
        sites = [*own, *user_sites(own, variables), *base.sites()]
    elif os.path.isdir(os.path.join(prefix, "conda-meta")):
        sites = [*own, *user_sites(own, variables)]
    if os.path.isabs(layer) and layer != prefix == extended(layer):
        sites = [*sites, *overlaid(layer)]
    shown = (*map(_in_site, sites), *map(_in_records, prefixes))
    return next((path for places in shown for path in places), None)


def reached(prefixes: Iterable[str], variables: Mapping[str, str]) -> Iterator[str]:
    """Yield, from the top, the environments of a stack whose packages are in use.

    If one has no Python, that of the next runs. A virtualenv and a pin hide what is below; a
    Python does not hide an environment whose pin decides. `__cudaswitch_brought` does the same.
    """
    for prefix in prefixes:
        yield prefix
        is_virtualenv = prefix == variables.get("VIRTUAL_ENV")
        has_python = os.path.exists(f"{prefix}/bin/python") and not variables.get("_CUDASWITCH_C")
        if is_virtualenv or has_python or os.path.exists(f"{prefix}/etc/cudaswitch/pin"):
            return


def watched(prefix: str | PathLike[str]) -> tuple[str, ...]:
    """Name the package folder, relative to it, of an environment that sees no other packages.

    As long as nothing is put into that folder or conda-meta, and pyvenv.cfg stays as it is, hooks
    need not look at what it brings (`__cudaswitch_enter`): nothing, or what follows the folder,
    `y` for its own CUDA, `nx` for something that looks for libdevice, `yx` for both. () if more
    folders would have to be watched.
    """
    sites = [os.path.realpath(site) for site in sites_of(prefix)]
    python = os.path.basename(os.path.dirname(sites[0])) if sites else ""
    folder = f"lib/{python}/site-packages" if sites else "conda-meta"
    place = os.path.join(prefix, folder)
    is_all = [os.path.realpath(place)] == sites or (not sites and os.path.isdir(place))
    if not is_all or base_in(config_of(prefix)) is not None:
        return ()
    # A user's own packages are that user's alone.
    own = bundles_cuda(prefix, {"PYTHONNOUSERSITE": "1"})
    brings = ("y" if own else "n") + ("x" if lacks_libdevice(prefix) else "")
    return (folder,) if brings == "n" else (folder, brings)


def lacks_libdevice(prefix: str | PathLike[str]) -> bool:
    """Tell whether an environment has TensorFlow or JAX, and no libdevice where they look for it.

    XLA looks in what XLA_FLAGS names, then beside the framework and in the environment; the
    wheels and conda-forge's packages put one there. The hooks look at the same places.
    """
    prefix = extended(os.fspath(prefix))
    return any(
        any(os.path.exists(f"{site}/{name}") for name in ("tensorflow", "jaxlib"))
        and not any(os.path.exists(f"{at}/nvvm/libdevice") for at in _libdevice_in(prefix, site))
        for site in sites_of(prefix)
    )


def libdevice_roots(prefix: str | PathLike[str]) -> Iterator[str]:
    """List the folders of an environment in which XLA looks for `nvvm/libdevice`."""
    for site in sites_of(prefix):
        yield from _libdevice_in(prefix, site)


def _libdevice_in(prefix: str | PathLike[str], site: str) -> Iterator[str]:
    """List where NVIDIA's wheels before 13 and since, and JAX's up to 0.4.30, have it.

    TensorFlow has looked in the environment itself, where conda's `cuda-nvcc` has it, since 2.19:
    its wheel is the first that names `../../../..` (openxla/xla#20288).
    """
    yield f"{site}/jaxlib/cuda"
    for name in names_of(f"{site}/nvidia"):
        if name == "cuda_nvcc" or (name.startswith("cu") and name[2:3].isdecimal()):
            yield f"{site}/nvidia/{name}"
    if not any(map(_is_old_tensorflow, names_of(site))):
        yield os.fspath(prefix)


def _is_old_tensorflow(name: str) -> bool:
    distribution, _, version = name.partition("-")
    release = version.split(".")[:2]
    return (
        distribution in ("tensorflow", "tensorflow_gpu")
        and all(map(str.isdecimal, release))
        and [int(number) for number in release] < [2, 19]
    )


def _in_site(site: str) -> Iterator[str]:
    """Find what wheels of NVIDIA's and of PyTorch put there.

    Others of NVIDIA's (`nccl`, `nvshmem`) are not part of a toolkit, and come with XGBoost, say.
    """
    nvidia = f"{site}/nvidia"
    folders = (name for name in names_of(nvidia) if name.startswith("cu"))
    candidates = [f"{nvidia}/{name}/lib" for name in folders]
    candidates.append(f"{site}/torch/lib/libtorch_cuda.so")
    yield from filter(os.path.exists, candidates)


def _in_records(prefix: str) -> Iterator[str]:
    folder = f"{prefix}/conda-meta"
    for name in names_of(folder):
        start = next((it for it in _CONDA_PACKAGES if name.startswith(it)), None)
        known = start and name[len(start) :][:1].isdecimal() and name.endswith(".json")
        if known and os.path.exists(f"{folder}/{name}"):
            yield f"{folder}/{name}"

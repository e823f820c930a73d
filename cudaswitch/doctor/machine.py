"""Rules about this machine: driver, GPUs, the loader's configuration, /usr/local/cuda, WSL."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from cudaswitch.activation import LIBRARY_FOLDERS
from cudaswitch.compat.architectures import architectures, given_up, gpu_name
from cudaswitch.compat.compilers import glibc_limit
from cudaswitch.compat.drivers import releases, required
from cudaswitch.compat.sonames import soname
from cudaswitch.compat.tables import cite
from cudaswitch.doctor.model import ConfLine, Facts, Found, Kit, LinesOut, Rule
from cudaswitch.doctor.parts import NVCC, Part, first_that_has, of_release, place, use_newest
from cudaswitch.doctor.releases import newest_served, runs
from cudaswitch.doctor.spelling import (
    changing,
    conda_install,
    install_command,
    newest_asked,
    put_first,
    use_command,
    without,
    word,
)
from cudaswitch.hostcompiler import majors_of_apt
from cudaswitch.resolver.machine import check_driver
from cudaswitch.versions import Request, Version

_WSL = "/usr/lib/wsl/lib"


def _driver_too_old(facts: Facts) -> Iterator[Found]:
    kit = facts.active
    if kit and kit.version:
        for block in check_driver(kit.version, facts.needs).blocks:
            evidence = f"`{kit.home}`: {block.text} ({block.source})"
            yield Found(evidence, _for_driver(facts, kit.version))


def _for_driver(facts: Facts, cuda: Version) -> str:
    """Bring a CUDA that the driver runs, installed or not; if there is none, another driver."""
    fits = [kit for kit in facts.installed if runs(facts, kit.version)]
    if fits:
        return use_command(facts, fits[-1].name)
    newest = newest_served(facts)
    return install_command(facts, Request(str(newest))) if newest else _newer_driver(facts, cuda)


def _framework_driver(facts: Facts) -> Iterator[Found]:
    for one in facts.resolution.frameworks:
        if not one.cuda:
            continue
        cuda = Version(one.cuda)
        for block in check_driver(cuda, facts.needs).blocks:
            other = f"; {facts.resolution.hint}" if facts.resolution.hint else ""
            evidence = f"{one.label}: {block.text} ({block.source}){other}"
            yield Found(evidence, _newer_driver(facts, cuda))
            return


def _newer_driver(facts: Facts, cuda: Version) -> str:
    """Say how to get a newer driver: WSL uses that of Windows, and Ubuntu has packages of it."""
    bound = required(cuda, facts.needs.os)
    least = bound.on(facts.needs.os) if bound else None
    # The first word must not be a command, such as `install`: people run what they are told.
    wanted = (
        f"update the NVIDIA driver to {least} or newer" if least else "update the NVIDIA driver"
    )
    if facts.wsl:
        return f"{wanted} in Windows"
    newest = max(majors_of_apt("nvidia-driver-"), default=0)
    fits = least is not None and newest >= least.major
    apt = changing(facts, "/usr", f"apt install nvidia-driver-{newest}")
    return apt if fits else wanted


def _gpu_too_new(facts: Facts) -> Iterator[Found]:
    """Code for an older GPU of its family may run; nvcc still refuses to compile for this one."""
    kit = facts.active
    if kit is None or kit.version is None:
        return
    for cc in facts.needs.cc:
        rows, gpu = architectures(kit.version), Version(cc)
        if rows and not given_up(kit.version, gpu) and not any(row.lists(gpu) for row in rows):
            text = f"does not know {gpu_name(gpu)}, which this machine has"
            evidence = f"CUDA {kit.version} in `{kit.home}` {text} ({cite(rows[-1])})"
            yield Found(evidence, _toolkit_for_gpu(facts, kit, gpu))
            return


def _gpu_too_old(facts: Facts) -> Iterator[Found]:
    kit = facts.active
    if kit is None or kit.version is None:
        return
    for cc in facts.needs.cc:
        if row := given_up(kit.version, Version(cc)):
            text = f"needs {row.min_cc} or newer, but this machine has {gpu_name(Version(cc))}"
            evidence = f"CUDA {kit.version} in `{kit.home}` {text} ({cite(row)})"
            yield Found(evidence, _toolkit_for_gpu(facts, kit, Version(cc)))
            return


def _toolkit_for_gpu(facts: Facts, instead: Kit, cc: Version) -> str:
    """Bring the newest CUDA that knows a GPU and that the driver runs, an installed one first.

    It has nvcc if the toolkit that it replaces (`instead`) has.
    """
    part = NVCC if place(instead.has, NVCC) else None

    def serves(version: Version) -> bool:
        return any(row.lists(cc) for row in architectures(version)) and runs(facts, version)

    return _newest(facts, serves, part) or "cudaswitch compat"


def _newest(facts: Facts, serves: Callable[[Version], bool], part: Part | None) -> str | None:
    """Bring the newest CUDA that serves, an installed one with that part first."""
    best = next(filter(serves, releases()), None)
    return use_newest(facts, part, serves) or (
        first_that_has(facts, str(best), part) if best else None
    )


def _library_too_new(facts: Facts) -> Iterator[Found]:
    kit, limit = facts.active, facts.glibc_limit
    if not kit or not limit or not place(kit.has, NVCC):
        return
    here, own = Version(str(facts.needs.glibc)), facts.resolution.cuda

    def serves(version: Version) -> bool:
        # The framework would find no library of another major, nor PyTorch build with its nvcc.
        suits = own is None or Version(own).major == version.major
        return suits and runs(facts, version) and not glibc_limit(version, here)

    evidence = f"{limit.text}; this machine has glibc {here} ({cite(limit)})"
    fix = _newest(facts, serves, NVCC) or f"{conda_install(facts)} gxx_linux-64"
    yield Found(f"`{kit.home}`: {evidence}", fix)


def _other_in_cache(facts: Facts) -> Iterator[Found]:
    """The toolkit that is active is not the one whose runtime programs get."""
    kit = facts.active
    if kit is None or kit.version is None or facts.needs.brings:
        return
    name = soname("cudart", kit.version) or ""
    found = facts.loads.get(name)
    # In a toolkit laid over another one, it is a link to that one's.
    own = [os.path.realpath(f"{kit.home}/{folder}/{name}") for folder in LIBRARY_FOLDERS]
    if found is None or "cache" not in found.why or found.path in own:
        return
    line = next((one for one in facts.conf if _holds(one, found.path)), None)
    folder = next((at for at in LIBRARY_FOLDERS if at in kit.has), None)
    if line and folder:
        home = facts.get("CUDA_HOME") if "CUDA_HOME" in facts.homes else kit.home
        fix = put_first("LD_LIBRARY_PATH", f"{home}/{folder}")
        evidence = f"`{line.file}`:{line.number} supplies `{found.path}`, not that of `{kit.home}`"
        yield Found(evidence, fix)


def _holds(line: ConfLine, path: str) -> bool:
    return any(one.real == path for one in line.folder.libraries)


def _conf_gone(facts: Facts) -> Iterator[Found]:
    for line in facts.conf:
        text = line.folder.text
        if not line.folder.exists and re.search(r"cuda|cudnn|nvidia", text, re.IGNORECASE):
            evidence = f"`{line.file}`:{line.number} names `{text}`, which is not there"
            yield Found(evidence, _out(line))


def _two_in_conf(facts: Facts) -> Iterator[Found]:
    """Two releases under one name: which one programs get is up to the order of the files."""
    sonames = (one.soname or "" for line in facts.conf for one in line.folder.libraries)
    for name in dict.fromkeys(it for it in sonames if it.startswith("libcudart")):
        first, *others = [line for line in facts.conf if _files_of(name, line)]
        for other in others:
            if _files_of(name, other) != _files_of(name, first):
                shown = f"`{first.file}`:{first.number}, `{other.file}`:{other.number}"
                yield Found(f"{shown} both have {name}", _out(other))


def _files_of(soname: str, line: ConfLine) -> set[str]:
    return {one.real for one in line.folder.libraries if one.soname == soname}


def _out(line: ConfLine) -> LinesOut:
    return LinesOut(line.file, {line.number: (line.text, None)}, loaders=True)


def _dangling(facts: Facts) -> Iterator[Found]:
    if facts.local_cuda:
        link, target = facts.local_cuda
        made = [f"ln -sfn {word(facts, at)} {link}" for at in facts.other_kits if at != link]
        fix = changing(facts, os.path.dirname(link), made[-1] if made else f"rm {link}")
        yield Found(f"`{link}` is a link to `{target}`, which is not there", fix)


def _smi_number(facts: Facts) -> Iterator[Found]:
    for origin, request in taken_from_smi(facts):
        evidence = f"{origin} asks for {request}, which `nvidia-smi` shows and nothing provides"
        fix = f"cudaswitch install {request}"
        if origin == "CUDASWITCH_VERSION":
            fix = newest_asked(facts, otherwise="")
        yield Found(evidence, fix)


def taken_from_smi(facts: Facts) -> Iterator[tuple[str, str]]:
    """Yield who asks for a version that nvidia-smi shows but is not installed, and the version."""
    shown = newest_served(facts)
    for origin, request in facts.wanted.items():
        if shown and request == str(shown) and not of_release(facts, request):
            yield origin, request


def _wsl_missing(facts: Facts) -> Iterator[Found]:
    if facts.wsl and facts.loads.get("libcuda.so.1") is None:
        fix = put_first("LD_LIBRARY_PATH", _WSL)
        yield Found(f"`{_WSL}/libcuda.so.1` is there, and the loader does not find it", fix)


def _wsl_other(facts: Facts) -> Iterator[Found]:
    found = facts.loads.get("libcuda.so.1")
    if not facts.wsl or found is None or found.path.startswith("/usr/lib/wsl/"):
        return
    fix = put_first("LD_LIBRARY_PATH", _WSL)
    yield Found(f"the loader finds `{found.path}` for libcuda.so.1", fix)


def _stub_loaded(facts: Facts) -> Iterator[Found]:
    found = facts.loads.get("libcuda.so.1")
    if found and "stubs" in Path(found.path).parts:
        links = [
            (one, library)
            for one in facts.ld_library_path
            for library in one.libraries
            if library.real == found.path and "stubs" not in Path(one.path).parts
        ]
        if links:
            folder, library = links[0]
            evidence = f"`{folder.path}/{library.name}` leads to the stub `{found.path}`"
            yield Found(evidence, without("LD_LIBRARY_PATH", folder))


RULES = (
    Rule(
        "CS050",
        "error",
        "The driver is too old for the toolkit",
        "what it compiles fails with `CUDA driver version is insufficient for CUDA runtime"
        " version` or cudaErrorUnsupportedPtxVersion",
        ("NVIDIA/nvbandwidth#40", "ComputationalRadiationPhysics/cuda_memtest#31"),
        _driver_too_old,
    ),
    Rule(
        "CS051",
        "error",
        "The driver is too old for the framework",
        "the framework brings or needs a CUDA that this driver cannot run",
        ("NVIDIA/nvbandwidth#61", "marimo-team/marimo#10929"),
        _framework_driver,
    ),
    Rule(
        "CS052",
        "error",
        "The GPU is newer than the toolkit",
        "nvcc refuses to compile for it: `Unsupported gpu architecture`; what it does compile may"
        " not run: `no kernel image is available`",
        ("facebookresearch/3detr#59", "NVIDIA/cub#741", "ingonyama-zk/icicle#226"),
        _gpu_too_new,
    ),
    Rule(
        "CS053",
        "error",
        "The GPU is too old for the toolkit",
        "each CUDA major gives the oldest GPUs up",
        ("facebookresearch/3detr#59", "ingonyama-zk/icicle#226"),
        _gpu_too_old,
    ),
    Rule(
        "CS054",
        "error",
        "/etc/ld.so.conf.d supplies another CUDA than the active one",
        "LD_LIBRARY_PATH has no libraries of the active toolkit, so programs get those that the"
        " loader's cache knows",
        ("NVIDIA/TransformerEngine#2373", "run-ai/genv#11"),
        _other_in_cache,
    ),
    Rule(
        "CS055",
        "warning",
        "/etc/ld.so.conf.d names a CUDA folder that is not there",
        "the toolkit was removed without its configuration",
        ("NVIDIA/libnvidia-container#117", "NVIDIA/nvidia-container-toolkit#1088"),
        _conf_gone,
    ),
    Rule(
        "CS056",
        "warning",
        "/etc/ld.so.conf.d has one CUDA library twice",
        "which of the two programs get is up to the order of the files",
        ("bitsandbytes-foundation/bitsandbytes#877", "NVIDIA/TransformerEngine#2373"),
        _two_in_conf,
    ),
    Rule(
        "CS057",
        "error",
        "/usr/local/cuda leads nowhere",
        "it is a link to a toolkit that was removed, and most builds look there",
        ("NVIDIA/libnvidia-container#117", "NVIDIA/nvidia-container-toolkit#1088"),
        _dangling,
    ),
    Rule(
        "CS058",
        "error",
        "nvidia-smi's number was taken for an installed toolkit",
        "`CUDA Version` of nvidia-smi, called `CUDA UMD Version` from driver 610 on, is the newest"
        " CUDA that the driver was made for; it says nothing about toolkits, and never changes"
        " when one is switched",
        (
            "phohenecker/switch-cuda#4",
            "bycloudai/SwapCudaVersionWindows#1",
            "devcontainers/features#1295",
        ),
        _smi_number,
    ),
    Rule(
        "CS059",
        "error",
        "WSL's libcuda is not found",
        "Windows' driver puts it into /usr/lib/wsl/lib, and the loader's cache lacks it",
        ("bitsandbytes-foundation/bitsandbytes#17", "NVIDIA/cuda-python#17", "microsoft/WSL#8587"),
        _wsl_missing,
    ),
    Rule(
        "CS060",
        "error",
        "Another libcuda goes before WSL's",
        "a Linux driver was installed in WSL; only Windows' driver in /usr/lib/wsl/lib reaches the"
        " GPU",
        ("microsoft/WSL#8587", "bitsandbytes-foundation/bitsandbytes#17"),
        _wsl_other,
    ),
    Rule(
        "CS061",
        "error",
        "A link makes the stub of libcuda the driver's library",
        "somebody linked libcuda.so.1 to the stub to get a build through; programs then fail with"
        ' "CUDA driver is a stub library"',
        ("NVIDIA/warp#219", "pytorch/tensorpipe#294"),
        _stub_loaded,
    ),
    Rule(
        "CS066",
        "warning",
        "The C library is newer than the toolkit's headers",
        "nvcc compiles nothing: `exception specification is incompatible`; conda's compilers bring"
        " an older C library",
        ("NVIDIA/cuda-samples#378", "NVIDIA/nccl#1700"),
        _library_too_new,
    ),
)

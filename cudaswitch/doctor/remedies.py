"""Which toolkit mends what is wrong, brought into the user's shell by one command."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

from cudaswitch.compat.compilers import Bounds
from cudaswitch.compat.drivers import releases
from cudaswitch.compat.frameworks import frameworks
from cudaswitch.doctor.cudnn import cudnn_to_build, cudnn_to_load, newer_cudnn
from cudaswitch.doctor.folders import is_listed
from cudaswitch.doctor.model import Facts
from cudaswitch.doctor.parts import (
    NVCC,
    NVVM,
    PTXAS,
    STUB,
    Part,
    first_that_has,
    first_to_load,
    having,
    header,
    library,
    place,
    use_newest,
)
from cudaswitch.doctor.releases import knowing, newest_run, release_with, runs, used_now
from cudaswitch.doctor.spelling import (
    auto_command,
    chain,
    changing,
    conda_install,
    pip,
    put_first,
    setting,
    spell,
    with_data_dir,
    with_flag,
    without,
    word,
)
from cudaswitch.hostcompiler import bringing
from cudaswitch.programs import conda_program
from cudaswitch.versions import Version

_STANDARDS = {"14": "9.0", "17": "11.0", "20": "12.0"}
"""The first CUDA whose nvcc takes a C++ standard, as CUDA's release notes have it."""
_OTHER_BUILDS = "cudaswitch compat torch"


def _clean(facts: Facts, otherwise: str) -> str:
    """Leave CUDA's folders out of LD_LIBRARY_PATH; if there are none, do something else."""
    cuda = [one for one in facts.ld_library_path if one.libraries]
    return spell(facts, without("LD_LIBRARY_PATH", *cuda), {}) if cuda else otherwise


def _mixed(facts: Facts, _: str, part: Part | None = None) -> str:
    """Leave CUDA out of LD_LIBRARY_PATH; if there is none, show where else it comes from."""
    return _clean(facts, f"cudaswitch which {part.name}" if part else "cudaswitch resolve")


def _auto(facts: Facts, _: str) -> str:
    return auto_command(facts)


def _build(facts: Facts, named: str, part: Part = NVCC) -> str:
    """Bring a toolkit to build with: of the framework's release, else the newest that fits.

    `named` is the release that a message names, or the one in use that lacks the part, or "".
    """
    if facts.resolution.cuda:
        return first_that_has(facts, Version(facts.resolution.cuda).minor, part)
    if named:
        return first_that_has(facts, named, part)
    taken = (frameworks()[one.name].takes for one in facts.resolution.frameworks)
    if takes := next(filter(None, taken), None):
        return _newest(facts, part, takes.accepts, takes.newest)
    return _newest(facts, part, lambda _: True, newest_run(facts))


def _own_nvcc(facts: Facts, _: str) -> str:
    """Bring the nvcc of the framework's release; no other will do."""
    return _build(facts, "") if facts.resolution.cuda else "cudaswitch resolve"


def _newest(facts: Facts, part: Part, serves: Callable[[Version], bool], otherwise: Version) -> str:
    """Use the newest toolkit here that serves and has a part; if none does, bring another."""
    return use_newest(facts, part, serves) or first_that_has(facts, str(otherwise), part)


def _numba(facts: Facts, _: str) -> str:
    """Bring a toolkit that Numba's CUDA target takes, or numba-cuda if that is there."""
    found = facts.resolution.frameworks
    cuda = next((one.cuda for one in found if one.name == "numba-cuda"), None)
    takes = frameworks()["numba"].takes
    if cuda or takes is None:
        return first_that_has(facts, cuda, NVVM) if cuda else _build(facts, "", NVVM)
    return _newest(facts, NVVM, takes.accepts, takes.newest)


def _jax(facts: Facts, cuda: str, part: Part | None = None) -> str:
    """Bring a toolkit to a JAX without CUDA wheels; otherwise keep toolkits from its wheels."""
    leans = any(it.name == "jax" and not it.bundled for it in facts.resolution.frameworks)
    return first_that_has(facts, cuda, part) if leans else _mixed(facts, "", part)


def _at_least(facts: Facts, least: str) -> str:
    """Bring a toolkit to build with, `least` or newer: the framework's, else an installed one."""
    own, first = facts.resolution.cuda, Version(least)
    if own and Version(own) >= first:
        return first_that_has(facts, Version(own).minor, NVCC)
    if not _may_build(facts, first):
        return _OTHER_BUILDS
    return _newest(facts, NVCC, lambda cuda: cuda >= first and _may_build(facts, cuda), first)


def _may_build(facts: Facts, cuda: Version) -> bool:
    """Tell whether PyTorch, if it is here, builds with an nvcc: not with one of another major."""
    found = facts.resolution.frameworks
    own = next((it.cuda for it in found if it.name == "torch"), None)
    return own is None or Version(own).major == cuda.major


def _standard(facts: Facts, year: str) -> str:
    """Bring an nvcc that knows a C++ standard."""
    return _at_least(facts, _STANDARDS[year]) if year in _STANDARDS else "cudaswitch compat"


def _nvtx(facts: Facts, _: str) -> str:
    """Bring a toolkit with libnvToolsExt, or lead the linker to that of the active one."""
    part = library("nvToolsExt", "so")
    if facts.active and place(facts.active.has, part):
        return _led_to(facts, "LIBRARY_PATH", part)
    return first_that_has(facts, release_with(facts, ("nvToolsExt", "1")), part)


def _host(facts: Facts, _: str) -> str:
    return _bringing_host(facts.accepts)


def _bringing_host(accepted: Bounds | None) -> str:
    return next(iter(bringing(accepted)), "g++ --version")


def _gxx(
    facts: Facts, majors: str, say: Callable[[Facts, str, str], str], name: str, start: str
) -> str:
    """Name the newest installed g++ up to a major, and from a second one; if none is, bring one."""
    most, least = (*map(int, majors.split()), 0)[:2]
    accepted = Bounds(least, most, None, None, "")
    fits = [major for major in facts.needs.gcc if accepted.accepts("gcc", major)]
    return say(facts, name, f"{start}{max(fits)}") if fits else _bringing_host(accepted)


def _flag(facts: Facts, words: str) -> str:
    """Add a flag to those of every call of nvcc, in the variable that is named first."""
    name, _, flag = words.partition(" ")
    return with_flag(facts, name, flag)


def _not_preloaded(facts: Facts, gone: str) -> str:
    """Leave one library out of LD_PRELOAD."""
    rest = [one for one in re.split("[ :]+", facts.get("LD_PRELOAD")) if one != gone]
    return setting(facts, "LD_PRELOAD", ":".join(rest))


def _gpus(facts: Facts, _: str) -> str:
    hidden = "CUDA_VISIBLE_DEVICES"
    return setting(facts, hidden, "") if hidden in facts.variables else "nvidia-smi -L"


def _pip(facts: Facts, words: str) -> str:
    return " ".join([pip(facts), *(word(facts, one) for one in words.split())])


def _beside(facts: Facts, words: str) -> str:
    """Bring a library that is not part of a toolkit.

    `words` are the name of conda's package, that of the wheel up to its `-cu12`, and the major of
    both, which is the number of the library.
    """
    package, wheel, major = words.split()
    if facts.environment and facts.environment.owner == "C":
        return f"{conda_install(facts)} {package}={major}"
    needs, in_use = facts.resolution, used_now(facts)
    cuda = Version(needs.cuda) if needs.cuda else in_use or releases()[0]
    return f"{pip(facts)} install {word(facts, f'{wheel}-cu{cuda.major}=={major}.*')}"


def _driver(facts: Facts, newest: str) -> str:
    """Bring what the driver was made for, or name the builds of a framework whose CUDA is newer."""
    in_use, most = used_now(facts), Version(newest) if newest else None

    def too_new(cuda: Version) -> bool:
        # A major alone does not tell whether the driver was made for it.
        return most is None or cuda > most or cuda == Version(str(most.major))

    own = [it for it in facts.resolution.frameworks if it.bundled and it.cuda]
    names = [it.name for it in own if too_new(Version(it.cuda or "0"))]
    if names and not (most and in_use and in_use > most):
        return f"cudaswitch compat {names[0]}"
    return first_that_has(facts, newest) if newest else "nvidia-smi"


def _gpu(facts: Facts, number: str) -> str:
    """Bring a CUDA that has code for a GPU: the framework's, else one that is installed.

    Otherwise the oldest, or the newest if the GPU was given up.
    """
    known, in_use = knowing(number), used_now(facts) or releases()[0]
    fits = [cuda for cuda in known if runs(facts, cuda)] or known
    own = Version(facts.resolution.cuda or "0")
    if any(cuda.starts_with(own) or own.starts_with(cuda) for cuda in fits):
        return first_that_has(facts, own.minor, NVCC)
    if not known:
        return "cudaswitch compat"
    fits = [cuda for cuda in fits if _may_build(facts, cuda)]
    if not fits:
        return _OTHER_BUILDS
    otherwise = fits[0] if in_use > known[0] else fits[-1]
    return _newest(facts, NVCC, lambda cuda: Version(cuda.minor) in fits, otherwise)


def _headers(facts: Facts, least: str, part: Part) -> str:
    """Let host compilers find a header of the toolkit that builds here, else bring one with it.

    `least` is the first CUDA with the header, "" if all have it.
    """
    own = facts.resolution.cuda
    builds = used_now(facts) or (Version(own) if own else None)
    if least and builds and builds < Version(least):
        return _at_least(facts, least)
    return _led_to(facts, "CPATH", part)


def _link(facts: Facts, _: str, part: Part) -> str:
    """Let the linker find a library of the toolkit that builds here, else bring one with it."""
    kit = facts.active
    in_lib = any(at.startswith("lib/") and kit and at in kit.has for at in part.files)
    if kit and in_lib and "lib64" not in kit.has:
        return changing(facts, kit.home, f"ln -s lib {word(facts, f'{kit.home}/lib64')}")
    return _led_to(facts, "LIBRARY_PATH", part)


def _target(facts: Facts, _: str, part: Part) -> str:
    """Bring a toolkit with a library to CMake; if the active one has it, the fault is another."""
    if facts.active and place(facts.active.has, part):
        return "cmake --version"
    return _build(facts, str(used_now(facts) or ""), part)


def _stubs(facts: Facts, _: str) -> str:
    """Let the linker find the stub of the driver's library, of whichever release."""
    others = [(kit.path, facts.parts[kit.path]) for kit in reversed(having(facts, STUB))]
    return _led_to(facts, "LIBRARY_PATH", STUB, *others)


def _led_to(facts: Facts, name: str, part: Part, *others: tuple[str, frozenset[str]]) -> str:
    """Put a toolkit's folder with a part on a list; if it is there, or none has it, bring one.

    The toolkit is the active one, or the first of `others`: folders, and what is in them.
    """
    own = [(facts.active.home, facts.active.has)] if facts.active else []
    for home, has in (*own, *others):
        if at := place(has, part):
            folder = f"{home}/{at.rpartition('/')[0]}"
            if not is_listed(folder, facts.get(name)):
                return spell(facts, put_first(name, folder), {})
            break
    return _build(facts, str(used_now(facts) or ""), part)


def _triton(facts: Facts, gpu: str) -> str:
    """Name the ptxas of the active toolkit, else of one that is here, else bring one.

    `gpu` is what it has to have code for, 120 for 12.0, or "". From 10.0 on, Triton since 3.6
    reads another variable (`get_ptxas` in triton/backends/nvidia/compiler.py).
    """
    active, in_use = facts.active, used_now(facts)
    known = knowing(gpu) if gpu else []
    known = [cuda for cuda in known if runs(facts, cuda)] or known
    here = reversed(having(facts, PTXAS))
    kits = [kit.path for kit in here if not gpu or Version(kit.version.minor) in known]
    if active and place(active.has, PTXAS) and (not gpu or in_use in known):
        kits.insert(0, active.home)
    if not kits:
        return _gpu(facts, gpu) if gpu else _build(facts, "", PTXAS)
    names = ["TRITON_PTXAS_PATH", *(["TRITON_PTXAS_BLACKWELL_PATH"] if int(gpu or 0) > 99 else [])]
    return chain(facts, *(setting(facts, name, f"{kits[0]}/bin/ptxas") for name in names))


def _unnumbered(facts: Facts, _: str, part: Part) -> str:
    """Bring a toolkit with all names of its libraries, if that does not shadow wheels."""
    if facts.needs.brings:
        return f"cudaswitch which {part.name}"
    return _build(facts, "", part)


def _libdevice(facts: Facts, _: str) -> str:
    if facts.libdevice and facts.active and facts.libdevice.startswith(f"{facts.active.home}/"):
        return with_data_dir(facts, facts.active.home)
    return _build(facts, "")


def _update(facts: Facts, _: str) -> str:
    return f"{conda_program(facts.variables)} update --all"


def _set(facts: Facts, words: str) -> str:
    name, _, value = words.partition(" ")
    return setting(facts, name, value)


SPELLED: dict[str, Callable[[Facts, str], str]] = {
    "ccbin": partial(_gxx, say=with_flag, name="NVCC_PREPEND_FLAGS", start="-ccbin=g++-"),
    "clean": _clean,
    "at-least": _at_least,
    "auto": _auto,
    "beside": _beside,
    "build": _build,
    "cudnn": cudnn_to_build,
    "cxx": partial(_gxx, say=setting, name="CXX", start="g++-"),
    "load-cudnn": cudnn_to_load,
    "newer-cudnn": newer_cudnn,
    "not-preloaded": _not_preloaded,
    "numba": _numba,
    "pip": _pip,
    "driver": _driver,
    "flag": _flag,
    "gpu": _gpu,
    "gpus": _gpus,
    "host": _host,
    "jax": _jax,
    "libdevice": _libdevice,
    "mixed": _mixed,
    "set": _set,
    "stubs": _stubs,
    "triton": _triton,
    "update": _update,
    "cudart": partial(first_that_has, part=library("cudart", "so")),
    "nvtx": _nvtx,
    "own-nvcc": _own_nvcc,
    "ptxas": partial(_build, part=PTXAS),
    "runtime-headers": partial(_build, part=header("cuda_fp16.h")),
    "standard": _standard,
    "nvcc": partial(first_that_has, part=NVCC),
}
"""What follows an `@` in the table of messages, for this shell and machine."""

FOR_PART: dict[str, Callable[[Facts, str, Part], str]] = {
    "headers": _headers,
    "jax": _jax,
    "link": _link,
    "mixed": _mixed,
    "target": _target,
    "unnumbered": _unnumbered,
    "use": first_to_load,
}
"""The same, if it depends on which part of a toolkit the message finds missing."""

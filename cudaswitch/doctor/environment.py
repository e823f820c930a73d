"""Rules about the active environment: what it brings, what it needs, and what it gets instead."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from cudaswitch.doctor.model import Facts, Found, Kit, Relist, Rule, Stranger
from cudaswitch.doctor.parts import NVCC, first_that_has, library, place
from cudaswitch.doctor.spelling import (
    auto_command,
    chain,
    changing,
    pip,
    setting,
    use_command,
    with_data_dir,
    without,
    word,
)
from cudaswitch.resolver import ResolvedFramework
from cudaswitch.resolver.names import together
from cudaswitch.resolver.releases import release_of
from cudaswitch.versions import Version

XLA = ("tensorflow", "jax")
"""Frameworks that compile with XLA, which looks for libdevice in places of its own."""


def _toolkit_first(facts: Facts) -> Iterator[Found]:
    """The loader's own order, followed for each library that the environment brings.

    What comes from elsewhere, such as the loader's cache, comes after the environment's own.
    """
    listed = {os.path.realpath(one.path) for one in facts.ld_library_path}
    ahead = [one for one in facts.strangers if _folder_of(one) in listed]
    if not ahead:
        return
    shown = ", ".join(
        f"`{Path(one.asked_by).name}` gets `{one.path}` for {one.name}" for one in ahead[:3]
    )
    at_fault = set(map(_folder_of, ahead))
    bad = [one for one in facts.ld_library_path if os.path.realpath(one.path) in at_fault]
    mend: str | Relist = without("LD_LIBRARY_PATH", *bad)
    if facts.applied and any(one.path.startswith(f"{facts.applied}/") for one in bad):
        mend = use_command(facts, _name_of(facts, facts.applied), " --libraries auto")
    yield Found(f"{shown} ({ahead[0].why})", mend)


def _folder_of(one: Stranger) -> str:
    return os.path.realpath(os.path.dirname(one.path))


def _name_of(facts: Facts, home: str) -> str:
    return next((kit.name for kit in facts.installed if kit.path == home), home)


def _auto(facts: Facts, one: ResolvedFramework) -> str:
    """Spell the command that gives a framework the toolkit that it needs to run."""
    return auto_command(facts, " --libraries always" if _left_alone(facts, one) else "")


def _lacks_runtime(facts: Facts) -> Iterator[Found]:
    for one in _leaning(facts):
        lacking = [name for name in one.loads if name in facts.loads and not facts.loads[name]]
        if lacking and not _found_by_home(facts, one):
            evidence = f"{one.label} needs CUDA {one.cuda}: no {lacking[0]} is found"
            if brings := _left_alone(facts, one):
                evidence += f", and LD_LIBRARY_PATH is left alone for `{brings}`"
            yield Found(evidence, _auto(facts, one))
            return


def _lacks_library(facts: Facts) -> Iterator[Found]:
    """A toolkit that was installed in part has the runtime, and not all the rest."""
    if any(_lacks_runtime(facts)):
        return
    wheels = {f"lib{part.component}" for part in facts.needs.carried if part.kind == "dist"}
    for one in _leaning(facts):
        lacking = [
            name
            for name in one.opens
            if facts.loads.get(name, True) is None
            and name.partition(".so")[0] not in wheels
            and not _below_home(facts, one, name)
        ]
        if lacking:
            evidence = f"{one.label} looks for {together(lacking)} in vain"
            yield Found(evidence, _auto(facts, one))
            return


def _left_alone(facts: Facts, one: ResolvedFramework) -> str | None:
    """Tell what keeps a toolkit out of LD_LIBRARY_PATH, if a framework needs it there."""
    return None if one.by_home else facts.needs.brings


def _found_by_home(facts: Facts, one: ResolvedFramework) -> bool:
    """Tell whether a framework looks in CUDA_HOME, and a toolkit of its major is there."""
    majors = [home.version.major for home in _homes(facts, one) if home.version]
    return one.cuda is not None and Version(one.cuda).major in majors


def _below_home(facts: Facts, one: ResolvedFramework, name: str) -> bool:
    """Tell whether a framework looks in CUDA_HOME, and a library is there."""
    stem, _, number = name.removeprefix("lib").partition(".so.")
    part = library(stem, f"so.{number}")
    return any(place(home.has, part) for home in _homes(facts, one))


def _homes(facts: Facts, one: ResolvedFramework) -> list[Kit]:
    """List the toolkits of the variables in which a framework looks for libraries."""
    homes = (facts.homes.get(name) for name in ("CUDA_HOME", "CUDA_PATH"))
    return [home for home in homes if home and one.by_home]


def _leaning(facts: Facts) -> list[ResolvedFramework]:
    """List the frameworks that need a toolkit because they bring none."""
    found = facts.resolution.frameworks
    return [one for one in found if one.cuda and not one.bundled]


def _lacks_cudnn(facts: Facts) -> Iterator[Found]:
    found = {
        name: at
        for name, at in facts.loads.items()
        if re.fullmatch(r"libcudnn\.so\.\d+", name) and at
    }
    for one in _leaning(facts):
        if one.cudnn is None or one.cudnn_inside:
            continue
        major = Version(one.cudnn).major
        name = f"libcudnn.so.{major}"
        evidence = f"{one.label} needs cuDNN {one.cudnn}"
        if found and name not in found:
            name, at = next(iter(found.items()))
            yield Found(f"{evidence}, but {name} was found (`{at.path}`)", _auto(facts, one))
            return
        # If the runtime is not found either, one command brings both.
        sought = name in facts.loads and not _brings_cudnn(facts, major)
        if sought and not found and not any(_lacks_runtime(facts)):
            yield Found(f"{evidence}: no {name} is found", _auto(facts, one))
            return


def _brings_cudnn(facts: Facts, major: int) -> bool:
    """Tell whether the environment has a cuDNN, which some frameworks load by its path."""
    cudnns = (part for part in facts.needs.carried if part.component == "cudnn")
    return any((here := release_of(part.version)) and here.major == major for part in cudnns)


def _other_nvcc(facts: Facts) -> Iterator[Found]:
    kit = facts.active
    if kit is None or kit.version is None or "bin/nvcc" not in kit.has:
        return
    for one in facts.resolution.frameworks:
        if one.cuda and Version(one.cuda).major != kit.version.major:
            evidence = f"{one.label} is for CUDA {one.cuda}, `{kit.home}/bin/nvcc` is {kit.version}"
            yield Found(evidence, first_that_has(facts, Version(one.cuda).minor, NVCC))
            return


def _two_majors(facts: Facts) -> Iterator[Found]:
    by_stem: dict[str, dict[str, str]] = {}
    for part in facts.needs.carried:
        match = re.fullmatch(r"(nvidia-[\w-]+)-cu(\d+)", part.name)
        if part.kind == "dist" and match:
            by_stem.setdefault(match[1], {})[match[2]] = part.name
    by_major: dict[str, list[str]] = {}
    # The folder has the stem's name, so wheels of different stems do not conflict.
    for names in (names for names in by_stem.values() if len(names) > 1):
        for major, name in names.items():
            by_major.setdefault(major, []).append(name)
    if by_major:
        wanted = str(Version(facts.resolution.cuda).major) if facts.resolution.cuda else ""
        keep = wanted if wanted in by_major else max(by_major, key=int)
        others = [name for major, names in by_major.items() if major != keep for name in names]
        shown = "; ".join(f"CUDA {major}: {', '.join(by_major[major])}" for major in by_major)
        # Uninstalling the others removes shared files; reinstalling the rest restores them.
        pinned = {part.name: part.version for part in facts.needs.carried}
        again = " ".join(f"{name}=={pinned[name]}" for name in by_major[keep])
        uninstall = f"{pip(facts)} uninstall -y {' '.join(others)}"
        install = f"{pip(facts)} install --force-reinstall --no-deps {again}"
        yield Found(shown, chain(facts, uninstall, install))


def _wrong_cudnn_wheel(facts: Facts) -> Iterator[Found]:
    for one in facts.resolution.frameworks:
        for part in facts.needs.carried:
            here = release_of(part.version)
            if part.component != "cudnn" or not one.cudnn or not one.bundled or here is None:
                continue
            wanted = Version(one.cudnn)
            other_cuda = not part.cuda or Version(part.cuda).major != Version(one.cuda or "").major
            if part.kind != "dist" or other_cuda:
                continue
            if here.major != wanted.major or Version(here.minor) < Version(wanted.minor):
                evidence = f"{one.label} needs cuDNN {one.cudnn}"
                spec = word(facts, f"{part.name}=={wanted}.*")
                fix = f"{pip(facts)} install --no-deps {spec}"
                yield Found(f"{evidence}, {part.name} is {part.version}", fix)
                return


def _compiles_with_xla(facts: Facts) -> bool:
    return any(one.name in XLA and one.cuda for one in facts.resolution.frameworks)


def _no_libdevice(facts: Facts) -> Iterator[Found]:
    if _compiles_with_xla(facts) and not facts.xla_sees and facts.libdevice:
        home = re.sub(r"/nvvm/libdevice/[^/]+$", "", facts.libdevice)
        evidence = f"libdevice is `{facts.libdevice}`, where XLA does not look"
        if home != facts.libdevice:
            yield Found(evidence, with_data_dir(facts, home))
            return
        # conda's cudatoolkit keeps it in `lib`, where no option of XLA's can point.
        prefix = str(Path(home).parent.parent)
        there = word(facts, f"{prefix}/nvvm/libdevice/")
        commands = f"mkdir -p {there}", f"cp {word(facts, home)} {there}"
        copy = [changing(facts, prefix, command) for command in commands]
        yield Found(evidence, chain(facts, *copy, with_data_dir(facts, prefix)))


def _flags_lead_nowhere(facts: Facts) -> Iterator[Found]:
    if facts.xla_data:
        # No option of XLA's can point to what conda's cudatoolkit has in `lib`.
        home, in_a_toolkit, _ = (facts.libdevice or "").partition("/nvvm/libdevice/")
        evidence = f"XLA_FLAGS names `{facts.xla_data}`, which has no nvvm/libdevice"
        yield Found(evidence, with_data_dir(facts, home if in_a_toolkit else ""))


def _cuda_dir(facts: Facts) -> Iterator[Found]:
    if facts.get("CUDA_DIR") and _compiles_with_xla(facts):
        yield Found(f"CUDA_DIR is `{facts.get('CUDA_DIR')}`", setting(facts, "CUDA_DIR", ""))


def _nvcc_in_wheels(facts: Facts) -> Iterator[Found]:
    own, homes = facts.needs.compiler, (facts.get("CUDA_HOME"), facts.get("CUDA_PATH"))
    if own and not own.builds and not facts.nvcc and not any(homes):
        evidence = f"`{own.home}/bin/nvcc` is there, and nothing leads to it"
        cuda = Version(facts.resolution.cuda or own.cuda)
        yield Found(evidence, first_that_has(facts, cuda.minor, NVCC))


RULES = (
    Rule(
        "CS040",
        "error",
        "A toolkit goes before the libraries that the environment brings",
        "wheels find their neighbours by RUNPATH, which LD_LIBRARY_PATH goes before; another"
        " release lacks what they need: `undefined symbol: __nvJitLink…`",
        (
            "pytorch/pytorch#152783",
            "infiniflow/ragflow#4466",
            "jax-ml/jax#28929",
            "jax-ml/jax#17497",
        ),
        _toolkit_first,
    ),
    Rule(
        "CS041",
        "error",
        "The CUDA runtime that a framework needs is not found",
        "the framework does not bring CUDA with it, and the loader is led to none: no toolkit for"
        " it is active, or LD_LIBRARY_PATH is left alone since the environment brings CUDA for"
        " others",
        ("tensorflow/tensorflow#60854", "PaddlePaddle/PaddleOCR#9049", "talmolab/sleap#1496"),
        _lacks_runtime,
    ),
    Rule(
        "CS042",
        "error",
        "The cuDNN that a framework needs is not found",
        "libcudnn.so.7, .8 and .9 do not replace each other: the framework looks for one by name",
        ("tensorflow/tensorflow#45200", "SYSTRAN/faster-whisper#516", "bmaltais/kohya_ss#1096"),
        _lacks_cudnn,
    ),
    Rule(
        "CS043",
        "warning",
        "nvcc and the framework are of different CUDA majors",
        "what is compiled here loads another CUDA than the framework; PyTorch refuses to compile:"
        " `The detected CUDA version mismatches the version that was used to compile PyTorch`",
        ("pytorch/pytorch#73047", "boschresearch/DroidCalib#5", "icip-cas/AutoAlign#25"),
        _other_nvcc,
    ),
    Rule(
        "CS044",
        "error",
        "CUDA wheels of two majors in one environment",
        "they write the same files, such as nvidia/cudnn/lib/libcudnn.so.8: what was installed"
        " last is what is there",
        ("SYSTRAN/faster-whisper#153", "cupy/cupy#7560"),
        _two_majors,
    ),
    Rule(
        "CS045",
        "error",
        "The cuDNN wheel is none that the framework takes",
        "pip changes one package for another's sake and leaves the framework with a cuDNN of"
        " another major, which it cannot load, or of an older minor, which it refuses",
        ("pytorch/pytorch#80637", "SYSTRAN/faster-whisper#1320"),
        _wrong_cudnn_wheel,
    ),
    Rule(
        "CS046",
        "error",
        "libdevice is not where XLA looks for it",
        "XLA looks in the folder of XLA_FLAGS, /usr/local/cuda, NVIDIA's wheels and, in TensorFlow"
        " since 2.19, the environment",
        ("tensorflow/tensorflow#58681", "jax-ml/jax#989", "jax-ml/jax#4452"),
        _no_libdevice,
    ),
    Rule(
        "CS047",
        "error",
        "XLA_FLAGS names a folder without libdevice",
        "`--xla_gpu_cuda_data_dir` is the toolkit, the folder above nvvm/libdevice",
        ("tensorflow/tensorflow#58681", "tensorflow/tensorflow#56927"),
        _flags_lead_nowhere,
    ),
    Rule(
        "CS048",
        "warning",
        "CUDA_DIR is set, and nothing reads it",
        "`${CUDA_DIR}` in XLA's message is no variable; XLA_FLAGS is",
        ("tensorflow/tensorflow#57055", "jax-ml/jax#4452"),
        _cuda_dir,
    ),
    Rule(
        "CS049",
        "warning",
        "The nvcc in the environment's wheels builds nothing",
        "nothing leads to site-packages/nvidia, and wheels have no lib64 and no libcudart.so to"
        " link with; a toolkit has all",
        ("marimo-team/marimo#10929", "pytorch/pytorch#197483"),
        _nvcc_in_wheels,
    ),
    Rule(
        "CS086",
        "error",
        "A library that a framework takes from a toolkit is not found",
        "no toolkit for it is active, or one that was installed or adopted in part: its CUDA"
        " runtime is there, and what the framework opens by that name is not",
        (
            "RVC-Boss/GPT-SoVITS#727",
            "jax-ml/jax#29843",
            "hacksider/Deep-Live-Cam#294",
        ),
        _lacks_library,
    ),
)

"""Rules about what compiles CUDA here: CUDA_HOME and its kin, nvcc, ptxas, the host compiler."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from cudaswitch.activation import HOMES, chosen_compiler
from cudaswitch.compat.tables import cite
from cudaswitch.doctor.folders import FLAG_VARIABLES, TARGETS, is_listed, kit_at
from cudaswitch.doctor.model import Facts, Found, Kit, Relist, Rule
from cudaswitch.doctor.parts import NVCC, first_that_has
from cudaswitch.doctor.spelling import (
    changing,
    install_command,
    off_command,
    put_first,
    setting,
    with_flag,
    word,
)
from cudaswitch.hostcompiler import bringing, compiler_named, without_compiler
from cudaswitch.versions import Request, Version

_HOSTS = ("CUDAHOSTCXX", "NVCC_CCBIN", *FLAG_VARIABLES)
"""Variables that name the host compiler."""
_DEBIAN = ("/usr/bin/nvcc", "/usr/lib/nvidia-cuda-toolkit/bin/nvcc")


def _disagree(facts: Facts) -> Iterator[Found]:
    first = next((name for name in HOMES if name in facts.homes), None)
    for name in HOMES:
        if first and name in facts.homes and facts.homes[name].home != facts.homes[first].home:
            evidence = f"{first} is `{facts.get(first)}`, {name} is `{facts.get(name)}`"
            yield Found(evidence, setting(facts, name, facts.get(first)))


def _is_list(text: str) -> bool:
    return ":" in text


def _lists(facts: Facts) -> Iterator[Found]:
    others = {facts.homes[name].home for name in (*HOMES, "CUDACXX") if name in facts.homes}
    for name in HOMES:
        value = facts.get(name)
        if _is_list(value):
            parts = [part for part in value.split(":") if part]
            there = [part for part in parts if f"{name}:{part}" in facts.homes]
            meant = [part for part in there if facts.homes[f"{name}:{part}"].home in others]
            keep = (meant or there or parts or [""])[-1]
            yield Found(f"{name} is `{value}`", setting(facts, name, keep))


def _left_here(facts: Facts) -> list[str]:
    """List the variables that still name this shell's toolkit, if that is gone."""
    home = facts.applied
    if home is None or os.path.isdir(home):
        return []
    held = {**dict.fromkeys(HOMES, home), "CUDACXX": f"{home}/bin/nvcc"}
    return [name for name, value in held.items() if facts.get(name) == value]


def _nowhere(facts: Facts) -> Iterator[Found]:
    left = _left_here(facts)
    if left:
        evidence = f"the toolkit of this shell is gone: {', '.join(left)} of `{facts.applied}`"
        yield Found(evidence, off_command(facts))
    for name in HOMES:
        value = "" if name in left else facts.get(name)
        if value and not _is_list(value) and name not in facts.homes and not _inside(value):
            yield Found(f"{name} is `{value}`", setting(facts, name, ""))


def _inside(value: str) -> str | None:
    """Return the toolkit of a value that names its bin folder or its nvcc instead."""
    path = value.rstrip("/")
    for end in ("/bin/nvcc", "/bin", "/lib64"):
        if path.endswith(end):
            home = path.removesuffix(end)
            return home if kit_at(home) else None
    return None


def _names_inside(facts: Facts) -> Iterator[Found]:
    for name in HOMES:
        home = _inside(facts.get(name))
        if home and name not in facts.homes:
            yield Found(f"{name} is `{facts.get(name)}`", setting(facts, name, home))


def _only_path(facts: Facts) -> Iterator[Found]:
    if "CUDA_PATH" in facts.homes and not facts.get("CUDA_HOME"):
        fix = setting(facts, "CUDA_HOME", facts.get("CUDA_PATH"))
        yield Found(f"CUDA_PATH is `{facts.get('CUDA_PATH')}`, CUDA_HOME is not set", fix)


def _other_nvcc(facts: Facts) -> Iterator[Found]:
    home = facts.homes.get("CUDA_HOME")
    if home and facts.nvcc and "bin/nvcc" in home.has and not _is_debian(facts):
        first = facts.nvcc[0]
        if not _is_nvcc_of(home, first.real, first.kit):
            evidence = f"CUDA_HOME is `{facts.get('CUDA_HOME')}`, `nvcc` is `{first.path}`"
            yield Found(evidence, _found_first(facts))


def _is_nvcc_of(home: Kit, nvcc: str, kit: Kit) -> bool:
    """Tell whether an nvcc in `kit` is that of `home`, which may be laid over `kit` by links."""
    own = f"{home.home}/bin/nvcc"
    return kit.home == home.home or os.path.realpath(nvcc) == os.path.realpath(own)


def _found_first(facts: Facts) -> str | Relist:
    """Let the nvcc of CUDA_HOME be the first that PATH leads to."""
    return facts.closed[1] if facts.closed else put_first("PATH", f"{facts.get('CUDA_HOME')}/bin")


def _is_debian(facts: Facts) -> bool:
    return bool(facts.nvcc) and facts.nvcc[0].real in _DEBIAN


def _debian(facts: Facts) -> Iterator[Found]:
    if not _is_debian(facts):
        return
    first = facts.nvcc[0]
    home = facts.homes.get("CUDA_HOME")
    others = [tool.path for tool in facts.nvcc[1:] if tool.kit.home != first.kit.home]
    better = ""
    if home and "bin/nvcc" in home.has and not _is_nvcc_of(home, first.real, first.kit):
        better = home.home
    elif others:
        better = str(Path(others[0]).parent.parent)
    if better:
        evidence = f"`nvcc` is `{first.path}` of Debian's package, before `{better}/bin/nvcc`"
        yield Found(evidence, put_first("PATH", f"{better}/bin"))


def _no_nvcc(facts: Facts) -> Iterator[Found]:
    home = facts.homes.get("CUDA_HOME")
    if home and "bin/nvcc" in home.has and not facts.nvcc and not facts.get("CUDACXX"):
        evidence = f"`{home.home}/bin/nvcc` is there, and PATH has none"
        yield Found(facts.closed[0] if facts.closed else evidence, _found_first(facts))


def _compiler_variable(facts: Facts) -> Iterator[Found]:
    value, home = facts.get("CUDACXX"), facts.homes.get("CUDA_HOME")
    if not value or "CUDACXX" in _left_here(facts):
        return
    if "CUDACXX" in facts.hosts:
        nvcc = f"{facts.get('CUDA_HOME')}/bin/nvcc" if home and "bin/nvcc" in home.has else ""
        yield Found(
            f"CUDACXX is `{value}`, which is not a program", setting(facts, "CUDACXX", nvcc)
        )
    elif home and "bin/nvcc" in home.has and os.path.isabs(value):
        own = facts.homes.get("CUDACXX")
        if own and not _is_nvcc_of(home, value, own):
            nvcc = f"{facts.get('CUDA_HOME')}/bin/nvcc"
            evidence = f"CUDACXX is `{value}`, CUDA_HOME is `{facts.get('CUDA_HOME')}`"
            yield Found(evidence, setting(facts, "CUDACXX", nvcc))


def _none_of_its_own(facts: Facts) -> Iterator[Found]:
    """Without another release's nvcc on PATH nothing is wrong: programs that run need none."""
    home = facts.homes.get("CUDA_HOME")
    other = facts.nvcc[0] if facts.nvcc and not facts.get("CUDACXX") else None
    if not home or not home.version or "bin/nvcc" in home.has:
        return
    if not other or "bin/nvcc" not in other.kit.has:
        return
    # An nvcc in /usr/local/bin may be a wrapper of a toolkit elsewhere: its version is unknown.
    release = other.kit.version.minor if other.kit.version else "another toolkit"
    if release != home.version.minor:
        evidence = f"`{home.home}` of {home.version.minor} has none, `nvcc` is `{other.path}`"
        evidence += f" of {release}"
        wanted, own = home.version, facts.resolution.cuda
        # PyTorch refuses to build with an nvcc of another major than its own.
        if own and Version(own).major != wanted.major:
            evidence += f"; the environment is for CUDA {own}"
            wanted = Version(own)
        yield Found(evidence, first_that_has(facts, wanted.minor, NVCC))


def _other_ptxas(facts: Facts) -> Iterator[Found]:
    # Putting the other nvcc's folder first would hide the toolkit that is meant.
    if any(_none_of_its_own(facts)):
        return
    if facts.nvcc and facts.ptxas and facts.ptxas[0].kit.home != facts.nvcc[0].kit.home:
        nvcc, ptxas = facts.nvcc[0], facts.ptxas[0]
        if "bin/ptxas" in nvcc.kit.has:
            folder = os.path.dirname(nvcc.path)
            # A link to nvcc, as in /usr/local/bin, has no ptxas beside it.
            beside = any(one.path == folder and "ptxas" in one.tools for one in facts.path)
            evidence = f"`nvcc` is `{nvcc.path}`, `ptxas` is `{ptxas.path}`"
            yield Found(evidence, put_first("PATH", folder if beside else f"{nvcc.kit.home}/bin"))


def _no_lib64(facts: Facts) -> Iterator[Found]:
    home = facts.homes.get("CUDA_HOME")
    if home and {"bin/nvcc", "lib/libcudart.so"} <= home.has and "lib64" not in home.has:
        yield Found(
            f"`{home.home}` has `lib` and no `lib64`",
            changing(facts, home.home, f"ln -s lib {word(facts, f'{home.home}/lib64')}"),
        )


def _headers_below_targets(facts: Facts) -> Iterator[Found]:
    home, name = facts.homes.get("CUDA_HOME"), "cuda_runtime_api.h"
    if home is None or f"include/{name}" in home.has:
        return
    places = (f"{target}/include" for target in TARGETS)
    if at := next((at for at in places if f"{at}/{name}" in home.has), None):
        folder = f"{home.home}/{at}"
        if not is_listed(folder, facts.get("CPATH")):
            yield Found(f"the headers are in `{folder}`", put_first("CPATH", folder))


def _no_host(facts: Facts) -> Iterator[Found]:
    # PyTorch's builds hand CC to nvcc as -ccbin.
    torch = any(it.name == "torch" for it in facts.resolution.frameworks)
    for name in (*_HOSTS, "CC") if torch else _HOSTS:
        if name in facts.hosts:
            evidence = f"{name} names `{facts.hosts[name]}`, which is not a program"
            flags = facts.get(name) if name in FLAG_VARIABLES else ""
            yield Found(evidence, setting(facts, name, without_compiler(flags, facts.hosts[name])))


def _names_host(facts: Facts, name: str) -> bool:
    value = facts.get(name)
    return bool(compiler_named(value) if name in FLAG_VARIABLES else value)


def _host_too_new(facts: Facts) -> Iterator[Found]:
    kit = facts.active
    chosen = any(_names_host(facts, name) for name in _HOSTS)
    if not kit or not kit.version or chosen or "bin/nvcc" not in kit.has:
        return
    accepted, found = facts.accepts, facts.needs.gcc
    if accepted is None or accepted.gcc_max is None or not found:
        return
    if found[0] <= accepted.gcc_max:
        return
    fitting = [major for major in found if accepted.accepts("gcc", major)]
    evidence = f"nvcc {kit.version.minor} takes gcc {accepted.range_of('gcc')}"
    fix = " or ".join(bringing(accepted)) or f"name a gcc {accepted.gcc_max} in NVCC_PREPEND_FLAGS"
    if fitting:
        fix = with_flag(facts, "NVCC_PREPEND_FLAGS", f"-ccbin=g++-{max(fitting)}")
    # `use` names one by itself, unless an environment or the user has named one.
    by_use = not chosen_compiler(facts.variables) and not facts.get("CONDA_PREFIX")
    if fitting and by_use and any(ours.path == kit.home for ours in facts.installed):
        fix = install_command(facts, Request(str(kit.version)))
    yield Found(f"{evidence}, the default is {found[0]} ({cite(accepted)})", fix)


RULES = (
    Rule(
        "CS020",
        "error",
        "CUDA_HOME, CUDA_PATH and CUDAToolkit_ROOT disagree",
        "some build tools read one of them, some another: one build then mixes two toolkits",
        ("Jimver/cuda-toolkit#374", "Cytnx-dev/Cytnx#949"),
        _disagree,
    ),
    Rule(
        "CS021",
        "error",
        "A list where one toolkit belongs",
        "CUDA_HOME and its kin hold one folder; a list with colons is taken for its name",
        ("numba/numba#9216", "NVIDIA/MinkowskiEngine#12"),
        _lists,
    ),
    Rule(
        "CS022",
        "error",
        "CUDA_HOME names no toolkit",
        "builds look there first and nowhere else",
        ("conda/conda#7757", "NVIDIA/nvidia-container-toolkit#1088"),
        _nowhere,
    ),
    Rule(
        "CS023",
        "error",
        "CUDA_HOME names something inside the toolkit",
        "it is the folder above `bin`, not `bin` and not nvcc itself",
        ("pytorch/pytorch#172394", "Dao-AILab/flash-attention#447"),
        _names_inside,
    ),
    Rule(
        "CS024",
        "warning",
        "CUDA_PATH is set and CUDA_HOME is not",
        "PyTorch's and most Python builds read CUDA_HOME first, CMake reads neither",
        ("Jimver/cuda-toolkit#374", "conda/conda#7757"),
        _only_path,
    ),
    Rule(
        "CS025",
        "error",
        "The nvcc on PATH is not that of CUDA_HOME",
        "CMake compiles with the one on PATH, PyTorch extensions with that of CUDA_HOME",
        ("prefix-dev/pixi#2145", "pytorch/pytorch#73047"),
        _other_nvcc,
    ),
    Rule(
        "CS026",
        "error",
        "Debian's nvcc is found first",
        "the package nvidia-cuda-toolkit puts an nvcc of its own release into /usr/bin, and CMake"
        " takes it",
        ("ggml-org/llama.cpp#1832", "vllm-project/vllm#4313"),
        _debian,
    ),
    Rule(
        "CS027",
        "warning",
        "CUDA_HOME has an nvcc that PATH does not lead to",
        "CMake looks at CUDACXX and PATH, not at CUDA_HOME: `No CMAKE_CUDA_COMPILER could be"
        " found`",
        ("Cytnx-dev/Cytnx#949", "Dao-AILab/flash-attention#509"),
        _no_nvcc,
    ),
    Rule(
        "CS028",
        "error",
        "CUDACXX is not the nvcc of CUDA_HOME",
        "CMake takes CUDACXX before all else",
        ("ggml-org/llama.cpp#1832", "pytorch/pytorch#172394"),
        _compiler_variable,
    ),
    Rule(
        "CS029",
        "error",
        "ptxas is found in another toolkit than nvcc",
        "an older ptxas refuses what a newer compiler writes: `Unsupported .version`",
        ("tinygrad/tinygrad#7729", "PRONTOLab/GB-25#7"),
        _other_ptxas,
    ),
    Rule(
        "CS030",
        "warning",
        "The toolkit has `lib` and no `lib64`",
        "PyTorch's extension builds link against lib64: `cannot find -lcudart`",
        ("ar4/deepwave#51",),
        _no_lib64,
    ),
    Rule(
        "CS031",
        "warning",
        "The toolkit's headers are below `targets`",
        "a host compiler does not look there: `cuda_runtime_api.h: No such file or directory`",
        ("pytorch/pytorch#89533", "conda-forge/pytorch-cpu-feedstock#487"),
        _headers_below_targets,
    ),
    Rule(
        "CS032",
        "error",
        "The host compiler that is named is not there",
        "nvcc starts what CUDAHOSTCXX, NVCC_CCBIN, `-ccbin` or, for PyTorch, CC name, and fails",
        ("conda-forge/nvcc-feedstock#56", "3dem/relion#1010"),
        _no_host,
    ),
    Rule(
        "CS033",
        "error",
        "The default gcc is too new for this toolkit",
        "nvcc refuses it: `unsupported GNU version`",
        ("3dem/relion#1010", "Turoad/lanedet#77", "Eyeline-Labs/FlashDepth#2"),
        _host_too_new,
    ),
    Rule(
        "CS034",
        "warning",
        "The toolkit has no nvcc, and PATH leads to one of another release",
        "CMake then compiles with that one and takes headers or libraries from CUDA_HOME; to run"
        " programs, none is needed",
        ("traveller59/spconv#65",),
        _none_of_its_own,
    ),
)

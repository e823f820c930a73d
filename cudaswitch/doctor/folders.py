"""What is in the folders that lists and variables name: toolkits, libraries, tools."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from string import Template

from cudaswitch.activation import CUPTI, HOMES, LIBRARY_FOLDERS
from cudaswitch.binaries import read_elf
from cudaswitch.bundled import libdevice_roots
from cudaswitch.doctor.model import ConfLine, Folder, Kit, Library, Tool
from cudaswitch.elf import ElfError
from cudaswitch.environments import Environment
from cudaswitch.errors import CudaswitchError
from cudaswitch.hostcompiler import compiler_named
from cudaswitch.programs import find_program, is_program
from cudaswitch.regular import names_of, read_regular
from cudaswitch.sources.system import resolved, version_of
from cudaswitch.tools import is_shim, is_toolkit_tool

TARGETS = ("targets/x86_64-linux", "targets/sbsa-linux")
"""Where a toolkit has the part that is for one kind of machine."""
STUBS = ("lib64/stubs", "lib/stubs", *(f"{target}/lib/stubs" for target in TARGETS))
"""Where a toolkit has the stub that stands in for the driver's library when linking."""
LIBNVVM = "nvvm/lib64/libnvvm.so.4"
"""libNVVM as Numba looks for it, of CUDA 11 to 13."""
_PROBED = (
    *("bin/nvcc", "bin/ptxas", LIBNVVM, *LIBRARY_FOLDERS),
    *(f"{folder}/libcuda.so" for folder in STUBS),
)
"""Files and folders of a toolkit that rules ask for, beside what is in the next ones."""
INCLUDES = tuple(
    f"{above}include{below}"
    for below in ("", "/cccl")
    for above in ("", *(f"{target}/" for target in TARGETS))
)
"""Where a toolkit has headers; from 13 on those of CCCL are a folder deeper."""
_LISTED = (*LIBRARY_FOLDERS, CUPTI, *INCLUDES)
"""Folders of a toolkit whose whole content is listed."""

_COMPILER_VARIABLES = ("CC", "CUDACXX", "CUDAHOSTCXX", "NVCC_CCBIN")
FLAG_VARIABLES = ("NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS")
"""What nvcc adds to the flags of each call."""
_LIBRARY = re.compile(
    r"lib(?:cuda|cudart|cublas|cublasLt|cudnn\w*|cufft\w*|curand|cusolver\w*|cusparse\w*|cupti"
    r"|nvJitLink|nvrtc|nvrtc-builtins|nvidia-ml|nvToolsExt|npp\w+|nvjpeg)\.so(?:\.\d+)*"
)
_LIBRARY_FOLDER = re.compile(
    r"/(?:targets/[^/]+/lib|lib64|lib|extras/CUPTI/lib64)(?:/stubs)?$|/compat$"
)
_LIBDEVICE = "nvvm/libdevice/libdevice.10.bc"
DATA_DIR = re.compile(r"""\s*--xla_gpu_cuda_data_dir=("[^"]+"|'[^']+'|\S+)""")
_LONGEST_SCRIPT = 4096
_LOADER_FILES = ("/etc/ld.so.conf", "/etc/ld.so.conf.d")
_CONF_LIMIT = 1 << 20
"""Bytes of each of these files."""


@lru_cache
def kit_at(path: str, *, runs: bool = False) -> Kit | None:
    """Look at a folder as a toolkit; None if it is none. Only an nvcc on PATH is run (`runs`)."""
    try:
        home = resolved(Path(path))
    except CudaswitchError:
        return None
    version = None
    with suppress(CudaswitchError):
        version = version_of(home, runs=runs)
    return Kit(str(home), version, parts_of(str(home)))


def parts_of(home: str) -> frozenset[str]:
    """List what rules and messages ask about in a toolkit: tools, libraries, headers, by path."""
    found = {at for at in _PROBED if os.path.exists(f"{home}/{at}")}
    for folder in _LISTED:
        found.update(f"{folder}/{name}" for name in names_of(f"{home}/{folder}"))
    return frozenset(found)


def forget() -> None:
    """Look at everything anew."""
    kit_at.cache_clear()
    folder_at.cache_clear()


def homes(variables: Mapping[str, str]) -> Iterator[tuple[str, Kit]]:
    """Yield the toolkits that variables name; for a list each under `NAME:folder`."""
    for name in HOMES:
        value = variables.get(name, "")
        parts = {f"{name}:{at}": at for at in value.split(":")} if ":" in value else {name: value}
        for key, part in parts.items():
            if part.startswith("/") and (kit := kit_at(part)):
                yield key, kit
    compiler = variables.get("CUDACXX", "")
    if compiler.startswith("/") and (kit := kit_at(str(Path(compiler).parent.parent))):
        yield "CUDACXX", kit


def tools(name: str, variables: Mapping[str, str]) -> Iterator[Tool]:
    """Yield the programs of that name on PATH, except shims, which follow what is asked for."""
    seen = set()
    for folder in variables.get("PATH", "").split(os.pathsep):
        path = Path(folder, name)
        if not folder or not is_program(path) or is_shim(path):
            continue
        real = os.path.realpath(_behind(path, name, variables))
        if real not in seen:
            seen.add(real)
            at = str(Path(real).parent.parent)
            kit = kit_at(at, runs=name == "nvcc") or Kit(at, None, frozenset())
            yield Tool(str(path), real, kit)


def _behind(path: Path, name: str, variables: Mapping[str, str]) -> Path:
    """Return the program of that name that a script runs in its place, else the script itself.

    Debian's nvcc is such a script, conda's nvcc_linux-64 has one, and people write their own.
    """
    with suppress(OSError):
        text = read_regular(path, _LONGEST_SCRIPT)
        for line in text.decode("utf-8", "replace").splitlines() if text[:2] == b"#!" else ():
            for word in line.partition("#")[0].replace('"', " ").split():
                named = Template(word).safe_substitute(variables)
                if named.endswith(f"/{name}") and os.access(named, os.X_OK) and named != str(path):
                    return Path(named)
    return path


def listed(variables: Mapping[str, str], name: str) -> tuple[Folder, ...]:
    """Describe the elements of PATH or LD_LIBRARY_PATH, in their order."""
    value = variables.get(name, "")
    # The loader takes `;` for a separator too.
    texts = re.split("[:;]" if name == "LD_LIBRARY_PATH" else ":", value) if value else []
    return tuple(folder_at(text) for text in texts)


def is_listed(folder: str, value: str) -> bool:
    """Tell whether a list of folders has one, under whatever name."""
    return os.path.realpath(folder) in {os.path.realpath(at) for at in value.split(":") if at}


def is_inside(path: str, folder: str) -> bool:
    """Tell whether a path leads through a folder or into it, under whatever names."""
    ways = (Path(path), Path(os.path.realpath(path)))
    above = (at for way in ways for at in (way, *way.parents))
    return os.path.realpath(folder) in map(os.path.realpath, above)


@lru_cache
def folder_at(text: str) -> Folder:
    """Describe a folder by the CUDA libraries and tools in it."""
    path = os.path.abspath(text) if text else ""
    names = names_of(path) if text else []
    libraries = [_library(path, name) for name in filter(_LIBRARY.fullmatch, names)]
    found = tuple(filter(None, libraries))
    above = _LIBRARY_FOLDER.sub("", path)
    return Folder(
        text,
        path,
        os.path.isdir(path),
        found,
        frozenset(filter(is_toolkit_tool, names)),
        kit_at(above) if found and above != path else None,
    )


def _library(folder: str, name: str) -> Library | None:
    path = f"{folder}/{name}"
    soname = None
    try:
        soname = read_elf(path).soname
    except ElfError:
        pass  # a linker script, or damaged: `which` tells
    except OSError:
        return None
    return Library(name, os.path.realpath(path), soname)


def loader_configuration() -> Iterator[ConfLine]:
    """Yield the folders that /etc/ld.so.conf and the files in its folder name."""
    files = [Path(_LOADER_FILES[0]), *sorted(Path(_LOADER_FILES[1]).glob("*.conf"))]
    for file in files:
        text = ""
        with suppress(OSError):
            text = read_regular(file, _CONF_LIMIT).decode("utf-8", "replace")
        for number, line in enumerate(text.split("\n"), 1):
            folder = line.partition("#")[0].strip()
            if folder.startswith("/"):
                yield ConfLine(str(file), number, line, folder_at(folder))


def link_to_nothing(link: Path) -> tuple[str, str] | None:
    """Return a link and its target if it dangles, otherwise None."""
    if os.path.islink(link) and not os.path.exists(link):
        return str(link), str(link.readlink())
    return None


def usual_toolkits() -> tuple[str, ...]:
    """List the toolkits beside /usr/local/cuda, the newest last."""
    found = [at for at in Path("/usr/local").glob("cuda-*") if kit_at(str(at))]
    return tuple(
        map(str, sorted(found, key=lambda at: [int(n) for n in re.findall(r"\d+", at.name)]))
    )


def libdevice(environment: Environment | None, active: Kit | None) -> str | None:
    """Find a libdevice: of the active toolkit, else of conda's cuda-nvcc, or its cudatoolkit."""
    places = [f"{active.home}/{_LIBDEVICE}"] if active else []
    if environment:
        prefix = environment.prefix
        places += f"{prefix}/{_LIBDEVICE}", f"{prefix}/lib/libdevice.10.bc"
    return next(filter(os.path.isfile, places), None)


def seen_by_xla(variables: Mapping[str, str], prefix: Path | None) -> str | None:
    """Find libdevice where XLA looks: in XLA_FLAGS' folder, /usr/local/cuda, the environment."""
    inside = libdevice_roots(prefix) if prefix else ()
    roots = (*_data_dirs(variables), "/usr/local/cuda", *inside)
    return next(filter(os.path.isfile, (f"{root}/{_LIBDEVICE}" for root in roots)), None)


def bad_xla_data(variables: Mapping[str, str]) -> str | None:
    """Return the folder that XLA_FLAGS names and that has no libdevice."""
    return next(
        (at for at in _data_dirs(variables) if not os.path.isfile(f"{at}/{_LIBDEVICE}")), None
    )


def _data_dirs(variables: Mapping[str, str]) -> list[str]:
    """List the folder in XLA_FLAGS, or in the file of flags that it names: the last one counts."""
    flags = variables.get("XLA_FLAGS", "")
    if is_file_of_flags(flags):
        with suppress(OSError):
            flags = read_regular(Path(flags), _CONF_LIMIT).decode("utf-8", "replace")
    return [named.strip("'\"") for named in DATA_DIR.findall(flags)[-1:]]


def is_file_of_flags(flags: str) -> bool:
    """Tell whether XLA takes the value of XLA_FLAGS for the name of a file."""
    return bool(flags) and not flags.lstrip().startswith("-")


def lost_compilers(variables: Mapping[str, str]) -> dict[str, str]:
    """Map the variables whose compiler is not a program to what they name."""
    named = {name: variables.get(name, "") for name in _COMPILER_VARIABLES}
    named |= {name: compiler_named(variables.get(name, "")) or "" for name in FLAG_VARIABLES}
    path = variables.get("PATH", "")
    return {
        name: value
        for name, value in named.items()
        # -ccbin may name the folder of the compiler, CUDACXX not; CMake splits arguments off.
        if value and not _found(value, path) and (name == "CUDACXX" or not os.path.isdir(value))
    }


def _found(command: str, path: str) -> str | None:
    return find_program(command, path) or find_program(command.partition(" ")[0], path)

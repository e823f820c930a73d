"""Compile with a toolkit as people do, with nvcc and in a CMake project; and run the results."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from cudaswitch.check import bounded
from cudaswitch.check.results import Result
from cudaswitch.hostcompiler import what_compiles
from cudaswitch.programs import find_program
from cudaswitch.toolkit import Toolkit
from cudaswitch.versions import Version

_PROJECT = Path(__file__).parent / "project"
_PROGRAM, _KERNEL, _CMAKE_PROJECT = "nvcc: a program", "nvcc: a kernel", "CMake: a project"
_COMPILING = 300.0
_RUNNING = 60.0
_NOTHING_TO_RUN_ON = 77
"""What the program returns if there is no driver or no GPU."""
_CMAKE = (3, 18)
"""The first version that knows both the toolkit (3.17) and its architectures."""


def prove(
    kit: Toolkit, variables: Mapping[str, str], loading: Mapping[str, str], folder: Path
) -> Iterator[Result]:
    """Prove that the toolkit compiles in the environment `variables`, and its programs run.

    They run in `loading`, where the toolkit's libraries are found. Everything is written into
    `folder`.
    """
    nvcc = find_program("nvcc", variables.get("PATH", ""))
    if not os.path.exists(Path(kit.path) / "bin" / "nvcc"):
        yield Result("nvcc", "build", "skipped", "not in this toolkit")
        return
    if nvcc is None or not Path(nvcc).samefile(Path(kit.path) / "bin" / "nvcc"):
        yield Result("nvcc", "build", "failed", f"`{nvcc}` comes before it on PATH", nvcc)
        return
    found = what_compiles(Path(kit.path), kit.version, variables)
    compiler = found.default
    kind = compiler.kind if compiler else "gcc"
    expected = f"{kind} {found.bounds.range_of(kind)}" if found.bounds else None
    at, version = (compiler.path, str(compiler)) if compiler else (None, None)
    if not found.fits:
        detail = f"{found}: {found.hint}" if found.hint else str(found)
        yield Result("host compiler", "compiler", "failed", detail, at, version, expected)
        for name, what in ((_PROGRAM, "build"), (_KERNEL, "gpu"), (_CMAKE_PROJECT, "build")):
            yield Result(name, what, "skipped", "there is no compatible host compiler")
        return
    yield Result("host compiler", "compiler", "passed", str(found), at, version, expected)
    yield from _program(kit, nvcc, variables, loading, folder)
    yield _cmake(kit, variables, loading, folder / "cmake")


def _program(
    kit: Toolkit,
    nvcc: str,
    variables: Mapping[str, str],
    loading: Mapping[str, str],
    folder: Path,
) -> Iterator[Result]:
    source = str(shutil.copy(_PROJECT / "program.cu", folder))
    done = bounded.run([nvcc, source, "-o", "program"], variables, folder, _COMPILING)
    if done.code != 0:
        yield Result(_PROGRAM, "build", "failed", done.trouble, nvcc)
        return
    yield _run(_PROGRAM, kit, folder / "program", loading, "compiled and run")
    kernel = [str(folder / "program"), "kernel"]
    done = bounded.run(kernel, loading, folder, _RUNNING)
    if done.code == _NOTHING_TO_RUN_ON:
        yield Result(_KERNEL, "gpu", "needs-gpu", done.out.strip())
    elif done.code == 0:
        yield Result(_KERNEL, "gpu", "passed", done.out.strip())
    else:
        # A driver older than the toolkit runs its machine code, but does not compile its PTX.
        native = [nvcc, "-arch=native", source, "-o", "program"]
        runs = bounded.run(native, variables, folder, _COMPILING).code == 0 and (
            bounded.run(kernel, loading, folder, _RUNNING).code == 0
        )
        only = "runs with -arch=native alone; else " if runs else ""
        yield Result(_KERNEL, "gpu", "failed", f"{only}{done.trouble}", nvcc)


def _run(name: str, kit: Toolkit, program: Path, loading: Mapping[str, str], detail: str) -> Result:
    """Run the host's part of the program, which prints the CUDA that it was compiled for."""
    done = bounded.run([str(program)], loading, program.parent, _RUNNING)
    number = int(done.out) if re.fullmatch(r"(?a:\d{4,6})\n", done.out) else 0
    version, expected = f"{number // 1000}.{number % 1000 // 10}", kit.version.minor
    if done.code != 0 or not number:
        return Result(name, "build", "failed", f"it was compiled, but {done.trouble}", None)
    if not Version(version).starts_with(Version(expected)):
        said = f"it was compiled for CUDA {version} instead of {expected}"
        return Result(name, "build", "failed", said, None, version, expected)
    return Result(name, "build", "passed", detail, None, version, expected)


def _cmake(
    kit: Toolkit, variables: Mapping[str, str], loading: Mapping[str, str], folder: Path
) -> Result:
    name = _CMAKE_PROJECT
    path = variables.get("PATH", "")
    cmake = find_program("cmake", path)
    generators = {"Ninja": "ninja", "Unix Makefiles": "make"}
    generator = next((at for at, tool in generators.items() if find_program(tool, path)), None)
    if cmake is None or generator is None:
        lacking = "neither ninja nor make is" if cmake else "cmake is not"
        return Result(name, "build", "skipped", f"{lacking} on PATH", cmake)
    shutil.copytree(_PROJECT, folder)
    if _is_old(cmake, variables, folder):
        wanted = ".".join(map(str, _CMAKE))
        return Result(name, "build", "skipped", f"cmake is older than {wanted}", cmake)
    build = str(folder / "build")
    configure = [cmake, "-G", generator, "-S", str(folder), "-B", build]
    for command in (configure, [cmake, "--build", build]):
        done = bounded.run(command, variables, folder, _COMPILING)
        fault = of_cmake(done) if done.code != 0 else None
        if fault is None and command is configure:
            fault = _other_toolkit(done.out, Path(kit.path))
        if fault:
            return Result(name, "build", "failed", fault, cmake)
    detail = "configured, built and run"
    return _run(name, kit, folder / "build" / "program", loading, detail)._replace(path=cmake)


def _is_old(cmake: str, variables: Mapping[str, str], folder: Path) -> bool:
    said = bounded.run([cmake, "--version"], variables, folder, _RUNNING)
    match = re.search(r"version (?a:(\d+)\.(\d+))", said.out)
    return match is not None and (int(match[1]), int(match[2])) < _CMAKE


def _other_toolkit(said: str, home: Path) -> str | None:
    taken = re.search(r"^-- cudaswitch: \S+ (.*)$", said, re.MULTILINE)
    if taken and Path(taken[1]).resolve() == (home / "bin").resolve():
        return None
    return f"CMake uses `{taken[1] if taken else ''}` as the toolkit"


def of_cmake(done: bounded.Done) -> str:
    """Return CMake's reason: the line after `CMake Error`, and the path that may follow it."""
    reason = r"^CMake Error[^\n]*\n+\s*(\S[^\n]*(?:\n\s*\n\s+\"[^\n]*)?)"
    match = re.search(reason, done.err, re.MULTILINE)
    return " ".join(match[1].split()) if match and not done.ended else done.trouble

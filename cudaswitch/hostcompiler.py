"""Which compiler nvcc calls here, whether the toolkit accepts it, and which one it would accept.

nvcc stops in its own `crt/host_config.h` when gcc or clang is newer than it was made for; so
that header is read, and the table only if there is none.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Mapping
from pathlib import Path

from cudaswitch.activation import COMPILER_OPTIONS
from cudaswitch.compat.compilers import Bounds, GlibcLimit, glibc_limit, host_compilers
from cudaswitch.environments import kind_of
from cudaswitch.namedtuples import NamedTuple
from cudaswitch.programs import conda_program, is_program, output_of, search_path
from cudaswitch.regular import names_of, read_regular
from cudaswitch.versions import Version

_HEADERS = ("include/crt/host_config.h", "include/host_config.h")
"""Where toolkits keep it: since 9.0, and before."""
_MATH_HEADER = "include/crt/math_functions.h"
"""The header that declares the C library's functions anew."""
_REFUSAL = re.compile(
    r"^\s*#\s*if ([^\n]*)\n\s*#\s*error -- unsupported (GNU|clang) version", re.MULTILINE
)
_LIMIT = {"GNU": "__GNUC__", "clang": "__clang_major__"}
_NAMED = re.compile(r"(?a:(g\+\+|clang\+\+)-(\d{1,2}))")
_CLANG = re.compile(r"clang version (?a:(\d{1,3}))")
_MAJOR = re.compile(r"(?a:(\d{1,3})(?:\.\d+)*\s*)")
_CCBIN = re.compile(rf"(?<!\S)(?:{'|'.join(COMPILER_OPTIONS)})(?:=|\s+)(\S+)")
_OF_CONDA = 7
"""The oldest gcc that conda-forge has as `gxx_linux-64`."""
_READ_LIMIT = 1 << 20


class Compiler(NamedTuple):
    """A host compiler: `kind` is gcc or clang, `path` what `-ccbin` would name.

    `chosen_by` says who made it the one: a variable, or PATH.
    """

    kind: str
    major: int
    path: str
    chosen_by: str = "PATH"

    def __str__(self) -> str:
        return f"{self.kind} {self.major}"


class HostCompiler(NamedTuple):
    """What was found out for one toolkit.

    `default` is what nvcc would call, None if there is none; `better` the newest that is
    installed and accepted, if the default is not; `packages` bring one, if none is.
    """

    cuda: str
    bounds: Bounds | None
    default: Compiler | None
    better: Compiler | None = None
    packages: tuple[str, ...] = ()

    @property
    def fits(self) -> bool:
        if self.default is None:
            return False
        return self.bounds is None or self.bounds.accepts(self.default.kind, self.default.major)

    def __str__(self) -> str:
        """Say in one line what is there, what is accepted, and what would do."""
        if self.default is None:
            trouble = "there is no gcc on PATH"
        else:
            kind, major, _, by = self.default
            who = str(self.default) if by == "PATH" else f"{self.default} of {by}"
            if self.bounds is None:
                return who
            if self.fits:
                return f"{who} (CUDA {self.cuda} accepts {self.bounds.range_of(kind)})"
            least, most = self.bounds.of(kind)
            is_newer = most is not None and major > most
            side, limit = ("newer", most) if is_newer else ("older", least)
            trouble = f"{self.default} is {side} than CUDA {self.cuda} accepts ({limit})"
        if self.better:
            return f"{trouble}: {os.path.basename(self.better.path)} is compatible"
        return f"{trouble}, and no compatible one is installed"

    @property
    def hint(self) -> str | None:
        """Name what brings a compiler that fits, if none is installed."""
        return " or ".join(f"`{each}`" for each in self.packages) or None


def what_compiles(
    home: Path, cuda: Version, environment: Mapping[str, str], *, packages: bool = True
) -> HostCompiler:
    """Find out for the toolkit in `home`, of release `cuda`, what compiles in `environment`.

    Starts compilers to ask their version. Without `packages`, none are looked for.
    """
    accepted = bounds(home, cuda)
    path = search_path(environment)
    found = HostCompiler(cuda.minor, accepted, default_compiler(environment))
    if found.fits:
        return found
    fitting = [
        each
        for each in installed(path)
        if accepted is None or accepted.accepts(each.kind, each.major)
    ]
    best = max(fitting, key=lambda each: (each.kind == "gcc", each.major), default=None)
    wanted = bringing(accepted) if best is None and packages else ()
    return found._replace(better=best, packages=wanted)


def choice(home: Path, cuda: Version) -> str | None:
    """Return the compiler to name for the toolkit in `home`, None if the default one will do.

    It is the newest that is installed and accepted, otherwise the newest accepted under the name
    that distributions give it, in case it is installed later. The answer is for every shell, so
    environments that are on PATH now do not count. None also if nvcc, its headers or a default
    compiler is missing.
    """
    headers = [home / name for name in _HEADERS]
    if not os.path.exists(home / "bin/nvcc") or not any(os.path.exists(at) for at in headers):
        return None
    folders = search_path(os.environ).split(os.pathsep)
    # A relative or empty one would be another folder in each directory.
    others = [at for at in folders if os.path.isabs(at) and not kind_of(Path(at).parent)]
    path = os.pathsep.join(others) or os.defpath
    found = what_compiles(home, cuda, {"PATH": path}, packages=False)
    if found.default is None or found.fits:
        return None
    if found.better:
        return found.better.path if is_plain(found.better.path) else None
    most = found.bounds.gcc_max if found.bounds else None
    return f"/usr/bin/g++-{most}" if most else None


def is_plain(path: str) -> bool:
    """Tell whether nvcc's flags and our wants can hold a path: neither knows quotes."""
    return re.search(r"[\s:'\"$`\\!]", path) is None


def bounds(home: Path, cuda: Version) -> Bounds | None:
    """Read what a toolkit accepts: from its own header, else from the table of releases."""
    for name in _HEADERS:
        try:
            text = read_regular(home / name, _READ_LIMIT, head=True).decode("utf-8", "replace")
        except OSError:
            continue
        found = read_bounds(text, str(home / name))
        if found:
            return found
    return host_compilers(cuda)


def limit_of_glibc(home: Path, cuda: Version, glibc: str | None) -> GlibcLimit | None:
    """Find the limit that the toolkit in `home` meets on a machine with `glibc`, if any.

    A header that somebody has mended, as forums advise, meets none.
    """
    limit = glibc_limit(cuda, Version(glibc)) if glibc else None
    if limit is None:
        return None
    plain = re.compile(rf"\b(?:{'|'.join(limit.functions)})\(double \w+\)\s*;")
    try:
        text = read_regular(home / _MATH_HEADER, _READ_LIMIT, head=True).decode("utf-8", "replace")
    except OSError:
        return limit
    return limit if plain.search(text) else None


def read_bounds(header: str, source: str) -> Bounds | None:
    """Read the bounds off the conditions of a host_config.h, None if it has none.

    The conditions count; the text of some `#error` differs from them.
    """
    least: dict[str, int] = {}
    most: dict[str, int] = {}
    for condition, kind in _REFUSAL.findall(re.sub(r"\n\s*\n", "\n", header)):
        for sign, number in re.findall(rf"{_LIMIT[kind]} (>=|>|<) (\d+)", condition):
            if sign == "<":
                least[kind] = int(number)
            else:
                most[kind] = int(number) - (sign == ">=")
    if "GNU" not in most:
        return None
    return Bounds(least.get("GNU"), most["GNU"], least.get("clang"), most.get("clang"), source)


def default_compiler(environment: Mapping[str, str]) -> Compiler | None:
    """Tell which compiler nvcc calls in an environment: by its flags, its variable, then PATH.

    Only CMake reads CUDAHOSTCXX. Raises nothing: a compiler that does not answer is not there.
    """
    path = search_path(environment)
    named = {
        "NVCC_APPEND_FLAGS": compiler_named(environment.get("NVCC_APPEND_FLAGS", "")),
        "NVCC_PREPEND_FLAGS": compiler_named(environment.get("NVCC_PREPEND_FLAGS", "")),
        "NVCC_CCBIN": environment.get("NVCC_CCBIN"),
    }
    chosen_by, name = next(((by, each) for by, each in named.items() if each), ("PATH", "gcc"))
    program = _program(name, path)
    if program is None:
        return None
    # Cached: the answer holds for all toolkits, and starting it takes longer than all else.
    found = _asked(program, frozenset(environment.items()))
    return found and found._replace(chosen_by=chosen_by)


def installed(path: str) -> list[Compiler]:
    """List the compilers on `path`, and in /usr/bin, that have their major in their name."""
    found: dict[str, Compiler] = {}
    for folder in dict.fromkeys([*filter(None, path.split(os.pathsep)), "/usr/bin"]):
        for name in names_of(folder):
            match = _NAMED.fullmatch(name)
            at = f"{folder}/{name}"
            if match and os.access(at, os.X_OK):
                kind = "gcc" if match[1] == "g++" else "clang"
                found.setdefault(name, Compiler(kind, int(match[2]), at))
    return list(found.values())


def bringing(accepted: Bounds | None) -> tuple[str, ...]:
    """Name the commands that install a gcc that fits: the system's, if it has one, and conda's."""
    if accepted is None or accepted.gcc_max is None:
        return ()
    most = accepted.gcc_max
    majors = [major for major in majors_of_apt("g++-") if accepted.accepts("gcc", major)]
    apt = (f"apt install g++-{max(majors)}",) if majors else ()
    conda = f"{conda_program(os.environ)} install -c conda-forge gxx_linux-64={most}"
    return (*apt, conda) if most >= _OF_CONDA else apt


def majors_of_apt(start: str) -> set[int]:
    """Return the N of all packages `{start}N` that apt has here, none if there is no apt."""
    said = output_of(["apt-cache", "pkgnames", start], os.environ) or ""
    named = re.finditer(rf"^{re.escape(start)}(\d{{1,3}})$", said, re.MULTILINE | re.ASCII)
    return {int(match[1]) for match in named}


def compiler_named(flags: str) -> str | None:
    """Return what the last `-ccbin` among nvcc's flags names."""
    return next(reversed(_CCBIN.findall(flags)), None)


def without_compiler(flags: str, named: str) -> str:
    """Return nvcc's flags without each `-ccbin` that names this compiler."""
    rest = _CCBIN.sub(lambda match: "" if match[1] == named else match[0], flags)
    return " ".join(rest.split())


def _program(name: str, path: str) -> str | None:
    """Find a compiler by name or path; a folder, which nvcc takes too, holds its gcc."""
    folders = [""] if "/" in name else path.split(os.pathsep)
    for folder in folders:
        for at in (os.path.join(folder, name), os.path.join(folder, name, "gcc")):
            if is_program(at):
                return at
    return None


@functools.cache
def _asked(program: str, environment: frozenset[tuple[str, str]]) -> Compiler | None:
    variables = dict(environment) | {"LC_ALL": "C"}
    clang = _CLANG.search(output_of([program, "--version"], variables) or "")
    if clang:
        return Compiler("clang", int(clang[1]), program)
    gcc = _MAJOR.fullmatch(output_of([program, "-dumpversion"], variables) or "")
    return Compiler("gcc", int(gcc[1]), program) if gcc else None

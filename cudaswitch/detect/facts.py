"""Fill in the resolver's facts from files. Nothing of an environment is imported or started."""

from __future__ import annotations

import os
import re
from pathlib import Path

from cudaswitch.bundled import bundles_cuda
from cudaswitch.compat.carriers import carried_by, carrier_starts
from cudaswitch.compat.frameworks import framework_starts
from cudaswitch.detect.frameworks import Place, inspect, places
from cudaswitch.detect.machine import Machine, asked_driver, probe
from cudaswitch.detect.packages import Dist, Layer, PrefixRecord, layers, newest_of
from cudaswitch.detect.reading import RECORD_LIMIT, Reading
from cudaswitch.environments import kind_of
from cudaswitch.errors import EnvironmentNotFoundError, RequestError, printable
from cudaswitch.platforms import PLATFORMS, current_platform, system_of
from cudaswitch.programs import conda_program, is_program
from cudaswitch.resolver import Carried, Facts, OwnNvcc
from cudaswitch.resolver.releases import release_of
from cudaswitch.versions import Version

_NUMBERED_AS_CUDA = ("cuda", "cublas", "nvvm", "compiler", "bindings", "nvrtc", "nvJitLink")
"""Components whose wheels have versions that begin with the major of their CUDA, most with the
release; but cuBLAS 11.11 is of 11.8."""


def facts_of(
    prefix: Path | None,
    *,
    driver: str | None = None,
    cc: str | None = None,
    gcc: str | None = None,
    platform: str | None = None,
) -> Facts:
    """Look at an environment (conda prefix or virtualenv) and at this machine.

    `driver`, `cc`, `gcc` and `platform` stand in for what would be probed; with the
    platform of another machine, nothing of this one is probed. Raises
    EnvironmentNotFoundError when `prefix` is not a folder, RequestError for overrides that
    cannot be read.
    """
    asked, asked_source = asked_driver(driver)
    asked_cc = _capability(cc)
    asked_gcc = _gcc_major(gcc)
    facts = Facts(platform=platform or current_platform())
    if prefix is not None:
        facts = _environment(prefix, platform)
    machine = Machine()
    if facts.platform == current_platform():
        machine = probe(avoid=prefix, driver=asked is None, cc=asked_cc is None)
    return facts._replace(
        driver=asked or machine.driver,
        driver_source=asked_source or machine.driver_source,
        cc=(asked_cc,) if asked_cc else machine.cc,
        gcc=(asked_gcc,) if asked_gcc is not None else machine.gcc,
        glibc=machine.glibc,
        conda=conda_program(os.environ),
    )


def _capability(cc: str | None) -> str | None:
    """Read a compute capability, also as compilers spell it: 7.0, 70, sm_70, 12.0, 120, sm_120a.

    A number below 20 is a major: 12 is 12.0.
    """
    if cc is None:
        return None
    match = re.fullmatch(
        r"(?a:(?:sm_|compute_)?(?:(\d{1,2})\.(\d)|(1?\d)|([2-9]|1\d)(\d))[af]?)", cc.strip()
    )
    if match is None:
        raise RequestError(
            f"`{cc}` is not a compute capability (asked for by --cc)",
            "write it as X.Y, for example 7.0 for a V100",
        )
    return f"{match[1] or match[3] or match[4]}.{match[2] or match[5] or 0}"


def _gcc_major(gcc: str | None) -> int | None:
    if gcc is None:
        return None
    try:
        return Version(gcc.strip()).major
    except RequestError:
        raise RequestError(
            f"`{gcc}` is not a gcc version (asked for by --gcc)",
            "give its major version, for example 9",
        ) from None


def _environment(prefix: Path, platform: str | None) -> Facts:
    if not os.path.isdir(prefix):
        raise EnvironmentNotFoundError(
            f"there is no environment at `{prefix}`", "name one with `-p PREFIX` or `-n NAME`"
        )
    reading = Reading(prefix)
    found = layers(prefix, reading, framework_starts() + carrier_starts())
    if not any(layer.sites or layer.records for layer in found):
        why = (
            "holds no packages"
            if kind_of(prefix)
            else "has neither site-packages nor conda-meta: is it an environment?"
        )
        reading.note(why, prefix)
    placed = list(places(found, reading))
    platform = platform or _platform(prefix, found, placed, reading)
    os_name = system_of(platform)
    dists = [dist for layer in found for site in layer.sites for dist in site.dists]
    records = [
        record
        for layer in found
        for record in newest_of([it for it in layer.records if _brings(it)], reading)
    ]
    path = _LibraryPath(prefix, reading)
    carried = [*_carried_dists(dists, path, reading), *_carried_records(records, path, reading)]
    frameworks = [inspect(place, reading, os_name, carried) for place in placed]
    brings = bundles_cuda(prefix) if os_name == "linux" else None
    return Facts(
        platform=platform,
        prefix=printable(str(prefix)),
        frameworks=tuple(framework for framework in frameworks if framework),
        carried=tuple(carried),
        compiler=_compiler(prefix, carried),
        brings=reading.name(Path(brings)) if brings else None,
        notes=tuple(reading.notes),
    )


class _LibraryPath:
    """What activation, or this shell, puts into LD_LIBRARY_PATH.

    Activation does that by variables that conda keeps for the environment, or by a script in
    activate.d such as TensorFlow's guide told people to write.
    """

    def __init__(self, prefix: Path, reading: Reading) -> None:
        self._prefix = str(prefix)
        self._names = "|".join(map(re.escape, {self._prefix, os.path.realpath(prefix)}))
        state = reading.json_values(prefix / "conda-meta" / "state")
        values = (state.get("env_vars.LD_LIBRARY_PATH"), os.environ.get("LD_LIBRARY_PATH"))
        texts = [value for value in values if isinstance(value, str)]
        entries = (entry for text in texts for entry in text.split(":") if entry[:1] == "/")
        self._entries = set(map(os.path.realpath, entries))
        folder = prefix / "etc" / "conda" / "activate.d"
        names = [name for name in reading.names(folder) if name.endswith(".sh")]
        self._scripts = [reading.text(folder / name) or "" for name in names]

    def leads(self, folder: str, module: str | None = None) -> bool:
        """Tell whether it leads to a folder: by name, or as the `lib` below Python's `module`."""
        return os.path.realpath(folder) in self._entries or any(
            self._written(text, folder, module) for text in self._scripts
        )

    def _written(self, text: str, folder: str, module: str | None) -> bool:
        at = rf"(?:\$CONDA_PREFIX|\$\{{CONDA_PREFIX\}}|{self._names})"
        inside = folder.startswith(f"{self._prefix}/")
        ways = [at + re.escape(folder[len(self._prefix) :]) if inside else re.escape(folder)]
        if module:
            # CUDNN_PATH=$(dirname $(python -c "import nvidia.cudnn;print(nvidia.cudnn.__file__)"))
            asked = re.findall(rf"\b(\w+)=\$\(.{{0,99}}?\b{re.escape(module)}\b", text)
            ways += [rf"\$(?:{name}|\{{{name}\}})/lib" for name in asked[:9]]
        # Bounded: a line may repeat the variable, and a script the names, any number of times.
        line = rf"\bLD_LIBRARY_PATH=.{{0,999}}?(?:{'|'.join(ways)})/?(?![\w/])"
        return re.search(line, text) is not None


def _platform(prefix: Path, found: list[Layer], placed: list[Place], reading: Reading) -> str:
    """Tell which platform an environment is for: by Windows' layout, or by its conda records."""
    here = current_platform()
    windows = any(site.path.parent.name == "Lib" for layer in found for site in layer.sites)
    if windows or os.path.exists(prefix / "python.exe"):
        return here if here.startswith("win") else "win-64"
    for place in placed:
        for record in place.records:
            told = reading.json_values(record.path, RECORD_LIMIT).get("subdir")
            if told in PLATFORMS:
                return str(told)
    return here


def _carried_dists(dists: list[Dist], path: _LibraryPath, reading: Reading) -> list[Carried]:
    carried = []
    writers: dict[tuple[Path, str], Dist] = {}
    for dist in dists:
        found = carried_by("dist", dist.name)
        release = release_of(dist.version) if found else None
        if found and release:
            carrier, major = found
            # The names without a suffix belong to CUDA 13 and later.
            cuda = release.text if carrier.component in _NUMBERED_AS_CUDA else major
            part = Carried(
                carrier.component, "dist", dist.name, dist.version, cuda, reading.name(dist.record)
            )
            if carrier.writes:
                folder = f"{dist.site}/{carrier.writes}/lib"
                led = path.leads(folder, carrier.writes.replace("/", "."))
                part = part._replace(folder=folder, led=led)
                first = writers.setdefault((dist.site, carrier.writes), dist)
                if first.name != dist.name:
                    both = f"is {dist.name} beside {first.name}, and both write {carrier.writes}"
                    reading.note(f"{both}: what was installed last serves all", dist.record)
            carried.append(part)
    return carried


def _brings(record: PrefixRecord) -> bool:
    return carried_by("conda", record.name) is not None


def _carried_records(
    records: list[PrefixRecord], path: _LibraryPath, reading: Reading
) -> list[Carried]:
    carried, folder = [], f"{reading.prefix}/lib"
    led = path.leads(folder)
    for record in records:
        found = carried_by("conda", record.name)
        release = release_of(record.version) if found else None
        if found and release:
            component = found[0].component
            told = component in ("cuda", "release", "compiler")
            cuda = release.text if told else None
            source = reading.name(record.path)
            name, version = record.name, record.version
            carried.append(Carried(component, "conda", name, version, cuda, source, folder, led))
    return carried


def _compiler(prefix: Path, carried: list[Carried]) -> OwnNvcc | None:
    """Find the nvcc that a package put into a conda prefix, or a wheel next to its libraries."""
    for part in carried:
        if part.component != "compiler" or part.cuda is None:
            continue
        # `source` is relative to the prefix, or an absolute path for a record of the base.
        record, cuda = prefix / part.source, Version(part.cuda)
        by_conda = part.kind == "conda"
        home = record.parent.parent if by_conda else record.parent / "nvidia" / f"cu{cuda.major}"
        if is_program(home / "bin" / "nvcc") and (home == prefix or not by_conda):
            return OwnNvcc(cuda.minor, str(home), part.source, by_conda)
    return None

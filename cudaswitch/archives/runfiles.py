"""NVIDIA's runfiles: the toolkit in them, laid out as their installer would do it.

Contents (sources: the recipes of Arch, Gentoo and nixpkgs, which take runfiles apart; spack's):

- to 10.0: `run_files/cuda-linux.10.0.130-24817639.run`, itself a runfile with the toolkit, next to
  others with driver and samples
- 10.1 and 10.2: `builds/cuda-toolkit/`, and `builds/cublas/`
- from 11.0: `builds/cuda_nvcc/`, `builds/libcublas/` and so on, to be merged, and
  `builds/version.json`

The driver, the samples, the documentation and the Nsight programs are left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing
from itertools import chain

from cudaswitch.archives.components import component_of, evidence, is_settled, named_component
from cudaswitch.archives.faults import ForeignError, shown
from cudaswitch.archives.layout import Layout, checked_package, whole
from cudaswitch.archives.limits import METADATA_BYTES
from cudaswitch.archives.makeself import SCRIPT_BYTES, read_header
from cudaswitch.archives.members import Member
from cudaswitch.archives.nvidia import ELF_HEADER_BYTES, ELF_PLATFORMS
from cudaswitch.archives.placing import Placing
from cudaswitch.archives.streams import Source
from cudaswitch.archives.tarball import tar_members
from cudaswitch.toolkit import Package
from cudaswitch.versions import Version

NAME = "cuda"
_INNER = re.compile(r"run_files/cuda-linux[^/]*\.run")
_LEFT_OUT = frozenset(("compat", "documentation", "ncu", "nsight", "nsys", "samples"))
"""Components (archives.components) that stay in the runfile."""
_ASIDE = frozenset(("doc", "manifests", "run_files"))
"""Top folders that do not belong to the toolkit, or are its documentation."""
_TOP_FILES = frozenset(("EULA.txt", "LICENSE", "version.json", "version.txt"))
_SANITIZER = "integration/Sanitizer/"
"""Holds what the installer puts into `bin` to start the compute sanitizer."""
_FOLDER_LINKS = frozenset(("include", "lib", "lib64"))
_RUNTIME = re.compile(r"(?:.*/)?libcudart\.so\.([0-9]+(?:\.[0-9]+){2})")
_TEXT = re.compile(rb"CUDA Version ([0-9.]+)")
_NUMBER = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9}){1,3}", re.ASCII)
_NAMED = re.compile(r"cuda_([0-9]+\.[0-9]+\.[0-9]+)(?:_|\.run)", re.ASCII)
_UPDATES = 20
"""From 11 on the last part of a release counts updates; a build or a date is larger."""


class Runfile(Layout):
    form = "runfile"

    def __init__(self, source: Source, file_name: str) -> None:
        super().__init__(source, file_name)
        self._header = read_header(source.read_at(0, min(source.size, SCRIPT_BYTES)), source.size)
        self._machine: str | None = None

    def members(self) -> Generator[Member, None, None]:
        self.source.read(self._header.offset)
        with closing(tar_members(self._header.tar(self.source.pieces()))) as members:
            yield from self._toolkit(members, set())

    glance = members

    def _toolkit(
        self, members: Iterable[Member], taken: set[str], inner: bool = False
    ) -> Iterator[Member]:
        """Yield the toolkit's members under their paths in it; the first one of a path wins."""
        for member in members:
            if not inner and member.kind == "file" and _INNER.fullmatch(member.path):
                # Closed here, as an interrupt while Python cleans it up by itself would be lost.
                with closing(_opened(member)) as inside:
                    yield from self._toolkit(inside, taken, inner=True)
                continue
            path = _place(member.path)
            if path is None or path in taken or _is_folder_link(member, path):
                # A stand-in that places nothing: what is left out counts against the limits too.
                yield Member("", "directory", member.size)
                continue
            if member.kind != "directory":
                taken.add(path)
            if member.kind == "hardlink":
                member.target = _place(member.target) or member.target
            member.path = path
            yield member

    def wanted(self, member: Member) -> int:
        if member.kind != "file":
            return 0
        if member.path in ("version.json", "version.txt"):
            return whole(member, METADATA_BYTES)
        if self._machine is None and evidence(member.path) & {"nvcc", "cudart"}:
            return ELF_HEADER_BYTES
        return 0

    def take(self, path: str, data: bytes) -> None:
        if path in ("version.json", "version.txt"):
            self.witness.texts[path] = data
        elif data.startswith(b"\x7fELF") and len(data) == ELF_HEADER_BYTES:
            number = int.from_bytes(data[18:], "little")
            self._machine = ELF_PLATFORMS.get(number, f"machines of kind {number}")

    def is_known(self) -> bool:
        settled = is_settled(NAME, self.witness.proofs)
        return settled and self._machine is not None and self._stated() is not None

    def package(self) -> Package:
        label = shown(self._header.label)
        try:
            component = component_of(NAME, self.witness.proofs)
        except ForeignError:
            raise ForeignError(f"is a runfile without a CUDA toolkit (it is {label})") from None
        version = self._version()
        if version is None or self._machine is None:
            missing = "platform" if self._machine is None else "version"
            raise ForeignError(f"does not state its toolkit's {missing} (it is {label})")
        return checked_package(
            Package(
                name=NAME,
                version=version,
                build=self.form,
                platform=self._machine,
                component=component,
                form=self.form,
                source=self.form,
            )
        )

    def verify(self, placed: Placing) -> None:
        """The md5 that the script states was checked while reading; there is no other list."""

    def _version(self) -> Version | None:
        """Return the release: as the toolkit states it, else by nvcc's or the runtime's version.

        From 11 on, some toolkits state a build date as the last part; the release is then taken
        from the file's name, if that agrees about the other parts.
        """
        stated = self._stated() or self._by_runtime()
        if stated is None or stated.major < 11 or _is_release(stated):
            return stated
        named = _NAMED.match(self.file_name)
        if named and Version(named[1]).minor == stated.minor:
            return Version(named[1])
        return self._listed("cuda_nvcc") or stated

    def _stated(self) -> Version | None:
        text = _TEXT.search(self.witness.texts.get("version.txt", b""))
        return self._listed("cuda") or (_version(text[1].decode()) if text else None)

    def _listed(self, component: str) -> Version | None:
        try:
            listed = json.loads(self.witness.texts.get("version.json", b"{}"))
        except (ValueError, RecursionError):
            return None
        entry = listed.get(component) if isinstance(listed, dict) else None
        return _version(str(entry.get("version"))) if isinstance(entry, dict) else None

    def _by_runtime(self) -> Version | None:
        found = next(filter(None, map(_RUNTIME.fullmatch, self.witness.paths)), None)
        return _version(found[1]) if found else None


def _version(text: str) -> Version | None:
    text = text.rstrip(".")
    return Version(text) if _NUMBER.fullmatch(text) else None


def _is_release(version: Version) -> bool:
    return len(version.parts) > 2 and version.parts[2] < _UPDATES


def _opened(member: Member) -> Generator[Member, None, None]:
    """Yield the members of a runfile that is itself a member."""
    content = map(bytes, member.content)
    start = b""
    for piece in content:
        start += piece
        if len(start) >= SCRIPT_BYTES:
            break
    header = read_header(start, member.size)
    return tar_members(header.tar(chain([start[header.offset :]], content)))


def _place(path: str) -> str | None:
    """Tell where a member belongs in CUDA_HOME, None for nowhere."""
    top, _, below = path.partition("/")
    if top != "builds":
        return path if path in _TOP_FILES or (below and top not in _ASIDE) else None
    if below.startswith(_SANITIZER):
        return f"bin/{below.removeprefix(_SANITIZER)}"
    name, _, inside = below.partition("/")
    if not inside:
        return name if name in _TOP_FILES else None
    component = named_component(name)
    # `nvidia_fs` and the like belong to the driver.
    if component is None or component in _LEFT_OUT or name.startswith("nvidia"):
        return None
    return inside if inside.partition("/")[0] != "doc" else None


def _is_folder_link(member: Member, path: str) -> bool:
    # One component has a link where another has a folder; in a toolkit both are one folder.
    return member.kind == "symlink" and path in _FOLDER_LINKS

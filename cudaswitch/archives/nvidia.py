"""NVIDIA's archives: cuDNN in every naming era, and the components of the CUDA redist index.

Names (facts: docs.nvidia.com/deeplearning/cudnn archives; redistrib_*.json):

- cuDNN to 8.3.0: `cudnn-10.1-linux-x64-v7.6.5.32.tgz`, top folder `cuda`
- cuDNN from 8.3.1: `cudnn-linux-x86_64-8.9.7.29_cuda12-archive.tar.xz`, top folder likewise
- components: `cuda_nvcc-linux-x86_64-12.4.131-archive.tar.xz`, top folder likewise
"""

from __future__ import annotations

import re
from collections.abc import Generator
from dataclasses import dataclass

from cudaswitch.archives.components import CUDA_NUMBERED, component_of, cudnn_version, is_settled
from cudaswitch.archives.faults import ForeignError, RenamedError, shown
from cudaswitch.archives.layout import Layout, checked_package, cuda_release, whole
from cudaswitch.archives.limits import METADATA_BYTES
from cudaswitch.archives.members import Member
from cudaswitch.archives.placing import Placing
from cudaswitch.archives.streams import Source, decoded
from cudaswitch.archives.tarball import tar_members
from cudaswitch.archives.zips import ZipDirectory
from cudaswitch.compat.cudnn import built_for
from cudaswitch.elf import MACHINES
from cudaswitch.toolkit import Package
from cudaswitch.versions import Version

_VERSION = r"(?P<version>[0-9]+(?:\.[0-9]+){0,4})"
ARCHIVE = re.compile(
    r"(?P<name>[a-z][a-z0-9_]*)-(?P<platform>(?:linux|windows)-[a-z0-9_]+)-"
    + _VERSION
    + r"(?:_cuda(?P<cuda>[0-9]+(?:\.[0-9]+)?))?-archive",
    re.ASCII,
)
OLD_CUDNN = re.compile(
    r"(?P<name>cudnn)-(?P<cuda>[0-9]+\.[0-9]+)-(?P<platform>[a-z0-9]+-[a-z0-9]+)-v" + _VERSION,
    re.ASCII,
)
OLD_TOP = "cuda"
_SPELLINGS = {
    "linux-x86_64": "linux-64",
    "linux-x64": "linux-64",
    "linux-aarch64": "linux-aarch64",
    "linux-aarch64sbsa": "linux-aarch64",
    "linux-sbsa": "linux-aarch64",
    "windows-x86_64": "win-64",
    "windows-x64": "win-64",
    "windows7-x64": "win-64",
    "windows10-x64": "win-64",
}
"""A platform as spelled in archive names → our name for it."""
ELF_PLATFORMS = {MACHINES["x86_64"]: "linux-64", MACHINES["aarch64"]: "linux-aarch64"}
"""e_machine of an ELF header → platform."""
ELF_HEADER_BYTES = 20
HEADER_WITHIN = 64 << 20
"""Unpacked bytes to search for cuDNN's header if the top folder already states the version."""

_HEADER = re.compile(r"[^/]+/include/cudnn(?:_version)?\.h")
_LIBRARY = re.compile(r".*/libcudnn[a-z_]*\.so(?:\.[0-9.]+)?")
_LIBRARY_VERSION = re.compile(r".*/libcudnn\.so\.([0-9]+\.[0-9]+\.[0-9]+)", re.ASCII)


@dataclass(frozen=True)
class Stated:
    """What a name says; None where it says nothing."""

    name: str
    version: str | None = None
    platform: str | None = None
    cuda: str | None = None


class NvidiaLayout(Layout):
    form = "redist"

    def __init__(self, source: Source, file_name: str) -> None:
        super().__init__(source, file_name)
        self._header_version: str | None = None
        self._library_platform: str | None = None

    def wanted(self, member: Member) -> int:
        stated = self._stated()
        if member.kind != "file" or stated is None or stated.name != "cudnn" or self.is_known():
            return 0
        if _HEADER.fullmatch(member.path):
            return whole(member, METADATA_BYTES)
        return ELF_HEADER_BYTES if _LIBRARY.fullmatch(member.path) else 0

    def take(self, path: str, data: bytes) -> None:
        if _HEADER.fullmatch(path):
            self._header_version = cudnn_version(data) or self._header_version
        elif data.startswith(b"\x7fELF") and len(data) == ELF_HEADER_BYTES:
            self._library_platform = ELF_PLATFORMS.get(int.from_bytes(data[18:], "little"))

    def is_known(self) -> bool:
        if not self.witness.paths:
            return False
        stated = self._stated()
        if stated is None:
            return True
        if not is_settled(stated.name, self.witness.proofs):
            return False
        if stated.name != "cudnn":
            return True
        by_folder = stated.version is not None and self._top() != OLD_TOP
        searched = by_folder and self.witness.bytes > HEADER_WITHIN
        return self._platform(stated) is not None and (searched or self._header_version is not None)

    def package(self) -> Package:
        stated = self._stated()
        if stated is None:
            if self.file_name.endswith(".conda"):
                raise ForeignError("is not a conda package: it has no info/index.json")
            raise ForeignError(
                "is not a CUDA or cuDNN archive: it lacks a top-level folder such as"
                " `cuda_nvcc-linux-x86_64-12.4.131-archive`",
                "if it holds a toolkit, unpack that: `cudaswitch adopt FOLDER`; cuDNN needs"
                " NVIDIA's own archive",
            )
        component = component_of(stated.name, self.witness.proofs)
        platform, version = self._platform(stated), self._version(stated)
        if platform is None or version is None:
            missing = "platform" if platform is None else "version"
            renamed = self._top() == OLD_TOP
            fault = RenamedError if renamed else ForeignError
            raise fault(f"does not state its {missing}, neither in its name nor in its files")
        cuda = cuda_release(version) if component in CUDA_NUMBERED else stated.cuda
        if component == "cudnn" and cuda:
            cuda = built_for(version, cuda)
        return checked_package(
            Package(
                name=stated.name,
                version=version,
                build=f"cuda{stated.cuda}" if stated.cuda else "",
                platform=platform,
                component=component,
                cuda=None if component == "cuda" else cuda,
                root=self._top(),
                form="cudnn" if component == "cudnn" else self.form,
            )
        )

    def verify(self, placed: Placing) -> None:
        """These archives have no list of their files; they must keep to their one folder."""
        prefix = self._top() + "/"
        stray = next((path for path in placed.entries if not path.startswith(prefix)), None)
        if stray:
            raise ForeignError(f"has {shown(stray)} outside its top-level folder `{self._top()}`")

    def _top(self) -> str:
        return self.witness.paths[0].partition("/")[0] if self.witness.paths else ""

    def _stated(self) -> Stated | None:
        """Read the top folder's name, or for old cuDNN, whose folder says nothing, the file's."""
        top = self._top()
        match = ARCHIVE.fullmatch(top)
        if top == OLD_TOP:
            match = OLD_CUDNN.match(self.file_name) or ARCHIVE.match(self.file_name)
            if match is None or match["name"] != "cudnn":
                return Stated("cudnn")
        if match is None:
            return None
        platform = _SPELLINGS.get(match["platform"], match["platform"])
        return Stated(match["name"], match["version"], platform, match["cuda"])

    def _platform(self, stated: Stated) -> str | None:
        by_content = self._library_platform or (
            "win-64" if "windows" in self.witness.proofs else None
        )
        return stated.platform or by_content

    def _version(self, stated: Stated) -> Version | None:
        """Return the version; cuDNN's is read from its header or soname, or is the longer one in
        the name if the two agree.
        """
        if stated.name != "cudnn":
            return Version(stated.version) if stated.version else None
        found = self._header_version
        if found is None:
            names = map(_LIBRARY_VERSION.fullmatch, self.witness.paths)
            found = next((match[1] for match in names if match), None)
        if stated.version and (
            found is None or Version(stated.version).starts_with(Version(found))
        ):
            return Version(stated.version)
        return Version(found) if found else None


class NvidiaTarball(NvidiaLayout):
    def __init__(self, source: Source, file_name: str, packing: str) -> None:
        super().__init__(source, file_name)
        self._packing = packing

    def members(self) -> Generator[Member, None, None]:
        return tar_members(decoded(self.source.pieces(), self._packing))

    glance = members


class NvidiaZip(NvidiaLayout):
    def __init__(self, source: Source, file_name: str, directory: ZipDirectory) -> None:
        super().__init__(source, file_name)
        self._directory = directory

    def glance(self) -> Generator[Member, None, None]:
        return self._directory.look()

    def members(self) -> Generator[Member, None, None]:
        return self._directory.members()

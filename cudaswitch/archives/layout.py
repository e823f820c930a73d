"""What every kind of package answers about itself, and the little it must see to do so."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Generator
from typing import ClassVar

from cudaswitch.archives.components import evidence
from cudaswitch.archives.faults import DamagedError, ForeignError, UnsafeError, shown
from cudaswitch.archives.members import Member
from cudaswitch.archives.placing import Placing
from cudaswitch.archives.streams import Source
from cudaswitch.platforms import PLATFORMS, current_platform
from cudaswitch.toolkit import Package
from cudaswitch.versions import Version

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}", re.ASCII)
_BUILD = re.compile(r"[A-Za-z0-9_.+]{0,100}", re.ASCII)


class Witness:
    """Sees every member of an archive go by and keeps what identifies the package.

    `paths` are the files and links, `bytes` the size of them all, `proofs` what their names
    prove (components.EVIDENCE), `texts` the content, or its start, of those that were wanted.
    """

    def __init__(self) -> None:
        self.paths: list[str] = []
        self.bytes = 0
        self.proofs: set[str] = set()
        self.texts: dict[str, bytes] = {}

    def see(self, member: Member) -> None:
        if member.kind != "directory":
            self.paths.append(member.path)
            self.bytes += member.size
            self.proofs |= evidence(member.path)


class Layout(ABC):
    """One kind of package, opened: its members, its identity, its own file list."""

    form: ClassVar[str]
    aside: ClassVar[str | None] = None
    """The top folder that does not belong to the installed tree."""

    def __init__(self, source: Source, file_name: str) -> None:
        self.source = source
        self.file_name = file_name
        self.witness = Witness()

    @abstractmethod
    def glance(self) -> Generator[Member, None, None]:
        """Yield the members that may be needed to identify it; contents are lazy."""

    @abstractmethod
    def members(self) -> Generator[Member, None, None]:
        """Yield every member, in one pass over the whole file."""

    @abstractmethod
    def wanted(self, member: Member) -> int:
        """Return how many leading bytes of a member identify or describe the package.

        Raises UnsafeError when metadata is larger than metadata can be.
        """

    @abstractmethod
    def is_known(self) -> bool:
        """Tell whether the witness has seen enough to identify the package."""

    @abstractmethod
    def package(self) -> Package:
        """Identify the package from what the witness has seen; entries are empty."""

    def take(self, path: str, data: bytes) -> None:
        """Receive the leading bytes of a member that `wanted` asked for."""
        self.witness.texts[path] = data

    def executable(self, member: Member) -> bool:
        """Tell whether a file should be executable; by default, its mode in the archive decides."""
        return member.executable

    def expect(self, member: Member) -> None:  # noqa: B027  # most know nothing beforehand
        """Refuse a member, before it is written, that this kind of package cannot hold."""

    @abstractmethod
    def verify(self, placed: Placing) -> None:
        """Check what is on disk against the package's own file list; may complete entries."""


def checked_package(package: Package) -> Package:
    """Return the package if its name, build and platform can be used in folder names.

    Versions have their own grammar (versions.Version).
    """
    for value, grammar in ((package.name, _NAME), (package.build, _BUILD)):
        if not grammar.fullmatch(value):
            raise DamagedError(f"{value[:80]!r} in its metadata is not a package name or build")
    if package.platform not in (*PLATFORMS, "noarch"):
        why = (
            "CUDA is no longer available for macOS: " if package.platform.startswith("osx") else ""
        )
        raise ForeignError(
            f"is for {package.platform}; cudaswitch handles {', '.join(PLATFORMS)} and noarch",
            f"{why}get the package for {current_platform()}",
        )
    return package


def whole(member: Member, limit: int) -> int:
    """Return the size of a metadata member, which must not exceed `limit` bytes."""
    if member.size > limit:
        raise UnsafeError(f"{shown(member.path)} is larger than metadata can be")
    return member.size


def cuda_release(version: Version) -> str | None:
    """Return the CUDA release (`12.4`) that a CUDA-numbered version belongs to."""
    return version.minor if len(version.parts) > 1 else None


def text_of(data: bytes, path: str) -> str:
    """Return a metadata file as text."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DamagedError(f"`{path}` is not UTF-8 text") from error

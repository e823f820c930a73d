"""How much an archive may ask for. The environment can lower what is allowed, never raise it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from cudaswitch.archives.faults import UnsafeError, shown
from cudaswitch.archives.members import Member
from cudaswitch.errors import ArchiveError
from cudaswitch.shells.spelling import setting_here

BYTES_VARIABLE = "CUDASWITCH_MAX_UNPACK_BYTES"
MEMBERS_VARIABLE = "CUDASWITCH_MAX_MEMBERS"

LEAST_BYTES = 256 << 20
"""Unpacked bytes that any archive may have."""
RATIO = 50
"""Unpacked bytes per packed byte that a larger archive may have; CUDA's have 2 to 10."""
LEAST_MEMBERS, BYTES_OF_MEMBER = 20_000, 16
"""Members that any archive may have; it may have more if it has this many packed bytes for each."""
FOLDERS = 5_000
"""Folders, including those that are not members: a few members can be in very many."""
MEMBERS = 200_000
"""The whole toolkit of CUDA 13 has about 20 thousand."""
METADATA_BYTES = 2 << 20
"""Largest metadata file that is held in memory; real ones have some KiB."""
FILE_LIST_BYTES = 8 << 20
"""Largest file list (`paths.json`, `RECORD`) that is held in memory; real ones have 3 MiB."""


def _allowed(variable: str) -> int | None:
    """Return what a variable allows, None where it is not set. Raises ArchiveError."""
    text = os.environ.get(variable)
    if not text:
        return None
    if not (text.isascii() and text.isdigit()):
        raise ArchiveError(
            f"`{variable}` is not a number", f"{setting_here(variable, '')}, or set it to a number"
        )
    return int(text)


@dataclass
class Budget:
    """What is left of the limits for one archive. `bytes` counts unpacked file contents.

    `lowered` are the variables that allow less than cudaswitch would.
    """

    bytes: int
    members: int
    lowered: set[str] = field(default_factory=set)

    @classmethod
    def for_archive(cls, size: int) -> Budget:
        """Return the limits for an archive of `size` bytes."""
        members = min(max(LEAST_MEMBERS, size // BYTES_OF_MEMBER), MEMBERS)
        limits = {BYTES_VARIABLE: max(LEAST_BYTES, RATIO * size), MEMBERS_VARIABLE: members}
        lowered = set()
        for variable, limit in limits.items():
            allowed = _allowed(variable)
            if allowed is not None and allowed < limit:
                limits[variable] = allowed
                lowered.add(variable)
        return cls(limits[BYTES_VARIABLE], limits[MEMBERS_VARIABLE], lowered)

    def watch(self, members: Iterable[Member]) -> Iterator[Member]:
        """Pass members on until they exceed the limits; sizes count before any content is read."""
        for member in members:
            self.members -= 1
            self.bytes -= member.size
            if self.members < 0:
                raise self._over("it has more members than", MEMBERS_VARIABLE, "any CUDA package")
            if self.bytes < 0:
                larger = f"{shown(member.path)} makes it larger than"
                raise self._over(larger, BYTES_VARIABLE, "the limit for its size")
            yield member

    def _over(self, why: str, variable: str, limit: str) -> UnsafeError:
        if variable not in self.lowered:
            return UnsafeError(f"{why} {limit}")
        unset = setting_here(variable, "")
        fault = UnsafeError(f"{why} the limit in {variable}")
        fault.hint = f"if you trust its publisher, {unset}; nothing was installed"
        return fault

"""NVIDIA's wheels: identity from `*.dist-info`, every file against `RECORD`.

Format: packaging.python.org, "Binary distribution format". Contents: CUDA 11 and 12 are in
`nvidia/<component>`, from 13 on everything is in `nvidia/cu13`.
"""

from __future__ import annotations

import base64
import csv
import io
import re
from collections.abc import Generator, Iterable, Iterator

from packaging.utils import canonicalize_name

from cudaswitch.archives.components import CUDA_NUMBERED, component_of, named_component
from cudaswitch.archives.faults import DamagedError, ForeignError, UnsafeError, shown
from cudaswitch.archives.layout import Layout, checked_package, cuda_release, text_of, whole
from cudaswitch.archives.limits import FILE_LIST_BYTES, METADATA_BYTES
from cudaswitch.archives.members import Member, safe_path
from cudaswitch.archives.placing import Placing
from cudaswitch.archives.streams import Source
from cudaswitch.archives.zips import ZipDirectory
from cudaswitch.toolkit import METAPACKAGE, Package
from cudaswitch.versions import Version

PLATFORM_TAGS = {
    "any": "noarch",
    "linux_x86_64": "linux-64",
    "linux_aarch64": "linux-aarch64",
    "win_amd64": "win-64",
}
"""End of a platform tag → platform; `manylinux2014_` and the like are stripped before."""
TOOLKIT_FOLDERS = frozenset(("bin", "include", "lib", "lib64", "nvvm", "Library"))
"""Folders whose parent corresponds to CUDA_HOME."""

_DIST_INFO = re.compile(r"([^/]+)\.dist-info/(METADATA|WHEEL|RECORD)")
_MANYLINUX = re.compile(r"\A(?:many|musl)linux(?:_[0-9]+_[0-9]+|[0-9]+)_")
_SUFFIX = re.compile(r"-(cu[0-9]{2})\Z")
_POST_RELEASE = re.compile(r"\.(post[0-9]{1,4})\Z", re.ASCII)
_ROOT_CUDA = re.compile(r"/cu([0-9]{2})\Z")
_RECORD_HASH = re.compile(r"sha256=([A-Za-z0-9_-]{43})", re.ASCII)
_RECORD_SIZE = re.compile(r"[0-9]{1,18}", re.ASCII)
_NOWHERE = "nvidia"
"""The root of a wheel that has nothing but its metadata, such as cuda-toolkit: none of it is in
that folder, so none of it belongs in a toolkit."""
LIMITS = {"METADATA": METADATA_BYTES, "WHEEL": METADATA_BYTES, "RECORD": FILE_LIST_BYTES}


class Wheel(Layout):
    form = "wheel"

    def __init__(self, source: Source, file_name: str, directory: ZipDirectory) -> None:
        super().__init__(source, file_name)
        self._directory = directory
        folders = {
            match[1] for record in directory.records if (match := _DIST_INFO.fullmatch(record.name))
        }
        if len(folders) != 1:
            raise UnsafeError("it has more than one dist-info folder")
        self._stem = folders.pop()

    def glance(self) -> Generator[Member, None, None]:
        return self._directory.look()

    def members(self) -> Generator[Member, None, None]:
        return self._directory.members()

    def wanted(self, member: Member) -> int:
        match = _DIST_INFO.fullmatch(member.path)
        return whole(member, LIMITS[match[2]]) if match else 0

    def is_known(self) -> bool:
        return False  # only the whole list shows which folder is CUDA_HOME

    def expect(self, member: Member) -> None:
        if member.kind == "symlink":
            raise UnsafeError(f"{shown(member.path)} is a link, which a wheel cannot hold")

    def executable(self, member: Member) -> bool:
        # Many wheels are packed without modes, so that pip users get tools that cannot be run.
        # nvcc.profile, which nvcc reads from its own folder, is not a tool.
        folder, _, name = member.path.rpartition("/")
        is_tool = folder.rpartition("/")[2] == "bin" and not name.endswith(".profile")
        return member.executable or is_tool

    def package(self) -> Package:
        metadata = _headers(self._text("METADATA"), ("Name", "Version"))
        name = canonicalize_name(metadata["Name"])
        if canonicalize_name(self._stem) != canonicalize_name(f"{name}-{metadata['Version']}"):
            raise UnsafeError(f"{shown(self._stem)} and its METADATA name different packages")
        is_empty = all(path.startswith(f"{self._stem}.dist-info/") for path in self.witness.paths)
        if is_empty and named_component(name) == "cuda":
            component = METAPACKAGE
        else:
            component = component_of(name, self.witness.proofs)
        # The same version packed again, such as 12.4.127.post1 of CCCL, is another build of it.
        repacked = _POST_RELEASE.search(metadata["Version"])
        version = Version(_POST_RELEASE.sub("", metadata["Version"]))
        suffix = _SUFFIX.search(name)
        root = _NOWHERE if component == METAPACKAGE else self._root(name)
        return checked_package(
            Package(
                name=name,
                version=version,
                build="_".join(match[1] for match in (suffix, repacked) if match),
                platform=_platform(self._text("WHEEL")),
                component=component,
                cuda=_cuda(component, version, suffix[1] if suffix else None, root),
                root=root,
                form=self.form,
            )
        )

    def verify(self, placed: Placing) -> None:
        record = f"{self._stem}.dist-info/RECORD"
        signed = {record, f"{record}.jws", f"{record}.p7s"}
        listed = dict(_recorded(self._text("RECORD"), signed))
        for path, (digest, size) in listed.items():
            entry = placed.entries.get(path)
            if entry is None:
                raise DamagedError(f"{shown(path)} is in its RECORD but not in the wheel")
            if (entry.sha256, entry.size) != (digest, size):
                raise DamagedError(
                    f"{shown(path)} does not have the size and sha256 that its RECORD states"
                )
        extra = placed.entries.keys() - listed.keys() - signed
        if extra:
            raise DamagedError(f"{shown(min(extra))} is not in its RECORD")

    def _text(self, name: str) -> str:
        path = f"{self._stem}.dist-info/{name}"
        if path not in self.witness.texts:
            raise DamagedError(f"it has no {shown(path)}")
        return text_of(self.witness.texts[path], path)

    def _root(self, name: str) -> str:
        """Return the folder that corresponds to CUDA_HOME: the one with `lib`, `bin`, `include`."""
        roots = set()
        for path in self.witness.paths:
            parts = path.split("/")[:-1]
            at = next((i for i, part in enumerate(parts) if part in TOOLKIT_FOLDERS), None)
            if at is not None and not parts[0].endswith((".dist-info", ".data")):
                roots.add("/".join(parts[:at]))
        # From 13.2 on, CCCL has a `lib` of its own, in a folder next to the common `include`.
        roots -= {inner for inner in roots for outer in roots if inner.startswith(f"{outer}/")}
        if len(roots) != 1:
            what = "no files of CUDA" if not roots else "more than one CUDA folder"
            raise ForeignError(f"holds {what} (it is `{name}`)")
        return roots.pop()


def _headers(text: str, wanted: tuple[str, ...]) -> dict[str, str]:
    """Return the headers `wanted`, each of which must occur exactly once."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        if not line.strip():
            break
        key, _, value = line.partition(":")
        if key in wanted:
            if key in found:
                raise UnsafeError(f"its metadata states {key} twice")
            found[key] = value.strip()
    missing = [key for key in wanted if not found.get(key)]
    if missing:
        raise DamagedError(f"its metadata states no {missing[0]}")
    return found


def _platform(wheel: str) -> str:
    """Return the platform that the tags in the WHEEL file agree upon."""
    tags = [line[4:].strip() for line in wheel.splitlines() if line.startswith("Tag:")]
    systems = {_MANYLINUX.sub("linux_", part) for tag in tags for part in _platform_tags(tag)}
    platforms = {PLATFORM_TAGS.get(system, system) for system in systems}
    if len(platforms) != 1:
        raise DamagedError("its WHEEL file states no platform, or more than one")
    return platforms.pop()[:80]


def _platform_tags(tag: str) -> list[str]:
    return tag.rpartition("-")[2].split(".")


def _cuda(component: str, version: Version, suffix: str | None, root: str) -> str | None:
    """Return which CUDA the wheel was built for: a release, or the major in its name or root."""
    if component in CUDA_NUMBERED:
        return cuda_release(version)
    if component == "cuda":
        return None
    by_root = _ROOT_CUDA.search(root)
    return (suffix or "").removeprefix("cu") or (by_root[1] if by_root else None)


def _recorded(text: str, signed: set[str]) -> Iterator[tuple[str, tuple[str, int]]]:
    """Yield path, sha256 (hex) and size of every file that RECORD lists, each once."""
    try:
        yield from _rows(csv.reader(io.StringIO(text, newline=""), strict=True), signed)
    except csv.Error as error:
        raise DamagedError("its RECORD cannot be read") from error


def _rows(rows: Iterable[list[str]], signed: set[str]) -> Iterator[tuple[str, tuple[str, int]]]:
    seen = set()
    for row in filter(None, rows):
        path = safe_path(row[0])
        if path in seen:
            raise DamagedError(f"its RECORD lists {shown(path)} twice")
        seen.add(path)
        if path in signed:
            continue
        match = _RECORD_HASH.fullmatch(row[1]) if len(row) == 3 else None
        if match is None or not _RECORD_SIZE.fullmatch(row[2]):
            raise DamagedError(f"its RECORD states no sha256 and size of {shown(path)}")
        yield path, (base64.urlsafe_b64decode(match[1] + "=").hex(), int(row[2]))

"""conda packages, `.tar.bz2` and `.conda`: identity from `info/index.json`, and their file list.

Metadata formats: conda-build's documentation, "Package metadata"; `.conda`: CEP 27 and the
conda-package-streaming documentation.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from contextlib import closing
from typing import Any, ClassVar

from conda_package_streaming.package_streaming import CondaComponent, tar_generator

from cudaswitch.archives.components import (
    CUDA_NUMBERED,
    component_of,
    evidence,
    is_settled,
    named_component,
)
from cudaswitch.archives.conda_lists import (
    FILES,
    HAS_PREFIX,
    NO_LINK,
    PATHS,
    Listed,
    complete,
    json_object,
    read_list,
)
from cudaswitch.archives.faults import DamagedError, ForeignError, UnsafeError, shown
from cudaswitch.archives.layout import Layout, checked_package, cuda_release, whole
from cudaswitch.archives.limits import FILE_LIST_BYTES, METADATA_BYTES, Budget
from cudaswitch.archives.members import Member
from cudaswitch.archives.placing import Placing
from cudaswitch.archives.streams import Source, decoded
from cudaswitch.archives.tarball import Pieces, TarReader
from cudaswitch.archives.threads import ahead
from cudaswitch.archives.zips import Record, ZipDirectory
from cudaswitch.errors import RequestError
from cudaswitch.toolkit import METAPACKAGE, Package
from cudaswitch.versions import Version, parse_request

INDEX = "info/index.json"
WANTED = {
    INDEX: METADATA_BYTES,
    PATHS: FILE_LIST_BYTES,
    FILES: METADATA_BYTES,
    HAS_PREFIX: METADATA_BYTES,
    NO_LINK: METADATA_BYTES,
}
_BY_ARCH = {
    ("linux", "x86_64"): "linux-64",
    ("linux", "aarch64"): "linux-aarch64",
    ("win", "x86_64"): "win-64",
}
"""(`platform`, `arch`) → platform, for packages that predate `subdir`."""
CUDA_DEPENDENCIES = ("cuda-version", "cudatoolkit")

_MAYBE_EMPTY = ("cuda", "nvcc", "cudart", "cudnn")
"""Components whose names conda-forge has given to packages, too, that only depend on others."""
_DEPENDENCY = re.compile(r"\s*([A-Za-z0-9_.-]+)\s*(\S*)")
_BOUND = re.compile(r"(>=|<=|==|!=|>|<|=)?([0-9]+(?:\.[0-9]+)*)(?:\.?\*)?(?:\.?[a-z][a-z0-9]*)?")
_BUILD_CUDA = re.compile(r"cuda_?([0-9]{1,2}\.[0-9]{1,2}|[0-9]{2,3})(?![0-9])")


class CondaLayout(Layout):
    aside: ClassVar[str | None] = "info"

    def __init__(self, source: Source, file_name: str) -> None:
        super().__init__(source, file_name)
        self._index: dict[str, Any] | None = None
        self._listed: dict[str, Listed] | None = None

    def wanted(self, member: Member) -> int:
        return whole(member, WANTED[member.path]) if member.path in WANTED else 0

    def take(self, path: str, data: bytes) -> None:
        super().take(path, data)
        if path == INDEX:
            self._index = json_object(data, INDEX)

    def is_known(self) -> bool:
        if self._index is None:
            return False
        name, texts = _string(self._index, "name"), self.witness.texts
        if PATHS in texts or is_settled(name, self.witness.proofs):
            return True
        # For nvcc and cudart, only PATHS tells whether they have files of their own or just links.
        return FILES in texts and named_component(name) not in ("nvcc", "cudart")

    def package(self) -> Package:
        index = self._index
        if index is None:
            raise ForeignError("is not a conda package: it has no info/index.json")
        name, build = _string(index, "name"), _string(index, "build")
        version = Version(_string(index, "version"))
        listed = self.listed()
        types = {each.type for each in listed.values()} if listed is not None else {None}
        named = named_component(name)
        # An earlier `libcudnn-dev` was links alone.
        is_empty = not types if named == "cudnn" else not types & {"file", None}
        if named in _MAYBE_EMPTY and is_empty:
            component = METAPACKAGE
        else:
            component = component_of(name, self.witness.proofs.union(*map(evidence, listed or ())))
        return checked_package(
            Package(
                name=name,
                version=version,
                build=build,
                platform=_platform(index),
                component=component,
                cuda=built_for(component, version, index.get("depends", []), build),
                form=self.form,
            )
        )

    def listed(self) -> dict[str, Listed] | None:
        """Return the package's own file list; None until it has been seen, or if there is none."""
        if self._listed is None:
            self._listed = read_list(self.witness.texts)
        return self._listed

    def expect(self, member: Member) -> None:
        if PATHS not in self.witness.texts or member.kind != "file" or _in_info(member.path):
            return
        listed = (self.listed() or {}).get(member.path)
        if listed is None:
            raise DamagedError(f"{shown(member.path)} is not in its file list")
        if listed.size not in (None, member.size):
            raise DamagedError(
                f"{shown(member.path)} does not have the size that its file list states"
            )

    def verify(self, placed: Placing) -> None:
        self._listed = None  # the list that CondaZip read ahead was not part of the hashed pass
        complete(placed, self.listed(), self.witness.texts)


class CondaTarball(CondaLayout):
    """`.tar.bz2`: one tar of everything."""

    form = "conda-tar-bz2"

    def members(self) -> Generator[Member, None, None]:
        yield from _tar_members(self.source.pieces(), "bzip2")

    glance = members


class CondaZip(CondaLayout):
    """`.conda`: a zip of two tars, `info-*` and `pkg-*`, and a file that states the format."""

    form = "conda"

    def __init__(self, source: Source, file_name: str, directory: ZipDirectory) -> None:
        super().__init__(source, file_name)
        self._directory = directory
        names = {record.name for record in directory.records}
        stem = next(name for name in names if name.startswith("info-"))[len("info-") :]
        self._components = {f"{component}-{stem}": component for component in CondaComponent}
        if names != {"metadata.json", *self._components} or "/" in stem:
            raise UnsafeError("it has members that a .conda package does not have")

    def glance(self) -> Generator[Member, None, None]:
        # The caller reaches `pkg` only if `info` has no list of its files.
        for component in (CondaComponent.info, CondaComponent.pkg):
            yield from self._look(component)

    def _look(self, component: CondaComponent) -> Generator[Member, None, None]:
        for record in self._directory.records:
            if self._components.get(record.name) == component:
                yield from self._component(record, self._directory.contents(record))

    def members(self) -> Generator[Member, None, None]:
        self._look_at_list()
        with closing(self._directory.walk()) as records:
            for record, content in records:
                if record.name == "metadata.json":
                    _check_format(record, content)
                else:
                    yield from self._component(record, content)

    def _look_at_list(self) -> None:
        """Read the file list ahead, as it comes last in the file: sizes are needed before that."""
        budget = Budget.for_archive(self.source.size)
        with closing(self._look(CondaComponent.info)) as members:
            for member in budget.watch(members):
                if member.path in (PATHS, FILES) and self.wanted(member):
                    self.witness.texts[member.path] = b"".join(member.content)
        self.source.rewind()

    def _component(self, record: Record, content: Iterator[bytes]) -> Generator[Member, None, None]:
        info = self._components[record.name] == CondaComponent.info
        # Closed here, as an interrupt while Python cleans it up by itself would be lost.
        with closing(_tar_members(content, "zstd")) as members:
            for member in members:
                if member.path and _in_info(member.path) != info:
                    raise UnsafeError(f"{shown(member.path)} is in the wrong part of the package")
                yield member


def _tar_members(pieces: Iterator[bytes], form: str) -> Generator[Member, None, None]:
    # conda's own walk over a component, but with a reader stricter than tarfile.
    with closing(ahead(decoded(pieces, form))) as stream:
        for _, member in tar_generator(Pieces(stream), tarfile_open=TarReader.open):
            yield member


def _check_format(record: Record, content: Iterator[bytes]) -> None:
    if record.size > METADATA_BYTES:
        raise UnsafeError(f"{shown(record.name)} is larger than metadata can be")
    version = json_object(b"".join(content), record.name).get("conda_pkg_format_version")
    if version != 2:
        raise ForeignError("is a .conda package in a format that cudaswitch does not know")


def _in_info(path: str) -> bool:
    return path == "info" or path.startswith("info/")


def _string(index: dict[str, Any], key: str) -> str:
    value = index.get(key)
    if not isinstance(value, str) or not value:
        raise DamagedError(f"`{INDEX}` states no {key}")
    return value


def _platform(index: dict[str, Any]) -> str:
    if index.get("subdir") is not None:
        return _string(index, "subdir")[:80]
    platform, arch = index.get("platform"), index.get("arch")
    if platform is None and arch is None:
        return "noarch"
    known = _BY_ARCH.get((str(platform), str(arch)))
    return known or f"{platform}-{arch}"[:80]


def built_for(component: str, version: Version, depends: Any, build: str) -> str | None:
    """Return which CUDA a package was built for, as a request text, or None."""
    if component == "cuda":
        return None
    if component in CUDA_NUMBERED:
        return cuda_release(version)
    specs = {}
    for dependency in depends if isinstance(depends, list) else []:
        match = _DEPENDENCY.match(dependency) if isinstance(dependency, str) else None
        if match and match[1] in CUDA_DEPENDENCIES:
            specs[match[1]] = _request_text(match[2])
    stated = [text for name in CUDA_DEPENDENCIES if (text := specs.get(name))]
    if stated:
        return next((text for text in stated if not text[0].isdigit()), stated[0])
    match = _BUILD_CUDA.search(build)
    return _release_of_tag(match[1]) if match else None


def _release_of_tag(tag: str) -> str:
    """Read the CUDA in a build string: `10.1`, `101` and `92` are releases, `11` is a major."""
    if "." in tag or (len(tag) == 2 and 10 <= int(tag) < 30):
        return tag
    return f"{tag[:-1]}.{tag[-1]}"


def _request_text(spec: str) -> str | None:
    """Return a conda version spec as a request text; None when no request can express it."""
    alternatives = {_alternative(part) for part in spec.split("|")}
    return alternatives.pop() if len(alternatives) == 1 else None


def _alternative(spec: str) -> str | None:
    bounds = [_BOUND.fullmatch(part.strip()) for part in spec.split(",")]
    parts = [(bound[1] or "=", bound[2]) for bound in bounds if bound]
    if not parts or len(parts) != len(bounds):
        return None
    exact = [version for operator, version in parts if operator in ("=", "==")]
    text = exact[0] if exact else ",".join(operator + version for operator, version in parts)
    try:
        return parse_request(text).text
    except RequestError:
        return None

"""Conda packages and channels, laid out as conda-build 3 writes them.

Source of the layout: conda-build's `create_info_files` (info/index.json, paths.json, files,
has_prefix, no_link, about.json) and conda-package-streaming for the outer `.conda` archive.
"""

from __future__ import annotations

import bz2
import hashlib
import json
import shutil
import tarfile
import tempfile
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal

from conda_package_streaming.create import conda_builder
from conda_package_streaming.package_streaming import stream_conda_component

from builders.tree import File, Link, Tree, write_tree

Form = Literal["tar.bz2", "conda"]
FORMS: tuple[Form, ...] = ("tar.bz2", "conda")

PLACEHOLDER = ("/opt/conda/conda-bld/x_1570000000000/_h_env" + "_placehold" * 25)[:255]
"""A build prefix of 255 characters, the length that conda-build pads to for binary files."""

_TIMESTAMP = 1570000000000
_BZ2_PIECE = 8 << 20


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _path_entry(root: Path, name: str, files: Tree) -> dict[str, Any]:
    """Describe one path; a link gets hash and size of what it leads to, as with conda-build."""
    path, content = root / name, files[name]
    entry: dict[str, Any] = {
        "_path": name,
        "path_type": "softlink" if isinstance(content, Link) else "hardlink",
        "sha256": _sha256(path) if path.is_file() else hashlib.sha256().hexdigest(),
        "size_in_bytes": path.stat().st_size if path.is_file() else 0,
    }
    if isinstance(content, File) and content.placeholder:
        entry |= {"prefix_placeholder": content.placeholder, "file_mode": content.mode}
    if isinstance(content, File) and content.no_link:
        entry["no_link"] = True
    return entry


def _json(data: object) -> bytes:
    return json.dumps(data, indent=2, sort_keys=True).encode()


def _info(root: Path, index: dict[str, Any], files: Tree) -> dict[str, bytes]:
    """Return the members below info/."""
    names = sorted(files)
    described = {name: content for name, content in files.items() if isinstance(content, File)}
    prefixed = [
        f"{content.placeholder} {content.mode} {name}\n"
        for name, content in sorted(described.items())
        if content.placeholder
    ]
    unlinked = [f"{name}\n" for name, content in sorted(described.items()) if content.no_link]
    paths = {"paths": [_path_entry(root, name, files) for name in names], "paths_version": 1}
    about = {"conda_build_version": "3.18.9", "conda_version": "4.7.12", "license": "proprietary"}
    members = {
        "info/about.json": _json(about | {"root_pkgs": [], "summary": index["name"]}),
        "info/files": "".join(f"{name}\n" for name in names).encode(),
        "info/git": b"",
        "info/hash_input.json": _json({"target_platform": index["subdir"]}),
        "info/index.json": _json(index),
        "info/paths.json": _json(paths),
        "info/recipe/meta.yaml": f"package:\n  name: {index['name']}\n".encode(),
    }
    if prefixed:
        members["info/has_prefix"] = "".join(prefixed).encode()
    if unlinked:
        members["info/no_link"] = "".join(unlinked).encode()
    return members


def _add_members(tar: tarfile.TarFile, root: Path, names: Iterable[str]) -> None:
    for name in names:
        member = tar.gettarinfo(str(root / name), name)
        member.uid = member.gid = 0
        member.uname = member.gname = "root"
        if member.isreg():
            with (root / name).open("rb") as content:
                tar.addfile(member, content)
        else:
            tar.addfile(member)


def _write_bz2(target: Path, root: Path, names: Sequence[str]) -> None:
    """Write a `.tar.bz2`; a large one in several streams, which is allowed and uses every core."""
    with tempfile.TemporaryFile() as plain, ThreadPoolExecutor() as pool:
        with tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as tar:
            _add_members(tar, root, names)
        plain.seek(0)
        pieces = iter(lambda: plain.read(_BZ2_PIECE), b"")
        with target.open("wb") as out:
            for piece in pool.map(lambda data: bz2.compress(data, 1), pieces):
                out.write(piece)


def _write_conda(target: Path, root: Path, names: Sequence[str]) -> None:
    with conda_builder(
        target.name.removesuffix(".conda"),
        target.parent,
        compression_level=1,
        compression_threads=2,
    ) as tar:
        _add_members(tar, root, names)


_WRITERS = {"tar.bz2": _write_bz2, "conda": _write_conda}


def conda_package(  # packages are usually described by five words in this order
    directory: Path,
    name: str,
    version: str,
    build: str,
    subdir: str,
    files: Tree,
    *,
    depends: Sequence[str] = (),
    constrains: Sequence[str] = (),
    form: Form = "tar.bz2",
) -> Path:
    """Write `directory/<name>-<version>-<build>.<form>` and return its path.

    Text and binary placeholders and `no_link` come with the files, see `File`.
    """
    system, _, bits = subdir.partition("-")
    index = {
        "arch": {"64": "x86_64"}.get(bits, bits),
        "build": build,
        "build_number": int(build.rpartition("_")[2]),
        "constrains": list(constrains),
        "depends": list(depends),
        "license": "proprietary",
        "name": name,
        "platform": system,
        "subdir": subdir,
        "timestamp": _TIMESTAMP,
        "version": version,
    }
    directory.mkdir(parents=True, exist_ok=True)
    target = directory / f"{name}-{version}-{build}.{form}"
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        write_tree(root, files)
        info = _info(root, index, files)
        write_tree(root, info)
        _WRITERS[form](target, root, [*sorted(info), *sorted(files)])
    return target


def index_of(package: Path) -> dict[str, Any]:
    """Return the info/index.json of a conda package, read by conda-package-streaming."""
    with package.open("rb") as stream:
        for tar, member in stream_conda_component(package.name, stream, component="info"):
            if member.name == "info/index.json":
                content = tar.extractfile(member)
                assert content is not None
                index: dict[str, Any] = json.load(content)
                return index
    raise AssertionError(f"{package} has no info/index.json")


def local_channel(directory: Path, packages: Iterable[Path]) -> Path:
    """Lay `packages` out as a channel with repodata.json, and return the channel's folder.

    Packages keep the subdir that they state; `noarch` is always there, because every client
    asks for it.
    """
    repodata: dict[str, dict[str, dict[str, Any]]] = {"noarch": {}}
    for package in packages:
        index = index_of(package)
        folder = directory / index["subdir"]
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(package, folder)
        md5 = hashlib.md5(package.read_bytes()).hexdigest()
        facts = {"md5": md5, "sha256": _sha256(package), "size": package.stat().st_size}
        repodata.setdefault(index["subdir"], {})[package.name] = index | facts
    for subdir, records in repodata.items():
        content = {
            "info": {"subdir": subdir},
            "packages": {k: v for k, v in records.items() if k.endswith(".tar.bz2")},
            "packages.conda": {k: v for k, v in records.items() if k.endswith(".conda")},
            "removed": [],
            "repodata_version": 1,
        }
        (directory / subdir).mkdir(parents=True, exist_ok=True)
        (directory / subdir / "repodata.json").write_bytes(_json(content))
    return directory

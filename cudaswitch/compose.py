"""Compose a toolkit from packages by links: one folder that is CUDA_HOME, no byte twice."""

from __future__ import annotations

import json
import os
import posixpath
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from cudaswitch.binaries import read_elf
from cudaswitch.durable import NO_HARD_LINKS, make_link
from cudaswitch.elf import ElfError
from cudaswitch.errors import StoreError
from cudaswitch.namedtuples import NamedTuple
from cudaswitch.paths import CONTENTS, MANIFEST
from cudaswitch.regular import BASE
from cudaswitch.toolkit import Entry, Package, parents, platform_of
from cudaswitch.versions import Version

PLACED_BYTES = 64 << 20
"""Size limit of files that the toolkit's path is written into: they are held in memory."""

_SONAME = re.compile(r"(lib.+\.so)\.[0-9.]+")
_CUDNN_TO_BUILD_WITH = re.compile(r"include/cudnn[^/]*\.h|lib64/libcudnn[^/]*\.a")
"""Files of a cuDNN copied into the base toolkit that are not linked: builds would mix them with the
cuDNN laid over it. Its numbered libraries are linked, for programs built with it."""

REAL_FOLDERS = frozenset({"", "bin", "lib64", "include", "nvvm", "nvvm/lib64", "targets"})
"""Folders of a composed toolkit that are never a link, because packages meet in them, links are
added or, for `bin`, because nvcc looks for its parts beside the folder that it was called in."""

_LIBRARY_FOLDER = re.compile(r"(?:targets/[^/]+/|(?:cuda_)?cccl/)?lib(?:64)?/(.+)")
_INCLUDE_FOLDER = re.compile(r"targets/[^/]+/include/(.+)")
_FOLDER_LINK = re.compile(r"lib|lib64|include|targets/[^/]+(?:/(?:lib|lib64|include))?")
_TRIPLES = {"linux-64": "x86_64-linux", "linux-aarch64": "sbsa-linux"}


def place(package: Package, path: str) -> str | None:
    """Tell where a package's file belongs in a composed toolkit, None for nowhere.

    Libraries go to `lib64` and headers to `include`, whether the maker keeps them in
    `lib`, `lib64` or `targets/<triple>`; win-64 packages keep their layout. CCCL's wheels from
    13.2 on have a `lib` of their own, whose CMake files look for headers beside the common one.
    """
    inside = _inside(package, path)
    if inside is None or package.platform == "win-64":
        return inside
    if _FOLDER_LINK.fullmatch(inside):
        return None
    for pattern, folder in ((_LIBRARY_FOLDER, "lib64"), (_INCLUDE_FOLDER, "include")):
        match = pattern.fullmatch(inside)
        if match:
            return f"{folder}/{match[1]}"
    return inside


def _inside(package: Package, path: str) -> str | None:
    """Return a path of a package below its root, None for one that is not there."""
    if package.root and not path.startswith(package.root + "/"):
        return None
    return path[len(package.root) + 1 :] if package.root else path


class _Leaf(NamedTuple):
    """One file of one package, and where it is in the store."""

    package: Package
    entry: Entry
    source: Path


def compose(
    parts: Sequence[tuple[Package, Path]],
    target: Path,
    final: Path,
    version: Version,
    base: Path | None,
) -> dict[str, Entry]:
    """Fill the empty folder `target` with a toolkit composed of `parts`.

    `parts` are packages with the folders that hold their files; if two bring the same path, the
    first wins. `final` is the path that the folder will have, which replaces conda's
    placeholders. `version` is that of the CUDA toolkit.
    `base`, if any, is a toolkit elsewhere that the parts are laid over, by symbolic links to it.
    Returns the packages' files that have a place of their own in `target`, by that place.
    Raises StoreError if a placeholder cannot hold the path.
    """
    leaves: dict[str, _Leaf] = {}
    whole: dict[str, set[str]] = {}
    for package, tree in parts:
        for entry in package.entries:
            inside, where = _inside(package, entry.path), place(package, entry.path)
            # conda-forge has links in lib/ to files below targets/; here, both are one place.
            if inside is None or where is None or _leads_to_itself(package, entry, where):
                continue
            for folder in parents(where):
                whole.setdefault(folder, set()).add(package.id)
            if where in leaves or entry.copy or entry.placeholder or where != inside:
                for folder in (*parents(where), *parents(inside)):
                    whole.setdefault(folder, set()).add("")
            for folder in _left_by(package, entry, where):
                whole[folder].add("")
            leaves.setdefault(where, _Leaf(package, entry, tree / entry.path))
    # Where one package has a folder and another a link of that name, the link wins.
    leaves = {at: leaf for at, leaf in leaves.items() if leaves.keys().isdisjoint(parents(at))}
    linked = _link_whole_folders(leaves, whole, target) if base is None else set()
    placed = {}
    for where, leaf in leaves.items():
        if not any(folder in linked for folder in parents(where)):
            _place(leaf, where, target, final)
            if leaf.entry.target is None:
                placed[where] = leaf.entry
    platform = platform_of(package for package, _ in parts)
    if base is not None:
        # `-lcudnn` must mean the packages' library, even if they lack the unversioned name.
        _name_libraries(target)
        _fill_up(base, target, platform)
    if platform in _TRIPLES:
        _make_usual(target, platform, version)
    return placed


def _fill_up(base: Path, target: Path, platform: str) -> None:
    """Link to everything in the toolkit at `base` that `target` does not have itself."""
    make_link(target / BASE, base)
    triple = _TRIPLES[platform]
    gathered = {
        base / "lib64": "lib64",
        base / "lib": "lib64",
        base / "targets" / triple / "lib": "lib64",
        base / "include": "include",
        base / "targets" / triple / "include": "include",
    }
    for there, where in gathered.items():
        if os.path.isdir(there):
            _merge(there, target, where)
    for there in (*sorted(base.iterdir()), *sorted(base.glob("targets/*/*"))):
        if there not in gathered and there.name not in ("targets", MANIFEST, CONTENTS):
            _merge(there, target, there.relative_to(base).as_posix())


def links_to(base: str, folder: Path) -> dict[Path, str]:
    """Map each link of a composed toolkit that leads into its base, by place, to its target."""
    links = {at: os.readlink(at) for at in folder.rglob("*") if os.path.islink(at)}
    return {at.relative_to(folder): to for at, to in links.items() if to.startswith(base)}


def _merge(there: Path, target: Path, where: str) -> None:
    """Link the place `where` to `there`; if it is a real folder of ours, go inside."""
    if _CUDNN_TO_BUILD_WITH.fullmatch(where):
        return
    here = target / where
    if not os.path.lexists(here) and where not in REAL_FOLDERS:
        here.parent.mkdir(parents=True, exist_ok=True)
        make_link(here, there)
    elif os.path.isdir(there) and not os.path.islink(here):
        here.mkdir(exist_ok=True)
        for child in sorted(there.iterdir()):
            _merge(child, target, f"{where}/{child.name}")


def _link_whole_folders(
    leaves: dict[str, _Leaf], whole: dict[str, set[str]], target: Path
) -> set[str]:
    """Link each topmost folder that a single package provides; return their names."""
    linked: set[str] = set()
    for where, leaf in leaves.items():
        for folder in parents(where):
            if folder in linked:
                break
            if (
                folder in REAL_FOLDERS
                or folder.startswith("targets")
                or whole[folder] != {leaf.package.id}
            ):
                continue
            source = leaf.source
            for _ in range(where.count("/") - folder.count("/")):
                source = source.parent
            link = target / folder
            link.parent.mkdir(parents=True, exist_ok=True)
            make_link(link, _relative(source, link.parent, target))
            linked.add(folder)
            break
    return linked


def _relative(source: Path, folder: Path, target: Path) -> str:
    """Spell a link so that the store can be moved as a whole.

    `target` is staged one level below the store's root, as deep as its final place, so
    that the spelling holds there too.
    """
    store = target.parent.parent
    if source.is_relative_to(store):
        return os.path.relpath(source, folder)
    return str(source)


def _place(leaf: _Leaf, where: str, target: Path, final: Path) -> None:
    path = target / where
    path.parent.mkdir(parents=True, exist_ok=True)
    entry = leaf.entry
    if entry.target is not None:
        make_link(path, _retarget(leaf.package, entry, where))
    elif entry.placeholder:
        if entry.size > PLACED_BYTES:
            raise StoreError(
                f"`{entry.path}` of {leaf.package.id} is too large to have a path written into it",
                "get the package from its publisher",
            )
        path.write_bytes(replaced(leaf.source.read_bytes(), entry, str(final)))
        path.chmod(0o755 if entry.executable else 0o644)
    elif entry.copy:
        import shutil  # noqa: PLC0415  # slow to load, and hard links do not need it

        shutil.copy2(leaf.source, path)
    else:
        try:
            os.link(leaf.source, path)
        except OSError as error:
            if error.errno not in NO_HARD_LINKS:
                raise
            # Another file system, one without hard links, or too many links to this file.
            make_link(path, _relative(leaf.source, path.parent, target))


def _leads_to_itself(package: Package, entry: Entry, where: str) -> bool:
    """Tell whether a link and its target have the same place in the toolkit."""
    if entry.target is None:
        return False
    return posixpath.basename(where) == _retarget(package, entry, where)


def _left_by(package: Package, entry: Entry, where: str) -> Iterator[str]:
    """Yield the folders that a link leads out of: linked whole, they would keep it in its package.

    What it leads to may be in another one, or have the toolkit's path written into it.
    """
    if entry.target is not None:
        retargeted = posixpath.join(posixpath.dirname(where), _retarget(package, entry, where))
        meant = posixpath.normpath(retargeted)
        yield from (each for each in parents(where) if not meant.startswith(f"{each}/"))


def _retarget(package: Package, entry: Entry, where: str) -> str:
    """Return the target of a package's own link as seen from its place in the toolkit."""
    if entry.target is None or entry.target.startswith("/"):
        return entry.target or ""
    meant = posixpath.normpath(posixpath.join(posixpath.dirname(entry.path), entry.target))
    # Folders such as `lib` are there in every toolkit, though none is a package's own.
    placed = place(package, meant) or _inside(package, meant)
    if placed is None:
        return entry.target
    # As absolute paths: the working directory, which may be gone, does not matter then.
    return posixpath.relpath(f"/{placed}", f"/{posixpath.dirname(where)}")


def replaced(content: bytes, entry: Entry, prefix: str) -> bytes:
    """Replace conda's placeholder by `prefix`; in binary files, no other byte moves."""
    old, new = (entry.placeholder or "").encode(), prefix.encode()
    if entry.mode != "binary":
        if len(content) + content.count(old) * (len(new) - len(old)) > PLACED_BYTES:
            raise StoreError(
                f"`{entry.path}` contains its placeholder so often that it would grow too large",
                "get the package from its publisher",
            )
        return content.replace(old, new)
    if len(new) > len(old):
        raise StoreError(
            f"`{prefix}` is too long for `{entry.path}`, which has room for {len(old)} bytes",
            "choose a shorter CUDASWITCH_HOME",
        )

    def padded(match: re.Match[bytes]) -> bytes:
        text = match[0]
        return text.replace(old, new).ljust(len(text), b"\0")

    return re.sub(re.escape(old) + rb"[^\0]*(?=\0|$)", padded, content)


def _make_usual(target: Path, platform: str, version: Version) -> None:
    """Add what build tools take for granted and packages of some makers leave out."""
    for folder in ("bin", "lib64", "include"):
        (target / folder).mkdir(exist_ok=True)
    _link(target / "lib", "lib64")
    triple = target / "targets" / _TRIPLES[platform]
    triple.mkdir(parents=True, exist_ok=True)
    _link(triple / "include", "../../include")
    _link(triple / "lib", "../../lib64")
    _name_libraries(target)
    # conda's single package from before CUDA 12 keeps these beside the libraries.
    for file in sorted((target / "lib64").glob("libdevice.*.bc")):
        _link(target / "nvvm" / "libdevice" / file.name, f"../../lib64/{file.name}")
    for file in sorted((target / "lib64").glob("libnvvm.so*")):
        _link(target / "nvvm" / "lib64" / file.name, f"../../lib64/{file.name}")
    _number_nvvm(target / "nvvm" / "lib64" / "libnvvm.so")
    if not os.path.lexists(target / "version.json"):
        said = {"cuda": {"name": "CUDA SDK", "version": str(version)}}
        (target / "version.json").write_text(json.dumps(said, indent=2) + "\n", encoding="utf-8")


def _name_libraries(target: Path) -> None:
    """Link names without numbers: `-lcudart` needs them, and wheels bring only libcudart.so.13."""
    folder = target / "lib64"
    names = sorted(file.name for file in folder.glob("lib*"))
    for match in filter(None, map(_SONAME.fullmatch, names)):
        _link(folder / match[1], match[0])


def _number_nvvm(bare: Path) -> None:
    """Link libNVVM under its SONAME, which CUDA 12's wheel lacks: Numba looks for a number."""
    with suppress(OSError, ElfError):
        name = read_elf(bare).soname or ""
        if re.fullmatch(r"libnvvm\.so\.\d{1,2}", name):
            _link(bare.with_name(name), bare.name)


def _link(path: Path, to: str) -> None:
    if os.path.islink(path.parent) or os.path.lexists(path):
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    make_link(path, to)

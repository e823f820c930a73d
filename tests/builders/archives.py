"""Archives as NVIDIA publishes them: one top folder in a compressed tar; and Python wheels."""

from __future__ import annotations

import base64
import hashlib
import tarfile
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

from builders.tree import Link, Tree, write_tree


def tar_archive(target: Path, top: str, tree: Tree) -> Path:
    """Write `tree` below the folder `top` to `target`; the suffix decides the compression.

    Members are owned by root and sorted, folders included, as `tar` leaves them.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        write_tree(Path(folder) / top, tree)
        with _open_tar(target) as tar:
            tar.add(Path(folder) / top, top, filter=_owned_by_root)
    return target


def _open_tar(target: Path) -> tarfile.TarFile:
    """Open `target` for writing, at the compressor's fastest level."""
    if target.suffix == ".xz":
        return tarfile.open(target, "w:xz", preset=0)
    return tarfile.open(target, "w:gz", compresslevel=1)


def _owned_by_root(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = "root"
    return member


def wheel(
    directory: Path,
    name: str,
    version: str,
    tag: str,
    *,
    tree: Tree,
    requires: Sequence[str] = (),
) -> Path:
    """Write a wheel and return its path; `name` is the project's, with hyphens.

    Executables are stored as 0744, as in NVIDIA's wheels (a plain unzip would leave them
    without the execute bit); wheels cannot hold links, so `tree` must have none.
    """
    assert not any(isinstance(content, Link) for content in tree.values()), "a link in a wheel"
    stem = f"{name.replace('-', '_')}-{version}"
    metadata = [
        "Metadata-Version: 2.4",
        f"Name: {name}",
        f"Version: {version}",
        f"Summary: {name}",
        "Requires-Python: >=3",
        *(f"Requires-Dist: {other}" for other in requires),
    ]
    platforms = tag.rpartition("-")[2].split(".")
    python = tag.rpartition("-")[0]
    about = [
        "Wheel-Version: 1.0",
        "Generator: setuptools (80.9.0)",
        "Root-Is-Purelib: true",
        *(f"Tag: {python}-{platform}" for platform in platforms),
    ]
    info = f"{stem}.dist-info"
    members = dict(tree) | {
        f"{info}/METADATA": "\n".join([*metadata, "", ""]).encode(),
        f"{info}/WHEEL": "\n".join([*about, "", ""]).encode(),
        f"{info}/top_level.txt": b"nvidia\n",
    }
    directory.mkdir(parents=True, exist_ok=True)
    target = directory / f"{stem}-{tag}.whl"
    with (
        tempfile.TemporaryDirectory() as folder,
        zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
    ):
        root = Path(folder)
        write_tree(root, members)
        record = [_add(archive, root, member) for member in members]
        (root / info / "RECORD").write_text("\n".join([*record, f"{info}/RECORD,,", ""]))
        _add(archive, root, f"{info}/RECORD")
    return target


def _add(archive: zipfile.ZipFile, root: Path, name: str) -> str:
    """Add one file and return its line for RECORD."""
    path = root / name
    content = path.read_bytes()
    member = zipfile.ZipInfo.from_file(path, name)
    member.compress_type = zipfile.ZIP_DEFLATED
    mode = 0o744 if path.stat().st_mode & 0o100 else 0o644
    member.external_attr = (0o100000 | mode) << 16
    archive.writestr(member, content)
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(content)}"

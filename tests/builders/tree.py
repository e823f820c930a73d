"""Trees of files as data, so that one description can become any kind of archive."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal


@dataclass(frozen=True)
class Link:
    """A symbolic link to `target`, taken as written."""

    target: str


@dataclass(frozen=True)
class File:
    """A file with more to say than its bytes.

    `placeholder` is the build prefix that conda replaces when it links the package, `mode`
    how it does so (conda's `file_mode`); `no_link` asks for a copy instead of a hard link.
    """

    content: bytes
    executable: bool = False
    placeholder: str | None = None
    mode: Literal["text", "binary"] = "text"
    no_link: bool = False


Content = bytes | File | Link | Path
"""Bytes, a described file, a link, or a file somewhere else to copy with its mode."""

Tree = Mapping[str, Content]
"""Relative paths with `/`, and what is there."""


def write_tree(root: Path, tree: Tree) -> None:
    """Write `tree` below `root`, files 0644 or 0755."""
    for name, content in tree.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        executable = False
        if isinstance(content, Link):
            path.symlink_to(content.target)
            continue
        if isinstance(content, Path):
            shutil.copyfile(content, path)
            executable = bool(content.stat().st_mode & 0o100)
        elif isinstance(content, File):
            path.write_bytes(content.content)
            executable = content.executable
        else:
            path.write_bytes(content)
        path.chmod(0o755 if executable else 0o644)


def versioned(folder: str, library: str, soname: str, full: str, content: Content) -> Tree:
    """Return a library as Linux ships it: `libX.so` -> `libX.so.<soname>` -> `libX.so.<full>`.

    If soname and full version are the same, there is one link less.
    """
    tree: dict[str, Content] = {f"{folder}/{library}.so.{full}": content}
    if soname != full:
        tree[f"{folder}/{library}.so.{soname}"] = Link(f"{library}.so.{full}")
    tree[f"{folder}/{library}.so"] = Link(f"{library}.so.{soname}")
    return tree

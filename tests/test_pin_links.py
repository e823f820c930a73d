"""`pin --dir` where `.cuda-version` is a link, or no file at all."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from checks import refused, succeeded
from homes import Home
from tools import root_only


def test_a_version_file_that_is_a_link_is_written_where_it_leads(
    stocked: Home, tmp_path: Path
) -> None:
    kept, tree = tmp_path / "kept", tmp_path / "tree"
    kept.mkdir()
    tree.mkdir()
    link = tree / ".cuda-version"
    link.symlink_to("../kept/dot-cuda-version")
    for had in (None, "11.8\n"):
        if had:
            (kept / "dot-cuda-version").write_text(had)
        succeeded(stocked.run("pin", "10.1", "--dir", tree))
        assert link.is_symlink()
        assert (kept / "dot-cuda-version").read_text() == "10.1\n"
    succeeded(stocked.run("unpin", "--dir", tree))
    assert not os.path.lexists(link)
    assert (kept / "dot-cuda-version").exists()


@pytest.mark.parametrize(
    ("leads", "said"),
    [
        ("../mine", "is a link to some other kind of file"),
        ("../pipe/cuda-version", "is a link to some other kind of file"),
        ("../gone/cuda-version", "which does not exist"),
        ("nowhere", "which does not exist"),
        (None, "is not a regular file"),
    ],
)
def test_what_is_no_place_for_a_version(
    stocked: Home, tmp_path: Path, leads: str | None, said: str
) -> None:
    """`pin` writes to no strange file through a link, which may have come with a project."""
    tree = tmp_path / "tree"
    for folder in (tree, tmp_path / "pipe"):
        folder.mkdir()
    (tmp_path / "mine").write_text("mine\n")
    os.mkfifo(tmp_path / "pipe/cuda-version")
    file = tree / ".cuda-version"
    if leads:
        file.symlink_to(leads)
    else:
        os.mkfifo(file)
    refused(stocked.run("pin", "10.1", "--dir", tree), f"`{file}`", said)
    stocked.run("unpin", "--dir", tree)
    assert (tmp_path / "mine").read_text() == "mine\n"
    assert stat.S_ISFIFO((tmp_path / "pipe/cuda-version").stat().st_mode)
    assert os.path.lexists(file) == (leads is None)


@root_only
def test_a_link_of_somebody_else_is_not_followed(stocked: Home, tmp_path: Path) -> None:
    """Another user's link is replaced, not followed: it may lead to a file of this user's."""
    tree = tmp_path / "tree"
    tree.mkdir()
    (tmp_path / "cuda-version").write_text("11.8\n")
    file = tree / ".cuda-version"
    file.symlink_to("../cuda-version")
    os.chown(file, 65534, 65534, follow_symlinks=False)
    succeeded(stocked.run("pin", "10.1", "--dir", tree))
    assert not file.is_symlink()
    assert file.read_text() == "10.1\n"
    assert (tmp_path / "cuda-version").read_text() == "11.8\n"

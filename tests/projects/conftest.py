"""A project, a channel that has what it needs, and two machines."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import builders
from checks import succeeded
from folder_server import FolderServer
from homes import Home, make_home


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / ".cuda-version").write_text("cuda 10.1\ncudnn 7.6\n")
    return folder


@pytest.fixture
def channel(tmp_path: Path, pair: list[Path]) -> Iterator[FolderServer]:
    builders.local_channel(tmp_path / "tree/lab", pair)
    with FolderServer(tmp_path / "tree") as server:
        yield server


@pytest.fixture
def machines(tmp_path: Path) -> list[Home]:
    """Two people's accounts, as on two machines."""
    return [make_home(tmp_path / name) for name in ("first", "second of another name")]


@pytest.fixture
def locked(machines: list[Home], project: Path, channel: FolderServer) -> Path:
    succeeded(machines[0].run("lock", "--channel", f"{channel.url}/lab", cwd=project))
    return project / "cuda.lock"

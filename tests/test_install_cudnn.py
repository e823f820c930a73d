"""Installing cuDNN: what it goes with, and what tells that."""

from __future__ import annotations

from pathlib import Path

import builders
from checks import refused, snapshot, succeeded
from homes import Home

BOTH = ["10.1.243", "10.1.243+cudnn7.6.5"]


def test_cudnn_whose_name_does_not_tell_its_cuda_goes_with_none(home: Home, tmp_path: Path) -> None:
    toolkit = builders.cudatoolkit_10_1(tmp_path)
    archive = builders.cudnn_archive(tmp_path / "in")
    other = archive.rename(tmp_path / "cudnn.tgz")
    name = "cudnn-10.1-linux-x64-v7.6.5"
    refused(home.run("install", toolkit, other), "cudnn.tgz", "which CUDA", hint=f"to {name}")
    # There is no library to tell the platform.
    headers = builders.tar_archive(tmp_path / "headers.tgz", "cuda", {"include/cudnn.h": b""})
    refused(home.run("install", headers), "its platform", hint="cudnn-10.1-linux-x64-v7.6.5.32.tgz")
    assert not list((home.store / "packages").glob("*"))
    other.rename(archive)
    assert succeeded(home.run("install", toolkit, archive)) == BOTH


def test_cudnn_alone_says_what_it_waits_for(home: Home, tmp_path: Path) -> None:
    done = home.run("install", builders.cudnn_7_6_5(tmp_path))
    assert succeeded(done) == []
    assert done.stderr.splitlines() == [
        "cudaswitch: installed, but no installed toolkit goes with it yet",
        "hint: cudaswitch install 10.1, and the two will be combined",
    ]


def test_cudnn_beside_a_toolkit_of_another_cuda(home: Home, tmp_path: Path) -> None:
    libraries = {"lib/libcudart.so.9.9.9": builders.elf_bytes("libcudart.so.9.9", {"x": 1})}
    other = builders.conda_package(
        tmp_path, "cudatoolkit", "9.9.9", "h0_0", "linux-64", libraries, form="conda"
    )
    done = home.run("install", builders.cudnn_7_6_5(tmp_path), other)
    assert succeeded(done) == ["9.9.9"]
    assert done.stderr.splitlines() == [
        "cudaswitch: installed, but no installed toolkit goes with cuDNN 7.6.5 yet",
        "hint: cudaswitch install 10.1, and the two will be combined",
    ]
    assert home.run("install", builders.cudatoolkit_10_1(tmp_path)).stderr == ""


def test_an_old_cudnn_archive_under_its_shorter_and_its_longer_name(
    home: Home, tmp_path: Path
) -> None:
    """Only the name tells the fourth part of its version."""
    long = builders.cudnn_archive(tmp_path)
    short = tmp_path / "cudnn-10.1-linux-x64-v7.6.5.tgz"
    short.hardlink_to(long)
    assert succeeded(home.run("install", builders.cudatoolkit_10_1(tmp_path), short)) == BOTH
    before = snapshot(home.store)
    assert succeeded(home.run("install", long)) == [BOTH[1]]
    assert snapshot(home.store) == before
    other = builders.cudnn_archive(tmp_path / "other", cudnn="7.6.5.33")
    refused(home.run("install", other), "is already installed", hint="--force")

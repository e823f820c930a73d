"""`check` compares the content of a library that programs ask for by the name of a link."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

import builders
from checks import proven, succeeded
from cudaswitch.check.inventory import _end
from homes import Home
from preloaded import no_hard_links
from stock import kit


def change(path: Path) -> None:
    """Change a byte that no loader looks at."""
    file = path.resolve()
    content = bytearray(file.read_bytes())
    content[content.index(b"GCC: (")] ^= 1
    file.unlink()
    file.write_bytes(content)


@pytest.mark.parametrize("linked", [True, False])
def test_a_link_of_the_package(home: Home, pair: list[Path], tmp_path: Path, linked: bool) -> None:
    there = {} if linked else no_hard_links(tmp_path, errno.EPERM)
    succeeded(home.run("install", *pair, **there))
    name = "libcudart.so.10.1"
    assert proven(home, "10.1", code=1)[name]["status"] == "passed"
    library = kit(home) / "lib64" / name
    assert library.is_symlink()
    change(library)
    found = proven(home, "10.1", code=1)[name]
    assert found["status"] == "failed"
    assert found["detail"] == "its content differs from that of cudatoolkit 10.1.243"


def test_a_link_that_composing_adds(home: Home, tmp_path: Path) -> None:
    """`check` compares libNVVM through the numbered link that CUDA 12's wheel lacks."""
    library = builders.elf_library(tmp_path / "made", "libnvvm.so.4", {"nvvmVersion": 0})
    tree = {
        "nvidia/cuda_nvcc/bin/ptxas": b"",
        "nvidia/cuda_nvcc/nvvm/lib64/libnvvm.so": library.read_bytes(),
    }
    tag = "py3-none-manylinux_2_17_x86_64"
    wheel = builders.wheel(tmp_path, "nvidia-cuda-nvcc-cu12", "12.9.86", tag, tree=tree)
    succeeded(home.run("install", wheel))
    name = "libnvvm.so.4"
    assert proven(home, "12.9")[name]["status"] == "passed"
    change(home.store / "toolkits/12.9.86/nvvm/lib64" / name)
    found = proven(home, "12.9", code=1)[name]
    assert found["detail"] == "its content differs from that of nvidia-cuda-nvcc-cu12 12.9.86"


def test_links_one_after_the_other(tmp_path: Path) -> None:
    (tmp_path / "lib64").mkdir()
    for name, target in (("so", "libx.so.1"), ("so.1", "../lib64/libx.so.1.2"), ("so.2", "/x")):
        (tmp_path / "lib64" / f"libx.{name}").symlink_to(target)
    assert _end(str(tmp_path), "lib64/libx.so") == "lib64/libx.so.1.2"
    assert _end(str(tmp_path), "lib64/libx.so.2") == "lib64/libx.so.2"

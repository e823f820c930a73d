"""Archives: how each format and era is identified, and what is on disk after unpacking."""

from __future__ import annotations

import ctypes
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

import raw_archives as raw
from archive_checks import (
    LINUX_TAG,
    NOTHING_IGNORED,
    Unpack,
    by_path,
    checked_unpack,
    interrupted_when_closed,
    write,
)
from builders import (
    CUDNN_ARCHIVES,
    FORMS,
    PLACEHOLDER,
    Era,
    File,
    Form,
    Link,
    conda_package,
    cudatoolkit_10_1,
    cudnn_7_6_5,
    cudnn_archive,
    elf_bytes,
    pe_bytes,
    tar_archive,
    wheel,
)
from cudaswitch.archives.unpacking import identify
from cudaswitch.toolkit import Entry
from cudaswitch.versions import parse_request


@pytest.fixture
def unpack(tmp_path: Path) -> Unpack:
    return partial(checked_unpack, tmp_path)


@pytest.mark.parametrize(
    "build", [*(partial(cudatoolkit_10_1, form=form) for form in FORMS), cudnn_archive]
)
@NOTHING_IGNORED
def test_an_interrupt_while_a_file_is_closed(tmp_path: Path, build: Callable[..., Path]) -> None:
    with interrupted_when_closed():
        identify(build(tmp_path))


# conda packages


@pytest.mark.parametrize("form", FORMS)
def test_cudatoolkit(tmp_path: Path, unpack: Unpack, form: Form) -> None:
    package = unpack(cudatoolkit_10_1(tmp_path / "in", form=form))
    assert (package.name, package.build) == ("cudatoolkit", "h6bb024c_0")
    assert str(package.version) == "10.1.243"
    assert (package.component, package.cuda, package.root) == ("cuda", None, "")
    assert package.form == {"tar.bz2": "conda-tar-bz2", "conda": "conda"}[form]
    assert package.platform == "linux-64"
    library = ctypes.CDLL(str(tmp_path / "tree/lib/libcudart.so.10.1"))
    version = ctypes.c_int()
    assert library.cudaRuntimeGetVersion(ctypes.byref(version)) == 0
    assert version.value == 10010
    assert (tmp_path / "info/index.json").is_file()
    assert not (tmp_path / "tree/info").exists()


@pytest.mark.parametrize("form", FORMS)
def test_cudatoolkit_for_windows(tmp_path: Path, unpack: Unpack, form: Form) -> None:
    package = unpack(cudatoolkit_10_1(tmp_path / "in", "win-64", form))
    assert (package.name, package.build) == ("cudatoolkit", "h74a9793_0")
    assert (package.platform, package.component) == ("win-64", "cuda")
    assert (tmp_path / "tree/Library/bin/cudart64_101.dll").is_file()


@pytest.mark.parametrize("subdir", ["linux-64", "win-64"])
@pytest.mark.parametrize("form", FORMS)
def test_conda_cudnn(tmp_path: Path, unpack: Unpack, form: Form, subdir: str) -> None:
    package = unpack(cudnn_7_6_5(tmp_path / "in", subdir, form))
    assert (package.component, package.cuda) == ("cudnn", "10.1")
    assert (package.platform, str(package.version)) == (subdir, "7.6.5")


@pytest.mark.parametrize("form", FORMS)
def test_a_renamed_file_is_what_it_holds(tmp_path: Path, unpack: Unpack, form: Form) -> None:
    path = cudatoolkit_10_1(tmp_path / "in", form=form)
    renamed = path.with_name("cudnn-9.0.0-h0_0.tar.bz2")
    path.rename(renamed)
    assert unpack(renamed).id == "cudatoolkit-10.1.243-h6bb024c_0"


@pytest.mark.parametrize("form", FORMS)
def test_what_linking_needs(tmp_path: Path, unpack: Unpack, form: Form) -> None:
    tree = {
        "bin/nvcc": File(b"#!/bin/sh\n" + PLACEHOLDER.encode(), True, PLACEHOLDER),
        "lib/libcudart.so": File(PLACEHOLDER.encode() + b"\0", False, PLACEHOLDER, "binary"),
        "lib/copied": File(b"x", no_link=True),
        "lib64": Link("lib"),
    }
    path = conda_package(
        tmp_path / "in", "cudatoolkit", "11.8.0", "h1_0", "linux-64", tree, form=form
    )
    found = by_path(unpack(path))
    assert (found["bin/nvcc"].placeholder, found["bin/nvcc"].mode) == (PLACEHOLDER, "text")
    assert found["bin/nvcc"].executable
    assert found["lib/libcudart.so"].mode == "binary"
    assert not found["lib/libcudart.so"].executable
    assert found["lib/copied"].copy
    assert found["lib64"] == Entry("lib64", target="lib")


def test_the_older_prefix_lists(tmp_path: Path, unpack: Unpack) -> None:
    lines = (
        "bin/nvcc\n"
        f"/build/prefix binary {raw.LIBRARY}\n"
        '"C:\\bld\\_h_env" text "share/with blank.txt"\n'
    )
    members = [
        raw.member("info/has_prefix", lines.encode()),
        raw.member("info/no_link", b"bin/nvcc\n"),
        raw.member("info/files", f"bin/nvcc\n{raw.LIBRARY}\nshare/with blank.txt\n".encode()),
        raw.member("bin/nvcc", b"x"),
        raw.member("share/with blank.txt", b"x"),
    ]
    found = by_path(unpack(write(tmp_path, raw.tar_bz2(*members))))
    default = "/opt/anaconda1anaconda2" + "anaconda3"
    assert (found["bin/nvcc"].placeholder, found["bin/nvcc"].mode) == (default, "text")
    assert (found[raw.LIBRARY].placeholder, found[raw.LIBRARY].mode) == ("/build/prefix", "binary")
    assert found["share/with blank.txt"].placeholder == "C:\\bld\\_h_env"
    assert [path for path, entry in found.items() if entry.copy] == ["bin/nvcc"]


@pytest.mark.parametrize(
    ("changes", "platform"),
    [
        ({"subdir": "linux-aarch64"}, "linux-aarch64"),
        ({"subdir": "noarch"}, "noarch"),
        ({"subdir": None, "platform": "linux", "arch": "x86_64"}, "linux-64"),
        ({"subdir": None, "platform": "win", "arch": "x86_64"}, "win-64"),
        ({"subdir": None, "platform": None, "arch": None}, "noarch"),
    ],
)
def test_conda_platforms(
    tmp_path: Path, unpack: Unpack, changes: dict[str, object], platform: str
) -> None:
    package = unpack(write(tmp_path, raw.tar_bz2(index=raw.index_member(**changes))))
    assert package.platform == platform


@pytest.mark.parametrize(
    ("build", "depends", "cuda"),
    [
        ("cuda10.1_0", [], "10.1"),
        ("cuda10.1_0", ["cudatoolkit 10.1.*"], "10.1"),
        ("cuda9.2_0", [], "9.2"),
        ("cuda112h1_0", [], "11.2"),
        ("cuda11_h1_0", [], "11"),
        ("cuda10_0", [], "10"),
        ("cuda_92_0", [], "9.2"),
        ("h86fa8c9_0", ["cudatoolkit 11.*"], "11"),
        ("h86fa8c9_0", ["cudatoolkit >=11.2,<12.0a0"], ">=11.2,<12.0"),
        ("cuda11.3_0", ["cudatoolkit 11.*", "cuda-version >=11.2,<12"], ">=11.2,<12"),
        ("h1_0", ["cudatoolkit >=11.2,<12", "cuda-version 11.*"], ">=11.2,<12"),
        ("h1_0", ["libgcc-ng >=12", "cuda-version 12.*"], "12"),
        ("h1_0", ["cudatoolkit 10.1|10.1.*"], "10.1"),
        ("h1_0", ["cudatoolkit 10.1|11.0"], None),
        ("h1_0", ["cudatoolkit =10.2"], "10.2"),
        ("h1_0", ["cudatoolkit >=11.2,~=11.3"], None),
        ("h1_0", ["cudatoolkit"], None),
        ("h1_0", [], None),
        ("h1_0", "cudatoolkit 10.1", None),
        ("cuda10.2_0", ["cudatoolkit ~=10"], "10.2"),
    ],
)
def test_for_which_cuda_a_conda_cudnn_is(
    tmp_path: Path, unpack: Unpack, build: str, depends: object, cuda: str | None
) -> None:
    index = raw.index_member(name="cudnn", version="8.2.1", build=build, depends=depends)
    path = write(tmp_path, raw.tar_bz2(raw.member("lib/libcudnn.so.8", b"x"), index=index))
    package = unpack(path)
    assert package.cuda == cuda
    if package.cuda is not None:
        parse_request(package.cuda)


# NVIDIA's archives


@pytest.mark.parametrize(("era", "cudnn", "cuda"), CUDNN_ARCHIVES)
def test_cudnn_archives(tmp_path: Path, unpack: Unpack, era: Era, cudnn: str, cuda: str) -> None:
    path = cudnn_archive(tmp_path / "in", era, cudnn, cuda)
    package = unpack(path)
    assert (package.name, str(package.version), package.build) == ("cudnn", cudnn, f"cuda{cuda}")
    # 8.2 to 8.4 name the release of CUDA 11 that they were built with, and are for all of them.
    served = {"11.6": "11"}.get(cuda, cuda)
    assert (package.component, package.cuda, package.form) == ("cudnn", served, "cudnn")
    assert package.platform == "linux-64"
    assert (tmp_path / "tree" / package.root / "include/cudnn.h").is_file()


HEADER = b"#define CUDNN_MAJOR 8\n#define CUDNN_MINOR 1\n#define CUDNN_PATCHLEVEL 1\n"
OLD_TREE = {"include/cudnn_version.h": HEADER, "lib64/libcudnn.so.8.1.1": b"x"}


@pytest.mark.parametrize(
    ("name", "top", "version", "cuda", "platform"),
    [
        ("cudnn-11.2-linux-x64-v8.1.1.33.tgz", "cuda", "8.1.1.33", "11.2", "linux-64"),
        ("cudnn-11.2-linux-aarch64sbsa-v8.1.1.33.tgz", "cuda", "8.1.1.33", "11.2", "linux-aarch64"),
        ("cudnn-11.2-linux-x64-v8.1.1.33 (1).tgz", "cuda", "8.1.1.33", "11.2", "linux-64"),
        ("cudnn-11.2-linux-x64-v8.1.tgz", "cuda", "8.1.1", "11.2", "linux-64"),
        ("cudnn-11.2-linux-x64-v9.9.9.99.tgz", "cuda", "8.1.1", "11.2", "linux-64"),
        (
            "any.tar.xz",
            "cudnn-linux-sbsa-8.1.1.33_cuda11.2-archive",
            *("8.1.1.33", "11.2", "linux-aarch64"),
        ),
        (
            "any.tar.gz",
            "cudnn-linux-aarch64-8.9.9.99_cuda11-archive",
            *("8.1.1", "11", "linux-aarch64"),
        ),
    ],
)
def test_cudnn_names(
    tmp_path: Path, unpack: Unpack, name: str, top: str, version: str, cuda: str, platform: str
) -> None:
    package = unpack(tar_archive(tmp_path / "in" / name, top, OLD_TREE))
    assert str(package.version) == version
    assert (package.cuda, package.platform, package.root) == (cuda, platform, top)


def test_a_renamed_cudnn(tmp_path: Path, unpack: Unpack) -> None:
    """Without a telling file name, the header and ELF give everything but the CUDA of the build."""
    path = cudnn_archive(tmp_path / "in")
    package = unpack(path.rename(path.with_name("download.tgz")))
    assert (str(package.version), package.cuda, package.build) == ("7.6.5", None, "")
    assert package.platform == "linux-64"


def test_a_renamed_cudnn_without_header(tmp_path: Path, unpack: Unpack) -> None:
    tree = {"lib64/libcudnn.so.7.6.5": elf_bytes("libcudnn.so.7", {"cudnnGetVersion": 7605})}
    package = unpack(tar_archive(tmp_path / "in/x.tgz", "cuda", tree))
    assert (str(package.version), package.platform) == ("7.6.5", "linux-64")


def zip_archive(path: Path, top: str, tree: dict[str, bytes]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(f"{top}/", b"")
        for name, content in tree.items():
            archive.writestr(f"{top}/{name}", content)
    return path


@pytest.mark.parametrize(
    ("name", "top", "cuda"),
    [
        ("cudnn-10.1-windows10-x64-v7.6.5.32.zip", "cuda", "10.1"),
        (
            "cudnn-windows-x86_64-7.6.5.32_cuda11-archive.zip",
            "cudnn-windows-x86_64-7.6.5.32_cuda11-archive",
            "11",
        ),
        ("renamed.zip", "cuda", None),
    ],
)
def test_cudnn_for_windows(
    tmp_path: Path, unpack: Unpack, name: str, top: str, cuda: str | None
) -> None:
    header = HEADER.replace(b"8", b"7").replace(b"MINOR 1", b"MINOR 6")
    tree = {
        "bin/cudnn64_7.dll": pe_bytes("cudnn64_7.dll", {"cudnnGetVersion": 7605}),
        "include/cudnn.h": header.replace(b"LEVEL 1", b"LEVEL 5"),
    }
    package = unpack(zip_archive(tmp_path / "in" / name, top, tree))
    assert (package.platform, package.cuda, package.component) == ("win-64", cuda, "cudnn")
    assert str(package.version).startswith("7.6.5")


@pytest.mark.parametrize("suffix", [".tar.xz", ".tar.gz", ".zip"])
@pytest.mark.parametrize(
    ("name", "version", "component", "cuda"),
    [
        ("cuda_nvcc", "12.4.131", "nvcc", "12.4"),
        ("cuda_cudart", "12.4.127", "cudart", "12.4"),
        ("libcublas", "12.4.5.8", "cublas", None),
        ("libnvvm", "13.0.88", "nvvm", "13.0"),
        ("cuda_cccl", "12.4.127", "cccl", None),
        ("libnvfuture", "1.0.0", "nvfuture", None),
    ],
)
def test_redist_components(
    tmp_path: Path,
    unpack: Unpack,
    suffix: str,
    name: str,
    version: str,
    component: str,
    cuda: str | None,
) -> None:
    top = f"{name}-linux-x86_64-{version}-archive"
    make = zip_archive if suffix == ".zip" else tar_archive
    package = unpack(make(tmp_path / f"in/any{suffix}", top, {"lib/a": b"x", "LICENSE": b"y"}))
    assert (package.name, str(package.version)) == (name, version)
    assert (package.component, package.cuda, package.form) == (component, cuda, "redist")
    assert (package.root, package.platform, package.build) == (top, "linux-64", "")


WHOLE = {
    "bin/nvcc": File(b"x", executable=True),
    "lib64/libcudart.so.12": b"x",
    "include/cuda_runtime.h": b"x",
    "nvvm/bin/cicc": File(b"x", executable=True),
}


@pytest.mark.parametrize("left_out", [None, *WHOLE])
def test_a_whole_toolkit_under_the_name_of_a_piece(
    tmp_path: Path, unpack: Unpack, left_out: str | None
) -> None:
    tree = {path: content for path, content in WHOLE.items() if path != left_out}
    top = "cuda_nvcc-linux-x86_64-12.4.131-archive"
    package = unpack(tar_archive(tmp_path / "in/any.tar.xz", top, tree))
    assert package.component == ("nvcc" if left_out else "cuda")


@pytest.mark.parametrize(
    ("name", "component"),
    [
        ("cuda-nvcc", "nvcc"),
        ("cuda-nvcc-tools", "nvcc"),
        ("cuda-nvcc_linux-64", "nvcc"),
        ("cuda-nvcc-dev_linux-64", "nvcc"),
        ("cuda-cudart-dev_linux-aarch64", "cudart"),
        ("cuda-cudart-static", "cudart"),
        ("libcublas", "cublas"),
        ("libcublas-dev", "cublas"),
        ("libnvjitlink", "nvjitlink"),
        ("cuda-crt-tools", "crt"),
        ("cuda-nvvm-impl", "nvvm"),
        ("libnpp-dev", "npp"),
        ("cuda-opencl", "opencl"),
        ("nccl", "nccl"),
        ("cuda-sanitizer-api", "sanitizer"),
        ("nsight-systems", "nsys"),
        ("cuda-brand-new", "brand-new"),
        ("cuda-toolkit", "cuda"),
        ("cudatoolkit-dev", "cuda"),
        ("my-own-cuda-build", "cuda"),
    ],
)
def test_conda_names(tmp_path: Path, unpack: Unpack, name: str, component: str) -> None:
    package = unpack(write(tmp_path, raw.tar_bz2(index=raw.index_member(name=name))))
    assert package.component == component


def test_a_whole_toolkit_by_any_name(tmp_path: Path, unpack: Unpack) -> None:
    """What nvcc compiles and links with makes a toolkit, however a package is called."""
    rest = ("bin/nvcc", "include/cuda_runtime.h", "nvvm/bin/cicc")
    data = raw.tar_bz2(*(raw.member(path, b"x") for path in rest), index=raw.index_member(name="x"))
    assert unpack(write(tmp_path, data)).component == "cuda"


# wheels


@pytest.mark.parametrize(
    ("name", "version", "folder", "component", "cuda", "build"),
    [
        ("nvidia-cuda-nvcc", "13.0.88", "nvidia/cu13", "nvcc", "13.0", ""),
        ("nvidia-cuda-runtime", "13.0.96", "nvidia/cu13", "cudart", "13.0", ""),
        ("nvidia-cufft", "12.0.0.61", "nvidia/cu13", "cufft", "13", ""),
        ("nvidia-cuda-nvcc-cu12", "12.4.131", "nvidia/cuda_nvcc", "nvcc", "12.4", "cu12"),
        ("nvidia-cublas-cu12", "12.4.5.8", "nvidia/cublas", "cublas", "12", "cu12"),
        ("nvidia-cudnn-cu11", "8.9.6.50", "nvidia/cudnn", "cudnn", "11", "cu11"),
        ("nvidia-cudnn-cu13", "9.21.0.82", "nvidia/cudnn", "cudnn", "13", "cu13"),
        (
            "nvidia-cuda-cccl-cu12",
            "12.4.127.post1",
            "nvidia/cuda_cccl",
            "cccl",
            "12",
            "cu12_post1",
        ),
    ],
)
def test_wheels(
    tmp_path: Path,
    unpack: Unpack,
    name: str,
    version: str,
    folder: str,
    component: str,
    cuda: str,
    build: str,
) -> None:
    tree = {
        f"{folder}/bin/tool": b"x",
        f"{folder}/bin/nvcc.profile": b"x",
        f"{folder}/bin/crt/link.stub": b"x",
        f"{folder}/lib/libcudnn.so.8": b"x",
        "nvidia/__init__.py": b"",
        f"{folder}/share/script": File(b"x", executable=True),
    }
    path = wheel(tmp_path / "in", name, version, LINUX_TAG, tree=tree)
    package = unpack(path.rename(path.with_name("renamed")))
    release = version.removesuffix(".post1")
    assert (package.name, str(package.version), package.build) == (name, release, build)
    assert (package.component, package.cuda, package.root) == (component, cuda, folder)
    assert (package.platform, package.form) == ("linux-64", "wheel")
    executable = {path for path, entry in by_path(package).items() if entry.executable}
    assert executable == {f"{folder}/bin/tool", f"{folder}/share/script"}
    assert any(entry.path.endswith("dist-info/RECORD") for entry in package.entries)


@pytest.mark.parametrize(
    ("tag", "platform"),
    [
        ("py3-none-manylinux_2_17_aarch64.manylinux2014_aarch64", "linux-aarch64"),
        ("py3-none-win_amd64", "win-64"),
        ("py3-none-manylinux1_x86_64", "linux-64"),
    ],
)
def test_wheel_platforms(tmp_path: Path, unpack: Unpack, tag: str, platform: str) -> None:
    tree = {"nvidia/cu13/lib/a": b"x"}
    assert unpack(wheel(tmp_path, "nvidia-cublas", "13.1.0.3", tag, tree=tree)).platform == platform

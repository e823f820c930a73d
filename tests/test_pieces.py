"""What a toolkit may be made of: pieces of one release, and not what merely depends on them."""

from __future__ import annotations

from pathlib import Path

import pytest

import builders
from checks import refused, succeeded
from homes import Home
from stock import stored

NVCC, CUDART = ("nvcc", "12.4.131"), ("runtime", "12.4.127")
LINK: builders.Tree = {"lib/libx.so": builders.Link("../targets/libx.so")}
LIBRARY = {"nvcc": "nvvm/lib64/libnvvm.so", "runtime": "lib/libcudart.so.12", "cublas": "lib/x"}


def wheel(folder: Path, piece: str, version: str) -> Path:
    """Return a wheel of CUDA 12 or later as NVIDIA names them, with one file."""
    library = {f"nvidia/{piece}/{LIBRARY[piece]}": f"{piece} {version}".encode()}
    name = f"nvidia-cuda-{piece}".replace("cuda-cublas", "cublas")
    return builders.wheel(folder, name, version, "py3-none-manylinux1_x86_64", tree=library)


def conda(
    folder: Path, name: str, tree: builders.Tree, version: str = "12.4.131", build: str = "0"
) -> Path:
    depends = [f"{name}-impl {version}"]
    return builders.conda_package(
        folder, name, version, build, "linux-64", tree, depends=depends, form="conda"
    )


@pytest.mark.parametrize("other", [("nvcc", "13.0.88"), ("runtime", "12.6.77")])
def test_several_releases_make_no_toolkit(
    home: Home, tmp_path: Path, other: tuple[str, str]
) -> None:
    """Pieces of several releases make no toolkit: they would not compile together."""
    wheels = [wheel(tmp_path, *piece) for piece in (NVCC, CUDART, other)]
    done = home.run("install", *wheels)
    refused(done, "different CUDA releases", hint="the packages of one release at a time")
    assert "nvidia-cuda-runtime 12.4.127" in done.stderr
    assert f"nvidia-cuda-{other[0]} {other[1]}" in done.stderr
    assert stored(home)["toolkits"] == []
    assert succeeded(home.run("install", *wheels[:2])) == ["12.4.131"]


def test_libraries_have_numbers_of_their_own(home: Home, tmp_path: Path) -> None:
    pieces = (NVCC, CUDART, ("cublas", "11.9.2"))
    wheels = [wheel(tmp_path, *piece) for piece in pieces]
    assert succeeded(home.run("install", *wheels)) == ["12.4.131"]


def test_two_versions_of_one_piece(home: Home, tmp_path: Path) -> None:
    """The older one's files would win, as in a folder that has a newer download as well."""
    wheels = [wheel(tmp_path, *piece) for piece in (NVCC, CUDART)]
    older, newer = (wheel(tmp_path, "cublas", version) for version in ("12.4.2.65", "12.4.5.8"))
    done = home.run("install", *wheels, older, newer)
    refused(done, "nvidia-cublas-12.4.2.65", "nvidia-cublas-12.4.5.8", hint="only one")
    assert succeeded(home.run("install", *wheels, newer)) == ["12.4.131"]


def test_condas_parts_of_one_component_stay_together(home: Home, tmp_path: Path) -> None:
    """conda has libraries, headers and static libraries of one component in several packages."""
    nvcc = conda(tmp_path, "cuda-nvcc", {"bin/nvcc": b"x"})
    parts = {
        "cuda-cudart": "lib/libcudart.so.12",
        "cuda-cudart-dev": "include/cuda_runtime.h",
        "cuda-cudart-static": "lib/libcudart_static.a",
    }
    *first, static = (
        conda(tmp_path, name, {at: b"x", f"share/{name}": b"x"}) for name, at in parts.items()
    )
    assert succeeded(home.run("install", nvcc, *first)) == ["12.4.131"]
    assert succeeded(home.run("install", nvcc, static)) == ["12.4.131"]
    toolkit = home.store / "toolkits/12.4.131"
    rebuilt = conda(tmp_path, "cuda-cudart", {parts["cuda-cudart"]: b"rebuilt"}, build="1")
    assert succeeded(home.run("install", nvcc, rebuilt)) == ["12.4.131"]
    assert [at for at in parts.values() if not (toolkit / at).is_file()] == []
    assert (toolkit / parts["cuda-cudart"]).read_bytes() == b"rebuilt"
    assert not (toolkit / "share/cuda-cudart").exists()
    # Those of another version give way: they belong together.
    newer = conda(tmp_path, "cuda-cudart-dev", {"include/cuda_runtime.h": b"newer"}, "12.4.132")
    assert succeeded(home.run("install", nvcc, newer)) == ["12.4.131"]
    there = [at for at in parts.values() if (toolkit / at).is_file()]
    assert there == ["include/cuda_runtime.h"]
    assert (toolkit / there[0]).read_bytes() == b"newer"


def test_a_link_from_one_piece_to_another_leads_there(home: Home, tmp_path: Path) -> None:
    """Also from a folder that no other piece has; as in NVIDIA's own `extras/CUPTI/lib64`."""
    cupti: builders.Tree = {
        "targets/x86_64-linux/lib/libcupti.so.12": b"x",
        "extras/CUPTI/lib64/libcupti.so.12": builders.Link(
            "../../../targets/x86_64-linux/lib/libcupti.so.12"
        ),
        "extras/CUPTI/lib64/libcudart.so": builders.Link("../../../lib/libcudart.so.12"),
        "targets/x86_64-linux/lib/cupti/headers": builders.Link("../../../../include"),
        "extras/CUPTI/include/cupti.h": b"x",
        "extras/CUPTI/include/cupti_all.h": builders.Link("cupti.h"),
    }
    pieces = {"cuda-nvcc": {"bin/nvcc": b"x"}, "cuda-cudart": {"lib/libcudart.so.12": b"x"}}
    files = [conda(tmp_path, *one) for one in {**pieces, "cuda-cupti": cupti}.items()]
    assert succeeded(home.run("install", *files)) == ["12.4.131"]
    toolkit = home.store / "toolkits/12.4.131"
    for name in ("libcupti.so.12", "libcudart.so"):
        there = toolkit / "extras/CUPTI/lib64" / name
        assert there.resolve() == (toolkit / "lib64" / name).resolve()
        assert there.read_bytes() == b"x"
    assert (toolkit / "lib64/cupti/headers").resolve() == (toolkit / "include").resolve()
    assert (toolkit / "extras/CUPTI/include").is_symlink(), "which costs one link"
    assert (toolkit / "extras/CUPTI/include/cupti_all.h").read_bytes() == b"x"
    assert succeeded(home.run("verify")) == []


@pytest.mark.parametrize("own", ["cuda_cccl", "cccl"])
def test_cmake_finds_cccl_where_its_files_look_for_headers(
    home: Home, tmp_path: Path, own: str
) -> None:
    """As in the wheels of 13.2, and of 13.3 to 13.5: `lib` is not beside `include`."""
    at = f"nvidia/cu13/{own}/lib/cmake/thrust/thrust-header-search.cmake"
    tree = {
        at: b'find_path(X thrust/version.h "${CMAKE_CURRENT_LIST_DIR}/../../../include/cccl")',
        f"nvidia/cu13/{own}/LICENSE": b"x",
        "nvidia/cu13/include/cccl/thrust/version.h": b"x",
    }
    cccl = builders.wheel(tmp_path, "nvidia-cuda-cccl", "13.2.75", "py3-none-any", tree=tree)
    compiler = {"nvidia/cu13/bin/nvcc": b"x"}
    nvcc = builders.wheel(tmp_path, "nvidia-cuda-nvcc", "13.2.78", "py3-none-any", tree=compiler)
    assert succeeded(home.run("install", cccl, nvcc)) == ["13.2.78"]
    toolkit = home.store / "toolkits/13.2.78"
    searches = toolkit / "lib64/cmake/thrust/thrust-header-search.cmake"
    assert searches.read_bytes() == tree[at]
    assert (searches.parent / "../../../include/cccl/thrust/version.h").is_file()
    # CMake looks in folders named after the package, too: what it finds there must not come first.
    assert [file.name for file in (toolkit / own).rglob("*")] == ["LICENSE"]
    assert succeeded(home.run("verify")) == []


@pytest.mark.parametrize(
    ("name", "tree"),
    [
        *((name, tree) for name in ("cuda-nvcc", "cuda-cudart") for tree in ({}, LINK)),
        ("cuda-toolkit", {}),
    ],
)
def test_what_depends_on_them_is_none_of_them(
    home: Home, tmp_path: Path, name: str, tree: builders.Tree
) -> None:
    """A package without files, as conda-forge's `cuda-nvcc`, makes no toolkit by itself."""
    empty = conda(tmp_path, name, tree)
    hint = "it has no files: install it together with what it depends on, in one command"
    refused(home.run("install", empty), f"cannot be made from {name} alone", hint=hint)
    assert stored(home)["toolkits"] == []
    rest = conda(tmp_path, "cuda-nvcc-tools", {"bin/nvcc": b"x"})
    assert succeeded(home.run("install", empty, rest)) == ["12.4.131"]


def test_a_wheel_that_only_requires_others(home: Home, tmp_path: Path) -> None:
    """`pip download "cuda-toolkit[nvcc]"` leaves the wheel cuda-toolkit beside the others."""
    empty = builders.wheel(tmp_path, "cuda-toolkit", "12.4.1", "py2.py3-none-any", tree={})
    hint = "it has no files: install it together with what it depends on, in one command"
    refused(home.run("install", empty), "cannot be made from cuda-toolkit alone", hint=hint)
    assert succeeded(home.run("install", empty, wheel(tmp_path, *NVCC))) == ["12.4.131"]
    assert not list((home.store / "toolkits/12.4.131").glob("*.dist-info"))
    assert succeeded(home.run("verify")) == []

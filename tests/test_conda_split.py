"""CUDA 12 and later from conda channels: many packages, solved, and only those needed taken."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

import builders
from builders import HELLO_CU, conda_package, local_channel
from builders.recipes import cudnn_headers, cudnn_libraries
from checks import refused, succeeded
from conda_channels import obtain, split_toolkit
from cudaswitch.errors import RequestError, SourceError
from cudaswitch.sources import Delivery
from cudaswitch.versions import Version
from folder_server import FolderServer
from homes import Home, make_home

pytestmark = pytest.mark.toolkit


@pytest.fixture(scope="module")
def split(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("split")
    split_toolkit(folder / "conda-forge")
    return folder


COMPILER = {
    *("cuda-nvcc", "cuda-nvcc_linux-64", "cuda-nvcc-impl", "cuda-nvcc-tools"),
    *("cuda-nvcc-dev_linux-64", "cuda-crt-dev_linux-64", "cuda-nvvm-tools", "cuda-nvvm-impl"),
    *("cuda-cudart", "cuda-cudart_linux-64", "cuda-cudart-dev", "cuda-cudart-dev_linux-64"),
    *("cuda-cudart-static_linux-64", "cuda-cccl_linux-64"),
}


def stems(delivery: Delivery) -> set[str]:
    return {artifact.path.name.rsplit("-", 2)[0] for artifact in delivery.artifacts}


def test_many_packages_are_solved_and_only_those_needed_taken(
    split: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDASWITCH_CACHE", str(tmp_path / "cache"))
    (tmp_path / "work").mkdir()
    channel = str(split / "conda-forge")
    minimal = obtain(tmp_path, "13", channel, components="minimal")
    assert minimal.toolkit == Version("13.0.2")
    assert stems(minimal) == COMPILER
    assert stems(obtain(tmp_path, "13", channel, components="full")) == COMPILER | {"cuda-nvml-dev"}
    cudart = {name for name in COMPILER if "cudart" in name or "cccl" in name}
    assert stems(obtain(tmp_path, "13", channel, components="cudart")) == cudart
    with pytest.raises(RequestError, match="no component `cublas`"):
        obtain(tmp_path, "13", channel, components="nvcc,cublas")
    assert not list((tmp_path / "work").glob("solve-*"))


def test_a_channel_that_mixes_releases_or_lacks_a_piece(
    split: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDASWITCH_CACHE", str(tmp_path / "cache"))
    (tmp_path / "work").mkdir()
    path = tmp_path / "mixed" / "noarch/repodata.json"
    shutil.copytree(split / "conda-forge", tmp_path / "mixed")
    index = json.loads(path.read_text())
    whole = json.dumps(index)
    records = index["packages.conda"]
    toolkit = next(record for record in records.values() if record["name"] == "cuda-toolkit")
    # These requirements have no upper bounds, like those of the packages in channel `nvidia`.
    toolkit["depends"] = ["cuda-nvml-dev >=13.0.39", "cuda-cccl_linux-64 >=13.0.39"]
    newer = {"name": "cuda-cccl_linux-64", "version": "13.1.78", "build": "0", "build_number": 0}
    records["cuda-cccl_linux-64-13.1.78-0.conda"] = toolkit | newer | {"depends": []}
    toolkit["depends"] += ["cuda-crt-dev_linux-64 >=13.0"]
    crt = {"name": "cuda-crt-dev_linux-64", "version": "13.1.80", "build": "0", "build_number": 0}
    records["cuda-crt-dev_linux-64-13.1.80-0.conda"] = toolkit | crt | {"depends": []}
    path.write_text(json.dumps(index))
    with pytest.raises(
        SourceError, match=r"would mix CUDA 13\.0\.2 with cuda-crt-\S+ 13\.1\.80"
    ) as no:
        obtain(tmp_path, "13", str(tmp_path / "mixed"))
    assert "nvidia/label/cuda-13.0.2" in (no.value.hint or "")
    for damage in ({"depends": ["cuda-nvcc 99.*"]}, {"depends": ["cuda-nvcc =~=[["]}):
        index = json.loads(whole)
        at = next(at for at in index["packages.conda"] if at.startswith("cuda-toolkit-"))
        index["packages.conda"][at] |= damage
        path.write_text(json.dumps(index))
        with pytest.raises(SourceError, match=r"has an incomplete CUDA 13\.0\.2: \S") as no:
            obtain(tmp_path, "13", str(tmp_path / "mixed"))
        assert "\n" not in no.value.message


def test_what_is_for_another_system(
    split: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two `cuda-toolkit` for every platform, as in conda-forge, only the one for here counts."""
    monkeypatch.setenv("CUDASWITCH_CACHE", str(tmp_path / "cache"))
    (tmp_path / "work").mkdir()
    shutil.copytree(split / "conda-forge", tmp_path / "both")
    path = tmp_path / "both" / "noarch/repodata.json"
    index = json.loads(path.read_text())
    records = index["packages.conda"]
    ours = next(record for record in records.values() if record["name"] == "cuda-toolkit")
    other = {"build": "h57928b3_9", "build_number": 9, "depends": ["__win", "cuda-nvml-dev"]}
    records[f"cuda-toolkit-{ours['version']}-h57928b3_9.conda"] = ours | other
    path.write_text(json.dumps(index))
    assert stems(obtain(tmp_path, "13", str(tmp_path / "both"), components="minimal")) == COMPILER
    ours["depends"].append("__unix")
    newer = {"version": "13.1.0", "build": "0", "depends": ["cuda-nvml-dev"]}
    records["cuda-toolkit-13.1.0-0.conda"] = ours | newer
    path.write_text(json.dumps(index))
    assert stems(obtain(tmp_path, "13.0", str(tmp_path / "both"), components="minimal")) == COMPILER
    ours["depends"] = ["cuda-nvml-dev"]
    path.write_text(json.dumps(index))
    with pytest.raises(SourceError, match="has no minimal"):
        obtain(tmp_path, "13.0", str(tmp_path / "both"), components="minimal")


def test_without_rattler(split: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDASWITCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setitem(sys.modules, "rattler", None)
    with pytest.raises(SourceError, match="requires py-rattler") as caught:
        obtain(tmp_path, "13", str(split / "conda-forge"))
    assert "cudaswitch[conda]" in (caught.value.hint or "")


def test_the_installed_pieces_compile(split: Path, tmp_path: Path) -> None:
    home = make_home(tmp_path)
    with FolderServer(split) as server:
        channels = {"CUDASWITCH_CHANNELS": f"{server.url}/conda-forge"}
        done = home.run("install", "13.0", "--from", "conda", **channels)
    assert succeeded(done) == ["13.0.2"]
    (tmp_path / "hello.cu").write_text(HELLO_CU)
    for option in ("static", "shared"):
        script = f"nvcc -cudart {option} -o hello hello.cu && ./hello"
        ran = home.run("exec", "13", "--", "sh", "-ec", script, cwd=tmp_path)
        assert succeeded(ran) == [str(builders.runtime_number())]


CUDNN = "9.14.0.64"
FOR_13 = "cuda-version >=13,<14.0a0"


def cudnn_in_pieces(folder: Path) -> list[Path]:
    """Write the packages of conda-forge's cuDNN 9, the second as an earlier `libcudnn-dev` was."""
    libraries = cudnn_libraries(CUDNN)
    links = {path: libraries.pop(path) for path in [*libraries] if path.endswith(".so")}
    contents = {
        ("libcudnn", "h5b9e2d8_0"): (libraries, [FOR_13, "libcublas", "libgcc >=14"]),
        ("libcudnn-dev", "h5b9e2d8_1"): (links, [FOR_13, f"libcudnn {CUDNN} h5b9e2d8_0"]),
        ("libcudnn-dev", "h58dd1b1_0"): (
            {**cudnn_headers(CUDNN), **links},
            [FOR_13, f"libcudnn {CUDNN} h5b9e2d8_0", "libstdcxx >=14"],
        ),
        ("cudnn", "h01fe47c_0"): ({}, [FOR_13, f"libcudnn-dev {CUDNN} h58dd1b1_0"]),
    }
    return [
        conda_package(folder, name, CUDNN, build, "linux-64", tree, depends=needs, form="conda")
        for (name, build), (tree, needs) in contents.items()
    ]


VERSION_C = """
#include <cudnn.h>
#include <stdio.h>
int main(void) { printf("%zu\\n", cudnnGetVersion()); return CUDNN_VERSION != cudnnGetVersion(); }
"""


@pytest.mark.parametrize("door", ["channel", "files", "one by one", "all that conda has"])
def test_cudnn_in_pieces(split: Path, tmp_path: Path, door: str) -> None:
    """cuDNN in pieces becomes whole: headers, the linker's link and the library, of one build."""
    home = make_home(tmp_path)
    packages = cudnn_in_pieces(tmp_path / "made")
    shutil.copytree(split / "conda-forge", tmp_path / "channel")
    index = tmp_path / "channel/linux-64/repodata.json"
    toolkit = json.loads(index.read_text())
    local_channel(tmp_path / "cudnn", packages)
    added = json.loads((tmp_path / "cudnn/linux-64/repodata.json").read_text())
    toolkit["packages.conda"] |= added["packages.conda"]
    index.write_text(json.dumps(toolkit))
    for package in packages:
        shutil.copy(package, index.parent)
    channels = {"CUDASWITCH_CHANNELS": str(tmp_path / "channel")}
    full = "13.0.2+cudnn9.14.0"
    if door == "channel":
        done = home.run("install", "13.0", "--cudnn", "9", "--from", "conda", **channels)
        assert succeeded(done) == ["13.0.2", full]
        [found] = json.loads(
            home.run("search", "cudnn", "--from", "conda", "--json", **channels).stdout
        )["packages"]
        assert (found["version"], found["sha256"], found["size"]) == (CUDNN, None, None)
    else:
        succeeded(home.run("install", "13.0", "--from", "conda", **channels))
        files = [packages[0], packages[2]]
        doors = {"files": [files], "one by one": [files[1:], files[:1]]}
        for some in doors.get(door, [packages]):
            done = home.run("install", *some)
            assert done.returncode == 0, done.stderr
    kits = json.loads(home.run("list", "--json").stdout)["toolkits"]
    assert [kit["name"] for kit in kits] == ["13.0.2", full]
    (tmp_path / "version.c").write_text(VERSION_C)
    script = "gcc -I$CUDA_HOME/include version.c -L$CUDA_HOME/lib64 -lcudnn -o version && ./version"
    ran = home.run("exec", full, "--", "sh", "-ec", script, cwd=tmp_path)
    assert succeeded(ran) == ["91400"]
    assert succeeded(home.run("verify")) == []


def test_an_empty_cudnn_alone(home: Home, tmp_path: Path) -> None:
    *_, empty = cudnn_in_pieces(tmp_path)
    hint = "it has no files: install it together with what it depends on, in one command"
    refused(home.run("install", empty), "cannot be made from cudnn alone", hint=hint)


def test_links_alone_are_not_empty(home: Home, tmp_path: Path) -> None:
    """An earlier `libcudnn-dev` had no files, and is no package that only requires others."""
    libraries, links, *_ = cudnn_in_pieces(tmp_path)
    assert home.run("install", libraries, links).returncode == 0
    records = (home.store / "packages").glob("*/cudaswitch.json")
    assert [json.loads(file.read_text())["component"] for file in records] == ["cudnn", "cudnn"]

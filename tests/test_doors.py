"""The same real toolkit through every door, served by a real web server: nvcc compiles."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import builders
from builders import HELLO_CU
from builders.redist import redist_index
from checks import complete, succeeded
from conda_channels import split_toolkit
from homes import Home
from nginx_server import nginx
from tools import require

pytestmark = pytest.mark.toolkit

RELEASE = "13.0.2"


def single(root: Path) -> None:
    builders.local_channel(root / "single", [builders.toolkit_conda_package("tar.bz2")])


def split(root: Path) -> None:
    split_toolkit(root / "conda-forge")


def redist(root: Path) -> None:
    redist_index(root / "nvidia", "cuda", RELEASE, builders.redist_archives())
    cudnn = builders.cudnn_archive(root / "made", "8.8+", "9.21.0.82", "13")
    redist_index(root / "nvidia", "cudnn", "9.21.0", [cudnn])


def runfile(root: Path) -> None:
    require("makeself")
    shutil.copy(builders.toolkit_runfile("11-"), root / "cuda_13.0.2_580.95.05_linux.run")


def index(root: Path) -> None:
    """Lay wheels out as pip's indexes have them: a folder for each project, and links in it."""
    for wheel in builders.toolkit_wheels():
        name = wheel.name.split("-")[0].replace("_", "-")
        (root / "simple" / name).mkdir(parents=True)
        shutil.copy(wheel, root / "simple" / name)
    folder = root / "simple" / "cuda-toolkit"
    requires = []
    for wheel in builders.toolkit_wheels():
        name, version = wheel.name.split("-")[:2]
        extra = name.removeprefix("nvidia_").removeprefix("cuda_").replace("runtime", "cudart")
        project = name.replace("_", "-")
        requires.append(f"{project}=={version}.*; extra == '{extra}'\nProvides-Extra: {extra}")
    builders.wheel(
        folder, "cuda-toolkit", RELEASE, "py2.py3-none-any", tree={"x": b"x"}, requires=requires
    )


DOORS: dict[str, tuple[Callable[[Path], None], tuple[str, ...], list[str], str]] = {
    "a conda package": (
        single,
        ("13.0", "--from", "conda", "--channel", "{url}/single"),
        ["13.0.88"],
        "conda",
    ),
    "conda packages": (
        split,
        ("13.0", "--from", "conda", "--channel", "{url}/conda-forge"),
        [RELEASE],
        "conda",
    ),
    "redist": (
        redist,
        ("13.0", "--cudnn", "9", "--from", "nvidia", "--mirror", "{url}/nvidia"),
        [RELEASE, f"{RELEASE}+cudnn9.21.0"],
        "nvidia",
    ),
    "a runfile": (runfile, ("{url}/cuda_13.0.2_580.95.05_linux.run",), [RELEASE], "runfile"),
    "wheels": (index, ("13.0", "--from", "pypi", "--components", "minimal"), [RELEASE], "pypi"),
}
"""Door → what lays it out, the words of `install`, the toolkits that come, and their source."""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """A web server's folder, and its address."""
    folder = tmp_path_factory.mktemp("served")
    root = folder / "www"
    root.mkdir()
    with nginx(root, folder / "nginx") as url:
        yield root, url


@pytest.mark.parametrize("door", DOORS)
def test_it_comes_whole_and_compiles(
    served: tuple[Path, str], home: Home, tmp_path: Path, door: str
) -> None:
    root, url = served
    lay_out, words, names, source = DOORS[door]
    lay_out(root)
    pip = {"PIP_CONFIG_FILE": "/dev/null", "PIP_INDEX_URL": f"{url}/simple"}
    done = home.run("install", *(word.format(url=url) for word in words), **pip)
    assert succeeded(done) == names
    rows = json.loads(home.run("list", "--json").stdout)
    assert {row["source"] for row in rows["packages"]} == {source}
    assert ("licence: CUDA Toolkit" in done.stderr) == (door == "redist")
    dnn = any("cudnn" in name for name in names)
    complete(home.store / "toolkits" / names[-1], "9" if dnn else None)
    (tmp_path / "hello.cu").write_text(HELLO_CU + "#include <cudnn.h>\n" * dnn)
    script = f"nvcc -o hello hello.cu {'-lcudnn' * dnn} && ./hello"
    ran = home.run("exec", "13", "--", "sh", "-ec", script, cwd=tmp_path)
    assert succeeded(ran) == [str(builders.runtime_number())]
    succeeded(home.run("verify"))

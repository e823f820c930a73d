"""`check` on real toolkits: CUDA 13 with nvcc, runtimes of 11 and 12 with cuDNN, PyTorch."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import builders
from checks import proven, succeeded
from cudaswitch import paths
from cudaswitch.check import libraries
from cudaswitch.check.inventory import Inventory, Library
from cudaswitch.check.results import Result
from cudaswitch.store import Store, read_toolkit
from homes import Home, make_home
from shells.venvs import with_venv
from tools import require


def proven_here(home: Home, name: str, folder: Path, only: Path | None = None) -> dict[str, Result]:
    """Prove the libraries of a toolkit of the store, or only the one at a path."""

    class Some(Inventory):
        def libraries(self) -> Iterator[Library]:
            return (each for each in super().libraries() if only in (None, each.path))

    kit = read_toolkit(home.store / "toolkits" / name)
    assert kit is not None
    inventory = Some.of(kit, [Store(paths.Home(str(home.store)))])
    environment = home.env | {"LD_LIBRARY_PATH": f"{kit.path}/lib64"}
    return {each.name: each for each in libraries.prove(inventory, environment, folder)}


def damage_each(home: Home, name: str, folder: Path, stand_in: Path) -> Iterator[str]:
    """Truncate, remove and swap each library in turn; yield those whose every fault was found."""
    for each in proven_here(home, name, folder).values():
        path = Path(each.path or "")
        kept = path.with_name("kept")
        path.rename(kept)
        says = {}
        try:
            with kept.open("rb") as file:
                path.write_bytes(file.read(kept.stat().st_size // 2))
            [says["truncated"]] = proven_here(home, name, folder, path).values()
            path.unlink()
            [says["removed"]] = proven_here(home, name, folder, path).values()
            shutil.copy(stand_in, path)
            [says["swapped"]] = proven_here(home, name, folder, path).values()
        finally:
            path.unlink(missing_ok=True)
            kept.rename(path)
        assert {one.status for one in says.values()} == {"failed"}, says
        assert {one.path for one in says.values()} == {str(path)}, says
        yield each.name


@pytest.fixture(scope="module")
def person(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """A home with CUDA 13 of PyPI's wheels, cut down to nvcc and the runtime."""
    home = make_home(tmp_path_factory.mktemp("check-13"))
    succeeded(home.run("install", *builders.toolkit_wheels()))
    return home


@pytest.mark.toolkit
@pytest.mark.slow
class TestCuda13:
    def test_the_machines_own_is_proven(self, home: Home) -> None:
        for tool in ("cmake", "make"):
            require(tool)
        succeeded(home.run("adopt", builders.real_toolkit()))
        found = proven(home, builders.toolkit_version())
        assert not {name for name, one in found.items() if one["status"] == "failed"}
        runtime = next(one for name, one in found.items() if name.startswith("libcudart"))
        assert runtime["status"] == "passed"
        assert runtime["version"] == ".".join(builders.toolkit_version().split(".")[:2])
        for name in ("host compiler", "nvcc: a program", "CMake: a project"):
            assert found[name]["status"] == "passed", found[name]
        # With a GPU the kernel runs; without one its result must not count.
        assert found["nvcc: a kernel"]["status"] in ("passed", "needs-gpu")
        if not Path("/dev/nvidiactl").exists():
            assert found["nvcc: a kernel"]["status"] == "needs-gpu"

    def test_each_damaged_library_is_named(self, person: Home, tmp_path: Path) -> None:
        [name] = [path.name for path in (person.store / "toolkits").iterdir()]
        other = Path("/lib/x86_64-linux-gnu/libm.so.6").resolve()
        major = builders.toolkit_version().partition(".")[0]
        assert [*damage_each(person, name, tmp_path, other)] == [f"libcudart.so.{major}"]

    def test_a_compiler_that_is_refused_is_replaced(self, person: Home, tmp_path: Path) -> None:
        """`use`, and so `check`, name an older gcc if the toolkit's header refuses the default."""
        [kit] = (person.store / "toolkits").iterdir()
        header = kit / "include" / "crt" / "host_config.h"
        text = header.read_text()
        header.unlink()
        header.write_text(text.replace("__GNUC__ > 15", "__GNUC__ > 11"))
        bin_ = tmp_path / "bin"
        bin_.mkdir()
        for link, tool in {"gcc": "gcc-12", "g++": "g++-12", "g++-11": "g++-11"}.items():
            (bin_ / link).symlink_to(require(tool))
        path = f"{bin_}:{person.env['PATH']}"
        try:
            refused = person.run("check", "13", PATH=path)
            person.run("install", kit.name, PATH=path)
            found = proven(person, "13", PATH=path)
        finally:
            header.write_text(text)
            person.run("install", kit.name, PATH=path)
        assert refused.returncode == 1
        assert "accepts (11): g++-11 is compatible" in refused.stderr
        compiler = found["host compiler"]
        assert compiler["detail"].startswith("gcc 11 of NVCC_PREPEND_FLAGS (")
        assert re.fullmatch(r"gcc (\d+|up) to 11", compiler["expected"])
        assert found["nvcc: a program"]["status"] == "passed"
        assert found["CMake: a project"]["status"] == "passed"


RUNTIMES = {
    "12": (
        "cuda-toolkit==12.9.1",
        "nvidia-cuda-runtime-cu12==12.9.79",
        "nvidia-cuda-nvrtc-cu12==12.9.86",
        "nvidia-nvjitlink-cu12==12.9.86",
        "nvidia-nvjpeg-cu12==12.4.0.76",
        "nvidia-cudnn-jit-cu12==9.27.0.42",
    ),
    "11": (
        "cuda-toolkit==11.8.0",
        "nvidia-cuda-runtime-cu11==11.8.89",
        "nvidia-cuda-nvrtc-cu11==11.8.89",
        "nvidia-nvjpeg-cu11==11.9.0.86",
        "nvidia-cuda-cccl-cu11==11.8.89.post1",
        "nvidia-cudnn-cu11==9.10.2.21",
    ),
}
"""Small pieces of a release, and the smallest cuDNN that PyPI has for its major."""


def fetched(major: str) -> Path:
    def fetch(folder: Path) -> None:
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "--quiet"]
        platform = ["--only-binary=:all:", "--dest", str(folder)]
        subprocess.run([*command, *platform, *RUNTIMES[major]], check=True, timeout=600)

    return builders.cached(f"check-runtime-{major}", fetch)


@pytest.mark.network
@pytest.mark.slow
@pytest.mark.parametrize(
    ("major", "components", "cudnn"),
    [
        ("12", "cudart,nvrtc,nvjitlink,nvjpeg", "9.27.0"),
        ("11", "cudart,nvrtc,nvjpeg,cccl", "9.10.2"),
    ],
)
def test_runtimes_of_pypi_with_cudnn(
    tmp_path: Path, major: str, components: str, cudnn: str
) -> None:
    wheels = fetched(major)
    home = make_home(tmp_path)
    offline = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels), "PIP_CONFIG_FILE": "/dev/null"}
    words = ["install", major, "--from", "pypi", "--components", components]
    done = home.run(*words, **offline)
    [bare] = succeeded(done)
    assert (
        "no working nvcc: PyPI's first is in 13.0.1; for building use --from nvidia" in done.stderr
    )
    [library] = wheels.glob("nvidia_cudnn*.whl")
    [name] = succeeded(home.run("install", library))
    assert name == f"{bare}+cudnn{cudnn}"

    found = proven(home, name.partition("+")[0])
    statuses = {at: one["status"] for at, one in found.items()}
    assert "failed" not in statuses.values(), found
    assert statuses["nvcc"] == "skipped"
    assert found["libcudnn.so.9"]["version"] == cudnn
    nvrtc = next(one for at, one in found.items() if at.startswith("libnvrtc.so"))
    assert (nvrtc["status"], nvrtc["version"]) == ("passed", ".".join(bare.split(".")[:2]))
    assert sum(status == "passed" for status in statuses.values()) >= 5

    # Put the same library of another release in place of one that reports its version.
    [jpeg] = (home.store / "toolkits" / name / "lib64").glob("libnvjpeg.so.*")
    with_other = fetched({"11": "12", "12": "11"}[major])
    succeeded(
        subprocess.run(
            [sys.executable, "-m", "zipfile", "-e", *with_other.glob("nvidia_nvjpeg*"), tmp_path],
            check=False, capture_output=True, text=True,
        )
    )  # fmt: skip
    [other] = (tmp_path / "nvidia").rglob("libnvjpeg.so.*")
    jpeg.unlink()
    shutil.copy(other, jpeg)
    wrong = proven_here(home, name, tmp_path)
    failed = [one for one in wrong.values() if one.status == "failed"]
    assert [one.path for one in failed] == [str(jpeg)]
    assert failed[0].detail.startswith("it reports 1"), failed[0]
    assert [*damage_each(home, name, tmp_path, other)]


@pytest.mark.network
@pytest.mark.toolkit
@pytest.mark.slow
def test_an_extension_of_pytorch(home: Home, tmp_path: Path) -> None:
    """A PyTorch without CUDA suffices to compile an extension; one with CUDA needs Thrust, too."""
    prefix = tmp_path / "env"
    with_venv(prefix)
    install = [sys.executable, "-m", "pip", "--python", prefix / "bin/python", "install"]
    packages = ["torch==2.13.0", "ninja==1.13.2", "setuptools==84.2.1", "numpy<3"]
    # Most of what pip would compile to bytecode is never imported.
    subprocess.run([*install, "--quiet", "--no-compile", *packages], check=True, timeout=900)
    succeeded(home.run("adopt", builders.whole_toolkit()))
    active = {"VIRTUAL_ENV": str(prefix), "PATH": f"{prefix}/bin:{home.env['PATH']}"}
    found = proven(home, builders.toolkit_version(), **active)
    extension = found["PyTorch: an extension"]
    assert (extension["status"], extension["kind"]) == ("passed", "framework"), extension
    assert found["torch.cuda.is_available()"]["status"] in ("passed", "needs-gpu")
    # Without ninja PyTorch compiles nothing, which says nothing about the toolkit.
    for tool in prefix.glob("bin/ninja*"):
        tool.unlink()
    tools = tmp_path / "tools"
    tools.mkdir()
    for tool in Path("/usr/bin").iterdir():
        if not tool.name.startswith(("ninja", "cmake")):
            (tools / tool.name).symlink_to(tool)
    again = proven(home, builders.toolkit_version(), **active | {"PATH": f"{prefix}/bin:{tools}"})
    for name in ("PyTorch: an extension", "CMake: a project"):
        assert again[name]["status"] == "skipped", again[name]

"""A real toolkit in two forms, with a cuDNN of every era: nvcc compiles, programs run.

In test_doors it comes in the forms that take long to unpack, too.
"""

from __future__ import annotations

import errno
import json
import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

import builders
from builders import HELLO_CU, Era
from checks import complete, refused, succeeded
from homes import Home, make_home
from preloaded import no_hard_links
from shells.driver import BASH, DASH, FISH, ZSH, Shell, run_shell

pytestmark = pytest.mark.toolkit

CUDNN_C = """
#include <stdio.h>
#include <cudnn.h>
int main(void) { printf("%zu %d\\n", cudnnGetVersion(), (int)CUDNN_VERSION); return 0; }
"""

FORMS: dict[str, Callable[[], list[Path]]] = {
    "conda": lambda: [builders.toolkit_conda_package("conda")],
    "wheels": builders.toolkit_wheels,
}
PASSES: list[tuple[str, Shell, Era, str]] = [
    ("conda", BASH, "7.2-8.3.0", "7.6.5.32"),
    ("wheels", ZSH, "8.3.1-8.4", "8.4.1.50"),
    ("conda", FISH, "8.5-8.7", "8.6.0.163"),
    ("wheels", DASH, "8.8+", "8.9.7.29"),
]
"""Each form, each shell once, and each layout of cuDNN once."""


@dataclass(frozen=True)
class Installed:
    """A home with the toolkit of one form and one cuDNN, and a folder with sources."""

    home: Home
    shell: Shell
    cudnn: str
    name: str
    work: Path

    @property
    def toolkit(self) -> Path:
        return self.home.store / "toolkits" / self.name


@pytest.fixture(scope="module", params=PASSES, ids=lambda one: f"{one[0]}-{one[1]}")
def installed(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Installed:
    folder = tmp_path_factory.mktemp("toolkit")
    form, shell, era, cudnn = request.param
    home = make_home(folder)
    version = builders.toolkit_version()
    # Real archives of the old layouts are for old toolkits; these name the toolkit of the tests.
    minor = ".".join(version.split(".")[:2])
    archive = builders.cudnn_archive(folder, era, cudnn, minor)
    done = home.run("install", *FORMS[form](), archive)
    name = f"{version}+cudnn{'.'.join(cudnn.split('.')[:3])}"
    assert succeeded(done) == [version, name]
    (folder / "hello.cu").write_text(HELLO_CU)
    (folder / "cudnn.c").write_text(CUDNN_C)
    return Installed(home, shell, cudnn, name, folder)


def load(shell: Shell, request: str) -> str:
    """Return the lines that switch: by the integration, or without it in dash."""
    if shell is DASH:
        return f'eval "$(cudaswitch env --shell sh {request})"'
    if shell is FISH:
        return f"cudaswitch init fish | source\ncudaswitch use {request}"
    return f'eval "$(cudaswitch init {shell})"\ncudaswitch use {request}'


def test_after_use_nvcc_compiles_and_the_program_runs(installed: Installed) -> None:
    kind = installed.shell
    script = [
        load(kind, installed.name.split("+")[0]),
        "snap on",
        "nvcc -o static hello.cu",
        "./static",
        "nvcc -cudart shared -o shared hello.cu",
        "./shared",
        # As a Makefile of NVIDIA's samples does.
        'gcc -I"$CUDA_HOME/include" -L"$CUDA_HOME/lib64" -o dnn cudnn.c -lcudnn',
        "./dnn",
    ]
    result = run_shell(kind, "\n".join(script), installed.home.env, cwd=installed.work)
    number, dnn = builders.runtime_number(), builders.cudnn_number(installed.cudnn)
    expected = [str(number), str(number), f"{dnn} {dnn}"]
    assert (result.rc, result.stdout.split("\n")[:-1]) == (0, expected), result.stderr
    toolkit = str(installed.toolkit)
    assert {result.snaps["on"][name] for name in ("CUDA_HOME", "CUDA_PATH")} == {toolkit}
    assert result.snaps["on"]["CUDACXX"] == f"{toolkit}/bin/nvcc"
    needed = subprocess.run(
        ["readelf", "-d", installed.work / "shared"], capture_output=True, text=True, check=True
    )
    assert f"[libcudart.so.{number // 1000}]" in needed.stdout


@pytest.mark.parametrize("installed", PASSES[:1], indirect=True, ids=["any"])
def test_exec_does_the_same_from_anywhere(installed: Installed) -> None:
    work = installed.work / "exec"
    work.mkdir()
    script = "nvcc -cudart shared -o hello ../hello.cu && ./hello"
    done = installed.home.run(
        "exec", "latest", "--", "sh", "-ec", script, cwd=work, PATH=os.defpath
    )
    assert succeeded(done) == [str(builders.runtime_number())]


def test_what_build_tools_look_for_is_there(installed: Installed) -> None:
    complete(installed.toolkit, installed.cudnn)


def test_nothing_of_it_is_stored_twice(installed: Installed) -> None:
    files = [
        path
        for path in installed.home.store.glob("toolkits/*/lib64/*")
        if path.is_file() and not path.is_symlink()
    ]
    assert files
    assert [path for path in files if path.stat().st_nlink < 2] == []


def test_which_names_the_real_file(installed: Installed) -> None:
    library = f"libcudnn.so.{installed.cudnn.split('.')[0]}"
    for name, folder in (("nvcc", "bin"), (library, "lib64")):
        done = installed.home.run("exec", "latest", "--", "cudaswitch", "which", name, "--json")
        found = json.loads("\n".join(succeeded(done)))
        assert Path(found["path"]).parent == installed.toolkit / folder
        assert f"in CUDA {installed.name}" in found["why"]


def test_pieces_join_the_toolkit_they_belong_to(home: Home, tmp_path: Path) -> None:
    files = FORMS["wheels"]()
    small = next(file for file in files if "cccl" in file.name)
    refused(home.run("install", small), "a toolkit cannot be made", "cccl", hint="in one command")
    assert not (home.store / "packages").exists()
    pieces = [file for file in files if file is not small]
    succeeded(home.run("install", *pieces))
    [toolkit] = (home.store / "toolkits").iterdir()
    before = {path.name for path in (toolkit / "bin").iterdir()}
    told = json.loads("\n".join(succeeded(home.run("list", "--json"))))
    assert {row["build"] for row in told["packages"]} == {None}, "wheels have none"
    nvcc = next(file for file in files if "nvcc" in file.name)
    succeeded(home.run("install", small, nvcc))
    assert (toolkit / "include/nv/target").is_file()
    assert {path.name for path in (toolkit / "bin").iterdir()} == before
    # With --force a piece is put in again, and the others stay.
    assert succeeded(home.run("install", "--force", nvcc)) == [toolkit.name]
    assert (toolkit / "include/nv/target").is_file()
    (tmp_path / "hello.cu").write_text(HELLO_CU)
    script = "nvcc -o hello hello.cu && ./hello"
    done = home.run("exec", "latest", "--", "sh", "-ec", script, cwd=tmp_path)
    assert succeeded(done) == [str(builders.runtime_number())]


def test_the_same_toolkit_in_another_form_is_refused(home: Home) -> None:
    succeeded(home.run("install", *FORMS["wheels"]()))
    [toolkit] = (home.store / "toolkits").iterdir()
    packages = sorted(path.name for path in (home.store / "packages").iterdir())
    refused(home.run("install", *FORMS["conda"]()), toolkit.name, "already", hint="remove")
    assert sorted(path.name for path in (home.store / "packages").iterdir()) == packages


def test_without_hard_links_nvcc_still_finds_its_parts(home: Home, tmp_path: Path) -> None:
    preload = no_hard_links(tmp_path, errno.EPERM)
    succeeded(home.run("install", *FORMS["wheels"](), **preload))
    [toolkit] = (home.store / "toolkits").iterdir()
    assert (toolkit / "lib64/libcudart_static.a").is_symlink()
    (tmp_path / "hello.cu").write_text(HELLO_CU)
    script = "nvcc -cudart shared -o hello hello.cu && ./hello"
    done = home.run("exec", "latest", "--", "sh", "-ec", script, cwd=tmp_path)
    assert succeeded(done) == [str(builders.runtime_number())]


@pytest.mark.network
@pytest.mark.slow
@pytest.mark.parametrize("release", ["13.0", "13"])
def test_pypi_for_real(home: Home, tmp_path: Path, release: str) -> None:
    """PyPI's wheels of a release that does not change, and of the newest, compile and run."""
    words = ["install", release, "--components", "nvcc,crt,nvvm,cudart,cccl"]
    [name] = succeeded(home.run(*words, timeout=600))
    assert name.startswith(f"{release}.")
    major, minor = name.split(".")[:2]
    (tmp_path / "hello.cu").write_text(HELLO_CU)
    for option in ("static", "shared"):
        script = f"nvcc -cudart {option} -o hello hello.cu && ./hello"
        done = home.run("exec", "13", "--", "sh", "-ec", script, cwd=tmp_path)
        assert succeeded(done) == [str(1000 * int(major) + 10 * int(minor))]
    again = home.run("install", release, PIP_INDEX_URL="http://127.0.0.1:9/none", PIP_NO_INDEX="1")
    assert succeeded(again) == [name]
    rows = json.loads(home.run("list", "--json").stdout)
    assert {row["source"] for row in rows["packages"]} == {"pypi"}
    assert rows["toolkits"][0]["source"] == "pypi"

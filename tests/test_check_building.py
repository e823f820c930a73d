"""`check` on toolkits whose nvcc is a script: what it reports about compiling."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from checks import proven, succeeded
from cudaswitch.check import bounded, building
from homes import Home
from made_environments import Env
from tools import executable


def compiling(folder: Path, nvcc: str) -> Path:
    """Make a toolkit that has nothing but an nvcc, which is a script."""
    executable(folder / "bin/nvcc", f"#!/bin/sh\n{nvcc}\n")
    (folder / "include").mkdir()
    (folder / "include/cuda.h").touch()
    return folder


def test_an_nvcc_that_writes_nothing(home: Home, tmp_path: Path) -> None:
    """An nvcc that writes nothing, as with NVCC_APPEND_FLAGS=--dryrun, has failed."""
    succeeded(home.run("adopt", compiling(tmp_path / "cuda", "exit 0"), "--as", "13.0"))
    found = proven(home, "13.0", code=1)["nvcc: a program"]
    assert found["status"] == "failed"
    assert "it was compiled, but cannot run `" in found["detail"]


@pytest.mark.parametrize(
    ("name", "status"), [("13", "passed"), ("13.0", "passed"), ("13.1", "failed")]
)
def test_what_was_compiled_is_for_the_release_as_far_as_it_is_known(
    home: Home, tmp_path: Path, name: str, status: str
) -> None:
    nvcc = "printf '#!/bin/sh\\necho 13000\\n' >program; chmod +x program"
    succeeded(home.run("adopt", compiling(tmp_path / "cuda", nvcc), "--as", name))
    found = json.loads(home.run("check", name, "--json").stdout)["results"]
    [program] = [each for each in found if each["name"] == "nvcc: a program"]
    assert program["status"] == status, program


@pytest.mark.parametrize("native", [True, False])
def test_a_kernel_that_runs_only_where_it_was_compiled_for_the_gpu(
    home: Home, tmp_path: Path, native: bool
) -> None:
    """A kernel may run with -arch=native alone: an older driver takes no PTX of a newer CUDA."""
    fits = "[ $1 = -arch=native ]" if native else "false"
    nvcc = (
        f"{fits} && ran=true || ran='echo error: the provided PTX >&2; false'\n"
        "printf '%s\\n' '#!/bin/sh' '[ $# = 0 ] && echo 13000 && exit' \"$ran\" >program\n"
        "chmod +x program"
    )
    succeeded(home.run("adopt", compiling(tmp_path / "cuda", nvcc), "--as", "13.0"))
    found = proven(home, "13.0", code=1)
    assert found["nvcc: a program"]["status"] == "passed"
    only = "runs with -arch=native alone; else " if native else ""
    assert found["nvcc: a kernel"]["detail"] == f"{only}error: the provided PTX"
    assert found["nvcc: a kernel"]["status"] == "failed"


def test_each_proof_has_a_line_where_the_host_compiler_is_refused(
    home: Home, tmp_path: Path
) -> None:
    """Every nvcc proof is listed as skipped where CUDA 8 refuses a gcc newer than 5."""
    succeeded(home.run("adopt", compiling(tmp_path / "cuda", "exit 0"), "--as", "8.0"))
    found = proven(home, "8.0", code=1)
    assert found["host compiler"]["status"] == "failed"
    for name in ("nvcc: a program", "nvcc: a kernel", "CMake: a project"):
        assert found[name]["status"] == "skipped"
        assert found[name]["detail"] == "there is no compatible host compiler"


def test_programs_find_the_toolkits_libraries_where_use_leaves_them_out(
    home: Home, tmp_path: Path
) -> None:
    """A CMake project links libcudart without RUNPATH, as the toolkit's folder is nvcc's own."""
    program = "case :$LD_LIBRARY_PATH: in *:$CUDA_HOME/lib64:*) echo 13000 ;; *) exit 1 ;; esac"
    write = f"printf '%s\\n' '#!/bin/sh' '{program}' >$at; chmod +x $at"
    kit = compiling(tmp_path / "cuda", f"at=program; {write}")
    (kit / "lib64").mkdir()
    env = Env(tmp_path / "env")
    env.write("pyvenv.cfg", "home = /usr/bin\n")
    env.file("nvidia/cublas/lib/libcublas.so.12")
    executable(
        env.prefix / "bin/cmake",
        '#!/bin/sh\n[ "$LD_LIBRARY_PATH" ] && exit 1\n'
        'echo "-- cudaswitch: 13.0 $CUDA_HOME/bin"\n'
        f"[ $1 = --build ] && mkdir $2 && at=$2/program && {write}\n:\n",
    )
    executable(env.prefix / "bin/make")
    succeeded(home.run("adopt", kit, "--as", "13.0"))
    path = f"{env.prefix}/bin:{home.env['PATH']}"
    found = proven(home, "13.0", VIRTUAL_ENV=str(env.prefix), PATH=path)
    for name in ("nvcc: a program", "CMake: a project"):
        assert found[name]["status"] == "passed", found[name]


NO_FOLDER = """\
CMake Error in CMakeLists.txt:
  Imported target "CUDA::cudart" includes non-existent path

    "/store/toolkits/13.2.86/include/cccl"

  in its INTERFACE_INCLUDE_DIRECTORIES.  Possible reasons include:
"""
"""What CMake 4.4 says about a toolkit without CCCL."""


def test_cmakes_reason_has_the_path_that_it_is_about() -> None:
    said = building.of_cmake(bounded.Done(1, "", NO_FOLDER, 1))
    assert said == (
        'Imported target "CUDA::cudart" includes non-existent path'
        ' "/store/toolkits/13.2.86/include/cccl"'
    )

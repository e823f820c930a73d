"""The machine: driver, GPUs, the loader's configuration, /usr/local/cuda, WSL."""

from __future__ import annotations

import shutil

import builders
from doctoring.environment import link
from doctoring.patient import Patient, case
from made_libraries import other_glibc


def _active(it: Patient, version: str) -> None:
    kit = it.toolkit(it.work / "kit", version)
    it.env["CUDA_HOME"] = str(kit)
    it.on_path(kit / "bin")


@case("CS050")
def old_driver(it: Patient) -> None:
    _active(it, "12.4.131")
    it.env["CUDASWITCH_DRIVER"] = "470.57.02"
    it.adopt("11.2.152")


@case("CS051")
def framework_driver(it: Patient) -> None:
    """No test installs a driver: `apt` does nothing, and CUDASWITCH_DRIVER names the newer one."""
    env = it.virtualenv()
    env.torch("2.4.0+cu121", "12.1", "nvidia-cublas-cu12==12.1.3.1")
    env.dist("nvidia-cublas-cu12", "12.1.3.1")
    it.activate(env)
    it.env["CUDASWITCH_DRIVER"] = "418.39"
    it.program(it.work / "bin/apt", '#!/bin/sh\n[ "$*" = "install nvidia-driver-535" ]\n')
    names = "nvidia-driver-470\nnvidia-driver-535\nnvidia-driver-570-server"
    it.program(it.work / "bin/apt-cache", f'#!/bin/sh\n[ "$1" = pkgnames ] && echo "{names}"\n')
    it.after = "[ $? = 0 ] && export CUDASWITCH_DRIVER=525.60.13"


@case("CS052")
def new_gpu(it: Patient) -> None:
    _active(it, "11.2.152")
    it.gpu("8.9")
    it.adopt("12.4.131")


@case("CS053")
def old_gpu(it: Patient) -> None:
    _active(it, "13.0.88")
    it.gpu("6.1")
    it.adopt("12.4.131")


@case("CS054")
def other_in_cache(it: Patient) -> None:
    (it.work / "etc").mkdir()
    other = it.toolkit(it.work / "local/cuda-12.1", "12.1.105", nvcc=False)
    assert other.is_dir()
    (it.work / "conf/zz-cuda.conf").write_text("/usr/local/cuda-12.1/lib64\n")
    _active(it, "12.4.131")


@case("CS055")
def conf_gone(it: Patient) -> None:
    (it.work / "etc").mkdir()
    (it.work / "conf/cuda-9.conf").write_text("/usr/local/cuda-9.0/lib64\n")


@case("CS056")
def conf_twice(it: Patient) -> None:
    (it.work / "etc").mkdir()
    for version in ("12.1.105", "12.4.131"):
        it.toolkit(it.work / f"local/cuda-{version}", version, nvcc=False)
        (it.work / f"conf/{version}.conf").write_text(f"/usr/local/cuda-{version}/lib64\n")


@case("CS057")
def dangling(it: Patient) -> None:
    it.toolkit(it.work / "local/cuda-12.4", "12.4.131")
    (it.work / "local/cuda").symlink_to("/usr/local/cuda-11.0")


@case("CS058")
def number_of_smi(it: Patient) -> None:
    it.adopt("11.8.89")
    it.env |= {"CUDASWITCH_DRIVER": "550.54.14", "CUDASWITCH_VERSION": "12.4"}
    it.remains = frozenset({"CS076"})


@case("CS059")
def wsl(it: Patient) -> None:
    link(it.work / "usr-lib/wsl/lib/libcuda.so.1")


@case("CS060")
def wsl_other(it: Patient) -> None:
    wsl(it)
    other = link(it.work / "linux driver/libcuda.so.1")
    it.env["LD_LIBRARY_PATH"] = str(other.parent)


@case("CS061")
def stub(it: Patient) -> None:
    kit = it.toolkit(it.work / "kit", "12.4.131", nvcc=False)
    (kit / "lib64/stubs").mkdir()
    made = link(kit / "lib64/stubs/libcuda.so.1")
    made.rename(made.with_name("libcuda.so"))
    (kit / "lib64/libcuda.so.1").symlink_to("stubs/libcuda.so")
    it.env["LD_LIBRARY_PATH"] = f"{kit}/lib64"


@case("CS066")
def new_library(it: Patient) -> None:
    _active(it, "12.4.131")
    it.env["LD_PRELOAD"] = str(other_glibc(it.work, "2.41"))
    it.adopt("13.0.48")


@case("CS063")
def away(it: Patient) -> None:
    it.env["CUDASWITCH_STORES"] = f"{it.work}/not mounted"


@case("CS062")
def lost(it: Patient) -> None:
    shutil.rmtree(it.adopt("12.4.131"))


@case("CS064")
def unrecorded(it: Patient) -> None:
    it.run("install", builders.cudatoolkit_10_1(it.work / "packages"))
    (it.home.store / "toolkits/10.1.243/cudaswitch.json").write_text("{")


@case("CS065")
def upgraded(it: Patient) -> None:
    it.toolkit(it.adopt("12.4.131"), "12.9.86")

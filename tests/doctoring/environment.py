"""The active environment: what it brings, what it needs, what it gets instead."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pip

import builders
from cudaswitch.detect.packages import normalised
from doctoring.patient import OwnEnv, Patient, case


def link(path: Path, *needed: Path, runpath: str = "") -> Path:
    """Link a real library that finds its neighbours by RUNPATH."""
    path.parent.mkdir(parents=True, exist_ok=True)
    command = ["gcc", "-shared", "-nostdlib", f"-Wl,-soname,{path.name}", "-Wl,--no-as-needed"]
    command += [f"-Wl,--enable-new-dtags,-rpath,{runpath}"] if runpath else []
    subprocess.run(
        [*command, "-x", "c", "/dev/null", "-x", "none", *needed, "-o", path], check=True
    )
    return path


def _tensorflow(it: Patient, version: str) -> OwnEnv:
    env = it.virtualenv()
    env.dist("tensorflow", version)
    (env.packages / "tensorflow").mkdir()
    it.activate(env)
    return env


@case("CS040")
def toolkit_first(it: Patient) -> None:
    """cuSPARSE of 12.4 with the nvJitLink of 12.1, as in thread 1 of the field."""
    env = it.virtualenv()
    env.dist("nvidia-cusparse-cu12", "12.3.1.170")
    nvidia = env.packages / "nvidia"
    bundled = link(nvidia / "nvjitlink/lib/libnvJitLink.so.12")
    link(
        nvidia / "cusparse/lib/libcusparse.so.12",
        bundled,
        runpath="$ORIGIN/../../nvjitlink/lib",
    )
    it.activate(env)
    older = link(it.work / "cuda-12.1/lib64/libnvJitLink.so.12")
    it.env["LD_LIBRARY_PATH"] = f"{older.parent}:/usr/lib"


@case("CS041")
def no_runtime(it: Patient) -> set[str]:
    _tensorflow(it, "2.3.0")
    packages = it.work / "packages"
    it.run("install", builders.cudatoolkit_10_1(packages), builders.cudnn_7_6_5(packages))
    it.remains = frozenset({"CS046"})
    return {"CS076"}


@case("CS042")
def wrong_cudnn(it: Patient) -> set[str]:
    others = no_runtime(it)
    it.lay_library(it.work / "own", "libcudart", "libcudart.so.10.1", "10.1.243")
    it.lay_library(it.work / "own", "libcudnn", "libcudnn.so.8", "8.0.5")
    it.env["LD_LIBRARY_PATH"] = f"{it.work}/own"
    return others


@case("CS043")
def other_nvcc(it: Patient) -> set[str]:
    env = it.virtualenv()
    env.torch("2.4.0+cu121", "12.1")
    nvidia = env.packages / "nvidia/cublas/lib"
    nvidia.mkdir(parents=True)
    env.dist("nvidia-cublas-cu12", "12.1.3.1")
    it.activate(env)
    kit = it.toolkit(it.work / "kit", "11.8.89")
    it.env["CUDA_HOME"] = str(kit)
    it.on_path(kit / "bin")
    it.adopt("12.1.105")
    return {"CS076"}


@case("CS044")
def two_majors(it: Patient) -> None:
    env = _with_wheels(it, ("nvidia-cudnn-cu11", "8.9.6.50"), ("nvidia-cudnn-cu12", "8.9.7.29"))
    it.activate(env)


@case("CS045")
def wrong_wheel(it: Patient) -> None:
    env = _with_wheels(it, ("nvidia-cudnn-cu12", "8.9.7.29"))
    env.torch("2.4.0+cu121", "12.1", "nvidia-cudnn-cu12==9.1.0.70")
    _wheel(it, "nvidia-cudnn-cu12", "9.1.0.70")
    it.activate(env)


def _wheel(it: Patient, name: str, version: str) -> None:
    major = version.split(".", maxsplit=1)[0]
    content = builders.elf_bytes(f"libcudnn.so.{major}", {"made_as": f"{name} {version}"})
    tree = {f"nvidia/cudnn/lib/libcudnn.so.{major}": content}
    builders.wheel(it.work / "wheels", name, version, "py3-none-any", tree=tree)


def _with_wheels(it: Patient, *packages: tuple[str, str]) -> OwnEnv:
    """Make a virtualenv in which pip installs, as people do, from wheels in a folder."""
    env = it.virtualenv()
    (it.work / "wheels").mkdir()
    (it.work / "pip").mkdir()
    (it.work / "pip/pip").symlink_to(Path(pip.__file__).parent)
    it.env |= {"PYTHONPATH": f"{it.work}/pip", "PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": "/dev/null"}
    it.env |= {"PIP_FIND_LINKS": f"{it.work}/wheels", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    for name, version in packages:
        _wheel(it, name, version)
        subprocess.run(
            [env.prefix / "bin/python", "-m", "pip", "install", "-q", f"{name}=={version}"],
            env=it.home.env | it.env,
            check=True,
        )
        assert normalised(name) == name
    return env


@case("CS046")
def no_libdevice(it: Patient) -> None:
    _tensorflow(it, "2.11.0")
    kit = it.toolkit(it.work / "kit", "11.2.152")
    it.lay_library(kit / "lib64", "libcudnn", "libcudnn.so.8", "8.1.0")
    it.env |= {"CUDA_HOME": str(kit), "LD_LIBRARY_PATH": f"{kit}/lib64"}
    it.on_path(kit / "bin")


@case("CS047")
def flags_lead_nowhere(it: Patient) -> None:
    it.env["XLA_FLAGS"] = f"--xla_dump_to=/x --xla_gpu_cuda_data_dir={it.work}/nowhere"


@case("CS048")
def cuda_dir(it: Patient) -> None:
    no_libdevice(it)
    kit = it.env["CUDA_HOME"]
    it.env |= {"XLA_FLAGS": f"--xla_gpu_cuda_data_dir={kit}", "CUDA_DIR": kit}


@case("CS049")
def nvcc_in_wheels(it: Patient) -> None:
    env = it.virtualenv()
    env.dist("nvidia-cuda-nvcc", "13.0.88")
    it.program(env.packages / "nvidia/cu13/bin/nvcc")
    it.adopt("13.0.88")
    it.activate(env)


@case("CS086")
def part_of_a_toolkit(it: Patient) -> None:
    env = it.virtualenv()
    env.dist("ctranslate2", "4.8.5")
    it.activate(env)
    it.adopt("12.4.131")
    for path in (it.adopt("12.9.86") / "lib64").glob("libcublas.so*"):
        path.unlink()
    it.before = 'eval "$(cudaswitch env 12.9 --shell bash)"'

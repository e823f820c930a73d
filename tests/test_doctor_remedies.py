"""The command for a pasted message suits this machine, its toolkits and its driver."""

from __future__ import annotations

import json
import shutil
import subprocess

import pytest

from doctoring import Patient, environment
from startup_files import FILES
from tools import require

CUDNN = "libcudnn.so.{}: cannot open shared object file: No such file or directory"


@pytest.mark.parametrize(
    ("version", "major", "release"),
    [
        ("13.0.88", 8, "12.2"),
        ("12.4.131", 8, "12.4"),
        ("13.0.88", 9, "13.0"),
        ("11.8.89", 7, "10.2"),
        ("", 9, "13.1"),
    ],
)
def test_a_release_that_has_the_cudnn(
    patient: Patient, version: str, major: int, release: str
) -> None:
    """A release is named that has the cuDNN: no source has 12.4.131, nor cuDNN 8 for CUDA 13."""
    kit = patient.toolkit(patient.work / "kit", version or "12.4.131", nvcc=bool(version))
    if not version:
        (kit / "version.json").unlink()
        shutil.rmtree(kit / "lib64")
    patient.env["CUDA_HOME"] = str(kit)
    found = patient.told(CUDNN.format(major))
    assert found["fix"].startswith(f"cudaswitch install {release} --cudnn {major} && "), found
    assert f"env {release} " in found["fix"]


@pytest.mark.parametrize(
    ("library", "active", "release"),
    [
        ("libcudart.so.11.0", "", "11"),
        ("libcudart.so.10.2", "", "10.2"),
        ("libcufft.so.10", "", "11"),
        ("libcufft.so.10", "10.2.89", "10.2"),
        ("libcufft.so.11", "", "12"),
        ("libcufft.so.12", "", "13"),
        ("libcurand.so.10", "", "13"),
        ("libcurand.so.10", "12.4.131", "12.4"),
        ("libcusolver.so.10", "", "11.0"),
        ("libcusolver.so.11", "", "12"),
        ("libcusolver.so.11", "11.0.194", "12"),
        ("libcusolver.so.11", "11.2.72", "11.2"),
        ("libcusparse.so.12", "12.4.131", "12.4"),
        ("libcublas.so.10", "", "10.2"),
        ("libcublas.so.12", "13.0.88", "12"),
        ("libcublas.so.10.0", "", "10.0"),
        ("libcublas.so.9.0", "", "9.0"),
        ("libnvrtc.so.11.2", "11.8.89", "11.8"),
        ("libcupti.so.12", "", "12"),
        ("libnppicc.so.10", "", "10.2"),
    ],
)
def test_a_release_that_has_the_library(
    patient: Patient, library: str, active: str, release: str
) -> None:
    if active:
        patient.env["CUDA_HOME"] = str(patient.toolkit(patient.work / "kit", active))
    pasted = f"OSError: {library}: cannot open shared object file: No such file or directory"
    found = patient.told(pasted)
    assert found["code"] == ("CS108" if "cudart" in library else "CS109")
    assert f"CUDA {release}" in found["cause"]
    assert found["fix"].startswith(f"cudaswitch install {release} && "), found


@pytest.mark.parametrize(
    ("pasted", "folder"),
    [
        ("RuntimeError: Library libcublas.so.12 is not found or cannot be loaded", "cublas"),
        ("ImportError: libcudart.so.12: cannot open shared object file", "cuda_runtime"),
        ("RuntimeError: Library libcublas.so.11 is not found or cannot be loaded", None),
    ],
)
def test_a_library_that_a_wheel_has(patient: Patient, pasted: str, folder: str | None) -> None:
    """What is opened by its name, as by CTranslate2, is not looked for among the wheels."""
    env = patient.virtualenv()
    env.dist("ctranslate2", "4.5.0")
    for name, library in (("cublas", "libcublas.so.12"), ("cuda_runtime", "libcudart.so.12")):
        env.dist(f"nvidia-{name.replace('_', '-')}-cu12", "12.4.5.8")
        (env.packages / f"nvidia/{name}/lib").mkdir(parents=True)
        (env.packages / f"nvidia/{name}/lib" / library).touch()
    patient.activate(env)
    fix = patient.told(pasted)["fix"]
    if folder is None:
        assert fix.startswith("cudaswitch install 11 && ")
        return
    there = env.packages / f"nvidia/{folder}/lib"
    assert fix == f"export LD_LIBRARY_PATH={there}"
    patient.env["LD_LIBRARY_PATH"] = str(there)
    assert patient.told(pasted)["fix"].startswith("cudaswitch install 12 && ")


def test_the_library_of_the_framework(patient: Patient) -> None:
    """A library comes with the framework's CUDA, or else with the newest that the driver runs."""
    pasted = "Could not load dynamic library 'libcurand.so.10'; dlerror: cannot open"
    patient.env["CUDASWITCH_DRIVER"] = "470.57.02"
    for release in ("11", "11.8"):
        found = patient.told(pasted)
        assert found["fix"].startswith(f"cudaswitch install {release} && "), found
        env = patient.virtualenv()
        env.torch("2.4.0+cu118", "11.8")
        patient.activate(env)


@pytest.mark.parametrize(
    ("line", "active", "words", "fix"),
    [
        ("compute_35", "13.0.88", "CUDA 13.0 has given the GPU up: 7.0 to 11.8", "11.8"),
        ("compute_35", "11.8.89", "CUDA 7.0 to 11.8 have code for", "7.0"),
        ("compute_89", "11.5.119", "CUDA 11.5 is older than the GPU: 11.8 to", "11.8"),
        ("compute_120", "12.4.131", "CUDA 12.4 is older than the GPU: 12.8 to", "12.8"),
    ],
)
def test_an_nvcc_that_does_not_know_the_gpu(
    patient: Patient, line: str, active: str, words: str, fix: str
) -> None:
    patient.env["CUDA_HOME"] = str(patient.toolkit(patient.work / "kit", active))
    pasted = f"nvcc fatal   : Unsupported gpu architecture '{line}'"
    found = patient.told(pasted)
    assert words in found["cause"]
    assert found["fix"].startswith(f"cudaswitch install {fix} && "), found


@pytest.mark.parametrize(
    ("torch", "installed", "fix"),
    [
        ("12.4", [], "cudaswitch install 12.4 && "),
        ("11.0", ["11.8.89", "12.4.131"], "cudaswitch env 11.8.89 "),
        ("11.0", ["12.4.131"], "cudaswitch install 11.1 --from runfile && "),
        ("10.2", ["11.8.89"], "cudaswitch compat torch"),
        (None, ["11.0.221", "12.4.131"], "cudaswitch env 12.4.131 "),
    ],
)
def test_a_cuda_that_knows_the_gpu_and_that_is_used_here(
    patient: Patient, torch: str | None, installed: list[str], fix: str
) -> None:
    for version in installed:
        patient.adopt(version)
    if torch:
        env = patient.virtualenv()
        env.torch(f"2.4.0+cu{torch.replace('.', '')}", torch)
        patient.activate(env)
    patient.env["CUDA_HOME"] = str(patient.toolkit(patient.work / "kit", "11.0.221"))
    assert fix in patient.told("nvcc fatal   : Unsupported gpu architecture 'compute_86'")["fix"]


@pytest.mark.parametrize(
    ("line", "laid", "fix"),
    [
        ("fatal error: cublas_v2.h: No such file or directory", True, "export CPATH=KIT/include"),
        ("fatal error: cublas_v2.h: No such file or directory", False, "cudaswitch install "),
        ("error: crt/host_config.h: No such file", True, "cudaswitch install 12.4 && "),
        ("/usr/bin/ld: cannot find -lcudart", True, "ln -s lib KIT/lib64"),
        ("/usr/bin/ld: cannot find -lcudart", False, "cudaswitch install "),
        ("/usr/bin/ld: cannot find -lcublas", True, "ln -s lib KIT/lib64"),
        ("/usr/bin/ld: cannot find -lcuda", False, "cudaswitch install "),
        ("libdevice not found at ./libdevice.10.bc", True, "export XLA_FLAGS=--xla_gpu_cuda_data"),
        ("libdevice not found at ./libdevice.10.bc", False, "cudaswitch install "),
        ("ld.so: object '/a' from LD_PRELOAD cannot be preloaded", False, "unset LD_PRELOAD"),
        ("cannot find -lcudnn", True, "cudaswitch install 12.4 --cudnn 9 && "),
    ],
)
def test_what_the_toolkit_here_has(patient: Patient, line: str, laid: bool, fix: str) -> None:
    kit = patient.work / "kit"
    if laid:
        patient.toolkit(kit)
        for name in ("include/cublas_v2.h", "lib64/libcublas.so"):
            (kit / name).write_text("")
        (kit / "lib64").rename(kit / "lib")
        patient.env["CUDA_HOME"] = str(kit)
    (patient.work / "no-nvcc").mkdir()
    for name in ("gcc", "sh", "cat"):
        (patient.work / "no-nvcc" / name).symlink_to(f"/usr/bin/{name}")
    patient.env["PATH"] = f"{kit}/bin:{patient.work}/no-nvcc"
    found = patient.told(line)
    assert found["fix"].startswith(fix.replace("KIT", str(kit))), found


@pytest.mark.parametrize(
    ("library", "folder"), [("cudart", "lib64"), ("cublas", "lib64"), ("cuda", "lib64/stubs")]
)
def test_the_linker_is_led_to_the_toolkit(patient: Patient, library: str, folder: str) -> None:
    kit = patient.toolkit(patient.work / "kit")
    patient.lay_library(kit / "lib64/stubs", "libcuda", "libcuda.so.1", "1")
    patient.lay_library(kit / "lib64", "libcublas", "libcublas.so.12", "12.4.5")
    patient.env |= {"CUDA_HOME": str(kit), "LIBRARY_PATH": "/mine"}
    pasted = f"/usr/bin/ld: cannot find -l{library}: No such file or directory"
    found = patient.told(pasted)
    assert found["fix"] == f"export LIBRARY_PATH={kit}/{folder}:/mine"
    patient.env["LIBRARY_PATH"] = f"{kit}/{folder}"
    assert "LIBRARY_PATH" not in patient.told(pasted)["fix"]


def test_nushell_is_told_what_off_can_undo(patient: Patient) -> None:
    """Nushell is given `use`, which `off` undoes; what it reads from `env` nothing can undo."""
    patient.env["SHELL"] = "nu"
    patient.adopt("12.4.131")
    pasted = "libcudart.so.12: cannot open shared object file"
    assert patient.told(pasted)["fix"] == "cudaswitch init --install nu"
    patient.run("init", "--install", "nu", "--yes")
    assert patient.told(pasted)["fix"] == "cudaswitch use 12"
    patient.run("pin", "12.4", "--global")
    found = json.loads(patient.home.run("doctor", "--json", **patient.env).stdout)["findings"]
    assert {one["code"]: one["fix"] for one in found} == {"CS076": "cudaswitch use 12.4.131"}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_startup_file_that_cannot_be_edited_is_left_out(patient: Patient, shell: str) -> None:
    """Where `init --install` would refuse, the integration is loaded into this shell alone."""
    patient.env["SHELL"] = shell
    kit = patient.adopt("12.4.131")
    patient.run("pin", "12.4", "--global")
    file = patient.home.path / FILES[shell]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("# mine\n")
    file.chmod(0o400)

    def run(line: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [require(shell), "-c", line], env=patient.home.env | patient.env,
            cwd=patient.home.path, capture_output=True, text=True, check=False,
        )  # fmt: skip

    [found] = json.loads(run("cudaswitch doctor --json; true").stdout)["findings"]
    assert found["code"] == "CS076"
    assert found["evidence"].endswith(f"`{file}` neither loads cudaswitch nor can be edited")
    assert run(f"{found['fix']}; printenv CUDA_HOME").stdout == f"{kit}\n"
    assert run("cudaswitch current; true").stderr.splitlines()[-1] == f"hint: {found['fix']}"


NO_NVVM = "numba.cuda.cudadrv.error.NvvmSupportError: libNVVM cannot be found. Do `conda install"


@pytest.mark.parametrize(
    ("dists", "installed", "fix"),
    [
        (["numba 0.60.0"], ["13.0.88", "12.4.131", "11.0.221"], "cudaswitch env 12.4.131"),
        (["numba 0.60.0"], ["13.0.88"], "cudaswitch install 12 && "),
        ([], ["13.0.88", "11.8.89"], "cudaswitch env 11.8.89"),
        (["numba 0.60.0", "numba-cuda 0.30.4", "cuda-bindings 13.2.0"], ["13.0.88"], "env 13 "),
    ],
)
def test_a_toolkit_that_numba_takes(
    patient: Patient, dists: list[str], installed: list[str], fix: str
) -> None:
    for version in installed:
        patient.adopt(version)
    env = patient.virtualenv()
    for dist in dists:
        env.dist(*dist.split())
    patient.activate(env)
    found = patient.told(NO_NVVM)
    assert fix in found["fix"]
    assert "CUDA_HOME (not set here)" in found["cause"]


@pytest.mark.parametrize(
    ("installed", "least", "fix"),
    [
        (["13.0.88"], 9, "cudaswitch install 13.0 --cudnn 9 && "),
        (["11.8.89", "13.0.88"], 8, "cudaswitch install 11.8 --cudnn 8 && "),
        (["13.0.88"], 8, "cudaswitch install 12.2 --cudnn 8 && "),
    ],
)
def test_a_cudnn_for_what_is_installed(
    patient: Patient, installed: list[str], least: int, fix: str
) -> None:
    for version in installed:
        patient.adopt(version)
    assert patient.told(CUDNN.format(least))["fix"].startswith(fix)


@pytest.mark.parametrize(
    ("installed", "release"),
    [([], "11.8"), (["12.9.86"], "11.8"), (["11.2.152", "12.9.86"], "11.2")],
)
def test_the_cudnn_of_a_tensorflow_for_cuda_11(
    patient: Patient, installed: list[str], release: str
) -> None:
    for version in installed:
        patient.adopt(version)
    pasted = f"Could not load dynamic library 'libcudnn.so.8'; dlerror: {CUDNN.format(8)}"
    found = patient.told(pasted)
    assert found["fix"].startswith(f"cudaswitch install {release} --cudnn 8 && ")


@pytest.mark.parametrize(
    ("pasted", "without"),
    [
        ("cupy.cuda.compiler.JitifyException: Runtime", "cudaswitch resolve"),
        (
            "libcublas.so.11: undefined symbol: cublasLtX, version libcublasLt.so.11",
            "cudaswitch which libcublasLt.so.11",
        ),
        (
            "PyTorch was compiled  against (9, 5, 1) but found runtime version (9, 1, 0).",
            "cudaswitch resolve",
        ),
        ("Outdated cuBLAS installation found.", "cudaswitch which libcublas.so.13"),
    ],
)
def test_a_list_is_to_blame_only_where_there_is_one(
    patient: Patient, pasted: str, without: str
) -> None:
    found = patient.told(pasted)
    assert "LD_LIBRARY_PATH, which is not set in this shell" in found["cause"]
    assert found["fix"] == without
    kit = patient.toolkit(patient.work / "kit")
    patient.env["LD_LIBRARY_PATH"] = f"/mine:{kit}/lib64"
    found = patient.told(pasted)
    assert "not set" not in found["cause"]
    assert found["fix"] == "export LD_LIBRARY_PATH=/mine"


@pytest.mark.parametrize(
    ("value", "told", "fix"),
    [
        (None, "which is not set in", "nvidia-smi -L"),
        ("", "which is empty in", "unset CUDA_VISIBLE_DEVICES"),
        ("7", "which is 7 in", "unset CUDA_VISIBLE_DEVICES"),
    ],
)
def test_gpus_that_are_hidden(patient: Patient, value: str | None, told: str, fix: str) -> None:
    if value is not None:
        patient.env["CUDA_VISIBLE_DEVICES"] = value
    found = patient.told("RuntimeError: No CUDA GPUs are available")
    assert told in found["cause"]
    assert found["fix"] == fix


@pytest.mark.parametrize(
    ("torch", "installed", "fix"),
    [
        ("11.8", [], "cudaswitch install 11.8 && "),
        ("11.5", ["11.8.89", "12.4.131"], "cudaswitch env 11.8.89 "),
        ("10.2", ["12.4.131"], "cudaswitch compat torch"),
        (None, ["11.0.221", "12.4.131"], "cudaswitch env 12.4.131 "),
        (None, ["11.0.221"], "cudaswitch install 11.6 && "),
    ],
)
def test_an_nvcc_that_is_not_older(
    patient: Patient, torch: str | None, installed: list[str], fix: str
) -> None:
    for version in installed:
        patient.adopt(version)
    if torch:
        env = patient.virtualenv()
        env.torch(f"2.4.0+cu{torch.replace('.', '')}", torch)
        patient.activate(env)
    found = patient.told("RuntimeError: FlashAttention is only supported on CUDA 11.6 and above.")
    assert fix in found["fix"]


WRAPPERS = [
    'exec KIT/bin/nvcc "$@"',
    'exec "${CUDA_HOME}/bin/nvcc" "${@}"',
    '# exec /opt/nvcc\nccache $CUDA_HOME/bin/nvcc "$@"',
]


@pytest.mark.parametrize("script", WRAPPERS)
def test_an_nvcc_behind_a_script_is_that_of_its_toolkit(patient: Patient, script: str) -> None:
    """A script that starts nvcc, as /usr/local/bin/nvcc may be, stands for nvcc's toolkit."""
    kit = patient.toolkit(patient.work / "kit", "13.0.88")
    local = patient.work / "around"
    (local / "lib").mkdir(parents=True)
    text = script.replace("KIT", str(kit))
    patient.program(local / "bin/nvcc", f"#!/bin/sh\n{text}\n")
    patient.env["CUDA_HOME"] = str(kit)
    patient.on_path(local / "bin")
    patient.in_shell("none")
    assert patient.codes(1) == []
    if "CUDA_HOME" not in script:
        del patient.env["CUDA_HOME"]
    found = patient.told("/usr/bin/ld: cannot find -lcudart: No such file or directory")
    assert found["fix"] == f"export LIBRARY_PATH={kit}/lib64"


def test_a_link_is_made_only_where_the_library_is(patient: Patient) -> None:
    around = patient.toolkit(patient.work / "around", "13.0.88")
    shutil.rmtree(around / "lib64")
    (around / "lib").mkdir()
    patient.env["CUDA_HOME"] = str(around)
    patient.on_path(around / "bin")
    patient.in_shell("none")
    assert patient.codes(1) == []
    found = patient.told("/usr/bin/ld: cannot find -lcudart: No such file or directory")
    assert found["fix"].startswith("cudaswitch install ")


def test_a_folder_whose_name_begins_as_the_toolkits(patient: Patient) -> None:
    """Only a folder within the applied toolkit is left out by an option of the toolkit."""
    kit = patient.adopt("12.4.131")
    environment.toolkit_first(patient)
    older = environment.link(kit.with_name("12.4.131+old") / "lib64/libnvJitLink.so.12").parent
    patient.env["LD_LIBRARY_PATH"] = str(older)
    patient.before = 'eval "$(cudaswitch env 12.4 --shell bash)"'
    patient.in_shell("CS040")
    [found] = [one for one in patient.findings(1) if one["code"] == "CS040"]
    assert "--libraries" not in found["fix"]
    assert "CS040" not in patient.codes(2)


@pytest.mark.parametrize("program", ["conda", "micromamba"])
def test_a_script_of_a_package_is_mended_by_a_newer_package(patient: Patient, program: str) -> None:
    """`--fix` moves only what no package brought."""
    if program == "micromamba":
        patient.env["MAMBA_EXE"] = "/m/micromamba"
    pasted = "/e/etc/conda/activate.d/~cuda-nvcc_activate.sh: line 1: CFLAGS: unbound variable"
    assert patient.told(pasted)["fix"] == f"{program} update --all"


def test_the_linker_is_led_to_a_library_that_newer_toolkits_lack(patient: Patient) -> None:
    pasted = "/usr/bin/ld: cannot find -lnvToolsExt: No such file or directory"
    kit = patient.adopt("12.4.131")
    patient.lay_library(kit / "lib64", "libnvToolsExt", "libnvToolsExt.so.1", "1.0.0")
    assert "cudaswitch env 12.4 " in patient.told(pasted)["fix"]
    patient.env["CUDA_HOME"] = str(kit)
    assert patient.told(pasted)["fix"] == f"export LIBRARY_PATH={kit}/lib64"

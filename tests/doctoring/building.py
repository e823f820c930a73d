"""What compiling needs: CUDA_HOME and its kin, nvcc, ptxas, the host compiler."""

from __future__ import annotations

from doctoring.patient import Patient, case


def _home(it: Patient, version: str = "12.4.131") -> str:
    """Have a toolkit in CUDA_HOME and on PATH."""
    kit = it.toolkit(it.work / f"kit-{version}", version)
    it.env["CUDA_HOME"] = str(kit)
    it.on_path(kit / "bin")
    return str(kit)


@case("CS020")
def disagree(it: Patient) -> None:
    _home(it)
    it.env["CUDA_PATH"] = str(it.toolkit(it.work / "other", "11.8.89"))


@case("CS021")
def a_list(it: Patient) -> set[str]:
    kit = _home(it)
    it.env["CUDA_HOME"] = f":{kit}"
    return set()


@case("CS022")
def nowhere(it: Patient) -> None:
    it.env["CUDA_HOME"] = f"{it.work}/nowhere"


@case("CS023")
def inside(it: Patient) -> None:
    it.env["CUDA_HOME"] = f"{_home(it)}/bin/nvcc"


@case("CS024")
def only_path(it: Patient) -> None:
    it.env["CUDA_PATH"] = _home(it)
    del it.env["CUDA_HOME"]


@case("CS025")
def other_nvcc(it: Patient) -> set[str]:
    _home(it)
    it.on_path(it.toolkit(it.work / "other", "11.8.89") / "bin")
    return set()


@case("CS026")
def debian(it: Patient) -> None:
    text = "#!/bin/sh\necho 'Cuda compilation tools, release 11.5, V11.5.119'\n"
    it.program(it.work / "usr-bin/nvcc", text)
    kit = it.toolkit(it.work / "kit")
    it.env["CUDA_HOME"] = str(kit)


@case("CS027")
def no_nvcc(it: Patient) -> None:
    it.env["CUDA_HOME"] = str(it.toolkit(it.work / "kit"))


@case("CS028")
def other_compiler(it: Patient) -> None:
    _home(it)
    it.env["CUDACXX"] = f"{it.toolkit(it.work / 'other', '11.8.89')}/bin/nvcc"


@case("CS029")
def other_ptxas(it: Patient) -> None:
    _home(it)
    it.program(it.work / "old/bin/ptxas")
    it.on_path(it.work / "old/bin")


@case("CS030")
def no_lib64(it: Patient) -> None:
    kit = it.work / "kit"
    it.toolkit(kit)
    (kit / "lib64").rename(kit / "lib")
    it.env["CUDA_HOME"] = str(kit)
    it.on_path(kit / "bin")


@case("CS031")
def headers_below(it: Patient) -> None:
    _home(it)
    kit = it.work / "kit-12.4.131"
    (kit / "targets/x86_64-linux").mkdir(parents=True)
    (kit / "include").rename(kit / "targets/x86_64-linux/include")


@case("CS032")
def no_host(it: Patient) -> None:
    it.env["NVCC_PREPEND_FLAGS"] = "-ccbin=/opt/gone/g++"


@case("CS033")
def host_too_new(it: Patient) -> None:
    """Of Debian's compilers, 11 is the newest that CUDA 11.8 accepts."""
    _home(it, "11.8.89")
    for major in (11, 99):
        it.program(it.work / f"usr-bin/gcc-{major}")
        it.program(it.work / f"usr-bin/g++-{major}")
        (it.work / f"usr-lib/gcc/x86_64-linux-gnu/{major}").mkdir(parents=True)
    (it.work / "bin/gcc").unlink()
    (it.work / "bin/gcc").symlink_to("/usr/bin/gcc-99")


@case("CS034")
def none_of_its_own(it: Patient) -> None:
    """PyPI's 12.x have a ptxas: PATH must not be reordered for that."""
    kit = it.toolkit(it.work / "kit", "12.4.131", nvcc=False)
    it.program(kit / "bin/ptxas")
    it.env["CUDA_HOME"] = str(kit)
    it.on_path(kit / "bin", it.toolkit(it.work / "other", "11.8.89") / "bin")
    it.adopt("12.4.131")

"""What `doctor` says about the compilers, and the toolkits, that variables name."""

from __future__ import annotations

import pytest

from doctoring import CASES, Patient


@pytest.mark.parametrize(
    ("flags", "codes"),
    [("-ccbin=g++-11", []), ("-O2 -ccbin /nowhere/g++", ["CS032"]), ("-lineinfo", ["CS033"])],
)
def test_flags_that_are_appended_name_a_compiler_too(
    patient: Patient, flags: str, codes: list[str]
) -> None:
    """The default gcc is too new for the toolkit here."""
    CASES["CS033"](patient)
    patient.program(patient.work / "bin/g++-11")
    patient.env["NVCC_APPEND_FLAGS"] = flags
    patient.in_shell("none")
    assert patient.codes(1) == codes


@pytest.mark.parametrize(("major", "codes"), [(4, []), (12, ["CS033"])])
def test_a_gcc_older_than_the_table_says_is_not_too_new(
    patient: Patient, major: int, codes: list[str]
) -> None:
    """No header of nvcc's refuses an old gcc; the table, for a kit without one, has 6 to 10."""
    kit = patient.toolkit(patient.work / "kit", "11.2.152")
    patient.env["CUDA_HOME"] = str(kit)
    patient.on_path(kit / "bin")
    (patient.work / "bin/gcc").unlink()
    (patient.work / "bin/gcc").symlink_to(patient.program(patient.work / f"gcc-{major}"))
    patient.in_shell("none")
    assert patient.codes(1) == codes


def test_a_compiler_may_be_named_with_arguments(patient: Patient) -> None:
    """CMake takes the first word of CUDACXX and of CUDAHOSTCXX for the program."""
    kit = patient.toolkit(patient.work / "kit")
    patient.on_path(kit / "bin")
    host = patient.program(patient.work / "bin/g++-11")
    patient.env |= {"CUDACXX": f"{kit}/bin/nvcc -O2", "CUDAHOSTCXX": f"{host} -m64"}
    patient.in_shell("none")
    assert patient.codes(1) == []


@pytest.mark.parametrize(
    ("below", "codes"), [("/bin", ["CS028"]), ("", ["CS028"]), ("/bin/nvcc", [])]
)
def test_a_folder_is_no_nvcc(patient: Patient, below: str, codes: list[str]) -> None:
    """nvcc takes a folder for its host compiler, and CMake none for nvcc."""
    kit = patient.toolkit(patient.work / "kit")
    patient.env |= {"CUDA_HOME": str(kit), "CUDACXX": f"{kit}{below}", "NVCC_CCBIN": "/usr/bin"}
    patient.on_path(kit / "bin")
    patient.in_shell("CS028")
    assert patient.codes(1) == codes
    assert patient.codes(2) == []


@pytest.mark.parametrize(
    ("name", "value", "gone"),
    [
        ("torch", "/nowhere/gcc", True),
        ("torch", "{}/bin/gcc-11", False),
        ("torch", "", False),
        ("jax", "/nowhere/gcc", False),
    ],
)
def test_pytorch_hands_cc_to_nvcc(patient: Patient, name: str, value: str, gone: bool) -> None:
    patient.program(patient.work / "bin/gcc-11")
    env = patient.virtualenv()
    if name == "torch":
        env.torch("2.4.0+cu124", "12.4")
    else:
        env.dist(name, "0.4.30")
    patient.activate(env)
    patient.env["CC"] = value.format(patient.work)
    found = patient.told("nvcc fatal   : Failed to preprocess host compiler properties.")
    assert ("CS032: CC names `/nowhere/gcc`, which is not a program" in found["evidence"]) == gone
    assert (found["fix"] == "unset CC") == gone
    assert "PyTorch gives it CC" in found["cause"]


def test_a_link_to_nvcc_has_its_ptxas_in_the_toolkit(patient: Patient) -> None:
    """`ln -s /usr/local/cuda/bin/nvcc /usr/local/bin` brings no ptxas, nor does its folder."""
    kit = patient.toolkit(patient.work / "kit")
    other = patient.toolkit(patient.work / "other", "11.8.89")
    links = patient.work / "links"
    links.mkdir()
    (links / "nvcc").symlink_to(kit / "bin/nvcc")
    patient.on_path(links, other / "bin")
    patient.in_shell("CS029")
    assert patient.codes(1) == ["CS029"]
    assert patient.codes(2) == []


@pytest.mark.parametrize(
    ("flags", "fix"),
    [
        ("-ccbin=/opt/gone/g++ -lineinfo -O3", "export NVCC_PREPEND_FLAGS='-lineinfo -O3'"),
        ("-O3 --compiler-bindir /opt/gone/g++", "export NVCC_PREPEND_FLAGS=-O3"),
        ("-ccbin /opt/gone/g++", "unset NVCC_PREPEND_FLAGS"),
    ],
)
def test_other_flags_stay(patient: Patient, flags: str, fix: str) -> None:
    patient.env["NVCC_PREPEND_FLAGS"] = flags
    patient.in_shell("CS032")
    assert [one["fix"] for one in patient.findings(1) if one["code"] == "CS032"] == [fix]
    assert patient.codes(2) == []


@pytest.mark.parametrize(
    ("pasted", "name", "flag"),
    [
        (
            "#error -- unsupported GNU version! gcc versions later than 10 are not supported!",
            "NVCC_PREPEND_FLAGS",
            "-ccbin=g++-10",
        ),
        (
            "/usr/include/c++/11/bits/std_function.h:435:145: error: parameter packs not expanded"
            " with '...':",
            "NVCC_PREPEND_FLAGS",
            "-ccbin=g++-10",
        ),
        (
            "#error -- unsupported clang version! clang version must be less than 19 and greater"
            " than 3.2 .",
            "NVCC_APPEND_FLAGS",
            "-ccbin=clang++-18",
        ),
        (
            'amxtileintrin.h(42): error: identifier "__builtin_ia32_ldtilecfg" is undefined',
            "NVCC_PREPEND_FLAGS",
            "-D_AMXTILEINTRIN_H_INCLUDED",
        ),
    ],
)
def test_a_flag_is_added_once_to_those_that_are_there(
    patient: Patient, pasted: str, name: str, flag: str
) -> None:
    patient.program(patient.work / "bin/g++-10")
    for before in ("-lineinfo -DMINE", f"{flag} -lineinfo -DMINE"):
        patient.env[name] = before
        fix = patient.told(pasted)["fix"]
        assert fix.startswith(f"export {name}='-lineinfo -DMINE {flag}"), fix


def test_the_compiler_that_is_named_is_one_more_flag(patient: Patient) -> None:
    CASES["CS033"](patient)
    patient.env["NVCC_PREPEND_FLAGS"] = "-lineinfo"
    patient.in_shell("CS033")
    [found] = patient.findings(1)
    assert found["fix"] == "export NVCC_PREPEND_FLAGS='-lineinfo -ccbin=g++-11'"
    assert patient.codes(2) == []


@pytest.mark.parametrize("end", ["/bin", "/bin/nvcc", "/lib64"])
def test_the_inside_of_a_toolkit_that_is_gone(patient: Patient, end: str) -> None:
    patient.env["CUDA_HOME"] = f"/opt/gone{end}"
    patient.in_shell("CS022")
    assert (patient.codes(1), patient.codes(2)) == (["CS022"], [])


def test_of_a_list_the_toolkit_stays_that_others_name(patient: Patient) -> None:
    kit = patient.toolkit(patient.work / "kit")
    other = patient.toolkit(patient.work / "other", "11.8.89")
    patient.env |= {"CUDA_HOME": f"{kit}:{other}", "CUDA_PATH": f"{kit}"}
    patient.on_path(kit / "bin")
    patient.in_shell("CS021")
    assert (patient.codes(1), patient.codes(2)) == (["CS021"], [])


@pytest.mark.parametrize(
    ("conda", "sysroot", "cuda", "fix"),
    [
        (True, "", "13.0", 'eval "$(cudaswitch env 13.0.48 --shell bash)"'),
        (True, "x86_64-conda-linux-gnu/sysroot", "13.0", None),
        (True, "", "12.4", "conda install -c conda-forge gxx_linux-64"),
        (False, "", "12.4", "conda install -c conda-forge gxx_linux-64"),
    ],
)
def test_a_c_library_that_is_too_new(
    patient: Patient, conda: bool, sysroot: str, cuda: str, fix: str | None
) -> None:
    """conda's compilers have an older one; PyTorch builds with an nvcc of its own major only."""
    CASES["CS066"](patient)
    path = patient.env["PATH"]
    env = patient.virtualenv(conda=conda)
    env.torch(f"2.9.0+cu{cuda.replace('.', '')}", cuda)
    patient.activate(env)
    patient.env["PATH"] = f"{path}:{patient.path}"
    if sysroot:
        (env.prefix / sysroot).mkdir(parents=True)
    patient.in_shell("none")
    found = {one["code"]: one["fix"] for one in patient.findings(1)}
    assert found.get("CS066") == fix


def test_a_c_library_that_is_too_new_for_all_that_the_driver_runs(patient: Patient) -> None:
    CASES["CS066"](patient)
    patient.env["CUDASWITCH_DRIVER"] = "550.54.14"
    patient.in_shell("none")
    found = {one["code"]: one["fix"] for one in patient.findings(1)}
    assert found["CS066"] == "conda install -c conda-forge gxx_linux-64"


def test_what_nvcc_says_of_a_c_library_that_is_too_new(patient: Patient) -> None:
    """What is found here suits the framework and the toolkits of this machine."""
    CASES["CS066"](patient)
    told = patient.told(
        "/usr/include/bits/mathcalls.h(79): error: exception specification is incompatible with"
        ' that of previous function "cospi" (declared at line 2601 of crt/math_functions.h)'
    )
    assert "here, CS066: " in told["evidence"]
    assert told["fix"] == 'eval "$(cudaswitch env 13.0.48 --shell bash)"'


def test_a_c_library_does_not_matter_without_nvcc(patient: Patient) -> None:
    CASES["CS066"](patient)
    (patient.work / "kit/bin/nvcc").unlink()
    patient.in_shell("none")
    assert patient.codes(1) == []


def test_triton_is_led_to_a_ptxas(patient: Patient) -> None:
    pasted = "RuntimeError: Cannot find ptxas"
    assert patient.told(pasted)["fix"].startswith("cudaswitch install ")
    here, active = patient.adopt("12.4.131"), patient.toolkit(patient.work / "kit", "11.8.89")
    assert patient.told(pasted)["fix"] == f"export TRITON_PTXAS_PATH={here}/bin/ptxas"
    patient.env["CUDA_HOME"] = str(active)
    assert patient.told(pasted)["fix"] == f"export TRITON_PTXAS_PATH={active}/bin/ptxas"


NO_PTXAS = "RuntimeError: Cannot find {}"
NO_CODE = (
    "RuntimeError: Internal Triton PTX codegen error\n`ptxas` stderr:\n"
    "ptxas fatal   : Value '{}' is not defined for option 'gpu-name'"
)
BOTH = ("TRITON_PTXAS_PATH", "TRITON_PTXAS_BLACKWELL_PATH")


@pytest.mark.parametrize(
    ("pasted", "version", "names"),
    [
        (NO_PTXAS.format("ptxas"), "12.4.131", BOTH[:1]),
        (NO_PTXAS.format("ptxas-blackwell"), "13.0.88", BOTH),
        (NO_PTXAS.format("ptxas-blackwell"), "12.4.131", ()),
        (NO_CODE.format("sm_90"), "12.4.131", BOTH[:1]),
        (NO_CODE.format("sm_121a"), "12.9.86", BOTH),
        (NO_CODE.format("sm_121a"), "12.8.93", ()),
    ],
)
def test_triton_is_led_to_a_ptxas_that_knows_the_gpu(
    patient: Patient, pasted: str, version: str, names: tuple[str, ...]
) -> None:
    """Triton runs no ptxas of a toolkit but one that it is told of."""
    kit = patient.adopt(version)
    fix = patient.told(pasted)["fix"]
    if names:
        assert fix == " && ".join(f"export {name}={kit}/bin/ptxas" for name in names)
    else:
        assert fix.startswith("cudaswitch install ")

"""What `doctor` says about lists: what is in them only looks like CUDA, or is it by two names."""

from __future__ import annotations

import pytest

import builders
from doctoring import CASES, Patient


@pytest.mark.parametrize(
    ("folder", "codes"),
    [
        ("analysis/lib", []),
        ("minimal/lib", []),
        ("anaconda3/lib", ["CS007"]),
        ("miniforge3/envs/thesis/lib", ["CS007"]),
    ],
)
def test_conda_is_told_by_the_names_of_its_installers(
    patient: Patient, folder: str, codes: list[str]
) -> None:
    (patient.work / folder).mkdir(parents=True)
    patient.env["LD_LIBRARY_PATH"] = f"{patient.work}/{folder}"
    patient.in_shell("none")
    assert patient.codes(1) == codes


@pytest.mark.parametrize(("name", "codes"), [("libcurl", []), ("libcufile", ["CS012"])])
def test_only_libraries_of_cuda_are_not_to_be_preloaded(
    patient: Patient, name: str, codes: list[str]
) -> None:
    """People preload libcurl to get another one than that of MATLAB or conda."""
    library = patient.lay_library(patient.work / "lib", name, f"{name}.so.4", "4.8.0")
    patient.before = f"export LD_PRELOAD='{library}'"
    patient.in_shell("none")
    assert patient.codes(1) == codes


@pytest.mark.parametrize("folders", [("kit/lib64", "loose"), ("loose", "kit/lib64")])
def test_of_two_releases_the_first_stays_also_if_one_is_in_no_toolkit(
    patient: Patient, folders: tuple[str, str]
) -> None:
    patient.toolkit(patient.work / "kit", "11.8.89")
    patient.lay_library(patient.work / "loose", "libcudart", "libcudart.so.12", "12.4.127")
    patient.env["LD_LIBRARY_PATH"] = ":".join(f"{patient.work}/{at}" for at in folders)
    patient.in_shell("CS008")
    assert patient.codes(1) == ["CS008"]
    [first, _] = folders
    assert (patient.work / "fix").read_text().rstrip("\n").endswith(f"{patient.work}/{first}")
    assert patient.codes(2) == []


def test_the_line_of_another_release_is_found_among_names_of_one(patient: Patient) -> None:
    """NVIDIA's packages list a toolkit by its number, and by the link /usr/local/cuda too."""
    (patient.work / "etc").mkdir()
    for version in ("12.1.105", "12.4.131"):
        patient.toolkit(patient.work / f"local/cuda-{version}", version, nvcc=False)
    (patient.work / "local/cuda").symlink_to("cuda-12.4.131")
    names = {"000": "cuda", "987": "cuda-12.1.105", "988": "cuda-12.4.131"}
    for number, name in names.items():
        (patient.work / f"conf/{number}.conf").write_text(f"/usr/local/{name}/lib64\n")
    patient.in_shell("CS056")
    [found] = patient.findings(1)
    assert found["code"] == "CS056"
    assert "987.conf" in found["evidence"]
    assert "988.conf" not in found["evidence"]
    assert patient.codes(2) == []


def test_two_majors_of_cudnn_load_nothing_of_each_other(patient: Patient) -> None:
    """Their libraries have no name in common: libcudnn_ops_infer.so.8, libcudnn_ops.so.9."""
    for part, version in (("ops_infer", "8.9.7"), ("ops", "9.5.1")):
        folder = patient.work / version
        for stem in ("libcudnn", f"libcudnn_{part}"):
            patient.lay_library(folder, stem, f"{stem}.so.{version[0]}", version)
    patient.env["LD_LIBRARY_PATH"] = f"{patient.work}/8.9.7:{patient.work}/9.5.1"
    patient.in_shell("none")
    assert patient.codes(1) == []


def test_of_two_releases_the_active_toolkits_stays(patient: Patient) -> None:
    """What lies in front of the active toolkit goes, and the evidence names all that does."""
    active = patient.toolkit(patient.work / "12.4", "12.4.131")
    old = patient.toolkit(patient.work / "11.8", "11.8.89")
    cupti = patient.lay_library(old / "extras/CUPTI/lib64", "libcupti", "libcupti.so.11", "2022.3")
    patient.env |= {"CUDA_HOME": str(active)}
    patient.env["LD_LIBRARY_PATH"] = f"{old}/lib64:{cupti.parent}:{active}/lib64"
    patient.on_path(active / "bin")
    patient.in_shell("CS008")
    [found] = patient.findings(1)
    assert found["evidence"].endswith(f"; `{cupti.parent}` of another toolkit")
    assert found["fix"] == f"export LD_LIBRARY_PATH={active}/lib64"
    assert patient.codes(2) == []


def test_of_two_cudnn_the_active_toolkits_stays(patient: Patient) -> None:
    """The folder that is left out must not be the one that has the toolkit's other libraries."""
    active = patient.toolkit(patient.work / "kit")
    for folder, version in ((active / "lib64", "9.5.1"), (patient.work / "old", "9.1.0")):
        for stem in ("libcudnn", "libcudnn_ops"):
            patient.lay_library(folder, stem, f"{stem}.so.9", version)
    patient.env |= {"CUDA_HOME": str(active)}
    patient.env["LD_LIBRARY_PATH"] = f"{patient.work}/old:{active}/lib64"
    patient.on_path(active / "bin")
    patient.in_shell("CS009")
    assert patient.codes(1) == ["CS009"]
    assert patient.findings(1)[0]["fix"] == f"export LD_LIBRARY_PATH={active}/lib64"
    assert patient.codes(2) == []


@pytest.mark.parametrize(
    ("on_path", "listed", "left"),
    [
        (["11.8/lib64"], ["12.4/lib64"], ["12.4/lib64"]),
        (["11.8/lib64", "12.4/lib64"], [], ["12.4/lib64"]),
        (["12.4/lib64/stubs"], ["12.4/lib64"], ["12.4/lib64"]),
        (["miniforge3/lib"], [], []),
    ],
)
def test_what_ld_library_path_must_not_hold_leaves_path(
    patient: Patient, on_path: list[str], listed: list[str], left: list[str]
) -> None:
    """A folder on PATH is put into LD_LIBRARY_PATH only if other rules leave it there."""
    for version in ("11.8.89", "12.4.131"):
        patient.toolkit(patient.work / version.rpartition(".")[0], version)
    patient.lay_library(patient.work / "12.4/lib64/stubs", "libcuda", "libcuda.so.1", "1")
    patient.lay_library(patient.work / "miniforge3/lib", "libcufft", "libcufft.so.11", "11.2.1")
    patient.env["CUDA_HOME"] = f"{patient.work}/12.4"
    patient.env["LD_LIBRARY_PATH"] = ":".join(f"{patient.work}/{at}" for at in listed)
    patient.on_path(*(patient.work / at for at in ("12.4/bin", *on_path)))
    assert patient.run_all() == ["CS011"] * len(on_path)
    assert patient.codes(1) == []
    kept = ":".join(f"{patient.work}/{at}" for at in left)
    assert (patient.work / "list").read_text() == kept


@pytest.mark.parametrize(
    ("link", "codes"),
    [
        *((f"libcudnn.so.{number}", []) for number in ("8.9.7", "8.9")),
        *((f"libcudnn.so.{number}", ["CS010"]) for number in ("9", "9.1.0", "80", "7.6.5")),
    ],
)
def test_a_link_with_a_longer_number_of_the_same_release_is_harmless(
    patient: Patient, link: str, codes: list[str]
) -> None:
    folder = patient.work / "lib"
    builders.elf_library(folder / "libcudnn.so.8", "libcudnn.so.8", {"made": 8})
    (folder / link).symlink_to("libcudnn.so.8")
    patient.env["LD_LIBRARY_PATH"] = str(folder)
    patient.in_shell("none")
    assert patient.codes(1) == codes


def test_libraries_on_path_that_the_loader_finds_by_another_name(patient: Patient) -> None:
    kit = patient.toolkit(patient.work / "cuda-12.4")
    (patient.work / "cuda").symlink_to(kit)
    patient.on_path(f"{patient.work}/cuda/lib64")
    patient.env["LD_LIBRARY_PATH"] = f"{kit}/lib64"
    patient.in_shell("none")
    assert patient.codes(1) == []


def test_a_copy_of_what_is_applied_stays_with_it(patient: Patient) -> None:
    """`off` takes the first of two away, and would leave an only one where `use` has put it."""
    kit, other = patient.adopt("12.4.131"), patient.toolkit(patient.work / "other", "12.4.131")
    mine = f"{patient.path}:{kit}/bin:{other}/bin"
    patient.env["PATH"] = f"{mine}:{other}/bin"
    patient.before = 'eval "$(cudaswitch env 12.4 --shell bash)"'
    patient.after = 'eval "$(cudaswitch env system --shell bash)"'
    patient.after += f"; printf %s \"$PATH\" > '{patient.work}/list'"
    patient.in_shell("CS004")
    assert "CS004" in patient.codes(1)
    assert (patient.work / "list").read_text() == mine


def test_a_compat_folder_of_the_branch_that_stands_in_for_the_driver(patient: Patient) -> None:
    """CUDASWITCH_DRIVER may name no more than a branch, such as 535."""
    CASES["CS013"](patient)
    patient.env["CUDASWITCH_DRIVER"] = "535"
    patient.in_shell("none")
    assert patient.codes(1) == []


GUIDE = """CUDNN_PATH=$(dirname $(python -c "import nvidia.cudnn;print(nvidia.cudnn.__file__)"))
export LD_LIBRARY_PATH=$CONDA_PREFIX/lib/:$CUDNN_PATH/lib
"""
"""The script that TensorFlow's guide told people to write."""


@pytest.mark.parametrize(
    ("version", "listed", "codes"),
    [
        ("2.10.0", "lib", []),
        ("2.10.0", "lib/:/opt", []),
        # It brings all that it needs, or is for no GPU.
        ("2.15.0", "lib", ["CS007", "CS082", "CS082"]),
        ("", "lib", ["CS007", "CS082", "CS082"]),
    ],
)
def test_what_resolve_asks_for_stays(
    patient: Patient, version: str, listed: str, codes: list[str]
) -> None:
    """TensorFlow finds conda's cudatoolkit only by LD_LIBRARY_PATH."""
    env = patient.virtualenv(conda=True)
    patient.activate(env)
    if version:
        env.dist("tensorflow", version)
    env.conda("cudatoolkit", "11.2.2", "h0")
    env.conda("cudnn", "8.1.0.77", "h0")
    env.write("etc/conda/activate.d/env_vars.sh", GUIDE)
    env.write("etc/conda/deactivate.d/env_vars.sh", "export LD_LIBRARY_PATH=$OLD_LD_LIBRARY_PATH\n")
    patient.env["LD_LIBRARY_PATH"] = f"{env.prefix}/{listed}"
    patient.in_shell("none")
    assert [one for one in patient.codes(1) if one in ("CS007", "CS082")] == codes


def needing_its_list(patient: Patient) -> str:
    """Activate an environment whose TensorFlow finds CUDA only by LD_LIBRARY_PATH."""
    env = patient.virtualenv(conda=True)
    patient.activate(env)
    patient.lay_library(env.prefix / "lib", "libcudart", "libcudart.so.11.0", "11.2.152")
    patient.lay_library(env.prefix / "lib", "libcudnn", "libcudnn.so.8", "8.1.0")
    env.dist("tensorflow", "2.10.0")
    env.conda("cudatoolkit", "11.2.2", "h0")
    env.conda("cudnn", "8.1.0.77", "h0")
    return f"{env.prefix}/lib"


def test_what_resolve_asks_for_stays_beside_two_releases(patient: Patient) -> None:
    kits = [patient.toolkit(patient.work / version, version) for version in ("11.8.89", "12.4.131")]
    own = needing_its_list(patient)
    patient.env["LD_LIBRARY_PATH"] = f"{kits[0]}/lib64:{kits[1]}/lib64:{own}"
    patient.in_shell("CS008")
    [found] = patient.findings(1)
    assert found["code"] == "CS008"
    assert own not in found["evidence"]
    assert found["fix"] == f"export LD_LIBRARY_PATH={kits[0]}/lib64:{own}"
    assert patient.codes(2) == []


def test_of_two_cudnn_that_which_resolve_asks_for_stays(patient: Patient) -> None:
    other = patient.lay_library(patient.work / "cudnn", "libcudnn", "libcudnn.so.8", "8.9.7")
    own = needing_its_list(patient)
    patient.env["LD_LIBRARY_PATH"] = f"{other.parent}:{own}"
    patient.in_shell("CS009")
    assert patient.codes(1) == ["CS009"]
    assert patient.findings(1)[0]["fix"] == f"export LD_LIBRARY_PATH={own}"
    assert patient.codes(2) == []


def test_only_the_library_that_is_gone_is_no_longer_preloaded(patient: Patient) -> None:
    patient.env["LD_PRELOAD"] = "/gone/libmine.so /gone/libfoo.so"
    pasted = (
        "ERROR: ld.so: object '/gone/libfoo.so' from LD_PRELOAD cannot be preloaded (cannot open"
        " shared object file): ignored."
    )
    assert patient.told(pasted)["fix"] == "export LD_PRELOAD=/gone/libmine.so"


@pytest.mark.parametrize(
    ("pasted", "fix"),
    [
        (
            "ImportError: /e/lib/libcusparse.so.12: undefined symbol: __nvJitLinkComplete_12_4,"
            " version libnvJitLink.so.12",
            "cudaswitch which libnvJitLink.so.12",
        ),
        ("CUDA driver is a stub library", "cudaswitch which libcuda.so.1"),
        ("Found duplicate CUDA runtime files", "cudaswitch resolve"),
        ("Cannot initialize TCL", "cudaswitch which libtcl8.6.so"),
    ],
)
@pytest.mark.parametrize("value", ["", "/opt/envs/x/lib:/opt/mine"])
def test_a_list_without_cuda_is_not_set_anew(
    patient: Patient, pasted: str, fix: str, value: str
) -> None:
    patient.env["LD_LIBRARY_PATH"] = value
    assert patient.told(pasted)["fix"] == fix

"""The rules, on facts made by hand: machine, toolkits, several frameworks, the next step."""

from __future__ import annotations

import pytest

from cudaswitch.resolver import Carried, Claim, Facts, FoundFramework, explain, resolve
from cudaswitch.resolver.needs import agree, release_of
from cudaswitch.toolkit import Toolkit
from cudaswitch.versions import Version


def toolkit(name: str, platform: str = "linux-64") -> Toolkit:
    version, _, cudnn = name.partition("+cudnn")
    return Toolkit(
        name=name,
        version=Version(version),
        cudnn=Version(cudnn) if cudnn else None,
        path=f"/store/{name}",
        source="conda",
        platform=platform,
    )


def found(name: str, version: str, cuda=None, cudnn=None, *, dist=None, origin="pip", **more):
    claims = [Claim("cuda", cuda, "file")] if cuda else []
    claims += [Claim("cudnn", cudnn, "file")] if cudnn else []
    claims += [Claim(gives, value, "file") for gives, value in more.items()]
    return FoundFramework(name, dist or name, version, origin, "record", tuple(claims))


def tensorflow(version: str, cuda=None, cudnn=None, **more):
    return found("tensorflow", version, cuda, cudnn, **more)


def torch(version: str, cuda=None, cudnn=None, **more):
    return found("torch", version, cuda, cudnn, **more)


def facts(*frameworks, platform="linux-64", driver="610.43.02", **more) -> Facts:
    return Facts(platform=platform, frameworks=frameworks, driver=driver, **more)


# The driver's hard bound and its recommendation.

DRIVERS = [
    # framework, platform, driver, runs
    (tensorflow("2.1.0", "10.1", "7"), "linux-64", "418.39", True),
    (tensorflow("2.1.0", "10.1", "7"), "linux-64", "418.38", False),
    (tensorflow("2.1.0", "10.1", "7"), "win-64", "418.96", True),
    (tensorflow("2.1.0", "10.1", "7"), "win-64", "418.39", False),
    (tensorflow("1.12.0", dist="tensorflow-gpu"), "linux-64", "384.81", True),
    (tensorflow("1.12.0", dist="tensorflow-gpu"), "linux-64", "375.26", False),
    (torch("1.12.1", "10.2"), "linux-64", "440.33", True),
    (torch("1.12.1", "10.2"), "linux-64", "418.39", False),
    (torch("1.7.1", "9.2.148"), "linux-64", "396.26", False),
    (torch("1.7.1", "9.2"), "linux-64", "396.26", True),
    (torch("2.0.1", "11.8"), "linux-64", "450.80.02", True),
    (torch("2.0.1", "11.8"), "linux-64", "450.80.01", False),
    (torch("2.0.1", "11.8"), "linux-64", "440.33", False),
    (torch("2.0.1", "11.8"), "win-64", "452.39", True),
    (torch("2.0.1", "11.8"), "win-64", "452.38", False),
    (torch("2.1.2", "12.1"), "linux-64", "525.60.13", True),
    (torch("2.1.2", "12.1"), "linux-64", "520.61.05", False),
    (torch("2.1.2", "12.1"), "win-64", "527.41", True),
    (torch("2.13.0", "13.0"), "linux-64", "580.65.06", True),
    (torch("2.13.0", "13.0"), "linux-64", "575.57.08", False),
    (torch("2.13.0", "13.2"), "linux-64", "580.65.06", True),
    (torch("2.13.0", "13.0"), "win-64", "576.57", False),
    (torch("2.13.0", "13.0"), "linux-64", None, True),
    (torch("2.13.0+cpu", gpu="cpu"), "linux-64", "304.1", True),
]


@pytest.mark.parametrize("case", DRIVERS, ids=lambda c: f"{c[0].version}-{c[1]}-{c[2]}")
def test_the_driver_bound(case):
    framework, platform, driver, runs = case
    answer = resolve(facts(framework, platform=platform, driver=driver), [])
    assert answer.runs is runs
    assert answer.frameworks[0].runs is runs


def test_the_corresponding_driver_is_only_recommended():
    answer = resolve(facts(torch("2.5.1", "12.4"), driver="535.104.05"), [])
    assert answer.runs
    advice = [it for it in answer.reasons if "recommended" in it.text]
    assert len(advice) == 1
    assert "550.54.14" in advice[0].text
    assert "Release Notes" in advice[0].source
    newer = resolve(facts(torch("2.5.1", "12.4"), driver="550.54.14"), [])
    assert not [it for it in newer.reasons if "recommended" in it.text]


def test_the_number_in_nvidia_smi_is_explained():
    answer = resolve(facts(torch("2.5.1", "12.4"), driver="470.57.02"), [])
    assert any("CUDA Version 11.4" in reason.text for reason in answer.reasons)


def test_without_a_driver_the_bound_is_told():
    answer = resolve(facts(torch("2.5.1", "12.4"), driver=None), [])
    assert any("no NVIDIA driver" in it.text and "525.60.13" in it.text for it in answer.reasons)


# The GPU.

ARCHS = "sm_35 sm_50 sm_60 sm_70 sm_75 compute_80"
GPUS = [
    (torch("2.13.0", "13.0"), "7.0", False),
    (torch("2.13.0", "12.6"), "7.0", True),
    (torch("2.13.0", "13.0"), "7.5", True),
    (torch("2.13.0", "13.0"), "12.1", True),
    (torch("2.13.0", "12.6"), "12.0", False),
    (torch("2.13.0", "12.6"), "8.9", True),
    (torch("2.11.0", "12.8"), "7.0", False),  # its cuDNN 9.17 no longer lists Volta
    (torch("2.10.0", "12.8"), "7.0", True),
    (torch("1.12.1", "10.2"), "8.0", False),
    (torch("1.12.1", "11.6"), "8.6", True),
    (torch("1.12.1", "10.2"), "2.1", False),
    (torch("2.1.2", "12.1"), "3.5", False),
    (tensorflow("2.10.1", "11.2", "8", archs=ARCHS), "8.9", True),
    (tensorflow("2.10.1", "11.2", "8", archs=ARCHS), "9.0", True),  # by PTX
    (tensorflow("2.10.1", "11.2", "8", archs=ARCHS), "3.0", False),
    (tensorflow("2.18.1", "12.5.1", "9", archs="sm_60 sm_70 sm_80 sm_89 compute_90"), "5.2", False),
    (tensorflow("2.18.1", "12.5.1", "9", archs="sm_60 sm_70 sm_80 sm_89 compute_90"), "12.0", True),
    (found("cupy", "14.2.0", "13", dist="cupy-cuda13x"), "7.0", False),
    (found("cupy", "14.2.0", "12", dist="cupy-cuda12x"), "12.0", True),
]


@pytest.mark.parametrize("case", GPUS, ids=lambda c: f"{c[0].name}{c[0].version}-{c[1]}")
def test_the_gpu(case):
    framework, cc, runs = case
    assert resolve(facts(framework, cc=(cc,)), []).runs is runs


def test_one_gpu_that_serves_is_enough_and_the_other_is_told():
    answer = resolve(facts(torch("2.13.0", "13.0"), cc=("8.6", "6.1")), [])
    assert answer.runs
    assert any("6.1" in reason.text and "GTX 1080" in reason.text for reason in answer.reasons)


def test_a_gpu_served_by_ptx_is_told():
    framework = tensorflow("2.10.1", "11.2", "8", archs=ARCHS)
    answer = resolve(facts(framework, cc=("9.0",)), [])
    assert any("PTX" in reason.text for reason in answer.reasons)


# What would run here instead.

jax13 = found("jax", "0.8.0", "13", "9.12.0.46", dist="jax-cuda13-plugin")
cupy13 = found("cupy", "14.2.0", "13", dist="cupy-cuda13x")


@pytest.mark.parametrize(
    ("framework", "machine", "hint"),
    [
        (torch("2.13.0", "13.0"), {"cc": ("7.0",)}, "torch==2.13.0+cu126"),
        (torch("2.13.0", "13.0"), {"driver": "535.1"}, "torch==2.13.0+cu126"),
        (torch("1.12.1", "10.2"), {"cc": ("8.0",)}, "torch==1.12.1+cu116"),
        (torch("2.5.1", "12.4"), {"driver": "470.57.02"}, "torch==2.5.1+cu118"),
        (torch("2.8.0", "12.8"), {"driver": "470.57.02"}, "torch==2.7.1+cu118"),
        (tensorflow("2.15.0", "12.2"), {"driver": "470.57.02"}, "TensorFlow 2.14 (CUDA 11.8)"),
        (tensorflow("2.4.0", "11.0"), {"driver": "418.39"}, "TensorFlow 2.3 (CUDA 10.1)"),
        (jax13, {"driver": "535.104.05"}, 'JAX 0.8.0 (`pip install "jax[cuda12]==0.8.0"`)'),
        (jax13, {"cc": ("7.0",)}, 'JAX 0.8.0 (`pip install "jax[cuda12]==0.8.0"`)'),
        (found("jax", "0.6.0", "12", "9.8"), {"driver": "470.57.02"}, "JAX 0.4.25 (CUDA 11)"),
        (cupy13, {"driver": "535.104.05"}, "`cupy-cuda12x` 14.2.0 runs here"),
        (found("cupy", "13.0.0", "12"), {"driver": "470.57.02"}, "`cupy-cuda11x` 13.0.0"),
        (found("cupy", "14.0.0", "12"), {"driver": "470.57.02"}, "`cupy-cuda11x` 13 runs"),
        (found("mxnet", "1.9.1", "11.2"), {"driver": "440.33.01"}, "(`mxnet-cu102`)"),
        (found("onnxruntime", "1.27.0", "13.0"), {"driver": "535.1"}, "ONNX Runtime 1.26"),
        (found("cntk", "2.7", "10.0"), {"driver": "400.1"}, "CNTK 2.6 (CUDA 9.0)"),
        (found("cntk", "2.5", "9.0"), {"driver": "340.1"}, "NVIDIA driver 384.81 or newer"),
        (found("cntk", "2.7", "10.0"), {"cc": ("9.0",)}, "no build of CNTK"),
        (found("cntk", "2.5", "9.0"), {"driver": "340.1", "cc": ("9.0",)}, "no build of CNTK"),
        (found("ctranslate2", "4.8.5"), {"driver": "470.57.02"}, "CTranslate2 3.24 (CUDA 11)"),
    ],
)
def test_what_cannot_run_here_names_the_nearest_that_can(framework, machine, hint):
    answer = resolve(facts(framework, **machine), [])
    assert not answer.runs
    assert hint in answer.hint


# The installed toolkit.

STORE = [
    "9.0.176+cudnn7.6.5", "10.0.130+cudnn7.6.5", "10.1.105+cudnn7.5.1", "10.1.243",
    "10.1.243+cudnn7.6.5", "10.1.243+cudnn8.0.5", "10.2.89+cudnn7.6.5", "11.2.2+cudnn8.1.1",
    "11.8.0+cudnn8.7.0", "11.8.0+cudnn9.1.0", "12.2.2+cudnn8.9.7", "12.6.3+cudnn9.3.0", "13.0.2",
]  # fmt: skip

CHOICES = [
    (tensorflow("2.1.0", "10.1", "7"), "10.1.243+cudnn7.6.5"),
    (tensorflow("2.2.3", "10", "7"), "10.1.243+cudnn7.6.5"),
    (tensorflow("1.15.5", "10", "7", dist="tensorflow-gpu"), "10.0.130+cudnn7.6.5"),
    (tensorflow("1.12.3", dist="tensorflow-gpu"), "9.0.176+cudnn7.6.5"),
    (tensorflow("1.4.1", dist="tensorflow-gpu"), None),
    (tensorflow("2.10.1", "11.2", "8"), "11.2.2+cudnn8.1.1"),
    # Nothing has 11.0: from 11 on the nearest newer one of the major serves.
    (tensorflow("2.4.4", "11.0", "8"), "11.2.2+cudnn8.1.1"),
    (tensorflow("2.12.1", "11.8", "8"), "11.8.0+cudnn8.7.0"),
    (tensorflow("2.15.1", "12.2", "8"), "12.2.2+cudnn8.9.7"),
    (tensorflow("2.16.2", "12.3", "8"), None),  # 12.2 is older, 12.6 has libcudnn.so.9
    (tensorflow("2.18.1", "12.5.1", "9"), "12.6.3+cudnn9.3.0"),
    (found("jax", "0.4.13", "12", "8.9"), "12.2.2+cudnn8.9.7"),
    (found("jax", "0.4.25", "12", "8.9"), None),  # needs 12.3 and libcudnn.so.8
    (found("cupy", "14.2.0", "12", dist="cupy-cuda12x"), "12.6.3+cudnn9.3.0"),
    (torch("2.13.0", "13.0"), "13.0.2"),
    (torch("1.12.1", "10.2"), "10.2.89+cudnn7.6.5"),
    (torch("2.0.1", "11.8", "8.7.0.84"), "11.8.0+cudnn9.1.0"),
    (torch("2.6.0", "12.6"), "12.6.3+cudnn9.3.0"),
    (torch("2.13.0+cpu", gpu="cpu"), None),
]


@pytest.mark.parametrize("case", CHOICES, ids=lambda c: f"{c[0].name}-{c[0].version}")
def test_the_toolkit_chosen(case):
    framework, expected = case
    answer = resolve(facts(framework), [toolkit(name) for name in STORE])
    assert answer.toolkit == expected
    if expected:
        assert answer.hint == f"cudaswitch use {expected}"
    if answer.cuda:
        others = {rejected.toolkit for rejected in answer.rejected}
        assert others == set(STORE) - {expected}
        assert all(rejected.why for rejected in answer.rejected)


def whys(answer):
    return {rejected.toolkit: rejected.why for rejected in answer.rejected}


def test_why_the_others_were_rejected():
    store = [toolkit(name) for name in STORE] + [toolkit("10.1.168+cudnn7.6.5", "win-64")]
    why = whys(resolve(facts(tensorflow("2.1.0", "10.1", "7")), store))
    assert why["10.1.243"] == "has no cuDNN, needed is 7.6"
    assert why["10.1.243+cudnn8.0.5"] == "has libcudnn.so.8, needed is libcudnn.so.7"
    assert why["10.1.105+cudnn7.5.1"] == "has cuDNN 7.5.1, older than 7.6"
    assert "one release only" in why["10.2.89+cudnn7.6.5"]
    assert why["13.0.2"] == "is CUDA 13.0, needed is 10.1"
    assert why["10.1.168+cudnn7.6.5"] == "is for win-64, not linux-64"


def test_a_toolkit_without_code_for_the_gpu_is_not_offered():
    answer = resolve(facts(torch("2.13.0", "13.0"), cc=("7.0",)), [toolkit("13.0.2")])
    assert answer.toolkit is None
    assert "V100" in whys(answer)["13.0.2"]


def test_two_that_fit():
    store = [toolkit("10.1.105+cudnn7.6.5"), toolkit("10.1.243+cudnn7.6.5")]
    answer = resolve(facts(tensorflow("2.1.0", "10.1", "7")), store)
    assert answer.toolkit == "10.1.243+cudnn7.6.5"
    assert "nearer" in whys(answer)["10.1.105+cudnn7.6.5"]


def test_the_cudnn_that_was_built_with_goes_before_a_newer_one():
    kits = [toolkit(f"11.2.2+cudnn{cudnn}") for cudnn in ("8.0.5", "8.1.1", "8.9.7")]
    for wanted, chosen in (("8.1", "8.1.1"), ("8.2", "8.9.7")):
        answer = resolve(facts(tensorflow("2.10.1", "11.2", wanted)), kits)
        assert answer.toolkit == f"11.2.2+cudnn{chosen}"


def test_a_cudnn_that_is_not_for_this_cuda():
    answer = resolve(
        facts(torch("1.0.0", "9.1", origin="pip"), found("mxnet", "1.5.0", "9.1", "7.1.3")),
        [toolkit("9.1.85+cudnn7.6.5")],
    )
    assert "not for CUDA 9.1" in whys(answer)["9.1.85+cudnn7.6.5"]


def test_a_toolkit_whose_own_driver_bound_is_higher():
    store = [toolkit("9.2.88+cudnn7.6.5"), toolkit("9.2.148+cudnn7.6.5")]
    need = found("mxnet", "1.5.0", "9.2", "7.6.0.64")
    answer = resolve(facts(need, driver="396.26"), store)
    assert answer.toolkit == "9.2.88+cudnn7.6.5"
    assert "396.37" in whys(answer)["9.2.148+cudnn7.6.5"]


def test_a_toolkit_with_code_for_the_gpu_goes_first():
    store = [toolkit("11.2.2+cudnn8.1.1"), toolkit("11.8.0+cudnn8.7.0")]
    need = tensorflow("2.10.1", "11.2", "8", archs=ARCHS)
    assert resolve(facts(need), store).toolkit == "11.2.2+cudnn8.1.1"
    assert resolve(facts(need, cc=("9.0",)), store).toolkit == "11.8.0+cudnn8.7.0"


def test_a_major_is_served_by_a_toolkit_that_knows_the_gpu():
    store = [toolkit("12.2.2"), toolkit("13.0.2"), toolkit("12.8.1")]
    need = found("cupy", "14.2.0", "12", dist="cupy-cuda12x")
    assert resolve(facts(need, cc=("12.0",)), store).toolkit == "12.8.1"


@pytest.mark.parametrize(
    ("framework", "platform", "hint"),
    [
        (tensorflow("2.1.0", "10.1", "7"), "linux-64", "cudaswitch install 10.1 --cudnn 7.6"),
        (tensorflow("1.12.0", dist="tensorflow-gpu"), "linux-64",
         "cudaswitch install 9.0 --cudnn 7"),
        (tensorflow("2.15.0", "12.2", "8.9.4.25"), "linux-64",
         "cudaswitch install 12.2 --cudnn 8.9"),
        (tensorflow("2.1.0", "10.1", "7"), "win-64",
         "cudaswitch install 10.1 --cudnn 7.6 --platform win-64"),
        (torch("1.3.1", "10.1.243"), "linux-64", "cudaswitch install 10.1"),
        (torch("1.12.1", "10.2", "7.6.5.32"), "linux-64", "cudaswitch install 10.2"),
        (found("jax", "0.4.13", "12", "8.9"), "linux-64", "cudaswitch install 12 --cudnn 8.9"),
    ],
)  # fmt: skip
def test_nothing_that_fits_is_installed(framework, platform, hint):
    answer = resolve(facts(framework, platform=platform), [])
    assert answer.toolkit is None
    assert answer.hint == hint


# Host compiler and C library.


@pytest.mark.parametrize(
    ("gcc", "says"),
    [((12, 8), "gcc 8 fits"), ((12,), "none that fits is installed"), ((8, 12), None), ((), None)],
)
def test_a_host_compiler_that_nvcc_refuses(gcc, says):
    answer = resolve(facts(tensorflow("2.1.0", "10.1", "7"), gcc=gcc), [])
    texts = [reason.text for reason in answer.reasons if "gcc" in reason.text]
    assert [says in text for text in texts] == ([True] if says else [])
    assert answer.runs


def test_the_compiler_is_held_against_the_toolkit_chosen():
    store = [toolkit("12.8.1")]
    need = found("cupy", "14.2.0", "12", dist="cupy-cuda12x")
    answer = resolve(facts(need, gcc=(15,), glibc="2.41"), store)
    texts = " ".join(reason.text for reason in answer.reasons)
    assert "nvcc 12.8 compiles with gcc up to 14, the default is 15" in texts
    assert "glibc 2.41" in texts


# Several frameworks in one environment.


def test_who_needs_a_toolkit_decides_before_who_brings_his_own():
    answer = resolve(
        facts(torch("2.5.1", "12.4"), tensorflow("2.10.1", "11.2", "8")),
        [toolkit(name) for name in STORE],
    )
    assert (answer.cuda, answer.cudnn, answer.bundled) == ("11.2", "8.1", False)
    assert answer.toolkit == "11.2.2+cudnn8.1.1"
    assert [it.bundled for it in answer.frameworks] == [True, False]


def test_one_toolkit_for_two():
    answer = resolve(
        facts(tensorflow("2.10.1", "11.2", "8"), found("onnxruntime", "1.16.3", "11.8", "8.2.4")),
        [toolkit(name) for name in STORE],
    )
    assert (answer.cuda, answer.cudnn, answer.runs) == ("11.8", "8.2.4", True)
    assert answer.toolkit == "11.8.0+cudnn8.7.0"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (tensorflow("2.1.0", "10.1", "7"), found("mxnet", "1.6.0", "10.0", "7.6")),
        (tensorflow("2.10.1", "11.2", "8"), found("onnxruntime", "1.20.2", "12", "9")),
        (tensorflow("2.15.1", "12.2", "8"), found("onnxruntime", "1.20.2", "12", "9")),
    ],
)
def test_two_that_no_toolkit_serves(one, other):
    answer = resolve(facts(one, other), [toolkit(name) for name in STORE])
    assert (answer.toolkit, answer.runs) == (None, False)
    assert answer.hint == "give each framework its own environment"
    assert any("no toolkit serves both" in reason.text for reason in answer.reasons)


def test_two_that_bring_their_own_do_not_quarrel():
    answer = resolve(facts(torch("2.5.1", "12.4"), found("cntk", "2.7", "10.0")), [])
    assert (answer.cuda, answer.runs, answer.bundled) == ("12.4", True, True)


def test_the_cudnn_told_is_one_that_goes_with_the_cuda_told():
    one = found("cntk", "2.7", "10.0", "8")
    other = torch("1.12.1", "9.2", "9")
    assert resolve(facts(one, other), []).cudnn == "8"


def test_a_build_without_cuda_beside_one_with():
    answer = resolve(facts(torch("2.5.1+cpu", gpu="cpu"), tensorflow("2.10.1", "11.2", "8")), [])
    assert (answer.cuda, answer.bundled, answer.runs) == ("11.2", False, True)


# Trust.


def test_files_are_trusted_before_what_comes_later():
    claims = (Claim("cuda", "10.2", "version.py"), Claim("cuda", "11.6", "dist-info"))
    answer = resolve(facts(FoundFramework("torch", "torch", "1.12.1", "pip", "r", claims)), [])
    assert answer.cuda == "10.2"
    assert any("trusted less" in it.text and it.source == "dist-info" for it in answer.reasons)


def test_a_major_is_sharpened_by_a_later_place_that_agrees():
    claims = [Claim("cuda", value, "file") for value in ("11", "12.1", "11", "11.8")]
    found = FoundFramework("torch", "torch", "2.0.0", "pip", "r", tuple(claims))
    answer = resolve(facts(found), [])
    assert answer.cuda == "11.8"
    sharper = [it.text for it in answer.reasons if "more exactly" in it.text]
    assert sharper == ["PyTorch 2.0.0: more exactly, CUDA 11.8"]


def test_wheels_for_another_cuda_do_not_serve():
    runtime = Carried("cuda", "dist", "nvidia-cuda-runtime-cu12", "12.2.140", "12.2.140", "s")
    cudnn = Carried("cudnn", "dist", "nvidia-cudnn-cu12", "8.9.4.25", "12", "s")
    other = Carried("cudnn", "dist", "nvidia-cudnn-cu11", "8.9.4.25", "11", "s")
    need = tensorflow("2.15.1", "12.2", "8")
    assert resolve(facts(need, carried=(runtime, cudnn)), []).bundled
    assert not resolve(facts(need, carried=(runtime, other)), []).bundled
    assert not resolve(facts(need, carried=(cudnn,)), []).bundled
    newer = Carried("cudnn", "dist", "nvidia-cudnn-cu12", "9.3.0.75", "12", "s")
    assert not resolve(facts(need, carried=(runtime, newer)), []).bundled


def test_the_own_packages_told_are_those_of_the_cuda_told():
    runtime = Carried("cuda", "dist", "nvidia-cuda-runtime-cu11", "11.8.89", "11.8.89", "s")
    cudnn = Carried("cudnn", "dist", "nvidia-cudnn-cu11", "8.7.0.84", "11", "s")
    needs = [tensorflow("2.14.0", "11.8", "8")]
    answer = resolve(facts(*needs, carried=(runtime, cudnn)), [])
    assert answer.own == "CUDA 11.8.89 and cuDNN 8.7.0.84"
    answer = resolve(facts(*needs, torch("2.5.1", "12.4"), carried=(runtime, cudnn)), [])
    assert (answer.cuda, answer.bundled, answer.own) == ("12.4", True, None)


def test_every_reason_says_where_it_was_read():
    need = tensorflow("2.1.0", "10.1", "7")
    answer = resolve(
        facts(need, driver_source="/sys", cc=("7.0",), gcc=(12,), prefix="/env"),
        [toolkit("10.1.243")],
    )
    assert all(reason.source for reason in answer.reasons)


# The answer's shape.


def test_the_json_has_stable_keys():
    answer = resolve(facts(tensorflow("2.1.0", "10.1", "7")), [toolkit("10.1.243+cudnn7.6.5")])
    data = answer.to_json()
    assert list(data) == [
        "toolkit", "cuda", "cudnn", "runs", "bundled", "frameworks", "reasons", "rejected", "hint",
    ]  # fmt: skip
    assert data["frameworks"] == [
        {
            "name": "tensorflow", "version": "2.1.0", "cuda": "10.1", "cudnn": "7.6",
            "runs": True, "bundled": False, "source": "record", "known": True,
        }
    ]  # fmt: skip
    assert set(data["reasons"][0]) == {"text", "source"}


@pytest.mark.parametrize(
    ("frameworks", "first"),
    [
        ((), "no framework found: nothing to choose for"),
        ((torch("2.0+cpu", gpu="cpu"),), "needs no CUDA"),
        ((torch("99.0"),), "which CUDA it needs is not known"),
        ((found("cupy", "13.0.0"),), "which CUDA it needs is not known"),
        ((torch("2.13.0", "14.0"),), "runs on its own CUDA 14.0"),
        ((tensorflow("2.1.0", "10.1", "7"),), "needs CUDA 10.1 and cuDNN 7.6: not installed"),
        ((torch("9.9.9", "8.0"), torch("2.0", "11.8")), "runs on its own CUDA 11.8"),
    ],
)
def test_the_explanation_starts_with_the_choice(frameworks, first):
    assert explain(resolve(facts(*frameworks), [])).startswith(first)


def test_the_explanation_holds_reasons_rejected_and_the_next_step():
    text = explain(
        resolve(
            facts(tensorflow("2.1.0", "10.1", "7"), driver="400.1"),
            [toolkit("10.1.243+cudnn7.6.5")],
        )
    )
    assert text.startswith("cannot run here")
    assert "sources\n  [1] file" in text
    assert "] NVIDIA CUDA Toolkit" in text
    assert "not chosen\n  - 10.1.243+cudnn7.6.5 CUDA 10.1.243 needs driver 418.39" in text
    assert "\nhint: TensorFlow 1." in text


def test_the_explanation_cites_each_source_once_and_names_each_framework_once():
    answer = resolve(facts(torch("2.5.1", "12.4"), tensorflow("2.15.1", "12.2", "8")), [])
    text = explain(answer)
    assert text.count("\n  PyTorch 2.5.1\n") == 2  # what it was built for; what runs it
    for source in {reason.source for reason in answer.reasons if reason.source}:
        assert text.count(f"] {source}\n") + text.endswith(f"] {source}") == 1
    assert text.count("`nvidia-smi` shows") == 1


@pytest.mark.parametrize("width", [40, 80, 120])
def test_the_explanation_fits_a_terminal_and_loses_no_word(width):
    answer = resolve(facts(tensorflow("2.1.0", "10.1", "7"), cc=("7.0",)), [toolkit("10.2.89")])
    whole, broken = explain(answer), explain(answer, width)
    assert whole.split() == broken.split()
    assert all(len(line) <= width or " " not in line.strip(" -") for line in broken.splitlines())
    assert max(map(len, whole.splitlines())) > 120


@pytest.mark.parametrize(
    ("text", "release"),
    [
        ("2.15.0.post1", "2.15.0"),
        ("2.0.0rc1", "2.0.0"),
        ("0.4.13+cuda12.cudnn89", "0.4.13"),
        ("1.8.5.post107", "1.8.5"),
        ("unknown", None),
        ("", None),
    ],
)
def test_the_release_in_a_version(text, release):
    assert (str(release_of(text)) if release_of(text) else None) == release


def test_versions_agree_as_far_as_both_say():
    assert agree(Version("10"), Version("10.1.243"))
    assert agree(Version("10.1"), Version("10.1.243"))
    assert agree(Version("10.1.105"), Version("10.1.243"))
    assert not agree(Version("10.1"), Version("10.10"))

"""The rules, on facts made by hand: machine, toolkits, several frameworks, the next step."""

from __future__ import annotations

import pytest

from cudaswitch.resolver import Carried, Claim, FoundFramework, resolve
from cudaswitch.resolver.explain import explain
from cudaswitch.resolver.releases import agree, release_of
from cudaswitch.versions import Version
from handmade import ARCHS, facts, found, tensorflow, toolkit, torch

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
    (tensorflow("2.4.4", "11.0", "8"), None),  # libcusolver.so.10 is in 11.0 alone
    # No toolkit has 11.0: from 11 on the nearest newer one of the major has what most load.
    (found("onnxruntime", "1.8.1", dist="onnxruntime-gpu"), "11.2.2+cudnn8.1.1"),
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


WITHOUT = {"12.9.1": ("libnvrtc.so.12", "libcublas.so.12"), "12.6.3": ("libnvrtc.so.12",)}


@pytest.mark.parametrize(
    ("installed", "chosen", "hint"),
    [
        (["12.4.1", "12.6.3", "12.9.1"], "12.4.1", "cudaswitch use 12.4.1"),
        (["12.6.3", "12.9.1"], "12.9.1", "cudaswitch install 12 --force"),
    ],
)
def test_a_toolkit_that_is_whole_goes_before_others(installed, chosen, hint):
    asked = []

    def absent(kit, libraries):
        asked.append((kit.name, libraries[-1]))
        return WITHOUT.get(kit.name, ())

    kits = [toolkit(name) for name in ("11.8.0", *installed)]
    answer = resolve(facts(found("cupy", "14.2.0", "12", dist="cupy-cuda12x")), kits, absent=absent)
    assert (answer.toolkit, answer.hint) == (chosen, hint)
    assert answer.absent == WITHOUT.get(chosen, ())
    assert asked == [(name, "nvrtc") for name in installed]
    if chosen == "12.4.1":
        assert whys(answer)["12.9.1"] == "lacks libnvrtc.so.12 and libcublas.so.12"
    else:
        lacks = "12.9.1 lacks libnvrtc.so.12 and libcublas.so.12, which CuPy 14.2.0 can open"
        assert answer.caution == lacks


def test_what_wheels_lack_a_toolkit_has():
    cupy = facts(
        found("cupy", "14.2.0", "12", dist="cupy-cuda12x"),
        carried=(Carried("cuda", "dist", "nvidia-cuda-runtime-cu12", "12.9.79", "12.9.79", "f"),),
    )
    kits = [toolkit("12.4.1"), toolkit("12.9.1")]
    answer = resolve(cupy, kits, absent=lambda kit, _: WITHOUT.get(kit.name, ()))
    assert (answer.bundled, answer.toolkit, answer.caution) == (True, "12.4.1", None)
    assert answer.hint == "cudaswitch use 12.4.1"
    shown = explain(answer)
    assert shown.startswith("runs on its own CUDA 12.9.79, with the rest of 12.4.1; to build")
    assert "next: cudaswitch use 12.4.1" in shown
    answer = resolve(cupy, kits[1:], absent=lambda kit, _: WITHOUT.get(kit.name, ()))
    assert answer.proviso == "once its wheels are complete"
    assert answer.hint.startswith('`pip install "cupy-cuda12x[ctk]==14.2.0"`, which brings')
    assert answer.hint.endswith("or a toolkit: `cudaswitch install 12 --force`")


def whys(answer):
    return {rejected.toolkit: rejected.why for rejected in answer.rejected}


def test_why_the_others_were_rejected():
    store = [toolkit(name) for name in STORE] + [toolkit("10.1.168+cudnn7.6.5", "win-64")]
    why = whys(resolve(facts(tensorflow("2.1.0", "10.1", "7")), store))
    assert why["10.1.243"] == "has no cuDNN, but 7.6 is needed"
    assert why["10.1.243+cudnn8.0.5"] == "has libcudnn.so.8, but libcudnn.so.7 is needed"
    assert why["10.1.105+cudnn7.5.1"] == "has cuDNN 7.5.1, older than 7.6"
    assert why["10.2.89+cudnn7.6.5"] == "has libcudart.so.10.2, but libcudart.so.10.1 is needed"
    assert why["13.0.2"] == "is CUDA 13.0, but 10.1 is needed"
    assert why["10.1.168+cudnn7.6.5"] == "is for win-64, not linux-64"


def test_a_toolkit_without_code_for_the_gpu_is_not_offered():
    answer = resolve(facts(torch("2.13.0", "13.0"), cc=("7.0",)), [toolkit("13.0.2")])
    assert answer.toolkit is None
    assert "V100" in whys(answer)["13.0.2"]


def test_two_that_fit():
    store = [toolkit("10.1.105+cudnn7.6.5"), toolkit("10.1.243+cudnn7.6.5")]
    answer = resolve(facts(tensorflow("2.1.0", "10.1", "7")), store)
    assert answer.toolkit == "10.1.243+cudnn7.6.5"
    assert "closer" in whys(answer)["10.1.105+cudnn7.6.5"]


def test_what_a_shared_store_has_too_is_told_once():
    store = [toolkit("10.1.243+cudnn7.6.5"), toolkit("10.1.105+cudnn7.6.5")]
    shared = [one._replace(path=f"/srv{one.path}") for one in store]
    asked = []
    answer = resolve(
        facts(tensorflow("2.1.0", "10.1", "7")), store + shared, lambda kit: asked.append(kit.path)
    )
    assert answer.toolkit == "10.1.243+cudnn7.6.5"
    assert [one.toolkit for one in answer.rejected] == ["10.1.105+cudnn7.6.5"]
    # Of two toolkits of one name the user's own is meant.
    assert asked == [store[0].path]


def test_the_cudnn_that_was_built_with_goes_before_a_newer_one():
    kits = [toolkit(f"11.2.2+cudnn{cudnn}") for cudnn in ("8.0.5", "8.1.1", "8.9.7")]
    for wanted, chosen in (("8.1", "8.1.1"), ("8.2", "8.9.7")):
        answer = resolve(facts(tensorflow("2.10.1", "11.2", wanted)), kits)
        assert answer.toolkit == f"11.2.2+cudnn{chosen}"


def test_a_cudnn_that_is_not_for_this_cuda():
    answer = resolve(
        facts(torch("1.0.0", "9.1", origin="pip"), tensorflow("1.5.0", "9.1", "7.1")),
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
    assert resolve(facts(need, cc=("9.0",)), store[:1]).toolkit == "11.2.2+cudnn8.1.1"  # by PTX


def test_a_major_is_served_by_a_toolkit_that_knows_the_gpu():
    store = [toolkit("12.2.2"), toolkit("13.0.2"), toolkit("12.8.1")]
    need = found("cupy", "14.2.0", "12", dist="cupy-cuda12x")
    assert resolve(facts(need, cc=("12.0",)), store).toolkit == "12.8.1"
    answer = resolve(facts(need, cc=("12.0",)), store[:2])
    assert (answer.toolkit, answer.hint) == (None, "cudaswitch install 12")
    assert "older than compute capability 12.0" in whys(answer)["12.2.2"]
    assert resolve(facts(need, cc=("12.0", "9.0")), store[:1]).toolkit == "12.2.2"


def test_a_toolkit_whose_cudnn_gave_the_gpu_up_is_none():
    store = [toolkit("12.8.1+cudnn9.17.0"), toolkit("12.8.1+cudnn9.10.2")]
    need = tensorflow("2.18.1", "12.5.1", "9", archs="sm_60 sm_70 sm_80")
    assert resolve(facts(need), store).toolkit == "12.8.1+cudnn9.17.0"
    answer = resolve(facts(need, cc=("7.0",)), store)
    assert answer.toolkit == "12.8.1+cudnn9.10.2"
    assert "no longer serves compute capability 7.0" in whys(answer)["12.8.1+cudnn9.17.0"]


def test_a_toolkit_newer_than_the_table_serves_no_gpu_that_was_given_up():
    need = found("cupy", "14.2.0", "13", dist="cupy-cuda13x")
    answer = resolve(facts(need, cc=("7.0",)), [toolkit("13.99.1")])
    assert "no code for compute capability 7.0" in whys(answer)["13.99.1"]
    assert resolve(facts(need, cc=("7.5",)), [toolkit("13.99.1")]).toolkit == "13.99.1"


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
        (torch("1.3.1", "10.1.243"), "linux-64",
         "cudaswitch install 10.1 --from runfile"),
        (found("jax", "0.4.13", "12", "8.9"), "linux-64", "cudaswitch install 12 --cudnn 8.9"),
    ],
)  # fmt: skip
def test_nothing_that_fits_is_installed(framework, platform, hint):
    answer = resolve(facts(framework, platform=platform), [])
    assert answer.toolkit is None
    assert answer.hint == hint


# Within a major some libraries change their names.

FROM_11_1 = ["11.1.1", "11.2.2", "11.8.0"]
NAMES_11 = [
    # what loads them, the toolkits that serve, what another lacks, and which
    (tensorflow("2.4.4", "11.0", "8"), ["11.0.3"], "11.2.2", "libcusolver.so.10"),
    (found("cupy", "9.6.0", "11.0", dist="cupy-cuda110"), ["11.0.3"], "11.1.1", "cusolver.so.10"),
    (found("cupy", "9.6.0", "11.1", dist="cupy-cuda111"), ["11.1.1"], "11.8.0", "libnvrtc.so.11.1"),
    (found("cupy", "9.6.0", "11.2", dist="cupy-cuda112"), ["11.2.2", "11.8.0"], "11.1.1", "11.2"),
    (found("cupy", "13.3.0", "11", dist="cupy-cuda11x"), ["11.2.2", "11.8.0"], "11.1.1", "11.2"),
    (found("mxnet", "1.9.1", "11.0", "8"), ["11.0.3"], "11.1.1", "libcusolver.so.10"),
    (found("mxnet", "1.9.1", "11.1", "8"), ["11.1.1"], "11.2.2", "libnvrtc.so.11.1"),
    (found("jax", "0.1.65", "11.0", dist="jaxlib"), ["11.0.3"], "11.1.1", "libcusolver.so.10"),
    (found("jax", "0.1.71", "11.1", dist="jaxlib"), FROM_11_1, "11.0.3", "11.1"),
    (tensorflow("2.6.0", "11.2", "8"), ["11.2.2", "11.8.0"], "11.1.1", "11.2"),
]  # fmt: skip


@pytest.mark.parametrize("case", NAMES_11, ids=lambda c: f"{c[0].dist}-{c[0].version}")
def test_a_toolkit_has_the_libraries_by_the_names_that_are_loaded(case):
    framework, serving, other, lacking = case
    releases = ("11.0.3", "11.1.1", "11.2.2", "11.8.0")
    kits = {release: toolkit(f"{release}+cudnn8.1.1") for release in releases}
    chosen = [it for it in releases if resolve(facts(framework), [kits[it]]).toolkit]
    assert chosen == serving
    assert lacking in whys(resolve(facts(framework), [kits[other]]))[kits[other].name]


@pytest.mark.parametrize(
    ("version", "cudnn", "least"),
    [
        ("0.1.73", "8.0.5", "11.1"),
        ("0.3.25", "8.0.5", "11.1"),
        ("0.1.73", "8.2", "11.4"),
        ("0.3.25", "8.2", "11.4"),
        ("0.4.7", "8.2", "11.4"),
        ("0.4.7", "8.6", "11.8"),
        ("0.4.13", "8.6", "11.8"),
    ],
)
def test_the_builds_of_one_release_for_two_cudnns_have_their_own_oldest_cuda(version, cudnn, least):
    framework = found("jax", f"{version}+cuda11", "11", cudnn, dist="jaxlib")
    kits = [
        toolkit(f"{it}+cudnn8.9.7") for it in ("11.0.3", "11.1.1", "11.2.2", "11.4.4", "11.8.0")
    ]
    serving = [it.version.minor for it in kits if resolve(facts(framework), [it]).toolkit]
    assert serving[0] == least
    said = [it for it in resolve(facts(framework), []).reasons if f"takes CUDA {least}" in it.text]
    assert said
    assert all("README.md" in it.source or "CHANGELOG" in it.source for it in said)


def test_it_is_said_which_library_binds_to_one_release():
    answer = resolve(facts(tensorflow("2.4.4", "11.0", "8")), [toolkit("11.2.2+cudnn8.1.1")])
    why = whys(answer)["11.2.2+cudnn8.1.1"]
    assert why == "has libcusolver.so.11, but libcusolver.so.10 is needed"
    [said] = [it for it in answer.reasons if "libcusolver" in it.text]
    assert said.text.endswith(": it loads libcusolver.so.10, which CUDA 11.8 does not have")
    assert "tensorflow#44777" in said.source
    assert answer.hint == "cudaswitch install 11.0 --cudnn 8.0"
    free = resolve(facts(tensorflow("2.6.0", "11.2", "8")), [])
    assert not [it for it in free.reasons if "libcusolver" in it.text]


def test_the_cuda_of_the_environment_has_those_libraries_too():
    need = tensorflow("2.4.4", "11.0", "8")
    for release, serves in (("11.0.221", True), ("11.2.2", False)):
        runtime = Carried("cuda", "conda", "cudatoolkit", release, release, "s")
        cudnn = Carried("cudnn", "conda", "cudnn", "8.1.0", None, "s")
        assert resolve(facts(need, carried=(runtime, cudnn)), []).bundled == serves


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


JAX = found("jax", "0.4.28", "12", "8.9")
ONNX = found("onnxruntime", "1.20.1", "12", "9")


@pytest.mark.parametrize(
    "needs",
    [
        # The first framework leads, and names no cuDNN.
        (found("cupy", "13.4.0", "12", dist="cupy-cuda12x"), JAX, ONNX),
        (found("cupy", "13.4.0", "12", dist="cupy-cuda12x"), ONNX, JAX),
        (tensorflow("2.1.0", "10.1", "7"), found("mxnet", "1.6.0", "10.0", "7.6")),
        (tensorflow("2.10.1", "11.2", "8"), found("onnxruntime", "1.20.2", "12", "9")),
        (tensorflow("2.15.1", "12.2", "8"), found("onnxruntime", "1.20.2", "12", "9")),
        (tensorflow("2.4.4", "11.0", "8"), found("onnxruntime", "1.16.3", "11.8", "8.2.4")),
        (tensorflow("2.4.4", "11.0", "8"), found("cupy", "9.6.0", "11.1", dist="cupy-cuda111")),
        (tensorflow("2.4.4", "11.0", "8"), found("cupy", "13.3.0", "11", dist="cupy-cuda11x")),
    ],
)
def test_those_that_no_toolkit_serves(needs):
    answer = resolve(facts(*needs), [toolkit(name) for name in STORE])
    assert (answer.toolkit, answer.runs) == (None, False)
    assert answer.hint == "give each framework its own environment"
    assert any("no toolkit serves both" in reason.text for reason in answer.reasons)


def test_two_that_bring_their_own_do_not_quarrel():
    answer = resolve(facts(torch("2.5.1", "12.4"), found("cntk", "2.7", "10.0")), [])
    assert (answer.cuda, answer.runs, answer.bundled) == ("12.4", True, True)


def test_the_cudnn_told_is_one_that_goes_with_the_cuda_told():
    one = found("cntk", "2.7", "10.0", "9")
    other = torch("1.12.1", "9.2", "8")
    assert resolve(facts(one, other), []).cudnn == "8"


def test_a_build_without_cuda_beside_one_with():
    answer = resolve(facts(torch("2.5.1+cpu", gpu="cpu"), tensorflow("2.10.1", "11.2", "8")), [])
    assert (answer.cuda, answer.bundled, answer.runs) == ("11.2", False, True)


@pytest.mark.parametrize("wheels", [True, False])
def test_a_bound_of_one_lets_nothing_in_that_is_too_old_for_the_other(wheels):
    runtime = Carried("cuda", "dist", "nvidia-cuda-runtime-cu12", "12.8.90", "12.8.90", "s")
    cudnn = Carried("cudnn", "dist", "nvidia-cudnn-cu12", "9.8.0.87", "12", "s")
    jax = found("jax", "0.6.0", "12", "9.8", dist="jax-cuda12-plugin")
    kits = [toolkit(f"{it}+cudnn9.8.0") for it in ("12.2.2", "12.4.1", "12.6.3")]
    both = facts(jax, tensorflow("2.18.1", "12.5", "9.3"), carried=(runtime, cudnn) * wheels)
    answer = resolve(both, kits)
    assert (answer.bundled, answer.toolkit) == (wheels, "12.6.3+cudnn9.8.0")


def test_extensions_are_those_of_pytorch():
    runtime = Carried("cuda", "dist", "nvidia-cuda-runtime-cu12", "12.1.105", "12.1.105", "s")
    cudnn = Carried("cudnn", "dist", "nvidia-cudnn-cu12", "9.1.0.70", "12", "s")
    both = found("onnxruntime", "1.22.0", "12.2", "9"), torch("2.4.1", "12.1", "9.1.0.70")
    kits = [toolkit("12.1.1"), toolkit("12.2.2")]
    answer = resolve(facts(*both, carried=(runtime, cudnn)), kits)
    assert (answer.cuda, answer.toolkit, answer.bundled) == ("12.1", "12.1.1", True)
    assert answer.own == "CUDA 12.1.105 and cuDNN 9.1.0.70"
    assert resolve(facts(*both, carried=(runtime, cudnn)), []).hint == "cudaswitch install 12.1"
    # A framework that needs a toolkit to run goes first.
    assert resolve(facts(*both), kits).cuda == "12.2"


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

"""Builds other than those of a plain install, and packages that conflict."""

from __future__ import annotations

import pytest

from cudaswitch.detect.facts import facts_of
from cudaswitch.resolver import resolve
from cudaswitch.resolver.names import together
from handmade import facts, found, toolkit, torch
from made_environments import SITE, WINDOWS_SITE, Env, notes

BUILD_INFO = "import collections\nbuild_info = collections.OrderedDict({})\n"


OTHERS = [
    # version of torch, cuda in its version.py, answer: cuda, cudnn, bundled
    ("2.1.0a0+32f93b1", "12.2", "12.2", None, False),  # NVIDIA's containers
    ("2.3.0a0+6ddf5cf85e.nv24.04", "12.4", "12.4", None, False),
    ("2.1.0a0+41361538.nv23.06", "11.4", "11.4", None, False),  # Jetson
    ("2.1.0a0+git7bcf7da", "12.1", "12.1", None, False),  # from source
    ("1.14.0a0", "11.8", "11.8", None, False),
    ("2.1.0+computecanada", "12.2", "12.2", None, False),
    ("2.5.0.dev20240901+cu124", "12.4", "12.4", "9.1.0.70", True),
    ("2.5.0rc1+cu121", "12.1", "12.1", "9.1.0.70", True),
    ("2.0.1+cu118.with.pypi.cudnn", "11.8", "11.8", "8.7.0.84", True),
    ("2.0.1+cu118", "11.8", "11.8", "8.7.0.84", True),
]


@pytest.mark.parametrize("case", OTHERS, ids=lambda case: case[0])
def test_a_build_of_someone_else_is_not_answered_by_the_table(env, case):
    version, says, cuda, cudnn, bundled = case
    env.dist("torch", version)
    alone = env.resolve()
    assert alone.cuda == (cuda if "+cu" in version else None)
    assert alone.frameworks[0].known is ("+cu" in version)
    env.file("torch/version.py", f"__version__ = '{version}'\ncuda = '{says}'\n")
    answer = env.resolve()
    assert (answer.cuda, answer.cudnn, answer.bundled) == (cuda, cudnn, bundled)


@pytest.mark.parametrize(
    ("dist", "version", "file", "cuda"),
    [
        ("tensorflow", "2.13.0+nv23.09", "tensorflow", "12.2"),
        ("nvidia-tensorflow", "1.15.5+nv22.12", "tensorflow_core", "11.8"),
    ],
)
def test_nvidias_own_tensorflow(env, dist, version, file, cuda):
    env.dist(dist, version)
    assert env.resolve().frameworks[0].known is False
    pairs = {"cuda_version": cuda, "cudnn_version": "8", "is_cuda_build": True}
    text = BUILD_INFO.format(list(pairs.items()))
    env.file(f"{file}/python/platform/build_info.py", text)
    assert env.resolve().cuda == cuda


@pytest.mark.parametrize(
    ("dist", "version", "tag"),
    [
        ("torch", "2.5.1", "cp311-none-macosx_11_0_arm64"),
        ("tensorflow", "2.16.1", "cp311-cp311-macosx_12_0_arm64"),
        ("jaxlib", "0.4.30", "cp311-cp311-macosx_10_14_x86_64"),
    ],
)
def test_wheels_for_macos_have_no_cuda(env, dist, version, tag):
    record = env.dist(dist, version, 'nvidia-cudnn-cu12==9.1.0.70; platform_system == "Linux"')
    (record.parent / "WHEEL").write_text(f"Wheel-Version: 1.0\nTag: {tag}\n")
    answer = env.resolve()
    assert (answer.cuda, answer.cudnn, answer.frameworks[0].known) == (None, None, True)


QUARRELS = [
    (["cupy-cuda11x 12.3.0", "cupy-cuda12x 12.3.0"], "keep one"),
    (["onnxruntime 1.18.0", "onnxruntime-gpu 1.18.0"], "keep one"),
    (["mxnet 1.9.1", "mxnet-cu112 1.9.1"], "keep one"),
    (["jax-cuda12-plugin 0.8.0", "jax-cuda13-plugin 0.8.0", "jaxlib 0.8.0"], "keep one"),
    (["jax-cuda12-plugin 0.4.38", "jaxlib 0.5.0"], "jax-cuda12-plugin beside it is 0.4.38"),
    (["tensorflow 2.10.0", "tensorflow-gpu 2.6.2"], "tensorflow-gpu beside it is 2.6.2"),
    (["jax-cuda12-plugin 0.12.0.1", "jax-cuda12-pjrt 0.12.0.1", "jaxlib 0.12.0"], None),
    (["tensorflow 2.6.2", "tensorflow-gpu 2.6.2"], None),
    (["numba 0.60.0", "numba-cuda 0.30.4"], None),
]


@pytest.mark.parametrize(("dists", "says"), QUARRELS, ids=lambda it: str(it)[:40])
def test_packages_that_get_in_each_others_way_are_told(env, dists, says):
    for dist in dists:
        env.dist(*dist.split())
    told = [text for text in notes(env.resolve()) if "beside" in text]
    assert all(text.startswith(f"`{SITE}/") for text in told)
    assert [says in text for text in told] == ([True] if says else [])


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("nvidia-cudnn-cu12 9.10.2.21", "nvidia-cudnn-cu13 9.28.1.4"),
        ("nvidia-cudnn-cu11 8.7.0.84", "nvidia-cudnn-cu12 8.9.4.25"),
    ],
)
def test_two_cudnn_wheels_in_one_folder_are_told(env, one, two):
    env.torch("2.9.1+cu128", "12.8")
    env.dist(*one.split())
    env.dist(*two.split())
    (told,) = [text for text in notes(env.resolve()) if "beside" in text]
    said = f"is {two.split()[0]} beside {one.split()[0]}, and both write nvidia/cudnn"
    assert told.startswith(f"`{SITE}/{two.replace('-', '_').replace(' ', '-')}.dist-info` {said}")


def test_a_cudnn_in_the_base_is_beside_none_of_the_virtualenv(tmp_path):
    base, env = Env(tmp_path / "base"), Env(tmp_path / "venv")
    home = base.prefix / "bin"
    config = f"home = {home}\ninclude-system-site-packages = true\nversion = 3.8.10\n"
    (env.prefix / "pyvenv.cfg").write_text(config)
    base.dist("nvidia-cudnn-cu12", "9.10.2.21")
    env.dist("nvidia-cudnn-cu13", "9.28.1.4")
    assert not [text for text in notes(env.resolve()) if "beside" in text]


def test_jax_with_the_runtime_of_its_plugin_alone(env):
    env.dist("jaxlib", "0.6.0")
    env.dist("jax-cuda12-pjrt", "0.6.0")
    assert (env.resolve().cuda, env.resolve().cudnn) == ("12", "9.8")


@pytest.mark.parametrize(
    ("version", "cuda", "cudnn"),
    [("1.5.2.post87", "8", "7"), ("1.3.0.post85", "8", "5"), ("1.8.5.post97", "9", "7")],
)
def test_paddle_names_cuda_and_cudnn_by_their_majors(env, version, cuda, cudnn):
    env.dist("paddlepaddle-gpu", version)
    assert (env.resolve().cuda, env.resolve().cudnn) == (cuda, cudnn)


@pytest.mark.parametrize(
    ("dist", "cuda"),
    [("nvidia-cuda-nvcc-cu12 12.4.131", "12.4"), ("nvidia-nvvm 13.0.88", "13.0")],
)
def test_numba_cuda_uses_the_release_that_the_environment_brings(env, dist, cuda):
    env.dist("numba", "0.62.0")
    env.dist("numba-cuda", "0.20.0")
    name, version = dist.split()
    suffix = "-cu12" if name.endswith("-cu12") else ""
    for each in (name, *(f"nvidia-{it}{suffix}" for it in ("cuda-runtime", "cuda-nvrtc"))):
        env.dist(each, version)
    lacking = env.resolve()
    assert (lacking.bundled, lacking.caution) == (
        True,
        "numba-cuda 0.20.0: its wheels lack libnvJitLink",
    )
    extra = f"cu{cuda[:2]}"
    assert lacking.hint == (
        f'`pip install "numba-cuda[{extra}]==0.20.0"`, which brings them, or a toolkit:'
        f" `cudaswitch install {cuda}`"
    )
    env.dist(f"nvidia-nvjitlink{suffix}", version)
    answer = env.resolve()
    assert (answer.cuda, answer.bundled, answer.hint) == (cuda, True, f"cudaswitch install {cuda}")
    cudas = {it.name: (it.version, it.cuda) for it in answer.frameworks}
    assert cudas == {"numba": ("0.62.0", None), "numba-cuda": ("0.20.0", cuda)}


@pytest.mark.parametrize(
    ("release", "cuda"), [("0.15.2", "12.9.86"), ("0.15.2", "11.8.89"), ("0.18.1", "11.8.89")]
)
def test_numba_cuda_misses_no_nvjitlink_that_its_extra_does_not_bring(env, release, cuda):
    """Before 0.16 it opens none, and CUDA 11 has none."""
    env.dist("numba-cuda", release)
    for each in ("nvcc", "runtime", "nvrtc"):
        env.dist(f"nvidia-cuda-{each}-cu{cuda[:2]}", cuda)
    answer = env.resolve()
    assert (answer.bundled, answer.caution) == (True, None)


@pytest.mark.parametrize(
    "runtime", ["nvidia-cuda-runtime-cu12 12.9.79", "nvidia-cuda-nvcc-cu12 12.9.86"]
)
def test_numba_and_the_first_numba_cuda_look_into_no_wheels(env, runtime):
    env.dist("numba", "0.68.1")
    env.dist(*runtime.split())
    assert env.resolve().cuda is None
    env.dist("numba-cuda", "0.8.1")
    answer = env.resolve()
    assert (answer.cuda, answer.bundled) == (None, False)
    assert "toolkit" in answer.hint


@pytest.mark.parametrize(("bindings", "cuda"), [("12.9.2", "12"), ("13.5.0", "13")])
def test_numba_cuda_without_wheels_takes_a_toolkit_of_its_bindings(env, bindings, cuda):
    env.dist("numba-cuda", "0.30.4", "cuda-bindings<14.0.0,>=12.9.1")
    env.dist("cuda-bindings", bindings)
    answer = env.resolve()
    assert (answer.cuda, answer.bundled, answer.hint) == (cuda, False, f"cudaswitch install {cuda}")


def test_numba_cuda_names_the_extra_that_the_driver_runs(env):
    env.dist("numba-cuda", "0.30.4")
    env.dist("cuda-bindings", "13.5.0")
    answer = env.resolve(driver="535.104.05")
    assert not answer.runs
    assert '`pip install "numba-cuda[cu12]==0.30.4"`' in answer.hint


def test_a_numba_cuda_without_nvvm_asks_for_nothing_beside_torch(env):
    env.torch("2.14.1+cu130", "13.0", "nvidia-cudnn-cu13==9.24.0.43")
    env.dist("numba-cuda", "0.30.4")
    env.dist("cuda-bindings", "13.5.0")
    env.dist("nvidia-cuda-runtime", "13.0.96")
    answer = env.resolve()
    assert (answer.cuda, answer.bundled) == ("13.0", True)
    assert any("finds no CUDA in the environment" in it.text for it in answer.reasons)


# The GPUs that a build has code for.

GPUS = [
    # dist, version, compute capability, runs, what the hint names
    ("torch", "2.8.0", "6.1", False, "torch==2.8.0+cu126"),
    ("torch", "2.8.0", "7.0", True, None),
    ("torch", "2.7.1+cu128", "7.0", False, "torch==2.7.1+cu126"),
    ("torch", "2.6.0", "12.0", False, "torch==2.7.0+cu128"),
    ("torch", "2.5.1", "3.7", False, "torch==2.3.1+cu118"),
    ("torch", "2.0.1", "9.0", False, "torch==2.0.1+cu118"),
    ("torch", "2.0.1+cu118", "9.0", True, None),
    ("torch", "1.12.1", "7.5", True, None),  # the code for 7.0 runs there
    ("torch", "1.12.1", "3.5", False, "may run here"),
    ("torch", "2.5.1", "8.9", True, None),
    ("tensorflow", "2.18.0", "5.2", False, "TensorFlow 2.16 (CUDA 12.3) runs here"),
    ("tensorflow", "2.20.0", "12.0", True, None),  # by PTX
    ("tensorflow", "2.17.0", "12.0", False, "TensorFlow 2.18"),  # no cuDNN 8 knows Blackwell
    ("tensorflow", "2.3.0", "8.0", False, "TensorFlow 2.4"),  # no cuDNN 7 knows Ampere
]


@pytest.mark.parametrize("case", GPUS, ids=lambda case: "-".join(map(str, case[:3])))
def test_the_gpus_that_a_release_has_code_for(env, case):
    dist, version, cc, runs, hint = case
    env.dist(dist, version)
    answer = env.resolve(cc=cc)
    assert answer.runs is runs
    assert hint is None or hint in answer.hint
    assert answer.reasons
    assert all(reason.source for reason in answer.reasons)


@pytest.mark.parametrize(
    ("version", "cc", "says"),
    [
        ("2.15.0", "8.9", "this build has code for 8.6, which runs"),
        ("2.14.1", "12.1", "this build has code for 12.0, which runs"),
        ("2.14.1", "13.0", "none of it for this GPU"),  # without PTX
    ],
)
def test_the_newest_torch_has_code_and_no_ptx(env, version, cc, says):
    env.dist("torch", version)
    assert any(says in text for text in notes(env.resolve(cc=cc)))


def test_what_the_project_publishes_says_nothing_of_conda_and_of_other_builds(env):
    env.conda("pytorch", "2.8.0", "cuda128_mkl_py312_h1234567_300")
    assert env.resolve(cc="6.1").runs
    env.dist("torch", "2.8.0a0+git123")
    env.file("torch/version.py", "__version__ = '2.8.0a0+git123'\ncuda = '12.8'\n")
    assert env.resolve(cc="6.1").runs


def test_a_gpu_that_runs_the_code_of_an_older_one_is_told_so(env):
    env.dist("mxnet-cu117", "1.9.1")
    answer = env.resolve(cc="8.9")
    assert answer.runs
    assert any("which runs code for 8.7" in text for text in notes(answer))


# cuDNN inside a wheel whose CUDA is a toolkit's.


@pytest.mark.parametrize(
    ("dist", "version", "kits", "chosen"),
    [
        ("mxnet-cu101", "1.5.1", ["10.1.243"], "10.1.243"),
        ("mxnet-cu101", "1.7.0", ["10.1.243+cudnn8.0.5"], "10.1.243+cudnn8.0.5"),
        ("mxnet-cu101", "1.8.0", ["10.1.243", "10.1.243+cudnn7.6.5"], "10.1.243+cudnn7.6.5"),
        ("mxnet-cu101", "1.8.0", ["10.1.243"], None),
        (
            "mxnet-cu102",
            "1.9.1",
            ["10.2.89+cudnn7.6.5", "10.2.89+cudnn8.0.5"],
            "10.2.89+cudnn8.0.5",
        ),
    ],
)
def test_mxnet_takes_cudnn_from_a_toolkit_from_1_8_on(env, dist, version, kits, chosen):
    env.dist(dist, version)
    answer = env.resolve([toolkit(name) for name in kits])
    assert answer.toolkit == chosen


def test_cudnn_inside_a_wheel_is_stated_and_not_asked_for(env):
    env.dist("mxnet-cu101", "1.5.1")
    answer = env.resolve()
    assert (answer.cudnn, answer.hint) == ("7.6.0.64", "cudaswitch install 10.1")
    assert any("its cuDNN is inside the wheel" in text for text in notes(answer))


def test_cudnn_inside_a_wheel_quarrels_with_no_other(env):
    env.dist("mxnet-cu102", "1.7.0")
    env.dist("onnxruntime-gpu", "1.6.0")
    answer = env.resolve()
    assert (answer.cudnn, answer.hint) == ("8.0.3", "cudaswitch install 10.2 --cudnn 8.0")
    env.dist("paddlepaddle-gpu", "2.1.0")
    answer = env.resolve()
    assert not answer.runs
    assert any("1.6.0 asks for CUDA 10.2 with cuDNN 8.0.3 and P" in text for text in notes(answer))


def test_cudnn_inside_a_wheel_is_not_what_it_asks_for(env):
    env.dist("mxnet-cu101", "1.5.1")
    env.dist("tensorflow-gpu", "2.0.0")
    answer = env.resolve()
    assert not answer.runs
    assert any("1.5.1 asks for CUDA 10.1 and TensorFlow 2.0.0" in text for text in notes(answer))


def test_cudnn_inside_a_wheel_serves_no_other():
    mxnet = found("mxnet", "1.7.0", "10.2", "7.6.5", dist="mxnet-cu102")
    answer = resolve(facts(found("onnxruntime", "1.6.0", "10.2", "8.0.3"), mxnet), [])
    assert answer.runs and answer.request == ("10.2", "8.0")
    answer = resolve(facts(torch("1.5.1", "9.2", "7.6.5"), mxnet), [])
    assert not any("libcudnn.so.7" in reason.text for reason in answer.reasons)
    # PyTorch's is for itself.
    cupy = found("cupy", "13.3.0", "12", dist="cupy-cuda12x")
    assert resolve(facts(torch("2.6.0", "12.4", "9.1.0"), cupy), []).cudnn is None


def test_conda_s_cuda_serves_a_wheel_with_cudnn_inside(env):
    env.conda("cudatoolkit", "10.1.243", "h6bb024c_0")
    env.dist("mxnet-cu101", "1.5.1")
    assert env.resolve().bundled


def test_conda_s_mxnet_and_that_for_windows_load_cudnn(env, tmp_path):
    env.conda("mxnet", "1.5.0", "gpu_mkl_cuda101_0")
    assert not any("inside the wheel" in text for text in notes(env.resolve()))
    env = Env(tmp_path / "other", WINDOWS_SITE)
    env.dist("mxnet-cu101", "1.5.0")
    env.write("python.exe", "")
    assert env.resolve().request == ("10.1", "7.6")


# The system that an environment is for.


def test_the_records_of_conda_tell_the_system(env):
    text = '{"subdir": "%s", "depends": []}'
    record = env.write("conda-meta/pytorch-1.8.1-py3.8_cuda101_cudnn7_0.json", text % "win-64")
    answer = env.resolve(driver="418.39")
    assert not answer.runs
    assert any("418.96" in text for text in notes(answer))
    record.write_text(text % "linux-64")
    assert env.resolve(driver="418.39").runs


@pytest.mark.parametrize("place", ["python.exe", "Lib/site-packages/x"])
def test_windows_layout(tmp_path, place):
    env = Env(tmp_path / "env", WINDOWS_SITE if place.startswith("Lib") else "x")
    env.write(place, "")
    env.conda("pytorch", "1.8.1", "py3.8_cuda101_cudnn7_0")
    assert not env.resolve(driver="418.39").runs


@pytest.mark.parametrize(
    ("name", "version", "libraries"),
    [
        ("tensorflow", "2.8.4", ("cublas", "cufft", "cusolver", "cusparse")),
        ("tensorflow", "2.19.0", ("cublas", "cufft", "cusolver", "cusparse")),
        ("onnxruntime", "1.19.2", ("cublas", "cufft", "curand")),
        ("onnxruntime", "1.22.0", ("cublas", "cufft", "curand", "nvrtc")),
        ("onnxruntime", "1.26.0", ("cublas", "cufft", "curand")),
        ("onnxruntime", "1.31.1", ("cublas", "curand")),
        ("ctranslate2", "4.8.5", ("cublas",)),
        ("cupy", "12.3.0", ("cublas", "cufft", "curand", "cusolver", "cusparse", "nvrtc")),
        ("transformer-engine", "2.20.2", ("cublas", "nvrtc")),
        ("jax", "0.4.31", ("cublas", "cufft", "cupti", "cusolver", "cusparse")),
        ("jax", "0.12.0.1", ("cublas", "cufft", "cupti", "cusolver", "cusparse")),
    ],
)
def test_a_toolkit_that_has_what_a_wheel_loads_goes_before_a_closer_one(name, version, libraries):
    kits = [toolkit("12.5.1+cudnn9.12.0"), toolkit("12.9.1+cudnn9.12.0")]

    def lacks(kit, asked):
        return asked if kit is kits[0] else ()

    answer = resolve(facts(found(name, version, "12.5", "9")), kits, absent=lacks)
    assert answer.toolkit == kits[1].name
    (rejected,) = answer.rejected
    assert rejected.why == f"lacks {together(libraries)}"


def test_mxnet_loads_all_that_it_is_linked_to(env):
    env.dist("mxnet-cu117", "1.9.1")
    kits = [toolkit("11.7.1+cudnn8.5.0"), toolkit("11.8.0+cudnn8.9.7")]
    answer = resolve(
        facts_of(env.prefix, driver="610.43.02"),
        kits,
        absent=lambda kit, asked: asked[4:] if kit is kits[0] else (),
    )
    assert answer.toolkit == kits[1].name
    assert [it.why for it in answer.rejected] == ["lacks nvToolsExt and nvrtc"]


@pytest.mark.parametrize(
    ("core", "version", "asked"),
    [
        ("cu12", "2.1.0", ("12", None)),
        ("cu12", "2.2.0", ("12", "9")),
        ("cu12", "2.20.2", ("12", "9")),
        ("cu13", "2.9.0", ("13", "9")),
    ],
)
def test_transformer_engine_alone_is_linked_to_cudnn(env, core, version, asked):
    env.dist(f"transformer-engine-{core}", version)
    assert env.resolve().request == asked

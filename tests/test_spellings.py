"""The odder spellings: nightlies, variants, metapackages, Windows files, records that lie."""

from __future__ import annotations

import pytest

from made_environments import SITE, WINDOWS_SITE, Env

PIP = [
    # dist and version, answer
    ("torch 2.7.0.dev20250101+cu128", "12.8", "9.7.1.26"),
    ("torch 2.12.0.dev20260301+cu130", "13.0", "9.20.0.48"),
    ("torch 1.13.0.dev20220901+cu117", "11.7", "8.5.0.96"),
    ("torch 2.4.0+rocm6.1", None, None),
    ("torch 2.7.0+xpu", None, None),
    ("torch 1.8.1+cpu", None, None),
    ("torch 1.5.1+cu92", "9.2", None),
    ("torch 1.2.0+cu92", "9.2", None),
    ("torch 2.9.1+cu130", "13.0", "9.13.0.50"),
    ("tensorflow-gpu 1.15.2", "10.0", "7.4"),
    ("tensorflow-gpu 2.0.0rc1", "10.0", "7.4"),
    ("tensorflow 1.15.0", "10.0", "7.4"),  # the one release before 2.1 that holds CUDA
    ("tensorflow 1.15.2", None, None),
    ("tensorflow 1.14.0", None, None),
    ("tensorflow 2.0.0", None, None),
    ("tensorflow-cpu 2.15.0", None, None),
    ("tensorflow-cpu-aws 2.15.0", None, None),
    ("tensorflow-aarch64 2.9.0", None, None),
    ("intel-tensorflow 2.10.0", None, None),
    ("tf-nightly-cpu 2.15.0.dev20230901", None, None),
    ("tf-nightly-gpu 2.5.0.dev20210101", "11.2", "8.1"),
    ("tensorflow 2.16.0rc0", "12.3", "8.9"),
    ("jaxlib 0.4.29+cuda12.cudnn91", "12", "9.1"),
    ("jaxlib 0.3.15+cuda11.cudnn82", "11", "8.2"),
    ("jax-cuda11-plugin 0.4.25", "11", None),
    ("jax-cuda12-plugin 0.4.22", "12", "8.9"),
    ("cupy-cuda90 8.6.0", "9.0", None),
    ("cupy-cuda111 12.3.0", "11.1", None),
    ("cupy-cuda11x 11.0.0", "11", None),
    ("cupy-cuda13x 13.6.0", "13", None),
    ("cupy-rocm-4-3 11.0.0", None, None),
    ("mxnet-cu101mkl 1.5.1.post0", "10.1", "7.6.0.64"),
    ("mxnet-cu102 1.6.0.post0", "10.2", None),
    ("mxnet-cu92mkl 1.6.0", "9.2", "7.6.0.64"),
    ("mxnet-cu90 1.3.1", "9.0", None),
    ("mxnet-native 1.9.1", None, None),
    ("paddlepaddle-gpu 2.4.2.post112", "11.2", "8.2.1"),
    ("paddlepaddle-gpu 2.5.2.post120", "12.0", "8.9.1"),
    ("paddlepaddle-gpu 2.0.2.post90", "9.0", None),
    ("paddlepaddle-gpu 1.8.5.post97", "9", "7"),
    ("paddlepaddle 3.0.0", None, None),
    ("onnxruntime-gpu 1.7.0", "11.0.3", "8.0.4"),
    ("onnxruntime-gpu 1.21.0", "12.2", "9"),
    ("onnxruntime-training 1.11.1+cu113", "11.3", None),
    ("onnxruntime-training 1.12.1+cpu", None, None),
    ("onnxruntime-directml 1.20.1", None, None),
    ("onnxruntime-openvino 1.18.0", None, None),
    ("ort-nightly-gpu 1.18.0.dev20240401005", "11.8", "8"),
    ("cntk-gpu 2.7", "10.0", "7"),
    ("cntk 2.6", None, None),
]  # fmt: skip


@pytest.mark.parametrize("case", PIP, ids=lambda case: case[0])
def test_a_distribution_known_by_its_name_and_version(env, case):
    dist, cuda, cudnn = case
    env.dist(*dist.split())
    answer = env.resolve()
    assert (answer.cuda, answer.cudnn, len(answer.frameworks)) == (cuda, cudnn, 1)


CONDA = [
    # record, build, other records, answer
    ("pytorch 1.0.1", "py3.7_cuda9.0.176_cudnn7.4.2_2", (), "9.0.176", "7.4.2"),
    ("pytorch 0.4.1", "py36_cuda8.0.61_cudnn7.1.2_1", (), "8.0.61", "7.1.2"),
    ("pytorch 1.0.1", "py3.7_cuda100_cudnn7_1", (), "10.0", "7"),
    ("pytorch 0.4.1", "py37_cuda90_cudnn7he774522_1", (), "9.0", "7"),
    ("pytorch 1.7.1", "py3.8_cuda101_cudnn7_0", (), "10.1", "7"),
    ("pytorch 1.3.1", "cuda100py37h53c1284_0", (), "10.0", None),
    ("pytorch 1.12.1", "gpu_cuda113py310h19bbc4a_1", (), "11.3", "8.3.2.44"),
    ("pytorch 2.2.0", "gpu_cuda118py311h2b5f5c4_100", (), "11.8", "8.7.0.84"),
    ("pytorch 1.12.1", "cuda112py39hb0b7ed5_201", (), "11.2", None),
    ("pytorch 2.5.1", "cuda126_generic_py311_h3f0c0a1_200", (), "12.6", None),
    ("pytorch 2.7.0", "cuda128_mkl_py312_h2d8a2f4_300", (), "12.8", "9.7.1.26"),
    ("pytorch 2.9.1", "cuda130_generic_py313_h9e9a8b8_200", (), "13.0", "9.13.0.50"),
    ("pytorch 2.1.2", "cuda120_py310h3d0cbc3_301", ("cudnn 8.9.7.29 hbc23b4c_3",), "12.0",
     "8.9.7.29"),
    ("pytorch 2.5.1", "cpu_generic_py311_h1234567_1", (), None, None),
    ("pytorch 1.13.1", "cpu_py310h02c325b_0", (), None, None),
    ("pytorch 2.3.0", "py3.11_cuda11.8_cudnn8.7.0_0", ("pytorch-cuda 11.8 h7e8668a_5",), "11.8",
     "8.7.0"),
    ("pytorch-gpu 2.1.2", "cuda120py311h09fd9a3_301", (), "12.0", None),
    # The cudatoolkit may be there for another package: a build that says nothing stays so.
    ("pytorch 1.10.0", "py39_0", ("cudatoolkit 11.3.1 h2bc3f7f_2",), None, None),
    ("pytorch 2.0.0", "py3.10_cpu_0", ("cudatoolkit 11.8.0 h4ba93d1_13",), None, None),
    ("libtorch 2.5.1", "cuda126_generic_h1234567_200", (), "12.6", None),
    ("tensorflow-base 1.15.0", "gpu_py37h9dcbed7_0", (), "10.0", "7.4"),
    ("tensorflow-base 2.4.1", "gpu_py39h29c2da4_0",
     ("cudatoolkit 10.1.243 h6bb024c_0", "cudnn 7.6.5 cuda10.1_0"), "10.1.243", "7.6.5"),
    ("tensorflow-gpu 2.4.1", "h30adc30_0",
     ("tensorflow 2.4.1 gpu_py39h8236f22_0", "cudatoolkit 10.1.243 h6bb024c_0"), "10.1.243",
     None),
    ("tensorflow-gpu 1.14.0", "h0d30ee6_0", ("tensorflow 1.14.0 gpu_py37h4491b45_0",), "10.0",
     "7.4"),
    ("tensorflow 2.3.0", "mkl_py37h0481017_0", (), None, None),
    ("tensorflow 2.0.0", "eigen_py37h3ac9ff1_0", (), None, None),
    ("tensorflow-base 2.15.0", "cuda120py311hf5d8d8c_0", (), "12.0", None),
    ("tensorflow-base 2.17.0", "cuda126py312h1234567_203", ("cuda-version 12.6 h7480c83_3",),
     "12.6", None),
    ("tensorflow 2.11.0", "cuda112py39h4a5c1c1_0", (), "11.2", "8.1"),
    ("tensorflow 2.16.1", "cpu_py310h496a806_0", (), None, None),
    ("jaxlib 0.4.31", "cuda120py311h0000000_200", (), "12.0", "9.1"),
    ("jaxlib 0.4.35", "cuda126py312h0000000_200", (), "12.6", "9.1"),
    ("jaxlib 0.4.23", "cpu_py311h3eb2fcd_2", (), None, None),
    ("cupy 13.3.0", "py312h7d319b9_2",
     ("cuda-version 12.6 h7480c83_3", "cuda-cudart 12.6.77 h5888daf_0"), "12.6", None),
    ("cupy-core 13.3.0", "py312h53955ae_2",
     ("cuda-version 11.8 h70ddcb2_3", "cudatoolkit 11.8.0 h4ba93d1_13"), "11.8", None),
    ("cupy 8.3.0", "py38h6bb024c_0", ("cudatoolkit 10.1.243 h6bb024c_0",), "10.1.243", None),
    ("mxnet-gpu 1.2.1", "0", ("mxnet 1.2.1 h8cc8929_0", "cudatoolkit 9.0 h13b8566_0"), "9.0",
     None),
    ("mxnet 1.5.0", "py37h1234567_0", ("libmxnet 1.5.0 gpu_mkl_h1234567_0",
     "cudatoolkit 10.0.130 0"), "10.0.130", "7.6.0.64"),
    ("paddlepaddle-gpu 2.4.2", "py39_gpu_cuda11.6_many_linux", (), "11.6", "8.4.0"),
    ("onnxruntime 1.18.1", "py312h6a8e1ff_200_cuda", ("cuda-version 11.8 h70ddcb2_3",), "11.8",
     "8"),
    ("onnxruntime 1.18.1", "py312h6a8e1ff_0_cpu", (), None, None),
]  # fmt: skip


@pytest.mark.parametrize("case", CONDA, ids=lambda case: f"{case[0]}-{case[1]}")
def test_conda_records(env, case):
    record, build, others, cuda, cudnn = case
    env.conda(*record.split(), build)
    for other in others:
        env.conda(*other.split())
    answer = env.resolve()
    assert (answer.cuda, answer.cudnn, len(answer.frameworks)) == (cuda, cudnn, 1)
    assert answer.bundled is (cuda is not None)


PLAIN = """is_rocm_build = False
is_cuda_build = True

cuda_version_number = '{cuda}'
cudnn_version_number = '7'

msvcp_dll_name = 'msvcp140.dll'
nvcuda_dll_name = 'nvcuda.dll'
cudart_dll_name = 'cudart64_{digits}.dll'
cudnn_dll_name = 'cudnn64_7.dll'
"""
DICT = (
    "build_info = {{'cuda_version': '64_{digits}', 'cudnn_version': '64_7', "
    "'cuda_compute_capabilities': ['sm_35', 'sm_70'], 'is_rocm_build': False, "
    "'is_cuda_build': True, 'cudart_dll_name': 'cudart64_{digits}.dll'}}\n"
)
ORDERED = (
    "import collections\n\nbuild_info = collections.OrderedDict([('cpu_compiler', 'C:/cl.exe'), "
    "('cuda_compute_capabilities', ['sm_35', 'compute_80']), ('cuda_version', '64_{digits}'), "
    "('cudart_dll_name', 'cudart64_{digits}.dll'), ('cudnn_dll_name', 'cudnn64_8.dll'), "
    "('cudnn_version', '64_8'), ('is_cuda_build', True), ('is_rocm_build', False)])\n"
)
WINDOWS = [
    # release, folder, text of the wheel for Windows, answer
    ("1.14.0", "tensorflow", PLAIN, "10.0", "7.4"),
    ("1.15.0", "tensorflow_core", PLAIN, "10.0", "7.4"),
    ("2.1.0", "tensorflow_core", PLAIN, "10.1", "7.6"),
    ("2.3.0", "tensorflow", DICT, "10.1", "7.6"),
    ("2.4.1", "tensorflow", ORDERED, "11.0", "8.0"),
    ("2.6.0", "tensorflow", ORDERED, "11.2", "8.1"),
    ("2.10.1", "tensorflow", ORDERED, "11.2", "8.1"),
]


@pytest.mark.parametrize("case", WINDOWS, ids=lambda case: case[0])
def test_tensorflow_wheels_for_windows(tmp_path, case):
    version, folder, text, cuda, cudnn = case
    env = Env(tmp_path / "env", WINDOWS_SITE)
    env.dist("tensorflow-gpu", version)
    text = text.format(cuda=cuda, digits=cuda.replace(".", "")).replace("\n", "\r\n")
    env.file(f"{folder}/python/platform/build_info.py", text)
    answer = env.resolve(driver="531.14")
    assert (answer.cuda, answer.cudnn, answer.runs) == (cuda, cudnn, True)


def test_the_2_1_of_both_systems_has_another_driver_bound(tmp_path):
    bounds = {WINDOWS_SITE: ("418.96", "418.39"), SITE: ("418.39", "418.38")}
    for number, (site, (enough, too_old)) in enumerate(bounds.items()):
        env = Env(tmp_path / str(number), site)
        env.dist("tensorflow", "2.1.0")
        text = PLAIN.format(cuda="10.1", digits="101")
        env.file("tensorflow_core/python/platform/build_info.py", text)
        assert env.resolve(driver=enough).runs
        assert not env.resolve(driver=too_old).runs


def test_windows_files_of_cntk_and_torch(tmp_path):
    env = Env(tmp_path / "cntk", WINDOWS_SITE)
    env.dist("cntk-gpu", "2.7")
    env.file("cntk/libs/cudart64_100.dll")
    env.file("cntk/libs/cudnn64_7.dll")
    env.file("cntk/libs/cudnn64_7.dll.bak")
    assert (env.resolve().cuda, env.resolve().cudnn) == ("10.0", "7")
    env = Env(tmp_path / "torch", WINDOWS_SITE)
    env.torch("2.5.1+cpu", None, "nvidia-cudnn-cu12==9.1.0.70; platform_system == 'Linux'")
    assert env.resolve().cuda is None


def test_torch_on_a_v100(env):
    env.torch("2.13.0+cu130", "13.0", "nvidia-cudnn-cu13==9.20.0.48", typed=True)
    answer = env.resolve(cc="7.0")
    assert not answer.runs
    assert "torch==2.13.0+cu126" in answer.hint
    assert env.resolve(cc="7.5").runs


def test_torch_built_from_source_brings_nothing(env):
    env.torch("2.1.0a0+git7bcf7da", "12.2")
    answer = env.resolve()
    assert (answer.cuda, answer.bundled) == ("12.2", False)


def test_paddle_3_brings_its_cuda_as_wheels(env):
    env.dist("paddlepaddle-gpu", "3.0.0", "nvidia-cudnn-cu12==9.5.1.17")
    env.file("paddle/version/__init__.py", "full_version = '3.0.0'\ncuda_version = '12.6'\n")
    assert env.resolve().bundled is False
    env.dist("nvidia-cuda-runtime-cu12", "12.6.77")
    env.dist("nvidia-cudnn-cu12", "9.5.1.17")
    answer = env.resolve()
    assert (answer.cuda, answer.cudnn, answer.bundled) == ("12.6", "9.5.1.17", True)


def test_wheels_that_are_placeholders_bring_nothing(env):
    env.dist("onnxruntime-gpu", "1.27.0")
    env.dist("nvidia-cuda-runtime-cu13", "0.0.1")
    env.dist("nvidia-cudnn-cu13", "9.13.0.50")
    assert env.resolve().bundled is False
    env.dist("nvidia-cuda-runtime", "13.0.96")
    assert env.resolve().bundled is True


def test_jax_with_a_local_toolkit_needs_it(env):
    env.dist("jax", "0.6.2")
    env.dist("jaxlib", "0.6.2")
    env.dist("jax-cuda12-pjrt", "0.6.2")
    env.dist("jax-cuda12-plugin", "0.6.2", "nvidia-cudnn-cu12<10.0,>=9.8; extra == 'with-cuda'")
    answer = env.resolve()
    assert (answer.cuda, answer.cudnn, answer.bundled) == ("12", "9.8", False)
    assert answer.hint == "cudaswitch install 12 --cudnn 9.8"


# A framework without a record, with two, or with one that lies.


def test_a_folder_without_any_record(env):
    env.file("torch/version.py", "__version__ = '2.0.1+cu118'\ncuda = '11.8'\n")
    answer = env.resolve()
    assert (answer.cuda, answer.cudnn) == ("11.8", "8.7.0.84")
    assert answer.frameworks[0].version == "2.0.1+cu118"


def test_a_record_of_another_release_than_the_files(env):
    env.dist("torch", "1.12.1+cu116")
    env.file("torch/version.py", "__version__ = '2.0.1+cu118'\ncuda = '11.8'\n")
    answer = env.resolve()
    assert (answer.cuda, answer.cudnn) == ("11.8", "8.7.0.84")
    assert any("the files are of 2.0.1+cu118" in reason.text for reason in answer.reasons)


def test_a_record_that_an_interrupted_install_left(env):
    env.dist("torch", "2.5.1")
    env.dist("torch", "2.10.0")
    answer = env.resolve()
    assert (answer.frameworks[0].version, answer.cuda) == ("2.10.0", "12.8")
    assert any("second record of torch" in reason.text for reason in answer.reasons)

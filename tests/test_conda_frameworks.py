"""Frameworks from conda, and those from pip that find conda's CUDA."""

from __future__ import annotations

import pytest

from cudaswitch.detect.facts import facts_of
from cudaswitch.resolver import resolve
from cudaswitch.resolver.explain import explain
from handmade import toolkit
from made_environments import NEW_DRIVER, ORDERED, SITE, build_info
from tools import executable


def test_an_older_cudnn_of_conda(env, monkeypatch):
    env.dist("tensorflow", "2.6.0")
    env.conda("cudatoolkit", "11.2.2", "hbe64b41_10")
    env.conda("cudnn", "8.0.5.39", "h1_0")
    assert env.resolve().hint == f"`conda install -p '{env.prefix}' \"cudnn>=8.1,<9\"`"
    monkeypatch.setenv("MAMBA_EXE", "/m/micromamba")
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("CONDA_EXE", raising=False)
    assert env.resolve().hint == f"`micromamba install -p '{env.prefix}' \"cudnn>=8.1,<9\"`"


CONDA = [
    # package, version, build, depends, answer
    ("pytorch", "1.7.1", "py3.8_cuda10.1.243_cudnn7.6.3_0", (), "10.1.243", "7.6.3"),
    ("pytorch", "1.7.1", "py3.8_cuda11.0.221_cudnn8.0.5_0", (), "11.0.221", "8.0.5"),
    ("pytorch", "1.8.1", "py3.8_cuda101_cudnn7_0", (), "10.1", "7.6.3.30"),
    ("pytorch", "1.7.0", "py3.8_cuda110_cudnn8_0", (), "11.0", "8"),
    ("pytorch", "2.1.0", "py3.10_cuda12.1_cudnn8.9.2_0", (), "12.1", "8.9.2"),
    ("pytorch", "2.5.1", "py3.12_cuda12.4_cudnn9.1.0_0", (), "12.4", "9.1.0"),
    ("pytorch", "2.0.0", "py3.10_cpu_0", (), None, None),
    ("pytorch", "1.10.0", "py39_0", (), None, None),  # says nothing; PyPI's default is no answer
    ("pytorch", "2.1.0", "cuda118_py39hbf661d7_301", (), "11.8", "8.7.0.84"),
    ("pytorch", "2.5.1", "cuda126_mkl_py312h30b5a27_300", (), "12.6", None),
    ("pytorch", "2.1.0", "cpu_mkl_py310h3ea73d3_100", (), None, None),
    ("pytorch", "1.13.0", "gpu_py_0", ("pytorch-cuda 11.7.*",), "11.7", "8.5.0.96"),
    ("tensorflow-base", "2.4.1", "gpu_py39h29c2da4_0",
     ("cudatoolkit 10.1.*", "cudnn 7.6.*"), "10.1", "7.6"),
    ("tensorflow-base", "2.10.0", "cuda112py310he87a039_0",
     ("cudatoolkit >=11.2,<12", "cudnn >=8.4.1.50,<9.0a0"), "11.2", "8.4.1.50"),
    ("tensorflow-base", "2.4.1", "mkl_py39h43e0292_0", (), None, None),
    ("tensorflow-base", "2.10.0", "eigen_py310hc96f1cb_0", (), None, None),
    ("tensorflow-base", "2.15.0", "cpu_py311hd3d7757_2", (), None, None),
    ("tensorflow-base", "2.14.0", "cuda118py310h676c1dd_0", (), "11.8", "8.7"),
    ("tensorflow-base", "2.15.0", "cuda120py311heb1bdc4_2", (), "12.0", None),
    ("pytorch", "1.0.0", "py3.7_cuda9.0.176_cudnn7.4.1_1", (), "9.0.176", "7.4.1"),
    ("pytorch", "0.3.1", "py36_cuda9.1.85_cudnn7.0.5_2", (), "9.1.85", "7.0.5"),
    ("pytorch", "0.4.1", "py37_cuda92_cudnn71_0", (), "9.2", "7.1"),
    ("pytorch", "2.3.0", "gpu_cuda118py311h8b6c3b5_101", (), "11.8", "8.7.0.84"),
    ("pytorch", "2.6.0", "cuda126_generic_py312_h1234567_200", (), "12.6", "9.5.1.17"),
    ("pytorch", "2.6.0", "cpu_generic_py312_h1234567_0", (), None, None),
    ("pytorch-gpu", "2.1.0", "cuda118py310h7b3a9c5_301", (), "11.8", "8.7.0.84"),
    ("jaxlib", "0.4.35", "cuda126py312hd27b167_203", (), "12.6", "9.1"),
    ("jaxlib", "0.4.23", "cpu_py311h46de68d_0", (), None, None),
    ("onnxruntime", "1.17.1", "py310h2494dd2_0_cpu", (), None, None),
    ("jaxlib", "0.4.14", "cuda112py310hf679b68_0", ("cudnn >=8.8,<9",), "11.2", "8.8"),
    ("jaxlib", "0.4.23", "cuda120py311h5a49573_202", (), "12.0", "8.9"),
    ("onnxruntime", "1.20.1", "gpu_cuda124py39h05d824c_0", (), "12.4", "9"),
    ("onnxruntime", "1.20.1", "py313h2494dd2_0_cuda",
     ("python", "cuda-version >=12.4,<13", "cudnn >=9.1,<10.0a0", "__cuda"), "12.4", "9.1"),
]  # fmt: skip


@pytest.mark.parametrize("case", CONDA, ids=lambda case: f"{case[0]}-{case[1]}-{case[2]}")
def test_conda_packages(env, case):
    name, version, build, depends, cuda, cudnn = case
    env.conda(name, version, build, *depends)
    answer = env.resolve()
    assert (answer.cuda, answer.cudnn) == (cuda, cudnn)
    assert answer.bundled is (cuda is not None)
    assert f"conda-meta/{name}-{version}-{build}.json" in answer.frameworks[0].source


@pytest.mark.parametrize(
    ("cuda", "cudnn"),
    [
        ("<=12.8,>=12.4", "!=9.1.1,>=9.1"),
        (">=12.4,<=12.8", ">=9.1, != 9.1.1"),
        (">=12.4, < 13", ">=9.1,<= 9.8"),
    ],
)
def test_an_upper_bound_or_an_excluded_release_is_no_pin(env, cuda, cudnn):
    env.conda("onnxruntime", "1.20.1", "py313_0_cuda", f"cuda-version {cuda}", f"cudnn {cudnn}")
    answer = env.resolve()
    assert (answer.cuda, answer.cudnn) == ("12.4", "9.1")


@pytest.mark.parametrize(
    ("version", "build", "prefix", "chosen"),
    [
        ("0.4.7", "cuda112py310hea5a6c7_0", "11.2", "11.2.152"),
        ("0.5.2", "cuda126py311hfd93a6e_0", "12.8", "12.8.93"),
    ],
)
def test_the_bounds_of_googles_wheels_do_not_hold_for_conda_forges_jax(
    env, version, build, prefix, chosen
):
    env.conda("jaxlib", version, build)
    env.conda("cuda-version", prefix, "h1_3")
    kits = ["11.2.152", "11.8.89", "12.1.105", "12.5.82", "12.8.93"]
    answer = resolve(facts_of(env.prefix, driver=NEW_DRIVER), [toolkit(it) for it in kits])
    assert answer.toolkit == chosen


def test_a_conda_package_is_found_once_though_it_has_a_dist_info_too(env):
    env.conda("pytorch", "2.1.0", "py3.10_cuda12.1_cudnn8.9.2_0")
    env.torch("2.1.0", "12.1")
    answer = env.resolve()
    assert len(answer.frameworks) == 1
    assert (answer.cuda, answer.cudnn) == ("12.1", "8.9.2")


def test_a_package_of_conda_forge_has_its_build_in_its_version(env):
    env.conda(
        "pytorch",
        "2.0.0",
        "cuda118py310he342708_200",
        "cudatoolkit >=11.8,<12",
        "cudnn >=8.8.0.121",
    )
    env.dist("torch", "2.0.0.post200")
    env.file("torch/version.py", "__version__ = '2.0.0.post200'\ncuda = '11.8'\n")
    answer = env.resolve(cc="3.5")
    assert (answer.cuda, answer.cudnn, answer.bundled) == ("11.8", "8.8.0.121", True)
    assert any("as a conda package" in reason.text for reason in answer.reasons)


def test_another_post_release_over_conda_is_pip(env):
    env.conda("paddlepaddle-gpu", "2.4.2", "py38_gpu_cuda10.2_many_linux", "cudatoolkit 10.2.*")
    env.dist("paddlepaddle-gpu", "2.4.2.post112")
    answer = env.resolve()
    assert (answer.cuda, answer.bundled) == ("11.2", False)


def test_of_two_records_of_a_conda_package_the_newer_counts_and_the_other_is_noted(env):
    env.conda("pytorch", "1.9.1", "py3.8_cuda10.2_cudnn7.6.5_0")
    env.conda("pytorch", "1.12.1", "py3.8_cuda11.3_cudnn8.3.2_0")
    env.conda("cudatoolkit", "9.2.148", "h1_0")
    env.conda("cudatoolkit", "11.3.1", "h2_0")
    answer = env.resolve()
    assert [(it.version, it.cuda) for it in answer.frameworks] == [("1.12.1", "11.3")]
    noted = {reason.source: reason.text for reason in answer.reasons if "second" in reason.text}
    older = {
        "conda-meta/pytorch-1.9.1-py3.8_cuda10.2_cudnn7.6.5_0.json": "is a second record of"
        " pytorch, beside pytorch-1.12.1-py3.8_cuda11.3_cudnn8.3.2_0.json",
        "conda-meta/cudatoolkit-9.2.148-h1_0.json": "is a second record of cudatoolkit,"
        " beside cudatoolkit-11.3.1-h2_0.json",
    }
    assert noted == {record: f"`{record}` {text}" for record, text in older.items()}


def test_pip_over_conda_is_pip(env):
    env.conda("pytorch", "2.0.0", "py3.10_cpu_0")
    env.torch("2.1.0+cu121", "12.1")
    assert env.resolve().cuda == "12.1"


@pytest.mark.parametrize(
    ("installer", "conda"), [("pip\n", False), ("uv", False), ("conda\n", True), (None, True)]
)
def test_a_local_version_that_pip_put_over_the_same_release_is_pips(env, installer, conda):
    env.conda("pytorch", "2.5.1", "cpu_mkl_py312_heeca0f5_108")
    record = env.dist("torch", "2.5.1+cu124")
    env.file("torch/version.py", "__version__ = '2.5.1+cu124'\ncuda = '12.4'\n")
    if installer:
        (record.parent / "INSTALLER").write_text(installer)
    answer = env.resolve()
    assert (answer.cuda, answer.bundled) == ("12.4", True)
    assert any("as a conda package" in reason.text for reason in answer.reasons) is conda


@pytest.mark.parametrize(("installer", "conda"), [("pip\n", False), ("conda\n", True)])
def test_a_plugin_that_pip_put_beside_condas_jaxlib_is_pips(env, installer, conda):
    env.conda("jaxlib", "0.8.0", "cpu_py38h1_0")
    env.dist("jaxlib", "0.8.0")
    plugin = env.dist("jax-cuda12-plugin", "0.8.0")
    (plugin.parent / "INSTALLER").write_text(installer)
    answer = env.resolve()
    assert (answer.cuda, answer.bundled) == ("12", conda)
    env.dist("nvidia-cuda-runtime-cu12", "12.9.79")
    env.dist("nvidia-cudnn-cu12", "9.28.0.42")
    answer = env.resolve()
    assert answer.bundled
    assert any("as a conda package" in reason.text for reason in answer.reasons) is conda


def test_condas_record_of_another_release_does_not_make_pips_package_condas(env):
    env.conda("tensorflow-base", "2.4.1", "gpu_py39h29c2da4_0", "cudatoolkit 10.1.*")
    env.dist("tensorflow", "2.10.1")
    answer = env.resolve()
    assert (answer.cuda, answer.bundled) == ("11.2", False)


def test_pip_tensorflow_in_a_prefix_with_condas_cuda(env):
    env.dist("tensorflow", "2.10.1")
    env.file("tensorflow/python/platform/build_info.py", build_info(ORDERED, "11.2", "8"))
    env.conda("cudatoolkit", "11.2.2", "hbe64b41_10")
    assert env.resolve().bundled is False
    env.conda("cudnn", "8.1.0.77", "h90431f1_0")
    answer = env.resolve()
    assert answer.bundled is True
    assert any("cudatoolkit 11.2.2 and cudnn 8.1.0.77" in it.text for it in answer.reasons)


def test_a_cupy_beside_conda_s_cuda_runs_without_the_cudnn_that_it_may_use(env):
    env.dist("cupy-cuda11x", "13.6.0")
    env.file("cupy/.data/_wheel.json", '{"cuda": "11.x", "cudnn": {"version": "8.8.1"}}')
    env.conda("cudatoolkit", "11.8.0", "h4ba93d1_13")
    answer = env.resolve()
    assert (answer.cuda, answer.cudnn, answer.bundled) == ("11", None, True)


@pytest.fixture
def beside_conda(env, monkeypatch):
    """TensorFlow by pip with conda's cudatoolkit, as in TensorFlow's guide up to 2.12."""
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    env.dist("tensorflow", "2.10.0")
    env.conda("cudatoolkit", "11.2.2", "hbe64b41_10")
    env.conda("cudnn", "8.1.0.77", "h90431f1_0")
    return env


def test_pip_tensorflow_finds_condas_cuda_by_ld_library_path_alone(beside_conda):
    answer, lib = beside_conda.resolve(), f"{beside_conda.prefix}/lib"
    assert f"looks in `{lib}` only by LD_LIBRARY_PATH" in answer.caution
    assert any("tensorflow#52988" in reason.source for reason in answer.reasons)
    assert f"LD_LIBRARY_PATH='{lib}'" in answer.hint
    assert "cuDNN 8.1.0.77, once LD_LIBRARY_PATH leads there" in explain(answer).splitlines()[0]
    assert beside_conda.resolve(platform="win-64").caution is None


def test_on_windows_no_list_leads_condas_cuda_to_the_cudnn_of_a_wheel(env, monkeypatch):
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    env.dist("onnxruntime-gpu", "1.16.3")
    env.conda("cudatoolkit", "11.8.0", "h4ba93d1_13")
    env.dist("nvidia-cudnn-cu11", "8.9.4.25")
    assert [env.resolve(platform=each).bundled for each in ("linux-64", "win-64")] == [True, False]


LEADING = {
    "etc/conda/activate.d/env_vars.sh": "LD_LIBRARY_PATH=$LD_LIBRARY_PATH:$CONDA_PREFIX/lib/",
    "etc/conda/activate.d/a.sh": 'export LD_LIBRARY_PATH="{at}/lib:$LD_LIBRARY_PATH"',
    "conda-meta/state": '{{"env_vars": {{"LD_LIBRARY_PATH": "/opt/lib:{at}/lib"}}}}',
}


@pytest.mark.parametrize("file", LEADING)
def test_what_leads_there(beside_conda, file):
    text = LEADING[file]
    beside_conda.write(file, text.format(at=beside_conda.prefix) if "{at}" in text else text)
    assert beside_conda.resolve().caution is None


@pytest.mark.parametrize("file", [file for file, text in LEADING.items() if "{at}" in text])
def test_what_leads_to_the_folder_that_the_environment_is_a_link_to(beside_conda, tmp_path, file):
    real = beside_conda.prefix
    beside_conda.write(file, LEADING[file].format(at=real))
    beside_conda.prefix = tmp_path / "a link"
    beside_conda.prefix.symlink_to(real)
    assert beside_conda.resolve().caution is None


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("etc/conda/activate.d/a.sh", "export LD_LIBRARY_PATH=$CONDA_PREFIX/library"),
        ("etc/conda/activate.d/a.sh", "export LD_LIBRARY_PATH=/opt/lib PATH=$CONDA/lib"),
        ("etc/conda/activate.d/a.txt", "export LD_LIBRARY_PATH=$CONDA_PREFIX/lib"),
        ("conda-meta/state", '{"env_vars": {"LD_LIBRARY_PATH": ["lib"]}}'),
    ],
)
def test_what_does_not_lead_there(beside_conda, file, text):
    beside_conda.write(file, text)
    assert beside_conda.resolve().caution


@pytest.fixture
def by_the_guide(env, monkeypatch):
    """TensorFlow 2.12 with conda's cudatoolkit and cuDNN by pip, as in TensorFlow's guide."""
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    env.dist("tensorflow", "2.12.0")
    env.file("tensorflow/python/platform/build_info.py", build_info(ORDERED, "11.8", "8"))
    env.conda("cudatoolkit", "11.8.0", "h4ba93d1_13")
    env.dist("nvidia-cudnn-cu11", "8.6.0.163")
    return env


CUDNN_PATH = (
    'CUDNN_PATH=$(dirname $(python -c "import nvidia.cudnn;print(nvidia.cudnn.__file__)"))\n'
)
LIB, WHEEL = "{at}/lib", f"{{at}}/{SITE}/nvidia/cudnn/lib"


@pytest.mark.parametrize(
    ("text", "dark"),
    [
        (f"{CUDNN_PATH}export LD_LIBRARY_PATH=$LD_LIBRARY_PATH:$CONDA_PREFIX/lib/:$CUDNN_PATH/lib",
         []),
        (f"{CUDNN_PATH}export LD_LIBRARY_PATH=${{CUDNN_PATH}}/lib:$CONDA_PREFIX/lib", []),
        (f"export LD_LIBRARY_PATH=$CONDA_PREFIX/lib:$CONDA_PREFIX/{SITE}/nvidia/cudnn/lib", []),
        (f"{CUDNN_PATH}export LD_LIBRARY_PATH=$CONDA_PREFIX/lib:$CUDNN_PATHS/lib", [WHEEL]),
        ("export LD_LIBRARY_PATH=$CONDA_PREFIX/lib:$CUDNN_PATH/lib", [WHEEL]),
        (f"{CUDNN_PATH}export LD_LIBRARY_PATH=$CUDNN_PATH/lib", [LIB]),
        ("", [LIB, WHEEL]),
    ],
)  # fmt: skip
def test_the_cudnn_of_a_wheel_serves_where_a_path_leads_to_it(by_the_guide, text, dark):
    by_the_guide.write("etc/conda/activate.d/env_vars.sh", text)
    answer, at = by_the_guide.resolve(), by_the_guide.prefix
    first = "runs on its own CUDA 11.8.0 and cuDNN 8.6.0.163"
    assert explain(answer).startswith(f"{first}, once" if dark else f"{first};")
    assert bool(answer.caution) is bool(dark)
    if dark:
        folders = " and ".join(f"`{folder.format(at=at)}`" for folder in dark)
        they = "those folders" if len(dark) > 1 else "that folder"
        says = f"it looks in {folders} only by LD_LIBRARY_PATH, and nothing puts {they} there"
        assert answer.caution == f"TensorFlow 2.12.0: {says}"
    if dark == [LIB, WHEEL]:
        assert f"LD_LIBRARY_PATH='{':'.join(dark).format(at=at)}'`" in answer.hint


def test_a_shell_that_has_both(by_the_guide, monkeypatch):
    both = f"{LIB}:{WHEEL}".format(at=by_the_guide.prefix)
    monkeypatch.setenv("LD_LIBRARY_PATH", both)
    assert by_the_guide.resolve().caution is None


def test_a_tensorflow_that_looks_for_wheels_needs_a_path_to_condas_part_alone(env, monkeypatch):
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    env.dist("tensorflow", "2.14.1")
    env.conda("cudatoolkit", "11.8.0", "h4ba93d1_13")
    env.dist("nvidia-cudnn-cu11", "8.7.0.84")
    answer = env.resolve()
    assert answer.bundled
    assert f"looks in `{env.prefix}/lib` only by LD_LIBRARY_PATH" in answer.caution


def test_a_cudnn_of_a_wheel_for_another_cuda_serves_nobody(env):
    env.dist("tensorflow", "2.15.1")
    env.conda("cuda-cudart", "12.2.140", "h1_0")
    env.dist("nvidia-cudnn-cu11", "8.9.4.25")
    assert env.resolve().bundled is False
    env.dist("nvidia-cudnn-cu12", "8.9.4.25")
    assert env.resolve().bundled


def test_a_shell_that_has_it_already(beside_conda, monkeypatch):
    monkeypatch.setenv("LD_LIBRARY_PATH", f"/opt/lib:{beside_conda.prefix}/lib/")
    assert beside_conda.resolve().caution is None


def test_wheels_beside_it_and_releases_before_2_7_need_no_path(beside_conda):
    beside_conda.dist("tensorflow-gpu", "2.6.2")
    assert beside_conda.resolve().caution is None
    beside_conda.dist("tensorflow-gpu", "2.14.1")
    beside_conda.conda("cudatoolkit", "11.8.0", "0")
    beside_conda.conda("cudnn", "8.9", "0")
    assert beside_conda.resolve().caution
    beside_conda.dist("nvidia-cuda-runtime-cu11", "11.8.89")
    beside_conda.dist("nvidia-cudnn-cu11", "8.7.0.84")
    assert beside_conda.resolve().caution is None


@pytest.mark.parametrize(
    ("version", "cuda", "cudnn", "by_path"),
    [
        ("1.17.1", "11.8.0", "8.9.7.29", False),
        ("1.18.1", "11.8.0", "8.9.7.29", True),
        ("1.19.2", "12.4.127", "9.3.0.75", True),
        ("1.20.2", "12.4.127", "9.3.0.75", False),
    ],
)
def test_onnx_runtimes_with_a_runpath_find_it_by_path_too(env, version, cuda, cudnn, by_path):
    env.dist("onnxruntime-gpu", version)
    env.conda("cudatoolkit" if cuda < "12" else "cuda-cudart", cuda, "h4ba93d1_13")
    env.conda("cudnn", cudnn, "h092f7fd_3")
    answer, lib = env.resolve(), f"{env.prefix}/lib"
    assert answer.bundled
    assert bool(answer.caution and f"looks in `{lib}` only by" in answer.caution) is by_path
    env.write("etc/conda/activate.d/a.sh", 'export LD_LIBRARY_PATH="$CONDA_PREFIX/lib"')
    assert env.resolve().caution is None


def test_an_old_framework_needs_its_own_release_of_condas_cuda(env):
    env.dist("tensorflow", "2.1.0")
    env.conda("cudatoolkit", "10.2.89", "hfd86e86_1")
    env.conda("cudnn", "7.6.5", "cuda10.2_0")
    assert env.resolve().bundled is False


def brought(env, record, version, nvcc="bin/nvcc"):
    """Let conda, or one of NVIDIA's wheels, bring an nvcc."""
    if nvcc == "bin/nvcc":
        env.conda(record, version, "h1_0")
    else:
        env.dist(record, version)
    executable(env.prefix / nvcc)


@pytest.mark.parametrize(
    ("record", "version", "cuda"),
    [("cuda-nvcc", "12.6.85", "12.6"), ("cuda-nvcc-tools", "12.8.61", "12.8")],
)
def test_extensions_are_built_with_the_nvcc_of_the_environment(env, record, version, cuda):
    env.conda("pytorch", "2.6.0", "cuda126_generic_py313_h1_200", "cuda-version >=12.6,<13")
    env.conda("cuda-version", "12.6", "h1_3")
    env.conda("cuda-cudart", "12.6.77", "h1_0")
    env.conda("libcudnn", "9.8.0.87", "h1_0")
    before = env.resolve()
    assert "to build extensions: CUDA 12.6 (not installed)" in explain(before)
    brought(env, record, version)
    answer = env.resolve()
    line = explain(answer).splitlines()[0]
    assert line.endswith(f"; to build extensions: its own nvcc, of CUDA {cuda}")
    assert (answer.toolkit, answer.hint) == (None, None)
    assert any(record in reason.source for reason in answer.reasons)
    (env.prefix / "bin/nvcc").unlink()
    assert env.resolve() == before


@pytest.mark.parametrize("version", ["12.4.131", "11.8.89", "13.0.88"])
def test_not_with_one_of_another_release(env, version):
    env.conda("pytorch", "2.6.0", "cuda126_generic_py313_h1_200", "cuda-version >=12.6,<13")
    env.conda("cuda-version", "12.6", "h1_3")
    env.conda("cuda-cudart", "12.6.77", "h1_0")
    brought(env, "cuda-nvcc", version)
    assert "to build extensions: CUDA 12.6 (not installed)" in explain(env.resolve())


def test_not_with_the_nvcc_of_wheels(env):
    """They have neither lib64 nor libcudart.so: what it compiles does not link."""
    env.torch("2.9.0+cu130", "13.0", "nvidia-cuda-runtime==13.0.48")
    env.dist("nvidia-cuda-runtime", "13.0.48")
    env.dist("nvidia-cudnn-cu13", "9.13.0.50")
    home = env.prefix / env.site / "nvidia/cu13"
    brought(env, "nvidia-cuda-nvcc", "13.0.48", f"{env.site}/nvidia/cu13/bin/nvcc")
    answer = env.resolve()
    text = explain(answer)
    assert "to build extensions: CUDA 13.0 (not installed)" in text
    assert f"the nvcc in `{home}` lacks lib64" in text
    assert answer.hint == "cudaswitch install 13.0"

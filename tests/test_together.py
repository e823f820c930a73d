"""Several frameworks in one environment, and an environment that sees another's packages."""

from __future__ import annotations

import pytest

from cudaswitch.bundled import bundles_cuda
from cudaswitch.resolver import resolve
from handmade import facts, found, toolkit
from made_environments import SITE, Env

# Frameworks that use the CUDA of another one.


def test_xformers_uses_what_torch_uses(env):
    env.torch("2.10.0+cu128", "12.8")
    env.dist("xformers", "0.0.35")
    env.file("xformers/cpp_lib.json", '{"version": {"cuda": 1208, "torch": "2.10.0+cu128"}}')
    answer = env.resolve()
    assert [(it.name, it.cuda, it.bundled) for it in answer.frameworks] == [
        ("torch", "12.8", True),
        ("xformers", "12.8", True),
    ]
    assert not any("install the two for one CUDA" in reason.text for reason in answer.reasons)


def test_a_follower_brings_its_cuda_if_its_leader_does(env):
    env.dist("torch", "2.1.0a0+git7bcf7da")
    env.file("torch/version.py", "__version__ = '2.1.0a0+git7bcf7da'\ncuda = '12.2'\n")
    env.dist("xformers", "0.0.23")
    assert [(it.cuda, it.bundled) for it in env.resolve().frameworks] == [("12.2", False)] * 2


def test_xformers_for_another_cuda_than_torch_is_told(env):
    env.torch("2.3.1+cu118", "11.8")
    env.dist("xformers", "0.0.27")
    env.file("xformers/cpp_lib.json", '{"version": {"cuda": 1201, "torch": "2.3.1+cu121"}}')
    answer = env.resolve()
    assert (answer.cuda, answer.cudnn) == ("11.8", "8.7.0.84")
    assert any("built for CUDA 12.1" in reason.text for reason in answer.reasons)


def test_xformers_for_another_minor_than_torch_loads_all_the_same(env):
    env.torch("2.10.0+cu126", "12.6")
    env.dist("xformers", "0.0.35")
    env.file("xformers/cpp_lib.json", '{"version": {"cuda": 1208, "torch": "2.10.0+cu128"}}')
    assert not any("built for CUDA 12.8" in reason.text for reason in env.resolve().reasons)


@pytest.mark.parametrize(("cuda", "told"), [("12.4", False), ("12.8", True)])
def test_bitsandbytes_has_a_library_for_each_cuda(env, cuda, told):
    env.torch(f"2.99.0+cu{cuda.replace('.', '')}", cuda)
    env.dist("bitsandbytes", "0.43.3")
    for number in ("118", "121", "124"):
        env.file(f"bitsandbytes/libbitsandbytes_cuda{number}.so")
    env.file("bitsandbytes/libbitsandbytes_cpu.so")
    answer = env.resolve()
    assert answer.cuda == cuda
    assert any("built for CUDA 11.8 or 12.1 or 12.4" in it.text for it in answer.reasons) is told


def test_a_follower_without_its_leader_needs_nothing(env):
    env.dist("bitsandbytes", "0.43.3")
    env.file("bitsandbytes/libbitsandbytes_cuda118.so")
    env.file("bitsandbytes/libbitsandbytes_cuda124.so")
    env.dist("vllm", "0.11.0")
    answer = env.resolve()
    assert (answer.cuda, answer.runs) == (None, True)
    assert any("the CUDA of PyTorch, which is not here" in it.text for it in answer.reasons)


def test_vllm_uses_what_torch_uses(env):
    env.torch("2.8.0+cu128", "12.8", "nvidia-cudnn-cu12==9.10.2.21")
    env.dist("vllm", "0.11.0", "torch==2.8.0")
    answer = env.resolve()
    assert (answer.cuda, answer.cudnn, answer.bundled) == ("12.8", "9.10.2.21", True)


@pytest.mark.parametrize(
    ("dist", "built", "says"),
    [
        ("torchvision 0.29.2", "+cu132", None),
        ("torchvision 0.29.2", "+cu130", None),
        ("torchvision 0.25.0", "+cu128", "it is built for CUDA 12.8, and PyTorch 2.15.0 for 13.2"),
        ("torchvision 0.15.2", "+cu130", "it is built for CUDA 13.0, and PyTorch 2.15.0 for 13.2"),
        ("torchvision 0.25.0", "+cpu", None),
        ("torchaudio 2.11.0", "+cu130", "it is built for CUDA 13.0, and PyTorch 2.15.0 for 13.2"),
        ("torchaudio 2.11.0", "+cu132", None),
        ("torchaudio 2.11.1", "+cu130", None),
        ("torchaudio 2.11.1", "+cu128", "it is built for CUDA 12.8, and PyTorch 2.15.0 for 13.2"),
    ],
)
def test_companions_of_torch_are_for_its_cuda(env, dist, built, says):
    env.torch("2.15.0+cu132", "13.2", "nvidia-cudnn-cu13==9.26.0.51")
    name, version = dist.split()
    env.dist(name, version)
    env.file(f"{name}/version.py", f"__version__ = '{version}{built}'\ngit_version = 'abc'\n")
    answer = env.resolve()
    assert (answer.cuda, answer.bundled) == ("13.2", True)
    told = [it.text for it in answer.reasons if "install the two for one CUDA" in it.text]
    assert [says in text for text in told] == ([True] if says else [])


@pytest.mark.parametrize(
    ("torch", "cuda", "says"),
    [
        ("2.9.1", "12.8", "a toolkit for PyTorch 2.9.1 builds no extensions of the other"),
        ("2.14.1", "13.0", None),
    ],
)
def test_extensions_build_with_a_toolkit_of_their_own_major(env, torch, cuda, says):
    env.torch(torch, cuda, "nvidia-cudnn-cu13==9.24.0.43")
    env.dist("jax-cuda13-plugin", "0.12.0.1")
    env.dist("nvidia-cuda-runtime", "13.0.96")
    env.dist("nvidia-cudnn-cu13", "9.28.1.4")
    told = [it.text for it in env.resolve().reasons if "each brings its own" in it.text]
    assert [says in text for text in told] == ([True] if says else [])


@pytest.mark.parametrize(
    ("version", "cuda", "told"),
    [("0.49.2", "12.9", True), ("0.50.2", "12.9", False), ("0.50.2", "11.8", True)],
)
def test_a_later_bitsandbytes_takes_a_library_of_the_same_major(env, version, cuda, told):
    env.torch(f"2.7.1+cu{cuda.replace('.', '')}", cuda)
    env.dist("bitsandbytes", version)
    for number in (126, 128, 130):
        env.file(f"bitsandbytes/libbitsandbytes_cuda{number}.so")
    said = [it.text for it in env.resolve().reasons if "install the two for one CUDA" in it.text]
    assert bool(said) is told


@pytest.mark.parametrize(("core", "says"), [("cu12", True), ("cu13", False)])
def test_transformer_engine_is_for_the_cuda_of_torch(env, core, says):
    env.torch("2.14.1+cu130", "13.0", "nvidia-cudnn-cu13==9.24.0.43")
    env.dist(f"transformer-engine-{core}", "2.20.2")
    told = [it.text for it in env.resolve().reasons if "install the two for one CUDA" in it.text]
    assert ["it is built for CUDA 12, and PyTorch" in text for text in told] == [True] * says


def test_numba_uses_the_cuda_of_the_environment(env):
    env.dist("numba", "0.60.0")
    answer = env.resolve()
    assert (answer.cuda, answer.runs) == (None, True)
    assert "from 11.2 to 12" in answer.hint
    env.conda("cudatoolkit", "11.8.0", "h4ba93d1_13")
    answer = env.resolve()
    assert (answer.cuda, answer.cudnn, answer.bundled) == ("11.8", None, True)


def test_a_package_that_only_pins_the_cuda_tells_numba_of_it(env):
    env.conda("numba", "0.60.0", "py38h1234567_0")
    env.conda("cuda-version", "12.6", "h7480c83_3")
    assert env.resolve().cuda == "12.6"


def test_cudnn_alone_is_no_cuda_for_numba(env):
    env.dist("numba", "0.60.0")
    env.dist("nvidia-cudnn-cu12", "9.10.2.21")
    assert env.resolve().cuda is None


@pytest.mark.parametrize(
    ("installed", "such"),
    [
        ([], "`cudaswitch install 12`"),
        (["11.1.1", "13.0.2"], "`cudaswitch install 12`"),
        (["12.4.1", "12.9.1", "13.0.2"], "`cudaswitch use 12.9.1`"),
    ],
)
def test_numba_takes_a_toolkit_that_is_here(installed, such):
    kits = [toolkit(name) for name in installed]
    assert such in resolve(facts(found("numba", "0.61.2", dist="numba")), kits).hint


def test_numba_never_decides_beside_one_that_brings_its_own(env):
    env.torch("2.5.1+cu124", "12.4", "nvidia-cudnn-cu12==9.1.0.70")
    env.dist("numba", "0.60.0")
    env.dist("nvidia-cuda-runtime-cu12", "12.9.79")
    answer = env.resolve()
    assert (answer.cuda, answer.cudnn, answer.bundled) == ("12.4", "9.1.0.70", True)


def test_numba_never_decides_for_a_framework(env):
    env.dist("numba-cuda", "0.30.4")
    env.dist("nvidia-cuda-runtime-cu12", "12.9.79")
    env.dist("tensorflow", "2.10.1")
    answer = env.resolve()
    assert (answer.cuda, answer.cudnn, answer.bundled) == ("11.2", "8.1", False)


# Several frameworks.


def test_one_that_brings_its_own_beside_one_that_needs_a_toolkit_of_the_same_major(env):
    env.torch("2.2.2+cu121", "12.1", "nvidia-cudnn-cu12==8.9.2.26")
    env.dist("tensorflow", "2.15.1")
    answer = env.resolve()
    assert (answer.cuda, answer.cudnn, answer.bundled) == ("12.2", "8.9", False)
    assert any("an environment of its own is safer" in reason.text for reason in answer.reasons)


@pytest.mark.parametrize(
    ("torch", "told"),
    [
        ("2.0.0+cu118", "it loads those"),
        ("2.1.0+cu121", "8.9.2.26 for CUDA 12.1, and both load libcudnn.so.8"),
        ("2.6.0+cu124", None),  # libcudnn.so.9
    ],
)
def test_two_of_one_name_in_one_process(env, torch, told):
    env.dist("tensorflow", "2.10.0")
    env.dist("torch", torch)
    texts = [reason.text for reason in env.resolve().reasons]
    safer = [text for text in texts if "an environment of its own is safer" in text]
    assert [told in text for text in safer] == [True] * (told is not None)


def test_a_toolkit_is_out_of_reach_where_the_environment_brings_cuda(env):
    env.dist("cupy-cuda112", "9.6.0")
    assert env.resolve().caution is None
    env.torch("2.6.0+cu124", "12.4")
    file = env.file("torch/lib/libtorch_cuda.so")
    answer = env.resolve()
    assert (answer.cuda, answer.bundled) == ("11.2", False)
    assert "CuPy 9.6.0 does not find the toolkit" in answer.caution
    told = next(reason for reason in answer.reasons if reason.text == answer.caution)
    assert told.source == file.relative_to(env.prefix).as_posix()
    assert env.resolve(platform="win-64").caution is None
    (env.prefix / env.site / "cupy_cuda112-9.6.0.dist-info/METADATA").unlink()
    (env.prefix / env.site / "cupy_cuda112-9.6.0.dist-info").rmdir()
    assert env.resolve().caution is None


@pytest.mark.parametrize(
    ("cupy", "beside", "found"),
    [
        ("14.2.0", "nvidia-cudnn-cu12 9.10.2.21", True),
        ("14.2.0", "nvidia-cuda-nvrtc-cu12 12.9.86", True),
        ("14.2.0", "nvidia-cuda-nvrtc-cu11 11.8.89", False),  # it takes that for its own
        ("13.6.0", "nvidia-cudnn-cu12 9.10.2.21", False),
    ],
)
def test_a_toolkit_is_within_reach_of_what_looks_below_cuda_home(env, cupy, beside, found):
    env.dist("cupy-cuda12x", cupy)
    env.dist(*beside.split())
    env.file("nvidia/cudnn/lib/libcudnn.so.9")
    answer = env.resolve()
    assert not answer.bundled
    assert (answer.caution is None) is found


def test_only_those_that_do_not_find_the_toolkit_are_told(env):
    env.dist("numba-cuda", "0.30.4")
    env.dist("cuda-bindings", "12.9.5")
    env.file("nvidia/cudnn/lib/libcudnn.so.9")
    answer = env.resolve()
    assert (answer.cuda, answer.bundled, answer.caution) == ("12", False, None)
    env.dist("cupy-cuda12x", "14.2.0")
    env.dist("ctranslate2", "4.8.5")
    assert "left alone, and CTranslate2 4.8.5 does not" in env.resolve().caution


# A virtualenv that sees the packages of its base.


def venv_on(env, base, shared="true", python="3.8.10"):
    home = base.prefix / "bin"
    text = f"home = {home}\ninclude-system-site-packages = {shared}\nversion = {python}\n"
    env.write("pyvenv.cfg", text)


@pytest.mark.parametrize(
    ("site", "shared", "python", "cuda"),
    [
        (SITE, "true", "3.8.10", "11.6"),
        (SITE, "TRUE", "3.8.10", "11.6"),
        (SITE, "false", "3.8.10", None),
        (SITE, "true", "3.11.2", None),  # the base holds another Python too
        ("lib/python3/dist-packages", "true", "3.8.10", "11.6"),
        ("local/lib/python3.8/dist-packages", "true", "3.8.10", "11.6"),
        ("Lib/site-packages", "true", "3.8.10", "11.6"),
    ],
)
def test_system_site_packages(tmp_path, site, shared, python, cuda):
    base, env = Env(tmp_path / "base", site), Env(tmp_path / "env")
    base.dist("torch", "1.12.1+cu116")
    venv_on(env, base, shared, python)
    assert env.resolve(platform="linux-64").cuda == cuda


def test_the_virtualenvs_own_packages_hide_those_of_its_base(tmp_path):
    base, env = Env(tmp_path / "base"), Env(tmp_path / "env")
    base.dist("torch", "1.12.1+cu116")
    base.conda("tensorflow-base", "2.4.1", "gpu_py38h29c2da4_0", "cudatoolkit 10.1.*")
    env.dist("torch", "2.6.0+cu126")
    venv_on(env, base)
    found = {it.name: it.cuda for it in env.resolve().frameworks}
    assert found == {"torch": "12.6", "tensorflow": "10.1"}


@pytest.mark.parametrize("home", ["", "/", "relative/bin", "\x00", "/nowhere/bin"])
def test_a_pyvenv_cfg_that_lies(env, home):
    env.write("pyvenv.cfg", f"home = {home}\ninclude-system-site-packages = true\n")
    env.dist("torch", "2.6.0+cu126")
    assert env.resolve().cuda == "12.6"


def test_a_pyvenv_cfg_without_a_home_is_not_the_working_directory(tmp_path, monkeypatch):
    base, env = Env(tmp_path / "base"), Env(tmp_path / "env")
    base.dist("torch", "1.12.1+cu116")
    env.write("pyvenv.cfg", "home = \ninclude-system-site-packages = true\nversion = 3.8.1\n")
    monkeypatch.chdir(base.prefix)
    assert env.resolve().cuda is None


# What nobody knows is not taken for a build without CUDA.


@pytest.mark.parametrize("dist", ["torch 99.0.0", "tensorflow-gpu 3.0.0", "cupy 13.6.0"])
def test_a_release_that_nothing_knows(env, dist):
    env.dist(*dist.split())
    answer = env.resolve()
    assert (answer.cuda, answer.frameworks[0].known) == (None, False)
    assert "cudaswitch compat" in answer.hint


def test_a_build_without_cuda_is_known(env):
    env.dist("tensorflow-cpu", "2.10.1")
    assert env.resolve().frameworks[0].known is True


# What another Python has left.


@pytest.mark.parametrize(
    ("site", "known", "seen"),
    [
        ("lib/python3.10/site-packages", "conda", True),
        ("lib/python3.10/site-packages", "venv", True),
        ("lib/python3.10/site-packages", "", False),
        ("lib/python3.10t/site-packages", "venv", True),
        ("lib/pypy3.10/site-packages", "conda", True),
    ],
)
def test_packages_of_another_python_do_not_count_where_it_is_known(tmp_path, site, known, seen):
    old, env = Env(tmp_path, "lib/python3.7/site-packages"), Env(tmp_path, site)
    old.dist("tensorflow", "2.2.0")
    env.dist("tensorflow", "2.10.0")
    if known == "conda":
        env.conda("python", "3.10.13", "h955ad1f_0")
    elif known:
        env.write("pyvenv.cfg", "home = /usr/bin\nversion = 3.10.13\n")
    found = [(it.name, it.version) for it in env.resolve().frameworks]
    assert (found == [("tensorflow", "2.10.0")]) is seen


def test_a_link_beside_the_folder_of_its_python(tmp_path):
    env = Env(tmp_path, "lib/python3.10/site-packages")
    (tmp_path / "lib/python3.1").symlink_to("python3.10")
    env.conda("python", "3.10.13", "h955ad1f_0")
    env.dist("tensorflow", "2.10.0")
    assert env.resolve().cuda == "11.2"


def test_packages_of_another_python_count_where_there_are_no_others(env):
    env.write("pyvenv.cfg", "home = /usr/bin\nversion = 3.11.2\n")
    env.dist("tensorflow", "2.10.0")
    assert env.resolve().cuda == "11.2"


# What `pip install --user` has left.


@pytest.fixture
def user(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONUSERBASE", str(tmp_path / "base"))
    base = Env(tmp_path / "base")
    base.dist("torch", "2.4.1+cu121")
    (base.prefix / base.site / "nvidia/cublas/lib").mkdir(parents=True)
    return base


def test_a_conda_environment_sees_the_users_packages_before_its_own(env, user):
    env.conda("pytorch", "2.0.0", "py3.8_cuda11.8_cudnn8.7.0_0")
    answer = env.resolve()
    assert answer.cuda == "12.1"
    assert str(user.prefix) in answer.frameworks[0].source
    assert str(user.prefix) in bundles_cuda(env.prefix)


def test_the_users_packages_are_those_of_the_python_that_a_link_means(tmp_path, monkeypatch):
    # conda-forge's Python has lib/python3.1 beside lib/python3.10 and later.
    monkeypatch.setenv("PYTHONUSERBASE", str(tmp_path / "base"))
    base = Env(tmp_path / "base", "lib/python3.12/site-packages")
    base.file("nvidia/cublas/lib/libcublas.so.12")
    env = Env(tmp_path / "env", "lib/python3.12/site-packages")
    env.conda("python", "3.12.1", "0")
    (env.prefix / "lib/python3.1").symlink_to("python3.12")
    assert str(base.prefix) in bundles_cuda(env.prefix)


def test_a_virtualenv_sees_the_users_packages_only_with_its_bases(tmp_path, env, user):
    venv_on(env, Env(tmp_path / "python"), "false")
    assert env.resolve().cuda is None
    assert bundles_cuda(env.prefix) is None
    venv_on(env, Env(tmp_path / "python 2"), "true")
    assert env.resolve().cuda == "12.1"
    assert str(user.prefix) in bundles_cuda(env.prefix)
    env.dist("torch", "2.6.0+cu126")
    assert env.resolve().cuda == "12.6"


def test_the_users_packages_count_for_the_same_python_only_and_can_be_ruled_out(
    tmp_path, env, user, monkeypatch
):
    env.conda("numba", "0.53", "py38_0")
    other = Env(tmp_path / "other", "lib/python3.11/site-packages")
    other.conda("numba", "0.53", "py311_0")
    assert bundles_cuda(env.prefix)
    assert bundles_cuda(other.prefix) is None
    monkeypatch.setenv("PYTHONNOUSERSITE", "1")
    assert bundles_cuda(env.prefix) is None
    assert [it.name for it in env.resolve().frameworks] == ["numba"]


def test_a_virtualenv_brings_the_cuda_of_a_base_that_it_sees(tmp_path, env):
    base = Env(tmp_path / "base")
    base.conda("cudatoolkit", "10.1.243", "h6bb024c_0")
    venv_on(env, base, "false")
    assert bundles_cuda(env.prefix) is None
    venv_on(env, base)
    assert bundles_cuda(env.prefix) == str(
        base.prefix / "conda-meta/cudatoolkit-10.1.243-h6bb024c_0.json"
    )


@pytest.mark.parametrize(
    ("site", "python", "bundled"),
    [(SITE, "3.8.10", True), (SITE, "3.11.2", False), ("lib/python3/dist-packages", "3.8", True)],
)
def test_a_virtualenv_brings_the_wheels_of_its_bases_python(tmp_path, env, site, python, bundled):
    base = Env(tmp_path / "base", site)
    base.file("nvidia/cublas/lib/libcublas.so.12")
    venv_on(env, base, "true", python)
    assert (bundles_cuda(env.prefix) is not None) is bundled

"""A toolkit that is needed only to build extensions: one with nvcc, or what brings one."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import adoptable
import builders
from builders.redist import redist_index
from checks import succeeded
from cudaswitch.detect.facts import facts_of
from cudaswitch.detect.toolkits import absent
from cudaswitch.resolver import Carried, OwnNvcc, resolve
from cudaswitch.resolver.explain import explain
from handmade import facts, found, toolkit, torch
from homes import Home
from made_environments import NEW_DRIVER, Env
from tools import only_linux_64

TELL = ("sh", "-c", 'echo "$CUDA_HOME"')


def without(*names: str):
    """Answer that these toolkits have no nvcc."""
    return lambda kit, parts: parts if kit.name in names else ()


def test_one_with_nvcc_goes_before_the_exact_release() -> None:
    kits = [toolkit(name) for name in ("12.4.1", "12.6.3", "12.9.1")]
    answer = resolve(facts(torch("2.5.1", "12.4")), kits, absent=without("12.4.1", "12.9.1"))
    assert (answer.toolkit, answer.hint, answer.caution) == (
        "12.6.3", "cudaswitch use 12.6.3", None,
    )  # fmt: skip
    whys = {each.toolkit: each.why for each in answer.rejected}
    assert whys == {"12.4.1": "lacks nvcc", "12.9.1": "lacks nvcc"}


@pytest.mark.parametrize(
    ("cuda", "kit", "platform", "options"),
    [
        ("12.4", "12.4.1", "linux-64", " --force"),
        ("11.8", "11.8.0", "linux-64", " --force"),
        # The source that `install` asks by itself has no nvcc of these releases.
        ("11.3", "11.3.1", "linux-64", " --from runfile --force"),
        ("10.1", "10.1.243", "linux-64", " --from runfile --force"),
        ("10.1", None, "linux-64", " --from runfile"),
        ("10.1", None, "win-64", " --platform win-64"),
    ],
)
def test_the_hint_brings_nvcc(cuda, kit, platform, options) -> None:
    kits = [toolkit(kit)] if kit else []
    env = facts(torch("1.12.1", cuda), platform=platform)
    answer = resolve(env, kits, absent=without(kit))
    assert answer.hint == f"cudaswitch install {cuda}{options}"
    assert answer.toolkit == kit
    first, *rest = explain(answer).splitlines()
    assert f"to build extensions: {answer.hint}" in rest
    if kit:
        assert first.endswith(f"; to build extensions: {kit}, which lacks nvcc")
        assert answer.caution == f"{kit} lacks nvcc, which builds extensions"
        assert answer.absent == ("nvcc",)


def test_conda_s_nvcc_makes_up_for_it_and_that_of_wheels_does_not() -> None:
    own = OwnNvcc("12.4", "/env/nvidia/cu12", "record", builds=False)
    env = facts(torch("2.5.1", "12.4"), compiler=own)
    answer = resolve(env, [toolkit("12.4.1")], absent=without("12.4.1"))
    assert answer.hint == "cudaswitch install 12.4 --force"
    # Where conda's nvcc builds, nobody looks for that of a toolkit.
    env = env._replace(compiler=own._replace(builds=True))
    answer = resolve(env, [toolkit("12.4.1")], absent=without("12.4.1"))
    assert (answer.toolkit, answer.absent, answer.hint) == (None, (), None)


RUNTIME = Carried("cuda", "dist", "nvidia-cuda-runtime-cu12", "12.9.79", "12.9.79", "record")


@pytest.mark.parametrize("carried", [(), (RUNTIME,)], ids=["none", "a part"])
def test_who_runs_on_a_toolkit_is_not_told_of_nvcc(carried) -> None:
    asked = []
    cupy = facts(found("cupy", "14.2.0", "12", dist="cupy-cuda12x"), carried=carried)
    resolve(cupy, [toolkit("12.4.1")], absent=lambda kit, parts: asked.extend(parts) or ())
    assert "nvrtc" in asked and "nvcc" not in asked


def test_a_build_that_is_in_no_index_may_be_of_a_release_that_is() -> None:
    assert resolve(facts(torch("1.12.1", "11.4.0")), []).hint == "cudaswitch install 11.4"


def test_what_it_cannot_run_without_is_told_before_nvcc(env: Env) -> None:
    env.torch("2.9.1+cu128", "12.8", "nvidia-cudnn-cu12==9.10.2.21; platform_system == 'Linux'")
    answer = resolve(
        facts_of(env.prefix, driver=NEW_DRIVER), [toolkit("12.8.1")], absent=without("12.8.1")
    )
    assert (answer.toolkit, answer.absent) == ("12.8.1", ("nvcc",))
    assert "which it takes cuDNN from, is missing" in (answer.caution or "")


@pytest.mark.parametrize(
    ("platform", "file", "missing"),
    [
        ("linux-64", "bin/nvcc", ()),
        ("linux-64", "bin/ptxas", ("nvcc",)),
        ("win-64", "bin/nvcc.exe", ()),
        ("win-64", "Library/bin/nvcc.exe", ()),
        ("win-64", "bin/ptxas.exe", ("nvcc",)),
    ],
)
def test_where_nvcc_is(tmp_path, platform, file, missing) -> None:
    """nvcc is looked for in `bin`, even where libraries are elsewhere, as in Debian's toolkit."""
    adoptable.write(tmp_path / file, "")
    kit = toolkit("12.4.1", platform)._replace(path=str(tmp_path))
    assert absent(kit, ("cublas", "nvcc")) == missing


@pytest.mark.parametrize("folder", ["lib64", "extras/CUPTI/lib64", "extras/Sanitizer"])
def test_where_cupti_is(tmp_path: Path, folder: str) -> None:
    """NVIDIA's installers put it into a folder of its own, which goes into LD_LIBRARY_PATH too."""
    adoptable.write(tmp_path / "lib64/libcudart.so.12", "")
    adoptable.write(tmp_path / folder / "libcupti.so.12", "")
    kit = toolkit("12.4.1")._replace(path=str(tmp_path))
    missing = () if folder.endswith("lib64") else ("libcupti.so.12",)
    assert absent(kit, ("cupti",)) == missing


@pytest.fixture
def bundled(tmp_path: Path) -> Env:
    env = Env(tmp_path / "an env")
    env.write("pyvenv.cfg", "home = /usr/bin\n")
    env.write("bin/activate", "")
    env.torch("2.5.1+cu124", "12.4")
    env.file("torch/lib/libtorch_cuda.so")
    return env


@pytest.fixture
def nvidia(tmp_path: Path) -> str:
    archives = []
    for name, version, file in (
        ("cuda_cudart", "12.4.127", "lib/libcudart.so.12"),
        ("cuda_nvcc", "12.4.131", "bin/nvcc"),
    ):
        top = f"{name}-linux-x86_64-{version}-archive"
        tree = {file: builders.elf_bytes(Path(file).name, {"f": 1})}
        archives.append(builders.tar_archive(tmp_path / f"made/{top}.tar.xz", top, tree))
    redist_index(tmp_path / "nvidia", "cuda", "12.4.1", archives)
    return (tmp_path / "nvidia").as_uri()


@only_linux_64
def test_a_toolkit_of_libraries_is_told_and_gets_nvcc(
    home: Home, bundled: Env, nvidia: str
) -> None:
    there = {"VIRTUAL_ENV": str(bundled.prefix), "CUDASWITCH_DRIVER": "580.65.06"}
    kit, lacks = home.store / "toolkits/12.4.1", "12.4.1 lacks nvcc, which builds extensions"
    some = ("--from", "nvidia", "--components", "cudart")
    succeeded(home.run("install", "12.4", *some, CUDASWITCH_NVIDIA_URL=nvidia))
    done = home.run("exec", "auto", "--", *TELL, **there)
    assert succeeded(done) == [str(kit)]
    assert done.stderr == f"cudaswitch: {lacks}\nhint: cudaswitch install 12.4 --force\n"
    assert f"{lacks}\n" in home.run("pin", "auto", **there).stderr
    # The toolkit runs as it is, so no network is needed and no choice of components is undone.
    for options in ([], ["--offline"], ["--from", "pypi"], ["--components", "cudart"]):
        done = home.run("install", "auto", *options, CUDASWITCH_NVIDIA_URL="file:///no", **there)
        assert succeeded(done) == ["12.4.1"]
        assert "12.4.1 lacks nvcc\nhint: cudaswitch install 12.4 --force\n" in done.stderr
    succeeded(home.run("install", "12.4", "--force", **there, CUDASWITCH_NVIDIA_URL=nvidia))
    assert (kit / "bin/nvcc").exists()
    assert home.run("exec", "auto", "--", *TELL, **there).stderr == ""


@only_linux_64
def test_an_adopted_one_with_nvcc_is_taken(
    home: Home, bundled: Env, nvidia: str, tmp_path: Path
) -> None:
    there = {"VIRTUAL_ENV": str(bundled.prefix), "CUDASWITCH_NVIDIA_URL": nvidia}
    there["CUDASWITCH_DRIVER"] = "580.65.06"
    adopted = adoptable.smallest(tmp_path / "cuda-12.4", "12.4.0")
    succeeded(home.run("adopt", adopted))
    succeeded(home.run("install", "12.4.1", "--components", "cudart", **there))
    done = home.run("exec", "auto", "--", *TELL, **there)
    assert (succeeded(done), done.stderr) == ([str(adopted)], "")
    assert "  - 12.4.1 lacks nvcc" in succeeded(home.run("resolve", **there))
    assert succeeded(home.run("install", "auto", **there)) == ["12.4.0"]


def test_the_nvcc_of_old_releases_is_in_runfiles(stocked: Home, bundled: Env) -> None:
    shutil.rmtree(bundled.prefix / bundled.site)
    bundled.torch("1.7.1+cu101", "10.1")
    bundled.file("torch/lib/libtorch_cuda.so")
    there = {"VIRTUAL_ENV": str(bundled.prefix), "CUDASWITCH_DRIVER": "580.65.06"}
    done = stocked.run("install", "auto", CUDASWITCH_CHANNELS="file:///nowhere", **there)
    assert succeeded(done) == ["10.1.243+cudnn7.6.5"]
    assert done.stderr == (
        "cudaswitch: 10.1.243+cudnn7.6.5 lacks nvcc\n"
        "hint: cudaswitch install 10.1 --from runfile --force\n"
    )

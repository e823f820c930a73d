"""What the tests are made with is what it claims to be, as other programs judge it."""

from __future__ import annotations

import asyncio
import ctypes
import json
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
import rattler

import builders
from builders import File, Link, Writes


def load_number(library: Path, function: str) -> int:
    return int(getattr(ctypes.CDLL(str(library)), function)())


def install(channel: Path, prefix: Path, *specs: str) -> None:
    """Let an independent conda client solve and link."""

    async def work() -> None:
        found = await rattler.solve(
            [rattler.Channel(channel.as_uri())],
            specs=[rattler.MatchSpec(spec) for spec in specs],
            platforms=["linux-64", "noarch"],
        )
        cache = prefix.parent / "cache"
        await rattler.install(found, prefix, cache_dir=cache, show_progress=False)

    asyncio.run(work())


def test_an_elf_library_loads_and_answers(tmp_path: Path) -> None:
    symbols = {"count": 7605, "fill": Writes(10010), "text": 'say "hi"\\'}
    path = builders.elf_library(tmp_path / "libx.so.1.2", "libx.so.1", symbols)
    library = ctypes.CDLL(str(path))
    library.text.restype = ctypes.c_char_p
    number = ctypes.c_int()
    assert (library.count(), library.fill(ctypes.byref(number)), number.value) == (7605, 0, 10010)
    assert library.text() == b'say "hi"\\'
    dynamic = subprocess.run(["readelf", "-d", path], capture_output=True, text=True, check=True)
    assert "soname: [libx.so.1]" in dynamic.stdout


def test_a_pe_library_is_one_for_binutils(tmp_path: Path) -> None:
    symbols = {"zeta": 1, "alpha": 0x12345678}
    path = builders.pe_library(tmp_path / "cudart64_101.dll", symbols)
    command = ["objdump", "-p", "-d", path]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "file format pei-x86-64" in text
    # The table is sorted by name: alpha comes first, and leads to the second function.
    ends = [line.rpartition(" ")[2] for line in text.splitlines()]
    assert [end for end in ends if end in symbols] == ["alpha", "zeta"]
    assert re.search(r"\[   0\] \+base\[   1\] (0000)?1008 Export RVA", text)
    assert "mov    $0x12345678,%eax" in text


@pytest.mark.parametrize("form", builders.FORMS)
def test_rattler_installs_the_packages_from_a_local_channel(
    tmp_path: Path, form: builders.Form
) -> None:
    made = [recipe(tmp_path / "made", form=form) for recipe in (
        builders.cudatoolkit_10_1,
        builders.cudnn_7_6_5,
    )]  # fmt: skip
    assert [path.name for path in made] == [
        f"cudatoolkit-10.1.243-h6bb024c_0.{form}",
        f"cudnn-7.6.5-cuda10.1_0.{form}",
    ]
    prefix = tmp_path / "env"
    install(builders.local_channel(tmp_path / "channel", made), prefix, "cudnn 7.6.*")
    assert load_number(prefix / "lib/libcudnn.so.7", "cudnnGetVersion") == 7605
    assert (prefix / "lib/libcudart.so").readlink() == Path("libcudart.so.10.1")
    assert (prefix / "lib/libcudart.so.10.1").readlink() == Path("libcudart.so.10.1.243")
    assert "#define CUDNN_PATCHLEVEL 5" in (prefix / "include/cudnn.h").read_text()


@pytest.mark.parametrize("form", builders.FORMS)
def test_rattler_replaces_placeholders(tmp_path: Path, form: builders.Form) -> None:
    old = builders.PLACEHOLDER
    files = {
        "bin/tool": File(f"#!{old}/bin/sh\n".encode(), executable=True, placeholder=old),
        "lib/blob": File(b"\0" + old.encode() + b"/x\0end", placeholder=old, mode="binary"),
        "lib/alias": Link("blob"),
        "etc/own": File(b"mine", no_link=True),
    }
    package = builders.conda_package(tmp_path, "thing", "1.0", "h0_0", "linux-64", files, form=form)
    prefix = tmp_path / "env"
    install(builders.local_channel(tmp_path / "channel", [package]), prefix, "thing")
    assert (prefix / "bin/tool").read_text() == f"#!{prefix}/bin/sh\n"
    assert os.access(prefix / "bin/tool", os.X_OK)
    blob = (prefix / "lib/blob").read_bytes()
    assert blob.startswith(b"\0" + str(prefix).encode() + b"/x\0")
    assert (len(blob), blob[-4:]) == (len(old) + 7, b"\0end")
    record = json.loads(next((prefix / "conda-meta").glob("thing-*.json")).read_text())
    entries = {entry["_path"]: entry for entry in record["paths_data"]["paths"]}
    assert entries["etc/own"]["no_link"] is True


def test_the_windows_package_is_one(tmp_path: Path) -> None:
    package = builders.cudatoolkit_10_1(tmp_path, "win-64")
    assert package.name == "cudatoolkit-10.1.243-h74a9793_0.tar.bz2"
    index = builders.index_of(package)
    assert (index["subdir"], index["platform"], index["arch"]) == ("win-64", "win", "x86_64")
    with tarfile.open(package) as tar:
        assert "Library/bin/cudart64_101.dll" in tar.getnames()


@pytest.mark.parametrize(("era", "cudnn", "cuda"), builders.CUDNN_ARCHIVES)
def test_cudnn_archives(tmp_path: Path, era: builders.Era, cudnn: str, cuda: str) -> None:
    archive = builders.cudnn_archive(tmp_path, era, cudnn, cuda)
    expected = {
        "7.6.5.32": ("cudnn-10.1-linux-x64-v7.6.5.32.tgz", "cuda/lib64", 7605),
        "8.4.1.50": ("cudnn-linux-x86_64-8.4.1.50_cuda11.6-archive.tar.xz", None, 8401),
        "8.6.0.163": ("cudnn-linux-x86_64-8.6.0.163_cuda11-archive.tar.xz", None, 8600),
        "8.9.7.29": ("cudnn-linux-x86_64-8.9.7.29_cuda12-archive.tar.xz", None, 8907),
        "9.21.0.82": ("cudnn-linux-x86_64-9.21.0.82_cuda13-archive.tar.xz", None, 92100),
    }
    name, libraries, number = expected[cudnn]
    assert archive.name == name
    subprocess.run(["tar", "-xf", archive, "-C", tmp_path], check=True)
    folder = tmp_path / (libraries or f"{name.removesuffix('.tar.xz')}/lib")
    assert load_number(folder / f"libcudnn.so.{cudnn[0]}", "cudnnGetVersion") == number
    program = '#include "cudnn.h"\nint number = CUDNN_VERSION;\n'
    command = ["gcc", f"-I{folder.parent / 'include'}", "-E", "-P", "-"]
    text = subprocess.run(command, input=program, capture_output=True, text=True, check=True)
    assert eval(text.stdout.rpartition("=")[2].strip(" ;\n")) == number  # noqa: S307  # sums of our own header


def test_dear_things_are_built_once_by_all_workers(tmp_path: Path) -> None:
    code = (
        "import builders, os, time\n"
        "def build(folder):\n"
        "    time.sleep(0.2)\n"
        "    open(os.environ['LOG'], 'a').write('built\\n')\n"
        "    (folder / 'x').touch()\n"
        "print(builders.cached('a/b', build))\n"
    )
    env = {"PYTHONPATH": str(Path(__file__).parent), "LOG": str(tmp_path / "log")}
    env |= {"BUILDERS_CACHE": str(tmp_path / "cache"), "PATH": os.environ["PATH"]}
    workers = [subprocess.Popen([sys.executable, "-c", code], env=env) for _ in range(3)]
    assert [worker.wait() for worker in workers] == [0, 0, 0]
    assert (tmp_path / "log").read_text() == "built\n"
    assert (tmp_path / "cache/a/b/x").is_file()


@pytest.mark.toolkit
@pytest.mark.slow
class TestRealToolkit:
    def test_it_compiles_links_and_runs(self, tmp_path: Path) -> None:
        (tmp_path / "hello.cu").write_text(builders.HELLO_CU)
        nvcc = builders.real_toolkit() / "bin/nvcc"
        env = {"PATH": "/usr/bin:/bin"}
        subprocess.run([nvcc, "hello.cu", "-o", "hello"], cwd=tmp_path, env=env, check=True)
        done = subprocess.run([tmp_path / "hello"], capture_output=True, text=True, check=True)
        assert done.stdout == f"{builders.runtime_number()}\n"
        assert str(builders.runtime_number() // 1000) == builders.toolkit_version().split(".")[0]

    def test_component_archives(self) -> None:
        archives = builders.redist_archives()
        kinds = [path.name.split("-linux-")[0] for path in archives]
        names = ["cuda_cccl", "cuda_crt", "cuda_cudart", "cuda_culibos", "cuda_nvcc", "libnvvm"]
        assert kinds == names
        nvcc = archives[kinds.index("cuda_nvcc")]
        with tarfile.open(nvcc) as tar:
            top = nvcc.name.removesuffix(".tar.xz")
            member = tar.getmember(f"{top}/bin/nvcc")
            assert member.mode == 0o755
            assert {name.split("/")[0] for name in tar.getnames()} == {top}

    def test_wheels_are_whole_for_pip(self, tmp_path: Path) -> None:
        wheels = builders.toolkit_wheels()
        small = [
            path for path in wheels if not path.name.startswith(("nvidia_cuda_nvcc", "nvidia_nvvm"))
        ]
        command = [sys.executable, "-m", "pip", "install", "--no-index", "--no-deps", "--quiet"]
        subprocess.run([*command, "--target", tmp_path, *small], check=True)
        root = next((tmp_path / "nvidia").glob("cu*"))
        assert (root / "include/cuda_runtime.h").is_file()
        assert (root / "lib/libcudart_static.a").is_file()
        assert not (root / "lib64").exists()
        compiler = next(path for path in wheels if path.name.startswith("nvidia_cuda_nvcc"))
        with zipfile.ZipFile(compiler) as archive:
            mode = archive.getinfo(f"nvidia/{root.name}/bin/nvcc").external_attr >> 16
        assert mode & 0o777 == 0o744

    @pytest.mark.parametrize("form", builders.FORMS)
    def test_the_conda_package_names_every_file(self, form: builders.Form) -> None:
        package = builders.toolkit_conda_package(form)
        index = builders.index_of(package)
        assert (index["name"], index["version"]) == ("cuda-toolkit", builders.toolkit_version())

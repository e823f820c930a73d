"""`which`: what it says must be what Python, the loader and the shell then do."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import builders
from checks import refused, succeeded
from homes import Home
from loader_corpus import LOADER
from made_environments import torch_start
from shells.venvs import with_venv
from tools import console_script, executable

_LOAD = """
import ctypes, os, sys
for name in sys.argv[2:]:
    ctypes.CDLL(name)
maps = {line.split(maxsplit=5)[5].strip() for line in open("/proc/self/maps") if "/" in line}
print(*(path for path in maps if os.path.basename(path).startswith(sys.argv[1])), sep="\\n")
"""
"""A Python program: loads what its later arguments name, and prints which files named like
its first are in the process."""


@pytest.fixture(scope="module")
def linker(tmp_path_factory: pytest.TempPathFactory) -> Path:
    empty = tmp_path_factory.mktemp("linker") / "empty.o"
    command = ["gcc", "-fPIC", "-c", "-x", "c", "-", "-o", empty]
    subprocess.run(command, input="void _start(void) {}", text=True, check=True)
    return empty


@pytest.fixture
def link(linker: Path):
    def link(path: Path, *needed: Path, runpath: str = "", rpath: str = "", program: bool = False):
        """Make a library, whose SONAME is its file's name, or a program."""
        path.parent.mkdir(parents=True, exist_ok=True)
        options = ["-pie", "-dynamic-linker", LOADER] if program else ["-shared"]
        options += [] if program else ["-soname", path.name]
        options += ["-rpath", runpath or rpath] if runpath or rpath else []
        options += ["--enable-new-dtags" if runpath else "--disable-new-dtags"]
        options += ["--no-as-needed", linker, *needed, "-o", path]
        subprocess.run(["ld", *options], check=True)
        return path

    return link


@pytest.fixture(scope="module")
def env(tmp_path_factory: pytest.TempPathFactory) -> Path:
    prefix = tmp_path_factory.mktemp("which") / "an env"
    with_venv(prefix)
    return prefix


def active(home: Home, env: Path, **variables: str) -> dict[str, str]:
    path = f"{env}/bin:{home.env['PATH']}"
    return {"VIRTUAL_ENV": str(env), "PATH": path, **variables}


def which(home: Home, *arguments: str | Path, cwd: Path | None = None, **variables: str) -> Any:
    done = home.run("which", *arguments, "--json", cwd=cwd, **variables)
    return json.loads("\n".join(succeeded(done)))


def loaded(home: Home, env: Path, *arguments: str, cwd: Path | None = None, **variables: str):
    """Return what Python has really loaded, or the error that it fails with."""
    done = subprocess.run(
        [env / "bin/python", "-c", _LOAD, *arguments],
        env=home.env | active(home, env, **variables),
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.split("\n")[:-1] if done.returncode == 0 else done.stderr


@pytest.mark.parametrize(
    ("variables", "why", "winner"),
    [
        ({"LD_LIBRARY_PATH": "{}/a:{}/b"}, "`{}/a` is in LD_LIBRARY_PATH", "a"),
        ({"LD_LIBRARY_PATH": "{}/none;{}/b/;{}/a"}, "`{}/b` is in LD_LIBRARY_PATH", "b"),
        ({"LD_LIBRARY_PATH": "{}/none:"}, "empty element in LD_LIBRARY_PATH is the working", ""),
        ({"LD_LIBRARY_PATH": "{}/a", "LD_PRELOAD": "{}/b/libx.so.1"}, "LD_PRELOAD names it", "b"),
        ({"LD_LIBRARY_PATH": "{}/foreign:{}/a"}, "`{}/a` is in LD_LIBRARY_PATH", "a"),
    ],
)
def test_python_loads_what_is_told(
    home: Home, env: Path, link, tmp_path: Path, variables, why, winner
) -> None:
    places = [link(tmp_path / at / "libx.so.1") for at in ("a", "b", "", "foreign")]
    content = bytearray(places[-1].read_bytes())
    content[18] = 40  # of another machine
    places[-1].write_bytes(content)
    variables = {name: value.replace("{}", str(tmp_path)) for name, value in variables.items()}
    told = which(home, "libx.so.1", cwd=tmp_path, **active(home, env, **variables))
    assert told["path"] == str(tmp_path / winner / "libx.so.1")
    assert why.replace("{}", str(tmp_path)) in told["why"]
    assert [told["path"]] == loaded(home, env, "libx", "libx.so.1", cwd=tmp_path, **variables)
    on_path = variables["LD_LIBRARY_PATH"]
    others = {str(tmp_path / at / "libx.so.1") for at in "ab" if f"{tmp_path}/{at}" in on_path}
    assert set(told["shadows"]) == others - {told["path"]}


def test_the_search_ends_at_a_damaged_file(home: Home, env: Path, link, tmp_path: Path) -> None:
    good = link(tmp_path / "good/libx.so.1")
    bad = tmp_path / "bad/libx.so.1"
    bad.parent.mkdir()
    bad.write_bytes(good.read_bytes()[:40])
    variables = {"LD_LIBRARY_PATH": f"{bad.parent}:{good.parent}"}
    assert "file too short" in loaded(home, env, "libx", "libx.so.1", **variables)
    told = which(home, "libx.so.1", **active(home, env, **variables))
    assert (told["path"], told["shadows"]) == (str(bad), [str(good)])
    assert "cannot be loaded: file too short" in told["why"]


def test_a_library_that_python_has_already(home: Home, env: Path) -> None:
    told = which(home, "libc.so.6", **active(home, env))
    [real] = loaded(home, env, "libc.so")
    assert told["path"] == os.path.realpath(real)
    missing = home.run("which", "libnowhere.so.1", **active(home, env))
    refused(missing, "`libnowhere.so.1` was not found", code=127, hint="check its name")


@pytest.mark.parametrize(
    ("library", "hint"),
    [
        ("libcudart.so.10.1", "cudaswitch install 10.1"),
        ("libcudart.so.11.0", "cudaswitch install 11"),
        ("libcublas.so.10", "cudaswitch install 10.2"),
        ("libcusolver.so.10", "cudaswitch install 11.0"),
        ("libnvJitLink.so.12", "cudaswitch install 12"),
        ("libcupti.so.11.8", "cudaswitch install 11.8"),
        ("libcupti.so.12", "cudaswitch install 12"),
        ("libcupti.so.11", "check its name"),
        ("libcudart.so.12.1", "check its name"),
        ("libcudart.so.12.", "check its name"),
        ("libcudart.so.99", "check its name"),
        ("libcudart.so.x", "check its name"),
        ("libcublas.so.11.11.3.6", "check its name"),
        ("libavutil.so.12", "check its name"),
    ],
)
def test_a_library_of_no_toolkit_here_names_the_release(home: Home, library, hint) -> None:
    told = home.run("which", library, PATH="/usr/bin:/bin")
    refused(told, f"`{library}` was not found", code=127, hint=hint)


def test_for_a_program_a_library_and_a_name(home: Home, env: Path, link, tmp_path: Path) -> None:
    """A program, a library and a name each get the library that the loader finds for them."""
    inner = link(tmp_path / "in/libinner.so.1")
    other = link(tmp_path / "lib/libinner.so.1")
    outer = link(tmp_path / "lib/libouter.so.1", inner, rpath="$ORIGIN/../in")
    program = link(tmp_path / "bin/program", outer, runpath="$ORIGIN/../lib", program=True)
    variables = active(home, env, LD_LIBRARY_PATH=str(other.parent))

    told = which(home, "libinner.so.1", "--from", program, **variables)
    done = subprocess.run(
        [program],
        env={"LD_TRACE_LOADED_OBJECTS": "1", "LD_LIBRARY_PATH": str(other.parent)},
        capture_output=True,
        text=True,
        check=True,
    )
    [real] = re.findall(r"libinner\.so\.1 => (.*) \(", done.stdout)
    assert told["path"] == os.path.realpath(real) == str(inner)
    assert told["why"] == f"`{outer.parent}/../in` is in the RPATH of `{outer}`"
    assert told["shadows"] == [str(other)]
    assert told["consumer"] == str(program)

    direct = which(home, "libinner.so.1", "--from", outer, **variables)
    assert direct["path"] == loaded(home, env, "libinner", str(outer))[0] == str(inner)
    named = which(home, "libinner.so.1", "--from", "libouter.so.1", **variables)
    assert named["path"] == str(inner)
    assert which(home, "libinner.so.1", **variables)["path"] == str(other)

    where = active(home, env) | {"PATH": f"{program.parent}:{home.env['PATH']}"}
    assert which(home, "libinner.so.1", "--from", "program", **where)["path"] == str(inner)


@pytest.mark.parametrize("preloads", [True, False])
@pytest.mark.parametrize("tag", ["runpath", "rpath"])
def test_for_torch_as_it_loads_its_libraries(
    home: Home, env: Path, link, tmp_path: Path, preloads: bool, tag: str
) -> None:
    """An older nvJitLink on LD_LIBRARY_PATH wins over a RUNPATH, and over nothing else."""
    older = link(tmp_path / "cuda-12.1/lib64/libnvJitLink.so.12")
    [site] = env.glob("lib/python*/site-packages")
    nvidia = site / "nvidia"
    runtime = link(nvidia / "cuda_runtime/lib/libcudart.so.12")
    bundled = link(nvidia / "nvjitlink/lib/libnvJitLink.so.12")
    path = {tag: "$ORIGIN:$ORIGIN/../../nvjitlink/lib"}
    cusparse = link(nvidia / "cusparse/lib/libcusparse.so.12", bundled, **path)
    lib = site / "torch/lib"
    link(lib / "libtorch_global_deps.so", runtime, rpath="$ORIGIN/../../nvidia/cuda_runtime/lib")
    link(lib / "libtorch_cuda.so", cusparse, rpath="$ORIGIN/../../nvidia/cusparse/lib")
    (lib.parent / "__init__.py").write_text(torch_start(preloads=preloads))

    variables = active(home, env, LD_LIBRARY_PATH=str(older.parent))
    told = which(home, "libnvJitLink.so.12", "--from", "torch", **variables)
    done = subprocess.run(
        [env / "bin/python", "-c", f"import torch\n{_LOAD}", "libnvJitLink"],
        env=home.env | variables,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == [told["path"]]
    expected = older if tag == "runpath" and not preloads else bundled
    assert told["path"] == str(expected)
    assert ("torch/__init__.py" in told["why"]) == preloads
    both = {str(older), str(bundled)}
    assert {told["path"], *told["shadows"]} == both

    # Its title, and the name of a conda package that has it.
    for name in ("PyTorch", "pytorch-gpu"):
        other = which(home, "libcudart.so.12", "--from", name, **variables)
        assert other["path"] == str(runtime)
    human = home.run("which", "libcusparse.so.12", "--from", "torch", **variables)
    assert succeeded(human) == [str(cusparse)]


def test_what_a_package_opens_by_itself(home: Home, env: Path, link) -> None:
    [site] = env.glob("lib/python*/site-packages")
    opened = link(site / "nvidia/nvrtc/lib/libnvrtc.so.12")
    link(site / "some_thing/_core.so", rpath="$ORIGIN/../nvidia/nvrtc/lib")
    told = which(home, "libnvrtc.so.12", "--from", "some-thing", **active(home, env))
    assert told["path"] == str(opened)
    assert "none of its libraries needs it" in told["notes"][0]


def test_a_distribution_by_the_name_that_pip_has_for_it(home: Home, env: Path, link) -> None:
    """NVIDIA's wheels, without an import name, go by pip's name; RECORD lists their files."""
    [site] = env.glob("lib/python*/site-packages")
    files = ["nvidia/cusolver/lib/libcusolver.so.11", "nvidia/cublas_two/lib/libcublas.so.12"]
    blas = link(site / files[1])
    link(site / files[0], blas, runpath="$ORIGIN/../../cublas_two/lib")
    record = site / "nvidia_cusolver_cu12-11.6.1.9.dist-info/RECORD"
    record.parent.mkdir()
    record.write_text(f'{files[0]},sha256=x,9\n"nvidia/a, b.so",,\nnvidia/__init__.py,,\n')
    for spelled in ("nvidia-cusolver-cu12", "NVIDIA_cusolver.cu12"):
        told = which(home, "libcublas.so.12", "--from", spelled, **active(home, env))
        assert (told["path"], told["consumer"]) == (str(blas), str(site / files[0]))
    other = home.run("which", "libx.so", "--from", "nvidia-cusolver", **active(home, env))
    refused(other, "`nvidia-cusolver` is not a program", hint="name")


def test_a_library_that_only_the_packages_of_the_environment_find(
    home: Home, link, tmp_path: Path
) -> None:
    """For a library that only packages find the hint is `which --from`: no switch would help."""
    kit, env = tmp_path / "cuda-12.4", tmp_path / "an env"
    (kit / "bin").mkdir(parents=True)
    (kit / "version.txt").write_text("CUDA Version 12.4.1\n")
    for name in ("libcudart.so.12", "libnvrtc.so.12"):
        link(kit / "lib64" / name)
    succeeded(home.run("adopt", kit))
    with_venv(env)
    [site] = env.glob("lib/python*/site-packages")
    runtime = link(site / "nvidia/cuda_runtime/lib/libcudart.so.12")
    variables = active(home, env)
    where = f"the environment has it in `{runtime}`"
    asked = "cudaswitch which libcudart.so.12 --from nvidia"
    missing = ("which", "libcudart.so.12")
    refused(home.run(*missing, **variables), where, code=127, hint=asked)
    link(site / "ctranslate2/libctranslate2.so")
    stranger = home.run(*missing, "--from", "ctranslate2", **variables)
    refused(stranger, where, code=127, hint=f"put `{runtime.parent}` first in LD_LIBRARY_PATH")
    link(site / "torch/lib/libtorch_cuda.so", runtime, runpath=str(runtime.parent))
    asked = asked.replace("nvidia", "torch")
    refused(home.run(*missing, **variables), where, code=127, hint=asked)
    assert succeeded(home.run(*asked.split()[1:], **variables)) == [str(runtime)]
    always = "cudaswitch use 12.4.1 --libraries always"
    refused(home.run("which", "libnvrtc.so.12", **variables), code=127, hint=always)
    shutil.rmtree(site / "nvidia")
    shutil.rmtree(site / "torch")
    refused(home.run(*missing, **variables), code=127, hint="cudaswitch use 12.4.1")


@pytest.mark.parametrize("folder", ["extras/CUPTI/lib64", "targets/x86_64-linux/lib"])
def test_a_library_that_a_switch_would_find(home: Home, link, tmp_path: Path, folder: str) -> None:
    """A switch adds these folders, too, so what is in them need not be installed."""
    kit = tmp_path / "cuda-12.4"
    executable(kit / "bin/nvcc")
    (kit / "version.txt").write_text("CUDA Version 12.4.1\n")
    library = link(kit / folder / "libcupti.so.12")
    succeeded(home.run("adopt", kit))
    refused(home.run("which", library.name), code=127, hint="cudaswitch use 12.4.1")
    inside = ("exec", "12.4", "--", console_script(), "which", library.name)
    assert succeeded(home.run(*inside)) == [str(library)]


def test_consumers_that_are_none(home: Home, env: Path, tmp_path: Path) -> None:
    variables = active(home, env)

    def ask(name: str, consumer: str | Path):
        return home.run("which", name, "--from", consumer, **variables)

    refused(
        ask("libx.so", "no-such-thing"), "`no-such-thing` is not a program", str(env), hint="name"
    )
    refused(ask("libx.so", "libnowhere.so.3"), "was not found in this shell", hint=None)
    text = tmp_path / "text"
    text.write_text("no library, but long enough to be taken for one, if nobody looked at it")
    refused(ask("libx.so", text), f"`{text}` cannot be loaded: invalid ELF header", hint=None)
    refused(ask("libx.so", "/no/where"), "`/no/where` cannot be loaded", hint=None)
    refused(ask("nvcc", "torch"), "`nvcc` is not a library", hint="libcudart.so.12")


def test_a_python_that_is_a_script_is_left_aside(home: Home, link, tmp_path: Path) -> None:
    """A Python that is a script, as pyenv's, is left aside: only running it tells what it is."""
    library = link(tmp_path / "lib/libx.so.1")
    script = executable(tmp_path / "bin/python3", "#!/bin/sh\nexit 1\n")
    path = f"{script.parent}:{home.env['PATH']}"
    told = which(home, "libx.so.1", PATH=path, LD_LIBRARY_PATH=str(library.parent))
    assert told["path"] == str(library)
    assert f"`{script}` is a script" in told["notes"][0]
    assert which(home, "libm.so.6", PATH=path)["path"].endswith(("libm.so.6", ".so"))


@pytest.mark.parametrize("name", ["tool", "./tool", "../here/tool", "on/path/tool", "./nothing"])
@pytest.mark.parametrize("path", ["on/path", ":on/path", "on/path:", "none::on/path", "/usr/bin"])
def test_a_tool_is_the_one_that_the_shell_starts(
    home: Home, tmp_path: Path, name: str, path: str
) -> None:
    """A tool with a slash is no matter of PATH, whose empty entries are the working directory."""
    here = tmp_path / "here"
    for folder in (here, here / "on/path"):
        executable(folder / "tool")
    ask = ["/bin/bash", "-c", f"type -P {name}"]
    shell = subprocess.run(ask, cwd=here, env={"PATH": path}, capture_output=True, text=True)  # noqa: PLW1510  # 1 says no
    done = home.run("which", name, "--json", cwd=here, PATH=path)
    if shell.stdout == "":
        refused(done, f"`{name}`", code=127, hint=None)
        return
    found = json.loads("\n".join(succeeded(done)))
    assert found["path"] == os.path.realpath(here / shell.stdout.strip())
    assert ("on PATH" in found["why"]) == ("/" not in name)


def test_a_shim_tells_what_it_runs(home: Home, tmp_path: Path) -> None:
    """What `which` says about a shim is what the shim then starts."""
    kit, own = tmp_path / "cuda-11.8", tmp_path / "own/nvcc"
    for tool in (kit / "bin/nvcc", own):
        said = "'Cuda compilation tools, V11.8.89'"
        executable(tool, f"#!/bin/sh\nprintf '%s\\n' \"$0\" {said}\n")
    version = {"cudaRuntimeGetVersion": builders.Writes(11080)}
    builders.elf_library(kit / "lib64/libcudart.so.11.0", "libcudart.so.11.0", version)
    (kit / "version.json").write_text('{"cuda": {"name": "CUDA SDK", "version": "11.8.0"}}')
    succeeded(home.run("adopt", kit))
    succeeded(home.run("shims", "install"))
    shim = home.store / "shims/nvcc"
    path = f"{shim.parent}:{own.parent}:{home.env['PATH']}"

    def ask(**variables: str) -> tuple[Any, str | None]:
        """Return what `which` says, and what really runs."""
        env = home.env | {"PATH": path} | variables
        done = subprocess.run([shim], env=env, capture_output=True, text=True, check=False)
        real = done.stdout.partition("\n")[0] if done.returncode == 0 else None
        return which(home, "nvcc", **{"PATH": path, **variables}), real

    told, real = ask()
    assert (told["path"], told["runs"]) == (str(shim), real) == (str(shim), str(own))
    assert (told["shadows"][0], told["notes"]) == (str(own), [])
    assert "a shim of cudaswitch" in told["why"]
    told, real = ask(CUDASWITCH_VERSION="11.8")
    assert told["runs"] == real
    assert real
    assert Path(real).samefile(kit / "bin/nvcc")
    assert told["notes"] == ["that is what CUDASWITCH_VERSION requests"]
    told, real = ask(CUDASWITCH_VERSION="9.9")
    assert (told["runs"], real) == (None, None)
    assert "the shim would fail" in told["notes"][0]
    told, real = ask(PATH=f"{shim.parent}:/usr/sbin")
    assert (told["runs"], real) == (None, None)
    assert told["notes"] == ["the shim would fail: no toolkit is requested here"]
    told, real = ask(PATH=f"{shim.parent}:/usr/sbin", CUDASWITCH_VERSION="system")
    assert (told["runs"], real) == (None, None)
    assert told["notes"] == ["the shim would fail: `system` is asked for by CUDASWITCH_VERSION"]
    (kit / "bin/nvcc").unlink()
    told, real = ask(CUDASWITCH_VERSION="11.8")
    assert (told["runs"], real) == (None, None)
    assert "bin/nvcc` does not exist" in told["notes"][0]

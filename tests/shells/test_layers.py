"""In the layer that `uv run --with` makes on a project's environment, the project's pin counts."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from checks import succeeded
from made_environments import Env
from raw_archives import wheel_of
from shells.driver import BASH, FISH, NU, TCSH, XONSH, ZSH, Shell
from shells.frameworks import OLD, entered
from shells.kits import Person
from shells.moving import cd, homes
from shells.venvs import with_uv

integrated = pytest.mark.parametrize("shell", (BASH, ZSH, FISH, TCSH, XONSH, NU), ids=str)


@pytest.fixture
def project(tmp_path: Path) -> Env:
    prefix = tmp_path / "a project [x]"
    with_uv(prefix)
    site = next(prefix.glob("lib/python*/site-packages"))
    shutil.rmtree(site)
    return Env(prefix, str(site.relative_to(prefix)))


def layer_on(env: Env, folder: Path, brings: str = "something.py") -> Env:
    """Copy the layer that uv makes for one command `--with` a wheel, and removes afterwards."""
    wheel = folder / "nvidia_cuda_nvcc-13.0.88-py3-none-manylinux2014_x86_64.whl"
    wheel.write_bytes(wheel_of({brings: b""}))
    kept = folder / "layer"
    command = [sys.executable, "-m", "uv", "run", "--offline", "--no-project", "--cache-dir"]
    command += [str(folder / "cache"), "--with", str(wheel), "-p", str(env.prefix / "bin/python")]
    keep = ["sh", "-c", f"cp -a \"$VIRTUAL_ENV\" '{kept}'"]
    subprocess.run([*command, *keep], check=True, capture_output=True)
    assert f"extends-environment = {env.prefix}\n" in (kept / "pyvenv.cfg").read_text()
    return Env(kept)


def inside(layer: Env, env: Env) -> dict[str, str]:
    path = f"{layer.prefix}/bin:{env.prefix}/bin:{os.environ['PATH']}"
    return {"VIRTUAL_ENV": str(layer.prefix), "PATH": path}


@integrated
def test_a_pin_holds_in_a_shell(shell: Shell, person: Person, project: Env, tmp_path: Path) -> None:
    person.pin("10.1", project.prefix)
    layer = layer_on(project, tmp_path)
    unpin = shell.hush(f"cudaswitch unpin -p {shell.quote(str(project.prefix))}")
    steps = [entered(shell, layer), cd(shell, Path("/")), f"{unpin}\n{shell.prompt}"]
    result = person.play(shell, *steps).check()
    assert homes(person, result) == "-11-"
    assert result.snaps["1"]["VIRTUAL_ENV"] == str(layer.prefix)


@integrated
def test_what_its_frameworks_need_is_kept_for_all_its_layers(
    shell: Shell, person: Person, project: Env, tmp_path: Path
) -> None:
    project.dist(*OLD)
    layer = layer_on(project, tmp_path)
    result = person.play(shell, entered(shell, layer), cd(shell, Path("/"))).check()
    assert homes(person, result) == "-11"
    kept = {path.name for path in (person.home.store / "auto").iterdir()}
    assert str(project.prefix).replace("/", "%") in kept
    assert str(layer.prefix).replace("/", "%") not in kept


def test_commands_see_what_is_below(person: Person, project: Env, tmp_path: Path) -> None:
    layer = layer_on(project, tmp_path)
    variables = inside(layer, project)
    person.pin("10.1", project.prefix)
    shown = succeeded(person.home.run("exec", "--", "env", **variables))
    assert f"CUDA_HOME={person.kits[0].home}" in shown
    assert succeeded(person.home.run("current", **variables))[0].startswith("10.1")
    # A pin in the layer would be lost with it.
    person.home.run("pin", "12.4", **variables)
    assert (project.prefix / "etc/cudaswitch/pin").read_text().strip() == "12.4"
    assert not (layer.prefix / "etc").exists()


def test_its_own_cuda_is_seen(person: Person, project: Env, tmp_path: Path) -> None:
    variables = inside(layer_on(project, tmp_path), project)
    shown = succeeded(person.home.run("exec", "10.1", "--", "env", **variables))
    assert any(line.startswith("LD_LIBRARY_PATH=") for line in shown)
    project.file("nvidia/cublas/lib/libcublas.so.12")
    shown = succeeded(person.home.run("exec", "10.1", "--", "env", **variables))
    assert not any(line.startswith("LD_LIBRARY_PATH=") for line in shown)


@pytest.mark.parametrize(
    "brings", ["nvidia/cu13/lib/libcudart.so.13", "torch/lib/libtorch_cuda.so"]
)
@integrated
def test_what_with_brings_is_its_own_cuda_too(
    shell: Shell, person: Person, project: Env, tmp_path: Path, brings: str
) -> None:
    person.pin("10.1", project.prefix)
    layer = layer_on(project, tmp_path, brings)
    result = person.play(shell, entered(shell, layer), cd(shell, Path("/"))).check()
    assert homes(person, result) == "-11"
    assert "LD_LIBRARY_PATH" not in result.snaps["1"]
    # uv 0.7.16 put the wheel into the layer itself.
    [overlay] = layer.prefix.glob("lib/python*/site-packages/_uv_ephemeral_overlay.pth")
    overlay.unlink()
    wheel = overlay.parent / brings
    wheel.parent.mkdir(parents=True)
    wheel.touch()
    result = person.play(shell, entered(shell, layer), cd(shell, Path("/"))).check()
    assert "LD_LIBRARY_PATH" not in result.snaps["1"]
    shown = succeeded(person.home.run("exec", "--", "env", **inside(layer, project)))
    assert not any(line.startswith("LD_LIBRARY_PATH=") for line in shown)

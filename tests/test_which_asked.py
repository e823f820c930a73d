"""`which` for what this shell lacks, though a toolkit that has it is asked for here."""

from __future__ import annotations

import subprocess

import pytest

from checks import refused, succeeded
from homes import Home
from shells.venvs import with_venv
from shim_places import Place, echoing
from stock import elsewhere
from tools import console_script

WITHOUT_CUDA = {"PATH": "/usr/sbin"}
"""With this PATH no nvcc of the machine is found."""


@pytest.fixture
def asking(place: Place) -> Home:
    """A home with 11.8 and 12.4 and no shims on PATH; only 11.8 has `cuda-memcheck`."""
    return place.home


def told(home: Home, tool: str = "nvcc", **variables: str) -> tuple[str, str]:
    """Return what `which` says about a tool, and what it advises."""
    done = home.run("which", tool, **{**WITHOUT_CUDA, **variables})
    message = refused(done, f"`{tool}` was not found in this shell", code=127)
    return message, done.stderr.splitlines()[-1].removeprefix("hint: ")


def advice(home: Home, **variables: str) -> str:
    """Return what `current` advises."""
    done = home.run("current", **{**WITHOUT_CUDA, **variables})
    succeeded(done)
    return done.stderr.splitlines()[-1].removeprefix("hint: ")


def test_the_toolkit_that_a_file_asks_for_is_the_one_to_have(asking: Home) -> None:
    (asking.path / ".cuda-version").write_text("11.8\n")
    message, hint = told(asking)
    assert message.endswith("has no toolkit: CUDA 11.8 (asked for by ./.cuda-version:1) has it")
    assert hint == advice(asking) == "cudaswitch init --install bash"


@pytest.mark.parametrize("who", ["CUDASWITCH_VERSION", "pin", "global", "use"])
def test_whoever_asks(asking: Home, who: str) -> None:
    variables = {}
    origin = "CUDASWITCH_VERSION"
    if who == "pin":
        env = asking.path / "env"
        with_venv(env)
        succeeded(asking.run("pin", "11.8", "-p", env))
        variables["VIRTUAL_ENV"] = str(env)
        origin = f"{env}/etc/cudaswitch/pin:1"
    elif who == "global":
        succeeded(asking.run("pin", "11.8", "--global"))
        origin = f"{asking.store}/global:1"
    elif who == "use":
        variables["_CUDASWITCH_U"] = str(asking.path.parent / "cuda-11.8")
        origin = "this shell's `cudaswitch use`, `env` or `exec`"
    else:
        variables[who] = "11.8"
    message, hint = told(asking, **variables)
    assert f"CUDA 11.8 (asked for by {origin}) has it" in message
    assert hint == advice(asking, **variables)
    assert "12.4" not in hint


@pytest.mark.parametrize(("file", "request_"), [("11.8\n", "11.8"), ("", "12.4")])
def test_in_a_shell_without_integration_it_is_evaluated(
    asking: Home, file: str, request_: str
) -> None:
    """Whether somebody asks for it or nobody does: `use` does not work there."""
    if file:
        (asking.path / ".cuda-version").write_text(file)
    command = f"{console_script()} which nvcc; :"
    done = subprocess.run(
        ["/bin/dash", "-c", command],
        env=asking.env | WITHOUT_CUDA, cwd=asking.path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stderr.splitlines()[-1].startswith(f'hint: eval "$(cudaswitch env {request_} ')


@pytest.mark.parametrize("name", ["./nvcc", "../lib64/libours.so.1"])
def test_no_toolkit_has_what_is_named_by_a_path(asking: Home, name: str) -> None:
    echoing(asking.path.parent / "cuda-11.8/lib64/libours.so.1")
    message, hint = told(asking, name, CUDASWITCH_VERSION="11.8")
    assert message.endswith("in this shell")
    assert hint.startswith("check its name")


def test_where_nothing_asks_or_what_is_asked_for_lacks_it_another_is_named(asking: Home) -> None:
    assert told(asking) == ("cudaswitch: `nvcc` was not found in this shell", "cudaswitch use 12.4")
    for asked in ("12.4", "system", "9.9", "auto"):
        message, hint = told(asking, "cuda-memcheck", CUDASWITCH_VERSION=asked)
        assert (message.endswith("in this shell"), hint) == (True, "cudaswitch use 11.8")
    refused(
        asking.run("which", "nowhere", **WITHOUT_CUDA, CUDASWITCH_VERSION="11.8"),
        code=127,
        hint="or install what provides it",
    )


def test_a_toolkit_for_another_platform_is_no_way_out(asking: Home) -> None:
    name = elsewhere(asking, "13.0.88")
    assert f"{name}  " in asking.run("list").stdout
    assert told(asking) == ("cudaswitch: `nvcc` was not found in this shell", "cudaswitch use 12.4")
    done = asking.run("which", "libcudart.so.13.0")
    refused(done, "`libcudart.so.13.0` was not found", code=127, hint="or install what provides it")
    done = asking.run("exec", "12.4", "--", "cuda-memcheck")
    refused(done, "`cuda-memcheck` is not in", code=127, hint="it is in 11.8")
    succeeded(asking.run("remove", "11.8", "12.4"))
    done = asking.run("exec", "system", "--", "nvcc", **WITHOUT_CUDA)
    refused(done, "`nvcc` is not on PATH", code=127, hint="or install what provides it")


def test_of_a_library_the_one_that_is_asked_for_is_named_too(asking: Home) -> None:
    for kit in ("cuda-11.8", "cuda-12.4"):
        echoing(asking.path.parent / kit / "lib64/libours.so.1")
    _, hint = told(asking, "libours.so.1", CUDASWITCH_VERSION="11.8")
    assert hint == "cudaswitch init --install bash"
    # In this environment a switch leaves LD_LIBRARY_PATH alone.
    env = asking.path / "env"
    (env / "conda-meta").mkdir(parents=True)
    (env / "conda-meta/cudatoolkit-10.1.243-h6bb024c_0.json").write_text("{}")
    variables = {"CONDA_PREFIX": str(env), "CUDASWITCH_VERSION": "11.8"}
    _, hint = told(asking, "libours.so.1", **variables)
    assert hint == "cudaswitch use 11.8 --libraries always"

"""`install` of a version that is not given in full: the newest that is offered."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import builders
from adoptable import toolkit as adoptable
from checks import refused, remarks, snapshot, succeeded
from homes import Home
from made_environments import Env
from stock import BARE, FULL, newer_cudnn, stored, toolkit


def offer(channel: Path, *packages: Path) -> None:
    shutil.rmtree(channel, ignore_errors=True)
    builders.local_channel(channel, packages)


@pytest.fixture
def lab(stocked: Home, pair: list[Path], tmp_path: Path) -> Path:
    """A channel with just what the user has installed."""
    offer(tmp_path / "lab", *pair)
    stocked.env["CUDASWITCH_CHANNELS"] = str(tmp_path / "lab")
    return tmp_path / "lab"


def installed(home: Home, *arguments: str, **variables: str) -> tuple[list[str], list[str]]:
    done = home.run("install", *arguments, **variables)
    return succeeded(done), remarks(done)


def test_nothing_is_brought_where_nothing_is_newer(stocked: Home, lab: Path) -> None:
    before = snapshot(stocked.store)
    for request in ("10.1", "10", ">=10,<11", "10.1.243", "10.1+cudnn7", "10.1+cudnn7.6.5"):
        assert installed(stocked, request) == ([FULL], [])
    assert installed(stocked, "10.1", "--cudnn", "none") == ([BARE], [])
    assert snapshot(stocked.store) == before


def test_what_is_newer_is_brought(
    stocked: Home, lab: Path, pair: list[Path], tmp_path: Path
) -> None:
    offer(lab, *pair, toolkit(tmp_path, "10.1.300"), toolkit(tmp_path, "10.2.89"))
    why = ["cudaswitch: from conda: it has the libraries of CUDA before 11.4.2; for nvcc: --from"]
    for request, name in (("10.1", "10.1.300"), ("10", "10.2.89")):
        names, said = installed(stocked, request)
        assert name in names
        assert [line[: len(why[0])] for line in said] == why
    # cuDNN for 10.1 alone is no reason to bring one.
    assert installed(stocked, "10.1.243") == ([FULL], [])
    before = snapshot(stocked.store)
    assert installed(stocked, "10") == (["10.2.89"], [])
    assert snapshot(stocked.store) == before


def test_a_newer_cudnn_is_brought(
    stocked: Home, lab: Path, pair: list[Path], tmp_path: Path
) -> None:
    offer(lab, *pair, newer_cudnn(tmp_path))
    assert installed(stocked, "10.1") == ([FULL], [])
    assert installed(stocked, "10.1", "--cudnn", "7.6.5") == ([FULL], [])
    names, _ = installed(stocked, "10.1", "--cudnn", "7.6")
    assert names == [f"{BARE}+cudnn7.6.6"]
    assert installed(stocked, "10.1", "--cudnn", "7.6") == ([f"{BARE}+cudnn7.6.6"], [])


def test_one_that_is_newer_than_what_is_offered_stays(
    stocked: Home, lab: Path, tmp_path: Path
) -> None:
    succeeded(stocked.run("adopt", adoptable(tmp_path / "mine", "10.1.500"), "--as", "10.1.500"))
    assert installed(stocked, "10.1") == (["10.1.500+cudnn7.6.5"], [])


def test_without_an_answer_what_is_there_will_do(stocked: Home, lab: Path) -> None:
    [answer], said = installed(stocked, "10.1", "--offline")
    assert (answer, said) == (
        FULL,
        [f"cudaswitch: using CUDA {FULL}: offline, no newer one is looked for"],
    )
    assert installed(stocked, "10.1.243", "--offline") == ([FULL], [])
    assert installed(stocked, "10.1", CUDASWITCH_OFFLINE="1")[0] == [FULL]
    nowhere = {"CUDASWITCH_CHANNELS": "http://127.0.0.1:1/lab", "CUDASWITCH_RETRIES": "0"}
    names, said = installed(stocked, "10.1", **nowhere)
    assert names == [FULL]
    [line] = said
    assert line.startswith("cudaswitch: using CUDA 10.1.243, as no newer one could be looked up: ")
    assert "127.0.0.1:1" in line
    # A version in full is looked up nowhere.
    assert installed(stocked, "10.1.243", **nowhere) == ([FULL], [])
    assert installed(stocked, "10.1.243", "--cudnn", "7.6.5", **nowhere) == ([FULL], [])
    names, said = installed(stocked, "10.1.243", "--cudnn", "7", **nowhere)
    assert (names, len(said)) == ([FULL], 1)
    assert said[0].startswith("cudaswitch: using cuDNN 7.6.5")
    refused(stocked.run("install", "10.2", **nowhere), "127.0.0.1:1")


def test_what_an_environment_needs_is_there_already(
    stocked: Home, lab: Path, pair: list[Path], tmp_path: Path, env: Env
) -> None:
    offer(lab, *pair, toolkit(tmp_path, "10.1.300"))
    env.write("pyvenv.cfg", "home = /usr/bin\n")
    env.dist("cupy-cuda101", "7.8.0")
    succeeded(stocked.run("alias", "needed", "auto"))
    for request in ("auto", "needed"):
        assert installed(stocked, request, VIRTUAL_ENV=str(env.prefix)) == ([FULL], [])
    assert stored(stocked)["toolkits"] == [BARE, FULL]


@pytest.mark.parametrize("request_", ["10.1", "10.1.243", "10.1+cudnn7"])
def test_odd_options_are_told_whatever_is_there(stocked: Home, lab: Path, request_: str) -> None:
    before = snapshot(stocked.store)
    odd = ("install", request_, "--components", "nvcc,bogus")
    refused(stocked.run(*odd), "components cannot be chosen", hint="--from nvidia")
    refused(stocked.run(*odd, "--offline"), "unknown component `bogus`", hint="choose from build")
    near = [word.replace("bogus", "minimum") for word in odd]
    refused(
        stocked.run(*near, "--offline"),
        "unknown component `minimum`",
        hint="`minimal`? Components: ",
    )
    odd = stocked.run("install", request_, "--from", "nvidia", "--channel", "lab")
    refused(odd, "`nvidia` has no channels", hint="--from conda")
    assert snapshot(stocked.store) == before


def test_options_that_change_nothing_are_told(
    stocked: Home, lab: Path, pair: list[Path], tmp_path: Path
) -> None:
    succeeded(stocked.run("adopt", adoptable(tmp_path / "mine", "11.2.152")))
    before = snapshot(stocked.store)
    anew = "hint: --force reinstalls it"
    said = f"cudaswitch: CUDA {BARE} is already installed, from a file"
    told, elsewhere = [said, anew], [said, "hint: --force installs that of conda, if there is one"]
    for request in ("10.1", "10.1.243", "10.1+cudnn7"):
        for size in ("full", "build"):
            assert installed(stocked, request, "--components", size) == ([FULL], told)
        assert installed(stocked, request, "--from", "conda") == ([FULL], elsewhere)
    assert installed(stocked, "10.1.243", "--channel", str(lab)) == ([FULL], elsewhere)
    assert installed(stocked, "10.1.243", "--components", "full", "--offline") == ([FULL], told)
    adopted = [
        "cudaswitch: CUDA 11.2.152 is already installed, adopted",
        "hint: --force installs that of runfile, if there is one",
    ]
    assert installed(stocked, "11.2.152", "--from", "runfile") == (["11.2.152"], adopted)
    adopted[1] = "hint: --force installs another one"
    assert installed(stocked, "11.2.152", "--components", "full") == (["11.2.152"], adopted)
    assert snapshot(stocked.store) == before
    assert installed(stocked, "10.1.243", "--from", "conda", "--force") == ([BARE, FULL], [])
    assert installed(stocked, "10.1.243", "--from", "conda") == ([FULL], [])
    offer(lab, *pair, newer_cudnn(tmp_path))
    cudnn_alone = ("10.1.243", "--cudnn", "7.6.6", "--from", "conda")
    told = [f"cudaswitch: CUDA {BARE} is already installed, from conda", anew]
    assert installed(stocked, *cudnn_alone, "--components", "full") == (
        [f"{BARE}+cudnn7.6.6"],
        told,
    )

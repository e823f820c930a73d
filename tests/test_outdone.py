"""A pin that this shell does not follow, since something stronger asks here, says so."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import pytest

from checks import refused, succeeded
from homes import Home
from shells.conda import conda_prefix
from shells.venvs import with_venv
from stock import BARE, FULL, kit
from tools import console_script


def test_use_is_stronger_than_what_is_pinned_then(stocked: Home, tmp_path: Path) -> None:
    here = tmp_path / "here"
    here.mkdir()

    def said(*lines: str) -> list[str]:
        program = shlex.quote(str(console_script()))
        text = "\n".join([f'eval "$({program} init bash)"', *lines])
        done = subprocess.run(
            ["bash", "-c", text],
            cwd=here,
            env=stocked.env | {"CUDASWITCH_QUIET": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        return [line for line in done.stderr.splitlines() if " asks for " not in line]

    above = f"cudaswitch pin {BARE} --cudnn none --dir {tmp_path}"
    told = [f"cudaswitch: this shell uses {FULL}, chosen with `use`", "hint: cudaswitch off"]
    for place in ("", " --dir .", " --global"):
        assert said("cudaswitch use 10.1", f"cudaswitch pin {BARE} --cudnn none{place}") == told
    assert said("cudaswitch use 10.1", f"cudaswitch pin {FULL}") == []
    assert said(f"cudaswitch pin {BARE} --cudnn none") == []
    assert said("cudaswitch use 10.1", "cudaswitch pin system")[0] == told[0]
    assert said("cudaswitch use 10.1", above) == []
    (here / ".cuda-version").unlink()
    assert said("cudaswitch use 10.1", above) == told
    assert said("cudaswitch use system", "cudaswitch pin 10.1 --dir .") == [
        "cudaswitch: this shell uses no toolkit, chosen with `use`",
        told[1],
    ]


def test_a_variable_is_stronger_than_what_is_pinned(stocked: Home, tmp_path: Path) -> None:
    done = stocked.run("pin", FULL, cwd=tmp_path, CUDASWITCH_VERSION="10.1+cudnnnone")
    succeeded(done)
    assert done.stderr.splitlines()[1:] == [
        f"cudaswitch: in this shell CUDASWITCH_VERSION takes precedence, and requests {BARE}",
        "hint: unset CUDASWITCH_VERSION",
    ]


@pytest.mark.parametrize("place", ["--dir", "--global"])
def test_an_environment_is_stronger_than_a_file(stocked: Home, tmp_path: Path, place: str) -> None:
    prefix = conda_prefix(tmp_path / "env")
    succeeded(stocked.run("pin", BARE, "--cudnn", "none", "-p", prefix))
    active = {"CONDA_PREFIX": str(prefix), "CONDA_SHLVL": "1"}
    words = [place, "."] if place == "--dir" else [place]
    done = stocked.run("pin", FULL, *words, cwd=tmp_path, **active)
    succeeded(done)
    assert done.stderr.splitlines()[1:] == [
        f"cudaswitch: in this shell the pin of `{prefix}` takes precedence, and requests {BARE}",
        f"hint: cudaswitch unpin -p {prefix}",
    ]


def test_a_directory_is_stronger_than_the_pin_for_all(stocked: Home, tmp_path: Path) -> None:
    succeeded(stocked.run("pin", BARE, "--cudnn", "none", cwd=tmp_path))
    done = stocked.run("pin", FULL, "--global", cwd=tmp_path)
    assert done.stderr.splitlines()[1:] == [
        f"cudaswitch: in this shell {tmp_path}/.cuda-version takes precedence, and requests {BARE}",
        f"hint: cudaswitch unpin --dir {tmp_path}",
    ]


def test_another_environment_or_folder_is_not_asked(stocked: Home, tmp_path: Path) -> None:
    prefix, variables = with_venv(tmp_path / "env"), {"_CUDASWITCH_U": str(kit(stocked))}
    for words in (["-p", prefix], ["--dir", prefix]):
        done = stocked.run("pin", BARE, "--cudnn", "none", *words, cwd=tmp_path, **variables)
        succeeded(done)
        assert "this shell" not in done.stderr


def test_where_the_default_has_no_pin_the_file_that_asks_here_is_named(
    stocked: Home, tmp_path: Path
) -> None:
    prefix, below = with_venv(tmp_path / "env"), tmp_path / "a b" / "below"
    below.mkdir(parents=True)
    (below.parent / ".cuda-version").write_text("10.1\n")  # by hand: `list` knows nothing of it
    typed = f"cudaswitch unpin --dir '{below.parent}'"
    done = stocked.run("unpin", cwd=below.parent, VIRTUAL_ENV=str(prefix))
    refused(done, f"`{prefix}` is not pinned", hint=typed)
    refused(stocked.run("unpin", cwd=below), "there is no `.cuda-version` in `", hint=typed)
    done = stocked.run("unpin", "-p", prefix, cwd=below)
    refused(done, f"`{prefix}` is not pinned", hint="cudaswitch list")
    succeeded(stocked.run(*shlex.split(typed)[1:], cwd=below))
    refused(stocked.run("unpin", cwd=below), hint="cudaswitch list")


def test_nobody_is_told_to_create_what_is_to_be_unpinned(stocked: Home, tmp_path: Path) -> None:
    for option in ("-p", "--dir"):
        done = stocked.run("unpin", option, tmp_path / "gone")
        refused(done, "does not exist", hint="check the path")


def test_a_link_to_the_place_makes_no_difference(stocked: Home, tmp_path: Path) -> None:
    prefix, link = with_venv(tmp_path / "env"), tmp_path / "link"
    link.symlink_to(prefix)
    through = {"PWD": str(link), "VIRTUAL_ENV": str(link)}
    for place in (["--dir", "."], ["-p", prefix]):
        words = ["pin", FULL, *place]
        done = stocked.run(*words, cwd=link, CUDASWITCH_VERSION="10.1+cudnnnone", **through)
        succeeded(done)
        assert "in this shell CUDASWITCH_VERSION takes precedence" in done.stderr
        succeeded(stocked.run("unpin", *place, cwd=link))
    # What is pinned does not outdo itself.
    done = stocked.run("pin", "system", "-p", prefix, cwd=link, **through)
    assert "takes precedence" not in done.stderr


def test_what_asks_for_nothing_here_is_not_outdone_by_nothing(
    stocked: Home, tmp_path: Path
) -> None:
    done = stocked.run("pin", "auto", "--global", cwd=tmp_path)
    succeeded(done)
    [line] = done.stderr.splitlines()
    assert line.endswith(" asks for what the active environment needs")

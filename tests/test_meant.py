"""Requests that cannot be read: the hint says what was meant, in words that work."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from checks import refused, succeeded
from cudaswitch.versions import parse_request
from homes import Home

RANGES = {
    **dict.fromkeys(("12.4-12.6", "12.6-12.4", "12.4 - 12.6", "cuda 12.4-12.6"), ">=12.4,<=12.6"),
    "11.8-12.4": ">=11.8,<=12.4",
    **dict.fromkeys(("12-13", "cuda 13-12"), ">=12,<=13"),
    "11.8-12": ">=11.8,<=12",
    "12+": ">=12",
    "12.4+": ">=12.4",
    "~=12.4": ">=12.4,<13",
    "~=12.4.1": ">=12.4.1,<12.5",
}


@pytest.mark.parametrize("command", ["exec", "pin", "install", "lock", "search"])
@pytest.mark.parametrize("text", RANGES)
def test_a_range_as_others_write_it(home: Home, command: str, text: str) -> None:
    done = home.run(command, text, *(["--", "true"] if command == "exec" else []))
    # `search` itself takes the word `cuda` before a version.
    refused(
        done,
        f"{text.removeprefix('cuda ')}` is not a CUDA version",
        hint=f"write it as '{RANGES[text]}'",
    )
    [word] = shlex.split(done.stderr.partition("write it as ")[2])
    assert parse_request(word).is_range


@pytest.mark.parametrize(
    "text",
    ["12.4,11.8", "12.4, 11.8", "12.4_11.8", "12.4,11.8,10.1", "12 13", "12,13", "12.4 13.0"],
)
def test_several_versions_make_no_other_one(home: Home, text: str) -> None:
    names = text.replace(",", " ").replace("_", " ").split()
    # The words that were typed are not proposed again.
    several = f", or, where several are allowed, one after the other: {' '.join(names)}"
    hint = "name one of them" + several * (text.split() != names)
    for command in ("install", "pin"):
        done = home.run(command, text)
        refused(done, f"`{text}` is not a CUDA version", hint=hint)
        assert done.stderr.endswith("name one of them\n") is (text.split() == names)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("10 1 243", "10.1.243"),
        ("10_1_243", "10.1.243"),
        ("6 5", "6.5"),
        ("12.4.131-1", "12.4.131.1"),
    ],
)
def test_a_version_in_other_signs(home: Home, text: str, meant: str) -> None:
    refused(home.run("install", text), "is not a CUDA version", hint=f"write it as {meant}")


@pytest.mark.parametrize("text", ["1 2", "12 131", "12_41", "9 10"])
def test_two_numbers_make_no_third(home: Home, text: str) -> None:
    refused(home.run("install", text), f"`{text}` is not a CUDA version", hint="for example 10.1")


@pytest.mark.parametrize(("text", "meant"), [("118", "11.8"), ("124", "12.4"), ("92", "9.2")])
def test_a_version_without_its_dot(home: Home, text: str, meant: str) -> None:
    """A version without its dot, as wheels have it after `cu`, gets one in the hint."""
    for command in (["exec", text, "--", "true"], ["pin", text]):
        refused(home.run(*command), f"CUDA {text} is not installed", hint=f"write it as {meant}")
    done = home.run("install", text, "--from", "runfile")
    refused(done, f"no runfile of CUDA {text} is known", hint=f"write it as {meant}")


def test_a_cudnn_without_a_version(home: Home) -> None:
    refused(
        home.run("install", "12.4+cudnn"), "`12.4+cudnn` is not a toolkit", hint="10.1+cudnn7.6"
    )


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("latset", "latest"),
        ("Latest", "latest"),
        ("systm", "system"),
        ("Auto", "auto"),
        ("thesi", "thesis"),
        ("THESIS", "thesis"),
        ("mylab", "MyLab"),
    ],
)
def test_a_mistyped_word_is_told_the_nearest(home: Home, text: str, meant: str) -> None:
    succeeded(home.run("alias", "thesis", "10.1"))
    succeeded(home.run("alias", "MyLab", "10.1"))
    for words in (["want", "--for-use"], ["pin"], ["install"], ["remove"]):
        done = home.run(*words, text)
        refused(done, f"there is no alias `{text}`", hint=f"hint: did you mean `{meant}`?")


def test_a_toolkit_that_nobody_has(home: Home) -> None:
    for command in ("verify", "remove"):
        message = refused(home.run(command, "lab"), hint="hint: cudaswitch list")
        assert message.endswith("no toolkit `lab` is installed, and there is no alias `lab`")


def test_a_file_is_taken_as_it_is(home: Home, pair: list[Path]) -> None:
    """A file may be installed with `--from conda`, if that is where it is from."""
    assert succeeded(home.run("install", pair[0], "--from", "conda")) == ["10.1.243"]


def test_a_toolkit_without_cudnn_is_brought_without(stocked: Home) -> None:
    succeeded(stocked.run("remove", "10.1.243"))
    done = stocked.run("exec", "10.1", "--cudnn", "none", "--", "true")
    refused(done, "CUDA 10.1 without cuDNN is not installed", hint="install 10.1 --cudnn none")


def test_a_word_that_is_near_none(home: Home) -> None:
    hint = "to create it: cudaswitch alias lab VERSION"
    refused(home.run("pin", "lab"), "there is no alias `lab`", hint=hint)
    refused(home.run("pin", "None"), "no alias `None`", hint="`system` means no toolkit")


@pytest.mark.parametrize("name", ["pytorch", "PyTorch", "torch", "tensorflow-gpu"])
def test_a_framework_is_no_version(home: Home, name: str) -> None:
    framework = name.lower().removeprefix("py").removesuffix("-gpu")
    for command in ("install", "pin"):
        done = home.run(command, name)
        refused(done, f"there is no alias `{name}`", hint="hint: cudaswitch install auto ")
        assert done.stderr.endswith(f"; cudaswitch compat {framework} shows what that may be\n")


@pytest.mark.parametrize("word", ["CUDA", "Cuda"])
def test_cuda_in_capitals(home: Home, word: str) -> None:
    said = "give the CUDA version alone, without the word cuda"
    refused(home.run("install", word, "13.0"), said, code=2, hint="hint: cudaswitch install 13.0")
    done = home.run("install", "12", "CuDNN", "9")
    refused(
        done,
        "give cuDNN together with a CUDA version",
        code=2,
        hint="cudaswitch install 12 --cudnn 9",
    )
    succeeded(home.run("alias", word, "10.1"))
    refused(home.run("install", word, "--offline", "--from", "pypi"), "CUDA releases")


@pytest.mark.parametrize(
    ("text", "name"), [("torhc", "torch"), ("pytroch", "torch"), ("Tensorfow", "tensorflow")]
)
def test_a_mistyped_framework(home: Home, text: str, name: str) -> None:
    done = home.run("compat", text)
    refused(done, f"`{text}` is not a known framework", code=2, hint=f"did you mean `{name}`?")


@pytest.mark.parametrize(
    ("text", "why"),
    [("", "it is empty"), ("# mine\n\n", "it is empty"), ("a = 1\n", "does not state the version")],
)
def test_a_lock_file_that_says_nothing(home: Home, text: str, why: str) -> None:
    file = home.path / "cuda.lock"
    file.write_text(text)
    refused(home.run("sync", "--lock", file), f"cannot use `{file}`: ", why, hint="cudaswitch lock")


def test_a_folder_is_no_program(lent: Home) -> None:
    done = lent.run("exec", "10.1", "--", str(lent.path))
    refused(done, f"`{lent.path}` is a folder, not a program", code=127, hint=None)
    refused(lent.run("exec", "10.1", "--", "/nosuch"), "no program", code=127, hint=None)


def test_a_byte_that_is_no_text_is_spelt_as_one(home: Home) -> None:
    refused(home.run("pin", "a\udcffb\x1b\u202e"), "`a\\xffb\\x1b\\u202e`")

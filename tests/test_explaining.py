"""The answer as users and programs read it: every reason with its source."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import termios

import pytest

from checks import succeeded
from cudaswitch.compat.compilers import Bounds
from cudaswitch.resolver import resolve
from cudaswitch.resolver.explain import explain
from handmade import facts, found, tensorflow, toolkit, torch
from homes import Home
from made_environments import Env
from tools import console_script


def test_every_reason_says_where_it_was_read():
    need = tensorflow("2.1.0", "10.1", "7")
    answer = resolve(
        facts(need, driver_source="/sys", cc=("7.0",), gcc=(12,), prefix="/env"),
        [toolkit("10.1.243")],
    )
    assert answer.reasons
    assert all(reason.source for reason in answer.reasons)


def test_the_json_has_stable_keys():
    answer = resolve(facts(tensorflow("2.1.0", "10.1", "7")), [toolkit("10.1.243+cudnn7.6.5")])
    data = answer.to_json()
    assert list(data) == [
        "toolkit", "cuda", "cudnn", "runs", "bundled", "frameworks", "reasons", "rejected", "hint",
    ]  # fmt: skip
    assert data["frameworks"] == [
        {
            "name": "tensorflow", "version": "2.1.0", "cuda": "10.1", "cudnn": "7.6",
            "runs": True, "bundled": False, "source": "record", "known": True,
        }
    ]  # fmt: skip
    assert set(data["reasons"][0]) == {"text", "source"}


@pytest.mark.parametrize(
    ("frameworks", "first"),
    [
        ((), "no framework found: nothing to choose for"),
        ((torch("2.0+cpu", gpu="cpu"),), "needs no CUDA"),
        ((torch("99.0"),), "the CUDA it needs is unknown"),
        ((found("cupy", "13.0.0"),), "the CUDA it needs is unknown"),
        ((torch("2.13.0", "14.0"),), "runs on its own CUDA 14.0"),
        ((tensorflow("2.1.0", "10.1", "7"),), "needs CUDA 10.1 and cuDNN 7.6: not installed"),
        ((torch("9.9.9", "8.0"), torch("2.0", "11.8")), "runs on its own CUDA 11.8"),
    ],
)
def test_the_explanation_starts_with_the_choice(frameworks, first):
    assert explain(resolve(facts(*frameworks), [])).startswith(first)


def test_the_explanation_holds_reasons_rejected_and_the_next_step():
    text = explain(
        resolve(
            facts(tensorflow("2.1.0", "10.1", "7"), driver="400.1"),
            [toolkit("10.1.243+cudnn7.6.5")],
        )
    )
    assert text.startswith("cannot run here")
    assert "sources\n  [1] file" in text
    assert "] NVIDIA CUDA Toolkit" in text
    assert "not chosen\n  - 10.1.243+cudnn7.6.5 needs driver 418.39" in text
    assert "\nhint: TensorFlow 1." in text


@pytest.mark.parametrize(
    ("accepted", "told"),
    [
        (
            Bounds(None, 9, None, None, "its header"),
            "up to 9, the default is 12; no compatible one is",
        ),
        (Bounds(5, 13, None, None, "its header"), None),
        (None, None),
    ],
)
def test_the_host_compiler_is_held_against_the_nvcc_of_the_toolkit(accepted, told):
    """gcc is held against the toolkit's own nvcc, not its release; against none if it has none."""
    need = facts(tensorflow("2.1.0", "10.1", "7"), gcc=(12,))
    answer = resolve(need, [toolkit("10.1.243+cudnn7.6.5")], lambda _: accepted)
    assert answer.toolkit
    said = [it for it in answer.reasons if "compiles with gcc" in it.text]
    assert [(told in it.text, it.source) for it in said] == [(True, "its header")] * bool(told)


def test_what_holds_for_those_that_follow_another_is_said_once():
    needs = torch("2.5.1", "12.4", "9.1.0.70"), found("torchvision", "0.20.1")
    text = explain(resolve(facts(*needs, driver="550.54.14"), []))
    assert text.count("driver 550.54.14 runs CUDA 12.4") == 1
    assert "torchvision 0.20.1\n    - it uses what PyTorch 2.5.1 uses" in text


def test_what_follows_one_whose_cuda_is_unknown_is_not_known_either():
    answer = resolve(facts(torch("2.13.0+nv23.09"), found("torchvision", "0.28.0")), [])
    assert [(it.cuda, it.known) for it in answer.frameworks] == [(None, False)] * 2
    assert "\n  torchvision 0.28.0: not known\n" in explain(answer)


def test_a_framework_without_a_version_is_called_by_its_title():
    """Of one that was unpacked without a record of its package, only its own files tell."""
    text = explain(resolve(facts(tensorflow("", "12.5.1", "9")), []))
    assert "\n  TensorFlow: CUDA 12.5.1, cuDNN 9\n" in text


def test_the_explanation_cites_each_source_once_and_names_each_framework_once():
    answer = resolve(facts(torch("2.5.1", "12.4"), tensorflow("2.15.1", "12.2", "8")), [])
    text = explain(answer)
    assert text.count("\n  PyTorch 2.5.1\n") == 2  # what it was built for; what runs it
    for source in {reason.source for reason in answer.reasons if reason.source}:
        assert text.count(f"] {source}\n") + text.endswith(f"] {source}") == 1
    assert text.count("`nvidia-smi` shows") == 1


@pytest.mark.parametrize("width", [40, 80, 120])
def test_the_explanation_fits_a_terminal_and_loses_no_word(width):
    answer = resolve(facts(tensorflow("2.1.0", "10.1", "7"), cc=("7.0",)), [toolkit("10.2.89")])
    whole, broken = explain(answer), explain(answer, width)
    assert whole.split() == broken.split()
    assert all(len(line) <= width or " " not in line.strip(" -") for line in broken.splitlines())
    assert max(map(len, whole.splitlines())) > 120


def test_what_follows_stands_below_the_text_of_the_first():
    answer = resolve(facts(tensorflow("2.1.0", "10.1", "7")), [toolkit("10.2.89")])
    pieces = iter(explain(answer, 40).splitlines())
    hung = set()
    for line in explain(answer).splitlines():
        text = line.lstrip()
        mark = text[: {"-": 2, "[": 4}.get(text[:1], 0)]
        words = next(pieces).split()
        while words != line.split():
            following = next(pieces)
            words += following.split()
            assert following == " " * (len(line) - len(text) + len(mark)) + following.lstrip()
            hung.add(mark)
    assert {mark[:1] for mark in hung} >= {"-", "["}


@pytest.mark.parametrize("columns", [0, 60])
def test_a_terminal_that_tells_no_width_gets_whole_lines(home: Home, env: Env, columns: int):
    """A terminal of 0 columns, as a serial line or one of `expect` may be, gets whole lines."""
    env.torch("2.5.1+cu124", "12.4")
    env.write("conda-meta/history", "")
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    with subprocess.Popen(
        [console_script(), "resolve", "-p", env.prefix], env=home.env, stdout=theirs
    ):
        os.close(theirs)
        with open(ours, "rb", buffering=0) as terminal:
            text = b""
            try:
                while block := terminal.read(4096):
                    text += block
            except OSError:  # the other end is closed
                pass
    whole = succeeded(home.run("resolve", "-p", env.prefix))
    shown = text.decode().splitlines()
    assert shown == whole if columns == 0 else len(shown) > len(whole)

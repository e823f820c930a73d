"""What is pasted into `doctor`: from files, pipes and terminals, long, and in any encoding."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from collections.abc import Iterable
from typing import Any

import pytest

from checks import refused
from cudaswitch.doctor.messages import Message, messages
from cudaswitch.doctor.pasted import LONGEST, read
from doctoring import Patient
from tools import console_script

if sys.version_info >= (3, 11):
    from re import _parser as parser
else:
    import sre_parse as parser

PASTED = "ImportError: libcusparse.so.12: undefined symbol: __nvJitLinkAddData_12_1\n"


def test_a_file_a_pipe_and_nothing(patient: Patient) -> None:
    file = patient.work / "error.txt"
    file.write_text(PASTED)
    env = patient.home.env | patient.env

    def asked(line: str) -> subprocess.CompletedProcess[str]:
        command = line.replace("DOCTOR", f"'{console_script()}' doctor").replace("FILE", str(file))
        return subprocess.run(
            ["bash", "-c", command],
            env=env,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    for line in ("DOCTOR < FILE", "cat FILE | DOCTOR", "(sleep 0.3; cat FILE) | DOCTOR"):
        assert "CS101 error: " in asked(line).stdout, line
    for line in ("DOCTOR < /dev/null", ": | DOCTOR", "DOCTOR <&-"):
        assert "CS101" not in asked(line).stdout, line
    with subprocess.Popen(
        [console_script(), "doctor"],
        env=env,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as silent:
        assert silent.stderr
        assert "nothing was read from standard input" in silent.stderr.readline()


LOST = "ImportError: libcudart.so.11.0: cannot open shared object file: No such file or directory"


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ("".join(f"step {number} loss 0.1\n" for number in range(80_000)), "", True),
        ("x" * 79 + "\n", "y" * 79 + "\n", False),
        ("x" * (3 * LONGEST) + "\n", "", True),
        ("", "".join(f"step {number} loss 0.1\n" for number in range(80_000)), True),
        ("same line\n" * 100_000, "", False),
        ("same line\n" * 1_000_000, "", True),
    ],
)
def test_the_end_of_a_long_log(patient: Patient, before: str, after: str, says: bool) -> None:
    done = patient.home.run("doctor", stdin=f"{before}{LOST}\n{after}", **patient.env)
    assert "CS108 error: " in done.stdout
    assert ("lines in between" in done.stderr) == says


def test_no_end_is_waited_for_for_ever(patient: Patient) -> None:
    command = f"(echo '{LOST}'; yes 'a line') | '{console_script()}' doctor"
    done = subprocess.run(
        ["bash", "-c", command],
        env=patient.home.env | patient.env,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert "CS108 error: " in done.stdout


def test_lines_between_are_counted() -> None:
    text = b"".join(b"%07d\n" % number for number in range(1_000_000))
    pasted = read(io.BytesIO(text))
    lines = pasted.text.splitlines()
    assert (lines[0], lines[-1]) == ("0000000", "0999999")
    assert len(lines) + pasted.left_out == 1_000_000


@pytest.mark.parametrize(
    "coding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32-le"]
)
def test_how_editors_and_powershell_write(coding: str) -> None:
    filler = "x" * (LONGEST - 1)
    for text in (f"{LOST}\n", f"{filler}\n{filler}\n{filler}\n{LOST}\r\n"):
        found = LOST in read(io.BytesIO(text.encode(coding))).text.splitlines()
        assert found == (coding != "utf-32-le")


def test_a_log_that_begins_with_zeros() -> None:
    assert LOST in read(io.BytesIO(b"\0" * 4096 + f"\n{LOST}\n".encode())).text.splitlines()


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("nvcc fatal   : Unsupported gpu architecture \u2018compute_89\u2019", "CS123"),
        ("nvcc fatal   : Unsupported gpu architecture \x1b[01m\x1b[K'compute_89'\x1b[m", "CS123"),
        ("fatal error: \x1b[1mcublas_v2.h\x1b[0m: No such\xa0file or directory", "CS119"),
        ("lib\x1b[31mcudart.so.11.0\x1b[0m: cannot \x1b[Kopen shared object file", "CS108"),
        ("\x1b]8;;https://a.b/c\x07cuda_runtime.h\x1b]8;;\x07: No such file", "CS119"),
        (
            "[Errno 2] No such file or directory: \u201c/usr/local/cuda/bin/nvcc\u201d",
            "CS118",
        ),
    ],
)
def test_how_terminals_and_word_processors_write(text: str, code: str) -> None:
    pasted = read(io.BytesIO(text.encode()))
    [row] = [row for row in messages() if row.code == code]
    assert row.pattern.search(pasted.text)


@pytest.mark.parametrize(
    "before",
    [
        *("#15 1.295 ", "1.295 ", "14.87   ", "476.6 ", "12:32:13 "),
        *("2026-05-09T10:11:12.1314151Z ", "2026-05-09T10:11:12Z #15 1.295 "),
        *("> ", "       > ", "> > ", "ollama-1  | ", "[stderr]", "[rank0]: "),
    ],
)
def test_what_programs_write_before_each_line(before: str) -> None:
    """A message over two lines is found in the logs of Docker, CI and `torchrun`, and in quotes."""
    said = (
        "The detected CUDA version (11.8) mismatches the version that was used to compile",
        "PyTorch (12.1). Please make sure to use the same CUDA versions.",
    )
    log = "".join(f"{before}{line}\r\n" for line in ("RuntimeError:", "", *said))
    lines = [line.strip() for line in read(io.BytesIO(log.encode())).text.splitlines()]
    assert [line for line in lines if line] == ["RuntimeError:", *said]


@pytest.mark.parametrize(
    "line",
    [
        *("  139 | #error -- unsupported GNU version!", "| NVIDIA-SMI 530.30.02 |", ">>> import a"),
        *("11.8 is there", "12.1 or newer", "#15 is no step", "[1/2] Building", "12:30 a"),
    ],
)
def test_what_belongs_to_a_line(line: str) -> None:
    assert read(io.BytesIO(line.encode())).text == line


def test_what_is_said_last_names_nothing_that_is_not_there(patient: Patient) -> None:
    done = patient.home.run("doctor", stdin=PASTED, **patient.env)
    assert done.stderr == "cudaswitch: 1 finding\n"


def test_what_looks_like_a_version_stops_no_explanation(patient: Patient) -> None:
    """Neither full-width nor many digits are one; a name ends where Chinese begins."""
    pasted = (
        "libcudart.so.\uff11\uff12: cannot open shared object file\n"
        "CUDA Version: 1234567890.1\n"
        "/usr/bin/ld: cannot find -lcublas\u9519\u8bef\n"
    )
    assert patient.told(pasted)["code"] == "CS114"


def test_what_is_not_known(patient: Patient) -> None:
    hostile = "\x1b[31m" + "libcudnn.so." * 50_000 + "\n" + "\0" * 100 + "\n(((((\n"
    done = patient.home.run("doctor", stdin=hostile, **patient.env)
    assert "no known error message" in done.stderr
    assert "\x1b" not in done.stdout + done.stderr
    long = patient.home.run("doctor", "--json", stdin="x" * (LONGEST + 10), **patient.env)
    assert "Traceback" not in long.stderr
    refused(patient.home.run("doctor", "--fix", "--json"), "--fix and --json", code=2)


def has_one(parsed: Iterable[tuple[Any, Any]], words: tuple[str, ...]) -> bool:
    """Tell whether one of the words is in whatever a parsed pattern matches."""
    plain = ""
    for kind, value in parsed:
        if str(kind) == "LITERAL":
            plain += chr(value)
            continue
        plain += "\0"
        if str(kind) == "BRANCH":
            inside = all(has_one(way, words) for way in value[1])
        elif str(kind) in ("MAX_REPEAT", "MIN_REPEAT"):
            inside = value[0] > 0 and has_one(value[2], words)
        else:
            inside = str(kind) in ("SUBPATTERN", "ASSERT") and has_one(value[-1], words)
        if inside:
            return True
    return any(word in plain for word in words)


@pytest.mark.parametrize("row", messages(), ids=lambda row: row.code)
def test_the_words_of_a_message_are_in_all_that_its_pattern_matches(row: Message) -> None:
    """Neither begins nor ends with a space, so that lines may be stripped before it is sought."""
    assert all(len(word) > 2 and word == word.strip() for word in row.words)
    assert has_one(parser.parse(row.pattern.pattern, re.ASCII), row.words)

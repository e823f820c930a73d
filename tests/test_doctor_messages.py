"""Messages from real threads, pasted into `doctor`: each gets its cause and a next command."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cudaswitch.doctor import RULES
from cudaswitch.doctor.gathering import gather
from cudaswitch.doctor.messages import Message, explain, messages
from cudaswitch.doctor.model import Facts
from cudaswitch.doctor.spelling import activate_command
from cudaswitch.environments import environment_at
from cudaswitch.shells import shell_named
from doctoring import Patient
from doctoring.patient import OwnEnv

MESSAGES = json.loads((Path(__file__).parent / "pasted_messages.json").read_text(encoding="utf-8"))
"""Thread → the message as users met it, and words of the cause and of the command."""
WORDED = json.loads((Path(__file__).parent / "worded_messages.json").read_text(encoding="utf-8"))
"""Code → other words in which releases of programs print the same message."""


def test_nccl_comes_by_what_the_shell_has(patient: Patient) -> None:
    prefix = patient.work / "env"
    (prefix / "conda-meta").mkdir(parents=True)
    patient.env |= {"CONDA_PREFIX": str(prefix), "PATH": f"{prefix}/bin:{patient.path}"}
    pasted = "libnccl.so.2: cannot open shared object file"
    for program in ("conda", "micromamba"):
        assert patient.told(pasted)["fix"] == f"{program} install -c conda-forge nccl=2"
        patient.env["MAMBA_EXE"] = "/m/micromamba"


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> Facts:
    """A machine with three gcc and nothing else installed, whatever this one has."""
    at = str(tmp_path_factory.mktemp("nobody"))
    variables = {"PATH": "/usr/bin:/bin", "SHELL": "/bin/bash", "HOME": at, "PWD": "/"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CUDASWITCH_HOME", f"{at}/store")
        found = gather(variables)
    return replace(found, needs=found.needs._replace(gcc=(14, 11, 10)))


@pytest.mark.parametrize("row", MESSAGES, ids=lambda row: row["thread"])
def test_a_message_gets_its_cause(facts: Facts, row: dict[str, Any]) -> None:
    text = f'Traceback (most recent call last):\n  File "x.py", line 1\n{row["message"]}\nDone\n'
    [finding] = explain(text, facts, [])
    told = finding.to_json()
    assert row["thread"] in finding.rule.threads, told
    for key in ("title", "cause", "fix"):
        for word in row.get(key, []):
            assert word in told[key], told
        assert "{" not in told[key].replace("${", ""), told
    assert told["fix"]


@pytest.mark.parametrize(
    ("code", "text"), [(code, text) for code, texts in WORDED.items() for text in texts]
)
def test_each_release_has_words_of_its_own(facts: Facts, code: str, text: str) -> None:
    [finding] = explain(f"Building\n{text}\nDone\n", facts, [])
    assert finding.rule.code == code
    assert finding.fix


@pytest.mark.parametrize(
    ("library", "wheel"),
    [
        ("libcutensor.so.1", r"cutensor-cu\d\d==1\.\*"),
        ("libcutensorMg.so.2", r"cutensor-cu\d\d==2\.\*"),
        ("libnvshmem_host.so.3", r"nvidia-nvshmem-cu\d\d==3\.\*"),
        ("libcusparseLt.so.0", r"nvidia-cusparselt-cu\d\d==0\.\*"),
        ("libcudss.so.0", r"nvidia-cudss-cu\d\d==0\.\*"),
        ("libcudss_mtlayer_gomp.so.1", r"nvidia-cudss-cu\d\d==1\.\*"),
    ],
)
def test_a_wheel_s_major_is_the_number_of_its_library(
    facts: Facts, library: str, wheel: str
) -> None:
    """cuDSS 1.0 has no libcudss.so.0, and cuTENSOR 2 no libcutensor.so.1."""
    [finding] = explain(f"ImportError: {library}: cannot open shared object file", facts, [])
    assert re.fullmatch(f"pip install '{wheel}'", finding.fix)


REFUSED = (
    "RuntimeError: The current installed version of g++ (14.2.0) is greater than the maximum"
    " required version by CUDA {}. Use an adequate version of g++ (>=6.0.0, {})."
)


@pytest.mark.parametrize(
    ("text", "cause", "fix"),
    [
        (REFUSED.format("11.7 (11.5.0)", "<=11.5.0"), "gcc 6 to 11 with", "export CXX=g++-11"),
        (REFUSED.format("12.1", "<13.0"), "gcc 6 to 12 with", "export CXX=g++-11"),
        (REFUSED.format("10.1", "<9.0"), "gcc 6 to 8 with", "apt install g++-8"),
        (
            "#error -- unsupported GNU version! gcc versions later than 13 are not supported!",
            "up to 13",
            "export NVCC_PREPEND_FLAGS=-ccbin=g++-11",
        ),
        (
            "#error -- unsupported GNU version! gcc versions later than 9 are not supported!",
            "up to 9",
            "apt install g++-8",
        ),
    ],
)
def test_an_installed_compiler_goes_before_the_newest_that_fits(
    facts: Facts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, cause: str, fix: str
) -> None:
    apt = tmp_path / "apt-cache"
    apt.write_text("#!/bin/sh\necho g++-8\necho g++-12\n")
    apt.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    [finding] = explain(text, facts, [])
    assert cause in finding.rule.cause
    assert finding.fix == fix


UNSUITABLE = [
    '  Could NOT find CUDAToolkit: Found unsuitable version "13.0.88", but',
    '  required is at least "13.2" (found /usr/local/cuda/include)',
]


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (UNSUITABLE, "13.2 or newer"),
        ([" ".join(UNSUITABLE)], "13.2 or newer"),
        ([UNSUITABLE[0], UNSUITABLE[1].replace("at least", "exact version")], "exactly 13.2"),
        (['-- Could NOT find CUDA: Found unsuitable version "9.1", but required is exact version'
          ' "9.1.85"'], "exactly 9.1"),
    ],
)  # fmt: skip
def test_cmake_says_what_it_wants(facts: Facts, lines: list[str], told: str) -> None:
    """Where CMake finds an unsuitable nvcc, the version that it wants is proposed."""
    text = "\n".join(["CMake Error at a.cmake:230 (message):", *lines, "Call Stack"])
    [finding] = explain(text, facts, [])
    assert told in finding.rule.title
    assert f"install {told.split()[-1 if 'exactly' in told else 0]} " in finding.fix


def test_what_nvcc_said_tells_more_than_that_it_failed(facts: Facts) -> None:
    """CMake's own message is of no use beside nvcc's, which it repeats with lines of its width."""
    [failed] = WORDED["CS158"]
    for code in ("CS122", "CS149", "CS159"):
        [said] = WORDED[code]
        [finding] = explain(f"{failed}\n\n{said}\n", facts, [])
        assert finding.rule.code == code


MISMATCH = [
    "      The detected CUDA version (11.8) mismatches the version that was used to compile",
    "      PyTorch (12.4). Please make sure to use the same CUDA versions.",
]


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        ([" ".join(MISMATCH)], True),
        (MISMATCH, True),
        ([MISMATCH[0], "", MISMATCH[1]], True),
        ([MISMATCH[0], "make: *** [all] Error 1", MISMATCH[1]], False),
        ([MISMATCH[1], MISMATCH[0]], False),
        ([MISMATCH[0]], False),
        (["x" * 3_000, *MISMATCH], True),
    ],
)
def test_a_message_over_two_lines(facts: Facts, lines: list[str], found: bool) -> None:
    told = explain("\n".join(lines), facts, [])
    assert [one.rule.code for one in told] == ["CS116"] * found
    for one in told:
        assert one.found.evidence.startswith("The detected CUDA version (11.8) mismatches")
        assert "PyTorch (12.4)." in one.found.evidence


ADEQUATE = "version by CUDA {} Please make sure to use an adequate version of {} ({})."


@pytest.mark.parametrize(
    ("text", "code", "told"),
    [
        (
            "RuntimeError: ('The detected CUDA version (%s) mismatches the version that was used to"
            " compilePyTorch (%s). Please make sure to use the same CUDA versions.', '12.1',"
            " '13.0')",
            "CS116",
            {"title": "nvcc of CUDA 12.1 for a PyTorch of CUDA 13.0", "fix": "install 13.0 "},
        ),
        (
            "error: nvcc not found at '/usr/local/cuda-11.8/bin/nvcc'. Ensure CUDA path"
            " '/usr/local/cuda-11.8' is correct.",
            "CS118",
            {"cause": "`/usr/local/cuda-11.8/bin/nvcc` comes of", "fix": "install 11.8 "},
        ),
        (
            "RuntimeError: CUDA was not found on the system, please set the CUDA_HOME or the"
            " CUDA_PATHenvironment variable or add NVCC to your system PATH. The extension"
            " compilation will fail.",
            "CS115",
            {"fix": "cudaswitch install "},
        ),
        (
            "UserWarning: Found GPU0 Tesla V100-SXM2-16GB which is of compute capability (CC) 7.0."
            "\nThe following list shows the CCs this version of PyTorch was built for and the"
            " hardware CCs it supports:\n- 7.5 which supports hardware CC >=7.5,<8.0\nYour"
            " installed torch==2.13.0+cu130 does not include kernels for this GPU. Reinstall the"
            " same version against a CUDA build that does, e.g.:",
            "CS142",
            {"cause": "no code for compute capability (CC) 7.0:"},
        ),
        (
            "Your installed torch==2.13.0+cu130 does not include kernels for this GPU. Reinstall"
            " the same version against a CUDA build that does, e.g.:",
            "CS142",
            {"cause": "no code for this GPU:"},
        ),
        (
            "RuntimeError: The current installed version of g++ (5.4.0) is less than the minimum"
            " required " + ADEQUATE.format("13.0 (6.0.0).", "g++", ">=6.0.0, <16.0"),
            "CS166",
            {"cause": "takes gcc 6 to 15 with this CUDA", "fix": "CXX=g++-14"},
        ),
    ],
)
def test_what_pytorch_has_in_its_source(
    facts: Facts, text: str, code: str, told: dict[str, str]
) -> None:
    """Texts of torch/utils/cpp_extension.py and torch/cuda/__init__.py, as 2.13 prints them."""
    [finding] = explain(text, facts, [])
    shown = finding.to_json()
    assert shown["code"] == code
    for key, words in told.items():
        assert words in shown[key], shown


def test_a_clang_that_pytorch_refuses_is_no_gcc(facts: Facts) -> None:
    said = "The current installed version of clang++ (17.0.6) is greater than the maximum required "
    assert explain(said + ADEQUATE.format("12.4.", "clang++", ">=7.0, <17.0"), facts, []) == []


def test_lines_that_are_none_of_a_message_stay_apart(facts: Facts) -> None:
    healthy = "\tlibcudart.so.12 => /usr/local/cuda/lib64/libcudart.so.12\ncannot open x: not found"
    assert explain(healthy, facts, []) == []


def test_the_table() -> None:
    rows = messages()
    codes = [row.code for row in rows]
    assert len(rows) >= 30
    assert codes == sorted(set(codes))
    known = {rule.code for rule in RULES}
    assert not known & set(codes)
    threads = {row["thread"] for row in MESSAGES}
    for row in rows:
        assert set(row.rules) <= known
        assert threads & set(row.source.split(", ")), f"{row.code} has no message here"
    assert len(MESSAGES) >= 30


PASTED = "ImportError: libcusparse.so.12: undefined symbol: __nvJitLinkAddData_12_1\n"


def test_facts_of_this_machine_are_the_evidence(patient: Patient) -> None:
    """A rule that finds the cause here gives its command; without one the table's stands."""
    from doctoring.environment import toolkit_first

    toolkit_first(patient)
    done = patient.home.run("doctor", "--json", stdin=PASTED, **patient.env)
    assert done.returncode == 1, done.stderr
    [found] = json.loads(done.stdout)["findings"]
    assert found["code"] == "CS101"
    assert "CUDA 12.1" in found["cause"]
    assert "CS040: " in found["evidence"]
    assert str(patient.work / "cuda-12.1/lib64") in found["evidence"]
    assert found["fix"] == "export LD_LIBRARY_PATH=/usr/lib"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "tcsh", "xonsh", "nu"])
@pytest.mark.parametrize("name", ["env", "my env's"])
def test_a_program_by_its_path_runs_in_the_persons_shell(
    patient: Patient, require: Callable[[str], str], shell: str, name: str
) -> None:
    env = OwnEnv(patient.work / name)
    env.torch("2.1.0+cu121", "12.1", "nvidia-cudnn-cu12==8.1.0.1")
    env.dist("nvidia-cudnn-cu12", "8.9.2.26")
    (env.packages / "nvidia/cudnn/lib").mkdir(parents=True)
    patient.activate(env)
    patient.env["SHELL"] = require(shell)
    fix = patient.told("Loaded runtime CuDNN library: 8.1.0 but source was compiled with: 8.6.0.")
    (env.prefix / "bin/python").unlink()
    patient.program(env.prefix / "bin/python", '#!/bin/sh\nprintf "%s\\n" "$@"\n')
    command = [patient.env["SHELL"], "-c", fix["fix"]]
    done = subprocess.run(
        command, env=patient.home.env, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("-m\npip\ninstall\nnvidia-cudnn-cu12>=8.6,<9\n", "")


@pytest.mark.parametrize("shell", ["dash", "bash", "zsh", "fish", "tcsh", "xonsh", "nu"])
def test_a_virtualenv_is_activated_in_the_persons_shell(
    facts: Facts, require: Callable[[str], str], tmp_path: Path, shell: str
) -> None:
    prefix = tmp_path / "my env's"
    command = [sys.executable, "-m", "virtualenv", "--no-seed", "--quiet", str(prefix)]
    subprocess.run(command, check=True)
    person = replace(facts, shell=shell_named(shell).name)
    said = activate_command(person, environment_at(prefix))
    before = "set prompt = ''\n" if shell == "tcsh" else ""
    command = [require(shell), "-c", f"{before}{said}\nenv"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert f"\nVIRTUAL_ENV={prefix}\n" in f"\n{done.stdout}", (said, done.stderr)


def test_the_library_that_onnxruntime_names_is_enough(facts: Facts) -> None:
    """ONNX Runtime names the library first, and says then what it needs altogether."""
    named = "Failed to load library libonnxruntime_providers_cuda.so with error: libcudnn.so.9: "
    wanted = "Failed to create CUDAExecutionProvider. Require cuDNN 9.* and CUDA 12.*. Please"
    told = explain(f"{named}cannot open shared object file\n{wanted}\n", facts, [])
    assert [one.rule.code for one in told] == ["CS150"]
    assert [one.rule.code for one in explain(wanted, facts, [])] == ["CS191"]


@pytest.mark.parametrize("row", messages(), ids=lambda row: row.code)
def test_long_lines_take_no_time(row: Message) -> None:
    """A line that repeats what a pattern looks for, as far as lines are read, takes no time."""
    words = re.findall(r"[A-Za-z_/.]{3,}", row.pattern.pattern.replace("\\", ""))
    lines = [word * (2_000 // len(word)) for word in {*words, "A", " ", "a: ", "libcuda.so"}]
    start = time.process_time()
    for line in lines:
        row.pattern.search(line)
    assert time.process_time() - start < 0.02 * len(lines)


def test_a_log_without_a_message_takes_little_time(facts: Facts) -> None:
    steps = (f"{number} INFO step loss not found /usr/lib/libfoo.so.2 " for number in range(40_000))
    start = time.process_time()
    assert explain("\n".join(steps), facts, []) == []
    assert time.process_time() - start < 2


TOO_LONG = "9" * 30


@pytest.mark.parametrize(
    ("line", "code", "version", "other"),
    [
        ("nvcc fatal   : Unsupported gpu architecture 'compute_{}'", "CS123", "90", "9"),
        ("nvcc fatal   : Unsupported gpu architecture 'compute_{}'", "CS123", "120", "99999"),
        (" ".join(MISMATCH).replace("12.4", "{}"), "CS116", "12.4", "..2"),
        ("libcudart.so.{}: cannot open shared object file", "CS108", "12", TOO_LONG),
        ("libcudnn.so.{}: cannot open shared object file", "CS107", "9", TOO_LONG),
        ("libcublas.so.{}: cannot open shared object file", "CS109", "12", TOO_LONG),
        ("libcudnn_ops.so.{}: cannot open shared object file", "CS106", "9", TOO_LONG),
        ("unsupported GNU version! gcc versions later than {}", "CS122", "11", TOO_LONG),
        ("unsupported clang version! clang version must be less than {}", "CS189", "10", TOO_LONG),
        ("nvrtc: error: failed to open libnvrtc-builtins.so.{}.", "CS184", "12.8", TOO_LONG),
        (
            "Found CUDA version 12010, but JAX was built against version {},",
            "CS187",
            "12020",
            TOO_LONG,
        ),
    ],
)
def test_what_is_no_version(facts: Facts, line: str, code: str, version: str, other: str) -> None:
    """A line has a cause with a version in it, and none with a number that is no version."""
    [told] = explain(line.format(version), facts, [])
    assert told.rule.code == code
    assert explain(line.format(other), facts, []) == []


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("nvcc fatal   : Unsupported gpu architecture 'compute_999'", "CS123"),
        ("Could not load dynamic library 'libcudnn.so.99'; dlerror: cannot open", "CS107"),
        ("libcudnn_ops.so.99: cannot open shared object file", "CS106"),
    ],
)
def test_a_version_that_no_toolkit_goes_with(facts: Facts, line: str, code: str) -> None:
    [told] = explain(line, facts, [])
    assert (told.rule.code, told.fix) == (code, "cudaswitch compat")


@pytest.mark.parametrize(
    "line",
    [
        "error: command '/usr/local/cuda-11.8/bin/nvcc' failed with exit code 1",
        "error: command '/usr/local/cuda/bin/nvcc' failed with exit status 255",
        "update-alternatives: using /usr/local/cuda-12.4 to provide /usr/local/cuda (cuda) in auto"
        " mode",
        "\tlibcudnn_ops.so.9 => /usr/lib/x86_64-linux-gnu/libcudnn_ops.so.9 (0x00007f0000000000)",
        "\tlibcudart.so.12 => /usr/local/cuda/lib64/libcudart.so.12 (0x00007f0000000000)",
        "\tLocated at /usr/local/cuda/nvvm/lib64/libnvvm.so.4.0.0",
        "\tLocated at /usr/local/cuda/nvvm/libdevice/libdevice.10.bc",
        "./train.sh: line 3: DATASET: unbound variable",
        "TypeError: expected str, bytes or os.PathLike object, not NoneType",
        "Found CUDA: /usr/local/cuda (found version 12.4)",
        "undefined symbol: png_read_info, version PNG16_0",
        'Could NOT find CUDAToolkit: Found unsuitable version "13.0.88", but',
        "RuntimeError: unable to write to file </torch_722_783672312_1>: No space left on device"
        " (28)",
        "cp: error writing '/dev/shm/x': No space left on device",
        "CUDA call failed: Error 8031",
        "./a: /lib/libstdc++.so.6: version `GLIBCXX_3.4.32' not found (required by ./a)",
        'assert CUDA_HOME is not None, "CUDA_HOME is not set"',
        "Running command: nvcc -O3 -c kernel.cu",
        "Command 'nvcc' failed with exit status 1",
        "fatal error: '/opt/mine/vector_types.h' file not found",
        "ValueError: Unknown backend cuda",
    ],
)
def test_what_tells_no_cause(facts: Facts, line: str) -> None:
    """Lines of healthy logs, and of failures that say nothing about CUDA, have no cause."""
    assert explain(line, facts, []) == []


def test_nothing_of_a_message_is_run() -> None:
    """Values of a message that end up in a command are numbers, never words.

    `@not-preloaded` only looks for its value in a list of the shell, and spells what else is there.
    """
    grown = [group for row in messages() for group in re.findall(r"\{(\w+)\}", row.fix)]
    assert grown
    for row in messages():
        fix = row.fix.removesuffix("@not-preloaded {object}")
        for name in ("soname", *re.findall(r"\{(\w+)\}", fix)):
            if name in row.pattern.groupindex:
                inside = re.search(rf"\(\?P<{name}>(.*?)\)", row.pattern.pattern)
                assert inside
                # Only a few digits at a time: a longer number is no version.
                digits = r"\\d\{\d,\d\}"
                assert re.fullmatch(rf"{digits}(\(\?:\\\.{digits})?", inside[1]), row

"""Probing the machine: driver, GPUs, host compilers, C library, and what stands in for them."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cudaswitch.detect.facts import facts_of
from cudaswitch.detect.gpus import find_smi, gpus, nvidia_smi
from cudaswitch.detect.machine import host_gccs, kernel_driver, probe
from cudaswitch.errors import RequestError
from made_environments import WINDOWS_SITE, Env
from tools import executable


def test_overrides_stand_in_for_the_machine(env, monkeypatch):
    facts = facts_of(env.prefix, driver="418.39", cc="7", gcc="9", platform="linux-aarch64")
    assert (facts.driver, facts.cc, facts.gcc) == ("418.39", ("7.0",), (9,))
    assert (facts.platform, facts.os, facts.driver_source) == ("linux-aarch64", "linux", "--driver")
    assert facts_of(env.prefix, gcc="9.4.0").gcc == (9,)
    monkeypatch.setenv("CUDASWITCH_DRIVER", "450.80.02")
    facts = facts_of(env.prefix)
    assert (facts.driver, facts.driver_source) == ("450.80.02", "CUDASWITCH_DRIVER")


def test_nothing_of_this_machine_is_told_of_another(env, tmp_path):
    here = facts_of(env.prefix)
    assert here.glibc
    there = facts_of(env.prefix, platform="win-64")
    assert (there.driver, there.cc, there.gcc, there.glibc) == (None, (), (), None)
    windows = Env(tmp_path / "windows", WINDOWS_SITE)
    assert (facts_of(windows.prefix).platform, facts_of(windows.prefix).glibc) == ("win-64", None)


@pytest.mark.parametrize(
    "wrong",
    [
        {"gcc": "new"},
        {"gcc": "-1"},
        {"driver": "new"},
        {"driver": ""},
        {"cc": "sm_7000"},
        {"cc": "700"},
        {"driver": "12.4"},
        {"cc": "7.0.1"},
    ],
)
def test_overrides_that_cannot_be_read(env, wrong):
    with pytest.raises(RequestError):
        facts_of(env.prefix, **wrong)


@pytest.mark.parametrize(
    ("asked", "cc"),
    [
        ("7.0", "7.0"),
        ("8", "8.0"),
        ("12", "12.0"),
        ("70", "7.0"),
        ("120", "12.0"),
        ("sm_86", "8.6"),
        ("sm_120a", "12.0"),
        ("12.1", "12.1"),
    ],
)
def test_a_compute_capability_is_read_as_people_and_compilers_spell_it(env, asked, cc):
    assert facts_of(env.prefix, cc=asked).cc == (cc,)


def test_a_broken_driver_variable_says_its_name(env, monkeypatch):
    monkeypatch.setenv("CUDASWITCH_DRIVER", "\x1b[31m")
    with pytest.raises(RequestError, match="CUDASWITCH_DRIVER"):
        facts_of(env.prefix)


def test_the_kernel_module_tells_the_driver(tmp_path):
    assert kernel_driver(tmp_path) == (None, "")
    text = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  470.57.02  Tue Jul 13 16:14:05\nGCC"
    (tmp_path / "proc/driver/nvidia").mkdir(parents=True)
    (tmp_path / "proc/driver/nvidia/version").write_text(text)
    assert kernel_driver(tmp_path) == ("470.57.02", "/proc/driver/nvidia/version")
    (tmp_path / "sys/module/nvidia").mkdir(parents=True)
    (tmp_path / "sys/module/nvidia/version").write_text("535.104.05\n")
    assert kernel_driver(tmp_path) == ("535.104.05", "/sys/module/nvidia/version")
    (tmp_path / "sys/module/nvidia/version").write_bytes(b"\xff\x00")
    assert kernel_driver(tmp_path)[0] == "470.57.02"


def smi(path: Path, script: str) -> Path:
    return executable(path, f"#!/bin/sh\n{script}\n")


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ('printf "535.104.05, 7.0\\n535.104.05, 8.6\\n"', ("535.104.05", ("8.6", "7.0"))),
        ('case $1 in *cap*) exit 2;; esac; echo "418.39"', ("418.39", ())),
        ('echo "535.104.05, [N/A]"', ("535.104.05", ())),
        ("echo NVIDIA-SMI has failed; exit 9", (None, ())),
        ('echo "535.104.05, 7.0"; exit 9', (None, ())),
        ("printf '\\377\\000'", (None, ())),
    ],
)
def test_nvidia_smi_is_asked_once_and_believed_if_it_makes_sense(tmp_path, script, expected):
    assert nvidia_smi(smi(tmp_path / "nvidia-smi", script)) == expected


def test_nvidia_smi_that_hangs_or_is_no_program(tmp_path, monkeypatch):
    monkeypatch.setattr("cudaswitch.detect.gpus._SECONDS", 0.5)
    began = time.monotonic()
    assert nvidia_smi(smi(tmp_path / "nvidia-smi", "exec sleep 60")) == (None, ())
    assert time.monotonic() - began < 40
    assert nvidia_smi(executable(tmp_path / "no program", "\0")) == (None, ())
    assert nvidia_smi(None) == (None, ())


def test_nvidia_smi_of_wsl_is_found_and_one_in_the_environment_is_not(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path / "env/bin"))
    inside = smi(tmp_path / "env/bin/nvidia-smi", "exit 1")
    assert find_smi(tmp_path / "env", tmp_path) is None
    assert find_smi(None, tmp_path) == inside
    (tmp_path / "other/bin").mkdir(parents=True)
    (tmp_path / "other/bin/nvidia-smi").symlink_to(inside)
    monkeypatch.setenv("PATH", str(tmp_path / "other/bin"))
    assert find_smi(tmp_path / "env", tmp_path) is None
    wsl = smi(tmp_path / "usr/lib/wsl/lib/nvidia-smi", 'echo "581.57, 8.9"')
    assert find_smi(tmp_path / "env", tmp_path) == wsl
    # Distributions have a package with one that fails there.
    smi(tmp_path / "usr/bin/nvidia-smi", "exit 4")
    assert gpus(None, tmp_path) == ("581.57", ("8.9",), "nvidia-smi")


def test_a_gcc_elsewhere_on_path_is_of_its_own_release(tmp_path, monkeypatch):
    """Environment modules and Red Hat's toolsets put a folder such as /apps/gcc/77/bin on PATH."""
    (tmp_path / f"lib/gcc/{platform.machine()}-pc-linux-gnu/77.2.0").mkdir(parents=True)
    gcc = executable(tmp_path / "bin/gcc", "#!/bin/sh\necho 77\n")
    monkeypatch.setenv("PATH", str(gcc.parent), prepend=os.pathsep)
    assert host_gccs(Path("/"))[0] == 77
    # Debian has a folder of links to ccache, each of which starts the next one on PATH.
    link = tmp_path / "links/gcc"
    link.parent.mkdir()
    link.symlink_to(executable(tmp_path / "ccache"))
    monkeypatch.setenv("PATH", str(link.parent), prepend=os.pathsep)
    assert host_gccs(Path("/"))[0] == 77


def test_the_default_gcc_comes_first(tmp_path):
    for major in ("8", "12", "4.8.5"):
        (tmp_path / f"usr/lib/gcc/{platform.machine()}-linux-gnu/{major}").mkdir(parents=True)
    assert host_gccs(tmp_path) == ()
    (tmp_path / "usr/bin").mkdir()
    for name in ("gcc-8", "gcc-12"):
        executable(tmp_path / "usr/bin" / name)
    (tmp_path / "usr/bin/gcc").symlink_to("gcc-8")
    assert host_gccs(tmp_path) == (8, 12)
    (tmp_path / "usr/bin/gcc").unlink()
    executable(tmp_path / "usr/bin/gcc")
    assert host_gccs(tmp_path) == (12, 8)


def test_cross_compilers_are_no_host_compilers(tmp_path):
    """Cross compilers do not count: Debian's mingw is in `12-win32`, and others may be newer."""
    native = f"{platform.machine()}-linux-gnu/12"
    for folder in (native, "x86_64-w64-mingw32/12-win32", "arm-none-eabi/99.1.0"):
        (tmp_path / "usr/lib/gcc" / folder).mkdir(parents=True)
    (tmp_path / "usr/bin").mkdir()
    executable(tmp_path / "usr/bin/gcc")
    assert host_gccs(tmp_path) == (12,)


def test_this_machine_can_be_probed():
    machine = probe()
    gcc = subprocess.run(["gcc", "-dumpversion"], capture_output=True, text=True, check=True)
    assert machine.gcc[0] == int(gcc.stdout.split(".")[0])
    told = subprocess.check_output(["ldd", "--version"], text=True)
    assert machine.glibc and machine.glibc in told.split("\n")[0]


NVML = """
import time
class NVMLError(Exception): pass
def nvmlInit(): {init}
def nvmlShutdown(): pass
def nvmlSystemGetDriverVersion(): return {driver}
def nvmlDeviceGetCount(): return len({gpus})
def nvmlDeviceGetHandleByIndex(index): return index
def nvmlDeviceGetCudaComputeCapability(handle): return {gpus}[handle]
"""


def said_by_nvml(folder: Path, library: str) -> str:
    """Return what `by_nvml` answers where `library` is the text of the module pynvml."""
    (folder / "pynvml.py").write_text(library)
    code = "from cudaswitch.detect.gpus import by_nvml; it = by_nvml(); print(it and it[:2])"
    env = {**os.environ, "PYTHONPATH": str(folder)}
    return subprocess.check_output([sys.executable, "-c", code], text=True, env=env).strip()


@pytest.mark.parametrize(
    ("init", "driver", "found", "expected"),
    [
        ("pass", "'580.65.06'", [(7, 0), (9, 0), (7, 0)], ("580.65.06", ("9.0", "7.0"))),
        ("pass", "b'418.39'", [(6, 1)], ("418.39", ("6.1",))),
        ("pass", "'580.65.06'", [], ("580.65.06", ())),
        ("raise NVMLError", "''", [], None),
        ("raise OSError", "''", [], None),
        ("pass", "'[N/A]'", [(7, 0)], None),
        ("time.sleep(60)", "'580.65.06'", [], None),
    ],
)
def test_nvml_is_asked_in_bounded_time(tmp_path, init, driver, found, expected):
    # This has the shape of nvidia-ml-py; the real one needs a driver.
    start = time.monotonic()
    answer = said_by_nvml(tmp_path, NVML.format(init=init, driver=driver, gpus=found))
    assert time.monotonic() - start < 30
    assert answer == str(expected)


def test_without_the_library_of_nvml_nvidia_smi_answers(tmp_path):
    assert said_by_nvml(tmp_path, "raise ImportError") == "None"
    assert gpus(None, tmp_path / "nowhere") is None or shutil.which("nvidia-smi")
    smi(tmp_path / "usr/lib/wsl/lib/nvidia-smi", 'echo "581.15, 8.9"')
    answer = gpus(None, tmp_path)
    assert (answer.driver, answer.cc, answer.source) == ("581.15", ("8.9",), "nvidia-smi")
    machine = probe(root=tmp_path)
    assert (machine.driver, machine.driver_source) == ("581.15", "nvidia-smi")


def test_what_a_person_names_is_not_probed(tmp_path):
    witness = tmp_path / "asked"
    smi(tmp_path / "usr/bin/nvidia-smi", f': > {witness}; echo "581.15, 8.9"')
    machine = probe(root=tmp_path, driver=False, cc=False)
    assert (machine.driver, machine.cc, witness.exists()) == (None, (), False)
    assert probe(root=tmp_path, driver=False).cc == ("8.9",)
    machine = probe(root=tmp_path, cc=False)
    assert (machine.driver, machine.cc) == ("581.15", ())

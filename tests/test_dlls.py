"""PE files and Windows' order of DLLs, against objdump and a loader of Windows programs."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import dll_corpus
from checks import refused, succeeded
from cudaswitch.binaries import read_pe
from cudaswitch.pe import Pe, PeError, parse
from dll_corpus import Factory
from homes import Home
from tools import require

HERE = Path(__file__).parent
X86_64 = 0x8664
RULES = {
    **{"program's folder": 20, "of Windows": 20, "working directory": 8, "on PATH": 6},
    **{"the folder of `": 10, "missing": 8, "held": 2, "damaged": 5, "failed": 12},
}
"""Rule → how many cases it must decide at least, or the corpus has lost its edge."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Factory:
    require(dll_corpus.GCC)
    return Factory(tmp_path_factory.mktemp("dlls") / "made")


@pytest.fixture
def put(made: Factory):
    def put(path: Path, *needed: str) -> Path:
        """Make a program (`.exe`) or a library that needs others."""
        path.parent.mkdir(parents=True, exist_ok=True)
        program = path.suffix == ".exe"
        source = made.program(needed) if program else made.dll(path.name, needed)
        shutil.copy(source, path)
        return path

    return put


# PE files.


def test_objdump_says_the_same(made: Factory) -> None:
    """objdump agrees on what we linked, and on the much odder files of the compiler and of Wine."""
    require(dll_corpus.WINE)
    files = [made.dll("b.dll", ("c.dll", "d.dll")), made.program(("a.dll",))]
    files += Path("/usr").glob("x86_64-w64-mingw32/lib/*.dll")
    files += sorted(Path("/usr/lib").glob("*/wine/x86_64-windows/*.[de][lx][le]"))[::6]
    assert len(files) > 60
    objdump = dll_corpus.GCC.replace("gcc", "objdump")
    done = subprocess.run([objdump, "-p", *files], capture_output=True, text=True, check=True)
    texts = re.split(r"^(.*):\s+file format .*$", done.stdout, flags=re.MULTILINE)[1:]
    for path, text in zip(texts[::2], texts[1::2], strict=True):
        needed = tuple(re.findall(r"^\s+DLL Name: (.*)$", text, re.MULTILINE))
        library = "\tDLL\n" in text.partition("Time/Date")[0]
        assert read_pe(path) == Pe(X86_64, library, needed), path


def test_a_damaged_file_is_said_to_be_one(made: Factory) -> None:
    content = made.dll("b.dll", ("c.dll", "d.dll")).read_bytes()

    def parsed(data: bytes) -> Pe:
        return parse(lambda offset, size: data[offset : offset + size], "file")

    assert parsed(content).needed == ("c.dll", "d.dll")
    reasons = set()
    for end in range(0, len(content), 16):
        try:
            parsed(content[:end])
        except PeError as error:
            reasons.add(error.reason)
    assert reasons == {
        "it is not a Windows program or library",
        "it ends before its headers do",
        "its table of imports is damaged",
    }
    start = content.index(b"PE\0\0")
    directory = start + 24 + 120
    outside = content[:directory] + b"\xff\xff\xff\x7f" + content[directory + 4 :]
    with pytest.raises(PeError, match="imports is not in the file"):
        parsed(outside)


# The order.


def test_the_loader_agrees_on_a_corpus_of_cases(tmp_path: Path) -> None:
    """Wine loads real libraries and programs in random folders, in four ways, as we predict."""
    for tool in (dll_corpus.GCC, dll_corpus.WINE):
        require(tool)
    told: dict[str, Any] = dll_corpus.compare(tmp_path, worlds=5, seed=3)
    assert told["cases"] >= 100
    assert told["different"] == []
    rare = [rule for rule, least in RULES.items() if told["used"].get(rule, 0) < least]
    assert rare == [], told["used"]


# `which`.


def which(home: Home, *arguments: str | Path, **variables: str) -> Any:
    return json.loads("\n".join(succeeded(home.run("which", *arguments, "--json", **variables))))


class Machine:
    """Windows' folders, two toolkits on PATH and a conda environment, as WSL shows them."""

    def __init__(self, root: Path, put: Any, python: str) -> None:
        self.windows = root / "Windows"
        self.first, self.second = root / "CUDA/v11.2/bin", root / "CUDA/v11.8/bin"
        for folder in (self.first, self.second):
            put(folder / "cudart64_110.dll")
        put(self.windows / "System32/nvcuda.dll")
        self.prefix = root / "env"
        self.python = put(self.prefix / "python.exe", python)
        put(self.prefix / python)
        (self.prefix / "conda-meta").mkdir()
        self.site = self.prefix / "Lib/site-packages"
        self.site.mkdir(parents=True)
        folders = [self.prefix, self.second, self.first, self.windows / "system32"]
        self.variables = {
            "CONDA_PREFIX": str(self.prefix),
            "SystemRoot": str(self.windows),
            "PATH": ":".join(map(str, folders)),
        }


def test_what_load_library_finds(home: Home, put, tmp_path: Path) -> None:
    machine = Machine(tmp_path, put, "python311.dll")
    told = which(home, "cudart64_110.dll", **machine.variables)
    assert told["path"] == str(machine.second / "cudart64_110.dll")
    assert told["why"] == f"`{machine.second}` is on PATH"
    assert told["shadows"] == [str(machine.first / "cudart64_110.dll")]
    assert "--from" in told["notes"][0]
    driver = which(home, "NVCUDA.dll", **machine.variables)
    assert driver["path"] == str(machine.windows / "System32/nvcuda.dll")
    assert driver["why"] == f"`{machine.windows}/System32` is a folder of Windows"
    # The program's folder wins over everything, which is how a copied DLL takes effect.
    copied = put(machine.prefix / "CUDART64_110.DLL")
    told = which(home, "cudart64_110.dll", **machine.variables)
    assert told["path"] == str(copied)
    assert told["why"] == f"`{machine.prefix}` is the program's folder"
    missing = home.run("which", "cudnn64_8.dll", **machine.variables)
    refused(missing, "`cudnn64_8.dll` was not found in this shell", code=127, hint=None)


@pytest.mark.parametrize(
    ("python", "looks_on_path"), [("python37.dll", True), ("python38.dll", False)]
)
def test_what_an_extension_module_gets(
    home: Home, put, tmp_path: Path, python: str, looks_on_path: bool
) -> None:
    machine = Machine(tmp_path, put, python)
    module = put(machine.site / "thing/_core.pyd", "cudart64_110.dll", python)
    told = home.run("which", "cudart64_110.dll", "--from", "thing", "--json", **machine.variables)
    answer = json.loads("\n".join(succeeded(told)))
    assert answer["path"] == str(machine.second / "cudart64_110.dll")
    if looks_on_path:
        assert answer["consumer"] == str(module)
        assert answer["why"].endswith("is on PATH")
    else:
        assert answer["consumer"] is None
        assert "no library of `thing` needs it" in answer["notes"][0]
    (module.parent / "_a_damaged.pyd").write_bytes(module.read_bytes()[:300])
    bundled = put(module.with_name("cudart64_110.dll"))
    for consumer in ("thing", str(module)):
        answer = which(home, "cudart64_110.dll", "--from", consumer, **machine.variables)
        assert answer["path"] == str(bundled)
        assert f"is the folder of `{module.name}`" in answer["why"]
        assert answer["consumer"] == str(module)


def test_for_programs_and_libraries(home: Home, put, tmp_path: Path) -> None:
    machine = Machine(tmp_path, put, "python311.dll")
    program = put(machine.first / "tool.exe", "cudart64_110.dll")
    beside = str(machine.first / "cudart64_110.dll")
    for consumer in ("tool", "tool.exe", str(program)):
        told = which(home, "cudart64_110.dll", "--from", consumer, **machine.variables)
        assert (told["path"], told["consumer"]) == (beside, str(program))
    # For a library that LoadLibrary finds, its order counts, not the library's own folder.
    outer = put(machine.first / "outer.dll", "cudart64_110.dll")
    told = which(home, "cudart64_110.dll", "--from", "outer.dll", **machine.variables)
    assert told["path"] == str(machine.second / "cudart64_110.dll")
    assert told["consumer"] == str(outer)
    further = put(machine.first / "further.dll", "outer.dll")
    told = which(home, "cudart64_110.dll", "--from", "further.dll", **machine.variables)
    assert told["consumer"] == str(further)
    assert told["why"].endswith(f"is on PATH, loaded before for `{outer}`")


def test_what_cannot_be_loaded_is_told(home: Home, put, tmp_path: Path) -> None:
    machine = Machine(tmp_path, put, "python311.dll")
    other = bytearray((machine.second / "cudart64_110.dll").read_bytes())
    at = other.index(b"PE\0\0") + 4
    other[at : at + 2] = b"\x4c\x01"
    (machine.second / "cudart64_110.dll").write_bytes(other)
    told = which(home, "cudart64_110.dll", **machine.variables)
    assert told["path"] == str(machine.second / "cudart64_110.dll")
    assert "cannot be loaded: it is for another processor than the program" in told["why"]

    def ask(consumer: str | Path):
        return home.run("which", "cudart64_110.dll", "--from", consumer, **machine.variables)

    refused(
        ask("nothing"), "`nothing` is not a program on PATH", str(machine.prefix), hint="package"
    )
    refused(ask("none.dll"), "`none.dll` was not found in this shell", hint=None)
    refused(
        ask("/no/where.dll"), "`/no/where.dll` cannot be loaded: it cannot be opened", hint=None
    )
    (machine.prefix / "python.exe").write_bytes(b"")
    told = which(home, "cudart64_110.dll", **machine.variables)
    assert told["path"] == str(machine.second / "cudart64_110.dll")
    assert f"`{machine.prefix}/python.exe` cannot be loaded" in told["notes"][-1]
    refused(ask(sys.executable), "it is not a Windows program or library", hint=None)


def test_behind_a_virtualenv_is_the_python_of_its_base(home: Home, put, tmp_path: Path) -> None:
    machine = Machine(tmp_path, put, "python311.dll")
    venv = tmp_path / "venv"
    (venv / "Lib/site-packages").mkdir(parents=True)
    (venv / "pyvenv.cfg").write_text(f"home = {machine.prefix}\nversion = 3.11.4\n")
    beside = put(machine.prefix / "cudart64_110.dll")
    changed = {"CONDA_PREFIX": "", "VIRTUAL_ENV": str(venv), "PATH": str(machine.second)}
    variables = machine.variables | changed
    assert which(home, "cudart64_110.dll", **variables)["path"] == str(beside)


def test_in_wsl_the_folders_of_windows_are_those_on_path(home: Home, put, tmp_path: Path) -> None:
    machine = Machine(tmp_path, put, "python311.dll")
    shutil.move(machine.windows / "System32", machine.windows / "system32")
    put(machine.second / "nvcuda.dll")
    told = which(home, "nvcuda.dll", **machine.variables | {"SystemRoot": ""})
    assert told["path"] == str(machine.windows / "system32/nvcuda.dll")
    assert told["shadows"] == [str(machine.second / "nvcuda.dll")]

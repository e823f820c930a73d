"""Which host compiler fits a toolkit: real headers, real compilers, real nvcc."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

import builders
from adoptable import smallest
from checks import succeeded
from cudaswitch import hostcompiler
from cudaswitch.compat.compilers import Bounds, host_compilers
from cudaswitch.hostcompiler import Compiler, bounds, read_bounds, what_compiles
from cudaswitch.paths import Home as Folders
from cudaswitch.platforms import current_platform
from cudaswitch.store import Store, compiles_here
from cudaswitch.toolkit import Toolkit
from cudaswitch.versions import Version
from homes import Home
from made_environments import Env
from made_libraries import other_glibc
from tools import executable, require

HEADER = """\
#if defined(__GNUC__)

#if __GNUC__ > {most}

#error -- unsupported GNU version! gcc versions later than {most} are not supported! The nvcc \
flag '-allow-unsupported-compiler' can be used to override this version check

#endif /* __GNUC__ > {most} */

#if defined(__clang__) && !defined(__ibmxl_vrm__)

#if (__clang_major__ >= 15) || (__clang_major__ < 3) || ((__clang_major__ == 3) &&  \
(__clang_minor__ < 3))
#error -- unsupported clang version! clang version must be less than 16 and greater than 3.2
#endif
#endif
#endif
"""
"""As in crt/host_config.h of CUDA 11 and 12, whose #error text about clang is wrong by one."""

GCC = 12


def test_the_compiler_is_the_one_that_shells_are_told(tmp_path: Path) -> None:
    """The compiler is that of the ready answer, unless that is another toolkit's of the version."""
    store = Store(Folders(str(tmp_path / "store")))
    kit = Toolkit("12.4", Version("12.4"), None, "/a/cuda", "system", current_platform())
    answer = store.home.requests / "12.4+cudnnnone"
    answer.parent.mkdir(parents=True)
    answer.write_text("/a/cuda:cc=/usr/bin/g++-9\n")
    assert store.compiler_of(kit) == "/usr/bin/g++-9"
    answer.write_text("/b/cuda:cc=/usr/bin/g++-9\n")
    assert store.compiler_of(kit) is None
    answer.unlink()
    assert store.compiler_of(kit) is None


def run(
    command: list[str], folder: Path, environment: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def toolkit(folder: Path, most: int) -> Path:
    header = folder / "include" / "crt" / "host_config.h"
    header.parent.mkdir(parents=True)
    header.write_text(HEADER.format(most=most))
    return folder


def compilers(folder: Path, *versions: str, default: str | None = None) -> dict[str, str]:
    """Return a PATH with links to this machine's real compilers, under Debian's names."""
    folder.mkdir()
    for version in versions:
        (folder / f"g++-{version}").symlink_to(require(f"g++-{version}"))
    if default:
        (folder / "gcc").symlink_to(require(f"gcc-{default}"))
    return {"PATH": str(folder)}


def test_the_conditions_of_the_header_count(tmp_path: Path) -> None:
    found = bounds(toolkit(tmp_path, GCC), Version("9.0"))
    source = str(tmp_path / "include/crt/host_config.h")
    assert found == Bounds(None, GCC, 3, 14, source)
    assert read_bounds("#define __HOST_CONFIG_H__\n", "x") is None


def test_of_a_header_before_9_too() -> None:
    header = "#if __GNUC__ > 5 || __GNUC__ < 4\n#error -- unsupported GNU version! gcc\n#endif\n"
    assert read_bounds(header, "x") == Bounds(4, 5, None, None, "x")


@pytest.mark.parametrize("header", [None, "#define __HOST_CONFIG_H__\n"])
def test_without_a_header_that_tells_the_table_counts(tmp_path: Path, header: str | None) -> None:
    if header:
        (toolkit(tmp_path, GCC) / "include/crt/host_config.h").write_text(header)
    found = bounds(tmp_path, Version("11.1.105"))
    assert found is not None
    assert (found.gcc_min, found.gcc_max) == (6, 10)
    assert "nvcc-compatibilities" in found.source
    assert bounds(tmp_path, Version("99.0")) is None


@pytest.mark.toolkit
def test_the_header_of_the_real_toolkit_says_what_the_table_says() -> None:
    kit = builders.real_toolkit()
    version = Version(builders.toolkit_version())
    found, row = bounds(kit, version), host_compilers(version)
    assert found is not None
    assert row is not None
    assert (found.gcc_max, found.clang_max) == (row.gcc_max, row.clang_max)
    assert found.source.startswith(str(kit))


def test_a_default_that_fits_is_left_alone(tmp_path: Path) -> None:
    environment = compilers(tmp_path / "bin", "11", "12", default="12")
    found = what_compiles(toolkit(tmp_path / "kit", 12), Version("12.1"), environment)
    assert found.fits
    assert found.better is None
    assert found.default == Compiler("gcc", 12, f"{tmp_path}/bin/gcc")
    assert str(found) == "gcc 12 (CUDA 12.1 accepts up to 12)"


def test_the_newest_that_fits_is_chosen(tmp_path: Path) -> None:
    environment = compilers(tmp_path / "bin", "11", "12", default="12")
    found = what_compiles(toolkit(tmp_path / "kit", 11), Version("11.8.89"), environment)
    assert not found.fits
    assert found.better == Compiler("gcc", 11, f"{tmp_path}/bin/g++-11")
    assert str(found) == "gcc 12 is newer than CUDA 11.8 accepts (11): g++-11 is compatible"


def test_without_any_gcc_on_path_one_that_is_installed_is_taken(tmp_path: Path) -> None:
    environment = compilers(tmp_path / "bin", "11")
    found = what_compiles(toolkit(tmp_path / "kit", 11), Version("11.8"), environment)
    assert found.default is None
    assert str(found) == "there is no gcc on PATH: g++-11 is compatible"


def test_none_fits_says_which_package_brings_one(tmp_path: Path) -> None:
    environment = compilers(tmp_path / "bin", "12", default="12")
    found = what_compiles(toolkit(tmp_path / "kit", 9), Version("11.0"), environment)
    assert not found.fits
    assert found.better is None
    assert str(found) == (
        "gcc 12 is newer than CUDA 11.0 accepts (9), and no compatible one is installed"
    )
    assert "`conda install -c conda-forge gxx_linux-64=9`" in (found.hint or "")


@pytest.mark.parametrize(
    ("variables", "program"),
    [
        ({}, "conda"),
        ({"MAMBA_EXE": "/m/micromamba"}, "micromamba"),
        ({"MAMBA_EXE": "/m/micromamba-2.3"}, "micromamba"),
        ({"MAMBA_EXE": "/c/bin/mamba"}, "mamba"),
        ({"MAMBA_EXE": "/m/micromamba", "CONDA_EXE": "/c/bin/conda"}, "conda"),
        ({"MAMBA_EXE": "/m/micromamba", "PATH": "{bin}"}, "conda"),
    ],
    ids=str,
)
def test_what_installs_it_is_what_the_shell_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], program: str
) -> None:
    (tmp_path / "conda").touch(0o755)
    for name, value in ({"PATH": "/nowhere", "CONDA_EXE": "", "MAMBA_EXE": ""} | variables).items():
        monkeypatch.setenv(name, value.format(bin=tmp_path))
    [*_, last] = hostcompiler.bringing(Bounds(None, 9, None, None, "x"))
    assert last == f"{program} install -c conda-forge gxx_linux-64=9"


def test_the_system_is_asked_what_it_has() -> None:
    require("apt-cache")
    said = subprocess.run(
        ["apt-cache", "pkgnames", "g++-"], capture_output=True, text=True, check=False
    )
    majors = [int(one) for one in re.findall(r"^g\+\+-(\d+)$", said.stdout, re.MULTILINE)]
    most = max(majors) if majors else 12
    expected = (f"apt install g++-{most}",) if majors else ()
    conda = f"conda install -c conda-forge gxx_linux-64={most}"
    assert hostcompiler.bringing(Bounds(None, most, None, None, "x")) == (*expected, conda)
    if majors:
        [*_, last] = hostcompiler.bringing(Bounds(None, most + 1, None, None, "x"))
        assert last.endswith(f"={most + 1}")
    assert hostcompiler.bringing(Bounds(None, 3, None, None, "x")) == ()


@pytest.mark.parametrize(
    ("variables", "major", "by"),
    [
        ({"NVCC_PREPEND_FLAGS": "-O2 -ccbin={}"}, 11, "NVCC_PREPEND_FLAGS"),
        ({"NVCC_PREPEND_FLAGS": "-ccbin g++-12 --compiler-bindir {}"}, 11, "NVCC_PREPEND_FLAGS"),
        ({"NVCC_APPEND_FLAGS": "-ccbin={}", "NVCC_PREPEND_FLAGS": "-ccbin=g++-12"}, 11,
         "NVCC_APPEND_FLAGS"),
        ({"NVCC_CCBIN": "{}"}, 11, "NVCC_CCBIN"),
        ({"NVCC_CCBIN": "{}", "NVCC_PREPEND_FLAGS": "-ccbin=g++-12"}, 12, "NVCC_PREPEND_FLAGS"),
        ({"CUDAHOSTCXX": "{}"}, 12, "PATH"),
        ({"NVCC_PREPEND_FLAGS": "-ccbin"}, 12, "PATH"),
    ],
)  # fmt: skip
@pytest.mark.toolkit
def test_who_chooses_is_who_chooses_for_nvcc(
    tmp_path: Path, variables: dict[str, str], major: int, by: str
) -> None:
    """The same flags and variables choose the compiler for nvcc and for us."""
    environment = compilers(tmp_path / "bin", "11", "12", default="12")
    environment["PATH"] += ":/usr/bin:/bin"
    environment |= {key: value.format("g++-11") for key, value in variables.items()}
    found = hostcompiler.default_compiler(environment)
    assert found is not None
    assert (found.major, found.chosen_by) == (major, by)
    if by == "PATH" and "CUDAHOSTCXX" not in variables:
        return  # nvcc refuses such flags
    (tmp_path / "x.cu").write_text("int compiler = __GNUC__;\n")
    nvcc = str(builders.real_toolkit() / "bin/nvcc")
    said = run([nvcc, "-E", "x.cu"], tmp_path, environment)
    assert f"int compiler = {major};" in said.stdout, said.stderr


def test_an_odd_compiler_is_none(tmp_path: Path) -> None:
    for text in ("#!/bin/sh\necho Homebrew\n", "#!/bin/sh\nexit 3\n", "not a program"):
        gcc = executable(tmp_path / "bin/gcc", text)
        assert hostcompiler.default_compiler({"PATH": str(gcc.parent)}) is None


@pytest.mark.parametrize(
    ("major", "told"),
    [(16, "newer than CUDA 12.2 accepts (14)"), (2, "older than CUDA 12.2 accepts (3)")],
)
def test_clang_called_gcc_is_clang(tmp_path: Path, major: int, told: str) -> None:
    said = f"Debian clang version {major}.0.6 (27)\\nTarget: x86_64-pc-linux-gnu"
    gcc = executable(tmp_path / "bin/gcc", f"#!/bin/sh\nprintf '{said}'\n")
    environment = {"PATH": f"{gcc.parent}:{os.defpath}"}
    found = what_compiles(toolkit(tmp_path / "kit", 12), Version("12.2"), environment)
    assert found.default == Compiler("clang", major, str(gcc))
    assert str(found).startswith(f"clang {major} is {told}")


def with_nvcc(folder: Path, most: int) -> Path:
    executable(toolkit(folder, most) / "bin/nvcc")
    return folder


class TestChoice:
    """What every shell is told."""

    def test_the_newest_that_fits(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PATH", compilers(tmp_path / "bin", "11", "12", default="12")["PATH"])
        kit = with_nvcc(tmp_path / "kit", 11)
        assert hostcompiler.choice(kit, Version("11.8")) == f"{tmp_path}/bin/g++-11"
        assert hostcompiler.choice(with_nvcc(tmp_path / "new", 12), Version("12.1")) is None

    def test_none_is_there_yet(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PATH", compilers(tmp_path / "bin", "12", default="12")["PATH"])
        kit = with_nvcc(tmp_path / "kit", 7)
        assert hostcompiler.choice(kit, Version("9.2")) == "/usr/bin/g++-7"

    def test_who_is_in_an_environment_now_does_not_count(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        own = compilers(tmp_path / "bin", "11", "12", default="12")["PATH"]
        path = own
        for name in ("conda", "venv"):
            (tmp_path / name).mkdir()
            path = f"{compilers(tmp_path / name / 'bin', '11', default='11')['PATH']}::{path}"
        (tmp_path / "conda/conda-meta").mkdir()
        (tmp_path / "venv/pyvenv.cfg").touch()
        monkeypatch.setenv("PATH", path)
        kit = with_nvcc(tmp_path / "kit", 11)
        assert hostcompiler.choice(kit, Version("11.8")) == f"{tmp_path}/bin/g++-11"

    def test_a_relative_folder_is_another_in_each_directory(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = compilers(tmp_path / "bin", "12", default="12")["PATH"]
        compilers(tmp_path / "tools", "11")
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("PATH", f"./tools:{path}")
        kit = with_nvcc(tmp_path / "kit", 11)
        assert hostcompiler.choice(kit, Version("11.8")) in (None, "/usr/bin/g++-11")

    def test_nothing_to_choose(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PATH", compilers(tmp_path / "bin", "11", "12", default="12")["PATH"])
        without_headers = tmp_path / "bare"
        (without_headers / "bin").mkdir(parents=True)
        (without_headers / "bin/nvcc").touch()
        without_nvcc = toolkit(tmp_path / "runtime", 11)
        for kit in (without_headers, without_nvcc, tmp_path / "gone"):
            assert hostcompiler.choice(kit, Version("11.8")) is None
        monkeypatch.setenv("PATH", compilers(tmp_path / "none", "11")["PATH"])
        assert hostcompiler.choice(with_nvcc(tmp_path / "kit", 11), Version("11.8")) is None

    @pytest.mark.parametrize("name", ["a b", "a'b", 'a"b', "a$b", "a`b", "a\\b", "a!b"])
    def test_a_place_that_flags_cannot_name(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
    ) -> None:
        monkeypatch.setenv("PATH", compilers(tmp_path / name, "11", default="12")["PATH"])
        kit = with_nvcc(tmp_path / "kit", 11)
        assert hostcompiler.choice(kit, Version("11.8")) in (None, "/usr/bin/g++-11")


def test_an_environment_that_has_all_of_path_leaves_the_systems_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    env = Env(tmp_path / "env")
    env.write("pyvenv.cfg", "")
    kit = with_nvcc(tmp_path / "kit", 4)
    for path in (os.defpath, str(env.prefix / "bin")):
        monkeypatch.setenv("PATH", path)
        assert hostcompiler.choice(kit, Version("11.8")) == "/usr/bin/g++-4"


def test_one_compiler_is_asked_once_for_all_toolkits_and_all_their_names(
    home: Home, tmp_path: Path
) -> None:
    asked = tmp_path / "asked"
    noting = f'#!/bin/sh\necho "$1" >> {asked}\nexec {require("gcc")} "$@"\n'
    gcc = executable(tmp_path / "bin/gcc", noting)
    path = f"{gcc.parent}:{home.env['PATH']}"
    for version in ("12.4.1", "11.8.0"):
        kit = smallest(toolkit(tmp_path / version, 99), version)
        succeeded(home.run("adopt", kit, PATH=path))
    asked.unlink()
    succeeded(home.run("alias", "work", "11.8", PATH=path))
    assert asked.read_text().splitlines() == ["--version", "-dumpversion"]


@pytest.mark.parametrize(("gcc", "told"), [("10", True), ("9", False)])
def test_resolve_reads_the_header_too(
    home: Home, env: Env, tmp_path: Path, gcc: str, told: bool
) -> None:
    """`resolve` goes by the gcc of the toolkit's header, not by the table's 13 for the release."""
    kit = smallest(toolkit(tmp_path / "kit", 9), "12.4.131")
    succeeded(home.run("adopt", kit))
    env.torch("2.5.1+cu124", "12.4")
    env.write("conda-meta/history", "")
    said = "\n".join(succeeded(home.run("resolve", "-p", env.prefix, "--gcc", gcc)))
    assert (f"nvcc 12.4 compiles with gcc up to 9, the default is {gcc}" in said) == told
    assert (f"{kit}/include/crt/host_config.h" in said) == told


PLAIN = "extern __device_builtin__ double {name}(double x);\n"
MENDED = "extern __device_builtin__ double {name}(double x) noexcept (true);\n"


@pytest.mark.parametrize(
    ("version", "header", "told"),
    [
        ("12.4.1", "", True),
        ("13.2.0", "", False),
        ("12.4.1", PLAIN.format(name="rsqrt"), True),
        ("12.4.1", MENDED.format(name="rsqrt"), False),
        ("12.4.1", MENDED.format(name="sinpi") + PLAIN.format(name="rsqrt"), True),
    ],
)
def test_a_c_library_that_is_too_new_is_told_at_once(
    home: Home, tmp_path: Path, version: str, header: str, told: bool
) -> None:
    """A C library that is too new, here as a preloaded library claims it, is reported at once."""
    library = other_glibc(tmp_path, "2.42")
    kit = smallest(tmp_path / "kit", version)
    if header:
        (kit / "include/crt").mkdir(parents=True, exist_ok=True)
        (kit / "include/crt/math_functions.h").write_text(header)
    done = home.run("adopt", kit, LD_PRELOAD=str(library))
    succeeded(done)
    assert ("do not compile with glibc 2.42" in done.stderr) is told
    assert ("this machine has glibc 2.42\n" in done.stderr) is told


def test_a_toolkit_for_another_machine_compiles_nothing_here(tmp_path: Path) -> None:
    executable(tmp_path / "bin/nvcc")
    kit = Toolkit("x", Version("12.4.1"), None, str(tmp_path), "file", current_platform())
    assert compiles_here(kit)
    other = {"linux-64": "linux-aarch64"}.get(kit.platform, "linux-64")
    assert not compiles_here(kit._replace(platform=other))
    (tmp_path / "bin/nvcc").unlink()
    assert not compiles_here(kit)

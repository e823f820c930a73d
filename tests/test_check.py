"""`check` on small real libraries: which pass, and what is found in each damaged one."""

from __future__ import annotations

import contextlib
import json
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import made_libraries
from checks import proven, refused, succeeded
from cudaswitch import paths
from cudaswitch.check import bounded, libraries
from cudaswitch.check.inventory import Inventory, Library
from cudaswitch.check.results import Result
from cudaswitch.platforms import current_platform
from cudaswitch.store import Store, read_toolkit
from homes import Home, make_home
from made_libraries import LIBRARIES, Made
from mounts import in_own_mounts
from stock import BARE, kit
from tools import console_script

pytestmark = pytest.mark.skipif(
    current_platform() != "linux-64", reason="the made wheels are for linux-64"
)

NAMES = [each.soname for each in LIBRARIES]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """A home with the made toolkit, which every test leaves as it was."""
    folder = tmp_path_factory.mktemp("made")
    home = make_home(folder)
    succeeded(home.run("install", *made_libraries.wheels(folder / "made")))
    return home


def place(home: Home) -> Path:
    return home.store / "toolkits" / "12.9.79+cudnn9.10.2" / "lib64"


def test_all_of_it_passes(made: Home) -> None:
    found = proven(made, "12.9")
    assert set(found) == {*NAMES, "nvcc"}
    assert {found[name]["status"] for name in NAMES} == {"passed"}
    assert found["libcublas.so.12"] == {
        "name": "libcublas.so.12",
        "kind": "library",
        "status": "passed",
        "detail": "12.9.1",
        "path": str(place(made) / "libcublas.so.12"),
        "version": "12.9.1",
        "expected": "12.9.1.4",
    }
    versions = {name: found[name]["version"] for name in NAMES}
    assert versions == {
        "libcudart.so.12": "12.9",
        "libcublasLt.so.12": "12.9.1",
        "libcublas.so.12": "12.9.1",
        "libnppc.so.12": "12.4.1",
        "libnvJitLink.so.12": "12.9",
        "libnvToolsExt.so.1": None,
        "libcudnn.so.9": "9.10.2",
        "libcudnn_ops.so.9": None,
    }
    assert (found["nvcc"]["status"], found["nvcc"]["kind"]) == ("skipped", "build")


def test_a_person_gets_lines_that_fit(made: Home) -> None:
    lines = succeeded(made.run("check", "12.9"))
    assert max(map(len, lines)) <= 80
    assert len(lines) == len(NAMES) + 2
    assert "passed     libcublas.so.12               12.9.1" in lines
    assert lines[-1] == "CUDA 12.9.79+cudnn9.10.2: 8 passed, 0 failed, 1 skipped"


def other_version(path: Path, library: Made) -> None:
    path.unlink()
    made_libraries.library(path, library.soname, library.other, library.needed)


def truncated(path: Path, _: Made) -> None:
    content = path.read_bytes()
    path.unlink()
    path.write_bytes(content[: len(content) * 9 // 10])


def emptied(path: Path, _: Made) -> None:
    path.unlink()
    path.touch()


def removed(path: Path, _: Made) -> None:
    path.unlink()


def flipped(path: Path, _: Made) -> None:
    """Flip a byte that no loader looks at."""
    content = bytearray(path.read_bytes())
    at = content.index(b"GCC: (")
    content[at] ^= 1
    path.unlink()
    path.write_bytes(bytes(content))


SAYS = {
    truncated: ("cut short", "file too short"),
    emptied: ("file too short",),
    removed: ("it is missing",),
    flipped: ("its content differs from that of",),
    other_version: ("it reports", "its content differs from that of"),
}


@contextlib.contextmanager
def damaged(path: Path, damage: Callable[[Path, Made], None], library: Made) -> Iterator[None]:
    """Damage a copy of a toolkit's library, and put the package's own file back afterwards."""
    kept = path.with_name("kept")
    path.rename(kept)
    shutil.copy2(kept, path)
    try:
        damage(path, library)
        yield
    finally:
        path.unlink(missing_ok=True)
        kept.rename(path)


def proven_here(home: Home, folder: Path) -> dict[str, Result]:
    """Prove the libraries without starting the command itself."""
    kit = read_toolkit(place(home).parent)
    assert kit is not None
    inventory = Inventory.of(kit, [Store(paths.Home(str(home.store)))])
    environment = home.env | {"LD_LIBRARY_PATH": str(place(home))}
    return {each.name: each for each in libraries.prove(inventory, environment, folder)}


@pytest.mark.parametrize("damage", SAYS)
def test_any_library_that_is_damaged_is_named(
    made: Home, tmp_path: Path, damage: Callable[[Path, Made], None]
) -> None:
    for library in LIBRARIES:
        path = place(made) / library.soname
        with damaged(path, damage, library):
            found = proven_here(made, tmp_path)
        mine = found[library.soname]
        assert (mine.status, mine.path) == ("failed", str(path))
        assert any(text in mine.detail for text in SAYS[damage]), mine
        failed = {name for name, result in found.items() if result.status == "failed"}
        # A library that needs a broken one cannot be loaded either.
        assert failed <= {library.soname, "libcublas.so.12"}
    assert {each.status for each in proven_here(made, tmp_path).values()} == {"passed"}


def test_a_version_that_is_wrong_is_said(made: Home) -> None:
    library = next(each for each in LIBRARIES if each.soname == "libcublas.so.12")
    path = place(made) / library.soname
    with damaged(path, other_version, library):
        done = made.run("check", "12.9")
    assert done.returncode == 1
    said = f"`{path}`: it reports 12.4.5; nvidia-cublas-cu12 says 12.9.1.4"
    assert f"cudaswitch: {said}" in done.stderr.splitlines()
    hint = done.stderr.splitlines()[-1]
    assert hint.startswith("hint: cudaswitch verify --repair 12.9.79+cudnn9.10.2; if every file is")
    assert "1 failed" in done.stdout.splitlines()[-1]
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_a_library_from_elsewhere_is_found_out(made: Home, tmp_path: Path) -> None:
    """`check` keeps LD_PRELOAD, as the shell does, and reports the foreign library it brings."""
    lt = next(each for each in LIBRARIES if each.soname == "libcublasLt.so.12")
    path = made_libraries.library(tmp_path / lt.soname, lt.soname, lt.code)
    found = proven(made, "12.9", code=1, LD_PRELOAD=str(path))
    assert found["libcublasLt.so.12"]["detail"] == f"`{path}` is loaded instead of it"
    assert found["libcublas.so.12"]["detail"] == (
        f"it loads `{path}`, which is not part of the toolkit"
    )


def test_a_machine_without_proc_tells_nothing_of_what_else_is_loaded(made: Home) -> None:
    script = 'mount -t tmpfs tmpfs /proc; exec "$@"'
    command = (console_script(), "check", "12.9", "--json")
    done = in_own_mounts(script, *command, cwd=made.path, env=made.env)
    results = json.loads("\n".join(succeeded(done)))["results"]
    assert {each["status"] for each in results if each["name"] in NAMES} == {"passed"}


def test_what_is_active_here_is_checked(made: Home, tmp_path: Path) -> None:
    (tmp_path / ".cuda-version").write_text("cuda 12.9\ncudnn none\n")
    done = made.run("check", cwd=tmp_path)
    assert succeeded(done)[-1].startswith("CUDA 12.9.79: 6 passed")
    refused(made.run("check"), "no toolkit is active here", hint="cudaswitch check VERSION")
    refused(made.run("check", "system"), "no toolkit is active here", hint="cudaswitch check")
    refused(made.run("check", "10.1"), "not installed", hint="cudaswitch install 10.1")
    assert made.run("check", "--cudnn", "9").returncode == 2


def test_nothing_is_left_behind(made: Home, tmp_path: Path) -> None:
    proven(made, "12.9", TMPDIR=str(tmp_path))
    assert not list(tmp_path.iterdir())


def test_an_environment_that_brings_its_own_cuda(made: Home, tmp_path: Path) -> None:
    """`check` proves the toolkit even where `use` leaves LD_LIBRARY_PATH alone."""
    prefix = tmp_path / "env"
    bundled = prefix / "lib/python3.11/site-packages/nvidia/cublas/lib"
    bundled.mkdir(parents=True)
    (bundled / "libcublas.so.12").touch()
    (prefix / "pyvenv.cfg").write_text("home = /usr/bin\n")
    (prefix / "bin").mkdir()
    path = f"{prefix}/bin:{made.env['PATH']}"
    done = made.run("check", "12.9", VIRTUAL_ENV=str(prefix), PATH=path)
    lines = "\n".join(succeeded(done))
    for name in NAMES:
        assert f"passed     {name}" in lines
    # `check` sets LD_LIBRARY_PATH for the proof alone, so there is nothing to warn of.
    assert done.stderr == ""


class TestAnotherKindOfLibrary:
    """A toolkit of the runtime and one more library."""

    def check(self, folder: Path, soname: str, source: str, **options: Any) -> dict[str, Any]:
        needed = options.pop("needed", ())
        other = "nvidia-cuda-cupti-cu12", "12.9.79", "cuda_cupti"
        extra = Made(*other, soname, source, "", needed)
        (folder / "lib").mkdir(exist_ok=True)
        home = make_home(folder / "home")
        succeeded(home.run("install", *made_libraries.wheels(folder, [LIBRARIES[0], extra])))
        return proven(home, "12.9", **options)[soname]

    def test_that_needs_the_driver(self, tmp_path: Path) -> None:
        made_libraries.library(tmp_path / "lib/libcuda.so.1", "libcuda.so.1", "")
        found = self.check(tmp_path, "libcuinj64.so.12", "", needed=["libcuda.so.1"])
        assert found["status"] == "needs-gpu"
        assert found["detail"] == "it needs the driver's libcuda.so.1"

    def test_that_needs_what_the_machine_lacks(self, tmp_path: Path) -> None:
        made_libraries.library(tmp_path / "lib/libstrange.so.4", "libstrange.so.4", "")
        found = self.check(tmp_path, "libx.so.1", "", needed=["libstrange.so.4"], code=1)
        assert found["status"] == "failed"

    def test_that_prints(self, tmp_path: Path) -> None:
        """A library that prints when it is loaded, as cuDNN does when logging to stdout, passes."""
        code = "#include <stdio.h>\n__attribute__((constructor)) static void start(void) {"
        found = self.check(tmp_path, "libx.so.1", code + ' puts("I! started"); fflush(stdout); }')
        assert found["status"] == "passed"

    def test_that_ends_the_process(self, tmp_path: Path) -> None:
        code = "#include <unistd.h>\n__attribute__((constructor)) static void start(void) {"
        found = self.check(tmp_path, "libx.so.1", code + " _exit(0); }", code=1)
        assert (found["status"], found["detail"]) == ("failed", "loading it ends the process")

    def test_that_takes_long_is_not_waited_for_after_an_interrupt(self, tmp_path: Path) -> None:
        code = "#include <fcntl.h>\n#include <unistd.h>\n"
        code += "__attribute__((constructor)) static void start(void) {"
        code += f' open("{tmp_path}/began", O_CREAT, 0600); sleep(120); }}'
        home = make_home(tmp_path / "home")
        slow = Made("nvidia-cuda-cupti-cu12", "12.9.79", "cuda_cupti", "libx.so.1", code, "")
        succeeded(home.run("install", *made_libraries.wheels(tmp_path, [LIBRARIES[0], slow])))
        command = [console_script(), "check", "12.9"]
        with subprocess.Popen(command, env=home.env, stdout=subprocess.DEVNULL) as checking:
            while not (tmp_path / "began").exists():
                assert checking.poll() is None
                time.sleep(0.05)
            checking.send_signal(signal.SIGINT)
            assert checking.wait(60) == 130

    def test_that_crashes(self, tmp_path: Path) -> None:
        code = "__attribute__((constructor)) static void start(void) { __builtin_trap(); }"
        found = self.check(tmp_path, "libx.so.1", code, code=1)
        assert found["status"] == "failed"
        assert found["detail"].startswith("loading it crashed (SIG")


@pytest.mark.parametrize("to", ["libcublas.so.10", "/elsewhere/libcudart.so.10.1"])
def test_a_link_that_leads_to_another_library(stocked: Home, tmp_path: Path, to: str) -> None:
    """A link to another library is a fault, in the toolkit or outside: programs would load it."""
    lib = kit(stocked, BARE) / "lib64"
    link, other = lib / "libcudart.so.10.1", Path(f"{tmp_path}{to}" if to[0] == "/" else lib / to)
    other.parent.mkdir(exist_ok=True)
    if not other.exists():
        shutil.copy(link, other)
    link.unlink()
    link.symlink_to(other)
    faulty = [one for one in listed(stocked, lib.parent) if one.fault]
    assert [(one.name, one.path) for one in faulty] == [(link.name, link)]
    said = f"it leads to `{other.resolve()}` instead of libcudart.so.10.1.243"
    assert faulty[0].fault == said


def listed(home: Home, folder: Path) -> list[Library]:
    found = read_toolkit(folder)
    assert found is not None
    return list(Inventory.of(found, [Store(paths.Home(str(home.store)))]).libraries())


@pytest.mark.parametrize(("signal", "name"), [(11, "SIGSEGV"), (40, "signal 40")])
def test_a_child_that_a_signal_ends(tmp_path: Path, signal: int, name: str) -> None:
    """A signal that ends a child is reported by name, or by number if it is a real-time signal."""
    command = ["sh", "-c", f"kill -{signal} $$"]
    done = bounded.run(command, {"PATH": "/usr/bin:/bin"}, tmp_path, 20)
    assert done.ended == f"crashed ({name})"


def test_colours_of_a_child_are_no_part_of_what_it_says(tmp_path: Path) -> None:
    """Python 3.13 and CMake colour their errors in a pipe too, under FORCE_COLOR and the like."""
    command = ["sh", "-c", r"printf '\033[1;35mOSError\033[0m: \033[35mno\033[m' >&2; exit 1"]
    done = bounded.run(command, {"PATH": "/usr/bin:/bin"}, tmp_path, 20)
    assert done.trouble == "OSError: no"


def runs(pid: str) -> bool:
    try:
        state = Path("/proc", pid, "stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state.rpartition(")")[2].split()[0] != "Z"


def test_a_child_that_hangs_is_ended_with_all_it_started(tmp_path: Path) -> None:
    begun = time.monotonic()
    program = "sleep 120 & echo $! > child; wait"
    done = bounded.run(["sh", "-c", program], {"PATH": "/usr/bin:/bin"}, tmp_path, 0.5)
    assert time.monotonic() - begun < 60
    assert done.code is None
    assert done.ended == "gave no answer in 0 s"
    pid = (tmp_path / "child").read_text().strip()
    # The grandchild was told to end, and may have closed its files just before it is gone.
    while runs(pid):
        assert time.monotonic() - begun < 90
        time.sleep(0.01)


def test_one_that_left_the_group_of_a_child_holds_nobody(tmp_path: Path) -> None:
    begun = time.monotonic()
    program = "echo said; echo why >&2; setsid sleep 120 & sleep 120"
    done = bounded.run(["sh", "-c", program], {"PATH": "/usr/bin:/bin"}, tmp_path, 0.5)
    assert time.monotonic() - begun < 60
    assert (done.code, done.out, done.err) == (None, "said\n", "why\n")


class TestAdopted:
    """An adopted toolkit: as no manifest says what belongs to it, its own files do."""

    @pytest.fixture
    def folder(self, made: Home, tmp_path: Path) -> Path:
        folder = tmp_path / "cuda-12.9"
        shutil.copytree(place(made), folder / "lib64", symlinks=True)
        shutil.copytree(place(made).parent / "include", folder / "include")
        stated = {
            "cuda": {"name": "CUDA SDK", "version": "12.9.1"},
            "cuda_nvtx": {"name": "CUDA NVTX", "version": "12.9.79"},
            "libnpp": {"name": "CUDA NPP", "version": "12.4.1.87"},
        }
        (folder / "version.json").write_text(json.dumps(stated))
        return folder

    def check(self, folder: Path, code: int = 0) -> dict[str, dict[str, Any]]:
        home = make_home(folder.parent / "person")
        succeeded(home.run("adopt", folder))
        return proven(home, "12.9", code=code)

    def test_its_headers_and_version_json_say_what_to_expect(self, folder: Path) -> None:
        found = self.check(folder)
        expected = {name: found[name]["expected"] for name in NAMES}
        assert expected == {
            "libcudart.so.12": "12.9",
            "libcublasLt.so.12": "12.9.1",
            "libcublas.so.12": "12.9.1",
            "libnppc.so.12": "12.4.1.87",
            "libnvJitLink.so.12": "12.9",
            "libnvToolsExt.so.1": "12.9.79",
            "libcudnn.so.9": "9.10.2",
            "libcudnn_ops.so.9": None,
        }
        assert found["libnvToolsExt.so.1"]["status"] == "not-asked"
        assert found["libcudnn.so.9"]["status"] == "passed"

    def test_other_versions_are_found_by_what_they_say(self, folder: Path) -> None:
        for library in LIBRARIES:
            other_version(folder / "lib64" / library.soname, library)
        found = self.check(folder, 1)
        failed = {name for name in NAMES if found[name]["status"] == "failed"}
        # libnvToolsExt has no call for its version, and no manifest tells its content.
        assert failed == {*NAMES} - {"libnvToolsExt.so.1"}
        details = {name: found[name]["detail"] for name in failed}
        assert details["libcublas.so.12"] == "it reports 12.4.5; cublas_api.h says 12.9.1"
        assert details["libnppc.so.12"] == "it reports 12.3.1; version.json says 12.4.1.87"
        assert details["libcudart.so.12"] == "it reports 12.4; the toolkit's release says 12.9"
        assert details["libcudnn_ops.so.9"] == "cudnnOpsVersionCheck returns error 1007"

    def test_a_link_that_leads_to_nothing(self, folder: Path) -> None:
        (folder / "lib64" / "libnppc.so.12").unlink()
        found = self.check(folder, 1)
        assert found["libnppc.so"]["detail"] == "it is a dangling link: libnppc.so.12"

    def test_a_linker_script_is_no_library(self, folder: Path) -> None:
        (folder / "lib64" / "libtext.so").write_text("/* GNU ld script */\nINPUT(libx.so.1)\n")
        (folder / "lib64" / "libnotes.so").write_text("this is no library\n")
        found = self.check(folder, 1)
        assert "libtext.so" not in found
        assert found["libnotes.so"]["status"] == "failed"

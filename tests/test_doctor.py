"""`doctor`: every rule finds its own broken situation, and the printed command mends it."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable

import pytest

import builders
from cudaswitch.doctor import RULES
from doctoring import CASES, Patient
from doctoring.startup import MINE, MINE_MENDED
from homes import HOSTILE_FOLDER
from mounts import NO_HOME, in_own_mounts

CODES = [rule.code for rule in RULES]


@pytest.mark.parametrize("code", CASES)
def test_found_mended_gone(patient: Patient, code: str) -> None:
    others = CASES[code](patient) or set()
    done = patient.in_shell(code)
    shown = f"{done.stdout}\n{done.stderr}"
    assert "Traceback" not in shown
    assert "internal error" not in shown
    found = patient.findings(1)
    assert {one["code"] for one in found} == {code} | others, f"{found}\n{shown}"
    assert all(found[0][key] for key in ("severity", "title", "evidence", "cause", "fix"))
    left = patient.codes(2)
    fix = (patient.work / "fix").read_text()
    assert code not in left, f"{fix}\n{patient.findings(2)}\n{shown}"
    assert set(left) <= patient.remains, f"{fix}\n{patient.findings(2)}\n{shown}"


def test_every_rule_has_a_case() -> None:
    assert sorted(CASES) == CODES
    assert len(CODES) >= 40
    assert sorted(set(CODES)) == CODES


@pytest.mark.parametrize("shell", ["zsh", "fish", "tcsh", "xonsh"])
def test_commands_are_of_the_shell(
    patient: Patient, require: Callable[[str], str], shell: str
) -> None:
    """Commands that set, unset, reorder or bring a toolkit are printed for $SHELL and run there."""
    require(shell)
    patient.shell = shell
    kit = patient.toolkit(patient.work / HOSTILE_FOLDER / "kit")
    patient.adopt("11.2.152")
    library = patient.lay_library(
        patient.work / "lib", "libnvJitLink", "libnvJitLink.so.12", "12.4.1"
    )
    patient.env |= {
        "SHELL": f"/usr/bin/{shell}",
        "LD_LIBRARY_PATH": f"{kit}/lib64/stubs",
        "CUDA_HOME": f"{kit}/bin",
        "LD_PRELOAD": str(library),
    }
    for code in ("CS001", "CS012", "CS023"):
        done = patient.in_shell(code)
        assert code in patient.codes(1), done.stderr
        assert code not in patient.codes(2), (patient.work / "fix").read_text() + done.stderr
    patient.env |= {"CUDASWITCH_DRIVER": "470.57.02", "CUDA_HOME": str(kit)}
    patient.on_path(kit / "bin")
    del patient.env["LD_PRELOAD"], patient.env["LD_LIBRARY_PATH"]
    done = patient.in_shell("CS050")
    assert patient.codes(2) == [], (patient.work / "fix").read_text() + done.stderr


@pytest.mark.parametrize(("release", "codes"), [("11.2.152", ["CS041"]), ("11.0.221", [])])
def test_the_release_that_has_what_a_framework_loads(
    patient: Patient, release: str, codes: list[str]
) -> None:
    env = patient.virtualenv()
    env.dist("tensorflow", "2.4.4")
    patient.activate(env)
    kit = patient.toolkit(patient.work / "kit", release)
    patient.lay_library(kit / "lib64", "libcudnn", "libcudnn.so.8", "8.0.5")
    flags = f"--xla_gpu_cuda_data_dir={kit}"
    patient.env |= {"CUDA_HOME": str(kit), "LD_LIBRARY_PATH": f"{kit}/lib64", "XLA_FLAGS": flags}
    patient.on_path(kit / "bin")
    patient.program(patient.work / "gcc-9")
    (patient.work / "bin/gcc").unlink()
    (patient.work / "bin/gcc").symlink_to(patient.work / "gcc-9")
    patient.in_shell("none")
    assert patient.codes(1) == codes
    for found in patient.findings(1):
        assert "needs CUDA 11.0: no libcusolver.so.10 is found" in found["evidence"]
        assert found["fix"].startswith("cudaswitch install auto && ")


def test_no_command_undoes_another(patient: Patient) -> None:
    """All commands, run in the order in which they are printed, leave nothing to be found."""
    for version in ("11.8.89", "11.2.72"):
        patient.toolkit(patient.work / version, version)
    first, second = (f"{patient.work}/{version}/lib64" for version in ("11.8.89", "11.2.72"))
    gone = f"{patient.work}/cuda-9.0"
    patient.env["LD_LIBRARY_PATH"] = f"{first}/stubs::{first}:{gone}/lib64:{second}:{first}:/opt"
    patient.env["PATH"] = f"{gone}/bin:{patient.path}:"
    assert patient.run_all() == ["CS001", "CS002", "CS008", "CS003", "CS004", "CS005", "CS006"]
    assert patient.findings(1) == []
    assert (patient.work / "list").read_text() == f"{first}:/opt"


def test_no_command_takes_out_anothers_line(patient: Patient) -> None:
    """Commands for one file find their lines after the others ran, and a copy of the file stays."""
    patient.run("init", "--install", "bash", "--yes")
    block = patient.home.path.joinpath(".bashrc").read_text()
    file = patient.rc(block + MINE)
    assert patient.run_all() == ["CS078", "CS080", "CS081", "CS081"]
    assert patient.findings(1) == []
    assert file.read_text() == block + MINE_MENDED
    copies = [path.read_text() for path in file.parent.glob(".bashrc.bak*")]
    assert block + MINE in copies
    assert subprocess.run(["bash", "-n", file], check=False).returncode == 0


def test_no_command_takes_out_anothers_line_of_the_loaders_configuration(
    patient: Patient,
) -> None:
    (patient.work / "etc").mkdir()
    conf = patient.work / "conf/mine.conf"
    conf.write_text("/usr/local/cuda-9.0/lib64\n/usr/local/cuda-9.1/lib64 # old\n/opt\n# cuda\n")
    assert patient.run_all() == ["CS055", "CS055"]
    assert patient.findings(1) == []
    assert conf.read_text() == "/opt\n# cuda\n"


@pytest.mark.parametrize(
    ("shell", "unset", "use"),
    [
        ("/bin/csh", "unsetenv LD_LIBRARY_PATH", 'eval "`cudaswitch env 12.4.131 --shell tcsh`"'),
        ("nu", "hide-env LD_LIBRARY_PATH", "cudaswitch init --install nu"),
        ("/opt/pwsh", "Remove-Item Env:LD_LIBRARY_PATH", "cudaswitch env 12.4.131 --shell pwsh | "),
        ("/bin/dash", "unset LD_LIBRARY_PATH", 'eval "$(cudaswitch env 12.4.131 --shell sh)"'),
        ("/bin/false", "unset LD_LIBRARY_PATH", 'eval "$(cudaswitch env 12.4.131 --shell sh)"'),
        ("/bin/mksh", "unset LD_LIBRARY_PATH", "cudaswitch exec 12.4.131 -- ksh"),
    ],
)
def test_words_of_other_shells(patient: Patient, shell: str, unset: str, use: str) -> None:
    patient.adopt("12.4.131")
    patient.env |= {"SHELL": shell, "LD_LIBRARY_PATH": "/nowhere/stubs"}
    done = patient.home.run("doctor", "--json", **patient.env)
    assert [one["fix"] for one in json.loads(done.stdout)["findings"]] == [unset]
    pasted = "libcudart.so.12: cannot open shared object file"
    done = patient.home.run("doctor", "--json", stdin=pasted, **patient.env)
    use = use.replace("12.4.131", "12")
    assert json.loads(done.stdout)["findings"][0]["fix"].startswith(use)


@pytest.mark.parametrize("shell", ["dash", "yash", "bash", "zsh", "fish", "tcsh", "elvish"])
def test_the_shell_that_calls_is_told_in_its_own_words(
    patient: Patient, require: Callable[[str], str], shell: str
) -> None:
    """Commands suit the shell that calls, not $SHELL, whose `unset` may be no command here."""
    login = "fish" if shell == "bash" else "bash"
    stubs = "/nowhere/it's $me/stubs"
    patient.env |= {"SHELL": f"/usr/bin/{login}", "LD_LIBRARY_PATH": f"{stubs}:/opt/x y"}
    patient.rc("export CUDA_HOME=/usr/local/cuda-11.8\n")
    kit = patient.adopt("12.4.131")
    (patient.home.path / ".cuda-version").write_text("12.4\n")

    def run(line: str) -> str:
        done = subprocess.run(
            [require(shell), "-c", line],
            env=patient.home.env | patient.env,
            cwd=patient.home.path,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        assert not done.stderr
        return done.stdout

    attempt = "try { cudaswitch doctor --json } catch { }"
    asked = run(attempt if shell == "elvish" else "cudaswitch doctor --json; true")
    fixes = {one["code"]: one["fix"] for one in json.loads(asked)["findings"]}
    assert ("CS080" in fixes) == (login == "bash"), "startup files are those of the login shell"
    assert run(f"{fixes['CS001']}; env | grep LD_LIBRARY_PATH") == "LD_LIBRARY_PATH=/opt/x y\n"
    if shell in ("dash", "yash", "elvish"):
        assert run(f"{fixes['CS076']}; env | grep CUDA_HOME") == f"CUDA_HOME={kit}\n"
    else:
        assert f"init --install {shell} " in fixes["CS076"]


@pytest.mark.parametrize("named", ["", "X", '"X Y"'])
def test_other_flags_of_xla_stay(patient: Patient, named: str) -> None:
    kit = patient.toolkit(patient.work / "my kit")
    before = "--xla_dump_to=/x{} --xla_dump_hlo_as_text"
    there = f" --xla_gpu_cuda_data_dir={named}" if named else ""
    data = f'--xla_gpu_cuda_data_dir="{kit}"'
    patient.env |= {"CUDA_HOME": str(kit), "XLA_FLAGS": before.format(there)}
    patient.on_path(kit / "bin")
    wanted = f"export XLA_FLAGS='{before.format('')} {data}'"
    assert patient.told("libdevice not found at ./libdevice.10.bc")["fix"] == wanted


def test_what_is_in_another_shells_file_is_left(patient: Patient) -> None:
    """A user whose shell is tcsh is not told about what bash reads."""
    patient.rc("export CUDA_HOME=/usr/local/cuda-11.8\n")
    patient.env["SHELL"] = "/usr/bin/tcsh"
    assert _ask(patient) == []


def _ask(patient: Patient) -> list[dict[str, str]]:
    done = patient.home.run("doctor", "--json", **patient.env)
    assert "internal error" not in done.stderr, done.stderr
    found: list[dict[str, str]] = json.loads(done.stdout)["findings"]
    return found


@pytest.mark.parametrize(
    ("pin", "fix"),
    [
        ("cuda 11.1\ncudnn 8\nlibraries never\ngpus 0", "install 11.1 --cudnn 8 && cudaswitch pin"),
        ("cuda >=11.1,<11.2", "install '>=11.1,<11.2' && cudaswitch pin '>=11.1,<11.2' -p ENV"),
        ("cuda 11.1", "install 11.1 && cudaswitch pin 11.1 -p ENV"),
        ("cuda 13.0.99\ngpus 0", "pin 13.0.88 --gpus 0 -p ENV"),
        ("cuda 13.0.99\ncudnn 9", "install 13.0.99 --cudnn 9 && cudaswitch pin 13.0.99 --cudnn"),
        ("what is this", "unpin -p ENV"),
    ],
)
def test_a_pin_without_an_answer(patient: Patient, pin: str, fix: str) -> None:
    """The commands for a pin without an answer run as printed: none is refused as wrong usage."""
    patient.adopt("11.1.105")
    patient.adopt("13.0.88")
    env = patient.virtualenv()
    patient.run("pin", "11.1", "-p", env.prefix)
    patient.run("remove", "--force", "11.1.105")
    (env.prefix / "etc/cudaswitch/pin").write_text(f"{pin}\n")
    [found] = [one for one in _ask(patient) if one["code"] == "CS075"]
    assert found["fix"].startswith(f"cudaswitch {fix.replace('ENV', str(env.prefix))}")
    for command in found["fix"].split(" && "):
        words = shlex.split(command)[1:]
        done = patient.home.run(*words, *(["--offline"] if "install" in words else []))
        assert done.returncode < 2, f"{command}\n{done.stderr}"
    if "unpin" in fix:
        assert "CS075" not in [one["code"] for one in _ask(patient)]


EARLIER_LEAVE = (
    'if [ -n "${VIRTUAL_ENV-}" ] && [ -f "$VIRTUAL_ENV/etc/cudaswitch/off.sh" ];'
    ' then \\. "$VIRTUAL_ENV/etc/cudaswitch/off.sh"; fi  # cudaswitch\n'
)
"""What an earlier cudaswitch put into `deactivate` of an activate script."""


@pytest.mark.parametrize("conda", [False, True])
def test_hooks_of_an_earlier_cudaswitch_are_one_finding(patient: Patient, conda: bool) -> None:
    """Hooks of an earlier cudaswitch, which still work, count neither as edited nor as lost."""
    patient.adopt("12.4.131")
    env = patient.virtualenv(conda=conda)
    patient.run("pin", "12.4", "-p", env.prefix)
    names = ("etc/cudaswitch/*", "etc/conda/*/*", "bin/activate*")
    new = {at: at.read_text() for name in names for at in env.prefix.glob(name)}
    for half in env.prefix.glob("etc/conda/*/*.sh" if conda else "etc/cudaswitch/o*.sh"):
        half.write_text(new[half].replace("'x')", "x)"))
    (env.prefix / "etc/cudaswitch/core.sh").write_text("__cudaswitch_settle() {\n:\n}\n")
    (env.prefix / "etc/cudaswitch/core.csh").write_text("exit\n")
    (env.prefix / "etc/cudaswitch/own.csh").unlink()
    if not conda:
        activate = env.prefix / "bin/activate"
        lines = new[activate].splitlines(keepends=True)
        [mine] = [line for line in lines if line.endswith("; esac; fi  # cudaswitch\n")]
        activate.write_text(new[activate].replace(mine, EARLIER_LEAVE))
    [found] = _ask(patient)
    assert (found["code"], found["severity"]) == ("CS071", "warning")
    assert "of an earlier cudaswitch" in found["evidence"]
    patient.run(*shlex.split(found["fix"])[1:])
    assert _ask(patient) == []
    assert {at: at.read_text() for at in new} == new


@pytest.mark.parametrize(
    ("dists", "code"),
    [
        (["nvidia-cuda-runtime-cu12 12.9.79"], None),
        (["nvidia-cudnn-cu12 9.10.2.21"], "CS044"),
    ],
)
def test_wheels_for_another_major_quarrel_only_over_a_folder(
    patient: Patient, dists: list[str], code: str | None
) -> None:
    env = patient.virtualenv()
    env.torch("2.14.1+cu130", "13.0", "nvidia-cudnn-cu13==9.24.0.43")
    for dist in ("nvidia-cudnn-cu13 9.24.0.43", "nvidia-nvshmem-cu13 3.4.5", *dists):
        env.dist(*dist.split())
    patient.activate(env)
    assert [one["code"] for one in _ask(patient) if one["code"] == "CS044"] == [code] * bool(code)


@pytest.mark.parametrize(
    ("dists", "finds"),
    [
        (["nvidia-cudnn-cu12 9.1.0.70"], True),
        (["nvidia-cudnn-cu12 9.1.0.70.post1"], True),
        (["nvidia-cudnn-cu12 unknown"], False),
        (["nvidia-cudnn-cu12 9.10.2.21"], False),
        (["nvidia-cudnn-cu12 9.12.0.46"], False),
    ],
)
def test_a_cudnn_wheel_of_an_older_minor(patient: Patient, dists: list[str], finds: bool) -> None:
    env = patient.virtualenv()
    env.torch("2.9.1+cu128", "12.8", "nvidia-cudnn-cu12==9.10.2.21")
    for dist in dists:
        env.dist(*dist.split())
    patient.activate(env)
    found = [one["fix"] for one in _ask(patient) if one["code"] == "CS045"]
    assert ["nvidia-cudnn-cu12==9.10.2.21.*" in fix for fix in found] == [True] * finds


def test_a_cudnn_wheel_is_held_against_frameworks_of_its_cuda(patient: Patient) -> None:
    env = patient.virtualenv()
    env.dist("jax-cuda13-plugin", "0.12.0.1")
    env.dist("nvidia-cuda-runtime", "13.0.96")
    env.dist("nvidia-cudnn-cu13", "9.12.0.46")
    env.dist("nvidia-cudnn-cu12", "8.9.7.29")
    patient.activate(env)
    assert "CS045" not in [one["code"] for one in _ask(patient)]


def test_of_compilers_among_flags_the_last_counts(patient: Patient) -> None:
    """Of several -ccbin among flags the last counts, as it does for nvcc."""
    patient.program(patient.work / "own-g++")
    there, gone = f"-ccbin={patient.work}/own-g++", "-ccbin=/opt/gone/g++"
    for flags, lost in ((f"{gone} {there}", False), (f"{there} {gone}", True)):
        patient.env["NVCC_PREPEND_FLAGS"] = flags
        assert ("CS032" in [one["code"] for one in _ask(patient)]) == lost


def test_only_toolkits_of_use_here_are_proposed(patient: Patient) -> None:
    """Newer toolkits that are gone or for another platform are not proposed."""
    patient.adopt("10.1.105")
    patient.adopt("10.1.243")
    windows = {"Library/bin/cudart64_12.dll": b"MZ"}
    package = builders.conda_package(
        patient.work, "cudatoolkit", "10.1.300", "h_0", "win-64", windows
    )
    patient.run("install", package, "--platform", "win-64")
    env = patient.virtualenv()
    patient.run("pin", "10.1.243", "-p", env.prefix)
    shutil.rmtree(patient.work / "kits/10.1.243")
    found = {one["code"]: one["fix"] for one in _ask(patient)}
    # Pins to the toolkit have nothing to lose, since it is gone.
    assert found["CS062"] == "cudaswitch remove --force 10.1.243"
    assert found["CS075"].startswith("cudaswitch pin 10.1.105 -p ")
    for pasted, use in (("11.0", "install 11"), ("12", "install 12"), ("10.1", "env 10.1")):
        told = patient.told(f"libcudart.so.{pasted}: cannot open shared object file")
        assert f"cudaswitch {use}" in told["fix"]
    patient.run(*found["CS062"].split()[1:])
    assert "CS062" not in [one["code"] for one in _ask(patient)]


def test_a_choice_whose_toolkit_is_gone(patient: Patient) -> None:
    """For a choice whose toolkit is gone only `off` helps: no list names it any more."""
    patient.run("init", "--install", "bash", "--yes")
    kit = patient.adopt("12.4.131")
    patient.env["_CUDASWITCH_U"] = str(kit)
    shutil.rmtree(kit)
    fixes = {one["code"]: one["fix"] for one in _ask(patient)}
    assert fixes["CS076"] == "cudaswitch off"


def test_a_pin_that_came_from_another_terminal(patient: Patient) -> None:
    """Activating again runs a hook that was pinned in another terminal; deactivating undoes it."""
    kit = patient.adopt("12.4.131")
    prefix = patient.work / "a venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", prefix], check=True)
    path = f"{prefix}/bin:{patient.home.env['PATH']}"
    patient.env |= {"VIRTUAL_ENV": str(prefix), "PATH": path}
    patient.run("pin", "12.4", "-p", prefix)
    [found] = [one for one in _ask(patient) if one["code"] == "CS076"]
    script = f'{found["fix"]}\necho "$CUDA_HOME"\ndeactivate\necho "${{CUDA_HOME-none}}"'
    done = subprocess.run(
        ["bash", "-c", script], env=patient.home.env, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == [str(kit), "none"]


@pytest.mark.parametrize("asks", ["pin", "tree"])
@pytest.mark.parametrize("shell", ["dash", "yash", "busybox sh", "elvish", "ksh", "mksh"])
def test_a_shell_without_an_integration(
    patient: Patient, require: Callable[[str], str], shell: str, asks: str
) -> None:
    """In a shell without an integration, the finding names a command that is of use there."""
    kit = patient.adopt("12.4.131")
    name, *more = shell.split()
    patient.env["SHELL"] = require(name)
    env = patient.virtualenv()
    patient.run("pin", "12.4", *(["-p", env.prefix] if asks == "pin" else ["--dir", "."]))
    if asks == "pin":
        patient.activate(env)
    [found] = _ask(patient)
    assert found["code"] == "CS076"
    # A ksh that the fix starts by `exec` reads its next line from standard input.
    done = subprocess.run(
        [patient.env["SHELL"], *more, "-c", f"{found['fix']}\nprintenv CUDA_HOME"],
        env=patient.home.env | patient.env, cwd=patient.home.path, capture_output=True,
        input="printenv CUDA_HOME\n", text=True, check=False,
    )  # fmt: skip
    assert (done.stdout, done.stderr) == (f"{kit}\n", ""), found["fix"]
    assert found["fix"].startswith(". ") == (
        asks == "pin" and name not in ("elvish", "ksh", "mksh")
    )


def test_only_startup_files_need_a_home_folder(patient: Patient) -> None:
    patient.adopt("12.4.131")
    env = patient.home.env | patient.env | {"CUDA_HOME": "/nowhere", "CUDASWITCH_VERSION": "12.4"}
    told, found = (
        in_own_mounts(NO_HOME, "cudaswitch", *words, cwd=patient.work, env=env)
        for words in (["current"], ["doctor", "--json"])
    )
    assert 'this shell has /nowhere\nhint: eval "$(cudaswitch init bash)"\n' in told.stderr
    assert "CS022" in [one["code"] for one in json.loads(found.stdout)["findings"]]


def test_numbers_are_no_texts(patient: Patient) -> None:
    """12.10 is another release than 12.1, so its toolkit does not serve a request for 12.1."""
    patient.adopt("12.10.1")
    pasted = "ImportError: The detected CUDA version (11.8) mismatches the version that was used to"
    pasted += " compile PyTorch (12.1)."
    found = patient.told(pasted)
    assert found["fix"].startswith("cudaswitch install 12.1 && ")

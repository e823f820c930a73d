"""`doctor --fix`: shown first, done on consent only, with copies of what it changes."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pytest

from checks import snapshot
from cudaswitch.doctor import RULES
from cudaswitch.doctor.messages import messages
from doctoring import CASES, Patient
from doctoring.environment import link
from doctoring.startup import MINE, MINE_MENDED, RC
from homes import HOSTILE_NAME
from made_environments import torch_start
from tools import console_script

SAFE = ("CS072", "CS077", "CS078", "CS081", "CS083", "CS084")
"""One code for each kind of change that is made."""


@pytest.mark.parametrize("code", SAFE)
def test_what_is_safe_is_mended_after_it_was_agreed_to(patient: Patient, code: str) -> None:
    CASES[code](patient)
    patient.before = ""
    before = snapshot(patient.home.path) | snapshot(patient.work)
    refused = patient.home.run("doctor", "--fix", **patient.env)
    assert refused.returncode == 1
    assert f"{code} was not fixed: it needs confirmation" in refused.stderr
    assert "cudaswitch doctor --fix --yes" in refused.stderr
    assert snapshot(patient.home.path) | snapshot(patient.work) == before
    done = patient.home.run("doctor", "--fix", "--yes", **patient.env)
    assert "Traceback" not in done.stderr
    left = patient.home.run("doctor", "--json", **patient.env)
    assert code not in [one["code"] for one in json.loads(left.stdout)["findings"]], done.stderr


def test_lines_become_comments_and_the_file_is_kept(patient: Patient) -> None:
    file = patient.rc(RC)
    file.chmod(0o600)
    done = patient.home.run("doctor", "--fix", "--yes", **patient.env)
    assert "-export CUDA_HOME=/usr/local/cuda-11.8" in done.stderr.splitlines()
    assert file.read_text() == (
        "# mine\nalias ll='ls -l'\n:  # export CUDA_HOME=/usr/local/cuda-11.8\n"
        "if [ -d /usr/local/cuda-11.8 ]; then\n"
        "    :  # export PATH=/usr/local/cuda-11.8/bin:$PATH\nfi\n"
        ":  # export LD_LIBRARY_PATH=/usr/local/cuda-11.8/lib64\\\nexport EDITOR=vi\n"
    )
    assert subprocess.run(["bash", "-n", file], check=False).returncode == 0
    assert file.with_name(".bashrc.bak").read_text() == RC
    assert {path.stat().st_mode & 0o777 for path in (file, file.with_name(".bashrc.bak"))} == {
        0o600
    }
    file.write_text(RC)
    patient.home.run("doctor", "--fix", "--yes", **patient.env)
    assert file.with_name(".bashrc.bak2").read_text() == RC


def test_lines_of_one_file_go_together(patient: Patient) -> None:
    """The lines of one file change together, as each change would shift the others' numbers."""
    patient.run("init", "--install", "bash", "--yes")
    block = patient.home.path.joinpath(".bashrc").read_text()
    file = patient.rc(block + MINE)
    top = block.count("\n")
    rows = json.loads(patient.home.run("doctor", "--json", **patient.env).stdout)["findings"]
    # Each finding names the lines of the others that its command changes too.
    assert len({row["fix"] for row in rows}) == 1
    assert [(row["code"], row["evidence"].rpartition("; ")[2]) for row in rows] == [
        (code, f"the command changes lines {numbers} of `{file}` too, for other findings")
        for code, numbers in (
            ("CS078", ", ".join(str(top + at) for at in (4, 5, 8, 9, 10, 12))),
            ("CS080", ", ".join(str(top + at) for at in (2, 5, 12))),
            ("CS081", ", ".join(str(top + at) for at in (2, 4, 8, 9, 10, 12))),
            ("CS081", ", ".join(str(top + at) for at in (2, 4, 5, 8, 9, 10))),
        )
    ]
    done = patient.home.run("doctor", "--fix", "--yes", **patient.env)
    assert file.read_text() == block + MINE_MENDED, done.stderr
    assert [path.read_text() for path in file.parent.glob(".bashrc.*")] == [block + MINE]
    assert done.returncode == 0


def test_a_line_that_is_another_by_now_stays(patient: Patient) -> None:
    """A line stays if its file is changed while the user is asked about something else."""
    CASES["CS083"](patient)
    file = patient.rc(RC)
    with _asking(patient) as (said, answer):
        file.write_text(f"# theirs\n{RC}")
        answer("y\ny\n")
        told = said.read()
    assert f"`{file}` was changed in the meantime" in told
    assert file.read_text() == f"# theirs\n{RC}"
    assert not file.with_name(".bashrc.bak").exists()


def test_a_line_that_is_no_text_is_the_persons(patient: Patient) -> None:
    """A line that is no text is left to the user: it cannot be written anew, nor named to sed."""
    file = patient.rc("")
    before = b"export LD_LIBRARY_PATH=/opt/\xe9:$LD_LIBRARY_PATH\n"
    file.write_bytes(before)
    done = patient.home.run("doctor", "--fix", "--yes", **patient.env)
    assert f"vi +1 {file}" in done.stdout
    assert file.read_bytes() == before


def test_a_message_is_not_read_with_it(patient: Patient) -> None:
    """`--fix` says that it ignores a pasted message, lest its silence be taken for health."""
    message = "libcudart.so.10.1: cannot open shared object file\n"
    for given, told in ((message, True), ("", False)):
        with (patient.work / "given").open("w+") as file:
            file.write(given)
            file.seek(0)
            done = subprocess.run(
                [console_script(), "doctor", "--fix", "--yes"], env=patient.home.env | patient.env,
                stdin=file, capture_output=True, text=True, check=False,
            )  # fmt: skip
        assert ("--fix ignores standard input" in done.stderr) == told


def test_a_person_is_asked(patient: Patient) -> None:
    """At a terminal, `n` leaves everything as it is, and `y` applies the fix."""
    file = patient.rc(RC)
    for answer, changed in (("n", False), ("y", True)):
        ours, theirs = pty.openpty()
        process = subprocess.Popen(
            [console_script(), "doctor", "--fix"],
            env=patient.home.env | patient.env,
            stdin=theirs,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        os.close(theirs)
        os.write(ours, f"{answer}\n".encode())
        said = process.communicate(timeout=60)[1]
        os.close(ours)
        assert "Apply this fix? [y/N]" in said
        assert (file.read_text() != RC) == changed
        assert process.returncode == (0 if changed else 1)


def test_a_line_that_is_not_written_leaves_no_ready_file(patient: Patient) -> None:
    """No ready file is left where the startup file is changed while the user is asked."""
    CASES["CS076"](patient)
    file = patient.rc("# mine\n")
    with _asking(patient) as (said, answer):
        file.write_text("# theirs\n")
        answer("y\n")
        told = said.read()
    assert "was changed in the meantime" in told
    assert file.read_text() == "# theirs\n"
    assert not list((patient.home.store / "init").glob("bash*"))


@contextmanager
def _asking(patient: Patient) -> Iterator[tuple[IO[str], Callable[[str], object]]]:
    """Run `doctor --fix` up to its first question; yield its messages and a function to answer."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [console_script(), "doctor", "--fix"],
        env=patient.home.env | patient.env,
        cwd=patient.home.path,
        stdin=theirs,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        bufsize=0,
    ) as process:
        os.close(theirs)
        assert process.stderr
        said = ""
        while "Apply this fix?" not in said:
            said += process.stderr.read(1)
        yield process.stderr, lambda text: os.write(ours, text.encode())
    os.close(ours)


def test_another_persons_file_is_left(patient: Patient) -> None:
    file = patient.rc(RC)
    file.chmod(0o400)
    done = patient.home.run("doctor", "--fix", "--yes", **patient.env)
    assert f"cannot edit `{file}`: it is read-only" in done.stderr
    assert (done.returncode, file.read_text()) == (1, RC)
    assert [path.name for path in file.parent.glob(".bashrc*")] == [".bashrc"]


def test_what_the_system_refuses_leaves_the_rest_to_be_mended(patient: Patient) -> None:
    """A fix that fails, in a folder that cannot be written, does not stop the one after it."""
    CASES["CS082"](patient)
    folder = patient.work / "env/etc/conda/activate.d"
    file = patient.rc("# mine\nexport CUDA_HOME=/usr/local/cuda-11.8\n")
    folder.chmod(0o555)
    try:
        done = patient.home.run_plainly("doctor", "--fix", "--yes", **patient.env)
    finally:
        folder.chmod(0o755)
    said = done.stderr.splitlines()
    script = folder / "env_vars.sh"
    at = said.index(f"cudaswitch: cannot fix it: Permission denied (`{script}`)")
    assert said[at + 1].startswith("hint: ")
    assert file.read_text() == "# mine\n:  # export CUDA_HOME=/usr/local/cuda-11.8\n"
    assert script.is_file()


def test_what_is_shown_drives_no_terminal(patient: Patient) -> None:
    env = patient.virtualenv(conda=True)
    patient.activate(env)
    text = "export LD_LIBRARY_PATH=/usr/local/cuda-9.0/lib64\n"
    env.write("etc/conda/activate.d/a\x1b]0;owned\x07.sh", text)
    done = patient.home.run("doctor", "--fix", "--yes", **patient.env)
    assert "move " in done.stderr
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", done.stderr)


@pytest.mark.parametrize("variables", [{}, {"env": None}, {"env": {"A": "1"}}])
def test_a_kernel_starts_with_its_pin(patient: Patient, variables: dict[str, Any]) -> None:
    """A mended kernel has its pin when run as Jupyter does, by kernel.json's argv and variables."""
    CASES["CS084"](patient)
    file = patient.home.path / "xdg-data/jupyter/kernels/mine/kernel.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | variables))
    patient.home.run("doctor", "--fix", "--yes", **patient.env)
    spec = json.loads(file.read_text())
    assert spec["display_name"] == "mine"
    assert spec.get("env") == variables.get("env")
    program = spec["argv"][: spec["argv"].index("-m")]
    done = subprocess.run(
        [*program, "-c", "import os, sys; print(os.environ['CUDA_HOME'], sys.prefix)"],
        env=patient.home.env | patient.env | (spec.get("env") or {}),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == [f"{patient.work}/kits/12.4.131", f"{patient.work}/env"]


def test_in_fish(patient: Patient, require) -> None:
    require("fish")
    patient.shell = "fish"
    kit = patient.toolkit(patient.work / "kit")
    patient.env |= {"SHELL": "/usr/bin/fish", "LD_LIBRARY_PATH": f"{kit}/lib64:"}
    patient.env["CUDA_HOME"] = f"{kit}/bin"
    config = "xdg-config/fish/config.fish"
    lines = ("set -gx CUDA_HOME /usr/local/cuda-11.8\n", "fish_add_path /usr/local/cuda/bin\n")
    patient.rc("".join(lines), config)
    for code in ("CS002", "CS023", "CS080"):
        done = patient.in_shell(code)
        assert code in patient.codes(1), done.stderr
        assert code not in patient.codes(2), done.stderr
    after = patient.home.path.joinpath(config).read_text()
    assert after == "".join(f":  # {line}" for line in lines)


def test_a_healthy_machine(patient: Patient) -> None:
    """A toolkit in use, a pinned active environment and rc files of the usual kind are fine."""
    kit = patient.adopt("12.4.131")
    env = patient.virtualenv()
    env.torch("2.4.0+cu124", "12.4", "nvidia-cublas-cu12==12.4.5.8")
    env.dist("nvidia-cublas-cu12", "12.4.5.8")
    (env.packages / "nvidia/cublas/lib").mkdir(parents=True)
    patient.run("pin", "12.4", "-p", env.prefix)
    patient.rc(
        '# a person\'s own\nexport PATH="$HOME/bin:$PATH"\nexport LD_LIBRARY_PATH='
        '"$HOME/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"\n# export CUDA_HOME=/usr/local/cuda\n'
        "export CUDASWITCH_HOME=/srv/cudaswitch\n"
        "export PATH=/opt/cuda-samples/bin:$HOME/barracuda/bin:$PATH\n"
    )
    patient.run("init", "--install", "bash", "--yes")
    patient.before = f". '{env.prefix}/bin/activate'"
    patient.in_shell("none")
    assert patient.findings(1) == []
    told = patient.work / "told"
    patient.before += f"; cudaswitch doctor > '{told}' 2>&1 < /dev/null; echo $? >> '{told}'"
    patient.in_shell("none")
    assert told.read_text() == "cudaswitch: no known problems found\n0\n"
    assert kit.is_dir()


@pytest.mark.parametrize("preloads", [True, False])
def test_libraries_that_torch_loads_by_path_are_its_own(patient: Patient, preloads: bool) -> None:
    """The same folder on LD_LIBRARY_PATH is a finding only for a torch that preloads nothing."""
    env = patient.virtualenv()
    env.torch("2.4.0+cu121", "12.1", "nvidia-cublas-cu12==12.1.3.1")
    env.dist("nvidia-cublas-cu12", "12.1.3.1")
    nvidia, lib = env.packages / "nvidia", env.packages / "torch/lib"
    runtime = link(nvidia / "cuda_runtime/lib/libcudart.so.12")
    bundled = link(nvidia / "nvjitlink/lib/libnvJitLink.so.12")
    path = "$ORIGIN:$ORIGIN/../../nvjitlink/lib"
    cusparse = link(nvidia / "cusparse/lib/libcusparse.so.12", bundled, runpath=path)
    deps = "$ORIGIN/../../nvidia/cuda_runtime/lib:$ORIGIN/../../nvidia/cusparse/lib"
    link(lib / "libtorch_global_deps.so", runtime, runpath=deps)
    link(lib / "libtorch_cuda.so", cusparse, runpath=deps)
    (lib.parent / "__init__.py").write_text(torch_start(preloads=preloads))
    older = link(patient.work / "old/libnvJitLink.so.12")
    patient.activate(env)
    patient.env["LD_LIBRARY_PATH"] = str(older.parent)
    patient.in_shell("none")
    assert patient.codes(1) == ([] if preloads else ["CS040"])


def test_two_copies_that_undoing_needs(patient: Patient) -> None:
    """A user's own PATH entry for the applied toolkit is fine; two without a toolkit on are not."""
    kit = patient.adopt("12.4.131")
    patient.env["PATH"] = f"{kit}/bin:{patient.path}"
    patient.before = 'eval "$(cudaswitch env 12.4 --shell bash)"'
    patient.in_shell("none")
    assert patient.findings(1) == []
    patient.before = f"export PATH='{kit}/bin':$PATH"
    patient.in_shell("none")
    assert patient.codes(1) == ["CS004"]


def test_a_line_with_more_in_it_is_the_persons(patient: Patient) -> None:
    """A line with other commands in it is left to an editor: taking it out would lose them."""
    file = patient.rc("alias a=b; export CUDA_HOME=/usr/local/cuda; umask 022\n")
    done = patient.home.run("doctor", "--fix", "--yes", **patient.env)
    assert f"vi +1 {file}" in done.stdout
    assert (done.returncode, file.read_text().count("CUDA_HOME")) == (1, 1)


@pytest.mark.parametrize(("code", "other"), [("CS027", False), ("CS025", True)])
def test_an_nvcc_that_may_not_be_executed(patient: Patient, code: str, other: bool) -> None:
    """An nvcc without execute permission gets it by chmod: no order of PATH would help."""
    kit = patient.toolkit(patient.work / "kit")
    (kit / "bin/nvcc").chmod(0o644)
    patient.env["CUDA_HOME"] = str(kit)
    patient.on_path(kit / "bin", *([patient.toolkit(patient.work / "other") / "bin"] * other))
    patient.in_shell(code)
    assert (patient.work / "fix").read_text() == f"chmod +x {kit}/bin/nvcc\n"
    assert code in patient.codes(1)
    assert code not in patient.codes(2)


def test_a_bare_machine(patient: Patient) -> None:
    patient.in_shell("none")
    assert patient.findings(1) == []


def test_libraries_that_were_renamed(patient: Patient) -> None:
    """A library's version is reported even where a user has put a word after it."""
    first, second = patient.work / "first", patient.work / "second"
    patient.lay_library(first, "libcudart", "libcudart.so.11.0", "11.0.221_orig")
    patient.lay_library(second, "libcudart", "libcudart.so.11.0", "11.2.72")
    patient.env["LD_LIBRARY_PATH"] = f"{first}:{second}"
    done = patient.home.run("doctor", "--json", **patient.env)
    [found] = json.loads(done.stdout)["findings"]
    assert found["code"] == "CS008"
    assert "libcudart 11.0.221 in" in found["evidence"]


def test_hostile_surroundings(patient: Patient) -> None:
    """Whatever variables and files hold, `doctor` answers in JSON, and runs nothing of them."""
    trap = patient.work / "trap"
    bad = patient.work / HOSTILE_NAME
    bad.mkdir()
    patient.env |= {
        "CUDA_HOME": f"$(touch '{trap}')`touch '{trap}'`",
        "CUDA_PATH": "\x1b[31m:\n",
        "LD_LIBRARY_PATH": f"{bad}:relative:/proc/self/fd::$(touch {trap})",
        "XLA_FLAGS": "--xla_gpu_cuda_data_dir=",
        "SHELL": str(bad),
        "JUPYTER_DATA_DIR": str(patient.work / "jupyter"),
    }
    (patient.work / "jupyter/kernels/a").mkdir(parents=True)
    (patient.work / "jupyter/kernels/a/kernel.json").write_text("[" * 5000)
    rc = patient.rc("")
    rc.write_bytes(b"export PATH=\xff\xfe/cuda:$PATH; touch x\n" + b"=" * 10_000 + b"\n")
    os.mkfifo(patient.home.path / ".profile")
    done = patient.home.run("doctor", "--json", timeout=60, **patient.env)
    assert "internal error" not in done.stderr
    codes = [one["code"] for one in json.loads(done.stdout)["findings"]]
    assert {"CS002", "CS022", "CS080"} <= set(codes)
    human = patient.home.run("doctor", timeout=60, **patient.env)
    assert "\x1b" not in human.stdout
    for one in json.loads(done.stdout)["findings"]:
        if "export" in one["fix"] or "unset" in one["fix"]:
            subprocess.run(["bash", "-c", one["fix"]], check=False, env=patient.home.env)
    assert not trap.exists()


def test_each_code_has_its_part_of_the_page() -> None:
    root = Path(__file__).parent.parent
    page = (root / "docs/doctor.md").read_text(encoding="utf-8")
    parts = {part.split("\n")[0]: part for part in re.split(r"^### ", page, flags=re.MULTILINE)[1:]}
    known = [(rule.code, rule.title, (rule.cause[1:], *rule.threads)) for rule in RULES]
    known += [(row.code, re.sub(r"\{(\w+)\}", "…", row.title), ()) for row in messages()]
    assert list(parts) == [code for code, _, _ in known]
    changes = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"`doctor`: {len(RULES)} rules" in changes
    for code, title, texts in known:
        assert title in parts[code]
        for text in texts:
            assert text in parts[code]

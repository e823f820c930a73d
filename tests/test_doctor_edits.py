"""Edits of startup files: what `--fix` takes out of one leaves every other line its meaning."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from doctoring import CASES, Patient


def _means(file: Path) -> list[str]:
    """Return the EDITOR that each file's bash gets, and what bash says against the file."""
    script = '. "$1"; printf "%s\\n" "$EDITOR"'
    done = subprocess.run(
        ["bash", "-c", script, "bash", file],
        env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return [*done.stdout.splitlines(), *done.stderr.splitlines()]


@pytest.mark.parametrize("indent", ["    ", ""])
def test_a_second_line_that_is_all_of_its_block(patient: Patient, indent: str) -> None:
    line = f'{indent}eval "$(cudaswitch init bash)"'
    before = f"if command -v nothing; then\n{line}\nfi\nexport EDITOR=vi\n"
    file = patient.rc(before)
    patient.run("init", "--install", "bash", "--yes")
    patient.home.run("doctor", "--fix", "--yes", **patient.env)
    assert file.read_text().startswith(before.replace(line, f"{indent}:  # {line.strip()}"))
    assert _means(file) == ["vi"]


def test_a_second_line_with_more_in_it_is_the_users(patient: Patient) -> None:
    file = patient.rc('eval "$(cudaswitch init bash)"; export EDITOR=vi\n')
    patient.run("init", "--install", "bash", "--yes")
    before = file.read_text()
    done = patient.home.run("doctor", "--fix", "--yes", **patient.env)
    assert f"vi +1 {file}" in done.stdout
    assert file.read_text() == before


def test_a_second_line_that_no_colon_can_replace_is_the_users(patient: Patient) -> None:
    name = "xdg-config/xonsh/rc.xsh"
    file = patient.rc("if True:\n    execx($(cudaswitch init xonsh))\n", name)
    patient.run("init", "--install", "xonsh", "--yes")
    before = file.read_text()
    patient.env["SHELL"] = "/usr/bin/xonsh"
    done = patient.home.run("doctor", "--fix", "--yes", **patient.env)
    assert f"vi +2 {file}" in done.stdout
    assert file.read_text() == before


@pytest.mark.parametrize(
    ("head", "tail"),
    [
        ("if [ -d / ]; then  # CUDA", "fi\n"),
        ("for it in 1; do", "done\n"),
        ("[ -d /nowhere ] &&", ""),
        ("[ -d / ] ||", ""),
    ],
)
def test_a_line_that_what_is_before_it_needs(patient: Patient, head: str, tail: str) -> None:
    """A block needs a command, and `&&` takes the next one, whether the line is indented or not."""
    line, rest = "export CUDA_HOME=/nowhere\n", f"{tail}export EDITOR=vi\n"
    file = patient.rc(f"{head}\n{line}{rest}")
    done = patient.home.run("doctor", "--fix", "--yes", **patient.env)
    assert done.returncode == 0, done.stderr
    assert file.read_text() == f"{head}\n:  # {line}{rest}"
    assert _means(file) == ["vi"]


@pytest.mark.parametrize(
    ("value", "then"),
    [
        ("$HOME/.local/bin:/usr/local/cuda/bin:$PATH", "$HOME/.local/bin:$PATH"),
        ('"/usr/local/cuda-12.4/bin:/opt/mine/bin:$PATH"', '"/opt/mine/bin:$PATH"'),
        ("/opt/mine/bin:$CUDA_HOME/bin${PATH:+:$PATH}", None),
        ("/opt/mine/bin\\\n:/usr/local/cuda/bin", "/opt/mine/bin"),
    ],
)
def test_a_list_keeps_the_other_folders(patient: Patient, value: str, then: str | None) -> None:
    """Without ~/.local/bin, where pipx puts it, the user's shell would not find cudaswitch."""
    before = f"export CUDA_HOME=/usr/local/cuda\nexport PATH={value}\n"
    file = patient.rc(before)
    done = patient.home.run("doctor", "--fix", "--yes", **patient.env)
    assert "CS080" in done.stdout
    after = f":  # export CUDA_HOME=/usr/local/cuda\nexport PATH={then}\n"
    assert file.read_text() == (after if then else before)
    assert (f"vi +2 {file}" in done.stdout) != bool(then)


@pytest.mark.parametrize("before", ["$LD_LIBRARY_PATH:/opt/x", '"${LD_LIBRARY_PATH}:/opt/x"'])
def test_a_list_that_is_guarded_is_not_open(patient: Patient, before: str) -> None:
    file = patient.rc(f"export LD_LIBRARY_PATH={before}\n")
    for said in ("CS081", "no known problems"):
        done = patient.home.run("doctor", "--fix", "--yes", **patient.env)
        assert said in done.stdout + done.stderr
        guarded = "${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}/opt/x"
        assert file.read_text().replace('"', "") == f"export LD_LIBRARY_PATH={guarded}\n"


@pytest.mark.parametrize("start", ["set -gx LD_LIBRARY_PATH ", "export LD_LIBRARY_PATH="])
def test_an_open_list_is_none_in_fish(patient: Patient, start: str) -> None:
    """fish joins nothing to a list that is not set, and takes no `${`."""
    before = f"{start}$HOME/lib:$LD_LIBRARY_PATH\n"
    file = patient.rc(before, "xdg-config/fish/config.fish")
    patient.env["SHELL"] = "/usr/bin/fish"
    done = patient.home.run("doctor", "--fix", "--yes", **patient.env)
    assert done.stdout == ""
    assert file.read_text() == before


def test_a_file_of_flags_without_a_final_newline(patient: Patient) -> None:
    flags = patient.work / "flags"
    flags.write_text("--xla_dump_to=/x")
    kit = patient.toolkit(patient.work / "kit")
    patient.env |= {"CUDA_HOME": str(kit), "XLA_FLAGS": str(flags)}
    patient.on_path(kit / "bin")
    fix = patient.told("libdevice not found at ./libdevice.10.bc")["fix"]
    subprocess.run(["bash", "-c", fix], check=True)
    assert flags.read_text().split() == ["--xla_dump_to=/x", f"--xla_gpu_cuda_data_dir={kit}"]


LIBRARIES = "LD_LIBRARY_PATH=/opt/mine\n"
OURS = "CUDA_HOME=/old/kit\nCUDA_PATH=/old/kit\nLD_LIBRARY_PATH=/old/kit/lib64\n"


@pytest.mark.parametrize(
    ("before", "mine"),
    [("KEY=secret", False), (f"KEY=secret\n{LIBRARIES}", True), (OURS, False), ("", False)],
)
def test_what_env_files_hold_keeps_its_meaning(patient: Patient, before: str, mine: bool) -> None:
    """Of two lines with one name the last one holds: the user's own list is theirs to change."""
    kit = patient.adopt("12.4.131")
    folder = patient.home.path / "project"
    (folder / ".vscode").mkdir(parents=True)
    file = folder / ".env"
    file.write_text(before)
    patient.before = f"cd '{folder}'; export CUDASWITCH_VERSION=12.4"
    patient.before += '; eval "$(cudaswitch env 12.4 --shell bash)"; vi() { :; }'
    patient.in_shell("CS085")
    assert patient.codes(1) == ["CS085"]
    if mine:
        assert (patient.work / "fix").read_text() == f"vi +2 {file}\n"
        return
    held = dict(line.split("=") for line in file.read_text().splitlines())
    there = dict(line.split("=") for line in before.splitlines())
    ours = {"CUDA_HOME": f"{kit}", "CUDA_PATH": f"{kit}", "LD_LIBRARY_PATH": f"{kit}/lib64"}
    assert held == there | ours


def test_an_env_file_may_name_the_toolkit_by_a_link(patient: Patient) -> None:
    CASES["CS085"](patient)
    (patient.work / "cuda").symlink_to(patient.work / "kits/12.4.131")
    (patient.home.path / "project/.env").write_text(f'CUDA_HOME="{patient.work}/cuda"\n')
    patient.in_shell("none")
    assert patient.codes(1) == []


def test_half_a_marker_goes_beside_a_users_own_copy(patient: Patient) -> None:
    patient.adopt("12.4.131")
    env = patient.virtualenv()
    patient.run("pin", "12.4", "-p", env.prefix)
    script = env.prefix / "bin/activate"
    lines = script.read_text().splitlines(keepends=True)
    halved = "".join(line for line in lines if not line.startswith("# <<< cudaswitch"))
    script.write_text(halved)
    script.with_name("activate.bak").write_text("their own\n")
    patient.in_shell("CS074")
    assert "CS074" in patient.codes(1)
    assert "CS074" not in patient.codes(2)
    kept = {path.read_text() for path in script.parent.glob("activate.bak*")}
    assert kept == {"their own\n", halved}

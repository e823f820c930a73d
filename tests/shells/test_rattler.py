"""An independent conda engine makes an environment and runs its hooks: ours among them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from rattler.shell import ActivationVariables, Shell, activate

from builders import conda_package, local_channel
from rattler_install import rattler_install
from shells.conda import Emulator
from shells.driver import POSIX_SHELLS, SHELLS, run_shell
from shells.driver import Shell as DrivenShell
from shells.kits import Person, foreign, switched


@pytest.fixture(scope="module")
def prefix(person: Person, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make an environment from a local channel, with a package that has hooks, and pin it."""
    folder = tmp_path_factory.mktemp("rattler")
    hook = b'export HOOKED="before ${CUDA_HOME-none}"\n'
    files = {"bin/tool": b"#!/bin/sh\necho tool\n", "etc/conda/activate.d/a.sh": hook}
    package = conda_package(folder / "built", "tool", "1.0", "h0_0", "linux-64", files)
    channel = local_channel(folder / "channel", [package])
    prefix = folder / "an env"
    rattler_install(channel, prefix, folder / "cache", "tool")
    person.pin("10.1", prefix)
    return prefix


def test_what_it_would_run_is_ours_last(prefix: Path) -> None:
    script = activate(prefix, ActivationVariables(None, ["/usr/bin", "/bin"]), Shell.bash).script
    sourced = [line for line in script.splitlines() if line.startswith((".", "source"))]
    assert ["/~~cudaswitch.sh" in line for line in sourced] == [False, True]


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_its_activation_switches(person: Person, prefix: Path, shell: str, tmp_path: Path) -> None:
    made = activate(prefix, ActivationVariables(None, ["/usr/bin", "/bin"]), getattr(Shell, shell))
    script = tmp_path / "activate"
    script.write_text(f"{made.script}\nenv -0\n")
    env = person.home.env | {"PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        [shell, script], env=env, capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert done.stderr == ""
    pairs = (entry.partition("=") for entry in done.stdout.split("\0") if entry)
    seen = {name: value for name, _, value in pairs}
    kit = person.kits[0]
    assert kit.scalars.items() <= seen.items()
    assert seen["PATH"].split(":")[0] == kit.bin
    assert f"{prefix}/bin" in seen["PATH"].split(":")
    assert seen["LD_LIBRARY_PATH"] == ":".join(kit.lib)
    assert seen["HOOKED"] == "before none"
    found = subprocess.run(
        ["nvcc"], env=seen, capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert found.stdout == "nvcc of 10.1.243\n"


@pytest.mark.parametrize("shell", SHELLS, ids=str)
def test_conda_switches_what_it_made(person: Person, prefix: Path, shell: DrivenShell) -> None:
    conda = Emulator()
    lines = [conda.init(shell), shell.set("PATH", conda.base_path), "snap before"]
    lines += [conda.activate(shell, prefix), "snap on", conda.deactivate(), "snap off"]
    result = run_shell(shell, "\n".join(lines), person.home.env).check()
    before, on, off = (foreign(result.snaps[name]) for name in ("before", "on", "off"))
    plain = {name: value for name, value in on.items() if "CONDA" in name or name == "HOOKED"}
    path = f"{prefix}/bin:{conda.base_path}"
    assert on == switched(before | plain | {"PATH": path}, person.kits[0])
    assert off["PATH"] == before["PATH"]
    # The other package has a hook for POSIX shells only, and none that undoes it.
    assert ("HOOKED" in off) == (shell in POSIX_SHELLS)
    assert not {"CUDA_HOME", "LD_LIBRARY_PATH", "CUDACXX"} & off.keys()

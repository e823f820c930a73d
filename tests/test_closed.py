"""Folders that the user may not look into: after `su`, below another's home, on a shared machine.

Such a folder counts as missing, as it does for shells, and no command fails because of it; but a
pin that cannot be looked at now still counts as a pin.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from adoptable import toolkit
from checks import refused, snapshot, succeeded
from homes import Home
from made_environments import Env
from shells.conda import conda_prefix
from shells.venvs import with_venv
from tools import as_plain_user, closed, console_script

READERS = {
    "list": ("list",),
    "current": ("current",),
    "which a tool": ("which", "true"),
    "exec": ("exec", "10.1", "--", "true"),
    "exec of what is asked for": ("exec", "--", "true"),
    "doctor": ("doctor",),
    "gc": ("gc",),
}


@pytest.mark.parametrize(
    "command", [("pin", "10.1", "-p"), ("pin", "10.1", "--dir"), ("adopt",)], ids=" ".join
)
def test_what_is_named_and_closed_is_not_told_as_missing(
    stocked: Home, tmp_path: Path, command: tuple[str, ...]
) -> None:
    shut = tmp_path / "shut"
    inner = conda_prefix(shut / "env")
    with closed(shut):
        done = stocked.run_plainly(*command, str(inner))
    refused(done, f"`{inner}`", "Permission denied")
    assert "not there" not in done.stderr
    assert "there is no" not in done.stderr


def went_on(done: subprocess.CompletedProcess[str]) -> None:
    """Check that nothing was said about a folder that may not be looked into."""
    assert "Permission denied" not in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    # `doctor` has another exit code when it finds something.
    assert done.returncode == 0 or "CS0" in done.stdout, done.stderr


@pytest.mark.parametrize("what", READERS)
@pytest.mark.parametrize("kind", ["CONDA_PREFIX", "VIRTUAL_ENV"])
def test_an_environment(stocked: Home, tmp_path: Path, kind: str, what: str) -> None:
    prefix = conda_prefix(tmp_path / "theirs" / "env")
    (prefix / "pyvenv.cfg").touch()
    path = f"{prefix}/bin:{stocked.env['PATH']}"
    with closed(tmp_path / "theirs"):
        went_on(stocked.run_plainly(*READERS[what], **{kind: str(prefix), "PATH": path}))


@pytest.mark.parametrize("what", [*READERS, "env", "resolve", "pin"])
def test_packages_in_an_environment(stocked: Home, tmp_path: Path, what: str) -> None:
    """Packages that the user may not read, as after `umask 077; sudo pip install`, stop nothing."""
    env = Env(tmp_path / "env")
    env.write("pyvenv.cfg", "home = /usr/bin\n")
    env.write("bin/activate", "")
    env.dist("torch", "2.6.0+cu124")
    env.file("nvidia/cublas/lib/libcublas.so.12")
    words = {
        "env": ("env", "10.1", "--format", "json"),
        "resolve": ("resolve",),
        "pin": ("pin", "10.1", "-p", str(env.prefix)),
    }
    path = f"{env.prefix}/bin:{stocked.env['PATH']}"
    for name in ("nvidia", "torch-2.6.0+cu124.dist-info"):
        [folder] = env.prefix.rglob(name)
        with closed(folder):
            done = stocked.run_plainly(
                *(words | READERS)[what], VIRTUAL_ENV=str(env.prefix), PATH=path
            )
        assert "internal error" not in done.stderr
        assert done.returncode == 0 or "CS0" in done.stdout, done.stderr


@pytest.mark.parametrize("file", ["core.sh", "on.sh", "want", "pin"])
def test_a_part_of_a_hook(stocked: Home, tmp_path: Path, file: str) -> None:
    """A hook's file that its owner cannot read, as one that root wrote, stops no command."""
    env = tmp_path / "env"
    with_venv(env)
    succeeded(stocked.run("pin", "10.1", "-p", str(env)))
    variables = {"VIRTUAL_ENV": str(env), "PATH": f"{env}/bin:{stocked.env['PATH']}"}
    with closed(env / "etc/cudaswitch" / file):
        for words in (["list"], ["exec", "10.1", "--", "true"], ["gc"]):
            done = stocked.run_plainly(*words, **variables)
            assert done.returncode == 0, done.stderr
        done = stocked.run_plainly("doctor", "--json", **variables)
        found = {one["code"]: one for one in json.loads(done.stdout)["findings"]}
        if file.endswith(".sh"):
            assert "cannot be read" in found["CS072"]["evidence"]
            # The printed command mends it.
            line = f'cudaswitch() {{ {shlex.quote(str(console_script()))} "$@"; }}; '
            command = as_plain_user("sh", "-c", line + found["CS072"]["fix"])
            subprocess.run(command, env=stocked.env, check=True, capture_output=True)
            done = stocked.run_plainly("doctor", "--json", **variables)
            assert "CS072" not in done.stdout


@pytest.mark.parametrize("part", ["etc", "etc/cudaswitch", "etc/conda/activate.d"])
def test_a_pin_is_not_taken_for_none(stocked: Home, tmp_path: Path, part: str) -> None:
    prefix = conda_prefix(tmp_path / "env")
    succeeded(stocked.run("pin", "10.1", "-p", str(prefix)))
    before = snapshot(prefix)
    with closed(prefix / part):
        for words in (("unpin", "-p", str(prefix)), ("pin", "10.1.243", "-p", str(prefix))):
            refused(stocked.run_plainly(*words), "Permission denied")
    assert snapshot(prefix) == before


@pytest.mark.parametrize("what", READERS)
def test_the_working_directory(stocked: Home, tmp_path: Path, what: str) -> None:
    cwd = tmp_path / "theirs" / "project"
    cwd.mkdir(parents=True)
    shell = 'chmod 0 .. && exec "$@"'
    command = as_plain_user("sh", "-c", shell, "sh", console_script(), *READERS[what])
    try:
        done = subprocess.run(
            command,
            cwd=cwd,
            env=stocked.env | {"PWD": str(cwd)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        cwd.parent.chmod(0o755)
    went_on(done)


@pytest.mark.parametrize("what", READERS)
def test_a_pinned_directory_keeps_its_pin(stocked: Home, tmp_path: Path, what: str) -> None:
    project = tmp_path / "outer" / "project"
    project.mkdir(parents=True)
    succeeded(stocked.run("pin", "10.1", "--dir", str(project)))
    with closed(tmp_path / "outer"):
        went_on(stocked.run_plainly(*READERS[what]))
    assert any(str(project) in line for line in succeeded(stocked.run("list")))


@pytest.mark.parametrize("words", [("exec", "--", "true"), ("current",), ("want", "--file")])
def test_a_version_file(stocked: Home, words: tuple[str, ...]) -> None:
    """`want`, which shells and shims ask, reports an unreadable version file as commands do."""
    file = stocked.path / ".cuda-version"
    file.write_text("11.8\n")
    file.chmod(0)
    asked = [*words, str(file)] if words[-1] == "--file" else words
    said = f"cannot read `{file}`: Permission denied"
    refused(stocked.run_plainly(*asked), said, hint=f"chmod u+r {shlex.quote(str(file))}")
    if os.geteuid() == 0:
        os.chown(file, 12345, 12345)
        refused(
            stocked.run_plainly(*asked),
            said,
            hint="belongs to another user: set CUDASWITCH_VERSION",
        )


def test_a_pin_over_one_can_be_read(stocked: Home) -> None:
    file = stocked.path / ".cuda-version"
    file.write_text("11.8\n")
    file.chmod(0o040)
    done = stocked.run_plainly("pin", "10.1", "--dir", ".")
    assert succeeded(done) == []
    assert stat.S_IMODE(file.stat().st_mode) == 0o440
    assert "10.1.243" in succeeded(stocked.run_plainly("current"))[0]


def test_an_environment_that_shells_ask_about(stocked: Home, tmp_path: Path) -> None:
    prefix = conda_prefix(tmp_path / "env")
    with closed(prefix):
        done = stocked.run_plainly("want", "--environment", str(prefix))
    refused(done, f"`{prefix}` is not a conda environment", hint="name another")


def test_what_cannot_be_read_or_written_has_a_next_step(home: Home, pair: list[Path]) -> None:
    readable = "check who can read it"
    with closed(pair[1]):
        for command in ("install", "lock", "download"):
            refused(home.run_plainly(command, pair[1]), f"`{pair[1]}`: Permission", hint=readable)
    project = home.path / "project"
    project.mkdir(0o555)
    done = home.run_plainly("lock", pair[0], cwd=project)
    refused(done, "cannot write `cuda.lock`: Permission denied", hint="name another file: -o FILE")
    with closed(pair[1].parent):
        done = home.run_plainly("install", pair[1])
        refused(done, f"cannot read `{pair[1]}`: Permission denied", hint=readable)


def test_a_part_of_an_adopted_toolkit(home: Home, pair: list[Path], tmp_path: Path) -> None:
    """cuDNN is laid over its parts one by one: the message names the one that cannot be read."""
    place = toolkit(tmp_path / "cuda", "10.1.243")
    part = place / "nvvm"
    part.mkdir()
    [cudnn] = [path for path in pair if path.name.startswith("cudnn")]
    succeeded(home.run("install", cudnn))
    with closed(part):
        done = home.run_plainly("adopt", place)
        refused(done, f"cannot read `{part}`: Permission denied", hint="check who can read it")
    assert len(succeeded(home.run_plainly("adopt", place))) == 1


def test_a_folder_in_a_package(home: Home, pair: list[Path]) -> None:
    """gc leaves a package of which a part is closed, says so, and goes on."""
    [cudnn] = [path for path in pair if path.name.startswith("cudnn")]
    succeeded(home.run("install", cudnn))
    [package] = (home.store / "packages").iterdir()
    left = home.store / ".layout.0123abcd.tmp"
    left.touch()
    with closed(package / "tree/lib"):
        for options in (["--dry-run"], []):
            done = home.run_plainly("gc", *options)
            assert [line.split()[-1] for line in succeeded(done)] == [str(left)]
            said = f"skipped: `{package}/tree/lib`, which is closed to you: `cudaswitch verify"
            assert said in done.stderr
    assert [line.split()[-1] for line in succeeded(home.run("gc"))] == [str(package)]


def test_a_folder_of_jupyters(stocked: Home, tmp_path: Path) -> None:
    (tmp_path / "data/jupyter/kernels").mkdir(parents=True)
    with closed(tmp_path / "data"):
        done = stocked.run_plainly("doctor", XDG_DATA_HOME=str(tmp_path / "data"))
    assert "Permission denied" not in done.stderr


def test_a_folder_of_condas_settings(home: Home) -> None:
    """A condarc.d that may not be looked into is passed over, as conda does."""
    folder = home.path / ".conda/condarc.d"
    folder.mkdir(parents=True)
    (folder / "mine.yml").write_text("channels: [\n")
    words = ("search", "12.4", "--from", "conda", "--offline")
    refused(home.run_plainly(*words), "mine.yml")
    with closed(folder):
        done = home.run_plainly(*words)
    assert done.returncode == 1
    assert "no source could be reached" in done.stderr
    assert "mine.yml" not in done.stderr


@pytest.mark.parametrize("name", ["CUDASWITCH_HOME", "CUDASWITCH_STORES", "CUDASWITCH_CACHE"])
def test_a_home_that_is_not_known(home: Home, pair: list[Path], name: str) -> None:
    done = home.run("install", *pair, cwd=home.path, **{name: "~nobody.of.that.name/folder"})
    refused(done, "`~nobody.of.that.name/folder`", hint="an absolute path")
    assert not list(home.path.glob("~*"))


@pytest.mark.parametrize("command", ["gc", "adopt", "install"])
def test_a_pinned_environment_holds_its_toolkit(
    stocked: Home, tmp_path: Path, command: str
) -> None:
    prefix = conda_prefix(tmp_path / "outer" / "env")
    succeeded(stocked.run("pin", "10.1", "-p", str(prefix)))
    kit = tmp_path / "cuda-12.4"
    shutil.copytree(stocked.store / "toolkits" / "10.1.243", kit, symlinks=True)
    with closed(tmp_path / "outer"):
        words = {
            "gc": ["gc"],
            "adopt": ["adopt", str(kit), "--as", "12.4.1"],
            "install": ["install", "10.1", "--offline"],
        }
        went_on(stocked.run_plainly(*words[command]))
        done = stocked.run_plainly("remove", "10.1.243+cudnn7.6.5")
        assert done.returncode == 1
        assert str(prefix) in done.stderr

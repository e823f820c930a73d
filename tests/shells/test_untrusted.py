"""What somebody else may have put into a tree: it is not run, not waited for, not believed."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from checks import succeeded
from shells.conda import conda_prefix
from shells.conftest import make_person
from shells.driver import BASH, DASH, FISH, NU, TCSH, XONSH, ZSH, Shell
from shells.kits import Person
from shells.moving import cd, homes
from tools import root_only

every = pytest.mark.parametrize("shell", (BASH, ZSH, FISH, TCSH, XONSH, NU), ids=str)
OTHER = 12345
"""The ID of a user that does not exist."""


def run(shell: Shell, command: str) -> str:
    return f"^sh -c {shell.quote(command)}" if shell is NU else command


@every
@pytest.mark.parametrize("instead", ["mkfifo", "ln -s /dev/zero"])
def test_a_version_file_that_becomes_none_is_not_read(
    shell: Shell, instead: str, person: Person, tmp_path: Path
) -> None:
    """A pipe or device in place of a version file is not read: it may block, or have no end."""
    file = tmp_path / ".cuda-version"
    file.write_text("10.1\n")
    replaced = run(shell, f"rm {file}; {instead} {file}") + f"\n{shell.prompt}"
    assert homes(person, person.play(shell, cd(shell, tmp_path), replaced).check()) == "-1-"


LONG = "10.1\n" + "#\n" * 150_000
"""Many lines, which take time in a shell."""


@every
@pytest.mark.parametrize("text", [LONG, "1" * 3_000_000], ids=["lines", "one line"])
def test_a_version_file_without_end_is_refused(
    shell: Shell, text: str, person: Person, tmp_path: Path
) -> None:
    (tmp_path / ".cuda-version").write_text(text)
    result = person.play(shell, cd(shell, tmp_path))
    assert homes(person, result) == "--"
    assert "is longer than 4096 bytes" in result.stderr


@every
def test_a_version_file_is_too_long_by_one(shell: Shell, person: Person, tmp_path: Path) -> None:
    for name, size in (("a", 4096), ("b", 4097)):
        (tmp_path / name).mkdir()
        text = "10.1\n#".ljust(size - 1, "x") + "\n"
        (tmp_path / name / ".cuda-version").write_text(text)
    result = person.play(shell, cd(shell, tmp_path / "a"), cd(shell, tmp_path / "b"))
    assert homes(person, result) == "-1-"
    assert result.stderr.count("is longer than 4096 bytes") == 1


@every
@pytest.mark.parametrize("content", [b"", b"10.1\n", b"10.1\n" + b"x" * (16 << 20)], ids=len)
def test_no_shell_reads_a_huge_version_file(
    shell: Shell, content: bytes, person: Person, tmp_path: Path
) -> None:
    """In a tree that somebody cloned, the file is the user's own, and may be of any length."""
    file = tmp_path / ".cuda-version"
    file.write_bytes(content)
    os.truncate(file, 1 << 30)
    result = person.play(shell, cd(shell, tmp_path), shell.prompt)
    assert homes(person, result) == "---"
    assert result.stderr.count("is longer than 4096 bytes") == 1


@pytest.mark.parametrize("shell", (BASH, ZSH, FISH, XONSH, NU), ids=str)
@pytest.mark.parametrize("said", [b"10\0.1\n", b"10.1\n\0", b"10.1\n# it is\0 \n"])
def test_a_zero_byte_in_a_version_file(
    shell: Shell, said: bytes, person: Person, tmp_path: Path
) -> None:
    """Shells agree with Python; only in tcsh and shims sh would need a process to see the byte."""
    (tmp_path / ".cuda-version").write_bytes(said)
    told = person.home.run("exec", "--", "printenv", "CUDA_HOME", cwd=tmp_path)
    refused = "" if told.returncode == 0 else told.stderr.splitlines()[0]
    result = person.play(shell, cd(shell, tmp_path))
    assert homes(person, result) == ("--" if refused else "-1")
    assert refused in result.stderr


def test_a_shim_refuses_it_too(tmp_path: Path) -> None:
    person = make_person(tmp_path / "person", ())
    assert person.home.run("shims", "install").returncode == 0
    (tmp_path / ".cuda-version").write_text(LONG)
    shim = str(person.home.store / "shims" / "nvcc")
    done = subprocess.run(
        [shim], cwd=tmp_path, env=person.home.env, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert "is longer than 4096 bytes" in done.stderr


@root_only
@pytest.mark.parametrize("shell", (BASH, ZSH, FISH, TCSH), ids=str)
def test_an_edit_by_somebody_else_is_seen(shell: Shell, person: Person, tmp_path: Path) -> None:
    """An edited file is checked again, as it may be root's by then, and refused again if it is not.
    xonsh and Nushell are left out: they ask for the owner itself."""
    file = tmp_path / ".cuda-version"
    file.write_text("10.1\n")
    os.chown(file, OTHER, OTHER)
    edited = run(shell, f"echo 11.8.0 >{file}") + f"\n{shell.prompt}"
    result = person.play(shell, cd(shell, tmp_path), shell.prompt, edited, shell.prompt)
    assert homes(person, result) == "-----"
    assert result.stderr.count("belongs to another user and is not followed") == 2


@root_only
@pytest.mark.parametrize("shell", (BASH, ZSH, FISH), ids=str)
def test_what_a_prompt_keeps_of_it_is_short(shell: Shell, person: Person, tmp_path: Path) -> None:
    """However long another user's file is, shells keep 4096 bytes of it to see it change."""
    file = tmp_path / ".cuda-version"
    file.write_text(LONG)
    os.chown(file, OTHER, OTHER)
    kept = 'echo "kept=$_cudaswitch_text"'
    result = person.play(shell, cd(shell, tmp_path), kept)
    assert homes(person, result) == "---"
    assert 4096 <= len(result.stdout.partition("kept=")[2].rstrip("\n")) < 4200
    assert "belongs to another user and is not followed" in result.stderr


@root_only
@every
@pytest.mark.parametrize("owner", [OTHER, 0])
def test_whose_a_link_is_counts_too(
    shell: Shell, owner: int, person: Person, tmp_path: Path
) -> None:
    """Another user's link is not followed, as it may lead to any file, one's own or root's."""
    own, tree = tmp_path / "own", tmp_path / "tree"
    own.write_text("10.1\n")
    tree.mkdir()
    link = tree / ".cuda-version"
    link.symlink_to(own)
    for path in (tree, link):
        os.chown(path, owner, owner, follow_symlinks=False)
    result = person.play(shell, cd(shell, tree), cd(shell, tmp_path))
    done = person.home.run("exec", "--", "printenv", "CUDA_HOME", cwd=tree)
    if owner == OTHER:
        assert homes(person, result) == "---"
        assert done.stdout == ""
        for said in (result.stderr, done.stderr):
            assert "belongs to another user and is not followed" in said
    else:
        assert homes(person, result.check()) == "-1-"
        assert done.stdout == f"{person.kits[0].home}\n"


@every
@pytest.mark.parametrize(
    "text", ["machine host login me password s3cret\n", "s3cret\n", "https://me:s3cret@host\n"]
)
def test_what_a_link_leads_to_is_not_told(
    shell: Shell, text: str, person: Person, tmp_path: Path
) -> None:
    """Messages do not quote the target of a link, which a project may point at a secret."""
    tree = tmp_path / "tree"
    tree.mkdir()
    (tmp_path / "secret").write_text(text)
    (tree / ".cuda-version").symlink_to("../secret")
    result = person.play(shell, cd(shell, tree))
    done = person.home.run("exec", "--", "true", cwd=tree)
    for said in (result.stderr, done.stderr, person.home.run("current", cwd=tree).stderr):
        assert "s3cret" not in said
    assert "is a link to some other kind of file" in result.stderr


@every
def test_a_link_to_another_version_file_is_one(
    shell: Shell, person: Person, tmp_path: Path
) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    succeeded(person.home.run("alias", "mine", ">=10,<11"))
    (tmp_path / "dot-cuda-version").write_text("mine\n")
    (tree / ".cuda-version").symlink_to("../dot-cuda-version")
    assert homes(person, person.play(shell, cd(shell, tree)).check()) == "-1"
    (tmp_path / "lab.txt").write_text("mine\n")
    (tree / ".cuda-version").unlink()
    (tree / ".cuda-version").symlink_to("../lab.txt")
    assert homes(person, person.play(shell, cd(shell, tree)).check()) == "-1"
    done = person.home.run("exec", "--", "printenv", "CUDA_HOME", cwd=tree)
    assert succeeded(done) == [str(person.kits[0].home)]
    (tree / ".cuda-version").unlink()
    (tree / ".cuda-version").symlink_to("../dot-cuda-version")
    (tmp_path / "dot-cuda-version").write_text("none-such\n")
    assert "no alias `none-such`" in person.play(shell, cd(shell, tree)).stderr


@every
@pytest.mark.parametrize("variable", ["VIRTUAL_ENV", "CONDA_PREFIX"])
def test_a_relative_environment_is_none(
    shell: Shell, variable: str, person: Person, tmp_path: Path
) -> None:
    """A relative environment does not count: it would be another in each directory."""
    prefix = conda_prefix(tmp_path / "env")
    (prefix / "pyvenv.cfg").touch()
    person.pin("10.1", prefix)
    (prefix / "etc" / "cudaswitch" / f"on.{shell.suffix}").write_text("touch was-run\n")
    result = person.play(shell, shell.set(variable, "env"), cd(shell, tmp_path))
    assert homes(person, result.check()) == "---"
    assert not (tmp_path / "was-run").exists()


@every
def test_nor_is_a_relative_one_below_it(shell: Shell, person: Person, tmp_path: Path) -> None:
    active, below = conda_prefix(tmp_path / "active"), conda_prefix(tmp_path / "env")
    person.pin("10.1", below)
    hook = below / "etc" / "conda" / "activate.d" / f"~~cudaswitch.{shell.suffix}"
    hook.write_text("touch was-run\n")
    stack = {"CONDA_PREFIX": str(active), "CONDA_SHLVL": "2", "CONDA_STACKED_2": "true"}
    stack["CONDA_PREFIX_1"] = "env"
    entered = [shell.set(name, value) for name, value in stack.items()]
    entered += [shell.prepend("PATH", "env/bin"), cd(shell, tmp_path)]
    result = person.play(shell, "\n".join(entered), cd(shell, tmp_path / "active"))
    assert homes(person, result.check()) == "---"
    assert not (tmp_path / "was-run").exists()


@pytest.mark.parametrize("shell", (BASH, ZSH, DASH, TCSH), ids=str)
@pytest.mark.parametrize("variable", ["XDG_DATA_HOME", "CUDASWITCH_HOME"])
def test_a_hook_finds_no_answers_in_the_working_directory(
    shell: Shell, variable: str, person: Person, tmp_path: Path
) -> None:
    prefix = conda_prefix(tmp_path / "env")
    person.pin("10.1", prefix)
    for folder in ("at/cudaswitch/requests", "at/requests"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "11.8").write_text(f"{tmp_path}\n")
    hook = prefix / "etc" / "conda" / "activate.d" / f"~~cudaswitch.{shell.suffix}"
    steps = [f"cd {tmp_path}", f"{shell.set('CONDA_PREFIX', str(prefix))}\n{shell.source(hook)}"]
    variables = {"CUDASWITCH_HOME": None, variable: "at", "CUDASWITCH_VERSION": "11.8"}
    bare = Person(person.home, person.kits, {})
    assert homes(person, bare.play(shell, *steps, **variables).check()) == "--1"


@pytest.mark.parametrize("shell", (BASH, ZSH, DASH, TCSH), ids=str)
def test_a_hook_finds_the_store_below_a_tilde(shell: Shell, person: Person, tmp_path: Path) -> None:
    prefix = conda_prefix(tmp_path / "env")
    person.pin("10.1", prefix)
    (tmp_path / "store").symlink_to(person.home.store)
    hook = prefix / "etc" / "conda" / "activate.d" / f"~~cudaswitch.{shell.suffix}"
    enter = f"{shell.set('CONDA_PREFIX', str(prefix))}\n{shell.source(hook)}"
    variables = {"CUDASWITCH_HOME": "~/store", "HOME": str(tmp_path), "CUDASWITCH_VERSION": "11.8"}
    bare = Person(person.home, person.kits, {})
    assert homes(person, bare.play(shell, enter, **variables).check()) == "-2"

"""mise sets the variables of a tree again whenever it finds them changed, and PATH anywhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from shells.driver import BASH, FISH, ZSH, Shell
from shells.keepers import MISE, every_shell, orders
from shells.kits import Person
from shells.terminal import Open, cd, seen
from shells.venvs import activate, with_venv


@every_shell
@orders
def test_mise(shell: Shell, first: str, person: Person, tmp_path: Path, at_prompt: Open) -> None:
    """The toolkit stays on PATH once, though mise rebuilds PATH from what it was at its start."""
    text = '[env]\nOWN = "1"\n_.path = ["./tools"]\n'
    project = MISE.grow(person, tmp_path / "project", text)
    (project / "tools").mkdir()
    (project / ".cuda-version").write_text("11.8\n")
    terminal = MISE.beside(shell, at_prompt, first)
    before = MISE.seen(terminal)
    for kit, switch in ((person.kits[1], ":"), (person.kits[0], "cudaswitch use 10.1")):
        terminal.say(switch)
        for _ in range(2):
            cd(terminal, project)
            terminal.say("")
            inside = seen(terminal)
            folders = inside["PATH"].split(":")
            assert folders.count(kit.bin) == folders.count(f"{project}/tools") == 1
            assert inside["LD_LIBRARY_PATH"] == ":".join(kit.lib)
            cd(terminal, tmp_path)
            terminal.say("")
            assert f"{project}/tools" not in seen(terminal)["PATH"].split(":")
        terminal.say("cudaswitch off")
        terminal.say("")
        assert MISE.seen(terminal) == before


@every_shell
@orders
def test_what_a_person_sets_stays(
    shell: Shell, first: str, person: Person, tmp_path: Path, at_prompt: Open
) -> None:
    """Folders before the toolkit's, and a CUDA_HOME, survive steps into and out of a mise tree."""
    project = MISE.grow(person, tmp_path / "project", '[env]\n_.path = ["./bin"]\n')
    terminal = MISE.beside(shell, at_prompt, first)
    before = MISE.seen(terminal)
    terminal.say("cudaswitch use 10.1")
    for name in ("PATH", "LD_LIBRARY_PATH"):
        old = f"${name}" if shell is FISH else f'"${name}"'
        glue = " " if shell is FISH else ":"
        terminal.say(
            f"{'set -gx ' + name if shell is FISH else 'export ' + name}"
            f"{' ' if shell is FISH else '='}/mine{glue}{old}"
        )
    terminal.say(shell.set("CUDA_HOME", "/home"))
    for folder in (project, tmp_path, project, tmp_path):
        cd(terminal, folder)
        terminal.say("")
        now = seen(terminal)
        assert now["CUDA_HOME"] == "/home"
        assert now["LD_LIBRARY_PATH"].split(":") == ["/mine", *person.kits[0].lib]
        folders = now["PATH"].split(":")
        assert folders.index("/mine") < folders.index(person.kits[0].bin)
        assert folders.count(person.kits[0].bin) == 1
    terminal.say("cudaswitch off")
    after = MISE.seen(terminal)
    assert (after.pop("LD_LIBRARY_PATH"), after.pop("CUDA_HOME")) == ("/mine", "/home")
    after["PATH"] = after["PATH"].replace("/mine:", "", 1)
    assert after == before


@every_shell
@orders
def test_what_a_person_sets_stays_outside_trees(
    shell: Shell, first: str, person: Person, at_prompt: Open
) -> None:
    """mise, which restores nothing there, is not suspected, even if a toolkit was left before."""
    terminal = MISE.beside(shell, at_prompt, first)
    terminal.say("cudaswitch use 12.4")
    terminal.say(shell.set("CUDA_HOME", "/mine"))
    terminal.say("cudaswitch use 10.1")
    terminal.say(shell.set("PATH", f"/x/bin:{seen(terminal)['PATH']}"))
    terminal.say("cudaswitch off")
    now = seen(terminal)
    assert now["CUDA_HOME"] == "/mine"
    kit = person.kits[2]
    mine = {
        "PATH": f"{kit.bin}:{now['PATH']}",
        "LD_LIBRARY_PATH": f"{kit.lib[0]}:/opt/x",
        "CUDA_HOME": str(kit.home),
    }
    for name, value in mine.items():
        terminal.say(shell.set(name, value))
        terminal.say("")
    now = seen(terminal)
    assert {name: now.get(name) for name in mine} == mine


@every_shell
def test_what_was_on_path_when_it_was_loaded(
    shell: Shell, person: Person, tmp_path: Path, at_prompt: Open
) -> None:
    """A toolkit of the startup file does not come back with the PATH that mise starts from."""
    for name, request in (("x", "12.4"), ("v", None)):
        with_venv(tmp_path / name)
        if request:
            person.pin(request, tmp_path / name)
    (tmp_path / "tree").mkdir()
    terminal = at_prompt(shell)
    terminal.say(activate(shell, tmp_path / "x"))
    terminal.say(MISE.command(shell))
    terminal.say(activate(shell, tmp_path / "v"))
    for step in ("", "deactivate", ""):
        terminal.say(step)
    cd(terminal, tmp_path / "tree")
    # mise may set it once more behind our look, if a file has changed in this very second.
    for _ in range(3):
        terminal.say("")
        search = seen(terminal)["PATH"].split(":")
        if person.kits[2].bin not in search:
            return
    pytest.fail(f"it is back at each prompt: {search}")


@pytest.mark.parametrize("shell", (BASH, ZSH), ids=str)
@pytest.mark.parametrize("name", ["LD_LIBRARY_PATH", "PATH"])
def test_mise_sets_the_same_again(shell: Shell, name: str, person: Person) -> None:
    """The toolkit stays if mise repeats its values, as for a file changed in this very second."""
    kit = person.kits[0]
    before = person.home.env["PATH"] if name == "PATH" else "/theirs"
    theirs = f"{shell.set(name, before)}\n{shell.prompt}"
    steps = ["cudaswitch use 10.1", f"export __MISE_DIFF=x\n{theirs}", theirs, shell.prompt, theirs]
    result = person.play(shell, *steps).check()
    ours = [kit.bin] if name == "PATH" else kit.lib
    for number in "2345":
        assert result.snaps[number][name] == ":".join([*ours, before])


@pytest.mark.parametrize("name", ["LD_LIBRARY_PATH", "PATH"])
def test_mise_sets_the_same_again_in_fish(name: str, person: Person, tmp_path: Path) -> None:
    """The toolkit stays if mise, loaded before us, repeats its values at a step within its tree."""
    kit = person.kits[0]
    before = person.home.env["PATH"] if name == "PATH" else "/theirs"
    theirs = f"function theirs --on-variable PWD\n{FISH.set(name, before)}\nend"
    step = f"cd {FISH.quote(str(tmp_path))}\n{FISH.prompt}"
    first = f"{theirs}\nfunctions __cudaswitch_moved | source\n{FISH.prompt}"
    steps = [first, f"cudaswitch use 10.1\nset -gx __MISE_DIFF x\n{FISH.prompt}", step]
    result = person.play(FISH, *steps).check()
    ours = [kit.bin] if name == "PATH" else kit.lib
    assert result.snaps["3"][name] == ":".join([*ours, before])

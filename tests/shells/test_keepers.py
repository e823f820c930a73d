"""direnv, mise and nodeenv save variables, and restore them when a tree or environment is left."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pairs import every_pair
from shells.driver import BASH, FISH, ZSH, Shell
from shells.keepers import DIRENV, MISE, Keeper, every_shell, orders
from shells.kits import Person
from shells.terminal import Open, cd, seen
from shells.venvs import activate, with_uv, with_venv
from tools import executable

EVENINGS = {
    "pinned": (("in", 1), ("inner", 1), ("out", None)),
    "used inside": (("in", None), ("use 12.4", 2), ("inner", 2), ("out", 2), ("off", None)),
    "used before": (("use 10.1", 0), ("in", 0), ("out", 0), ("off", None)),
    "off inside": (("use 10.1", 0), ("in", 0), ("inner", 0), ("off", None), ("out", None)),
    "another inside": (("use 10.1", 0), ("in", 0), ("use 12.4", 2), ("out", 2), ("off", None)),
    "tree to tree": (("pinned", 1), ("in", None), ("pinned", 1), ("out", None)),
}
"""What is done, and the number of the toolkit that is active then."""


@every_shell
@orders
def test_direnv(shell: Shell, first: str, person: Person, tmp_path: Path, at_prompt: Open) -> None:
    """direnv exports what an activate script did, with our bookkeeping, and undoes all of it."""
    with_uv(tmp_path / "v")
    person.pin("10.1", tmp_path / "v")
    project = DIRENV.grow(person, tmp_path / "project", f". '{tmp_path}/v/bin/activate'\n")
    (project / "inner").mkdir()
    terminal = DIRENV.beside(shell, at_prompt, first)
    before = seen(terminal)
    for _ in range(2):
        for folder in (project, project / "inner"):
            cd(terminal, folder)
            terminal.say("")
            inside = seen(terminal)
            assert inside["CUDA_HOME"] == str(person.kits[0].home)
            assert inside["PATH"].split(":").count(person.kits[0].bin) == 1
            assert inside["LD_LIBRARY_PATH"] == ":".join(person.kits[0].lib)
        cd(terminal, tmp_path)
        terminal.say("")
        assert seen(terminal) == before


@every_pair(
    {
        "shell": (BASH, ZSH, FISH),
        "first": ["theirs", "ours"],
        "keeper, own": [(DIRENV, ""), (DIRENV, "CUDA_HOME"), (DIRENV, "CUDACXX"), (MISE, "")],
        "evening": EVENINGS,
    }
)
def test_what_they_bring_back(
    shell: Shell,
    first: str,
    keeper: Keeper,
    own: str,
    evening: str,
    person: Person,
    tmp_path: Path,
    at_prompt: Open,
) -> None:
    """What direnv and mise restore neither brings a toolkit back nor takes the active one away."""
    text = keeper.added.format() + (keeper.own.format(own) if own else "")
    if keeper.forgets and (shell is FISH or first == "ours"):
        # mise may act after us at a prompt, and then sets a list of folders as it wants it.
        text = text.partition("LD_LIBRARY_PATH")[0]
    project = keeper.grow(person, tmp_path / "project", text)
    (project / "inner").mkdir()
    if evening == "pinned":
        (project / ".cuda-version").write_text("11.8\n")
    # This tree sets other variables than the project.
    pinned = keeper.grow(person, tmp_path / "pinned", keeper.added.format().splitlines()[0] + "\n")
    (pinned / ".cuda-version").write_text("11.8\n")
    terminal = keeper.beside(shell, at_prompt, first)
    before = keeper.seen(terminal)
    folders = {"in": project, "inner": project / "inner", "out": tmp_path, "pinned": pinned}
    for what, number in EVENINGS[evening] * 2:
        if what in folders:
            cd(terminal, folders[what])
            terminal.say("")
        else:
            terminal.say(f"cudaswitch {what}")
        now = seen(terminal)
        bins = {kit.bin: at for at, kit in enumerate(person.kits)}
        libs = {lib: at for at, kit in enumerate(person.kits) for lib in kit.lib[:1]}
        on = [] if number is None else [number]
        assert [bins[one] for one in now["PATH"].split(":") if one in bins] == on, what
        rest = now.get("LD_LIBRARY_PATH", "").split(":")
        assert [libs[one] for one in rest if one in libs] == on, what
        home = now.get("CUDA_HOME")
        if number is not None:
            assert home == str(person.kits[number].home)
        elif not keeper.forgets:
            inside = own == "CUDA_HOME" and f"{project}/bin" in now["PATH"]
            assert home == ("/theirs" if inside else None)
    after = keeper.seen(terminal)
    if keeper.forgets:
        before.setdefault("LD_LIBRARY_PATH", after.get("LD_LIBRARY_PATH", ""))
        after.setdefault("LD_LIBRARY_PATH", "")
        assert after["LD_LIBRARY_PATH"] in ("", f"{project}/lib")
    assert after == before


@every_shell
@orders
def test_the_next_command_has_not_what_direnv_brought_back(
    shell: Shell, first: str, person: Person, tmp_path: Path, at_prompt: Open
) -> None:
    """The next command does not see what direnv restored, even in fish, where its hook is last."""
    project = DIRENV.grow(person, tmp_path / "project", "PATH_add bin\n")
    (project / ".cuda-version").write_text("11.8\n")
    terminal = DIRENV.beside(shell, at_prompt, first)
    before = seen(terminal)
    for _ in range(2):
        for folder in (project, tmp_path):
            terminal.child.sendline(f"cd {shell.quote(str(folder))}")
            now = seen(terminal)
            assert (person.kits[1].bin in now["PATH"].split(":")) == (folder == project)
        assert now == before


@every_shell
@orders
def test_what_a_tree_before_this_one_had_is_not_brought_back(
    shell: Shell, first: str, person: Person, tmp_path: Path, at_prompt: Open
) -> None:
    """After a `cd` between two direnv trees, reloading the second restores nothing of the first."""
    text = f"PATH_add bin\n{DIRENV.own.format('CUDA_HOME')}"
    project = DIRENV.grow(person, tmp_path / "project", text)
    pinned = DIRENV.grow(
        person, tmp_path / "pinned", "export LD_LIBRARY_PATH=/opt/x:$LD_LIBRARY_PATH\n"
    )
    (pinned / ".cuda-version").write_text("11.8\n")
    terminal = DIRENV.beside(shell, at_prompt, first)
    before = DIRENV.seen(terminal)
    for step in (project, pinned, pinned / ".envrc", tmp_path):
        if step.is_dir():
            cd(terminal, step)
        else:
            os.utime(step, (1, 1))  # direnv sees whole seconds
            terminal.say("")
        home = {project: "/theirs", tmp_path: None}.get(step, str(person.kits[1].home))
        assert DIRENV.seen(terminal).get("CUDA_HOME") == home
    assert DIRENV.seen(terminal) == before


@every_shell
@orders
def test_what_a_tree_takes_away_comes_back_behind_it(
    shell: Shell, first: str, person: Person, tmp_path: Path, at_prompt: Open
) -> None:
    """The person's own CUDA_HOME returns after direnv unset and restored the toolkit's."""
    project = DIRENV.grow(person, tmp_path / "project", "unset CUDA_HOME\n")
    terminal = DIRENV.beside(shell, at_prompt, first)
    terminal.say(shell.set("CUDA_HOME", "/mine"))
    terminal.say("cudaswitch use 10.1")
    for folder in (project, tmp_path):
        cd(terminal, folder)
        terminal.say("")
    terminal.say("cudaswitch off")
    assert DIRENV.seen(terminal)["CUDA_HOME"] == "/mine"


@every_shell
@orders
def test_what_names_the_chosen_toolkit_comes_back_behind_a_tree(
    shell: Shell, first: str, person: Person, tmp_path: Path, at_prompt: Open
) -> None:
    """A CUDA_HOME of the person's that names the toolkit is not replaced by the tree's."""
    project = DIRENV.grow(person, tmp_path / "project", DIRENV.own.format("CUDA_HOME"))
    terminal = DIRENV.beside(shell, at_prompt, first)
    terminal.say(shell.set("CUDA_HOME", str(person.kits[0].home)))
    terminal.say("cudaswitch use 10.1")
    for folder in (project, tmp_path):
        cd(terminal, folder)
        terminal.say("")
    terminal.say("cudaswitch off")
    assert DIRENV.seen(terminal)["CUDA_HOME"] == str(person.kits[0].home)


@every_shell
@orders
def test_the_tree_that_a_step_leaves_for_another_leaves_nothing(
    shell: Shell, first: str, person: Person, tmp_path: Path, at_prompt: Open
) -> None:
    """The CUDA_HOME of a tree in which a toolkit was chosen is not the person's."""
    project = DIRENV.grow(person, tmp_path / "project", DIRENV.own.format("CUDA_HOME"))
    other = DIRENV.grow(person, tmp_path / "other", "PATH_add bin\n")
    terminal = DIRENV.beside(shell, at_prompt, first)
    cd(terminal, project)
    terminal.say("")
    terminal.say("cudaswitch use 10.1")
    for folder in (other, tmp_path):
        cd(terminal, folder)
        terminal.say("")
    terminal.say("cudaswitch off")
    assert "CUDA_HOME" not in DIRENV.seen(terminal)


@every_pair({"shell": (BASH, ZSH, FISH), "first": ["theirs", "ours"], "gpus": [None, "1"]})
def test_an_environment_that_is_entered_in_a_tree_with_one(
    shell: Shell, first: str, gpus: str | None, person: Person, tmp_path: Path, at_prompt: Open
) -> None:
    """GPUs and flags set within a direnv tree are undone, though direnv takes our records away."""
    for name, request, options in (
        ("v", "10.1", ()),
        ("w", "11.8", ("--gpus", gpus) if gpus else ()),
    ):
        with_uv(tmp_path / name)
        person.pin(request, tmp_path / name, *options)
    (person.kits[1].home / "nvvm/libdevice").mkdir(parents=True, exist_ok=True)
    (tmp_path / "w/lib/python3.11/site-packages/jaxlib").mkdir(parents=True)
    project = DIRENV.grow(person, tmp_path / "project", f". '{tmp_path}/v/bin/activate'\n")
    terminal = DIRENV.beside(shell, at_prompt, first)
    terminal.say(shell.set("CUDA_VISIBLE_DEVICES", "3"))
    terminal.say(shell.set("XLA_FLAGS", "--mine"))
    before = seen(terminal)
    cd(terminal, project)
    terminal.say("")
    terminal.say(shell.source(tmp_path / f"w/bin/activate{'.fish' if shell is FISH else ''}"))
    inside = seen(terminal)
    assert inside["CUDA_VISIBLE_DEVICES"] == (gpus or "3")
    assert inside["XLA_FLAGS"].startswith("--mine ")
    cd(terminal, tmp_path)
    terminal.say("")
    after = seen(terminal)
    own = ("CUDA", "XLA", "LD_LIBRARY_PATH")
    found, expected = (
        {name: value for name, value in env.items() if name.startswith(own)}
        for env in (after, before)
    )
    assert found == expected


ENTERING = {
    "bash": 'entering() {{ [ "$PWD" = "$was" ] || {{ was=$PWD; {}; }}; }}\n'
    "PROMPT_COMMAND=entering\n",
    "zsh": "entering() {{ {}; }}\nchpwd_functions+=(entering)\n",
    "fish": "function entering --on-event fish_prompt\n"
    'test "$PWD" = "$was"; and return; set -g was $PWD; {}\nend\n',
}
"""A function of the user's that activates an environment on the way into its tree."""


@every_pair(
    {
        "shell": (BASH, ZSH, FISH),
        "pin": ["10.1", "11.8", None],
        "way": [("first", "project", "out", "last"), ("first", "project", "last", "out")],
    }
)
def test_an_environment_that_is_entered_where_direnv_moves(
    shell: Shell,
    pin: str | None,
    way: tuple[str, ...],
    person: Person,
    tmp_path: Path,
    at_prompt: Open,
) -> None:
    """The toolkit that direnv keeps or brings back there is left, and nobody's own."""
    environment = with_venv(tmp_path / "v")
    if pin:
        person.pin(pin, environment)
    DIRENV.grow(person, tmp_path / "project", "PATH_add bin\n")
    for tree in ("first", "last"):
        (tmp_path / tree).mkdir()
    (tmp_path / "first" / ".cuda-version").write_text("11.8\n")
    (tmp_path / way[way.index("out") - 1] / "enters").touch()
    entering = ENTERING[shell.name].format(f"test -e enters && {activate(shell, environment)}")
    loading = DIRENV.command(shell)
    terminal = at_prompt(shell, f"{loading}\n{entering}" if shell is FISH else entering + loading)
    before = seen(terminal)
    for step in way * 2:
        if step == "out":
            assert "VIRTUAL_ENV" in seen(terminal)
            terminal.say("deactivate")
        else:
            cd(terminal, tmp_path / step)
            terminal.say("")
    assert seen(terminal) == before


@every_shell
class TestNodeenv:
    """nodeenv's environments save PATH as a virtualenv does, under names of their own."""

    @pytest.fixture
    def entering(self, shell: Shell, tmp_path: Path) -> str:
        """The command that enters a nodeenv, whose node is a fake."""
        node = executable(tmp_path / "fake" / "node", "#!/bin/sh\necho v20.0.0\n")
        made = [sys.executable, "-m", "nodeenv", "--node=system", str(tmp_path / "n")]
        subprocess.run(made, env={"PATH": f"{node.parent}:/usr/bin:/bin"}, check=True)
        script = tmp_path / "n" / "bin" / ("activate.fish" if shell is FISH else "activate")
        return f"source {shell.quote(str(script))}"

    def test_a_toolkit_that_was_left_within(
        self, entering: str, shell: Shell, tmp_path: Path, at_prompt: Open
    ) -> None:
        (tmp_path / "tree").mkdir()
        (tmp_path / "tree" / ".cuda-version").write_text("11.8\n")
        terminal = at_prompt(shell)
        before = seen(terminal)["PATH"]
        cd(terminal, tmp_path / "tree")
        terminal.say(entering)
        cd(terminal, tmp_path)
        terminal.say("deactivate_node")
        assert seen(terminal)["PATH"] == before

    def test_one_that_came_within(
        self, entering: str, shell: Shell, person: Person, at_prompt: Open
    ) -> None:
        terminal = at_prompt(shell)
        before = seen(terminal)["PATH"]
        terminal.say(entering)
        terminal.say("cudaswitch use 12.4")
        terminal.say("deactivate_node")
        assert seen(terminal)["PATH"].split(":")[0] == person.kits[2].bin
        terminal.say("cudaswitch off")
        assert seen(terminal)["PATH"] == before

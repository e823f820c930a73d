"""New shells: some inherit a toolkit, and the ready file of others changes after they start."""

from __future__ import annotations

import shutil
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import pytest

from cudaswitch import __version__
from pairs import every_pair
from shells.conda import conda_prefix
from shells.conftest import ready_file
from shells.driver import BASH, FISH, ZSH, Environment, Shell
from shells.kits import STATE, Person, foreign, read_env, switched
from shells.terminal import Open, Terminal, home_of, seen
from tools import console_script, executable, require

every_shell = pytest.mark.parametrize("shell", (BASH, ZSH, FISH), ids=str)
REBUILT = "/usr/local/bin:/usr/bin:/bin"
RC_FILES = {
    BASH: (".bash_profile",),
    ZSH: (".zprofile", ".zshrc"),
    FISH: ("xdg-config/fish/config.fish",),
}
"""Shell → the files of a login shell: PATH is rebuilt in the first, the last loads us."""

LOGINS = {
    "bash -l": (BASH, "exec bash -l -i -c {script}"),
    "argv0 is -bash": (BASH, "exec -a -bash bash -i -c {script}"),
    "zsh -l": (ZSH, "exec zsh -l -i -c {script}"),
    "argv0 is -zsh": (ZSH, "exec -a -zsh zsh -i -c {script}"),
    "fish -l": (FISH, "exec fish -l -i -c {script}"),
}


def account(folder: Path, person: Person, shell: Shell) -> dict[str, str]:
    """Make a home whose rc files rebuild PATH as a system's own do, and load cudaswitch."""
    lines = [shell.set("PATH", REBUILT), person.load(shell)]
    paths = [folder / name for name in RC_FILES[shell]]
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    for path, line in zip((paths[0], paths[-1]), lines, strict=True):
        path.write_text(path.read_text() + line + "\n")
    return {"HOME": str(folder), "ZDOTDIR": str(folder), "XDG_CONFIG_HOME": f"{folder}/xdg-config"}


def active(person: Person, *steps: str) -> Environment:
    """Return the environment of a bash's children after these steps."""
    result = person.play(BASH, *steps).check()
    return result.snaps[str(len(steps))]


def ours(env: Environment) -> Environment:
    begins = (STATE, "CUDA_", "CUDAT", "CUDACXX", "LD_LIBRARY_PATH", "PATH")
    return {name: value for name, value in env.items() if name.startswith(begins)}


def asserted(seen: Path, person: Person) -> None:
    """Check what the new shell saw before and after `off`."""
    inside, out = (read_env(seen.with_suffix(f".{when}")) for when in ("in", "out"))
    expected = switched({"PATH": REBUILT}, person.kits[0])
    assert {name: inside.get(name) for name in expected} == expected
    assert {name: value for name, value in ours(out).items() if name != f"{STATE}PREVIOUS"} == {
        "PATH": REBUILT
    }


@pytest.mark.parametrize("login", LOGINS)
def test_a_login_shell_that_rebuilds_path(login: str, person: Person, tmp_path: Path) -> None:
    shell, command = LOGINS[login]
    require(shell.name)
    home = account(tmp_path / "home", person, shell)
    env = active(person, "cudaswitch use 10.1") | home
    script = f"env -0 >{tmp_path}/seen.in; cudaswitch off; env -0 >{tmp_path}/seen.out"
    done = subprocess.run(
        ["bash", "-c", command.format(script=BASH.quote(script))],
        env=env,
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    asserted(tmp_path / "seen", person)


def test_a_login_shell_within_an_environment(person: Person, tmp_path: Path) -> None:
    """A rebuilt PATH, with conda's variables and our state inherited, has the toolkit again."""
    person.pin("11.8", conda_prefix(tmp_path / "c"))
    home = account(tmp_path / "home", person, BASH)
    enter = f"""export CONDA_PREFIX='{tmp_path}/c' CONDA_SHLVL=1
        . '{tmp_path}/c/etc/conda/activate.d/~~cudaswitch.sh'"""
    env = active(person, enter)
    assert env["CUDA_HOME"] == str(person.kits[1].home)
    script = f"env -0 >{tmp_path}/seen; unset CONDA_PREFIX; __cudaswitch_prompt; env -0 >seen.out"
    subprocess.run(
        ["bash", "-l", "-i", "-c", script],
        env=env | home,
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=True,
    )
    inside, out = read_env(tmp_path / "seen"), read_env(tmp_path / "seen.out")
    expected = switched({"PATH": REBUILT}, person.kits[1])
    assert {name: inside.get(name) for name in expected} == expected
    assert ours(out) == {"PATH": REBUILT}


@every_shell
def test_path_is_rebuilt_behind_our_line(
    shell: Shell, person: Person, at_prompt: Open, tmp_path: Path
) -> None:
    """A PATH rebuilt after our line, as by pew, has the toolkit again at the first prompt."""
    (tmp_path / ".cuda-version").write_text("10.1\n")
    enter = f"cd {shell.quote(str(tmp_path))}"
    terminal = at_prompt(
        shell, f"{enter}\n{person.load(shell)}\n{shell.set('PATH', REBUILT)}\nreturn"
    )
    inside, expected = ours(seen(terminal)), switched({"PATH": REBUILT}, person.kits[0])
    assert {name: inside.get(name) for name in expected} == expected
    terminal.say("cd /")
    assert ours(seen(terminal)) == {"PATH": REBUILT}


BEHIND = {
    "as in NVIDIA's guide": ("PATH", "LD_LIBRARY_PATH"),
    "as in many a forum": ("CUDA_HOME", "PATH", "LD_LIBRARY_PATH"),
    "a CUDA_HOME": ("CUDA_HOME",),
}
"""Variables that a startup file sets after our line."""


@every_shell
@pytest.mark.parametrize("behind", BEHIND)
def test_a_toolkit_of_the_startup_file_behind_our_line(
    shell: Shell, behind: str, person: Person, at_prompt: Open, tmp_path: Path
) -> None:
    """At the first prompt, the folder's toolkit goes before one that was set after our line."""
    cuda, theirs = tmp_path / "cuda", {"PATH": REBUILT}
    executable(cuda / "bin/nvcc")
    lines = []
    for name in BEHIND[behind]:
        folder = {"PATH": "/bin", "LD_LIBRARY_PATH": "/lib64"}.get(name, "")
        lines.append((shell.prepend if folder else shell.set)(name, f"{cuda}{folder}"))
        theirs[name] = ":".join(filter(None, [f"{cuda}{folder}", theirs.get(name)]))
    terminal = opened_in_a_tree(shell, person, at_prompt, tmp_path, lines)
    inside, expected = ours(seen(terminal)), switched(theirs, person.kits[0])
    assert {name: inside.get(name) for name in expected} == expected
    terminal.say("cd /")
    assert ours(seen(terminal)) == theirs


@every_shell
def test_what_brings_no_toolkit_stays_before_it(
    shell: Shell, person: Person, at_prompt: Open, tmp_path: Path
) -> None:
    lines = [shell.prepend("PATH", "/theirs/bin"), shell.prepend("LD_LIBRARY_PATH", "/theirs/lib")]
    terminal = opened_in_a_tree(shell, person, at_prompt, tmp_path, lines)
    inside, kit = seen(terminal), person.kits[0]
    assert inside["PATH"] == f"/theirs/bin:{kit.bin}:{REBUILT}"
    assert inside["LD_LIBRARY_PATH"] == ":".join(["/theirs/lib", *kit.lib])


@every_pair(
    {
        "shell": (BASH, ZSH, FISH),
        "mode": ["for the process", "behind the startup file", "only once"],
        "own": [0, 1],
    }
)
def test_an_activation_of_visual_studio_code(
    shell: Shell, mode: str, own: int, *, person: Person, at_prompt: Open, tmp_path: Path
) -> None:
    """VS Code's Python extension activates in a shell of its own, and hands on the variables that
    changed and what was put before PATH, again after the startup file: nothing is doubled."""
    prefix = conda_prefix(tmp_path / "c")
    person.pin("10.1", prefix)
    there = f"export CONDA_PREFIX='{prefix}' CONDA_SHLVL=1 PATH=\"{prefix}/bin:$PATH\""
    kit = person.kits[0]
    theirs = f"{REBUILT}:{kit.bin}" if own else REBUILT
    there = f"{BASH.set('PATH', theirs)}; {there}"
    reached = active(person, f"{there}; . '{prefix}/etc/conda/activate.d/~~cudaswitch.sh'")
    assert reached["PATH"].startswith(f"{kit.bin}:{prefix}/bin:")
    before = f"{kit.bin}:{prefix}/bin:"
    at_start = before * (mode != "behind the startup file") + theirs
    changed = [name for name in reached if name.startswith(("CUDA", "CONDA", "LD_", STATE))]
    setting = [shell.set(name, reached[name]) for name in changed]
    lines = [*setting, shell.set("PATH", at_start), person.load(shell)]
    once_more = shell.prepend("PATH", f"{kit.bin}:{prefix}/bin")
    other = shell.append("PATH", "/more")
    lines += [*setting, other if mode == "only once" else once_more, "return"]
    terminal = at_prompt(shell, "\n".join(lines))
    # fish has had its first prompt by then.
    terminal.say("cd .")
    assert seen(terminal)["PATH"].split(":").count(str(kit.bin)) == own + 1
    terminal.say("cudaswitch use system")
    assert seen(terminal)["PATH"].split(":").count(str(kit.bin)) == own


def opened_in_a_tree(
    shell: Shell, person: Person, at_prompt: Open, folder: Path, behind: list[str]
) -> Terminal:
    """Open a terminal in a tree that asks for 10.1; `behind` are lines after ours."""
    (folder / ".cuda-version").write_text("10.1\n")
    enter = [shell.set("PATH", REBUILT), f"cd {shell.quote(str(folder))}", person.load(shell)]
    return at_prompt(shell, "\n".join([*enter, *behind, "return"]))


@pytest.mark.parametrize("shell", (BASH, ZSH, FISH), ids=str)
def test_a_pane_of_tmux(shell: Shell, person: Person, tmp_path: Path) -> None:
    """tmux's panes, login shells with the variables of the server's shell, have the toolkit."""
    home = account(tmp_path / "home", person, shell)
    env = active(person, "cudaswitch use 10.1") | home | {"SHELL": require(shell.name)}
    env |= {"TERM": "screen"}

    def tmux(*words: str, check: bool = True) -> None:
        # The path of a socket must be short: from here it is.
        command = [require("tmux"), "-S", "socket", "-f", "/dev/null", *words]
        subprocess.run(command, env=env, cwd=tmp_path, check=check, timeout=60)

    start = ["new-session", "-d", "-s", "one", "-x", "200", "-y", "50", "-c", str(tmp_path)]
    try:
        tmux(*start)
        tmux("split-window", "-t", "one")
        for pane in ("0", "1"):
            seen = tmp_path / f"pane{pane}"
            script = (
                f"env -0 >{seen}.in; cudaswitch off; env -0 >{seen}.part; mv {seen}.p* {seen}.out"
            )
            tmux("send-keys", "-t", f"one.{pane}", f" {script}", "Enter")
            until = time.monotonic() + 60
            while not seen.with_suffix(".out").exists():
                assert time.monotonic() < until, "the pane's shell answers nothing"
                time.sleep(0.05)
            asserted(seen, person)
    finally:
        tmux("kill-server", check=False)


MEANWHILE = {
    "nothing": ("", "", True),
    "a list": ("export LD_LIBRARY_PATH=/a:/b", "", False),
    "an empty list": ("export LD_LIBRARY_PATH=", "", True),
    "a list of its own": ("LD_LIBRARY_PATH=/a", "", False),
    "a CUDA_HOME": ("export CUDA_HOME=/mine CUDACXX=/mine/nvcc", "", True),
    "a folder behind": ("", "PATH+=:/d", True),
    "a list behind": ("", "LD_LIBRARY_PATH+=:/c", False),
    "a colon": ("", "LD_LIBRARY_PATH+=:", False),
    "a second copy": ("", "PATH+=:$CUDA_HOME/bin", True),
    "its libraries twice": ("", "LD_LIBRARY_PATH+=:$CUDA_HOME/lib64", False),
    "a list in front": ("", "LD_LIBRARY_PATH=/c:$LD_LIBRARY_PATH", False),
}
"""Commands before and after `use`; whether the earlier values are known without a search."""


@every_pair(
    {
        "shell": (BASH, ZSH, FISH),
        "meanwhile": MEANWHILE,
        "conda": [{"CONDA_PREFIX": "/", "CONDA_SHLVL": "1"}, {}],
    }
)
def test_a_shell_that_inherits_a_toolkit(
    shell: Shell, meanwhile: str, conda: Environment, person: Person, tmp_path: Path
) -> None:
    """A new shell searches scripts' copies of values, in bash with a process, only if needed."""
    before, after, known = MEANWHILE[meanwhile]
    steps = (before or ":", "cudaswitch use 10.1", after or ":", "cudaswitch off")
    parent = person.play(BASH, *steps).check().snaps
    trace, seen, out = (tmp_path / name for name in ("trace", "seen", "out"))
    tracer = [require("strace"), "-qq", "-o", trace, "-e", "fork,vfork,clone", "-e", "signal=none"]
    script = [person.load(shell), f"env -0 >{seen}", "cudaswitch off", f"env -0 >{out}"]
    subprocess.run(
        [*tracer, *shell.argv(), "-c", "\n".join(script)],
        env=parent["3"] | conda,
        stdin=subprocess.DEVNULL,
        timeout=60,
        check=True,
    )
    if not after:
        assert ours(foreign(read_env(seen))) == ours(foreign(parent["3"]))
    assert ours(foreign(read_env(out))) == ours(foreign(parent["4"]))
    if shell is BASH:
        assert (len(trace.read_text().splitlines()) == 2) is (known or not conda)


@every_shell
def test_a_copy_of_the_list_is_found_there(shell: Shell, person: Person, tmp_path: Path) -> None:
    """A new shell clears the toolkit from the copy that a script saved of a list it appended to."""
    keep = 'export OLD_LD_LIBRARY_PATH="$LD_LIBRARY_PATH" LD_LIBRARY_PATH="$LD_LIBRARY_PATH:/c"'
    env = active(person, "export LD_LIBRARY_PATH=/x", "cudaswitch use 10.1", keep)
    script = [person.load(shell), "cudaswitch off", f"env -0 >{tmp_path}/out"]
    subprocess.run(
        [*shell.argv(), "-c", "\n".join(script)],
        env=env | {"CONDA_PREFIX": "/", "CONDA_SHLVL": "1"},
        stdin=subprocess.DEVNULL,
        timeout=60,
        check=True,
    )
    out = read_env(tmp_path / "out")
    assert (out["OLD_LD_LIBRARY_PATH"], out["LD_LIBRARY_PATH"]) == ("/x", "/x:/c")


@every_shell
@pytest.mark.parametrize("there", ("gone", "cut short"))
@pytest.mark.parametrize("program", ("there", "gone"))
def test_the_rest_that_changed_since_the_shell_started(
    shell: Shell, there: str, program: str, person: Person, tree: Path, tmp_path: Path
) -> None:
    """If the rest is missing or cut, the program supplies it; without that, one message says so."""
    store = tmp_path / "store"
    store.mkdir()
    for part in person.home.store.iterdir():
        if part.name != "init":
            (store / part.name).symlink_to(part)
    home = replace(person.home, store=store, env=person.home.env | {"CUDASWITCH_HOME": str(store)})
    file = ready_file(home, shell.name)
    if program == "gone":
        # The ready file names the program.
        text = file.read_text()
        assert str(console_script()) in text
        file.write_text(text.replace(str(console_script()), str(tmp_path / "gone")))
    terminal = Terminal(shell, Person(home, person.kits, {shell.name: file}), tmp_path)
    try:
        rest = file.with_name(f".{file.name}") / "rest"
        if there == "gone":
            shutil.rmtree(rest.parent)
        else:
            text = rest.read_text()
            rest.write_text(text[: text.index("\n", len(text) // 2)])
        said = terminal.say(f"cd {shell.quote(str(tree))}")
        switched = home_of(terminal) == str(person.kits[0].home)
        assert switched is (program == "there")
        assert ("switches nothing" in said) is not switched
        terminal.say(f"cd {shell.quote(str(tree / 'inner'))}")
        again = terminal.say("echo $CUDA_HOME")
        assert str(person.kits[1].home) in again if switched else "cudaswitch" not in again
        assert not terminal.child.before.count("not found")
        if shell is BASH:
            behind = terminal.say("PROMPT_COMMAND+='; code=$?'") + terminal.say("(exit 3)")
            assert "cudaswitch" not in behind
        # `cudaswitch` on PATH is then a program like any other.
        assert __version__ in terminal.say("cudaswitch --version")
        # And hooks bring what they need themselves.
        prefix = conda_prefix(tmp_path / "env")
        person.pin("10.1", prefix)
        hook = prefix / "etc" / "conda" / "activate.d" / f"~~cudaswitch.{shell.suffix}"
        terminal.say(f"cd {shell.quote(str(tmp_path))}")
        terminal.say(f"{shell.set('CONDA_PREFIX', str(prefix))}; {shell.source(hook)}")
        assert home_of(terminal) == str(person.kits[0].home)
    finally:
        terminal.child.close(force=True)


PROMPTS = {
    BASH: 'eval "$PROMPT_COMMAND"',
    ZSH: "for one in $precmd_functions; do $one; done",
    FISH: "emit fish_prompt; emit fish_preexec",
}
"""Shell → what it runs before its first prompt, and behind the first line that is typed."""


@every_shell
def test_an_inherited_toolkit_where_nothing_can_be_loaded(
    shell: Shell, person: Person, tmp_path: Path
) -> None:
    """That the rest is gone is said once, though a startup file's changes are looked at."""
    gone = str(tmp_path / "gone")
    text = person.init[shell.name].read_text().replace(str(console_script()), gone)
    text = text.replace(f"{person.home.store}/init", gone)
    done = subprocess.run(
        [*shell.argv(), "-c", "\n".join([text, shell.set("CUDA_HOME", "/mine"), PROMPTS[shell]])],
        env=active(person, "cudaswitch use 10.1"),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stderr == (
        f"cudaswitch: `{gone}/.{shell.name}/rest` is gone, so this shell switches nothing\n"
    )

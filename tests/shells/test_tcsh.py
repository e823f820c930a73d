"""tcsh: shell variables beside exported ones, and what its texts leave to `sh`."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import pytest

from checks import succeeded
from cudaswitch import __version__
from cudaswitch.shells.rows import quote_csh
from shells.conda import CONDAS, Conda, Emulator, conda_prefix, write_hook
from shells.conftest import make_person
from shells.driver import TCSH, Shell
from shells.kits import Person, foreign
from shells.pinned import Session
from shells.quick_conda import QuickConda
from tools import executable

SHOWN = "echo $#CUDA_HOME $CUDA_HOME:q $#LD_LIBRARY_PATH $LD_LIBRARY_PATH:q $#PATH $PATH:q"
TEXTS = files("cudaswitch") / "shells"
OPTION = "set backslash_quote"
ASKERS = [
    one.name
    for one in TEXTS.iterdir()
    if one.name.endswith(".csh") and "for f in" in one.read_text("utf-8")
]
ASKING = re.compile(r"'for f in (?P<files>[a-z ]+); do .*? done; (?P<asked>.*)'$", re.MULTILINE)
"""A line that has one `sh` read some of the core's files and call what they define."""
FUNCTION = re.compile(r"^(__cudaswitch_\w+)\(\) \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("exported", [None, "/theirs"])
def test_a_variable_of_the_shell_is_not_the_exported_one(
    person: Person, exported: str | None
) -> None:
    """Shell variables made by `set` stay; only exported variables of the same name change."""
    own = "set CUDA_HOME = /own; set LD_LIBRARY_PATH = (/a '/b  c'); set PATH = '/d  e'"
    steps = [own, SHOWN, "cudaswitch use 11.8", SHOWN, "cudaswitch off", SHOWN]
    variables = {"CUDA_HOME": exported, "LD_LIBRARY_PATH": exported}
    result = person.play(TCSH, *steps, **variables).check()
    assert result.stdout == "1 /own 2 /a /b  c 1 /d  e\n" * 3
    kit, inside = person.kits[1], result.snaps["3"]
    assert inside["CUDA_HOME"] == str(kit.home)
    assert inside["LD_LIBRARY_PATH"] == ":".join([*kit.lib, *filter(None, [exported])])
    assert foreign(result.snaps["6"]) == foreign(result.snaps["0"])


@pytest.mark.parametrize("shell", (TCSH,), ids=str)
@pytest.mark.parametrize("conda", CONDAS, ids=str)
def test_a_path_of_the_shell_in_environments(session: Session, shell: Shell) -> None:
    """`set PATH = "${PATH}:/x"` in a startup file sets a variable that nothing reads again."""
    load = session.person.load(shell)
    steps = [load, *session.steps("a"), shell.prompt, *session.steps("b"), shell.prompt]
    steps += [*session.steps("+b out out"), shell.prompt]
    seen = [session.play(own, *steps).check().snaps for own in (":", 'set PATH = "${PATH}:/x"')]
    assert seen[1] == seen[0]
    assert f"{session.folder}/b/bin" in seen[0]["6"]["PATH"].split(":")


def test_an_option_for_backslashes(
    person: Person, made_once: Callable[..., Path], tmp_path: Path
) -> None:
    """`set backslash_quote` changes nothing in the texts that are run by `sh`."""
    folder = made_once({"b": {"LD_LIBRARY_PATH": "/b"}})
    session = Session(person, folder, TCSH, Emulator())
    steps = [person.load(TCSH), "cudaswitch use 11.8", *session.steps("a b out out")]
    steps += ["cudaswitch off"]
    plain, quoted = (session.play(option, *steps).check() for option in (":", OPTION))
    assert quoted.snaps == plain.snaps
    assert "/b" in plain.snaps["6"]["LD_LIBRARY_PATH"].split(":")

    builder = make_person(tmp_path / "builder", ("tcsh",), tmp_path / "compilers")
    (folder / "b/lib/python3.11/site-packages/jaxlib").mkdir(parents=True)
    own = r"-DX=\"a\$b"
    had = {"NVCC_PREPEND_FLAGS": own, "XLA_FLAGS": "-a", "CONDA_PREFIX": str(folder / "b")}
    steps = ["cudaswitch use 11.8", "cudaswitch off"]
    plain, quoted = (builder.play(TCSH, option, *steps, **had) for option in (":", OPTION))
    assert quoted.snaps == plain.snaps
    kit, seen = builder.kits[1], plain.check().snaps["2"]
    flags = (seen["CUDAHOSTCXX"], seen["NVCC_PREPEND_FLAGS"], seen["XLA_FLAGS"])
    assert flags == (str(kit.compiler), f"-ccbin={kit.compiler} {own}", f"-a {kit.data_dir}")
    assert foreign(plain.snaps["3"]) == foreign(plain.snaps["0"])


@pytest.mark.parametrize("name", ["PATH", "LD_LIBRARY_PATH", "_OLD_VIRTUAL_PATH", "CONDA_PREFIX"])
@pytest.mark.parametrize("mark", ["\n", "\1", "\2", "\3", "\5"])
def test_a_list_that_cannot_be_taken_apart_is_left_alone(
    person: Person, name: str, mark: str, tmp_path: Path
) -> None:
    """A list with a line break is reported and left alone, since text after one would be run."""
    evil = executable(tmp_path / "evil", f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    text = ":".join([*filter(None, [person.home.env.get(name)]), f"/a b{mark}{evil}", str(evil)])
    on = person.home.run("env", "11.8", "--shell", "tcsh").stdout
    (tmp_path / ".cuda-version").write_text("11.8\n")
    before = {name: text, "CUDA_HOME": f"/x{mark}{evil}"}
    steps = ["cudaswitch use 11.8", "cudaswitch off", f"cd {tmp_path}; {TCSH.prompt}", on]
    result = person.play(TCSH, *steps, f"set LD_LIBRARY_PATH = own; {on}", **before)
    assert len(result.stderr.splitlines()) == 4
    assert {line.split(" has a ")[0] for line in result.stderr.splitlines()} == {
        f"cudaswitch: {name}"
    }
    for snap in result.snaps.values():
        seen = {key: text for key, text in foreign(snap).items() if key not in ("PWD", "OLDPWD")}
        assert seen == {key: foreign(result.snaps["0"])[key] for key in seen}
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("name", ["CUDA_HOME", "CUDACXX", "CUDA_PATH"])
def test_one_value_with_a_line_break_comes_back(person: Person, name: str) -> None:
    before = {name: "/x\ny 'z"}
    result = person.play(TCSH, "cudaswitch use 11.8", "cudaswitch off", **before).check()
    assert result.snaps["1"]["CUDA_HOME"] == str(person.kits[1].home)
    assert foreign(result.snaps["2"]) == foreign(result.snaps["0"])


@pytest.mark.parametrize("conda", CONDAS, ids=str)
def test_a_cd_switches_where_an_environment_was_activated_again(
    conda: Conda, person: Person, tmp_path: Path
) -> None:
    """`cd` switches although the text that conda ran, with our scripts, stays in a variable."""
    env, tree = conda_prefix(tmp_path / "e"), tmp_path / "tree"
    write_hook(env, "deactivate", "own.csh", "unsetenv OWN\n")
    tree.mkdir()
    (tree / ".cuda-version").write_text("11.8\n")
    enter = f"{conda.activate(TCSH, env)}\n{TCSH.prompt}"
    cd = [f"cd {TCSH.quote(str(tree))}", f"cd /; {TCSH.prompt}"]
    again = f"{conda.reactivate(TCSH)}\n{TCSH.prompt}"
    leave = f"{conda.deactivate()}\n{TCSH.prompt}"
    steps = [conda.init(TCSH), enter, *cd, again, *cd, again, *cd, leave, *cd]
    result = person.play(TCSH, *steps).check()
    homes = [result.snaps[str(at)].get("CUDA_HOME") for at in (3, 6, 9, 12)]
    assert homes == [str(person.kits[1].home)] * 4


@pytest.mark.parametrize("text", ASKERS)
def test_sh_is_given_all_that_it_calls(text: str) -> None:
    asking = [*ASKING.finditer((TEXTS / text).read_text(encoding="utf-8"))]
    assert asking
    for found in asking:
        bodies: dict[str, str] = {}
        for name in found["files"].split():
            whole = (TEXTS / f"{name}.sh").read_text(encoding="utf-8")
            bodies |= FUNCTION.findall(re.sub(r"(?m)^\s*#.*", "", whole))
        todo, called = [found["asked"]], set[str]()
        while todo:
            for name in {*re.findall(r"__cudaswitch_\w+", todo.pop())} - called:
                called.add(name)
                # The rest of a name may be in a variable.
                meant = [
                    one
                    for one in bodies
                    if one == name or (name[-1] == "_" and one.startswith(name))
                ]
                assert meant, f"{found['files']} define no {name}"
                todo += [bodies[one] for one in meant]


def test_the_ready_file_goes_while_a_shell_is_open(person: Person, tmp_path: Path) -> None:
    texts = tmp_path / "init/.tcsh"
    shutil.copytree(person.init["tcsh"].parent, tmp_path / "init")
    ready = (tmp_path / "init/tcsh").read_text()
    theirs = quote_csh(str(person.init["tcsh"].parent / ".tcsh"))
    assert theirs in ready
    (tmp_path / "init/tcsh").write_text(ready.replace(theirs, quote_csh(str(texts))))
    there = replace(person, init={"tcsh": tmp_path / "init/tcsh"})
    steps = ["cudaswitch use 10.1", f"rm -r {tmp_path}/init", TCSH.prompt, "cudaswitch off"]
    result = there.play(TCSH, *steps).check()
    homes = [result.snaps[str(n)].get("CUDA_HOME") for n in (1, 3, 4)]
    assert homes == [str(person.kits[0].home), str(person.kits[0].home), None]
    assert result.stderr == ""


@pytest.mark.parametrize("another", [True, False], ids=["another on PATH", "none on PATH"])
def test_the_package_moves_while_a_shell_is_open(
    person: Person, tmp_path: Path, another: bool
) -> None:
    """Open shells survive a moved package, as after `pipx reinstall` or with another Python."""
    (tmp_path / "store").mkdir()
    for part in person.home.store.iterdir():
        if part.name != "init":
            (tmp_path / "store" / part.name).symlink_to(part)
    package, program = tmp_path / "app", tmp_path / "app/cudaswitch"
    shutil.copytree(str(TEXTS.joinpath("..")), package / "site/cudaswitch")
    executable(
        program,
        f"#!{sys.executable}\nimport sys\nsys.path.insert(0, {str(package / 'site')!r})\n"
        "from cudaswitch.__main__ import main\nsys.exit(main())\n",
    )
    env = person.home.env | {"CUDASWITCH_HOME": str(tmp_path / "store")}
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree/.cuda-version").write_text("10.1\n")
    subprocess.run([program, "init", "--install", "tcsh", "--yes"], env=env, check=True)
    at, conda = conda_prefix(tmp_path / "env"), QuickConda()
    person.pin("auto", at)
    later = time.time() + 60
    os.utime(at / "conda-meta", (later, later))
    there = replace(person, init={"tcsh": tmp_path / "store/init/tcsh"})
    path = env["PATH"] if another else "/usr/bin:/bin"
    steps = [f"cd {tmp_path}/tree", f"mv {package} {package}.old", "cd", "cudaswitch use 11.8"]
    steps += ["cudaswitch off", f"{conda.init(TCSH)}\n{conda.activate(TCSH, at)}"]
    steps += ["cudaswitch --version; echo $status"]
    env |= {"PATH": path, "CUDASWITCH_QUIET": "1"}
    result = there.play(TCSH, *steps, **env)
    homes = [result.snaps[str(n)].get("CUDA_HOME") for n in (1, 3, 4, 5)]
    assert homes == [str(person.kits[0].home), None, str(person.kits[1].home), None]
    assert foreign(result.snaps["5"]) == foreign(result.snaps["0"])
    assert "not found" not in result.stderr
    if another:
        assert result.stdout == f"cudaswitch {__version__}\n0\n"
    else:
        said = (
            f"cudaswitch: `{program}` is gone, and no other is on PATH\nhint: reinstall cudaswitch"
        )
        assert result.stderr.startswith(said)
        assert result.stdout == "127\n"


def test_levels_of_conda_are_counted_without_a_process(person: Person, tmp_path: Path) -> None:
    spy = executable(tmp_path / "spy" / "seq", f"#!/bin/sh\ntouch {tmp_path}/started\n")
    kept = f"setenv __CONDA_SHLVL_11_CUDA_HOME {TCSH.quote(str(person.kits[0].home))}"
    path = f"{spy.parent}:{person.home.env['PATH']}"
    steps = ["cudaswitch use 10.1", f"{kept}\nsetenv CUDA_HOME /mine", "cudaswitch off"]
    result = person.play(TCSH, *steps, CONDA_SHLVL="11", PATH=path).check()
    assert not (tmp_path / "started").exists()
    assert "__CONDA_SHLVL_11_CUDA_HOME" not in result.snaps["3"]


CHAINS = [
    ("test -d / && {say} yes", "yes\n"),
    ("test -d /nosuch && {say} never; echo $status", "1\n"),
    ("test -d / || {say} never", ""),
    ("test -d /nosuch || {say} yes", "yes\n"),
    ("{say} one && {say} two || {say} never", "one\ntwo\n"),
    ("{run} false && {say} never || {say} yes", "yes\n"),
    ("cudaswitch use 99 >& /dev/null && {say} never || {say} yes", "yes\n"),
    ("echo piped | {run} cat", "piped\n"),
    ("echo piped |& {run} cat | tr a-z A-Z", "PIPED\n"),
    ("{say} out | tr a-z A-Z", "OUT\n"),
    ("{run} cat <'{folder}/in' >'{folder}/out'; cat '{folder}/out'", "from a file\n"),
    ("{say} 'a  b' \"c'd\" 'e\\!f' 'g$h'", "a  b\nc'd\ne!f\ng$h\n"),
    ("echo `{say} quoted`", "quoted\n"),
    ("({say} inside; cudaswitch exec 10.1 -- sh -c 'exit 7'); echo $status", "inside\n7\n"),
    ("if (1) then\n{say} yes\nelse\n{say} never\nendif", "yes\n"),
    ("foreach one (a b)\n{say} $one\nend", "a\nb\n"),
    ("alias cs cudaswitch\necho piped | cs exec 10.1 -- cat && cs exec 10.1 -- true", "piped\n"),
]


@pytest.mark.parametrize(("line", "said"), CHAINS, ids=[line for line, _ in CHAINS])
def test_the_command_is_one_command(person: Person, tmp_path: Path, line: str, said: str) -> None:
    """`cudaswitch` is one command: conditions and pipes on its line apply to all of it."""
    (tmp_path / "in").write_text("from a file\n")
    run = "cudaswitch exec 10.1 --"
    words = {"run": run, "say": rf"{run} printf '%s\n'", "folder": tmp_path}
    out = person.play(TCSH, line.format(**words)).stdout
    # tcsh tells a pipeline's job number if its first part has ended before the last one starts.
    assert re.sub(r"^\[\d+\]( \d+)+\n", "", out, flags=re.MULTILINE) == said


def test_a_choice_behind_a_condition(person: Person) -> None:
    steps = ["test -d / && cudaswitch use 10.1", "test -d / || cudaswitch use 11.8"]
    steps += ["test -d /nosuch && cudaswitch off", "test -d /nosuch || cudaswitch off"]
    result = person.play(TCSH, *steps).check()
    homes = [result.snaps[str(n)].get("CUDA_HOME") for n in range(1, 5)]
    assert homes == [*[str(person.kits[0].home)] * 3, None]


def test_doctor_is_given_the_message_that_is_piped_in(person: Person) -> None:
    message = "nvcc fatal   : Unsupported gpu architecture 'compute_30'"
    look = "setenv CUDASWITCH_VERSION 11.8"
    result = person.play(TCSH, f"{look}\necho {TCSH.quote(message)} |& cudaswitch doctor")
    assert "compute_30" in result.stdout


def test_the_ready_file_is_removed_within_one_line(person: Person, tmp_path: Path) -> None:
    """`cudaswitch` works on the line that removes the ready file, before any prompt."""
    home = replace(person.home, env=person.home.env | {"CUDASWITCH_HOME": str(tmp_path / "store")})
    home.env["HOME"] = str(tmp_path)
    succeeded(home.run("init", "--install", "tcsh", "--yes"))
    there = replace(person, home=home, init={"tcsh": tmp_path / "store/init/tcsh"})
    line = "cudaswitch init --remove tcsh --yes >& /dev/null; cudaswitch --version"
    result = there.play(TCSH, line, HOME=str(tmp_path)).check()
    assert not (tmp_path / "store/init/tcsh").exists()
    assert result.stdout == f"cudaswitch {__version__}\n"

"""What frameworks need: asked at activation, kept, and asked again when packages change."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from checks import succeeded
from homes import HOSTILE_FOLDER
from made_environments import Env
from shells.conda import CONDAS, Conda, conda_prefix
from shells.conftest import make_person
from shells.driver import BASH, FISH, NU, SHELLS, TCSH, XONSH, ZSH, Shell
from shells.frameworks import NEW, OLD, calls, entered, later, left, spied
from shells.kits import Person
from shells.moving import cd, homes
from shells.terminal import Terminal
from tools import executable

integrated = pytest.mark.parametrize("shell", (BASH, ZSH, FISH, TCSH, XONSH), ids=str)
hooked = pytest.mark.parametrize("shell", SHELLS, ids=str)


@pytest.fixture
def someone(tmp_path: Path, shell: Shell) -> Person:
    """A person for one test alone, because the test changes the store."""
    return make_person(tmp_path / HOSTILE_FOLDER, (shell.name,))


@pytest.fixture
def env(tmp_path: Path) -> Env:
    made = Env(tmp_path / "an env [x]")
    made.write("pyvenv.cfg", "home = /usr/bin\n")
    (made.prefix / "bin").mkdir()
    made.dist(*OLD)
    return made


@integrated
def test_an_environment_without_a_pin_gets_what_it_needs(
    shell: Shell, person: Person, env: Env, tmp_path: Path
) -> None:
    watched = spied(person, shell, tmp_path)
    kept = person.home.store / "auto" / str(env.prefix).replace("/", "%")
    forget = f"rm {shell.quote(str(kept))}"
    steps = [entered(shell, env), forget, cd(shell, Path("/"))]
    changed = [entered(shell, env), later(env, *NEW), left(shell), entered(shell, env)]
    changed += [left(shell), entered(shell, env)]
    assert homes(person, watched.play(shell, *steps).check()) == "-111"
    # One call per activation, even if the kept answer is deleted.
    assert calls(tmp_path) == 1
    # An activation sees changed packages; the next one finds the answer ready.
    assert homes(person, watched.play(shell, *changed).check()) == "-11-2-2"
    assert calls(tmp_path) == 3


@pytest.mark.parametrize("shell", (BASH, ZSH, FISH), ids=str)
@pytest.mark.parametrize("then", ["cd", "current"])
def test_what_was_installed_into_the_active_environment_is_seen(
    shell: Shell, then: str, person: Person, env: Env, tmp_path: Path
) -> None:
    """`cd` and `current` see new packages, and ask only once even if no answer can be kept."""
    watched = spied(person, shell, tmp_path)
    look = cd(shell, Path("/")) if then == "cd" else shell.hush("cudaswitch current")
    again = cd(shell, tmp_path)
    steps = [entered(shell, env), later(env, *NEW), shell.prompt, look, again]
    assert homes(person, watched.play(shell, *steps).check()) == "-11122"
    asked = [line for line in (tmp_path / "count").read_text().splitlines() if "want" in line]
    assert len(asked) == 2
    site = env.prefix / env.site
    ahead = f"touch -d '1 hour' {shell.quote(str(site))}"
    (tmp_path / "count").unlink()
    watched.play(shell, entered(shell, env), ahead, look, again, look).check()
    asked = [line for line in (tmp_path / "count").read_text().splitlines() if "want" in line]
    assert len(asked) == 1


@pytest.mark.parametrize("shell", (BASH, ZSH, FISH), ids=str)
def test_packages_that_bring_their_own_cuda_meanwhile(
    shell: Shell, person: Person, env: Env, tmp_path: Path
) -> None:
    """The toolkit leaves LD_LIBRARY_PATH while packages of the active environment bring CUDA."""
    at = env.prefix / env.site / "nvidia"
    come = f"sleep 0.02; sh -c {shell.quote(f'mkdir -p {BASH.quote(str(at))}/cublas/lib')}"
    come += f"; touch {shell.quote(str(at / 'cublas/lib/libcublas.so.12'))}"
    go = f"sleep 0.02; rm -r {shell.quote(str(at))}"
    steps = [entered(shell, env), come, cd(shell, Path("/")), go, cd(shell, tmp_path)]
    result = person.play(shell, *steps).check()
    assert homes(person, result) == "-11111"
    kit = person.kits[0]
    lists = [result.snaps[str(n)].get("LD_LIBRARY_PATH", "").split(":") for n in (1, 3, 5)]
    assert [set(kit.lib) <= set(folders) for folders in lists] == [True, False, True]


@pytest.mark.parametrize("shell", (BASH, ZSH, FISH, TCSH, XONSH, NU), ids=str)
@pytest.mark.parametrize("name", ["auto", "mine"])
def test_a_variable_that_goes_by_the_environment(
    shell: Shell, name: str, someone: Person, env: Env, tmp_path: Path
) -> None:
    assert someone.home.run("alias", "mine", "auto").returncode == 0
    other = Env(tmp_path / "another")
    other.write("pyvenv.cfg", "home = /usr/bin\n")
    other.dist(*NEW)
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / ".cuda-version").write_text("12.4\n")
    said = f"{shell.set('CUDASWITCH_VERSION', name)}\n{shell.prompt}"
    steps = [entered(shell, env), said, entered(shell, other), cd(shell, tree), entered(shell, env)]
    assert homes(someone, someone.play(shell, *steps).check()) == "-11221"
    if shell in (BASH, ZSH, FISH):
        watched = spied(someone, shell, tmp_path)
        # By now the answer to `auto` in these environments is kept, if that was the name.
        ranged, unknown = ">=10,<11,!=9.9", 0 if name == "auto" else 1
        known = [("system", 1), (ranged, 1), (ranged, 0), ("auto", unknown), ("mine", 3)]
        for other_name, starts in known:
            (tmp_path / "count").write_text("")
            said = f"{shell.set('CUDASWITCH_VERSION', other_name)}\n{shell.prompt}"
            watched.play(shell, entered(shell, env), said, *steps[2:]).check()
            asked = [line for line in (tmp_path / "count").read_text().splitlines() if "--" in line]
            assert len([line for line in asked if line.endswith(other_name)]) == starts
        said = steps[1]
    if name == "auto":
        # As if a startup file had set it, before any environment is active.
        steps = [said, *steps[:1], *steps[2:]]
        assert homes(someone, someone.play(shell, *steps)) == "--1221"


@integrated
def test_so_does_one_of_conda(shell: Shell, person: Person, env: Env) -> None:
    (env.prefix / "pyvenv.cfg").unlink()
    (env.prefix / "conda-meta").mkdir()
    steps = [entered(shell, env, "CONDA_PREFIX"), left(shell, "CONDA_PREFIX")]
    assert homes(person, person.play(shell, *steps).check()) == "-1-"


@pytest.mark.parametrize("conda", CONDAS, ids=str)
@pytest.mark.parametrize("shell", (BASH, ZSH), ids=str)
@pytest.mark.parametrize("loaded", ["before conda", "after conda"])
def test_the_next_command_has_it_before_any_prompt(
    shell: Shell, conda: Conda, loaded: str, person: Person, env: Env
) -> None:
    """`conda activate` acts at once; if conda came after us, only once a prompt came inside."""
    conda_prefix(env.prefix)
    (env.prefix / "pyvenv.cfg").unlink()
    enter, leave = conda.activate(shell, env.prefix), conda.deactivate()
    first = [f"{enter}\n{shell.prompt}", leave] if loaded == "before conda" else []
    start = [conda.init(shell), person.load(shell)]
    start = start if first == [] else start[::-1]
    bare = replace(person, init={})
    result = bare.play(shell, "\n".join(start), *first, enter, leave).check()
    assert homes(person, result) == ("--1-1-" if first else "--1-")
    # Nothing is said before the prompt.
    assert result.stderr == ""


@pytest.mark.parametrize("conda", CONDAS, ids=str)
@pytest.mark.parametrize("shell", (BASH, ZSH), ids=str)
def test_it_has_it_behind_a_pinned_environment_too(
    shell: Shell, conda: Conda, someone: Person, env: Env
) -> None:
    """An unpinned environment after a pinned one gets its toolkit at once, or that of `use`."""
    (env.prefix / "pyvenv.cfg").unlink()
    pinned = env.prefix.with_name("pinned")
    for prefix in (env.prefix, pinned):
        conda_prefix(prefix)
    someone.pin("12.4", pinned)
    enter_pinned, enter_env = (conda.activate(shell, prefix) for prefix in (pinned, env.prefix))
    steps = (
        enter_pinned,
        enter_env,
        *[conda.deactivate()] * 2,
        someone.use(shell, "11.8"),
        enter_env,
    )
    result = someone.play(shell, conda.init(shell), *steps).check()
    assert homes(someone, result) == "--313-22"
    assert result.snaps["7"]["PATH"].startswith(f"{someone.kits[1].bin}:")


@pytest.mark.parametrize("conda", CONDAS, ids=str)
@pytest.mark.parametrize("shell", (BASH, ZSH), ids=str)
def test_so_it_has_in_a_stack(shell: Shell, conda: Conda, someone: Person, tmp_path: Path) -> None:
    """A stacked environment comes before the pinned toolkit, which at once goes first again."""
    pinned, plain = (conda_prefix(tmp_path / name) for name in ("pinned", "plain"))
    someone.pin("12.4", pinned)
    enter = conda.activate(shell, pinned)
    stack = conda.activate(shell, plain, stack=True)
    result = someone.play(shell, conda.init(shell), enter, stack, shell.prompt).check()
    assert result.snaps["3"]["PATH"] == result.snaps["4"]["PATH"]
    assert result.snaps["3"]["PATH"].startswith(f"{someone.kits[2].bin}:")


@pytest.mark.parametrize("conda", CONDAS, ids=str)
@pytest.mark.parametrize("shell", (BASH, ZSH), ids=str)
def test_use_in_a_script_that_loads_conda_behind_us(
    shell: Shell, conda: Conda, someone: Person, tmp_path: Path
) -> None:
    """The toolkit of `use` stays first in a script that loads conda after us, without a prompt."""
    steps = conda.init(shell), someone.use(shell, "11.8")
    enter = conda.activate(shell, conda_prefix(tmp_path / "plain"))
    result = someone.play(shell, *steps, enter).check()
    assert result.snaps["3"]["PATH"].startswith(f"{someone.kits[1].bin}:")


@integrated
def test_who_is_stronger_and_who_is_weaker(
    shell: Shell, someone: Person, env: Env, tmp_path: Path
) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / ".cuda-version").write_text("11.8\n")
    assert someone.home.run("pin", "12.4", "--global").returncode == 0
    pin = shell.hush(f"cudaswitch pin 12.4 -p {shell.quote(str(env.prefix))}")
    steps = [entered(shell, env), cd(shell, tree), cd(shell, tmp_path), left(shell)]
    steps += [entered(shell, env), pin, cd(shell, tree)]
    assert homes(someone, someone.play(shell, *steps).check()) == "31213133"


@pytest.mark.parametrize("shell", (BASH, ZSH, FISH), ids=str)
def test_another_python_comes_into_a_conda_environment(
    shell: Shell, person: Person, tmp_path: Path
) -> None:
    """The package folder of a newly installed Python is watched like that of the old one."""
    env = Env(tmp_path / "conda [x]")
    (env.prefix / "conda-meta").mkdir()
    newer = env.prefix / "lib" / "python3.99" / "site-packages"
    dist = Env(tmp_path / "other").dist(*NEW).parent
    came = tmp_path / "came.sh"
    pythons = f"rm -r lib; mkdir -p '{newer}'"
    came.write_text(f"sleep 0.02; cd '{env.prefix}'; {pythons}; touch conda-meta\n")
    filled = tmp_path / "filled.sh"
    filled.write_text(f"sleep 0.02; mv '{dist}' '{newer}'\n")
    steps = [entered(shell, env, "CONDA_PREFIX"), f"sh '{came}'", cd(shell, Path("/"))]
    steps += [f"sh '{filled}'", cd(shell, tmp_path)]
    assert homes(person, person.play(shell, *steps).check())[-1] == "2"


@integrated
def test_what_is_not_installed_is_said_once(shell: Shell, person: Person, env: Env) -> None:
    replace = later(env, "cupy-cuda92", "8.6.0")
    steps = [replace, entered(shell, env), left(shell), entered(shell, env), cd(shell, Path("/"))]
    result = person.play(shell, *steps)
    assert result.rc == 0
    assert homes(person, result) == "------"
    said = [line for line in result.stderr.splitlines() if "not installed" in line]
    assert said == [f"cudaswitch: `{env.prefix}` needs CUDA 9.2, which is not installed"]


@integrated
def test_other_toolkits_ask_the_question_anew(shell: Shell, someone: Person, env: Env) -> None:
    (env.prefix / env.site / "pip-24.0.dist-info").mkdir()
    remove = shell.hush("cudaswitch remove 10.1.243")
    result = someone.play(shell, entered(shell, env), left(shell), remove, entered(shell, env))
    assert homes(someone, result) == "-1---"
    assert "needs CUDA 10.1, which is not installed" in result.stderr


@integrated
def test_current_exec_and_shims_agree(shell: Shell, someone: Person, env: Env) -> None:
    assert someone.home.run("shims", "install").returncode == 0
    shim = Path(someone.home.env["CUDASWITCH_HOME"]) / "shims" / "nvcc"
    told = f"cudaswitch current\ncudaswitch exec -- nvcc\n{shell.quote(str(shim))}"
    result = someone.play(shell, entered(shell, env), told).check()
    kit = someone.kits[0]
    assert result.stdout.splitlines() == [
        f"{kit.version} (asked for by {env.prefix} (its frameworks))",
        str(kit.home),
        *[f"nvcc of {kit.version}"] * 2,
    ]


@integrated
def test_current_looks_before_it_tells(shell: Shell, person: Person, env: Env) -> None:
    """`current` first checks for changes: the environment may be gone since the last prompt."""
    person.pin("10.1", env.prefix)
    delete = shell.hush(f"rm -r {shell.quote(str(env.prefix))}")
    result = person.play(shell, entered(shell, env), f"{delete}\ncudaswitch current")
    assert homes(person, result) == "-1-"
    assert result.stdout == "none\n"
    assert "this shell has" not in result.stderr


@pytest.mark.parametrize("shell", (BASH, ZSH, FISH, TCSH, XONSH, NU), ids=str)
def test_what_is_set_holds_for_it_too(shell: Shell, someone: Person, env: Env) -> None:
    """The setting `libraries` is part of the kept answer, for shells and `exec` alike."""
    words = ["set libraries never", "set libraries always", "unset libraries"]
    said = [f"{shell.hush(f'cudaswitch config {word}')}\n{shell.prompt}" for word in words]
    folders = ":".join(someone.kits[0].lib)
    result = someone.play(shell, entered(shell, env), *said).check()
    found = [result.snaps[number].get("LD_LIBRARY_PATH") for number in "1234"]
    assert found == [folders, None, folders, folders]
    active = {"VIRTUAL_ENV": str(env.prefix)}
    for word, expected in (("never", ""), ("always", folders)):
        assert someone.home.run("config", "set", "libraries", word).returncode == 0
        for asked in ([], ["auto"]):
            show = ("--", "sh", "-c", "echo $LD_LIBRARY_PATH")
            done = someone.home.run("exec", *asked, *show, **active)
            assert done.stdout == f"{expected}\n"


@pytest.mark.parametrize("shell", (BASH, ZSH, FISH, TCSH, XONSH, NU), ids=str)
def test_a_pin_of_one_s_own_to_auto_asks_for_nothing_elsewhere(
    shell: Shell, someone: Person, env: Env, tmp_path: Path
) -> None:
    """A global pin to `auto` asks for nothing outside environments, where no frameworks are."""
    run, name = someone.home.run, "needed" if shell in (ZSH, XONSH) else "auto"
    executable(tmp_path / "nvcc", "#!/bin/sh\necho own\n")
    for words in (["shims", "install"], ["alias", "needed", "auto"], ["pin", name, "--global"]):
        assert run(*words).returncode == 0
    shim = someone.home.store / "shims" / "nvcc"
    steps = [shell.prompt, entered(shell, env), left(shell), cd(shell, Path("/"))]
    result = someone.play(shell, *steps).check()
    assert homes(someone, result) == "--1--"
    assert result.stderr == ""
    kit = someone.kits[0]
    path = {"PATH": f"{tmp_path}:{someone.home.env['PATH']}"}
    active = path | {"VIRTUAL_ENV": str(env.prefix)}
    for given, told, tool in ((path, "none", "own"), (active, kit.version, "nvcc of 10.1.243")):
        assert succeeded(run("current", **given))[0].partition(" ")[0] == told
        assert succeeded(run("exec", "--", "nvcc", **given)) == [tool]
        done = subprocess.run(
            [shim], env=someone.home.env | given, capture_output=True, text=True, check=True
        )
        assert (done.stdout, done.stderr) == (f"{tool}\n", "")


@hooked
def test_a_hook_alone_keeps_what_it_was_given(shell: Shell, person: Person, env: Env) -> None:
    """Without integration a hook keeps its toolkit, as it cannot ask, and is silent in scripts."""
    env.write("bin/activate", "")
    person.pin("auto", env.prefix)
    hook = env.prefix / "etc" / "cudaswitch" / f"on.{shell.suffix}"
    enter = f"{shell.set('VIRTUAL_ENV', str(env.prefix))}\n{shell.source(hook)}"
    bare = replace(person, init={})
    result = bare.play(shell, later(env, *NEW), enter).check()
    assert homes(person, result) == "--1"


@pytest.mark.parametrize("shell", (BASH, ZSH, FISH, TCSH, XONSH, NU), ids=str)
def test_a_pin_to_auto_is_written_anew(
    shell: Shell, person: Person, env: Env, tmp_path: Path
) -> None:
    steps = [entered(shell, env), later(env, *NEW), left(shell)]
    steps += [entered(shell, env), left(shell), entered(shell, env)]
    person.pin("auto", env.prefix)
    watched = spied(person, shell, tmp_path)
    assert homes(person, watched.play(shell, *steps).check()) == "-11-2-2"
    assert calls(tmp_path) == 1


@pytest.mark.parametrize("shell", (BASH, FISH, TCSH, XONSH, NU), ids=str)
def test_so_is_one_to_a_name_for_auto(
    shell: Shell, someone: Person, env: Env, tmp_path: Path
) -> None:
    assert someone.home.run("alias", "needed", "auto").returncode == 0
    steps = [entered(shell, env), later(env, *NEW), left(shell), entered(shell, env)]
    someone.pin("needed", env.prefix)
    watched = spied(someone, shell, tmp_path)
    assert homes(someone, watched.play(shell, *steps).check()) == "-11-2"
    assert calls(tmp_path) == 1


@pytest.mark.parametrize("shell", (BASH, ZSH, FISH, TCSH), ids=str)
def test_a_terminal_is_told_of_changed_packages(
    shell: Shell, person: Person, env: Env, tmp_path: Path
) -> None:
    person.pin("auto", env.prefix)
    bare = replace(person, init={shell.name: Path("/dev/null")})
    terminal = Terminal(shell, bare, tmp_path, "")
    try:
        terminal.say(later(env, *NEW))
        terminal.say(shell.set("VIRTUAL_ENV", str(env.prefix)))
        hook = env.prefix / "etc" / "cudaswitch" / f"on.{shell.suffix}"
        said = terminal.say(shell.source(hook)).replace("\r\n", "")
    finally:
        terminal.child.close(force=True)
    assert "may have changed since it was pinned" in said
    assert "hint: cudaswitch pin auto" in said


@integrated
def test_a_version_file_that_is_edited_is_seen_at_the_next_prompt(
    shell: Shell, person: Person, tmp_path: Path
) -> None:
    tree = tmp_path / "tree [é]"
    (tree / "deep").mkdir(parents=True)
    # tcsh compares times in seconds, so an edit in the same second must change the length.
    first = "10.1.243" if shell is TCSH else "10.1"
    (tree / ".cuda-version").write_text(f"{first}\n")
    edits = ["echo 11.8 > ../.cuda-version", "echo 12.4 > .cuda-version", "rm .cuda-version"]
    edits += ["rm ../.cuda-version", f"echo {first} > .cuda-version"]
    steps = [f"{edit}\n{shell.prompt}" for edit in edits]
    # An edited file does not change what `use` chose.
    steps += [f"cudaswitch use 12.4\necho 11.8.0 > .cuda-version\n{shell.prompt}"]
    steps += ["cudaswitch off"]
    result = person.play(shell, cd(shell, tree / "deep"), *steps).check()
    assert homes(person, result) == "-1232-132"


@pytest.mark.parametrize("shell", (BASH, ZSH, FISH, TCSH, XONSH, NU), ids=str)
def test_the_answer_of_another_environment_is_none(
    shell: Shell, person: Person, tmp_path: Path
) -> None:
    """Environments whose kept answers share a file name do not get each other's answer."""
    needs, none = Env(tmp_path / "lab" / "env"), Env(tmp_path / "lab%env")
    needs.dist(*OLD)
    for env in (needs, none):
        env.write("pyvenv.cfg", "home = /usr/bin\n")
        (env.prefix / "bin").mkdir()
    steps = [entered(shell, needs), left(shell), entered(shell, none)]
    assert homes(person, person.play(shell, *steps).check()) == "-1--"


@hooked
def test_a_conda_environment_without_python(shell: Shell, person: Person, tmp_path: Path) -> None:
    """A pin to `auto` works without Python, where zsh would fail on patterns that match nothing."""
    prefix = tmp_path / "bare"
    (prefix / "conda-meta").mkdir(parents=True)
    (prefix / "bin").mkdir()
    person.pin("auto", prefix)
    hook = prefix / "etc" / "conda" / "activate.d" / f"~~cudaswitch.{shell.suffix}"
    enter = f"{shell.set('CONDA_PREFIX', str(prefix))}\n{shell.source(hook)}"
    result = replace(person, init={}).play(shell, enter).check()
    assert homes(person, result) == "--"


@integrated
def test_use_says_what_the_answer_is_not_good_for(shell: Shell, person: Person, env: Env) -> None:
    """Each `use auto` names the frameworks that do not fit, as `env auto` does; prompts do not."""
    env.dist("torch", "2.6.0+cu124")
    env.file("torch/lib/libtorch_cuda.so")
    left = "set --names | string match '__csw*'; or true" if shell is FISH else "set | grep ^_csw"
    steps = [entered(shell, env), "cudaswitch use auto", "cudaswitch use auto"]
    result = person.play(shell, *steps, *([left] if shell in (BASH, ZSH, FISH) else []))
    assert result.stdout == ""
    assert homes(person, result)[:4] == "-111"
    assert result.stderr.count("CuPy 7.8.0 does not find the toolkit there") == 2

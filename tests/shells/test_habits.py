"""Options, aliases and functions that many startup files have, and that must not break us."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pairs import every_pair
from shells.conda import CONDAS as WHOLE_CONDAS
from shells.conda import Conda, Emulator, conda_prefix, skip_conda_s_own_tcsh, write_hook
from shells.conftest import make_person
from shells.driver import BASH, DASH, FISH, TCSH, ZSH, Shell, run_shell
from shells.kits import Person, foreign
from shells.package_scripts import FLAGS
from shells.pinned import Session
from shells.quick_conda import CONDAS, QuickConda
from shells.venvs import activate, with_venv
from tools import console_script

CAPITALS = "; ".join(f"alias -g {letter}='| cat'" for letter in map(chr, range(65, 91)))
"""Aliases that zsh replaces anywhere in a command; many lists of tricks have them."""


@pytest.mark.parametrize("habit", [CAPITALS, "setopt csh_junkie_quotes"], ids=["capitals", "csh"])
@pytest.mark.parametrize("loaded", [True, False], ids=["loaded", "hooks alone"])
def test_how_zsh_reads_words(person: Person, tmp_path: Path, habit: str, loaded: bool) -> None:
    conda, venv = QuickConda(), tmp_path / "v"
    with_venv(venv)
    for prefix, request in ((venv, "10.1"), (conda_prefix(tmp_path / "c"), "11.8")):
        person.pin(request, prefix)
    # The emulated conda is parsed before the habit applies: it is not what is tested.
    steps = [conda.init(ZSH), habit, activate(ZSH, venv), "deactivate"]
    steps += [conda.activate(ZSH, tmp_path / "c"), conda.deactivate()]
    who = person if loaded else Person(person.home, person.kits, {})
    result = who.play(ZSH, *steps).check()
    on = {str(kit.home): str(number) for number, kit in enumerate(person.kits)}
    homes = [on.get(result.snaps[str(n)].get("CUDA_HOME", ""), "-") for n in range(1, 7)]
    assert "".join(homes) == "--0-1-"


def test_zsh_that_reckons_with_decimals(person: Person, tmp_path: Path) -> None:
    """Counts stay right under zsh's `force_float`, where 2 - 1 is `1.`, which `[` refuses."""
    for name, request in (("a", "10.1"), ("c", "11.8")):
        person.pin(request, conda_prefix(tmp_path / name))
    session = Session(person, tmp_path, ZSH, Emulator())
    steps = ["setopt force_float", *session.steps("a +c out out"), "cudaswitch use 10.1"]
    path = f"{person.kits[0].bin}:{session.conda.base_path}"
    result = session.play(*steps, load=True, PATH=path).check()
    homes = [result.snaps[str(n)].get("CUDA_HOME") for n in range(3, 8)]
    assert homes == [*(str(person.kits[n].home) for n in (0, 1, 0)), None, str(person.kits[0].home)]
    assert result.stderr == ""
    assert result.snaps["6"]["PATH"] == path
    assert result.snaps["7"]["_CUDASWITCH_BIN"] == f"1{person.kits[0].bin}"


@pytest.mark.parametrize("shell", (BASH, ZSH, FISH), ids=str)
@pytest.mark.parametrize("way", ["ready file", "eval"])
@pytest.mark.parametrize("words", ["{program}", "command cudaswitch", "cudaswitch", "-g"])
def test_an_alias_for_the_command(shell: Shell, person: Person, way: str, words: str) -> None:
    """An alias `cudaswitch`, as for a program in a virtualenv of its own, does not hide ours."""
    program = shutil.which("cudaswitch", path=person.home.env["PATH"])
    meant = shell.quote(words.format(program=program))
    before = [f"alias cudaswitch={meant}"]
    # An alias for any word, not only for a command.
    if words == "-g":
        before = [f"alias {'-g ' if shell is ZSH else ''}cudaswitch={shell.quote(str(program))}"]
    if shell is BASH:
        before.insert(0, "shopt -s expand_aliases")
    texts = {BASH: 'eval "$({})"', ZSH: 'eval "$({})"', FISH: "{} | source"}
    load = texts[shell].format(f"command cudaswitch init {shell.name}")
    load = load if way == "eval" else person.load(shell)
    nobody = Person(person.home, person.kits, {})
    steps = [*before, load, "cudaswitch use 11.8", "cudaswitch off"]
    result = nobody.play(shell, *steps).check()
    homes = [result.snaps[str(len(before) + n)].get("CUDA_HOME") for n in (2, 3)]
    assert homes == [str(person.kits[1].home), None]


@pytest.mark.parametrize("shell", (BASH, ZSH), ids=str)
@pytest.mark.parametrize("command", ["use 9.9", "exec -- false", "pin 9.9", "off 9", "nonsense"])
@pytest.mark.parametrize("parsed", [True, False], ids=["parsed", "to be parsed"])
def test_a_script_that_ends_where_something_fails(
    shell: Shell, person: Person, command: str, parsed: bool
) -> None:
    first = "cudaswitch use 11.8" if parsed else ""
    result = person.play(shell, f"set -e; {first}", f"cudaswitch {command}; echo went on")
    assert result.rc != 0
    assert "went on" not in result.stdout


@pytest.mark.parametrize("shell", (BASH, ZSH), ids=str)
@pytest.mark.parametrize("done", ["cd {tree}", "pushd {tree} > /dev/null", "cd /", "use", "off"])
def test_what_fails_behind_something_of_ours_ends_a_script(
    shell: Shell, person: Person, done: str, tmp_path: Path
) -> None:
    """Under `set -e` a failure after ours ends the script; a `case` in a zsh hook may hide it."""
    (tmp_path / ".cuda-version").write_text("10.1\n")
    done = {"use": "cudaswitch use 11.8", "off": "cudaswitch off"}.get(done, done)
    done = done.format(tree=shell.quote(str(tmp_path)))
    result = person.play(shell, "cd /tmp; set -e", f"{done} && false; echo went on")
    assert (result.rc, result.stdout) == (1, "")


@pytest.mark.parametrize("characters", ["", "@^"], ids=["none", "others"])
def test_characters_of_history_in_tcsh(person: Person, tmp_path: Path, characters: str) -> None:
    """tcsh works without `!` as history character, by which aliases otherwise get their words."""
    (tmp_path / ".cuda-version").write_text("10.1\n")
    steps = [person.load(TCSH), f"set histchars = '{characters}'", "cudaswitch use 11.8"]
    steps += ["printenv CUDA_HOME", "cudaswitch off", f"cd {TCSH.quote(str(tmp_path))}", "precmd"]
    steps += ["printenv CUDA_HOME", "cd /", "printenv CUDA_HOME"]
    result = run_shell(TCSH, "\n".join(steps), person.home.env | {"CUDASWITCH_QUIET": "1"})
    homes = [str(person.kits[number].home) for number in (1, 0)]
    assert (result.stdout.splitlines(), result.stderr) == (homes, "")


SCRIPTS = {
    "a choice, and its end": (False, "cudaswitch use 12.4", "cudaswitch off"),
    "a choice, and another": (False, "cudaswitch use 10.1", "cudaswitch use 11.8"),
    "a choice, and none": (False, "cudaswitch use 10.1", "cudaswitch use system"),
    "a pin, and the end of a choice": (True, "", "cudaswitch off"),
    "a pin and a choice": (True, "cudaswitch use 12.4", "cudaswitch off"),
    "a pin, and a choice at the end": (True, "", "cudaswitch use 11.8"),
    "a pin, and other folders": (True, "", "cd /; cd /tmp"),
    "a folder that chooses, and another": (False, "cd {tree}", "cd /tmp"),
    "a pin, and a folder that chooses": (True, "", "cd {tree}; cd /tmp"),
}
"""Whether there is a pin, and what the two scripts of an environment do."""


@pytest.fixture(scope="module")
def free(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Environments `a`, whose scripts each test writes, and `b`, with a tree that has a request."""
    return with_a_tree(tmp_path_factory.mktemp("free"))


@pytest.fixture(scope="module")
def pinned(person: Person, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Environments like `free`, with `a` pinned."""
    folder = with_a_tree(tmp_path_factory.mktemp("pinned"))
    person.pin("10.1", folder / "a")
    return folder


def with_a_tree(folder: Path) -> Path:
    conda_prefix(folder / "a")
    tree = conda_prefix(folder / "b") / "tree"
    tree.mkdir()
    (tree / ".cuda-version").write_text("12.4\n")
    return folder


@every_pair(
    {
        "conda": CONDAS,
        "shell": (BASH, ZSH, FISH, TCSH),
        "way": ["a b out out", "a again out", "b +a out out"],
        "words": SCRIPTS,
    }
)
def test_scripts_of_an_environment_that_choose(
    shell: Shell, conda: Conda, words: str, way: str, person: Person, free: Path, pinned: Path
) -> None:
    """All variables agree after scripts that choose, though conda then exports an older PATH."""
    is_pinned, *halves = SCRIPTS[words]
    folder = pinned if is_pinned else free
    prefix, tree = folder / "a", folder / "b" / "tree"
    for half, text in zip(("activate", "deactivate"), halves, strict=True):
        said = text.format(tree=shell.quote(str(tree)))
        write_hook(prefix, half, f"own.{shell.suffix}", f"{said}\n")
    session = Session(person, folder, shell, conda)
    steps = session.steps(way)
    if shell is FISH and "{tree}" in halves[0]:
        # fish cannot tell which script changes the directory.
        steps = [f"{step}\n{shell.prompt}" for step in steps]
    result = session.play(*steps, "cudaswitch off", load=True).check()
    for snap in result.snaps.values():
        stand = [kit.bin for kit in person.kits if kit.bin in snap["PATH"].split(":")]
        home = snap.get("CUDA_HOME")
        assert stand == ([f"{home}/bin"] if home else [])
        if snap.get("CONDA_DEFAULT_ENV", "").endswith("b"):
            assert f"env={prefix}" not in snap.get("_CUDASWITCH_ON", "")
    first, last = (result.snaps[str(number)] for number in (1, len(result.snaps) - 1))
    for name in ("PATH", "LD_LIBRARY_PATH", "CUDA_HOME"):
        assert last.get(name) == first.get(name), name


@pytest.mark.parametrize("conda", CONDAS, ids=str)
@pytest.mark.parametrize("shell", (BASH, ZSH, FISH, TCSH), ids=str)
def test_the_variable_of_just_now_is_stronger_than_a_pin(
    shell: Shell, conda: Conda, person: Person, tmp_path: Path
) -> None:
    """CUDASWITCH_VERSION beats a pin at once: scripts and single lines have no prompt between."""
    for name in "ab":
        person.pin("10.1", conda_prefix(tmp_path / name))
    session = Session(person, tmp_path, shell, conda)
    enter, leave, other = session.steps("a out b")
    steps = [f"{shell.set('CUDASWITCH_VERSION', at)}\n{enter}\n" for at in ("12.4", "11.8")]
    gone = f"{shell.unset('CUDASWITCH_VERSION')}\n{other}"
    result = session.play(steps[0], leave, steps[1], gone, load=True).check()
    homes = [result.snaps[n].get("CUDA_HOME") for n in sorted(result.snaps)][-4:]
    assert homes == [str(person.kits[at].home) for at in (2, 2, 1, 0)]


@pytest.mark.parametrize("conda", WHOLE_CONDAS, ids=str)
@pytest.mark.parametrize("shell", (BASH, ZSH, FISH, TCSH), ids=str)
@pytest.mark.parametrize("whose", ["person", "environment"])
def test_a_version_that_goes_in_a_script(
    shell: Shell, conda: Conda, whose: str, person: Person, tmp_path: Path
) -> None:
    """A CUDASWITCH_VERSION that a script unsets is undone at deactivation, without any prompt."""
    skip_conda_s_own_tcsh(shell, conda)
    prefix = conda_prefix(tmp_path / "a")
    person.pin("10.1", prefix)
    session = Session(person, tmp_path, shell, conda)
    enter, leave = session.steps("a out")
    if whose == "person":
        enter = f"{shell.set('CUDASWITCH_VERSION', '11.8')}\n{enter}"
        leave = f"{shell.unset('CUDASWITCH_VERSION')}\n{leave}"
    else:
        state = '{"env_vars": {"CUDASWITCH_VERSION": "11.8"}}'
        (prefix / "conda-meta" / "state").write_text(state)
    result = session.play(enter, leave, load=True)
    assert result.snaps["2"]["CUDA_HOME"] == str(person.kits[1].home)
    assert foreign(result.snaps["3"]).keys().isdisjoint({"CUDA_HOME", "LD_LIBRARY_PATH"})
    assert result.snaps["3"]["PATH"] == result.snaps["1"]["PATH"]


@pytest.mark.parametrize("shell", (BASH, ZSH, FISH, TCSH), ids=str)
def test_a_version_that_went_in_a_script(shell: Shell, person: Person, tmp_path: Path) -> None:
    """After a script has unset CUDASWITCH_VERSION, the pin of the next environment decides."""
    person.pin("10.1", conda_prefix(tmp_path / "a"))
    session = Session(person, tmp_path, shell, Emulator())
    steps = [shell.unset("CUDASWITCH_VERSION"), *session.steps("a")]
    result = session.play(*steps, load=True, CUDASWITCH_VERSION="11.8").check()
    homes = [result.snaps[number]["CUDA_HOME"] for number in "13"]
    assert homes == [str(person.kits[1].home), str(person.kits[0].home)]


@pytest.mark.parametrize("conda", CONDAS, ids=str)
@pytest.mark.parametrize("shell", (BASH, ZSH, FISH, DASH), ids=str)
def test_names_made_of_ours_that_keep_nothing(
    shell: Shell, conda: Conda, person: Person, tmp_path: Path
) -> None:
    """Variables named like a script's copies of ours, but which are none, stay as they are."""
    person.pin("10.1", conda_prefix(tmp_path / "a"))
    kit = person.kits[0]
    homes = ("CUDA_PATH_V10_1", "CUDA_HOME_10", "SINGULARITYENV_CUDA_HOME", "BAZEL_CUDA_HOME")
    own = dict.fromkeys(homes, str(kit.home)) | {"APPTAINERENV_LD_LIBRARY_PATH": kit.lib[0]}
    # Counts of Modules 4 and 5, and of Lmod: how often each folder was put on the list.
    counts = ("LD_LIBRARY_PATH_modshare", "__MODULES_SHARE_LD_LIBRARY_PATH")
    own |= dict.fromkeys(counts, f"/x:2:{kit.lib[0]}:1")
    own |= {"__LMOD_REF_COUNT_LD_LIBRARY_PATH": f"{kit.lib[0]}:2;/x:1"}
    session = Session(person, tmp_path, shell, conda)
    enter, leave = session.steps("a out")
    changed = shell.prepend("LD_LIBRARY_PATH", "/x")
    result = session.play(enter, changed, leave, load=True, **own).check()
    last = result.snaps[str(len(result.snaps) - 1)]
    assert {name: last.get(name) for name in own} == own
    assert last.get("LD_LIBRARY_PATH") == "/x"


@pytest.mark.parametrize("shell", (BASH, ZSH, FISH, TCSH), ids=str)
@pytest.mark.parametrize("kind", ["virtualenv", "conda"])
def test_what_is_put_before_ours_on_the_line_that_enters(
    shell: Shell, kind: str, person: Person, tmp_path: Path
) -> None:
    """Folders put first on the line that enters stay first, as virtualenvwrapper's scripts need."""
    at, conda = tmp_path / "e", QuickConda()
    with_venv(at) if kind == "virtualenv" else conda_prefix(at)
    person.pin("11.8", at)
    enter, leave = conda.activate(shell, at), conda.deactivate()
    if kind == "virtualenv":
        enter, leave = activate(shell, at), "deactivate"
    mine = {
        "fish": "set -gx LD_LIBRARY_PATH /mine $LD_LIBRARY_PATH; set -gx PATH /own $PATH",
        "tcsh": 'setenv LD_LIBRARY_PATH /mine:"$LD_LIBRARY_PATH"; setenv PATH /own:"$PATH"',
    }.get(shell.name, "LD_LIBRARY_PATH=/mine:$LD_LIBRARY_PATH PATH=/own:$PATH")
    steps = [conda.init(shell), shell.prompt, f"{enter}\n{mine}\n{shell.prompt}", shell.prompt]
    result = person.play(shell, *steps, leave, shell.prompt, LD_LIBRARY_PATH="/me").check()
    active, later, left = (result.snaps[number] for number in "346")
    assert active["LD_LIBRARY_PATH"] == ":".join(["/mine", *person.kits[1].lib, "/me"])
    assert active["PATH"].startswith(f"/own:{person.kits[1].bin}:")
    assert later == active
    assert left["LD_LIBRARY_PATH"] == "/mine:/me"


@pytest.mark.parametrize("shell", (BASH, ZSH, FISH, TCSH), ids=str)
def test_a_hook_that_ran_says_nothing_of_a_later_visit(
    shell: Shell, person: Person, tmp_path: Path
) -> None:
    """A later visit ignores that a hook once ran: the environment may have been unpinned since."""
    at, conda = conda_prefix(tmp_path / "e"), QuickConda()
    person.pin("11.8", at)
    twice = [conda.activate(shell, at), shell.prompt, conda.deactivate(), shell.prompt]
    unpin = f"sh -c {shell.quote(f'{console_script()} unpin -p {at} 2>/dev/null')}"
    steps = [conda.init(shell), "cudaswitch use 10.1", *twice, unpin, *twice[:2]]
    result = person.play(shell, *steps).check()
    first = [result.snaps[number]["PATH"].split(":")[0] for number in "49"]
    assert first == [str(person.kits[0].bin)] * 2


@pytest.mark.parametrize("shell", (BASH, ZSH), ids=str)
def test_a_function_by_the_name_of_read(
    shell: Shell, person: Person, tree: Path, tmp_path: Path
) -> None:
    """IFS survives a function `read`, before whose calls zsh in sh mode keeps assignments."""
    with_venv(tmp_path / "v")
    person.pin("auto", tmp_path / "v")
    pinned = conda_prefix(tmp_path / "c")
    person.pin("10.1", pinned)
    (tree / ".cuda-version").write_text("cuda = 10.1\n")
    conda = QuickConda()
    steps = [
        conda.init(shell),
        'read() { builtin read "$@"; }',
        f"cd {shell.quote(str(tree))}\n{shell.prompt}",
        f"cd /\n{activate(shell, tmp_path / 'v')}\n{shell.prompt}",
        f"deactivate; CUDASWITCH_VERSION=11.8\n{conda.activate(shell, pinned)}",
        f"cudaswitch pin 11.8 --prefix {shell.quote(str(pinned))} 2>/dev/null",
        "__cudaswitch_lent 12 || :; __cudaswitch_flags_unkept",
    ]
    steps = [f'{step}\nprintf "is:%s\\n" "${{#IFS}}"' for step in steps]
    result = person.play(shell, *steps).check()
    assert len({line for line in result.stdout.splitlines() if line.startswith("is:")}) == 1
    assert not any("IFS" in snap for snap in result.snaps.values())
    assert result.snaps["3"]["CUDA_HOME"] == str(person.kits[0].home)


@pytest.mark.parametrize("shell", (BASH, ZSH), ids=str)
def test_a_function_by_the_name_of_read_that_never_fails(
    shell: Shell, person: Person, tmp_path: Path
) -> None:
    """Loops that read to an end do end even if a function `read` always succeeds."""
    venv, conda = with_venv(tmp_path / "v"), QuickConda()
    nvcc = conda_prefix(tmp_path / "c")
    person.pin("10.1", nvcc)
    for half, text in FLAGS.items():
        write_hook(nvcc, half, f"~cuda-nvcc_{half}.sh", text)
    steps = [conda.init(shell), "read() { :; }"]
    steps += [f"{activate(shell, venv)}\n{shell.prompt}", f"deactivate\n{shell.prompt}"]
    steps += [conda.activate(shell, nvcc), conda.reactivate(shell), conda.deactivate()]
    result = person.play(shell, *steps).check()
    assert result.snaps["5"]["CUDA_HOME"] == str(person.kits[0].home)
    assert foreign(result.snaps["7"]).keys() >= foreign(result.snaps["1"]).keys()


@pytest.mark.parametrize("loaded", [True, False], ids=["loaded", "hooks alone"])
def test_functions_where_fish_has_commands(person: Person, tmp_path: Path, loaded: bool) -> None:
    """Functions `math` and `count`, as for `bc` and `wc`, are not called in place of fish's own."""
    person.pin("10.1", conda_prefix(tmp_path / "a"))
    session = Session(person, tmp_path, FISH, Emulator())
    kit = person.kits[0]
    path = f"{kit.bin}:/x:{session.conda.base_path}:{kit.bin}"
    had = {"PATH": path, "LD_LIBRARY_PATH": f"/y:{':'.join(kit.lib)}"}
    steps = [*session.steps("a"), "set -gx PATH /z $PATH", *session.steps("out")]
    if loaded:
        steps += ["cudaswitch use 10.1", "set -gx PATH /z $PATH", "cudaswitch off"]
    own = "function math; echo 7; end; function count; echo 7; end"
    plain, named = (session.play(first, *steps, load=loaded, **had).check() for first in (":", own))
    assert named.snaps == plain.snaps


@pytest.mark.parametrize("shell", (BASH, ZSH), ids=str)
def test_a_function_that_keeps_arguments_from_being_set(
    shell: Shell, person: Person, tmp_path: Path
) -> None:
    """With a function `set` nothing can be switched, but the prompt comes back."""
    (tmp_path / ".cuda-version").write_text("cuda 10.1\ngpus 0\n")
    step = f"cd {shell.quote(str(tmp_path))}\n{shell.prompt}"
    result = person.play(shell, f"set() {{ :; }}\n{step}\nunset -f set", "echo back")
    assert result.stdout == "back\n"


@pytest.mark.parametrize("shell", (BASH, ZSH), ids=str)
@pytest.mark.parametrize("word", ["return", "set", "typeset", "local", "export", "unset", "eval"])
def test_an_alias_for_a_word_of_ours_before_our_line(
    shell: Shell, word: str, person: Person, tree: Path
) -> None:
    bare = Person(person.home, person.kits, {})
    expand = "shopt -s expand_aliases\n" if shell is BASH else ""
    there = f"cd {shell.quote(str(tree))}\n{shell.prompt}"
    aliased = f"{expand}alias {word}='echo {word}'\n{person.load(shell)}\n\\unalias {word}"
    result = bare.play(shell, aliased, there, f"cd /\n{shell.prompt}").check()
    assert result.stdout == ""
    homes = [result.snaps[number].get("CUDA_HOME") for number in ("2", "3")]
    assert homes == [str(person.kits[0].home), None]


@pytest.mark.parametrize("option", ["-k", "-ek"])
def test_assignments_that_count_anywhere_in_a_command(
    option: str, person: Person, tree: Path
) -> None:
    there = f"cd {BASH.quote(str(tree))}\n{BASH.prompt}"
    bare = Person(person.home, person.kits, {})
    result = bare.play(BASH, f"set {option}\n{person.load(BASH)}\nset +e", there).check()
    assert (result.stdout, result.snaps["2"]["CUDA_HOME"]) == ("", str(person.kits[0].home))


@pytest.mark.parametrize("shell", (BASH, ZSH), ids=str)
def test_separators_that_a_request_ends_in(shell: Shell, tmp_path: Path) -> None:
    """A request that ends in a character of IFS is read whole, although `read` drops separators."""
    person = make_person(tmp_path / "person", (shell.name,))
    for name, version in (("la", "11.8"), ("lab", "10.1")):
        assert person.home.run("alias", name, version).returncode == 0
    (tmp_path / ".cuda-version").write_text("cuda lab\n")
    there = f"cd {shell.quote(str(tmp_path))}\n{shell.prompt}"
    result = person.play(shell, f"IFS=b\n{there}").check()
    assert result.snaps["1"]["CUDA_HOME"] == str(person.kits[0].home)

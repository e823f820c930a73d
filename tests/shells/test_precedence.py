"""Precedence: `use` beats a pinned environment, and `off` lets the pin decide again."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from itertools import product
from pathlib import Path

import click
import pytest

from cudaswitch import shells
from cudaswitch.cli import cli
from made_environments import Env
from shells.conda import CONDAS as FULL
from shells.conda import Conda, conda_prefix
from shells.conftest import make_person
from shells.driver import BASH, FISH, NU, TCSH, XONSH, ZSH, Shell
from shells.frameworks import entered
from shells.kits import Person, foreign, switched
from shells.moving import cd, homes
from shells.pinned import Session
from shells.quick_conda import CONDAS
from tools import console_script

CHANGING = (
    *("pin", "unpin", "install", "adopt", "remove", "alias", "sync", "gc"),
    *("config+set", "config+unset", "doctor+--fix", "verify+--repair"),
)
"""Commands, some only with a certain argument, after which a shell may have to switch."""

INTEGRATED = (BASH, ZSH, FISH, TCSH, XONSH)
integrated = pytest.mark.parametrize("shell", INTEGRATED, ids=str)


@pytest.mark.parametrize("shell", (BASH, ZSH, FISH), ids=str)
def test_a_variable_that_is_not_exported(shell: Shell, person: Person) -> None:
    """The shell follows an unexported variable; `current` says how to make commands see it."""
    said, hint = (
        ("set -g CUDASWITCH_VERSION 11.8", "set -gx CUDASWITCH_VERSION $CUDASWITCH_VERSION")
        if shell is FISH
        else ("CUDASWITCH_VERSION=11.8", "export CUDASWITCH_VERSION=$CUDASWITCH_VERSION")
    )
    steps = [f"{said}\n{shell.prompt}", "cudaswitch current", hint]
    result = person.play(shell, *steps, "cudaswitch current")
    assert homes(person, result) == "-2222"
    assert result.stderr.splitlines()[-1] == f"hint: {hint}"
    asked = f"{person.kits[1].version} (asked for by CUDASWITCH_VERSION)"
    assert result.stdout.splitlines() == ["none", asked, str(person.kits[1].home)]


def attempt(shell: Shell, command: str) -> str:
    """Return a command that may fail, which must not end a script in Nushell."""
    return f"try {{ {command} }} catch {{ }}" if shell is NU else command


every_conda = pytest.mark.parametrize("conda", CONDAS, ids=str)
stacking = pytest.mark.parametrize(
    ("conda", "shell"), [it for it in product(CONDAS, INTEGRATED) if it[0].stacks(it[1])], ids=str
)


class TestPrecedence:
    """`use` beats the pin, and `off` gives way to it again."""

    @staticmethod
    def homes(session: Session, *words: str) -> list[str]:
        """Return which toolkit, by number, is active after each step."""
        steps = [
            word if word.startswith("cudaswitch") else session.steps(word)[0] for word in words
        ]
        result = session.play(*steps, load=True).check()
        numbers = {str(kit.home): str(n) for n, kit in enumerate(session.person.kits, 1)}
        seen = []
        for number in range(2, len(steps) + 2):
            snap = result.snaps[str(number)]
            seen.append(numbers.get(snap.get("CUDA_HOME", ""), "-"))
            folders = snap["PATH"].split(":") + snap.get("LD_LIBRARY_PATH", "").split(":")
            for other, kit in enumerate(session.person.kits, 1):
                ours = [folder for folder in folders if folder.startswith(f"{kit.home}/")]
                expected = [kit.bin, *kit.lib] if str(other) == seen[-1] else []
                assert ours == expected, words[: number - 1]
        return seen

    @integrated
    @every_conda
    @pytest.mark.parametrize(
        ("words", "expected"),
        [
            ("use:12.4 a off out", "331-"),
            ("a use:12.4 off out", "131-"),
            ("a use:12.4 b off out", "133-1"),
            ("a use:12.4 out off", "133-"),
            ("a use:12.4 c off out out", "13321-"),
            ("a use:system off out", "1-1-"),
            ("use:system a b off a out out", "----1-1"),
            ("a use:10.1 b off out", "111-1"),
            ("a use:12.4 again +b out off out", "133331-"),
            ("use:10.1 a again out off", "1111-"),
        ],
    )
    def test_use_beats_the_pin(self, session: Session, words: str, expected: str) -> None:
        said = [
            f"cudaswitch {word.replace(':', ' ')}" if word[:2] in ("us", "of") else word
            for word in words.split()
        ]
        assert "".join(self.homes(session, *said)) == expected

    @integrated
    @every_conda
    def test_pin_and_unpin_act_at_once_in_the_active_environment(
        self, session: Session, tmp_path: Path
    ) -> None:
        enter = session.conda.activate(session.shell, conda_prefix(tmp_path / "new"))
        words = ["pin 10.1", "pin 11.8 --libraries never", "unpin"]
        steps = [enter, *(session.shell.hush(f"cudaswitch {word}") for word in words)]
        result = session.play(*steps, session.conda.deactivate(), load=True).check()
        active = result.snaps["2"]
        one, two, _ = session.person.kits
        assert foreign(result.snaps["3"]) == switched(active, one)
        assert foreign(result.snaps["4"]) == switched(active, two, libraries=False)
        assert foreign(result.snaps["5"]) == foreign(active)
        assert result.snaps["6"]["PATH"] == session.conda.base_path

    @integrated
    @every_conda
    def test_so_do_they_below_another_one(self, session: Session, tmp_path: Path) -> None:
        """`pin` and `unpin` act at once on an environment below, if the one on top has no pin."""
        new, top = conda_prefix(tmp_path / "new"), conda_prefix(tmp_path / "top")
        conda, shell = session.conda, session.shell
        enter = [conda.activate(shell, new), conda.activate(shell, top, stack=True)]
        said = [f"{words} -p {new}" for words in ("pin 10.1", "pin 11.8", "unpin", "pin 10.1")]
        said += [f"{words} -p {top}" for words in ("pin 12.4", "unpin")]
        steps = [shell.hush(f"cudaswitch {words}") for words in said]
        result = session.play(*enter, *steps, *session.steps("out out"), load=True).check()
        numbers = {str(kit.home): str(n) for n, kit in enumerate(session.person.kits, 1)}
        found = [result.snaps[str(n)] for n in range(4, 12)]
        homes = [numbers.get(each.get("CUDA_HOME", ""), "-") for each in found]
        # A conda that cannot stack leaves one environment for the other.
        is_stacked = conda.stacks(shell)
        assert ("CONDA_STACKED_2" in result.snaps["3"]) == is_stacked
        assert "".join(homes) == ("12-1311-" if is_stacked else "----3-1-")
        assert found[-1] == foreign(found[-1]) and found[-1]["PATH"] == conda.base_path

    @stacking
    def test_an_unpin_elsewhere_of_what_another_stands_on(
        self, session: Session, tmp_path: Path
    ) -> None:
        """After an unpin elsewhere, the next pin below decides from the next `cd` on."""
        low, new, top = (conda_prefix(tmp_path / name) for name in ("low", "new", "top"))
        session.person.pin("10.1", low)
        session.person.pin("11.8", new)
        conda, shell = session.conda, session.shell
        enter = [conda.activate(shell, low)]
        enter += [conda.activate(shell, each, stack=True) for each in (new, top)]
        unpin = f"sh -c {shell.quote(f'{console_script()} unpin -p {new} 2>/dev/null')}"
        steps = [*(f"{each}\n{shell.prompt}" for each in enter), unpin, cd(shell, tmp_path)]
        result = session.play(*steps, load=True).check()
        assert "CONDA_STACKED_2" in result.snaps["3"]
        assert homes(session.person, result) == "--12221"

    @integrated
    @pytest.mark.parametrize("conda", CONDAS[:1], ids=str)
    def test_so_do_they_in_a_virtualenv(self, session: Session, tmp_path: Path) -> None:
        env = Env(tmp_path / "v")
        env.write("pyvenv.cfg", "home = /usr/bin\n")
        words = ["pin 10.1", "pin 11.8", "unpin"]
        said = [session.shell.hush(f"cudaswitch {word} -p {env.prefix}") for word in words]
        result = session.play(entered(session.shell, env), *said, load=True).check()
        numbers = {str(kit.home): str(n) for n, kit in enumerate(session.person.kits, 1)}
        homes = [numbers.get(result.snaps[n].get("CUDA_HOME", ""), "-") for n in "2345"]
        assert "".join(homes) == "-12-"


def test_commands_that_change_shells_are_commands() -> None:
    for command in CHANGING:
        name, _, word = command.partition("+")
        known = cli.get_command(click.Context(cli), name)
        assert known, command
        inner = known.commands if isinstance(known, click.Group) else {}
        assert word in ["", *inner, *(it for one in known.params for it in one.opts)], command


@pytest.mark.parametrize(
    "text", ["command.sh", "command.fish", "command.csh", "init.nu", "init.ps1", "init_xonsh.py"]
)
def test_every_shell_knows_them(text: str) -> None:
    source = files(shells).joinpath(text).read_text()
    found = re.search(r"pin\W+unpin\W+install[\s\S]*?verify\+--repair", source)
    assert found
    said = re.findall(r"(?<![\w$])[a-z]+(?:\+[a-z-]+)?(?!\w)", found[0])
    assert [word for word in said if word not in ("set", "changing", "a")] == list(CHANGING)


@pytest.mark.parametrize("shell", (BASH, ZSH, FISH, TCSH, XONSH, NU), ids=str)
def test_what_is_set_holds_at_once(shell: Shell, tmp_path: Path) -> None:
    person = make_person(tmp_path / "person", (shell.name,))
    tree, kit = tmp_path / "tree", person.kits[0]
    tree.mkdir()
    (tree / ".cuda-version").write_text("10.1\n")
    words = ["config set libraries never", "config get libraries", "config unset libraries"]
    said = [f"{shell.hush(f'cudaswitch {word}')}\n{shell.prompt}" for word in words]
    result = person.play(shell, cd(shell, tree), *said).check()
    found = [foreign(result.snaps[n]) for n in "0124"]
    assert [each.get("CUDA_HOME") for each in found] == [None, *[str(kit.home)] * 3]
    libraries = [each.get("LD_LIBRARY_PATH") for each in found]
    assert libraries == [None, ":".join(kit.lib), None, ":".join(kit.lib)]


@pytest.mark.parametrize("shell", (BASH, ZSH, FISH, TCSH, XONSH, NU), ids=str)
def test_a_name_that_means_another_one_now(shell: Shell, tmp_path: Path) -> None:
    person = make_person(tmp_path / "person", (shell.name,))
    assert person.home.run("alias", "lab", "10.1").returncode == 0
    asked = f"{shell.set('CUDASWITCH_VERSION', 'lab')}\n{shell.prompt}"
    said = f"{shell.hush('cudaswitch alias lab 11.8')}\n{shell.prompt}"
    assert homes(person, person.play(shell, asked, said).check()) == "-12"


@pytest.mark.parametrize("shell", (BASH, ZSH, FISH, TCSH, XONSH, NU), ids=str)
@pytest.mark.parametrize("there", [True, False], ids=["in the tree", "and then there"])
def test_what_a_variable_asks_for_is_not_kept_for_the_version_file(
    person: Person, shell: Shell, there: bool, tmp_path: Path
) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / ".cuda-version").write_text("10.1\n")
    asked = shell.set("CUDASWITCH_VERSION", "11.8")
    enter = [cd(shell, tree), asked] if there else [asked, cd(shell, tree)]
    enter = [f"{enter[0]}\n{enter[1]}\n{shell.prompt}"]
    gone = f"{shell.unset('CUDASWITCH_VERSION')}\n{shell.prompt}"
    steps = [*enter, gone, cd(shell, tmp_path), cd(shell, tree)]
    assert homes(person, person.play(shell, *steps).check()) == "-21-1"


@pytest.mark.parametrize("shell", (BASH, ZSH, FISH, TCSH, XONSH, NU), ids=str)
def test_what_is_weaker_than_a_variable_is_neither_asked_nor_told(
    shell: Shell, tmp_path: Path
) -> None:
    person = make_person(tmp_path / "person", (shell.name,))
    (tmp_path / "tree").mkdir()
    file = tmp_path / "tree" / ".cuda-version"
    file.write_text("9.9\n")
    (person.home.store / "global").write_text("9.8\n")
    asked = f"{shell.set('CUDASWITCH_VERSION', '10.1')}\n{shell.prompt}"
    edited = f"printf '9.7\\n' > {shell.quote(str(file))}\n{shell.prompt}"
    if shell is NU:
        edited = f"'9.7' | save --force {shell.quote(str(file))}\n{shell.prompt}"
    steps = [cd(shell, file.parent), edited, cd(shell, tmp_path), cd(shell, file.parent)]
    gone = f"{shell.unset('CUDASWITCH_VERSION')}\n{shell.prompt}"
    result = person.play(shell, asked, *steps, CUDASWITCH_VERSION="11.8")
    assert homes(person, result.check()) == "211111"
    assert "9." not in result.stderr
    result = person.play(shell, asked, *steps, gone, CUDASWITCH_VERSION="11.8")
    assert homes(person, result) == "211111-"
    assert result.stderr.count("CUDA 9.7 is not installed") == 1


@pytest.mark.parametrize("shell", (BASH, ZSH, FISH), ids=str)
def test_where_a_variable_decides_a_version_file_is_not_looked_at_each_time(
    shell: Shell, person: Person, tmp_path: Path
) -> None:
    (tmp_path / ".cuda-version").write_text("10.1\n")
    spy = "function __cudaswitch_look; echo looked; end" if shell is FISH else ""
    spy = f"{spy or '__cudaswitch_look() { echo looked; }'}\n{shell.prompt}\n{shell.prompt}"
    result = person.play(shell, cd(shell, tmp_path), spy, CUDASWITCH_VERSION="11.8")
    assert (result.check().stdout, homes(person, result)) == ("", "222")


@pytest.mark.parametrize("shell", (BASH, ZSH, FISH, TCSH, XONSH, NU), ids=str)
def test_what_changes_nothing_leaves_what_the_person_has_set(shell: Shell, tmp_path: Path) -> None:
    """A command that changes nothing keeps the person's values, and repeats no earlier refusal."""
    failing = ("verify --repair nope", "pin 99 --dir .", "config set nosuch 3")
    person = make_person(tmp_path / "person", (shell.name,))
    tree, refusing = tmp_path / "tree", tmp_path / "refusing"
    for folder, version in ((tree, "10.1"), (refusing, "99")):
        folder.mkdir()
        (folder / ".cuda-version").write_text(f"{version}\n")
    own = f"{shell.set('CUDA_HOME', '/own')}\n{shell.prepend('PATH', '/mine')}\n{shell.prompt}"
    *refused, done = (
        f"{attempt(shell, f'cudaswitch {words}')}\n{shell.prompt}"
        for words in (*failing, "config set jobs 3")
    )
    result = person.play(shell, cd(shell, tree), own, *refused, done, cd(shell, refusing), *refused)
    before, *after = (foreign(result.snaps[n]) for n in "23456")
    assert before["CUDA_HOME"] == "/own"
    assert before["PATH"].startswith("/mine:")
    assert after == [before] * 4
    assert result.stderr.count("asked for by ./.cuda-version") == 1


@pytest.mark.parametrize("shell", (BASH, ZSH, FISH, TCSH, XONSH, NU), ids=str)
def test_what_they_print_goes_down_a_pipeline(shell: Shell, person: Person) -> None:
    cat = "^cat" if shell is NU else "cat"
    result = person.play(shell, f"cudaswitch verify --repair --json | {cat}").check()
    assert "adopted" in json.loads(result.stdout)


@pytest.mark.parametrize("shell", (BASH, ZSH, FISH, TCSH, XONSH, NU), ids=str)
def test_a_pin_below_a_stack_of_any_depth_is_kept(
    shell: Shell, person: Person, tmp_path: Path
) -> None:
    """A pin below a stack still counts after `gc`, at whatever level conda has counted it."""
    for name in "ad":
        conda_prefix(tmp_path / name)
    person.pin("10.1", tmp_path / "a")
    a, d = (str(tmp_path / name) for name in "ad")
    variables = {
        "CONDA_PREFIX": d,
        "CONDA_SHLVL": "5",
        "CONDA_PREFIX_4": a,
        "CONDA_STACKED_5": "true",
    }
    on = [shell.set(name, value) for name, value in variables.items()]
    on += [shell.prepend("PATH", f"{a}/bin"), shell.prepend("PATH", f"{d}/bin"), shell.prompt]
    steps = ["\n".join(on), f"{shell.hush('cudaswitch gc')}\n{shell.prompt}"]
    result = person.play(shell, *steps).check()
    homes = [result.snaps[n].get("CUDA_HOME") for n in "012"]
    assert homes == [None, *[str(person.kits[0].home)] * 2]


@pytest.mark.parametrize("shell", (BASH, ZSH, FISH, TCSH, XONSH, NU), ids=str)
@pytest.mark.parametrize("level", [None, "2", "12"])
def test_an_environment_that_is_entered_by_hand_stands_on_none(
    shell: Shell, level: str | None, person: Person, tmp_path: Path
) -> None:
    """An environment entered by setting both variables, as by conda-pack, is not on a stack."""
    steps = []
    for name in "ad":
        prefix = str(conda_prefix(tmp_path / name))
        enter = (shell.set("CONDA_PREFIX", prefix), shell.prepend("PATH", f"{prefix}/bin"))
        steps.append("\n".join((*enter, shell.prompt)))
    person.pin("10.1", tmp_path / "a")
    # Nor on that of a level that conda has not stacked.
    levels = dict.fromkeys(("CONDA_PREFIX_1", "CONDA_PREFIX_11"), str(tmp_path / "a"))
    result = person.play(shell, *steps, CONDA_SHLVL=level, **levels).check()
    seen = [result.snaps[number].get("CUDA_HOME") for number in "012"]
    assert seen == [None, str(person.kits[0].home), None]


@pytest.mark.parametrize("conda", FULL, ids=str)
@pytest.mark.parametrize(
    ("shell", "loaded"),
    [(BASH, True), (ZSH, True), (FISH, True), (BASH, False), (ZSH, False)],
    ids=lambda one: {True: "loaded", False: "alone"}.get(one) or str(one),
)
@pytest.mark.parametrize(
    ("said", "expected"),
    [(None, "323-"), ("11.8", "3232")],
    ids=["nothing before", "a choice before"],
)
def test_the_variable_that_an_environment_brings_goes_with_it(
    shell: Shell,
    conda: Conda,
    loaded: bool,
    said: str | None,
    expected: str,
    *,
    person: Person,
    tmp_path: Path,
) -> None:
    """An environment's CUDASWITCH_VERSION goes with it, though conda unsets it after the hook."""
    for name, asked in (("a", "12.4"), ("b", "11.8")):
        prefix = conda_prefix(tmp_path / name)
        state = json.dumps({"env_vars": {"CUDASWITCH_VERSION": asked}})
        (prefix / "conda-meta" / "state").write_text(state)
        person.pin("10.1", prefix)
    session = Session(person, tmp_path, shell, conda)
    result = session.play(*session.steps("a b out out"), load=loaded, CUDASWITCH_VERSION=said)
    numbers = {str(kit.home): str(n) for n, kit in enumerate(person.kits, 1)}
    seen = [numbers.get(result.snaps[str(n)].get("CUDA_HOME", ""), "-") for n in range(2, 6)]
    assert "".join(seen) == (expected if loaded else f"{expected[:3]}-")
    paths = result.snaps["5"]["PATH"].split(":")
    assert [n for home, n in numbers.items() if f"{home}/bin" in paths] == [*seen[3].strip("-")]


@pytest.mark.parametrize("conda", FULL, ids=str)
@pytest.mark.parametrize(
    ("shell", "form"),
    [
        *((shell, form) for shell in (BASH, ZSH) for form in ("{v} {a}", "{s}; {a}; {u}")),
        *((shell, "f() {{ local -x {v}; {a}; }}; f") for shell in (BASH, ZSH)),
        *((FISH, form) for form in ("{v} {a}", "{s}; {a}; {u}")),
    ],
    ids=str,
)
@pytest.mark.parametrize("exported", [None, "10.1"])
def test_a_variable_for_one_command_is_that(
    shell: Shell, form: str, exported: str | None, conda: Conda, person: Person, tmp_path: Path
) -> None:
    name = "CUDASWITCH_VERSION"
    person.pin("11.8", conda_prefix(tmp_path / "c"))
    words = {
        "v": f"{name}=12.4",
        "a": conda.activate(shell, tmp_path / "c"),
        "s": shell.set(name, "12.4"),
        "u": shell.set(name, exported) if exported else shell.unset(name),
    }
    # All of the integration is loaded, and has looked around.
    init = f"{conda.init(shell)}\ncudaswitch off\n{shell.prompt}"
    steps = (form.format(**words), shell.prompt, f"{conda.deactivate()}\n{shell.prompt}")
    variables = {name: exported} if exported else {}
    result = person.play(shell, init, *steps, **variables).check()
    assert homes(person, result)[3:] == ("11" if exported else "2-")


@pytest.mark.parametrize("conda", FULL, ids=str)
@pytest.mark.parametrize("shell", (BASH, ZSH), ids=str)
@pytest.mark.parametrize("asked", [".cuda-version", "global"])
def test_what_is_asked_for_here_is_back_as_soon_as_the_last_one_is_left(
    shell: Shell, conda: Conda, asked: str, tmp_path: Path
) -> None:
    """Leaving the last environment applies what is asked for here at once, without a prompt."""
    person = make_person(tmp_path / "person", (shell.name,))
    below = tmp_path / "tree" / "below"
    below.mkdir(parents=True)
    person.pin("11.8", conda_prefix(tmp_path / "c"))
    asking = below.parent if asked == ".cuda-version" else person.home.store
    (asking / asked).write_text("10.1\n")
    enter = f"{conda.activate(shell, tmp_path / 'c')}\n{shell.prompt}"
    steps = cd(shell, below), enter, conda.deactivate()
    result = person.play(shell, conda.init(shell), *steps).check()
    assert homes(person, result)[2:] == "121"

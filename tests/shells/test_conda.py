"""Pinned conda environments: hooks alone, without integration, in every transition of conda.

Each history is played twice, in environments with and without pins. After every step the pinned
run must equal the plain one plus the toolkit, and equal it exactly once all are left.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from pairs import every_pair
from shells.conda import (
    Emulator,
    conda_prefix,
    real_conda,
    skip_conda_s_own_tcsh,
    write_hook,
)
from shells.driver import (
    BASH,
    DASH,
    FISH,
    POSIX_SHELLS,
    SHELLS,
    STRICT,
    TCSH,
    ZSH,
    ShellResult,
)
from shells.kits import STATE, Kit, Person, foreign, switched
from shells.pinned import Session, unpinned
from shells.quick_conda import CONDAS

every_shell = pytest.mark.parametrize("shell", SHELLS, ids=str)
CONDAS_WITH_VARIABLES = [Emulator(), *filter(None, [real_conda()])]
KITS = (0, 2)
"""Indices of an ordinary toolkit and of one without nvcc."""
every_conda = pytest.mark.parametrize("conda", CONDAS, ids=str)

DIGITS = "IFS=/:0123456789"
"""Makes the shell split unquoted numbers as well as paths."""


def same_but_for(env: dict[str, str], old: Path, new: Path) -> dict[str, str]:
    """Return an environment with one folder replaced by the other in all values."""
    return {name: value.replace(str(old), str(new)) for name, value in env.items()}


def assert_followed(
    session: Session, words: str, active: str, pinned: ShellResult, plain: ShellResult
) -> None:
    """Check all steps; `active` has the number of a toolkit, or `-`, for each."""
    assert (pinned.stdout, pinned.stderr) == (plain.stdout, plain.stderr)
    for number, which in enumerate("-" + active.replace(" ", ""), 1):
        control = same_but_for(
            foreign(plain.snaps[str(number)]), session.folder / "bare", session.folder
        )
        now = foreign(pinned.snaps[str(number)])
        if which != "-":
            kit = session.person.kits[int(which) - 1]
            control = switched(control, kit)
            if words.split()[number - 2] == "+b":
                # A stacked environment comes before the toolkit of the one below.
                folders = now["PATH"].split(":")
                now["PATH"] = ":".join([folders.pop(1), *folders])
        assert now == control, f"{words} at {number - 1}"
    if active.endswith("-"):
        last = pinned.snaps[str(len(active.replace(" ", "")) + 1)]
        assert not [name for name in last if name.startswith(STATE)]


TRANSITIONS = [
    ("a out", "1-"),
    ("b a out out", "-1--"),
    ("a b out out", "1-1-"),
    ("a c out out", "121-"),
    ("a c b a b c out out out out out out", "12-1-2-1-21-"),
    ("a a a out", "111-"),
    ("a again again out", "111-"),
    ("a +b out out", "111-"),
    ("a +c out out", "121-"),
    ("b +a out out", "-1--"),
    ("a +b +c out out out", "11211-"),
    ("a +b c out out out", "11211-"),
    ("a +b +c +b out out out out", "1122211-"),
    ("a +c b out out out", "12121-"),
    ("a +b +c again b out out out out", "11221211-"),
    ("a b +a again out out out", "1-11-1-"),
    ("out a out out", "-1--"),
]


@every_conda
@every_shell
@pytest.mark.parametrize(("words", "active"), TRANSITIONS, ids=[words for words, _ in TRANSITIONS])
def test_every_transition(session: Session, words: str, active: str) -> None:
    pinned = session.play(*session.steps(words)).check()
    plain = unpinned(session)
    assert_followed(session, words, active, pinned, plain.play(*plain.steps(words)).check())


OWN = {
    "unset": {"LD_LIBRARY_PATH": None},
    "empty": {"LD_LIBRARY_PATH": "", "CUDA_HOME": ""},
    "own": {"LD_LIBRARY_PATH": "/x y:$HOME;`z`", "CUDA_HOME": "/own", "CUDACXX": "nvcc"},
}


@every_conda
@every_shell
@pytest.mark.parametrize("own", OWN)
def test_what_a_person_has_comes_back(session: Session, own: str) -> None:
    words, active = "a c b a out out out out", "12-1-21-"
    pinned = session.play(*session.steps(words), **OWN[own]).check()
    plain = unpinned(session)
    control = plain.play(*plain.steps(words), **OWN[own]).check()
    assert_followed(session, words, active, pinned, control)


@every_conda
@pytest.mark.parametrize("shell", [BASH, ZSH, FISH], ids=str)
def test_what_was_not_exported_is_not_afterwards(session: Session) -> None:
    own = "set -g {} {}" if session.shell is FISH else "{}={}"
    mine = "\n".join(own.format(*one) for one in (("LD_LIBRARY_PATH", "/x"), ("CUDA_HOME", "/y")))
    plain, words, active = unpinned(session), "a c b a out out out out", "12-1-21-"
    control = plain.play(mine, *plain.steps(words)).check()
    result = session.play(mine, *session.steps(words)).check()
    for at in (str(at + 3) for at, which in enumerate(active) if which == "-"):
        before = same_but_for(foreign(control.snaps[at]), plain.folder, session.folder)
        assert "LD_LIBRARY_PATH" not in before
        assert foreign(result.snaps[at]) == before


@every_conda
@pytest.mark.parametrize("shell", [BASH, ZSH], ids=str)
@pytest.mark.parametrize("names", [("CUDA_HOME", "LD_LIBRARY_PATH"), ("LD_LIBRARY_PATH",)])
def test_locals_of_a_function_that_switches_stay_its_own(
    session: Session, names: tuple[str, ...]
) -> None:
    there = "|".join(f"${{{name}-none}}" for name in names)
    own = " ".join(f"{name}=/mine" for name in names)
    work = "\n".join(session.steps("a c out out"))
    function = f'f() {{ local {own}\n{work}\necho "{there}"; }}'
    result = session.play(f'{function}\nf\necho "{there}"').check()
    assert result.stdout.split() == ["|".join(len(names) * [value]) for value in ("/mine", "none")]


@every_conda
@every_shell
def test_edits_in_between_survive(session: Session) -> None:
    def history(at: Session) -> list[str]:
        shell, kit = at.shell, at.person.kits[0]
        first = [shell.prepend("PATH", "/mine/bin"), shell.prepend("LD_LIBRARY_PATH", "/mine/lib")]
        last = [shell.append("PATH", kit.bin), shell.append("LD_LIBRARY_PATH", kit.lib[0])]
        mixed = [*at.steps("a"), *first, *at.steps("again c"), *last, *at.steps("b a +b")]
        return [*mixed, shell.set("CUDA_HOME", "/mine"), *at.steps("out out out out out")]

    plain = unpinned(session)
    control = plain.play(*history(plain), LD_LIBRARY_PATH="/own").check()
    result = session.play(*history(session), LD_LIBRARY_PATH="/own").check()
    last = str(len(history(plain)) + 1)
    assert foreign(result.snaps[last]) == foreign(control.snaps[last])
    assert result.snaps[last] == foreign(result.snaps[last])
    assert control.snaps[last]["LD_LIBRARY_PATH"] == (
        f"/mine/lib:/own:{session.person.kits[0].lib[0]}"
    )


@every_conda
@every_shell
def test_identical_entries_of_the_person_are_counted(session: Session) -> None:
    kit = session.person.kits[0]
    own = {
        "PATH": f"{kit.bin}:{session.conda.base_path}:{kit.bin}",
        "LD_LIBRARY_PATH": f"/x:{kit.lib[1]}:{kit.lib[0]}:{kit.lib[1]}",
    }
    words, active = "a b a again +b out c out out out out", "1-11112121-"
    pinned = session.play(*session.steps(words), **own).check()
    plain = unpinned(session)
    control = plain.play(*plain.steps(words), **own).check()
    last = str(len(active) + 1)
    assert foreign(pinned.snaps[last]) == foreign(control.snaps[last])


@every_pair(
    {
        "conda": CONDAS_WITH_VARIABLES,
        "shell": (*POSIX_SHELLS, FISH),
        "own": ["unset", "own"],
        "pinned": [False, True],
        "words": ["a d out out", "a +d c d out out out out"],
    }
)
def test_variables_of_an_environment(
    session: Session, made_once: Callable[..., Path], own: str, pinned: bool, words: str
) -> None:
    """Values that `conda env config vars` replaced come back, without entries of ours."""
    variables = {"CUDA_HOME": "/vars", "LD_LIBRARY_PATH": "/vars/lib", "CUDACXX": "/vars/nvcc"}
    folder = made_once({"d": variables}, **({"d": ("12.4",)} if pinned else {}))
    mine = replace(session, folder=folder)
    last = str(len(words.split()) + 1)
    seen = mine.play(*mine.steps(words), **OWN[own]).snaps[last]
    plain = unpinned(mine)
    control = plain.play(*plain.steps(words), **OWN[own]).snaps[last]
    assert alike(seen) == alike(same_but_for(control, plain.folder, mine.folder))


@every_pair(
    {
        "conda": CONDAS_WITH_VARIABLES,
        "shell": [BASH, ZSH, FISH],
        "between": ["", "cudaswitch use 11.8"],
        "kit": KITS,
        "prompts": [True, False],
    }
)
def test_a_copy_that_conda_left_behind_is_not_ours(
    session: Session, tmp_path: Path, between: str, kit: int, prompts: bool
) -> None:
    """conda's leftover copies, which it may restore much later, hold nothing of the toolkit."""
    variables = {"CUDA_HOME": "/vars", "LD_LIBRARY_PATH": "/vars/lib"}
    prefix = conda_prefix(tmp_path / "d")
    (prefix / "conda-meta" / "state").write_text(json.dumps({"env_vars": variables}))
    mine = Session(session.person, tmp_path, session.shell, session.conda)
    visit = mine.steps("d out")
    version = session.person.kits[kit].version
    steps = [f"cudaswitch use {version}", *visit, between, "cudaswitch off"]
    if not prompts:
        steps = ["; ".join(filter(None, steps))]
    after = mine.play(*steps, *visit, load=True).snaps[str(len(steps) + 3)]
    control = mine.play(*visit, load=True).snaps["3"]
    assert alike(foreign(after)) == alike(foreign(control))
    assert not [name for name, value in after.items() if "cuda-1" in value and "SHLVL" in name]


@every_pair(
    {
        "conda": CONDAS_WITH_VARIABLES,
        "shell": [BASH, ZSH, FISH],
        "words": ["d c out out", "d d out out", "d a out out"],
        "number": KITS,
        "names": [("LD_LIBRARY_PATH",), ("LD_LIBRARY_PATH", "CUDA_HOME")],
    }
)
def test_a_copy_of_the_persons_own_stays(
    session: Session,
    made_once: Callable[..., Path],
    words: str,
    number: int,
    names: tuple[str, ...],
) -> None:
    """The user's own value comes back even if it names the toolkit that the pin asks for."""
    kit = session.person.kits[number]
    theirs = {"LD_LIBRARY_PATH": f"{kit.lib[0]}:/q", "CUDA_HOME": str(kit.home)}
    own = {name: theirs[name] for name in names}
    variables = dict.fromkeys(names, "/vars")
    mine = replace(session, folder=made_once({"d": variables}, d=(kit.version,)))
    last = str(len(words.split()) + 1)
    seen = mine.play(*mine.steps(words), **own).snaps[last]
    plain = unpinned(mine)
    control = plain.play(*plain.steps(words), **own).snaps[last]
    assert {name: seen[name] for name in names} == own
    assert alike(seen) == alike(same_but_for(control, plain.folder, mine.folder))


@every_pair(
    {
        "conda": CONDAS_WITH_VARIABLES,
        "shell": [*POSIX_SHELLS, FISH],
        "words": ["d +c out out", "d c a out out out"],
        "own, second": [
            ("CUDA_HOME", "LD_LIBRARY_PATH"),
            ("CUDA_HOME", "CUDA_VISIBLE_DEVICES"),
            ("LD_LIBRARY_PATH", "CUDA_HOME"),
            ("CUDA_VISIBLE_DEVICES", "CUDACXX"),
            ("CUDA_DEVICE_ORDER", "CUDA_HOME"),
        ],
    }
)
def test_a_variable_of_the_persons_own_is_no_sign_for_another(
    session: Session, made_once: Callable[..., Path], words: str, own: str, second: str
) -> None:
    """All comes back even if conda saved the user's value of one variable, and ours of another."""
    kit = session.person.kits[1]
    theirs = {"LD_LIBRARY_PATH": f"{kit.lib[0]}:/q", "CUDA_HOME": str(kit.home)}
    theirs |= {"CUDA_VISIBLE_DEVICES": "0,2", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
    variables = {"d": {own: "/vars/d"}, "c": {second: "/vars/c"}}
    pin = (kit.version, "--gpus", "0,2")
    mine = replace(session, folder=made_once(variables, d=pin, c=pin))
    last = str(len(words.split()) + 1)
    seen = mine.play(*mine.steps(words), **{own: theirs[own]}).snaps[last]
    plain = unpinned(mine)
    control = plain.play(*plain.steps(words), **{own: theirs[own]}).snaps[last]
    assert alike(seen) == alike(same_but_for(control, plain.folder, mine.folder))


@every_conda
@every_shell
def test_a_pin_to_system_is_no_folder(session: Session, tmp_path: Path) -> None:
    """A pin to `system` never means a folder `system`, even one that looks like a toolkit."""
    Kit(tmp_path / "system", "9.9.9", ("lib64",)).build()
    session.person.pin("system", conda_prefix(tmp_path / "d"))
    mine = Session(session.person, tmp_path, session.shell, session.conda)
    seen = mine.play(f"cd {tmp_path}", *mine.steps("d")).check().snaps["3"]
    assert not {"CUDA_HOME", "LD_LIBRARY_PATH"} & seen.keys()


@every_conda
@pytest.mark.parametrize("shell", [BASH], ids=str)
def test_functions_that_are_exported_to_a_child(session: Session) -> None:
    """A child bash gets only conda's functions, as on clusters, and works without errors."""
    theirs = "$(compgen -A function | grep -v cudaswitch)"
    export = f"for f in {theirs}; do export -f $f; done"
    enter = session.steps("b")[0].replace("'", "'\\''")
    child = f"bash -euc '{enter}; echo arrived'"
    result = session.play(*session.steps("a out"), f"{export}\n{child}").check()
    assert (result.stdout, result.stderr) == ("arrived\n", "")


@every_conda
@pytest.mark.parametrize("shell", [BASH, ZSH, DASH, TCSH], ids=str)
def test_the_variable_is_stronger_than_a_pin_in_scripts_too(session: Session) -> None:
    kits = [str(kit.home) for kit in session.person.kits]
    steps = session.steps("a out")
    result = session.play(*steps, CUDASWITCH_VERSION="12.4").check()
    assert [result.snaps[n].get("CUDA_HOME") for n in "23"] == [kits[2], None]
    assert foreign(result.snaps["3"])["PATH"] == foreign(result.snaps["1"])["PATH"]
    result = session.play(*steps, CUDASWITCH_VERSION="system").check()
    assert [result.snaps[n].get("CUDA_HOME") for n in "23"] == [None, None]
    for unknown in ("99", "../latest", ">=12"):
        result = session.play(*steps, CUDASWITCH_VERSION=unknown).check()
        assert [result.snaps[n].get("CUDA_HOME") for n in "23"] == [kits[0], None]


def alike(env: dict[str, str]) -> dict[str, str]:
    """Return an environment without the copies that conda forgets and without empty values.

    In POSIX shells conda unsets a variable by making it empty.
    """
    copies = "__CONDA_SHLVL_"
    return {name: value for name, value in env.items() if value and not name.startswith(copies)}


@every_conda
@pytest.mark.parametrize("shell", POSIX_SHELLS, ids=str)
def test_strict_shells(session: Session) -> None:
    strict = [
        f"{STRICT[session.shell.name]}; {DIGITS}",
        *session.steps("a c b a +b out out out out out"),
    ]
    result = session.play(*strict, LD_LIBRARY_PATH=None).check()
    last = str(len(strict) + 1)
    assert foreign(result.snaps[last]).keys() - result.snaps["1"].keys() <= CONDA_LEAVES
    assert result.snaps[last]["PATH"] == result.snaps["1"]["PATH"]


CONDA_LEAVES = {
    *("CONDA_PREFIX", "CONDA_DEFAULT_ENV", "CONDA_PROMPT_MODIFIER"),
    *(f"CONDA_{what}_{n}" for what in ("PREFIX", "STACKED") for n in range(1, 6)),
}
"""Variables that POSIX shells keep as empty strings after the last deactivation."""


@every_conda
@every_shell
class TestConda:
    def test_run(self, session: Session) -> None:
        skip_conda_s_own_tcsh(session.shell, session.conda)
        run = session.conda.run(
            session.shell, session.folder / "a", "sh", "-c", 'nvcc; echo "$CUDA_HOME"; exit 3'
        )
        status = "$status" if session.shell in (FISH, TCSH) else "$?"
        result = session.play(f"{run}\necho rc {status}")
        kit = session.person.kits[0]
        code = 0 if session.shell is TCSH else 3  # conda's own script for tcsh loses it
        assert result.stdout == f"nvcc of 10.1.243\n{kit.home}\nrc {code}\n"
        assert foreign(result.snaps["2"]) == foreign(result.snaps["1"])

    def test_run_inside_another(self, session: Session) -> None:
        skip_conda_s_own_tcsh(session.shell, session.conda)
        show = ("sh", "-c", 'echo "$CUDA_HOME $LD_LIBRARY_PATH"')
        runs = [
            session.conda.run(session.shell, session.folder / name, *show) for name in ("c", "b")
        ]
        result = session.play(*session.steps("a"), *runs).check()
        kit = session.person.kits[1]
        assert result.stdout == f"{kit.home} {kit.lib[0]}\n \n"

    def test_a_child_shell_that_inherits_can_deactivate(
        self, session: Session, tmp_path: Path
    ) -> None:
        skip_conda_s_own_tcsh(session.shell, session.conda)
        shell = session.shell
        child = tmp_path / "child"
        child.write_text(f"{session.conda.init(shell)}\nconda deactivate\nenv -0 >{tmp_path}/env\n")
        call = " ".join(map(shell.quote, [shell.name, *shell.options, str(child)]))
        result = session.play(*session.steps("a"), call, *session.steps("out")).check()
        pairs = (one.partition("=") for one in (tmp_path / "env").read_text().split("\0") if one)
        seen = {name: value for name, _, value in pairs}
        base = result.snaps["1"]
        for name in ("PATH", "LD_LIBRARY_PATH", "CUDA_HOME", "CUDACXX"):
            assert seen.get(name) == base.get(name) == result.snaps["4"].get(name)
        assert not [name for name in seen if name.startswith(STATE)]

    def test_other_packages_hooks_beside_ours(
        self, session: Session, person: Person, tmp_path: Path
    ) -> None:
        """CUDA_HOME is ours beside a package that saves it and one whose hook sorts almost last."""
        prefix, shell = conda_prefix(tmp_path / "env"), session.shell
        setting = {
            "sh": (
                'export KEPT="${CUDA_HOME-}"; export CUDA_HOME=/theirs',
                'export CUDA_HOME="$KEPT"; if [ -z "$CUDA_HOME" ]; then unset CUDA_HOME; fi',
            ),
            "fish": (
                "set -gx KEPT $CUDA_HOME; set -gx CUDA_HOME /theirs",
                'set -gx CUDA_HOME $KEPT; if test -z "$CUDA_HOME"; set -e CUDA_HOME; end',
            ),
            "csh": (
                'setenv KEPT ""\nif ($?CUDA_HOME) then\nsetenv KEPT "$CUDA_HOME"\nendif\n'
                "setenv CUDA_HOME /theirs",
                'setenv CUDA_HOME "$KEPT"\nif ("$CUDA_HOME" == "") unsetenv CUDA_HOME',
            ),
        }[shell.suffix]
        for kind, text in zip(("activate", "deactivate"), setting, strict=True):
            write_hook(prefix, kind, f"nvcc_linux-64.{shell.suffix}", text)
            write_hook(prefix, kind, f"~cuda-nvcc_{kind}.{shell.suffix}", shell.set("LATE", kind))
        person.pin("10.1", prefix)
        enter = session.conda.activate(shell, prefix)
        steps = [enter, session.conda.reactivate(shell), session.conda.deactivate()]
        result = session.play(*steps).check()
        for number in ("2", "3"):
            assert result.snaps[number]["CUDA_HOME"] == str(person.kits[0].home)
        assert "CUDA_HOME" not in result.snaps["4"]
        assert result.snaps["4"]["PATH"] == result.snaps["1"]["PATH"]

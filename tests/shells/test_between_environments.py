"""From one pinned environment to another: no saved copy brings the first toolkit back."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from pairs import every_pair
from shells.conda import Conda, Emulator, conda_prefix, real_conda, write_hook
from shells.driver import BASH, DASH, FISH, POSIX_SHELLS, STRICT, TCSH, ZSH, Environment, Shell
from shells.kits import Person, foreign
from shells.pinned import Session, pinned_environments, unpinned
from shells.quick_conda import CONDAS as QUICK_AND_REAL
from shells.quick_conda import QuickConda
from shells.venvs import activate, with_venv, with_virtualenv
from tools import console_script

every_shell = pytest.mark.parametrize("shell", [*POSIX_SHELLS, FISH], ids=str)
every_conda = pytest.mark.parametrize("conda", [Emulator(), *filter(None, [real_conda()])], ids=str)


def at_last(session: Session, words: str, **variables: str | None) -> dict[str, str]:
    """Return the environment after all words, without the session's folder in its values."""
    snaps = session.play(*session.steps(words), **variables).snaps
    last = foreign(snaps[str(len(words.split()) + 1)])
    return {name: value.replace(f"{session.folder}/", "") for name, value in last.items()}


def kept_of(person: Person, seen: Environment) -> list[str]:
    """Name the variables in which conda still keeps something of the first toolkit."""
    home = str(person.kits[0].home)
    return [name for name in seen if name.startswith("__CONDA_SHLVL_") and home in seen[name]]


@every_pair(
    {
        "shell": (*POSIX_SHELLS, FISH),
        "conda": QUICK_AND_REAL,
        "name": ["c", "d"],
        "words": ["a {name} out out", "a {name} a out out out", "a c a {name} out out out out"],
        "kept, added": [
            ("MINE_OLD_PATH", "{own}{glue}{path}"),
            ("OLD_PATH", "{path}{glue}{own}"),
            ("OLDPATH", "{own}{glue}{path}"),
            ("PATH_BAK", "{own}{glue}{path}"),
            ("MINE_BAK_PATH", "{own}{glue}{path}"),
            ("PREV_PATH", "{path}{glue}{own}"),
        ],
    }
)
def test_a_path_that_a_script_keeps(
    shell: Shell,
    conda: Conda,
    name: str,
    words: str,
    kept: str,
    added: str,
    person: Person,
    made_once: Callable[..., Path],
) -> None:
    """PATH ends as without pins even if a script saves it before its environment's hook runs."""
    mine = Session(person, made_once({}), shell, conda)
    for another in mine.folder.rglob("own.*"):
        another.unlink()
    for at in (mine, unpinned(mine)):
        prefix = conda_prefix(at.folder / name)
        own = f"{prefix}/tools"
        if shell is FISH:
            path = added.format(own=own, glue=" ", path="$PATH")
            texts = f"set -gx {kept} $PATH\nset -gx PATH {path}\n", f"set -gx PATH ${kept}\n"
        else:
            path = added.format(own=own, glue=":", path="$PATH")
            texts = f'export {kept}="$PATH"\nexport PATH="{path}"\n', f'export PATH="${kept}"\n'
        for half, text in zip(("activate", "deactivate"), texts, strict=True):
            write_hook(prefix, half, f"own.{shell.suffix}", text)
    words = words.format(name=name)
    after, expected = (at_last(at, words)["PATH"] for at in (mine, unpinned(mine)))
    assert after == expected


@pytest.mark.parametrize("shell", (BASH, ZSH, FISH), ids=str)
@pytest.mark.parametrize(
    "kept",
    [
        *("CONDA_BACKUP_PATH", "CONDA_PATH_BACKUP", "PATH_CONDA_BACKUP", "_CONDA_OLD_PATH"),
        *("_PATH_BACKUP", "_PATH_OLD", "__OLD_PATH"),
    ],
)
def test_a_path_that_a_script_keeps_over_another_toolkit(
    shell: Shell, kept: str, person: Person, tmp_path: Path
) -> None:
    """A script's saved PATH, named like conda's own or with underscores, restores no toolkit."""
    prefix = conda_prefix(tmp_path / "a")
    person.pin("10.1", prefix)
    enter = f'export {kept}="$PATH"\nexport PATH="$CONDA_PREFIX/tools:$PATH"\n'
    leave = f'export PATH="${kept}"\nunset {kept}\n'
    if shell is FISH:
        enter = f"set -gx {kept} $PATH\nset -gx PATH $CONDA_PREFIX/tools $PATH\n"
        leave = f"set -gx PATH ${kept}\nset -e {kept}\n"
    for half, text in (("activate", enter), ("deactivate", leave)):
        write_hook(prefix, half, f"own.{shell.suffix}", text)
    mine = Session(person, tmp_path, shell, Emulator())
    enter, leave = mine.steps("a out")
    steps = ["cudaswitch use 11.8", enter, "cudaswitch off", leave]
    result = mine.play(*(f"{step}\n{shell.prompt}" for step in steps), load=True).check()
    ours = {kit.bin for kit in person.kits}
    assert ours.isdisjoint(result.snaps["5"]["PATH"].split(":"))


@every_pair(
    {
        "shell": (*POSIX_SHELLS, FISH),
        "conda": QUICK_AND_REAL,
        "load": [False, True],
        "strict": [False, True],
        "words, number": [("b", None), ("c", 1), ("again", 0), ("c b", None)],
    }
)
def test_a_path_that_was_begun_anew(
    shell: Shell,
    conda: Conda,
    load: bool,
    strict: bool,
    words: str,
    number: int | None,
    person: Person,
    made_once: Callable[..., Path],
) -> None:
    """A rebuilt PATH, as in tmux, that has the toolkit but not the environment ends up right."""
    mine = Session(person, made_once({}), shell, conda)
    control = unpinned(mine)
    bins, last = [kit.bin for kit in person.kits], str(len(words.split()) + 4)
    snaps = [
        at.play(
            STRICT.get(shell.name, "") if strict else "",
            *at.steps("a"),
            shell.set("PATH", before + conda.base_path),
            *at.steps(words),
            load=load and shell.name in person.init,
        ).snaps[last]["PATH"]
        for at, before in ((mine, f"{bins[0]}:"), (control, ""))
    ]
    expected = snaps[1].replace(str(control.folder), str(mine.folder))
    assert snaps[0] == (f"{bins[number]}:" if number is not None else "") + expected


@pytest.mark.parametrize(
    ("shell", "load"),
    [*((shell, False) for shell in POSIX_SHELLS), *((shell, True) for shell in (BASH, ZSH, FISH))],
    ids=str,
)
def test_a_path_that_was_begun_anew_and_nobody_says_when_conda_has_finished(
    shell: Shell, load: bool, person: Person, made_once: Callable[..., Path]
) -> None:
    """After `eval "$(conda shell.bash activate b)"` the next hook or prompt repairs a new PATH."""
    mine = Session(person, made_once({}), shell, QuickConda())
    old, new = (kit.bin for kit in person.kits[:2])
    base, hook = mine.conda.base_path, f"~~cudaswitch.{shell.suffix}"

    def evaluated(name: str, path: str, level: str) -> list[str]:
        return [
            shell.set("PATH", f"{mine.folder}/{name}/bin:{path}"),
            shell.set("CONDA_PREFIX", f"{mine.folder}/{name}"),
            shell.set("CONDA_SHLVL", level),
        ]

    leave = shell.source(mine.folder / "a" / "etc" / "conda" / "deactivate.d" / hook)
    enter = shell.source(mine.folder / "c" / "etc" / "conda" / "activate.d" / hook)
    snaps = mine.play(
        *mine.steps("a"),
        shell.set("PATH", f"{old}:{base}"),
        "\n".join([leave, *evaluated("b", f"{old}:{base}", "2")]),
        shell.prompt if load else "",
        "\n".join([*evaluated("c", base if load else f"{old}:{base}", "3"), enter]),
        load=load,
    ).snaps
    if load:
        assert snaps["5"]["PATH"] == f"{mine.folder}/b/bin:{base}"
    assert snaps["6"]["PATH"] == f"{new}:{mine.folder}/c/bin:{base}"


@pytest.mark.parametrize("shell", (BASH, ZSH, FISH), ids=str)
@pytest.mark.parametrize("conda", QUICK_AND_REAL, ids=str)
@pytest.mark.parametrize("words", ["off", "use 11.8"])
def test_a_script_that_chooses_where_path_was_begun_anew(
    shell: Shell, conda: Conda, words: str, person: Person, tmp_path: Path
) -> None:
    """`use` or `off` in a deactivate script, which runs after our hook, holds on a rebuilt PATH."""
    folder = pinned_environments(person, tmp_path)
    write_hook(folder / "a", "deactivate", f"own.{shell.suffix}", f"cudaswitch {words}\n")
    mine = Session(person, folder, shell, conda)
    begun = shell.set("PATH", f"{person.kits[0].bin}:{conda.base_path}")
    path = mine.play(*mine.steps("a"), begun, *mine.steps("b"), load=True).snaps["4"]["PATH"]
    chosen = f"{person.kits[1].bin}:" if words.startswith("use") else ""
    assert path == f"{chosen}{folder}/b/bin:{conda.base_path}"


@every_pair(
    {
        "shell": (*POSIX_SHELLS, FISH),
        "conda": [Emulator(), *filter(None, [real_conda()])],
        "before": [0, 2, 5],
        "load": [False, True],
    }
)
def test_what_conda_keeps_while_a_pinned_one_is_below_another(
    shell: Shell,
    conda: Conda,
    load: bool,
    before: int,
    person: Person,
    made_once: Callable[..., Path],
) -> None:
    """The toolkit is gone from conda's copies, which conda never deletes, once a stack is left."""
    variables = {"CUDA_HOME": "/theirs", "LD_LIBRARY_PATH": "/theirs/lib"}
    mine = Session(person, made_once({"d": variables}), shell, conda)
    steps = mine.steps("b c b c b "[: 2 * before] + "a +d out out" + " out" * before)
    loaded = load and shell.name in person.init
    after = mine.play(*steps, load=loaded).snaps[str(len(steps) + 1)]
    assert kept_of(person, after) == []


@every_shell
@every_conda
def test_what_conda_keeps_of_one_that_is_unpinned_below_another(
    shell: Shell, conda: Conda, person: Person, tmp_path: Path
) -> None:
    """The deactivate script that remains of an unpinned environment clears conda's copies."""
    mine = Session(person, pinned_environments(person, tmp_path), shell, conda)
    state = {"env_vars": {"CUDA_HOME": "/theirs"}}
    (conda_prefix(tmp_path / "d") / "conda-meta" / "state").write_text(json.dumps(state))
    unpin = " ".join(map(shell.quote, (str(console_script()), "unpin", "-p", f"{tmp_path}/a")))
    after = mine.play(*mine.steps("a +d"), unpin, *mine.steps("out out")).snaps["6"]
    assert kept_of(person, after) == []


@pytest.mark.parametrize("shell", POSIX_SHELLS, ids=str)
@every_conda
def test_what_conda_keeps_while_a_virtualenv_is_active(
    shell: Shell, conda: Conda, person: Person, made_once: Callable[..., Path], tmp_path: Path
) -> None:
    mine = Session(person, made_once({"d": {"CUDA_HOME": "/theirs"}}), shell, conda)
    with_virtualenv(tmp_path / "venv")
    person.pin("10.1", tmp_path / "venv")
    enter = shell.source(tmp_path / "venv" / "bin" / "activate")
    after = mine.play(*mine.steps("b"), enter, *mine.steps("d out"), "deactivate").snaps["6"]
    assert kept_of(person, after) == []


@every_pair(
    {
        "shell": (*POSIX_SHELLS, FISH),
        "conda": [Emulator(), *filter(None, [real_conda()])],
        "had": [None, "/u"],
        # conda's level numbers have two digits in the last one.
        "words": [
            *("c a out out", "c b a out out out", "c b c a out out out out"),
            f"{'c b ' * 6}a{' out' * 13}",
        ],
    }
)
def test_libraries_that_an_environment_has(
    shell: Shell,
    conda: Conda,
    had: str | None,
    words: str,
    person: Person,
    made_once: Callable[..., Path],
) -> None:
    """LD_LIBRARY_PATH ends as without pins, though conda saves it before the deactivate hook."""
    folder = made_once({"a": {"LD_LIBRARY_PATH": "/theirs"}})
    mine = Session(person, folder, shell, conda)
    last = (at_last(at, words, LD_LIBRARY_PATH=had) for at in (mine, unpinned(mine)))
    after, expected = (one.get("LD_LIBRARY_PATH", "") for one in last)
    assert after == expected


ADDS = {
    "sh": "export LD_LIBRARY_PATH={list}\n",
    "fish": "set -gx LD_LIBRARY_PATH {list}\n",
}
TAKES_OUT = {
    "sh": """
own_list=:$LD_LIBRARY_PATH: own_head=${own_list%%":$CONDA_PREFIX/own:"*}
if [ "$own_head" != "$own_list" ]; then
    own_list=$own_head:${own_list#"$own_head:$CONDA_PREFIX/own:"}
    own_list=${own_list#:} LD_LIBRARY_PATH=${own_list%:}
fi
unset own_list own_head
""",
    "fish": """
set -l at (contains --index $CONDA_PREFIX/own $LD_LIBRARY_PATH)
and set -e LD_LIBRARY_PATH[$at]
""",
}


@every_shell
@every_conda
@pytest.mark.parametrize(
    ("own_is", "had", "words"),
    [
        ("last", "{ours}", "a +d out out"),
        ("first", "/u:{ours}:/w", "b a +d out +b out out out"),
    ],
)
def test_the_person_s_own_toolkit_where_a_script_adds_to_the_list(
    shell: Shell,
    conda: Conda,
    own_is: str,
    had: str,
    words: str,
    person: Person,
    made_once: Callable[..., Path],
) -> None:
    """The user's copy of our folder stays when conda restores the list and runs scripts below."""
    mine = Session(person, made_once({"d": {"LD_LIBRARY_PATH": "/theirs"}}), shell, conda)
    pieces = ["$CONDA_PREFIX/own", "$LD_LIBRARY_PATH"]
    glue = " " if shell is FISH else ":"
    listed = glue.join(pieces if own_is == "first" else reversed(pieces))
    add = ADDS[shell.suffix].format(list=listed if shell is FISH else f'"{listed}"')
    loaded, last = shell is not DASH, []
    for at in (mine, unpinned(mine)):
        write_hook(at.folder / "a", "activate", f"own.{shell.suffix}", add)
        write_hook(at.folder / "a", "deactivate", f"own.{shell.suffix}", TAKES_OUT[shell.suffix])
        steps = [f"{step}\n{shell.prompt if loaded else ''}" for step in at.steps(words)]
        before = had.format(ours=person.kits[0].lib[0])
        snaps = at.play(*steps, load=loaded, LD_LIBRARY_PATH=before).snaps
        last.append(snaps[str(len(steps) + 1)]["LD_LIBRARY_PATH"].replace(f"{at.folder}/", ""))
    assert last[0] == last[1]


@pytest.mark.parametrize("shell", (BASH, ZSH, FISH), ids=str)
@every_conda
def test_a_copy_that_conda_left_behind_brings_nothing_back(
    shell: Shell, conda: Conda, person: Person, made_once: Callable[..., Path]
) -> None:
    """A copy from an environment that was left before the toolkit came restores nothing."""
    mine = Session(person, made_once({"d": {"LD_LIBRARY_PATH": "/theirs"}}), shell, conda)
    for script in mine.folder.rglob("own.*"):
        script.unlink()
    another = conda.activate(shell, mine.folder / "bare" / "a", stack=True)
    steps = [
        *mine.steps("b +d out"),
        shell.unset("LD_LIBRARY_PATH"),
        *(another, person.use(shell, "10.1"), *mine.steps("out"), person.off(shell)),
    ]
    had = str(person.kits[0].lib[0])
    # No `check()`: conda itself warns about a variable that it overwrites.
    snaps = mine.play(*steps, load=True, LD_LIBRARY_PATH=had).snaps
    assert snaps["8"]["LD_LIBRARY_PATH"] == ":".join(person.kits[0].lib)
    assert "LD_LIBRARY_PATH" not in snaps["9"]


@every_conda
@pytest.mark.parametrize("way", ["environment", "directory"])
@pytest.mark.parametrize("had", [None, ":/mine"], ids=["unset", "with an empty element"])
def test_where_unset_is_an_error(
    conda: Conda, had: str | None, way: str, person: Person, tmp_path: Path
) -> None:
    """Under `set -u`, a script like conda's documented example can still read the copy it made."""
    mine = Session(person, pinned_environments(person, tmp_path), BASH, conda)
    found = []
    for at in (mine, unpinned(mine)):
        own = conda_prefix(at.folder / "b") / "own"
        keep = 'export OLD_LD_LIBRARY_PATH="${LD_LIBRARY_PATH-}"'
        put = f'export LD_LIBRARY_PATH="{own}:${{LD_LIBRARY_PATH-}}"'
        back = 'export LD_LIBRARY_PATH="$OLD_LD_LIBRARY_PATH"; unset OLD_LD_LIBRARY_PATH'
        write_hook(at.folder / "b", "activate", "own.sh", f"{keep}\n{put}\n")
        write_hook(at.folder / "b", "deactivate", "own.sh", f"{back}\n")
        tree = at.folder / "tree"
        tree.mkdir()
        if at is mine:
            (tree / ".cuda-version").write_text("10.1\n")
        steps = at.steps("a +b out out")
        if way == "directory":
            steps = [f"cd {tree}", *at.steps("b out"), "cd /"]
        typed = (f"{step}\n{BASH.prompt}" for step in steps)
        result = at.play("set -u", *typed, load=True, LD_LIBRARY_PATH=had)
        found.append(result.check().snaps)
    assert found[0]["5"]["CUDA_HOME"] == str(person.kits[0].home)
    assert [snaps["6"]["LD_LIBRARY_PATH"] for snaps in found] == [had or ""] * 2


COLONS = {
    "sh": (
        'export LD_LIBRARY_PATH="$CONDA_PREFIX/own:$LD_LIBRARY_PATH"\n',
        'export LD_LIBRARY_PATH="$(echo "$LD_LIBRARY_PATH" | sed "s#$CONDA_PREFIX/own:##")"\n',
        'export LD_LIBRARY_PATH="$CONDA_PREFIX/own${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"\n',
    ),
    "fish": (
        'set -gx LD_LIBRARY_PATH "$CONDA_PREFIX/own:$LD_LIBRARY_PATH"\n',
        'set -gx LD_LIBRARY_PATH (string replace "$CONDA_PREFIX/own:" "" "$LD_LIBRARY_PATH")\n',
        'set -gx LD_LIBRARY_PATH $CONDA_PREFIX/own"$(test -n "$LD_LIBRARY_PATH"; '
        'and echo ":$LD_LIBRARY_PATH")"\n',
    ),
}


@pytest.mark.parametrize("shell", (BASH, ZSH, FISH), ids=str)
@every_conda
def test_a_colon_of_a_script_that_the_toolkit_keeps(
    shell: Shell, conda: Conda, person: Person, made_once: Callable[..., Path]
) -> None:
    """A colon that a script leaves after the toolkit does not become the working directory."""
    mine = Session(person, made_once({}), shell, conda)
    for script in mine.folder.rglob("own.*"):
        script.unlink()
    first, another = (conda_prefix(mine.folder / "bare" / name) for name in ("a", "b"))
    put, take, add = COLONS[shell.suffix]
    write_hook(first, "activate", f"own.{shell.suffix}", put)
    write_hook(first, "deactivate", f"own.{shell.suffix}", take)
    write_hook(another, "activate", f"own.{shell.suffix}", add)
    steps = [
        conda.activate(shell, first),
        person.use(shell, "10.1"),
        f"{conda.activate(shell, another)}\n{shell.prompt}",
        person.off(shell),
    ]
    snaps = mine.play(*steps, load=True).check().snaps
    toolkit = ":".join(person.kits[0].lib)
    assert snaps["4"]["LD_LIBRARY_PATH"] == f"{toolkit}:{another}/own"
    assert snaps["5"]["LD_LIBRARY_PATH"] == f"{another}/own"


@pytest.mark.parametrize("shell", (BASH, ZSH, FISH, TCSH), ids=str)
def test_cuda_of_a_virtualenv_that_is_left(person: Person, shell: Shell, tmp_path: Path) -> None:
    """It does not count for the conda environment below, which has no Python of its own."""
    mine = Session(person, tmp_path, shell, Emulator())
    with_venv(tmp_path / "v")
    (site,) = (tmp_path / "v").glob("lib/python*/site-packages")
    (site / "nvidia/cublas/lib").mkdir(parents=True)
    person.pin("11.8", tmp_path / "v")
    enter = mine.conda.activate(shell, conda_prefix(tmp_path / "tools"))
    steps = (enter, "cudaswitch use 10.1", activate(shell, tmp_path / "v"), "deactivate")
    snaps = mine.play(*steps, load=True).check().snaps
    ours = ":".join(person.kits[0].lib)
    assert [snaps[at].get("LD_LIBRARY_PATH") for at in "345"] == [ours, None, ours]

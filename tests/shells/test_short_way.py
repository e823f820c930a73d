"""`use` of one plain toolkit after another takes the short way, with the long one's result."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from shells.conda import CONDAS, Conda, conda_prefix, write_hook
from shells.conftest import make_person
from shells.driver import BASH, FISH, ZSH, Shell, ShellResult
from shells.kits import STATE, Kit, Person, foreign, read_env
from shells.pinned import Session
from shells.venvs import activate, bare, with_venv

three = pytest.mark.parametrize("shell", (BASH, ZSH, FISH), ids=str)
_UPPER = (
    *("OLD_PATH", "_OLD_PATH", "PATH_OLD", "PATH_BACKUP", "BACKUP_PATH"),
    *("ORIG_PATH", "_ORIG_PATH", "PATH_ORIG", "ORIGINAL_PATH", "PATH_ORIGINAL"),
    *("SAVED_PATH", "_SAVED_PATH", "PATH_SAVED", "SAVE_PATH", "PATH_SAVE"),
    *("OLDPATH", "PATH_BAK", "BAK_PATH", "PREV_PATH", "PATH_PREV"),
)
KEPT_AS = (*_UPPER, *(name.lower() for name in _UPPER))
"""Names under which scripts save PATH."""
OWN = {"LD_LIBRARY_PATH": "/own/lib:/x"}
RECORDS = [f"{STATE}{name}" for name in ("BIN", "GONE", "KEPT", "LD", "LIB", "OLD")]
BEFORE: dict[str, dict[str, str]] = {
    "nothing": {},
    "a list": OWN,
    "an empty list": {"LD_LIBRARY_PATH": ""},
    "a value": {"CUDA_HOME": "/own"},
    "all values": {
        "CUDA_HOME": "/own",
        "CUDA_PATH": "",
        "CUDAToolkit_ROOT": "/own root",
        "CUDACXX": "/x/nvcc",
    },
    "what a virtualenv keeps": {"VIRTUAL_ENV": "/v", "_OLD_VIRTUAL_PATH": "/usr/bin:/bin"},
    "a copy of the toolkit's": {"LD_LIBRARY_PATH": "KIT/lib64:/x"},
}


@pytest.fixture(scope="module")
def person(tmp_path_factory: pytest.TempPathFactory) -> Person:
    """A person whose third toolkit is 9.2, of the same plain layout as the first."""
    folder = tmp_path_factory.mktemp("short")
    person = make_person(folder / "person", ("bash", "zsh", "fish"))
    plain = Kit(folder / "cuda-9.2", "9.2.148", ("lib64",)).build()
    person.adopt(plain)
    return Person(person.home, (*person.kits[:2], plain), person.init)


def edits(shell: Shell, person: Person) -> dict[str, str]:
    """Return what may have been typed since a toolkit was applied, by a name for it."""
    first, _, second = person.kits
    found = {"nothing": ""}
    for name, ours, next_ in (
        ("PATH", first.bin, second.bin),
        ("LD_LIBRARY_PATH", first.lib[0], second.lib[0]),
    ):
        found |= {
            f"{name} first": shell.prepend(name, "/mine"),
            f"{name} last": shell.append(name, "/mine"),
            f"{name} ours first": shell.prepend(name, ours),
            f"{name} ours last": shell.append(name, ours),
            f"{name} next last": shell.append(name, next_),
        }
    found |= {
        "PATH anew": shell.set("PATH", person.home.env["PATH"]),
        "LD_LIBRARY_PATH anew": shell.set("LD_LIBRARY_PATH", "/mine"),
        "LD_LIBRARY_PATH empty": shell.set("LD_LIBRARY_PATH", ""),
        "LD_LIBRARY_PATH unset": shell.unset("LD_LIBRARY_PATH"),
        "CUDA_HOME": shell.set("CUDA_HOME", "/mine"),
        "CUDACXX unset": shell.unset("CUDACXX"),
        "never": "cudaswitch use 10.1 --libraries never",
        "never from the first": "cudaswitch off\ncudaswitch use 10.1 --libraries never",
        "GPUs": "cudaswitch use 10.1 --gpus 0",
        "another layout": "cudaswitch use 11.8",
        "another toolkit": "cudaswitch use 9.2",
        "itself": "cudaswitch use 10.1",
        "system": "cudaswitch use system",
    }
    return found


@three
@pytest.mark.parametrize("before", BEFORE)
def test_it_does_what_the_long_way_does(shell: Shell, person: Person, before: str) -> None:
    """The short way ends as the long one, which an option that says the default forces."""
    own = {
        name: value.replace("KIT", str(person.kits[0].home))
        for name, value in BEFORE[before].items()
    }
    names = ("PATH", "LD_LIBRARY_PATH", "CUDA_HOME", "CUDACXX")
    values = {**dict.fromkeys(names), "PATH": person.home.env["PATH"], **own}
    again = "\n".join(
        shell.unset(name) if value is None else shell.set(name, value)
        for name, value in values.items()
    )
    # Each edit is tried with a third of the earlier states, and each state with that many edits.
    first = [*BEFORE].index(before) % 3
    found = dict([*edits(shell, person).items()][first::3])
    results: list[ShellResult] = []
    for option in ("", " --libraries auto"):
        steps = []
        for edit in found.values():
            use = f"{edit}\ncudaswitch use 9.2{option}"
            steps += [f"{again}\ncudaswitch use 10.1", use, "cudaswitch off"]
        results.append(person.play(shell, *steps, **own).check())
    short, long = results
    assert len(short.snaps) == 3 * len(found) + 1
    for number, env in short.snaps.items():
        edit = [*found][(int(number) - 1) // 3]
        other = long.snaps[number]
        assert foreign(env) == foreign(other), edit
        for name in RECORDS:
            assert env.get(name) == other.get(name), edit


@three
@pytest.mark.parametrize("before", BEFORE)
def test_what_was_before_comes_back(shell: Shell, person: Person, before: str) -> None:
    kit = str(person.kits[0].home)
    own = {name: value.replace("KIT", kit) for name, value in BEFORE[before].items()}
    steps = ["cudaswitch use 10.1", "cudaswitch use 9.2", "cudaswitch off"] * 2
    snaps = person.play(shell, *steps, **own).check().snaps
    assert snaps["2"]["CUDA_PATH"] == str(person.kits[2].home)
    for number in "36":
        assert {name: snaps[number].get(name) for name in own} == own
        assert foreign(snaps[number]) == foreign(snaps["0"])


@three
def test_a_list_that_was_unset_before_two_toolkits(shell: Shell, person: Person) -> None:
    """LD_LIBRARY_PATH ends unset although a folder was added meanwhile and removed again."""
    first = person.kits[0]
    steps = [
        "cudaswitch use 10.1", shell.append("LD_LIBRARY_PATH", "/x"), "cudaswitch use 9.2",
        "cudaswitch use 10.1 --libraries auto",
        shell.set("LD_LIBRARY_PATH", ":".join(first.lib)), "cudaswitch off",
    ]  # fmt: skip
    snaps = person.play(shell, *steps).check().snaps
    assert snaps["4"]["LD_LIBRARY_PATH"] == ":".join([*first.lib, "/x"])
    assert "LD_LIBRARY_PATH" not in snaps["6"]


@three
def test_a_value_that_was_not_exported_is_not(shell: Shell, person: Person) -> None:
    own = "set -g CUDA_HOME /mine" if shell is FISH else "CUDA_HOME=/mine"
    kept = 'test "$CUDA_HOME" = /mine && echo kept'
    steps = [own, "cudaswitch use 10.1", "cudaswitch off", kept]
    result = person.play(shell, *steps).check()
    assert result.snaps["2"]["CUDA_HOME"] == str(person.kits[0].home)
    assert "CUDA_HOME" not in result.snaps["3"]
    assert result.stdout == "kept\n"


@three
def test_a_word_that_conda_has_left_behind(shell: Shell, person: Person, tmp_path: Path) -> None:
    """A word of ours in conda's leftover copy goes too: the next environment would restore it."""
    prefix, kit = conda_prefix(tmp_path / "env"), person.kits[2]
    assert " " not in str(kit.home), "what has to be quoted takes the long way"
    (prefix / "lib/python3.11/site-packages/tensorflow").mkdir(parents=True)
    (kit.home / "nvvm/libdevice").mkdir(parents=True)
    copy = "__CONDA_SHLVL_1_XLA_FLAGS"
    steps = ["cudaswitch use 9.2", shell.set(copy, kit.data_dir), "cudaswitch off"]
    result = person.play(shell, *steps, CONDA_PREFIX=str(prefix), CONDA_SHLVL="1").check()
    shutil.rmtree(kit.home / "nvvm")
    assert result.snaps["2"]["XLA_FLAGS"] == result.snaps["2"][copy] == kit.data_dir
    assert not {"XLA_FLAGS", copy} & result.snaps["3"].keys()


@three
@pytest.mark.parametrize("level", [1, 3, 9, 11])
def test_what_conda_has_left_behind_at_any_level(
    shell: Shell, level: int, person: Person, tmp_path: Path
) -> None:
    """Each switch without a deactivation adds a level, and conda may restore what it kept there."""
    home, copy = str(person.kits[0].home), f"__CONDA_SHLVL_{level}_CUDA_HOME"
    steps = ["cudaswitch use 10.1", shell.set(copy, home), "cudaswitch off"]
    prefix = conda_prefix(tmp_path / "env")
    result = person.play(shell, *steps, CONDA_PREFIX=str(prefix), CONDA_SHLVL=str(level)).check()
    assert result.snaps["2"]["CUDA_HOME"] == result.snaps["2"][copy] == home
    assert not {"CUDA_HOME", copy} & result.snaps["3"].keys()


@three
@pytest.mark.parametrize("name", KEPT_AS)
def test_a_path_that_a_script_keeps_is_no_short_way(
    shell: Shell, name: str, person: Person, tmp_path: Path
) -> None:
    """A PATH that a script saved and restores does not have the toolkit that was active then."""
    kept = "$PATH" if shell is FISH else '"$PATH"'
    keep = [shell.set("VIRTUAL_ENV", str(tmp_path)), shell.set(name, "KEPT")]
    keep = [line.replace(shell.quote("KEPT"), kept) for line in keep]
    back = f"set -gx PATH ${name}" if shell is FISH else f'PATH="${name}"'
    keep.append(shell.append("PATH", "/script"))
    steps = ["cudaswitch use 10.1", "\n".join(keep), "cudaswitch use 9.2", back, "cudaswitch off"]
    result = person.play(shell, *steps).check()
    assert result.snaps["2"][name].startswith(person.kits[0].bin)
    assert person.kits[0].bin not in result.snaps["5"]["PATH"].split(":")


@three
@pytest.mark.parametrize("conda", CONDAS, ids=str)
@pytest.mark.parametrize("pinned", [False, True], ids=["free", "pinned"])
@pytest.mark.parametrize("said", ["9.2", "11.8 9.2"])
def test_a_script_of_an_environment_that_is_left(
    shell: Shell, conda: Conda, pinned: bool, said: str, *, person: Person, tmp_path: Path
) -> None:
    """`use` in a deactivate script holds, though conda has computed PATH with the old toolkit."""
    for name in "ab":
        conda_prefix(tmp_path / name)
    if pinned:
        person.pin("11.8", tmp_path / "a")
    text = "\n".join(f"cudaswitch use {request}" for request in said.split())
    write_hook(tmp_path / "a", "deactivate", f"x.{shell.suffix}", text)
    session = Session(person, tmp_path, shell, conda)
    a, b = session.steps("a b")
    result = session.play(a, "cudaswitch use 10.1", b, "cudaswitch off", load=True).check()
    for number, expected in (("4", [0, 0, 1]), ("5", [0, 0, 0])):
        folders = result.snaps[number]["PATH"].split(":")
        assert [folders.count(kit.bin) for kit in person.kits] == expected


@three
def test_after_a_virtualenv(shell: Shell, person: Person, tmp_path: Path) -> None:
    """`use` works after a virtualenv's `deactivate` restored a PATH with a toolkit in front."""
    with_venv(tmp_path / "v")
    steps = [activate(shell, tmp_path / "v"), "cudaswitch use 10.1", "deactivate"]
    result = person.play(shell, *steps, "cudaswitch use 9.2", "cudaswitch off").check()
    assert result.snaps["4"]["PATH"].split(":")[0] == person.kits[2].bin
    assert bare(result.snaps["5"]) == bare(result.snaps["0"])


@three
def test_a_choice_in_the_place_of_a_directory_s(
    shell: Shell, person: Person, tmp_path: Path
) -> None:
    """A shell's first choice, or one after `off`, is exported to child shells."""
    (tmp_path / ".cuda-version").write_text("10.1\n")
    enter = f"cd {shell.quote(str(tmp_path))}\n{shell.prompt}"
    said = [f"cudaswitch {word}" for word in ("use 9.2", "off", "use 9.2")]
    result = person.play(shell, enter, *said).check()
    for number in "24":
        assert result.snaps[number]["_CUDASWITCH_U"] == str(person.kits[2].home)
        assert result.snaps[number]["_CUDASWITCH_PREVIOUS"] == ""
    assert result.snaps["3"]["CUDA_HOME"] == str(person.kits[0].home)


@three
def test_a_directory_below_an_environment_that_replaced_a_value(
    shell: Shell, person: Person, tmp_path: Path
) -> None:
    """What conda keeps is no short way, and the long one still gets what the directory asks for."""
    (tmp_path / ".cuda-version").write_text("10.1\n")
    prefix, other = conda_prefix(tmp_path / "env"), str(person.kits[1].home)
    enter = f"cd {shell.quote(str(tmp_path))}\n{shell.prompt}"
    conda = {"CONDA_PREFIX": str(prefix), "CONDA_SHLVL": "1", "__CONDA_SHLVL_0_CUDA_HOME": other}
    result = person.play(shell, shell.prompt, enter, **conda).check()
    assert result.snaps["2"]["CUDA_HOME"] == str(person.kits[0].home)


@three
def test_a_child_shell_has_not_seen_what_was_there(
    shell: Shell, person: Person, tmp_path: Path
) -> None:
    """A list that was emptied after `use` stays empty when a child shell undoes that."""
    script = tmp_path / f"child.{shell.suffix}"
    script.write_text(f"{person.load(shell)}\ncudaswitch off\nenv -0 >{tmp_path}/seen\n")
    child = " ".join(map(shell.quote, [shell.name, *shell.options, str(script)]))
    steps = ["cudaswitch use 10.1", shell.set("LD_LIBRARY_PATH", ""), child]
    person.play(shell, *steps, LD_LIBRARY_PATH=None).check()
    assert read_env(tmp_path / "seen")["LD_LIBRARY_PATH"] == ""


@pytest.mark.parametrize(
    ("added", "count"),
    [("", 0), ("\nset -a LD_LIBRARY_PATH /mine", 1)],
    ids=["as it was", "something is added"],
)
def test_a_list_without_elements_after_an_environment(
    person: Person, tmp_path: Path, added: str, count: int
) -> None:
    """After a hook, fish knows what was there before as it did: no list gets an empty element.

    What was added to one in the meantime stays.
    """
    person.pin("11.8", conda_prefix(tmp_path / "a"))
    session = Session(person, tmp_path, FISH, CONDAS[0])
    enter, leave = session.steps("a out")
    # An entry in front of ours takes the long way, and the end of each step is a prompt.
    steps = [
        "set -gx PATH /mine $PATH",
        f"{enter}\n{FISH.prompt}",
        f"{leave}{added}\n{FISH.prompt}",
    ]
    steps = ["set -gx CUDA_PATH /own\nset -gx LD_LIBRARY_PATH\ncudaswitch use 10.1", *steps]
    result = session.play(*steps, "cudaswitch off\ncount $LD_LIBRARY_PATH", load=True)
    assert (result.stdout, result.stderr) == (f"{count}\n", "")


def test_a_prompt_looks_only_if_a_version_file_was_edited(person: Person, tmp_path: Path) -> None:
    file = tmp_path / ".cuda-version"
    file.write_text("11.8\n")
    enter = f"cd {FISH.quote(str(tmp_path))}\n{FISH.prompt}"
    watch = "function __cudaswitch_look; echo looked; end"
    edit = f"echo 10.1 > {FISH.quote(str(file))}"
    result = person.play(FISH, enter, watch, FISH.prompt, edit, FISH.prompt)
    assert result.stdout == "looked\n"
    assert result.stderr == ""

"""Nushell: LD_LIBRARY_PATH as a list, if the user has Nushell convert it as it does PATH."""

from __future__ import annotations

from pathlib import Path

import pytest

from shells.driver import NU
from shells.kits import Person, foreign, switched
from shells.moving import cd
from shells.venvs import with_virtualenv

CONVERT = (
    "$env.ENV_CONVERSIONS.LD_LIBRARY_PATH = {from_string: {|s| $s | split row :},"
    " to_string: {|v| $v | str join : }}"
)
SHOW = "print ($env.LD_LIBRARY_PATH | describe)"


def test_a_list_stays_one(person: Person) -> None:
    convert = f"{CONVERT}\n$env.LD_LIBRARY_PATH = [/own '/x y']"
    steps = [convert, f"cudaswitch use 10.1\n{SHOW}", f"cudaswitch off\n{SHOW}"]
    result = person.play(NU, *steps).check()
    assert result.stdout == "list<string>\n" * 2
    assert foreign(result.snaps["2"]) == switched(result.snaps["1"], person.kits[0])
    assert result.snaps["3"]["LD_LIBRARY_PATH"] == "/own:/x y"


@pytest.mark.parametrize("left", ["a choice", "a tree", "what was inherited"])
def test_programs_start_after_a_toolkit_is_left(person: Person, tmp_path: Path, left: str) -> None:
    """A variable that was unset is an empty list then: the conversion would be given a null."""
    (tmp_path / ".cuda-version").write_text("10.1\n")
    steps, inherited = {
        "a choice": (["cudaswitch use 10.1", "cudaswitch off"], {}),
        "a tree": ([cd(NU, tmp_path), cd(NU, Path("/"))], {}),
        "what was inherited": (["cudaswitch off"], inherited_by(person)),
    }[left]
    result = person.play(NU, CONVERT, *steps, f"{SHOW}", **inherited).check()
    assert result.stdout.startswith("list<")
    assert person.kits[0].lib[0] in result.snaps[str(len(steps))]["LD_LIBRARY_PATH"]
    last = result.snaps[str(len(steps) + 1)]
    assert (last["LD_LIBRARY_PATH"], "CUDA_HOME" in last) == ("", False)


def inherited_by(person: Person) -> dict[str, str | None]:
    """Return the variables of a shell above with the first toolkit, whose user has none."""
    snap = person.play(NU, "cudaswitch use 10.1").check().snaps["1"]
    assert snap["_CUDASWITCH_LD"] == "unset"
    own = ("CUDA", "_CUDASWITCH", "LD_LIBRARY_PATH", "PATH")
    return {name: value for name, value in snap.items() if name.startswith(own)}


def test_programs_start_in_an_overlay_that_is_entered_again(person: Person, tmp_path: Path) -> None:
    with_virtualenv(prefix := tmp_path / "v")
    enter = f"overlay use {NU.quote(str(prefix / 'bin' / 'activate.nu'))}\n{NU.prompt}"
    leave = f"deactivate\n{NU.prompt}"
    change = f"$env.LD_LIBRARY_PATH = [/inside]\n{NU.prompt}"
    outside = f"{CONVERT}\ncudaswitch use 10.1\ncudaswitch off\n{NU.prompt}"
    result = person.play(NU, outside, enter, change, leave, enter, leave).check()
    libraries = [result.snaps[number]["LD_LIBRARY_PATH"] for number in "123456"]
    assert libraries == ["", "", "/inside", "", "", ""]


@pytest.mark.parametrize("own", ["", "/own"])
def test_what_is_put_before_a_toolkit_stays_alone(person: Person, own: str) -> None:
    """A string, of which a list then makes one element, is taken apart all the same."""
    before = f"{CONVERT}\n{NU.set('LD_LIBRARY_PATH', own)}" if own else CONVERT
    put = "$env.LD_LIBRARY_PATH = ($env.LD_LIBRARY_PATH | prepend /mine)"
    result = person.play(NU, before, "cudaswitch use 10.1", put, "cudaswitch off").check()
    libraries = [result.snaps[number]["LD_LIBRARY_PATH"] for number in "234"]
    kit = [*person.kits[0].lib, *filter(None, [own])]
    expected = [kit, ["/mine", *kit], ["/mine", *filter(None, [own])]]
    assert libraries == [":".join(one) for one in expected]

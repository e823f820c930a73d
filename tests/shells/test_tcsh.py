"""tcsh: what is a variable of the shell and what is exported, and what its texts leave to `sh`."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

from shells.driver import TCSH
from shells.kits import Person, foreign

SHOWN = "echo $#CUDA_HOME $CUDA_HOME:q $#LD_LIBRARY_PATH $LD_LIBRARY_PATH:q"
TEXTS = files("cudaswitch") / "shells"
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
    """In a startup file that says `set` and then uses the variable in `setenv PATH`."""
    own = "set CUDA_HOME = /own; set LD_LIBRARY_PATH = (/a '/b  c')"
    steps = [own, SHOWN, "cudaswitch use 11.8", SHOWN, "cudaswitch off", SHOWN]
    variables = {"CUDA_HOME": exported, "LD_LIBRARY_PATH": exported}
    result = person.play(TCSH, *steps, **variables).check()
    assert result.stdout == "1 /own 2 /a /b  c\n" * 3
    kit, inside = person.kits[1], result.snaps["3"]
    assert inside["CUDA_HOME"] == str(kit.home)
    assert inside["LD_LIBRARY_PATH"] == ":".join([*kit.lib, *filter(None, [exported])])
    assert foreign(result.snaps["6"]) == foreign(result.snaps["0"])


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

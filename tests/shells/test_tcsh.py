"""tcsh: what is a variable of the shell and what is exported."""

from __future__ import annotations

import pytest

from shells.driver import TCSH
from shells.kits import Person, foreign

SHOWN = "echo $#CUDA_HOME $CUDA_HOME:q $#LD_LIBRARY_PATH $LD_LIBRARY_PATH:q"


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

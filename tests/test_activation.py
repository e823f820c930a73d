"""The change as a value, for `exec` and xonsh: what the tests of the shells cannot show."""

from __future__ import annotations

import pytest

from cudaswitch.activation import Want, change, undone

HOME = "/toolkits/12.4.1"
OWN = {"PATH": "/usr/bin", "LD_LIBRARY_PATH": "/own/lib", "CUDA_HOME": "/mine"}
REPLACED = {
    "LD_LIBRARY_PATH": "/vars/lib",
    "CUDA_HOME": "/vars",
    "CUDACXX": "/vars/nvcc",
    "XLA_FLAGS": "--xla_dump_to=/vars",
}


def applied(environment: dict[str, str]) -> dict[str, str]:
    made = change(Want(HOME), lambda _: True, bundled=False, xla=True, environment=environment)
    return made.applied(environment, "U")


def entered(environment: dict[str, str], level: int) -> dict[str, str]:
    """Do what conda does on entering an environment that sets variables of its own."""
    kept = {
        f"__CONDA_SHLVL_{level}_{name}": environment[name]
        for name in REPLACED
        if name in environment
    }
    return environment | kept | REPLACED | {"CONDA_SHLVL": str(level + 1)}


def without_state(environment: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if not name.startswith("_CUDAS")}


@pytest.mark.parametrize("own", [OWN, {"PATH": "/usr/bin"}, OWN | {"XLA_FLAGS": "-a"}], ids=len)
def test_what_conda_keeps_aside_is_put_right(own: dict[str, str]) -> None:
    """Undoing also corrects the copies that conda saved before, since conda restores them later."""
    again = applied(applied(entered(applied(own), 1)))
    assert without_state(undone(again)) == entered(own, 1)


def test_a_copy_that_was_the_person_s_stays() -> None:
    theirs = {"LD_LIBRARY_PATH": f"{HOME}/lib64:/own", "CUDA_HOME": HOME}
    before = entered(OWN | theirs, 0)
    assert without_state(undone(applied(before))) == before


@pytest.mark.parametrize("level", [0, 1])
@pytest.mark.parametrize("added", ["", "/script/lib:"])
def test_what_conda_has_brought_back_is_the_person_s(level: int, added: str) -> None:
    """The copy may be that of a higher level, and a script may have added to the list since."""
    theirs = {"LD_LIBRARY_PATH": f"{HOME}/lib64", "CUDA_HOME": HOME}
    on = applied(entered(OWN | theirs, level))
    left = {"LD_LIBRARY_PATH": added + theirs["LD_LIBRARY_PATH"], "CUDA_HOME": HOME}
    after = undone(on | left | {"CONDA_SHLVL": "0"})
    assert {name: after.get(name) for name in left} == left


def test_what_conda_has_not_brought_back_is_ours() -> None:
    """A copy that conda leaves behind is no sign that it has been brought back."""
    before = entered(OWN | {"LD_LIBRARY_PATH": f"{HOME}/lib64"}, 0)
    after = undone(applied(before) | {"CONDA_SHLVL": "0"})
    assert after["LD_LIBRARY_PATH"] == before["LD_LIBRARY_PATH"]


@pytest.mark.parametrize("name", ["LD_LIBRARY_PATH", "CUDA_HOME", "XLA_FLAGS"])
def test_a_copy_that_is_the_person_s_is_no_sign_for_another_variable(name: str) -> None:
    theirs = {"LD_LIBRARY_PATH": f"{HOME}/lib64:/own", "CUDA_HOME": HOME}
    theirs |= {"XLA_FLAGS": f"-a --xla_gpu_cuda_data_dir={HOME}"}
    copy = {f"__CONDA_SHLVL_0_{name}": theirs[name], name: REPLACED[name]}
    before = OWN | copy | {"CONDA_SHLVL": "1"}
    on = applied(before)
    later = {f"__CONDA_SHLVL_1_{other}": on[other] for other in REPLACED}
    copies = {f"__CONDA_SHLVL_1_{other}": before.get(other) for other in REPLACED}
    right = before | {copy: value for copy, value in copies.items() if value}
    assert without_state(undone(on | later)) == right


def test_other_variables_of_conda_are_left_alone() -> None:
    """Variables whose names only end like those of conda's copies stay, and so do empty copies."""
    others = {"__CONDA_SHLVL_x_CUDA_HOME": HOME, "__CONDA_SHLVL_0_MY_CUDA_HOME": HOME}
    others |= {"__CONDA_SHLVL_0_LD_LIBRARY_PATH": ""}
    state = applied(OWN) | others
    assert undone(state).items() >= others.items()


def test_what_a_shell_had_to_itself_is_in_no_environment() -> None:
    on = applied(OWN) | {"_CUDASWITCH_UNEXPORTED": "LD_LIBRARY_PATH CUDA_HOME"}
    assert without_state(undone(on)) == {"PATH": "/usr/bin"}
    assert without_state(undone(on | {"CUDA_HOME": "/later"}))["CUDA_HOME"] == "/later"

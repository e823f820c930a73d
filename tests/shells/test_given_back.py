"""What a person had comes back as it was: unset, empty, universal, or saved by scripts."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from pairs import every_pair
from shells.conda import (
    CONDAS,
    Conda,
    Emulator,
    conda_prefix,
    skip_conda_s_own_tcsh,
    write_hook,
)
from shells.conftest import make_person
from shells.driver import BASH, DASH, FISH, NU, SHELLS, XONSH, ZSH, Shell, run_shell
from shells.kits import Person, foreign
from shells.package_scripts import KEEPS_WHAT_IS_SET
from shells.pinned import Session
from tools import console_script

every = pytest.mark.parametrize("shell", (*SHELLS, XONSH, NU), ids=str)
told_apart = pytest.mark.parametrize("shell", (BASH, ZSH, FISH), ids=str)

PREPENDS = {
    "sh": (
        'export LD_LIBRARY_PATH="$CONDA_PREFIX/mine${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"',
        'LD_LIBRARY_PATH=$(printf "%s\\n" ":$LD_LIBRARY_PATH:" | sed "s#:$CONDA_PREFIX/mine:#:#;'
        ' s#^:##; s#:\\$##")\nif [ -z "$LD_LIBRARY_PATH" ]; then unset LD_LIBRARY_PATH; fi',
    ),
    "fish": (
        "set -gx LD_LIBRARY_PATH $CONDA_PREFIX/mine $LD_LIBRARY_PATH",
        "set -l at (contains -i $CONDA_PREFIX/mine $LD_LIBRARY_PATH)\n"
        'and set -e LD_LIBRARY_PATH[$at]\ntest -n "$LD_LIBRARY_PATH"; or set -e LD_LIBRARY_PATH',
    ),
}
"""An environment's two scripts: one adds its folder, one removes it and unsets an empty list."""


def with_scripts(prefix: Path, scripts: dict[str, tuple[str, str]]) -> None:
    for suffix, (enter, leave) in scripts.items():
        write_hook(prefix, "activate", f"own.{suffix}", f"{enter}\n")
        write_hook(prefix, "deactivate", f"own.{suffix}", f"{leave}\n")


@every
def test_a_list_that_was_unset_is_so_after_another_toolkit(shell: Shell, person: Person) -> None:
    """LD_LIBRARY_PATH is unset again although a folder was put before ours and removed again."""
    mine = shell.prepend("LD_LIBRARY_PATH", "/mine")
    kit = person.kits[1]
    away = shell.set("LD_LIBRARY_PATH", ":".join(kit.lib))
    steps = [person.use(shell, "10.1"), mine, person.use(shell, "11.8"), away, person.off(shell)]
    result = person.play(shell, *steps, LD_LIBRARY_PATH=None).check()
    assert result.snaps["3"]["LD_LIBRARY_PATH"] == ":".join([*kit.lib, "/mine"])
    assert foreign(result.snaps["5"]) == foreign(result.snaps["0"])


@every
def test_a_list_that_somebody_has_emptied_stays_empty(shell: Shell, person: Person) -> None:
    emptied = shell.set("LD_LIBRARY_PATH", "")
    steps = [person.use(shell, "10.1"), emptied, person.use(shell, "11.8"), person.off(shell)]
    result = person.play(shell, *steps, LD_LIBRARY_PATH=None).check()
    assert result.snaps["4"]["LD_LIBRARY_PATH"] == ""


@pytest.mark.parametrize("conda", CONDAS, ids=str)
@told_apart
def test_a_list_that_was_unset_is_so_after_scripts_of_an_environment(
    shell: Shell, conda: Conda, person: Person, tmp_path: Path
) -> None:
    with_scripts(conda_prefix(tmp_path / "a"), PREPENDS)
    session = Session(person, tmp_path, shell, conda)
    steps = ["cudaswitch use 10.1", *session.steps("a out"), "cudaswitch off"]
    steps = [f"{step}\n{shell.prompt}" for step in steps]
    result = session.play(*steps, load=True, LD_LIBRARY_PATH=None)
    assert (result.rc, "LD_LIBRARY_PATH" in result.snaps["1"]) == (0, False)
    assert "LD_LIBRARY_PATH" not in result.snaps["5"]


@pytest.mark.parametrize("had", [(None, None), ("", ""), (None, "")], ids=str)
@pytest.mark.parametrize("conda", CONDAS, ids=str)
@told_apart
def test_what_a_script_keeps_where_it_is_set_is_as_it_was(
    shell: Shell, conda: Conda, had: tuple[str | None, ...], person: Person, tmp_path: Path
) -> None:
    with_scripts(conda_prefix(tmp_path / "a"), KEEPS_WHAT_IS_SET)
    session = Session(person, tmp_path, shell, conda)
    steps = ["cudaswitch use 10.1", *session.steps("a"), "cudaswitch use 11.8"]
    steps += [*session.steps("out"), "cudaswitch off"]
    steps = [f"{step}\n{shell.prompt}" for step in steps]
    result = session.play(*steps, load=True, CUDA_HOME=had[0], LD_LIBRARY_PATH=had[1])
    assert result.snaps["4"]["CUDA_HOME"] == str(person.kits[1].home)
    assert tuple(map(result.snaps["6"].get, ("CUDA_HOME", "LD_LIBRARY_PATH"))) == had


@pytest.fixture(scope="module")
def refusing(tmp_path_factory: pytest.TempPathFactory) -> Person:
    """A person whose gcc the second toolkit's nvcc refuses."""
    folder = tmp_path_factory.mktemp("refusing")
    return make_person(folder / "person", compilers=folder)


def gcc(person: Person) -> Path:
    """Return the folder of the compilers."""
    return person.kits[1].compiler.parent


@pytest.mark.parametrize("had", [None, ""], ids=["unset", "empty"])
@every
def test_what_conda_s_nvcc_keeps_of_flags(shell: Shell, had: str | None, refusing: Person) -> None:
    """Flags that cuda-nvcc saved while a toolkit was applied are changed back to the user's own."""
    word = f"-ccbin={refusing.kits[1].compiler}"
    keep = shell.set("NVCC_PREPEND_FLAGS_BACKUP", word)
    variables = {"NVCC_PREPEND_FLAGS": had}
    path = f"{gcc(refusing)}:{refusing.home.env['PATH']}"
    steps = [refusing.use(shell, "11.8"), keep, refusing.off(shell)]
    result = refusing.play(shell, *steps, PATH=path, **variables).check()
    assert result.snaps["1"]["NVCC_PREPEND_FLAGS"] == word
    names = ("NVCC_PREPEND_FLAGS", "NVCC_PREPEND_FLAGS_BACKUP")
    assert [result.snaps["3"].get(name) for name in names] == [had, had]


@every
def test_a_compiler_that_is_named_meanwhile_stays(shell: Shell, refusing: Person) -> None:
    named = shell.set("CUDAHOSTCXX", "/mine/g++")
    steps = [refusing.use(shell, "11.8"), named, refusing.off(shell)]
    path = f"{gcc(refusing)}:{refusing.home.env['PATH']}"
    result = refusing.play(shell, *steps, PATH=path).check()
    assert result.snaps["1"]["CUDAHOSTCXX"] == str(refusing.kits[1].compiler)
    assert result.snaps["3"]["CUDAHOSTCXX"] == "/mine/g++"


KEEPS = {
    "sh": (
        'export {name}="${var}" {var}="$CONDA_PREFIX/x"\n',
        'export {var}="${name}"\nunset {name}\n',
    ),
    "fish": (
        "set -g {name} ${var}\nset -gx {var} $CONDA_PREFIX/x\n",
        "set -gx {var} ${name}\nset -e {name}\n",
    ),
}


KEPT_AS = {
    "CUDACXX": ("OLD_CUDACXX", "CONDA_BACKUP_CUDACXX"),
    "CUDA_HOME": ("old_cuda_home", "_CONDA_SET_CUDA_HOME_OLD"),
    "CUDA_PATH": ("cuda_path_backup",),
    "CUDA_VISIBLE_DEVICES": ("CUDA_VISIBLE_DEVICES_OLD",),
    "CUDAToolkit_ROOT": ("_A_CUDAToolkit_ROOT", "cudatoolkit_root_old"),
    "LD_LIBRARY_PATH": (
        *("old_ld_library_path", "_LD_LIBRARY_PATH_OLD"),
        *("LD_LIBRARY_PATH0", "my_ld_library_path1"),
    ),
}


@every_pair(
    {
        "shell": (BASH, ZSH, FISH),
        "name, var": [(name, var) for var, names in KEPT_AS.items() for name in names],
        "when": ["use a off out", "use a other out off", "use a out off"],
    }
)
def test_names_that_scripts_keep_things_by(
    shell: Shell, name: str, var: str, when: str, person: Person, tmp_path: Path
) -> None:
    enter, leave = (text.format(name=name, var=var) for text in KEEPS[shell.suffix])
    with_scripts(conda_prefix(tmp_path / "a"), {shell.suffix: (enter, leave)})
    session = Session(person, tmp_path, shell, Emulator())
    said = {"use": "use 10.1 --gpus 0", "other": "use 11.8", "off": "off"}
    steps = [
        f"cudaswitch {said[word]}" if word in said else session.steps(word)[0]
        for word in when.split()
    ]
    steps = [f"{step}\n{shell.prompt}" for step in steps]
    own = ":/own" if var == "LD_LIBRARY_PATH" else "/own"
    result = session.play(*steps, load=True, **{var: own}).check()
    first, last = (foreign(result.snaps[at]) for at in ("1", str(len(steps) + 1)))
    names = (var, "PATH", "LD_LIBRARY_PATH", "CUDA_HOME", "CUDACXX", "CUDA_VISIBLE_DEVICES")
    assert {each: last.get(each) for each in names} == {each: first.get(each) for each in names}


def test_a_list_that_a_script_of_fish_keeps_as_one_string(person: Person, tmp_path: Path) -> None:
    enter = 'set -g LD_LIBRARY_PATH_OLD "$LD_LIBRARY_PATH"; set -gx LD_LIBRARY_PATH /x'
    leave = 'set -gx LD_LIBRARY_PATH "$LD_LIBRARY_PATH_OLD"; set -e LD_LIBRARY_PATH_OLD'
    with_scripts(conda_prefix(tmp_path / "a"), {"fish": (enter, leave)})
    session = Session(person, tmp_path, FISH, Emulator())
    steps = ["cudaswitch use 10.1", *session.steps("a"), "cudaswitch off", *session.steps("out")]
    result = session.play(*steps, load=True, LD_LIBRARY_PATH="/own:/two").check()
    assert result.snaps["5"]["LD_LIBRARY_PATH"] == "/own:/two"


@pytest.mark.parametrize("name", ["OLD_LD_LIBRARY_PATH", "LD_LIBRARY_PATH0"])
def test_a_shell_that_lists_no_names(name: str, person: Person, tmp_path: Path) -> None:
    """In dash, which cannot list variable names, a script's copy is found by what `set` prints."""
    values = {"name": name, "var": "LD_LIBRARY_PATH"}
    enter, leave = (text.format(**values) for text in KEEPS["sh"])
    with_scripts(conda_prefix(tmp_path / "a"), {"sh": (enter, leave)})
    session = Session(person, tmp_path, DASH, Emulator())
    enter, leave = session.steps("a out")
    own = {"PATH": person.home.env["PATH"], "LD_LIBRARY_PATH": "/own", "lines": "a\nPATH_OLD=b\n\\"}
    result = session.play(person.use(DASH, "10.1"), enter, person.off(DASH), leave, **own).check()
    assert result.snaps["2"]["LD_LIBRARY_PATH"] == ":".join([*person.kits[0].lib, "/own"])
    assert result.snaps["5"]["LD_LIBRARY_PATH"] == "/own"


@pytest.mark.parametrize("had", [None, "--xla_dump_to=/d"], ids=["unset", "own"])
@told_apart
def test_flags_that_a_script_keeps(
    shell: Shell, had: str | None, refusing: Person, tmp_path: Path
) -> None:
    """XLA_FLAGS that a script saves come back without our word; TF_XLA_FLAGS stays as it is."""
    kit = refusing.kits[1]
    (conda_prefix(tmp_path / "b") / "lib/python3.10/site-packages/tensorflow").mkdir(parents=True)
    names = {"name": "SLEAP_OLD_XLA_FLAGS", "var": "XLA_FLAGS"}
    enter, leave = (text.format(**names) for text in KEEPS[shell.suffix])
    with_scripts(conda_prefix(tmp_path / "a"), {shell.suffix: (enter, leave)})
    session = Session(refusing, tmp_path, shell, Emulator())
    steps = [*session.steps("b"), "cudaswitch use 11.8", *session.steps("a")]
    steps += ["cudaswitch off", *session.steps("out out")]
    steps = [f"{step}\n{shell.prompt}" for step in steps]
    ours = f"--xla_gpu_cuda_data_dir={kit.home}"
    result = session.play(*steps, load=True, XLA_FLAGS=had, TF_XLA_FLAGS=ours).check()
    assert result.snaps["3"]["XLA_FLAGS"] == (f"{had} {ours}" if had else ours)
    last = result.snaps[str(len(steps) + 1)]
    assert (last.get("XLA_FLAGS", ""), last["TF_XLA_FLAGS"]) == (had or "", ours)


@pytest.mark.parametrize(
    ("name", "var", "had"),
    [
        ("OLD_NVCC_PREPEND_FLAGS", "NVCC_PREPEND_FLAGS", None),
        ("NVCC_PREPEND_FLAGS_ORIG", "NVCC_PREPEND_FLAGS", "-O2"),
        ("nvcc_prepend_flags_backup", "NVCC_PREPEND_FLAGS", "-O2"),
        ("CUDAHOSTCXX_BACKUP", "CUDAHOSTCXX", None),
        ("saved_cudahostcxx_old", "CUDAHOSTCXX", None),
        ("xla_flags_orig", "XLA_FLAGS", "-v"),
    ],
)
@told_apart
def test_flags_and_a_compiler_that_a_script_keeps(
    shell: Shell, name: str, var: str, had: str | None, refusing: Person, tmp_path: Path
) -> None:
    (conda_prefix(tmp_path / "b") / "lib/python3.10/site-packages/tensorflow").mkdir(parents=True)
    enter, leave = (text.format(name=name, var=var) for text in KEEPS[shell.suffix])
    with_scripts(conda_prefix(tmp_path / "a"), {shell.suffix: (enter, leave)})
    session = Session(refusing, tmp_path, shell, Emulator())
    steps = [*session.steps("b"), "cudaswitch use 11.8", *session.steps("a"), "cudaswitch off"]
    steps = [f"{step}\n{shell.prompt}" for step in [*steps, *session.steps("out out")]]
    path = f"{gcc(refusing)}:{session.conda.base_path}"
    result = session.play(*steps, load=True, PATH=path, **{var: had}).check()
    assert result.snaps["3"][var] not in ("", had)
    assert result.snaps[str(len(steps) + 1)].get(var, "") == (had or "")


@pytest.mark.parametrize("between", ["", "set -gx PATH /mine $PATH"], ids=["short way", "long way"])
def test_a_list_without_elements_comes_back_without_elements(person: Person, between: str) -> None:
    """In fish a list without elements gets no empty one, which would mean the working directory."""
    show = "count $LD_LIBRARY_PATH"
    steps = ["set -gx LD_LIBRARY_PATH", show, f"cudaswitch use 10.1\n{between}"]
    result = person.play(FISH, *steps, f"cudaswitch off\n{show}")
    assert (result.rc, result.stdout.split()) == (1, ["0", "0"])
    assert result.snaps["4"]["LD_LIBRARY_PATH"] == ""


@pytest.mark.parametrize("between", ["", "set -gx PATH /mine $PATH"], ids=["short way", "long way"])
def test_one_empty_element_comes_back_over_several_toolkits(person: Person, between: str) -> None:
    show = "count $LD_LIBRARY_PATH; set --show LD_LIBRARY_PATH"
    uses = [f"cudaswitch use {version}\n{between}" for version in ("10.1", "11.8", "10.1 --gpus 0")]
    steps = ["set -gx LD_LIBRARY_PATH ''", show, *uses, f"cudaswitch off\n{show}"]
    result = person.play(FISH, *steps)
    lines = result.check().stdout.splitlines()
    half = len(lines) // 2
    assert lines[0] == "1"
    assert lines[:half] == lines[half:]


@pytest.mark.parametrize("between", ["", "set -gx PATH /mine $PATH"], ids=["short way", "long way"])
def test_no_list_stays_before_a_universal_one(person: Person, tmp_path: Path, between: str) -> None:
    """A universal list that changes while a toolkit is active shows as it is then."""
    config = {"XDG_CONFIG_HOME": str(tmp_path)}
    steps = ["set -Ux LD_LIBRARY_PATH /u", f"cudaswitch use 10.1\n{between}"]
    steps += ["cudaswitch use 11.8\nset -Ux LD_LIBRARY_PATH /v", "cudaswitch off"]
    steps += ["set -qg LD_LIBRARY_PATH; and echo hidden"]
    fish = replace(FISH, options=())
    result = person.play(fish, *steps, "echo $LD_LIBRARY_PATH", **config).check()
    assert result.snaps["2"]["LD_LIBRARY_PATH"].endswith(":/u")
    assert result.stdout == "/v\n"


@pytest.mark.parametrize("way", ["use", "environment", "exec", "short way"])
def test_a_universal_value_that_is_ours_too_survives_a_child(
    person: Person, tmp_path: Path, way: str
) -> None:
    """A universal value that equals ours survives a child fish, which then does not import ours."""
    fish = replace(FISH, options=())
    kit, config = person.kits[0], {"XDG_CONFIG_HOME": str(tmp_path / "config")}
    values = {"CUDA_HOME": str(kit.home), "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
    if way == "short way":
        del values["CUDA_DEVICE_ORDER"]
    made = "\n".join(f"set -Ux {name} {FISH.quote(value)}" for name, value in values.items())
    run_shell(fish, made, person.home.env | config).check()
    child = f"fish -c {BASH.quote(f'{person.load(fish)}; emit fish_prompt; cudaswitch off')}"
    session = Session(person, tmp_path, BASH, Emulator())
    gpus = "" if way == "short way" else " --gpus 0"
    before = {
        "use": f"cudaswitch use 10.1{gpus}",
        "short way": "cudaswitch use 10.1",
        "environment": session.steps("a")[0],
        "exec": "",
    }[way]
    if way == "environment":
        conda_prefix(tmp_path / "a")
        pin = [console_script(), "pin", "10.1", "--gpus", "0", "-p", tmp_path / "a"]
        subprocess.run(pin, env=person.home.env, check=True, capture_output=True)
    if way == "exec":
        child = f"cudaswitch exec 10.1 --gpus 0 -- {child}"
    path = person.home.env["PATH"]
    session.play(before, child, load=True, PATH=path, **config)
    shown = "\n".join(f"set -q -U {name}; and echo {name} ${name}" for name in values)
    result = run_shell(fish, shown, person.home.env | config)
    assert result.stdout.splitlines() == [" ".join(pair) for pair in values.items()]


@told_apart
@pytest.mark.parametrize("conda", CONDAS, ids=str)
def test_a_stack_and_an_environment_with_variables(
    shell: Shell, conda: Conda, person: Person, tmp_path: Path
) -> None:
    """The user's values survive conda restoring its copies after the hook below has run."""
    for name, request in (("a", "10.1"), ("b", "11.8")):
        person.pin(request, conda_prefix(tmp_path / name))
    own = {"CUDA_HOME": "/own", "LD_LIBRARY_PATH": "/own/lib"}
    state = '{"env_vars": {"CUDA_HOME": "/d", "LD_LIBRARY_PATH": "/d/lib"}}'
    (conda_prefix(tmp_path / "d") / "conda-meta" / "state").write_text(state)
    session = Session(person, tmp_path, shell, conda)
    steps = [f"{shell.hush(step)}\n{shell.prompt}" for step in session.steps("a +b d out out out")]
    result = session.play(*steps, load=True, **own)
    before, after = (foreign(result.snaps[number]) for number in "17")
    assert {name: after.get(name) for name in (*own, "PATH")} == {**own, "PATH": before["PATH"]}


@told_apart
@pytest.mark.parametrize("conda", CONDAS, ids=str)
def test_a_folder_of_ones_own_that_conda_keeps_below_many_environments(
    shell: Shell, conda: Conda, person: Person, tmp_path: Path
) -> None:
    for name in "abcd":
        conda_prefix(tmp_path / name)
    person.pin("10.1", tmp_path / "a")
    state = '{"env_vars": {"LD_LIBRARY_PATH": "/d/lib"}}'
    (tmp_path / "d" / "conda-meta" / "state").write_text(state)
    session = Session(person, tmp_path, shell, conda)
    steps = session.steps("b c a d out out out out")
    steps[2:2], steps[5:5] = ["cudaswitch use 10.1"], ["cudaswitch off"]
    own = {"LD_LIBRARY_PATH": f"{person.kits[0].lib[0]}:/u"}
    typed = [f"{shell.hush(step)}\n{shell.prompt}" for step in steps]
    result = session.play(*typed, load=True, **own)
    assert result.snaps[str(len(typed) + 1)]["LD_LIBRARY_PATH"] == own["LD_LIBRARY_PATH"]


@told_apart
@pytest.mark.parametrize("conda", CONDAS, ids=str)
@pytest.mark.parametrize("below", ["use", "pin", "appended"])
def test_a_folder_of_ones_own_below_a_pinned_environment_with_variables(
    shell: Shell, conda: Conda, below: str, person: Person, tmp_path: Path
) -> None:
    """A folder of the user's own stays on the list, even if the toolkit below has the same one."""
    one = person.kits[0].lib[0]
    for name, request in (("a", "10.1"), ("c", "11.8")):
        person.pin(request, conda_prefix(tmp_path / name))
    state = '{"env_vars": {"CUDA_HOME": "/c", "LD_LIBRARY_PATH": "/c/lib"}}'
    (tmp_path / "c" / "conda-meta" / "state").write_text(state)
    session = Session(person, tmp_path, shell, conda)
    steps = session.steps("a +c out out" if below == "pin" else "c out")
    own = {"LD_LIBRARY_PATH": f"/old:{one}"}
    if below != "pin":
        steps = ["cudaswitch use 10.1", *steps, "cudaswitch off"]
    if below == "appended":
        own = {"LD_LIBRARY_PATH": "/old"}
        steps[1:1] = [shell.append("LD_LIBRARY_PATH", one)]
    result = session.play(*map(shell.hush, steps), load=below != "pin", **own)
    assert result.snaps[str(len(steps) + 1)]["LD_LIBRARY_PATH"] == f"/old:{one}"


def test_fish_of_an_account_without_a_home(person: Person, tmp_path: Path) -> None:
    """A pin works in fish without HOME, as in a container whose user is a bare number."""
    prefix = conda_prefix(tmp_path / "a")
    (prefix / "lib/python3.11/site-packages").mkdir(parents=True)
    person.pin("10.1", prefix)
    session = Session(person, tmp_path, FISH, Emulator())
    steps = ["set -e HOME", *session.steps("a out")]
    result = session.play(*steps).check()
    assert result.snaps["3"]["CUDA_HOME"] == str(person.kits[0].home)
    assert "CUDA_HOME" not in result.snaps["4"]


@pytest.mark.parametrize("conda", CONDAS, ids=str)
@pytest.mark.parametrize("shell", (*SHELLS,), ids=str)
@pytest.mark.parametrize("name", ["CUDA_HOME", "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES"])
def test_a_value_of_before_is_no_sign_for_now(
    shell: Shell, name: str, person: Person, conda: Conda, tmp_path: Path
) -> None:
    """conda's leftover copy of an old value equal to the toolkit's does not replace a new value."""
    skip_conda_s_own_tcsh(shell, conda)
    kit = person.kits[0]
    same = {"CUDA_HOME": str(kit.home), "LD_LIBRARY_PATH": kit.lib[0], "CUDA_VISIBLE_DEVICES": "0"}
    person.pin("10.1", conda_prefix(tmp_path / "a"), "--gpus", "0")
    state = conda_prefix(tmp_path / "d") / "conda-meta" / "state"
    state.write_text(json.dumps({"env_vars": {name: "/vars"}}))
    session = Session(person, tmp_path, shell, conda)
    steps, later = session.steps("a d out out"), shell.set(name, "/other")
    seen = session.play(*steps, later, *steps, **{name: same[name]}).snaps
    assert (seen["5"][name], seen["10"][name]) == (same[name], "/other")

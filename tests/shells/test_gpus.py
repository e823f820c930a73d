"""`--gpus`: which GPUs CUDA sees, set with the toolkit and given back with it."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from checks import refused, succeeded
from cudaswitch.errors import CudaswitchError
from cudaswitch.versions import parse_request, parse_version_file
from homes import Home
from made_environments import Env
from pairs import every_pair
from shells.conda import CONDAS, Conda, conda_prefix, skip_conda_s_own_tcsh
from shells.driver import BASH, DASH, FISH, NU, SHELLS, TCSH, ZSH, Shell
from shells.kits import Person, foreign, read_env, switched
from shells.pinned import Session

every = pytest.mark.parametrize("shell", SHELLS, ids=str)
integrated = pytest.mark.parametrize("shell", (BASH, ZSH, FISH, NU), ids=str)

SEEN, ORDER = "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"
VALUES = {
    "0": "0",
    "0,2": "0,2",
    "15,3,0": "15,3,0",
    "none": "-1",
    "-1": "-1",
    "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6": "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6",
    "GPU-8932f937": "GPU-8932f937",
    "MIG-GPU-8932f937-d72c-4106-c12f-20bd9faed9f6/1/2": (
        "MIG-GPU-8932f937-d72c-4106-c12f-20bd9faed9f6/1/2"
    ),
    "MIG-b2aa93d5,1": "MIG-b2aa93d5,1",
}
HOSTILE = [
    *("", ",", "0,", ",0", "0,,2", "0, 2", "0 2", "0;2", "0:lib=never", "all", "-2", "00000"),
    *("0\n", "$(touch x)", "`touch x`", "0'", '0"', "GPU-", "gpu-8932", "GPU-a:env=/x", "٣", "0x1"),
    *("0,0", "1,2,1", "GPU-a/../..", "none,0", "0\\"),
]


def given(shell: Shell, person: Person, gpus: str, request: str = "10.1") -> str:
    """Return the shell's command that switches with GPUs."""
    if shell is DASH:
        return f'eval "$(cudaswitch env {request} --gpus {gpus} --shell sh)"'
    return f"cudaswitch use {request} --gpus {gpus}"


@every
def test_it_is_set_with_the_toolkit(shell: Shell, person: Person) -> None:
    steps = [step for text in VALUES for step in (given(shell, person, text), person.off(shell))]
    result = person.play(shell, *steps).check()
    before = result.snaps["0"]
    for at, (text, value) in enumerate(VALUES.items()):
        inside, after = (foreign(result.snaps[str(2 * at + n)]) for n in (1, 2))
        set_too = {SEEN: value, ORDER: "PCI_BUS_ID"}
        assert inside == switched(before, person.kits[0]) | set_too, text
        assert after == foreign(before), text


@every
@pytest.mark.parametrize("before", [{}, {SEEN: ""}, {SEEN: "7", ORDER: "FASTEST_FIRST"}], ids=str)
def test_it_gives_back_what_was_there(shell: Shell, person: Person, before: dict[str, str]) -> None:
    steps = given(shell, person, "0,2"), given(shell, person, "1", "11.8"), person.off(shell)
    result = person.play(shell, *steps, **before).check()
    assert [result.snaps[at][SEEN] for at in "12"] == ["0,2", "1"]
    assert foreign(result.snaps["3"]) == foreign(result.snaps["0"])


@every
def test_what_the_person_sets_meanwhile_stays(shell: Shell, person: Person) -> None:
    steps = given(shell, person, "0,2"), shell.set(SEEN, "3"), person.off(shell)
    after = person.play(shell, *steps, **{ORDER: "FASTEST_FIRST"}).check().snaps["3"]
    assert (after[SEEN], after[ORDER]) == ("3", "FASTEST_FIRST")
    steps = given(shell, person, "0,2"), shell.unset(SEEN), person.off(shell)
    assert SEEN not in person.play(shell, *steps, **{SEEN: "7"}).check().snaps["3"]


@every
def test_a_toolkit_without_gpus_leaves_them_alone(shell: Shell, person: Person) -> None:
    steps = given(shell, person, "0,2"), person.use(shell, "11.8")
    result = person.play(shell, *steps, **{SEEN: "7"}).check()
    assert [result.snaps[at][SEEN] for at in "12"] == ["0,2", "7"]


@integrated
def test_the_one_before_comes_back_with_its_gpus(shell: Shell, person: Person) -> None:
    steps = given(shell, person, "0,2"), person.use(shell, "11.8"), "cudaswitch use -"
    result = person.play(shell, *steps).check()
    assert [result.snaps[at].get(SEEN) for at in "123"] == ["0,2", None, "0,2"]


@every
@pytest.mark.parametrize("child", (BASH, ZSH, FISH), ids=str)
def test_a_child_shell_gives_back(
    shell: Shell, child: Shell, person: Person, tmp_path: Path
) -> None:
    script = tmp_path / f"script.{child.suffix}"
    script.write_text(f"{person.load(child)}\ncudaswitch off\nenv -0 >{tmp_path}/env\n")
    call = " ".join(map(shell.quote, [child.name, *child.options, str(script)]))
    before = {SEEN: "7"}
    result = person.play(shell, given(shell, person, "0,2"), call, **before).check()
    seen = read_env(tmp_path / "env")
    assert (seen[SEEN], ORDER in seen) == ("7", False)
    assert result.snaps["2"][SEEN] == "0,2"


@integrated
@pytest.mark.parametrize("text", ["0,2", "none", "GPU-8932f937"])
def test_a_directory_asks_for_gpus(shell: Shell, person: Person, tmp_path: Path, text: str) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    person.home.run("pin", "10.1", "--gpus", text, "--dir", str(tree))
    assert (tree / ".cuda-version").read_text() == f"cuda 10.1\ngpus {VALUES.get(text, text)}\n"
    look = "__cudaswitch_look"
    steps = (f"cd {tree}", look, "cd /", look)
    result = person.play(shell, *steps).check()
    assert (result.snaps["2"][SEEN], result.snaps["2"][ORDER]) == (VALUES[text], "PCI_BUS_ID")
    left, before = foreign(result.snaps["4"]), foreign(result.snaps["0"])
    for env in (left, before):
        for shells_own in ("PWD", "OLDPWD"):
            env.pop(shells_own, None)
    assert left == before


@every
def test_an_environment_that_is_pinned_brings_its_gpus(
    shell: Shell, person: Person, tmp_path: Path
) -> None:
    env = Env(tmp_path / "env")
    (env.prefix / "conda-meta").mkdir()
    person.pin("10.1", env.prefix, "--gpus", "0,2")
    hooks = [
        shell.source(env.prefix / "etc" / "conda" / half / f"~~cudaswitch.{shell.suffix}")
        for half in ("activate.d", "deactivate.d")
    ]
    result = person.play(shell, *hooks, CONDA_PREFIX=str(env.prefix), **{SEEN: "7"}).check()
    assert [result.snaps[at][SEEN] for at in "12"] == ["0,2", "7"]
    assert ORDER not in result.snaps["2"]


class TestExec:
    def seen(self, home: Home, *arguments: str, **variables: str | None) -> list[str]:
        show = f"echo ${{{SEEN}-unset}} ${{{ORDER}-unset}} ${{CUDA_HOME:+kit}}"
        return succeeded(home.run("exec", *arguments, "--", "sh", "-c", show, **variables))

    def test_with_a_request(self, person: Person) -> None:
        assert self.seen(person.home, "10.1", "--gpus", "0,2") == ["0,2 PCI_BUS_ID kit"]

    def test_with_what_is_asked_for_here(self, person: Person) -> None:
        assert self.seen(person.home) == ["unset unset"]
        version_file = person.home.path / ".cuda-version"
        version_file.write_text("cuda = 10.1\ngpus = 3\n")
        try:
            assert self.seen(person.home) == ["3 PCI_BUS_ID kit"]
            assert self.seen(person.home, "--gpus", "none") == ["-1 PCI_BUS_ID kit"]
        finally:
            version_file.unlink()

    def test_without_any_toolkit(self, person: Person) -> None:
        assert self.seen(person.home, "--gpus", "1") == ["1 PCI_BUS_ID"]


@pytest.mark.parametrize("text", HOSTILE, ids=repr)
def test_what_names_no_gpus_is_refused(text: str) -> None:
    with pytest.raises(CudaswitchError, match="GPU"):
        parse_request("10.1", gpus=text)


def test_every_command_refuses_it_in_one_line(person: Person, tmp_path: Path) -> None:
    bad = "--gpus=0:lib=never"
    for command in ("use", "env", "want"):
        refused(person.home.run(command, "10.1", bad), "GPU", "0:lib=never")
    refused(person.home.run("exec", bad, "--", "true"), "GPU")
    refused(person.home.run("pin", "10.1", bad, "--dir", tmp_path), "GPU")
    assert not (tmp_path / ".cuda-version").exists()
    file = tmp_path / "asked"
    file.write_text("10.1\ngpus 0,0\n")
    refused(person.home.run("want", "--file", file), "GPU 0 twice", f"{file}:2")


def test_gpus_without_a_toolkit_are_refused(person: Person) -> None:
    for command in ("use", "env", "pin"):
        done = person.home.run(command, "system", "--cudnn", "7.6")
        refused(done, "cuDNN comes with a toolkit, and `system` means no toolkit", hint="leave")
        done = person.home.run(command, "system", "--gpus", "0")
        refused(
            done, "a toolkit, and `system` means no toolkit", hint="export CUDA_VISIBLE_DEVICES=0"
        )


@pytest.mark.parametrize("shell", (BASH, ZSH, FISH), ids=str)
def test_the_shell_reads_files_as_python_does(shell: Shell, person: Person, tmp_path: Path) -> None:
    """If the shell answers a file without Python, the answer is the same as Python's."""
    dice = random.Random(11)
    words = [
        "0",
        "2",
        "10",
        ",",
        ",",
        "-1",
        "none",
        "GPU-a",
        "00000",
        " ",
        ":",
        "/",
        "\t",
        "é",
        "=",
    ]
    texts = [f"10.1\ngpus {''.join(dice.choices(words, k=dice.randint(1, 5)))}" for _ in range(300)]
    texts += ["gpus 0,2\ncuda 10.1", "10.1\ngpus=0\ngpus=1", "10.1\nlibraries never\ngpus 1,0"]
    texts += [f"10.1\ngpus {gpus}" for gpus in ("1,01", "01,1", "0,00", "1,1", "10,1", "0,-1")]
    texts += ["libraries never\ngpus 1,0", "gpus 0\n10.1\ncudnn none\nlibraries always\n"]
    lines = []
    for number, text in enumerate(texts):
        (tmp_path / str(number)).write_bytes(text.encode())
        file = shell.quote(str(tmp_path / str(number)))
        if shell is FISH:
            lines.append(f"if __cudaswitch_read {file}; echo $__csw; else; echo refused; end")
        else:
            lines.append(f"if __cudaswitch_read {file}; then echo $__csw; else echo refused; fi")
    quiet = "unsetopt warn_create_global" if shell is ZSH else "true"
    answers = person.play(shell, quiet, "__cudaswitch_load", *lines).stdout.splitlines()
    assert len(answers) == len(texts)
    ready = 0
    for text, answer in zip(texts, answers, strict=True):
        if answer == "refused":
            continue
        ready += 1
        try:
            request = parse_version_file(text, "file")
        except CudaswitchError as error:
            pytest.fail(f"{text!r} is {answer} to the shell, to Python: {error}")
        options = [f"lib={request.libraries}"] if request.libraries else []
        options += [f"gpus={request.gpus}"] if request.gpus else []
        assert answer.split(":")[1:] == options, text
    assert ready > 30


EVENINGS = {
    "off within": "use a off out",
    "off after": "use a out off",
    "none, off within": "none a off out",
    "none, off after": "none a out off",
    "another toolkit within": "use a other out off",
    "another, and again": "use a other use out off",
    "entered before": "a use out off",
    "a pin before": "c a out out",
    "a pin below": "c +a b out out out",
    "below a stack": "use a +b a off out out out",
}


@pytest.fixture(scope="module")
def three(person: Person, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Environments: `a` has variables, `b` nothing, `c` a pin."""
    folder = tmp_path_factory.mktemp("three")
    for name in "abc":
        conda_prefix(folder / name)
    state = json.dumps({"env_vars": {SEEN: "6", ORDER: "FASTEST_FIRST"}})
    (folder / "a" / "conda-meta" / "state").write_text(state)
    person.pin("10.1", folder / "c", "--gpus", "0")
    return folder


@every_pair(
    {
        "words": EVENINGS.values(),
        "conda": CONDAS,
        "shell": (BASH, ZSH, FISH, TCSH),
        "own": [None, "0", "7"],
    },
    # tcsh cannot tell a value that equals ours from ours.
    possible=lambda values: not (TCSH in values and "0" in values),
)
def test_what_conda_keeps_while_they_are_chosen(
    shell: Shell, words: str, own: str | None, conda: Conda, person: Person, three: Path
) -> None:
    """The user's GPUs return, though conda saves and restores ours around an environment's."""
    skip_conda_s_own_tcsh(shell, conda)
    session = Session(person, three, shell, conda)
    said = {"use": "use 10.1 --gpus 0", "none": "use 10.1 --gpus none", "other": "use 11.8"}
    steps = [
        f"cudaswitch {said.get(word, word)}" if word in (*said, "off") else session.steps(word)[0]
        for word in words.split()
    ]
    # conda warns about variables that it overwrites.
    steps = [f"{shell.hush(step)}\n{shell.prompt}" for step in steps]
    result = session.play(*steps, load=True, **{SEEN: own})
    first, last = (result.snaps[number] for number in ("1", str(len(steps) + 1)))
    # conda takes an empty variable for unset.
    assert [last.get(name) or None for name in (SEEN, ORDER)] == [own, None]
    assert first.get("PATH") == last.get("PATH")


@pytest.mark.parametrize("shell", (BASH, ZSH, FISH), ids=str)
def test_a_shell_that_is_started_with_other_gpus_keeps_them(
    shell: Shell, person: Person, tmp_path: Path
) -> None:
    """GPUs set by `srun`, which exports the rest, stay until somebody chooses in the new shell."""
    person.pin("10.1", conda_prefix(tmp_path / "a"))
    outer = person.play(shell, given(shell, person, "0")).check().snaps["1"]
    enter = [shell.set("CONDA_PREFIX", str(tmp_path / "a")), shell.prompt]
    steps = [shell.prompt, "\n".join(enter), given(shell, person, "0"), "cudaswitch off"]
    snaps = person.play(shell, *steps, **outer | {SEEN: "2"}).check().snaps
    assert [snaps[str(n)].get(SEEN) for n in range(4)] == ["2", "2", "2", "0"]
    left = person.play(shell, shell.prompt, "cudaswitch off", **outer | {SEEN: "2"}).check().snaps
    assert [left["2"].get(name) for name in (SEEN, ORDER, "CUDA_HOME")] == ["2", None, None]


@pytest.mark.parametrize("shell", (BASH, ZSH, FISH), ids=str)
def test_they_are_kept_for_what_asked_then_only(
    shell: Shell, person: Person, tmp_path: Path
) -> None:
    """Inherited GPUs override only the request of that time; another version file's apply."""
    (tmp_path / ".cuda-version").write_text("10.1\ngpus 1\n")
    here = person.home.path / ".cuda-version"
    here.write_text("10.1\ngpus 0\n")
    try:
        outer = person.play(shell, shell.prompt).check().snaps["1"]
        steps = [shell.prompt, f"cd {tmp_path}\n{shell.prompt}"]
        snaps = person.play(shell, *steps, **outer | {SEEN: "2"}).check().snaps
    finally:
        here.unlink()
    assert [outer[SEEN], *(snaps[at].get(SEEN) for at in "12")] == ["0", "2", "1"]

"""`.cuda-version` files: the hook of `cudaswitch init` follows them on `cd`."""

from __future__ import annotations

import os
import random
import shlex
import shutil
import subprocess
from itertools import pairwise
from pathlib import Path

import pytest

from checks import succeeded
from cudaswitch.errors import CudaswitchError
from cudaswitch.versions import Version, parse_version_file
from shells.conda import Conda, Emulator, conda_prefix
from shells.conftest import make_person
from shells.driver import BASH, FISH, NU, TCSH, XONSH, ZSH, Shell
from shells.kits import Person, foreign, switched
from shells.moving import ask_instead, cd, homes
from shells.quick_conda import QuickConda
from tools import executable, root_only

SHELLS = (BASH, ZSH, FISH, TCSH, XONSH, NU)
every = pytest.mark.parametrize("shell", SHELLS, ids=str)
# In xonsh the integration's own names cannot be reached: test_xonsh.py has its version.
open_ones = pytest.mark.parametrize("shell", (BASH, ZSH, FISH, TCSH, NU), ids=str)

HINTED = "hint: "


@pytest.fixture
def trees(tmp_path: Path) -> Path:
    """Make `outer` (10.1) with `outer/deep/inner` (11.8) in it, and `none`."""
    folder = tmp_path / "trees (x) é"
    for name in ("outer/deep/inner/most", "none"):
        (folder / name).mkdir(parents=True)
    (folder / "outer" / ".cuda-version").write_text("10.1\n")
    (folder / "outer" / "deep" / "inner" / ".cuda-version").write_text("11.8\n")
    return folder


@every
class TestFollowing:
    def test_the_nearest_wins_and_leaving_gives_back(
        self, shell: Shell, person: Person, trees: Path
    ) -> None:
        names = ["outer", "outer/deep", "outer/deep/inner/most", "outer", "none", "outer", "."]
        result = person.play(shell, *(cd(shell, trees / name) for name in names)).check()
        assert homes(person, result) == "-1121-1-"
        place = {"PWD": "", "OLDPWD": ""}
        start, inside, after = (result.snaps[number] | place for number in ("0", "2", "7"))
        assert foreign(inside) == switched(start, person.kits[0])
        assert foreign(after) == foreign(start)

    def test_a_shell_that_starts_inside(self, shell: Shell, person: Person, trees: Path) -> None:
        load = f"cd {shell.quote(str(trees / 'outer'))}\n{person.load(shell)}"
        result = person.play(shell, load, cd(shell, trees)).check()
        assert homes(person, result) == "-1-"

    def test_nothing_is_touched_within_a_tree(
        self, shell: Shell, person: Person, trees: Path
    ) -> None:
        """A folder and a value that the person put in front stay there on every `cd`."""
        edits = [shell.prepend("PATH", "/mine"), shell.prepend("LD_LIBRARY_PATH", "/mine/lib")]
        edits += [shell.set("CUDA_HOME", "/mine")]
        names = ["outer/deep", "outer", "none"]
        steps = [cd(shell, trees / "outer"), "\n".join(edits)]
        result = person.play(shell, *steps, *(cd(shell, trees / name) for name in names)).check()
        for number in ("3", "4"):
            for name in ("PATH", "LD_LIBRARY_PATH", "CUDA_HOME"):
                assert result.snaps[number][name] == result.snaps["2"][name]
        assert result.snaps["5"]["PATH"] == f"/mine:{result.snaps['0']['PATH']}"
        assert result.snaps["5"]["CUDA_HOME"] == "/mine"

    def test_use_is_stronger_and_off_sees_the_directory(
        self, shell: Shell, person: Person, trees: Path
    ) -> None:
        steps = ["cudaswitch use 12.4", cd(shell, trees / "outer"), "cudaswitch off"]
        steps += ["cudaswitch use system", cd(shell, trees / "none"), "cudaswitch off"]
        assert homes(person, person.play(shell, *steps).check()) == "-331---"

    def test_the_environment_s_pin_is_stronger(
        self, shell: Shell, person: Person, trees: Path, tmp_path: Path
    ) -> None:
        if shell is NU:
            pytest.skip("no conda has a command for Nushell")
        conda = QuickConda()
        for name, request in (("pinned", "11.8"), ("system", "system"), ("free", None)):
            conda_prefix(tmp_path / name)
            if request:
                person.pin(request, tmp_path / name)
        steps = [conda.init(shell), cd(shell, trees / "outer")]
        for name in ("pinned", "free", "system"):
            steps.append(f"{conda.activate(shell, tmp_path / name)}\n{shell.prompt}")
        steps += [f"{conda.deactivate()}\n{shell.prompt}"] * 3
        assert homes(person, person.play(shell, *steps).check()) == "--121-121"

    @pytest.mark.parametrize("conda", [Emulator(), QuickConda()], ids=str)
    def test_a_pin_that_is_left_before_the_next_prompt(
        self, shell: Shell, person: Person, trees: Path, tmp_path: Path, conda: Conda
    ) -> None:
        """After a pin was entered and left, a prompt in the same folder applies what counts."""
        if shell is NU:
            pytest.skip("no conda has a command for Nushell")
        if shell is XONSH and isinstance(conda, Emulator):
            pytest.skip("the emulator speaks no xonsh")
        pinned, free = (conda_prefix(tmp_path / name) for name in ("pinned", "free"))
        person.pin("11.8", pinned)
        steps = [conda.init(shell), cd(shell, trees / "outer/deep")]
        there = f"{conda.activate(shell, pinned, stack=True)}\n{conda.deactivate()}"
        steps += [f"{conda.activate(shell, free)}\n{shell.prompt}", f"{there}\n{shell.prompt}"]
        # The same if that pin is also below on the stack, and applies again.
        for prefix in (pinned, free):
            steps.append(f"{conda.activate(shell, prefix, stack=True)}\n{shell.prompt}")
        steps.append(f"{there}\n{shell.prompt}")
        assert homes(person, person.play(shell, *steps).check()) == "--111222"

    def test_the_topmost_pin_of_a_stack(self, shell: Shell, person: Person, tmp_path: Path) -> None:
        if shell is NU:
            pytest.skip("no conda has a command for Nushell")
        conda = QuickConda()
        for name, request in (("low", "10.1"), ("free", None), ("high", "11.8")):
            conda_prefix(tmp_path / name)
            if request:
                person.pin(request, tmp_path / name)
        steps = [conda.init(shell)]
        for name in ("low", "high", "free", "low"):
            there = conda.activate(shell, tmp_path / name, stack=True)
            steps.append(f"{there}\n{shell.prompt}")
        steps += [f"{conda.deactivate()}\n{shell.prompt}"] * 4
        assert homes(person, person.play(shell, *steps).check()) == "--1221221-"

    def test_the_global_pin_is_the_weakest(self, shell: Shell, person: Person, trees: Path) -> None:
        pin = shell.hush("cudaswitch pin 12.4 --global")
        unpin = shell.hush("cudaswitch unpin --global")
        names = ["outer", "none", "outer"]
        steps = [pin, *(cd(shell, trees / name) for name in names), unpin, cd(shell, trees)]
        assert homes(person, person.play(shell, *steps).check()) == "-31311-"

    def test_pinning_a_directory_acts_at_once(
        self, shell: Shell, person: Person, trees: Path
    ) -> None:
        words = ["pin 11.8 --dir .", "pin '>=10,<11' --dir .", "unpin --dir ."]
        steps = [cd(shell, trees / "none"), *(shell.hush(f"cudaswitch {word}") for word in words)]
        result = person.play(shell, *steps).check()
        assert homes(person, result) == "--21-"
        assert not (trees / "none" / ".cuda-version").exists()

    def test_the_variable(self, shell: Shell, person: Person, trees: Path) -> None:
        def variable(value: str) -> str:
            return f"{shell.set('CUDASWITCH_VERSION', value)}\n{shell.prompt}"

        steps = [variable("11.8"), cd(shell, trees / "outer"), variable("<12,>=11")]
        steps += ["cudaswitch use 12.4", "cudaswitch off", variable("12")]
        steps += [f"{shell.unset('CUDASWITCH_VERSION')}\n{shell.prompt}"]
        assert homes(person, person.play(shell, *steps).check()) == "-2223231"

    def test_a_variable_that_nothing_can_be_found_for(
        self, shell: Shell, person: Person, trees: Path
    ) -> None:
        """A CUDASWITCH_VERSION without a toolkit is reported once, and undoes the one before."""
        said = [f"{shell.set('CUDASWITCH_VERSION', at)}\n{shell.prompt}" for at in ("11.8", "9.9")]
        steps = [*said, "cudaswitch use 10.1", "cudaswitch off", cd(shell, trees / "outer")]
        result = person.play(shell, *steps)
        assert result.stderr.count("9.9 is not installed") == 1
        assert homes(person, result) == "-2-1-1"

    def test_a_variable_that_only_use_knows(self, shell: Shell, person: Person) -> None:
        said = f"{shell.set('CUDASWITCH_VERSION', '-')}\n{shell.prompt}"
        result = person.play(shell, said)
        assert result.stderr.count("asked for by CUDASWITCH_VERSION") == 1

    def test_the_variable_was_set_before(self, shell: Shell, person: Person) -> None:
        result = person.play(shell, CUDASWITCH_VERSION="10.1").check()
        assert homes(person, result) == "1"

    @pytest.mark.parametrize("end", ["", "/"])
    def test_not_above_the_home_folder(
        self, shell: Shell, person: Person, tmp_path: Path, end: str
    ) -> None:
        home = tmp_path / "home"
        (home / "project").mkdir(parents=True)
        (tmp_path / ".cuda-version").write_text("10.1\n")
        # Both before the integration is parsed, and after.
        steps = [cd(shell, folder) for folder in (home / "project", tmp_path, home / "project")]
        result = person.play(shell, *steps, HOME=f"{home}{end}").check()
        assert homes(person, result) == "--1-"


FORMS = {
    "plain": ("10.1\n", "1"),
    "no line end": ("11.8", "2"),
    "comments": ("# ours\n\n  12.4  # here\n\n", "3"),
    "keys": ("cuda 10.1\n", "1"),
    "cuvm": ("cuda=11.8\n", "2"),
    "cudup": ("# made by cudup\ncuda = 12.4\n", "3"),
    "libraries": ("cuda 10.1\nlibraries never\n", "1"),
    "carriage returns": ("10.1\r\n", "1"),
    "a byte order mark": ("\ufeff10.1\n", "1"),
    "latest": ("latest\n", "3"),
    "a range": (">=11,<12\n", "2"),
    "system": ("system\n", "-"),
}


@every
def test_forms(shell: Shell, person: Person, tmp_path: Path) -> None:
    for form, (text, _) in FORMS.items():
        (tmp_path / form).mkdir()
        (tmp_path / form / ".cuda-version").write_bytes(text.encode())
    # Each form is read where no toolkit is active.
    steps = [cd(shell, folder) for form in FORMS for folder in (tmp_path / form, tmp_path)]
    result = person.play(shell, *steps).check()
    assert homes(person, result) == "-" + "".join(f"{number}-" for _, number in FORMS.values())
    number = str(2 * list(FORMS).index("libraries") + 1)
    assert "LD_LIBRARY_PATH" not in result.snaps[number]


BROKEN = {
    "two versions": "10.1\n11.8\n",
    "libraries twice": "10.1\nlibraries never\nlibraries always\n",
    "words": "please use 10.1\n",
    "a command": "$(touch ran)\n",
    "backticks": "`touch ran`\n",
    "a path": "../../toolkits/cuda-10.1\n",
    "cudnn alone": "cudnn 7.6\n",
    "binary": "\x00\xff\x1b[31m\n",
    "a version before zero": "10.1\x00 and more\n",
    "UTF-16": "10.1\n".encode("utf-16").decode("latin-1"),
    "UTF-16, high byte first": "\xfe\xff" + "10.1\n".encode("utf-16-be").decode("latin-1"),
    "empty": "",
    "not installed": "9.2\n",
    "a bad mode": "cuda 10.1\nlibraries perhaps\n",
}


@every
def test_a_broken_file_is_one_clear_line_and_no_change(
    shell: Shell, person: Person, trees: Path
) -> None:
    steps = []
    for why, text in BROKEN.items():
        tree = trees / why
        (tree / "sub" / "sub").mkdir(parents=True)
        (tree / ".cuda-version").write_bytes(text.encode("latin-1"))
        steps += [cd(shell, tree / name) for name in ("", "sub", "sub/sub", "")]
    result = person.play(shell, *steps, CUDASWITCH_QUIET=None)
    assert result.rc == 0
    assert set(homes(person, result)) == {"-"}
    said = result.stderr.splitlines()
    errors = [line for line in said if not line.startswith(HINTED)]
    assert len(errors) == len(BROKEN)
    assert all(line.startswith("cudaswitch: ") and ".cuda-version" in line for line in errors)
    assert not any(one.startswith(HINTED) and two.startswith(HINTED) for one, two in pairwise(said))
    assert "\x1b" not in result.stderr
    assert not list(trees.rglob("ran"))


@every
def test_a_broken_file_is_told_again_on_the_next_visit_and_seen_when_mended(
    shell: Shell, person: Person, trees: Path
) -> None:
    file = trees / "none" / ".cuda-version"
    file.write_text("nonsense here\n")
    mend = f"sh -c {shell.quote(f'echo 11.8 >{shlex.quote(str(file))}')}"
    steps = [cd(shell, trees / "none"), cd(shell, trees / "outer"), cd(shell, trees / "none")]
    steps += [mend, cd(shell, trees / "none"), f"cd .\n{shell.prompt}", cd(shell, trees)]
    result = person.play(shell, *steps, cd(shell, trees / "none"))
    assert len([line for line in result.stderr.splitlines() if "cannot read" in line]) == 2
    assert homes(person, result)[-2:] == "-2"


@every
@root_only
def test_a_file_of_another_user_is_not_followed(shell: Shell, person: Person, trees: Path) -> None:
    file = trees / "none" / ".cuda-version"
    file.write_text("10.1\n")
    os.chown(file, 65534, 65534)
    steps = [cd(shell, trees / "none"), cd(shell, trees)]
    result = person.play(shell, *steps)
    assert homes(person, result) == "---"
    assert "belongs to another user and is not followed" in result.stderr


@pytest.mark.parametrize("shell", (BASH, ZSH, FISH, TCSH), ids=str)
@pytest.mark.parametrize("told", [None, ".", "gone"])
@pytest.mark.parametrize("asked", ["", "system"], ids=["lazily", "at once"])
def test_a_shell_that_starts_where_the_folder_is_gone(
    shell: Shell, person: Person, trees: Path, told: str | None, asked: str
) -> None:
    """A shell that starts in a deleted folder, where PWD is no path, follows its first `cd`."""
    gone, seen = trees / "gone", trees / "seen"
    gone.mkdir()
    script = trees / f"script.{shell.suffix}"
    look = f"printenv CUDA_HOME > {shell.quote(str(seen))}"
    go = [shell.unset("CUDASWITCH_VERSION"), cd(shell, trees / "outer"), look]
    steps = [person.load(shell), shell.prompt, *go]
    script.write_text("\n".join(steps))
    env = {name: value for name, value in person.home.env.items() if name != "PWD"}
    env["CUDASWITCH_VERSION"] = asked
    subprocess.run(
        [*shell.argv(), script], env=env | ({"PWD": told} if told else {}),
        cwd=gone, preexec_fn=gone.rmdir, check=False, timeout=60,
    )  # fmt: skip
    assert seen.read_text() == f"{person.kits[0].home}\n"


@open_ones
def test_python_is_asked_once_in_a_tree(
    shell: Shell, person: Person, trees: Path, tmp_path: Path
) -> None:
    """Python is asked once for a new range, and not again within its tree or in a later shell."""
    (trees / "outer" / ".cuda-version").write_text(f">=10,<11,!=9.{sum(shell.name.encode())}\n")
    count = tmp_path / "count"
    counting = f'#!/bin/sh\necho x >>{count}\nexec cudaswitch "$@"\n'
    program = executable(tmp_path / "program", counting)
    spy = ask_instead(shell, program)
    names = ["outer", "outer/deep", "outer", "outer/deep/inner", "outer"]
    for _ in range(2):
        result = person.play(shell, spy, *(cd(shell, trees / name) for name in names)).check()
        assert homes(person, result) == "--11121"
        assert count.read_text() == "x\n"


@every
def test_an_answer_whose_toolkit_is_gone_is_none(
    shell: Shell, person: Person, trees: Path, tmp_path: Path
) -> None:
    """A ready answer does not count if its toolkit was removed, as in another terminal."""
    (trees / "outer" / ".cuda-version").write_text(">=10,<12\n")
    home, away = person.kits[1].home, tmp_path / "away"
    there, back = cd(shell, trees / "outer"), cd(shell, trees)
    remove = f"mv {shell.quote(str(home))} {shell.quote(str(away))}"
    try:
        result = person.play(shell, there, back, remove, there).check()
    finally:
        if away.exists():
            away.rename(home)
    assert homes(person, result) == "-2--1"


OTHER_TERMINAL = "sh -c '{}'".format


@every
def test_a_range_for_the_user_is_changed_in_another_terminal(
    shell: Shell, tmp_path: Path, trees: Path
) -> None:
    person = make_person(tmp_path / "account", (shell.name,))
    pins = [
        OTHER_TERMINAL(f'cudaswitch pin "{wanted}" --global') for wanted in (">=12", ">=11,<12")
    ]
    there, back = cd(shell, trees / "none"), cd(shell, trees)
    result = person.play(shell, pins[0], there, pins[1], back)
    assert homes(person, result) == "--332"


@every
def test_a_range_finds_what_another_terminal_brings(
    shell: Shell, tmp_path: Path, trees: Path
) -> None:
    person = make_person(tmp_path / "account", (shell.name,))
    (trees / "outer" / ".cuda-version").write_text(">=11\n")
    (trees / "none" / ".cuda-version").write_text(">=13\n")
    (trees / "none" / "sub").mkdir()
    newest = person.kits[2].home
    later = newest.with_name("later")
    shutil.copytree(newest, later)
    adopt = OTHER_TERMINAL(f'cudaswitch adopt "{later}" --as 13.0')
    names = ("outer", "none", None, "none/sub", "outer")
    steps = [cd(shell, trees / name) if name else adopt for name in names]
    result = person.play(shell, *steps)
    taken = [result.snaps[str(n)].get("CUDA_HOME") for n in range(len(steps) + 1)]
    assert taken == [None, str(newest), None, None, str(later), str(later)]
    assert result.stderr.count("is not installed") == 1


@open_ones
def test_the_shell_reads_files_as_python_does(shell: Shell, person: Person, tmp_path: Path) -> None:
    """If the shell answers a file without Python, the answer is the same as Python's."""
    dice = random.Random(7)
    words = ["10.1", "11.8.0", "12.4", "cuda", "cudnn", "libraries", "none", "never", "auto"]
    words += ["=", " ", "\t", "\n", "\n", "#", "x", " = ", "\r", "+cudnnnone", "==", "é", "cuda: "]
    words += ["\f", "\v", "\u2028"]
    # Nushell and tcsh take twenty times as long for each.
    count = 150 if shell in {NU, TCSH} else 700
    texts = ["".join(dice.choices(words, k=dice.randint(1, 7))) for _ in range(count)]
    texts += ["cuda: 12.4", "12.4\nlibraries: never"]
    ranges = [">=10.2,<12.4", "<12", "==11.8", "!=12.4", ">10,<12.4,!=10.1"]
    for asked in ranges:
        succeeded(person.home.run("want", "--", asked))
    words = ["cuda", "=", " ", ", ", ",", "<", "12", "\n", "libraries never", *ranges]
    texts += ["".join(dice.choices(words, k=dice.randint(1, 4))) for _ in range(count // 2)]
    texts += [f"cuda{sign}{it.replace(',', ', ')}" for it in ranges for sign in ("=", " ", " = ")]
    lines = []
    for number, text in enumerate(texts):
        (tmp_path / str(number)).write_bytes(text.encode())
        file = shell.quote(str(tmp_path / str(number)))
        if shell is FISH:
            lines.append(f"if __cudaswitch_read {file}; echo $__csw; else; echo refused; end")
        elif shell is TCSH:
            ask = "/bin/sh $_cudaswitch_texts:q/ask.sh $_cudaswitch_root:q /bin/false file"
            lines.append(f"set ask = '{ask}' file = {file}\nset want = \"`$ask $file:q`\"")
            lines.append('if ("$want:q" == "") set want = refused\necho "$want:q"')
        elif shell is NU:
            lines.append(f"let text = (__cudaswitch_text {file})")
            lines.append("let want = if $text != null { __cudaswitch_read $text }")
            lines.append("print ($want | default refused)")
        else:
            lines.append(f"if __cudaswitch_read {file}; then echo $__csw; else echo refused; fi")
    quiet = "unsetopt warn_create_global" if shell is ZSH else ""
    load = "__cudaswitch_load" if shell in {BASH, ZSH, FISH} else ""
    answers = person.play(shell, quiet, load, *lines).stdout.splitlines()
    assert len(answers) == len(texts)
    ready = {True: 0, False: 0}
    for text, answer in zip(texts, answers, strict=True):
        if answer == "refused":
            continue
        home, _, options = answer.partition(":")
        kit = next(kit for kit in person.kits if str(kit.home) == home)
        try:
            request = parse_version_file(text, "file")
        except CudaswitchError as error:
            pytest.fail(f"{text!r} is {answer} to the shell, to Python: {error}")
        fitting = [it.version for it in person.kits if request.accepts(Version(it.version))]
        assert kit.version == fitting[-1], text
        ready[request.is_range] += 1
        assert request.cudnn in (None, "none"), text
        assert options == (f"lib={request.libraries}" if request.libraries else ""), text
    assert min(ready.values()) > count // 70

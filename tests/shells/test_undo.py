"""`off`: every variable is as before, whatever happened in between, in strict shells too."""

from __future__ import annotations

from pathlib import Path

import pytest

from checks import succeeded
from pairs import every_pair
from shells.conda import conda_prefix
from shells.driver import (
    BASH,
    FISH,
    NU,
    POSIX_SHELLS,
    SHELLS,
    TCSH,
    XONSH,
    ZSH,
    Environment,
    Shell,
    run_shell,
)
from shells.kits import STATE, Person, foreign
from shells.terminal import Open, seen
from tools import console_script

every = pytest.mark.parametrize("shell", (*SHELLS, XONSH, NU), ids=str)
posix = pytest.mark.parametrize("shell", POSIX_SHELLS, ids=str)
bash_and_zsh = pytest.mark.parametrize("shell", (BASH, ZSH), ids=str)
told_apart = pytest.mark.parametrize("shell", (BASH, ZSH, FISH), ids=str)
posix_and_fish = pytest.mark.parametrize("shell", (*POSIX_SHELLS, FISH), ids=str)
integrated = pytest.mark.parametrize("shell", (BASH, ZSH, FISH, TCSH, XONSH, NU), ids=str)

STRICT = {
    "bash": "set -eu",
    "dash": "set -eu",
    "zsh": "setopt nounset err_exit",
    "fish": "",
    "xonsh": "",
}

OWN = {
    "LD_LIBRARY_PATH": "/own/lib:/x",
    "CUDA_HOME": "/own",
    "CUDACXX": "",
    "CUDA_VISIBLE_DEVICES": "3",
    "NVCC_PREPEND_FLAGS": "-Xptxas -v",
}
"""What a person may have set, and not exported."""

METACHARACTERS = "/a b/$(touch x)`y`;&|*?[z]{q}~!#'\"\\"
"""An entry of the person's own that only quoting survives."""


def as_mapping(lines: list[str]) -> Environment:
    return dict(line.split("=", 1) for line in lines)


def around_a_virtualenv(person: Person, story: str) -> Environment:
    """Return a shell's environment with a toolkit, during or after a virtualenv that saved PATH."""
    kit = person.kits[0]
    on = as_mapping(succeeded(person.home.run("exec", "10.1", "--", "env")))
    given = {name: value for name, value in on.items() if name.startswith((STATE, "CUDA"))}
    given |= {"PATH": f"{kit.bin}:{person.home.env['PATH']}", f"{STATE}U": str(kit.home)}
    if story == "left":
        return given | {f"{STATE}BIN": f"1{kit.bin}", f"{STATE}OLD": f"0{kit.bin}"}
    return given | {"VIRTUAL_ENV": "/v", "_OLD_VIRTUAL_PATH": given["PATH"]}


def assert_paths(seen: Environment, path: str) -> None:
    assert (seen["PATH"], seen.get("_OLD_VIRTUAL_PATH", path)) == (path, path)


class TestUndo:
    @pytest.mark.parametrize(
        "libraries",
        [None, "", "/own/lib", f"/x y:{METACHARACTERS}", "/own/lib:", ":/own/lib", "/a::/b", ":"],
        ids=repr,
    )
    @every
    def test_every_byte_comes_back(
        self, shell: Shell, person: Person, libraries: str | None
    ) -> None:
        steps = [person.use(shell, "10.1"), person.use(shell, "12.4"), person.off(shell)]
        result = person.play(shell, *steps, LD_LIBRARY_PATH=libraries).check()
        assert foreign(result.snaps["3"]) == foreign(result.snaps["0"])
        on = result.snaps["1"]["LD_LIBRARY_PATH"]
        ours = ":".join(person.kits[0].lib)
        assert on == (f"{ours}:{libraries}" if libraries else ours)

    @every
    def test_awkward_entries_of_path_come_back(self, shell: Shell, person: Person) -> None:
        path = f"/a b:{METACHARACTERS}:{person.home.env['PATH']}:/last/"
        result = person.play(shell, person.use(shell, "11.8"), person.off(shell), PATH=path).check()
        assert result.snaps["1"]["PATH"] == f"{person.kits[1].bin}:{path}"
        assert result.snaps["2"]["PATH"] == path

    @every
    @pytest.mark.parametrize("story", ["left", "entered after us"])
    def test_the_path_that_a_virtualenv_kept(
        self, shell: Shell, person: Person, story: str
    ) -> None:
        """`off` takes our folder off a PATH that a virtualenv restored, or still keeps."""
        given = around_a_virtualenv(person, story)
        result = person.play(shell, person.off(shell), **given).check()
        assert_paths(result.snaps["1"], person.home.env["PATH"])

    @pytest.mark.parametrize("story", ["left", "entered after us"])
    def test_the_path_that_a_virtualenv_kept_for_exec(self, person: Person, story: str) -> None:
        given = around_a_virtualenv(person, story)
        ran = person.home.run("exec", "system", "--", "env", **given)
        assert_paths(as_mapping(succeeded(ran)), person.home.env["PATH"])

    @every
    @pytest.mark.parametrize("copies", ["first", "last", "both"])
    def test_identical_entries_of_the_person_are_counted(
        self, shell: Shell, person: Person, copies: str
    ) -> None:
        kit = person.kits[0]
        path, libraries = person.home.env["PATH"], "/own"
        if copies != "last":
            path, libraries = f"{kit.bin}:{path}", f"{kit.lib[0]}:{libraries}"
        if copies != "first":
            path, libraries = f"{path}:{kit.bin}", f"{libraries}:{kit.lib[0]}"
        result = person.play(
            shell,
            person.use(shell, "10.1"),
            person.use(shell, "10.1"),
            person.off(shell),
            PATH=path,
            LD_LIBRARY_PATH=libraries,
        ).check()
        assert result.snaps["2"]["PATH"] == f"{kit.bin}:{path}"
        assert foreign(result.snaps["3"]) == foreign(result.snaps["0"])

    @every
    def test_a_copy_that_comes_and_goes_in_between(self, shell: Shell, person: Person) -> None:
        """A script of an environment adds the folders in use, and removes the first copy later."""
        kit, path = person.kits[0], f"{person.kits[0].bin}:{person.home.env['PATH']}"
        comes = [shell.prepend("PATH", kit.bin), shell.prepend("LD_LIBRARY_PATH", kit.lib[0])]
        goes = [shell.set("PATH", path), shell.set("LD_LIBRARY_PATH", ":".join(kit.lib))]
        use, off = person.use(shell, "10.1"), person.off(shell)
        steps = [use, "\n".join([*comes, use]), "\n".join([*goes, use]), off]
        result = person.play(shell, *steps).check()
        assert result.snaps["2"]["PATH"] == f"{kit.bin}:{path}"
        assert foreign(result.snaps["4"]) == foreign(result.snaps["0"])

    @every
    def test_own_edits_in_between_stay(self, shell: Shell, person: Person) -> None:
        edits = [
            shell.prepend("PATH", "/mine"),
            shell.append("PATH", "/behind"),
            shell.prepend("LD_LIBRARY_PATH", "/mine/lib"),
            shell.append("LD_LIBRARY_PATH", person.kits[0].lib[0]),
        ]
        result = person.play(
            shell, person.use(shell, "10.1"), "\n".join(edits), person.off(shell)
        ).check()
        after = result.snaps["3"]
        assert after["PATH"] == f"/mine:{result.snaps['0']['PATH']}:/behind"
        assert after["LD_LIBRARY_PATH"] == f"/mine/lib:{person.kits[0].lib[0]}"

    @every
    def test_values_that_were_there_are_given_back(self, shell: Shell, person: Person) -> None:
        own = {"CUDA_HOME": "/own $x;'`\"\\", "CUDA_PATH": "", "CUDACXX": "/own:nvcc"}
        steps = [person.use(shell, "10.1"), person.use(shell, "12.4"), person.off(shell)]
        result = person.play(shell, *steps, **own).check()
        # 12.4 has no compiler, so the person's own is visible again.
        assert result.snaps["2"]["CUDACXX"] == "/own:nvcc"
        assert foreign(result.snaps["3"]) == foreign(result.snaps["0"])

    @every
    def test_a_value_changed_in_between_is_left_alone(self, shell: Shell, person: Person) -> None:
        edit = "\n".join([shell.set("CUDA_HOME", "/mine"), shell.unset("CUDACXX")])
        result = person.play(
            shell, person.use(shell, "10.1"), edit, person.off(shell), CUDA_HOME="/own"
        )
        before, after = result.check().snaps["0"], result.snaps["3"]
        assert foreign(after) == foreign(before) | {"CUDA_HOME": "/mine"}

    @every
    def test_what_was_taken_out_by_hand_stays_out(self, shell: Shell, person: Person) -> None:
        edit = "\n".join([shell.set("PATH", "/usr/bin"), shell.unset("LD_LIBRARY_PATH")])
        path = f"{person.kits[0].bin}:{person.home.env['PATH']}"
        # PATH lacks our command now. `off` needs none; without integration the program is named.
        off = person.off(shell).replace("$(cudaswitch", f"$({shell.quote(str(console_script()))}")
        result = person.play(shell, person.use(shell, "10.1"), edit, off, PATH=path).check()
        assert foreign(result.snaps["3"]) == foreign(result.snaps["0"]) | {"PATH": "/usr/bin"}

    @every
    @pytest.mark.parametrize("at", [0, 1])
    def test_own_libraries_stay_when_ours_were_taken_out_by_hand(
        self, shell: Shell, person: Person, at: int
    ) -> None:
        """Own copies of each of a toolkit's folders are counted, not only of the first."""
        own = person.kits[0].lib[at]
        steps = [person.use(shell, "10.1"), shell.set("LD_LIBRARY_PATH", own), person.off(shell)]
        result = person.play(shell, *steps, LD_LIBRARY_PATH=own).check()
        assert foreign(result.snaps["3"]) == foreign(result.snaps["0"])

    @pytest.mark.parametrize("shell", (*POSIX_SHELLS, FISH, XONSH, NU), ids=str)
    @pytest.mark.parametrize("later", ["/later", None])
    def test_a_colon_that_a_script_has_left_behind_ours_goes_with_it(
        self, shell: Shell, person: Person, later: str | None
    ) -> None:
        """A script's colon after ours goes too: for an empty list it would not have added one."""
        left = ":".join([*filter(None, [later]), *person.kits[0].lib, ""])
        edit = shell.set("LD_LIBRARY_PATH", left)
        steps = [person.use(shell, "10.1"), edit, person.off(shell)]
        result = person.play(shell, *steps, LD_LIBRARY_PATH=None).check()
        assert result.snaps["3"].get("LD_LIBRARY_PATH") == later

    @told_apart
    @pytest.mark.parametrize(
        ("names", "others"),
        [(["LD_LIBRARY_PATH"], []), (["CUDA_HOME"], ["LD_LIBRARY_PATH", "CUDACXX"]), (OWN, [])],
        ids=["list", "value", "all"],
    )
    def test_what_was_not_exported_is_not_afterwards(
        self, shell: Shell, person: Person, names: list[str], others: list[str]
    ) -> None:
        own = "set -g {} {}" if shell is FISH else "{}={}"
        mine = [own.format(name, shell.quote(OWN[name])) for name in names]
        exported = [shell.set(name, OWN[name]) for name in others]
        lines = [f'printf "%s\\n" "${name}"' for name in [*names, *others]]
        steps = ["\n".join([*mine, *exported])]
        for request in ("10.1", "10.1 --gpus 0", "12.4", "11.8"):
            steps += [person.use(shell, request), f"{person.off(shell)}\n{' ; '.join(lines)}"]
        steps += [person.use(shell, "10.1 --gpus 0"), person.use(shell, "12.4"), person.off(shell)]
        result = person.play(shell, *steps).check()
        before = foreign(result.snaps["1"])
        assert before.keys() & OWN.keys() == set(others)
        assert [foreign(result.snaps[at]) for at in ("3", "5", "7", "9", "12")] == [before] * 5
        assert result.stdout.splitlines() == [OWN[name] for name in [*names, *others]] * 4

    @told_apart
    def test_what_is_exported_meanwhile_stays_so(self, shell: Shell, person: Person) -> None:
        mine = "set -g LD_LIBRARY_PATH /own" if shell is FISH else "LD_LIBRARY_PATH=/own"
        edit = shell.prepend("LD_LIBRARY_PATH", "/later")
        result = person.play(
            shell, mine, person.use(shell, "10.1"), edit, person.off(shell)
        ).check()
        assert "LD_LIBRARY_PATH" not in result.snaps["1"]
        assert result.snaps["4"]["LD_LIBRARY_PATH"] == "/later:/own"

    @posix
    def test_no_path_at_all(self, shell: Shell, person: Person, tmp_path: Path) -> None:
        done = person.home.run("env", "10.1", "--shell", "sh")
        (tmp_path / "use").write_text(done.stdout)
        lines = [STRICT[shell.name], "unset PATH", f". {shell.quote(str(tmp_path / 'use'))}"]
        result = run_shell(shell, "\n".join([*lines, "export PATH", "snap on"]), person.home.env)
        assert result.check().snaps["on"]["PATH"] == person.kits[0].bin


class TestStrictShells:
    @posix
    def test_there_and_back(self, shell: Shell, person: Person) -> None:
        steps = [
            person.use(shell, "10.1"),
            person.use(shell, "12.4"),
            person.off(shell),
            person.off(shell),
        ]
        strict = [STRICT[shell.name], person.load(shell), *steps]
        result = person.play(shell, *strict, LD_LIBRARY_PATH=None).check()
        assert foreign(result.snaps["6"]) == foreign(result.snaps["0"])

    @bash_and_zsh
    def test_a_failed_use_can_be_caught(self, shell: Shell, person: Person) -> None:
        caught = "cudaswitch use 99 || echo caught"
        result = person.play(shell, STRICT[shell.name], caught)
        assert (result.rc, result.stdout) == (0, "caught\n")

    @integrated
    def test_its_message_goes_where_the_person_says(self, shell: Shell, person: Person) -> None:
        command = shell.hush("cudaswitch use 99")
        # In Nushell a command that fails ends the script.
        result = person.play(shell, f"try {{ {command} }}" if shell is NU else command)
        assert (result.stdout, result.stderr) == ("", "")

    @posix
    def test_options_of_the_shell_stay(self, shell: Shell, person: Person, tmp_path: Path) -> None:
        """Shell options stay, even if there is an environment, whose packages are searched."""
        show = "set -o" if shell is ZSH else "set +o"
        options = {
            "bash": "set -kf -o noclobber; shopt -s failglob nullglob extglob; IFS=/c",
            "zsh": "setopt ksh_arrays sh_word_split glob_subst warn_create_global noclobber; IFS=/",
            "dash": "set -f -C; IFS=/",
        }[shell.name]
        more = "; shopt" if shell is BASH else ""
        steps = [options, f"{show}{more}", person.use(shell, "10.1")]
        steps += [person.off(shell), f"{show}{more}"]
        own = {
            "CUDA_HOME": "/own",
            "CUDA_PATH": "",
            "CONDA_PREFIX": str(conda_prefix(tmp_path / "e")),
        }
        result = person.play(shell, *steps, **own).check()
        half = len(result.stdout) // 2
        assert result.stdout[:half] == result.stdout[half:]
        assert foreign(result.snaps["4"]) == foreign(result.snaps["0"])


@every_pair(
    {
        "shell": (*POSIX_SHELLS, FISH),
        "value": ["|x", ":x", "!", "(", "-e"],
        "name": ["CUDA_HOME", "CUDA_VISIBLE_DEVICES", "LD_LIBRARY_PATH"],
    }
)
def test_a_value_that_looks_like_a_sign_of_the_shell(
    shell: Shell, name: str, value: str, person: Person
) -> None:
    """A value set meanwhile stays, even if it looks like syntax of the shell; all else goes."""
    steps = [person.use(shell, "10.1 --gpus 0"), shell.set(name, value), person.off(shell)]
    result = person.play(shell, *steps).check()
    assert foreign(result.snaps["3"]) == foreign(result.snaps["0"]) | {name: value}


@pytest.mark.parametrize("before", ["", "CUDA_HOME=/own"], ids=["plain", "besides"])
@pytest.mark.parametrize("name", ["PATH", "LD_LIBRARY_PATH"])
@bash_and_zsh
def test_a_list_that_cannot_be_set(shell: Shell, name: str, before: str, at_prompt: Open) -> None:
    """A read-only list leaves no half of a change, such as an empty CUDA_HOME."""
    terminal = at_prompt(shell)
    terminal.say(f"cudaswitch off; export {before}; readonly {name}")
    was = seen(terminal)
    terminal.say("cudaswitch use 10.1")
    if name == "PATH":
        assert seen(terminal) | {"_CUDASWITCH_U": ""} == was | {"_CUDASWITCH_U": ""}
    terminal.say("cudaswitch off")
    assert seen(terminal)["PATH"] == was["PATH"]
    assert name != "PATH" or seen(terminal) == was


INTERRUPTED = {
    "bash": "set -T; trap '[ -n \"$armed$_CUDASWITCH_ON\" ] || { armed=no; kill -INT $$; }' DEBUG",
    "zsh": "trap '[ -n \"$armed$_CUDASWITCH_ON\" ] || { armed=no; kill -INT $$; }' DEBUG",
    "fish": "function once --on-variable _CUDASWITCH_ON\n"
    'if test -z "$armed$_CUDASWITCH_ON"; set -g armed no; kill -INT $fish_pid; end; end',
}
"""Shell → what presses Ctrl-C when a toolkit has been undone, and the next one is not there yet."""


@told_apart
def test_a_switch_that_is_interrupted_half_way(shell: Shell, at_prompt: Open) -> None:
    """After Ctrl-C between two toolkits, neither is left anywhere, and `use` works as before."""
    terminal = at_prompt(shell)
    for name in ("LD_LIBRARY_PATH", "CUDA_HOME"):
        terminal.say(shell.set(name, "/own"))
    was = foreign(seen(terminal))
    terminal.say("cudaswitch use 10.1")
    # Without this, one short step leads from one toolkit to the other.
    terminal.say(shell.set("CUDA_PATH", "/mine"))
    terminal.say(INTERRUPTED[shell.name])
    terminal.say("cudaswitch use 11.8")
    after = seen(terminal)
    assert foreign(after) == was | {"CUDA_PATH": "/mine"}
    assert after.keys() == foreign(after).keys() | {"_CUDASWITCH_U"}
    terminal.say("cudaswitch use 11.8")
    assert "/cuda-11.8/bin:" in seen(terminal)["PATH"]
    terminal.say("cudaswitch off")
    assert seen(terminal) == was | {"CUDA_PATH": "/mine"}

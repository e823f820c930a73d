"""`use` and `off` in this shell: what they set, and that they leave nothing behind."""

from __future__ import annotations

import os
import shutil
from itertools import cycle
from pathlib import Path

import pytest

from checks import succeeded
from homes import make_home
from shells.conftest import make_person
from shells.driver import (
    BASH,
    DASH,
    FISH,
    NU,
    SHELLS,
    TCSH,
    XONSH,
    ZSH,
    Shell,
    ShellResult,
)
from shells.frameworks import spied
from shells.kits import Kit, Person, foreign, read_env, switched
from shells.moving import cd

every = pytest.mark.parametrize("shell", (*SHELLS, XONSH, NU), ids=str)
bash_and_zsh = pytest.mark.parametrize("shell", (BASH, ZSH), ids=str)
told_apart = pytest.mark.parametrize("shell", (BASH, ZSH, FISH), ids=str)
WITH_INIT = (BASH, ZSH, FISH, TCSH, XONSH, NU)
integrated = pytest.mark.parametrize("shell", WITH_INIT, ids=str)

TRACES = {
    "wheels": "lib/python3.11/site-packages/nvidia/cublas/lib",
    "torch": "lib/python3.11/site-packages/torch/lib/libtorch_cuda.so",
    "conda": "conda-meta/cudatoolkit-10.1.243-h6bb024c_0.json",
}
"""Who brings it → the file that shows that an environment brings its own CUDA."""
told_of_one = pytest.mark.parametrize(
    ("shell", "trace"), [*zip(WITH_INIT, cycle(TRACES))], indirect=["trace"], ids=str
)
"""What is said is the same for each of them, so every shell meets one."""


class TestWhatIsSet:
    @every
    @pytest.mark.parametrize("number", range(3))
    def test_the_variables_of_the_contract_and_no_others(
        self, shell: Shell, person: Person, number: int
    ) -> None:
        kit = person.kits[number]
        result = person.play(shell, person.use(shell, kit.version)).check()
        assert foreign(result.snaps["1"]) == switched(result.snaps["0"], kit)

    @every
    def test_a_prefix_names_the_newest(self, shell: Shell, person: Person) -> None:
        result = person.play(shell, person.use(shell, "12")).check()
        assert result.snaps["1"]["CUDA_HOME"] == str(person.kits[2].home)

    @every
    def test_the_tool_runs(self, shell: Shell, person: Person) -> None:
        result = person.play(shell, person.use(shell, "11.8"), "nvcc").check()
        assert result.stdout == "nvcc of 11.8.0\n"

    @every
    def test_twice_is_once_and_another_takes_its_place(self, shell: Shell, person: Person) -> None:
        first, second = (person.use(shell, request) for request in ("10.1", "11.8"))
        result = person.play(shell, first, first, second, first).check()
        before, once, twice, other, again = (result.snaps[str(n)] for n in range(5))
        assert foreign(twice) == foreign(once) == foreign(again)
        assert foreign(other) == switched(before, person.kits[1])

    @every
    def test_libraries_always_and_never(self, shell: Shell, person: Person) -> None:
        modes = [person.use(shell, f"10.1 --libraries {mode}") for mode in ("never", "always")]
        result = person.play(shell, *modes).check()
        before, never, always = (result.snaps[str(n)] for n in range(3))
        assert foreign(never) == switched(before, person.kits[0], libraries=False)
        assert foreign(always) == switched(before, person.kits[0])

    @every
    def test_a_relative_folder_named_system_is_no_toolkit(
        self, shell: Shell, person: Person, tmp_path: Path
    ) -> None:
        (tmp_path / "system").mkdir()
        enter = f"cd {shell.quote(str(tmp_path))}"
        result = person.play(shell, enter, person.use(shell, "system")).check()
        assert foreign(result.snaps["2"]) == foreign(result.snaps["1"])


class TestRefusal:
    @every
    @pytest.mark.parametrize(
        ("request_", "code"),
        [("99", 1), ("nonsense/..", 1), ("--bogus", 2), ("10.1 --cudnn 7.6", 1), ("", 2)],
    )
    def test_a_failed_use_changes_nothing(
        self, shell: Shell, person: Person, request_: str, code: int
    ) -> None:
        said = dict.fromkeys((FISH, TCSH), "echo rc $status")
        said[XONSH] = "echo rc @(__xonsh__.lastcmd.rtn)"
        said[NU] = "print $'rc ($env.LAST_EXIT_CODE)'"
        command = person.use(shell, request_)
        if shell is NU:
            # In Nushell a command that fails ends the script.
            command = f"try {{ {command} }}"
        if shell is DASH:
            command = command.replace('eval "$(', "text=$(").replace(')"', ")")
        steps = [person.use(shell, "11.8"), f"{command}\n{said.get(shell, 'echo rc $?')}"]
        result = person.play(shell, *steps)
        assert foreign(result.snaps["2"]) == foreign(result.snaps["1"])
        assert result.stdout.strip() == f"rc {code}"
        lines = result.stderr.splitlines()
        assert lines[0].startswith("cudaswitch: ")
        assert [line for line in lines[1:] if not line.startswith("hint: ")] == []

    @integrated
    def test_off_takes_no_words(self, shell: Shell, person: Person) -> None:
        command = "cudaswitch off 10.1"
        if shell is NU:
            command = f"try {{ {command} }}"
        result = person.play(shell, "cudaswitch use 10.1", command)
        assert "hint: cudaswitch off --help" in result.stderr
        assert foreign(result.snaps["2"]) == foreign(result.snaps["1"])

    @integrated
    def test_off_takes_the_end_of_options(self, shell: Shell, person: Person) -> None:
        result = person.play(shell, "cudaswitch use 10.1", "cudaswitch off --").check()
        assert foreign(result.snaps["2"]) == foreign(result.snaps["0"])

    @integrated
    @pytest.mark.parametrize("word", ["-h", "--help"])
    def test_who_asks_for_help_gets_nothing_else(
        self, shell: Shell, person: Person, word: str
    ) -> None:
        steps = [f"cudaswitch {command} {word}" for command in ("use 11.8", "off", "pin 10.1")]
        result = person.play(shell, "cudaswitch use 10.1", *steps).check()
        assert result.stdout.count("Usage: cudaswitch ") == len(steps)
        assert foreign(result.snaps["4"]) == foreign(result.snaps["1"])

    @integrated
    def test_a_name_that_leads_elsewhere_is_no_ready_answer(
        self, shell: Shell, person: Person, tmp_path: Path
    ) -> None:
        answer = tmp_path / "answer"
        answer.write_text(f"{person.kits[0].home}\n")
        request = os.path.relpath(answer, person.home.store / "requests")
        command = person.use(shell, request)
        result = person.play(shell, f"try {{ {command} }}" if shell is NU else command)
        assert "is not a CUDA version" in result.stderr
        assert foreign(result.snaps["1"]) == foreign(result.snaps["0"])

    def test_an_unsafe_store_is_refused_with_the_reason(
        self, person: Person, tmp_path: Path
    ) -> None:
        for char in "'\"$`\\:;\n":
            home = make_home(tmp_path / f"at {ord(char)}")
            store = f"{home.store}{char}x"
            done = home.run("adopt", str(person.kits[0].home), CUDASWITCH_HOME=store)
            assert done.returncode == 1, char
            assert "cannot hold a toolkit" in done.stderr
            assert len(done.stderr.splitlines()) == 2
            assert not os.path.lexists(store)

    def test_an_unsafe_toolkit_is_refused_with_the_reason(self, tmp_path: Path) -> None:
        for char in "'\"$`\\:;\n":
            kit = Kit(tmp_path / f"x{char}y", "10.1.243", ("lib64",)).build()
            done = make_home(tmp_path / f"at {ord(char)}").run("adopt", str(kit.home))
            assert (done.returncode, "cannot hold a toolkit" in done.stderr) == (1, True), char


class TestBackAndForth:
    @integrated
    def test_dash_means_the_one_before(self, shell: Shell, person: Person) -> None:
        words = ["use 10.1", "use 11.8", "use -", "use -", "off", "use -", "use system", "use -"]
        result = person.play(shell, *(f"cudaswitch {word}" for word in words)).check()
        homes = [result.snaps[str(n)].get("CUDA_HOME") for n in range(1, 9)]
        one, two, _ = (str(kit.home) for kit in person.kits)
        assert homes == [one, two, one, two, None, two, None, two]

    @integrated
    def test_off_with_nothing_on_forgets_nothing(self, shell: Shell, person: Person) -> None:
        words = ["use 11.8", "off", "off", "use -"]
        result = person.play(shell, *(f"cudaswitch {word}" for word in words)).check()
        assert result.snaps["4"]["CUDA_HOME"] == str(person.kits[1].home)

    @integrated
    def test_dash_to_a_toolkit_that_is_gone(self, shell: Shell, tmp_path: Path) -> None:
        someone = make_person(tmp_path / "person", (shell.name,))
        kit = someone.kits[0]
        back = "cudaswitch use -"
        if shell is NU:
            back = f"try {{ {back} }} catch {{|error| print --stderr $error.msg }}"
        away = f"mv {shell.quote(str(kit.home))} {shell.quote(str(tmp_path / 'away'))}"
        result = someone.play(shell, "cudaswitch use 10.1", "cudaswitch use 11.8", away, back)
        assert f"`{kit.home}` is gone" in result.stderr
        assert foreign(result.snaps["4"]) == foreign(result.snaps["3"])

    @told_apart
    def test_no_variable_is_left_behind(self, shell: Shell, tmp_path: Path) -> None:
        """What is looked at, at a prompt in a tree, or for a choice that fails, is not kept."""
        someone = make_person(tmp_path / "person", (shell.name,))
        (someone.home.path / ".cuda-version").write_text("11.8\n")
        away = f"mv {shell.quote(str(someone.kits[0].home))} {shell.quote(str(tmp_path / 'away'))}"
        listed = "set --names" if shell is FISH else "set"
        steps = [shell.prompt, shell.prompt, listed, away, "cudaswitch use 10.1", listed]
        result = someone.play(shell, *steps)
        names = [one for one in result.stdout.splitlines() if one.startswith(("_csw", "__csw"))]
        assert names == []
        assert result.stderr.startswith("cudaswitch: ")

    @integrated
    def test_dash_returns_to_nothing(self, shell: Shell, person: Person) -> None:
        result = person.play(shell, "cudaswitch use 10.1", "cudaswitch use -").check()
        assert foreign(result.snaps["2"]) == foreign(result.snaps["0"])

    @integrated
    def test_dash_without_an_earlier_choice(self, shell: Shell, person: Person) -> None:
        use = "cudaswitch use -"
        if shell is NU:
            use = f"try {{ {use} }} catch {{|error| print --stderr $error.msg }}"
        result = person.play(shell, use)
        assert "there is no previous choice in this shell" in result.stderr
        assert foreign(result.snaps["1"]) == foreign(result.snaps["0"])

    @told_apart
    def test_dash_brings_its_own_options(self, shell: Shell, person: Person) -> None:
        words = ["use 10.1 --gpus 1", "use 11.8", "use - --gpus 2", "use -"]
        result = person.play(shell, *(f"cudaswitch {word}" for word in words))
        gpus = [result.snaps[str(n)].get("CUDA_VISIBLE_DEVICES") for n in range(1, 5)]
        assert (gpus, "takes no options" in result.stderr) == (["1", None, None, "1"], True)

    @integrated
    def test_off_with_nothing_on(self, shell: Shell, person: Person) -> None:
        result = person.play(shell, "cudaswitch off", "cudaswitch off").check()
        assert foreign(result.snaps["2"]) == foreign(result.snaps["0"])

    @integrated
    def test_dash_to_nothing_sees_the_directory_of_today(
        self, shell: Shell, person: Person, tmp_path: Path
    ) -> None:
        (tmp_path / ".cuda-version").write_text("11.8\n")
        cd = f"cd {shell.quote(str(tmp_path))}"
        result = person.play(shell, "cudaswitch use 10.1", cd, "cudaswitch use -").check()
        assert result.snaps["3"]["CUDA_HOME"] == str(person.kits[1].home)


class TestNestedShells:
    @pytest.mark.parametrize("shell", (BASH, ZSH, FISH, XONSH), ids=str)
    def test_a_child_of_each_other_kind_can_undo(
        self, shell: Shell, person: Person, tmp_path: Path
    ) -> None:
        """bash → fish → tcsh: each inherits, switches, undoes, and the parent is as it was."""
        children = [BASH, FISH, TCSH, ZSH]
        # xonsh is never a child: its script needs what the driver defines.
        at = children.index(shell) if shell in children else 0
        middle, inner = (children[(at + n) % len(children)] for n in (1, 2))
        script = tmp_path / f"inner.{inner.suffix}"
        dump = f"env -0 >{tmp_path}"
        script.write_text(
            f"{person.load(inner)}\n{dump}/inherited\ncudaswitch use 12.4\n{dump}/other\n"
            f"cudaswitch off\n{dump}/undone\n"
        )
        outer = tmp_path / f"middle.{middle.suffix}"
        call = [inner.name, *inner.options, str(script)]
        outer.write_text(f"{person.load(middle)}\n{' '.join(map(middle.quote, call))}\n")
        call = [middle.name, *middle.options, str(outer)]
        child = " ".join(map(shell.quote, call))
        result = person.play(shell, "cudaswitch use 10.1", child, "cudaswitch off").check()
        seen = {name: read_env(tmp_path / name) for name in ("inherited", "other", "undone")}
        ignored = ("SHLVL", "_", "PWD", "OLDPWD", "USER", "LOGNAME")
        ignored += ("__ALIAS_NAME", "XONSH_CAPTURE_ALWAYS")
        ignored += ("GROUP", "HOST", "HOSTTYPE", "MACHTYPE", "NLSPATH", "OSTYPE", "VENDOR")

        def bare(env: dict[str, str]) -> dict[str, str]:
            return {key: value for key, value in foreign(env).items() if key not in ignored}

        before = result.snaps["0"]
        assert bare(seen["inherited"]) == bare(switched(before, person.kits[0]))
        assert bare(seen["other"]) == bare(switched(before, person.kits[2]))
        assert bare(seen["undone"]) == bare(before)
        assert foreign(result.snaps["2"]) == foreign(result.snaps["1"])
        assert foreign(result.snaps["3"]) == foreign(before)

    @integrated
    def test_a_child_that_lost_its_lists_undoes_the_rest(
        self, shell: Shell, person: Person
    ) -> None:
        """PATH and LD_LIBRARY_PATH lost in a login or setgid child come back, and `off` works."""
        lost = [shell.set("PATH", person.home.env["PATH"]), shell.unset("LD_LIBRARY_PATH")]
        steps = ["cudaswitch use 10.1", "\n".join(lost), person.load(shell), "cudaswitch off"]
        result = person.play(shell, *steps).check()
        assert foreign(result.snaps["3"]) == switched(result.snaps["0"], person.kits[0])
        assert foreign(result.snaps["4"]) == foreign(result.snaps["0"])


class TestEnvironmentsThatBringCuda:
    @pytest.fixture(params=sorted(TRACES))
    def trace(self, request: pytest.FixtureRequest, tmp_path: Path) -> Path:
        """Return the path that would show that an environment brings CUDA."""
        path = tmp_path / "an env [x]" / TRACES[request.param]
        path.parent.mkdir(parents=True)
        return path

    @staticmethod
    def active(trace: Path) -> dict[str, str]:
        prefix = next(path for path in trace.parents if path.name == "an env [x]")
        name = "CONDA_PREFIX" if trace.suffix == ".json" else "VIRTUAL_ENV"
        return {name: str(prefix)}

    @every
    def test_libraries_are_left_alone(self, shell: Shell, person: Person, trace: Path) -> None:
        come, go = (f"{command} {shell.quote(str(trace))}" for command in ("mkdir", "rmdir"))
        use, always = person.use(shell, "10.1"), person.use(shell, "10.1 --libraries always")
        steps = [use, come, use, always, go, use, person.off(shell)]
        result = person.play(shell, *steps, **self.active(trace))
        assert result.rc == 0  # another test checks the warning
        kit, before = person.kits[0], result.snaps["0"]
        for number, libraries in ((1, True), (3, False), (4, True), (6, True)):
            expected = switched(before, kit, libraries=libraries)
            assert foreign(result.snaps[str(number)]) == expected, number
        assert foreign(result.snaps["7"]) == foreign(before)

    @told_of_one
    def test_it_says_so_in_one_line(self, shell: Shell, person: Person, trace: Path) -> None:
        trace.touch()
        steps = ["cudaswitch use 10.1", "cudaswitch use 11.8 --libraries never"]
        result = person.play(shell, *steps, **self.active(trace), CUDASWITCH_QUIET=None)
        assert result.stderr.splitlines() == [
            "cudaswitch: CUDA 10.1 (LD_LIBRARY_PATH left alone: this environment brings"
            " its own CUDA)",
            "cudaswitch: CUDA 11.8 (LD_LIBRARY_PATH left alone, as asked)",
        ]

    @told_of_one
    def test_it_warns_of_libraries_that_are_forced(
        self, shell: Shell, person: Person, trace: Path
    ) -> None:
        trace.touch()
        prefix = next(iter(self.active(trace).values()))
        Path(prefix, "pyvenv.cfg").touch()
        steps = ["cudaswitch use 10.1 --libraries always"]
        result = person.play(shell, *steps, **self.active(trace), CUDASWITCH_QUIET=None)
        said = result.stderr.splitlines()
        assert str(trace) in said[0]
        assert "may then fail to load with an undefined symbol" in said[0]
        assert said[1:] == [
            "hint: --libraries auto leaves LD_LIBRARY_PATH alone there",
            "cudaswitch: CUDA 10.1",
        ]
        quiet = person.play(shell, *steps, CUDASWITCH_QUIET=None)
        assert quiet.stderr.splitlines() == ["cudaswitch: CUDA 10.1"]

    @every
    def test_names_alike_bring_nothing(self, shell: Shell, person: Person, tmp_path: Path) -> None:
        meta = tmp_path / "conda-meta"
        meta.mkdir()
        for name in ("cudatoolkit-dev-10.1-0", "libcublas-dev-12-0", "cuda-cudart-static-12-0"):
            (meta / f"{name}.json").touch()
        use = person.use(shell, "10.1")
        result = person.play(shell, use, CONDA_PREFIX=str(tmp_path)).check()
        assert foreign(result.snaps["1"]) == switched(result.snaps["0"], person.kits[0])


@told_apart
def test_a_script_whose_stderr_is_closed(shell: Shell, tmp_path: Path) -> None:
    """Switching succeeds if stderr is closed, as in a daemon, and its line cannot be written."""
    person = make_person(tmp_path / "person", (shell.name,))
    plain = Kit(tmp_path / "cuda-9.2", "9.2.148", ("lib64",)).build()
    person.adopt(plain)
    words = ("use 12.4", "use 11.8", "use 9.2", "use 10.1", "use -", "off")
    code = "$status" if shell is FISH else "$?"
    steps = [f"cudaswitch {word} 2>&-; echo {code}" for word in words]
    result = person.play(shell, *steps, CUDASWITCH_QUIET=None)
    assert result.stdout.split() == ["0"] * len(words)
    kits = (person.kits[2], person.kits[1], plain, person.kits[0], plain)
    assert homes_of(result, 6) == [*(str(kit.home) for kit in kits), None]


def homes_of(result: ShellResult, steps: int) -> list[str | None]:
    return [result.snaps[str(number)].get("CUDA_HOME") for number in range(1, steps + 1)]


@bash_and_zsh
def test_quiet_and_loud(shell: Shell, person: Person) -> None:
    steps = ["cudaswitch use 10.1", "cudaswitch off"]
    result = person.play(shell, *steps, CUDASWITCH_QUIET=None)
    assert result.stderr == "cudaswitch: CUDA 10.1\ncudaswitch: no toolkit\n"
    assert not person.play(shell, *steps).stderr


@pytest.mark.parametrize("shell", (BASH, ZSH, FISH), ids=str)
def test_what_is_installed_is_used_without_python(shell: Shell, person: Person) -> None:
    # The first `use` loads the integration from the ready file, which names the program.
    gone = f"cudaswitch use 10.1\n{shell.set('_cudaswitch_program', '/nowhere')}"
    result = person.play(shell, gone, "cudaswitch use 11.8", "cudaswitch off").check()
    homes = [result.snaps[number].get("CUDA_HOME") for number in "123"]
    assert homes == [str(person.kits[0].home), str(person.kits[1].home), None]


@told_apart
def test_python_is_asked_once_for_what_a_shared_store_has(shell: Shell, tmp_path: Path) -> None:
    """For a shared store Python is asked once, until the store is another, whatever its times."""
    person = make_person(tmp_path / "account", (shell.name,))
    shared, releases, kits = tmp_path / "shared", tmp_path / "releases", []
    for release, versions in (("1", ["9.1"]), ("2", ["9.1", "9.2"])):
        for version in versions:
            kits.append(tmp_path / f"cuda-{version}")
            shutil.copytree(person.kits[2].home, kits[-1], dirs_exist_ok=True)
            lends = ("adopt", kits[-1], "--as", version)
            succeeded(person.home.run(*lends, CUDASWITCH_HOME=str(releases / release)))
        os.utime(releases / release / "toolkits", (1e9, 1e9))
    shared.symlink_to(releases / "1")
    watched = spied(person, shell, tmp_path)
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / ".cuda-version").write_text(">=9,<10\n")
    # A store that does not exist changes nothing.
    stores = {"CUDASWITCH_STORES": f"{shared}:{tmp_path}/away"}
    steps = ["cudaswitch use 9", "cudaswitch off", cd(shell, tree), cd(shell, tmp_path)]
    for asks, kit in ((2, kits[0]), (0, kits[0]), (2, kits[-1]), (0, kits[-1])):
        result = watched.play(shell, *steps, **stores).check()
        seen = [result.snaps[number].get("CUDA_HOME") for number in "1234"]
        assert seen == [str(kit), None, str(kit), None]
        count = tmp_path / "count"
        assert (count.read_text() if count.exists() else "").count("want") == asks
        count.write_text("")
        if kit == kits[0] and not asks:
            shared.unlink()
            shared.symlink_to(releases / "2")

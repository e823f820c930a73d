"""What is Nushell's own: overlays for virtualenvs, lists, `null`, other shells below and above."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pexpect
import pytest

from checks import succeeded
from cudaswitch.shells import ROWS
from shells.conda import conda_prefix
from shells.driver import BASH, FISH, NU, ZSH, Environment, Shell
from shells.kits import Person, foreign, read_env, switched
from shells.venvs import with_virtualenv
from tools import console_script, require

NAME = "my env [x] é"
NUSHELLS_OWN = ("NU_VERSION", "CMD_DURATION_MS", "LAST_EXIT_CODE")
NUSHELLS_OWN += ("CURRENT_FILE", "FILE_PWD", "PROCESS_PATH")
LIBRARIES = pytest.mark.parametrize("libraries", [None, "", "/own lib:$x"], ids=repr)


@pytest.fixture(scope="module")
def envs(person: Person, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make `v` and `x`, pinned to the first two toolkits, and `w`, not pinned."""
    folder = tmp_path_factory.mktemp("overlays") / NAME
    for name in "vwx":
        with_virtualenv(folder / name)
    person.pin("10.1", folder / "v")
    person.pin("11.8", folder / "x")
    return folder


def entering(prefix: Path) -> str:
    return f"overlay use {NU.quote(str(prefix / 'bin' / 'activate.nu'))}"


def into(prefix: Path) -> str:
    return f"{entering(prefix)}\n{NU.prompt}"


OUT = f"deactivate\n{NU.prompt}"


def bare(env: Environment) -> Environment:
    own = ("VIRTUAL_", "PKG_CONFIG", "OLDPWD", *NUSHELLS_OWN)
    return {name: value for name, value in foreign(env).items() if not name.startswith(own)}


def inside(before: Environment, prefix: Path) -> Environment:
    return bare(before | {"PATH": f"{prefix}/bin:{before['PATH']}"})


class TestVirtualenv:
    @LIBRARIES
    def test_there_and_back(self, person: Person, envs: Path, libraries: str | None) -> None:
        steps = [into(envs / "v"), "nvcc", OUT]
        result = person.play(NU, *steps, LD_LIBRARY_PATH=libraries, CUDA_HOME=libraries).check()
        before = result.snaps["0"]
        assert bare(result.snaps["1"]) == switched(inside(before, envs / "v"), person.kits[0])
        assert result.stdout == "nvcc of 10.1.243\n"
        assert result.snaps["3"] == before

    def test_from_one_to_the_next_without_deactivation(self, person: Person, envs: Path) -> None:
        result = person.play(NU, *(into(envs / name) for name in "vwxv"), OUT).check()
        before, kits = result.snaps["0"], {"v": 0, "x": 1}
        for number, name in enumerate("vwxv", 1):
            expected = bare(result.snaps[str(number)])
            home = str(person.kits[kits[name]].home) if name in kits else None
            assert expected.get("CUDA_HOME") == home
            folders = expected["PATH"].split(":")
            ours = [one for one in folders if "toolkits" in one]
            assert ours == ([f"{home}/bin"] if home else [])
        assert result.snaps["5"] == before

    def test_what_is_chosen_inside_ends_with_the_overlay(self, person: Person, envs: Path) -> None:
        steps = ["cudaswitch use 12.4", into(envs / "v"), "cudaswitch off", OUT, "cudaswitch off"]
        result = person.play(NU, *steps).check()
        before = result.snaps["0"]
        assert bare(result.snaps["2"])["CUDA_HOME"] == str(person.kits[2].home)
        assert bare(result.snaps["3"]) == switched(inside(before, envs / "v"), person.kits[0])
        assert result.snaps["4"] == result.snaps["1"]
        assert foreign(result.snaps["5"]) == foreign(before)

    def test_pinned_and_unpinned_while_active(self, person: Person, tmp_path: Path) -> None:
        with_virtualenv(prefix := tmp_path / "v")
        at = NU.quote(str(prefix))
        words = [f"cudaswitch {word} -p {at} err> /dev/null" for word in ("pin 11.8", "unpin")]
        result = person.play(NU, into(prefix), *words, OUT).check()
        before = result.snaps["0"]
        assert bare(result.snaps["2"]) == switched(inside(before, prefix), person.kits[1])
        assert bare(result.snaps["3"]) == inside(before, prefix)
        assert result.snaps["4"] == before

    def test_unpinned_in_another_terminal(self, person: Person, tmp_path: Path) -> None:
        with_virtualenv(prefix := tmp_path / "v")
        person.pin("11.8", prefix)
        elsewhere = f"^{console_script()} unpin -p {NU.quote(str(prefix))} err> /dev/null"
        result = person.play(NU, into(prefix), elsewhere, f"cd /\n{NU.prompt}").check()
        before = result.snaps["0"]
        assert bare(result.snaps["2"]) == switched(inside(before, prefix), person.kits[1])
        assert "CUDA_HOME" not in result.snaps["3"]

    def test_a_pin_whose_toolkit_is_gone_changes_nothing(
        self, person: Person, tmp_path: Path
    ) -> None:
        with_virtualenv(prefix := tmp_path / "v")
        person.pin("12.4", prefix)
        want = prefix / "etc" / "cudaswitch" / "want"
        want.write_text(want.read_text().replace("cuda-12.4", "cuda-99"))
        want.with_name("pin").write_text("99\n")
        result = person.play(NU, into(prefix), OUT).check()
        assert bare(result.snaps["1"]) == inside(result.snaps["0"], prefix)
        # In other tests `list` would mention this pin.
        succeeded(person.home.run("unpin", "-p", prefix))


def test_a_conda_environment_by_its_variables(person: Person, tmp_path: Path) -> None:
    """No conda has a command for Nushell: setting its variables counts as activation."""
    prefix = conda_prefix(tmp_path / NAME)
    person.pin("11.8", prefix, "--libraries", "never")
    enter = f"{NU.set('CONDA_PREFIX', str(prefix))}\n{NU.prompt}"
    result = person.play(NU, enter, f"{NU.unset('CONDA_PREFIX')}\n{NU.prompt}").check()
    before = result.snaps["0"]
    expected = switched(before, person.kits[1], libraries=False)
    assert foreign(result.snaps["1"]) == expected | {"CONDA_PREFIX": str(prefix)}
    assert result.snaps["2"] == before


def test_an_edited_file_is_seen_at_the_next_prompt(person: Person, tmp_path: Path) -> None:
    def save(text: str) -> str:
        file = NU.quote(str(tmp_path / ".cuda-version"))
        return f"{NU.quote(text)} | save --force {file}\n{NU.prompt}"

    steps = [f"cd {NU.quote(str(tmp_path))}\n{NU.prompt}", save("11.8"), save("10.1"), save("#")]
    result = person.play(NU, *steps)
    homes = [result.snaps[str(number)].get("CUDA_HOME") for number in range(1, 5)]
    assert homes == [None, str(person.kits[1].home), str(person.kits[0].home), None]


def test_a_version_may_be_a_number(person: Person) -> None:
    """CUDASWITCH_VERSION may be a number, as typed without quotes; children get it as text."""
    steps = (f"$env.CUDASWITCH_VERSION = {said}\n{NU.prompt}" for said in ("11.8", "10.1", "null"))
    result = person.play(NU, *steps).check()
    homes = [result.snaps[number].get("CUDA_HOME") for number in "123"]
    assert homes == [str(person.kits[1].home), str(person.kits[0].home), None]
    assert foreign(result.snaps["3"]) == foreign(result.snaps["0"])


def test_what_frameworks_need_is_known_until_packages_change(
    person: Person, tmp_path: Path
) -> None:
    with_virtualenv(prefix := tmp_path / "v")
    ready = person.home.store / "auto" / str(prefix).replace("/", "%")
    ready.parent.mkdir(exist_ok=True)
    ready.write_text(f"{prefix}\n{person.kits[0].home}\n")
    site = next(prefix.glob("lib/python*/site-packages"))
    change = f"touch {NU.quote(str(site / 'new'))}\n$env._cudaswitch_seen = []\n{NU.prompt}"
    result = person.play(NU, into(prefix), change, OUT).check()
    assert result.snaps["1"]["CUDA_HOME"] == str(person.kits[0].home)
    assert "CUDA_HOME" not in result.snaps["2"]
    assert foreign(result.snaps["3"]) == foreign(result.snaps["0"])


def test_own_copies_stay_when_ours_was_taken_out_by_hand(person: Person) -> None:
    kit = person.kits[0]
    lists = {"PATH": f"{kit.bin}:{person.home.env['PATH']}", "LD_LIBRARY_PATH": f"/x:{kit.lib[0]}"}
    edit = "\n".join(NU.set(name, value) for name, value in lists.items())
    result = person.play(NU, "cudaswitch use 10.1", edit, "cudaswitch off", **lists).check()
    assert foreign(result.snaps["3"]) == foreign(result.snaps["0"])


def test_a_stack_that_is_inherited(person: Person, tmp_path: Path) -> None:
    """In an inherited stack the topmost pin decides; a replaced environment has no say."""
    for name, request in (("low", "10.1"), ("gone", "11.8"), ("free", None)):
        conda_prefix(tmp_path / name)
        if request:
            person.pin(request, tmp_path / name)
    place = {name: str(tmp_path / name) for name in ("low", "gone", "free")}
    result = person.play(
        NU,
        PATH=f"{place['free']}/bin:{place['low']}/bin:/usr/bin:/bin",
        CONDA_SHLVL="3",
        CONDA_PREFIX=place["free"],
        CONDA_PREFIX_1=place["low"],
        CONDA_PREFIX_2=place["gone"],
        CONDA_STACKED_2="true",
    ).check()
    assert result.snaps["0"]["CUDA_HOME"] == str(person.kits[0].home)


def test_what_env_prints_can_be_sourced(person: Person, tmp_path: Path) -> None:
    for request in ("10.1", "system"):
        text = person.home.run("env", request, "--shell", "nu").stdout
        (tmp_path / f"{request}.nu").write_text(text)
    steps = [NU.source(tmp_path / f"{request}.nu") for request in ("10.1", "system")]
    result = Person(person.home, person.kits, {}).play(NU, *steps).check()
    assert foreign(result.snaps["1"]) == switched(result.snaps["0"], person.kits[0])
    assert foreign(result.snaps["2"]) == foreign(result.snaps["0"])


def test_the_json_can_be_loaded(person: Person) -> None:
    """The JSON of `env` can be loaded, even if nothing changes and it has no PATH."""
    lines = [ROWS["nu"].evaluate.format(request=one) for one in ("system", "10.1")]
    result = person.play(NU, *lines).check()
    assert foreign(result.snaps["1"]) == foreign(result.snaps["0"])
    assert foreign(result.snaps["2"]) == switched(result.snaps["0"], person.kits[0])


def test_the_program_answers_what_the_shell_does_not(person: Person) -> None:
    shown = "cudaswitch --version | str trim | print\ncudaswitch use --help | lines | first | print"
    result = person.play(NU, shown).check()
    assert result.stdout.startswith("cudaswitch")
    assert "Usage: cudaswitch use" in result.stdout


SAID = [
    ("*.cu '*.cu' z*.q", "a.cu b.cu *.cu z*.q"),
    ("~/x '~/x' --at ~", "{home}/x ~/x --at {home}"),
    ("12.10 10.0 012 1e3 1kb true --y=1.50 -j4", "12.10 10.0 012 1e3 1kb true --y=1.50 -j4"),
    ("$float $whole $text $pattern ...$many", "12.4 12 *.cu a.cu b.cu 9.2 x"),
]


@pytest.mark.parametrize(("words", "said"), SAID, ids=[words for words, _ in SAID])
def test_words_are_those_that_any_program_gets(
    person: Person, tmp_path: Path, words: str, said: str
) -> None:
    for name in ("a.cu", "b.cu"):
        (tmp_path / name).touch()
    given = "let float = 12.4; let whole = 12; let text = '*.cu'; let many = [9.2 x]"
    given = f"cd {NU.quote(str(tmp_path))}; {given}; let pattern = ('*.cu' | into glob)"
    for program in ("cudaswitch exec 10.1 -- echo", "^/bin/echo"):
        result = person.play(NU, f"{given}; {program} {words}").check()
        assert result.stdout == f"{said.format(home=person.home.path)}\n", program


def test_a_version_may_be_a_number_in_a_variable(person: Person) -> None:
    loop = "for it in [10.1 11.8] { cudaswitch use $it }"
    steps = ["let v = 12.4; cudaswitch use $v", loop, "cudaswitch use 10.1"]
    result = person.play(NU, *steps, "let off = 'off'; cudaswitch $off", "cudaswitch use 1*")
    assert result.stderr.startswith("cudaswitch: `1*` is not a CUDA version")
    homes = [result.snaps[number].get("CUDA_HOME") for number in "1234"]
    assert homes == [*(str(person.kits[number].home) for number in (2, 1, 0)), None]


@pytest.mark.parametrize("content", [b"", b"one\ntwo\n", b"\xff\0\r\n\xfe"], ids=repr)
def test_the_program_reads_what_is_piped_in(person: Person, tmp_path: Path, content: bytes) -> None:
    """`exec` reads what is piped in; Nushell itself may drop a program's last line break."""
    (tmp_path / "in").write_bytes(content)
    for source in ("open --raw", "^cat"):
        come = f"{source} {NU.quote(str(tmp_path / 'in'))} | cudaswitch exec 10.1 -- cat"
        person.play(NU, f"{come} | save --raw --force {NU.quote(str(tmp_path / 'out'))}").check()
        came = (tmp_path / "out").read_bytes()
        assert came == content if source == "open --raw" else came in (content, content[:-1])


def loading_after(own: str, person: Person, folder: Path) -> Person:
    """Return a person who loads `own` before the integration, as files that Nushell runs."""
    before, both = folder / "before.nu", folder / "both.nu"
    before.write_text(f"{own}\n")
    both.write_text(f"{NU.source(before)}\n{person.load(NU)}\n")
    return Person(person.home, person.kits, {"nu": both})


def test_a_release_that_is_too_old_is_told_so_and_left_alone(
    person: Person, tmp_path: Path
) -> None:
    (tmp_path / ".cuda-version").write_text("11.8\n")
    old = 'def version [] { {major: 0, minor: 113, version: "0.113.1"} }'
    meant = loading_after(old, person, tmp_path)
    into = f"cd {NU.quote(str(tmp_path))}"
    result = meant.play(NU, into, "cudaswitch exec 10.1 -- nvcc", "cudaswitch use 10.1")
    assert result.stdout == "nvcc of 10.1.243\n"
    assert "Nushell 0.113.1 is too old, nothing is switched" in result.stderr
    assert not any("CUDA_HOME" in snap for snap in result.snaps.values())


def test_what_a_person_calls_by_a_builtin_s_name_is_left_out(
    person: Person, tmp_path: Path
) -> None:
    with_virtualenv(prefix := tmp_path / "v")
    site = next(prefix.glob("lib/python*/site-packages"))
    (site / "nvidia" / "cublas" / "lib").mkdir(parents=True)
    (tmp_path / ".cuda-version").write_text("11.8\n")
    own = "alias ls = ^false\nalias open = ^false\ndef which [] { error make {msg: x} }"
    meant = loading_after(own, person, tmp_path)
    enter = NU.set("VIRTUAL_ENV", str(prefix))
    steps = [f"cd {NU.quote(str(tmp_path))}\n{NU.prompt}", "cudaswitch use 10.1", "cudaswitch off"]
    result = meant.play(NU, *steps, f"{enter}\ncudaswitch use 10.1").check()
    homes = [result.snaps[number].get("CUDA_HOME") for number in "01234"]
    assert homes == [None, *(str(person.kits[number].home) for number in (1, 0, 1, 0))]
    assert person.kits[0].lib[0] in result.snaps["2"]["LD_LIBRARY_PATH"]
    assert "LD_LIBRARY_PATH" not in result.snaps["4"]


@pytest.mark.parametrize("outer", (BASH, ZSH, FISH), ids=str)
def test_other_shells_above_and_below(outer: Shell, person: Person, tmp_path: Path) -> None:
    """outer → nu → outer: each inherits, switches, undoes, and the one above is as it was."""
    dump = f"env -0 >{tmp_path}"
    inner = tmp_path / f"inner.{outer.suffix}"
    inner.write_text(
        f"{person.load(outer)}\n{dump}/inherited\ncudaswitch use 10.1\n{dump}/other\n"
        f"cudaswitch off\n{dump}/undone\n"
    )
    call = " ".join(map(NU.quote, [*outer.options, str(inner)]))
    middle = tmp_path / "middle.nu"
    middle.write_text(
        f"{person.load(NU)}\n^env -0 out> {tmp_path}/nu\ncudaswitch use 12.4\n"
        f"^{outer.name} {call}\ncudaswitch off\n^env -0 out> {tmp_path}/off\n"
    )
    child = " ".join(map(outer.quote, [*NU.argv(), str(middle)]))
    result = person.play(outer, "cudaswitch use 11.8", child, "cudaswitch off").check()
    ignored = ("SHLVL", "_", "PWD", "OLDPWD", "USER", "LOGNAME", *NUSHELLS_OWN)
    before = result.snaps["0"]

    def plain(env: Environment) -> Environment:
        return {name: value for name, value in foreign(env).items() if name not in ignored}

    expected = {"nu": 1, "inherited": 2, "other": 0, "undone": None, "off": None}
    for name, number in expected.items():
        seen = plain(read_env(tmp_path / name))
        kit = None if number is None else person.kits[number]
        assert seen == plain(switched(before, kit) if kit else before), name
    assert foreign(result.snaps["2"]) == foreign(result.snaps["1"])
    assert foreign(result.snaps["3"]) == foreign(before)


class Prompt:
    """Nushell at a real prompt, where overlays remember what was set in them."""

    def __init__(self, person: Person, folder: Path, **variables: str) -> None:
        self.folder, self.number = folder, 0
        self.child = pexpect.spawn(
            require("nu"),
            ["--no-config-file", "--no-history", "--execute", person.load(NU)],
            env=person.home.env | {"CUDASWITCH_QUIET": "1"} | variables,
            cwd=str(folder),
            encoding="utf-8",
            timeout=60,
            echo=False,
            dimensions=(50, 500),
        )

        self._until("B")

    def _until(self, mark: str) -> None:
        """Wait for a mark of the prompt: `B` where typing begins, `C` where a command runs.

        The line editor asks the terminal where its cursor is, and waits for an answer.
        """
        while self.child.expect([rf"\x1b\]133;{mark}", r"\x1b\[6n"]):
            self.child.send("\x1b[1;1R")

    def _type(self, line: str) -> None:
        self.child.send(f"{line}\r")
        self._until("C")
        self._until("B")

    def say(self, *lines: str) -> Environment:
        """Type lines, and return the environment of a program that is run after them."""
        self.number += 1
        snap = self.folder / f"snap{self.number}"
        for line in (*lines, f"^/usr/bin/env -0 out> {snap}"):
            self._type(line)
        return read_env(snap)


@pytest.fixture
def at_prompt(person: Person, tmp_path: Path) -> Iterator[Prompt]:
    prompt = Prompt(person, tmp_path, LD_LIBRARY_PATH="/own")
    yield prompt
    prompt.child.close(force=True)


def test_overlays_that_are_entered_again(person: Person, envs: Path, at_prompt: Prompt) -> None:
    """An overlay entered again is right, though Nushell restores outdated values set in it."""
    before = bare(at_prompt.say("null"))
    for libraries in ("/own", "/mine"):
        outside = before | {"LD_LIBRARY_PATH": libraries}
        at_prompt.say(NU.set("LD_LIBRARY_PATH", libraries))
        for name, number in (("v", 0), ("v", 0), ("w", None), ("x", 1)):
            now = bare(at_prompt.say(entering(envs / name)))
            expected = inside(outside, envs / name)
            kit = None if number is None else person.kits[number]
            assert now == (bare(switched(expected, kit)) if kit else expected), (libraries, name)
            assert bare(at_prompt.say("deactivate")) == outside
    at_prompt.say("cudaswitch use 12.4")
    at_prompt.say(entering(envs / "w"))
    assert bare(at_prompt.say("cudaswitch off")) == inside(outside, envs / "w")
    assert bare(at_prompt.say("deactivate")) == bare(switched(outside, person.kits[2]))
    assert bare(at_prompt.say("cudaswitch off")) == outside


def test_the_prompt_follows_directories_and_keeps_the_exit_status(
    person: Person, at_prompt: Prompt, tmp_path: Path
) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / ".cuda-version").write_text(">=11,<12\n")
    (tmp_path / "tree" / "sub").mkdir()
    (tmp_path / "tree" / "sub" / ".cuda-version").write_text("9.2\n")
    other = "{|| $env.OTHER = $env.LAST_EXIT_CODE }"
    at_prompt.say(f"$env.config.hooks.pre_prompt ++= [{other}]")
    now = at_prompt.say("cd tree; ^sh -c 'exit 7'", "$env.SEEN = $env.OTHER")
    assert now["CUDA_HOME"] == str(person.kits[1].home)
    assert now["SEEN"] == "7"
    # Asked about this folder, our program ends with a status of its own.
    now = at_prompt.say("cd sub; ^sh -c 'exit 5'", "$env.SEEN = $env.OTHER")
    assert (now.get("CUDA_HOME"), now["SEEN"]) == (None, "5")
    at_prompt.say("cd ..")
    assert "CUDA_HOME" not in at_prompt.say("cd ..")


def test_without_a_pipe_the_program_has_the_terminal(at_prompt: Prompt, tmp_path: Path) -> None:
    at_prompt.say("cudaswitch exec 10.1 -- sh -c 'test -t 0 && test -t 1 && touch both'")
    assert (tmp_path / "both").exists()


def test_a_choice_on_the_line_that_enters_an_overlay(
    person: Person, envs: Path, at_prompt: Prompt
) -> None:
    """A choice just before an overlay is entered holds, even if Nushell restores old values."""
    before = bare(at_prompt.say("null"))
    for _ in range(2):
        at_prompt.say("cudaswitch use 11.8")
        now = bare(at_prompt.say(f"cudaswitch off; {entering(envs / 'w')}"))
        assert now == inside(before, envs / "w")
        assert bare(at_prompt.say("deactivate")) == before
        now = bare(at_prompt.say(f"cudaswitch use 12.4; {entering(envs / 'w')}"))
        assert now == bare(switched(inside(before, envs / "w"), person.kits[2]))
        at_prompt.say("deactivate", "cudaswitch off")

"""Golden texts of every operation and shell, and the environment that all shells reach.

A golden file has what is rendered around the texts beside `cudaswitch/shells/rows.py`; each
text appears only as `<its name>`, so that editing one changes no golden file. After an
intended change, `GOLDEN=write pytest tests/shells/test_golden.py` rewrites the files; review
the difference like any other.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Callable
from functools import cache, partial
from importlib.resources import files
from pathlib import Path

import pytest

from cudaswitch import shells
from cudaswitch.completion import folder_of
from cudaswitch.shells import FAMILIES
from cudaswitch.shells import SHELLS as ROWS
from cudaswitch.shells.carrying import carried
from homes import Home
from shells.conda import Emulator, conda_prefix
from shells.driver import SHELLS, Shell, ShellResult
from shells.kits import Person
from shells.pinned import Session
from shells.venvs import activate, with_venv

POSIX_AND_FISH = (".sh", ".bash", ".zsh", ".fish")
GOLDEN = Path(__file__).with_name("golden")
ROOT, PROGRAM = "/home/o'neill/a $store", '/opt/a "program"/cudaswitch'
SCRIPTS = "/opt/a `share`"
TOOLKIT, OPTIONS = "/srv/a store/toolkits/10.1.243+cudnn7.6.5", "lib=always:gpus=0,2"
WATCHED = ("lib/python3.11/site-packages", "yx")


def _operations() -> dict[str, Callable[[], str]]:
    """Map the name of each golden file to what renders its text."""
    found: dict[str, Callable[[], str]] = {}
    for name, row in ROWS.items():
        found[f"use.{name}"] = partial(shells.use, row, f"{TOOLKIT}:{OPTIONS}")
        found[f"system.{name}"] = partial(shells.use, row, "system")
        if row.init:
            values = {"root": ROOT, "program": PROGRAM, "scripts": folder_of(name) and SCRIPTS}
            found[f"init.{name}"] = partial(shells.init, row, **values)
            if row.again:
                file = Path(ROOT, "init", name)
                found[f"ready.{name}"] = partial(shells.ready, row, **values, file=file)
                found[f"rest.{name}"] = partial(_beside, row, file)
    for family in FAMILIES:
        owner: shells.Owner
        for owner in ("C", "V"):
            for half in ("enter", "leave"):
                found[f"{half}-{owner}.{family}"] = partial(
                    shells.hook,
                    family,
                    half,
                    owner,
                    TOOLKIT,
                    OPTIONS,
                    automatic=False,
                    watched=WATCHED,
                )
    return found


def _beside(row: shells.Shell, file: Path) -> str:
    [text] = shells.beside(row, file).values()
    return text


OPERATIONS = _operations()
ENVIRONMENTS = ("use", "use-gpus", "conda", "virtualenv")

NOT_OURS = ("CONDA_", "VIRTUAL_ENV", "_OLD_", "PS1", "_CUDASWITCH_PREVIOUS")
"""Prefixes of variables that conda and virtualenvs change themselves, or that only shells
with integration have."""


def with_names_for_texts(text: str) -> str:
    """Replace each shipped text by its name, and the folder of the texts by `<texts>`."""
    for written, name in _names_of_texts():
        text = text.replace(written, name)
    return text.replace(str(files(shells)), "<texts>")


@cache
def _names_of_texts() -> list[tuple[str, str]]:
    """Return every form that a shipped text is written in, with its name."""
    shipped = [at for at in files(shells).iterdir() if at.is_file() and not at.name.endswith(".py")]
    texts = {at.name: at.read_text(encoding="utf-8") for at in shipped}
    quotes = (lambda kept: f"'{kept}'", *(row.quote for row in ROWS.values()))
    found = []
    # The longest first: one may be a part of another.
    for name, kept in sorted(texts.items(), key=lambda item: -len(item[1])):
        plain = shells.text_of(name)
        keyword = shells.with_keyword(plain)
        comments = "".join(f"#:{line}\n" for line in plain.splitlines())
        forms = {kept: "", keyword: ", [[", plain: "", comments: ", #:"}
        for form, how in forms.items():
            found += [(quote(form)[1:-1], f"<{name}{how}>\n") for quote in quotes]
    for name in {part for row in ROWS.values() for part in (*row.core, *row.use, *row.init)}:
        if name.endswith(".py"):
            found.append((_as_carried(name), f"<{name}>"))
    return found


def _as_carried(module: str) -> str:
    """Return how a text that carries several modules spells one: as a part of a literal."""
    (run,) = ast.parse(carried((module,))).body
    _, _, source = ast.literal_eval(run.value.args[0]).partition("\n")
    # `repr` writes a text with both kinds of quotes between single ones.
    return repr("\"'" + source.strip("\n"))[4:-1]


def assert_golden(name: str, text: str) -> None:
    path = GOLDEN / name
    if os.environ.get("GOLDEN") == "write":
        path.write_text(text, encoding="utf-8")
    assert path.is_file(), f"no golden text for `{name}`: see the head of this module"
    assert text == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", OPERATIONS)
def test_texts(name: str) -> None:
    assert_golden(name, with_names_for_texts(OPERATIONS[name]()))


def test_no_golden_file_is_left_over() -> None:
    known = {*OPERATIONS, *(f"{name}.environment" for name in ENVIRONMENTS)}
    assert {path.name for path in GOLDEN.iterdir()} == known


@pytest.mark.parametrize("name", ROWS)
def test_the_command_prints_these_texts(name: str, person: Person) -> None:
    home: Home = person.home
    row = ROWS[name]
    want = f"{person.kits[0].home}:lib=never"
    done = home.run("env", "10.1", "--libraries", "never", "--shell", name)
    assert (done.stdout, done.stderr) == (shells.use(row, want), "")
    if row.init and not row.core:
        done = home.run("init", name)
        root = row.local.format(name="_cudaswitch_root", value=row.quote(str(home.store)))
        assert root in with_names_for_texts(done.stdout)


def changed(result: ShellResult, folder: Path, person: Person, since: str = "0") -> str:
    """Write down what differs between a snap and the last one, one variable a line."""
    last = max(result.snaps, key=int)
    lines = []
    for name, (_, value) in result.changes(since, last).items():
        if name.startswith(NOT_OURS):
            continue
        shown = "unset" if value is None else f"={value}"
        for place, where in (
            ("<kit>", person.kits[0].home),
            ("<environments>", folder),
            ("<path>", result.snaps[since]["PATH"]),
        ):
            shown = shown.replace(str(where), place)
        lines.append(f"{name}{shown}\n")
    return "".join(lines)


@pytest.fixture(scope="module")
def environments(person: Person, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("golden") / "an env"
    person.pin("10.1", conda_prefix(folder / "c"), "--libraries", "always")
    with_venv(folder / "v")
    person.pin("10.1", folder / "v")
    return folder


@pytest.mark.parametrize("shell", SHELLS, ids=str)
class TestEveryShellReaches:
    """The bookkeeping too is the same, byte for byte: any other shell must be able to undo it."""

    # Variables that the person already has: a list, an empty value and a value.
    had = {"LD_LIBRARY_PATH": "/own lib", "CUDA_PATH": "", "CUDACXX": "/own/nvcc"}  # noqa: RUF012  # never changed

    def test_by_use(self, shell: Shell, person: Person, environments: Path) -> None:
        result = person.play(shell, person.use(shell, "10.1"), **self.had).check()
        assert_golden("use.environment", changed(result, environments, person))

    def test_by_use_with_gpus(self, shell: Shell, person: Person, environments: Path) -> None:
        want = f"{person.kits[0].home}:gpus=0,2"
        use = shells.use(shells.shell_named(shell.name), want)
        result = person.play(shell, person.use(shell, "12.4"), use, **self.had).check()
        assert_golden("use-gpus.environment", changed(result, environments, person))

    def test_by_a_pin_and_activation(
        self, shell: Shell, person: Person, environments: Path
    ) -> None:
        conda = Emulator()
        session = Session(person, environments, shell, conda)
        enter = conda.activate(shell, environments / "c")
        result = session.play(enter, **self.had).check()
        assert_golden("conda.environment", changed(result, environments, person, "1"))

    def test_by_a_pinned_virtualenv(self, shell: Shell, person: Person, environments: Path) -> None:
        enter = activate(shell, environments / "v")
        bare = Person(person.home, person.kits, {})
        result = bare.play(shell, enter, **self.had).check()
        assert_golden("virtualenv.environment", changed(result, environments, person))


def test_what_core_tells_of_the_state_is_all_of_it() -> None:
    """The head of core.sh, the only map of the texts' variables, mentions every one in use."""
    folder = Path(shells.__file__).parent
    told = (folder / "core.sh").read_text().partition("\n\n# $1 = set or give")[0]
    known = {*re.findall(r"\b_(?:cudaswitch_|CUDASWITCH_)?([A-Za-z]+)", told)}
    known |= {*re.findall(r"\b[A-Z]+\b", told)}
    texts = [path.read_text() for path in folder.iterdir() if path.suffix in POSIX_AND_FISH]
    named = re.compile(r"(?<![\w*])_(?:cudaswitch|CUDASWITCH)_([A-Za-z]+)")
    used = {name for text in texts for name in named.findall(text)}
    assert used - known == set()


def test_tests_with_a_keyword() -> None:
    """Tests of files and of one string become `[[`; comparisons would follow `nocasematch`."""
    written = """while ! [ -f "$a$b/.file" ] && [ -n "${c##*:}" ]; do [ "$a/x" -nt "$b" ]; done
case $a in [ -f]*) ;; esac; [ "$a" != b ] || [ $# -gt 1 ] || [ -n "a b" ]
"""
    meant = """while ! [[ -f $a$b/.file ]] && [[ -n ${c##*:} ]]; do [[ $a/x -nt $b ]]; done
case $a in [ -f]*) ;; esac; [ "$a" != b ] || [ $# -gt 1 ] || [ -n "a b" ]
"""
    assert shells.with_keyword(written) == meant

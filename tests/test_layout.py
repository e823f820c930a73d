"""The shape of the project: import order, sizes, what starts without what, what is shipped."""

from __future__ import annotations

import ast
import contextlib
import os
import re
import shlex
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from graphlib import TopologicalSorter
from importlib.metadata import metadata
from pathlib import Path

import click
import pytest

import cudaswitch
from cudaswitch import shells
from cudaswitch.cli import COMMANDS, cli
from cudaswitch.completion import SCRIPTS
from cudaswitch.shipped import shipped
from tools import console_script

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "cudaswitch"

ORDER = (
    *(
        "__init__",
        "shipped",
        "completion",
        "namedtuples",
        "errors",
        "plaintoml",
        "talk",
        "progress",
        "versions",
        "platforms",
        "toolkit",
        "tools",
        "programs",
        "planning",
        "compat",
        "resolver",
        "activation",
        "elf",
        "pe",
        "binaries",
        "regular",
        "marked",
        "sites",
        "bundled",
        "loader",
        "environments",
    ),
    *(
        "shells",
        "hostcompiler",
        "settings",
        "ownership",
        "sweeping",
        "durable",
        "rewriting",
        "locks",
        "configuring",
        "paths",
        "healing",
    ),
    *("archives", "compose", "contents", "download"),
    *(
        "store",
        "staging",
        "publishing",
        "changing",
        "sharing",
        "install",
        "adopting",
        "verifying",
        "mending",
        "lockfile",
        "sources",
        "mirroring",
        "named",
    ),
    *(
        "detect",
        "automatic",
        "lent",
        "decision",
        "holders",
        "hooks",
        "processes",
        "pins",
        "collecting",
        "shims",
        "lookup",
    ),
    *("integration", "ready", "startfiles", "startup", "doctor", "helptexts", "telling", "running"),
    *("formats", "answering", "check", "postponed", "cli", "__main__"),
)
"""Each module imports only from those before it; docs/design.md says what each answers."""

PURE = (
    "errors",
    "plaintoml",
    "versions",
    "toolkit",
    "planning",
    "resolver",
    "activation",
    "elf",
    "pe",
    "marked",
    "loader",
)
"""Modules that open no file, start no process and know no command line."""

EDGES = {
    "backports": ("archives",),
    "click": ("cli", "__main__"),
    "compression": ("archives",),
    "conda_package_streaming": ("archives",),
    "isal": ("archives",),
    "msgpack": ("sources",),
    "packaging": ("archives", "mirroring", "sources"),
    "platformdirs": ("platforms",),
    "rattler": ("mirroring", "sources"),
    "requests": ("download",),
    "tomli": ("lockfile", "settings"),
    "tomlkit": ("configuring",),
    "tqdm": ("download", "progress"),
    "urllib3": ("download",),
    "xonsh": ("shells",),
    "yaml": ("sources",),
}
"""Library → the only modules that may import it."""

_IMPURE = {
    *("asyncio", "ctypes", "fcntl", "glob", "importlib", "io", "multiprocessing", "os", "pathlib"),
    *("shutil", "signal", "socket", "sqlite3", "subprocess", "tarfile", "tempfile", "threading"),
    *("urllib", "zipfile"),
}
_MOST_LINES = 400
_MOST_LINES_OF_TESTS = 450


def sources() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def name_of(path: Path) -> str:
    """Return a file's dotted name below `cudaswitch`: `cli.packages`, `cli`, `__main__`."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


NAMES = frozenset(map(name_of, sources()))


def imported(tree: ast.AST, *, lazily: bool = True) -> Iterator[str]:
    """Yield the full names that a file imports; ours as NAMES has them, after `cudaswitch.`.

    With `lazily` also what functions import when they are called.
    """
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are written in full"
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                yield full if full.removeprefix("cudaswitch.") in NAMES else str(node.module)
        elif lazily or not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
                continue
            yield from imported(node, lazily=lazily)


def ours(names: Iterator[str]) -> set[str]:
    found = {name for name in names if top(name) == "cudaswitch"}
    return {name.removeprefix("cudaswitch").removeprefix(".") or "__init__" for name in found}


def top(name: str) -> str:
    return name.partition(".")[0]


def test_every_module_has_its_place() -> None:
    assert {top(name) for name in NAMES} == set(ORDER)
    assert len(set(ORDER)) == len(ORDER)


def test_the_design_lists_the_modules_in_their_order() -> None:
    text = (ROOT / "docs/design.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`.*?`) \|", text.partition("| module |")[2], re.MULTILINE)
    listed = [name for row in rows for name in re.findall("`([a-z]+)`", row)]
    assert listed[: len(ORDER) - 2] == [name for name in ORDER if not name.startswith("__")]


@pytest.mark.parametrize("path", sources(), ids=name_of)
def test_a_module_imports_only_what_comes_before_it(path: Path) -> None:
    mine = top(name_of(path))
    for name in ours(imported(ast.parse(path.read_text(encoding="utf-8")))):
        if top(name) != mine:
            assert ORDER.index(top(name)) < ORDER.index(mine), f"{mine} imports {name}"


def test_inside_a_package_there_is_an_order_too() -> None:
    graph = {
        name_of(path): ours(imported(ast.parse(path.read_text(encoding="utf-8")), lazily=False))
        for path in sources()
    }
    list(TopologicalSorter(graph).static_order())  # raises CycleError


@pytest.mark.parametrize("path", sources(), ids=name_of)
def test_libraries_stay_at_the_edges(path: Path) -> None:
    for name in imported(ast.parse(path.read_text(encoding="utf-8"))):
        if top(name) not in {*sys.stdlib_module_names, "cudaswitch"}:
            assert top(name_of(path)) in EDGES[top(name)]


@pytest.mark.parametrize("path", [p for p in sources() if top(name_of(p)) in PURE], ids=name_of)
def test_the_pure_touch_nothing(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert not {top(name) for name in imported(tree)} & _IMPURE
    called = {node.func.id for node in ast.walk(tree) if _is_plain_call(node)}
    assert not called & {"open", "print", "input", "exec", "eval", "__import__"}


def _is_plain_call(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name)


def test_files_stay_small() -> None:
    made = {ROOT / "completions" / name for name in SCRIPTS.values()}
    written = {
        path
        for folder in (PACKAGE, ROOT / "shims", ROOT / "completions", ROOT / ".ci")
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    lines = {path: path.read_text(encoding="utf-8").count("\n") for path in written - made}
    assert len(lines) > 50
    assert not {str(path): count for path, count in lines.items() if count >= _MOST_LINES}
    for path in (ROOT / "tests").rglob("*.py"):
        assert path.read_text(encoding="utf-8").count("\n") < _MOST_LINES_OF_TESTS, path


def test_no_test_module_has_what_another_one_uses() -> None:
    """Fixtures are in `conftest.py`, helpers in modules that collect no tests."""
    takes = re.compile(r"^\s*(?:from|import)\b.*\btest_\w+.*$", re.MULTILINE)
    for path in (ROOT / "tests").rglob("*.py"):
        assert not takes.findall(path.read_text(encoding="utf-8")), path


def modules_of(*command: str) -> set[str]:
    """Run a command line in a real process and return all modules that it imported."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", *command],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stdout
    return {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}


@pytest.mark.parametrize(
    "arguments", [["--version"], *(["completion", shell] for shell in SCRIPTS)], ids=" ".join
)
def test_what_shells_start_with_loads_nothing_heavy(arguments: list[str]) -> None:
    """Commands that shells start with load nothing but modules of Python's own, and few of those.

    What the environment's own start brings (`site`, an editable install) does not count.
    """
    loaded = modules_of(str(console_script()), *arguments) - modules_of("-c", "print()")
    assert "cudaswitch" in loaded
    tops = {top(name) for name in loaded} - {"cudaswitch"}
    assert tops <= sys.stdlib_module_names
    assert not tops & {"dataclasses", "importlib", "json", "pathlib", "subprocess", "typing"}
    assert not {name for name in loaded if name.startswith("cudaswitch.cli")}
    # The same measure does see a command that loads more.
    assert "click" in modules_of(str(console_script()), "config", "list")


def test_the_version_is_told_in_both_ways(tmp_path: Path) -> None:
    for start in ([str(console_script())], [sys.executable, "-m", "cudaswitch"]):
        done = subprocess.run(
            [*start, "--version"], capture_output=True, text=True, check=True, cwd=tmp_path
        )
        assert done.stdout == f"cudaswitch {cudaswitch.__version__}\n"


def test_ci_runs_the_command_of_the_readme() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    [command] = re.findall(r"^.*\.venv/bin/nox$", readme, re.MULTILINE)
    assert command in (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    assert os.access(ROOT / ".ci" / "run", os.X_OK)


def test_each_shell_reads_the_texts_in_its_language() -> None:
    """`lint` reads all shells' texts but PowerShell's and Nushell's, which tests parse instead."""
    nox = ast.parse((ROOT / "noxfile.py").read_text())
    [checks] = [
        ast.literal_eval(each.value)
        for each in nox.body
        if isinstance(each, ast.Assign) and ast.unparse(each.targets[0]) == "SHELL_CHECKS"
    ]
    read: dict[str, set[str]] = {}
    for (program, *_), patterns in checks:
        files = (path for pattern in patterns for path in ROOT.glob(pattern))
        read.setdefault(program, set()).update(files)
    texts = {path for path in (ROOT / "cudaswitch/shells").iterdir() if path.is_file()}
    unread = texts - set().union(*read.values())
    assert {path.suffix for path in unread} <= {".py", ".nu", ".ps1"}
    assert {path for path in texts if path.suffix in (".sh", ".bash")} <= read["bash"]
    # Shims and tcsh have these read by /bin/sh.
    posix = {*shells.FAMILIES["sh"].core, "ready.sh", "answers.sh", "file.sh", "ask.sh", "say.sh"}
    assert {path for path in texts if path.name in posix} <= read["dash"]


installed = pytest.mark.skipif(
    not os.environ.get("CUDASWITCH_TEST_INSTALLED"), reason="only where nox installed the wheel"
)


@installed
def test_the_wheel_is_what_is_tested() -> None:
    module = Path(str(cudaswitch.__file__))
    assert not module.is_relative_to(PACKAGE)
    assert module.is_relative_to(sysconfig.get_path("purelib"))
    assert not {Path(at).resolve() for at in sys.path} & {ROOT, PACKAGE}


@installed
def test_the_wheel_carries_what_lies_beside_the_package() -> None:
    """The wheel carries these files inside, for the commands, and in `share`, where shells look."""
    inside = Path(str(cudaswitch.__file__)).parent / "share"
    assert {path.name for path in inside.iterdir()} == {"said.sh", "launcher.sh", *SCRIPTS.values()}
    for name in ("said.sh", "launcher.sh"):
        assert shipped(name) == (ROOT / "shims" / name).read_text(encoding="utf-8")
    for shell, place in (
        ("bash", "bash-completion/completions/cudaswitch"),
        ("zsh", "zsh/site-functions/_cudaswitch"),
        ("fish", "fish/vendor_completions.d/cudaswitch.fish"),
    ):
        text = (ROOT / "completions" / SCRIPTS[shell]).read_text(encoding="utf-8")
        assert (Path(sys.prefix) / "share" / place).read_text(encoding="utf-8") == text


@installed
def test_the_wheel_lacks_nothing_of_the_package() -> None:
    package = Path(str(cudaswitch.__file__)).parent
    for path in PACKAGE.rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            assert (package / path.relative_to(PACKAGE)).read_bytes() == path.read_bytes()


@pytest.mark.parametrize("path", sources(), ids=name_of)
def test_no_closed_folder_ends_a_question(path: Path) -> None:
    """No code asks a `Path` what is there: in a closed folder, that raises PermissionError.

    Up to Python 3.13, that is; `os.path` says no, and `regular.is_there` raises it in all versions.
    """
    asked = {"exists", "is_dir", "is_file", "is_symlink"}
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            # A call with keywords is one of a folder's entry, which has been looked at already.
            from_a_path = node.func.attr in asked and not node.keywords
            assert not from_a_path or ast.unparse(node.func.value) == "os.path", node.lineno


@pytest.mark.parametrize("path", sources(), ids=name_of)
def test_where_the_home_folder_is_has_one_answer(path: Path) -> None:
    """Only `platforms` finds the home folder: Python's ways take even an empty or relative HOME."""
    text = path.read_text(encoding="utf-8")
    is_asked = re.search(r"\bexpanduser\(|\bPath\.home\(|\bgetpwuid\(", text)
    assert not is_asked or name_of(path) == "platforms"


def test_no_text_names_a_command_that_is_not_there() -> None:
    """Texts name only commands that exist, so that every hint can be followed."""
    texts = [*PACKAGE.rglob("*.py"), *PACKAGE.rglob("*.sh"), *PACKAGE.rglob("*.fish")]
    texts += [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("shims/*.sh")]
    named = {
        (path.name, word)
        for path in texts
        for word in re.findall(r"[`\"]cudaswitch ([a-z]+)\b", path.read_text(encoding="utf-8"))
    }
    assert len(named) > 50
    prose = {("carrying.py", "carried"), ("faults.py", "opens")}
    assert {one for one in named if one[1] not in COMMANDS} == prose


def documented() -> list[tuple[str, str]]:
    """Return the words after `cudaswitch` in code spans and blocks, each with its document."""
    found = []
    for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")):
        text = path.read_text(encoding="utf-8")
        lines = re.findall(r"`(cudaswitch [^`]+)`", text)
        for block in re.findall(r"```\w*\n(.*?)```", text, re.DOTALL):
            lines += [re.sub(r"\s+#.*", "", line).removeprefix("$ ") for line in block.splitlines()]
        begin = r"(?:^|[;(|\"]|\$\()\s*cudaswitch ([^;|)\"\\<>]+)"
        found += [(path.name, words) for line in lines for words in re.findall(begin, line)]
    return [*found, *hinted()]


def hinted() -> list[tuple[str, str]]:
    """Return the words after `cudaswitch` in the hints that shells give, each with its text."""
    said = re.compile(r"(?:hint: |, then )cudaswitch ([^'\"\\\n,;]+)")
    texts = [*(PACKAGE / "shells").iterdir(), *ROOT.glob("shims/*")]
    found = [(at.name, said.findall(at.read_text("utf-8"))) for at in texts if at.is_file()]
    assert sum(bool(words) for _, words in found) > 5
    return [(name, words) for name, all_words in found for words in all_words]


@pytest.mark.parametrize(("document", "words"), sorted(set(documented())))
def test_what_documents_tell_to_type_is_understood(document: str, words: str) -> None:
    arguments = shlex.split(words.replace("…", "").replace("COMMAND", "use"))
    command: click.Command = cli
    context = click.Context(cli)
    # --help and the bare name of a command end otherwise.
    named = click.MissingParameter if len(arguments) == 1 else click.exceptions.Exit
    with contextlib.suppress(click.exceptions.Exit, named):
        while isinstance(command, click.Group) and arguments and arguments[0][0] != "-":
            name, found, arguments = command.resolve_command(context, arguments)
            assert found, name
            command, context = found, click.Context(found, context, name)
        command.parse_args(context, arguments)


def test_no_text_names_an_extra_that_is_not_there() -> None:
    extras = set(metadata("cudaswitch").get_all("Provides-Extra") or ())
    texts = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *PACKAGE.rglob("*.py")]
    for path in texts:
        named = set(re.findall(r"cudaswitch\[([a-z]+)\]", path.read_text(encoding="utf-8")))
        assert named <= extras, f"{path}: {named - extras}"
    assert extras

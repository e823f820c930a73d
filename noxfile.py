"""Every check of the project: `nox` runs them all, `nox -s NAME` one, `nox -l` lists them."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import nox

nox.needs_version = ">=2024.10.9"
nox.options.sessions = ["lint", "tests"]

ROOT = Path(__file__).parent
PROJECT = nox.project.load_toml(ROOT / "pyproject.toml")
PYTHON_FILES = ("benchmarks", "cudaswitch", "tests", "completions", "noxfile.py")
TEMPLATES = ("enter.", "leave.")
"""Beginnings of shell texts with placeholders, which no parser reads before they are filled in;
tests run them filled in."""

SHELL_CHECKS = (
    (("shellcheck",), (".ci/run", "shims/*.sh", "completions/*.bash", "docs/*.sh")),
    (("shellcheck",), ("cudaswitch/shells/*.sh", "cudaswitch/shells/*.bash")),
    (("bash", "-n"), (".ci/run", "benchmarks/*.sh", "completions/*.bash", "docs/*.sh")),
    (("bash", "-n"), ("cudaswitch/shells/*.sh", "cudaswitch/shells/*.bash")),
    (("dash", "-n"), ("cudaswitch/shells/*.sh", "shims/*.sh")),
    (("zsh", "-n"), ("completions/_*", "cudaswitch/shells/*.sh", "cudaswitch/shells/*.zsh")),
    (
        ("fish", "--no-execute"),
        ("benchmarks/*.fish", "completions/*.fish", "cudaswitch/shells/*.fish"),
    ),
    (("tcsh", "-f", "-n"), ("cudaswitch/shells/*.csh",)),
)
"""Checker → the files that it reads."""


def dependencies(session: nox.Session, group: str) -> None:
    session.install(*nox.project.dependency_groups(PROJECT, group))


def _is_for(shell: str, path: Path) -> bool:
    """Tell whether `shell` can read a file: its first line says so where that is bash's alone."""
    return shell != "dash" or "shell=bash" not in path.read_text().partition("\n")[0]


@nox.session
def lint(session: nox.Session) -> None:
    """Style, types and shell syntax."""
    dependencies(session, "lint")
    session.install("-e", ".", "nox")
    session.run("ruff", "check", *PYTHON_FILES)
    session.run("ruff", "format", "--check", *PYTHON_FILES)
    session.run("mypy")
    session.run("mypy", "completions/generate.py", "noxfile.py")
    session.run("python", "completions/generate.py", "--check")
    for command, patterns in SHELL_CHECKS:
        files = sorted(
            str(path.relative_to(ROOT))
            for pattern in patterns
            for path in ROOT.glob(pattern)
            if path.is_file() and not path.name.startswith(TEMPLATES) and _is_for(command[0], path)
        )
        if shutil.which(command[0]):
            for file in files:
                session.run(*command, file, external=True, silent=True)
        elif os.environ.get("CI"):
            session.error(f"CI must have {command[0]}")
        else:
            session.warn(f"{command[0]} is missing, so {', '.join(files)} went unread")


@nox.session
def tests(session: nox.Session) -> None:
    """All tests, against the built wheel: `nox -s tests -- -k NAME` runs some."""
    test_wheel(session)


@nox.session(python=nox.project.python_versions(PROJECT))
def pythons(session: nox.Session) -> None:
    """The same with each Python of the classifiers, where there is one."""
    test_wheel(session)


@nox.session
def completions(session: nox.Session) -> None:
    """Write completion scripts and help texts anew, after a change of the command line."""
    session.install("-e", ".")
    session.run("python", "completions/generate.py", *session.posargs)


def test_wheel(session: nox.Session) -> None:
    """Build the wheel, install it, and run the tests against it."""
    folder = Path(session.create_tmp()) / "wheel"
    shutil.rmtree(folder, ignore_errors=True)
    dependencies(session, "test")
    session.run("pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), ".")
    [wheel] = folder.glob("*.whl")
    session.install("--force-reinstall", "--no-deps", str(wheel))
    session.install(str(wheel))
    # `pytest`, never `python -m pytest`: that one would import the checkout.
    installed = {"CUDASWITCH_TEST_INSTALLED": "1"}
    # One more than there are cores: tests wait for disks, servers and terminals.
    workers = ["-n", str((os.cpu_count() or 1) + 1)]
    session.run("pytest", *(session.posargs or workers), env=installed)

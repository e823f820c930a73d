"""`check` on the framework of an environment: what its own Python answers."""

from __future__ import annotations

import json
import sys
import sysconfig
from pathlib import Path

import pytest

from cudaswitch.check import frameworks
from cudaswitch.check.results import Result
from cudaswitch.environments import Environment
from cudaswitch.toolkit import Toolkit
from cudaswitch.versions import Version
from made_environments import Env
from tools import executable


def proven(env: Env, home: Path) -> list[Result]:
    kit = Toolkit("12.9", Version("12.9"), None, str(home), "system", "linux-64")
    variables = {"CUDACXX": "nvcc", "PATH": "/usr/bin:/bin"}
    environment = Environment(str(env.prefix), "V")
    return [*frameworks.prove(kit, environment, variables, home, True)]


ANSWERS = {
    "none": ("", "failed"),
    "another's": ("echo 1", "failed"),
    "cut": ("echo 'cudaswitch: {'", "failed"),
    "with a line at exit": ("echo 'cudaswitch: ANSWER'; echo bye", "passed"),
    "with words before": ("printf 'loading '; echo 'cudaswitch: ANSWER'", "passed"),
    "of a home that is gone": ('echo \'cudaswitch: {"home": "/gone", "version": "2"}\'', "failed"),
}


@pytest.mark.parametrize("answer", ANSWERS)
def test_whatever_a_framework_prints_is_a_result(tmp_path: Path, answer: str) -> None:
    words, status = ANSWERS[answer]
    env = Env(tmp_path / "env")
    env.torch("2.0.0", "12.9")
    answers = {"home": str(tmp_path), "what": "with nvcc", "version": "2"}
    said = words.replace("ANSWER", json.dumps(answers))
    executable(env.prefix / "bin/python", f"#!/bin/sh\n{said}")
    extension, sees = proven(env, tmp_path)
    assert extension.status == status, extension
    if "gone" not in answer:
        assert sees.status == status, sees


CPP_EXTENSION = """\
CUDA_HOME = None

def is_ninja_available():
    return True

class load_inline:
    def __init__(self, *words, **options):
        self.answer = lambda: 42
"""
"""What `check` calls of PyTorch's module of this name."""


@pytest.mark.parametrize("headers", [True, False])
def test_a_python_without_headers_says_nothing_about_the_toolkit(
    tmp_path: Path, headers: bool
) -> None:
    """Debian and Fedora have Python.h in packages of their own."""
    env, base = Env(tmp_path / "env"), tmp_path / "python"
    env.torch("2.0.0", "12.9")
    env.file("torch/__init__.py", "class version: cuda = None\n__version__ = '2.0.0'\n")
    env.file("torch/utils/__init__.py")
    env.file("torch/utils/cpp_extension.py", CPP_EXTENSION)
    stdlib = Path(sysconfig.get_path("stdlib"))
    base.mkdir()
    (base / stdlib.parent.name).symlink_to(stdlib.parent)
    if headers:
        header = base / "include" / Path(sysconfig.get_path("include")).name / "Python.h"
        header.parent.mkdir(parents=True)
        header.touch()
    executable(
        env.prefix / "bin/python",
        f"#!/bin/sh\nPYTHONHOME='{base}' PYTHONPATH='{env.prefix / env.site}'"
        f""" exec '{Path(sys.executable).resolve()}' "$@"\n""",
    )
    extension = proven(env, tmp_path)[0]
    assert extension.status == ("passed" if headers else "skipped"), extension
    assert headers or "Python.h" in extension.detail

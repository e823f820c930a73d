"""Editable installs, `setup.py develop` and eggs: the files are elsewhere."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from made_environments import SITE, Env, notes
from shells.venvs import with_venv

VERSION = "__version__ = '2.3.0a0+gitabc'\ncuda: Optional[str] = '12.1'\n"


@pytest.fixture
def tree(tmp_path):
    """A source tree of PyTorch that was built in place."""
    folder = tmp_path / "src of mine"
    (folder / "torch").mkdir(parents=True)
    (folder / "torch/version.py").write_text(VERSION, encoding="utf-8")
    (folder / "torch.egg-info").mkdir()
    text = "Metadata-Version: 2.1\nName: torch\nVersion: 2.3.0a0+gitabc\n"
    (folder / "torch.egg-info/PKG-INFO").write_text(text, encoding="utf-8")
    return folder


def editable(env, tree, **more):
    env.dist("torch", "2.3.0a0+gitabc")
    told = {"url": tree.as_uri(), "dir_info": {"editable": True}} | more
    env.file("torch-2.3.0a0+gitabc.dist-info/direct_url.json", json.dumps(told))


def check(answer, tree):
    (framework,) = answer.frameworks
    assert (framework.version, framework.cuda, framework.bundled) == (
        "2.3.0a0+gitabc",
        "12.1",
        False,
    )
    assert answer.cudnn is None  # whoever builds it chooses the cuDNN
    assert any(f"{tree}/torch/version.py" in text for text in notes(answer))
    assert any(f"from the source tree {tree}" in text for text in notes(answer))


def test_an_egg_link_is_followed(env, tree):
    env.file("torch.egg-link", f"{tree}\n.\n")
    check(env.resolve(), tree)


def test_an_editable_install_is_followed(env, tree):
    editable(env, tree)
    check(env.resolve(), tree)


def test_what_pip_itself_writes_for_an_editable_install_is_followed(tmp_path, tree):
    """A tree that the real pip installs with `-e`, by a backend without network, is followed."""
    (tree / "backend.py").write_text(
        "def _wheel(folder):\n"
        "    import zipfile\n"
        "    name = 'torch-2.3.0a0+gitabc-py3-none-any.whl'\n"
        "    info = 'torch-2.3.0a0+gitabc.dist-info/'\n"
        "    with zipfile.ZipFile(folder + '/' + name, 'w') as file:\n"
        "        text = 'Metadata-Version: 2.1\\nName: torch\\nVersion: 2.3.0a0+gitabc\\n'\n"
        "        file.writestr(info + 'METADATA', text)\n"
        "        text = 'Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n'\n"
        "        file.writestr(info + 'WHEEL', text)\n"
        "        file.writestr(info + 'RECORD', '')\n"
        "    return name\n"
        "def build_editable(wheel_directory, config_settings=None, metadata_directory=None):\n"
        "    return _wheel(wheel_directory)\n",
        encoding="utf-8",
    )
    (tree / "pyproject.toml").write_text(
        "[build-system]\nrequires = []\nbuild-backend = 'backend'\nbackend-path = ['.']\n",
        encoding="utf-8",
    )
    prefix = tmp_path / "v"
    with_venv(prefix)
    command = [sys.executable, "-m", "pip", "--python", prefix / "bin/python", "install", "-q"]
    subprocess.run([*command, "--no-index", "--no-deps", "-e", tree], check=True, timeout=120)
    env = Env.__new__(Env)
    env.prefix = prefix
    check(env.resolve(), tree)


def test_an_egg_holds_its_own_packages(env):
    egg = "torch-1.7.1-py3.8-linux-x86_64.egg"
    env.file(f"{egg}/EGG-INFO/PKG-INFO", "Name: torch\nVersion: 1.7.1\n")
    env.file(f"{egg}/torch/version.py", "__version__ = '1.7.1'\ncuda = '11.0'\n")
    answer = env.resolve()
    assert (answer.frameworks[0].version, answer.cuda) == ("1.7.1", "11.0")


@pytest.mark.parametrize(
    "text", ["/no/such/tree\n.\n", "relative\n", "", "\n\n", "/\x01\n", "\x00", "~/src\n"]
)
def test_an_egg_link_to_nothing_is_told(env, text):
    env.file("torch.egg-link", text)
    answer = env.resolve()
    assert answer.frameworks == ()
    assert answer.runs
    told = [note for note in notes(answer) if "names a source tree that is not there" in note]
    assert len(told) == bool(text.strip("\n\x00"))


@pytest.mark.parametrize(
    "more",
    [
        {"url": "file:///no/such/tree"},
        {"url": "file://%00"},
        {"url": "file://[bad"},
        {"url": 5},
        {"url": None},
        {"url": "https://example.org/torch"},
        {"dir_info": {"editable": "yes"}},
        {"dir_info": []},
    ],
)
def test_an_editable_install_of_nothing_is_read_in_place(env, tree, more):
    editable(env, tree, **more)
    env.file("torch/version.py", "__version__ = '2.3.0a0+gitabc'\ncuda = '11.8'\n")
    assert env.resolve().cuda == "11.8"


def test_the_tree_of_an_editable_install_is_read_with_the_same_bounds(env, tree):
    (tree / "torch/version.py").unlink()
    (tree / "torch/version.py").symlink_to("/dev/zero")
    editable(env, tree)
    answer = env.resolve()
    assert answer.frameworks[0].known is False
    assert any("not a regular file" in text for text in notes(answer))


def test_only_frameworks_are_followed(env, tmp_path):
    env.file("other.egg-link", f"{tmp_path}\n")
    assert not any("source tree" in text for text in notes(env.resolve()))
    assert (env.prefix / SITE / "other.egg-link").exists()

"""pip, as the source of wheels runs it: what it says becomes one line, and it always ends."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest
from packaging.specifiers import SpecifierSet

import builders
from checks import refused
from cudaswitch.errors import SourceError
from cudaswitch.platforms import current_platform
from cudaswitch.sources import index, pypi
from cudaswitch.sources.pip_process import _failure, pip_command, run_pip
from cudaswitch.sources.pypi import _reported
from cudaswitch.versions import parse_request
from http_server import Server
from mounts import NO_HOME, in_own_mounts
from tools import console_script, executable


def ask(folder: Path) -> None:
    """Let pip look for CUDA 13 in its index."""
    index("pypi").obtain(
        parse_request("13"), workdir=folder, components="minimal",
        platform=current_platform(), offline=False,
    )  # fmt: skip


def test_an_index_that_cannot_be_reached_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Server() as server:
        url = server.url("status:404", "simple", credentials="me:CSWSECRET")
        closed = url
        monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
        monkeypatch.delenv("PIP_NO_INDEX", raising=False)
        monkeypatch.setenv("PIP_FIND_LINKS", "")
        monkeypatch.setenv("PIP_EXTRA_INDEX_URL", "")
        monkeypatch.setenv("PIP_INDEX_URL", url)
        monkeypatch.setenv("PIP_RETRIES", "1")
        monkeypatch.setenv("FORCE_COLOR", "1")  # as many set it for their CI
        with pytest.raises(SourceError, match=r"cannot get the list.*: No matching") as caught:
            ask(tmp_path)
        assert "CSWSECRET" not in str(caught.value)
    monkeypatch.setenv("PIP_INDEX_URL", closed)
    with pytest.raises(SourceError, match=r"cannot reach `http.*refused") as caught:
        ask(tmp_path)
    assert "CSWSECRET" not in str(caught.value)
    assert "\n" not in caught.value.message


def test_an_index_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """pip at an endless index is stopped, by memory or by time, and the message says by which."""
    for name, value in (
        *(("PIP_CONFIG_FILE", os.devnull), ("PIP_FIND_LINKS", ""), ("PIP_EXTRA_INDEX_URL", "")),
        *(("PIP_NO_INDEX", "0"), ("PIP_RETRIES", "0")),
    ):
        monkeypatch.setenv(name, value)
    with Server() as server:
        monkeypatch.setenv("CUDASWITCH_MAX_TIME", "120")
        monkeypatch.setenv("PIP_INDEX_URL", server.url("endless:text", "simple"))
        monkeypatch.setattr("cudaswitch.sources.pip_process.MEMORY", 150 << 20)
        with pytest.raises(SourceError, match="ran out of memory"):
            ask(tmp_path)
        monkeypatch.setenv("CUDASWITCH_MAX_TIME", "0.5")
        monkeypatch.setenv("PIP_INDEX_URL", server.url("stall", "simple"))
        with pytest.raises(SourceError, match=r"longer than 0\.5 s"):
            ask(tmp_path)


def test_a_pip_that_is_stopped_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What pip had of a file when it was stopped, perhaps gigabytes, is not left in TMPDIR."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    stop = Event()
    with Server() as server, ThreadPoolExecutor() as pool:
        url = server.url("slow:100000", "x-1.0-py3-none-any.whl")
        words = ["download", "--no-deps", "--dest", str(tmp_path / "wheels"), url]
        pip = pool.submit(run_pip, words, "x", offline=False, stop=stop)
        while not list(tmp_path.glob("pip-unpack-*/*")):
            assert not pip.done()
            time.sleep(0.05)
        stop.set()
        assert isinstance(pip.exception(), SourceError)
    assert not list(tmp_path.glob("pip-*"))


@pytest.mark.parametrize("said", ["in the environment", "in a file"])
def test_a_pip_that_installs_for_the_user_still_says_what_it_would_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    """As set on many clusters; pip refuses to install for the user and into a folder at once."""
    wheels, config = tmp_path / "wheels", tmp_path / "pip.conf"
    builders.wheel(wheels, "nvidia-nvvm", "13.0.88", "py3-none-any", tree={"nvidia/x": b"x"})
    config.write_text("[install]\nuser = true\n")
    user = ("PIP_USER", "1") if said == "in the environment" else ("PIP_CONFIG_FILE", str(config))
    for name, value in (("PIP_NO_INDEX", "1"), ("PIP_FIND_LINKS", str(wheels)), user):
        monkeypatch.setenv(name, value)
    pins = {"nvidia-nvvm": SpecifierSet("==13.0.88")}
    [found] = _reported(pins, tmp_path, current_platform(), offline=False)
    assert found.url == next(wheels.iterdir()).as_uri()


def test_credentials_in_what_pip_says_are_taken_out() -> None:
    said = "ERROR: 403 for url: https://me:CSWSECRET@h/t/CSWSECRET/simple/?token=CSWSECRET\x1b[0m"
    for offline in (True, False):
        message = _failure("a file", said, offline).message
        assert "CSWSECRET" not in message
        assert "https://h/t/***/simple/?***" in message
        assert "\x1b" not in message


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ("", "pip cannot get x: it gave no reason"),
        ("ERROR: one\nERROR: two\n", "pip cannot get x: two"),
        ("Traceback\nBoom: it broke\n", "pip cannot get x: Boom: it broke"),
        ("ERROR: Exception:\nTraceback\nBoom: it broke\n", "pip cannot get x: Boom: it broke"),
        ('ERROR: unknown command "index"\n', "this pip is too old"),
    ],
)
def test_what_pip_says_becomes_one_line(
    said: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PIP_INDEX_URL", raising=False)
    assert _failure("x", said, False).message == message


@pytest.mark.parametrize("number", ["28", "122"])
def test_a_full_disk_is_not_the_index_that_pip_asks(
    number: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDASWITCH_CACHE", str(tmp_path))
    said = f"ERROR: Exception:\nTraceback\nOSError: [Errno {number}] No space left on device\n"
    found = _failure("x", said, False)
    assert f"pip ran out of space for x, in `{tmp_path}` or" in found.message
    assert "CUDASWITCH_CACHE" in (found.hint or "")


NEVER = "requirement nvidia-cudnn-cu13==9.1.* (from versions: 0.0.0a0, 9.12.0.46, 9.13.0.50)"
NOTHING = "ERROR: No matching distribution found for nvidia-cudnn-cu13==9.1.*\n"


def test_a_version_that_does_not_exist_is_no_matter_of_settings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("PIP_INDEX_URL", raising=False)
    said = f"ERROR: Could not find a version that satisfies the {NEVER}\n{NOTHING}"
    found = _failure("x", said, False)
    assert found.message == "pip's index has no nvidia-cudnn-cu13 9.1"
    assert found.hint == "available: 9.13.0.50, 9.12.0.46"


def test_a_mirror_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A failure names the mirror that was asked, and not pip's own settings, which were not."""
    monkeypatch.setenv("PIP_INDEX_URL", "https://me:CSWSECRET@mirror/simple")
    found = _failure("x", f"ERROR: none\n{NOTHING}", False)
    assert found.message.startswith("pip cannot get x from `https://mirror/simple`: No matching")
    assert found.hint == "check that it has that, or name what it has with --components"
    found = _failure("x", f"ERROR: {NEVER}\n{NOTHING}", False)
    assert found.message == "`https://mirror/simple` has no nvidia-cudnn-cu13 9.1"
    found = _failure("x", "WARNING: connection broken by [Errno 111] refused", False)
    assert found.message == "pip cannot reach `https://mirror/simple` for x: refused"
    assert found.hint == "check the network, the proxy and the certificates"


BARE = """
import sys
sys.path.insert(0, sys.argv[1])
from cudaswitch.errors import SourceError
from cudaswitch.sources.pip_process import pip_command
try:
    print(pip_command())
except SourceError as error:
    print(error.message)
"""


def test_without_pip_in_this_python(tmp_path: Path) -> None:
    """A Python without pip, as in environments of uv, takes the one on PATH, or says so."""
    import requests  # its folder stands for the installed packages

    packages = Path(requests.__file__).parents[1]
    site = tmp_path / "site"
    site.mkdir()
    for entry in packages.iterdir():
        if not entry.name.startswith(("pip", "__pycache__", "cudaswitch")):
            (site / entry.name).symlink_to(entry)
    (site / "cudaswitch").symlink_to(Path(pypi.__file__).parents[1])
    executable(tmp_path / "bin" / "pip3")

    def said(path: str) -> str:
        return subprocess.run(
            [sys.executable, "-S", "-c", BARE, str(site)],
            env={"PATH": path, "PYTHONPATH": str(site)},
            capture_output=True, text=True, check=True,
        ).stdout.strip()  # fmt: skip

    assert said(str(tmp_path / "bin")) == str([str(tmp_path / "bin" / "pip3")])
    assert said("/nowhere") == "packages from PyPI are downloaded with pip, which was not found"


def test_no_home_folder_is_no_fault_of_pip(tmp_path: Path) -> None:
    """Without a home folder pip still looks for packages, where newer versions would just end."""
    done = in_own_mounts(
        NO_HOME, console_script(), "install", "13.0", "--from", "pypi", "--offline",
        cwd=tmp_path,
        env={
            "PATH": os.environ["PATH"],
            "PIP_CONFIG_FILE": os.devnull,
            "CUDASWITCH_HOME": str(tmp_path / "store"),
            "CUDASWITCH_CACHE": str(tmp_path / "cache"),
        },
    )  # fmt: skip
    refused(done, "No matching distribution", hint="PIP_FIND_LINKS")


def test_this_python_has_pip() -> None:
    assert pip_command()[0] == sys.executable

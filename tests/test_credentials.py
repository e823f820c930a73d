"""A password is used where it belongs, and appears nowhere else.

Neither in messages nor in files that a command writes, nor in names or lists of processes.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import builders
from builders.redist import redist_index
from checks import Done, succeeded
from cudaswitch.download.urls import redact
from cudaswitch.platforms import current_platform
from cudaswitch.settings import forget
from cudaswitch.sources.places import with_credentials
from folder_server import FolderServer
from homes import Home, make_home
from stock import component
from traced import started

SECRET = f"CSWSECRET{os.getpid()}"  # tests that run in parallel watch for another
BASIC = "Basic " + base64.b64encode(f"me:{SECRET}".encode()).decode()
OURS = current_platform()
PIP = {"PIP_CONFIG_FILE": os.devnull, "PIP_FIND_LINKS": "", "PIP_RETRIES": "0"}


def watched(home: Home, *arguments: str | Path, **variables: str | None) -> Done:
    """Run a command, and check that SECRET is in the command line of nothing that it starts."""
    done, lines = started(home, *arguments, **variables)
    assert not [line for line in lines if SECRET in line]
    return done


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the server has: a channel, NVIDIA's index, an index of wheels; and all under a token."""
    folder = tmp_path_factory.mktemp("tree")
    root, made = folder / "root", folder / "made"
    pair = [builders.cudatoolkit_10_1(made), builders.cudnn_7_6_5(made)]
    builders.local_channel(root / "lab", pair)
    pieces = [("cuda_nvcc", "12.4.131"), ("cuda_cudart", "12.4.127"), ("cuda_cccl", "12.4.127")]
    redist_index(root, "cuda", "12.4.1", [component(made, *piece) for piece in pieces])
    needs = ["nvidia-cuda-nvcc==13.0.88.*; extra == 'nvcc'\nProvides-Extra: nvcc"]
    x = {"nvidia/cu13/include/x.h": b"x"}
    for name, version, requires in (
        ("cuda-toolkit", "13.0.2", needs),
        ("nvidia-cuda-nvcc", "13.0.88", []),
    ):
        place = root / "simple" / name
        builders.wheel(place, name, version, "py3-none-any", tree=x, requires=requires)
    (root / "t").mkdir()
    (root / "t" / SECRET).symlink_to(root)
    return root


def test_the_watch_sees(home: Home, tmp_path: Path) -> None:
    """A secret among many words of a program that a command starts is seen."""
    package = builders.cudatoolkit_10_1(tmp_path)
    succeeded(watched(home, "install", package))
    words = ("exec", "10.1", "--", "true", *map(str, range(40)), SECRET)
    with pytest.raises(AssertionError, match=SECRET):
        watched(home, *words)


@pytest.fixture
def server(tree: Path) -> Iterator[FolderServer]:
    with FolderServer(tree, lists=True) as running:
        yield running


def nowhere(home: Home, *runs: Done, but: tuple[Path, ...] = ()) -> None:
    """Check that the canary is nowhere in what was said and written."""
    for done in runs:
        assert SECRET not in done.stdout + done.stderr
        assert "Traceback" not in done.stderr
    for folder in (home.path.parent,):
        for at in folder.rglob("*"):
            assert SECRET not in at.name
            if at.is_symlink():
                assert SECRET not in str(at.readlink())
            elif at.is_file() and at not in but:
                data = at.read_bytes()
                assert SECRET.encode() not in data, at
                assert BASIC.removeprefix("Basic ").encode() not in data, at


def at(server: FolderServer) -> str:
    """Return the server's address with a password and a token in it."""
    return server.url.replace("//", f"//me:{SECRET}@") + f"/t/{SECRET}"


NAME = "cudatoolkit-10.1.243-h6bb024c_0.tar.bz2"
WAYS: dict[str, tuple[dict[str, str], tuple[str, ...]]] = {
    "channels": ({"CUDASWITCH_CHANNELS": "{at}/lab"}, ("10.1", "--from", "conda")),
    "nvidia": (
        {"CUDASWITCH_NVIDIA_URL": "{at}"},
        ("12.4", "--from", "nvidia", "--components", "minimal"),
    ),
    "pip": (
        PIP | {"PIP_INDEX_URL": "{at}/simple"},
        ("13.0", "--from", "pypi", "--components", "nvcc"),
    ),
}


@pytest.mark.parametrize("way", WAYS)
def test_sources_by_variables(server: FolderServer, home: Home, tmp_path: Path, way: str) -> None:
    """Passwords in variables serve `lock`, `install` and `sync`, and are shown nowhere."""
    variables, words = WAYS[way]
    secret: dict[str, str | None] = {k: v.replace("{at}", at(server)) for k, v in variables.items()}
    fresh, lock = make_home(tmp_path / "fresh"), tmp_path / "cuda.lock"
    runs = [
        watched(home, "lock", "-o", lock, *words, **secret),
        watched(home, "install", *words, **secret),
    ]
    assert server.trusted == {BASIC}
    server.trusted.clear()
    # The lock file has no password, and needs none where the user has set one.
    runs.append(watched(fresh, "sync", "--lock", lock, **secret))
    assert server.trusted == {BASIC}
    for done in runs:
        succeeded(done)
    gone = {key: value.replace("/t/", "/gone/t/") for key, value in secret.items() if value}
    runs.append(watched(make_home(tmp_path / "another"), "install", *words, **gone))
    assert runs[-1].returncode == 1
    nowhere(home, *runs)


def test_a_url_on_the_command_line(server: FolderServer, home: Home, tmp_path: Path) -> None:
    """A password on the command line is the user's choice, but no child process shows it."""
    url = f"{at(server)}/lab/linux-64/{NAME}?sig={SECRET}#{SECRET}"
    lock = tmp_path / "cuda.lock"
    runs = [
        watched(home, "install", url),
        watched(home, "lock", url, "-o", lock),
        watched(home, "list"),
    ]
    assert [done.returncode for done in runs] == [0, 0, 0]
    runs += [
        watched(home, "install", url.replace("lab", "gone")),
        watched(home, "install", url, "--force", "--sha256", "0" * 64),
        watched(home, "install", "10.2", "--from", "conda", "--channel", f"{at(server)}/gone"),
    ]
    assert [done.returncode for done in runs[-3:]] == [1, 1, 1]
    assert BASIC in server.trusted
    nowhere(home, *runs)


def test_what_lies_in_files_of_others(server: FolderServer, home: Home) -> None:
    """Passwords of netrc and of conda's settings are used, and stay in those files."""
    netrc, condarc = home.path / ".netrc", home.path / ".condarc"
    netrc.write_text(f"machine 127.0.0.1 login me password {SECRET}\n")
    netrc.chmod(0o600)
    runs = [watched(home, "install", f"{server.url}/lab/linux-64/{NAME}")]
    assert BASIC in server.trusted
    server.trusted.clear()
    netrc.unlink()
    condarc.write_text(f"channels: ['{at(server)}/lab']\nproxy_servers: {{http: ''}}\n")
    runs += [watched(home, "install", "10.1+cudnn7.6", "--from", "conda"), watched(home, "doctor")]
    assert BASIC in server.trusted
    condarc.write_text(f"channels: ['{at(server)}/lab'\n")
    runs += [watched(home, "install", "10.2", "--from", "conda")]
    assert [done.returncode for done in runs[:2]] == [0, 0]
    assert runs[-1].returncode == 1
    nowhere(home, *runs, but=(condarc,))


def test_a_proxys_password(server: FolderServer, home: Home) -> None:
    proxy = {"http_proxy": server.url.replace("//", f"//me:{SECRET}@"), "no_proxy": ""}
    runs = [watched(home, "install", f"http://lab.invalid/lab/linux-64/{NAME}", **proxy)]
    assert server.trusted == {BASIC}
    runs += [watched(home, "install", "http://lab.invalid/gone.conda", **proxy)]
    pip = PIP | {"PIP_INDEX_URL": "http://lab.invalid/gone"}
    closed = proxy | {"http_proxy": f"http://me:{SECRET}@127.0.0.1:1"}
    runs += [watched(home, "install", "http://x.invalid/x.conda", **closed, CUDASWITCH_RETRIES="0")]
    runs += [watched(home, "install", "13.0", "--from", "pypi", **pip, **closed)]
    assert [done.returncode for done in runs] == [0, 1, 1, 1]
    nowhere(home, *runs)


def test_a_setting_is_kept_for_the_person_alone(server: FolderServer, home: Home) -> None:
    file = home.path / "xdg-config" / "cudaswitch" / "config.toml"
    runs = [watched(home, "config", "set", "mirrors.pypi", f"{at(server)}/simple")]
    assert SECRET in file.read_text()
    assert file.stat().st_mode & 0o777 == 0o600
    runs += [watched(home, "config", "list"), watched(home, "config", "get", "mirrors.pypi")]
    pip = PIP | {"PIP_INDEX_URL": None}
    runs += [watched(home, "search", "13.0", "--from", "pypi", **pip)]
    assert [done.returncode for done in runs] == [0, 0, 0, 0]
    assert BASIC in server.trusted
    nowhere(home, *runs, but=(file,))


@pytest.mark.parametrize(
    ("url", "given"),
    [
        ("https://h/t/***/lab/linux-64/x", True),
        ("https://h/t/***/labor/x", False),
        ("https://h/t/***/lab/a..b/x", True),
        ("https://h/t/***/lab/../other/x", False),
        ("https://h/t/***/lab/linux-64/%2e%2E/../other/x", False),
        ("https://h/t/***/lab/..%2fother/x", False),
        ("https://h/t/***/lab/..", False),
        ("https://h/t/***/x", False),
        ("https://h.evil/t/***/lab/x", False),
        ("https://h@evil/t/***/lab/x", False),
        ("http://h/t/***/lab/x", False),
        ("https://h:8443/t/***/lab/x", False),
        ("https://m/cuda/x", True),
        ("https://m.evil/cuda/x", False),
        ("https://open/lab/x", False),
    ],
)
def test_credentials_are_for_their_place_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str, given: bool
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    channels = f"https://me:{SECRET}@h/t/{SECRET}/lab,https://open/lab"
    monkeypatch.setenv("CUDASWITCH_CHANNELS", channels)
    monkeypatch.setenv("CUDASWITCH_NVIDIA_URL", f"https://me:{SECRET}@m/")
    forget()
    restored = with_credentials(url)
    assert (SECRET in restored) is given
    assert redact(restored) == redact(url)

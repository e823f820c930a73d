"""Projects: locked on one machine, made so on others, with and without a network."""

from __future__ import annotations

import functools
import hashlib
import http.server
import shutil
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import builders
from builders.redist import redist_index
from checks import refused, snapshot, succeeded
from conda_channels import split_toolkit
from cudaswitch.errors import SourceError
from cudaswitch.locking import locked as locked_row
from cudaswitch.locking import read_lock
from cudaswitch.mirroring import Item, lay_out
from cudaswitch.toolkit import current_platform
from folder_server import FolderServer
from homes import Home, make_home
from preloaded import preloaded

KIT = "10.1.243+cudnn7.6.5"
FOLDER = {"linux-64": "linux-x86_64", "linux-aarch64": "linux-sbsa"}[current_platform()]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / ".cuda-version").write_text("cuda 10.1\ncudnn 7.6\n")
    return folder


@pytest.fixture
def channel(tmp_path: Path, pair: list[Path]) -> Iterator[FolderServer]:
    builders.local_channel(tmp_path / "tree/lab", pair)
    with FolderServer(tmp_path / "tree") as server:
        yield server


@pytest.fixture
def machines(tmp_path: Path) -> list[Home]:
    """Two people's accounts, as on two machines."""
    return [make_home(tmp_path / name) for name in ("first", "second of another name")]


@pytest.fixture
def locked(machines: list[Home], project: Path, channel: FolderServer) -> Path:
    succeeded(machines[0].run("lock", "--channel", f"{channel.url}/lab", cwd=project))
    return project / "cuda.lock"


@contextmanager
def plain_server(folder: Path) -> Iterator[str]:
    """Serve a folder as the simplest of web servers does: files, and index.html for folders."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

        def list_directory(self, path: object) -> None:
            self.send_error(403)

    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder))
    )
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


def damaged(file: Path) -> bytes:
    """Return a file's content with another last byte."""
    *content, last = file.read_bytes()
    return bytes([*content, last ^ 1])


def manifests(home: Home) -> dict[str, str]:
    """Return each toolkit's list of its files with their hashes."""
    found = (home.store / "toolkits").glob("*/cudaswitch-files.json")
    return {path.parent.name: path.read_text() for path in found}


def test_lock_downloads_nothing_and_says_it_the_same_again(
    machines: list[Home], project: Path, channel: FolderServer, pair: list[Path]
) -> None:
    before = snapshot(project)
    options = ("lock", "--channel", f"{channel.url}/lab")
    done = machines[0].run(*options, cwd=project)
    assert succeeded(done) == []
    assert "CUDA 10.1 with cuDNN 7.6 for linux-64: 2 packages" in done.stderr
    assert not [path for path, _ in channel.asked if path.endswith(".tar.bz2")]
    [kit] = read_lock(project / "cuda.lock")
    assert [(row.name, row.version) for row in kit.packages] == [
        ("cudatoolkit", "10.1.243"),
        ("cudnn", "7.6.5"),
    ]
    for row, path in zip(kit.packages, pair, strict=True):
        assert row.url == f"{channel.url}/lab/linux-64/{path.name}"
        assert row.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
        assert row.size == path.stat().st_size
    text = (project / "cuda.lock").read_text()
    below = project / "src"
    below.mkdir()
    succeeded(machines[1].run(*options, cwd=below))
    assert (project / "cuda.lock").read_text() == text, "beside .cuda-version, on any machine"
    assert snapshot(project).keys() - before.keys() == {"cuda.lock", "src"}


OFFLINE = {
    "lock": ["lock", "--channel", "URL"],
    "lock of a file": ["lock", "URL/linux-64/FILE"],
    "sync": ["sync", "--lock", "cuda.lock"],
    "download": ["download", "--lock", "cuda.lock"],
    "download of a version": ["download", "10.1", "--channel", "URL"],
    "mirror": ["mirror", "tree", "--lock", "cuda.lock"],
    "verify": ["verify", "--repair"],
}


@pytest.mark.parametrize("how", ["option", "variable"])
@pytest.mark.parametrize("command", OFFLINE)
def test_nothing_is_asked_for_offline(
    machines: list[Home],
    locked: Path,
    channel: FolderServer,
    pair: list[Path],
    command: str,
    how: str,
) -> None:
    home = machines[0]
    if command == "verify":
        succeeded(home.run("sync", cwd=locked.parent))
        [package] = (home.store / "packages").glob("cudnn-*")
        shutil.rmtree(package)
    for cached in home.path.glob("xdg-cache/**/*"):
        if cached.is_file():
            cached.unlink()
    asked = len(channel.asked)
    words = [
        word.replace("URL", f"{channel.url}/lab").replace("FILE", pair[0].name)
        for word in OFFLINE[command]
    ]
    option = ["--offline"] if how == "option" else []
    variables = {} if option else {"CUDASWITCH_OFFLINE": "1"}
    assert home.run(*words, *option, cwd=locked.parent, **variables).returncode == 1
    assert len(channel.asked) == asked
    if command != "verify":
        succeeded(home.run(*words, cwd=locked.parent))
        assert len(channel.asked) > asked


def test_one_package_and_none(home: Home, tmp_path: Path, pair: list[Path]) -> None:
    done = home.run("lock", pair[0], "-o", tmp_path / "cuda.lock")
    assert succeeded(done) == []
    assert done.stderr.rstrip().endswith(": 1 package")
    (tmp_path / "cuda.lock").write_text("version = 1\n")
    refused(home.run("sync", cwd=tmp_path), "names no toolkit", hint="cudaswitch lock")


def test_what_cannot_be_locked(home: Home, tmp_path: Path, project: Path) -> None:
    refused(home.run("lock", cwd=tmp_path), "no `.cuda-version`", hint="cudaswitch pin")
    (project / ".cuda-version").write_text("auto\n")
    refused(home.run("lock", cwd=project), "`auto`", hint="name a version")
    assert not (project / "cuda.lock").exists()


def test_sync_is_the_same_on_two_machines(
    machines: list[Home], locked: Path, project: Path, channel: FolderServer
) -> None:
    for home in machines:
        assert succeeded(home.run("sync", cwd=project)) == [KIT]
        succeeded(home.run("verify"))
        assert not (home.store / "pins").exists(), "nothing is pinned"
    first, second = map(manifests, machines)
    assert first.keys() == {"10.1.243", KIT}
    assert first == second
    asked = len(channel.asked)
    before = snapshot(machines[0].store)
    assert succeeded(machines[0].run("sync", cwd=project)) == [KIT]
    assert snapshot(machines[0].store) == before
    assert len(channel.asked) == asked, "what is there is not asked for"


def test_sync_takes_no_other_bytes(
    machines: list[Home], locked: Path, project: Path, channel: FolderServer, pair: list[Path]
) -> None:
    path = f"/lab/linux-64/{pair[1].name}"
    channel.instead[path] = damaged(pair[1])
    done = machines[0].run("sync", cwd=project)
    assert done.returncode == 1
    assert "sha256" in done.stderr
    assert not list((machines[0].store / "toolkits").glob("*"))
    text = locked.read_text().replace("linux-64", "win-64")
    locked.write_text(text)
    refused(machines[0].run("sync", cwd=project), "for win-64", hint="--platform")


def test_sync_makes_exactly_that(
    machines: list[Home], locked: Path, project: Path, tmp_path: Path
) -> None:
    """Another package has the toolkit's name: nothing is mixed, and nothing taken from anybody."""
    tree = {"lib/libcudart.so.10.1": b"another one"}
    other = builders.conda_package(tmp_path, "cudatoolkit", "10.1.243", "h_9", "linux-64", tree)
    home = machines[0]
    succeeded(home.run("install", other))
    before = snapshot(home.store)
    refused(home.run("sync", cwd=project), "10.1.243 is there already", hint="--force")
    assert snapshot(home.store) == before
    assert succeeded(home.run("sync", "--force", cwd=project)) == [KIT]
    succeeded(machines[1].run("sync", cwd=project))
    assert manifests(home) == manifests(machines[1])
    succeeded(home.run("verify"))


def test_from_a_folder_without_network(
    machines: list[Home], locked: Path, project: Path, channel: FolderServer, tmp_path: Path
) -> None:
    usb = tmp_path / "usb stick"
    online, offline = machines
    lines = succeeded(online.run("download", "-d", usb, cwd=project))
    assert sorted(lines) == sorted(str(path) for path in usb.glob("*.bz2"))
    channel.__exit__()
    locked.unlink()
    refused(offline.run("sync", "--offline", cwd=project), "no cuda.lock")
    sync = ("sync", "--offline", "--from-dir", usb)
    assert succeeded(offline.run(*sync, cwd=project)) == [KIT]
    succeeded(offline.run("verify"))
    shutil.rmtree(offline.store)
    [library] = usb.glob("cudnn*")
    library.write_bytes(damaged(library))
    refused(offline.run(*sync, cwd=project), library.name, "--offline", hint="download")
    assert succeeded(online.run("sync", "--offline", "--lock", usb / "cuda.lock")) == [KIT]


def test_download_of_a_file_and_a_url(home: Home, tmp_path: Path, pair: list[Path]) -> None:
    with FolderServer(pair[0].parent) as server:
        what = (pair[0], f"{server.url}/{pair[1].name}")
        succeeded(home.run("download", *what, "-d", tmp_path / "d"))
    [kit] = read_lock(tmp_path / "d/cuda.lock")
    assert [row.url for row in kit.packages] == [pair[0].as_uri(), what[1]]
    for path in pair:
        assert (tmp_path / "d" / path.name).read_bytes() == path.read_bytes()
        path.unlink()
    sync = home.run("sync", "--offline", "--from-dir", tmp_path / "d", cwd=tmp_path)
    assert succeeded(sync) == [KIT]


@pytest.mark.parametrize("command", ["lock", "download"])
def test_files_are_looked_at_before_anything_is_written(
    home: Home, tmp_path: Path, pair: list[Path], command: str
) -> None:
    other = tmp_path / "notes.tar.bz2"
    other.write_bytes(b"no package")
    for platform, file, said in (
        ("linux-64", other, "notes.tar.bz2"),
        ("win-64", pair[0], "not for win-64"),
    ):
        refused(home.run(command, "--platform", platform, file, cwd=tmp_path), said)
    assert not (tmp_path / "cuda.lock").exists()


@pytest.mark.parametrize("step", ["rename", "link", "mkdir"])
def test_killed_while_syncing_the_next_run_ends_right(
    machines: list[Home], locked: Path, project: Path, tmp_path: Path, step: str
) -> None:
    succeeded(machines[1].run("sync", cwd=project))
    home, kills = machines[0], 0
    for number in (1, 4):
        kill = preloaded(tmp_path, "kill", step, number)
        kills += home.run("sync", cwd=project, **kill).returncode == -signal.SIGKILL
        assert home.run("list").returncode == 0
        assert succeeded(home.run("sync", cwd=project)) == [KIT]
        succeeded(home.run("verify"))
        assert manifests(home) == manifests(machines[1])
        shutil.rmtree(home.store)
    assert kills, f"no call of {step}"


def test_a_mirrored_channel(
    machines: list[Home], locked: Path, project: Path, channel: FolderServer, tmp_path: Path
) -> None:
    tree = tmp_path / "www"
    done = machines[0].run("mirror", tree, cwd=project)
    assert succeeded(done) == [str(tree)]
    assert "--channel URL/conda" in done.stderr
    channel.__exit__()
    with plain_server(tree) as url:
        install = ("install", "10.1", "--cudnn", "7.6", "--channel", f"{url}/conda")
        assert succeeded(machines[1].run(*install)) == ["10.1.243", KIT]
    succeeded(machines[1].run("verify"))


@pytest.mark.toolkit
def test_a_mirrored_channel_of_many_packages(machines: list[Home], tmp_path: Path) -> None:
    """Asked for a part of the release, it has what solving for the release takes."""
    split_toolkit(tmp_path / "tree/conda-forge")
    tree = tmp_path / "www"
    choice = ("13", "--components", "minimal", "--channel")
    with FolderServer(tmp_path / "tree") as server:
        succeeded(machines[0].run("mirror", tree, *choice, f"{server.url}/conda-forge"))
    with plain_server(tree) as url:
        [name] = succeeded(machines[1].run("install", *choice, f"{url}/conda"))
    assert name == "13.0.2"
    succeeded(machines[1].run("verify"))


def archive(folder: Path, name: str, version: str) -> Path:
    top = f"{name}-{FOLDER}-{version}-archive"
    tree = {f"bin/{name}": f"{name} {version}".encode(), "LICENSE": b"NVIDIA license\n"}
    return builders.tar_archive(folder / f"{top}.tar.xz", top, tree)


def test_sync_joins_no_pieces(home: Home, tmp_path: Path) -> None:
    """`install` adds pieces to a toolkit that is there; what is locked is all that there is."""
    pieces = [("cuda_nvcc", "12.4.131"), ("cuda_cudart", "12.4.127"), ("cuda_cccl", "12.4.127")]
    files = [archive(tmp_path, *piece) for piece in pieces]
    lock = tmp_path / "cuda.lock"
    succeeded(home.run("lock", *files[:2], "-o", lock))
    [name] = succeeded(home.run("install", *files))
    before = snapshot(home.store)
    refused(home.run("sync", "--lock", lock), f"{name} is there already", "cuda_cccl")
    assert snapshot(home.store) == before
    succeeded(home.run("remove", name))
    assert succeeded(home.run("sync", "--lock", lock)) == [name]
    assert succeeded(home.run("sync", "--lock", lock)) == [name]


def test_a_mirrored_redist_tree(machines: list[Home], tmp_path: Path) -> None:
    made, base, tree = tmp_path / "made", tmp_path / "base", tmp_path / "www"
    pieces = [("cuda_nvcc", "12.4.131"), ("cuda_cudart", "12.4.127")]
    redist_index(base, "cuda", "12.4.1", [archive(made, *piece) for piece in pieces])
    redist_index(base, "cudnn", "8.9.7", [builders.cudnn_archive(made, "8.8+", "8.9.7.29", "12")])
    lock = tmp_path / "cuda.lock"
    choice = ("12.4", "--cudnn", "8.9", "--components", "nvcc,cudart", "--from", "nvidia")
    with FolderServer(base, lists=True) as server:
        succeeded(machines[0].run("lock", *choice, "--mirror", server.url, "-o", lock))
        [kit] = read_lock(lock)
        assert (kit.release, len(kit.packages)) == ("12.4.1", 3)
        assert not [path for path, _ in server.asked if path.endswith(".xz")]
        succeeded(machines[0].run("mirror", tree, "--lock", lock))
    name = "12.4.1+cudnn8.9.7"
    with plain_server(tree) as url:
        done = machines[1].run("install", *choice, "--mirror", f"{url}/nvidia")
        assert name in succeeded(done)
        succeeded(machines[1].run("verify"))
    assert succeeded(machines[0].run("sync", "--offline", "--lock", lock)) == [name]
    # The same files, whose origins differ.
    files = [text.partition('"files"')[2] for text in manifests(machines[0]).values()]
    assert files == [text.partition('"files"')[2] for text in manifests(machines[1]).values()]


@pytest.mark.parametrize("content", [b"{", b"[1]", b"\xff", b'{"cuda_nvcc": 1}', b"[" * 99999])
def test_an_index_that_is_none_is_named_and_left(tmp_path: Path, content: bytes) -> None:
    index = tmp_path / "www/nvidia/cuda/redist/redistrib_12.4.1.json"
    index.parent.mkdir(parents=True)
    index.write_bytes(content)
    with pytest.raises(SourceError, match="no index") as caught:
        lay_out(tmp_path / "www", [nvcc(tmp_path, "12.4.1")])
    assert str(index) in caught.value.message
    assert index.read_bytes() == content
    assert [path.name for path in index.parent.iterdir()] == [index.name]


def test_an_index_needs_a_release(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="CUDA release of `cuda_nvcc-linux"):
        lay_out(tmp_path / "www", [nvcc(tmp_path, None)])
    assert not (tmp_path / "www").exists()


def nvcc(folder: Path, release: str | None) -> Item:
    """Return an archive of nvcc, with its row of a lock file, as one for NVIDIA's index."""
    path = archive(folder / "made", "cuda_nvcc", "12.4.131")
    url = f"https://h/cuda/redist/cuda_nvcc/{FOLDER}/{path.name}"
    row = locked_row(url, hashlib.sha256(path.read_bytes()).hexdigest(), None, "nvidia")
    return Item(row, current_platform(), release, path)


def test_a_page_of_wheels_that_is_no_text_is_written_anew(tmp_path: Path) -> None:
    wheel = builders.wheel(tmp_path, "a", "1", "py3-none-any", tree={"x": b"x"})
    row = locked_row(f"https://h/{wheel.name}", "0" * 64, None, "pypi")
    page = tmp_path / "www/simple/a/index.html"
    page.parent.mkdir(parents=True)
    page.write_bytes(b"\xff\xfe")
    assert lay_out(tmp_path / "www", [Item(row, current_platform(), None, wheel)]) == ["simple"]
    assert wheel.name in page.read_text()


PIECES = {"nvidia-cuda-runtime": "cudart"}


def list_of_pieces(folder: Path, wheels: list[Path]) -> None:
    """Put wheels into a folder, with a `cuda-toolkit` that says which belong to its release."""
    requires = []
    for path in wheels:
        name, version = path.name.split("-")[:2]
        project = name.replace("_", "-")
        extra = PIECES.get(project, project.rpartition("-")[2])
        requires.append(f"{project}=={version}.*; extra == '{extra}'\nProvides-Extra: {extra}")
    tree = {"x": b"x"}
    builders.wheel(
        folder, "cuda-toolkit", "13.0.2", "py2.py3-none-any", tree=tree, requires=requires
    )
    for path in wheels:
        shutil.copy(path, folder)


def no_index(folder: Path) -> dict[str, str]:
    return {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(folder), "PIP_CONFIG_FILE": "/dev/null"}


@pytest.mark.toolkit
def test_wheels_from_a_folder_and_a_mirrored_index(machines: list[Home], tmp_path: Path) -> None:
    wheels, tree, lock = tmp_path / "wheels", tmp_path / "www", tmp_path / "cuda.lock"
    list_of_pieces(wheels, builders.toolkit_wheels())
    choice = ("13", "--from", "pypi", "--components", "minimal")
    first, second = machines
    succeeded(first.run("lock", *choice, "-o", lock, **no_index(wheels)))
    [kit] = read_lock(lock)
    assert {row.source for row in kit.packages} == {"pypi"}
    [name] = succeeded(first.run("sync", "--lock", lock, **no_index(wheels)))
    succeeded(first.run("mirror", tree, *choice, **no_index(wheels)))
    with plain_server(tree) as url:
        pip = {"PIP_CONFIG_FILE": "/dev/null", "PIP_NO_INDEX": None, "PIP_FIND_LINKS": None}
        index = {**pip, "PIP_INDEX_URL": f"{url}/simple"}
        relock = tmp_path / "other.lock"
        succeeded(second.run("lock", *choice, "-o", relock, **index))
        hashes = [[row.sha256 for row in read_lock(at)[0].packages] for at in (lock, relock)]
        assert hashes[0] == hashes[1]
        assert succeeded(second.run("sync", "--lock", lock, **index)) == [name]
    assert manifests(first) == manifests(second)
    shutil.rmtree(second.store)
    # pip's wheels were kept, so that neither it nor a network is needed again.
    assert succeeded(second.run("sync", "--offline", "--lock", lock)) == [name]
    program = tmp_path / "hello.cu"
    program.write_text(builders.HELLO_CU)
    built = second.run("exec", "13", "--", "nvcc", "-o", tmp_path / "hello", program)
    assert built.returncode == 0, built.stderr
    subprocess.run([tmp_path / "hello"], check=False)

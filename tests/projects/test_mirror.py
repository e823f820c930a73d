"""`mirror`: a tree that any web server serves, and what is installed from it."""

from __future__ import annotations

import functools
import hashlib
import http.server
import platform
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import builders
from builders.redist import redist_index
from checks import refused, succeeded
from conda_channels import split_toolkit
from cudaswitch.errors import SourceError, StoreError
from cudaswitch.lockfile import lock_text, read_lock
from cudaswitch.lockfile import locked as locked_row
from cudaswitch.locks import Lock
from cudaswitch.mirroring import Item, lay_out
from cudaswitch.platforms import current_platform
from folder_server import FolderServer
from homes import Home, make_home
from projects.stored import KIT, manifests
from stock import FOLDER, component


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


@pytest.mark.parametrize("command", [["mirror", "www"], ["download", "-d", "usb"]])
def test_what_and_a_lock_file_are_two_answers(
    machines: list[Home], locked: Path, project: Path, command: list[str]
) -> None:
    done = machines[0].run(*command, "10.1", "--lock", locked, cwd=project)
    assert done.returncode == 2
    assert "give either WHAT or --lock, not both" in done.stderr
    assert {path.name for path in project.iterdir()} == {".cuda-version", "cuda.lock"}


@pytest.mark.parametrize("command", [["mirror", "www"], ["download", "-d", "usb"], ["lock", "-o-"]])
@pytest.mark.parametrize(
    "option", ["--cudnn 9", "--components build", "--from pypi", "--channel c"]
)
def test_what_says_how_a_version_is_got_goes_with_none_that_is_exact(
    machines: list[Home], locked: Path, project: Path, pair: list[Path], command: list[str],
    option: str,
) -> None:  # fmt: skip
    exact: list[list[str | Path]] = [[pair[0]]]
    exact += [[], ["--lock", locked]] if command[0] in ("mirror", "download") else []
    for what in exact:
        done = machines[0].run(*command, *what, *option.split(), cwd=project)
        said = f"{option.partition(' ')[0]} requires a version: "
        refused(done, said, code=2, hint=f"cudaswitch {command[0]} --help")
    assert {path.name for path in project.iterdir()} == {".cuda-version", "cuda.lock"}


@pytest.mark.parametrize("command", [["mirror"], ["download", "-d"]])
def test_a_lock_file_brings_the_platforms_that_are_named(
    machines: list[Home], locked: Path, project: Path, command: list[str]
) -> None:
    windows = project / "windows.lock"
    package = builders.cudatoolkit_10_1(project.parent / "windows", "win-64")
    succeeded(machines[0].run("lock", package, "--platform", "win-64", "-o", windows))
    locked.write_text(lock_text([*read_lock(locked), *read_lock(windows)]))
    place = project / "both"
    succeeded(machines[0].run(*command, place, cwd=project))
    assert len(list(place.rglob("*.tar.bz2"))) == 3
    place = project / "one"
    succeeded(machines[0].run(*command, place, "--platform", "win-64", cwd=project))
    assert [path.name for path in place.rglob("*.tar.bz2")] == [package.name]
    done = machines[0].run(*command, project / "none", "--platform", "linux-aarch64", cwd=project)
    refused(done, "nothing for linux-aarch64, only for linux-64, win-64", hint="cudaswitch lock")
    assert not (project / "none").exists()


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


def test_a_mirrored_redist_tree(machines: list[Home], tmp_path: Path) -> None:
    made, base, tree = tmp_path / "made", tmp_path / "base", tmp_path / "www"
    pieces = [("cuda_nvcc", "12.4.131"), ("cuda_cudart", "12.4.127")]
    redist_index(base, "cuda", "12.4.1", [component(made, *piece) for piece in pieces])
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
    with pytest.raises(SourceError, match="not one of NVIDIA's indexes") as caught:
        lay_out(tmp_path / "www", [nvcc(tmp_path, "12.4.1")])
    assert str(index) in caught.value.message
    assert index.read_bytes() == content
    assert [path.name for path in index.parent.iterdir()] == [index.name]


def test_an_index_needs_a_release(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="CUDA release of `cuda_nvcc-linux"):
        lay_out(tmp_path / "www", [nvcc(tmp_path, None)])
    assert not (tmp_path / "www").exists()


def test_a_tree_is_added_to_by_one_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its indexes are read and written anew, so that two would take out what the other put in."""
    tree, item = tmp_path / "www", nvcc(tmp_path, "12.4.1")
    monkeypatch.setenv("CUDASWITCH_WAIT", "0")
    tree.mkdir()
    with Lock(tree / ".mirror.lock.tmp") as lock:
        assert lock.take()
        with pytest.raises(StoreError, match="busy with mirror"):
            lay_out(tree, [item])
    assert not (tree / "nvidia").exists()
    lay_out(tree, [item])
    assert [path.name for path in tree.iterdir()] == ["nvidia"]


def nvcc(folder: Path, release: str | None) -> Item:
    """Return an archive of nvcc, with its row of a lock file, as one for NVIDIA's index."""
    path = component(folder / "made", "cuda_nvcc", "12.4.131")
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


PIECES = {
    "nvidia-cuda-nvcc": ("nvcc", "13.0.88", "bin/nvcc"),
    "nvidia-cuda-crt": ("crt", "13.0.88", "include/crt/host_config.h"),
    "nvidia-nvvm": ("nvvm", "13.0.88", "nvvm/bin/cicc"),
    "nvidia-cuda-runtime": ("cudart", "13.0.96", "lib/libcudart_static.a"),
    "nvidia-cuda-cccl": ("cccl", "13.0.85", "include/cccl/nv/target"),
    "nvidia-cuda-culibos": ("culibos", "13.0.85", "lib/libculibos.a"),
}
"""Project → its extra of `cuda-toolkit`, its version in CUDA 13.0.2, and a file of it."""


def list_of_pieces(folder: Path) -> None:
    """Make small wheels, and the `cuda-toolkit` that says which belong to its release."""
    tag = f"py3-none-manylinux_2_17_{platform.machine()}"
    requires = []
    for project, (extra, version, file) in PIECES.items():
        tree = {f"nvidia/cu13/{file}": project.encode()}
        builders.wheel(folder, project, version, tag, tree=tree)
        requires.append(f"{project}=={version}.*; extra == '{extra}'\nProvides-Extra: {extra}")
    builders.wheel(
        folder, "cuda-toolkit", "13.0.2", "py2.py3-none-any", tree={"x": b"x"}, requires=requires
    )


def no_index(folder: Path) -> dict[str, str]:
    return {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(folder), "PIP_CONFIG_FILE": "/dev/null"}


def test_wheels_from_a_folder_and_a_mirrored_index(machines: list[Home], tmp_path: Path) -> None:
    wheels, tree, lock = tmp_path / "wheels", tmp_path / "www", tmp_path / "cuda.lock"
    list_of_pieces(wheels)
    choice = ("13", "--from", "pypi", "--components", "minimal")
    first, second = machines
    succeeded(first.run("lock", *choice, "-o", lock, **no_index(wheels)))
    [kit] = read_lock(lock)
    assert {row.source for row in kit.packages} == {"pypi"}
    [name] = succeeded(first.run("sync", "--lock", lock, **no_index(wheels)))
    other = make_home(tmp_path / "other")
    assert succeeded(other.run("install", *choice, **no_index(wheels))) == [name]
    assert manifests(other) == manifests(first)
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
    # One of a lock file has no list of releases, and serves `sync`.
    done = first.run("mirror", tmp_path / "locked", "--lock", lock, **no_index(wheels))
    assert (
        "hint: cudaswitch config set mirrors.pypi URL/simple, then cudaswitch sync" in done.stderr
    )
    third = make_home(tmp_path / "third")
    with plain_server(tmp_path / "locked") as url:
        succeeded(third.run("config", "set", "mirrors.pypi", f"{url}/simple"))
        assert succeeded(third.run("sync", "--lock", lock, **pip)) == [name]
    assert manifests(third) == manifests(first)
    shutil.rmtree(second.store)
    # pip's wheels were kept, so that neither it nor a network is needed again.
    assert succeeded(second.run("sync", "--offline", "--lock", lock)) == [name]
    assert manifests(second) == manifests(first)


def test_a_link_without_a_hash_gets_one(tmp_path: Path) -> None:
    """Another tool may have written the page."""
    old, new = (
        builders.wheel(tmp_path, "a", version, "py3-none-any", tree={"x": b"x"})
        for version in ("1", "2")
    )
    project = tmp_path / "www/simple/a"
    project.mkdir(parents=True)
    (project / old.name).write_bytes(old.read_bytes())
    (project / "index.html").write_text(f'<a href="{old.name}">{old.name}</a>')
    sha256 = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in (old, new)}
    row = locked_row(f"https://h/{new.name}", sha256[new.name], None, "pypi")
    lay_out(tmp_path / "www", [Item(row, current_platform(), None, new)])
    page = (project / "index.html").read_text()
    assert all(f"{name}#sha256={value}" in page for name, value in sha256.items())

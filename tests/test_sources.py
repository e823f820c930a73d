"""Files and URLs as a source, and the table of sources."""

from __future__ import annotations

import contextlib
import hashlib
import os
from pathlib import Path

import pytest

import builders
from checks import succeeded
from cudaswitch.changing import OwnStore
from cudaswitch.download.several import WantedFile
from cudaswitch.errors import SourceError, StoreError
from cudaswitch.install import Artifact, install
from cudaswitch.paths import Home as Folders
from cudaswitch.sources import Chosen, files, index, pypi
from cudaswitch.sources.bringing import bring
from cudaswitch.sources.exact import Exact, bring_exactly
from homes import Home
from http_server import Server

CONTENT = b"an archive" * 1000
SHA256 = "12d5d0be2c9d0bb2a5cc4dbf1ed1e2fbd1a0f0bfb0e0c4e1d1b9ad1d4d4b4b4b"


def test_a_local_file_stays_in_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "cudnn-10.1-linux-x64-v7.6.5.32.tgz"
    file.write_bytes(CONTENT)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    for what in (str(file), f"~/{file.name}", file.name, file.as_uri()):
        [artifact] = files.obtain(what, cache=tmp_path / "cache", workdir=tmp_path).artifacts
        assert artifact.path.samefile(file)
        assert artifact.path.name == file.name
        assert artifact.source is None  # the file tells
        assert artifact.origin in (str(file), file.as_uri())
    with pytest.raises(SourceError, match="sha256"):
        files.obtain(str(file), cache=tmp_path, workdir=tmp_path, sha256=SHA256)
    with pytest.raises(SourceError, match="no file"):
        files.obtain("nothing.conda", cache=tmp_path, workdir=tmp_path)


def test_a_folder_is_for_adopt(tmp_path: Path) -> None:
    for name, word in (("cuda", f"{tmp_path}/cuda"), ("my cuda", f"'{tmp_path}/my cuda'")):
        (tmp_path / name).mkdir()
        with pytest.raises(SourceError) as caught:
            files.obtain(str(tmp_path / name), cache=tmp_path, workdir=tmp_path)
        hint = f"if it is a toolkit: `cudaswitch adopt {word}`; cuDNN needs its archive"
        assert caught.value.hint == hint


def test_a_url_keeps_its_file_name_and_loses_its_credentials(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    with Server(CONTENT) as server:
        url = server.url("ok", "t/SECRET/cuda%20a.conda", credentials="me:SECRET")
        delivery = files.obtain(url, cache=tmp_path / "cache", workdir=work)
        assert delivery.toolkit is None
        [artifact] = delivery.artifacts
        assert artifact.path.name == "cuda a.conda"
        assert artifact.path.is_relative_to(work)
        assert artifact.path.read_bytes() == CONTENT
        assert artifact.path.resolve().parent == tmp_path / "cache"
        assert artifact.origin == server.url("ok", "t/***/cuda%20a.conda")
        with pytest.raises(StoreError, match="cannot write to"):
            files.obtain(url, cache=tmp_path / "cache", workdir=tmp_path / "no such folder")
    files.obtain(url, cache=tmp_path / "cache", workdir=work, offline=True)


def _artifact(way: str, path: Path, sha256: str, work: Path) -> Artifact:
    """Bring a file in one of the ways in which its hash is known."""
    if way in ("path", "file URL"):
        what = str(path) if way == "path" else path.as_uri()
        return files.obtain(what, cache=work, workdir=work, sha256=sha256).artifacts[0]
    if way == "index":
        found = Chosen((WantedFile(path.as_uri(), sha256, None),))
        [artifact] = bring(found, "conda", workdir=work, offline=False).artifacts
    elif way == "lock":
        row = Exact(path.name, path.as_uri(), sha256, None, "conda", "linux-64")
        [artifact] = bring_exactly([row], workdir=work, offline=False)
    else:
        with Server(path.read_bytes()) as server:
            url = server.url("ok", path.name)
            [artifact] = files.obtain(url, cache=work, workdir=work).artifacts
    return artifact


@pytest.mark.parametrize("way", ["path", "file URL", "URL", "index", "lock"])
def test_what_is_unpacked_is_the_file_that_was_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """A file that another user has replaced since it was checked is not unpacked."""
    monkeypatch.setenv("CUDASWITCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "work").mkdir()
    path = builders.cudatoolkit_10_1(tmp_path / "files")
    other = builders.cudatoolkit_10_1(tmp_path / "files", form="conda")
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    store = OwnStore(Folders(str(tmp_path / "store")))
    artifact = _artifact(way, path, sha256, tmp_path / "work")
    os.replace(other, artifact.path.resolve())
    with pytest.raises(StoreError, match="changed while it was being read"):
        install(store, [([artifact], None)])
    assert store.packages() == []


@pytest.mark.parametrize("force", [False, True])
def test_deliveries_may_have_a_package_in_common(
    tmp_path: Path, pair: list[Path], force: bool
) -> None:
    """Deliveries may have a package in common, as two toolkits of a lock file with one cuDNN."""
    store = OwnStore(Folders(str(tmp_path / "store")))
    toolkit, library = (Artifact(path, str(path)) for path in pair)
    first, second = install(store, [([toolkit, library], None), ([library], None)], force=force)
    assert {kit.name for kit in first} == {"10.1.243", "10.1.243+cudnn7.6.5"}
    assert [kit.name for kit in second] == ["10.1.243+cudnn7.6.5"]
    assert len(store.packages()) == 2


def test_several_urls_may_end_with_one_name(home: Home, pair: list[Path]) -> None:
    """Several URLs may end with one name, as those of artifacts and latest releases do."""
    with contextlib.ExitStack() as held:
        urls = [
            held.enter_context(Server(path.read_bytes())).url("ok", "package.tar.bz2")
            for path in pair
        ]
        done = home.run("install", *urls)
        assert succeeded(done) == ["10.1.243", "10.1.243+cudnn7.6.5"]


@pytest.mark.parametrize(
    ("what", "is_file"),
    [
        ("10.1", False), ("10.1.243+cudnn7.6.5", False), (">=11.2,<12", False), ("auto", False),
        ("latest", False), ("lab", False), ("13.0", False),
        ("./13.0", True), ("~/x", True), ("a/b", True), ("https://h/x", True), ("ftp://h", True),
        ("cudatoolkit-10.1.243-h6bb024c_0.tar.bz2", True), ("x.conda", True), ("X.WHL", True),
        ("cudnn-10.1-linux-x64-v7.6.5.32.tgz", True), ("cudnn-archive.tar.xz", True),
        ("13.1", False), ("a.solitairetheme8", True), ("b.solitairetheme8", False),
        ("folder.8", True),
    ],
)  # fmt: skip
def test_names_file(
    what: str, is_file: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in ("13.0", "folder.8"):
        (tmp_path / folder).mkdir()
    for file in ("13.1", "a.solitairetheme8"):
        (tmp_path / file).touch()
    assert files.names_file(what) is is_file


def test_the_table() -> None:
    assert index("pypi") is pypi

"""NVIDIA's redist index, served by a real server: chosen, verified, installed, compiled with."""

from __future__ import annotations

import copy
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import builders
from builders.redist import redist_index
from checks import refused, succeeded
from cudaswitch.compat.redist import FIRST_TOOLKIT, known_releases
from cudaswitch.errors import CudaswitchError, RequestError, SourceError
from cudaswitch.platforms import current_platform
from cudaswitch.sources import Delivery, nvidia
from cudaswitch.sources.redist import FOLDERS, LICENCES
from cudaswitch.versions import Version, parse_request
from folder_server import FolderServer
from homes import Home, make_home
from stock import FOLDER, component

PIECES = {
    "cuda_nvcc": "12.4.131",
    "cuda_cudart": "12.4.127",
    "cuda_cccl": "12.4.127",
    "cuda_cupti": "12.4.127",
    "cuda_nvml_dev": "12.4.127",
    "cuda_profiler_api": "12.4.127",
    "libcublas": "12.4.5.8",
    "libnvjitlink": "12.4.127",
    "nsight_compute": "2024.1.1.4",
    "fabricmanager": "550.54.15",
    "nvidia_driver": "550.54.15",
}
"""Pieces of redistrib_12.4.1.json, the last two of which are no part of a toolkit."""
MINIMAL = {"cuda_nvcc", "cuda_cudart", "cuda_cccl"}
BUILD = MINIMAL | {"cuda_cupti", "cuda_profiler_api", "libcublas", "libnvjitlink"}
INDEX = "/cuda/redist/redistrib_12.4.1.json"


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A redist tree with CUDA 12.4.0, 12.4.1 and 11.0.3 (as real: without a toolkit), and cuDNN."""
    folder = tmp_path_factory.mktemp("redist")
    made, base = folder / "made", folder / "base"
    redist_index(base, "cuda", "12.4.1", [component(made, *piece) for piece in PIECES.items()])
    redist_index(base, "cuda", "12.4.0", [component(made, "cuda_nvcc", "12.4.99")])
    redist_index(base, "cuda", "11.0.3", [component(made, "fabricmanager", "450.51.06")])
    for release, full, cudas in (("8.9.7", "8.9.7.29", "12 11"), ("9.22.0", "9.22.0.52", "12 13")):
        named = [builders.cudnn_archive(made, "8.8+", full, cuda) for cuda in cudas.split()]
        redist_index(base, "cudnn", release, named)
    return base


@pytest.fixture
def server(tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FolderServer]:
    with FolderServer(tree, lists=True) as running:
        monkeypatch.setenv("CUDASWITCH_NVIDIA_URL", running.url)
        monkeypatch.setenv("CUDASWITCH_CACHE", str(tmp_path / "cache"))
        monkeypatch.setenv("CUDASWITCH_TIMEOUT", "60")
        monkeypatch.setenv("CUDASWITCH_RETRIES", "0")
        (tmp_path / "work").mkdir()
        yield running


def obtain(tmp_path: Path, text: str, components: str = "minimal", **options: Any) -> Delivery:
    options = {"platform": current_platform(), "offline": False} | options
    return nvidia.obtain(
        parse_request(text), components=components, workdir=tmp_path / "work", **options
    )


def names(delivery: Delivery) -> set[str]:
    return {artifact.path.name.partition("-")[0] for artifact in delivery.artifacts}


def hostile(server: FolderServer, **changes: Any) -> None:
    """Let the server send an index whose entry for cuda_nvcc is changed; None takes a key away."""
    index = json.loads((server.root / INDEX.lstrip("/")).read_text())
    entry = index["cuda_nvcc"][FOLDER]
    entry |= changes
    index["cuda_nvcc"][FOLDER] = {key: value for key, value in entry.items() if value is not None}
    server.instead[INDEX] = json.dumps(index).encode()


def test_the_newest_release_that_fits(server: FolderServer, tmp_path: Path) -> None:
    delivery = obtain(tmp_path, "12.4")
    assert delivery.toolkit == Version("12.4.1")
    assert names(delivery) == MINIMAL
    for artifact in delivery.artifacts:
        at = f"cuda/redist/{artifact.path.name.partition('-')[0]}/{FOLDER}/{artifact.path.name}"
        assert artifact.path.read_bytes() == (server.root / at).read_bytes()
        assert (artifact.origin, artifact.source) == (f"{server.url}/{at}", "nvidia")
    assert obtain(tmp_path, "12.4.0").toolkit == Version("12.4.0")


def test_the_newest_is_asked_for_alone(server: FolderServer) -> None:
    here = current_platform()
    assert nvidia.newest(parse_request("12"), platform=here) == Version("12.4.1")
    assert str(nvidia.newest_cudnn("8", Version("12.4.1"), platform=here)) == "8.9.7.29"
    assert str(nvidia.newest_cudnn("9", Version("13.0.2"), platform=here)) == "9.22.0.52"
    assert not [path for path, _ in server.asked if path.endswith(".xz")]


@pytest.mark.parametrize(
    ("components", "expected"),
    [
        ("minimal", MINIMAL),
        ("build", BUILD),
        ("full", BUILD | {"cuda_nvml_dev", "nsight_compute"}),
        ("nvcc, cublas", {"cuda_nvcc", "libcublas"}),
    ],
)
def test_components(
    server: FolderServer, tmp_path: Path, components: str, expected: set[str]
) -> None:
    assert names(obtain(tmp_path, "12.4.1", components)) == expected


def test_an_unknown_component_is_named_and_nothing_is_fetched(
    server: FolderServer, tmp_path: Path
) -> None:
    with pytest.raises(RequestError, match="has no component `rust`") as caught:
        obtain(tmp_path, "12.4", "nvcc,rust")
    assert "minimal, build, full, cccl" in (caught.value.hint or "")
    assert "fabricmanager" not in (caught.value.hint or "")
    assert not [path for path, _ in server.asked if path.endswith(".tar.xz")]


@pytest.mark.parametrize(
    ("cudnn", "expected"),
    [
        ("8", "8.9.7.29_cuda12"),
        ("8.9.7.29", "8.9.7.29_cuda12"),
        ("9", "9.22.0.52_cuda12"),
        ("9.22.0", "9.22.0.52_cuda12"),
    ],
)
def test_cudnn_by_its_cuda(server: FolderServer, tmp_path: Path, cudnn: str, expected: str) -> None:
    delivery = obtain(tmp_path, f"12.4+cudnn{cudnn}")
    assert delivery.artifacts[-1].path.name == f"cudnn-linux-x86_64-{expected}-archive.tar.xz"


def test_cudnn_alone_and_what_there_is_none_of(server: FolderServer, tmp_path: Path) -> None:
    def ask(cudnn: str, cuda: str, platform: str = "linux-64") -> Delivery:
        return nvidia.obtain_cudnn(
            cudnn, Version(cuda), workdir=tmp_path / "work", platform=platform, offline=False
        )

    # 9.22 is newer, but not for CUDA 11.
    [artifact] = ask("8.9", "11.8.0").artifacts
    assert "8.9.7.29_cuda11" in artifact.path.name
    for asked in (
        ("9", "11.8.0"),
        ("8.9.7.30", "12.4.1"),
        ("7.6", "12.4"),
        ("9", "13.0", "win-64"),
    ):
        with pytest.raises(SourceError, match=r"no cuDNN \S+ for CUDA 1\d on"):
            ask(*asked)


def test_what_the_index_has_no_toolkit_of(server: FolderServer, tmp_path: Path) -> None:
    assert nvidia.available(offline=False) == [Version("12.4.1"), Version("12.4.0")]
    for text in ("10.1", "11.0.3", "11.4.1"):
        with pytest.raises(SourceError, match=r"no toolkit before CUDA 11\.4\.2"):
            obtain(tmp_path, text)
    with pytest.raises(SourceError, match=r"no CUDA 12\.8") as caught:
        obtain(tmp_path, "12.8")
    assert caught.value.hint == "available: 12.4.1, 12.4.0"
    with pytest.raises(RequestError, match="no CUDA for `osx-64`"):
        obtain(tmp_path, "12.4", platform="osx-64")
    with pytest.raises(SourceError, match="has no minimal for win-64"):
        obtain(tmp_path, "12.4", platform="win-64")


def test_a_server_that_lists_nothing(server: FolderServer, tmp_path: Path) -> None:
    server.lists = False
    known = known_releases("cuda")
    assert nvidia.available(offline=False) == sorted(
        (one for one in known if one >= FIRST_TOOLKIT), reverse=True
    )
    assert nvidia.available(offline=False)[0] >= Version("13.4.2")
    # 12.4.1 is asked for, and there; for 12 the newer releases are asked for first.
    assert obtain(tmp_path, "12.4").toolkit == Version("12.4.1")
    assert obtain(tmp_path, "12").toolkit == Version("12.4.1")
    assert server.statuses("/cuda/redist/redistrib_12.9.1.json") == [404]
    with pytest.raises(SourceError, match=r"redistrib_13\.4\.2\.json`: .* 404"):
        obtain(tmp_path, "13")


def test_a_second_time_nothing_is_fetched_again_nor_needed(
    server: FolderServer, tmp_path: Path
) -> None:
    first = obtain(tmp_path, "12.4")
    asked = len(server.asked)
    assert names(obtain(tmp_path, "12.4")) == names(first)
    assert server.asked[asked:] == [("/cuda/redist/", 200), (INDEX, 304)]
    asked = len(server.asked)
    assert names(obtain(tmp_path, "12", offline=True)) == names(first)
    with pytest.raises(SourceError, match="nothing is downloaded offline"):
        obtain(tmp_path, "12.4", "full", offline=True)
    assert len(server.asked) == asked


def test_a_folder_serves_as_well(
    tree: Path, server: FolderServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDASWITCH_NVIDIA_URL", tree.as_uri() + "/")
    delivery = obtain(tmp_path, "latest+cudnn9", offline=True)
    assert delivery.toolkit == Version("12.4.1")
    assert names(delivery) == MINIMAL | {"cudnn"}
    assert not server.asked


def test_the_licence_is_told_once_and_noted(
    server: FolderServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    obtain(tmp_path, "12.4+cudnn8")
    said = capsys.readouterr().err.splitlines()
    at = f"{server.url}/cuda/redist/cuda_cccl/LICENSE.txt"
    assert said == [
        f"licence: CUDA Toolkit, accepted by installing: {at}",
        f"licence: cudnn, accepted by installing: {server.url}/cudnn/redist/cudnn/LICENSE.txt",
    ]
    note = json.loads((tmp_path / "cache/licences/cuda-toolkit.json").read_text())
    assert (note["licence"], note["url"]) == ("CUDA Toolkit", at)
    obtain(tmp_path, "12.4+cudnn8", "full")
    assert capsys.readouterr().err == ""


def test_a_licence_is_accepted_by_what_installs(server: FolderServer, tmp_path: Path) -> None:
    """Only what installs shows licences, not `lock`, `download` and `mirror`."""
    first, second = make_home(tmp_path / "first"), make_home(tmp_path / "second")
    mirror = {"CUDASWITCH_NVIDIA_URL": server.url}
    what = ("12.4", "--cudnn", "8", "--components", "minimal", "--from", "nvidia")
    for command in (["lock"], ["download"], ["mirror", "www"]):
        done = first.run(*command, *what, cwd=tmp_path, **mirror)
        assert succeeded(done) is not None
        assert "licence" not in done.stderr, command
    told = first.run("install", *what, **mirror).stderr
    assert [line.split(",")[0] for line in told.splitlines()] == [
        "licence: CUDA Toolkit",
        "licence: cudnn",
    ]
    # The licence of what is not installed is not accepted.
    assert "licence" not in refused(second.run("sync", "--offline", cwd=tmp_path))
    told = second.run("sync", cwd=tmp_path).stderr
    assert told.splitlines() == [
        f"licence: {name}, accepted by installing: {at}" for name, at in LICENCES.values()
    ]
    # A licence is shown once, whichever command did so.
    assert second.run("sync", "--force", cwd=tmp_path).stderr == ""
    for command in (["install", *what, "--force"], ["install", "12.3", *what[3:]]):
        assert "licence" not in second.run(*command, **mirror).stderr
    assert first.run("sync", "--force", cwd=tmp_path).stderr == ""


def test_what_does_not_come_is_not_accepted(
    server: FolderServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    index = json.loads((server.root / INDEX.lstrip("/")).read_text())
    path = index["cuda_nvcc"][FOLDERS[current_platform()]]["relative_path"]
    server.instead[f"/cuda/redist/{path}"] = b"another"
    with pytest.raises(SourceError):
        obtain(tmp_path, "12.4", "nvcc")
    assert "licence" not in capsys.readouterr().err
    server.instead.clear()
    obtain(tmp_path, "12.4", "nvcc")
    assert "licence: CUDA Toolkit" in capsys.readouterr().err


@pytest.mark.parametrize("odd", ["\x1b[2J", "https://evil.example/", "../../x", 7, None, "x\ny"])
def test_a_licence_of_odd_words_is_not_shown(
    server: FolderServer, tmp_path: Path, capsys: pytest.CaptureFixture[str], odd: object
) -> None:
    index = json.loads((server.root / INDEX.lstrip("/")).read_text())
    index["cuda_nvcc"] |= {"license": odd, "license_path": odd}
    server.instead[INDEX] = json.dumps(index).encode()
    obtain(tmp_path, "12.4", "nvcc")
    said = capsys.readouterr().err
    assert said == "licence: {}, accepted by installing: {}\n".format(*LICENCES["cuda"])
    assert [at.name for at in (tmp_path / "cache/licences").iterdir()] == ["cuda-toolkit.json"]


UNTRUSTED = {
    "no sha256": ({"sha256": None}, "no sha256 for cuda_nvcc"),
    "an md5 in its place": ({"sha256": "9ee28df53dc5f83d97f5406f880d3953"}, "no sha256"),
    "a list for a hash": ({"sha256": ["0" * 64]}, "no sha256"),
    "no size": ({"size": None}, "no size for cuda_nvcc"),
    "a size of nothing": ({"size": "0"}, "no size"),
    "a negative size": ({"size": "-1"}, "no size"),
    "a size in words": ({"size": "many"}, "no size"),
    "traversal": ({"relative_path": "../../etc/passwd"}, "no path inside of its folder"),
    "inner traversal": ({"relative_path": "cuda_nvcc/../../x.tar.xz"}, "no path inside"),
    "an absolute path": ({"relative_path": "/etc/passwd"}, "no path inside"),
    "another host": ({"relative_path": "//evil.example/x.tar.xz"}, "no path inside"),
    "a URL": ({"relative_path": "https://evil.example/x.tar.xz"}, "no path inside"),
    "a file URL": ({"relative_path": "file:///etc/passwd"}, "no path inside"),
    "a query": ({"relative_path": "x.tar.xz?y"}, "no path inside"),
    "an encoded slash": ({"relative_path": "..%2f..%2fx.tar.xz"}, "no path inside"),
    "a backslash": ({"relative_path": "..\\x.tar.xz"}, "no path inside"),
    "a newline": ({"relative_path": "x.tar.xz\n"}, "no path inside"),
    "no path": ({"relative_path": ""}, "no path inside"),
    "a number for a path": ({"relative_path": 7}, "no path inside"),
    "another sha256": ({"sha256": "0" * 64}, "its sha256 is"),
    "too small a size": ({"size": "10"}, "but 10 were expected"),
    "too large a size": ({"size": "999999"}, "but 999999 were expected"),
}


@pytest.mark.parametrize("kind", UNTRUSTED)
def test_an_index_that_is_not_to_be_trusted(
    server: FolderServer, tmp_path: Path, kind: str
) -> None:
    changes, message = UNTRUSTED[kind]
    hostile(server, **changes)
    with pytest.raises(SourceError) as caught:
        obtain(tmp_path, "12.4", "nvcc")
    assert message in caught.value.message
    assert "\n" not in caught.value.message
    assert server.url in caught.value.message
    # A bad entry that is not asked for does no harm.
    assert names(obtain(tmp_path, "12.4", "cudart")) == {"cuda_cudart"}


@pytest.mark.parametrize(
    "content",
    [b"{", b"[]", b"null", b"\xff\xfe", b"{" * 10, b"[" * 200_000, b"\0" * 100, b'"text"'],
    ids=lambda content: content[:6],
)
def test_no_index_at_all(server: FolderServer, tmp_path: Path, content: bytes) -> None:
    server.instead[INDEX] = content
    with pytest.raises(SourceError, match="it is not an index"):
        obtain(tmp_path, "12.4")


def test_an_index_that_was_damaged_on_its_way(server: FolderServer, tmp_path: Path) -> None:
    """What came under the ETag of the right index is fetched again if it is none."""
    server.once[INDEX] = b"{"
    with pytest.raises(SourceError, match="it is not an index"):
        obtain(tmp_path, "12.4")
    obtain(tmp_path, "12.4")


def test_entries_of_other_kinds(server: FolderServer, tmp_path: Path) -> None:
    index = json.loads((server.root / INDEX.lstrip("/")).read_text())
    odd = copy.deepcopy(index)
    odd |= {"cuda_gdb": [], "cuda_cuobjdump": {FOLDER: "x"}, "libcufft": {FOLDER: {"cuda11": {}}}}
    odd |= {"cuda_nvtx": None, "../x": {FOLDER: {"relative_path": "../x"}}}
    del odd["cuda_cccl"]["license_path"], odd["cuda_cccl"]["license"]
    server.instead[INDEX] = json.dumps(odd).encode()
    assert names(obtain(tmp_path, "12.4", "full")) == BUILD | {"cuda_nvml_dev", "nsight_compute"}


def test_a_huge_index(
    server: FolderServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nvidia, "LIMIT", 5000)
    for base in (server.url, server.root.as_uri()):
        monkeypatch.setenv("CUDASWITCH_NVIDIA_URL", base)
        with pytest.raises(SourceError, match="over the limit of 5000"):
            obtain(tmp_path, "12.4.1")


def test_one_bad_file_among_many_ends_it_and_the_others_are_kept(
    server: FolderServer, tmp_path: Path
) -> None:
    path = f"/cuda/redist/libcublas/{FOLDER}/libcublas-{FOLDER}-12.4.5.8-archive.tar.xz"
    server.instead[path] = b"\0" * (server.root / path.lstrip("/")).stat().st_size
    with pytest.raises(SourceError, match=r"libcublas.*its sha256 is"):
        obtain(tmp_path, "12.4", "build")
    del server.instead[path]
    assert names(obtain(tmp_path, "12.4", "build")) == BUILD
    tars = [at for at, status in server.asked if at.endswith(".tar.xz") and status == 200]
    assert len(tars) == len(set(tars)) + 1


def test_a_server_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDASWITCH_NVIDIA_URL", "http://me:SECRET@127.0.0.1:9")
    monkeypatch.setenv("CUDASWITCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("CUDASWITCH_RETRIES", "0")
    with pytest.raises(CudaswitchError, match=r"cannot download .*redistrib_12\.4\.1") as caught:
        obtain(tmp_path, "12.4.1")
    assert "SECRET" not in caught.value.message


def install(home: Home, url: str, *what: str) -> subprocess.CompletedProcess[str]:
    return home.run(
        "install", "--from", "nvidia", "--components", "minimal", *what, CUDASWITCH_NVIDIA_URL=url
    )


@pytest.mark.parametrize(
    "command", ["install 12.4", "install 12.4 --cudnn 8", "sync", "install URL"]
)
def test_nothing_comes_for_a_store_that_may_not_be_written(
    server: FolderServer, home: Home, command: str
) -> None:
    """A store that may not be written is refused before a toolkit's gigabytes are fetched."""
    named = {"CUDASWITCH_NVIDIA_URL": server.url, "CUDASWITCH_CACHE": str(home.path / "cache")}
    which = ["--components", "minimal", "--from", "nvidia"]
    succeeded(home.run("lock", "12.4", *which, **named))
    home.store.mkdir()
    if "--cudnn" in command:
        succeeded(home.run("install", "12.4", *which, **named))
        (home.store / ".staging").chmod(0o555)
    home.store.chmod(0o555)
    path = f"cuda/redist/cuda_nvcc/{FOLDER}/cuda_nvcc-{FOLDER}-12.4.131-archive.tar.xz"
    words = [f"{server.url}/{path}" if word == "URL" else word for word in command.split()]
    server.asked.clear()
    words += which if "12.4" in words else []
    done = home.run_plainly(*words, **named)
    refused(done, f"cannot write the store `{home.store}`", "Permission denied", hint="HOME")
    assert [path for path, _ in server.asked if path.endswith(".xz")] == []

"""conda channels, served by a real server: chosen without a solver up to 11, solved from 12 on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import builders
from checks import PYTHON, RUNTIME_ANSWER, refused, snapshot, succeeded
from conda_channels import CONDA_FORGE, DEFAULTS, NVIDIA, add_records, compress, obtain
from cudaswitch.errors import RequestError, SourceError
from cudaswitch.sources import Delivery
from cudaswitch.sources.channels import channel_url
from cudaswitch.sources.conda import Channels
from cudaswitch.sources.condarc import Condarc
from cudaswitch.sources.repodata import read_records
from cudaswitch.versions import Version
from folder_server import FolderServer
from homes import Home

SINGLE = "/defaults/linux-64/repodata.json"


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three channels whose records have real names; two of the packages are really there."""
    folder = tmp_path_factory.mktemp("channels")
    packages = [builders.cudatoolkit_10_1(folder), builders.cudnn_7_6_5(folder)]
    packages.append(builders.cudatoolkit_10_1(folder, form="conda"))
    builders.local_channel(folder / "tree/defaults", packages)
    add_records(folder / "tree/defaults", DEFAULTS)
    add_records(folder / "tree/nvidia", NVIDIA)
    add_records(folder / "tree/conda-forge", CONDA_FORGE)
    compress(folder / "tree/conda-forge")
    return folder / "tree"


@pytest.fixture
def server(tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FolderServer]:
    with FolderServer(tree) as running:
        monkeypatch.setenv("CUDASWITCH_CHANNEL_ALIAS", running.url)
        monkeypatch.setenv("CUDASWITCH_CACHE", str(tmp_path / "cache"))
        monkeypatch.setenv("CUDASWITCH_TIMEOUT", "60")
        monkeypatch.setenv("CUDASWITCH_RETRIES", "0")
        (tmp_path / "work").mkdir()
        yield running


def names(delivery: Delivery) -> list[str]:
    return [artifact.path.name for artifact in delivery.artifacts]


def asked_for(tmp_path: Path, text: str, *channels: str) -> str:
    """Return which package is asked for; it is not there, so the message names it."""
    with pytest.raises(SourceError, match="404") as caught:
        obtain(tmp_path, text, *channels)
    return caught.value.message.partition("`")[2].partition("`")[0].rpartition("/")[2]


def test_toolkit_and_cudnn(server: FolderServer, tmp_path: Path) -> None:
    defaults = f"{server.url}/defaults/"
    delivery = obtain(tmp_path, "10.1+cudnn7.6", defaults)
    stems = ["cudatoolkit-10.1.243-h6bb024c_0.conda", "cudnn-7.6.5-cuda10.1_0.tar.bz2"]
    assert names(delivery) == stems
    assert delivery.toolkit is None
    assert [one.origin for one in delivery.artifacts] == [
        f"{defaults}linux-64/{at}" for at in stems
    ]
    assert {one.source for one in delivery.artifacts} == {"conda"}
    [cudnn] = (
        Channels((defaults,))
        .obtain_cudnn(
            "7", Version("10.1.168"), workdir=tmp_path / "work", platform="linux-64", offline=False
        )
        .artifacts
    )
    assert cudnn.path.name == stems[1]


@pytest.mark.parametrize(
    ("text", "channel", "expected"),
    [
        ("9.0", "defaults", "cudatoolkit-9.0-h13b8566_0.tar.bz2"),
        ("9", "defaults", "cudatoolkit-9.2-0.tar.bz2"),
        ("10.0", "defaults", "cudatoolkit-10.0.130-0.tar.bz2"),
        ("10.1.168", "defaults", "cudatoolkit-10.1.168-0.tar.bz2"),
        # Two builds of one version: the newer one.
        ("10.2", "defaults", "cudatoolkit-10.2.89-hfd86e86_1.tar.bz2"),
        (">=11,<11.4", "defaults", "cudatoolkit-11.3.1-h2bc3f7f_2.tar.bz2"),
        ("latest", "defaults", "cudatoolkit-11.8.0-h6a678d5_0.tar.bz2"),
        # Build numbers compare as numbers, and .conda goes before .tar.bz2.
        ("11.1", "conda-forge", "cudatoolkit-11.1.1-hb139c0e_13.conda"),
        ("11.2.2", "conda-forge", "cudatoolkit-11.2.2-hc23eb0c_13.conda"),
        ("11.8", "conda-forge", "cudatoolkit-11.8.0-h4ba93d1_13.conda"),
        ("11.1.74", "nvidia", "cudatoolkit-11.1.74-h6bb024c_0.tar.bz2"),
        ("11.7", "nvidia", "cudatoolkit-11.7.0-hd8887f6_10.tar.bz2"),
    ],
)
def test_which_build_is_chosen(
    server: FolderServer, tmp_path: Path, text: str, channel: str, expected: str
) -> None:
    assert asked_for(tmp_path, text, f"{server.url}/{channel}") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("11.8", "conda-forge/linux-64/cudatoolkit-11.8.0-h4ba93d1_13.conda"),
        ("11.0", "defaults/linux-64/cudatoolkit-11.0.221-h6bb024c_0.tar.bz2"),
        ("11.2.72", "nvidia/linux-64/cudatoolkit-11.2.72-h2bc3f7f_0.tar.bz2"),
    ],
)
def test_the_first_channel_that_has_it(
    server: FolderServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    text: str,
    expected: str,
) -> None:
    monkeypatch.setenv("CUDASWITCH_CHANNELS", f"conda-forge, nvidia {server.url}/defaults")
    with pytest.raises(SourceError) as caught:
        obtain(tmp_path, text)
    assert f"`{server.url}/{expected}`" in caught.value.message


def test_cudnn_is_built_for_the_toolkit(server: FolderServer, tmp_path: Path) -> None:
    def ask(cudnn: str, cuda: str, *channels: str) -> str:
        with pytest.raises(SourceError) as caught:
            Channels(tuple(f"{server.url}/{name}" for name in channels)).obtain_cudnn(
                cudnn, Version(cuda), workdir=tmp_path / "work", platform="linux-64", offline=False
            )
        return caught.value.message

    assert "cudnn-7.6.5-cuda9.2_0.tar.bz2" in ask("7", "9.2.148", "defaults")
    assert "cudnn-8.9.2.26-cuda11_0.tar.bz2" in ask("8", "11.8.0", "defaults")
    assert "cudnn-8.2.1-cuda11.3_0.tar.bz2" in ask("8.2", "11.3.1", "defaults")
    assert "cudnn-8.0.4-cuda11.1_0.tar.bz2" in ask("8.0", "11.1.74", "defaults", "nvidia")
    assert "cudnn-8.9.7.29-h092f7fd_3.conda" in ask("8.9.7", "12.4", "conda-forge")
    assert "no cuDNN 7.6 for CUDA 11.8 in" in ask("7.6", "11.8.0", "defaults", "nvidia")
    assert "no cuDNN 9 for CUDA 13.0 in" in ask("9", "13.0.2", "conda-forge")
    assert "is incomplete" in ask("9", "13.0.2", "conda-forge")


def test_one_package_has_no_components(server: FolderServer, tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="one package there, without nvcc"):
        obtain(tmp_path, "10.1", f"{server.url}/defaults", components="nvcc")
    assert names(obtain(tmp_path, "10.1", f"{server.url}/defaults", components="full"))


def test_what_no_channel_has(server: FolderServer, tmp_path: Path) -> None:
    with pytest.raises(
        SourceError, match=r"no CUDA 8\.0 in `http\S+/defaults`, `nvidia`"
    ) as caught:
        obtain(tmp_path, "8.0", f"{server.url}/defaults", "nvidia")
    assert caught.value.hint == (
        "the closest are 9.2, 9.0, 10.2.89, 10.1.243, 10.1.168; cudaswitch search lists all"
    )
    with pytest.raises(SourceError, match=r"no CUDA 11\.8 in `nowhere`") as caught:
        obtain(tmp_path, "11.8", "nowhere")
    assert "names of the channels" in (caught.value.hint or "")


@pytest.mark.parametrize("text", ["latest", ">=11", "12", "12.1.0"])
def test_the_newest_may_come_in_many_packages(
    server: FolderServer, tmp_path: Path, text: str
) -> None:
    with pytest.raises(SourceError, match=r"`nvidia` has an incomplete CUDA 12\.1\.0"):
        obtain(tmp_path, text, "nvidia")


def test_an_index_is_asked_for_once_and_read_once(server: FolderServer, tmp_path: Path) -> None:
    channel = f"{server.url}/defaults"
    obtain(tmp_path, "10.1", channel)
    assert server.asked[:3] == [
        ("/defaults/linux-64/repodata_shards.msgpack.zst", 404),
        ("/defaults/linux-64/repodata.json.zst", 404),
        (SINGLE, 200),
    ]
    assert not [path for path, _ in server.asked if "noarch" in path]
    obtain(tmp_path, "10.1", channel)
    assert server.statuses(SINGLE) == [200, 304]
    [kept] = (tmp_path / "cache/channels").iterdir()
    records = json.loads(kept.read_text())
    assert "cudatoolkit-9.0-h13b8566_0.tar.bz2" in records
    assert "numpy-1.19.2-py38h54aff64_0.conda" not in records
    # The kept records are what is read.
    changed = {file: record for file, record in records.items() if "10.1.243" not in file}
    kept.write_text(json.dumps(changed))
    assert asked_for(tmp_path, "10.1", channel) == "cudatoolkit-10.1.168-0.tar.bz2"
    kept.write_text("damaged")
    assert names(obtain(tmp_path, "10.1", channel)) == ["cudatoolkit-10.1.243-h6bb024c_0.conda"]
    asked = len(server.asked)
    assert names(obtain(tmp_path, "10.1", channel, offline=True))
    with pytest.raises(SourceError, match="offline"):
        obtain(tmp_path, "10.2", channel, offline=True)
    assert len(server.asked) == asked


def test_offline_without_an_index_is_told(tree: Path, server: FolderServer, tmp_path: Path) -> None:
    gone, there = f"{server.url}/defaults", (tree / "defaults").as_uri()
    with pytest.raises(
        SourceError, match=f"no CUDA 7.0 is known offline: the cache has no index of `{gone}`"
    ) as none:
        obtain(tmp_path, "7.0", gone, there, offline=True)
    assert none.value.hint == "run the command without --offline"
    # A package that another channel has is taken all the same.
    assert names(obtain(tmp_path, "10.1", gone, there, offline=True))
    with pytest.raises(SourceError, match=r"no cuDNN 5 is known offline"):
        obtain(tmp_path, "10.1+cudnn5", gone, there, offline=True)
    with pytest.raises(SourceError, match=f"no CUDA 7.0 in `{there}`"):
        obtain(tmp_path, "7.0", there, offline=True)
    assert not server.asked


def test_a_folder_is_a_channel(
    tree: Path, server: FolderServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tree)
    for channel in ("./defaults", str(tree / "defaults"), (tree / "defaults").as_uri()):
        delivery = obtain(tmp_path, "10.1+cudnn7", channel, offline=True)
        assert names(delivery)[1] == "cudnn-7.6.5-cuda10.1_0.tar.bz2"
    assert not server.asked
    assert not (tmp_path / "cache/channels").exists()


@pytest.mark.parametrize(
    ("name", "url"),
    [
        ("conda-forge", "https://conda.anaconda.org/conda-forge"),
        ("nvidia/label/cuda-12.4.1", "https://conda.anaconda.org/nvidia/label/cuda-12.4.1"),
        ("defaults", "https://repo.anaconda.com/pkgs/main"),
        ("https://me:pw@host/t/TOKEN/x/", "https://me:pw@host/t/TOKEN/x"),
    ],
)
def test_where_a_channel_lies(name: str, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CUDASWITCH_CHANNEL_ALIAS", raising=False)
    assert channel_url(name, Condarc()) == url


@pytest.mark.parametrize("name", ["", "a b", "a/../b", "ftp://host/x", "x//y", "-x", "$X", "a\n"])
def test_no_channel(name: str) -> None:
    with pytest.raises(RequestError, match="is not a channel"):
        channel_url(name, Condarc())


def test_a_channel_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match=f"no channel in `{tmp_path}/gone`"):
        channel_url(f"{tmp_path}/gone", Condarc())


def test_credentials_are_not_shown(server: FolderServer, tmp_path: Path) -> None:
    channel = server.url.replace("http://", "http://me:SECRET@") + "/defaults"
    [artifact] = obtain(tmp_path, "10.1", channel).artifacts
    assert artifact.origin.startswith(f"{server.url}/defaults/")
    for text in ("10.2", "8.0", "12.4"):
        with pytest.raises(SourceError) as caught:
            obtain(tmp_path, text, channel)
        assert "SECRET" not in caught.value.message + str(caught.value.hint)


NAME = "cudatoolkit-10.1.243-h6bb024c_0.conda"
UNTRUSTED: dict[str, tuple[dict[str, Any], str]] = {
    "no sha256": ({"sha256": None}, f"does not state the sha256 of {NAME}"),
    "an odd sha256": ({"sha256": "../x"}, "does not state the sha256"),
    "no size": ({"size": None}, "does not state the size"),
    "a size as text": ({"size": "12"}, "does not state the size"),
    "a size that is true": ({"size": True}, "does not state the size"),
    "another sha256": ({"sha256": "0" * 64}, "its sha256 is"),
    "another size": ({"size": 10}, "but 10 were expected"),
}


def hostile(server: FolderServer, changes: dict[str, Any], file: str = NAME) -> None:
    index = json.loads((server.root / SINGLE.lstrip("/")).read_text())
    record = index["packages.conda"].pop(NAME) | changes
    index["packages.conda"][file] = {k: v for k, v in record.items() if v is not None}
    server.instead[SINGLE] = json.dumps(index).encode()


@pytest.mark.parametrize("kind", UNTRUSTED)
def test_a_record_that_cannot_be_verified(server: FolderServer, tmp_path: Path, kind: str) -> None:
    changes, message = UNTRUSTED[kind]
    hostile(server, changes)
    with pytest.raises(SourceError) as caught:
        obtain(tmp_path, "10.1", f"{server.url}/defaults")
    assert message in caught.value.message


@pytest.mark.parametrize(
    ("file", "changes"),
    [
        ("../../cudatoolkit-10.1.243-h6bb024c_0.conda", {}),
        ("../../x-1-0.conda", {"name": "../../x"}),
        ("cudatoolkit-10.1.243-h6bb024c_0.conda?x", {}),
        ("cudatoolkit-10.1.243-h6bb024c_0.zip", {}),
        ("cudatoolkit-10.1.243-h6bb024c_0.conda", {"version": "99.9"}),
        ("cudatoolkit-10.1.243-h6bb024c_0.conda", {"version": "10.1.999"}),
        ("cudatoolkit-10.1.243-h6bb024c_0.conda", {"build": "h6bb024c_1"}),
        ("cudatoolkit-10.1.243-h6bb024c_0.conda", {"version": 10}),
        ("cudatoolkit-10.1.243-h6bb024c_0.conda", {"depends": "x"}),
        ("cudatoolkit-10.1.243-/../x_0.conda", {"build": "/../x_0"}),
        ("cudatoolkit-10.1.243rc1-h6bb024c_0.conda", {"version": "10.1.243rc1"}),
    ],
)
def test_a_record_that_names_another_file_does_not_count(
    server: FolderServer, tmp_path: Path, file: str, changes: dict[str, Any]
) -> None:
    hostile(server, changes, file)
    delivery = obtain(tmp_path, "10.1", f"{server.url}/defaults")
    assert names(delivery) == ["cudatoolkit-10.1.243-h6bb024c_0.tar.bz2"]


@pytest.mark.parametrize(
    "content",
    [
        b"{", b"[]", b"null", b"{}x", b'{"packages": []}', b'{"packages": {"a": {}}', b'{"a": 1',
        b'{"packages": {"cudatoolkit-1-0.conda": {}}} {}', b'{1: 2}', b'{"a" 1}', b'{"a": 1 "b"}',
        b'{"packages": {}, }', b'\xff{}', b'{"a": ' + b"[" * 200_000, b"\0\0", b"{}\xc3",
        b'{"a": "\xc3"}', b'{"a": "\xc3',
    ],
    ids=lambda content: repr(content[:16]),
)  # fmt: skip
def test_no_index_at_all(server: FolderServer, tmp_path: Path, content: bytes) -> None:
    server.instead[SINGLE] = content
    with pytest.raises(SourceError, match="it is not a channel index") as caught:
        obtain(tmp_path, "10.1", f"{server.url}/defaults")
    assert "\n" not in caught.value.message


def test_a_damaged_compressed_index(server: FolderServer, tmp_path: Path) -> None:
    path = "/conda-forge/linux-64/repodata.json.zst"
    whole = (server.root / path.lstrip("/")).read_bytes()
    for content in (whole[:-9], whole[:50] + b"\0" * 20 + whole[70:], b"{}"):
        server.instead[path] = content
        with pytest.raises(SourceError, match="it is not a channel index"):
            obtain(tmp_path, "11.8", "conda-forge")


def test_limits(server: FolderServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    channel = f"{server.url}/defaults"
    for name, value, message in (
        ("LIMIT", 1000, "over the limit of 1000"),
        ("PLAIN_LIMIT", 1000, "too large"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(f"cudaswitch.sources.repodata.{name}", value)
            with pytest.raises(SourceError, match=message):
                obtain(tmp_path, "10.1", channel)
    monkeypatch.setattr("cudaswitch.sources.repodata.VALUE_LIMIT", 1000)
    server.instead[SINGLE] = b'{"a": "' + b"x" * 600_000 + b'"}'
    with pytest.raises(SourceError, match="too large a value"):
        obtain(tmp_path, "10.1", channel)


def test_an_index_that_was_damaged_on_its_way(server: FolderServer, tmp_path: Path) -> None:
    """What came under the ETag of the right index is fetched again if it is none."""
    server.once[SINGLE] = b"{"
    with pytest.raises(SourceError, match="not a channel index"):
        obtain(tmp_path, "10.1", f"{server.url}/defaults")
    obtain(tmp_path, "10.1", f"{server.url}/defaults")


@pytest.mark.parametrize("status", [403, 200])
def test_a_server_that_does_not_say_404_of_what_it_does_not_have(
    server: FolderServer, tmp_path: Path, status: int
) -> None:
    """Such as a bucket that may not be listed, or a site with a page for everything."""
    server.missing = status, b"<html>not here</html>"
    obtain(tmp_path, "10.1", f"{server.url}/defaults")
    assert server.statuses(SINGLE) == [200]
    said = "answered 403" if status == 403 else "a web page"
    with pytest.raises(SourceError, match=rf"/nothing/linux-64/repodata\.json`: .*{said}"):
        obtain(tmp_path, "10.1", f"{server.url}/nothing")


def test_many_records_of_much_are_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    """Records that are wanted are limited in sum, though each is small; the others do not count."""
    monkeypatch.setattr("cudaswitch.sources.repodata.RECORDS_LIMIT", 1095)
    records = {f"{name}-{n}-0.conda": {"x": "y" * 90} for name in ("cuda", "b") for n in range(11)}
    raw = json.dumps({"packages.conda": records}).encode()
    assert len(list(read_records(iter([raw])))) == 11
    records["cuda-12-0.conda"] = {"x": "y"}
    raw = json.dumps({"packages.conda": records}).encode()
    with pytest.raises(ValueError, match="its records of CUDA are too large"):
        list(read_records(iter([raw])))


@pytest.mark.parametrize("step", [1, 7, 64, 1 << 20])
def test_records_are_the_same_however_they_arrive(step: int) -> None:
    data = {
        "info": {"subdir": "linux-64", "list": [1, [2, {"packages": {"cuda-x-1-0.conda": {}}}]]},
        "packages": {"cuda-a-1-0.tar.bz2": {"name": "cuda-a", "é": '"}{\\'}, "b-1-0.tar.bz2": {}},
        "repodata_version": 12,
        "packages.conda": {
            "cuda-c-1-h_0.conda": {"n": -1.5e3, "x": [True, None]},
            "cuda-d-1-0.conda": 3,
        },
        "removed": [],
        "last": 1234,
    }
    expected = {
        "cuda-a-1-0.tar.bz2": data["packages"]["cuda-a-1-0.tar.bz2"],  # type: ignore[index]
        "cuda-c-1-h_0.conda": data["packages.conda"]["cuda-c-1-h_0.conda"],  # type: ignore[index]
    }
    for indent, ascii_only in ((None, True), (2, False)):
        raw = json.dumps(data, indent=indent, ensure_ascii=ascii_only).encode() + b"\n"
        pieces = (raw[start : start + step] for start in range(0, len(raw), step))
        assert dict(read_records(pieces)) == expected


def test_installed_and_loaded(tree: Path, home: Home) -> None:
    with FolderServer(tree) as server:
        channels = {"CUDASWITCH_CHANNELS": f"{server.url}/nvidia,{server.url}/defaults"}
        done = home.run("install", "10.1", "--cudnn", "7.6", "--from", "conda", **channels)
        assert succeeded(done) == ["10.1.243", "10.1.243+cudnn7.6.5"]
        ran = home.run("exec", "10.1", "--", PYTHON, "-c", RUNTIME_ANSWER, "libcudart.so.10.1")
        assert succeeded(ran) == ["10010"]
        before = snapshot(home.store)
        gone = home.run("install", "10.2", "--from", "conda", **channels)
        refused(gone, "cudatoolkit-10.2.89-hfd86e86_1.tar.bz2", "404", hint="")
        assert snapshot(home.store) == before
        assert succeeded(home.run("install", "10.1", "--from", "conda", **channels))

"""conda's own settings hold for conda channels, over real servers, a proxy and TLS."""

from __future__ import annotations

import os
import shutil
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest

import builders
from cudaswitch.download.access import ANYBODY
from cudaswitch.errors import NotFoundError, SourceError
from cudaswitch.lockfile import locked
from cudaswitch.shells.spelling import setting_here
from cudaswitch.sources import Delivery
from cudaswitch.sources.channels import CHANNELS, places, usual_channels
from cudaswitch.sources.conda import Channels
from cudaswitch.sources.condarc import read_condarc
from cudaswitch.sources.exact import bring_exactly, of_locked
from cudaswitch.versions import parse_request
from folder_server import FolderServer
from http_server import self_signed
from mounts import NO_HOME, in_own_mounts
from tools import console_script

SECRET = "hunter2-token"  # noqa: S105  # a canary


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("channels")
    packages = [builders.cudatoolkit_10_1(folder), builders.cudnn_7_6_5(folder)]
    builders.local_channel(folder / "tree/lab/cuda", packages)
    return folder / "tree"


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(("CONDA", "XDG_", "CUDASWITCH_")) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("CUDASWITCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("CUDASWITCH_TIMEOUT", "60")
    monkeypatch.setenv("CUDASWITCH_RETRIES", "0")
    (tmp_path / "work").mkdir()


@pytest.fixture
def server(tree: Path) -> Iterator[FolderServer]:
    with FolderServer(tree) as running:
        yield running


def obtain(home: Path, *channels: str, offline: bool = False) -> Delivery:
    return Channels(channels).obtain(
        parse_request("10.1", "7.6"),
        workdir=home / "work",
        components="build",
        platform="linux-64",
        offline=offline,
    )


def condarc(home: Path, text: str) -> None:
    (home / ".condarc").write_text(text)


@pytest.mark.parametrize(
    "text",
    [
        "channels: [{url}/lab/cuda]",
        "channels: [lab/cuda]\nchannel_alias: {url}/",
        "channels: [lab/cuda]\ncustom_channels:\n  lab: {url}",
        "channels: [cuda]\ncustom_channels:\n  cuda: {url}/lab",
        "channels: [defaults]\ndefault_channels:\n  - {url}/lab/cuda",
        "channels: [ours]\ncustom_multichannels:\n  ours: [{url}/lab/none, {url}/lab/cuda]",
        "channels: [ours]\nmirrored_channels:\n  ours: [{dead}/a, {url}/lab/cuda]",
        "channels: ['${{THE_LAB}}/lab/cuda']",
    ],
    ids=("url", "alias", "prefix", "custom", "defaults", "several", "mirrors", "variable"),
)
def test_channels(
    tmp_path: Path, server: FolderServer, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, but not listening
        dead = f"http://127.0.0.1:{taken.getsockname()[1]}"
        monkeypatch.setenv("THE_LAB", server.url)
        condarc(tmp_path, text.format(url=server.url, dead=dead))
        assert len(obtain(tmp_path).artifacts) == 2


def test_what_is_said_here_is_stronger(
    tmp_path: Path, server: FolderServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    condarc(tmp_path, "channels: [a, b]\nchannel_alias: http://nowhere.invalid")
    assert list(usual_channels()) == ["a", "b"]
    monkeypatch.setenv("CUDASWITCH_CHANNEL_ALIAS", server.url)
    assert len(obtain(tmp_path, "lab/cuda").artifacts) == 2
    monkeypatch.setenv("CUDASWITCH_CHANNELS", "c")
    assert list(usual_channels()) == ["c"]


def test_files_in_their_order(tmp_path: Path) -> None:
    """The stronger file's lists come first, its tables and plain values win."""
    places_ = {
        ".config/conda/condarc.d/a.yml": "channels: [one]\noffline: true\nssl_verify: /one",
        ".conda/.condarc": "channels: [two]\ncustom_channels: {x: http://two, y: http://two}",
        ".condarc": "channels: [three]\ncustom_channels: {x: http://three}",
        "env/.condarc": "channels: [four, one]",
        "chosen.yml": "channels: five\nverify_ssl: /five",
        ".config/conda/condarc.d/not.txt": "channels: [never]",
    }
    for name, text in places_.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    variables = {
        "HOME": str(tmp_path),
        "CONDA_PREFIX": str(tmp_path / "env"),
        "CONDARC": str(tmp_path / "chosen.yml"),
    }
    found = read_condarc(variables)
    assert found.custom_channels == {"x": "http://three", "y": "http://two"}
    assert (found.offline, found.access.verify) == (True, "/five")
    assert read_condarc(variables | {"CONDA_OFFLINE": "false"}).offline is False
    assert read_condarc(variables | {"CONDA_CHANNELS": "six,seven"}).channels[:2] == (
        "six",
        "seven",
    )
    del variables["CONDARC"]
    assert read_condarc(variables).channels == ("four", "one", "three", "two")


@pytest.mark.parametrize("text", ["channels: one", "channels: [one]", "channels:"])
@pytest.mark.parametrize("names", ["six,seven", " six , seven,,"])
def test_channels_of_a_variable_go_before_those_of_files(
    tmp_path: Path, text: str, names: str
) -> None:
    condarc(tmp_path, text)
    found = read_condarc({"HOME": str(tmp_path), "CONDA_CHANNELS": names})
    assert found.channels == ("six", "seven", "one")[: 2 + ("one" in text)]


def test_conda_reads_variables_under_its_other_names_for_settings(tmp_path: Path) -> None:
    """As `conda config --show` of conda 26.7 has it."""
    condarc(tmp_path, "channels: [one]\ndefault_channels: [http://own/main]\nssl_verify: /one")
    variables = {
        "HOME": str(tmp_path),
        "CONDA_CHANNEL": "six",
        "CONDA_DEFAULT_CHANNELS": "http://a/x, http://b/y",
        "CONDA_VERIFY_SSL": "no",
        "CONDA_CLIENT_CERT": "/cert",
        "CONDA_CLIENT_CERT_KEY": "/key",
        "CONDA_ENVS_PATH": "*no YAML",
    }
    found = read_condarc(variables)
    assert found.channels == ("six", "one")
    assert found.default_channels == ("http://a/x", "http://b/y", "http://own/main")
    assert (found.access.verify, found.access.certificate) == (False, ("/cert", "/key"))


@pytest.mark.parametrize("spelled", ["true", "yes", "On", "y", "1", "'true'", "'Y'", "'1'", "2"])
def test_what_conda_takes_for_true(tmp_path: Path, spelled: str) -> None:
    """As `conda config --show` of conda 26.7 has it, in a file and in a variable."""
    home, plain = {"HOME": str(tmp_path)}, spelled.strip("'")
    assert read_condarc(home | {"CONDA_OFFLINE": plain}).offline
    assert read_condarc(home | {"CONDA_SSL_VERIFY": plain}).access.verify is None
    condarc(tmp_path, f"offline: {spelled}\nssl_verify: {spelled}")
    found = read_condarc(home)
    assert (found.offline, found.access.verify) == (True, None)


@pytest.mark.parametrize("spelled", ["false", "no", "Off", "n", "0", "'False'", "'none'", "'0'"])
def test_what_conda_takes_for_false(tmp_path: Path, spelled: str) -> None:
    home, plain = {"HOME": str(tmp_path)}, spelled.strip("'")
    assert not read_condarc(home | {"CONDA_OFFLINE": plain}).offline
    assert read_condarc(home | {"CONDA_SSL_VERIFY": plain}).access.verify is False
    condarc(tmp_path, f"offline: {spelled}\nssl_verify: {spelled}")
    found = read_condarc(home)
    assert (found.offline, found.access.verify) == (False, False)


def test_a_file_holds_the_variables_of_whoever_is_asked_for(tmp_path: Path) -> None:
    home = tmp_path / "theirs"
    home.mkdir()
    condarc(
        home,
        "channels: ['$LAB/a', '${LAB}/b', '$NOBODY/$']\n"
        "ssl_verify: ~/ca.pem\nclient_ssl_cert: ~/mine.pem\nclient_ssl_cert_key: /$LAB/key",
    )
    variables = {"HOME": str(home), "LAB": "lab"}
    found = read_condarc(variables)
    assert found.channels == ("lab/a", "lab/b", "$NOBODY/$")
    assert found.access.verify == f"{home}/ca.pem"
    assert found.access.certificate == (f"{home}/mine.pem", "/lab/key")
    for name, read in (
        ("more.yaml", True),
        ("condarc", True),
        ("more", False),
        ("a.yml.old", False),
    ):
        (home / name).write_text("channels: more")
        channels = read_condarc(variables | {"CONDARC": f"~/{name}"}).channels
        assert ("more" in channels) == read, name
    (home / "several").mkdir()
    (home / "several/one.yml").write_text("channels: one")
    assert read_condarc(variables | {"CONDARC": "~/several"}).channels[0] == "one"


@pytest.mark.parametrize(
    ("variable", "value", "file"),
    [
        ("CONDA_ROOT", "{0}/base", "base/.condarc"),
        ("CONDA_EXE", "{0}/base/bin/conda", "base/.condarc"),
        ("XDG_CONFIG_HOME", "{0}/xdg", "xdg/conda/.condarc"),
        ("CONDA_PREFIX", "{0}/env", "env/.condarc"),
    ],
)
def test_files_that_variables_lead_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str, value: str, file: str
) -> None:
    """Variables lead to files, such as CONDA_EXE to the base, where Miniforge has its channels."""
    (tmp_path / file).parent.mkdir(parents=True)
    (tmp_path / file).write_text("channels: [theirs]\n")
    assert usual_channels() != ("theirs",)
    monkeypatch.setenv(variable, value.format(tmp_path))
    assert usual_channels() == ("theirs",)


def test_a_folder_that_hangs_on_the_directory_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "relative/conda").mkdir(parents=True)
    (tmp_path / "relative/conda/.condarc").write_text("channels: [theirs]\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", "relative")
    assert usual_channels() != ("theirs",)


def test_nothing_set_is_nothing() -> None:
    found = read_condarc({"HOME": "/nowhere"})
    assert found.access == ANYBODY
    assert places("nvidia", found)[0].urls == ("https://conda.anaconda.org/nvidia",)


def test_without_a_home_folder_there_are_no_files_in_it(tmp_path: Path) -> None:
    done = in_own_mounts(
        NO_HOME, console_script(), "search", "10.1", "--from", "conda", "--offline",
        cwd=tmp_path, env=os.environ | {"CUDASWITCH_HOME": str(tmp_path / "store")},
    )  # fmt: skip
    *named, last, hint = done.stderr.splitlines()
    assert [line.partition(": no CUDA is known offline")[0] for line in named] == [
        f"cudaswitch: conda ({name})" for name in CHANNELS
    ]
    assert (last, hint) == (
        "cudaswitch: no source could be reached",
        "hint: run the command without --offline",
    )


@pytest.mark.parametrize(
    "text", [f"channels: [http://me:{SECRET}@x", "- a\n- b", "just words", "\x00", "a: &a [*a]"]
)
def test_a_broken_file_is_named_and_not_quoted(tmp_path: Path, text: str) -> None:
    condarc(tmp_path, text)
    with pytest.raises(SourceError) as caught:
        read_condarc({"HOME": str(tmp_path)})
    assert f"`{tmp_path / '.condarc'}`" in caught.value.message
    assert SECRET not in caught.value.message


def test_credentials_stay_where_they_are(tmp_path: Path, tree: Path, server: FolderServer) -> None:
    """A channel's credentials are in no origin, message or cached file, come success or failure."""
    (tree / "t").mkdir(exist_ok=True)
    inside = tree / "t" / SECRET
    if not inside.exists():
        inside.symlink_to(tree)
    host = server.url.removeprefix("http://")
    condarc(tmp_path, f"channels: [http://me:{SECRET}@{host}/t/{SECRET}/lab/cuda]")
    for artifact in obtain(tmp_path).artifacts:
        assert SECRET not in artifact.origin
        assert "/t/***/lab/cuda" in artifact.origin
    server.instead[f"/t/{SECRET}/lab/cuda/linux-64/repodata.json"] = b"no index"
    with pytest.raises(SourceError) as caught:
        obtain(tmp_path)
    assert SECRET not in f"{caught.value.message}{caught.value.hint}"
    for path in (tmp_path / "cache").rglob("*"):
        if path.is_file():
            assert SECRET.encode() not in path.read_bytes()


def test_proxies(tmp_path: Path, server: FolderServer) -> None:
    """The proxy of conda's settings gets the whole URL, of a host that only it could reach."""
    condarc(
        tmp_path,
        f"channels: ['http://lab.invalid/lab/cuda']\nproxy_servers:\n  http: {server.url}",
    )
    assert len(obtain(tmp_path).artifacts) == 2
    assert server.asked


def test_proxies_for_what_was_locked(tmp_path: Path, server: FolderServer) -> None:
    """Locked files are brought again through the proxy of conda's settings, as at first."""
    url = "http://lab.invalid/lab/cuda"
    condarc(tmp_path, f"channels: ['{url}']\nproxy_servers:\n  http: {server.url}")
    first = obtain(tmp_path)
    rows = [
        locked(one.origin, one.sha256 or "", one.path.stat().st_size, "conda")
        for one in first.artifacts
    ]
    shutil.rmtree(tmp_path / "cache")
    wanted = [of_locked(row, "linux-64") for row in rows]
    again = bring_exactly(wanted, workdir=tmp_path / "work", offline=False)
    assert [one.origin for one in again] == [row.url for row in rows]
    assert all(row.url.startswith(url) for row in rows)


def test_a_certificate_authority_and_none(
    tmp_path: Path, tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    certificate = self_signed(tmp_path)
    with FolderServer(tree) as server:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.http.socket = context.wrap_socket(server.http.socket, server_side=True)
        channel = f"channels: ['{server.url.replace('http:', 'https:')}/lab/cuda']\n"
        condarc(tmp_path, channel)
        with pytest.raises(SourceError, match="certificate is not trusted"):
            obtain(tmp_path)
        for verify in (tmp_path / "cert.pem", "false"):
            condarc(tmp_path, f"{channel}ssl_verify: {verify}")
            for _ in range(2):
                assert len(obtain(tmp_path).artifacts) == 2
            told = capsys.readouterr().err.count("certificates are not checked")
            # Commands that ask several times, as for each channel, say it once.
            assert told == (verify == "false")


def test_offline(tmp_path: Path, server: FolderServer) -> None:
    condarc(tmp_path, f"channels: [{server.url}/lab/cuda]\noffline: true")
    with pytest.raises((NotFoundError, SourceError)) as caught:
        obtain(tmp_path)
    assert "(conda's settings have `offline` true)" in caught.value.message
    assert caught.value.hint == "conda config --set offline false"
    assert not server.asked


def test_offline_by_a_variable(
    tmp_path: Path, server: FolderServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The hint is not to change the files: the variable is stronger."""
    condarc(tmp_path, f"channels: [{server.url}/lab/cuda]\noffline: false")
    monkeypatch.setenv("CONDA_OFFLINE", "1")
    with pytest.raises(SourceError) as caught:
        obtain(tmp_path)
    assert caught.value.hint == setting_here("CONDA_OFFLINE", "")
    assert not server.asked

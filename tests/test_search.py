"""`search`: what each source has, from real servers; a source that fails hides no other one."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import builders
from builders import File, wheel
from builders.redist import redist_index
from checks import refused, succeeded
from cudaswitch.compat.runfiles import runfiles
from cudaswitch.errors import RequestError, SourceError
from cudaswitch.platforms import current_platform
from cudaswitch.sources import Sought, runfile
from cudaswitch.versions import Version, parse_request
from folder_server import FolderServer
from homes import Home, make_home

NOWHERE = "http://127.0.0.1:9"
TAG = "py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64"
KEYS = {"component", "version", "cuda", "platform", "source", "size", "has_nvcc", "url", "sha256"}


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A redist tree, two channels and a folder of wheels, with little in the packages."""
    base = tmp_path_factory.mktemp("search")
    made = base / "made"

    def archive(name: str, version: str) -> Path:
        top = f"{name}-linux-x86_64-{version}-archive"
        return builders.tar_archive(made / f"{top}.tar.xz", top, {"bin/x": version.encode()})

    pieces = {"cuda_nvcc": "12.4.131", "cuda_cudart": "12.4.127", "nsight_compute": "2024.1.1.4"}
    redist = base / "redist"
    redist_index(redist, "cuda", "12.4.1", [archive(*piece) for piece in pieces.items()])
    redist_index(redist, "cuda", "12.4.0", [archive("cuda_cudart", "12.4.99")])
    redist_index(redist, "cuda", "11.0.3", [archive("fabricmanager", "450.51.06")])
    dnn = [builders.cudnn_archive(made, "8.8+", "8.9.7.29", cuda) for cuda in ("12", "11")]
    redist_index(redist, "cudnn", "8.9.7", dnn)
    # Like those before 11.4.2, this one has nothing of a toolkit.
    redist_index(redist, "cuda", "12.3.0", [archive("fabricmanager", "545.23.06")])
    packages = [builders.cudatoolkit_10_1(made), builders.cudnn_7_6_5(made)]
    packages.append(builders.cudatoolkit_10_1(made, "win-64"))
    builders.local_channel(base / "channels/main", packages)
    meta = builders.conda_package(made, "cuda-toolkit", "12.4.1", "0", "linux-64", {"x": b"x"})
    builders.local_channel(base / "channels/label", [meta])
    for name, version in (
        *(("cuda-toolkit", version) for version in ("12.9.1", "13.0.2", "13.0.3.0")),
        *(("nvidia-cudnn-cu12", version) for version in ("8.9.7.29", "9.14.0.64")),
    ):
        wheel(base / "wheels", name, version, TAG, tree={"x.py": b""})
    return base


@pytest.fixture
def sources(tree: Path, tmp_path: Path) -> Iterator[tuple[Home, FolderServer]]:
    with FolderServer(tree, lists=True) as server:
        home = make_home(tmp_path)
        home.env.update(
            CUDASWITCH_NVIDIA_URL=f"{server.url}/redist",
            CUDASWITCH_CHANNEL_ALIAS=f"{server.url}/channels",
            CUDASWITCH_CHANNELS="main label",
            CUDASWITCH_TIMEOUT="60",
            CUDASWITCH_RETRIES="0",
            CUDASWITCH_DRIVER="525.60.13",
            PIP_CONFIG_FILE="/dev/null",
            PIP_NO_INDEX="1",
            PIP_FIND_LINKS=str(tree / "wheels"),
        )
        yield home, server


def search(home: Home, *arguments: str, **variables: str) -> list[dict[str, Any]]:
    done = home.run("search", *arguments, "--json", **variables)
    rows: list[dict[str, Any]] = json.loads("\n".join(succeeded(done)))["packages"]
    assert all(set(row) >= KEYS for row in rows)
    return rows


def brief(rows: list[dict[str, Any]]) -> list[tuple[str, str, str | None]]:
    return [(row["source"], row["version"], row["cuda"]) for row in rows]


def without_runfiles(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [row for row in rows if row["source"] != "runfile"]


def test_everything_by_source_and_newest_first(
    sources: tuple[Home, FolderServer], tree: Path
) -> None:
    home, server = sources
    rows = search(home)
    assert brief(without_runfiles(rows)) == [
        ("pypi", "13.0.3", "13.0"), ("pypi", "13.0.2", "13.0"), ("pypi", "12.9.1", "12.9"),
        ("pypi", "9.14.0.64", "12"), ("pypi", "8.9.7.29", "12"),
        ("nvidia", "12.4.1", "12.4"), ("nvidia", "12.4.0", "12.4"),
        ("nvidia", "8.9.7.29", "12"), ("nvidia", "8.9.7.29", "11"),
        ("conda", "10.1.243", "10.1"), ("conda", "7.6.5", "10.1"), ("conda", "12.4.1", "12.4"),
    ]  # fmt: skip
    assert [row["version"] for row in rows if row["source"] == "runfile"] == [
        str(each.cuda) for each in runfiles()
    ]
    assert {row["platform"] for row in rows} == {"linux-64"}
    found = {(row["source"], row["version"], row["cuda"]): row for row in rows}
    nvidia = found["nvidia", "12.4.1", "12.4"]
    index = json.loads((tree / "redist/cuda/redist/redistrib_12.4.1.json").read_text())
    sizes = {name: int(index[name]["linux-x86_64"]["size"]) for name in index if "_" in name[4:]
             and isinstance(index[name], dict)}  # fmt: skip
    assert nvidia["size"] == sizes["cuda_nvcc"] + sizes["cuda_cudart"]
    assert (nvidia["has_nvcc"], nvidia["sha256"]) == (True, None)
    assert nvidia["url"] == f"{server.url}/redist/cuda/redist/redistrib_12.4.1.json"
    assert found["nvidia", "12.4.0", "12.4"]["has_nvcc"] is False
    cudnn = found["nvidia", "8.9.7.29", "11"]
    [archive] = (tree / "redist").rglob("cudnn-linux-x86_64-8.9.7.29_cuda11-archive.tar.xz")
    assert cudnn["size"] == archive.stat().st_size
    assert cudnn["sha256"] == hashlib.sha256(archive.read_bytes()).hexdigest()
    assert cudnn["url"].endswith(archive.name)
    assert cudnn["has_nvcc"] is None
    conda = found["conda", "10.1.243", "10.1"]
    assert (conda["has_nvcc"], conda["channel"]) == (False, "main")
    assert conda["url"] == (
        f"{server.url}/channels/main/linux-64/cudatoolkit-10.1.243-h6bb024c_0.tar.bz2"
    )
    assert found["conda", "12.4.1", "12.4"]["has_nvcc"] is True
    assert found["conda", "12.4.1", "12.4"]["size"] is None
    assert found["pypi", "13.0.2", "13.0"]["has_nvcc"] is True
    assert found["pypi", "12.9.1", "12.9"]["has_nvcc"] is False
    # The driver 525.60.13 runs CUDA 12 and older ones, not 13.
    runs = {row["cuda"]: row["runs"] for row in rows if row["component"] == "cuda"}
    assert (runs["13.0"], runs["12.4"], runs["10.1"]) == (False, True, True)
    assert cudnn["runs"] is None


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["cudnn", "8"], [("pypi", "8.9.7.29")] + [("nvidia", "8.9.7.29")] * 2),
        (["12+cudnn8"], [("pypi", "12.9.1"), ("pypi", "8.9.7.29"), ("nvidia", "12.4.1"),
                         ("nvidia", "12.4.0"), ("nvidia", "8.9.7.29"), ("conda", "12.4.1")]),
        (["11+cudnn8"], [("nvidia", "8.9.7.29")]),
        (["12.4", "--from", "nvidia"], [("nvidia", "12.4.1"), ("nvidia", "12.4.0")]),
        (["--channel", "label"], [("conda", "12.4.1")]),
    ],
)  # fmt: skip
def test_what_is_searched_for(
    sources: tuple[Home, FolderServer], words: list[str], expected: list[tuple[str, str]]
) -> None:
    rows = without_runfiles(search(sources[0], *words))
    assert [(row["source"], row["version"]) for row in rows] == expected


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["12.4"], ["12.4.1", "12.4.0", "12.4.1"]), (["cuda", "12.4.0"], ["12.4.0"]),
        (["<11"], ["10.1.243"]), (["10.1+cudnn7"], ["10.1.243", "7.6.5"]),
        (["cudnn 8.9.7.29"], ["8.9.7.29"] * 2), (["9+cudnn7"], []),
    ],
)  # fmt: skip
def test_what_is_searched_for_where_pip_is_not_asked(
    sources: tuple[Home, FolderServer], words: list[str], expected: list[str]
) -> None:
    """pip takes longer than all other sources, and what matches is the same everywhere."""
    asked = (("search", *words, "--from", source, "--json") for source in ("nvidia", "conda"))
    found = [json.loads(sources[0].run(*line).stdout)["packages"] for line in asked]
    assert [row["version"] for rows in found for row in rows] == expected


def test_builds_of_a_cudnn_stand_by_the_number_of_their_cuda(home: Home, tmp_path: Path) -> None:
    specs = ("9.0.*", "10.2.*", "9.2.*", ">=11.2,<12", "10.1.*")
    made = [
        builders.conda_package(
            tmp_path,
            "cudnn",
            "7.6.5",
            f"h{number}_0",
            "linux-64",
            {},
            depends=[f"cudatoolkit {spec}"],
        )
        for number, spec in enumerate(specs)
    ]
    channel = builders.local_channel(tmp_path / "channel", made)
    rows = search(home, "cudnn", "--from", "conda", "--channel", channel.as_uri())
    assert [row["cuda"] for row in rows] == [">=11.2,<12", "10.2", "10.1", "9.2", "9.0"]


def test_a_cudnn_that_is_not_split_is_for_no_cuda_in_particular(home: Home, tmp_path: Path) -> None:
    """A cuDNN archive that names no CUDA major, as NVIDIA's may be, is for none in particular."""
    tops = [f"cudnn-linux-x86_64-{version}-archive" for version in ("9.1.0.70", "9.2.0.82_cuda13")]
    tops.append("cudnn-linux-x86_64-9.2.0.82_cuda31-archive")
    for release, names in (("9.1.0", tops[:1]), ("9.2.0", tops[1:])):
        made = [builders.tar_archive(tmp_path / f"{top}.tar.xz", top, {"x": b""}) for top in names]
        redist_index(tmp_path / "redist", "cudnn", release, made)
    mirror = (tmp_path / "redist").as_uri()
    rows = search(home, "cudnn", "--from", "nvidia", "--mirror", mirror)
    assert [(row["version"], row["cuda"]) for row in rows] == [
        ("9.2.0.82", "31"), ("9.2.0.82", "13"), ("9.1.0.70", None),
    ]  # fmt: skip


def test_an_old_cuda_needs_no_index_for_every_platform(sources: tuple[Home, FolderServer]) -> None:
    home, server = sources
    search(home, "10.1", "--from", "conda")
    assert not server.statuses("/channels/main/noarch/repodata.json.zst")
    search(home, "12.4", "--from", "conda")
    assert server.statuses("/channels/main/noarch/repodata.json.zst")


def test_the_table_fits_and_says_it_in_words(sources: tuple[Home, FolderServer]) -> None:
    home, _ = sources
    done = home.run("search", "12.4")
    lines = succeeded(done)
    assert max(map(len, lines)) <= 80
    assert lines[0].split() == ["source", "what", "version", "CUDA", "nvcc", "size", "driver"]
    words = [line.split() for line in lines]
    assert words[1][:4] == ["nvidia", "cuda", "12.4.1", "yes"]
    assert words[1][5:] == ["B", "runs", "it"]
    assert words[2][:4] == ["nvidia", "cuda", "12.4.0", "no"]
    assert ["conda", "label", "cuda", "12.4.1", "yes", "-", "runs", "it"] in words
    assert "too old" in succeeded(home.run("search", "13", "--from", "pypi"))[1]


def test_without_a_driver_nothing_is_claimed(sources: tuple[Home, FolderServer]) -> None:
    words = ("12", "--platform", "linux-aarch64", "--from", "runfile")
    assert json.loads(sources[0].run("search", *words, "--json").stdout) == {"packages": []}
    # Nor is anything claimed about the driver of another machine.
    [row] = search(sources[0], "10.1", "--platform", "win-64")
    assert (row["version"], row["platform"], row["runs"]) == ("10.1.243", "win-64", None)


def test_an_unreachable_source_hides_no_other(sources: tuple[Home, FolderServer]) -> None:
    home, _ = sources
    done = home.run("search", "12.4", "--json", CUDASWITCH_NVIDIA_URL=NOWHERE)
    rows = json.loads("\n".join(succeeded(done)))["packages"]
    assert {row["source"] for row in rows} == {"conda", "runfile"}
    [line] = done.stderr.splitlines()
    assert line.startswith("cudaswitch: nvidia: cannot download `http://127.0.0.1:9/")
    done = home.run("search", "10.1", CUDASWITCH_CHANNELS=f"main {NOWHERE}/gone")
    assert "conda main" in "\n".join(succeeded(done))
    assert f"cudaswitch: conda ({NOWHERE}/gone): " in done.stderr


def test_broken_settings_of_conda_hide_no_other_source(
    sources: tuple[Home, FolderServer], tmp_path: Path
) -> None:
    home, _ = sources
    broken = tmp_path / "condarc.yml"
    broken.write_text("channels: [")
    done = home.run("search", "12.4", "--json", CUDASWITCH_CHANNELS="", CONDARC=str(broken))
    rows = json.loads("\n".join(succeeded(done)))["packages"]
    assert {row["source"] for row in rows} == {"nvidia", "runfile"}
    assert done.stderr == f"cudaswitch: conda: `{broken}` is not valid YAML\n"


def test_where_nobody_answers_it_fails(sources: tuple[Home, FolderServer], tmp_path: Path) -> None:
    home, _ = sources
    gone = {"CUDASWITCH_NVIDIA_URL": NOWHERE, "CUDASWITCH_CHANNEL_ALIAS": NOWHERE}
    gone |= {"PIP_FIND_LINKS": str(tmp_path / "none")}
    done = home.run("search", "12.4", "--json", **gone)
    assert (done.returncode, done.stdout) == (1, "")
    lines = done.stderr.splitlines()
    assert [line.split(":")[1].split()[0] for line in lines[:4]] == [
        "pypi", "nvidia", "conda", "conda"
    ]  # fmt: skip
    assert lines[4] == "cudaswitch: no source could be reached"
    # Known runfiles are listed without asking anybody.
    assert succeeded(home.run("search", "10.1", "--from", "runfile", **gone))


def test_offline_it_tells_what_was_seen_before(sources: tuple[Home, FolderServer]) -> None:
    home, server = sources
    seen = search(home, "12.4", "--from", "nvidia")
    asked = len(server.asked)
    assert search(home, "12.4", "--from", "nvidia", "--offline") == seen
    assert len(server.asked) == asked
    # Online again, the server is asked whether its indexes still stand, and sends none.
    assert search(home, "12.4", "--from", "nvidia") == seen
    assert server.statuses("/redist/cuda/redist/redistrib_12.4.1.json") == [200, 304]


def test_offline_an_index_that_was_never_seen_is_told(sources: tuple[Home, FolderServer]) -> None:
    home, server = sources
    words = ("search", "12.4", "--from", "conda", "--offline")
    done = home.run(*words)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines() == [
        *(
            f"cudaswitch: conda ({name}): no CUDA is known offline:"
            f" the cache has no index of `{name}`"
            for name in ("main", "label")
        ),
        "cudaswitch: no source could be reached",
        "hint: run the command without --offline",
    ]
    assert not server.asked
    search(home, "12.4", "--channel", "label")
    some = home.run(*words)
    assert "12.4.1" in "\n".join(succeeded(some))
    assert some.stderr.splitlines() == done.stderr.splitlines()[:1]
    cudnn = home.run("search", "cudnn", "--channel", "main", "--offline")
    assert cudnn.stderr.startswith("cudaswitch: conda (main): no cuDNN is known offline")


def test_nothing_found_has_one_exit_code(sources: tuple[Home, FolderServer]) -> None:
    home, _ = sources
    for channels, who in (("main label", "source"), (f"main {NOWHERE}/c", "source that answered")):
        gone = {"CUDASWITCH_CHANNELS": channels}
        done = home.run("search", "99", **gone)
        as_json = home.run("search", "99", "--json", **gone)
        assert (done.returncode, done.stdout) == (1, "")
        assert (as_json.returncode, json.loads(as_json.stdout)) == (1, {"packages": []})
        assert done.stderr == as_json.stderr
        assert f"cudaswitch: no {who} has 99 for {current_platform()}\n" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "words", "hint"),
    [
        (["12.7"], ["no source has 12.7"], "cudaswitch search"),
        (["auto"], ["`auto` cannot be searched for"], "version"),
        (["cudnn", "soon"], ["`soon` is not a version"], "10.1.243"),
        (["12", "4"], ["`12 4` is not a CUDA version"], "write it as 12.4"),
        (["--from", "nvidia", "--channel", "main"], ["`nvidia` has no channels"], "conda"),
    ],
)
def test_what_cannot_be_answered(
    sources: tuple[Home, FolderServer], arguments: list[str], words: list[str], hint: str
) -> None:
    refused(sources[0].run("search", *arguments), *words, hint=hint)


@pytest.mark.parametrize("command", ["search", "install", "lock", "download", "mirror www"])
@pytest.mark.parametrize("source", ["pypi", "nvidia", "conda", "runfile"])
def test_a_mirror_that_is_none(home: Home, command: str, source: str) -> None:
    """A wrong `--mirror` is blamed, once, whatever variables are set, and shows no password."""
    words = [*command.split(), "12.4", "--mirror"]
    passwords = (("htp://me:hunter2@x/y", "htp://"), ("me:hunter2@x/y", "x/y"))
    for text, shown in (("foo", "foo"), *passwords):
        done = home.run(*words, text, "--from", source, PIP_NO_INDEX="1", cwd=home.path)
        message = refused(done, f"`--mirror {shown}", "an https, http or file URL", hint=None)
        assert "hunter2" not in message
        assert len(done.stderr.splitlines()) <= 2
    needs = home.run(*words, "foo", cwd=home.path)
    refused(needs, "--mirror requires --from", code=2, hint="--from SOURCE")


def test_a_mirror_by_flag(sources: tuple[Home, FolderServer]) -> None:
    home, server = sources
    gone = {"CUDASWITCH_NVIDIA_URL": NOWHERE, "CUDASWITCH_CHANNEL_ALIAS": NOWHERE}
    there = search(home, "12.4", "--from", "nvidia", "--mirror", f"{server.url}/redist", **gone)
    assert brief(there) == [("nvidia", "12.4.1", "12.4"), ("nvidia", "12.4.0", "12.4")]
    mirror = ("--from", "conda", "--mirror", f"{server.url}/channels")
    assert succeeded(home.run("install", "10.1", *mirror, **gone)) == ["10.1.243"]
    assert "10.1.243" in home.run("list").stdout


def test_a_toolkit_from_a_mirror_of_runfiles(
    sources: tuple[Home, FolderServer], tree: Path
) -> None:
    """A runfile from a mirror with the table's name and place, but other content, is refused."""
    home, server = sources
    [known] = [each for each in runfiles() if str(each.cuda) == "10.1.243"]
    target = tree / "redist" / known.path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(b"#!/bin/sh\n")
    here = current_platform()
    assert runfile.newest(parse_request("10.1"), platform=here) == Version("10.1.243")
    with pytest.raises(SourceError, match="no runfile has cuDNN"):
        runfile.newest_cudnn("7", Version("10.1.243"), platform=here)
    done = home.run("install", "10.1", "--from", "runfile")
    refused(done, known.path.rpartition("/")[2], "sha256")
    assert server.statuses(f"/redist/{known.path}") == [200]
    refused(home.run("install", "10.1", "--cudnn", "7", "--from", "runfile"), "cuDNN", hint="conda")
    refused(
        home.run("install", "12.7", "--from", "runfile"), "no runfile of CUDA 12.7", hint="12.6.3"
    )
    for option in (["--components", "nvcc"], ["--platform", "linux-aarch64"]):
        refused(home.run("install", "10.1", "--from", "runfile", *option), "runfile", hint="--from")


def test_a_runfile_of_the_table_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, require: Any
) -> None:
    """A runfile whose content matches the table is installed; here the table has one of ours."""
    require("makeself")
    nvcc = File(builders.elf_bytes("nvcc", {"main": 0}), executable=True)
    tree = builders.outer_tree({"bin/nvcc": nvcc}, "10.1-10.2", "10.1.243")
    made = builders.makeself(tmp_path / "base/cuda/x.run", tree, "CUDA Installer")
    digest = hashlib.sha256(made.read_bytes()).hexdigest()
    row = runfiles()[0]._replace(cuda=Version("10.1.243"), path="cuda/x.run", sha256=digest)
    monkeypatch.setattr(runfile, "runfiles", lambda: (row,))
    monkeypatch.setenv("CUDASWITCH_CACHE", str(tmp_path / "cache"))
    with FolderServer(tmp_path / "base") as server:
        monkeypatch.setenv("CUDASWITCH_NVIDIA_URL", server.url)
        options = {"workdir": tmp_path, "platform": "linux-64", "offline": False}
        found = runfile.obtain(parse_request("10"), components="build", **options)
    [artifact] = found.artifacts
    assert (artifact.path.name, artifact.source) == ("x.run", "runfile")
    assert artifact.path.read_bytes() == made.read_bytes()
    with pytest.raises(SourceError, match="no runfile has cuDNN"):
        runfile.obtain_cudnn("7", Version("10.1"), **options)


def test_sought_tells_what_goes_with_what() -> None:
    sought = Sought(cuda=parse_request("10.1"), cudnn=Version("7.6"))
    assert sought.wants_toolkit(Version("10.1.243"))
    assert not sought.wants_toolkit(Version("10.2.89"))
    assert sought.wants_cudnn(Version("7.6.5"))
    assert not sought.wants_cudnn(Version("7.5.0"))
    assert sought.wants_built_for("10.1")
    assert not sought.wants_built_for("9.2")
    assert Sought(cuda=parse_request("10")).wants_built_for("10.1")
    assert Sought(cuda=parse_request("12.4")).wants_built_for(">=12.0,<13")
    assert not Sought(cuda=parse_request("12.4")).wants_built_for("11")
    with pytest.raises(RequestError):
        sought.wants_built_for("$(id)")


def test_the_table_of_runfiles() -> None:
    rows = runfiles()
    assert len({row.cuda for row in rows}) == len(rows) > 50
    assert list(rows) == sorted(rows, key=lambda row: row.cuda, reverse=True)
    for row in rows:
        assert len(row.sha256) == 64
        assert int(row.sha256, 16) > 0
        assert str(row.cuda) in row.path
        assert row.base.endswith(".nvidia.com/compute")
        assert row.source
        assert row.confidence == "quoted"


def test_latest_is_the_newest_of_each_source(sources: tuple[Home, FolderServer]) -> None:
    rows = search(sources[0], "latest")
    newest = max(each.cuda for each in runfiles())
    assert [(row["source"], row["version"]) for row in rows] == [
        *[("pypi", "13.0.3"), ("nvidia", "12.4.1"), ("conda", "10.1.243"), ("conda", "12.4.1")],
        ("runfile", str(newest)),
    ]
    assert search(sources[0], "cuda", "latest") == rows

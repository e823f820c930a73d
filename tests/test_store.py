"""The store and bad input: each refusal is one clear line and changes nothing."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import builders
from builders import Writes
from checks import inodes_in, refused, snapshot, succeeded
from homes import Home
from shells.venvs import with_venv

BOTH = ["10.1.243", "10.1.243+cudnn7.6.5"]


def other(
    folder: Path, build: str = "h6bb024c_0", content: int = 1, version: str = "10.1.243"
) -> Path:
    """Return another cudatoolkit 10.1.243: of the same build, but with other content."""
    library = builders.elf_bytes("libcudart.so.10.1", {"cudaRuntimeGetVersion": Writes(content)})
    tree = builders.versioned("lib", "libcudart", "10.1", version, library)
    return builders.conda_package(folder, "cudatoolkit", version, build, "linux-64", tree)


def truncated(folder: Path) -> list[Path]:
    whole = builders.cudatoolkit_10_1(folder)
    whole.write_bytes(whole.read_bytes()[:-2000])
    return [whole]


def damaged(folder: Path) -> list[Path]:
    whole = builders.cudatoolkit_10_1(folder, form="conda")
    data = bytearray(whole.read_bytes())
    data[len(data) // 2] ^= 0x10
    whole.write_bytes(data)
    return [whole]


def empty(folder: Path) -> list[Path]:
    folder.mkdir()
    (folder / "cudatoolkit-10.1.243-h6bb024c_0.tar.bz2").touch()
    return list(folder.iterdir())


def portal(folder: Path) -> list[Path]:
    folder.mkdir()
    (folder / "cudatoolkit.conda").write_text("<html>Please log in</html>")
    return list(folder.iterdir())


def fifo(folder: Path) -> list[Path]:
    folder.mkdir()
    os.mkfifo(folder / "pipe.conda")
    return [folder / "pipe.conda"]


def looping(folder: Path) -> list[Path]:
    folder.mkdir()
    (folder / "loop.conda").symlink_to("loop.conda")
    return [folder / "loop.conda"]


def half_of_two(folder: Path) -> list[Path]:
    """A good cuDNN, and a toolkit that cannot be installed, in one command."""
    good = builders.cudnn_archive(folder, "7.2-8.3.0", "7.5.0.56", "10.1")
    return [good, *truncated(folder / "bad")]


def two_builds(folder: Path) -> list[Path]:
    return [other(folder / "a", "h1_0", 1, "10.1.9"), other(folder / "b", "h2_0", 2, "10.1.9")]


def two_cudnns(folder: Path) -> list[Path]:
    conda = builders.conda_package(
        folder, "cudnn", "7.5.0", "cuda10.1_0", "linux-64",
        {**builders.recipes.cudnn_headers("7.5.0"), **builders.recipes.cudnn_libraries("7.5.0")},
    )  # fmt: skip
    return [conda, builders.cudnn_archive(folder, "7.2-8.3.0", "7.5.0.56", "10.1")]


def no_package(folder: Path) -> list[Path]:
    return [builders.conda_package(folder, "numpy", "1.0", "h_0", "linux-64", {"lib/x": b"x"})]


BAD: dict[str, tuple[Callable[[Path], list[Path]], str]] = {
    "truncated": (truncated, "damaged"),
    "one bit": (damaged, "damaged"),
    "empty": (empty, "empty"),
    "a login page": (portal, "web page"),
    "missing": (lambda at: [at / "nothing.conda"], "no file"),
    "a folder": (lambda at: [at.parent], "is a folder"),
    "a pipe": (fifo, "pipe.conda"),
    "a circle of links": (looping, "loop.conda"),
    "the same name, other content": (lambda at: [other(at)], "other content"),
    "two files of one name": (
        lambda at: [other(at / "a", "h_0", 1), other(at / "b", "h_0", 2)],
        "both claim to be cudatoolkit-10.1.243-h_0",
    ),
    "another build of an installed toolkit": (lambda at: [other(at, "h_1")], "already"),
    "two builds of one toolkit": (two_builds, "would both be toolkit 10.1.9"),
    "two packages of one cuDNN": (two_cudnns, "would both be toolkit 10.1.243+cudnn7.5.0"),
    "another platform": (
        lambda at: [builders.cudatoolkit_10_1(at, "win-64")],
        "is for win-64",
    ),
    "one good and one bad": (half_of_two, "damaged"),
    "not of CUDA": (no_package, "numpy"),
}


@pytest.mark.parametrize("bad", BAD)
def test_bad_input_is_one_line_and_changes_nothing(stocked: Home, tmp_path: Path, bad: str) -> None:
    make, word = BAD[bad]
    files = make(tmp_path / "bad")
    before, inodes = snapshot(stocked.store), inodes_in(stocked.store)
    refused(stocked.run("install", *files, timeout=60), word, hint=None)
    assert snapshot(stocked.store) == before
    assert (
        inodes.items()
        >= {
            path: inode for path, inode in inodes_in(stocked.store).items() if "lock" not in path
        }.items()
    )


REQUESTS = {
    "unknown version": (["exec", "99", "--", "true"], "CUDA 99 is not installed"),
    "not offline": (["install", "--offline", "99"], "offline"),
    "no version": (["install", "10.x"], "`10.x` is not a CUDA version"),
    "unknown alias": (["install", "thesis"], "no alias `thesis`"),
    "system": (["install", "system"], "`system` cannot be installed"),
    "auto without an environment": (["install", "auto"], "needs an active environment"),
    "odd cuDNN": (["install", "10.1", "--cudnn", "new"], "`new` is not a cuDNN version"),
    "control characters": (["install", "1\x1b[2J\n"], "\\x1b"),
    "a digit above": (["exec", "cu²", "--", "true"], "`cu²` is not a CUDA version"),
    "blank": (["install", " "], "is not a CUDA version"),
    "a URL offline": (["install", "--offline", "http://127.0.0.1:9/x.conda"], "127.0.0.1"),
    "another protocol": (["install", "ftp://127.0.0.1/x.conda"], "ftp"),
}


SPELLED = {
    **dict.fromkeys(("cuda-11.8", "CUDA11.8", "v11.8", "cudatoolkit=11.8", "cu118"), "11.8"),
    **{"cuda==11.8": "11.8", "11.x": "11", "12.4.*": "12.4", "cu12": "12", "cuda_92": "9.2"},
    "cuda>=12, <13": "'>=12,<13'",
}


@pytest.mark.parametrize("text", SPELLED)
def test_what_others_call_a_version_is_understood_by_the_hint(home: Home, text: str) -> None:
    done = home.run("exec", text, "--", "true")
    refused(done, text.partition(",")[0], hint=f"write it as {SPELLED[text]}")


def test_a_hint_is_no_longer_than_what_people_type(home: Home) -> None:
    text = "cuda" + ",".join([">=11"] * 99)
    refused(home.run("exec", text, "--", "true"), hint="for example 10.1")


@pytest.mark.parametrize("case", REQUESTS)
def test_a_bad_request_is_one_line_and_changes_nothing(home: Home, case: str) -> None:
    arguments, word = REQUESTS[case]
    refused(home.run(*arguments, PIP_NO_INDEX="1", PIP_RETRIES="0"), word, hint=None)
    assert not home.store.exists()


def test_a_wrong_hash_of_a_file(home: Home, pair: list[Path]) -> None:
    right = hashlib.sha256(pair[0].read_bytes()).hexdigest()
    refused(home.run("install", pair[0], "--sha256", "0" * 64), right, "0" * 64)
    refused(home.run("install", pair[0], "--sha256", "abc"), "`abc` is not a sha256")
    assert not home.store.exists()
    assert succeeded(home.run("install", pair[0], "--sha256", right.upper())) == BOTH[:1]
    refused(home.run("install", *pair, "--sha256", right), code=2, hint="--help")


RECORDS = {
    "no JSON": "{",
    "another shape": "[]",
    "without keys": "{}",
    "odd version": '{"name": "x", "version": "new", "files": [], "cudnn": null, "packages": []}',
    "no text": "\udcff\udcfe",
    "deep": "[" * 100_000,
    "empty": "",
}


@pytest.mark.parametrize("record", RECORDS)
@pytest.mark.parametrize("folder", ["toolkits/10.1.243", "packages/cudnn-7.6.5-cuda10.1_0"])
def test_a_damaged_record_is_named(stocked: Home, folder: str, record: str, tmp_path: Path) -> None:
    path = stocked.store / folder / "cudaswitch.json"
    path.write_text(RECORDS[record], errors="surrogateescape")
    archive = builders.cudnn_archive(tmp_path, "7.2-8.3.0", "7.5.0.56", "10.1")
    done = stocked.run("install", archive)
    message = refused(done, "damaged", str(path), hint="cudaswitch verify --repair")
    said = stocked.run("list", "--json").stderr
    passed_over = ", so it is skipped" if folder.startswith("toolkits") else ""
    assert said == f"{message}{passed_over}\nhint: cudaswitch verify --repair\n"
    shutil.rmtree(path.parent)
    assert stocked.run("list").returncode == 0


def test_a_store_that_was_moved_and_linked(stocked: Home, tmp_path: Path, pair: list[Path]) -> None:
    """A store that was moved to another disk, and linked from its old place, works as before."""
    stocked.store.rename(tmp_path / "moved")
    stocked.store.symlink_to(tmp_path / "moved")
    for words in (["alias", "work", "10.1"], ["pin", "10.1", "--global"], ["install", *pair]):
        succeeded(stocked.run(*words))
    succeeded(stocked.run("install", *pair, "--force"))
    assert stocked.store.is_symlink()


def test_what_is_pinned_may_be_a_link(stocked: Home, tmp_path: Path) -> None:
    """A pinned tree, conda environment or virtualenv may be a link, as to another disk."""
    for name in ("tree", "env", "venv"):
        (tmp_path / "real" / name).mkdir(parents=True)
        (tmp_path / name).symlink_to(tmp_path / "real" / name)
    (tmp_path / "env" / "conda-meta").mkdir()
    shutil.rmtree(tmp_path / "real" / "venv")
    with_venv(tmp_path / "real" / "venv")
    for option, name in (("--dir", "tree"), ("-p", "env"), ("-p", "venv")):
        succeeded(stocked.run("pin", "10.1", option, tmp_path / name))
    assert (tmp_path / "real" / "tree" / ".cuda-version").exists()
    for option, name in (("--dir", "tree"), ("-p", "env"), ("-p", "venv")):
        succeeded(stocked.run("unpin", option, tmp_path / name))


def test_shared_stores_follow_a_file_that_was_edited_by_hand(stocked: Home, tmp_path: Path) -> None:
    """`config set` renews the stores that shells read, even after an edit of the file by hand."""
    ready = stocked.store / "requests" / ".stores"
    config = Path(stocked.env["XDG_CONFIG_HOME"]) / "cudaswitch" / "config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(f'stores = ["{tmp_path}/shared"]\n')
    succeeded(stocked.run("config", "set", "libraries", "auto"))
    assert ready.read_text() == f"{tmp_path}/shared\n"
    config.unlink()
    succeeded(stocked.run("config", "set", "libraries", "auto"))
    assert not ready.exists()

"""cuda.lock as text: the same for everybody, read back as written, and hostile ones refused."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checks import refused
from cudaswitch.errors import CudaswitchError
from cudaswitch.lockfile import LockedToolkit, lock_text, locked, parse_lock, read_lock
from homes import Home

SHA = "ab" * 32
URL = "https://conda.anaconda.org/nvidia/linux-64/cudatoolkit-11.1.74-h6bb024c_0.tar.bz2"
ROW = locked(URL, SHA, 1234, "conda")
KIT = LockedToolkit("11.1", None, "linux-64", None, (ROW,))
GOOD = lock_text([KIT])


@pytest.mark.parametrize(
    ("url", "name", "version", "build"),
    [
        (URL, "cudatoolkit", "11.1.74", "h6bb024c_0"),
        ("https://h/x/cuda-nvcc-impl-12.6.77-h85509e4_0.conda", "cuda-nvcc-impl", "12.6.77", None),
        ("https://h/cuda_nvcc-linux-x86_64-12.4.131-archive.tar.xz", "cuda_nvcc", "12.4.131", ""),
        (
            *("https://h/cudnn-linux-x86_64-9.1.0.70_cuda12-archive.tar.xz", "cudnn"),
            *("9.1.0.70", "cuda12"),
        ),
        (
            "https://h/nvidia_cuda_nvcc-13.0.88-py3-none-manylinux2010_x86_64.whl",
            *("nvidia_cuda_nvcc", "13.0.88", "manylinux2010_x86_64"),
        ),
        (
            "https://h/cuda_10.1.243_418.87.00_linux.run",
            *("cuda", "10.1.243", "418.87.00"),
        ),
        ("file:///d/cudnn-10.1-linux-x64-v7.6.5.32.tgz", "cudnn", "7.6.5.32", "10.1"),
        ("file:///d/cudnn-10.0-windows10-x64-v7.4.2.24.zip", "cudnn", "7.4.2.24", "10.0"),
        ("https://h/a%20b%22c.bin", "a_b_c.bin", "", ""),
    ],
)
def test_what_a_files_name_tells(url: str, name: str, version: str, build: str | None) -> None:
    row = locked(url, SHA, None, "file")
    assert (row.name, row.version) == (name, version)
    assert build is None or row.build == build


def test_read_back_as_written() -> None:
    other = KIT.__class__("12.4", "9.1", "linux-aarch64", "12.4.1", (ROW, ROW))
    text = lock_text([other, KIT])
    assert parse_lock(text.encode(), Path("x")) == (KIT, other)
    assert lock_text([KIT, other]) == text, "whatever the order"
    saved_by_another_editor = text.replace("\n", "\r\n").encode("utf-8-sig")
    assert parse_lock(saved_by_another_editor, Path("x")) == (KIT, other)
    assert max(map(len, text.splitlines())) <= 100


@pytest.mark.parametrize(
    "file",
    ["cudatoolkit-10.1.243-h6bb024c_0 (1).tar.bz2", "cudnn-7.6.5 копия-0.conda", "-9.1-0.conda",
     "x" * 240 + ".run"],
)  # fmt: skip
def test_a_file_is_locked_whatever_it_is_called(file: str) -> None:
    """Browsers and people rename files; what the name would tell is not needed to fetch them."""
    row = locked(Path("/", file).as_uri(), SHA, 5, "file")
    kit = LockedToolkit("", None, "linux-64", None, (row,))
    assert row.file == file
    assert parse_lock(lock_text([kit]).encode(), Path("x")) == (kit,)


@pytest.mark.parametrize("letter", ["\u00e9", "\u043a", "\U0001f600"])
def test_a_url_is_locked_whatever_is_in_it(letter: str) -> None:
    """A server may be asked for letters as they are: its URL is kept as it was given."""
    row = locked(f"http://host/{letter}/{letter}-1.0-0.tar.bz2", SHA, 5, "file")
    kit = LockedToolkit("", None, "linux-64", None, (row,))
    assert parse_lock(lock_text([kit]).encode(), Path("x")) == (kit,)


HOSTILE = {
    "no TOML": "[[[",
    "not UTF-8": "\udcff",
    "no version": GOOD.replace("version = 1", "", 1),
    "of the future": GOOD.replace("version = 1", "version = 99", 1),
    "no table": "version = 1\ntoolkit = 3\n",
    "no platform": GOOD.replace('platform = "linux-64"\n', ""),
    "another platform": GOOD.replace('"linux-64"', '"../etc"'),
    "no packages": GOOD.partition("[[toolkit.package]]")[0],
    "no hash": GOOD.replace(SHA, ""),
    "half a hash": GOOD.replace(SHA, SHA[:32]),
    "a command as hash": GOOD.replace(SHA, "$(id)"),
    "another scheme": GOOD.replace("https:", "ftp:"),
    "a path for a URL": GOOD.replace(URL, "/etc/passwd"),
    "a blank in the URL": GOOD.replace("nvidia/", "nvidia /"),
    "an escape in the URL": GOOD.replace("nvidia/", "\\u001b[2J/"),
    "an option as name": GOOD.replace('name = "cudatoolkit"', 'name = "--index-url=http://evil"'),
    "a path as version": GOOD.replace('"11.1.74"', '"../../x"'),
    "a number as version": GOOD.replace('"11.1.74"', "0"),
    "no text as build": GOOD.replace('"h6bb024c_0"', "false"),
    "a list as build": GOOD.replace('"h6bb024c_0"', "[]"),
    "a size below zero": GOOD.replace("1234", "-1"),
    "a size that is none": GOOD.replace("1234", '"many"'),
    "another source": GOOD.replace('"conda"', '"ftp"'),
    "pypi without version": GOOD.replace('"conda"', '"pypi"').replace('version = "11.1.74"\n', ""),
    "an odd release": GOOD.replace('cuda = "11.1"', 'cuda = "11.1"\nrelease = "x"'),
    "an odd request": GOOD.replace('cuda = "11.1"', 'cuda = "$(id)"'),
    "deep": "version = 1\nx = " + "[" * 5000 + "]" * 5000,
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_files_are_one_clear_error(case: str, home: Home, tmp_path: Path) -> None:
    path = tmp_path / "cuda.lock"
    path.write_text(HOSTILE[case], errors="surrogateescape")
    with pytest.raises(CudaswitchError, match=r"cuda\.lock") as caught:
        read_lock(path)
    assert "\x1b" not in caught.value.message
    assert caught.value.hint


def test_no_file_or_no_regular_one(home: Home, tmp_path: Path) -> None:
    refused(home.run("sync", cwd=tmp_path), "no cuda.lock", hint="cudaswitch lock")
    refused(home.run("sync", "--lock", "/dev/zero"), "/dev/zero", hint="cudaswitch lock")
    path = tmp_path / "large.lock"
    path.write_bytes(b"#" * ((1 << 20) + 1))
    refused(home.run("sync", "--lock", path), "larger than")


@settings(max_examples=200)
@given(st.lists(st.tuples(st.integers(0, len(GOOD) - 1), st.characters()), max_size=6))
def test_anything_is_read_or_refused(changes: list[tuple[int, str]]) -> None:
    text = list(GOOD)
    for at, char in changes:
        text[at] = char
    with contextlib.suppress(CudaswitchError, UnicodeEncodeError):
        parse_lock("".join(text).encode("utf-8", "surrogateescape"), Path("cuda.lock"))

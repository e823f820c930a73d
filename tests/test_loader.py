"""ELF files, the loader's cache and its order, against readelf, ldconfig and the loader."""

from __future__ import annotations

import json
import os
import platform
import re
import struct
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import loader_corpus
from cudaswitch.binaries import read_elf
from cudaswitch.elf import MACHINES, Elf, ElfError, parse
from cudaswitch.loader import Cache, parse_cache
from cudaswitch.loader.cache import Entry
from cudaswitch.loader.folders import System, expand, listed, origin_of
from mounts import in_own_mounts
from tools import require

HERE = Path(__file__).parent
MACHINE = MACHINES[platform.machine()]
LIBRARIES = sorted(
    {
        path.resolve()
        for folder in ("/lib", f"/lib/{platform.machine()}-linux-gnu", "/usr/lib64")
        for path in Path(folder).glob("*.so.*")
        if path.is_file()
    }
)[:150]
RULES = {
    **{"RPATH of": 50, "RUNPATH of": 50, "LD_LIBRARY_PATH": 100, "LD_PRELOAD": 20, "cache": 100},
    **{"default folder": 10, "tls": 5, "empty element": 5, "damaged": 5, "missing": 5},
}
"""Rule → how many cases it must decide at least, or the corpus has lost its edge."""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A library with every entry that we read."""
    factory = loader_corpus.Factory(tmp_path_factory.mktemp("elf") / "made")
    needed = loader_corpus.NAMES[1:]
    build = loader_corpus.Build("liba.so.1", needed, "$ORIGIN:/x y", new=True, no_defaults=True)
    return factory.make(build).read_bytes()


def elf_of(content: bytes) -> Elf:
    return parse(lambda offset, size: content[offset : offset + size], "file")


# ELF files.


def test_everything_that_a_library_says(library: bytes) -> None:
    assert elf_of(library) == Elf(
        bits=64,
        big_endian=False,
        machine=MACHINE,
        kind=3,
        soname="liba.so.1",
        needed=loader_corpus.NAMES[1:],
        runpath="$ORIGIN:/x y",
        flags=0x800,
        extent=len(library),
    )


def test_readelf_says_the_same_of_this_machine() -> None:
    assert len(LIBRARIES) > 5
    done = subprocess.run(
        ["readelf", "-dlW", *LIBRARIES, sys.executable],
        env={"PATH": os.environ["PATH"], "LC_ALL": "C"},
        capture_output=True,
        text=True,
        check=False,
    )
    texts = re.split(r"^File: (.*)$", done.stdout, flags=re.MULTILINE)[1:]
    seen: Counter[str] = Counter()
    for path, text in zip(texts[::2], texts[1::2], strict=True):
        if "Elf file type" not in text:  # a linker script
            with pytest.raises(ElfError):
                read_elf(path)
            continue
        elf = read_elf(path)
        said = {
            "NEEDED": list(elf.needed),
            "SONAME": [elf.soname] if elf.soname else [],
            "RPATH": [elf.rpath] if elf.rpath else [],
            "RUNPATH": [elf.runpath] if elf.runpath else [],
        }
        for tag, values in said.items():
            assert re.findall(rf"\({tag}\).*\[(.*)\]", text) == values, path
            seen[tag] += bool(values)
        asked = re.findall(r"Requesting program interpreter: (.*)\]", text)
        assert asked == ([elf.interpreter] if elf.interpreter else [])
        seen["interpreter"] += bool(asked)
    assert min(seen[tag] for tag in ("NEEDED", "SONAME", "interpreter")) > 0


@pytest.mark.parametrize("order", ["<", ">"])
def test_the_other_class_and_byte_order(order: str) -> None:
    """A 32-bit library of either byte order, written by hand after chapters 4 and 5 of the gABI."""
    strings = b"\0libx.so\0liby.so\0/r\0"
    dynamic = struct.pack(f"{order}10I", 1, 1, 14, 9, 15, 17, 5, 0x1100, 10, len(strings))
    dynamic += struct.pack(f"{order}2I", 0, 0)
    body = strings.ljust(32, b"\0") + dynamic
    header = b"\x7fELF" + bytes([1, 1 if order == "<" else 2, 1]) + b"\0" * 9
    header += struct.pack(f"{order}HHIIIIIHHHHHH", 3, 20, 1, 0, 52, 0, 0, 52, 32, 2, 0, 0, 0)
    load = struct.pack(f"{order}8I", 1, 0x100, 0x1100, 0x1100, len(body), len(body), 4, 4096)
    table = struct.pack(f"{order}8I", 2, 0x120, 0x1120, 0x1120, len(dynamic), len(dynamic), 4, 4)
    content = (header + load + table).ljust(0x100, b"\0") + body
    elf = elf_of(content)
    assert elf.loads_like == (32, order == ">", 20)
    assert (elf.needed, elf.soname, elf.rpath) == (("libx.so",), "liby.so", "/r")


def test_what_is_no_library_is_refused_with_the_reason(library: bytes, tmp_path: Path) -> None:
    for content, reason in (
        (b"", "file too short"),
        (library[:63], "file too short"),
        (b"INPUT(-lcudart)".ljust(80), "invalid ELF header"),
        (library[:16] + b"\x01" + library[17:], "only ET_DYN and ET_EXEC can be loaded"),
        (library[:54] + b"\x20" + library[55:], "phentsize"),
        (library[:100], "cannot read file data"),
        (library[:4096], "its dynamic section is damaged: "),
    ):
        path = tmp_path / "libx.so"
        path.write_bytes(content)
        with pytest.raises(ElfError, match=reason) as caught:
            read_elf(path)
        assert str(path) in caught.value.message
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    for path in (fifo, tmp_path):
        with pytest.raises(ElfError, match="not a regular file"):
            read_elf(path)
    with pytest.raises(FileNotFoundError):
        read_elf(tmp_path / "nowhere")


@settings(max_examples=400)
@given(data=st.data())
def test_a_mutated_library_is_read_or_refused(library: bytes, data: st.DataObject) -> None:
    content = bytearray(library[: data.draw(st.integers(0, len(library)))])
    # Most mutations go where they count: headers and the dynamic section.
    at = library.index(struct.pack("<qQ", 1, 1)[:8], 4096) if len(content) > 8192 else 0
    places = st.one_of(st.integers(0, 600), st.integers(at, at + 400))
    values = st.sampled_from([0, 1, 0x7F, 0x80, 0xFE, 0xFF])
    for place, value, width in data.draw(
        st.lists(st.tuples(places, values, st.sampled_from([1, 4, 8])), max_size=12)
    ):
        content[place : place + width] = bytes([value] * width)[: max(0, len(content) - place)]
    taken = []

    def read(offset: int, size: int) -> bytes:
        assert offset >= 0
        assert size >= 0
        taken.append(size)
        return bytes(content[offset : offset + size])

    try:
        parse(read, "file")
    except ElfError as error:
        assert "\n" not in error.message
    assert sum(taken) < 16 << 20
    assert max(taken) <= 1 << 20


@pytest.mark.parametrize(
    ("count", "reason"), [(4096, "a string has no end"), (60_000, "it lists too many libraries")]
)
def test_a_file_that_lies_about_its_size_costs_nothing(
    tmp_path: Path, count: int, reason: str
) -> None:
    """A sparse file of 1 TiB whose strings are all of the greatest length is refused at once."""
    path = tmp_path / "huge.so"
    entries = [(1, 0)] * count + [(5, 0x200000), (10, 1 << 39), (0, 0)]
    table = b"".join(struct.pack("<qQ", *entry) for entry in entries)
    header = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")
    header += struct.pack("<HHIQQQIHHHHHH", 3, MACHINE, 1, 0, 64, 0, 0, 64, 56, 2, 0, 0, 0)
    load = struct.pack("<IIQQQQQQ", 1, 4, 0, 0, 0, 1 << 40, 1 << 40, 4096)
    dynamic = struct.pack("<IIQQQQQQ", 2, 4, 4096, 4096, 4096, len(table), len(table), 8)
    with path.open("wb") as file:
        file.write(header + load + dynamic)
        file.seek(4096)
        file.write(table)
        file.seek(0x200000)
        file.write(b"x" * (1 << 17))
        file.truncate(1 << 40)
    before = time.process_time()
    with pytest.raises(ElfError, match=reason):
        read_elf(path)
    assert time.process_time() - before < 1


# The cache.


@pytest.fixture(scope="module")
def ldconfig() -> str:
    os.environ["PATH"] += ":/sbin:/usr/sbin"
    return require("ldconfig")


@pytest.fixture(scope="module")
def cache(ldconfig: str, library: bytes, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A real cache with a folder for newer processors."""
    folder = tmp_path_factory.mktemp("cache")
    for below in ("", "glibc-hwcaps/x86-64-v2", "glibc-hwcaps/x86-64-v3"):
        (folder / "lib" / below).mkdir(parents=True, exist_ok=True)
        (folder / "lib" / below / "liba.so.1").write_bytes(library)
    (folder / "conf").write_text(f"{folder}/lib\n")
    command = [ldconfig, "-X", "-f", folder / "conf", "-C", folder / "made"]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    return folder / "made"


def test_ldconfig_lists_the_same(ldconfig: str, cache: Path) -> None:
    done = subprocess.run([ldconfig, "-p", "-C", cache], capture_output=True, text=True, check=True)
    # A line that says more than `libc6,x86-64` is for special processors, or another machine.
    kind = {"x86_64": "libc6,x86-64", "aarch64": "libc6,AArch64"}[platform.machine()]
    listed = re.findall(rf"^\t(\S+) \({kind}\) => (.+)$", done.stdout, re.MULTILINE)
    assert len(listed) > 50
    read = parse_cache(cache.read_bytes())
    for name in {name for name, _ in listed}:
        expected = [path for soname, path in listed if soname == name]
        assert read.find(name, MACHINE, ()) == expected
    assert read.find("libnothing.so", MACHINE, ()) == []
    assert read.find(listed[0][0], 40, ()) == []


def test_folders_for_newer_processors_come_first_where_they_are_usable(cache: Path) -> None:
    read = parse_cache(cache.read_bytes())
    folder = cache.parent / "lib"
    plain, older, newer = (
        str(folder / below / "liba.so.1")
        for below in ("", "glibc-hwcaps/x86-64-v2", "glibc-hwcaps/x86-64-v3")
    )
    usable = ["x86-64-v3", "x86-64-v2"]
    if platform.machine() == "x86_64":
        assert read.find("liba.so.1", MACHINE, usable) == [newer, older, plain]
        assert read.find("liba.so.1", MACHINE, usable[1:]) == [older, plain]
    assert read.find("liba.so.1", MACHINE, ()) == [plain]


@pytest.mark.parametrize("both", [False, True])
def test_a_cache_of_an_older_ldconfig(cache: Path, both: bool) -> None:
    strings = b"libz.so.1\0/old/libz.so.1\0"
    old = b"ld.so-1.7.0\0" + struct.pack("<IiII", 1, loader_kind(), 0, 10)
    new = cache.read_bytes()
    # In a file of both kinds the new part follows the old one's entries.
    data = old.ljust(-(-len(old) // 8) * 8, b"\0") + new if both else old + strings
    read = parse_cache(data)
    if both:
        for name in ("liba.so.1", "libc.so.6"):
            found = read.find(name, MACHINE, ())
            assert found == parse_cache(new).find(name, MACHINE, ()) != []
    else:
        assert read.find("libz.so.1", MACHINE, ()) == ["/old/libz.so.1"]


def loader_kind() -> int:
    return {62: 0x0303, 183: 0x0A03}[MACHINE]


@settings(max_examples=300)
@given(data=st.data())
def test_a_mutated_cache_is_read_or_empty(cache: Path, data: st.DataObject) -> None:
    content = cache.read_bytes()
    content = bytearray(content[: data.draw(st.integers(0, len(content)))])
    if data.draw(st.booleans()):
        content[:0] = b"ld.so-1.7.0\0" + struct.pack("<I", data.draw(st.integers(0, 2**32 - 1)))
    for place, value in data.draw(
        st.lists(st.tuples(st.integers(0, 200), st.integers(0, 255)), max_size=12)
    ):
        content[place : place + 1] = bytes([value])[: max(0, len(content) - place)]
    found = parse_cache(bytes(content)).find("liba.so.1", MACHINE, ())
    assert len(found) <= len(content)


# The order.


def test_the_loader_agrees_on_a_corpus_of_cases(tmp_path: Path) -> None:
    """The loader agrees on real libraries and links, with a real cache mounted where it looks."""
    cache = tmp_path / "cache"
    cache.touch()
    script = 'mount --bind "$1" /etc/ld.so.cache; shift; exec "$@"'
    program = [sys.executable, HERE / "loader_corpus.py", tmp_path, "210", "11"]
    done = in_own_mounts(script, cache, *program, "/etc/ld.so.cache", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["different"] == []
    assert told["cases"] >= 200
    short = {rule: told["used"].get(rule, 0) for rule in RULES}
    if platform.machine() == "x86_64":
        assert told["used"]["glibc-hwcaps"] > 50
    if tuple(map(int, os.confstr("CS_GNU_LIBC_VERSION").split()[1].split("."))) > (2, 36):
        del short["tls"]
    assert all(count >= RULES[rule] for rule, count in short.items()), short


SYSTEM = System(("/lib",), "lib64", "x86_64", "/work dir", (64, False, 62))


@pytest.mark.parametrize(
    ("text", "folders"),
    [
        (None, []),
        ("", []),
        (":", ["", ""]),
        ("/a:", ["/a", ""]),
        ("/a//:/:b/", ["/a", "/", "b"]),
        ("/a;/b", ["/a;/b"]),
        ("$ORIGIN/../x:${LIB}:$PLATFORM/", ["/o/../x", "lib64", "x86_64"]),
        ("$ORIGINAL:${ORIGIN:$ODD", ["/oAL", "${ORIGIN", "$ODD"]),
    ],
)
def test_lists_of_folders(text: str | None, folders: list[str]) -> None:
    assert list(listed(text, ":", "/o", SYSTEM)) == folders


def test_an_origin_that_is_not_known_leaves_out_its_folders() -> None:
    assert list(listed("$ORIGIN:/a", ":", "", SYSTEM)) == ["/a"]
    assert list(listed("/a;/b:c", ":;", "", SYSTEM)) == ["/a", "/b", "c"]
    assert expand("$ORIGIN$LIB", "/o", SYSTEM) == "/olib64"
    assert origin_of("d/libx.so", "/w") == "/w/d"
    assert origin_of("/libx.so", "/w") == "/"


def test_the_cache_keeps_to_its_own_order() -> None:
    entries = [("liba.so", Entry(path, loader_kind(), None)) for path in ("/2/a", "/1/a")]
    assert Cache(entries).find("liba.so", MACHINE, ()) == ["/2/a", "/1/a"]

"""Tars that must be refused: the reason that must be given → tars.

Each differs in one thing from a good archive of raw_archives. Paths that lead out aim at a
`canary` next to the folder that is unpacked into.
"""

from __future__ import annotations

from collections.abc import Callable

from raw_archives import (
    LIBRARY,
    folder,
    gnu_long,
    hard,
    header,
    link,
    member,
    pax,
    tar_bz2,
)

TARS: dict[str, dict[str, Callable[[], bytes]]] = {
    "is not a path inside the archive": {
        "absolute name": lambda: tar_bz2(member("/tmp/x", b"x")),  # noqa: S108  # never written
        "parent in the name": lambda: tar_bz2(member("../canary", b"x")),
        "parent deep in the name": lambda: tar_bz2(member("a/../../canary", b"x")),
        "only a parent": lambda: tar_bz2(folder("..")),
        "two slashes": lambda: tar_bz2(member("a//b", b"x")),
        "dot in the middle": lambda: tar_bz2(member("a/./b", b"x")),
        "dot as a file": lambda: tar_bz2(member(".", b"x")),
        "no name": lambda: tar_bz2(member("", b"x")),
        "hard link out": lambda: tar_bz2(hard("a", "../canary")),
        "hard link to an absolute path": lambda: tar_bz2(hard("a", "/etc/passwd")),
        "PAX path out": lambda: tar_bz2(pax({"path": "../canary"}), member("a", b"x")),
    },
    "unsafe in a name": {
        "backslash": lambda: tar_bz2(member("..\\canary", b"x")),
        "newline in a name": lambda: tar_bz2(member("a\nb", b"x")),
        "escape in a name": lambda: tar_bz2(member("\x1b[2Ja", b"x")),
        "right-to-left override": lambda: tar_bz2(member("a\u202eb", b"x")),
        "link with a newline": lambda: tar_bz2(link("a", "b\nc")),
        "PAX path with NUL": lambda: tar_bz2(pax({"path": "a\0b"}), member("a", b"x")),
    },
    "is not a UTF-8 name": {
        "not UTF-8": lambda: tar_bz2(member(b"caf\xe9", b"x")),
    },
    "60 folders deep": {
        "61 folders deep": lambda: tar_bz2(gnu_long("a/" * 60 + "x"), member("a", b"x")),
    },
    "longer than 1024 bytes": {
        "1025 bytes long": lambda: tar_bz2(gnu_long("a/" * 20 + "b" * 985), member("a", b"x")),
    },
    "it holds `a` twice": {
        "the same file twice": lambda: tar_bz2(member("a", b"x"), member("a", b"x")),
        "folder, then file": lambda: tar_bz2(folder("a/"), member("a", b"x")),
        "link, then file": lambda: tar_bz2(link("a", "../canary"), member("a", b"x")),
        "file, then link": lambda: tar_bz2(member("a", b"x"), link("a", "lib")),
        "link with two targets": lambda: tar_bz2(link("a", "lib"), link("a", "bin")),
        "hard link over a file": lambda: tar_bz2(member("a", b"x"), hard("a", LIBRARY)),
    },
    "is a folder and a": {
        "file, then folder": lambda: tar_bz2(member("a", b"x"), folder("a/")),
        "through a file": lambda: tar_bz2(member("a", b"x"), member("a/b", b"x")),
        "through a link": lambda: tar_bz2(link("a", "lib"), member("a/b", b"x")),
        "through a link that leads out": lambda: tar_bz2(link("a", ".."), member("a/canary", b"x")),
    },
    "outside the archive": {
        "link to an absolute path": lambda: tar_bz2(link("a", "/etc/passwd")),
        "link out": lambda: tar_bz2(link("a", "../canary")),
        "link to nothing": lambda: tar_bz2(link("a", "")),
        "link in info that leaves it": lambda: tar_bz2(link("info/a", "../lib")),
        "PAX link out": lambda: tar_bz2(pax({"linkpath": "../canary"}), link("a", "b")),
    },
    "goes up from something that is not a folder": {
        "link out, deep": lambda: tar_bz2(link("a/b", "c/../../../canary")),
        "link back through a link": lambda: tar_bz2(
            folder("d/e"), link("in", "d/e"), link("out", "in/../../../canary")
        ),
        "link back through what is missing": lambda: tar_bz2(link("a", "missing/../../canary")),
        "link back through a link, inside": lambda: tar_bz2(
            folder("d/e"), link("in", "d/e"), link("out", "in/../lib")
        ),
    },
    "is not a folder": {
        "info is a link": lambda: tar_bz2(link("info", "lib"), index=b""),
        "info is a file": lambda: tar_bz2(member("info", b"x"), index=b""),
    },
    "which is not an earlier file": {
        "hard link to a later file": lambda: tar_bz2(hard("a", "b"), member("b", b"x")),
        "hard link to a link": lambda: tar_bz2(link("b", "lib"), hard("a", "b")),
        "hard link to a folder": lambda: tar_bz2(hard("a", "lib")),
        "hard link to itself": lambda: tar_bz2(hard("a", "a")),
    },
    "with content": {
        "hard link with content": lambda: tar_bz2(member("a", b"x", kind=b"1", target=LIBRARY)),
        "link with content": lambda: tar_bz2(member("a", b"x", kind=b"2", target="lib")),
        "folder with content": lambda: tar_bz2(member("a/", b"x", kind=b"5")),
    },
    "neither a file, a folder nor a link": {
        "character device": lambda: tar_bz2(member("a", kind=b"3")),
        "block device": lambda: tar_bz2(member("a", kind=b"4")),
        "fifo": lambda: tar_bz2(member("a", kind=b"6")),
        "contiguous file": lambda: tar_bz2(member("a", b"x", kind=b"7")),
        "GNU sparse file": lambda: tar_bz2(member("a", b"x", kind=b"S", magic=b"ustar  \0")),
    },
    "a PAX header is ambiguous": {
        "PAX sparse file": lambda: tar_bz2(pax({"GNU.sparse.major": "1"}), member("a", b"x")),
        "PAX of another charset": lambda: tar_bz2(pax({"hdrcharset": "BINARY"}), member("a")),
        "PAX path twice": lambda: tar_bz2(
            pax(b"8 path=a\n8 path=b\n".replace(b"8", b"9")), member("a")
        ),
    },
    "disagree about the size": {
        "PAX size that disagrees": lambda: tar_bz2(pax({"size": "512"}), member("a", b"x")),
    },
    "has an invalid size": {
        "PAX invalid size": lambda: tar_bz2(pax({"size": "-1"}), member("a", b"x")),
    },
    "makes it larger": {
        "PAX size beyond all": lambda: tar_bz2(pax({"size": "9" * 20}), header("a")),
    },
    "a PAX header is broken": {
        "PAX record too long": lambda: tar_bz2(pax(b"99 path=a\n"), member("a", b"x")),
        "PAX record without length": lambda: tar_bz2(pax(b"path=a\n"), member("a", b"x")),
    },
    "a global header sets": {
        "global PAX path": lambda: tar_bz2(pax({"path": "a"}, b"g"), member("b", b"x")),
    },
    "two headers name the same member": {
        "PAX and GNU name one member": lambda: tar_bz2(
            gnu_long("a"), pax({"path": "b"}), member("c")
        ),
    },
    "after a header without a member": {
        "PAX for nothing": lambda: tar_bz2(pax({"path": "a"})),
    },
    "a header of its tar is too large": {
        "long name of a mebibyte": lambda: tar_bz2(gnu_long("a" * (1 << 20)), member("c")),
        "PAX header of many MiB": lambda: tar_bz2(pax(bytes(2 << 20)), member("c")),
    },
    "wrong checksum": {
        "wrong header checksum": lambda: tar_bz2(member("a", b"x", checksum=1), member("b", b"x")),
    },
    "an invalid number": {
        "header of garbage": lambda: tar_bz2(b"\xff" * 512, member("b", b"x")),
        "negative size": lambda: tar_bz2(header("a", b"\xff" * 12)),
        "invalid size": lambda: tar_bz2(header("a", b"12x45678901\0")),
    },
    "is cut short": {
        "one zero block": lambda: tar_bz2(end=bytes(512)),
        "no end": lambda: tar_bz2(end=b""),
        "half a block at the end": lambda: tar_bz2(end=bytes(1023)),
        "cut in a file": lambda: tar_bz2(header("a", 4096), b"x" * 512, end=b""),
    },
    "data follows a zero block": {
        "one zero block, then more": lambda: tar_bz2(bytes(512), member("a", b"x")),
    },
    "differ only in": {
        "names that differ in case": lambda: tar_bz2(member("a", b"x"), member("A", b"x")),
        "folders that differ in case": lambda: tar_bz2(member("d/a", b"x"), member("D/b", b"x")),
        "names that differ in composition": lambda: tar_bz2(
            member("caf\u00e9", b"x"), member("cafe\u0301", b"x")
        ),
    },
}

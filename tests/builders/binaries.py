"""Real shared libraries: ELF made by gcc, PE/COFF written byte by byte."""

from __future__ import annotations

import hashlib
import struct
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from builders.cache import cached


@dataclass(frozen=True)
class Writes:
    """A function that stores `value` through its `int *` argument and returns 0 (success)."""

    value: int


Symbols = Mapping[str, "int | str | Writes"]
"""What a library exports: functions that return a number or text, or that write a number."""


def _function(name: str, value: int | str | Writes) -> str:
    if isinstance(value, Writes):
        return f"int {name}(int *out) {{ *out = {value.value}; return 0; }}"
    if isinstance(value, str):
        text = value.replace("\\", "\\\\").replace('"', '\\"')
        return f'const char *{name}(void) {{ return "{text}"; }}'
    return f"unsigned long {name}(void) {{ return {value}ul; }}"


def elf_bytes(soname: str, symbols: Symbols) -> bytes:
    """Return a shared library for this machine; the linker runs once per content."""
    source = "\n".join(_function(name, value) for name, value in symbols.items()) + "\n"
    digest = hashlib.sha256(f"{soname}\n{source}".encode()).hexdigest()[:24]

    def build(folder: Path) -> None:
        command = ["gcc", "-shared", "-fPIC", "-nostdlib", f"-Wl,-soname,{soname}"]
        command += ["-x", "c", "-", "-o", str(folder / "library")]
        subprocess.run(command, input=source, text=True, check=True)

    return (cached(f"elf/{digest}", build) / "library").read_bytes()


def elf_library(path: Path, soname: str, symbols: Symbols) -> Path:
    """Write such a library to `path`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(elf_bytes(soname, symbols))
    path.chmod(0o755)
    return path


_ALIGN = 0x200
_SECTION_AT = 0x1000


def _padded(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % _ALIGN)


def _exports(name: str, symbols: Mapping[str, int]) -> tuple[bytes, int]:
    """Return the body of the only section, and where the export directory starts in it."""
    # Each function is `mov eax, value; ret`, padded to eight bytes.
    code = b"".join(b"\xb8" + struct.pack("<I", symbols[key]) + b"\xc3\xcc\xcc" for key in symbols)
    ordered = sorted(symbols)
    functions = [_SECTION_AT + 8 * list(symbols).index(key) for key in ordered]
    directory = len(code)
    addresses = directory + 40
    names = addresses + 4 * len(ordered)
    ordinals = names + 4 * len(ordered)
    text = ordinals + 2 * len(ordered)
    strings, offsets = b"", []
    for entry in [name, *ordered]:
        offsets.append(_SECTION_AT + text + len(strings))
        strings += entry.encode("ascii") + b"\0"
    header = struct.pack(
        "<IIHHIIIIIII",
        *(0, 0, 0, 0, offsets[0], 1, len(ordered), len(ordered)),
        *(_SECTION_AT + addresses, _SECTION_AT + names, _SECTION_AT + ordinals),
    )
    tables = struct.pack(f"<{len(ordered)}I", *functions)
    tables += struct.pack(f"<{len(ordered)}I", *offsets[1:])
    tables += struct.pack(f"<{len(ordered)}H", *range(len(ordered)))
    return code + header + tables + strings, directory


def pe_bytes(name: str, symbols: Mapping[str, int]) -> bytes:
    """Return a PE32+ library for x86-64 Windows whose functions return the given numbers.

    One section holds code and export table (Microsoft's PE format specification, sections
    2 to 6.3); without a data section and imports there is nothing to relocate.
    """
    body, directory = _exports(name, symbols)
    dos = b"MZ".ljust(60, b"\0") + struct.pack("<I", 64)
    # 0x8664 = AMD64; 0x2022 = executable image, large addresses, library.
    coff = b"PE\0\0" + struct.pack("<HHIIIHH", 0x8664, 1, 0, 0, 0, 240, 0x2022)
    optional = struct.pack("<HBBIIIII", 0x20B, 14, 0, len(_padded(body)), 0, 0, 0, _SECTION_AT)
    optional += struct.pack("<QII", 0x180000000, _SECTION_AT, _ALIGN)
    optional += struct.pack("<HHHHHHI", 6, 0, 0, 0, 6, 0, 0)
    optional += struct.pack("<IIIHH", 2 * _SECTION_AT, _ALIGN, 0, 2, 0x160)
    optional += struct.pack("<QQQQII", 0x100000, 0x1000, 0x100000, 0x1000, 0, 16)
    optional += struct.pack("<II", _SECTION_AT + directory, len(body) - directory)
    optional = optional.ljust(240, b"\0")
    section = b".text\0\0\0" + struct.pack(
        "<IIIIIIHHI", len(body), _SECTION_AT, len(_padded(body)), _ALIGN, 0, 0, 0, 0, 0x60000020
    )
    return _padded(dos + coff + optional + section) + _padded(body)


def pe_library(path: Path, symbols: Mapping[str, int]) -> Path:
    """Write such a library to `path`, under the name of the file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(pe_bytes(path.name, symbols))
    return path

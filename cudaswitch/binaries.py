"""Read programs and libraries from disk: regular files only, nothing waited for, loaded or run."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from typing import TypeVar

from cudaswitch import elf, pe
from cudaswitch.elf import Elf, ElfError
from cudaswitch.pe import Pe, PeError

_Binary = TypeVar("_Binary")


def read_elf(path: str | os.PathLike[str]) -> Elf:
    """Read the ELF file at `path`.

    Raises OSError if it cannot be opened, ElfError if it is not an ELF file.
    """
    return _parsed(os.fspath(path), elf.parse, ElfError)


def read_pe(path: str | os.PathLike[str]) -> Pe:
    """Read the PE file at `path`.

    Raises OSError if it cannot be opened, PeError if it is not a PE file.
    """
    return _parsed(os.fspath(path), pe.parse, PeError)


def _parsed(
    name: str,
    parse: Callable[[elf.Read, str], _Binary],
    fault: type[ElfError | PeError],
) -> _Binary:
    # Opening a FIFO must not wait for a writer that never comes.
    handle = os.open(name, os.O_RDONLY | os.O_NONBLOCK)
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise fault(name, "cannot read file data: it is not a regular file")
        return parse(lambda offset, size: _read(handle, offset, size), name)
    except OSError as error:
        raise fault(name, f"cannot read file data: {error.strerror}") from None
    finally:
        os.close(handle)


def _read(handle: int, offset: int, size: int) -> bytes:
    os.lseek(handle, offset, os.SEEK_SET)
    return os.read(handle, size)

"""Read ELF files from disk: regular files only, nothing waited for, nothing loaded or run."""

from __future__ import annotations

import os
import stat

from cudaswitch.elf import Elf, ElfError, parse


def read_elf(path: str | os.PathLike[str]) -> Elf:
    """Read the ELF file at `path`.

    Raises OSError where nothing can be opened, ElfError where the content is no such file.
    """
    name = os.fspath(path)
    # Opening a FIFO must not wait for a writer that never comes.
    handle = os.open(name, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise ElfError(name, "cannot read file data: it is not a regular file")
        return parse(lambda offset, size: _read(handle, offset, size), name)
    except OSError as error:
        raise ElfError(name, f"cannot read file data: {error.strerror}") from None
    finally:
        os.close(handle)


def _read(handle: int, offset: int, size: int) -> bytes:
    os.lseek(handle, offset, os.SEEK_SET)
    return os.read(handle, size)

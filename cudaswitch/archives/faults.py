"""What can be wrong with an archive, and how that becomes a one-line message.

Readers raise a FaultError with the bare reason, since they know no file name; `naming` wraps the
public functions and adds the file and the next step.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

from cudaswitch.errors import UNREADABLE, ArchiveError, RequestError, brief, hint_for


class FaultError(Exception):
    """A reason to refuse an archive; the subclasses say of which kind."""

    form: ClassVar[str]
    hint: str

    def __init__(self, why: str, hint: str | None = None) -> None:
        """Take the reason, and a hint where the usual one for this kind does not fit."""
        super().__init__(why)
        if hint:
            self.hint = hint


class DamagedError(FaultError):
    """The bytes are not what the format, or the archive's own file list, says."""

    form = "`{path}` is damaged: {why}"
    hint = "download it again, and compare its sha256 with the one its publisher states"


class UnsafeError(FaultError):
    """Unpacking would write outside the folder, exhaust the machine, or vary with the reader."""

    form = "`{path}` is not safe to unpack: {why}"
    hint = "get the file from its publisher; nothing was installed"


class ForeignError(FaultError):
    """A whole file, but nothing that cudaswitch installs."""

    form = "`{path}` {why}"
    hint = (
        "cudaswitch opens conda packages (.tar.bz2, .conda), NVIDIA's CUDA and cuDNN archives"
        " (.tgz, .tar.xz, .zip), NVIDIA wheels (.whl) and CUDA runfiles (.run)"
    )


class RenamedError(ForeignError):
    """Something is missing that only the file's original name stated."""

    hint = "restore the name its publisher gave it, such as cudnn-10.1-linux-x64-v7.6.5.32.tgz"


def shown(name: str) -> str:
    """Return a name from an archive for a message: quoted, and short however long it is."""
    return f"`{brief(name)}`"


@contextmanager
def naming(path: Path, origin: str | None = None) -> Iterator[None]:
    """Turn every fault of the file at `path` into an ArchiveError that names it.

    If `origin` is given, the error names that instead: the path of a download is soon gone.
    """
    named = origin or path
    try:
        yield
    except FaultError as fault:
        raise ArchiveError(fault.form.format(path=named, why=fault), fault.hint) from fault
    except RequestError as error:
        raise ArchiveError(
            f"`{named}` does not state a valid version: {error}", error.hint
        ) from error
    except FileNotFoundError as error:
        missing = error.filename or path
        raise ArchiveError(f"`{missing}` does not exist", "check the path") from error
    except OSError as error:
        # A full disk or a failing one: the reason is the system's, the archive may be fine.
        raise ArchiveError(
            f"cannot open or unpack `{named}`: {error.strerror or error}",
            hint_for(error, UNREADABLE),
        ) from error
    except (MemoryError, RecursionError) as error:
        raise ArchiveError(
            f"`{named}` is not safe to unpack: it needs too much memory", UnsafeError.hint
        ) from error

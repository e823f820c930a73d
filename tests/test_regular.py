"""Files read within bounds."""

from __future__ import annotations

import contextlib
import errno
from pathlib import Path

import pytest

from cudaswitch.environments import read_request
from cudaswitch.errors import CudaswitchError
from cudaswitch.regular import read_regular


def test_what_has_no_size_is_refused_beyond_the_limit() -> None:
    """A file without a size, like one that grows while it is read, is refused beyond the limit."""
    path = Path("/proc/self/cmdline")
    whole = path.read_bytes()
    assert path.stat().st_size == 0
    assert read_regular(path, len(whole)) == whole
    assert read_regular(path, 3, head=True) == whole[:3]
    with pytest.raises(OSError, match="larger than") as refusal:
        read_regular(path, len(whole) - 1)
    assert refusal.value.errno == errno.EFBIG


def test_a_folder_is_refused_by_its_name_and_closed_again(tmp_path: Path) -> None:
    """What runs for long, such as xonsh, would have no descriptors left after some such reads."""
    with pytest.raises(IsADirectoryError) as refusal:
        read_regular(tmp_path, 1)
    assert refusal.value.filename == str(tmp_path)
    with pytest.raises(CudaswitchError, match="Is a directory"):
        read_request(tmp_path)
    del refusal
    for path in Path("/proc/self/fd").iterdir():
        # A thread of an earlier test may have closed what it had.
        with contextlib.suppress(FileNotFoundError):
            assert not path.samefile(tmp_path)

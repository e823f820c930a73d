"""Files read within bounds."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

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

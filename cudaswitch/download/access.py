"""How a server is reached, and what a download may cost."""

from __future__ import annotations

import os
from dataclasses import dataclass

from cudaswitch import settings
from cudaswitch.errors import RequestError
from cudaswitch.namedtuples import NamedTuple

GRACE = 1.0
"""Seconds to wait for a transfer that has been told to end."""


class Access(NamedTuple):
    """How a server is reached; a field that is empty or None means: as usual.

    `proxies` are pairs of a scheme, or scheme and host, and a URL; `verify` a file or folder of
    authorities, or False; `certificate` the file of the client's own, or the two files of that
    and its key.
    """

    proxies: tuple[tuple[str, str], ...] = ()
    verify: bool | str | None = None
    certificate: str | tuple[str, str] | None = None


ANYBODY = Access()


@dataclass(frozen=True)
class Limits:
    """What a download may cost. `timeout` (seconds) is for connecting, for each read and for
    the window over which `floor` (bytes a second) is demanded; `retries` are those in a row
    without progress; `size` is in bytes, `seconds` what a file may take with all retries."""

    timeout: float
    retries: int
    size: int
    seconds: float
    floor: int = 1024

    @classmethod
    def from_environment(cls) -> Limits:
        """Read the setting `timeout`, CUDASWITCH_RETRIES, CUDASWITCH_MAX_DOWNLOAD and _MAX_TIME."""
        return cls(
            timeout=max(0.1, settings.value("timeout")),
            retries=int(_number("CUDASWITCH_RETRIES", 6)),
            size=int(_number("CUDASWITCH_MAX_DOWNLOAD", 64 << 30)),
            # The system's clocks cannot count as far as a float can.
            seconds=min(_number("CUDASWITCH_MAX_TIME", 24 * 3600), 1e8),
        )


def _number(name: str, default: float) -> float:
    text = os.environ.get(name) or str(default)
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise RequestError(f"{name} is `{text}`, not a number", f"for example {name}={default}")
    return value

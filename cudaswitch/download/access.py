"""How a server is reached, and what a download may cost."""

from __future__ import annotations

import os
from dataclasses import dataclass

from cudaswitch import settings
from cudaswitch.errors import RequestError
from cudaswitch.namedtuples import NamedTuple

GRACE = 1.0
"""Seconds for which a transfer that is to end is waited for."""


class Access(NamedTuple):
    """How a server is reached; what is empty or None is as for every other.

    `proxies` are pairs of a scheme, or scheme and host, and a URL; `verify` a file or folder of
    authorities, or False; `certificate` the client's own, with its key in another file if there
    are two.
    """

    proxies: tuple[tuple[str, str], ...] = ()
    verify: bool | str | None = None
    certificate: str | tuple[str, str] | None = None


ANYBODY = Access()


@dataclass(frozen=True)
class Limits:
    """What a download may cost. `timeout` (seconds) is for connecting, for each read and for
    the window over which `floor` (bytes a second) is demanded; `retries` are those in a row
    without getting on; `size` is in bytes, `seconds` what a file may take with all of them."""

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
            # Clocks of the system end before what a float can hold.
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

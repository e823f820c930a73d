"""Environments made by py-rattler, a conda engine that shares no code with conda."""

from __future__ import annotations

import asyncio
from pathlib import Path

import rattler

SUBDIR = getattr(rattler, "Subdir", None) or rattler.Platform
"""py-rattler's class for conda's platform names: older versions have only `Platform`."""


def rattler_install(channel: Path, prefix: Path, cache: Path, wanted: str) -> None:
    """Make the environment `prefix` with what `wanted` names in a local channel."""
    asyncio.run(_install(channel, prefix, cache, wanted))


async def _install(channel: Path, prefix: Path, cache: Path, wanted: str) -> None:
    platforms = [SUBDIR("linux-64"), SUBDIR("noarch")]
    gateway = rattler.Gateway(cache_dir=cache / "repodata")
    sources = [rattler.Channel(channel.as_uri())]
    records = await rattler.solve(sources, [wanted], gateway=gateway, platforms=platforms)
    await rattler.install(records, prefix, cache_dir=cache / "pkgs", show_progress=False)

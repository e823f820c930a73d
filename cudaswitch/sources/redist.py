"""NVIDIA's `redistrib_<release>.json`, read as data that anybody may have written.

Schema (as in the files for CUDA 12.6.3 and 13.0.2 and cuDNN 8.9.7 and 9.22.0): besides
`release_date`, `release_label` and `release_product`, one object per component, with `name`,
`license`, `license_path`, `version` and an object per platform: `relative_path`, `sha256`,
`md5` and `size`, a string. A platform of cuDNN has such an object for each CUDA major (`cuda12`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cudaswitch.download.urls import redact
from cudaswitch.errors import SourceError
from cudaswitch.toolkit import is_sha256
from cudaswitch.versions import Version, is_version

LIMIT = 4 << 20
"""Bytes of an index. The real ones have about 50 thousand."""

FOLDERS = {
    "linux-64": "linux-x86_64",
    "linux-aarch64": "linux-sbsa",
    "win-64": "windows-x86_64",
}
"""Our platforms in NVIDIA's words; NVIDIA's `linux-aarch64` is the Jetson."""

LICENCES = {
    "cuda": ("CUDA Toolkit", "https://docs.nvidia.com/cuda/eula/"),
    "cudnn": ("cudnn", "https://docs.nvidia.com/deeplearning/cudnn/latest/reference/eula.html"),
}
"""The name that indexes give a product's licence, and where to read it if they name no file."""

_PATH = re.compile(r"(?:[A-Za-z0-9_][A-Za-z0-9._+-]*/){0,9}[A-Za-z0-9_][A-Za-z0-9._+-]*", re.ASCII)
_SPLIT = re.compile(r"cuda[1-9][0-9]{0,2}", re.ASCII)
_SIZE = re.compile(r"[1-9][0-9]{0,14}", re.ASCII)
_WORDS = re.compile(r"[A-Za-z0-9][A-Za-z0-9 .,()/-]{0,79}", re.ASCII)


@dataclass(frozen=True)
class Offer:
    """An archive that an index offers; `size` in bytes, the licence's name and where to read it."""

    url: str
    sha256: str
    size: int
    version: Version | None
    licence: str
    licence_url: str


@dataclass(frozen=True)
class Index:
    """The index of one release of a product, `cuda` or `cudnn`, as it was read from `url`."""

    product: str
    release: Version
    url: str
    components: Mapping[str, Mapping[str, Any]]

    def has(self, name: str, platform: str, cuda: int) -> bool:
        """Tell whether there is an archive of a component for a platform and CUDA major."""
        return self._entry(name, platform, cuda) is not None

    def majors(self, name: str, platform: str) -> list[int | None]:
        """List the CUDA majors that a component has an archive for.

        None stands for the only archive of a component that is not split by CUDA major.
        """
        entry = self.components.get(name, {}).get(FOLDERS[platform])
        if not isinstance(entry, dict):
            return []
        if "relative_path" in entry:
            return [None]
        found = sorted(int(key[4:]) for key in entry if _SPLIT.fullmatch(key))
        return [major for major in found if self.has(name, platform, major)]

    def offer(self, name: str, platform: str, cuda: int | None) -> Offer:
        """Return the archive of a component for one of the CUDA majors that `majors` lists.

        Raises SourceError if the entry cannot be trusted: it names no sha256 or size,
        or a file outside of the index's own folder.
        """
        entry = self._entry(name, platform, cuda) or {}
        component = self.components[name]
        path, licence_path = _text(entry, "relative_path"), _text(component, "license_path")
        sha256, size = _text(entry, "sha256").lower(), str(entry.get("size", ""))
        licence, version = _text(component, "license"), _text(component, "version")
        for what, usable in (
            ("path inside of its folder", _PATH.fullmatch(path)),
            ("sha256", is_sha256(sha256)),
            ("size", _SIZE.fullmatch(size)),
        ):
            if not usable:
                raise _unusable(self.url, f"it names no {what} for {name}")
        folder = self.url.rpartition("/")[0]
        usual, at = LICENCES[self.product]
        return Offer(
            f"{folder}/{path}",
            sha256,
            int(size),
            Version(version) if is_version(version) else None,
            licence if _WORDS.fullmatch(licence) else usual,
            f"{folder}/{licence_path}" if _PATH.fullmatch(licence_path) else at,
        )

    def _entry(self, name: str, platform: str, cuda: int | None) -> Mapping[str, Any] | None:
        entry = self.components.get(name, {}).get(FOLDERS[platform])
        if isinstance(entry, dict) and "relative_path" not in entry:
            entry = entry.get(f"cuda{cuda}")
        return entry if isinstance(entry, dict) else None


def read_index(content: bytes, product: str, release: Version, url: str) -> Index:
    """Read an index. Raises SourceError if it is not one."""
    try:
        data = json.loads(content)
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, dict):
        raise _unusable(url, "it is not an index (JSON)")
    components = {name: entry for name, entry in data.items() if isinstance(entry, dict)}
    return Index(product, release, url, components)


def _text(entry: Mapping[str, Any], key: str) -> str:
    value = entry.get(key)
    return value if isinstance(value, str) else ""


def _unusable(url: str, reason: str) -> SourceError:
    return SourceError(
        f"cannot use `{redact(url)}`: {reason}",
        "nothing was downloaded from it; ask the server's administrator",
    )

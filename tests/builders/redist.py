"""NVIDIA's redist tree: an index in the real schema, and the archives where the index says.

Schema and key order as in redistrib_13.0.2.json and (cuDNN) redistrib_8.9.7.json.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

_NAME = re.compile(
    r"(?P<name>[a-z0-9_]+)-(?P<platform>(?:linux|windows)-[a-z0-9_]+)-(?P<version>[0-9.]+)"
    r"(?:_(?P<variant>cuda[0-9]+))?-archive\.(?:tar\.xz|zip)"
)


def redist_index(
    base: Path, product: str, release: str, archives: Iterable[Path]
) -> dict[str, Any]:
    """Lay `archives` out below `base` as that release of `cuda` or `cudnn`; return its index."""
    folder = base / product / "redist"
    index: dict[str, Any] = {
        "release_date": "2025-10-09",
        "release_label": release,
        "release_product": product,
    }
    for archive in archives:
        found = _NAME.fullmatch(archive.name)
        assert found, archive.name
        name, platform, variant = found["name"], found["platform"], found["variant"]
        component = index.setdefault(
            name,
            {
                "name": name.replace("_", " "),
                "license": "CUDA Toolkit" if product == "cuda" else product,
                "license_path": f"{name}/LICENSE.txt",
                "version": found["version"],
            },
        )
        entry = {
            "relative_path": f"{name}/{platform}/{archive.name}",
            "sha256": hashlib.sha256(archive.read_bytes()).hexdigest(),
            "md5": hashlib.md5(archive.read_bytes()).hexdigest(),
            "size": str(archive.stat().st_size),
        }
        if variant:
            component.setdefault("cuda_variant", []).append(variant.removeprefix("cuda"))
            component.setdefault(platform, {})[variant] = entry
        else:
            component[platform] = entry
        target = folder / name / platform / archive.name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(archive, target)
    write_index(base, index)
    return index


def write_index(base: Path, index: dict[str, Any]) -> Path:
    """Write an index to its place below `base`."""
    folder = base / index["release_product"] / "redist"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"redistrib_{index['release_label']}.json"
    path.write_text(json.dumps(index, indent=4))
    return path

"""Where an environment's Python has its packages. xonsh runs this too: see `shells.carried`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

_SITES = (
    "lib/python*/site-packages",
    "lib64/python*/site-packages",
    "lib/pypy*/site-packages",
    "Lib/site-packages",
)
_DEBIAN_SITES = ("local/lib/python*/dist-packages", "lib/python3/dist-packages")


def sites_of(prefix: Path, patterns: tuple[str, ...] = _SITES) -> list[Path]:
    """List the site-packages of a prefix: any Python version, Linux and Windows layout."""
    found: dict[str, Path] = {}
    for pattern in patterns:
        for site in _matching(prefix, pattern):
            # A cycle of links is no folder; lib64 is often a link to lib.
            if os.path.isdir(site):
                found.setdefault(os.path.realpath(site), Path(site))
    return list(found.values())


def _matching(prefix: Path, pattern: str) -> list[str]:
    """Match a path with at most one `*`, at the end of a name. Path.glob compiles patterns."""
    before, star, after = pattern.partition("*")
    if not star:
        return [f"{prefix}/{pattern}"]
    folder, _, start = f"{prefix}/{before}".rpartition("/")
    try:
        names = sorted(name for name in os.listdir(folder) if name.startswith(start))  # noqa: PTH208 - names
    except OSError:
        return []
    return [f"{folder}/{name}{after}" for name in names]


def user_sites(sites: list[Path], variables: Mapping[str, str]) -> list[Path]:
    """List the user's site-packages for the Pythons of these, as `python -m site` tells it."""
    home = variables.get("HOME", "")
    base = variables.get("PYTHONUSERBASE") or (f"{home}/.local" if home else "")
    if not base or variables.get("PYTHONNOUSERSITE"):
        return []
    # conda-forge's lib/python3.1 is a link to python3.10 or later.
    pythons = dict.fromkeys(site.parent.resolve().name for site in sites)
    return [
        site
        for name in pythons
        if name.startswith("python3")
        and os.path.isdir(site := Path(base, "lib", name, "site-packages"))
    ]


class Base(NamedTuple):
    """The prefix whose packages a virtualenv sees too; `python` is X.Y, or empty."""

    prefix: Path
    python: str

    def sites(self) -> list[Path]:
        """List the site-packages that its Python reads: a folder may say for which one it is."""
        found = sites_of(self.prefix, _SITES + _DEBIAN_SITES)
        return [site for site in found if read_by(self.python, site)]


def read_by(python: str, site: Path) -> bool:
    """Tell whether Python X.Y, or one that is not known (empty), reads a site-packages."""
    # conda-forge's lib/python3.1 is a link; 3.13t is the Python without its lock.
    folders = {site.parent.name, site.parent.resolve().name}
    versions = {it.removeprefix("python").removeprefix("pypy").rstrip("t") for it in folders}
    return not python or python in versions or all("." not in version for version in versions)


def base_in(text: str) -> Base | None:
    """Find the prefix whose packages a virtualenv sees too in its pyvenv.cfg.

    None without `--system-site-packages`.
    """
    values = _values(text)
    home = values.get("home", "")
    if values.get("include-system-site-packages", "").lower() != "true" or not home:
        return None
    folder = Path(home)
    base = folder.parent if folder.name in ("bin", "Scripts") else folder
    return Base(base, python_in(text))


def python_in(text: str) -> str:
    """Return the X.Y of a virtualenv's Python as its pyvenv.cfg has it, or ""."""
    values = _values(text)
    # venv and uv write `version_info` or `version`; both begin with X.Y.
    return minor_of(values.get("version_info") or values.get("version", ""))


def minor_of(version: str) -> str:
    """Return the X.Y that a version of Python begins with."""
    return ".".join(version.split(".")[:2])


def _values(text: str) -> dict[str, str]:
    pairs = (line.partition("=") for line in text.splitlines())
    return {key.strip().lower(): value.strip() for key, _, value in pairs}

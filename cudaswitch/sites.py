"""Where an environment's Python has its packages. xonsh runs this too: see `shells.carrying`."""

from __future__ import annotations

import os

from cudaswitch.namedtuples import NamedTuple
from cudaswitch.regular import names_of, read_regular

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from os import PathLike

_SITES = (
    "lib/python*/site-packages",
    "lib64/python*/site-packages",
    "lib/pypy*/site-packages",
    "Lib/site-packages",
)
_BASE_SITES = (
    *_SITES,
    *("local/lib/python*/dist-packages", "lib/python3/dist-packages"),
    *("local/lib/python*/site-packages", "local/lib64/python*/site-packages"),
)
"""Also Debian's, and those that root's pip fills there and on Fedora."""

_CONFIG_LIMIT = 64 << 10
"""Bytes of a pyvenv.cfg that is read."""


def sites_of(prefix: str | PathLike[str], patterns: tuple[str, ...] = _SITES) -> list[str]:
    """List the site-packages of a prefix: any Python version, Linux and Windows layout."""
    found: dict[str, str] = {}
    for pattern in patterns:
        for site in matching(prefix, pattern):
            # A cycle of links is no folder; lib64 is often a link to lib.
            if os.path.isdir(site):
                found.setdefault(os.path.realpath(site), site)
    return list(found.values())


def matching(prefix: str | PathLike[str], pattern: str) -> list[str]:
    """Match a path with at most one `*`, at the end of a name. Path.glob compiles patterns."""
    before, star, after = pattern.partition("*")
    if not star:
        return [os.path.join(prefix, pattern)]
    folder, _, start = os.path.join(prefix, before).rpartition("/")
    return [f"{folder}/{name}{after}" for name in names_of(folder) if name.startswith(start)]


def user_sites(sites: Iterable[str | PathLike[str]], variables: Mapping[str, str]) -> list[str]:
    """List the user's site-packages for the Pythons of these, as `python -m site` shows them."""
    home = variables.get("HOME", "")
    base = variables.get("PYTHONUSERBASE") or (f"{home}/.local" if home else "")
    if not base or variables.get("PYTHONNOUSERSITE"):
        return []
    # conda-forge's lib/python3.1 is a link to python3.10 or later.
    pythons = dict.fromkeys(_real_python(site) for site in sites)
    places = (f"{base}/lib/{name}/site-packages" for name in pythons if name[:2] == "py")
    return [site for site in places if os.path.isdir(site)]


class Base(NamedTuple):
    """The prefix whose packages a virtualenv sees too; `python` is X.Y, or empty."""

    prefix: str
    python: str

    def sites(self) -> list[str]:
        """List the site-packages that its Python reads: a folder's name may say whose it is."""
        found = sites_of(self.prefix, _BASE_SITES)
        return [site for site in found if read_by(self.python, site)]


def read_by(python: str, site: str | PathLike[str]) -> bool:
    """Tell whether Python X.Y, or one that is not known (empty), reads a site-packages."""
    # conda-forge's lib/python3.1 is a link; 3.13t is the free-threaded Python.
    folders = {os.path.basename(os.path.dirname(site)), _real_python(site)}
    versions = {it.removeprefix("python").removeprefix("pypy").rstrip("t") for it in folders}
    return not python or python in versions or all("." not in version for version in versions)


def _real_python(site: str | PathLike[str]) -> str:
    """Name the folder of a Python that a site-packages is in, such as python3.11."""
    return os.path.basename(os.path.realpath(os.path.dirname(site)))


def base_in(text: str) -> Base | None:
    """Find in a pyvenv.cfg the prefix whose packages the virtualenv sees too.

    None without `--system-site-packages`.
    """
    values = _values(text)
    home = values.get("home", "")
    home = home.rstrip("/") or home
    if values.get("include-system-site-packages", "").lower() != "true" or not home:
        return None
    is_below = os.path.basename(home) in ("bin", "Scripts")
    return Base(os.path.dirname(home) if is_below else home, python_in(text))


def extended(prefix: str) -> str:
    """Return the environment that one counts as: for a layer of `uv run --with`, the one below it.

    uv makes such a layer anew for each command, and keeps nothing in it. The shells have code of
    their own for this (`__cudaswitch_extended`): change them together.
    """
    # Limited, as layers may form a circle.
    for _ in range(9):
        below = _values(config_of(prefix)).get("extends-environment", "")
        marks = f"{below}/conda-meta", f"{below}/pyvenv.cfg"
        # uv may also name a bare Python, which is no environment.
        if not os.path.isabs(below) or not any(map(os.path.exists, marks)):
            break
        prefix = below
    return prefix


def overlaid(prefix: str) -> list[str]:
    """List the folders of packages that a layer of `uv run --with` has besides what is below it.

    uv keeps what `--with` brings in its cache and names it in a file of the layer; some releases
    have put it into the layer itself. The shells look there too (`__cudaswitch_layered`).
    """
    found = sites_of(prefix)
    for site in list(found):
        try:
            content = read_regular(f"{site}/_uv_ephemeral_overlay.pth", _CONFIG_LIMIT)
        except OSError:
            continue
        found += [text for text in os.fsdecode(content).split('"') if os.path.isabs(text)]
    return found


def config_of(prefix: str | PathLike[str]) -> str:
    """Return the text of a prefix's pyvenv.cfg; "" if there is none, or it is not text."""
    try:
        content = read_regular(os.path.join(prefix, "pyvenv.cfg"), _CONFIG_LIMIT)
    except OSError:
        return ""
    return "" if b"\0" in content else content.decode(errors="replace")


def python_in(text: str) -> str:
    """Return the X.Y of a virtualenv's Python as its pyvenv.cfg has it, or ""."""
    values = _values(text)
    # venv and uv write `version_info` or `version`; both begin with X.Y.
    return minor_of(values.get("version_info") or values.get("version", ""))


def home_in(text: str) -> str:
    """Return the folder of the Python behind a virtualenv as its pyvenv.cfg has it, or ""."""
    return _values(text).get("home", "")


def minor_of(version: str) -> str:
    """Return the X.Y that a version of Python begins with."""
    return ".".join(version.split(".")[:2])


def _values(text: str) -> dict[str, str]:
    pairs = (line.partition("=") for line in text.splitlines())
    return {key.strip().lower(): value.strip() for key, _, value in pairs}

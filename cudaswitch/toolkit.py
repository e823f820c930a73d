"""What the store holds: packages and toolkits. Pure."""

from __future__ import annotations

from cudaswitch.errors import StoreError
from cudaswitch.namedtuples import NamedTuple
from cudaswitch.platforms import PLATFORMS, current_platform
from cudaswitch.versions import Version

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any, Literal

    from cudaswitch.versions import Request

UNSAFE_IN_PATH = "'\"$`\\:;\n\r\t"
"""Characters that PATH, the loader or conda's own activation cannot carry in a toolkit path."""
METAPACKAGE = "metapackage"
"""The component of a package that has no files, but depends on packages that do, such as
conda-forge's `cuda-nvcc`."""
_HEXADECIMAL = frozenset("0123456789abcdef")


def refuse_unsafe_path(
    path: str,
    hint: str = "choose a plain folder, for example with CUDASWITCH_HOME=$HOME/.cudaswitch",
) -> None:
    """Raise StoreError if a toolkit at `path` could not be put on PATH or LD_LIBRARY_PATH.

    The usual hint is for a store.
    """
    bad = sorted({char for char in path if char in UNSAFE_IN_PATH or not char.isprintable()})
    if bad:
        shown = " ".join(repr(char).replace("\\\\", "\\") for char in bad)
        raise StoreError(
            f"`{path}` cannot hold a toolkit: its path contains {shown}, which PATH, the loader"
            " or conda would misread",
            hint,
        )


def is_sha256(text: str) -> bool:
    """Tell whether a text is a SHA-256 as we spell it: 64 digits, letters in lower case."""
    return len(text) == 64 and _HEXADECIMAL.issuperset(text)


class Entry(NamedTuple):
    """One file or symbolic link of an unpacked package.

    `path` is relative and uses `/`. A file has `size` (bytes) and `sha256` of what is on
    disk; a link has `target`. `placeholder` and `mode` are conda's: the build prefix that
    linking replaces and whether the file is `text` or `binary`; `copy` is conda's
    `no_link`: never shared by hard link.
    """

    path: str
    size: int = 0
    sha256: str = ""
    executable: bool = False
    target: str | None = None
    placeholder: str | None = None
    mode: Literal["text", "binary"] | None = None
    copy: bool = False

    def to_json(self) -> dict[str, Any]:
        return {
            key: value
            for key, value in self._asdict().items()
            if key == "path" or value != self._field_defaults[key]
        }


def _require_texts(*values: object) -> None:
    """Raise TypeError unless all these values of a record are texts, as they should be."""
    if not all(isinstance(each, str) for each in values):
        raise TypeError("it is not a text")


def parents(path: str) -> Iterator[str]:
    """Yield the folders above a relative path, topmost first."""
    end = path.find("/")
    while end != -1:
        yield path[:end]
        end = path.find("/", end + 1)


class Package(NamedTuple):
    """One artifact as its maker ships it.

    `component` is what it provides: `cuda` (a whole toolkit), `cudnn`, a piece of a
    toolkit such as `nvcc` or `cudart`, or METAPACKAGE. `cuda` says for which CUDA a cuDNN or
    piece was built: a request text (`10.1`, `12`, `>=11.3,<12`) or None if unknown or not
    needed.
    `root` is the folder inside the archive that corresponds to CUDA_HOME, empty for its top.
    """

    name: str
    version: Version
    build: str
    platform: str
    component: str
    cuda: str | None = None
    root: str = ""
    form: str = ""
    source: str = "file"
    origin: str = ""
    sha256: str = ""
    size: int = 0
    date: str = ""
    entries: tuple[Entry, ...] = ()

    @property
    def id(self) -> str:
        """The folder name in the store.

        conda's own folder names have no platform, and builds such as cuDNN's `cuda10.1_0` are
        called the same on every platform. So it is added, except for the most common one.
        """
        is_plain = self.form.startswith("conda") and self.platform in ("linux-64", "noarch")
        foreign = "" if is_plain else self.platform
        parts = [self.name, str(self.version), self.build, foreign]
        return "-".join(part for part in parts if part)

    def to_json(self) -> dict[str, Any]:
        data = {key: value for key, value in self._asdict().items() if key != "entries"}
        return data | {
            "version": str(self.version),
            "files": [entry.to_json() for entry in self.entries],
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Package:
        known = {key: data[key] for key in cls._fields if key in data}
        entries = tuple(Entry(**entry) for entry in data["files"])
        _require_texts(*(known[key] or "" for key in known if key != "size"))
        for entry in entries:
            _require_texts(entry.path, entry.sha256, entry.target or "", entry.placeholder or "")
        return cls(**{**known, "version": Version(data["version"]), "entries": entries})


def target_of(package: Package) -> str:
    """Name the platform whose files a package holds, `noarch` if it does not matter.

    conda-forge's pieces for compilers say it with their names: `cuda-cudart_linux-64` can be
    installed everywhere, to compile for linux-64.
    """
    told = package.name.rpartition("_")[2]
    return told if package.platform == "noarch" and told in PLATFORMS else package.platform


def platform_of(packages: Iterable[Package]) -> str:
    """Name the platform of packages that belong together; `noarch` ones follow the rest.

    If nothing tells it, it is this machine's.
    """
    together = list(packages)
    stated = [package.platform for package in together] + [target_of(one) for one in together]
    return next((one for one in stated if one != "noarch"), current_platform())


class Toolkit(NamedTuple):
    """What CUDA_HOME points to. `name` is `10.1.243` or `10.1.243+cudnn7.6.5`.

    `path` is the folder itself: composed in the store, or an adopted one in its place.
    `packages` are the ids it was composed from, empty when adopted. `base` is the folder of the
    toolkit that they are laid over: an adopted one, or one in a shared store.
    """

    name: str
    version: Version
    cudnn: Version | None
    path: str
    source: str
    platform: str
    packages: tuple[str, ...] = ()
    base: str | None = None

    @property
    def ground(self) -> str:
        """The folder without which nothing of the toolkit can be used."""
        return self.base or self.path

    def fits(self, request: Request) -> bool:
        """Tell whether it has the versions that a request, which is no alias, asks for."""
        return request.accepts(self.version) and request.accepts_cudnn(self.cudnn)

    def to_json(self) -> dict[str, Any]:
        return self._asdict() | {
            "version": str(self.version),
            "cudnn": str(self.cudnn) if self.cudnn else None,
            "packages": list(self.packages),
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Toolkit:
        texts = (data[key] for key in ("name", "path", "source", "platform"))
        _require_texts(*texts, data.get("base") or "", *data["packages"])
        kit = cls(
            name=data["name"],
            version=Version(data["version"]),
            cudnn=Version(data["cudnn"]) if data["cudnn"] else None,
            path=data["path"],
            source=data["source"],
            platform=data["platform"],
            packages=tuple(data["packages"]),
            base=data.get("base"),
        )
        if not kit.has_its_name():
            raise ValueError("it has the name of another toolkit")
        return kit

    def has_its_name(self) -> bool:
        """Tell whether it has a name that `toolkit_name` gives it, on whatever machine."""
        plain = _plain_name(self.version, self.cudnn)
        return self.name in (plain, f"{plain}@{self.platform}")


def toolkit_name(version: Version, cudnn: Version | None, platform: str) -> str:
    """Name a toolkit; foreign platforms carry theirs, so that both can be kept side by side."""
    name = _plain_name(version, cudnn)
    return name if platform == current_platform() else f"{name}@{platform}"


def _plain_name(version: Version, cudnn: Version | None) -> str:
    # NVIDIA's fourth part is a build number that nobody asks for.
    return f"{version}+cudnn{'.'.join(str(cudnn).split('.')[:3])}" if cudnn else str(version)

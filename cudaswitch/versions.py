"""Versions and requests: parse, order, match. Pure: opens nothing, starts nothing."""

from __future__ import annotations

from cudaswitch.errors import RequestError, brief
from cudaswitch.namedtuples import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    Libraries = Literal["auto", "always", "never"]

KEYWORDS = ("latest", "auto", "system")
TAKEN = (*KEYWORDS, "none", "off")
"""Words that no alias may have: they have a meaning here, as an option's value or a command."""
LIBRARIES = ("auto", "always", "never")
NO_GPUS = "-1"
"""The value of CUDA_VISIBLE_DEVICES that `none` stands for: no index, so CUDA sees no GPU."""
_LONGEST_RANGE = 200
LONGEST_NAME = 64
VERSION_FILE = ".cuda-version"
VERSION_FILE_LIMIT = 4096
"""Bytes of a version file that are read; a longer one is refused."""
_KEYS = ("cuda", "cudnn", "libraries", "gpus")
"""Those of a version file; all but the first are named like parameters of `parse_request`."""
OPERATORS = (">=", "<=", "==", "!=", ">", "<")


class Version:
    """A released version as its maker writes it, e.g. `10.1.243` or `7.6.5.32`.

    Precision is kept: `9.3` is not `9.3.0`, though both compare equal in order.
    """

    __slots__ = ("parts", "text")

    def __init__(self, text: str) -> None:
        if not is_version(text):
            raise RequestError(f"`{brief(text)}` is not a version", "a version looks like 10.1.243")
        self.text = text
        self.parts = tuple(map(int, text.split(".")))

    @property
    def major(self) -> int:
        return self.parts[0]

    @property
    def minor(self) -> str:
        """The first two parts, e.g. `10.1`, the name under which CUDA releases are known."""
        return ".".join(self.text.split(".")[:2])

    def starts_with(self, prefix: Version) -> bool:
        """Tell whether `prefix` names this version: 10.1 names 10.1.243, never 10.10."""
        return self.parts[: len(prefix.parts)] == prefix.parts

    def _key(self) -> tuple[int, ...]:
        return (self.parts + (0,) * 5)[:5]

    def __lt__(self, other: Version) -> bool:
        return self._key() < other._key()

    def __le__(self, other: Version) -> bool:
        return self._key() <= other._key()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Version) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Version({self.text!r})"


class Request(NamedTuple):
    """What was asked, before anything is known about what is installed.

    `text` is the CUDA part: a version prefix, a range such as `>=11.2,<12`, `latest`,
    `auto`, `system` or an alias. `cudnn` is a version prefix, `none` for a bare
    toolkit, or None if nothing was said. `gpus` is a value for CUDA_VISIBLE_DEVICES.
    `origin` says who asked, for messages.
    """

    text: str
    cudnn: str | None = None
    libraries: Libraries | None = None
    origin: str = ""
    gpus: str | None = None

    @property
    def prefix(self) -> Version | None:
        return Version(self.text) if is_version(self.text) else None

    @property
    def is_alias(self) -> bool:
        return _is_name(self.text) and self.text not in KEYWORDS

    @property
    def is_range(self) -> bool:
        return self.text.startswith(OPERATORS)

    def accepts(self, version: Version) -> bool:
        """Tell whether a CUDA version satisfies the request (aliases and keywords do not)."""
        if self.text == "latest":
            return True
        if self.prefix is not None:
            return version.starts_with(self.prefix)
        parts = [range_part(part) for part in self.text.split(",")]
        return all(part and _holds(version, *part) for part in parts)

    def accepts_cudnn(self, version: Version | None) -> bool:
        """Tell whether a composed cuDNN (None: bare toolkit) satisfies the request."""
        if self.cudnn is None:
            return True
        if self.cudnn == "none":
            return version is None
        return version is not None and version.starts_with(Version(self.cudnn))

    @property
    def wanted_cudnn(self) -> str | None:
        """The cuDNN that is asked for, None if none is, or nothing was said."""
        return None if self.cudnn == "none" else self.cudnn

    @property
    def asked(self) -> str:
        """Who asked, as the end of a message; "" if that need not be said."""
        return f" (asked for by {self.origin})" if self.origin else ""

    def __str__(self) -> str:
        return f"{self.text}+cudnn{self.cudnn}" if self.cudnn else self.text


def is_version(text: str) -> bool:
    """Tell whether a text is a version: one to five numbers with dots between them."""
    parts = text.split(".")
    return text.isascii() and len(parts) <= 5 and all(_is_number(part, 9) for part in parts)


def _is_number(text: str, digits: int) -> bool:
    return text.isdigit() and len(text) <= digits


def _is_name(text: str) -> bool:
    plain = text.replace("_", "").replace("-", "")
    return text.isascii() and len(text) <= LONGEST_NAME and text[:1].isalpha() and plain.isalnum()


def range_part(text: str) -> tuple[str, Version] | None:
    """Read one bound of a range, such as `>=11.2`."""
    operator = next(filter(text.startswith, OPERATORS), "")
    bound = text.removeprefix(operator)
    return (operator, Version(bound)) if operator and is_version(bound) else None


def _holds(version: Version, operator: str, bound: Version) -> bool:
    if operator == "==":
        return version.starts_with(bound)
    if operator == "!=":
        return not version.starts_with(bound)
    # `<=12.4` admits 12.4.131 and `>12.4` does not: people name releases, not builds.
    if operator == "<=":
        return version < bound or version.starts_with(bound)
    if operator == ">":
        return version > bound and not version.starts_with(bound)
    return version >= bound if operator == ">=" else version < bound


def parse_request(
    text: str,
    cudnn: str | None = None,
    libraries: str | None = None,
    origin: str = "",
    gpus: str | None = None,
) -> Request:
    """Read a request as people write it.

    Accepts `10.1`, `10.1.243+cudnn7.6.5`, `>=11.2,<12`, `latest`, `auto`, `system` or an
    alias; `cudnn` is a version prefix or `none` and wins over one after a `+`.
    Raises RequestError for anything else; nothing is ever expanded or executed.
    """
    where = f" (asked for by {origin})" if origin else ""
    base, plus, extra = text.strip().partition("+")
    if not extra:
        base += plus
    # Version files split lines at blanks, and a pin must read back as it was requested.
    parts = [part.strip() for part in base.split(",")]
    base = ",".join(parts)
    if extra:
        if extra == "cudnn" or not extra.startswith("cudnn"):
            raise RequestError(
                f"`{brief(text)}` is not a toolkit{where}", "write it as 10.1+cudnn7.6"
            )
        cudnn = cudnn or extra.removeprefix("cudnn")
    _check("cudnn", cudnn, where)
    _check("libraries", libraries, where)
    is_range = len(base) <= _LONGEST_RANGE and all(map(range_part, parts))
    if not (is_version(base) or _is_name(base) or is_range):
        hint = "for example 10.1, 12.4.1, '>=11.2,<12', latest, auto or system"
        if base.startswith(("/", "~", ".")) and not base.startswith("~="):
            hint = "name its version, which cudaswitch adopt FOLDER registers and prints"
        if base.endswith(".lock"):
            hint = f"to install what it lists: cudaswitch sync --lock {quote_request(base)}"
        raise RequestError(
            f"`{brief(text)}` is not a CUDA version, range, alias or keyword{where}",
            spelling_hint(base) or hint,
        )
    mode: Libraries | None = libraries  # type: ignore[assignment]  # checked above
    return Request(base, cudnn, mode, origin, parse_gpus(gpus, where) if gpus is not None else None)


_OTHER_WORDS = dict.fromkeys(("last", "newest", "stable"), "latest")
"""Keywords of other tools → ours."""


def spelling_hint(text: str) -> str | None:
    """Return the hint for a version that is spelled as in other tools, None for anything else.

    `cuda-11.8` and `cuda>=12,<13` are conda's, `cu118` and `cu12` those of wheels.
    """
    if len(text) > LONGEST_NAME or not text.isascii():
        return None
    import re  # noqa: PLC0415  # slow to load, and only mistakes need it

    rest = text.lower().strip()
    if meant := _OTHER_WORDS.get(rest):
        return f"write it as {meant}"
    if cudnn := re.fullmatch(r"cudnn[-_= ]*([0-9.]*)", rest):
        return f"give cuDNN together with a toolkit: VERSION+cudnn{cudnn[1] or 'VERSION'}"
    for word in ("cudatoolkit", "cuda", "cu", "v"):
        rest = rest.removeprefix(word).lstrip()
    rest = re.sub("(?<=[0-9]) +(?=[0-9])", "_", rest).replace(" ", "")
    if several := _several(rest, text):
        return several
    rest = rest.lstrip("-_=").removeprefix("v").removesuffix(".x").removesuffix(".*").rstrip(".")
    # Not for two versions: releases have one digit after their first dot.
    if re.match("([5-9]|1[0-9])[._,-][0-9](?![0-9])", rest) and not set(rest) & set("<>=!"):
        rest = re.sub("(?<=[0-9])[,_-](?=[0-9])", ".", rest)
    # Before CUDA 10, wheels had one digit each for major and minor: cu75 to cu92.
    if rest.isdigit() and (70 < int(rest) < 93 or 99 < int(rest) < 1000):
        rest = f"{rest[:-1]}.{rest[-1]}"
    known = is_version(rest) or all(map(range_part, rest.split(",")))
    return f"write it as {quote_request(rest)}" if known and rest != text else None


def _several(text: str, typed: str) -> str | None:
    """Return the hint for a range or list of versions in other tools' spelling, None for neither.

    Its parts have a dot, or are releases from 10 on: `12-4` is one version, `12-13` is not.
    """
    if text.startswith("~=") and is_version(text[2:]) and "." in text:
        *above, last = map(int, text[2:].split(".")[:-1])
        return f"write it as '>={text[2:]},<{'.'.join(map(str, (*above, last + 1)))}'"
    if is_version(text[:-1]) and text.endswith("+"):
        return f"write it as '>={text[:-1]}'"
    names = text.replace("-", ",").replace("_", ",").split(",")
    releases = [one for one in names if is_version(one) and ("." in one or 9 < int(one) < 20)]
    if len(names) < 2 or releases != names:
        return None
    if text.count("-") == 1 and len(names) == 2:
        low, high = sorted(map(Version, names))
        return f"write it as '>={low},<={high}'"
    apart = f", or, where several are allowed, one after the other: {' '.join(names)}"
    return "name one of them" + apart * (typed.split() != names)


def _check(key: str, value: str | None, where: str) -> None:
    """Raise RequestError for an invalid cuDNN or library mode; `where` says who asked."""
    if value is None:
        return
    if key == "cudnn" and value != "none" and not is_version(value):
        raise RequestError(
            f"`{brief(value)}` is not a cuDNN version{where}", "write it as 7.6 or 7.6.5, or `none`"
        )
    if key == "libraries" and value not in LIBRARIES:
        raise RequestError(
            f"`{brief(value)}` is not a library mode{where}", "use auto, always or never"
        )


def parse_gpus(text: str, where: str = "") -> str:
    """Read which GPUs are to be visible, as a value for CUDA_VISIBLE_DEVICES.

    Accepts indices and UUIDs (`GPU-...`, `MIG-...`, also shortened as the driver allows),
    joined by commas, or `none`. `where` says who asked, for messages. Raises RequestError.
    """
    if text in ("none", NO_GPUS):
        return NO_GPUS
    gpus = text.split(",")
    if not all(map(_is_gpu, gpus)):
        raise RequestError(
            f"`{brief(text)}` names no GPUs{where}", "write it as 0,2 or GPU-8932f937, or `none`"
        )
    # The driver takes a list that has a GPU twice as empty; 01 is 1, and case does not matter.
    same = [str(int(gpu)) if gpu.isdecimal() else gpu.lower() for gpu in gpus]
    twice = [gpu for gpu, key in zip(gpus, same, strict=True) if same.count(key) > 1]
    if twice:
        raise RequestError(f"`{brief(text)}` names GPU {twice[0]} twice{where}", "name each once")
    return text


def _is_gpu(text: str) -> bool:
    if not text.isascii():
        return False
    # After a GPU's UUID, the driver accepts the instances that a MIG device is made of.
    name, *instances = text.split("/")
    uuid = name[4:].replace("-", "") if name[:4] in ("GPU-", "MIG-") else ""
    is_uuid = uuid.isalnum() and len(name) <= 84 and len(instances) <= 2
    return _is_number(text, 4) or (is_uuid and all(_is_number(each, 4) for each in instances))


def is_alias_name(text: str) -> bool:
    """Tell whether `text` may name an alias: letters, digits, `_`, `-`, none of TAKEN."""
    return _is_name(text) and text not in TAKEN


def quote_request(text: str) -> str:
    """Quote a request for a command line, where ranges hold `<` and `>`."""
    return f"'{text}'" if set(text) & set("<>=,!") else text


def parse_version_file(text: str, origin: str) -> Request:
    """Read the text of a `.cuda-version` file or of a pin.

    The grammar is closed: blank lines, `#` comments, one bare request, or the keys
    `cuda`, `cudnn`, `libraries` and `gpus` with a value after a blank or `=` (which reads
    the files of cuvm and cudup too), after the byte order mark that editors on Windows write.
    `origin` is the file; messages add the line.
    Raises RequestError naming file and line.
    """
    found: dict[str, tuple[str, str]] = {}
    for number, raw in enumerate(text.removeprefix("\ufeff").split("\n"), 1):
        line = raw.partition("#")[0].strip()
        if not line:
            continue
        where = f"{origin}:{number}"
        key, value = _keyed(line)
        _refuse_odd(line, value, where)
        if key in found:
            raise RequestError(f"a second `{key}` line at {where}", "keep one of them")
        found[key] = (value, where)
    for key, (value, where) in found.items():
        said = f" (asked for by {where})"
        _check(key, value, said)
        if key == "gpus":
            parse_gpus(value, said)
    if "cuda" not in found:
        raise RequestError(
            f"{origin} does not request a CUDA version", "write for example `10.1` into it"
        )
    text, where = found.pop("cuda")
    return parse_request(text, origin=where, **{key: value for key, (value, _) in found.items()})


def _refuse_odd(line: str, value: str, where: str) -> None:
    """Raise RequestError for a line that has no key of ours, no value, or more than one."""
    word, equals, behind = map(str.strip, line.partition("="))
    if equals and _is_name(word) and word not in _KEYS:
        raise RequestError(
            f"unknown key `{brief(word)}` at {where}", f"choose from {', '.join(_KEYS)}"
        )
    if word in _KEYS and equals and not behind:
        raise RequestError(f"`{word}` has no value at {where}", "write one, or remove the line")
    # Only ranges may have blanks, after their commas.
    if not line.isascii() or (len(value.split()) > 1 and "," not in value):
        raise RequestError(
            f"cannot read `{brief(line)}` at {where}",
            # Older PowerShells write UTF-16.
            "save it as UTF-8"
            if "\0" in line
            else "write one request per line: `10.1`, or `cuda 10.1` and `cudnn 7.6`",
        )


def _keyed(line: str) -> tuple[str, str]:
    """Split a line into key and value; a bare request is a value of `cuda`."""
    for key in filter(line.startswith, _KEYS):
        behind = line.removeprefix(key)
        value = behind.lstrip(" \t")
        if value.startswith("="):
            value = value[1:].lstrip(" \t")
        elif value == behind:
            continue
        if value:
            return key, value
    return "cuda", line

"""Error messages that people paste: which cause each has, with the facts of this machine."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from cudaswitch.doctor.model import Facts, Finding, Found, Rule
from cudaswitch.doctor.parts import Part, lacking, named
from cudaswitch.doctor.releases import gpu_code, number_meant, reach, release_with
from cudaswitch.doctor.remedies import FOR_PART, SPELLED
from cudaswitch.namedtuples import NamedTuple
from cudaswitch.resolver.releases import agree
from cudaswitch.versions import Version

_WIDEST = 2_000
"""Characters of a line that patterns are matched against."""

_NAME = re.compile(r"(?<!\$)\{(\w+)\}")
_BRINGS = "@use {cuda}"
"""The command for a library that is found missing."""
_IMPORTS = "ImportError: lib"
"""How Python reports a library that an extension, which it imports, is linked with."""
_NEEDS = ("CS041", "CS042", "CS086")
"""Rules that find a framework without the CUDA or cuDNN that it needs."""
_OLD_TENSORFLOWS = "Could not load dynamic library '"
"""How TensorFlow up to 2.12, whose releases are for CUDA up to 11, reports such a library."""


class Message(NamedTuple):
    """A row of the table: `pattern` matches one line; texts hold `{names}` of groups and facts.

    One of the `words` is in all that `pattern` matches. `beside` has to match somewhere in the text
    as well, and `unless` nowhere. `lines` is how many lines the message may take: that many are
    also matched as one.
    """

    code: str
    pattern: re.Pattern[str]
    words: tuple[str, ...]
    title: str
    cause: str
    fix: str
    rules: tuple[str, ...]
    source: str
    beside: re.Pattern[str] | None = None
    unless: re.Pattern[str] | None = None
    lines: int = 1

    def is_named_in(self, text: str) -> bool:
        """Tell whether a text holds one of the words, which takes far less time than to match."""
        return any(word in text for word in self.words)

    def search(self, line: str) -> re.Match[str] | None:
        return self.pattern.search(line) if self.is_named_in(line) else None


@lru_cache
def messages() -> tuple[Message, ...]:
    """Return the table, the most telling messages first."""
    file = Path(__file__).parent / "data" / "messages.json"
    rows = json.loads(file.read_text(encoding="utf-8"))["messages"]
    return tuple(
        Message(
            **{
                **row,
                "rules": tuple(row["rules"]),
                "words": tuple(row["words"]),
                **{
                    # Digits of other scripts are no versions.
                    name: re.compile(row[name], re.ASCII)
                    for name in ("pattern", "beside", "unless")
                    if name in row
                },
            }
        )
        for row in rows
    )


def explain(text: str, facts: Facts, here: Sequence[Finding]) -> list[Finding]:
    """Explain what is known of a pasted text, each cause once.

    `here` is what the rules find on this machine: if one of those is the cause, its evidence
    and its command are given.
    """
    told = list(_told(text))
    lost = [match for message, match in told if message.fix == _BRINGS]
    releases = _releases([match for match in lost if match.groupdict().get("soname")], facts)
    found: dict[str, Finding] = {}
    for message, match in told:
        if message.code not in found:
            found[message.code] = _finding(message, match, facts, here, releases)
    return list(found.values())


def _releases(lost: Sequence[re.Match[str]], facts: Facts) -> dict[tuple[str, str], str]:
    """Choose a CUDA release that has all libraries which a text finds missing, and map them to it.

    The number of a library seldom tells the release: libcurand.so.10 is in CUDA 10.1 to 13.
    """
    libraries = list(dict.fromkeys((one["library"], one["soname"]) for one in lost))
    return dict.fromkeys(libraries, release_with(facts, *libraries, below=_below(*lost)))


def _below(*lost: re.Match[str]) -> int | None:
    """Return the CUDA major that is too new for what prints these messages, if they tell one."""
    return 12 if any(_OLD_TENSORFLOWS in match.string for match in lost) else None


def _told(text: str) -> Iterator[tuple[Message, re.Match[str]]]:
    """Yield the most telling message of each line that holds one."""
    lines = [line for line in text.splitlines() if line.strip()]
    whole = " ".join(line.strip() for line in lines)
    rows = [row for row in messages() if row.is_named_in(whole) and _may_be_in(text, row)]
    for number in range(len(lines)):
        if first := next(_matches(rows, lines, number), None):
            yield first


def _may_be_in(text: str, row: Message) -> bool:
    if row.beside and not row.beside.search(text):
        return False
    return not (row.unless and row.unless.search(text))


def _matches(
    rows: Sequence[Message], lines: Sequence[str], number: int
) -> Iterator[tuple[Message, re.Match[str]]]:
    line = lines[number][:_WIDEST]
    for message in rows:
        match = message.search(line)
        if match is None and message.lines > 1:
            match = _over_lines(message, lines[number : number + message.lines])
        if match:
            yield message, match


def _over_lines(message: Message, lines: Sequence[str]) -> re.Match[str] | None:
    """Match a message that begins in the first of these lines and ends in another."""
    texts = [line.strip() for line in lines]
    match = message.search(" ".join(texts)[:_WIDEST])
    return match if match and match.start() < len(texts[0]) else None


def _finding(
    message: Message,
    match: re.Match[str],
    facts: Facts,
    here: Sequence[Finding],
    releases: Mapping[tuple[str, str], str],
) -> Finding:
    values = _values(match, facts, releases)
    evidence = match.string.strip()
    here = [one for one in here if _may_be_cause(one, values, facts)]
    related = [one for code in message.rules for one in here if one.rule.code == code]
    if related:
        evidence += f" | here, {related[0].rule.code}: {related[0].found.evidence}"
        fix = related[0].fix
    elif values["anew"]:
        fix = "cudaswitch resolve"
    else:
        fix = _spell(_fill(message.fix, values), facts, named(values))
    rule = Rule(
        message.code,
        "error",
        _fill(message.title, values),
        _fill(message.cause, values),
        tuple(message.source.split(", ")),
        lambda _: (),
    )
    return Finding(rule, Found(evidence, fix), fix)


def _may_be_cause(one: Finding, values: Mapping[str, str], facts: Facts) -> bool:
    """Tell whether a message may come of a finding: of a framework's need, only for its majors."""
    needs = facts.resolution
    pairs = (values["cuda"], needs.cuda), (values["cudnn"], needs.cudnn)
    return one.rule.code not in _NEEDS or all(
        Version(asked).major == Version(own).major for asked, own in pairs if asked and own
    )


def _values(
    match: re.Match[str], facts: Facts, releases: Mapping[tuple[str, str], str]
) -> defaultdict[str, str]:
    """Take the values out of the message and add those of this machine."""
    values = defaultdict(str, {key: it for key, it in match.groupdict().items() if it})
    active = facts.active
    if component := values["component"]:
        values["library"] = "cudart" if component == "CUDA" else component.lower()
    if component or "sonames" in match.groupdict():
        numbers = re.findall(r"\.so\.([\d.]+)", f".so{values['sonames']}")
        values["soname"] = number_meant(facts, values["library"], numbers)
    if values["soname"]:
        one = values["library"], values["soname"]
        values["cuda"] = releases.get(one) or release_with(facts, one, below=_below(match))
    values["together"] = next(iter(releases.values()), "")
    if values["gpu"]:
        values["code"] = gpu_code(facts, values["gpu"])
    if refused := values["gcc_refused"]:
        values["gcc"] = str(int(refused) - 1)
    if refused := values["clang_refused"]:
        values["clang"] = str(int(refused) - 1)
    if _IMPORTS in match.string and (own := _other_pytorch(facts, values["cuda"])):
        values["anew"] = (
            f"; PyTorch here is for CUDA {own}: an extension of it has to be built for that, or"
            " installed anew"
        )
    if part := named(values):
        values["without"] = lacking(facts, part, values["cuda"])
    values["newest"], values["reach"] = reach(facts, values["number"])
    values["driver"] = facts.needs.driver or "not found"
    values["active"] = str(active.version) if active and active.version else "none"
    values["gcc_here"] = str(facts.needs.gcc[0]) if facts.needs.gcc else "none"
    values["cuda_home"] = facts.get("CUDA_HOME") or "not set"
    values["unset"] = "" if facts.get("LD_LIBRARY_PATH") else ", which is not set in this shell,"
    values["visible"] = facts.variables.get("CUDA_VISIBLE_DEVICES", "not set") or "empty"
    values["cc_here"] = ", ".join(facts.needs.cc) or "unknown"
    return values


def _other_pytorch(facts: Facts, cuda: str) -> str | None:
    """Return PyTorch's CUDA, None if that, or another framework's here, is the given one."""
    found = {one.name: one.cuda for one in facts.resolution.frameworks if one.cuda}
    if not cuda or any(agree(Version(own), Version(cuda)) for own in found.values()):
        return None
    return found.get("torch")


def _fill(text: str, values: Mapping[str, str]) -> str:
    """Put values in for `{names}`; `${NAME}` is a shell's."""
    return _NAME.sub(lambda match: values[match[1]], text)


def _spell(fix: str, facts: Facts, part: Part | None) -> str:
    """Spell out what follows an `@` for this shell and machine."""
    if not fix.startswith("@"):
        return fix
    what, _, value = fix[1:].partition(" ")
    if part and what in FOR_PART:
        return FOR_PART[what](facts, value, part)
    return SPELLED[what](facts, value)

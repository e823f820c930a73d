"""The rule about adopted toolkits in whose place another release was put since."""

from __future__ import annotations

from collections.abc import Iterator

from cudaswitch.doctor.model import Facts, Found, Rule
from cudaswitch.doctor.spelling import word


def _upgraded(facts: Facts) -> Iterator[Found]:
    for kit, version in facts.upgraded.items():
        evidence = f"`{kit.name}` was adopted, and `{kit.path}` is {version} now"
        yield Found(evidence, f"cudaswitch adopt {word(facts, kit.path)}")


RULES = (
    Rule(
        "CS065",
        "warning",
        "An adopted toolkit became another release",
        "it was upgraded in its place, and keeps its old number here until it is adopted again:"
        " what asks for that gets the other release",
        ("z-enemy/z-enemy#2", "h2oai/h2o4gpu#550"),
        _upgraded,
    ),
)

"""The rule about adopted toolkits that were upgraded in place."""

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
        "An adopted toolkit was upgraded in place",
        "its folder holds another release now, but it keeps its old number until it is adopted"
        " again: requests for that number get the other release",
        ("rbgirshick/py-faster-rcnn#306", "torch/cutorch#479"),
        _upgraded,
    ),
)

"""Rules about stores and their toolkits: gone, without a record, upgraded in place."""

from __future__ import annotations

import os
from collections.abc import Iterator

from cudaswitch.doctor.model import Facts, Found, Rule
from cudaswitch.doctor.spelling import REPAIR, aside, removing, setting, word


def _lost(facts: Facts) -> Iterator[Found]:
    for kit, pins in facts.lost.items():
        adopted = f"`{kit.name}` was adopted, and its folder is gone"
        evidence = f"`{kit.name}` is based on `{kit.base}`, which is gone" if kit.base else adopted
        evidence += f"; pinned by {', '.join(pins)}" if pins else ""
        yield Found(evidence, removing(facts, kit))


def _unrecorded(facts: Facts) -> Iterator[Found]:
    if facts.unrecorded:
        yield Found(f"{', '.join(facts.unrecorded)}: no record that can be read", REPAIR)


def _away(facts: Facts) -> Iterator[Found]:
    if facts.store_link:
        link, target = facts.store_link
        begin = "mount its disk, or start an empty store with this command"
        evidence = f"your own, `{link}`, is a link to `{target}`, which does not exist; {begin}"
        yield Found(evidence, aside(facts, link))
    if facts.away:
        stores, others, variable, missed = facts.away
        evidence = f"{', '.join(f'`{at}`' for at in stores)}, named by {variable or '`stores`'}"
        if missed:
            evidence += f"; {', '.join(missed)} {'are' if missed[1:] else 'is'} based on it"
        fix = setting(facts, variable, os.pathsep.join(others))
        if not variable:
            words = ["set", "stores", *(word(facts, at) for at in others)]
            fix = f"cudaswitch config {' '.join(words) if others else 'unset stores'}"
        yield Found(f"{evidence}; if no disk of it is to be mounted, leave it out", fix)


def _upgraded(facts: Facts) -> Iterator[Found]:
    for kit, version in facts.upgraded.items():
        evidence = f"`{kit.name}` was adopted, and `{kit.path}` is {version} now"
        yield Found(evidence, f"cudaswitch adopt {word(facts, kit.path)}")


RULES = (
    Rule(
        "CS062",
        "warning",
        "A toolkit is gone",
        "its folder, or the toolkit that it is based on, was removed behind our back; a pin that"
        " only it answers changes nothing any more",
        ("NVIDIA/nvidia-container-toolkit#1088", "NVIDIA/libnvidia-container#117"),
        _lost,
    ),
    Rule(
        "CS063",
        "warning",
        "A store of toolkits is not there",
        "its disk is not mounted, or its name is mistyped: what only it has counts as not"
        " installed, and would be downloaded again",
        ("aws/aws-parallelcluster#206", "GoogleCloudPlatform/cluster-toolkit#1185"),
        _away,
    ),
    Rule(
        "CS064",
        "error",
        "A toolkit's record is lost or damaged",
        "the toolkit counts as not installed, and nothing else can be installed under its name",
        ("conda/conda#10332", "mamba-org/mamba#2551"),
        _unrecorded,
    ),
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

"""What is wrong here: rules in order, facts in, findings out."""

from __future__ import annotations

from cudaswitch.doctor import building, environment, machine, pins, shell, startup, stores
from cudaswitch.doctor.model import Facts, Finding
from cudaswitch.doctor.spelling import Switch, spell, together

RULES = sorted(
    (
        *(*shell.RULES, *building.RULES, *environment.RULES, *machine.RULES),
        *(*stores.RULES, *pins.RULES, *startup.RULES),
    ),
    key=lambda rule: rule.code,
)
"""All of them, by code."""


def examine(facts: Facts) -> list[Finding]:
    """Return what the rules find, errors first; their commands can be run in that order.

    Commands that switch come last: what others set is worked out from what this shell has now.
    """
    pairs = [(rule, one) for rule in RULES for one in rule.check(facts)]
    # If the store is a dangling link, no other command can write to it.
    first = "CS063" if facts.store_link else None
    pairs.sort(
        key=lambda pair: (
            pair[0].code != first,
            isinstance(pair[1].mend, Switch),
            pair[0].severity != "error",
        )
    )
    found = together([one for _, one in pairs])
    lists: dict[str, list[str]] = {}
    return [
        Finding(rule, one, spell(facts, one.mend, lists))
        for (rule, _), one in zip(pairs, found, strict=True)
    ]

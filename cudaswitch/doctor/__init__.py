"""What is wrong here: rules in order, facts in, findings out."""

from __future__ import annotations

from cudaswitch.doctor import building, environment, machine, shell, startup
from cudaswitch.doctor.model import Facts, Finding

RULES = (*shell.RULES, *building.RULES, *environment.RULES, *machine.RULES, *startup.RULES)
"""All of them, by code."""


def examine(facts: Facts) -> list[Finding]:
    """Return what the rules find, errors first."""
    found = [Finding(rule, one) for rule in RULES for one in rule.check(facts)]
    return sorted(found, key=lambda finding: finding.rule.severity != "error")

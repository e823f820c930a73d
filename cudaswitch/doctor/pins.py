"""Rules about pins: the hooks of environments, and what is asked for and has no answer."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

from cudaswitch.doctor.machine import taken_from_smi
from cudaswitch.doctor.model import Facts, Found, Hook, Repin, Rule
from cudaswitch.doctor.spelling import (
    aside,
    by_hand,
    chain,
    copy,
    installing,
    newest_asked,
    pin_command,
    removing,
    repairing,
    replacing,
    same_release,
    use_command,
    word,
)
from cudaswitch.errors import NotInstalledError, printable
from cudaswitch.versions import Request

_COMMAND = re.compile(
    r"(?:cudaswitch (?:install|remove|verify) [^;]+|chmod u\+r .+)$|chmod o-w .+(?=, or )"
)
"""What hints begin with if they are commands that mend; others are advice."""
_TRUSTED = re.compile(r"if you trust it, run cudaswitch use (.+), or set CUDASWITCH_VERSION=")
_LOST_ALIAS = re.compile(r"there is no alias `(.+?)`")
_ANOTHERS = "CUDASWITCH_VERSION"
"""What hints name for files that only another user may change."""


def _pin_again(facts: Facts, hook: Hook, evidence: str) -> Found:
    return Found(evidence, pin_command(facts, hook), Repin(str(hook.environment.prefix)))


def _gone(facts: Facts) -> Iterator[Found]:
    for hook in facts.hooks:
        if hook.gone:
            text = f"the hooks of `{hook.environment.prefix}` lead to `{hook.gone}`"
            yield _pin_again(facts, hook, f"{text}, which is not there")


def _behind(facts: Facts) -> Iterator[Found]:
    for hook in facts.hooks:
        text = f"`{hook.environment.prefix}` is pinned to {hook.request}"
        if hook.behind:
            yield _pin_again(facts, hook, f"{text}, its hooks lack `{hook.behind}`")
        elif hook.changed:
            told = f"its hooks were written with another `{hook.changed[0]}`"
            yield _pin_again(facts, hook, f"{text}, {told}")
        elif hook.old:
            text = f"the hooks of `{hook.environment.prefix}` are of an earlier cudaswitch"
            yield _pin_again(facts, hook, f"{text}, as `{hook.old[0]}` shows")


def _missing(facts: Facts) -> Iterator[Found]:
    for hook in facts.hooks:
        if hook.missing:
            yield _pin_again(facts, hook, f"`{hook.missing[0]}` is not there")
        if hook.closed:
            fix = chain(facts, aside(facts, hook.closed), pin_command(facts, hook))
            yield Found(f"`{hook.closed}` cannot be read", fix)


def _edited(facts: Facts) -> Iterator[Found]:
    for hook in facts.hooks:
        if hook.edited:
            yield _pin_again(facts, hook, f"`{hook.edited[0]}` is not as it was written")


def _unhooked(facts: Facts) -> Iterator[Found]:
    for hook in facts.hooks:
        if hook.unhooked:
            yield _pin_again(facts, hook, f"`{hook.unhooked[0]}` does not run the hook")
        for file in hook.halved:
            ours = "-e '/^# >>> cudaswitch/d' -e '/^# <<< cudaswitch/d' -e '/etc.cudaswitch.on/d'"
            out = (copy(facts, file), f"sed -i --follow-symlinks {ours} {word(facts, file)}")
            yield Found(
                f"`{file}` has only one of cudaswitch's two markers",
                chain(facts, *out, pin_command(facts, hook)),
            )


def _refused(facts: Facts) -> Iterator[Found]:
    for hook in facts.hooks:
        if not hook.refused:
            continue
        evidence, fix = hook.refused.message, pin_command(facts, hook)
        near = same_release(facts, hook.request) if hook.request else None
        if hook.request and (repair := repairing(facts, hook.request)):
            fix = repair
        elif hook.request and near:
            fix = pin_command(facts, hook._replace(request=hook.request._replace(text=near)))
        elif lost := _LOST_ALIAS.match(evidence):
            fix = _named_again(facts, hook, lost[1])
        elif again := replacing(facts, hook, facts.lost):
            fix = again
        elif install := installing(facts, hook):
            fix = chain(facts, install, fix)
        elif hook.automatic:
            evidence += f"; {hook.refused.hint}"
            fix = f"cudaswitch resolve -p {word(facts, str(hook.environment.prefix))}"
        yield Found(evidence, fix)


def _named_again(facts: Facts, hook: Hook, alias: str) -> str:
    """Define the alias as before, if the hooks tell; otherwise unpin, as the pin means nothing."""
    kept = hook.environment.want_kept()
    kits = [kit for kit in facts.installed if kept and kit.path == kept.home]
    if not kits:
        return pin_command(facts, hook._replace(request=None))
    again = f"cudaswitch alias {word(facts, alias)} {word(facts, kits[0].name)}"
    return chain(facts, again, pin_command(facts, hook))


def _unanswered(facts: Facts) -> Iterator[Found]:
    """What decides here cannot be read, or is not installed; other rules know some cases better.

    The hint of the refusal is the fix if it is a command, otherwise a part of the evidence.
    """
    error = facts.unanswered
    if error is None or any(
        hook.refused and hook.refused.message == error.message for hook in facts.hooks
    ):
        return
    if any(f" {who.strip('`')}" in error.message for who, _ in taken_from_smi(facts)):
        return
    asked = next(iter(facts.wanted.values()), "")
    if isinstance(error, NotInstalledError) and (repair := repairing(facts, Request(asked))):
        yield Found(error.message, repair)
        return
    hint = error.hint or ""
    command = _COMMAND.match(hint)
    fix = command[0] if command else _asked_otherwise(facts, error.message, hint)
    for kit in facts.lost:
        # `removing` reinstalls it instead if a pin needs it.
        if fix == f"cudaswitch remove --force {kit.name}":
            fix = removing(facts, kit)
    yield Found(error.message if fix == hint else f"{error.message}; {hint}", fix)


def _asked_otherwise(facts: Facts, message: str, hint: str) -> str:
    """Spell the command that lets another request decide, as what decides now has no answer."""
    place = facts.asking
    if trusted := _TRUSTED.match(hint):
        [request] = shlex.split(trusted[1])
        return use_command(facts, "system" if request == "VERSION" else request)
    if _ANOTHERS in hint:
        return newest_asked(facts, otherwise="system")
    if place is None or place == "CUDASWITCH_VERSION":
        return newest_asked(facts, otherwise="")
    if hint == "remove it":
        return aside(facts, place)
    line = re.search(rf"{re.escape(printable(place))}:([0-9]+)", message)
    return by_hand(facts, place, int(line[1]) if line else 1)


RULES = (
    Rule(
        "CS070",
        "error",
        "A pinned environment's hooks lead to a toolkit that is gone",
        "activating it changes nothing",
        ("NVIDIA/nvidia-container-toolkit#1088", "conda-forge/nvcc-feedstock#11"),
        _gone,
    ),
    Rule(
        "CS071",
        "warning",
        "A pinned environment's hooks are behind",
        "a pin is a request: what answers it now, or how this cudaswitch writes it, is not what the"
        " hooks hold",
        ("tensorflow/tensorflow#60183", "prefix-dev/pixi#2145"),
        _behind,
    ),
    Rule(
        "CS072",
        "error",
        "A pinned environment lacks a part of its hooks",
        "activating it does nothing, or leaving it does not undo",
        ("tensorflow/tensorflow#60183", "talmolab/sleap#1496"),
        _missing,
    ),
    Rule(
        "CS073",
        "warning",
        "A pinned environment's hooks were edited",
        "they no longer undo exactly what they do, and the next pin overwrites the edit",
        ("tensorflow/tensorflow#60183", "conda-forge/cudatoolkit-dev-feedstock#24"),
        _edited,
    ),
    Rule(
        "CS074",
        "error",
        "A pinned virtualenv's activate script lacks lines of its hook",
        "creating the environment again, or another tool, has overwritten the script",
        ("pypa/virtualenv#707", "pypa/virtualenv#2078", "bgribble/mfp#221"),
        _unhooked,
    ),
    Rule(
        "CS075",
        "error",
        "An environment's pin has no answer",
        "what it asks for is not installed, cannot run here, or cannot be read",
        ("tensorflow/tensorflow#22441", "run-ai/genv#11"),
        _refused,
    ),
    Rule(
        "CS079",
        "error",
        "What is asked for here has no answer",
        "commands and shims refuse, and no weaker request steps in for it; shells switch nothing,"
        " or follow the weaker one where CUDASWITCH_VERSION has no answer",
        ("tensorflow/tensorflow#22441", "run-ai/genv#11"),
        _unanswered,
    ),
)

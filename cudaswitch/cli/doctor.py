"""The command that finds what is wrong: doctor."""

from __future__ import annotations

import os
import select
import stat
import sys

import click

from cudaswitch import talk
from cudaswitch.cli import output
from cudaswitch.doctor import examine
from cudaswitch.doctor.fixing import steps
from cudaswitch.doctor.gathering import gather
from cudaswitch.doctor.messages import explain
from cudaswitch.doctor.model import Finding
from cudaswitch.doctor.pasted import read
from cudaswitch.errors import CudaswitchError

_PATIENCE = 2.0
"""Seconds that a pipe may take until its first byte: one that nobody writes to never ends."""


@click.command(
    epilog=output.examples(
        "cudaswitch doctor", "cudaswitch doctor --fix", "cudaswitch doctor < error.txt"
    )
)
@output.json_option
@click.option("--fix", is_flag=True, help="Mend what is safe to mend, after showing it.")
@click.option("--yes", is_flag=True, help="With --fix: do not ask.")
@click.pass_context
def doctor(ctx: click.Context, as_json: bool, fix: bool, yes: bool) -> None:
    """Tell what is wrong with this shell, environment and machine, and what mends it.

    With an error message on standard input, explains that; in a loop that reads its own input,
    call it with < /dev/null. Exits with 1 on findings.
    """
    if fix and as_json:
        raise click.UsageError("choose one of --fix and --json")
    if yes and not fix:
        raise click.UsageError("--yes goes with --fix")
    given = _given()
    if fix and given and stat.S_ISREG(given.st_mode) and given.st_size:
        talk.say("--fix reads no message: without it, `doctor` explains what is on standard input")
    pasted = "" if fix else _pasted()
    facts = gather(os.environ)
    findings = examine(facts)
    if pasted.strip():
        explained = explain(pasted, facts, findings)
        if not explained:
            talk.say("no message that is known here was found in what was pasted")
        findings = explained or findings
    if as_json:
        talk.data({"findings": [finding.to_json() for finding in findings]})
    else:
        _tell(findings)
    if fix:
        _mend(findings, yes)
        findings = examine(gather(os.environ))
    if findings:
        ctx.exit(1)


def _given() -> os.stat_result | None:
    """Return what is known of standard input, None where there is none."""
    try:
        return os.fstat(sys.stdin.fileno())
    except (AttributeError, OSError, ValueError):
        return None


def _pasted() -> str:
    """Read standard input where somebody wrote something to it; never wait for nobody."""
    given = _given()
    if given is None or stat.S_ISCHR(given.st_mode):  # a terminal, /dev/null
        return ""
    handle = sys.stdin.fileno()
    if not stat.S_ISREG(given.st_mode) and not select.select([handle], [], [], _PATIENCE)[0]:
        talk.say("nothing came on standard input")
        return ""
    with os.fdopen(os.dup(handle), "rb") as file:
        pasted = read(file)
    if pasted.left_out:
        talk.say(f"the beginning and the end are read, not the {pasted.left_out} lines between")
    return pasted.text


def _tell(findings: list[Finding]) -> None:
    if not findings:
        talk.say("nothing is wrong that is known here")
        return
    for finding in findings:
        rule = finding.rule
        talk.line(f"{rule.code} {rule.severity}: {rule.title}")
        talk.line(f"  found  {finding.found.evidence}")
        talk.line(f"  cause  {rule.cause}")
        talk.line(f"  fix    {finding.fix}")
    talk.say(talk.counted(len(findings), "finding"))


def _mend(findings: list[Finding], yes: bool) -> None:
    """Do what is safe, each after it was shown and agreed to; name what is left to the person."""
    done = set()
    for finding in findings:
        safe = finding.found.safe
        if safe is None or repr(safe) in done:
            continue
        done.add(repr(safe))
        try:
            step = steps(safe)
            for line in step.shown:
                talk.show(line)
            if _agreed(finding, yes):
                talk.say(step.do())
        except CudaswitchError as error:
            talk.caution(error)
    left = [finding for finding in findings if finding.found.safe is None]
    if left:
        talk.say("in your shell, or as somebody who may:")
        for finding in left:
            talk.hint(finding.fix)


def _agreed(finding: Finding, yes: bool) -> bool:
    if yes:
        return True
    if not sys.stdin.isatty():
        talk.say(f"{finding.rule.code} is not mended: nobody agreed")
        talk.hint("cudaswitch doctor --fix --yes")
        return False
    return click.confirm("Do it?", default=False, err=True)

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
"""Seconds to wait for a pipe's first byte: a pipe that nobody writes to never ends."""


@click.command(
    epilog=output.examples(
        "cudaswitch doctor", "cudaswitch doctor --fix", "cudaswitch doctor < error.txt"
    )
)
@output.json_option
@click.option("--fix", is_flag=True, help="Fix what is safe to fix, after showing the change.")
@click.option("--yes", is_flag=True, help="With --fix: do not ask for confirmation.")
@click.pass_context
def doctor(ctx: click.Context, as_json: bool, fix: bool, yes: bool) -> None:
    """Show what is wrong with this shell, environment and machine, and how to fix it.

    Given an error message on standard input, explains it; in a loop that reads standard input,
    run it with < /dev/null. Exits with 1 if it finds anything.
    """
    if fix and as_json:
        raise click.UsageError("--fix and --json cannot be used together")
    if yes and not fix:
        raise click.UsageError("--yes requires --fix")
    given = os.fstat(sys.stdin.fileno())
    if fix and stat.S_ISREG(given.st_mode) and given.st_size:
        talk.say("--fix ignores standard input: run `doctor` without it to explain a message")
    pasted = "" if fix else _pasted(given)
    facts = gather(os.environ)
    findings = examine(facts)
    if pasted.strip():
        explained = explain(pasted, facts, findings)
        if not explained:
            talk.say("no known error message found on standard input")
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


def _pasted(given: os.stat_result) -> str:
    """Read standard input if something is written to it; do not wait if nobody writes."""
    if stat.S_ISCHR(given.st_mode):  # a terminal, /dev/null
        return ""
    handle = sys.stdin.fileno()
    if not stat.S_ISREG(given.st_mode) and not select.select([handle], [], [], _PATIENCE)[0]:
        talk.say("nothing was read from standard input")
        return ""
    with os.fdopen(os.dup(handle), "rb") as file:
        pasted = read(file)
    if pasted.left_out:
        talk.say(f"read the beginning and the end, and skipped {pasted.left_out} lines in between")
    return pasted.text


def _tell(findings: list[Finding]) -> None:
    if not findings:
        talk.say("no known problems found")
        return
    for finding in findings:
        rule = finding.rule
        talk.line(f"{rule.code} {rule.severity}: {rule.title}")
        talk.line(f"  found  {finding.found.evidence}")
        talk.line(f"  cause  {rule.cause}")
        talk.line(f"  fix    {finding.fix}")
    talk.say(talk.counted(len(findings), "finding"))


def _mend(findings: list[Finding], yes: bool) -> None:
    """Apply safe fixes, each after it was shown and confirmed; name what is left to the user."""
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
    left = dict.fromkeys(finding.fix for finding in findings if finding.found.safe is None)
    if left:
        talk.say("the rest is for you to fix, in your shell or with the necessary permissions:")
        for command in left:
            talk.hint(command)


def _agreed(finding: Finding, yes: bool) -> bool:
    if yes:
        return True
    if not sys.stdin.isatty():
        talk.say(f"{finding.rule.code} was not fixed: it needs confirmation")
        talk.hint("cudaswitch doctor --fix --yes")
        return False
    return click.confirm("Apply this fix?", default=False, err=True)

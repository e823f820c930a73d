"""A resolution as text for people."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator

from cudaswitch.resolver.facts import Reason, Resolution, ResolvedFramework

_START = re.compile(r"^( *(?:- |\[\d+\] )?)")
"""What stands before the text of a line: blanks, a bullet, the number of a source."""


def explain(resolution: Resolution, width: int | None = None) -> str:
    """Write the choice, the chain of reasons, the rejected, the next step, and the sources.

    Each reason ends with the number of its source; each source is written once. Lines are broken
    at `width`, for a terminal; without it, never, for programs.
    """
    sources = {
        source: f"[{number}]"
        for number, source in enumerate(
            dict.fromkeys(reason.source for reason in resolution.reasons if reason.source), 1
        )
    }
    lines = [_choice(resolution)]
    lines += [f"  {_built_for(framework)}" for framework in resolution.frameworks]
    if resolution.reasons:
        lines += ["", "because", *_because(resolution, sources)]
    if resolution.rejected:
        lines += ["", "not chosen"]
        lines += [f"  - {rejected.toolkit} {rejected.why}" for rejected in resolution.rejected]
    if resolution.hint:
        lines += ["", f"{_purpose(resolution)}: {resolution.hint}"]
    if sources:
        lines += ["", "sources"]
        lines += [f"  {mark} {source}" for source, mark in sources.items()]
    return "\n".join(lines if width is None else _broken(lines, width))


def _choice(resolution: Resolution) -> str:
    if not resolution.frameworks:
        return "no framework found: nothing to choose for"
    if not resolution.runs:
        alone = all(framework.runs for framework in resolution.frameworks)
        return "cannot run here together: no toolkit serves all" if alone else "cannot run here"
    if resolution.cuda is None:
        known = all(framework.known for framework in resolution.frameworks)
        return "needs no CUDA" if known else "the CUDA it needs is unknown"
    needs = f"CUDA {resolution.cuda}" + (
        f" and cuDNN {resolution.cudnn}" if resolution.cudnn else ""
    )
    proviso = f", {resolution.proviso}" if resolution.proviso else ""
    if resolution.bundled:
        missing = f"CUDA {resolution.cuda} (not installed)"
        builds = resolution.toolkit or resolution.compiler or missing
        builds += ", which lacks nvcc" if "nvcc" in resolution.absent else ""
        return f"runs on its own {resolution.own or needs}{proviso}; to build extensions: {builds}"
    return f"needs {needs}: {resolution.toolkit or 'not installed'}{proviso}"


def _purpose(resolution: Resolution) -> str:
    """Say what the hint is for: the next command, or a thing to know."""
    # `eval` does what `use` does, in shells without it.
    if not (resolution.hint or "").startswith(("cudaswitch ", "eval ")):
        return "hint"
    return "to build extensions" if resolution.bundled and not resolution.proviso else "next"


def _built_for(framework: ResolvedFramework) -> str:
    asks = f"CUDA {framework.cuda}" if framework.cuda else "no CUDA"
    asks = asks if framework.known else "not known"
    if framework.cudnn:
        asks += f", cuDNN {framework.cudnn}"
    return f"{framework.label}: {asks}"


def _because(resolution: Resolution, sources: dict[str, str]) -> Iterator[str]:
    """Write the reasons in their order, each run of one framework's below its name."""
    labels = [it.label for it in resolution.frameworks]
    last = None
    for reason in resolution.reasons:
        label = next((it for it in labels if reason.text.startswith(f"{it}: ")), None)
        text = reason.text if label is None else reason.text[len(label) + 2 :]
        if label and label != last:
            yield f"  {label}"
        last = label
        yield f"  {'  ' if label else ''}- {text}{_mark(reason, sources)}"


def _mark(reason: Reason, sources: dict[str, str]) -> str:
    return f" {sources[reason.source]}" if reason.source else ""


def _broken(lines: list[str], width: int) -> Iterator[str]:
    """Break lines between words, the rest indented to the text of the first."""
    for line in lines:
        _, start, text = _START.split(line)
        yield from textwrap.wrap(
            text,
            width,
            initial_indent=start,
            subsequent_indent=" " * len(start),
            break_long_words=False,
            break_on_hyphens=False,
        ) or [line]

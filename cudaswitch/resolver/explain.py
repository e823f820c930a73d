"""A resolution as text for people."""

from __future__ import annotations

from cudaswitch.resolver.facts import Resolution


def explain(resolution: Resolution) -> str:
    """Write the choice, the chain of reasons with their sources, the rejected and the next step."""
    lines = [_choice(resolution)]
    for framework in resolution.frameworks:
        asks = f"CUDA {framework.cuda}" if framework.cuda else "no CUDA"
        asks = asks if framework.known else "not known"
        if framework.cudnn:
            asks += f", cuDNN {framework.cudnn}"
        lines.append(f"  {framework.title} {framework.version}: {asks}  [{framework.source}]")
    if resolution.reasons:
        lines += ["", "because"]
        lines += [
            f"  - {reason.text}" + (f"  [{reason.source}]" if reason.source else "")
            for reason in resolution.reasons
        ]
    if resolution.rejected:
        lines += ["", "not chosen"]
        lines += [f"  - {rejected.toolkit} {rejected.why}" for rejected in resolution.rejected]
    if resolution.hint:
        lines += ["", f"next: {resolution.hint}"]
    return "\n".join(lines)


def _choice(resolution: Resolution) -> str:
    if not resolution.frameworks:
        return "no framework found: nothing to choose for"
    if not resolution.runs:
        return "cannot run here"
    if resolution.cuda is None:
        known = all(framework.known for framework in resolution.frameworks)
        return "needs no CUDA" if known else "which CUDA it needs is not known"
    needs = f"CUDA {resolution.cuda}" + (
        f" and cuDNN {resolution.cudnn}" if resolution.cudnn else ""
    )
    if resolution.bundled:
        builds = resolution.toolkit or f"CUDA {resolution.cuda} (not installed)"
        return f"runs on its own {needs}; to build extensions: {builds}"
    return f"needs {needs}: {resolution.toolkit or 'not installed'}"

"""Frameworks that have no CUDA of their own, and use that of another one or the environment."""

from __future__ import annotations

from collections.abc import Sequence

from cudaswitch.compat.frameworks import frameworks
from cudaswitch.resolver.facts import Carried, Claim, Facts, FoundFramework, Reason
from cudaswitch.resolver.needs import Need, cpu_build, cpu_need, need_of, without_cuda
from cudaswitch.resolver.own import finds_by_home, left_out
from cudaswitch.resolver.releases import agree
from cudaswitch.toolkit import Toolkit
from cudaswitch.versions import Version


def follow(found: FoundFramework, leaders: Sequence[Need], facts: Facts) -> Need:
    """Work out the need of a framework that uses the CUDA of another, or the environment's."""
    framework = found.framework
    if need := cpu_need(found, facts.os, firm=True):
        return need
    stated = [claim for claim in found.claims if claim.gives == "cuda"]
    leader = next((need for need in leaders if need.framework.name == framework.follows), None)
    if leader:
        reasons = [Reason(f"it uses what {leader.label} uses", found.source)]
        if leader.cuda and stated and not _built_for(leader.cuda, found, _cudas(stated)):
            built = " or ".join(sorted({claim.value for claim in stated}))
            text = f"it is built for CUDA {built}, and {leader.label} for {leader.cuda}"
            reasons.append(Reason(f"{text}: install the two for one CUDA", stated[0].source))
        return Need(found, leader.cuda, leader.own, tuple(reasons), known=leader.known)
    if framework.follows == "environment":
        return _of_environment(found, facts, alone=not any(it.cuda for it in leaders))
    if len(set(_cudas(stated))) == 1:
        return need_of(found, facts)
    title = frameworks()[framework.follows].title if framework.follows else ""
    return without_cuda(
        found, Reason(f"it uses the CUDA of {title}, which is not here", found.source)
    )


def _of_environment(found: FoundFramework, facts: Facts, *, alone: bool) -> Need:
    """Work out the need of one that uses what there is; if it is not `alone`, others decide."""
    rule = found.framework.own_cuda_of(found.release)
    for part in facts.carried:
        shown_by = "cuda" if part.kind == "conda" else rule.shown_by if rule else None
        if part.component == shown_by and part.cuda:
            reason = Reason(f"it uses {part.name} {part.version} of the environment", part.source)
            # Two parts name the release; the third is that of the package that brings it.
            cuda = Version(Version(part.cuda).minor)
            rest = left_out(found, cuda, facts) if part.kind == "dist" else ()
            return Need(found, cuda, own=True, reasons=(reason,), rest=rest)
    text = "it finds no CUDA in the environment"
    for part in facts.carried if alone else ():
        if asked := _asked_for(found, part):
            reason = Reason(f"{text}; by {part.name} it takes a toolkit {asked}", part.source)
            by_home = finds_by_home(found, asked, facts)
            return Need(found, asked, own=False, reasons=(reason,), by_home=by_home)
    plain = cpu_build(found, facts.os, firm=False)
    return without_cuda(found, Reason(text, found.source), plain.hint if plain else None)


def _asked_for(found: FoundFramework, part: Carried) -> Version | None:
    """Tell which toolkit a framework takes by a package that is not itself CUDA."""
    rule, takes = found.framework.own_cuda_of(found.release), found.framework.takes
    if part.cuda and part.component == "release":
        cuda = Version(Version(part.cuda).minor)
        return cuda if takes is None or takes.accepts(cuda) else None
    if part.cuda and rule and part.component == rule.toolkit_by:
        return Version(str(Version(part.cuda).major))
    return None


def hint_of(need: Need, toolkits: Sequence[Toolkit], facts: Facts) -> str | None:
    """Write what to do instead, naming the newest toolkit here that the framework takes."""
    takes = need.framework.takes
    if takes is None or need.hint is None:
        return need.hint
    here = [it for it in toolkits if it.platform == facts.platform and takes.accepts(it.version)]
    best = max(here, key=lambda it: it.version, default=None)
    such = f"use {best.name}" if best else f"install {takes.newest}"
    return need.hint.format(takes=takes, such=such)


def _built_for(cuda: Version, found: FoundFramework, stated: Sequence[Version]) -> bool:
    """Tell whether one that follows another loads beside a build of the other for `cuda`."""
    since, release = found.framework.by_major, found.release
    by_major = since and release and release >= since
    return any(it.major == cuda.major if by_major else agree(cuda, it) for it in stated)


def _cudas(claims: Sequence[Claim]) -> list[Version]:
    return [Version(claim.value) for claim in claims]

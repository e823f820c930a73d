"""The CUDA that an environment brings for a framework, and what keeps the framework from it."""

from __future__ import annotations

import shlex

from cudaswitch.compat.frameworks import frameworks, within
from cudaswitch.compat.tables import cite
from cudaswitch.namedtuples import NamedTuple
from cudaswitch.resolver.facts import Carried, Facts, FoundFramework, Reason
from cudaswitch.resolver.names import linked, serves
from cudaswitch.resolver.releases import release_of
from cudaswitch.versions import Version


class Lack(NamedTuple):
    """What keeps a framework from the CUDA that its environment brings."""

    reason: Reason
    once: str
    """What has to be so for it to run."""
    mend: str
    """What makes it so."""


def own_cuda(
    found: FoundFramework, cuda: Version, cudnn: Version | None, facts: Facts
) -> tuple[bool, tuple[Carried, ...], Reason]:
    """Tell whether the framework's CUDA is inside the environment, and in which packages."""
    if found.origin == "conda":
        text = "as a conda package it uses the CUDA of its prefix"
        return True, (), Reason(text, found.source)
    framework, carried = frameworks()[found.name], facts.carried
    rule = framework.own_cuda_of(release_of(found.version))
    if rule and framework.foreign(found.version):
        rule = None
    if rule and rule.pip == "always":
        return True, (), Reason("its wheels bring their own CUDA", cite(rule))
    if rule and rule.beside and not _with_cuda(rule.beside, facts):
        rule = None
    half: tuple[Carried, ...] = ()
    links = linked(framework)
    # Wheels find those beside them before anything of the prefix.
    for kind in ("dist", "conda") if rule else ("conda",):
        shown_by = rule.shown_by if rule and kind == "dist" else "cuda"
        parts = _serving(kind, shown_by, cuda, cudnn, carried, links)
        if parts:
            shown = " and ".join(f"{part.name} {part.version}" for part in parts)
            if rule and kind == "dist" and rule.loaded_by:
                shown += f", which it finds once {rule.loaded_by} has loaded them"
            return True, parts, Reason(f"the environment brings {shown}", parts[0].source)
        half = half or _serving(kind, shown_by, cuda, None, carried, links)
    if half and cudnn:
        text = f"the environment brings {half[0].name} {half[0].version}, and no cuDNN"
        return False, (), Reason(f"{text} {cudnn.major} for it", half[0].source)
    if any(part.component == "cuda" for part in carried):
        text = "the CUDA packages in the environment are not the ones that it looks for"
        return False, (), Reason(text, next(p.source for p in carried if p.component == "cuda"))
    return False, (), Reason("it brings no CUDA of its own", found.source)


def _with_cuda(name: str, facts: Facts) -> bool:
    """Tell whether a framework is there, in a build that does not say that it has no CUDA."""
    claims = (it.first("gpu", "cuda") for it in facts.frameworks if it.name == name)
    return any(claim is None or claim.value != "cpu" for claim in claims)


def pinned_wheel(found: FoundFramework) -> str | None:
    """Name the wheel that a framework takes cuDNN from by its own record, if none is inside it."""
    named = [claim.source.rpartition(": ")[2] for claim in found.claims if claim.gives == "cudnn"]
    outside = found.origin == "pip" and all(name.startswith("nvidia-cudnn-") for name in named)
    return named[0] if named and outside else None


def missing(found: FoundFramework, wheel: str) -> Lack:
    """Say that the wheel which a framework takes cuDNN from is not there."""
    text = f"{wheel}, which it takes cuDNN from, is missing"
    mend = f"`pip install {found.dist}=={found.version}`, which brings what is missing"
    return Lack(Reason(text, found.source), f"{wheel} is there", mend)


def too_old(
    serving: tuple[Carried, ...], cuda: Version, cudnn: Version | None, facts: Facts
) -> tuple[list[Reason], Lack | None]:
    """Hold what serves against the releases that a framework was built with.

    A cuDNN of an older minor is refused: `Loaded runtime CuDNN library: 9.1.0 but source was
    compiled with: 9.3.0`. Of CUDA only the major is asked for.
    """
    reasons, lack = [], None
    for part in serving:
        built = cudnn if part.component == "cudnn" else cuda
        here = release_of(part.version)
        if built is None or here is None or Version(here.minor) >= Version(built.minor):
            continue
        text = f"{part.name} {part.version} is older than the {built.minor} that it was built with"
        reasons.append(Reason(text, part.source))
        if part.component == "cudnn":
            wanted = f'"{part.name}>={built.minor},<{built.major + 1}"'
            command = "pip install"
            if part.kind == "conda":
                command = f"{facts.conda} install -p {shlex.quote(str(facts.prefix))}"
            once = f"{part.name} is {built.minor} or newer"
            lack = Lack(reasons[-1], once, f"`{command} {wanted}`")
    return reasons, lack


def unled(found: FoundFramework, serving: tuple[Carried, ...], facts: Facts) -> Lack | None:
    """Say that nothing leads a pip package to the CUDA of its conda prefix, where that is so."""
    rule, release = frameworks()[found.name].prefix_by_path, release_of(found.version)
    conda = any(part.kind == "conda" for part in serving)
    led = facts.lib_on_path or facts.os != "linux"
    if led or not (rule and conda and within(release, rule.since, rule.before)):
        return None
    place, lib = str(facts.prefix), f"{facts.prefix}/lib"
    text = f"it looks in `{lib}` only by LD_LIBRARY_PATH, and nothing puts that folder there"
    value = f"-p {shlex.quote(place)} LD_LIBRARY_PATH={shlex.quote(lib)}"
    mend = f"`conda env config vars set {value}`, then activate it again"
    return Lack(Reason(text, cite(rule)), "LD_LIBRARY_PATH leads there", mend)


def _serving(
    kind: str,
    shown_by: str,
    cuda: Version,
    cudnn: Version | None,
    carried: tuple[Carried, ...],
    links: tuple[str, ...],
) -> tuple[Carried, ...]:
    """Find the carried CUDA, and cuDNN if needed, that serve; empty when one is missing."""
    near = [part for part in carried if part.kind == kind]
    runtime = [
        part
        for part in near
        if part.component == shown_by and part.cuda and serves(Version(part.cuda), cuda, links)
    ]
    if not runtime:
        return ()
    if cudnn is None:
        return (runtime[0],)
    beside = [
        part
        for part in near
        if part.component == "cudnn"
        and (release := release_of(part.version))
        and release.major == cudnn.major
        and (part.cuda is None or Version(part.cuda).major == cuda.major)
    ]
    return (runtime[0], beside[0]) if beside else ()

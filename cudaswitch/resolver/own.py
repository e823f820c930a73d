"""The CUDA that an environment brings for a framework, and what keeps the framework from it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from cudaswitch.compat.architectures import gpu_name
from cudaswitch.compat.cudnn import first_without, unsupported_gpus
from cudaswitch.compat.frameworks import OwnCuda, PrefixByPath, within
from cudaswitch.compat.sonames import is_in
from cudaswitch.compat.tables import cite
from cudaswitch.namedtuples import NamedTuple
from cudaswitch.resolver.facts import Carried, Facts, FoundFramework, Reason
from cudaswitch.resolver.names import linked, serves, together
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
    carried, rule = facts.carried, _looks(found, facts)
    links = linked(found.framework)
    if found.origin == "conda" and _has_brought(found, facts):
        runtime = _runtime("conda", "cuda", cuda, links, carried)
        library = _cudnn(("conda",), cuda, cudnn, carried) if cudnn else None
        # In the channel `pytorch`, cuDNN is inside the framework's package.
        whole = runtime and (library or cudnn is None)
        serving = tuple(part for part in (runtime, library) if part and whole)
        text = "as a conda package it uses the CUDA of its prefix"
        return True, serving, Reason(text, found.source)
    if rule and rule.pip == "always":
        return True, (), Reason("its wheels bring their own CUDA", cite(rule))
    half: Carried | None = None
    # Wheels find the wheels beside them before anything in the prefix.
    for kind in ("dist", "conda") if rule else ("conda",):
        shown_by = rule.shown_by if rule and kind == "dist" else "cuda"
        runtime = _runtime(kind, shown_by, cuda, links, carried)
        # LD_LIBRARY_PATH can lead to the cuDNN of a wheel, too.
        cudnns = (kind, "dist") if facts.os == "linux" else (kind,)
        library = _cudnn(cudnns, cuda, cudnn, carried) if cudnn else None
        if runtime and (library or cudnn is None):
            parts = (runtime, library) if library else (runtime,)
            shown = " and ".join(f"{part.name} {part.version}" for part in parts)
            if rule and rule.loaded_by and any(part.kind == "dist" for part in parts):
                shown += f", which it finds once {rule.loaded_by} has loaded them"
            return True, parts, Reason(f"the environment brings {shown}", runtime.source)
        half = half or runtime
    if half and cudnn:
        text = f"the environment brings {half.name} {half.version}, and no cuDNN"
        return False, (), Reason(f"{text} {cudnn.major} for it", half.source)
    if other := next((part for part in carried if part.component == "cuda"), None):
        text = "the CUDA packages in the environment are not the ones that it looks for"
        return False, (), Reason(text, other.source)
    return False, (), Reason("it brings no CUDA of its own", found.source)


def _has_brought(found: FoundFramework, facts: Facts) -> bool:
    """Tell whether conda has put CUDA beside a framework; some can come without."""
    here = {part.component for part in facts.carried if part.kind == "conda"}
    rule = found.framework.opens_of(found.release)
    return rule is None or not rule.optional_in_conda or bool(here & {"cuda", "library"})


def _looks(found: FoundFramework, facts: Facts) -> OwnCuda | None:
    """Find the rule by which a pip package has its CUDA inside it or in the wheels beside it."""
    rule = found.framework.own_cuda_of(found.release)
    if rule is None or found.framework.foreign(found.version):
        return None
    return rule if rule.beside is None or _with_cuda(rule.beside, facts) else None


def _with_cuda(name: str, facts: Facts) -> bool:
    """Tell whether a framework is there, in a build that does not say that it has no CUDA."""
    claims = (it.first("gpu", "cuda") for it in facts.frameworks if it.name == name)
    return any(claim is None or claim.value != "cpu" for claim in claims)


def left_out(found: FoundFramework, cuda: Version, facts: Facts) -> tuple[str, ...]:
    """List the libraries that the wheels beside a framework do not bring, though it opens them."""
    wheels = [part for part in facts.carried if part.kind == "dist"]
    here = {part.component for part in wheels if _is_for(cuda, part)}
    here |= {"cudart"} if "cuda" in here else set()
    opened = (library for library in _below_home(found) if is_in(library, cuda))
    return tuple(library for library in opened if library not in here)


def finds_by_home(found: FoundFramework, cuda: Version, facts: Facts) -> bool:
    """Tell whether a framework finds a toolkit by CUDA_HOME, without LD_LIBRARY_PATH.

    It takes what the environment brings first, even if that is for another CUDA.
    """
    libraries = _below_home(found)
    near = [part for part in facts.carried if part.component in ("cuda", *libraries)]
    return bool(libraries) and all(_is_for(cuda, part) for part in near)


def _below_home(found: FoundFramework) -> tuple[str, ...]:
    """List the libraries that a framework opens, if it looks for them below CUDA_HOME."""
    rule = found.framework.opens_of(found.release)
    looks = rule and rule.extra and within(found.release, rule.extra_since, None)
    return rule.libraries if rule and looks else ()


def _is_for(cuda: Version, part: Carried) -> bool:
    # The names without a suffix belong to CUDA 13 and later.
    return Version(part.cuda).major == cuda.major if part.cuda else cuda.major >= 13


def incomplete(found: FoundFramework, cuda: Version, rest: Sequence[str], command: str) -> Lack:
    """Say that wheels are missing whose libraries no toolkit here has; the command brings one."""
    rule = found.framework.opens_of(found.release)
    extra = (rule.extra if rule and rule.extra else "").format(major=cuda.major)
    text = f"its wheels lack {together([f'lib{library}' for library in rest])}"
    reason = Reason(text, cite(rule) if rule else found.source)
    spec = f"{found.dist}[{extra}]=={found.version}"
    mend = f'`pip install "{spec}"`, which brings them, or a toolkit: `{command}`'
    return Lack(reason, "its wheels are complete", mend)


def lack_of(
    found: FoundFramework,
    serving: tuple[Carried, ...],
    cuda: Version,
    cudnn: Version | None,
    facts: Facts,
) -> tuple[list[Reason], Lack | None]:
    """Tell what keeps a framework from its own CUDA, and which packages of that are old.

    `serving` are the packages that `own_cuda` found, and `cuda` is the oldest that they may be of.
    """
    pinned = None if serving else _pinned_wheel(found)
    beside = serving or tuple(part for part in facts.carried if part.name == pinned)
    reasons, old = _too_old(beside, cuda, cudnn, facts)
    lack = _missing(found, pinned) if pinned and not beside else old
    lack = lack or _too_new(beside, cudnn, facts)
    return reasons, lack or _unfound(found, serving, facts) or _unled(found, serving, facts)


def _pinned_wheel(found: FoundFramework) -> str | None:
    """Name the wheel that a framework takes cuDNN from by its own record, if none is inside it."""
    named = [claim.source.rpartition(": ")[2] for claim in found.claims if claim.gives == "cudnn"]
    outside = found.origin == "pip" and all(name.startswith("nvidia-cudnn-") for name in named)
    return named[0] if named and outside else None


def _missing(found: FoundFramework, wheel: str) -> Lack:
    """Say that the wheel which a framework takes cuDNN from is not there."""
    text = f"{wheel}, which it takes cuDNN from, is missing"
    mend = f"`pip install {found.dist}=={found.version}`, which brings what is missing"
    return Lack(Reason(text, found.source), f"{wheel} is there", mend)


def _too_old(
    serving: tuple[Carried, ...], cuda: Version, cudnn: Version | None, facts: Facts
) -> tuple[list[Reason], Lack | None]:
    """Compare what serves with the releases that a framework was built with.

    A cuDNN of an older minor is refused: `Loaded runtime CuDNN library: 9.1.0 but source was
    compiled with: 9.3.0`. Of CUDA, only the major has to be the same.
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
            once = f"{part.name} is {built.minor} or newer"
            lack = Lack(reasons[-1], once, _other_cudnn(part, built, facts))
    return reasons, lack


def _too_new(serving: tuple[Carried, ...], cudnn: Version | None, facts: Facts) -> Lack | None:
    """Check the cuDNN that serves against the GPUs: newer releases drop old GPUs.

    pip or conda chose its release; what the framework names is only a lower bound.
    """
    part = next((part for part in serving if part.component == "cudnn"), None)
    here = release_of(part.version) if part else None
    row = unsupported_gpus(here, facts.gpus) if here else None
    if part is None or cudnn is None or row is None:
        return None
    before = first_without(cudnn, facts.gpus)
    if before <= cudnn:  # none that is new enough serves, so it cannot run here at all
        return None
    gpu = gpu_name(max(facts.gpus))
    text = f"{part.name} {part.version} serves {row.cc_min} or newer, not {gpu}"
    once = f"{part.name} is older than {before}"
    return Lack(Reason(text, cite(row)), once, _other_cudnn(part, cudnn, facts))


def _other_cudnn(part: Carried, built: Version, facts: Facts) -> str:
    """Spell what brings a cuDNN that is not older than `built`, and serves a GPU here, if any."""
    before = first_without(built, facts.gpus)
    if before <= built:
        before = Version(str(built.major + 1))
    command = "pip install"
    if part.kind == "conda":
        command = f"{facts.conda} install -p {shlex.quote(str(facts.prefix))}"
    return f'`{command} "{part.name}>={built.minor},<{before}"`'


def _unfound(found: FoundFramework, serving: tuple[Carried, ...], facts: Facts) -> Lack | None:
    """Say that a release does not look for the wheels that are beside it."""
    rule = _looks(found, facts)
    if rule is None or not rule.mended or not any(part.kind == "dist" for part in serving):
        return None
    text = f"it does not look for {serving[0].name} and the other wheels, as {rule.mended} does"
    mend = f'`pip install "{found.dist}=={rule.mended}"`'
    return Lack(Reason(text, cite(rule)), f"it is {rule.mended}", mend)


def _unled(found: FoundFramework, serving: tuple[Carried, ...], facts: Facts) -> Lack | None:
    """Say which folders of a pip package's CUDA are missing in LD_LIBRARY_PATH, if it needs it."""
    rule, sought = _path_rule(found), by_path(found, serving, facts)
    dark = dict.fromkeys(f"`{part.folder}`" for part in sought if not part.led)
    if not dark:
        return None
    they = "those folders" if len(dark) > 1 else "that folder"
    text = f"it looks in {' and '.join(dark)} only by LD_LIBRARY_PATH, and nothing puts {they}"
    value = ":".join(dict.fromkeys(part.folder for part in sought))
    kept = f"-p {shlex.quote(str(facts.prefix))} LD_LIBRARY_PATH={shlex.quote(value)}"
    mend = f"`conda env config vars set {kept}`, then activate it again"
    source = cite(rule) if rule else sought[0].source
    return Lack(Reason(f"{text} there", source), "LD_LIBRARY_PATH leads there", mend)


def by_path(
    found: FoundFramework, serving: tuple[Carried, ...], facts: Facts
) -> tuple[Carried, ...]:
    """List the packages of a framework's own CUDA that it finds only by LD_LIBRARY_PATH."""
    sought = {"conda": _path_rule(found) is not None, "dist": _looks(found, facts) is None}
    return tuple(part for part in serving if sought[part.kind] and facts.os == "linux")


def _path_rule(found: FoundFramework) -> PrefixByPath | None:
    """Find the rule by which a pip package looks in a conda prefix by LD_LIBRARY_PATH."""
    rule = found.framework.prefix_by_path
    holds = found.origin == "pip" and rule and within(found.release, rule.since, rule.before)
    return rule if holds else None


def _runtime(
    kind: str, shown_by: str, cuda: Version, links: tuple[str, ...], carried: tuple[Carried, ...]
) -> Carried | None:
    """Find the package that shows that packages of a kind bring a CUDA that serves."""
    return next(
        (
            part
            for part in carried
            if part.kind == kind
            and part.component == shown_by
            and part.cuda
            and serves(Version(part.cuda), cuda, links)
        ),
        None,
    )


def _cudnn(
    kinds: tuple[str, ...], cuda: Version, cudnn: Version, carried: tuple[Carried, ...]
) -> Carried | None:
    """Find the package that brings a cuDNN that serves, of the first of these kinds."""
    return next(
        (
            part
            for kind in kinds
            for part in carried
            if part.kind == kind
            and part.component == "cudnn"
            and (release := release_of(part.version))
            and release.major == cudnn.major
            and (part.cuda is None or Version(part.cuda).major == cuda.major)
        ),
        None,
    )

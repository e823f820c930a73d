"""First step: what each framework was built for, and whether it brings that itself."""

from __future__ import annotations

import re

from cudaswitch.compat.frameworks import Build, CpuBuild, Framework, Gives, within
from cudaswitch.compat.sonames import soname
from cudaswitch.compat.tables import cite
from cudaswitch.namedtuples import NamedTuple
from cudaswitch.resolver.facts import Carried, Claim, Facts, FoundFramework, Reason
from cudaswitch.resolver.names import bound, bound_reasons, exactly, linked
from cudaswitch.resolver.own import Lack, by_path, finds_by_home, lack_of, left_out, own_cuda
from cudaswitch.resolver.releases import agree
from cudaswitch.versions import Version


class GpuCode(NamedTuple):
    """The compute capabilities that a build holds code for, as written: `sm_80`, `12.0+PTX`."""

    archs: tuple[str, ...]
    source: str


class Need(NamedTuple):
    """What one framework needs."""

    found: FoundFramework
    cuda: Version | None
    """None for a build without CUDA, and if it is not known."""
    own: bool
    """Whether it brings its CUDA itself."""
    reasons: tuple[Reason, ...]
    cudnn: Version | None = None
    cudnn_inside: bool = False
    """Whether that is inside it, and so not taken from a toolkit."""
    cuda_min: Version | None = None
    """The oldest CUDA that serves."""
    code: GpuCode | None = None
    hint: str | None = None
    known: bool = True
    """False if it may be for some CUDA, and neither its files nor a table say which."""
    serving: tuple[Carried, ...] = ()
    """The packages of its own CUDA."""
    lack: Lack | None = None
    """What keeps it from its own CUDA all the same."""
    rest: tuple[str, ...] = ()
    """The libraries that its wheels do not bring, and that it then takes from a toolkit."""
    by_home: bool = False
    """Whether it finds a toolkit by CUDA_HOME, without LD_LIBRARY_PATH."""
    by_path: tuple[Carried, ...] = ()
    """The packages of its own CUDA that it finds only by LD_LIBRARY_PATH."""

    @property
    def framework(self) -> Framework:
        return self.found.framework

    @property
    def label(self) -> str:
        return f"{self.framework.title} {self.found.version}".rstrip()

    @property
    def built(self) -> Version | None:
        """The release that it was built with, as exactly as is known."""
        return exactly(self.cuda, self.cuda_min) if self.cuda else None

    @property
    def cudnn_outside(self) -> Version | None:
        """The cuDNN that it loads, None if it has its own inside."""
        return None if self.cudnn_inside else self.cudnn

    @property
    def links(self) -> tuple[str, ...]:
        """The libraries that it wants of a toolkit under the SONAME of the release it is for."""
        return () if self.own else linked(self.framework)

    @property
    def opens(self) -> tuple[str, ...]:
        """The libraries that it takes from a toolkit, as far as is known."""
        if self.own or self.cuda is None:
            return self.rest
        rule = self.framework.opens_of(self.found.release)
        return rule.libraries if rule else ()

    @property
    def opened(self) -> tuple[str, ...]:
        """The SONAMEs of these, without those that the release leaves open, and of libNVVM."""
        if self.built is None:
            return ()
        names = (soname(it, self.built) for it in self.opens if it not in ("cudart", "nvvm"))
        return tuple(filter(None, names))

    @property
    def sonames(self) -> dict[str, str]:
        """The names by which it loads the runtime and `links`, by library."""
        if self.built is None:
            return {}
        named = {library: soname(library, self.built) for library in ("cudart", *self.links)}
        return {library: name for library, name in named.items() if name}

    @property
    def telling(self) -> tuple[str, ...]:
        """SONAMEs to find a toolkit by: the runtime's, and one that only some releases have."""
        if self.built is None or self.own:
            return ()
        rule = self.framework.opens_of(self.found.release)
        runtime = None if rule and rule.runtime_inside else soname("cudart", self.built)
        names = runtime, bound(self.framework, self.built)
        return tuple(dict.fromkeys(filter(None, names)))


def need_of(found: FoundFramework, facts: Facts) -> Need:
    """Work out what a framework needs: its files first, its version's table row after."""
    if need := cpu_need(found, facts.os, firm=True):
        return need
    reasons: list[Reason] = []
    cuda = _settle(found, "cuda", reasons)
    cudnn = _settle(found, "cudnn", reasons)
    verdict = found.first("gpu", "cuda")
    if verdict and verdict.value == "cpu":
        return without_cuda(found, Reason("it is a build without CUDA", verdict.source))
    if verdict is None and (need := cpu_need(found, facts.os, firm=False)):
        return need
    rows = _rows(found, cuda, cudnn, facts.os, states_gpu=verdict is not None)
    cuda = _refine_cuda(found, rows, cuda, reasons)
    cudnn = _refine_cudnn(found, rows, cudnn, reasons)
    row = rows[0] if rows else None
    if cuda is None:
        text = "neither its files nor a table of its releases say which CUDA it was built for"
        hint = "name the CUDA yourself: `cudaswitch compat` lists what works with which driver"
        return without_cuda(found, Reason(text, found.source), hint)._replace(known=False)
    minimum = found.first("cuda_min")
    # The table is of the project's own builds: conda's are for the CUDA that they name.
    told = row.cuda_min if row and found.origin == "pip" else None
    cuda_min = Version(minimum.value) if minimum else told
    if cuda_min and len(cuda.parts) == 1:
        least = minimum.source if minimum else cite(row) if row else ""
        reasons.append(Reason(f"it takes CUDA {cuda_min.minor} or newer of that major", least))
    built = exactly(cuda, cuda_min)
    inside = _has_cudnn(found, facts.os)
    outside = None if inside else cudnn
    own, serving, why = own_cuda(found, built, outside, facts)
    reasons.append(why)
    if inside:
        reasons.append(inside)
    lack: Lack | None = None
    if own:
        old, lack = lack_of(found, serving, cuda_min or cuda, outside, facts)
        reasons += old
    else:
        reasons += bound_reasons(found.framework, built)
    return Need(
        found=found,
        cuda=cuda,
        own=own,
        reasons=tuple(reasons),
        cudnn=cudnn,
        cudnn_inside=inside is not None,
        cuda_min=cuda_min,
        code=_code(found, cuda, facts.platform),
        serving=serving,
        lack=lack,
        rest=left_out(found, built, facts) if any(it.kind == "dist" for it in serving) else (),
        by_home=finds_by_home(found, built, facts),
        by_path=by_path(found, serving, facts),
    )


def _has_cudnn(found: FoundFramework, os: str) -> Reason | None:
    """Say that a wheel has its cuDNN inside, None if it is not known to."""
    rule = found.framework.cudnn_inside if _published(found) else None
    if rule is None or rule.os != os or not within(found.release, None, rule.before):
        return None
    return Reason("its cuDNN is inside the wheel", cite(rule))


def without_cuda(found: FoundFramework, reason: Reason, hint: str | None = None) -> Need:
    """Return the need of a framework that needs no CUDA, with the reason."""
    return Need(found, cuda=None, own=False, reasons=(reason,), hint=hint)


def cpu_need(found: FoundFramework, os: str, *, firm: bool) -> Need | None:
    """Return the need of a build that has no CUDA by a rule, None if no rule says so."""
    if rule := cpu_build(found, os, firm=firm):
        reason = Reason("its builds of this kind have no CUDA", cite(rule))
        return without_cuda(found, reason, rule.hint)
    return None


def _code(found: FoundFramework, cuda: Version, platform: str) -> GpuCode | None:
    """Tell what GPUs a build is for: as it says itself, or as the project publishes it."""
    if claim := found.first("archs"):
        return GpuCode(tuple(claim.value.split()), claim.source)
    if found.release is None or not _published(found):
        return None
    row = found.framework.code_of(found.release, cuda, platform)
    return GpuCode(row.archs, cite(row)) if row else None


def _published(found: FoundFramework) -> bool:
    """Tell whether it is a wheel of the project itself: no conda package, nobody's own build."""
    return found.origin == "pip" and not found.framework.foreign(found.version)


def cpu_build(found: FoundFramework, os: str, *, firm: bool) -> CpuBuild | None:
    """Find the rule, if any, by which this build has no CUDA."""
    release = found.release
    for rule in found.framework.cpu_builds:
        if (
            rule.firm != firm
            or rule.os not in (None, os)
            or not re.fullmatch(rule.dist, found.dist)
        ):
            continue
        if (rule.since or rule.before) and release is None:
            continue
        if not within(release, rule.since, rule.before):
            continue
        if release and release.text in rule.but:
            continue
        return rule
    return None


def _settle(found: FoundFramework, gives: Gives, reasons: list[Reason]) -> Version | None:
    """Take the most trusted statement; one that names only a major is sharpened by the next."""
    what = "CUDA" if gives == "cuda" else "cuDNN"
    best: Claim | None = None
    for claim in found.claims:
        if claim.gives != gives:
            continue
        if best is None:
            best = claim
            reasons.append(Reason(f"it states {what} {claim.value}", claim.source))
        elif not agree(Version(best.value), Version(claim.value)):
            reasons.append(
                Reason(f"{what} {claim.value} is stated too, by a place trusted less", claim.source)
            )
        elif len(Version(best.value).parts) == 1 and len(Version(claim.value).parts) > 1:
            best = claim
            reasons.append(Reason(f"more exactly, {what} {claim.value}", claim.source))
    return Version(best.value) if best else None


def _rows(
    found: FoundFramework,
    cuda: Version | None,
    cudnn: Version | None,
    os: str,
    *,
    states_gpu: bool,
) -> list[Build]:
    """List the table's rows for what was found: those for its cuDNN first, then the nearest."""
    framework, release = found.framework, found.release
    if release is None or framework.foreign(found.version):
        return []
    builds = framework.builds_of(release, os)
    if cuda is None:
        # What a plain `pip install` gives says nothing of a conda package, nor of a build with
        # a local version (2.13.0+nv23.09), which no index of the project serves.
        plain = (found.origin == "pip" or states_gpu) and "+" not in found.version
        default = next((build for build in builds if build.default), None) if plain else None
        if default is None:
            return []
        cuda = default.cuda
    fits = [build for build in builds if agree(build.cuda, cuda)]
    fits.sort(key=lambda it: bool(cudnn and it.cudnn and not agree(it.cudnn, cudnn)))
    return fits


def _subject(found: FoundFramework, row: Build) -> str:
    """Begin a sentence about the releases that a row is true of."""
    if found.framework.rows_apply == "onward":
        return f"releases from {row.version} on are"
    return f"release {row.version} is"


def _refine_cuda(
    found: FoundFramework, rows: list[Build], cuda: Version | None, reasons: list[Reason]
) -> Version | None:
    """Fill in from the table a CUDA that the files left open or named by its major only."""
    for row in rows[:1]:
        if cuda is None or (len(cuda.parts) == 1 and len(row.cuda.parts) > 1):
            cuda = row.cuda
            reasons.append(Reason(f"{_subject(found, row)} built for CUDA {cuda}", cite(row)))
    return cuda


def _refine_cudnn(
    found: FoundFramework, rows: list[Build], cudnn: Version | None, reasons: list[Reason]
) -> Version | None:
    """The same for cuDNN, from the nearest row that states one, unless others as near disagree."""
    row = next((row for row in rows if row.cudnn), None)
    if row is None or row.cudnn is None:
        return cudnn
    near = [it for it in rows if (it.version, it.tag) == (row.version, row.tag)]
    if not all(it.cudnn is None or agree(it.cudnn, row.cudnn) for it in near):
        return cudnn
    sharper = cudnn and len(cudnn.parts) == 1 and len(row.cudnn.parts) > 1
    if cudnn is None or (sharper and agree(row.cudnn, cudnn)):
        cudnn = row.cudnn
        reasons.append(Reason(f"{_subject(found, row)} built for cuDNN {cudnn}", cite(row)))
    return cudnn

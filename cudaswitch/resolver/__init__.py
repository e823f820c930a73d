"""Facts in, a choice with its reasons out. Pure: opens nothing of the user's, starts nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from cudaswitch.compat.compilers import Bounds, host_compilers
from cudaswitch.resolver.choice import NVCC, Absent, Wanted, choose, fits
from cudaswitch.resolver.draft import Draft, same_major
from cudaswitch.resolver.facts import (
    Carried,
    Claim,
    Facts,
    FoundFramework,
    OwnNvcc,
    Reason,
    Rejected,
    Resolution,
    ResolvedFramework,
)
from cudaswitch.resolver.following import follow, hint_of
from cudaswitch.resolver.machine import ceiling, check, check_compilers, instead_of
from cudaswitch.resolver.names import serves, shortened, together
from cudaswitch.resolver.needs import Need, need_of
from cudaswitch.toolkit import Toolkit
from cudaswitch.versions import Version

__all__ = [
    "USE",
    "Carried",
    "Claim",
    "Facts",
    "FoundFramework",
    "OwnNvcc",
    "Reason",
    "Rejected",
    "Resolution",
    "ResolvedFramework",
    "resolve",
]

USE = "cudaswitch use "
"""How a hint begins that names the installed toolkit; some shells spell that in another way."""


def resolve(
    facts: Facts,
    toolkits: Sequence[Toolkit],
    accepts: Callable[[Toolkit], Bounds | None] = lambda kit: host_compilers(kit.version),
    absent: Absent = lambda kit, parts: (),
) -> Resolution:
    """Choose the CUDA, the cuDNN and the installed toolkit for what is in an environment.

    `accepts` tells which host compilers a toolkit's nvcc takes, None if it has no nvcc: then host
    compilers are not mentioned. `absent` tells which libraries a toolkit lacks, or that it has no
    nvcc; it is called only for toolkits that would do.
    """
    draft = Draft(facts, toolkits, accepts, absent)
    for step in STEPS:
        step(draft)
    lead = draft.wanted
    frameworks = tuple(
        ResolvedFramework(
            name=need.framework.name,
            label=need.label,
            version=need.found.version,
            cuda=str(need.cuda) if need.cuda else None,
            cudnn=str(need.cudnn) if need.cudnn else None,
            runs=not verdict.blocks,
            bundled=need.own,
            source=need.found.source,
            known=need.known,
            loads=need.telling,
            opens=need.opened,
            by_home=need.by_home,
            by_path=tuple(dict.fromkeys(part.folder for part in need.by_path)),
            cudnn_inside=need.cudnn_inside,
        )
        for need, verdict in zip(draft.needs, draft.verdicts, strict=True)
    )
    return Resolution(
        cuda=str(lead.cuda) if lead else None,
        cudnn=str(draft.cudnn) if draft.cudnn else None,
        runs=draft.runs,
        bundled=draft.bundled,
        toolkit=draft.toolkit.name if draft.toolkit else None,
        frameworks=frameworks,
        reasons=tuple(draft.reasons),
        rejected=tuple(draft.rejected),
        hint=draft.hint,
        caution=draft.caution,
        own=draft.own,
        compiler=draft.compiler and f"its own nvcc, of CUDA {draft.compiler.cuda}",
        proviso=draft.proviso,
        absent=draft.absent,
        request=draft.request,
    )


def _say(draft: Draft, need: Need, reasons: Sequence[Reason]) -> None:
    draft.reasons += [Reason(f"{need.label}: {reason.text}", reason.source) for reason in reasons]


def built_for(draft: Draft) -> None:
    """What each framework in the environment was built for."""
    draft.reasons += draft.facts.notes
    found = draft.facts.frameworks
    leaders = [need_of(it, draft.facts) for it in found if it.framework.follows is None]
    followers = [follow(it, leaders, draft.facts) for it in found if it.framework.follows]
    draft.needs = leaders + followers
    for need in draft.needs:
        _say(draft, need, need.reasons)
    if not draft.needs:
        where = draft.facts.prefix or "no environment is active"
        draft.reasons.append(Reason("no known framework was found", where))
        draft.reasons += [
            Reason(f"it brings {part.name} {part.version} all the same", part.source)
            for part in draft.facts.carried
            if part.component in ("cuda", "cudnn")
        ]


def machine_allows(draft: Draft) -> None:
    """Whether the driver and the GPUs can run each of them."""
    draft.verdicts = [check(need.cuda, need.cudnn, need.code, draft.facts) for need in draft.needs]
    told: set[Reason] = set()
    for need, verdict in zip(draft.needs, draft.verdicts, strict=True):
        # Those that follow another come after it, and mostly it has been said by then.
        remarks = (it for it in verdict.remarks if not (need.framework.follows and it in told))
        _say(draft, need, (*verdict.blocks, *remarks))
        told.update(verdict.remarks)
    if draft.with_cuda:
        draft.reasons += ceiling(draft.facts)


def one_for_all(draft: Draft) -> None:
    """One CUDA that serves all; those that bring their own only count if all do."""
    candidates = [need for need in draft.with_cuda if not need.own] or draft.with_cuda
    candidates = [need for need in candidates if not need.framework.follows] or candidates
    lead = max(candidates, key=_strictness, default=None)
    cuda = lead.cuda if lead else None
    if lead is None or cuda is None:
        return
    cudnns = [need.cudnn_outside for need in candidates if need.cudnn_outside]
    # If the one that leads loads no cuDNN, another one may.
    loads = lead.own or lead.cudnn_outside
    library = lead if loads else next((it for it in candidates if it.cudnn_outside), lead)
    for need in candidates:
        _compare(draft, lead, library, need)
    if not lead.own and not draft.facts.brings:
        _at_risk(draft, lead)
    led = lead.cudnn_outside
    same = [cudnn for cudnn in cudnns if led is None or cudnn.major == led.major]
    # Frameworks with their own CUDA load nothing of a toolkit: it only builds for `lead`.
    sharing = [lead] if lead.own else [need for need in candidates if same_major(need, cuda)]
    oldest = [need.built for need in sharing if need.built]
    sonames = {library: name for need in sharing for library, name in need.sonames.items()}
    opening = sharing + [it for it in draft.with_cuda if it.rest and same_major(it, cuda)]
    opens = tuple(dict.fromkeys(library for need in opening for library in need.opens))
    draft.wanted = Wanted(cuda, max(same, default=None), max(oldest), sonames, opens)


def _at_risk(draft: Draft, lead: Need) -> None:
    """Say which frameworks that bring their own find the toolkit's libraries ahead of them."""
    for need in draft.with_cuda:
        if not need.own or lead.cuda is None:
            continue
        if same_major(need, lead.cuda):
            text = (
                f"brings its own CUDA {need.cuda}, and with the toolkit's libraries ahead of them"
                " it loads those"
            )
        elif need.cudnn and lead.cudnn_outside and need.cudnn.major == lead.cudnn_outside.major:
            name = f"libcudnn.so.{need.cudnn.major}"
            text = (
                f"brings its own cuDNN {need.cudnn} for CUDA {need.cuda}, and both load {name}:"
                " whichever comes first serves the other too"
            )
        else:
            continue
        text = f"{need.label} {text}; an environment of its own is safer"
        draft.reasons.append(Reason(text, need.found.source))


def _strictness(need: Need) -> tuple[bool, Version, int]:
    """Order candidates for the lead: if all bring their own, one whose extensions are built.

    Of those that name only a major, the oldest release that serves counts: a toolkit for the others
    may be older than that.
    """
    cuda, built = need.cuda or Version("0"), need.built or Version("0")
    return need.own and need.framework.extended, Version(built.minor), len(cuda.parts)


def _compare(draft: Draft, lead: Need, library: Need, need: Need) -> None:
    """Say when two frameworks cannot share a toolkit; only a conflict if they must.

    The CUDA is that of `lead`, the cuDNN that of `library`.
    """
    if need is lead or need.built is None or lead.built is None:
        return
    same_cuda = serves(lead.built, need.built, need.links)
    one, two = need.cudnn_outside, library.cudnn_outside
    same_cudnn = not (one and two) or one.major == two.major
    if same_cuda and same_cudnn:
        return
    asks = [
        f"{it.label} asks for CUDA {it.cuda}"
        + (f" with cuDNN {it.cudnn_outside}" if it.cudnn_outside else "")
        for it in (library if same_cuda else lead, need)
    ]
    if lead.own:
        built = f"extensions build with a toolkit for {lead.label}"
        if not same_cuda:
            built = f"a toolkit for {lead.label} builds no extensions of the other"
        text = f"{' and '.join(asks)}; each brings its own, and {built}"
    else:
        text = f"{' and '.join(asks)}; no toolkit serves both"
        draft.conflict = True
    draft.reasons.append(Reason(text, need.found.source))


def best_installed(draft: Draft) -> None:
    """The installed toolkit that serves best, to run or, if bundled, to build extensions."""
    if draft.wanted is None or draft.conflict:
        return
    wanted, own = draft.wanted, draft.facts.compiler
    if own and not fits(wanted, Version(own.cuda), draft.facts):
        own = None
    if draft.bundled:
        wanted = wanted._replace(cudnn=None)
        role = "brings what is missing" if wanted.opens else "only builds extensions"
        text = f"CUDA is in the environment; a toolkit {wanted.cuda.minor} {role}"
        draft.reasons.append(Reason(text, draft.facts.prefix or ""))
        if not wanted.opens and not (own and own.builds):
            wanted = wanted._replace(opens=NVCC)
    chosen = choose(wanted, draft.toolkits, draft.facts, draft.ask_absent)
    draft.toolkit, draft.rejected, draft.absent = chosen
    if draft.bundled and own:
        _own_compiler(draft, own)
    if draft.toolkit:
        text = f"{draft.toolkit.name} is the installed toolkit that fits best"
        draft.reasons.append(Reason(text, draft.toolkit.path))


def _own_compiler(draft: Draft, own: OwnNvcc) -> None:
    """Leave building to an nvcc of the environment that fits: a toolkit's would go before it."""
    if not own.builds:
        text = f"the nvcc in `{own.home}` lacks lib64 and libcudart.so, which builds link with"
    else:
        draft.compiler = own
        text = f"it has an nvcc of its own, of CUDA {own.cuda}, which builds them"
        if draft.toolkit:
            why = "would do, but the environment has an nvcc of its own"
            draft.rejected.append(Rejected(draft.toolkit.name, why))
            draft.toolkit = None
    draft.reasons.append(Reason(text, own.source))


def within_reach(draft: Draft) -> None:
    """Whether each finds its CUDA: no toolkit is found where LD_LIBRARY_PATH is left alone."""
    for need, lack in draft.lacks:
        draft.caution = draft.caution or f"{need.label}: {lack.reason.text}"
        draft.proviso = draft.proviso or f"once {lack.once}"
        if lack.reason not in need.reasons:
            _say(draft, need, [lack.reason])
    if draft.blind:
        text = (
            "the environment brings CUDA, so LD_LIBRARY_PATH is left alone,"
            f" and {_labels(draft.blind)} does not find the toolkit there"
        )
        draft.caution = text
        draft.proviso = "but LD_LIBRARY_PATH is left alone" if draft.toolkit else None
        draft.reasons.append(Reason(text, draft.facts.brings or ""))
    if draft.whole and (rests := [need for need in draft.with_cuda if need.rest]):
        draft.proviso = draft.proviso or f"with the rest of {draft.whole.name}"
        for need in rests:
            names = together([f"lib{library}" for library in need.rest])
            text = f"its wheels lack {names}, and it looks for those in the toolkit of CUDA_HOME"
            _say(draft, need, [Reason(text, draft.whole.path)])
    if draft.toolkit and draft.absent == NVCC:
        text = f"{draft.toolkit.name} lacks nvcc, which builds extensions"
        draft.caution = draft.caution or text
        draft.reasons.append(Reason(text, draft.toolkit.path))
    elif draft.toolkit and draft.absent and not draft.bundled:
        text = f"{draft.toolkit.name} lacks {together(draft.absent)}"
        text = f"{text}, which {_labels(need for need in draft.with_cuda if not need.own)} can open"
        draft.caution = draft.caution or text
        draft.proviso = draft.proviso or f"which lacks {shortened(draft.absent)}"
        draft.reasons.append(Reason(text, draft.toolkit.path))


def _labels(needs: Iterable[Need]) -> str:
    return " and ".join(need.label for need in needs)


def compiler_fits(draft: Draft) -> None:
    """Whether the machine's compiler can build with it."""
    if draft.wanted is None:
        return
    kit, cuda = draft.toolkit, draft.wanted.cuda
    if accepted := draft.accepts(kit) if kit else host_compilers(cuda):
        draft.reasons += check_compilers(kit.version if kit else cuda, accepted, draft.facts)


def next_step(draft: Draft) -> None:
    """The command to run next, or what would run here instead."""
    blocked = [
        need for need, verdict in zip(draft.needs, draft.verdicts, strict=True) if verdict.blocks
    ]
    if blocked:
        draft.hint = instead_of(blocked[0], draft.facts)
    elif draft.conflict:
        draft.hint = "give each framework its own environment"
    elif draft.wanted is None:
        hints = (hint_of(need, draft.toolkits, draft.facts) for need in draft.needs)
        draft.hint = next(filter(None, hints), None)
    elif draft.lacks:
        draft.hint = draft.lacks[0][1].mend
    elif draft.toolkit and draft.blind and (owners := [it for it in draft.with_cuda if it.own]):
        draft.hint = (
            f"give {_labels(draft.blind)} an environment of its own, or take `--libraries always`:"
            f" then {_labels(owners)} may load the toolkit's libraries, and fail"
        )
    elif kit := draft.whole:
        always = " --libraries always" if draft.blind else ""
        draft.hint = f"{USE}{kit.name}{always}"
    elif draft.compiler is None:
        draft.hint = draft.install_command


STEPS = (
    built_for,
    machine_allows,
    one_for_all,
    best_installed,
    within_reach,
    compiler_fits,
    next_step,
)
"""The rules, in the order in which they are applied; each adds its reasons."""

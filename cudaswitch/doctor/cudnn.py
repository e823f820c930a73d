"""Which cuDNN mends what is wrong, and from where: a toolkit, a wheel, conda."""

from __future__ import annotations

from cudaswitch.compat.cudnn import newest_support, unsupported_cuda
from cudaswitch.compat.frameworks import frameworks
from cudaswitch.doctor.folders import is_listed
from cudaswitch.doctor.model import Facts
from cudaswitch.doctor.releases import runs, used_now
from cudaswitch.doctor.spelling import (
    conda_install,
    install_command,
    pip,
    put_first,
    spell,
    use_command,
    word,
)
from cudaswitch.resolver.releases import agree, release_of
from cudaswitch.versions import Request, Version

_MAJORS = (9, 8, 7)


def cudnn_to_build(facts: Facts, words: str) -> str:
    """Bring a cuDNN such as 9 or 9.3 (any if none is named): for the CUDA in use if that has one.

    A second word is the CUDA that it is for, unless a framework here says another. A third is
    the default for the second, if the message tells none.
    """
    return _with_toolkit(facts, words, load=False)


def cudnn_to_load(facts: Facts, words: str) -> str:
    """Lead the loader to a cuDNN: that of a wheel here, else one that is brought with a toolkit."""
    major = Version(words.partition(" ")[0]).major
    for part in facts.needs.carried:
        here = release_of(part.version)
        if (part.component, part.kind) == ("cudnn", "dist") and here and here.major == major:
            if not is_listed(part.folder, facts.get("LD_LIBRARY_PATH")):
                return spell(facts, put_first("LD_LIBRARY_PATH", part.folder), {})
            break
    return _with_toolkit(facts, words, load=True)


def _with_toolkit(facts: Facts, words: str, *, load: bool) -> str:
    wanted, cuda = (*words.split(), "", "")[:2]
    least, needs = Version(wanted or _newest_major(facts)), facts.resolution
    own = needs.cuda if needs.cudnn and Version(needs.cudnn).major == least.major else None
    # Any toolkit of its major serves a framework, and none of another one.
    near = Request(str(Version(own).major) if own else cuda or ">=0")
    asked = Request(Version(own).minor) if own else near
    # Beside CUDA of the environment's own, the loader finds none of a toolkit unless that is
    # asked for; then it goes first, so it has to be of the same release.
    beside = load and facts.needs.brings
    used = " --libraries always" if beside else ""
    fits = [
        kit
        for kit in facts.installed
        if kit.cudnn
        and kit.cudnn.major == least.major
        and kit.cudnn >= least
        and not (beside and needs.cuda and not agree(kit.version, Version(needs.cuda)))
    ]
    for request in (asked, near):
        if there := [kit for kit in fits if request.accepts(kit.version)]:
            return use_command(facts, there[-1].name, used)
    row = newest_support(least.major)
    if row is None:
        return "cudaswitch compat"
    here = [kit.version for kit in reversed(facts.installed) if runs(facts, kit.version)]
    mine = filter(None, (used_now(facts), *here))
    usual = [one for one in row.cuda if runs(facts, one)] or [row.cuda[0]]
    candidates = [
        *([Version(own)] if own else []),
        *(one for one in mine if not unsupported_cuda(row.cudnn, one)),
        *sorted(usual, reverse=True),
    ]
    best = next(filter(asked.accepts, candidates), Version(cuda or str(row.cuda[0])))
    if beside and needs.cuda and not agree(best, Version(needs.cuda)):
        return "cudaswitch resolve"
    return install_command(facts, Request(best.minor, str(least.major)), used=used)


def _newest_major(facts: Facts) -> str:
    """Tell which cuDNN the frameworks need, else the newest that the CUDA in use has."""
    if facts.resolution.cudnn:
        return str(Version(facts.resolution.cudnn).major)
    in_use = used_now(facts)
    rows = map(newest_support, _MAJORS)
    served = (row for row in rows if row and not (in_use and unsupported_cuda(row.cudnn, in_use)))
    return next((str(row.cudnn.major) for row in served), str(_MAJORS[0]))


def newer_cudnn(facts: Facts, least: str) -> str:
    """Bring a cuDNN, `least` or what the framework needs, to where the framework takes it from."""
    least = least or facts.resolution.cudnn or ""
    if least and facts.needs.brings and facts.resolution.cuda:
        by_conda = any((it.component, it.kind) == ("cudnn", "conda") for it in facts.needs.carried)
        wheel = f"nvidia-cudnn-cu{Version(facts.resolution.cuda).major}"
        spec = f"{'cudnn' if by_conda else wheel}>={least},<{Version(least).major + 1}"
        install = conda_install(facts) if by_conda else f"{pip(facts)} install"
        return f"{install} {word(facts, spec)}"
    # Where no environment tells the CUDA, TensorFlow's releases with that cuDNN do.
    builds = frameworks()["tensorflow"].builds if least else ()
    built = [it.cuda for it in builds if it.cudnn and agree(it.cudnn, Version(least))]
    return cudnn_to_build(facts, f"{least} {max(built).minor}" if built else least)

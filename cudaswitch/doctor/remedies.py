"""Which toolkit mends what is wrong, brought into the person's shell by one command."""

from __future__ import annotations

from collections.abc import Callable

from cudaswitch.compat.architectures import architectures
from cudaswitch.compat.cudnn import lowest_capability, unsupported_cuda
from cudaswitch.compat.drivers import newest_cuda, releases, required
from cudaswitch.doctor.model import Facts
from cudaswitch.doctor.spelling import first_that_fits, use_command, without
from cudaswitch.resolver.machine import check_driver
from cudaswitch.versions import Version


def _clean(facts: Facts, _: str) -> str:
    """Leave CUDA's folders out of LD_LIBRARY_PATH."""
    cuda = [one for one in facts.library_path if one.libraries]
    return without(facts, "LD_LIBRARY_PATH", facts.library_path, *cuda)


def _auto(facts: Facts, _: str) -> str:
    return f"cudaswitch install auto && {use_command(facts, 'auto')}"


def _build(facts: Facts, _: str) -> str:
    """Bring a toolkit to build with: of the framework's release, else the newest that fits."""
    if facts.resolution.cuda:
        return first_that_fits(facts, Version(facts.resolution.cuda).minor)
    if facts.installed:
        return use_command(facts, facts.installed[-1].name)
    driver = facts.needs.driver
    newest = newest_cuda(Version(driver), facts.needs.os) if driver else None
    return first_that_fits(facts, str(newest or releases()[0]))


def _cudnn(facts: Facts, major: str) -> str:
    """Bring a cuDNN of that major: for the CUDA in use if that has one, else the newest."""
    fits = [kit for kit in facts.installed if kit.cudnn and kit.cudnn.major == int(major)]
    if fits:
        return use_command(facts, fits[-1].name)
    newest = lowest_capability(Version(major))
    if newest is None:
        return "cudaswitch compat"
    needs, active = facts.resolution, facts.active
    in_use = Version(active.version.minor) if active and active.version else None
    if needs.cuda and needs.cudnn and Version(needs.cudnn).major == int(major):
        best = Version(Version(needs.cuda).minor)
    elif in_use and not unsupported_cuda(newest.cudnn, in_use):
        best = in_use
    else:
        best = max(cuda for cuda in newest.cuda if _runs(facts, cuda) or cuda == newest.cuda[0])
    return f"cudaswitch install {best} --cudnn {major} && {use_command(facts, str(best))}"


def _runs(facts: Facts, cuda: Version) -> bool:
    return facts.needs.driver is None or not check_driver(cuda, facts.needs).blocks


def _gpu(facts: Facts, number: str) -> str:
    """Bring the oldest CUDA that has code for a GPU."""
    cc = Version(f"{number[:-1]}.{number[-1]}")
    for cuda in reversed(releases()):
        rows = architectures(cuda)
        if any(row.min_cc <= cc <= row.max_cc for row in rows) and required(cuda, facts.needs.os):
            return first_that_fits(facts, str(cuda))
    return "cudaswitch compat"


SPELLED: dict[str, Callable[[Facts, str], str]] = {
    "clean": _clean,
    "auto": _auto,
    "build": _build,
    "cudnn": _cudnn,
    "gpu": _gpu,
    "use": first_that_fits,
}
"""What stands behind an `@` in the table of messages, for this shell and machine."""

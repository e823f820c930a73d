"""Fourth step: the best installed toolkit, and why not the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from cudaswitch.compat.architectures import architectures, given_up, gpu_name
from cudaswitch.compat.cudnn import lists_all, spelled_for, unsupported_cuda, unsupported_gpus
from cudaswitch.compat.redist import has_toolkit
from cudaswitch.compat.runfiles import runfiles
from cudaswitch.compat.sonames import soname
from cudaswitch.namedtuples import NamedTuple
from cudaswitch.platforms import current_platform
from cudaswitch.resolver.facts import Facts, Rejected
from cudaswitch.resolver.machine import check_driver, has_code
from cudaswitch.resolver.names import together
from cudaswitch.resolver.releases import agree
from cudaswitch.toolkit import Toolkit
from cudaswitch.versions import Version


class Wanted(NamedTuple):
    """The toolkit that serves: for `cuda`, not of an older minor than `oldest`, with the `sonames`.

    `sonames` are by library. A toolkit that lacks any part of `opens`, libraries or nvcc, is chosen
    last. `cudnn` is needed to run; None if nothing is said or the frameworks bring their own.
    """

    cuda: Version
    cudnn: Version | None
    oldest: Version
    sonames: Mapping[str, str]
    opens: tuple[str, ...] = ()


NVCC = ("nvcc",)
"""What is used of a toolkit that only builds."""
Absent = Callable[[Toolkit, Sequence[str]], tuple[str, ...]]
"""Tells by file name which of the parts named a toolkit lacks."""


def choose(
    wanted: Wanted, toolkits: Sequence[Toolkit], facts: Facts, absent: Absent
) -> tuple[Toolkit | None, list[Rejected], tuple[str, ...]]:
    """Pick the nearest fitting toolkit, one that is whole before others.

    Returns it, the rejected ones in the order given, and what the one that was picked lacks.
    """
    named: dict[str, Toolkit] = {}
    for toolkit in toolkits:
        named.setdefault(toolkit.name, toolkit)  # the user's own goes before a shared one
    whys = {name: _misfit(wanted, toolkit, facts) for name, toolkit in named.items()}
    fits = [toolkit for name, toolkit in named.items() if whys[name] is None]
    without = {it.name: absent(it, wanted.opens) if wanted.opens else () for it in fits}

    def rank(toolkit: Toolkit) -> tuple[object, ...]:
        return (not without[toolkit.name], *_rank(wanted, toolkit, facts))

    best = max(fits, key=rank, default=None)
    lacking = without[best.name] if best else ()
    for name, names in without.items():
        if best and names and not lacking:
            whys[name] = f"lacks {together(names)}"
    nearer = f"would work, but {best.name} is closer" if best else ""
    rejected = [Rejected(name, why or nearer) for name, why in whys.items() if named[name] != best]
    return best, rejected, lacking


def request_of(wanted: Wanted, facts: Facts, *, builds: bool) -> tuple[str, str | None]:
    """Spell the CUDA and cuDNN of such a toolkit as a request does; no cuDNN if it only `builds`.

    The last number is left out, as a source may not have it.
    """
    cuda, cudnn = Version(wanted.cuda.minor), wanted.cudnn if not builds else None
    return str(cuda), spelled_for(cudnn, cuda, facts.gpus) if cudnn else None


def install_command(wanted: Wanted, facts: Facts, *, builds: bool) -> str:
    """Spell the command that brings such a toolkit: with cuDNN, or nvcc if it only `builds`."""
    cuda, cudnn = request_of(wanted, facts, builds=builds)
    command = f"cudaswitch install {cuda}" + (f" --cudnn {cudnn}" if cudnn else "")
    if builds and facts.platform == "linux-64" and _only_runfile(Version(wanted.cuda.minor)):
        command += " --from runfile"
    if facts.platform != current_platform():
        command += f" --platform {facts.platform}"
    return command


def _only_runfile(cuda: Version) -> bool:
    """Tell whether nothing but a runfile has nvcc of a release."""
    by_runfile = (row.cuda for row in runfiles())
    return any(one.starts_with(cuda) for one in by_runfile) and not has_toolkit(cuda)


def fits(wanted: Wanted, version: Version, facts: Facts) -> bool:
    """Tell whether a CUDA serves if it only compiles."""
    return not (
        _wrong_cuda(wanted, version)
        or _wrong_driver(version, facts)
        or _wrong_gpu(wanted, version, facts)
    )


def _misfit(wanted: Wanted, toolkit: Toolkit, facts: Facts) -> str | None:
    """Say why a toolkit does not serve, or None."""
    if toolkit.platform != facts.platform:
        return f"is for {toolkit.platform}, not {facts.platform}"
    return (
        _wrong_cuda(wanted, toolkit.version)
        or _wrong_cudnn(wanted, toolkit)
        or _wrong_driver(toolkit.version, facts)
        or _wrong_gpu(wanted, toolkit.version, facts)
        or _wrong_cudnn_for_gpus(wanted, toolkit, facts)
    )


def _wrong_cuda(wanted: Wanted, version: Version) -> str | None:
    if version.major != wanted.cuda.major:
        return f"is CUDA {version.minor}, but {wanted.cuda} is needed"
    if Version(version.minor) < Version(wanted.oldest.minor):
        return f"is older than CUDA {wanted.oldest.minor}"
    for library, name in wanted.sonames.items():
        if (here := soname(library, version)) and here != name:
            return f"has {here}, but {name} is needed"
    return None


def _wrong_cudnn(wanted: Wanted, toolkit: Toolkit) -> str | None:
    if wanted.cudnn is None:
        return None
    if toolkit.cudnn is None:
        return f"has no cuDNN, but {wanted.cudnn} is needed"
    if toolkit.cudnn.major != wanted.cudnn.major:
        return (
            f"has libcudnn.so.{toolkit.cudnn.major}, but libcudnn.so.{wanted.cudnn.major} is needed"
        )
    if Version(toolkit.cudnn.minor) < Version(wanted.cudnn.minor):
        return f"has cuDNN {toolkit.cudnn}, older than {wanted.cudnn}"
    if unsupported_cuda(toolkit.cudnn, toolkit.version):
        return f"has a cuDNN {toolkit.cudnn} that is not for CUDA {toolkit.version.minor}"
    return None


def _wrong_cudnn_for_gpus(wanted: Wanted, toolkit: Toolkit, facts: Facts) -> str | None:
    if wanted.cudnn and toolkit.cudnn and unsupported_gpus(toolkit.cudnn, facts.gpus):
        return f"has a cuDNN {toolkit.cudnn} that no longer serves {gpu_name(max(facts.gpus))}"
    return None


def _wrong_driver(version: Version, facts: Facts) -> str | None:
    blocks = check_driver(version, facts).blocks
    # The reason is shown after the toolkit's name.
    return blocks[0].text.removeprefix(f"CUDA {version} ") if blocks else None


def _wrong_gpu(wanted: Wanted, version: Version, facts: Facts) -> str | None:
    """Say when a CUDA serves none of the GPUs here."""
    gpus = facts.gpus
    if gpus and all(given_up(version, cc) for cc in gpus):
        return f"has no code for {gpu_name(gpus[0])}"
    # If the release is named exactly, the build itself has been checked against the GPUs by now.
    known = len(wanted.cuda.parts) == 1 and architectures(version)
    if gpus and known and not any(has_code(row.sm, cc) for row in known for cc in gpus):
        return f"is older than {gpu_name(gpus[0])}"
    return None


def _rank(wanted: Wanted, toolkit: Toolkit, facts: Facts) -> tuple[object, ...]:
    """Order fitting toolkits: code for the GPU, the exact minor, the nearest, the newest.

    Among different cuDNNs, one that lists the GPUs goes before the one that was built for.
    """
    serves = all(
        has_code(row.sm, gpu) for row in architectures(toolkit.version) for gpu in facts.gpus
    )
    exact = agree(toolkit.version, wanted.cuda)
    # Beyond the release that was built for, the nearest newer one is the safest.
    distance = 0 if exact else -toolkit.version.parts[1]
    same_cudnn = bool(wanted.cudnn and toolkit.cudnn and agree(toolkit.cudnn, wanted.cudnn))
    listed = not (wanted.cudnn and toolkit.cudnn) or lists_all(toolkit.cudnn, facts.gpus)
    cudnn = (listed, same_cudnn, toolkit.cudnn or Version("0"))
    return serves, exact, distance, toolkit.version, *cudnn

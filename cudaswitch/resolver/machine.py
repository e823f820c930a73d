"""Second step: whether this machine's driver and GPU allow it, and what would be the nearest."""

from __future__ import annotations

import re
from collections.abc import Iterator

from cudaswitch.compat.architectures import Architectures, architectures, given_up, gpu_name, number
from cudaswitch.compat.compilers import Bounds, glibc_limit
from cudaswitch.compat.cudnn import highest_capability, unsupported_gpus
from cudaswitch.compat.drivers import corresponding, newest_served, required
from cudaswitch.compat.frameworks import Build
from cudaswitch.compat.tables import cite
from cudaswitch.namedtuples import NamedTuple
from cudaswitch.resolver.facts import Facts, Reason
from cudaswitch.resolver.needs import GpuCode, Need
from cudaswitch.versions import Version

_ARCH = r"(?a:(sm_|compute_)?(\d+)(?:\.(\d+))?[af]?(\+PTX)?)"


class Verdict(NamedTuple):
    """What stands against running here (`blocks`), and what is merely worth saying."""

    blocks: tuple[Reason, ...]
    remarks: tuple[Reason, ...]


def check_driver(cuda: Version, facts: Facts) -> Verdict:
    """Compare the driver with the oldest that runs `cuda`, and with the one that came with it."""
    bound = required(cuda, facts.os)
    least = bound.on(facts.os) if bound else None
    if bound is None or least is None:
        return Verdict(
            (), (Reason(f"no table says which driver CUDA {cuda} needs", "drivers.json"),)
        )
    if facts.driver is None:
        text = f"no NVIDIA driver was found; CUDA {cuda} needs {least} or newer"
        return Verdict((), (Reason(text, cite(bound)),))
    driver = Version(facts.driver)
    if driver < least:
        text = f"CUDA {cuda} needs driver {least} or newer, and this machine has {driver}"
        return Verdict((Reason(text, cite(bound)),), ())
    remarks = [Reason(f"driver {driver} runs CUDA {cuda} (needs {least})", cite(bound))]
    own = corresponding(cuda, facts.os)
    if own and (listed := own.on(facts.os)) and driver < listed:
        text = (
            f"driver {listed}, which came with CUDA {own.cuda}, is recommended: {driver} runs it"
            " by minor version compatibility, without its newest features and without PTX"
        )
        remarks.append(Reason(text, cite(own)))
    return Verdict((), tuple(remarks))


def ceiling(facts: Facts) -> list[Reason]:
    """Explain the number that nvidia-smi shows, which many take for the toolkit's."""
    newest = newest_served(Version(facts.driver), facts.os) if facts.driver else None
    own = newest.on(facts.os) if newest else None
    if newest is None or own is None or facts.driver is None:
        return []
    later = " or newer" if Version(facts.driver).major > own.major else ""
    text = (
        f"`nvidia-smi` shows CUDA {newest.cuda.minor}{later} for driver {facts.driver}:"
        " the newest CUDA that it was made for, not a toolkit that is installed"
    )
    return [Reason(text, facts.driver_source)]


def check_gpu(cuda: Version, cudnn: Version | None, code: GpuCode | None, facts: Facts) -> Verdict:
    """Check the GPUs against the build's own code, its CUDA and its cuDNN.

    Of several GPUs, it is enough that one serves; the others get remarks.
    """
    if not facts.gpus:
        return Verdict((), ())
    results = [_gpu(cuda, cudnn, code, gpu) for gpu in facts.gpus]
    bad = [reason for fits, reason in results if not fits and reason]
    good = [reason for fits, reason in results if fits and reason]
    if any(fits for fits, _ in results):
        return Verdict((), tuple(good + bad))
    return Verdict(tuple(bad), ())


def _gpu(
    cuda: Version, cudnn: Version | None, code: GpuCode | None, cc: Version
) -> tuple[bool, Reason | None]:
    name = gpu_name(cc)
    rows = architectures(cuda)
    if row := given_up(cuda, cc):
        return False, Reason(
            f"CUDA {cuda} has no code for {name}: {row.min_cc} or newer", cite(row)
        )
    if code:
        fits, text = _own_code(code.archs, cc)
        if not fits:
            return False, Reason(f"{text}: {name}", code.source)
    elif rows and not any(has_code(row.sm, cc) for row in rows):
        row = rows[-1]
        text = f"CUDA {row.cuda} is older than {name}; only PTX would run, which is not guaranteed"
        return False, Reason(text, cite(row))
    if cudnn and (reason := _cudnn_bound(cudnn, cc)):
        return False, reason
    if code and text:
        return True, Reason(f"{text}: {name}", code.source)
    return True, _served(cuda, rows, cc)


def _cudnn_bound(cudnn: Version, cc: Version) -> Reason | None:
    """Say when a GPU is too old for a cuDNN, or too new for any of its major."""
    if low := unsupported_gpus(cudnn, (cc,)):
        text = f"cuDNN {cudnn} serves {low.cc_min} or newer, not {gpu_name(cc)}"
        return Reason(text, cite(low))
    high = highest_capability(cudnn)
    if high and high.cc_max and cc.major > high.cc_max.major:
        text = f"cuDNN {cudnn.major} serves {high.cc_max} or older, not {gpu_name(cc)}"
        return Reason(text, cite(high))
    return None


def _served(cuda: Version, rows: list[Architectures], cc: Version) -> Reason | None:
    """Say by which code a GPU runs: its own, or that of an older one of its generation."""
    for row in rows:
        if row.lists(cc):
            return Reason(f"CUDA {cuda} has code for {gpu_name(cc)}", cite(row))
    for row in rows:
        older = max((it for it in row.sm if has_code((it,), cc)), default=None)
        if older is not None:
            text = f"CUDA {cuda} is older than {gpu_name(cc)}, which runs code for {older / 10:.1f}"
            return Reason(text, cite(row))
    return None


def has_code(sm: tuple[int, ...], cc: Version) -> bool:
    """Tell whether one of the `sm` runs on `cc`: the same major, and not a newer minor."""
    return any(one // 10 == cc.major and one <= number(cc) for one in sm)


def _own_code(archs: tuple[str, ...], cc: Version) -> tuple[bool, str]:
    """Tell whether a build's code, or else its PTX, runs on a GPU; empty if it names none."""
    native: list[int] = []
    portable: list[int] = []
    for arch in archs:
        if match := re.fullmatch(_ARCH, arch):
            one = int(match[2]) * 10 + int(match[3]) if match[3] else int(match[2])
            # TensorFlow's `compute_80` stands for code and PTX, as its `configure` says.
            native.append(one)
            if match[1] == "compute_" or match[4]:
                portable.append(one)
    if not native and not portable:
        return True, ""
    runs = max((one for one in native if has_code((one,), cc)), default=None)
    if runs is not None:
        same = runs == number(cc)
        return True, f"this build has code for {runs / 10:.1f}" + ("" if same else ", which runs")
    listed = f"this build has code for {' '.join(archs)}"
    if any(one <= number(cc) for one in portable):
        return True, f"{listed}; the driver compiles its PTX for the GPU at the first start"
    return False, f"{listed}, none of it for this GPU"


def check(
    cuda: Version | None, cudnn: Version | None, code: GpuCode | None, facts: Facts
) -> Verdict:
    """Check a build against the machine: its CUDA, cuDNN and code for GPUs, as far as known.

    One without CUDA runs anywhere.
    """
    if cuda is None:
        return Verdict((), ())
    driver, gpu = check_driver(cuda, facts), check_gpu(cuda, cudnn, code, facts)
    return Verdict(driver.blocks + gpu.blocks, driver.remarks + gpu.remarks)


def instead_of(need: Need, facts: Facts) -> str:
    """Name what would run here instead: another build, an older release, a newer driver."""
    for build in _others(need, facts):
        release = need.found.release
        # A row may also apply to releases after its own.
        same = need.framework.rows_apply == "onward" and release and build.holds(release)
        version = release if same and release else build.version
        row = need.framework.code_of(version, build.cuda, facts.platform)
        code = GpuCode(row.archs, row.source) if row else None
        if not check(build.cuda, build.cudnn, code, facts).blocks:
            form = need.framework.other_build if build.tag else "{title} {version} (CUDA {cuda})"
            what = form.format(
                title=need.framework.title,
                version=version,
                cuda=build.cuda,
                tag=build.tag,
            )
            sure = code or not facts.cc or not need.framework.knows_code
            return f"{what} {'runs' if sure else 'may run'} here"
    bound = required(need.cuda, facts.os) if need.cuda else None
    least = bound.on(facts.os) if bound else None
    too_old = least and facts.driver and Version(facts.driver) < least
    # A newer driver does not help with a GPU that the build has no code for.
    if need.cuda and too_old and not check_gpu(need.cuda, need.cudnn, need.code, facts).blocks:
        return f"install an NVIDIA driver {least} or newer"
    return f"no known build of {need.framework.title} runs on this GPU"


def _others(need: Need, facts: Facts) -> Iterator[Build]:
    """Yield other builds, the same release first, then older ones, then newer ones."""
    release = need.found.release
    if release is None:
        return
    builds = [build for build in need.framework.builds if build.os in (None, facts.os)]
    current = _current(need, release, facts.os)
    same = [build for build in current if build.tag and build.published]
    older = [build for build in builds if build.version < release]
    newer = [build for build in builds if build.version > release]
    yield from sorted(same, key=lambda build: build.cuda, reverse=True)
    yield from sorted(older, key=lambda build: (build.version, build.cuda), reverse=True)
    yield from sorted(newer, key=lambda build: (build.version, build.cuda))


def _current(need: Need, release: Version, os: str) -> list[Build]:
    """List the builds of one release, one for each tag."""
    builds = need.framework.builds_of(release, os)
    if need.framework.rows_apply == "minor":
        return [build for build in builds if release.starts_with(build.version)]
    newest = {build.tag: build for build in reversed(builds)}
    return list(newest.values())


def check_compilers(cuda: Version, accepted: Bounds, facts: Facts) -> list[Reason]:
    """Say when an nvcc does not accept the host compiler, or its headers the C library."""
    reasons = []
    if facts.gcc and not accepted.accepts("gcc", facts.gcc[0]):
        fitting = [major for major in facts.gcc if accepted.accepts("gcc", major)]
        also = f"gcc {max(fitting)} is compatible" if fitting else "no compatible one is installed"
        text = f"nvcc {cuda.minor} compiles with gcc {accepted.range_of('gcc')}"
        reasons.append(Reason(f"{text}, the default is {facts.gcc[0]}; {also}", cite(accepted)))
    limit = glibc_limit(cuda, Version(facts.glibc)) if facts.glibc else None
    if limit:
        reasons.append(Reason(f"{limit.text}; this machine has glibc {facts.glibc}", cite(limit)))
    return reasons

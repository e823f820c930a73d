"""Which CUDA releases have the libraries that a build loads by their names."""

from __future__ import annotations

from collections.abc import Sequence

from cudaswitch.compat.drivers import releases
from cudaswitch.compat.frameworks import Framework
from cudaswitch.compat.sonames import differing
from cudaswitch.compat.tables import cite
from cudaswitch.resolver.facts import Reason
from cudaswitch.versions import Version


def exactly(cuda: Version, cuda_min: Version | None) -> Version:
    """Name the release that a build was made with: if only its major is stated, `cuda_min`."""
    return cuda_min if cuda_min and len(cuda.parts) == 1 else cuda


def linked(framework: Framework) -> tuple[str, ...]:
    """List the libraries, besides the runtime, whose names bind the builds of a framework."""
    return framework.links.libraries if framework.links else ()


def serves(here: Version, cuda: Version, links: tuple[str, ...]) -> bool:
    """Tell whether a CUDA has the libraries of another one by their names, as far as is known."""
    return here.major == cuda.major and not differing(links, cuda, here)


def bound(framework: Framework, built: Version) -> str | None:
    """Name the library by which a build is bound to fewer releases than those of its major."""
    return differing(linked(framework), built, _newest(built))


def bound_reasons(framework: Framework, built: Version) -> list[Reason]:
    """Say by which library a build is bound, if that is known of the framework."""
    links, name = framework.links, bound(framework, built)
    if not links or not name:
        return []
    return [Reason(f"it loads {name}, which CUDA {_newest(built)} does not have", cite(links))]


def together(names: Sequence[str]) -> str:
    """Write names as one says them: a, b and c."""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def shortened(names: Sequence[str]) -> str:
    """Write names as `together` does; of more than two, the first and how many others."""
    return f"{names[0]} and {len(names) - 1} others" if names[2:] else together(names)


def _newest(cuda: Version) -> Version:
    return next((it for it in releases() if it.major == cuda.major), cuda)

"""The resolution while the steps fill it in."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from cudaswitch.compat.compilers import Bounds
from cudaswitch.resolver.choice import Absent, Wanted, install_command, request_of
from cudaswitch.resolver.facts import Facts, OwnNvcc, Reason, Rejected
from cudaswitch.resolver.machine import Verdict
from cudaswitch.resolver.needs import Need
from cudaswitch.resolver.own import Lack, incomplete
from cudaswitch.toolkit import Toolkit
from cudaswitch.versions import Version

_TITLES = {"cuda": "CUDA", "cudnn": "cuDNN", "cublas": "cuBLAS"}


class Draft:
    """What the steps have found so far; `ask_absent` is called for toolkits that would do."""

    def __init__(
        self,
        facts: Facts,
        toolkits: Sequence[Toolkit],
        accepts: Callable[[Toolkit], Bounds | None],
        absent: Absent,
    ) -> None:
        self.facts = facts
        self.toolkits = toolkits
        self.accepts = accepts
        self.ask_absent = absent
        self.reasons: list[Reason] = []
        self.needs: list[Need] = []
        self.verdicts: list[Verdict] = []
        self.wanted: Wanted | None = None
        self.conflict = False
        self.toolkit: Toolkit | None = None
        self.absent: tuple[str, ...] = ()
        self.compiler: OwnNvcc | None = None
        self.rejected: list[Rejected] = []
        self.caution: str | None = None
        self.proviso: str | None = None
        self.hint: str | None = None

    @property
    def with_cuda(self) -> list[Need]:
        return [need for need in self.needs if need.cuda]

    @property
    def blind(self) -> list[Need]:
        """The frameworks that need a toolkit and do not find it, as nothing leads to it."""
        if self.conflict or self.facts.brings is None:
            return []
        return [need for need in self.with_cuda if not need.own and not need.by_home]

    @property
    def whole(self) -> Toolkit | None:
        """The chosen toolkit, if it has all that is used of it."""
        return None if self.absent else self.toolkit

    @property
    def lacks(self) -> list[tuple[Need, Lack]]:
        found = [(need, need.lack) for need in self.with_cuda if need.lack]
        for need in () if self.whole else self.with_cuda:
            if need.rest and need.cuda:
                lack = incomplete(need.found, need.cuda, need.rest, self.install_command)
                found.append((need, lack))
        return found

    @property
    def cudnn(self) -> Version | None:
        """The cuDNN that is stated: one that is loaded, or else one inside a wheel."""
        inside = (need.cudnn for need in self.with_cuda if need.cudnn_inside)
        return (self.wanted and self.wanted.cudnn) or next(inside, None)

    @property
    def request(self) -> tuple[str, str | None] | None:
        """The CUDA and the cuDNN to ask for, if a toolkit is wanted."""
        if self.wanted is None:
            return None
        return request_of(self.wanted, self.facts, builds=self.bundled)

    @property
    def install_command(self) -> str:
        """Spell what brings a toolkit that serves, even if one that lacks something is there."""
        if self.wanted is None:
            return ""
        command = install_command(self.wanted, self.facts, builds=self.bundled)
        # `install` would be content with the one that is there; --force replaces it.
        return f"{command} --force" if self.absent else command

    @property
    def bundled(self) -> bool:
        return bool(self.with_cuda) and all(need.own for need in self.with_cuda)

    @property
    def own(self) -> str | None:
        """Spell the parts of the environment's own CUDA that serve the framework that leads."""
        lead = self.wanted.cuda if self.wanted else None
        near = [it for it in self.with_cuda if lead and same_major(it, lead)]
        serving = next((it.serving for it in near if it.serving), ())
        return " and ".join(f"{_TITLES[part.component]} {part.version}" for part in serving) or None

    @property
    def runs(self) -> bool:
        return not self.conflict and not any(verdict.blocks for verdict in self.verdicts)


def same_major(need: Need, cuda: Version) -> bool:
    """Tell whether a framework is for a CUDA of that major."""
    return need.cuda is not None and need.cuda.major == cuda.major

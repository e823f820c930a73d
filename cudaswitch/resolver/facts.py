"""What the resolver is given and what it answers."""

from __future__ import annotations

from typing import Any

from cudaswitch.compat.frameworks import Framework, Gives, frameworks
from cudaswitch.namedtuples import NamedTuple
from cudaswitch.platforms import system_of
from cudaswitch.resolver.releases import release_of
from cudaswitch.versions import Version


class Reason(NamedTuple):
    """One step of an argument and where its fact was read (a file, a table, an option)."""

    text: str
    source: str

    def to_json(self) -> dict[str, str]:
        return {"text": self.text, "source": self.source}


class Claim(NamedTuple):
    """What one place in an environment says about a framework.

    `value` is a version for `cuda`, `cudnn` and `cuda_min`, `cpu` or `gpu` for `gpu`, and
    names such as `sm_80 compute_90` for `archs`. `source` is the file, below the prefix.
    """

    gives: Gives
    value: str
    source: str


class FoundFramework(NamedTuple):
    """A framework in an environment; `claims` come in the order in which to trust them.

    `name` is that of its data file, `dist` what was installed (`tensorflow-gpu`),
    `version` as written there or empty, `origin` who installed it: `pip` or `conda`.
    """

    name: str
    dist: str
    version: str
    origin: str
    source: str
    claims: tuple[Claim, ...] = ()

    @property
    def framework(self) -> Framework:
        """What its data file says."""
        return frameworks()[self.name]

    @property
    def release(self) -> Version | None:
        return release_of(self.version)

    def first(self, *gives: Gives) -> Claim | None:
        """Return the most trusted claim on any of these, None if there is none."""
        return next((claim for claim in self.claims if claim.gives in gives), None)


class Carried(NamedTuple):
    """A package of the environment that brings CUDA (`component` `cuda`, `library`) or cuDNN.

    `cuda` is for which CUDA it is, as far as it says: `12`, `10.1.243`; `kind` is `dist`
    or `conda`. `folder` has the libraries of a conda package and of a cuDNN, and `led` tells that
    activation, or this shell, has that folder in LD_LIBRARY_PATH.
    """

    component: str
    kind: str
    name: str
    version: str
    cuda: str | None
    source: str
    folder: str = ""
    led: bool = False


class OwnNvcc(NamedTuple):
    """An nvcc that the environment brings, of the release `cuda`, with its toolkit in `home`.

    conda's `builds` extensions once the environment is active. That of wheels does not: they lack
    what extensions are linked with.
    """

    cuda: str
    home: str
    source: str
    builds: bool


class Facts(NamedTuple):
    """An environment and a machine as found; None and empty mean unknown.

    `platform` is conda's name. `cc` are the compute capabilities of the GPUs, `gcc` the
    majors of the host compilers, the default one first. `brings` names what shows that the
    environment brings CUDA, because of which LD_LIBRARY_PATH is left alone there. `conda` names
    what installs conda's packages here. `notes` are findings on the way: what could not be read
    and why.
    """

    platform: str
    prefix: str | None = None
    frameworks: tuple[FoundFramework, ...] = ()
    carried: tuple[Carried, ...] = ()
    compiler: OwnNvcc | None = None
    brings: str | None = None
    driver: str | None = None
    driver_source: str = ""
    cc: tuple[str, ...] = ()
    gcc: tuple[int, ...] = ()
    glibc: str | None = None
    conda: str = "conda"
    notes: tuple[Reason, ...] = ()

    @property
    def os(self) -> str:
        """`linux` or `win`."""
        return system_of(self.platform)

    @property
    def gpus(self) -> tuple[Version, ...]:
        """The compute capabilities, to compare."""
        return tuple(map(Version, self.cc))


class Rejected(NamedTuple):
    """An installed toolkit that was not chosen, and why."""

    toolkit: str
    why: str

    def to_json(self) -> dict[str, str]:
        return {"toolkit": self.toolkit, "why": self.why}


class ResolvedFramework(NamedTuple):
    """What was concluded about one framework; `cuda` is None for a build without.

    `label` names it, with its version, to people. If it is not `known`, nothing says for which CUDA
    it is, and None means nothing. `loads` are the libraries whose names tell whether a toolkit is
    of a release that serves it, `opens` the others that it takes from one; if `by_home`, it finds
    one by CUDA_HOME, without LD_LIBRARY_PATH. `by_path` are folders of its environment that it
    looks in only by LD_LIBRARY_PATH. If `cudnn_inside`, it loads no other cuDNN.
    """

    name: str
    label: str
    version: str
    cuda: str | None
    cudnn: str | None
    runs: bool
    bundled: bool
    source: str
    known: bool = True
    loads: tuple[str, ...] = ()
    opens: tuple[str, ...] = ()
    by_home: bool = False
    by_path: tuple[str, ...] = ()
    cudnn_inside: bool = False

    def to_json(self) -> dict[str, Any]:
        inside = ("label", "loads", "opens", "by_home", "by_path", "cudnn_inside")
        return {key: getattr(self, key) for key in self._fields if key not in inside}


class Resolution(NamedTuple):
    """The answer.

    `cuda` and `cudnn` are what the frameworks state, None if none is needed. `runs` tells
    whether this machine can run them, given that toolkit; `bundled` that they bring their
    own CUDA, so that a toolkit only serves to build extensions. `toolkit` names the
    installed one to use, None also if an nvcc that the environment brings builds extensions, which
    `compiler` names. `hint` is the next step, a command if there is one. `caution` says why the
    toolkit, or what the environment brings (`own`), does not serve as it is, `proviso` the same in
    a few words.
    `absent` are the parts that the toolkit lacks although frameworks, or builds (`nvcc`), take
    them from it. `request` is what to ask for, the CUDA and, to run, the cuDNN.
    """

    cuda: str | None
    cudnn: str | None
    runs: bool
    bundled: bool
    toolkit: str | None
    frameworks: tuple[ResolvedFramework, ...] = ()
    reasons: tuple[Reason, ...] = ()
    rejected: tuple[Rejected, ...] = ()
    hint: str | None = None
    caution: str | None = None
    own: str | None = None
    compiler: str | None = None
    proviso: str | None = None
    absent: tuple[str, ...] = ()
    request: tuple[str, str | None] | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "toolkit": self.toolkit,
            "cuda": self.cuda,
            "cudnn": self.cudnn,
            "runs": self.runs,
            "bundled": self.bundled,
            "frameworks": [framework.to_json() for framework in self.frameworks],
            "reasons": [reason.to_json() for reason in self.reasons],
            "rejected": [rejected.to_json() for rejected in self.rejected],
            "hint": self.hint,
        }

"""What WHAT means for install, lock and download; what of it is there, and how to get the rest."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

import click
from click.core import ParameterSource

from cudaswitch import sources, talk
from cudaswitch.automatic import resolved, unknown
from cudaswitch.download.fetching import open_local
from cudaswitch.environments import required_environment
from cudaswitch.errors import (
    ChoiceError,
    CudaswitchError,
    NotInstalledError,
    RequestError,
    SourceError,
)
from cudaswitch.paths import Home
from cudaswitch.platforms import current_platform
from cudaswitch.sources.choosing import source_for
from cudaswitch.sources.components import refuse_unknown
from cudaswitch.staging import refuse_unwritable
from cudaswitch.store import all_present, all_stores, dealias, find
from cudaswitch.toolkit import Toolkit
from cudaswitch.versions import Request, Version, parse_request, quote_request

_WORDS = {
    "cuda": "give the CUDA version alone, without the word cuda",
    "cudnn": "give cuDNN together with a CUDA version",
}
LIBRARY_OF_FILE = "--cudnn requires a version: give cuDNN as a file, too"
"""Why files have no `--cudnn`."""
_OF_VERSION = {
    "cudnn": "--cudnn",
    "source": "--from",
    "channels": "--channel",
    "components": "--components",
}
"""Options that say how to get a version, by their parameters' names."""
_FULL = 3
"""How many parts a version has that names one release, CUDA's and cuDNN's alike."""


def refuse_words(what: Sequence[str]) -> None:
    """Refuse `cudnn 9`, as `search` takes it, with what was meant as the hint."""
    words = [word.lower() for word in what if word.lower() in _WORDS and not _is_known(word)]
    if not words:
        return
    found, key = {"cuda": "VERSION"}, "cuda"
    for word in what:
        if word.lower() in _WORDS:
            key = word.lower()
            found.setdefault(key, "VERSION")
        else:
            found[key], key = quote_request(word), "cuda"
    option = f" --cudnn {found['cudnn']}" if "cudnn" in found else ""
    command = click.get_current_context().command_path
    raise ChoiceError(_WORDS[words[-1]], f"{command} {found['cuda']}{option}")


def refuse_unheeded(why: str) -> None:
    """Refuse options that say how to get a version, on a command line that asks for none."""
    context = click.get_current_context()
    for name, option in _OF_VERSION.items():
        # A mirror may have exact files too, and --from says which source it mirrors.
        serves = name == "source" and context.params["mirror"]
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE and not serves:
            raise click.UsageError(f"{option} requires a version: {why}")


def _is_known(alias: str) -> bool:
    return any(alias in store.aliases() for store in all_stores())


def means_auto(what: str) -> bool:
    """Tell whether a WHAT is `auto`, or an alias for it."""
    return dealias(parse_request(what)).text == "auto"


def chosen_here(what: str) -> tuple[Version | None, bool]:
    """Tell which installed CUDA `auto` means, and whether it lacks what is used of it.

    One that lacks only nvcc runs what is there; a caution tells what brings nvcc for builds.
    """
    kits = all_present() if means_auto(what) else []
    answer = resolved(required_environment(os.environ, ""), kits) if kits else None
    chosen = next((kit.version for kit in kits if answer and kit.name == answer.toolkit), None)
    if answer and answer.absent == ("nvcc",):
        talk.caution(CudaswitchError(f"{answer.toolkit} lacks nvcc", answer.hint))
        return chosen, False
    return chosen, bool(answer and answer.absent)


def wanted(what: str, cudnn: str | None) -> Request:
    """Return the request for a WHAT that names no file; `auto` is what the environment needs.

    Raises SourceError if only a folder, or something else that is not a file, has that name.
    """
    request = parse_request(what, cudnn)
    if request.is_alias and os.path.lexists(what) and not _is_known(request.text):
        open_local(Path(what))
        hint = f"if you mean the file of that name: ./{quote(what)}"
        raise NotInstalledError(f"there is no alias `{what}`", hint)
    request = dealias(request)
    if request.text == "system":
        raise RequestError("`system` cannot be installed", "cudaswitch adopt --scan")
    if request.text != "auto":
        return request
    environment = required_environment(os.environ, request.asked)
    resolution = resolved(environment, [])
    if resolution.request is None:
        why = unknown(environment, resolution) or f"nothing in `{environment.prefix}` needs CUDA"
        raise RequestError(why, "cudaswitch resolve explains why")
    cuda, library = resolution.request
    return parse_request(cuda, cudnn or library)


@dataclass(frozen=True)
class Order:
    """How to get a request for the store `home`, as the options of `install` say.

    With `anew`, it does not matter what is there. With `fitting`, it is enough that something
    there fits, the `chosen` CUDA before others; otherwise a version that is not given in full
    means the newest one available. `names_components` says that components were named.
    """

    home: Home
    source: str | None
    channels: tuple[str, ...]
    components: str
    platform: str | None
    offline: bool
    work: Path
    anew: bool
    fitting: bool
    chosen: Version | None
    names_components: bool

    def supply(self, request: Request) -> Toolkit | sources.Delivery:
        """Return the installed toolkit that will do, or else what the source brings for one."""
        got = self._supplied(request)
        if isinstance(got, Toolkit):
            source, why = self._source(request)
            # There is a reason only if nobody has named the source.
            self._tell_unheeded(got, source if why is None and got.source != source else None)
        return got

    def _supplied(self, request: Request) -> Toolkit | sources.Delivery:
        # Options that name an impossible source are refused, whatever is there.
        sources.require(self._source(request)[0], self.channels)
        if self.anew or self.platform:
            return self._whole(request)
        exact = request._replace(text=str(self.chosen)) if self.chosen else request
        present = _present(exact) or _present(request)
        if present and (self.fitting or self.offline):
            self._refuse_odd_components(request)
            if not (self.fitting or _is_full(request.text, request.cudnn)):
                talk.say(f"using CUDA {present.name}: offline, no newer one is looked for")
            return present
        ground = self._ground(request)
        if ground is None:
            return self._whole(request)
        self._refuse_odd_components(request)
        exact = request._replace(text=str(ground.version))
        if request.wanted_cudnn is None:
            return _present(exact) or self._whole(request)
        kit = _present(exact)
        if kit and self._has_newest_library(kit, exact):
            return kit
        refuse_unwritable(self.home)
        index, why = self._index(exact)
        found = index.obtain_cudnn(
            str(request.cudnn),
            ground.version,
            workdir=self.work,
            platform=current_platform(),
            offline=self.offline,
        )
        _tell(why)
        self._tell_unheeded(ground)
        return found

    def _tell_unheeded(self, kit: Toolkit, source: str | None = None) -> None:
        """Say that a toolkit stays as it is, if the options ask for another one.

        `source` is the one that is asked for, if the toolkit is not from there.
        """
        if source or self.names_components:
            whence = {"system": "adopted", "file": "from a file"}
            shown = whence.get(kit.source, f"from {kit.source}")
            talk.say(f"CUDA {kit.version} is already installed, {shown}")
            # An adopted toolkit has no source that could bring it again.
            anew = "installs another one" if kit.source == "system" else "reinstalls it"
            force = f"installs that of {source}, if there is one" if source else anew
            talk.hint(f"--force {force}")

    def _refuse_odd_components(self, request: Request) -> None:
        try:
            refuse_unknown(self.components)
        except RequestError:
            if self.offline:
                raise
            index, _ = self._index(request)
            with contextlib.suppress(SourceError):
                # The source has a component that is new, or it names those that it has.
                index.choose(
                    request,
                    components=self.components,
                    workdir=self.work,
                    platform=current_platform(),
                    offline=False,
                )
                return
            raise

    def _ground(self, request: Request) -> Toolkit | None:
        """Return the installed toolkit whose CUDA will do, whatever cuDNN it has."""
        kit = _present(request._replace(cudnn=None))
        if kit is None or self.fitting or self.offline or _is_full(request.text):
            return kit
        index, _ = self._index(request)
        newest = _asked(
            f"CUDA {kit.version}", lambda: index.newest(request, platform=current_platform())
        )
        return kit if newest is None or kit.version >= newest else None

    def _has_newest_library(self, kit: Toolkit, request: Request) -> bool:
        cudnn = str(request.cudnn)
        if kit.cudnn is None or _is_full(cudnn):
            return True
        index, _ = self._index(request)
        newest = _asked(
            f"cuDNN {kit.cudnn}",
            lambda: index.newest_cudnn(cudnn, kit.version, platform=current_platform()),
        )
        return newest is None or kit.cudnn >= newest

    def _whole(self, request: Request) -> sources.Delivery:
        refuse_unwritable(self.home)
        index, why = self._index(request)
        found = index.obtain(
            request,
            components=self.components,
            workdir=self.work,
            platform=self.platform or current_platform(),
            offline=self.offline,
        )
        _tell(why)
        return found

    def _index(self, request: Request) -> tuple[sources.Index, str | None]:
        source, why = self._source(request)
        return sources.index(source, self.channels), why

    def _source(self, request: Request) -> tuple[str, str | None]:
        return source_for(request, self.source, self.channels)


def _tell(why: str | None) -> None:
    if why:
        talk.say(why)


def _asked(there: str, ask: Callable[[], Version]) -> Version | None:
    """Ask a source for the newest version; None if what is installed will have to do."""
    try:
        return ask()
    except SourceError as error:
        talk.say(f"using {there}, as no newer one could be looked up: {error.message}")
        return None


def _is_full(*versions: str | None) -> bool:
    """Tell whether versions name one release each; what is not asked for does not matter."""
    given = [text for text in versions if text not in (None, "none")]
    prefixes = [Request(str(text)).prefix for text in given]
    return all(prefix is not None and len(prefix.parts) >= _FULL for prefix in prefixes)


def _present(request: Request) -> Toolkit | None:
    try:
        return find(request)
    except NotInstalledError:
        return None

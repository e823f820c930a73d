"""conda channels: where they are, and which packages of CUDA they have for a platform."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple

from cudaswitch import settings
from cudaswitch.download.access import ANYBODY, Access
from cudaswitch.download.several import WantedFile
from cudaswitch.download.urls import redact
from cudaswitch.errors import NotFoundError, RequestError, SourceError
from cudaswitch.platforms import at_home
from cudaswitch.shells.spelling import setting_here
from cudaswitch.sources.condarc import Condarc, read_condarc
from cudaswitch.sources.repodata import read_channel
from cudaswitch.talk import say
from cudaswitch.toolkit import is_sha256
from cudaswitch.versions import Version, is_version

ALIAS = "https://conda.anaconda.org"
"""Base URL of channels that have a plain name; the setting `mirrors.conda` names a mirror."""
NAMED = {"defaults": "https://repo.anaconda.com/pkgs/main"}
CHANNELS = ("conda-forge", "nvidia", "defaults")
"""The channels that are asked, in this order, if neither our settings nor conda's name any."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(?:/[A-Za-z0-9][A-Za-z0-9._-]*)*", re.ASCII)
_URL = re.compile(r"(?:https?|file)://.+")
_FILE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+!-]*\.(?:conda|tar\.bz2)", re.ASCII)


@dataclass(frozen=True)
class Record:
    """A package as described by a channel's index; `data` is the whole record, unchecked."""

    file: str
    folder: str
    name: str
    version: Version
    build: str
    depends: tuple[str, ...]
    data: Mapping[str, Any]
    access: Access = ANYBODY

    @property
    def rank(self) -> tuple[Version, int, bool]:
        """Order the records of one name: newest version, newest build, the quicker format."""
        number = self.data.get("build_number")
        return self.version, number if isinstance(number, int) else 0, self.file.endswith(".conda")

    def wanted(self) -> WantedFile:
        """Return the file to download. Raises SourceError if it could not be verified."""
        sha256, size = self.data.get("sha256"), self.data.get("size")
        if not isinstance(sha256, str) or not is_sha256(sha256.lower()):
            raise self._unusable("sha256")
        if type(size) is not int or size <= 0:
            raise self._unusable("size")
        return WantedFile(f"{self.folder}/{self.file}", sha256.lower(), size, self.access)

    def _unusable(self, what: str) -> SourceError:
        return SourceError(
            f"the index of `{redact(self.folder)}` does not state the {what} of {self.file}",
            "use another channel with --channel, or another source with --from",
        )


class Channel:
    """A channel, and its records of CUDA for one platform, read when they are first asked for."""

    def __init__(self, place: Place, platform: str, *, offline: bool) -> None:
        self.name, self._urls, self.access = place
        self._platform, self._offline = platform, offline
        self.unread = False
        """Whether one of its indexes is missing from the cache and may not be downloaded."""

    @property
    def url(self) -> str:
        """The channel's URL: of several mirrors, the first that has answered."""
        return self._urls[0]

    @cached_property
    def own(self) -> tuple[Record, ...]:
        """The packages built for the platform; up to CUDA 11 there are no others."""
        return self._records(self._platform)

    @cached_property
    def everything(self) -> tuple[Record, ...]:
        """Those of `own`, and those for every platform: parts of CUDA from 12 on are among them."""
        return (*self.own, *self._records("noarch"))

    def _records(self, subdir: str) -> tuple[Record, ...]:
        first: SourceError | None = None
        for url in self._urls:
            try:
                found = read_channel(f"{url}/{subdir}", offline=self._offline, access=self.access)
            except NotFoundError:
                self.unread |= self._offline and not url.startswith("file:")
                return ()
            except SourceError as error:
                first = first or error
                continue
            # Packages that belong together must come from one mirror.
            self._urls = (url,)
            records = (_record(file, self, subdir, data) for file, data in found.items())
            return tuple(filter(None, records))
        raise first or SourceError(f"channel {self.name} has no location")


class Place(NamedTuple):
    """A channel's name, the URLs of its mirrors in their order, and how they are reached."""

    name: str
    urls: tuple[str, ...]
    access: Access = ANYBODY


def places(name: str, conda: Condarc) -> list[Place]:
    """Return where a channel is, given as a URL, a path, `defaults` or a name such as `nvidia`.

    conda's settings for that name come first: mirrors, several channels under one name,
    a place of its own.
    """
    if name in conda.mirrored_channels:
        urls = tuple(channel_url(one, conda) for one in conda.mirrored_channels[name])
        return [Place(name, urls, conda.access)] if urls else []
    several = conda.custom_multichannels.get(name)
    if name == "defaults":
        several = several or conda.default_channels
    if several:
        return [Place(one, (channel_url(one, conda),), conda.access) for one in several]
    return [Place(name, (channel_url(name, conda),), conda.access)]


def channel_url(name: str, conda: Condarc) -> str:
    """Return the URL of one channel."""
    if _URL.fullmatch(name):
        return name.rstrip("/")
    if name.startswith((".", "~", os.sep)):
        folder = Path(at_home(name)).absolute()
        if not os.path.isdir(folder):
            raise RequestError(
                f"there is no channel in `{folder}`",
                "name the folder that contains linux-64 or noarch",
            )
        return folder.as_uri()
    if not _NAME.fullmatch(name):
        raise RequestError(
            f"`{redact(name)}` is not a channel",
            "give a name such as conda-forge or nvidia/label/cuda-12.4.1, a URL or a path",
        )
    known = name
    while known:
        if known in conda.custom_channels:
            return f"{conda.custom_channels[known]}/{name}"
        known = known.rpartition("/")[0]
    alias = settings.value("mirrors.conda") or conda.channel_alias or ALIAS
    return NAMED.get(name) or f"{alias.rstrip('/')}/{name}"


def condas_settings(*, offline: bool) -> Condarc:
    """Return conda's settings, for access to channels; says so if certificates are not checked."""
    conda = read_condarc(os.environ)
    if conda.access.verify is False and not conda.offline and not offline:
        _tell_of_certificates()
    return conda


@cache
def _tell_of_certificates() -> None:
    """Say it once, however often a command asks for the settings."""
    say("conda channels' certificates are not checked: conda's settings have `ssl_verify` false")


def chosen_channels(names: Sequence[str], platform: str, *, offline: bool) -> list[Channel]:
    """Return the channels with these names, or the usual ones if there are none, in order."""
    conda = condas_settings(offline=offline)
    found = [place for name in names or usual_channels() for place in places(name, conda)]
    return [Channel(place, platform, offline=offline or conda.offline) for place in found]


def refuse_unread(what: str, channels: Sequence[Channel]) -> None:
    """Raise SourceError if `what` may be missing only because an index was not read offline."""
    if unread := [channel for channel in channels if channel.unread]:
        why, hint = "", settings.way_online()
        if read_condarc(os.environ).offline:
            why = " (conda's settings have `offline` true)"
            hint = "conda config --set offline false"
            if os.environ.get("CONDA_OFFLINE"):
                hint = setting_here("CONDA_OFFLINE", "")
        said = f"no {what} is known offline{why}: the cache has no index of {shown_names(unread)}"
        raise SourceError(said, hint)


def shown_names(channels: Sequence[Channel]) -> str:
    """Name channels as messages do."""
    return ", ".join(f"`{redact(channel.name)}`" for channel in channels)


def usual_channels() -> Sequence[str]:
    """Return the names of the channels that are asked if the command names none."""
    return settings.value("channels") or read_condarc(os.environ).channels or CHANNELS


def _record(file: str, channel: Channel, subdir: str, data: Mapping[str, Any]) -> Record | None:
    """Check what choosing needs of a record; None if the record is of no use."""
    name, text, build = (data.get(key) for key in ("name", "version", "build"))
    depends = data.get("depends", [])
    if not (isinstance(name, str) and isinstance(text, str) and isinstance(build, str)):
        return None
    if not isinstance(depends, list) or not all(isinstance(one, str) for one in depends):
        return None
    stem = f"{name}-{text}-{build}"
    if file not in (f"{stem}.conda", f"{stem}.tar.bz2") or not _FILE.fullmatch(file):
        return None
    if not is_version(text):
        return None
    folder = f"{channel.url}/{subdir}"
    access = channel.access
    return Record(file, folder, name, Version(text), build, tuple(depends), data, access)

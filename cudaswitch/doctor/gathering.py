"""Gather the facts that rules look at: everything is read here, once, and nothing changed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from cudaswitch import settings, shells, startfiles, startup
from cudaswitch.activation import applied
from cudaswitch.changing import own_store
from cudaswitch.compat.compilers import GlibcLimit
from cudaswitch.compat.sonames import soname
from cudaswitch.decision import Decision, decide, instead_of, version_file, working_directory
from cudaswitch.detect.facts import facts_of
from cudaswitch.detect.toolkits import absent
from cudaswitch.doctor import folders
from cudaswitch.doctor.hooked import hooks_of, kernels_of, pinned, scripts_of
from cudaswitch.doctor.loading import found_by_loader, in_wheels, strangers
from cudaswitch.doctor.model import Away, Facts, Integration, Kit
from cudaswitch.doctor.scripts import settings_of
from cudaswitch.environments import (
    active_environment,
    pin_of,
    pinned_environment,
    read_request,
)
from cudaswitch.errors import CudaswitchError, NotInstalledError
from cudaswitch.holders import written_pins
from cudaswitch.hostcompiler import bounds, limit_of_glibc
from cudaswitch.paths import MANIFEST, Home, home
from cudaswitch.platforms import expanded, home_folder
from cudaswitch.programs import why_closed
from cudaswitch.regular import read_regular, toolkit_is_there
from cudaswitch.resolver import resolve
from cudaswitch.sources.system import is_newer_than
from cudaswitch.store import Store, all_stores, all_toolkits, dealias, find, out_of_reach
from cudaswitch.toolkit import Toolkit
from cudaswitch.versions import Request, Version, parse_request

_ENV_LIMIT = 1 << 20
"""Bytes of a project's `.env`."""
_READ = ("bash", "zsh", "fish", "sh")
"""The shells whose syntax is read."""


def gather(variables: Mapping[str, str]) -> Facts:
    """Look at the shell with these variables, at its environment, and at this machine."""
    folders.forget()
    environment = active_environment(variables)
    prefix = Path(environment.prefix) if environment else None
    needs = facts_of(prefix)
    kits = all_toolkits()
    lost = [kit for kit in kits if not toolkit_is_there(kit.ground)]
    # Only toolkits that can be used here may be proposed.
    usable = [kit for kit in kits if kit.platform == needs.platform and kit not in lost]
    resolution = resolve(needs, usable, absent=absent)
    nvcc = tuple(folders.tools("nvcc", variables))
    homes = dict(folders.homes(variables))
    home_kit = homes.get("CUDA_HOME")
    active = home_kit or (nvcc[0].kit if nvcc else None)
    loaded = [name for one in resolution.frameworks for name in (*one.loads, *one.opens)]
    runtime = soname("cudart", active.version) if active and active.version else None
    login = shells.login_shell(variables)
    shell = shells.running_row(variables).name
    pins = pinned(variables)
    on = applied(variables)
    foreign = strangers(variables, environment, resolution) if environment and needs.brings else ()
    decided, unanswered = _decided(variables)
    asking = _asking(variables)
    return Facts(
        variables=variables,
        shell=shell,
        path=folders.listed(variables, "PATH"),
        ld_library_path=folders.listed(variables, "LD_LIBRARY_PATH"),
        homes=homes,
        nvcc=nvcc,
        ptxas=tuple(folders.tools("ptxas", variables)),
        needs=needs,
        resolution=resolution,
        active=active,
        installed=tuple(sorted(usable, key=lambda kit: kit.version)),
        parts={kit.path: folders.parts_of(kit.path) for kit in usable},
        wanted=dict(_wanted(asking)),
        applied=on.home if on else None,
        closed=why_closed(f"{home_kit.home}/bin/nvcc", "") if home_kit else None,
        decided=decided,
        instead=instead_of(decided.want.home, variables) if decided else None,
        unanswered=unanswered,
        asking=next(iter(asking), None),
        environment=environment,
        strangers=foreign,
        loads=found_by_loader(variables, [*loaded, *filter(None, [runtime])]),
        wheels=in_wheels(environment) if environment and needs.brings else {},
        conf=tuple(folders.loader_configuration()),
        local_cuda=folders.link_to_nothing(Path("/usr/local/cuda")),
        other_kits=folders.usual_toolkits(),
        wsl=os.path.exists("/usr/lib/wsl/lib/libcuda.so.1"),
        settings=tuple(one for at in _startup_files(login, variables) for one in settings_of(at)),
        scripts=tuple(scripts_of(environment)) if environment else (),
        hooks=tuple(hooks_of(pins)),
        kernels=tuple(kernels_of(variables, pins)),
        project=_project(Path(working_directory(variables)), variables),
        integration=_integration(shell, variables) or _integration(login, variables),
        libdevice=folders.libdevice(environment, active),
        xla_sees=folders.seen_by_xla(variables, prefix),
        xla_data=folders.bad_xla_data(variables),
        # A shared store's losses are for its maintainer, and a toolkit that is away comes back.
        lost={
            kit: tuple(_waiting_for(kit))
            for kit in all_stores()[0].toolkits()
            if kit in lost and not out_of_reach(kit)
        },
        unrecorded=_unrecorded(),
        upgraded=dict(_upgraded(all_stores()[0])),
        away=_away(lost),
        store_link=folders.link_to_nothing(home().root),
        accepts=bounds(Path(active.home), active.version) if active and active.version else None,
        glibc_limit=_glibc_limit(active, prefix, needs.glibc) if active else None,
        hosts=folders.lost_compilers(variables),
    )


def _glibc_limit(kit: Kit, prefix: Path | None, glibc: str | None) -> GlibcLimit | None:
    """Find what keeps a toolkit from compiling; conda's compilers bring their own C library."""
    if kit.version is None or (prefix and any(prefix.glob("*-conda*-linux-gnu/sysroot"))):
        return None
    return limit_of_glibc(Path(kit.home), kit.version, glibc)


def _upgraded(store: Store) -> Iterator[tuple[Toolkit, Version]]:
    for kit in store.toolkits():
        now = None if kit.packages else folders.kit_at(kit.path)
        # The patch number depends on the file that it is read from.
        if now and now.version and now.version.minor != kit.version.minor:
            record = store.home.at("toolkits", kit.name, MANIFEST)
            with suppress(OSError):
                if is_newer_than(kit.path, record):
                    yield kit, now.version


def _unrecorded() -> tuple[str, ...]:
    # If the store cannot be read, other code that reads it reports that.
    with suppress(CudaswitchError):
        return tuple(own_store().unrecorded())
    return ()


def _away(lost: Sequence[Toolkit]) -> Away | None:
    """Return the shared stores that are not there, None if all are."""
    found, named = settings.asked("stores"), settings.value("stores")
    away = [at for at in named if Store(Home(expanded(at)), shared=True).is_away()]
    variable = settings.SETTINGS["stores"].variable or ""
    if not away:
        return None
    below = [(kit, out_of_reach(kit)) for kit in lost]
    return Away(
        tuple(away),
        tuple(at for at in named if at not in away),
        variable if found.origin == variable else "",
        tuple(kit.name for kit, store in below if store and store.is_away()),
    )


def _asking(variables: Mapping[str, str]) -> dict[str, Callable[[], Request]]:
    """Return who asks here, the strongest first: a variable, files; and what reads each request."""
    found: dict[str, Callable[[], Request]] = {}
    if asked := variables.get("CUDASWITCH_VERSION"):
        found["CUDASWITCH_VERSION"] = partial(parse_request, asked)
    if pinned := pinned_environment(variables):
        found[pinned.pin_file] = partial(pin_of, pinned)
    nearest, everywhere = None, home().at("global")
    with suppress(CudaswitchError):
        nearest = version_file(working_directory(variables), variables)
    for file in filter(None, (nearest, everywhere if os.path.exists(everywhere) else None)):
        found.setdefault(file, partial(read_request, file))
    return found


def _wanted(asking: Mapping[str, Callable[[], Request]]) -> Iterator[tuple[str, str]]:
    """Yield who asks here, and the request, as far as it can be read."""
    for who, read in asking.items():
        with suppress(CudaswitchError):
            yield f"`{who}`" if who != "CUDASWITCH_VERSION" else who, read().text


def _decided(variables: Mapping[str, str]) -> tuple[Decision | None, CudaswitchError | None]:
    """Return what is asked for here and by whom, or why that has no answer."""
    try:
        return decide(variables, working_directory(variables)), None
    except CudaswitchError as error:
        return None, error


def _waiting_for(kit: Toolkit) -> Iterator[str]:
    """Yield the holders of pins that a toolkit which is gone would answer, and no other does."""
    for record in written_pins():
        if record.hooked is not None:
            if record.hooked == kit.path:
                yield record.shown
            continue
        with suppress(CudaswitchError):
            request = dealias(read_request(record.path))
            try:
                find(request)
            except NotInstalledError:
                if kit.fits(request):
                    yield record.shown


def _startup_files(shell: str, variables: Mapping[str, str]) -> list[Path]:
    if home_folder(variables) is None:
        return []
    places = startfiles.folders(variables)
    row = shells.SHELLS[shell]
    known = (*row.startup, *startfiles.BESIDE[shell]) if shell in _READ else ()
    found = [Path(text.format(**places)) for text in known]
    return [path for path in dict.fromkeys(found) if os.path.isfile(path)]


def _project(directory: Path, variables: Mapping[str, str]) -> tuple[str, str] | None:
    top = Path(home_folder(variables) or "/")
    for folder in (directory, *directory.parents):
        if folder == top:
            return None
        if os.path.isdir(folder / ".vscode"):
            text = ""
            with suppress(OSError):
                text = read_regular(folder / ".env", _ENV_LIMIT).decode("utf-8", "replace")
            return str(folder), text
    return None


def _integration(shell: str, variables: Mapping[str, str]) -> Integration | None:
    row = shells.TYPED[shell]
    found = startfiles.loaded_by(row, variables) if row.startup else None
    if found is None:
        return None
    path, loads = found
    if not startfiles.has_line(path):
        closed = not loads and startup.is_closed(row, variables)
        return Integration(shell, str(path), loads, closed=closed)
    lines = startfiles.second_lines(row, path, variables)
    twice = next((one for one in lines if one.along), None)
    return Integration(shell, str(path), loads, startfiles.ready_fault(row, path), twice)

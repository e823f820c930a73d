"""Commands that write requests down: pin and unpin."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import click

from cudaswitch import hooks, pins, talk
from cudaswitch.activation import chosen
from cudaswitch.bundled import bundles_cuda
from cudaswitch.cli import options, output
from cudaswitch.decision import NOTHING, decide, version_file, working_directory
from cudaswitch.environments import (
    Environment,
    active_environment,
    entered,
    environment_at,
    pinned_environment,
)
from cudaswitch.errors import CudaswitchError, EnvironmentNotFoundError
from cudaswitch.named import environment_named
from cudaswitch.paths import home, identity
from cudaswitch.regular import why_no_folder
from cudaswitch.shells.spelling import setting_here
from cudaswitch.store import dealias
from cudaswitch.telling import way_out
from cudaswitch.toolkit import Toolkit
from cudaswitch.versions import VERSION_FILE, Request, parse_request

_Function = TypeVar("_Function", bound=Callable[..., object])


def place_options(function: _Function) -> _Function:
    """Add the options that say where a pin is: environment, directory or user."""
    for option in (
        click.option(
            "--global", "for_user", is_flag=True, help="For your user account, everywhere."
        ),
        click.option(
            "--dir",
            "directory",
            type=options.FromHome(path_type=Path),
            help="A directory tree (its .cuda-version).",
        ),
        options.prefix,
        options.name,
    ):
        function = option(function)
    return function


def chosen_place(
    name: str | None, prefix: Path | None, directory: Path | None, for_user: bool
) -> Environment | Path:
    """Return the environment or file that the options name: by default the active
    environment, else this directory."""
    if sum(map(bool, (name is not None, prefix, directory, for_user))) > 1:
        raise click.UsageError("give only one of -n, -p, --dir and --global")
    if for_user:
        return home().global_pin
    if name is not None:
        return environment_named(name, os.environ)
    if prefix:
        return environment_at(prefix)
    if not directory and (active := _active()):
        return active
    folder = directory.absolute() if directory else Path(working_directory(os.environ))
    if told := why_no_folder(folder):
        raise EnvironmentNotFoundError(f"`{folder}` {told[0]}", told[1])
    return Path(os.path.normpath(folder), VERSION_FILE)


def _active() -> Environment | None:
    """Return the active environment. If the one entered last is gone, no other steps in."""
    last = next(iter(entered(os.environ)), None)
    if last and (told := why_no_folder(last)):
        raise EnvironmentNotFoundError(
            f"`{last}`, the active environment, {told[0]}",
            "deactivate it, or choose a place: --dir ., -n ENV or -p PREFIX",
        )
    return active_environment(os.environ)


@click.command(epilog=output.examples("cudaswitch pin 10.1 --cudnn 7.6 -n thesis"))
@click.argument("request")
@options.cudnn
@options.libraries
@options.gpus
@place_options
def pin(
    request: str,
    cudnn: str | None,
    libraries: str | None,
    gpus: str | None,
    name: str | None,
    prefix: Path | None,
    directory: Path | None,
    for_user: bool,
) -> None:
    """Pin REQUEST for an environment, a directory tree or yourself.

    REQUEST is as for `use`. The default is the active environment or, if none is active, this
    directory. An environment gets hooks that switch on activation and undo it on deactivation. They
    work without `cudaswitch init` in bash, zsh, dash, fish, tcsh and the like, and in xonsh under
    conda or `source-bash`; Nushell and PowerShell need it. The version file of a directory is
    rewritten, without its comments; `unpin` deletes it.
    """
    asked = parse_request(request, cudnn, libraries, gpus=gpus)
    is_auto = dealias(asked).text == "auto"
    place = chosen_place(name, prefix, directory, for_user)
    bundled = None if isinstance(place, Path) else bundles_cuda(place.prefix)
    talk.warn_of_forced_libraries(asked.libraries, bundled)
    if isinstance(place, Path):
        kit = pins.pin_file(place, asked)
        auto = "what the active environment needs" if is_auto else None
        talk.say(f"`{place}` asks for {_told(asked, kit, auto)}")
        _tell_of_stronger(place, kit)
        return
    decision = pins.pin_environment(place, asked)
    kit = decision.toolkit
    nothing = "" if decision.caution else ", and nothing there needs a toolkit"
    auto = f"`{asked.text}`{nothing}" if is_auto else None
    talk.say(f"`{place.prefix}` is pinned to {_told(asked, kit, auto)}")
    if is_auto and not kit and not decision.caution:
        talk.hint(f"cudaswitch resolve -p {shlex.quote(str(place.prefix))} explains why")
    if kit:
        from cudaswitch.cli.outcome import tell_of_building  # noqa: PLC0415  # `unpin` needs none

        tell_of_building(kit, decision.want.compiler)
    if unfit := hooks.misread(place):
        talk.say(
            f"conda misreads its path ({' '.join(map(repr, unfit))}) once it has scripts there"
        )
        talk.hint("move it to a folder without these, or pin a directory with --dir")
    talk.caution(decision.caution)
    if bundled and asked.libraries is None and not decision.caution:
        talk.say(f"LD_LIBRARY_PATH is left alone there: it brings its own CUDA ({bundled})")
    _tell_of_stronger(place, kit)


def _tell_of_stronger(place: Environment | Path, kit: Toolkit | None) -> None:
    """Say what takes precedence here over a pin that would otherwise apply."""
    directory = working_directory(os.environ)
    if isinstance(place, Path):
        file = str(place)
        applying = version_file(directory, os.environ), str(home().global_pin)
        holds_here = identity(file) in {identity(at) for at in applying if at}
    else:
        file, active = str(place.pin_file), active_environment(os.environ)
        holds_here = active is not None and identity(active.prefix) == identity(place.prefix)
    try:
        decision = decide(os.environ, directory)
    except CudaswitchError:
        return
    if decision is NOTHING:  # `auto` for all, and no environment is active
        return
    asker = decision.origin.rpartition(":")[0] or decision.origin
    is_it = identity(asker) == identity(file)  # shells keep the links in their names for it
    if not holds_here or is_it or (kit and decision.toolkit == kit):
        return
    there = decision.toolkit.name if decision.toolkit else "no toolkit"
    if chosen(os.environ):
        talk.say(f"this shell uses {there}, chosen with `use`")
        talk.hint(way_out())
        return
    pinned, hint = pinned_environment(os.environ), None
    if pinned and asker == str(pinned.pin_file):
        asker = f"the pin of `{pinned.prefix}`"
        hint = f"cudaswitch unpin -p {shlex.quote(str(pinned.prefix))}"
    elif os.path.basename(asker) == VERSION_FILE:
        hint = _unpinning(asker)
    elif asker == "CUDASWITCH_VERSION":
        hint = setting_here(asker, "")
    talk.say(f"in this shell {asker} takes precedence, and requests {there}")
    if hint:
        talk.hint(hint)


def _told(asked: Request, kit: Toolkit | None, auto: str | None) -> str:
    """Say what a pin requests, and which toolkit that is now; `auto` stands in for none."""
    if kit is None:
        return auto or "no toolkit"
    if kit.name == str(asked):
        return kit.name
    library = "" if asked.cudnn is None else f" with cuDNN {asked.cudnn}"
    library = " without cuDNN" if asked.cudnn == "none" else library
    return f"{asked.text}{library} (now {kit.name})"


@click.command(epilog=output.examples("cudaswitch unpin -n thesis"))
@place_options
def unpin(name: str | None, prefix: Path | None, directory: Path | None, for_user: bool) -> None:
    """Remove a pin, and with it an environment's hooks.

    The default is the pin of the active environment or, if none is active, of this directory.
    """
    place = chosen_place(name, prefix, directory, for_user)
    if isinstance(place, Path):
        done, told = pins.unpin_file(place), f"removed `{place}`"
    else:
        done, told = pins.unpin_environment(place), f"`{place.prefix}` is no longer pinned"
    if not done:
        is_named = name is not None or prefix or directory or for_user
        here = None if is_named else version_file(working_directory(os.environ), os.environ)
        raise CudaswitchError(
            _no_pin(place, for_user),
            _unpinning(here) if here else "cudaswitch list shows what pins each toolkit",
        )
    talk.say(told)


def _unpinning(file: str) -> str:
    """Spell the command that removes a version file."""
    return f"cudaswitch unpin --dir {shlex.quote(os.path.dirname(file))}"


def _no_pin(place: Environment | Path, for_user: bool) -> str:
    if not isinstance(place, Path):
        return f"`{place.prefix}` is not pinned"
    if os.path.lexists(place):
        return f"`{place}` has no pin"
    missing = f"`{place.name}` in `{place.parent}`"
    return f"there is no {'global pin' if for_user else missing}"

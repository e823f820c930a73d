"""Commands as the person's shell spells them."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable

from cudaswitch.doctor.model import Facts, Folder, Hook
from cudaswitch.shells import quote_fish
from cudaswitch.versions import Request, Version

_SET = {"fish": ("set -gx {name} {value}", "set -e {name}", quote_fish)}
_POSIX: tuple[str, str, Callable[[str], str]] = (
    "export {name}={value}",
    "unset {name}",
    shlex.quote,
)


def setting(facts: Facts, name: str, value: str) -> str:
    """Spell a command that sets a variable, or takes it away for an empty value."""
    set_it, unset, quote = _SET.get(facts.shell, _POSIX)
    return set_it.format(name=name, value=quote(value)) if value else unset.format(name=name)


def without(facts: Facts, name: str, folders: Iterable[Folder], *leave: Folder) -> str:
    """Spell a command that sets a list to `folders` but for those to leave out."""
    kept = [one.text for one in folders if one not in leave and one.text]
    return setting(facts, name, ":".join(kept))


def put_first(facts: Facts, name: str, folder: str) -> str:
    """Spell a command that puts a folder in front of a list."""
    rest = [at for at in facts.get(name).split(":") if at and at != folder]
    return setting(facts, name, ":".join([folder, *rest]))


def first_that_fits(facts: Facts, version: str) -> str:
    """Spell a command that brings a CUDA version into this shell, installing it if need be.

    Without the shell function of the integration, `env` brings the same.
    """
    there = any(kit.version.starts_with(Version(version)) for kit in facts.installed)
    use = use_command(facts, version)
    return use if there else f"cudaswitch install {version} && {use}"


def use_command(facts: Facts, request: str) -> str:
    if facts.shell == "fish":
        return f"cudaswitch env {shlex.quote(request)} --shell fish | source"
    return f'eval "$(cudaswitch env {shlex.quote(request)} --shell {facts.shell})"'


def what_to_install(request: Request) -> str:
    """Spell the arguments of `install` for a request, which knows no other part of it."""
    cudnn = f" --cudnn {shlex.quote(request.cudnn)}" if request.cudnn else ""
    return shlex.quote(request.text) + cudnn


def pin_command(hook: Hook) -> str:
    """Spell a command that pins an environment again; one that cannot be read is taken away."""
    prefix = shlex.quote(str(hook.environment.prefix))
    if hook.request is None:
        return f"cudaswitch unpin -p {prefix}"
    options = {"libraries": hook.request.libraries, "gpus": hook.request.gpus}
    words = [f"--{name} {shlex.quote(value)}" for name, value in options.items() if value]
    return " ".join(["cudaswitch pin", what_to_install(hook.request), *words, "-p", prefix])

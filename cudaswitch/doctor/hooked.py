"""The state of the hooks of pinned environments, compared with what would be written now."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from cudaswitch.activation import Want
from cudaswitch.decision import answer, answer_to_pin
from cudaswitch.detect.reading import RECORD_LIMIT, Reading
from cudaswitch.doctor.folders import is_inside
from cudaswitch.doctor.model import Hook, Kernel, Script
from cudaswitch.doctor.scripts import exit_in, settings_of
from cudaswitch.environments import (
    Environment,
    environment_at,
    pin_of,
    standing_environments,
)
from cudaswitch.errors import CudaswitchError
from cudaswitch.holders import written_pins
from cudaswitch.hooks import (
    half_hooked_scripts,
    holds,
    hook_texts,
    shared_texts,
    unhooked_scripts,
    watched_since,
)
from cudaswitch.platforms import xdg
from cudaswitch.regular import is_there, names_of, read_regular, toolkit_is_there
from cudaswitch.store import dealias
from cudaswitch.versions import Request

_OPTIONS = ("libraries", "gpus", "compiler")
"""The parts of a pin's answer, besides the toolkit, that settings or a new compiler change."""

_SCRIPT_OF_PACKAGE = re.compile(rb'"(etc/conda/(?:de)?activate\.d/[^"]+)"')


def pinned(variables: Mapping[str, str]) -> list[Environment]:
    """List the environments that are pinned, as far as the store knows, and the active ones."""
    found: dict[str, Environment] = {}
    for record in written_pins():
        if record.hooked is not None:
            with suppress(CudaswitchError):
                one = environment_at(record.prefix)
                found[os.path.realpath(one.prefix)] = one
    for active in standing_environments(variables):
        if os.path.isfile(active.pin_file):
            found.setdefault(os.path.realpath(active.prefix), active)
    return list(found.values())


def hooks_of(environments: list[Environment]) -> Iterator[Hook]:
    """Look at the hooks of each."""
    for environment in environments:
        try:
            request = pin_of(environment)
        except CudaswitchError as error:
            yield Hook(environment, None, refused=error)
            continue
        want: Want | None = None
        try:
            if environment.is_own():
                want = answer(request, environment).want
            else:
                # Another user's hooks are not ours to mend: only look whether they have an answer.
                answer_to_pin(environment)
                if os.access(environment.folder, os.W_OK):
                    with suppress(CudaswitchError):
                        want = answer(request, environment).want
        except CudaswitchError as error:
            automatic = False
            with suppress(CudaswitchError):
                automatic = dealias(request).text == "auto"
            yield Hook(environment, request, refused=error, automatic=automatic)
            continue
        if want is None:
            continue
        try:
            yield _compare(environment, request, want)
        except OSError as error:
            yield Hook(environment, request, closed=str(error.filename))


def _compare(environment: Environment, request: Request, want: Want) -> Hook:
    """Compare hooks with what would be written. Raises OSError, which names what is closed."""
    written = environment.want_kept()
    is_same_kit = written is not None and written.home == want.home
    # Compared with the options they were written for: a changed setting is no edit of the hooks.
    kept = written if written and is_same_kit else want
    texts = hook_texts(environment, request, kept, watched_since(environment))
    shared = shared_texts(environment)
    there = {path: holds(path, text) for path, text in texts.items() if os.path.isfile(path)}
    halved = half_hooked_scripts(environment)
    unhooked, worded = ([], []) if halved else unhooked_scripts(environment)
    edited = [path for path, same in there.items() if not same]
    old = [path for path in edited if path in shared] + worded
    missing = [path for path in texts if path not in there]
    if old:
        # An older cudaswitch wrote fewer files and other texts: report that, not each difference.
        edited = []
        missing = [path for path in missing if path not in shared or path.stem == "core"]
    hook = Hook(
        environment,
        request,
        missing=tuple(map(str, missing)),
        unhooked=tuple(map(str, unhooked)),
        halved=tuple(map(str, halved)),
    )
    if written is None or is_same_kit:
        mine = environment.is_own()
        changed = [name for name in _OPTIONS if mine and getattr(kept, name) != getattr(want, name)]
        return hook._replace(
            changed=tuple(changed), edited=tuple(map(str, edited)), old=tuple(map(str, old))
        )
    try:
        at = written.home
        stays = at == "system" or (is_there(f"{at}/.") and toolkit_is_there(at))
    except OSError:
        # The toolkit of another user, who has pinned the environment that we share.
        return hook
    if not stays:
        return hook._replace(gone=written.home)
    # Another user's choice serves all who can read it, whatever ours would be.
    return hook._replace(behind=want.home) if environment.is_own() else hook


def scripts_of(environment: Environment) -> Iterator[Script]:
    """Read what an environment runs on activation: conda's scripts, a virtualenv's own."""
    prefix = Path(environment.prefix)
    if environment.owner == "V":
        for name in ("activate", "activate.fish"):
            path = prefix / "bin" / name
            if os.path.isfile(path):
                yield Script(str(path), settings_of(path))
        return
    scripts = []
    for half in ("activate.d", "deactivate.d"):
        folder = prefix / "etc/conda" / half
        for path in sorted(folder.glob("*.*")) if os.path.isdir(folder) else ():
            ours = path.name.startswith("~~cudaswitch.")
            if path.suffix not in (".sh", ".fish", ".zsh", ".bash") or ours:
                continue
            script = Script(str(path), settings_of(path), exit_in(path))
            if script.settings or script.exits:
                scripts.append(script)
    packaged = _packaged(prefix) if scripts else set()
    for script in scripts:
        if script.file not in packaged:
            yield script
        elif script.exits:
            yield script._replace(settings=())


def _packaged(prefix: Path) -> set[str]:
    """List the scripts that conda packages brought; records are large and only searched."""
    found: set[str] = set()
    for record in (prefix / "conda-meta").glob("*.json"):
        with suppress(OSError):
            names = _SCRIPT_OF_PACKAGE.findall(read_regular(record, RECORD_LIMIT))
            found.update(f"{prefix}/{os.fsdecode(name)}" for name in names)
    return found


def kernels_of(variables: Mapping[str, str], environments: list[Environment]) -> Iterator[Kernel]:
    """List the user's Jupyter kernels that start a pinned environment's Python by its path.

    Where Jupyter keeps them: jupyter_core/paths.py, `jupyter_data_dir`.
    """
    data = xdg("data", variables)
    ours = variables.get("JUPYTER_DATA_DIR") or (data and f"{data}/jupyter")
    root = Path(ours or os.devnull, "kernels")
    files = (root / name / "kernel.json" for name in names_of(root))
    for file in filter(os.path.isfile, files):
        values = Reading(file.parent).json_values(file)
        argv = values.get("argv")
        first = argv[0] if isinstance(argv, list) and argv else None
        knows = any(name in values for name in ("env.CUDA_HOME", "env.CUDASWITCH_VERSION"))
        # Not where the Python leads: a virtualenv's is a link to that of its base.
        folder = os.path.dirname(first) if isinstance(first, str) else ""
        for environment in environments:
            if folder.startswith("/") and not knows and is_inside(folder, environment.prefix):
                yield Kernel(str(file), file.parent.name, str(environment.prefix))

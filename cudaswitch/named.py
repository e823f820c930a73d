"""Which environments there are, and which one a name means: by conda's own order, never a guess."""

from __future__ import annotations

import os

from cudaswitch.environments import environment_at, kind_of
from cudaswitch.errors import EnvironmentNotFoundError, nearest
from cudaswitch.platforms import at_home, home_folder, with_variables, xdg
from cudaswitch.regular import names_of, read_regular
from cudaswitch.talk import some_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from cudaswitch.environments import Environment

_LIST_LIMIT = 1 << 20
"""Bytes of conda's list of environments that are read; some have grown for years."""


def environment_named(name: str, variables: Mapping[str, str]) -> Environment:
    """Find an environment by conda's name for it, or virtualenvwrapper's.

    Raises EnvironmentNotFoundError if none has that name, or only several known by their paths,
    and SourceError if a file of conda's is broken, which may say where environments are.
    """
    from cudaswitch.sources.condarc import folders_of_environments  # noqa: PLC0415  # slow to load

    roots = _roots(variables)
    base = next((root for root in roots if os.path.isfile(f"{root}/condabin/conda")), "")
    mambas = _root_of_mamba(variables)
    configured = folders_of_environments({"CONDA_ROOT": base, **variables}, mambas)
    folders = _folders(roots, variables, configured)
    known = _environments([*roots, *_in(folders)], variables)
    folders += [f"{prefix}/envs" for prefix in known if _is_root(prefix)]
    if name in ("base", "root"):  # conda means none that is called so only by its path
        has_name = [prefix for prefix in known if os.path.dirname(prefix) in folders]
        fitting = [*filter(_is_root, known), *(at for at in has_name if at.endswith(f"/{name}"))]
    else:
        fitting = [prefix for prefix in known if os.path.basename(prefix) == name]
    named = [at for at in fitting if at in roots or os.path.dirname(at) in folders]
    active = variables.get("CONDA_PREFIX", "")
    if not named and variables.get("CONDA_DEFAULT_ENV") == name and os.path.isdir(active):
        return environment_at(active)
    if not fitting:
        names = {"base" if _is_root(prefix) else os.path.basename(prefix) for prefix in known}
        raise EnvironmentNotFoundError(f"there is no environment `{name}`", _meant(name, names))
    if not named and len({os.path.realpath(prefix) for prefix in fitting}) > 1:
        paths = ", ".join(f"`{prefix}`" for prefix in fitting)
        raise EnvironmentNotFoundError(f"`{name}` may be any of {paths}", "choose one with -p")
    return environment_at((named or fitting)[0])


def _meant(name: str, names: set[str]) -> str:
    if near := nearest(name, sorted(names)):
        return f"did you mean `{near}`? If not, give its path with -p PREFIX"
    known = f"known environments: {some_of(sorted(names))}; " if names else ""
    return f"{known}give its path with -p PREFIX"


def known_environments(variables: Mapping[str, str]) -> list[str]:
    """List the environments that conda and virtualenvwrapper know.

    Those with names come before those known by their paths. The folders that conda's own
    configuration names are not searched: conda has noted all environments that it has made.
    """
    roots = _roots(variables)
    return _environments([*roots, *_in(_folders(roots, variables))], variables)


def _environments(found: list[str], variables: Mapping[str, str]) -> list[str]:
    """List what exists of the candidates `found` and of the environments that conda has noted."""
    for folder in _of_conda(variables):
        try:
            text = read_regular(f"{folder}/environments.txt", _LIST_LIMIT, head=True)
        except OSError:
            continue
        noted = [_plain(os.fsdecode(line)) for line in text.splitlines() if line]
        bases = dict.fromkeys(filter(None, map(_root_of, noted)))
        bases |= dict.fromkeys(filter(_is_root, noted))
        found += [*noted, *bases, *_in(f"{base}/envs" for base in bases)]
    # conda's list also names other users' folders, which we may not be allowed to see.
    return [prefix for prefix in dict.fromkeys(found) if kind_of(prefix)]


def _in(folders: Iterable[str]) -> list[str]:
    return [f"{folder}/{name}" for folder in folders for name in names_of(folder)]


def _roots(variables: Mapping[str, str]) -> list[str]:
    """Return the roots of mamba and conda, in this order."""
    roots = []
    if variables.get("CONDA_EXE"):
        roots.append(os.path.dirname(os.path.dirname(_plain(variables["CONDA_EXE"]))))
    else:  # nothing of conda's has run in this shell, but it may be installed
        above = (os.path.dirname(_plain(at)) for at in variables.get("PATH", "").split(os.pathsep))
        roots += [at for at in above if at and os.path.isfile(f"{at}/condabin/conda")]
    if mambas := _root_of_mamba(variables):
        # A root that no variable names may be a leftover beside the conda of this shell.
        roots.insert(0 if variables.get("MAMBA_ROOT_PREFIX") else len(roots), mambas)
    return roots


def _root_of_mamba(variables: Mapping[str, str]) -> str:
    """Return micromamba's root, "" if there is none. Source: `get_root_prefix` of libmamba."""
    if told := variables.get("MAMBA_ROOT_PREFIX"):
        return _plain(told)
    home = home_folder(variables) or ""
    places = ((home, "micromamba"), (xdg("data", variables), "mamba"))
    usual = [f"{folder}/{name}" for folder, name in places if folder]
    marks = ("pkgs", "conda-meta", "envs")
    return next((at for at in usual if any(os.path.exists(f"{at}/{one}") for one in marks)), "")


def _folders(
    roots: list[str], variables: Mapping[str, str], configured: Iterable[str] = ()
) -> list[str]:
    """Return the folders of environments that have names, in conda's order.

    `configured` are those of its configuration files. Source: conda's `context.envs_dirs`.
    """
    said = [variables.get(name, "") for name in ("CONDA_ENVS_DIRS", "CONDA_ENVS_PATH")]
    told = [with_variables(at, variables) for each in said for at in each.split(os.pathsep) if at]
    folders = [at_home(at, variables) for at in told]
    folders += configured
    closed = [root for root in roots if _is_closed(root)]
    folders += [f"{root}/envs" for root in roots if root not in closed]
    folders += [f"{at}/envs" for at in (*_of_conda(variables), *closed)]
    folders += variables.get("WORKON_HOME", "").split(os.pathsep)
    return list(dict.fromkeys(map(_plain, filter(None, folders))))


def _is_closed(root: str) -> bool:
    """Tell whether we may not write a base, by its history, as conda does; micromamba has none."""
    history = f"{root}/conda-meta/history"
    return os.path.isdir(os.path.dirname(history)) and not os.access(history, os.W_OK)


def _plain(path: str) -> str:
    """Spell a path as others spell it: without a slash at its end."""
    return path.rstrip("/") or path


def _of_conda(variables: Mapping[str, str]) -> list[str]:
    """Return the folder that conda has in the user's home folder, if that is known."""
    home = home_folder(variables)
    return [os.path.join(home, ".conda")] if home else []


def _is_root(prefix: str) -> bool:
    """Tell whether an environment is a base: conda may be installed in others, too."""
    has = os.path.isdir(f"{prefix}/condabin") or os.path.isdir(f"{prefix}/envs")
    return has and not _root_of(prefix)


def _root_of(prefix: str) -> str:
    """Return the base in which an environment has its name, "" if it is known by its path."""
    root = os.path.dirname(os.path.dirname(prefix))
    named = os.path.dirname(prefix) == f"{root}/envs" and os.path.isdir(f"{root}/conda-meta")
    return root if named else ""

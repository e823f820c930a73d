"""Which program a name stands for on PATH. `exec` starts with it, so it loads nothing.

The standard library's `which` is the same search, and takes longer to load than all of ours.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from os import PathLike


def is_program(path: str | PathLike[str]) -> bool:
    """Tell whether a path is a file that may be executed."""
    return os.path.isfile(path) and os.access(path, os.X_OK)


def search_path(variables: Mapping[str, str]) -> str:
    """Return what is searched for programs: PATH, or the system's own folders if it is unset.

    An empty PATH means the working directory, as does nothing between two colons.
    """
    return variables.get("PATH", os.defpath) or os.pathsep


def find_program(name: str, path: str) -> str | None:
    """Find the first program of that name in the folders of `path`; a path names itself."""
    return next(filter(is_program, _places(name, path)), None)


def output_of(
    command: list[str], environment: Mapping[str, str], seconds: float = 10
) -> str | None:
    """Return what a program prints on stdout, "" if it fails.

    None if it cannot be started or takes more than `seconds`; ccache on a slow disk needs some.
    """
    import subprocess  # noqa: PLC0415  # few need it

    try:
        done = subprocess.run(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=seconds,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return os.fsdecode(done.stdout) if done.returncode == 0 else ""


def conda_program(variables: Mapping[str, str]) -> str:
    """Name what installs conda's packages: micromamba, if the shell has only that."""
    mamba = variables.get("MAMBA_EXE")
    if not mamba or variables.get("CONDA_EXE") or find_program("conda", search_path(variables)):
        return "conda"
    return "mamba" if os.path.basename(mamba) == "mamba" else "micromamba"


def why_closed(name: str, path: str) -> tuple[str, str] | None:
    """Say why the first file of that name may not be executed, and what to do.

    None if there is no such file, or it may be executed.
    """
    file = next(filter(os.path.isfile, _places(name, path)), None)
    if file is None or is_program(file):
        return None
    from shlex import quote  # noqa: PLC0415  # only mistakes need it

    closed = f"`{file}` exists, but is not executable"
    if not _is_noexec(file):
        return closed, f"chmod +x {quote(file)}"
    mount = os.path.realpath(file)
    # `ismount` does not recognise a bind mount of the same device.
    while not os.path.ismount(mount) and _is_noexec(os.path.dirname(mount)):
        mount = os.path.dirname(mount)
    hint = f"mount -o remount,exec {quote(mount)}, or move it to another file system"
    return f"{closed}: `{mount}` is mounted noexec", hint


def _is_noexec(path: str) -> bool:
    return bool(os.statvfs(path).f_flag & os.ST_NOEXEC)


def _places(name: str, path: str) -> Iterable[str]:
    if os.sep in name:
        return [name]
    return (os.path.join(folder, name) for folder in path.split(os.pathsep) if path)

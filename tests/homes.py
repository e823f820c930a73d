"""Fresh accounts to run `cudaswitch` in, and names that show bad quoting."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tools import as_plain_user, console_script

HOSTILE_FOLDER = "a b&(c)[d]{e}*?<f>|#~=%! èрт🚒♞中片"
"""Everything awkward that PATH, the loader and conda can carry: fit for a toolkit's path."""

HOSTILE_NAME = "'\";&&e-$x`y`\\z èрт🚒♞中片-j"
"""What only quoting survives: fit for working directories, never for PATH."""

_FOREIGN = (
    *("CUDA", "CUDNN", "NVCC", "NVIDIA", "XLA_", "_CUDASWITCH"),
    *("CONDA", "_CONDA", "__CONDA", "_CE_", "MAMBA", "PIXI", "VIRTUAL_ENV", "_OLD_VIRTUAL"),
    *("LD_", "LIBRARY_PATH", "CPATH", "PYTHON", "PYTEST", "PYENV", "XDG_", "ZDOTDIR"),
    *("BASH_ENV", "ENV", "PWD", "OLDPWD", "SHLVL", "NO_COLOR", "FORCE_COLOR", "CLICOLOR"),
    *("SUDO_", "TMUX", "DIRENV", "MISE_", "__MISE", "CC", "CXX", "CFLAGS", "LC_", "COLUMNS"),
    *("POSIXLY_CORRECT", "PROMPT_COMMAND", "SHELLOPTS", "BASHOPTS", "KSH_VERSION", "IFS"),
)
"""Beginnings of variables that would let the machine of the tests decide their outcome."""


def _clean_path() -> str:
    """Return PATH with the test interpreter first and without toolkits and environments."""
    foreign = [os.environ[key] for key in ("CONDA_PREFIX", "VIRTUAL_ENV") if os.environ.get(key)]
    folders = [str(Path(sys.executable).parent)]
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        strange = "cuda" in folder.lower() or any(folder.startswith(one) for one in foreign)
        if folder.startswith("/") and not strange:
            folders.append(os.path.normpath(folder))
    return os.pathsep.join(dict.fromkeys(folders))


def _pip_settings() -> dict[str, str]:
    """Keep the person's own pip configuration: a fresh HOME must not hide a mirror or proxy."""
    if "PIP_CONFIG_FILE" in os.environ:
        return {}
    for name in (".config/pip/pip.conf", ".pip/pip.conf"):
        if (Path.home() / name).is_file():
            return {"PIP_CONFIG_FILE": str(Path.home() / name)}
    return {}


@dataclass(frozen=True)
class Home:
    """A person's fresh account: `path` is HOME, `store` CUDASWITCH_HOME, `env` all variables."""

    path: Path
    store: Path
    env: dict[str, str]

    def run(
        self,
        *arguments: str | Path,
        cwd: Path | None = None,
        stdin: str = "",
        timeout: float = 300,
        **variables: str | None,
    ) -> subprocess.CompletedProcess[str]:
        """Run the installed `cudaswitch`; `variables` are set for it, None takes one away."""
        return self._run([console_script(), *arguments], cwd, stdin, timeout, variables)

    def run_plainly(
        self, *arguments: str | Path, cwd: Path | None = None, **variables: str | None
    ) -> subprocess.CompletedProcess[str]:
        """Run it so that permissions hold for it, also where the tests run as root."""
        return self._run(as_plain_user(console_script(), *arguments), cwd, "", 300, variables)

    def _run(
        self,
        command: list[str | Path],
        cwd: Path | None,
        stdin: str,
        timeout: float,
        variables: dict[str, str | None],
    ) -> subprocess.CompletedProcess[str]:
        env = self.env | {key: value for key, value in variables.items() if value is not None}
        for key in [key for key, value in variables.items() if value is None]:
            env.pop(key, None)
        return subprocess.run(
            command,
            cwd=cwd or self.path,
            env=env,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )


def make_home(folder: Path) -> Home:
    """Make a home in `folder`, with nothing in it but the folders that variables name."""
    home, store = folder / "home", folder / "store"
    xdg = {f"XDG_{kind}_HOME": home / f"xdg-{kind.lower()}" for kind in ("CONFIG", "CACHE", "DATA")}
    for path in (home, *xdg.values()):
        path.mkdir(parents=True)
    kept = {key: value for key, value in os.environ.items() if not key.startswith(_FOREIGN)}
    env = kept | _pip_settings() | {key: str(value) for key, value in xdg.items()}
    env |= {"HOME": str(home), "CUDASWITCH_HOME": str(store), "PATH": _clean_path()}
    return Home(home, store, env | {"LC_ALL": "C.UTF-8", "TERM": "dumb", "SHELL": "/bin/bash"})

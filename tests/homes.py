"""Fresh accounts to run `cudaswitch` in, and names that show bad quoting."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from fork_server import LOCALE, fork_server
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
"""Prefixes of variables by which the machine could influence the outcome of tests."""


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
    """Keep the user's own pip configuration: a fresh HOME must not hide a mirror or proxy."""
    if "PIP_CONFIG_FILE" in os.environ:
        return {}
    for name in (".config/pip/pip.conf", ".pip/pip.conf"):
        if (Path.home() / name).is_file():
            return {"PIP_CONFIG_FILE": str(Path.home() / name)}
    return {}


_AT_START = ("PYTHON", "LD_", "MALLOC_", "GLIBC_")
"""Prefixes of variables that must be there when a process starts: Python or libc reads them."""


def _as_text(data: bytes) -> str:
    """Return the text that `subprocess.run` returns with `text=True`."""
    with io.TextIOWrapper(io.BytesIO(data), encoding="utf-8") as text:
        return text.read()


@dataclass(frozen=True)
class Home:
    """A user's fresh account: `path` is HOME, `store` CUDASWITCH_HOME, `env` all variables."""

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
        """Run the installed `cudaswitch`; `variables` are set for it, None removes one."""
        env = self._changed(variables)
        if env.get("LC_ALL") != LOCALE or any(name.startswith(_AT_START) for name in env):
            return self._start([console_script(), *arguments], cwd, env, stdin, timeout)
        command = [str(console_script()), *map(os.fspath, arguments)]
        with tempfile.TemporaryFile() as given:
            given.write(os.fsencode(stdin))
            given.seek(0)
            place = cwd or self.path
            ended = fork_server().run(command, env=env, cwd=place, stdin=given, timeout=timeout)
        out, err = (_as_text(text) for text in (ended.out, ended.err))
        return subprocess.CompletedProcess(command, ended.code, out, err)

    def run_plainly(
        self, *arguments: str | Path, cwd: Path | None = None, **variables: str | None
    ) -> subprocess.CompletedProcess[str]:
        """Run it so that permissions hold for it, even if the tests run as root."""
        command = as_plain_user(console_script(), *arguments)
        return self._start(command, cwd, self._changed(variables), "", 300)

    def _changed(self, variables: dict[str, str | None]) -> dict[str, str]:
        env = self.env | variables
        return {key: value for key, value in env.items() if value is not None}

    def _start(
        self,
        command: list[str | Path],
        cwd: Path | None,
        env: dict[str, str],
        stdin: str,
        timeout: float,
    ) -> subprocess.CompletedProcess[str]:
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
    return Home(home, store, env | {"LC_ALL": LOCALE, "TERM": "dumb", "SHELL": "/bin/bash"})

"""Where it is measured: small toolkits in a store, pinned and plain environments, a deep tree."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

SWITCHED = ("12.4.1", "11.8.0")
DEEP = 12
SHELLS = ("bash", "zsh", "fish")
_NVCC = '#include <stdio.h>\nint main(void) { puts("Cuda compilation tools"); return 0; }\n'
# One process for all toolkits: one for each would take most of the time of a run.
_ADOPT = """import sys
from cudaswitch.__main__ import main
for folder in sys.argv[1:]:
    sys.argv = ["cudaswitch", "adopt", folder]
    if main():
        sys.exit(1)
"""


def versions(count: int) -> list[str]:
    """Return `count` versions of toolkits, beginning with those that are switched between."""
    others = (f"{10 + n // 50}.{n % 50 // 5}.{n % 5}" for n in range(200))
    return [*SWITCHED, *(version for version in others if version not in SWITCHED)][:count]


@dataclass(frozen=True)
class Scene:
    """A user's account in `folder` whose store has `count` toolkits.

    `command` is cudaswitch, `variables` all variables of its shells.
    """

    folder: Path
    count: int
    command: Path
    variables: dict[str, str]

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def tree(self) -> Path:
        """A folder with a `.cuda-version`."""
        return self.home / "tree"

    @property
    def deep(self) -> Path:
        """A folder far below `tree`."""
        return self.tree.joinpath(*(f"level{n}" for n in range(1, DEEP + 1)))

    @property
    def outside(self) -> Path:
        return self.home / "outside"

    def toolkit(self, version: str) -> Path:
        return self.folder / "toolkits" / f"cuda-{version}"

    def environment(self, name: str) -> Path:
        """Return a conda environment, `pinned` or `plain`."""
        return self.home / "envs" / name

    def init(self, shell: str) -> Path:
        """Return the ready file that a shell's startup file sources."""
        return self.folder / "store" / "init" / shell

    def say(self, *arguments: str | Path) -> str:
        """Run cudaswitch and return what it printed."""
        done = subprocess.run(
            [self.command, *arguments], env=self.variables, cwd=self.home, check=True,
            stdin=subprocess.DEVNULL, capture_output=True, text=True,
        )  # fmt: skip
        return done.stdout


def build(folder: Path, count: int, nvcc: Path | None) -> Scene:
    """Make a scene with `count` toolkits, their nvcc being `nvcc` or a small C program."""
    python = Path(sys.executable)
    home = folder / "home"
    variables = {
        "PATH": f"{home}/bin:{python.parent}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
        "HOME": str(home),
        "CUDASWITCH_HOME": str(folder / "store"),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "XDG_CACHE_HOME": str(home / ".cache"),
        "XDG_DATA_HOME": str(home / ".local/share"),
        "LC_ALL": "C.UTF-8",
        "TERM": "xterm",
    }
    scene = Scene(folder, count, python.with_name("cudaswitch"), variables)
    for made in (scene.deep, scene.outside, home / "bin"):
        made.mkdir(parents=True)
    compiler = _compiler(folder, nvcc)
    folders = [_toolkit(scene.toolkit(version), version, compiler) for version in versions(count)]
    subprocess.run(
        [python, "-c", _ADOPT, *folders], env=variables, cwd=home, check=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    (scene.tree / ".cuda-version").write_text(f"{SWITCHED[0]}\n")
    for name in ("pinned", "also pinned", "framework", "plain", "also plain"):
        _environment(scene.environment(name))
    torch = scene.environment("framework") / "lib/python3.12/site-packages/torch/lib"
    torch.mkdir(parents=True)
    (torch / "libtorch_cuda.so").touch()
    for name in ("virtualenv", "bare virtualenv"):
        subprocess.run([python, "-m", "venv", "--without-pip", scene.environment(name)], check=True)
    pinned = ("pinned", "also pinned", "framework", "virtualenv")
    for name, version in zip(pinned, (*SWITCHED, *SWITCHED), strict=True):
        scene.say("pin", version, "--prefix", scene.environment(name))
    for shell in SHELLS:
        scene.say("init", "--install", shell, "--yes")
    return scene


def _environment(folder: Path) -> None:
    """Make a conda environment of usual size, as hooks look through its folders."""
    (folder / "bin").mkdir(parents=True)
    site = folder / "lib/python3.12/site-packages"
    (folder / "conda-meta").mkdir()
    for n in range(120):
        (folder / "conda-meta" / f"library{n}-1.{n}.0-h{n:07x}_0.json").touch()
        for made in (f"module{n}", f"module{n}-1.{n}.dist-info"):
            (site / made).mkdir(parents=True)
        for suffix in ("", ".1", f".1.{n}"):
            (folder / "lib" / f"liblibrary{n}.so{suffix}").touch()


def _toolkit(folder: Path, version: str, nvcc: Path) -> Path:
    for name in ("bin", "lib64", "extras/CUPTI/lib64"):
        (folder / name).mkdir(parents=True)
    (folder / "lib64" / f"libcudart.so.{version}").touch()
    stated = {"cuda": {"name": "CUDA SDK", "version": version}}
    (folder / "version.json").write_text(json.dumps(stated))
    os.link(nvcc, folder / "bin" / "nvcc")
    return folder


def _compiler(folder: Path, nvcc: Path | None) -> Path:
    """Return a program to stand for nvcc: the real one, one made here, or /bin/true."""
    made = folder / "nvcc"
    if nvcc:
        shutil.copy(nvcc, made)
    elif shutil.which("cc"):
        source = folder / "nvcc.c"
        source.write_text(_NVCC)
        subprocess.run(["cc", "-O", "-o", made, source], check=True)
    else:
        shutil.copy("/bin/true", made)
    return made

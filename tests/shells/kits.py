"""Small toolkits, adopted into a store, and a user who switches between them in a shell."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from homes import Home
from shells.driver import Environment, Shell, ShellResult, run_shell
from tools import executable

STATE = "_CUDASWITCH_"
"""What the names of all our bookkeeping variables begin with."""


@dataclass(frozen=True)
class Kit:
    """A toolkit's folder; `libraries` are its own, in the order of LD_LIBRARY_PATH.

    `compiler` is the one that is chosen for its nvcc, which refuses every gcc newer than 11;
    without one, nvcc accepts every gcc.
    """

    home: Path
    version: str
    libraries: tuple[str, ...]
    has_nvcc: bool = True
    compiler: Path | None = None

    @property
    def bin(self) -> str:
        return f"{self.home}/bin"

    @property
    def lib(self) -> tuple[str, ...]:
        return tuple(f"{self.home}/{name}" for name in self.libraries)

    @property
    def scalars(self) -> dict[str, str]:
        """Return the variables that hold one value, as docs/switching.md has them."""
        values = dict.fromkeys(("CUDA_HOME", "CUDA_PATH", "CUDAToolkit_ROOT"), str(self.home))
        return values | ({"CUDACXX": f"{self.bin}/nvcc"} if self.has_nvcc else {})

    @property
    def data_dir(self) -> str:
        """Return the word for XLA_FLAGS, as XLA reads it."""
        home = f'"{self.home}"' if " " in str(self.home) else str(self.home)
        return f"--xla_gpu_cuda_data_dir={home}"

    def build(self) -> Kit:
        for name in ("bin", *self.libraries):
            (self.home / name).mkdir(parents=True)
        (self.home / self.libraries[0] / f"libcudart.so.{self.version}").touch()
        stated = {"cuda": {"name": "CUDA SDK", "version": self.version}}
        (self.home / "version.json").write_text(json.dumps(stated))
        if self.has_nvcc:
            executable(self.home / "bin/nvcc", f"#!/bin/sh\necho nvcc of {self.version}\n")
        if self.compiler:
            (self.home / "nvvm" / "libdevice").mkdir(parents=True)
            header = self.home / "include" / "crt" / "host_config.h"
            header.parent.mkdir(parents=True)
            header.write_text("#if __GNUC__ > 11\n#error -- unsupported GNU version!\n#endif\n")
        return self


def kits_in(folder: Path) -> tuple[Kit, Kit, Kit]:
    """Describe three toolkits with three layouts below `folder`."""
    return (
        Kit(folder / "cuda-10.1", "10.1.243", ("lib64", "extras/CUPTI/lib64")),
        Kit(folder / "cuda-11.8", "11.8.0", ("targets/x86_64-linux/lib",)),
        Kit(folder / "cuda-12.4", "12.4.1", ("lib",), has_nvcc=False),
    )


@dataclass(frozen=True)
class Person:
    """An account whose store has toolkits. `init` are the files that startup files load."""

    home: Home
    kits: tuple[Kit, ...]
    init: Mapping[str, Path]

    def load(self, shell: Shell) -> str:
        """Load cudaswitch as an rc file does; plain POSIX shells have no integration."""
        return shell.source(self.init[shell.name]) if shell.name in self.init else ""

    def use(self, shell: Shell, request: str) -> str:
        """Switch in the shell's words: `use`, or `eval` if there is no integration."""
        if shell.name in self.init:
            return f"cudaswitch use {request}"
        return f'eval "$(cudaswitch env {request} --shell {shell.name})"'

    def off(self, shell: Shell) -> str:
        """Undo that in the shell's words: `system` is the way back without integration."""
        return "cudaswitch off" if shell.name in self.init else self.use(shell, "system")

    def adopt(self, kit: Kit) -> None:
        done = self.home.run("adopt", str(kit.home))
        assert done.returncode == 0, done.stderr

    def pin(self, request: str, prefix: Path, *options: str, **variables: str) -> None:
        done = self.home.run("pin", request, "--prefix", str(prefix), *options, **variables)
        assert done.returncode == 0, done.stderr

    def play(
        self, shell: Shell, *commands: str, options: tuple[str, ...] = (), **variables: str | None
    ) -> ShellResult:
        """Type commands after loading, with snaps `0`, `1`, ... before and after each."""
        env = dict(self.home.env) | {"CUDASWITCH_QUIET": "1"}
        for name, value in variables.items():
            env.pop(name, None)
            if value is not None:
                env[name] = value
        lines = [self.load(shell), "snap 0"]
        for number, command in enumerate(commands, 1):
            lines += [command, f"snap {number}"]
        return run_shell(shell, "\n".join(lines), env, cwd=self.home.path, options=options)


def foreign(env: Environment) -> Environment:
    """Return an environment without our bookkeeping."""
    return {name: value for name, value in env.items() if not name.startswith(STATE)}


def switched(env: Environment, kit: Kit, *, libraries: bool = True) -> Environment:
    """Return `env` as docs/switching.md wants it with `kit`, bookkeeping left out."""
    lists = {"PATH": (kit.bin,), "LD_LIBRARY_PATH": kit.lib if libraries else ()}
    joined = {
        name: ":".join([*folders, *filter(None, [env.get(name)])])
        for name, folders in lists.items()
        if folders
    }
    return foreign(env) | kit.scalars | joined


def read_env(path: Path) -> Environment:
    """Read what `env -0` wrote."""
    pairs = (entry.partition("=") for entry in os.fsdecode(path.read_bytes()).split("\0") if entry)
    return {name: value for name, _, value in pairs}

"""Other tools, each a row: where it is found, and how it is made to do the same.

What is not on the machine is left out, with a line that says how to get it. A tool that is
not on PATH is named by the variable of its row.
"""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass
from pathlib import Path

from loops import bare, switched
from measure import Loop
from rows import Row
from scene import SWITCHED, Scene


@dataclass(frozen=True)
class Rival:
    """A tool, which `find` looks for, and the function that makes its rows from its path.

    `have` says how to install it, `variable` names its path if it is not in one of `places`
    or on PATH as `program`.
    """

    name: str
    have: str
    variable: str
    rows: Callable[[Scene, Path], Iterator[Row]]
    program: str = ""
    places: tuple[str, ...] = ()

    def find(self) -> Path | None:
        said = os.environ.get(self.variable) or (self.program and shutil.which(self.program))
        for place in filter(None, (said, *self.places)):
            if Path(place).exists():
                return Path(place)
        return None


def rows(scene: Scene, groups: Container[str]) -> Iterator[Row]:
    """Yield the rows in `groups` of all tools that are there."""
    yield from (row for row in _floor(scene) if row.group in groups)
    for rival in RIVALS:
        path = rival.find()
        if path is None:
            print(f"{rival.name}: left out, not found: {rival.have}, or set {rival.variable}")
            continue
        yield from (row for row in rival.rows(scene, path) if row.group in groups)


def _use(name: str, body: str, proof: str, setup: str = "", **variables: str) -> Row:
    """A switch to one toolkit and to the other in bash; `proof` holds after that."""
    loop = Loop("bash", body, setup, per=2, proof=proof, variables=variables)
    return Row("use", f"bash: {name}", loop, "bash: use")


def _floor(scene: Scene) -> Iterator[Row]:
    exports = "\n".join(
        f"export CUDA_HOME={home} PATH={home}/bin:{scene.variables['PATH']}"
        f" LD_LIBRARY_PATH={home}/lib64"
        for home in map(scene.toolkit, SWITCHED)
    )
    yield _use("three bare exports", exports, switched(scene))
    yield Row("use", "bash: fork and exec of /bin/true", Loop("bash", "/bin/true"), "bash: use")


def _switch_cuda(scene: Scene, path: Path) -> Iterator[Row]:
    text = path.read_text().replace('"/usr/local"', f'"{scene.folder}/toolkits"')
    script = scene.folder / "switch-cuda.sh"
    script.write_text(text)
    body = "\n".join(f"source {script} {one}" for one in SWITCHED)
    yield _use("switch-cuda.sh", body, switched(scene))


def _modulefiles(scene: Scene) -> Path:
    folder = scene.folder / "modulefiles"
    (folder / "cuda").mkdir(parents=True, exist_ok=True)
    for version in SWITCHED:
        home = scene.toolkit(version)
        (folder / "cuda" / version).write_text(
            f"#%Module\nsetenv CUDA_HOME {home}\nsetenv CUDA_PATH {home}\n"
            f"setenv CUDAToolkit_ROOT {home}\nsetenv CUDACXX {home}/bin/nvcc\n"
            f"prepend-path PATH {home}/bin\n"
            f"prepend-path LD_LIBRARY_PATH {home}/extras/CUPTI/lib64\n"
            f"prepend-path LD_LIBRARY_PATH {home}/lib64\n"
        )
    return folder


def _swap() -> str:
    first, second = SWITCHED
    return f"module swap cuda/{second} cuda/{first}\nmodule swap cuda/{first} cuda/{second}"


def _modules(scene: Scene, path: Path) -> Iterator[Row]:
    setup = f'module() {{ eval "$({path} bash "$@")"; }}\nmodule load cuda/{SWITCHED[1]}'
    folder = str(_modulefiles(scene))
    yield _use("Environment Modules, swap", _swap(), switched(scene), setup, MODULEPATH=folder)


def _lmod(scene: Scene, path: Path) -> Iterator[Row]:
    setup = f"source {path}\nmodule load cuda/{SWITCHED[1]}"
    folder = str(_modulefiles(scene))
    yield _use("Lmod, swap", _swap(), switched(scene), setup, MODULEPATH=folder)


def _pyenv(scene: Scene, path: Path) -> Iterator[Row]:
    root = scene.folder / "pyenv"
    for version in SWITCHED:
        tools = root / "versions" / version / "bin"
        tools.mkdir(parents=True, exist_ok=True)
        shutil.copy(scene.toolkit(version) / "bin" / "nvcc", tools)
    where = {"PYENV_ROOT": str(root), "PATH": f"{path.parent}:{scene.variables['PATH']}"}
    setup = 'eval "$(pyenv init - bash)"'
    body = "\n".join(f"pyenv shell {one}" for one in SWITCHED)
    yield _use("pyenv shell", body, f'[ "$PYENV_VERSION" = {SWITCHED[1]} ]', setup, **where)
    chosen = where | {"PYENV_VERSION": SWITCHED[0]}
    loop = Loop("dash", f"{root}/shims/nvcc --version", "pyenv rehash", variables=chosen)
    yield Row("shim", "pyenv shim", loop, "nvcc --version")
    loop = Loop("dash", f"{bare(scene)} bash -i -c {shlex.quote(setup)}", variables=where)
    yield Row("start", "bash: pyenv init", loop, "bash: bare")


def _direnv(scene: Scene, path: Path) -> Iterator[Row]:
    (scene.tree / ".envrc").write_text(f"PATH_add {scene.toolkit(SWITCHED[0])}/bin\n")
    setup = f'{path} allow {scene.tree}\neval "$({path} hook bash)"\n'
    yield Row(
        "prompt", "bash: direnv", Loop("bash", "_direnv_hook", setup), "bash: nothing changed"
    )
    yield _moving("direnv", scene, "_direnv_hook", setup)


def _moving(name: str, scene: Scene, hook: str, setup: str, **variables: str) -> Row:
    bodies = [f"cd {scene.deep}\n{one}\ncd {scene.outside}\n{one}" for one in (hook, ":")]
    loop = Loop("bash", bodies[0], setup, bodies[1], per=2, variables=variables)
    return Row("cd", f"bash: {name}", loop, "bash: in and out, 12 folders below")


def _mise(scene: Scene, path: Path) -> Iterator[Row]:
    data = scene.folder / "mise"
    for version in SWITCHED:
        tools = data / "installs" / "dummy" / version / "bin"
        tools.mkdir(parents=True, exist_ok=True)
        shutil.copy(scene.toolkit(version) / "bin" / "nvcc", tools)
    home = scene.toolkit(SWITCHED[0])
    (scene.tree / "mise.toml").write_text(f'[env]\nCUDA_HOME = "{home}"\n_.path = ["{home}/bin"]\n')
    where = {"MISE_DATA_DIR": str(data), "MISE_OFFLINE": "1"}
    setup = f'{path} trust -q {scene.tree}/mise.toml\neval "$({path} activate bash)"\n'
    loop = Loop("bash", "_mise_hook", setup, variables=where)
    yield Row("prompt", "bash: mise", loop, "bash: nothing changed")
    yield _moving("mise", scene, "_mise_hook", setup, **where)


def _starship(scene: Scene, path: Path) -> Iterator[Row]:
    loop = Loop("bash", "starship_precmd", f'eval "$({path} init bash)"')
    yield Row("prompt", "bash: starship", loop, "bash: nothing changed")


def _nvm(scene: Scene, path: Path) -> Iterator[Row]:
    root = scene.folder / "nvm"
    for version in SWITCHED:
        tools = root / "versions" / "node" / f"v{version}" / "bin"
        tools.mkdir(parents=True, exist_ok=True)
        (tools / "node").write_text(f"#!/bin/sh\necho v{version}\n")
        (tools / "node").chmod(0o755)
    setup = f"source {path} --no-use"
    body = "\n".join(f"nvm use {one}" for one in SWITCHED)
    proof = f'[ "$NVM_BIN" = {root}/versions/node/v{SWITCHED[1]}/bin ]'
    yield _use("nvm use", body, proof, setup, NVM_DIR=str(root))


RIVALS = (
    Rival(
        "switch-cuda.sh",
        "from github.com/phohenecker/switch-cuda",
        "SWITCH_CUDA",
        _switch_cuda,
    ),
    Rival(
        "Environment Modules",
        "Debian package environment-modules",
        "MODULES_CMD",
        _modules,
        places=("/usr/lib/x86_64-linux-gnu/modulecmd.tcl", "/usr/lib/modulecmd.tcl"),
    ),
    Rival(
        "Lmod",
        "Debian package lmod",
        "LMOD_INIT",
        _lmod,
        places=("/usr/share/lmod/lmod/init/bash",),
    ),
    Rival("pyenv", "from github.com/pyenv/pyenv", "PYENV", _pyenv, program="pyenv"),
    Rival("direnv", "Debian package direnv", "DIRENV", _direnv, program="direnv"),
    Rival("mise", "npm package @jdxcode/mise", "MISE", _mise, program="mise"),
    Rival("nvm", "nvm.sh from github.com/nvm-sh/nvm", "NVM_SH", _nvm),
    Rival("starship", "from starship.rs", "STARSHIP", _starship, program="starship"),
)

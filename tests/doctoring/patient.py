"""A user with a problem: an account, a machine of its own, and a shell in which it is fixed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import builders
from checks import succeeded
from cudaswitch.compat.sonames import soname
from cudaswitch.versions import Version
from homes import Home, make_home
from made_environments import Env
from mounts import in_own_mounts
from tools import console_script, executable

MACHINE = r"""
work=$1
mkdir -p "$work/local" "$work/conf"
for at in /usr/local/*; do
    case $at in /usr/local/cuda*) continue ;; esac
    if [ -d "$at" ] && [ ! -L "$at" ]; then
        mkdir -p "$work/local/${at##*/}"
        mount --rbind "$at" "$work/local/${at##*/}"
    fi
done
if [ -e "$work/etc" ]; then cp -a /etc/. "$work/etc"; mount --rbind "$work/etc" /etc; fi
if [ -d "$work/usr-lib" ]; then
    mount -t overlay overlay -o "lowerdir=$work/usr-lib:/usr/lib" /usr/lib
fi
if [ -d "$work/usr-bin" ]; then
    mount -t overlay overlay -o "lowerdir=$work/usr-bin:/usr/bin" /usr/bin
fi
mount --rbind "$work/local" /usr/local
mount --rbind "$work/conf" /etc/ld.so.conf.d
if [ -e "$work/etc" ]; then ldconfig; fi
shift
exec "$@"
"""
"""Programs see no CUDA of this machine; what a case puts into WORK is there instead."""

LIBRARIES = ("cudart", "cublas", "cufft", "cupti", "curand", "cusolver", "cusparse")
"""What most frameworks take from a toolkit."""

SHELLS = {
    "bash": r"""
{before}
cudaswitch doctor --json > '{work}/1.json' < /dev/null
fix=$('{python}' '{work}/pick.py' '{work}/1.json' {code})
printf '%s\n' "$fix" > '{work}/fix'
eval "$fix"
{after}
cudaswitch doctor --json > '{work}/2.json' < /dev/null
true
""",
    "zsh": r"""
{before}
cudaswitch doctor --json > '{work}/1.json' < /dev/null
'{python}' '{work}/pick.py' '{work}/1.json' {code} > '{work}/fix'
. '{work}/fix'
{after}
cudaswitch doctor --json > '{work}/2.json' < /dev/null
true
""",
    "tcsh": r"""
{before}
cudaswitch doctor --json > '{work}/1.json' < /dev/null
'{python}' '{work}/pick.py' '{work}/1.json' {code} > '{work}/fix'
source '{work}/fix'
{after}
cudaswitch doctor --json > '{work}/2.json' < /dev/null
true
""",
    "xonsh": r"""
{before}
cudaswitch doctor --json > '{work}/1.json' < /dev/null || true
{python} '{work}/pick.py' '{work}/1.json' {code} > '{work}/fix'
execx(open('{work}/fix').read())
{after}
cudaswitch doctor --json > '{work}/2.json' < /dev/null || true
""",
    "fish": r"""
{before}
cudaswitch doctor --json > '{work}/1.json' < /dev/null
set fix ('{python}' '{work}/pick.py' '{work}/1.json' {code} | string collect)
printf '%s\n' $fix > '{work}/fix'
eval $fix
{after}
cudaswitch doctor --json > '{work}/2.json' < /dev/null
true
""",
}
_WITHOUT_SETTINGS = {
    "bash": "--norc",
    "fish": "--no-config",
    "tcsh": "-f",
    "xonsh": "--no-rc",
    "zsh": "-f",
}
_PICK = """
import json, sys
found = json.load(open(sys.argv[1]))["findings"]
print(next((one["fix"] for one in found if one["code"] == sys.argv[2]), "false"))
"""
_SUDO = '#!/bin/sh\nexec "$@"\n'
CASES: dict[str, Callable[[Patient], Any]] = {}
"""Code of a rule → what prepares a patient so that the rule finds something."""


def case(code: str) -> Callable[[Callable[[Patient], Any]], Callable[[Patient], Any]]:
    """Register a case, which may return the codes of other rules that also find something."""

    def enter(make: Callable[[Patient], Any]) -> Callable[[Patient], Any]:
        assert code not in CASES
        CASES[code] = make
        return make

    return enter


class OwnEnv(Env):
    """A real virtualenv, or the shape of a conda prefix, to be filled."""

    def __init__(self, prefix: Path, *, conda: bool = False) -> None:
        self.prefix = prefix
        if conda:
            (prefix / "conda-meta").mkdir(parents=True)
            (prefix / "bin").mkdir()
            (prefix / "bin/python").symlink_to(os.path.realpath(sys.executable))
        else:
            subprocess.run([sys.executable, "-m", "venv", "--without-pip", prefix], check=True)
        self.site = f"lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"
        (prefix / self.site).mkdir(parents=True, exist_ok=True)

    @property
    def packages(self) -> Path:
        return self.prefix / self.site


@dataclass
class Patient:
    """`before` and `after` are lines that the shell runs before the first and second `doctor`.

    `env` are variables that override the account's.
    """

    home: Home
    work: Path
    env: dict[str, str] = field(default_factory=dict)
    before: str = ""
    after: str = ""
    shell: str = "bash"
    remains: frozenset[str] = frozenset()
    """Codes of the rules that may still find something afterwards."""

    @classmethod
    def new(cls, folder: Path) -> Patient:
        home = make_home(folder)
        work = folder / "work"
        for name in ("local", "conf", "bin"):
            (work / name).mkdir(parents=True)
        patient = cls(home, work)
        patient.program(work / "bin/sudo", _SUDO)
        # The machine's gcc must not matter: this one is accepted by every toolkit here.
        patient.program(work / "gcc-10")
        (work / "bin/gcc").symlink_to(work / "gcc-10")
        (work / "pick.py").write_text(_PICK)
        path = f"{console_script().parent}:{work}/bin:/usr/bin:/bin:/usr/sbin:/sbin"
        patient.env = {"PATH": path, "SHELL": "/bin/bash", "CUDASWITCH_DRIVER": "580.65.06"}
        return patient

    @property
    def path(self) -> str:
        return self.env["PATH"]

    def on_path(self, *folders: Path | str) -> None:
        self.env["PATH"] = ":".join([*map(str, folders), self.path])

    def program(self, path: Path, text: str = "#!/bin/sh\n") -> Path:
        return executable(path, text)

    def lay_library(self, folder: Path, stem: str, soname: str, full: str) -> Path:
        """Make a real library with its links: libcudart.so.11.8.89, .so.11.0 and .so."""
        number = {"made_as": full}
        real = builders.elf_library(folder / f"{stem}.so.{full}", soname, number)
        for name in (soname, f"{stem}.so"):
            if not (folder / name).exists():
                (folder / name).symlink_to(real.name)
        return real

    def toolkit(self, path: Path, version: str = "12.4.131", *, nvcc: bool = True) -> Path:
        """Make a toolkit: its libraries, its version, nvcc and ptxas, a header, libdevice."""
        cuda = Version(version)
        for library in LIBRARIES:
            name = soname(library, cuda)
            assert name
            self.lay_library(path / "lib64", f"lib{library}", name, version)
        text = json.dumps({"cuda": {"name": "CUDA SDK", "version": version}})
        (path / "version.json").write_text(text)
        compiler = ("libdevice/libdevice.10.bc", "lib64/libnvvm.so.4")
        for name in ("include/cuda_runtime_api.h", *(f"nvvm/{at}" for at in compiler)):
            (path / name).parent.mkdir(parents=True, exist_ok=True)
            (path / name).write_text("")
        if nvcc:
            says = f"#!/bin/sh\necho 'Cuda compilation tools, release {cuda.minor}, V{version}'\n"
            self.program(path / "bin/nvcc", says)
            self.program(path / "bin/ptxas")
        return path

    def adopt(self, version: str, *, nvcc: bool = True) -> Path:
        """Make a toolkit outside of the account, and adopt it."""
        kit = self.toolkit(self.work / f"kits/{version}", version, nvcc=nvcc)
        self.run("adopt", kit)
        return kit

    def run(self, *arguments: str | Path) -> list[str]:
        return succeeded(self.home.run(*arguments, **self.env))

    def activate(self, env: OwnEnv) -> None:
        """Set what an activated environment's scripts, or conda's, would set."""
        conda = (env.prefix / "conda-meta").is_dir()
        self.env["CONDA_PREFIX" if conda else "VIRTUAL_ENV"] = str(env.prefix)
        self.on_path(env.prefix / "bin")

    def virtualenv(self, *, conda: bool = False) -> OwnEnv:
        return OwnEnv(self.work / "env", conda=conda)

    def rc(self, text: str, name: str = ".bashrc") -> Path:
        path = self.home.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def gpu(self, cc: str) -> None:
        """Make an nvidia-smi that answers as the real one does with such a card."""
        says = f'#!/bin/sh\necho "{self.env["CUDASWITCH_DRIVER"]}, {cc}"\n'
        self.program(self.work / "bin/nvidia-smi", says)

    def in_shell(self, code: str) -> subprocess.CompletedProcess[str]:
        """Run `doctor`, the command that it prints for `code`, and `doctor` again, in one shell."""
        text = SHELLS[self.shell].format(
            before=self.before,
            after=self.after,
            work=self.work,
            python=sys.executable,
            code=code,
        )
        script = self.work / "script"
        script.write_text(text)
        return in_own_mounts(
            MACHINE,
            self.work,
            self.shell,
            _WITHOUT_SETTINGS[self.shell],
            script,
            cwd=self.home.path,
            env=self.home.env | self.env,
        )

    def run_all(self) -> list[str]:
        """Run all commands in the order in which they are printed; return the codes found before.

        What LD_LIBRARY_PATH is afterwards is in the file `list`.
        """
        self.before += f"""
cudaswitch doctor --json < /dev/null > '{self.work}/all.json'
eval "$('{sys.executable}' -c '
import json, sys
print("\\n".join(one["fix"] for one in json.load(open(sys.argv[1]))["findings"]))
' '{self.work}/all.json')"; printf %s "$LD_LIBRARY_PATH" > '{self.work}/list'"""
        done = self.in_shell("none")
        assert not done.stderr, done.stderr
        found = json.loads((self.work / "all.json").read_text())["findings"]
        return [one["code"] for one in found]

    def findings(self, number: int) -> list[dict[str, str]]:
        found: list[dict[str, str]] = json.loads((self.work / f"{number}.json").read_text())[
            "findings"
        ]
        return found

    def told(self, pasted: str) -> dict[str, str]:
        """Paste an error, and return the only finding about it."""
        done = self.home.run("doctor", "--json", stdin=pasted, **self.env)
        found: dict[str, str]
        [found] = json.loads(done.stdout)["findings"]
        return found

    def codes(self, number: int) -> list[str]:
        return [one["code"] for one in self.findings(number)]

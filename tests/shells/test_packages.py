"""Packages that come after a pin: hooks see what brings CUDA, and search no more than needed."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from cudaswitch.bundled import bundles_cuda
from made_environments import BUNDLES, Env
from shells.conda import Emulator, conda_prefix
from shells.conftest import make_person
from shells.driver import BASH, DASH, FISH, NU, SHELLS, TCSH, XONSH, ZSH, Shell
from shells.kits import Person, foreign, switched
from shells.pinned import Session
from shells.quick_conda import CONDAS
from shells.venvs import activate, with_venv
from tools import console_script

every_shell = pytest.mark.parametrize("shell", SHELLS, ids=str)
every_kind = pytest.mark.parametrize("kind", ["conda", "virtualenv"])
SITE = "lib/python3.11/site-packages"


@pytest.fixture
def env(tmp_path: Path, kind: str) -> Env:
    made = Env(tmp_path / "an env [x]", SITE)
    made.dist("numpy", "2.0.0")
    if kind == "conda":
        conda_prefix(made.prefix)
    else:
        made.write("pyvenv.cfg", f"home = {tmp_path}/base/bin\nversion = 3.11.2\n")
    return made


def entered(person: Person, shell: Shell, env: Env, **variables: str) -> str | None:
    """Run the activate hook, which must apply the toolkit, and return LD_LIBRARY_PATH."""
    return entered_and_told(person, shell, env, **variables)[0]


def entered_and_told(
    person: Person, shell: Shell, env: Env, **variables: str
) -> tuple[str | None, str | None]:
    """Run the activate hook, and return LD_LIBRARY_PATH and XLA_FLAGS."""
    conda = (env.prefix / "conda-meta").is_dir()
    hook = f"etc/conda/activate.d/~~cudaswitch.{shell.suffix}"
    hook = hook if conda else f"etc/cudaswitch/on.{shell.suffix}"
    active = shell.set("CONDA_PREFIX" if conda else "VIRTUAL_ENV", str(env.prefix))
    bare = Person(person.home, person.kits, {})
    result = bare.play(shell, active, shell.source(env.prefix / hook), **variables).check()
    seen = foreign(result.snaps["2"])
    left = switched(result.snaps["1"], person.kits[0], libraries=False)
    found = seen.pop("LD_LIBRARY_PATH", None), seen.pop("XLA_FLAGS", None)
    assert seen == left
    return found


def wheel(env: Env) -> None:
    env.file("nvidia/cublas/lib/libcublas.so.12")


def torch(env: Env) -> None:
    env.file("torch/lib/libtorch_cuda.so")


def another_python(env: Env) -> None:
    """Do what `python -m venv --upgrade` and conda's update of Python do."""
    if (env.prefix / "pyvenv.cfg").exists():
        env.write("pyvenv.cfg", "home = /usr/bin\nversion = 3.13.0\n")
    else:
        env.conda("python", "3.13.0", "0")
    env.write("lib/python3.13/site-packages/nvidia/cublas/lib/libcublas.so.12", "")


def record(env: Env) -> None:
    env.conda("cudatoolkit", "10.1.243", "h6bb024c_0")


def persons_own(env: Env) -> None:
    base = env.prefix.parent / "user" / SITE / "nvidia/cublas/lib"
    base.mkdir(parents=True)


def bases(env: Env) -> None:
    base = Env(env.prefix.parent / "base", SITE)
    wheel(base)
    text = (env.prefix / "pyvenv.cfg").read_text()
    env.write("pyvenv.cfg", f"{text}include-system-site-packages = true\n")


COMES = {
    "conda": (wheel, torch, another_python, record, persons_own),
    "virtualenv": (wheel, torch, another_python, bases),
}


@every_shell
@pytest.mark.parametrize(
    ("kind", "comes"), [(kind, comes) for kind, all_of in COMES.items() for comes in all_of]
)
def test_cuda_that_comes_after_the_pin(
    person: Person, shell: Shell, env: Env, comes: Callable[[Env], None]
) -> None:
    user = str(env.prefix.parent / "user")
    person.pin("10.1", env.prefix)
    ours = ":".join(person.kits[0].lib)
    assert entered(person, shell, env, PYTHONUSERBASE=user) == ours
    comes(env)
    assert entered(person, shell, env, PYTHONUSERBASE=user) is None


@pytest.mark.parametrize("shell", [BASH, ZSH, DASH, FISH], ids=str)
@every_kind
def test_what_is_older_than_the_pin_is_not_looked_at_again(
    person: Person, shell: Shell, env: Env
) -> None:
    """Package folders, which are long, are searched again only if they are newer than the pin."""
    person.pin("10.1", env.prefix)
    wheel(env)
    site = env.prefix / SITE
    os.utime(site, (time.time() - 60,) * 2)
    ours = ":".join(person.kits[0].lib)
    assert entered(person, shell, env) == ours
    person.pin("10.1", env.prefix)
    assert entered(person, shell, env) is None
    shutil.rmtree(site / "nvidia")
    os.utime(site, (time.time() - 60,) * 2)
    assert entered(person, shell, env) is None
    site.touch()
    assert entered(person, shell, env) == ours


@every_shell
@pytest.mark.parametrize("kind", ["conda"])
def test_the_packages_of_who_has_pinned_are_not_everybodys(
    person: Person, shell: Shell, env: Env
) -> None:
    persons_own(env)
    user = str(env.prefix.parent / "user")
    person.pin("10.1", env.prefix, PYTHONUSERBASE=user)
    assert entered(person, shell, env, PYTHONUSERBASE=user) is None
    assert entered(person, shell, env) == ":".join(person.kits[0].lib)


@pytest.mark.parametrize("shell", [BASH, ZSH, DASH], ids=str)
@every_kind
def test_a_list_that_may_not_be_written_is_left_alone(
    person: Person, shell: Shell, env: Env
) -> None:
    wheel(env)
    person.pin("10.1", env.prefix)
    conda = (env.prefix / "conda-meta").is_dir()
    name = "etc/conda/activate.d/~~cudaswitch.sh" if conda else "etc/cudaswitch/on.sh"
    active = shell.set("CONDA_PREFIX" if conda else "VIRTUAL_ENV", str(env.prefix))
    steps = [f"{active}\nreadonly LD_LIBRARY_PATH", shell.source(env.prefix / name)]
    bare = Person(person.home, person.kits, {})
    result = bare.play(shell, *steps, LD_LIBRARY_PATH="/site/lib").check()
    assert result.snaps["2"]["CUDA_HOME"] == str(person.kits[0].home)
    assert result.stderr == ""


@every_shell
@every_kind
@pytest.mark.parametrize("bundled", [True, False])
def test_libdevice_that_comes_after_the_pin(
    shell: Shell, env: Env, bundled: bool, tmp_path: Path
) -> None:
    """TensorFlow and JAX are told of the toolkit's libdevice until packages bring another."""
    person = make_person(tmp_path / "person", ())
    kit = person.kits[0]
    (kit.home / "nvvm" / "libdevice").mkdir(parents=True)
    env.write(f"{SITE}/tensorflow/__init__.py", "")
    if bundled:
        wheel(env)
    person.pin(kit.version, env.prefix)
    libraries = None if bundled else ":".join(kit.lib)
    assert entered_and_told(person, shell, env) == (libraries, kit.data_dir)
    env.write(f"{SITE}/nvidia/cuda_nvcc/nvvm/libdevice/libdevice.10.bc", "")
    (env.prefix / SITE).touch()
    assert entered_and_told(person, shell, env) == (libraries, None)


@pytest.mark.parametrize("shell", [BASH, ZSH, DASH, FISH], ids=str)
@pytest.mark.parametrize("kind", ["virtualenv"])
def test_a_base_that_is_seen_is_looked_at_each_time(person: Person, shell: Shell, env: Env) -> None:
    base = Env(env.prefix.parent / "base", SITE)
    text = (env.prefix / "pyvenv.cfg").read_text()
    env.write("pyvenv.cfg", f"{text}include-system-site-packages = true\n")
    person.pin("10.1", env.prefix)
    assert entered(person, shell, env) == ":".join(person.kits[0].lib)
    wheel(base)
    assert entered(person, shell, env) is None


@pytest.mark.parametrize("shell", [BASH, FISH], ids=str)
@every_kind
def test_two_folders_of_packages_are_both_looked_at(person: Person, shell: Shell, env: Env) -> None:
    env.write("lib/python3.12/site-packages/module.py", "")
    person.pin("10.1", env.prefix)
    os.utime(env.prefix / SITE, (time.time() - 60,) * 2)
    env.write("lib/python3.12/site-packages/nvidia/cublas/lib/libcublas.so.12", "")
    assert entered(person, shell, env) is None


@every_shell
def test_cuda_of_the_one_that_is_active_below_one_that_is_left(
    person: Person, shell: Shell, tmp_path: Path
) -> None:
    """A pin below, applied again, gives no libraries if the then active environment brings CUDA."""
    for name in "abc":
        conda_prefix(tmp_path / name)
    record(Env(tmp_path / "b", SITE))
    person.pin("10.1", tmp_path / "a")
    person.pin("11.8", tmp_path / "c")
    session = Session(person, tmp_path, shell, Emulator())
    result = session.play(*session.steps("a +b +c out")).check()
    left = result.snaps["5"]
    assert left["CUDA_HOME"] == str(person.kits[0].home)
    assert "LD_LIBRARY_PATH" not in left


@every_shell
def test_the_compiler_and_cuda_of_one_that_is_left(shell: Shell, tmp_path: Path) -> None:
    """A choice is complete again after a deactivate hook that runs with the prefix still set."""
    compilers = tmp_path / "compilers"
    compilers.mkdir()
    person = make_person(tmp_path / "person", ("tcsh",), compilers)
    prefix = conda_prefix(tmp_path / "a")
    (prefix / "bin" / "gcc").symlink_to("/bin/sh")
    record(Env(prefix, SITE))
    person.pin("10.1", prefix)
    active = [shell.set("CONDA_PREFIX", str(prefix)), shell.unset("CONDA_PREFIX")]
    enter, leave = (
        shell.source(prefix / "etc/conda" / f"{half}.d" / f"~~cudaswitch.{shell.suffix}")
        for half in ("activate", "deactivate")
    )
    steps = [person.use(shell, "11.8"), f"{active[0]}\n{enter}", f"{leave}\n{active[1]}"]
    result = person.play(shell, *steps, PATH=f"{compilers}:{person.home.env['PATH']}").check()
    names, kit = ("CUDAHOSTCXX", "LD_LIBRARY_PATH"), person.kits[1]
    seen = [[result.snaps[number].get(name) for name in names] for number in "123"]
    assert seen[0] == [str(kit.compiler), *kit.lib]
    assert seen[1:] == [[None, None], seen[0]]


@pytest.mark.parametrize("shell", [BASH, ZSH, FISH], ids=str)
def test_cuda_of_a_virtualenv_that_is_left(person: Person, shell: Shell, tmp_path: Path) -> None:
    """After a script leaves a virtualenv with CUDA, an earlier choice has its libraries again."""
    with_venv(tmp_path / "v")
    wheel(Env(tmp_path / "v"))
    person.pin("11.8", tmp_path / "v")
    steps = ["cudaswitch use 10.1", activate(shell, tmp_path / "v"), "deactivate"]
    result = person.play(shell, *steps).check()
    ours = ":".join(person.kits[0].lib)
    found = [result.snaps[number].get("LD_LIBRARY_PATH") for number in "123"]
    assert found == [ours, None, ours]


STACKS = {
    "on one with a pin": ("pin:torch +tools", None),
    "on one with a pin, with a Python": ("pin:torch +python", None),
    "and a choice": ("torch use +tools", None),
    "below another": ("torch use +tools +bare", None),
    "and a choice, with a Python": ("torch use +python", 0),
    "and a choice, below one with a Python": ("torch use +tools +python", 0),
    "with a pin of its own": ("torch +pin:tools", 0),
    "with a virtualenv": ("pin:torch venv", 0),
    "with a virtualenv that brings some": ("pin:python +tools venv+", None),
    "with a virtualenv below that brings some": ("venv+ tools /bin use", None),
    "with a virtualenv between": ("torch venv +tools use", 0),
    "with a pin and a virtualenv between": ("pin:torch venv +tools", 0),
    "with wheels in a virtualenv between": ("python venv+ +tools use", None),
    "with one between that is not there any more": ("torch +tools bare use", None),
    "not stacked": ("pin:torch use tools", 0),
}
"""Case → steps, and the toolkit whose libraries are there in the end; `torch` has wheels."""


@pytest.mark.parametrize("shell", [BASH, ZSH, FISH, TCSH], ids=str)
@pytest.mark.parametrize("conda", CONDAS, ids=str)
@pytest.mark.parametrize("stack", STACKS)
def test_what_an_environment_is_stacked_on(session: Session, tmp_path: Path, stack: str) -> None:
    """An environment without Python runs the one below, whose CUDA counts; `exec` agrees."""
    conda, shell, person = session.conda, session.shell, session.person
    made = {name: conda_prefix(tmp_path / name) for name in ("torch", "tools", "bare", "python")}
    wheel(Env(made["torch"], SITE))
    (made["python"] / "bin/python").touch()
    words, steps = STACKS[stack][0].split(), []
    for name in {"venv", "venv+"}.intersection(words):
        with_venv(tmp_path / name)
    wheel(Env(tmp_path / "venv+"))
    for word in words:
        name = word.rpartition(":")[2].lstrip("+")
        if ":" in word:
            person.pin("10.1", made[name])
        enter = shell.prepend("PATH", word) if word == "/bin" else "cudaswitch use 10.1"
        if name in made:
            enter = conda.activate(shell, made[name], stack="+" in word)
        elif "venv" in word:
            enter = activate(shell, tmp_path / word)
        steps.append(f"{enter}\n{shell.prompt}")
    steps[-1] += f"\n{console_script()} exec -- printenv LD_LIBRARY_PATH" * (shell is BASH)
    result = session.play(*steps, load=True)
    numbered = STACKS[stack][1]
    ours = None if numbered is None else ":".join(person.kits[numbered].lib)
    last = result.snaps[str(len(steps) + 1)]
    assert result.stderr == ""
    assert last["CUDA_HOME"] == str(person.kits[0].home)
    assert last.get("LD_LIBRARY_PATH") == ours
    assert result.stdout == (f"{ours}\n" if ours and shell is BASH else "")


@pytest.mark.parametrize("shell", [BASH], ids=str)
@pytest.mark.parametrize("conda", CONDAS[:1], ids=str)
def test_a_python_of_another_environment_is_stacked_on_nothing(
    session: Session, tmp_path: Path
) -> None:
    """A Python that is called by path, as by an IDE, ignores wheels in the shell's stack."""
    conda, shell, person = session.conda, session.shell, session.person
    made = {name: conda_prefix(tmp_path / name) for name in ("torch", "tools", "other")}
    wheel(Env(made["torch"], SITE))
    person.pin("11.8", made["torch"])
    Env(made["other"], SITE).dist("cupy-cuda101", "9.0.0")
    (made["other"] / "bin/python").symlink_to(sys.executable)
    run = f"{made['other']}/bin/python -c 'import os; print(os.environ.get(\"LD_LIBRARY_PATH\"))'"
    steps = [conda.activate(shell, made["torch"]), conda.activate(shell, made["tools"], stack=True)]
    steps.append(f"{shell.prompt}\n{console_script()} exec 10.1 -- {run}")
    result = session.play(*steps, load=True).check()
    assert result.stdout == f"{':'.join(person.kits[0].lib)}\n"


WHEEL = f"{SITE}/nvidia/cublas/lib/libcublas.so.12"
CONFIG = "home = {base}/bin\ninclude-system-site-packages = true\nversion = 3.11.2\n"


def prefixes(folder: Path) -> dict[str, Path]:
    """Make environments that bring CUDA, or nearly do; `user` has the person's own packages."""
    base, old = folder / "base", folder / "old"
    files: dict[str, dict[str, str]] = {
        "base": {WHEEL: ""},
        "old": {"conda-meta/cudatoolkit-10.1.243-h6bb024c_0.json": "{}"},
        "debian": {"lib/python3/dist-packages/torch/lib/libtorch_cuda.so": ""},
        "local": {"local/lib/python3.11/dist-packages/torch/lib/libtorch_cuda.so": ""},
        "lib64": {"lib64/python3.11/site-packages/torch/lib/libtorch_cuda.so": ""},
        "local64": {"local/lib64/python3.11/site-packages/torch/lib/libtorch_cuda.so": ""},
        "unlocked": {"lib/python3.11t/site-packages/torch/lib/libtorch_cuda.so": ""},
        "pypy": {WHEEL.replace("python", "pypy"): ""},
        "user": {
            "lib/python3.12/site-packages/torch/lib/libtorch_cuda.so": "",
            "lib/pypy3.9/site-packages/torch/lib/libtorch_cuda.so": "",
        },
        "conda": {"conda-meta/history": "", f"{SITE}/module.py": ""},
        "conda sees user": {
            "conda-meta/history": "",
            "lib/python3.12/site-packages/module.py": "",
        },
        "conda sees user of PyPy": {
            "conda-meta/history": "",
            "lib/pypy3.9/site-packages/module.py": "",
        },
        "cudatoolkit-12.4": {"conda-meta/cuda-nvcc-12.4.131-0.json": "{}"},
        "virtualenv": {"pyvenv.cfg": f"home = {base}/bin\n", f"{SITE}/module.py": ""},
        "sees base": {"pyvenv.cfg": CONFIG.format(base=base)},
        "sees its conda": {"pyvenv.cfg": CONFIG.format(base=old)},
        "sees what Debian has": {"pyvenv.cfg": CONFIG.format(base=folder / "debian")},
        "sees what pip put there": {"pyvenv.cfg": CONFIG.format(base=folder / "local")},
        "sees what Fedora has": {"pyvenv.cfg": CONFIG.format(base=folder / "lib64")},
        "sees what pip put there on Fedora": {"pyvenv.cfg": CONFIG.format(base=folder / "local64")},
        "sees a Python without its lock": {"pyvenv.cfg": CONFIG.format(base=folder / "unlocked")},
        "sees PyPy": {"pyvenv.cfg": CONFIG.format(base=folder / "pypy")},
        "in another order": {
            "pyvenv.cfg": f"version_info = 3.11.2.final.0\ninclude-system-site-packages = TRUE\n"
            f"home = {base}/bin"
        },
        "without blanks": {
            "pyvenv.cfg": f"home={base}/bin\ninclude-system-site-packages=true\nversion=3.11.2\n"
        },
        "with blanks at ends": {"pyvenv.cfg": CONFIG.format(base=base).replace("\n", " \t\n")},
        "with line ends of Windows": {"pyvenv.cfg": CONFIG.format(base=base).replace("\n", "\r\n")},
        "with a slash at the end": {"pyvenv.cfg": CONFIG.format(base=base).replace("bin", "bin/")},
        "indented": {"pyvenv.cfg": CONFIG.format(base=base).replace("home", " home")},
        "nearly true": {"pyvenv.cfg": CONFIG.format(base=base).replace("true", "true-ish")},
        "sees no base": {"pyvenv.cfg": CONFIG.format(base=base).replace("true", "false")},
        "base of another Python": {"pyvenv.cfg": CONFIG.format(base=base).replace("11", "10")},
        "base elsewhere": {"pyvenv.cfg": CONFIG.format(base=folder / "none")},
        "sees user": {
            "pyvenv.cfg": CONFIG.format(base=folder / "none").replace("11", "12"),
            "lib/python3.12/site-packages/module.py": "",
        },
        "sees user, of the root's Python": {
            "pyvenv.cfg": CONFIG.format(base="").replace("11", "12"),
            "lib64/python3.12/site-packages/module.py": "",
        },
    }
    for name, below in (
        ("with uv", "sees base"),
        ("with uv in uv", "with uv"),
        ("with uv in conda", "bundle 0"),
        ("layer on a bare Python", "base"),
        ("layer in a circle", "layer of another"),
        ("layer of another", "layer in a circle"),
    ):
        files[name] = {"pyvenv.cfg": f"home = /usr/bin\nextends-environment = {folder / below}\n"}
    for number, (path, _) in enumerate(BUNDLES):
        at = path.replace("python3.8", "python3.11")
        files[f"bundle {number}"] = {"conda-meta/history": "", at: ""}
    found = {}
    for name, content in files.items():
        found[name] = folder / name
        for path, text in content.items():
            (folder / name / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / name / path).write_text(text, newline="")
    (folder / "conda sees user/lib/python3.1").symlink_to("python3.12")
    beside = ("base", "old", "debian", "local", "lib64", "local64", "unlocked", "pypy", "user")
    return {name: at for name, at in found.items() if name not in beside}


@pytest.mark.parametrize("shell", (*SHELLS, XONSH, NU), ids=str)
def test_every_shell_sees_what_python_sees(
    person: Person, shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each shell's own code for what brings CUDA agrees with `detect.bundles_cuda`."""
    found = prefixes(tmp_path / "a folder [x]")
    user = str(tmp_path / "a folder [x]/user")
    monkeypatch.setenv("PYTHONUSERBASE", user)
    monkeypatch.delenv("PYTHONNOUSERSITE", raising=False)
    rule = {name: bundles_cuda(at) is not None for name, at in found.items()}
    silent = ("sees no base", "nearly true", "conda", "cudatoolkit-12.4", "virtualenv")
    assert all(rule[name] for name in rule if "sees" in name and name not in silent)
    assert all(rule[name] for name in rule if name.startswith("with")) and rule["indented"]
    assert not any(rule[name] for name in rule if name in silent or name.startswith("layer"))
    steps = []
    for at in found.values():
        named = ["VIRTUAL_ENV", "CONDA_PREFIX"]
        if (at / "conda-meta").is_dir():
            named.reverse()
        entered = shell.set(named[0], str(at)), shell.set(named[1], "")
        steps.append("\n".join([*entered, person.use(shell, "10.1")]))
    result = person.play(shell, *steps, PYTHONUSERBASE=user)
    assert result.rc == 0
    seen = {
        name: person.kits[0].lib[0] not in result.snaps[str(n)].get("LD_LIBRARY_PATH", "")
        for n, name in enumerate(found, 1)
    }
    assert seen == rule

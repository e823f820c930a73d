"""What conda does to a shell, written from observation, for machines that have no conda.

    conda_emulator.py shell.posix|shell.fish|shell.csh activate [--stack] PREFIX
    conda_emulator.py shell.posix|shell.fish|shell.csh deactivate|reactivate
    conda_emulator.py run -p PREFIX COMMAND...

The first two print code for the calling shell to evaluate, which conda_emulator.{sh,fish,csh} do.
Two traits make conda a hard neighbour for hooks, and are the reason for this file: the new
PATH is computed here, before any script of the transition runs, and it is exported before the
deactivation scripts only when an environment is left, otherwise after them.
A third one: variables of an environment (`conda env config vars`) replace those of the shell, whose
values are kept as `__CONDA_SHLVL_N_NAME`, and restored when the environment is left.
With EMULATED=mamba, that happens in mamba's order.
Not emulated: prompts, base, variables of packages, names of environments, `max_shlvl`.

conda_emulator.py runs it with `python -I -S`, so it imports nothing but the standard library, and
of that only what costs nothing: with `pathlib` and `typing`, each of thousands of transitions
takes twice as long.
"""

from __future__ import annotations

import os
import sys


class Step:
    """One line of code: `set` a variable, `unset` it, or `source` the script in `name`."""

    def __init__(self, action: str, name: str, value: str = "") -> None:
        self.action, self.name, self.value = action, name, value


class Active:
    """The state that conda keeps in the environment."""

    def __init__(self, env: dict[str, str]) -> None:
        self.env = env
        self.level = int(env.get("CONDA_SHLVL") or 0)
        self.prefix = env.get("CONDA_PREFIX", "")
        self.path = [os.path.normpath(one) for one in env.get("PATH", "").split(":")]

    def path_with(self, new: str) -> list[str]:
        return [f"{new}/bin", *self.path]

    def path_with_instead(self, new: str | None) -> list[str]:
        """Put `new` where the active environment is, or in front if that is not on PATH."""
        wanted = [f"{new}/bin"] if new else []
        if f"{self.prefix}/bin" not in self.path:
            return wanted + self.path
        at = self.path.index(f"{self.prefix}/bin")
        return self.path[:at] + wanted + self.path[at + 1 :]


def _scripts(prefix: str, kind: str, suffix: str) -> list[Step]:
    folder = f"{prefix}/etc/conda/{kind}.d"
    found = os.listdir(folder) if os.path.isdir(folder) else []
    names = sorted(f"{folder}/{name}" for name in found if name.endswith(suffix))
    return [Step("source", name) for name in (names[::-1] if kind == "deactivate" else names)]


def _named(prefix: str) -> list[Step]:
    """Name the environment as conda's prompt and users see it."""
    folder, _, last = prefix.rpartition("/")
    name = last if folder.endswith("/envs") else prefix
    return [
        Step("set", "CONDA_DEFAULT_ENV", name),
        Step("set", "CONDA_PROMPT_MODIFIER", f"({name}) "),
    ]


def _entered(prefix: str, level: int) -> list[Step]:
    sets = [Step("set", "CONDA_PREFIX", prefix), Step("set", "CONDA_SHLVL", str(level))]
    return sets + _named(prefix)


def _variables(prefix: str) -> dict[str, str]:
    """Read what `conda env config vars set` wrote, without the unset ones."""
    state = f"{prefix}/conda-meta/state"
    if not os.path.exists(state):
        return {}
    # Imported only here, as the import costs more than the rest of a transition.
    import json

    with open(state, encoding="utf-8") as file:
        found: dict[str, str] = json.load(file)["env_vars"]
    return {name: value for name, value in found.items() if value != "***unset***"}


def _set_path(path: list[str]) -> list[Step]:
    return [Step("set", "PATH", ":".join(path))]


def activate(now: Active, prefix: str, suffix: str, *, stack: bool) -> list[Step]:
    if now.level and prefix == now.prefix:
        return reactivate(now, suffix)
    level = now.level + 1
    steps: list[Step] = []
    path = now.path_with(prefix)
    if now.level and not stack:
        steps += _scripts(now.prefix, "deactivate", suffix)
        path = now.path_with_instead(prefix)
    steps += _set_path(path) + _entered(prefix, level)
    if now.level:
        steps.append(Step("set", f"CONDA_PREFIX_{now.level}", now.prefix))
    if now.level and stack:
        steps.append(Step("set", f"CONDA_STACKED_{level}", "true"))
    for name, value in _variables(prefix).items():
        steps.append(Step("set", name, value))
        if name in now.env:
            steps.append(Step("set", f"__CONDA_SHLVL_{now.level}_{name}", now.env[name]))
    return steps + _scripts(prefix, "activate", suffix)


def reactivate(now: Active, suffix: str) -> list[Step]:
    if not now.level:
        return []
    return [
        *_scripts(now.prefix, "deactivate", suffix),
        *_set_path(now.path_with_instead(now.prefix)),
        Step("set", "CONDA_SHLVL", str(now.level)),
        _named(now.prefix)[1],
        *_scripts(now.prefix, "activate", suffix),
    ]


def deactivate(now: Active, suffix: str) -> list[Step]:
    if not now.level:
        return []
    leaving = _scripts(now.prefix, "deactivate", suffix)
    if now.level == 1:
        forgotten = ("CONDA_PREFIX", "CONDA_DEFAULT_ENV", "CONDA_PROMPT_MODIFIER")
        unsets = [Step("unset", name) for name in forgotten]
        unset, back = _given_back(now)
        level = [Step("set", "CONDA_SHLVL", "0"), *back]
        return _set_path(now.path_with_instead(None)) + leaving + unsets + unset + level
    below = f"CONDA_PREFIX_{now.level - 1}"
    previous = now.env[below]
    unsets = [Step("unset", below)]
    stacked = f"CONDA_STACKED_{now.level}"
    if now.env.get(stacked):
        unsets.append(Step("unset", stacked))
        path = now.path_with_instead(None)
    else:
        path = now.path_with_instead(previous)
    unset, back = _given_back(now)
    back[:0] = [Step("set", name, value) for name, value in _variables(previous).items()]
    entering = _entered(previous, now.level - 1) + back + _scripts(previous, "activate", suffix)
    return _set_path(path) + leaving + unsets + unset + entering


def _given_back(now: Active) -> tuple[list[Step], list[Step]]:
    """Return the steps that unset and those that restore what the active environment replaced."""
    unset, back = [], []
    for name in _variables(now.prefix):
        if kept := now.env.get(f"__CONDA_SHLVL_{now.level - 1}_{name}"):
            back.append(Step("set", name, kept))
        else:
            unset.append(Step("unset", name))
    return unset, back


def _as_mamba(steps: list[Step], level: int) -> list[Step]:
    """Set variables before PATH, and delete the values that are kept as soon as they return."""
    sets = (step for step in steps if step.action == "set")
    own = [step for step in sets if step.name[:5] not in ("PATH", "CONDA")]
    rest = [step for step in steps if step not in own]
    at = [step.name for step in rest].index("PATH")
    if level > int(next(step.value for step in rest if step.name == "CONDA_SHLVL")):
        gone = [Step("unset", f"__CONDA_SHLVL_{level - 1}_{step.name}") for step in own]
        last = [step for step in rest[at + 1 :] if "/activate.d/" in step.name]
        return [*(step for step in rest if step not in last), *gone, *own, *last]
    return rest[:at] + own + rest[at:]


# Values are not escaped, because conda does not escape them: a quote in PATH must break here too.
def _posix(step: Step) -> str:
    forms = {"set": "export {0}='{1}'", "unset": "export {0}=''", "source": '. "{0}"'}
    return forms[step.action].format(step.name, step.value)


def _fish(step: Step) -> str:
    value = step.value.replace(":", '" "') if step.name == "PATH" else step.value
    forms = {"set": 'set -gx {0} "{1}";', "unset": "set -e {0} || true;", "source": 'source "{0}";'}
    return forms[step.action].format(step.name, value)


def _csh(step: Step) -> str:
    forms = {"set": 'setenv {0} "{1}";', "unset": "unsetenv {0};", "source": 'source "{0}";'}
    return forms[step.action].format(step.name, step.value)


DIALECTS = {
    "shell.posix": (".sh", _posix),
    "shell.fish": (".fish", _fish),
    "shell.csh": (".csh", _csh),
}


def code_for(dialect: str, arguments: list[str], env: dict[str, str]) -> str:
    """Return the shell code of one transition; raise SystemExit when it cannot be made."""
    suffix, written = DIALECTS[dialect]
    now = Active(env)
    match arguments:
        case ["activate", *options, prefix] if options in ([], ["--stack"]):
            if not os.path.isdir(f"{prefix}/conda-meta"):
                sys.exit(f"not a conda environment: {prefix}")
            steps = activate(now, os.path.normpath(prefix), suffix, stack=bool(options))
        case ["deactivate"]:
            steps = deactivate(now, suffix)
        case ["reactivate"]:
            steps = reactivate(now, suffix)
        case _:
            sys.exit(f"not emulated: {arguments}")
    if steps and env.get("EMULATED") == "mamba":
        steps = _as_mamba(steps, now.level)
    return "".join(written(step) + "\n" for step in steps)


def run(prefix: str, command: list[str]) -> int:
    """Do `conda run`: activate in a bash, run, source what deactivates, return the status."""
    # Imported only here, as they would double the time of every transition.
    import subprocess
    import tempfile

    emulator = sys.argv[0].replace(".py", ".sh")
    lines = [f'. "{emulator}"', f'conda activate "{prefix}"', '"$@"', "status=$?"]
    scripts = [step.name for step in _scripts(prefix, "deactivate", ".sh")]
    lines += [f'. "{name}"' for name in scripts if os.path.isfile(name)]
    with tempfile.NamedTemporaryFile("w", suffix=".sh") as script:
        script.write("\n".join([*lines, "exit $status", ""]))
        script.flush()
        env = os.environ | {"CONDA_EXE": sys.argv[0], "CONDA_PYTHON_EXE": sys.executable}
        return subprocess.run(["bash", script.name, *command], env=env, check=False).returncode


def main(arguments: list[str]) -> int:
    match arguments:
        case [dialect, *rest] if dialect in DIALECTS:
            sys.stdout.write(code_for(dialect, rest, dict(os.environ)))
            return 0
        case ["run", "-p", prefix, *command]:
            return run(prefix, command)
        case _:
            sys.exit(f"not emulated: {arguments}")

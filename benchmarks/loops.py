"""What cudaswitch does, as loops: one function per kind of operation."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path

from measure import Loop
from rows import Row
from scene import SHELLS, SWITCHED, Scene

HERE = Path(__file__).parent
PROJECT = HERE.parent


def ready_exports(scene: Scene, shell: str, version: str) -> str:
    """Return a text that sets what a switch sets and undoes nothing: the floor to compare with."""
    home = scene.toolkit(version)
    values = {name: str(home) for name in ("CUDA_HOME", "CUDA_PATH", "CUDAToolkit_ROOT")}
    values |= {
        "CUDACXX": f"{home}/bin/nvcc",
        "PATH": f"{home}/bin:{scene.variables['PATH']}",
        "LD_LIBRARY_PATH": f"{home}/lib64:{home}/extras/CUPTI/lib64",
    }
    set_one = "set -gx {} {}\n" if shell == "fish" else "export {}={}\n"
    lists = ("PATH", "LD_LIBRARY_PATH") if shell == "fish" else ()
    return "".join(
        set_one.format(name, value.replace(":", " ") if name in lists else shlex.quote(value))
        for name, value in values.items()
    )


def switched(scene: Scene) -> str:
    """Return the test that the second of two switches was made."""
    return f'[ "$CUDA_HOME" = {scene.toolkit(SWITCHED[1])} ]'


def bare(scene: Scene) -> str:
    """Return the assignments that give a shell a home without startup files."""
    home = scene.folder / "bare"
    home.mkdir(exist_ok=True)
    (home / ".zshrc").touch()
    return f"HOME={home} XDG_CONFIG_HOME={home} XDG_DATA_HOME={home}"


def use(scene: Scene) -> Iterator[Row]:
    """`use` of one toolkit, then the other; two operations a round."""
    done = switched(scene)
    for shell in (*SHELLS, "dash"):
        files = []
        for version in SWITCHED:
            file = scene.folder / f"ready-{version}.{shell}"
            file.write_text(ready_exports(scene, shell, version))
            files.append(file)
        source = "source" if shell == "fish" else "."
        ready = "\n".join(f"{source} {file}" for file in files)
        yield Row("use", f"{shell}: ready file of exports", Loop(shell, ready, per=2, proof=done))
        against = f"{shell}: ready file of exports"
        if shell == "dash":
            eval_one = 'eval "$want_{}"\n'.format
            setup = "".join(
                f"want_{n}={shlex.quote(scene.say('env', version, '--shell', 'sh'))}\n"
                for n, version in enumerate(SWITCHED)
            )
            body = eval_one(0) + eval_one(1)
            loop = Loop(shell, body, setup, per=2, proof=done)
            yield Row("use", "dash: eval of `env`'s text", loop, against)
            continue
        body = "\n".join(f"cudaswitch use {version}" for version in SWITCHED)
        loop = Loop(shell, body, f"source {scene.init(shell)}", per=2, proof=done)
        yield Row("use", f"{shell}: use", loop, against, 4)
        # The file of exports prints no line either.
        quiet = replace(loop, variables={"CUDASWITCH_QUIET": "1"})
        yield Row("use", f"{shell}: use, without its line", quiet, against, 4)


def activation(scene: Scene) -> Iterator[Row]:
    """What a pin adds to entering and leaving a conda environment; two operations a round."""
    for shell in SHELLS:
        suffix = "fish" if shell == "fish" else "sh"
        most = 500 if shell == "fish" else 200
        setup = f"source {HERE}/activation.{suffix}\n"
        init = f"{setup}source {scene.init(shell)}\n"
        forget = "functions --erase __cudaswitch_settle"
        # The empty loop must not call our replacement for what conda calls last.
        deaf = "functions --erase __cudaswitch_hashed"
        if shell != "fish":
            forget = "unset _cudaswitch_here; unset -f __cudaswitch_settle"
            deaf = "__conda_hashr() { hash -r; }"
        variants = {
            "enter, leave": (init, "", "", most),
            "enter, leave, core to be read": (setup, forget, "", None),
            "enter, leave, prompt after each": (init, "", "__cudaswitch_prompt", None),
        }
        for name, (before, first, last, target) in variants.items():
            bodies = [
                "\n".join(
                    filter(
                        None,
                        (
                            quiet,
                            first,
                            f"plain_activate {scene.environment(kind)}",
                            last,
                            "plain_deactivate",
                            last,
                        ),
                    )
                )
                for kind, quiet in (("pinned", ""), ("plain", deaf))
            ]
            loop = Loop(shell, bodies[0], before, bodies[1], per=2)
            yield Row("hook", f"{shell}: {name}", loop, "", target, absolute=True)
        # Each switch runs two hooks: of the environment being left and of the one being entered.
        bodies = [
            "\n".join(
                [
                    quiet,
                    f"plain_activate '{scene.environment(kind)}'",
                    *(f"plain_switch '{scene.environment(to)}'" for to in (f"also {kind}", kind)),
                    "plain_deactivate",
                ]
            )
            for kind, quiet in (("pinned", ""), ("plain", deaf))
        ]
        loop = Loop(shell, bodies[0], init, bodies[1], per=6)
        yield Row("hook", f"{shell}: enter, switch twice, leave", loop, "", most, absolute=True)
        yield from _unusual(scene, shell, init, deaf)


def _unusual(scene: Scene, shell: str, init: str, deaf: str) -> Iterator[Row]:
    """Hooks that do not take the short ways: only the usual cases have targets."""
    suffix, mine = "", "export CUDA_HOME=/mine"
    if shell == "fish":
        suffix, mine = ".fish", "set -gx CUDA_HOME /mine"
    conda = "plain_activate '{}'\nplain_deactivate"
    venv = f"source '{{}}/bin/activate{suffix}'\ndeactivate"
    for name, before, words, ours, others in (
        ("CUDA of its own", "", conda, "framework", "plain"),
        ("CUDA_HOME set before", mine, conda, "pinned", "plain"),
        ("a virtualenv", "", venv, "virtualenv", "bare virtualenv"),
    ):
        body, empty = (words.format(scene.environment(kind)) for kind in (ours, others))
        loop = Loop(shell, body, f"{init}\n{before}", f"{deaf}\n{empty}", per=2)
        yield Row("hook", f"{shell}: enter, leave, {name}", loop)


def prompt(scene: Scene) -> Iterator[Row]:
    """The prompt when nothing has changed, also below a version file."""
    for shell in SHELLS:
        setup = f"source {scene.init(shell)}\n"
        loop = Loop(shell, "__cudaswitch_prompt", setup + "__cudaswitch_prompt")
        yield Row("prompt", f"{shell}: nothing changed", loop, "", 15, absolute=True)
        inside = Loop(shell, "__cudaswitch_prompt", f"{setup}cd {scene.deep}\n__cudaswitch_prompt")
        yield Row("prompt", f"{shell}: below a .cuda-version", inside)


def directory(scene: Scene) -> Iterator[Row]:
    """`cd` to a version file, or to 12 folders below it, and out again; two operations a round."""
    tops = {"beside the file": scene.tree, "12 folders below": scene.deep}
    for shell, (name, top) in product(SHELLS, tops.items()):
        bodies = [
            f"cd {top}\n{look}\ncd {scene.outside}\n{look}" for look in ("__cudaswitch_prompt", ":")
        ]
        # The empty loop must not see the functions that fish and zsh run at every `cd`.
        quiet = {
            "bash": ":",
            "zsh": "chpwd_functions=()",
            "fish": "functions --erase __cudaswitch_moved",
        }[shell]
        setup = f"source {scene.init(shell)}\n"
        empty = f"{quiet}\n{bodies[1]}"
        loop = Loop(shell, bodies[0], setup, empty, per=2)
        yield Row("cd", f"{shell}: in and out, {name}", loop, "", 200, absolute=True)


def shims(scene: Scene) -> Iterator[Row]:
    """A shim against the tool itself, each a process."""
    if not (scene.home / "bin" / "nvcc").exists():
        scene.say("shims", "install")
    shim = scene.folder / "store" / "shims" / "nvcc"
    direct = scene.toolkit(SWITCHED[0]) / "bin" / "nvcc"
    yield Row("shim", "nvcc --version", Loop("dash", f"{direct} --version"))
    script = scene.folder / "only-runs-it"
    script.write_text(f'#!/bin/sh\nexec {direct} "$@"\n')
    script.chmod(0o755)
    only = Loop("dash", f"{script} --version")
    yield Row("shim", "a /bin/sh that only runs it", only, "nvcc --version")
    said = {"CUDASWITCH_VERSION": SWITCHED[0]}
    loop = Loop("dash", f"{shim} --version", variables=said)
    yield Row("shim", "shim, CUDASWITCH_VERSION", loop, "nvcc --version", 1.5)
    deep = Loop("dash", f"{shim} --version", f"cd {scene.deep}")
    yield Row("shim", "shim, .cuda-version 12 folders up", deep, "nvcc --version", 1.5)


def completion(scene: Scene) -> Iterator[Row]:
    """What one TAB costs, without a process."""
    for what, line in (("commands", "cudaswitch "), ("versions", "cudaswitch use ")):
        words = [*line.split(), ""]
        bash = Loop(
            "bash",
            f"COMP_WORDS=({' '.join(shlex.quote(word) for word in words)})"
            f" COMP_CWORD={len(words) - 1} COMP_LINE='{line}' COMP_POINT={len(line)} COMPREPLY=()\n"
            "_cudaswitch",
            f"source {PROJECT}/completions/cudaswitch.bash",
        )
        fish = Loop(
            "fish", f"complete -C '{line}'", f"source {PROJECT}/completions/cudaswitch.fish"
        )
        typed = f"BUFFER='{line}' CURSOR={len(line)}\n"
        zsh = Loop(
            "zle",
            f"{typed}zle complete-word",
            f"fpath=({PROJECT}/completions $fpath)\nautoload -Uz compinit\ncompinit -u -D\n"
            "unsetopt auto_list auto_menu list_beep\n",
            typed,
        )
        for shell, loop in (("bash", bash), ("zsh", zsh), ("fish", fish)):
            yield Row("completion", f"{shell}: {what}", loop, "", 3000, absolute=True)


def start(scene: Scene) -> Iterator[Row]:
    """An interactive shell that sources the ready file, against one without startup files."""
    for shell in SHELLS:
        against = f"{shell}: bare"
        yield Row("start", against, Loop("dash", f"{bare(scene)} {shell} -i -c :"))
        # The dash that runs the loop has the variables of the scene, where the file is sourced.
        yield Row("start", f"{shell}: ready file", Loop("dash", f"{shell} -i -c :"), against, 1.3)
        first = Loop("dash", f"{shell} -i -c 'cudaswitch use {SWITCHED[0]}'")
        yield Row("start", f"{shell}: ready file, and a first use", first, against)


def cold(scene: Scene) -> Iterator[Row]:
    """The command itself, against an interpreter that does nothing."""
    python = Path(sys.executable).resolve()
    yield Row("command", "python -ISE -c pass", Loop("dash", f"{python} -ISE -c pass"))
    said = {"CUDASWITCH_VERSION": SWITCHED[0]}
    hot, others = 2.5, 6
    commands = {
        "--version": hot,
        "list": hot,
        "current": hot,
        "which nvcc": hot,
        f"exec {SWITCHED[0]} -- /bin/true": hot,
        "--help": others,
        "pin --help": others,
        "init bash": others,
        "config list": others,
        f"env {SWITCHED[0]}": others,
        f"env {SWITCHED[0]} --shell fish": others,
        "alias": others,
        "compat tensorflow": others,
        "gc --dry-run": others,
    }
    for words, most in commands.items():
        loop = Loop("dash", f"{scene.command} {words}", variables=said)
        yield Row("command", f"cudaswitch {words}", loop, "python -ISE -c pass", most)


def _use_again(scene: Scene) -> Iterator[Row]:
    """`use` of the only toolkit that every scene has."""
    for shell in SHELLS:
        loop = Loop(shell, f"cudaswitch use {SWITCHED[0]}", f"source {scene.init(shell)}")
        yield Row("flat", shell, loop)


def flat(small: Scene, big: Scene) -> Iterator[Row]:
    """The same operations with one toolkit installed and with many."""
    kinds = {
        "use": (_use_again, "{}"),
        "prompt": (prompt, "{}: nothing changed"),
        "cd": (directory, "{}: in and out, 12 folders below"),
        "shim": (shims, "shim, .cuda-version 12 folders up"),
        "list": (cold, "cudaswitch list"),
    }
    for what, (rows, pattern) in kinds.items():
        for shell in SHELLS if "{}" in pattern else ("",):
            name = f"{shell}: {what}" if shell else what
            for scene in (small, big):
                [row] = [row for row in rows(scene) if row.name == pattern.format(shell)]
                first = scene is small
                yield Row(
                    "flat",
                    f"{name}, {scene.count} installed",
                    replace(row.loop, variables={**scene.variables, **row.loop.variables}),
                    "" if first else f"{name}, {small.count} installed",
                    None if first else 1.1,
                )

"""Rules about what runs before the user types: startup files, kernels, scripts."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path

from cudaswitch.activation import LIBRARY_FOLDERS, follows_unexported
from cudaswitch.decision import options_of
from cudaswitch.doctor.model import (
    Aside,
    Facts,
    Found,
    Install,
    LinesOut,
    Rule,
    Script,
    Setting,
    WrapKernel,
)
from cudaswitch.doctor.spelling import (
    Switch,
    activate_command,
    append,
    aside,
    by_hand,
    chain,
    load_command,
    off_command,
    use_command,
    word,
)
from cudaswitch.shells import TYPED, spelling

CUDA_VARIABLES = (
    *("CUDA_HOME", "CUDA_PATH", "CUDA_ROOT", "CUDA_DIR", "CUDAToolkit_ROOT", "CUDACXX"),
    *("CUDNN_HOME", "CUDNN_PATH"),
)
_CUDA_FOLDER = re.compile(
    r"(?:^|/)(?:cuda(?:[-_]?\d[\d.]*)?|cuda[-_]?toolkit|cudnn[\w.-]*)(?=/|$)"
    r"|\$\{?(?:CUDA_(?:HOME|PATH|ROOT)|CUDNN_\w+)",
    re.IGNORECASE,
)
"""A toolkit's folder or cuDNN's; not folders beside them, such as cuda-samples."""
_LISTS = ("PATH", "LD_LIBRARY_PATH")
_OWN_LISTS = ("LD_LIBRARY_PATH", "OLD_LD_LIBRARY_PATH")
"""What no script of an environment may set."""
_NESTED = re.compile(r"\$\{\w+:")
"""Such as `${PATH:+:$PATH}`: not each colon in it is between two folders."""
_WITH_COLON = ("bash", "fish", "sh", "tcsh", "zsh")
"""The shells in which `:` does nothing, and may stand where a line has to."""
_LIBRARIES = re.compile(r"^(?:export\s+)?LD_LIBRARY_PATH=", re.MULTILINE)
_APPENDED = re.compile(r"^CUDA_PATH=(.+)\nLD_LIBRARY_PATH=\1/\S+$", re.MULTILINE)
"""What an earlier command of ours has put into `.env`: there, the last line of a name holds."""
_ANEW = {"nu": Switch("exec nu")}
"""What loads a new file into shells that read it before they run the line that writes it."""
_OPEN_END = re.compile(r"(?<!\+):\$\{?LD_LIBRARY_PATH\}?$")
_PREFIX = re.compile(r"\$(?:CONDA_PREFIX\b|\{CONDA_PREFIX\})")
_OPEN_START = re.compile(r"^\$(?:LD_LIBRARY_PATH|\{LD_LIBRARY_PATH\}):")


def _is_leftover(one: Setting) -> bool:
    if one.name in CUDA_VARIABLES:
        return True
    parts = one.value.split(":") if one.name in _LISTS else []
    return any(map(_CUDA_FOLDER.search, parts))


def _by_file(settings: Iterable[Setting]) -> dict[str, list[Setting]]:
    found: dict[str, list[Setting]] = {}
    for one in settings:
        found.setdefault(one.file, []).append(one)
    return found


def _removal(
    facts: Facts, file: str, settings: list[Setting], evidence: str, whole: Collection[str] = ()
) -> Found:
    """Make the finding that disables lines, or takes CUDA out of a list that holds more.

    The lists of these names (`whole`) go with all that is in them. A line with another statement in
    it is left to the user.
    """
    shown = f"{evidence}: " + "; ".join(f"`{file}`:{one.number} `{one.text}`" for one in settings)
    lines: dict[int, str] = {}
    # What is before it may need a command there: the head of a block, or `&&` at the end of a line.
    instead: dict[int, str] = {}
    for one in settings:
        listed = one.name not in whole and _names_more(one)
        then = _without_cuda(one) if listed else _commented(one.text)
        if not one.alone or then is None:
            return Found(shown, by_hand(facts, file, one.number))
        lines |= one.lines
        instead[one.number] = then
    return _edit(facts, shown, file, lines, instead)


def _names_more(one: Setting) -> bool:
    """Tell whether a list names folders besides CUDA's."""
    parts = one.value.split(":") if one.name in _LISTS else []
    return any("/" in part and not _CUDA_FOLDER.search(part) for part in parts)


def _without_cuda(one: Setting) -> str | None:
    """Spell a statement in one line without CUDA's folders; None if its list is not that plain."""
    whole = "".join(text.removesuffix("\\") for text in one.lines.values())
    if _NESTED.search(one.value) or whole.count(one.value) != 1:
        return None
    kept = [part for part in one.value.split(":") if not _CUDA_FOLDER.search(part)]
    return whole.replace(one.value, _guarded(one, ":".join(kept)))


def _commented(text: str) -> str:
    """Make a line a comment after a command that does nothing."""
    rest = text.lstrip()
    return f"{text[: len(text) - len(rest)]}:  # {rest.rstrip()}"


def _edit(
    facts: Facts, evidence: str, file: str, lines: Mapping[int, str], instead: Mapping[int, str]
) -> Found:
    """Make the finding that removes lines; `instead` is what replaces them, by number."""
    for number, text in lines.items():
        if "\ufffd" in text:  # bytes that are not UTF-8, which no command here can name
            return Found(evidence, by_hand(facts, file, number))
    out = LinesOut(file, {number: (text, instead.get(number)) for number, text in lines.items()})
    return Found(evidence, out, out)


def _leftovers(facts: Facts) -> Iterator[Found]:
    for file, settings in _by_file(filter(_is_leftover, facts.settings)).items():
        yield _removal(facts, file, settings, "set for every shell")


def _open_lists(facts: Facts) -> Iterator[Found]:
    for one in facts.settings:
        if _is_leftover(one) or not one.alone:
            continue
        value = _guarded(one, one.value)
        if value != one.value and one.value in one.text:
            evidence = f"`{one.file}`:{one.number} `{one.text.strip()}`"
            instead = {one.number: one.text.replace(one.value, value)}
            yield _edit(facts, evidence, one.file, one.lines, instead)


def _guarded(one: Setting, value: str) -> str:
    """Spell a list that leaves no empty element if the variable is unset; in fish, none does."""
    if one.name != "LD_LIBRARY_PATH" or one.file.endswith(".fish"):
        return value
    value = _OPEN_END.sub("${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}", value)
    return _OPEN_START.sub("${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}", value)


def _leads(facts: Facts, script: Script) -> bool:
    """Tell whether a script puts a folder into LD_LIBRARY_PATH that a framework needs there."""
    values = (one.value for one in script.settings if one.name == "LD_LIBRARY_PATH")
    prefix = facts.environment.prefix if facts.environment else ""
    texts = (_PREFIX.sub(lambda _: prefix, value) for value in values)
    return any(facts.is_sought(at.rstrip("/")) for text in texts for at in text.split(":"))


def _environment_scripts(facts: Facts) -> Iterator[Found]:
    # What undoes a script has its name.
    needed = {os.path.basename(one.file) for one in facts.scripts if _leads(facts, one)}
    for script in facts.scripts:
        if os.path.basename(script.file) in needed:
            continue
        settings = [one for one in script.settings if _is_leftover(one) or one.name in _OWN_LISTS]
        if not settings:
            continue
        if "/activate.d/" in script.file or "/deactivate.d/" in script.file:
            shown = f"`{script.file}`:{settings[0].number} `{settings[0].text.strip()}`"
            yield Found(shown, aside(facts, script.file), Aside(script.file))
        else:
            told = "added to an activate script"
            yield _removal(facts, script.file, settings, told, _OWN_LISTS)


def _ending_scripts(facts: Facts) -> Iterator[Found]:
    for script in facts.scripts:
        if script.exits is not None:
            fix = aside(facts, script.file)
            yield Found(f"`{script.file}`:{script.exits}", fix, Aside(script.file))


def _not_loaded(facts: Facts) -> Iterator[Found]:
    """Something is asked for here, and this shell has something else."""
    if facts.decided is None or facts.instead is None:
        return
    home, origin = facts.decided.want.home, facts.decided.origin
    evidence = f"{origin} asks for `{home}`, this shell has {facts.instead}"
    if follows_unexported(facts.variables):
        yield Found(evidence, spelling.exporting(TYPED[facts.shell], "CUDASWITCH_VERSION"))
        return
    row, mine, environment = TYPED[facts.shell], facts.integration, facts.environment
    # A shell without a family reads no hooks.
    if row.family and environment and origin.startswith(f"{environment.pin_file}:"):
        # Its hook was added or changed since it was activated. Other rules report a hook that
        # brings something else, or is not run: then it has to be pinned again first.
        at = os.path.realpath(environment.prefix)
        hooks = [it for it in facts.hooks if os.path.realpath(it.environment.prefix) == at]
        if not any(it.gone or it.behind or it.unhooked for it in hooks):
            yield Found(evidence, activate_command(facts, environment))
        return
    if mine is None or mine.loads or mine.shell != facts.shell:
        name = next((kit.name for kit in facts.installed if kit.path == home), None)
        if name is None and home != "system":
            yield Found(f"{origin} asks for `{home}`, which is gone", off_command(facts))
        else:
            options = options_of(facts.decided.want, partial(word, facts))
            yield Found(evidence, use_command(facts, name or "system", options))
        return
    if mine.closed:
        evidence += f", and `{mine.file}` neither loads cudaswitch nor can be edited"
        yield Found(evidence, load_command(facts))
        return
    here = _ANEW.get(row.name) or load_command(facts, there=True)
    load = chain(facts, f"cudaswitch init --install {mine.shell} --yes", here)
    evidence += f", and `{mine.file}` does not load cudaswitch"
    yield Found(evidence, load, Install(mine.shell))


def _ready_file(facts: Facts) -> Iterator[Found]:
    mine = facts.integration
    if mine and mine.fault:
        fix = f"cudaswitch init --install {mine.shell} --yes"
        yield Found(f"`{mine.file}` {mine.fault}", fix, Install(mine.shell))


def _twice(facts: Facts) -> Iterator[Found]:
    mine = facts.integration
    if mine and mine.twice:
        path, number, text, _ = mine.twice
        evidence = f"`{path}`:{number} loads it a second time, and starts Python for it"
        # The line that loads it is known; any other may do more.
        if mine.shell in _WITH_COLON and text.strip() == TYPED[mine.shell].load:
            yield _edit(facts, evidence, str(path), {number: text}, {number: _commented(text)})
        else:
            yield Found(evidence, by_hand(facts, str(path), number))


def _kernels(facts: Facts) -> Iterator[Found]:
    for kernel in facts.kernels:
        yield Found(
            f"`{kernel.file}` starts the Python of `{kernel.prefix}` by its path",
            "cudaswitch doctor --fix",
            WrapKernel(kernel.file),
        )


def _project(facts: Facts) -> Iterator[Found]:
    """VS Code reads `.env` for the Python that it starts, and no startup file."""
    home = facts.decided.want.home if facts.decided else "system"
    if facts.project is None or home == "system":
        return
    folder, text = facts.project
    # The last line holds; a link to the toolkit is as good.
    named = re.findall(r"^CUDA_HOME=[\"']?([^\0\n]*?)[\"']?\s*$", text, re.MULTILINE)
    if named and os.path.realpath(named[-1]) == os.path.realpath(home):
        return
    lines = [f"CUDA_HOME={home}", f"CUDA_PATH={home}"]
    file = str(Path(folder, ".env"))
    evidence = f"`{folder}/.vscode` is there, and `{file}` does not name `{home}`"
    libraries = next((at for at in LIBRARY_FOLDERS if at in facts.parts.get(home, ())), None)
    if libraries and not facts.needs.brings:
        if mine := _LIBRARIES.search(_APPENDED.sub("\n", text)):
            number = text.count("\n", 0, mine.start()) + 1
            yield Found(f"{evidence}; it sets LD_LIBRARY_PATH", by_hand(facts, file, number))
            return
        lines.append(f"LD_LIBRARY_PATH={home}/{libraries}")
    yield Found(evidence, append(facts, file, *lines, ended=not text or text.endswith("\n")))


RULES = (
    Rule(
        "CS076",
        "error",
        "This shell does not have what is asked for here",
        "it never loaded cudaswitch, lost its prompt hook, was there before the pin was, or has had"
        " CUDA_HOME or PATH changed since",
        ("conda/conda#12674", "conda/conda#12800", "tensorflow/tensorflow#66987"),
        _not_loaded,
    ),
    Rule(
        "CS077",
        "error",
        "The file that loads cudaswitch into shells is missing or old",
        "new shells start without it, or with that of another store, or of a program that is gone",
        ("tensorflow/tensorflow#60183", "conda-forge/nvcc-feedstock#11"),
        _ready_file,
    ),
    Rule(
        "CS078",
        "warning",
        "A startup file loads cudaswitch twice",
        "every new shell starts Python for nothing",
        ("conda/conda#8070", "bgribble/mfp#221"),
        _twice,
    ),
    Rule(
        "CS080",
        "warning",
        "A startup file sets CUDA variables",
        "the line holds for every shell and environment, whatever is switched; each new shell"
        " brings it back",
        ("jax-ml/jax#17497", "tensorflow/tensorflow#52988", "numba/numba#9216"),
        _leftovers,
    ),
    Rule(
        "CS081",
        "warning",
        "A startup file may leave an empty element in LD_LIBRARY_PATH",
        "where the variable is unset, `X:$LD_LIBRARY_PATH` ends with one: the working directory",
        ("torch/distro#276", "torch/distro#228", "NixOS/nixpkgs#76802"),
        _open_lists,
    ),
    Rule(
        "CS082",
        "warning",
        "An environment's own script sets library paths",
        "such scripts keep one old value for all: nested environments and later edits are lost,"
        " and `set -u` stops them",
        ("tensorflow/tensorflow#60183", "tensorflow/tensorflow#58681", "bgribble/mfp#221"),
        _environment_scripts,
    ),
    Rule(
        "CS083",
        "error",
        "An activation script calls `exit`",
        "it is sourced, so it ends the shell, and with it the SSH connection",
        ("conda-forge/nvcc-feedstock#22",),
        _ending_scripts,
    ),
    Rule(
        "CS084",
        "warning",
        "A Jupyter kernel starts without its environment's toolkit",
        "Jupyter and IDEs start the Python of a kernel by its path: no activation, no hooks",
        ("microsoft/vscode-jupyter#4156", "microsoft/vscode-jupyter#12242"),
        _kernels,
    ),
    Rule(
        "CS085",
        "warning",
        "VS Code does not know the toolkit of this project",
        "it starts Python and debuggers itself, with what `.env` holds and nothing of the shell",
        ("microsoft/vscode-jupyter#4156", "tensorflow/tensorflow#60790"),
        _project,
    ),
)

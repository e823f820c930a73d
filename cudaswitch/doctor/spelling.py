"""Commands as the user's shell spells them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from functools import partial

from cudaswitch import ready
from cudaswitch.activation import chosen, data_dir
from cudaswitch.compat.redist import known_releases
from cudaswitch.decision import options_of
from cudaswitch.doctor.folders import DATA_DIR, is_file_of_flags
from cudaswitch.doctor.model import Facts, Folder, Found, Hook, LinesOut, Relist
from cudaswitch.environments import Environment
from cudaswitch.programs import conda_program
from cudaswitch.shells import TYPED, spelling
from cudaswitch.toolkit import Toolkit
from cudaswitch.versions import Request, Version, is_version

_IN_PATTERNS, _IN_TEXTS = re.compile(r"[\\.*[^$,]"), re.compile(r"[\\&,]")
"""What is special to sed, between commas."""
_CONTROLS = re.compile(r"[\x00-\x1f\x7f]")

_EXTERNAL = {"nu": "^"}
"""What makes a shell run a program, and not its own command of the same name."""
_APPENDS = {"nu": "o>>"}
"""How a shell has a command's output appended to a file."""

REPAIR = "cudaswitch verify --repair"
"""It says what to do if nothing tells any more what a toolkit is made of."""

_ACTIVATE = {
    "sh": (".", "activate"),
    "fish": ("source", "activate.fish"),
    "tcsh": ("source", "activate.csh"),
    "xonsh": ("source-bash", "activate"),
    "nu": ("overlay use", "activate.nu"),
    "pwsh": (".", "Activate.ps1"),
}
"""What runs a virtualenv's script, and which one."""


class Switch(str):
    """A command after which this shell has another toolkit, or none."""

    __slots__ = ()


def word(facts: Facts, text: str) -> str:
    """Spell one argument of a command."""
    return spelling.word(TYPED[facts.shell], text)


def chain(facts: Facts, *commands: str) -> str:
    """Spell commands one after another, the next if the shell can tell that the last succeeded.

    If the last one switches, they all do.
    """
    return type(commands[-1])(TYPED[facts.shell].then.join(commands))


def setting(facts: Facts, name: str, value: str) -> str:
    """Spell a command that sets a variable, or unsets it for an empty value."""
    return spelling.setting(TYPED[facts.shell], name, value)


def with_flag(facts: Facts, name: str, flag: str) -> str:
    """Spell a command that adds a flag to the others in a variable; nvcc heeds the last."""
    others = [one for one in facts.get(name).split() if one != flag]
    return setting(facts, name, " ".join([*others, flag]))


def newest_asked(facts: Facts, otherwise: str) -> str:
    """Spell a command that lets CUDASWITCH_VERSION ask for the newest toolkit there is."""
    newest = facts.installed[-1].name if facts.installed else otherwise
    return setting(facts, "CUDASWITCH_VERSION", newest)


def by_hand(facts: Facts, file: str, number: int) -> str:
    """Spell a command that opens a file at a line which is the user's to change."""
    return f"vi +{number} {word(facts, file)}"


def changing(facts: Facts, folder: str, command: str) -> str:
    """Spell a command that changes what is in a folder, with `sudo` if the user may not."""
    may = os.access(folder, os.W_OK)
    return f"{_EXTERNAL.get(facts.shell, '')}{command}" if may else f"sudo {command}"


def aside(facts: Facts, path: str) -> str:
    """Spell a command that renames what is in the way."""
    command = f"mv --backup=numbered {word(facts, path)} {word(facts, f'{path}.bak')}"
    return changing(facts, os.path.dirname(path), command)


def copy(facts: Facts, path: str) -> str:
    """Spell a command that keeps a copy of what is edited next."""
    command = f"cp -p --backup=numbered {word(facts, path)} {word(facts, f'{path}.bak')}"
    return changing(facts, os.path.dirname(path), command)


def append(facts: Facts, file: str, *lines: str, ended: bool) -> str:
    """Spell a command that appends lines; `ended` tells whether the file's last line has an end."""
    words = " ".join(word(facts, line) for line in (lines if ended else ("", *lines)))
    return f"printf '%s\\n' {words} {_APPENDS.get(facts.shell, '>>')} {word(facts, file)}"


def without(name: str, *leave: Folder) -> Relist:
    """Leave folders out of a list."""
    texts = {one.text for one in leave}
    return Relist(name, lambda elements: [at for at in elements if at not in texts])


def put_first(name: str, folder: str) -> Relist:
    """Put a folder in front of a list."""
    return Relist(name, lambda elements: [folder, *(at for at in elements if at != folder)])


def with_data_dir(facts: Facts, home: str) -> str:
    """Spell a command that lets XLA_FLAGS name a toolkit, "" for none; other flags stay."""
    flags, data = facts.get("XLA_FLAGS"), data_dir(home) if home else ""
    if is_file_of_flags(flags) and not data:
        return by_hand(facts, flags, 1)
    if is_file_of_flags(flags):
        return append(facts, flags, data, ended=False)
    rest = DATA_DIR.sub("", flags).strip()
    return setting(facts, "XLA_FLAGS", " ".join(filter(None, (rest, data))))


def together(found: Sequence[Found]) -> list[Found]:
    """Merge all edits of one file into each finding that edits it.

    After the first `sed`, the line numbers of the others would be wrong. The text of a line cannot
    replace them: a startup file often has a line twice.
    """
    files: dict[str, LinesOut] = {}
    for out in (one.mend for one in found):
        if isinstance(out, LinesOut):
            lines = {**files.get(out.file, out).lines, **out.lines}
            files[out.file] = out._replace(lines=dict(sorted(lines.items())))

    def whole(one: Found) -> Found:
        if not isinstance(one.mend, LinesOut):
            return one
        out = files[one.mend.file]
        rest = [str(number) for number in out.lines if number not in one.mend.lines]
        lines = f"line{'s' if rest[1:] else ''} {', '.join(rest)} of `{out.file}`"
        also = f"; the command changes {lines} too, for other findings" if rest else ""
        return Found(one.evidence + also, out, one.safe and out)

    return [whole(one) for one in found]


def _edited(facts: Facts, out: LinesOut) -> str:
    """Spell the command that backs up a file, and edits its lines if they have not changed."""
    scripts = []
    for number, (text, then) in out.lines.items():
        here = _sed(text, _IN_PATTERNS)
        edit = f"{{\\,^{here}$,d}}" if then is None else f"s,^{here}$,{_sed(then, _IN_TEXTS)},"
        scripts += ["-e", word(facts, f"{number}{edit}")]
    file = word(facts, out.file)
    command = f"sed -i --follow-symlinks {' '.join(scripts)} {file}"
    edits = (copy(facts, out.file), changing(facts, os.path.dirname(out.file), command))
    return chain(facts, *edits, *([changing(facts, "/etc", "ldconfig")] if out.loaders else []))


def _sed(text: str, special: re.Pattern[str]) -> str:
    """Spell a text for sed; control characters are written as codes."""
    escaped = special.sub(r"\\\g<0>", text)
    return _CONTROLS.sub(lambda match: f"\\x{ord(match[0]):02x}", escaped)


def spell(facts: Facts, mend: str | Relist | LinesOut, lists: dict[str, list[str]]) -> str:
    """Spell a mend; `lists` holds what earlier ones have made of lists, and is kept up to date.

    Empty elements never come back: they are the working directory.
    """
    if isinstance(mend, str):
        return mend
    if isinstance(mend, LinesOut):
        return _edited(facts, mend)
    # The loader takes `;` for a separator too.
    separator = "[:;]" if mend.name == "LD_LIBRARY_PATH" else ":"
    elements = lists.get(mend.name, re.split(separator, facts.get(mend.name)))
    lists[mend.name] = mend.change([at for at in elements if at])
    command = setting(facts, mend.name, ":".join(lists[mend.name]))
    return chain(facts, mend.before, command) if mend.before else command


def install_command(facts: Facts, request: Request, *options: str, used: str = "") -> str:
    """Spell a command that installs what is asked for, and then brings it into this shell.

    `used` are options for the latter.
    """
    install = " ".join(["cudaswitch install", what_to_install(facts, request), *options])
    return chain(facts, install, use_command(facts, request.text, used))


def activate_command(facts: Facts, environment: Environment) -> Switch:
    """Spell a command that activates an environment again, which runs its hook."""
    if environment.owner == "C":
        return Switch(f"conda activate {word(facts, str(environment.prefix))}")
    command, script = _ACTIVATE.get(facts.shell, ("source", "activate"))
    return Switch(f"{command} {word(facts, f'{environment.prefix}/bin/{script}')}")


def load_command(facts: Facts, *, there: bool = False) -> Switch:
    """Spell a command that loads cudaswitch into this shell; `there` tells of its ready file."""
    return Switch(ready.loading(TYPED[facts.shell], there=there))


def use_command(facts: Facts, request: str, options: str = "") -> Switch:
    """Spell a command that brings what is installed into this shell."""
    row, asked = TYPED[facts.shell], word(facts, request) + options
    if not row.include:
        return Switch(row.evaluate.format(request=asked))
    # With the integration, `off` undoes `use`, but nothing undoes what `env` prints.
    loaded = facts.integration and facts.integration.loads
    return Switch(f"cudaswitch use {asked}") if loaded else load_command(facts)


def auto_command(facts: Facts, options: str = "") -> str:
    """Spell a command that brings what the frameworks need, or explains why nothing would do."""
    if not facts.resolution.runs:
        return "cudaswitch resolve"
    use = use_command(facts, "auto", options)
    needs = facts.resolution
    whole = needs.toolkit and (needs.bundled or not needs.absent)
    return use if whole else chain(facts, "cudaswitch install auto", use)


def off_command(facts: Facts) -> Switch:
    """Spell a command that takes what is active out of this shell."""
    loaded = chosen(facts.variables) or (facts.integration and facts.integration.loads)
    if TYPED[facts.shell].init and loaded:
        return Switch("cudaswitch off")
    return use_command(facts, "system")


def what_to_install(facts: Facts, request: Request) -> str:
    """Spell the arguments of `install` for a request, of which it takes no other parts."""
    cudnn = f" --cudnn {word(facts, request.cudnn)}" if request.cudnn else ""
    return word(facts, request.text) + cudnn


def pin_command(facts: Facts, hook: Hook) -> str:
    """Spell a command that pins an environment again; a pin that cannot be read is removed."""
    prefix = word(facts, str(hook.environment.prefix))
    if hook.request is None:
        return f"cudaswitch unpin -p {prefix}"
    options = options_of(hook.request, partial(word, facts))
    return f"cudaswitch pin {what_to_install(facts, hook.request)}{options} -p {prefix}"


def installing(facts: Facts, hook: Hook, *options: str) -> str | None:
    """Spell what installs the toolkit that a refused pin asks for, None if none would do.

    `install auto` would be for the active environment: what this one needs, the refusal says.
    """
    if hook.refused is None or hook.request is None:
        return None
    if hook.automatic:
        hint = hook.refused.hint or ""
        return " ".join([hint, *options]) if hint.startswith("cudaswitch install ") else None
    return " ".join(["cudaswitch install", *options, what_to_install(facts, hook.request)])


def repairing(facts: Facts, request: Request) -> str | None:
    """Spell what restores a toolkit whose record is lost or damaged, if a request means it."""
    versions = (name.partition("+")[0] for name in facts.unrecorded)
    is_of_one = any(request.accepts(Version(text)) for text in versions if is_version(text))
    return REPAIR if is_of_one else None


def same_release(facts: Facts, request: Request) -> str | None:
    """Name the newest installed toolkit of the release X.Y that was asked for: no other CUDA."""
    wanted = request.prefix
    fits = [
        str(kit.version)
        for kit in facts.installed
        if wanted and kit.version.minor == wanted.minor and request.accepts_cudnn(kit.cudnn)
    ]
    return fits[-1] if fits else None


def replacing(facts: Facts, hook: Hook, lost: Iterable[Toolkit]) -> str | None:
    """Spell what reinstalls a toolkit that is gone, for a pin that no other answers.

    `lost` are such toolkits; until then, their names are taken.
    """
    asked = hook.request
    if not hook.refused or asked is None or same_release(facts, asked):
        return None
    if not any(hook.environment.prefix in facts.lost[kit] for kit in lost):
        return None
    # An adopted toolkit may have the number of its nvcc, which is not a release's.
    if asked.prefix and len(asked.prefix.parts) > 2 and asked.prefix not in known_releases("cuda"):
        return None
    install = installing(facts, hook, "--force")
    return chain(facts, install, pin_command(facts, hook)) if install else None


def removing(facts: Facts, kit: Toolkit) -> str:
    """Spell what removes a toolkit that is gone, or installs it again if a pin needs that."""
    again = (replacing(facts, hook, [kit]) for hook in facts.hooks)
    force = "--force " if facts.lost[kit] else ""
    return next(filter(None, again), f"cudaswitch remove {force}{kit.name}")


def conda_install(facts: Facts) -> str:
    """Spell the beginning of a command that installs what conda-forge has."""
    return f"{conda_program(facts.variables)} install -c conda-forge"


def pip(facts: Facts) -> str:
    """Spell the pip of the active environment, else the first one."""
    if facts.environment is None:
        return "pip"
    python = f"{facts.environment.prefix}/bin/python"
    if not spelling.is_plain(python):
        python = TYPED[facts.shell].call.format(program=word(facts, python))
    return f"{python} -m pip"

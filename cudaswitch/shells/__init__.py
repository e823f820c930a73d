"""One row per shell: how it quotes, which texts it runs, which hook files it reads.

The texts beside this module are real shell files, kept whole: `core.*` is the change and
its undo, `plain.*` and `besides.*` are its short ways, and `lists.*`, `flags.*`, `exported.*`,
`bundled.*` and `packages.sh` are what these call. `enter.*` and `leave.*` are the two halves of an
environment's hook, `hooks.*` is what they call. `init.*` and `command.*` are what `cudaswitch init`
adds; `lazy.*` stand in for all of that until it is needed, `prompt.fish` and `file.sh` (finds a
version file) are needed at once, `tab.*` loads the completion, and `again.*` loads the rest from
beside a ready file. `store.*` find out which store answers. `copies.*` deal with what conda saves,
`keepers.*` with what others save. Shims run what `answers` names. tcsh has no functions: there each
of these, and whatever would be a function of its own, is a file that is sourced.
A placeholder never stands inside quotes of a text: each value passes its shell's one quoting
function.
"""

from __future__ import annotations

import os
from contextlib import suppress
from functools import cache

from cudaswitch.environments import ENVIRONMENT_VARIABLE
from cudaswitch.errors import ChoiceError
from cudaswitch.shells.rows import FAMILIES as FAMILIES
from cudaswitch.shells.rows import ROWS as ROWS
from cudaswitch.shells.rows import SHELLS as SHELLS
from cudaswitch.shells.rows import Family as Family
from cudaswitch.shells.rows import Shell as Shell
from cudaswitch.shells.rows import quote_csh as quote_csh
from cudaswitch.shells.rows import quote_fish as quote_fish
from cudaswitch.shells.rows import quote_posix as quote_posix
from cudaswitch.shells.rows import quote_pwsh as quote_pwsh

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path
    from typing import Literal

    from cudaswitch.environments import Owner

_FOLDER = os.path.dirname(os.path.abspath(__file__))
"""Where the texts are."""

_MARKS: dict[Owner, str] = {"C": "conda-meta", "V": "pyvenv.cfg"}
"""What changes, besides its package folder, if an environment gets to see other packages."""

_REST = "rest"
"""Name of the file with what most shells never need."""

_TEST = r"""(?<!\[)\[ (-[a-zA-Z] (?:"[^"\s]*"|[\w.$]+)|"[^"\s]*" -nt "[^"\s]*") \]"""

_FISH_FUNCTION = r"(?ms)^function .*?^end\n"

INTEGRATED = tuple(row.name for row in SHELLS.values() if row.init)
"""The shells that `cudaswitch init` supports."""

KSHES = ("ksh", "ksh93", "lksh", "mksh", "oksh", "pdksh", "rksh")
"""Shells that cannot be switched: their functions have no `local`."""

SAME = {
    **dict.fromkeys(("dash", "ash", "busybox", "yash"), "sh"),
    **{"csh": "tcsh", "powershell": "pwsh", "nushell": "nu"},
    **dict.fromkeys(KSHES, "ksh"),
}
"""Shells that use another's row."""

TYPED = ROWS | {
    "ksh": Shell(
        "ksh",
        "",
        quote_posix,
        export="\\export {name}={value}",
        local="{name}={value}",
        unset="unset {name}",
        evaluate="cudaswitch exec {request} -- ksh",
    )
}
"""Shells for which we know what to type; for a ksh, that is all we know."""

_NO_KSH = "ksh cannot be switched: its functions have no `local`"
_IN_KSH = TYPED["ksh"].evaluate.format


def shell_named(name: str, request: str = "VERSION") -> Shell:
    """Return the row of a shell that runs texts of ours.

    Raises ChoiceError for an unknown one, which names those that `env` supports. `request` is what
    was asked for, as one types it.
    """
    name = name.rpartition("/")[2]
    refuse_ksh(name, request)
    try:
        return SHELLS[SAME.get(name, name)]
    except KeyError:
        raise _unknown(name, ROWS) from None


def integrated(name: str) -> Shell:
    """Return the row of a shell that `init` supports.

    Raises ChoiceError for any other, which says what there is instead.
    """
    name = name.rpartition("/")[2]
    refuse_ksh(name)
    row = ROWS.get(SAME.get(name, name))
    if row is None:
        raise _unknown(name, INTEGRATED)
    if not row.init:
        instead = row.evaluate.format(request="VERSION")
        raise ChoiceError(f"`{name}` has no integration", instead)
    return row


def _unknown(name: str, offered: Iterable[str]) -> ChoiceError:
    return ChoiceError(f"unknown shell `{name}`", f"choose from {', '.join(offered)}")


def refuse_ksh(name: str, request: str = "VERSION") -> None:
    """Raise ChoiceError, which says what there is instead, for any kind of ksh."""
    if name in KSHES:
        raise ChoiceError(_NO_KSH, _IN_KSH(request=request))


def login_shell(variables: Mapping[str, str]) -> str:
    """Name the row of the user's login shell, bash if there is none for $SHELL."""
    try:
        return shell_named(variables.get("SHELL", "")).name
    except ChoiceError:
        return "bash"


_FEW_WORDS = 4096
"""Bytes of a command line that are sure to contain the name of a script."""


def running_shell(variables: Mapping[str, str]) -> str:
    """Name the shell that has called us, else that of $SHELL, sh if neither is known.

    A script, a make recipe or a shell within another is not the user's login shell. What is
    written for sh runs in most shells that we do not know.
    """
    names = [variables.get("SHELL", "").rpartition("/")[2]]
    # Linux only, and not if a program of another user has called us.
    with suppress(OSError):
        caller = f"/proc/{os.getppid()}"
        program = os.path.basename(os.readlink(f"{caller}/exe"))
        names[:0] = [program, program.removesuffix(" (deleted)").rstrip("-.0123456789")]
        # xonsh is a script that Python runs.
        if names[1] == "python":
            with open(f"{caller}/cmdline", "rb") as file:
                words = file.read(_FEW_WORDS).replace(b"\0", b" ").split()[:3]
            names[:0] = [os.path.basename(os.fsdecode(word)) for word in words]
    known = {*ROWS, *SAME}
    return next(filter(known.__contains__, names), "sh")


def running_row(variables: Mapping[str, str]) -> Shell:
    """Return the row of the shell that has called us, in which a hint will be typed."""
    name = running_shell(variables)
    return TYPED[SAME.get(name, name)]


@cache
def text_of(name: str) -> str:
    """Return a text without what only human readers need.

    fish gets each function as a text of its own: at a call, and in blocks, it counts the lines
    before it in the text from which it was parsed.
    """
    text = _read(name)
    if name.endswith(".fish"):
        import re  # noqa: PLC0415  # slow to load, and not needed by `running_shell`

        text = re.sub(
            _FISH_FUNCTION,
            lambda found: f"eval {quote_fish(without_comments(found[0]))}\n",
            text,
        )
    return without_comments(text)


def _read(name: str) -> str:
    with open(f"{_FOLDER}/{name}", encoding="utf-8") as file:
        return file.read()


def without_comments(text: str) -> str:
    """Take comments and indentation out of a text that is parsed again and again."""
    kept = [line.strip() for line in text.splitlines()]
    return "\n".join(line for line in kept if line and not line.startswith("#")) + "\n"


def with_keyword(text: str) -> str:
    """Write tests of files and of one string with `[[`, which takes half the time.

    `[[` is no command and splits no words, so quotes are not needed. Comparisons stay as they
    are: with `[[` they would follow the user's `nocasematch`.
    """
    import re  # noqa: PLC0415  # slow to load, and not needed by `running_shell`

    return re.sub(_TEST, lambda test: "[[ {} ]]".format(test[1].replace('"', "")), text)


def core(family: str) -> str:
    """Return the text that defines the change and its undo, for a file beside the hooks."""
    return _unexported(family, "".join(map(text_of, _core(family))))


def _core(family: str) -> tuple[str, ...]:
    # A shell that has no hook files has a core all the same.
    return FAMILIES[family].core if family in FAMILIES else (f"core.{family}",)


def answers() -> tuple[str, str]:
    """Return the texts that find ready answers: to a request, and to all else that asks for one.

    The integration and shims share them. The second text follows the first.
    """
    ready = text_of("there.sh") + text_of("ready.sh")
    return ready, "".join(map(text_of, ("packages.sh", "file.sh", "answers.sh")))


def init(
    shell: Shell, *, root: str, program: str, scripts: str, texts: str | Path = _FOLDER
) -> str:
    """Return the whole integration of a shell, for `eval` or for a file to source.

    `root` is the store, `program` the absolute path of the command, `scripts` the folder with
    the shell's completion script, "" where there is none, `texts` the folder with what a shell
    without functions sources.
    """
    if shell.core:
        from cudaswitch.shells.carrying import carried  # noqa: PLC0415  # slow to load

        return carried(shell.core + shell.init, root=root, program=program)
    values = _values(root, program, scripts)
    if not shell.defines:
        values |= {"_cudaswitch_texts": str(texts), "_cudaswitch_shipped": _FOLDER}
    if not shell.lazy:
        before = _defined(shell)
    else:
        # zsh takes four times as long for a text twice as long.
        each = (_spelled(shell, (name,)) for name in (*_core(shell.family), *shell.lazy))
        parts = "".join(shell.part.format(text=shell.quote(one)) for one in each)
        before = shell.deferred.format(parts=parts)
    text = before + _late(shell) + _spelled(shell, shell.init)
    return _unexported(shell.family, _assigned(shell, values) + text)


def ready(shell: Shell, *, root: str, program: str, scripts: str, file: Path) -> str:
    """Return the integration for `file`, which new shells source; most need nothing else."""
    at = folder_beside(file)
    if not shell.again:
        return init(shell, root=root, program=program, scripts=scripts, texts=at)
    values = _values(root, program, scripts) | {"_cudaswitch_rest": str(at / _REST)}
    text = _late(shell) + _spelled(shell, (shell.again, *shell.init))
    return shell.guard + _unexported(shell.family, _assigned(shell, values) + text)


def beside(shell: Shell, file: Path) -> dict[Path, str]:
    """Map what a shell sources from its ready file, at once or later, to the texts.

    It sources them as long as it is open; meanwhile the package may be moved or removed.
    """
    at = folder_beside(file)
    if shell.again:
        read_whole = shell.local.format(name="_cudaswitch_rest", value=shell.quote("")) + "\n"
        return {at / _REST: _defined(shell) + _spelled(shell, shell.lazy) + read_whole}
    if shell.defines or not shell.init:
        return {}
    names = [name for name in os.listdir(_FOLDER) if name.endswith((f".{shell.family}", ".sh"))]
    return {at / name: text_of(name) for name in sorted(names)}


def folder_beside(file: Path) -> Path:
    """Return the folder of what is sourced from a ready file."""
    return file.with_name(f".{file.name}")


def _values(root: str, program: str, scripts: str) -> dict[str, str]:
    stores = dict.fromkeys(("_cudaswitch_root", "_cudaswitch_store"), root)
    values = stores | {"_cudaswitch_program": program}
    return values | ({"_cudaswitch_scripts": scripts} if scripts else {})


def _assigned(shell: Shell, values: dict[str, str]) -> str:
    return "".join(
        shell.local.format(name=name, value=shell.quote(value)) + "\n"
        for name, value in (values | {"_cudaswitch_seen": ""}).items()
    )


def use(shell: Shell, want: str) -> str:
    """Return the text that applies `want` as this shell's own choice, exactly undoable."""
    if shell.core:
        from cudaswitch.shells.carrying import carried  # noqa: PLC0415  # the same

        return carried(shell.core + shell.use, want=want)
    chosen = shell.export.format(name="_CUDASWITCH_U", value=shell.quote(want))
    settled = shell.settle.format(texts=shell.quote(_FOLDER))
    text = _unexported(shell.family, _defined(shell) + f"{chosen}\n{settled}\n")
    return _out_of_ksh(text) if shell.family == "sh" else text


_UNEXPORTED = """case $-${{ZSH_VERSION:+z}} in
*a*z) \\set +a && \\typeset -g _cudaswitch_all=1 ;;
*a*) \\set +a && _cudaswitch_all=1 ;;
esac
{text}case ${{_cudaswitch_all-}} in 1) \\unset _cudaswitch_all && \\set -a ;; esac
"""
"""Around definitions, for users who have everything exported (`set -a`), functions too."""


def _unexported(family: str, text: str) -> str:
    return _UNEXPORTED.format(text=text) if family == "sh" else text


def _out_of_ksh(text: str) -> str:
    """Let a ksh that evaluates the text of another shell say so, and do nothing else."""
    hint = quote_posix(_IN_KSH(request="VERSION"))
    said = f"printf 'cudaswitch: %s\\nhint: %s\\n' {quote_posix(_NO_KSH)} {hint}"
    return f"case ${{KSH_VERSION:+k}} in\n'')\n{text};;\n*)\n{said} >&2\n\\false\n;;\nesac\n"


def _defined(shell: Shell) -> str:
    return _spelled(shell, _core(shell.family)) if shell.defines else ""


def _late(shell: Shell) -> str:
    return shell.late.format(text=shell.quote(_spelled(shell, shell.joining)))


def _spelled(shell: Shell, names: tuple[str, ...]) -> str:
    text = "".join(map(text_of, names))
    return with_keyword(text) if shell.keyword else text


def hook(
    family: str,
    half: Literal["enter", "leave"],
    owner: Owner,
    home: str,
    options: str,
    *,
    automatic: bool,
    watched: tuple[str, ...],
) -> str:
    """Return one half of an environment's hook, complete but for core.* beside it.

    With `automatic`, it checks whether packages have changed since the answer was written.
    `watched` (see `bundled.watched`) tells what the environment brings as long as they have not;
    with (), the hook looks for itself. No kind of ksh has `local`: doing nothing there is better
    than doing half. Many zsh users have aliases for single capital letters, such as the owner's.

    The toolkit's path is broken after each slash: cloning an environment replaces its old
    prefix in every text file, and must not find it at the head of another path.
    """
    import re  # noqa: PLC0415  # slow to load, and not needed by `running_shell`

    quote = FAMILIES[family].quote
    # To a zsh with `rc_quotes`, two single quotes in a row are a literal one.
    said = (watched[0], _MARKS[owner], *watched[1:]) if watched else ()
    broken = '""'.join(quote(part) for part in re.findall(r"[^/]*/?", home) if part)
    values = {
        "owner": owner,
        "env": ENVIRONMENT_VARIABLE[owner],
        "home": broken,
        "options": quote(options),
        "auto": quote("auto" if automatic else ""),
        "watched": " ".join(map(quote, said)),
    }
    return re.sub(r"@(\w+)@", lambda match: values[match[1]], _read(f"{half}.{family}"))

"""What `env` prints: the change in a shell's text, or worked out in a format, one row each.

Starts without click.
"""

from __future__ import annotations

import os
import re

from cudaswitch import shells, talk
from cudaswitch.activation import EnvironmentChange, Want, gpu_variables, undone
from cudaswitch.errors import RequestError
from cudaswitch.running import change_here
from cudaswitch.versions import quote_request

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Variables = Mapping[str, str]
    _Spelling = Callable[[EnvironmentChange | None, Variables], str]


def show_change(
    request: str, wanted: Want, shell: str | None = None, form: str | None = None
) -> None:
    """Print the change for what a request wants, in a format or for a shell, by default ours."""
    name = shell or shells.running_shell(os.environ)
    if form or name in _FINISHED:
        spelled = FORMATS[form] if form else _FINISHED[name]
        talk.script(spelled(change_here(wanted), os.environ))
        return
    row = shells.shell_named(name, quote_request(request))
    talk.script(shells.use(row, str(wanted)))


def _differing(after: Variables, before: Variables) -> dict[str, str | None]:
    """Map each variable that differs to its new value, None for unset."""
    return {
        name: after.get(name)
        for name in dict.fromkeys((*after, *before))
        if after.get(name) != before.get(name)
    }


def _difference(made: EnvironmentChange | None, before: Variables) -> dict[str, str | None]:
    """Map each variable that differs to its new value, ours left out."""
    found = _differing(made.applied(before) if made else undone(before), before)
    return {name: to for name, to in found.items() if not name.startswith("_CUDASWITCH_")}


def _json(made: EnvironmentChange | None, before: Variables) -> str:
    import json  # noqa: PLC0415  # only this format needs it

    return json.dumps(_difference(made, before), indent=2) + "\n"


def _settable(made: EnvironmentChange | None, before: Variables) -> dict[str, str]:
    """Map the changes for a format that can set but not unset: an empty value has to do.

    An empty CUDA_VISIBLE_DEVICES hides all GPUs, so those that choose GPUs are left out.
    """
    found = _difference(made, before)
    kept = [name for name in gpu_variables("0") if name in found and found[name] is None]
    if kept:
        talk.say(
            f"{' and '.join(kept)}: left out, as this format cannot unset variables"
            " and an empty value hides all GPUs"
        )
    return {name: value or "" for name, value in found.items() if name not in kept}


def _dotenv(made: EnvironmentChange | None, before: Variables) -> str:
    """Lines that shells, python-dotenv and Docker read alike, as far as they can."""
    changes = _settable(made, before)
    return "".join(f"{name}={_quoted(value)}\n" for name, value in changes.items())


def _quoted(value: str) -> str:
    """Quote only if necessary: for Docker, quotes are part of a value.

    In zsh, a `=` at the start of a word or after a colon begins a command's name.

    In double quotes, python-dotenv keeps the backslash before a dollar or a backtick; in single
    quotes, it takes a backslash before another or before the end for an escape, as no shell does.
    """
    if re.fullmatch(r"[\w+./:=@%,-]*", value, re.ASCII) and not re.search(r"(^|:)=", value):
        return value
    if not re.search(r"'|\\\\|\\\Z", value):
        return f"'{value}'"
    for char in ("\\", '"', "$", "`"):
        value = value.replace(char, "\\" + char)
    return f'"{value}"'


def _github(made: EnvironmentChange | None, before: Variables) -> str:
    """Text for the file that $GITHUB_ENV names.

    The runner reads `NAME=value` a line, and `NAME<<DELIMITER` up to a line that is the
    delimiter (GitHub, "Workflow commands", environment files).
    """
    texts = []
    for name, value in _settable(made, before).items():
        if "\n" in value or "\r" in value:
            end = "cudaswitch"
            while end in value:
                end += "_"
            texts.append(f"{name}<<{end}\n{value}\n{end}\n")
        else:
            texts.append(f"{name}={value}\n")
    return "".join(texts)


def _exported(made: EnvironmentChange | None, before: Variables) -> dict[str, str | None]:
    """Map what `use` changes, bookkeeping included, so that the text of `system` undoes it all.

    The shell's own variables are those of this process, so the change is worked out here.
    """
    after = made.applied(before, "U") if made else undone(before) | {"_CUDASWITCH_U": "system"}
    return _differing(after, before)


def _elvish(made: EnvironmentChange | None, before: Variables) -> str:
    """Commands of Elvish, whose text has to be UTF-8."""
    row = shells.ROWS["elvish"]
    lines = []
    for name, value in _exported(made, before).items():
        if value is None:
            lines.append(row.unset.format(name=name) + "\n")
            continue
        try:
            value.encode()
        except UnicodeEncodeError:
            raise RequestError(
                f"`{name}` has bytes that are not UTF-8, which Elvish cannot read",
                "remove them, or use another shell",
            ) from None
        lines.append(row.export.format(name=name, value=row.quote(value)) + "\n")
    return "".join(lines)


def _cmd(made: EnvironmentChange | None, before: Variables) -> str:
    """Lines for a batch file, where a variable that is set but empty does not exist."""
    row = shells.ROWS["cmd"]
    lines = []
    for name, value in _exported(made, before).items():
        if value and any(char in value for char in '"\r\n'):
            raise RequestError(
                f"`{name}` has a quote or a line break, which a batch file cannot carry",
                "remove it, or use another shell",
            )
        lines.append(f"@{row.export.format(name=name, value=row.quote(value or ''))}\r\n")
    return "".join(lines)


def _modulefile(made: EnvironmentChange | None, before: Variables) -> str:
    """A Tcl modulefile, for Environment Modules and Lmod."""
    del before
    lines = ["#%Module1.0"]
    if made is not None:
        # `pushenv` restores the earlier value; Environment Modules has had it since 5.1.
        lines.append("set keep [expr {[info commands pushenv] eq {} ? {setenv} : {pushenv}}]")
        lines += [f"$keep {name} {_tcl(value)}" for name, value in made.set.items()]
        for name, folders in made.prepend.items():
            lines += [f"prepend-path {name} {_tcl(folder)}" for folder in reversed(folders)]
        for name, word in made.flags.items():
            way = "prepend" if name == "NVCC_PREPEND_FLAGS" else "append"
            lines.append(f'{way}-path --delim " " {name} {_tcl(word)}')
    return "\n".join(lines) + "\n"


def _tcl(value: str) -> str:
    for char in ("\\", '"', "$", "["):
        value = value.replace(char, "\\" + char)
    # Plain ASCII reads the same in every locale; Tcl's escapes end at U+FFFF.
    return '"' + re.sub("[\x80-\uffff]", lambda at: f"\\u{ord(at[0]):04x}", value) + '"'


FORMATS: dict[str, _Spelling] = {
    "json": _json,
    "dotenv": _dotenv,
    "github": _github,
    "modulefile": _modulefile,
}


_FINISHED: dict[str, _Spelling] = {"cmd": _cmd, "elvish": _elvish}
"""Shell → what works out the change for it, as it runs no scripts of ours."""

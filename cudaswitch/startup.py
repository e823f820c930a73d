"""Shells' startup files: one marked line in them, which loads the ready file."""

from __future__ import annotations

import contextlib
import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from shlex import quote

from cudaswitch import marked, ready, shells
from cudaswitch.durable import sweep_beside
from cudaswitch.errors import (
    ChoiceError,
    CudaswitchError,
    RequestError,
    StoreError,
    hint_for,
    printable,
)
from cudaswitch.locks import PATIENCE
from cudaswitch.namedtuples import NamedTuple
from cudaswitch.paths import home
from cudaswitch.rewriting import rewrite
from cudaswitch.staging import require_writable
from cudaswitch.startfiles import (
    has_line,
    login_file,
    mentions_bashrc,
    places_of,
    second_lines,
    startup_file,
)
from cudaswitch.talk import say
from cudaswitch.toolkit import refuse_unsafe_path

_END = re.compile(rb"^(?:return\b|exec +(?:-[a-z]+ +)*(?!\d*[<>])[\w/$\"']).*", re.MULTILINE)
"""What ends a startup file; at the beginning of a line, it is taken to be in no block."""


class Edit(NamedTuple):
    """A change of a startup file, to be shown and then made.

    `path` is the user's name for the file, `target` what links lead to. `before` is None if
    there is no file yet, `after` if there is to be none.
    """

    path: Path
    target: Path
    before: bytes | None
    after: bytes | None

    def shown(self) -> list[str]:
        """Return the lines of a patch."""
        import difflib  # noqa: PLC0415  # `current` asks which file loads us, and shows no patch

        texts = ((text or b"").splitlines() for text in (self.before, self.after))
        before, after = ([line.decode("utf-8", "replace") for line in lines] for lines in texts)
        names = str(self.path), str(self.path)
        return list(map(printable, difflib.unified_diff(before, after, *names, "", "", 1, "")))


def shell_of(name: str | None, variables: Mapping[str, str], option: str) -> shells.Shell:
    """Return the row of a shell, by default the user's own, that has a startup file.

    `option` is what `init` is to do with it, for the hint.
    """
    # Containers set no SHELL.
    asked = name or Path(variables.get("SHELL", "")).name or shells.running_shell(variables)
    rows = {row.name: row for row in shells.SHELLS.values() if row.startup}
    if row := rows.get(shells.SAME.get(asked, asked)):
        return row
    if name and shells.SAME.get(name, name) in shells.TYPED:
        return shells.integrated(name)  # says what there is instead
    own = variables.get("SHELL")
    theirs = f"the shell of $SHELL (`{own}`)" if own else f"$SHELL is not set, and `{asked}`"
    said = f"`{asked}`" if name else theirs
    raise (ChoiceError if name else RequestError)(
        f"{said} has no startup file that cudaswitch knows",
        f"name one of {', '.join(rows)}: cudaswitch init {option} bash",
    )


def installing(shell: shells.Shell, variables: Mapping[str, str]) -> Edit:
    """Work out the edit that lets a shell load its ready file when it starts."""
    refuse_unsafe_path(str(home().root))
    return _installing(shell, startup_file(shell, variables))


def is_closed(shell: shells.Shell, variables: Mapping[str, str]) -> bool:
    """Tell whether the user has no startup file to edit, so that `installing` refuses."""
    try:
        installing(shell, variables)
    except StoreError:
        return True
    return False


def _installing(shell: shells.Shell, path: Path) -> Edit:
    target, before = _read(
        path, f"add this line to what generates the file: {ready.loading(shell, there=True)}"
    )
    line = shell.source.format(file=shell.quote(str(ready.path_of(shell)))).encode()
    marked.refuse_half(before or b"", path)
    after = marked.put_in(before or b"", line, is_new=before is None)
    return Edit(path, target, before, after)


def removing(shell: shells.Shell, variables: Mapping[str, str]) -> Edit:
    """Work out the edit that restores a startup file as it was."""
    # Which file a shell reads may have changed since: the one that has the line counts.
    ours = filter(has_line, places_of(shell, variables))
    return _removing(next(ours, startup_file(shell, variables)))


def _removing(path: Path) -> Edit:
    target, before = _read(path, "remove the marked lines from what generates the file")
    if before is None:
        return Edit(path, target, None, None)
    marked.refuse_half(before, path)
    after = marked.taken_out(before)
    made_by_us = marked.is_all_ours(before)
    return Edit(path, target, before, None if made_by_us and not after else after)


def editing(path: Path, change: Callable[[bytes], bytes]) -> Edit:
    """Work out an edit of a file of the user's, which must exist.

    Raises StoreError for one that is not theirs to edit.
    """
    target, before = _read(path, "edit what generates the file")
    if before is None:
        raise StoreError(f"`{path}` does not exist", "run the command again")
    return Edit(path, target, before, change(before))


def install(shell: shells.Shell, edit: Edit) -> Path:
    """Write the ready file of a shell, then the line that loads it; return the file.

    If the line cannot be written, a ready file that was not there before is removed again.
    """
    require_writable(home())
    with _alone():
        edit = _as_it_is(edit, _installing(shell, edit.path))
        was_ready = os.path.isfile(ready.path_of(shell))
        path = ready.write(shell)
        try:
            apply(edit)
        except CudaswitchError:
            if not was_ready and not has_line(edit.target):
                ready.remove(shell)
            raise
    return path


def remove(shell: shells.Shell, edit: Edit) -> None:
    """Remove the ready file of a shell, then the line that loads it.

    The next run finishes what was killed in between, as the line is still there. Without a line
    the file stays: another startup file may load it, by ZDOTDIR or from another HOME. So does
    one that others may load or that we may not delete, which is reported.
    """
    if edit.before == edit.after:
        apply(edit)
        return
    with _alone():
        edit = _as_it_is(edit, _removing(edit.path))
        file = ready.path_of(shell)
        was_ready, why_stays = os.path.isfile(file), _why_stays(file)
        if why_stays is None and edit.before != edit.after:
            ready.remove(shell)
        try:
            apply(edit)
        except CudaswitchError:
            if was_ready and why_stays is None:
                ready.write(shell)
            raise
    if was_ready and why_stays:
        say(f"`{file}` stays, which does no harm: {why_stays}")


def _why_stays(file: Path) -> str | None:
    """Say why a ready file stays without the line that loads it; None if it is to be removed."""
    if not os.access(file.parent, os.W_OK):
        return "you cannot delete it"
    if os.stat(home().folder).st_mode & stat.S_IWGRP:
        return "others in the store's group may load it"
    return None


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """Be the only process to change ready files and the lines that load them, if there is a store.

    Nobody may be asked anything in the meantime.
    """
    with contextlib.ExitStack() as stack:
        # If we may not write there, we change only the startup file.
        if os.access(home().locks, os.W_OK):
            from cudaswitch.changing import OwnStore  # noqa: PLC0415  # `current` changes none

            stack.enter_context(OwnStore(home()).lock("init", PATIENCE))
        yield


def _as_it_is(shown: Edit, now: Edit) -> Edit:
    """Return the edit that is left to make: the one that was shown, or none.

    Raises StoreError if it would be a different one by now.
    """
    if now != shown and now.before != now.after:
        raise _changed(shown)
    return now


def apply(edit: Edit) -> None:
    """Make the edit; raises StoreError if somebody changed the file since it was read."""
    sweep_beside([edit.target])
    if edit.before == edit.after:
        return
    try:
        found = edit.target.read_bytes() if os.path.exists(edit.target) else None
        # Without locks, another process may have made it.
        if found == edit.after:
            return
        if found != edit.before:
            raise _changed(edit)
        if edit.after is None:
            edit.target.unlink(missing_ok=True)
        else:
            rewrite(edit.target, edit.after)
    except OSError as error:
        raise StoreError(
            f"cannot write `{edit.path}`: {error.strerror}",
            hint_for(error, "check who can write to it"),
        ) from None


def _changed(edit: Edit) -> StoreError:
    return StoreError(f"`{edit.path}` was changed in the meantime", "run the command again")


def notes(shell: shells.Shell, edit: Edit, variables: Mapping[str, str]) -> list[tuple[str, str]]:
    """Tell what else is between the shell and its integration: what, and what mends it."""
    found = []
    above, ours, _ = (edit.after or b"").partition(marked.OPENING)
    if ours and (end := _END.search(above)):
        number = above.count(b"\n", 0, end.start()) + 1
        ending = f"line {number} (`{printable(end[0].decode(errors='replace'))}`)"
        what = f"`{edit.path}` may end in {ending}, before that line runs"
        found.append((what, "move the marked lines above it"))
    others = list(second_lines(shell, edit.path, variables))
    for one in others:
        what = f"`{one.path}` also loads cudaswitch, on line {one.number}"
        is_alone = shell.name == "bash" and not one.along
        found.append((what, "put `. ~/.bashrc` there" if is_alone else "remove that line"))
    if shell.name == "bash" and all(one.along for one in others):
        login = login_file(variables)
        if login is None or not mentions_bashrc(login):
            shown = f"`{login}`, which they read, does not" if login else "no file makes them"
            name = login.name if login else ".bash_profile"
            # Any sh reads this one, and may end where it meets bash's own syntax.
            line = '[ -z "$BASH_VERSION" ] || . ~/.bashrc' if name == ".profile" else ". ~/.bashrc"
            # The last line of the file may lack its newline.
            put = f"printf '\\n{line}\\n'" if login else f"echo '{line}'"
            what = f"login shells of bash do not load it: {shown} read `.bashrc`"
            found.append((what, f"{put} >> ~/{name}"))
    return found


def _read(path: Path, instead: str) -> tuple[Path, bytes | None]:
    """Return the file that links lead to and its bytes, None if there is none.

    Raises StoreError for one that is not the user's to edit, with what to do `instead`.
    """
    target = Path(os.path.realpath(path))
    try:
        status = os.stat(target)
    except FileNotFoundError:
        above = next(at for at in target.parents if os.path.exists(at))
        if above.stat().st_uid not in (os.geteuid(), 0):
            raise _refused(path, f"`{above}` belongs to another user", instead) from None
        if not os.access(above, os.W_OK):
            raise _refused(path, f"you may not write to `{above}`", instead) from None
        return target, None
    except OSError as error:
        raise _refused(path, str(error.strerror), instead) from None
    if not stat.S_ISREG(status.st_mode):
        what = "a folder" if stat.S_ISDIR(status.st_mode) else "not a regular file"
        raise _refused(path, f"it is {what}", "move it away")
    if status.st_uid != os.geteuid():
        raise _refused(path, "it belongs to another user", instead)
    # root may write read-only files, but one that was made so is meant to stay.
    is_closed = not status.st_mode & stat.S_IWUSR
    if is_closed or not os.access(target, os.W_OK):
        # A link shows that some tool made the file, and would overwrite an edit.
        if is_closed and not os.path.islink(path):
            instead = f"chmod u+w {quote(str(path))}"
        raise _refused(path, "it is read-only", instead)
    try:
        return target, target.read_bytes()
    except OSError as error:
        raise _refused(path, str(error.strerror), instead) from None


def _refused(path: Path, why: str, instead: str) -> StoreError:
    return StoreError(f"cannot edit `{path}`: {why}", instead)

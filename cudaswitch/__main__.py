"""The command: errors become one line and an exit code here, and only here."""

from __future__ import annotations

import gc
import io
import os
import sys

from cudaswitch import __version__, helptexts
from cudaswitch.errors import CudaswitchError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


_FOR_CLICK = ("-", "")
"""First characters of the words that the short way leaves to click; "" is an empty word."""
_INSTEAD = {
    "cudaswitch doctor": "cudaswitch doctor < FILE explains a message",
    "cudaswitch pin": "cudaswitch pin VERSION -n ENV (or -p PREFIX, or --dir DIR)",
    "cudaswitch sync": "cudaswitch sync --lock FILE (or --from-dir DIR)",
    "cudaswitch unpin": "cudaswitch unpin -n ENV (or -p PREFIX, or --dir DIR)",
}
"""Command → the hint for a call with one argument too many."""


class _Untroubled(io.FileIO):
    """Stderr that ignores failed writes (reader gone, disk full): what was done stays done."""

    def write(self, data: Any) -> int:
        try:
            written = super().write(data)
        except OSError:
            written = None
        return memoryview(data).nbytes if written is None else written


def entry() -> int:
    """Run the command line and end the process; the entry point.

    Memory is left to the system to free: Python would take a tenth of the total time for it.
    """
    # Paths are in files as UTF-8: in the encoding of another locale, they would be other paths. Of
    # several `-X utf8`, Python takes the first.
    if sys.getfilesystemencoding() != "utf-8":
        again = [sys.executable, "-X", "utf8", *sys.orig_argv[1:]]
        os.execv(sys.executable, again)  # noqa: S606  # no shell needed
    if sys.stderr is not None:
        raw = _Untroubled(sys.stderr.fileno(), "w", closefd=False)
        sys.stderr = io.TextIOWrapper(io.BufferedWriter(raw), line_buffering=True)
    code = main()
    try:
        sys.stdout.flush()
    except OSError:
        _stop_printing()
    if sys.stderr is not None:
        sys.stderr.flush()
    threading = sys.modules.get("threading")
    # While other threads run, return: Python waits for them.
    if threading is None or threading.active_count() == 1:
        os._exit(code)
    return code


def main() -> int:  # noqa: PLR0911  # one return for each way to end
    """Run the command line and return the process's exit code."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # closed by our caller
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode))
    for name in ("stdout", "stderr"):
        # A path goes out as the bytes that it has on disk, whatever PYTHONIOENCODING says.
        getattr(sys, name).reconfigure(
            encoding=sys.getfilesystemencoding(), errors="backslashreplace"
        )
    try:
        text = _ready_text(sys.argv[1:])
        if text is not None:
            sys.stdout.write(text)
        elif not _run_plainly(sys.argv[1:]):
            return _run()
        sys.stdout.flush()
    except CudaswitchError as error:
        return _fail(error, error.message, error.hint, error.exit_code)
    except KeyboardInterrupt as error:
        return _interrupted(error)
    except BrokenPipeError:
        return _stop_printing()
    except OSError as error:
        _stop_printing()
        if error.filename is None and _is_nowhere():
            return _fail(
                error, "the working directory no longer exists", "change to another directory", 1
            )
        where = f" (`{error.filename}`)" if error.filename else ""
        return _fail(error, f"{error.strerror or error}{where}", None, 1)
    except MemoryError as error:
        hint = "close other programs, or check `ulimit -v`"
        return _fail(error, "out of memory", hint, 1)
    except Exception as error:
        return _unforeseen(error)
    return 0


def _run_plainly(arguments: list[str]) -> bool:
    """Run the plainest forms of the most frequent commands; False leaves the line to click.

    Calls what click's commands call, without the time that click takes to load. Empty words and
    words that might be options (ours or mistyped) are left for click to judge.
    """
    match arguments:
        case ["list"] | ["list", "--json"]:
            from cudaswitch.telling import installed  # noqa: PLC0415  # as everything here

            installed(as_json=len(arguments) > 1)
        case ["current"] | ["current", "--json"]:
            from cudaswitch.telling import current  # noqa: PLC0415  # the same

            current(as_json=len(arguments) > 1)
        case ["init", shell] if shell[:1] not in _FOR_CLICK:
            from cudaswitch.integration import show  # noqa: PLC0415  # the same

            show(shell)
        case ["which", name] if name[:1] not in _FOR_CLICK:
            from cudaswitch.telling import which  # noqa: PLC0415  # the same

            which(name)
        case ["env", request] if request[:1] not in _FOR_CLICK:
            from cudaswitch.formats import show_change  # noqa: PLC0415  # the same
            from cudaswitch.running import asked  # noqa: PLC0415  # the same

            show_change(request, asked(request))
        case ["want", "--" | "--for-use" | "--file" | "--environment", asked_of] if (
            asked_of[:1] not in _FOR_CLICK
        ):
            from cudaswitch.answering import FORMS  # noqa: PLC0415  # the same

            FORMS[arguments[1]](asked_of)
        case ["exec", "--", _, *_] | ["exec", _, "--", _, *_] if (
            arguments[1] == "--" or arguments[1][:1] not in _FOR_CLICK
        ):
            from cudaswitch.running import run  # noqa: PLC0415  # the same

            at = arguments.index("--")
            run(arguments[1] if at == 2 else None, arguments[at + 1 :])
        case _:
            return False
    return True


def _ready_text(arguments: list[str]) -> str | None:
    """Return the output of a command line, None unless it is the same on every machine."""
    match arguments:
        case ["--version"]:
            return f"cudaswitch {__version__}\n"
        case ["completion", shell]:
            from cudaswitch.completion import SCRIPTS, script  # noqa: PLC0415  # as in run_plainly

            return script(shell) if shell in SCRIPTS else None
    return helptexts.text(arguments)


def _end_tidily() -> None:
    """Let SIGTERM and SIGHUP end this process as Ctrl-C does: children end, nothing is left."""
    import signal  # noqa: PLC0415  # as click

    def interrupt(number: int, _: object) -> None:
        raise KeyboardInterrupt(number)

    for number in (signal.SIGTERM, signal.SIGHUP):
        # Under nohup, SIGHUP stays ignored.
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, interrupt)


def _run() -> int:
    # While modules load, nothing is garbage; `cli` turns collection on again.
    gc.disable()
    from cudaswitch.postponed import inspect_postponed  # noqa: PLC0415  # as click

    with inspect_postponed():
        return _run_with_click()


def _run_with_click() -> int:
    import click  # noqa: PLC0415  # ready texts and the short way do without

    from cudaswitch.cli import cli  # noqa: PLC0415  # the same

    _end_tidily()
    try:
        # Not cli.main(), which treats a reader that has left (EPIPE) as a failure.
        with cli.make_context("cudaswitch", sys.argv[1:]) as context:
            code: int = cli.invoke(context) or 0
    except click.exceptions.Exit as error:
        code = error.exit_code
    except getattr(click.exceptions, "NoArgsIsHelpError", ()) as error:  # newer releases have it
        error.show()
        return 2
    except click.UsageError as error:
        path = error.ctx.command_path if error.ctx else _command_of(sys.argv)
        # Shells call `want` for `use`; nobody types it.
        path = path.replace("cudaswitch want", "cudaswitch use")
        message = " ".join(error.format_message().split())
        hint = f"{path} --help"
        if message.startswith("Got unexpected extra argument"):
            hint = _INSTEAD.get(path, hint)
        return _fail(error, message.rstrip("."), hint, 2)
    except click.ClickException as error:
        return _fail(error, error.format_message().rstrip("."), None, 1)
    except click.Abort:
        print(file=sys.stderr)  # the line of the question has not ended
        raise KeyboardInterrupt from None
    sys.stdout.flush()
    return code


def _command_of(words: list[str]) -> str:
    """Name the command that was called, for an error of click's that does not."""
    from cudaswitch.cli import COMMANDS  # noqa: PLC0415  # loads click

    return " ".join(["cudaswitch", *(word for word in words[1:2] if word in COMMANDS)])


def _is_nowhere() -> bool:
    try:
        os.getcwd()
    except FileNotFoundError:
        return True
    return False


def _stop_printing() -> int:
    # The reader has what it wanted; a flush at exit must not complain either.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _interrupted(error: KeyboardInterrupt) -> int:
    [number] = error.args or (2,)
    return _fail(error, "interrupted", None, 128 + int(number))


def _unforeseen(error: Exception) -> int:
    """Report an exception that nobody caught, mostly a bug of ours, in one line."""
    # Up to Python 3.11, an interrupt while a class is created comes wrapped.
    if isinstance(error.__cause__, KeyboardInterrupt):
        return _interrupted(error.__cause__)
    if str(error) == "can't start new thread":  # of CPython's `_thread`
        hint = "close other programs, or check `ulimit -u`, `ulimit -v` and the container's limits"
        return _fail(error, "cannot start another thread", hint, 1)
    hint = "please report it, with the output of CUDASWITCH_DEBUG=1"
    return _fail(error, f"internal error: {type(error).__name__}: {error}", hint, 1)


def _fail(error: BaseException, message: str, hint: str | None, code: int) -> int:
    from cudaswitch import talk  # noqa: PLC0415  # only failures need it

    if os.environ.get("CUDASWITCH_DEBUG"):
        import traceback  # noqa: PLC0415  # only debugging needs it

        traceback.print_exception(error)
    talk.say(message)
    if hint:
        talk.hint(hint)
    return code


if __name__ == "__main__":
    sys.exit(entry())

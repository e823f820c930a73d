"""The command: errors become one line and an exit code here, and only here."""

from __future__ import annotations

import os
import sys

from cudaswitch import __version__, completion
from cudaswitch.errors import CudaswitchError, printable

# Checkers know the name; importing it from `typing` would cost every start.
TYPE_CHECKING = False
if TYPE_CHECKING:
    import click


def main() -> int:  # noqa: PLR0911  # one return for each way to end
    """Run the command line and return the process's exit code."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by who started us
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w"))
    text = _ready_text(sys.argv[1:])
    if text is not None:
        return _print(text)
    import click  # noqa: PLC0415  # what is ready is told without it

    from cudaswitch.cli import cli  # noqa: PLC0415  # the same

    try:
        return _run(cli)
    except CudaswitchError as error:
        return _fail(error, error.message, error.hint, error.exit_code)
    except click.exceptions.Exit as error:
        return error.exit_code
    except click.UsageError as error:
        path = error.ctx.command_path if error.ctx else "cudaswitch"
        return _fail(error, error.format_message().rstrip("."), f"{path} --help", 2)
    except click.ClickException as error:
        return _fail(error, error.format_message().rstrip("."), None, 1)
    except (click.Abort, KeyboardInterrupt):
        print("cudaswitch: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        return _stop_printing()
    except OSError as error:
        _stop_printing()
        where = f" (`{error.filename}`)" if error.filename else ""
        return _fail(error, f"{error.strerror or error}{where}", None, 1)
    except Exception as error:  # a defect of ours, still one line
        hint = "report it with the output of CUDASWITCH_DEBUG=1"
        return _fail(error, f"internal error: {type(error).__name__}: {error}", hint, 1)


def _ready_text(arguments: list[str]) -> str | None:
    """Return what is printed for a command line that shell startup files hold."""
    match arguments:
        case ["--version"]:
            return f"cudaswitch {__version__}\n"
        case ["completion", shell] if shell in completion.SCRIPTS:
            return completion.script(shell)
    return None


def _run(command: click.Command) -> int:
    # Not command.main(), for which a reader that has left is a failure.
    with command.make_context("cudaswitch", sys.argv[1:]) as context:
        code: int = command.invoke(context) or 0
    sys.stdout.flush()
    return code


def _print(text: str) -> int:
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        return _stop_printing()
    return 0


def _stop_printing() -> int:
    # The reader has what it wanted; a flush at exit must not complain either.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _fail(error: BaseException, message: str, hint: str | None, code: int) -> int:
    if os.environ.get("CUDASWITCH_DEBUG"):
        import traceback  # noqa: PLC0415  # only for who asks for it

        traceback.print_exception(error)
    print(f"cudaswitch: {printable(message)}", file=sys.stderr)
    if hint:
        print(f"hint: {hint}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())

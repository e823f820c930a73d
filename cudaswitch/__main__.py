"""The command: errors become one line and an exit code here, and only here."""

from __future__ import annotations

import os
import sys

from cudaswitch import __version__
from cudaswitch.errors import CudaswitchError, printable


def main() -> int:  # noqa: PLR0911  # one return for each way to end
    """Run the command line and return the process's exit code."""
    if sys.argv[1:] == ["--version"]:
        print(f"cudaswitch {__version__}")
        return 0
    import click  # noqa: PLC0415  # the version is told without it

    from cudaswitch.cli import cli  # noqa: PLC0415

    try:
        return cli.main(prog_name="cudaswitch", standalone_mode=False) or 0
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
        # The reader has what it wanted; a flush at exit must not complain either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        where = f" (`{error.filename}`)" if error.filename else ""
        return _fail(error, f"{error.strerror or error}{where}", None, 1)
    except Exception as error:  # a defect of ours, still one line
        hint = "report it with the output of CUDASWITCH_DEBUG=1"
        return _fail(error, f"internal error: {type(error).__name__}: {error}", hint, 1)


def _fail(error: BaseException, message: str, hint: str | None, code: int) -> int:
    if os.environ.get("CUDASWITCH_DEBUG"):
        import traceback  # noqa: PLC0415

        traceback.print_exception(error)
    print(f"cudaswitch: {printable(message)}", file=sys.stderr)
    if hint:
        print(f"hint: {hint}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())

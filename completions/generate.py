"""Write the completion scripts, the command line's own words put into a template per shell, and
what `--help` prints.

python completions/generate.py           # write them
python completions/generate.py --check   # say which of them are out of date
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import click
from click.testing import CliRunner

from cudaswitch.cli import COMMANDS, cli
from cudaswitch.completion import SCRIPTS
from cudaswitch.helptexts import WIDTH, file_of
from cudaswitch.shells import quote_fish, quote_posix
from kinds import FUNCTIONS, IN_TURN, KINDS, available

HERE = Path(__file__).parent
HELP = HERE.parent / "cudaswitch" / "helptexts"


@dataclass(frozen=True)
class Option:
    """One option: its names, its line in `--help`, and the kind of its value, None for a flag.

    `repeated` says that it may come again.
    """

    names: tuple[str, ...]
    help: str
    kind: str | None
    repeated: bool = False


@dataclass(frozen=True)
class Command:
    """One command: `name` is as typed (`shims install`), `arguments` the kind of each.

    `repeated` says that the last argument may come again.
    """

    name: str
    label: str
    options: tuple[Option, ...]
    arguments: tuple[str, ...]
    repeated: bool
    commands: tuple[Command, ...]


def _kind(command: str, param: click.Parameter) -> str:
    if isinstance(param.type, click.Choice):
        return " ".join(map(str, param.type.choices))
    for key in (f"{command}.{param.name}", str(param.name)):
        if key in KINDS:
            return KINDS[key]
    raise ValueError(f"KINDS has no row for the parameter `{param.name}` of `{command}`")


def _first_sentence(text: str) -> str:
    return text.partition(". ")[0].rstrip(".").replace("`", "")


def _read(name: str, command: click.Command, label: str) -> Command:
    options = [param for param in command.params if isinstance(param, click.Option)]
    arguments = [param for param in command.params if isinstance(param, click.Argument)]
    turns = {param: IN_TURN.get(f"{name}.{param.name}") for param in arguments}
    nested = command.commands if isinstance(command, click.Group) else {}
    help_option = Option(("-h", "--help"), "Show help", None)
    return Command(
        name,
        label,
        (
            *(
                Option(
                    tuple(option.opts),
                    _first_sentence(option.help or ""),
                    None if option.is_flag else _kind(name, option),
                    option.multiple,
                )
                for option in options
            ),
            help_option,
        ),
        tuple(kind for param, turn in turns.items() for kind in turn or [_kind(name, param)]),
        any(param.nargs == -1 and turn is None for param, turn in turns.items()),
        tuple(
            _read(f"{name} {child}", found, found.get_short_help_str(limit=200).rstrip("."))
            for child, found in sorted(nested.items())
        ),
    )


def commands() -> list[Command]:
    """Read the command line: every command that `--help` lists."""
    context = click.Context(cli)
    return [
        _read(name, found, label.replace("`", ""))
        for name, (_, label) in COMMANDS.items()
        if label and (found := cli.get_command(context, name))
    ]


def _flat(rows: list[Command]) -> Iterator[Command]:
    for row in rows:
        yield row
        yield from row.commands


def _valued(rows: list[Command]) -> dict[str, dict[str, str]]:
    """Map each option with a value to the commands that have it, with its kind in each."""
    found: dict[str, dict[str, str]] = {}
    flags = set()
    for row in _flat(rows):
        for option in row.options:
            for name in option.names:
                if option.kind is None:
                    flags.add(name)
                else:
                    found.setdefault(name, {})[row.name] = option.kind
    if both := flags & found.keys():
        raise ValueError(f"{', '.join(both)} takes a value in some commands only")
    return found


def _by_kind(rows: list[Command]) -> dict[str, list[str]]:
    """Map each kind to what has it: `command:--option`, `*` for all commands with that option."""
    kinds: dict[str, list[str]] = {}
    for name, commands in _valued(rows).items():
        same = len(set(commands.values())) == 1
        for command, kind in list(commands.items())[: 1 if same else None]:
            kinds.setdefault(kind, []).append(f"{'*' if same else command}:{name}")
    return kinds


# -- bash ---------------------------------------------------------------------------------


def _bash_call(kind: str) -> str:
    if kind in FUNCTIONS:
        return f"_cudaswitch_{kind}"
    return f"_cudaswitch_add {kind}" if kind else ":"


def _bash_pattern(text: str) -> str:
    return text.replace(" ", "\\ ")


def _bash_arguments(rows: list[Command]) -> Iterator[str]:
    for row in _flat(rows):
        for number, kind in enumerate(row.arguments, 1):
            last = row.repeated and number == len(row.arguments)
            yield f"{_bash_pattern(row.name)}:{'*' if last else number}) {_bash_call(kind)} ;;"
        if row.commands:
            words = [child.name.split()[-1] for child in row.commands]
            yield f"{row.name}:1) _cudaswitch_add {' '.join(words)} ;;"


def _bash(rows: list[Command]) -> dict[str, list[str]]:
    return {
        "commands": [f"_cudaswitch_add {' '.join(row.name for row in rows)}"],
        "available": [f"_cudaswitch_add {' '.join(available())}"],
        "groups": [f'{" | ".join(row.name for row in rows if row.commands)}) command+=" $word" ;;'],
        "values": [
            f"{' | '.join(map(_bash_pattern, found))}) {_bash_call(kind)} ;;"
            for kind, found in _by_kind(rows).items()
        ],
        "valued": [f"{' | '.join(_valued(rows))}) option=$word ;;"],
        "options": [
            f"{_bash_pattern(row.name)}) _cudaswitch_add "
            + " ".join(name for option in row.options for name in option.names)
            + " ;;"
            for row in _flat(rows)
        ],
        "arguments": list(_bash_arguments(rows)),
    }


# -- zsh ----------------------------------------------------------------------------------


def _zsh_action(kind: str) -> str:
    if kind in FUNCTIONS:
        return f"_cudaswitch_{kind}"
    return f"({kind})" if kind else " "


def _zsh_option(option: Option) -> str:
    shown = option.help.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")
    what = "" if option.kind is None else f":value:{_zsh_action(option.kind)}"
    rest = quote_posix(f"[{shown}]{what}")
    mark = "" if option.kind is None else "="
    names = [name + mark if name[1] == "-" else name for name in option.names]
    if len(names) == 1:
        again = "'*'" if option.repeated else ""
        return f"{again}{names[0]}{rest}"
    return f"'({' '.join(option.names)})'{{{','.join(names)}}}{rest}"


def _zsh_described(rows: Iterable[Command]) -> list[str]:
    words = [f"{row.name.split()[-1]}:" + row.label.replace(":", "\\:") for row in rows]
    return [f"{quote_posix(word)} \\" for word in words[:-1]] + [quote_posix(words[-1])]


def _zsh_case(row: Command) -> Iterator[str]:
    yield f"{row.name.split()[-1]})"
    if row.commands:
        yield "    if [[ $CURRENT == 2 && $words[2] == -* ]]; then"
        yield from (f"    {line}" for line in _zsh_arguments(row))
        yield from ("        return", "    elif (( CURRENT == 2 )); then")
        yield "        _cudaswitch_offer \\"
        yield from (f"            {word}" for word in _zsh_described(row.commands))
        yield from ("        return", "    fi", "    shift words", "    (( CURRENT-- ))")
        yield "    case $words[1] in"
        yield from (f"        {line}" for child in row.commands for line in _zsh_case(child))
        yield "    esac"
    else:
        yield from _zsh_arguments(row)
    yield "    ;;"


def _zsh_arguments(row: Command) -> Iterator[str]:
    specs = [_zsh_option(option) for option in row.options]
    for number, kind in enumerate(row.arguments, 1):
        last = row.repeated and number == len(row.arguments)
        specs.append(quote_posix(f"{'*' if last else number}:argument:{_zsh_action(kind)}"))
    yield "    _arguments -s -S \\"
    yield from (f"        {spec} \\" for spec in specs[:-1])
    yield f"        {specs[-1]}"


def _zsh(rows: list[Command]) -> dict[str, list[str]]:
    return {
        "commands": _zsh_described(rows),
        "available": [f"releases=({' '.join(available())})"],
        "cases": [line for row in rows for line in _zsh_case(row)],
    }


# -- fish ---------------------------------------------------------------------------------


def _fish_case(pattern: str, action: Iterable[str]) -> list[str]:
    return [f"case {pattern}", *(f"    {line}" for line in action)]


def _fish_said(pairs: Iterable[tuple[str, str]]) -> list[str]:
    rows = [f"    {word} {quote_fish(label)}" for word, label in pairs]
    return ["printf '%s\\t%s\\n' \\", *(f"{row} \\" for row in rows[:-1]), rows[-1]]


def _fish_offer(kind: str) -> list[str]:
    if kind in FUNCTIONS:
        return [f"__cudaswitch_complete_{kind}"]
    return [f"printf '%s\\n' {kind}"] if kind else []


def _fish_options(row: Command) -> list[str]:
    said = [(name, option.help) for option in row.options for name in option.names]
    return _fish_case(quote_fish(row.name), _fish_said(said))


def _fish_arguments(rows: list[Command]) -> Iterator[str]:
    for row in _flat(rows):
        for number, kind in enumerate(row.arguments, 1):
            last = row.repeated and number == len(row.arguments)
            at = f"{row.name}:{'*' if last else number}"
            yield from _fish_case(quote_fish(at), _fish_offer(kind))
        if row.commands:
            said = [(child.name.split()[-1], child.label) for child in row.commands]
            yield from _fish_case(f"{row.name}:1", _fish_said(said))


def _fish(rows: list[Command]) -> dict[str, list[str]]:
    return {
        "commands": _fish_said((row.name, row.label) for row in rows)[1:],
        "available": [f"printf '%s\\tCUDA to install\\n' {' '.join(available())}"],
        "groups": [f"case {' '.join(row.name for row in rows if row.commands)}"],
        "values": [
            line
            for kind, found in _by_kind(rows).items()
            for line in _fish_case(" ".join(map(quote_fish, found)), _fish_offer(kind))
        ],
        "valued": [f"case {' '.join(_valued(rows))}"],
        "options": [line for row in _flat(rows) for line in _fish_options(row)],
        "arguments": list(_fish_arguments(rows)),
    }


PARTS: dict[str, Callable[[list[Command]], dict[str, list[str]]]] = {
    "bash": _bash,
    "zsh": _zsh,
    "fish": _fish,
}


def text(shell: str) -> str:
    """Return a shell's script: its template with each line `@name@` replaced."""
    parts = PARTS[shell](commands())
    lines: list[str] = []
    for line in (HERE / "templates" / SCRIPTS[shell]).read_text(encoding="utf-8").splitlines():
        name = line.strip()
        if name.startswith("@") and name.endswith("@"):
            indent = line[: len(line) - len(line.lstrip())]
            lines += [indent + part for part in parts.pop(name.strip("@"))]
        else:
            lines.append(line)
    if parts:
        raise ValueError(f"the template has no place for {', '.join(parts)}")
    return "\n".join(lines) + "\n"


def _help(words: list[str]) -> str:
    """Return what `--help` prints for a command, as click words it."""
    done = CliRunner().invoke(cli, [*words, "--help"], prog_name="cudaswitch", terminal_width=WIDTH)
    return done.output


def main() -> int:
    files = {HERE / name: text(shell) for shell, name in SCRIPTS.items()}
    names = ("", *(row.name for row in _flat(commands())))
    files |= {HELP / file_of(*name.split()): _help(name.split()) for name in names}
    stale = {path for path in files if not path.is_file() or path.read_text("utf-8") != files[path]}
    stale |= set(HELP.glob("*.txt")) - files.keys()
    checks = sys.argv[1:] == ["--check"]
    for path in sorted(stale):
        shown = path.relative_to(HERE.parent)
        if checks:
            print(f"{shown} is out of date: run `nox -s completions`")
        elif path in files:
            path.write_text(files[path], "utf-8")
            print(f"wrote {shown}")
        else:
            path.unlink()
            print(f"removed {shown}")
    return 1 if stale and checks else 0


if __name__ == "__main__":
    sys.exit(main())

"""DEBUG traps in bash: timers, titles and `preexec` must not take our prompt command for typed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from shells.driver import BASH
from shells.kits import Person
from shells.terminal import Open, Terminal, cd, home_of, printed

TIMER = """
timer_start() {{ started=${{started:-$BASH_COMMAND}}; }}
timer_stop() {{ code=$?; unset started; return $code; }}
trap timer_start DEBUG
{hook}
"""
"""A timer that counts from the first command after the prompt, like bash-command-timer's."""
HOOKS = {
    "alone": "PROMPT_COMMAND=timer_stop",
    "the last": "PROMPT_COMMAND='(exit $?); timer_stop'",
    "array": "PROMPT_COMMAND=(true timer_stop)",
}


def typed_starts(terminal: Terminal, person: Person, tree: Path) -> None:
    """Assert that a timer counts from what is typed, while each `cd` switches."""
    for _ in range(2):
        assert printed(terminal, "echo started by $started") == [
            "started by echo started by $started"
        ]
        cd(terminal, tree)
        assert home_of(terminal) == str(person.kits[0].home)
        cd(terminal, tree.parent)
        assert home_of(terminal) == ""


@pytest.mark.parametrize("hook", HOOKS)
def test_a_timer_starts_with_what_is_typed(
    hook: str, person: Person, tree: Path, at_prompt: Open
) -> None:
    terminal = at_prompt(BASH, TIMER.format(hook=HOOKS[hook]))
    typed_starts(terminal, person, tree)
    assert printed(terminal, "(exit 3)\necho $code") == ["3"]


def test_what_passes_over_the_prompt_command(person: Person, tree: Path, at_prompt: Open) -> None:
    """Many a .bashrc has a `preexec` that compares with PROMPT_COMMAND; it must not see ours."""
    seen = tree.parent / "seen"
    before = (
        'preexec() { [ "$BASH_COMMAND" = "$PROMPT_COMMAND" ] || echo "$BASH_COMMAND" >>"$seen"; }\n'
        f"PROMPT_COMMAND=set_prompt; set_prompt() {{ true; }}; seen='{seen}'; trap preexec DEBUG"
    )
    terminal = at_prompt(BASH, before)
    seen.unlink()  # from the first prompt, which asked for the trap
    terminal.say(f"cd '{tree}'")
    assert home_of(terminal) == str(person.kits[0].home)
    typed = seen.read_text().splitlines()
    assert [line for line in typed if "cudaswitch" in line] == []


NAMED = {
    "in its function": "before() {{ {check}; }}; trap before DEBUG",
    "in the trap": "trap '{check}' DEBUG",
}
CHECK = (
    "if [[ -n $at_prompt ]]; then at_prompt= started=$BASH_COMMAND; fi;"
    " if [[ $BASH_COMMAND == set_prompt ]]; then at_prompt=1; fi"
)


LAST = {
    "=set_prompt": "3",
    "=(true set_prompt)": "3",
    "='true;set_prompt'": "0",
    "=$'true\\n  set_prompt ;\\n'": "0",
}
"""PROMPT_COMMAND → the exit status that its last command sees."""


@pytest.mark.parametrize("trap", NAMED.values(), ids=NAMED)
@pytest.mark.parametrize("hook", LAST)
def test_a_trap_that_knows_the_prompt_by_its_name(
    trap: str, hook: str, person: Person, tree: Path, at_prompt: Open
) -> None:
    """A trap that takes what follows `set_prompt` for typed, like liquidprompt's, misses ours."""
    shown = "set_prompt() { code=$?; }"
    terminal = at_prompt(BASH, f"{shown}; PROMPT_COMMAND{hook}\n{trap.format(check=CHECK)}")
    typed_starts(terminal, person, tree)
    assert printed(terminal, "(exit 3)\necho $code") == [LAST[hook]]


UNMARKED = {
    "by its text": '[ "$BASH_COMMAND" = "$PROMPT_COMMAND" ] && return; shown "$BASH_COMMAND"',
    "by its text, and by its name": (
        '[[ $BASH_COMMAND == "$PROMPT_COMMAND" || $BASH_COMMAND == shown ]] && return'
    ),
    "to pass over it": '[[ "$BASH_COMMAND" == shown ]] && return; typed=$BASH_COMMAND',
    "that is another": 'if [ "$BASH_COMMAND" = unshown ]; then at_prompt=1; fi',
    "that is longer": 'if [ "$BASH_COMMAND" = shown_at ]; then at_prompt=1; fi',
    "for a variable": "shown=${shown:-$BASH_COMMAND}",
}


@pytest.mark.parametrize("body", UNMARKED.values(), ids=UNMARKED)
def test_a_trap_that_only_mentions_the_prompt(body: str, at_prompt: Open) -> None:
    before = f"shown() {{ true; }}; PROMPT_COMMAND=shown; typed() {{ {body}; }}; trap typed DEBUG"
    terminal = at_prompt(BASH, before)
    said = printed(terminal, "declare -p PROMPT_COMMAND")
    assert said == ['declare -- PROMPT_COMMAND="__cudaswitch_prompts shown"']


ALONE = """
unset PROMPT_COMMAND
typed() {{ [ "$BASH_COMMAND" = "$PROMPT_COMMAND" ] || echo "$BASH_COMMAND" >>'{seen}'; }}
trap typed DEBUG
trap 'echo failed' ERR
"""


BEHIND = {
    "string": "PROMPT_COMMAND+='; code=$?'",
    "array": "PROMPT_COMMAND+=('code=$?')",
    "in front, too": 'PROMPT_COMMAND=(true "$PROMPT_COMMAND" "code=\\$?")',
    "evaluated": 'kept=$PROMPT_COMMAND; own() { eval "$kept"; code=$?; }; PROMPT_COMMAND=own',
}


@pytest.mark.parametrize("behind", BEHIND.values(), ids=BEHIND)
def test_it_passes_over_ours_where_there_is_no_other(
    behind: str, person: Person, tree: Path, at_prompt: Open
) -> None:
    """Alone, ours trips neither a DEBUG nor an ERR trap; once others follow, it hands `$?` on."""
    seen = tree.parent / "seen"
    terminal = at_prompt(BASH, ALONE.format(seen=seen))
    seen.unlink(missing_ok=True)
    cd(terminal, tree)
    assert home_of(terminal) == str(person.kits[0].home)
    typed = seen.read_text().splitlines()
    assert typed[0].startswith("cd ")
    assert [line for line in typed if "cudaswitch" in line or line == ":"] == []
    assert printed(terminal, "false") == ["failed"]
    terminal.say(behind)
    assert printed(terminal, "(exit 3)\necho $code") == ["failed", "3"]


PREEXEC = """
invoked() {{
    case $typing:$BASH_COMMAND in :* | *:__bp_*) return ;; esac
    typing=
    echo "$BASH_COMMAND" >>'{seen}'
}}
__bp_install() {{
    PROMPT_COMMAND=__bp_precmd_invoke_cmd$'\\n'${{PROMPT_COMMAND//__bp_install/:}}$'\\n'__bp_interactive_mode
    trap invoked DEBUG
    __bp_precmd_invoke_cmd
    __bp_interactive_mode
}}
__bp_precmd_invoke_cmd() {{
    code=$? typing=
    for one in "${{precmd_functions[@]}}"; do (exit $code); $one; done
}}
__bp_interactive_mode() {{ typing=1; }}
PROMPT_COMMAND=__bp_install
"""
"""Like bash-preexec: it sets the trap at the first prompt; what follows its hook is typed."""
VS_CODE = """
running=1
invoked() {{
    case $running$BASH_COMMAND in 1* | __vsc_prompt*) ;; *) echo "$BASH_COMMAND" >>'{seen}' ;; esac
    running=1
}}
trap invoked DEBUG
__vsc_original_prompt_command=$PROMPT_COMMAND
__vsc_prompt_cmd_original() {{
    code=$?
    for one in "${{__vsc_original_prompt_command[@]}}"; do (exit $code); eval "$one"; done
    running=
}}
__vsc_prompt_cmd() {{ running=; }}
PROMPT_COMMAND=__vsc_prompt_cmd${{PROMPT_COMMAND:+_original}}
"""
"""Like VS Code's integration: it takes all but its own commands for typed."""


ONCE_AND_FOR_ALL = {
    "read-only": ("unset PROMPT_COMMAND", 'readonly PROMPT_COMMAND="$PROMPT_COMMAND; true"'),
    "exported": ("export PROMPT_COMMAND=__cudaswitch_prompt", ":"),
}


@pytest.mark.parametrize("which", ONCE_AND_FOR_ALL)
def test_one_word_is_no_failure_for_good(
    which: str, person: Person, tree: Path, at_prompt: Open
) -> None:
    """ERR traps see no failure of ours if PROMPT_COMMAND is read-only or inherited."""
    before, then = ONCE_AND_FOR_ALL[which]
    terminal = at_prompt(BASH, f"{before}; trap 'echo failed' ERR")
    terminal.say(then)
    assert printed(terminal, "false\n:") == ["failed"]
    cd(terminal, tree)
    assert home_of(terminal) == str(person.kits[0].home)


@pytest.mark.parametrize(
    "before",
    [PREEXEC, VS_CODE, f"PROMPT_COMMAND='code=$?'{VS_CODE}"],
    ids=["bash-preexec", "VS Code", "VS Code behind others"],
)
@pytest.mark.parametrize("loaded", ["at the start", "later", "twice"])
def test_what_takes_all_but_its_own_for_typed(
    before: str, loaded: str, person: Person, tree: Path, at_prompt: Open
) -> None:
    """bash-preexec and VS Code never take ours for typed, even if it is loaded at a prompt."""
    seen = tree.parent / "seen"
    before = before.format(seen=seen)
    if loaded == "later":
        (tree.parent / "terminal").mkdir()
        nobody = replace(person, init={})
        terminal = Terminal(BASH, nobody, tree.parent / "terminal", before)
    else:
        terminal = at_prompt(BASH, before)
    if loaded != "at the start":
        terminal.say(person.load(BASH))
    seen.unlink()
    cd(terminal, tree)
    terminal.say("")
    assert home_of(terminal) == str(person.kits[0].home)
    assert printed(terminal, "(exit 3)\n:") == []
    typed = seen.read_text().splitlines()
    assert [line for line in typed if "cudaswitch" in line] == []
    assert typed[0].startswith("cd ")
    joined = "${PROMPT_COMMAND[*]} ${__vsc_original_prompt_command[*]} ${precmd_functions[*]}"
    assert printed(terminal, f'echo "{joined}" | grep -o __cudaswitch_prompt | wc -l') == ["1"]


def test_what_called_ours_may_be_gone(person: Person, tree: Path, tmp_path: Path) -> None:
    """`current` puts our hook back if a later line of the startup file removed what called it."""
    (tmp_path / "terminal").mkdir()
    before = PREEXEC.format(seen=tmp_path / "seen") + person.load(BASH) + "\nPROMPT_COMMAND=true"
    terminal = Terminal(BASH, replace(person, init={}), tmp_path / "terminal", before)
    terminal.say("cudaswitch current")
    cd(terminal, tree)
    assert home_of(terminal) == str(person.kits[0].home)
    (tree / ".cuda-version").write_text("11.8\n")
    terminal.say("")
    assert home_of(terminal) == str(person.kits[1].home)


COUNTING = {
    "declares": "declare -i count; count+=1",
    "typesets": "typeset -i count; count+=1",
    "asks": 'case ${FUNCNAME-} in "") let count+=1 ;; esac',
}


@pytest.mark.parametrize("counting", COUNTING.values(), ids=COUNTING)
def test_what_means_another_thing_in_a_function(
    counting: str, person: Person, tree: Path, at_prompt: Open
) -> None:
    terminal = at_prompt(BASH, f"PROMPT_COMMAND='{counting}'\ntrap : DEBUG")
    cd(terminal, tree)
    assert home_of(terminal) == str(person.kits[0].home)
    assert int(printed(terminal, "echo $count")[0]) > 3


def test_a_trap_that_is_set_anew_at_each_prompt(
    person: Person, tree: Path, at_prompt: Open
) -> None:
    """A trap set anew at each prompt sees one command before, as without us, and none after."""
    seen = tree.parent / "seen"
    before = f"""
typed() {{ echo "$BASH_COMMAND" >>'{seen}'; }}
PROMPT_COMMAND='trap - DEBUG; code=$?; trap typed DEBUG'
trap typed DEBUG
"""
    terminal = at_prompt(BASH, before)
    terminal.child.expect_exact("ready> ")  # until then, the trap sees what runs before it
    seen.unlink()
    cd(terminal, tree)
    assert home_of(terminal) == str(person.kits[0].home)
    typed = seen.read_text().splitlines()
    ours = [line for line in typed if "cudaswitch" in line or line == ":"]
    assert {line.split()[0] for line in ours} == {"__cudaswitch_prompts"}
    assert typed[0].startswith("cd ")
    assert typed[1] == ours[0]


BY_LINES = """
typed() {{
    local line
    while read -r line; do [ "$line" = "$BASH_COMMAND" ] && return; done <<< "$PROMPT_COMMAND"
    echo "$BASH_COMMAND" >>'{seen}'
}}
PROMPT_COMMAND=$'other\\n'"$PROMPT_COMMAND"$'\\n:'
other() {{ trap typed DEBUG; }}
"""
"""Like bash-preexec loaded after us: it takes no line of PROMPT_COMMAND for typed."""


def test_what_people_type_is_no_line_of_ours(person: Person, tree: Path) -> None:
    """No line of ours equals a typed one: `while true; do …` still gets its title and time."""
    (tree.parent / "terminal").mkdir()
    seen = tree.parent / "seen"
    before = f"{person.load(BASH)}\n{BY_LINES.format(seen=seen)}"
    terminal = Terminal(BASH, replace(person, init={}), tree.parent / "terminal", before)
    cd(terminal, tree)
    assert home_of(terminal) == str(person.kits[0].home)
    seen.unlink()
    for line in ("true", "while true; do break; done"):
        terminal.say(line)
    typed = seen.read_text().splitlines()
    assert typed.count("true") == 2
    assert not any("cudaswitch" in line for line in typed), typed


def test_a_timer_that_comes_with_a_startup_file_that_is_read_again(
    person: Person, tree: Path, at_prompt: Open
) -> None:
    """A DEBUG trap that comes only when the startup file is read again sees just typed commands."""
    terminal = at_prompt(BASH, "PROMPT_COMMAND=true")
    again = TIMER.format(hook=HOOKS["alone"]) + person.load(BASH)
    (tree / "rc").write_text(again)
    terminal.say(f". '{tree}/rc'")
    cd(terminal, tree)
    assert home_of(terminal) == str(person.kits[0].home)
    assert printed(terminal, "echo started by $started") == ["started by echo started by $started"]


PIECES = """
prompts_own() {
    local IFS=$'\\n;' piece pieces
    read -rd '' -a pieces <<<"${PROMPT_COMMAND[*]:-}"
    for piece in "${pieces[@]}"; do [[ $piece == "$1" ]] && return; done
    return 1
}
typed() { prompts_own "$BASH_COMMAND" || echo "$BASH_COMMAND" >>"$seen"; }
precmd() { [[ $begun ]] || trap typed DEBUG; begun=1; }
PROMPT_COMMAND="${PROMPT_COMMAND:+$PROMPT_COMMAND
}precmd"
"""
"""What JetBrains' terminals do after a startup file; their first prompt sets the trap."""


@pytest.mark.parametrize("order", ["ours first", "ours last"])
@pytest.mark.parametrize(
    "before", ["unset PROMPT_COMMAND", "PROMPT_COMMAND=true", "PROMPT_COMMAND=(true true)"]
)
def test_what_takes_pieces_of_the_prompt_command_for_its_commands(
    before: str, order: str, person: Person, tree: Path, tmp_path: Path
) -> None:
    seen = tmp_path / "seen"
    (tmp_path / "terminal").mkdir()
    parts = [person.load(BASH), PIECES]
    text = "\n".join(
        [f"{before}; seen='{seen}'", *(parts if order == "ours first" else parts[::-1])]
    )
    terminal = Terminal(BASH, replace(person, init={}), tmp_path / "terminal", text)
    cd(terminal, tree)
    assert home_of(terminal) == str(person.kits[0].home)
    assert printed(terminal, "(exit 3)\necho $?") == ["3"]
    terminal.say("")
    typed = seen.read_text().splitlines()
    assert any(line.startswith("cd ") for line in typed)
    assert [line for line in typed if "cudaswitch" in line or line in (":", "\\:", "true")] == []


FLAGGED = """
typed() {{ [ -n "$at_prompt" ] || return; at_prompt=; echo "$BASH_COMMAND" >>'{seen}'; }}
trap typed DEBUG
shown() {{ code=$?; at_prompt=1; }}
{hook}
"""
"""A trap that takes what follows its own command for typed: hishtory's, and many by hand."""
IN_FRONT = {
    "string": 'PROMPT_COMMAND="shown; $PROMPT_COMMAND"',
    "lines": "PROMPT_COMMAND=$'shown\\n'$PROMPT_COMMAND",
    "array": 'PROMPT_COMMAND=(shown "${{PROMPT_COMMAND[@]}}")',
}


@pytest.mark.parametrize("hook", IN_FRONT)
def test_what_comes_in_front_of_ours_with_a_trap(
    hook: str, person: Person, tree: Path, tmp_path: Path
) -> None:
    """If a trap is set after us and runs before us, ours is not typed from the third prompt on."""
    seen = tmp_path / "seen"
    (tmp_path / "terminal").mkdir()
    behind = FLAGGED.format(seen=seen, hook=IN_FRONT[hook].format())
    text = f"unset PROMPT_COMMAND\n{person.load(BASH)}\n{behind}"
    terminal = Terminal(BASH, replace(person, init={}), tmp_path / "terminal", text)
    terminal.say("")
    seen.unlink(missing_ok=True)
    for folder, kit in ((tree, str(person.kits[0].home)), (tree.parent, "")):
        cd(terminal, folder)
        assert home_of(terminal) == kit
    assert printed(terminal, "sh -c 'exit 3'\necho $code") == ["3"]
    typed = seen.read_text().splitlines()
    assert [line for line in typed if "cudaswitch" in line] == []
    assert len([line for line in typed if line.startswith("cd ")]) == 2

"""Lines that load cudaswitch in other startup files of a shell are reported by their numbers."""

from __future__ import annotations

import json

import pytest

from checks import succeeded
from homes import Home
from startup_files import install, remove

OTHERS = [
    # shell, other file, what is in it, the marked file as it is before
    ("fish", "xdg-config/fish/config.fish", "cudaswitch init fish | source", None),
    ("fish", "xdg-config/fish/config.fish",
     "status is-interactive; and cudaswitch init fish | source", None),
    ("tcsh", ".cshrc", "eval `cudaswitch init tcsh`", ("", ".tcshrc", "source ~/.cshrc\n")),
    ("bash", ".bash_profile", '. ~/.bashrc\neval "$(cudaswitch init bash)"', None),
    ("bash", ".profile", '. ~/.bashrc\neval "$(cudaswitch init bash)"', None),
    ("zsh", ".zprofile", 'eval "$(cudaswitch init zsh)"', None),
    ("nu", "xdg-config/nushell/config.nu", "source ~/cudaswitch/init/nu", None),
]  # fmt: skip


@pytest.mark.parametrize(("shell", "name", "text", "marked"), OTHERS)
def test_a_line_in_another_file(
    home: Home, shell: str, name: str, text: str, marked: tuple[str, str, str] | None
) -> None:
    other = home.path / name
    other.parent.mkdir(parents=True, exist_ok=True)
    other.write_text(f"# mine\n{text}\n")
    if marked:
        (home.path / marked[1]).write_text(marked[2])
    number = 2 + text.count("\n")
    said = install(home, shell)
    assert f"`{other}` also loads cudaswitch, on line {number}\n" in said
    assert "hint: remove that line\n" in said
    [found] = findings(home, shell)
    assert f"`{other}`:{number} loads it a second time" in found
    said = remove(home, shell)
    assert f"`{other}` still loads cudaswitch, on line {number}\n" in said
    assert "does not load" not in said
    other.write_text("# mine\n")
    assert "also loads" not in install(home, shell)
    assert findings(home, shell) == []


def findings(home: Home, shell: str) -> list[str]:
    """Return the evidence of lines that load cudaswitch twice."""
    done = home.run("doctor", "--json", SHELL=f"/bin/{shell}")
    found = json.loads(done.stdout)["findings"]
    return [one["evidence"] for one in found if one["code"] == "CS078"]


def test_a_line_for_logins_alone_is_no_second_one(home: Home) -> None:
    """A line for login shells, which do not read `.bashrc`, must stay and is no second one."""
    login = home.path / ".bash_profile"
    login.write_text('eval "$(cudaswitch init bash)"\n')
    said = install(home, "bash")
    assert f"`{login}` also loads cudaswitch, on line 1\n" in said
    assert "hint: put `. ~/.bashrc` there\n" in said
    assert "login shells" not in said
    assert findings(home, "bash") == []
    assert f"`{login}` still loads cudaswitch, on line 1\n" in remove(home, "bash")


def test_the_line_in_the_file_itself_has_its_number(home: Home) -> None:
    (home.path / ".bashrc").write_text('x=1\neval "$(cudaswitch init bash)"\n')
    assert "also loads cudaswitch, on line 2\n" in install(home, "bash")


def test_a_file_that_another_one_hides_is_no_second_one(home: Home) -> None:
    (home.path / ".tcshrc").write_text("set x\n")
    (home.path / ".cshrc").write_text("eval `cudaswitch init tcsh`\n")
    assert f"`{home.path}/.cshrc` also loads cudaswitch" in install(home, "tcsh")
    assert findings(home, "tcsh") == []


def test_a_shell_that_its_other_file_loads_is_not_told_to_load_it(stocked: Home) -> None:
    other = stocked.path / "xdg-config/fish/config.fish"
    other.parent.mkdir()
    other.write_text("cudaswitch init fish | source\n")
    succeeded(stocked.run("pin", "10.1", "--global"))
    found = json.loads(stocked.run("doctor", "--json", SHELL="/bin/fish").stdout)["findings"]
    assert not [one for one in found if "does not load cudaswitch" in one["evidence"]]


@pytest.mark.parametrize(
    "line", ['eval "$(cudaswitch init bash)"', r"if [ -f 'D/cudaswitch/init/bash' ]; then :; fi"]
)
def test_what_still_loads_it_is_told_of(home: Home, line: str) -> None:
    path = home.path / ".bashrc"
    path.write_text(f"x=1\n{line}\n")
    install(home, "bash")
    assert f"`{path}` still loads cudaswitch, on line 2" in remove(home, "bash")
    path.write_text("x=1\n")
    assert f"`{path}` does not load cudaswitch\n" in remove(home, "bash")

"""What `doctor` reads in shell scripts: statements that set variables, and `exit`."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from cudaswitch.doctor.hooked import scripts_of
from cudaswitch.doctor.scripts import exit_in, settings_of
from cudaswitch.environments import environment_at


def test_statements_of_scripts(tmp_path: Path) -> None:
    text = """
export A=1
  B="x y" # why
if true; then C=3; fi
export D=/a:\\
/b
# E=5
echo F=6
declare -x G='7'
alias H=8
set -gx I /a /b
fish_add_path -m /c
FOO=1 command
# >>> conda initialize >>>
export J=9
# <<< conda initialize <<<
export K=10; export L=11
"""
    file = tmp_path / "rc"
    file.write_text(text)
    found = {one.name: (tuple(one.lines), one.value, one.alone) for one in settings_of(file)}
    assert found == {
        "A": ((2,), "1", True),
        "B": ((3,), "x y", True),
        "C": ((4,), "3", False),
        "D": ((5, 6), "/a:/b", True),
        "G": ((9,), "7", True),
        "I": ((11,), "/a:/b", True),
        "PATH": ((12,), "/c", True),
        "K": ((17,), "10", False),
    }


@pytest.mark.parametrize(
    "text",
    [
        "f() {\n    export A=1\n    export A=2\n}",
        "f () { export A=1; }",
        "function f {\nexport A=1\n}",
        "f()\n{\n  if g; then\n    A=1\n  fi\n}",
        "function f\n    set -gx A 1\nend",
        "function f; set -gx A 1; end",
        "f() {\n    export A=1",
        "alias f='export A=1; export A=2'",
        'alias f "g; set -gx A 1"',
        "alias f='\nexport A=1\n'",
        'echo "to use it: export A=1"; true',
        "cat > job << EOF\nexport A=1\nEOF",
        "cat <<-'END' | g\n\texport A=1\n\tEND",
        "MINE=(\nA=1\n)",
        "(export A=1; g)",
        "X=$(export A=1; g)",
        "#export B=/b:\\\n#A=1",
    ],
)
def test_what_is_no_statement_of_the_script(tmp_path: Path, text: str) -> None:
    """Texts, functions and subshells set nothing in the shell; what comes after them does."""
    file = tmp_path / "rc"
    file.write_text(f"{text}\nexport END=1\n")
    found = [(one.name, one.number) for one in settings_of(file) if one.name not in ("MINE", "X")]
    is_open = text == "f() {\n    export A=1"
    assert found == ([] if is_open else [("END", text.count("\n") + 2)])


def test_a_statement_of_several_lines(tmp_path: Path) -> None:
    """All its lines belong to it: none of them means something alone."""
    file = tmp_path / "rc"
    file.write_text("export A=$(\n  f\n)\nexport B='x\ny'\n# not this one \\\nexport C=/a\\ b\n")
    assert [(one.name, tuple(one.lines), one.alone) for one in settings_of(file)] == [
        ("A", (1, 2, 3), True),
        ("B", (4, 5), True),
        ("C", (7,), True),
    ]


@pytest.mark.parametrize(
    ("line", "exits"),
    [
        ("exit", True),
        ("[ -d /nowhere ] || exit 1", True),
        ("if ! true; then exit 1; fi", True),
        ("case $SHELL in *csh) exit ;; esac", True),
        ("true; or exit 1", True),
        ("{ exit 3; }", True),
        ("# exit", False),
        ("true # or exit", False),
        ("echo type exit to leave", False),
        ("trap clean_up EXIT", False),
        ("trap - exit", False),
        ("my-exit; exit_code=1; exit-now", False),
        ("X=$(gcc --version | awk 'NR==1 {print $NF; exit}')", False),
        ("X=$(cd /nowhere && pwd || exit 1)", False),
        ("X=`cd /nowhere || exit 1`", False),
        ("(cd /nowhere || exit 1)", False),
        ("(cd $(dirname $X) || exit 1)", False),
        ("(\ncd /nowhere || exit 1\n)", False),
        ('python3 -c "import sys; exit(0)"', False),
        ("awk '\n{ print; exit }\n' file", False),
        ("cat << 'END'\nrun; exit\nEND", False),
        ("# don't\nX='a b'; exit", True),
        ('[ "$(id -u)" = 0 ] || exit', True),
        (r"echo it\'s; exit", True),
        ("[ -d /a ] ||\\\n  exit", True),
        ("f() {\n    [ -d /a ] || exit\n}", False),
        ("f() { g; exit; }", False),
        ("f() { g; }; exit", True),
        ("function f\n    g; exit\nend", False),
        ("f() {\n    g\n}\ng; exit", True),
    ],
)
def test_exit_counts_where_it_is_a_command(tmp_path: Path, line: str, exits: bool) -> None:
    file = tmp_path / "script.sh"
    file.write_text(f"export A=1\n{line}\n")
    assert (exit_in(file) is not None) == exits


def test_the_line_that_exits_is_named(tmp_path: Path) -> None:
    file = tmp_path / "script.sh"
    file.write_text("A='\n'\nexport \\\n  B=1\n[ -d /nowhere ] ||\\\n  exit\n")
    assert exit_in(file) == 5


def test_scripts_that_no_package_brought(tmp_path: Path) -> None:
    """Records, which may be large and many, are read once, whatever the scripts are called."""
    records, folder = tmp_path / "conda-meta", tmp_path / "etc/conda/activate.d"
    records.mkdir()
    folder.mkdir(parents=True)
    files = '"lib/python3.12/site-packages/package/module.py",\n' * 100_000
    for number in range(40):
        (folder / f"{number}.sh").write_text("export A=1\n")
        record = f'{{"files": [{files} "etc/conda/activate.d/{number}.sh"]}}'
        (records / f"package-{number % 5}.json").write_text(record)
    (folder / "both.sh").write_text("export A=1\nexit\n")
    (records / "both.json").write_text('{"files": ["etc/conda/activate.d/both.sh"]}')
    (folder / os.fsdecode(b"\xff.sh")).write_text("export A=1\n")
    environment = environment_at(tmp_path)
    start = time.process_time()
    found = {Path(one.file).stem: one for one in scripts_of(environment)}
    assert time.process_time() - start < 0.5
    assert set(found) == {"both", os.fsdecode(b"\xff"), *map(str, range(35))}
    assert (found["both"].exits, found["both"].settings) == (2, ())

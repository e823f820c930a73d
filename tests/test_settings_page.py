"""docs/settings.md: every variable that is read, and every setting with its default."""

from __future__ import annotations

import re
from pathlib import Path

from cudaswitch.settings import SETTINGS

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs/settings.md").read_text(encoding="utf-8")
VARIABLE = re.compile(r"(?<![A-Z_])CUDASWITCH(?:_[A-Z]+)+")


def test_every_variable_is_on_the_page_and_read_somewhere() -> None:
    files = [file for folder in ("cudaswitch", "shims") for file in (ROOT / folder).rglob("*")]
    texts = [
        file.read_text(encoding="utf-8")
        for file in files
        if file.suffix != ".pyc" and file.is_file()
    ]
    assert set(VARIABLE.findall(PAGE)) == set(VARIABLE.findall("\n".join(texts)))


def test_the_table_has_each_setting_with_its_default_and_variable() -> None:
    lines = [line for line in PAGE.splitlines() if line.startswith("| `")]
    rows = [[cell.strip(" `") for cell in line[1:-1].split("|")] for line in lines]
    assert [(name, variable or None) for name, _, _, variable in rows] == [
        (name, setting.variable) for name, setting in SETTINGS.items()
    ]
    for name, _, default, _ in rows:
        known = SETTINGS[name].default
        if known not in (None, ()):
            assert default == str(known).lower(), name

"""`doctor`: every rule finds its own broken situation, and what it prints mends it."""

from __future__ import annotations

from pathlib import Path

import pytest

from cudaswitch.doctor import RULES
from doctoring import CASES, Patient

CODES = [rule.code for rule in RULES]


@pytest.fixture
def patient(tmp_path: Path) -> Patient:
    return Patient.new(tmp_path)


@pytest.mark.parametrize("code", CASES)
def test_found_mended_gone(patient: Patient, code: str) -> None:
    others = CASES[code](patient) or set()
    done = patient.in_shell(code)
    shown = f"{done.stdout}\n{done.stderr}"
    assert "Traceback" not in shown
    assert "internal error" not in shown
    found = patient.findings(1)
    assert {one["code"] for one in found} == {code} | others, f"{found}\n{shown}"
    assert all(found[0][key] for key in ("severity", "title", "evidence", "cause", "fix"))
    left = patient.codes(2)
    fix = (patient.work / "fix").read_text()
    assert code not in left, f"{fix}\n{patient.findings(2)}\n{shown}"
    assert set(left) <= patient.remains, f"{fix}\n{patient.findings(2)}\n{shown}"


def test_every_rule_has_a_case() -> None:
    assert sorted(CASES) == CODES
    assert len(CODES) >= 40
    assert sorted(set(CODES)) == CODES

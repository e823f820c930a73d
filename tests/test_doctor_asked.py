"""`doctor` on what is asked for here and has no answer: what `current` and `exec` refuse."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from checks import refused
from doctoring import Patient
from tools import as_plain_user, console_script


@pytest.fixture
def patient(tmp_path: Path) -> Patient:
    return Patient.new(tmp_path)


def found(patient: Patient) -> dict[str, dict[str, str]]:
    done = patient.home.run("doctor", "--json", **patient.env)
    rows = json.loads(done.stdout)["findings"]
    by_code = {row["code"]: row for row in rows}
    assert len(by_code) == len(rows), rows
    return by_code


def told_as_current_does(patient: Patient) -> dict[str, str]:
    """Return the finding, which is what `current` says."""
    done = patient.home.run("current", **patient.env)
    message = refused(done).removeprefix("cudaswitch: ")
    hint = done.stderr.splitlines()[1].removeprefix("hint: ")
    one = found(patient)["CS079"]
    assert (one["severity"], one["evidence"], one["fix"]) == ("error", message, hint)
    return one


@pytest.mark.parametrize(
    ("text", "fix"),
    [
        ("9.0\n", "cudaswitch install 9.0"),
        ("11.8\n12.4\n", "keep one of them"),
        ("$(id)\n", "for example 10.1"),
        ("auto\n", "activate one"),
    ],
)
@pytest.mark.parametrize("place", [".cuda-version", "global"])
def test_a_file(patient: Patient, place: str, text: str, fix: str) -> None:
    patient.adopt("12.4.131")
    file = {"global": patient.home.store}.get(place, patient.home.path) / place
    file.write_text(text)
    if (place, text) == ("global", "auto\n"):
        assert found(patient) == {}  # it holds in environments alone
        return
    one = told_as_current_does(patient)
    assert fix in one["fix"]
    assert str(file) in one["evidence"]
    # What decides before it has an answer.
    patient.env["CUDASWITCH_VERSION"] = "system"
    assert found(patient) == {}


def test_a_file_that_may_not_be_read(patient: Patient) -> None:
    file = patient.home.path / ".cuda-version"
    file.write_text("12.4\n")
    file.chmod(0)
    done = subprocess.run(
        as_plain_user(console_script(), "doctor", "--json"), cwd=patient.home.path,
        env=patient.home.env | patient.env, stdin=subprocess.DEVNULL, capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    [one] = json.loads(done.stdout)["findings"]
    assert (one["code"], one["fix"]) == ("CS079", f"chmod u+r {file}")
    assert one["evidence"] == f"cannot read `{file}`: Permission denied"


def test_a_variable(patient: Patient) -> None:
    patient.adopt("12.4.131")
    patient.env["CUDASWITCH_VERSION"] = "9.9"
    one = told_as_current_does(patient)
    assert one["fix"] == "cudaswitch install 9.9"
    assert "CUDASWITCH_VERSION" in one["evidence"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_file_of_another_user(patient: Patient) -> None:
    file = patient.home.path / ".cuda-version"
    file.write_text("12.4\n")
    os.chown(file, 12345, 12345)
    assert "CUDASWITCH_VERSION=12.4" in told_as_current_does(patient)["fix"]


def test_one_cause_is_one_finding(patient: Patient) -> None:
    """Where another rule knows more of it: of an environment's pin, of nvidia-smi's number."""
    patient.adopt("12.4.131")
    (patient.home.path / ".cuda-version").write_text("13.0\n")
    assert list(found(patient)) == ["CS058"]
    # Here somebody else decides.
    patient.env["CUDASWITCH_VERSION"] = "9.9"
    assert list(found(patient)) == ["CS058", "CS079"]
    del patient.env["CUDASWITCH_VERSION"]
    prefix = patient.work / "env"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", prefix], check=True)
    patient.run("pin", "12.4", "-p", prefix)
    (prefix / "etc/cudaswitch/pin").write_text("9.0\n")
    patient.env |= {"VIRTUAL_ENV": str(prefix), "PATH": f"{prefix}/bin:{patient.path}"}
    codes = list(found(patient))
    assert "CS075" in codes
    assert "CS079" not in codes


def test_a_toolkit_that_is_gone_names_its_pins(patient: Patient, tmp_path: Path) -> None:
    patient.adopt("11.8.89")
    kit = patient.adopt("12.4.131")
    tree, other, env = tmp_path / "tree", tmp_path / "other", patient.virtualenv()
    for folder in (tree, other):
        folder.mkdir()
    patient.run("pin", "12.4", "--global")
    patient.run("pin", "12.4", "--dir", tree)
    patient.run("pin", "11.8", "--dir", other)
    patient.run("pin", "12.4", "-p", env.prefix)
    shutil.rmtree(kit)
    rows = found(patient)
    gone = rows["CS062"]["evidence"]
    assert gone.startswith("`12.4.131` was adopted, and its folder is gone; pinned by ")
    for pin in (f"{tree}/.cuda-version", str(env.prefix), "you (--global)"):
        assert pin in gone
    assert str(other) not in gone
    assert f"{patient.home.store}/global:1" in rows["CS079"]["evidence"]
    # Another answers the same request.
    patient.adopt("12.4.99")
    assert "--global" not in found(patient)["CS062"]["evidence"]

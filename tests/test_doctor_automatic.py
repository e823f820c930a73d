"""`doctor` about environments pinned to `auto`: what their own packages need is installed."""

from __future__ import annotations

import json
import shutil

import pytest

from doctoring import Patient
from doctoring.patient import OwnEnv


def found(patient: Patient) -> dict[str, dict[str, str]]:
    done = patient.home.run("doctor", "--json", **patient.env)
    return {one["code"]: one for one in json.loads(done.stdout)["findings"]}


def pinned(patient: Patient, request: str) -> str:
    """Pin an environment that any CUDA 12 serves; another one, of CUDA 13, is active."""
    env, other = (OwnEnv(patient.work / name) for name in ("env", "other"))
    env.dist("cupy-cuda12x", "13.0.0")
    other.dist("cupy-cuda13x", "13.6.0")
    patient.activate(other)
    patient.adopt("12.4.131")
    patient.run("alias", "mine", "auto")
    patient.run("pin", request, "-p", env.prefix)
    return str(env.prefix)


@pytest.mark.parametrize("name", ["auto", "mine"])
def test_what_the_environment_needs_is_installed(patient: Patient, name: str) -> None:
    """`install auto` would install what the active environment needs."""
    prefix = pinned(patient, name)
    patient.run("remove", "--force", "12.4.131")
    one = found(patient)["CS075"]
    assert one["evidence"] == f"`{prefix}` needs CUDA 12, which is not installed"
    assert one["fix"] == f"cudaswitch install 12 && cudaswitch pin {name} -p {prefix}"


def test_a_toolkit_that_is_gone_is_replaced(patient: Patient) -> None:
    prefix = pinned(patient, "auto")
    shutil.rmtree(patient.work / "kits")
    rows = found(patient)
    for code in ("CS062", "CS075"):
        fix = rows[code]["fix"]
        assert fix == f"cudaswitch install 12 --force && cudaswitch pin auto -p {prefix}"


def test_nothing_is_installed_for_what_cannot_run_here(patient: Patient) -> None:
    prefix = pinned(patient, "auto")
    patient.env["CUDASWITCH_DRIVER"] = "450.80.02"
    one = found(patient)["CS075"]
    assert "cannot run here: " in one["evidence"]
    assert one["evidence"].endswith("`cupy-cuda11x` 13.0.0 runs here")
    assert one["fix"] == f"cudaswitch resolve -p {prefix}"


def test_a_lost_toolkit_is_not_replaced_for_what_cannot_run_here(patient: Patient) -> None:
    prefix = pinned(patient, "auto")
    shutil.rmtree(patient.work / "kits")
    patient.env["CUDASWITCH_DRIVER"] = "450.80.02"
    rows = found(patient)
    assert rows["CS075"]["fix"] == f"cudaswitch resolve -p {prefix}"
    assert rows["CS062"]["fix"].startswith("cudaswitch remove ")

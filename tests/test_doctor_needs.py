"""What `doctor` proposes for frameworks that cannot run here."""

from __future__ import annotations

from doctoring import CASES, Patient


def test_what_cannot_run_here_is_explained(patient: Patient) -> None:
    """`use auto` and `install auto` refuse what this GPU cannot run."""
    CASES["CS041"](patient)
    patient.gpu("8.9")
    patient.in_shell("none")
    assert {one["code"]: one["fix"] for one in patient.findings(1)}["CS041"] == "cudaswitch resolve"
    pasted = "TypeError: expected str, bytes or os.PathLike object, not NoneType: nvidia.cublas.lib"
    assert patient.told(pasted)["fix"] == "cudaswitch resolve"

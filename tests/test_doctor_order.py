"""The commands of `doctor`, run from top to bottom: a switch comes after all else."""

from __future__ import annotations

from doctoring import Patient


def test_a_switch_keeps_what_it_puts_on_lists(patient: Patient) -> None:
    """A list that is set was worked out before the switch, so it must be set before."""
    kit = patient.adopt("12.4.131")
    (patient.home.path / ".cuda-version").write_text("12.4\n")
    patient.env["LD_LIBRARY_PATH"] = f"{patient.work}/cuda-9.0/lib64:/opt"
    patient.on_path(f"{patient.work}/cuda-9.0/bin")
    patient.run("init", "--install", "bash", "--yes")
    assert patient.run_all() == ["CS005", "CS006", "CS076"]
    assert patient.codes(1) == []
    assert (patient.work / "list").read_text() == f"{kit}/lib64:/opt"


def test_a_switch_keeps_its_cuda_home(patient: Patient) -> None:
    kit = patient.adopt("12.4.131")
    (patient.home.path / ".cuda-version").write_text("12.4\n")
    patient.env["CUDA_PATH"] = str(patient.toolkit(patient.work / "mine", "12.1.105"))
    patient.run("init", "--install", "bash", "--yes")
    assert patient.run_all() == ["CS024", "CS076"]
    assert patient.codes(1) == []
    assert (patient.work / "list").read_text() == f"{kit}/lib64"


def test_a_toolkit_for_the_driver_goes_before_what_a_list_holds(patient: Patient) -> None:
    for version in ("12.4.131", "11.8.89"):
        patient.adopt(version)
    first, second = (f"{patient.work}/kits/{at}" for at in ("12.4.131", "11.8.89"))
    patient.env |= {"CUDASWITCH_DRIVER": "470.57.02", "CUDA_HOME": first}
    patient.env["LD_LIBRARY_PATH"] = f"{first}/lib64:/opt:{first}/lib64"
    patient.on_path(f"{first}/bin")
    assert patient.run_all() == ["CS004", "CS050"]
    assert (patient.work / "list").read_text().startswith(f"{second}/lib64:")


def test_a_command_that_several_findings_share_is_left_to_do_once(patient: Patient) -> None:
    """Stubs in a folder that is gone, and an empty element: `unset` mends all three."""
    patient.env["LD_LIBRARY_PATH"] = "/usr/local/cuda-9.0/lib64/stubs:"
    done = patient.home.run("doctor", "--fix", **patient.env)
    assert done.stdout.count("  fix    unset LD_LIBRARY_PATH") == 3, done.stdout
    assert done.stderr.count("hint: unset LD_LIBRARY_PATH") == 1, done.stderr

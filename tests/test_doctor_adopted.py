"""`doctor` about adopted toolkits, and about toolkits that are laid over them by links."""

from __future__ import annotations

import pytest

import builders
from doctoring import Patient


@pytest.mark.parametrize(
    ("place", "options", "then"),
    [
        ("/usr/local/cuda-12.4", "", ""),
        ("/usr/local/cuda-12.4", "", "PATH=/usr/local/cuda-12.4/bin:$PATH"),
        ("/usr/local/cuda-12.4", "", "CUDACXX=/usr/local/cuda-12.4/bin/nvcc"),
        ("/usr/local/cuda-12.4", "--libraries never", ""),
        ("/usr/lib/nvidia-cuda-toolkit", "", ""),
    ],
)
def test_the_same_files_by_two_names(patient: Patient, place: str, options: str, then: str) -> None:
    """Nothing is wrong if PATH, CUDACXX or the loader's cache leads to the adopted toolkit."""
    folder, inside = place.rsplit("/", 1)
    (patient.work / "etc").mkdir()
    patient.toolkit(patient.work / {"/usr/local": "local", "/usr/lib": "usr-lib"}[folder] / inside)
    (patient.work / "conf/zz-cuda.conf").write_text(f"{place}/lib64\n")
    cudnn = builders.cudnn_archive(patient.work, "8.8+", "8.9.7.29", "12")
    patient.before = f"""
cudaswitch adopt {place}
cudaswitch install '{cudnn}'
eval "$(cudaswitch env 12.4 {options} --shell bash)"
{then}
"""
    done = patient.in_shell("CS025")
    assert "12.4.131+cudnn8.9.7" in done.stdout, done.stderr
    assert patient.findings(1) == [], done.stderr


def test_a_project_is_given_the_library_folder_that_the_toolkit_has(patient: Patient) -> None:
    kit = patient.toolkit(patient.work / "kits/12.4", "12.4.131")
    (kit / "lib64").rename(kit / "lib")
    patient.run("adopt", kit)
    folder = patient.home.path / "project"
    (folder / ".vscode").mkdir(parents=True)
    patient.before = f"cd '{folder}'; export CUDASWITCH_VERSION=12.4"
    patient.before += '; eval "$(cudaswitch env 12.4 --shell bash)"'
    patient.in_shell("CS085")
    assert f"LD_LIBRARY_PATH={kit}/lib\n" in (folder / ".env").read_text()

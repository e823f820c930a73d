"""An environment that a list, a script or a kernel names by a link is that environment."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cudaswitch.doctor.folders import is_inside
from doctoring import CASES, Patient
from doctoring.patient import OwnEnv


@pytest.fixture(params=["list", "environment"])
def linked(patient: Patient, request: pytest.FixtureRequest) -> Linked:
    """Either of the two is named by the link, and the other by its folder."""
    return Linked(patient, request.param == "list")


class Linked:
    """A link to the folder of an environment, for a list or for what is activated."""

    def __init__(self, patient: Patient, in_list: bool) -> None:
        self.patient = patient
        self.real, self.link = patient.work / "env", patient.work / "link"
        self.link.symlink_to("env")
        self.listed = self.link if in_list else self.real
        self.prefix = self.real if in_list else self.link

    def activate(self, *, conda: bool) -> OwnEnv:
        env = self.patient.virtualenv(conda=conda)
        env.prefix = self.prefix
        self.patient.activate(env)
        return env

    def codes(self, *folders: Path | str) -> list[str]:
        self.patient.env["LD_LIBRARY_PATH"] = ":".join(map(str, folders))
        self.patient.in_shell("none")
        return self.patient.codes(1)


def test_condas_libraries_are_not_to_be_listed(linked: Linked) -> None:
    linked.activate(conda=True)
    assert linked.codes(f"{linked.listed}/lib") == ["CS007"]


def test_what_a_framework_is_led_to(linked: Linked) -> None:
    """TensorFlow finds conda's cudatoolkit only by LD_LIBRARY_PATH."""
    env = linked.activate(conda=True)
    linked.patient.lay_library(env.prefix / "lib", "libcudart", "libcudart.so.11.0", "11.2.152")
    linked.patient.lay_library(env.prefix / "lib", "libcudnn", "libcudnn.so.8", "8.1.0")
    env.dist("tensorflow", "2.10.0")
    env.conda("cudatoolkit", "11.2.2", "h0")
    env.conda("cudnn", "8.1.0.77", "h0")
    assert linked.codes(f"{linked.listed}/lib") == []
    text = f"export LD_LIBRARY_PATH={linked.listed}/lib\n"
    env.write("etc/conda/activate.d/env_vars.sh", text)
    assert linked.codes() == []


def test_its_libraries_are_not_those_of_a_second_toolkit(linked: Linked) -> None:
    env = linked.activate(conda=False)
    kit = linked.patient.toolkit(linked.patient.work / "kit", "12.4.131")
    own = env.packages / "nvidia/cuda_runtime/lib"
    linked.patient.lay_library(own, "libcudart", "libcudart.so.12", "12.1.105")
    inside = own.relative_to(env.prefix)
    assert linked.codes(f"{kit}/lib64", linked.listed / inside) == []


def test_its_libraries_come_from_nowhere_else(linked: Linked) -> None:
    CASES["CS040"](linked.patient)
    path = linked.patient.env["PATH"].replace(str(linked.real), str(linked.prefix))
    linked.patient.env |= {"PATH": path, "VIRTUAL_ENV": str(linked.prefix)}
    [bundled] = linked.real.rglob("libnvJitLink.so.12")
    assert linked.codes(linked.listed / bundled.parent.relative_to(linked.real)) == []


def test_a_kernel_starts_it(linked: Linked) -> None:
    linked.patient.adopt("12.4.131")
    linked.activate(conda=False)
    linked.patient.run("pin", "12.4", "-p", linked.prefix)
    linked.patient.env.pop("VIRTUAL_ENV")
    path = linked.patient.home.path / "xdg-data/jupyter/kernels/mine/kernel.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"argv": [f"{linked.listed}/bin/python", "-m", "ipykernel"]}))
    assert linked.codes() == ["CS084"]
    # Its program is a link to that of its base, which is another environment.
    path.write_text(json.dumps({"argv": [f"{linked.patient.work}/other/bin/python"]}))
    (linked.patient.work / "other/bin").mkdir(parents=True)
    (linked.patient.work / "other/bin/python").symlink_to(f"{linked.real}/bin/python")
    assert linked.codes() == []


def test_a_pinned_one_that_is_active_is_one(linked: Linked) -> None:
    linked.patient.adopt("12.4.131")
    linked.activate(conda=False)
    linked.patient.run("pin", "12.4", "-p", linked.listed)
    (linked.real / "etc/cudaswitch/core.fish").unlink()
    path = linked.patient.home.path / "xdg-data/jupyter/kernels/mine/kernel.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"argv": [f"{linked.real}/bin/python", "-m", "ipykernel"]}))
    assert linked.codes() == ["CS072", "CS084", "CS076"]
    (linked.real / "bin/activate").write_text("# of another tool\n")
    assert linked.codes() == ["CS072", "CS074", "CS084"]


def test_what_is_inside_a_folder(tmp_path: Path) -> None:
    """By the names of links that lead to the folder, through it, and into it from elsewhere."""
    (tmp_path / "env/lib").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "link").symlink_to("env")
    (tmp_path / "lib").symlink_to("env/lib")
    (tmp_path / "env/out").symlink_to("../elsewhere")
    env = str(tmp_path / "env")
    inside = ("env", "env/lib", "link/lib", "lib", "lib/x.so", "env/out/x.so")
    assert [at for at in inside if not is_inside(f"{tmp_path}/{at}", env)] == []
    assert is_inside(f"{env}/lib", f"{tmp_path}/link")
    assert not any(is_inside(f"{tmp_path}/{at}", env) for at in ("elsewhere/x.so", "env2/lib"))

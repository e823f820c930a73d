"""Where XLA finds libdevice, and where a toolkit has to tell it, in every shell."""

from __future__ import annotations

from pathlib import Path

import pytest

from homes import HOSTILE_FOLDER
from shells.conda import conda_prefix
from shells.conftest import make_person
from shells.driver import BASH, FISH, NU, TCSH, XONSH, ZSH, Shell
from shells.kits import Kit, Person

SITE = "lib/python3.11/site-packages"
LOADED = pytest.mark.parametrize("shell", (BASH, ZSH, FISH, TCSH, NU, XONSH), ids=str)


@pytest.fixture(scope="module")
def person(tmp_path_factory: pytest.TempPathFactory) -> Person:
    person = make_person(tmp_path_factory.mktemp("person") / HOSTILE_FOLDER)
    (person.kits[0].home / "nvvm/libdevice").mkdir(parents=True)
    return person


@pytest.fixture
def kit(person: Person) -> Kit:
    return person.kits[0]


@LOADED
def test_an_environment_with_libdevice_of_its_own(
    shell: Shell, person: Person, tmp_path: Path
) -> None:
    """XLA is told nothing if it finds libdevice itself: TensorFlow >= 2.19 also in the prefix."""
    beside = (
        ("nvidia/cuda_nvcc/", "-2.10.0", True),
        ("nvidia/cu13/", "-2.20.0", True),
        ("jaxlib/cuda/", "-2.18.1", True),
        ("../../../", "-2.19.0", True),
        ("../../../", "-2.20.0rc0", True),
        ("../../../", "-2.18.1", False),
        ("../../../", "-2.9.3", False),
        ("../../../", "_gpu-1.15.5", False),
        ("../../../", "_estimator-2.15.0", True),
    )
    steps = []
    for name, (place, version, _) in enumerate(beside):
        site = conda_prefix(tmp_path / str(name)) / SITE
        (site / "tensorflow").mkdir(parents=True)
        (site / f"tensorflow{version}.dist-info").mkdir()
        (site / place / "nvvm/libdevice").mkdir(parents=True)
        enter = shell.set("CONDA_PREFIX", str(tmp_path / str(name)))
        steps.append(f"{enter}\n{person.use(shell, '10.1')}")
    result = person.play(shell, *steps).check()
    for number, row in enumerate(beside, 1):
        assert ("XLA_FLAGS" in result.snaps[str(number)]) is not row[2], row


@pytest.mark.parametrize("shell", (BASH, ZSH, FISH), ids=str)
def test_a_hook_sees_a_framework_that_looks_for_libdevice(
    shell: Shell, person: Person, kit: Kit, tmp_path: Path
) -> None:
    framework = conda_prefix(tmp_path / "env [x]")
    (framework / SITE / "jaxlib").mkdir(parents=True)
    person.pin("10.1", framework)
    hook = framework / f"etc/conda/activate.d/~~cudaswitch.{shell.suffix}"
    enter = f"{shell.set('CONDA_PREFIX', str(framework))}\n{shell.source(hook)}"
    result = Person(person.home, person.kits, {}).play(shell, enter).check()
    assert result.snaps["1"]["XLA_FLAGS"] == kit.data_dir


@pytest.mark.parametrize("shell", (BASH, ZSH, FISH), ids=str)
def test_a_framework_that_was_installed_is_seen_by_the_next_use(
    shell: Shell, person: Person, kit: Kit, tmp_path: Path
) -> None:
    site = conda_prefix(tmp_path / "env") / SITE
    steps = ["cudaswitch use 10.1", f"mkdir -p {shell.quote(str(site / 'jaxlib'))}"]
    result = person.play(
        shell, *steps, steps[0], "cudaswitch off", CONDA_PREFIX=str(site.parents[2])
    ).check()
    assert "XLA_FLAGS" not in result.snaps["2"]
    assert result.snaps["3"]["XLA_FLAGS"] == kit.data_dir
    assert "XLA_FLAGS" not in result.snaps["4"]

"""What a shim asks Python for it asks once: the answer is kept as long as it holds."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from checks import succeeded
from cudaswitch import configuring
from cudaswitch.adopting import adopt
from cudaswitch.changing import own_store
from cudaswitch.pins import refresh
from cudaswitch.store import find
from cudaswitch.versions import Version, parse_request
from homes import Home
from made_environments import Env
from shim_places import Place, echoing, environment
from tools import root_only

RANGES = [">=11,<12", "!=12.4", "==11.8", "<=11", ">11.7,<12,!=11.9", ">=11.8,<12+cudnnnone"]


def called(place: Place, **variables: str) -> tuple[str, bool]:
    """Call nvcc's shim; return whose nvcc it became, and whether Python was asked."""
    place.asked.unlink(missing_ok=True)
    done = place.call("nvcc", **variables)
    assert done.returncode == 0, done.stderr
    return done.stdout.removesuffix("/bin/nvcc\0"), place.python_was_asked


@pytest.mark.parametrize("asks", ["CUDASWITCH_VERSION", ".cuda-version", "pin", "global"])
@pytest.mark.parametrize("text", RANGES)
def test_a_range_is_asked_for_once(place: Place, text: str, asks: str, tmp_path: Path) -> None:
    variables = {}
    if asks == "pin":
        variables["CONDA_PREFIX"] = str(environment(tmp_path / "env", "C", text))
    elif asks == "CUDASWITCH_VERSION":
        variables[asks] = text
    else:
        (place.home.path if asks[0] == "." else place.home.store).joinpath(asks).write_text(text)
    assert called(place, **variables) == (str(place.old), True)
    assert called(place, **variables) == (str(place.old), False)


@pytest.mark.parametrize("text", ["cuda >=11, <12\n", "cuda=>=11,<12", "cuda = >=11, <12 # why"])
def test_however_it_is_written(place: Place, text: str) -> None:
    (place.home.path / ".cuda-version").write_text(text)
    assert [called(place)[1] for _ in range(2)] == [True, False]


def test_its_answer_follows_what_is_installed(place: Place, tmp_path: Path) -> None:
    variables = {"CUDASWITCH_VERSION": ">=11.2,<12.9"}
    assert called(place, **variables) == (str(place.new), True)
    store, newer = own_store(), tmp_path / "cuda-12.8"
    echoing(newer / "bin" / "nvcc")
    adopt(store, newer, Version("12.8"))
    assert called(place, **variables) == (str(newer), False)
    store.remove(find(parse_request("12.8")))
    assert called(place, **variables) == (str(place.new), False)
    # A toolkit whose folder just disappeared answers nothing, and may come back.
    place.new.rename(place.new.with_name("away"))
    for _ in range(2):
        assert called(place, **variables) == (str(place.old), True)
        store.settle()
    store.remove(next(kit for kit in store.toolkits() if kit.path == str(place.new)))
    assert [called(place, **variables) for _ in range(2)] == [
        (str(place.old), True),
        (str(place.old), False),
    ]


def test_it_changes_nothing_that_shells_look_at(place: Place) -> None:
    """A new answer for shims changes nothing that shells look at, or they would ask all again."""
    told = place.home.store / "requests" / ".fingerprint"
    before = told.read_bytes()
    own_store().remember(parse_request(">=11"))
    assert (place.home.store / "requests" / ">=11").exists()
    assert told.read_bytes() == before


def test_the_other_answers_stay_as_they_are(place: Place) -> None:
    """Answers for others stay as they are: who asks may see another gcc, or miss a disk."""
    folder, store = place.home.store / "requests", own_store()
    told = f"{place.old}:cc=/usr/bin/g++-11\n"
    for name in ("11.8", "11.8+cudnnnone"):
        (folder / name).write_text(told)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    store.remember(parse_request("<12"))
    assert (folder / "<12").read_text() == told
    place.new.rename(place.new.with_name("away"))
    store.remember(parse_request(">=11"))
    after = {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "<12"}
    assert after == before


def test_no_store_comes_of_a_question(home: Home, tmp_path: Path) -> None:
    """A question that shared stores alone answer makes no store of one's own."""
    kit = tmp_path / "cuda-12.4"
    echoing(kit / "bin" / "nvcc")
    shared = tmp_path / "shared"
    lent = {"CUDASWITCH_STORES": str(shared)}
    succeeded(home.run("adopt", kit, "--as", "12.4", CUDASWITCH_HOME=str(shared)))
    assert succeeded(home.run("want", "--", ">=12", **lent)) == [str(kit)]
    assert not home.store.exists()


def test_ever_new_ones_do_not_pile_up(place: Place) -> None:
    store, folder = own_store(), place.home.store / "requests"
    for number in range(120):
        store.remember(parse_request(f">=11,!=10.{number}"))
        assert len(list(folder.glob("[<>=!]*"))) <= 50
    assert (folder / ">=11,!=10.119").exists()


def test_libraries_of_the_settings(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """A shim sets no libraries; for `always` it keeps no answer, as the command must warn."""
    variables = {"CUDASWITCH_VERSION": ">=11,<12"}
    called(place, **variables)
    monkeypatch.setenv("XDG_CONFIG_HOME", place.home.env["XDG_CONFIG_HOME"])
    for mode, asks in (("never", False), ("always", True)):
        configuring.change("libraries", mode)
        own_store().settle()
        for _ in range(2):
            assert called(place, **variables) == (str(place.old), asks)


@root_only
def test_nothing_of_root_is_left_in_a_persons_store(place: Place) -> None:
    os.chown(place.home.store, 1000, 1000)
    own_store().remember(parse_request(">=11,<12"))
    assert not (place.home.store / "requests" / ">=11,<12").exists()


@pytest.mark.parametrize("asks", ["CUDASWITCH_VERSION", ".cuda-version", "pin"])
@pytest.mark.parametrize("kind", ["C", "V"])
def test_auto_is_asked_for_once(place: Place, kind: str, asks: str, tmp_path: Path) -> None:
    env = Env(environment(tmp_path / "env", kind, "auto\n" if asks == "pin" else None))
    env.dist("cupy-cuda11x", "11.0.0")
    name = {"C": "CONDA_PREFIX", "V": "VIRTUAL_ENV"}[kind]
    variables = {name: str(env.prefix), "PATH": f"{env.prefix}/bin:{place.home.env['PATH']}"}
    if asks == "CUDASWITCH_VERSION":
        variables[asks] = "auto"
    elif asks == ".cuda-version":
        (place.home.path / asks).write_text("auto\n")
    for was_asked in (True, False):
        assert called(place, **variables) == (str(place.old), was_asked)
    env.dist("cupy-cuda12x", "12.0.0")
    shutil.rmtree(next(env.prefix.rglob("cupy_cuda11x-*")))
    for was_asked in (True, False):
        assert called(place, **variables) == (str(place.new), was_asked)


def test_auto_that_needs_nothing_is_python_s_to_answer(place: Place, tmp_path: Path) -> None:
    """`auto` that needs nothing is left to Python each time: the kept answer hides a refusal."""
    system = echoing(tmp_path / "system" / "nvcc")
    env = environment(tmp_path / "env", "C", "auto\n")
    variables = {"CONDA_PREFIX": str(env)}
    variables["PATH"] = f"{env}/bin:{system.parent}:{place.home.env['PATH']}"
    for _ in range(2):
        place.asked.unlink(missing_ok=True)
        done = place.call("nvcc", **variables)
        assert (done.returncode, done.stdout) == (0, f"{system}\0"), done.stderr
        assert place.python_was_asked


@pytest.fixture
def shared(place: Place, tmp_path: Path) -> Path:
    """Another user's store, with 12.6."""
    folder = tmp_path / "shared"
    kit = echoing(tmp_path / "cuda-12.6" / "bin" / "nvcc").parents[1]
    lends(place, folder, kit, "12.6")
    return folder


def lends(place: Place, folder: Path, kit: Path, version: str) -> None:
    done = place.home.run("adopt", kit, "--as", version, CUDASWITCH_HOME=str(folder))
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("text", ["12.6", ">=12.5,<13", "<13,>12.5"])
@pytest.mark.parametrize("asks", ["CUDASWITCH_VERSION", ".cuda-version", "pin"])
def test_what_is_lent_is_asked_for_once(
    place: Place, shared: Path, text: str, asks: str, tmp_path: Path
) -> None:
    """A lent toolkit is asked for once, until the lending store, one's own or the list changes."""
    variables = {"CUDASWITCH_STORES": f"{tmp_path}/none:{shared}"}
    if asks == "pin":
        variables["CONDA_PREFIX"] = str(environment(tmp_path / "env", "C", text))
    elif asks == "CUDASWITCH_VERSION":
        variables[asks] = text
    else:
        (place.home.path / asks).write_text(f"{text}\nlibraries never\ngpus 0\n")
    kit = str(tmp_path / "cuda-12.6")
    assert [called(place, **variables) for _ in range(2)] == [(kit, True), (kit, False)]
    newer = echoing(tmp_path / "cuda-12.6.1" / "bin" / "nvcc").parents[1]
    lends(place, shared, newer, "12.6.1")
    expected = kit if text == "12.6" else str(newer)
    assert [called(place, **variables) for _ in range(2)] == [(expected, True), (expected, False)]
    own = echoing(tmp_path / "own" / "bin" / "nvcc").parents[1]
    adopt(own_store(), own, Version("12.6"))
    refresh()
    assert called(place, **variables)[0] == str(own)
    own_store().remove(find(parse_request("12.6")))
    refresh()
    assert [called(place, **variables)[1] for _ in range(2)] == [True, False]
    variables["CUDASWITCH_STORES"] = str(shared)
    assert [called(place, **variables) for _ in range(2)] == [(expected, True), (expected, False)]


def test_what_is_lent_may_be_adopted_elsewhere(place: Place, shared: Path, tmp_path: Path) -> None:
    variables = {"CUDASWITCH_STORES": str(shared), "CUDASWITCH_VERSION": "12.6"}
    assert called(place, **variables) == (str(tmp_path / "cuda-12.6"), True)
    other = echoing(tmp_path / "other" / "bin" / "nvcc").parents[1]
    succeeded(place.home.run("remove", "12.6", CUDASWITCH_HOME=str(shared)))
    lends(place, shared, other, "12.6")
    expected = str(other)
    assert [called(place, **variables) for _ in range(2)] == [(expected, True), (expected, False)]


def test_stores_of_the_settings_lend_too(
    place: Place, shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", place.home.env["XDG_CONFIG_HOME"])
    configuring.change("stores", (str(shared),))
    own_store().publish_anew()
    variables = {"CUDASWITCH_VERSION": "12.6"}
    kit = str(shared.parent / "cuda-12.6")
    assert [called(place, **variables) for _ in range(2)] == [(kit, True), (kit, False)]
    shutil.rmtree(kit)
    done = place.call("nvcc", **variables)
    assert (done.returncode, done.stdout) == (1, "")


def test_what_is_lent_does_not_pile_up(place: Place, shared: Path) -> None:
    folder = place.home.store / "lent"
    for number in range(60):
        called(place, CUDASWITCH_STORES=str(shared), CUDASWITCH_VERSION=f">12.5,!=10.{number}")
        assert len(list(folder.iterdir())) <= 50

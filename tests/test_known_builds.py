"""Every published build whose answer is known gets that answer, or is listed as left out."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from cudaswitch.compat.architectures import architectures, gpu_name
from cudaswitch.compat.compilers import host_compilers
from cudaswitch.compat.cudnn import unsupported_cuda
from cudaswitch.compat.drivers import corresponding, required
from cudaswitch.versions import Version
from made_environments import SITE, WINDOWS_SITE, Env

KNOWN = json.loads(Path(__file__).with_name("known_builds.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("section", sorted({case["of"] for case in KNOWN["cases"]}))
def test_known_builds_are_answered(tmp_path, section):
    wrong = []
    for number, case in enumerate(case for case in KNOWN["cases"] if case["of"] == section):
        windows = case.get("os") == "win"
        env = Env(tmp_path / str(number), WINDOWS_SITE if windows else SITE)
        if "conda" in case:
            name, version, build, depends = case["conda"]
            env.conda(name, version, build, *depends)
        else:
            env.dist(case["dist"], case["version"], *case.get("requires", ()))
        for path, text in case.get("files", {}).items():
            env.file(path, text)
        answer = env.resolve(driver="700.1")
        if (answer.cuda, answer.cudnn) != (case["cuda"], case["cudnn"]):
            wrong.append((case, answer.cuda, answer.cudnn))
    assert not wrong


def _drivers(row):
    listed = {os: corresponding(Version(row["cuda"]), os) for os in ("linux", "win")}
    return all(
        row[os] is None or (found and found.on(os) == Version(row[os]))
        for os, found in listed.items()
    )


def _bounds(row):
    release = Version(f"{row['cuda']}.1")
    return all(required(release, os).on(os) == Version(row[os]) for os in ("linux", "win"))


def _architectures(row):
    (found,) = architectures(Version(row["cuda"]))
    return (found.min_cc.text, found.max_cc.text, list(found.sm)) == (
        row["min_cc"],
        row["max_cc"],
        row["sm"],
    )


def _first_and_last(row):
    """Compare a row's first and last release with the table, which begins with 7.0."""
    number = int(row["cc"].replace(".", ""))
    listed = [it for major in range(7, 14) for it in architectures(Version(str(major)))]
    having = sorted(it.cuda for it in listed if number in it.sm)
    newest = max(it.cuda for it in listed)
    first = max(Version(row["first"]), Version("7.0"))
    return (having[0], having[-1]) == (first, Version(row["last"]) if row["last"] else newest)


def _names(row):
    return row["examples"] in gpu_name(Version(row["cc"]))


def _cudnn(row):
    cudnn = Version(row["cudnn"])
    listed = [unsupported_cuda(cudnn, Version(cuda)) for cuda in row["cuda"]]
    refused = [unsupported_cuda(cudnn, Version(cuda)) for cuda in row["unsupported"]]
    return not any(listed) and all(refused)


def _compilers(row):
    found = host_compilers(Version(row["cuda"]))
    return found is not None and found.gcc_max == row["gcc_max"]


@pytest.mark.parametrize(
    ("section", "agrees"),
    [
        ("Drivers that came with a release", _drivers),
        ("Drivers that run a major", _bounds),
        ("Architectures of a release", _architectures),
        ("Architectures, first and last release", _first_and_last),
        ("Architectures, names of GPUs", _names),
        ("cuDNN, support matrices", _cudnn),
        ("Host compilers", _compilers),
    ],
)
def test_what_is_known_of_machines_is_answered(section, agrees):
    rows = [row for row in KNOWN["machine"] if row["of"] == section]
    assert rows
    assert [row for row in rows if not agrees(row)] == []


def test_every_row_of_the_facts_is_answered_or_left_out_with_a_reason():
    served = Counter(case["of"] for case in KNOWN["cases"] + KNOWN["machine"])
    left = Counter(row["of"] for row in KNOWN["left_out"])
    assert set(served) | set(left) == set(KNOWN["rows"])
    for section, rows in KNOWN["rows"].items():
        # A row can stand for several builds, never for none.
        assert served[section] + left[section] >= rows > 0, section
    assert all(row["why"].strip() for row in KNOWN["left_out"])
    assert len(KNOWN["cases"]) >= 700

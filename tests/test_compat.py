"""The data files: every row cites its source, every version parses, the lookups hold."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from cudaswitch.compat.architectures import architectures, gpu_name
from cudaswitch.compat.carriers import carried_by
from cudaswitch.compat.compilers import Bounds, glibc_limit, host_compilers
from cudaswitch.compat.cudnn import (
    built_for,
    first_without,
    spelled_for,
    unsupported_cuda,
    unsupported_gpus,
)
from cudaswitch.compat.drivers import corresponding, newest_served, required
from cudaswitch.compat.frameworks import frameworks
from cudaswitch.compat.sonames import differing, releases_with, soname
from cudaswitch.compat.tables import DATA, literal_start, read_table
from cudaswitch.versions import Version

CONFIDENCES = ("quoted", "secondary")
TABLES = sorted(path.relative_to(DATA).with_suffix("").as_posix() for path in DATA.rglob("*.json"))
VERSIONS = {"version", "cuda", "cudnn", "cuda_min", "min_cc", "max_cc", "cc_min", "cc", "linux"}
VERSIONS |= {"win", "since", "before", "cuda_max", "glibc_min", "oldest", "newest"}


def rows(table):
    data = read_table(table)
    lists = [value for value in data.values() if isinstance(value, list)]
    everything = [row for rows in lists for row in rows]
    return [row for row in everything if isinstance(row, dict) and "read" not in row]


@pytest.mark.parametrize("table", TABLES)
def test_every_row_cites_a_source_that_the_file_names(table):
    sources = read_table(table)["sources"]
    assert rows(table)
    for row in rows(table):
        assert row["confidence"] in CONFIDENCES, row
        assert sources[row["source"]].strip(), row
    alone = ("prefix_by_path", "cudnn_inside", "links", "takes")
    for rule in map(read_table(table).get, alone):
        assert rule is None or (rule["source"] in sources and rule["confidence"] in CONFIDENCES)


@pytest.mark.parametrize("table", TABLES)
def test_every_version_parses(table):
    for row in rows(table):
        for key in VERSIONS & row.keys():
            values = row[key] if isinstance(row[key], list) else [row[key]]
            for value in values:
                assert value is None or Version(value), row


@pytest.mark.parametrize("table", TABLES)
def test_one_row_stands_on_one_line(table):
    text = (DATA / f"{table}.json").read_text(encoding="utf-8")
    assert text.count('"confidence"') <= len(text.splitlines())
    assert not re.search(r'"confidence".*"confidence"', text)


@pytest.mark.parametrize("name", sorted(frameworks()))
def test_a_framework_is_named_like_its_file_and_its_patterns_compile(name):
    framework = frameworks()[name]
    assert framework.name == name
    assert framework.readers
    patterns = [*framework.dists, *(rule.dist for rule in framework.cpu_builds)]
    patterns += [p for reader in framework.readers for f in reader.fields for p in (f.key, f.match)]
    for pattern in patterns:
        re.compile(pattern)


def test_what_a_pattern_of_names_starts_with_is_plain():
    patterns = [pattern for framework in frameworks().values() for pattern in framework.dists]
    patterns += [row["name"] for row in rows("carriers")]
    for pattern in patterns:
        start = literal_start(pattern)
        assert start, pattern
        # A quantifier there would make the last plain character optional, `|` all of it.
        assert pattern[len(start) : len(start) + 1] not in tuple("?*+{"), pattern
        depth = 0
        for char in pattern:
            depth += {"(": 1, ")": -1}.get(char, 0)
            assert char != "|" or depth, pattern


@pytest.mark.parametrize("name", sorted(frameworks()))
def test_who_a_framework_follows_is_known(name):
    assert frameworks()[name].follows in (None, "environment", *frameworks())


@pytest.mark.parametrize(
    ("name", "dist", "rank"),
    [
        ("tensorflow", "tensorflow-gpu", 0),
        ("tensorflow", "tensorflow", 1),
        ("tensorflow", "tensorflow-hub", None),
        ("cupy", "cupy-cuda12x", 0),
        ("cupy", "cupy-cuda12y", None),
        ("torch", "torchvision", None),
    ],
)
def test_how_telling_a_name_is(name, dist, rank):
    assert frameworks()[name].rank(dist) == rank


def test_a_release_has_one_default_build_on_each_system():
    defaults = Counter(
        (name, build.version.text, system)
        for name, framework in frameworks().items()
        for build in framework.builds
        for system in ("linux", "win")
        if build.default and build.os in (None, system)
    )
    assert {name for name, _, _ in defaults} >= {"tensorflow", "torch"}
    assert set(defaults.values()) == {1}


@pytest.mark.parametrize(
    ("library", "cuda", "name"),
    [
        ("cudart", "9.0.176", "libcudart.so.9.0"),
        ("cudart", "10.2", "libcudart.so.10.2"),
        ("cudart", "10", None),
        ("cudart", "11", "libcudart.so.11.0"),
        ("cudart", "11.8.0", "libcudart.so.11.0"),
        ("cudart", "12.4.1", "libcudart.so.12"),
        ("cudart", "13", "libcudart.so.13"),
        ("cublas", "10.0", "libcublas.so.10.0"),
        ("cublas", "10.1.243", "libcublas.so.10"),
        ("cusolver", "11.0.3", "libcusolver.so.10"),
        ("cusolver", "11.1", "libcusolver.so.11"),
        ("cusolver", "11", None),
        ("cusolver", "12", "libcusolver.so.11"),
        ("nvrtc", "11.1.1", "libnvrtc.so.11.1"),
        ("nvrtc", "11.7", "libnvrtc.so.11.2"),
        ("nvrtc", "12.4", "libnvrtc.so.12"),
        ("nvToolsExt", "8.0.61", "libnvToolsExt.so.1"),
        ("nvToolsExt", "10.1", "libnvToolsExt.so.1"),
        ("nvToolsExt", "12.0.1", "libnvToolsExt.so.1"),
        ("nvJitLink", "12.0.1", "libnvJitLink.so.12"),
        ("nvJitLink", "12", "libnvJitLink.so.12"),
        ("nvJitLink", "11.8.0", None),
    ],
)
def test_the_name_of_a_library(library, cuda, name):
    assert soname(library, Version(cuda)) == name
    if name:
        number = name.partition(".so.")[2]
        near = releases_with(library, number)
        assert any(Version(cuda).starts_with(it) or it.starts_with(Version(cuda)) for it in near)


def test_the_toolkits_that_one_built_for_none_takes():
    takes = frameworks()["numba"].takes
    taken = [
        it for it in ("11.1.1", "11.2", "12.0", "12.9.1", "13.0") if takes.accepts(Version(it))
    ]
    assert taken == ["11.2", "12.0", "12.9.1"]
    assert str(takes) == "from 11.2 to 12"


def test_libraries_that_another_release_has_under_another_name():
    links = ("cusolver", "nvrtc")
    assert differing(links, Version("11.1"), Version("11.8")) == "libnvrtc.so.11.1"
    assert differing((), Version("11.1"), Version("11.8")) is None
    assert differing((), Version("10.1"), Version("10.2")) == "libcudart.so.10.1"
    assert differing(links, Version("10"), Version("10.1")) is None


def test_the_libraries_that_a_framework_is_bound_by_are_in_the_table():
    named = read_table("sonames")["rows"]
    known = {library for row in named for library in row["libraries"]}
    bound = {it for one in frameworks().values() if one.links for it in one.links.libraries}
    assert bound
    assert bound <= known
    for row in named:
        for releases in row["sonames"].values():
            assert releases == [str(one) for one in sorted(map(Version, releases))]


@pytest.mark.parametrize(
    ("cuda", "system", "driver"),
    [
        ("8.0.61", "linux", "375.26"),
        ("9.0", "linux", "384.81"),
        ("9.2", "linux", "396.26"),
        ("9.2.148", "linux", "396.37"),
        ("10.0", "linux", "410.48"),
        ("10.1", "linux", "418.39"),
        ("10.1.243", "linux", "418.39"),
        ("10.1", "win", "418.96"),
        ("10.2", "linux", "440.33"),
        ("11.0", "linux", "450.51.05"),
        ("11.1", "linux", "450.80.02"),
        ("11.8", "linux", "450.80.02"),
        ("11.8", "win", "452.39"),
        ("11", "linux", "450.80.02"),
        ("12.0", "linux", "525.60.13"),
        ("12.9.1", "linux", "525.60.13"),
        ("12.4", "win", "527.41"),
        ("13.0", "linux", "580.65.06"),
        ("13.4", "linux", "580.65.06"),
        ("13.0", "win", "580"),
    ],
)
def test_the_driver_that_runs_a_cuda(cuda, system, driver):
    assert required(Version(cuda), system).on(system).text == driver


def test_the_driver_that_came_with_a_release():
    assert corresponding(Version("12.4"), "linux").linux == Version("550.54.14")
    assert corresponding(Version("12.4.131"), "linux").linux == Version("550.54.14")
    assert corresponding(Version("14.0"), "linux") is None
    assert required(Version("14.0"), "linux") is None


@pytest.mark.parametrize(
    ("driver", "cuda"),
    [("470.57.02", "11.4"), ("418.39", "10.1"), ("535.104.05", "12.2"), ("580.65.06", "13.0")],
)
def test_the_number_that_nvidia_smi_prints(driver, cuda):
    assert newest_served(Version(driver), "linux").cuda.minor == cuda
    assert newest_served(Version("300.1"), "linux") is None


def test_architectures_of_a_release_and_of_a_major():
    assert architectures(Version("13.0.2"))[0].min_cc == Version("7.5")
    assert {str(row.cuda) for row in architectures(Version("10"))} == {"10.0", "10.1", "10.2"}
    assert architectures(Version("12.7")) == []
    assert "V100" in gpu_name(Version("7.0"))
    assert gpu_name(Version("99.0")) == "compute capability 99.0"


@pytest.mark.parametrize(
    ("least", "most", "spelled"),
    [(None, 14, "up to 14"), (6, 11, "6 to 11"), (3, None, "3 or newer"), (None, None, "any")],
)
def test_a_range_of_compilers_has_one_spelling(least, most, spelled):
    bounds = Bounds(least, most, None, None, "a header")
    assert bounds.range_of("gcc") == spelled


@pytest.mark.parametrize(
    ("cuda", "gcc", "accepted"),
    [
        ("10.1", 8, True),
        ("10.1", 9, False),
        ("10.1", 4, False),
        ("11.8", 11, True),
        ("11.8", 12, False),
        ("13.4", 16, True),
    ],
)
def test_the_gcc_that_nvcc_accepts(cuda, gcc, accepted):
    assert host_compilers(Version(cuda)).accepts("gcc", gcc) is accepted


@pytest.mark.parametrize(
    ("cuda", "glibc", "compiles"),
    [
        ("12.9.1", "2.36", None),
        ("12.9.1", "2.41", "13.0 does"),
        ("12.9.1", "2.43", "13.2 does"),
        ("13.0.2", "2.41", None),
        ("13.0.2", "2.42", "13.2 does"),
        ("13.1.0", "2.43", "13.2 does"),
        ("13.2.0", "2.43", None),
    ],
)
def test_the_glibc_that_old_headers_cannot_meet(cuda, glibc, compiles):
    limit = glibc_limit(Version(cuda), Version(glibc))
    assert (limit and limit.text.rpartition("; ")[2]) == compiles


def test_cudnn_is_for_some_cuda_releases():
    assert unsupported_cuda(Version("7.6.5.32"), Version("9.1"))
    assert not unsupported_cuda(Version("7.6.5.32"), Version("10.2"))
    assert unsupported_cuda(Version("7.6.3.30"), Version("10.2.89"))
    assert unsupported_cuda(Version("9.17.0"), Version("11.8"))
    assert not unsupported_cuda(Version("8.9.6.50"), Version("12.4"))
    assert not unsupported_cuda(Version("7.3.0"), Version("9.0"))


@pytest.mark.parametrize(
    ("cudnn", "named", "served"),
    [
        # Of 8.0.5, there is one archive for 11.0 and one for 11.1.
        ("8.0.5.39", "11.1", "11.1"),
        ("8.2.1.32", "10.2", "10.2"),
        ("8.2.1.32", "11.3", "11"),
        ("8.4.1.50", "11.6", "11"),
        ("8.6.0.163", "11", "11"),
    ],
)
def test_which_cuda_an_archive_of_cudnn_is_for(cudnn, named, served):
    assert built_for(Version(cudnn), named) == served


def test_cudnn_917_leaves_volta():
    for cudnn, oldest in (("9.17.1.4", "7.5"), ("9.24.0.43", "7.5"), ("9.10.2.21", "5.0")):
        assert unsupported_gpus(Version(cudnn), [Version("3.7")]).cc_min == Version(oldest)
        assert unsupported_gpus(Version(cudnn), [Version(oldest)]) is None


@pytest.mark.parametrize(
    ("cudnn", "cuda", "gpu", "request_"),
    [
        ("8.6", "11.8", None, "8"),
        ("8.6", "11.8", "8.6", "8"),
        ("8.9", "12.2", None, "8.9"),
        ("9.0", "12", None, "9"),
        ("9.0", "12", "7.0", "9.10"),
        ("9.12.0.46", "13", None, "9.12"),
        ("9.99", "13.0", None, "9.99"),
        ("8.1", "11.2", None, "8.1"),
        ("7.4", "10.0", None, "7"),
        ("7.6.5", "10.1", None, "7.6"),
        # Nothing that NVIDIA's index has serves a K80.
        ("8.6", "11.8", "3.7", "8.6"),
        ("8", "10.2", "3.7", "8.4"),
    ],
)
def test_the_cudnn_that_is_asked_for_is_one_that_its_source_has(cudnn, cuda, gpu, request_):
    """NVIDIA's index begins with 8.9.4, conda's channels have no 7.4, and PyPI has all of 13's."""
    gpus = [Version(gpu)] if gpu else []
    assert spelled_for(Version(cudnn), Version(cuda), gpus) == request_


def test_cudnn_89_leaves_kepler():
    """Releases before it list 3.0 with CUDA 10 and 3.5 with 11, so a bare major serves both."""
    for cudnn in ("8.9.7", "8.9.1"):
        assert unsupported_gpus(Version(cudnn), [Version("3.7")]).cc_min == Version("5.0")
    for cudnn in ("8", "8.0", "8.0.5", "8.2.4", "8.6.0", "7"):
        assert unsupported_gpus(Version(cudnn), [Version("3.7")]) is None
    assert first_without(Version("8"), [Version("3.7")]) == Version("8.6")
    assert first_without(Version("8"), [Version("3.0")]) == Version("8.3")


@pytest.mark.parametrize(
    ("kind", "name", "component", "major"),
    [
        ("dist", "nvidia-cuda-runtime-cu12", "cuda", "12"),
        ("dist", "nvidia-cuda-runtime", "cuda", None),
        ("dist", "nvidia-cudnn-cu13", "cudnn", "13"),
        ("conda", "cudatoolkit", "cuda", None),
        ("conda", "cudnn", "cudnn", None),
    ],
)
def test_packages_that_carry_cuda(kind, name, component, major):
    carrier, found = carried_by(kind, name)
    assert (carrier.component, found) == (component, major)
    assert carried_by(kind, f"{name}-docs") is None


def test_rows_of_a_release():
    def versions(name, release):
        return [
            build.version.text for build in frameworks()[name].builds_of(Version(release), "linux")
        ]

    assert versions("tensorflow", "2.1.4") == ["2.1"]
    assert set(versions("torch", "1.12.9")) == {"1.12.0", "1.12.1"}
    assert versions("torch", "1.12.9")[0] == "1.12.1"
    assert versions("torch", "3.0") == []
    assert versions("jax", "0.1.31") == []
    assert versions("jax", "0.4.20")[0] == "0.4.17"
    assert all(Version(text) <= Version("0.4.20") for text in versions("jax", "0.4.20"))

"""`cudaswitch compat`: the tables for users and as JSON."""

from __future__ import annotations

import json

import pytest

from checks import refused, succeeded
from homes import Home


def test_releases_of_cuda(home: Home) -> None:
    titles, *rows = succeeded(home.run("compat"))
    assert titles.split()[:3] == ["CUDA", "driver", "came"]
    table = {row.split()[0]: row.split() for row in rows}
    assert table["10.1"][1:4] == ["418.39", "418.39", "418.96"]
    assert table["12.4"][1:4] == ["525.60.13", "550.54.14", "527.41"]
    assert list(table)[-1] == "7.0"


def test_releases_of_cuda_as_json(home: Home) -> None:
    data = json.loads(home.run("compat", "--json").stdout)
    row = next(row for row in data["cuda"] if row["cuda"] == "11.8")
    assert (row["driver"], row["came_with"], row["cc"]) == ("450.80.02", "520.61.05", "3.5 to 9.0")
    assert (row["driver_windows"], row["came_with_windows"]) == ("452.39", "520.06")
    assert any("Release Notes" in source for source in row["sources"])
    assert "torch" in data["frameworks"]


def test_builds_of_a_framework(home: Home) -> None:
    titles, *rows = succeeded(home.run("compat", "torch", "1.12.1"))
    assert titles.split() == ["release", "CUDA", "cuDNN", "system", "build", "source"]
    assert [row.split()[:5] for row in rows] == [
        ["1.12.1", "10.2", "7.6.5.32", "linux", "-"],
        ["1.12.1", "10.2", "7.6.5.32", "-", "cu102"],
        ["1.12.1", "11.3", "8.3.2.44", "-", "cu113"],
        ["1.12.1", "11.6", "8.3.2.44", "-", "cu116"],
    ]
    data = json.loads(home.run("compat", "torch", "1.12.1", "--json").stdout)
    assert [build["tag"] for build in data["builds"]] == [None, "cu102", "cu113", "cu116"]
    assert data["builds"][0]["source"] == "version.py and METADATA of the wheels on PyPI"


IN_BETWEEN = [
    # what is asked for, and the rows that answer: release, CUDA, cuDNN, system, build
    ("tensorflow 2.6.0", ["2.6 11.2 8.1 linux -", "2.6 11.2 8.1 win -"]),
    ("tensorflow 2.15.0.post1", ["2.15 12.2 8.9 linux -"]),
    ("jax 0.4.38", ["0.4.31 12 9.1 - cuda12"]),
    (
        "jax 0.1.40",
        [f"0.1.32 {it} - - -" for it in ("9.2", "10.0", "10.1")] + ["0.1.38 10.2 - - -"],
    ),
    ("jax 0.3.25", ["0.1.73 11 8.0.5 - -", "0.1.73 11 8.2 - -"]),
    ("jax 0.4.7", ["0.1.73 11 8.2 - -", "0.4.0 11 8.6 - -"]),
    ("jax 0.4.25", ["0.4.24 12 8.9 - -", "0.4.25 11 - - -"]),
    ("jax 0.9", ["0.6.0 12 9.8 - cuda12", "0.7.2 13 9.12.0.46 - cuda13"]),
    ("cupy 13.3.0", ["13 11 - - cuda11x", "12 12 - - cuda12x"]),
    ("onnxruntime 1.18.1", ["1.18 11.8 8 - -", "1.18.1 12 9 - -"]),
    ("torch 2.6.0+cu118", ["2.6.0 11.8 - - cu118"]),
]


@pytest.mark.parametrize(("asked", "rows"), IN_BETWEEN)
def test_a_release_between_the_rows_of_the_table(home: Home, asked: str, rows: list[str]) -> None:
    _, *found = succeeded(home.run("compat", *asked.split()))
    assert [" ".join(row.split()[:5]) for row in found] == rows


@pytest.mark.parametrize(("asked", "count"), [("mxnet 1.9.1", 11), ("paddle 2.4.2", 4)])
def test_all_builds_of_a_release_are_listed(home: Home, asked: str, count: int) -> None:
    assert len(succeeded(home.run("compat", *asked.split()))) == count + 1


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (["torch", "new"], "`new` is not a release of PyTorch", "cudaswitch compat torch"),
        (["torch", "99"], "no known build of PyTorch 99", "cudaswitch compat torch"),
        (
            ["torch", "2.6.0+cu999"],
            "no known build of PyTorch 2.6.0+cu999",
            "cudaswitch compat torch",
        ),
        (["numba"], "the CUDA of the environment, or a toolkit from 11.2 to 12", "resolve"),
        (["vllm"], "no table for vLLM, which uses the CUDA of PyTorch", "resolve"),
    ],
)
def test_what_is_not_known(home: Home, arguments: list[str], message: str, hint: str) -> None:
    refused(home.run("compat", *arguments), message, hint=hint)


@pytest.mark.parametrize("name", ["caffe", "a-b"])
def test_another_framework(home: Home, name: str) -> None:
    said = f"`{name}` is not a known framework; choose from bitsandbytes, cntk"
    refused(home.run("compat", name), said, code=2, hint="compat --help")
    more = "Got unexpected extra arguments (c d)"
    refused(home.run("compat", name, "b", "c", "d"), more, code=2, hint="compat --help")


@pytest.mark.parametrize(
    ("asked", "said", "hint"),
    [
        ("12.4", "`12.4` is not a framework", "cudaswitch compat"),
        ("cuda", "`cuda` is not a framework", "cudaswitch compat"),
        ("torch==2.5", "`torch==2.5` is a framework and a release", "cudaswitch compat torch 2.5"),
        (
            "torch=v2.5.1",
            "`torch=v2.5.1` is a framework and a release",
            "cudaswitch compat torch 2.5.1",
        ),
    ],
)
def test_what_else_may_be_asked(home: Home, asked: str, said: str, hint: str) -> None:
    refused(home.run("compat", asked), said, code=2, hint=hint)


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ("pytorch", "torch"),
        ("PyTorch", "torch"),
        ("TensorFlow", "tensorflow"),
        ("tensorflow-gpu", "tensorflow"),
        ("tensorflow_gpu", "tensorflow"),
        ("cupy-cuda12x", "cupy"),
        ("ONNX Runtime", "onnxruntime"),
    ],
)
def test_a_framework_by_its_title_and_by_its_packages(home: Home, asked: str, name: str) -> None:
    assert succeeded(home.run("compat", asked)) == succeeded(home.run("compat", name))


def test_only_frameworks_with_a_table_are_said_to_have_one(home: Home) -> None:
    done = home.run("compat")
    names = done.stderr.partition("of their own: ")[2].strip().split(", ")
    assert "torch" in names
    assert json.loads(home.run("compat", "--json").stdout)["frameworks"] == names
    for name in names:
        succeeded(home.run("compat", name))
    for name in ("numba", "vllm", "torchvision"):
        assert name not in names

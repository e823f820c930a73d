"""Reading environments: lying, broken and hostile files, and whether one brings its CUDA."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from cudaswitch.bundled import bundles_cuda
from cudaswitch.detect.facts import facts_of
from cudaswitch.errors import EnvironmentNotFoundError
from cudaswitch.resolver import resolve
from made_environments import BUNDLES, NEW_DRIVER, SITE, Env, cudnn_pin, notes
from shells.venvs import with_venv
from tools import executable

# Lying, broken and hostile files.


NO_VERSION_FILES = {
    "binary": (b"\x00\x01\x7fELF", "binary"),
    "syntax": (b"\xff\xfe\xfa = (", "not valid Python"),
    "parentheses": (b"cuda = (" + b"(" * 5000, "not valid Python"),
    "unary": (b"cuda = " + b"-" * 60000 + b"1", "not valid Python"),
}
if sys.version_info < (3, 14):  # 3.14 can parse this
    NO_VERSION_FILES["sum"] = (b"cuda = 1" + b"+1" * 30000, "not valid Python")


@pytest.mark.parametrize(("content", "note"), NO_VERSION_FILES.values(), ids=NO_VERSION_FILES)
def test_a_version_file_that_is_none_leaves_a_note(env, content, note):
    env.dist("torch", "1.12.1+cu116")
    env.file("torch/version.py").write_bytes(content)
    answer = env.resolve()
    assert answer.cuda == "11.6"
    [told] = [text for text in notes(answer) if "torch/version.py" in text]
    assert note in told


def test_a_version_file_of_a_gigabyte_is_not_read(env):
    env.dist("torch", "1.12.1+cu116")
    with env.file("torch/version.py").open("wb") as file:
        file.truncate(1 << 30)
    answer = env.resolve()
    assert answer.cuda == "11.6"
    assert any("larger than 64 KiB" in text for text in notes(answer))


def test_nothing_is_executed(env, tmp_path):
    witness = tmp_path / "executed"
    call = f"open({str(witness)!r}, 'w').close()"
    env.dist("torch", "1.12.1")
    env.file("torch/version.py", f"__version__ = '1.12.1'\n{call}\ncuda = {call}\n")
    env.file("sitecustomize.py", call)
    env.file("torch/__init__.py", call)
    executable(env.prefix / "bin/nvidia-smi", f"#!/bin/sh\n: > {witness}\n")
    path = os.environ["PATH"]
    try:
        os.environ["PATH"] = f"{env.prefix}/bin:{path}"
        answer = env.resolve(driver=None)
    finally:
        os.environ["PATH"] = path
    assert not witness.exists()
    assert answer.cuda == "10.2"  # by the table: the file's value is no literal


@pytest.mark.parametrize(
    "value",
    ["'$(touch x)'", "'../../etc'", "['11.6']", "{'a': 1}", "b'11.6'", "11.6 + 1", "'x' * 9", "''"],
)
def test_a_value_that_is_no_version_is_no_claim(env, value):
    env.dist("torch", "1.12.1+cu116")
    env.file("torch/version.py", f"cuda = {value}\n")
    assert env.resolve().cuda == "11.6"


def test_metadata_that_is_junk(env):
    env.torch("2.1.2+cu121", "12.1")
    for content in (b"\x00\xff" * 99, b"Requires-Dist: ;;;(\nRequires-Dist\n:\n", b"", b"\r\n\r\n"):
        env.file("torch-2.1.2.dist-info/METADATA").write_bytes(content)
        assert env.resolve().cudnn == "8.9.2.26"


def test_only_the_head_of_metadata_counts(env):
    # `Env.dist` writes a Requires-Dist into the description too.
    env.torch("2.3.0+cu121", "12.1")
    assert env.resolve().cudnn == "8.9.2.26"


def test_metadata_of_a_gigabyte_is_read_at_its_head_only(env):
    env.torch("2.11.0+cu130", "13.0", cudnn_pin(13, "9.19.0.56"))
    with env.file("torch-2.11.0.dist-info/METADATA").open("wb") as file:
        file.write(f"Requires-Dist: {cudnn_pin(13, '9.19.0.56')}\n\n".encode())
        file.write(b"x" * (5 << 20))
        file.truncate(1 << 30)
    assert env.resolve().cudnn == "9.19.0.56"


def test_a_fifo_in_place_of_a_file_does_not_hang(env):
    env.dist("torch", "1.12.1+cu116")
    env.file("torch/x")
    os.mkfifo(env.prefix / SITE / "torch/version.py")
    answer = env.resolve()
    assert answer.cuda == "11.6"
    assert any("not a regular file" in text for text in notes(answer))


def test_links_in_a_circle_to_nothing_and_out(env, tmp_path):
    env.dist("torch", "1.12.1+cu116")
    env.file("torch/x")
    version = env.prefix / SITE / "torch/version.py"
    version.symlink_to("version.py")
    assert any("was not read" in text for text in notes(env.resolve()))
    version.unlink()
    version.symlink_to("missing.py")
    assert any("dangling link" in text for text in notes(env.resolve()))
    version.unlink()
    outside = tmp_path / "outside.py"
    outside.write_text("cuda = '11.3'\n")
    version.symlink_to(outside)
    answer = env.resolve()
    assert answer.cuda == "11.3"
    assert any("link out of the environment" in text for text in notes(answer))


def test_folders_in_a_circle(tmp_path):
    prefix = tmp_path / "env"
    (prefix / "lib").mkdir(parents=True)
    (prefix / "lib/python3.9").symlink_to("python3.9")
    (prefix / "conda-meta").symlink_to("conda-meta")
    (prefix / "lib64").symlink_to("lib64")
    answer = resolve(facts_of(prefix, driver=NEW_DRIVER), [])
    assert answer.cuda is None
    assert any("is it an environment?" in text for text in notes(answer))


def test_an_environment_without_packages(tmp_path):
    """An environment of conda without packages, as `conda create -n thesis` makes it, is noted."""
    (tmp_path / "conda-meta").mkdir()
    (tmp_path / "conda-meta" / "history").touch()
    answer = resolve(facts_of(tmp_path, driver=NEW_DRIVER), [])
    assert notes(answer) == [
        f"`{tmp_path}` holds no packages [{tmp_path}]",
        f"no known framework was found [{tmp_path}]",
    ]


@pytest.mark.parametrize("content", ["", "[]", "{", '{"depends": 5}', '{"depends": [5, null, ""]}'])
def test_a_conda_record_that_lies(env, content):
    env.write("conda-meta/pytorch-2.1.0-py3.10_cuda12.1_cudnn8.9.2_0.json", content)
    assert env.resolve().cuda == "12.1"


@pytest.mark.parametrize("name", ["METADATA", "WHEEL", "direct_url.json"])
@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir], ids=["fifo", "folder"])
def test_what_is_no_file_in_a_dist_info(env, name, make):
    record = env.dist("torch", "2.5.1").parent
    (record / name).unlink(missing_ok=True)
    make(record / name)
    answer = env.resolve()
    assert (answer.cuda, answer.cudnn) == ("12.4", "9.1.0.70")
    assert any(f"{name}]" in text and "was not read" in text for text in notes(answer))


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir], ids=["fifo", "folder"])
def test_what_is_no_file_among_the_records_of_conda(env, make):
    record = env.write("conda-meta/pytorch-2.1.0-py3.10_cuda12.1_cudnn8.9.2_0.json", "")
    record.unlink()
    make(record)
    answer = env.resolve()
    assert (answer.cuda, answer.cudnn) == ("12.1", "8.9.2")  # its name says so
    assert sum("was not read" in text for text in notes(answer)) == 1


@pytest.mark.parametrize("make", [os.mkfifo, Path.touch], ids=["fifo", "file"])
@pytest.mark.parametrize("folder", [SITE, "conda-meta", "lib", "pyvenv.cfg"])
def test_what_is_no_folder_in_a_prefix(tmp_path, folder, make):
    place = tmp_path / "env" / folder
    place.parent.mkdir(parents=True)
    make(place)
    assert resolve(facts_of(tmp_path / "env", driver=NEW_DRIVER), []).frameworks == ()


def test_a_folder_that_is_a_link_out_is_told(env, tmp_path):
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch/version.py").write_text("__version__ = '1.8.1'\ncuda = '11.1'\n")
    env.dist("torch", "1.8.1")
    (env.prefix / SITE / "torch").symlink_to(tmp_path / "torch")
    answer = env.resolve()
    assert answer.cuda == "11.1"
    assert any("link out of the environment" in text for text in notes(answer))


LONG = "9" * 5000


@pytest.mark.parametrize("number", [LONG, f"1.{LONG}", "9" * 150, f"1.{'9' * 150}"])
def test_numbers_too_long_to_be_versions(env, number):
    for name in ("torch", "jaxlib", "nvidia-cuda-runtime-cu12", "nvidia-cudnn-cu12"):
        env.dist(name, number[:150])
    env.dist("numba", "0.60.0")
    env.file("torch/version.py", f"__version__ = {number!r}\ncuda = {number!r}\n")
    env.file("cupy/.data/_wheel.json", f'{{"cuda": "{number}", "cudnn": {{"version": {LONG}}}}}')
    env.dist("cupy-cuda12x", "13.0.0")
    env.conda("cudatoolkit", number[:100], "0")
    env.conda("pytorch", number[:100], f"cuda{number[:50]}_cudnn{number[:50]}_0", f"cudnn {number}")
    answer = env.resolve()
    assert {it.name for it in answer.frameworks} >= {"torch", "jax", "cupy", "numba"}


def test_a_python_file_that_takes_long_to_parse_is_not_read(env):
    env.dist("torch", "1.12.1+cu116")
    env.file("torch/version.py", "".join(f"a{number} = 1\n" for number in range(60_000)))
    answer = env.resolve()
    assert answer.cuda == "11.6"
    assert any("larger than 64 KiB" in text for text in notes(answer))


def test_a_hundred_thousand_requirements_are_not_a_hundred_thousand_reasons(env):
    record = env.dist("torch", "2.5.1")
    record.write_text("Requires-Dist: nvidia-cudnn-cu12 (==9.1.0.70)\n" * 100_000)
    answer = env.resolve()
    assert answer.cudnn == "9.1.0.70"
    assert len(answer.reasons) < 20


def test_the_record_of_a_package_with_many_files_is_read(env):
    """A record of conda is read even if its list of files has megabytes, as TensorFlow's does."""
    name = "tensorflow-base-2.4.1-gpu_py39h29c2da4_0"
    paths = [{"_path": f"lib/{n:064}", "sha256": f"{n:064x}"} for n in range(20_000)]
    record = {"depends": ["cudatoolkit 10.1.*", "cudnn 7.6.*"], "paths_data": {"paths": paths}}
    env.write(f"conda-meta/{name}.json", json.dumps(record))
    answer = env.resolve()
    assert (answer.cuda, answer.cudnn) == ("10.1", "7.6")


def test_names_that_are_no_packages(env):
    for name in (
        "-.dist-info",
        "torch.dist-info",
        ".dist-info",
        "torch-.dist-info",
        "a-b.egg-info",
    ):
        env.file(f"{name}/METADATA")
    for name in ("x.json", "a-b.json", "history", "--.json", "a-b-c.txt"):
        env.write(f"conda-meta/{name}", "")
    (env.prefix / SITE / os.fsdecode(b"torch-\xff\x1b[31m.dist-info")).mkdir()
    told = notes(env.resolve())
    assert all(text.isprintable() for text in told)
    assert sum("a name that no installer would write" in text for text in told) == 1


def test_a_version_that_is_no_version(env):
    env.dist("torch", "unknown")
    assert env.resolve().cuda is None


def test_an_environment_that_does_not_exist(tmp_path):
    with pytest.raises(EnvironmentNotFoundError):
        facts_of(tmp_path / "none")


def test_an_environment_that_holds_nothing(env):
    answer = env.resolve()
    assert (answer.cuda, answer.runs, answer.frameworks) == (None, True, ())


def test_a_real_virtualenv(tmp_path):
    with_venv(tmp_path / "v")
    assert facts_of(tmp_path / "v", driver=NEW_DRIVER).notes == ()


def test_an_environment_may_not_be_named_at_all():
    answer = resolve(facts_of(None, driver=NEW_DRIVER), [])
    assert answer.cuda is None


@pytest.mark.parametrize("kind", ["conda", "virtualenv"])
def test_what_an_older_python_left_behind_counts_no_more(tmp_path, kind):
    """After an upgrade of Python in place, the older one's site-packages no longer count."""
    old = Env(tmp_path / "env", "lib/python3.8/site-packages")
    old.torch("1.12.1+cu116", "11.6")
    if kind == "conda":
        old.conda("python", "3.11.4", "h_0")
    else:
        old.write("pyvenv.cfg", "home = /nowhere/bin\nversion = 3.11.4\n")
    new = Env(tmp_path / "env", "lib/python3.11/site-packages")
    assert new.resolve().frameworks == ()
    new.torch("2.1.2+cu121", "12.1")
    [found] = new.resolve().frameworks
    assert found.version == "2.1.2"


def test_only_files_that_matter_are_opened(env):
    for number in range(200):
        env.dist(f"other-{number}", "1.0")
    env.dist("torch", "1.12.1+cu116")
    trace = f"""
import sys
opened = []
sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == "open" else None)
from pathlib import Path
from cudaswitch.detect.facts import facts_of
facts_of(Path({str(env.prefix)!r}), driver="610.1")
print(sum("other-" in name or "other_" in name for name in opened))
"""
    done = subprocess.run(
        [sys.executable, "-c", trace],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[1],
    )
    assert done.stdout.split() == ["0"]


@pytest.mark.parametrize(("path", "expected"), BUNDLES)
def test_what_brings_cuda(env, path, expected):
    env.write(path, "{}")
    assert (bundles_cuda(env.prefix) is not None) is expected


def test_bundles_cuda_sees_through_odd_prefixes(tmp_path):
    env = Env(tmp_path / "[a-c]*?")
    env.write("conda-meta/cudatoolkit-10.1.243-0.json", "{}")
    assert bundles_cuda(env.prefix).endswith("cudatoolkit-10.1.243-0.json")
    assert bundles_cuda(tmp_path / "b") is None
    (env.prefix / "conda-meta/cudatoolkit-10.1.243-0.json").unlink()
    (env.prefix / "conda-meta/cudatoolkit-9.0-0.json").symlink_to("nothing")
    assert bundles_cuda(env.prefix) is None

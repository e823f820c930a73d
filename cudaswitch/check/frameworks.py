"""The framework of the active environment: its extensions compile, and it sees the GPU."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from cudaswitch.check import bounded
from cudaswitch.check.results import Result
from cudaswitch.detect.facts import facts_of
from cudaswitch.environments import Environment
from cudaswitch.toolkit import Toolkit

_SECONDS = 600.0
"""PyTorch's headers take a minute on a machine that is not busy."""

_EXTENSION = """\
import json, os, sys, sysconfig
import torch
from torch.utils import cpp_extension

lacking = None
if not cpp_extension.is_ninja_available():
    lacking = "PyTorch compiles with ninja, which is not on PATH"
elif not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")):
    lacking = "Python.h is missing (python3-dev or python3-devel)"
if lacking:
    print("cudaswitch:", json.dumps({"skipped": lacking}))
    sys.exit()
host = "int answer() { return 42; }"
device = "__global__ void kernel(int *cell) { *cell = 42; }\\nint answer() { return 42; }"
if torch.version.cuda and cpp_extension.CUDA_HOME:
    sources = {"cpp_sources": "int answer();", "cuda_sources": device}
    what = "with nvcc"
else:
    sources = {"cpp_sources": host}
    what = "C++ only: this PyTorch is built without CUDA" if not torch.version.cuda else "C++ only"
module = cpp_extension.load_inline("cudaswitch_check", functions=["answer"], **sources)
assert module.answer() == 42
home = cpp_extension.CUDA_HOME
print("cudaswitch:", json.dumps({"version": torch.__version__, "what": what, "home": home}))
"""

_SEES = {
    "torch": (
        "torch.cuda.is_available()",
        "import torch; print('cudaswitch:', int(torch.cuda.is_available()))",
    ),
    "tensorflow": (
        "tf.config.list_physical_devices",
        "import tensorflow as tf;"
        " print('cudaswitch:', len(tf.config.list_physical_devices('GPU')))",
    ),
}
"""Framework → the name of its own test, and a program that prints how many GPUs it sees."""

_ARCHITECTURES = "7.5"
"""The architecture if none is set, as there may be no GPU: every CUDA from 10.0 on knows it."""


def prove(
    kit: Toolkit,
    environment: Environment,
    variables: Mapping[str, str],
    folder: Path,
    has_gpu: bool,
) -> Iterator[Result]:
    """Prove what the environment's frameworks can do with the toolkit. Runs its Python."""
    python = Path(environment.prefix, "bin", "python")
    names = {framework.name for framework in facts_of(Path(environment.prefix)).frameworks}
    if not os.path.exists(python):
        return
    if "torch" in names and "CUDACXX" in variables:
        yield _extension(kit, python, variables, folder)
    for name in sorted(names & _SEES.keys()):
        yield _sees(name, python, variables, folder, has_gpu)


def _extension(kit: Toolkit, python: Path, variables: Mapping[str, str], folder: Path) -> Result:
    name, at = "PyTorch: an extension", str(python)
    own = {"TORCH_EXTENSIONS_DIR": str(folder / "extensions")}
    if "TORCH_CUDA_ARCH_LIST" not in variables:
        own["TORCH_CUDA_ARCH_LIST"] = _ARCHITECTURES
    done = bounded.run([at, "-c", _EXTENSION], {**variables, **own}, folder, _SECONDS)
    if done.code != 0:
        return Result(name, "framework", "failed", _reason(done), at)
    said = _said(done)
    if said is None:
        return Result(name, "framework", "failed", _SILENT, at)
    if "skipped" in said:
        return Result(name, "framework", "skipped", said["skipped"], at)
    if said["home"] and Path(said["home"]).resolve() != Path(kit.path).resolve():
        detail = f"PyTorch uses `{said['home']}` as the toolkit"
        return Result(name, "framework", "failed", detail, at, said["version"])
    return Result(name, "framework", "passed", said["what"], at, said["version"])


def _sees(
    name: str, python: Path, variables: Mapping[str, str], folder: Path, has_gpu: bool
) -> Result:
    title, program = _SEES[name]
    if not has_gpu:
        return Result(title, "framework", "needs-gpu", "no GPU found on this machine")
    done = bounded.run([str(python), "-c", program], variables, folder, _SECONDS)
    if done.code != 0:
        return Result(title, "framework", "failed", _reason(done), str(python))
    seen = _said(done)
    found = "it sees the GPU" if seen else "it does not see the GPU"
    detail = _SILENT if seen is None else found
    return Result(title, "framework", "passed" if seen else "failed", detail, str(python))


_SILENT = "its Python exited with 0, but printed no answer"


def _said(done: bounded.Done) -> Any:
    """Return the program's answer, among what others printed; None if there is no answer."""
    _, mark, text = done.out.rpartition("cudaswitch: ")
    try:
        return json.JSONDecoder().raw_decode(text)[0] if mark else None
    except ValueError:
        return None


def _reason(done: bounded.Done) -> str:
    """Return the compiler's own error, else the last line of stderr: the kind of exception."""
    lines = [line.strip() for line in done.err.splitlines() if line.strip()]
    errors = [line for line in (done.out + done.err).splitlines() if "error: " in line]
    return done.ended or (errors or lines[-1:] or [done.trouble])[0].strip()

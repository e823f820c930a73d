"""Ask the GPUs for their compute capability: by NVML if its library is there, else nvidia-smi."""

from __future__ import annotations

import os
import re
from importlib import import_module
from pathlib import Path
from typing import Any

from cudaswitch.namedtuples import NamedTuple
from cudaswitch.programs import find_program, output_of, search_path
from cudaswitch.versions import Version

DRIVER = r"(?a:\b(\d{3}\.\d{1,4}(?:\.\d{1,4})?)\b)"

_SECONDS = 5.0
"""Time that the driver may take to answer; a broken one can hang."""
_CC = r"(?a:\d{1,2}\.\d)"
_SMI = ("usr/lib/wsl/lib/nvidia-smi", "usr/bin/nvidia-smi", "opt/bin/nvidia-smi")
"""Its usual places, WSL's first: one from a package does not reach Windows' driver there."""
_MODULES = ("sys/module/nvidia", "proc/driver/nvidia", "usr/lib/wsl/lib")


class Gpus(NamedTuple):
    """The driver and the compute capabilities, the newest first; `source` is who said so."""

    driver: str | None
    cc: tuple[str, ...]
    source: str


def gpus(avoid: Path | None, root: Path = Path("/")) -> Gpus | None:
    """Ask the driver for its version and its GPUs; None if no GPU answers.

    Nothing inside `avoid`, the environment, is started.
    """
    present = any(os.path.exists(root / module) for module in _MODULES) or os.name == "nt"
    found = by_nvml() if present and root == Path("/") else None
    if found is None:
        driver, cc = nvidia_smi(find_smi(avoid, root))
        found = Gpus(driver, cc, "nvidia-smi") if driver else None
    return found


def by_nvml() -> Gpus | None:
    """Ask NVML through nvidia-ml-py (the extra `gpu`); None without it or without an answer."""
    try:
        nvml = import_module("pynvml")
    except ImportError:
        return None
    import threading  # noqa: PLC0415  # only with NVML

    answers: list[Gpus] = []
    # A thread that hangs in the driver cannot be ended; a daemon does not keep the process alive.
    thread = threading.Thread(target=_ask, args=(nvml, answers), daemon=True)
    thread.start()
    thread.join(_SECONDS)
    return answers[0] if answers else None


def _ask(nvml: Any, answers: list[Gpus]) -> None:
    try:
        nvml.nvmlInit()
        driver = nvml.nvmlSystemGetDriverVersion()
        handles = [
            nvml.nvmlDeviceGetHandleByIndex(index) for index in range(nvml.nvmlDeviceGetCount())
        ]
        pairs = [nvml.nvmlDeviceGetCudaComputeCapability(handle) for handle in handles]
        nvml.nvmlShutdown()
    except (nvml.NVMLError, OSError):
        return
    # Releases of the library before 11.5 return bytes; their repr has the number in it as well.
    match = re.search(DRIVER, str(driver))
    cc = tuple(sorted({f"{major}.{minor}" for major, minor in pairs}, key=Version, reverse=True))
    if match:
        answers.append(Gpus(match[1], cc, "NVML"))


def find_smi(avoid: Path | None, root: Path) -> Path | None:
    """Find the system's nvidia-smi: its usual places, then PATH outside `avoid`."""
    candidates = [root / name for name in _SMI]
    if on_path := find_program("nvidia-smi", search_path(os.environ)):
        candidates.append(Path(on_path))
    for path in candidates:
        inside = avoid is not None and avoid.resolve() in (path.resolve(), *path.resolve().parents)
        if not inside and os.access(path, os.X_OK):
            return path
    return None


def nvidia_smi(tool: Path | None) -> tuple[str | None, tuple[str, ...]]:
    """Ask nvidia-smi for the driver and the compute capabilities, newest GPU first.

    Older versions do not know `compute_cap`, and then tell only the driver.
    """
    if tool is None:
        return None, ()
    for fields in ("driver_version,compute_cap", "driver_version"):
        asked = [str(tool), f"--query-gpu={fields}", "--format=csv,noheader"]
        said = output_of(asked, os.environ, _SECONDS)
        if said is None:
            break
        if driver := re.search(DRIVER, said):
            rows = [line.rpartition(",")[2].strip() for line in said.splitlines()]
            found = {row for row in rows if "," in said and re.fullmatch(_CC, row)}
            return driver[1], tuple(sorted(found, key=Version, reverse=True))
    return None, ()

"""Rules about the lists of this shell: LD_LIBRARY_PATH, PATH, LD_PRELOAD."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from cudaswitch.doctor.folders import is_inside, is_listed
from cudaswitch.doctor.model import Facts, Folder, Found, Kit, Relist, Rule
from cudaswitch.doctor.spelling import changing, put_first, setting, without, word
from cudaswitch.versions import Version

_CUDA_NAME = re.compile(r"cuda(?!switch)|cudnn|tensorrt|nvidia", re.IGNORECASE)
_CUDA_LIBRARY = re.compile(
    r"lib(?:cu(?:blas|da|dnn|fft|file|inj|pti|rand|solver|sparse)"
    r"|nv(?:JitLink|ToolsExt|blas|fatbin|idia|infer|jpeg|rtc|vm))"
)
_CONDA_LIBRARY = re.compile(r"/(?:(?:ana|mini)?conda|miniforge|(?:micro)?mamba)[^/]*/")


def _folders(facts: Facts, name: str) -> tuple[Folder, ...]:
    return facts.path if name == "PATH" else facts.ld_library_path


def _leaving_out(
    name: str, is_bad: Callable[[Facts, Folder], bool], shown: str
) -> Callable[[Facts], Iterable[Found]]:
    """Make a check of one list that finds folders and mends it by leaving them out."""

    def check(facts: Facts) -> Iterator[Found]:
        bad = [one for one in _folders(facts, name) if is_bad(facts, one)]
        if bad:
            named = ", ".join(dict.fromkeys(f"`{one.text}`" for one in bad))
            evidence = shown.format(folders=named, name=name, value=facts.get(name))
            yield Found(evidence, without(name, *bad))

    return check


def _duplicates(facts: Facts) -> Iterator[Found]:
    for name in ("LD_LIBRARY_PATH", "PATH"):
        folders = _folders(facts, name)
        texts = [one.text for one in folders if one.text]
        twice = {text for text in texts if texts.count(text) > 1}
        if name == "PATH":
            twice = {one.text for one in folders if one.text in twice and one.tools}
        # What is applied may come before the user's own copy: undoing it needs both.
        twice = {text for text in twice if not _is_applied(facts, text)}
        if twice:
            shown = ", ".join(f"`{text}` {texts.count(text)} times" for text in sorted(twice))
            yield Found(f"{name} holds {shown}", Relist(name, partial(_each_once, twice)))


def _each_once(twice: Collection[str], elements: list[str]) -> list[str]:
    """Leave out all but the first of each that is `twice` in a list."""
    return [one for at, one in enumerate(elements) if one not in twice or one not in elements[:at]]


def _is_applied(facts: Facts, folder: str) -> bool:
    return facts.applied is not None and folder.startswith(f"{facts.applied}/")


def _is_empty(_: Facts, folder: Folder) -> bool:
    return not folder.text


def _is_stub(_: Facts, folder: Folder) -> bool:
    return "stubs" in Path(folder.text).parts


def _is_gone(_: Facts, folder: Folder) -> bool:
    return bool(folder.text) and not folder.exists and bool(_CUDA_NAME.search(folder.text))


def _is_conda_library(facts: Facts, folder: Folder) -> bool:
    path = folder.path
    if facts.is_sought(path):
        return False
    prefixes = [facts.get("CONDA_PREFIX")]
    if facts.environment and facts.environment.owner == "C":
        prefixes.append(str(facts.environment.prefix))
    own = any(prefix and is_listed(path, f"{prefix}/lib") for prefix in prefixes)
    return own or (folder.exists and path.endswith("/lib") and bool(_CONDA_LIBRARY.search(path)))


_stubs = _leaving_out("LD_LIBRARY_PATH", _is_stub, "{name} holds {folders}")
_condas = _leaving_out("LD_LIBRARY_PATH", _is_conda_library, "{name} holds {folders}")


def _two_toolkits(facts: Facts) -> Iterator[Found]:
    """Two folders that have the runtime, NVRTC or cuBLAS of different releases."""
    listed = [one for one in facts.ld_library_path if not _of_environment(facts, one)]
    for stem in ("libcudart", "libnvrtc", "libcublas"):
        having = [(one, one.versions_of(stem)) for one in listed]
        kits = [(one, found[-1]) for one, found in having if found]
        if len({str(version) for _, version in kits}) > 1:
            shown = ", ".join(f"{stem} {version} in `{one.text}`" for one, version in kits)
            kept, release = min(kits, key=lambda it: not _is_of_active(facts, it[0]))
            others = [one for one, version in kits if str(version) != str(release)]
            rest = [one for one in listed if _in_another(kept.kit, one)]
            more = dict.fromkeys(f"`{one.text}`" for one in rest if one not in dict(kits))
            shown += f"; {', '.join(more)} of another toolkit" if more else ""
            fix = without("LD_LIBRARY_PATH", *others, *rest)
            yield Found(f"LD_LIBRARY_PATH reaches {shown}", fix)
            return


def _is_of_active(facts: Facts, folder: Folder) -> bool:
    return bool(facts.active and folder.kit and folder.kit.home == facts.active.home)


def _in_another(kit: Kit | None, folder: Folder) -> bool:
    """Tell whether a folder has libraries of another toolkit than this one."""
    return bool(kit and folder.libraries and folder.kit and folder.kit.home != kit.home)


def _of_environment(facts: Facts, folder: Folder) -> bool:
    prefix = facts.environment.prefix if facts.environment else None
    return prefix is not None and is_inside(folder.path, prefix)


def _mixed_cudnn(facts: Facts) -> Iterator[Found]:
    """A cuDNN library of one release beside sub-libraries of another of its major."""
    by_major: dict[str, dict[str, Folder]] = {}
    for folder in facts.ld_library_path:
        for library in folder.libraries:
            match = re.search(r"/libcudnn[^/]*\.so\.((\d+)\.\d+\.\d+)", library.real)
            if match:
                by_major.setdefault(match[2], {}).setdefault(match[1], folder)
    for found in by_major.values():
        if len(found) > 1:
            shown = ", ".join(f"cuDNN {version} in `{at.text}`" for version, at in found.items())
            folders = dict.fromkeys(found.values())
            kept = max(
                folders, key=lambda one: (facts.is_sought(one.path), _is_of_active(facts, one))
            )
            others = [one for one in folders if one != kept]
            look = f"ls -l {word(facts, kept.path)}/libcudnn*"
            mend = without("LD_LIBRARY_PATH", *others) if others else look
            yield Found(f"LD_LIBRARY_PATH reaches {shown}", mend)


def _wrong_soname(facts: Facts) -> Iterator[Found]:
    """A link to a library under the name of another, as the file's own SONAME tells."""
    for folder in facts.ld_library_path:
        for library in folder.libraries:
            name, soname = library.name, library.soname
            is_link = Path(library.real).name != name
            if is_link and soname and ".so." in name and not _agree(name, soname):
                path = f"{folder.path}/{name}"
                fix = changing(facts, folder.path, f"rm {word(facts, path)}")
                yield Found(f"`{path}` is {soname} under another name", fix)


def _agree(name: str, soname: str) -> bool:
    """Tell whether a name and a SONAME have one number, which may be longer in either."""
    one, other = f"{name}.", f"{soname}."
    return one.startswith(other) or other.startswith(one)


def _libraries_on_path(facts: Facts) -> Iterator[Found]:
    reached = facts.ld_library_path
    for folder in sorted(facts.path, key=lambda one: not _is_of_active(facts, one)):
        own = [one.name for one in folder.libraries if ".so" in one.name]
        if not own or folder.tools or _is_among(folder, reached):
            continue
        evidence = f"`{folder.text}` is on PATH and holds {own[0]}"
        listing = (folder, *reached)
        if _stays(facts, reached, listing):
            reached = listing
            yield Found(evidence, put_first("LD_LIBRARY_PATH", folder.path))
        else:
            yield Found(evidence, without("PATH", folder))


def _is_among(folder: Folder, others: tuple[Folder, ...]) -> bool:
    """Tell whether a folder is one of others, under whatever name."""
    return os.path.realpath(folder.path) in {os.path.realpath(one.path) for one in others}


def _stays(facts: Facts, reached: tuple[Folder, ...], listing: tuple[Folder, ...]) -> bool:
    """Tell whether the rules for LD_LIBRARY_PATH find nothing new in a longer one."""
    now, then = (replace(facts, ld_library_path=folders) for folders in (reached, listing))
    return all(
        {one.evidence for one in check(then)} <= {one.evidence for one in check(now)}
        for check in (_stubs, _condas, _two_toolkits, _mixed_cudnn, _wrong_soname, _old_compat)
    )


def _preloaded(facts: Facts) -> Iterator[Found]:
    libraries = re.split(r"[ :]+", facts.get("LD_PRELOAD"))
    named = [one for one in libraries if _CUDA_LIBRARY.match(Path(one).name)]
    if named:
        rest = ":".join(one for one in libraries if one not in named)
        shown = ", ".join(f"`{one}`" for one in named)
        yield Found(f"LD_PRELOAD holds {shown}", setting(facts, "LD_PRELOAD", rest))


def _old_compat(facts: Facts) -> Iterator[Found]:
    """NVIDIA's compat folder holds a driver library that is of no newer branch than the driver."""
    driver = Version(facts.needs.driver) if facts.needs.driver else None
    for folder in facts.ld_library_path:
        versions = folder.versions_of("libcuda")
        newest = next((one for one in reversed(versions) if one.major >= 100), None)
        if not driver or not newest or newest.starts_with(driver):
            continue
        if newest.major <= driver.major:
            fix = without("LD_LIBRARY_PATH", folder)
            yield Found(f"`{folder.text}` has libcuda {newest}, the driver is {driver}", fix)


RULES = (
    Rule(
        "CS001",
        "error",
        "A folder of stubs in LD_LIBRARY_PATH",
        "stubs serve the linker only: a program that finds libcuda.so there fails with"
        ' "CUDA driver is a stub library" or an undefined symbol',
        ("numba/numba#8985", "xmake-io/xmake#4686", "NVIDIA/warp#219", "pytorch/tensorpipe#294"),
        _stubs,
    ),
    Rule(
        "CS002",
        "error",
        "An empty element in LD_LIBRARY_PATH",
        "an empty element is the working directory: programs load whatever library lies there."
        " It comes of `X:$LD_LIBRARY_PATH` where that was unset",
        ("torch/distro#276", "NixOS/nixpkgs#76802", "Witko/nvidia-xrun#146"),
        _leaving_out("LD_LIBRARY_PATH", _is_empty, "{name} is `{value}`"),
    ),
    Rule(
        "CS003",
        "warning",
        "An empty element in PATH",
        "an empty element is the working directory: a file named `ls` there would be run",
        ("torch/distro#276", "NixOS/nixpkgs#76802"),
        _leaving_out("PATH", _is_empty, "{name} is `{value}`"),
    ),
    Rule(
        "CS004",
        "warning",
        "Entries that stand in a list more than once",
        "each activation or `source ~/.bashrc` has added one more; a switcher that takes one out"
        " leaves the others in force",
        ("conda/conda#14762", "bgribble/mfp#221", "pypa/virtualenv#1190"),
        _duplicates,
    ),
    Rule(
        "CS005",
        "warning",
        "LD_LIBRARY_PATH names CUDA folders that are not there",
        "the toolkit was removed or moved, and its libraries are looked for in vain",
        ("NVIDIA/libnvidia-container#117", "NVIDIA/nvidia-container-toolkit#1088"),
        _leaving_out("LD_LIBRARY_PATH", _is_gone, "{folders} in {name} is not there"),
    ),
    Rule(
        "CS006",
        "warning",
        "PATH names CUDA folders that are not there",
        "the toolkit was removed or moved, so `nvcc` is another one or none",
        ("NVIDIA/libnvidia-container#117", "conda/conda#8070"),
        _leaving_out("PATH", _is_gone, "{folders} on {name} is not there"),
    ),
    Rule(
        "CS007",
        "warning",
        "conda's library folder in LD_LIBRARY_PATH",
        "it holds far more than CUDA (libstdc++, Tcl, OpenSSL), which then shadows what the"
        " system's own programs need",
        ("pytorch/pytorch#134929", "tensorflow/tensorflow#52988", "rcgsheffield/sheffield_hpc#564"),
        _condas,
    ),
    Rule(
        "CS008",
        "error",
        "Two CUDA releases in LD_LIBRARY_PATH",
        "libraries of one release load parts of the other, such as libnvrtc and its builtins",
        ("cupy/cupy#7560", "bitsandbytes-foundation/bitsandbytes#358"),
        _two_toolkits,
    ),
    Rule(
        "CS009",
        "error",
        "Two cuDNN releases in LD_LIBRARY_PATH",
        "cuDNN opens its own parts by name and gets those of the other release:"
        " CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH, or a version error",
        ("pytorch/pytorch#189043", "pytorch/pytorch#80637", "bmaltais/kohya_ss#1096"),
        _mixed_cudnn,
    ),
    Rule(
        "CS010",
        "error",
        "A library under the name of another",
        "a link was made to silence `cannot open shared object file`; what is called through it"
        " has another release's functions and structures",
        ("tensorflow/tensorflow#45200", "tensorflow/tensorflow#26289", "pop-os/pop#844"),
        _wrong_soname,
    ),
    Rule(
        "CS011",
        "warning",
        "A folder of libraries on PATH",
        "the loader does not look for libraries on PATH; LD_LIBRARY_PATH is its list",
        ("SYSTRAN/faster-whisper#516", "SYSTRAN/faster-whisper#297"),
        _libraries_on_path,
    ),
    Rule(
        "CS012",
        "warning",
        "LD_PRELOAD forces a CUDA library into every program",
        "it goes before what each program and environment brings, whatever they need",
        ("pytorch/pytorch#152783", "pytorch/pytorch#134929"),
        _preloaded,
    ),
    Rule(
        "CS013",
        "error",
        "A compat folder that is not for this driver",
        "its libcuda serves to run a newer CUDA on a driver of an older branch; before one of its"
        " own branch or a newer one it fails with error 803, `unsupported display driver / cuda"
        " driver combination`",
        ("NVIDIA/libnvidia-container#117", "NVIDIA/nvidia-container-toolkit#1088"),
        _old_compat,
    ),
)

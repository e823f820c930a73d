"""Which file a name stands for in this shell: tools by PATH, libraries by the loader's order."""

from __future__ import annotations

import os

from cudaswitch.errors import CudaswitchError, RequestError
from cudaswitch.namedtuples import NamedTuple
from cudaswitch.programs import is_program, search_path, why_closed
from cudaswitch.tools import is_shim

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from os import PathLike


class Found(NamedTuple):
    """A file that a name may stand for.

    `path` is the real file, links resolved; `why` how it was found; `toolkit` the folder two
    levels up, which may be a toolkit. `fault` says why it cannot be loaded.
    """

    path: str
    why: str
    toolkit: str
    fault: str | None = None


class Lookup(NamedTuple):
    """The files for a name, the winner first.

    `consumer` is the file that asks for a library, `runs` the tool that a shim would become
    here, and `notes` what else decides.
    """

    found: list[Found]
    consumer: str | None = None
    runs: str | None = None
    notes: tuple[str, ...] = ()


def look_up(name: str, variables: Mapping[str, str], consumer: str | None) -> Lookup:
    """List the files for a tool or library; `consumer` is what asks for a library.

    Raises RequestError for an unknown consumer, and ElfError or PeError for one whose file is
    not of that format.
    """
    if is_library(name):
        from cudaswitch.lookup.libraries import find_library  # noqa: PLC0415  # not for tools

        return find_library(name, variables, consumer)
    if name.lower().endswith((".dll", ".pyd")):
        from cudaswitch.lookup.dlls import find_dll  # noqa: PLC0415  # not for tools

        return find_dll(name, variables, consumer)
    if consumer is not None:
        raise RequestError(
            f"`{name}` is not a library, and --from names what loads a library",
            "give it as programs do, for example libcudart.so.12",
        )
    return find_tool(name, variables)


def is_library(name: str) -> bool:
    """Tell a shared library (`libcudnn.so.7`) from a tool (`nvcc`), by its name."""
    return name.endswith(".so") or ".so." in name


def found_at(path: str, why: str, fault: str | None = None) -> Found:
    """Describe the file at a path that may have links in it."""
    folder = os.path.dirname(os.path.abspath(path))
    return Found(os.path.realpath(path), why, os.path.dirname(folder), fault)


def distinct(found: Iterable[Found]) -> list[Found]:
    """Leave out files that were listed before under another name, or for another reason."""
    first: dict[str, Found] = {}
    for one in found:
        first.setdefault(one.path, one)
    return list(first.values())


def no_program(consumer: str, prefix: str | PathLike[str] | None, library: str) -> RequestError:
    """Return the error for an unknown consumer; `library` is what kind of library it could be."""
    where = f" or a package in `{prefix}`" if prefix else ""
    return RequestError(
        f"`{consumer}` is not a program on PATH{where} (asked for by --from)",
        f"name a package of the active environment, a {library} or a file",
    )


def find_tool(name: str, variables: Mapping[str, str]) -> Lookup:
    """List the programs of that name on PATH, and what the first would become if it is a shim.

    A path names one file, as for a shell.
    """
    if os.sep in name:
        places = [(name, "it is named by its path")]
    else:
        folders = [each or "." for each in search_path(variables).split(os.pathsep)]
        places = [(os.path.join(each, name), f"`{each}` is on PATH") for each in folders]
    files = distinct(found_at(at, why) for at, why in places if is_program(at))
    if not files or not is_shim(files[0].path):
        return Lookup(files)
    files[0] = files[0]._replace(why=f"{files[0].why}, with a shim of cudaswitch")
    runs, notes = _behind_shim(os.path.basename(name), files, variables)
    return Lookup(files, runs=runs, notes=notes)


def _behind_shim(
    name: str, files: list[Found], variables: Mapping[str, str]
) -> tuple[str | None, tuple[str, ...]]:
    from cudaswitch.decision import NOTHING, decide, working_directory  # noqa: PLC0415  # for shims only

    try:
        decision = decide(variables, working_directory(variables))
    except CudaswitchError as error:
        return None, (f"the shim would fail: {error.message}",)
    if decision.want.home != "system":
        tool = f"{decision.want.home}/bin/{name}"
        if is_program(tool):
            return tool, (f"that is what {decision.origin} requests",)
        closed = why_closed(tool, "")
        return None, (
            f"the shim would fail: {closed[0] if closed else f'`{tool}` does not exist'}",
        )
    others = (one.path for one in files if not is_shim(one.path))
    path = next(others, None)
    asked = "no toolkit is requested here"
    if decision is not NOTHING:
        asked = f"`system` is asked for by {decision.origin}"
    return path, () if path else (f"the shim would fail: {asked}",)

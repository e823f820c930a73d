"""Print what goes with what: the tables that `resolve` reasons with, and their sources."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from cudaswitch import talk
from cudaswitch.cli import output
from cudaswitch.compat.architectures import architectures
from cudaswitch.compat.compilers import host_compilers
from cudaswitch.compat.drivers import corresponding, releases, required
from cudaswitch.compat.frameworks import Build, Framework, framework_called, frameworks
from cudaswitch.compat.tables import cite
from cudaswitch.errors import ChoiceError, CudaswitchError, RequestError, brief, nearest
from cudaswitch.versions import Version, is_version

if TYPE_CHECKING:
    _Choice = click.Choice[str]
else:
    _Choice = click.Choice  # not generic before click 8.2


class _Framework(_Choice):
    """Completes names of frameworks; unlike click's, it lets the command refuse an unknown one."""

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return value


def _named(text: str) -> str:
    """Return a framework's name here, given that, its title or a package: `torch`, `PyTorch`."""
    if is_version(text) or text.lower() in ("cuda", "cudnn"):
        raise ChoiceError(
            f"`{text}` is not a framework", "cudaswitch compat lists the CUDA releases"
        )
    if parts := re.fullmatch(r"([A-Za-z][\w-]*)==?v?([0-9][\w.+]*)", text):
        raise ChoiceError(
            f"`{brief(text)}` is a framework and a release in one argument",
            f"cudaswitch compat {parts[1]} {parts[2]}",
        )
    if found := framework_called(text):
        return found.name
    titles = {one.title.lower(): name for name, one in frameworks().items()}
    said = f"`{brief(text)}` is not a known framework"
    if near := nearest(text.lower(), [*frameworks(), *titles]):
        raise ChoiceError(said, f"did you mean `{titles.get(near, near)}`?")
    raise click.UsageError(f"{said}; choose from {', '.join(sorted(frameworks()))}")


@click.command(
    epilog=output.examples(
        "cudaswitch compat", "cudaswitch compat torch 2.5", "cudaswitch compat --json"
    )
)
@click.argument(
    "framework", metavar="[FRAMEWORK]", type=_Framework(sorted(frameworks())), required=False
)
@click.argument("version", required=False)
@output.json_option
def compat(framework: str | None, version: str | None, as_json: bool) -> None:
    """Show which drivers, GPUs and compilers each CUDA release works with.

    With FRAMEWORK, show which CUDA and cuDNN its releases are built for, with sources.
    """
    listed = sorted(name for name, one in frameworks().items() if one.builds)
    if framework is None:
        rows = [_release(cuda) for cuda in releases()]
        titles = ("CUDA", "driver", "came with", "on Windows", "GPUs", "gcc")
        keys = ("cuda", "driver", "came_with", "driver_windows", "cc", "gcc")
    else:
        rows = [_built(build) for build in _builds(_named(framework), version)]
        titles = ("release", "CUDA", "cuDNN", "system", "build", "source")
        keys = ("version", "cuda", "cudnn", "os", "tag", "source")
    if as_json:
        kind = "cuda" if framework is None else "builds"
        talk.data({kind: rows, "frameworks": listed})
        return
    talk.table([titles, *([_shown(row[key]) for key in keys] for row in rows)])
    if framework is None:
        talk.say(f"frameworks with a table of their own: {', '.join(listed)}")


def _release(cuda: Version) -> dict[str, Any]:
    """Tell what a CUDA release `X.Y` goes with; None where nothing is known."""
    row: dict[str, Any] = {"cuda": cuda.text}
    for os, suffix in (("linux", ""), ("win", "_windows")):
        bound, own = required(cuda, os), corresponding(cuda, os)
        row[f"driver{suffix}"] = str(bound.on(os)) if bound else None
        row[f"came_with{suffix}"] = str(own.on(os)) if own else None
    arch = next(iter(architectures(cuda)), None)
    hosts = host_compilers(cuda)
    row["cc"] = f"{arch.min_cc} to {arch.max_cc}" if arch else None
    row["gcc"] = f"up to {hosts.gcc_max}" if hosts and hosts.gcc_max else None
    facts = [required(cuda, "linux"), corresponding(cuda, "linux"), arch, hosts]
    row["sources"] = sorted({cite(fact) for fact in facts if fact})
    return row


def _builds(name: str, version: str | None) -> list[Build]:
    """List the known builds of a framework, of its releases that `version` names, or one build.

    A table has a row where something changed; the releases in between are answered as
    `resolve` does.
    """
    found = frameworks()[name]
    if not found.builds:
        raise CudaswitchError(
            f"there is no table for {found.title}, which uses {_others(found)}",
            "cudaswitch resolve shows which that is",
        )
    if version is None:
        return list(found.builds)
    from cudaswitch.resolver.releases import release_of  # noqa: PLC0415  # only for one version

    text, _, tag = version.partition("+")
    wanted = release_of(text)
    if wanted is None:
        raise RequestError(
            f"`{brief(version)}` is not a release of {found.title}",
            f"cudaswitch compat {found.name}",
        )
    rows = {_row(it) for it in _of_release(found, wanted)}
    builds = [
        it
        for it in found.builds
        if (it.version.starts_with(wanted) or _row(it) in rows) and tag in ("", it.tag)
    ]
    if not builds:
        raise CudaswitchError(
            f"no known build of {found.title} {version}", f"cudaswitch compat {found.name}"
        )
    return builds


def _others(found: Framework) -> str:
    """Say whose CUDA a framework uses that has none of its own."""
    if found.follows in frameworks():
        return f"the CUDA of {frameworks()[found.follows].title}"
    either = f", or a toolkit {found.takes}" if found.takes else ""
    return f"the CUDA of the environment{either}"


def _of_release(found: Framework, wanted: Version) -> Iterator[Build]:
    """Yield the rows that hold for a release, on Linux and on Windows, the nearest of each kind.

    If some rows are of exactly that release, only the default builds of the others follow. In
    tables whose rows hold for later releases too: all rows that have an end, and of those without
    one the newest for each CUDA.
    """
    for os in ("linux", "win"):
        builds = found.builds_of(wanted, os)
        near = list({(it.tag, it.default, it.cuda): it for it in reversed(builds)}.values())
        own = [it for it in near if wanted.starts_with(it.version)]
        if found.rows_apply == "onward":
            open_ended = (it for it in builds if it.before is None)
            newest = {it.cuda: it for it in sorted(open_ended, key=lambda it: it.version)}
            yield from (it for it in builds if it.before or it is newest[it.cuda])
        else:
            yield from (it for it in near if not own or it in own or it.default)


def _row(build: Build) -> tuple[object, ...]:
    return build.version, build.cuda, build.cudnn, build.os, build.tag, build.default


def _built(build: Build) -> dict[str, Any]:
    return {
        "version": str(build.version),
        "cuda": str(build.cuda),
        "cudnn": str(build.cudnn) if build.cudnn else None,
        "os": build.os,
        "tag": build.tag,
        "default": build.default,
        "source": cite(build),
    }


def _shown(value: str | None) -> str:
    return "-" if value is None else value

"""Put packages into a store and compose every toolkit that they make possible."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path

from cudaswitch import archives
from cudaswitch.compose import compose, overlay
from cudaswitch.errors import StoreError
from cudaswitch.store import MANIFEST, Store, read_manifest
from cudaswitch.toolkit import (
    Package,
    Toolkit,
    current_platform,
    refuse_unsafe_path,
    toolkit_name,
)
from cudaswitch.versions import Version, parse_request


@dataclass(frozen=True)
class Artifact:
    """A file to install, where it came from (without credentials), and its source's name."""

    path: Path
    origin: str
    source: str = "file"


def install(
    store: Store,
    artifacts: Sequence[Artifact],
    *,
    platform: str | None = None,
    release: Version | None = None,
    force: bool = False,
) -> list[Toolkit]:
    """Put packages in and compose every toolkit that they make possible.

    `release` is the CUDA release that pieces of a toolkit belong together as; without
    one it is read off nvcc or the runtime among them. Returns the toolkits that can
    now be used. Nothing is changed where one file cannot be installed.
    """
    named = [(artifact, archives.identify(artifact.path)) for artifact in artifacts]
    for artifact, package in named:
        _refuse_foreign(package, artifact, platform)
    _refuse_rivals(named)
    version = release or _release([package for _, package in named])
    store.home.require_writable()
    with contextlib.ExitStack() as held:
        # In one order for everybody, so that two installs never wait for each other.
        staged = [
            _stage(store, artifact, package, force, held)
            for artifact, package in sorted(named, key=lambda pair: pair[1].id)
        ]
        for package, stage in staged:
            if stage is not None:
                store.publish(stage, store.home.packages / package.id, package.to_json())
    made = _compose_all(store, [package for package, _ in staged], version, force)
    store.publish_requests()
    return made


def _stage(
    store: Store, artifact: Artifact, identity: Package, force: bool, held: contextlib.ExitStack
) -> tuple[Package, Path | None]:
    """Unpack one file for publishing; no folder where the store has it already."""
    held.enter_context(store.lock(identity.id))
    present = read_manifest(store.home.packages / identity.id / MANIFEST)
    if present and not force:
        return _same(Package.from_json(present), artifact), None
    stage = held.enter_context(store.staged(f"package-{identity.id}"))
    (stage / "tree").mkdir()
    (stage / "info").mkdir()
    package = replace(
        archives.unpack(artifact.path, stage / "tree", stage / "info"),
        source=artifact.source,
        origin=artifact.origin,
        date=datetime.now(timezone.utc).isoformat(timespec="seconds"),
    )
    if package.id != identity.id:
        raise StoreError(f"`{artifact.path}` changed while it was read", "try again")
    return package, stage


def _same(present: Package, artifact: Artifact) -> Package:
    if archives.sha256_of(artifact.path) != present.sha256:
        raise StoreError(
            f"`{artifact.path}` claims to be {present.id}, which is installed from"
            f" `{present.origin}` with other content",
            "give --force to put this one in its place",
        )
    return present


def _compose_all(
    store: Store, packages: Sequence[Package], release: Version | None, force: bool
) -> list[Toolkit]:
    pieces = [package for package in packages if package.component not in ("cuda", "cudnn")]
    groups = [(package.version, [package]) for package in packages if package.component == "cuda"]
    if pieces and release:
        groups.append((release, pieces))
    libraries = [package for package in store.packages() if package.component == "cudnn"]
    made = []
    for version, group in groups:
        made.append(_compose(store, version, group, None, force))
        made += [
            _compose(store, version, group, cudnn, force)
            for cudnn in libraries
            if _fits(cudnn, version, group[0].platform)
        ]
    done = {kit.name for kit in made}
    for cudnn in [package for package in packages if package.component == "cudnn"]:
        for kit in [kit for kit in store.toolkits() if kit.cudnn is None]:
            if _fits(cudnn, kit.version, kit.platform):
                name = toolkit_name(kit.version, cudnn.version, kit.platform)
                if name not in done:
                    made.append(_extend(store, kit, cudnn, force))
    return made


def _extend(store: Store, kit: Toolkit, cudnn: Package, force: bool) -> Toolkit:
    """Compose a toolkit that is there with one more cuDNN."""
    if kit.source == "system":
        return _overlay(store, kit, cudnn)
    by_id = {package.id: package for package in store.packages()}
    group = [by_id[package] for package in kit.packages if package in by_id]
    return _compose(store, kit.version, group, cudnn, force)


def _compose(
    store: Store, version: Version, group: Sequence[Package], cudnn: Package | None, force: bool
) -> Toolkit:
    platform = group[0].platform
    name = toolkit_name(version, cudnn.version if cudnn else None, platform)
    final = store.home.toolkits / name
    group = _joined(store, final, group, force)
    packages = [*group, *([cudnn] if cudnn else [])]
    kit = Toolkit(
        name=name,
        version=version,
        cudnn=cudnn.version if cudnn else None,
        path=str(final),
        source=group[0].source,
        platform=platform,
        packages=tuple(package.id for package in packages),
    )
    with store.lock(name):
        present = read_manifest(final / MANIFEST)
        if present and Toolkit.from_json(present) == kit and not force:
            return kit
        with store.staged(f"toolkit-{name}") as stage:
            parts = [(package, store.tree(package)) for package in packages]
            compose(parts, stage, final, version)
            store.publish(stage, final, kit.to_json())
    return kit


def _joined(store: Store, final: Path, group: Sequence[Package], force: bool) -> Sequence[Package]:
    """Join pieces with those that the toolkit of that name has; refuse another whole one."""
    present = read_manifest(final / MANIFEST)
    if not present or force:
        return group
    kit = Toolkit.from_json(present)
    ids = {package.id for package in group}
    if ids <= set(kit.packages) and kit.source != "system":
        by_id = {package.id: package for package in store.packages()}
        return [by_id[at] for at in kit.packages if by_id[at].component != "cudnn"]
    if kit.source == "system" or any(package.component == "cuda" for package in group):
        place = kit.path if kit.source == "system" else kit.packages[0]
        raise StoreError(
            f"toolkit {kit.name} is there already, from `{place}`",
            f"cudaswitch remove {kit.name}",
        )
    replaced = {package.component for package in group}
    others = [package for package in store.packages() if package.id in kit.packages]
    kept = [package for package in others if package.component not in {*replaced, "cudnn"}]
    return [*group, *kept]


def adopt(store: Store, path: Path, version: Version) -> Toolkit:
    """Register a toolkit in its place, and compose it with every cuDNN that fits."""
    refuse_unsafe_path(str(path))
    store.home.require_writable()
    kit = Toolkit(
        toolkit_name(version, None, current_platform()),
        version,
        None,
        str(path),
        "system",
        current_platform(),
    )
    with store.lock(kit.name):
        present = read_manifest(store.home.toolkits / kit.name / MANIFEST)
        if present and present["path"] != kit.path:
            raise StoreError(
                f"toolkit {kit.name} is there already, at `{present['path']}`",
                f"give it another name: cudaswitch adopt {path} --as VERSION",
            )
        if not present:
            with store.staged(f"toolkit-{kit.name}") as stage:
                store.publish(stage, store.home.toolkits / kit.name, kit.to_json())
    for package in store.packages():
        if package.component == "cudnn" and _fits(package, version, kit.platform):
            _overlay(store, kit, package)
    store.publish_requests()
    return kit


def _overlay(store: Store, kit: Toolkit, cudnn: Package) -> Toolkit:
    name = toolkit_name(kit.version, cudnn.version, kit.platform)
    final = store.home.toolkits / name
    composed = replace(kit, name=name, cudnn=cudnn.version, path=str(final), packages=(cudnn.id,))
    with store.lock(name):
        if not read_manifest(final / MANIFEST):
            with store.staged(f"toolkit-{name}") as stage:
                overlay(Path(kit.path), stage)
                compose([(cudnn, store.tree(cudnn))], stage, final, kit.version)
                store.publish(stage, final, composed.to_json())
    return composed


def _fits(cudnn: Package, version: Version, platform: str) -> bool:
    if cudnn.platform != platform:
        return False
    return cudnn.cuda is None or parse_request(cudnn.cuda).accepts(version)


def _release(packages: Sequence[Package]) -> Version | None:
    """Read the release of loose pieces off nvcc, else off the runtime."""
    pieces = {package.component: package for package in packages}
    if not set(pieces) - {"cuda", "cudnn"}:
        return None
    for component in ("nvcc", "cudart"):
        if component in pieces:
            return pieces[component].version
    names = ", ".join(sorted(package.name for package in pieces.values()))
    raise StoreError(
        f"no toolkit can be made of {names} alone",
        "install it together with the CUDA runtime (cudart) of its release, in one command",
    )


def _refuse_foreign(package: Package, artifact: Artifact, platform: str | None) -> None:
    wanted = platform or current_platform()
    if package.platform in (wanted, "noarch"):
        return
    raise StoreError(
        f"`{artifact.path.name}` is for {package.platform}, and this is {wanted}"
        if platform is None
        else f"`{artifact.path.name}` is for {package.platform}, not for {platform}",
        f"to keep it for such a machine, add --platform {package.platform}",
    )


def _refuse_rivals(named: Sequence[tuple[Artifact, Package]]) -> None:
    seen: dict[str, Artifact] = {}
    for artifact, package in named:
        rival = seen.setdefault(package.id, artifact)
        if rival is artifact or archives.sha256_of(rival.path) == archives.sha256_of(artifact.path):
            continue
        raise StoreError(
            f"`{rival.path}` and `{artifact.path}` both claim to be {package.id}",
            "install the one that you trust",
        )

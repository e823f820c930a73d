"""Which toolkits packages make, and where one would take another's place. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from cudaswitch.errors import StoreError
from cudaswitch.namedtuples import NamedTuple
from cudaswitch.toolkit import METAPACKAGE, Package, Toolkit, platform_of, toolkit_name
from cudaswitch.versions import Version, parse_request

_LIBRARY = "libcudnn"
"""conda-forge's package of cuDNN's libraries; `libcudnn-dev` has the rest."""
_CORE = ("nvcc", "cudart", "crt", "nvvm")
"""Components that compile only with those of the same release; their versions show which."""
_ONLY_ONE = "install only one of them"


class Recipe(NamedTuple):
    """A toolkit to be, and its packages; if two bring the same path, the first wins."""

    toolkit: Toolkit
    packages: tuple[Package, ...]


class Shared(NamedTuple):
    """What shared stores have: toolkits that cuDNN can be laid over, by name, and those that are
    made with packages, by the id of the package and by name.
    """

    grounds: Mapping[str, Toolkit]
    made: Mapping[str, Mapping[str, Toolkit]]


NOTHING_SHARED = Shared({}, {})


class Stock(NamedTuple):
    """What a store has, together with the packages that are about to come into it.

    `folder` is where toolkits are composed, `packages` are by id and `toolkits` by name;
    `new` are the ids that this install is about, `force` lets them take another's place, and
    with `exact` a toolkit is made of them alone. `shared` is what other stores have for it.
    """

    folder: str
    packages: Mapping[str, Package]
    toolkits: Mapping[str, Toolkit]
    new: frozenset[str] = frozenset()
    force: bool = False
    exact: bool = False
    shared: Shared = NOTHING_SHARED

    def recipes(self, release: Version | None) -> list[Recipe]:
        """Plan every toolkit that the new packages make possible.

        `release` is the CUDA release of loose pieces. Raises StoreError if one would
        take the place of a toolkit that has other packages.
        """
        new = [self.packages[at] for at in sorted(self.new)]
        pieces = [package for package in new if package.component not in ("cuda", "cudnn")]
        groups = [(package.version, [package]) for package in new if package.component == "cuda"]
        if pieces and release:
            groups.append((release, pieces))
        made: dict[str, Recipe] = {}
        for version, group in groups:
            for recipe in self._of_group(version, group):
                rival = made.setdefault(recipe.toolkit.name, recipe)
                if rival.packages != recipe.packages:
                    raise _both(recipe.toolkit.name, rival.packages[0], recipe.packages[0])
        libraries = [package.id for package in new if package.component == "cudnn"]
        if libraries:
            for kit in self.toolkits.values():
                for recipe in self.with_cudnn(kit):
                    if not set(libraries).isdisjoint(recipe.toolkit.packages):
                        made.setdefault(recipe.toolkit.name, recipe)
            for recipe in self._over_shared(set(libraries)):
                made.setdefault(recipe.toolkit.name, recipe)
        return list(made.values())

    def _over_shared(self, libraries: set[str]) -> Iterator[Recipe]:
        """Plan toolkits of shared stores with the user's cuDNN, unless those stores have them."""
        own = {_bare_name(kit) for kit in self.toolkits.values() if kit.base is None}
        there = self.shared.made
        for kit in self.shared.grounds.values():
            for recipe in self.with_cudnn(kit) if _bare_name(kit) not in own else ():
                used = libraries.intersection(recipe.toolkit.packages)
                if used and not any(recipe.toolkit.name in there.get(at, ()) for at in used):
                    yield recipe

    def with_cudnn(self, kit: Toolkit) -> Iterator[Recipe]:
        """Plan an installed toolkit with each cuDNN that fits it."""
        if kit.base or (kit.source == "system" and kit.packages):
            return
        is_elsewhere = kit.source == "system" or self.shared.grounds.get(kit.name) is kit
        base = kit.path if is_elsewhere else None
        parts = () if base else self._parts(kit)
        for cudnn in self._libraries(kit.version, kit.platform):
            recipe = self._recipe(kit.version, kit.platform, kit.source, parts, cudnn, base)
            # A cuDNN that was copied into an adopted toolkit is there already.
            if base is None or recipe.toolkit.name != kit.name:
                yield recipe

    def _of_group(self, version: Version, group: Sequence[Package]) -> Iterator[Recipe]:
        platform, source = platform_of(group), group[0].source
        parts = self._joined(version, group)
        for cudnn in ((), *self._libraries(version, platform)):
            yield self._recipe(version, platform, source, parts, cudnn)

    def _recipe(
        self,
        version: Version,
        platform: str,
        source: str,
        parts: Sequence[Package],
        cudnn: Sequence[Package],
        base: str | None = None,
    ) -> Recipe:
        packages = (*parts, *cudnn)
        library = cudnn[0].version if cudnn else None
        name = toolkit_name(version, library, platform)
        kit = Toolkit(
            name=name,
            version=version,
            cudnn=library,
            path=f"{self.folder}/{name}",
            source=source,
            platform=platform,
            packages=tuple(package.id for package in packages),
            base=base,
        )
        return Recipe(kit, packages)

    def _joined(self, version: Version, group: Sequence[Package]) -> Sequence[Package]:
        """Join pieces with those that the toolkit has; refuse a second whole toolkit."""
        name = toolkit_name(version, None, platform_of(group))
        # A toolkit that is laid over another one gives way.
        mine = (kit for kit in self.toolkits.values() if kit.base is None)
        kits = [kit for kit in mine if _bare_name(kit) == name]
        if not kits:
            return group
        kit = kits[0]
        whole = any(package.component == "cuda" for package in group)
        if kit.source == "system":
            if self.force:
                return group
            raise _taken(kit.name, kit.path)
        ids = {package.id for package in group}
        if self.exact:
            if not self.force:
                self._refuse_others(kits, ids)
            return group
        parts = self._parts(kit)
        if ids <= set(kit.packages):
            return parts
        if whole:
            if self.force:
                return group
            raise _taken(kit.name, kit.packages[0])
        return [*group, *(part for part in parts if not _gives_way(part, group))]

    def _refuse_others(self, kits: Sequence[Toolkit], ids: set[str]) -> None:
        """Raise StoreError if some of these are made of other packages than `ids`."""
        differing = {kit.name: ids ^ {part.id for part in self._parts(kit)} for kit in kits}
        names = [name for name, others in differing.items() if others]
        if not names:
            return
        first, *more = sorted(differing[names[0]])
        several, are = ("s", "are") if names[1:] else ("", "is")
        raise StoreError(
            f"toolkit{several} {', '.join(names)} {are} already installed, from other packages"
            f" ({first}" + (f" and {len(more)} more differ)" if more else " differs)"),
            f"cudaswitch remove {' '.join(names)}, or use --force",
        )

    def _parts(self, kit: Toolkit) -> list[Package]:
        """Return the packages of a composed toolkit without its cuDNN."""
        missing = [at for at in kit.packages if at not in self.packages]
        if missing:
            raise StoreError(
                f"toolkit {kit.name} is missing its package {missing[0]}",
                f"cudaswitch verify {kit.name} --repair",
            )
        found = [self.packages[at] for at in kit.packages]
        return [package for package in found if package.component != "cudnn"]

    def _libraries(self, version: Version, platform: str) -> list[tuple[Package, ...]]:
        """Choose the cuDNN packages to go with a toolkit, one for each name that it can have.

        The same cuDNN comes as several packages (conda's, NVIDIA's, PyPI's); one of them is
        chosen, with its remaining parts if it is conda-forge's.
        """
        chosen: dict[str, Package] = {}
        fitting = [
            package
            for package in self.packages.values()
            if _fits(package, version) and not _is_rest(package)
        ]
        for cudnn in sorted(fitting, key=lambda package: (package.version, package.id)):
            if cudnn.platform != platform:
                continue
            name = toolkit_name(version, cudnn.version, platform)
            rival = chosen.get(name)
            if rival is None or self._rank(name, cudnn) >= self._rank(name, rival):
                chosen[name] = cudnn
            loser = rival if chosen[name] is cudnn else cudnn
            if loser and loser.id in self.new:
                if chosen[name].id in self.new:
                    raise _both(name, chosen[name], loser)
                raise _taken(name, chosen[name].id)
        return [(cudnn, *self._rest_of(cudnn)) for cudnn in chosen.values()]

    def _rest_of(self, cudnn: Package) -> list[Package]:
        """Return the packages of headers and links for a library that came without them."""
        if cudnn.name != _LIBRARY:
            return []
        rest = [package for package in self.packages.values() if _is_rest(package)]
        same = (cudnn.version, cudnn.cuda, cudnn.platform)
        # All builds: an earlier one had no headers.
        fitting = [one for one in rest if (one.version, one.cuda, one.platform) == same]
        return sorted(fitting, key=lambda one: one.id)

    def _rank(self, name: str, cudnn: Package) -> tuple[bool, bool, bool]:
        kit = self.toolkits.get(name)
        is_new = cudnn.id in self.new
        return (self.force and is_new, bool(kit and cudnn.id in kit.packages), is_new)


def release_of_pieces(packages: Sequence[Package]) -> Version | None:
    """Read the release of loose pieces off nvcc, else off the runtime; None without pieces.

    Raises StoreError if neither is among them, if they are of several releases, or if one is there
    in two versions or builds.
    """
    pieces = [package for package in packages if package.component not in ("cuda", "cudnn")]
    if not pieces:
        return None
    core = [package for package in pieces if package.component in _CORE]
    releases = {package.version.minor: package for package in core}
    if len(releases) > 1:
        named = ", ".join(f"{one.name} {one.version}" for one in releases.values())
        raise StoreError(
            f"these belong to different CUDA releases, and do not compile together: {named}",
            "install the packages of one release at a time",
        )
    seen: dict[tuple[str, str], Package] = {}
    for package in pieces:
        rival = seen.setdefault((package.name, package.platform), package)
        if rival.id != package.id:
            raise StoreError(
                f"{rival.id} and {package.id} are the same piece of a toolkit", _ONLY_ONE
            )
    for component in ("nvcc", "cudart"):
        if versions := [package.version for package in core if package.component == component]:
            return max(versions)
    names = ", ".join(sorted({package.name for package in pieces}))
    hint = "install it together with the CUDA runtime (cudart) of the same release, in one command"
    if any(package.component == METAPACKAGE for package in pieces):
        hint = "it has no files: install it together with what it depends on, in one command"
    raise StoreError(f"a toolkit cannot be made from {names} alone", hint)


def _gives_way(part: Package, group: Sequence[Package]) -> bool:
    """Tell whether a toolkit's piece is replaced by one of the pieces that join it.

    Of the same version, another name is another part of it: conda has libraries and headers apart.
    """
    rivals = (package for package in group if package.component == part.component)
    return any(one.name == part.name or one.version != part.version for one in rivals)


def _is_rest(package: Package) -> bool:
    return package.component == "cudnn" and package.name.startswith(f"{_LIBRARY}-")


def _fits(package: Package, version: Version) -> bool:
    if package.component != "cudnn":
        return False
    return package.cuda is None or parse_request(package.cuda).accepts(version)


def _bare_name(kit: Toolkit) -> str:
    return toolkit_name(kit.version, None, kit.platform)


def _both(name: str, one: Package, other: Package) -> StoreError:
    return StoreError(f"{one.id} and {other.id} would both be toolkit {name}", _ONLY_ONE)


def _taken(name: str, place: str) -> StoreError:
    return StoreError(
        f"toolkit {name} is already installed, based on `{place}`",
        f"cudaswitch remove {name}, or use --force",
    )

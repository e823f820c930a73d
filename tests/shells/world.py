"""A model of a shell: what every variable must be after any events, in plain lists.

It knows what conda, virtualenvs and people do to lists, and of cudaswitch only the promise:
the strongest owner that asks has its toolkit in front; what was put in is taken out once, at its
first place, and only if there are more copies than before; a value is restored if it is still
ours; a word goes among flags if nobody has said something similar, and is taken out once, with
the blank that came with it. That conda exports a PATH which it computed too early must not show.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from shells.kits import Kit


class Want(NamedTuple):
    """What one owner asks for; no kit is `system`."""

    kit: Kit | None
    env: str | None = None


@dataclass(frozen=True)
class Place:
    """An environment: its folder, its pin (None: none), and whether it brings its own CUDA."""

    prefix: str
    pinned: bool = False
    kit: Kit | None = None
    bundled: bool = False
    xla: bool = False
    """Whether it has a framework that looks for libdevice outside."""

    @property
    def bin(self) -> str:
        return f"{self.prefix}/bin"

    @property
    def want(self) -> Want:
        return Want(self.kit, self.prefix)


@dataclass
class Applied:
    """What was put in, and how many copies were there before."""

    want: Want
    bin: int
    old: int | None
    lib: dict[str, int]
    ld_was_unset: bool
    was: dict[str, str | None]
    words: dict[str, str]
    """The words that were put among flags, by variable."""


def wordless(flags: str, word: str) -> str:
    """Remove a word, which may contain blanks, from flags that are separated by blanks."""
    parts = flags.replace(word, "\0").split(" ")
    if "\0" in parts:
        parts.remove("\0")
    return " ".join(parts).replace("\0", word)


def counted(elements: list[str], element: str, most: dict[str, int]) -> int:
    return min(elements.count(element), most.get(element, len(elements)))


def without(elements: list[str], element: str, copies: int) -> list[str]:
    if elements.count(element) <= copies:
        return elements
    at = elements.index(element)
    return elements[:at] + elements[at + 1 :]


@dataclass
class World:
    """The state of a shell. `heedless` is the same shell without cudaswitch."""

    conda_places: dict[str, Place]
    venv_places: dict[str, Place]
    directories: dict[str, Kit | None]
    path: list[str]
    ld: list[str] | None
    scalars: dict[str, str]
    cd_looks: bool
    """Whether the shell looks at every `cd`, not only at the prompt."""
    hears: bool = False
    """Whether conda tells the shell when it has finished; `at_once`: whether that looks then."""
    at_once: bool = False
    heedless: bool = False
    old: list[str] | None = None
    levels: list[tuple[Place, bool]] = field(default_factory=list)
    venv: Place | None = None
    wants: dict[str, Want] = field(default_factory=dict)
    previous: tuple[Want | None] | None = None
    """What `use -` returns to, once there was a choice."""
    cwd: str = "nowhere"
    seen: tuple[object, ...] = ()
    entered: tuple[object, ...] = ()
    """What was active when the last hook settled, until the next look."""
    finished: bool = False
    """Whether conda has told the shell that it has finished since the last look."""
    repaired: bool = False
    """Whether the hook of an environment that was left ran, after which conda's end repairs."""
    applied: Applied | None = None

    # -- the promise ------------------------------------------------------------------

    @property
    def conda(self) -> Place | None:
        return self.levels[-1][0] if self.levels else None

    def stood_on(self) -> list[Place]:
        """The environments that others were stacked on and that are on PATH with them."""
        pairs = zip(self.levels, self.levels[1:], strict=False)
        return [it for (it, _), (_, stacked) in pairs if stacked and it.bin in self.path]

    def comes_before(self, conda: str, venv: str) -> bool:
        places = [
            self.path.index(f"{e}/bin") if f"{e}/bin" in self.path else None for e in (conda, venv)
        ]
        return places[0] is not None and (places[1] is None or places[0] < places[1])

    def strongest(self) -> Want | None:
        conda, venv = self.wants.get("C"), self.wants.get("V")
        order = "UCVD"
        if conda and venv and not self.comes_before(str(conda.env), str(venv.env)):
            order = "UVCD"
        return next((self.wants[owner] for owner in order if owner in self.wants), None)

    def inside(self) -> Place | None:
        """The active environment."""
        conda, venv = self.conda, self.venv
        if venv and not (conda and self.comes_before(conda.prefix, venv.prefix)):
            return venv
        return conda

    def reached(self) -> list[Place]:
        """The environments whose packages are in use: none of these has a Python of its own."""
        inside, venv = self.inside(), self.venv
        found = [inside] if inside else []
        for lower in reversed(self.stood_on() if inside is self.conda else []):
            if found[-1].pinned:
                break
            if venv and not self.comes_before(lower.prefix, venv.prefix):
                return [*found, venv]
            found.append(lower)
        if venv and found and found[-1] is not venv and not found[-1].pinned:
            found.append(venv)
        return found

    def words(self, kit: Kit) -> dict[str, str]:
        """Return the words to put among flags, by variable."""
        found = {}
        if not kit.compiler:
            return {}
        nvcc = self.scalars.get("NVCC_PREPEND_FLAGS", "")
        if not self.scalars.get("CUDAHOSTCXX") and "-ccbin" not in nvcc:
            found["NVCC_PREPEND_FLAGS"] = f"-ccbin={kit.compiler}"
        flags = self.scalars.get("XLA_FLAGS", "-")
        has_room = flags[:1] in ("-", " ", "") and "xla_gpu_cuda_data_dir" not in flags
        if any(each.xla for each in self.reached()) and has_room:
            found["XLA_FLAGS"] = kit.data_dir
        return found

    def undo(self) -> None:
        done, self.applied = self.applied, None
        if done is None or done.want.kit is None:
            return
        kit = done.want.kit
        left = self.old is None and self.venv is None and done.old is not None
        self.path = without(self.path, kit.bin, int(done.old or 0) if left else done.bin)
        if self.old is not None:
            self.old = without(self.old, kit.bin, done.bin if done.old is None else done.old)
        if self.ld is not None:
            before = self.ld
            for folder, copies in done.lib.items():
                self.ld = without(self.ld, folder, copies)
            if self.ld != before and not self.ld and done.ld_was_unset:
                self.ld = None
        self.give_back(done, kit)

    def give_back(self, done: Applied, kit: Kit) -> None:
        ours = dict(kit.scalars)
        if "NVCC_PREPEND_FLAGS" in done.words:
            ours["CUDAHOSTCXX"] = str(kit.compiler)
        for name, value in ours.items():
            if self.scalars.get(name) == value:
                was = done.was[name]
                if was is None:
                    del self.scalars[name]
                else:
                    self.scalars[name] = was
        for name, word in done.words.items():
            before = self.scalars.get(name)
            if before == word and done.was[name] is None:
                del self.scalars[name]
            elif before is not None:
                self.scalars[name] = wordless(before, word)

    def settle(self) -> None:
        if self.heedless:
            return
        # Folders that the user added in the meantime may have been removed again.
        done = self.applied
        unset = done is not None and done.ld_was_unset and self.ld != []
        self.undo()
        want = self.strongest()
        if want is None or (kit := want.kit) is None:
            return
        # Copies that came since the same kit was put in were not there before.
        most = {}
        if done and done.want.kit is kit:
            most = done.lib | {kit.bin: done.bin if done.old is None else min(done.bin, done.old)}
        libraries = () if any(each.bundled for each in self.reached()) else kit.lib
        words = self.words(kit)
        named = [*kit.scalars, "CUDAHOSTCXX", *words]
        self.applied = Applied(
            want,
            bin=counted(self.path, kit.bin, most),
            old=None if self.old is None else counted(self.old, kit.bin, most),
            lib={folder: counted(self.ld or [], folder, most) for folder in libraries},
            ld_was_unset=unset or (bool(libraries) and self.ld is None),
            was={name: self.scalars.get(name) for name in named},
            words=words,
        )
        self.path = [kit.bin, *self.path]
        if self.old is not None:
            self.old = [kit.bin, *self.old]
        if libraries:
            self.ld = [*libraries, *(self.ld or [])]
        self.scalars |= kit.scalars
        if "NVCC_PREPEND_FLAGS" in words:
            self.scalars["CUDAHOSTCXX"] = str(kit.compiler)
            parts = words["NVCC_PREPEND_FLAGS"], self.scalars.get("NVCC_PREPEND_FLAGS")
            self.scalars["NVCC_PREPEND_FLAGS"] = " ".join(filter(None, parts))
        if "XLA_FLAGS" in words:
            parts = self.scalars.get("XLA_FLAGS"), words["XLA_FLAGS"]
            self.scalars["XLA_FLAGS"] = " ".join(filter(None, parts))

    def look(self) -> None:
        """Do what the prompt does when something changed, and `off` always."""
        if self.heedless:
            return
        before = self.applied.want if self.applied else None
        now = (self.conda, self.venv)
        moved = self.finished and self.lost() if self.seen[:2] == now else self.entered != now
        self.entered, self.finished = (), False
        for owner, active in (("V", self.venv), ("C", self.conda)):
            want = self.wants.get(owner)
            below = owner == "C" and want and f"{want.env}/bin" in self.path
            if want and not below and (active is None or active.prefix != want.env):
                del self.wants[owner]
        for owner, active in (("V", self.venv), ("C", self.conda)):
            if active and active.pinned and owner not in self.wants:
                self.wants[owner] = active.want
                self.settle()
        below = next((it for it in reversed(self.stood_on()) if it.pinned), None)
        if below and "C" not in self.wants:
            self.wants["C"] = below.want
            self.settle()
        if self.wants.keys() & {"C", "V"}:
            self.wants.pop("D", None)
        elif "U" not in self.wants:
            self.wants.pop("D", None)
            asked = self.directories[self.cwd]
            if asked:
                self.wants["D"] = Want(asked)
        if moved or self.strongest() != before:
            self.settle()
        self.seen = (self.conda, self.venv, self.cwd)

    def conda_finished(self) -> None:
        self.finished = self.hears
        # When a pinned environment is left for none, and nothing is applied or asked for, the
        # prompt is early enough.
        waits = self.repaired and self.conda is None and self.applied is None
        waits = waits and self.directories[self.cwd] is None
        want, conda = self.wants.get("C"), self.conda
        # The repair has applied what an environment below asks for.
        hooked = want and (self.repaired or (conda and want.env == conda.prefix))
        if self.at_once and self.seen and not hooked and not waits:
            self.look()

    def _settle_entered(self) -> None:
        self.settle()
        if self.seen:
            self.entered = (self.conda, self.venv)

    def lost(self) -> bool:
        """Tell whether what is applied is gone, while a conda environment is active."""
        kit = self.applied and self.applied.want.kit
        if not (kit and self.conda):
            return False
        return (
            kit.bin not in self.path
            or (bool(self.applied.lib) and kit.lib[0] not in (self.ld or []))
            or self.scalars.get("CUDA_HOME") != str(kit.home)
        )

    def prompt(self) -> None:
        if self.finished or self.seen != (self.conda, self.venv, self.cwd):
            self.look()

    # -- what people do to cudaswitch -------------------------------------------------

    def child(self) -> None:
        """Go on in a child shell, which loads cudaswitch and knows only what is exported."""
        self.seen = self.entered = ()
        self.look()

    def use(self, kit: Kit | None) -> None:
        self._choose(Want(kit))

    def use_previous(self) -> None:
        if self.previous is not None:
            self._choose(self.previous[0])

    def off(self) -> None:
        self._choose(None)

    def use_by_text(self, kit: Kit | None) -> None:
        """Evaluate what `cudaswitch env` prints, without integration."""
        self.wants["U"] = Want(kit)
        self.settle()

    def _choose(self, want: Want | None) -> None:
        before = self.wants.pop("U", None)
        if want or before:
            self.previous = (before,)
        if want is None:
            self.look()
        else:
            self.wants["U"] = want
            self.settle()

    # -- conda and virtualenvs --------------------------------------------------------

    def _replace(self, old: Place | None, new: Place | None) -> None:
        wanted = [new.bin] if new else []
        if old is None or old.bin not in self.path:
            self.path = wanted + self.path
            return
        at = self.path.index(old.bin)
        self.path = self.path[:at] + wanted + self.path[at + 1 :]

    def _conda_hooks(self, left: Place | None, entered: Place | None) -> None:
        self.repaired = bool(left and left.pinned and "C" in self.wants)
        if self.repaired:
            self.seen = ("left",)
            del self.wants["C"]
            self.settle()
            below = next((it for it in reversed(self.stood_on()) if it.pinned), None)
            if below:
                self.wants["C"] = below.want
                self.settle()
        if entered and entered.pinned:
            self.wants["C"] = entered.want
            self._settle_entered()

    def activate(self, name: str, stack: bool = False) -> None:
        new, old = self.conda_places[name], self.conda
        if new == old:
            self.reactivate()
            return
        left = None if stack else old
        self._replace(left, new)
        self.levels.append((new, stack and old is not None))
        self._conda_hooks(left, new)
        self.conda_finished()

    def reactivate(self) -> None:
        if self.conda:
            self._replace(self.conda, self.conda)
            self._conda_hooks(self.conda, self.conda)
            self.conda_finished()

    def deactivate(self) -> None:
        if not self.levels:
            return
        left, stacked = self.levels.pop()
        self._replace(left, None if stacked else self.conda)
        self._conda_hooks(left, self.conda)
        self.conda_finished()

    def venv_activate(self, name: str) -> None:
        new = self.venv_places[name]
        # The new script brings its own `deactivate`, which it calls first.
        self._venv_leave(hooked=new.pinned)
        self.venv, self.old = new, self.path
        self.path = [new.bin, *self.path]
        if new.pinned:
            # This virtualenv may be left for another before the next prompt.
            self.seen = self.seen and ("entered",)
            self.wants["V"] = new.want
            self._settle_entered()

    def venv_deactivate(self) -> None:
        if self.venv:
            self._venv_leave(hooked=self.venv.pinned)

    def _venv_leave(self, *, hooked: bool) -> None:
        left = self.venv
        if left and hooked and left.pinned and "V" in self.wants:
            self.seen = ("left",)
            del self.wants["V"]
            self.venv = None
            self.settle()
        self.venv = None
        if self.old is not None:
            self.path, self.old = self.old, None

    # -- people -----------------------------------------------------------------------

    def cd(self, name: str) -> None:
        self.cwd = name
        if self.cd_looks:
            self.look()

    def prepend(self, variable: str, folder: str) -> None:
        self._set(variable, [folder, *(self._get(variable) or [])])

    def append(self, variable: str, folder: str) -> None:
        self._set(variable, [*(self._get(variable) or []), folder])

    def drop(self, variable: str, folder: str) -> None:
        if elements := self._get(variable):
            self._set(variable, without(elements, folder, 0))

    def set_libraries(self, elements: list[str] | None) -> None:
        self.ld = elements

    def set_value(self, name: str, value: str | None) -> None:
        if value is None:
            self.scalars.pop(name, None)
        else:
            self.scalars[name] = value

    def _get(self, variable: str) -> list[str] | None:
        return self.path if variable == "PATH" else self.ld

    def _set(self, variable: str, elements: list[str]) -> None:
        if variable == "PATH":
            self.path = elements
        else:
            self.ld = elements

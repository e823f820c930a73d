"""The change to an environment as a value: applied to a mapping and undone exactly. Pure.

This is core.sh in Python, with the same state in the same variables (described there), so
that a child started by `exec` can be switched on by any shell, and the other way round.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

LIBRARY_FOLDERS = ("lib64", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib", "lib")
"""Where a toolkit's libraries are, best first; only the first that is there is used."""

_STATE = "_CUDASWITCH_"
_LISTS = (("PATH", "BIN"), ("_OLD_VIRTUAL_PATH", "OLD"), ("LD_LIBRARY_PATH", "LIB"))


class Want(NamedTuple):
    """What one owner asks for, as the state variables spell it: HOME[:option]...

    `home` is a toolkit's folder, or `system` for none; `libraries` governs
    LD_LIBRARY_PATH; `gpus` is the value for CUDA_VISIBLE_DEVICES; `env` the environment
    whose hook asked.
    """

    home: str
    libraries: str | None = None
    gpus: str | None = None
    env: str | None = None

    def __str__(self) -> str:
        options = {"lib": self.libraries, "gpus": self.gpus, "env": self.env}
        return ":".join([self.home, *(f"{key}={value}" for key, value in options.items() if value)])

    @property
    def options(self) -> str:
        """What stands behind the home, without the environment."""
        return str(Want("", self.libraries, self.gpus)).removeprefix(":")

    @classmethod
    def parse(cls, text: str) -> Want:
        home, *fields = text.split(":")
        found = dict(field.split("=", 1) for field in fields if "=" in field)
        return cls(home, found.get("lib"), found.get("gpus"), found.get("env"))


class EnvironmentChange(NamedTuple):
    """What a toolkit adds: folders in front of lists, and variables set."""

    want: Want
    prepend: dict[str, tuple[str, ...]]
    set: dict[str, str]

    def applied(self, environment: Mapping[str, str], owner: str | None = None) -> dict[str, str]:
        """Return the environment with the change in place of the one before.

        `owner` says who asked (`U` is `use`) where the state does not hold it yet.
        """
        result = undone(environment)
        if owner:
            result[_STATE + owner] = str(self.want)
        result[_STATE + "ON"] = str(self.want) + (":nvcc" if "CUDACXX" in self.set else "")
        for name, record in _LISTS:
            # What a virtualenv gives back as PATH when it is left is treated as PATH is.
            folders = self.prepend.get("PATH" if record == "OLD" else name, ())
            before = result.get(name)
            if not folders or (record == "OLD" and before is None):
                continue
            if name == "LD_LIBRARY_PATH" and before is None:
                result[_STATE + "LD"] = "unset"
            elements = before.split(":") if before else []
            result[_STATE + record] = ":".join(f"{elements.count(at)}{at}" for at in folders)
            result[name] = ":".join([*folders, *elements])
        for name, value in self.set.items():
            if name in result:
                result[f"{_STATE}WAS_{name}"] = result[name]
            result[name] = value
        return result


def change(want: Want, is_there: Callable[[str], bool], bundled: bool) -> EnvironmentChange:
    """Work out what a toolkit adds.

    `is_there` tells whether a path exists; `bundled` whether the active environment
    brings its own CUDA, which then is left alone in LD_LIBRARY_PATH.
    """
    home = want.home
    libraries: tuple[str, ...] = ()
    if want.libraries == "always" or (want.libraries != "never" and not bundled):
        folders = [f"{home}/{at}" for at in LIBRARY_FOLDERS if is_there(f"{home}/{at}")][:1]
        cupti = f"{home}/extras/CUPTI/lib64"
        libraries = (*folders, *([cupti] if is_there(cupti) else []))
    variables = dict.fromkeys(("CUDA_HOME", "CUDA_PATH", "CUDAToolkit_ROOT"), home)
    if is_there(f"{home}/bin/nvcc"):
        variables["CUDACXX"] = f"{home}/bin/nvcc"
    variables |= gpu_variables(want.gpus)
    return EnvironmentChange(
        want, {"PATH": (f"{home}/bin",), "LD_LIBRARY_PATH": libraries}, variables
    )


def gpu_variables(gpus: str | None) -> dict[str, str]:
    """Return the variables that let CUDA see only these GPUs, numbered as nvidia-smi does."""
    return {"CUDA_VISIBLE_DEVICES": gpus, "CUDA_DEVICE_ORDER": "PCI_BUS_ID"} if gpus else {}


def undone(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment without what is applied: only what we put in, each once."""
    result = dict(environment)
    for name, record in _LISTS:
        before = result.get(name)
        entries = result.pop(_STATE + record, "")
        if name == "PATH":
            entries += ":" + result.pop(_STATE + "GONE", "")
        if before is None:
            continue
        after = _without(before, entries)
        if after == before:
            continue
        result[name] = after
        if name == "LD_LIBRARY_PATH" and not after and result.get(_STATE + "LD") == "unset":
            del result[name]
    result.pop(_STATE + "LD", None)
    on = result.pop(_STATE + "ON", "")
    if on:
        for name, value in change(Want.parse(on), lambda _: on.endswith(":nvcc"), True).set.items():
            was = result.pop(f"{_STATE}WAS_{name}", None)
            if result.get(name) == value:
                if was is None:
                    del result[name]
                else:
                    result[name] = was
    return result


def without_choices(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment as if cudaswitch were not there: undone, and no state left."""
    result = undone(environment)
    return {name: value for name, value in result.items() if not name.startswith(_STATE)}


def chosen(environment: Mapping[str, str]) -> Want | None:
    """Return what `use` asks for in an environment."""
    text = environment.get(_STATE + "U", "")
    return Want.parse(text) if text else None


def applied(environment: Mapping[str, str]) -> Want | None:
    """Return the want that is applied in an environment."""
    on = environment.get(_STATE + "ON", "")
    return Want.parse(on) if on else None


def _without(value: str, record: str) -> str:
    elements = value.split(":")
    for item in filter(None, record.split(":")):
        count, _, rest = item.partition("/")
        folder = f"/{rest}"
        if count.isascii() and count.isdigit() and elements.count(folder) > int(count):
            elements.remove(folder)
    return ":".join(elements)

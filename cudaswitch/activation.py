"""The change to an environment as a value: applied to a mapping and undone exactly. Pure.

This is core.sh in Python, with the same state in the same variables (described there), so
that a child started by `exec` can be switched on by any shell, and the other way round.
"""

from __future__ import annotations

from cudaswitch.namedtuples import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

HOMES = ("CUDA_HOME", "CUDA_PATH", "CUDAToolkit_ROOT")
"""Names that programs use for the variable with a toolkit's folder, the usual one first."""
LIBRARY_FOLDERS = ("lib64", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib", "lib")
"""Where a toolkit's libraries are, best first; only the first that is there is used."""
CUPTI = "extras/CUPTI/lib64"
"""Where NVIDIA's installers put CUPTI."""
COMPILER_OPTIONS = ("-ccbin", "--compiler-bindir")
"""How nvcc's flags name the host compiler."""

_STATE = "_CUDASWITCH_"
_LISTS = (("PATH", "BIN"), ("_OLD_VIRTUAL_PATH", "OLD"), ("LD_LIBRARY_PATH", "LIB"))
_WORDS = {"NVCC_PREPEND_FLAGS": "CC", "XLA_FLAGS": "XLA"}
_DATA_DIR = "xla_gpu_cuda_data_dir"


class Want(NamedTuple):
    """What one owner asks for, as the state variables spell it: HOME[:option]...

    `home` is a toolkit's folder, or `system` for none; `libraries` governs
    LD_LIBRARY_PATH; `gpus` is the value for CUDA_VISIBLE_DEVICES; `env` the environment
    whose hook asked; `compiler` the host compiler if nvcc refuses the usual one; it need not
    exist.
    """

    home: str
    libraries: str | None = None
    gpus: str | None = None
    env: str | None = None
    compiler: str | None = None

    def __str__(self) -> str:
        options = {
            "cc": self.compiler,
            "lib": self.libraries,
            "gpus": self.gpus,
            "env": self.env,
        }
        return ":".join([self.home, *(f"{key}={value}" for key, value in options.items() if value)])

    @property
    def options(self) -> str:
        """What follows the home, without the environment."""
        return str(self._replace(home="", env=None)).removeprefix(":")

    @classmethod
    def parse(cls, text: str) -> Want:
        home, *fields = text.split(":")
        found = dict(field.split("=", 1) for field in fields if "=" in field)
        return cls(home, *map(found.get, ("lib", "gpus", "env", "cc")))


class EnvironmentChange(NamedTuple):
    """What a toolkit adds: folders in front of lists, variables set, a word among flags."""

    want: Want
    prepend: dict[str, tuple[str, ...]]
    set: dict[str, str]
    flags: dict[str, str]

    def applied(self, environment: Mapping[str, str], owner: str | None = None) -> dict[str, str]:
        """Return the environment with the change in place of the one before.

        `owner` says who asked (`U` is `use`) if the state does not contain it yet.
        """
        result, regained = undone(environment), _regained(environment)
        until_now = ":".join(environment.get(_STATE + name, "") for _, name in _LISTS).split(":")
        if owner:
            result[_STATE + owner] = str(self.want)
        result[_STATE + "ON"] = str(self.want) + (":nvcc" if "CUDACXX" in self.set else "")
        # Keep this record: folders that the user has added since may be removed again.
        if environment.get("LD_LIBRARY_PATH") and environment.get(_STATE + "LD") == "unset":
            result[_STATE + "LD"] = "unset"
        if theirs := self._kept_aside(result):
            result[_STATE + "KEPT"] = ":".join([result["CONDA_SHLVL"], *theirs])
        for name, record in _LISTS:
            # The PATH that a virtualenv restores when it is left is treated like PATH.
            folders = self.prepend.get("PATH" if record == "OLD" else name, ())
            before = result.get(name)
            if not folders or (record == "OLD" and before is None):
                continue
            if name == "LD_LIBRARY_PATH" and before is None:
                result[_STATE + "LD"] = "unset"
            elements = before.split(":") if before else []
            counts = (_count(elements, at, () if name in regained else until_now) for at in folders)
            result[_STATE + record] = ":".join(map("{}{}".format, counts, folders))
            result[name] = ":".join([*folders, *elements])
        values = dict(self.set)
        for name, word in self.flags.items():
            result[_STATE + _WORDS[name]] = word
            before = result.get(name, "")
            # Of two compilers, nvcc takes the last: one that is named later wins.
            parts = (word, before) if name == "NVCC_PREPEND_FLAGS" else (before, word)
            values[name] = " ".join(filter(None, parts))
        for name, value in values.items():
            if name in result:
                result[f"{_STATE}WAS_{name}"] = result[name]
            result[name] = value
        return result

    def _kept_aside(self, environment: Mapping[str, str]) -> list[str]:
        among = self.flags | {"LD_LIBRARY_PATH": self.want.home}
        level = _number(environment.get("CONDA_SHLVL", ""))
        copies = [copy for copy in _copies(environment) if _level(copy) < level]
        return [
            name
            for name, ours in (self.set | among).items()
            if any(
                environment[copy] == ours or (name in among and ours in environment[copy])
                for copy in _of(name, copies)
            )
        ]


def change(
    want: Want,
    is_there: Callable[[str], bool],
    bundled: bool,
    xla: bool,
    environment: Mapping[str, str],
) -> EnvironmentChange:
    """Work out what a toolkit adds.

    `is_there` tells whether a path exists; `bundled` whether the active environment
    brings its own CUDA, so that LD_LIBRARY_PATH is left alone; `xla` whether it looks
    for libdevice; `environment` are the variables in which the change is made.
    """
    home = want.home
    libraries: tuple[str, ...] = ()
    if want.libraries == "always" or (want.libraries != "never" and not bundled):
        libraries = library_folders(home, is_there)
    variables = _scalars(want, has_nvcc=is_there(f"{home}/bin/nvcc"))
    before = undone(environment)
    flags = {}
    compiler = host_compiler(want, before, is_there)
    if compiler and is_there(compiler):
        variables["CUDAHOSTCXX"] = compiler
        flags["NVCC_PREPEND_FLAGS"] = f"-ccbin={compiler}"
    if xla and is_there(f"{home}/nvvm/libdevice") and _takes_flags(before.get("XLA_FLAGS", "")):
        flags["XLA_FLAGS"] = data_dir(home)
    lists = {"PATH": (f"{home}/bin",), "LD_LIBRARY_PATH": libraries}
    return EnvironmentChange(want, lists, variables, flags)


def library_folders(home: str, is_there: Callable[[str], bool]) -> tuple[str, ...]:
    """List the folders of a toolkit that belong on LD_LIBRARY_PATH: its libraries', and CUPTI's."""
    folders = [f"{home}/{at}" for at in LIBRARY_FOLDERS if is_there(f"{home}/{at}")][:1]
    cupti = f"{home}/{CUPTI}"
    return (*folders, *([cupti] if is_there(cupti) else []))


def host_compiler(
    want: Want, environment: Mapping[str, str], is_there: Callable[[str], bool]
) -> str:
    """Return the compiler to name to nvcc, "" for none; it need not exist.

    If conda's compilers are active, it is theirs, as for conda-forge's own nvcc. Any other that
    somebody has named stays, as does a gcc that an environment has put on PATH.
    """
    conda, named = environment.get("CONDA_PREFIX", ""), chosen_compiler(environment)
    found = want.compiler or ""
    if not found or _names_compiler(environment):
        return ""
    # conda-forge's compilers have names of their own, without a folder since the end of 2025.
    if named and conda and "/" not in named and is_there(f"{conda}/bin/{named}"):
        named = f"{conda}/bin/{named}"
    if named:
        found = named if conda and named.startswith(f"{conda}/") else ""
    elif conda and is_there(f"{conda}/bin/gcc"):
        return ""
    # nvcc splits its flags at blanks and knows no quotes.
    return "" if " " in found or "\t" in found else found


def chosen_compiler(environment: Mapping[str, str]) -> str:
    """Return the C++ compiler that CXX names, "" if that is the usual one, as in CI."""
    named = environment.get("CXX", "")
    return "" if named in ("g++", "c++") else named


def _names_compiler(environment: Mapping[str, str]) -> bool:
    flags = " ".join(environment.get(f"NVCC_{at}_FLAGS", "") for at in ("PREPEND", "APPEND"))
    return bool(environment.get("CUDAHOSTCXX") or environment.get("NVCC_CCBIN")) or any(
        option in flags for option in COMPILER_OPTIONS
    )


def _takes_flags(named: str) -> bool:
    """Tell whether XLA_FLAGS has room for our flag: it may be the name of a file of flags."""
    return (not named or named[0] in "- \t") and _DATA_DIR not in named


def data_dir(home: str) -> str:
    """Spell the flag that tells XLA where a toolkit is: it takes a quoted value for one word."""
    return f'--{_DATA_DIR}="{home}"' if " " in home or "\t" in home else f"--{_DATA_DIR}={home}"


def _scalars(want: Want, *, has_nvcc: bool) -> dict[str, str]:
    """Return the variables that a toolkit sets whatever there was, each with its value."""
    compiler = {"CUDACXX": f"{want.home}/bin/nvcc"} if has_nvcc else {}
    return dict.fromkeys(HOMES, want.home) | compiler | gpu_variables(want.gpus)


def gpu_variables(gpus: str | None) -> dict[str, str]:
    """Return the variables that let CUDA see only these GPUs, numbered as nvidia-smi does."""
    return {"CUDA_VISIBLE_DEVICES": gpus, "CUDA_DEVICE_ORDER": "PCI_BUS_ID"} if gpus else {}


def undone(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment without what is applied: only what we put in, each once."""
    result, regained = dict(environment), _regained(environment)
    # If conda kept the same value or folder before us, it is the user's own.
    level, *names = result.pop(_STATE + "KEPT", "").split(":")
    theirs = tuple(f"_{name}" for name in names)
    copies = [
        copy
        for copy in _copies(result)
        if _level(copy) >= _number(level) or not copy.endswith(theirs)
    ]
    records = {name: result.pop(_STATE + record, "") for name, record in _LISTS}
    gone = result.pop(_STATE + "GONE", "")
    # An activation that came after us took its snapshot with our entries in it.
    records["_OLD_VIRTUAL_PATH"] = records["_OLD_VIRTUAL_PATH"] or records["PATH"]
    left = not (result.get("_OLD_VIRTUAL_PATH") or result.get("VIRTUAL_ENV"))
    for name, entries in records.items():
        also = f":{gone}" if name == "PATH" else ""
        for copy in _of(name, copies):
            result[copy] = _without(result[copy], entries + also)
        before = result.get(name)
        if before is None:
            continue
        # A virtualenv that was left has restored the PATH that it kept.
        ours = records["_OLD_VIRTUAL_PATH"] if name == "PATH" and left else entries
        after = _without(before, ours + also)
        if after == before:
            continue
        result[name] = after
        if name == "LD_LIBRARY_PATH" and not after and result.get(_STATE + "LD") == "unset":
            del result[name]
    result.pop(_STATE + "LD", None)
    private = result.pop(_STATE + "UNEXPORTED", "").split()
    on = result.pop(_STATE + "ON", "")
    if on:
        words = {name: result.pop(_STATE + record, "") for name, record in _WORDS.items()}
        values = _scalars(Want.parse(on), has_nvcc=on.endswith(":nvcc"))
        if words["NVCC_PREPEND_FLAGS"]:
            values["CUDAHOSTCXX"] = words["NVCC_PREPEND_FLAGS"].removeprefix("-ccbin=")
        _give_back(result, values, copies)
        _take_out(result, words, copies)
    # To conda, an empty copy is none; one that was empty before is not ours to remove.
    away = {copy for copy in copies if environment[copy] and not result.get(copy)}
    # A variable that was not exported before was in no environment; one with a later value is.
    for name in private:
        if result.get(name) == environment.get(f"{_STATE}WAS_{name}", result.get(name)):
            away.add(name)
    return {name: value for name, value in result.items() if name not in away} | regained


def _regained(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that conda has restored from copies that it made before us.

    It leaves its copies behind. Scripts of an environment may have added to a list since; what
    stands there beside our folders has not been restored.
    """
    level, *names = environment.get(_STATE + "KEPT", "").split(":")
    left = range(_number(environment.get("CONDA_SHLVL", "")), _number(level))
    copies = [copy for copy in _copies(environment) if environment[copy] and _level(copy) in left]
    record = environment.get(_STATE + "LIB", "").split(":")
    ours = {f":{item.lstrip('0123456789')}:" for item in record if item}
    found = {}
    for name in names:
        value = environment.get(name, "")
        for copy in _of(name, copies):
            before, kept, after = f":{value}:".partition(f":{environment[copy]}:")
            if kept and not any(folder in f"{before}:{after}" for folder in ours):
                found[name] = value
    return found


def _copies(environment: Mapping[str, str]) -> list[str]:
    """List the copies that conda keeps, by level, of what an environment's own variables replace.

    It restores them when the environment is left.
    """
    return [name for name in environment if name.startswith("__CONDA_SHLVL_")]


def _level(copy: str) -> int:
    return _number(copy.removeprefix("__CONDA_SHLVL_").partition("_")[0])


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() else 0


def _of(name: str, copies: list[str]) -> list[str]:
    ends = f"_{name}"
    return [
        copy for copy in copies if copy.removeprefix("__CONDA_SHLVL_").removesuffix(ends).isdigit()
    ]


def _give_back(result: dict[str, str], values: Mapping[str, str], copies: list[str]) -> None:
    for name, value in values.items():
        was = result.pop(f"{_STATE}WAS_{name}", None)
        # conda-forge's nvcc_linux-64 keeps copies of two, and restores them when it is left.
        for each in (name, f"{name}_CONDA_NVCC_BACKUP", *_of(name, copies)):
            if result.get(each) == value:
                if was is None:
                    del result[each]
                else:
                    result[each] = was


def _take_out(result: dict[str, str], words: Mapping[str, str], copies: list[str]) -> None:
    # The copy that conda's nvcc keeps would bring our word back when that environment is left.
    aside, named = "NVCC_PREPEND_FLAGS_BACKUP", words["NVCC_PREPEND_FLAGS"]
    if named and aside in result:
        rest = _without_word(result.pop(aside), named)
        if rest or f"{_STATE}WAS_NVCC_PREPEND_FLAGS" in result:
            result[aside] = rest
    for name, word in words.items():
        was = result.pop(f"{_STATE}WAS_{name}", None)
        if not word:
            continue
        for copy in _of(name, copies):
            result[copy] = _without_word(result[copy], word)
        if name in result:
            before = result[name]
            result[name] = _without_word(before, word)
            if before == word and was is None:
                del result[name]


def without_choices(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment as if cudaswitch were not there: undone, and no state left."""
    result = undone(environment)
    return {name: value for name, value in result.items() if not name.startswith(_STATE)}


def chosen(environment: Mapping[str, str]) -> Want | None:
    """Return what `use` asks for in an environment."""
    text = environment.get(_STATE + "U", "")
    return Want.parse(text) if text else None


def follows_unexported(environment: Mapping[str, str]) -> bool:
    """Tell whether a shell follows a CUDASWITCH_VERSION that it has not exported."""
    return bool(environment.get(_STATE + "X")) and not environment.get("CUDASWITCH_VERSION")


def applied(environment: Mapping[str, str]) -> Want | None:
    """Return the want that is applied in an environment."""
    on = environment.get(_STATE + "ON", "")
    return Want.parse(on) if on else None


def _count(elements: list[str], folder: str, until_now: Collection[str]) -> int:
    """Count the copies of a folder, up to what was recorded until now: others came after us."""
    found = elements.count(folder)
    return next((n for n in range(found) if f"{n}{folder}" in until_now), found)


def _without(value: str, record: str) -> str:
    elements = value.split(":")
    for item in filter(None, record.split(":")):
        count, _, rest = item.partition("/")
        folder = f"/{rest}"
        if count.isascii() and count.isdigit() and elements.count(folder) > int(count):
            place = elements.index(folder)
            del elements[place]
            # An empty last element is the colon of a folder that a script has removed.
            if elements[place:] == [""]:
                del elements[place:]
    return ":".join(elements)


def _without_word(flags: str, word: str) -> str:
    """Remove a word, once, and the blank that came with it."""
    if flags == word:
        return ""
    if flags.startswith(f"{word} "):
        return flags.removeprefix(f"{word} ")
    if flags.endswith(f" {word}"):
        return flags.removesuffix(f" {word}")
    return flags.replace(f" {word} ", " ", 1)

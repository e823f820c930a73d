"""The ready answers of the user's own store: `requests/NAME` holds the want for a request.

Shells read them without Python. Whoever writes them holds the store (see `changing`).
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping

from cudaswitch import settings
from cudaswitch.activation import Want
from cudaswitch.durable import write_atomically
from cudaswitch.errors import CudaswitchError
from cudaswitch.paths import FINGERPRINT, Home, listed
from cudaswitch.platforms import current_platform
from cudaswitch.regular import read_regular, toolkit_is_there
from cudaswitch.store import Store, compiler_for, dealias, newest, rank
from cudaswitch.toolkit import Toolkit
from cudaswitch.versions import OPERATORS, Request, Version, parse_request

_MOST_RANGES = 50
"""Limit of ready answers for ranges; when reached, all go, as every change recomputes each."""
_ANSWER_BYTES = 64 << 10
_STORES = ".stores"
"""File that lists the stores of config.toml, colon-separated, for shims and completion."""


def is_on() -> bool:
    """Tell whether to publish answers: with `libraries = always`, the command has to warn."""
    return settings.usual_libraries() != "always"


def publish(store: Store) -> None:
    """Bring all answers up to date. What cannot be written is deleted, and raised as OSError."""
    folder, answers = store.home.requests, _answers(store)
    # Most toolkits answer many names.
    kits = {kit.path: kit for kit in answers.values()}
    compilers = {path: compiler_for(kit) for path, kit in kits.items()}
    wanted = _texts(answers, compilers)
    # Aliases of `auto` and `system` are not among the answers.
    aliases = sorted(store.aliases().items())
    fingerprint = _fingerprint(answers, aliases, compilers)
    found = _published(store.home)
    for name in found.keys() - wanted.keys() - {FINGERPRINT}:
        (folder / name).unlink(missing_ok=True)
    failure: OSError | None = None
    for name, text in wanted.items():
        if found.get(name) != text:
            # No flush: if an answer is lost, Python answers and the next change writes it.
            try:
                write_atomically(folder / name, text, lasting=False)
            except OSError as error:
                # No answer is better than a wrong one.
                (folder / name).unlink(missing_ok=True)
                failure = failure or error
    if failure:
        raise failure
    # If the first change of an empty store failed, leave no fingerprint behind.
    is_bare = not (answers or aliases or FINGERPRINT in found)
    if found.get(FINGERPRINT) != fingerprint and not is_bare:
        write_atomically(folder / FINGERPRINT, fingerprint, lasting=False)


def is_current(store: Store) -> bool:
    """Tell whether the answers are what `publish` would write, as far as a look can tell."""
    answers = _answers(store)
    wanted = {name: kit.path for name, kit in answers.items()} if is_on() else {}
    published = _published(store.home)
    found = {
        name: Want.parse(text.rstrip("\n")).home
        for name, text in published.items()
        if not name.startswith(".")
    }
    # The fingerprint records the setting too: there may be no answer that shows it.
    mode = settings.value("libraries")
    is_told = published.get(FINGERPRINT, mode).rstrip("\n").endswith(mode)
    return found == wanted and is_told and published.get(_STORES, "") == _stores_text()


def add_range(store: Store, request: Request) -> None:
    """Publish the answer to a range, if the store has a toolkit for it."""
    kit, ranges = newest(request, store.present()), _ranges(store.home)
    if kit is None:
        return
    # A script may ask for new ranges without end.
    for name in ranges if len(ranges) >= _MOST_RANGES else ():
        (store.home.requests / name).unlink(missing_ok=True)
    # The compiler that all shells are told, not one that only the caller has.
    want = Want(kit.path, settings.usual_libraries(), compiler=store.compiler_of(kit))
    write_atomically(store.home.requests / str(request), f"{want}\n", lasting=False)


def _texts(answers: Mapping[str, Toolkit], compilers: Mapping[str, str | None]) -> dict[str, str]:
    """Map the files to be in `requests` to their texts, without the fingerprint."""
    usual = settings.usual_libraries()
    wants = {path: f"{Want(path, usual, compiler=at)}\n" for path, at in compilers.items()}
    texts = {name: wants[kit.path] for name, kit in answers.items()} if is_on() else {}
    shared = _stores_text()
    return {**texts, _STORES: shared} if shared else texts


def _fingerprint(
    answers: Mapping[str, Toolkit],
    aliases: list[tuple[str, str]],
    compilers: Mapping[str, str | None],
) -> str:
    from hashlib import sha256  # noqa: PLC0415  # only writing needs it

    offered = [
        # Not the path, as stores are moved; an adopted toolkit elsewhere is another one.
        (name, kit.name if kit.packages else kit.path, compilers[kit.path])
        for name, kit in sorted(answers.items())
        if not _is_range(name)
    ]
    told = repr((offered, aliases))
    return f"{sha256(told.encode()).hexdigest()} {settings.value('libraries')}\n"


def _published(home: Home) -> dict[str, str]:
    """Return the ready answers by name; other processes may be changing them."""
    found = {}
    for name in listed(home.requests):
        # What is not a regular file is not an answer.
        with contextlib.suppress(OSError):
            text = read_regular(home.at("requests", name), _ANSWER_BYTES, head=True)
            found[name] = text.decode(errors="replace")
    return found


def _ranges(home: Home) -> list[str]:
    """List the ranges that have been asked for."""
    folder = home.at("requests")
    names = filter(_is_range, listed(folder))
    return [name for name in names if os.path.isfile(f"{folder}/{name}")]


def _answers(store: Store) -> dict[str, Toolkit]:
    """Map requests to the toolkits that they mean here: 10.1, 10.1+cudnn7, an alias.

    Ranges that have been asked for are included. A request whose toolkit is away for now has
    no answer, as it means that toolkit again once it is back: until then Python answers.
    """
    kits = [kit for kit in store.toolkits() if kit.platform == current_platform()]
    answers: dict[str, Toolkit] = {}
    for kit in kits:
        versions = _prefixes(kit.version)
        libraries = [f"+cudnn{text}" for text in _prefixes(kit.cudnn)] if kit.cudnn else []
        for version in (*versions, "latest"):
            for library in ["", *(libraries or ["+cudnnnone"])]:
                words = version, library.removeprefix("+cudnn")
                rival = answers.get(version + library)
                if rival is None or rank(kit, *words) >= rank(rival, *words):
                    answers[version + library] = kit
    ranges = {name: name for name in _ranges(store.home)}
    for name, text in {**store.aliases(), **ranges}.items():
        with contextlib.suppress(CudaswitchError):
            if found := newest(dealias(parse_request(text), [store]), kits):
                answers[name] = found
    return {name: kit for name, kit in answers.items() if toolkit_is_there(kit.ground)}


def _stores_text() -> str:
    """Return the content of _STORES, "" if config.toml names no shared stores."""
    shared = settings.stores_in_file()
    return f"{shared}\n" if shared else ""


def _is_range(name: str) -> bool:
    return name.startswith(OPERATORS)


def _prefixes(version: Version) -> list[str]:
    # As numbers: `010` and `10` mean the same, so neither may have an answer of its own.
    parts = list(map(str, version.parts))
    return [".".join(parts[:count]) for count in range(1, len(parts) + 1)]

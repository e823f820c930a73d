"""What an environment's frameworks ask for, worked out once and kept until packages change."""

from __future__ import annotations

import os
import time

from cudaswitch import settings
from cudaswitch.activation import Want
from cudaswitch.environments import Environment
from cudaswitch.errors import CudaswitchError, NotInstalledError, StoreError, UnfitError
from cudaswitch.namedtuples import NamedTuple
from cudaswitch.paths import home, listed
from cudaswitch.store import all_present, all_stores, offered, taken

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from cudaswitch.resolver import Resolution
    from cudaswitch.toolkit import Toolkit


class Answer(NamedTuple):
    """What an environment asks for; `want` is None if it needs nothing or none may be chosen.

    `refusal` says why none may be: nothing fits this machine, it is not installed, or everybody
    may change it; `caution`, which is never raised, why the answer may not do.
    """

    want: Want | None
    refusal: CudaswitchError | None = None
    caution: CudaswitchError | None = None


def resolved(environment: Environment, kits: Sequence[Toolkit]) -> Resolution:
    """Work out what the frameworks of an environment need; `kits` are there to choose from.

    Raises UnfitError if this machine cannot run them.
    """
    from pathlib import Path  # noqa: PLC0415  # slow to load

    from cudaswitch.detect.facts import facts_of  # noqa: PLC0415  # reads tables that few need
    from cudaswitch.detect.toolkits import absent  # noqa: PLC0415  # the same
    from cudaswitch.resolver import resolve  # noqa: PLC0415  # the same

    resolution = resolve(facts_of(Path(environment.prefix)), kits, absent=absent)
    if not resolution.runs:
        from shlex import quote  # noqa: PLC0415  # only refusals need it

        why = f"`cudaswitch resolve -p {quote(environment.prefix)}` explains why"
        raise UnfitError(
            f"what `{environment.prefix}` holds cannot run here: {why}", resolution.hint
        )
    return resolution


def unknown(environment: Environment, resolution: Resolution) -> str | None:
    """Say that nothing tells which CUDA an environment needs, None if something does."""
    if resolution.cuda or all(it.known for it in resolution.frameworks):
        return None
    return f"cannot tell which CUDA `{environment.prefix}` needs"


def ask(environment: Environment) -> Answer:
    """Work out which toolkit the frameworks of an environment need."""
    stores, kits = all_stores(), all_present()
    try:
        resolution = resolved(environment, kits)
        chosen = taken(stores, lambda kit: kit.name == resolution.toolkit)
    except (UnfitError, StoreError) as error:
        return Answer(None, error)
    why = unknown(environment, resolution) or resolution.caution
    caution = CudaswitchError(why, resolution.hint) if why else None
    if chosen:
        kit = chosen[0]
        want = Want(kit.path, settings.usual_libraries(), compiler=stores[0].compiler_of(kit))
        return Answer(want, caution=caution)
    if resolution.cuda is None or resolution.bundled:
        return Answer(None, caution=caution)
    loads = resolution.request and resolution.request[1]
    library = f" with cuDNN {resolution.cudnn}" if loads else ""
    return Answer(
        None,
        NotInstalledError(
            f"`{environment.prefix}` needs CUDA {resolution.cuda}{library}, which is not installed",
            resolution.hint,
        ),
    )


def recall(environment: Environment) -> Answer:
    """Return the answer that was kept, unless it is a refusal; otherwise ask and keep it.

    A refusal is raised once, then kept as "no answer" with its reason: shells read what is kept
    (`__cudaswitch_automatic`) at each activation, and must not start Python again. A caller of this
    may have another driver by now, or be on another machine. A refusal of the store itself is not
    kept: it can be mended without a change of what is installed, and only such a change drops
    kept answers.
    """
    kept = environment.answer_kept(home().at("auto"))
    is_refusal = bool(kept and kept[1:] and not kept[0])
    if kept and not is_refusal:
        return Answer(Want.parse(kept[0]) if kept[0] else None)
    # What changes while it is examined is examined again the next time.
    began, installed = time.time_ns(), offered(home())
    answer = ask(environment)
    if "\n" not in environment.prefix and not isinstance(answer.refusal, StoreError):
        _keep(environment, answer, began)
        # Another process may have changed the store meanwhile, and dropped all answers already.
        if offered(home()) != installed:
            _drop(environment.answer_file(home().at("auto")))
    return answer


def _drop(*files: str) -> None:
    for file in files:
        try:
            os.unlink(file)
        except OSError:
            continue


def _keep(environment: Environment, answer: Answer, began: int) -> None:
    import contextlib  # noqa: PLC0415  # like everything that writes
    from pathlib import Path  # noqa: PLC0415

    from cudaswitch.durable import write_atomically  # noqa: PLC0415
    from cudaswitch.ownership import is_another_users  # noqa: PLC0415
    from cudaswitch.staging import plain_modes, require_writable  # noqa: PLC0415

    file = Path(environment.answer_file(home().at("auto")))
    # The user could not replace an answer that root has written.
    if is_another_users(home().folder):
        return
    with contextlib.suppress(CudaswitchError, OSError), plain_modes(home().root):
        require_writable(home())
        # It need not last: it can be worked out again.
        lines = [environment.prefix, str(answer.want or "")]
        if why := answer.refusal or (answer.want and answer.caution):
            lines += [why.message, why.hint or ""]
        write_atomically(file, "".join(f"{line}\n" for line in lines), lasting=False)
        os.utime(file, ns=(began, began))


def refused(environment: Environment) -> CudaswitchError | None:
    """Return the kept reason why an environment has no answer, None if there is none."""
    want, *why = environment.answer_kept(home().at("auto")) or [""]
    return CudaswitchError(*why) if why and not want else None


def forget() -> None:
    """Drop all answers: other toolkits are installed now."""
    folder = home().at("auto")
    _drop(*(f"{folder}/{name}" for name in listed(folder) if name.startswith("%")))

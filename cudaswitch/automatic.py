"""What an environment's frameworks ask for, worked out once and kept until packages change."""

from __future__ import annotations

import contextlib
import os
import time
from typing import NamedTuple

from cudaswitch.activation import Want
from cudaswitch.durable import write_atomically
from cudaswitch.environments import Environment
from cudaswitch.errors import CudaswitchError, NotInstalledError
from cudaswitch.ownership import plain_modes
from cudaswitch.paths import home
from cudaswitch.store import all_stores, own_store


class Answer(NamedTuple):
    """What an environment asks for, None where it needs nothing or none may be chosen.

    `refusal` says why none may be: nothing fits this machine, or it is not installed; `caution`,
    which is never raised, why the answer may not do.
    """

    want: Want | None
    refusal: CudaswitchError | None = None
    caution: CudaswitchError | None = None


def ask(environment: Environment) -> Answer:
    """Work out which toolkit the frameworks of an environment need."""
    from cudaswitch.detect import facts_of  # noqa: PLC0415  # reads tables that few need
    from cudaswitch.resolver import resolve  # noqa: PLC0415  # the same

    kits = [kit for store in all_stores() for kit in store.present()]
    resolution = resolve(facts_of(environment.prefix), kits)
    if not resolution.runs:
        return Answer(
            None,
            CudaswitchError(
                f"what `{environment.prefix}` holds cannot run here:"
                " `cudaswitch resolve` tells why",
                resolution.hint,
            ),
        )
    why = resolution.caution
    if resolution.cuda is None and not all(it.known for it in resolution.frameworks):
        why = f"which CUDA `{environment.prefix}` needs is not known"
    caution = CudaswitchError(why, resolution.hint) if why else None
    if resolution.toolkit is not None:
        kit = next(kit for kit in kits if kit.name == resolution.toolkit)
        return Answer(Want(kit.path, compiler=own_store().compiler_of(kit)), caution=caution)
    if resolution.cuda is None or resolution.bundled:
        return Answer(None, caution=caution)
    library = f" with cuDNN {resolution.cudnn}" if resolution.cudnn else ""
    return Answer(
        None,
        NotInstalledError(
            f"`{environment.prefix}` needs CUDA {resolution.cuda}{library}, which is not installed",
            resolution.hint,
        ),
    )


def recall(environment: Environment) -> Answer:
    """Return the answer that was kept, else ask and keep it.

    A refusal is told to who has to ask, and then kept as no answer: shells look here
    (`__cudaswitch_automatic`) each time that the environment is entered.
    """
    kept = environment.answer_kept(home().automatic)
    if kept is not None:
        return Answer(Want.parse(kept) if kept else None)
    file = environment.answer_file(home().automatic)
    # What changes while it is looked at is looked at again the next time.
    began = time.time_ns()
    answer = ask(environment)
    with contextlib.suppress(CudaswitchError, OSError), plain_modes(home().root):
        home().require_writable()
        file.parent.mkdir(exist_ok=True)
        if "\n" not in str(environment.prefix):
            # It can be worked out again.
            write_atomically(file, f"{environment.prefix}\n{answer.want or ''}\n", lasting=False)
            os.utime(file, ns=(began, began))
    return answer


def forget() -> None:
    """Drop all answers: other toolkits are installed now."""
    for file in home().automatic.glob("%*"):
        with contextlib.suppress(OSError):
            file.unlink()


def want_of(environment: Environment) -> Want | None:
    """Return what an environment's frameworks ask for, None for nothing. Never refuses."""
    return recall(environment).want

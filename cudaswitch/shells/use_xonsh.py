"""What `cudaswitch env --shell xonsh` adds to core_xonsh.py: one choice, made at once.

Runs in xonsh: see `shells.carrying`, which sets `want`.
"""

from __future__ import annotations

from cudaswitch.shells.core_xonsh import settled, variables, write

want: str = globals()["want"]

state = variables()
write(state, settled(state | {"_CUDASWITCH_U": want}))

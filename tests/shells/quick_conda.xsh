# Defines `conda` for xonsh: the transitions of conda_transitions.py, in its order. As conda's
# own integration does, it hands each script to `source-bash`, so every one runs in a bash of
# its own, whose environment comes back.
from xonsh.tools import unthreadable


def _path_with(old, new):
    """Return PATH with one environment in place of another, in front where it is not there."""
    folders = __xonsh__.env.detype()["PATH"].split(":")
    place = folders.index(f"{old}/bin") if old and f"{old}/bin" in folders else None
    ours = [f"{new}/bin"] if new else []
    return ":".join(ours + folders if place is None else folders[:place] + ours + folders[place + 1 :])


def _scripts(prefix, kind):
    from pathlib import Path

    scripts = sorted(Path(prefix, "etc/conda", f"{kind}.d").glob("*.sh"), reverse=kind == "deactivate")
    for script in scripts:
        source-bash --suppress-skip-message @(str(script))


def _named(prefix, level):
    $CONDA_PREFIX = $CONDA_DEFAULT_ENV = prefix
    $CONDA_PROMPT_MODIFIER = f"({prefix}) "
    $CONDA_SHLVL = str(level)


def _conda(args):
    env = __xonsh__.env
    level, old = int(env.get("CONDA_SHLVL", 0)), env.get("CONDA_PREFIX", "")
    stack = "--stack" in args
    if args[0] == "reactivate" or args[-1] == old:
        path = _path_with(old, old)
        _scripts(old, "deactivate")
        $PATH = path
        _scripts(old, "activate")
    elif args[0] == "activate":
        path = _path_with("" if stack else old, args[-1])
        if level and not stack:
            _scripts(old, "deactivate")
        $PATH = path
        _named(args[-1], level + 1)
        if level:
            env[f"CONDA_PREFIX_{level}"] = old
        if level and stack:
            env[f"CONDA_STACKED_{level + 1}"] = "true"
        _scripts(args[-1], "activate")
    elif level == 1:
        $PATH = _path_with(old, "")
        _scripts(old, "deactivate")
        for name in ("CONDA_PREFIX", "CONDA_DEFAULT_ENV", "CONDA_PROMPT_MODIFIER"):
            del env[name]
        $CONDA_SHLVL = "0"
    elif level:
        below = env.pop(f"CONDA_PREFIX_{level - 1}")
        stacked = env.pop(f"CONDA_STACKED_{level}", "")
        $PATH = _path_with(old, "" if stacked else below)
        _scripts(old, "deactivate")
        _named(below, level - 1)
        _scripts(below, "activate")


aliases["conda"] = unthreadable(_conda)

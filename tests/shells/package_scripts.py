"""What packages and people put into `activate.d` and `deactivate.d`, by environment."""

from __future__ import annotations

FOLDERS = {
    "activate": 'export LD_LIBRARY_PATH="$CONDA_PREFIX/own${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"\n',
    "deactivate": """
own_list=:${LD_LIBRARY_PATH-}: own_head=${own_list%%":$CONDA_PREFIX/own:"*}
if [ "$own_head" != "$own_list" ]; then
    own_list=$own_head:${own_list#"$own_head:$CONDA_PREFIX/own:"}
    own_list=${own_list#:} LD_LIBRARY_PATH=${own_list%:}
fi
if [ -z "${LD_LIBRARY_PATH-}" ]; then unset LD_LIBRARY_PATH; fi
unset own_list own_head
""",
}
"""A package that takes out what it put in."""
FLAGS = {
    "activate": """
if [ -n "${NVCC_PREPEND_FLAGS+x}" ]; then
    export NVCC_PREPEND_FLAGS_BACKUP="${NVCC_PREPEND_FLAGS}"
else
    export NVCC_PREPEND_FLAGS_BACKUP="UNSET"
fi
export NVCC_PREPEND_FLAGS="${NVCC_PREPEND_FLAGS-} -ccbin=$CONDA_PREFIX/bin/g++"
""",
    "deactivate": """
if [ -n "${NVCC_PREPEND_FLAGS_BACKUP+x}" ]; then
    if [ "${NVCC_PREPEND_FLAGS_BACKUP}" = "UNSET" ]; then
        unset NVCC_PREPEND_FLAGS
    else
        export NVCC_PREPEND_FLAGS="${NVCC_PREPEND_FLAGS_BACKUP}"
    fi
    unset NVCC_PREPEND_FLAGS_BACKUP
fi
""",
}
"""What conda-forge's cuda-nvcc does to this variable."""
EARLIER_FLAGS = {
    "activate": """
if [ -n "${NVCC_PREPEND_FLAGS+x}" ]; then
    export NVCC_PREPEND_FLAGS_BACKUP="${NVCC_PREPEND_FLAGS}"
fi
export NVCC_PREPEND_FLAGS="${NVCC_PREPEND_FLAGS-} -ccbin=$CONDA_PREFIX/bin/g++"
""",
    "deactivate": """
unset NVCC_PREPEND_FLAGS
if [ -n "${NVCC_PREPEND_FLAGS_BACKUP+x}" ]; then
    export NVCC_PREPEND_FLAGS="${NVCC_PREPEND_FLAGS_BACKUP}"
    unset NVCC_PREPEND_FLAGS_BACKUP
fi
""",
}
"""What it did until September 2025."""
KEEPING = {
    "activate": """
export OLD_LD_LIBRARY_PATH="${LD_LIBRARY_PATH-}" OLD_CUDA_HOME="${CUDA_HOME-}"
export LD_LIBRARY_PATH="$CONDA_PREFIX/kept${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export CUDA_HOME="$CONDA_PREFIX" OLD_PATH="$PATH"
export PATH="$CONDA_PREFIX/tools:$PATH"
""",
    "deactivate": """
export LD_LIBRARY_PATH="$OLD_LD_LIBRARY_PATH" CUDA_HOME="$OLD_CUDA_HOME" PATH="$OLD_PATH"
unset OLD_LD_LIBRARY_PATH OLD_CUDA_HOME OLD_PATH
""",
}
KEEPING_IN_FISH = {
    "activate": """
set -gx OLD_LD_LIBRARY_PATH $LD_LIBRARY_PATH
set -g CUDA_HOME_OLD "$CUDA_HOME"
set -gx LD_LIBRARY_PATH "$CONDA_PREFIX/kept" $LD_LIBRARY_PATH
set -gx CUDA_HOME $CONDA_PREFIX
set -gx PATH_OLD $PATH
set -gx PATH "$CONDA_PREFIX/tools" $PATH
""",
    "deactivate": """
set -gx LD_LIBRARY_PATH $OLD_LD_LIBRARY_PATH
set -gx CUDA_HOME "$CUDA_HOME_OLD"
set -gx PATH $PATH_OLD
set -e PATH_OLD
set -e OLD_LD_LIBRARY_PATH
set -e CUDA_HOME_OLD
""",
}
"""What many have in an `env_vars.sh`: it restores what it found."""
KEEPING_PATH = {
    "activate": 'export OLD_PATH="$PATH" PATH="$CONDA_PREFIX/tools:$PATH"\n',
    "deactivate": 'export PATH="$OLD_PATH"\nunset OLD_PATH\n',
}
KEEPING_PATH_IN_FISH = {
    "activate": 'set -gx OLD_PATH $PATH\nset -gx PATH "$CONDA_PREFIX/tools" $PATH\n',
    "deactivate": "set -gx PATH $OLD_PATH\nset -e OLD_PATH\n",
}
SCRIPTS = {
    **{"g": {"~cuda-nvcc": FLAGS}, "h": {"own": FOLDERS, "~cuda-nvcc": EARLIER_FLAGS}},
    **{"k": {"env_vars": KEEPING}, "m": {"env_vars": KEEPING}, "p": {"path": KEEPING_PATH}},
}
FISH_SCRIPTS = {
    **{"k": {"env_vars": KEEPING_IN_FISH}, "m": {"env_vars": KEEPING_IN_FISH}},
    **{"p": {"path": KEEPING_PATH_IN_FISH}},
}

KEEPS_WHAT_IS_SET = {
    "sh": tuple(
        f'for name in CUDA_HOME LD_LIBRARY_PATH; do\neval "{each}"\nunset $gone$name\ndone'
        for each in (
            r"gone=NO_; export \${$name+OLD_$name=\"\$$name\"} $name=\"\$CONDA_PREFIX\"",
            r"gone=OLD_; unset $name; export HOME \${OLD_$name+$name=\"\$OLD_$name\"}",
        )
    ),
    "fish": tuple(
        f"for name in CUDA_HOME LD_LIBRARY_PATH; set -l old OLD_$name\n{each}\nend"
        for each in (
            "set -q $name; and set -gx $old $$name; set -gx $name $CONDA_PREFIX",
            "set -e $name; set -q $old; and set -gx $name $$old; set -e $old",
        )
    ),
}
"""Scripts that keep a variable only if it is set, as conda-forge's do."""

KEEPS_IN_ANY_CASE = {
    "sh": {
        "activate": """
export CONDA_LD_LIBRARY_PATH_BACKUP="${LD_LIBRARY_PATH-}" CONDA_CUDA_HOME_BACKUP="${CUDA_HOME-}"
export LD_LIBRARY_PATH="$CONDA_PREFIX/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
if [ -x "$CONDA_PREFIX/bin/nvcc" ]; then export CUDA_HOME="$CONDA_PREFIX"; fi
""",
        "deactivate": """
export LD_LIBRARY_PATH="$CONDA_LD_LIBRARY_PATH_BACKUP" CUDA_HOME="$CONDA_CUDA_HOME_BACKUP"
unset CONDA_LD_LIBRARY_PATH_BACKUP CONDA_CUDA_HOME_BACKUP
if [ -z "$LD_LIBRARY_PATH" ]; then unset LD_LIBRARY_PATH; fi
if [ -z "$CUDA_HOME" ]; then unset CUDA_HOME; fi
""",
    },
    "fish": {
        "activate": """
set -gx CONDA_LD_LIBRARY_PATH_BACKUP $LD_LIBRARY_PATH
set -gx CONDA_CUDA_HOME_BACKUP "$CUDA_HOME"
set -gx LD_LIBRARY_PATH $CONDA_PREFIX/lib $LD_LIBRARY_PATH
test -x $CONDA_PREFIX/bin/nvcc; and set -gx CUDA_HOME $CONDA_PREFIX; or true
""",
        "deactivate": """
set -gx LD_LIBRARY_PATH $CONDA_LD_LIBRARY_PATH_BACKUP
set -gx CUDA_HOME "$CONDA_CUDA_HOME_BACKUP"
set -e CONDA_LD_LIBRARY_PATH_BACKUP CONDA_CUDA_HOME_BACKUP
test -n "$LD_LIBRARY_PATH"; or set -e LD_LIBRARY_PATH
test -n "$CUDA_HOME"; or set -e CUDA_HOME
""",
    },
}
"""What several public `env-vars.sh` do: CUDA_HOME is kept always, and replaced with nvcc alone."""

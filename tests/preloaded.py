"""Libraries for LD_PRELOAD: calls that change folders fail, take long, or kill the process."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Literal

_SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static int count;

static int stopped(const char *name, const char *path) {
  const char *home = getenv("CUDASWITCH_HOME"), *at = getenv("PRELOADED_AT");
  if (!at || strcmp(at, name) || (home && path && strncmp(path, home, strlen(home)))) return 0;
  int first = atoi(getenv("PRELOADED_FIRST")), last = atoi(getenv("PRELOADED_LAST"));
  if (++count < first || count > last) return 0;
  switch (getenv("PRELOADED_DO")[0]) {
    case 'k': kill(getpid(), SIGKILL);
    case 's': usleep(30000); return 0;
  }
  errno = atoi(getenv("PRELOADED_ERRNO"));
  return 1;
}

#define CALL(kind, name, path, declared, given) \
  int name declared { \
    if (stopped(kind, path)) return -1; \
    return ((int (*) declared) dlsym(RTLD_NEXT, #name)) given; \
  }

CALL("rename", rename, b, (const char *a, const char *b), (a, b))
CALL("mkdir", mkdir, a, (const char *a, mode_t m), (a, m))
CALL("mkdir", mkdirat, NULL, (int d, const char *a, mode_t m), (d, a, m))
CALL("link", link, b, (const char *a, const char *b), (a, b))
CALL("link", linkat, b, (int c, const char *a, int d, const char *b, int f), (c, a, d, b, f))
CALL("symlink", symlink, b, (const char *a, const char *b), (a, b))
CALL("symlink", symlinkat, NULL, (const char *a, int d, const char *b), (a, d, b))
CALL("unlink", unlink, a, (const char *a), (a))
CALL("unlink", unlinkat, NULL, (int d, const char *a, int f), (d, a, f))
"""


def preloaded(
    folder: Path,
    act: Literal["kill", "sleep", "fail"],
    step: str,
    first: int = 1,
    last: int | None = None,
    number: int = 0,
) -> dict[str, str]:
    """Return the variables with which calls of `step` in the store, from the `first` to the
    `last` (1 << 30 for all), do `act`; those that fail do so with the error `number`."""
    library = folder / "preloaded.so"
    if not library.exists():
        source = folder / "preloaded.c"
        source.write_text(_SOURCE)
        subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    return {
        "LD_PRELOAD": str(library),
        "PRELOADED_AT": step,
        "PRELOADED_DO": act,
        "PRELOADED_FIRST": str(first),
        "PRELOADED_LAST": str(first if last is None else last),
        "PRELOADED_ERRNO": str(number),
    }


EVERY = 1 << 30


def no_hard_links(folder: Path, number: int) -> dict[str, str]:
    """Return the variables with which there are no hard links, as on some file systems."""
    return preloaded(folder, "fail", "link", last=EVERY, number=number)

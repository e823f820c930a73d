/* Counts the calls that change files below one folder, and lets one of them fail, or kills there.
 *
 * Preloaded into a process that forks for each run; the child arms it. Numbers begin with 1. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum act { OFF, COUNT, KILL, FAIL, LIE, HALVE, FILL };

static enum act act = OFF;
static int wanted, number, log_file;
static char root[PATH_MAX];
static size_t root_length;
static atomic_int count;

/* LIE does what is asked, and then says that it failed. FILL fails from there on what takes
 * room. */
void faults_arm(const char *folder, int doing, int at, int error, int descriptor) {
  root_length = strlen(folder);
  memcpy(root, folder, root_length + 1);
  wanted = at;
  number = error;
  log_file = descriptor;
  atomic_store(&count, 0);
  act = doing;
}

static int inside(int folder, const char *path, char *full) {
  char link[64];
  ssize_t length = 0;
  if (!path || path[0] != '/') {
    if (folder == AT_FDCWD)
      length = getcwd(full, PATH_MAX) ? (ssize_t)strlen(full) : -1;
    else {
      snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
      length = readlink(link, full, PATH_MAX - 1);
    }
    if (length < 0) return 0;
    full[length] = 0;
  }
  if (path) snprintf(full + length, PATH_MAX - length, "%s%s", length ? "/" : "", path);
  return !strncmp(full, root, root_length) && (full[root_length] == '/' || !full[root_length]);
}

/* Returns what is to be done with this call. */
static enum act due(const char *name, int folder, const char *path) {
  char full[PATH_MAX], line[PATH_MAX + 64];
  if (act == OFF) return OFF;
  int before = errno, fits = inside(folder, path, full);
  errno = before;
  if (!fits) return OFF;
  int here = atomic_fetch_add(&count, 1) + 1;
  int takes_room = strstr("open write mkdir link symlink fsync", name) != NULL;
  if (act == FILL ? here < wanted || !takes_room : act != COUNT && here != wanted) return OFF;
  int length = snprintf(line, sizeof line, "%d %s %s\n", here, name, full);
  syscall(SYS_write, log_file, line, (size_t)length);
  if (act == KILL) syscall(SYS_kill, getpid(), SIGKILL);
  errno = number;
  return act == FILL ? FAIL : act;
}

#define REAL(name) ((name##_type)dlsym(RTLD_NEXT, #name))

#define CALL(result, name, said, folder, path, declared, given)          \
  typedef result(*name##_type) declared;                                 \
  result name declared {                                                 \
    enum act now = due(said, folder, path);                              \
    if (now == FAIL) return -1;                                          \
    result done = REAL(name) given;                            \
    if (now == LIE) {                                                    \
      errno = number;                                                    \
      return -1;                                                         \
    }                                                                    \
    return done;                                                         \
  }

CALL(int, rename, "rename", AT_FDCWD, b, (const char *a, const char *b), (a, b))
CALL(int, renameat2, "rename", d, b,
     (int c, const char *a, int d, const char *b, unsigned int f), (c, a, d, b, f))
CALL(int, renameat, "rename", d, b, (int c, const char *a, int d, const char *b), (c, a, d, b))
CALL(int, mkdir, "mkdir", AT_FDCWD, a, (const char *a, mode_t m), (a, m))
CALL(int, mkdirat, "mkdir", d, a, (int d, const char *a, mode_t m), (d, a, m))
CALL(int, link, "link", AT_FDCWD, b, (const char *a, const char *b), (a, b))
CALL(int, linkat, "link", d, b, (int c, const char *a, int d, const char *b, int f), (c, a, d, b, f))
CALL(int, symlink, "symlink", AT_FDCWD, b, (const char *a, const char *b), (a, b))
CALL(int, symlinkat, "symlink", d, b, (const char *a, int d, const char *b), (a, d, b))
CALL(int, unlink, "unlink", AT_FDCWD, a, (const char *a), (a))
CALL(int, unlinkat, f & AT_REMOVEDIR ? "rmdir" : "unlink", d, a, (int d, const char *a, int f), (d, a, f))
CALL(int, rmdir, "rmdir", AT_FDCWD, a, (const char *a), (a))
CALL(int, fsync, "fsync", f, NULL, (int f), (f))
CALL(int, fdatasync, "fsync", f, NULL, (int f), (f))
CALL(int, ftruncate, "truncate", f, NULL, (int f, off_t n), (f, n))
CALL(int, ftruncate64, "truncate", f, NULL, (int f, off64_t n), (f, n))
CALL(int, fchmod, "chmod", f, NULL, (int f, mode_t m), (f, m))
CALL(int, chmod, "chmod", AT_FDCWD, a, (const char *a, mode_t m), (a, m))
CALL(int, fchmodat, "chmod", d, a, (int d, const char *a, mode_t m, int f), (d, a, m, f))
CALL(int, futimens, "utime", f, NULL, (int f, const struct timespec t[2]), (f, t))
CALL(int, utimensat, "utime", d, a, (int d, const char *a, const struct timespec t[2], int f),
     (d, a, t, f))
CALL(ssize_t, pwrite, "write", f, NULL, (int f, const void *p, size_t n, off_t o), (f, p, n, o))
CALL(ssize_t, pwrite64, "write", f, NULL, (int f, const void *p, size_t n, off64_t o), (f, p, n, o))
CALL(ssize_t, writev, "write", f, NULL, (int f, const struct iovec *v, int n), (f, v, n))
CALL(ssize_t, sendfile, "write", f, NULL, (int f, int g, off_t *o, size_t n), (f, g, o, n))
CALL(ssize_t, sendfile64, "write", f, NULL, (int f, int g, off64_t *o, size_t n), (f, g, o, n))
CALL(ssize_t, copy_file_range, "write", g, NULL,
     (int f, off64_t *a, int g, off64_t *b, size_t n, unsigned int x), (f, a, g, b, n, x))

typedef ssize_t (*write_type)(int, const void *, size_t);
ssize_t write(int f, const void *p, size_t n) {
  enum act now = due("write", f, NULL);
  if (now == FAIL) return -1;
  return REAL(write)(f, p, now == HALVE && n > 1 ? n / 2 : n);
}

#define OPEN(name, ...) /* what stands before `path` */                        \
  int name(__VA_ARGS__ const char *path, int flags, ...) {                     \
    va_list more;                                                              \
    va_start(more, flags);                                                     \
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0;    \
    va_end(more);                                                              \
    if (flags & (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC)                        \
        && due("open", HERE, path) == FAIL)                                    \
      return -1;                                                               \
    return REAL(name)(GIVEN path, flags, mode);                              \
  }

typedef int (*open_type)(const char *, int, ...);
typedef open_type open64_type;
#define HERE AT_FDCWD
#define GIVEN
OPEN(open)
OPEN(open64)
#undef HERE
#undef GIVEN

typedef int (*openat_type)(int, const char *, int, ...);
typedef openat_type openat64_type;
#define HERE folder
#define GIVEN folder,
OPEN(openat, int folder, )
OPEN(openat64, int folder, )

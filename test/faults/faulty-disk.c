/*
 * Stands between a process and its disk (LD_PRELOAD): counts what is synced, written and opened below one folder, and fails
 * or dies at a chosen call. The parent steers it through a shared file while the process runs; see faulty-disk.ts.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* An error of this number ends the process where it stands. */
#define DIE 9999
/* With this one the call waits until the fault is over, and succeeds. */
#define HANG 9998

struct fault {
  _Atomic int64_t skip;  /* calls that pass first */
  _Atomic int64_t times; /* calls that fail then; -1 for all of them */
  _Atomic int64_t error;
  char suffix[104];      /* of the paths that are meant; empty for all */
};

struct control {
  _Atomic int64_t syncs;
  _Atomic int64_t writes;
  _Atomic int64_t opens;
  char suffix[104]; /* of the paths that are counted; empty for all */
  struct fault sync;
  struct fault write;
  struct fault read;
  struct fault open;
};

static struct control *control;
static char folder[2048];

__attribute__((constructor)) static void start(void) {
  const char *path = getenv("FAULTY_DISK_CONTROL");
  const char *below = getenv("FAULTY_DISK_FOLDER");
  if (path == NULL || below == NULL || strlen(below) >= sizeof folder) return;
  strcpy(folder, below);
  int fd = syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC, 0);
  if (fd < 0) return;
  void *shared = mmap(NULL, sizeof(struct control), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (shared != MAP_FAILED) control = shared;
}

static int has_suffix(const char *path, const char *suffix) {
  size_t length = strlen(path), end = strlen(suffix);
  return length >= end && strcmp(path + length - end, suffix) == 0;
}

/* The error that a call on this path ends with, or 0. */
static int error_of(const char *path, _Atomic int64_t *count, struct fault *fault) {
  if (control == NULL || strncmp(path, folder, strlen(folder)) != 0) return 0;
  if (count != NULL && has_suffix(path, control->suffix)) ++*count;
  if (fault->times == 0 || !has_suffix(path, fault->suffix)) return 0;
  if (fault->skip > 0) {
    fault->skip--;
    return 0;
  }
  if (fault->error == HANG) {
    while (fault->times != 0) usleep(1000);
    return 0;
  }
  if (fault->times > 0) fault->times--;
  if (fault->error == DIE) raise(SIGKILL);
  return (int)fault->error;
}

static int error_of_file(int fd, _Atomic int64_t *count, struct fault *fault) {
  char link[32], path[2048];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length <= 0) return 0;
  path[length] = '\0';
  return error_of(path, count, fault);
}

/* Whether the call fails, with errno set. */
static int fails(int error) {
  if (error != 0) errno = error;
  return error != 0;
}

static int sync_file(long call, int fd) {
  if (control != NULL && fails(error_of_file(fd, &control->syncs, &control->sync))) return -1;
  return (int)syscall(call, fd);
}

int fsync(int fd) { return sync_file(SYS_fsync, fd); }
int fdatasync(int fd) { return sync_file(SYS_fdatasync, fd); }

static ssize_t write_at(int fd, const void *bytes, size_t count, off_t offset) {
  if (control != NULL && fails(error_of_file(fd, &control->writes, &control->write))) return -1;
  return syscall(SYS_pwrite64, fd, bytes, count, offset);
}

ssize_t pwrite(int fd, const void *bytes, size_t count, off_t offset) { return write_at(fd, bytes, count, offset); }
ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t offset) { return write_at(fd, bytes, count, offset); }

static ssize_t read_at(int fd, void *bytes, size_t count, off_t offset) {
  if (control != NULL && fails(error_of_file(fd, NULL, &control->read))) return -1;
  return syscall(SYS_pread64, fd, bytes, count, offset);
}

ssize_t pread(int fd, void *bytes, size_t count, off_t offset) { return read_at(fd, bytes, count, offset); }
ssize_t pread64(int fd, void *bytes, size_t count, off64_t offset) { return read_at(fd, bytes, count, offset); }

/* A read-only file system refuses only what would write. */
static int concerns(struct fault *fault, int writes) { return fault->error != EROFS || writes; }

static int open_file(const char *path, int flags, mode_t mode) {
  int writes = (flags & O_ACCMODE) != O_RDONLY || (flags & O_CREAT);
  if (control != NULL && !concerns(&control->open, writes)) return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
  if (control != NULL && fails(error_of(path, &control->opens, &control->open))) return -1;
  return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int open(const char *path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  mode_t mode = (flags & (O_CREAT | __O_TMPFILE)) ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return open_file(path, flags, mode);
}

int open64(const char *path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  mode_t mode = (flags & (O_CREAT | __O_TMPFILE)) ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return open_file(path, flags, mode);
}

int access(const char *path, int mode) {
  int is_asked = control != NULL && control->open.error == EROFS && (mode & W_OK);
  if (is_asked && fails(error_of(path, NULL, &control->open))) return -1;
  return (int)syscall(SYS_faccessat, AT_FDCWD, path, mode);
}

/* Atomic file writes. A file is written to a hidden temporary name in the same directory, fsynced and renamed. Then the
 * directory is fsynced. After a failure the old file is unchanged, and the temporary file is removed. The error message
 * has the path and, for a full disk, the needed and the free bytes. After a transient error, a new temporary file is
 * written. fsync is not repeated, because a failed fsync marks the pages clean (Rebello et al., ATC 2020). */
#pragma once

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "core/base/err.h"

const char *dg_last_component(const char *path);

typedef struct {
    const void *data;
    size_t bytes;
} dg_chunk;

dg_err dg_write_atomic(const char *path, const dg_chunk *piece, int pieces);

/* Callbacks for output paths that the user names. If a rule is set, dg_write_atomic writes directly to a FIFO or
 * character device, and replaces the target of a symbolic link. */
typedef struct {
    /* Returns the descriptor for the path, such as standard output for "-", or -1 if the path names a file. */
    int (*descriptor)(const char *path);
    dg_err (*may_replace)(int old, const char *path, const dg_chunk *piece, int pieces);
} dg_output_rule;
/* Sets the rule for output files, before other threads write files. Without a rule (NULL, the default), every regular
 * file and link may be replaced. */
void dg_set_output_rule(const dg_output_rule *rule);
/* Returns the descriptor that the output rule has for the path, or -1. */
int dg_output_descriptor(const char *path);

/* An open directory for new files. `lock` is the descriptor of the directory's lock file `lock_name`, or -1. If the
 * lock file has been removed, writing a file fails, because another run may own the directory. */
typedef struct {
    int fd, lock;
    const char *lock_name;
} dg_directory;
/* Like dg_write_atomic, for a file in the open directory `dir` or, if dir is NULL, in the directory of `path`. */
dg_err dg_write_atomic_in(const dg_directory *dir, const char *path, const dg_chunk *piece, int pieces);

/* A regular file that is written in place before it replaces `path`. dg_new_file_open reserves `bytes` on the disk, if
 * the file system can, and returns a descriptor for reading and writing, which the caller closes. dg_new_file_commit
 * gives the file its name, like dg_write_atomic; `head` are its first bytes, for the output rule. dg_new_file_discard
 * removes the file, unless it has its name, and frees f; the descriptor stays valid. */
typedef struct dg_new_file dg_new_file;
dg_err dg_new_file_open(const char *path, size_t bytes, dg_new_file **f, int *fd);
dg_err dg_new_file_commit(dg_new_file *f, dg_chunk head);
void dg_new_file_discard(dg_new_file *f);
/* Like dg_new_file_open, for a file without a name in TMPDIR or, without TMPDIR, in /var/tmp. *path is malloc'd text
 * for messages. */
dg_err dg_nameless_open(size_t bytes, char **path, int *fd);
/* Writes n bytes at an offset. A file that would become too large is an error, and raises no SIGXFSZ. */
dg_err dg_write_at(int fd, const char *path, const void *data, size_t n, int64_t at);

bool dg_may_pass(int error);
/* Returns true after a pause if an operation that failed with `error` should be tried again: three times, after 10, 40
 * and 160 ms. `tries` is the number of retries so far. */
bool dg_try_soon(int error, int tries);

/* Result of dg_leads_to, which compares `name` in `dir` with the open file `fd`. DG_SAME_UNKNOWN means that stat
 * failed. */
typedef enum { DG_SAME_NO, DG_SAME_YES, DG_SAME_UNKNOWN } dg_same;
dg_same dg_leads_to(int dir, const char *name, int fd);

bool dg_is_folder(const char *path);
/* Creates a directory and its missing parents. Adds the number of created directories to *made, which may be NULL. */
dg_err dg_make_directories(const char *directory, int *made);

/* Returns 0, or -1 with errno. */
int dg_sync_directory(int dir);

/* Removes the temporary files that killed runs left in the open directory. */
void dg_sweep_temporaries(int dir);

/* Opens a directory stream for the open directory `dir`, or returns NULL with errno. The caller calls closedir. */
DIR *dg_list_directory(int dir);

/* Reads a whole regular file of at most `limit` bytes, and never blocks on a FIFO. *data is malloc'd and ends with an
 * additional NUL byte. Every error is DG_IO. */
dg_err dg_read_file(const char *path, size_t limit, void **data, size_t *bytes);
/* Like dg_read_file, but reads the last component of path in the open directory `dir`. If dir is -1, reads path
 * itself. */
dg_err dg_read_file_in(int dir, const char *path, size_t limit, void **data, size_t *bytes);
/* Like dg_read_file_in, but refuses a symbolic link, because only dcgan writes the file. */
dg_err dg_read_own_in(int dir, const char *path, size_t limit, void **data, size_t *bytes);

/* Reads a file up to its first NUL byte, so that a sparse file is not read as a whole. *bytes is the size of the file.
 * If `own` is true, a symbolic link is refused. */
dg_err dg_read_text(int dir, const char *path, bool own, size_t limit, void **text, size_t *bytes);

/* Opens a file for dg_read_next, which reads exactly n bytes. The caller closes *fd, which is -1 after an error. */
dg_err dg_read_open(const char *path, size_t limit, int *fd, size_t *bytes);
/* Like dg_read_open, but opens a file in `dir` that only dcgan writes, and refuses a symbolic link. */
dg_err dg_read_own_open(int dir, const char *path, size_t limit, int *fd, size_t *bytes);
dg_err dg_read_next(int fd, const char *path, void *to, size_t n);

/* Reads n bytes, or fewer at the end of the file. Returns the number of bytes read, or -1 with errno. */
ssize_t dg_read_some(int fd, void *to, size_t n);
/* Like dg_read_some, from an offset, without moving the file's position. */
ssize_t dg_read_at(int fd, void *to, size_t n, int64_t at);

/* Outputs other than regular files (core/base/file_stream.c): descriptors, FIFOs, devices, symbolic links. */

/* Writes the chunks to an open descriptor. Every error is DG_IO. A closed pipe is an error, and raises no SIGPIPE. */
dg_err dg_stream_to(int fd, const char *path, const dg_chunk *piece, int pieces);

/* Opens a FIFO or character device for dg_stream_to. A block device or a socket is an error. *fd is -1 for other paths
 * and after an error. Opening a FIFO blocks until a reader opens it. */
dg_err dg_stream_open(const char *path, int *fd);
/* Returns e, or the error of closing. */
dg_err dg_stream_close(int fd, const char *path, dg_err e);

/* Writes the chunks to what dg_stream_open opens, sets *e and returns true. Returns false for other paths. */
bool dg_stream_file(const char *path, const dg_chunk *piece, int pieces, dg_err *e);

/* Stores a malloc'd copy of a symbolic link's target, or NULL if path is not a link. Returns DG_IO if the target does
 * not exist. */
dg_err dg_link_target(const char *path, char **target);

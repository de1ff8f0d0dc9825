/* Whole files or none: written to a hidden temporary name in the same directory, fsynced, renamed over the
 * final name, directory fsynced. After a failure the old file is untouched, the temporary one is gone, and the
 * message says path and bytes needed when the disk is full, and bytes free if they are fewer. An error that may pass,
 * as on a network file system, is tried again with another temporary file: a failed fsync is never repeated (Rebello
 * et al., ATC 2020: the pages are marked clean). */
#ifndef DG_FILE_IO_H
#define DG_FILE_IO_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include "core/base/file_stream.h"

/* The part of a path after its last slash; within path. */
const char *dg_last_component(const char *path);

dg_err dg_write_atomic(const char *path, const dg_chunk *piece, int pieces);

/* How this process writes the files that it names by a path, not those in a dg_directory. With a rule, a FIFO or a
 * character device is written to directly, and a symbolic link stays: its target is written, whole or not at all. */
typedef struct {
    /* The descriptor that the path stands for, as "-" may for standard output; -1: the path names a file. */
    int (*descriptor)(const char *path);
    /* DG_OK: the regular file `old`, open for reading, may be replaced by the pieces. Asked just before the rename. */
    dg_err (*may_replace)(int old, const char *path, const dg_chunk *piece, int pieces);
} dg_output_rule;
/* NULL, as in the beginning: no rule, every regular file and link may be replaced. Not while other threads write. */
void dg_set_output_rule(const dg_output_rule *rule);

/* An open directory for files to go to, wherever their path leads by now; messages show the path. lock: a descriptor of
 * the file lock_name in it, which must still be there when a new file gets its name, or the directory may be another
 * run's; -1: it need not. */
typedef struct {
    int fd, lock;
    const char *lock_name;
} dg_directory;
/* dg_write_atomic for the file of that name there; dir = NULL: the directory that the path names. */
dg_err dg_write_atomic_in(const dg_directory *dir, const char *path, const dg_chunk *piece, int pieces);

/* Is it worth to try again after this errno? */
bool dg_may_pass(int error);

/* Does the name, in the open directory or from the root, lead to this open file? DG_SAME_UNKNOWN: the system did not
 * say. */
typedef enum { DG_SAME_NO, DG_SAME_YES, DG_SAME_UNKNOWN } dg_same;
dg_same dg_leads_to(int dir, const char *name, int fd);

/* Bring the names in the open directory to the disk: 0, or -1 with errno. */
int dg_sync_directory(int dir);

/* Remove temporary files that a killed run left in the open directory. Only names of our own pattern. */
void dg_sweep_temporaries(int dir);

/* Read the open directory's entries from its beginning; NULL with errno. The caller closes it with closedir. */
DIR *dg_list_directory(int dir);

/* Read a whole regular file of at most `limit` bytes; never blocks on a FIFO. *data is malloc'd, with one
 * extra NUL byte behind it. DG_IO with path and reason. */
dg_err dg_read_file(const char *path, size_t limit, void **data, size_t *bytes);
/* The same for the file of that name in the open directory `dir`; dir = -1: the one that the path names. */
dg_err dg_read_file_in(int dir, const char *path, size_t limit, void **data, size_t *bytes);
/* dg_read_file_in for a file that only the program writes: a symbolic link is refused. */
dg_err dg_read_own_in(int dir, const char *path, size_t limit, void **data, size_t *bytes);

/* Text of such a file up to its first NUL byte, behind which nothing is read, as of a sparse file; *bytes: of the file.
 * own: as dg_read_own_in. */
dg_err dg_read_text(int dir, const char *path, bool own, size_t limit, void **text, size_t *bytes);

/* The same piece by piece, for a file whose beginning says whether the rest is wanted: open it, then take the next n
 * bytes, of which there must be as many. After an error *fd is -1; else the caller closes it. */
dg_err dg_read_open(const char *path, size_t limit, int *fd, size_t *bytes);
/* dg_read_open for a file that only the program writes, in the open directory: a symbolic link is refused. */
dg_err dg_read_own_open(int dir, const char *path, size_t limit, int *fd, size_t *bytes);
dg_err dg_read_next(int fd, const char *path, void *to, size_t n);

/* Up to n bytes, fewer at the end of the file alone: how many, or -1 with errno. */
ssize_t dg_read_some(int fd, void *to, size_t n);

#endif

#include "host/rundir/history.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/file_io.h"
#include "core/base/numbered.h"

static const char newest[] = "checkpoint.safetensors", folder_name[] = "later-than-";
/* link to a rewind's checkpoint whose name is not one of dcgan's */
static const char renamed[] = "checkpoint-chosen.safetensors";
static const char *const best[] = {"best.safetensors", "checkpoint-best.safetensors"};

static uint64_t of_checkpoint(const char *name) { return dg_numbered(name, "checkpoint-", ".safetensors"); }
static uint64_t of_image(const char *name) { return dg_numbered(name, "epoch-", ".png"); }

static bool is_own_name(const char *name)
{
    return of_checkpoint(name) || !strcmp(name, newest) || !strcmp(name, renamed) || !strcmp(name, best[0]) ||
           !strcmp(name, best[1]);
}

/* Returns 1 if both names lead to one file, 0 if not, -1 (errno) after an error. */
static int same_file(int a_dir, const char *a, int b_dir, const char *b)
{
    struct stat x, y;
    if (fstatat(a_dir, a, &x, 0) || fstatat(b_dir, b, &y, 0)) return errno == ENOENT ? 0 : -1;
    return x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static int exists(int dir, const char *name)
{
    return faccessat(dir, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0 ? 1 : errno == ENOENT ? 0 : -1;
}

static bool is_regular(int dir, const char *name)
{
    struct stat s;
    return fstatat(dir, name, &s, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(s.st_mode);
}

/* Make a hard link `to` to the file `from`, replacing an existing file. Symbolic links are not followed. */
static int link_over(const dg_rundir *r, const char *from, const char *to)
{
    static const char temporary[] =
        ".checkpoint.safetensors.0-0.dcgan-tmp"; /* the lock keeps other processes from using this name */
    unlinkat(r->fd, temporary, 0);
    if (linkat(r->fd, from, r->fd, temporary, 0)) return -1;
    const int failed = renameat(r->fd, temporary, r->fd, to);
    unlinkat(r->fd, temporary, 0); /* rename() does nothing if both names lead to one file */
    return failed;
}

/* Get the names (256 bytes) of the oldest and the latest checkpoint-NNNN of an epoch less than `below`. Returns the
 * number of these checkpoints, or -1 (errno). */
static int kept_ones(const dg_rundir *r, uint64_t below, char *oldest, char *latest)
{
    uint64_t least = 0, most = 0;
    int n = 0;
    DIR *d = dg_list_directory(r->fd);
    if (!d) return -1;
    for (struct dirent *f; (errno = 0, f = readdir(d));) {
        const uint64_t epoch = of_checkpoint(f->d_name);
        if (!epoch || epoch >= below) continue;
        n++;
        if (!least || epoch < least) least = epoch, snprintf(oldest, 256, "%s", f->d_name);
        if (epoch > most) most = epoch, snprintf(latest, 256, "%s", f->d_name);
    }
    const int error = errno;
    closedir(d);
    errno = error;
    return error ? -1 : n;
}

dg_err dg_history_newest(const dg_rundir *r, uint64_t below, char name[256])
{
    char oldest[256];
    *name = 0;
    if (kept_ones(r, below, oldest, name) >= 0) return DG_OK;
    return dg_fail(errno == ENOMEM || errno == EMFILE || errno == ENFILE ? DG_DEVICE : DG_IO,
                   "%s: cannot be listed: %s; dcgan finds no older checkpoints without the list", r->path,
                   strerror(errno));
}

void dg_history_prune(const dg_rundir *r, int keep)
{
    char oldest[256], latest[256];
    while (kept_ones(r, UINT64_MAX, oldest, latest) > keep)
        if (unlinkat(r->fd, oldest, 0)) return;
}

/* A rewind moves later files to a new directory. Until the rewind ends, a marker file in the new directory names the
 * checkpoint to rewind to. The rewind is committed when the named checkpoint is renamed to checkpoint.safetensors. */

static const char marker[] = "going-back";

static int open_folder(const dg_rundir *r, const char *name)
{
    return openat(r->fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static dg_err failed(const dg_rundir *r, const char *what, const char *name)
{
    return dg_fail(errno == ENOMEM ? DG_DEVICE : DG_IO,
                   "%s: cannot %s %s: %s; no data is lost; continue the run with {resume}", r->path, what, name,
                   strerror(errno));
}

static dg_err move_listed(const dg_rundir *r, int folder, uint64_t (*number)(const char *), uint64_t epoch, int *moved)
{
    DIR *d = dg_list_directory(r->fd);
    dg_err e = d ? DG_OK : failed(r, "read", "this directory");
    *moved = 0;
    for (struct dirent *f; !e && (errno = 0, f = readdir(d));) {
        if (number(f->d_name) <= epoch) continue;
        if (renameat(r->fd, f->d_name, folder, f->d_name) == 0) ++*moved;
        else e = failed(r, "move", f->d_name);
    }
    if (!e && errno) e = failed(r, "read", "this directory");
    if (d) closedir(d);
    return e;
}

/* Repeat until no file is moved, because reading a directory while it changes may skip entries. */
static dg_err move_later(const dg_rundir *r, int folder, uint64_t (*number)(const char *), uint64_t epoch)
{
    int moved;
    dg_err e;
    do e = move_listed(r, folder, number, epoch, &moved);
    while (!e && moved);
    return e;
}

static dg_err copy(const dg_rundir *r, int folder, const char *from, const char *to)
{
    void *data;
    size_t bytes;
    const dg_directory at = {folder, -1, NULL};
    dg_err e = dg_read_own_in(r->fd, from, (size_t)1 << 40, &data, &bytes);
    if (e) return e;
    e = dg_write_atomic_in(&at, to, &(dg_chunk){data, bytes}, 1);
    free(data);
    return e;
}

dg_err dg_history_keep(const dg_rundir *r, uint64_t epoch)
{
    char name[64];
    snprintf(name, sizeof name, "checkpoint-%04ju.safetensors", (uintmax_t)epoch);
    if (link_over(r, newest, name) == 0 || errno == ENOENT) return DG_OK; /* no checkpoint to keep */
    const int error = errno;
    if (copy(r, r->fd, newest, name) == DG_OK) return DG_OK; /* no hard links on this file system */
    return dg_fail(DG_IO, DG_MSG("checkpoint-not-kept", "cannot keep %s/%s as %s: %s"), r->path, newest, name,
                   strerror(error));
}

dg_err dg_history_name(const dg_rundir *r, const char *file, const char *name)
{
    if (link_over(r, file, name)) return copy(r, r->fd, file, name);
    return dg_sync_directory(r->fd) ? failed(r, "sync", name) : DG_OK;
}

/* A hard link is enough, because files are replaced and never changed in place. */
static dg_err share(const dg_rundir *r, int folder, const char *name)
{
    unlinkat(folder, name, 0);
    return linkat(r->fd, name, folder, name, 0) ? copy(r, folder, name, name) : DG_OK;
}

static bool is_link(int dir, const char *name)
{
    char to[8];
    return readlinkat(dir, name, to, sizeof to) >= 0;
}

static dg_err share_link(const dg_rundir *r, int folder, const char *name)
{
    unlinkat(folder, name, 0);
    if (linkat(r->fd, name, folder, name, 0)) dg_warn("%s/%s is not moved: it is a symbolic link", r->path, name);
    return DG_OK;
}

static dg_err finish(const dg_rundir *r, int folder, uint64_t epoch)
{
    static const char *const kept[] = {"curves.png",
                                       "confusion.csv",
                                       "confusion.png",
                                       "worst.png",
                                       "nearest.png",
                                       "report.html",
                                       "log.csv",
                                       "log.jsonl",
                                       "config.ini",
                                       "session.json",
                                       "events.out.tfevents.run"};
    dg_err e = move_later(r, folder, of_image, epoch);
    if (!e) e = move_later(r, folder, of_checkpoint, epoch);
    for (size_t i = 0; i < sizeof kept / sizeof kept[0] && !e; i++) {
        const int there = exists(r->fd, kept[i]);
        if (there < 0) e = failed(r, "check for", kept[i]);
        else if (there)
            e = is_link(r->fd, kept[i]) ? share_link(r, folder, kept[i]) : copy(r, folder, kept[i], kept[i]);
    }
    for (int i = 0; i < 2 && !e; i++) {
        const int there = exists(r->fd, best[i]);
        if (there) e = there < 0 ? failed(r, "check for", best[i]) : share(r, folder, best[i]);
    }
    if (!e && dg_sync_directory(folder)) e = failed(r, "sync", "the later files");
    if (!e && unlinkat(folder, marker, 0)) e = failed(r, "remove", marker);
    if (!e) unlinkat(r->fd, renamed, 0);
    return e;
}

/* Find the progress of an interrupted rewind. Set *moved if `folder` has a checkpoint.safetensors (the previous one).
 * Set *there if the run directory has one. Set *back if the run directory's is the chosen checkpoint. */
static dg_err how_far(const dg_rundir *r, int folder, const char *chosen, bool *moved, bool *there, bool *back)
{
    const int kept = exists(folder, newest), is = exists(r->fd, newest);
    int chosen_is = is;
    if (kept > 0 && is > 0) {
        const int still = same_file(folder, newest, r->fd, newest);
        chosen_is = still < 0 ? still : !still;
    } else if (is > 0) {
        chosen_is = same_file(r->fd, chosen, r->fd, newest);
    }
    *moved = kept > 0;
    *there = is > 0;
    *back = chosen_is > 0;
    return kept < 0 || is < 0 || chosen_is < 0 ? failed(r, "check for", newest) : DG_OK;
}

static bool is_folder_name(const char *name)
{
    const size_t k = strlen(folder_name), n = strncmp(name, folder_name, k) ? 0 : strspn(name + k, "0123456789");
    const char *rest = name + k + n;
    if (n < 4 || n > 9) return false;
    return !*rest || (*rest == '-' && rest[1] > '0' && strlen(rest) <= 5 && !rest[1 + strspn(rest + 1, "0123456789")]);
}

/* The run directory is untrusted, so only names of dcgan checkpoints are valid. */
static dg_err read_marker(const dg_rundir *r, int folder, const char *name, char chosen[64], uint64_t *epoch)
{
    void *data;
    size_t bytes;
    dg_err e = dg_read_own_in(folder, marker, 512, &data, &bytes);
    if (e) return dg_context(e, "%s/%s", r->path, name);
    const char *text = data, *line = strchr(text, '\n');
    const size_t n = line ? (size_t)(line - text) : 0, digits = line ? strspn(line + 1, "0123456789") : 0;
    snprintf(chosen, 64, "%.*s", n < 64 ? (int)n : 0, text);
    const bool own = is_own_name(chosen) && digits > 0 && digits <= 9 && !strcmp(line + 1 + digits, "\n");
    *epoch = own ? strtoull(line + 1, NULL, 10) : 0;
    if (!own || (exists(r->fd, chosen) > 0 && !is_regular(r->fd, chosen)))
        e = dg_fail(
            DG_IO,
            "%s/%s/%s: contains \"%.*s\", not the name of a checkpoint of this run; to resume, remove the file %s",
            r->path, name, marker, n < 200 ? (int)n : 200, text, marker);
    free(data);
    return e;
}

static void undo(const dg_rundir *r, int folder, const char *name)
{
    unlinkat(r->fd, renamed, 0);
    unlinkat(folder, newest, 0);
    unlinkat(folder, marker, 0);
    unlinkat(r->fd, name, AT_REMOVEDIR);
}

/* Finish an interrupted rewind after its commit point, otherwise undo it. */
static dg_err take_up(const dg_rundir *r, const char *name)
{
    const int folder = open_folder(r, name);
    char chosen[64];
    uint64_t epoch = 0;
    bool moved = false, there = false, back = false;
    if (folder < 0) return DG_OK;
    const int marked = exists(folder, marker);
    if (!marked) { /* the rewind ended, or was killed before it wrote the marker */
        dg_sweep_temporaries(folder);
        unlinkat(r->fd, name, AT_REMOVEDIR);
        close(folder);
        return DG_OK;
    }
    if (marked > 0) dg_sweep_temporaries(folder);
    dg_err e = marked < 0 ? failed(r, "check for", name) : read_marker(r, folder, name, chosen, &epoch);
    if (!e) e = how_far(r, folder, chosen, &moved, &there, &back);
    if (!e && moved && !there) e = dg_history_name(r, chosen, newest);
    if (!e && (back || (moved && !there))) e = finish(r, folder, epoch);
    else if (!e) undo(r, folder, name);
    close(folder);
    return e;
}

dg_err dg_history_take_up(const dg_rundir *r)
{
    DIR *d = dg_list_directory(r->fd);
    dg_err e = d ? DG_OK : failed(r, "read", "this directory");
    for (struct dirent *f; !e && (errno = 0, f = readdir(d));)
        if (is_folder_name(f->d_name)) e = take_up(r, f->d_name);
    if (d) closedir(d);
    return e;
}

static int make_folder(const dg_rundir *r, const char *chosen, uint64_t epoch, char name[64])
{
    char text[300];
    for (int i = 1; i < 10000; i++) {
        snprintf(name, 64, i > 1 ? "%s%04ju-%d" : "%s%04ju", folder_name, (uintmax_t)epoch, i);
        if (mkdirat(r->fd, name, 0777)) {
            if (errno == EEXIST) continue;
            return -1;
        }
        const int folder = open_folder(r, name);
        const dg_directory at = {folder, -1, NULL};
        const int n = snprintf(text, sizeof text, "%s\n%ju\n", chosen, (uintmax_t)epoch);
        if (folder >= 0 && dg_write_atomic_in(&at, marker, &(dg_chunk){text, (size_t)n}, 1) == DG_OK) return folder;
        if (folder >= 0) close(folder);
        unlinkat(r->fd, name, AT_REMOVEDIR);
        return -1;
    }
    return -1;
}

/* Returns the checkpoint that the symbolic link `name` points to, or `name` if there is none. */
static const char *link_target(const dg_rundir *r, const char *name, char *out, size_t size)
{
    const ssize_t n = readlinkat(r->fd, name, out, size - 1);
    out[n > 0 ? n : 0] = 0;
    return is_own_name(out) ? out : name;
}

dg_err dg_history_go_back(const dg_rundir *r, const char *file, uint64_t epoch, char moved[64])
{
    const char *chosen = dg_last_component(file);
    *moved = 0;
    const int same = same_file(r->fd, chosen, r->fd, newest);
    if (same) return same < 0 ? failed(r, "compare", chosen) : DG_OK;
    char target[256];
    chosen = link_target(r, chosen, target, sizeof target);
    if (!is_regular(r->fd, chosen))
        return dg_fail(DG_USAGE, "%s/%s: is not a regular file of the run; if it is a link, resume from its target",
                       r->path, chosen);
    if (!is_own_name(chosen)) {
        const dg_err e = dg_history_name(r, chosen, renamed);
        if (e) return e;
        chosen = renamed;
    }
    const int folder = make_folder(r, chosen, epoch, moved);
    if (folder < 0) return failed(r, "create", moved);
    dg_err e = DG_OK;
    /* Where hard links fail, checkpoint.safetensors is moved. dg_history_name creates it again. */
    if (linkat(r->fd, newest, folder, newest, 0) && errno != ENOENT && renameat(r->fd, newest, folder, newest))
        e = failed(r, "move", newest);
    else if (dg_sync_directory(folder)) e = failed(r, "sync", moved);
    if (!e) e = dg_history_name(r, chosen, newest);
    if (!e) e = finish(r, folder, epoch);
    close(folder);
    return e;
}

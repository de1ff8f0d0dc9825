#include "host/data/dataset_internal.h"
#include "core/base/grow.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef __APPLE__
#define st_mtim st_mtimespec
#endif

typedef struct {
    dg_scan *to;
    const char *dir;
    dev_t device[4];
    ino_t inode[4];
    int without;
    dg_lost lost;
} walk;

static dg_err no_memory(void) { return dg_fail(DG_DEVICE, "no memory for the list of images"); }

bool dg_named_like_a_image(const char *name)
{
    static const char *const ending[] = {"png", "jpg",  "jpeg", "jpe",  "jfif", "apng", "gif",
                                         "bmp", "webp", "tif",  "tiff", "heic", "heif", "avif"};
    const char *base = strrchr(name, '/');
    base = base ? base + 1 : name;
    const char *dot = strrchr(base, '.');
    for (size_t i = 0; dot && i < sizeof ending / sizeof *ending; i++)
        if (!strcasecmp(dot + 1, ending[i])) return true;
    return false;
}

static dg_err add_skip(dg_scan *s, const char *name, dg_skip k, const char *reason)
{
    dg_skip *more = dg_grow(s->skip, s->skips, &s->skip_room, sizeof *more);
    if (!more) return no_memory();
    s->skip = more;
    k.name = strdup(name);
    k.reason = strdup(reason);
    if (!k.name || !k.reason) {
        free(k.name);
        free(k.reason);
        return no_memory();
    }
    s->skip[s->skips++] = k;
    return DG_OK;
}

dg_err dg_scan_skip(dg_scan *s, const char *name, int how, const char *reason)
{
    const bool bad = how & DG_SKIP_BAD || dg_named_like_a_image(name);
    return add_skip(s, name, (dg_skip){.bad = bad, .unread = how & DG_SKIP_UNREAD}, reason);
}

dg_err dg_scan_skip_folder(dg_scan *s, const char *name, int error, const char *reason)
{
    return add_skip(s, name, (dg_skip){.folder = error, .unread = dg_may_pass(error)}, reason);
}

static dg_err add_file(walk *w, const char *name, const struct stat *st)
{
    for (int i = 0; i < w->without; i++)
        if (st->st_dev == w->device[i] && st->st_ino == w->inode[i]) return DG_OK;
    dg_scan *s = w->to;
    if (s->files >= DG_FILES_MAX) return dg_fail(DG_DATA, "%s: more than %d files", w->dir, DG_FILES_MAX);
    dg_file *more = dg_grow(s->file, s->files, &s->file_room, sizeof *more);
    if (!more) return no_memory();
    s->file = more;
    char *copy = strdup(name);
    if (!copy) return no_memory();
    s->file[s->files++] = (dg_file){copy, st->st_size, st->st_mtim.tv_sec, st->st_mtim.tv_nsec, false};
    return DG_OK;
}

static const char *what_it_is(mode_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFIFO: return "a FIFO";
    case S_IFSOCK: return "a socket";
    case S_IFCHR:
    case S_IFBLK: return "a device";
    default: return "a file of unknown type";
    }
}

static dg_err refused(walk *w, const char *path, const char *what, int error, bool folder)
{
    char reason[128];
    if (dg_errno_kind(error) == DG_DEVICE)
        return dg_fail(DG_DEVICE, "%s/%s: cannot be opened: %s", w->dir, path, strerror(error));
    snprintf(reason, sizeof reason, "%s%s", error == ENOENT && !folder ? "" : what,
             error == ENOENT && !folder ? "vanished" : strerror(error));
    return folder ? dg_scan_skip_folder(w->to, path, error, reason)
                  : dg_scan_skip(w->to, path, dg_may_pass(error) ? DG_SKIP_UNREAD : 0, reason);
}

static bool may_be_folder(unsigned char type, const char *name, int error)
{
    return type == DT_DIR || (type == DT_UNKNOWN && error != ENOENT && !dg_named_like_a_image(name));
}

static int look_up(walk *w, int parent, const char *base, int flags, struct stat *st)
{
    for (int tries = 0;; tries++) {
        if (!fstatat(parent, base, st, flags)) return 0;
        const int error = errno;
        if (!dg_try_again(&w->lost, error, tries)) return error;
    }
}

static dg_err walk_folder(walk *w, int fd, char *path, size_t length, int depth);

static size_t hidden_part(const char *path, int *depth)
{
    size_t hidden = 0;
    *depth = 0;
    for (const char *s = path;; s++) {
        const size_t n = strcspn(s, "/");
        if (*s == '.' && !hidden) hidden = (size_t)(s - path) + n;
        s += n;
        if (!*s) return hidden;
        ++*depth;
    }
}

static dg_err walk_zip(walk *w, const dg_zip *zip)
{
    long n;
    const dg_zip_file *file = dg_zip_files(zip, &n);
    const char *last = "";
    size_t last_part = 0;
    dg_err e = DG_OK;
    for (long i = 0; i < n && !e; i++) {
        int depth;
        const char *name = file[i].name;
        const size_t part = hidden_part(name, &depth);
        const struct stat st = {.st_size = (off_t)file[i].bytes, .st_mtim = {.tv_sec = (time_t)file[i].seconds}};
        if (part) {
            w->to->hidden += part != last_part || memcmp(name, last, part) != 0;
            last = name;
            last_part = part;
        } else if (depth > DG_DEPTH_MAX) e = dg_scan_skip(w->to, name, 0, "more than 64 folders deep");
        else e = add_file(w, name, &st);
    }
    return e;
}

static dg_err enter(walk *w, int parent, const char *base, char *path, size_t length, int depth)
{
    if (depth > DG_DEPTH_MAX) return dg_scan_skip_folder(w->to, path, ELOOP, "a folder more than 64 levels deep");
    for (int tries = 0;; tries++) {
        int fd = openat(parent, base, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd >= 0) return walk_folder(w, fd, path, length, depth);
        const int error = errno;
        if (!dg_try_again(&w->lost, error, tries))
            return refused(w, path, "a folder that cannot be opened: ", error, true);
    }
}

static dg_err link_to(walk *w, int parent, const char *base, const char *path)
{
    struct stat st;
    const int error = look_up(w, parent, base, 0, &st);
    if (error == ENOENT) return dg_scan_skip(w->to, path, 0, "a dangling symbolic link");
    if (error == ELOOP) return dg_scan_skip(w->to, path, 0, "a loop of symbolic links");
    if (error) return refused(w, path, "a symbolic link: ", error, false);
    if (S_ISREG(st.st_mode)) return add_file(w, path, &st);
    if (S_ISDIR(st.st_mode)) return dg_scan_skip(w->to, path, 0, DG_LINK_TO_FOLDER);
    char reason[64];
    snprintf(reason, sizeof reason, "a symbolic link to %s", what_it_is(st.st_mode));
    return dg_scan_skip(w->to, path, 0, reason);
}

/* path: buffer of DG_PATH_BYTES bytes, of which the first `length` bytes are the parent folder's path with '/'. */
static dg_err visit(walk *w, int parent, const struct dirent *entry, char *path, size_t length, int depth)
{
    const char *base = entry->d_name;
    size_t n = strlen(base);
    if (length + n + 2 > DG_PATH_BYTES) {
        path[length] = 0;
        return dg_scan_skip_folder(w->to, path, ENAMETOOLONG, "contains a path of more than 4096 bytes");
    }
    memcpy(path + length, base, n + 1);
    struct stat st;
    const int error = look_up(w, parent, base, AT_SYMLINK_NOFOLLOW, &st);
    const bool folder = error && may_be_folder(entry->d_type, path, error);
    if (error)
        return refused(w, path,
                       folder && entry->d_type == DT_DIR ? "a folder that cannot be opened: " : "cannot be read: ",
                       error, folder);
    if (S_ISREG(st.st_mode)) return add_file(w, path, &st);
    if (S_ISLNK(st.st_mode)) return link_to(w, parent, base, path);
    if (S_ISDIR(st.st_mode)) return enter(w, parent, base, path, length + n, depth + 1);
    return dg_scan_skip(w->to, path, 0, what_it_is(st.st_mode));
}

/* Closes fd. */
static dg_err walk_folder(walk *w, int fd, char *path, size_t length, int depth)
{
    DIR *d = fdopendir(fd);
    if (!d) {
        close(fd);
        return no_memory();
    }
    if (length) path[length++] = '/';
    dg_err e = DG_OK;
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(d);
        if (!entry) {
            path[length ? length - 1 : 0] = 0;
            if (errno && !*path) e = dg_fail(dg_errno_kind(errno), "%s: cannot be listed: %s", w->dir, strerror(errno));
            else if (errno) e = refused(w, path, "a folder that cannot be listed: ", errno, true);
            break;
        }
        if (entry->d_name[0] == '.') {
            w->to->hidden += strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..");
            continue;
        }
        e = visit(w, dirfd(d), entry, path, length, depth);
        if (e) break;
    }
    closedir(d);
    return e;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const dg_file *)a)->name, ((const dg_file *)b)->name);
}

static int by_skipped_name(const void *a, const void *b)
{
    return strcmp(((const dg_skip *)a)->name, ((const dg_skip *)b)->name);
}

void dg_scan_sort_skips(dg_scan *s)
{
    if (s->skips) qsort(s->skip, (size_t)s->skips, sizeof *s->skip, by_skipped_name);
}

dg_err dg_scan_folder(const dg_folder *folder, const char *dir, const char *const *without, int n, dg_scan *out)
{
    *out = (dg_scan){0};
    walk w = {.to = out, .dir = dir};
    for (int i = 0; i < n && w.without < 4; i++) {
        struct stat st;
        if (!without[i] || stat(without[i], &st)) continue;
        w.device[w.without] = st.st_dev;
        w.inode[w.without++] = st.st_ino;
    }
    int fd = folder->zip ? -1 : openat(folder->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 && !folder->zip) return dg_fail(dg_errno_kind(errno), "%s: %s", dir, strerror(errno));
    char path[DG_PATH_BYTES];
    dg_err e = folder->zip ? walk_zip(&w, folder->zip) : walk_folder(&w, fd, path, 0, 0);
    if (out->files) qsort(out->file, (size_t)out->files, sizeof *out->file, by_name);
    dg_scan_sort_skips(out);
    if (e) dg_scan_free(out);
    return e;
}

void dg_scan_free(dg_scan *s)
{
    for (long i = 0; i < s->files; i++) free(s->file[i].name);
    for (long i = 0; i < s->skips; i++) {
        free(s->skip[i].name);
        free(s->skip[i].reason);
    }
    free(s->file);
    free(s->skip);
    *s = (dg_scan){0};
}

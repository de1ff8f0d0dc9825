/* Commands for files that dcgan does not unpack: archives in a dataset, or instead of a dataset. */
#include "core/base/file_io.h"
#include "core/base/shell.h"
#include "host/data/dataset_internal.h"
#include "host/files/made.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

typedef struct {
    const char *kind;       /* as host/image names the contents of a file */
    const char *name;       /* the command needs this in the file's name, or NULL */
    const char *command[3]; /* before the file, between the file and the folder, after the folder */
} unpacker;

static const unpacker known[] = {
    {"a zip archive", NULL, {"unzip -q ", " -d ", ""}},  {"a gzip archive", ".tar", {"tar xf ", " -C ", ""}},
    {"a gzip archive", ".tgz", {"tar xf ", " -C ", ""}}, {"a bzip2 archive", ".t", {"tar xf ", " -C ", ""}},
    {"an xz archive", ".t", {"tar xf ", " -C ", ""}},    {"a Zstandard archive", ".t", {"tar xf ", " -C ", ""}},
    {"a tar archive", NULL, {"tar xf ", " -C ", ""}},    {"a 7z archive", NULL, {"7z x ", " -o", ""}},
    {"a RAR archive", NULL, {"unrar x ", " ", "/"}},
};

static const unpacker *find(const char *kind, const char *name)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(known[i].kind, kind) && (!known[i].name || strstr(dg_last_component(name), known[i].name)))
            return known + i;
    return NULL;
}

static void command(const unpacker *u, const char *file, const char *folder, char *out, size_t size)
{
    char from[DG_SHELL_ROOM], to[DG_SHELL_ROOM];
    snprintf(out, size, "%s%s%s%s%s", u->command[0], dg_shell_path(from, sizeof from, file), u->command[1],
             dg_shell_path(to, sizeof to, folder), u->command[2]);
}

/* The name of an archive without its endings: data.tar.gz -> data. */
static void without_ending(const char *path, char *out, size_t size)
{
    static const char *const ending[] = {".zip", ".gz",  ".bz2",  ".xz",  ".zst", ".tar",
                                         ".tgz", ".tbz", ".tbz2", ".txz", ".7z",  ".rar"};
    snprintf(out, size, "%s", path);
    for (size_t i = 0; i < sizeof ending / sizeof *ending; i++) {
        const size_t n = strlen(out), m = strlen(ending[i]);
        if (n <= m || strcasecmp(out + n - m, ending[i]) || out[n - m - 1] == '/') continue;
        out[n - m] = 0;
        i = (size_t)-1;
    }
    if (!strcmp(out, path)) snprintf(out, size, "%s-unpacked", path);
}

dg_err dg_not_a_folder(const char *path)
{
    char folder[DG_PATH_BYTES + 16], how[2 * DG_SHELL_ROOM], to[DG_SHELL_ROOM];
    uint8_t head[DG_HEAD_BYTES];
    const int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    const ssize_t n = fd < 0 ? -1 : dg_read_some(fd, head, sizeof head);
    if (fd >= 0) close(fd);
    dg_image im;
    if (n > 0 && dg_image_known(head, (size_t)n))
        return dg_fail(DG_DATA, "%s: a single image, not a folder of images; use its folder", path);
    if (n <= 0 || !dg_image_decode(head, (size_t)n, &(dg_decode_options){0}, &im))
        return dg_fail(DG_DATA, "%s: not a folder of images", path);
    const unpacker *u = find(dg_message(), path);
    if (!u)
        return !strcmp(dg_message(), DG_LFS_POINTER)
                   ? dg_fail(DG_DATA, "%s: " DG_LFS_POINTER "; fetch the file: git lfs pull", path)
                   : dg_fail(DG_DATA, "%s: not a folder of images", path);
    without_ending(path, folder, sizeof folder);
    command(u, path, folder, how, sizeof how);
    dg_shell_path(to, sizeof to, folder);
    return dg_fail(DG_DATA, "%s: %s, not a folder of images; unpack it: mkdir %s && %s, then use {data} %s", path,
                   u->kind, to, how, to);
}

char *dg_unpack_advice(const char *dir, const dg_dataset *d, char *out, size_t size)
{
    char path[2 * DG_PATH_BYTES], folder[DG_PATH_BYTES + 16], how[2 * DG_SHELL_ROOM], first[2 * DG_SHELL_ROOM] = "";
    out[0] = 0;
    for (int i = 0; i < d->skips; i++) {
        if (!strcmp(d->skip[i].reason, DG_LFS_POINTER)) {
            snprintf(out, size, "; fetch the files of Git LFS pointers: git -C %s lfs pull",
                     dg_shell_path(path, sizeof path, dir));
            break;
        }
        const unpacker *u = find(d->skip[i].reason, d->skip[i].name);
        const size_t n = strlen(d->skip[i].name);
        if (!u) continue;
        if (n > 4 && !strcmp(d->skip[i].name + n - 4, ".npz") && dg_is_folder(dir)) { /* a zip file of arrays */
            snprintf(path, sizeof path, "%s/%s", dir, d->skip[i].name);
            snprintf(out, size, "; use {data} %s", dg_shell_path(how, sizeof how, path));
            break;
        }
        snprintf(folder, sizeof folder, "%s", dir);
        if (!dg_is_folder(dir)) { /* a zip archive */
            without_ending(dir, folder, sizeof folder);
            command(known, dir, folder, first, sizeof first);
        }
        snprintf(path, sizeof path, "%s/%s", folder, d->skip[i].name);
        command(u, path, folder, how, sizeof how);
        snprintf(out, size, "; unpack: %s%s%s, then use {data} %s", first, *first ? " && " : "", how,
                 dg_shell_path(path, sizeof path, folder));
        break;
    }
    return out;
}

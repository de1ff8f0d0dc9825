/* Which kind of source a folder is, by what is in it. */
#include "host/data/made.h"
#include "host/data/records_internal.h"
#include "host/data/zip.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct {
    dg_record_files *files; /* those that may be records, in bytewise order of names */
    bool idx, cifar;        /* by what is in at least one of them, or, not `sure`, by their names */
    bool sure;
} guess;

static int by_name(const void *a, const void *b)
{
    return strcmp(((const dg_record_file *)a)->name, ((const dg_record_file *)b)->name);
}

static void free_files(dg_record_files *f)
{
    for (int i = 0; i < f->files; i++) {
        free(f->file[i].name);
        free(f->file[i].data);
    }
    f->files = 0;
}

static dg_err cannot_list(const char *dir)
{
    return dg_fail(dg_errno_kind(errno), "%s: cannot be listed: %s", dir, strerror(errno));
}

/* The files beside one another in the folder; none where one is named like a picture, or there are too many. */
static dg_err list(const char *dir, int folder, dg_record_files *out)
{
    *out = (dg_record_files){.folder = folder};
    DIR *d = dg_list_directory(folder);
    if (!d) return cannot_list(dir);
    dg_err e = DG_OK;
    struct stat st;
    for (const struct dirent *entry; !e && (errno = 0, entry = readdir(d));) {
        const char *name = entry->d_name;
        const bool picture = dg_named_like_a_picture(name);
        if (*name == '.') continue;
        if (!picture && fstatat(folder, name, &st, 0)) { /* what is not known to be there may be half of the pictures */
            if (dg_may_pass(errno) || errno == ENOMEM) e = cannot_list(dir);
            continue;
        }
        if (!picture && !S_ISREG(st.st_mode)) continue;
        if (out->files == DG_RECORD_FILES || picture) {
            free_files(out);
            errno = 0;
            break;
        }
        if (!(out->file[out->files].name = strdup(name))) e = dg_fail(DG_DEVICE, "no memory for the list of files");
        else out->files++;
    }
    if (!e && errno) e = cannot_list(dir);
    closedir(d);
    if (e) free_files(out);
    if (out->files) qsort(out->file, (size_t)out->files, sizeof *out->file, by_name);
    return e;
}

static bool idx_inside(int folder, const char *name)
{
    uint8_t head[DG_HEAD_BYTES];
    size_t bytes;
    dg_lost lost;
    atomic_init(&lost, 0);
    return !dg_file_head(folder, name, &lost, head, sizeof head, &bytes) && dg_idx_dimensions(head, bytes);
}

static bool cifar_inside(int folder, const char *name)
{
    struct stat st;
    return !fstatat(folder, name, &st, 0) && st.st_size > 0 &&
           (!(st.st_size % (off_t)dg_cifar_record(10)) || !(st.st_size % (off_t)dg_cifar_record(100)));
}

/* Leave the files that are to be read. */
static guess look(dg_record_files *f)
{
    guess g = {.files = f};
    bool idx[DG_RECORD_FILES], cifar[DG_RECORD_FILES];
    for (int i = 0; i < f->files; i++) {
        const char *name = f->file[i].name;
        const bool inside = idx_inside(f->folder, name);
        idx[i] = inside || dg_idx_named(name);
        cifar[i] = dg_cifar_named(name);
        g.idx |= idx[i];
        g.cifar |= cifar[i];
        g.sure |= inside || (cifar[i] && cifar_inside(f->folder, name));
    }
    int n = 0;
    for (int i = 0; i < f->files; i++)
        if (g.idx ? idx[i] : cifar[i]) f->file[n++] = f->file[i];
        else free(f->file[i].name);
    f->files = n;
    return g;
}

static bool has_folder(int folder, const char *name)
{
    struct stat s;
    return !fstatat(folder, name, &s, 0) && S_ISDIR(s.st_mode);
}

/* Whether there are the folders train/ and test/, so that what comes first is not known before all is read. */
static bool has_parts(int folder)
{
    bool test = false;
    for (const char *const *name = dg_test_names; *name; name++) test |= has_folder(folder, *name);
    return test && has_folder(folder, "train");
}

static dg_err read_pictures(const dg_dataset_options *o, int folder, dg_dataset *out)
{
    dg_dataset_options all = *o;
    const bool later = o->limit > 0 && (o->labelled || has_parts(folder));
    if (later) all.limit = 0;
    dg_err e = dg_folder_read(&all, folder, out);
    if (!e) e = dg_label_by_folder(o, out);
    return e || !later ? e : dg_dataset_first(out, o->limit);
}

static dg_err read_records(const dg_dataset_options *o, const guess *g, dg_dataset *out)
{
    dg_dataset_free(out);
    *out = (dg_dataset){.size = o->size, .channels = o->channels};
    return g->idx ? dg_idx_read(o, g->files, out) : dg_cifar_read(o, g->files, out);
}

static dg_err read_folder(const dg_dataset_options *o, dg_dataset *out)
{
    int folder;
    dg_record_files *files = malloc(sizeof *files);
    *out = (dg_dataset){.size = o->size, .channels = o->channels};
    if (!files) return dg_fail(DG_DEVICE, "no memory for the list of files");
    files->files = 0;
    dg_err e = dg_open_folder(o->dir, &folder);
    if (!e) {
        e = list(o->dir, folder, files);
        const guess g = look(files);
        if (!e && !g.sure) e = read_pictures(o, folder, out);
        if (!e && files->files && !out->count) e = read_records(o, &g, out);
        close(folder);
    }
    if (e) dg_dataset_free(out);
    free_files(files);
    free(files);
    return e;
}

dg_err dg_source_read(const dg_dataset_options *o, dg_dataset *out)
{
    char unpacked[DG_ZIP_PATH];
    dg_dataset_options inside = *o;
    if (!dg_zip_inside(o->dir)) return read_folder(o, out);
    *out = (dg_dataset){.size = o->size, .channels = o->channels};
    dg_err e = dg_zip_unpack(o->dir, unpacked);
    if (e) return e;
    inside.dir = unpacked;
    e = read_folder(&inside, out);
    dg_zip_remove(unpacked);
    return e;
}

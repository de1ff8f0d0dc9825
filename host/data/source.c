/* Detects the kind of a dataset (images, IDX, CIFAR or NumPy arrays) from a folder's contents. */
#include "host/files/made.h"
#include "host/data/records_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct {
    dg_record_files *files; /* files that may be IDX or CIFAR files, in bytewise order of names */
    bool idx, cifar, npz;
    bool sure; /* true if the contents of a file confirm the kind */
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

static dg_err add(dg_record_files *out, const char *name)
{
    if (!(out->file[out->files].name = strdup(name))) return dg_fail(DG_DEVICE, "no memory for the list of files");
    out->files++;
    return DG_OK;
}

/* List the files of a folder without its subfolders. The list is empty if the folder has an image or too many files. */
static dg_err list_folder(const char *dir, int folder, dg_record_files *out)
{
    DIR *d = dg_list_directory(folder);
    if (!d) return cannot_list(dir);
    dg_err e = DG_OK;
    struct stat st;
    for (const struct dirent *entry; !e && (errno = 0, entry = readdir(d));) {
        const char *name = entry->d_name;
        const bool image = dg_named_like_a_image(name);
        if (*name == '.') continue;
        if (!image && fstatat(folder, name, &st, 0)) {
            if (dg_may_pass(errno) || errno == ENOMEM) e = cannot_list(dir);
            continue;
        }
        if (!image && !S_ISREG(st.st_mode)) continue;
        if (out->files == DG_RECORD_FILES || image) {
            free_files(out);
            errno = 0;
            break;
        }
        e = add(out, name);
    }
    if (!e && errno) e = cannot_list(dir);
    closedir(d);
    if (e) free_files(out);
    if (out->files) qsort(out->file, (size_t)out->files, sizeof *out->file, by_name);
    return e;
}

static dg_err list_zip(const dg_zip *zip, dg_record_files *out)
{
    long n;
    const dg_zip_file *file = dg_zip_files(zip, &n);
    dg_err e = DG_OK;
    for (long i = 0; i < n && !e; i++) {
        const char *name = file[i].name;
        if (*name == '.' || strchr(name, '/')) continue;
        if (out->files == DG_RECORD_FILES || dg_named_like_a_image(name)) {
            free_files(out);
            return DG_OK;
        }
        e = add(out, name);
    }
    if (e) free_files(out);
    return e;
}

static dg_err list(const char *dir, const dg_folder *folder, dg_record_files *out)
{
    *out = (dg_record_files){.folder = folder};
    return folder->zip ? list_zip(folder->zip, out) : list_folder(dir, folder->fd, out);
}

static dg_err head_of(const dg_folder *folder, const char *name, bool *idx, bool *pickle, bool *npz)
{
    dg_npy array;
    uint8_t head[DG_HEAD_BYTES];
    size_t bytes;
    dg_lost lost;
    atomic_init(&lost, 0);
    const dg_err e = dg_file_head(folder, name, &lost, head, sizeof head, &bytes);
    *idx = !e && dg_idx_dimensions(head, bytes);
    *pickle = !e && dg_cifar_batch_named(name) && dg_cifar_pickled(head, bytes);
    *npz = !e && dg_npz_named(name) && !dg_npy_head(head, bytes, &array);
    return e == DG_DATA ? DG_OK : e;
}

static off_t size_of(const dg_folder *folder, const char *name)
{
    struct stat st;
    const dg_zip_file *file = folder->zip ? dg_zip_find(folder->zip, name) : NULL;
    if (folder->zip) return file ? (off_t)file->bytes : -1;
    return fstatat(folder->fd, name, &st, 0) ? -1 : st.st_size;
}

static bool cifar_inside(const dg_folder *folder, const char *name)
{
    const off_t bytes = size_of(folder, name);
    return bytes > 0 && (!(bytes % (off_t)dg_cifar_record(10)) || !(bytes % (off_t)dg_cifar_record(100)));
}

/* In a folder of IDX files, an unreadable file is an error. */
static dg_err look(const dg_dataset_options *o, dg_record_files *f, guess *g)
{
    *g = (guess){.files = f};
    bool idx[DG_RECORD_FILES], cifar[DG_RECORD_FILES], npz[DG_RECORD_FILES];
    dg_err unread = DG_OK, e = DG_OK;
    for (int i = 0; i < f->files && !e; i++) {
        const char *name = f->file[i].name;
        bool inside, pickle;
        e = dg_record_file_wrong(o, f->file + i, head_of(f->folder, name, &inside, &pickle, npz + i));
        if (e == DG_IO && !f->folder->zip) unread = e, e = DG_OK;
        idx[i] = inside || dg_idx_named(name);
        cifar[i] = dg_cifar_named(name) || pickle;
        g->idx |= idx[i];
        g->cifar |= cifar[i];
        g->npz |= npz[i];
        g->sure |= inside || pickle || npz[i] || (cifar[i] && cifar_inside(f->folder, name));
    }
    if (!e && unread && g->idx && g->sure) e = unread;
    if (e) return e;
    int n = 0;
    for (int i = 0; i < f->files; i++)
        if (g->idx ? idx[i] : g->cifar ? cifar[i] : npz[i]) f->file[n++] = f->file[i];
        else free(f->file[i].name);
    f->files = n;
    return DG_OK;
}

static bool has_folder(const dg_folder *folder, const char *name)
{
    struct stat s;
    if (folder->zip) return dg_zip_has_folder(folder->zip, name);
    DIR *d = dg_list_directory(folder->fd);
    bool found = false;
    for (const struct dirent *entry; d && !found && (entry = readdir(d));)
        found = !strcasecmp(entry->d_name, name) && !fstatat(folder->fd, entry->d_name, &s, 0) && S_ISDIR(s.st_mode);
    if (d) closedir(d);
    return found;
}

static bool has_parts(const dg_folder *folder)
{
    bool test = false;
    for (const char *const *name = dg_test_names; *name; name++) test |= has_folder(folder, *name);
    return test && has_folder(folder, "train");
}

static dg_err read_images(const dg_dataset_options *o, const dg_folder *folder, dg_dataset *out)
{
    dg_dataset_options all = *o;
    const bool later = o->limit > 0 && (o->labelled || has_parts(folder));
    if (later) all.limit = 0;
    bool found = false;
    dg_err e = dg_folder_read(&all, folder, out);
    if (!e) e = dg_label_by_file(o, folder, out, &found);
    if (!e && !found) e = dg_label_by_folder(o, out);
    return e || !later ? e : dg_dataset_first(out, o->limit);
}

static dg_err read_records(const dg_dataset_options *o, const guess *g, dg_dataset *out)
{
    dg_dataset_free(out);
    *out = (dg_dataset){.size = o->size, .channels = o->channels};
    return g->idx     ? dg_idx_read(o, g->files, out)
           : g->cifar ? dg_cifar_read(o, g->files, out)
                      : dg_npz_read(o, g->files, out);
}

dg_err dg_source_read(const dg_dataset_options *o, dg_dataset *out)
{
    dg_folder folder;
    dg_record_files *files = malloc(sizeof *files);
    *out = (dg_dataset){.size = o->size, .channels = o->channels};
    if (!files) return dg_fail(DG_DEVICE, "no memory for the list of files");
    files->files = 0;
    dg_err e = dg_open_folder(o->dir, &folder);
    if (!e) {
        guess g = {.files = files};
        e = list(o->dir, &folder, files);
        if (!e) e = look(o, files, &g);
        if (!e && !g.sure) e = read_images(o, &folder, out);
        if (!e && files->files && !out->count) e = read_records(o, &g, out);
        dg_close_folder(&folder);
    }
    if (!e) e = dg_dataset_note(out, dg_dataset_threads(o));
    if (e) dg_dataset_free(out);
    free_files(files);
    free(files);
    return e;
}

/* Sets the classes of a dataset by the file labels.csv or dataset.json in its folder. */
#include "core/base/plural.h"
#include "host/data/dataset_internal.h"
#include "host/data/label_rows.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const struct {
    const char *name;
    size_t most; /* cJSON needs up to 40 times the bytes of the file */
    dg_err (*read)(char *text, size_t bytes, dg_label_rows *out);
} kinds[] = {
    {"labels.csv", (size_t)256 << 20, dg_label_rows_csv},
    {"dataset.json", (size_t)64 << 20, dg_label_rows_json},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static dg_err is_file(const dg_folder *folder, const char *name, bool *is)
{
    struct stat st;
    const bool there = folder->zip ? dg_zip_find(folder->zip, name) != NULL : !fstatat(folder->fd, name, &st, 0);
    *is = there && (folder->zip || S_ISREG(st.st_mode));
    if (there || folder->zip || errno == ENOENT) return DG_OK;
    return dg_fail(errno == ENOMEM ? DG_DEVICE : DG_IO, "cannot be accessed: %s", strerror(errno));
}

static dg_err read_rows(const dg_folder *folder, int kind, dg_label_rows *out)
{
    uint8_t *data;
    size_t bytes;
    dg_lost lost;
    atomic_init(&lost, 0);
    *out = (dg_label_rows){0};
    const dg_err e = dg_file_whole(folder, kinds[kind].name, &lost, kinds[kind].most, &data, &bytes);
    if (e) return e;
    char *text = realloc(data, bytes + 1);
    if (text) return kinds[kind].read(text, bytes, out);
    free(data);
    return dg_fail(DG_DEVICE, "no memory for the labels");
}

static int by_name(const void *name, const void *skip) { return strcmp(name, ((const dg_skip *)skip)->name); }

static dg_skip *find_skip(const dg_dataset *d, const char *name)
{
    return d->skips ? bsearch(name, d->skip, (size_t)d->skips, sizeof *d->skip, by_name) : NULL;
}

/* The file is not among the skipped files, because it is used. */
static void drop_skip(dg_dataset *d, const char *name)
{
    dg_skip *s = find_skip(d, name);
    if (!s) return;
    free(s->name);
    free(s->reason);
    d->skips--;
    memmove(s, s + 1, (size_t)(d->skip + d->skips - s) * sizeof *s);
}

static void warn_unknown(const dg_dataset_options *o, const dg_dataset *d, const dg_label_rows *r)
{
    char name[1024], place[DG_LABEL_PLACE];
    const dg_label_row *first = NULL;
    int n = 0;
    for (int i = 0; i < r->rows; i++) {
        const dg_label_row *row = r->row + i;
        if (row->used || (!r->json && row->at == 1) || find_skip(d, row->path)) continue;
        n++;
        if (!first || row->at < first->at) first = row;
    }
    if (n)
        dg_warn(DG_MSG("rows-without-image", "%d row%s of %s/%s left out, because no image has the path; the first is "
                                             "%s: %s"),
                n, dg_s(n), o->dir, d->labels, dg_label_place(r, first->at, place),
                dg_printable(name, sizeof name, first->path));
}

static dg_err label(const dg_dataset_options *o, const dg_label_rows *r, dg_dataset *d)
{
    char name[1024];
    const char **class = malloc(((size_t)d->count + 1) * sizeof *class);
    int without = 0, first = -1;
    if (!class) return dg_fail(DG_DEVICE, "no memory for the labels");
    for (int i = 0; i < d->count; i++) {
        dg_label_row *row = dg_label_rows_find(r, d->name[i]);
        if (row) row->used = true;
        else if (!without++) first = i;
        class[i] = row ? row->class : NULL;
    }
    if (o->labelled) warn_unknown(o, d, r);
    const dg_err e = without ? dg_dataset_unclassify(d,
                                                     "%s has no row for %d of %d image%s, the first is %s; add rows "
                                                     "with paths relative to the dataset",
                                                     d->labels, without, d->count, dg_s(d->count),
                                                     dg_printable(name, sizeof name, d->name[first]))
                             : dg_label_by_names(o, d, class);
    free(class);
    return e;
}

static dg_err take(const dg_dataset_options *o, const dg_folder *folder, int kind, dg_dataset *d, bool *found)
{
    dg_label_rows r;
    const char *name = kinds[kind].name;
    dg_err e = read_rows(folder, kind, &r);
    *found = e || !r.absent;
    if (*found) {
        drop_skip(d, name);
        d->labels = name;
    }
    if (e == DG_DATA) e = dg_dataset_unclassify(d, "%s: %s", name, dg_message());
    else if (e) e = dg_context(e, "%s/%s", o->dir, name);
    else if (r.none) e = dg_dataset_unclassify(d, "%s has no labels (null)", name);
    else if (*found && d->count) e = label(o, &r, d);
    dg_label_rows_free(&r);
    return e;
}

dg_err dg_label_by_file(const dg_dataset_options *o, const dg_folder *folder, dg_dataset *d, bool *found)
{
    dg_err e = DG_OK;
    *found = false;
    for (int i = 0; i < KINDS && !e && !*found; i++) {
        bool is;
        e = is_file(folder, kinds[i].name, &is);
        if (e) e = dg_context(e, "%s/%s", o->dir, kinds[i].name);
        else if (is) e = take(o, folder, i, d, found);
    }
    return e;
}

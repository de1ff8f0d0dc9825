#include "core/base/plural.h"
#include "host/data/dataset_internal.h"
#include "core/base/file_io.h"
#include "host/files/made.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <omp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct {
    char *reason;
    bool bad, unread, made;
    int slot; /* index in `pixels` until unusable images are removed, or in `file` */
    uint64_t hash;
    uint8_t did;
    dg_decoded file;
} fate;

typedef struct {
    const dg_dataset_options *o;
    const dg_folder *folder;
    dg_scan *scan;
    fate *fate;
    uint8_t *pixels;     /* (slots, height, width, channels), or NULL: */
    dg_cache_file *file; /* of the decoded images */
    bool stays;          /* the images stay in the file */
    size_t bytes;
    atomic_long done;
    atomic_long first_bad; /* index of the first unusable file; with the option `strict`, later files are not decoded */
    dg_lost lost;
    atomic_int error;
    char message[1024];
} job;

static size_t file_limit(const dg_dataset_options *o)
{
    return o->decode.max_bytes ? o->decode.max_bytes : (size_t)64 << 20;
}

static void stop_with(job *j, dg_err e)
{
    int none = DG_OK;
    if (!atomic_compare_exchange_strong(&j->error, &none, (int)e)) return;
    snprintf(j->message, sizeof j->message, "%s", dg_message());
}

static bool stopped(job *j)
{
    const dg_dataset_options *o = j->o;
    if (((o->stop && *o->stop) || (o->cancelled && o->cancelled(o->cancel_arg))) && !atomic_load(&j->error))
        stop_with(j, dg_fail(DG_FAILED, "stopped while reading images"));
    return atomic_load(&j->error) != DG_OK;
}

static void settle(job *j, long i, dg_err e, bool bad)
{
    if (!e) return;
    bool skip = e == DG_DATA || (e == DG_IO && !j->folder->zip);
    fate *f = j->fate + i;
    f->reason = skip ? strdup(dg_message()) : NULL;
    f->bad = bad;
    f->unread = e == DG_IO;
    if (f->reason) return;
    char name[DG_PATH_BYTES];
    dg_printable(name, sizeof name, j->scan->file[i].name);
    stop_with(j, skip ? dg_fail(DG_DEVICE, "no memory for the list of images") : dg_context(e, "%s", name));
}

static void look_at(job *j, long i)
{
    uint8_t head[DG_HEAD_BYTES];
    size_t bytes;
    dg_file *file = j->scan->file + i;
    dg_err e = dg_file_head(j->folder, file->name, &j->lost, head, sizeof head, &bytes);
    j->fate[i].made = !e && dg_made_by_us(head, bytes) && !(j->o->take_made && dg_made_image(head, bytes));
    if (!e && !dg_image_known(head, bytes)) {
        dg_image im;
        e = dg_image_decode(head, bytes, &j->o->decode, &im);
        if (!e) dg_image_free(&im);
    }
    settle(j, i, e, false);
    file->aside = j->fate[i].made || (e == DG_DATA && !dg_named_like_a_image(file->name));
}

static dg_err decode_into(job *j, long i)
{
    const dg_dataset_options *o = j->o;
    fate *f = j->fate + i;
    uint8_t *data;
    size_t bytes;
    dg_err e = dg_file_whole(j->folder, j->scan->file[i].name, &j->lost, file_limit(o), &data, &bytes);
    if (e) return e;
    dg_image fitted;
    const dg_fitting how = {o->size, o->channels, o->fit, o->resize};
    e = dg_image_decode_fitted(data, bytes, &o->decode, &how, &fitted, &f->file);
    free(data);
    if (e) return e;
    f->did = (uint8_t)f->file.did;
    f->hash = dg_image_note(fitted.pixels, j->bytes, o->channels, &f->did);
    if (!j->file) memcpy(j->pixels + (size_t)f->slot * j->bytes, fitted.pixels, j->bytes);
    else if ((e = dg_cache_put(j->file, f->slot, fitted.pixels))) stop_with(j, e);
    dg_image_free(&fitted);
    return DG_OK;
}

static void decode(job *j, long i)
{
    if (i > atomic_load(&j->first_bad)) return;
    dg_err e = decode_into(j, i);
    settle(j, i, e, true);
    if (e && j->o->strict) {
        long first = atomic_load(&j->first_bad);
        while (i < first && !atomic_compare_exchange_weak(&j->first_bad, &first, i)) {}
    }
}

static void each_file(job *j, void (*work)(job *, long), long total)
{
    const dg_dataset_options *o = j->o;
    atomic_store(&j->done, 0);
    if (o->progress && total) o->progress(o->context, 0, total);
#pragma omp parallel for schedule(dynamic, 4) num_threads(dg_dataset_threads(o))
    for (long i = 0; i < j->scan->files; i++) {
        if (j->fate[i].reason || j->fate[i].made || stopped(j)) continue;
        work(j, i);
        long done = atomic_fetch_add(&j->done, 1) + 1;
        if (o->progress && total && omp_get_thread_num() == 0) o->progress(o->context, done, total);
    }
    if (o->progress && total && !atomic_load(&j->error)) o->progress(o->context, total, total);
}

static long give_slots(job *j, dg_scan *s)
{
    long slots = 0;
    for (long i = 0; i < s->files; i++) {
        if (j->fate[i].reason || j->fate[i].made) continue;
        if (j->o->limit > 0 && slots == j->o->limit) {
            for (long k = i; k < s->files; k++) {
                free(s->file[k].name);
                free(j->fate[k].reason);
                j->fate[k].reason = NULL;
            }
            s->files = i;
            break;
        }
        j->fate[i].slot = (int)slots++;
    }
    return slots;
}

static dg_err collect(job *j, const dg_scan *s, long slots, dg_dataset *out)
{
    dg_err e = dg_dataset_lists(out, slots);
    if (e) return e;
    out->hash = malloc(((size_t)slots + 1) * sizeof *out->hash);
    if (j->file) out->slot = malloc(((size_t)slots + 1) * sizeof *out->slot);
    if (!out->hash || (j->file && !out->slot)) return dg_fail(DG_DEVICE, "no memory for the list of images");
    for (long i = 0; i < s->files; i++) {
        const fate *f = j->fate + i;
        if (f->reason || f->made || i > atomic_load(&j->first_bad)) continue;
        int to = out->count++;
        if (j->file) out->slot[to] = f->slot;
        else memmove(j->pixels + (size_t)to * j->bytes, j->pixels + (size_t)f->slot * j->bytes, j->bytes);
        out->name[to] = strdup(s->file[i].name);
        if (!out->name[to]) return dg_fail(DG_DEVICE, "no memory for the list of images");
        out->width[to] = f->file.W;
        out->height[to] = f->file.H;
        out->kind[to] = (uint8_t)f->file.kind;
        out->did[to] = f->did;
        out->hash[to] = f->hash;
    }
    if (j->file) return DG_OK;
    void *less = out->count ? realloc(j->pixels, (size_t)out->count * j->bytes) : NULL;
    out->pixels = less ? less : j->pixels;
    j->pixels = NULL;
    return DG_OK;
}

static dg_err collect_skips(job *j, dg_scan *s, dg_dataset *out)
{
    for (long i = 0; i < s->files; i++) {
        const fate *f = j->fate + i;
        out->made += f->made;
        if (!f->reason) continue;
        const int how = (f->bad ? DG_SKIP_BAD : 0) | (f->unread ? DG_SKIP_UNREAD : 0);
        dg_err e = dg_scan_skip(s, s->file[i].name, how, f->reason);
        if (e) return e;
    }
    dg_scan_sort_skips(s);
    out->skip = s->skip;
    out->skips = (int)s->skips;
    s->skip = NULL;
    s->skips = 0;
    return DG_OK;
}

static int by_name(const void *name, const void *file) { return strcmp(name, ((const dg_file *)file)->name); }

/* The cache stores only decoding errors, so reading the folder again finds the other skipped files. */
static dg_err recall_failures(job *j, dg_scan *s, dg_dataset *out)
{
    for (int i = 0; i < out->skips; i++) {
        dg_skip *k = out->skip + i;
        const dg_file *file = s->files ? bsearch(k->name, s->file, (size_t)s->files, sizeof *file, by_name) : NULL;
        if (file && k->bad && !j->fate[file - s->file].reason) {
            j->fate[file - s->file] = (fate){.reason = k->reason, .bad = true};
            k->reason = NULL;
        }
        free(k->name);
        free(k->reason);
    }
    free(out->skip);
    out->skip = NULL;
    out->skips = out->made = 0;
    return collect_skips(j, s, out);
}

/* Choose memory or a file for the decoded images. Without a file, other processes decode the images themselves. */
static dg_err choose_place(job *j, long slots)
{
    const dg_dataset_options *o = j->o;
    j->stays = dg_dataset_stays(o, slots);
    dg_err e = j->stays || o->keep_file ? dg_cache_begin(o, o->cache != NULL, slots, &j->file) : DG_OK;
    if (e && !j->stays) {
        dg_cache_close(j->file);
        j->file = NULL;
        e = DG_OK;
    }
    return e || j->file ? e : dg_dataset_pixels(o, slots, &j->pixels);
}

static dg_err decode_all(job *j, dg_scan *s, long slots, dg_dataset *out)
{
    dg_err e = choose_place(j, slots);
    if (e) return e;
    each_file(j, decode, slots);
    if (atomic_load(&j->error)) return dg_fail((dg_err)atomic_load(&j->error), "%s", j->message);
    e = collect(j, s, slots, out);
    if (!e) e = collect_skips(j, s, out);
    if (!e) out->fingerprint = dg_dataset_fingerprint(out, dg_dataset_threads(j->o));
    return e;
}

static bool any_unread(const dg_dataset *d)
{
    for (int i = 0; i < d->skips; i++)
        if (d->skip[i].unread || d->skip[i].folder) return true;
    return false;
}

/* True if listing the folder again gives the same cache key. A file that changed before it was decoded must not be
 * cached. */
static bool is_unchanged(const job *j, uint64_t files)
{
    dg_scan now;
    const dg_dataset_options *o = j->o;
    const bool same = !dg_scan_folder(j->folder, o->dir, (const char *const[]){o->cache, o->skipped}, 2, &now) &&
                      dg_cache_key(o, &now, false) == files;
    dg_scan_free(&now);
    return same;
}

/* Write the cache, if the dataset can be cached, and complete the file of images that were decoded into one. */
static dg_err finish(job *j, dg_cache_keys keys, dg_dataset *out)
{
    const dg_dataset_options *o = j->o;
    bool keep = o->cache && out->count && atomic_load(&j->first_bad) == LONG_MAX && !any_unread(out);
    if (keep && !is_unchanged(j, keys.files)) {
        dg_warn("the image cache is not written: %s: changed while it was read", o->dir);
        keep = false;
    }
    dg_err e = j->file && out->count ? dg_cache_end(j->file, keys, keep, out) : DG_OK;
    if (!e && out->file && !j->stays) e = dg_cache_load(o, out);
    if (!e && keep && !j->file) dg_cache_write(o, keys, out);
    return e;
}

static dg_err read_files(job *j, dg_scan *s, dg_dataset *out)
{
    const dg_dataset_options *o = j->o;
    dg_cache_keys keys = {.files = o->cache ? dg_cache_key(o, s, false) : 0};
    dg_cache_found found = o->cache ? dg_cache_read(o, &keys, out) : DG_CACHE_USELESS;
    if (found == DG_CACHE_TAKEN) return DG_OK;
    j->fate = calloc(s->files ? (size_t)s->files : 1, sizeof *j->fate);
    if (!j->fate) return dg_fail(DG_DEVICE, "no memory for the list of images");
    each_file(j, look_at, 0);
    if (atomic_load(&j->error)) return dg_fail((dg_err)atomic_load(&j->error), "%s", j->message);
    long slots = give_slots(j, s);
    if (o->cache) keys.images = dg_cache_key(o, s, true);
    if (found == DG_CACHE_OTHER && dg_cache_read(o, &keys, out) == DG_CACHE_TAKEN) return recall_failures(j, s, out);
    const dg_err e = decode_all(j, s, slots, out);
    return e ? e : finish(j, keys, out);
}

/* Take the images that another process of this machine has decoded. */
static bool take_shared(const dg_dataset_options *o, dg_dataset *out)
{
    if (!o->other_file || dg_cache_read(o, NULL, out) != DG_CACHE_TAKEN) return false;
    out->train = out->usable = out->count;
    return true;
}

dg_err dg_open_folder(const char *dir, dg_folder *out)
{
    *out = (dg_folder){.fd = -1};
    do out->fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    while (out->fd < 0 && errno == EINTR);
    if (out->fd >= 0) return DG_OK;
    if (errno != ENOTDIR)
        return dg_fail(dg_errno_kind(errno), DG_MSG("folder-missing", "%s: %s"), dir, strerror(errno));
    bool zip = false;
    struct stat st;
    if (!stat(dir, &st)) {
        const dg_err e = dg_zip_look(dir, &zip);
        if (e) return e;
    } else if (errno != ENOTDIR) {
        return dg_fail(DG_IO, "%s: cannot be accessed: %s", dir, strerror(errno));
    }
    return zip ? dg_zip_open(dir, &out->zip) : dg_not_a_folder(dir);
}

void dg_close_folder(dg_folder *folder)
{
    if (folder->fd >= 0) close(folder->fd);
    dg_zip_close(folder->zip);
    *folder = (dg_folder){.fd = -1};
}

static void warn_unread(const dg_dataset_options *o, const dg_dataset *d)
{
    char name[1024];
    const dg_skip *first = NULL;
    int n = 0;
    for (int i = 0; i < d->skips; i++)
        if (d->skip[i].unread && !d->skip[i].folder && n++ == 0) first = d->skip + i;
    if (n == 1)
        dg_warn("skipped 1 unreadable file: %s/%s: %s", o->dir, dg_printable(name, sizeof name, first->name),
                first->reason);
    else if (n)
        dg_warn("skipped %d unreadable file%s of %s; the first is %s: %s", n, dg_s(n), o->dir,
                dg_printable(name, sizeof name, first->name), first->reason);
}

dg_err dg_folder_read(const dg_dataset_options *given, const dg_folder *folder, dg_dataset *out)
{
    dg_dataset_options own = *given;
    const dg_dataset_options *const o = &own;
    job j = {.o = o, .folder = folder, .bytes = dg_size_values(o->size, o->channels)};
    atomic_store(&j.first_bad, LONG_MAX);
    dg_scan s;
    *out = (dg_dataset){.size = o->size, .channels = o->channels};
    if (take_shared(o, out)) return DG_OK;
    own.other_file = NULL;
    j.scan = &s;
    dg_err e = dg_scan_folder(j.folder, o->dir, (const char *const[]){o->cache, o->skipped}, 2, &s);
    if (!e && !o->list_first) e = dg_check_folders(o, s.skip, s.skips);
    if (!e) e = read_files(&j, &s, out);
    out->hidden = s.hidden;
    for (long i = 0; j.fate && i < s.files; i++) free(j.fate[i].reason);
    free(j.fate);
    free(j.pixels);
    dg_cache_close(j.file);
    dg_scan_free(&s);
    out->train = out->usable = out->count;
    if (e) dg_dataset_free(out);
    if (!e) warn_unread(o, out);
    if (!e) dg_warn_folders(o, out->skip, out->skips);
    return e;
}

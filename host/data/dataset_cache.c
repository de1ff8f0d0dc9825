/* Reads and writes the cache file of decoded images. A key identifies files and settings. Checksums detect damage. */
#include "core/base/file_io.h"
#include "host/data/dataset_internal.h"
#include "host/files/replace.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

enum { LISTS_MOST = 1 << 30, PIXELS_AT = 4096, IMAGE_BYTES = 26 /* of an image in the lists, without its name */ };
static const char magic[16] = "dcgan-cache-2\n", magic_1[16] = "dcgan-cache-1\n";

/* The header is followed by `slots` images, then by the lists: arrays and texts of `lists` bytes. The arrays have an
 * entry per image: hash (uint64), width, height, slot (int32), checksum (uint32), kind and did (uint8). Slots of images
 * that could not be decoded are unused. */
typedef struct {
    char magic[16];
    uint32_t order;
    uint32_t crc; /* CRC-32 of the header (with crc = 0) and the lists */
    uint64_t key;
    uint64_t lists;
    uint64_t fingerprint;
    int32_t count, size, channels, skips; /* size: width of the images */
    uint64_t files;                       /* key of all files in the folder, including files that are not images */
    int64_t made;
    int64_t slots;
    int32_t height; /* 0: size */
    uint8_t zero[PIXELS_AT - 92];
} head;
_Static_assert(sizeof(head) == PIXELS_AT, "the first image follows the header");

static uint64_t hash_text(uint64_t h, const char *text) { return dg_hash(h, text, strlen(text) + 1); }

uint64_t dg_cache_key(const dg_dataset_options *o, const dg_scan *s, bool images)
{
    /* Increase the first number of `settings` after a change of cache layout, decoding or resizing. */
    int64_t settings[] = {4,
                          o->size.W,
                          o->channels,
                          o->fit,
                          o->resize,
                          o->decode.alpha,
                          o->decode.exif,
                          (int64_t)o->decode.max_bytes,
                          (int64_t)o->decode.max_pixels,
                          o->limit,
                          images};
    uint64_t h = dg_hash(DG_HASH, settings, sizeof settings);
    if (!dg_is_square(o->size)) h = dg_hash(h, &o->size.H, sizeof o->size.H);
    for (long i = 0; i < s->files; i++) {
        if (images && s->file[i].aside) continue;
        int64_t stat[] = {s->file[i].bytes, s->file[i].seconds, s->file[i].nanoseconds};
        h = dg_hash(hash_text(h, s->file[i].name), stat, sizeof stat);
    }
    for (long i = 0; i < s->skips; i++)
        if (!images || s->skip[i].bad) h = hash_text(hash_text(h, s->skip[i].name), s->skip[i].reason);
    return h;
}

static uint32_t checksum(const head *h, const void *lists)
{
    head plain = *h;
    plain.crc = 0;
    const uLong crc = crc32_z(0, (const Bytef *)&plain, sizeof plain);
    return (uint32_t)crc32_z(crc, lists, (z_size_t)h->lists);
}

static bool read_exactly(int fd, void *to, size_t bytes, int64_t at)
{
    return dg_read_at(fd, to, bytes, at) == (ssize_t)bytes;
}

static char *next_text(const char **at, const char *end)
{
    const char *nul = *at < end ? memchr(*at, 0, (size_t)(end - *at)) : NULL;
    char *copy = nul ? strdup(*at) : NULL;
    if (nul) *at = nul + 1;
    return copy;
}

static void *copy_of(const uint8_t **at, size_t bytes)
{
    void *copy = malloc(bytes + 1);
    if (copy) memcpy(copy, *at, bytes);
    *at += bytes;
    return copy;
}

/* True if the images have different slots. */
static bool are_different(const int32_t *slot, int count, int64_t slots)
{
    uint8_t *used = calloc((size_t)slots + 1, 1);
    bool ok = used != NULL;
    for (int i = 0; i < count && ok; i++) ok = slot[i] >= 0 && slot[i] < slots && !used[slot[i]]++;
    free(used);
    return ok;
}

/* The caller has checked the checksum of the lists. sum becomes the checksum of each image. Returns false without
 * memory or for a forged file. */
static bool take_lists(const head *h, const uint8_t *lists, dg_dataset *d, uint32_t **sum)
{
    const size_t n = (size_t)h->count, skips = (size_t)h->skips;
    if (h->lists < IMAGE_BYTES * n + skips) return false;
    const uint8_t *from = lists;
    d->hash = copy_of(&from, 8 * n);
    d->width = copy_of(&from, 4 * n);
    d->height = copy_of(&from, 4 * n);
    d->slot = copy_of(&from, 4 * n);
    *sum = copy_of(&from, 4 * n);
    d->kind = copy_of(&from, n);
    d->did = copy_of(&from, n);
    d->name = calloc(n, sizeof *d->name);
    d->skip = calloc(skips + 1, sizeof *d->skip);
    if (!d->hash || !d->width || !d->height || !d->slot || !*sum || !d->kind || !d->did || !d->name || !d->skip)
        return false;
    if (!are_different(d->slot, h->count, h->slots)) return false;
    const uint8_t *bad = from;
    const char *at = (const char *)bad + skips, *end = (const char *)lists + h->lists;
    for (; d->count < h->count; d->count++)
        if (!(d->name[d->count] = next_text(&at, end))) return false;
    for (; d->skips < h->skips; d->skips++) {
        dg_skip *s = d->skip + d->skips;
        *s = (dg_skip){next_text(&at, end), next_text(&at, end), .bad = bad[d->skips] != 0};
        if (!s->name || !s->reason) {
            free(s->name);
            free(s->reason);
            return false;
        }
    }
    return at == end;
}

/* Checksums by slot. Returns NULL without memory. */
static uint32_t *by_slot(const dg_dataset *d, const uint32_t *sum, int64_t slots)
{
    uint32_t *all = calloc((size_t)slots + 1, sizeof *all);
    for (int i = 0; i < d->count && all; i++) all[d->slot[i]] = sum[i];
    return all;
}

typedef struct {
    uint8_t *to;
    size_t bytes;
} copy;

static void copy_one(void *context, int thread, int i, const uint8_t *pixels)
{
    const copy *c = context;
    (void)thread;
    memcpy(c->to + (size_t)i * c->bytes, pixels, c->bytes);
}

dg_err dg_cache_load(const dg_dataset_options *o, dg_dataset *d)
{
    const dg_images images = dg_dataset_images(d);
    copy c = {.bytes = images.bytes};
    dg_err e = dg_dataset_pixels(o, d->count, &c.to);
    if (e) return e;
    e = dg_images_each(&images, d->count, dg_dataset_threads(o), copy_one, &c);
    d->pixels = c.to;
    if (e || o->keep_file) return e;
    dg_image_file_close(d->file);
    free(d->slot);
    d->file = NULL;
    d->slot = NULL;
    return DG_OK;
}

static dg_size size_of(const head *h) { return (dg_size){h->size, h->height ? h->height : h->size}; }

static bool has_key(const head *h, const dg_cache_keys *keys)
{
    return (keys->images && h->key == keys->images) || (keys->files && h->files == keys->files);
}

/* Read the header and the lists. Returns NULL after success, "" if the key differs, otherwise a description of the
 * fault. keys = NULL: any. sum: checksum of each image, also set after errors. */
static const char *take_head(const dg_dataset_options *o, int fd, const dg_cache_keys *keys, head *h, dg_dataset *d,
                             uint32_t **sum)
{
    const off_t end = lseek(fd, 0, SEEK_END);
    const size_t most = end < (off_t)sizeof *h ? (size_t)end : sizeof *h;
    if (end < 0 || !read_exactly(fd, h, most, 0)) return "cannot be read";
    if (most >= sizeof magic && !memcmp(h->magic, magic_1, sizeof magic_1)) return "";
    if (most >= sizeof magic && memcmp(h->magic, magic, sizeof magic) != 0) return "not an image cache";
    if (most < sizeof *h) return "cut off";
    if (h->order != 0x01020304 || (keys && !has_key(h, keys))) return "";
    if (h->count < 1 || h->skips < 0 || !dg_same_size(size_of(h), o->size) || h->channels != o->channels)
        return "invalid header";
    if (h->slots < h->count || h->slots > DG_FILES_MAX || h->lists > LISTS_MOST) return "invalid header";
    const uint64_t pixels = (uint64_t)h->slots * dg_size_values(o->size, o->channels);
    if ((uint64_t)end != PIXELS_AT + pixels + h->lists) return "wrong length";
    uint8_t *lists = malloc((size_t)h->lists + 1);
    if (!lists) return "no memory to load the cache";
    const bool read = read_exactly(fd, lists, (size_t)h->lists, (int64_t)(PIXELS_AT + pixels));
    const bool ok = read && checksum(h, lists) == h->crc && take_lists(h, lists, d, sum);
    free(lists);
    return ok ? NULL : read ? "wrong checksum" : "cannot be read";
}

/* Takes over fd. */
static const char *take(const dg_dataset_options *o, int fd, const dg_cache_keys *keys, dg_dataset *d)
{
    head h = {.count = 0};
    uint32_t *sum = NULL;
    const char *wrong = take_head(o, fd, keys, &h, d, &sum), *path = o->other_file ? o->other_file : o->cache;
    uint32_t *slots = wrong ? NULL : by_slot(d, sum, h.slots);
    free(sum);
    if (!wrong && !slots) wrong = "no memory to load the cache";
    if (wrong) {
        close(fd);
        return wrong;
    }
    d->made = (int)h.made;
    d->in_cache = !o->other_file;
    if (dg_image_file_open(fd, path, !o->other_file, PIXELS_AT, (int)h.slots, slots, &d->file))
        return "no memory to load the cache";
    d->fingerprint = dg_dataset_fingerprint(d, 1);
    if (d->fingerprint != h.fingerprint) return "wrong checksum";
    const dg_err e = dg_dataset_stays(o, d->count) ? DG_OK : dg_cache_load(o, d);
    return !e ? NULL : e == DG_DATA ? "wrong checksum" : e == DG_IO ? "cannot be read" : "no memory to load the cache";
}

dg_cache_found dg_cache_read(const dg_dataset_options *o, const dg_cache_keys *keys, dg_dataset *out)
{
    const char *path = o->other_file ? o->other_file : o->cache;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0) return DG_CACHE_USELESS;
    const char *wrong = take(o, fd, keys, out);
    if (!wrong) {
        out->cached = true;
        return DG_CACHE_TAKEN;
    }
    if (*wrong) dg_warn("the image cache is not used: %s: %s", path, wrong);
    dg_dataset_free(out);
    *out = (dg_dataset){.size = o->size, .channels = o->channels};
    return *wrong ? DG_CACHE_USELESS : DG_CACHE_OTHER;
}

static void put(uint8_t **at, const void *from, size_t bytes)
{
    memcpy(*at, from, bytes);
    *at += bytes;
}

static const char too_long[] = "its lists of names would have more than 1 GiB";

/* slot: of each image, or NULL for the image's number. sum: of each slot. Returns NULL without memory, or if *bytes is
 * more than LISTS_MOST. */
static uint8_t *pack_lists(const dg_dataset *d, const int32_t *slot, const uint32_t *sum, size_t *bytes)
{
    const size_t n = (size_t)d->count, skips = (size_t)d->skips;
    size_t total = IMAGE_BYTES * n + skips;
    for (int i = 0; i < d->count; i++) total += strlen(d->name[i]) + 1;
    for (int i = 0; i < d->skips; i++) total += strlen(d->skip[i].name) + strlen(d->skip[i].reason) + 2;
    *bytes = total;
    uint8_t *lists = total <= LISTS_MOST ? malloc(total + 1) : NULL, *to = lists;
    if (!lists) return NULL;
    put(&to, d->hash, 8 * n);
    put(&to, d->width, 4 * n);
    put(&to, d->height, 4 * n);
    for (int32_t i = 0; i < d->count; i++) put(&to, slot ? slot + i : &i, sizeof i);
    for (int i = 0; i < d->count; i++) put(&to, sum + (slot ? slot[i] : i), sizeof *sum);
    put(&to, d->kind, n);
    put(&to, d->did, n);
    for (size_t i = 0; i < skips; i++) *to++ = d->skip[i].bad;
    char *at = (char *)to;
    for (int i = 0; i < d->count; i++) at = stpcpy(at, d->name[i]) + 1;
    for (int i = 0; i < d->skips; i++) {
        at = stpcpy(at, d->skip[i].name) + 1;
        at = stpcpy(at, d->skip[i].reason) + 1;
    }
    return lists;
}

static head head_of(const dg_dataset *d, dg_cache_keys keys, int64_t slots, const uint8_t *lists, size_t bytes)
{
    head h = {.order = 0x01020304,
              .key = keys.images,
              .lists = bytes,
              .fingerprint = d->fingerprint,
              .count = d->count,
              .size = d->size.W,
              .channels = d->channels,
              .skips = d->skips,
              .files = keys.files,
              .made = d->made,
              .slots = slots,
              .height = dg_is_square(d->size) ? 0 : d->size.H};
    memcpy(h.magic, magic, sizeof magic);
    h.crc = checksum(&h, lists);
    return h;
}

void dg_cache_write(const dg_dataset_options *o, dg_cache_keys keys, const dg_dataset *d)
{
    _Static_assert(sizeof(int) == 4, "the cache stores widths and heights as 32-bit integers");
    if (dg_may_replace(o->cache, DG_MADE_CACHE)) {
        dg_warn(DG_MSG("cache-not-used", "the image cache is not written: %s"), dg_message());
        return;
    }
    const size_t image = dg_dataset_images(d).bytes;
    size_t bytes = 0;
    uint32_t *sum = malloc(((size_t)d->count + 1) * sizeof *sum);
    const int sums = sum ? d->count : 0;
#pragma omp parallel for num_threads(dg_dataset_threads(o))
    for (int i = 0; i < sums; i++) sum[i] = (uint32_t)crc32_z(0, d->pixels + (size_t)i * image, image);
    uint8_t *lists = sum ? pack_lists(d, NULL, sum, &bytes) : NULL;
    dg_err e = DG_DEVICE;
    if (lists) {
        const head h = head_of(d, keys, d->count, lists, bytes);
        const dg_chunk piece[] = {{&h, sizeof h}, {d->pixels, (size_t)d->count * image}, {lists, bytes}};
        e = dg_write_atomic(o->cache, piece, 3);
    }
    free(sum);
    if (e)
        dg_warn("the image cache is not written: %s", lists                ? dg_message()
                                                      : bytes > LISTS_MOST ? too_long
                                                                           : "no memory for the cache");
    free(lists);
}

struct dg_cache_file {
    int fd;
    char *path;
    dg_new_file *named; /* or NULL for a file without a name */
    long slots;
    size_t image;
    uint32_t *sum;
};

dg_err dg_cache_begin(const dg_dataset_options *o, bool named, long slots, dg_cache_file **out)
{
    dg_cache_file *f = *out = calloc(1, sizeof *f);
    if (!f) return dg_fail(DG_DEVICE, "no memory for the list of images");
    f->fd = -1;
    f->slots = slots;
    f->image = dg_size_values(o->size, o->channels);
    f->sum = calloc((size_t)slots + 1, sizeof *f->sum);
    if (!f->sum) return dg_fail(DG_DEVICE, "no memory for the list of images");
    const size_t bytes = PIXELS_AT + (size_t)slots * f->image;
    if (!named)
        return dg_context(dg_nameless_open(bytes, &f->path, &f->fd), "%s: the images are too large for memory", o->dir);
    dg_err e = dg_may_replace(o->cache, DG_MADE_CACHE);
    if (!e) e = (f->path = strdup(o->cache)) ? DG_OK : dg_fail(DG_DEVICE, "no memory for the cache");
    return e ? e : dg_new_file_open(o->cache, bytes, &f->named, &f->fd);
}

dg_err dg_cache_put(dg_cache_file *f, long slot, const uint8_t *pixels)
{
    f->sum[slot] = (uint32_t)crc32_z(0, pixels, f->image);
    return dg_write_at(f->fd, f->path, pixels, f->image, (int64_t)PIXELS_AT + (int64_t)slot * (int64_t)f->image);
}

static dg_err use_file(dg_cache_file *f, dg_dataset *d)
{
    uint32_t *sum = f->sum;
    const int fd = f->fd;
    f->sum = NULL;
    f->fd = -1;
    return dg_image_file_open(fd, f->path, d->in_cache, PIXELS_AT, (int)f->slots, sum, &d->file);
}

static dg_err write_lists(dg_cache_file *f, dg_cache_keys keys, const uint8_t *lists, size_t bytes, bool keep,
                          dg_dataset *d)
{
    const head h = head_of(d, keys, f->slots, lists, bytes);
    dg_err e = dg_write_at(f->fd, f->path, lists, bytes, (int64_t)PIXELS_AT + (int64_t)f->slots * (int64_t)f->image);
    if (!e) e = dg_write_at(f->fd, f->path, &h, sizeof h, 0);
    if (e || !keep || !f->named) return e;
    d->in_cache = !dg_new_file_commit(f->named, (dg_chunk){&h, sizeof h});
    if (!d->in_cache) dg_warn("the image cache is not written: %s", dg_message());
    return DG_OK;
}

dg_err dg_cache_end(dg_cache_file *f, dg_cache_keys keys, bool keep, dg_dataset *d)
{
    size_t bytes = 0;
    uint8_t *lists = pack_lists(d, d->slot, f->sum, &bytes);
    if (!lists && bytes <= LISTS_MOST) return dg_fail(DG_DEVICE, "no memory for the list of images");
    if (!lists && keep) dg_warn("the image cache is not written: %s", too_long);
    const dg_err e = lists ? write_lists(f, keys, lists, bytes, keep, d) : DG_OK;
    free(lists);
    return e ? e : use_file(f, d);
}

void dg_cache_close(dg_cache_file *f)
{
    if (!f) return;
    dg_new_file_discard(f->named);
    if (f->fd >= 0) close(f->fd);
    free(f->path);
    free(f->sum);
    free(f);
}

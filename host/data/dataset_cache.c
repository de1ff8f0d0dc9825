/* Reads and writes the cache file of decoded images. A key identifies files and settings. Checksums detect damage. */
#include "core/base/file_io.h"
#include "host/data/dataset_internal.h"
#include "host/files/replace.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

enum { LISTS_MOST = 1 << 30 };
static const char magic[16] = "dcgan-cache-1\n";

/* The header is followed by arrays and texts of `lists` bytes, then by the pixels. */
typedef struct {
    char magic[16];
    uint32_t order;
    uint32_t crc; /* CRC-32 of the header (with crc = 0) and the lists */
    uint64_t key;
    uint64_t lists;
    uint64_t fingerprint;
    int32_t count, size, channels, skips;
    uint64_t files; /* key of all files in the folder, including files that are not images */
    int64_t made;
} head;

static uint64_t hash_text(uint64_t h, const char *text) { return dg_hash(h, text, strlen(text) + 1); }

uint64_t dg_cache_key(const dg_dataset_options *o, const dg_scan *s, bool images)
{
    /* Increase the first number of `settings` after a change of cache layout, decoding or resizing. */
    int64_t settings[] = {3,
                          o->size,
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
    uLong crc = crc32_z(0, (const Bytef *)&plain, sizeof plain);
    return (uint32_t)crc32_z(crc, lists, (z_size_t)h->lists);
}

static bool read_exactly(int fd, void *to, size_t bytes) { return dg_read_some(fd, to, bytes) == (ssize_t)bytes; }

static char *next_text(const char **at, const char *end)
{
    const char *nul = *at < end ? memchr(*at, 0, (size_t)(end - *at)) : NULL;
    char *copy = nul ? strdup(*at) : NULL;
    if (nul) *at = nul + 1;
    return copy;
}

/* The caller has checked the checksum of the lists. Returns false without memory or for a forged file. */
static bool take_lists(const head *h, const uint8_t *lists, dg_dataset *d)
{
    size_t n = (size_t)h->count, skips = (size_t)h->skips;
    if (h->lists < 10 * n + skips) return false;
    d->width = malloc(n * sizeof *d->width);
    d->height = malloc(n * sizeof *d->height);
    d->kind = malloc(n);
    d->did = malloc(n);
    d->name = calloc(n, sizeof *d->name);
    d->skip = calloc(skips + 1, sizeof *d->skip);
    if (!d->width || !d->height || !d->kind || !d->did || !d->name || !d->skip) return false;
    memcpy(d->width, lists, 4 * n);
    memcpy(d->height, lists + 4 * n, 4 * n);
    memcpy(d->kind, lists + 8 * n, n);
    memcpy(d->did, lists + 9 * n, n);
    const uint8_t *bad = lists + 10 * n;
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

/* Load the cache file. Returns NULL after success, "" if the key differs, otherwise a description of the fault. */
static const char *take(const dg_dataset_options *o, int fd, dg_cache_keys keys, dg_dataset *d)
{
    head h;
    off_t end = lseek(fd, 0, SEEK_END);
    lseek(fd, 0, SEEK_SET);
    if (end < (off_t)sizeof h || !read_exactly(fd, &h, sizeof h)) return "cut off";
    if (memcmp(h.magic, magic, sizeof magic) != 0) return "not an image cache";
    if (h.order != 0x01020304 || (h.key != keys.images && h.files != keys.files)) return "";
    uint64_t left = (uint64_t)end - sizeof h;
    if (h.count < 1 || h.skips < 0 || h.size != o->size || h.channels != o->channels) return "invalid header";
    uint64_t pixels = (uint64_t)h.count * (uint64_t)h.size * (uint64_t)h.size * (uint64_t)h.channels;
    if (h.count > DG_FILES_MAX || h.lists > LISTS_MOST) return "invalid header";
    if (h.lists > left || pixels != left - h.lists) return "wrong length";
    uint8_t *lists = malloc((size_t)h.lists + 1);
    d->pixels = malloc((size_t)pixels);
    if (!lists || !d->pixels) {
        free(lists);
        return "no memory to load the cache";
    }
    const bool read = read_exactly(fd, lists, (size_t)h.lists) && read_exactly(fd, d->pixels, (size_t)pixels);
    const bool ok = read && checksum(&h, lists) == h.crc && take_lists(&h, lists, d);
    free(lists);
    if (!ok) return read ? "wrong checksum" : "cannot be read";
    d->made = (int)h.made;
    d->fingerprint = dg_dataset_fingerprint(d, o->threads);
    return d->fingerprint == h.fingerprint ? NULL : "wrong checksum";
}

dg_cache_found dg_cache_read(const dg_dataset_options *o, dg_cache_keys keys, dg_dataset *out)
{
    int fd = open(o->cache, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0) return DG_CACHE_USELESS;
    const char *wrong = take(o, fd, keys, out);
    close(fd);
    if (!wrong) {
        out->cached = true;
        return DG_CACHE_TAKEN;
    }
    if (*wrong) dg_warn("the image cache is not used: %s: %s", o->cache, wrong);
    dg_dataset_free(out);
    *out = (dg_dataset){.size = o->size, .channels = o->channels};
    return *wrong ? DG_CACHE_USELESS : DG_CACHE_OTHER;
}

static uint8_t *pack_lists(const dg_dataset *d, size_t *bytes)
{
    size_t n = (size_t)d->count, skips = (size_t)d->skips, total = 10 * n + skips;
    for (int i = 0; i < d->count; i++) total += strlen(d->name[i]) + 1;
    for (int i = 0; i < d->skips; i++) total += strlen(d->skip[i].name) + strlen(d->skip[i].reason) + 2;
    uint8_t *lists = malloc(total + 1);
    if (!lists) return NULL;
    memcpy(lists, d->width, 4 * n);
    memcpy(lists + 4 * n, d->height, 4 * n);
    memcpy(lists + 8 * n, d->kind, n);
    memcpy(lists + 9 * n, d->did, n);
    for (size_t i = 0; i < skips; i++) lists[10 * n + i] = d->skip[i].bad;
    char *at = (char *)lists + 10 * n + skips;
    for (int i = 0; i < d->count; i++) at = stpcpy(at, d->name[i]) + 1;
    for (int i = 0; i < d->skips; i++) {
        at = stpcpy(at, d->skip[i].name) + 1;
        at = stpcpy(at, d->skip[i].reason) + 1;
    }
    *bytes = total;
    return lists;
}

void dg_cache_write(const dg_dataset_options *o, dg_cache_keys keys, const dg_dataset *d)
{
    _Static_assert(sizeof(int) == 4, "the cache stores widths and heights as 32-bit integers");
    if (dg_may_replace(o->cache, DG_MADE_CACHE)) {
        dg_warn(DG_MSG("cache-not-used", "the image cache is not written: %s"), dg_message());
        return;
    }
    size_t bytes = 0;
    uint8_t *lists = pack_lists(d, &bytes);
    head h = {.order = 0x01020304,
              .key = keys.images,
              .lists = bytes,
              .fingerprint = d->fingerprint,
              .count = d->count,
              .size = d->size,
              .channels = d->channels,
              .skips = d->skips,
              .files = keys.files,
              .made = d->made};
    memcpy(h.magic, magic, sizeof magic);
    dg_err e = DG_DEVICE;
    if (lists) {
        h.crc = checksum(&h, lists);
        size_t pixels = (size_t)d->count * (size_t)d->size * (size_t)d->size * (size_t)d->channels;
        e = dg_write_atomic(o->cache, (dg_chunk[]){{&h, sizeof h}, {lists, bytes}, {d->pixels, pixels}}, 3);
    }
    free(lists);
    if (e) dg_warn("the image cache is not written: %s", lists ? dg_message() : "no memory for the cache");
}

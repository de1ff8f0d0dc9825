#include "host/files/tfevents.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "host/files/appender.h"
#include "host/files/protobuf.h"

enum { WALL_TIME = 1, STEP = 2, FILE_VERSION = 3, SUMMARY = 5 }; /* field numbers of the message Event */
enum { VALUE = 1, TAG = 1, SIMPLE_VALUE = 2, IMAGE = 4 };        /* field numbers of the messages Summary and Value */
enum { HEIGHT = 1, WIDTH = 2, COLORSPACE = 3, ENCODED = 4 };     /* field numbers of the message Image */
enum { HEAD = 12, TAIL = 4, FLUSH_BYTES = 1 << 15 }; /* HEAD, TAIL: bytes of a record before and after its data */
enum { FIRST_BYTES = HEAD + 24 + TAIL };
enum { EVENT_LIMIT = 256 << 20 };
static const size_t FILE_LIMIT = (size_t)1 << 32;

struct dg_tfevents {
    dg_appender file;
    pthread_mutex_t lock;
};

/* CRC-32C (Castagnoli's polynomial, RFC 3720), masked as in TensorFlow. */
static uint32_t masked_crc(const void *data, size_t bytes)
{
    static const uint32_t nibble[16] = {0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3,
                                        0x61c69362, 0x7198540d, 0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
                                        0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75};
    const uint8_t *p = data;
    uint32_t c = 0xffffffff;
    for (size_t i = 0; i < bytes; i++) {
        c = c >> 4 ^ nibble[(c ^ p[i]) & 15];
        c = c >> 4 ^ nibble[(c ^ (uint32_t)(p[i] >> 4)) & 15];
    }
    c = ~c;
    return (c >> 15 | c << 17) + 0xa282ead8;
}

static uint64_t take_number(const uint8_t *p, int bytes)
{
    uint64_t v = 0;
    for (int i = 0; i < bytes; i++) v |= (uint64_t)p[i] << (8 * i);
    return v;
}

static double wall_time(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static dg_err make_record(const char *path, uint64_t step, int field, const void *data, size_t bytes, dg_pb *record)
{
    dg_pb event = {0};
    dg_pb_double(&event, WALL_TIME, wall_time());
    if (step) dg_pb_number(&event, STEP, step);
    dg_pb_bytes(&event, field, data, bytes);
    dg_pb_little(record, event.bytes, 8);
    if (!record->exhausted) dg_pb_little(record, masked_crc(record->text, 8), 4);
    dg_pb_append(record, event.text, event.bytes);
    dg_pb_little(record, masked_crc(event.text, event.bytes), 4);
    const bool failed = event.exhausted || record->exhausted;
    free(event.text);
    return failed ? dg_fail(DG_DEVICE, "%s: out of memory", path) : DG_OK;
}

/* Get the step of a TensorFlow Event, or 0 without step. Returns false for an invalid message. */
static bool step_of(const uint8_t *p, size_t bytes, uint64_t *step)
{
    const uint8_t *const behind = p + bytes;
    *step = 0;
    while (p < behind) {
        uint64_t key = 0, v = 0;
        for (int shift = 0; shift < 64; shift += 7) {
            if (p == behind) return false;
            key |= (uint64_t)(*p & 127) << shift;
            if (*p++ < 128) break;
        }
        const int wire = (int)(key & 7);
        for (int shift = 0; (wire == DG_PB_VARINT || wire == DG_PB_BYTES) && shift < 64; shift += 7) {
            if (p == behind) return false;
            v |= (uint64_t)(*p & 127) << shift;
            if (*p++ < 128) break;
        }
        const uint64_t skip = wire == DG_PB_FIXED64 ? 8 : wire == DG_PB_FIXED32 ? 4 : wire == DG_PB_BYTES ? v : 0;
        if (wire == 3 || wire == 4 || wire > 5 || skip > (uint64_t)(behind - p)) return false;
        p += skip;
        if (key == (STEP << 3 | DG_PB_VARINT)) *step = v;
    }
    return true;
}

typedef struct {
    uint8_t *data;
    size_t bytes, room;
} records;

/* Read n more bytes. Memory grows with the bytes read, not with the length that a damaged record declares. */
static dg_err take_next(records *r, int fd, const char *path, size_t n)
{
    if (r->room - r->bytes < n) {
        const size_t room = 2 * (r->bytes + n);
        uint8_t *more = realloc(r->data, room);
        if (!more) return dg_fail(DG_DEVICE, "%s: out of memory for the events of this file", path);
        r->data = more;
        r->room = room;
    }
    const dg_err e = dg_read_next(fd, path, r->data + r->bytes, n);
    if (!e) r->bytes += n;
    return e;
}

/* Read the intact records up to step last_step from a file of `bytes` bytes into r. */
static dg_err keep_records(int fd, const char *path, size_t bytes, uint64_t last_step, records *r)
{
    dg_err e = DG_OK;
    bool whole = true;
    while (!e && whole && bytes >= HEAD + TAIL) {
        const size_t at = r->bytes;
        uint64_t step = 0;
        e = take_next(r, fd, path, HEAD);
        if (e) break;
        const uint64_t n = take_number(r->data + at, 8);
        whole = n <= bytes - HEAD - TAIL && n <= EVENT_LIMIT &&
                take_number(r->data + at + 8, 4) == masked_crc(r->data + at, 8);
        if (whole) e = take_next(r, fd, path, (size_t)n + TAIL);
        const uint8_t *event = r->data + at + HEAD;
        whole = whole && !e && take_number(event + n, 4) == masked_crc(event, n) && step_of(event, n, &step);
        if (!whole || step > last_step) r->bytes = at;
        bytes -= whole ? HEAD + n + TAIL : 0;
    }
    return e;
}

static dg_err begin_file(const dg_directory *dir, const char *path)
{
    static const char version[] = "brain.Event:2";
    dg_pb record = {0};
    dg_err e = make_record(path, 0, FILE_VERSION, version, strlen(version), &record);
    if (!e) e = dg_write_atomic_in(dir, path, &(dg_chunk){record.text, record.bytes}, 1);
    free(record.text);
    return e;
}

static dg_err trim_file(const dg_directory *dir, const char *path, uint64_t last_step)
{
    records r = {0};
    size_t bytes;
    int fd;
    dg_err e = dg_read_own_open(dir->fd, path, FILE_LIMIT, &fd, &bytes);
    if (e) return e;
    e = keep_records(fd, path, bytes, last_step, &r);
    close(fd);
    if (!e && !r.bytes) e = begin_file(dir, path);
    else if (!e && r.bytes < bytes) e = dg_write_atomic_in(dir, path, &(dg_chunk){r.data, r.bytes}, 1);
    free(r.data);
    return e;
}

bool dg_tfevents_is_empty(int dir, const char *name)
{
    struct stat s;
    return fstatat(dir, name, &s, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(s.st_mode) && s.st_size <= FIRST_BYTES;
}

dg_err dg_tfevents_open(const dg_directory *dir, const char *path, uint64_t last_step, dg_tfevents **out)
{
    const char *name = dg_last_component(path);
    const bool there = last_step && faccessat(dir->fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
    dg_err e = there ? trim_file(dir, path, last_step) : begin_file(dir, path);
    dg_tfevents *t = e ? NULL : calloc(1, sizeof *t);
    if (e) return e;
    if (!t) return dg_fail(DG_DEVICE, "%s: out of memory", path);
    snprintf(t->file.path, sizeof t->file.path, "%s", path);
    pthread_mutex_init(&t->lock, NULL);
    t->file.fd = openat(dir->fd, name, O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC);
    if (t->file.fd >= 0) {
        *out = t;
        return DG_OK;
    }
    e = dg_fail(DG_IO, "%s: cannot be opened: %s", path, strerror(errno));
    (void)dg_tfevents_close(t);
    return e;
}

/* Frees the text of summary. */
static dg_err append(dg_tfevents *t, uint64_t step, dg_pb *summary, bool now)
{
    dg_pb record = {0};
    dg_err e = summary->exhausted ? dg_fail(DG_DEVICE, "%s: out of memory", t->file.path)
                                  : make_record(t->file.path, step, SUMMARY, summary->text, summary->bytes, &record);
    free(summary->text);
    pthread_mutex_lock(&t->lock);
    if (!e) e = dg_append(&t->file, record.text, record.bytes);
    if (!e && (now || t->file.buffer.bytes > FLUSH_BYTES)) e = dg_append_flush(&t->file);
    pthread_mutex_unlock(&t->lock);
    free(record.text);
    return e;
}

dg_err dg_tfevents_scalars(dg_tfevents *t, uint64_t step, const char *const *tag, const double *value, int n)
{
    dg_pb summary = {0};
    for (int i = 0; i < n; i++) {
        dg_pb one = {0};
        if (isnan(value[i])) continue;
        dg_pb_text(&one, TAG, tag[i]);
        dg_pb_float(&one, SIMPLE_VALUE, value[i]);
        dg_pb_put(&summary, VALUE, &one);
    }
    return append(t, step, &summary, false);
}

dg_err dg_tfevents_image(dg_tfevents *t, uint64_t step, const char *tag, int W, int H, int C, const void *png,
                         size_t bytes)
{
    dg_pb image = {0}, value = {0}, summary = {0};
    dg_pb_number(&image, HEIGHT, (uint64_t)H);
    dg_pb_number(&image, WIDTH, (uint64_t)W);
    dg_pb_number(&image, COLORSPACE, (uint64_t)C);
    dg_pb_bytes(&image, ENCODED, png, bytes);
    dg_pb_text(&value, TAG, tag);
    dg_pb_put(&value, IMAGE, &image);
    dg_pb_put(&summary, VALUE, &value);
    return append(t, step, &summary, true);
}

dg_err dg_tfevents_flush(dg_tfevents *t)
{
    pthread_mutex_lock(&t->lock);
    const dg_err e = dg_append_flush(&t->file);
    pthread_mutex_unlock(&t->lock);
    return e;
}

dg_err dg_tfevents_close(dg_tfevents *t)
{
    if (!t) return DG_OK;
    const dg_err e = t->file.fd >= 0 ? dg_append_flush(&t->file) : DG_OK;
    if (t->file.fd >= 0) close(t->file.fd);
    pthread_mutex_destroy(&t->lock);
    free(t->file.buffer.text);
    free(t);
    return e;
}

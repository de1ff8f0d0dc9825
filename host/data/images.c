#include "host/data/images.h"

#include <errno.h>
#include <fcntl.h>
#include <omp.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "core/base/file_io.h"

struct dg_image_file {
    int fd;
    char *path;
    bool named;
    int64_t at;
    int slots;
    uint32_t *sum;
    atomic_uchar *valid; /* 1 after the checksum of a slot was compared */
};

dg_images dg_images_of(const uint8_t *pixels, int count, size_t bytes)
{
    return (dg_images){.bytes = bytes, .count = count, .memory = pixels};
}

dg_err dg_image_file_open(int fd, const char *path, bool named, int64_t at, int slots, uint32_t *sum,
                          dg_image_file **out)
{
    dg_image_file *f = *out = malloc(sizeof *f);
    const size_t n = (size_t)slots + 1;
    if (f) *f = (dg_image_file){fd, strdup(path), named, at, slots, sum, calloc(n, sizeof *f->valid)};
    if (f && f->path && f->valid) return DG_OK;
    if (f) {
        dg_image_file_close(f);
    } else {
        close(fd);
        free(sum);
    }
    *out = NULL;
    return dg_fail(DG_DEVICE, "%s: no memory for a list of %d images", path, slots);
}

void dg_image_file_close(dg_image_file *f)
{
    if (!f) return;
    close(f->fd);
    free(f->path);
    free(f->sum);
    free(f->valid);
    free(f);
}

int dg_image_file_fd(const dg_image_file *f) { return f->fd; }

static off_t offset_of(const dg_images *p, int i) { return (off_t)p->file->at + (off_t)p->slot[i] * (off_t)p->bytes; }

static dg_err wrong(const dg_images *p, int i, const char *what)
{
    char name[1024] = "";
    if (p->name) dg_printable(name, sizeof name, p->name[i]);
    return dg_fail(DG_DATA, DG_MSG("image-file-wrong", "%s: image %d%s%s: %s; %sstart again"), p->file->path, i,
                   *name ? ", " : "", name, what, p->file->named ? "remove the file, then " : "");
}

static dg_err read_file(const dg_images *p, int i, uint8_t *to)
{
    dg_image_file *f = p->file;
    ssize_t n;
    int tries = 0;
    do n = dg_read_at(f->fd, to, p->bytes, offset_of(p, i));
    while (n < 0 && dg_try_soon(errno, tries++));
    if (n < 0)
        return dg_fail(DG_IO, DG_MSG("image-file-unread", "%s: cannot be read: %s; check the disk or the network"),
                       f->path, strerror(errno));
    if ((size_t)n < p->bytes) return wrong(p, i, "the file became shorter");
    atomic_uchar *valid = f->valid + p->slot[i];
    if (atomic_load_explicit(valid, memory_order_relaxed)) return DG_OK;
    if ((uint32_t)crc32_z(0, to, p->bytes) != f->sum[p->slot[i]]) return wrong(p, i, "wrong checksum");
    atomic_store_explicit(valid, 1, memory_order_relaxed);
    return DG_OK;
}

dg_err dg_images_read(const dg_images *p, int i, uint8_t *to)
{
    if (!p->memory) return read_file(p, i, to);
    memcpy(to, p->memory + (size_t)i * p->bytes, p->bytes);
    return DG_OK;
}

dg_err dg_images_read_some(const dg_images *p, int first, int n, uint8_t *to)
{
    dg_err e = DG_OK;
    for (int i = 0; i < n && !e; i++) e = dg_images_read(p, first + i, to + (size_t)i * p->bytes);
    return e;
}

void dg_images_prefetch(const dg_images *p, int i)
{
#ifdef POSIX_FADV_WILLNEED
    if (!p->memory) (void)posix_fadvise(p->file->fd, offset_of(p, i), (off_t)p->bytes, POSIX_FADV_WILLNEED);
#else
    (void)p, (void)i;
#endif
}

dg_err dg_images_each(const dg_images *p, int n, int threads,
                      void (*see)(void *context, int thread, int i, const uint8_t *pixels), void *context)
{
    const int most = threads > 0 ? threads : omp_get_max_threads();
    uint8_t *room = p->memory ? NULL : malloc((size_t)most * p->bytes);
    char message[DG_MESSAGE_BYTES] = "";
    atomic_int error = DG_OK;
    if (!p->memory && !room) return dg_fail(DG_DEVICE, "out of memory to read images");
#pragma omp parallel for num_threads(most) schedule(static)
    for (int i = 0; i < n; i++) {
        const int thread = omp_get_thread_num();
        uint8_t *own = room ? room + (size_t)thread * p->bytes : NULL;
        if (atomic_load(&error)) continue;
        const dg_err e = own ? read_file(p, i, own) : DG_OK;
        int none = DG_OK;
        if (!e) see(context, thread, i, own ? own : p->memory + (size_t)i * p->bytes);
        else if (atomic_compare_exchange_strong(&error, &none, (int)e)) /* the first error is returned */
            snprintf(message, sizeof message, "%s", dg_message());
    }
    free(room);
    const dg_err e = (dg_err)atomic_load(&error);
    return e ? dg_fail(e, "%s", message) : DG_OK;
}

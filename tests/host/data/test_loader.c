/* Tests that the loader copies images to the device in the order of each epoch, all at once or a window of images at
 * a time, from memory and from a file, for all shards and for those of one process. Sizes are odd. */
#include "failing.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "core/base/rng.h"
#include "host/data/loader.h"
#include "tempdir.h"
#include "test.h"

enum { COUNT = 23, BATCH = 4, EPOCHS = 3, MOST = 17, SEED = 5, LABEL = 4 };

static uint8_t data[COUNT * (MOST + LABEL)];
static int32_t label[COUNT];

/* Compares the images that the next n steps read with those of the epoch's order. */
static void check_steps(const dg_loader *f, const int32_t *order, int place, int n)
{
    const uint8_t *there = f->data;
    const int32_t *perm = f->perm;
    const size_t bytes = f->records.images.bytes;
    for (int step = 0; step < n; step++, place += BATCH) {
        const dg_places own = dg_own_places(&f->o, place);
        for (int i = own.from; i < own.from + own.n; i++) {
            const uint8_t *record = there + (size_t)perm[i] * f->records.bytes;
            bool same = !memcmp(record, data + (size_t)order[i] * bytes, bytes);
            if (f->records.label) same &= !memcmp(record + bytes, label + order[i], LABEL);
            DG_CHECKF(same, "window %d, shards %d from %d, records of %zu bytes: place %d of the epoch", f->o.window,
                      f->o.shards, f->o.first_shard, f->records.bytes, i);
        }
    }
}

static int steps_to_give(const dg_loader *f, int place, int most)
{
    const int n = dg_loader_steps(f, place);
    return n < most ? n : most;
}

/* most: max steps per launch */
static void check(dg_backend *b, const dg_training_records *r, const dg_loader_options *o, int most)
{
    dg_loader f;
    int32_t order[COUNT];
    if (!DG_CHECK(!dg_loader_open(&f, b, r, o))) return;
    for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
        dg_permutation(order, COUNT, SEED, epoch);
        const int begin = epoch ? 0 : o->used / 2 / BATCH * BATCH; /* the first epoch is resumed */
        DG_CHECK(!dg_loader_epoch(&f, epoch, begin));
        for (int place = begin, n; place < o->used; place += n * BATCH) {
            n = steps_to_give(&f, place, most);
            DG_CHECK(!dg_loader_step(&f, place, n));
            check_steps(&f, order, place, n);
        }
    }
    dg_loader_close(&f);
}

static void check_all(dg_backend *b, const dg_training_records *r)
{
    for (int window = 0; window <= 7 * BATCH; window += BATCH)
        for (int most = 1; most < 4; most += 2) {
            dg_loader_options o = {
                .batch = BATCH, .used = COUNT, .window = window, .shards = 1, .own = 1, .seed = SEED};
            check(b, r, &o, most);
            o.used = COUNT - COUNT % BATCH;
            check(b, r, &o, most);
            for (o.first_shard = 0; o.first_shard < 4; o.first_shard++) {
                o.shards = 4;
                o.own = 1;
                check(b, r, &o, most);
            }
            o = (dg_loader_options){BATCH, COUNT - COUNT % 2, window, 2, 0, 2, SEED};
            check(b, r, &o, most);
        }
}

/* Stores the images in a file in reverse order, at an odd offset. slot: of each image. */
static dg_image_file *store(size_t bytes, int32_t *slot)
{
    dg_image_file *f = NULL;
    uint32_t *sum = calloc(COUNT, sizeof *sum);
    const int fd = open(temp_path("images"), O_RDWR | O_CREAT | O_TRUNC, 0666);
    for (int i = 0; i < COUNT; i++) {
        slot[i] = COUNT - 1 - i;
        const uint8_t *image = data + (size_t)i * bytes;
        DG_CHECK(pwrite(fd, image, bytes, (off_t)(3 + (size_t)slot[i] * bytes)) == (ssize_t)bytes);
        sum[slot[i]] = (uint32_t)crc32(0, image, (uInt)bytes);
    }
    DG_WORKS(dg_image_file_open(fd, "images", true, 3, COUNT, sum, &f));
    return f;
}

/* A damaged image ends with an error that names it, in the step that needs it. */
static void damaged(dg_backend *b)
{
    int32_t slot[COUNT];
    char *name[COUNT];
    for (int i = 0; i < COUNT; i++) name[i] = i == 11 ? "the eleventh" : "another";
    dg_training_records r = {.images = dg_images_of(NULL, COUNT, 5), .bytes = 5, .count = COUNT};
    r.images.file = store(5, slot);
    r.images.slot = slot;
    r.images.name = name;
    const int fd = open(temp_path("images"), O_RDWR);
    DG_CHECK(pwrite(fd, "?", 1, 3 + (COUNT - 1 - 11) * 5 + 2) == 1);
    for (int window = 0; window <= 2 * BATCH; window += BATCH) {
        dg_loader f;
        const dg_loader_options o = {
            .batch = BATCH, .used = COUNT, .window = window, .shards = 1, .own = 1, .seed = SEED};
        dg_err e = dg_loader_open(&f, b, &r, &o);
        if (!e) e = dg_loader_epoch(&f, 0, 0);
        for (int place = 0; place < COUNT && !e; place += BATCH) e = dg_loader_step(&f, place, 1);
        DG_REFUSED(e, DG_DATA, "image 11, the eleventh: wrong checksum");
        dg_loader_close(&f);
    }
    DG_CHECK(!ftruncate(fd, 3 + 20 * 5));
    uint8_t image[5];
    DG_REFUSED(dg_images_read(&r.images, 0, image), DG_DATA, "became shorter");
    DG_WORKS(dg_images_read(&r.images, 12, image));
    close(fd);
    dg_image_file_close(r.images.file);
}

static void no_memory(dg_backend *b)
{
#if DG_FAILING
    for (int window = 0; window <= BATCH; window += BATCH) {
        bool there = true;
        int refused = 0;
        for (long k = 1; there && k < 1000; k++) {
            dg_loader f;
            const dg_training_records r = {.images = dg_images_of(data, COUNT, 5), .bytes = 5, .count = COUNT};
            const dg_loader_options o = {
                .batch = BATCH, .used = COUNT, .window = window, .shards = 1, .own = 1, .seed = SEED};
            arm(MEMORY, k, false);
            const dg_err e = dg_loader_open(&f, b, &r, &o);
            there = disarm();
            DG_CHECKF(!e || (there && e == DG_DEVICE && strstr(dg_message(), "memory")), "allocation %ld: %d", k,
                      (int)e);
            refused += e != DG_OK;
            dg_loader_close(&f);
        }
        DG_CHECKF(!there && refused == (window ? 11 : 3), "window %d: %d allocations", window, refused);
    }
#else
    (void)b;
#endif
}

int main(void)
{
    dg_backend *b;
    for (size_t i = 0; i < sizeof data; i++) data[i] = (uint8_t)(i * 2654435761u >> 13);
    for (int i = 0; i < COUNT; i++) label[i] = 1000 - i;
    temp_make("loader");
    /* the CPU backend's memory is host memory */
    DG_CHECK(!dg_cpu_open(&(dg_cpu_options){.threads = 2, .real = DG_F32}, &b));
    for (size_t bytes = 1; bytes <= MOST; bytes += 8) {
        int32_t slot[COUNT];
        dg_training_records r = {.images = dg_images_of(data, COUNT, bytes), .bytes = bytes, .count = COUNT};
        check_all(b, &r);
        r.label = label;
        r.bytes = bytes + LABEL;
        check_all(b, &r);
        r.images.memory = NULL;
        r.images.file = store(bytes, slot);
        r.images.slot = slot;
        check_all(b, &r);
        dg_image_file_close(r.images.file);
        r = (dg_training_records){.data = data, .bytes = bytes, .count = COUNT, .images.bytes = bytes};
        check_all(b, &r);
    }
    damaged(b);
    no_memory(b);
    b->close(b);
    temp_remove(temp_dir);
    return dg_test_report();
}

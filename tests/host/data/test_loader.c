/* Tests that the loader copies images to the device in the order of each epoch, all at once or a window of images at
 * a time. Sizes are odd. */
#include "failing.h"

#include <string.h>

#include "core/base/rng.h"
#include "host/data/loader.h"
#include "test.h"

enum { COUNT = 23, BATCH = 3, EPOCHS = 3, MOST = 17, SEED = 5 };

static uint8_t data[COUNT * MOST];

static void check_step(const dg_loader *f, const int32_t *order, int place, int n)
{
    const uint8_t *there = f->data;
    const int32_t *perm = f->perm;
    const size_t bytes = f->records.bytes;
    for (int i = place; i < place + n; i++)
        DG_CHECKF(!memcmp(there + (size_t)perm[i] * bytes, data + (size_t)order[i] * bytes, bytes),
                  "window %d, records of %zu bytes: place %d of the epoch", f->window, bytes, i);
}

static void check(dg_backend *b, size_t bytes, int window, int used)
{
    dg_loader f;
    int32_t order[COUNT];
    if (!DG_CHECK(!dg_loader_open(&f, b, (dg_records){data, bytes, COUNT}, BATCH, used, window, SEED))) return;
    for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
        dg_permutation(order, COUNT, SEED, epoch);
        DG_CHECK(!dg_loader_epoch(&f, epoch, 0));
        for (int place = 0; place < used; place += BATCH) {
            DG_CHECK(!dg_loader_step(&f, place));
            check_step(&f, order, place, used - place < BATCH ? used - place : BATCH);
        }
    }
    dg_loader_close(&f);
}

static void no_memory(dg_backend *b)
{
#if DG_FAILING
    for (int window = 0; window <= BATCH; window += BATCH) {
        bool there = true;
        int refused = 0;
        for (long k = 1; there && k < 1000; k++) {
            dg_loader f;
            arm(MEMORY, k, false);
            const dg_err e = dg_loader_open(&f, b, (dg_records){data, 5, COUNT}, BATCH, COUNT, window, SEED);
            there = disarm();
            DG_CHECKF(!e || (there && e == DG_DEVICE && strstr(dg_message(), "memory")), "allocation %ld: %d", k,
                      (int)e);
            refused += e != DG_OK;
            dg_loader_close(&f);
        }
        DG_CHECKF(!there && refused == (window ? 6 : 4), "window %d: %d allocations", window, refused);
    }
#else
    (void)b;
#endif
}

int main(void)
{
    dg_backend *b;
    for (size_t i = 0; i < sizeof data; i++) data[i] = (uint8_t)(i * 2654435761u >> 13);
    /* the CPU backend's memory is host memory */
    DG_CHECK(!dg_cpu_open(&(dg_cpu_options){.threads = 2, .real = DG_F32}, &b));
    for (size_t bytes = 1; bytes <= MOST; bytes += 4)
        for (int window = 0; window <= 4 * BATCH; window += BATCH) {
            check(b, bytes, window, COUNT);
            check(b, bytes, window, COUNT - COUNT % BATCH);
        }
    no_memory(b);
    b->close(b);
    return dg_test_report();
}

/* One hash of all pixels. This is a separate file, because the library also hashes images that come from no folder. */
#include "host/data/dataset_internal.h"

#include <omp.h>
#include <stdlib.h>

uint64_t dg_hash(uint64_t h, const void *data, size_t bytes)
{
    const uint8_t *p = data;
    /* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): false positive in a parallel loop */
    for (size_t i = 0; i < bytes; i++) h = (h ^ p[i]) * 0x100000001b3u;
    return h;
}

uint64_t dg_dataset_fingerprint(const dg_dataset *d, int threads)
{
    size_t bytes = (size_t)d->size * (size_t)d->size * (size_t)d->channels;
    uint64_t *each = malloc(d->count ? (size_t)d->count * sizeof *each : 1), h = DG_HASH;
    int shape[3] = {d->count, d->size, d->channels};
    h = dg_hash(h, shape, sizeof shape);
    if (each) {
#pragma omp parallel for num_threads(threads > 0 ? threads : omp_get_max_threads())
        for (int i = 0; i < d->count; i++) each[i] = dg_hash(DG_HASH, d->pixels + (size_t)i * bytes, bytes);
        h = dg_hash(h, each, (size_t)d->count * sizeof *each);
    } else { /* no memory for hashes per image: compute the hash on one thread */
        for (int i = 0; i < d->count; i++) {
            uint64_t one = dg_hash(DG_HASH, d->pixels + (size_t)i * bytes, bytes);
            h = dg_hash(h, &one, sizeof one);
        }
    }
    free(each);
    return h;
}

/* Mean and standard deviation of each channel of the training images. */
#include <math.h>

#include "host/data/dataset.h"

void dg_dataset_statistics(const dg_dataset *d, double mean[4], double std[4])
{
    const size_t pixels = (size_t)d->train * (size_t)d->size * (size_t)d->size, C = (size_t)d->channels;
    for (size_t c = 0; c < C; c++) {
        uint64_t sum = 0, squares = 0; /* 64-bit sums are exact for up to 2^48 pixels */
        for (size_t i = 0; i < pixels; i++) {
            const uint64_t v = d->pixels[i * C + c];
            sum += v;
            squares += v * v;
        }
        const double n = (double)pixels, m = (double)sum / n, variance = (double)squares / n - m * m;
        mean[c] = m / 255;
        std[c] = variance > 1 ? sqrt(variance) / 255 : 1.0 / 255;
    }
}

/* Functions that degrade an image of IMAGE = SIZE * SIZE * 3 bytes; the including test defines SIZE and IMAGE. */
#pragma once

#include "test.h"

static unsigned long long dice = 7;
static double normal(void)
{
    double sum = 0;
    for (int i = 0; i < 12; i++) sum += dg_test_random(&dice) / 2;
    return sum;
}

static uint8_t byte_of(double v) { return (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v + 0.5); }

/* The functions write the result for image x to y. */

static void blur(uint8_t *y, const uint8_t *x, int i)
{
    (void)i;
    static const int weight[5] = {1, 4, 6, 4, 1};
    for (int r = 0; r < SIZE; r++)
        for (int c = 0; c < SIZE * 3; c++) {
            int sum = 128;
            for (int a = -2; a <= 2; a++)
                for (int b = -2; b <= 2; b++) {
                    const int R = r + a < 0 ? 0 : r + a >= SIZE ? SIZE - 1 : r + a, C = c + 3 * b;
                    sum += weight[a + 2] * weight[b + 2] * x[R * SIZE * 3 + (C < 0 || C >= SIZE * 3 ? c : C)];
                }
            y[r * SIZE * 3 + c] = (uint8_t)(sum / 256);
        }
}

static void add_noise(uint8_t *y, const uint8_t *x, double sigma)
{
    for (int k = 0; k < IMAGE; k++) y[k] = byte_of(x[k] + sigma * normal());
}

static void halves(uint8_t *y, const uint8_t *x, int i)
{
    (void)i;
    for (int k = 0; k < IMAGE; k++) y[k] = x[k / (SIZE * 3) * SIZE * 3 + (k + SIZE / 2 * 3) % (SIZE * 3)];
}

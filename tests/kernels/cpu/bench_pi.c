/* Pi by 200 million trapezoids below 4 / (1 + x^2), with 1 and 2 threads: what a published system timed first. Not run
 * by make check.
 *
 *     make build/tests/bench_pi && build/tests/bench_pi [-n trapezoids] [-r repeats]
 *
 * Exits with 1 if a sum is off by more than 1e-10, or if the number of threads changes a bit. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* A piece's trapezoids are summed by LANES chains of their own; the pieces' sums are added in order. */
enum { PIECES = 1000, LANES = 32 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline double height(double x) { return 4 / (1 + x * x); }

/* Heights of points first <= i < last of n, at i / n. */
static double piece(int64_t first, int64_t last, int64_t n)
{
    const double step = 1 / (double)n;
    double sum[LANES] = {0}, all = 0;
    int64_t i = first;
    for (; i + LANES <= last; i += LANES) {
        const double at = (double)i;
#pragma omp simd
        for (int k = 0; k < LANES; k++) sum[k] += height((at + k) * step);
    }
    for (; i < last; i++) all += height((double)i * step);
    for (int k = 0; k < LANES; k++) all += sum[k];
    return all;
}

static double pi(int64_t n, int threads)
{
    double part[PIECES], sum = (height(0) + height(1)) / 2;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int p = 0; p < PIECES; p++) part[p] = piece(1 + (n - 1) * p / PIECES, 1 + (n - 1) * (p + 1) / PIECES, n);
    for (int p = 0; p < PIECES; p++) sum += part[p];
    return sum / (double)n;
}

int main(int argc, char **argv)
{
    int64_t n = 200000000;
    int repeats = 5, opt;
    while ((opt = getopt(argc, argv, "n:r:")) != -1) {
        if (opt == 'n') n = atoll(optarg);
        else if (opt == 'r') repeats = atoi(optarg);
        else return 2;
    }
    if (n < 1 || repeats < 1) return 2;
    double best[2] = {INFINITY, INFINITY}, value[2];
    for (int r = 0; r < repeats; r++) /* in turns: other programs slow down both */
        for (int t = 0; t < 2; t++) {
            const double start = now();
            value[t] = pi(n, t + 1);
            best[t] = fmin(best[t], now() - start);
        }
    const double exact = 3.14159265358979323846;
    /* a sum of n trapezoids is too small by 1 / (6 n^2) */
    const double most = 1e-10 + 1 / (6 * (double)n * (double)n);
    for (int t = 0; t < 2; t++)
        printf("%d thread%s: %lld trapezoids in %.1f ms, pi %+.1e\n", t + 1, t ? "s" : "", (long long)n, best[t] * 1e3,
               value[t] - exact);
    printf("1 -> 2 threads: %.2f times\n", best[0] / best[1]);
    return !(fabs(value[0] - exact) <= most) || value[0] != value[1];
}

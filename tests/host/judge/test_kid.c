/* Tests KID by direct double loops, by its formula for constant sets, and by random halves of one set. */
#include <omp.h>

#include "core/base/rng.h"
#include "host/judge/kid.h"
#include "test.h"

enum { D = 5, MOST = 130 };
static double x[MOST * D], y[MOST * D];

static void draw(double shift)
{
    unsigned long long state = 7;
    for (int i = 0; i < MOST * D; i++) {
        x[i] = 2 * dg_test_random(&state) + i % D;
        y[i] = 2 * dg_test_random(&state) + i % D + shift;
    }
}

static double kernel(const double *a, const double *b)
{
    double dot = 0;
    for (int k = 0; k < D; k++) dot += a[k] * b[k];
    return pow(dot / D + 1, 3);
}

static double sum(const double *a, const int32_t *p, const double *b, const int32_t *q, int n)
{
    double all = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            if (a != b || p[i] != q[j]) all += kernel(a + p[i] * D, b + q[j] * D);
    return all;
}

static dg_kid direct(int n, int m, uint64_t seed)
{
    const int s = (n < m ? n : m) / 2;
    double value[DG_KID_SUBSETS], mean = 0, squares = 0;
    for (uint64_t i = 0; i < DG_KID_SUBSETS; i++) {
        int32_t p[MOST], q[MOST];
        dg_permutation_of(p, n, seed, dg_subsequence(DG_STREAM_JUDGE, 64 + 2 * i));
        dg_permutation_of(q, m, seed, dg_subsequence(DG_STREAM_JUDGE, 65 + 2 * i));
        value[i] = (sum(x, p, x, p, s) + sum(y, q, y, q, s)) / (s * (s - 1)) - 2 * sum(x, p, y, q, s) / (s * s);
        mean += value[i] / DG_KID_SUBSETS;
    }
    for (int i = 0; i < DG_KID_SUBSETS; i++) squares += pow(value[i] - mean, 2) / DG_KID_SUBSETS;
    return (dg_kid){mean, sqrt(squares)};
}

/* Both the products of all points and the products of each subset occur. */
static void check_direct(void)
{
    static const int size[][2] = {{4, 5}, {5, 4}, {67, 90}, {4, 130}, {130, 7}};
    draw(0.5);
    for (size_t i = 0; i < sizeof size / sizeof *size; i++) {
        dg_kid is;
        DG_CHECK(!dg_kid_of(x, size[i][0], y, size[i][1], D, 3 + i, 0, &is));
        const dg_kid want = direct(size[i][0], size[i][1], 3 + i);
        DG_NEAR(is.value, want.value, 1e-9 * fabs(want.value));
        DG_NEAR(is.deviation, want.deviation, 1e-9 * want.deviation);
        DG_CHECK(is.deviation > 0);
    }
}

static void check_constant(void)
{
    dg_kid is;
    for (int i = 0; i < MOST * D; i++) x[i] = i % D, y[i] = 1 - i % D;
    DG_CHECK(!dg_kid_of(x, 9, y, 8, D, 1, 0, &is));
    DG_NEAR(is.value, kernel(x, x) + kernel(y, y) - 2 * kernel(x, y), 1e-9);
    DG_NEAR(is.deviation, 0, 1e-9);
    x[3] = (double)INFINITY;
    DG_CHECK(!dg_kid_of(x, 9, y, 8, D, 1, 0, &is));
    DG_CHECK(!isfinite(is.value));
}

static double mean_of_splits(int n, double shift)
{
    enum { SPLITS = 200 };
    static double all[MOST * D];
    double mean = 0, squares = 0;
    draw(shift);
    for (int i = 0; i < 2 * n * D; i++) all[i] = i < n * D ? x[i] : y[i - n * D];
    for (uint64_t s = 0; s < SPLITS; s++) {
        int32_t order[MOST];
        dg_kid is;
        dg_permutation_of(order, 2 * n, s, 1);
        for (int i = 0; i < 2 * n * D; i++) (i < n * D ? x : y)[i % (n * D)] = all[order[i / D] * D + i % D];
        DG_CHECK(!dg_kid_of(x, n, y, n, D, s, 0, &is));
        mean += is.value / SPLITS;
        squares += is.value * is.value / SPLITS;
    }
    const double error = sqrt(squares / SPLITS);
    printf("%d points: mean %g, standard error %g\n", n, mean, error);
    return fabs(mean) / error;
}

/* The expected value between random halves of one set is 0 for each size. */
static void check_unbiased(void)
{
    DG_CHECK(mean_of_splits(6, 0) < 3);
    DG_CHECK(mean_of_splits(20, 1) < 3);
}

static void check_threads(void)
{
    static const int size[][2] = {{67, 90}, {4, 130}};
    draw(0.25);
    for (int i = 0; i < 2; i++) {
        dg_kid one, three, other;
        omp_set_num_threads(1);
        DG_CHECK(!dg_kid_of(x, size[i][0], y, size[i][1], D, 1, 1, &one));
        omp_set_num_threads(3);
        DG_CHECK(!dg_kid_of(x, size[i][0], y, size[i][1], D, 1, 3, &three));
        DG_CHECK(!dg_kid_of(x, size[i][0], y, size[i][1], D, 2, 3, &other));
        DG_CHECK(!memcmp(&one, &three, sizeof one) && memcmp(&one, &other, sizeof one));
    }
}

int main(void)
{
    check_direct();
    check_constant();
    check_unbiased();
    check_threads();
    return dg_test_report();
}

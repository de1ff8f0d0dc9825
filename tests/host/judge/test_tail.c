/* Tests the comparison of training and held-out images: shares, intervals, and probabilities by counting all orders. */
#include "host/judge/tail.h"

#include <math.h>

#include "test.h"

static void shares(void)
{
    double x[40], y[60];
    dg_tail t;
    for (int i = 0; i < 60; i++) y[i] = 100 - i; /* the third smallest of 60 values is 43 */
    for (int i = 0; i < 40; i++) x[i] = i < 12 ? 42.5 : i < 13 ? 43 : 50;
    dg_tail_compare(x, 40, y, 60, &t);
    DG_NEAR(t.share, 0.3, 1e-15);
    DG_NEAR(t.expected, 3.0 / 61, 1e-15);
    DG_NEAR(t.low, 0.1807, 5e-5); /* Wilson's interval of 12 of 40 */
    DG_NEAR(t.high, 0.4543, 5e-5);
    DG_CHECK(t.p > 1e-4 && t.p < 1e-3);
    dg_tail_compare(x, 40, x, 40, &t);
    DG_CHECK(t.share == 0 && t.low == 0 && t.high > 0 && t.p == 1);
    dg_tail_compare(y + 50, 10, y, 40, &t);
    DG_CHECK(t.share == 1 && t.high == 1 && t.low > 0.7 && t.p < 1e-8);
    dg_tail_compare((double[]){1}, 1, (double[]){2}, 1, &t);
    DG_NEAR(t.expected, 0.5, 0);
    DG_NEAR(t.p, 0.5, 1e-12);
}

/* Compares p with the share of the orders of n + m values in which at least as many of the n values are in the tail. */
static void probabilities(int n, int m)
{
    double x[16], y[16];
    dg_tail t, other;
    for (int count = 0; count <= n; count++) {
        int orders = 0, tails = 0;
        for (int i = 0; i < n; i++) x[i] = i < count ? -1 : 100;
        for (int i = 0; i < m; i++) y[i] = i;
        dg_tail_compare(x, n, y, m, &t);
        for (unsigned set = 0; set < 1u << (n + m); set++) {
            if (__builtin_popcount(set) != n) continue;
            for (int i = 0, a = 0, b = 0; i < n + m; i++) *(set >> i & 1 ? &x[a++] : &y[b++]) = i;
            dg_tail_compare(x, n, y, m, &other);
            orders++;
            tails += other.share >= t.share;
        }
        DG_NEAR(t.p, (double)tails / orders, 1e-9);
    }
}

int main(void)
{
    shares();
    probabilities(3, 4);
    probabilities(5, 6);
    return dg_test_report();
}

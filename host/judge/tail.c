#include "host/judge/tail.h"

#include <math.h>

static const double quantile = 0.05;

static int below(const double *x, int n, double limit)
{
    int count = 0;
    for (int i = 0; i < n; i++) count += x[i] < limit;
    return count;
}

/* Returns the k-th smallest value of y. */
static double smallest(const double *y, int m, int k)
{
    double largest = -INFINITY;
    for (int i = 0; i < m; i++)
        if (y[i] > largest && below(y, m, y[i]) < k) largest = y[i];
    return largest;
}

static double log_choose(double n, double k) { return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1); }

/* Probability that at least `count` of n values are below the k-th smallest of m values of the same distribution
 * (negative hypergeometric distribution). */
static double probability(int count, int n, int m, int k)
{
    double sum = 0;
    for (int x = n; x >= count; x--)
        sum += exp(log_choose(x + k - 1, x) + log_choose(n + m - x - k, n - x) - log_choose(n + m, n));
    return sum < 1 ? sum : 1;
}

void dg_tail_compare(const double *x, int n, const double *y, int m, dg_tail *out)
{
    const int k = quantile * (m + 1) > 1 ? (int)(quantile * (m + 1)) : 1, count = below(x, n, smallest(y, m, k));
    const double z = 1.959963984540054, share = (double)count / n, scale = 1 / (1 + z * z / n),
                 centre = share + z * z / (2 * n), reach = z * sqrt(share * (1 - share) / n + z * z / (4.0 * n * n));
    *out = (dg_tail){.share = share,
                     .low = count ? scale * (centre - reach) : 0,
                     .high = count < n ? scale * (centre + reach) : 1,
                     .expected = k / (m + 1.0),
                     .p = probability(count, n, m, k)};
}

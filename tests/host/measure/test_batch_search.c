/* Tests the search for the fastest batch size, with simulated speeds. */
#include "host/measure/batch_rule.h"

#include "test.h"

typedef double curve(double batch); /* returns images/s */

static dg_batch_table s;
static dg_batch_limits limits;
static int tried[64], tries, looks; /* tried: batch sizes in order of their first measurement */
static double (*slower)(int look);  /* factor by which another program slows down a measurement, or NULL */
static bool as_long_as_may_be;      /* each measurement takes the maximum time instead of one second */
static double seconds;
static curve *rate;
static int fits;       /* largest batch size that fits into memory */
static bool fits_once; /* a batch size fits into memory only at its first measurement */

static double elapsed(void *context)
{
    (void)context;
    return seconds;
}

static dg_err look(void *context, int batch, double most, dg_batch_row *row, char needs[160])
{
    (void)context;
    int i = 0;
    while (i < tries && tried[i] != batch) i++;
    const bool fit = batch <= fits && batch <= limits.images && !(fits_once && i < tries);
    if (i == tries) tried[tries++] = batch;
    looks++;
    *needs = 0;
    if (!fit) snprintf(needs, 160, "it needs %d.0 MB, and there are %d.0 MB", batch, fits);
    if (!fit) return DG_OK;
    const double ms = 1e3 * batch / rate(batch) * (slower ? slower(looks) : 1);
    seconds += as_long_as_may_be ? 0.1 + most + 1e-3 * ms : 1;
    *row = (dg_batch_row){.batch = batch, .ms = ms, .setup = 0.1, .joules = 1 + abs(batch - 48) / 100.0};
    return DG_OK;
}

static int search(curve *c, int largest)
{
    rate = c;
    fits = largest;
    seconds = 0;
    tries = looks = 0;
    DG_CHECK(dg_batch_choose(&s, DG_RULE_SEARCH, &limits, &(dg_batch_machine){NULL, elapsed, look}) == DG_OK);
    return s.batch;
}

static double flat(double b) { return 1000 + 0 * b; }
static double rising(double b) { return 1000 * b / (b + 40); }
static double jumps(double b) { return (b < 104 ? 1 : 1.3) * 1000 * b / (b + 20); }
static double falls(double b) { return b <= 256 ? 10 * b : 2560 - b; }
static double noisy(double b) { return rising(b) * (1 + 0.004 * sin(b * 12345.678)); }
/* The rate is constant for batch sizes 32 to 95, as if kernel tiles were only partly used. */
static double late(double b) { return b < 96 ? 1000 * fmin(b, 32) / 32 : 1100; }
/* Another program makes batch size 48 ten times slower. */
static double outlier(double b) { return (b == 48 ? 0.1 : 1) * rising(b); }
/* Kernel tiles have 40 images. */
static double tiles(double b) { return 1000 * b / (40 * ceil(b / 40)); }

static double now_and_then(int look) { return look % 3 ? 1 : 1.05 + 0.05 * (look / 3 % 6); }
static double for_a_while(int look) { return look >= 6 && look < 13 ? 1.4 : 1; }

/* Another program slows down seven of nine measurements, so the other two take 25% less time. */
static double mostly(int look) { return look % 9 < 2 ? 0.75 : 1; }
static double at_first(int look) { return look < 6 ? 0.75 : 1; }
static double at_one(int look) { return look == 10 ? 0.75 : 1; }

static double half(int look) { return look / 7 % 2 ? 1.4 : 1; }

static void check_disturbed(void)
{
    static double (*const how[])(int) = {now_and_then, for_a_while, mostly, at_first, at_one, half};
    static curve *const curves[] = {flat, rising, falls, jumps};
    for (int i = 0; i < 24; i++) {
        curve *const c = curves[i % 4];
        limits = (dg_batch_limits){8, 512, 1000000, false, 0.03, 32, 100, 0.5, 0};
        slower = NULL;
        const int quiet = search(c, 1 << 20);
        slower = how[i / 4];
        const int b = search(c, 1 << 20);
        double best = 0;
        for (int k = 0; k < s.rows; k++) best = fmax(best, c(s.row[k].batch));
        DG_CHECKF(c(b) >= 0.96 * best && c(b) >= 0.96 * c(quiet), "curve %d, disturbance %d: %d, undisturbed %d", i % 4,
                  i / 4, b, quiet);
        DG_CHECKF(looks < 110, "%d looks", looks);
    }
    slower = NULL;
    /* a batch size that no longer fits into memory can still be the result */
    fits_once = true;
    DG_CHECKF(search(flat, 1 << 20) == 8 && !*s.ended, "%s", s.why);
    fits_once = false;
}

/* The rate still rises when the search reaches its time limit. */
static double soon(double b) { return 1000 * b / (b + 10); }

enum { ALL = 1 << 20, MANY = 1000000 };
static const struct {
    curve *rate;
    int fits, from, most, images, drop_last, least;
    double seconds;
    int batch, largest; /* batch: chosen batch size. largest: largest batch size that was measured. */
    const char *says, *too;
} choice[] = {
    {flat, ALL, 8, 65536, MANY, 0, 32, 100, 8, 64, "8: the fastest; the search took ", ""},
    {rising, ALL, 8, 4096, MANY, 0, 32, 100, 2304, 4096, "within 3% of", "4096 (0.8% faster)"},
    {noisy, ALL, 8, 4096, MANY, 0, 32, 100, 2048, 4096, "", ""},
    {outlier, ALL, 8, 4096, MANY, 0, 32, 100, 2304, 4096, "", ""},
    {falls, ALL, 8, 65536, MANY, 0, 32, 100, 256, 2048, "256: the fastest; ", ""},
    {late, ALL, 8, 65536, MANY, 0, 32, 100, 96, 768, "", ""}, /* batch sizes 48 and 64 are as fast as 32 */
    {jumps, ALL, 8, 128, MANY, 0, 32, 100, 128, 128, "; larger sizes were not tried (--max-batch); ", ""},
    {tiles, ALL, 8, 64, MANY, 0, 32, 100, 40, 64, "", ""}, /* doubling finds 32, and 5/4 of 32 fills a tile */
    {soon, ALL, 8, 65536, MANY, 0, 32, 20, 512, 768, "within 3% of", "not tried within 20 s (--seconds)"},
    {rising, ALL, 8, 65536, MANY, 0, 32, 6, 48, 48, "48: the fastest; larger sizes were not tried within 6 s", ""},
    /* the first batch size is measured even if the time limit is too short */
    {rising, ALL, 8, 65536, MANY, 0, 32, 0.5, 8, 8, "(--seconds)", ""},
    /* an epoch of 3000 images has 32 steps of batch size 96 (the last is short) or 24 steps of batch size 128 */
    {rising, ALL, 8, 65536, 3000, 0, 32, 100, 96, 96,
     "96: the fastest; larger sizes leave fewer than 32 steps per epoch", ""},
    /* without short batches, an epoch has 31 steps of batch size 96 or 37 steps of batch size 80 */
    {rising, ALL, 8, 65536, 3000, 1, 32, 100, 80, 80, "80: the fastest; larger sizes leave fewer", "(--min-steps)"},
    {rising, 100, 8, 65536, 2048, 0, 16, 100, 96, 96, "96: the fastest; ", "128 does not fit: it needs 128.0 MB, and"},
    {rising, ALL, 8, 65536, 40, 0, 32, 100, 8, 8, "leaves 5 steps per epoch", "--min-batch 1"},
    {rising, ALL, 8, 65536, 8, 0, 32, 100, 8, 8, "leaves 1 step per epoch", ""},
    {rising, ALL, 8, 65536, 8, 0, 1, 100, 8, 8, "8: the fastest; the dataset has only 8 images; ", ""},
    {rising, 70, 8, 65536, MANY, 0, 1, 100, 64, 64, "64: the fastest; batch size 96 does not fit: it needs 96.0 MB",
     ""},
    {rising, ALL, 10, 65536, MANY, 0, 32, 6, 48, 48, "", ""},
    {rising, 5, 8, 65536, MANY, 0, 1, 100, 0, 0, "", ""},
};

static void check_choices(void)
{
    for (size_t i = 0; i < sizeof choice / sizeof *choice; i++) {
        limits = (dg_batch_limits){choice[i].from,
                                   choice[i].most,
                                   choice[i].images,
                                   choice[i].drop_last,
                                   0.03,
                                   choice[i].least,
                                   choice[i].seconds,
                                   0.5,
                                   0};
        const int chosen = search(choice[i].rate, choice[i].fits), largest = s.rows ? s.row[s.rows - 1].batch : 0;
        DG_CHECKF(chosen == choice[i].batch && largest == choice[i].largest, "search %zu: %d, largest %d: %s", i,
                  chosen, largest, s.why);
        DG_CHECKF(strstr(s.why, choice[i].says) && strstr(s.why, choice[i].too), "search %zu: %s", i, s.why);
    }
    static const int from_ten[] = {10, 12, 16, 24, 32};
    limits = (dg_batch_limits){10, 65536, 1000000, false, 0.03, 32, 6, 0.5, 0};
    (void)search(rising, ALL);
    for (int i = 0; i < 5; i++) DG_CHECKF(tried[i] == from_ten[i], "%d, not %d", tried[i], from_ten[i]);
}

/* The search keeps its time limit even if each measurement takes the maximum time. */
static void check_time(void)
{
    static curve *const curves[] = {flat, rising, jumps, falls, noisy, late, soon};
    as_long_as_may_be = true;
    for (int c = 0; c < 7; c++)
        for (int most = 3; most <= 40; most++) {
            limits = (dg_batch_limits){8, 512, 1000000, false, 0.03, 32, most, 1, 0};
            (void)search(curves[c], 1 << 20);
            DG_CHECKF(seconds <= most && s.rows > 1, "curve %d: %g s of %d", c, seconds, most);
        }
    as_long_as_may_be = false;
}

static void check_sizes(void)
{
    static const int sizes[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128};
    for (int i = 1; i < 14; i++) DG_CHECKF(dg_batch_after(sizes[i - 1]) == sizes[i], "after %d", sizes[i - 1]);
    DG_CHECK(dg_batch_after(10) == 12 && dg_batch_after(13) == 16 && dg_batch_after(100) == 128);
    const dg_batch_limits l = {.images = 100}, dropped = {.images = 100, .drop_last = true};
    const dg_batch_row r = {.batch = 32, .ms = 10};
    DG_CHECK(dg_batch_updates(&l, 32) == 4 && dg_batch_updates(&dropped, 32) == 3 &&
             dg_batch_updates(&dropped, 101) == 0);
    DG_NEAR(dg_batch_rate(&r), 3200, 1e-9);
}

static void check_sweep(void)
{
    static const int steps[] = {10, 43, 76}, series[] = {10, 12, 16, 24, 32, 48, 64};
    for (int k = 0; k < 2; k++) {
        limits = (dg_batch_limits){10, 100, 1000, false, 0.03, 32, 100, 2, k ? 0 : 33};
        rate = rising;
        fits = 80;
        tries = looks = 0;
        DG_CHECK(dg_batch_choose(&s, DG_RULE_SWEEP, &limits, &(dg_batch_machine){NULL, elapsed, look}) == DG_OK);
        DG_CHECKF(s.rows == (k ? 7 : 3) && looks == s.rows + k && !s.batch, "%d rows, %d looks", s.rows, looks);
        for (int i = 0; i < s.rows; i++)
            DG_CHECK(s.row[i].batch == (k ? series : steps)[i] && tried[i] == s.row[i].batch);
        DG_CHECKF(k ? !!strstr(s.why, "ends before batch size 96: it needs 96.0 MB") : !*s.why, "%s", s.why);
    }
}

static void check_energy(void)
{
    limits = (dg_batch_limits){8, 512, 1000000, false, 0.03, 32, 100, 2, 0};
    rate = falls;
    for (int k = 0; k < 3; k++) {
        seconds = 0;
        fits = k == 1 ? 40 : 1 << 20;
        limits.images = k == 2 ? 32 * 24 : 1000000; /* larger sizes leave too few steps per epoch */
        tries = looks = 0;
        DG_CHECK(dg_batch_choose(&s, DG_RULE_ENERGY, &limits, &(dg_batch_machine){NULL, elapsed, look}) == DG_OK);
        DG_CHECKF(s.batch == (k == 0 ? 48 : k == 1 ? 32 : 24), "%d: %s", s.batch, s.why);
        DG_CHECKF(tries < (k ? 7 : 13), "%d sizes", tries);
    }
}

DG_TESTS(check_energy, check_sweep, check_sizes, check_choices, check_disturbed, check_time)

/* The search for a batch on times that are invented. */
#include "host/measure/batch_search.h"

#include "host/measure/samples.h"
#include "test.h"

typedef double curve(double batch); /* pictures a second */

static dg_search s;
static dg_search_limits limits;
static char why[400];
static int tried[64], tries, looks; /* sizes, in the order of their first look */
static double (*slower)(int look);  /* times so much, which another program did; NULL: nothing */
static bool as_long_as_may_be;      /* looks; or they take a second */
static double elapsed;              /* seconds of the search */

static void note(int batch)
{
    looks++;
    for (int i = 0; i < tries; i++)
        if (tried[i] == batch) return;
    tried[tries++] = batch;
}

/* None above `fits`. */
static int search(curve *rate, int fits)
{
    elapsed = 0;
    dg_search_begin(&s, &limits);
    tries = looks = 0;
    for (int b; looks < 300 && (b = dg_search_next(&s, elapsed));) {
        note(b);
        if (b > fits) {
            char needs[80];
            snprintf(needs, sizeof needs, "it needs %d.0 MB, and there are %d.0 MB", b, fits);
            dg_search_refused(&s, needs);
            continue;
        }
        const double ms = 1e3 * b / rate(b) * (slower ? slower(looks) : 1);
        elapsed += as_long_as_may_be ? 0.1 + dg_search_look(&s, b) + 1e-3 * ms : 1;
        dg_search_timed(&s, &(dg_batch_row){.batch = b, .ms = ms, .setup = 0.1});
    }
    dg_search_sentence(&s, why, sizeof why);
    const int i = dg_search_choice(&s);
    return i < 0 ? 0 : s.row[i].batch;
}

static bool says(const char *words) { return strstr(why, words) != NULL; }

static void sizes_are(const int *want, int n)
{
    DG_CHECKF(tries == n, "%d sizes, not %d; %s", tries, n, why);
    for (int i = 0; i < n && i < tries; i++) DG_CHECKF(tried[i] == want[i], "%d, not %d", tried[i], want[i]);
}

static double flat(double b) { return 1000 + 0 * b; }
static double rising(double b) { return 1000 * b / (b + 40); }
static double jumps(double b) { return (b < 104 ? 1 : 1.3) * 1000 * b / (b + 20); }
static double falls(double b) { return b <= 256 ? 10 * b : 2560 - b; }
static double noisy(double b) { return rising(b) * (1 + 0.004 * sin(b * 12345.678)); }
/* the tiles of its kernels hide a doubling */
static double late(double b) { return b < 96 ? 1000 * fmin(b, 32) / 32 : 1100; }
/* one that another program disturbed: ten times slower */
static double outlier(double b) { return (b == 48 ? 0.1 : 1) * rising(b); }
/* the tiles of its kernels are 40 wide */
static double tiles(double b) { return 1000 * b / (40 * ceil(b / 40)); }

/* Every third look is slower by 5%, 10% ... 30%, which no look shows by itself. */
static double now_and_then(int look) { return look % 3 ? 1 : 1.05 + 0.05 * (look / 3 % 6); }
/* Another program runs for seven looks. */
static double for_a_while(int look) { return look >= 6 && look < 13 ? 1.4 : 1; }

/* A machine that its host slows for most of the time: now and then a few looks are a third faster. */
static double mostly(int look) { return look % 9 < 2 ? 0.75 : 1; }
static double at_first(int look) { return look < 6 ? 0.75 : 1; }
static double at_one(int look) { return look == 10 ? 0.75 : 1; }

static void check_disturbed(void)
{
    static double (*const how[])(int) = {now_and_then, for_a_while, mostly, at_first, at_one};
    static curve *const curves[] = {flat, rising, falls, jumps};
    for (int i = 0; i < 20; i++) {
        curve *const c = curves[i % 4];
        limits = (dg_search_limits){8, 512, 1000000, false, 0.03, 32, 100, 0.5, 0};
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
    /* two looks agree, and the machine was slower in both: once it is fast again they are not believed */
    limits = (dg_search_limits){8, 32, 1000000, false, 0.03, 32, 100, 0.5, 0};
    dg_search_begin(&s, &limits);
    for (int b, n = 0; n < 50 && (b = dg_search_next(&s, 0)) > 0; n++) {
        const double speed = n >= 4 && n < 9 ? 70 : 100;
        dg_search_timed(&s, &(dg_batch_row){.batch = b, .ms = 1e5 * b / (rising(b) * speed), .speed = speed});
    }
    DG_CHECKF(s.row[dg_search_choice(&s)].batch == 32, "%d", s.row[dg_search_choice(&s)].batch);
    DG_NEAR(dg_batch_slowed(&(dg_batch_row){.speed = 3}, 1), 0, 1e-12);
    DG_NEAR(dg_batch_slowed((dg_batch_row[]){{.speed = 4}, {.speed = 3}}, 2), 0.25, 1e-12);
    DG_NEAR(dg_batch_slowed((dg_batch_row[]){{.batch = 4}, {.batch = 3}}, 2), 0, 1e-12);
    /* merged, a row has all samples, its times are those of the faster look; one more look may fail */
    double *first = malloc(2 * sizeof *first), *second = malloc(sizeof *second);
    dg_batch_row row = {.batch = 8, .ms = 3, .sample = first, .samples = 2},
                 again = {.batch = 8, .ms = 2, .low = 1, .sample = second, .samples = 1};
    first[0] = first[1] = 3, second[0] = 2;
    dg_batch_merge(&row, &again);
    DG_CHECK(row.ms == 2 && row.low == 1 && row.looks == 1 && row.samples == 3 && !again.sample);
    DG_CHECK(row.sample[1] == 3 && row.sample[2] == 2);
    free(row.sample);
    dg_search_begin(&s, &limits);
    for (int b, n = 0; (b = dg_search_next(&s, 0)) > 0 && DG_CHECK(n < 100); n++) {
        bool is_new = true;
        for (int i = 0; i < s.rows; i++) is_new = is_new && s.row[i].batch != b;
        if (is_new) dg_search_timed(&s, &(dg_batch_row){.batch = b, .ms = 1e3 * b / flat(b)});
        else dg_search_refused(&s, "no more");
    }
    DG_CHECK(s.refused == 0 && s.row[dg_search_choice(&s)].batch == 8);
}

static void check_choices(void)
{
    limits = (dg_search_limits){8, 65536, 1000000, false, 0.03, 32, 100, 0.5, 0};
    static const int flat_sizes[] = {8, 12, 16, 24, 32, 48, 64, 10}; /* 3/4 of 8 is less than --from */
    DG_CHECKF(search(flat, 1 << 20) == 8, "%s", why);
    sizes_are(flat_sizes, 8);
    DG_CHECKF(says("8: the fastest."), "%s", why);
    const int chosen = search(rising, 1 << 20);
    DG_CHECKF(chosen == 4096 && rising(chosen) >= 0.99 * rising(8192), "%d: %s", chosen, why);
    DG_CHECKF(s.end == DG_SEARCH_FLAT && s.row[s.rows - 1].batch == 8192 &&
                  says("the smallest that is surely within 3% of the fastest"),
              "%d %s", s.row[s.rows - 1].batch, why);
    DG_CHECKF(abs(search(noisy, 1 << 20) - chosen) <= chosen / 2, "%s", why);
    DG_CHECKF(search(outlier, 1 << 20) == chosen, "%s", why);
    DG_CHECKF(search(falls, 1 << 20) == 256 && s.end == DG_SEARCH_FLAT && s.row[s.rows - 1].batch == 2048 &&
                  says("256: the fastest."),
              "%s", why);
    DG_CHECKF(search(late, 1 << 20) == 96 && s.end == DG_SEARCH_FLAT, "%s", why); /* 48 and 64 are as fast as 32 */
    const int jumped = search(jumps, 1 << 20);
    DG_CHECKF(jumped >= 104 && jumps(jumped) > 0.96 * jumps(1e5), "%d: %s", jumped, why);
    limits.most = 128;
    DG_CHECKF(search(jumps, 1 << 20) == 128 && s.end == DG_SEARCH_MOST && says("more than 128 were not tried (--most)"),
              "%s", why);
    limits.most = 64;
    DG_CHECKF(search(tiles, 1 << 20) == 40, "%s", why); /* 32 by the ladder, and 5/4 of it fills a tile */
}

/* Where time ends the search while speed still rises, larger sizes are faster than any that was tried. */
static double soon(double b) { return 1000 * b / (b + 10); }
static void check_rising(void)
{
    limits = (dg_search_limits){8, 65536, 1000000, false, 0.03, 32, 20, 0.5, 20};
    int b = search(soon, 1 << 20); /* 384 is within 1.5% of it, and 1.3% were gained since */
    DG_CHECKF(b == 768 && s.end == DG_SEARCH_SECONDS, "%s", why);
    DG_CHECKF(says("768: the fastest; more than 768 were not tried in 20 s: --seconds 80 for more."), "%s", why);
    limits = (dg_search_limits){8, 65536, 1000000, false, 0.03, 32, 6, 0.5, 6};
    b = search(rising, 1 << 20);
    DG_CHECKF(b == 48 && tries == 6, "%d sizes, %s", tries, why);
    limits.patience = 19; /* 512 gains 7% over 256, and 5/4 of it may be tried */
    b = search(rising, 1 << 20);
    DG_CHECKF(b == 640 && tries == 14 && s.end == DG_SEARCH_SECONDS, "%d sizes, %s", tries, why);
    DG_CHECKF(says("; the search took 14 s, a step of batch 640 takes 0.68 s."), "%s", why);
    limits.patience = 3;
    b = search(rising, 1 << 20);
    DG_CHECKF(b == 48 && tries == 6, "%d sizes, %s", tries, why);
}

/* The time that was given is enough, however long the looks: a size may have been looked at before, or not. */
static void check_time(void)
{
    static curve *const curves[] = {flat, rising, jumps, falls, noisy, late, soon};
    as_long_as_may_be = true;
    for (int c = 0; c < 7; c++)
        for (int seconds = 3; seconds <= 40; seconds++) {
            limits = (dg_search_limits){8, 512, 1000000, false, 0.03, 32, seconds, 1, seconds};
            (void)search(curves[c], 1 << 20);
            DG_CHECKF(elapsed <= seconds && s.rows > 1, "curve %d: %g s of %d", c, elapsed, seconds);
            DG_CHECK(!says("it took"));
        }
    as_long_as_may_be = false;
}

static void check_limits(void)
{
    limits = (dg_search_limits){8, 65536, 3000, false, 0.03, 32, 100, 0.5, 0};
    /* 3000 / 93 is 32.3: 96 leaves exactly 32 with the short one, 128 leaves 24 */
    DG_CHECKF(search(rising, 1 << 20) == 96 && says("96: the fastest that leaves 32 steps per epoch; "), "%s", why);
    limits.drop_last = true;
    DG_CHECKF(search(rising, 1 << 20) == 80, "%s", why); /* 96 leaves 31; 5/4 of 64 leaves 37 */
    DG_CHECKF(says("80: the fastest that leaves 32 steps per epoch; ") && says("% faster, with "), "%s", why);
    limits = (dg_search_limits){8, 65536, 2048, false, 0.03, 32, 100, 0.5, 0};
    DG_CHECKF(search(rising, 100) == 64 && says("; 96 would be 15% faster, with 31% fewer updates; 128 does not"), "%s",
              why);
    limits.pictures = 40;
    DG_CHECKF(search(rising, 1 << 20) == 8 && says("leaves 5 steps per epoch") && says("--from 1"), "%s", why);
    DG_CHECK(s.end == DG_SEARCH_PICTURES && s.row[s.rows - 1].batch == 32);
    limits.pictures = 8; /* one batch */
    DG_CHECKF(search(rising, 1 << 20) == 8 && says("leaves 1 step per epoch") && tries == 1, "%s", why);
    limits.least_steps = 1;
    DG_CHECKF(search(rising, 1 << 20) == 8 && says("8: the fastest; the dataset has only 8 images."), "%s", why);
    limits.pictures = 1000000;
    DG_CHECKF(search(rising, 70) == 64 &&
                  says("64: the fastest that fits; 80 does not: it needs 80.0 MB, and there are "
                       "70.0 MB."),
              "%s", why);
    for (int i = 0; i < s.rows; i++) DG_CHECK(s.row[i].batch <= 70);
    DG_CHECK(search(rising, 5) == 0 && s.refused == 8 && s.rows == 0 && !*why);
    limits.seconds = 5;
    DG_CHECKF(search(rising, 1 << 20) == 32 && s.end == DG_SEARCH_SECONDS && says("more than 32 were not tried in 5 s"),
              "%s", why);
    limits.seconds = 0.5; /* the first size is tried whatever it takes */
    DG_CHECKF(search(rising, 1 << 20) == 8 && tries == 1 && says("nothing else was tried") && says("--seconds "), "%s",
              why);
    limits = (dg_search_limits){10, 65536, 1000000, false, 0.03, 32, 6, 0.5, 6};
    static const int from_ten[] = {10, 12, 16, 24, 32};
    (void)search(rising, 1 << 20);
    DG_CHECK(tries >= 5);
    tries = tries > 5 ? 5 : tries;
    sizes_are(from_ten, 5);
}

static void check_samples(void)
{
    dg_samples t = {.n = 0};
    dg_spread r;
    DG_CHECK(dg_samples_spread(&t, &r) == DG_OK && r.median == 0 && !dg_samples_enough(&t, 9, 2));
    for (int i = 0; i < 4; i++) DG_CHECK(dg_samples_add(&t, 10) == DG_OK);
    DG_CHECK(!dg_samples_enough(&t, 100, 2)); /* five at least */
    DG_CHECK(dg_samples_add(&t, 10.05) == DG_OK && dg_samples_enough(&t, 0, 2));
    DG_CHECK(dg_samples_add(&t, 100) == DG_OK && !dg_samples_enough(&t, 0, 2) && dg_samples_enough(&t, 2, 2));
    for (int i = 0; i < 4; i++) DG_CHECK(dg_samples_add(&t, 10.01) == DG_OK);
    DG_CHECK(dg_samples_enough(&t, 0, 2)); /* one of ten that is ten times slower says nothing */
    DG_CHECK(dg_samples_spread(&t, &r) == DG_OK);
    DG_NEAR(r.median, 10.01, 1e-12);
    DG_CHECK(r.low == 10 && r.high == 10.05 && r.quick == 10 && t.value[5] == 100);
    dg_samples_free(&t);
    for (int i = 1; i <= 1000; i++) DG_CHECK(dg_samples_add(&t, (i * 7919) % 1000) == DG_OK);
    DG_CHECK(dg_samples_spread(&t, &r) == DG_OK && r.median == 499.5);
    DG_CHECK(r.low == 469 && r.high == 530 && r.quick == 99); /* 500 -+ 1.96 sqrt(250), as tables have it */
    dg_samples_free(&t);
}

static void check_sizes(void)
{
    static const int sizes[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128};
    for (int i = 1; i < 14; i++) DG_CHECKF(dg_batch_after(sizes[i - 1]) == sizes[i], "after %d", sizes[i - 1]);
    DG_CHECK(dg_batch_after(10) == 12 && dg_batch_after(13) == 16 && dg_batch_after(100) == 128);
    const dg_search_limits l = {.pictures = 100}, dropped = {.pictures = 100, .drop_last = true};
    const dg_batch_row r = {.batch = 32, .ms = 10};
    DG_CHECK(dg_batch_updates(&l, 32) == 4 && dg_batch_updates(&dropped, 32) == 3 &&
             dg_batch_updates(&dropped, 101) == 0);
    DG_NEAR(dg_batch_epoch(&l, &r), 0.03125, 1e-12);
    DG_NEAR(dg_batch_epoch(&dropped, &r), 0.03, 1e-12);
    DG_NEAR(dg_batch_rate(&r), 3200, 1e-9);
}

int main(void)
{
    check_samples();
    check_sizes();
    check_choices();
    check_disturbed();
    check_rising();
    check_time();
    check_limits();
    return dg_test_report();
}

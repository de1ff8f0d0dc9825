/* Tests the default length of a training run, and durations as text. */
#include "host/run/length.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

static dg_options settled(int images, int batch, long steps, bool drop_last)
{
    dg_options o = {.batch = batch, .steps = steps, .drop_last = drop_last, .sample_every = -1};
    dg_settle_length(&o, images);
    return o;
}

static void test_epochs(void)
{
    static const struct {
        int images, batch;
        long steps;
        bool drop_last;
        int epochs, sample_every;
    } row[] = {{200, 64, 0, false, 1000, 4},     {200, 64, 0, true, 1334, 5},
               {2944, 64, 0, false, 174, 1},     {10000, 64, 0, false, 51, 1},
               {999, 64, 0, false, 250, 1},      {1000, 64, 0, false, 500, 2},
               {20480, 64, 0, false, 25, 1},     {60000, 64, 0, false, 25, 1},
               {102400, 64, 0, false, 25, 1},    {202599, 64, 0, false, 13, 1},
               {2000000000, 64, 0, false, 1, 1}, {5, 4, 0, false, 2000, 7},
               {1, 1, 0, false, 4000, 14},       {200, 64, 100, false, 1000, 4},
               {200, 64, 4001, false, 1001, 4},  {200, 64, 1000000000000L, false, 1000000, 3334}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        const dg_options o = settled(row[i].images, row[i].batch, row[i].steps, row[i].drop_last);
        DG_CHECKF(o.epochs == row[i].epochs && o.sample_every == row[i].sample_every,
                  "%d images, batch %d: %d epochs, a grid every %d", row[i].images, row[i].batch, o.epochs,
                  o.sample_every);
    }
}

/* A schedule lasts for 80% of a run's images, also with --steps and --drop-last. */
static void test_schedule(void)
{
    static const struct {
        int images, batch, epochs;
        long steps;
        bool drop_last, cosine;
        int given, length;
    } row[] = {{200, 64, 10, 0, false, true, 0, 1600},
               {200, 64, 10, 0, true, true, 0, 1536},
               {200, 64, 10, 20, false, true, 0, 800},
               {200, 64, 10, 0, false, true, 77, 77},
               {200, 64, 10, 0, false, false, 0, 0},
               {1, 1, 1, 0, false, true, 0, 1},
               {5, 64, 10, 0, true, true, 0, 1}, /* --drop-last leaves no step in an epoch */
               {2000000000, 64, 1000, 0, false, true, 0, 2000000000}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        dg_options o = {.batch = row[i].batch,
                        .epochs = row[i].epochs,
                        .steps = row[i].steps,
                        .drop_last = row[i].drop_last,
                        .cosine = row[i].cosine,
                        .schedule_length = row[i].given};
        dg_settle_length(&o, row[i].images);
        DG_CHECKF(o.schedule_length == row[i].length, "row %zu: %d", i, o.schedule_length);
    }
}

static void test_batch(void)
{
    static const int row[][2] = {{64, 64}, {63, 32}, {40, 32}, {32, 32}, {5, 4}, {2, 2}, {1, 1}, {1000, 64}};
    char *argv[] = {"dcgan", "--data", "d", "--batch", "64", NULL};
    bool done;
    dg_options o;
    DG_CHECK(!dg_options_parse(3, argv, &o, &done) && dg_least_images(&o) == DG_LEAST_IMAGES);
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        o.batch = 64;
        dg_settle_batch(&o, row[i][0]);
        DG_CHECKF(o.batch == row[i][1], "%d images: %d", row[i][0], o.batch);
    }
    dg_options_free(&o);
    /* --batch 64 stays unchanged */
    DG_CHECK(!dg_options_parse(5, argv, &o, &done) && dg_least_images(&o) == 64);
    dg_settle_batch(&o, 40);
    DG_CHECK(o.batch == 64);
    dg_options_free(&o);
    setenv("DCGAN_BATCH", "48", 1);
    DG_CHECK(!dg_options_parse(3, argv, &o, &done) && dg_least_images(&o) == 48);
    unsetenv("DCGAN_BATCH");
    dg_options_free(&o);
    argv[4] = "auto";
    DG_CHECK(!dg_options_parse(5, argv, &o, &done) && dg_least_images(&o) == 8);
    dg_options_free(&o);
}

/* For any dataset, --epochs auto gives at least the minimum of steps. The maximum is exceeded by less than an epoch. */
static void test_promise(void)
{
    for (int images = 1; images < 300000; images += 1 + images / 3)
        for (int batch = 1; batch <= images; batch *= 3) {
            const dg_options o = settled(images, batch, 0, false);
            const int each = dg_steps_of_epoch(&o, images);
            const long all = dg_steps_of_run(&o, images);
            DG_CHECKF(all >= (images < 1000 ? 4000 : 8000) && all < DG_AUTO_STEPS_MOST + each &&
                          o.epochs / o.sample_every <= 300,
                      "%d images, batch %d: %ld steps", images, batch, all);
        }
    dg_options o = {.batch = 64, .epochs = 3, .sample_every = 0};
    dg_settle_length(&o, 200);
    DG_CHECK(o.epochs == 3 && o.sample_every == 0 && dg_steps_of_run(&o, 200) == 12);
    o.steps = 5;
    DG_CHECK(dg_steps_of_run(&o, 200) == 5);
    o.steps = 99;
    DG_CHECK(dg_steps_of_run(&o, 200) == 12);
}

static void test_finished(void)
{
    static const struct {
        int epochs;
        long steps;
        uint64_t epoch, step;
        bool finished;
    } row[] = {{3, 0, 2, 900, false}, {3, 0, 3, 12, true},     {3, 7, 1, 6, false}, {3, 7, 1, 7, true},
               {0, 7, 90, 6, false},  {0, 0, 90, 9000, false}, {0, 7, 90, 8, true}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        const dg_options o = {.epochs = row[i].epochs, .steps = row[i].steps};
        DG_CHECKF(dg_run_is_finished(&o, row[i].epoch, row[i].step) == row[i].finished, "row %zu", i);
    }
}

static void test_duration(void)
{
    static const struct {
        double seconds;
        const char *text;
    } row[] = {{0, "0 seconds"},     {1, "1 second"},      {99.4, "99 seconds"}, {99.6, "2 minutes"},
               {484, "8 minutes"},   {5940, "99 minutes"}, {5999, "1.7 hours"},  {172000, "47.8 hours"},
               {172800, "2.0 days"}, {1e7, "115.7 days"}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        char text[40];
        DG_CHECKF(!strcmp(dg_duration(row[i].seconds, text, sizeof text), row[i].text), "%g: %s", row[i].seconds, text);
    }
}

DG_TESTS(test_epochs, test_schedule, test_batch, test_promise, test_finished, test_duration)

/* Runs the published rules for batch sizes on simulated machines. Checks the tried and chosen batch sizes. */
#include "host/measure/batch_rule.h"

#include "test.h"

typedef struct {
    int full_from;            /* smallest batch size with full device usage, or 0 */
    const double (*curve)[2]; /* pairs of batch size and relative epoch time */
    int most;                 /* largest batch size that fits into memory, or 0 for no limit */
    bool dark, fails;         /* dark: the usage is always 0. fails: every step fails. */
    int batch, asked;
} machine;

enum { IMAGES = 50000 };
static dg_batch_table table;

static double between(const double (*c)[2], double x)
{
    while (c[1][0] < x) c++;
    return c[0][1] + (c[1][1] - c[0][1]) * (x - c[0][0]) / (c[1][0] - c[0][0]);
}

static double the_usage(void *context)
{
    machine *m = context;
    static const double low[] = {0, 31, 73, 60}; /* percent; some samples of a partly used device are 0 */
    if (m->dark) return 0;
    return m->full_from && m->batch >= m->full_from ? 99.4 : low[m->asked++ % 4];
}

/* Simulates the steps of a batch size. Takes one usage sample per second, but at least one. */
static dg_err look(void *context, int batch, double seconds, dg_batch_row *row, char why[160])
{
    machine *m = context;
    const double step = m->curve ? 100 * between(m->curve, batch) / ((IMAGES + batch - 1) / batch) : 0.0123;
    const int samples = step < 1e-3 ? 1 : 12;
    double usage[12];
    (void)seconds;
    snprintf(why, 160, "%s", m->most && batch > m->most ? "too large" : "");
    if (*why) return DG_OK;
    m->batch = batch;
    m->asked = 1;
    for (int i = 0; i < samples; i++) usage[i] = the_usage(m);
    *row = (dg_batch_row){.batch = batch, .ms = 1e3 * step, .busy = dg_batch_usage(usage, samples)};
    return m->fails ? DG_FAILED : DG_OK;
}

static dg_err run(machine m, dg_batch_rule rule, int from)
{
    const dg_batch_limits l = {.from = from, .images = IMAGES};
    return dg_batch_choose(&table, rule, &l, &(dg_batch_machine){&m, NULL, look});
}

static double gain(int round) { return dg_batch_gain(&table, round); }

static void passes(const int *sizes, int n)
{
    for (int i = 0; i < n; i++)
        DG_CHECKF(table.row[i].batch == sizes[i], "round %d: %d, not %d", i, table.row[i].batch, sizes[i]);
}

static void ends(const char *ended, int round, int batch)
{
    DG_CHECKF(!strcmp(table.ended, ended) && table.rows == round + 1 && table.batch == batch,
              "%s; not %d in round %d: %s", table.why, batch, round, table.ended);
}

static void check_usage(void)
{
    static const struct {
        int first, last, round, batch;
    } published[] = {{54, 56, 10, 54}, {71, 72, 15, 70}, {46, 46, 10, 46}, {115, 116, 20, 116}};
    for (size_t i = 0; i < sizeof published / sizeof *published; i++)
        for (int full = published[i].first; full <= published[i].last; full++) {
            DG_CHECK(run((machine){.full_from = full}, DG_RULE_USAGE, 32) == DG_OK);
            ends("stopped", published[i].round, published[i].batch);
        }
    static const int sizes[] = {32, 34, 37, 41, 46, 52, 59, 58, 56, 53, 54};
    DG_CHECK(run((machine){.full_from = 55}, DG_RULE_USAGE, 32) == DG_OK);
    passes(sizes, 11);
    /* the usage is the mean of the largest five of nine positive samples: 73, 73, 73, 60, 60 */
    DG_NEAR(table.row[0].busy, 67.8, 1e-9);
    DG_NEAR(table.row[6].busy, 99.4, 1e-9);
}

/* With the published epoch times, the rule must choose the published batch size. */
static void check_epoch_time(void)
{
    static const double vgg[][2] = {{32, 1},          {52, 1 - .3818}, {96, 1 - .4713},  {105.9, 1 - .52},
                                    {106, 1 - .6917}, {146, 1 - .70},  {196, 1 - .7340}, {1e4, .2}};
    static const double resnet[][2] = {{32, 1},        {52, 1 - .45},    {76, 1 - .57}, {96, 1 - .52},
                                       {146, 1 - .58}, {196, 1 - .6031}, {1e4, .3}};
    static const double vgg_large[][2] = {{8, 1}, {28, 1 - .10}, {72, 1 - .1350}, {1e4, .8}};
    static const double resnet_large[][2] = {{32, 1}, {52, 1 - .06}, {96, 1 - .0848}, {1e4, .9}};
    static const struct {
        const double (*curve)[2];
        int from, round, batch;
    } published[] = {{resnet, 32, 20, 196}, {vgg_large, 8, 10, 72}, {resnet_large, 32, 10, 96}, {vgg, 32, 20, 196}};
    for (size_t i = 0; i < sizeof published / sizeof *published; i++) {
        DG_CHECK(run((machine){.curve = published[i].curve}, DG_RULE_EPOCH_TIME, published[i].from) == DG_OK);
        ends("stopped", published[i].round, published[i].batch);
    }
    static const int sizes[] = {32, 34, 37, 41, 46, 52, 59, 67, 76, 86, 96, 106};
    passes(sizes, 12);
    DG_NEAR(gain(5), .3818, 1e-9);
    DG_NEAR(gain(20), .7340, 1e-9);
    DG_NEAR(dg_batch_epoch(&table.limits, table.row), 100, 1e-9);
}

static void check_rest(void)
{
    static const double short_steps[][2] = {{1, 1e-9}, {1e9, 1e-9}};
    DG_CHECK(run((machine){.full_from = 1}, DG_RULE_USAGE, 32) == DG_OK && table.batch == 1);
    DG_CHECK(run((machine){.most = 40}, DG_RULE_USAGE, 32) == DG_OK);
    ends("does not fit", 2, 37);
    DG_CHECKF(strstr(table.why, "; the next batch size, 41, does not fit."), "%s", table.why);
    DG_CHECK(run((machine){.most = 8}, DG_RULE_USAGE, 32) == DG_OK);
    ends("does not fit", -1, 0);
    DG_CHECK(run((machine){.full_from = 0}, DG_RULE_USAGE, 8) == DG_OK);
    ends("all rounds", 100, table.row[100].batch);
    DG_CHECK(run((machine){.curve = short_steps}, DG_RULE_USAGE, 32) == DG_OK);
    DG_NEAR(table.row[0].busy, 31, 0); /* one usage sample, because steps are shorter than a second */
    DG_CHECK(run((machine){.dark = true}, DG_RULE_USAGE, 8) == DG_OK);
    DG_NEAR(table.row[0].busy, 0, 0);
    DG_CHECK(run((machine){.fails = true}, DG_RULE_USAGE, 8) == DG_FAILED && table.rows == 0);
}

DG_TESTS(check_usage, check_epoch_time, check_rest)

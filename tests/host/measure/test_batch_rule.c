/* The published batch size rules on simulated machines: all eight published results and the sizes before them. */
#include "host/measure/batch_rule.h"

#include "test.h"

/* A simulated device with full usage from some batch size on. */
typedef struct {
    int full_from;            /* batch size from which usage is full; 0: usage is never full */
    const double (*curve)[2]; /* batch size and epoch time relative to the first batch size, interpolated linearly */
    int batch, opened;
    int most;    /* largest batch size that fits; 0: all fit */
    double step; /* seconds per step of the current batch size */
    int images, asked;
    bool dark, fails; /* dark: usage is always 0; fails: steps fail */
} machine;

static double between(const double (*c)[2], double x)
{
    while (c[1][0] < x) c++;
    return c[0][1] + (c[1][1] - c[0][1]) * (x - c[0][0]) / (c[1][0] - c[0][0]);
}

static double the_usage(void *context)
{
    machine *m = context;
    static const double low[] = {0, 31, 73, 60}; /* samples of a device that is not fully used; some are 0 */
    if (m->dark) return 0;
    return m->full_from && m->batch >= m->full_from ? 99.4 : low[m->asked++ % 4];
}

static dg_err open_batch(void *context, int batch, bool *yes)
{
    machine *m = context;
    *yes = !m->most || batch <= m->most;
    m->batch = batch;
    m->opened++;
    const int steps = (m->images + batch - 1) / batch;
    m->step = m->curve ? 100 * between(m->curve, batch) / steps : 0.0123;
    return DG_OK;
}

static dg_err some_steps(void *context, long most, long *done, double *seconds)
{
    machine *m = context;
    *done = most < 7 ? most : 7;
    *seconds = m->step * (double)*done;
    return m->fails ? DG_FAILED : DG_OK;
}

static dg_batch_rule rule;

static void run(machine *m, dg_batch_rule_kind kind, int from)
{
    m->images = 50000;
    const dg_rule_machine on = {m, the_usage, open_batch, some_steps, NULL};
    dg_rule_begin(&rule, kind, from, m->images);
    DG_CHECK(dg_rule_run(&rule, &on, 1000) == DG_OK && m->opened == rule.rounds + (rule.end == DG_RULE_CANNOT));
}

static void passes(const int *sizes, int n)
{
    for (int i = 0; i < n; i++)
        DG_CHECKF(rule.round[i].batch == sizes[i], "round %d: %d, not %d", i, rule.round[i].batch, sizes[i]);
}

static void ends(int round, int batch, const char *what)
{
    DG_CHECKF(rule.end == DG_RULE_STOPPED && rule.rounds == round + 1 && dg_rule_answer(&rule) == batch,
              "%s: %d in round %d (end %d), not %d in %d", what, dg_rule_answer(&rule), rule.rounds - 1, (int)rule.end,
              batch, round);
}

static void check_usage(void)
{
    static const struct {
        int first, last, round, batch;
    } published[] = {{54, 56, 10, 54}, {71, 72, 15, 70}, {46, 46, 10, 46}, {115, 116, 20, 116}};
    for (size_t i = 0; i < sizeof published / sizeof *published; i++)
        for (int full = published[i].first; full <= published[i].last; full++) {
            machine m = {.full_from = full};
            char what[40];
            snprintf(what, sizeof what, "full from %d on", full);
            run(&m, DG_RULE_USAGE, 32);
            ends(published[i].round, published[i].batch, what);
        }
    static const int sizes[] = {32, 34, 37, 41, 46, 52, 59, 58, 56, 53, 54};
    machine m = {.full_from = 55};
    run(&m, DG_RULE_USAGE, 32);
    passes(sizes, 11);
    /* of the nine samples above 0 the upper five count: 73 three times, 60 twice */
    DG_NEAR(rule.round[0].usage, 67.8, 1e-9);
    DG_NEAR(rule.round[6].usage, 99.4, 1e-9);
}

/* The published improvements. The values between them are chosen such that the rule ends at the published size. */
static void check_epoch_time(void)
{
    static const double vgg[][2] = {{32, 1},          {52, 1 - .3818}, {96, 1 - .4713},  {105.9, 1 - .52},
                                    {106, 1 - .6917}, {146, 1 - .70},  {196, 1 - .7340}, {1e4, .2}};
    static const double resnet[][2] = {{32, 1},        {52, 1 - .45},    {76, 1 - .57}, {96, 1 - .52},
                                       {146, 1 - .58}, {196, 1 - .6031}, {1e4, .3}};
    static const double vgg_large[][2] = {{8, 1}, {28, 1 - .10}, {72, 1 - .1350}, {1e4, .8}};
    static const double resnet_large[][2] = {{32, 1}, {52, 1 - .06}, {96, 1 - .0848}, {1e4, .9}};
    static const int sizes[] = {32, 34, 37, 41, 46, 52, 59, 67, 76, 86, 96, 106};
    machine m = {.curve = vgg};
    run(&m, DG_RULE_EPOCH_TIME, 32);
    passes(sizes, 12);
    ends(20, 196, "VGG16, 32x32");
    DG_NEAR(rule.round[5].gain, .3818, 1e-9);
    DG_NEAR(rule.round[20].gain, .7340, 1e-9);
    DG_NEAR(rule.round[0].epoch, 100, 1e-9);
    m = (machine){.curve = resnet};
    run(&m, DG_RULE_EPOCH_TIME, 32);
    ends(20, 196, "ResNet50, 32x32");
    m = (machine){.curve = vgg_large};
    run(&m, DG_RULE_EPOCH_TIME, 8);
    ends(10, 72, "VGG16, 224x224");
    m = (machine){.curve = resnet_large};
    run(&m, DG_RULE_EPOCH_TIME, 32);
    ends(10, 96, "ResNet50, 224x224");
}

static void check_rest(void)
{
    machine m = {.full_from = 1}; /* usage is always full, so the rule reduces the batch size to its minimum */
    run(&m, DG_RULE_USAGE, 32);
    DG_CHECK(dg_rule_answer(&rule) == 1 && rule.end == DG_RULE_STOPPED);
    m = (machine){.most = 40};
    run(&m, DG_RULE_USAGE, 32);
    DG_CHECK(rule.end == DG_RULE_CANNOT && rule.batch == 41 && dg_rule_answer(&rule) == 37);
    m = (machine){.most = 8};
    run(&m, DG_RULE_USAGE, 32);
    DG_CHECK(rule.end == DG_RULE_CANNOT && dg_rule_answer(&rule) == 0);
    m = (machine){.full_from = 0}; /* usage is never full, so the rule continues up to its last round */
    run(&m, DG_RULE_USAGE, 8);
    DG_CHECK(rule.end == DG_RULE_ALL_ROUNDS && rule.rounds == DG_RULE_ROUNDS);
    static const double short_steps[][2] = {{1, 1e-9}, {1e9, 1e-9}};
    m = (machine){.full_from = 40, .curve = short_steps}; /* rounds shorter than a second have one sample */
    run(&m, DG_RULE_USAGE, 32);
    DG_NEAR(rule.round[0].usage, 31, 0);
    m = (machine){.dark = true};
    run(&m, DG_RULE_USAGE, 8);
    DG_NEAR(rule.round[0].usage, 0, 0);
    m = (machine){.fails = true};
    const dg_rule_machine on = {&m, the_usage, open_batch, some_steps, NULL};
    dg_rule_begin(&rule, DG_RULE_USAGE, 8, 100);
    DG_CHECK(dg_rule_run(&rule, &on, 1000) == DG_FAILED && rule.rounds == 0);
}

int main(void)
{
    check_usage();
    check_epoch_time();
    check_rest();
    return dg_test_report();
}

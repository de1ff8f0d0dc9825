/* Tests calls that run several training steps, in CUDA graphs with branches. Results must have the bits of single
 * steps. Also tests how many steps a training run requests per call. */
#include "tests/all_ops.h"
#include "tests/devtest.h"
extern "C" {
#include "core/group/group.h"
#include "core/plan/fusions.h"
#include "host/net/gan.h"
#include "host/train/train.h"
#include "host/measure/trial.h"
}

#include <string>

static dg_model model;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
static const bool slow = true;
#else
static const bool slow = false;
#endif
static const int BATCH = 2, STEPS = slow ? 5 : 11;
static long launches;

static dg_backend *open_cuda(bool eager, unsigned fuse = DG_FUSE_branches)
{
    dg_backend *b;
    dg_cuda_options o = {};
    o.real = DG_F32;
    o.eager = eager;
    o.fuse = fuse;
    if (dg_cuda_open(&o, &b) == DG_OK) return b;
    fprintf(stderr, "%s\n", dg_message());
    exit(1);
}

/* Returns the bytes of all weights, moments and statistics, and of the metrics of every step. */
static std::string state_of(dg_job *job)
{
    std::string all;
    for (int i = 0; i < job->tensors; i++) {
        const dg_job_tensor *t = &job->tensor[i];
        size_t n = 1;
        for (int k = 0; k < t->rank; k++) n *= (size_t)t->dim[k];
        std::vector<float> v(n);
        for (int row : {t->row, t->moment1, t->moment2})
            if (row >= 0 && DG_CHECKF(dg_job_read(job, t, row, DG_F32, v.data()) == DG_OK, "%s", dg_message()))
                all.append((const char *)v.data(), n * sizeof v[0]);
    }
    dg_metrics m[STEPS];
    DG_CHECK(dg_job_get_metrics(job, 0, STEPS, m) == DG_OK);
    for (const dg_metrics &x : m) DG_CHECK(x.value[DG_LOSS_G] > 0);
    all.append((const char *)m, sizeof m);
    return all;
}

/* Runs STEPS training steps. `pieces` contains the number of steps of each call. */
static std::string train(bool eager, const std::vector<int> &pieces, long *captured)
{
    dg_backend *b = open_cuda(eager);
    dg_trial t;
    std::string all;
    if (DG_CHECKF(dg_trial_open(&t, &model, BATCH, b) == DG_OK && dg_trial_rewind(&t) == DG_OK, "%s", dg_message())) {
        launches = 0;
        for (int n : pieces) DG_CHECKF(dg_job_steps(&t.job, BATCH, n) == DG_OK, "%s", dg_message());
        *captured = launches;
        all = state_of(&t.job);
    }
    dg_trial_close(&t);
    b->close(b);
    return all;
}

static void same_bytes()
{
    /* The first run of a plan is not captured. Later runs are captured in CUDA graphs of one, two or four steps. */
    long two, many, eager;
    sim::device.driver = 12020; /* this driver cannot load kernels in a capture, so all kernels first run once */
    const std::string old = train(false, {2, STEPS - 2}, &many);
    sim::device.driver = 13000;
    const std::string want = train(false, std::vector<int>(STEPS, 1), &two);
    const long one = two / 2;
    DG_CHECK(old == want);
    DG_CHECK(train(false, {1, STEPS - 1}, &many) == want);
    DG_CHECKF(one > 0 && many == 1 * one + (slow ? 1 + 2 : 1 + 2 + 4) * one, "%ld and %ld launches", one, many);
    if (!slow) { /* tests/cli/long/sim_train.sh tests the same */
        DG_CHECK(train(false, {2, 5, 3, 1}, &many) == want);
        DG_CHECKF(many == 1 * one + (1 + 2) * one, "%ld and %ld launches", one, many);
        DG_CHECK(train(true, {4, STEPS - 4}, &eager) == want);
        DG_CHECKF(eager == STEPS * one, "%ld and %ld launches", one, eager);
    }
    dev_bits(want.data(), want.size());
}

/* Two training jobs alternate on one GPU and must have equal results. Launches overlap only on the backend that
 * enables overlap. */
static void two_backends()
{
    static long early[2];
    static int turn;
    sim::watch = [](const sim::launch_view &l) {
        early[turn] += l.overlapping;
        return true;
    };
    dg_backend *b[2] = {open_cuda(true, DG_FUSE_ALL), open_cuda(true, DG_FUSE_ALL & ~(unsigned)DG_FUSE_overlap)};
    dg_trial t[2];
    for (int k = 0; k < 2; k++)
        DG_CHECKF(!dg_trial_open(&t[k], &model, BATCH, b[k]) && !dg_trial_rewind(&t[k]), "%s", dg_message());
    for (int i = 0; i < STEPS; i++)
        for (turn = 0; turn < 2; turn++) DG_CHECKF(dg_job_steps(&t[turn].job, BATCH, 1) == DG_OK, "%s", dg_message());
    DG_CHECK(state_of(&t[0].job) == state_of(&t[1].job));
    DG_CHECKF(early[0] > 0 && early[1] == 0, "%ld and %ld launches overlap", early[0], early[1]);
    for (int k = 0; k < 2; k++) {
        dg_trial_close(&t[k]);
        b[k]->close(b[k]);
    }
}

/* Checks that CUDA graphs are short enough to react to a signal, for any number of requested steps. */
static void not_too_long()
{
    dg_backend *b = open_cuda(false);
    dg_trial t;
    if (DG_CHECK(dg_trial_open(&t, &model, BATCH, b) == DG_OK)) {
        sim::watch = [](const sim::launch_view &) {
            launches++;
            return false;
        };
        launches = 0;
        DG_CHECK(dg_job_steps(&t.job, BATCH, 1) == DG_OK);
        const long one = launches;
        DG_CHECK(dg_job_steps(&t.job, BATCH, 400) == DG_OK && dg_job_steps(&t.job, BATCH, 400) == DG_OK);
        DG_CHECKF(launches == one + 127 * one, "%ld launches, %ld a step", launches, one);
    }
    dg_trial_close(&t);
    b->close(b);
}

static void how_many()
{
    dg_backend b = {};
    dg_ring_reader r = {};
    b.queues = true;
    DG_CHECK(dg_steps_ahead(&b, 0) == 1);
    const struct {
        double seconds;
        int steps;
    } want[] = {{1, 1}, {0.03, 1}, {0.0249, 2}, {0.01, 5}, {200e-6, 64}, {1e-9, 64}};
    for (auto w : want)
        DG_CHECKF(dg_steps_ahead(&b, w.seconds) == w.steps, "steps of %g s: %d", w.seconds,
                  dg_steps_ahead(&b, w.seconds));
    dg_group group = {};
    b.group = &group;
    DG_CHECK(dg_steps_ahead(&b, 0.01) == 5);
    group.turns_on_gpu = true;
    DG_CHECK(dg_steps_ahead(&b, 0.01) == 25 && dg_steps_ahead(&b, 1) == 1);
    b.group = nullptr;
    b.queues = false;
    DG_CHECK(dg_steps_ahead(&b, 1e-9) == 1);

    /* number of steps per call in a training run whose epochs have 46 full batches and a short batch */
    dg_options o = {};
    dg_training run = {};
    b.queues = true;
    r.each = 1e-3;
    run.o = &o;
    run.metrics = r;
    run.job.backend = &b;
    run.data.count = run.data.train = 46 * 64 + 5;
    o.batch = 64;
    const struct {
        uint64_t batch, step;
        long limit;
        int window, n;
    } at[] = {{0, 0, 0, 0, 46},  {0, 94, 0, 0, 46}, {30, 77, 0, 0, 16},   {45, 45, 0, 0, 1}, {46, 46, 0, 0, 1},
              {0, 0, 20, 0, 20}, {3, 50, 52, 0, 2}, {44, 91, 1000, 0, 2}, {0, 0, 0, 128, 2}};
    for (auto &w : at) {
        run.given.batch = w.batch;
        run.given.step = w.step;
        o.steps = w.limit;
        run.feed.o.batch = o.batch;
        run.feed.o.used = run.data.train;
        run.feed.o.window = w.window;
        DG_CHECKF(dg_steps_in_a_row(&run) == w.n, "batch %d, --steps %ld: %d steps, not %d", (int)w.batch, w.limit,
                  dg_steps_in_a_row(&run), w.n);
    }
}

int main()
{
    static char text[DG_MODEL_TEXT_MAX];
    if (dg_model_stock(text, "tiny", dg_square(16), 3, 12, 4, 4) || dg_model_parse(text, "tiny", &model)) return 1;
    sim::watch = [](const sim::launch_view &) {
        launches++;
        return true;
    };
    if (!dev_small()) same_bytes(); /* ThreadSanitizer has already checked these kernels */
    if (!slow && !dev_small()) { /* tests spectral norm, whose u and v change in every step, and gradient penalties */
        static char normal[DG_MODEL_TEXT_MAX];
        if (dg_model_norm_d(text, "tiny", DG_NORM_SPECTRAL, normal)) return 1;
        strcat(normal, "[train]\nr1 = 2\nr2 = 1\n");
        if (dg_model_parse(normal, "tiny", &model)) return 1;
        same_bytes();
        if (dg_model_parse(text, "tiny", &model)) return 1;
    }
    two_backends();
    not_too_long();
    how_many();
    return dg_test_report();
}

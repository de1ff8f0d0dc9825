/* Compares gradients of a classifier, which has layers of every kind, with finite differences of its loss. */
#include "host/net/classifier.h"
#include "host/net/recipe.h"
#include "machine.h"
#include "tempdir.h"

enum { ROWS = 7, SIZE = 9, CLASSES = 5, BATCH = 4, RECORD = SIZE * SIZE * 3 + 4 };

/* The network includes residual sums, a tensor with two consumers, overlapping pools, resampling, grouped
 * convolutions and spectral norm. */
static const char network[] = "[model]\nname = t\nsize = 9\nchannels = 3\nclasses = 5\ninput = unit\n"
                              "[C.1]\nfilters = 4\nkernel = 3\nbias = yes\nact = leaky\n"
                              "[C.2]\nfilters = 4\nkernel = 3\nnorm = batch\nact = leaky\n"
                              "[C.3]\nfilters = 4\nkernel = 3\ngroups = 4\nnorm = batch\nadd = C.1\nact = leaky\n"
                              "[C.4]\nop = max_pool\nkernel = 3\nstride = 2\nbias = yes\nact = leaky\n"
                              "[C.5]\nfilters = 6\nkernel = 1\nnorm = spectral\nbias = yes\n"
                              "[C.6]\nop = dropout\np = 0.3\n"
                              "[C.7]\nfilters = 6\nkernel = 3\ngroups = 2\nin = C.5\nnorm = spectral\nadd = C.5\n"
                              "[C.8]\nop = add\nadd = C.6\nact = tanh\n"
                              "[C.9]\nop = mean_pool\nkernel = 3\nstride = 1\n"
                              "[C.10]\nop = resample\nscale = 2\n"
                              "[C.11]\nop = resample\nscale = 0.5\n"
                              "[C.12]\nop = dense\nfilters = 7\nact = leaky\n"
                              "[C.13]\nop = dense\nfilters = 5\nnorm = spectral\n";

static dg_model m;
static dg_start start = DG_START_HE;
static uint8_t records[ROWS * RECORD];

static void draw_records(void)
{
    machine_pixels(records, sizeof records);
    for (int32_t i = 0; i < ROWS; i++) {
        const int32_t label = (i * 3 + 1) % CLASSES;
        memcpy(records + (i + 1) * RECORD - 4, &label, 4);
    }
}

static bool up(machine *x, int threads, dg_type real, dg_optimizer optimizer)
{
    memset(x, 0, sizeof *x);
    dg_job_options o = machine_training(BATCH, 3, 0, ROWS);
    o.flip = false;
    o.tested = 3;
    o.optimizer = optimizer;
    o.beta1 = o.rho = 0.9;
    o.momentum = optimizer == DG_SGD ? 0.9 : 0;
    o.decay = optimizer == DG_ADAM ? 0 : 1e-3;
    o.smoothing = 0.1;
    o.start = start;
    x->m = m;
    return machine_begin(x, &(dg_cpu_options){.threads = threads, .real = real}, &o, records, 7);
}

static double step(machine *x, double lr)
{
    const dg_step_state state = {.seed = 3, .lr = {lr}};
    dg_metrics got;
    DG_CHECK(!dg_job_put_state(&x->g, &state) && !dg_job_step(&x->g, BATCH) && !dg_job_get_metrics(&x->g, 0, 1, &got));
    return got.value[DG_CLASS_LOSS];
}

static void check_tensor(machine *x, const dg_job_tensor *t)
{
    const size_t n = dg_job_tensor_count(t);
    double *g = malloc(n * sizeof *g), *w = malloc(n * sizeof *w), h = 1e-7;
    const bool read = DG_CHECK(g && w && !dg_job_read(&x->g, t, t->grad, DG_F64, g) &&
                               !dg_job_read(&x->g, t, t->row, DG_F64, w));
    for (size_t i = 0; i < n && read; i += 1 + n / 9) {
        double loss[2];
        const double was = w[i];
        for (int side = 0; side < 2; side++) {
            w[i] = was + (side ? h : -h);
            DG_CHECK(!dg_job_write(&x->g, t, t->row, DG_F64, w));
            loss[side] = step(x, 0);
        }
        w[i] = was;
        DG_CHECK(!dg_job_write(&x->g, t, t->row, DG_F64, w));
        const double d = (loss[1] - loss[0]) / (2 * h);
        DG_CHECKF(fabs(d - g[i]) < 1e-7 + 1e-5 * fabs(d), "gradient of %s[%zu] is %.10g, by differences %.10g", t->name,
                  i, g[i], d);
    }
    free(g);
    free(w);
}

static void check_gradients(void)
{
    machine x;
    if (!up(&x, 2, DG_F64, DG_ADAM)) return;
    /* finite differences require that u and v of spectral norm have converged */
    for (int i = 0; i < 300; i++) step(&x, 0);
    int trained = 0;
    for (int i = 0; i < x.g.tensors; i++) trained += x.g.tensor[i].grad >= 0;
    DG_CHECKF(trained == 16, "%d tensors are trained", trained);
    for (int i = 0; i < x.g.tensors; i++)
        if (x.g.tensor[i].grad >= 0) check_tensor(&x, &x.g.tensor[i]);
    machine_down(&x);
}

static void after_steps(int threads, dg_optimizer optimizer, double *out, size_t capacity)
{
    machine x;
    if (!up(&x, threads, DG_F32, optimizer)) return;
    const dg_step_state state = {.seed = 3, .lr = {0.01}};
    DG_CHECK(!dg_job_put_state(&x.g, &state) && !dg_job_step(&x.g, BATCH) && !dg_job_step(&x.g, 3));
    size_t at = 0;
    for (int i = 0; i < x.g.tensors; i++) {
        const size_t n = dg_job_tensor_count(&x.g.tensor[i]);
        if (DG_CHECK(at + n <= capacity))
            DG_CHECK(!dg_job_read(&x.g, &x.g.tensor[i], x.g.tensor[i].row, DG_F64, out + at));
        at += n;
    }
    for (size_t i = 0; i < at; i++) DG_CHECK(isfinite(out[i]));
    machine_down(&x);
}

static void check_threads(void)
{
    static double one[20000], some[20000];
    for (int k = 0; k < DG_OPTIMIZERS; k++)
        for (int t = 1; t <= 7; t = t < 3 ? t + 1 : t + 4) {
            after_steps(t, (dg_optimizer)k, t == 1 ? one : some, 20000);
            if (t > 1)
                DG_CHECKF(!memcmp(one, some, sizeof one), "%s with %d threads: not one thread's bits",
                          dg_optimizers[k].name, t);
        }
}

/* Results of the test plan do not depend on the batch of an image. Probabilities sum to 1, and weights do not
 * change. */
static void check_test(void)
{
    machine x;
    double p[ROWS * CLASSES], each[ROWS], alone[CLASSES], before[4 * 27], after[4 * 27];
    if (!up(&x, 2, DG_F64, DG_SGD)) return;
    step(&x, 0.01);
    DG_CHECK(!dg_job_read(&x.g, &x.g.tensor[0], x.g.tensor[0].row, DG_F64, before));
    DG_CHECK(dg_job_classes(&x.g) == CLASSES && !dg_job_test(&x.g, records, ROWS, p, each, NULL));
    for (int i = 0; i < ROWS; i++) {
        double sum = 0;
        int32_t label;
        memcpy(&label, records + (i + 1) * RECORD - 4, 4);
        for (int c = 0; c < CLASSES; c++) sum += p[i * CLASSES + c];
        DG_NEAR(sum, 1, 1e-12);
        DG_CHECK(!dg_job_test(&x.g, records + i * RECORD, 1, alone, NULL, NULL));
        DG_CHECKF(!memcmp(alone, p + i * CLASSES, sizeof alone), "image %d: other shares when it is alone", i);
        DG_NEAR(each[i], -log(p[i * CLASSES + label]), 1e-9); /* no label smoothing */
    }
    DG_CHECK(!dg_job_read(&x.g, &x.g.tensor[0], x.g.tensor[0].row, DG_F64, after));
    DG_CHECK(!memcmp(before, after, sizeof before));
    machine_down(&x);
}

static void check_names(void)
{
    static const char *const names[] = {"C.main.0.weight",     "C.main.0.bias", "C.main.2.weight",
                                        "C.main.3.weight",     "C.main.3.bias", "C.main.3.running_mean",
                                        "C.main.3.running_var"};
    machine x;
    if (!up(&x, 1, DG_F32, DG_ADAM)) return;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        DG_CHECKF(!strcmp(x.g.tensor[i].name, names[i]), "tensor %zu is %s", i, x.g.tensor[i].name);
    int64_t dim[4];
    static const char *const last[] = {"weight_orig", "weight_u", "weight_v", "bias"};
    for (int i = 0; i < 4; i++) {
        const dg_job_tensor *t = &x.g.tensor[x.g.tensors - 4 + i];
        const int rank = dg_job_tensor_shape(t, dim);
        DG_CHECKF(!strncmp(t->name, "C.main.", 7) && !strcmp(strrchr(t->name, '.') + 1, last[i]), "%s", t->name);
        DG_CHECKF(rank == (i ? 1 : 2) && dim[0] == (i == 2 ? 7 : 5), "%s: %lld", t->name, (long long)dim[0]);
    }
    const dg_job_tensor *dense = &x.g.tensor[x.g.tensors - 6];
    DG_CHECKF(dg_job_tensor_shape(dense, dim) == 2 && dim[0] == 7 && dim[1] == 24, "%s: %lld x %lld", dense->name,
              (long long)dim[0], (long long)dim[1]);
    machine_down(&x);
}

static void refused(const char *layers, const char *why)
{
    static dg_model wrong;
    const dg_recipe *r;
    const dg_err e = dg_model_parse(temp_text("[model]\nname = w\nsize = 8\n%s", layers), "wrong.cfg", &wrong);
    DG_CHECKF(e == DG_USAGE || (!e && dg_recipe_for(&wrong, &r) == DG_USAGE), "taken: %s", layers);
    DG_CHECKF(strstr(dg_message(), why), "%s: the message is %s", layers, dg_message());
}

static void check_refused(void)
{
    refused("[C.1]\nfilters = 3\nkernel = 3\n", "[C.1] output is 8 x 8 x 3");
    refused("[C.1]\nop = dense\nfilters = 1\n", "one logit");
    refused("[C.1]\nop = dense\nfilters = 3\nact = relu\n", "last layer");
    refused("[C.1]\nop = dense\nfilters = 3\nnorm = batch\n", "last layer");
    refused("[C.1]\nop = dense\nfilters = 3\nnorm = batch\nbias = yes\n", "bias = yes");
    refused("[C.1]\nop = dense\nfilters = 3\nkernel = 2\n", "not a key of op = dense");
    refused("[C.1]\nop = conv_transpose\nfilters = 3\nkernel = 3\nnorm = spectral\n", "norm = spectral: ");
    refused("[C.1]\nop = max_pool\nkernel = 2\nnorm = spectral\n", "norm: not a key of op = max_pool");
    refused("[C.1]\nfilters = 3\nkernel = 3\nnorm = spectral\ntorch = a b\n", "no batch norm");
    refused("[C.1]\nop = dense\nfilters = 4\n[C.2]\nop = dropout\n", "dropout");
    refused("[C.1]\nop = dense\nfilters = 4\n[C.2]\nop = dropout\np = 1\n", "a number from 0 up to, not including, 1");
    refused("[C.1]\nop = max_pool\nkernel = 8\n", "no layer of network C has weights");
    refused("[C.1]\nop = add\n", "key add");
    refused("[C.1]\nfilters = 3\nkernel = 1\n[C.2]\nop = add\nadd = C.2\n", "must be an earlier layer");
    refused("[C.1]\nfilters = 3\nkernel = 1\n[C.2]\nfilters = 4\nkernel = 1\nadd = C.1\n", "8 x 8 x 3 of layer C.1");
    refused("[C.1]\nfilters = 3\nkernel = 1\n[C.2]\nop = dense\nfilters = 4\nin = C.1\n[C.3]\nop = dense\nfilters = 4\n"
            "in = C.1\n",
            "[C.2] ");
    refused("[C.1]\nin = latent\nop = dense\nfilters = 4\n", "in = latent");
    refused("[train]\nlr = 1\nlr = 2\n[C.1]\nop = dense\nfilters = 4\n", "[train] lr = 2");
}

/* Compares the mean square of initial weights with its expected value, for a convolution and two dense layers. */
static void check_starts(void)
{
    static const dg_start all[] = {DG_START_HE, DG_START_GLOROT, DG_START_TORCH};
    for (int k = 0; k < 3; k++) {
        start = all[k];
        machine x;
        if (!up(&x, 1, DG_F64, DG_ADAM)) continue;
        int seen = 0;
        for (int i = 0; i < x.g.tensors; i++) {
            const dg_job_tensor *t = &x.g.tensor[i];
            const int last = t->file_rank == 2 && t->dim[0] == CLASSES, dense = t->file_rank == 2 && !last;
            if (t->rank != 4 || (!dense && !last && i > 0)) continue;
            const double in = last ? 7 : dense ? 6.0 * t->dim[2] * t->dim[3] : 27, out = last ? 5 : dense ? 7 : 36;
            const double squares = all[k] == DG_START_HE       ? 2 / in
                                   : all[k] == DG_START_GLOROT ? 2 / (in + out)
                                                               : 1 / (3 * in);
            const size_t n = dg_job_tensor_count(t);
            double *w = malloc(n * sizeof *w), sum = 0;
            if (DG_CHECK(w && !dg_job_read(&x.g, t, t->row, DG_F64, w)))
                for (size_t j = 0; j < n; j++) sum += w[j] * w[j] / (double)n;
            /* relative standard deviation of the mean of n squared weights, which are normal or uniform */
            const double off = sqrt((all[k] == DG_START_HE ? 2 : 0.8) / (double)n);
            DG_CHECKF(fabs(sum / squares - 1) < 4 * off, "start %d, %s: mean square %g, not %g", (int)all[k], t->name,
                      sum, squares);
            free(w);
            seen += dense ? t->dim[2] > 1 : 1;
        }
        DG_CHECKF(seen == 3, "%d tensors", seen);
        machine_down(&x);
    }
    start = DG_START_HE;
}

int main(void)
{
    draw_records();
    if (!DG_WORKS(dg_model_parse(network, "t", &m))) return dg_test_report();
    check_names();
    check_starts();
    check_gradients();
    check_threads();
    check_test();
    check_refused();
    return dg_test_report();
}

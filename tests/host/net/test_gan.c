/* Tests the training step of a GAN: equal bits for any number of threads, tensors in PyTorch's order, sampling, and
 * metrics. `dcgan replay` compares a step with PyTorch (tests/cli). */
#include "host/measure/check.h"
#include "host/net/gan.h"
#include "host/net/recipe.h"
#include "machine.h"
#include "tempdir.h"

enum { ROWS = 11, SIZE = 16 };

static dg_loss loss;
static int augment;
static dg_norm norm = DG_NORM_BATCH;
static const char *more_keys = ""; /* appended to the model text */
static double ema, r1, r2;

static dg_job_options training; /* for epochs with batches of 4, 4 and 3 images */

static bool up(machine *x, int threads, dg_type real, dg_job_options o)
{
    static char text[DG_MODEL_TEXT_MAX], of_norm[DG_MODEL_TEXT_MAX];
    memset(x, 0, sizeof *x);
    o.loss = loss, o.augment = augment, o.augment_p = 1, o.ema = ema, o.r1 = r1, o.r2 = r2;
    uint8_t pixels[ROWS * SIZE * SIZE * 3];
    machine_pixels(pixels, sizeof pixels);
    char *const used = norm == DG_NORM_BATCH ? text : of_norm;
    dg_err e = dg_model_stock(text, "tiny", dg_square(SIZE), 3, 10, 5, 3);
    if (!e && used == of_norm) e = dg_model_norm_d(text, "tiny", norm, of_norm);
    if (!e) e = dg_model_parse(strcat(used, more_keys), "tiny", &x->m);
    return DG_WORKS(e) && machine_begin(x, &(dg_cpu_options){.threads = threads, .real = real}, &o, pixels, 7);
}

/* Runs n training steps. Epochs have batches of 4, 4 and 3 images. */
static void steps(machine *x, int n)
{
    for (int i = 0; i < n; i++) {
        int in_epoch = i % 3;
        dg_step_state s = {.seed = 9, .step = (uint64_t)i, .cursor = 4 * in_epoch, .lr = {2e-4, 2e-4}};
        /* op `advance` updates the state during an epoch */
        if (in_epoch == 0) DG_CHECK(dg_job_put_state(&x->g, &s) == DG_OK);
        DG_CHECK(dg_job_step(&x->g, in_epoch == 2 ? 3 : 4) == DG_OK);
        DG_CHECK(x->b->get(x->b, &s, dg_job_memory(&x->g, x->g.row[DG_ROW_STATE]), sizeof s) == DG_OK);
        DG_CHECK(s.step == (uint64_t)i + 1 && s.cursor == (in_epoch == 2 ? ROWS : 4 * in_epoch + 4) && s.seed == 9);
    }
}

static void threads_do_not_matter(dg_type real)
{
    static machine one, many;
    if (!up(&one, 1, real, training)) return;
    steps(&one, 7);
    size_t bytes = one.g.arena.persistent;
    for (int threads = 2; threads <= 7; threads += threads == 3 ? 4 : 1) {
        if (!up(&many, threads, real, training)) return;
        steps(&many, 7);
        DG_CHECKF(!memcmp(one.g.arena.base, many.g.arena.base, bytes), "%d threads give other weights than one",
                  threads);
        machine_down(&many);
    }
    dg_metrics m[7];
    DG_CHECK(dg_job_get_metrics(&one.g, 0, 7, m) == DG_OK);
    for (int i = 0; i < 7; i++) {
        DG_CHECK(m[i].value[DG_LOSS_D_REAL] > 0 && m[i].value[DG_LOSS_D_FAKE] > 0);
        DG_CHECK(loss == DG_LOSS_HINGE || m[i].value[DG_LOSS_G] > 0);
        DG_CHECK(m[i].value[DG_BAD_D] == 0 && m[i].value[DG_BAD_G] == 0);
        DG_CHECK(m[i].value[DG_D_X] >= 0 && m[i].value[DG_D_X] <= 1);
    }
    DG_CHECK(memcmp(&m[5], &m[6], sizeof m[0]) != 0);
    machine_down(&one);
}

static const dg_job_tensor *tensor(const machine *x, const char *name)
{
    for (int i = 0; i < x->g.tensors; i++)
        if (!strcmp(x->g.tensor[i].name, name)) return &x->g.tensor[i];
    return NULL;
}

/* get() reads and set() writes a tensor as doubles. `row` selects the tensor's values, running average or moments. */
static void get(machine *x, const dg_job_tensor *t, int row, double *to)
{
    DG_CHECK(dg_job_read(&x->g, t, row, DG_F64, to) == DG_OK);
}
static void set(machine *x, const dg_job_tensor *t, int row, const double *from)
{
    DG_CHECK(dg_job_write(&x->g, t, row, DG_F64, from) == DG_OK);
}

static void one_step(machine *x, int step, double lr)
{
    const dg_step_state state = {.seed = 9, .step = (uint64_t)step, .lr = {lr, lr}};
    DG_CHECK(dg_job_put_state(&x->g, &state) == DG_OK && dg_job_step(&x->g, 4) == DG_OK);
}

/* Weights of convolutions have the order (Co, Ci, K, K) in files and (Co, K, K, Ci) in memory. */
static void order_of_weights(void)
{
    static machine x;
    if (!up(&x, 1, DG_F64, training)) return;
    const dg_job_tensor *t = tensor(&x, "D.main.2.weight");
    DG_CHECK(t && t->rank == 4 && t->dim[0] == 6 && t->dim[1] == 3 && t->dim[2] == 4 && t->dim[3] == 4);
    if (!t) return;
    float in[6 * 3 * 16], out[6 * 3 * 16];
    for (int i = 0; i < 288; i++) in[i] = (float)i + 0.25f;
    DG_CHECK(dg_job_write(&x.g, t, t->row, DG_F32, in) == DG_OK);
    const double *w = (const double *)((char *)x.g.arena.base + x.g.arena.row[t->row].offset);
    DG_NEAR(w[((2 * 4 + 1) * 4 + 3) * 3 + 1], in[((2 * 3 + 1) * 4 + 1) * 4 + 3], 0); /* co 2, ci 1, ky 1, kx 3 */
    DG_CHECK(dg_job_read(&x.g, t, t->row, DG_F32, out) == DG_OK);
    DG_CHECK(!memcmp(in, out, sizeof in));
    machine_down(&x);
}

static void samples_in_chunks(void)
{
    static machine x;
    if (!up(&x, 2, DG_F32, (dg_job_options){.samples = 5})) return;
    enum { EACH = SIZE * SIZE * 3 };
    float z[13 * 10];
    static uint8_t all[13 * EACH], one[EACH];
    static double value[13 * EACH];
    for (int i = 0; i < 13; i++) dg_gan_z(z + 10 * i, 10, 4, (uint64_t)i);
    DG_CHECK(memcmp(z, z + 10, 40) != 0);
    DG_CHECK(dg_job_generate(&x.g, z, 13, all, value) == DG_OK);
    for (int i = 0; i < 13; i++) {
        DG_CHECK(dg_job_generate(&x.g, z + 10 * i, 1, one, NULL) == DG_OK);
        DG_CHECKF(!memcmp(one, all + i * EACH, EACH), "image %d depends on its chunk", i);
    }
    for (int i = 0; i < 13 * EACH; i++)
        if (!DG_NEAR(all[i], (value[i] + 1) * 127.5, 0.5 + 1e-9)) break;
    machine_down(&x);
}

static void ring_wraps(void)
{
    static machine x;
    dg_job_options o = training;
    o.batch = o.last_batch = 2;
    if (!up(&x, 2, DG_F32, o)) return;
    dg_step_state s = {.seed = 9, .step = DG_RING - 2, .lr = {0, 0}};
    DG_CHECK(dg_job_put_state(&x.g, &s) == DG_OK);
    for (int i = 0; i < 5; i++) DG_CHECK(dg_job_step(&x.g, 2) == DG_OK);
    dg_metrics m[5];
    DG_CHECK(dg_job_get_metrics(&x.g, DG_RING - 2, 5, m) == DG_OK);
    for (int i = 0; i < 5; i++) DG_CHECKF(m[i].value[DG_LOSS_G] > 0, "step %d left no metrics", i);
    DG_CHECK(dg_job_step(&x.g, 5) == DG_FAILED);
    machine_down(&x);
}

/* Reads all trained tensors of G or their running averages. Returns the number of values. */
static size_t read_g(machine *x, bool average, double *out)
{
    size_t n = 0;
    for (int i = 0; i < x->g.tensors; i++) {
        const dg_job_tensor *t = &x->g.tensor[i];
        if (t->net != DG_G || t->moment1 < 0) continue;
        DG_CHECK(dg_job_read(&x->g, t, average ? t->average : t->row, DG_F64, out + n) == DG_OK);
        n += dg_job_tensor_count(t);
    }
    return n;
}

static void averages(void)
{
    static machine x;
    static double want[20000], now[20000];
    ema = 0.3;
    if (!up(&x, 2, DG_F64, training)) return;
    for (int i = 0; i < x.g.tensors; i++) DG_CHECK((x.g.tensor[i].average >= 0) == (x.g.tensor[i].net == DG_G));
    for (int s = 0; s < 9; s++) {
        const double ramp = s / (s + 10.0), d = ramp < 0.3 ? ramp : 0.3;
        one_step(&x, s, 2e-2);
        const size_t n = read_g(&x, false, now);
        for (size_t i = 0; i < n; i++) want[i] = d * want[i] + (1 - d) * now[i];
        double worst = 0, moved = 0;
        read_g(&x, true, now);
        for (size_t i = 0; i < n; i++) worst = fmax(worst, fabs(now[i] - want[i]));
        DG_CHECKF(worst < 1e-14 && n > 1000, "step %d: the average of %zu weights is %g off", s, n, worst);
        read_g(&x, false, now);
        for (size_t i = 0; i < n; i++) moved = fmax(moved, fabs(now[i] - want[i]));
        DG_CHECK(s == 0 ? moved < 1e-14 : moved > 1e-3);
    }
    machine_down(&x);
    ema = 0;
}

/* Computes mean and unbiased variance of channel c of G's first layer, averaged over eight batches of four latent
 * vectors. w: weights (latent, channels, 4, 4). */
static void statistics_of(const double *w, int channels, int c, double *mean, double *variance)
{
    *mean = *variance = 0;
    for (int k = 0; k < 8; k++) {
        float z[40];
        double sum = 0, squares = 0;
        for (int i = 0; i < 40; i += 4)
            dg_normal4(z + i, 9, dg_subsequence(DG_STREAM_STATISTICS, (uint64_t)k), (uint64_t)i / 4);
        for (int pass = 0; pass < 2; pass++)
            for (int n = 0; n < 4; n++)
                for (int p = 0; p < 16; p++) {
                    double v = 0;
                    for (int l = 0; l < 10; l++) v += (double)z[10 * n + l] * w[(l * channels + c) * 16 + p];
                    if (pass == 0) sum += v / 64;
                    else squares += (v - sum) * (v - sum);
                }
        *mean += sum / 8;
        *variance += squares / 63 / 8;
    }
}

/* Sampling uses norm statistics that belong to the running averages of the weights, not to the weights. */
static void statistics(void)
{
    static machine x;
    static double w[20000], stats[2][64];
    ema = 0.9;
    if (!up(&x, 2, DG_F64, training)) return;
    steps(&x, 6);
    const dg_job_tensor *weight = tensor(&x, "G.main.0.weight"), *mean = tensor(&x, "G.main.1.running_mean"),
                        *variance = tensor(&x, "G.main.1.running_var");
    for (int i = 0; i < 64; i++) stats[0][i] = 1000;
    if (!DG_CHECK(weight && mean && variance)) return;
    set(&x, mean, mean->average, stats[0]);
    DG_CHECK(dg_job_settle(&x.g) == DG_OK);
    get(&x, weight, weight->average, w), get(&x, mean, mean->average, stats[0]);
    get(&x, variance, variance->average, stats[1]);
    for (int c = 0; c < weight->dim[1]; c++) {
        double want[2];
        statistics_of(w, weight->dim[1], c, &want[0], &want[1]);
        DG_NEAR(stats[0][c], want[0], 1e-13);
        DG_NEAR(stats[1][c], want[1], 1e-13);
    }
    float z[10];
    uint8_t before[SIZE * SIZE * 3], after[sizeof before];
    dg_gan_z(z, 10, 4, 0);
    DG_CHECK(dg_job_generate(&x.g, z, 1, before, NULL) == DG_OK);
    for (int i = 0; i < 20000; i++) w[i] = 0;
    set(&x, weight, weight->row, w); /* no effect, because sampling uses the averages */
    DG_CHECK(dg_job_generate(&x.g, z, 1, after, NULL) == DG_OK && !memcmp(before, after, sizeof before));
    set(&x, weight, weight->average, w);
    DG_CHECK(dg_job_generate(&x.g, z, 1, after, NULL) == DG_OK && memcmp(before, after, sizeof before) != 0);
    machine_down(&x);
    ema = 0;
}

/* D's running norm statistics must not change when G's loss reads additional batches. */
static void a_second_look_leaves_no_trace(void)
{
    static machine x;
    double sum[2];
    for (int k = 0; k < 2; k++) {
        loss = k ? DG_LOSS_RALSGAN : DG_LOSS_BCE;
        if (!up(&x, 2, DG_F64, training)) return;
        double mean[64] = {0};
        one_step(&x, 0, 0);
        const dg_job_tensor *t = tensor(&x, "D.main.3.running_mean");
        if (DG_CHECK(t)) get(&x, t, t->row, mean);
        sum[k] = 0;
        for (int i = 0; i < 64; i++) sum[k] += fabs(mean[i]);
        machine_down(&x);
    }
    loss = DG_LOSS_BCE;
    DG_CHECKF(sum[0] > 0 && sum[0] == sum[1], "statistics %g and %g", sum[0], sum[1]);
}

static double product(const double *x, const double *y, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += x[i] * y[i];
    return sum;
}

static int length_1(double *x, int n)
{
    const double length = sqrt(product(x, x, n));
    for (int i = 0; i < n; i++) x[i] /= length;
    return fabs(length - 1) < 1e-6;
}

/* Each step runs one power iteration of spectral norm in PyTorch's order, before the weights are updated. */
static void directions(void)
{
    enum { ROWS_OF_W = 6, COLS = 3 * 16 };
    static machine x;
    double w[ROWS_OF_W * COLS], u[ROWS_OF_W], v[COLS], now[COLS];
    norm = DG_NORM_SPECTRAL;
    if (!up(&x, 2, DG_F64, training)) return;
    const dg_job_tensor *of_w = tensor(&x, "D.main.2.weight_orig"), *of_u = tensor(&x, "D.main.2.weight_u"),
                        *of_v = tensor(&x, "D.main.2.weight_v");
    int64_t dim[4];
    DG_CHECK(!tensor(&x, "D.main.2.weight") && !tensor(&x, "D.main.3.weight"));
    if (!DG_CHECK(of_w && of_u && of_v && dg_job_tensor_shape(of_v, dim) == 1 && dim[0] == COLS)) return;
    DG_CHECK(of_u->grad < 0 && of_v->moment1 < 0);
    for (int s = 0; s < 3; s++) {
        get(&x, of_w, of_w->row, w), get(&x, of_u, of_u->row, u), get(&x, of_v, of_v->row, v);
        DG_CHECK(length_1(u, ROWS_OF_W) && length_1(v, COLS));
        one_step(&x, s, 2e-2);
        for (int c = 0; c < COLS; c++) {
            v[c] = 0;
            for (int r = 0; r < ROWS_OF_W; r++) v[c] += w[r * COLS + c] * u[r];
        }
        length_1(v, COLS);
        for (int r = 0; r < ROWS_OF_W; r++) u[r] = product(w + (ptrdiff_t)r * COLS, v, COLS);
        length_1(u, ROWS_OF_W);
        get(&x, of_v, of_v->row, now);
        for (int c = 0; c < COLS; c++) DG_NEAR(now[c], v[c], 1e-12);
        get(&x, of_u, of_u->row, now);
        for (int r = 0; r < ROWS_OF_W; r++) DG_NEAR(now[r], u[r], 1e-12);
    }
    machine_down(&x);
    norm = DG_NORM_BATCH;
}

static double rms(machine *x, const char *name)
{
    static double value[20000];
    const dg_job_tensor *t = tensor(x, name);
    if (!DG_CHECKF(t, "no tensor %s", name)) return NAN;
    get(x, t, t->row, value);
    return sqrt(product(value, value, (int)dg_job_tensor_count(t)) / (double)dg_job_tensor_count(t));
}

/* The model keys start = gain and start = zero override the option --start, also for biases. */
static void starts(void)
{
    static machine x;
    norm = DG_NORM_NONE;
    dg_job_options o = training;
    o.start = DG_START_NORMAL, o.start_sigma = 3, o.start_bias = 2;
    if (!up(&x, 1, DG_F64, o)) return;
    DG_NEAR(rms(&x, "D.main.2.weight"), sqrt(2 / 1.04 / (3 * 16)), 0.02);
    DG_NEAR(rms(&x, "D.main.4.weight"), 1 / sqrt(6 * 16), 0.02); /* gain 1, because no activation follows */
    DG_CHECK(rms(&x, "D.main.2.bias") == 0 && !tensor(&x, "D.main.4.bias"));
    DG_NEAR(rms(&x, "G.main.0.weight"), 3, 0.2);
    machine_down(&x);
    more_keys = "[G]\nstart = gain\n[G.1]\nstart = zero\n";
    if (!up(&x, 1, DG_F64, o)) return;
    DG_CHECK(rms(&x, "G.main.0.weight") == 0);
    DG_NEAR(rms(&x, "G.main.6.weight"), 1 / sqrt(5 * 16 / 4), 0.02); /* each output sums 4 of 16 taps */
    machine_down(&x);
    more_keys = "[G]\nstart = gain\ngain = 3\n[G.1]\ngain = 1\n[G.2]\nstart = zero\n[D.1]\ngain = 0.25\n";
    if (!up(&x, 1, DG_F64, o)) return;
    DG_NEAR(rms(&x, "G.main.0.weight"), sqrt(2.0 / 10), 0.02); /* each output sums one tap of the kernel */
    DG_NEAR(rms(&x, "G.main.6.weight"), 3 / sqrt(5 * 16 / 4), 0.06);
    DG_CHECK(rms(&x, "G.main.3.weight") == 0);
    DG_NEAR(rms(&x, "D.main.0.weight"), 0.25 * sqrt(2 / 1.04 / (3 * 16)), 0.01);
    machine_down(&x);
    norm = DG_NORM_BATCH, more_keys = "";
}

static void penalties(void)
{
    static machine x;
    static const dg_norm norms[] = {DG_NORM_NONE, DG_NORM_SPECTRAL};
    r1 = 2, r2 = 0.5;
    for (int k = 0; k < 2; k++) {
        norm = norms[k], loss = k ? DG_LOSS_HINGE : DG_LOSS_RPGAN, augment = k ? 7 : 0;
        threads_do_not_matter(DG_F32);
        threads_do_not_matter(DG_F64);
        if (!up(&x, 2, DG_F64, training)) return;
        DG_CHECK(x.g.recipe == &dg_gan_penalised_recipe && dg_recipe_base(x.g.recipe) == &dg_gan_recipe);
        one_step(&x, 0, 2e-4);
        dg_metrics m;
        DG_CHECK(dg_job_get_metrics(&x.g, 0, 1, &m) == DG_OK && m.value[DG_R1] > 0 && m.value[DG_R2] > 0);
        DG_CHECK(m.value[DG_R1] != m.value[DG_R2]);
        machine_down(&x);
    }
    norm = DG_NORM_BATCH, loss = DG_LOSS_BCE, augment = 0;
    r1 = r2 = 0;
}

/* Compares gradients of a penalised loss with finite differences, for one value of each weight tensor of D. */
static void check_identity(const dg_model *m, const dg_job_options *o)
{
    static machine x;
    static double w[20000], g[20000];
    uint8_t pixels[ROWS * 8 * 8 * 3];
    double worst;
    machine_pixels(pixels, sizeof pixels);
    memset(&x, 0, sizeof x);
    x.m = *m;
    dg_job_options apart = *o;
    apart.apart = true;
    if (!machine_begin(&x, &(dg_cpu_options){.threads = 2, .real = DG_F64}, &apart, pixels, 7)) return;
    const dg_job_tensor *first = tensor(&x, "D.main.0.weight");
    if (!DG_CHECK(first)) return;
    get(&x, first, first->row, w);
    for (int i = 0; i < (int)dg_job_tensor_count(first); i++) w[i] *= 5; /* away from 0 */
    set(&x, first, first->row, w);
    int compared = 0;
    for (int i = 0; i < x.g.tensors; i++) {
        const dg_job_tensor *t = &x.g.tensor[i];
        if (strncmp(t->name, "D.", 2) != 0 || t->grad < 0) continue;
        double value[3] = {0};
        const size_t at = 7 % dg_job_tensor_count(t);
        for (int k = 0; k < 3; k++) {
            dg_metrics metrics;
            get(&x, t, t->row, w);
            const double was = w[at];
            w[at] += k == 1 ? 1e-7 : k == 2 ? -1e-7 : 0;
            set(&x, t, t->row, w);
            one_step(&x, 0, 0);
            if (k == 0) get(&x, t, t->grad, g);
            DG_CHECK(dg_job_get_metrics(&x.g, 0, 1, &metrics) == DG_OK);
            value[k] = metrics.value[DG_LOSS_D_REAL] + metrics.value[DG_LOSS_D_FAKE] +
                       (o->r1 * metrics.value[DG_R1] + o->r2 * metrics.value[DG_R2]) / 2;
            w[at] = was;
            set(&x, t, t->row, w);
        }
        DG_CHECKF(fabs((value[1] - value[2]) / 2e-7 - g[at]) <= 1e-6 * (1 + fabs(g[at])), "%s[%zu]: %g, not %g",
                  t->name, at, g[at], (value[1] - value[2]) / 2e-7);
        compared++;
    }
    DG_CHECKF(compared >= 2, "%d tensors are too few", compared);
    DG_CHECKF(!dg_check_penalty(&x.g, DG_PLAN_TRAIN, &worst) && worst > 0, "%s", dg_message());
    machine_down(&x);
}

/* Checks a model text for training with these options. With `refused`, the model must be refused with these words and
 * the name of the layer. Returns true if the model is accepted. */
static bool accepts(dg_model *m, const char *text, const dg_job_options *o, const char *layer, const char *refused)
{
    DG_WORKS(dg_model_parse(text, "d.cfg", m));
    const dg_err e = dg_gan_recipe.check(m, o);
    DG_CHECKF(e == (refused ? DG_USAGE : DG_OK), "%s%s", text, dg_message());
    if (refused) DG_CHECKF(strstr(dg_message(), layer) && strstr(dg_message(), refused), "%s%s", text, dg_message());
    return !e;
}

/* A GAN refuses networks that it cannot train, and names their layer. */
static void refused_layers(void)
{
    static dg_model m;
    static const struct {
        const char *g, *d, *layer, *refused;
    } row[] = {{"act = relu\nnorm = batch\n[G.2]\nkernel = 1\nfilters = 3\nact = tanh\n", "", "", NULL},
               {"act = relu\n[G.2]\nop = conv\nkernel = 1\nnorm = spectral\nfilters = 3\nact = tanh\n", "", "[G.2]",
                "norm = spectral: not supported in the generator"},
               {"norm = batch\nact = relu\n", "", "[G.1]", "needs norm = none"},
               {"act = relu\n", "", "[G.1]", "act = tanh or none"},
               {"act = relu\n[G.2]\nfilters = 3\nkernel = 3\npad = 0\nact = tanh\n", "", "[G.2]", "needs 8 x 8 x 3"},
               {"act = none\n", "norm = spectral\n", "", NULL},
               {"act = none\n", "norm = batch\n", "[D.1]", "norm = none or spectral"},
               {"act = none\n", "act = leaky\n", "[D.1]", "act = none"},
               {"act = none\n", "[D.2]\nop = dense\nfilters = 2\n", "[D.2]", "the discriminator needs 1 x 1 x 1"}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        accepts(&m,
                temp_text("[model]\nname = d\nsize = 8\n[G.1]\nop = conv_transpose\nfilters = 3\nkernel = 8\n"
                          "pad = 0\n%s[D.1]\nop = dense\nfilters = 1\n%s",
                          row[i].g, row[i].d),
                &training, row[i].layer, row[i].refused);
}

static void penalised_layers(void)
{
    static dg_model m;
    static const char head[] =
        "[model]\nname = d\nsize = 8\n[G.1]\nop = conv_transpose\nfilters = 3\nkernel = 8\npad = 0\n"
        "act = tanh\n[D.1]\nfilters = 4\nkernel = 3\nact = leaky\n",
                      end[] = "[D.3]\nop = dense\nfilters = 1\n";
    static const struct {
        const char *layer, *refused;
    } row[] = {{"[D.2]\nfilters = 4\nkernel = 3\nbias = yes\nadd = D.1\nact = relu\n", NULL},
               {"[D.2]\nfilters = 6\nkernel = 3\ngroups = 2\nbias = yes\nact = leaky\n", NULL},
               {"[D.2]\nop = mean_pool\nkernel = 2\nbias = yes\n", NULL},
               {"[D.2]\nop = dropout\n", NULL},
               {"[D.2]\nop = resample\nscale = 0.5\n", NULL},
               {"[D.2]\nop = resample\nscale = 2\n", NULL},
               {"[D.2]\nop = add\nadd = D.1\nact = leaky\n", NULL},
               {"[D.2]\nop = max_pool\nkernel = 2\n", "op = max_pool: not supported"},
               {"[D.2]\nfilters = 4\nkernel = 3\nnorm = batch\n", "norm = batch: not supported"},
               {"[D.2]\nfilters = 4\nkernel = 3\nact = tanh\n", "act = tanh: not supported"}};
    dg_job_options o = training;
    o.r1 = 1;
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        if (accepts(&m, temp_text("%s%s%s", head, row[i].layer, end), &o, "[D.2]", row[i].refused))
            check_identity(&m, &o);
}

int main(void)
{
    training = machine_training(4, 3, 5, ROWS);
    for (int k = 0; k < DG_LOSS_KINDS; k++) {
        loss = (dg_loss)k, augment = k % 2 ? 7 : 0, ema = k / 2 ? 0.9 : 0;
        if (k) threads_do_not_matter(k % 2 ? DG_F64 : DG_F32);
    }
    norm = DG_NORM_SPECTRAL, loss = DG_LOSS_RALSGAN;
    threads_do_not_matter(DG_F32);
    threads_do_not_matter(DG_F64);
    norm = DG_NORM_BATCH, loss = DG_LOSS_BCE, augment = 0, ema = 0;
    directions();
    starts();
    penalties();
    refused_layers();
    penalised_layers();
    averages();
    statistics();
    a_second_look_leaves_no_trace();
    threads_do_not_matter(DG_F32);
    threads_do_not_matter(DG_F64);
    order_of_weights();
    samples_in_chunks();
    ring_wraps();
    return dg_test_report();
}

/* Tests the search for latents: its gradient against finite differences of a loss that is computed with batch norm, and
 * the recovery of latents of samples. */
#include "host/infer/find.h"

#include <math.h>
#include <string.h>

#include "host/checkpoint/checkpoint_files.h"
#include "host/infer/fold.h"
#include "host/net/build.h"
#include "host/net/gan_find.h"
#include "host/net/gan_step.h"

enum { ROWS = 2, LATENT = 5, PIXELS = 16 * 16 * 3 };
static const double beta1 = 0.9;

/* Batch norm after each kind of layer, spectral norm, dropout, a sum and pooling. */
static const char odd[] = "[model]\nname = odd\nsize = 16\nlatent = 5\n"
                          "[G]\nop = conv_transpose\nkernel = 4\nstride = 2\nnorm = batch\nact = leaky\nslope = 0.3\n"
                          "[G.1]\nfilters = 6\nstride = 1\npad = 0\n"
                          "[G.2]\nfilters = 5\n"
                          "[G.3]\nop = conv\nkernel = 3\nstride = 1\nfilters = 5\nadd = G.2\n"
                          "[G.4]\nfilters = 3\nnorm = none\nbias = yes\nact = tanh\n"
                          "[D]\nkernel = 3\nstride = 1\nact = leaky\nslope = 0.3\n"
                          "[D.1]\nfilters = 4\nbias = yes\n"
                          "[D.2]\nfilters = 4\nnorm = batch\nadd = D.1\n"
                          "[D.3]\nop = mean_pool\nkernel = 2\nstride = 2\n"
                          "[D.4]\nop = dropout\n"
                          "[D.5]\nfilters = 5\nstride = 2\nnorm = spectral\nbias = yes\n"
                          "[D.6]\nop = dense\nfilters = 3\nnorm = batch\n"
                          "[D.7]\nop = dense\nfilters = 1\nact = none\n";

typedef struct {
    dg_backend *b;
    dg_model model, folded;
    dg_job trained, full, find;
} search;

/* Give the running statistics and all weights values that are far from those of a new network. */
static void disturb(dg_job *job)
{
    unsigned long long s = 11;
    for (int i = 0; i < job->tensors; i++) {
        const dg_job_tensor *t = &job->tensor[i];
        double v[2048];
        const size_t n = dg_job_tensor_count(t);
        const bool positive = strstr(t->name, "running_var") != NULL, weights = t->rank == 4;
        if (!DG_CHECK(n <= sizeof v / sizeof *v) || t->direction) continue;
        for (size_t k = 0; k < n; k++)
            v[k] = positive ? 1 + 0.8 * dg_test_random(&s) : (weights ? 0.4 : 0.7) * dg_test_random(&s);
        DG_WORKS(dg_job_write(job, t, t->row, DG_F64, v));
    }
}

static bool open_search(search *x, const char *text)
{
    memset(x, 0, sizeof *x);
    dg_job_options all = {.samples = ROWS, .all_nets = true}, find = {.batch = ROWS,
                                                                      .rows = 1,
                                                                      .recipe = &dg_find_recipe,
                                                                      .beta1 = beta1,
                                                                      .beta2 = 0.999,
                                                                      .eps = 1e-8};
    bool ok = DG_WORKS(dg_model_parse(text, "odd", &x->model)) &&
              DG_WORKS(dg_cpu_open(&(dg_cpu_options){.threads = 1, .real = DG_F64}, &x->b)) &&
              DG_WORKS(dg_job_build(&x->full, &x->model, &all, x->b)) && DG_WORKS(dg_job_alloc(&x->full, NULL, NULL)) &&
              DG_WORKS(dg_job_init(&x->full, 3));
    if (!ok) return false;
    disturb(&x->full);
    x->folded = x->model;
    dg_fold_model(&x->folded);
    x->folded.net[DG_D].layers--;
    ok = DG_WORKS(dg_job_build(&x->find, &x->folded, &find, x->b)) && DG_WORKS(dg_job_alloc(&x->find, NULL, NULL));
    for (int net = 0; net < 2 && ok; net++) ok = DG_WORKS(dg_fold_put(&x->full, &x->find, net));
    return ok;
}

static void close_search(search *x)
{
    dg_job_free(&x->find);
    dg_job_free(&x->full);
    if (x->b) x->b->close(x->b);
}

/* Computes the output of D's layer `layer` with batch norm, not folded. */
static size_t features(search *x, const double *images, int layer, double *out)
{
    dg_arena a;
    dg_plan plan;
    static dg_model m;
    m = x->model;
    m.net[DG_D].layers = layer + 1;
    if (!DG_WORKS(dg_build_forward(&m, DG_D, ROWS, x->b, &a, &plan)) || !DG_WORKS(dg_arena_alloc(&a, x->b)) ||
        !DG_WORKS(dg_plan_bind(&plan)))
        return 0;
    const dg_row *in = &a.row[dg_arena_find(&a, "D.x")];
    for (int i = 0; i < a.rows; i++) {
        const int from = dg_arena_find(&x->full.arena, a.row[i].name);
        if (a.row[i].kind == DG_WORK || !DG_CHECKF(from >= 0, "%s", a.row[i].name)) continue;
        memcpy((char *)a.base + a.row[i].offset, dg_job_memory(&x->full, from), a.row[i].bytes);
    }
    memcpy((char *)a.base + in->offset, images, ROWS * PIXELS * sizeof *images);
    DG_WORKS(x->b->run(x->b, &plan));
    char name[40];
    snprintf(name, sizeof name, "%s.out", m.net[DG_D].layer[layer].name);
    const dg_row *r = &a.row[dg_arena_find(&a, name)];
    const size_t n = dg_count(r->shape);
    memcpy(out, (char *)a.base + r->offset, n * sizeof *out);
    dg_plan_free(&plan);
    dg_arena_free(&a, x->b);
    return n;
}

enum { VALUES = ROWS * 16 * 16 * 4 };
static double target[ROWS * PIXELS], of_target[DG_MAX_LAYERS][VALUES];

static double weight_of(int layer, int row) { return 0.05 * (layer + 1) + 0.3 * row; }

static double loss(search *x, const float *z)
{
    static double image[ROWS * PIXELS], f[VALUES];
    double sum = 0;
    DG_WORKS(dg_job_generate(&x->full, z, ROWS, NULL, image));
    for (int i = 0; i < ROWS * PIXELS; i++) sum += (image[i] - target[i]) * (image[i] - target[i]) / 2;
    for (int layer = 0; layer < x->folded.net[DG_D].layers; layer++) {
        if (!dg_find_compares(&x->folded, layer)) continue;
        const size_t n = features(x, image, layer, f), each = n / ROWS;
        for (size_t i = 0; i < n; i++)
            sum += weight_of(layer, (int)(i / each)) * (f[i] - of_target[layer][i]) * (f[i] - of_target[layer][i]) / 2;
    }
    return sum;
}

static void put(search *x, const char *name, int layer, const double *values, size_t n)
{
    const int row = dg_find_row(&x->find, name, layer);
    if (DG_CHECKF(row >= 0, "%s %d", name, layer)) DG_WORKS(dg_job_put_values(&x->find, row, 0, values, n));
}

/* Runs plan DG_PLAN_TEST and compares its outputs with those of D with batch norm. */
static void compare_features(search *x)
{
    static double f[VALUES];
    put(x, "find.image", -1, target, ROWS * PIXELS);
    DG_WORKS(x->b->run(x->b, &x->find.plan[DG_PLAN_TEST]));
    for (int layer = 0; layer < x->folded.net[DG_D].layers; layer++) {
        if (!dg_find_compares(&x->folded, layer)) continue;
        const size_t n = features(x, target, layer, of_target[layer]);
        DG_WORKS(dg_job_get_values(&x->find, dg_find_row(&x->find, "find.f", layer), n, f));
        for (size_t i = 0; i < n; i++)
            if (!DG_CHECKF(fabs(f[i] - of_target[layer][i]) < 1e-12 * (1 + fabs(f[i])), "layer %d, value %zu: %g, %g",
                           layer, i, f[i], of_target[layer][i]))
                break;
    }
}

static void put_targets(search *x, const float *z)
{
    static double negative[VALUES];
    double wide[ROWS * LATENT], weight[ROWS];
    for (int i = 0; i < ROWS * PIXELS; i++) negative[i] = -target[i];
    put(x, "find.target", -1, negative, ROWS * PIXELS);
    for (int layer = 0; layer < x->folded.net[DG_D].layers; layer++) {
        if (!dg_find_compares(&x->folded, layer)) continue;
        const size_t n = ROWS * dg_count(x->folded.net[DG_D].layer[layer].out);
        for (size_t i = 0; i < n; i++) negative[i] = -of_target[layer][i];
        for (int r = 0; r < ROWS; r++) weight[r] = weight_of(layer, r);
        put(x, "find.target", layer, negative, n);
        put(x, "find.weight", layer, weight, ROWS);
    }
    for (int i = 0; i < ROWS * LATENT; i++) wide[i] = (double)z[i];
    put(x, "find.z", -1, wide, ROWS * LATENT);
    memset(wide, 0, sizeof wide);
    put(x, "find.m", -1, wide, ROWS * LATENT);
    put(x, "find.v", -1, wide, ROWS * LATENT);
}

/* Adam's first moment after one step is (1 - beta1) times the gradient. */
static void gradient(const char *text)
{
    static search x;
    float z[ROWS * LATENT];
    double m[ROWS * LATENT], after[ROWS * LATENT];
    unsigned long long s = 7;
    if (open_search(&x, text)) {
        for (int i = 0; i < ROWS * PIXELS; i++) target[i] = 0.9 * dg_test_random(&s);
        for (int i = 0; i < ROWS * LATENT; i++) z[i] = (float)dg_test_random(&s);
        compare_features(&x);
        put_targets(&x, z);
        DG_WORKS(dg_job_put_state(&x.find, &(dg_step_state){.lr = {0.25}}));
        DG_WORKS(dg_job_step(&x.find, ROWS));
        DG_WORKS(dg_job_get_values(&x.find, dg_find_row(&x.find, "find.m", -1), ROWS * LATENT, m));
        DG_WORKS(dg_job_get_values(&x.find, dg_find_row(&x.find, "find.z", -1), ROWS * LATENT, after));
        for (int i = 0; i < ROWS * LATENT; i++) {
            const float was = z[i], by = 1.0F / 4096, up = was + by, down = was - by;
            z[i] = up;
            const double high = loss(&x, z);
            z[i] = down;
            const double low = loss(&x, z);
            z[i] = was;
            const double numeric = (high - low) / ((double)up - (double)down), is = m[i] / (1 - beta1);
            DG_CHECKF(fabs(is - numeric) < 1e-4 * (1 + fabs(numeric)), "gradient %d is %g, not %g", i, is, numeric);
            DG_NEAR(after[i], (double)was - copysign(0.25, numeric), 1e-5);
        }
    }
    close_search(&x);
}

enum { IMAGES = 3 };

/* Finds samples of seeds that are not in the pool of starts, and returns the latents. */
static void recovered(const char *path, int threads, int starts, double weight, float *z)
{
    const dg_device cpu = {.device = "cpu", .threads = threads};
    const dg_find_options o = {.starts = starts, .steps = 150, .lr = 0.2, .features = weight};
    dg_generator *g = NULL;
    dg_find *f = NULL;
    uint8_t pixels[IMAGES * PIXELS], found[IMAGES * PIXELS];
    double error[IMAGES];
    if (DG_WORKS(dg_generator_open_all(&cpu, path, &g)) && DG_WORKS(dg_find_open(g, &o, IMAGES, &f)) &&
        DG_WORKS(dg_generator_images(g, 5000, IMAGES, -1, pixels, "seed")) &&
        DG_WORKS(dg_find_images(f, pixels, IMAGES, z, found, error))) {
        DG_CHECK(g->has_d && dg_find_features(f) == (weight > 0));
        for (int i = 0; i < IMAGES; i++) {
            uint8_t again[PIXELS];
            double sum = 0;
            for (int k = 0; k < PIXELS; k++) sum += abs(pixels[i * PIXELS + k] - found[i * PIXELS + k]);
            DG_NEAR(error[i], sum / PIXELS, 1e-9);
            DG_CHECKF(error[i] < 0.5, "image %d differs by %g", i, error[i]);
            DG_CHECK(!dg_generator_make(g, z + i * g->inputs, 1, again, "latent", 0) &&
                     !memcmp(again, found + i * PIXELS, PIXELS));
        }
    }
    dg_find_close(f);
    dg_generator_close(g);
}

/* After a few steps, the errors of starts differ, and the smallest error is kept. */
static void best_start(const char *path)
{
    const dg_device cpu = {.device = "cpu", .threads = 1};
    dg_generator *g = NULL;
    uint8_t pixels[IMAGES * PIXELS], found[IMAGES * PIXELS];
    float z[IMAGES * 6];
    double error[2][IMAGES], sum[2] = {0};
    if (DG_WORKS(dg_generator_open_all(&cpu, path, &g)) &&
        DG_WORKS(dg_generator_images(g, 5000, IMAGES, -1, pixels, "seed")))
        for (int k = 0; k < 2; k++) {
            const dg_find_options o = {.starts = k ? 5 : 1, .steps = 5, .lr = 0.2, .features = 1};
            dg_find *f = NULL;
            DG_WORKS(dg_find_open(g, &o, IMAGES, &f));
            DG_WORKS(dg_find_images(f, pixels, IMAGES, z, found, error[k]));
            for (int i = 0; i < IMAGES; i++) {
                DG_CHECKF(error[k][i] <= error[0][i] + 1e-2, "image %d: %g of 5 starts, %g of the first", i,
                          error[k][i], error[0][i]);
                sum[k] += error[k][i];
            }
            dg_find_close(f);
        }
    DG_CHECKF(sum[1] < sum[0] - 0.1, "%g, %g", sum[0], sum[1]);
    dg_generator_close(g);
}

static void search_of_samples(void)
{
    machine x;
    float one[IMAGES * 6], two[IMAGES * 6], pixels[IMAGES * 6];
    const char *path = temp_path("checkpoint.safetensors");
    if (!machine_up(&x, &tiny, DG_F32, true)) return;
    machine_steps(&x, 0, 3);
    for (int i = 0; i < x.g.tensors; i++) { /* weights of a new network would give almost grey images */
        const dg_job_tensor *t = &x.g.tensor[i];
        float v[2048];
        const size_t n = dg_job_tensor_count(t);
        if (t->rank != 4 || !DG_CHECK(n <= 2048) || dg_job_read(&x.g, t, t->row, DG_F32, v)) continue;
        for (size_t k = 0; k < n; k++) v[k] *= 6;
        DG_WORKS(dg_job_write(&x.g, t, t->row, DG_F32, v));
    }
    machine_keep(&x, 3, path);
    recovered(path, 1, 2, 1, one);
    recovered(path, 3, 2, 1, two);
    DG_CHECK(!memcmp(one, two, sizeof one));
    best_start(path);
    recovered(path, 1, 1, 0, pixels);
    DG_CHECK(memcmp(one, pixels, sizeof one) != 0);
    machine_down(&x);
}

int main(void)
{
    temp_make("find");
    gradient(odd);
    search_of_samples();
    temp_remove(temp_dir);
    return dg_test_report();
}

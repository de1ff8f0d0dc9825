/* Tests the principal directions against the outputs of G's first layer, computed without its activation: the squared
 * change of the output along a direction is its eigenvalue. */
#include "host/judge/directions.h"

#include <math.h>
#include <string.h>

#include "host/checkpoint/checkpoint_files.h"
#include "host/net/build.h"
#include "host/net/gan_step.h"

enum { LATENT = 6, VALUES = 4096 };
static const dg_device cpu = {.device = "cpu", .threads = 1, .precision = &dg_precisions[DG_PRECISION_FP64]};

typedef struct {
    dg_arena arena;
    dg_plan plan;
    int in, out;
    size_t values;
} layer;

static void copy_weights(const layer *l, dg_generator *g)
{
    for (int i = 0; i < l->arena.rows; i++) {
        const dg_row *r = &l->arena.row[i];
        const int from = dg_arena_find(&g->job.arena, r->name);
        if (r->kind != DG_WORK && DG_CHECKF(from >= 0, "%s", r->name))
            memcpy((char *)l->arena.base + r->offset, dg_job_memory(&g->job, from), r->bytes);
    }
}

static bool build(layer *l, dg_generator *g)
{
    static dg_model m;
    m = g->model;
    m.net[DG_G].layers = 1;
    m.net[DG_G].layer[0].act = DG_ACT_NONE;
    if (!DG_WORKS(dg_build_forward(&m, DG_G, 1, g->backend, &l->arena, &l->plan)) ||
        !DG_WORKS(dg_arena_alloc(&l->arena, g->backend)) || !DG_WORKS(dg_plan_bind(&l->plan)))
        return false;
    l->in = dg_arena_find(&l->arena, "G.x");
    l->out = dg_arena_find(&l->arena, "G.1.out");
    l->values = dg_count(l->arena.row[l->out].shape);
    copy_weights(l, g);
    return DG_CHECK(l->in >= 0 && l->out >= 0 && l->values <= VALUES);
}

static void run(const layer *l, dg_generator *g, const double z[LATENT], double *out)
{
    memcpy((char *)l->arena.base + l->arena.row[l->in].offset, z, LATENT * sizeof *z);
    DG_WORKS(g->backend->run(g->backend, (dg_plan *)(uintptr_t)&l->plan));
    memcpy(out, (char *)l->arena.base + l->arena.row[l->out].offset, l->values * sizeof *out);
}

static void directions(dg_generator *g)
{
    static double zero[VALUES], change[LATENT][VALUES];
    double v[LATENT][LATENT], some[2][LATENT], before = INFINITY;
    layer l = {0};
    if (!build(&l, g) || !DG_WORKS(dg_directions(g, 1, LATENT, v[0]))) return;
    DG_CHECK(!dg_directions(g, 3, 2, some[0]) && !memcmp(some, v[2], sizeof some));
    run(&l, g, (double[LATENT]){0}, zero);
    for (int i = 0; i < LATENT; i++) {
        run(&l, g, v[i], change[i]);
        for (size_t k = 0; k < l.values; k++) change[i][k] -= zero[k];
    }
    for (int i = 0; i < LATENT; i++) {
        double most = 0, least = 0;
        for (int k = 0; k < LATENT; k++) {
            most = fmax(most, v[i][k]);
            least = fmin(least, v[i][k]);
        }
        DG_CHECK(most >= -least);
        for (int j = 0; j <= i; j++) {
            double product = 0, changes = 0;
            for (int k = 0; k < LATENT; k++) product += v[i][k] * v[j][k];
            for (size_t k = 0; k < l.values; k++) changes += change[i][k] * change[j][k];
            DG_NEAR(product, i == j, 1e-12);
            if (i != j) DG_NEAR(changes, 0, 1e-12 * before);
            else DG_CHECKF(changes > 0 && changes < before, "direction %d: %g after %g", i + 1, changes, before);
            if (i == j) before = changes;
        }
    }
    dg_plan_free(&l.plan);
    dg_arena_free(&l.arena, g->backend);
}

int main(void)
{
    machine x;
    dg_generator *g = NULL;
    temp_make("directions");
    const char *path = temp_path("checkpoint.safetensors");
    if (!machine_up(&x, &tiny, DG_F64, true)) return dg_test_report();
    machine_steps(&x, 0, 2);
    machine_keep(&x, 2, path);
    if (DG_WORKS(dg_generator_open(&cpu, path, &g))) directions(g);
    dg_generator_close(g);
    machine_down(&x);
    temp_remove(temp_dir);
    return dg_test_report();
}

/* `dcgan check [MODEL]`: compares each op of a training step on two backends with equal inputs. Fused launches are
 * compared with the ops that they replace. The reference is the CPU with direct convolutions and DCGAN_ISA=base. */
#include <stdio.h>
#include <stdlib.h>

#include "core/base/rng.h"
#include "host/measure/check.h"
#include "host/measure/trial.h"
#include "host/cli/commands.h"
#include "host/net/recipe.h"
#include "core/plan/fusions.h"
#include "kernels/ops/conv/variants.h"

enum { SAMPLES = 8 };

typedef struct {
    dg_dataset set;
    int32_t *perm;
    int last_batch;
} images;

typedef struct {
    dg_backend *b;
    dg_trial trial;
} side;

static dg_err draw_images(const dg_options *o, const dg_model *m, dg_dataset *set)
{
    set->count = o->batch > 1 ? 2 * o->batch - 1 : 1;
    set->size = m->size;
    set->channels = m->channels;
    const size_t bytes = (size_t)set->count * dg_size_values(m->size, m->channels);
    set->pixels = malloc(bytes);
    if (!set->pixels) return dg_fail(DG_DEVICE, "out of memory for %d images", set->count);
    dg_random_bytes(set->pixels, bytes, o->seed, dg_subsequence(DG_STREAM_SYNTH, 0));
    return DG_OK;
}

static dg_err get_images(const dg_options *o, const dg_model *m, images *p)
{
    dg_dataset_options d = dg_all_images(o, o->data, m->size, m->channels);
    d.least = o->batch;
    d.cache = o->cache;
    dg_err e = o->data ? dg_dataset_load(&d, &p->set) : draw_images(o, m, &p->set);
    if (e) return e;
    const int rest = p->set.count % o->batch;
    p->last_batch = rest ? rest : o->batch - 1;
    p->last_batch -= p->last_batch % dg_shards_of(&o->job);
    p->perm = malloc((size_t)p->set.count * sizeof *p->perm);
    if (!p->perm) return dg_fail(DG_DEVICE, "out of memory for %d images", p->set.count);
    dg_permutation(p->perm, p->set.count, o->seed, 0);
    return DG_OK;
}

static dg_err set_up(side *s, const dg_options *o, const dg_model *m, const images *p, bool apart)
{
    dg_job_options g = dg_options_job(o);
    g.last_batch = p->last_batch;
    g.samples = g.tested = SAMPLES;
    g.rows = p->set.count;
    g.flip = m->input != DG_INPUT_ZCA; /* training with ZCA whitening does not mirror images */
    g.apart = apart;
    g.checked = true;
    const dg_trial_images given = {p->set.pixels, p->set.count, p->perm, p->set.count};
    return dg_trial_build(&s->trial, m, &g, s->b, &given, o->seed);
}

static void take_down(side *s)
{
    if (s->trial.job.backend) dg_trial_close(&s->trial);
    if (s->b) s->b->close(s->b);
}

static dg_err begin_step(side s[2], const dg_options *o, uint64_t step, int cursor)
{
    const dg_step_state state = {.seed = o->seed, .step = step, .cursor = cursor, .lr = {o->lr, o->lr}};
    dg_err e = dg_job_put_state(&s[0].trial.job, &state);
    return e ? e : dg_job_put_state(&s[1].trial.job, &state);
}

static dg_err put_input(dg_job *job, uint64_t seed)
{
    const int inputs = dg_job_inputs(job);
    float *z = malloc((size_t)inputs * sizeof *z);
    double *wide = malloc((size_t)inputs * sizeof *wide);
    dg_err e = z && wide ? DG_OK : dg_fail(DG_DEVICE, "out of memory for comparing");
    for (int i = 0; i < SAMPLES && !e; i++) {
        dg_job_sample(job, z, seed, (uint64_t)i, -1);
        for (int k = 0; k < inputs; k++) wide[k] = (double)z[k];
        e = dg_job_put_input(job, DG_PLAN_SAMPLE, (size_t)i * (size_t)inputs, wide, (size_t)inputs);
    }
    free(z);
    free(wide);
    return e;
}

static dg_err put_test(dg_job *job, const images *p)
{
    const int n = p->set.count < job->o.tested ? p->set.count : job->o.tested;
    uint8_t *records;
    dg_err e = dg_job_records(job, p->set.pixels, NULL, n, &records);
    if (!e) e = dg_job_put_test(job, records, n);
    free(records);
    return e;
}

static dg_err check_penalty(side s[2], const dg_options *o, FILE *to)
{
    dg_job *b = &s[1].trial.job;
    double worst;
    if (b->gradient[DG_PLAN_TRAIN] < 0) return DG_OK;
    dg_err e = begin_step(s, o, 2, 0);
    if (!e) e = dg_job_step(b, o->batch);
    if (!e) e = dg_check_penalty(b, DG_PLAN_TRAIN, &worst);
    if (!e && to) fprintf(to, "gradient penalty: squared norms agree with the tangents of D to %.1e\n", worst);
    return e;
}

static dg_err check(side s[2], const dg_options *o, const images *p, dg_check_result *result)
{
    FILE *to = o->quiet ? NULL : stdout;
    dg_job *a = &s[0].trial.job, *b = &s[1].trial.job;
    dg_err e = begin_step(s, o, 0, 0);
    if (to) printf("step of batch size %d; differences in percent of the rounding tolerance:\n", o->batch);
    if (!e) e = dg_check_plan(a, b, "train", to, result);
    if (!e && p->last_batch) {
        if (to) printf("batch size %d:\n", p->last_batch);
        e = begin_step(s, o, 1, p->set.count - p->last_batch);
        if (!e) e = dg_check_plan(a, b, "train-short", to, result);
    }
    const char *last = a->recipe->sample ? "sample" : "test";
    if (e) return e;
    if (to) printf("%d images of plan %s:\n", a->recipe->labels ? a->o.tested : SAMPLES, last);
    e = a->recipe->sample ? put_input(a, o->seed) : put_test(a, p);
    if (!e) e = dg_check_plan(a, b, last, to, result);
    return e ? e : check_penalty(s, o, to);
}

static dg_err check_fused(side s[3], const dg_options *o, const images *p, dg_check_result *result)
{
    FILE *to = o->quiet ? NULL : stdout;
    if (to)
        printf("fused launches compared with single ops, batch size %d, in percent of the rounding tolerance:\n",
               o->batch);
    dg_err e = begin_step(s + 1, o, 2, 0);
    if (!e) e = dg_check_fused(&s[1].trial.job, &s[2].trial.job, "train", to, result);
    if (!e && p->last_batch) {
        if (to) printf("batch size %d:\n", p->last_batch);
        e = begin_step(s + 1, o, 3, p->set.count - p->last_batch);
        if (!e) e = dg_check_fused(&s[1].trial.job, &s[2].trial.job, "train-short", to, result);
    }
    return e ? e : check_penalty(s + 1, o, to);
}

/* Open the backends s[0] (reference on the CPU), s[1] (--device without fusion), s[2] (--device with fusion). */
static dg_err open_all(side s[3], const dg_options *o)
{
    dg_options plainly = *o;
    plainly.fused = DG_FUSE_NONE;
    dg_err e = dg_open_backend(&plainly, &s[1].b);
    if (!e && o->fused && s[1].b->run_launch) e = dg_open_backend(o, &s[2].b);
    if (e) return e;
    const bool cpu = s[1].b->threads > 0;
    const dg_cpu_options plain = {.threads = o->threads,
                                  .real = s[1].b->real,
                                  .conv = &dg_conv_variant_direct,
                                  .isa = cpu ? "base" : NULL};
    return dg_cpu_open(&plain, &s[0].b);
}

int dg_cmd_check(const dg_options *o)
{
    dg_model *model = malloc(sizeof *model);
    side *s = calloc(3, sizeof *s);
    images p = {.perm = NULL};
    dg_check_result result = {.ops = 0}, fused = {.ops = 0};
    dg_err e = model && s ? dg_model_read(o->model, model) : dg_fail(DG_DEVICE, "out of memory");
    const dg_recipe *recipe;
    if (!e) e = dg_recipe_for(model, &recipe);
    if (!e) e = open_all(s, o);
    if (!e) e = get_images(o, model, &p);
    for (int i = 0; i < 3 && !e; i++)
        if (i < 2 || s[i].b) e = set_up(&s[i], o, model, &p, i < 2);
    if (!e) {
        dg_say("%s: comparing %s with %s, %s", model->name, s[1].b->name, s[0].b->name,
               dg_precision_name(s[1].b->real, s[1].b->math));
        e = check(s, o, &p, &result);
    }
    if (!e)
        printf("%d ops agree; largest difference: %s at %.1f%% of its tolerance\n", result.ops, result.where,
               100 * result.worst);
    if (!e && s[2].b) e = check_fused(s, o, &p, &fused);
    if (!e && fused.ops)
        printf("%d fused launches agree with single ops; largest difference: %s at %.1f%% of its tolerance\n",
               fused.ops, fused.where, 100 * fused.worst);
    for (int i = 0; i < 3 && s; i++) take_down(&s[i]);
    dg_dataset_free(&p.set);
    free(p.perm);
    free(s);
    free(model);
    return (int)e;
}

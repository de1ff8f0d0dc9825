#include "core/group/group.h"
#include "host/net/job.h"

#include <stdlib.h>
#include <string.h>

#include "host/net/build.h"
#include "host/net/penalty.h"
#include "host/net/recipe.h"

static int plans_of(dg_job *job, dg_plan *out[DG_PLANS])
{
    int n = 0;
    for (int i = 0; i < DG_PLANS; i++)
        if (job->plan[i].ops) out[n++] = &job->plan[i];
    return n;
}

enum { TEST_VALUES = 1 << 28 }; /* max values per activation of plan "test"; larger batches are not faster */

static int that_fit(const dg_model *m, int images)
{
    size_t most = 1;
    for (int net = 0; net < m->nets; net++)
        for (int i = 0; i < m->net[net].layers; i++)
            if (dg_count(m->net[net].layer[i].out) > most) most = dg_count(m->net[net].layer[i].out);
    const size_t fit = TEST_VALUES / most;
    return fit >= (size_t)images ? images : fit ? (int)fit : 1;
}

static dg_err with_penalty(dg_job *job)
{
    if (!job->recipe->penalised)
        return dg_fail(DG_USAGE, DG_MSG("penalty-for-gans", "{r1} and {r2}: for GANs only; model %s is a %s"),
                       job->model.name, job->recipe->name);
    if (job->backend->math == DG_MATH_FP16)
        return dg_fail(DG_USAGE,
                       DG_MSG("penalty-fp16",
                              "{precision} fp16: not supported with {r1} and {r2}; use {precision} fp32, or bf16 "
                              "on sm_80 and newer"));
    job->recipe = job->recipe->penalised;
    return DG_OK;
}

dg_err dg_job_build(dg_job *job, const dg_model *model, const dg_job_options *o, dg_backend *b)
{
    memset(job, 0, sizeof *job);
    job->model = *model;
    job->o = *o;
    job->backend = b;
    job->tensor = calloc((size_t)2 * DG_MAX_LAYERS * 5, sizeof *job->tensor);
    if (!job->tensor) return dg_fail(DG_DEVICE, "out of memory while planning");
    memset(job->row, 0xff, sizeof job->row);
    memset(job->input, 0xff, sizeof job->input);
    memset(job->gradient, 0xff, sizeof job->gradient);
    memset(job->squares, 0xff, sizeof job->squares);
    job->values = job->pixels = job->class_labels = -1;
    job->recipe = o->recipe;
    job->o.ranks = dg_group_size(b ? b->group : NULL);
    dg_err e = o->recipe ? DG_OK : dg_recipe_for(model, &job->recipe);
    if (!e) e = job->recipe->check(model, &job->o);
    if (!e && o->class_fade > 0 && !model->classes)
        e = dg_fail(DG_USAGE,
                    DG_MSG("fade-without-classes", "{class-fade}: for conditional GANs only, but model %s has "
                                                   "no classes; add {conditional}, or leave out {class-fade}"),
                    model->name);
    if (!e && dg_is_penalised(o)) e = with_penalty(job);
    if (e) {
        dg_job_free(job);
        return e;
    }
    if (!job->recipe->sample) job->o.samples = 0;
    if (!job->recipe->labels) job->o.tested = 0;
    job->o.tested = that_fit(model, job->o.tested);
    memset(&job->test, 0xff, sizeof job->test);
    e = dg_arena_begin(&job->arena);
    if (e) {
        dg_job_free(job);
        return e;
    }
    job->recipe->build(job);
    for (int i = 0; i < job->arena.rows && o->apart; i++)
        if (job->arena.row[i].kind == DG_WORK) job->arena.row[i].keep = true;
    dg_plan *plan[DG_PLANS];
    e = dg_arena_place(&job->arena, plan, plans_of(job, plan), b);
    if (e) dg_job_free(job);
    return e;
}

dg_err dg_job_alloc(dg_job *job, const uint8_t *data, const int32_t *perm)
{
    dg_backend *b = job->backend;
    void *states = NULL;
    dg_err e = dg_arena_alloc(&job->arena, b);
    if (!e && (dg_is_scheduled(&job->o) || job->o.ema_half_life > 0))
        e = b->alloc_host(b, DG_RING * sizeof *job->states, &states);
    if (e) return e;
    job->states = states;
    /* memcpy removes const; the ops only read data and perm */
    const int images = job->row[DG_ROW_DATA], order = job->row[DG_ROW_PERM];
    if (images >= 0) memcpy(&job->arena.row[images].outside, &data, sizeof data);
    if (order >= 0) memcpy(&job->arena.row[order].outside, &perm, sizeof perm);
    dg_plan *plan[DG_PLANS];
    for (int i = 0, n = plans_of(job, plan); i < n; i++) {
        e = dg_plan_bind(plan[i]);
        if (e) return e;
    }
    return DG_OK;
}

void dg_job_free(dg_job *job)
{
    for (int i = 0; i < DG_PLANS; i++) dg_plan_free(&job->plan[i]);
    if (job->backend) dg_arena_free(&job->arena, job->backend);
    if (job->states) job->backend->release_host(job->backend, job->states);
    free(job->tensor);
    free(job->class_images);
    memset(job, 0, sizeof *job);
}

void *dg_job_memory(const dg_job *job, int row) { return (char *)job->arena.base + job->arena.row[row].offset; }

/* Converts the options of a command to job options: optimizer, learning rates, initial weights, section [train]. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/net/gan.h"
#include "host/options/option_table.h"
#include "host/net/recipe.h"
#include "host/net/shards.h"

double dg_learning_rate(const dg_options *o, char net, uint64_t epoch)
{
    const double own = net == 'G' ? o->lr_g : net == 'D' ? o->lr_d : 0;
    double factor = 1;
    for (int i = 0; i < o->changes; i++)
        if (epoch >= (uint64_t)o->change[i]) factor = o->factor[i];
    return (own > 0 ? own : o->lr) * factor;
}

enum { AUTO_HALF_LIFE = 5120 }; /* of commands other than train: 2% of 4,000 steps of 64 images */

dg_job_options dg_options_job(const dg_options *o)
{
    dg_job_options job = o->job;
    job.batch = o->batch;
    job.train = true;
    job.schedule = o->cosine ? o->schedule_length : 0;
    job.class_fade = o->class_fade > 0 ? o->class_fade : 0;
    job.lr_end = o->lr_end / o->lr;
    if (job.ema_half_life < 0) job.ema_half_life = AUTO_HALF_LIFE;
    return job;
}

/* A test batch size of at least 64 is fast and needs no more memory than a training step. */
dg_job_options dg_options_run(const dg_options *o, int batch, int images, int tests)
{
    const int cells = o->grid_rows * o->grid_cols, test_batch = batch > 64 ? batch : 64;
    dg_job_options g = dg_options_job(o);
    g.run = true;
    g.batch = batch;
    g.rows = images;
    g.last_batch = dg_used_images(images, batch, dg_shards_of(&g), o->drop_last) % batch;
    g.samples = cells < batch ? cells : batch;
    g.tested = tests < test_batch ? tests : test_batch;
    return g;
}

/* Parse a schedule: "cosine", or EPOCH:FACTOR pairs such as "30:0.1,40:0.01". The error message begins with `where`. */
static dg_err parse_schedule(dg_options *o, const char *where)
{
    const char *at = o->schedule && strcmp(o->schedule, "none") ? o->schedule : NULL;
    o->changes = 0;
    o->cosine = at && !strcmp(at, "cosine");
    if (o->cosine) return DG_OK;
    while (at && *at) {
        char *end;
        const long epoch = strtol(at, &end, 10);
        const bool first = end != at && *end == ':' && epoch > (o->changes ? o->change[o->changes - 1] : 0);
        const char *number = first ? end + 1 : at;
        const double factor = strtod(number, &end);
        if (!first || end == number || (*end && *end != ',') || (*end == ',' && !end[1]) || !(factor > 0) ||
            !isfinite(factor) || epoch > 1000000 || o->changes == DG_SCHEDULE_MAX)
            return dg_fail(
                DG_USAGE,
                DG_MSG("bad-schedule",
                       "%s: neither cosine nor up to %d pairs EPOCH:FACTOR with increasing epochs and factors above 0, "
                       "for example 30:0.1,40:0.01"),
                where, DG_SCHEDULE_MAX);
        o->change[o->changes] = (int)epoch;
        o->factor[o->changes++] = factor;
        at = end + (*end == ',');
    }
    return DG_OK;
}

static dg_err parse_augment(dg_options *o, const char *where)
{
    if (dg_augment_parse(o->augment, &o->job.augment)) return DG_OK;
    return dg_fail(
        DG_USAGE,
        DG_MSG("bad-augment",
               "%s: not a list of color, translation and cutout, each at most once, separated by commas, or none"),
        where);
}

static dg_err check_schedule(const dg_options *o)
{
    const struct {
        const char *name;
        double value;
        const char *of;
        double start;
    } end[] = {{"lr-end", o->lr_end, "lr", o->lr},
               {"beta2-end", o->job.beta2_end, "beta2", o->job.beta2},
               {"r1-end", o->job.r1_end, "r1", o->job.r1},
               {"r2-end", o->job.r2_end, "r2", o->job.r2},
               {"schedule-length", o->schedule_length, NULL, 1}};
    char half_life[32];
    dg_option_get(o, dg_option_find("ema-half-life"), half_life, sizeof half_life);
    bool changes = o->job.ema_half_life != 0 || o->job.augment;
    for (size_t i = 0; i < sizeof end / sizeof *end; i++) {
        if (!(end[i].value > 0)) continue;
        if (!o->cosine)
            return dg_fail(DG_USAGE, DG_MSG("end-without-cosine", "--%s %.10g: requires --schedule cosine"),
                           end[i].name, end[i].value);
        if (!(end[i].start > 0))
            return dg_fail(DG_USAGE,
                           DG_MSG("end-without-start", "--%s %g: the schedule has no start value; give --%s as well"),
                           end[i].name, end[i].value, end[i].of);
        changes |= end[i].of != NULL;
    }
    if (o->job.beta2_end > 0 && o->job.optimizer != DG_ADAM)
        return dg_fail(DG_USAGE, DG_MSG("beta2-end-without-adam", "--beta2-end %g: only for --optimizer adam"),
                       o->job.beta2_end);
    if (o->cosine && !changes)
        return dg_fail(DG_USAGE,
                       DG_MSG("cosine-without-end", "--schedule cosine: no value changes; give --lr-end, --beta2-end, "
                                                    "--r1-end, --r2-end, --ema-half-life or --augment"));
    if (o->job.ema > 0 && o->job.ema_half_life != 0)
        return dg_fail(DG_USAGE,
                       DG_MSG("ema-twice", "--ema %g and --ema-half-life %s: two decays of one average; give only one "
                                           "of them, and 0 for the other"),
                       o->job.ema, half_life);
    if (o->job.augment_p < 1 && !o->job.augment)
        return dg_fail(DG_USAGE,
                       DG_MSG("augment-p-alone", "--augment-p %g: requires --augment, for example --augment "
                                                 "color,translation,cutout"),
                       o->job.augment_p);
    return DG_OK;
}

static bool same(const char *a, const char *b) { return !strcmp(a ? a : "", b ? b : ""); }

void dg_options_drop(dg_options *o, const dg_options *before)
{
    if (!same(o->schedule, before->schedule)) {
        if (o->lr_end == before->lr_end) o->lr_end = 0;
        if (o->job.beta2_end == before->job.beta2_end) o->job.beta2_end = 0;
        if (o->job.r1_end == before->job.r1_end) o->job.r1_end = 0;
        if (o->job.r2_end == before->job.r2_end) o->job.r2_end = 0;
        if (o->schedule_length == before->schedule_length) o->schedule_length = 0;
    }
    if (!same(o->augment, before->augment) && o->job.augment_p == before->job.augment_p) o->job.augment_p = 1;
    if (o->job.optimizer == before->job.optimizer) return;
    if (o->job.momentum == before->job.momentum) o->job.momentum = 0;
    if (o->job.decay == before->job.decay) o->job.decay = 0;
    if (o->job.nesterov == before->job.nesterov) o->job.nesterov = false;
    if (o->job.beta2_end == before->job.beta2_end) o->job.beta2_end = 0;
}

dg_err dg_options_training(dg_options *o)
{
    const char *name = dg_optimizers[o->job.optimizer].name;
    if (o->job.decay > 0 && o->job.optimizer == DG_ADAM)
        return dg_fail(DG_USAGE,
                       DG_MSG("decay-with-adam",
                              "--decay %g: not supported by adam; give --optimizer sgd, adagrad or adadelta"),
                       o->job.decay);
    if (o->job.momentum > 0 && o->job.optimizer != DG_SGD)
        return dg_fail(DG_USAGE, "--momentum %g: only for --optimizer sgd (the optimizer is %s)", o->job.momentum,
                       name);
    if (o->job.nesterov && !(o->job.momentum > 0))
        return dg_fail(DG_USAGE, "--nesterov: requires a momentum; give --optimizer sgd --momentum 0.9");
    char where[512];
    snprintf(where, sizeof where, "--schedule %.480s", o->schedule ? o->schedule : "");
    dg_err e = parse_schedule(o, where);
    if (!e) e = dg_options_augment(o);
    return e ? e : check_schedule(o);
}

dg_err dg_options_augment(dg_options *o)
{
    char where[512];
    snprintf(where, sizeof where, "--augment %.480s", o->augment ? o->augment : "");
    return parse_augment(o, where);
}

/* Keys of [train] have underscores, option names have dashes. */
static void swap(char *text, char from, char to)
{
    for (; *text; text++)
        if (*text == from) *text = to;
}

static const dg_option *option_of(const char *key)
{
    char name[sizeof((dg_model_value *)0)->key];
    snprintf(name, sizeof name, "%s", key);
    swap(name, '_', '-');
    const dg_option *t = strchr(key, '-') ? NULL : dg_option_find(name);
    return t && t->flags & DG_OPT_MODEL ? t : NULL;
}

static dg_err set_one(dg_options *o, const dg_model *m, const dg_model_value *v)
{
    char where[512];
    const dg_option *t = option_of(v->key);
    if (t) {
        snprintf(where, sizeof where, "%s:%d: [train] %s = %s", m->where, v->line, v->key, v->value);
        const dg_err e = dg_option_give(o, t, v->value, where);
        if (!e && !o->batch)
            return dg_fail(DG_USAGE, DG_MSG("auto-in-file", "%s: not a number; only the command line accepts auto"),
                           where);
        if (!e && !strcmp(t->name, "augment")) return parse_augment(o, where);
        return e || strcmp(t->name, "schedule") ? e : parse_schedule(o, where);
    }
    char all[512] = "";
    size_t n = 0;
    for (t = dg_option_table; t->name; t++)
        if (t->flags & DG_OPT_MODEL) n += (size_t)snprintf(all + n, sizeof all - n, "%s%s", n ? ", " : "", t->name);
    swap(all, '-', '_');
    return dg_fail(DG_USAGE, DG_MSG("train-key", "%s:%d: [train] %s: unknown key; allowed: %s"), m->where, v->line,
                   v->key, all);
}

static dg_err take_model(dg_options *o, const dg_model *m)
{
    const dg_recipe *r = dg_recipe_find(m);
    dg_err e = DG_OK;
    if (o->preset > DG_PRESET_NONE && r && r->preset)
        return dg_fail(DG_USAGE, DG_MSG("preset-for-gans", "--preset: is for GANs; model %s is a classifier"), m->name);
    o->model_says = m->trains > 0 || (r && r->preset);
    for (const char *const(*k)[2] = r ? r->preset : NULL; k && (*k)[0] && !e; k++)
        e = dg_option_set(o, dg_option_find((*k)[0]), (*k)[1], m->name);
    for (int i = 0; i < m->trains && !e; i++) e = set_one(o, m, &m->train[i]);
    return e;
}

dg_err dg_options_model(dg_options *o, const dg_options *user, const char *name)
{
    dg_model *m = malloc(sizeof *m);
    if (!m) return dg_fail(DG_DEVICE, "out of memory");
    dg_err e = dg_model_read(name, m);
    if (!e) o->preset = dg_options_choose_preset(user, m);
    o->replace_norm = !e && dg_options_replaces_norm(o->preset, name, m);
    if (!e && user->preset == DG_PRESET_AUTO) e = dg_options_take_preset(o, o->preset);
    if (!e) e = take_model(o, m);
    else if (access(name, R_OK)) e = DG_OK; /* the command reports a model that is not there */
    free(m);
    return e;
}

dg_err dg_options_model_job(const dg_model *m, dg_job_options *out)
{
    dg_options o = {.command = DG_CMD_TRAIN};
    dg_err e = dg_options_presets(&o);
    if (!e) e = take_model(&o, m);
    if (!e) e = dg_options_training(&o);
    *out = dg_options_job(&o);
    dg_options_free(&o);
    return e;
}

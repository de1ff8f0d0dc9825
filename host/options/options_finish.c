/* Checks the values of a command's options, and sets values that follow from other options. */
#include "core/plan/fusions.h"
#include "host/options/option_table.h"
#include "host/infer/latents.h"
#include "host/infer/open.h"
#include "core/base/plural.h"
#include "core/base/shell.h"

#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static dg_err check_device(const char *name)
{
    if (dg_device_known(name)) return DG_OK;
    return dg_fail(DG_USAGE, DG_MSG("bad-device", "--device %s: unknown; allowed: auto, cpu, cuda or cuda:N"), name);
}

static dg_err parse_fuse(dg_options *o)
{
    char names[200] = "";
    if (!o->fuse || dg_fuse_parse(o->fuse, &o->fused)) return DG_OK;
    for (int i = 0; dg_fusion_name(i); i++) {
        const size_t n = strlen(names);
        snprintf(names + n, sizeof names - n, ", %s", dg_fusion_name(i));
    }
    return dg_fail(DG_USAGE,
                   DG_MSG("bad-fuse", "--fuse %s: unknown name; allowed: all, none%s, separated by commas, or -NAME "
                                      "for all except NAME; convs replaces input, norm, stats, act, grad and head of "
                                      "older versions (--fuse all overrides an older config.ini)"),
                   o->fuse, names);
}

static dg_err parse_checkpoints(dg_options *o)
{
    const size_t digits = strspn(o->checkpoints, "0123456789");
    o->checkpoint_auto = strcmp(o->checkpoints, "auto") == 0;
    o->checkpoint_every = o->checkpoint_auto ? 1 : digits < 8 ? (int)strtol(o->checkpoints, NULL, 10) : INT_MAX;
    if (o->checkpoint_auto || (digits > 0 && !o->checkpoints[digits] && o->checkpoint_every <= 1000000)) return DG_OK;
    return dg_fail(DG_USAGE,
                   "--checkpoint-every %s: not a number of epochs from 0 to 1000000, or auto; to resume from a "
                   "checkpoint, use --resume FILE",
                   o->checkpoints);
}

/* Refuse hyperparameters that would be rounded to 0, and decay rates that would be rounded to 1. */
static dg_err check_vanishing(const dg_options *o)
{
    static const char *const name[] = {"lr",       "lr-d", "lr-g",   "eps",         "beta1",     "beta2",
                                       "momentum", "rho",  "decay",  "accumulator", "smoothing", "ema",
                                       "r1",       "r2",   "r1-end", "r2-end",      "lr-end",    "beta2-end"};
    const bool wide = o->precision == DG_PRECISION_FP64;
    const char *type = wide ? "fp64" : "fp32", *more = wide ? "" : "; --precision fp64 has a larger range";
    const double smallest = wide ? 2.3e-308 : 1.2e-38; /* smallest normal numbers of fp64 and fp32, rounded up */
    for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
        const dg_option *t = dg_option_find(name[i]);
        const double v = *(const double *)(const void *)((const char *)o + t->offset);
        if (v != 0 && v < smallest)
            return dg_fail(DG_USAGE, DG_MSG("zero-in-fp32", "--%s %g: would be 0 in %s; the smallest value is %g%s"),
                           t->name, v, type, smallest, more);
        if (!wide && t->flags & DG_OPT_BELOW_MAX && (double)(float)v >= 1)
            return dg_fail(DG_USAGE,
                           DG_MSG("one-in-fp32", "--%s %.10g: would be 1 in fp32; the largest value is %.8g%s"),
                           t->name, v, 1 - (double)FLT_EPSILON / 2, more);
    }
    return DG_OK;
}

/* Without --inception, the options of its computation would have no effect. */
static dg_err check_inception(const dg_options *o)
{
    static const char *const name[] = {"inception-resize", "inception-count", "moments"};
    for (size_t i = 0; i < sizeof name / sizeof *name && !o->inception; i++)
        if (dg_option_given(o, name[i]))
            return dg_fail(DG_USAGE,
                           DG_MSG("needs-inception", "--%s: needs --inception FILE (weights for FID and KID)"),
                           name[i]);
    if (o->inception && o->command == DG_CMD_TRAIN && !o->eval_every)
        return dg_fail(DG_USAGE, DG_MSG("inception-needs-eval", "--inception: needs --eval-every N, because only "
                                                                "evaluations compute FID and KID"));
    return DG_OK;
}

static dg_err finish_train(dg_options *o)
{
    enum { BLOCKS = 2 }; /* index of the choice of --preview; sixel and kitty follow */
    dg_err wrong = parse_checkpoints(o);
    if (!wrong) wrong = check_vanishing(o);
    if (!wrong) wrong = check_inception(o);
    if (!wrong) wrong = dg_options_training(o);
    if (wrong) return wrong;
    if (!o->data)
        return dg_fail(DG_USAGE,
                       DG_MSG("no-images-given", "missing --data DIR (the dataset): %s --data DIR; see: %s --help"),
                       dg_program(), dg_program());
    if (!o->batch && o->dry_run)
        return dg_fail(DG_USAGE,
                       DG_MSG("auto-batch-dry-run", "--dry-run: cannot be combined with --batch auto; give a number, "
                                                    "for example the one that %s batch chooses"),
                       dg_program());
    if (!o->min_batch) o->min_batch = 8;
    if (o->preview > BLOCKS)
        dg_warn(DG_MSG("preview-in-blocks", "--preview: sixel and kitty are no longer supported, blocks are drawn"));
    if (o->init) wrong = dg_options_settle_run(&o->init, false);
    if (wrong || o->out) return wrong;
    return dg_options_new_run(o);
}

static dg_err finish_eval(dg_options *o)
{
    if (!o->data)
        return dg_fail(DG_USAGE,
                       DG_MSG("no-real-images",
                              "eval: missing --data DIR (the real images to compare with): %s eval %s --data DIR"),
                       dg_program(), o->operand[0]);
    dg_err e = check_inception(o);
    if (!e) e = dg_options_settle_run(&o->operand[0], true);
    return e || !o->classifier ? e : dg_options_settle_run(&o->classifier, false);
}

/* Returns DG_USAGE if two of the options `names` (NULL-terminated) are given. */
static dg_err only_one(const dg_options *o, const char *const *names)
{
    const char *first = NULL;
    for (; *names; names++) {
        if (!dg_option_given(o, *names)) continue;
        if (first)
            return dg_fail(DG_USAGE, DG_MSG("latents-twice", "--%s cannot be combined with --%s; give one of them"),
                           first, *names);
        first = *names;
    }
    return DG_OK;
}

static dg_err finish_raw(const dg_options *o)
{
    if (dg_option_given(o, "raw-format") && !o->raw)
        return dg_fail(DG_USAGE, DG_MSG("raw-format-alone", "--raw-format: has no effect without --raw"));
    return only_one(o, (const char *const[]){"raw", "out", NULL});
}

static dg_err finish_generate(dg_options *o)
{
    dg_z_sum sum;
    dg_err e = finish_raw(o);
    if (!e) e = only_one(o, (const char *const[]){"read-z", "z", "seeds", NULL});
    if (!e) e = only_one(o, (const char *const[]){"read-z", "z", "count", NULL});
    if (!e && o->z) e = dg_context(dg_z_parse(o->z, &sum), "--z %s", o->z);
    if (e) return e;
    if (dg_option_given(o, "seeds")) {
        uint64_t n = o->seed_last - o->seed_first + 1;
        if (n > 1000000) return dg_fail(DG_USAGE, "--seeds: too many images; at most 1000000");
        if (o->count && (uint64_t)o->count != n)
            return dg_fail(DG_USAGE,
                           DG_MSG("count-and-seeds",
                                  "--count %d and --seeds of %d image%s contradict each other; give one of them"),
                           o->count, (int)n, dg_s((int)n));
        o->count = (int)n;
    } else {
        if (!o->count) o->count = 16;
        o->seed_last = (uint64_t)o->count - 1;
    }
    return DG_OK;
}

static dg_err finish_interpolate(dg_options *o)
{
    dg_err e = finish_raw(o);
    if (!e) e = only_one(o, (const char *const[]){"read-z", "seeds", NULL});
    if (e) return e;
    if (o->walks > 1 && (o->read_z || o->direction_first))
        return only_one(o, (const char *const[]){o->read_z ? "read-z" : "direction", "walks", NULL});
    if (!dg_option_given(o, "seeds")) {
        o->seed_first = 1;
        o->seed_last = o->direction_first ? 1 : 5;
    }
    uint64_t n = o->seed_last - o->seed_first + 1;
    if (n < 2 && !o->direction_first && !o->class_names)
        return dg_fail(DG_USAGE, "--seeds: an interpolation needs at least two, for example 1-5");
    if (n > 1000) return dg_fail(DG_USAGE, "--seeds: too many for an interpolation; at most 1000");
    return DG_OK;
}

static dg_err finish_find(const dg_options *o)
{
    if (o->steps > 1000000)
        return dg_fail(DG_USAGE, "--steps %ld: too many for the command find; at most 1000000", o->steps);
    return DG_OK;
}

static dg_err finish_data(dg_options *o)
{
    if (o->channels == 2)
        return dg_fail(DG_USAGE, "--channels 2: allowed: 4 (with alpha), 3 (colour), 1 (grey), 0 (as the model)");
    char size[DG_SIZE_TEXT];
    if (o->size.W && dg_shorter_side(o->size) < 8)
        return dg_fail(DG_USAGE, "--size %s: allowed: 8 to 1024 per side, or 0", dg_size_text(o->size, size));
    if (!o->data)
        return dg_fail(DG_USAGE, "data: missing DIR: %s data DIR, or %s data --synthesize DIR --count 1000",
                       dg_program(), dg_program());
    if (!o->count) o->count = 1000;
    dg_err e = only_one(o, (const char *const[]){"synthesize", "write", NULL});
    if (!e) e = dg_options_augment(o);
    if (e || !o->aug_preview || (o->job.augment && !o->synthesize)) return e;
    return dg_fail(DG_USAGE,
                   DG_MSG("preview-without-augment",
                          "--aug-preview %s: requires --augment and a dataset to read, for example "
                          "--augment color,translation,cutout"),
                   o->aug_preview);
}

/* Default of --tol: largest relative difference from PyTorch in fp64 after tens of steps. In bf16 and fp16, rounding
 * moves values across the kink of ReLU, which changes small gradients strongly. */
static const double replay_tolerance[DG_PRECISIONS] = {
    [DG_PRECISION_FP32] = 1e-3, [DG_PRECISION_FP64] = 1e-9, [DG_PRECISION_BF16] = 1, [DG_PRECISION_FP16] = 0.5};

enum { LARGEST_SWEEP = 256 };

static int take_size(const char **text)
{
    int n = 0;
    for (; **text >= '0' && **text <= '9' && n <= DG_LARGEST_BATCH; ++*text) n = 10 * n + (**text - '0');
    return n <= DG_LARGEST_BATCH ? n : 0;
}

/* Parse the value of --sweep, A-B or A-B:STEP. */
static bool take_sweep(dg_options *o, const char *text)
{
    o->min_batch = take_size(&text);
    if (!o->min_batch || *text++ != '-') return false;
    o->max_batch = take_size(&text);
    if (*text == ':' && (++text, o->sweep_step = take_size(&text)) == 0) return false;
    const int step = o->sweep_step ? o->sweep_step : DG_LARGEST_BATCH;
    return !*text && o->min_batch <= o->max_batch && (o->max_batch - o->min_batch) / step < LARGEST_SWEEP;
}

static dg_err finish_batch(dg_options *o)
{
    char quoted[DG_SHELL_ROOM];
    if (!o->data)
        return dg_fail(DG_USAGE,
                       DG_MSG("batch-without-data", "batch: missing --data DIR (the dataset): %s batch %s --data DIR"),
                       dg_program(), dg_shell_path(quoted, sizeof quoted, o->model));
    if (o->sweep && o->rule) return dg_fail(DG_USAGE, "--rule: cannot be combined with --sweep");
    if (o->sweep && !take_sweep(o, o->sweep))
        return dg_fail(DG_USAGE,
                       DG_MSG("bad-sweep", "--sweep %s: not of the form A-B or A-B:STEP with up to 256 sizes from 1 to "
                                           "65536; for example 10-500:10"),
                       o->sweep);
    if (!o->min_batch) o->min_batch = o->rule ? 32 : 8;
    if (o->max_batch < o->min_batch)
        return dg_fail(DG_USAGE, DG_MSG("max-below-min", "--max-batch %d: less than --min-batch %d"), o->max_batch,
                       o->min_batch);
    return DG_OK;
}

static dg_err finish_tune(const dg_options *o)
{
    if (o->merge && o->operands < 2)
        return dg_fail(DG_USAGE,
                       DG_MSG("merge-without-files",
                              "--merge: needs at least two tuning files: %s tune --merge A B --out C"),
                       dg_program());
    if (!o->merge && o->operands > 1)
        return dg_fail(
            DG_USAGE,
            DG_MSG("one-model",
                   "tune: unexpected operand '%s' after the model; to merge tuning files, use %s tune --merge"),
            o->operand[1], dg_program());
    return DG_OK;
}

const dg_precision *dg_options_precision(const dg_options *o, bool *else_fp32)
{
    *else_fp32 = o->precision == DG_PRECISION_AUTO;
    return &dg_precisions[*else_fp32 ? DG_PRECISION_BF16 : o->precision];
}

/* check and replay default to fp32, because the operands of their reference results are not rounded. */
static void finish_precision(dg_options *o)
{
    if (o->precision != DG_PRECISION_AUTO) return;
    if (o->command == DG_CMD_CHECK || o->command == DG_CMD_REPLAY) o->precision = DG_PRECISION_FP32;
}

static dg_err check_out(const dg_options *o)
{
    if (o->out) return DG_OK;
    return dg_fail(DG_USAGE, "missing --out FILE: %s %s FILE --out FILE", dg_program(), dg_commands[o->command].name);
}

/* Keep the format that the user chose, and set o->out to its file. */
static dg_err finish_export(dg_options *o)
{
    struct {
        const char *name;
        char **file;
    } format[] = {{"onnx", &o->onnx}, {"html", &o->html}, {"c", &o->c}};
    const char *chosen = NULL;
    for (size_t i = 0; i < sizeof format / sizeof *format; i++) {
        char **const file = format[i].file;
        const char *name = format[i].name;
        if (*file && !strcmp(*file, "no")) free(*file), *file = NULL;
        if (!*file) continue;
        if (chosen)
            return dg_fail(DG_USAGE, DG_MSG("two-formats", "--%s cannot be combined with --%s; give one of them"),
                           chosen, name);
        chosen = name;
        if (!strcmp(*file, "yes")) continue;
        if (o->out)
            return dg_fail(DG_USAGE,
                           DG_MSG("two-outputs", "--%s %s and '%s': both name the output; leave out one of them"), name,
                           *file, o->out);
        const dg_err e = dg_path_set(&o->out, *file);
        if (e) return e;
    }
    const bool generator = o->html || o->c;
    if (o->network && generator && strcmp(o->network, "G") != 0)
        return dg_fail(DG_USAGE, DG_MSG("only-generator", "--%s exports the generator; leave out --network %s"), chosen,
                       o->network);
    if (o->weights && !generator)
        return dg_fail(DG_USAGE, DG_MSG("weights-of-generator", "--weights: only for files of --html and --c"));
    return check_out(o);
}

dg_err dg_options_finish(dg_options *o)
{
    dg_err e = DG_OK;
    finish_precision(o);
    char **first = o->command == DG_CMD_DATA                                                               ? &o->data
                   : o->command == DG_CMD_PLAN || o->command == DG_CMD_CHECK || o->command == DG_CMD_BENCH ? &o->model
                   : o->command == DG_CMD_BATCH                                                            ? &o->model
                   : o->command == DG_CMD_PROFILE || (o->command == DG_CMD_TUNE && !o->merge)              ? &o->model
                                                                                                           : NULL;
    if (o->operands && first) e = dg_path_set(first, o->operand[0]);
    if (!e && o->operands > 1 && o->command != DG_CMD_BENCH && o->command != DG_CMD_REPORT &&
        o->command != DG_CMD_TUNE && o->command != DG_CMD_CLASSIFY && o->command != DG_CMD_FIND) {
        if (o->out)
            return dg_fail(DG_USAGE, "'%s' and --out %s: both name the output; leave out one of them", o->operand[1],
                           o->out);
        e = dg_path_set(&o->out, o->operand[1]);
    }
    const bool takes_run = o->command == DG_CMD_GENERATE || o->command == DG_CMD_INTERPOLATE ||
                           o->command == DG_CMD_FIND || o->command == DG_CMD_EXPORT || o->command == DG_CMD_CLASSIFY;
    if (!e && takes_run) e = dg_options_settle_run(&o->operand[0], false);
    if (!e && !o->batch && o->command != DG_CMD_TRAIN)
        e = dg_fail(DG_USAGE,
                    DG_MSG("auto-batch-command", "--batch auto: works only with the command train; give a number, for "
                                                 "example the one that %s batch chooses"),
                    dg_program());
    if (!e) e = check_device(o->device);
    if (!e) e = parse_fuse(o);
    if (e) return e;
    switch (o->command) {
    case DG_CMD_TRAIN: return finish_train(o);
    case DG_CMD_GENERATE: return finish_generate(o);
    case DG_CMD_INTERPOLATE: return finish_interpolate(o);
    case DG_CMD_FIND: return finish_find(o);
    case DG_CMD_EVAL: return finish_eval(o);
    case DG_CMD_DATA: return finish_data(o);
    case DG_CMD_TUNE: return finish_tune(o);
    case DG_CMD_BATCH: return finish_batch(o);
    case DG_CMD_REPLAY:
        if (o->tol <= 0) o->tol = replay_tolerance[o->precision];
        return DG_OK;
    case DG_CMD_EXPORT: return finish_export(o);
    case DG_CMD_IMPORT: return check_out(o);
    case DG_CMD_REPORT:
        if (!o->out && o->operands > 1)
            return dg_fail(DG_USAGE,
                           DG_MSG("report-without-out", "missing --out FILE: %s report RUN... --out FILE.html"),
                           dg_program());
        if (o->gif && o->operands > 1)
            return dg_fail(DG_USAGE, DG_MSG("gif-of-one-run", "--gif %s: more than one run (%d); give one"), o->gif,
                           o->operands);
        return DG_OK;
    case DG_CMD_PROFILE:
        if (o->in_graph && (o->predict || o->no_graph))
            return dg_fail(DG_USAGE, DG_MSG("in-graph-with", "--in-graph: measures CUDA graphs; omit %s"),
                           o->predict ? "--predict" : "--no-graph");
        return DG_OK;
    case DG_CMD_PLAN:
    case DG_CMD_CHECK:
    case DG_CMD_BENCH:
    case DG_CMD_INFO:
    case DG_CMD_CLASSIFY:
    case DG_CMD_DOCTOR:
    case DG_CMD_VERIFY:
    case DG_CMDS: break;
    }
    return DG_OK;
}

/* Tests `dcgan tune` on the simulated GPU with given times. The tuner selects the fastest variant whose results agree
 * with variant direct, if this variant is clearly faster than the present one. A refused launch excludes one variant.
 * A lost GPU excludes all later variants. The backend uses the written tuning file. The last test runs the command. */
#include "tests/all_ops.h"
#include "tests/devtest.h"
#include "kernels/dev/cuda.cuh"
extern "C" {
#include "core/tune/machine.h"
#include "tests/command_line.h"
#include "tests/tempdir.h"
#include "host/cli/commands.h"
#include "host/run/stop.h"
#include "core/tune/tune.h"
#include "core/tune/tune_file.h"
#include "host/measure/tuner.h"
}

#include <unistd.h>
#include <string>
#include <vector>

static dg_model model;
static const int BATCH = 2;

/* ---- A backend with a fault and its own clock ---- */

static dg_err (*right_run_op)(dg_backend *, const dg_op *, double *);
static dg_err (*right_sync)(dg_backend *);
static enum { WELL, REFUSED, LOST } trouble;
static bool lost;
static dg_math math;
static long timed;

static bool is_conv(const dg_op *op)
{
    return op->kind == DG_OP_conv_fwd || op->kind == DG_OP_conv_dx || op->kind == DG_OP_conv_dw;
}

/* True for the variant that is fast, but slightly wrong in its last result. */
static bool is_faulty(const dg_op *op)
{
    return trouble == WELL && is_conv(op) && op->tune.variant == &dg_conv_variant_tiled && op->tune.tile_m == 32;
}

/* True for the variant that the tuner must select. */
static bool is_good(const dg_op *op)
{
    return is_conv(op) && op->tune.variant == &dg_conv_variant_tiled && op->tune.tile_m == 64 &&
           op->tune.tile_n == 64 && op->tune.stages == 4;
}

static dg_err our_run_op(dg_backend *b, const dg_op *op, double *ms)
{
    const dg_err e = right_run_op(b, op, ms);
    if (e || !is_faulty(op)) return e;
    const dg_conv_args *a = &op->u.conv;
    char *out = (char *)(op->kind == DG_OP_conv_fwd ? a->y : op->kind == DG_OP_conv_dx ? a->x : a->w);
    const size_t n = op->kind == DG_OP_conv_fwd  ? (size_t)a->N * a->Ho * a->Wo * a->Co
                     : op->kind == DG_OP_conv_dx ? (size_t)a->N * a->H * a->W * a->Ci
                                                 : (size_t)a->Co * a->K * a->K * a->Ci;
    float last;
    dg_err f = b->get(b, &last, out + 4 * (n - 1), 4);
    last += 0.01f;
    return f ? f : b->put(b, out + 4 * (n - 1), &last, 4);
}

static dg_err our_time_op(dg_backend *b, const dg_op *op, int n, double *ms)
{
    (void)b;
    timed++;
    if (trouble != WELL && is_conv(op) && op->tune.variant == &dg_conv_variant_direct && op->tune.block == 512) {
        lost = trouble == LOST;
        return dg_fail(DG_DEVICE, "too many resources");
    }
    /* 9.9 us are not clearly faster than 10 us */
    const double each = op->tune.variant == &dg_conv_variant_mma ? 0.5
                        : is_faulty(op)                          ? 1
                        : is_good(op)                            ? 2
                        : op->tune.block == 64                   ? 9.9
                                                                 : 10;
    for (int i = 0; i < n; i++) ms[i] = each + 0.01 * i;
    return DG_OK;
}

static dg_err our_sync(dg_backend *b) { return lost ? dg_fail(DG_DEVICE, "the device is lost") : right_sync(b); }

static dg_backend *open_ours()
{
    dg_backend *b;
    dg_cuda_options o = {};
    o.math = math;
    if (dg_cuda_open(&o, &b)) {
        fprintf(stderr, "%s\n", dg_message());
        exit(1);
    }
    right_run_op = b->run_op;
    right_sync = b->sync;
    b->run_op = our_run_op;
    b->time_op = our_time_op;
    b->sync = our_sync;
    return b;
}

/* ---- The search ---- */

static std::vector<dg_tuned> all;
static volatile sig_atomic_t stop;
static bool first_alone; /* found() stops after the first op with a wrong variant */
static long shown;

static dg_err found(void *context, const dg_tuned *t)
{
    DG_CHECK(context == &all);
    all.push_back(*t);
    if (first_alone && t->wrong) stop = 1;
    if (t->best.variant == &dg_conv_variant_mma) stop = 1;
    return DG_OK;
}

static void show(void *context, const dg_op *op, int done, int ops, int at, int choices)
{
    DG_CHECK(context == &all && *op->name && done >= 0 && done < ops && at >= 0 && at < choices);
    shown++;
}

static dg_err run(dg_tuner_result *result)
{
    dg_backend *b = open_ours();
    dg_trial t;
    dg_tuner_options o = {};
    o.repeats = 5, o.stop = &stop, o.progress = show, o.found = found, o.context = &all;
    all.clear();
    stop = 0, lost = false, shown = 0, timed = 0;
    dg_err e = dg_trial_open(&t, &model, BATCH, b);
    if (!e) e = dg_tuner_run(&t, &o, result);
    const std::string why = dg_message();
    dg_trial_close(&t);
    b->close(b);
    if (e) dg_set_message("%s", why.c_str());
    return e;
}

static bool same(const dg_tune *a, const dg_tune *b)
{
    return a->variant == b->variant && a->block == b->block && a->tile_m == b->tile_m && a->tile_n == b->tile_n &&
           a->stages == b->stages && (a->split > 1 ? a->split : 1) == (b->split > 1 ? b->split : 1);
}

static void the_fastest_right_one()
{
    dg_tuner_result r;
    if (!DG_CHECKF(run(&r) == DG_OK, "%s", dg_message())) return;
    DG_CHECKF(r.done == (int)all.size() && (r.done == r.ops || first_alone) && shown > 0 && r.wrong > 0, "%d of %d",
              r.done, r.ops);
    int good = 0, kept = 0;
    for (const dg_tuned &t : all) {
        char text[256];
        dg_op op = t.op;
        op.tune = t.best;
        dg_tune_text(text, sizeof text, &op, &op.tune);
        DG_CHECKF(!is_faulty(&op), "%s: %s is wrong", op.name, text);
        if (is_good(&op)) {
            good++;
            DG_CHECKF(t.wrong > 0 && strstr(t.first_wrong, "tile=32x32") && strstr(t.first_wrong, op.name),
                      "%s: %d wrong: %s", text, t.wrong, t.first_wrong);
            DG_NEAR(t.us, 2020, 1);
        } else if (same(&t.best, &t.before)) {
            kept++;
            DG_CHECKF(t.us == t.before_us && !t.wrong, "%s: %g us, %g before, %d wrong", text, t.us, t.before_us,
                      t.wrong);
        } else DG_CHECKF(is_conv(&op) && t.wrong, "%s: changed for nothing", text); /* the previous variant was wrong */
        DG_CHECK(t.tried > 0 && t.direct_us > 0);
    }
    DG_CHECKF((good >= 6 && kept >= 10) || (first_alone && good == 1), "%d good, %d as before", good, kept);
}

static void the_file_is_followed()
{
    const std::string path = std::string(temp_dir) + "/found.tune";
    dg_tune_file f = {};
    DG_CHECK(!dg_tune_file_head(&f, "a test"));
    for (const dg_tuned &t : all) {
        char text[192];
        DG_CHECK(!dg_tune_file_row(&f, "sm_90 fp32", dg_tune_text(text, sizeof text, &t.op, &t.best)));
    }
    DG_CHECKF(!dg_tune_file_write(&f, path.c_str()), "%s", dg_message());
    dg_tune_file_free(&f);
    dg_backend *b;
    dg_cuda_options o = {};
    o.tuning = path.c_str();
    if (!DG_CHECKF(!dg_cuda_open(&o, &b), "%s", dg_message())) return;
    dg_trial t;
    if (DG_CHECKF(!dg_trial_open(&t, &model, BATCH, b), "%s", dg_message()))
        for (const dg_tuned &want : all)
            for (int i = 0; i < t.job.plan[DG_PLAN_TRAIN].ops; i++) {
                const dg_op *op = &t.job.plan[DG_PLAN_TRAIN].op[i];
                if (strcmp(op->name, want.op.name)) continue;
                DG_CHECKF(same(&op->tune, &want.best) && strstr(op->tune.why, "found.tune:"), "%s runs %s because %s",
                          op->name, op->tune.variant->name, op->tune.why);
            }
    double ms;
    DG_CHECKF(!dg_trial_steps(&t, 1, &ms), "%s", dg_message());
    dg_trial_close(&t);
    b->close(b);
}

static void faults_of_the_device()
{
    dg_tuner_result r;
    trouble = REFUSED;
    first_alone = true;
    DG_CHECKF(run(&r) == DG_OK && r.wrong == 1 &&
                  strstr(all.back().first_wrong, "direct block=512: too many resources"),
              "%d wrong: %s", r.wrong, dg_message());
    DG_CHECK(all.back().tried > 2);
    trouble = LOST;
    DG_CHECK(run(&r) == DG_DEVICE);
    DG_CHECKF(strstr(dg_message(), " as 'conv_") && strstr(dg_message(), ": direct block=512") &&
                  strstr(dg_message(), "the device is lost"),
              "%s", dg_message());
    trouble = WELL;
}

/* Checks that the tuner accepts variants that round operands as --precision permits. */
static void tensor_cores()
{
    dg_tuner_result r;
    math = DG_MATH_BF16;
    first_alone = false;
    DG_CHECKF(run(&r) == DG_OK && !all.empty() && all.back().best.variant == &dg_conv_variant_mma && !all.back().wrong,
              "%s", dg_message());
    math = DG_MATH_FP32;
}

/* ---- The command ---- */

static int dcgan(const std::string &words)
{
    dg_options o;
    int code = (int)parse_line(words.c_str(), &o);
    if (!code) code = dg_cmd_tune(&o);
    dg_options_free(&o);
    return code;
}

static std::string slurp(const std::string &path)
{
    std::string text;
    FILE *f = fopen(path.c_str(), "rb");
    char piece[4096];
    for (size_t n; f && (n = fread(piece, 1, sizeof piece, f)) > 0;) text.append(piece, n);
    if (f) fclose(f);
    return text;
}

static void the_command(const char *model_text)
{
    const std::string at = temp_dir, out = at + "/a.tune", cfg = at + "/tiny.cfg";
    FILE *f = fopen(cfg.c_str(), "w");
    if (!f || fputs(model_text, f) < 0 || fclose(f)) exit(1);
    const std::string call = "tune " + cfg + " --device cuda --batch 2 --repeats 1 -q --precision fp32 ";
    DG_CHECKF(dcgan(call + "--seconds 0.3 --out " + out) == 0, "%s", dg_message());
    const std::string text = slurp(out);
    DG_CHECKF(text.find(" us (") != std::string::npos && text.find(" before, direct ") != std::string::npos, "%s",
              text.c_str());
    DG_CHECKF(text.find("; dcgan tune: Simulated GPU 0, sm_90, driver CUDA 13.0, 20") == 0 &&
                  text.find("; tiny, batch 2, fp32; medians of 1 runs") != std::string::npos &&
                  text.find("[sm_90 fp32]\n") != std::string::npos,
              "%s", text.c_str());
    const dg_gpu gpu = {90, 227 << 10, DG_MATH_FP32, true};
    dg_tune_table t = {};
    DG_CHECKF(!dg_tune_read(&t, out.c_str(), DG_F32, &gpu) && t.rows >= 1, "%s: %d rows", dg_message(), t.rows);
    dg_tune_free(&t);
    /* after a signal the tuner writes its results so far */
    dg_stop_signal = SIGINT;
    DG_CHECK(dcgan(call + "--out " + at + "/stopped.tune") == 130);
    dg_stop_signal = 0;
    DG_CHECK(slurp(at + "/stopped.tune").find("; dcgan tune: Simulated GPU 0") == 0);
    /* an unwritable tuning file is an error before any measurement */
    DG_CHECK(dcgan(call + "--out " + at + "/none/a.tune") == DG_IO);
    if (chdir(temp_dir) == 0) {
        f = fopen("sm_90.tune", "w");
        if (f) fclose(f);
        DG_CHECK(dcgan(call) == DG_IO);
        DG_CHECKF(strstr(dg_message(), "sm_90.tune: exists already"), "%s", dg_message());
    }
    DG_CHECK(dcgan("tune " + cfg + " --device cuda --precision fp64 -q") == DG_USAGE);
}

int main()
{
    static char text[DG_MODEL_TEXT_MAX];
    if (dg_model_stock(text, "tiny", dg_square(16), 3, 12, 8, 8) || dg_model_parse(text, "tiny", &model)) return 1;
    temp_make("tuner");
#ifdef __SANITIZE_ADDRESS__
    const bool once = false;
#else
    const bool once = sim::opt.order == sim::FORWARD && !sim::opt.deferred && !dev_small();
#endif
    /* one mode of the simulator runs all tests, because the tuner is host code */
    first_alone = !once;
    the_fastest_right_one();
    the_file_is_followed();
    if (once) {
        faults_of_the_device();
        tensor_cores();
        the_command(text);
    }
    DG_CHECK(chdir("/") == 0);
    temp_remove(temp_dir);
    DG_CHECK(sim::live_handles() == 0 && sim::live_allocations() == 0);
    return dg_test_report();
}

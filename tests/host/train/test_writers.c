/* Tests that a run skips reports and automatic checkpoints if epochs are faster than the disk. */
#include "host/train/outputs.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>
#include "core/base/clock.h"
#include "host/net/gan.h"
#include "child.h"
#include "machine.h"
#include "tempdir.h"
#include "test.h"

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

static dg_err stuck(void *context)
{
    (void)context;
    pthread_mutex_lock(&gate);
    pthread_mutex_unlock(&gate);
    return DG_OK;
}

static char data[] = "drawn";
static dg_options o = {.data = data, .no_report = true}; /* the test makes its own report */
static dg_rundir dir = {.lock = -1};
static dg_job job = {.recipe = &dg_gan_recipe};
static dg_outputs w = {.o = &o, .dir = &dir, .job = &job};

/* While the worker is busy, the report is only marked as due. The end of the run writes the newest report. */
static void report(void)
{
    char file[1024];
    snprintf(file, sizeof file, "%s", temp_path("run/report.html"));
    if (!DG_CHECKF(!dg_rundir_open(temp_path("run"), false, &dir) && !dg_log_open(&dir, &dg_gan_recipe, 0, &w.log) &&
                       !dg_outputs_open(&w) && !dg_report_keep(&dir, NULL, w.write.report, w.write.grids, &w.report),
                   "%s", dg_message()))
        return;
    dg_save_report(&w);
    DG_CHECK(!dg_worker_given(w.write.report));
    for (uint64_t epoch = 1; epoch < 4; epoch++) {
        const dg_log_row row = {.step = 10 * epoch, .epoch = epoch, .seconds = 1, .value = {0.5, 0.5, 0.5}};
        DG_CHECK(!dg_log_step(w.log, &row) && !dg_log_epoch(w.log, &row) && !dg_log_flush(w.log));
        if (epoch == 2) {
            pthread_mutex_lock(&gate);
            dg_worker_give(w.write.report, stuck, NULL);
        }
        w.report_due = epoch;
        dg_save_report(&w);
        DG_CHECK(w.report_due == (epoch > 1 ? epoch : 0));
        if (epoch > 1) continue;
        DG_CHECK(!dg_worker_wait(w.write.report, dg_worker_given(w.write.report)) && access(file, F_OK) == 0 &&
                 !unlink(file));
    }
    pthread_mutex_unlock(&gate);
    DG_CHECK(!dg_worker_wait(w.write.report, dg_worker_given(w.write.report)) && access(file, F_OK) != 0);
    DG_CHECK(!dg_outputs_close(&w) && !w.error);
    char *page = temp_slurp(file, NULL);
    DG_CHECK(page && strstr(page, "epoch 3, step 30"));
    free(page);
    DG_CHECK(!dg_log_close(w.log));
    dg_rundir_close(&dir);
}

static void checkpoints(void)
{
    o.epochs = 9;
    o.checkpoint_every = 1;
    if (!DG_WORKS(dg_outputs_open(&w))) return;
    for (int given = 0; given < 2; given++) { /* --checkpoint-every N never skips a checkpoint */
        o.checkpoint_auto = !given;
        DG_CHECK(!dg_checkpoint_too_soon(&w, 1)); /* the first checkpoint is never skipped */
        pthread_mutex_lock(&gate);
        dg_worker_give(w.write.checkpoints, stuck, NULL);
        DG_CHECK(dg_checkpoint_too_soon(&w, 2) == !given);
        DG_CHECK(!dg_checkpoint_too_soon(&w, 9)); /* the last checkpoint is never skipped */
        pthread_mutex_unlock(&gate);
        DG_CHECK(!dg_worker_wait(w.write.checkpoints, dg_worker_given(w.write.checkpoints)));
        DG_CHECK(!dg_checkpoint_too_soon(&w, 2));
        w.saved_at = dg_clock() - 5;
        w.saving_took = 0.4;
        DG_CHECK(!dg_checkpoint_too_soon(&w, 3));
        w.saving_took = 40;
        DG_CHECK(dg_checkpoint_too_soon(&w, 3) == !given && !dg_checkpoint_too_soon(&w, 9));
        w.saved_at = w.saving_took = 0;
    }
    DG_CHECK(!dg_outputs_close(&w));
}

static atomic_bool written;
static dg_err slow(void *context)
{
    usleep(*(useconds_t *)context);
    atomic_store(&written, true);
    return DG_OK;
}

/* Training waits for the earlier checkpoint only if a second copy of the state does not fit in memory. */
static void copies(void)
{
    static machine m;
    char text[DG_MODEL_TEXT_MAX];
    const dg_job_options training = machine_training(4, 3, 4, 11);
    const dg_dataset d = {.count = 11, .train = 11};
    if (!DG_WORKS(dg_model_stock(text, "tiny", dg_square(16), 3, 6, 5, 3)) ||
        !DG_WORKS(dg_model_parse(text, "tiny", &m.m)) ||
        !machine_begin(&m, &(dg_cpu_options){.threads = 1, .real = DG_F32}, &training, NULL, 1))
        return;
    o.batch = 4;
    dg_outputs v = {.o = &o, .dir = &dir, .job = &m.g, .data = &d, .config = "[run]\n"};
    if (!DG_WORKS(dg_rundir_open(temp_path("copies"), false, &dir)) ||
        !DG_WORKS(dg_log_open(&dir, &dg_gan_recipe, 0, &v.log)) || !DG_WORKS(dg_outputs_open(&v)))
        return;
    static useconds_t time[] = {999999, 50000};
    for (int full = 0; full < 2; full++) {
        struct rlimit before, few;
        const long mapped = kilobytes_of(MAPPED);
        DG_CHECK(mapped && !getrlimit(RLIMIT_AS, &before));
        few = before;
        few.rlim_cur = (rlim_t)1024 * (rlim_t)(mapped + 6000);
        atomic_store(&written, false);
        dg_worker_give(v.write.checkpoints, slow, &time[full]);
        DG_CHECK(!full || !setrlimit(RLIMIT_AS, &few));
        dg_save_checkpoint(&v, &(dg_position){.step = 3, .epoch = 1});
        const bool waited = atomic_load(&written);
        DG_CHECK(!setrlimit(RLIMIT_AS, &before));
        DG_CHECKF(waited == full, "with %s memory, the copy waited: %d", full ? "little" : "much", waited);
        DG_CHECK(!dg_worker_wait(v.write.checkpoints, dg_worker_given(v.write.checkpoints)) && !v.error);
        DG_CHECK(!access(temp_path("copies/checkpoint.safetensors"), F_OK));
    }
    DG_CHECK(!dg_outputs_close(&v) && !dg_log_close(v.log));
    dg_rundir_close(&dir);
    machine_down(&m);
}

static void copies_if_limited(void)
{
    if (DG_SANITIZED) dg_test_skip("a sanitizer needs addresses without a limit");
    else copies();
}

DG_TESTS_IN("writers", copies_if_limited, checkpoints, report)

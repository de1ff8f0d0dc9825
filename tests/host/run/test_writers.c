/* What a run leaves out where epochs are quicker than the disk: checkpoints of --checkpoint-every auto, and curves. */
#include "core/base/clock.h"
#include "host/run/train.h"

#include <pthread.h>
#include <unistd.h>
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

static dg_options o;
static dg_training r;

/* Curves that come while others are drawn are drawn at the end, if no later ones were. */
static void curves(void)
{
    char file[1024];
    snprintf(file, sizeof file, "%s", temp_path("run/curves.png"));
    if (!DG_CHECKF(!dg_rundir_open(temp_path("run"), false, &r.dir) && !dg_log_open(&r.dir, 0, &r.log) &&
                       !dg_open_writers(&r),
                   "%s", dg_message()))
        return;
    dg_save_curves(&r, false);
    /* no rows yet */
    DG_CHECK(!r.curves_due && !dg_worker_wait(r.write.curves, dg_worker_given(r.write.curves)) &&
             access(file, F_OK) != 0);
    for (uint64_t epoch = 1; epoch < 4; epoch++) {
        const dg_log_row row = {.step = 10 * epoch, .epoch = epoch, .seconds = 1, .value = {0.5, 0.5, 0.5}};
        DG_CHECK(!dg_log_step(r.log, &row) && !dg_log_epoch(r.log, &row));
        if (epoch == 2) {
            pthread_mutex_lock(&gate);
            dg_worker_give(r.write.curves, stuck, NULL);
        }
        dg_save_curves(&r, false);
        DG_CHECK(r.curves_due == (epoch > 1));
        if (epoch > 1) continue;
        DG_CHECK(!dg_worker_wait(r.write.curves, dg_worker_given(r.write.curves)) && access(file, F_OK) == 0 &&
                 !unlink(file));
    }
    pthread_mutex_unlock(&gate);
    DG_CHECK(!dg_worker_wait(r.write.curves, dg_worker_given(r.write.curves)) && access(file, F_OK) != 0);
    DG_CHECK(!dg_close_writers(&r) && access(file, F_OK) == 0 && !r.save_error);
    DG_CHECK(!dg_log_close(r.log));
}

static void checkpoints(void)
{
    o.epochs = 9;
    o.checkpoint_every = 1;
    if (!DG_CHECKF(!dg_open_writers(&r), "%s", dg_message())) return;
    for (int given = 0; given < 2; given++) { /* N is N */
        o.checkpoint_auto = !given;
        DG_CHECK(!dg_checkpoint_too_soon(&r, 1)); /* the first one */
        pthread_mutex_lock(&gate);
        dg_worker_give(r.write.checkpoints, stuck, NULL);
        DG_CHECK(dg_checkpoint_too_soon(&r, 2) == !given);
        DG_CHECK(!dg_checkpoint_too_soon(&r, 9)); /* the last one */
        pthread_mutex_unlock(&gate);
        DG_CHECK(!dg_worker_wait(r.write.checkpoints, dg_worker_given(r.write.checkpoints)));
        DG_CHECK(!dg_checkpoint_too_soon(&r, 2));
        r.saved_at = dg_clock() - 5;
        r.saving_took = 0.4;
        DG_CHECK(!dg_checkpoint_too_soon(&r, 3));
        r.saving_took = 40;
        DG_CHECK(dg_checkpoint_too_soon(&r, 3) == !given && !dg_checkpoint_too_soon(&r, 9));
        r.saved_at = r.saving_took = 0;
    }
    DG_CHECK(!dg_close_writers(&r));
}

int main(void)
{
    temp_make("writers");
    r.o = &o;
    r.dir.lock = -1;
    checkpoints();
    curves();
    dg_rundir_close(&r.dir);
    temp_remove(temp_dir);
    return dg_test_report();
}

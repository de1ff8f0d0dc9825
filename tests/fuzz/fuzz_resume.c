/* libFuzzer: --resume in a run directory from an untrusted source. The first byte selects the actions on the run
 * directory and the step from which the logs continue. */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/base/file_io.h"
#include "host/doctor/diversity.h"
#include "host/net/recipe.h"
#include "host/report/report.h"
#include "host/rundir/best.h"
#include "host/rundir/history.h"
#include "host/run/log.h"

enum { SIZE = 4, IMAGES = 3 };

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    return size < 2 ? LLVMFuzzerMutate(data, size, most) : 1 + fuzz_mutate_rundir(data + 1, size - 1, most - 1, seed);
}

static void ignore(void *context, const char *text) { FUZZ_HOLDS(!context && *text); }

/* Returns true on success. Errors must have a message, and a code that invalid files can cause. */
static bool good(dg_err e)
{
    FUZZ_HOLDS(e == DG_OK || (e <= DG_IO && *dg_message()));
    return !e;
}

static void go_on(dg_log *l, const dg_rundir *r, const dg_recipe *recipe, uint64_t step)
{
    uint8_t pixels[12] = {1, 2, 3};
    const dg_image im = {.W = 2, .H = 2, .C = 3, .pixels = pixels};
    static dg_doctor doctor;
    long n;
    const dg_log_row *row = dg_log_rows(l, &n);
    for (long i = 0; i < n; i++) {
        FUZZ_HOLDS(row[i].step && row[i].epoch && row[i].step <= step);
        FUZZ_HOLDS(!i || (row[i].step > row[i - 1].step && row[i].epoch >= row[i - 1].epoch));
    }
    (void)good(dg_doctor_take_up(&doctor, DG_LOSS_BCE, row, n, r->path));
    (void)dg_best_settle(r, recipe, row, n, step);
    (void)dg_log_end_of(l, 1);
    if (good(dg_log_judge(l, r, DG_LOGGED)) && good(dg_log_events(l, r, step))) {
        const dg_log_row next = {.step = step + 1, .epoch = n ? row[n - 1].epoch : 1};
        FUZZ_HOLDS(dg_log_step(l, &next) == DG_OK && dg_log_image(l, next.step, &im) == DG_OK);
    }
    FUZZ_HOLDS(dg_log_close(l) == DG_OK);
}

static void nearest(const dg_rundir *r)
{
    uint64_t *epoch = NULL;
    int n;
    uint8_t pixels[IMAGES * SIZE * SIZE * 3] = {9, 8, 7};
    const dg_images images = dg_images_of(pixels, IMAGES, sizeof pixels / IMAGES);
    const dg_directory at = dg_rundir_at(r);
    if (good(dg_grid_epochs(dg_list_directory(r->fd), r->path, &epoch, &n)) && n)
        (void)good(dg_nearest_write(&at, r->path, epoch[n - 1], &images, dg_square(SIZE), 3));
    free(epoch);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[600], older[256], moved[64];
    dg_rundir r;
    dg_log *l;
    const unsigned how = size ? *data : 0;
    const uint64_t step = 1 + how / 8;
    const dg_recipe *recipe = dg_recipe_at((int)(how % 3));
    dg_set_warnings(ignore, NULL);
    fuzz_rundir(data + (size > 0), size - (size > 0));
    snprintf(path, sizeof path, "%s/a", fuzz_folder());
    if (good(dg_rundir_open(path, true, &r)) && good(dg_history_take_up(&r))) {
        if (how & 2 && dg_history_newest(&r, UINT64_MAX, older)) (void)good(dg_history_go_back(&r, older, 2, moved));
        if (how & 4) dg_history_prune(&r, 2);
        if (good(dg_log_open(&r, recipe, step, &l))) go_on(l, &r, recipe, step);
        nearest(&r);
        (void)good(dg_history_keep(&r, 3));
    }
    dg_rundir_close(&r);
    fuzz_rundir_holds();
    return 0;
}

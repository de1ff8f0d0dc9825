/* Makes log rows whose values follow from their step, for tests of the log. */
#pragma once

#include "host/net/gan.h"
#include "host/run/log.h"
#include "tempdir.h"
#include "test.h"

__attribute__((unused)) static dg_rundir open_run(const char *name)
{
    dg_rundir r;
    if (dg_rundir_open(temp_path(name), true, &r)) {
        mkdir(temp_path(name), 0777);
        if (dg_rundir_open(temp_path(name), false, &r)) printf("%s\n", dg_message());
    }
    return r;
}

__attribute__((unused)) static dg_log_row row_of(uint64_t step)
{
    dg_log_row r = {.step = step,
                    .epoch = (step - 1) / 4 + 1,
                    .seconds = 0.25 * (double)step,
                    .images_per_second = 100};
    for (int i = 0; i < DG_METRICS_MAX; i++) r.value[i] = 1.0 / 3 + (double)step / 7 + i;
    r.value[DG_BAD_G] = r.value[DG_BAD_D] = 0;
    return r;
}

__attribute__((unused)) static void write_steps(dg_log *l, uint64_t from, uint64_t to)
{
    for (uint64_t s = from; s <= to; s++) {
        dg_log_row r = row_of(s);
        DG_CHECK(dg_log_step(l, &r) == DG_OK);
        if (s % 4 == 0) DG_CHECK(dg_log_epoch(l, &r) == DG_OK);
    }
}

__attribute__((unused)) static char *file_of(const char *run, const char *name)
{
    return temp_slurp(temp_path(temp_text("%s/%s", run, name)), NULL);
}

/* Opens the log of a run that resumes after step `step`. */
__attribute__((unused)) static dg_log *log_of(dg_rundir *r, uint64_t step)
{
    dg_log *l = NULL;
    DG_WORKS(dg_log_open(r, &dg_gan_recipe, step, &l));
    return l;
}

__attribute__((unused)) static void same_logs(const char *a, const char *b, const char *what)
{
    static const char *const name[] = {"log.csv", "log.jsonl"};
    for (int i = 0; i < 2; i++) {
        char *x = file_of(a, name[i]), *y = file_of(b, name[i]);
        DG_CHECKF(x && y && !strcmp(x, y), "%s: %s is\n%s", what, name[i], y);
        free(x);
        free(y);
    }
}

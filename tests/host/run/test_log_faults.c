/* Tests that the log of a killed run has no partial row and no missing row. */
#include "log_rows.h"

#include "host/rundir/log_text.h"

#include <cjson/cJSON.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

static void endless(int started)
{
    dg_rundir r = open_run("killed");
    dg_log *l;
    if (dg_log_open(&r, &dg_gan_recipe, 0, &l)) _exit(1);
    for (uint64_t s = 1;; s++) {
        dg_log_row row = row_of(s);
        dg_log_step(l, &row);
        if (s % 4 == 0) dg_log_epoch(l, &row);
        if (s == 4) close(started);
    }
}
/* Counts errors in the logs of run "killed": invalid lines, rows out of order, and missing rows up to step `least`. If
 * `whole` is true, a partial last line and rows after step `least` are errors too. */
static int bad_lines(uint64_t least, bool whole)
{
    char *csv = file_of("killed", "log.csv"), *json = file_of("killed", "log.jsonl");
    int bad = !csv || !json;
    uint64_t last = 0;
    char *s = csv ? strchr(csv, '\n') : NULL, *end;
    for (s = s ? s + 1 : NULL; s && *s; s = end + 1) {
        if (!(end = strchr(s, '\n'))) break;
        *end = 0;
        dg_log_row row;
        bad += !dg_log_parse(s, &dg_gan_recipe, &row) || row.step != ++last;
    }
    bad += last < least || (whole && (last > least || *s));
    for (s = json; s && *s; s = end + 1) {
        if (!(end = strchr(s, '\n'))) break;
        *end = 0;
        cJSON *o = cJSON_Parse(s);
        bad += !cJSON_IsObject(o);
        cJSON_Delete(o);
    }
    bad += !s || s == json || (whole && *s);
    free(csv);
    free(json);
    return bad;
}
static void test_killed(void)
{
    unsigned long long seed = 7;
    int bad = 0;
    for (int i = 0; i < 20; i++) {
        fflush(stdout);
        int started[2];
        if (pipe2(started, O_CLOEXEC)) return;
        pid_t pid = fork();
        if (pid == 0) endless(started[1]);
        close(started[1]);
        char c;
        DG_CHECK(read(started[0], &c, 1) == 0); /* waits until the log of the first epoch is written */
        close(started[0]);
        nanosleep(&(struct timespec){0, (long)(20e6 * fabs(dg_test_random(&seed)))}, NULL);
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        bad += bad_lines(4, false);
        dg_rundir r = open_run("killed"); /* the kill released the lock */
        dg_log *l = log_of(&r, 4);
        DG_CHECK(r.lock >= 0);
        long n;
        dg_log_rows(l, &n);
        DG_CHECK(n == 4);
        dg_log_close(l);
        dg_rundir_close(&r);
        bad += bad_lines(4, true);
    }
    DG_CHECKF(bad == 0, "%d bad lines", bad);
}

int main(void)
{
    temp_make("log_faults");
    test_killed();
    temp_remove(temp_dir);
    return dg_test_report();
}

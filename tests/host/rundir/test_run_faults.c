/* Makes file operations of run directory, history and log fail. The next start must succeed. */
#include "failing.h"

#include "host/run/log_rows.h"
#include "host/rundir/log_text.h"
#include "run_files.h"

#if DG_FAILING

static void nothing(void)
{
    temp_remove(temp_path("run"));
    temp_remove(temp_path("above"));
}

static dg_err open_new(void)
{
    const dg_err e = dg_rundir_open(temp_path("above/run"), false, &r);
    if (!e) dg_rundir_abandon(&r);
    return e;
}

static void can_be_opened(dg_err e)
{
    (void)e;
    DG_WORKS(dg_rundir_open(temp_path("above/run"), false, &r));
    DG_CHECK(temp_count(temp_path("above/run"), "") == 3); /* the entries are ., .. and run.lock */
    dg_rundir_close(&r);
}

static void make_best_run(void)
{
    make_run();
    put("best.safetensors", "best");
}

static char moved[64];
static dg_err go_back(void) { return dg_history_go_back(&r, "run/checkpoint-0004.safetensors", 4, moved); }

static void is_back(dg_err e)
{
    (void)e;
    dg_rundir_close(&r);
    DG_WORKS(dg_rundir_open(temp_path("run"), true, &r));
    DG_WORKS(dg_history_take_up(&r));
    if (!same_file(in_run("checkpoint.safetensors"), in_run("checkpoint-0004.safetensors"))) {
        DG_CHECKF(holds("checkpoint.safetensors", "within seven"), "the newest checkpoint is lost");
        DG_WORKS(go_back());
    }
    char later[100] = "";
    DIR *d = opendir(temp_path("run"));
    for (struct dirent *f; d && (f = readdir(d));)
        if (!strncmp(f->d_name, "later-than-", 11)) snprintf(later, sizeof later, "%.60s", f->d_name);
    closedir(d);
    char name[200];
    snprintf(name, sizeof name, "%s/best.safetensors", later);
    went_back(later);
    DG_CHECK(holds(name, "best") && temp_count(temp_path("run"), "tmp") == 0);
    dg_rundir_close(&r);
}

/* Makes a run whose rewind was killed near its end. The next start must complete the rewind although calls fail. */
static void half_back(void)
{
    make_best_run();
    if (go_back()) exit(1);
    put(temp_text("%s/going-back", moved), "checkpoint-0004.safetensors\n4\n");
    put("epoch-0005.png", "image 5");
}

static dg_err take_up(void) { return dg_history_take_up(&r); }

static void is_taken_up(dg_err e)
{
    is_back(e);
    DG_CHECKF(!!access(in_run("epoch-0005.png"), F_OK), "an image of later stays");
}

static dg_err keep(void)
{
    const dg_err e = dg_history_keep(&r, 7);
    dg_history_prune(&r, 1);
    return e;
}

static void is_kept(dg_err e)
{
    DG_CHECK(holds("checkpoint.safetensors", "within seven"));
    DG_CHECK(e || holds("checkpoint-0007.safetensors", "within seven"));
    DG_CHECKF(dg_history_keep(&r, 7) == DG_OK && holds("checkpoint-0007.safetensors", "within seven"), "%s",
              dg_message());
    dg_rundir_close(&r);
}

static dg_log *l;
static uint64_t logged;

static void open_log(void)
{
    nothing();
    r = open_run("run");
    if (dg_log_open(&r, &dg_gan_recipe, 0, &l)) exit(1);
    logged = 0;
}

static dg_err log_steps(void)
{
    dg_log_row row = row_of(1);
    dg_err all = dg_log_epoch(l, &row); /* a session may resume at the end of an epoch */
    for (uint64_t s = 1; s <= 9; s++) {
        row = row_of(s);
        dg_err e = dg_log_step(l, &row);
        if (!e && s % 4 == 0) e = dg_log_epoch(l, &row);
        if (!e) e = dg_log_flush(l);
        if (!e && logged == s - 1) logged = s;
        if (e) all = e;
    }
    return all;
}

static dg_err log_again(void) /* opens the log as --resume does, which truncates it after step 6 */
{
    dg_log *again = NULL;
    dg_err e = dg_log_open(&r, &dg_gan_recipe, 6, &again);
    long n = 0;
    if (!e) (void)dg_log_rows(again, &n);
    if (!e && n != 6) e = dg_fail(DG_FAILED, "%ld rows are left", n);
    const dg_err closed = again ? dg_log_close(again) : DG_OK;
    return e ? e : closed;
}

static void is_whole(dg_err e)
{
    DG_CHECKF(dg_log_close(l) == DG_OK || e, "%s", dg_message());
    char *text = temp_slurp(temp_path("run/log.csv"), NULL);
    uint64_t rows = 0;
    for (const char *c = text; c && (c = strchr(c, '\n')); c++) rows++;
    DG_CHECKF(rows >= logged + 1 && rows <= 10 && text[strlen(text) - 1] == '\n', "%ju rows of %ju", (uintmax_t)rows,
              (uintmax_t)logged);
    free(text);
    DG_CHECKF(rows < 10 || log_again() == DG_OK, "%s", dg_message());
    dg_rundir_close(&r);
}

static void full_log(void)
{
    open_log();
    if (log_steps() || dg_log_close(l)) exit(1);
}

static void can_be_cut(dg_err e)
{
    DG_CHECKF(!e || e != DG_FAILED, "%s", dg_message());
    DG_CHECKF(log_again() == DG_OK, "then %s", dg_message());
    dg_rundir_close(&r);
}

static dg_err widen_log(void)
{
    static uint8_t pixels[4 * 3 * 3];
    const dg_image im = {.W = 4, .H = 3, .C = 3, .pixels = pixels};
    dg_log *again = NULL;
    dg_log_row row = row_of(10);
    dg_err e = dg_log_open(&r, &dg_gan_recipe, 9, &again);
    if (!e) e = dg_log_judge(again, &r, DG_LOGGED);
    if (!e) e = dg_log_events(again, &r, 9);
    row.judged = DG_LOGGED;
    for (int i = 0; i < DG_LOGGED; i++) row.measure[i] = i ? 0.25 * i : NAN;
    if (!e) e = dg_log_step(again, &row);
    if (!e) e = dg_log_image(again, 10, &im);
    const dg_err closed = again ? dg_log_close(again) : DG_OK;
    return e ? e : closed;
}

static void has_its_rows(dg_err e)
{
    dg_log *again = NULL;
    long n = 0;
    DG_CHECKF(dg_log_open(&r, &dg_gan_recipe, 9, &again) == DG_OK, "then %s", dg_message());
    if (again) (void)dg_log_rows(again, &n);
    DG_CHECKF(n == 9 && (e || !access(temp_path("run/events.out.tfevents.run"), F_OK)), "%ld rows are left", n);
    (void)dg_log_close(again);
    dg_sweep_temporaries(r.fd); /* the next start removes temporary files */
    DG_CHECK(temp_count(temp_path("run"), "tmp") == 0);
    dg_rundir_close(&r);
}

/* Runs each_call. Then, for each k, makes the k-th and all later file operations fail. */
static long each(const char *what, void (*before)(void), dg_err (*act)(void), void (*after)(dg_err))
{
    return each_call(what, before, act, after) + each_of(what, FILES, true, before, act, after);
}

static char *table;
static dg_log_row *table_rows;

enum { HEADER = 18, TABLE_ROWS = 1100 }; /* more rows than the first allocation has */
static void make_table(void)
{
    char *at = table = malloc(HEADER + 40 * TABLE_ROWS + 1);
    memset(table, '-', HEADER);
    at += HEADER;
    for (int i = 1; i <= TABLE_ROWS; i++) at += snprintf(at, 40, "1,%d,1,1,1,1,1,1,1,1,1\n", i);
}

static dg_err read_table(void)
{
    long n, bad;
    table_rows = dg_log_rows_in(table, HEADER, &dg_gan_recipe, &n, &bad);
    DG_CHECK(!table_rows || (n == TABLE_ROWS && !bad && table_rows[n - 1].step == TABLE_ROWS));
    return table_rows ? DG_OK : DG_DEVICE;
}

static void table_is_freed(dg_err e)
{
    (void)e;
    free(table_rows);
    free(table);
}

int main(void)
{
    temp_make("run-faults");
    long failures = 0;
    failures += each("a new directory", nothing, open_new, can_be_opened);
    failures += each("going back", make_best_run, go_back, is_back);
    failures += each("taking up", half_back, take_up, is_taken_up);
    failures += each("keeping a checkpoint", make_best_run, keep, is_kept);
    failures += each("a log", open_log, log_steps, is_whole);
    failures += each("a log that is cut", full_log, log_again, can_be_cut);
    failures += each("a log that gets columns", full_log, widen_log, has_its_rows);
    const long of_table = each_of("rows of a log", MEMORY, false, make_table, read_table, table_is_freed);
    DG_CHECKF(of_table == 2, "%ld allocations for the rows of a log", of_table);
    DG_CHECKF(failures > 1000, "only %ld calls failed", failures);
    temp_remove(temp_dir);
    return dg_test_report();
}
#else
int main(void) { return dg_test_without_failing(); }
#endif

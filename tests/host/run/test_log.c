/* Tests log.csv and log.jsonl, and how a resumed run appends to them. */
#include "log_rows.h"

#include "host/files/appender.h"
#include "host/files/tfevents.h"
#include "host/rundir/log_text.h"
#include "damage.h"
#include "make_image.h"

#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <sys/resource.h>

static const char header[] = "epoch,step,loss_d,loss_d_real,loss_d_fake,loss_g,d_x,d_gz1,d_gz2,img_s,seconds\n";

static void test_format(void)
{
    dg_rundir r = open_run("format");
    dg_log *l = log_of(&r, 0);
    dg_log_row row = {.step = 1,
                      .epoch = 1,
                      .value = {0.5, 0.25, 2.0 / 3, 0.1, 0.2, 0.3, 0, 0},
                      .seconds = 1e-7,
                      .images_per_second = 1234.5};
    DG_CHECK(dg_log_step(l, &row) == DG_OK);
    row = (dg_log_row){.step = 2,
                       .epoch = 1,
                       .value = {NAN, 1, INFINITY, -INFINITY, -0.0, 1e300, 0, 3},
                       .seconds = 12345678.9,
                       .images_per_second = NAN};
    DG_CHECK(dg_log_step(l, &row) == DG_OK);
    row.value[DG_LOSS_D_FAKE] = 0.625;
    row.images_per_second = 1e9 / 3;
    DG_CHECK(dg_log_epoch(l, &row) == DG_OK);
    char want[600]; /* log rows are flushed at the end of an epoch */
    snprintf(want, sizeof want,
             "%s1,1,0.75,0.5,0.25,0.666666667,0.1,0.2,0.3,1234.5,1e-07\n"
             "1,2,,,1,inf,-inf,-0,1e+300,,12345678.9\n",
             header);
    DG_CHECK(temp_holds(temp_path("format/log.csv"), want));
    DG_CHECK(temp_holds(temp_path("format/log.jsonl"),
                        "{\"kind\":\"step\",\"epoch\":1,\"step\":1,\"loss_d\":0.75,\"loss_d_real\":0.5,"
                        "\"loss_d_fake\":0.25,\"loss_g\":0.666666667,"
                        "\"d_x\":0.1,\"d_gz1\":0.2,\"d_gz2\":0.3,\"img_s\":1234.5,\"seconds\":1e-07}\n"
                        "{\"kind\":\"step\",\"epoch\":1,\"step\":2,\"loss_d\":null,\"loss_d_real\":null,"
                        "\"loss_d_fake\":1,\"loss_g\":null,"
                        "\"d_x\":null,\"d_gz1\":-0,\"d_gz2\":1e+300,\"img_s\":null,\"seconds\":12345678.9}\n"
                        "{\"kind\":\"epoch\",\"epoch\":1,\"step\":2,\"loss_d\":null,\"loss_d_real\":null,"
                        "\"loss_d_fake\":0.625,\"loss_g\":null,"
                        "\"d_x\":null,\"d_gz1\":-0,\"d_gz2\":1e+300,\"img_s\":333333333,\"seconds\":12345678.9}\n"));
    DG_CHECK(dg_log_close(l) == DG_OK && dg_log_close(NULL) == DG_OK);

    l = log_of(&r, 2);
    long n;
    const dg_log_row *rows = dg_log_rows(l, &n);
    DG_CHECK(n == 2 && rows[0].value[DG_LOSS_G] == 0.666666667 && isnan(rows[1].value[DG_LOSS_D_REAL]));
    DG_CHECK(rows[1].value[DG_LOSS_G] == INFINITY && isnan(rows[1].images_per_second));
    dg_log_close(l);
    dg_rundir_close(&r);
}

/* Compares the logs of two runs of 12 steps. The second log has a damaged line after step `written`. The second run
 * resumes at step `checkpoint`. */
static void test_resume(void)
{
    dg_rundir r = open_run("whole");
    dg_log *l = log_of(&r, 0);
    write_steps(l, 1, 12);
    dg_log_close(l);
    dg_rundir_close(&r);
    static const char *const torn[] = {"",
                                       "3,1",
                                       "3,11,0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8",
                                       "{\"kind\":\"st",
                                       "\n",
                                       "garbage\n",
                                       "2,3,1,1,1,1,1,1,1,1,1\n",
                                       "4,13,1,1,1,1,1,1,1,1\n",
                                       "4,13,1,1,1,1,1,1,1,1,1,1\n",
                                       "4,x,1,1,1,1,1,1,1,1,1\n",
                                       "-4,1,1,1,1,1,1,1,1,1,1\n"};
    for (size_t i = 0; i < sizeof torn / sizeof torn[0]; i++)
        for (uint64_t checkpoint = 4; checkpoint <= 12; checkpoint += i ? 6 : 4) {
            r = open_run("parts");
            l = log_of(&r, 0);
            uint64_t written = checkpoint + i % 4 > 12 ? 12 : checkpoint + i % 4;
            write_steps(l, 1, written);
            dg_log_close(l);
            for (int f = 0; f < 2; f++) {
                FILE *file = fopen(temp_path(f ? "parts/log.jsonl" : "parts/log.csv"), "a");
                fputs(torn[i], file);
                fclose(file);
            }
            l = log_of(&r, checkpoint);
            long n;
            const dg_log_row *rows = dg_log_rows(l, &n);
            DG_CHECK(n == (long)checkpoint && rows[n - 1].step == checkpoint);
            write_steps(l, checkpoint + 1, 12);
            rows = dg_log_rows(l, &n);
            DG_CHECK(n == 12 && rows[0].step == 1 && rows[11].step == 12);
            DG_NEAR(rows[5].value[DG_LOSS_G], row_of(6).value[DG_LOSS_G], 1e-8);
            DG_CHECK(dg_log_close(l) == DG_OK);
            same_logs("whole", "parts", temp_text("torn \"%s\", checkpoint %d", torn[i], (int)checkpoint));
            dg_rundir_close(&r);
        }
}

static void test_odd_files(void)
{
    dg_rundir r = open_run("odd");
    dg_log *l = log_of(&r, 5); /* without a log, a resumed run starts a new one */
    write_steps(l, 6, 7);
    dg_log_close(l);
    char *csv = file_of("odd", "log.csv");
    DG_CHECK(csv && !strncmp(csv, header, strlen(header)) && strstr(csv, "\n2,6,"));
    free(csv);
    temp_put(temp_path("odd/log.csv"), "my own table\n1,2\n", 17);
    DG_CHECK(dg_log_open(&r, &dg_gan_recipe, 5, &l) == DG_IO && !l && strstr(dg_message(), "log.csv"));
    DG_CHECK(temp_holds(temp_path("odd/log.csv"), "my own table\n1,2\n"));
    temp_put(temp_path("odd/log.csv"), "", 0); /* an empty log.csv, as after a power failure */
    l = log_of(&r, 5);
    dg_log_close(l);
    /* a resumed run keeps lines of any kind in log.jsonl before the checkpoint's step, and removes later lines */
    const char other[] = "{\"kind\":\"note\",\"text\":\"x\"}\n{\"kind\":\"epoch\",\"epoch\":1,\"step\":4}\n{\"kind\":"
                         "\"epoch\",\"step\":9}\n[1]\n";
    temp_put(temp_path("odd/log.jsonl"), other, strlen(other));
    l = log_of(&r, 5);
    dg_log_close(l);
    DG_CHECK(temp_holds(temp_path("odd/log.jsonl"),
                        "{\"kind\":\"note\",\"text\":\"x\"}\n{\"kind\":\"epoch\",\"epoch\":1,\"step\":4}\n"));
    dg_rundir_close(&r);
}

static void test_bad_rows(void)
{
    static const char *const bad[] = {"2,5",
                                      "2,5,1,1,1,1,1,1,1,1",
                                      "2,5,1,1,1,1,1,1,1,1,1,1",
                                      "-2,5,1,1,1,1,1,1,1,1,1",
                                      "2,+5,1,1,1,1,1,1,1,1,1",
                                      "2,5x,1,1,1,1,1,1,1,1,1",
                                      "2,5,x,1,1,1,1,1,1,1,1",
                                      "2,5,1,1 ,1,1,1,1,1,1,1",
                                      "2,5, 1,1,1,1,1,1,1,1,1",
                                      "2,5,1,1,1,1,1,1,1,1,1;",
                                      "99999999999999999999,5,1,1,1,1,1,1,1,1,1",
                                      "2,4,1,1,1,1,1,1,1,1,1",
                                      "0,5,1,1,1,1,1,1,1,1,1",
                                      "1000000000,5,1,1,1,1,1,1,1,1,1",
                                      "2,9007199254740992,1,1,1,1,1,1,1,1,1",
                                      "3,5,1,1,1,1,1,1,1,1,1", /* the next row has epoch 2, which is out of order */
                                      ""};
    const int count = (int)(sizeof bad / sizeof bad[0]);
    char text[4096];
    for (int i = 0; i <= count; i++) {
        dg_rundir r = open_run("rows");
        int n = snprintf(text, sizeof text, "%s1,4,1,1,1,1,1,1,1,1,1\n%s\n2,6,1,1,1,1,1,1,1,1,1\n", header,
                         i < count ? bad[i] : "2,5,,1e-3,-1,nan,inf,1,1,1,1");
        temp_put(temp_path("rows/log.csv"), text, (size_t)n);
        temp_put(temp_path("rows/log.jsonl"), "", 0);
        struct stat before, after;
        stat(temp_path("rows/log.csv"), &before);
        dg_log *l = log_of(&r, 6);
        long rows;
        dg_log_rows(l, &rows);
        DG_CHECKF(rows == (i < count ? 2 : 3), "\"%s\": %ld rows", i < count ? bad[i] : "good", rows);
        stat(temp_path("rows/log.csv"), &after);
        DG_CHECK((before.st_ino == after.st_ino) == (i == count)); /* a valid log file is not rewritten */
        dg_log_close(l);
        dg_rundir_close(&r);
    }
}

static void test_order(void)
{
    static const struct {
        const char *rows;
        long n, bad;
    } cases[] = {{"2,1,1,1,1,1,1,1,1,1,1\n1,2,1,1,1,1,1,1,1,1,1\n", 1, 3},
                 {"1,1,1,1,1,1,1,1,1,1,1\n1,1,1,1,1,1,1,1,1,1,1\n1,2,1,1,1,1,1,1,1,1,1\n", 2, 3},
                 {"\n\n1,1,1,1,1,1,1,1,1,1,1\n18446744073709551615,2,1,1,1,1,1,1,1,1,1\n", 1, 2},
                 {"1,0,1,1,1,1,1,1,1,1,1\n0,1,1,1,1,1,1,1,1,1,1\n", 0, 2},
                 {"1,1,1,1,1,1,1,1,1,1,1\n1,2,1,1,1,1,1,1,1,1,1\n999999999,9007199254740991,1,1,1,1,1,1,1,1,1\n", 3,
                  0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        long n, bad;
        dg_log_row *row = dg_log_rows_in(temp_text("%s%s", header, cases[i].rows), strlen(header), &dg_gan_recipe, &n,
                                         &bad);
        DG_CHECKF(row && n == cases[i].n && bad == cases[i].bad, "case %zu: %ld rows, line %ld", i, n, bad);
        free(row);
    }
}

/* Opening a sparse log truncates it and needs no more memory than its data. */
static void test_sparse(void)
{
    struct rusage use;
    struct stat s;
    char text[600];
    dg_log *l;
    long n;
    dg_rundir r = open_run("sparse");
    snprintf(text, sizeof text, "%s1,1,1,1,1,1,1,1,1,1,1\n", header);
    temp_put(temp_path("sparse/log.csv"), text, strlen(text));
    temp_put(temp_path("sparse/log.jsonl"), "{\"step\":1}\n", 11);
    DG_CHECK(dg_log_open(&r, &dg_gan_recipe, 0, &l) == DG_OK && dg_log_events(l, &r, 0) == DG_OK);
    dg_log_close(l);
    temp_put(temp_path("sparse/log.csv"), text, strlen(text));
    static const char *const names[] = {"sparse/log.csv", "sparse/log.jsonl", "sparse/events.out.tfevents.run"};
    for (int i = 0; i < 3; i++)
        if (truncate(temp_path(names[i]), (off_t)3 << 30)) {
            dg_test_skip("no sparse files of 3 GiB here");
            dg_rundir_close(&r);
            return;
        }
    DG_CHECKF(dg_log_open(&r, &dg_gan_recipe, 1, &l) == DG_OK && dg_log_events(l, &r, 1) == DG_OK, "%s", dg_message());
    DG_CHECK(dg_log_rows(l, &n) && n == 1);
    dg_log_close(l);
    for (int i = 0; i < 3; i++) DG_CHECK(stat(temp_path(names[i]), &s) == 0 && s.st_size < 2000);
    getrusage(RUSAGE_SELF, &use);
    DG_CHECKF(use.ru_maxrss < 1 << 20, "%ld KB", use.ru_maxrss);
    dg_rundir_close(&r);
}

static uint32_t masked_crc(const blob *b, size_t from)
{
    uint32_t c = 0xffffffff;
    for (size_t i = from; i < b->bytes; i++) {
        c ^= b->data[i];
        for (int k = 0; k < 8; k++) c = c >> 1 ^ (c & 1 ? 0x82f63b78 : 0);
    }
    c = ~c;
    return (c >> 15 | c << 17) + 0xa282ead8;
}

/* Records with the right checksums but an invalid Event are removed. */
static void test_hostile_events(void)
{
    static const struct {
        const char *event;
        size_t bytes;
        bool valid;
    } row[] = {
        {BYTES("\x10\1"), true},       {BYTES("\x10\x81\0"), true}, {BYTES("\x31\1\2\3\4\5\6\7\x8"), true},
        {BYTES("\x35\1\2\3\4"), true}, {BYTES("\x32\2ab"), true},   {BYTES("\x31\1\2\3\4\5\6\7"), false},
        {BYTES("\x35\1\2\3"), false},  {BYTES("\x32\3ab"), false},  {BYTES("\x10"), false},
        {BYTES("\x90"), false},        {BYTES("\x32"), false},      {BYTES("\x33"), false},
        {BYTES("\x34"), false},        {BYTES("\x36"), false},      {BYTES("\x37"), false},
        {BYTES("\x10\2"), false}, /* after the last step */
    };
    dg_rundir r = open_run("hostile");
    const dg_directory at = dg_rundir_at(&r);
    const char *path = temp_path("hostile/events");
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        dg_tfevents *t = NULL;
        blob b = {0};
        size_t begins, left = 0;
        DG_CHECK(!dg_tfevents_open(&at, path, 0, &t) && !dg_tfevents_close(t) && !blob_load(&b, path));
        const size_t at_first = b.bytes;
        const uint32_t length[] = {(uint32_t)row[i].bytes, 0};
        blob_put(&b, length, sizeof length);
        uint32_t crc = masked_crc(&b, at_first);
        blob_put(&b, &crc, 4);
        begins = b.bytes;
        blob_put(&b, row[i].event, row[i].bytes);
        crc = masked_crc(&b, begins);
        blob_put(&b, &crc, 4);
        DG_CHECK(!blob_save(&b, path) && !dg_tfevents_open(&at, path, 1, &t) && !dg_tfevents_close(t));
        free(temp_slurp(path, &left));
        DG_CHECKF(left == (row[i].valid ? b.bytes : at_first), "event %zu: %zu of %zu bytes", i, left, b.bytes);
        blob_free(&b);
    }
    dg_rundir_close(&r);
}

/* Within an epoch, rows are flushed after many rows or after a short time. */
static void test_flush(void)
{
    dg_rundir r = open_run("flush");
    dg_log *l;
    struct stat s;
    l = log_of(&r, 0);
    for (uint64_t i = 1; i <= 400; i++) {
        dg_log_row row = row_of(i);
        DG_CHECK(dg_log_step(l, &row) == DG_OK);
    }
    DG_CHECK(stat(temp_path("flush/log.csv"), &s) == 0 && s.st_size > 5000);
    off_t before = s.st_size;
    usleep(550000);
    dg_log_row row = row_of(401);
    DG_CHECK(dg_log_step(l, &row) == DG_OK && stat(temp_path("flush/log.csv"), &s) == 0 && s.st_size > before);
    char *csv = file_of("flush", "log.csv");
    DG_CHECK(csv && strstr(csv, ",401,"));
    free(csv);
    dg_log_close(l);
    dg_rundir_close(&r);
}

/* A write that fails at the limit of a file's size leaves no partial line, and the next flush writes all lines. */
static void test_partial_write(void)
{
    dg_appender a = {.path = "log.csv", .fd = open(temp_path("partial"), O_WRONLY | O_APPEND | O_CREAT, 0600)};
    struct rlimit was, small;
    struct stat s;
    signal(SIGXFSZ, SIG_IGN);
    DG_CHECK(!getrlimit(RLIMIT_FSIZE, &was));
    DG_CHECK(!dg_append(&a, "1,2\n", 4) && !dg_append_flush(&a) && !dg_append(&a, "3,4,5,6\n", 8));
    small = (struct rlimit){8, was.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
    DG_REFUSED(dg_append_flush(&a), DG_IO, "log.csv: cannot append");
    setrlimit(RLIMIT_FSIZE, &was);
    DG_CHECK(!fstat(a.fd, &s) && s.st_size == 4);
    DG_WORKS(dg_append_flush(&a));
    DG_CHECK(!fstat(a.fd, &s) && s.st_size == 12);
    close(a.fd);
    free(a.buffer.text);
}

/* Tests dg_log_end_of, and dg_log_judge on a log.csv that dcgan did not write. */
static void test_odd_steps(void)
{
    static const struct {
        const char *text, *want; /* text of log.csv, and its rows after dg_log_judge */
    } cases[] = {{"no line", ""}, {"", ""}, {"first\n1,2\n3,4", "1,2,,,,,,\n3,4,,,,,,\n"}};
    dg_rundir r = open_run("odd");
    dg_log *l = log_of(&r, 0);
    DG_CHECK(dg_log_end_of(l, 3) == 0);
    write_steps(l, 5, 8); /* steps of epoch 2 */
    DG_CHECK(dg_log_end_of(l, 1) == 0 && dg_log_end_of(l, 2) == 8 && dg_log_end_of(l, 3) == 8);
    dg_log_close(l);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        l = log_of(&r, 0);
        temp_put(temp_path("odd/log.csv"), cases[i].text, strlen(cases[i].text));
        DG_WORKS(dg_log_judge(l, &r, DG_LOGGED_ALWAYS));
        char *csv = file_of("odd", "log.csv"), *end = csv ? strchr(csv, '\n') : NULL;
        DG_CHECKF(end && !strcmp(end + 1, cases[i].want), "case %zu: %s", i, csv);
        free(csv);
        dg_log_close(l);
    }
    dg_rundir_close(&r);
}

/* Tests the log in a locale with a decimal comma. The test compiles this locale if its sources are installed. */
static void test_locale(void)
{
    char command[1300];
    snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 '%s/de_DE.UTF-8' >/dev/null 2>&1", temp_dir);
    setenv("LOCPATH", temp_dir, 1);
    if (system(command) == -1 || !setlocale(LC_ALL, "de_DE.UTF-8")) {
        dg_test_skip("no locale with a decimal comma");
        return;
    }
    DG_CHECK(!strcmp(temp_text("%.1f", 0.5), "0,5"));
    dg_rundir r = open_run("comma");
    dg_log *l = log_of(&r, 0);
    write_steps(l, 1, 6);
    dg_log_close(l);
    l = log_of(&r, 4);
    write_steps(l, 5, 12);
    long n;
    const dg_log_row *rows = dg_log_rows(l, &n);
    DG_CHECK(n == 12);
    DG_NEAR(rows[1].value[DG_LOSS_G], row_of(2).value[DG_LOSS_G], 1e-8);
    dg_log_close(l);
    same_logs("whole", "comma", "with a decimal comma");
    dg_rundir_close(&r);
    setlocale(LC_ALL, "C");
}

DG_TESTS_IN("log", test_format, test_resume, test_odd_files, test_bad_rows, test_order, test_sparse, test_flush,
            test_partial_write, test_hostile_events, test_odd_steps, test_locale)

/* Tests that a run directory has one run at a time, is not overwritten, and is unlocked after kill -9. */
#include "host/run/log.h"
#include "host/net/gan.h"
#include "tempdir.h"
#include "test.h"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

static int exists(const char *name) { return access(temp_path(name), F_OK) == 0; }

static dg_err open_it(const char *name, bool resume, dg_rundir *r)
{
    return dg_rundir_open(temp_path(name), resume, r);
}

static void can_be_opened(const char *name, bool resume)
{
    dg_rundir r;
    DG_WORKS(open_it(name, resume, &r));
    dg_rundir_close(&r);
}

static void refuses(const char *name, bool resume, dg_err code, const char *why)
{
    dg_rundir r;
    DG_CHECKF(open_it(name, resume, &r) == code && strstr(dg_message(), why) && r.lock < 0 && r.fd < 0, "%s: %s", name,
              dg_message());
}

static void test_open(void)
{
    dg_rundir r, second;
    char file[4096];
    DG_CHECK(open_it("deep/er/run///", false, &r) == DG_OK && r.lock >= 0);
    DG_CHECK(strcmp(r.path, temp_path("deep/er/run")) == 0);
    DG_CHECK(strcmp(dg_rundir_file(&r, file, "epoch-%04d.png", 7), temp_path("deep/er/run/epoch-0007.png")) == 0);
    DG_CHECK(dg_rundir_file(&r, file, "%*d", 4090, 1)[0] == 0);
    char *text = temp_slurp(temp_path("deep/er/run/run.lock"), NULL), want[64];
    snprintf(want, sizeof want, "\npid %ld\nstarted 2", (long)getpid());
    DG_CHECKF(text && strstr(text, "host ") == text && strstr(text, want), "run.lock holds: %s", text);
    free(text);

    snprintf(want, sizeof want, "process %ld on ", (long)getpid());
    for (int resume = 0; resume < 2; resume++) {
        DG_CHECK(open_it("deep/er/run", resume, &second) == DG_LOCKED && second.lock < 0);
        DG_CHECKF(strstr(dg_message(), want) && strstr(dg_message(), "directory with out"), "%s", dg_message());
    }
    dg_rundir_close(&r);
    DG_CHECK(r.lock == -1);
    dg_rundir_close(&r);
    DG_CHECK(exists("deep/er/run/run.lock"));

    /* a directory with only a lock file is not a run yet */
    can_be_opened("deep/er/run", false);
}

/* Readers share a run directory, and exclude runs. */
static void test_hold(void)
{
    dg_rundir r, first, second;
    bool yes = false;
    DG_CHECK(open_it("held", false, &r) == DG_OK);
    DG_CHECK(dg_rundir_in_use(r.fd, "held", &yes) == DG_OK && yes);
    DG_REFUSED(dg_rundir_hold(temp_path("held"), &first), DG_LOCKED, temp_text("process %ld on ", (long)getpid()));
    dg_rundir_close(&r);
    DG_WORKS(dg_rundir_hold(temp_path("held"), &first));
    DG_WORKS(dg_rundir_hold(temp_path("held"), &second));
    DG_CHECK(dg_rundir_in_use(first.fd, "held", &yes) == DG_OK && !yes);
    DG_CHECK(dg_rundir_has(&first, "run.lock") && temp_holds(temp_path("held/run.lock"), ""));
    dg_rundir_close(&first);
    DG_CHECK(open_it("held", true, &r) == DG_LOCKED);
    dg_rundir_close(&second);
    can_be_opened("held", false);
    unlink(temp_path("held/run.lock"));
    DG_CHECK(dg_rundir_hold(temp_path("held"), &first) == DG_OK && first.lock < 0);
    DG_CHECK(dg_rundir_in_use(first.fd, "held", &yes) == DG_OK && !yes);
    dg_rundir_close(&first);
    DG_CHECK(!exists("held/run.lock"));
    DG_REFUSED(dg_rundir_hold(temp_path("no"), &first), DG_IO, "no: cannot read");
    DG_CHECK(symlink("elsewhere", temp_path("held/run.lock")) == 0);
    DG_REFUSED(dg_rundir_hold(temp_path("held"), &first), DG_IO, "held/run.lock");
    char long_name[4096];
    snprintf(long_name, sizeof long_name, "%04090d", 1);
    DG_REFUSED(dg_rundir_hold(long_name, &first), DG_USAGE, "too long");
}

static const char *one_file(const char *name, const char *file, const char *text)
{
    mkdir(temp_path(name), 0777);
    const char *full = temp_path(temp_text("%s/%s", name, file));
    temp_put(full, text, strlen(text));
    return full;
}

static void test_existing_run(void)
{
    char header[DG_LOG_LINE];
    dg_log_header(header, &dg_gan_recipe);
    static const char *const run[] = {"config.ini", "checkpoint.safetensors", "checkpoint-0010.safetensors"};
    static const char *const result[] = {"log.csv", "log.jsonl", "curves.png", "epoch-0001.png"};
    static const char *const harmless[] = {"skipped.txt", "cat.png", "checkpoint.txt", "epoch-1.txt", "my config.ini"};
    enum { RUN = sizeof run / sizeof run[0], ALL = RUN + sizeof result / sizeof result[0] };
    dg_rundir r;
    char name[80];
    for (int i = 0; i < ALL; i++) {
        const char *mark = i < RUN ? run[i] : result[i - RUN];
        snprintf(name, sizeof name, "run%d", i);
        const char *file = one_file(name, mark, "precious");
        DG_CHECKF(open_it(name, false, &r) == DG_USAGE && r.lock < 0 && r.fd < 0, "%s: taken as new", mark);
        DG_CHECKF(!strstr(dg_message(), temp_text("dcgan --resume --out %s ", temp_path(name))) == (i >= RUN), "%s",
                  dg_message());
        DG_CHECKF(strstr(dg_message(), temp_text("with out %s-2", temp_path(name))), "%s", dg_message());
        can_be_opened(name, true);
        DG_CHECK(temp_holds(file, "precious"));
    }
    /* a new run removes the empty logs of a killed start */
    one_file("cut off", "log.jsonl", "");
    one_file("cut off", "log.csv", header);
    DG_CHECK(open_it("cut off", false, &r) == DG_OK && !exists("cut off/log.csv") && !exists("cut off/log.jsonl"));
    dg_rundir_close(&r);
    mkdir(temp_path("free"), 0777);
    for (size_t i = 0; i < sizeof harmless / sizeof harmless[0]; i++)
        temp_put(temp_path(temp_text("free/%s", harmless[i])), "x", 1);
    can_be_opened("free", false);

    mkdir(temp_path("it's a run"), 0777);
    temp_put(temp_path("it's a run/config.ini"), "x", 1);
    refuses("it's a run", false, DG_USAGE, "");
    DG_CHECKF(strstr(dg_message(), "/it'\\''s a run' ") && strstr(dg_message(), "/it'\\''s a run-2'"), "%s",
              dg_message());
}

static void test_refusals(void)
{
    dg_rundir r;
    refuses("nothing", true, DG_USAGE, "no run to resume");
    DG_CHECK(!exists("nothing"));
    DG_CHECK(dg_rundir_open("", false, &r) == DG_USAGE);
    temp_put(temp_path("file"), "x", 1);
    refuses("file", false, DG_IO, "a file");
    refuses("file/below", false, DG_IO, "");
    DG_CHECK(dg_rundir_open("/proc/nothing", false, &r) == DG_IO);
    char longest[5000];
    memset(longest, 'd', sizeof longest - 1);
    longest[sizeof longest - 1] = 0;
    DG_REFUSED(dg_rundir_open(longest, false, &r), DG_USAGE, "4999 bytes");
    mkdir(temp_path("trap"), 0777);
    DG_CHECK(symlink("../file", temp_path("trap/run.lock")) == 0);
    refuses("trap", false, DG_IO, "run.lock");
    /* The lock file is a hard link to another file, which must stay unchanged. */
    mkdir(temp_path("two names"), 0777);
    DG_CHECK(link(temp_path("file"), temp_path("two names/run.lock")) == 0);
    refuses("two names", false, DG_IO, "has 2 ");
    mkdir(temp_path("pipe"), 0777);
    DG_CHECK(mkfifo(temp_path("pipe/run.lock"), 0666) == 0);
    refuses("pipe", false, DG_IO, "regular file");
    DG_CHECK(temp_holds(temp_path("file"), "x"));
}

/* If the directory of a run is moved, removed or replaced, the run still writes to the original directory. */
static void test_replaced(void)
{
    dg_rundir r, second;
    dg_log *log;
    bool removed;
    char link[1024];
    DG_CHECK(open_it("place", false, &r) == DG_OK && dg_rundir_check(&r, &removed) == DG_OK && !removed);
    DG_CHECK(rename(temp_path("place"), temp_path("moved")) == 0);
    DG_CHECK(dg_rundir_check(&r, &removed) == DG_IO && !removed && strstr(dg_message(), temp_path("moved")));
    snprintf(link, sizeof link, "%s", temp_path("elsewhere"));
    mkdir(link, 0777);
    DG_CHECK(symlink(link, temp_path("place")) == 0);
    DG_CHECK(dg_rundir_check(&r, &removed) == DG_IO && !removed);
    DG_CHECK(dg_log_open(&r, &dg_gan_recipe, 0, &log) == DG_OK && exists("moved/log.csv") &&
             dg_rundir_has(&r, "%s", "log.csv"));
    DG_CHECK(temp_count(link, "log") == 0);
    DG_CHECK(dg_log_close(log) == DG_OK && unlink(temp_path("place")) == 0);
    DG_CHECK(open_it("place", false, &second) == DG_OK); /* another run opens the path of the moved directory */
    DG_CHECK(dg_log_open(&r, &dg_gan_recipe, 0, &log) == DG_OK && !exists("place/log.csv") &&
             !dg_rundir_has(&second, "log.csv"));
    DG_CHECK(dg_log_close(log) == DG_OK);
    temp_remove(temp_path("moved"));
    DG_CHECK(dg_rundir_check(&r, &removed) == DG_IO && removed && strstr(dg_message(), "was removed"));
    DG_CHECK(dg_log_open(&r, &dg_gan_recipe, 0, &log) == DG_IO && !exists("place/log.csv"));
    dg_rundir_close(&r);
    DG_CHECK(dg_rundir_check(&second, &removed) == DG_OK && !removed && second.lock >= 0);
    DG_CHECK(unlink(temp_path("place/run.lock")) == 0); /* without run.lock another run could hold the lock */
    DG_CHECK(dg_rundir_check(&second, &removed) == DG_IO && removed && strstr(dg_message(), "run.lock was removed"));
    dg_rundir_close(&second);
}

static void test_sweep(void)
{
    dg_rundir r;
    mkdir(temp_path("swept"), 0777);
    temp_put(temp_path("swept/.checkpoint.safetensors.999-3.dcgan-tmp"), "half", 4);
    temp_put(temp_path("swept/notes.txt"), "keep", 4);
    DG_CHECK(open_it("swept", false, &r) == DG_OK);
    DG_CHECK(!exists("swept/.checkpoint.safetensors.999-3.dcgan-tmp") && exists("swept/notes.txt"));
    dg_rundir_close(&r);
}

/* Replaces nanosleep(), with which dg_rundir_open waits until the lock's owner has written its name. Call number
 * `pauses` writes `text` to the lock file. */
static struct {
    int fd, pauses;
    char text[400];
} late;
int nanosleep(const struct timespec *t, struct timespec *rest)
{
    if (late.pauses && !--late.pauses &&
        (ftruncate(late.fd, 0) || pwrite(late.fd, late.text, strlen(late.text), 0) < 0))
        perror("run.lock");
    return (int)syscall(SYS_nanosleep, t, rest);
}

/* The lock file still names a killed run. The error message must wait for the new owner's name. */
static void test_stale_name(void)
{
    char host[256] = "", text[400], want[64];
    gethostname(host, sizeof host - 1);
    mkdir(temp_path("stale"), 0777);
    int fd = open(temp_path("stale/run.lock"), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    DG_CHECK(fd >= 0 && fcntl(fd, F_OFD_SETLK, &whole) == 0);
    fflush(stdout);
    pid_t dead = fork();
    if (dead == 0) _exit(0);
    waitpid(dead, NULL, 0);
    int n = snprintf(text, sizeof text, "host %s\npid %ld\nstarted long ago\n", host, (long)dead);
    DG_CHECK(pwrite(fd, text, (size_t)n, 0) == n);
    pid_t owner = fork();
    if (owner == 0) _exit(pause());
    snprintf(late.text, sizeof late.text, "host %s\npid %ld\nstarted now\n", host, (long)owner);
    late.fd = fd;
    late.pauses = 6;
    snprintf(want, sizeof want, "process %ld on ", (long)owner);
    refuses("stale", false, DG_LOCKED, "");
    DG_CHECKF(strstr(dg_message(), want), "%s", dg_message());
    DG_CHECK(!late.pauses);
    kill(owner, SIGKILL);
    waitpid(owner, NULL, 0);
    close(fd);
}

static void test_unknown_owner(void)
{
    static const struct {
        const char *text, *said;
    } owners[] = {{"host elsewhere.invalid\npid 4194305\nstarted now\n", "process 4194305 on elsewhere.invalid"},
                  {"host here\n", "in use by another run; wait until it ends"}};
    mkdir(temp_path("owned"), 0777);
    int fd = open(temp_path("owned/run.lock"), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    DG_CHECK(fd >= 0 && fcntl(fd, F_OFD_SETLK, &whole) == 0);
    for (size_t i = 0; i < sizeof owners / sizeof *owners; i++) {
        dg_rundir r;
        const size_t n = strlen(owners[i].text);
        DG_CHECK(ftruncate(fd, 0) == 0 && pwrite(fd, owners[i].text, n, 0) == (ssize_t)n);
        DG_REFUSED(open_it("owned", false, &r), DG_LOCKED, owners[i].said);
    }
    close(fd);
}

/* A run that could not start removes only the directories that it created. */
static void test_abandon(void)
{
    dg_rundir r;
    char name[4096];
    mkdir(temp_path("old"), 0777);
    DG_CHECK(open_it("old/new/run", false, &r) == DG_OK && r.made == 2);
    dg_rundir_abandon(&r);
    DG_CHECK(r.lock == -1 && !exists("old/new") && exists("old"));

    /* the directories contain config.ini and logs without rows */
    dg_log *log;
    DG_CHECK(open_it("old/new/run", false, &r) == DG_OK && dg_log_open(&r, &dg_gan_recipe, 0, &log) == DG_OK &&
             !dg_log_close(log));
    temp_put(dg_rundir_file(&r, name, "config.ini"), "[run]", 5);
    temp_put(dg_rundir_file(&r, name, "session.json"), "{\n\t\"version\":\t\"dcgan 0\"}", 25);
    DG_CHECK(dg_log_open(&r, &dg_gan_recipe, 0, &log) == DG_OK && !dg_log_events(log, &r, 0) && !dg_log_close(log));
    dg_rundir_abandon(&r);
    DG_CHECK(!exists("old/new") && exists("old"));

    DG_CHECK(open_it("old/new/run", false, &r) == DG_OK);
    temp_put(dg_rundir_file(&r, name, "skipped.txt"), "cat.png", 7);
    dg_rundir_abandon(&r);
    DG_CHECK(exists("old/new/run/skipped.txt") && !exists("old/new/run/run.lock"));

    DG_CHECK(open_it("old/new/run", false, &r) == DG_OK && r.made == 0);
    dg_rundir_abandon(&r);
    DG_CHECK(exists("old/new/run"));

    DG_CHECK(open_it("old/second", false, &r) == DG_OK && r.made == 1);
    temp_put(dg_rundir_file(&r, name, "checkpoint.safetensors"), "precious", 8);
    dg_rundir_abandon(&r);
    DG_CHECK(exists("old/second/checkpoint.safetensors") && exists("old/second/run.lock"));

    /* log rows are results, which no new run overwrites */
    const dg_log_row row = {.step = 1, .epoch = 1};
    DG_CHECK(open_it("old/third", false, &r) == DG_OK && !dg_log_open(&r, &dg_gan_recipe, 0, &log) &&
             !dg_log_events(log, &r, 0) && !dg_log_step(log, &row) && !dg_log_close(log));
    DG_CHECK(unlinkat(r.fd, "log.csv", 0) == 0 && unlinkat(r.fd, "log.jsonl", 0) == 0);
    dg_rundir_abandon(&r);
    DG_CHECK(exists("old/third/events.out.tfevents.run"));
    refuses("old/third", false, DG_USAGE, "");
}

/* Twenty processes open one run at the same time. The process that succeeds is killed and leaves a stale lock file. */
static void test_race(void)
{
    enum { PROCESSES = 20, ROUNDS = 10 };
    for (int round = 0; round < ROUNDS; round++) {
        int start[2], result[2];
        pid_t pid[PROCESSES];
        if (pipe(start) || pipe(result)) return;
        fflush(stdout);
        for (int i = 0; i < PROCESSES; i++)
            if ((pid[i] = fork()) == 0) {
                char c;
                close(start[1]);
                if (read(start[0], &c, 1) != 0) _exit(1); /* all processes start when the parent closes the pipe */
                dg_rundir r;
                struct {
                    dg_err code;
                    pid_t self, named;
                } answer = {0};
                answer.code = open_it("race", false, &r);
                answer.self = getpid();
                const char *p = answer.code ? strstr(dg_message(), "process ") : NULL;
                if (p) answer.named = (pid_t)atoi(p + 8);
                if (write(result[1], &answer, sizeof answer) != sizeof answer) _exit(1);
                if (answer.code == DG_OK) pause();
                _exit(0);
            }
        close(start[0]);
        close(start[1]);
        int won = 0, locked = 0, named = 0;
        pid_t winner = 0, names[PROCESSES];
        for (int i = 0; i < PROCESSES; i++) {
            struct {
                dg_err code;
                pid_t self, named;
            } answer;
            struct pollfd wait = {result[0], POLLIN, 0};
            if (poll(&wait, 1, 5000) != 1 || read(result[0], &answer, sizeof answer) != sizeof answer) break;
            if (answer.code == DG_OK) won++, winner = answer.self;
            if (answer.code == DG_LOCKED) names[locked++] = answer.named;
        }
        for (int i = 0; i < locked; i++) named += names[i] == winner;
        DG_CHECKF(won == 1 && locked == PROCESSES - 1, "round %d: %d won, %d locked out", round, won, locked);
        DG_CHECKF(named == locked, "round %d: only %d of %d name the winner", round, named, locked);
        for (int i = 0; i < PROCESSES; i++) kill(pid[i], SIGKILL);
        for (int i = 0; i < PROCESSES; i++) waitpid(pid[i], NULL, 0);
        close(result[0]);
        close(result[1]);
    }
}

/* A name that is too long for a file, or a path that would be truncated, is refused. */
static void test_long_names(void)
{
    dg_rundir r;
    char path[4096];
    DG_CHECK(open_it("names", false, &r) == DG_OK && dg_rundir_has(&r, "run.lock"));
    DG_CHECK(!dg_rundir_has(&r, "%s", "") && !dg_rundir_has(&r, "%0300d", 1));
    DG_CHECK(!*dg_rundir_file(&r, path, "%04096d", 1) && !!*dg_rundir_file(&r, path, "%0300d", 1));
    dg_rundir_close(&r);
}

DG_TESTS_IN("rundir", test_open, test_hold, test_existing_run, test_refusals, test_replaced, test_abandon, test_sweep,
            test_stale_name, test_unknown_owner, test_long_names, test_race)

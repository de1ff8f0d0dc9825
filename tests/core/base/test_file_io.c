/* Tests that a file is replaced completely or not at all, even if a system call fails or the process is killed. */
#include "atomic_files.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* ---- Wrappers that make system calls fail ---- */

enum { ERRNO, SHORT, KILL_BEFORE, KILL_AFTER, HOOK };
static struct {
    int at, mode, error; /* at: which system call fails, counted from 1; 0 means none */
    int calls, fsyncs, renamed;
    void (*hook)(void);
} fault;

static bool armed;
static bool fault_before(void)
{
    if (!armed || ++fault.calls != fault.at) return false;
    if (fault.mode == KILL_BEFORE) kill(getpid(), SIGKILL);
    if (fault.mode == HOOK) fault.hook();
    if (fault.mode == ERRNO) errno = fault.error;
    return fault.mode == ERRNO;
}
static long fault_after(long result)
{
    if (armed && fault.calls == fault.at && fault.mode == KILL_AFTER) kill(getpid(), SIGKILL);
    return result;
}

int openat(int dir, const char *name, int flags, ...)
{
    va_list ap;
    va_start(ap, flags);
    int mode = flags & O_CREAT ? va_arg(ap, int) : 0;
    va_end(ap);
    return fault_before() ? -1 : (int)fault_after(syscall(SYS_openat, dir, name, flags, mode));
}
ssize_t write(int fd, const void *data, size_t n)
{
    if (fault_before()) return -1;
    if (armed && fault.mode == SHORT && n > 7) n = 7;
    return fault_after(syscall(SYS_write, fd, data, n));
}
int fallocate(int fd, int mode, off_t at, off_t n)
{
    return fault_before() ? -1 : (int)fault_after(syscall(SYS_fallocate, fd, mode, at, n));
}
int fsync(int fd)
{
    fault.fsyncs += armed;
    return fault_before() ? -1 : (int)fault_after(syscall(SYS_fsync, fd));
}
static bool answer_lost;
int renameat(int a, const char *from, int b, const char *to)
{
    if (fault_before()) return -1;
    fault.renamed += armed;
    if (armed && answer_lost) {
        (void)syscall(SYS_renameat2, a, from, b, to, 0);
        errno = ENOENT;
        return -1;
    }
    return (int)fault_after(syscall(SYS_renameat2, a, from, b, to, 0));
}
int close(int fd)
{
    bool failed = fault_before(); /* Linux frees the descriptor even if close fails */
    long result = syscall(SYS_close, fd);
    return failed ? (errno = fault.error, -1) : (int)fault_after(result);
}
int fchmod(int fd, mode_t mode) { return fault_before() ? -1 : (int)fault_after(syscall(SYS_fchmod, fd, mode)); }

static dg_err armed_write(const char *path, const dg_chunk *p, int n, int at, int mode, int error)
{
    fault.at = at, fault.mode = mode, fault.error = error;
    fault.calls = fault.fsyncs = fault.renamed = 0;
    armed = true;
    dg_err e = dg_write_atomic(path, p, n);
    armed = false;
    return e;
}

static int in_child(int (*work)(void))
{
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        int failed = work();
        fflush(stdout);
        _exit(failed);
    }
    int status = -1;
    waitpid(pid, &status, 0);
    return status;
}

static bool reads(int dir, const char *path, size_t want)
{
    void *text;
    size_t got;
    if (dg_read_file_in(dir, path, 11, &text, &got)) return false;
    free(text);
    return got == want;
}

static void test_plain(void)
{
    const char *path = temp_path("plain");
    dg_chunk two[3] = {{"hello", 5}, {NULL, 0}, {" world", 6}};
    umask(027);
    DG_CHECK(dg_write_atomic(path, two, 3) == DG_OK);
    void *data;
    size_t n;
    DG_CHECK(dg_read_file(path, 11, &data, &n) == DG_OK && n == 11 && !strcmp(data, "hello world"));
    free(data);
    struct stat s;
    DG_CHECK(stat(path, &s) == 0 && (s.st_mode & 07777) == 0640);
    chmod(path, 0604);
    DG_CHECK(dg_write_atomic(path, two, 1) == DG_OK && stat(path, &s) == 0 && (s.st_mode & 07777) == 0604);
    DG_CHECK(s.st_size == 5);
    DG_CHECK(dg_write_atomic(path, NULL, 0) == DG_OK && stat(path, &s) == 0 && s.st_size == 0);
    umask(022);

    DG_CHECK(chdir(temp_dir) == 0 && dg_write_atomic("relative", two, 1) == DG_OK && access("relative", F_OK) == 0);
    DG_CHECK(chdir("/") == 0);

    /* A file is written into an open directory even after the directory was renamed. */
    mkdir(temp_path("place"), 0777);
    const int place = open(temp_path("place"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DG_CHECK(place >= 0 && rename(temp_path("place"), temp_path("moved")) == 0 && mkdir(temp_path("place"), 0777) == 0);
    const dg_directory unlocked = {place, -1, NULL};
    DG_CHECK(dg_write_atomic_in(&unlocked, temp_path("place/file"), two, 3) == DG_OK);
    DG_CHECK(access(temp_path("place/file"), F_OK) != 0 && access(temp_path("moved/file"), F_OK) == 0);
    DG_CHECK(reads(place, temp_path("place/file"), 11));
    /* A write into a run directory fails after the directory's lock file was removed. */
    const int lock = openat(place, "run.lock", O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    const dg_directory locked = {place, lock, "run.lock"};
    DG_CHECK(dg_write_atomic_in(&locked, temp_path("place/file"), two, 1) == DG_OK);
    DG_CHECK(unlink(temp_path("moved/run.lock")) == 0);
    DG_REFUSED(dg_write_atomic_in(&locked, temp_path("place/file"), two, 3), DG_IO, "run.lock was removed");
    temp_put(temp_path("moved/run.lock"), "", 0);
    DG_CHECK(dg_write_atomic_in(&locked, temp_path("place/file"), two, 3) == DG_IO);
    DG_CHECK(reads(place, "file", 5) && temp_count(temp_path("moved"), "tmp") == 0);
    close(lock);
    close(place);

    char longest[256];
    memset(longest, 'n', 255);
    longest[255] = 0;
    DG_CHECK(dg_write_atomic(temp_path(longest), two, 1) == DG_OK && access(temp_path(longest), F_OK) == 0);
}

static void test_targets(void)
{
    dg_chunk p = body('a', 10);
    const char *fifo = temp_path("fifo"), *dir = temp_path("dir"), *link = temp_path("link");
    mkfifo(fifo, 0600);
    mkdir(dir, 0700);
    DG_REFUSED(dg_write_atomic(fifo, &p, 1), DG_IO, "not a regular file");
    DG_REFUSED(dg_write_atomic(dir, &p, 1), DG_IO, "directory");
    DG_CHECK(dg_write_atomic("", &p, 1) == DG_IO && dg_write_atomic("/", &p, 1) == DG_IO);
    DG_REFUSED(dg_write_atomic(temp_path("no/such"), &p, 1), DG_IO, "No such file");
    DG_CHECK(dg_write_atomic("/dev/null", &p, 1) == DG_IO);

    temp_put(temp_path("target"), "kept", 4);
    DG_CHECK(symlink("target", link) == 0);
    struct stat s;
    DG_CHECK(dg_write_atomic(link, &p, 1) == DG_OK && lstat(link, &s) == 0 && S_ISREG(s.st_mode));
    DG_CHECK(stat(temp_path("target"), &s) == 0 && s.st_size == 4);

    void *data;
    size_t n;
    DG_CHECK(dg_read_file(fifo, 100, &data, &n) == DG_IO && strstr(dg_message(), "not a regular file") && !data);
    DG_REFUSED(dg_read_file(dir, 100, &data, &n), DG_IO, "directory");
    DG_REFUSED(dg_read_file(link, 9, &data, &n), DG_IO, "10 bytes");
    DG_REFUSED(dg_read_file(temp_path("none"), 9, &data, &n), DG_IO, "none");
    DG_REFUSED(dg_read_file("/proc/self/status", 100000, &data, &n), DG_IO, "changed");
    DG_CHECK(temporaries(temp_dir) == 0);
}

/* Runs as an unprivileged user, because root ignores file permissions. */
static int as_nobody(void)
{
    if (geteuid() == 0 && (setegid(65534) || seteuid(65534))) return 2;
    dg_chunk p = body('b', 10);
    int bad = 0;
    bad |= dg_write_atomic(temp_path("protected"), &p, 1) != DG_IO || !strstr(dg_message(), "write-protected");
    bad |= dg_write_atomic(temp_path("closed/x"), &p, 1) != DG_IO || !strstr(dg_message(), "Permission denied");
    if (getuid() == 0 && seteuid(0)) return 2; /* root again, so that the counts of a coverage build can be written */
    return bad;
}
static void test_permissions(void)
{
    temp_put(temp_path("protected"), "kept", 4);
    chmod(temp_path("protected"), 0444);
    mkdir(temp_path("closed"), 0555);
    chmod(temp_dir, 0777);
    int status = in_child(as_nobody);
    DG_CHECKF(WIFEXITED(status) && WEXITSTATUS(status) != 1, "permissions: status %d", status);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 2) dg_test_skip("cannot become another user");
    DG_CHECK(temporaries(temp_dir) == 0 && temporaries(temp_path("closed")) == 0);
}

static void test_every_call_fails(void)
{
    const int errors[] = {ENOSPC, EDQUOT, EFBIG, EIO, EROFS, EINTR};
    const char *path = temp_path("faulty");
    dg_chunk p[2] = {body('x', 5000), body('y', 3000)};
    DG_CHECK(armed_write(path, p, 2, 0, ERRNO, 0) == DG_OK && fault.fsyncs == 2);
    int retried = 0, late = 0;
    for (int i = 0; i < (int)(sizeof errors / sizeof errors[0]); i++)
        for (int k = 1;; k++) {
            dg_chunk old = body('o', 6000);
            if (dg_write_atomic(path, &old, 1)) break;
            dg_err e = armed_write(path, p, 2, k, ERRNO, errors[i]);
            if (fault.calls < k) {
                DG_CHECKF(e == DG_OK && k > 6, "only %d calls seen", fault.calls);
                break;
            }
            const char *why = dg_message();
            DG_CHECKF(e == DG_OK || strstr(why, path), "call %d, %s: %s", k, strerror(errors[i]), why);
            if (e && (errors[i] == ENOSPC || errors[i] == EDQUOT || errors[i] == EFBIG))
                DG_CHECKF(strstr(why, "8000 bytes needed") && !strstr(why, "bytes are free"), "call %d: %s", k, why);
            size_t n;
            char *data = temp_slurp(path, &n);
            if (dg_may_pass(errors[i])) {
                retried++;
                DG_CHECKF(e == DG_OK, "call %d, %s once: %s", k, strerror(errors[i]), why);
            }
            if (fault.renamed) {
                DG_CHECKF(data && n == 8000 && !memcmp(data, p[0].data, 5000), "call %d: new file torn", k);
                late += e == DG_IO;
            } else {
                DG_CHECKF(e == DG_IO, "call %d, %s: no error", k, strerror(errors[i]));
                DG_CHECKF(data && n == 6000 && !memcmp(data, old.data, n), "call %d: old file changed", k);
                DG_CHECKF(strstr(why, "untouched"), "call %d: %s", k, why);
                DG_CHECKF(fault.fsyncs <= 1, "call %d: fsync was tried again", k);
            }
            free(data);
            DG_CHECKF(temporaries(temp_dir) == 0, "call %d, %s: temporary left", k, strerror(errors[i]));
        }
    DG_CHECKF(late == 8, "close and fsync of the directory failed, but only %d times it was said", late);
    DG_CHECKF(retried >= 20, "only %d calls were tried again", retried);
    /* the rename succeeds but reports an error, so the next attempt finds no temporary file */
    dg_chunk before = body('o', 6000);
    DG_CHECK(dg_write_atomic(path, &before, 1) == DG_OK);
    answer_lost = true;
    DG_CHECK(armed_write(path, p, 2, 0, ERRNO, 0) == DG_OK && fault.renamed == 1 && fault.fsyncs == 2);
    answer_lost = false;
    DG_CHECK(armed_write(path, p, 2, 0, SHORT, 0) == DG_OK && fault.calls > 1000);
    size_t n;
    char *data = temp_slurp(path, &n);
    DG_CHECK(data && n == 8000 && !memcmp(data, p[0].data, 5000) && !memcmp(data + 5000, p[1].data, 3000));
    free(data);
    DG_CHECK(temporaries(temp_dir) == 0);
}

static int killed_at, killed_mode;
static int write_and_die(void)
{
    dg_chunk p[2] = {body('x', 5000), body('y', 3000)};
    armed_write(temp_path("killed"), p, 2, killed_at, killed_mode, 0);
    return 0;
}
static void test_killed_at_every_call(void)
{
    const char *path = temp_path("killed");
    int left = 0;
    for (killed_mode = KILL_BEFORE; killed_mode <= KILL_AFTER; killed_mode++)
        for (killed_at = 1; killed_at < 100; killed_at++) {
            dg_chunk old = body('o', 6000);
            DG_CHECK(dg_write_atomic(path, &old, 1) == DG_OK);
            int status = in_child(write_and_die);
            if (WIFEXITED(status)) break;
            size_t n;
            char *data = temp_slurp(path, &n);
            DG_CHECKF(data && ((n == 6000 && !memcmp(data, old.data, n)) ||
                               (n == 8000 && !memcmp(data, body('x', 5000).data, 5000) &&
                                !memcmp(data + 5000, body('y', 3000).data, 3000))),
                      "killed at call %d: file torn", killed_at);
            free(data);
            left += temporaries(temp_dir);
            sweep(temp_dir);
            DG_CHECKF(temporaries(temp_dir) == 0, "killed at call %d: sweep left a file", killed_at);
        }
    DG_CHECKF(left >= 6 && killed_at > 6, "the kills left %d temporaries: they hit nothing", left);
}

static int file_limit(void)
{
    struct rlimit r = {10000, 10000};
    setrlimit(RLIMIT_FSIZE, &r); /* a write beyond this limit raises SIGXFSZ, which must not end the process */
    dg_chunk big = body('b', 20000), small = body('s', 9000);
    int bad = dg_write_atomic(temp_path("limit"), &big, 1) != DG_IO || !strstr(dg_message(), "20000 bytes needed");
    bad |= armed_write(temp_path("limit"), &big, 1, 3, ERRNO, EOPNOTSUPP) != DG_IO;
    bad |= !strstr(dg_message(), "ulimit");
    return bad | (dg_write_atomic(temp_path("limit"), &small, 1) != DG_OK);
}
static void test_file_limit(void)
{
    dg_chunk old = body('o', 100);
    DG_CHECK(dg_write_atomic(temp_path("limit"), &old, 1) == DG_OK);
    int status = in_child(file_limit);
    DG_CHECKF(WIFEXITED(status) && WEXITSTATUS(status) == 0, "file size limit: status %d", status);
    DG_CHECK(is_body(temp_path("limit"), 's', 9000) && temporaries(temp_dir) == 0);
}

static int full_disk(void)
{
    const size_t size = 100000;
    char at[1200], file[1300];
    snprintf(at, sizeof at, "%s", temp_path("disk"));
    snprintf(file, sizeof file, "%s/file", at);
    mkdir(at, 0700);
    if (unshare(CLONE_NEWNS) || mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL)) return 2;
    int bad = 0, refused = 0, taken = 0;
    for (int pages = 26; pages <= 55; pages++) {
        if (mount("none", at, "tmpfs", 0, temp_text("size=%d", pages * 4096))) return 2;
        dg_chunk old = body('o', size), new = body('n', size);
        if (dg_write_atomic(file, &old, 1)) bad |= 1;
        dg_err e = dg_write_atomic(file, &new, 1);
        e ? refused++ : taken++;
        if (e) bad |= !strstr(dg_message(), "100000 bytes needed") || !strstr(dg_message(), "disk is full");
        bad |= !is_body(file, e ? 'o' : 'n', size) || temporaries(at) != 0;
        umount(at);
    }
    bad |= refused < 10 || taken < 4;
    if (mount("none", at, "tmpfs", 0, "nr_inodes=2")) return 2;
    dg_chunk p = body('p', 10);
    bad |= dg_write_atomic(file, &p, 1) != DG_OK;
    bad |= dg_write_atomic(file, &p, 1) != DG_IO || !strstr(dg_message(), "inodes") || !is_body(file, 'p', 10);
    mount("none", at, "tmpfs", MS_REMOUNT | MS_RDONLY, NULL);
    bad |= dg_write_atomic(file, &p, 1) != DG_IO || !strstr(dg_message(), "read-only");
    umount(at);
    if (bad) printf("full disk: %d refused, %d taken; %s\n", refused, taken, dg_message());
    return bad;
}
static void test_full_disk(void)
{
    int status = in_child(full_disk);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 2) {
        dg_test_skip("full disk: may not mount a tmpfs here");
        return;
    }
    DG_CHECKF(WIFEXITED(status) && WEXITSTATUS(status) == 0, "full disk: status %d", status);
}

static void vanish(void) { temp_remove(temp_path("vanishing")); }
static void test_vanishing_directory(void)
{
    dg_chunk p = body('v', 1000);
    for (int k = 2; k <= 5; k++) {
        mkdir(temp_path("vanishing"), 0700);
        fault.hook = vanish;
        DG_CHECK(armed_write(temp_path("vanishing/file"), &p, 1, k, HOOK, 0) == DG_IO);
    }
    DG_CHECK(dg_write_atomic(temp_path("vanishing/file"), &p, 1) == DG_IO);
    sweep(temp_path("vanishing"));
}

static void test_leftovers(void)
{
    dg_chunk p = body('l', 1000);
    mkdir(temp_path("left"), 0700);
    int fd = open(temp_path("left/.file.0-1.dcgan-tmp"), O_RDWR | O_CREAT, 0600);
    DG_CHECK(fd >= 0 && flock(fd, LOCK_EX) == 0);
    DG_CHECK(dg_write_atomic(temp_path("left/file"), &p, 1) == DG_OK && temporaries(temp_path("left")) == 1);
    close(fd); /* releases the lock on the temporary file, as if its process had ended */
    DG_CHECK(dg_write_atomic(temp_path("left/file"), &p, 1) == DG_OK && temporaries(temp_path("left")) == 0);
}

static void test_names_in_use(void)
{
    enum { NAMES = 3000 };
    char path[200];
    dg_chunk p = body('u', 10);
    mkdir(temp_path("used"), 0700);
    int fd = open(temp_path("used/.file.0-1.dcgan-tmp"), O_RDWR | O_CREAT, 0600);
    DG_CHECK(fd >= 0 && flock(fd, LOCK_EX) == 0);
    for (int i = 0; i < NAMES; i++) {
        snprintf(path, sizeof path, "used/.file.%ld-%d.dcgan-tmp", (long)getpid(), i);
        temp_put(temp_path(path), "", 0);
    }
    DG_REFUSED(dg_write_atomic(temp_path("used/file"), &p, 1), DG_IO, "File exists");
    DG_CHECK(temporaries(temp_path("used")) == NAMES + 1);
    close(fd);
    sweep(temp_path("used"));
}

static int left_behind = -1;
static void count_left(int number) { left_behind = number == SIGTERM ? temporaries(temp_path("left")) : -2; }
static void stop(void) { raise(SIGTERM); }
static void test_signal_waits(void)
{
    dg_chunk p = body('s', 1000);
    sigaction(SIGTERM, &(struct sigaction){.sa_handler = count_left}, NULL);
    fault.hook = stop;
    DG_CHECK(armed_write(temp_path("left/file"), &p, 1, 3, HOOK, 0) == DG_OK);
    DG_CHECKF(left_behind == 0, "%d temporary files are left where a signal comes", left_behind);
    signal(SIGTERM, SIG_DFL);
}

DG_TESTS_IN("atomic", test_plain, test_targets, test_permissions, test_every_call_fails, test_killed_at_every_call,
            test_file_limit, test_full_disk, test_vanishing_directory, test_leftovers, test_names_in_use,
            test_signal_waits)

/* Tests that unreadable images are retried, then skipped with a warning. A run must not resume with fewer images
 * unless the user permits it. */
#undef _FORTIFY_SOURCE /* _FORTIFY_SOURCE defines inline functions that this file replaces */
#include "host/cli/commands.h"
#include "child.h"
#include "command_line.h"
#include "dataset_folder.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/syscall.h>

/* Makes `times` calls of openat() (opening) or read() fail for files with this name, after `spared` calls of read().
 * With error 0, read() returns 0, as at the end of a file. */
static struct {
    const char *name; /* file name, "*.png" for all images, or NULL */
    bool opening;
    int error;
    atomic_int times, spared;
} fault;
static atomic_int failed, pauses;
static const char *unlisted; /* folder whose readdir() fails after its first entries, or NULL */
static int unlisted_error;

static bool now(const char *name, bool opening)
{
    const char *base = strrchr(name, '/');
    base = base ? base + 1 : name;
    if (!fault.name || fault.opening != opening) return false;
    if (!strcmp(fault.name, "*.png") ? !strstr(base, ".png") : strcmp(fault.name, base) != 0) return false;
    if (!opening && atomic_fetch_sub(&fault.spared, 1) > 0) return false;
    if (atomic_fetch_sub(&fault.times, 1) <= 0) return false;
    atomic_fetch_add(&failed, 1);
    errno = fault.error;
    return true;
}

ssize_t read(int fd, void *to, size_t n)
{
    char link[64], name[1024];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const ssize_t k = fault.name ? readlink(link, name, sizeof name - 1) : -1;
    if (k > 0 && (name[k] = 0, now(name, false))) return fault.error ? -1 : 0;
    return syscall(SYS_read, fd, to, n);
}

ssize_t pread(int fd, void *to, size_t n, off_t at)
{
    char link[64], name[1024];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const ssize_t k = fault.name ? readlink(link, name, sizeof name - 1) : -1;
    if (k > 0 && (name[k] = 0, now(name, false))) return fault.error ? -1 : 0;
    return syscall(SYS_pread64, fd, to, n, at);
}

int openat(int folder, const char *name, int flags, ...)
{
    va_list ap;
    va_start(ap, flags);
    const mode_t mode = flags & O_CREAT ? va_arg(ap, mode_t) : 0;
    va_end(ap);
    return now(name, true) ? -1 : (int)syscall(SYS_openat, folder, name, flags, mode);
}

struct dirent *readdir(DIR *d)
{
    static struct dirent *(*next)(DIR *);
    char link[64], name[1024];
    if (!next) *(void **)&next = dlsym(RTLD_NEXT, "readdir");
    snprintf(link, sizeof link, "/proc/self/fd/%d", dirfd(d));
    const ssize_t k = unlisted ? readlink(link, name, sizeof name - 1) : -1;
    if (k > 0 && (name[k] = 0, !strcmp(strrchr(name, '/') + 1, unlisted)) && telldir(d)) {
        errno = unlisted_error;
        return NULL;
    }
    return next(d);
}

int nanosleep(const struct timespec *t, struct timespec *rest)
{
    (void)t, (void)rest;
    atomic_fetch_add(&pauses, 1);
    return 0;
}

static char run[600], said[600];

static void fail(const char *name, bool opening, int error, int times)
{
    fault.name = name;
    fault.opening = opening;
    fault.error = error;
    atomic_store(&fault.times, times), atomic_store(&fault.spared, 0);
    atomic_store(&failed, 0), atomic_store(&pauses, 0);
}

static dg_dataset_options cached(void)
{
    dg_dataset_options o = options();
    unlink(cache);
    o.cache = cache;
    o.skipped = skipped;
    return o;
}

/* Loads a dataset and writes its warnings to the file `said`. */
static dg_err load(const dg_dataset_options *o, dg_dataset *d)
{
    fflush(stderr);
    const int screen = dup(2), to = open(said, O_CREAT | O_TRUNC | O_WRONLY, 0666);
    dup2(to, 2);
    const dg_err e = dg_dataset_load(o, d);
    fflush(stderr);
    dup2(screen, 2);
    close(screen), close(to);
    fault.name = NULL;
    return e;
}

static bool says(const char *what)
{
    char *text = temp_slurp(said, NULL);
    const bool found = text && (*what ? strstr(text, what) != NULL : !*text);
    free(text);
    return found;
}

static uint64_t all_of_them;

static void for_a_moment(void)
{
    static const struct {
        const char *name;
        bool opening;
        int error, times;
    } way[] = {
        {"03.png", false, EIO, 1},   {"03.png", false, EIO, 3},     {"03.png", true, EINTR, 3},
        {"00.png", true, ESTALE, 2}, {"sub", true, ESTALE, 3},      {"in.png", false, ESTALE, 2},
        {"03.png", false, EINTR, 9}, {"*.png", true, ETIMEDOUT, 3}, {"notes.txt", true, EIO, 3},
    };
    for (size_t i = 0; i < sizeof way / sizeof *way; i++) {
        dg_dataset d;
        const dg_dataset_options o = cached();
        fail(way[i].name, way[i].opening, way[i].error, way[i].times);
        const dg_err e = load(&o, &d);
        DG_CHECKF(!e && d.count == 21 && d.skips == 1 && d.fingerprint == all_of_them, "way %zu: %d \"%s\", %d images",
                  i, (int)e, e ? dg_message() : "", d.count);
        DG_CHECKF(says("") && !access(cache, F_OK), "way %zu: a warning, or no cache", i);
        DG_CHECKF(atomic_load(&failed) == way[i].times, "way %zu: %d failures", i, atomic_load(&failed));
        dg_dataset_free(&d);
    }
}

static void for_good(void)
{
    dg_dataset d;
    dg_dataset_options o = cached();
    fail("03.png", false, EIO, 1000);
    DG_CHECKF(!load(&o, &d) && d.count == 20 && d.skips == 2 && d.skip[0].unread && d.skip[0].bad, "%s", dg_message());
    DG_CHECKF(says("dcgan: warning: ") && says("/03.png: cannot be read: Input/output error"), "warning");
    DG_CHECK(access(cache, F_OK) && atomic_load(&failed) == 4 && atomic_load(&pauses) == 3);
    dg_dataset_free(&d);
    DG_CHECK(!load(&o, &d) && d.count == 21 && says("") && !access(cache, F_OK));
    dg_dataset_free(&d);

    o = cached();
    fail("sub", true, ESTALE, 1000);
    DG_CHECKF(load(&o, &d) == DG_IO && strstr(dg_message(), "/sub: a folder that cannot be opened: ") &&
                  strstr(dg_message(), "check the disk") && strstr(dg_message(), "or use --skip-unreadable"),
              "%s", dg_message());
    o.skip_unreadable = true;
    fail("sub", true, ESTALE, 1000);
    DG_CHECKF(!load(&o, &d) && d.count == 20 && access(cache, F_OK), "%s", dg_message());
    DG_CHECK(says("warning: an unknown number of images is missing: ") &&
             says("/sub: a folder that cannot be opened: "));
    dg_dataset_free(&d);
    fail("sub", true, EMFILE, 1000);
    DG_REFUSED(load(&o, &d), DG_DEVICE, "/sub: cannot be opened: ");

    fail("03.png", true, EACCES, 1000); /* not retried, because the error is permanent */
    DG_CHECK(!load(&o, &d) && d.count == 20 && says("Permission denied") && atomic_load(&pauses) == 0 &&
             access(cache, F_OK));
    dg_dataset_free(&d);

    fail("03.png", false, 0, 1);
    DG_CHECK(!load(&o, &d) && d.count == 20 && says("/03.png: became shorter while it was read") &&
             atomic_load(&failed) == 1 && access(cache, F_OK));
    dg_dataset_free(&d);

    save_noise(root, 20, 70, 5);
    static const int denied[] = {EACCES, EPERM};
    for (int i = 0; i < 2; i++) {
        fail("*.png", true, denied[i], 1 << 20);
        DG_REFUSED(load(&o, &d), DG_DATA, "give read permission (chmod u+r)");
    }
    for (o.threads = 1; o.threads < 4; o.threads++) { /* only some of the unreadable files are retried */
        fail("*.png", false, EIO, 1 << 20);
        DG_REFUSED(load(&o, &d), DG_DATA, "71 of 71 images cannot be read");
        DG_CHECKF(says("71 unreadable files") && says("00.png: "), "warning");
        DG_CHECKF(atomic_load(&pauses) <= 3 * 34, "%d pauses", atomic_load(&pauses));
    }
}

/* A cache that cannot be read is written again: its header, its lists and each image are read by one call. Reading an
 * image is tried again. */
static void unread_cache(void)
{
    static const struct {
        int spared, times;
        const char *words;
    } read[] = {{0, 1, "cannot be read"}, {1, 1, "cannot be read"}, {2, 3, ""}, {2, 4, "cannot be read"}, {99, 1, ""}};
    dg_dataset d;
    const dg_dataset_options o = cached();
    DG_CHECK(!load(&o, &d));
    dg_dataset_free(&d);
    for (size_t i = 0; i < sizeof read / sizeof *read; i++) {
        const char *words = read[i].words;
        fail("cache", false, EIO, read[i].times);
        atomic_store(&fault.spared, read[i].spared);
        DG_CHECKF(!load(&o, &d) && d.count == 21 && d.fingerprint == all_of_them, "%s", dg_message());
        DG_CHECKF(says(words) && d.cached == !*words, "%d calls before", read[i].spared);
        dg_dataset_free(&d);
    }
}

/* If a folder cannot be opened or listed, each errno gives its expected error or warning. */
static void lost_folders(void)
{
    static const struct {
        int error;
        bool listing;
        dg_err want;
        const char *advice;
    } way[] = {
        {EACCES, false, DG_DATA, "chmod -R u+rX"}, {EPERM, false, DG_DATA, "chmod -R u+rX"},
        {EIO, false, DG_IO, "check the disk"},     {ENOENT, false, DG_DATA, "wait until no program"},
        {ELOOP, false, DG_DATA, "shorter path"},   {ENAMETOOLONG, false, DG_DATA, "shorter path"},
        {EIO, true, DG_IO, "check the disk"},      {ESTALE, true, DG_IO, "check the disk"},
        {EACCES, true, DG_DATA, "chmod -R u+rX"},
    };
    for (size_t i = 0; i < 4 * sizeof way / sizeof *way; i++) {
        const size_t k = i / 4;
        dg_dataset d;
        dg_dataset_options o = cached();
        o.skip_unreadable = i % 2;
        o.strict = i & 2;
        unlisted_error = way[k].error;
        if (way[k].listing) unlisted = "sub";
        else fail("sub", true, way[k].error, 1000);
        const dg_err e = load(&o, &d);
        unlisted = NULL;
        if (o.skip_unreadable) {
            DG_CHECKF(!e && d.count >= 20 && says("an unknown number of images is missing: ") && says("/sub: a folder"),
                      "way %zu: %d", k, (int)e);
            DG_CHECK(access(cache, F_OK));
            if (!e) dg_dataset_free(&d);
        } else {
            DG_CHECKF(e == way[k].want && strstr(dg_message(), way[k].advice), "way %zu: %d %s", k, (int)e,
                      dg_message());
        }
    }
    dg_dataset d;
    dg_dataset_options o = cached();
    o.skip_unreadable = true;
    unlisted = "cats", unlisted_error = EIO;
    DG_REFUSED(load(&o, &d), DG_IO, "cannot be listed");
    unlisted = NULL;
}

static int command(void *context, char *message)
{
    dg_options o;
    if (!freopen(said, "w", stderr) || !freopen("/dev/null", "w", stdout)) return 99;
    dg_err e = parse_line(context, &o);
    if (!e) e = (dg_err)(o.command == DG_CMD_DATA ? dg_cmd_data(&o) : dg_cmd_train(&o));
    snprintf(message, 256, "%s",
             e ? strstr(dg_message(), "/cats: ") ? strstr(dg_message(), "/cats: ") : dg_message() : "");
    fflush(stderr);
    return (int)e;
}

static void runs(const char *words, int code, const char *message)
{
    char text[2100];
    snprintf(text, sizeof text, "%s --threads 1 -q", words);
    child_result r = in_child(command, text, 0);
    DG_CHECKF(r.code == code && strstr(r.message, message), "%s: %d \"%s\"", text, r.code, r.message);
}

/* A run is resumed only with the images of its training. */
static void resuming(void)
{
    char words[2048], list[700];
    snprintf(words, sizeof words,
             "--data %s --model tests/tiny.cfg --batch 8 --epochs 1 --no-curves --device cpu --out %s", root, run);
    runs(words, 0, "");
    snprintf(words, sizeof words, "--resume --epochs 2 --out %s", run);
    fail("03.png", false, EIO, 2);
    runs(words, 0, "");
    DG_CHECK(says(""));
    snprintf(words, sizeof words, "--resume --epochs 3 --out %s", run);
    snprintf(list, sizeof list, "%s/skipped.txt", run);
    fail("03.png", false, EIO, 1000);
    runs(words, DG_DATA, "21 images before, 20 now");
    DG_CHECK(says("/03.png: cannot be read: ") && !access(list, F_OK));
    runs(words, DG_DATA, "");
    fault.name = NULL;
    runs(words, 0, "");

    DG_CHECK(!rename(at("03.png"), temp_path("kept")));
    runs(temp_text("--resume --epochs 4 --out %s", run), 0, "");
    DG_CHECK(says("run"));
    runs(temp_text("--resume --epochs 4 --allow-data-change --out %s", run), 0, "");
    DG_CHECK(says("20 now"));
    /* the run now has 20 images */
    runs(temp_text("--resume --epochs 5 --out %s", run), 0, "");
    DG_CHECK(says("") && !rename(temp_path("kept"), at("03.png")));
}

int main(void)
{
    dg_speak_as_program();
    begin_at("cats");
    snprintf(run, sizeof run, "%s", temp_path("run"));
    snprintf(said, sizeof said, "%s", temp_path("said"));
    mkdir(at("sub"), 0777);
    save_noise(root, 0, 20, 5);
    save("sub/in.png", png_noise(5, 5, 20));
    save_text("notes.txt", "text");
    resuming(); /* first, because its child processes cannot use OpenMP threads of this process */
    dg_dataset d;
    const dg_dataset_options o = cached();
    DG_CHECKF(!load(&o, &d) && d.count == 21, "%s", dg_message());
    all_of_them = d.fingerprint;
    dg_dataset_free(&d);
    for_a_moment();
    lost_folders();
    unread_cache();
    for_good();
    end();
    return dg_test_report();
}

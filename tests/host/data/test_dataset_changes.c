/* Tests folders that change while they are loaded, folders without read permission, and cancellation. */
#include "child.h"
#include "dataset_folder.h"

#include <grp.h>

/* Changes files after the folder is listed and before they are read. */
static void (*change)(void);
static void on_first(void *context, long done, long total)
{
    (void)context, (void)total;
    if (done == 0) change();
}

static void vanish(void)
{
    unlink(at("05.png"));
    unlink(at("06.png"));
    if (mkfifo(at("06.png"), 0666)) abort(); /* opening the FIFO would block */
    if (truncate(at("07.png"), 0) || truncate(at("08.png"), 50)) abort();
    unlink(at("09.png"));
    mkdir(at("09.png"), 0777);
}

static void changing_files(void)
{
    begin();
    save_noise(root, 0, 60, 2);
    dg_dataset_options o = options();
    o.progress = on_first;
    o.cache = cache;
    change = vanish;
    dg_dataset d;
    if (loads(&o, &d)) {
        DG_CHECK(d.count == 55 && d.skips == 5);
        static const char *const want[][2] = {{"05.png", "vanished"},
                                              {"06.png", "no longer"},
                                              {"07.png", "empty"},
                                              {"08.png", "PNG: "},
                                              {"09.png", "no longer"}};
        for (int i = 0; i < 5; i++)
            DG_CHECKF(strstr(reason_of(&d, want[i][0]), want[i][1]) == reason_of(&d, want[i][0]), "%s", want[i][0]);
        DG_CHECK(access(o.cache, F_OK)); /* no cache, because the next load may give other images */
    }
    dg_dataset_free(&d);
    end();
}

/* Replaces an image after the folder is listed. The cache must not contain the replacement. */
static void replace(void) { save("03.png", png_noise(2, 2, 99)); }

static void replaced_file(void)
{
    begin();
    save_noise(root, 0, 10, 2);
    dg_dataset_options o = options();
    o.cache = cache;
    o.progress = on_first;
    change = replace;
    dg_dataset d;
    LOADS(&o, d, d.count == 10 && access(o.cache, F_OK));
    o.progress = NULL;
    LOADS(&o, d, d.count == 10 && !access(o.cache, F_OK));
    end();
}

/* Runs as an unprivileged user, because root can read every file. */
static int as_other_user(void *context, char *message)
{
    (void)context, (void)message;
    if (geteuid() == 0 && (setgroups(0, NULL) || setresgid(65534, 65534, 65534) || setresuid(65534, 65534, 65534)))
        return 2;
    dg_dataset_options o = options();
    o.threads = 1; /* after a fork, gcc's OpenMP cannot start threads if the parent has OpenMP threads */
    dg_dataset d;
    fails(&o, DG_DATA, "/closed: a folder that cannot be opened: Permission denied");
    fails(&o, DG_DATA, "chmod -R u+rX ");
    fails(&o, DG_DATA, "; 1 more folder cannot be read");
    o.skip_unreadable = true;
    if (!loads(&o, &d)) return 1;
    DG_CHECK(d.count == 20 && d.skips == 5 && bad_count(&d) == 2);
    static const char *const denied[] = {"listed/dir", "listed/in.png", "secret.png", "closed", "link"};
    for (int i = 0; i < 5; i++) DG_CHECKF(strstr(reason_of(&d, denied[i]), "Permission denied"), "%s", denied[i]);
    DG_CHECK(d.skip[2].folder == EACCES && !d.skip[1].folder && !d.skip[3].folder);
    dg_dataset_free(&d);
    o.dir = at("closed");
    fails(&o, DG_DATA, "Permission denied");
    return dg_test_failed_ != 0;
}

static void unreadable(void)
{
    begin();
    if (geteuid() == 0 && chown(root, 65534, 65534)) abort();
    save_noise(root, 0, 20, 2);
    save("secret.png", png_noise(2, 2, 1));
    mkdir(at("closed"), 0777), mkdir(at("listed"), 0777), mkdir(at("listed/dir"), 0777);
    save("listed/in.png", png_noise(2, 2, 1));
    DG_CHECK(!symlink(at("closed/file"), at("link")));
    chmod(at("secret.png"), 0), chmod(at("closed"), 0), chmod(at("listed"), 0444);
    child_result r = in_child(as_other_user, NULL, 0);
    DG_CHECKF(r.code == 0, "%d", r.code);
    chmod(at("closed"), 0777), chmod(at("listed"), 0777);
    end();
}

static long calls, last;
static void count_calls(void *context, long done, long total)
{
    (void)context;
    calls++;
    DG_CHECK(done >= last && done <= total && total == 2);
    last = done;
}

static bool is_cancelled(void *of) { return *(const bool *)of; }

static void progress_and_stop(void)
{
    begin();
    save("a.png", png_noise(2, 2, 1));
    save("b.png", png_noise(2, 2, 2));
    dg_dataset_options o = options();
    o.progress = count_calls;
    dg_dataset d;
    LOADS(&o, d, calls >= 2 && last == 2);
    bool cancelled = false;
    o.progress = NULL;
    o.cancelled = is_cancelled;
    o.cancel_arg = &cancelled;
    LOADS(&o, d, d.count == 2);
    cancelled = true;
    fails(&o, DG_FAILED, "stopped");
    end();
}

DG_TESTS(changing_files, replaced_file, unreadable, progress_and_stop)

/* Tests that older checkpoints are named after their epoch, and that rewinding a run keeps all files. */
#include "run_files.h"

#include <dlfcn.h>
#include <errno.h>

static int listing; /* errno of readdir() after the first entry, or 0 */

struct dirent *readdir(DIR *d)
{
    static struct dirent *(*next)(DIR *);
    if (!next) *(void **)&next = dlsym(RTLD_NEXT, "readdir");
    if (!listing || !telldir(d)) return next(d);
    errno = listing;
    return NULL;
}

static void test_keep(void)
{
    begin();
    DG_CHECK(dg_history_keep(&r, 3) == DG_OK && holds("checkpoint-0003.safetensors", NULL));
    put("checkpoint.safetensors", "three");
    for (int twice = 0; twice < 2; twice++)
        DG_CHECK(dg_history_keep(&r, 3) == DG_OK && holds("checkpoint-0003.safetensors", "three"));
    put("checkpoint.safetensors", "four");
    put("checkpoint-0004.safetensors", "false");
    DG_CHECK(dg_history_keep(&r, 4) == DG_OK && holds("checkpoint-0004.safetensors", "four"));
    DG_CHECK(holds("checkpoint-0003.safetensors", "three"));
    mkdir(in_run("checkpoint-0005.safetensors"), 0777);
    DG_REFUSED(dg_history_keep(&r, 5), DG_IO, "checkpoint-0005");
    rmdir(in_run("checkpoint-0005.safetensors"));
    dg_rundir_close(&r);
}

static void test_prune(void)
{
    static const char *const other[] = {"checkpoint-.safetensors", "checkpoint-0001.safetensors.old",
                                        "checkpoint-12345678901.safetensors", "checkpoint-1x.safetensors",
                                        "xcheckpoint-0001.safetensors"};
    char name[300];
    begin();
    DG_CHECK(dg_history_newest(&r, UINT64_MAX, name) == DG_OK && !*name);
    for (int i = 8; i <= 12; i++) {
        snprintf(name, sizeof name, "checkpoint-%04d.safetensors", i);
        put(name, "x");
    }
    for (size_t i = 0; i < sizeof other / sizeof other[0]; i++) put(other[i], "x");
    DG_CHECK(dg_history_newest(&r, UINT64_MAX, name) == DG_OK && !strcmp(name, "checkpoint-0012.safetensors"));
    DG_CHECK(dg_history_newest(&r, 12, name) == DG_OK && !strcmp(name, "checkpoint-0011.safetensors"));
    DG_CHECK(dg_history_newest(&r, 8, name) == DG_OK && !*name);
    /* An error that looked like an empty directory would make the run restart and overwrite its files. */
    static const int errors[] = {EMFILE, ENFILE, ENOMEM, EIO};
    for (int i = 0; i < 4; i++) {
        listing = errors[i];
        DG_CHECK(dg_history_newest(&r, UINT64_MAX, name) == (listing == EIO ? DG_IO : DG_DEVICE));
        DG_CHECKF(strstr(dg_message(), "cannot be listed: ") && strstr(dg_message(), strerror(listing)), "%s",
                  dg_message());
    }
    dg_history_prune(&r, 0);
    listing = 0;
    DG_CHECK(holds("checkpoint-0012.safetensors", "x"));
    dg_history_prune(&r, 2);
    DG_CHECK(holds("checkpoint-0010.safetensors", NULL) && holds("checkpoint-0011.safetensors", "x"));
    DG_CHECK(temp_count(temp_path("run"), "checkpoint") == 2 + (int)(sizeof other / sizeof other[0]));
    dg_history_prune(&r, 0);
    DG_CHECK(temp_count(temp_path("run"), "checkpoint") == (int)(sizeof other / sizeof other[0]));
    dg_rundir_close(&r);
}

static void test_go_back(void)
{
    char moved[64];
    make_run();
    /* a rewind to the last epoch moves no file */
    DG_CHECK(dg_history_go_back(&r, "run/checkpoint.safetensors", 6, moved) == DG_OK && !*moved);
    DG_CHECK(dg_history_go_back(&r, "run/checkpoint-0004.safetensors", 4, moved) == DG_OK &&
             !strcmp(moved, "later-than-0004"));
    went_back("later-than-0004");
    DG_CHECK(dg_history_go_back(&r, "checkpoint-0004.safetensors", 4, moved) == DG_OK && !*moved);
    put("checkpoint.safetensors", "another five");
    DG_CHECK(dg_history_go_back(&r, "run/checkpoint-0004.safetensors", 4, moved) == DG_OK &&
             !strcmp(moved, "later-than-0004-2"));
    DG_CHECK(holds("later-than-0004/checkpoint.safetensors", "within seven"));
    DG_CHECK(holds("later-than-0004-2/checkpoint.safetensors", "another five"));
    dg_rundir_close(&r);
}

/* The next start completes a killed rewind, or undoes the rewind if the newest checkpoint was not yet replaced. */
static void test_cut_off(void)
{
    char moved[64];
    make_run();
    mkdir(in_run("later-than-0004"), 0777);
    put("later-than-0004/going-back", "checkpoint-0004.safetensors\n4\n");
    DG_CHECK(link(in_run("checkpoint.safetensors"), in_run("later-than-0004/checkpoint.safetensors")) == 0);
    DG_CHECK(dg_history_take_up(&r) == DG_OK);
    DG_CHECK(temp_count(temp_path("run"), "later") == 0 && holds("checkpoint.safetensors", "within seven"));
    dg_rundir_close(&r);

    make_run();
    mkdir(in_run("later-than-0004"), 0777);
    put("later-than-0004/going-back", "checkpoint-0004.safetensors\n4\n");
    DG_CHECK(rename(in_run("checkpoint.safetensors"), in_run("later-than-0004/checkpoint.safetensors")) == 0);
    DG_CHECK(rename(in_run("checkpoint-0006.safetensors"), in_run("later-than-0004/checkpoint-0006.safetensors")) == 0);
    /* without hard links the newest checkpoint may be missing during a rewind */
    for (int there = 0; there < 2; there++) {
        if (there) DG_CHECK(link(in_run("checkpoint-0004.safetensors"), in_run("checkpoint.safetensors")) == 0);
        if (there) put("later-than-0004/going-back", "checkpoint-0004.safetensors\n4\n");
        if (there) put("epoch-0005.png", "image 5");
        DG_CHECK(dg_history_take_up(&r) == DG_OK);
        went_back("later-than-0004");
        DG_CHECK(holds("later-than-0004/going-back", NULL));
        if (!there) unlink(in_run("checkpoint.safetensors"));
    }
    DG_CHECK(holds("later-than-0004/epoch-0005.png", "image 5"));
    DG_CHECK(dg_history_go_back(&r, "run/checkpoint.safetensors", 4, moved) == DG_OK && !*moved);
    dg_rundir_close(&r);

    make_run();
    mkdir(in_run("later-than-0004-2"), 0777);
    put("later-than-0004-2/.going-back.0-1.dcgan-tmp", "check");
    DG_CHECK(dg_history_take_up(&r) == DG_OK && temp_count(temp_path("run"), "later") == 0);
    dg_rundir_close(&r);

    /* directories with names such as later-than-backup belong to the user */
    make_run();
    mkdir(in_run("later-than-backup"), 0777);
    mkdir(in_run("later-than-mine"), 0777);
    put("later-than-backup/checkpoint.safetensors", "mine");
    DG_CHECK(dg_history_take_up(&r) == DG_OK && holds("epoch-0006.png", "image 6") &&
             holds("checkpoint-0006.safetensors", "six"));
    DG_CHECK(holds("later-than-backup/checkpoint.safetensors", "mine"));
    put("later-than-backup/going-back", "tomorrow");
    DG_CHECK(dg_history_take_up(&r) == DG_OK && holds("later-than-backup/checkpoint.safetensors", "mine"));
    DG_CHECK(temp_count(temp_path("run"), "later-than-mine") == 1);
    dg_rundir_close(&r);

    static const char *const similar[] = {"-004",    "-0123456789", "-0004-",      "-0004-0", "-0004-02",
                                          "-0004_2", "-0004-2b",    "-0004-12345", "_0004",   ""};
    make_run();
    for (size_t i = 0; i < sizeof similar / sizeof *similar; i++) {
        char name[80];
        mkdir(in_run(temp_text("later-than%s", similar[i])), 0777);
        snprintf(name, sizeof name, "later-than%s/going-back", similar[i]);
        put(name, "checkpoint-0004.safetensors\n4\n");
        DG_CHECK(dg_history_take_up(&r) == DG_OK && holds("checkpoint.safetensors", "within seven"));
        DG_CHECKF(holds(name, "checkpoint-0004.safetensors\n4\n"), "%s: removed", name);
    }
    dg_rundir_close(&r);
}

/* A rewind's marker file, going-back, may name any checkpoint that the program writes. */
static void test_markers(void)
{
    static const char *const own[] = {"best.safetensors", "checkpoint-best.safetensors",
                                      "checkpoint-chosen.safetensors"};
    for (int i = 0; i < 3; i++) {
        char text[80];
        make_run();
        put(own[i], "four");
        snprintf(text, sizeof text, "%s\n4\n", own[i]);
        mkdir(in_run("later-than-000000004-9999"), 0777);
        put("later-than-000000004-9999/going-back", text);
        DG_CHECKF(dg_history_take_up(&r) == DG_OK && holds("checkpoint.safetensors", "within seven"), "%s: %s", own[i],
                  dg_message());
        DG_CHECK(temp_count(temp_path("run"), "later") == 0); /* the rewind was undone */
        dg_rundir_close(&r);
    }
}

/* A rewind to a symbolic link makes the link's target the newest checkpoint. */
static void test_go_back_by_link(void)
{
    char moved[64];
    struct stat s;
    make_run();
    DG_CHECK(symlink("checkpoint-0004.safetensors", in_run("best.safetensors")) == 0);
    DG_CHECK(dg_history_go_back(&r, "run/best.safetensors", 4, moved) == DG_OK && !strcmp(moved, "later-than-0004"));
    DG_CHECK(lstat(in_run("checkpoint.safetensors"), &s) == 0 && S_ISREG(s.st_mode));
    went_back("later-than-0004");
    DG_CHECK(dg_history_keep(&r, 4) == DG_OK && holds("checkpoint-0004.safetensors", "four"));
    dg_rundir_close(&r);
}

/* Refuses marker files that are invalid or name a file that is not a checkpoint of this run. */
static void test_hostile(void)
{
    static char long_name[300];
    memset(long_name, 'x', sizeof long_name - 2);
    long_name[sizeof long_name - 2] = '\n';
    const char *const marker[] = {"../secret\n4\n",
                                  "/etc/passwd\n4\n",
                                  "notes.txt\n4\n",
                                  "checkpoint-4.safetensors\n4\n",
                                  "checkpoint-00004.safetensors\n4\n",
                                  "checkpoint-0007.safetensors\n4\n", /* a symbolic link */
                                  "checkpoint-0004.safetensors\n-1\n",
                                  "checkpoint-0004.safetensors\n1234567890\n",
                                  "checkpoint-0004.safetensors\n4\n4\n",
                                  "checkpoint-4444444444444444444444444444444444444444444444444.safetensors\n4\n",
                                  long_name,
                                  "checkpoint-0004.safetensors\n4",
                                  "checkpoint-0004.safetensors",
                                  ""};
    struct stat s;
    char moved[64];
    make_run();
    temp_put(temp_path("secret"), "secret", 6);
    DG_CHECK(symlink("../secret", in_run("checkpoint-0007.safetensors")) == 0);
    mkdir(in_run("later-than-0004"), 0777);
    put("later-than-0004/checkpoint.safetensors", "seven");
    for (int there = 0; there < 2; there++) {
        for (size_t i = 0; i < sizeof marker / sizeof *marker; i++) {
            put("later-than-0004/going-back", marker[i]);
            if (!there) unlink(in_run("checkpoint.safetensors"));
            DG_CHECKF(dg_history_take_up(&r) == DG_IO && strstr(dg_message(), "later-than-0004/going-back"), "%s: %s",
                      marker[i], dg_message());
            DG_CHECK(holds("checkpoint.safetensors", there ? "six" : NULL) && holds("log.csv", "rows"));
        }
        put("checkpoint.safetensors", "six");
    }
    unlink(in_run("later-than-0004/going-back"));
    DG_CHECK(symlink("../../secret", in_run("later-than-0004/going-back")) == 0);
    DG_REFUSED(dg_history_take_up(&r), DG_IO, "symbolic link");
    unlink(in_run("later-than-0004/going-back"));

    /* A rewind copies and renames symbolic links, and never changes their targets. */
    unlink(in_run("log.csv"));
    DG_CHECK(symlink("../secret", in_run("log.csv")) == 0);
    DG_CHECK(symlink("../secret", in_run("best.safetensors")) == 0);
    DG_CHECK(dg_history_go_back(&r, "run/checkpoint-0007.safetensors", 7, moved) == DG_USAGE && !*moved);
    DG_CHECK(dg_history_go_back(&r, "run/checkpoint-0004.safetensors", 4, moved) == DG_OK);
    DG_CHECK(lstat(in_run("later-than-0004-2/log.csv"), &s) == 0 && S_ISLNK(s.st_mode));
    unlink(in_run("checkpoint.safetensors"));
    DG_CHECK(symlink("../secret", in_run("checkpoint.safetensors")) == 0);
    DG_CHECK(dg_history_keep(&r, 9) == DG_OK);
    DG_CHECK(lstat(in_run("checkpoint-0009.safetensors"), &s) == 0 && S_ISLNK(s.st_mode));
    DG_CHECK(stat(temp_path("secret"), &s) == 0 && s.st_nlink == 1);
    dg_rundir_close(&r);
}

/* The names of all folders for later files are in use. */
static void test_no_free_name(void)
{
    char moved[64];
    make_run();
    for (int i = 1; i < 10000; i++)
        DG_CHECK(!mkdir(in_run(i > 1 ? temp_text("later-than-0004-%d", i) : "later-than-0004"), 0777));
    DG_REFUSED(dg_history_go_back(&r, "run/checkpoint-0004.safetensors", 4, moved), DG_IO, "later-than-0004-9999");
    DG_CHECK(holds("checkpoint.safetensors", files[0][1]) && holds("log.csv", "rows"));
    DG_CHECK(!rmdir(in_run("later-than-0004-9999")));
    DG_WORKS(dg_history_go_back(&r, "run/checkpoint-0004.safetensors", 4, moved));
    went_back("later-than-0004-9999");
    dg_rundir_close(&r);
}

/* A run can be rewound to a checkpoint with any name. */
static void test_go_back_to_copy(void)
{
    char moved[64];
    make_run();
    put("before-the-change.safetensors", "four");
    put("checkpoint-0004.safetensors", "four");
    DG_CHECK(dg_history_go_back(&r, "run/before-the-change.safetensors", 4, moved) == DG_OK);
    went_back("later-than-0004");
    DG_CHECK(holds("before-the-change.safetensors", "four") && temp_count(temp_path("run"), "chosen") == 0);
    dg_rundir_close(&r);
}

DG_TESTS_IN("history", test_keep, test_prune, test_go_back, test_cut_off, test_markers, test_go_back_by_link,
            test_hostile, test_no_free_name, test_go_back_to_copy)

/* Tests concurrent atomic writes: several writers of one file, and removal of temporary files. */
#include "atomic_files.h"

#include <pthread.h>

static void test_sweep(void)
{
    const char *keep[] = {".x.12-3.dcgan-tmpx", "x.12-3.dcgan-tmp", ".x.12.dcgan-tmp", ".x.a-3.dcgan-tmp",
                          ".12-3.dcgan-tmp",    "..12-3.dcgan-tmp", ".dcgan-tmp",      "-3.dcgan-tmp",
                          ".x.12-.dcgan-tmp",   ".x.-3.dcgan-tmp",  ".x.12-3"};
    const int keeps = (int)(sizeof keep / sizeof keep[0]);
    mkdir(temp_path("sweep"), 0700);
    for (int i = 0; i < keeps; i++) temp_put(temp_text("%s/sweep/%s", temp_dir, keep[i]), "", 0);
    temp_put(temp_path("sweep/.a.png.12-3.dcgan-tmp"), "left", 4);
    temp_put(temp_path("sweep/.living.1-1.dcgan-tmp"), "busy", 4);
    mkdir(temp_path("sweep/.dir.1-1.dcgan-tmp"), 0700);
    int fd = open(temp_path("sweep/.living.1-1.dcgan-tmp"), O_RDWR | O_CLOEXEC);
    DG_CHECK(flock(fd, LOCK_EX) == 0);
    sweep(temp_path("sweep"));
    DG_CHECK(access(temp_path("sweep/.a.png.12-3.dcgan-tmp"), F_OK) != 0);
    DG_CHECK(access(temp_path("sweep/.living.1-1.dcgan-tmp"), F_OK) == 0);
    DG_CHECK(access(temp_path("sweep/.dir.1-1.dcgan-tmp"), F_OK) == 0);
    for (int i = 0; i < keeps; i++)
        DG_CHECKF(access(temp_text("%s/sweep/%s", temp_dir, keep[i]), F_OK) == 0, "%s was swept away", keep[i]);
    close(fd);
    sweep(temp_path("sweep"));
    DG_CHECK(access(temp_path("sweep/.living.1-1.dcgan-tmp"), F_OK) != 0);
}

/* Several threads write one file while temporary files are removed. Each write must succeed, and readers must never
 * see a partial file. */
static void *writer_thread(void *argument)
{
    static int bad;
    const char letter = *(const char *)argument;
    for (int i = 0; i < 30; i++) {
        dg_chunk p = {body(letter, 50000).data, 50000};
        if (dg_write_atomic(temp_path("shared"), &p, 1)) return &bad;
    }
    return NULL;
}
static void test_together(void)
{
    pthread_t thread[3];
    char letter[3] = {'1', '2', '3'};
    for (int i = 0; i < 3; i++) body(letter[i], 50000);
    for (int i = 0; i < 3; i++) pthread_create(&thread[i], NULL, writer_thread, &letter[i]);
    for (int i = 0; i < 2000; i++) sweep(temp_dir);
    for (int i = 0; i < 3; i++) {
        void *bad;
        pthread_join(thread[i], &bad);
        DG_CHECK(!bad);
    }
    DG_CHECK(is_body(temp_path("shared"), '1', 50000) || is_body(temp_path("shared"), '2', 50000) ||
             is_body(temp_path("shared"), '3', 50000));
    DG_CHECK(temporaries(temp_dir) == 0);
}

DG_TESTS_IN("atomic_together", test_sweep, test_together)

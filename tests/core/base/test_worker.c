/* Tests worker threads: order of jobs, a full queue, errors, signals, and threads that fail to start. */
#include "failing.h"

#include "core/base/worker.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>
#include "test.h"

static atomic_int order[100], done, running;
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

static dg_err note(void *context)
{
    int *number = context;
    order[done++] = *number;
    free(number);
    return DG_OK;
}

static dg_err wait_for_gate(void *context)
{
    running = 1;
    pthread_mutex_lock(&gate);
    pthread_mutex_unlock(&gate);
    return note(context);
}

static dg_err fail(void *context)
{
    int number = *(int *)context;
    free(context);
    done++;
    return dg_fail(number == 1 ? DG_IO : DG_FAILED, "job %d cannot", number);
}

static dg_err masked(void *context)
{
    sigset_t now;
    pthread_sigmask(SIG_SETMASK, NULL, &now);
    *(int *)context = sigismember(&now, SIGINT) && sigismember(&now, SIGTERM) && sigismember(&now, SIGHUP);
    return DG_OK;
}

static int *boxed(int number)
{
    int *p = malloc(sizeof *p);
    if (!p) abort();
    *p = number;
    return p;
}

static void jobs_run_in_order(void)
{
    dg_worker *w;
    done = 0;
    DG_CHECK(dg_worker_open(1, &w) == DG_OK);
    for (int i = 0; i < 100; i++) dg_worker_give(w, note, boxed(i));
    DG_CHECK(dg_worker_wait(w, dg_worker_given(w)) == DG_OK);
    DG_CHECK(done == 100);
    for (int i = 0; i < 100; i++)
        if (!DG_CHECKF(order[i] == i, "job %d ran as number %d", order[i], i)) break;
    DG_CHECK(dg_worker_wait(w, dg_worker_given(w)) == DG_OK);
    DG_CHECK(dg_worker_close(w) == DG_OK);
}

static dg_err slow_note(void *context)
{
    usleep(30000);
    return note(context);
}

static void wait_includes_the_running_job(void)
{
    dg_worker *w;
    done = 0;
    DG_CHECK(dg_worker_open(1, &w) == DG_OK);
    dg_worker_give(w, slow_note, boxed(0));
    usleep(10000); /* time for the worker thread to start the job */
    DG_CHECK(dg_worker_wait(w, dg_worker_given(w)) == DG_OK);
    DG_CHECK(done == 1);
    DG_CHECK(dg_worker_close(w) == DG_OK);
}

static void close_finishes_what_was_given(void)
{
    dg_worker *w;
    done = 0;
    DG_CHECK(dg_worker_open(1, &w) == DG_OK);
    for (int i = 0; i < 8; i++) dg_worker_give(w, note, boxed(i));
    DG_CHECK(dg_worker_close(w) == DG_OK);
    DG_CHECK(done == 8);
    DG_CHECK(dg_worker_close(NULL) == DG_OK);
}

static atomic_int given;

static void *give_twenty(void *worker)
{
    for (int i = 1; i <= 20; i++) {
        dg_worker_give(worker, note, boxed(i));
        given = i;
    }
    return NULL;
}

/* While a job is running, the queue holds 16 more jobs, and the next call of dg_worker_give waits. */
static void a_full_queue_waits(void)
{
    dg_worker *w;
    pthread_t giver;
    done = running = given = 0;
    pthread_mutex_lock(&gate);
    DG_CHECK(dg_worker_open(1, &w) == DG_OK);
    dg_worker_give(w, wait_for_gate, boxed(0));
    while (!running) usleep(1000);
    pthread_create(&giver, NULL, give_twenty, w);
    for (int i = 0; i < 30000 && given < 16; i++) usleep(1000);
    usleep(50000); /* time for `giver` to submit job 17 if the queue did not limit it */
    DG_CHECKF(given == 16, "%d jobs fitted into the queue", given);
    DG_CHECK(done == 0);
    pthread_mutex_unlock(&gate);
    pthread_join(giver, NULL);
    DG_CHECK(dg_worker_wait(w, dg_worker_given(w)) == DG_OK);
    DG_CHECK(done == 21);
    for (int i = 0; i < 21; i++) DG_CHECK(order[i] == i);
    DG_CHECK(dg_worker_close(w) == DG_OK);
}

static atomic_int met;

/* Waits up to 30 s until three threads run this job at the same time. */
static dg_err meet(void *context)
{
    met++;
    for (int i = 0; i < 30000 && met < 3; i++) usleep(1000);
    return met < 3 ? dg_fail(DG_FAILED, "alone") : note(context);
}

static void several_threads_work_at_a_time(void)
{
    dg_worker *w;
    done = 0;
    DG_CHECK(dg_worker_open(3, &w) == DG_OK);
    for (int i = 0; i < 3; i++) dg_worker_give(w, meet, boxed(i));
    DG_CHECK(dg_worker_wait(w, dg_worker_given(w)) == DG_OK);
    DG_CHECK(done == 3 && order[0] + order[1] + order[2] == 3);
    for (int i = 0; i < 40; i++) dg_worker_give(w, note, boxed(i));
    DG_CHECK(dg_worker_close(w) == DG_OK);
    DG_CHECK(done == 43);
}

static void waits_for_the_first_jobs(void)
{
    dg_worker *w;
    done = running = 0;
    pthread_mutex_lock(&gate);
    DG_CHECK(dg_worker_open(2, &w) == DG_OK && dg_worker_given(w) == 0 && dg_worker_wait(w, 0) == DG_OK);
    for (int i = 0; i < 3; i++) dg_worker_give(w, note, boxed(i));
    DG_CHECK(dg_worker_given(w) == 3);
    dg_worker_give(w, wait_for_gate, boxed(3));
    DG_CHECK(dg_worker_wait(w, 3) == DG_OK && done == 3);
    for (int i = 4; i < 9; i++) dg_worker_give(w, note, boxed(i));
    DG_CHECK(dg_worker_wait(w, 3) == DG_OK);
    while (dg_worker_left(w) > 1) usleep(1000);
    DG_CHECK(done == 8 && dg_worker_given(w) == 9);
    pthread_mutex_unlock(&gate);
    DG_CHECK(dg_worker_wait(w, 4) == DG_OK && done == 9 && order[8] == 3);
    DG_CHECK(dg_worker_close(w) == DG_OK);
}

static void left_counts_what_is_not_done(void)
{
    dg_worker *w;
    done = running = 0;
    pthread_mutex_lock(&gate);
    DG_CHECK(dg_worker_open(1, &w) == DG_OK && dg_worker_left(w) == 0);
    dg_worker_give(w, wait_for_gate, boxed(0));
    while (!running) usleep(1000);
    DG_CHECK(dg_worker_left(w) == 1);
    dg_worker_give(w, note, boxed(1));
    DG_CHECK(dg_worker_left(w) == 2);
    pthread_mutex_unlock(&gate);
    DG_CHECK(dg_worker_wait(w, dg_worker_given(w)) == DG_OK && dg_worker_left(w) == 0);
    DG_CHECK(dg_worker_close(w) == DG_OK);
}

static void keep(void *context, const char *text)
{
    strcat(context, text);
    strcat(context, "\n");
}

static void the_first_error_is_kept(void)
{
    char text[500] = "";
    dg_set_warnings(keep, text);
    dg_worker *w;
    done = 0;
    dg_err opened = dg_worker_open(1, &w);
    dg_worker_give(w, note, boxed(0));
    dg_worker_give(w, fail, boxed(1));
    dg_worker_give(w, fail, boxed(2));
    dg_worker_give(w, note, boxed(3));
    dg_set_message("older message of this thread");
    dg_err waited = dg_worker_wait(w, dg_worker_given(w));
    int same = strcmp(dg_message(), "job 1 cannot") == 0;
    dg_set_message("another");
    dg_err closed = dg_worker_close(w);
    dg_set_warnings(NULL, NULL);
    DG_CHECK(opened == DG_OK);
    DG_CHECK(waited == DG_IO);
    DG_CHECK(same);
    DG_CHECK(closed == DG_IO);
    DG_CHECKF(strcmp(dg_message(), "job 1 cannot") == 0, "message is \"%s\"", dg_message());
    DG_CHECK(done == 4);
    DG_CHECKF(strcmp(text, "job 1 cannot\njob 2 cannot\n") == 0, "warnings were \"%s\"", text);
}

static void signals_go_to_other_threads(void)
{
    dg_worker *w;
    int blocked = 0;
    sigset_t before, after;
    sigemptyset(&before);
    sigemptyset(&after);
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    DG_CHECK(dg_worker_open(1, &w) == DG_OK);
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    DG_CHECK(sigismember(&before, SIGINT) == sigismember(&after, SIGINT));
    dg_worker_give(w, masked, &blocked);
    DG_CHECK(dg_worker_close(w) == DG_OK);
    DG_CHECK(blocked);
}

/* If some threads cannot start, the other threads run all jobs. Without threads or memory, dg_worker_open fails. */
static void threads_may_not_start(void)
{
#if DG_FAILING
    dg_worker *w = NULL;
    arm(THREAD, 2, true);
    const dg_err one = dg_worker_open(3, &w);
    DG_CHECK(disarm() && one == DG_OK);
    done = 0;
    for (int i = 0; i < 5 && w; i++) dg_worker_give(w, note, boxed(i));
    DG_CHECK(w && dg_worker_close(w) == DG_OK && done == 5 && order[4] == 4);
    arm(THREAD, 1, true);
    const dg_err none = dg_worker_open(3, &w);
    DG_CHECK(disarm() && none == DG_DEVICE && strstr(dg_message(), "cannot start a worker thread"));
    arm(MEMORY, 1, false);
    const dg_err memory = dg_worker_open(1, &w);
    DG_CHECK(disarm() && memory == DG_DEVICE && strstr(dg_message(), "out of memory"));
#endif
}

DG_TESTS(jobs_run_in_order, wait_includes_the_running_job, close_finishes_what_was_given, a_full_queue_waits,
         several_threads_work_at_a_time, waits_for_the_first_jobs, left_counts_what_is_not_done,
         the_first_error_is_kept, signals_go_to_other_threads, threads_may_not_start)

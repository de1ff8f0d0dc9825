/* A second thread opens a GPU while the main thread does other work. tests/cli/races.sh runs this program with
 * ThreadSanitizer. With the argument "planted", the program has a race, which the sanitizer must report. */
#include "host/cli/open_async.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static int in_threads;
static pthread_t main_thread;

dg_err dg_open_gpu(const dg_options *o, dg_backend **out, char *why, size_t size)
{
    static dg_backend gpu;
    in_threads += !pthread_equal(pthread_self(), main_thread);
    if (strcmp(o->device, "cuda") != 0) return dg_fail(DG_DEVICE, "%s is not there", o->device);
    snprintf(why, size, "no reason");
    *out = &gpu;
    return DG_OK;
}

dg_err dg_open_backend(const dg_options *o, dg_backend **out) { return dg_open_gpu(o, out, (char[16]){0}, 16); }

dg_err dg_open_instead(const dg_options *o, const char *why, dg_backend **out)
{
    return dg_fail(DG_USAGE, "%s: %s%s", o->device, why, *out ? "" : "!");
}

static int opened(char *device, dg_err want)
{
    const dg_options o = {.device = device};
    dg_opening *opening;
    dg_backend *b = NULL;
    const dg_err start = dg_opening_start(&o, &opening);
    const bool failed = dg_opening_failed(opening);
    const dg_err e = dg_opening_finish(&opening, &b);
    if (!start && e == want && (e ? strstr(dg_message(), "is not there") != NULL : b != NULL) && (!failed || e))
        return 0;
    printf("%s: %d at the start, %d at the end: %s\n", device, (int)start, (int)e, dg_message());
    return 1;
}

static void *write_beside(void *to) { return *(int *)to = 1, NULL; }

static int planted(void)
{
    static int shared;
    pthread_t thread;
    if (pthread_create(&thread, NULL, write_beside, &shared)) return 1;
    const int before = shared;
    pthread_join(thread, NULL);
    return before > 1;
}

int main(int argc, char **argv)
{
    main_thread = pthread_self();
    if (argc > 1 && !strcmp(argv[1], "planted")) return planted();
    int wrong = 0;
    for (int i = 0; i < 20; i++) wrong += opened("cuda", DG_OK) + opened("cuda:7", DG_DEVICE);
    if (in_threads != 40) printf("only %d of 40 were opened in a thread\n", in_threads);
    return wrong || in_threads != 40;
}

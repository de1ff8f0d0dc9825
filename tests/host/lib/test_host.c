/* A host program with unusual settings calls the library. The host program's settings and the library's output must
 * not change. */
#include <fcntl.h>
#include <fenv.h>
#include <locale.h>
#include <math.h>
#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "library.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
/* Returns the SSE control register without exception flags. */
static unsigned mode(void) { return _mm_getcsr() & ~0x3fu; }
static void flush(void) { _mm_setcsr(_mm_getcsr() | 0x8040); }
#else
static unsigned mode(void) { return (unsigned)fegetround(); }
static void flush(void) {}
#endif

enum { THREADS = 3 };

/* Calls the library, which writes files whose names start with `name`. */
static void use(const char *name, int threads)
{
    char file[100];
    uint8_t made[3 * SIDE * SIDE * 3];
    dcgan_backend *b;
    dcgan_job *job, *later;
    double loss = 0;
    dcgan_training t = dcgan_training_defaults();
    const dcgan_images p = {.pixels = pixels, .count = IMAGES, .size = SIDE, .channels = 3};
    t.model = tiny, t.batch = 4, t.flip = 1, t.lr = 0.00123;
    const dcgan_error e = dcgan_open(&(dcgan_device){.device = "cpu", .threads = threads}, &b);
    good(e);
    if (e) return;
    good(dcgan_train(b, &t, &p, &job));
    good(dcgan_step(job, 3));
    snprintf(file, sizeof file, "%s.half", name);
    good(dcgan_save(job, temp_path(file)));
    good(dcgan_resume(b, temp_path(file), &t, &p, &later));
    good(dcgan_step(later, 3));
    good(dcgan_metric(later, "loss_d", &loss));
    good(dcgan_save(later, temp_path(temp_text("%s.whole", name))));
    good(dcgan_sample(later, 5, 3, made));
    good(dcgan_write_png(temp_path(temp_text("%s.png", name)), made, SIDE, SIDE, 3));
    temp_put(temp_path(temp_text("%s.loss", name)), &loss, sizeof loss);
    dcgan_free(later);
    dcgan_free(job);
    dcgan_close(b);
}

static void like(const char *name)
{
    static const char *const end[] = {"half", "whole", "png", "loss"};
    for (int i = 0; i < 4; i++) {
        char a[100], b[100];
        snprintf(a, sizeof a, "plain.%s", end[i]);
        snprintf(b, sizeof b, "%s.%s", name, end[i]);
        DG_CHECKF(same_file(temp_path(a), temp_path(b)), "%s is not %s", b, a);
    }
}

/* Installs a locale with a decimal comma. Returns false if localedef cannot make the locale. */
static bool comma(void)
{
    setenv("LOCPATH", temp_dir, 1);
    const int made = system(
        temp_text("localedef -c -i de_DE -f UTF-8 %s > %s 2>&1", temp_path("de_DE.UTF-8"), temp_path("localedef")));
    (void)made;
    return setlocale(LC_ALL, "de_DE.UTF-8") && localeconv()->decimal_point[0] == ',';
}

static void handler(int number) { (void)number; }

static const int watched[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGPIPE, SIGXFSZ, SIGFPE, SIGCHLD};
enum { WATCHED = sizeof watched / sizeof *watched };

typedef struct {
    unsigned mode[THREADS];
    int flags, round, threads;
    sigset_t mask;
    bool handlers;
    char point;
    mode_t umask;
} settings;

static settings now(void)
{
    settings s = {.flags = fetestexcept(FE_ALL_EXCEPT), .round = fegetround(), .threads = omp_get_max_threads()};
#pragma omp parallel num_threads(THREADS)
    s.mode[omp_get_thread_num()] = mode();
    pthread_sigmask(SIG_SETMASK, NULL, &s.mask);
    s.handlers = true;
    for (int i = 0; i < WATCHED; i++) {
        struct sigaction a;
        s.handlers &= !sigaction(watched[i], NULL, &a) && a.sa_handler == handler;
    }
    s.point = localeconv()->decimal_point[0];
    s.umask = umask(0);
    umask(s.umask);
    return s;
}

static void unchanged(const char *what, const settings *a)
{
    const settings b = now();
    DG_CHECKF(a->round == b.round && a->flags == b.flags, "%s: rounding %x %x, flags %x %x", what, (unsigned)a->round,
              (unsigned)b.round, (unsigned)a->flags, (unsigned)b.flags);
    for (int i = 0; i < THREADS; i++)
        DG_CHECKF(a->mode[i] == b.mode[i], "%s: thread %d: mode %x, then %x", what, i, a->mode[i], b.mode[i]);
    DG_CHECKF(a->threads == b.threads, "%s: %d threads, then %d", what, a->threads, b.threads);
    DG_CHECKF(b.handlers && !memcmp(&a->mask, &b.mask, sizeof a->mask), "%s: signals", what);
    DG_CHECKF(a->point == b.point && a->umask == b.umask, "%s: locale or umask", what);
}

static void with(const char *what)
{
    const settings before = now();
    use(what, THREADS);
    unchanged(what, &before);
    like(what);
}

static void everywhere(int round, bool denormals, int traps)
{
#pragma omp parallel num_threads(THREADS)
    {
        fesetenv(FE_DFL_ENV);
        fesetround(round);
        if (denormals) flush();
        if (traps) feenableexcept(traps);
    }
}

static void *in_thread(void *name)
{
    fesetround(FE_DOWNWARD);
    use(name, 2);
    DG_CHECK(fegetround() == FE_DOWNWARD);
    return NULL;
}

static void together(void)
{
    static char name[3][16] = {"thread0", "thread1", "thread2"};
    pthread_t thread[3];
    for (int i = 0; i < 3; i++) DG_CHECK(!pthread_create(&thread[i], NULL, in_thread, name[i]));
    for (int i = 0; i < 3; i++) pthread_join(thread[i], NULL);
    for (int i = 0; i < 3; i++) like(name[i]);
}

int main(void)
{
    temp_make("host");
    make_inputs();
    const int out = dup(1), err = dup(2);
    fflush(stdout);
    const int said = open(temp_path("said"), O_RDWR | O_CREAT | O_TRUNC, 0600);
    dup2(said, 1), dup2(said, 2);
    use("plain", 1);
    dup2(out, 1), dup2(err, 2);
    DG_CHECKF(lseek(said, 0, SEEK_END) == 0, "the library printed something");
    for (int i = 0; i < WATCHED; i++) (void)sigaction(watched[i], &(struct sigaction){.sa_handler = handler}, NULL);
    omp_set_num_threads(7);
    everywhere(FE_UPWARD, false, 0);
    with("upward");
    everywhere(FE_TOWARDZERO, true, 0);
    feraiseexcept(FE_INEXACT | FE_UNDERFLOW);
    with("flushed");
    everywhere(FE_TONEAREST, false, FE_DIVBYZERO | FE_INVALID | FE_OVERFLOW);
    with("trapped");
    everywhere(FE_TONEAREST, false, 0);
    if (comma()) with("comma");
    else dg_test_skip("localedef cannot make de_DE.UTF-8 here");
    together();
    setlocale(LC_ALL, "C");
    temp_remove(temp_dir);
    return dg_test_report();
}

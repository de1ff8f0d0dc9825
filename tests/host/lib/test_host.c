/* The library in a host program with settings of its own: the same bytes, and every setting as it was. */
#include "include/dcgan.h"

#include <fcntl.h>
#include <fenv.h>
#include <locale.h>
#include <math.h>
#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/net/model.h"
#include "tempdir.h"
#include "test.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
static unsigned mode(void) { return _mm_getcsr() & ~0x3fu; } /* without flags */
static void flush(void) { _mm_setcsr(_mm_getcsr() | 0x8040); }
#else
static unsigned mode(void) { return (unsigned)fegetround(); }
static void flush(void) {}
#endif

enum { SIZE = 16, IMAGES = 11, THREADS = 3 };
static uint8_t pixels[IMAGES * SIZE * SIZE * 3];
static char tiny[300], model_file[DG_MODEL_TEXT_MAX];

static void good(dcgan_error e) { DG_CHECKF(e == DCGAN_OK, "%s", dcgan_message()); }

/* All that the library does, into files that begin with this name. */
static void use(const char *name, int threads)
{
    char file[100];
    uint8_t made[3 * SIZE * SIZE * 3];
    dcgan_backend *b;
    dcgan_job *job, *later;
    double loss = 0;
    dcgan_training t = dcgan_training_defaults();
    const dcgan_images p = {pixels, IMAGES, SIZE, 3};
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
    snprintf(file, sizeof file, "%s.whole", name);
    good(dcgan_save(later, temp_path(file)));
    good(dcgan_sample(later, 5, 3, made));
    snprintf(file, sizeof file, "%s.png", name);
    good(dcgan_write_png(temp_path(file), made, SIZE, SIZE, 3));
    snprintf(file, sizeof file, "%s.loss", name);
    temp_put(temp_path(file), &loss, sizeof loss);
    dcgan_free(later);
    dcgan_free(job);
    dcgan_close(b);
}

static void like(const char *name)
{
    static const char *const end[] = {"half", "whole", "png", "loss"};
    for (int i = 0; i < 4; i++) {
        char a[100], b[100];
        size_t n = 0, k = 0;
        snprintf(a, sizeof a, "plain.%s", end[i]);
        snprintf(b, sizeof b, "%s.%s", name, end[i]);
        char *x = temp_slurp(temp_path(a), &n), *y = temp_slurp(temp_path(b), &k);
        DG_CHECKF(x && y && n == k && n && !memcmp(x, y, n), "%s is not %s", b, a);
        free(x);
        free(y);
    }
}

/* A locale with a decimal comma, made here; false: it cannot be made. */
static bool comma(void)
{
    char command[700];
    setenv("LOCPATH", temp_dir, 1);
    snprintf(command, sizeof command, "localedef -c -i de_DE -f UTF-8 %s > %s 2>&1", temp_path("de_DE.UTF-8"),
             temp_path("localedef"));
    const int made = system(command); /* NOLINT(cert-env33-c): a tool of the C library */
    (void)made;
    return setlocale(LC_ALL, "de_DE.UTF-8") && localeconv()->decimal_point[0] == ',';
}

static void handler(int number) { (void)number; }

static const int watched[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGPIPE, SIGXFSZ, SIGFPE, SIGCHLD};
enum { WATCHED = sizeof watched / sizeof *watched };

/* What a host has set, found again afterwards. */
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
    unsigned long long s = 5;
    temp_make("host");
    snprintf(tiny, sizeof tiny, "%s", temp_path("tiny.cfg"));
    for (size_t i = 0; i < sizeof pixels; i++) pixels[i] = (uint8_t)(127.5 + 127 * dg_test_random(&s));
    good((dcgan_error)dg_model_stock(model_file, "tiny", SIZE, 3, 10, 5, 3));
    char *const leaky = strstr(model_file, "act = leaky\n");
    if (DG_CHECK(leaky)) { /* a number with a decimal point */
        char rest[DG_MODEL_TEXT_MAX];
        snprintf(rest, sizeof rest, "%s", leaky);
        snprintf(leaky, sizeof model_file - (size_t)(leaky - model_file), "slope = 0.25\n%s", rest);
    }
    temp_put(tiny, model_file, strlen(model_file));
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

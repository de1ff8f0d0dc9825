/* Tests the judge, which compares generated images with real images. Degraded images must have worse metrics than
 * real images. */
#include <omp.h>

#include "host/data/synthesize/synthesize.h"
#include "host/judge/frechet.h"
#include "host/judge/judge.h"
#include "host/trainer/steps.h"
#include "tempdir.h"
#include "test.h"

enum { SIZE = 16, CLASSES = 5, COUNT = 1500, IMAGE = SIZE * SIZE * 3, TRAINED = 1000 };
#include "spoil.h" /* uses SIZE and IMAGE */

enum { N = 7 };

/* Checks an eigendecomposition with repeated eigenvalues. The rows of v are orthonormal eigenvectors, and the
 * eigenvalues w ascend. */
static void check_eigen(void)
{
    static const double want[N] = {0, 0, 1, 2, 2, 5, 1000};
    double basis[N][N], a[N * N] = {0}, v[N * N], w[N];
    for (int i = 0; i < N; i++) {
        for (int k = 0; k < N; k++) basis[i][k] = normal();
        for (int j = 0; j <= i; j++) { /* Gram-Schmidt */
            double dot = 0;
            for (int k = 0; k < N; k++) dot += basis[i][k] * basis[j][k];
            for (int k = 0; k < N; k++) basis[i][k] = j < i ? basis[i][k] - dot * basis[j][k] : basis[i][k] / sqrt(dot);
        }
        for (int k = 0; k < N * N; k++) a[k] += want[i] * basis[i][k / N] * basis[i][k % N];
    }
    for (int k = 0; k < N * N; k++) v[k] = a[k / N * N + k % N];
    DG_CHECK(!dg_eigen(v, N, w));
    for (int i = 0; i < N; i++) {
        DG_NEAR(w[i], want[i], 1e-10);
        for (int j = 0; j < N; j++) {
            double dot = 0, turned = 0;
            for (int k = 0; k < N; k++) {
                dot += v[i * N + k] * v[j * N + k];
                turned += a[j * N + k] * v[i * N + k];
            }
            DG_NEAR(dot, i == j, 1e-12);
            DG_NEAR(turned, w[i] * v[i * N + j], 1e-9);
        }
    }
}

enum { POINTS = 61, DIMENSIONS = 19 };

static double sum_of_variances(const double *x)
{
    double sum = 0;
    for (int k = 0; k < DIMENSIONS; k++) {
        double mean = 0;
        for (int i = 0; i < POINTS; i++) mean += x[i * DIMENSIONS + k] / POINTS;
        for (int i = 0; i < POINTS; i++) sum += pow(x[i * DIMENSIONS + k] - mean, 2) / (POINTS - 1);
    }
    return sum;
}

/* The Fréchet distance between x with covariance S and factor * x + shift is |mean difference|^2 + (factor - 1)^2 tr
 * S. */
static void check_spread(void)
{
    static double x[POINTS * DIMENSIONS], y[POINTS * DIMENSIONS];
    double d;
    for (int i = 0; i < POINTS * DIMENSIONS; i++) {
        x[i] = normal() * (1 + i % 5) + (i % DIMENSIONS > 3 ? x[i - 2] : 0);
        y[i] = 1.5 * x[i];
    }
    const double spread = 0.25 * sum_of_variances(x);
    DG_CHECK(!dg_frechet(x, POINTS, x, POINTS, DIMENSIONS, &d));
    DG_NEAR(d, 0, 1e-5);
    double apart = 0;
    for (int k = 0; k < DIMENSIONS; k++) {
        double mean = 0;
        for (int i = 0; i < POINTS; i++) mean += x[i * DIMENSIONS + k] / POINTS;
        apart += pow(0.5 * mean + k, 2);
        for (int i = 0; i < POINTS; i++) y[i * DIMENSIONS + k] += k;
    }
    DG_CHECK(!dg_frechet(x, POINTS, y, POINTS, DIMENSIONS, &d));
    DG_NEAR(d, apart + spread, 1e-7 * d);
    DG_CHECK(!dg_frechet(y, POINTS, x, POINTS, DIMENSIONS, &d));
    DG_NEAR(d, apart + spread, 1e-7 * d);
    /* Fewer points than dimensions are accepted, because the distance needs no inverse. */
    DG_CHECK(!dg_frechet(x, 11, y, POINTS, DIMENSIONS, &d));
    DG_CHECK(isfinite(d) && d > 0);
    x[5] = (double)INFINITY;
    DG_CHECK(!dg_frechet(x, POINTS, y, POINTS, DIMENSIONS, &d) && !isfinite(d));
    DG_CHECK(!dg_frechet(y, POINTS, x, POINTS, DIMENSIONS, &d) && !isfinite(d));
}

/* For 2 x 2 covariances S and T, the trace of the square root of S T is sqrt(tr(S T) + 2 sqrt(det(S T))). */
static void check_pair(void)
{
    static const double x[] = {1, 2, -1, 0.5, 3, 7, 2, -4}, y[] = {0, 1, 5, 2, -3, -1};
    double d, s[2][3] = {{0}}, mean[2][2] = {{0}};
    for (int i = 0; i < 4; i++) mean[0][0] += x[2 * i] / 4, mean[0][1] += x[2 * i + 1] / 4;
    for (int i = 0; i < 3; i++) mean[1][0] += y[2 * i] / 3, mean[1][1] += y[2 * i + 1] / 3;
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < 4 - k; i++) {
            const double *p = (k ? y : x) + (size_t)i * 2, a = p[0] - mean[k][0], b = p[1] - mean[k][1];
            s[k][0] += a * a / (3 - k), s[k][1] += a * b / (3 - k), s[k][2] += b * b / (3 - k);
        }
    const double product = s[0][0] * s[1][0] + 2 * s[0][1] * s[1][1] + s[0][2] * s[1][2];
    const double determinant = (s[0][0] * s[0][2] - s[0][1] * s[0][1]) * (s[1][0] * s[1][2] - s[1][1] * s[1][1]);
    const double want = pow(mean[0][0] - mean[1][0], 2) + pow(mean[0][1] - mean[1][1], 2) + s[0][0] + s[0][2] +
                        s[1][0] + s[1][2] - 2 * sqrt(product + 2 * sqrt(determinant));
    DG_CHECK(!dg_frechet(x, 4, y, 3, 2, &d));
    DG_NEAR(d, want, 1e-12 * want);
}

static const char classifier[] = "[model]\nname = t\nsize = 16\nclasses = 5\n"
                                 "[C.1]\nfilters = 12\nkernel = 3\nstride = 2\nnorm = batch\nact = relu\n"
                                 "[C.2]\nfilters = 16\nkernel = 3\nstride = 2\nnorm = batch\nact = relu\n"
                                 "[C.3]\nop = dense\nfilters = 13\nact = relu\n"
                                 "[C.4]\nop = dense\nfilters = 5\n";

static dg_model seeing;
static dg_backend *backend;
static dg_jury jury;

static void draw(uint8_t *pixels, int class, int number)
{
    static const int shape[CLASSES] = {0, 4, 6, 7, 8}; /* these shapes differ clearly in small images */
    dg_shape_draw(pixels, dg_square(SIZE), 3, shape[class], number);
}

static bool train_classifier(const char *path)
{
    static uint8_t pixels[TRAINED * IMAGE];
    static int32_t label[TRAINED];
    static char classes[] = "disc\ncross\nchecker\nrows\ncolumns\n", none[] = "";
    const dg_job_options o = {
        .batch = 50, .train = true, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .start = DG_START_HE};
    const dg_checkpoint_info info = {.seed = 1, .precision = "fp32", .config = none, .classes = classes};
    static dg_job job;
    dg_trainer t = {.lr = 0.005};
    dg_snapshot *s;
    for (int i = 0; i < TRAINED; i++) draw(pixels + (size_t)i * IMAGE, label[i] = i % CLASSES, 10000 + i);
    dg_err e = dg_model_parse(classifier, "t", &seeing);
    if (!e) e = dg_trainer_open(&t, &job, &seeing, &o, backend, pixels, label, TRAINED, false, 1);
    if (!e) e = dg_job_init(&job, 1);
    if (!e) e = dg_trainer_steps(&t, 12 * TRAINED / 50);
    if (!e) e = dg_snapshot_take(&job, &info, &s);
    if (!e) e = dg_snapshot_write(s, NULL, path);
    dg_trainer_close(&t);
    dg_job_free(&job);
    return DG_WORKS(e);
}

typedef enum { REAL, BLUR, MORE_BLUR, NOISE, MORE_NOISE, LEFT_OUT, DOUBLED, HALVES, SPOILT } spoilt;
static const char *const spoilt_name[] = {"real",    "blurred",    "blurred more", "noisy",
                                          "noisier", "one is out", "one is twice", "halves exchanged"};

static int class_of(spoilt how, int i)
{
    if (how == LEFT_OUT) return i % (CLASSES - 1);
    if (how == DOUBLED) return i % (CLASSES + 1) % CLASSES;
    return i % CLASSES;
}

/* Passes 2 * COUNT real images or COUNT degraded images to the judge. */
static void take(spoilt how, int first, dg_judged *out)
{
    static uint8_t pixels[2 * COUNT * IMAGE];
    const int drawn = how == REAL ? 2 * COUNT : COUNT, from = how == REAL ? 0 : 2 * COUNT;
    dice = 11;
    for (int i = 0; i < drawn; i++) {
        uint8_t *p = pixels + (size_t)i * IMAGE, good[IMAGE];
        draw(p, class_of(how, i), from + i);
        memcpy(good, p, sizeof good);
        if (how == BLUR || how == MORE_BLUR) blur(p, good, i);
        if (how == MORE_BLUR) memcpy(good, p, sizeof good), blur(p, good, i);
        if (how == NOISE || how == MORE_NOISE) add_noise(p, good, how == NOISE ? 35 : 60);
        if (how == HALVES) halves(p, good, i);
    }
    const dg_images images = dg_images_of(pixels, drawn, IMAGE);
    DG_WORKS(dg_judged_take(&jury, &images, how != REAL, first, out));
}

enum { DISTANCE, LEFT, SURENESS, FRECHET, TOLD, MEASURES };
static dg_measured value[SPOILT][MEASURES];

/* True for degradations that the judge detects after a short training. */
static bool told_apart(spoilt how) { return how == REAL || how == BLUR || how == NOISE || how == HALVES; }

static void measure(spoilt how, const dg_judged *reals)
{
    dg_judged x;
    take(how, how == REAL ? COUNT : 0, &x);
    printf("%-18s", spoilt_name[how]);
    for (int i = 0; i < MEASURES; i++) {
        if (i == TOLD && !told_apart(how)) continue;
        DG_WORKS(dg_measure_take(&dg_measures[i], &jury, reals, &x, &value[how][i]));
        printf(" %s %.3f", dg_measures[i].name, value[how][i].value);
    }
    printf("\n");
    dg_judged_free(&x);
}

/* Checks that metric m is worse for degraded images than for real images by at least `by`. */
static void worse(spoilt how, int m, double by)
{
    const double is = value[how][m].value, real = value[REAL][m].value;
    DG_CHECKF(dg_measures[m].higher ? is < real - by : is > real + by, "%s: %s is %g, and %g of real images",
              spoilt_name[how], dg_measures[m].name, is, real);
}

static void check_worse(void)
{
    for (spoilt how = BLUR; how < SPOILT; how++) worse(how, FRECHET, 0.5 * value[REAL][FRECHET].value);
    worse(LEFT_OUT, DISTANCE, 0.1);
    worse(LEFT_OUT, LEFT, 0.5);
    worse(DOUBLED, DISTANCE, 0.05);
    for (spoilt how = BLUR; how <= MORE_NOISE; how++) worse(how, SURENESS, 0.01);
    for (spoilt how = BLUR; how < SPOILT; how++)
        DG_CHECKF(!told_apart(how) || value[how][TOLD].low > value[REAL][TOLD].high, "%s: told apart in %g",
                  spoilt_name[how], value[how][TOLD].value);
    DG_CHECK(value[MORE_BLUR][FRECHET].value > value[BLUR][FRECHET].value);
    DG_CHECK(value[MORE_NOISE][FRECHET].value > value[NOISE][FRECHET].value);
    DG_CHECK(value[REAL][LEFT].value == 0);
    DG_CHECKF(value[REAL][TOLD].low < 0.5 && value[REAL][TOLD].high > 0.5, "real images are told apart in %g",
              value[REAL][TOLD].value);
}

/* At both ends of Wilson's interval, the observed fraction is 1.96 standard deviations away. */
static void check_interval(void)
{
    for (spoilt how = REAL; how < SPOILT; how++) {
        const dg_measured *m = &value[how][TOLD];
        if (!told_apart(how)) continue;
        const double n = 2 * (COUNT - COUNT / 2);
        DG_NEAR(m->value - m->low, 1.959964 * sqrt(m->low * (1 - m->low) / n), 1e-6);
        DG_NEAR(m->high - m->value, 1.959964 * sqrt(m->high * (1 - m->high) / n), 1e-6);
    }
}

static bool up(void)
{
    static dg_model gan;
    static char text[DG_MODEL_TEXT_MAX];
    temp_make("judge");
    dg_err e = dg_cpu_open(&(dg_cpu_options){.threads = 1, .real = DG_F32}, &backend);
    if (!e) e = dg_model_stock(text, "toy", dg_square(SIZE), 3, 8, 4, 4);
    if (!e) e = dg_model_parse(text, "toy", &gan);
    if (!DG_WORKS(e) || !train_classifier(temp_path("c.safetensors"))) return false;
    const dg_device d = {.device = "cpu", .threads = 1};
    jury =
        (dg_jury){.count = COUNT, .size = dg_square(SIZE), .channels = 3, .seed = 5, .gan = &gan, .backend = backend};
    return DG_WORKS(dg_labeller_open(&d, temp_path("c.safetensors"), &jury.labeller));
}

/* Checks that the class probabilities (share) are the softmax of the last layer's outputs. */
static void check_hidden(const dg_judged *x)
{
    enum { FEATURES = 13 };
    dg_job *job = &jury.labeller->job;
    double w[CLASSES * FEATURES], b[CLASSES], logit[CLASSES], sum;
    DG_CHECK(dg_labeller_features(jury.labeller) == FEATURES);
    DG_CHECK(!dg_job_read(job, &job->tensor[job->tensors - 2], job->tensor[job->tensors - 2].row, DG_F64, w));
    DG_CHECK(!dg_job_read(job, &job->tensor[job->tensors - 1], job->tensor[job->tensors - 1].row, DG_F64, b));
    for (int i = 0; i < COUNT; i += 71) {
        sum = 0;
        for (int c = 0; c < CLASSES; c++) {
            logit[c] = b[c];
            for (int k = 0; k < FEATURES; k++) logit[c] += w[c * FEATURES + k] * x->hidden[i * FEATURES + k];
            sum += exp(logit[c]);
        }
        for (int c = 0; c < CLASSES; c++) DG_NEAR(exp(logit[c]) / sum, x->share[i * CLASSES + c], 1e-5);
    }
}

static void check_repeatable(const dg_judged *reals)
{
    const dg_measured was = value[NOISE][TOLD], frechet = value[NOISE][FRECHET];
    backend->close(backend);
    omp_set_num_threads(3);
    DG_CHECK(!dg_cpu_open(&(dg_cpu_options){.threads = 3, .real = DG_F32}, &backend));
    jury.backend = backend;
    measure(NOISE, reals);
    DG_CHECK(was.value == value[NOISE][TOLD].value && frechet.value == value[NOISE][FRECHET].value);
}

/* The judge refuses networks that are not discriminators, and discriminators that cannot have a second logit. */
static void check_refusals(const dg_judged *reals)
{
    static const char pooled[] = "[model]\nname = p\nsize = 16\nlatent = 4\n[G.1]\nop = conv_transpose\nfilters = 3\n"
                                 "kernel = 16\nstride = 1\npad = 0\nact = tanh\n[D.1]\nfilters = 1\nkernel = 3\n"
                                 "[D.2]\nop = mean_pool\nkernel = 16\n";
    static dg_model other;
    dg_measured m;
    const dg_model *was = jury.gan;
    jury.gan = &other;
    DG_CHECK(!dg_model_parse(pooled, "pooled.cfg", &other));
    DG_CHECK(dg_measure_take(&dg_measures[TOLD], &jury, reals, reals, &m) == DG_USAGE);
    DG_CHECKF(strstr(dg_message(), "pooled.cfg") && strstr(dg_message(), "mean_pool"), "%s", dg_message());
    jury.gan = &seeing;
    DG_CHECK(dg_measure_take(&dg_measures[TOLD], &jury, reals, reals, &m) == DG_USAGE);
    DG_CHECKF(strstr(dg_message(), "no discriminator"), "%s", dg_message());
    jury.gan = was;
}

int main(void)
{
    dg_judged reals = {0};
    check_eigen();
    check_spread();
    check_pair();
    if (up()) {
        take(REAL, 0, &reals);
        for (spoilt how = REAL; how < SPOILT; how++) measure(how, &reals);
        check_worse();
        check_interval();
        check_hidden(&reals);
        check_repeatable(&reals);
        check_refusals(&reals);
    }
    dg_judged_free(&reals);
    dg_labeller_close(jury.labeller);
    if (backend) backend->close(backend);
    temp_remove(temp_dir);
    return dg_test_report();
}

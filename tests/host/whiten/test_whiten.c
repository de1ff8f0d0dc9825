/* Compares products and inverse roots of matrices with known values, for various sizes and condition numbers. Compares
 * whitening with simple loops. Any number of threads gives equal bits. */
#include "host/whiten/whiten.h"
#include "test.h"

enum { SIZE = 5, CHANNELS = 3, VALUES = SIZE * SIZE * CHANNELS, IMAGES = 200 };

static unsigned long long seed = 3;

static double *matrix(size_t n) { return calloc(n * n, sizeof(double)); }

static bool opened(dg_symmetric *s, int n, int threads)
{
    *s = (dg_symmetric){.n = n};
    return DG_WORKS(dg_symmetric_open(s, threads));
}

static void check_product(int n)
{
    dg_symmetric s;
    const size_t N = (size_t)n;
    double *a = matrix(N), *out = matrix(N), worst = 0;
    for (size_t i = 0; i < N * N; i++) a[i] = dg_test_random(&seed);
    if (opened(&s, n, 2)) DG_CHECK(!dg_symmetric_product(&s, a, a, out));
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < N; j += 1 + N / 40) {
            double sum = 0;
            for (size_t k = 0; k < N; k++) sum += a[i * N + k] * a[j * N + k];
            const double d = fmax(fabs(out[i * N + j] - sum), fabs(out[j * N + i] - sum));
            worst = d <= worst ? worst : d;
        }
    DG_CHECKF(worst <= 1e-15 * n, "product of %d x %d: off by %g", n, n, worst);
    dg_symmetric_close(&s);
    free(a);
    free(out);
}

/* Computes m = h diag(value) h with the reflection h = 1 - 2 v v'. The power m^k is h diag(value^k) h. */
static void reflected(const double *v, const double *value, size_t n, double *out)
{
    double *hd = matrix(n);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) hd[i * n + j] = ((i == j) - 2 * v[i] * v[j]) * value[j];
    for (size_t i = 0; i < n; i++) {
        double sum = 0;
        for (size_t k = 0; k < n; k++) sum += hd[i * n + k] * v[k];
        for (size_t j = 0; j < n; j++) out[i * n + j] = hd[i * n + j] - 2 * sum * v[j];
    }
    free(hd);
}

static double *inverse_root(int n, const double *a, double least, int threads)
{
    dg_symmetric s;
    double *used = matrix((size_t)n), *out = matrix((size_t)n);
    memcpy(used, a, (size_t)n * (size_t)n * sizeof *a);
    if (opened(&s, n, threads)) {
        const long products = dg_inverse_root_products(least, dg_symmetric_most(a, n));
        DG_CHECK(!dg_symmetric_inverse_root(&s, used, least, out));
        DG_CHECKF(s.done == products, "%d x %d took %ld products, %ld were announced", n, n, s.done, products);
    }
    dg_symmetric_close(&s);
    free(used);
    return out;
}

static void check_root(int n, double condition)
{
    const size_t N = (size_t)n;
    double *a = matrix(N), *want = matrix(N), *v = calloc(N, sizeof *v), *value = calloc(N, sizeof *value), norm = 0;
    for (size_t i = 0; i < N; i++) norm += pow(v[i] = dg_test_random(&seed), 2);
    for (size_t i = 0; i < N; i++) {
        v[i] /= sqrt(norm);
        value[i] = 50 / pow(condition, n > 1 ? (double)i / (n - 1) : 1);
    }
    reflected(v, value, N, a);
    const double least = value[n - 1], largest = 1 / sqrt(least);
    for (size_t i = 0; i < N; i++) value[i] = 1 / sqrt(value[i]);
    reflected(v, value, N, want);
    double *got = inverse_root(n, a, least, 1), *again = inverse_root(n, a, least, 3), worst = 0;
    for (size_t i = 0; i < N * N; i++) {
        const double d = fabs(got[i] - want[i]) / largest;
        worst = d <= worst ? worst : d;
    }
    DG_CHECKF(worst <= 1e-14 + 1e-15 * condition, "root of %d x %d, condition %g: off by %g", n, n, condition, worst);
    DG_CHECKF(!memcmp(got, again, N * N * sizeof *got), "root of %d x %d: 3 threads, other bits", n, n);
    free(a);
    free(want);
    free(v);
    free(value);
    free(got);
    free(again);
}

/* Neighbouring pixels are similar, as in photographs. */
static void draw(uint8_t *pixels)
{
    for (size_t k = 0; k < IMAGES; k++) {
        double v = 0;
        for (size_t i = 0; i < VALUES; i++) {
            v = 0.9 * v + 40 * dg_test_random(&seed);
            pixels[k * VALUES + i] = (uint8_t)fmin(fmax(120 + v, 0), 255);
        }
    }
}

static void covariance(const uint8_t *pixels, double *mean, double *out)
{
    for (size_t i = 0; i < VALUES; i++)
        for (size_t k = 0; k < IMAGES; k++) mean[i] += pixels[k * VALUES + i] / (255.0 * IMAGES);
    for (size_t i = 0; i < VALUES; i++)
        for (size_t j = 0; j < VALUES; j++)
            for (size_t k = 0; k < IMAGES; k++)
                out[i * VALUES + j] += (pixels[k * VALUES + i] / 255.0 - mean[i]) *
                                       (pixels[k * VALUES + j] / 255.0 - mean[j]) / IMAGES;
}

static dg_whitening *fitted(const uint8_t *pixels, double epsilon, dg_type real, int threads)
{
    const dg_whitening_options o = {
        .size = dg_square(SIZE), .channels = CHANNELS, .epsilon = epsilon, .real = real, .threads = threads};
    dg_whitening *w = NULL;
    DG_WORKS(dg_whitening_fit(&o, pixels, IMAGES, &w));
    return w;
}

/* Checks that the whitening matrix w solves w (covariance + epsilon) w = 1 and that whitened images have mean 0. */
static void check_fit(const uint8_t *pixels, double epsilon)
{
    double mean[VALUES] = {0}, *c = matrix(VALUES), *wc = matrix(VALUES), worst = 0, most = 0;
    covariance(pixels, mean, c);
    dg_whitening *w = fitted(pixels, epsilon, DG_F64, 2), *other = fitted(pixels, epsilon, DG_F64, 3);
    if (!w || !other) return;
    for (size_t i = 0; i < VALUES; i++) c[i * VALUES + i] += epsilon;
    for (size_t i = 0; i < VALUES; i++)
        for (size_t j = 0; j < VALUES; j++)
            for (size_t k = 0; k < VALUES; k++) wc[i * VALUES + j] += w->weight[i * VALUES + k] * c[k * VALUES + j];
    for (size_t i = 0; i < VALUES; i++) {
        double zero = w->bias[i];
        for (size_t j = 0; j < VALUES; j++) {
            double one = 0;
            for (size_t k = 0; k < VALUES; k++) one += wc[i * VALUES + k] * w->weight[k * VALUES + j];
            const double d = fabs(one - (i == j));
            worst = d <= worst ? worst : d;
            zero += w->weight[i * VALUES + j] * mean[j];
        }
        most = fabs(zero) <= most ? most : fabs(zero);
    }
    DG_CHECKF(worst <= 1e-12 / epsilon, "epsilon %g: the covariance becomes 1 up to %g", epsilon, worst);
    DG_CHECKF(most <= 1e-13 / epsilon, "epsilon %g: the mean becomes %g", epsilon, most);
    DG_CHECK(!memcmp(w->weight, other->weight, sizeof *w->weight * VALUES * VALUES));
    dg_whitening_free(w);
    dg_whitening_free(other);
    free(c);
    free(wc);
}

/* Whitens various numbers of images. The bytes between images must stay unchanged. */
static void check_images(const uint8_t *pixels, dg_type real)
{
    const size_t width = dg_type_bytes(real), stride = VALUES * width + 3;
    uint8_t *out = calloc(IMAGES, stride);
    dg_whitening *w = fitted(pixels, 0.01, real, 2);
    for (int n = 1; w && n <= IMAGES; n += n == 1 ? 63 : n == 64 ? 1 : 135) {
        double worst = 0;
        memset(out, 77, IMAGES * stride);
        DG_CHECK(!dg_whiten(w, real, 2, pixels, n, out, stride));
        for (size_t k = 0; k < (size_t)n; k++)
            for (size_t i = 0; i < VALUES; i++) {
                double want = w->bias[i], got;
                float narrow;
                memcpy(&narrow, out + k * stride + i * width, sizeof narrow);
                memcpy(&got, out + k * stride + i * width, width == sizeof got ? sizeof got : sizeof narrow);
                if (width == sizeof narrow) got = (double)narrow;
                for (size_t j = 0; j < VALUES; j++)
                    want += w->weight[i * VALUES + j] * (pixels[k * VALUES + j] / 255.0);
                worst = fabs(got - want) <= worst ? worst : fabs(got - want);
            }
        DG_CHECKF(worst <= (real == DG_F32 ? 2e-5 : 1e-13), "%d images: off by %g", n, worst);
        DG_CHECK(out[(size_t)n * stride - 1] == 77 && (n == IMAGES || out[(size_t)n * stride] == 77));
    }
    dg_whitening_free(w);
    free(out);
}

static void check_files(const uint8_t *pixels)
{
    enum { PLANE = SIZE * SIZE };
    dg_whitening *w = fitted(pixels, 0.01, DG_F32, 2), *back = dg_whitening_new(dg_square(SIZE), CHANNELS);
    static float weight[VALUES * VALUES], bias[VALUES];
    if (!DG_CHECK(w && back)) return;
    dg_whitening_to_file(w, DG_F32, weight, bias);
    for (size_t i = 0; i < VALUES; i++) {
        const size_t c = i / PLANE, p = i % PLANE, at = p * CHANNELS + c;
        DG_NEAR(bias[i], w->bias[at], 0);
        DG_NEAR(weight[i * VALUES + 40], w->weight[at * VALUES + 40 % PLANE * CHANNELS + 40 / PLANE], 0);
    }
    dg_whitening_from_file(back, DG_F32, weight, bias);
    DG_CHECK(!memcmp(back->weight, w->weight, sizeof *w->weight * VALUES * VALUES));
    DG_CHECK(!memcmp(back->bias, w->bias, sizeof *w->bias * VALUES));
    dg_whitening_free(w);
    dg_whitening_free(back);
}

static void check_stop(const uint8_t *pixels)
{
    volatile sig_atomic_t stop = 1;
    const dg_whitening_options o = {.size = dg_square(SIZE), .channels = CHANNELS, .epsilon = 0.01, .stop = &stop};
    dg_whitening *w;
    DG_CHECK(dg_whitening_fit(&o, pixels, IMAGES, &w) == DG_FAILED && !w);
    DG_CHECK(strstr(dg_message(), "stopped") != NULL);
    static float out[IMAGES * VALUES];
    w = fitted(pixels, 0.01, DG_F32, 2);
    if (!DG_CHECK(w != NULL)) return;
    w->stop = &stop;
    DG_CHECK(dg_whiten(w, DG_F32, 2, pixels, IMAGES, out, VALUES * sizeof(float)) == DG_FAILED);
    dg_whitening_free(w);
}

int main(void)
{
    static const int sizes[] = {1, 2, 37, 255, 256, 257, 514};
    static uint8_t pixels[IMAGES * VALUES];
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        check_product(sizes[i]);
        check_root(sizes[i], 1);
        if (sizes[i] < 300) check_root(sizes[i], 1e3);
        check_root(sizes[i], 1e7);
    }
    draw(pixels);
    check_fit(pixels, 0.1);
    check_fit(pixels, 1e-6);
    check_images(pixels, DG_F32);
    check_images(pixels, DG_F64);
    check_files(pixels);
    check_stop(pixels);
    return dg_test_report();
}

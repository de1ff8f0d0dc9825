/* Tests FID against pytorch-fid's code, which computed the recorded values from the same features, and files of
 * moments. */
#include "core/base/file_io.h"
#include "host/inception/fid.h"
#include "tempdir.h"
#include "test.h"

enum { D = 64, X = 100, Y = 90 };

/* x is uniform in -1 to 1; y is scaled by feature and shifted. */
static dg_fid_set set_of(int images, bool scaled)
{
    dg_fid_set s = {.images = images, .d = D};
    unsigned long long state = scaled ? 2 : 1;
    s.feature = malloc((size_t)images * D * sizeof *s.feature);
    s.mean = malloc((D + D * D) * sizeof *s.mean);
    s.cov = s.mean + D;
    for (int i = 0; i < images * D; i++) {
        const double r = dg_test_random(&state);
        s.feature[i] = scaled ? r * (1 + i % D / 64.0) + 0.1 : r;
    }
    DG_WORKS(dg_moments_of(s.feature, images, D, s.mean, s.cov));
    return s;
}

static void check(int x_images, int y_images, double want)
{
    dg_fid_set x = set_of(x_images, false), y = set_of(y_images, true);
    dg_fid got;
    DG_WORKS(dg_fid_compare(&x, &y, 1, 2, &got));
    DG_NEAR(got.fid, want, 1e-6 * want);
    DG_CHECK(got.has_kid && got.kid.deviation > 0);
    DG_WORKS(dg_fid_compare(&x, &x, 1, 2, &got));
    DG_NEAR(got.fid, 0, 1e-5);
    x.feature[0] = x.cov[0] = (double)NAN;
    DG_CHECK(dg_fid_compare(&x, &y, 1, 2, &got) == DG_NUMBERS);
    dg_fid_set_free(&x);
    dg_fid_set_free(&y);
}

static void test_fid(void)
{
    check(X, Y, 18.2406390832973);
    check(40, 30, 34.4925302658953); /* fewer images than features */
}

/* dg_moments_of adds the products of 4,096 points at a time. */
static void test_many(void)
{
    enum { N = 4099, F = 3 };
    double *x = malloc(N * F * sizeof *x), mean[F], cov[F * F], sum[F] = {0}, product[F * F] = {0};
    unsigned long long state = 5;
    for (int i = 0; i < N * F; i++) sum[i % F] += x[i] = dg_test_random(&state) + (i % F ? 0.5 * x[i - 1] : 3);
    for (int i = 0; i < N; i++)
        for (int k = 0; k < F * F; k++)
            product[k] += (x[i * F + k / F] - sum[k / F] / N) * (x[i * F + k % F] - sum[k % F] / N);
    DG_WORKS(dg_moments_of(x, N, F, mean, cov));
    for (int k = 0; k < F * F; k++) {
        DG_NEAR(mean[k / F], sum[k / F] / N, 1e-12);
        DG_NEAR(cov[k], product[k] / (N - 1), 1e-12);
    }
    free(x);
}

static void test_parts(void)
{
    dg_fid_set x = set_of(X, false), part, all;
    DG_WORKS(dg_fid_set_part(&x, 0, X, &all));
    DG_CHECK(!memcmp(all.cov, x.cov, sizeof(double) * D * D) && all.images == X);
    DG_WORKS(dg_fid_set_part(&x, 60, 40, &part));
    DG_CHECK(part.images == 40 && part.feature[0] == x.feature[60 * D]);
    dg_fid_set_free(&part);
    DG_REFUSED(dg_fid_set_part(&x, 0, 3, &part), DG_DATA, "3 images: too few");
    dg_fid_set_free(&part);
    dg_fid_set_free(&all);
    dg_fid_set_free(&x);
}

static const char *const file = "tests/fuzz/corpus/moments/"; /* of 3 features */

static void refused(const char *name, int d, const char *words)
{
    dg_fid_set s;
    DG_REFUSED(dg_moments_read(temp_text("%s%s", file, name), d, "unknown 1, pytorch-fid", &s), DG_DATA, words);
    dg_fid_set_free(&s);
}

static void test_moments(void)
{
    static const char *const good[] = {"dcgan", "numpy", "compressed", "fp32"};
    for (int i = 0; i < 4; i++) {
        dg_fid_set s;
        DG_WORKS(dg_moments_read(temp_text("%s%s", file, good[i]), 3, "unknown 1, pytorch-fid", &s));
        if (s.mean)
            DG_CHECK(s.mean[2] == 2.5 && s.cov[1] == 0.25 && s.cov[8] == 4 && s.images == (i ? 0 : 7) && !s.feature);
        dg_fid_set_free(&s);
    }
    refused("numpy", 4, "moments of 3 features, the network has 4");
    refused("whole", 3, "<f8 or <f4");
    refused("lopsided", 3, "not symmetric");
    refused("infinite", 3, "finite numbers");
    dg_fid_set s;
    DG_REFUSED(dg_moments_read(temp_text("%sdcgan", file), 3, "inception-2015-12-05, pytorch-fid", &s), DG_DATA,
               "made with unknown 1, pytorch-fid");
    dg_fid_set_free(&s);
}

static void test_damage(void)
{
    void *data;
    size_t bytes;
    if (!DG_WORKS(dg_read_file(temp_text("%scompressed", file), 1 << 20, &data, &bytes))) return;
    for (size_t n = 0; n < bytes; n++) {
        dg_fid_set s;
        const char *path = temp_path("cut.npz");
        FILE *f = fopen(path, "wb");
        DG_CHECK(f && fwrite(data, 1, n, f) == n && !fclose(f));
        const dg_err e = dg_moments_read(path, 3, "", &s);
        DG_CHECKF(e == DG_DATA || e == DG_IO, "%zu bytes: %s", n, dg_message());
        dg_fid_set_free(&s);
    }
    free(data);
}

DG_TESTS_BETWEEN(temp_make("fid"), temp_remove(temp_dir), test_fid, test_many, test_parts, test_moments, test_damage)

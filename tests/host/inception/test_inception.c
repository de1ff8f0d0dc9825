/* Tests features and resized images against PyTorch, pytorch-fid and clean-fid. The recorded network has a 32nd of the
 * channels. DG_TEST_INCEPTION=FILE tests another file of tools/pytorch/compare_fid.py. */
#include "host/files/safetensors.h"
#include "host/inception/inception.h"
#include "host/inception/resize.h"
#include "test.h"

static const char *path;
static dg_st *golden;
static int size, images;

static const dg_st_tensor *find(const char *name)
{
    const dg_st_tensor *t = dg_st_find(golden, name);
    DG_CHECKF(t, "%s has no %s", path, name);
    if (!t) exit(dg_test_report());
    return t;
}

static void begin(void)
{
    path = getenv("DG_TEST_INCEPTION");
    if (!path) path = "tests/golden/inception.safetensors";
    if (!DG_WORKS(dg_st_read(path, 0, &golden))) exit(dg_test_report());
    images = (int)find("images")->dim[0];
    size = (int)find("images")->dim[1];
}

/* Largest distance of features, relative to the mean of the expected features. */
static double apart(const double *got, const double *want, int n)
{
    double mean = 0, most = 0;
    for (int i = 0; i < n; i++) {
        mean += fabs(want[i]) / n;
        most = isfinite(got[i]) ? fmax(most, fabs(got[i] - want[i])) : INFINITY;
    }
    return most / mean;
}

static void check_features(dg_fid_resize how, const char *name)
{
    dg_inception *t;
    char expect[64];
    snprintf(expect, sizeof expect, "expect.%s", name);
    if (DG_WORKS(dg_inception_open(path, how, 2, &t))) {
        const int d = dg_inception_features(t);
        DG_CHECK(d == find(expect)->dim[1]);
        DG_CHECK(!dg_inception_known(t) && !strncmp(dg_inception_name(t), "unknown ", 8));
        DG_CHECK(!strcmp(dg_inception_resize(t), name));
        double *got = malloc((size_t)(images * d) * sizeof *got);
        DG_WORKS(dg_inception_look(t, find("images")->data, dg_square(size), 3, images, got));
        const double most = apart(got, find(expect)->data, images * d);
        printf("%s: %d features of %d images differ by %.2g of their mean\n", name, d, images, most);
        DG_CHECK(most < 5e-4);
        free(got);
    }
    dg_inception_close(t);
}

static void test_features(void)
{
    check_features(DG_LIKE_PYTORCH_FID, "pytorch-fid");
    check_features(DG_LIKE_CLEAN_FID, "clean-fid");
}

static void check_resized(dg_fid_resize how, const char *name, int to)
{
    char expect[64];
    snprintf(expect, sizeof expect, "resized.%s.%d", name, to);
    const float *want = find(expect)->data;
    float *got = malloc((size_t)(to * to * 3) * sizeof *got);
    DG_WORKS(dg_fid_resized(how, find("images")->data, dg_square(size), 3, to, got));
    int other = 0;
    for (int i = 0; i < to * to * 3; i++) other += !(fabsf(got[i] - want[i]) <= (how == DG_LIKE_CLEAN_FID ? 0 : 1e-5f));
    DG_CHECKF(!other, "%s to %d: %d values differ", name, to, other);
    free(got);
}

static void test_resized(void)
{
    for (int to = 17; to <= 51; to += 34) {
        check_resized(DG_LIKE_PYTORCH_FID, "pytorch-fid", to);
        check_resized(DG_LIKE_CLEAN_FID, "clean-fid", to);
    }
}

/* Grey images equal RGB images with three equal channels; alpha is ignored. */
static void test_channels(void)
{
    enum { N = 5, TO = 7 };
    uint8_t grey[N * N], rgb[N * N * 3], rgba[N * N * 4];
    float out[3][TO * TO * 3];
    for (int i = 0; i < N * N; i++)
        for (int c = 0; c < 4; c++) {
            grey[i] = (uint8_t)(i * 37 % 256);
            if (c < 3) rgb[3 * i + c] = grey[i];
            rgba[4 * i + c] = c < 3 ? grey[i] : (uint8_t)(11 * i);
        }
    for (int how = 0; how < 2; how++) {
        DG_WORKS(dg_fid_resized((dg_fid_resize)how, grey, dg_square(N), 1, TO, out[0]));
        DG_WORKS(dg_fid_resized((dg_fid_resize)how, rgb, dg_square(N), 3, TO, out[1]));
        DG_WORKS(dg_fid_resized((dg_fid_resize)how, rgba, dg_square(N), 4, TO, out[2]));
        DG_CHECK(!memcmp(out[0], out[1], sizeof out[0]) && !memcmp(out[0], out[2], sizeof out[0]));
        DG_WORKS(dg_fid_resized((dg_fid_resize)how, grey, dg_square(1), 1, TO, out[0]));
        for (int i = 1; i < TO * TO * 3; i++) DG_CHECK(out[0][i] == out[0][0]);
    }
}

/* The features of an image do not depend on threads. */
static void test_threads(void)
{
    double *got[2] = {NULL};
    int d = 0;
    for (int i = 0; i < 2; i++) {
        dg_inception *t;
        if (DG_WORKS(dg_inception_open(path, DG_LIKE_PYTORCH_FID, 1 + 2 * i, &t))) {
            d = dg_inception_features(t);
            got[i] = malloc((size_t)d * sizeof **got);
            DG_WORKS(dg_inception_look(t, find("images")->data, dg_square(size), 3, 1, got[i]));
        }
        dg_inception_close(t);
    }
    DG_CHECK(got[0] && got[1] && !memcmp(got[0], got[1], (size_t)d * sizeof **got));
    free(got[0]);
    free(got[1]);
}

DG_TESTS_BETWEEN(begin(), dg_st_free(golden), test_resized, test_channels, test_features, test_threads)

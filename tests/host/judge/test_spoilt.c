/* Tests metrics that need no classifier. Each degradation of real images must clearly worsen at least one metric,
 * and copies must be detected. The images are photographs if available, otherwise drawn cats. */
#include <omp.h>
#include <unistd.h>

#include "host/data/dataset.h"
#include "host/data/synthesize/synthesize.h"
#include "host/judge/judge.h"
#include "test.h"

enum { SIZE = 32, COUNT = DG_TEST_SANITIZED ? 120 : 300, IMAGE = SIZE * SIZE * 3, SETS = 3 };

#include "spoil.h" /* uses SIZE and IMAGE */

static void noise(uint8_t *y, const uint8_t *x, int i)
{
    (void)i;
    add_noise(y, x, 0.05 * 255);
}

static void checkers(uint8_t *y, const uint8_t *x, int i)
{
    (void)i;
    for (int k = 0; k < IMAGE; k++) y[k] = byte_of(x[k] + ((k / 3 % SIZE + k / 3 / SIZE) % 2 ? 0.03 : -0.03) * 255);
}

static void same(uint8_t *y, const uint8_t *x, int i)
{
    (void)i;
    memcpy(y, x, IMAGE);
}

static void turn(uint8_t *y, const uint8_t *x, int i)
{
    (void)i;
    for (int k = 0; k < IMAGE; k++) y[k] = x[(SIZE - 1 - k / (SIZE * 3)) * SIZE * 3 + k % (SIZE * 3)];
}

static void brighten(uint8_t *y, const uint8_t *x, int i)
{
    (void)i;
    for (int k = 0; k < IMAGE; k++) y[k] = byte_of(x[k] + 0.1 * 255);
}

static void grey(uint8_t *y, const uint8_t *x, int i)
{
    (void)i;
    for (int k = 0; k < IMAGE; k++) {
        const uint8_t *p = x + k / 3 * 3;
        y[k] = (uint8_t)((299 * p[0] + 587 * p[1] + 114 * p[2]) / 1000);
    }
}

static const struct {
    const char *name;
    void (*spoil)(uint8_t *y, const uint8_t *x, int i);
    int modes;      /* number of different images, or 0 if no image repeats */
    const char *by; /* metric whose value must be worse than `times` the value of real images */
    double times;
} spoilt[] = {
    {"blurred", blur, 0, "swd_full", 2},
    {"noisy", noise, 0, "swd_full", 1.5},
    {"with a checkerboard", checkers, 0, "swd_full", 1.5},
    {"of 30 kinds", same, COUNT / 10, "coverage", 0.8},
    {"of 150 kinds", same, COUNT / 2, "coverage", 0.95},
    {"with their halves swapped", halves, 0, "swd", 1.5},
    {"upside down", turn, 0, "swd_half", 1.5},
    {"brighter", brighten, 0, "random_frechet", 1.5},
    {"grey", grey, 0, "random_frechet", 1.3},
};

static dg_jury jury = {.count = COUNT, .size = {SIZE, SIZE}, .channels = 3, .seed = 5};

static const dg_measure *find(const char *name)
{
    const dg_measure *m = dg_measures;
    while (m->name && strcmp(m->name, name)) m++;
    return m;
}

static double value(const char *name, const dg_judged *reals, const dg_judged *x)
{
    dg_measured v = {.value = NAN};
    DG_WORKS(dg_measure_take(find(name), &jury, reals, x, &v));
    return v.value;
}

static void judge(const uint8_t *pixels, dg_judged *reals, const dg_judged *held, dg_judged *out)
{
    const dg_images images = dg_images_of(pixels, COUNT, IMAGE);
    DG_WORKS(dg_judged_take(&jury, &images, 1, 0, out));
    DG_WORKS(dg_judged_beside(&jury, reals, held, out));
}

static void print(const char *what, const dg_judged *reals, const dg_judged *x)
{
    printf("%-26s", what);
    for (const dg_measure *m = dg_measures; m->name; m++)
        if (dg_measurable(m, &jury)) printf(" %s %.5g", m->name, value(m->name, reals, x));
    printf(" (deviation %.5f)\n", x->kid_deviation);
}

/* Degrades images that are neither training nor held-out images, and checks each degradation's metric. */
static void check_spoilt(const uint8_t *pixels, dg_judged *reals, const dg_judged *held)
{
    uint8_t *made = malloc((size_t)COUNT * IMAGE);
    dg_judged x;
    print("real", reals, held);
    DG_CHECK(fabs(held->beside[DG_BESIDE_KID]) < 2 * held->kid_deviation && held->kid_deviation > 0);
    for (size_t k = 0; k < sizeof spoilt / sizeof *spoilt; k += DG_TEST_SANITIZED ? 2 : 1) {
        const int modes = spoilt[k].modes ? spoilt[k].modes : COUNT;
        for (int i = 0; i < COUNT; i++)
            spoilt[k].spoil(made + (size_t)i * IMAGE, pixels + (size_t)(i % modes) * IMAGE, i);
        judge(made, reals, held, &x);
        print(spoilt[k].name, reals, &x);
        const double is = value(spoilt[k].by, reals, &x), floor = value(spoilt[k].by, reals, held);
        DG_CHECKF(find(spoilt[k].by)->higher ? is < spoilt[k].times * floor : is > spoilt[k].times * floor,
                  "%s: %s is %g, %g of real ones", spoilt[k].name, spoilt[k].by, is, floor);
        const bool seen = spoilt[k].spoil == blur || spoilt[k].spoil == brighten || spoilt[k].spoil == grey;
        DG_CHECKF(!seen || x.beside[DG_BESIDE_KID] > 3 * x.kid_deviation, "%s: KID %g +- %g", spoilt[k].name,
                  x.beside[DG_BESIDE_KID], x.kid_deviation);
        dg_judged_free(&x);
    }
    free(made);
}

/* Unseen images have about the same metrics as held-out images. Training images with a little noise are detected as
 * copies. */
static void check_copies(const uint8_t *others, dg_judged *reals, const dg_judged *held)
{
    uint8_t *made = malloc((size_t)COUNT * IMAGE);
    dg_judged x;
    judge(others, reals, held, &x);
    DG_CHECKF(value("nearest", reals, &x) > 0.9 && value("nearest", reals, &x) < 1.15, "others are as near as %g",
              value("nearest", reals, &x));
    DG_CHECK(value("random_frechet", reals, &x) < 1.2 * value("random_frechet", reals, held));
    DG_CHECK(value("swd", reals, &x) < 1.3 * value("swd", reals, held));
    DG_CHECKF(fabs(value("kid", reals, &x)) < 3 * x.kid_deviation, "KID of others %g +- %g", value("kid", reals, &x),
              x.kid_deviation);
    dg_judged_free(&x);
    for (int i = 0; i < COUNT; i++)
        for (int k = 0; k < IMAGE; k++)
            made[(size_t)i * IMAGE + (size_t)k] = byte_of(
                (i % 2 ? reals : held)->pixels[(size_t)i * IMAGE + (size_t)k] + 2 * normal());
    judge(made, reals, held, &x);
    DG_CHECKF(value("nearest", reals, &x) < 0.5, "copies are as near as %g", value("nearest", reals, &x));
    dg_judged_free(&x);
    free(made);
}

/* `pixels` has 2 * COUNT real images, followed by COUNT unseen images. */
static void check_set(const char *name, const uint8_t *pixels)
{
    dg_judged reals = {0}, held = {0};
    const dg_images images = dg_images_of(pixels, 2 * COUNT, IMAGE);
    printf("%s\n", name);
    dg_err e = dg_judged_take(&jury, &images, 0, 0, &reals);
    if (!e) e = dg_judged_take(&jury, &images, 0, COUNT, &held);
    if (!e) e = dg_judged_beside(&jury, &reals, &held, &held);
    if (DG_WORKS(e)) {
        check_spoilt(pixels + (size_t)2 * COUNT * IMAGE, &reals, &held);
        check_copies(pixels + (size_t)2 * COUNT * IMAGE, &reals, &held);
    }
    dg_judged_free(&reals);
    dg_judged_free(&held);
}

static void check_drawn(void)
{
    uint8_t *pixels = malloc((size_t)SETS * COUNT * IMAGE);
    for (int i = 0; i < SETS * COUNT; i++) dg_synthesize_one(pixels + (size_t)i * IMAGE, dg_square(SIZE), 1, i);
    check_set("drawn cats", pixels);
    free(pixels);
}

static void check_folder(const char *dir)
{
    dg_dataset d;
    const dg_dataset_options o = {.dir = dir, .size = dg_square(SIZE), .channels = 3, .limit = SETS * COUNT};
    if (!DG_WORKS(dg_dataset_load(&o, &d))) return;
    if (d.count < SETS * COUNT) dg_test_skip("the folder has too few images");
    else check_set(dir, d.pixels);
    dg_dataset_free(&d);
}

static void check_repeatable(void)
{
    double feature[2][DG_RANDOM_FEATURES];
    uint8_t pixels[IMAGE];
    dg_synthesize_one(pixels, dg_square(SIZE), 9, 1);
    for (int k = 0; k < 2; k++) {
        const dg_device d = {.device = "cpu", .threads = 1 + 2 * k};
        dg_random_net *net;
        omp_set_num_threads(1 + 2 * k);
        DG_CHECK(!dg_random_net_open(&d, dg_square(SIZE), 3, &net) && !dg_random_net_look(net, pixels, 1, feature[k]));
        dg_random_net_close(net);
    }
    DG_CHECK(!memcmp(feature[0], feature[1], sizeof feature[0]));
}

int main(void)
{
    const char *shared = getenv("DCGAN_SHARED");
    char dir[4096];
    snprintf(dir, sizeof dir, "%s/data/cats", shared && *shared ? shared : "../shared");
    const dg_device d = {.device = "cpu"};
    if (DG_WORKS(dg_random_net_open(&d, dg_square(SIZE), 3, &jury.random_net))) {
        const bool photographs = !DG_TEST_SANITIZED && access(dir, R_OK) == 0;
        if (photographs) check_folder(dir);
        else check_drawn();
        if (!photographs)
            dg_test_skip("no folder data/cats in DCGAN_SHARED or ../shared, or sanitized: drawn cats alone");
        check_repeatable();
    }
    dg_random_net_close(jury.random_net);
    return dg_test_report();
}

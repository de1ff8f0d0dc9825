/* Tests that learning rates, beta2, penalties, EMA and augmentation follow from the number of images shown. */
#include "host/net/job.h"
#include "test.h"

static const dg_job_options base = {
    .batch = 64, .beta2 = 0.9, .r1 = 2, .r2 = 0.3, .ema = 0.995, .augment_p = 0.7, .lr_end = 0.25};

static dg_step_state after(const dg_job_options *o, double images)
{
    dg_step_state s = {.seed = 3, .step = 9, .cursor = 2, .lr = {2e-4, 1e-3}};
    dg_schedule_step(o, images, 64, &s);
    DG_CHECK(s.seed == 3 && s.step == 9 && s.cursor == 2);
    return s;
}

static void test_constant(void)
{
    dg_job_options o = base;
    for (int i = 0; i < 4; i++) {
        const dg_step_state s = after(&o, i * 3e5);
        DG_CHECK(s.lr[0] == 2e-4 && s.lr[1] == 1e-3 && s.beta2 == 0.9 && s.penalty[0] == 2 && s.penalty[1] == 0.3);
        DG_CHECK(s.ema == 0.995 && s.augment == 0.7);
    }
    o.ema_half_life = 640;
    DG_NEAR(pow(after(&o, 5).ema, 10), 0.5, 1e-14);
    dg_step_state s = {0};
    dg_schedule_step(&o, 5, 20, &s); /* a short batch of 20 images */
    DG_NEAR(pow(s.ema, 32), 0.5, 1e-14);
}

static void test_cosine(void)
{
    dg_job_options o = base;
    o.schedule = 1000, o.beta2_end = 0.99, o.r1_end = 0.2, o.ema_half_life = 640;
    dg_step_state s = after(&o, 0);
    DG_CHECK(s.lr[0] == 2e-4 && s.beta2 == 0.9 && s.penalty[0] == 2 && s.ema == 0 && s.augment == 0);
    s = after(&o, 250);
    const double c = (1 + sqrt(0.5)) / 2;
    DG_NEAR(s.lr[1], 2.5e-4 + 7.5e-4 * c, 1e-17);
    DG_NEAR(s.beta2, 0.99 - 0.09 * c, 1e-15);
    DG_NEAR(s.penalty[0], 0.2 + 1.8 * c, 1e-15);
    DG_NEAR(s.ema, pow(0.5, 64 / (640 * (1 - c))), 1e-14);
    DG_NEAR(s.augment, 0.7 * (1 - c), 1e-15);
    DG_CHECK(s.penalty[1] == 0.3); /* R2 stays constant, because r2_end is 0 */
    s = after(&o, 500);
    DG_NEAR(s.lr[0], (2e-4 + 5e-5) / 2, 1e-18);
    s = after(&o, 1000);
    DG_NEAR(s.lr[0], 5e-5, 1e-18);
    DG_CHECK(s.beta2 == 0.99 && s.penalty[0] == 0.2 && s.augment == 0.7);
    DG_NEAR(pow(s.ema, 10), 0.5, 1e-14);
    const dg_step_state later = after(&o, 123456);
    DG_CHECK(!memcmp(&later, &s, sizeof s));
}

DG_TESTS(test_constant, test_cosine)

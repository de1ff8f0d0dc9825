/* Tests that learning rates and EMA decay depend only on the number of images shown. The cases are a short last batch,
 * several steps per call, and a changed dataset. */
#include "host/net/job.h"
#include "host/trainer/steps.h"
#include "machine.h"

enum { IMAGES = 11, BATCH = 4, STEPS = 3 * 3 };

static dg_job_options options(bool schedule)
{
    dg_job_options o = machine_training(BATCH, 0, 0, 0);
    if (schedule) o.schedule = 25, o.lr_end = 0.1, o.beta2_end = 0.9;
    o.augment_p = 1, o.ema_half_life = 9;
    return o;
}

static void check_state(dg_job *job, const dg_job_options *o, double images, int batch, uint64_t step)
{
    dg_step_state got, want = {.lr = {1e-3, 1e-3}};
    dg_schedule_step(o, images, batch, &want);
    DG_CHECK(!job->backend->get(job->backend, &got, dg_job_memory(job, job->row[DG_ROW_STATE]), sizeof got));
    DG_CHECKF(got.step == step && !memcmp(got.lr, want.lr, sizeof want.lr) && got.beta2 == want.beta2 &&
                  got.augment == want.augment && got.ema == want.ema,
              "after step %d: the values are not those of %g images", (int)step, images);
}

/* `more` is the number of images that were shown before the dataset changed. */
static void check_trainer(bool schedule, bool drop_last, int each, int more)
{
    static const double shown[2][STEPS] = {{0, 4, 8, 11, 15, 19, 22, 26, 30}, {0, 4, 8, 12, 16, 20, 24, 28, 32}};
    static dg_job job;
    static dg_model m;
    uint8_t pixels[IMAGES * 16 * 16 * 3];
    char text[DG_MODEL_TEXT_MAX];
    const dg_job_options o = options(schedule);
    dg_backend *b;
    dg_trainer t = {.lr = 1e-3};
    machine_pixels(pixels, sizeof pixels);
    dg_err e = dg_model_stock(text, "tiny", dg_square(16), 3, 10, 5, 3);
    if (!e) e = dg_model_parse(text, "tiny", &m);
    if (!e) e = dg_cpu_open(&(dg_cpu_options){.real = DG_F32, .threads = 1}, &b);
    if (!DG_WORKS(e)) return;
    e = dg_trainer_open(&t, &job, &m, &o, b, pixels, NULL, IMAGES, drop_last, 7);
    if (!e) e = dg_job_init(&job, 7);
    t.at.more = more;
    for (int s = each; s <= STEPS && !e; s += each) {
        e = dg_trainer_steps(&t, each);
        const int batch = drop_last || s % 3 ? BATCH : IMAGES % BATCH;
        if (!e) check_state(&job, &o, shown[drop_last][s - 1] + more, batch, (uint64_t)s);
    }
    DG_WORKS(e);
    dg_job_free(&job);
    dg_trainer_close(&t);
    b->close(b);
}

int main(void)
{
    for (int schedule = 0; schedule < 2; schedule++)
        for (int drop_last = 0; drop_last < 2; drop_last++)
            for (int each = 1; each < 5; each++) check_trainer(schedule, drop_last, each, each == 3 ? 5 : 0);
    return dg_test_report();
}

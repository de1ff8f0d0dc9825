/* Tests the library by its public header, include/dcgan.h. */
#include "failing.h"

#include "host/cli/commands.h"
#include "host/data/synthesize/synthesize.h"
#include "command_line.h"
#include "library.h"

enum { STEPS = 7 };

static char wide[600];

typedef struct {
    const char *model;
    int size, threads;
    dcgan_backend *backend;
    dcgan_job *job;
} machine;

static dcgan_training training(const char *model)
{
    dcgan_training t = dcgan_training_defaults();
    t.model = model;
    t.batch = 4;
    t.flip = 1;
    t.seed = 9;
    return t;
}

static dcgan_images images(int size)
{
    return (dcgan_images){.pixels = pixels, .count = IMAGES, .size = size, .channels = 3};
}

static void up(machine *m)
{
    const dcgan_device d = {.device = "cpu", .threads = m->threads};
    const dcgan_training t = training(m->model);
    const dcgan_images p = images(m->size);
    good(dcgan_open(&d, &m->backend));
    good(dcgan_train(m->backend, &t, &p, &m->job));
}

static void down(machine *m)
{
    dcgan_free(m->job);
    dcgan_close(m->backend);
}

static void leave(const machine *m, const char *name)
{
    uint8_t made[3 * 32 * 32 * 3];
    good(dcgan_save(m->job, temp_path(name)));
    good(dcgan_sample(m->job, 5, 3, made));
    temp_put(temp_path(temp_text("%s.images", name)), (const char *)made, 3 * (size_t)m->size * (size_t)m->size * 3);
}

static bool same(const char *a, const char *b) { return same_file(temp_path(a), temp_path(b)); }

/* Sequential and alternating training of two jobs must give the same files. */
static void in_turn(machine a, machine b)
{
    machine alone[2] = {a, b}, turn[2] = {a, b};
    const char *const name[] = {"alone0", "alone1", "turn0", "turn1"};
    for (int i = 0; i < 2; i++) {
        up(&alone[i]);
        good(dcgan_step(alone[i].job, STEPS));
        leave(&alone[i], name[i]);
        down(&alone[i]);
    }
    for (int i = 0; i < 2; i++) up(&turn[i]);
    for (int s = 0; s < STEPS; s++)
        for (int i = 0; i < 2; i++) good(dcgan_step(turn[i].job, 1));
    for (int i = 0; i < 2; i++) leave(&turn[i], name[2 + i]);
    for (int i = 0; i < 2; i++) down(&turn[i]);
    const char *const file[][2] = {{"alone0", "turn0"},
                                   {"alone1", "turn1"},
                                   {"alone0.images", "turn0.images"},
                                   {"alone1.images", "turn1.images"}};
    for (int i = 0; i < 4; i++)
        DG_CHECKF(same(file[i][0], file[i][1]), "%s %d and %s %d threads: %s is not %s", a.model, a.threads, b.model,
                  b.threads, file[i][1], file[i][0]);
}

static void two_jobs(void)
{
    const machine one = {tiny, SIDE, 1, NULL, NULL}, two = {tiny, SIDE, 2, NULL, NULL},
                  other = {wide, 32, 2, NULL, NULL};
    make_model(wide, 32);
    in_turn(one, two);
    in_turn(one, other);
    in_turn(other, two);
    DG_CHECK(same("alone1", "turn1") && !same("alone0", "alone1"));
}

/* A second job on the same backend resumes from the first job's checkpoint in the middle of an epoch. */
static void goes_on(void)
{
    machine m = {tiny, SIDE, 2, NULL, NULL};
    dcgan_job *later, *loaded;
    const dcgan_training t = training("no such model");
    const dcgan_images p = images(SIDE);
    uint8_t a[2 * SIDE * SIDE * 3], b[2 * SIDE * SIDE * 3];
    double x = 0, y = 1;
    up(&m);
    good(dcgan_step(m.job, 4));
    good(dcgan_save(m.job, temp_path("four")));
    good(dcgan_resume(m.backend, temp_path("four"), &t, &p, &later));
    DG_CHECK(dcgan_info_of(later).step == 4 && dcgan_info_of(later).epoch == 1 && dcgan_info_of(later).seed == 9);
    good(dcgan_step(m.job, 3));
    good(dcgan_step(later, 3));
    good(dcgan_save(m.job, temp_path("seven")));
    good(dcgan_save(later, temp_path("later")));
    DG_CHECK(same("seven", "later") && !same("four", "seven"));
    good(dcgan_metric(m.job, "loss_d", &x));
    good(dcgan_metric(later, "loss_d", &y));
    DG_CHECK(x > 0 && x < 10 && x - y == 0);
    int names = 0, found = 0;
    for (const char *n; (n = dcgan_metric_name(later, names)); names++) found += !strcmp(n, "loss_d");
    DG_CHECKF(names >= 2 && found == 1, "%d names, %d of them loss_d", names, found);
    DG_CHECK(dcgan_metric(later, "loss of nothing", &x) == DCGAN_USAGE && strstr(dcgan_message(), "loss of nothing"));
    good(dcgan_load(m.backend, temp_path("later"), &loaded));
    good(dcgan_sample(loaded, 40, 2, a));
    good(dcgan_sample(m.job, 40, 2, b));
    DG_CHECK(!memcmp(a, b, sizeof a) && memcmp(a, a + sizeof a / 2, sizeof a / 2) != 0);
    DG_CHECK(dcgan_info_of(loaded).step == 7 && dcgan_info_of(loaded).size == SIDE);
    DG_CHECK(dcgan_step(loaded, 1) == DCGAN_USAGE && dcgan_save(loaded, temp_path("no")) == DCGAN_USAGE);
    DG_CHECK(dcgan_sample(loaded, 0, 0, a) == DCGAN_USAGE);
    good(dcgan_write_png(temp_path("a.png"), a, SIDE, SIDE, 3));
    DG_CHECK(dcgan_write_png(temp_path("b.png"), a, SIDE, SIDE, 2) == DCGAN_USAGE);
    DG_CHECK(dcgan_write_png(temp_path("none/b.png"), a, SIDE, SIDE, 3) == DCGAN_IO);
    dcgan_free(loaded);
    dcgan_free(later);
    down(&m);
}

/* A conditional GAN: training resumes, samples have a class, and labels are checked. */
static void by_class(void)
{
    const char model[] = "dcgan-16x3-3classes";
    int32_t label[IMAGES];
    for (int i = 0; i < IMAGES; i++) label[i] = i % 3;
    machine m = {model, SIDE, 2, NULL, NULL};
    const dcgan_device d = {.device = "cpu", .threads = 2};
    const dcgan_training t = training(model);
    dcgan_images p = images(SIDE);
    dcgan_job *later;
    uint8_t a[2 * SIDE * SIDE * 3], b[2 * SIDE * SIDE * 3], c[2 * SIDE * SIDE * 3];
    good(dcgan_open(&d, &m.backend));
    DG_CHECK(dcgan_train(m.backend, &t, &p, &m.job) == DCGAN_USAGE && strstr(dcgan_message(), "labels is NULL"));
    p.labels = label;
    label[4] = 3;
    DG_CHECK(dcgan_train(m.backend, &t, &p, &m.job) == DCGAN_DATA && strstr(dcgan_message(), "image 4 has label 3"));
    label[4] = 1;
    good(dcgan_train(m.backend, &t, &p, &m.job));
    good(dcgan_step(m.job, 3));
    good(dcgan_save(m.job, temp_path("classes")));
    good(dcgan_resume(m.backend, temp_path("classes"), &t, &p, &later));
    good(dcgan_step(later, 2));
    good(dcgan_step(m.job, 2));
    good(dcgan_sample_class(later, 1, 7, 2, a));
    good(dcgan_sample_class(m.job, 1, 7, 2, b));
    good(dcgan_sample_class(m.job, 2, 7, 2, c));
    DG_CHECK(!memcmp(a, b, sizeof a) && memcmp(a, c, sizeof a) != 0 && dcgan_info_of(later).classes == 3);
    DG_CHECK(dcgan_sample_class(m.job, 3, 7, 2, c) == DCGAN_USAGE && strstr(dcgan_message(), "3 classes"));
    dcgan_free(later);
    down(&m);
}

static void note(void *context, const char *text) { snprintf(context, 300, "%s", text); }

static void mistakes(void)
{
    static const dcgan_device devices[] = {{.device = "gpu"},
                                           {.device = "cuda:"},
                                           {.precision = "fp8"},
                                           {.device = "cpu", .threads = -1}};
    dcgan_backend *b;
    dcgan_job *job;
    char warning[300] = "";
    for (size_t i = 0; i < sizeof devices / sizeof devices[0]; i++)
        DG_CHECKF(dcgan_open(&devices[i], &b) == DCGAN_USAGE && !b && *dcgan_message(), "device %zu", i);
    good(dcgan_open(&(dcgan_device){.device = "cpu", .threads = 1}, &b));
    DG_CHECK(!strncmp(dcgan_backend_name(b), "cpu, 1 thread,", 14));
    DG_CHECK(dcgan_load(b, temp_path("nothing"), &job) == DCGAN_IO && !job && strstr(dcgan_message(), "nothing"));
    dcgan_images p = images(SIDE);
    dcgan_training t = training("none.cfg");
    DG_CHECK(dcgan_train(b, &t, &p, &job) == DCGAN_USAGE && !job && strstr(dcgan_message(), "none.cfg"));
    t = training(tiny), t.batch = 0;
    DG_CHECK(dcgan_train(b, &t, &p, &job) == DCGAN_USAGE && strstr(dcgan_message(), "batch"));
    t = training(tiny), t.lr = NAN;
    DG_CHECK(dcgan_train(b, &t, &p, &job) == DCGAN_USAGE && strstr(dcgan_message(), "nan"));
    t = training(tiny), t.beta2 = 1;
    DG_CHECK(dcgan_train(b, &t, &p, &job) == DCGAN_USAGE && strstr(dcgan_message(), "beta2 1"));
    t = training(tiny), t.batch = 12;
    DG_CHECK(dcgan_train(b, &t, &p, &job) == DCGAN_DATA && strstr(dcgan_message(), "only 11 "));
    t = training(wide);
    DG_CHECK(dcgan_train(b, &t, &p, &job) == DCGAN_DATA && strstr(dcgan_message(), "32 x 32 x 3") && !job);
    t = training(tiny), t.lr = 1e30;
    good(dcgan_train(b, &t, &p, &job));
    DG_CHECK(dcgan_step(job, STEPS) == DCGAN_NUMBERS && strstr(dcgan_message(), "step "));
    dcgan_free(job);
    t = training(tiny);
    p.count--;
    dcgan_set_warnings(note, warning);
    good(dcgan_resume(b, temp_path("four"), &t, &p, &job));
    dcgan_set_warnings(NULL, NULL);
    DG_CHECKF(strstr(warning, "11 then, 10 now"), "the warning was \"%s\"", warning);
    dcgan_free(job);
    dcgan_free(NULL);
    dcgan_close(b);
    dcgan_close(NULL);
}

static int program(const char *line)
{
    dg_options o;
    dg_err e = parse_line(line, &o);
    if (!e) e = (dg_err)dg_cmd_train(&o);
    dg_options_free(&o);
    return e == DG_OK;
}

/* The program and the library must train to the same bytes. */
static void as_the_program(void)
{
    char cats[256];
    dg_dataset d;
    dcgan_backend *b;
    dcgan_job *mine, *its;
    snprintf(cats, sizeof cats, "%s", temp_path("cats"));
    good((dcgan_error)dg_synthesize(cats, IMAGES, dg_square(SIDE), 3, 0));
    DG_CHECKF(program(temp_text("--data %s --model %s --batch 4 --flip --seed 9 --epochs 2 --device cpu -q --out %s",
                                cats, tiny, temp_path("run"))),
              "%s", dg_message());
    good((dcgan_error)dg_dataset_load(&(dg_dataset_options){.dir = cats, .size = dg_square(SIDE), .channels = 3}, &d));
    const dcgan_images p = {.pixels = d.pixels, .count = d.count, .size = SIDE, .channels = 3};
    const dcgan_training t = training(tiny);
    good(dcgan_open(&(dcgan_device){.device = "cpu"}, &b));
    good(dcgan_train(b, &t, &p, &mine));
    good(dcgan_step(mine, 6));
    good(dcgan_resume(b, temp_path("run/checkpoint.safetensors"), &t, &p, &its));
    good(dcgan_save(mine, temp_path("mine")));
    good(dcgan_save(its, temp_path("its")));
    DG_CHECK(same("mine", "its"));
    dcgan_free(mine);
    dcgan_free(its);
    dcgan_close(b);
    dg_dataset_free(&d);
}

/* Images of 24 x 16 pixels. Without the height, the images are those of another model. */
static void rectangle(void)
{
    uint8_t one[24 * 16 * 3];
    dcgan_backend *b;
    dcgan_job *job;
    dcgan_images p = {.pixels = pixels, .count = IMAGES, .size = 24, .channels = 3};
    const dcgan_training t = training("dcgan-24x16x3");
    good(dcgan_open(&(dcgan_device){.device = "cpu"}, &b));
    DG_CHECK(dcgan_train(b, &t, &p, &job) == DCGAN_DATA && strstr(dcgan_message(), "24 x 24 x 3"));
    p.height = 16;
    good(dcgan_train(b, &t, &p, &job));
    good(dcgan_step(job, 1));
    good(dcgan_sample(job, 1, 1, one));
    DG_CHECK(dcgan_info_of(job).size == 24 && dcgan_info_of(job).height == 16);
    dcgan_free(job);
    dcgan_close(b);
}

static void defaults(void)
{
    char *argv[] = {"dcgan", "--data", "cats", NULL};
    dg_options o;
    bool done;
    const dcgan_training t = dcgan_training_defaults();
    DG_CHECK(dg_options_parse(3, argv, &o, &done) == DG_OK);
    DG_CHECK(!strcmp(t.model, o.model) && t.batch == o.batch && t.seed == o.seed && t.flip == o.job.flip);
    DG_CHECK(t.drop_last == o.drop_last && t.lr - o.lr == 0 && t.beta1 - o.job.beta1 == 0 &&
             t.beta2 - o.job.beta2 == 0);
    DG_CHECK(t.eps - o.job.eps == 0 && strstr(dcgan_version(), "dcgan " DCGAN_VERSION));
    dg_options_free(&o);
}

#if DG_FAILING
static dcgan_backend *opened;

static void nothing(void) {}

static dg_err open_it(void) { return (dg_err)dcgan_open(&(dcgan_device){.device = "cpu", .threads = 2}, &opened); }

static void close_it(dg_err e)
{
    DG_CHECKF(e ? !opened && e == DG_DEVICE && *dcgan_message() : opened != NULL, "%d: %s", (int)e, dcgan_message());
    dcgan_close(opened);
}

static void without_memory(void)
{
    spare_openmp();
    close_it(open_it()); /* the first threads allocate memory that later threads use again */
    const long failures = each_of("opening a backend", MEMORY, false, nothing, open_it, close_it);
    DG_CHECKF(failures > 2, "only %ld calls failed", failures);
}
#else
static void without_memory(void) {}
#endif

DG_TESTS_IN("lib", make_inputs, defaults, without_memory, goes_on, by_class, two_jobs, mistakes, rectangle,
            as_the_program)

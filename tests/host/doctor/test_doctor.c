/* Tests each rule of `dcgan doctor` with a log that triggers it and with a log that does not. Some logs were
 * recorded and shortened, others have the means of recorded logs (docs/guide/doctor.md). */
#include "core/base/file_io.h"
#include "host/doctor/diversity.h"
#include "host/figure/images.h"
#include "host/net/gan.h"
#include "tempdir.h"
#include "test.h"

enum { MOST = 2000 };
static dg_log_row row[MOST];
static long rows;
static dg_doctor doctor;

static void load(const char *name)
{
    char path[200];
    void *text;
    size_t bytes, header;
    rows = 0;
    snprintf(path, sizeof path, "tests/host/doctor/%s.csv", name);
    if (!DG_WORKS(dg_read_file(path, 1 << 24, &text, &bytes))) return;
    if (DG_CHECK(dg_log_recipe(text, &header) == &dg_gan_recipe))
        for (char *line = (char *)text + header, *end; rows < MOST && (end = strchr(line, '\n')); line = end + 1) {
            *end = 0;
            if (!DG_CHECKF(dg_log_parse(line, &dg_gan_recipe, &row[rows]), "%s:%ld", path, rows + 2)) break;
            rows++;
        }
    free(text);
}

/* Windows of 250 steps of a recorded log with similar values. The last row of a phase has the metrics if `nearest` is
 * above 0. */
typedef struct {
    int windows;
    double loss_d_real, loss_d_fake, loss_g, d_x, d_gz1, loss_g_deviation, margin_deviation, nearest;
} phase;

static const phase runs_away[] = {{1, 0.2, 0, 98.3, 0.989, 0, 26.3, 0.039, 0}, {4, 0, 0, 90.6, 1, 0, 0, 0, 0}, {0}};
static const phase d_wins[] = {{1, 0.0676, 0.0528, 4.59, 0.944, 0.045, 1.46, 0.208, 0},
                               {3, 0.001, 0.0011, 7.14, 0.999, 0.001, 0.2, 0, 0},
                               {0}};
static const phase g_wins[] = {{1, 0.752, 2.99, 0.0964, 0.476, 0.916, 0.13, 0.094, 0},
                               {3, 0.671, 4.49, 0.0122, 0.514, 0.988, 0.001, 0.01, 0},
                               {0}};
static const phase collapse[] = {{1, 0.306, 0.394, 1.66, 0.759, 0.305, 0.6, 0.201, 0},
                                 {2, 0.183, 0.18, 2.62, 0.855, 0.154, 0.36, 0.132, 0},
                                 {1, 0.0146, 0.012, 9.45, 0.987, 0.011, 3.4, 0.073, 0},
                                 {2, 2.4e-5, 8e-5, 9.52, 1, 0, 0.23, 0, 0},
                                 {0}};
static const phase swings[] = {{1, 7.25, 8.12, 58.9, 0.782, 0.502, 42.8, 0.347, 0},
                               {1, 1.84, 6.49, 57.6, 0.854, 0.436, 34.6, 0.397, 0},
                               {1, 4.18, 12.4, 34.5, 0.724, 0.388, 27.5, 0.355, 0},
                               {1, 6.94, 2.09, 14, 0.454, 0.185, 20.6, 0.283, 0},
                               {1, 10.7, 2.07, 18.8, 0.474, 0.182, 27.4, 0.326, 0},
                               {1, 3.32, 12.3, 33.4, 0.734, 0.681, 25.3, 0.298, 0},
                               {0}};
static const phase copies[] = {{1, 0.297, 0.4, 1.38, 0.748, 0.322, 0.07, 0.028, 0},
                               {1, 0.214, 0.193, 2.03, 0.814, 0.168, 0.21, 0.052, 0.896},
                               {2, 0.1, 0.0954, 3.01, 0.914, 0.085, 0.27, 0.055, 0.832},
                               {2, 0.0336, 0.0409, 4.02, 0.968, 0.04, 0.26, 0.014, 0.812},
                               {1, 0.0207, 0.0225, 4.56, 0.98, 0.022, 0.23, 0.006, 0},
                               {1, 0.174, 0.0702, 4.24, 0.914, 0.052, 0.95, 0.187, 0.746},
                               {2, 0.0203, 0.0217, 4.63, 0.981, 0.022, 0.15, 0.007, 0.772},
                               {2, 0.0128, 0.0129, 5.28, 0.987, 0.013, 0.24, 0.004, 0.735},
                               {2, 0.00995, 0.00975, 5.52, 0.991, 0.009, 0.2, 0.003, 0.75},
                               {2, 0.00947, 0.00941, 5.65, 0.991, 0.009, 0.19, 0.003, 0.666},
                               {2, 0.00712, 0.00885, 5.72, 0.993, 0.009, 0.22, 0.002, 0.691},
                               {6, 0.0058, 0.006, 6.04, 0.994, 0.006, 0.22, 0.002, 0.683},
                               {0}};

static void expand(uint64_t steps_per_epoch, const phase *p)
{
    for (rows = 0; p->windows; p++)
        for (const long end = rows + 10 * p->windows; rows < end; rows++) {
            const int side = rows % 2 ? 1 : -1;
            const uint64_t step = 25 * (uint64_t)(rows + 1);
            row[rows] = (dg_log_row){.step = step, .epoch = (step - 1) / steps_per_epoch + 1};
            row[rows].judged = p->nearest > 0 && rows == end - 1;
            for (int k = 0; k < DG_LOGGED; k++) row[rows].measure[k] = k == DG_LOG_NEAREST ? p->nearest : 1;
            row[rows].value[DG_LOSS_D_REAL] = p->loss_d_real;
            row[rows].value[DG_LOSS_D_FAKE] = p->loss_d_fake;
            row[rows].value[DG_LOSS_G] = p->loss_g + side * p->loss_g_deviation;
            row[rows].value[DG_D_X] = p->d_x + side * p->margin_deviation / 2;
            row[rows].value[DG_D_GZ1] = p->d_gz1 - side * p->margin_deviation / 2;
        }
}

/* Makes n log rows that trigger no rule. */
static void well(long n)
{
    rows = n;
    for (long i = 0; i < n; i++) {
        row[i] = (dg_log_row){.step = (uint64_t)(i + 1), .epoch = (uint64_t)(i / 10 + 1)};
        row[i].value[DG_LOSS_D_REAL] = row[i].value[DG_LOSS_D_FAKE] = 0.3;
        row[i].value[DG_LOSS_G] = 2;
        row[i].value[DG_D_X] = 0.75 + 0.05 * (double)(i % 3 - 1);
        row[i].value[DG_D_GZ1] = 0.25;
    }
}

static const dg_finding *find(const char *name)
{
    for (int i = 0; i < doctor.findings; i++)
        if (!strcmp(doctor.finding[i].rule->name, name)) return &doctor.finding[i];
    return NULL;
}

/* Checks that exactly the given rules are triggered. `grid` may be NULL. */
static void fires(const char *what, const dg_grid_seen *grid, int grids, const char *const *want)
{
    int n = 0;
    dg_doctor_examine(&doctor, DG_LOSS_BCE, true, row, rows, grid, grids);
    for (int i = 0; want[i]; i++, n++) DG_CHECKF(find(want[i]), "%s: %s should fire", what, want[i]);
    for (int i = 0; i < doctor.findings; i++) {
        bool wanted = false;
        for (int k = 0; want[k]; k++) wanted |= !strcmp(want[k], doctor.finding[i].rule->name);
        DG_CHECKF(wanted, "%s: %s should not fire", what, doctor.finding[i].rule->name);
    }
}
#define FIRES(what, grid, grids, ...) fires(what, grid, grids, (const char *const[]){__VA_ARGS__, NULL})
#define NOTHING(what, grid, grids) fires(what, grid, grids, (const char *const[]){NULL})

static void check_recorded(void)
{
    load("mnist-25-epochs");
    NOTHING("25 epochs of MNIST", NULL, 0);
    expand(7, runs_away);
    const dg_grid_seen grey[] = {{50, 0.0005}, {100, 0.0002}, {150, 0.0001}};
    FIRES("a rate of 0.5", grey, 3, "runs_away", "d_wins", "noise");
    DG_CHECK(find("runs_away")->step <= 250 && !find("runs_away")->end_step && find("runs_away")->worst > 100);
    expand(7, d_wins);
    FIRES("a G that does not learn", NULL, 0, "d_wins");
    expand(7, g_wins);
    FIRES("a D that does not learn", NULL, 0, "g_wins");
    const dg_grid_seen alike[] = {{10, 0.2212}, {20, 0.2544}, {30, 0.3835}, {40, 0.5985},  {50, 0.6545}, {60, 0.7751},
                                  {70, 0.0041}, {80, 0.0891}, {90, 0.1255}, {100, 0.1375}, {110, 0}};
    expand(13, collapse);
    FIRES("rates times 100 after epoch 60", alike, 11, "collapse", "d_wins");
    DG_CHECK(find("collapse")->epoch > 70 && find("collapse")->epoch < 90 && !find("collapse")->end_step);
    expand(100, swings);
    FIRES("a D that is 1,000 times as fast as G", NULL, 0, "swings", "runs_away");
    DG_CHECK(find("swings")->step <= 750 && find("swings")->worst > 0.3);
    expand(1, copies);
    FIRES("32 images, overfitted", NULL, 0, "copies", "d_wins");
    DG_CHECK(find("copies")->step == 4000 && find("copies")->worst < 0.67);
    load("well");
    rows = 26;
    FIRES("500 steps", NULL, 0, "few_steps");
    const dg_grid_seen fine[] = {{20, 0.5489},  {40, 0.75},    {60, 0.8403}, {80, 0.9667},
                                 {100, 1.0254}, {120, 1.0400}, {140, 1.0805}};
    load("well");
    NOTHING("2,000 steps that go well, measured", fine, 7);
    load("published-300-epochs");
    FIRES("the published run", NULL, 0, "d_wins", "spikes");
    DG_CHECKF(find("d_wins")->epoch >= 175 && find("d_wins")->epoch <= 185, "D wins from epoch %d",
              (int)find("d_wins")->epoch);
    DG_CHECKF(find("spikes")->epoch >= 265 && find("spikes")->epoch <= 275, "spikes in epoch %d",
              (int)find("spikes")->epoch);
}

static void check_collapse(void)
{
    dg_grid_seen fine[] = {{10, 0.3}, {50, 0.9}, {60, 0.8}, {100, 0.85}},
                 alike[] = {{10, 0.3}, {50, 0.9}, {60, 0.4}, {110, 0.85}},
                 noise[] = {{1, 1.5}, {49, 1.5}, {60, 0.5}, {100, 0.6}};
    well(1500);
    NOTHING("grids that differ", fine, 4);
    NOTHING("noise, then images that differ less", noise, 4);
    FIRES("grids that become alike", alike, 4, "collapse");
    DG_CHECK(find("collapse")->epoch == 75 && find("collapse")->end_epoch == 125 && find("collapse")->worst < 0.5);
    fine[1].diversity = 0.35; /* a collapse requires diverse sample grids at first */
    fine[2].diversity = fine[3].diversity = 0.1;
    NOTHING("grids that grow", fine, 4);
    well(1500);
    for (int i = 0; i < 15; i++) {
        row[100 * i + 99].judged = true;
        for (int k = 0; k < DG_LOGGED; k++) row[100 * i + 99].measure[k] = i < 8 ? 0.9 : 0.1;
    }
    FIRES("coverage that falls", NULL, 0, "collapse");
}

static void check_others(void)
{
    const dg_grid_seen grey[] = {{10, 0.1}, {50, 0.2}}, late[] = {{10, 0.1}, {55, 0.2}, {110, 0.6}};
    well(1500);
    FIRES("grids that stay grey", grey, 2, "noise");
    FIRES("grids that were grey for long", late, 3, "noise");
    DG_CHECK(find("noise")->step == 1000 && find("noise")->end_step == 1250);
    well(900);
    FIRES("900 steps", NULL, 0, "few_steps");
    well(1500);
    for (long i = 0; i < rows; i++) {
        row[i].value[DG_D_X] = i / 40 % 2 ? 0.95 : 0.4;
        row[i].value[DG_D_GZ1] = i / 40 % 2 ? 0.05 : 0.5;
    }
    FIRES("taking turns", NULL, 0, "swings");
    well(1500);
    for (long i = 0; i < rows; i++) row[i].judged = true;
    for (long i = 0; i < rows; i++)
        for (int k = 0; k < DG_LOGGED; k++) row[i].measure[k] = i % 100 == 99 ? i < 700 ? 1 : 0.5 : NAN;
    FIRES("copies", NULL, 0, "copies"); /* not a collapse, because the coverage is exactly half of its maximum */
    DG_CHECK(find("copies")->step == 1000 || find("copies")->step == 750);
}

static void judged(double value)
{
    for (long i = 0; i < rows; i++) {
        row[i].judged = true;
        for (int k = 0; k < DG_LOGGED; k++) row[i].measure[k] = value;
    }
}

static void check_silence(void)
{
    const dg_grid_seen early[] = {{1, 0.1}, {40, 0.1}}, blurred[] = {{1, 0.5}}, varied[] = {{60, 0.9}},
                       warm[] = {{1, 0.9}, {45, 0.1}};
    well(1500);
    row[700].value[DG_LOSS_G] = 90;
    NOTHING("one step with a large loss of G", NULL, 0); /* rule runs_away uses the mean of many steps */
    NOTHING("no grid since step 400", early, 2);         /* rule noise ignores early sample grids */
    rows = 500;
    dg_doctor_examine(&doctor, DG_LOSS_BCE, false, row, rows, warm, 2);
    DG_CHECK(!doctor.findings); /* rules collapse and few_steps apply only after the last step */
    well(1000);
    for (long i = 500; i < 820; i++) row[i].value[DG_D_X] = 0.99, row[i].value[DG_D_GZ1] = 0.01;
    rows = 820;
    dg_doctor_examine(&doctor, DG_LOSS_BCE, false, row, rows, NULL, 0);
    DG_CHECK(!doctor.findings); /* rule d_wins ignores the log's last window, which has only 70 steps */
    for (long i = 500; i < 820; i++) row[i].value[DG_D_X] = 0.3, row[i].value[DG_D_GZ1] = 0.4;
    dg_doctor_examine(&doctor, DG_LOSS_BCE, false, row, rows, NULL, 0);
    DG_CHECK(!doctor.findings);
    well(1500);
    for (long i = 0; i < 18; i++) { /* rule swings needs more than three rows in a window */
        row[i].step = (uint64_t)(i * 83 + 1);
        row[i].value[DG_D_X] = i % 2 ? 0.95 : 0.3;
    }
    rows = 18;
    NOTHING("swings between few rows", NULL, 0);
    well(1500);
    row[0].value[DG_LOSS_D_REAL] = 20;
    /* rule spikes compares with previous steps, which are missing here */
    for (long i = 750; i < 1500; i++) row[i].step += 1000;
    row[760].value[DG_LOSS_D_REAL] = 25;
    NOTHING("a leap after a gap, and one at the beginning", NULL, 0);
    well(900);
    NOTHING("a short run whose samples differ", varied, 1); /* rule few_steps accepts diverse samples */
    judged(0.9);
    NOTHING("a short run with good coverage", NULL, 0);
    well(1500);
    judged(0.6);
    for (long i = 0; i < rows; i++) row[i].measure[DG_LOG_RECALL] = 0.1;
    /* the rule `copies` ignores samples that are not varied */
    NOTHING("near to real images, and not varied", NULL, 0);
    judged(0.6);
    for (long i = 0; i < rows; i++) row[i].measure[DG_LOG_COVERAGE] = 0.4;
    NOTHING("near to real images, which they cover in part", NULL, 0);
    judged(0.6);
    FIRES("near to real images, and varied", NULL, 0, "copies");
    NOTHING("near to real images, and blurred", blurred, 1);
}

/* For each GAN loss, rule spikes ignores values below the loss of a discriminator that guesses. */
static void check_losses(void)
{
    for (int i = 0; i < DG_LOSS_KINDS; i++)
        for (int above = 0; above < 2; above++) {
            well(1500);
            for (long k = 0; k < rows; k++) row[k].value[DG_LOSS_D_REAL] = row[k].value[DG_LOSS_D_FAKE] = 0.005;
            row[800].value[DG_LOSS_D_REAL] = dg_losses[i].guess * (above ? 1.01 : 0.98);
            dg_doctor_examine(&doctor, (dg_loss)i, true, row, rows, NULL, 0);
            DG_CHECKF(doctor.findings == above, "loss %s: %d findings", dg_losses[i].word, doctor.findings);
        }
}

static void check_page(void)
{
    void *text;
    size_t bytes;
    if (!DG_WORKS(dg_read_file("docs/guide/doctor.md", 1 << 20, &text, &bytes))) return;
    for (const dg_doctor_rule *r = dg_doctor_rules; r->name; r++) {
        char *at = strstr(text, temp_text("\n| `%s` |", r->name)), *end = at ? strchr(at + 1, '\n') : NULL,
             *when = at ? strstr(at, r->when) : NULL;
        DG_CHECKF(end && when && when < end, "docs/guide/doctor.md should have of %s: %s", r->name, r->when);
    }
    free(text);
}

static int counted, notes;
static char note[16][600];
static void tell(void *context, const dg_finding *f)
{
    (void)context;
    counted += !f->end_step && f->repeats && !f->summary;
    if (DG_CHECKF(notes < 16, "%d notes", notes)) notes += dg_finding_note(f, note[notes], sizeof note[notes]);
}

/* The first three findings of a rule are reported one by one. A last message reports the number of further findings. */
static void check_repeats(void)
{
    char text[300];
    well(MOST);
    for (long i = 0; i < rows; i++) { /* two rows per window */
        row[i].step = (uint64_t)(i * 125 + 1);
        row[i].value[DG_LOSS_D_REAL] = i % 8 == 6 ? 20 + (i == 806) : 0.3;
    }
    for (int resumed = 0; resumed < 2; resumed++) {
        const long first = resumed ? 1001 : 0;
        counted = notes = 0;
        dg_doctor_replay(&doctor, DG_LOSS_BCE, row, first, NULL, 0);
        for (long i = first; i < rows; i++) dg_doctor_row(&doctor, &row[i], tell, NULL);
        dg_doctor_end(&doctor, true, tell, NULL);
        dg_doctor_sum_up(&doctor, tell, NULL);
        DG_CHECKF(counted == (resumed ? 125 : 247) && notes == (resumed ? 1 : 8), "%d, %d", counted, notes);
        DG_CHECKF(strstr(note[notes - 1], "since epoch 4: ") == note[notes - 1] &&
                      strstr(note[notes - 1], ": 247 more times; the worst case: "),
                  "%s", note[notes - 1]);
        for (int i = 0; i < (resumed ? 0 : 6); i++) /* begin and end of three spikes */
            DG_CHECKF(strstr(note[i], i % 2 ? "the loss of D is steady again" : "the loss of D jumps") &&
                          (strstr(note[i], "do not use the checkpoint") != NULL) != i % 2,
                      "%s", note[i]);
        DG_CHECKF(resumed || strstr(note[6], ": spikes began 3 times; "), "%s", note[6]);
        DG_CHECKF(doctor.findings == 4, "%d findings", doctor.findings);
        const dg_finding *last = &doctor.finding[3];
        DG_CHECK(!strncmp(dg_finding_text(last, text, sizeof text), "247 more times", 14));
        DG_CHECK(last->worst > 34 && last->step == 3876);
    }
}

static int news;
static void count(void *context, const dg_finding *f)
{
    (void)context;
    news += f->end_step ? 100 : 1;
}

/* The doctor of a resumed run reports only new findings. In total, a resumed run has the findings of an
 * uninterrupted run. */
static void check_resumed(void)
{
    dg_doctor whole;
    load("published-300-epochs");
    dg_doctor_examine(&whole, DG_LOSS_BCE, true, row, rows, NULL, 0);
    dg_doctor_replay(&doctor, DG_LOSS_BCE, row, 120, NULL, 0);
    const int before = doctor.findings;
    for (long i = 120; i < rows; i++) dg_doctor_row(&doctor, &row[i], count, NULL);
    dg_doctor_end(&doctor, true, count, NULL);
    DG_CHECK(before > 0 && before < whole.findings && news % 100 == whole.findings - before && news >= 100);
    DG_CHECK(doctor.findings == whole.findings);
    for (int i = 0; i < whole.findings; i++)
        DG_CHECK(doctor.finding[i].step == whole.finding[i].step &&
                 doctor.finding[i].end_step == whole.finding[i].end_step);
}

static void check_texts(void)
{
    char text[300];
    int n = 0;
    for (const dg_doctor_rule *r = dg_doctor_rules; r->name; r++, n++) {
        dg_finding f = {.rule = r, .step = 1, .worst = 0.5};
        dg_finding_text(&f, text, sizeof text);
        DG_CHECKF(strstr(text, "0.5") || strstr(text, " 0 ") || strstr(text, ": 0"), "%s: %s", r->name, text);
        f.end_step = 2;
        DG_CHECK(!strcmp(dg_finding_text(&f, text, sizeof text), r->ended));
    }
    DG_CHECK(n == DG_DOCTOR_RULES);
}

static void check_diversity(void)
{
    const uint8_t two[] = {0, 100, 50, 200, 100, 50}, same[] = {7, 8, 9, 7, 8, 9};
    DG_NEAR(dg_diversity(two, 2, 3), sqrt((100. * 100 + 0 + 0) / 3), 1e-9);
    DG_NEAR(dg_diversity(same, 2, 3), 0, 1e-6);
}

static void put_grid(const char *name, const char *epoch, const char *diversity)
{
    uint8_t pixel[3] = {1, 2, 3};
    const dg_image im = {.W = 1, .H = 1, .C = 3, .pixels = pixel};
    const dg_text text[] = {{"Epoch", epoch}, {"Diversity", diversity}};
    DG_WORKS(dg_png_write(temp_path(name), &im, text, 2));
}

/* Sample grids are read only once, so a file that is damaged later has no effect. */
static void check_grids_once(void)
{
    dg_grid_seen *grid = NULL;
    int n = 0;
    temp_make("doctor");
    put_grid("epoch-0002.png", "2", "0.5");
    put_grid("epoch-0010.png", "10", "0.25");
    DG_CHECK(!dg_grids_seen(temp_dir, &grid, &n) && n == 2 && grid[0].epoch == 2 && grid[1].diversity == 0.25);
    temp_put(temp_path("epoch-0002.png"), "not an image", 12);
    DG_CHECK(!unlink(temp_path("epoch-0010.png")));
    put_grid("epoch-0003.png", "3", "0.75");
    if (DG_CHECK(!dg_grids_seen(temp_dir, &grid, &n) && n == 2))
        DG_CHECK(grid[0].epoch == 2 && grid[0].diversity == 0.5 && grid[1].epoch == 3 && grid[1].diversity == 0.75);
    free(grid);
    grid = NULL;
    n = 0;
    DG_CHECK(!dg_grids_seen(temp_dir, &grid, &n) && n == 1 && grid[0].epoch == 3);
    free(grid);
    temp_remove(temp_dir);
}

DG_TESTS(check_recorded, check_collapse, check_others, check_silence, check_losses, check_repeats, check_page,
         check_resumed, check_texts, check_diversity, check_grids_once)

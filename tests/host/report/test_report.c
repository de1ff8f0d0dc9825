/* Tests the sections and size of report.html, and the images in nearest.png. */
#include "host/report/report.h"
#include "host/run/log_curves.h"

#include "host/figure/images.h"
#include "host/net/gan.h"
#include "host/report/html.h"
#include "host/rundir/rundir.h"
#include "host/report/plot.h"
#include "tempdir.h"
#include "test.h"

static char *text_of(void (*put)(FILE *, const void *), const void *context)
{
    char *text = NULL;
    size_t bytes;
    FILE *to = open_memstream(&text, &bytes);
    put(to, context);
    fclose(to);
    return text;
}

static void put_text(FILE *to, const void *text) { dg_html_text(to, text); }
static void put_data(FILE *to, const void *text) { dg_html_data(to, "a/b", text, strlen(text)); }
static void put_number(FILE *to, const void *v) { dg_html_json(to, *(const double *)v); }

static void becomes(void (*put)(FILE *, const void *), const void *from, const char *want)
{
    char *is = text_of(put, from);
    DG_CHECKF(!strcmp(is, want), "%s, not %s", is, want);
    free(is);
}

static void pieces(void)
{
    becomes(put_text, "a<b>&\"'", "a&#60;b&#62;&#38;&#34;&#39;");
    becomes(put_text, "K\xc3\xa4tzchen\n\x1b[0m", "K\xc3\xa4tzchen\\x0a\\x1b[0m");
    /* invalid UTF-8, and a character that changes the writing direction */
    becomes(put_text, "\xff\xe2\x80\xae", "\\xff\\xe2\\x80\\xae");
    becomes(put_data, "", "data:a/b;base64,");
    becomes(put_data, "M", "data:a/b;base64,TQ==");
    becomes(put_data, "Ma", "data:a/b;base64,TWE=");
    becomes(put_data, "Man\xff?", "data:a/b;base64,TWFu/z8=");
    becomes(put_number, &(double){NAN}, "null");
    becomes(put_number, &(double){-INFINITY}, "null");
    becomes(put_number, &(double){0.123456}, "0.1235");
}

enum { EPOCHS = 20, STEPS = 60 };

/* Makes log rows of a GAN. The loss of G equals the step, and one row is missing. */
static void make_rows(dg_log_row *row, double *x)
{
    for (int i = 0; i < EPOCHS * STEPS; i++) {
        row[i] = (dg_log_row){.step = (uint64_t)i + 1, .epoch = (uint64_t)(i / STEPS) + 1, .seconds = i};
        row[i].value[DG_LOSS_G] = i == 7 ? (double)NAN : (double)i;
    }
    dg_curve_places(row, EPOCHS * STEPS, x);
}

static dg_chart p;
static void put_plot(FILE *to, const void *chart) { dg_plot_write(to, chart); }

static void curves_are_means(void)
{
    static dg_log_row row[EPOCHS * STEPS];
    static double x[EPOCHS * STEPS];
    const dg_metric m = {.terms = 1, .term = {DG_LOSS_G}, .legend = "G"};
    dg_run_log log = {NULL, row, x, EPOCHS * STEPS};
    const dg_curve *c = &p.curve[0];
    make_rows(row, x);
    p = (dg_chart){.title = "a<b", .x_label = "epoch", .epochs = dg_curve_by_epochs(&log)};
    dg_curve_add(&p, "<G>", &log, &m, 0);
    DG_CHECK(p.epochs && c->points == EPOCHS && c->bins == 300);
    DG_NEAR(c->y[1], STEPS + (STEPS - 1) / 2., 1e-9);
    DG_NEAR(c->x[1], 1.5, 1e-9);
    DG_NEAR(c->y[0], ((STEPS - 1) * STEPS / 2. - 7) / (STEPS - 1), 1e-9); /* row 7 is missing */
    DG_NEAR(c->low[299], EPOCHS * STEPS - 3, 1);
    DG_NEAR(c->high[299], EPOCHS * STEPS - 1, 0);
    log.n = 3 * STEPS;
    p.epochs = dg_curve_by_epochs(&log);
    p.curves = 0;
    dg_curve_add(&p, "<G>", &log, &m, 0);
    DG_CHECKF(!p.epochs && c->points == 90 && c->bins == 45, "%d points, %d bins", c->points, c->bins);
    log.n = p.curves = 0;
    DG_CHECK(!dg_curve_by_epochs(&log));
    dg_curve_add(&p, "<G>", &log, &m, 0);
    DG_CHECK(c->points == 0 && c->bins == 0);
    char *empty = text_of(put_plot, &p);
    DG_CHECK(strstr(empty, "<h3>a&#60;b</h3>") && strstr(empty, "&#60;G&#62;") && !strstr(empty, "nan"));
    free(empty);
    /* A huge loss in one step does not flatten the curve. The page reports this loss. */
    log.n = EPOCHS * STEPS;
    p.curves = 0;
    dg_curve_add(&p, "<G>", &log, &m, 0);
    p.curve[0].y[50] = 1e9;
    char *cut = text_of(put_plot, &p);
    DG_CHECK(strstr(cut, "the largest mean is 1e+09") && dg_chart_layout(&p, 6, 5).y.high < 2 * EPOCHS * STEPS);
    free(cut);
    /* a metric with a value every 50 steps gives two points, connected by a line */
    const dg_metric test = {.terms = 1, .term = {DG_D_X}, .over = DG_OVER_TEST};
    for (int i = 0; i < 100; i++) row[i].value[DG_D_X] = i % 50 == 49 ? i : (double)NAN;
    log.n = 100;
    p.curves = 0;
    dg_curve_add(&p, "test", &log, &test, 0);
    DG_CHECK(c->points == 2 && c->bins == 0 && c->y[0] == 49 && c->y[1] == 99 && c->x[1] == x[99]);
    /* the first epoch has no values */
    for (int i = 0; i < STEPS; i++) row[i].value[DG_LOSS_G] = NAN;
    log.n = EPOCHS * STEPS;
    p.epochs = dg_curve_by_epochs(&log);
    p.curves = 0;
    dg_curve_add(&p, "G", &log, &m, 0);
    DG_CHECK(c->points == EPOCHS - 1);
    DG_NEAR(c->x[0], 1.5, 1e-9);
}

/* Tests axes whose values differ very little, or by more than a double can represent. */
static void axes_end(void)
{
    static const double y[][2] = {{1, 1 + 2.3e-16}, {1e15, 1e15 + .125}, {0, 5e-324},          {-1e300, 1e300},
                                  {1e308, 1e308},   {INFINITY, 1},       {NAN, NAN},           {-1e99, 1e99},
                                  {3, 3},           {-5e-324, 0},        {-INFINITY, INFINITY}};
    p = (dg_chart){.title = "t", .x_label = "epoch", .curves = 1};
    alarm(20);
    for (size_t i = 0; i < sizeof y / sizeof *y; i++) {
        p.curve[0] = (dg_curve){.label = "G", .points = 2, .x = {1e8, 1e8 + 1.5e-8}, .y = {y[i][0], y[i][1]}};
        char *text = text_of(put_plot, &p);
        DG_CHECKF(strlen(text) < 4000 && !strstr(text, "nan"), "case %zu: %.3000s", i, text);
        free(text);
    }
    alarm(0);
}

/* A band from 1 to 3 on the left and from 2 to 2.5 on the right; values beyond the axis are clamped. */
static void bands_are_paths(void)
{
    p = (dg_chart){.title = "t", .x_label = "epoch", .y_max = 4, .curves = 1};
    p.curve[0] = (dg_curve){.label = "G",
                            .points = 3,
                            .x = {0, 1, 2},
                            .y = {0, 4, INFINITY},
                            .bins = 2,
                            .at = {0, 2},
                            .low = {1, 2},
                            .high = {3, 2.5}};
    char *text = text_of(put_plot, &p);
    DG_CHECKF(strstr(text, "<path class=\"band c0\" d=\"M0.0 100.0L1000.0 150.0L1000.0 200.0L0.0 300.0Z\"/>") &&
                  strstr(text, "<path class=\"mean c0\" d=\"M0.0 400.0L500.0 0.0L1000.0 -400.0\"/>"),
              "%s", text);
    free(text);
}

static dg_rundir open_run(const char *name)
{
    dg_rundir r;
    DG_WORKS(dg_rundir_open(temp_path(name), false, &r));
    return r;
}

/* Writes n sample grids of cells x cells images. All grids are hard links to one file of random pixels. */
static void make_grids(const dg_rundir *r, int n, int cells, int size)
{
    char first[4096], path[4096];
    unsigned long long state = 7;
    const size_t bytes = (size_t)(cells * cells * size * size) * 3;
    uint8_t *pixels = malloc(bytes);
    for (size_t i = 0; i < bytes; i++) pixels[i] = (uint8_t)(127.5 + 127 * dg_test_random(&state));
    dg_image im;
    DG_CHECK(dg_sheet(pixels, cells * cells, dg_square(size), 3, cells, cells, &im) == DG_OK);
    DG_CHECK(dg_png_write(dg_rundir_file(r, first, "epoch-0001.png"), &im, NULL, 0) == DG_OK);
    for (int i = 2; i <= n; i++) DG_CHECK(link(first, dg_rundir_file(r, path, "epoch-%04d.png", i)) == 0);
    dg_image_free(&im);
    free(pixels);
}

static void put_log(const dg_rundir *r)
{
    char path[4096], text[2 * DG_LOG_LINE];
    const dg_log_row row = {.step = 1, .epoch = 1, .seconds = 2};
    int n = dg_log_header(text, &dg_gan_recipe);
    n += dg_log_csv(text + n, &dg_gan_recipe, &row);
    temp_put(dg_rundir_file(r, path, "log.csv"), text, (size_t)n);
}

/* Returns the text of report.html, which the caller frees. */
static char *page_of(dg_report_run *r, const dg_rundir *d, size_t *bytes)
{
    char path[4096];
    DG_WORKS(dg_report_write(r, NULL, dg_rundir_file(d, path, "report.html")));
    return temp_slurp(path, bytes);
}

static void grids_have_room(void)
{
    char path[4096];
    dg_rundir d = open_run("large");
    make_grids(&d, 300, 8, 64);
    put_log(&d);
    dg_report_run r = {0};
    DG_WORKS(dg_report_grids_renew(&r.grids, d.fd, d.path));
    DG_CHECKF(r.grids.on_disk == 300 && r.grids.n >= 100 && r.grids.grid[0].W == 268, "%d of %d grids, %d pixels wide",
              r.grids.n, r.grids.on_disk, r.grids.grid[0].W);
    DG_CHECK(r.grids.grid[0].epoch == 1 && r.grids.grid[r.grids.n - 1].epoch == 300);
    DG_CHECK(dg_report_read(&r, d.fd, d.path) == DG_OK);
    size_t bytes = 0;
    free(page_of(&r, &d, &bytes));
    DG_CHECKF(bytes > 5000000 && bytes < 12000000, "%zu bytes", bytes);
    dg_report_free(&r);
    dg_rundir_close(&d);
    /* the page shows all grids of a run with few sample grids, otherwise a selection */
    d = open_run("small");
    make_grids(&d, 3, 2, 8);
    DG_CHECK(dg_report_grids_renew(&r.grids, d.fd, d.path) == DG_OK);
    DG_CHECK(r.grids.n == 3 && r.grids.level == 0 && r.grids.grid[1].png && r.grids.grid[1].W == 22);
    dg_rundir_file(&d, path, "epoch-0001.png");
    char later[4096];
    for (int i = 4; i <= 700; i++) DG_CHECK(link(path, dg_rundir_file(&d, later, "epoch-%04d.png", i)) == 0);
    DG_CHECK(unlink(dg_rundir_file(&d, later, "epoch-0002.png")) == 0);
    DG_CHECK(dg_report_grids_renew(&r.grids, d.fd, d.path) == DG_OK);
    DG_CHECKF(r.grids.n == 350 && r.grids.on_disk == 699, "%d of %d grids", r.grids.n, r.grids.on_disk);
    DG_CHECK(r.grids.grid[1].epoch == 4 && r.grids.grid[349].epoch == 700);
    dg_report_free(&r);
    dg_rundir_close(&d);
}

static void put_grid(const dg_rundir *r, const char *name, int W, int H)
{
    char path[4096];
    const dg_image im = {.W = W, .H = H, .C = 1, .pixels = calloc((size_t)W, (size_t)H)};
    DG_CHECK(dg_png_write(dg_rundir_file(r, path, "%s", name), &im, NULL, 0) == DG_OK);
    free(im.pixels);
}

static void grids_have_limits(void)
{
    char path[4096];
    int frames;
    dg_image im;
    dg_rundir d = open_run("limits");
    put_log(&d);
    put_grid(&d, "epoch-0001.png", 2500, 411);
    put_grid(&d, "epoch-2.png", 30, 30); /* a file name that no run gives to a sample grid */
    put_grid(&d, "epoch-0007.png", 8200, 4100);
    dg_report_run r = {0};
    DG_REFUSED(dg_report_image_read(d.fd, "epoch-0007.png", false, &im), DG_DATA, "33554432");
    DG_WORKS(dg_report_grids_renew(&r.grids, d.fd, d.path));
    DG_CHECKF(r.grids.on_disk == 2 && r.grids.n == 1 && r.grids.grid[0].pixels == (size_t)2500 * 411, "%d of %d grids",
              r.grids.n, r.grids.on_disk);
    DG_CHECK(dg_report_read(&r, d.fd, d.path) == DG_OK);
    DG_CHECK(dg_report_gif(&r, dg_rundir_file(&d, path, "x.gif"), 1, &frames) == DG_DATA);
    DG_CHECK(unlinkat(d.fd, "epoch-0007.png", 0) == 0);
    DG_CHECK(dg_report_gif(&r, path, 1, &frames) == DG_OK && frames == 1);
    unsigned char *gif = (unsigned char *)temp_slurp(path, NULL);
    DG_CHECK(gif && gif[6] + 256 * gif[7] == DG_GRID_SIDE && gif[8] + 256 * gif[9] == 411 * DG_GRID_SIDE / 2500);
    free(gif);
    dg_report_free(&r);
    dg_rundir_close(&d);
}

static int count(const char *text, const char *part)
{
    int n = 0;
    while ((text = strstr(text, part))) n++, text++;
    return n;
}

/* The page of any part of a run has the recipe's plots, and those metrics of samples that have values. */
static void plots_of_runs(void)
{
    enum { N = 46 * 3 };
    static dg_log_row rows[N];
    static double place[N];
    dg_rundir d = open_run("plots");
    for (int i = 0; i < N; i++) {
        rows[i].step = (uint64_t)i + 1;
        rows[i].epoch = (uint64_t)i / 46 + 1;
        for (int k = 0; k < DG_METRICS_MAX; k++) rows[i].value[k] = .3 + .1 * (i % 7 == k);
        for (int k = 0; k < DG_LOGGED; k++) rows[i].measure[k] = NAN;
    }
    /* measured: none; always NaN; all; only recall */
    static const long part[] = {1, 2, 45, 46, 47, 91, 92, 100, N, N, N, N, 0};
    for (size_t i = 0; i < sizeof part / sizeof *part; i++) {
        const int measured = i < 9 ? 0 : (int)i - 8;
        dg_report_run r = {.dir = d.fd, .path = d.path, .recipe = &dg_gan_recipe, .row = rows, .place = place};
        r.n = part[i];
        for (int k = 0; k < N; k++) rows[k].judged = measured > 0;
        for (int k = 0; k < DG_LOGGED; k++)
            for (int e = 45; e < N; e += 46)
                rows[e].measure[k] = measured == 2 || (measured == 3 && k == DG_LOG_RECALL) ? .5 + .1 * k : (double)NAN;
        dg_curve_places(rows, r.n, place);
        char *page = page_of(&r, &d, NULL);
        const int plots = r.n ? dg_gan_recipe.plots + (measured == 2 ? 7 : measured == 3) : 0;
        DG_CHECKF(count(page, "<figure class=\"plot\"") == plots, "%ld steps: %d plots, not %d", r.n,
                  count(page, "<figure class=\"plot\""), plots);
        DG_CHECK(!strstr(page, "nan") && count(page, "Recall, coverage") == 2 * (measured > 1 && r.n > 0));
        DG_CHECK(count(page, ">swd<") == (measured == 2) && count(page, ">coverage<") == (measured > 1 && r.n > 0));
        free(page);
    }
    dg_rundir_close(&d);
}

static void findings(void)
{
    dg_rundir d = open_run("doctor");
    put_log(&d);
    dg_report_run r = {0};
    DG_CHECK(dg_report_read(&r, d.fd, d.path) == DG_OK);
    char *page = page_of(&r, &d, NULL);
    DG_CHECK(!strstr(page, "D wins"));
    free(page);
    static const dg_doctor_rule rule[] = {{.says = "D wins <b>", .advice = "Try a smaller lr."},
                                          {.says = "Collapse", .advice = ""}};
    if (!DG_CHECK(r.doctor)) return;
    r.doctor->findings = 2;
    r.doctor->finding[0] = (dg_finding){.rule = &rule[0], .epoch = 180, .end_epoch = 300, .end_step = 1};
    r.doctor->finding[1] = (dg_finding){.rule = &rule[1], .epoch = 7};
    page = page_of(&r, &d, NULL);
    DG_CHECK(strstr(page, "Epoch 180") && strstr(page, "D wins &#60;b&#62;</strong><br>Try"));
    DG_CHECK(strstr(page, ": Collapse"));
    free(page);
    dg_report_free(&r);
    dg_rundir_close(&d);
}

/* nearest.png must show the training images from which a sample grid was made. */
static void nearest_is_found(int size, int channels)
{
    enum { IMAGES = 40, ROWS = 3, COLUMNS = 5, CELLS = ROWS * COLUMNS };
    char path[4096];
    const size_t image = (size_t)(size * size * channels);
    unsigned long long state = 3;
    uint8_t *pixels = malloc(IMAGES * image), *cells = malloc(CELLS * image);
    for (size_t i = 0; i < IMAGES * image; i++) pixels[i] = (uint8_t)(127.5 + 120 * dg_test_random(&state));
    for (size_t i = 0; i < CELLS * image; i++) {
        const size_t from = (i / image * 7 + 3) % IMAGES * image + i % image;
        cells[i] = (uint8_t)(pixels[from] + 3 * dg_test_random(&state));
    }
    dg_rundir d = open_run(temp_text("nearest-%d-%d", size, channels));
    const dg_directory at = dg_rundir_at(&d);
    const dg_images all = dg_images_of(pixels, IMAGES, image);
    dg_image im, is, want;
    DG_CHECK(dg_sheet(cells, CELLS, dg_square(size), channels, ROWS, COLUMNS, &im) == DG_OK);
    DG_CHECK(dg_png_write(dg_rundir_file(&d, path, "epoch-0012.png"), &im, NULL, 0) == DG_OK);
    DG_WORKS(dg_nearest_write(&at, d.path, 12, &all, dg_square(size), channels));
    /* two rows of eight samples, with the nearest training images below each row */
    uint8_t *sheet = calloc(32, image);
    for (size_t c = 0; c < CELLS; c++) {
        memcpy(sheet + (c / 8 * 16 + c % 8) * image, cells + c * image, image);
        memcpy(sheet + (c / 8 * 16 + c % 8 + 8) * image, pixels + (c * 7 + 3) % IMAGES * image, image);
    }
    DG_CHECK(dg_sheet(sheet, 32, dg_square(size), channels, 4, 8, &want) == DG_OK);
    size_t bytes = 0;
    char *file = temp_slurp(dg_rundir_file(&d, path, "nearest.png"), &bytes);
    DG_CHECK(file && dg_image_decode(file, bytes, &(dg_decode_options){0}, &is) == DG_OK);
    int wrong = is.W != want.W || is.H != want.H;
    for (size_t i = 0; !wrong && i < (size_t)(is.W * is.H); i++)
        wrong += is.pixels[3 * i] != want.pixels[i * (size_t)channels];
    DG_CHECKF(!wrong, "%d x %d, %d channels: another sheet", size, size, channels);
    /* if the dataset has changed, nearest.png is not made */
    unlink(path);
    DG_CHECK(dg_nearest_write(&at, d.path, 12, &all, dg_square(size - 1), channels) == DG_OK);
    DG_CHECK(!dg_rundir_has(&d, "nearest.png"));
    /* nor if an image of another size has the name of the grid */
    const int other[][2] = {{2, 2}, {2, size + 4}, {size + 4, 2}, {size + 4, size + 5}, {size + 5, size + 4}};
    for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
        const dg_image odd = {other[i][0], other[i][1], channels, pixels};
        DG_CHECK(dg_png_write(dg_rundir_file(&d, path, "epoch-0012.png"), &odd, NULL, 0) == DG_OK);
        DG_WORKS(dg_nearest_write(&at, d.path, 12, &all, dg_square(size), channels));
        DG_CHECKF(!dg_rundir_has(&d, "nearest.png"), "%d x %d", odd.W, odd.H);
    }
    dg_image_free(&im);
    dg_image_free(&is);
    dg_image_free(&want);
    free(file);
    free(sheet);
    free(pixels);
    free(cells);
    dg_rundir_close(&d);
}

int main(void)
{
    temp_make("report");
    pieces();
    curves_are_means();
    axes_end();
    bands_are_paths();
    plots_of_runs();
    findings();
    grids_have_limits();
    nearest_is_found(19, 3);
    nearest_is_found(9, 1);
    nearest_is_found(33, 1);
    grids_have_room();
    temp_remove(temp_dir);
    return dg_test_report();
}

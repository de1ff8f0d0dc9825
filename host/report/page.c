/* Writes report.html of one run, one function per section; empty sections are omitted. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/plural.h"
#include "core/base/shell.h"
#include "host/files/made.h"
#include "host/options/option_table.h"
#include "host/report/html.h"
#include "host/report/plot.h"
#include "host/report/report.h"
#include "host/run/log_curves.h"

enum { EXACT = 900 << 10, EXACT_REALS = 600 << 10 }; /* max bytes of an embedded file; larger images become JPEG */

static void open_section(FILE *to, const char *id, const char *title)
{
    fprintf(to, "<section id=\"%s\" aria-labelledby=\"%s-title\">\n<h2 id=\"%s-title\">%s</h2>\n", id, id, id, title);
}

static void close_section(FILE *to) { fputs("</section>\n", to); }

static const dg_log_row *last_row(const dg_report_run *r) { return r->n ? &r->row[r->n - 1] : NULL; }

static dg_err read_image(const dg_report_run *r, const char *name, size_t most, dg_report_file *out)
{
    char path[4400];
    *out = (dg_report_file){0};
    if (faccessat(r->dir, name, F_OK, AT_SYMLINK_NOFOLLOW)) return DG_OK;
    snprintf(path, sizeof path, "%s/%s", r->path, name);
    const dg_err e = dg_report_file_read(r->dir, path, most, out);
    if (e && e != DG_DEVICE) dg_warn("the report lacks an image: %s", dg_message());
    return e == DG_DEVICE ? e : DG_OK;
}

/* After an error, both images are already freed. */
static dg_err read_pair(const dg_report_run *r, const char *first, size_t most, dg_report_file *a, const char *second,
                        dg_report_file *b)
{
    dg_err e = read_image(r, first, most, a);
    if (e) return e;
    e = read_image(r, second, EXACT_REALS, b);
    if (e) free(a->data);
    return e;
}

/* Open a figure and free the image. `alt` and `caption` are HTML. */
static void open_figure(FILE *to, dg_report_file *p, const char *id, const char *alt, const char *caption)
{
    fprintf(to, "<figure><img %s%s%s alt=\"%s\" width=\"%d\" height=\"%d\" src=\"", *id ? "id=\"" : "", id,
            *id ? "\"" : "", alt, p->W, p->H);
    dg_report_file_src(to, p);
    fprintf(to, "\"><figcaption>%s</figcaption>", caption);
    free(p->data);
    p->data = NULL;
}

static void put_figure(FILE *to, dg_report_file *p, const char *alt, const char *caption)
{
    open_figure(to, p, "", alt, caption);
    fputs("</figure>\n", to);
}

static void put_slider(FILE *to, const dg_report_grids *g)
{
    if (g->n < 2) return;
    fprintf(to,
            "<div class=\"slide\"><button id=\"play\" type=\"button\">Play</button><input id=\"slider\" type=\"range\" "
            "min=\"0\" max=\"%d\" value=\"%d\" autocomplete=\"off\" aria-label=\"Epoch of the samples\"></div>\n",
            g->n - 1, g->n - 1);
}

static void say_reduced(FILE *to, const dg_report_grids *g)
{
    int jpeg = 0, side = 0;
    for (int i = 0; i < g->n - 1; i++) {
        jpeg += !g->grid[i].png;
        if (g->grid[i].side) side = g->grid[i].side;
    }
    if (!jpeg && g->n == g->on_disk) return;
    fputs("<p class=\"note\">This page is limited in size: ", to);
    if (g->n < g->on_disk) fprintf(to, "%d of %d grid%s are shown, ", g->n, g->on_disk, dg_s(g->on_disk));
    fprintf(to, "%d older grid%s as JPEG", jpeg, dg_s(jpeg));
    if (side) fprintf(to, ", reduced to %d pixels", side);
    fputs(". The files epoch-NNNN.png in the run directory are unchanged.</p>\n", to);
}

static void put_grids(FILE *to, const dg_report_run *r, const dg_report_file *newest)
{
    const dg_report_grids *g = &r->grids;
    fputs("<script type=\"application/json\" id=\"grids\">[", to);
    for (int i = 0; i < g->n; i++) {
        const dg_report_file *p = i == g->n - 1 && newest->data ? newest : &g->grid[i];
        fprintf(to, "%s[%ju,\"", i ? ",\n" : "", (uintmax_t)p->epoch);
        dg_report_file_src(to, p);
        fputs("\"]", to);
    }
    fputs("]</script>\n", to);
}

/* Name the classes of the grids' rows. */
static void put_rows(FILE *to, const dg_report_run *r)
{
    char head[DG_TEXTS_BYTES], rows[1024];
    const int fd = openat(r->dir, "reals.png", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    const ssize_t n = fd < 0 ? -1 : dg_read_some(fd, head, sizeof head);
    if (fd >= 0) close(fd);
    if (n <= 0 || !dg_png_text(head, (size_t)n, DG_GRID_ROWS, rows, sizeof rows)) return;
    fputs("<p class=\"note\">Rows: ", to);
    dg_html_text(to, rows);
    fputs(".</p>\n", to);
}

static dg_err put_images(FILE *to, const dg_report_run *r)
{
    const dg_report_grids *g = &r->grids;
    dg_report_file newest, reals;
    char name[64], alt[200], caption[200];
    if (!g->n) return DG_OK;
    const uint64_t epoch = g->grid[g->n - 1].epoch;
    snprintf(name, sizeof name, "epoch-%04ju.png", (uintmax_t)epoch);
    const dg_err e = read_pair(r, name, EXACT, &newest, "reals.png", &reals);
    if (e) return e;
    newest.epoch = epoch;
    open_section(to, "samples", "Samples");
    put_grids(to, r, &newest);
    if (!newest.data) newest = (dg_report_file){.W = g->grid[g->n - 1].W, .H = g->grid[g->n - 1].H};
    snprintf(alt, sizeof alt, "Samples after epoch %ju, from the same latent vectors each time", (uintmax_t)epoch);
    snprintf(caption, sizeof caption, "Samples after epoch <output id=\"epoch\">%ju</output>", (uintmax_t)epoch);
    fputs("<div class=\"pair\">\n", to);
    open_figure(to, &newest, "grid", alt, caption);
    put_slider(to, g);
    fputs("</figure>\n", to);
    if (reals.data) put_figure(to, &reals, "Grid of the first real images of the dataset", "Real images");
    fputs("</div>\n", to);
    put_rows(to, r);
    say_reduced(to, g);
    close_section(to);
    return DG_OK;
}

static dg_err put_nearest(FILE *to, const dg_report_run *r)
{
    dg_report_file p;
    const dg_err e = read_image(r, "nearest.png", EXACT_REALS, &p);
    if (e || !p.data) return e;
    open_section(to, "nearest", "Nearest training images");
    fputs("<div class=\"alone\">", to);
    put_figure(to, &p, "Pairs of rows: samples, and below each its nearest training image",
               "Samples of the newest grid, and below each its nearest training image by pixel distance. Equal pairs "
               "would mean that the generator has memorised the dataset.");
    fputs("</div>\n", to);
    close_section(to);
    return DG_OK;
}

static dg_err put_tests(FILE *to, const dg_report_run *r)
{
    dg_report_file confusion, worst;
    const dg_err e = read_pair(r, "confusion.png", EXACT_REALS, &confusion, "worst.png", &worst);
    if (e || (!confusion.data && !worst.data)) return e;
    open_section(to, "tests", "Test images");
    fputs("<div class=\"pair\">\n", to);
    if (confusion.data)
        put_figure(to, &confusion,
                   "Confusion matrix: rows are classes, columns are predictions; numbers in confusion.csv",
                   "Confusion matrix (numbers: confusion.csv)");
    if (worst.data)
        put_figure(to, &worst, "Misclassified test images, most confident first", "Most confident mistakes");
    fputs("</div>\n", to);
    close_section(to);
    return DG_OK;
}

static void put_findings(FILE *to, const dg_report_run *r)
{
    char text[300];
    if (!r->doctor || !r->doctor->findings) return;
    open_section(to, "doctor", "Doctor");
    fputs("<ul class=\"findings\">\n", to);
    for (int i = 0; i < r->doctor->findings; i++) {
        dg_finding f = r->doctor->finding[i];
        fprintf(to, "<li><strong>Epoch %ju", (uintmax_t)f.epoch);
        if (!f.end_step) fputs(" to now", to);
        else if (f.end_epoch > f.epoch) fprintf(to, " to %ju", (uintmax_t)f.end_epoch);
        fputs(": ", to);
        f.end_step = 0; /* the text of the problem, not of its end */
        dg_html_text(to, dg_finding_text(&f, text, sizeof text));
        fputs("</strong><br>", to);
        dg_html_text(to, f.rule->advice);
        fputs("</li>\n", to);
    }
    fputs("</ul>\n", to);
    close_section(to);
}

/* Add the curve of sample metric k. Returns true if the curve has points. */
static bool add_measure(dg_chart *p, const char *title, const dg_run_log *log, int k)
{
    snprintf(p->title, sizeof p->title, "%s", title);
    dg_curve_add(p, dg_logged[k].name, log, NULL, k);
    return p->curve[p->curves - 1].points > 0;
}

/* Plot the metrics of --eval-every. Metrics with `percent` or `one` share the last plot. */
static void put_measures(FILE *to, const dg_run_log *log, dg_chart *p)
{
    bool any = false;
    for (int k = 0; k < DG_LOGGED; k++) {
        *p = (dg_chart){.x_label = "epoch"};
        if (!dg_logged[k].percent && !dg_logged[k].one && add_measure(p, dg_logged[k].label, log, k))
            dg_plot_write(to, p);
    }
    *p = (dg_chart){.x_label = "epoch"};
    for (int k = 0; k < DG_LOGGED; k++)
        if (dg_logged[k].percent || dg_logged[k].one)
            any |= add_measure(p, "Recall, coverage, and relative distance to the nearest real image", log, k);
    if (any) dg_plot_write(to, p);
}

static dg_err put_curves(FILE *to, const dg_report_run *r)
{
    if (!r->n) return DG_OK;
    const dg_run_log log = {r->recipe, r->row, r->place, r->n};
    dg_chart *p = calloc(1, sizeof *p);
    if (!p) return dg_fail(DG_DEVICE, "out of memory for curves");
    open_section(to, "curves", "Curves");
    for (int i = 0; i < r->recipe->plots; i++) {
        dg_run_chart(p, &log, i);
        dg_plot_write(to, p);
    }
    put_measures(to, &log, p);
    fputs("<p class=\"note\">Lines are epoch means, bands the range of single steps. Hover, or focus a plot and use "
          "the arrow keys, to read values.</p>\n",
          to);
    close_section(to);
    free(p);
    return DG_OK;
}

static void put_numbers(FILE *to, const dg_report_run *r)
{
    const dg_log_row *last = last_row(r);
    if (!last) return;
    open_section(to, "numbers", "Last values");
    fprintf(to,
            "<div class=\"wide\"><table><thead><tr><th scope=\"col\">Column of log.csv</th><th scope=\"col\">Step %ju"
            "</th><th scope=\"col\">Mean of epoch %ju</th></tr></thead><tbody>\n",
            (uintmax_t)last->step, (uintmax_t)last->epoch);
    dg_epoch_metrics epoch = {.steps = 0};
    for (long i = r->n; i > 0 && r->row[i - 1].epoch == last->epoch; i--) epoch.steps++;
    const long first = r->n - epoch.steps;
    epoch.steps = 0;
    for (long i = first; i < r->n; i++) dg_epoch_add(&epoch, r->recipe, r->row[i].value);
    const dg_metrics mean = dg_epoch_result(&epoch, r->recipe);
    for (int k = 0; k < r->recipe->metrics; k++) {
        const dg_metric *m = &r->recipe->metric[k];
        if (!m->name) continue;
        fprintf(to, "<tr><th scope=\"row\">%s</th><td>", m->name);
        dg_html_number(to, dg_metric_value(m, last->value));
        fputs("</td><td>", to);
        dg_html_number(to, dg_metric_value(m, mean.value));
        fputs("</td></tr>\n", to);
    }
    fputs("</tbody></table></div>\n", to);
    close_section(to);
}

static void duration(char out[64], double seconds)
{
    const long s = seconds >= 0 && seconds < 1e12 ? (long)(seconds + .5) : 0;
    if (!(seconds >= 0 && seconds < 1e12)) snprintf(out, 64, "unknown");
    else if (seconds < 100) snprintf(out, 64, "%.1f s", seconds);
    else snprintf(out, 64, "%ld h %02ld min %02ld s", s / 3600, s / 60 % 60, s % 60);
}

static void put_machine(FILE *to, const dg_report_run *r)
{
    const dg_report_session *s = &r->session;
    const dg_log_row *last = last_row(r);
    char took[64];
    if (!last && !*s->device) return;
    open_section(to, "machine", "Time and memory");
    fputs("<div class=\"wide\"><table><tbody>\n", to);
    if (*s->device) dg_html_row(to, "Device", "%s, %s", s->device, s->precision);
    if (s->images) dg_html_row(to, "Images", s->tests ? "%d for training, %d for testing" : "%d", s->images, s->tests);
    if (last) {
        duration(took, last->seconds);
        dg_html_row(to, "Training so far", "%s for %ju step%s", took, (uintmax_t)last->step, dg_s((int64_t)last->step));
        duration(took, last->seconds / r->place[r->n - 1]);
        if (r->place[r->n - 1] > 1) dg_html_row(to, "Time per epoch", "%s", took);
        dg_html_row(to, "Speed", "%.4g images/s", last->images_per_second);
        if (r->joules > 0) dg_html_row(to, "Energy", "%.4g kJ (%s)", 1e-3 * r->joules, r->energy_of);
    }
    if (s->memory > 0) dg_html_row(to, "Memory on the device", "%.1f MB (network and dataset)", s->memory / 1e6);
    if (*s->version) dg_html_row(to, "Trained by", "%s", s->version);
    fputs("</tbody></table></div>\n", to);
    close_section(to);
}

static void put_command(FILE *to, const char *what, const char *command)
{
    fprintf(to, "<p>%s</p><pre tabindex=\"0\">", what);
    dg_html_text(to, command);
    fputs("</pre>\n", to);
}

static void put_commands(FILE *to, const dg_report_run *r)
{
    char dir[DG_SHELL_ROOM], line[DG_SHELL_ROOM + 256];
    const dg_log_row *last = last_row(r);
    if (faccessat(r->dir, "config.ini", F_OK, 0)) return;
    dg_shell_path(dir, sizeof dir, r->path);
    const bool done = last && r->configured && last->epoch >= (uint64_t)r->then.epochs;
    open_section(to, "commands", "Next steps");
    snprintf(line, sizeof line, "%s --resume --out %s", dg_program(), dir);
    put_command(to, "Resume", line);
    if (done) {
        snprintf(line, sizeof line, "%s --resume --out %s --epochs %d", dg_program(), dir,
                 r->then.epochs > 500000 ? 1000000 : 2 * r->then.epochs);
        put_command(to, "Train for twice as many epochs", line);
    }
    if (r->recipe && r->recipe->sample) {
        snprintf(line, sizeof line, "%s generate %s --count 16", dg_program(), dir);
        put_command(to, "Generate samples", line);
        snprintf(line, sizeof line, "%s interpolate %s", dg_program(), dir);
        put_command(to, "Interpolate between samples", line);
    }
    if (r->recipe && r->recipe->labels) {
        snprintf(line, sizeof line, "%s classify %s IMAGES", dg_program(), dir);
        put_command(to, "Classify images", line);
    }
    snprintf(line, sizeof line, "%s report %s", dg_program(), dir);
    put_command(to, "Update this page", line);
    close_section(to);
}

static void put_options(FILE *to, const dg_report_run *r, const dg_options *preset, bool changed)
{
    char value[DG_CONFIG_VALUE], built_in[DG_CONFIG_VALUE];
    fputs("<div class=\"wide\"><table><tbody>\n", to);
    for (const dg_option *t = dg_option_table; t->name; t++) {
        if (!(t->flags & DG_OPT_SAVED)) continue;
        dg_option_get(&r->then, t, value, sizeof value);
        dg_option_get(preset, t, built_in, sizeof built_in);
        if (*value && (strcmp(value, built_in) != 0) == changed) dg_html_row(to, t->name, "%s", value);
    }
    fputs("</tbody></table></div>\n", to);
}

static dg_err put_settings(FILE *to, const dg_report_run *r)
{
    dg_options preset = {.command = DG_CMD_TRAIN};
    if (!r->configured) return DG_OK;
    const dg_err e = dg_options_presets(&preset);
    open_section(to, "settings", "Settings");
    put_options(to, r, &preset, true);
    fputs("<details><summary>Defaults</summary>\n", to);
    put_options(to, r, &preset, false);
    fputs("</details>\n", to);
    close_section(to);
    dg_options_free(&preset);
    return e;
}

static void subtitle(const dg_report_run *r, char *out, size_t size)
{
    const dg_log_row *last = last_row(r);
    const char *model = r->configured ? r->then.model : "a run", *slash = strrchr(model, '/');
    char epochs[40] = "", made[200] = "";
    if (r->configured) snprintf(epochs, sizeof epochs, " of %d", r->then.epochs);
    if (r->session.images)
        snprintf(made, sizeof made, " \u00b7 %d image%s \u00b7 %.150s", r->session.images, dg_s(r->session.images),
                 r->session.device);
    const int n = snprintf(out, size, "%.250s%s \u00b7 ", slash ? slash + 1 : model, made);
    if (!last) snprintf(out + n, size - (size_t)n, "no steps yet");
    else
        snprintf(out + n, size - (size_t)n, "epoch %ju%s, step %ju", (uintmax_t)last->epoch, epochs,
                 (uintmax_t)last->step);
}

static dg_err put_page(FILE *to, const void *context)
{
    const dg_report_run *r = context;
    const dg_log_row *last = last_row(r);
    char line[800];
    subtitle(r, line, sizeof line);
    dg_html_begin(to, r->name, line);
    if (r->live)
        fprintf(to,
                "<p class=\"note\" id=\"live\" data-step=\"%ju\">The run is training. This page reloads itself.</p>\n",
                (uintmax_t)(last ? last->step : 0));
    dg_err e = put_images(to, r);
    put_findings(to, r);
    if (!e) e = put_curves(to, r);
    if (!e) e = put_tests(to, r);
    put_numbers(to, r);
    if (!e) e = put_nearest(to, r);
    put_machine(to, r);
    put_commands(to, r);
    if (!e) e = put_settings(to, r);
    dg_html_end(to);
    return e;
}

dg_err dg_report_write(const dg_report_run *r, const dg_directory *dir, const char *path)
{
    return dg_html_page(dir, path, put_page, r);
}

#include "host/rundir/log_text.h"
#include "core/base/c_locale.h"
#include "host/net/recipe.h"
#include "host/rundir/logged.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const dg_logged_measure dg_logged[DG_LOGGED] = {
#define X(id, in_log, for_people, ...) {.name = in_log, .label = for_people, __VA_ARGS__},
    DG_LOGGED_MEASURES(X)
#undef X
};

static const char first_columns[] = "epoch,step", last_columns[] = ",img_s,seconds\n";
enum { RATE, SECONDS, LAST_COLUMNS };
static const char *const last_name[LAST_COLUMNS] = {"img_s", "seconds"};

int dg_log_header(char out[DG_LOG_LINE], const dg_recipe *r)
{
    int n = snprintf(out, DG_LOG_LINE, "%s", first_columns);
    for (int i = 0; i < r->metrics; i++)
        if (r->metric[i].name) n += snprintf(out + n, (size_t)(DG_LOG_LINE - n), ",%s", r->metric[i].name);
    return n + snprintf(out + n, (size_t)(DG_LOG_LINE - n), "%s", last_columns);
}

int dg_log_header_judged(char out[DG_LOG_LINE], const dg_recipe *r, int judged)
{
    int n = dg_log_header(out, r) - 1;
    for (int i = 0; i < judged; i++) n += snprintf(out + n, (size_t)(DG_LOG_LINE - n), ",%s", dg_logged[i].name);
    return n + snprintf(out + n, (size_t)(DG_LOG_LINE - n), "\n");
}

static bool may_have(int judged)
{
    return !judged || judged == DG_LOGGED_BEFORE_KID || judged == DG_LOGGED_ALWAYS || judged == DG_LOGGED;
}

int dg_log_judged(const char *text, const dg_recipe *r)
{
    char line[DG_LOG_LINE] = "";
    int judged = DG_LOGGED;
    while (judged >= 0 && (!may_have(judged) || strncmp(text, line, (size_t)dg_log_header_judged(line, r, judged))))
        judged--;
    return judged;
}

const dg_recipe *dg_log_recipe(const char *text, size_t *header)
{
    const dg_recipe *r;
    char line[DG_LOG_LINE];
    for (int i = 0; (r = dg_recipe_at(i)); i++) {
        const int judged = dg_log_judged(text, r);
        *header = judged < 0 ? 0 : (size_t)dg_log_header_judged(line, r, judged);
        if (judged >= 0) return r;
    }
    return NULL;
}

bool dg_log_is_empty(const char *text)
{
    size_t header;
    return !*text || (dg_log_recipe(text, &header) && !text[header]);
}

static double last_value(const dg_log_row *row, int which)
{
    return which == RATE ? row->images_per_second : row->seconds;
}

static int csv_value(char *out, int n, double v)
{
    out[n++] = ',';
    return isnan(v) ? n : n + snprintf(out + n, (size_t)(DG_LOG_LINE - n), "%.9g", v);
}

int dg_log_csv(char out[DG_LOG_LINE], const dg_recipe *r, const dg_log_row *row)
{
    locale_t before = dg_use_c_locale();
    int n = snprintf(out, DG_LOG_LINE, "%ju,%ju", (uintmax_t)row->epoch, (uintmax_t)row->step);
    for (int i = 0; i < r->metrics; i++)
        if (r->metric[i].name) n = csv_value(out, n, dg_metric_value(&r->metric[i], row->value));
    for (int i = 0; i < LAST_COLUMNS; i++) n = csv_value(out, n, last_value(row, i));
    for (int i = 0; i < row->judged; i++) n = csv_value(out, n, row->measure[i]);
    out[n++] = '\n';
    out[n] = 0;
    uselocale(before);
    return n;
}

static int json_value(char *out, int n, const char *name, double v)
{
    if (isfinite(v)) return n + snprintf(out + n, (size_t)(DG_LOG_LINE - n), ",\"%s\":%.9g", name, v);
    return n + snprintf(out + n, (size_t)(DG_LOG_LINE - n), ",\"%s\":null", name);
}

int dg_log_json(char out[DG_LOG_LINE], const dg_recipe *r, const dg_log_row *row, const char *kind)
{
    locale_t before = dg_use_c_locale();
    int n = snprintf(out, DG_LOG_LINE, "{\"kind\":\"%s\",\"epoch\":%ju,\"step\":%ju", kind, (uintmax_t)row->epoch,
                     (uintmax_t)row->step);
    for (int i = 0; i < r->metrics; i++) {
        const dg_metric *m = &r->metric[i];
        const double v = dg_metric_value(m, row->value);
        if (m->name && (m->over != DG_OVER_TEST || !isnan(v))) n = json_value(out, n, m->name, v);
    }
    for (int i = 0; i < LAST_COLUMNS; i++) n = json_value(out, n, last_name[i], last_value(row, i));
    for (int i = 0; i < row->judged; i++)
        if (!isnan(row->measure[i])) n = json_value(out, n, dg_logged[i].name, row->measure[i]);
    if (row->joules > 0) n = json_value(out, n, "joules", row->joules);
    if (row->joules > 0) n += snprintf(out + n, (size_t)(DG_LOG_LINE - n), ",\"energy_of\":\"%s\"", row->energy_of);
    n += snprintf(out + n, (size_t)(DG_LOG_LINE - n), "}\n");
    uselocale(before);
    return n;
}

static bool parse_whole(const char **at, char end, uint64_t *out)
{
    char *stop;
    errno = 0;
    if (**at < '0' || **at > '9') return false;
    *out = strtoull(*at, &stop, 10);
    if (errno || *stop != end) return false;
    *at = stop + 1;
    return true;
}

static bool parse_number(const char **at, char end, double *out)
{
    char *stop = (char *)*at;
    *out = **at == end ? NAN : strtod(*at, &stop);
    if (*stop != end || **at == ' ') return false;
    *at = stop + 1;
    return true;
}

static int commas(const char *line)
{
    int n = 0;
    for (; *line; line++) n += *line == ',';
    return n;
}

bool dg_log_parse(const char *line, const dg_recipe *r, dg_log_row *row)
{
    memset(row, 0, sizeof *row);
    if (!parse_whole(&line, ',', &row->epoch) || !parse_whole(&line, ',', &row->step)) return false;
    if (!row->epoch || row->epoch > DG_LOG_EPOCH_MAX || !row->step || row->step > DG_LOG_STEP_MAX) return false;
    locale_t before = dg_use_c_locale();
    bool ok = true;
    for (int i = 0; i < r->metrics && ok; i++) {
        const dg_metric *m = &r->metric[i];
        double sum;
        if (m->name) ok = parse_number(&line, ',', m->terms == 1 ? &row->value[m->term[0]] : &sum);
    }
    row->judged = ok ? commas(line) - (LAST_COLUMNS - 1) : 0;
    ok = ok && may_have(row->judged) && parse_number(&line, ',', &row->images_per_second) &&
         parse_number(&line, row->judged ? ',' : 0, &row->seconds);
    for (int i = 0; i < row->judged && ok; i++)
        ok = parse_number(&line, i < row->judged - 1 ? ',' : 0, &row->measure[i]);
    for (int i = row->judged; i < DG_LOGGED && row->judged && ok; i++) row->measure[i] = NAN;
    uselocale(before);
    return ok;
}

bool dg_log_follows(const dg_log_row *before, const dg_log_row *row)
{
    return !before || (row->step > before->step && row->epoch >= before->epoch);
}

dg_log_row *dg_log_rows_in(char *text, size_t header, const dg_recipe *r, long *rows, long *bad)
{
    long room = 1024;
    dg_log_row *row = malloc((size_t)room * sizeof *row);
    *rows = *bad = 0;
    char *line = text + header, *end;
    for (long number = 2; row && (end = strchr(line, '\n')); number++, line = end + 1) {
        *end = 0;
        if (*rows == room) { /* grows with rows, because a hostile file may have many empty lines */
            dg_log_row *more = realloc(row, (size_t)(room *= 2) * sizeof *row);
            if (!more) free(row);
            row = more;
            if (!row) break;
        }
        const dg_log_row *before = *rows ? &row[*rows - 1] : NULL;
        if (dg_log_parse(line, r, &row[*rows]) && dg_log_follows(before, &row[*rows])) ++*rows;
        else if (!*bad) *bad = number;
    }
    return row;
}

double dg_log_rounded(double v)
{
    char text[40];
    const locale_t before = dg_use_c_locale();
    snprintf(text, sizeof text, "%.9g", v);
    const double out = strtod(text, NULL);
    uselocale(before);
    return out;
}

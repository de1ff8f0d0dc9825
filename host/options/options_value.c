/* Converts an option's value from text and to text, and checks its range. */
#include "host/options/option_table.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void *member(dg_options *o, const dg_option *t) { return (char *)o + t->offset; }

/* Parse decimal digits only, because strtoull would accept "-1", " 7" and "7x". */
static bool read_u64(const char *s, const char *end, uint64_t *out)
{
    uint64_t v = 0;
    if (s == end) return false;
    for (; s < end; s++) {
        if (*s < '0' || *s > '9') return false;
        uint64_t digit = (uint64_t)(*s - '0');
        if (v > (UINT64_MAX - digit) / 10) return false;
        v = v * 10 + digit;
    }
    *out = v;
    return true;
}

static bool read_real(const char *s, double *out)
{
    if (strspn(s, "0123456789+-.eE") != strlen(s)) return false;
    char *end;
    errno = 0;
    *out = strtod(s, &end);
    return end != s && !*end && isfinite(*out);
}

static int choice_index(const char *choices, const char *value)
{
    size_t n = strlen(value);
    int i = 0;
    for (const char *c = choices;; i++) {
        size_t m = strcspn(c, "|");
        if (m == n && !strncmp(c, value, n)) return i;
        if (!c[m]) return -1;
        c += m + 1;
    }
}

void dg_option_range(const dg_option *t, char *out, size_t size)
{
    *out = 0;
    switch (t->kind) {
    case DG_OPT_INT:
    case DG_OPT_AUTO:
    case DG_OPT_LONG:
        snprintf(out, size, "%.0f to %.0f%s", t->min, t->max, t->kind == DG_OPT_AUTO ? ", or auto" : "");
        break;
    case DG_OPT_REAL:
    case DG_OPT_AUTO_REAL:
        snprintf(out, size, "%s%g %s%g%s", t->flags & DG_OPT_ABOVE_MIN ? "above " : "", t->min,
                 t->flags & DG_OPT_BELOW_MAX ? "to below " : "to ", t->max,
                 t->kind == DG_OPT_AUTO_REAL ? ", or auto" : "");
        break;
    case DG_OPT_U64: snprintf(out, size, "0 to %" PRIu64, UINT64_MAX); break;
    case DG_OPT_GRID: snprintf(out, size, "%.0fx%.0f to %.0fx%.0f", t->min, t->min, t->max, t->max); break;
    case DG_OPT_SIZE: snprintf(out, size, "%.0f to %.0f, or WIDTHxHEIGHT such as 64x96", t->min, t->max); break;
    case DG_OPT_FLAG: snprintf(out, size, "yes or no"); break;
    case DG_OPT_CHOICE:
    case DG_OPT_EITHER: {
        const char *last = strrchr(t->choices, '|');
        size_t at = 0;
        for (const char *c = t->choices; *c && at + 6 < size; c++) {
            if (*c != '|') out[at++] = *c;
            else at += (size_t)snprintf(out + at, size - at, "%s", c == last ? " or " : ", ");
        }
        out[at] = 0;
        break;
    }
    case DG_OPT_SEEDS: snprintf(out, size, "%.0f to %.0f", t->min, t->max); break;
    case DG_OPT_TEXT:
    case DG_OPT_RESUME: break;
    }
}

static dg_err wrong(const dg_option *t, const char *where, const char *what)
{
    char range[128];
    dg_option_range(t, range, sizeof range);
    return dg_fail(DG_USAGE, DG_MSG("option-value", "%s: %s%s%s"), where, what, *range ? "; allowed: " : "", range);
}

static dg_err unknown_choice(const dg_option *t, const char *value, const char *where)
{
    if (strcmp(t->name, "precision") != 0 || !dg_precision_removed(value)) return wrong(t, where, "unknown");
    return dg_fail(DG_USAGE,
                   DG_MSG("precision-removed", "%s: dcgan no longer computes in tf32; use --precision fp32 or bf16"),
                   where);
}

static dg_err set_whole(dg_options *o, const dg_option *t, const char *value, const char *where)
{
    uint64_t v = 0;
    bool minus = *value == '-';
    if (strspn(value + minus, "0123456789") != strlen(value + minus) || !value[minus])
        return wrong(t, where, "not a whole number");
    if (minus || !read_u64(value, value + strlen(value), &v)) return wrong(t, where, "out of range");
    if (t->kind == DG_OPT_U64) {
        *(uint64_t *)member(o, t) = v;
        return DG_OK;
    }
    if ((double)v < t->min || (double)v > t->max) return wrong(t, where, "out of range");
    if (t->kind == DG_OPT_LONG) *(long *)member(o, t) = (long)v;
    else *(int *)member(o, t) = (int)v;
    return DG_OK;
}

static dg_err set_whole_or_auto(dg_options *o, const dg_option *t, const char *value, const char *where)
{
    if (strcmp(value, "auto") != 0) return set_whole(o, t, value, where);
    *(int *)member(o, t) = (int)t->min - 1;
    return DG_OK;
}

static dg_err set_real(dg_options *o, const dg_option *t, const char *value, const char *where)
{
    double v;
    if (t->kind == DG_OPT_AUTO_REAL && !strcmp(value, "auto")) {
        *(double *)member(o, t) = -1;
        return DG_OK;
    }
    if (!read_real(value, &v)) return wrong(t, where, "not a number");
    if (v < t->min || v > t->max || (t->flags & DG_OPT_ABOVE_MIN && v <= t->min) ||
        (t->flags & DG_OPT_BELOW_MAX && v >= t->max))
        return wrong(t, where, "out of range");
    *(double *)member(o, t) = v;
    return DG_OK;
}

static dg_err set_text(char **to, const char *value, const char *where)
{
    if (!*value) return dg_fail(DG_USAGE, "%s: must not be empty", where);
    if (strlen(value) >= DG_CONFIG_VALUE)
        return dg_fail(DG_USAGE, "%.60s ...: longer than %d bytes", where, DG_CONFIG_VALUE - 1);
    char *copy = strdup(value);
    if (!copy) return dg_fail(DG_DEVICE, "out of memory");
    free(*to);
    *to = copy;
    return DG_OK;
}

static dg_err set_flag(dg_options *o, const dg_option *t, const char *value, const char *where)
{
    int i = choice_index("no|yes|off|on|false|true|0|1", value);
    if (i < 0) return wrong(t, where, "neither yes nor no");
    *(bool *)member(o, t) = i & 1;
    return DG_OK;
}

static dg_err set_grid(dg_options *o, const dg_option *t, const char *value, const char *where)
{
    const char *x = strpbrk(value, "xX");
    uint64_t n[2];
    if (!x || !read_u64(value, x, &n[0]) || !read_u64(x + 1, x + strlen(x), &n[1]))
        return wrong(t, where, "not of the form RxC, for example 8x8");
    int *to = member(o, t);
    for (int i = 0; i < 2; i++) {
        if ((double)n[i] < t->min || (double)n[i] > t->max) return wrong(t, where, "out of range");
        to[i] = (int)n[i];
    }
    return DG_OK;
}

static dg_err set_size(dg_options *o, const dg_option *t, const char *value, const char *where)
{
    dg_size s;
    const char *end = dg_size_parse(value, &s);
    if (!end || *end) return wrong(t, where, "neither a side nor WIDTHxHEIGHT");
    if (dg_shorter_side(s) < (int)t->min || dg_longer_side(s) > (int)t->max ||
        (!dg_is_square(s) && !dg_shorter_side(s)))
        return wrong(t, where, "out of range");
    *(dg_size *)member(o, t) = s;
    return DG_OK;
}

static dg_err set_seeds(dg_options *o, const dg_option *t, const char *value, const char *where)
{
    const char *dash = strchr(value, '-'), *end = value + strlen(value);
    uint64_t n[2];
    if (!read_u64(value, dash ? dash : end, &n[0]) || (dash && !read_u64(dash + 1, end, &n[1])))
        return dg_fail(DG_USAGE, "%s: not of the form A-B, for example 1-16", where);
    if (!dash) n[1] = n[0];
    if (n[1] < n[0]) return dg_fail(DG_USAGE, "%s: the first number is larger than the last", where);
    if ((double)n[0] < t->min || (double)n[1] > t->max) return wrong(t, where, "out of range");
    uint64_t *to = member(o, t);
    to[0] = n[0];
    to[1] = n[1];
    return DG_OK;
}

static bool is_folder(const dg_options *o, const dg_option *t)
{
    const unsigned makes = 1U << DG_CMD_TRAIN | 1U << DG_CMD_GENERATE | 1U << DG_CMD_INTERPOLATE | 1U << DG_CMD_FIND |
                           1U << DG_CMD_BATCH;
    return !strcmp(t->name, "data") || !strcmp(t->name, "held-out") ||
           (!strcmp(t->name, "out") && makes >> o->command & 1);
}

static dg_err set_path(dg_options *o, const dg_option *t, char **to, const char *value, const char *where)
{
    const dg_err e = set_text(to, value, where);
    if (!e && dg_option_is_path(t)) dg_path_trim(*to, is_folder(o, t));
    return e;
}

dg_err dg_option_set(dg_options *o, const dg_option *t, const char *value, const char *where)
{
    switch (t->kind) {
    case DG_OPT_FLAG: return set_flag(o, t, value, where);
    case DG_OPT_INT:
    case DG_OPT_LONG:
    case DG_OPT_U64: return set_whole(o, t, value, where);
    case DG_OPT_AUTO: return set_whole_or_auto(o, t, value, where);
    case DG_OPT_REAL:
    case DG_OPT_AUTO_REAL: return set_real(o, t, value, where);
    case DG_OPT_TEXT: return set_path(o, t, member(o, t), value, where);
    case DG_OPT_GRID: return set_grid(o, t, value, where);
    case DG_OPT_SIZE: return set_size(o, t, value, where);
    case DG_OPT_SEEDS: return set_seeds(o, t, value, where);
    case DG_OPT_RESUME: o->resume = true; return set_path(o, t, &o->resume_from, value, where);
    case DG_OPT_CHOICE:
    case DG_OPT_EITHER: {
        int i = choice_index(t->choices, value);
        if (i < 0) return unknown_choice(t, value, where);
        if (t->kind == DG_OPT_CHOICE) *(int *)member(o, t) = i;
        else *(bool *)member(o, t) = i;
        return DG_OK;
    }
    }
    return DG_OK;
}

dg_err dg_option_give(dg_options *o, const dg_option *t, const char *value, const char *where)
{
    const dg_err e = dg_option_set(o, t, value, where);
    if (!e) o->given[t - dg_option_table] = true;
    return e;
}

bool dg_option_given(const dg_options *o, const char *name) { return o->given[dg_option_find(name) - dg_option_table]; }

static void get_choice(const char *choices, int i, char *out, size_t size)
{
    for (; i; i--) choices += strcspn(choices, "|") + 1;
    snprintf(out, size, "%.*s", (int)strcspn(choices, "|"), choices);
}

void dg_option_get(const dg_options *o, const dg_option *t, char *out, size_t size)
{
    const void *at = (const char *)o + t->offset;
    *out = 0;
    switch (t->kind) {
    case DG_OPT_FLAG: snprintf(out, size, "%s", *(const bool *)at ? "yes" : "no"); break;
    case DG_OPT_INT: snprintf(out, size, "%d", *(const int *)at); break;
    case DG_OPT_AUTO: snprintf(out, size, *(const int *)at >= (int)t->min ? "%d" : "auto", *(const int *)at); break;
    case DG_OPT_LONG: snprintf(out, size, "%ld", *(const long *)at); break;
    case DG_OPT_U64: snprintf(out, size, "%" PRIu64, *(const uint64_t *)at); break;
    case DG_OPT_REAL:
    case DG_OPT_AUTO_REAL: {
        double v = *(const double *)at;
        if (t->kind == DG_OPT_AUTO_REAL && v < 0) {
            snprintf(out, size, "auto");
            break;
        }
        for (int digits = 1; digits <= 17; digits++) {
            snprintf(out, size, "%.*g", digits, v);
            if (strtod(out, NULL) == v) break;
        }
        break;
    }
    case DG_OPT_TEXT: snprintf(out, size, "%s", *(char *const *)at ? *(char *const *)at : ""); break;
    case DG_OPT_CHOICE: get_choice(t->choices, *(const int *)at, out, size); break;
    case DG_OPT_EITHER: get_choice(t->choices, *(const bool *)at, out, size); break;
    case DG_OPT_GRID: snprintf(out, size, "%dx%d", ((const int *)at)[0], ((const int *)at)[1]); break;
    case DG_OPT_SIZE: {
        char text[DG_SIZE_TEXT];
        snprintf(out, size, "%s", dg_size_text(*(const dg_size *)at, text));
        break;
    }
    case DG_OPT_SEEDS:
        snprintf(out, size, "%" PRIu64 "-%" PRIu64, ((const uint64_t *)at)[0], ((const uint64_t *)at)[1]);
        break;
    case DG_OPT_RESUME: snprintf(out, size, "%s", o->resume_from ? o->resume_from : ""); break;
    }
}

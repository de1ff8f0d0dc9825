/* Parses and evaluates expressions over the latents of seeds. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "host/infer/latents.h"

enum { DEPTH = 20, DIGITS = 40 };
static const double largest_seed = 9007199254740991; /* 2^53 - 1, as for --seeds */

/* A whole number, or a product of whole numbers, may be a number or a latent, depending on its context. */
typedef struct {
    bool is_number, is_latent;
    double number;
    dg_z_sum latent;
} value;

typedef struct {
    const char *text, *at;
    int depth;
} reader;

static dg_err wrong(const reader *r, const char *at, const char *what)
{
    return dg_fail(DG_USAGE, DG_MSG("bad-z", "position %d: %s"), (int)(at - r->text) + 1, what);
}

static char next(reader *r)
{
    r->at += strspn(r->at, " \t");
    return *r->at;
}

static bool add_term(dg_z_sum *to, uint64_t seed, double factor)
{
    int i = 0;
    while (i < to->terms && to->seed[i] != seed) i++;
    if (i == DG_Z_TERMS) return false;
    if (i == to->terms) to->seed[to->terms++] = seed, to->factor[i] = 0;
    to->factor[i] += factor;
    return true;
}

static void scale(dg_z_sum *s, double factor)
{
    for (int i = 0; i < s->terms; i++) s->factor[i] *= factor;
}

static dg_err add(const reader *r, const char *at, value *a, const value *b, double sign)
{
    const bool seeds = a->is_latent && b->is_latent;
    a->is_number &= b->is_number && !seeds;
    a->is_latent = seeds;
    if (!a->is_number && !a->is_latent) return wrong(r, at, "cannot add a number and a latent");
    a->number += sign * b->number;
    for (int i = 0; i < b->latent.terms && a->is_latent; i++)
        if (!add_term(&a->latent, b->latent.seed[i], sign * b->latent.factor[i]))
            return wrong(r, at, "more than 32 different seeds");
    return DG_OK;
}

static dg_err multiply(const reader *r, const char *at, value *a, const value *b)
{
    const double left = a->number;
    if (a->is_number && b->is_latent) {
        a->latent = b->latent;
        a->is_latent = true;
        scale(&a->latent, left);
    } else if (a->is_latent && b->is_number) scale(&a->latent, b->number);
    else if (!a->is_number || !b->is_number) return wrong(r, at, "cannot multiply two latents");
    a->is_number &= b->is_number;
    a->number = left * b->number;
    return DG_OK;
}

static dg_err divide(const reader *r, const char *at, value *a, const value *b)
{
    if (!b->is_number) return wrong(r, at, "cannot divide by a latent");
    if (b->number == 0) return wrong(r, at, "division by 0");
    a->number /= b->number;
    scale(&a->latent, 1 / b->number);
    return DG_OK;
}

static dg_err read_number(reader *r, value *out)
{
    char digits[DIGITS];
    const size_t n = strspn(r->at, "0123456789.");
    if (n >= sizeof digits) return wrong(r, r->at, "the number has too many digits");
    memcpy(digits, r->at, n);
    digits[n] = 0;
    char *end;
    const double number = strtod(digits, &end);
    if (end == digits || *end) return wrong(r, r->at, "this is not a number");
    *out = (value){.is_number = true, .number = number};
    if (strspn(digits, "0123456789") == n && number <= largest_seed) {
        out->is_latent = true;
        add_term(&out->latent, strtoull(digits, NULL, 10), 1);
    }
    r->at += n;
    return DG_OK;
}

static dg_err read_sum(reader *r, value *out);
static dg_err read_factor(reader *r, value *out);

/* NOLINTNEXTLINE(misc-no-recursion): DEPTH limits the recursion */
static dg_err read_group(reader *r, value *out)
{
    const char *open = r->at++;
    const dg_err e = read_sum(r, out);
    if (!e && next(r) != ')') return wrong(r, open, "this parenthesis is not closed");
    r->at += !e;
    return e;
}

/* NOLINTNEXTLINE(misc-no-recursion): DEPTH limits the recursion */
static dg_err read_signed(reader *r, value *out)
{
    const double sign = *r->at++ == '-' ? -1 : 1;
    const dg_err e = read_factor(r, out);
    if (e) return e;
    out->number *= sign;
    scale(&out->latent, sign);
    return DG_OK;
}

/* NOLINTNEXTLINE(misc-no-recursion): DEPTH limits the recursion */
static dg_err read_factor(reader *r, value *out)
{
    const char first = next(r);
    if (first && strchr("0123456789.", first)) return read_number(r, out);
    if (!first || !strchr("+-(", first)) return wrong(r, r->at, "expected a seed, a number or a parenthesis");
    if (++r->depth > DEPTH) return wrong(r, r->at, "too many nested parentheses or signs");
    const dg_err e = first == '(' ? read_group(r, out) : read_signed(r, out);
    r->depth--;
    return e;
}

/* NOLINTNEXTLINE(misc-no-recursion): DEPTH limits the recursion */
static dg_err read_product(reader *r, value *out)
{
    dg_err e = read_factor(r, out);
    while (!e && (next(r) == '*' || *r->at == '/')) {
        const char *at = r->at++;
        value right = {0};
        e = read_factor(r, &right);
        if (!e) e = *at == '*' ? multiply(r, at, out, &right) : divide(r, at, out, &right);
    }
    return e;
}

/* NOLINTNEXTLINE(misc-no-recursion): DEPTH limits the recursion */
static dg_err read_sum(reader *r, value *out)
{
    dg_err e = read_product(r, out);
    while (!e && (next(r) == '+' || *r->at == '-')) {
        const char *at = r->at++;
        value right = {0};
        e = read_product(r, &right);
        if (!e) e = add(r, at, out, &right, *at == '+' ? 1 : -1);
    }
    return e;
}

static int summands(const dg_z_sum *s)
{
    int n = 0;
    for (int i = 0; i < s->terms; i++) n += s->factor[i] != 0;
    return n;
}

dg_err dg_z_parse(const char *text, dg_z_sum *out)
{
    reader r = {text, text, 0};
    value all = {0};
    const dg_err e = read_sum(&r, &all);
    if (e) return e;
    if (next(&r)) return wrong(&r, r.at, "expected + - * / or the end");
    if (!all.is_latent)
        return dg_fail(DG_USAGE, DG_MSG("z-number", "is a number, not a latent; seeds are whole numbers up to %.0f"),
                       largest_seed);
    for (int i = 0; i < all.latent.terms; i++)
        if (!isfinite(all.latent.factor[i])) return dg_fail(DG_USAGE, "a factor is too large");
    if (!summands(&all.latent))
        return dg_fail(DG_USAGE, DG_MSG("z-zero", "the sum is 0, which has no direction; use different seeds"));
    *out = all.latent;
    return DG_OK;
}

dg_err dg_z_evaluate(const dg_generator *g, const dg_z_sum *s, float *z)
{
    const int n = g->latent;
    double *total = calloc((size_t)n, sizeof *total), squares = 0;
    if (!total) return dg_fail(DG_DEVICE, "out of memory for a latent of %d values", n);
    for (int i = 0; i < s->terms; i++) {
        dg_generator_z(g, z, s->seed[i], 1);
        for (int k = 0; k < n; k++) total[k] += s->factor[i] * (double)z[k];
    }
    for (int k = 0; k < n; k++) squares += total[k] * total[k];
    const double scaled = summands(s) > 1 && squares > 0 ? sqrt(n / squares) : 1;
    for (int k = 0; k < n; k++) z[k] = (float)(scaled * total[k]);
    free(total);
    return DG_OK;
}

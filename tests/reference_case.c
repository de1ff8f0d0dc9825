/* The part of reference.h that needs no backend: operands by index, and values for them. */
#include "reference.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void **dg_ref_pointer(const dg_op *op, int i)
{
    int n;
    /* The only cast from a member's offset to an operand's pointer. */
    return (void **)(void *)((char *)(uintptr_t)&op->u + dg_operands(op->kind, &n)[i].member);
}

/* Returns how many entries perm needs, or how many bytes contain all records that these entries name. */
static size_t count_anywhere(const dg_op *op, const char *name)
{
    const dg_gather_args *a = &op->u.gather;
    const int64_t end = a->state->cursor + a->N;
    size_t last = 0;
    if (strcmp(name, "perm") == 0) return (size_t)end;
    for (int64_t i = 0; i < end; i++)
        if ((size_t)a->perm[i] > last) last = (size_t)a->perm[i];
    return (last + 1) * (size_t)a->record;
}

void dg_ref_operand(const dg_op *op, int i, size_t *count, dg_type *type)
{
    static const dg_type types[] = {
        [DG_REAL] = DG_F64,    [DG_NUMBER] = DG_F64,   [DG_BYTE] = DG_U8,     [DG_INDEX] = DG_I32,
        [DG_ONE_STEP] = DG_U8, [DG_ALL_STEPS] = DG_U8, [DG_COUNTERS] = DG_I32};
    static const size_t sizes[] = {[DG_ONE_STEP] = sizeof(dg_step_state), [DG_ALL_STEPS] = sizeof(dg_metrics)};
    const dg_operand *o = &dg_op_info_of(op->kind)->operand[i];
    *type = types[o->element];
    *count = o->anywhere ? count_anywhere(op, o->name) : (size_t)dg_operand_count(op, i);
    if (o->element == DG_ONE_STEP || o->element == DG_ALL_STEPS) *count *= sizes[o->element];
}

static void *must(void *p)
{
    if (p) return p;
    fprintf(stderr, "out of memory\n");
    exit(1);
}

double dg_case_eps(const dg_backend *b) { return b->real == DG_F64 ? DBL_EPSILON / 2 : FLT_EPSILON / 2; }

static void *kept[4096];
static int keeps;

static double *keep(size_t n)
{
    if (keeps == sizeof kept / sizeof kept[0]) must(NULL);
    return kept[keeps++] = must(malloc((n ? n : 1) * sizeof(double)));
}

double *dg_case_numbers(size_t n, double scale, double shift)
{
    static unsigned long long state = 20151119;
    double *x = keep(n);
    for (size_t i = 0; i < n; i++) {
        state = state * 6364136223846793005ull + 1442695040888963407ull;
        x[i] = (double)(float)((((double)(state >> 33) + 0.5) / 1073741824.0 - 1.0) * scale + shift);
    }
    return x;
}

double *dg_case_copy(const double *x, size_t n) { return x ? memcpy(keep(n), x, n * sizeof *x) : NULL; }

void dg_case_free(void)
{
    while (keeps) free(kept[--keeps]);
}

double dg_case_error(const double *a, const double *b, size_t n, double floor)
{
    double worst = 0;
    for (size_t i = 0; i < n; i++) {
        double e = a[i] == b[i] ? 0 : fabs(a[i] - b[i]) / (fabs(b[i]) + floor);
        if (!(e <= worst)) worst = e;
        if (isnan(worst)) return INFINITY;
    }
    return worst;
}

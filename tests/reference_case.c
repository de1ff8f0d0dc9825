/* Of the second half of reference.h what needs no backend: operands by number, and numbers for them. */
#include "reference.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void **dg_ref_pointer(const dg_op *op, int i)
{
    int n;
    /* The tables speak of members, the caller of operands: this is the one cast between the two. */
    return (void **)(void *)((char *)(uintptr_t)&op->u + dg_operands(op->kind, &n)[i].member);
}

static size_t count_of(const dg_op *op, const char *name)
{
    const bool vector = strcmp(name, "mean") == 0 || strcmp(name, "rstd") == 0;
    switch (op->kind) {
    case DG_OP_conv_fwd:
    case DG_OP_conv_dx:
    case DG_OP_conv_dw: {
        const dg_conv_args *a = &op->u.conv;
        if (strcmp(name, "w") == 0) return (size_t)a->Co * (size_t)a->K * (size_t)a->K * (size_t)a->Ci;
        if (strcmp(name, "y") == 0) return (size_t)a->N * (size_t)a->Ho * (size_t)a->Wo * (size_t)a->Co;
        return (size_t)a->N * (size_t)a->H * (size_t)a->W * (size_t)a->Ci;
    }
    case DG_OP_norm_stats: {
        const dg_norm_stats_args *a = &op->u.norm_stats;
        if (strcmp(name, "x") == 0) return (size_t)a->N * (size_t)a->H * (size_t)a->W * (size_t)a->C;
        return (size_t)a->C * (size_t)(vector ? a->groups : 1);
    }
    case DG_OP_norm_frozen: return (size_t)op->u.norm_frozen.C;
    case DG_OP_norm_act:
    case DG_OP_norm_act_dx: {
        const dg_norm_act_args *a = &op->u.norm_act;
        if (strstr("gamma dgamma beta dbeta", name)) return (size_t)a->C;
        if (vector) return (size_t)a->C * (size_t)a->groups;
        return (size_t)a->N * (size_t)a->H * (size_t)a->W * (size_t)a->C;
    }
    case DG_OP_act:
    case DG_OP_act_dx: return (size_t)op->u.act.n;
    case DG_OP_bce: return (size_t)op->u.bce.n;
    case DG_OP_adam: return (size_t)op->u.adam.n;
    case DG_OP_gather: {
        const dg_gather_args *a = &op->u.gather;
        size_t picture = (size_t)a->H * (size_t)a->W * (size_t)a->C, last = 0;
        if (strcmp(name, "x") == 0) return (size_t)a->N * picture;
        if (strcmp(name, "perm") == 0) return (size_t)a->state->cursor + (size_t)a->N;
        for (int64_t i = 0; i < a->state->cursor + a->N; i++)
            if ((size_t)a->perm[i] > last) last = (size_t)a->perm[i];
        return (last + 1) * picture;
    }
    case DG_OP_noise: return (size_t)op->u.noise.n;
    case DG_OP_to_u8: return (size_t)op->u.to_u8.n;
    default: return 0;
    }
}

void dg_ref_operand(const dg_op *op, int i, size_t *count, dg_type *type)
{
    int n;
    const char *name = dg_operands(op->kind, &n)[i].name;
    *type = DG_U8;
    if (strcmp(name, "state") == 0) {
        *count = sizeof(dg_step_state);
        return;
    }
    if (strcmp(name, "ring") == 0) {
        *count = DG_RING * sizeof(dg_metrics);
        return;
    }
    *count = count_of(op, name);
    if (strcmp(name, "perm") == 0) *type = DG_I32;
    else if (strcmp(name, "data") != 0 && strcmp(name, "out") != 0) *type = DG_F64;
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

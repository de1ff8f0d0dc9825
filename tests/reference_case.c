#include "reference.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GUARD = 256, FILL = 0xA5 };

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
    if (strcmp(name, "perm") == 0)
        *type = DG_I32;
    else if (strcmp(name, "data") != 0 && strcmp(name, "out") != 0)
        *type = DG_F64;
}

typedef struct {
    void *theirs;                /* the caller's array */
    size_t count, bytes;
    bool real, input, output;
    unsigned char *block, *mine; /* guard, mine[bytes], guard */
    void *before;                /* what an operand that is only read held */
} twin;

static void store(const dg_backend *b, const twin *t, void *out)
{
    if (!t->real || b->real == DG_F64)
        memcpy(out, t->theirs, t->bytes);
    else
        for (size_t i = 0; i < t->count; i++) ((float *)out)[i] = (float)((double *)t->theirs)[i];
}

static void load(const dg_backend *b, const twin *t)
{
    if (!t->real || b->real == DG_F64)
        memcpy(t->theirs, t->mine, t->bytes);
    else
        for (size_t i = 0; i < t->count; i++) ((double *)t->theirs)[i] = (double)((float *)(void *)t->mine)[i];
}

static void *must(void *p)
{
    if (p) return p;
    fprintf(stderr, "out of memory\n");
    exit(1);
}

static const char *guards(const twin *t)
{
    for (unsigned char *p = t->block; p < t->mine; p++)
        if (*p != FILL) return "wrote in front of an operand";
    for (unsigned char *p = t->mine + t->bytes; p < t->mine + t->bytes + GUARD; p++)
        if (*p != FILL) return "wrote behind an operand";
    if (t->before && memcmp(t->before, t->mine, t->bytes) != 0) return "changed an input";
    return NULL;
}

/* Space for bytes at an address that is a multiple of the element, but of no vector. */
static void make_room(twin *t, size_t bytes, size_t off)
{
    t->bytes = bytes;
    size_t all = (2 * GUARD + off + bytes + 255) / 256 * 256;
    t->block = must(aligned_alloc(256, all));
    t->mine = t->block + GUARD + off;
    memset(t->block, FILL, all);
}

const char *dg_case_run(dg_backend *b, const dg_op *original)
{
    dg_op op = *original;
    int n, twins = 0;
    const dg_operand *list = dg_operands(op.kind, &n);
    twin twin_of[DG_MAX_OPERANDS] = {{0}};
    const char *wrong = b->refuses(b, &op);
    if (wrong) return wrong;
    for (int i = 0; i < n; i++) {
        void **pointer = dg_ref_pointer(&op, i);
        twin *t = &twin_of[twins];
        if (list[i].role == DG_SCRATCH) {
            make_room(t, b->scratch(b, &op), 0);
            *pointer = t->bytes ? t->mine : NULL;
            twins++;
            continue;
        }
        if (!*pointer) continue;
        for (t = twin_of; t < twin_of + twins && t->theirs != *pointer; t++) {}
        if (t == twin_of + twins) {
            dg_type type;
            twins++;
            t->theirs = *pointer;
            dg_ref_operand(original, i, &t->count, &type);
            t->real = type == DG_F64;
            size_t element = dg_type_bytes(t->real ? b->real : type);
            make_room(t, t->count * element, t->real ? element : 64);
            store(b, t, t->mine);
        }
        if (list[i].role & DG_IN) t->input = true;
        if (list[i].role & DG_OUT) t->output = true;
        *pointer = t->mine;
    }
    for (twin *t = twin_of; t < twin_of + twins; t++) {
        if (t->output && !t->input) memset(t->mine, 0xff, t->bytes);
        if (t->input && !t->output) memcpy(t->before = must(malloc(t->bytes + 1)), t->mine, t->bytes);
    }
    if (b->run_op(b, &op, NULL)) wrong = dg_message();
    for (twin *t = twin_of; t < twin_of + twins; t++) {
        if (!wrong) wrong = guards(t);
        if (t->output) load(b, t);
        free(t->before);
        free(t->block);
    }
    return wrong;
}

bool dg_case_open(int i, int threads, dg_backend **b)
{
    static const char *const isa[] = {"base", "avx2", "avx512"};
    for (int k = 0; k < 3; k++) {
        setenv("DCGAN_ISA", isa[k], 1);
        for (dg_type real = DG_F32; real <= DG_F64; real++) {
            dg_err e = dg_cpu_open(&(dg_cpu_options){.threads = threads, .real = real}, b);
            unsetenv("DCGAN_ISA");
            if (e) break; /* not on this machine */
            if (i-- == 0) return true;
            (*b)->close(*b);
            setenv("DCGAN_ISA", isa[k], 1);
        }
    }
    unsetenv("DCGAN_ISA");
    return false;
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

double *dg_case_copy(const double *x, size_t n)
{
    return x ? memcpy(keep(n), x, n * sizeof *x) : NULL;
}

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

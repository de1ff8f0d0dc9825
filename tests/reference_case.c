/* Access to operands by index, test values for operands, and dg_case_run, which runs an op on a backend. */
#include "reference.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void **dg_ref_pointer(const dg_op *op, int i)
{
    int n;
    return (void **)(void *)((char *)(uintptr_t)&op->u + dg_operands(op->kind, &n)[i].member);
}

/* Returns the number of entries of perm, or of bytes of data, that the op may read. */
static size_t count_anywhere(const dg_op *op, const char *name)
{
    const dg_gather_args *a = &op->u.gather;
    const int64_t end = a->state->cursor + a->first + a->N;
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

/* An operand as the caller's array, and its copy on the backend. */
typedef struct {
    void *theirs;
    size_t count, bytes, off, all; /* number of values, bytes, offset in the allocation, bytes of the allocation */
    bool real, input, output;
    void *block;
    unsigned char *image; /* the bytes of the allocation before the op runs */
} twin;
enum { FILL = 0xA5 };

/* Returns buffer i with at least `bytes` bytes. Cases share buffers, because new pages cost more than small ops. */
static unsigned char *buffer(int i, size_t bytes)
{
    static unsigned char *kept_at[DG_MAX_OPERANDS + 1];
    static size_t sizes[DG_MAX_OPERANDS + 1];
    if (sizes[i] >= bytes + 1) return kept_at[i];
    free(kept_at[i]);
    sizes[i] = bytes + 1;
    return kept_at[i] = must(malloc(sizes[i]));
}

/* Allocates the copy of operand i between guard bytes, and fills it with NaN. */
static void make_room(dg_backend *b, twin *t, int i, size_t bytes, size_t extra)
{
    t->bytes = bytes;
    t->off = dg_case_guard + extra;
    t->all = t->off + bytes + dg_case_guard;
    t->image = buffer(i, t->all);
    memset(t->image, FILL, t->all);
    memset(t->image + t->off, 0xff, bytes);
    if (t->all) t->block = must(dg_case_memory(b, t->all));
}

/* Copies `count` values from `theirs` to `mine`, or back if `back` is true. `mine` has floats if `narrow` is true,
 * else doubles. */
static void convert(unsigned char *mine, double *theirs, size_t count, bool narrow, bool back)
{
    for (size_t i = 0; i < count && narrow; i++) {
        float f = (float)theirs[i];
        if (back) memcpy(&f, mine + i * sizeof f, sizeof f), theirs[i] = (double)f;
        else memcpy(mine + i * sizeof f, &f, sizeof f);
    }
    if (!narrow) memcpy(back ? (void *)theirs : mine, back ? mine : (void *)theirs, count * sizeof *theirs);
}

static const char *load(dg_backend *b, const twin *t, unsigned char *all)
{
    if (!t->all || (!t->theirs && !dg_case_guard)) return NULL;
    const unsigned char *const end = all + t->off + t->bytes;
    if (b->get(b, all, t->block, t->all)) return dg_message();
    if (memcmp(all, t->image, t->off) != 0) return "wrote before an operand";
    if (memcmp(end, t->image + t->off + t->bytes, dg_case_guard) != 0) return "wrote after an operand";
    if (t->input && !t->output && memcmp(all, t->image, t->all) != 0) return "changed an input";
    if (!t->output) return NULL;
    if (t->real) convert(all + t->off, t->theirs, t->count, b->real == DG_F32, true);
    else memcpy(t->theirs, all + t->off, t->bytes);
    return dg_case_note(all + t->off, t->bytes);
}

/* Makes each operand of `op` point to a copy on the backend. Operands with one pointer share a copy. An op whose
 * pointer to counters is NULL uses `counters`. Returns the number of copies. */
static int place(dg_backend *b, dg_op *op, const dg_op *original, uint32_t *counters, twin *twins)
{
    int n, used = 0;
    const dg_operand *list = dg_operands(op->kind, &n);
    for (int i = 0; i < n; i++) {
        void **pointer = dg_ref_pointer(op, i);
        twin *t = twins;
        if (!*pointer && list[i].element == DG_COUNTERS) *pointer = counters;
        if (list[i].role == DG_SCRATCH) {
            make_room(b, t = &twins[used++], i, b->scratch(b, op), 0);
        } else if (!*pointer) {
            continue;
        } else {
            while (t < twins + used && t->theirs != *pointer) t++;
        }
        if (t == twins + used) {
            dg_type type;
            used++;
            t->theirs = *pointer;
            dg_ref_operand(original, i, &t->count, &type);
            t->real = type == DG_F64;
            const size_t element = dg_type_bytes(t->real ? b->real : type);
            make_room(b, t, i, t->count * element, t->real && dg_case_offset() ? element : 0);
        }
        t->input |= (list[i].role & DG_IN) != 0;
        t->output |= (list[i].role & DG_OUT) != 0;
        *pointer = t->bytes || t->theirs ? (unsigned char *)t->block + t->off : NULL;
    }
    return used;
}

const char *dg_case_run(dg_backend *b, const dg_op *original)
{
    dg_op op = *original;
    twin twins[DG_MAX_OPERANDS] = {{0}};
    uint32_t counters[DG_OP_COUNTERS] = {0};
    const char *wrong = dg_case_choose(b, &op);
    if (wrong) return wrong;
    const int n = place(b, &op, original, counters, twins);
    for (const twin *t = twins; t < twins + n; t++) {
        if (t->input && t->real) convert(t->image + t->off, t->theirs, t->count, b->real == DG_F32, false);
        else if (t->input) memcpy(t->image + t->off, t->theirs, t->bytes);
        const bool new_memory = !t->input && !t->off; /* the simulator fills new memory with NaN */
        if (t->all && !new_memory && b->put(b, t->block, t->image, t->all)) wrong = dg_message();
    }
    if (!wrong && b->run_op(b, &op, NULL)) wrong = dg_message();
    for (twin *t = twins; t < twins + n; t++) {
        if (!wrong) wrong = load(b, t, buffer(DG_MAX_OPERANDS, t->all));
        dg_case_release(b, t->block);
    }
    for (int i = 0; i < DG_OP_COUNTERS && !wrong; i++)
        if (counters[i]) wrong = "left a counter that is not 0";
    return wrong ? wrong : dg_case_note(NULL, 0);
}

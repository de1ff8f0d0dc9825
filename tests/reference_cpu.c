/* Runs cases on the CPU backend; tests/case_cuda.cu does the same for CUDA. */
#include "reference.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GUARD = 256, FILL = 0xA5 };

typedef struct {
    void *theirs; /* the caller's array */
    size_t count, bytes;
    bool real, input, output;
    unsigned char *block, *mine; /* guard, mine[bytes], guard */
    void *before;                /* the initial content of a read-only operand */
} twin;

static void store(const dg_backend *b, const twin *t, void *out)
{
    if (!t->real || b->real == DG_F64) memcpy(out, t->theirs, t->bytes);
    else
        for (size_t i = 0; i < t->count; i++) ((float *)out)[i] = (float)((double *)t->theirs)[i];
}

static void load(const dg_backend *b, const twin *t)
{
    if (!t->real || b->real == DG_F64) memcpy(t->theirs, t->mine, t->bytes);
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
        if (*p != FILL) return "wrote before an operand";
    for (unsigned char *p = t->mine + t->bytes; p < t->mine + t->bytes + GUARD; p++)
        if (*p != FILL) return "wrote after an operand";
    if (t->before && memcmp(t->before, t->mine, t->bytes) != 0) return "changed an input";
    return NULL;
}

/* Allocates bytes at an address that is a multiple of the element size but not of any vector size. */
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
            if (e) break; /* this machine has no such backend */
            if (i-- == 0) return true;
            (*b)->close(*b);
            setenv("DCGAN_ISA", isa[k], 1);
        }
    }
    unsetenv("DCGAN_ISA");
    return false;
}

int dg_case_slowness(void) { return 0; }

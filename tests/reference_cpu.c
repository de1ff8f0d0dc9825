/* The CPU backends for dg_case_run. tests/case_cuda.cu has the CUDA backends. */
#include "reference.h"

#include <stdlib.h>

const size_t dg_case_guard = 256;

void *dg_case_memory(dg_backend *b, size_t bytes)
{
    (void)b;
    return aligned_alloc(256, (bytes + 255) / 256 * 256);
}

void dg_case_release(dg_backend *b, void *p)
{
    (void)b;
    free(p);
}

bool dg_case_offset(void) { return true; }

const char *dg_case_choose(dg_backend *b, dg_op *op) { return b->refuses(b, op); }

const char *dg_case_note(const void *result, size_t bytes)
{
    (void)result, (void)bytes;
    return NULL;
}

bool dg_case_open(int i, int threads, dg_backend **b)
{
    static const char *const isa[] = {"base", "avx2", "avx512"};
    for (int k = 0; k < 3; k++) {
        setenv("DCGAN_ISA", isa[k], 1);
        for (dg_type real = DG_F32; real <= DG_F64; real++) {
            dg_err e = dg_cpu_open(&(dg_cpu_options){.threads = threads, .real = real}, b);
            unsetenv("DCGAN_ISA");
            if (e) break; /* the machine lacks the instruction set */
            if (i-- == 0) return true;
            (*b)->close(*b);
            setenv("DCGAN_ISA", isa[k], 1);
        }
    }
    unsetenv("DCGAN_ISA");
    return false;
}

int dg_case_slowness(void) { return 0; }

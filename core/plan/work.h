/* What a variant of a CUDA op does when it is launched, as far as time depends on it. Plain C, without CUDA; counts
 * what the launchers in kernels/ do, and tests/kernels/simulated holds it to that. */
#ifndef DG_WORK_H
#define DG_WORK_H

#include <stdbool.h>

#include "core/plan/op_info.h"

typedef struct dg_work {
    int kernels;     /* launches that wait for one another */
    double blocks;   /* of the kernel that computes; the others move data */
    int threads;     /* of a block */
    int split;       /* parts of the sum */
    double outputs;  /* of convolutions: results that a thread has in registers */
    bool warpgroups; /* products are those of Hopper's warpgroups */
    double products; /* multiply-adds of a block: of convolutions, whole tiles; 0: of no account */
    /* of shared memory and the first cache for a block, 128 bytes each, where they were counted; else 0 */
    double clocks;
    double loads;  /* bytes that a block loads through the cache; 0: only what the op must read */
    double moved;  /* bytes that the other kernels read and write: parts of a sum, unfolded patches */
    double shared; /* bytes of shared memory of a block */
} dg_work;

/* op->tune has been through dg_variant_check(). */
dg_work dg_work_of(const dg_op *op, dg_type real);

/* Bytes of operand `scratch` that the CUDA backend's choice in op->tune needs. */
size_t dg_scratch_of(const dg_op *op, dg_type real);

#endif

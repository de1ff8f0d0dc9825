/* The work of a CUDA op's launch, from which its time is predicted. */
#pragma once

#include <stdbool.h>

#include "core/plan/op_info.h"

typedef struct dg_work {
    int kernels;
    double blocks; /* blocks of the main kernel; the op's other kernels only move data */
    int threads;
    int split;
    double outputs; /* convolutions: number of results that a thread keeps in registers */
    bool warpgroups;
    double products; /* multiply-adds per block of a convolution, for whole tiles; 0: negligible */
    double loads;    /* bytes that a block loads through the cache; 0: not counted */
    double moved;    /* bytes of partial sums and padded weights that the op's other kernels read and write */
    double shared;
} dg_work;

dg_work dg_work_of(const dg_op *op, dg_type real);

size_t dg_scratch_of(const dg_op *op, dg_type real);

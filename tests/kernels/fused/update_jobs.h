/* Test cases for the weight gradients of fused updates, described by their shapes. */
#pragma once

extern "C" {
#include "kernels/fused/fused_update.h"
#include "tests/reference_conv.h"
}

struct job_case {
    dg_fused_family kind;
    int N, H, W, Ci, Co;
    dg_prologue_kind x, y;
    int split;
};
static const dg_prologue_kind PLAIN = DG_PROLOGUE_PLAIN, NORM = DG_PROLOGUE_NORM, DX = DG_PROLOGUE_NORM_DX;

static dg_conv_args shape_of(const job_case &c)
{
    const bool flat = c.kind == DG_FUSED_GEMV || c.kind == DG_FUSED_DENSE;
    const int K = flat ? c.H : 4, S = flat ? 1 : 2, P = flat ? 0 : 1;
    return dg_ref_conv_shape(c.N, c.H, c.W, c.Ci, c.Co, K, S, P);
}

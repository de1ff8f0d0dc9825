/* The table of activations. A switch over all activations has no default, so that the compiler reports a missing
 * activation. docs/extending.md says how to add an activation. */
#pragma once

#include <math.h>
#include <stdbool.h>

/* X(NAME, word in model files, ONNX operator or "", FLOPs per value of act, FLOPs per value of act_dx, factor,
 *   from_y, fused).
 * `factor` is the slope for z < 0, or NAN if the activation is not piecewise linear. `from_y` is true if act_dx can use
 * the activation's output y. `fused` is true if the fused CUDA kernels support the activation
 * (kernels/fused/fuse.cuh). */
#define DG_ACTS(X)                                          \
    X(NONE, "none", "", 0, 0, 1, true, true)                \
    X(RELU, "relu", "Relu", 1, 1, 0, true, true)            \
    X(LEAKY, "leaky", "LeakyRelu", 1, 1, slope, true, true) \
    X(TANH, "tanh", "Tanh", 1, 3, NAN, true, true)

typedef enum {
#define X(NAME, ...) DG_ACT_##NAME,
    DG_ACTS(X)
#undef X
} dg_act;

#define X(...) +1
enum { DG_ACT_KINDS = 0 DG_ACTS(X) };
#undef X

typedef struct {
    const char *word, *onnx;
    int flops, dx_flops;
    bool fused;
} dg_act_info;
extern const dg_act_info dg_acts[DG_ACT_KINDS];

static inline double dg_act_factor(dg_act act, double slope)
{
    switch (act) {
#define X(NAME, word, onnx, flops, dx_flops, factor, ...) \
    case DG_ACT_##NAME: return factor;
        DG_ACTS(X)
#undef X
    }
    return NAN;
}

static inline bool dg_act_is_linear(dg_act act) { return !isnan(dg_act_factor(act, 1)); }

/* The table of the activations, from their list. */
#include "core/plan/act.h"

#define X(NAME, word, onnx, flops, dx_flops, factor, from_y, fused) \
    [DG_ACT_##NAME] = {word, onnx, flops, dx_flops, fused},
const dg_act_info dg_acts[DG_ACT_KINDS] = {DG_ACTS(X)};
#undef X

/* y alone is kept for the way back. */
#define X(NAME, word, onnx, flops, dx_flops, factor, from_y, fused) \
    _Static_assert(from_y, "act_dx has no z, which the derivative of " word " follows from");
DG_ACTS(X)
#undef X

#include "core/plan/act.h"

#define X(NAME, word, onnx, flops, dx_flops, factor, from_y, fused) \
    [DG_ACT_##NAME] = {word, onnx, flops, dx_flops, fused},
const dg_act_info dg_acts[DG_ACT_KINDS] = {DG_ACTS(X)};
#undef X

#define X(NAME, word, onnx, flops, dx_flops, factor, from_y, fused)                                        \
    _Static_assert(from_y, word ": act_dx reads only y; a derivative that needs z must be a separate op"); \
    _Static_assert(sizeof onnx > 1 || DG_ACT_##NAME == DG_ACT_NONE,                                        \
                   word ": the table names no ONNX operator for this activation");
DG_ACTS(X)
#undef X

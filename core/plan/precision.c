#include "core/plan/precision.h"

#include <string.h>

const dg_precision dg_precisions[DG_PRECISIONS] = {
    [DG_PRECISION_AUTO] = {"auto", DG_F32, DG_MATH_FP32}, [DG_PRECISION_FP32] = {"fp32", DG_F32, DG_MATH_FP32},
    [DG_PRECISION_FP64] = {"fp64", DG_F64, DG_MATH_FP32}, [DG_PRECISION_BF16] = {"bf16", DG_F32, DG_MATH_BF16},
    [DG_PRECISION_FP16] = {"fp16", DG_F32, DG_MATH_FP16},
};

const dg_precision *dg_precision_find(const char *name)
{
    for (int i = DG_PRECISION_AUTO + 1; i < DG_PRECISIONS; i++)
        if (strcmp(dg_precisions[i].name, name) == 0) return &dg_precisions[i];
    return NULL;
}

bool dg_precision_removed(const char *name) { return strcmp(name, "tf32") == 0; }

const char *dg_precision_name(dg_type real, dg_math math)
{
    for (int i = DG_PRECISION_AUTO + 1; i < DG_PRECISIONS; i++)
        if (dg_precisions[i].real == real && dg_precisions[i].math == math) return dg_precisions[i].name;
    return "?";
}

static const struct {
    int arch;
    double error;
} maths[] = {
    [DG_MATH_FP32] = {0, 0},
    [DG_MATH_BF16] = {80, 0x1p-8},
    [DG_MATH_FP16] = {75, 0x1p-11},
};

bool dg_math_on(dg_math math, int arch) { return arch >= maths[math].arch; }

double dg_math_error(dg_math math) { return maths[math].error; }

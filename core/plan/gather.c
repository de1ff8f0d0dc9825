#include "core/plan/gather.h"

int64_t dg_gather_record(const dg_gather_args *a, dg_type real, bool labels)
{
    const int64_t value = a->prepared ? (int64_t)dg_type_bytes(real) : 1;
    return (int64_t)a->H * a->W * a->C * value + (labels ? (int64_t)sizeof *a->label : 0);
}

bool dg_gather_is_signed(const dg_gather_args *a)
{
    for (int c = 0; c < a->C; c++)
        if (a->dev[c] != 127.5 || a->shift[c] != 1) return false;
    return !a->prepared && a->record == dg_gather_record(a, DG_F32, false);
}

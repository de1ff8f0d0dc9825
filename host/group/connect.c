#include "host/group/connect.h"

#include "core/plan/gpus.h"
#include "host/group/agree.h"

dg_err dg_group_connect(dg_backend *b)
{
    if (!b->group || b->threads) return DG_OK;
    return dg_group_agree(b->group, dg_cuda_connect(b));
}

/* Connection of the GPUs of a group. */
#pragma once

#include "core/plan/backend.h"

/* Connects the GPUs of all ranks of b->group by NCCL, and agrees on the result. Returns DG_OK for CPUs or without a
 * group. */
dg_err dg_group_connect(dg_backend *b);

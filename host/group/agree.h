/* Agreement on errors: every rank learns whether a stage failed on any rank. */
#pragma once

#include "core/group/group.h"

/* Returns on every rank the error of the lowest rank whose `e` is not DG_OK, or DG_OK. Rank 0 then has that rank's
 * message, which begins with "rank N on HOST: " if it is not rank 0's own; the message of the other ranks is "", so
 * that rank 0 alone prints an error. Waits for all ranks, without using the processor. */
dg_err dg_group_agree(dg_group *g, dg_err e);

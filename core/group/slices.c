#include "core/group/slices.h"

#include <stdio.h>

static int is_power(int n) { return n > 0 && (n & (n - 1)) == 0; }

dg_err dg_shards_check(int shards, int ranks)
{
    char can[64];
    int n = 0;
    if (!is_power(shards) || shards > DG_MAX_SHARDS)
        return dg_fail(DG_USAGE, DG_MSG("bad-shards", "{shards} %d: not a power of two from 1 to %d"), shards,
                       DG_MAX_SHARDS);
    if (ranks > 0 && shards % ranks == 0) return DG_OK;
    for (int w = 1; w <= shards; w *= 2)
        n += snprintf(can + n, sizeof can - (size_t)n, "%s%d", w == 1 ? "" : w == shards ? " or " : ", ", w);
    return dg_fail(
        DG_USAGE,
        DG_MSG("ranks-not-shards",
               "%d processes cannot share %d shard%s; possible numbers of processes: %s; or give another {shards}"),
        ranks, shards, shards > 1 ? "s" : "", can);
}

int64_t dg_slice_length(int64_t n, int ranks)
{
    const int64_t pieces = (n + DG_SLICE_PIECE - 1) / DG_SLICE_PIECE;
    return (pieces + ranks - 1) / ranks * DG_SLICE_PIECE;
}

dg_slice dg_slice_of(int64_t n, int ranks, int rank)
{
    const int64_t length = dg_slice_length(n, ranks);
    const int64_t first = length * rank < n ? length * rank : n;
    return (dg_slice){first, n - first < length ? n - first : length};
}

/* Shards and slices of ranks, and calls of a process without a group. */
#include "test.h"

#include "core/group/group.h"
#include "core/group/slices.h"

static void test_slices(void)
{
    static const int64_t sizes[] = {0, 1, 4095, 4096, 4097, 8192, 100000, 694656, 1100224, 2765568, 3576704, 12790000};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
        for (int ranks = 1; ranks <= DG_MAX_SHARDS; ranks++) {
            const int64_t n = sizes[k], length = dg_slice_length(n, ranks);
            int64_t at = 0;
            for (int r = 0; r < ranks; r++) {
                const dg_slice s = dg_slice_of(n, ranks, r);
                DG_CHECK(s.first == at && s.count >= 0 && s.count <= length);
                if (s.count) DG_CHECK(s.first == r * length);
                at += s.count;
            }
            DG_CHECKF(at == n, "%lld values on %d ranks: %lld are covered", (long long)n, ranks, (long long)at);
            DG_CHECK(length % DG_SLICE_PIECE == 0 && length * ranks >= n);
            DG_CHECK(length * ranks < n + (int64_t)DG_SLICE_PIECE * ranks);
        }
}

static void test_shards(void)
{
    static const struct {
        int shards, ranks;
        const char *error;
    } rows[] = {{1, 1, NULL},
                {8, 1, NULL},
                {8, 2, NULL},
                {8, 8, NULL},
                {64, 64, NULL},
                {64, 16, NULL},
                {0, 1, "shards 0: not a power of two from 1 to 64"},
                {-4, 1, "not a power of two"},
                {6, 2, "shards 6: not a power of two from 1 to 64"},
                {128, 2, "not a power of two from 1 to 64"},
                {1, 4, "4 processes cannot share 1 shard; possible numbers of processes: 1;"},
                {2, 4, "4 processes cannot share 2 shards; possible numbers of processes: 1 or 2"},
                {8, 3, "3 processes cannot share 8 shards; possible numbers of processes: 1, 2, 4 or 8"},
                {8, 16, "16 processes cannot share 8 shards"},
                {4, 0, "cannot share"}};
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        const char *error = rows[k].error;
        if (!error) DG_WORKS(dg_shards_check(rows[k].shards, rows[k].ranks));
        else DG_REFUSED(dg_shards_check(rows[k].shards, rows[k].ranks), DG_USAGE, error);
    }
    for (int ranks = 1; ranks <= 8; ranks *= 2) {
        int next = 0;
        for (int r = 0; r < ranks; r++) {
            DG_CHECK(dg_rank_first(8, ranks, r) == next);
            next += dg_rank_shards(8, ranks);
        }
        DG_CHECK(next == 8);
    }
}

/* A process without others has a NULL group. */
static void test_alone(void)
{
    char from[DG_TURN_BYTES] = "from", to[DG_TURN_BYTES] = "", all[DG_TURN_BYTES] = "all";
    DG_CHECK(dg_group_rank(NULL) == 0 && dg_group_size(NULL) == 1);
    DG_WORKS(dg_group_all_to_all(NULL, from, to, sizeof from));
    DG_CHECK(!strcmp(to, "from"));
    DG_WORKS(dg_group_all_gather(NULL, all, sizeof all));
    DG_WORKS(dg_group_broadcast(NULL, all, sizeof all));
    DG_CHECK(!strcmp(all, "all"));
    DG_WORKS(dg_group_gather(NULL, from, all, sizeof from));
    DG_CHECK(!strcmp(all, "from"));
    DG_WORKS(dg_group_gather(NULL, all, all, sizeof all));
    strcpy(from, "turn");
    DG_WORKS(dg_group_turn(NULL, from, all));
    DG_CHECK(!strcmp(all, "turn"));
    dg_group_abort(NULL, 1);
    DG_WORKS(dg_group_close(NULL));
}

DG_TESTS(test_slices, test_shards, test_alone)

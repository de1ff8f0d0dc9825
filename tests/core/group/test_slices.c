/* Shards, slices and the tree of sums: the subtrees of any number of ranks give the bits of the whole tree. */
#include "test.h"

#include "core/group/group.h"
#include "core/group/slices.h"

static void add(float *term, int n)
{
    dg_tree_sum sum[DG_MAX_SHARDS - 1];
    const int sums = dg_tree_sums(n, sum);
    DG_CHECK(sums == n - 1);
    for (int i = 0; i < sums; i++) term[sum[i].to] += term[sum[i].from];
}

/* node(i, d) by the recursive definition of the tree */
static float node(const float *leaf, int i, int d)
{
    return d == 1 ? leaf[i] : node(leaf, i, d / 2) + node(leaf, i + d / 2, d / 2);
}

static void test_tree(void)
{
    unsigned long long seed = 1;
    int other = 0; /* sums that differ from a sum from left to right: the test would see another order */
    for (int shards = 1; shards <= DG_MAX_SHARDS; shards *= 2)
        for (int repeat = 0; repeat < 50; repeat++) {
            float leaf[DG_MAX_SHARDS], left = 0;
            for (int j = 0; j < shards; j++) {
                leaf[j] = (float)dg_test_random(&seed);
                left += leaf[j];
            }
            const float whole = node(leaf, 0, shards);
            other += left != whole;
            for (int ranks = 1; ranks <= shards; ranks *= 2) {
                float subtree[DG_MAX_SHARDS];
                const int own = dg_shards_own(shards, ranks);
                for (int r = 0; r < ranks; r++) {
                    float term[DG_MAX_SHARDS];
                    memcpy(term, leaf + dg_shards_first(shards, ranks, r), (size_t)own * sizeof *term);
                    add(term, own);
                    subtree[r] = term[0];
                }
                add(subtree, ranks);
                DG_CHECKF(!memcmp(subtree, &whole, sizeof whole), "%d shards on %d ranks", shards, ranks);
            }
        }
    DG_CHECKF(other > 100, "only %d sums depend on their order", other);
}

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
                {0, 1, "shards 0: must be a power of two from 1 to 64"},
                {-4, 1, "must be a power of two"},
                {6, 2, "shards 6: must be a power of two from 1 to 64"},
                {128, 2, "must be a power of two from 1 to 64"},
                {1, 4, "4 processes cannot share 1 shard: start 1"},
                {2, 4, "4 processes cannot share 2 shards: start 1 or 2"},
                {8, 3, "3 processes cannot share 8 shards: start 1, 2, 4 or 8"},
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
            DG_CHECK(dg_shards_first(8, ranks, r) == next);
            next += dg_shards_own(8, ranks);
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

DG_TESTS(test_tree, test_slices, test_shards, test_alone)

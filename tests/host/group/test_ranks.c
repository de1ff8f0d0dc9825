/* A rank of a group, for tests/cli/group.sh: `mpirun -n W test_ranks CASE [NUMBER]`. Without a case, the calls of a
 * process without others. A case that fails ends with exit code 1. */
#include "test.h"

#include <time.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "host/group/agree.h"
#include "host/group/open.h"

static dg_group *group;
static int rank, size;

static void rest(double seconds)
{
    nanosleep(&(struct timespec){(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)}, NULL);
}

/* Byte i of the part that rank `from` has for rank `to` in a call. */
static unsigned char byte_of(int call, int from, int to, size_t i)
{
    return (unsigned char)((size_t)call * 89 + (size_t)from * 17 + (size_t)to * 5 + i * 7 + i / 251);
}

static void fill(unsigned char *part, size_t n, int call, int from, int to)
{
    for (size_t i = 0; i < n; i++) part[i] = byte_of(call, from, to, i);
}

static void check(const unsigned char *part, size_t n, int call, int from, int to, const char *name)
{
    size_t wrong = 0;
    for (size_t i = 0; i < n; i++) wrong += part[i] != byte_of(call, from, to, i);
    DG_CHECKF(!wrong, "%s of %zu bytes: %zu of the part of rank %d for rank %d are wrong", name, n, wrong, from, to);
}

static void call_each(size_t n)
{
    const size_t w = (size_t)size;
    unsigned char *from = malloc(w * n + 1), *to = malloc(w * n + 1);
    for (int r = 0; r < size; r++) fill(from + (size_t)r * n, n, 1, rank, r);
    memset(to, 0, w * n);
    DG_WORKS(dg_group_all_to_all(group, from, to, n));
    for (int r = 0; r < size; r++) check(to + (size_t)r * n, n, 1, r, rank, "all_to_all");

    memset(to, 0, w * n);
    fill(to + (size_t)rank * n, n, 2, rank, 0);
    DG_WORKS(dg_group_all_gather(group, to, n));
    for (int r = 0; r < size; r++) check(to + (size_t)r * n, n, 2, r, 0, "all_gather");

    fill(to, n, 3, rank, 0);
    DG_WORKS(dg_group_broadcast(group, to, n));
    check(to, n, 3, 0, 0, "broadcast");

    memset(to, 0, w * n);
    fill(from, n, 4, rank, 0);
    DG_WORKS(dg_group_gather(group, from, rank ? NULL : to, n));
    for (int r = 0; r < size && !rank; r++) check(to + (size_t)r * n, n, 4, r, 0, "gather");
    if (!rank) memcpy(to, from, n);
    DG_WORKS(dg_group_gather(group, rank ? from : to, rank ? NULL : to, n));
    for (int r = 0; r < size && !rank; r++) check(to + (size_t)r * n, n, 4, r, 0, "gather in place");
    free(from);
    free(to);

    unsigned char own[DG_TURN_BYTES], *all = malloc(w * sizeof own);
    fill(own, sizeof own, 5, rank, 0);
    DG_WORKS(dg_group_turn(group, own, all));
    for (int r = 0; r < size; r++) check(all + (size_t)r * sizeof own, sizeof own, 5, r, 0, "turn");
    free(all);
}

/* Places, names, and each call for sizes around the piece, which is 1000 bytes. */
static void test_calls(double number)
{
    static const size_t sizes[] = {0, 1, 999, 1000, 1001, 3000, 65537};
    if (number > 0) DG_CHECKF(size == (int)number, "%d ranks", size);
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) call_each(sizes[k]);
    if (!group) return;
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    DG_CHECK(group->local_rank == rank && group->local_size == size && group->hosts == 1);
    for (int r = 0; r < size; r++) DG_CHECK(!strcmp(group->host[r], host));
    if (!rank) printf("name: %s\n", group->name);
}

/* Parts of `number` MB, without a limit of pieces but MPI's. */
static void test_large(double number)
{
    const size_t n = (size_t)(number * 1e6), w = (size_t)size;
    unsigned char *from = calloc(w, n), *to = calloc(w, n);
    for (int r = 0; r < size; r++) from[(size_t)(r + 1) * n - 1] = byte_of(1, rank, r, 9);
    DG_WORKS(dg_group_all_to_all(group, from, to, n));
    for (int r = 0; r < size; r++) DG_CHECK(to[(size_t)(r + 1) * n - 1] == byte_of(1, r, rank, 9));
    to[(size_t)(rank + 1) * n - 1] = byte_of(2, rank, 0, 9);
    DG_WORKS(dg_group_all_gather(group, to, n));
    for (int r = 0; r < size; r++) DG_CHECK(to[(size_t)(r + 1) * n - 1] == byte_of(2, r, 0, 9));
    from[n * w - 1] = byte_of(3, rank, 0, 9);
    DG_WORKS(dg_group_broadcast(group, from, n * w));
    DG_CHECK(from[n * w - 1] == byte_of(3, 0, 0, 9));
    from[n - 1] = byte_of(4, rank, 0, 9);
    DG_WORKS(dg_group_gather(group, from, rank ? NULL : to, n));
    for (int r = 0; r < size && !rank; r++) DG_CHECK(to[(size_t)(r + 1) * n - 1] == byte_of(4, r, 0, 9));
    free(from);
    free(to);
}

static void test_agree(double number)
{
    (void)number;
    char expected[512];
    DG_WORKS(dg_group_agree(group, DG_OK));
    for (int failing = 0; failing < size;
         failing++) { /* the rank `failing` and all above it fail, each with its code */
        dg_err e = rank < failing ? DG_OK : dg_fail(DG_DATA + rank % 3, "cats/%d.png: is corrupt {size}", rank);
        e = dg_group_agree(group, e);
        DG_CHECKF(e == (dg_err)(DG_DATA + failing % 3), "rank %d fails: code %d", failing, e);
        snprintf(expected, sizeof expected, "cats/%d.png: is corrupt size", failing);
        if (failing && group)
            snprintf(expected, sizeof expected, "rank %d on %s: cats/%d.png: is corrupt size", failing,
                     group->host[failing], failing);
        DG_CHECKF(!strcmp(dg_message(), rank ? "" : expected), "rank %d fails: \"%s\"", failing, dg_message());
    }
    DG_WORKS(dg_group_agree(group, DG_OK));
}

/* Every rank but the last one waits for `number` seconds, and needs less than a fifth of them. */
static void test_turn(double number)
{
    char own[DG_TURN_BYTES] = "", *all = malloc(sizeof own * (size_t)size);
    DG_WORKS(dg_group_turn(group, own, all));
    if (rank == size - 1) rest(number);
    const double start = dg_clock(), cpu = dg_cpu_seconds();
    DG_WORKS(dg_group_turn(group, own, all));
    const double waited = dg_clock() - start, used = dg_cpu_seconds() - cpu;
    if (rank < size - 1) {
        DG_CHECKF(waited > 0.8 * number, "waited only %.3f s", waited);
        DG_CHECKF(used < 0.2 * number, "used %.3f s of a processor in %.3f s", used, waited);
    }
    double best = 1e9;
    for (int i = 0; i < 200; i++) {
        const double begin = dg_clock();
        DG_WORKS(dg_group_turn(group, own, all));
        const double took = dg_clock() - begin;
        if (took < best) best = took;
    }
    if (!rank) printf("waited %.3f s with %.4f s of a processor; shortest turn %.1f us\n", waited, used, best * 1e6);
    free(all);
}

/* Rank `number` is silent for 30 s; the limit is 1 s. */
static void test_silent(double number)
{
    if (rank == (int)number) rest(30);
    char own[DG_TURN_BYTES] = "", *all = malloc(sizeof own * (size_t)size);
    dg_group_turn(group, own, all);
    DG_CHECKF(0, "the turn with a silent rank ended");
    free(all);
}

/* The last rank comes `number` seconds late to a message and to a turn, whose limit of 2 s is suspended. */
static void test_paused(double number)
{
    char own[DG_TURN_BYTES] = "", *all = malloc(sizeof own * (size_t)size);
    for (int i = 0; i < 2; i++) {
        dg_group_pause_limit(group, true);
        if (rank == size - 1) rest(number);
        DG_WORKS(i ? dg_group_turn(group, own, all) : dg_group_all_gather(group, all, sizeof own));
        dg_group_pause_limit(group, false);
        rest(0.1);
        DG_WORKS(dg_group_turn(group, own, all));
    }
    free(all);
}

/* Rank `number` ends all with exit code 3. */
static void test_abort(double number)
{
    if (rank == (int)number) dg_group_abort(group, DG_DATA);
    rest(30);
    DG_CHECKF(0, "not ended");
}

static void lost(const char *message) { fprintf(stderr, "%s\n", message); }

static const struct {
    const char *name;
    void (*test)(double number);
    double limit;
    size_t piece;
} cases[] = {{"calls", test_calls, 60, 1000}, {"large", test_large, 300, 0},  {"agree", test_agree, 60, 0},
             {"turn", test_turn, 60, 0},      {"silent", test_silent, 1, 0},  {"paused", test_paused, 2, 0},
             {"abort", test_abort, 60, 0},    {"unlimited", test_calls, 0, 0}};

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "calls";
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        if (strcmp(name, cases[k].name) != 0) continue;
        const dg_group_options o = {.limit = cases[k].limit, .lost = lost, .piece = cases[k].piece};
        dg_launched l;
        dg_err e = dg_launch_read(&l);
        if (!e) e = dg_group_open(&l, &o, &group);
        if (e) {
            fprintf(stderr, "%s\n", dg_message());
            return (int)e;
        }
        rank = dg_group_rank(group), size = dg_group_size(group);
        cases[k].test(argc > 2 ? atof(argv[2]) : 0);
        DG_WORKS(dg_group_close(group));
        return dg_test_report();
    }
    fprintf(stderr, "test_ranks: no case %s\n", name);
    return DG_USAGE;
}

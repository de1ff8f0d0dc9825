/* The plugin for MPI, the only file that includes mpi.h. It is a shared library of its own, because a program that is
 * linked with one MPI does not run under the launcher of another one.
 *
 * Every call is nonblocking and waits in wait_for(), which yields the processor and, in a long wait, sleeps. Large
 * calls are divided into pieces below MPI's limit of 2^31 elements. */
#include "host/group/mpi/table.h"

#include <mpi.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_PIECE = 1 << 30 };

/* A wait yields for `spin` seconds. After that, it sleeps for `part` of the time waited so far, at least 20 us and at
 * most `nap` seconds, so that it ends late by at most this part. */
typedef struct {
    double spin, part, nap;
} patience;

static const patience data_wait = {20e-3, 1. / 64, 0.2e-3}, turn_wait = {0.1e-3, 1. / 16, 1e-3};

static struct {
    MPI_Comm data, words;
    int rank, size;
    size_t piece;
    double word_after;
    char name[128], why[MPI_MAX_ERROR_STRING + 64];
    atomic_ullong call;                         /* number of the present call */
    atomic_ullong *heard;                       /* number of the last call from which a word of each rank came */
    unsigned long long *said, *sent, *received; /* per rank: number in the last word, words sent and received */
    MPI_Request *saying;
} m;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int failed(const char *call, int code)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    if (code == MPI_SUCCESS) return 0;
    MPI_Error_string(code, text, &length);
    snprintf(m.why, sizeof m.why, "%s: %s", call, text);
    return 1;
}

/* Tells each other rank that this rank waits in the present call. A rank whose previous word is still on its way gets
 * none. */
static int speak(void)
{
    for (int r = 0; r < m.size; r++) {
        int done = 0;
        if (r == m.rank) continue;
        if (failed("MPI_Test", MPI_Test(&m.saying[r], &done, MPI_STATUS_IGNORE))) return 1;
        if (!done) continue;
        m.said[r] = atomic_load(&m.call);
        m.sent[r]++;
        if (failed("MPI_Isend", MPI_Isend(&m.said[r], 1, MPI_UNSIGNED_LONG_LONG, r, 0, m.words, &m.saying[r])))
            return 1;
    }
    return 0;
}

/* Receives one word from any rank, and waits for it. */
static int hear(void)
{
    unsigned long long call;
    MPI_Status s;
    if (failed("MPI_Recv", MPI_Recv(&call, 1, MPI_UNSIGNED_LONG_LONG, MPI_ANY_SOURCE, 0, m.words, &s))) return 1;
    m.received[s.MPI_SOURCE]++;
    if (call > atomic_load(&m.heard[s.MPI_SOURCE])) atomic_store(&m.heard[s.MPI_SOURCE], call);
    return 0;
}

/* Receives the words that are there. */
static int listen_all(void)
{
    for (int there = 1; there;) {
        if (failed("MPI_Iprobe", MPI_Iprobe(MPI_ANY_SOURCE, 0, m.words, &there, MPI_STATUS_IGNORE))) return 1;
        if (there && hear()) return 1;
    }
    return 0;
}

static int wait_for(const char *call, MPI_Request *request, const patience *p)
{
    const double start = now();
    int spoke = 0;
    for (;;) {
        int done = 0;
        if (failed(call, MPI_Test(request, &done, MPI_STATUS_IGNORE))) return 1;
        if (done) return 0;
        const double waited = now() - start;
        if (m.word_after > 0 && waited > m.word_after) {
            if (!spoke++ && speak()) return 1;
            if (listen_all()) return 1;
        }
        if (waited < p->spin) {
            (void)sched_yield();
            continue;
        }
        double nap = waited * p->part;
        nap = nap < 20e-6 ? 20e-6 : nap > p->nap ? p->nap : nap;
        (void)nanosleep(&(struct timespec){0, (long)(nap * 1e9)}, NULL);
    }
}

/* Type of a piece of n bytes, of which rank r has one at offset r * bytes_each. */
static int piece_type(size_t n, size_t bytes_each, MPI_Datatype *out)
{
    MPI_Datatype bytes;
    if (failed("MPI_Type_contiguous", MPI_Type_contiguous((int)n, MPI_BYTE, &bytes))) return 1;
    int bad = failed("MPI_Type_create_resized", MPI_Type_create_resized(bytes, 0, (MPI_Aint)bytes_each, out)) ||
              failed("MPI_Type_commit", MPI_Type_commit(out));
    return failed("MPI_Type_free", MPI_Type_free(&bytes)) || bad;
}

typedef int start(const void *from, void *to, int count, MPI_Datatype type, MPI_Request *request);

static int start_all_to_all(const void *from, void *to, int n, MPI_Datatype type, MPI_Request *request)
{
    return MPI_Ialltoall(from, n, type, to, n, type, m.data, request);
}

static int start_all_gather(const void *from, void *to, int n, MPI_Datatype type, MPI_Request *request)
{
    (void)from;
    return MPI_Iallgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, to, n, type, m.data, request);
}

static int start_gather(const void *from, void *to, int n, MPI_Datatype type, MPI_Request *request)
{
    const void *own = m.rank == 0 && from == to ? MPI_IN_PLACE : from;
    return MPI_Igather(own, n, type, to, n, type, 0, m.data, request);
}

static int start_broadcast(const void *from, void *to, int n, MPI_Datatype type, MPI_Request *request)
{
    (void)from;
    return MPI_Ibcast(to, n, type, 0, m.data, request);
}

/* Runs a call in pieces of `each` bytes per rank. from, to: NULL if this rank's part of the call does not use it. */
static int call_in_pieces(const char *name, start *begin, const void *from, void *to, size_t each, const patience *p)
{
    atomic_fetch_add(&m.call, 1);
    for (size_t at = 0, n; at < each; at += n) {
        MPI_Request request;
        MPI_Datatype type = MPI_BYTE;
        n = each - at < m.piece ? each - at : m.piece;
        const int whole = n == each || begin == start_broadcast;
        if (!whole && piece_type(n, each, &type)) return 1;
        const char *const f = from;
        char *const t = to;
        /* NOLINTNEXTLINE(clang-analyzer-optin.mpi.MPI-Checker): wait_for() calls MPI_Test until the request is done */
        int bad = failed(name, begin(f ? f + at : f, t ? t + at : t, whole ? (int)n : 1, type, &request)) ||
                  wait_for(name, &request, p);
        if (!whole) bad |= failed("MPI_Type_free", MPI_Type_free(&type));
        if (bad) return 1;
    }
    return 0;
}

static int all_to_all(const void *from, void *to, size_t bytes_each)
{
    return call_in_pieces("MPI_Ialltoall", start_all_to_all, from, to, bytes_each, &data_wait);
}

static int all_gather(void *all, size_t bytes_each)
{
    return call_in_pieces("MPI_Iallgather", start_all_gather, NULL, all, bytes_each, &data_wait);
}

static int broadcast(void *bytes, size_t n)
{
    return call_in_pieces("MPI_Ibcast", start_broadcast, NULL, bytes, n, &data_wait);
}

static int gather(const void *own, void *all, size_t bytes_each)
{
    return call_in_pieces("MPI_Igather", start_gather, own, m.rank ? NULL : all, bytes_each, &data_wait);
}

static int turn(const void *own, void *all, size_t bytes_each)
{
    memcpy((char *)all + (size_t)m.rank * bytes_each, own, bytes_each);
    return listen_all() || call_in_pieces("MPI_Iallgather", start_all_gather, NULL, all, bytes_each, &turn_wait);
}

/* Stores "Open MPI 4.1.4" of "Open MPI v4.1.4, package: ...", and "MPICH 4.0.2" of "MPICH Version:\t4.0.2\n...". */
static void find_name(void)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "", *rest = NULL;
    int length = 0;
    size_t n = 0;
    MPI_Get_library_version(text, &length);
    text[strcspn(text, ",\n")] = 0;
    for (char *word = strtok_r(text, " \t:", &rest); word; word = strtok_r(NULL, " \t:", &rest)) {
        if (!strcmp(word, "Version") || !strcmp(word, "Library")) continue;
        if (*word == 'v' && word[1] >= '0' && word[1] <= '9') word++;
        n += (size_t)snprintf(m.name + n, sizeof m.name - n, "%s%s", n ? " " : "", word);
        if (n >= sizeof m.name) return;
    }
}

static int open_all(double word_after, size_t piece, int *rank, int *size)
{
    int level = MPI_THREAD_SINGLE;
    if (failed("MPI_Init_thread", MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &level))) return 1;
    find_name();
    MPI_Comm_rank(MPI_COMM_WORLD, &m.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &m.size);
    *rank = m.rank, *size = m.size;
    if (level < MPI_THREAD_SERIALIZED) {
        snprintf(m.why, sizeof m.why, "built without support for threads (MPI_THREAD_SERIALIZED)");
        return 1;
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (failed("MPI_Comm_dup", MPI_Comm_dup(MPI_COMM_WORLD, &m.data)) ||
        failed("MPI_Comm_dup", MPI_Comm_dup(MPI_COMM_WORLD, &m.words)))
        return 1;
    m.word_after = word_after;
    m.piece = MAX_PIECE / (size_t)m.size; /* sums over all ranks in an MPI stay below 2^31 */
    if (piece && piece < m.piece) m.piece = piece;
    const size_t n = (size_t)m.size;
    m.heard = calloc(n, sizeof *m.heard);
    m.said = calloc(n, sizeof *m.said);
    m.sent = calloc(n, sizeof *m.sent);
    m.received = calloc(n, sizeof *m.received);
    m.saying = calloc(n, sizeof(MPI_Request)); /* NOLINT(bugprone-sizeof-expression): a pointer in Open MPI */
    if (!m.heard || !m.said || !m.sent || !m.received || !m.saying) {
        snprintf(m.why, sizeof m.why, "out of memory");
        return 1;
    }
    for (size_t r = 0; r < n; r++) m.saying[r] = MPI_REQUEST_NULL;
    return 0;
}

/* MPI_Finalize requires that each word has been received: ranks exchange how many there were. */
static int drain(void)
{
    unsigned long long *expected = calloc((size_t)m.size, sizeof *expected);
    int bad = !expected || all_to_all(m.sent, expected, sizeof *expected);
    for (int r = 0; !bad && r < m.size; r++)
        while (!bad && m.received[r] < expected[r]) bad = hear();
    free(expected);
    for (int r = 0; !bad && r < m.size; r++) bad = failed("MPI_Wait", MPI_Wait(&m.saying[r], MPI_STATUS_IGNORE));
    return bad;
}

static int close_all(void)
{
    int bad = 0;
    if (m.saying) {
        m.word_after = 0; /* no words about this call */
        bad = drain() || failed("MPI_Comm_free", MPI_Comm_free(&m.data)) ||
              failed("MPI_Comm_free", MPI_Comm_free(&m.words));
    }
    bad = failed("MPI_Finalize", MPI_Finalize()) || bad;
    free(m.heard), free(m.said), free(m.sent), free(m.received), free(m.saying);
    m.heard = NULL, m.said = m.sent = m.received = NULL, m.saying = NULL;
    return bad;
}

static const char *name(void) { return m.name; }
static const char *why(void) { return m.why; }
static int absent(int r) { return r != m.rank && atomic_load(&m.heard[r]) < atomic_load(&m.call); }
static void abort_all(int code) { MPI_Abort(MPI_COMM_WORLD, code); }

__attribute__((visibility("default"))) extern const dg_mpi_table dcgan_mpi;
const dg_mpi_table dcgan_mpi = {.version = DG_MPI_TABLE_VERSION,
                                .open = open_all,
                                .name = name,
                                .why = why,
                                .all_to_all = all_to_all,
                                .all_gather = all_gather,
                                .broadcast = broadcast,
                                .gather = gather,
                                .turn = turn,
                                .absent = absent,
                                .abort_all = abort_all,
                                .close = close_all};

/* A plugin for MPI (host/group/mpi/table.h) that counts calls and bytes of the plugin $COUNT_MPI, and appends
 * "CALL COUNT BYTES" lines of this rank to the file $COUNT_MPI_OUT.RANK. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "host/group/mpi/table.h"

enum { ALL_TO_ALL, ALL_GATHER, BROADCAST, GATHER, TURN, CALLS };
static const char *const names[] = {"all_to_all", "all_gather", "broadcast", "gather", "turn"};
static const dg_mpi_table *real;
static unsigned long long count[CALLS], bytes[CALLS];
static int own_rank;

static void add(int call, size_t n)
{
    count[call]++;
    bytes[call] += n;
}

static int start(double word_after, size_t piece, int *rank, int *size)
{
    void *library = dlopen(getenv("COUNT_MPI"), RTLD_NOW | RTLD_LOCAL);
    real = library ? dlsym(library, DG_MPI_SYMBOL) : NULL;
    if (!real) abort();
    const int bad = real->open(word_after, piece, rank, size);
    own_rank = *rank;
    return bad;
}

static const char *name(void) { return real->name(); }
static const char *why(void) { return real->why(); }

static int all_to_all(const void *from, void *to, size_t each)
{
    add(ALL_TO_ALL, each);
    return real->all_to_all(from, to, each);
}

static int all_gather(void *all, size_t each)
{
    add(ALL_GATHER, each);
    return real->all_gather(all, each);
}

static int broadcast(void *data, size_t n)
{
    add(BROADCAST, n);
    return real->broadcast(data, n);
}

static int gather(const void *own, void *all, size_t each)
{
    add(GATHER, each);
    return real->gather(own, all, each);
}

static int turn(const void *own, void *all, size_t each)
{
    add(TURN, each);
    return real->turn(own, all, each);
}

static int absent(int rank) { return real->absent(rank); }
static void abort_all(int code) { real->abort_all(code); }

static int stop(void)
{
    char path[4096];
    snprintf(path, sizeof path, "%s.%d", getenv("COUNT_MPI_OUT"), own_rank);
    FILE *f = fopen(path, "w");
    for (int i = 0; f && i < CALLS; i++) fprintf(f, "%s %llu %llu\n", names[i], count[i], bytes[i]);
    if (f) fclose(f);
    return real->close();
}

__attribute__((visibility("default"))) extern const dg_mpi_table dcgan_mpi;
const dg_mpi_table dcgan_mpi = {.version = DG_MPI_TABLE_VERSION,
                                .open = start,
                                .name = name,
                                .why = why,
                                .all_to_all = all_to_all,
                                .all_gather = all_gather,
                                .broadcast = broadcast,
                                .gather = gather,
                                .turn = turn,
                                .absent = absent,
                                .abort_all = abort_all,
                                .close = stop};

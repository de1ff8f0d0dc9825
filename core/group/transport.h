/* What carries the calls of a group (group.h): a plugin for MPI, or NCCL.
 *
 * Functions that return int return 0, or 1 after an error, which why() describes. Except for absent() and abort_all(),
 * the calls come from one thread. */
#pragma once

#include <stddef.h>

typedef struct {
    int version; /* of a plugin (host/group/mpi/table.h) */

    /* Starts the transport and stores this process's rank and the number of processes. A wait of more than `word_after`
     * seconds tells the other ranks that this rank waits; 0: never. No message between two ranks has more than `piece`
     * bytes; 0: chosen by the transport. */
    int (*open)(double word_after, size_t piece, int *rank, int *size);
    const char *(*name)(void); /* name and version, after open() */
    const char *(*why)(void);  /* the last error */

    /* The calls of core/group/group.h. */
    int (*all_to_all)(const void *from, void *to, size_t bytes_each);
    int (*all_gather)(void *all, size_t bytes_each);
    int (*broadcast)(void *bytes, size_t n);
    int (*gather)(const void *own, void *all, size_t bytes_each);
    int (*turn)(const void *own, void *all, size_t bytes_each);

    /* 1 if the present call is not known to have begun on `rank`. From any thread. Valid after `word_after` seconds of
     * waiting. */
    int (*absent)(int rank);
    void (*abort_all)(int code); /* from any thread */
    int (*close)(void);          /* waits for all ranks */
} dg_transport;

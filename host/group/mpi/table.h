/* Interface between the program and a plugin for MPI, a shared library that exports the symbol dcgan_mpi of type
 * dg_mpi_table. Programs and plugins of different versions of this interface refuse each other.
 *
 * Functions that return int return 0, or 1 after an error, which why() describes. Except for absent() and abort_all(),
 * the calls come from one thread. */
#pragma once

#include <stddef.h>

#define DG_MPI_SYMBOL "dcgan_mpi"
enum { DG_MPI_TABLE_VERSION = 1 };

typedef struct {
    int version; /* DG_MPI_TABLE_VERSION; the first member in each version */

    /* Starts MPI and stores this process's rank and the number of processes. A wait of more than `word_after` seconds
     * tells the other ranks that this rank waits; 0: never. No message between two ranks has more than `piece` bytes;
     * 0: chosen by the plugin. */
    int (*open)(double word_after, size_t piece, int *rank, int *size);
    const char *(*name)(void); /* MPI's name and version, after open() */
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
    int (*close)(void);          /* stops MPI; waits for all ranks */
} dg_mpi_table;

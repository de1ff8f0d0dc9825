/* Detects by the environment whether a launcher started this process as one of several: torchrun, or mpirun and srun
 * with a process manager of MPI. Opens nothing. Variables of a Slurm allocation alone do not count, because each shell
 * in the allocation has them. */
#pragma once

#include "core/base/err.h"

typedef enum {
    DG_LAUNCH_ALONE,
    DG_LAUNCH_TORCHRUN, /* RANK and WORLD_SIZE */
    DG_LAUNCH_OPEN_MPI, /* OMPI_COMM_WORLD_SIZE */
    DG_LAUNCH_PMIX,     /* PMIX_RANK: srun --mpi=pmix */
    DG_LAUNCH_PMI       /* PMI_SIZE: MPICH's mpirun, srun --mpi=pmi2 */
} dg_launcher;

typedef struct {
    dg_launcher by;
    const char *program; /* "mpirun", "srun" or "torchrun", for messages */
    int rank;            /* -1: unknown */
    int size;            /* number of processes; 0: unknown */
    /* torchrun: rank on this machine, and the address at which rank 0 listens for NCCL, "host:port" */
    int local_rank;
    char address[300];
} dg_launched;

/* Reads the environment. A group of one process is DG_LAUNCH_ALONE. Returns DG_USAGE, with a message that names the
 * variable, if a variable is missing or invalid. */
dg_err dg_launch_read(dg_launched *out);

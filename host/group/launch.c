#include "host/group/launch.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

/* Value of a variable, or NULL if it is not set or empty. */
static const char *value_of(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

/* Reads a number from `min` to `max`. Leaves *out unchanged if the variable is not set. */
static dg_err number(const char *name, long min, long max, int *out)
{
    const char *value = value_of(name);
    if (!value) return DG_OK;
    char *end;
    errno = 0;
    const long n = strtol(value, &end, 10);
    if (errno || *end || n < min || n > max)
        return dg_fail(DG_USAGE, "%s=%s: must be a number from %ld to %ld; the launcher sets it", name, value, min,
                       max);
    *out = (int)n;
    return DG_OK;
}

/* Reads size and rank of a launcher. `rank` or `size` may be NULL. */
static dg_err read_place(dg_launched *l, const char *rank, const char *size)
{
    dg_err e = size ? number(size, 1, INT_MAX, &l->size) : DG_OK;
    return e || !rank ? e : number(rank, 0, l->size ? l->size - 1 : INT_MAX, &l->rank);
}

/* Reads what processes need to find each other without MPI. torchrun itself listens on MASTER_PORT. */
static dg_err read_address(dg_launched *l)
{
    static const char *const names[] = {"LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!value_of(names[i]))
            return dg_fail(DG_USAGE,
                           DG_MSG("torchrun-variable", "RANK=%d and WORLD_SIZE=%d, but no %s, which torchrun "
                                                       "sets; {alone} trains in one process"),
                           l->rank, l->size, names[i]);
    int port = 0;
    dg_err e = number("LOCAL_RANK", 0, INT_MAX, &l->local_rank);
    if (!e) e = number("MASTER_PORT", 1, 65534, &port);
    if (!e) snprintf(l->address, sizeof l->address, "%.256s:%d", value_of("MASTER_ADDR"), port + 1);
    return e;
}

dg_err dg_launch_read(dg_launched *out)
{
    static const struct {
        dg_launcher by;
        const char *word, *rank, *size;
    } managers[] = {{DG_LAUNCH_OPEN_MPI, "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                    {DG_LAUNCH_PMIX, "PMIX_RANK", "PMIX_RANK", "SLURM_STEP_NUM_TASKS"},
                    {DG_LAUNCH_PMI, "PMI_SIZE", "PMI_RANK", "PMI_SIZE"}};
    const dg_launched alone = {.by = DG_LAUNCH_ALONE, .program = "", .size = 1};
    *out = (dg_launched){.by = DG_LAUNCH_ALONE, .program = "", .rank = -1};
    dg_err e = DG_OK;
    if (value_of("RANK") && value_of("WORLD_SIZE")) {
        e = read_place(out, "RANK", "WORLD_SIZE");
        if (e || out->size > 1) {
            out->by = DG_LAUNCH_TORCHRUN, out->program = "torchrun";
            return e ? e : read_address(out);
        }
        out->rank = -1, out->size = 0;
    }
    for (size_t i = 0; i < sizeof managers / sizeof *managers; i++) {
        if (!value_of(managers[i].word)) continue;
        e = read_place(out, managers[i].rank, managers[i].size);
        out->by = managers[i].by;
        out->program = out->by != DG_LAUNCH_OPEN_MPI && value_of("SLURM_PROCID") ? "srun" : "mpirun";
        if (!e && out->size == 1) *out = alone;
        return e;
    }
    *out = alone;
    return DG_OK;
}

/* Environments of launchers as a table, and places of ranks on hosts. */
#include "test.h"

#include "host/group/hosts.h"
#include "host/group/launch.h"
#include "host/group/load.h"
#include "host/group/open.h"

enum { MAX_WORDS = 10 };

typedef struct {
    const char *name;
    const char *words[MAX_WORDS]; /* NAME=VALUE */
    dg_launcher by;
    const char *program;
    int rank, size;
    const char *error;
} environment;

static const environment environments[] = {
    {"none", {NULL}, DG_LAUNCH_ALONE, "", 0, 1, NULL},
    {"a shell of a Slurm allocation", {"SLURM_NTASKS=4", "SLURM_JOB_ID=7"}, DG_LAUNCH_ALONE, "", 0, 1, NULL},
    {"one task of srun",
     {"SLURM_NTASKS=4", "SLURM_PROCID=2", "SLURM_STEP_NUM_TASKS=4"},
     DG_LAUNCH_ALONE,
     "",
     0,
     1,
     NULL},
    {"Open MPI",
     {"OMPI_COMM_WORLD_SIZE=4", "OMPI_COMM_WORLD_RANK=3", "PMIX_RANK=3", "OMPI_COMM_WORLD_LOCAL_RANK=1"},
     DG_LAUNCH_OPEN_MPI,
     "mpirun",
     3,
     4,
     NULL},
    {"Open MPI within Slurm",
     {"OMPI_COMM_WORLD_SIZE=4", "OMPI_COMM_WORLD_RANK=3", "SLURM_PROCID=0"},
     DG_LAUNCH_OPEN_MPI,
     "mpirun",
     3,
     4,
     NULL},
    {"mpirun -n 1", {"OMPI_COMM_WORLD_SIZE=1", "OMPI_COMM_WORLD_RANK=0"}, DG_LAUNCH_ALONE, "", 0, 1, NULL},
    {"MPICH", {"PMI_SIZE=2", "PMI_RANK=1", "MPI_LOCALRANKID=1"}, DG_LAUNCH_PMI, "mpirun", 1, 2, NULL},
    {"MPICH -n 1", {"PMI_SIZE=1", "PMI_RANK=0"}, DG_LAUNCH_ALONE, "", 0, 1, NULL},
    {"srun --mpi=pmix",
     {"PMIX_RANK=5", "SLURM_PROCID=5", "SLURM_STEP_NUM_TASKS=16", "SLURM_NTASKS=64"},
     DG_LAUNCH_PMIX,
     "srun",
     5,
     16,
     NULL},
    {"PMIx without a size", {"PMIX_RANK=5"}, DG_LAUNCH_PMIX, "mpirun", 5, 0, NULL},
    {"srun --mpi=pmi2", {"PMI_SIZE=16", "PMI_RANK=0", "SLURM_PROCID=0"}, DG_LAUNCH_PMI, "srun", 0, 16, NULL},
    {"torchrun",
     {"RANK=3", "WORLD_SIZE=8", "LOCAL_RANK=1", "MASTER_ADDR=node-a", "MASTER_PORT=29500"},
     DG_LAUNCH_TORCHRUN,
     "torchrun",
     3,
     8,
     NULL},
    {"torchrun of one",
     {"RANK=0", "WORLD_SIZE=1", "LOCAL_RANK=0", "MASTER_ADDR=node-a", "MASTER_PORT=29500"},
     DG_LAUNCH_ALONE,
     "",
     0,
     1,
     NULL},
    {"RANK alone", {"RANK=3"}, DG_LAUNCH_ALONE, "", 0, 1, NULL},
    {"WORLD_SIZE alone", {"WORLD_SIZE=3"}, DG_LAUNCH_ALONE, "", 0, 1, NULL},
    {"empty words", {"RANK=", "WORLD_SIZE=", "OMPI_COMM_WORLD_SIZE=", "PMI_SIZE="}, DG_LAUNCH_ALONE, "", 0, 1, NULL},
    {"torchrun before MPI",
     {"RANK=1", "WORLD_SIZE=2", "LOCAL_RANK=1", "MASTER_ADDR=a", "MASTER_PORT=1", "OMPI_COMM_WORLD_SIZE=4"},
     DG_LAUNCH_TORCHRUN,
     "torchrun",
     1,
     2,
     NULL},
    {"torchrun without its other words", {"RANK=3", "WORLD_SIZE=8"}, 0, "", 0, 0, "but no LOCAL_RANK"},
    {"torchrun without a port",
     {"RANK=3", "WORLD_SIZE=8", "LOCAL_RANK=1", "MASTER_ADDR=a"},
     0,
     "",
     0,
     0,
     "but no MASTER_PORT"},
    {"a port of 65535",
     {"RANK=1", "WORLD_SIZE=2", "LOCAL_RANK=1", "MASTER_ADDR=a", "MASTER_PORT=65535"},
     0,
     "",
     0,
     0,
     "MASTER_PORT=65535: must be a number from 1 to 65534"},
    {"a rank of 8", {"RANK=8", "WORLD_SIZE=8"}, 0, "", 0, 0, "RANK=8: must be a number from 0 to 7"},
    {"a size of 0", {"OMPI_COMM_WORLD_SIZE=0"}, 0, "", 0, 0, "OMPI_COMM_WORLD_SIZE=0: must be a number"},
    {"a size of four", {"PMI_SIZE=four", "PMI_RANK=0"}, 0, "", 0, 0, "PMI_SIZE=four: must be a number"},
    {"a rank of -1", {"PMI_SIZE=2", "PMI_RANK=-1"}, 0, "", 0, 0, "PMI_RANK=-1: must be a number from 0 to 1"},
};

static void set_environment(const environment *e)
{
    clearenv();
    for (int i = 0; i < MAX_WORDS && e->words[i]; i++) {
        char name[128];
        const size_t n = strcspn(e->words[i], "=");
        snprintf(name, sizeof name, "%.*s", (int)n, e->words[i]);
        setenv(name, e->words[i] + n + 1, 1);
    }
}

static void test_environments(void)
{
    for (size_t k = 0; k < sizeof environments / sizeof *environments; k++) {
        const environment *e = &environments[k];
        dg_launched l;
        set_environment(e);
        const dg_err code = dg_launch_read(&l);
        if (e->error) {
            DG_CHECKF(code == DG_USAGE && strstr(dg_message(), e->error), "%s: %d %s", e->name, code, dg_message());
            continue;
        }
        DG_CHECKF(!code && l.by == e->by && !strcmp(l.program, e->program), "%s: %d, by %d %s", e->name, code, l.by,
                  l.program);
        DG_CHECKF(l.rank == e->rank && l.size == e->size, "%s: rank %d of %d", e->name, l.rank, l.size);
    }
}

static void test_hosts(void)
{
    static const char host[6][DG_HOST_NAME] = {"a", "b", "a", "c", "b", "a"};
    static const dg_host_place place[6] = {{0, 3, 3}, {0, 2, 3}, {1, 3, 3}, {0, 1, 3}, {1, 2, 3}, {2, 3, 3}};
    for (int r = 0; r < 6; r++) {
        const dg_host_place p = dg_host_place_of(host, 6, r);
        DG_CHECKF(p.local_rank == place[r].local_rank && p.local_size == place[r].local_size &&
                      p.hosts == place[r].hosts,
                  "rank %d: %d of %d, %d hosts", r, p.local_rank, p.local_size, p.hosts);
    }
    DG_CHECK(dg_host_place_of(host, 1, 0).hosts == 1);
}

/* A process without a launcher opens nothing; others name what is missing. */
static void test_open(void)
{
    const dg_group_options o = {0};
    dg_launched l;
    dg_group *g = (dg_group *)&l;
    clearenv();
    setenv("DCGAN_MPI", "/there/is/no/plugin.so", 1);
    DG_WORKS(dg_launch_read(&l));
    DG_WORKS(dg_group_open(&l, &o, &g));
    DG_CHECK(g == NULL);
    setenv("OMPI_COMM_WORLD_SIZE", "4", 1);
    setenv("OMPI_COMM_WORLD_RANK", "3", 1);
    DG_WORKS(dg_launch_read(&l));
    DG_REFUSED(dg_group_open(&l, &o, &g), DG_USAGE, "DCGAN_MPI=/there/is/no/plugin.so: cannot be loaded");
    DG_CHECKF(!strncmp(dg_message(), "rank 3 on ", 10), "%s", dg_message());
    setenv("OMPI_COMM_WORLD_RANK", "0", 1);
    setenv("DCGAN_MPI", "libm.so.6", 1);
    DG_WORKS(dg_launch_read(&l));
    DG_REFUSED(dg_group_open(&l, &o, &g), DG_USAGE, "libm.so.6: not a dcgan plugin for MPI");
    DG_CHECKF(!strncmp(dg_message(), "DCGAN_MPI=", 10), "%s", dg_message());
    clearenv();
    setenv("RANK", "1", 1);
    setenv("WORLD_SIZE", "4", 1);
    setenv("LOCAL_RANK", "1", 1);
    setenv("MASTER_ADDR", "a", 1);
    setenv("MASTER_PORT", "7", 1);
    DG_WORKS(dg_launch_read(&l));
    DG_CHECKF(l.local_rank == 1 && !strcmp(l.address, "a:8"), "%d %s", l.local_rank, l.address);
}

DG_TESTS(test_environments, test_hosts, test_open)

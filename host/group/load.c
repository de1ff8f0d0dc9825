#include "host/group/load.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/build_info.h"

/* Path of a plugin next to the program, in the library directory next to the program's, or in that of the build. */
enum { PLACES = 3 };
static void path_of(char *out, size_t size, int place, const char *kind)
{
    char self[PATH_MAX];
    const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    self[n > 0 ? n : 0] = 0;
    char *const slash = strrchr(self, '/');
    if (slash) *slash = 0;
    if (place == 0) snprintf(out, size, "%s/dcgan-mpi-%s.so", self, kind);
    else if (place == 1) snprintf(out, size, "%s/../lib/dcgan/dcgan-mpi-%s.so", self, kind);
    else snprintf(out, size, "%s/dcgan/dcgan-mpi-%s.so", dg_libdir, kind);
}

/* Loads the plugin `path`. `from` names it in messages. */
static dg_err load(const char *path, const char *from, const dg_mpi_table **out)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) return dg_fail(DG_USAGE, "%s%s: cannot be loaded (%s)", from, path, dlerror());
    const dg_mpi_table *t = dlsym(library, DG_MPI_SYMBOL);
    if (!t)
        return dg_fail(DG_USAGE,
                       "%s%s: not a dcgan plugin for MPI (no %s); use dcgan-mpi-openmpi.so or "
                       "dcgan-mpi-mpich.so of this dcgan",
                       from, path, DG_MPI_SYMBOL);
    if (t->version != DG_MPI_TABLE_VERSION)
        return dg_fail(DG_USAGE, "%s%s: plugin of another dcgan (interface %d, expected %d); install the plugin of %s",
                       from, path, t->version, DG_MPI_TABLE_VERSION, dg_version);
    *out = t;
    return DG_OK;
}

dg_err dg_mpi_load(const dg_launched *l, const dg_mpi_table **out)
{
    static const char *const kinds[] = {"openmpi", "mpich"};
    const char *given = getenv("DCGAN_MPI");
    if (given && *given) return load(given, "DCGAN_MPI=", out);
    const int preferred = l->by == DG_LAUNCH_PMI;
    for (int k = 0; k < 2; k++)
        for (int place = 0; place < PLACES; place++) {
            char path[PATH_MAX + 64];
            path_of(path, sizeof path, place, kinds[k ^ preferred]);
            if (access(path, F_OK) == 0) return load(path, "", out);
        }
    char processes[64] = "several processes";
    if (l->size) snprintf(processes, sizeof processes, "one of %d processes", l->size);
    return dg_fail(DG_USAGE,
                   DG_MSG("no-mpi",
                          "started as %s by %s, but this dcgan has no plugin for MPI: build dcgan where mpicc is, or "
                          "train in one process with {alone}"),
                   processes, l->program);
}

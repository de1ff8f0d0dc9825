/* Finds and loads a plugin for MPI. */
#pragma once

#include "host/group/launch.h"
#include "host/group/mpi/table.h"

/* Loads the plugin DCGAN_MPI=FILE. Without this variable, the plugin for the launcher's kind of MPI, or else the one
 * for the other kind, is searched next to the program and in the library directory. The library stays loaded until the
 * process ends, because some MPIs cannot be unloaded. Returns DG_USAGE if there is no plugin or if it does not fit. */
dg_err dg_mpi_load(const dg_launched *l, const dg_mpi_table **out);

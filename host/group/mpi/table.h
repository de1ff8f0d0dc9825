/* Interface between the program and a plugin for MPI, a shared library that exports the symbol dcgan_mpi of type
 * dg_mpi_table. Programs and plugins of different versions of this interface refuse each other. */
#pragma once

#include "core/group/transport.h"

#define DG_MPI_SYMBOL "dcgan_mpi"
enum { DG_MPI_TABLE_VERSION = 1 };

/* `version` is DG_MPI_TABLE_VERSION, the first member in each version. */
typedef dg_transport dg_mpi_table;

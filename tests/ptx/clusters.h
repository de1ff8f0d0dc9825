/* Adds clusters of thread blocks to the PTX executor (PTX ISA: "Cluster of Cooperative Thread Arrays", barrier.cluster,
 * mapa, ld.shared::cluster). parse.cpp, cudart.cpp and exec.cpp here each include the executor's file with this name;
 * tests/ptx.mk compiles them instead of the executor's files. parse.cpp: a wait at a cluster barrier becomes a loop
 * that lets other blocks run. cudart.cpp: launches set the cluster size; a cluster has all blocks with equal x and y,
 * at most 8. exec.cpp: executes cluster instructions and reports invalid reads: from a block that has not reached the
 * barrier or has ended, of memory not yet written, and of memory written after the barrier. */
#ifndef PTX_CLUSTERS_H
#define PTX_CLUSTERS_H

struct Launch;
unsigned cluster_size(const Launch &launch); /* number of blocks per cluster */

#endif

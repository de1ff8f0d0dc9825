/* Clusters of blocks for the executor of PTX, which has none (PTX ISA: "Cluster of Cooperative Thread Arrays",
 * barrier.cluster, mapa, ld.shared::cluster). Each of the three files here is one of the executor's with what is added
 * behind it; tests/ptx.mk compiles them in their place.
 *
 *   parse.cpp    waiting at a cluster's barrier becomes a loop that lets other blocks run
 *   cudart.cpp   takes the size of clusters from launches: all blocks of equal x and y, at most 8
 *   exec.cpp     the instructions
 *
 * Reported beside what the executor reports: reads of a block that has not come to the barrier or has ended, of what
 * was not written, and of what was written behind the barrier. */
#ifndef PTX_CLUSTERS_H
#define PTX_CLUSTERS_H

struct Launch;
unsigned cluster_size(const Launch &launch); /* blocks of a cluster */

#endif

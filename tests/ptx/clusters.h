/* Clusters of blocks for the executor of PTX, which has none (PTX ISA: "Cluster of Cooperative Thread Arrays",
 * barrier.cluster, mapa, ld.shared::cluster). Each of the three files here includes a file of the executor and
 * adds to it; tests/ptx.mk compiles these files instead.
 *
 * In parse.cpp, waiting at a cluster's barrier becomes a loop that lets other blocks run.
 * In cudart.cpp, launches set the cluster size: a cluster has all blocks of equal x and y, at most 8.
 * In exec.cpp, the instructions of clusters are executed.
 *
 * Reported in addition to the executor's reports: reads of a block that has not reached the barrier or has ended, of
 * memory that was not written, and of memory that was written after the barrier. */
#ifndef PTX_CLUSTERS_H
#define PTX_CLUSTERS_H

struct Launch;
unsigned cluster_size(const Launch &launch); /* blocks of a cluster */

#endif

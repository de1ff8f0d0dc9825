/* Adds clusters of thread blocks to the PTX executor (PTX ISA: "Cluster of Cooperative Thread Arrays",
 * barrier.cluster, mapa, ld.shared::cluster). Each .cpp file here includes the executor's file of the same name, and
 * tests/ptx.mk compiles it instead of that file. In parse.cpp, a wait at a cluster barrier becomes a loop that lets
 * other blocks run. In cudart.cpp, launches set the cluster size: a cluster has all blocks with equal x and y, at most
 * 8. In exec.cpp, cluster instructions are executed and invalid reads are reported. A read of block B's memory is
 * invalid if B has not reached the barrier or has ended, or if the bytes are unwritten or were written later. */
#pragma once

struct Launch;
unsigned cluster_size(const Launch &launch); /* number of blocks per cluster */

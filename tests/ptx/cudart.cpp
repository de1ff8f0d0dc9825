#define cudaLaunchKernelExC launch_without_clusters
#include <cudart.cpp>
#undef cudaLaunchKernelExC
#include "clusters.h"

#include <array>

/* Cluster sizes by kernel and grid, because a replayed graph launch stores only the kernel and the grid. */
static std::map<std::pair<const Kernel *, std::array<u32, 3>>, u32> sizes;

unsigned cluster_size(const Launch &l)
{
    const auto found = sizes.find({l.k, {l.grid[0], l.grid[1], l.grid[2]}});
    return found == sizes.end() ? 1 : found->second;
}

extern "C" cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *c, const void *f, void **a)
{
    LOCK;
    u32 size = 1;
    for (unsigned i = 0; i < c->numAttrs; i++) {
        if (c->attrs[i].id != cudaLaunchAttributeClusterDimension) continue;
        const auto &d = c->attrs[i].val.clusterDim;
        size = d.z;
        if (d.x == 1 && d.y == 1 && size == c->gridDim.z && size >= 1 && size <= 8) continue;
        fprintf(stderr, "ptxrun: refused: clusters of %u,%u,%u in a grid of %u,%u,%u\n", d.x, d.y, d.z, c->gridDim.x,
                c->gridDim.y, c->gridDim.z);
        return fail(cudaErrorInvalidValue);
    }
    const Kernel *const k = kernel_of(f);
    if (k && sizes.emplace(std::make_pair(k, std::array<u32, 3>{c->gridDim.x, c->gridDim.y, c->gridDim.z}), size)
                     .first->second != size) {
        fprintf(stderr, "ptxrun: ERROR not known here: %s with and without clusters in one grid\n", k->name.c_str());
        G.errors++;
        return fail(cudaErrorInvalidValue);
    }
    return launch_without_clusters(c, f, a);
}

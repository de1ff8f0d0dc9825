/* Rounds the weights of a network where no fused update has done it.
 *
 * Tile: a thread 4 weights. Shared memory: none. Registers: 20. Bound by: memory, 6 or 8 bytes a weight. */
#include "kernels/fused/rounded.cuh"

static __global__ void round_kernel(const dg_rounded r)
{
    const int64_t at = dg_thread() * 4;
    if (at < r.n) dg_round_four(r, at, dg_load<4>(r.from + at));
}

void dg_round_weights(const dg_rounded *r, cudaStream_t stream)
{
    enum { NT = 256 };
    if (r->to) KLAUNCH(round_kernel, dg_grid(r->n / 4, NT), dim3(NT), 0, stream, *r);
}

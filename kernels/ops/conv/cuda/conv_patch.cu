/* Data gradient of the 4x4 convolution, stride 2, pad 1, without tensor cores (conv_patch.cuh).
 * Tile: 32 or 64 positions x 32 or 64 channels x 4 phases, 4 channels of y per stage, 2 to 4 stages.
 * Shared memory: 9 to 19 KB per stage.
 * Registers: 154 to 174.
 * Bound by: fp32 multiply-adds */
#include "kernels/ops/conv/cuda/conv_patch.cuh"

template <class G>
static __global__ void __launch_bounds__(G::NT) patch_kernel(const dg_conv_args a, float *out, int split, int stages)
{
    DEV_CHECK(blockDim.x == G::NT);
    DYN_SHARED(float, shared);
    const dg_patch_coord<G> at(a, (int)blockIdx.x);
    const int part = (int)blockIdx.z, ci0 = (int)blockIdx.y * G::BN;
    float acc[2][2][4][G::T] = {};
    dg_patch_sums<G>(acc, a, shared, at, ci0, part, split, stages, [](const dg_patch_loader<G> &, float *, int) {});

    const int ci = ci0 + at.lane * G::T;
    if (at.image0 + at.image >= a.N || ci >= a.Ci) return;
    out += (int64_t)part * a.N * a.H * a.W * a.Ci;
#pragma unroll
    for (int py = 0; py < 2; py++) {
        const int iy = 2 * (at.a0 + at.row) + py;
        if (iy >= a.H) continue;
#pragma unroll
        for (int p = 0; p < 4; p++)
#pragma unroll
            for (int px = 0; px < 2; px++) {
                const int ix = 2 * (at.b0 + at.col + p) + px;
                if (ix >= a.W) continue;
                float *x = out + (((at.image0 + at.image) * a.H + iy) * a.W + ix) * a.Ci + ci;
                dg_pack<float, 4> v;
#pragma unroll
                for (int t = 0; t < G::T; t++) v.v[t] = acc[py][px][p][t];
                dg_store<4>(x, v);
            }
    }
}

template <class G> static void launch(const dg_conv_args *a, const dg_tune *tune, float *out, cudaStream_t stream)
{
    const int A = (a->H + 1) / 2, B = (a->W + 1) / 2;
    const int tiles = dg_div_up(A, G::ROWS) * dg_div_up(B, G::COLS) * dg_div_up(a->N, G::IMAGES);
    const dim3 grid((unsigned)tiles, (unsigned)dg_div_up(a->Ci, G::BN), (unsigned)tune->split);
    KLAUNCH(patch_kernel<G>, grid, dim3(G::NT), tune->stages * G::stage_bytes, stream, *a, out, tune->split,
            tune->stages);
}

/* In small maps a tile has several images. */
template <int POSITIONS, int BN>
static void launch_tile(const dg_conv_args *a, const dg_tune *tune, float *out, cudaStream_t stream)
{
    if (a->W <= DG_PATCH_SMALL) launch<dg_patch_tile<4, 4, POSITIONS / 16, BN, 4, false>>(a, tune, out, stream);
    else launch<dg_patch_tile<POSITIONS / 8, 8, 1, BN, 4, false>>(a, tune, out, stream);
}

void dg_conv_patch(dg_op_kind, const dg_conv_args *a, const dg_tune *tune, cudaStream_t stream)
{
    float *const out = dg_conv_out(DG_OP_conv_dx, a, tune);
#define X(POSITIONS, BN) \
    if (tune->tile_m == POSITIONS && tune->tile_n == BN) launch_tile<POSITIONS, BN>(a, tune, out, stream);
    DG_PATCH_TILES(X)
#undef X
    dg_conv_finish(DG_OP_conv_dx, a, tune, stream);
}

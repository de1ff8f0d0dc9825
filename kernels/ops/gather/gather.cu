/* Pictures in and out: rows of the data set to a batch, a batch to bytes. And the step counter.
 *
 * Tile: a thread n values. Shared memory: none. Registers: 12 to 32. Bound by: memory. Template parameters: real, type
 * of the values; n, values a thread (1, or 16 bytes of them). */
#include "kernels/ops/gather/gather.cuh"

/* One thread n values of one image: a whole word of bytes in, where the image is not mirrored. */
template <class real, int n> static __global__ void gather_kernel(const dg_gather_args a)
{
    const int width = a.W * a.C, count = a.H * width;
    const int i = (int)(blockIdx.y * blockDim.x + threadIdx.x) * n, image = (int)blockIdx.x; /* a grid is 65535 high */
    if (i >= count) return;
    const uint8_t *in = dg_gather_row(a, image);
    const bool mirrored = dg_gather_mirrored(a, image);
    dg_pack<uint8_t, n> byte;
    if (mirrored) {
        for (int k = 0; k < n; k++) {
            const int row = (i + k) / width, at = (i + k) % width;
            byte.v[k] = in[row * width + (a.W - 1 - at / a.C) * a.C + at % a.C];
        }
    } else {
        byte = dg_load<n>(in + i);
    }
    dg_pack<real, n> x;
    for (int k = 0; k < n; k++) x.v[k] = dg_gather_value<real>(byte.v[k]);
    dg_store<n>((real *)a.x + (int64_t)image * count + i, x);
}

template <class real, int n>
static void launch_gather(const dg_gather_args *a, const dg_tune *tune, cudaStream_t stream)
{
    const int threads = a->H * a->W * a->C / n;
    KLAUNCH((gather_kernel<real, n>), dim3(a->N, dg_div_up(threads, tune->block)), dim3(tune->block), 0, stream, *a);
}

template <class real> void dg_cuda_gather(const dg_gather_args *a, const dg_tune *tune, cudaStream_t stream)
{
    dg_is_vector(tune) ? launch_gather<real, dg_wide<real>>(a, tune, stream) : launch_gather<real, 1>(a, tune, stream);
}
DG_INSTANTIATE(gather, gather)

template <class real, int n> static __global__ void to_u8_kernel(uint8_t *out, const real *x, int64_t count)
{
    const int64_t i = dg_thread() * n;
    if (i >= count) return;
    const dg_pack<real, n> in = dg_load<n>(x + i);
    dg_pack<uint8_t, n> byte;
    for (int k = 0; k < n; k++) {
        double v = ((double)in.v[k] + 1) * 127.5 + 0.5;
        v = v > 0 ? v : 0; /* NaN too */
        byte.v[k] = (uint8_t)(int)(v < 255 ? v : 255);
    }
    dg_store<n>(out + i, byte);
}

template <class real, int n> static void launch_to_u8(const dg_to_u8_args *a, const dg_tune *tune, cudaStream_t stream)
{
    KLAUNCH((to_u8_kernel<real, n>), dg_grid(a->n / n, tune->block), dim3(tune->block), 0, stream, a->out,
            (const real *)a->x, a->n);
}

template <class real> void dg_cuda_to_u8(const dg_to_u8_args *a, const dg_tune *tune, cudaStream_t stream)
{
    dg_is_vector(tune) ? launch_to_u8<real, dg_wide<real>>(a, tune, stream) : launch_to_u8<real, 1>(a, tune, stream);
}
DG_INSTANTIATE(to_u8, to_u8)

static __global__ void advance_kernel(dg_step_state *state, int batch)
{
    state->step += 1;
    state->cursor += batch;
}

template <class real> void dg_cuda_advance(const dg_advance_args *a, const dg_tune *tune, cudaStream_t stream)
{
    (void)tune;
    KLAUNCH(advance_kernel, dim3(1), dim3(1), 0, stream, a->state, a->batch);
}
DG_INSTANTIATE(advance, advance)

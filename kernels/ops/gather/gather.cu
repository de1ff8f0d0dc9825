/* Ops gather (dataset records to a batch), to_u8 (a batch to bytes) and advance (the step counter).
 * Thread tile: 1 value (variant direct) or 4 values (variant vector). Shared memory: none.
 * Bound by: memory */
#include "kernels/ops/gather/gather.cuh"

/* Scales the pixels of a record by channel. Values of prepared images are copied. */
template <class real> struct gather_scale {
    real dev[DG_CHANNELS_MAX], shift[DG_CHANNELS_MAX];
    __device__ __forceinline__ real of(uint8_t pixel, int c) const { return dg_gather_value(pixel, dev[c], shift[c]); }
    __device__ __forceinline__ real of(real value, int) const { return value; }
};

/* Loads the n values at the address `from` byte by byte, because a record can have any alignment. */
template <int n, class cell> static __device__ __forceinline__ dg_pack<cell, n> gather_bytes(const uint8_t *from)
{
    dg_pack<cell, n> v;
    uint8_t byte[sizeof v];
    for (int k = 0; k < (int)sizeof v; k++) byte[k] = from[k];
    memcpy(&v, byte, sizeof v);
    return v;
}

/* Converts n values of one image per thread. `cell`: type of the input, real if images are prepared. */
template <class cell, int n, class real>
static __device__ __forceinline__ void gather_values(const dg_gather_args &a, const gather_scale<real> &scale,
                                                     bool aligned)
{
    const int width = a.W * a.C, count = a.H * width;
    const int i = (int)(blockIdx.y * blockDim.x + threadIdx.x) * n, image = (int)blockIdx.x;
    if (i >= count) return;
    const uint8_t *in = dg_gather_row(a, image);
    const bool mirrored = dg_gather_mirrored(a, image);
    dg_pack<cell, n> v;
    if (mirrored) {
        for (int k = 0; k < n; k++) {
            const int row = (i + k) / width, at = (i + k) % width;
            const int64_t from = row * width + (a.W - 1 - at / a.C) * a.C + at % a.C;
            v.v[k] = gather_bytes<1, cell>(in + from * (int)sizeof(cell)).v[0];
        }
    } else if (aligned) {
        v = dg_load<n>((const cell *)in + i);
    } else {
        v = gather_bytes<n, cell>(in + (int64_t)i * (int)sizeof(cell));
    }
    dg_pack<real, n> x;
    for (int k = 0; k < n; k++) x.v[k] = scale.of(v.v[k], (i + k) % a.C);
    dg_store<n>((real *)a.x + (int64_t)image * count + i, x);
    if (a.label && !i) a.label[image] = gather_bytes<1, int32_t>(in + (int64_t)count * (int)sizeof(cell)).v[0];
}

template <class real>
static __global__ void gather_kernel(const dg_gather_args a, GRID_CONSTANT const gather_scale<real> scale, bool aligned,
                                     int width)
{
    dg_packed<real>(width, [&](auto n) {
        if (a.prepared) gather_values<real, n>(a, scale, aligned);
        else gather_values<uint8_t, n>(a, scale, aligned);
    });
}

template <class real> void dg_cuda_gather(const dg_gather_args *a, const dg_tune *tune, cudaStream_t stream)
{
    const int width = dg_width<real>(tune), threads = a->H * a->W * a->C / width;
    gather_scale<real> scale;
    for (int c = 0; c < DG_CHANNELS_MAX; c++) scale.dev[c] = (real)a->dev[c], scale.shift[c] = (real)a->shift[c];
    const bool aligned = a->record % (width * (int64_t)(a->prepared ? sizeof(real) : 1)) == 0;
    KLAUNCH(gather_kernel<real>, dim3(a->N, dg_div_up(threads, tune->block)), dim3(tune->block), 0, stream, *a, scale,
            aligned, width);
}
DG_INSTANTIATE(gather, gather)

template <class real> static __global__ void to_u8_kernel(uint8_t *out, const real *x, int64_t count, int width)
{
    dg_packed<real>(width, [&](auto n) {
        const int64_t i = dg_thread() * n;
        if (i >= count) return;
        const dg_pack<real, n> in = dg_load<n>(x + i);
        dg_pack<uint8_t, n> byte;
        for (int k = 0; k < n; k++) {
            double v = ((double)in.v[k] + 1) * 127.5 + 0.5;
            v = v > 0 ? v : 0;
            byte.v[k] = (uint8_t)(int)(v < 255 ? v : 255);
        }
        dg_store<n>(out + i, byte);
    });
}

template <class real> void dg_cuda_to_u8(const dg_to_u8_args *a, const dg_tune *tune, cudaStream_t stream)
{
    const int width = dg_width<real>(tune);
    KLAUNCH(to_u8_kernel<real>, dg_grid(a->n / width, tune->block), dim3(tune->block), 0, stream, a->out,
            (const real *)a->x, a->n, width);
}
DG_INSTANTIATE(to_u8, to_u8)

static __global__ void advance_kernel(dg_step_state *state, int batch)
{
    state->step += 1;
    state->cursor += batch;
}

template <class real> void dg_cuda_advance(const dg_advance_args *a, const dg_tune *, cudaStream_t stream)
{
    KLAUNCH(advance_kernel, dim3(1), dim3(1), 0, stream, a->state, a->batch);
}
DG_INSTANTIATE(advance, advance)

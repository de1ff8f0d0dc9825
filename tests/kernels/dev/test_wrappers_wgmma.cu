/* Tests clusters and wgmma, which only sm_90 has. In a cluster (kernels/dev/cluster.cuh) each block reads the shared
 * memory of the other blocks and then overwrites its own. For wgmma (kernels/dev/dev_wgmma.cuh), A is 64 x (16 STEPS)
 * and B is (16 STEPS) x (8 J). A and B have the documented layout, with odd strides and offsets. Each of two warpgroups
 * computes the product with half of B's columns. */
#define DEV_HALF
#define DEV_WGMMA
#include "fragments.h"

static const int STEPS = 3;
template <int J, bool TRANS_B, bool LOADED>
static __global__ void wgmma_kernel(float *c, const float *a, const float *b)
{
    if constexpr (!DEV_HAS_WGMMA) {
        __trap();
    } else {
        DEV_CHECK(blockDim.x == 256);
        enum { A_K = 77, A_MN = 9, B_K = TRANS_B ? 8 : 16 * J + 4, B_MN = TRANS_B ? 16 * STEPS + 4 : 8, N = 16 * J };
        SHARED(uint4, sa, [2 * STEPS * A_K + 1]);
        SHARED(uint4, sb, [TRANS_B ? 2 * J * B_MN + 3 : 2 * STEPS * B_K + 3]);
        const int group = (int)threadIdx.x / 128, warp = (int)threadIdx.x / 32 % 4, lane = (int)threadIdx.x % 32;
        uint16_t *const ha = (uint16_t *)(sa + 1), *const hb = (uint16_t *)(sb + 3);
        for (int i = (int)threadIdx.x; i < 64 * 16 * STEPS; i += 256) {
            const int row = i / (16 * STEPS), k = i % (16 * STEPS);
            ha[(k / 8 * A_K + row / 8 * A_MN + row % 8) * 8 + k % 8] = bits16(BF16, a[i]);
        }
        for (int i = (int)threadIdx.x; i < N * 16 * STEPS; i += 256) {
            const int k = i / N, n = i % N, unit = k / 8 * B_K + n / 8 * B_MN;
            hb[TRANS_B ? (unit + k % 8) * 8 + n % 8 : (unit + n % 8) * 8 + k % 8] = bits16(BF16, b[i]);
        }
        wgmma_publish();
        __syncthreads();
        float d[J][4];
        auto each = [&](auto f) {
            for (int j = 0; j < J; j++)
                for (int e = 0; e < 4; e++)
                    f(d[j][e],
                      (warp * 16 + element_c(lane, e).row) * N + group * 8 * J + 8 * j + element_c(lane, e).col);
        };
        each([&](float &v, int at) { v = c[at]; });
        const dev_matrix ma = dev_matrix::of(sa + 1, A_K, A_MN),
                         mb = dev_matrix::of(sb + 3 + group * J * B_MN, B_K, B_MN);
        uint32_t fa[STEPS][4];
        for (int k = 0; k < STEPS && LOADED; k++)
            ldsm_x4(fa[k], sa + 1 + (2 * k + lane / 16) * A_K + (warp * 2 + lane / 8 % 2) * A_MN + lane % 8);
        wgmma_begin(d);
        for (int k = 0; k < STEPS; k++) {
            if constexpr (LOADED) wgmma_bf16<TRANS_B>(d, fa[k], mb.at(2 * k * B_K));
            else wgmma_bf16<TRANS_B>(d, ma.at(2 * k * A_K), mb.at(2 * k * B_K));
        }
        wgmma_commit();
        wgmma_wait(d);
        each([&](float &v, int at) { c[at] = v; });
    }
}

template <int J, bool TRANS_B, bool LOADED> static void test_wgmma(const char *name)
{
    const int N = 16 * J, K = 16 * STEPS;
    std::vector<float> a(64 * K), b(K * N), c(64 * N), want(64 * N); /* small integers / 8 are exact */
    unsigned long long seed = 50 + J;
    for (std::vector<float> *v : {&a, &b, &c})
        for (float &f : *v) f = (float)(int)(dg_test_random(&seed) * 16) / 8;
    for (int i = 0; i < 64; i++)
        for (int j = 0; j < N; j++) {
            want[i * N + j] = c[i * N + j];
            for (int k = 0; k < K; k++) want[i * N + j] += a[i * K + k] * b[k * N + j];
        }
    dev_buffer<float> da(a), db(b), dc(c);
    KLAUNCH((wgmma_kernel<J, TRANS_B, LOADED>), 1, 256, 0, 0, dc.p, da.p, db.p);
    if (!dev_ok(name)) return;
    std::vector<float> got = dc.get();
    for (int i = 0; i < 64 * N; i++)
        DG_CHECKF(got[i] == want[i], "%s: d(%d,%d) = %g, not %g", name, i / N, i % N, got[i], want[i]);
}

/* Each block multiplies the sum over its cluster by rank + 1. Then it copies the next block's product to y. */
static __global__ void cluster_kernel(float *y)
{
    enum { T = 96 };
    SHARED(float, first, [4 * T]);
    DYN_SHARED(float, second);
    const int i = (int)threadIdx.x, rank = (int)blockIdx.z, size = (int)gridDim.z;
    const int block = ((int)blockIdx.y * (int)gridDim.x + (int)blockIdx.x) * size + rank;
    grid_dependency_wait();
    for (int e = 0; e < 4; e++) first[4 * i + e] = (float)(block * 1000 + 4 * i + e);
    cluster_sync();
    float4 sum = {};
    for (int k = 0; k < size; k++) {
        const float4 v = cluster_memory(first + 4 * i, k).load(i < T / 2 ? 4 * T / 2 : 0);
        sum = {sum.x + v.x, sum.y + v.y, sum.z + v.z, sum.w + v.w};
    }
    const float by = (float)(rank + 1), result[4] = {sum.x * by, sum.y * by, sum.z * by, sum.w * by};
    for (int e = 0; e < 4; e++) second[4 * i + e] = result[e];
    cluster_sync();
    const float4 v = cluster_memory(second, (rank + 1) % size).load(4 * i);
    const float last[4] = {v.x, v.y, v.z, v.w};
    for (int e = 0; e < 4; e++) y[(block * T + i) * 4 + e] = last[e];
    cluster_sync();
}

static void test_clusters(int size)
{
    const int T = 96, gx = 3, gy = 2, blocks = gx * gy * size;
    dev_buffer<float> y(blocks * T * 4);
    KLAUNCH_CLUSTER(cluster_kernel, dim3(gx, gy, (unsigned)size), T, 4 * T * sizeof(float), 0, y.p);
    if (!dev_ok("clusters")) return;
    const std::vector<float> got = y.get();
    for (int i = 0; i < blocks * T * 4; i++) {
        const int block = i / (4 * T), thread = i / 4 % T, rank = block % size, first = block - rank;
        float want = 0;
        for (int k = 0; k < size; k++)
            want += (float)((first + k) * 1000 + i % (4 * T) + (thread < T / 2 ? 4 * T / 2 : 0));
        want *= (float)((rank + 1) % size + 1);
        DG_CHECKF(got[i] == want, "clusters of %d: y[%d] = %g, not %g", size, i, got[i], want);
    }
}

static void test_all()
{
    cudaDeviceProp p;
    if (cudaGetDeviceProperties(&p, 0) != cudaSuccess || p.major != 9 || p.minor != 0) {
        dg_test_skip("only sm_90 has wgmma");
        return;
    }
    for (int size : {1, 2, 3, 8}) test_clusters(size);
    test_wgmma<4, false, false>("wgmma of 32");
    test_wgmma<8, true, false>("wgmma of 64, N-major");
    test_wgmma<16, false, false>("wgmma of 128");
    test_wgmma<4, true, true>("wgmma of 32, N-major, A in registers");
    test_wgmma<8, false, true>("wgmma of 64, A in registers");
    test_wgmma<16, true, true>("wgmma of 128, N-major, A in registers");
}

DG_TESTS(test_all)

/* The simulator's versions of kernels/dev/dev_wgmma.cuh. Accumulators are NaN from wgmma_begin to wgmma_wait, so that
 * results show premature reads. wgmma reads its operands at once or, with SIM=lazy, at wgmma_wait. */
#pragma once

#define DEV_HAS_WGMMA true

struct dev_matrix {
    const uint4 *start;
    int next_k, next_mn;

    static dev_matrix of(const uint4 *start, int next_k, int next_mn) { return {start, next_k, next_mn}; }
    dev_matrix at(int units) const { return {start + units, next_k, next_mn}; }
};

static inline sim::wgmma_matrix sim_matrix(const dev_matrix &m, bool transposed)
{
    return {(const unsigned char *)m.start, m.next_k * 16, m.next_mn * 16, transposed, {}};
}
static inline void wgmma_publish() { sim::wgmma_publish(); }
template <int J> static inline void wgmma_begin(float (&d)[J][4], sim::site at = sim::here())
{
    sim::wgmma(sim::WGMMA_BEGIN, {&d[0][0], 8 * J, {}, {}}, at);
}
template <int I, int J> static inline void wgmma_begin(float (&d)[I][J][4], sim::site at = sim::here())
{
    sim::wgmma(sim::WGMMA_BEGIN, {&d[0][0][0], 8 * I * J, {}, {}}, at);
}
static inline void wgmma_commit(sim::site at = sim::here()) { sim::wgmma(sim::WGMMA_COMMIT, {}, at); }
template <int J> static inline void wgmma_wait(float (&d)[J][4], sim::site at = sim::here())
{
    sim::wgmma(sim::WGMMA_WAIT, {&d[0][0], 8 * J, {}, {}}, at);
}
template <int I, int J> static inline void wgmma_wait(float (&d)[I][J][4], sim::site at = sim::here())
{
    sim::wgmma(sim::WGMMA_WAIT, {&d[0][0][0], 8 * I * J, {}, {}}, at);
}
template <bool TRANS_B, int J>
static inline void wgmma_bf16(float (&d)[J][4], dev_matrix a, dev_matrix b, sim::site at = sim::here())
{
    static_assert(J == 4 || J == 8 || J == 16, "32, 64 or 128 columns");
    sim::wgmma(sim::WGMMA, {&d[0][0], 8 * J, sim_matrix(a, false), sim_matrix(b, TRANS_B)}, at);
}
template <bool TRANS_B, int J>
static inline void wgmma_bf16(float (&d)[J][4], const uint32_t (&a)[4], dev_matrix b, sim::site at = sim::here())
{
    static_assert(J == 4 || J == 8 || J == 16, "32, 64 or 128 columns");
    sim::wgmma(sim::WGMMA, {&d[0][0], 8 * J, {nullptr, 0, 0, false, {a[0], a[1], a[2], a[3]}}, sim_matrix(b, TRANS_B)},
               at);
}

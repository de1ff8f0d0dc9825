/* The warp collectives. Every lane passes its operands, and the last lane to arrive computes the results of all lanes.
 * The PTX ISA defines the layouts in "Matrix fragments for mma.m16n8k8", "m16n8k16" and "ldmatrix"; g = lane / 4 and
 * t = lane % 4. */
#include "inside.h"

namespace sim {

const char *collective_name(collective_kind kind)
{
    static const char *const name[] = {"__syncwarp", "a shuffle",   "a vote", "ldmatrix",     "mma_bf16",  "mma_f16",
                                       "mma_fp16",   "wgmma_begin", "wgmma",  "wgmma_commit", "wgmma_wait"};
    return name[kind];
}

static std::atomic<unsigned long> reads, conflicts;
ldmatrix_count ldmatrix_counts() { return {reads, conflicts}; }
void forget_ldmatrix() { reads = conflicts = 0; }

static float bf16_half(uint32_t pair, int half) { return sim_bits<float>(half ? pair & 0xffff0000u : pair << 16); }
static float f16_half(uint32_t pair, int half)
{
    __half h;
    h.bits = (uint16_t)(pair >> 16 * half);
    return h;
}
template <int K> struct tile {
    float a[K][16], b[K][8], c[16][8];
};
template <int K> static void multiply(tile<K> &m, cuda_thread *lanes)
{
    for (int l = 0; l < 32; l++) {
        const float *c = ((const mma_in *)lanes[l].in)->c;
        for (int i = 0; i < 4; i++) m.c[l / 4 + i / 2 * 8][l % 4 * 2 + i % 2] = c[i];
    }
    for (int i = 0; i < 16; i++)
        for (int k = 0; k < K; k++)
            for (int j = 0; j < 8; j++) m.c[i][j] += m.a[k][i] * m.b[k][j];
    for (int l = 0; l < 32; l++)
        for (int i = 0; i < 4; i++) ((float *)lanes[l].out)[i] = m.c[l / 4 + i / 2 * 8][l % 4 * 2 + i % 2];
}

template <int K, float (*HALF)(uint32_t pair, int half)> static void mma_m16n8(cuda_thread *lanes)
{
    tile<K> m;
    for (int l = 0; l < 32; l++) {
        const mma_in &in = *(const mma_in *)lanes[l].in;
        int g = l / 4, t = l % 4;
        for (int h = 0; h < 2; h++) {
            for (int i = 0; i < K / 4; i++) m.a[2 * t + h + i / 2 * 8][g + i % 2 * 8] = HALF(in.a[i], h);
            for (int i = 0; i < K / 8; i++) m.b[2 * t + h + i * 8][g] = HALF(in.b[i], h);
        }
    }
    multiply(m, lanes);
}

/* Counts bank conflicts. An ldmatrix reads eight rows together, but rows in equal banks one after another. */
static void count_conflicts(const cuda_thread *row)
{
    unsigned uses[32] = {0}, most = 0;
    for (int r = 0; r < 8; r++)
        for (int word = 0; word < 4; word++) {
            unsigned bank = (unsigned)((uintptr_t)((const ldmatrix_in *)row[r].in)->address / 4 + (unsigned)word) % 32;
            if (++uses[bank] > most) most = uses[bank];
        }
    reads++;
    conflicts += most - 1;
}

static void ldmatrix(cuda_thread *lanes)
{
    const ldmatrix_in *first = (const ldmatrix_in *)lanes[0].in;
    for (int m = 0; m < 4; m++) {
        const cuda_thread *row = lanes + 8 * m;
        count_conflicts(row);
        auto element = [row](int r, int c) -> uint32_t {
            return ((const ldmatrix_in *)row[r].in)->row[c / 2] >> c % 2 * 16 & 0xffff;
        };
        for (int l = 0; l < 32; l++) {
            int g = l / 4, t = l % 4;
            ((uint32_t *)lanes[l].out)[m] = first->transposed ? element(2 * t, g) | element(2 * t + 1, g) << 16
                                                              : element(g, 2 * t) | element(g, 2 * t + 1) << 16;
        }
    }
}

static void compute(collective_kind kind, cuda_thread *lanes, unsigned mask, site at)
{
    unsigned votes = 0;
    switch (kind) {
    case SYNCWARP: break;
    case SHUFFLE: /* a value from an inactive lane is undefined on the device; the simulator returns NaN */
        for (unsigned l = 0; l < 32; l++) {
            if (!(mask >> l & 1)) continue;
            unsigned from = ((const shuffle_in *)lanes[l].in)->from % 32;
            *(uint64_t *)lanes[l].out = mask >> from & 1 ? ((const shuffle_in *)lanes[from].in)->value
                                                         : 0x7fffdead7fffdeadu;
        }
        break;
    case VOTE:
        for (unsigned l = 0; l < 32; l++)
            if (mask >> l & 1 && *(const int *)lanes[l].in) votes |= 1u << l;
        for (unsigned l = 0; l < 32; l++)
            if (mask >> l & 1) *(unsigned *)lanes[l].out = votes;
        break;
    case LDMATRIX:
        ldmatrix(lanes);
        wgmma_loaded(lanes);
        break;
    case MMA_BF16: mma_m16n8<16, bf16_half>(lanes); break;
    case MMA_F16: mma_m16n8<8, f16_half>(lanes); break;
    case MMA_FP16: mma_m16n8<16, f16_half>(lanes); break;
    case WGMMA_BEGIN:
    case WGMMA:
    case WGMMA_COMMIT:
    case WGMMA_WAIT: wgmma_compute(kind, lanes, at); break;
    }
}

void collective(collective_kind kind, unsigned mask, const void *in, void *out, site at)
{
    cuda_thread *t = static_cast<cuda_thread *>(self);
    cuda_block *b = t->home;
    warp &w = b->warps[t->number / 32];
    cuda_thread *lanes = &b->threads[t->number - t->lane];
    unsigned there = (unsigned)b->threads.size() - (t->number - t->lane);
    t->kind = kind;
    const char *name = collective_name(kind);
    if (!(mask >> t->lane & 1)) fail(at, "%s: the calling lane %u is not in mask %08x", name, t->lane, mask);
    if (there < 32 && mask >> there)
        fail(at, "%s: mask %08x names lanes that do not exist, the warp has %u", name, mask, there);
    if (mask & w.exited) fail(at, "%s: mask %08x names lanes that have exited: %08x", name, mask, mask & w.exited);
    warp_group *g = nullptr, *unused = nullptr;
    for (warp_group &x : w.group) {
        if (!x.arrived) unused = unused ? unused : &x;
        else if (x.mask == mask && x.kind == kind && same(x.at, at)) g = &x;
        else if (x.mask >> t->lane & 1 && x.arrived & mask)
            fail(at, "diverged warp: %s with mask %08x, while lanes %08x wait at %s:%d with mask %08x", name, mask,
                 x.arrived, x.at.file, x.at.line, x.mask);
    }
    if (!g) {
        if (!unused) fail(at, "more than %d groups of one warp wait at once", (int)MAX_WARP_GROUPS);
        g = unused;
        g->mask = mask;
        g->kind = kind;
        g->at = at;
    }
    t->in = in;
    t->out = out;
    g->arrived |= 1u << t->lane;
    char *order = &g->order[g->turn & 1];
    if (kind == SYNCWARP) release(order); /* only __syncwarp orders memory */
    if (g->arrived != mask) {
        wait_as(IN_WARP, at);
    } else {
        g->arrived = 0;
        g->turn++;
        compute(kind, lanes, mask, at);
        make_lanes_ready(lanes, mask);
        wait_as(READY, at);
    }
    if (kind == SYNCWARP) acquire(order);
}

} // namespace sim

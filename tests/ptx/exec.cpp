#define select_handler select_without_clusters
#include <exec.cpp>
#undef select_handler
bool select_handler(Ins &I, const Item &it, const std::vector<int> &width, std::string &why);
#include "clusters.h"

namespace {
struct Member {
    Block *block = nullptr;
    std::vector<char> published; /* copy of the block's shared memory from its last cluster barrier */
};
struct Cluster {
    std::vector<Member> member;
    u32 arrived = 0, phase = 0;
};
std::map<u32, Cluster> clusters;         /* clusters of the current launch, by y * width + x */
std::map<const Warp *, u32> phase_begun; /* barrier phase of each warp between barrier.cluster.arrive and .wait */
u32 of_launch = 0;

Cluster &cluster_of(const Block &b)
{
    if (of_launch != G.launch) {
        of_launch = G.launch;
        clusters.clear();
        phase_begun.clear();
    }
    Cluster &c = clusters[b.cta[1] * b.L->grid[0] + b.cta[0]];
    if (c.member.empty()) c.member.resize(cluster_size(*b.L));
    return c;
}

void h_arrive(Warp &w, const Ins &I, u32 m)
{
    Cluster &c = cluster_of(*w.b);
    const u32 *const threads = w.b->L->block, size = (u32)c.member.size();
    if (m != w.live) report("divergent barrier.cluster", w, I, 0, hex(m));
    if (w.b->cta[2] < size) c.member[w.b->cta[2]].block = w.b;
    if (!phase_begun.emplace(&w, c.phase).second) report("barrier.cluster.arrive without a wait", w, I, 0, "");
    c.arrived += (u32)__builtin_popcount(m);
    if (c.arrived < size * threads[0] * threads[1] * threads[2]) return;
    c.arrived = 0;
    c.phase++;
    if (G.race)
        for (Member &x : c.member)
            if (x.block) x.published = x.block->sh;
}

/* Only the last iteration of the loop that waits at a cluster barrier counts as an instruction of the kernel. */
void h_passed(Warp &w, const Ins &I, u32 m)
{
    const auto begun = phase_begun.find(&w);
    if (begun == phase_begun.end()) report("barrier.cluster.wait without an arrive", w, I, 0, "");
    const bool passed = begun == phase_begun.end() || cluster_of(*w.b).phase > begun->second;
    w.P[I.o[0]] = (w.P[I.o[0]] & ~m) | (passed ? m : 0);
    if (passed) {
        if (begun != phase_begun.end()) phase_begun.erase(begun);
        w.epoch++;
        return;
    }
    Kernel &k = *w.b->L->k;
    for (int i = 0; i < 4; i++) k.cnt[(size_t)(I.pc + i)]--;
    w.ins -= 4;
}

enum { RANK_AT = 24 };

void h_mapa(Warp &w, const Ins &I, u32 m)
{
    u32 *d = REG(u32, 0);
    const u32 *a = REG(u32, 1), *rank = REG(u32, 2), size = (u32)cluster_of(*w.b).member.size();
    LANES if (m >> l & 1)
    {
        if (rank[l] >= size) report("mapa of a block outside the cluster", w, I, l, std::to_string(rank[l]));
        d[l] = a[l] + ((rank[l] % size + 1) << RANK_AT);
    }
}

/* Returns why this lane may not read the bytes at `address`, or NULL. Sets *from to their address on the host. */
const char *why_not(const Block &reader, const Cluster &c, u32 address, u32 total, const char **from)
{
    const u32 rank = (address >> RANK_AT) - 1, at = (address & ((1u << RANK_AT) - 1)) - SHARED_AT;
    if (rank >= c.member.size()) return "no address in shared memory of the cluster";
    const Block *const b = c.member[rank].block;
    if (!b || !c.phase) return "shared memory of a block that may not have begun";
    if (!b->busy || b->L != reader.L || b->cta[0] != reader.cta[0] || b->cta[1] != reader.cta[1] || b->cta[2] != rank)
        return "shared memory of a block that has ended";
    if (at % total || at + total > b->valid.size()) return "shared memory of the cluster out of range or misaligned";
    for (u32 i = 0; i < total; i++)
        if (!b->valid[at + i]) return "read of another block's shared memory that was not written";
    *from = b->sh.data() + at;
    const std::vector<char> &published = c.member[rank].published;
    if (G.race && (published.size() < at + total || memcmp(*from, published.data() + at, total)))
        return "race: another block's shared memory was written after the barrier";
    return nullptr;
}

void h_load(Warp &w, const Ins &I, u32 m)
{
    const u32 total = (u32)I.size * I.n, *base = REG(u32, I.n);
    const Cluster &c = cluster_of(*w.b);
    u32 offset[32] = {};
    LANES if (m >> l & 1)
    {
        const u32 address = base[l] + (u32)I.imm;
        const char *from = nullptr;
        const char *const why = why_not(*w.b, c, address, total, &from);
        if (why) report(why, w, I, l, hex(address));
        for (u32 k = 0; k < I.n; k++) {
            u32 v = 0;
            if (from) memcpy(&v, from + 4 * k, 4);
            REG(u32, k)[l] = v;
        }
        offset[l] = address & ((1u << RANK_AT) - 1);
    }
    if (G.count && m) count_shared(w, I, offset, m, total);
}
} // namespace

bool select_handler(Ins &I, const Item &it, const std::vector<int> &width, std::string &why)
{
    auto set = [&](Handler h, Cls c) {
        I.fn = h;
        I.cls = c;
        return true;
    };
    if (it.op == "cluster.arrive") return set(h_arrive, C_BAR);
    if (it.op == "cluster.passed") return set(h_passed, C_CTRL);
    if (it.op == "mapa.shared::cluster.u32") return set(h_mapa, C_INT);
    if (it.op == "ld.shared::cluster.v4.f32" && width.back() == 4) {
        I.size = 4;
        return set(h_load, C_LDS);
    }
    return select_without_clusters(I, it, width, why);
}

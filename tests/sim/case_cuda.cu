/* The second half of tests/reference.h for the CUDA backend: with it in the place of reference_case.c, the tests of
 * the CPU ops (tests/test_act.c, test_norm_act.c, ...) judge the CUDA ops by the same numbers. */
#include "kernels/dev.cuh"
extern "C" {
#include "tests/reference.h"
#include "tests/test.h"
}

#include <vector>

/* What dg_case_open counts through. offset: operands begin one value off 16 bytes. */
static const struct {
    dg_type real;
    const char *variant; /* NULL: the rule's choice */
    int block;
    bool offset;
} ways[] = {{DG_F32, nullptr, 0, false},   {DG_F32, "direct", 64, true}, {DG_F32, nullptr, 512, false},
            {DG_F64, nullptr, 0, false}, {DG_F64, "direct", 32, true}};
static size_t way;

bool dg_case_open(int i, int threads, dg_backend **b)
{
    (void)threads;
    if (i < 0 || (size_t)i >= sizeof ways / sizeof *ways) return false;
    way = (size_t)i;
    dg_cuda_options o = {};
    o.real = ways[way].real;
    if (dg_cuda_open(&o, b)) {
        fprintf(stderr, "%s\n", dg_message());
        return false;
    }
    return true;
}

static const size_t GUARD = 256;

/* One operand: the caller's array in double, and its copy on the device between guards. */
struct twin {
    void *theirs = nullptr;
    size_t count = 0, bytes = 0, off = 0;
    bool real = false, input = false, output = false;
    void *block = nullptr;
    std::vector<unsigned char> before;
    unsigned char *mine() const { return (unsigned char *)block + off; }
};

static void make_room(dg_backend *b, twin *t, size_t bytes, size_t extra)
{
    t->bytes = bytes;
    t->off = GUARD + extra;
    if (b->alloc(b, bytes + 2 * GUARD + extra, &t->block)) {
        fprintf(stderr, "%s\n", dg_message());
        exit(1);
    }
    std::vector<unsigned char> fill(bytes + 2 * GUARD + extra, 0xA5);
    b->put(b, t->block, fill.data(), fill.size());
}

static void store(dg_backend *b, const twin *t)
{
    if (!t->real || b->real == DG_F64) {
        b->put(b, t->mine(), t->theirs, t->bytes);
        return;
    }
    std::vector<float> narrow((double *)t->theirs, (double *)t->theirs + t->count);
    b->put(b, t->mine(), narrow.data(), t->bytes);
}

static const char *load(dg_backend *b, const twin *t)
{
    std::vector<unsigned char> all(t->off + t->bytes + GUARD);
    if (b->get(b, all.data(), t->block, all.size())) return dg_message();
    for (size_t i = 0; i < t->off; i++)
        if (all[i] != 0xA5) return "wrote in front of an operand";
    for (size_t i = t->off + t->bytes; i < all.size(); i++)
        if (all[i] != 0xA5) return "wrote behind an operand";
    const unsigned char *mine = all.data() + t->off;
    if (t->input && !t->output && t->bytes && memcmp(t->before.data(), mine, t->bytes) != 0) return "changed an input";
    if (!t->output) return nullptr;
    if (!t->real || b->real == DG_F64)
        memcpy(t->theirs, mine, t->bytes);
    else
        for (size_t i = 0; i < t->count; i++) {
            float f;
            memcpy(&f, mine + i * sizeof f, sizeof f);
            ((double *)t->theirs)[i] = (double)f;
        }
    return nullptr;
}

const char *dg_case_run(dg_backend *b, const dg_op *original)
{
    dg_op op = *original;
    const char *wrong = b->refuses(b, &op);
    if (wrong) return wrong;
    if (ways[way].variant) op.tune.variant = ways[way].variant;
    if (ways[way].block && op.tune.block) op.tune.block = ways[way].block;
    /* tests leave pointers in the members that another op of the same struct uses; kernels get the struct as it is */
    if (op.kind == DG_OP_norm_act) op.u.norm_act.dx = op.u.norm_act.dy = op.u.norm_act.dgamma = op.u.norm_act.dbeta = nullptr;
    if (op.kind == DG_OP_norm_act_dx) op.u.norm_act.y = nullptr;
    int n;
    const dg_operand *list = dg_operands(op.kind, &n);
    std::vector<twin> twins;
    twins.reserve((size_t)n);
    for (int i = 0; i < n; i++) {
        void **pointer = dg_ref_pointer(&op, i);
        twin *t = nullptr;
        if (list[i].role != DG_SCRATCH && !*pointer) continue;
        for (twin &other : twins)
            if (list[i].role != DG_SCRATCH && other.theirs == *pointer) t = &other;
        if (!t) {
            twins.push_back(twin());
            t = &twins.back();
            if (list[i].role == DG_SCRATCH) {
                make_room(b, t, b->scratch(b, &op), 0);
            } else {
                dg_type type;
                t->theirs = *pointer;
                dg_ref_operand(original, i, &t->count, &type);
                t->real = type == DG_F64;
                const size_t element = dg_type_bytes(t->real ? b->real : type);
                make_room(b, t, t->count * element, t->real && ways[way].offset ? element : 0);
                store(b, t);
            }
        }
        if (list[i].role != DG_SCRATCH) {
            t->input |= (list[i].role & DG_IN) != 0;
            t->output |= (list[i].role & DG_OUT) != 0;
        }
        *pointer = t->mine();
    }
    for (twin &t : twins) {
        const std::vector<unsigned char> nan(t.bytes, 0xff);
        if ((t.output && !t.input) || !t.theirs) b->put(b, t.mine(), nan.data(), t.bytes);
        t.before.resize(t.bytes);
        if (t.input) b->get(b, t.before.data(), t.mine(), t.bytes);
    }
    if (b->run_op(b, &op, nullptr)) wrong = dg_message();
    for (twin &t : twins) {
        if (!wrong) wrong = load(b, &t);
        b->release(b, t.block);
    }
    return wrong;
}

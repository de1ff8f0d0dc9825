/* Kernel arguments of the fused update, and the assignment of work to blocks. */
#include "kernels/fused/fused_update.h"

#include <string.h>

#include "core/plan/precision.h"
#include "kernels/ops/conv/cuda/conv_rows.h"

enum { FIXED_SHARED = 512 }; /* bytes of the kernel's static shared memory, rounded up */

static size_t shared_of(const dg_update_job *j)
{
    const bool small = dg_mma_is_small(&j->conv);
    switch (j->kind) {
    case DG_FUSED_MMA: return (size_t)(DG_MMA_DW_BYTES(small) / 2 * DG_UPDATE_STAGES(j->tune.math == DG_MATH_FP16));
    case DG_FUSED_WGMMA: return (size_t)DG_WGMMA_DW_BYTES(small, DG_UPDATE_STAGES(false));
    case DG_FUSED_THIN:
    case DG_FUSED_THIN_MMA: return sizeof(float) * (size_t)DG_THIN_DW_WORDS(j->conv.Ci);
    case DG_FUSED_GEMV: return 0;
    case DG_FUSED_DENSE: return sizeof(float) * DG_UPDATE_DENSE_IMAGES * (DG_UPDATE_DENSE_ROWS + DG_UPDATE_DENSE_COLS);
    case DG_FUSED_NONE: break;
    }
    return 0;
}

size_t dg_update_shared(const dg_fused_update *u)
{
    size_t most = 0;
    for (int i = 0; i < u->jobs; i++)
        if (shared_of(&u->job[i]) > most) most = shared_of(&u->job[i]);
    return most;
}

static void add_range(dg_update_layout *l, int64_t from, int64_t end, int work)
{
    if (from >= end) return;
    const int parts = work < 0 ? 1 : l->job[work].parts;
    dg_update_range *r = &l->range[l->ranges++];
    r->from = from;
    r->count = end - from;
    r->work = work;
    r->halvings = dg_update_halvings(parts);
    r->width = DG_UPDATE_THREADS * 8 >> r->halvings;
    r->blocks = (int)((r->count + r->width - 1) / r->width);
    r->first = l->consumers;
    l->consumers += r->blocks;
}

void dg_update_layout_of(const dg_fused_update *u, dg_update_layout *out)
{
    dg_update_work work[DG_UPDATE_JOBS];
    int place[DG_UPDATE_JOBS];
    memset(out, 0, sizeof *out);
    out->adam = u->adam;
    out->advance = u->advance;
    out->rounded = u->rounded;
    out->scratch = u->scratch;
    out->counters = u->counters;
    out->jobs = u->jobs;
    for (int i = 0; i < u->jobs; i++) {
        work[i] = dg_update_work_of(&u->job[i]);
        if (!dg_update_has_factors(u->job[i].kind)) continue;
        work[i].x = (dg_prologue){.kind = DG_PROLOGUE_PLAIN, .x = u->job[i].factors[0], .groups = 1};
        work[i].y = (dg_prologue){.kind = DG_PROLOGUE_PLAIN, .x = u->job[i].factors[1], .groups = 1};
    }
    dg_update_order(u, work, place);
    for (int i = 0; i < u->jobs; i++) out->job[i] = work[place[i]];
    int64_t scratch = 0;
    for (int i = 0; i < out->jobs; i++) {
        dg_update_work *w = &out->job[i];
        w->first = out->producers;
        out->producers += w->producers;
        w->scratch = scratch;
        if (w->parts > 1) scratch += w->parts * w->count;
    }
    for (int i = 0; i < out->jobs; i++)
        if (u->adam.n || out->job[i].parts > 1)
            add_range(out, out->job[i].offset, out->job[i].offset + out->job[i].count, i);
    for (int64_t at = 0; at < u->adam.n;) {
        int64_t end = u->adam.n, skip = 0;
        for (int i = 0; i < out->jobs; i++) {
            const dg_update_work *w = &out->job[i];
            if (w->offset < at || w->offset >= end) continue;
            end = w->offset;
            skip = w->count;
        }
        add_range(out, at, end, -1);
        at = end + skip;
    }
}

dg_fused_size dg_fused_update_size(const dg_fused_update *u)
{
    dg_update_layout l;
    dg_update_layout_of(u, &l);
    size_t values = 0;
    for (int i = 0; i < l.jobs; i++)
        if (l.job[i].parts > 1) values += (size_t)l.job[i].parts * (size_t)l.job[i].count;
    return (dg_fused_size){values * sizeof(float), u->adam.n ? DG_UPDATE_COUNTERS : 0};
}

static bool wants(const dg_prologue *s, dg_prologue_kind a, dg_prologue_kind b)
{
    return s->kind == DG_PROLOGUE_PLAIN || s->kind == a || s->kind == b;
}

static const char *prologues_refuse(const dg_update_job *j)
{
    const dg_prologue *const both[] = {&j->x, &j->y};
    for (int i = 0; i < 2; i++) {
        if (both[i]->kind == DG_PROLOGUE_PLAIN) continue;
        if (both[i]->groups < 1 || both[i]->groups > DG_UPDATE_GROUPS || j->conv.N % both[i]->groups)
            return dg_variant_no("%d groups of %d images: at most %d groups of equal size are supported",
                                 both[i]->groups, j->conv.N, DG_UPDATE_GROUPS);
    }
    if (j->x.kind != DG_PROLOGUE_PLAIN && j->y.kind != DG_PROLOGUE_PLAIN && j->x.groups != j->y.groups)
        return "the two operands of a weight gradient have different groups";
    return NULL;
}

static const char *job_refuses(const dg_update_job *j, const dg_gpu *gpu)
{
    const dg_conv_args *a = &j->conv, flat = dg_conv_flat(a);
    const bool is_flat = flat.K == 1 && flat.P == 0 && flat.H == 1 && flat.W == 1 && flat.Ho == 1 && flat.Wo == 1;
    switch (j->kind) {
    case DG_FUSED_WGMMA:
        if (j->tune.math != DG_MATH_BF16 || !gpu->wgmma) return "warpgroups require bf16, sm_90 and code for sm_90a";
        /* fall through */
    case DG_FUSED_MMA:
        if (!dg_conv_is_halving(a)) return "tensor cores require K=4 S=2 P=1";
        if (j->tune.math == DG_MATH_FP32) return "tensor cores round their operands, so fp32 cannot use them";
        if (gpu->arch && !dg_math_on(j->tune.math, gpu->arch)) return "tensor cores before sm_80 have no bf16";
        if (dg_fused_refuses_math(j->tune.math, gpu)) return dg_fused_refuses_math(j->tune.math, gpu);
        if (a->Ci % DG_MMA_UNIT || a->Co % DG_MMA_UNIT)
            return dg_variant_no("tensor cores require a multiple of %d channels", DG_MMA_UNIT);
        if (!(wants(&j->x, DG_PROLOGUE_NORM, DG_PROLOGUE_NORM) &&
              wants(&j->y, DG_PROLOGUE_NORM_DX, DG_PROLOGUE_NORM_DX)) &&
            !(wants(&j->y, DG_PROLOGUE_NORM, DG_PROLOGUE_NORM) &&
              wants(&j->x, DG_PROLOGUE_NORM_DX, DG_PROLOGUE_NORM_DX)))
            return "one operand of a weight gradient must be an input, and the second operand a gradient";
        break;
    case DG_FUSED_THIN:
    case DG_FUSED_THIN_MMA:
        if (j->kind == DG_FUSED_THIN_MMA && j->tune.math != DG_MATH_BF16)
            return "variant thin_mma requires precision bf16";
        if (j->kind == DG_FUSED_THIN_MMA && gpu->arch && !dg_math_on(j->tune.math, gpu->arch))
            return "tensor cores before sm_80 have no bf16";
        if (!dg_conv_is_halving(a) || (a->Ci != 1 && a->Ci != 3) || a->Co % 4)
            return "variant thin requires K=4 S=2 P=1, 1 or 3 channels of x, and a multiple of 4 channels of y";
        if (j->x.kind != DG_PROLOGUE_PLAIN) return "variant thin reads images without a prologue";
        break;
    case DG_FUSED_GEMV:
        if (!is_flat || a->Co > 4 || dg_conv_channels(a) % 4)
            return "variant gemv requires at most 4 channels of y, and a kernel that covers all of x";
        if (!wants(&j->x, DG_PROLOGUE_NORM, DG_PROLOGUE_NORM_DX) || j->y.kind != DG_PROLOGUE_PLAIN)
            return "variant gemv supports a prologue of x only";
        break;
    case DG_FUSED_DENSE:
        if (!is_flat || dg_conv_channels(a) % 4)
            return "variant dense requires a kernel that covers all of x, and a y of one pixel";
        if (!wants(&j->x, DG_PROLOGUE_NORM, DG_PROLOGUE_NORM_DX) || j->y.kind != DG_PROLOGUE_PLAIN)
            return "variant dense supports a prologue of x only";
        break;
    case DG_FUSED_NONE: return "no fused kernel supports the variant of this weight gradient";
    }
    const size_t shared = shared_of(j) + FIXED_SHARED;
    return shared > gpu->shared ? dg_variant_no("a block needs %zu bytes of shared memory, more than the limit", shared)
                                : prologues_refuse(j);
}

const char *dg_fused_update_refuses(const dg_fused_update *u, const dg_gpu *gpu)
{
    if (u->jobs < 1 || u->jobs > DG_UPDATE_JOBS)
        return dg_variant_no("fused update of %d jobs: must have 1 to %d jobs", u->jobs, DG_UPDATE_JOBS);
    if (u->adam.n % 4) return "the number of weights must be a multiple of four";
    for (int i = 0; i < u->jobs; i++) {
        const dg_update_job *j = &u->job[i];
        const char *why = job_refuses(j, gpu);
        if (why) return why;
        const int64_t end = j->offset + (int64_t)j->conv.Co * j->conv.K * j->conv.K * j->conv.Ci;
        if (j->offset < 0 || j->offset % 4 || end % 4 || (u->adam.n && end > u->adam.n))
            return "each job must update a range of Adam's weights that begins and ends at multiples of four";
        for (int k = 0; k < i; k++)
            if (u->job[k].offset < end && j->offset < u->job[k].offset + (int64_t)u->job[k].conv.Co * u->job[k].conv.K *
                                                                             u->job[k].conv.K * u->job[k].conv.Ci)
                return "two jobs of a fused update have the same weights";
        if (dg_update_rounds(j->kind) && j->tune.math != dg_update_math(u))
            return "all jobs of a fused update must have the same rounding";
        if (j->kind == DG_FUSED_MMA && dg_update_by_warpgroups(u))
            return "all weight gradients of a fused update must use warps, or all must use warpgroups";
    }
    return NULL;
}

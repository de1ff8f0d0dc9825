#include "core/plan/branches.h"

static void shape_text(char *out, size_t size, dg_shape s)
{
    if (s.N == 1 && s.H == 1 && s.W == 1) snprintf(out, size, "%d", s.C);
    else snprintf(out, size, "%dx%dx%dx%d", s.N, s.H, s.W, s.C);
}

static void print_operands(const dg_plan *p, const dg_op *op, FILE *to)
{
    int n;
    const dg_operand *operand = dg_operands(op->kind, &n);
    for (int k = 0; k < n; k++) {
        const dg_row *r = dg_plan_row(p, op, k);
        char shape[64];
        if (!r || r->kind == DG_STATE || operand[k].role == DG_SCRATCH) continue;
        shape_text(shape, sizeof shape, r->shape);
        fprintf(to, " %s%s=%s[%s]", operand[k].role & DG_OUT ? ">" : "", operand[k].name, r->name, shape);
    }
}

/* Prints a variant such as "tiled" and its launch parameters, in the format of a tuning file. */
static void print_launch(const dg_op *op, int kernels, FILE *to)
{
    const dg_tune *t = &op->tune;
    char tile[24] = "", stages[12] = "", split[12] = "", block[12] = "";
    if (t->block) snprintf(block, sizeof block, "%d", t->block);
    if (t->tile_m) snprintf(tile, sizeof tile, "%dx%d", t->tile_m, t->tile_n);
    if (t->stages) snprintf(stages, sizeof stages, "%d", t->stages);
    if (t->split > 1) snprintf(split, sizeof split, "%d", t->split);
    char own[12] = "+";
    if (kernels) snprintf(own, sizeof own, "%d", kernels);
    char why[1024];
    fprintf(to, "%5s %8s %6s %5s %7s  %-22s", block, tile, stages, split, own,
            dg_printable(why, sizeof why, t->why ? t->why : ""));
}

void dg_plan_print(const dg_plan *p, int chain, FILE *to)
{
    const bool gpu = chain > 0;
    double flops = 0, bytes = 0;
    fprintf(to, "plan %s: %d ops\n", p->name, p->ops);
    fprintf(to, "%4s  %-24s %-12s %-10s ", "", "op", "kind", "variant");
    if (gpu) fprintf(to, "%5s %8s %6s %5s %7s  %-22s", "block", "tile", "stages", "split", "kernels", "because");
    fprintf(to, "%9s %9s  %s\n", "MFLOP", "MB", "operands (> is written)");
    for (int i = 0; i < p->ops; i++) {
        const dg_op *op = &p->op[i];
        const double f = dg_op_flops(op), b = dg_op_bytes(p, op);
        fprintf(to, "%4d  %-24s %-12s %-10s ", i + 1, op->name, dg_op_kind_name(op->kind),
                op->tune.variant ? op->tune.variant->name : "");
        if (gpu) print_launch(op, dg_op_kernels(p, i), to);
        fprintf(to, "%9.2f %9.3f ", f / 1e6, b / 1e6);
        print_operands(p, op, to);
        fprintf(to, "\n");
        flops += f;
        bytes += b;
    }
    fprintf(to, "plan %s: %.3f GFLOP, %.1f MB read and written", p->name, flops / 1e9, bytes / 1e6);
    if (gpu) fprintf(to, ", %d kernels, %d in the longest chain of dependent kernels", dg_plan_kernels(p), chain);
    fprintf(to, "\n");
}

void dg_arena_print(const dg_arena *a, FILE *to)
{
    static const char *const label[] = {"weights",          "gradients",          "first moments",    "second moments",
                                        "averaged weights", "running statistics", "state and metrics"};
    double work = 0, outside = 0;
    fprintf(to, "memory, MB:\n");
    for (int kind = DG_PARAM; kind <= DG_STATE; kind++) {
        double bytes[2] = {0, 0};
        for (int i = 0; i < a->rows; i++)
            if ((int)a->row[i].kind == kind) bytes[a->row[i].net] += (double)((a->row[i].bytes + 255) & ~(size_t)255);
        if (bytes[0] + bytes[1] == 0) continue;
        if (kind == DG_STATE || bytes[1] == 0) fprintf(to, "  %-22s %9.3f\n", label[kind], (bytes[0] + bytes[1]) / 1e6);
        else
            fprintf(to, "  %-22s %9.3f  (G %.3f, D %.3f)\n", label[kind], (bytes[0] + bytes[1]) / 1e6, bytes[0] / 1e6,
                    bytes[1] / 1e6);
    }
    for (int i = 0; i < a->rows; i++) {
        if (a->row[i].kind == DG_WORK && !a->row[i].absent) work += (double)a->row[i].bytes;
        if (a->row[i].kind == DG_OUTSIDE) outside += (double)a->row[i].bytes;
    }
    fprintf(to, "  %-22s %9.3f  (%.3f without sharing memory)\n", "activations and work",
            (double)(a->bytes - a->persistent) / 1e6, work / 1e6);
    fprintf(to, "  %-22s %9.3f\n", "arena, one allocation", (double)a->bytes / 1e6);
    if (outside > 0) fprintf(to, "  %-22s %9.3f\n", "data set", outside / 1e6);
    fprintf(to, "  %-22s %9.3f\n", "all", ((double)a->bytes + outside) / 1e6);
}

/* The fusions that --fuse selects and the CUDA backend applies (kernels/fused/fuse_plan.c). */
#pragma once

#include <stdbool.h>

/* X(name, help). By default every fusion is on. The fusions `overlap` and `branches` change only when kernels begin. */
#define DG_FUSIONS(X)                                                                                               \
    X(convs,                                                                                                        \
      "convolutions and data gradients with neighbouring ops: norm, activation, noise, image loads, bce loss of D") \
    X(update, "all weight gradients of a network with Adam")                                                        \
    X(overlap, "fused kernels start before the previous kernel has ended (sm_90 and newer); same bits")             \
    X(branches, "independent kernels run concurrently; same bits")
enum {
#define X(name, help) DG_FUSE_##name##_bit,
    DG_FUSIONS(X)
#undef X
        DG_FUSE_KINDS
};
#define X(name, help) DG_FUSE_##name = 1u << DG_FUSE_##name##_bit,
enum { DG_FUSIONS(X) DG_FUSE_NONE = 0, DG_FUSE_ALL = (1u << DG_FUSE_KINDS) - 1, DG_FUSE_OPS = DG_FUSE_overlap - 1 };
#undef X

const char *dg_fusion_name(int i); /* NULL after the last fusion */
const char *dg_fusion_help(int i);
/* Parses a list of fusions such as "all", "none", "convs,update" or "-update" (all but update). Returns false for an
 * unknown word. */
bool dg_fuse_parse(const char *list, unsigned *what);

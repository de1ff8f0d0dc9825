/* The table of GAN losses (--loss). docs/extending.md explains how to add a loss. */
#pragma once

#include <stdbool.h>
#include "core/plan/ops.h"

/* X(NAME, word, D's formula, G's formula, low, paired, guess). The formulas are in core/plan/ops_gan.h. `low` is D's
 * target for samples; the target for real images is 1. `paired` marks relativistic losses, which compare logits of real
 * images and samples. `guess` is D's loss if all outputs equal the mean of both targets. */
#define DG_LOSSES(X)                                                   \
    X(BCE, "bce", DG_GAN_CROSS, DG_GAN_CROSS, 0, false, 1.386)         \
    X(LSGAN, "lsgan", DG_GAN_SQUARES, DG_GAN_SQUARES, 0, false, 0.25)  \
    X(HINGE, "hinge", DG_GAN_HINGE, DG_GAN_SCORE, -1, false, 2)        \
    X(RALSGAN, "ralsgan", DG_GAN_AVERAGE, DG_GAN_AVERAGE, -1, true, 1) \
    X(RPGAN, "rpgan", DG_GAN_PAIRS, DG_GAN_PAIRS, -1, true, 0.693)

typedef enum {
#define X(NAME, ...) DG_LOSS_##NAME,
    DG_LOSSES(X)
#undef X
} dg_loss;

#define X(...) +1
enum { DG_LOSS_KINDS = 0 DG_LOSSES(X) };
#undef X

typedef struct {
    const char *word;
    dg_gan_form form_d, form_g;
    double low;
    bool paired;
    double guess;
} dg_loss_info;
extern const dg_loss_info dg_losses[DG_LOSS_KINDS];

bool dg_loss_parse(const char *text, dg_loss *out);

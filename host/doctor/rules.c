/* The rules that detect problems of GAN training. The condition `needs` of a rule excludes other causes of the rule's
 * value. All thresholds were chosen from the recorded runs of tests/host/doctor (docs/guide/doctor.md). */
#include <math.h>

#include "host/doctor/doctor.h"

static double margin(const dg_vitals *v) { return v->d_x - v->d_gz; }
static double most_loss(const dg_vitals *v) { return v->most_loss; }
static double swing(const dg_vitals *v) { return v->swing; }
static double nearest(const dg_vitals *v) { return v->nearest; }
static double steps(const dg_vitals *v) { return (double)v->step; }

static double leap(const dg_vitals *v) { return v->most_loss_d > v->guess ? v->most_loss_d / v->loss_d_before : 0; }

/* Returns the smaller of diversity and coverage, relative to their best values. Small best values are ignored. */
static double part_left(const dg_vitals *v)
{
    const double grid = v->settled_diversity > 0.4 ? v->diversity / v->settled_diversity : NAN;
    const double covered = v->best_coverage > 0.2 ? v->coverage / v->best_coverage : NAN;
    return fmin(grid, covered); /* fmin ignores NaN */
}

static double never_diverse(const dg_vitals *v) { return v->step >= 1000 ? v->best_diversity : NAN; }

/* This condition of a rule excludes windows in which only a single step has a large loss. */
static bool losses_stay_large(const dg_vitals *v) { return v->mean_loss > 10; }

static bool is_warm(const dg_vitals *v) { return v->step >= DG_DOCTOR_WARM_UP; }

/* This condition of a rule excludes sample grids of untrained networks. */
static bool grid_is_recent(const dg_vitals *v) { return !isnan(v->settled_diversity); }

/* This condition of a rule excludes short windows of the log, such as the last window. */
static bool window_is_long(const dg_vitals *v) { return v->span >= 100; }
static bool window_is_dense(const dg_vitals *v) { return v->span >= 100 && v->rows >= 10; }

static bool window_before_is_known(const dg_vitals *v) { return v->loss_d_before > 0; }

/* This condition of a rule excludes blurred or grey samples, which are close to every real image. Copies of real images
 * satisfy this condition, because copies are as diverse as the dataset. */
static bool samples_are_varied(const dg_vitals *v)
{
    return v->recall >= 0.5 && v->coverage >= 0.5 && !(v->diversity < 0.7);
}

static bool samples_are_poor(const dg_vitals *v) { return !(v->settled_diversity >= 0.7) && !(v->coverage >= 0.7); }

const dg_doctor_rule dg_doctor_rules[] = {
    {.name = "runs_away",
     .needs = losses_stay_large,
     .when = "the mean loss of D or G in the window is above 10",
     .value = most_loss,
     .begins = 50,
     .ends = 25,
     .windows = 1,
     .collapse = true,
     .says = "the losses diverge: the largest is %.4g (expected below 10)",
     .ended = "the losses are normal again",
     .advice = "rewind to an earlier checkpoint with a smaller --lr, or with --lr-d below --lr-g"},
    {.name = "collapse",
     .needs = is_warm,
     .when = "the run has at least 500 steps",
     .value = part_left,
     .below = true,
     .begins = 0.5,
     .ends = 0.7,
     .windows = 1,
     .collapse = true,
     .says = "mode collapse: the diversity of the samples is %.2f of its best value",
     .ended = "the samples are diverse again",
     .advice = "rewind to an earlier checkpoint; try another --seed, --lr-d below --lr-g, or --flip"},
    {.name = "noise",
     .needs = grid_is_recent,
     .when = "the run has a sample grid of step 500 or later",
     .value = never_diverse,
     .below = true,
     .begins = 0.25,
     .ends = 0.3,
     .windows = 1,
     .says = "the samples are still too similar: their diversity is %.2f of that of real images",
     .ended = "the samples become diverse",
     .advice = "a good run has diverse samples after 1,000 steps: check reals.png, then try --lr 0.0002 and a built-in "
               "model"},
    {.name = "d_wins",
     .needs = window_is_long,
     .when = "the window covers at least 100 steps",
     .value = margin,
     .begins = 0.83,
     .ends = 0.75,
     .windows = 2,
     .says = "D wins: it separates nearly all samples from real images, D(x) - D(G(z)) is %.2f",
     .ended = "the discriminator no longer dominates the generator",
     .advice = "G learns little now: compare earlier grids; try --lr-d below --lr-g, --flip or more images"},
    {.name = "g_wins",
     .needs = window_is_long,
     .when = "the window covers at least 100 steps",
     .value = margin,
     .below = true,
     .begins = -0.05,
     .ends = 0,
     .windows = 2,
     .says = "G wins: D rates samples as more real than real images, D(x) - D(G(z)) is %.2f",
     .ended = "G no longer wins",
     .advice = "D is too weak: try --lr-g below --lr-d, or a model with a larger D"},
    {.name = "swings",
     .needs = window_is_dense,
     .when = "the window has at least 10 rows and covers at least 100 steps",
     .value = swing,
     .begins = 0.3,
     .ends = 0.22,
     .windows = 2,
     .says = "D and G win in turn: D(x) - D(G(z)) oscillates by %.2f",
     .ended = "D and G are steady again",
     .advice = "try a smaller --lr or a larger --batch"},
    {.name = "spikes",
     .needs = window_before_is_known,
     .when = "the log has the previous window, and D's mean loss in the previous window is above 0",
     .value = leap,
     .begins = 15,
     .ends = 5,
     .windows = 1,
     .says = "the loss of D jumps to %.0f times its previous mean",
     .ended = "the loss of D is steady again",
     .advice = "quality may drop for about an epoch: do not use the checkpoint of this epoch"},
    {.name = "copies",
     .needs = samples_are_varied,
     .when =
         "recall and coverage are at least 0.5, and the diversity of the newest sample grid, if known, is at least 0.7",
     .value = nearest,
     .below = true,
     .begins = 0.7,
     .ends = 0.8,
     .windows = 1,
     .says = "the samples are near-copies: their distance to the nearest real image is %.2f times that of real images",
     .ended = "the samples are no longer near-copies of training images",
     .advice = "try more images, --flip, or an earlier checkpoint"},
    {.name = "few_steps",
     .needs = samples_are_poor,
     .when = "the run is finished, had no --init, and neither its coverage nor its diversity (from step 500 on) is "
             "known to be 0.7 or more",
     .value = steps,
     .below = true,
     .begins = 1000,
     .windows = 1,
     .at_end = true,
     .says = "the run is short (steps: %.0f; good samples need thousands)",
     .ended = "",
     .advice = "continue with --resume and more --epochs, or with more --steps if --steps ended the run"},
    {0},
};

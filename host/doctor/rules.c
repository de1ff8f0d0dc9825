/* The table of rules. `needs` excludes other causes of a rule's value. Thresholds are set by the recorded runs of
 * tests/host/doctor (docs/guide/doctor.md). */
#include <math.h>

#include "host/doctor/doctor.h"

static double margin(const dg_vitals *v) { return v->d_x - v->d_gz; }
static double most_loss(const dg_vitals *v) { return v->most_loss; }
static double swing(const dg_vitals *v) { return v->swing; }
static double nearest(const dg_vitals *v) { return v->nearest; }
static double steps(const dg_vitals *v) { return (double)v->step; }

/* Only above the loss of a guess. */
static double leap(const dg_vitals *v) { return v->most_loss_d > v->guess ? v->most_loss_d / v->loss_d_before : 0; }

/* Share of the best since the warm-up; NaN while that is too small. */
static double part_left(const dg_vitals *v)
{
    const double grid = v->settled_diversity > 0.4 ? v->diversity / v->settled_diversity : NAN;
    const double covered = v->best_coverage > 0.2 ? v->coverage / v->best_coverage : NAN;
    return fmin(grid, covered); /* fmin ignores a NaN */
}

static double never_diverse(const dg_vitals *v) { return v->step >= 1000 ? v->best_diversity : NAN; }

/* Excludes a single bad step. */
static bool losses_stay_large(const dg_vitals *v) { return v->mean_loss > 10; }

static bool is_warm(const dg_vitals *v) { return v->step >= DG_DOCTOR_WARM_UP; }

/* Excludes grids of untrained networks. */
static bool grid_is_recent(const dg_vitals *v) { return !isnan(v->settled_diversity); }

/* Excludes short windows, such as the last of a log. */
static bool window_is_long(const dg_vitals *v) { return v->span >= 100; }
static bool window_is_dense(const dg_vitals *v) { return v->span >= 100 && v->rows >= 10; }

static bool window_before_is_known(const dg_vitals *v) { return v->loss_d_before > 0; }

/* Blurred or grey samples are close to each real image; copies are as diverse as the dataset. */
static bool samples_are_varied(const dg_vitals *v)
{
    return v->recall >= 0.5 && v->coverage >= 0.5 && !(v->diversity < 0.7);
}

static bool samples_are_poor(const dg_vitals *v) { return !(v->settled_diversity >= 0.7) && !(v->coverage >= 0.7); }

const dg_doctor_rule dg_doctor_rules[] = {
    {.name = "runs_away",
     .needs = losses_stay_large,
     .when = "the mean loss of D or G over the window is above 10, too",
     .value = most_loss,
     .begins = 50,
     .ends = 25,
     .windows = 1,
     .collapse = true,
     .says = "the losses run away: one is %.4g, where 10 is much",
     .ended = "the losses are small again",
     .advice = "go back to an earlier checkpoint with a smaller --lr, or with --lr-d below --lr-g"},
    {.name = "collapse",
     .needs = is_warm,
     .when = "500 steps are done",
     .value = part_left,
     .below = true,
     .begins = 0.5,
     .ends = 0.7,
     .windows = 1,
     .collapse = true,
     .says = "the generated pictures become alike: %.2f of the best variety is left",
     .ended = "the generated pictures differ again",
     .advice = "go back to an earlier checkpoint; try another --seed, --lr-d below --lr-g, or --flip"},
    {.name = "noise",
     .needs = grid_is_recent,
     .when = "there is a grid from step 500 on",
     .value = never_diverse,
     .below = true,
     .begins = 0.25,
     .ends = 0.3,
     .windows = 1,
     .says = "the generated pictures are still grey: they differ by %.2f of what real ones do",
     .ended = "the generated pictures begin to differ",
     .advice = "1,000 steps should show more: look at reals.png, then try --lr 0.0002 and the built-in model"},
    {.name = "d_wins",
     .needs = window_is_long,
     .when = "the rows of the window are of 100 steps or more",
     .value = margin,
     .begins = 0.83,
     .ends = 0.75,
     .windows = 2,
     .says = "D wins: it tells nearly every picture, D(x) - D(G(z)) is %.2f",
     .ended = "D wins no more",
     .advice = "G learns little from here: compare earlier grids; --lr-d below --lr-g, --flip or more pictures"},
    {.name = "g_wins",
     .needs = window_is_long,
     .when = "the rows of the window are of 100 steps or more",
     .value = margin,
     .below = true,
     .begins = -0.05,
     .ends = 0,
     .windows = 2,
     .says = "G wins: D takes its pictures for real more than real ones, D(x) - D(G(z)) is %.2f",
     .ended = "G wins no more",
     .advice = "D is too weak to teach: --lr-g below --lr-d, or a model with a larger D"},
    {.name = "swings",
     .needs = window_is_dense,
     .when = "the window has 10 rows, of 100 steps or more",
     .value = swing,
     .begins = 0.3,
     .ends = 0.22,
     .windows = 2,
     .says = "D and G win in turn: D(x) - D(G(z)) goes up and down by %.2f",
     .ended = "D and G are steady again",
     .advice = "a smaller --lr or a larger --batch is steadier"},
    {.name = "spikes",
     .needs = window_before_is_known,
     .when = "the window before is in the log, with a loss above 0",
     .value = leap,
     .begins = 15,
     .ends = 5,
     .windows = 1,
     .says = "the loss of D leaps to %.0f times what it was",
     .ended = "the loss of D is steady again",
     .advice = "what was learnt may be lost for an epoch: do not take the checkpoint from here"},
    {.name = "copies",
     .needs = samples_are_varied,
     .when = "recall and coverage are 0.5 or more, and the diversity of the newest grid, if there is one, 0.7 or more",
     .value = nearest,
     .below = true,
     .begins = 0.7,
     .ends = 0.8,
     .windows = 1,
     .says =
         "the generated pictures are near copies: their nearest real one is at %.2f of the distance between real ones",
     .ended = "the generated pictures are no copies any more",
     .advice = "more pictures, --flip, or an earlier checkpoint"},
    {.name = "few_steps",
     .needs = samples_are_poor,
     .when = "the run has done all of its epochs or steps without --init, and neither coverage nor diversity (from "
             "step 500 on) is 0.7 or more",
     .value = steps,
     .below = true,
     .begins = 1000,
     .windows = 1,
     .at_end = true,
     .says = "the run ends after %.0f of some thousand steps that pictures need",
     .ended = "",
     .advice = "go on: --resume with more --epochs, or more --steps where these ended it"},
    {0},
};

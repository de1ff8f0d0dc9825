/* Metrics of generated images, listed in the table dg_measures. Each metric is also measured between two sets of real
 * images, which gives the real-vs-real baseline. */
#pragma once

#include "core/base/image_size.h"
#include "host/data/images.h"
#include "host/judge/frechet.h"
#include "host/judge/random_net.h"
#include "host/infer/labeller.h"
#include "host/rundir/logged.h"
#include "host/trainer/progress.h"

typedef struct {
    int count; /* images per compared set, >= DG_JUDGED_LEAST */
    dg_size size;
    int channels;
    uint64_t seed;
    int threads;               /* CPU threads, 0: OpenMP's default */
    dg_random_net *random_net; /* network of random features, or NULL to skip their metrics */
    dg_labeller *labeller;     /* classifier, or NULL to skip the metrics that need a classifier */
    const dg_model *gan;       /* the two-sample test trains layers like this GAN's discriminator, unless gan is NULL */
    dg_backend *backend;
    dg_progress *progress;
} dg_jury;
enum { DG_JUDGED_LEAST = 16 };

/* Returns DG_USAGE if the discriminator of gan cannot be converted to a classifier of two classes. */
dg_err dg_judge_takes(const dg_model *gan);

enum { DG_SLICED_LEVELS = 5 };

enum {
    DG_BESIDE_SWD, /* mean sliced Wasserstein distance of the pyramid levels */
    DG_BESIDE_LEVEL,
    DG_BESIDE_FRECHET = DG_BESIDE_LEVEL + DG_SLICED_LEVELS,
    DG_BESIDE_RECALL,
    DG_BESIDE_COVERAGE,
    DG_BESIDE_NEAREST,
    DG_BESIDE_KID,
    DG_BESIDES
};

typedef struct {
    uint8_t *pixels;     /* (count, height, width, channels) */
    double *share;       /* (count, classes) probabilities; NULL: no classifier */
    double *hidden;      /* (count, features) input of the classifier's last layer */
    double *feature;     /* (count, DG_RANDOM_FEATURES); this and the pointers below are NULL without random_net */
    double *next, *ball; /* (count) squared feature distances; next: to the nearest neighbour; ball: to the 5th */
    double *near, *reals_near; /* squared distances: image to nearest real image, real image to nearest image */
    dg_normal normal;          /* normal distribution fitted to the set's features on first use */
    double beside[DG_BESIDES];
    double kid_deviation;
} dg_judged;

/* Shuffle the images by seed j->seed, and copy j->count images, from index `first` on, to out. `stream` is 0 for
 * real images and 1 for generated images. Free with dg_judged_free, even after errors. */
dg_err dg_judged_take(const dg_jury *j, const dg_images *images, int stream, int first, dg_judged *out);
void dg_judged_free(dg_judged *x);

/* Compare the image set `other` with the real images `reals`, and store the metrics in `other`. `held` is a second
 * set of real images. The first call must have other == held. */
dg_err dg_judged_beside(const dg_jury *j, dg_judged *reals, const dg_judged *held, dg_judged *other);

typedef struct {
    double value;
    double low, high; /* 95% confidence interval; if low equals high, the metric has no interval */
    double deviation; /* standard deviation of KID over subsets; 0 for other metrics */
} dg_measured;

enum { DG_NEEDS_LABELLER = 1, DG_NEEDS_TRAINING = 2, DG_NEEDS_RANDOM_NET = 4 };

typedef struct {
    const char *name, *label;
    bool higher;
    bool one;
    bool percent;
    bool logged; /* with --eval-every, log.csv has a column of this metric */
    unsigned needs;
    int place; /* index DG_BESIDE_... in dg_judged, if compute is NULL */
    dg_err (*compute)(const dg_jury *j, const dg_judged *reals, const dg_judged *other, dg_measured *out);
} dg_measure;

extern const dg_measure dg_measures[];

/* Returns the metric of a column of the log that needs no {inception}: column < DG_LOGGED_ALWAYS. */
const dg_measure *dg_measure_logged(int column);
bool dg_measurable(const dg_measure *m, const dg_jury *j);
static inline const char *dg_measure_best(const dg_measure *m) { return m->one ? "1" : m->higher ? "higher" : "lower"; }

/* Returns DG_NUMBERS if the metric is not finite. */
dg_err dg_measure_take(const dg_measure *m, const dg_jury *j, const dg_judged *reals, const dg_judged *other,
                       dg_measured *out);

typedef struct {
    double real, other; /* shares of real and of `other` images classified as this class */
    double sure;        /* share of this class among the confidently classified `other` images */
    bool left_out;
} dg_class_verdict;
/* out: one verdict per class. Returns DG_DEVICE if out of memory. */
dg_err dg_judge_classes(const dg_jury *j, const dg_judged *reals, const dg_judged *other, dg_class_verdict *out);

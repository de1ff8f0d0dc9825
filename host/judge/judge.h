/* How good images are: measures that compare generated images with real ones, each a row of one table, and each
 * taken once more with other real images in the place of the generated ones. That is its floor: what so many images
 * can be told to be at best. */
#ifndef DG_JUDGE_H
#define DG_JUDGE_H

#include "host/judge/frechet.h"
#include "host/judge/random_net.h"
#include "host/infer/labeller.h"
#include "host/rundir/logged.h"
#include "host/trainer/progress.h"

/* What the measures have to go by. */
typedef struct {
    int count; /* images of each set, DG_JUDGED_LEAST or more */
    int size, channels;
    uint64_t seed;
    int threads;               /* of the CPU, 0: as OpenMP has it */
    dg_random_net *random_net; /* NULL: what needs neither classifier nor training is not measured either */
    dg_labeller *labeller;     /* NULL: no classifier */
    const dg_model *gan;       /* of whose discriminator's layout a judge is trained; NULL: none is */
    dg_backend *backend;       /* that it is trained on */
    dg_progress *progress;
} dg_jury;
enum { DG_JUDGED_LEAST = 16 };

/* DG_USAGE: its discriminator's layout cannot become a judge of two classes. */
dg_err dg_judge_takes(const dg_model *gan);

enum { DG_SLICED_LEVELS = 5 }; /* of a pyramid: full size, half of it ... */

/* Numbers of a set beside the real ones, which are computed together. */
enum {
    DG_BESIDE_SWD, /* the mean of the levels */
    DG_BESIDE_LEVEL,
    DG_BESIDE_FRECHET = DG_BESIDE_LEVEL + DG_SLICED_LEVELS,
    DG_BESIDE_RECALL,
    DG_BESIDE_COVERAGE,
    DG_BESIDE_NEAREST,
    DG_BESIDES
};

/* A set of so many images, what the classifier takes them for, and what the random network makes of them. */
typedef struct {
    uint8_t *pixels;           /* (count, size, size, channels) */
    double *share;             /* of the classes (count, classes); NULL without a classifier */
    double *hidden;            /* what its last layer reads (count, features) */
    double *feature;           /* (count, DG_RANDOM_FEATURES); NULL without a random network, as all that follows */
    double *next, *ball;       /* squared distances to the nearest and the fifth nearest other one of the set */
    double *near, *reals_near; /* dg_judged_beside: to the nearest real one, and of each real one to the nearest here */
    dg_normal normal;          /* of real ones, by the first comparison: of the features */
    double beside[DG_BESIDES];
} dg_judged;

/* count of so many images, those from place `first` on of the order that jury->seed draws; stream: 0 of real ones, 1
 * of generated ones. Freed with dg_judged_free, after errors too. */
dg_err dg_judged_take(const dg_jury *j, const uint8_t *pixels, int images, int stream, int first, dg_judged *out);
void dg_judged_free(dg_judged *x);

/* Compare a set with real ones: other->beside. held: other real images, which are compared first; those that are
 * compared may be they. */
dg_err dg_judged_beside(const dg_jury *j, dg_judged *reals, const dg_judged *held, dg_judged *other);

typedef struct {
    double value;
    double low, high; /* its 95% interval; equal: there is none */
} dg_measured;

enum { DG_NEEDS_LABELLER = 1, DG_NEEDS_TRAINING = 2, DG_NEEDS_RANDOM_NET = 4 };

typedef struct {
    const char *name, *label; /* in JSON; for people */
    bool higher;              /* is better; otherwise lower */
    bool one;                 /* neither: 1 is best */
    bool percent;             /* a share, shown in percent */
    bool logged;              /* a column of the log with --eval-every */
    unsigned needs;
    int place; /* in dg_judged.beside, where compute is NULL */
    /* How `other` images are beside real ones. */
    dg_err (*compute)(const dg_jury *j, const dg_judged *reals, const dg_judged *other, dg_measured *out);
} dg_measure;

extern const dg_measure dg_measures[]; /* ends with name NULL */

/* The measure in this column of the log. */
const dg_measure *dg_measure_logged(int column);
bool dg_measurable(const dg_measure *m, const dg_jury *j);
static inline const char *dg_measure_best(const dg_measure *m) { return m->one ? "1" : m->higher ? "higher" : "lower"; }

/* Take a measure. DG_NUMBERS: it is no number. */
dg_err dg_measure_take(const dg_measure *m, const dg_jury *j, const dg_judged *reals, const dg_judged *other,
                       dg_measured *out);

/* What is said of a class. */
typedef struct {
    double real, other; /* share of the images that are taken for it: the total variation of these is a measure */
    double sure;        /* the same among the other images that are surely of a class */
    bool left_out;
} dg_class_verdict;
/* Of all classes. DG_DEVICE: out of memory. */
dg_err dg_judge_classes(const dg_jury *j, const dg_judged *reals, const dg_judged *other, dg_class_verdict *out);

#endif

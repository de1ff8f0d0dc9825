/* How good pictures are: measures that compare generated pictures with real ones, each a row of one table, and each
 * taken once more with other real pictures in the place of the generated ones. That is its floor: what so many pictures
 * can be told to be at best. */
#ifndef DG_JUDGE_H
#define DG_JUDGE_H

#include "host/net/labeller.h"
#include "host/run/progress.h"

/* What the measures have to go by. */
typedef struct {
    int count; /* pictures of each set, DG_JUDGED_LEAST or more */
    int size, channels;
    uint64_t seed;
    dg_labeller *labeller; /* NULL: no classifier */
    const dg_model *gan;   /* of whose discriminator's layout a judge is trained; NULL: none is */
    dg_backend *backend;   /* that it is trained on */
    dg_progress *progress;
} dg_jury;
enum { DG_JUDGED_LEAST = 16 };

/* DG_USAGE: its discriminator's layout cannot become a judge of two classes. */
dg_err dg_judge_takes(const dg_model *gan);

/* A set of so many pictures, and what the classifier takes them for. */
typedef struct {
    uint8_t *pixels; /* (count, size, size, channels) */
    double *share;   /* of the classes (count, classes); NULL without a classifier */
    double *hidden;  /* what its last layer reads (count, features) */
} dg_judged;

/* count of so many pictures, those from place `first` on of the order that jury->seed draws; stream: 0 of real ones, 1
 * of generated ones. Freed with dg_judged_free, after errors too. */
dg_err dg_judged_take(const dg_jury *j, const uint8_t *pixels, int pictures, int stream, int first, dg_judged *out);
void dg_judged_free(dg_judged *x);

typedef struct {
    double value;
    double low, high; /* its 95% interval; equal: there is none */
} dg_measured;

enum { DG_NEEDS_LABELLER = 1, DG_NEEDS_TRAINING = 2 };

typedef struct {
    const char *name, *label; /* in JSON; for people */
    bool higher;              /* is better; otherwise lower */
    bool percent;             /* a share, shown in percent */
    unsigned needs;
    /* How `other` pictures are beside real ones. */
    dg_err (*compute)(const dg_jury *j, const dg_judged *reals, const dg_judged *other, dg_measured *out);
} dg_measure;

extern const dg_measure dg_measures[]; /* ends with name NULL */
bool dg_measurable(const dg_measure *m, const dg_jury *j);

/* Take a measure. DG_NUMBERS: it is no number. */
dg_err dg_measure_take(const dg_measure *m, const dg_jury *j, const dg_judged *reals, const dg_judged *other,
                       dg_measured *out);

/* What is said of a class. */
typedef struct {
    double real, other; /* share of the pictures that are taken for it: the total variation of these is a measure */
    double sure;        /* the same among the other pictures that are surely of a class */
    bool left_out;
} dg_class_verdict;
/* Of all classes. DG_DEVICE: out of memory. */
dg_err dg_judge_classes(const dg_jury *j, const dg_judged *reals, const dg_judged *other, dg_class_verdict *out);

#endif

/* Metrics of each class of a conditional generator, for `dcgan eval`. */
#pragma once

#include "host/data/dataset.h"
#include "host/infer/generator.h"
#include "host/judge/judge.h"

typedef struct {
    const char *name;
    int count; /* images per compared set; 0: the class has too few real images */
    dg_measured value[DG_LOGGED], least[DG_LOGGED];
    double right; /* share of the samples that the classifier assigns to this class; NAN: no classifier */
} dg_eval_class;

typedef struct {
    int n; /* 0: no conditional generator, or a dataset with other classes */
    dg_eval_class *class;
} dg_eval_classes;

/* Compare samples of each class with the real images of this class. Half of the real images are the real-vs-real
 * baseline. A class with fewer than 2 * DG_JUDGED_LEAST real images has no metrics. */
dg_err dg_eval_classes_measure(const dg_jury *jury, dg_generator *g, const dg_dataset *reals, dg_eval_classes *out);
void dg_eval_classes_free(dg_eval_classes *c);

void dg_eval_classes_print(const dg_eval_classes *c);
void dg_eval_classes_json(const dg_eval_classes *c);

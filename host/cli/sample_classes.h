/* The classes of samples by a conditional GAN, chosen by --class. */
#pragma once

#include "host/data/dataset.h"
#include "host/infer/generator.h"
#include "host/options/options.h"

typedef struct {
    const dg_generator *g;
    int classes; /* of the generator, or 0 */
    char **name; /* (classes) */
    char *text;
    char **folder; /* folders of all classes, after dg_sample_classes_all */
    int n, *list;  /* the chosen classes in turn; n 0: the shares of the dataset */
} dg_sample_classes;

/* Returns DG_USAGE for an unknown class, or for --class with a generator without classes. Call dg_sample_classes_close
 * even after errors. */
dg_err dg_sample_classes_open(const dg_options *o, const dg_generator *g, dg_sample_classes *out);
void dg_sample_classes_close(dg_sample_classes *c);

/* Returns the class of sample number `image` with index i among the samples of this command; -1 without classes. */
int dg_sample_class(const dg_sample_classes *c, int i, uint64_t image);

/* Choose all classes in turn, unless --class chose some. Set c->folder; error messages begin with `to`. */
dg_err dg_sample_classes_all(dg_sample_classes *c, const char *to);

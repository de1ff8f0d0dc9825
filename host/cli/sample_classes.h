/* The classes of samples by a conditional GAN, chosen by --class. */
#pragma once

#include "host/infer/generator.h"
#include "host/options/options.h"

typedef struct {
    const dg_generator *g;
    char **name; /* names of all classes; NULL for a generator without classes */
    char *text;
    int n, *list; /* the chosen classes in turn; n 0: the shares of the dataset */
} dg_sample_classes;

/* Returns DG_USAGE for an unknown class, or for --class with a generator without classes. Call dg_sample_classes_close
 * even after errors. */
dg_err dg_sample_classes_open(const dg_options *o, const dg_generator *g, dg_sample_classes *out);
void dg_sample_classes_close(dg_sample_classes *c);

/* Returns the class of sample number `image` with index i among the samples of this command; -1 without classes. */
int dg_sample_class(const dg_sample_classes *c, int i, uint64_t image);

/* Choose all classes in turn, unless --class chose some. */
dg_err dg_sample_classes_all(dg_sample_classes *c);

/* Write the name of a folder for a class: its name, or "class-N" if a folder cannot have this name. */
void dg_class_folder(const dg_sample_classes *c, int class, char *out, size_t size);

#include "host/train/classes.h"

#include <stdio.h>
#include <stdlib.h>

#include "host/net/classifier.h"

enum { FEWEST = 20 }; /* images of a class, below which a GAN copies them */

dg_err dg_class_images(const dg_dataset *d, int **out)
{
    *out = calloc((size_t)d->classes, sizeof **out);
    if (!*out) return dg_fail(DG_DEVICE, "out of memory for %d classes", d->classes);
    for (int i = 0; i < d->train; i++) (*out)[d->label[i]]++;
    return DG_OK;
}

static dg_err check_sizes(const dg_options *o, const dg_dataset *d)
{
    int *images, few = 0, least = 0;
    const dg_err e = dg_class_images(d, &images);
    if (e) return e;
    for (int c = 0; c < d->classes; c++) {
        few += images[c] < FEWEST;
        if (images[c] < images[least]) least = c;
    }
    const int fewest = images[least];
    free(images);
    if (!few || o->force) return DG_OK;
    char others[64] = "";
    if (few > 1) snprintf(others, sizeof others, ", and %d more classes have fewer than %d", few - 1, FEWEST);
    return dg_fail(DG_DATA,
                   DG_MSG("small-class", "{conditional}: class %s of %s has only %d images%s, so its samples would be "
                                         "copies; add images, remove the class, or use --force"),
                   d->class_name[least], o->data, fewest, others);
}

dg_err dg_add_classes(dg_model *model, int classes)
{
    char name[80], where[sizeof model->where], *text = malloc(DG_MODEL_TEXT_MAX);
    if (!text) return dg_fail(DG_DEVICE, "out of memory for a model");
    snprintf(name, sizeof name, "%.50s-%dclasses", model->name, classes);
    snprintf(where, sizeof where, "%s", model->where);
    dg_err e = dg_model_reclassed(model->text, name, classes, text);
    if (!e) e = dg_model_parse(text, where, model);
    free(text);
    return e;
}

static dg_err follow_gan(const dg_options *o, const dg_dataset *d, bool may, dg_model *model)
{
    if (!model->classes && !may) return DG_OK;
    if (d->single && !model->classes) {
        dg_warn(DG_MSG("one-class", "the GAN is trained without classes: %s"), d->unclassified);
        return DG_OK;
    }
    if (!d->classes)
        return dg_fail(DG_DATA,
                       DG_MSG("no-labels", "{conditional}: %s has no classes (%s); use a folder per class, a file "
                                           "labels.csv, or IDX or CIFAR files with labels"),
                       o->data, dg_dataset_unclassified(d));
    if (model->classes && model->classes != d->classes)
        return dg_fail(DG_DATA, DG_MSG("gan-class-count", "%s: has %d classes; model %s has %d"), o->data, d->classes,
                       model->name, model->classes);
    const dg_err e = check_sizes(o, d);
    return e || model->classes ? e : dg_add_classes(model, d->classes);
}

bool dg_needs_labels(const dg_options *o, const dg_model *model)
{
    return o->conditional || model->classes || dg_recipe_find(model)->labels;
}

dg_err dg_follow_classes(const dg_options *o, const dg_dataset *d, bool may, dg_model *model)
{
    char name[64];
    if (!dg_recipe_find(model)->labels) return follow_gan(o, d, may, model);
    const int classes = dg_classifier_classes(model);
    if (o->conditional)
        return dg_fail(DG_USAGE,
                       DG_MSG("conditional-for-gans", "{conditional}: applies to GANs only; model %s is a "
                                                      "classifier, which uses classes in any case"),
                       model->name);
    if (may && d->classes >= 2 && d->classes != classes && !o->init &&
        dg_model_name_classes(o->model, d->classes, name))
        return dg_model_read(name, model);
    return dg_dataset_check_classes(d, o->data, model->name, classes);
}

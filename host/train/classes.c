#include "host/train/classes.h"

#include "host/net/classifier.h"

dg_err dg_follow_classes(const dg_options *o, const dg_dataset *d, bool may, dg_model *model)
{
    char name[64];
    const int classes = dg_classifier_classes(model);
    if (may && d->classes >= 2 && d->classes != classes && !o->init &&
        dg_model_name_classes(o->model, d->classes, name))
        return dg_model_read(name, model);
    return dg_dataset_check_classes(d, o->data, model->name, classes);
}

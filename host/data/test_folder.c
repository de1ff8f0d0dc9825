/* Adds the images of another folder to a dataset as test images. */
#include "host/data/dataset_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static dg_err translate(const dg_dataset_options *o, const dg_dataset *d, dg_dataset *test)
{
    char name[1024], class[300];
    if (!d->classes) return DG_OK;
    if (!test->classes)
        return dg_fail(DG_DATA, DG_MSG("no-test-classes", "%s: has no classes for testing: %s"), o->dir,
                       dg_dataset_unclassified(test));
    for (int i = 0; i < test->count; i++) {
        const char *of = test->class_name[test->label[i]];
        const int label = dg_dataset_class_named(d, of);
        if (label < 0)
            return dg_fail(DG_DATA, "%s/%s: class %s is not a training class", o->dir,
                           dg_printable(name, sizeof name, test->name[i]), dg_printable(class, sizeof class, of));
        test->label[i] = label;
    }
    return DG_OK;
}

dg_err dg_dataset_add_test(const dg_dataset_options *o, dg_dataset *d)
{
    dg_dataset_options of = *o;
    dg_dataset t;
    of.dir = o->test;
    of.test = of.cache = of.skipped = of.other_file = NULL;
    of.may_stay = of.keep_file = false;
    of.least = 0;
    dg_err e = dg_source_read(&of, &t);
    if (!e && t.train < t.count) e = dg_dataset_keep_test(&t);
    if (!e) e = dg_dataset_judge(&of, &t);
    if (!e) e = translate(&of, d, &t);
    d->train = d->count;
    if (!e) e = dg_dataset_join(&of, d, &t);
    dg_dataset_free(&t);
    return e;
}

/* Sets the classes, training images and test images of a dataset, by the folders of the images or by given class names.
 */
#include "core/base/plural.h"
#include "core/base/grow.h"
#include "host/data/dataset_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef struct {
    char **name;
    int n, room;
    int (*order)(const void *, const void *);
} folders;

static dg_err no_memory(void) { return dg_fail(DG_DEVICE, "no memory for the classes"); }

static void folders_free(folders *f)
{
    for (int i = 0; i < f->n; i++) free(f->name[i]);
    free(f->name);
    *f = (folders){0};
}

/* Returns the class of image i, which has *bytes bytes: given[i], or the first folder in its path after `skip` bytes.
 */
static const char *class_of(const dg_dataset *d, const char *const *given, int i, size_t skip, size_t *bytes)
{
    const char *class = given ? given[i] : d->name[i] + skip,
               *slash = given ? class + strlen(class) : strchr(class, '/');
    *bytes = slash ? (size_t)(slash - class) : 0;
    return class;
}

static dg_err add(folders *f, const char *path, size_t bytes)
{
    char **more = dg_grow(f->name, f->n, &f->room, sizeof *more);
    if (!more) return no_memory();
    f->name = more;
    if (!(f->name[f->n] = strndup(path, bytes))) return no_memory();
    f->n++;
    return DG_OK;
}

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static const char *digits(const char *name)
{
    if (!*name || name[strspn(name, "0123456789")]) return NULL;
    name += strspn(name, "0");
    return name;
}

/* Numbers precede names. */
static int by_number(const void *a, const void *b)
{
    const char *x = digits(*(char *const *)a), *y = digits(*(char *const *)b);
    if (!x || !y) return x ? -1 : y ? 1 : by_name(a, b);
    const size_t n = strlen(x), m = strlen(y);
    const int order = n != m ? (n > m) - (n < m) : strcmp(x, y);
    return order ? order : by_name(a, b);
}

static int find(const folders *f, const char *name)
{
    char *const *at = f->n ? bsearch(&name, f->name, (size_t)f->n, sizeof *f->name, f->order) : NULL;
    return at ? (int)(at - f->name) : -1;
}

static int without_twins(char **name, int n)
{
    int kept = 0;
    for (int i = 0; i < n; i++)
        if (kept && !strcmp(name[kept - 1], name[i])) free(name[i]);
        else name[kept++] = name[i];
    return kept;
}

/* List the classes of images `from` to `to` - 1. `*plain` is the index of the first image without folder, or -1. */
static dg_err collect(const dg_dataset *d, const char *const *given, int from, int to, size_t skip, folders *out,
                      int *plain)
{
    *out = (folders){.order = given ? by_number : by_name};
    *plain = -1;
    dg_err e = DG_OK;
    for (int i = from; i < to && !e; i++) {
        size_t bytes;
        const char *class = class_of(d, given, i, skip, &bytes), *last = out->n ? out->name[out->n - 1] : NULL;
        if (!bytes) *plain = *plain < 0 ? i : *plain;
        else if (!last || strlen(last) != bytes || memcmp(last, class, bytes)) e = add(out, class, bytes);
    }
    if (out->n) qsort(out->name, (size_t)out->n, sizeof *out->name, out->order);
    out->n = without_twins(out->name, out->n);
    if (e) folders_free(out);
    return e;
}

dg_err dg_dataset_unclassify(dg_dataset *d, const char *format, ...)
{
    char why[DG_MESSAGE_BYTES];
    va_list ap;
    va_start(ap, format);
    vsnprintf(why, sizeof why, format, ap);
    va_end(ap);
    return (d->unclassified = strdup(why)) ? DG_OK : no_memory();
}

static void give_labels(dg_dataset *d, const char *const *given, int from, int to, size_t skip, const folders *classes)
{
    char name[DG_PATH_BYTES] = "";
    int label = -1;
    for (int i = from; i < to; i++) {
        size_t bytes;
        const char *class = class_of(d, given, i, skip, &bytes);
        if (strlen(name) != bytes || memcmp(name, class, bytes)) {
            snprintf(name, sizeof name, "%.*s", (int)bytes, class);
            label = find(classes, name);
        }
        d->label[i] = label;
    }
}

static dg_err room_for_labels(dg_dataset *d)
{
    d->label = malloc(d->count ? (size_t)d->count * sizeof *d->label : 1);
    return d->label ? DG_OK : no_memory();
}

static void take_classes(dg_dataset *d, folders *f)
{
    d->class_name = f->name;
    d->classes = f->n;
    *f = (folders){0};
}

static dg_err by_class(dg_dataset *d, const char *const *given)
{
    int plain;
    folders f;
    dg_err e = collect(d, given, 0, d->count, 0, &f, &plain);
    if (!e) e = room_for_labels(d);
    if (!e) {
        give_labels(d, given, 0, d->count, 0, &f);
        take_classes(d, &f);
    }
    folders_free(&f);
    return e;
}

const char *const dg_test_names[] = {"test", "valid", "val", "validation", "dev", NULL};

static bool is_held_out(const char *name)
{
    const char *const *t = dg_test_names;
    while (*t && strcasecmp(*t, name)) t++;
    return *t != NULL;
}

/* Returns the folder of this name in any letter case, or NULL. A folder with exactly this name has priority. */
static const char *named(const folders *f, const char *name)
{
    const int exact = find(f, name);
    if (exact >= 0) return f->name[exact];
    for (int i = 0; i < f->n; i++)
        if (!strcasecmp(f->name[i], name)) return f->name[i];
    return NULL;
}

static void range_of(const dg_dataset *d, const char *top, int *from, int *to)
{
    const size_t bytes = strlen(top);
    *from = 0;
    while (*from < d->count && (strncmp(d->name[*from], top, bytes) || d->name[*from][bytes] != '/')) ++*from;
    *to = *from;
    while (*to < d->count && !strncmp(d->name[*to], top, bytes) && d->name[*to][bytes] == '/') ++*to;
}

typedef struct {
    const char *train, *test;
} part_names;

static dg_err order_parts(const dg_dataset_options *o, dg_dataset *d, const int train[2], const int test[2],
                          const part_names *name)
{
    int32_t *order = malloc(sizeof *order * (size_t)d->count);
    if (!order) return no_memory();
    int n = 0;
    const int trained = train[1] - train[0], tested = test[1] - test[0];
    for (int i = train[0]; i < train[1]; i++) order[n++] = i;
    for (int i = test[0]; i < test[1]; i++) order[n++] = i;
    if (n < d->count)
        dg_warn(DG_MSG("parts-left-out",
                       "%d image%s of %s left out: not in %s/ or %s/; move them into %s/ to train on them"),
                d->count - n, dg_s(d->count - n), o->dir, name->train, name->test, name->train);
    dg_err e = dg_dataset_arrange(d, order, trained + tested, trained);
    free(order);
    return e;
}

static dg_err check_test_classes(const dg_dataset_options *o, const dg_dataset *d, const int test[2], const char *train)
{
    for (int i = test[0]; i < test[1] && o->labelled && !o->any_part; i++) {
        if (d->label[i] >= 0) continue;
        char name[1024];
        return dg_fail(DG_DATA,
                       DG_MSG("class-not-trained", "%s/%s: no training images for this class (none in %s/%s); add "
                                                   "training images, or remove the class from the test images"),
                       o->dir, dg_printable(name, sizeof name, d->name[i]), o->dir, train);
    }
    return DG_OK;
}

static dg_err by_part(const dg_dataset_options *o, dg_dataset *d, const char *const *given, const part_names *name)
{
    const size_t below_train = strlen(name->train) + 1, below_test = strlen(name->test) + 1;
    int train[2], test[2], plain, plain_test;
    folders f, g;
    range_of(d, name->train, train, train + 1);
    range_of(d, name->test, test, test + 1);
    dg_err e = collect(d, given, train[0], train[1], below_train, &f, &plain);
    if (e) return e;
    e = collect(d, given, test[0], test[1], below_test, &g, &plain_test);
    folders_free(&g);
    if (!e && (plain >= 0 || plain_test >= 0))
        e = dg_dataset_unclassify(d, "%.500s is not in a class folder", d->name[plain >= 0 ? plain : plain_test]);
    else if (!e) {
        e = room_for_labels(d);
        for (int i = 0; !e && i < d->count; i++) d->label[i] = -1;
        if (!e) give_labels(d, given, train[0], train[1], below_train, &f);
        if (!e) give_labels(d, given, test[0], test[1], below_test, &f);
        if (!e) e = check_test_classes(o, d, test, name->train);
        if (!e) take_classes(d, &f);
        if (!e) e = order_parts(o, d, train, test, name);
    }
    folders_free(&f);
    return e;
}

static dg_err label(const dg_dataset_options *o, dg_dataset *d, const char *const *given)
{
    int plain;
    folders top;
    dg_err e = collect(d, NULL, 0, d->count, 0, &top, &plain);
    if (e) return e;
    const char *other = NULL, *const *test = dg_test_names;
    while (*test && !named(&top, *test)) test++;
    const part_names part = {named(&top, "train"), *test ? named(&top, *test) : NULL};
    const bool parts = part.train && part.test;
    for (int i = 0; i < top.n; i++)
        if ((!part.train || strcmp(top.name[i], part.train)) && !is_held_out(top.name[i])) other = top.name[i];
    if (given) e = parts && plain < 0 && !other ? by_part(o, d, given, &part) : by_class(d, given);
    else if (top.n && plain >= 0)
        e = dg_dataset_unclassify(d, "%.500s is not in a folder, but other images are", d->name[plain]);
    else if (parts && other)
        e = dg_dataset_unclassify(d, "%.500s/ is next to %s/ and %s/, but belongs to neither", other, part.train,
                                  part.test);
    else if (top.n) e = parts ? by_part(o, d, NULL, &part) : by_class(d, NULL);
    folders_free(&top);
    return e;
}

dg_err dg_label_by_folder(const dg_dataset_options *o, dg_dataset *d) { return label(o, d, NULL); }

dg_err dg_label_by_names(const dg_dataset_options *o, dg_dataset *d, const char *const *class)
{
    return label(o, d, class);
}

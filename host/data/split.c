/* Chooses test images: the dataset's own, images of another folder, or a share of each class. */
#include "core/base/rng.h"
#include "host/data/dataset_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static dg_err no_memory(const dg_dataset *d) { return dg_fail(DG_DEVICE, "no memory to split %d images", d->count); }

/* Permute an array: item i of the result is item order[i]. `one` and `done` are scratch memory for one item and
 * `count` bytes. */
static void permute(void *items, size_t bytes, const int32_t *order, int count, uint8_t *one, uint8_t *done)
{
    uint8_t *item = items;
    memset(done, 0, (size_t)count);
    for (int first = 0; items && first < count; first++) {
        /* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): order[first] is set */
        if (done[first] || order[first] == first) continue;
        memcpy(one, item + (size_t)first * bytes, bytes);
        int i = first;
        for (int from; (from = order[i]) != first; i = from) {
            memcpy(item + (size_t)i * bytes, item + (size_t)from * bytes, bytes);
            done[i] = 1;
        }
        memcpy(item + (size_t)i * bytes, one, bytes);
        done[i] = 1;
    }
}

static void add_others(int32_t *order, int n, int count, uint8_t *kept)
{
    memset(kept, 0, (size_t)count);
    for (int i = 0; i < n; i++) kept[order[i]] = 1;
    for (int i = 0; i < count; i++)
        if (!kept[i]) order[n++] = i;
}

dg_err dg_dataset_arrange(dg_dataset *d, int32_t *order, int n, int train)
{
    const size_t bytes = dg_size_values(d->size, d->channels);
    uint8_t *done = malloc((size_t)d->count + 1), *one = malloc(bytes + sizeof *d->name + sizeof *d->hash);
    if (done && one) {
        add_others(order, n, d->count, done);
        permute(d->pixels, bytes, order, d->count, one, done);
        permute(d->name, sizeof *d->name, order, d->count, one, done);
        permute(d->width, sizeof *d->width, order, d->count, one, done);
        permute(d->height, sizeof *d->height, order, d->count, one, done);
        permute(d->kind, sizeof *d->kind, order, d->count, one, done);
        permute(d->slot, sizeof *d->slot, order, d->count, one, done);
        permute(d->hash, sizeof *d->hash, order, d->count, one, done);
        permute(d->did, sizeof *d->did, order, d->count, one, done);
        permute(d->label, sizeof *d->label, order, d->count, one, done);
    }
    free(one);
    free(done);
    if (!done || !one) return no_memory(d);
    for (int i = n; i < d->count; i++) free(d->name[i]);
    uint8_t *less = n < d->count && n && d->pixels ? realloc(d->pixels, (size_t)n * bytes) : NULL;
    if (less) d->pixels = less;
    d->count = n;
    d->train = train;
    d->fingerprint = 0;
    return DG_OK;
}

static dg_err keep(dg_dataset *d, int from, int to)
{
    if (to - from == d->count) return DG_OK;
    int32_t *order = malloc(sizeof *order * (size_t)d->count);
    if (!order) return no_memory(d);
    for (int i = from; i < to; i++) order[i - from] = i;
    dg_err e = dg_dataset_arrange(d, order, to - from, to - from);
    free(order);
    return e;
}

static dg_err keep_training(dg_dataset *d) { return keep(d, 0, d->train); }

dg_err dg_dataset_keep_test(dg_dataset *d) { return keep(d, d->train, d->count); }

int dg_mark_evenly(const int32_t *label, int n, int classes, int limit, uint8_t *mark)
{
    int *seen = malloc(sizeof *seen * ((size_t)classes + 1)), marked = 0;
    if (n < limit) limit = n;
    for (int turn = 0; seen && marked < limit; turn++) {
        memset(seen, 0, sizeof *seen * ((size_t)classes + 1));
        for (int i = 0; i < n && marked < limit; i++) {
            const int of = label && label[i] > 0 ? label[i] : 0; /* -1 (class without training images) counts as 0 */
            if (seen[of]++ != turn && label) continue;
            marked += !mark[i];
            mark[i] = 1;
        }
    }
    free(seen);
    return seen ? marked : -1;
}

dg_err dg_dataset_first(dg_dataset *d, int limit)
{
    uint8_t *mark = calloc((size_t)d->count + 1, 1);
    int32_t *order = malloc(sizeof *order * ((size_t)d->count + 1)), *label = d->label;
    int train = -1, test = -1, n = 0;
    if (mark && order) train = dg_mark_evenly(label, d->train, d->classes, limit, mark);
    if (train >= 0)
        test = dg_mark_evenly(label ? label + d->train : NULL, d->count - d->train, d->classes, limit, mark + d->train);
    for (int i = 0; i < d->count && test >= 0; i++)
        if (mark[i]) order[n++] = i;
    const dg_err e = test < 0 ? no_memory(d) : dg_dataset_arrange(d, order, n, train);
    free(mark);
    free(order);
    return e;
}

/* Returns the number of test images. For n >= 2 and share > 0, training and test set get at least one image. */
static int share_of(double share, int n)
{
    const int k = (int)floor(share * n + 1e-9);
    return n < 2 || share <= 0 ? 0 : k < 1 ? 1 : k > n - 1 ? n - 1 : k;
}

/* Mark a random share of a class as test images. `member` and `perm` are scratch memory with one entry per image. */
static void draw_class(const dg_dataset *d, int label, double share, uint64_t seed, int32_t *member, int32_t *perm,
                       uint8_t *mark)
{
    int n = 0;
    for (int i = 0; i < d->count; i++)
        if (!d->label || d->label[i] == label) member[n++] = i;
    dg_permutation_of(perm, n, seed, dg_subsequence(DG_STREAM_SPLIT, (uint64_t)label));
    for (int i = share_of(share, n) - 1; i >= 0; i--) mark[member[perm[i]]] = 1;
}

static dg_err divide_by_share(dg_dataset *d, double share, uint64_t seed)
{
    const size_t n = (size_t)d->count + 1;
    int32_t *order = malloc(n * sizeof *order), *member = malloc(n * sizeof *member), *perm = malloc(n * sizeof *perm);
    uint8_t *mark = calloc(n, 1);
    dg_err e = DG_OK;
    if (order && member && perm && mark) {
        int train = 0, all = 0;
        for (int c = 0; c < d->classes || !c; c++) draw_class(d, c, share, seed, member, perm, mark);
        for (int test = 0; test < 2; test++) {
            for (int i = 0; i < d->count; i++)
                if (mark[i] == test) order[all++] = i;
            if (!test) train = all;
        }
        e = dg_dataset_arrange(d, order, all, train);
    } else {
        e = no_memory(d);
    }
    free(order);
    free(member);
    free(perm);
    free(mark);
    return e;
}

double dg_test_share(const char *test)
{
    char *end;
    if (strspn(test, "0123456789.eE+-") != strlen(test) || !strchr("0123456789.", *test)) return -1;
    const double x = strtod(test, &end);
    return end == test || *end ? -1 : x;
}

dg_err dg_dataset_divide(const dg_dataset_options *o, dg_dataset *d)
{
    const double share = o->test ? dg_test_share(o->test) : -1;
    if (share >= 1)
        return dg_fail(DG_USAGE,
                       DG_MSG("bad-share",
                              "{test} %s: a share must be at least 0 and below 1; for a folder of this name, use ./%s"),
                       o->test, o->test);
    dg_err e = o->test ? keep_training(d) : DG_OK;
    if (!e && share > 0) e = divide_by_share(d, share, o->seed);
    if (!e && !o->labelled) {
        d->aside += d->count - d->train;
        e = keep_training(d);
    }
    return e;
}

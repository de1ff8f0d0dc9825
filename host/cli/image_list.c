#include "host/cli/image_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file_io.h"
#include "core/base/plural.h"
#include "host/cli/commands.h"
#include "host/data/zip.h"

static dg_err grow(dg_image_list *l)
{
    const int capacity = l->capacity ? 2 * l->capacity : 64;
    uint8_t *p = realloc(l->pixels, (size_t)capacity * l->image);
    if (p) l->pixels = p;
    dg_listed *of = realloc(l->of, (size_t)capacity * sizeof *of);
    if (of) l->of = of;
    if (!p || !of) return dg_fail(DG_DEVICE, "out of memory for %d images", capacity);
    l->capacity = capacity;
    return DG_OK;
}

/* `of` has the file's name in `folder`, which is "" for a path; name and class are copied. */
static dg_err add_image(dg_image_list *l, const char *folder, const dg_listed *of, const uint8_t *pixels)
{
    if (l->count == l->capacity) {
        const dg_err e = grow(l);
        if (e) return e;
    }
    const size_t n = strlen(folder), room = n + strlen(of->path) + 2;
    dg_listed mine = {malloc(room), of->class ? strdup(of->class) : NULL, of->width, of->height};
    if (!mine.path || (of->class && !mine.class)) {
        free(mine.path);
        free(mine.class);
        return dg_fail(DG_DEVICE, "out of memory for %d images", l->count);
    }
    snprintf(mine.path, room, "%s%s%s", folder, n && folder[n - 1] != '/' ? "/" : "", of->path);
    memcpy(l->pixels + (size_t)l->count * l->image, pixels, l->image);
    l->of[l->count++] = mine;
    return DG_OK;
}

static dg_err add_folder(const dg_options *o, const dg_model *m, const char *path, dg_image_list *l)
{
    dg_dataset_options d = dg_all_images(o, path, m->size, m->channels);
    d.take_made = true;
    dg_dataset set = {0};
    d.labelled = d.any_part = true;
    dg_err e = dg_dataset_load(&d, &set);
    if (!e && set.count > set.train)
        dg_warn(DG_MSG("test-left-out",
                       "the test part of %s was skipped (%d image%s); to use these images, give their folder"),
                path, set.count - set.train, dg_s(set.count - set.train));
    for (int i = 0; i < set.train && !e; i++) {
        char *class = set.label && set.label[i] >= 0 ? set.class_name[set.label[i]] : NULL;
        const dg_listed of = {set.name[i], class, set.width[i], set.height[i]};
        e = add_image(l, path, &of, set.pixels + (size_t)i * l->image);
    }
    for (int i = 0; i < set.skips && !e; i++)
        if (set.skip[i].bad) dg_warn("%s/%s was skipped: %s", path, set.skip[i].name, set.skip[i].reason);
    dg_dataset_free(&set);
    return e;
}

static dg_err add_file(const dg_options *o, const dg_model *m, const char *path, dg_image_list *l)
{
    const dg_decode_options decode = {.alpha = o->alpha, .exif = o->exif};
    const dg_fitting how = {m->size, m->channels, o->fit, (dg_resize)o->filter};
    void *data;
    size_t bytes;
    dg_decoded of;
    dg_image fitted;
    dg_err e = dg_read_file(path, (size_t)64 << 20, &data, &bytes);
    if (e) return e;
    e = dg_context(dg_image_decode_fitted(data, bytes, &decode, &how, &fitted, &of), "%s", path);
    free(data);
    if (e) return e;
    char name[4096];
    snprintf(name, sizeof name, "%s", path);
    e = add_image(l, "", &(dg_listed){name, NULL, of.W, of.H}, fitted.pixels);
    dg_image_free(&fitted);
    return e;
}

dg_err dg_image_list_add(const dg_options *o, const dg_model *m, const char *path, dg_image_list *l)
{
    l->image = dg_size_values(m->size, m->channels);
    return dg_is_folder(path) || dg_zip_inside(path) ? add_folder(o, m, path, l) : add_file(o, m, path, l);
}

void dg_image_list_drop(dg_image_list *l)
{
    l->count--;
    free(l->of[l->count].path);
    free(l->of[l->count].class);
}

void dg_image_list_free(dg_image_list *l)
{
    while (l->count) dg_image_list_drop(l);
    free(l->of);
    free(l->pixels);
}

/* The images that the operands of a command name, resized for a model. */
#pragma once

#include "host/options/options.h"

typedef struct {
    char *path;
    char *class;       /* class by the image's folder or label, or NULL */
    int width, height; /* size of the file's image */
} dg_listed;

typedef struct {
    int count, capacity;
    size_t image;    /* bytes per image */
    uint8_t *pixels; /* (count, height, width, channels) */
    dg_listed *of;
} dg_image_list;

/* Add the images of a folder, a zip archive or a file. Free the list even after an error. */
dg_err dg_image_list_add(const dg_options *o, const dg_model *m, const char *path, dg_image_list *l);
/* Remove the last image. */
void dg_image_list_drop(dg_image_list *l);
void dg_image_list_free(dg_image_list *l);

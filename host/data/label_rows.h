/* Readers of label files: labels.csv (path,class) and dataset.json of the StyleGAN tools. Returns DG_DATA for an
 * invalid file, with a message that names the line or the list item. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"

typedef struct {
    const char *path, *class;
    int at; /* line of labels.csv, or index in the list of dataset.json */
    bool used;
} dg_label_row;

typedef struct {
    dg_label_row *row; /* in bytewise order of paths, which are unique */
    int rows, room;
    bool json;
    bool absent, none; /* dataset.json has no key "labels", or "labels" is null */
    char *text;        /* this and the members below have the strings of the rows */
    struct cJSON *root;
    char (*number)[12];
} dg_label_rows;

enum { DG_CLASS_BYTES = 256 };

/* Read bytes of text. Both functions free `text`, which has bytes + 1 bytes. Free out also after errors. */
dg_err dg_label_rows_csv(char *text, size_t bytes, dg_label_rows *out);
dg_err dg_label_rows_json(char *text, size_t bytes, dg_label_rows *out);
void dg_label_rows_free(dg_label_rows *r);

/* Returns the row of an image, or NULL. */
dg_label_row *dg_label_rows_find(const dg_label_rows *r, const char *path);

enum { DG_LABEL_PLACE = 24 };
/* Write "line 7" or "labels[6]" to out. Returns out. */
char *dg_label_place(const dg_label_rows *r, int at, char out[DG_LABEL_PLACE]);

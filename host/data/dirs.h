/* The folders of a dataset in one text: "a,b" names two folders, unless there is a file or folder "a,b". */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"

enum { DG_DIRS_MAX = 64, DG_DIRS_BYTES = 4096 };

typedef struct {
    int n;
    const char *dir[DG_DIRS_MAX]; /* in `text` */
    char text[DG_DIRS_BYTES];
} dg_dirs;

/* Split a text into its folders. A text of one folder, of too many bytes or of too many folders stays whole. */
void dg_dirs_split(const char *text, dg_dirs *out);
/* Append a folder to `text`, which may be NULL, unless it has the folder already. Returns a malloc'd text, or NULL with
 * DG_USAGE (a comma in a path, too many folders) or DG_DEVICE in *e. */
char *dg_dirs_add(const char *text, const char *dir, dg_err *e);
/* True if both texts name the same folders in the same order, also by other paths. */
bool dg_dirs_same(const char *a, const char *b);
/* Replace each folder by its absolute path, if `size` bytes are enough. */
void dg_dirs_absolute(char *text, size_t size);

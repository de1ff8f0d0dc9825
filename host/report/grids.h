/* Image grids of a run, encoded for an HTML page within a size limit. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include "core/base/err.h"
#include "host/image/image.h"

typedef struct {
    uint64_t epoch;
    size_t pixels;
    int W, H, side; /* side: longer side in pixels after reduction; 0: not reduced */
    bool png;
    void *data;
    size_t bytes;
} dg_report_file;

typedef struct {
    int level; /* level 0 keeps files, 1 uses JPEG, 2 and 3 use smaller JPEG, higher levels omit epochs */
    int n, on_disk;
    dg_report_file *grid;
} dg_report_grids;

/* Limits for untrusted files in a run directory: bytes and pixels per file, pixels per page. */
enum { DG_GRID_BYTES = 64 << 20, DG_GRID_PIXELS = 32 << 20, DG_GRIDS_PIXELS = 512 << 20 };
/* Max side of a reduced grid in pixels: 16 images of 64 pixels with gaps, rounded up. */
enum { DG_GRID_SIDE = 1072 };

/* Returns DG_DATA or DG_IO if the image file `path` (relative to dir) is unreadable or too large. */
dg_err dg_report_image_read(int dir, const char *path, bool alpha, dg_image *out);

/* Reduce an image so that its longer side has at most `side` pixels. Set *reduced if the image was larger. */
dg_err dg_report_image_reduce(dg_image *im, int side, bool *reduced);

/* Update g from the files epoch-NNNN.png in dir, without reading files that g has. Initialise g with {0}. `path` is for
 * messages only. */
dg_err dg_report_grids_renew(dg_report_grids *g, int dir, const char *path);
dg_err dg_report_grids_newest(dg_report_grids *g, int dir, const char *path);
void dg_report_grids_free(dg_report_grids *g);

/* Read an image file. A file of more than `most` bytes becomes a JPEG. If the file does not exist, out->data is
 * NULL. */
dg_err dg_report_file_read(int dir, const char *path, size_t most, dg_report_file *out);

void dg_report_file_src(FILE *to, const dg_report_file *p);

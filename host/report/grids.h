/* The grids of samples of a run as a page holds them: encoded, and no more bytes than there is room for. */
#ifndef DG_REPORT_GRIDS_H
#define DG_REPORT_GRIDS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include "core/base/err.h"
#include "host/image/image.h"

/* An image as bytes of a PNG or, where that is smaller, a JPEG. */
typedef struct {
    uint64_t epoch;
    size_t pixels;  /* of the file */
    int W, H, side; /* side: the longer one was reduced to this, 0: it was not */
    bool png;
    void *data;
    size_t bytes;
} dg_report_file;

typedef struct {
    int level; /* 0: all, as they are; then reduced, then some epochs are left out */
    int n, on_disk;
    dg_report_file *grid; /* by epoch */
} dg_report_grids;

/* What is read of a file: bytes and pixels of one, and pixels of all that become a page; then some epochs are left out.
 * Files come from whoever made the run directory. */
enum { DG_GRID_BYTES = 64 << 20, DG_GRID_PIXELS = 32 << 20, DG_GRIDS_PIXELS = 512 << 20 };
/* Sides of an image that is reduced for a page or a GIF: twice 8 of 64 with their gaps, rounded up. */
enum { DG_GRID_SIDE = 1072 };

/* Decode the file of that name in the open directory. DG_DATA, DG_IO: it cannot be, or is too large. */
dg_err dg_report_image_read(int dir, const char *path, bool alpha, dg_image *out);

/* Reduce an image, its longer side to `side` at most, but not below a pixel; *reduced: it was larger. */
dg_err dg_report_image_reduce(dg_image *im, int side, bool *reduced);

/* Bring g up to date with the files epoch-NNNN.png in the open directory; path is for messages. g begins as {0}, and is
 * kept from one time to the next, so that each file is read once. */
dg_err dg_report_grids_renew(dg_report_grids *g, int dir, const char *path);
/* The newest alone. */
dg_err dg_report_grids_newest(dg_report_grids *g, int dir, const char *path);
/* The epochs of all that are on the disk, by number, malloc'd. */
dg_err dg_report_epochs(int dir, const char *path, uint64_t **epoch, int *n);
void dg_report_grids_free(dg_report_grids *g);

/* A file of the directory as it is, when it has at most `most` bytes; else reduced and as JPEG. out->data NULL: there
 * is none. */
dg_err dg_report_file_read(int dir, const char *path, size_t most, dg_report_file *out);

/* Its src for HTML. */
void dg_report_file_src(FILE *to, const dg_report_file *p);

#endif

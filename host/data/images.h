/* The pixels of a dataset, in memory or in a file. Images of a file are read with pread. A mapped file would end the
 * program with SIGBUS if the file shrinks or its server fails, where pread returns an error. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"

typedef struct dg_image_file dg_image_file;

typedef struct {
    size_t bytes; /* per image */
    int count;
    const uint8_t *memory; /* (count, bytes), or NULL if the images are in `file` */
    dg_image_file *file;
    const int32_t *slot; /* slot of each image in the file */
    char *const *name;   /* path of each image, for messages, or NULL */
} dg_images;

dg_images dg_images_of(const uint8_t *pixels, int count, size_t bytes);

/* Images that are stored consecutively in an open file. Slot 0 is at offset `at`. sum has the CRC-32 of each slot's
 * image. named: errors advise to remove the file. Takes over fd, which dg_image_file_close closes, and sum (malloc'd),
 * also after errors. */
dg_err dg_image_file_open(int fd, const char *path, bool named, int64_t at, int slots, uint32_t *sum,
                          dg_image_file **out);
void dg_image_file_close(dg_image_file *f);
/* Returns the descriptor of the open file. */
int dg_image_file_fd(const dg_image_file *f);

/* Copy image i to `to`. An image whose checksum differs when it is read first is DG_DATA. Several threads may read at
 * the same time. */
dg_err dg_images_read(const dg_images *p, int i, uint8_t *to);
/* Copy n consecutive images, from image `first` on. */
dg_err dg_images_read_some(const dg_images *p, int first, int n, uint8_t *to);
/* Start reading image i into the page cache, for a later dg_images_read. */
void dg_images_prefetch(const dg_images *p, int i);
/* Call see(context, thread, i, pixels) for all images i from 0 to n - 1. Calls run in parallel and in any order, in
 * `threads` threads of OpenMP (0: its default). thread: number of the calling thread. */
dg_err dg_images_each(const dg_images *p, int n, int threads,
                      void (*see)(void *context, int thread, int i, const uint8_t *pixels), void *context);

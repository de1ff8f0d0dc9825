/* What the targets that read images do with them. */
#ifndef DG_FUZZ_IMAGE_H
#define DG_FUZZ_IMAGE_H

#include "host/image/image.h"

/* One image through both ways of a decoder, whole and then fitted, and row by row into its fitted size, which must
 * end in the same pixels or in a refusal; orientation, alpha and grey as a data set is loaded. how: chooses among the
 * options. */
void fuzz_image(const uint8_t *data, size_t size, unsigned how);

#endif

/* What the targets that read pictures do with them. */
#ifndef DG_FUZZ_PICTURE_H
#define DG_FUZZ_PICTURE_H

#include "host/image/image.h"

/* One picture through both ways of a decoder, whole and then fitted, and row by row into its fitted size, which must
 * end in the same pixels or in a refusal; orientation, alpha and grey as a data set is loaded. how: chooses among the
 * options. */
void fuzz_picture(const uint8_t *data, size_t size, unsigned how);

#endif

/* What the targets that read pictures do with them. */
#ifndef DG_FUZZ_PICTURE_H
#define DG_FUZZ_PICTURE_H

#include "host/image/image.h"

/* One picture through decoder, orientation, grey and fit, as a data set is loaded, with what must hold of the result.
 * how: chooses among the options. */
void fuzz_picture(const uint8_t *data, size_t size, unsigned how);

#endif

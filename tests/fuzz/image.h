/* Checks of the fuzz targets that read images. */
#ifndef DG_FUZZ_IMAGE_H
#define DG_FUZZ_IMAGE_H

#include "host/image/image.h"

/* Decodes an image in two ways: completely and then fitted, and row by row into the fitted size. Both ways must give
 * the same pixels, or both must refuse the image. `how` selects options (orientation, alpha, grey). */
void fuzz_image(const uint8_t *data, size_t size, unsigned how);

#endif

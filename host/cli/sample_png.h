/* Writes samples of a generator as PNG files with texts that identify them. */
#pragma once

#include "host/image/encode.h"
#include "host/infer/generator.h"
#include "host/options/options.h"

/* Write a sample with the text `key`, by which dg_made_image recognises single samples, and value `value`: the seed or
 * another source. */
dg_err dg_sample_write(const dg_options *o, const dg_generator *g, const char *path, const dg_image *im,
                       const char *key, const char *value);

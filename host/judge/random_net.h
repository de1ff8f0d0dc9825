/* Computes features of images by a fixed random network of four untrained convolutions (Lee 2022, Naeem et al.
 * 2020). */
#pragma once

#include <stdint.h>

#include "core/base/image_size.h"
#include "host/infer/open.h"

/* Subsequences of the random stream DG_STREAM_JUDGE for layer or pyramid level 0. Layer or level i adds i to the
 * subsequence. The seed is always 0, so that the random numbers never change. */
enum { DG_DRAW_WEIGHTS = 16, DG_DRAW_PLACES = 32, DG_DRAW_DIRECTIONS = 48 };

enum { DG_RANDOM_FEATURES = 768 }; /* mean and standard deviation of 128 + 256 channels */

typedef struct dg_random_net dg_random_net;

/* Build the network in fp32. Close *out even after an error. */
dg_err dg_random_net_open(const dg_device *d, dg_size size, int channels, dg_random_net **out);
void dg_random_net_close(dg_random_net *r);

/* features: (n, DG_RANDOM_FEATURES). */
dg_err dg_random_net_look(dg_random_net *r, const uint8_t *pixels, int n, double *features);

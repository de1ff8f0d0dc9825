/* A network of four convolutions whose weights are drawn and never trained, the same for ever: what its last two layers
 * make of images tells them apart by colour and form (Lee 2022, Naeem et al. 2020), and needs no download. */
#ifndef DG_RANDOM_NET_H
#define DG_RANDOM_NET_H

#include <stdint.h>

#include "host/infer/open.h"

/* What is drawn once for ever: steps of DG_STREAM_JUDGE, whose seed is then 0. Layers and levels are added. */
enum { DG_DRAW_WEIGHTS = 16, DG_DRAW_PLACES = 32, DG_DRAW_DIRECTIONS = 48 };

enum { DG_RANDOM_FEATURES = 768 }; /* mean and standard deviation of 128 + 256 channels */

typedef struct dg_random_net dg_random_net;

/* For images of this kind, in fp32. *out is freed with dg_random_net_close, after errors too. */
dg_err dg_random_net_open(const dg_device *d, int size, int channels, dg_random_net **out);
void dg_random_net_close(dg_random_net *r); /* may be NULL */

/* Features (n, DG_RANDOM_FEATURES) of n images. */
dg_err dg_random_net_look(dg_random_net *r, const uint8_t *pixels, int n, double *features);

#endif

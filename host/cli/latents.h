/* The latents of generate and interpolate: of --seeds, --z or --read-z, multiplied by --truncation. */
#pragma once

#include "host/infer/latents.h"
#include "host/options/options.h"

typedef struct {
    const dg_options *o;
    const dg_generator *g;
    int count;
    float *z;         /* (count, latent), or NULL: the latents of the seeds o->seed_first, ... */
    int64_t *class;   /* (count) classes of --read-z, or NULL */
    const char *what; /* "seed" or "latent", for names of files and messages */
    uint64_t first;   /* number of the first latent: its seed, or 0 */
    bool along;       /* z has pairs for directions, after --truncation */
} dg_latents;

/* `seeds` is the number of latents if seeds choose them. Call dg_latents_close even after errors. */
dg_err dg_latents_open(const dg_options *o, const dg_generator *g, int seeds, dg_latents *out);
void dg_latents_close(dg_latents *l);

/* Copy n latents, from index `first` on. */
void dg_latents_get(const dg_latents *l, int first, int n, float *z);

/* Write the source of n latents from index `first` on, such as "7", "3-18" or the expression of --z. */
void dg_latents_say(const dg_latents *l, int first, int n, char *out, size_t size);

/* `class` (count) has the classes of the samples, or is NULL. */
dg_err dg_latents_write(const dg_latents *l, const int64_t *class, const char *path);

/* Replace each latent by pairs of latents, a pair per direction of --direction. The component along the direction is -3
 * in the first latent of the pair, and 3 in the second. */
dg_err dg_latents_along_directions(dg_latents *l, dg_generator *g);

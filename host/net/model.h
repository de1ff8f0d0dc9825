/* Network descriptions: models/NAME.cfg, an INI file with a section a layer, read with inih.
 *
 *     [model]
 *     name = dcgan64-paper
 *     size = 64            ; pictures are size x size, a power of two from 16 to 256
 *     channels = 3         ; 1 or 3
 *     latent = 100
 *     [G.1]                ; the generator's layers, numbered from 1, in order
 *     op = conv_transpose  ; conv or conv_transpose
 *     filters = 256
 *     kernel = 4
 *     stride = 1
 *     pad = 0
 *     norm = batch         ; batch or none
 *     act = relu           ; relu, leaky, tanh or none
 *     ...
 *     [D.5]                ; the discriminator ends in one logit: filters = 1, norm = none, act = none
 *
 * Every mistake is DG_USAGE with file, line, key and what would be right. */
#ifndef DG_MODEL_H
#define DG_MODEL_H

#include <stdbool.h>
#include "core/base/err.h"
#include "core/plan/ops.h"

enum { DG_MAX_LAYERS = 16, DG_MODEL_TEXT_MAX = 16384 };

typedef struct {
    char name[8]; /* "G.1" */
    bool transpose;
    int filters, kernel, stride, pad;
    bool norm;
    dg_act act;
    double slope;             /* of leaky; 0.2 unless given */
    dg_shape in, out;         /* N = 1 */
    int main_conv, main_norm; /* index in the stock example's nn.Sequential: main.N.weight */
} dg_layer;

typedef struct {
    char letter; /* 'G' or 'D' */
    int layers;
    dg_layer layer[DG_MAX_LAYERS];
} dg_net;

typedef struct {
    char name[64];
    int size, channels, latent;
    dg_net net[2];                /* DG_G, DG_D */
    char text[DG_MODEL_TEXT_MAX]; /* the file as read, kept in checkpoints */
} dg_model;

/* name is a path, or the name of a built-in model ("dcgan64-paper"); a path wins. */
dg_err dg_model_read(const char *name, dg_model *out);

/* text is the content of a model file; where names it in messages. */
dg_err dg_model_parse(const char *text, const char *where, dg_model *out);

/* A stock DCGAN of these widths as model text (for replay and import): generator ngf * 2^depth ... ngf,
 * discriminator mirrored. out holds DG_MODEL_TEXT_MAX bytes. */
dg_err dg_model_stock(char *out, const char *name, int size, int channels, int latent, int ngf, int ndf);

/* Built-in models: name i, or NULL past the last. */
const char *dg_model_builtin(int i);

#endif

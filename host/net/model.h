/* Model files: one INI section per layer (docs/model-files.md). Errors are DG_USAGE with file, line and key. */
#pragma once

#include <stdbool.h>
#include "core/base/err.h"
#include "core/base/image_size.h"
#include "core/plan/ops.h"

enum { DG_MAX_NETS = 4, DG_MAX_LAYERS = 128, DG_TRAIN_MAX = 32, DG_MODEL_TEXT_MAX = 16384 };

typedef struct dg_layer_kind dg_layer_kind;

/* X(name, word in model files, true: uses the statistics of a batch) */
#define DG_NORMS(X) X(NONE, "none", false) X(BATCH, "batch", true) X(SPECTRAL, "spectral", false)
typedef enum {
#define X(NAME, word, batch) DG_NORM_##NAME,
    DG_NORMS(X)
#undef X
} dg_norm;

/* Initial weights of a layer. OPTION: option --start. With GAIN, biases are 0 and weights are N(0, gain^2 / n) for n
 * products per output. With GAIN and activation relu or leaky, the variance is multiplied by 2 / (1 + slope^2). ZERO:
 * all 0. */
#define DG_LAYER_STARTS(X) X(OPTION, "option") X(GAIN, "gain") X(ZERO, "zero")
typedef enum {
#define X(NAME, word) DG_LAYER_START_##NAME,
    DG_LAYER_STARTS(X)
#undef X
} dg_layer_start;

typedef struct {
    char name[16]; /* such as "G.1", or "C.4.2" for copy 2 of section [C.4] */
    int line;
    const dg_layer_kind *kind;
    int input; /* index of the layer whose output is the input; -1: the network's input */
    int add;   /* index of the layer whose output is added before the activation; -1: none */
    int filters, stride, pad, groups;
    dg_size kernel; /* width and height differ only if the windows cover the whole map */
    dg_norm norm;
    dg_layer_start start;
    double gain;
    int bias;
    dg_act act;
    double slope;
    double p;     /* layer dropout: probability that a value becomes 0 */
    int scale;    /* layer resample: index of the factor in {2, 0.5} */
    bool flat;    /* true if the layer's output in PyTorch is a vector */
    bool flatten; /* true if PyTorch has a Flatten before this layer */
    dg_shape in, out;
    int module;        /* index N of the first module in PyTorch's nn.Sequential (main.N.weight) */
    char torch[2][48]; /* names in PyTorch of the layer and of its batch norm (key torch); "": main.N */
} dg_layer;

typedef struct {
    char name[8];
    bool latent; /* true: the network's input is the latent vector; false: images */
    bool forks;  /* true if two layers read one tensor, so that their gradients are added */
    int layers;
    dg_layer layer[DG_MAX_LAYERS];
} dg_net;

typedef struct {
    char key[32], value[96];
    int line;
} dg_model_value;

/* Network input for a pixel p (0..255): p / 127.5 - 1 (SIGNED), p / 255 (UNIT), (p / 255 - mean) / std per channel of
 * the training images (STANDARD), or whitened p / 255 (ZCA, host/whiten/whiten.h). */
#define DG_INPUTS(X) X(SIGNED, "signed") X(UNIT, "unit") X(STANDARD, "standard") X(ZCA, "zca")
typedef enum {
#define X(NAME, word) DG_INPUT_##NAME,
    DG_INPUTS(X)
#undef X
} dg_input;

/* A dg_model has about 140 KB: allocate it on the heap. */
typedef struct {
    char name[64], where[256];
    dg_size size;
    int channels, latent;
    int classes; /* of a conditional GAN (docs/model-files.md), or 0 */
    dg_input input;
    double epsilon;
    dg_model_value train[DG_TRAIN_MAX];
    int trains;
    int nets;
    dg_net net[DG_MAX_NETS];      /* the network with latent input first, the other networks in file order */
    char text[DG_MODEL_TEXT_MAX]; /* text of the model file, stored in checkpoints */
} dg_model;

/* Read a model. `name` is a path, a built-in model ("dcgan64-paper"), or a family with a shape. "dcgan-28x1" is a stock
 * DCGAN for 28 x 28 pixels of one channel with ngf = ndf = 32. "dcgan-64x96x3" is for images that are 64 pixels wide
 * and 96 high, with three channels. Name suffixes select variants: -spectral and -nonorm
 * (dg_model_norm_d), -Nclasses (dg_model_reclassed). */
dg_err dg_model_read(const char *name, dg_model *out);

dg_err dg_model_parse(const char *text, const char *where, dg_model *out);

static inline dg_shape dg_net_input(const dg_model *m, const dg_net *n)
{
    return n->latent ? (dg_shape){1, 1, 1, m->latent + m->classes} : dg_size_shape(1, m->size, m->channels);
}

/* Write a stock DCGAN as model text to out (DG_MODEL_TEXT_MAX bytes). The layers of G have ngf * 2^depth ... ngf
 * filters, and D mirrors G. The image size is F * 2^k, where F is the size of the first kernel of G. The shorter side
 * of F is 4 to 7. */
dg_err dg_model_stock(char *out, const char *name, dg_size size, int channels, int latent, int ngf, int ndf);

/* Write the model text of family bilinear, residual or r3gan to out (DG_MODEL_TEXT_MAX bytes), with the image sizes of
 * dg_model_stock. Returns false for an unknown family. */
bool dg_model_family(char *out, const char *family, const char *name, dg_size size, int channels);

/* Copy a model text, but set this norm in every layer of D with weights. Key start is removed, or becomes gain with
 * DG_NORM_NONE. DG_NORM_NONE also sets bias = yes except in the last layer. Returns DG_USAGE if the model has no D, D
 * has no norm to remove, or the text is too long. */
dg_err dg_model_norm_d(const char *model, const char *name, dg_norm norm, char out[DG_MODEL_TEXT_MAX]);

/* Returns the name suffix of models with this norm in D, such as "-spectral", or NULL without a suffix. */
const char *dg_model_norm_suffix(dg_norm norm);
/* Returns the length of a model name without the suffix of this norm, which must have one. */
size_t dg_model_plain_length(const char *name, dg_norm norm);

/* Write the model text of a classifier or conditional GAN with `classes` classes. Returns DG_USAGE if the model is
 * neither a classifier nor a GAN, or the text is too long. */
dg_err dg_model_reclassed(const char *model, const char *name, int classes, char out[DG_MODEL_TEXT_MAX]);

/* Write the model name "NAME-2classes" for classes = 2. Returns false if name is not a built-in model. */
bool dg_model_name_classes(const char *name, int classes, char out[64]);

const char *dg_model_builtin(int i);

/* Network descriptions: models/NAME.cfg, an INI file with a section a layer, read with inih.
 *
 *     [model]
 *     name = dcgan64-paper
 *     size = 64            ; images are size x size, from 8 to 512
 *     [G]                  ; what the layers of network G have unless they say otherwise
 *     op = conv_transpose
 *     kernel = 4
 *     stride = 2
 *     norm = batch
 *     act = relu
 *     [G.1]                ; the layers, numbered from 1 without gaps, in order
 *     filters = 256
 *     stride = 1
 *     pad = 0
 *     [G.2]
 *     filters = 128
 *     ...
 *
 * docs/model-files.md has all keys. Every mistake is DG_USAGE with file, line, key and what would be right. What a
 * model is for is no concern of this reader: dg_recipe_for (host/net/recipes.h) says what trains it. */
#ifndef DG_MODEL_H
#define DG_MODEL_H

#include <stdbool.h>
#include "core/base/err.h"
#include "core/plan/ops.h"

enum { DG_MAX_NETS = 4, DG_MAX_LAYERS = 128, DG_TRAIN_MAX = 32, DG_MODEL_TEXT_MAX = 16384 };

typedef struct dg_layer_kind dg_layer_kind; /* host/net/layers/layers.h */

/* Batch norm behind the layer, or spectral norm of its weights (ops_gan.h). */
#define DG_NORMS(X) X(NONE, "none") X(BATCH, "batch") X(SPECTRAL, "spectral")
typedef enum {
#define X(NAME, word) DG_NORM_##NAME,
    DG_NORMS(X)
#undef X
} dg_norm;

typedef struct {
    char name[16]; /* "G.1"; "C.4.2": the second of several that section [C.4] stands for */
    int line;      /* of its section in the file */
    const dg_layer_kind *kind;
    int input; /* the layer of this network that it reads; -1: the network's input */
    int add;   /* the layer whose output is added in front of its activation; -1: none */
    int filters, kernel, stride, pad;
    dg_norm norm;
    int bias; /* 1: a number for each channel is added */
    dg_act act;
    double slope;     /* of leaky */
    double p;         /* of dropout: the share that becomes 0 */
    bool flat;        /* PyTorch has a vector behind it, as dense layers make */
    bool flatten;     /* PyTorch has a Flatten in front of it */
    dg_shape in, out; /* N = 1 */
    int module;       /* index of its first module in PyTorch's nn.Sequential: main.N.weight */
    char torch[2]
              [48]; /* what PyTorch calls it and its batch norm in a network that is no such Sequential; "": main.N */
} dg_layer;

typedef struct {
    char name[8]; /* "G" */
    bool latent;  /* its input is the latent vector; otherwise images */
    bool forks;   /* some tensor has two readers, so that gradients are added and none is overwritten */
    int layers;
    dg_layer layer[DG_MAX_LAYERS];
} dg_net;

/* A line of section [train]: an option of training and its value. */
typedef struct {
    char key[32], value[96];
    int line;
} dg_model_value;

/* What a network sees of a pixel p from 0 to 255: p / 127.5 - 1, p / 255, or the latter less the channel's mean over
 * the images for training, divided by its standard deviation; or p / 255 whitened, as these images say
 * (host/whiten/whiten.h). */
#define DG_INPUTS(X) X(SIGNED, "signed") X(UNIT, "unit") X(STANDARD, "standard") X(ZCA, "zca")
typedef enum {
#define X(NAME, word) DG_INPUT_##NAME,
    DG_INPUTS(X)
#undef X
} dg_input;

/* About 140 KB: on the heap, please. */
typedef struct {
    char name[64], where[256]; /* where: the file, for messages */
    int size, channels, latent;
    int classes; /* of a classifier; 0: as many as its last layer has filters */
    dg_input input;
    double epsilon;                     /* of ZCA */
    dg_model_value train[DG_TRAIN_MAX]; /* how it is trained unless the user says otherwise, in the order of the file */
    int trains;
    int nets;
    dg_net net[DG_MAX_NETS];      /* those that begin from the latent vector first, then in the order of the file */
    char text[DG_MODEL_TEXT_MAX]; /* the file as read, kept in checkpoints */
} dg_model;

/* name is a path, or the name of a built-in model ("dcgan64-paper"), or of a shape: "dcgan-28x1" is the published
 * layout for 28 x 28 pixels of one channel, 32 filters next to the image and twice as many at each halving; or one of
 * these with -spectral behind it, as dg_model_spectral makes it; or a built-in classifier with -2classes behind it, as
 * dg_model_reclassed makes it. A path wins. */
dg_err dg_model_read(const char *name, dg_model *out);

/* text is the content of a model file; where names it in messages. */
dg_err dg_model_parse(const char *text, const char *where, dg_model *out);

/* What one sample of the network's input is. */
static inline dg_shape dg_net_input(const dg_model *m, const dg_net *n)
{
    return n->latent ? (dg_shape){1, 1, 1, m->latent} : (dg_shape){1, m->size, m->size, m->channels};
}

/* A stock DCGAN of these widths as model text (for replay and import): generator ngf * 2^depth ... ngf,
 * discriminator mirrored. size is 4, 5, 6 or 7 times a power of two, and the first of these is the kernel
 * at the other end. out holds DG_MODEL_TEXT_MAX bytes. */
dg_err dg_model_stock(char *out, const char *name, int size, int channels, int latent, int ngf, int ndf);

/* The text of a model in which all layers of D have spectral norm in the place of their norms, under this name.
 * DG_USAGE: there is no such network, or no room. */
dg_err dg_model_spectral(const char *model, const char *name, char out[DG_MODEL_TEXT_MAX]);

/* The text of a classifier with this number of classes, under this name. DG_USAGE: it is not one, or no room. */
dg_err dg_model_reclassed(const char *model, const char *name, int classes, char out[DG_MODEL_TEXT_MAX]);

/* "cnn-cifar-2classes" of the built-in classifier cnn-cifar in out. False: name is not a built-in model. */
bool dg_model_name_classes(const char *name, int classes, char out[64]);

/* Built-in models: name i, or NULL past the last. */
const char *dg_model_builtin(int i);

#endif

/* The layers of the network, in the order of computation. The numbers of channels follow from the weights. */
#pragma once

#include <stdbool.h>

/* Buffers of a block: input, output, and two intermediate maps. Results of a block are appended to the channels of its
 * output. */
typedef enum { DG_X, DG_Y, DG_A, DG_B } dg_slot;

typedef struct {
    const char *name; /* last part of the weights' names, or NULL for pooling over 3 x 3 pixels */
    dg_slot from, to;
    int KH, KW, S;
    bool same; /* pad, so that the map keeps its size */
    bool mean; /* pooling: mean of the pixels inside of the map, instead of the maximum */
} dg_inception_row;

typedef struct {
    const char *name; /* first part of the weights' names, "Mixed_5b." */
    const dg_inception_row *row;
    int rows;
} dg_inception_block;

enum { DG_INCEPTION_BLOCKS = 18, DG_INCEPTION_CONVS = 94, DG_INCEPTION_NODES = 107 };
extern const dg_inception_block dg_inception_blocks[DG_INCEPTION_BLOCKS];

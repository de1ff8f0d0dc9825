#include "host/inception/layers.h"

#include <stddef.h>

#define CONV(name, from, to, KH, KW)                     \
    {                                                    \
        name, DG_##from, DG_##to, KH, KW, 1, true, false \
    }
#define VALID(name, from, to, K, S)                     \
    {                                                   \
        name, DG_##from, DG_##to, K, K, S, false, false \
    }
#define MAXPOOL(to, S, same)                      \
    {                                             \
        NULL, DG_X, DG_##to, 3, 3, S, same, false \
    }
#define MEANPOOL                              \
    {                                         \
        NULL, DG_X, DG_A, 3, 3, 1, true, true \
    }

static const dg_inception_row conv_1a[] = {VALID("", X, Y, 3, 2)}, conv_2a[] = {VALID("", X, Y, 3, 1)},
                              conv_2b[] = {CONV("", X, Y, 3, 3)}, conv_1x1[] = {VALID("", X, Y, 1, 1)},
                              max[] = {MAXPOOL(Y, 2, false)};

static const dg_inception_row a[] = {
    CONV("branch1x1", X, Y, 1, 1),
    CONV("branch5x5_1", X, A, 1, 1),
    CONV("branch5x5_2", A, Y, 5, 5),
    CONV("branch3x3dbl_1", X, A, 1, 1),
    CONV("branch3x3dbl_2", A, B, 3, 3),
    CONV("branch3x3dbl_3", B, Y, 3, 3),
    MEANPOOL,
    CONV("branch_pool", A, Y, 1, 1),
};

static const dg_inception_row b[] = {
    VALID("branch3x3", X, Y, 3, 2),
    CONV("branch3x3dbl_1", X, A, 1, 1),
    CONV("branch3x3dbl_2", A, B, 3, 3),
    VALID("branch3x3dbl_3", B, Y, 3, 2),
    MAXPOOL(Y, 2, false),
};

static const dg_inception_row c[] = {
    CONV("branch1x1", X, Y, 1, 1),      CONV("branch7x7_1", X, A, 1, 1),
    CONV("branch7x7_2", A, B, 1, 7),    CONV("branch7x7_3", B, Y, 7, 1),
    CONV("branch7x7dbl_1", X, A, 1, 1), CONV("branch7x7dbl_2", A, B, 7, 1),
    CONV("branch7x7dbl_3", B, A, 1, 7), CONV("branch7x7dbl_4", A, B, 7, 1),
    CONV("branch7x7dbl_5", B, Y, 1, 7), MEANPOOL,
    CONV("branch_pool", A, Y, 1, 1),
};

static const dg_inception_row d[] = {
    CONV("branch3x3_1", X, A, 1, 1),
    VALID("branch3x3_2", A, Y, 3, 2),
    CONV("branch7x7x3_1", X, A, 1, 1),
    CONV("branch7x7x3_2", A, B, 1, 7),
    CONV("branch7x7x3_3", B, A, 7, 1),
    VALID("branch7x7x3_4", A, Y, 3, 2),
    MAXPOOL(Y, 2, false),
};

#define E_BRANCHES                                                                                                \
    CONV("branch1x1", X, Y, 1, 1), CONV("branch3x3_1", X, A, 1, 1), CONV("branch3x3_2a", A, Y, 1, 3),             \
        CONV("branch3x3_2b", A, Y, 3, 1), CONV("branch3x3dbl_1", X, A, 1, 1), CONV("branch3x3dbl_2", A, B, 3, 3), \
        CONV("branch3x3dbl_3a", B, Y, 1, 3), CONV("branch3x3dbl_3b", B, Y, 3, 1)

/* The last block pools by maximum, as in TensorFlow's file of 2015. */
static const dg_inception_row e_mean[] = {E_BRANCHES, MEANPOOL, CONV("branch_pool", A, Y, 1, 1)},
                              e_max[] = {E_BRANCHES, MAXPOOL(A, 1, true), CONV("branch_pool", A, Y, 1, 1)};

#define BLOCK(name, rows)                        \
    {                                            \
        name, rows, sizeof rows / sizeof rows[0] \
    }
const dg_inception_block dg_inception_blocks[DG_INCEPTION_BLOCKS] = {
    BLOCK("Conv2d_1a_3x3", conv_1a),
    BLOCK("Conv2d_2a_3x3", conv_2a),
    BLOCK("Conv2d_2b_3x3", conv_2b),
    BLOCK("", max),
    BLOCK("Conv2d_3b_1x1", conv_1x1),
    BLOCK("Conv2d_4a_3x3", conv_2a),
    BLOCK("", max),
    BLOCK("Mixed_5b.", a),
    BLOCK("Mixed_5c.", a),
    BLOCK("Mixed_5d.", a),
    BLOCK("Mixed_6a.", b),
    BLOCK("Mixed_6b.", c),
    BLOCK("Mixed_6c.", c),
    BLOCK("Mixed_6d.", c),
    BLOCK("Mixed_6e.", c),
    BLOCK("Mixed_7a.", d),
    BLOCK("Mixed_7b.", e_mean),
    BLOCK("Mixed_7c.", e_max),
};

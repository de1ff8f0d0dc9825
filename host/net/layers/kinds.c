/* The table of layer kinds. */
#include "host/net/layers/layers.h"

const dg_layer_kind *const dg_layer_kinds[] = {
#define X(name) &dg_layer_##name,
    DG_LAYERS(X)
#undef X
        NULL};

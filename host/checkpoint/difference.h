/* Compares two checkpoints bit for bit. */
#pragma once

#include "host/files/safetensors.h"

typedef struct {
    int tensors, others; /* number of compared tensors, and of those that differ */
    char name[128];      /* first tensor that differs, or "" */
    size_t values, of;   /* of the first tensor: values that differ, all values; 0: another type or shape */
    double largest;      /* largest difference of the first tensor's values; infinite for NaN */
    char key[128];       /* first metadata that differs, without checksums, or "" */
} dg_difference;

/* Compare all tensors and metadata of b with those of a. The values of both must have been read. */
void dg_checkpoint_difference(const dg_st *a, const dg_st *b, dg_difference *out);

/* Which program and device computed a training state. With equal provenance, settings and data, dcgan computes equal
 * bits. */
#pragma once

#include <stdint.h>
#include "core/plan/backend.h"
#include "host/files/safetensors.h"

typedef struct {
    char version[96], compiler[160];
    char device[128]; /* "CPU, avx512" or "NVIDIA H200, sm_90"; "": unknown, as in files of older versions */
    uint64_t kernels; /* dg_job_kernels */
    uint64_t since;   /* step since which program, device, settings and data are those of the state */
} dg_provenance;

/* The provenance of this program on backend b. `since` is 0. */
void dg_provenance_here(const dg_backend *b, uint64_t kernels, dg_provenance *out);

/* Read the provenance of a checkpoint. Returns DG_IO for an invalid number. */
dg_err dg_provenance_read(const dg_st *st, const char *path, dg_provenance *out);

enum { DG_PROVENANCE_META = 4 };
/* Append the metadata of a provenance, except `version`, to meta. `number` receives the texts of numbers. Returns the
 * number of appended entries, at most DG_PROVENANCE_META. */
int dg_provenance_meta(const dg_provenance *p, char number[2][24], dg_st_meta *meta);

/* Returns "version", "compiler", "device" or "kernels" for the first difference, or NULL. The texts *x and *y, which
 * are those of a and b, are valid as long as a and b. */
const char *dg_provenance_differs(const dg_provenance *a, const dg_provenance *b, const char **x, const char **y);

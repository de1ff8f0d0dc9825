/* Internals of the model file reader: text to sections (model_keys.c), sections to layers (model_layers.c). */
#pragma once

#include "host/net/layers/layers.h"

enum { DG_IN_BEFORE = 0, DG_IN_LATENT = -1, DG_IN_IMAGES = -2 }; /* values of key `in` that are not section numbers */

/* A section such as [C.4]. Section number 0 is [C], with the defaults of all layers of C. */
typedef struct {
    dg_layer layer;
    int in, add, repeat, repeat_from;
    char torch[96];
    unsigned given;
    int line;
} dg_section;

typedef struct {
    const char *rest, *where;
    int line;
    dg_model *m;
    unsigned given;
    dg_section section[DG_MAX_NETS][DG_MAX_LAYERS + 1];
    dg_err err;
    int err_line;
} dg_model_text;

/* Returns DG_USAGE with the line of the first error. */
dg_err dg_model_sections(dg_model_text *t);

dg_err dg_model_layers(dg_model_text *t);

/* Returns the length of a pattern such as {4+2} (first 4, step 2) at the start of text, or 0. */
int dg_copy_number(const char *text, int *first, int *step);

void dg_key_names(unsigned keys, char out[160]);
/* Copy to s the keys in bit mask `keys` that are set in `defaults` and not in s. */
void dg_key_inherit(dg_section *s, const dg_section *defaults, unsigned keys);

/* Parse a heading: "G.12" gives net "G" and number 12, "G" gives number 0. Returns false for other headings. */
bool dg_section_name(const char *text, char net[8], int *number);

/* Inside the reader of model files: the text as sections with their keys (model_keys.c), then as layers
 * (model_layers.c). */
#ifndef DG_MODEL_INTERNAL_H
#define DG_MODEL_INTERNAL_H

#include "host/net/layers/layers.h"

enum { DG_IN_BEFORE = 0, DG_IN_LATENT = -1, DG_IN_IMAGES = -2 }; /* otherwise the number of a section */

/* A section [C.4], or number 0: [C], what the others have unless they say otherwise. */
typedef struct {
    dg_layer layer; /* the keys' values; numbers that nobody gave are the table's */
    int in, add, repeat, repeat_from;
    char torch[96]; /* as the file has it; "": nothing */
    unsigned given; /* by DG_KEY */
    int line;       /* 0: there is no such section */
} dg_section;

typedef struct {
    const char *rest, *where; /* the text that is still to be read, the name of its file */
    int line;
    dg_model *m;
    unsigned given; /* keys of [model], a bit for each */
    dg_section section[DG_MAX_NETS][DG_MAX_LAYERS + 1];
    dg_err err; /* the first mistake, and its line */
    int err_line;
} dg_model_text;

/* model_keys.c: the whole text into sections; DG_USAGE with the line of the first mistake. */
dg_err dg_model_sections(dg_model_text *t);

/* model_layers.c: the sections into the layers of t->m, with defaults, repeats, inputs and shapes. */
dg_err dg_model_layers(dg_model_text *t);

/* Bytes of {4+2} that the text begins with: 4 and 2, of up to three digits each; 0: it begins with none. */
int dg_copy_number(const char *text, int *first, int *step);

/* The names of the keys in the mask: "filters, kernel, stride". */
void dg_key_names(unsigned keys, char out[160]);
/* Gives section s the keys that section defaults has and s has not. */
void dg_key_inherit(dg_section *s, const dg_section *defaults, unsigned keys);

/* "G.12" is 12 of network "G"; "G" is 0. False: neither. */
bool dg_section_name(const char *text, char net[8], int *number);

#endif

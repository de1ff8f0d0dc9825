/* libFuzzer: safetensors files. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "host/checkpoint/checkpoint_layout.h"
#include "host/files/replace.h"
#include "host/files/safetensors_internal.h"
#include "host/infer/latents.h"

FUZZ_MUTATOR(fuzz_mutate_safetensors)

static volatile unsigned sink;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static dg_model model;
    const dg_made kind = dg_made_kind(data, size);
    for (int flags = 0; flags <= DG_ST_CHECKED; flags++) {
        dg_st *st;
        if (dg_st_parse(data, size, "fuzz", flags, &st) != DG_OK) {
            if (st || strncmp(dg_message(), "fuzz: ", 6) != 0) abort();
            continue;
        }
        size_t bytes = 0;
        unsigned sum = 0;
        for (int i = 0; i < dg_st_count(st); i++) {
            const dg_st_tensor *t = dg_st_at(st, i);
            if ((uintptr_t)t->data & 7 || dg_st_find(st, t->name) != t) abort();
            size_t n = dg_type_bytes(t->type);
            for (int d = 0; d < t->rank; d++) n *= (size_t)t->dim[d];
            if (n != t->bytes) abort();
            if (strlen(dg_st_plain(st, i)) > strlen(t->name) || !*dg_st_stored_type(st, i)) abort();
            bytes += n;
            for (size_t k = 0; k < t->bytes; k++) sum += ((const unsigned char *)t->data)[k];
        }
        if (bytes >= 2 * size) abort(); /* the conversion of 16-bit values to 32 bits doubles their size */
        const char *format = dg_st_get(st, "format");
        if (kind == DG_MADE_CHECKPOINT && (!format || strcmp(format, DG_CHECKPOINT_FORMAT) != 0)) abort();
        for (int i = 0; i < dg_st_meta_count(st); i++) sum += (unsigned)strlen(dg_st_meta_at(st, i).value);
        const dg_st_tensor *z = dg_z_tensor(st, "fuzz", 3);
        if (z && z->bytes != (size_t)z->dim[0] * 3 * dg_type_bytes(z->type)) abort();
        if (dg_ck_derive(st, "fuzz", &model) == DG_OK) {
            sum += dg_ck_check(st, "fuzz", &model, true, DG_F32) == DG_OK;
            sum += dg_ck_check(st, "fuzz", &model, false, DG_F32) == DG_OK;
        }
        sink = sum;
        dg_st_free(st);
    }
    return 0;
}

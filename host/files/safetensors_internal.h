/* Internals shared by the reader and the writer of safetensors. */
#ifndef DG_SAFETENSORS_INTERNAL_H
#define DG_SAFETENSORS_INTERNAL_H

#include "host/files/safetensors.h"
#include <stddef.h>
#include "core/base/err.h"

enum { DG_ST_HEADER_MAX = 1 << 20, DG_ST_TENSORS_MAX = 4096, DG_ST_RANK_MAX = 8 };

/* Check rules that a JSON parser does not check, and limit its memory. Returns NULL, or what is wrong (static text). */
const char *dg_st_scan(const char *header, size_t bytes);

/* Returns NULL for a valid tensor name, otherwise the fault (static text). If `ours` is set, only names that dcgan
 * writes are valid. */
const char *dg_st_bad_name(const char *name, bool ours);

/* Copy `name` without components "module" and "_orig_mod", and without a leading "model", "net" or "state_dict". A
 * leading "netG", "generator" or "gen" becomes "G"; "netD", "discriminator", "disc" or "critic" becomes "D". `out` has
 * the size of `name`. */
void dg_st_plain_name(const char *name, char *out);

typedef enum { DG_ST_SAME, DG_ST_HALF, DG_ST_BRAIN } dg_st_narrow;
dg_st_narrow dg_st_narrow_type(const char *dtype);
/* Convert n 16-bit values to n floats in place, exactly. The 16-bit values are in the last half of the 4 n bytes. */
void dg_st_widen(void *values, size_t n, dg_st_narrow from);

unsigned dg_st_crc(const void *data, size_t bytes);

/* CRC of the length field and the header at `file`. The CRC's own digits, at `digits`, count as zeros. */
unsigned dg_st_header_crc(const char *file, size_t bytes, const char *digits);

/* Returns the address of the digits of the header's CRC, or NULL without a CRC. */
const char *dg_st_find_digits(const char *header, size_t bytes);

/* Returns the kind, such as "a PNG image"; NULL: unknown. */
const char *dg_file_kind(const void *begin, size_t bytes);

/* Improves the message after `path` was refused as a safetensors file with error e: names the kind of the file, if
 * known, and for files of torch.save a conversion command. Returns e. */
dg_err dg_file_explain(const char *path, dg_err e);

#endif

/* Internal functions of the reader and the writer of safetensors files. */
#ifndef DG_SAFETENSORS_INTERNAL_H
#define DG_SAFETENSORS_INTERNAL_H

#include "host/files/safetensors.h"
#include <stddef.h>
#include "core/base/err.h"

enum { DG_ST_HEADER_MAX = 1 << 20, DG_ST_TENSORS_MAX = 4096, DG_ST_RANK_MAX = 8 };

/* Check rules for the JSON header that a JSON parser does not check. Returns NULL, or the fault as static text. */
const char *dg_st_scan(const char *header, size_t bytes);

/* Returns NULL for a valid tensor name, otherwise the fault as static text. ours: only names that dcgan writes. */
const char *dg_st_bad_name(const char *name, bool ours);

/* Copy `name` without the components "module" and "_orig_mod", and without a leading "model", "net" or "state_dict". A
 * leading "netG", "generator" or "gen" becomes "G"; "netD", "discriminator", "disc" or "critic" becomes "D". */
void dg_st_plain_name(const char *name, char *out);

typedef enum { DG_ST_SAME, DG_ST_HALF, DG_ST_BRAIN } dg_st_narrow;
dg_st_narrow dg_st_narrow_type(const char *dtype);
/* Convert n 16-bit values to n floats in place. The 16-bit values are stored in the last half of the 4 n bytes. */
void dg_st_widen(void *values, size_t n, dg_st_narrow from);

unsigned dg_st_crc(const void *data, size_t bytes);

/* CRC-32 of length field and header at `file`, computed with "00000000" instead of the CRC's own digits at `digits`. */
unsigned dg_st_header_crc(const char *file, size_t bytes, const char *digits);

/* Returns the address of the digits of the header's CRC-32, or NULL without a CRC-32. */
const char *dg_st_find_digits(const char *header, size_t bytes);

/* Returns the kind of the file, such as "a PNG image"; NULL: unknown. */
const char *dg_file_kind(const void *begin, size_t bytes);

/* Extend the message of error e for `path`, which is not a valid safetensors file: add the kind of the file and, for
 * files of torch.save, a conversion command. Returns e. */
dg_err dg_file_explain(const char *path, dg_err e);

#endif

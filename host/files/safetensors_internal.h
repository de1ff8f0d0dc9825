/* What the reader and the writer of safetensors share. */
#ifndef DG_SAFETENSORS_INTERNAL_H
#define DG_SAFETENSORS_INTERNAL_H

#include "host/files/safetensors.h"

enum { DG_ST_HEADER_MAX = 1 << 20, DG_ST_TENSORS_MAX = 4096, DG_ST_RANK_MAX = 8 };

/* The rules that a JSON parser would let pass, on the raw header: NULL, or what is wrong (static text). Bounds
 * the memory that parsing can take. */
const char *dg_st_scan(const char *header, size_t bytes);

/* NULL when the name may be a tensor's, else what is wrong; ours: when this program may write it. */
const char *dg_st_bad_name(const char *name, bool ours);

/* name without components "module" and "_orig_mod", and without a leading "model", "net" or "state_dict"; a leading
 * "netG", "generator" or "gen" becomes "G", "netD", "discriminator", "disc" or "critic" becomes "D". out holds as
 * much as name. */
void dg_st_plain_name(const char *name, char *out);

/* Types of 16 bits that are widened to F32 while they are read. */
typedef enum { DG_ST_SAME, DG_ST_HALF, DG_ST_BRAIN } dg_st_narrow;
dg_st_narrow dg_st_narrow_type(const char *dtype);
/* n values, which are the last 2 n bytes of the 4 n at `values`, to n floats there: exact, also subnormals and NaN. */
void dg_st_widen(void *values, size_t n, dg_st_narrow from);

unsigned dg_st_crc(const void *data, size_t bytes);

/* CRC of the length field and header at `file`, with the digits at `digits` read as zeros. */
unsigned dg_st_header_crc(const char *file, size_t bytes, const char *digits);

/* Where in the header the digits of its own CRC are; NULL: nowhere. */
const char *dg_st_find_digits(const char *header, size_t bytes);

#endif

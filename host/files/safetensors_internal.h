/* Internal functions of the reader and the writer of safetensors files. */
#pragma once

#include "host/files/safetensors.h"
#include <stddef.h>
#include "core/base/err.h"

enum { DG_ST_HEADER_MAX = 1 << 20, DG_ST_TENSORS_MAX = 4096, DG_ST_RANK_MAX = 8 };

/* Check what cJSON does not check in a header, such as UTF-8. Returns NULL, or the fault as static text. */
const char *dg_st_scan(const char *header, size_t bytes);

/* Returns NULL for a valid tensor name, otherwise the fault as static text. With `ours`, only names that dcgan
 * writes are valid. */
const char *dg_st_bad_name(const char *name, bool ours);

/* Copy `name` without the components "module" and "_orig_mod", and without a leading "model", "net" or "state_dict".
 * A leading "netG", "generator" or "gen" becomes "G". A leading "netD", "discriminator", "disc" or "critic" becomes
 * "D". */
void dg_st_plain_name(const char *name, char *out);

typedef enum { DG_ST_SAME, DG_ST_HALF, DG_ST_BRAIN } dg_st_narrow;
dg_st_narrow dg_st_narrow_type(const char *dtype);
/* Convert n 16-bit values to n floats in place. The 16-bit values are the last 2 n of the 4 n bytes. */
void dg_st_widen(void *values, size_t n, dg_st_narrow from);

unsigned dg_st_crc(const void *data, size_t bytes);

/* Returns the CRC-32 of length field and header at `file`. The CRC's own digits at `digits` count as "00000000". */
unsigned dg_st_header_crc(const char *file, size_t bytes, const char *digits);

const char *dg_st_find_digits(const char *header, size_t bytes);

/* Returns the kind of the file, such as "a PNG image", or NULL if unknown. */
const char *dg_file_kind(const void *begin, size_t bytes);

/* Extend the message of error e for `path`, which is not a valid safetensors file. Adds the kind of the file and,
 * for files of torch.save, a conversion command. Returns e. */
dg_err dg_file_explain(const char *path, dg_err e);

/* Encodes Protocol Buffers messages in memory (https://protobuf.dev/programming-guides/encoding), for ONNX files and
 * TensorBoard events. After a failed allocation, a message is marked as `exhausted` and ignores further fields. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "core/base/memory_file.h"

enum { DG_PB_VARINT = 0, DG_PB_FIXED64 = 1, DG_PB_BYTES = 2, DG_PB_FIXED32 = 5 };

/* A message. Initialise with zeros, and free `text` after use. */
typedef dg_memory_file dg_pb;

void dg_pb_append(dg_pb *m, const void *data, size_t bytes); /* without a field header */
void dg_pb_little(dg_pb *m, uint64_t v, int bytes);          /* without a field header */
void dg_pb_length(dg_pb *m, int field, size_t bytes);        /* field header: number and length */
void dg_pb_bytes(dg_pb *m, int field, const void *data, size_t bytes);
void dg_pb_text(dg_pb *m, int field, const char *text);
void dg_pb_number(dg_pb *m, int field, uint64_t v);
void dg_pb_float(dg_pb *m, int field, double v);
void dg_pb_double(dg_pb *m, int field, double v);
void dg_pb_put(dg_pb *m, int field, dg_pb *part); /* appends message `part` as a field, then frees `part` */

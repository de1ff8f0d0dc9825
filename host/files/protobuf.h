/* Protocol Buffers messages, written field by field into memory (https://protobuf.dev/programming-guides/encoding), for
 * ONNX and TensorBoard events. After an allocation fails, the message stays `failed` and ignores further fields.
 * Writing the message, or adding it to another message, reports the error. */
#ifndef DG_PROTOBUF_H
#define DG_PROTOBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DG_PB_VARINT = 0, DG_PB_FIXED64 = 1, DG_PB_BYTES = 2, DG_PB_FIXED32 = 5 };

/* Initialise with zeros. The caller frees data. */
typedef struct {
    unsigned char *data;
    size_t bytes, room;
    bool failed;
} dg_pb;

void dg_pb_append(dg_pb *m, const void *data, size_t bytes); /* raw bytes, no field */
void dg_pb_little(dg_pb *m, uint64_t v, int bytes);          /* little-endian number, no field */
void dg_pb_length(dg_pb *m, int field, size_t bytes);        /* header of a field of `bytes` bytes */
void dg_pb_bytes(dg_pb *m, int field, const void *data, size_t bytes);
void dg_pb_text(dg_pb *m, int field, const char *text);
void dg_pb_number(dg_pb *m, int field, uint64_t v);
void dg_pb_float(dg_pb *m, int field, double v);
void dg_pb_double(dg_pb *m, int field, double v);
void dg_pb_put(dg_pb *m, int field, dg_pb *part); /* adds message `part` as a field; `part` becomes empty */

#endif

#include "host/files/protobuf.h"

#include <stdlib.h>
#include <string.h>

void dg_pb_append(dg_pb *m, const void *data, size_t bytes)
{
    if (bytes && !m->exhausted) dg_memory_append(m, data, bytes);
}

void dg_pb_little(dg_pb *m, uint64_t v, int bytes)
{
    unsigned char text[8];
    for (int i = 0; i < bytes; i++) text[i] = (unsigned char)(v >> 8 * i);
    dg_pb_append(m, text, (size_t)bytes);
}

static void varint(dg_pb *m, uint64_t v)
{
    unsigned char text[10];
    size_t n = 0;
    for (; v > 127; v >>= 7) text[n++] = (unsigned char)(v | 128);
    text[n++] = (unsigned char)v;
    dg_pb_append(m, text, n);
}

static void tag(dg_pb *m, int field, int wire) { varint(m, (uint64_t)field << 3 | (uint64_t)wire); }

void dg_pb_length(dg_pb *m, int field, size_t bytes)
{
    tag(m, field, DG_PB_BYTES);
    varint(m, bytes);
}

void dg_pb_bytes(dg_pb *m, int field, const void *data, size_t bytes)
{
    dg_pb_length(m, field, bytes);
    dg_pb_append(m, data, bytes);
}

void dg_pb_text(dg_pb *m, int field, const char *text) { dg_pb_bytes(m, field, text, strlen(text)); }

void dg_pb_number(dg_pb *m, int field, uint64_t v)
{
    tag(m, field, DG_PB_VARINT);
    varint(m, v);
}

void dg_pb_float(dg_pb *m, int field, double v)
{
    const float narrow = (float)v;
    uint32_t bits;
    memcpy(&bits, &narrow, sizeof bits);
    tag(m, field, DG_PB_FIXED32);
    dg_pb_little(m, bits, 4);
}

void dg_pb_double(dg_pb *m, int field, double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    tag(m, field, DG_PB_FIXED64);
    dg_pb_little(m, bits, 8);
}

void dg_pb_put(dg_pb *m, int field, dg_pb *part)
{
    dg_pb_bytes(m, field, part->text, part->bytes);
    m->exhausted |= part->exhausted;
    free(part->text);
    *part = (dg_pb){0};
}

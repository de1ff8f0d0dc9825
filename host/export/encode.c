/* Encodes weights as fp32, fp16 or int8. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "host/export/steps.h"

typedef struct {
    uint8_t *at;
    dg_weight_type type;
} writer;

static void put(writer *w, uint32_t value, int bytes)
{
    for (int i = 0; i < bytes; i++) *w->at++ = (uint8_t)(value >> 8 * i);
}

static double put_float(writer *w, double v)
{
    const float narrow = (float)v;
    uint32_t bits;
    memcpy(&bits, &narrow, sizeof bits);
    put(w, bits, sizeof bits);
    return (double)narrow;
}

/* v: from -1 to 1. The mantissa of 1024 to 2048 may round up to the next exponent, because the fields are adjacent. */
static double put_half(writer *w, double v)
{
    enum { MANTISSA = 1024, BIAS = 15, LEAST = -14 };
    int exponent;
    const double size = fabs(v);
    frexp(size, &exponent);
    if (size == 0 || exponent - 1 < LEAST) exponent = LEAST + 1;
    const double digits = rint(ldexp(size, 11 - exponent));
    const uint32_t normal = digits < MANTISSA ? 0 : (uint32_t)(exponent - 1 + BIAS) * MANTISSA - MANTISSA;
    put(w, (v < 0 ? 0x8000u : 0) + normal + (uint32_t)digits, 2);
    return copysign(ldexp(digits, exponent - 11), v);
}

static double put_byte(writer *w, double v)
{
    const double digits = rint(v);
    put(w, (uint32_t)(int)digits & 255, 1);
    return digits;
}

/* Returns the index of a weight in PyTorch's layout: output channel c, product i in the order kernel row, kernel
 * column, input channel. */
static size_t index_of(const dg_step *s, int c, size_t i)
{
    const size_t places = dg_size_pixels(s->kernel), each = (size_t)(s->l->in.C / s->groups), place = i / each,
                 channel = i % each;
    const bool transposed = s->kind == DG_STEP_CONV_TRANSPOSE;
    const size_t row = transposed ? channel * (size_t)s->l->out.C + (size_t)c : (size_t)c * each + channel;
    return row * places + place;
}

static void encode_channel(writer *to, const dg_step *s, int c)
{
    const size_t n = dg_step_products(s);
    double most = 0;
    for (size_t i = 0; i < n; i++) most = fmax(most, fabs(s->w[index_of(s, c, i)]));
    const double range = to->type == DG_WEIGHTS_INT8 ? 127 : 1;
    const double scale = to->type == DG_WEIGHTS_FP32 ? 1 : put_float(to, most / range);
    for (size_t i = 0; i < n; i++) {
        double *w = &s->w[index_of(s, c, i)];
        const double share = scale > 0 ? fmax(-range, fmin(range, *w / scale)) : 0;
        switch (to->type) {
        case DG_WEIGHTS_FP32: *w = put_float(to, *w); break;
        case DG_WEIGHTS_FP16: *w = scale * put_half(to, share); break;
        case DG_WEIGHTS_INT8: *w = scale * put_byte(to, share); break;
        }
    }
}

static dg_err check(const double *v, size_t n, const dg_step *s)
{
    for (size_t i = 0; v && i < n; i++)
        if (!isfinite((float)v[i]))
            return dg_fail(DG_FAILED, "layer %s: weight %zu with batch norm is %g, which is too large for fp32",
                           s->l->name, i, v[i]);
    return DG_OK;
}

dg_err dg_steps_encode(dg_steps *s, dg_weight_type type, uint8_t **out, size_t *bytes)
{
    static const size_t size[] = {[DG_WEIGHTS_FP32] = 4, [DG_WEIGHTS_FP16] = 2, [DG_WEIGHTS_INT8] = 1};
    *bytes = 0;
    *out = NULL;
    for (int i = 0; i < s->steps; i++) {
        const dg_step *step = &s->step[i];
        const size_t channels = (size_t)step->l->out.C, n = step->w ? channels * dg_step_products(step) : 0;
        dg_err e = check(step->w, n, step);
        if (!e) e = check(step->bias, channels, step);
        if (e) return e;
        *bytes += n * size[type] + (n && type != DG_WEIGHTS_FP32 ? channels * sizeof(float) : 0) +
                  (step->bias ? channels * sizeof(float) : 0);
    }
    writer w = {.at = malloc(*bytes + 1), .type = type};
    if (!w.at) return dg_fail(DG_DEVICE, "out of memory for %zu bytes of weights", *bytes);
    *out = w.at;
    for (int i = 0; i < s->steps; i++) {
        const dg_step *step = &s->step[i];
        for (int c = 0; c < step->l->out.C && step->w; c++) encode_channel(&w, step, c);
        for (int c = 0; c < step->l->out.C && step->bias; c++) step->bias[c] = put_float(&w, step->bias[c]);
    }
    return DG_OK;
}

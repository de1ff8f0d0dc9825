/* Tests the encoded weights of exported generators: bytes, rounding, and samples of the encoded values. */
#include "host/export/export.h"

#include <math.h>
#include <string.h>

#include "host/checkpoint/checkpoint_files.h"

static char path[600];

static double half(unsigned bits)
{
    const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
    const double v = exponent ? ldexp(1024 + mantissa, exponent - 25) : ldexp(mantissa, -24);
    return bits >> 15 ? -v : v;
}

static double single(const uint8_t **at)
{
    float v;
    memcpy(&v, *at, sizeof v);
    *at += sizeof v;
    return (double)v;
}

/* Returns a weight of the encoded bytes, without its scale. */
static double next(const uint8_t **at, dg_weight_type type)
{
    const uint8_t *p = *at;
    if (type == DG_WEIGHTS_FP32) return single(at);
    *at += type == DG_WEIGHTS_FP16 ? 2 : 1;
    return type == DG_WEIGHTS_FP16 ? half(p[0] | (unsigned)p[1] << 8) : (int8_t)p[0];
}

/* The values of step s after encoding are those of the bytes, and near the values before. Weights of a transposed
 * convolution are (in, out, rows, columns) in PyTorch, of other steps (out, in, rows, columns). */
static const uint8_t *check_step(const dg_step *s, const double *before, const uint8_t *at, dg_weight_type type)
{
    static const double error[] = {[DG_WEIGHTS_FP32] = 0x1p-24, [DG_WEIGHTS_FP16] = 0x1p-11, [DG_WEIGHTS_INT8] = 0.004};
    const int Co = s->l->out.C, Ci = s->l->in.C, places = s->kernel.W * s->kernel.H;
    const bool transposed = s->kind == DG_STEP_CONV_TRANSPOSE;
    for (int c = 0; c < Co; c++) {
        const double scale = type == DG_WEIGHTS_FP32 ? 1 : single(&at), range = type == DG_WEIGHTS_INT8 ? 127 : 1;
        double most = 0;
        for (int i = 0; i < Ci; i++)
            for (int k = 0; k < places; k++)
                most = fmax(most, fabs(before[(transposed ? i * Co + c : c * Ci + i) * places + k]));
        if (type != DG_WEIGHTS_FP32) DG_NEAR(scale, most / range, 1e-7 * most);
        for (int k = 0; k < places; k++)
            for (int i = 0; i < Ci; i++) {
                const int place = (transposed ? i * Co + c : c * Ci + i) * places + k;
                const double v = scale * next(&at, type);
                DG_CHECK(v == s->w[place]);
                DG_CHECKF(fabs(v - before[place]) <= error[type] * most, "%g %g", v, before[place]);
            }
    }
    for (int c = 0; s->bias && c < Co; c++) DG_CHECK(single(&at) == s->bias[c]);
    return at;
}

static void encode(dg_generator *g, dg_weight_type type, double most)
{
    dg_steps *s = NULL, *before = NULL;
    uint8_t *bytes = NULL;
    size_t n = 0;
    dg_weight_error error;
    if (!DG_WORKS(dg_steps_read(g, &s)) || !DG_WORKS(dg_steps_read(g, &before)) ||
        !DG_WORKS(dg_steps_encode(s, type, &bytes, &n)))
        return;
    const uint8_t *at = bytes;
    for (int i = 0; i < s->steps; i++) at = check_step(&s->step[i], before->step[i].w, at, type);
    DG_CHECK(at == bytes + n);
    DG_WORKS(dg_steps_compare(g, s, &error));
    DG_CHECKF(error.samples == 16 && error.most <= most && error.mean <= error.most, "%g %g", error.mean, error.most);
    s->step[1].w[0] += 100;
    DG_WORKS(dg_steps_compare(g, s, &error));
    DG_CHECKF(error.most > 20 && error.mean > 0.1, "%g %g", error.mean, error.most);
    free(bytes);
    dg_steps_free(s);
    dg_steps_free(before);
}

static void too_large(void)
{
    const edit large = {.tensor = "G.main.0.weight", .value = 1e300};
    const char *const broken = temp_path("large.safetensors");
    dg_exported x;
    if (!edit_file(path, broken, &large)) return;
    DG_REFUSED(dg_exported_open(broken, 1, DG_WEIGHTS_FP16, &x), DG_FAILED, "too large for fp32");
    dg_exported_close(&x);
}

int main(void)
{
    static const dg_device cpu = {.device = "cpu", .threads = 1};
    machine x;
    dg_generator *g = NULL;
    temp_make("steps");
    snprintf(path, sizeof path, "%s", temp_path("checkpoint.safetensors"));
    if (!machine_up(&x, &tiny, DG_F64, true)) return dg_test_report();
    machine_steps(&x, 0, 4);
    machine_keep(&x, 4, path);
    if (DG_WORKS(dg_generator_open(&cpu, path, &g))) {
        encode(g, DG_WEIGHTS_FP32, 0);
        encode(g, DG_WEIGHTS_FP16, 1);
        encode(g, DG_WEIGHTS_INT8, 10);
    }
    too_large();
    dg_generator_close(g);
    machine_down(&x);
    temp_remove(temp_dir);
    return dg_test_report();
}

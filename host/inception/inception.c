/* Computes the network on the CPU in fp32, NHWC. Batch norm is folded into the weights. Convolutions with square
 * kernels are the op conv_fwd; the others (1 x 7, 7 x 1 ...) are its matrix product of copied windows. */
#include "host/inception/inception.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/shell.h"
#include "core/plan/backend.h"
#include "host/inception/layers.h"
#include "host/inception/resize.h"
#include "host/inception/weights.h"

enum { SIDE = 299, CHUNK = DG_INCEPTION_CHUNK, BUFFERS = 4, RAW = BUFFERS, COLUMNS, ALL_BUFFERS };
static const double epsilon = 1e-3; /* of batch norm */

typedef struct {
    const dg_inception_row *row;
    int from, to; /* buffers */
    int H, W, C;  /* input map */
    int Ho, Wo, Co;
    int at, width;        /* first channel of the results in the output map, and channels of the output map */
    float *weight, *bias; /* (Co, KH, KW, C), (Co) */
} node;

struct dg_inception {
    dg_backend *b;
    dg_fid_resize how;
    char name[48];
    bool known;
    node node[DG_INCEPTION_NODES];
    int nodes;
    float *buffer[ALL_BUFFERS]; /* maps of CHUNK images; results of one branch; copied windows */
    size_t values[ALL_BUFFERS];
    void *scratch;
    size_t scratch_bytes;
};

static dg_err no_memory(void) { return dg_fail(DG_DEVICE, "out of memory for the Inception network"); }

static bool is_square(const node *n) { return n->row->KH == n->row->KW; }

/* Set the weights and the bias of a convolution followed by batch norm: w g / sqrt(v + eps) and b - m g / sqrt(v +
 * eps). */
static dg_err fold(const dg_inception_weights *w, const char *layer, node *n)
{
    static const char *const part[] = {"bn.weight", "bn.bias", "bn.running_mean", "bn.running_var"};
    const dg_st_tensor *k, *norm[4];
    const int KH = n->row->KH, KW = n->row->KW, Ci = n->C;
    dg_err e = dg_inception_tensor(w, layer, "conv.weight", 4, &k);
    for (int i = 0; i < 4 && !e; i++) e = dg_inception_tensor(w, layer, part[i], 1, &norm[i]);
    if (e) return e;
    bool fits = k->dim[0] > 0 && k->dim[0] <= 4096 && k->dim[1] == Ci && k->dim[2] == KH && k->dim[3] == KW;
    for (int i = 0; i < 4; i++) fits &= norm[i]->dim[0] == k->dim[0];
    if (!fits)
        return dg_fail(DG_DATA,
                       DG_MSG("inception-shape",
                              "%s: layer %s: wrong shape: (%lld, %lld, %lld, %lld), but the network needs (channels, "
                              "%d, %d, %d); give pytorch-fid's file, or its conversion by %s import"),
                       w->path, layer, (long long)k->dim[0], (long long)k->dim[1], (long long)k->dim[2],
                       (long long)k->dim[3], Ci, KH, KW, dg_program());
    n->Co = (int)k->dim[0];
    const size_t taps = (size_t)KH * (size_t)KW, inputs = (size_t)Ci, from = inputs * taps;
    n->weight = malloc((size_t)n->Co * from * sizeof *n->weight);
    n->bias = malloc((size_t)n->Co * sizeof *n->bias);
    if (!n->weight || !n->bias) return no_memory();
    const float *x = k->data, *g = norm[0]->data, *b = norm[1]->data, *m = norm[2]->data, *v = norm[3]->data;
    for (size_t o = 0; o < (size_t)n->Co; o++) {
        const double scale = (double)g[o] / sqrt((double)v[o] + epsilon);
        n->bias[o] = (float)((double)b[o] - (double)m[o] * scale);
        for (size_t i = 0; i < from; i++)
            n->weight[o * from + i] = (float)((double)x[o * from + i % inputs * taps + i / inputs] * scale);
    }
    return DG_OK;
}

static int side_after(const dg_inception_row *r, int side, int K) { return r->same ? side : (side - K) / r->S + 1; }

static void need(dg_inception *t, int buffer, int H, int W, int C)
{
    const size_t values = (size_t)CHUNK * (size_t)H * (size_t)W * (size_t)C;
    if (t->values[buffer] < values) t->values[buffer] = values;
}

/* The output of a block is the input of the next block, so odd blocks exchange buffers DG_X and DG_Y. */
static int buffer_of(dg_slot s, int block) { return s < DG_A && block % 2 ? 1 - (int)s : (int)s; }

/* Append a block's nodes. map[DG_X] is the input map, and map[DG_Y] becomes the output map. */
static dg_err add_block(dg_inception *t, const dg_inception_weights *w, int block, node map[BUFFERS])
{
    const dg_inception_block *k = &dg_inception_blocks[block];
    const int first = t->nodes;
    map[DG_Y].Co = 0;
    for (int i = 0; i < k->rows; i++) {
        const dg_inception_row *r = &k->row[i];
        char layer[64];
        node *n = &t->node[t->nodes++];
        const node *in = &map[r->from], *out = &map[r->to];
        *n = (node){.row = r, .H = in->Ho, .W = in->Wo, .C = in->Co, .Co = in->Co};
        n->from = buffer_of(r->from, block);
        n->to = buffer_of(r->to, block);
        n->Ho = side_after(r, n->H, r->KH);
        n->Wo = side_after(r, n->W, r->KW);
        snprintf(layer, sizeof layer, "%s%s", k->name, r->name ? r->name : "");
        const dg_err e = r->name ? fold(w, layer, n) : DG_OK;
        if (e) return e;
        n->at = r->to == DG_Y ? out->Co : 0;
        map[r->to] = (node){.Ho = n->Ho, .Wo = n->Wo, .Co = n->at + n->Co};
    }
    for (node *n = t->node + first; n < t->node + t->nodes; n++) {
        n->width = map[n->row->to].Co;
        if (n->row->to != DG_Y) n->width = n->Co;
        need(t, n->to, n->Ho, n->Wo, n->width);
        need(t, RAW, n->Ho, n->Wo, n->width > n->Co ? n->Co : 0);
        if (!is_square(n)) need(t, COLUMNS, n->Ho, n->Wo, n->row->KH * n->row->KW * n->C);
    }
    map[DG_X] = map[DG_Y];
    return DG_OK;
}

static dg_err build(dg_inception *t, const dg_inception_weights *w)
{
    node map[BUFFERS] = {{.Ho = SIDE, .Wo = SIDE, .Co = 3}};
    dg_err e = DG_OK;
    need(t, DG_X, SIDE, SIDE, 3);
    for (int i = 0; i < DG_INCEPTION_BLOCKS && !e; i++) e = add_block(t, w, i, map);
    for (int i = 0; i < ALL_BUFFERS && !e; i++)
        if (!(t->buffer[i] = malloc((t->values[i] + 16) * sizeof(float)))) e = no_memory();
    return e;
}

dg_err dg_inception_open(const char *path, dg_fid_resize how, int threads, dg_inception **out)
{
    dg_inception_weights w = {0};
    dg_inception *t = *out = calloc(1, sizeof *t);
    if (!t) return no_memory();
    t->how = how;
    dg_err e = dg_cpu_open(&(dg_cpu_options){.threads = threads, .real = DG_F32}, &t->b);
    if (!e) e = dg_inception_weights_read(path, &w);
    if (!e) e = build(t, &w);
    t->known = w.known;
    if (w.known) snprintf(t->name, sizeof t->name, "inception-2015-12-05");
    else snprintf(t->name, sizeof t->name, "unknown %.8s", w.tensors);
    dg_inception_weights_free(&w);
    return e;
}

void dg_inception_close(dg_inception *t)
{
    if (!t) return;
    for (int i = 0; i < t->nodes; i++) {
        free(t->node[i].weight);
        free(t->node[i].bias);
    }
    for (int i = 0; i < ALL_BUFFERS; i++) free(t->buffer[i]);
    free(t->scratch);
    if (t->b) t->b->close(t->b);
    free(t);
}

int dg_inception_features(const dg_inception *t) { return t->node[t->nodes - 1].width; }
bool dg_inception_known(const dg_inception *t) { return t->known; }
const char *dg_inception_name(const dg_inception *t) { return t->name; }
const char *dg_inception_resize(const dg_inception *t)
{
    return t->how == DG_LIKE_CLEAN_FID ? "clean-fid" : "pytorch-fid";
}

/* Copy the KH x KW window of each pixel to a row of `to`, (images, Ho, Wo, KH, KW, C). Pixels outside are 0. */
static void copy_windows(const node *n, const float *x, int images, float *to)
{
    const int KH = n->row->KH, KW = n->row->KW;
    const size_t C = (size_t)n->C, window = C * (size_t)(KH * KW);
#pragma omp parallel for
    for (int row = 0; row < images * n->Ho; row++) {
        float *out = to + (size_t)row * (size_t)n->Wo * window;
        const float *image = x + (size_t)(row / n->Ho) * (size_t)(n->H * n->W) * C;
        for (int i = 0; i < n->Wo * KH * KW; i++, out += C) {
            const int y = row % n->Ho + i / KW % KH - KH / 2, at = i / (KW * KH) + i % KW - KW / 2;
            if (y < 0 || y >= n->H || at < 0 || at >= n->W) memset(out, 0, C * sizeof *out);
            else memcpy(out, image + (size_t)(y * n->W + at) * C, C * sizeof *out);
        }
    }
}

/* Write max(0, x + bias) of x (rows, Co) to the node's channels of `to` (rows, width). */
static void finish(const node *n, const float *x, size_t rows, float *to)
{
    const size_t Co = (size_t)n->Co;
#pragma omp parallel for
    for (size_t row = 0; row < rows; row++) {
        const float *in = x + row * Co;
        float *out = to + row * (size_t)n->width + n->at;
        for (size_t c = 0; c < Co; c++) {
            const float v = in[c] + n->bias[c];
            out[c] = v < 0 ? 0 : v;
        }
    }
}

static dg_err convolve(dg_inception *t, const node *n, int images)
{
    const dg_inception_row *r = n->row;
    float *to = t->buffer[n->to], *y = n->width > n->Co ? t->buffer[RAW] : to, *x = t->buffer[n->from];
    dg_op op = {.kind = DG_OP_conv_fwd,
                .u.conv = {.w = n->weight, .y = y, .N = images, .Ho = n->Ho, .Wo = n->Wo, .Co = n->Co}};
    dg_conv_args *a = &op.u.conv;
    if (is_square(n)) {
        a->H = n->H, a->W = n->W, a->Ci = n->C, a->K = r->KH, a->S = r->S, a->P = r->same ? r->KH / 2 : 0;
    } else {
        copy_windows(n, x, images, t->buffer[COLUMNS]);
        x = t->buffer[COLUMNS];
        a->H = n->Ho, a->W = n->Wo, a->Ci = r->KH * r->KW * n->C, a->K = a->S = 1;
    }
    a->x = x;
    (void)t->b->refuses(t->b, &op); /* chooses the variant; the CPU refuses no convolution */
    const size_t bytes = t->b->scratch(t->b, &op);
    if (bytes > t->scratch_bytes) {
        free(t->scratch);
        t->scratch_bytes = 0;
        if (!(t->scratch = aligned_alloc(256, (bytes + 255) / 256 * 256))) return no_memory();
        t->scratch_bytes = bytes;
    }
    a->scratch = bytes ? t->scratch : NULL;
    const dg_err e = t->b->run_op(t->b, &op, NULL);
    finish(n, y, (size_t)images * (size_t)n->Ho * (size_t)n->Wo, to);
    return e;
}

static void pool_pixel(const node *n, const float *image, int y, int x, float *out)
{
    const dg_inception_row *r = n->row;
    const int top = y * r->S - r->same, left = x * r->S - r->same, last = top + 3 < n->H ? top + 3 : n->H,
              end = left + 3 < n->W ? left + 3 : n->W, high = top > 0 ? top : 0, low = left > 0 ? left : 0;
    const float share = 1 / (float)((last - high) * (end - low));
    for (int i = high; i < last; i++)
        for (int k = low; k < end; k++) {
            const float *in = image + (size_t)(i * n->W + k) * (size_t)n->C;
            const bool first = i == high && k == low;
            for (int c = 0; c < n->C; c++)
                out[c] = first ? in[c] : r->mean ? out[c] + in[c] : in[c] > out[c] ? in[c] : out[c];
        }
    for (int c = 0; c < n->C && r->mean; c++) out[c] *= share;
}

static void pool(const node *n, const float *x, int images, float *to)
{
#pragma omp parallel for
    for (int row = 0; row < images * n->Ho; row++) {
        const float *image = x + (size_t)(row / n->Ho) * (size_t)(n->H * n->W) * (size_t)n->C;
        for (int k = 0; k < n->Wo; k++)
            pool_pixel(n, image, row % n->Ho, k, to + (size_t)(row * n->Wo + k) * (size_t)n->width + n->at);
    }
}

static dg_err compute(dg_inception *t, int images, double *features)
{
    dg_err e = DG_OK;
    for (int i = 0; i < t->nodes && !e; i++) {
        const node *n = &t->node[i];
        if (n->row->name) e = convolve(t, n, images);
        else pool(n, t->buffer[n->from], images, t->buffer[n->to]);
    }
    const node *last = &t->node[t->nodes - 1];
    const int pixels = last->Ho * last->Wo, C = last->width;
    const float *x = t->buffer[last->to];
    for (int i = 0; i < images && !e; i++, x += (size_t)pixels * (size_t)C, features += C)
        for (int c = 0; c < C; c++) {
            double sum = 0;
            for (int p = 0; p < pixels; p++) sum += (double)x[p * C + c];
            features[c] = sum / pixels;
        }
    return e;
}

dg_err dg_inception_look(dg_inception *t, const uint8_t *pixels, dg_size size, int channels, int n, double *features)
{
    const size_t image = dg_size_values(size, channels);
    dg_err e = DG_OK;
    for (int first = 0; first < n && !e; first += CHUNK) {
        const int images = n - first < CHUNK ? n - first : CHUNK;
        dg_err failed[CHUNK] = {DG_OK};
#pragma omp parallel for
        for (int i = 0; i < images; i++)
            failed[i] = dg_fid_resized(t->how, pixels + (size_t)(first + i) * image, size, channels, SIDE,
                                       t->buffer[DG_X] + (size_t)i * SIDE * SIDE * 3);
        for (int i = 0; i < images && !e; i++)
            if (failed[i]) e = no_memory();
        if (!e) e = compute(t, images, features + (size_t)first * (size_t)dg_inception_features(t));
    }
    return e;
}

/* Model texts of the built-in GANs without norm: bilinear, residual and r3gan. The shorter side of the first map of G
 * has 4 to 7 pixels. Each stage of G doubles the side of the map, and D mirrors G. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "host/data/sides.h"
#include "host/net/model.h"

typedef struct {
    char *out;
    size_t n;
    char net;
    int layers;
} text;

static void put(text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(text *t, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    const int n = vsnprintf(t->out + t->n, DG_MODEL_TEXT_MAX - t->n, format, ap);
    va_end(ap);
    t->n += n > 0 ? (size_t)n : 0;
}

static void begin_net(text *t, char net, const char *defaults)
{
    t->net = net;
    t->layers = 0;
    put(t, "[%c]\nstart = gain\n%s", net, defaults);
}

static void layer(text *t, const char *keys) { put(t, "[%c.%d]\n%s", t->net, ++t->layers, keys); }

static void conv(text *t, int filters, const char *keys)
{
    layer(t, "");
    put(t, "filters = %d\n%s", filters, keys);
}

static const char *size_text(dg_size s)
{
    static _Thread_local char out[DG_SIZE_TEXT];
    return dg_size_text(s, out);
}

static void first_map(text *t, dg_size first, int filters)
{
    layer(t, "op = conv_transpose\n");
    put(t, "filters = %d\nkernel = %s\npad = 0\n", filters, size_text(first));
}

static void logit(text *t, dg_size first)
{
    layer(t, "filters = 1\nbias = no\nact = none\n");
    put(t, "kernel = %s\npad = 0\n", size_text(first));
}

/* The number of filters is `image` at full image size. Each halving of the side doubles the number of filters, up to
 * `most`. */
typedef struct {
    int image, most;
} widths;

static int width(const widths *w, int k) { return w->image << k < w->most ? w->image << k : w->most; }

static const widths bilinear_g = {16, 256}, bilinear_d = {32, 256};

static void bilinear(text *t, int channels, dg_size first, int halvings)
{
    static const char defaults[] = "kernel = 3\nbias = yes\nact = leaky\n";
    begin_net(t, 'G', defaults);
    first_map(t, first, width(&bilinear_g, halvings));
    for (int k = halvings - 1; k >= 0; k--) {
        layer(t, "op = resample\nscale = 2\n");
        conv(t, width(&bilinear_g, k), "");
    }
    conv(t, channels, "kernel = 1\nact = none\n");
    begin_net(t, 'D', defaults);
    for (int k = 0; k <= halvings; k++) {
        if (k) layer(t, "op = resample\nscale = 0.5\n");
        conv(t, width(&bilinear_d, k), "");
    }
    logit(t, first);
}

/* Write a residual block: x + W3 leaky(W2 leaky(W1 x)), where W2 is a 3 x 3 convolution and W3 starts at 0. W1 halves
 * the number of channels. If `grouped`, W1 doubles it, and W2 has groups of 16 channels. `count` is the number of
 * blocks in the network. */
static void block(text *t, int count, int filters, bool grouped)
{
    const int in = t->layers, inner = grouped ? 2 * filters : filters / 2;
    char inside[80];
    snprintf(inside, sizeof inside, "gain = %.4f\nbias = yes\nact = leaky\n", pow(count, -0.25));
    conv(t, inner, inside);
    conv(t, inner, inside);
    put(t, "kernel = 3\n");
    if (grouped && inner > 16) put(t, "groups = %d\n", inner / 16);
    conv(t, filters, "start = zero\n");
    put(t, "add = %c.%d\n", t->net, in);
}

/* Write a GAN with a residual block per stage, and 1 x 1 convolutions where channels change (Huang et al. 2024). */
static void blocks(text *t, int channels, dg_size first, int halvings, const widths net[2], bool grouped)
{
    begin_net(t, 'G', "kernel = 1\n");
    first_map(t, first, width(&net[0], halvings));
    for (int k = halvings; k >= 0; k--) {
        const int own = width(&net[0], k);
        if (k < halvings && own != width(&net[0], k + 1)) conv(t, own, "");
        if (k < halvings) layer(t, "op = resample\nscale = 2\n");
        block(t, halvings + 1, own, grouped);
    }
    conv(t, channels, "");
    begin_net(t, 'D', "kernel = 1\n");
    conv(t, width(&net[1], 0), "");
    for (int k = 0; k <= halvings; k++) {
        const int own = width(&net[1], k);
        if (k) layer(t, "op = resample\nscale = 0.5\n");
        if (k && own != width(&net[1], k - 1)) conv(t, own, "");
        block(t, halvings + 1, own, grouped);
    }
    logit(t, first);
}

static void residual(text *t, int channels, dg_size first, int halvings)
{
    blocks(t, channels, first, halvings, (const widths[]){{32, 128}, {16, 128}}, false);
}

static void r3gan(text *t, int channels, dg_size first, int halvings)
{
    blocks(t, channels, first, halvings, (const widths[]){{16, 128}, {8, 128}}, true);
}

static const struct {
    const char *name;
    void (*write)(text *t, int channels, dg_size first, int halvings);
} families[] = {{"bilinear", bilinear}, {"residual", residual}, {"r3gan", r3gan}};

bool dg_model_family(char *out, const char *family, const char *name, dg_size size, int channels)
{
    text t = {.out = out};
    dg_size first;
    const int halvings = dg_size_halvings(size, &first);
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        if (strcmp(family, families[i].name) != 0) continue;
        put(&t, "[model]\nname = %s\nsize = %s\nchannels = %d\nlatent = 100\n", name, size_text(size), channels);
        families[i].write(&t, channels, first, halvings);
        return true;
    }
    return false;
}

/* Tests model files: built-in models, dcgan-SIZExCHANNELS, and errors with their line and key. */
#include "host/net/gan.h"
#include "host/data/sides.h"
#include "host/net/job.h"
#include "host/net/layers/layers.h"
#include "host/net/recipe.h"
#include "tempdir.h"
#include "test.h"

static const dg_recipe *recipe;
static dg_model m;

/* Parses the standard 16x16 model after replacing `from` by `to`. */
static dg_err parse_with(const char *from, const char *to)
{
    static char text[DG_MODEL_TEXT_MAX], out[2 * DG_MODEL_TEXT_MAX];
    DG_CHECK(dg_model_stock(text, "small", dg_square(16), 3, 10, 4, 4) == DG_OK);
    const char *at = strstr(text, from);
    DG_CHECKF(at != NULL, "the stock text has no %s", from);
    if (!at) return DG_OK;
    snprintf(out, sizeof out, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    const dg_err e = dg_model_parse(out, "net.cfg", &m);
    return e ? e : dg_recipe_for(&m, &recipe);
}

static void mistake(const char *from, const char *to, const char *said)
{
    dg_err e = parse_with(from, to);
    DG_CHECKF(e == DG_USAGE, "%s -> %s: returned %d", from, to, (int)e);
    DG_CHECKF(strstr(dg_message(), said) != NULL, "%s -> %s: said \"%s\", not \"%s\"", from, to, dg_message(), said);
}

static void check_builtin(const char *name, int size, int width, int layers)
{
    DG_CHECKF(dg_model_read(name, &m) == DG_OK, "%s: %s", name, dg_message());
    DG_CHECKF(dg_recipe_for(&m, &recipe) == DG_OK, "%s: %s", name, dg_message());
    DG_CHECKF(!strcmp(m.name, name), "%s calls itself %s", name, m.name);
    DG_CHECK(dg_same_size(m.size, dg_square(size)) && m.channels == 3 && m.latent == 100);
    DG_CHECK(m.net[DG_G].layers == layers && m.net[DG_D].layers == layers);
    DG_CHECK(m.net[DG_G].layer[0].filters == width && m.net[DG_D].layer[layers - 2].filters == width);
    DG_CHECK(m.net[DG_G].layer[layers - 1].module == 3 * (layers - 1));
    DG_CHECK(m.net[DG_D].layer[layers - 1].module == 3 * (layers - 2) + 2);
    DG_CHECK(m.net[DG_D].layer[1].module == 2 && m.net[DG_G].layer[1].module == 3);
}

/* Changes the value of a key in [G.1]. The parser must accept values in `good` and refuse values in `bad` with the
 * range `right`. Other errors are ignored for values in `good`. */
static void range(const char *key, const char *was, const char *good, const char *bad, const char *right)
{
    char from[64], to[64];
    snprintf(from, sizeof from, "\n%s = %s\n", key, was);
    for (const char *v = good; *v; v += strcspn(v, " "), v += *v == ' ') {
        snprintf(to, sizeof to, "\n%s = %.*s\n", key, (int)strcspn(v, " "), v);
        const dg_err e = parse_with(from, to);
        DG_CHECKF(!e || !strstr(dg_message(), ": must be ") || strstr(dg_message(), "less than kernel"), "%s: %s", to,
                  dg_message());
    }
    for (const char *v = bad; *v; v += strcspn(v, " "), v += *v == ' ')
        mistake(from, temp_text("\n%s = %.*s\n", key, (int)strcspn(v, " "), v),
                temp_text("] %s = %.*s: must be %s", key, (int)strcspn(v, " "), v, right));
}

static void ranges(void)
{
    range("size", "16", "8 28 96 224 512 8x512 16x24",
          "7 513 -16 16.0 x 99999999999999999999 16x 16x24x3 7x16 16x513 x16 16X24",
          "a side from 8 to 512, or WIDTHxHEIGHT such as 64x96");
    range("channels", "3", "1 3 4", "0 2 5 RGB", "1 (grey), 3 (RGB) or 4 (RGB and alpha)");
    range("latent", "10", "1 4096", "0 4097 1e3", "a whole number from 1 to 4096");
    range("op", "conv_transpose", "conv", "deconv convolution con",
          "conv, conv_transpose, dense, max_pool, mean_pool, resample, dropout or add");
    range("filters", "8", "1 16384", "0 16385 -8 99999999999999999999", "a whole number from 1 to 16384");
    range("kernel", "4", "1 16", "0 17 4.5 17x17 4x65 0x4",
          "a side from 1 to 16, or the WIDTHxHEIGHT of a map, with sides up to 64");
    range("stride", "1", "1 8", "0 9", "a whole number from 1 to 8");
    range("pad", "0", "0 15", "-1 16", "a whole number from 0 to 15");
    range("norm", "batch", "none batch spectral", "layer bat batchnorm", "batch, spectral or none");
    char acts[200] = "";
    for (int k = 1; k < DG_ACT_KINDS; k++)
        snprintf(acts + strlen(acts), sizeof acts - strlen(acts), "%s%s", k > 1 ? ", " : "", dg_acts[k].word);
    range("act", "relu", "none relu leaky", "gelu tan relu|leaky", strcat(acts, " or none"));
    range("act", "leaky", "leaky\nslope=0 leaky\nslope=0.999", "", "");
    mistake("act = leaky", "act = leaky\nslope = 1", "slope = 1: must be a number from 0 up to, not including, 1");
    mistake("act = leaky", "act = leaky\nslope = -0.1", "slope = -0.1: must be a number");
    mistake("act = leaky", "act = leaky\nslope = nan", "slope = nan: must be a number");
    static const char *const gains[] = {"0", "-1", "1000", "nan", "x", "", NULL};
    for (const char *const *v = gains; *v; v++) {
        mistake("act = leaky", temp_text("act = leaky\nstart = gain\ngain = %s", *v),
                temp_text("[D.1] gain = %s: must be a number from 0.001 up to, not including, 1000", *v));
    }
    mistake("act = leaky", "act = leaky\ngain = 0.5", "[D.1] gain = 0.5: needs start = gain");
    mistake("act = leaky", "act = leaky\nstart = zero\ngain = 0.5", "gain = 0.5: needs start = gain");
    mistake("[D.1]", "[D]\ngain = 0.5\n[D.1]", "[D.1] gain = 0.5: needs start = gain");
    mistake("[D.1]", "[D]\nstart = zero\ngain = 0.5\n[D.1]", "[D.1] gain = 0.5: needs start = gain");
    DG_CHECK(!parse_with("[D.1]\n", "[D]\nstart = gain\ngain = 0.5\n[D.1]\nstart = zero\n") &&
             m.net[DG_D].layer[0].start == DG_LAYER_START_ZERO && m.net[DG_D].layer[1].gain == 0.5 &&
             m.net[DG_G].layer[0].gain == 1);
    mistake("act = leaky", "act = leaky\nrepeat = 0", "repeat = 0: must be a whole number from 1 to 128");
    mistake("act = leaky", "act = leaky\nrepeat = 129", "repeat = 129: must be a whole number from 1 to 128");
    mistake("act = leaky", "act = leaky\nin = G.1", "[D.1] in = G.1");
    mistake("act = leaky", "act = leaky\nin = D", "[D.1] in = D");
    mistake("act = leaky", "act = leaky\nin = D.129", "[D.1] in = D.129");
    mistake("act = leaky", "act = leaky\nrepeat_from = latent",
            "repeat_from = latent: must be a layer of this network");
}

/* In networks with L residual blocks, the first two convolutions of each block have gain = L^(-1/4). */
static void check_gains(const char *name)
{
    for (int net = 0; net < 2; net++) {
        const dg_net *n = &m.net[net];
        int blocks = 0;
        for (int k = 0; k < n->layers; k++) blocks += n->layer[k].add >= 0;
        for (int k = 0; k < n->layers; k++) {
            const bool inside = blocks && n->layer[k].act == DG_ACT_LEAKY;
            DG_CHECKF(fabs(n->layer[k].gain - (inside ? pow(blocks, -0.25) : 1)) < 1e-4, "%s, %s: gain %g", name,
                      n->layer[k].name, n->layer[k].gain);
        }
    }
}

/* The models bilinear, residual and r3gan have no norms. Models with suffix -spectral have spectral norm in all
 * layers of D with weights. */
static void check_no_norm(const char *name)
{
    static dg_model spectral;
    char text[64];
    snprintf(text, sizeof text, "%s-spectral", name);
    DG_CHECKF(!dg_model_read(text, &spectral) && !dg_recipe_for(&spectral, &recipe), "%s: %s", text, dg_message());
    for (int net = 0; net < 2; net++)
        for (int k = 0; k < m.net[net].layers; k++) {
            const dg_layer *l = &m.net[net].layer[k], *s = &spectral.net[net].layer[k];
            DG_CHECK(l->norm == DG_NORM_NONE && l->filters == s->filters && l->kind == s->kind && l->bias == s->bias);
            DG_CHECKF((s->norm == DG_NORM_SPECTRAL) == (net == DG_D && l->kind->parameters), "%s, %s", text, l->name);
        }
    DG_CHECK(m.net[DG_G].layer[m.net[DG_G].layers - 1].act == DG_ACT_NONE && !dg_net_check_tangent(&m, DG_D));
}

/* A conditional GAN has one input of G and one logit of D per class. From 129 classes on, G has an embedding. */
static void check_classes(const char *name, int classes)
{
    if (!DG_CHECKF(!dg_model_read(name, &m) && !dg_recipe_for(&m, &recipe), "%s: %s", name, dg_message())) return;
    const dg_layer *first = &m.net[DG_G].layer[0], *pick = &m.net[DG_D].layer[m.net[DG_D].layers - 1];
    DG_CHECK(!strcmp(m.name, name) && m.classes == classes && dg_net_input(&m, &m.net[DG_G]).C == m.latent + classes);
    DG_CHECK(pick->kind == &dg_layer_pick && pick->in.C == classes + 1 && pick->out.C == 1);
    DG_CHECKF((first->kind == &dg_layer_dense) == (classes > 128), "%s: first layer %s", name, first->name);
    if (classes > 128)
        DG_CHECK(first[0].out.C == m.latent + 32 && first[1].in.C == m.latent + 32 && first[1].input == 0);
}

/* The key classes of a classifier is only compared with its number of logits. */
static void test_classifier(void)
{
#define CLASSIFIER(n) "[model]\nname = c\nsize = 8\nclasses = " #n "\n[C.1]\nop = dense\nfilters = 3\n"
    DG_CHECK(!dg_model_parse(CLASSIFIER(3), "c", &m) && !m.classes);
    DG_REFUSED(dg_model_parse(CLASSIFIER(4), "c", &m), DG_USAGE, "has 3 logits, but [model] classes = 4");
}

/* Compares models dcgan-SIZExCHANNELS with built-in models of the same shape, layer by layer. Every permitted size
 * must have a model. */
static void test_shapes(void)
{
    static const struct {
        const char *shape, *same;
    } pair[] = {{"dcgan-64x3", "dcgan64-paper"}, {"dcgan-32x3", "dcgan32"}, {"dcgan-28x1", "dcgan28"}};
    static dg_model other;
    for (size_t i = 0; i < sizeof pair / sizeof *pair; i++) {
        DG_CHECK(dg_model_read(pair[i].shape, &m) == DG_OK && dg_model_read(pair[i].same, &other) == DG_OK);
        DG_CHECK(dg_same_size(m.size, other.size) && m.channels == other.channels && m.latent == other.latent);
        for (int net = 0; net < 2; net++) {
            DG_CHECK(m.net[net].layers == other.net[net].layers);
            for (int k = 0; k < m.net[net].layers; k++) {
                const dg_layer *a = &m.net[net].layer[k], *b = &other.net[net].layer[k];
                DG_CHECKF(a->kind == b->kind && a->filters == b->filters && dg_same_size(a->kernel, b->kernel) &&
                              a->stride == b->stride && a->pad == b->pad && a->norm == b->norm && a->act == b->act &&
                              a->slope == b->slope && a->module == b->module,
                          "%s, layer %s", pair[i].shape, a->name);
            }
        }
    }
    for (size_t i = 0; i < sizeof pair / sizeof *pair; i++) { /* only the norm of D differs */
        char name[64];
        snprintf(name, sizeof name, "%s-spectral", pair[i].shape);
        DG_CHECKF(dg_model_read(pair[i].shape, &other) == DG_OK && dg_model_read(name, &m) == DG_OK, "%s",
                  dg_message());
        DG_CHECK(!strcmp(m.name, name) && m.nets == 2 && !dg_recipe_for(&m, &recipe));
        for (int net = 0; net < 2; net++)
            for (int k = 0; k < m.net[net].layers; k++) {
                const dg_layer *a = &m.net[net].layer[k], *b = &other.net[net].layer[k];
                DG_CHECK(a->filters == b->filters && a->stride == b->stride && a->pad == b->pad && a->act == b->act);
                DG_CHECKF(a->norm == (net == DG_D ? DG_NORM_SPECTRAL : b->norm), "%s, layer %s", name, a->name);
            }
    }
    DG_CHECK(dg_model_read("dcgan64-paper-spectral", &m) == DG_OK && m.net[DG_D].layer[4].norm == DG_NORM_SPECTRAL);
    DG_CHECK(dg_model_read("dcgan64-paper-nonorm", &m) == DG_OK && !dg_recipe_for(&m, &recipe));
    for (int k = 0; k < m.net[DG_D].layers; k++) {
        const dg_layer *l = &m.net[DG_D].layer[k];
        DG_CHECKF(l->norm == DG_NORM_NONE && l->start == DG_LAYER_START_GAIN && l->bias == (k < m.net[DG_D].layers - 1),
                  "layer %s", l->name);
    }
    DG_CHECK(m.net[DG_G].layer[0].norm == DG_NORM_BATCH && m.net[DG_G].layer[0].start == DG_LAYER_START_OPTION);
    DG_REFUSED(dg_model_read("cnn-mnist-spectral", &m), DG_USAGE, "discriminator");
    check_classes("dcgan64-10classes", 10);
    check_classes("bilinear-32x3-128classes", 128);
    check_classes("dcgan-28x1-spectral-129classes", 129);
    DG_REFUSED(dg_model_read("dcgan-65x3-spectral", &m), DG_USAGE, "size 65: must be");
    static const char *const unknown[] = {
        "-spectral",
        "dcgan99-spectral",
        "afamilyofmanyletters-28x1",
        "dcgan-:8x1",
        "10classes",
        "-10classes",
        "cnn-mnist-classes",
        "cnn-mnist-012classes",
        "cnn-mnist-123456classes",
        "cnn-mnist.10classes",
        "cnn-mnist-1:classes",
        "cnn-mnist-that-has-a-name-of-more-than-sixty-three-letters-for-ten-10classes"};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        DG_CHECKF(dg_model_read(unknown[i], &m) == DG_USAGE, "%s: %s", unknown[i], dg_message());
    int sides = 0;
    for (int side = 1; side < 400; side++) {
        char name[40];
        snprintf(name, sizeof name, "dcgan-%dx1", side);
        const bool there = dg_model_side(side) == side;
        const dg_err e = dg_model_read(name, &m);
        sides += there;
        DG_CHECKF(there ? !e && !dg_recipe_for(&m, &recipe) && dg_same_size(m.size, dg_square(side)) && m.channels == 1
                        : e == DG_USAGE,
                  "%s: %d %s", name, (int)e, dg_message());
    }
    for (const char *const *family = (const char *const[]){"bilinear", "residual", "r3gan", NULL}; *family; family++)
        for (int side = 14; side < 260; side++) {
            char name[40];
            snprintf(name, sizeof name, "%s-%dx%d", *family, side, side % 3 ? 3 : 1);
            const bool there = dg_model_side(side) == side;
            const dg_err e = dg_model_read(name, &m);
            DG_CHECKF(there ? !e && !dg_recipe_for(&m, &recipe) && dg_same_size(m.size, dg_square(side)) &&
                                  !strcmp(m.name, name)
                            : e == DG_USAGE,
                      "%s: %d %s", name, (int)e, dg_message());
            if (there) check_no_norm(name), check_gains(name);
        }
    for (const char *const *name = (const char *const[]){"r3gan-cifar", "r3gan-ffhq64", NULL}; *name; name++)
        if (DG_CHECKF(!dg_model_read(*name, &m), "%s", dg_message())) check_gains(*name);
    DG_CHECK(sides == 17 && dg_model_side(15) == 0 && dg_model_side(1000) == 256 && dg_model_side(100) == 96);
    for (const char *const *bad =
             (const char *const[]){"dcgan-64", "dcgan-64x", "dcgan-64x2", "dcgan-64x3x", "dcgan--64x3", "dcgan-64x33",
                                   "dcgan-64x ", "dcgan-64xa", "dcgan-10000x1", "bilinear-64x2", "bicubic-64x3",
                                   "residual-64x3-nonorm", "-64x3", "a-rather-long-family-64x3", NULL};
         *bad; bad++)
        DG_CHECKF(dg_model_read(*bad, &m) == DG_USAGE && strstr(dg_message(), *bad), "%s: %s", *bad, dg_message());
}

/* dcgan-WxHxC: W x H images with C channels. The shorter side sets the number of layers. */
static void rectangles(void)
{
    static const struct {
        const char *name;
        dg_size size, first;
        int layers;
    } want[] = {{"dcgan-64x96x3", {64, 96}, {4, 6}, 5},    {"dcgan-96x64x1", {96, 64}, {6, 4}, 5},
                {"dcgan-48x64x3", {48, 64}, {6, 8}, 4},    {"dcgan-64x40x4", {64, 40}, {8, 5}, 4},
                {"dcgan-16x256x3", {16, 256}, {4, 64}, 3}, {"dcgan-64x64x3", {64, 64}, {4, 4}, 5}};
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        const dg_size size = want[i].size, first = want[i].first;
        const dg_err e = dg_model_read(want[i].name, &m);
        if (!DG_CHECKF(!e && !dg_recipe_for(&m, &recipe), "%s: %s", want[i].name, dg_message())) continue;
        const dg_net *g = &m.net[DG_G], *d = &m.net[DG_D];
        const dg_shape out = g->layer[g->layers - 1].out, map = g->layer[0].out, in = d->layer[0].in,
                       last = d->layer[d->layers - 1].in;
        DG_CHECKF(dg_same_size(m.size, size) && g->layers == want[i].layers && d->layers == want[i].layers &&
                      out.W == size.W && out.H == size.H && map.W == first.W && map.H == first.H && in.W == size.W &&
                      in.H == size.H && last.W == first.W && last.H == first.H &&
                      dg_same_size(g->layer[0].kernel, first) && dg_same_size(d->layer[d->layers - 1].kernel, first),
                  "%s", want[i].name);
    }
    for (const char *const *name = (const char *const[]){"bilinear-48x64x3", "residual-64x40x1", "r3gan-16x24x3",
                                                         "dcgan-64x40x1-spectral", "dcgan-24x16x3-10classes", NULL};
         *name; name++)
        DG_CHECKF(!dg_model_read(*name, &m) && !dg_recipe_for(&m, &recipe), "%s: %s", *name, dg_message());
    static const char *const near[][2] = {{"48x50", "48"},      {"50x100", "48x96"}, {"12x64", "16x64"},
                                          {"300x64", "256x64"}, {"64x97", "64x96"},  {"1x1000", "16x256"}};
    for (size_t i = 0; i < sizeof near / sizeof *near; i++) {
        DG_REFUSED(dg_model_read(temp_text("dcgan-%sx3", near[i][0]), &m), DG_USAGE, "the shorter side must be");
        const char *use = strstr(dg_message(), "; use ");
        DG_CHECKF(use && !strcmp(use + 6, near[i][1]), "%s: %s", near[i][0], dg_message());
    }
    for (const char *const *bad =
             (const char *const[]){"dcgan-64x96x2", "dcgan-64x96x", "dcgan-64xx3", "dcgan-64x96x3x3", "dcgan-64x96x33",
                                   "dcgan-x96x3", "dcgan-10000x64x3", NULL};
         *bad; bad++)
        DG_CHECKF(dg_model_read(*bad, &m) == DG_USAGE && strstr(dg_message(), *bad), "%s: %s", *bad, dg_message());
    mistake("kernel = 4\nstride = 2", "kernel = 4x6\nstride = 2",
            "kernel = 4x6: a kernel that is not square must cover");
    mistake("kernel = 4", "kernel = 4x6", "16 x 24");
    mistake("[D.3]\n", "[D.3]\nop = max_pool\nkernel = 4x8\n[D.4]\n", "kernel = 4x8: only a mean_pool");
}

static void test_too_much(void)
{
    static char many[4096], line[256], text[2 * DG_MODEL_TEXT_MAX];
    const char *const train = "[train]\n", *const net = "[G.1]";
    snprintf(many, sizeof many, "%s", train);
    for (int i = 0; i <= DG_TRAIN_MAX; i++)
        snprintf(many + strlen(many), sizeof many - strlen(many), "key%d = %d\n", i, i);
    snprintf(many + strlen(many), sizeof many - strlen(many), "%s", net);
    mistake(net, many, "too many keys");
    memset(line, 'k', 140);
    mistake(net, temp_text("%s%.120s = 1\n%s", train, line, net), "too long");
    mistake(net, temp_text("%skey = %.120s\n%s", train, line, net), "too long");
    mistake(net, "[train]\nlr = 1\nlr = 2\n[G.1]", "[train] lr = 2");
    memset(line, 'n', 155);
    mistake("name = small", temp_text("name = %.150s", line), "157 characters");
    mistake("name = small", temp_text("name = %.64s", line), "must be 1 to 63 letters");
    mistake("name = small", "name =", "must be 1 to 63 letters");
    mistake("size = 16", "size = 16\nepsilon = 0.1", "epsilon: ");
    for (const char *const *v = (const char *const[]){"1", "x", "-0.1", "", "0.5x", NULL}; *v; v++)
        mistake("act = leaky", temp_text("act = leaky\nslope = %s", *v),
                "must be a number from 0 up to, not including, 1");
    static const char *const torch[] = {"a b c", "{1+}",  "{+1}", "{1234+1}", "{1+1234}",
                                        "{1+2",  "{1-2}", "",     "\xff",     NULL};
    for (const char *const *v = torch; *v; v++) {
        snprintf(line, sizeof line, "act = leaky\ntorch = %s", *v);
        mistake("act = leaky", line, "] torch = ");
    }
    memset(line, 't', 100);
    mistake("act = leaky", temp_text("act = leaky\ntorch = %.100s", line), "] torch = ");
    memset(text, '\n', sizeof text - 1);
    DG_REFUSED(dg_model_parse(text, "long.cfg", &m), DG_USAGE, "long.cfg");
    temp_make("model");
    temp_put(temp_path("nul.cfg"), "[model]\0", 8);
    DG_REFUSED(dg_model_read(temp_path("nul.cfg"), &m), DG_USAGE, "NUL byte");
    temp_remove(temp_dir);
    DG_CHECK(dg_model_stock(text, "any", dg_square(64), 3, 7, 5, 0) == DG_USAGE);
    DG_CHECK(dg_model_stock(text, "any", dg_square(64), 3, 7, 16384, 3) == DG_USAGE);
    DG_CHECK(dg_model_stock(text, "any", dg_square(64), 3, 7, 5, 16384) == DG_USAGE);
}

int main(void)
{
    check_builtin("dcgan64-paper", 64, 256, 5);
    check_builtin("dcgan64", 64, 512, 5);
    check_builtin("dcgan128", 128, 1024, 6);
    check_builtin("dcgan32", 32, 128, 4);
    int n = 0;
    while (dg_model_builtin(n)) n++;
    DG_CHECK(n >= 4);

    static char text[DG_MODEL_TEXT_MAX];
    for (int size = 16; size <= 256; size *= 2)
        for (int channels = 1; channels <= 3; channels += 2) {
            DG_CHECK(dg_model_stock(text, "any", dg_square(size), channels, 7, 5, 3) == DG_OK);
            DG_WORKS(dg_model_parse(text, "any", &m));
            DG_CHECK(dg_same_size(m.size, dg_square(size)) && m.channels == channels);
            DG_CHECK(!strcmp(m.text, text));
        }
    DG_REFUSED(dg_model_stock(text, "any", dg_square(100), 3, 7, 5, 3), DG_USAGE, "96");
    DG_REFUSED(dg_model_stock(text, "any", dg_square(8), 3, 7, 5, 3), DG_USAGE, "16");
    DG_CHECK(dg_model_stock(text, "any", dg_square(64), 3, 7, 0, 3) == DG_USAGE);

    DG_CHECK(parse_with("filters = 8\nkernel = 4\nstride = 1\npad = 0",
                        "filters = 8\nkernel = 6\nstride = 1\npad = 1") == DG_OK);
    DG_CHECK(parse_with("act = leaky", "act = leaky\nslope = 0.3") == DG_OK && m.net[DG_D].layer[0].slope == 0.3);

    /* Missing keys have defaults. */
    DG_CHECK(parse_with("channels = 3\nlatent = 10\n", "") == DG_OK && m.channels == 3 && m.latent == 100);
    DG_CHECK(parse_with("pad = 1\nnorm = none\nact = leaky", "act = leaky") == DG_OK && m.net[DG_D].layer[0].pad == 1);
    const int norm = parse_with("stride = 1\npad = 0\nnorm = batch\nact = relu", "pad = 0")
                         ? -1
                         : (int)m.net[DG_G].layer[0].norm;
    DG_CHECK(norm == 0 && m.net[DG_G].layer[0].stride == 1 && m.net[DG_G].layer[0].act == DG_ACT_NONE);

    ranges();

    mistake("size = 16", "size = 513", "net.cfg:3: [model] size = 513");
    mistake("size = 16\n", "", "key size");
    mistake("name = small\n", "", "key name");
    mistake("channels = 3", "channels = 2", "net.cfg:4: [model] channels = 2");
    mistake("latent = 10", "latent = ten", "net.cfg:5: [model] latent = ten");
    mistake("name = small", "name = a b", "net.cfg:2: [model] name = a b");
    mistake("name = small", "nam = small", "nam = small: unknown key; [model] has name, size, channels, latent");
    mistake("op = conv_transpose", "opp = conv", "net.cfg:7: [G.1] opp = conv");
    mistake("pad = 0", "pad = 4", "[G.1] pad = 4");
    mistake("act = relu", "act = tanh", "net.cfg:6: [G.1] act = tanh");
    mistake("act = relu", "act = relu\nact = relu", "net.cfg:14: [G.1] act = relu");
    mistake("filters = 8\n", "", "net.cfg:6: [G.1]");
    mistake("kernel = 4\n", "", "key kernel");
    mistake("[G.1]", "[G.7]", "section [G.1] is missing");
    mistake("[G.1]", "[H.1]", "section [G.1] is missing");
    mistake("[G.1]", "[H1]", "net.cfg:6: [H1]");
    mistake("[G.1]", "[G.129]", "unknown section");
    mistake("[G.1]", "[G.0]", "unknown section");
    mistake("[G.1]", "[HOUSE.1]", "unknown section");
    mistake("[G.1]", "[A.1]\n[B.1]\n[C.1]\n[D.1]\n[G.1]", "net.cfg:10: [G.1]");
    mistake("[model]", "model", "net.cfg:1: neither [section] nor key = value");
    mistake("filters = 3\n", "filters = 4\n", "16 x 16 x 4");
    mistake("filters = 1\n", "filters = 2\n", "1 x 1 x 2");
    mistake("norm = none\nact = tanh", "norm = none\nact = relu", "needs norm = none, and act = tanh or none");
    mistake("norm = none\nact = none", "norm = none\nact = relu", "[D.3] ");
    static const char *const vectors[] = {"[D.3]\nop = dense\nfilters = 4\n", "[D.4]\nop = dropout\n", NULL};
    char layers[200] = "";
    for (int i = 0; vectors[i]; i++) { /* each text ends with a layer whose output is a vector */
        strcat(layers, vectors[i]);
        char to[240], said[80];
        snprintf(to, sizeof to, "%s[D.%d]\nop = resample\nscale = 2\n[D.%d]\n", layers, i + 4, i + 5);
        snprintf(said, sizeof said, "[D.%d] op = resample: its input is the vector of a dense layer", i + 4);
        mistake("[D.3]\n", to, said);
    }
    mistake("op = conv_transpose", "in = image\nop = conv", "[G.1] in = ");
    mistake("[D.1]", "[D.1]\nin = latent", "0 x 0");
    mistake("[D.1]", "[E.1]\nfilters = 1\nkernel = 1\n[D.1]", "G, E, D");
    mistake("kernel = 4\nstride = 2\npad = 1\nnorm = none\nact = leaky", "kernel = 3\nstride = 2\npad = 0",
            "[D.1] an input of 16 x 16 with kernel = 3, stride = 2, pad = 0");

    DG_CHECK(dg_model_parse("", "empty.cfg", &m) == DG_USAGE);
    DG_REFUSED(dg_model_read("no-such-model", &m), DG_USAGE, "dcgan64-paper");
    DG_REFUSED(dg_model_read("no/such.cfg", &m), DG_USAGE, "No such file");
    DG_CHECK(dg_model_read("models", &m) == DG_USAGE);
    test_shapes();
    rectangles();
    test_classifier();
    test_too_much();
    return dg_test_report();
}

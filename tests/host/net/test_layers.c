/* Tests layers of networks without a recipe: names, inputs, repetition, shapes and the forward pass. */
#include "host/net/gan.h"
#include "host/net/job.h"
#include "host/net/recipe.h"
#include "host/net/layers/layers.h"
#include "tempdir.h"
#include "test.h"

#define OLD_IMAGE "pictures" /* name of the tensor `image` in older model files */

static const dg_recipe *recipe;
static dg_model m;
static dg_backend *b;

static const char head[] = "[model]\nname = net\nsize = 8\n";

static dg_err parse(const char *sections)
{
    char text[DG_MODEL_TEXT_MAX];
    snprintf(text, sizeof text, "%s[C]\nfilters = 5\nkernel = 3\n%s", head, sections);
    return dg_model_parse(text, "c.cfg", &m);
}

static void mistake(const char *sections, const char *said)
{
    const dg_err e = parse(sections);
    DG_CHECKF(e == DG_USAGE, "%s: returned %d", sections, (int)e);
    DG_CHECKF(strstr(dg_message(), said) != NULL, "%s: said \"%s\", not \"%s\"", sections, dg_message(), said);
}

/* Compares the layers of network C and their inputs with a list "C.1<input C.2<C.1 ...". */
static void reads(const char *sections, const char *expected)
{
    char got[4096] = "";
    if (!DG_CHECKF(parse(sections) == DG_OK, "%s: %s", sections, dg_message())) return;
    const dg_net *n = &m.net[0];
    for (int i = 0, at = 0; i < n->layers; i++)
        at += snprintf(got + at, sizeof got - (size_t)at, "%s%s<%s", i ? " " : "", n->layer[i].name,
                       n->layer[i].input < 0 ? "input" : n->layer[n->layer[i].input].name);
    DG_CHECKF(!strcmp(got, expected), "%s: %s, not %s", sections, got, expected);
}

static void check_repeats(void)
{
    reads("[C.1]\n[C.2]\nact = relu\n[C.3]\n", "C.1<input C.2<C.1 C.3<C.2");
    DG_CHECK(m.net[0].layer[1].act == DG_ACT_RELU && m.net[0].layer[2].act == DG_ACT_NONE);
    DG_CHECK(m.net[0].layer[2].filters == 5 && m.net[0].layer[2].module == 3 && m.net[0].layer[2].line == 10);
    reads("[C.1]\n[C.2]\nrepeat = 3\n[C.3]\n", "C.1<input C.2.1<C.1 C.2.2<C.2.1 C.2.3<C.2.2 C.3<C.2.3");
    reads("[C.1]\nrepeat = 2\n", "C.1.1<input C.1.2<C.1.1");
    reads("[C.1]\n[C.2]\n[C.3]\nrepeat = 2\nrepeat_from = C.2\n[C.4]\nin = C.2\n",
          "C.1<input C.2.1<C.1 C.3.1<C.2.1 C.2.2<C.3.1 C.3.2<C.2.2 C.4<C.2.2");
    /* in the second copy of a repeated block, layer C.5.1 replaces the input C.2 of the block */
    reads("[C.1]\n[C.2]\n[C.3]\n[C.4]\nin = C.2\n[C.5]\nin = C.1\nrepeat = 2\nrepeat_from = C.3\n",
          "C.1<input C.2<C.1 C.3.1<C.2 C.4.1<C.2 C.5.1<C.1 C.3.2<C.5.1 C.4.2<C.5.1 C.5.2<C.1");
    reads("[C.1]\n[C.2]\nin = C.1\n[C.3]\nin = C.1\n", "C.1<input C.2<C.1 C.3<C.1");
    reads("[C.1]\nin = image\n[C.2]\n", "C.1<input C.2<C.1");
    reads("[C.1]\nin = " OLD_IMAGE "\n[C.2]\n", "C.1<input C.2<C.1");

    mistake("[C.1]\n[C.2]\nin = C.2\n", "c.cfg:8: [C.2] in = C.2");
    mistake("[C.1]\n[C.2]\nin = C.3\n[C.3]\n", "must be an earlier layer");
    mistake("[C.1]\nin = C.1\n", "[C.1] in = C.1");
    mistake("[C.1]\n[C.2]\nin = image\n", "[C.2] in = ");
    mistake("[C.1]\nrepeat_from = C.1\n", "[C.1] repeat_from = C.1");
    mistake("[C.1]\nrepeat = 2\nrepeat_from = C.2\n[C.2]\n", "this layer or an earlier layer");
    mistake("[C.1]\n[C.2]\nrepeat = 2\nrepeat_from = C.1\n[C.3]\nrepeat = 2\nrepeat_from = C.2\n",
            "[C.3] repeat_from = C.2");
    mistake("[C.1]\n[C.2]\nrepeat = 2\n[C.3]\nrepeat = 2\nrepeat_from = C.1\n", "[C.2] repeat = 2");
    mistake("[C.1]\n[C.3]\n", "section [C.2] is missing");
    mistake("", "section [C.1] is missing");
    mistake("[C]\nrepeat = 2\n[C.1]\n", "[C] repeat = 2");
    mistake("[C]\nin = C.1\n", "[C] in = C.1");
    mistake("[C.1]\n[C.200]\n", "c.cfg:8: [C.200]");
    DG_REFUSED(dg_model_parse(head, "none.cfg", &m), DG_USAGE, "none.cfg");
}

static void check_torch(void)
{
    DG_WORKS(parse("[C.1]\nnorm = batch\ntorch = f.{4+3}\nrepeat = 3\n[C.2]\ntorch = {0+1}.b{7+0}\n"));
    static const char *const name[][2] = {{"f.4", "f.5"}, {"f.7", "f.8"}, {"f.10", "f.11"}, {"0.b7", ""}};
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 2; k++)
            DG_CHECKF(!strcmp(m.net[0].layer[i].torch[k], name[i][k]), "layer %d: %s", i, m.net[0].layer[i].torch[k]);
    DG_WORKS(parse("[C.1]\nnorm = batch\ntorch =  conv1   bn1 \n"));
    DG_CHECK(!strcmp(m.net[0].layer[0].torch[0], "conv1") && !strcmp(m.net[0].layer[0].torch[1], "bn1"));
    DG_WORKS(parse("[C.1]\nnorm = batch\ntorch = 4\n"));
    DG_CHECKF(!strcmp(m.net[0].layer[0].torch[1], "5"), "%s after 4", m.net[0].layer[0].torch[1]);

    mistake("[C.1]\ntorch = a b c\n", "[C.1] torch = a b c");
    mistake("[C.1]\ntorch = a/b\n", "] torch = ");
    mistake("[C.1]\ntorch = a.{1}\n", "] torch = ");
    mistake("[C.1]\ntorch = a.{1+1\n", "] torch = ");
    mistake("[C.1]\ntorch =\n", "] torch = ");
    mistake("[C]\ntorch = a\n[C.1]\n", "[C] torch = a");
    mistake("[C.1]\ntorch = a b\n", "[C.1] torch = a b");
    mistake("[C.1]\nnorm = batch\ntorch = conv1\n", "batch norm");
    mistake("[C.1]\nnorm = batch\ntorch = f.1000000\n", "batch norm");
    mistake("[C.1]\nnorm = batch\ntorch = f4\n", "batch norm");
    mistake("[C.1]\ntorch = a\n[C.2]\ntorch = a\n", "[C.2] torch = a");
    mistake("[C.1]\nnorm = batch\ntorch = a a\n", "torch = a a: ");
    mistake("[C.1]\ntorch = main.3\n", "main and input");
    mistake("[C.1]\ntorch = input\n", "main and input");
    mistake("[C.1]\ntorch = a\nrepeat = 2\n", "[C.1] torch = a");
    mistake("[C.1]\nnorm = batch\ntorch = f.{4+1}\nrepeat = 2\n", "f.5 ");
    mistake("[C.1]\nop = max_pool\nkernel = 2\ntorch = a\n", "has no weights to name");
    mistake("[C.1]\nop = dropout\ntorch = a\n", "torch: not a key of op = dropout");
    mistake("[C.1]\ntorch = a12345678901234567890123456789012345678901234567\n", "a name has at most 47 characters");
}

static void check_limits(void)
{
    DG_CHECKF(parse("[C.1]\nrepeat = 128\n") == DG_OK && m.net[0].layers == 128, "%s", dg_message());
    DG_CHECK(!strcmp(m.net[0].layer[127].name, "C.1.128"));
    mistake("[C.1]\nrepeat = 128\n[C.2]\n", "[C.2] a network has at most 128 layers");
    mistake("[C.1]\n[C.2]\n[C.3]\nrepeat = 65\nrepeat_from = C.2\n", "a network has at most 128 layers");
    char text[DG_MODEL_TEXT_MAX] = "";
    for (int i = 1, at = 0; i <= 128; i++) at += snprintf(text + at, sizeof text - (size_t)at, "[C.%d]\n", i);
    DG_CHECKF(parse(text) == DG_OK && m.net[0].layers == 128, "%s", dg_message());
    strcat(text, "[C.129]\n");
    mistake(text, "[C.129]: unknown section");
    /* A model has at most four networks. Networks that read the latent vector come first. */
    snprintf(text, sizeof text,
             "%s[A.1]\nfilters = 1\nkernel = 1\n[AbCd.1]\nfilters = 2\nkernel = 1\n[z.1]\n"
             "in = latent\nfilters = 3\nkernel = 1\n[G.1]\nfilters = 4\nkernel = 1\n",
             head);
    DG_CHECKF(dg_model_parse(text, "nets.cfg", &m) == DG_OK && m.nets == 4, "%s", dg_message());
    for (int i = 0; i < m.nets; i++) {
        static const char *const name[] = {"z", "G", "A", "AbCd"};
        static const int filters[] = {3, 4, 1, 2}, side[] = {1, 1, 8, 8};
        DG_CHECKF(!strcmp(m.net[i].name, name[i]) && m.net[i].latent == (i < 2), "%d: %s", i, m.net[i].name);
        DG_CHECK(m.net[i].layer[0].filters == filters[i] && m.net[i].layer[0].out.H == side[i]);
    }
}

static void check_shapes(void)
{
    /* no output of C.1 uses the padding at the right and bottom, and C.2 skips pixels */
    DG_WORKS(parse("[C.1]\nstride = 2\n[C.2]\nkernel = 1\nstride = 2\n"));
    DG_CHECK(m.net[0].layer[0].out.H == 4 && m.net[0].layer[0].out.W == 4 && m.net[0].layer[0].pad == 1);
    DG_CHECK(m.net[0].layer[1].out.H == 2 && m.net[0].layer[1].pad == 0 && m.net[0].layer[1].in.C == 5);
    mistake("[C.1]\nstride = 2\npad = 0\n", "8 x 8 with kernel = 3, stride = 2, pad = 0");
    mistake("[C.1]\nkernel = 9\npad = 0\n", "0 x 0");
    mistake("[C.1]\nop = conv_transpose\nstride = 8\nrepeat = 3\n", "[C.1.3] ");
}

static void check_forward(void)
{
    dg_arena a;
    dg_plan p;
    if (!DG_WORKS(parse("[C.1]\nact = relu\n[C.2]\nnorm = batch\n[C.3]\nin = C.1\nfilters = 7\n"))) return;
    if (!DG_WORKS(dg_build_forward(&m, 0, 3, b, &a, &p))) return;
    static const char *const name[] = {"C.1.conv.fwd",   "C.1.act.fwd",  "C.2.conv.fwd",
                                       "C.2.norm.stats", "C.2.norm.act", "C.3.conv.fwd"};
    DG_CHECKF(p.ops == 6, "%d ops", p.ops);
    for (int i = 0; i < p.ops && i < 6; i++) DG_CHECKF(!strcmp(p.op[i].name, name[i]), "%d: %s", i, p.op[i].name);
    DG_CHECK(dg_arena_find(&a, "C.1.out") >= 0);
    bool reads_first = false;
    for (int k = 0; k < DG_MAX_OPERANDS; k++) reads_first |= p.op[5].operand[k].row == dg_arena_find(&a, "C.1.out");
    DG_CHECKF(reads_first, "C.3 does not read C.1");
    DG_CHECK(a.row[dg_arena_find(&a, "C.3.out")].shape.C == 7 && a.row[dg_arena_find(&a, "C.3.out")].shape.N == 3);
    DG_CHECK(a.row[dg_arena_find(&a, "C.1.out")].last >= 5);
    dg_plan_free(&p);
    dg_arena_free(&a, b);
    DG_CHECK(parse("[C.1]\nfilters = 16384\nrepeat = 2\n") == DG_OK);
    DG_REFUSED(dg_build_forward(&m, 0, 65536, b, &a, &p), DG_USAGE, "layer C.1.1 of model net");
}

/* A tensor may have several consumers, but a layer without a consumer is an error. */
static void check_backward(void)
{
    DG_CHECK(parse("[C.1]\n[C.2]\n[C.3]\nin = C.2\n") == DG_OK && dg_net_check_backward(&m, 0) == DG_OK);
    DG_CHECK(!m.net[0].forks);
    DG_CHECK(parse("[C.1]\n[C.2]\n[C.3]\nin = C.1\nadd = C.2\n") == DG_OK && dg_net_check_backward(&m, 0) == DG_OK);
    DG_CHECK(m.net[0].forks);
    DG_CHECK(parse("[C.1]\n[C.2]\n[C.3]\nin = C.1\n[C.4]\n") == DG_OK && dg_net_check_backward(&m, 0) == DG_USAGE);
    DG_CHECKF(strstr(dg_message(), "c.cfg:8: [C.2] "), "%s", dg_message());
    DG_CHECK(parse("[C.1]\n[C.2]\nrepeat = 2\n[C.3]\nin = C.1\n") == DG_OK && dg_net_check_backward(&m, 0) == DG_USAGE);
    DG_CHECKF(strstr(dg_message(), "[C.2.2] "), "%s", dg_message());
    DG_REFUSED(dg_recipe_for(&m, &recipe), DG_USAGE, "8 x 8 x 5");
}

/* Checks the number of layers with weights and the number of weights of a published network. */
static void check_trunk(const char *path, int layers, size_t weights)
{
    if (!DG_WORKS(dg_model_read(path, &m))) return;
    size_t n = 0;
    int weighted = 0;
    for (int i = 0; i < m.net[0].layers; i++) {
        dg_parameter list[DG_LAYER_PARAMETERS];
        const dg_layer *l = &m.net[0].layer[i];
        if (!l->kind->parameters || !l->kind->parameters(l, list)) continue;
        weighted++;
        for (int k = l->kind->parameters(l, list) - 1; k >= 0; k--)
            if (list[k].kind == DG_PARAMETER_WEIGHT)
                n += list[k].rank == 1 ? (size_t)list[k].dim[0]
                                       : (size_t)list[k].dim[0] * (size_t)list[k].dim[1] * (size_t)list[k].dim[2] *
                                             (size_t)list[k].dim[3];
    }
    DG_CHECKF(weighted == layers && n == weights, "%s: %d layers, %zu weights", path, weighted, n);
    int lines = 0;
    for (const char *c = m.text; *c; c++) lines += *c == '\n';
    DG_CHECKF(lines < 160, "%s has %d lines", path, lines);
}

/* Compares output sizes of pooling with PyTorch. */
static void check_pool(void)
{
    static const struct {
        const char *keys;
        int side; /* side of the output for 13 x 13 images, or 0 if the parser refuses the layer */
    } pools[] = {{"kernel = 2\n", 6},
                 {"kernel = 3\nstride = 2\n", 6},
                 {"kernel = 3\nstride = 2\npad = 1\n", 7},
                 {"kernel = 13\n", 1},
                 {"kernel = 14\n", 0},
                 {"kernel = 2\npad = 2\n", 0},
                 {"stride = 2\n", 0},
                 {"kernel = 2\nfilters = 3\n", 0}};
    for (size_t i = 0; i < sizeof pools / sizeof *pools; i++) {
        const dg_err e = dg_model_parse(temp_text("[model]\nname = p\nsize = 13\n[C.1]\nop = max_pool\n%s",
                                                  pools[i].keys),
                                        "pool.cfg", &m);
        if (!pools[i].side) DG_CHECKF(e == DG_USAGE, "%s: taken", pools[i].keys);
        else if (DG_CHECKF(!e, "%s: %s", pools[i].keys, dg_message()))
            DG_CHECKF(m.net[0].layer[0].out.H == pools[i].side && m.net[0].layer[0].out.C == 3, "%s: %d", pools[i].keys,
                      m.net[0].layer[0].out.H);
    }
}

/* A layer with op = resample must not inherit keys from [C]. */
static void check_resample(void)
{
    static const struct {
        const char *keys, *in;
        int side; /* side of the output, or 0 if the parser refuses the layer */
    } layers[] = {
        {"scale = 2\n", "13", 26},    {"scale = 0.5\n", "14", 7}, {"scale = 0.5\n", "13", 0},           {"", "14", 0},
        {"scale = 2\n", "512", 1024}, {"scale = 3\n", "14", 0},   {"scale = 2\nfilters = 3\n", "14", 0}};
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) {
        char text[300];
        snprintf(text, sizeof text,
                 "[model]\nname = p\nsize = %s\n[C]\nact = relu\nnorm = batch\nbias = yes\n[C.1]\n%s%s", layers[i].in,
                 "op = resample\n", layers[i].keys);
        const dg_err e = dg_model_parse(text, "resample.cfg", &m);
        const dg_layer *l = &m.net[0].layer[0];
        if (!layers[i].side) DG_CHECKF(e == DG_USAGE, "row %zu: taken", i);
        else if (DG_CHECKF(!e, "row %zu: %s", i, dg_message()))
            DG_CHECKF(l->out.H == layers[i].side && l->out.W == layers[i].side && l->out.C == 3 &&
                          l->act == DG_ACT_NONE && l->norm == DG_NORM_NONE,
                      "row %zu: %d", i, l->out.H);
    }
}

/* A pooling layer takes kernel, stride and pad only from its own section. A heading may be indented. */
static void check_sections(void)
{
    DG_WORKS(parse("stride = 1\npad = 1\n[C.1]\n[C.2]\nop = max_pool\nkernel = 2\n"
                   "[C.3]\n  [C.4]\n"));
    const dg_layer *l = m.net[0].layer;
    DG_CHECKF(m.net[0].layers == 4, "%d layers", m.net[0].layers);
    DG_CHECKF(l[1].stride == 2 && l[1].pad == 0 && l[1].out.H == l[0].out.H / 2, "%d x %d pixels", l[1].out.H,
              l[1].out.W);
    DG_CHECK(parse("[C.1]\nop = max_pool\n") == DG_USAGE);
}

int main(void)
{
    if (dg_cpu_open(&(dg_cpu_options){.threads = 1, .real = DG_F32}, &b) != DG_OK) {
        printf("%s\n", dg_message());
        return 1;
    }
    check_repeats();
    check_torch();
    check_limits();
    check_shapes();
    check_forward();
    check_backward();
    check_trunk("models/resnet50.cfg", 54, 23520842);
    check_trunk("models/resnet50-imagenet.cfg", 54, 25557032); /* as torchvision's resnet50 */
    check_trunk("models/vgg16-cifar.cfg", 15, 14987210);
    check_pool();
    check_resample();
    check_sections();
    b->close(b);
    return dg_test_report();
}

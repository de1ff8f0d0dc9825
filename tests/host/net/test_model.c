/* Model files: the built-in ones, stock texts, and every kind of mistake with its line and key. */
#include "host/net/model.h"
#include "test.h"

static dg_model m;

/* The stock 16x16 model with one piece of text replaced. */
static dg_err parse_with(const char *from, const char *to)
{
    static char text[DG_MODEL_TEXT_MAX], out[2 * DG_MODEL_TEXT_MAX];
    DG_CHECK(dg_model_stock(text, "small", 16, 3, 10, 4, 4) == DG_OK);
    const char *at = strstr(text, from);
    DG_CHECKF(at != NULL, "the stock text has no %s", from);
    if (!at) return DG_OK;
    snprintf(out, sizeof out, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    return dg_model_parse(out, "net.cfg", &m);
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
    DG_CHECKF(!strcmp(m.name, name), "%s calls itself %s", name, m.name);
    DG_CHECK(m.size == size && m.channels == 3 && m.latent == 100);
    DG_CHECK(m.net[DG_G].layers == layers && m.net[DG_D].layers == layers);
    DG_CHECK(m.net[DG_G].layer[0].filters == width && m.net[DG_D].layer[layers - 2].filters == width);
    DG_CHECK(m.net[DG_G].layer[layers - 1].main_conv == 3 * (layers - 1));
    DG_CHECK(m.net[DG_D].layer[layers - 1].main_conv == 3 * (layers - 2) + 2);
    DG_CHECK(m.net[DG_D].layer[1].main_norm == 3 && m.net[DG_G].layer[0].main_norm == 1);
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

    /* every size, both channel counts, odd widths */
    static char text[DG_MODEL_TEXT_MAX];
    for (int size = 16; size <= 256; size *= 2)
        for (int channels = 1; channels <= 3; channels += 2) {
            DG_CHECK(dg_model_stock(text, "any", size, channels, 7, 5, 3) == DG_OK);
            DG_CHECKF(dg_model_parse(text, "any", &m) == DG_OK, "%s", dg_message());
            DG_CHECK(m.size == size && m.channels == channels);
            DG_CHECK(!strcmp(m.text, text));
        }
    DG_CHECK(dg_model_stock(text, "any", 48, 3, 7, 5, 3) == DG_USAGE);
    DG_CHECK(dg_model_stock(text, "any", 64, 3, 7, 0, 3) == DG_USAGE);

    /* another geometry than 4/2/1 */
    DG_CHECK(parse_with("filters = 8\nkernel = 4\nstride = 1\npad = 0",
                        "filters = 8\nkernel = 6\nstride = 1\npad = 1") == DG_OK);
    DG_CHECK(parse_with("act = leaky", "act = leaky\nslope = 0.3") == DG_OK && m.net[DG_D].layer[0].slope == 0.3);

    mistake("size = 16", "size = 48", "net.cfg:3: [model] size = 48: must be a power of two");
    mistake("channels = 3", "channels = 2", "net.cfg:4: [model] channels = 2: must be 1");
    mistake("latent = 10", "latent = ten", "net.cfg:5: [model] latent = ten");
    mistake("latent = 10\n", "", "no key latent");
    mistake("name = small", "name = a b", "net.cfg:2: [model] name = a b");
    mistake("name = small", "nam = small", "unknown key");
    mistake("op = conv_transpose", "op = deconv", "net.cfg:7: [G.1] op = deconv: must be conv or conv_transpose");
    mistake("filters = 8", "filters = 0", "net.cfg:8: [G.1] filters = 0");
    mistake("filters = 8", "filters = 99999999999999999999", "[G.1] filters");
    mistake("kernel = 4", "kernel = 4.5", "net.cfg:9: [G.1] kernel = 4.5");
    mistake("stride = 1", "stride = 9", "net.cfg:10: [G.1] stride = 9");
    mistake("pad = 0", "pad = -1", "net.cfg:11: [G.1] pad = -1");
    mistake("pad = 0", "pad = 4", "[G.1] pad = 4: must be less than kernel");
    mistake("norm = batch", "norm = layer", "net.cfg:12: [G.1] norm = layer: must be batch or none");
    mistake("act = relu", "act = gelu", "net.cfg:13: [G.1] act = gelu: must be relu");
    mistake("act = relu", "act = tanh", "does not go with norm = batch");
    mistake("act = leaky", "act = leaky\nslope = 1", "slope = 1: must be");
    mistake("act = relu", "act = relu\nact = relu", "given twice");
    mistake("act = relu\n", "", "[G.1] has no key act");
    mistake("[G.1]", "[G.7]", "section [G.1] is missing");
    mistake("[G.1]", "[H.1]", "unknown section");
    mistake("[G.1]", "[G.17]", "unknown section");
    mistake("[model]", "model", "net.cfg:1: neither [section] nor key = value");
    mistake("filters = 3\n", "filters = 4\n", "[G.3] ends in 16 x 16 x 4; the generator must end in 16 x 16 x 3");
    mistake("filters = 1\n", "filters = 2\n", "the discriminator must end in 1 x 1 x 1");
    mistake("norm = none\nact = tanh", "norm = none\nact = relu", "needs norm = none and act = tanh");
    mistake("norm = none\nact = none", "norm = none\nact = relu", "gives the logit");
    mistake("[D.1]\nop = conv\nfilters = 4\nkernel = 4\nstride = 2\npad = 1",
            "[D.1]\nop = conv\nfilters = 4\nkernel = 4\nstride = 2\npad = 0",
            "[D.2] 7 x 7 with kernel = 4, stride = 2, pad = 1 leaves a rest");
    mistake("[D.1]\nop = conv\nfilters = 4\nkernel = 4", "[D.1]\nop = conv\nfilters = 4\nkernel = 5",
            "leaves a rest of 1 pixels");

    DG_CHECK(dg_model_parse("", "empty.cfg", &m) == DG_USAGE);
    DG_CHECK(dg_model_read("no-such-model", &m) == DG_USAGE && strstr(dg_message(), "dcgan64-paper"));
    DG_CHECK(dg_model_read("no/such.cfg", &m) == DG_USAGE && strstr(dg_message(), "No such file"));
    DG_CHECK(dg_model_read("models", &m) == DG_USAGE);
    return dg_test_report();
}

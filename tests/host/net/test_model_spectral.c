/* Replaces the norm of a discriminator in a model text. Every layer of D gets the new norm, and the model gets a new
 * name. */
#include "host/net/model.h"
#include "test.h"

static char out[DG_MODEL_TEXT_MAX];

static void test_lines(void)
{
    static const struct {
        const char *text, *want;
    } of[] = {
        {"[D.1]\n", "[D.1]\nnorm = spectral\n"},
        {"[D.1]\nnorm = batch\nfilters = 8\n", "[D.1]\nnorm = spectral\nfilters = 8\n"},
        {"[D.1]\nstart = gain\ngain = 0.5\nagain = 1\n", "[D.1]\nnorm = spectral\nagain = 1\n"},
        {"[D.1]\nin = image\n op\t=resample\nscale = 2\n[D.2]\nop=max_pool\n[D.3]\nopp = add\nop = conv\n[D.4]\nop = "
         "dense",
         "[D.1]\nin = image\n op\t=resample\nscale = 2\n[D.2]\nop=max_pool\n[D.3]\nnorm = spectral\nopp = add\nop = "
         "conv\n"
         "[D.4]\nnorm = spectral\nop = dense"},
        {"[D]\nnorm\t= batch\n[D.1]\n  norm=none\n", "[D]\n[D.1]\nnorm = spectral\n"},
        {"[D.1]\nnormal = 1\nno = 2", "[D.1]\nnorm = spectral\nnormal = 1\nno = 2"},
        {"[G]\nnorm = batch\n[D.1]\n[G.1]\nnorm = none\n",
         "[G]\nnorm = batch\n[D.1]\nnorm = spectral\n[G.1]\nnorm = none\n"},
        {"[model]\nname=old\nsize = 8\n[D.1]\n", "[model]\nname = new\nsize = 8\n[D.1]\nnorm = spectral\n"},
        {"[model]\nnorm = 1\n[D.1]\nname = mine\n", "[model]\nnorm = 1\n[D.1]\nnorm = spectral\nname = mine\n"},
    };
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        DG_CHECKF(dg_model_norm_d(of[i].text, "new", DG_NORM_SPECTRAL, out) == DG_OK && !strcmp(out, of[i].want),
                  "row %zu: %s", i, out);
}

/* With norm = none, each layer of D gets start = gain and, except the last, a bias. */
static void test_none(void)
{
    static const char text[] = "[D]\nbias = no\nstart = zero\n[D.1]\nnorm = batch\nstart = gain\ngain = "
                               "2\nbiased\n[D.2]\nbias=no\n[G.1]\nbias = no\n";
    static const char want[] = "[D]\n[D.1]\nnorm = none\nstart = gain\nbias = yes\nbiased\n"
                               "[D.2]\nnorm = none\nstart = gain\n[G.1]\nbias = no\n";
    DG_CHECKF(dg_model_norm_d(text, "new", DG_NORM_NONE, out) == DG_OK && !strcmp(out, want), "%s", out);
}

static void test_without_a_discriminator(void)
{
    DG_CHECK(dg_model_norm_d("[model]\nname = a\n[G.1]\n[D]\n", "new", DG_NORM_SPECTRAL, out) == DG_USAGE);
    DG_CHECKF(strstr(dg_message(), "discriminator"), "%s", dg_message());
    DG_CHECK(dg_model_reclassed("[model]\nname = a\n[G.1]\nfilters = 2\n", "new", 3, out) == DG_USAGE);
    DG_CHECKF(strstr(dg_message(), "needs a classifier"), "%s", dg_message());
}

/* The longest text that fits leaves one byte for the NUL. */
static void test_length(void)
{
    static char text[DG_MODEL_TEXT_MAX + 1];
    static const char head[] = "[D.1]\n";
    const size_t heading = strlen("norm = spectral\n"), most = DG_MODEL_TEXT_MAX - 1 - heading;
    for (size_t n = most - 1; n <= most + 1; n++) {
        memset(text, 'x', n);
        memcpy(text, head, strlen(head));
        text[n] = 0;
        const dg_err e = dg_model_norm_d(text, "new", DG_NORM_SPECTRAL, out);
        DG_CHECKF(n <= most ? e == DG_OK && strlen(out) == n + heading : e == DG_USAGE, "%zu bytes: %d", n, (int)e);
        DG_CHECK(n <= most || strstr(dg_message(), "the text of the model file is too long"));
    }
    /* a line that does not fit is an error and is not truncated */
    memset(text, 'x', DG_MODEL_TEXT_MAX);
    memcpy(text, head, strlen(head));
    snprintf(text + DG_MODEL_TEXT_MAX - 12, 12, "\n[D.2]\n");
    DG_CHECK(dg_model_norm_d(text, "new", DG_NORM_SPECTRAL, out) == DG_USAGE &&
             !strcmp(out, "[D.1]\nnorm = spectral\n"));
    memset(text, 'x', DG_MODEL_TEXT_MAX - 1);
    memcpy(text, "[C.1]\nfilters = 3\n", 18);
    DG_CHECK(dg_model_reclassed(text, "new", 1000, out) == DG_USAGE && strstr(dg_message(), "too long"));
}

DG_TESTS(test_lines, test_none, test_without_a_discriminator, test_length)

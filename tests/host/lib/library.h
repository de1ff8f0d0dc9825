/* Helpers for tests of the library: a small model and images of noise. */
#pragma once

#include "include/dcgan.h"

#include "host/net/model.h"
#include "tempdir.h"
#include "test.h"

enum { SIDE = 16, IMAGES = 11 };
static uint8_t pixels[IMAGES * 32 * 32 * 3];
static char tiny[600];

static void good(dcgan_error e) { DG_CHECKF(e == DCGAN_OK, "%s", dcgan_message()); }

/* Writes a model file for images of side x side pixels and stores its path in `out` (600 bytes). */
static void make_model(char *out, int side)
{
    char text[DG_MODEL_TEXT_MAX];
    good((dcgan_error)dg_model_stock(text, "tiny", dg_square(side), 3, 10, 5, 3));
    snprintf(out, 600, "%s", temp_path(temp_text("tiny%d.cfg", side)));
    char *const leaky = strstr(text, "act = leaky\n");
    FILE *f = fopen(out, "w"); /* the file has a number with a decimal point, for tests of locales */
    if (DG_CHECK(leaky && f)) fprintf(f, "%.*sslope = 0.25\n%s", (int)(leaky - text), text, leaky);
    fclose(f);
}

static void make_inputs(void)
{
    unsigned long long s = 5;
    for (size_t i = 0; i < sizeof pixels; i++) pixels[i] = (uint8_t)(127.5 + 127 * dg_test_random(&s));
    make_model(tiny, SIDE);
}

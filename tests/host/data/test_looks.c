#include "host/data/dataset_internal.h"
#include "host/data/looks.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

enum { N = 5, SIDE = 2 };

/* Five images of 2 x 2 pixels: colour, grey, a copy of the second image, grey, colour. */
static uint8_t pixels[N][3 * SIDE * SIDE];
static int width[N] = {2, 1, 1, 1, 9}, height[N] = {2, 1, 2, 1, 2};
static uint8_t kind[N], did[N] = {1u << DG_DID_ALPHA, 0, 1u << DG_DID_ALPHA | 1u << DG_DID_HALVE, 0, 0};

static dg_dataset make(int channels)
{
    for (int i = 0; i < N; i++)
        for (int k = 0; k < 3 * SIDE * SIDE; k++)
            pixels[i][k] = (uint8_t)(i == 0 || i == 4 ? 7 * k + i : i == 3 ? 200 : 100);
    return (dg_dataset){.count = N,
                        .size = dg_square(SIDE),
                        .channels = channels,
                        .pixels = pixels[0],
                        .width = width,
                        .height = height,
                        .kind = kind,
                        .did = did};
}

static dg_err look(dg_dataset *d, int threads, dg_looks *l)
{
    free(d->hash);
    d->hash = NULL;
    const dg_err e = dg_dataset_note(d, threads);
    return e ? e : dg_looks_at(d, l);
}

static bool says(dg_dataset *d, const dg_dataset_options *o, const char *words)
{
    char advice[DG_ADVICE][DG_ADVICE_BYTES];
    dg_looks l;
    bool found = false;
    DG_CHECK(look(d, 1, &l) == DG_OK);
    const int n = dg_looks_advice(&l, d, o, advice);
    for (int i = 0; i < n; i++) found |= strstr(advice[i], words) != NULL;
    dg_looks_free(&l);
    return found;
}

int main(void)
{
    dg_dataset_options o = {.decode = {.alpha = DG_ALPHA_WHITE}};
    dg_dataset d = make(3);
    dg_looks l;
    for (int threads = 1; threads < 4; threads++) {
        DG_CHECK(look(&d, threads, &l) == DG_OK && l.grey == 3 && l.did[DG_DID_ALPHA] == 2 &&
                 l.did[DG_DID_HALVE] == 1 && l.small == 3 && l.side == 1);
        DG_CHECK(l.copies == 1 && l.groups == 1 && l.twin[1].index == 1 && l.twin[2].index == 2);
        DG_CHECK(l.twin[2].group == 1 && l.twin[3].group == 3);
        dg_looks_free(&l);
    }
    DG_CHECK(says(&d, &o, "{channels} 4"));
    DG_CHECK(says(&d, &o, "1 of 5 images has 16 bits per channel, of which only the upper 8 are used"));
    DG_CHECK(says(&d, &o, "smaller than 2 x 2") && says(&d, &o, "{resize} nearest"));
    DG_CHECK(says(&d, &o, "1 image") && !says(&d, &o, "grey"));
    o.resize = DG_RESIZE_NEAREST;
    o.decode.alpha = DG_ALPHA_DROP;
    DG_CHECK(!says(&d, &o, "{resize} nearest") && says(&d, &o, "which is ignored"));
    d.pixels = pixels[1];
    d.did = did + 1;
    d.width = d.height = (int[]){2, 9};
    d.count = 2;
    DG_CHECK(says(&d, &o, "grey") && !says(&d, &o, "smaller than"));
    o.fixed_shape = true; /* the size and number of channels are fixed, as for a classifier */
    DG_CHECK(!says(&d, &o, "grey"));
    o.fixed_shape = false;
    d.channels = 4;
    d.size = dg_square(1);
    DG_CHECK(says(&d, &o, "is learned"));
    d.size = dg_square(2);
    d.channels = 1;
    DG_CHECK(!says(&d, &o, "grey"));
    d.did = did;
    DG_CHECK(!says(&d, &o, "16 bits"));
    d.count = 0;
    DG_CHECK(look(&d, 1, &l) == DG_OK && !dg_looks_advice(&l, &d, &o, (char[DG_ADVICE][DG_ADVICE_BYTES]){{0}}));
    dg_looks_free(&l);
    free(d.hash);
    return dg_test_report();
}

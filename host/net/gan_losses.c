#include "host/net/gan_losses.h"

#include <string.h>

#define X(NAME, word, form_d, form_g, low, paired, guess) [DG_LOSS_##NAME] = {word, form_d, form_g, low, paired, guess},
const dg_loss_info dg_losses[DG_LOSS_KINDS] = {DG_LOSSES(X)};
#undef X

bool dg_loss_parse(const char *text, dg_loss *out)
{
    for (int k = 0; k < DG_LOSS_KINDS; k++)
        if (!strcmp(text, dg_losses[k].word)) {
            *out = (dg_loss)k;
            return true;
        }
    return false;
}

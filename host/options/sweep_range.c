#include "host/options/sweep_range.h"

static int take_size(const char **text)
{
    int n = 0;
    for (; **text >= '0' && **text <= '9' && n <= DG_LARGEST_BATCH; ++*text) n = 10 * n + (**text - '0');
    return n <= DG_LARGEST_BATCH ? n : 0;
}

bool dg_sweep_parse(const char *text, dg_sweep_range *out)
{
    *out = (dg_sweep_range){.first = take_size(&text)};
    if (!out->first || *text++ != '-') return false;
    out->last = take_size(&text);
    if (out->last < out->first) return false;
    if (!*text) return true;
    if (*text++ != ':') return false;
    out->step = take_size(&text);
    return out->step && !*text;
}

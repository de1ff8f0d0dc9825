#include "host/group/agree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Sends the message of rank `from` to all ranks. */
static dg_err share_message(dg_group *g, int from, char text[DG_MESSAGE_BYTES])
{
    char *all = calloc((size_t)g->size, DG_MESSAGE_BYTES);
    if (!all) return dg_fail(DG_DEVICE, "messages of %d processes: out of memory", g->size);
    memcpy(all + (size_t)g->rank * DG_MESSAGE_BYTES, text, DG_MESSAGE_BYTES);
    dg_err e = dg_group_all_gather(g, all, DG_MESSAGE_BYTES);
    memcpy(text, all + (size_t)from * DG_MESSAGE_BYTES, DG_MESSAGE_BYTES);
    text[DG_MESSAGE_BYTES - 1] = 0;
    free(all);
    return e;
}

dg_err dg_group_agree(dg_group *g, dg_err e)
{
    if (!g) return e;
    char text[DG_MESSAGE_BYTES] = "";
    if (e) snprintf(text, sizeof text, "%s", dg_message());
    unsigned char own[DG_TURN_BYTES] = {(unsigned char)e};
    unsigned char *codes = calloc((size_t)g->size, sizeof own);
    if (!codes) return dg_fail(DG_DEVICE, "codes of %d processes: out of memory", g->size);
    dg_err broken = dg_group_turn(g, own, codes);
    int from = 0;
    while (!broken && from < g->size && !codes[(size_t)from * sizeof own]) from++;
    const dg_err code = broken || from == g->size ? DG_OK : (dg_err)codes[(size_t)from * sizeof own];
    free(codes);
    char first[DG_MESSAGE_BYTES];
    memcpy(first, text, sizeof first);
    if (code) broken = share_message(g, from, first);
    if (broken) return e ? dg_fail(e, "%s", text) : broken;
    if (!code) return DG_OK;
    if (g->rank) return dg_fail(code, "%s", "");
    if (!from) return dg_fail(code, "%s", first);
    return dg_fail(code, "rank %d on %s: %s", from, g->host[from], first);
}

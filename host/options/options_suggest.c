/* "did you mean": names looked up exactly, then by spelling. */
#include "host/options/option_table.h"

#include <string.h>

enum { NAME_MAX_LENGTH = 40 };

/* What other trainers call our options. */
static const char *const synonyms[][2] = {
    {"batch-size", "batch"},  {"batchsize", "batch"},
    {"learning-rate", "lr"},  {"num-epochs", "epochs"},
    {"nepochs", "epochs"},    {"niter", "epochs"},
    {"iterations", "steps"},  {"output", "out"},
    {"outdir", "out"},        {"outf", "out"},
    {"dataroot", "data"},     {"dataset", "data"},
    {"workers", "threads"},   {"jobs", "threads"},
    {"mirror", "flip"},       {"network", "model"},
    {"manual-seed", "seed"},  {"random-seed", "seed"},
    {"gpu", "device"},        {"cuda", "device"},
    {"image-size", "model"},  {"continue", "resume"},
    {"checkpoint", "resume"}, {"tolerance", "tol"},
    {"num", "count"},         {"save-every", "checkpoint-every"},
};

/* Insertions, deletions, changes and swaps of neighbours that turn a into b (optimal string alignment). */
static int distance(const char *a, const char *b)
{
    int n = (int)strlen(a), m = (int)strlen(b), row[3][NAME_MAX_LENGTH + 1];
    if (n > NAME_MAX_LENGTH || m > NAME_MAX_LENGTH) return 2 * NAME_MAX_LENGTH;
    for (int j = 0; j <= m; j++) row[0][j] = j;
    for (int i = 1; i <= n; i++) {
        int *now = row[i % 3], *above = row[(i + 2) % 3], *two = row[(i + 1) % 3];
        now[0] = i;
        for (int j = 1; j <= m; j++) {
            int best = above[j - 1] + (a[i - 1] != b[j - 1]);
            if (above[j] + 1 < best) best = above[j] + 1;
            if (now[j - 1] + 1 < best) best = now[j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && two[j - 2] + 1 < best)
                best = two[j - 2] + 1;
            now[j] = best;
        }
    }
    return row[n % 3][m];
}

/* Keep name if it is nearer than the best so far; far-fetched ones never count. */
static void nearer(const char *name, const char *want, const char **best, int *least)
{
    int d = distance(want, name);
    if (d < *least && d <= 1 + (int)strlen(want) / 5) {
        *least = d;
        *best = name;
    }
}

const dg_option *dg_option_find(const char *name)
{
    for (const dg_option *t = dg_option_table; t->name; t++)
        if (!strcmp(t->name, name)) return t;
    return NULL;
}

const char *dg_option_nearest(const char *name, dg_command command)
{
    const char *best = NULL;
    int least = NAME_MAX_LENGTH;
    for (size_t i = 0; i < sizeof synonyms / sizeof synonyms[0]; i++) {
        const dg_option *t = dg_option_find(synonyms[i][1]);
        if (!strcmp(name, synonyms[i][0]) && t && t->commands >> command & 1) return t->name;
    }
    for (const dg_option *t = dg_option_table; t->name; t++)
        if (t->commands >> command & 1) nearer(t->name, name, &best, &least);
    nearer("help", name, &best, &least);
    nearer("version", name, &best, &least);
    return best;
}

const char *dg_command_nearest(const char *name)
{
    const char *best = NULL;
    int least = NAME_MAX_LENGTH;
    for (int c = 0; c < DG_CMDS; c++) nearer(dg_commands[c].name, name, &best, &least);
    nearer("help", name, &best, &least);
    return best;
}

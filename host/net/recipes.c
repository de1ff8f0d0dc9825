#include "host/net/recipe.h"

#include <stdbool.h>
#include <stdio.h>

#include "host/net/classifier.h"
#include "host/net/gan.h"

static const dg_recipe *const recipes[] = {&dg_gan_recipe, &dg_classifier_recipe, &dg_gan_penalised_recipe};
enum { ALL = sizeof recipes / sizeof recipes[0], RECIPES = ALL - 1 }; /* RECIPES: without the penalised GAN recipe */

const dg_recipe *dg_recipe_at(int i) { return i < ALL ? recipes[i] : NULL; }

static bool trains(const dg_recipe *r, const dg_model *m)
{
    int same = 0;
    while (same < r->nets && m->net[same].name[0] == r->net[same].letter && !m->net[same].name[1]) same++;
    return same == r->nets && m->nets == r->nets;
}

const dg_recipe *dg_recipe_find(const dg_model *m)
{
    for (int i = 0; i < RECIPES; i++)
        if (trains(recipes[i], m)) return recipes[i];
    return NULL;
}

static int add_recipe(char *out, size_t size, const dg_recipe *r)
{
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): every row of the table has a recipe */
    int n = snprintf(out, size, "a %s of", r->name);
    for (int k = 0; k < r->nets; k++)
        n += snprintf(out + n, size - (size_t)n, "%s a %s %c", k ? " and" : "", r->net[k].name, r->net[k].letter);
    return n;
}

dg_err dg_recipe_for(const dg_model *m, const dg_recipe **out)
{
    *out = dg_recipe_find(m);
    if (*out) return (*out)->check(m, NULL);
    char nets[DG_MAX_NETS * sizeof m->net[0].name + 16] = "", all[512];
    int n = 0, k = 0;
    for (int i = 0; i < m->nets; i++)
        n += snprintf(nets + n, sizeof nets - (size_t)n, "%s%s", i ? ", " : "", m->net[i].name);
    for (int i = 0; i < RECIPES; i++) {
        k += snprintf(all + k, sizeof all - (size_t)k, "%s", i ? "; " : "");
        k += add_recipe(all + k, sizeof all - (size_t)k, recipes[i]);
    }
    return dg_fail(DG_USAGE, DG_MSG("cannot-train", "%s: unsupported set of networks (%s); supported: %s"), m->where,
                   nets, all);
}

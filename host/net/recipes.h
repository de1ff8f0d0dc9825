/* All recipes that there are. */
#ifndef DG_RECIPES_H
#define DG_RECIPES_H

#include "host/net/recipe.h"

/* Recipe i, NULL past the last; the one that trains nets like the model's, NULL: none does. */
const dg_recipe *dg_recipe_at(int i);
const dg_recipe *dg_recipe_find(const dg_model *m);

/* The same; DG_USAGE, which names the file and its networks, where there is none, or where it refuses the model. */
dg_err dg_recipe_for(const dg_model *m, const dg_recipe **out);

#endif

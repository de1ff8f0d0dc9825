/* The table of recipes. */
#ifndef DG_RECIPES_H
#define DG_RECIPES_H

#include "host/net/recipe.h"

const dg_recipe *dg_recipe_at(int i);
/* Find the recipe for the model's networks. NULL: there is none. */
const dg_recipe *dg_recipe_find(const dg_model *m);

/* Like dg_recipe_find; DG_USAGE if there is no recipe or it refuses the model. */
dg_err dg_recipe_for(const dg_model *m, const dg_recipe **out);

#endif

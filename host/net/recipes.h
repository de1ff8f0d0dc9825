/* The table of recipes. */
#ifndef DG_RECIPES_H
#define DG_RECIPES_H

#include "host/net/recipe.h"

const dg_recipe *dg_recipe_at(int i);
/* Find the recipe for the model's networks. NULL: there is none. */
const dg_recipe *dg_recipe_find(const dg_model *m);

/* Like dg_recipe_find; Returns DG_USAGE if no recipe has these networks, or if the recipe refuses the model. */
dg_err dg_recipe_for(const dg_model *m, const dg_recipe **out);

#endif

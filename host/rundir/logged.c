#include "host/rundir/logged.h"

const dg_logged_measure dg_logged[DG_LOGGED] = {
#define X(id, in_log, for_people, ...) {.name = in_log, .label = for_people, __VA_ARGS__},
    DG_LOGGED_MEASURES(X)
#undef X
};

/* The test descriptions (op_row) of all ops. An op of DG_OPS without a test description does not compile. */
#include "rows_act.h"
#include "rows_classes.h"
#include "rows_conv.h"
#include "rows_group.h"
#include "rows_images.h"
#include "rows_loss.h"
#include "rows_norm.h"
#include "rows_penalty.h"
#include "rows_pool.h"
#include "rows_random.h"
#include "rows_resample.h"
#include "rows_shards.h"
#include "rows_spectral.h"
#include "rows_update.h"

static const op_row *const rows[DG_OP_KINDS] = {
#define X(kind, member, cpu) [DG_OP_##kind] = &row_##kind,
    DG_OPS(X)
#undef X
};

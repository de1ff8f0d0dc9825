/* The Makefile writes version.h, and again when something in it changes. */
#include "core/base/build_info.h"
#include "version.h"

const char *const dg_version = DG_VERSION;
const char *const dg_features = DG_FEATURES;

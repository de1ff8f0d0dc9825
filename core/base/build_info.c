/* Version and features of the build. The Makefile generates version.h. */
#include "core/base/build_info.h"
#include "version.h"

const char *const dg_version = DG_VERSION;
const char *const dg_features = DG_FEATURES;
const char *const dg_libdir = DG_LIBDIR;

/* Version and features of the build. */
#pragma once

extern const char *const dg_version; /* "dcgan 0.1.0 (commit)" */
extern const char *const dg_features;
extern const char *const dg_libdir; /* directory of libraries; plugins are in its folder dcgan */

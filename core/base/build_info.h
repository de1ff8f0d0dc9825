/* Version and features of the build. */
#ifndef DG_BUILD_INFO_H
#define DG_BUILD_INFO_H

extern const char *const dg_version; /* "dcgan 0.1.0 (commit)" */
extern const char *const dg_features;

#endif

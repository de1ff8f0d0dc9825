/* The sample metrics in the log (--eval-every). */
#pragma once

#include <stdbool.h>

/* X(ID, name, label, initialisers of other dg_logged_measure members) */
#define DG_LOGGED_SWD(X) X(SWD, "swd", "sliced Wasserstein distance, mean", .higher = false)
#define DG_LOGGED_FRECHET(X) X(FRECHET, "random_frechet", "Frechet distance, random network", .higher = false)
#define DG_LOGGED_RECALL(X) X(RECALL, "recall", "recall: real images near a sample", .higher = true, .percent = true)
#define DG_LOGGED_COVERAGE(X) \
    X(COVERAGE, "coverage", "coverage: real images with a sample", .higher = true, .percent = true)
#define DG_LOGGED_NEAREST(X) X(NEAREST, "nearest", "nearest real image: distance, best 1", .one = true)
#define DG_LOGGED_KID(X) X(KID, "kid", "KID, random network", .higher = false)

/* With --inception. The Frechet distance of known weights is `fid`; that of other weights is `frechet_inception`. */
#define DG_LOGGED_FID(X) X(FID, "fid", "FID", .higher = false)
#define DG_LOGGED_UNKNOWN(X) \
    X(UNKNOWN, "frechet_inception", "Frechet distance, unknown Inception weights", .higher = false)
#define DG_LOGGED_KID_INCEPTION(X) X(KID_INCEPTION, "kid_inception", "KID, Inception network", .higher = false)

#define DG_LOGGED_MEASURES(X) \
    DG_LOGGED_SWD(X)          \
    DG_LOGGED_FRECHET(X)      \
    DG_LOGGED_RECALL(X)       \
    DG_LOGGED_COVERAGE(X)     \
    DG_LOGGED_NEAREST(X) DG_LOGGED_KID(X) DG_LOGGED_FID(X) DG_LOGGED_UNKNOWN(X) DG_LOGGED_KID_INCEPTION(X)

#define X(id, ...) DG_LOG_##id,
enum { DG_LOGGED_MEASURES(X) DG_LOGGED };
#undef X
enum { DG_LOGGED_BEFORE_KID = DG_LOG_KID }; /* columns of metrics in logs of earlier development versions */
enum { DG_LOGGED_ALWAYS = DG_LOG_FID };     /* columns of metrics without --inception */

typedef struct {
    const char *name, *label;
    bool higher; /* false: lower values are better */
    bool one;    /* the best value is 1 */
    bool percent;
} dg_logged_measure;

extern const dg_logged_measure dg_logged[DG_LOGGED];

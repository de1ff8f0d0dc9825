/* A stream of images for programs such as ffmpeg. */
#pragma once

#include <stdint.h>
#include "core/base/pipe.h"

/* In the order of the choices of --raw-format. Y4M has a header with the size and the frame rate, and planes of Y, Cb
 * and Cr without subsampling (ITU-R BT.601, limited range). RGB has three bytes per pixel and no header. */
typedef enum { DG_VIDEO_Y4M, DG_VIDEO_RGB } dg_video_format;

typedef struct {
    dg_pipe pipe;
    dg_video_format format;
    int W, H, ms; /* ms: duration of a frame */
    long frames;  /* number of frames written */
    uint8_t *planes;
} dg_video;

/* Opens the stream at `path`, which must stay valid. Returns DG_USAGE for a file or a terminal. */
dg_err dg_video_open(dg_video *v, const char *path, dg_video_format format, int ms);
/* Writes an image of W x H RGB pixels. All images of a stream must have the same size. */
dg_err dg_video_put(dg_video *v, const uint8_t *rgb, int W, int H);
/* Returns e, or the error of closing. A dg_video of zeros is closed without effect. */
dg_err dg_video_close(dg_video *v, dg_err e);

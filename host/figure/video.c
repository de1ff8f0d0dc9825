#include "host/figure/video.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

dg_err dg_video_open(dg_video *v, const char *path, dg_video_format format, int ms)
{
    *v = (dg_video){.format = format, .ms = ms};
    const dg_err e = dg_pipe_open(path, &v->pipe);
    if (e) return e;
    if (v->pipe.fd < 0)
        return dg_fail(DG_USAGE,
                       DG_MSG("raw-needs-stream", "{raw} %s: must be a pipe; to write a file, use: {raw} - > %s"), path,
                       path);
    if (!isatty(v->pipe.fd)) return DG_OK;
    return dg_video_close(v, dg_fail(DG_USAGE,
                                     DG_MSG("raw-terminal", "{raw} %s: is a terminal; send the images to a program or "
                                                            "file, for example: {raw} - | ffmpeg -i - walk.mp4"),
                                     path));
}

/* Returns offset + scale * (r * R + g * G + b * B), with R, G and B from 0 to 1. */
static uint8_t weighted(const uint8_t *rgb, double r, double g, double b, double scale, double offset)
{
    return (uint8_t)lround(offset + scale / 255 * (r * rgb[0] + g * rgb[1] + b * rgb[2]));
}

/* ITU-R BT.601: Y from 16 to 235, Cb and Cr from 16 to 240. */
static void to_planes(uint8_t *planes, const uint8_t *rgb, size_t n)
{
    for (size_t i = 0; i < n; i++, rgb += 3) {
        planes[i] = weighted(rgb, 0.299, 0.587, 0.114, 219, 16);
        planes[n + i] = weighted(rgb, -0.299 / 1.772, -0.587 / 1.772, 0.5, 224, 128);
        planes[2 * n + i] = weighted(rgb, 0.5, -0.587 / 1.402, -0.114 / 1.402, 224, 128);
    }
}

static dg_err begin(dg_video *v, int W, int H)
{
    v->W = W;
    v->H = H;
    if (v->format == DG_VIDEO_RGB) return DG_OK;
    char head[128];
    const int n = snprintf(head, sizeof head, "YUV4MPEG2 W%d H%d F1000:%d Ip A1:1 C444 XCOLORRANGE=LIMITED\n", W, H,
                           v->ms);
    v->planes = malloc(3 * (size_t)W * (size_t)H);
    if (!v->planes) return dg_fail(DG_DEVICE, "%s: out of memory", v->pipe.path);
    return dg_stream_to(v->pipe.fd, v->pipe.path, &(dg_chunk){head, (size_t)n}, 1);
}

dg_err dg_video_put(dg_video *v, const uint8_t *rgb, int W, int H)
{
    static const char frame[] = "FRAME\n";
    const size_t pixels = (size_t)W * (size_t)H;
    dg_err e = v->frames ? DG_OK : begin(v, W, H);
    if (e) return e;
    if (v->format == DG_VIDEO_Y4M) {
        to_planes(v->planes, rgb, pixels);
        const dg_chunk piece[] = {{frame, sizeof frame - 1}, {v->planes, 3 * pixels}};
        e = dg_stream_to(v->pipe.fd, v->pipe.path, piece, 2);
    } else {
        e = dg_stream_to(v->pipe.fd, v->pipe.path, &(dg_chunk){rgb, 3 * pixels}, 1);
    }
    v->frames += !e;
    return e;
}

dg_err dg_video_close(dg_video *v, dg_err e)
{
    free(v->planes);
    v->planes = NULL;
    return dg_pipe_close(&v->pipe, e);
}

/* Reads the first frame of a GIF by giflib. */
#include "host/image/image_internal.h"

#include <gif_lib.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const uint8_t *file;
    size_t bytes, at;
    dg_row_sink *to;
    int transparent; /* index of the transparent colour, or -1 */
    GifByteType *frame;
    uint8_t *rgba;
    double start;
} reader;

static int on_read(GifFileType *gif, GifByteType *to, int n)
{
    reader *r = gif->UserData;
    const size_t left = r->bytes - r->at, here = (size_t)n < left ? (size_t)n : left;
    memcpy(to, r->file + r->at, here);
    r->at += here;
    return (int)here;
}

static dg_err wrong(const GifFileType *gif, int code)
{
    if (gif) code = gif->Error;
    const char *why = GifErrorString(code);
    if (code == D_GIF_ERR_NOT_ENOUGH_MEM) return dg_fail(DG_DEVICE, "no memory to decode a GIF");
    return dg_fail(DG_DATA, "GIF: %s", why ? why : "damaged");
}

/* A GIF extension before the first frame may set the transparent colour. */
static dg_err read_extension(GifFileType *gif, reader *r)
{
    int code;
    GifByteType *data;
    GraphicsControlBlock g;
    int ok = DGifGetExtension(gif, &code, &data);
    while (ok == GIF_OK && data) {
        if (code == GRAPHICS_EXT_FUNC_CODE && DGifExtensionToGCB(data[0], data + 1, &g) == GIF_OK)
            r->transparent = g.TransparentColor;
        ok = DGifGetExtensionNext(gif, &data);
    }
    return ok == GIF_OK ? DG_OK : wrong(gif, 0);
}

static dg_err to_frame(GifFileType *gif, reader *r)
{
    GifRecordType type;
    for (;;) {
        if (DGifGetRecordType(gif, &type) != GIF_OK) return wrong(gif, 0);
        if (type == IMAGE_DESC_RECORD_TYPE) return DGifGetImageDesc(gif) == GIF_OK ? DG_OK : wrong(gif, 0);
        if (type == TERMINATE_RECORD_TYPE) return dg_fail(DG_DATA, "GIF: ends before any pixel");
        const dg_err e = type == EXTENSION_RECORD_TYPE ? read_extension(gif, r) : DG_OK;
        if (e) return e;
    }
}

static dg_err read_rows(GifFileType *gif, reader *r)
{
    static const int first[] = {0, 4, 2, 1, 0}, step[] = {8, 8, 4, 2, 1};
    const GifImageDesc *d = &gif->Image;
    for (int pass = d->Interlace ? 0 : 4; pass < (d->Interlace ? 4 : 5); pass++)
        for (int y = first[pass]; y < d->Height; y += step[pass]) {
            if (DGifGetLine(gif, r->frame + (size_t)y * (size_t)d->Width, d->Width) != GIF_OK) return wrong(gif, 0);
            if (y % 64 == 0 && dg_decode_late(r->start)) return dg_fail(DG_DATA, "GIF: takes too long to decode");
        }
    return DG_OK;
}

/* Pixels of the canvas outside the frame are transparent. */
static dg_err give_row(const GifFileType *gif, const reader *r, int y)
{
    const GifImageDesc *d = &gif->Image;
    const ColorMapObject *map = d->ColorMap ? d->ColorMap : gif->SColorMap;
    memset(r->rgba, 0, 4 * (size_t)gif->SWidth);
    if (y < d->Top || y >= d->Top + d->Height) return DG_OK;
    const GifByteType *row = r->frame + (size_t)(y - d->Top) * (size_t)d->Width;
    for (int x = 0; x < d->Width; x++) {
        uint8_t *to = r->rgba + 4 * (size_t)(d->Left + x);
        if (row[x] == r->transparent) continue;
        if (row[x] >= map->ColorCount) return dg_fail(DG_DATA, "GIF: a colour index beyond the palette");
        const GifColorType c = map->Colors[row[x]];
        to[0] = c.Red, to[1] = c.Green, to[2] = c.Blue, to[3] = 255;
    }
    return DG_OK;
}

static dg_err check_frame(const GifFileType *gif, const reader *r)
{
    const GifImageDesc *d = &gif->Image;
    const dg_err e = dg_image_afford("GIF", gif->SWidth, gif->SHeight, r->bytes,
                                     (uint64_t)gif->SWidth * (uint64_t)gif->SHeight, r->to);
    if (e) return e;
    if (d->Width < 1 || d->Height < 1 || d->Left < 0 || d->Top < 0 || d->Left + d->Width > gif->SWidth ||
        d->Top + d->Height > gif->SHeight)
        return dg_fail(DG_DATA, "GIF: a frame outside the image");
    return d->ColorMap || gif->SColorMap ? DG_OK : dg_fail(DG_DATA, "GIF: no colours");
}

/* True if a second frame exists. Damage after the first frame is ignored. */
static bool more_frames(GifFileType *gif)
{
    GifRecordType type;
    GifByteType *data;
    int code;
    while (DGifGetRecordType(gif, &type) == GIF_OK && type != TERMINATE_RECORD_TYPE) {
        if (type == IMAGE_DESC_RECORD_TYPE) return true;
        if (type != EXTENSION_RECORD_TYPE || DGifGetExtension(gif, &code, &data) != GIF_OK) return false;
        while (data)
            if (DGifGetExtensionNext(gif, &data) != GIF_OK) return false;
    }
    return false;
}

static dg_err read_frame(GifFileType *gif, reader *r)
{
    dg_err e = to_frame(gif, r);
    if (!e) e = check_frame(gif, r);
    if (e) return e;
    r->frame = malloc((size_t)gif->Image.Width * (size_t)gif->Image.Height);
    r->rgba = malloc(4 * (size_t)gif->SWidth);
    if (!r->frame || !r->rgba) return dg_fail(DG_DEVICE, "no memory to decode a GIF");
    e = read_rows(gif, r);
    if (!e) e = dg_row_sink_open(r->to, gif->SWidth, gif->SHeight, 1);
    for (int y = 0; y < gif->SHeight && !e; y++) {
        e = give_row(gif, r, y);
        if (!e) dg_row_sink_put_rgba(r->to, y, r->rgba);
    }
    if (!e) dg_row_sink_note(r->to, DG_DID_FRAME, more_frames(gif));
    return e;
}

dg_err dg_gif_pixels(const uint8_t *file, size_t bytes, dg_row_sink *to)
{
    int code = 0;
    to->kind = DG_KIND_GIF;
    reader r = {.file = file, .bytes = bytes, .to = to, .transparent = -1, .start = dg_decode_clock()};
    GifFileType *gif = DGifOpen(&r, on_read, &code);
    if (!gif && code == D_GIF_ERR_NO_SCRN_DSCR) { /* giflib also returns D_GIF_ERR_NO_SCRN_DSCR for lack of memory */
        code = D_GIF_ERR_NOT_ENOUGH_MEM;
        r.at = 0;
        if (dg_memory_left(1 << 16)) gif = DGifOpen(&r, on_read, &code);
    }
    const dg_err e = gif ? read_frame(gif, &r) : wrong(NULL, code);
    if (gif) (void)DGifCloseFile(gif, NULL);
    free(r.frame);
    free(r.rgba);
    return e;
}

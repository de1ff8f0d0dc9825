/* Writes nearest.png: samples and their nearest training images. */
#include <stdlib.h>
#include <string.h>
#include <float.h>

#include "core/base/build_info.h"
#include "host/figure/images.h"
#include "host/report/report.h"

/* Images are compared after box filtering to SIDE x SIDE pixels, which tolerates shifts by one pixel. */
enum { SHOWN = 16, ROW = 8, SIDE = 16, GAP = 2, VALUES = 4 * SIDE * SIDE, MOST = 1 << 16, MOST_OF_FILE = 1 << 12 };

typedef struct {
    int cells, values;
    uint8_t *pixels; /* (cells, height, width, channels) */
    float seen[SHOWN][VALUES];
    double least[SHOWN];
    int nearest[SHOWN];
} search;

static void reduce(float *out, const uint8_t *pixels, dg_size size, int channels)
{
    const int W = size.W < SIDE ? size.W : SIDE, H = size.H < SIDE ? size.H : SIDE;
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++)
            for (int k = 0; k < channels; k++) {
                const int top = y * size.H / H, bottom = (y + 1) * size.H / H;
                const int left = x * size.W / W, right = (x + 1) * size.W / W;
                int sum = 0;
                for (int i = top; i < bottom; i++)
                    for (int j = left; j < right; j++) sum += pixels[(i * size.W + j) * channels + k];
                *out++ = (float)sum / (float)((bottom - top) * (right - left));
            }
}

static double distance(const float *a, const float *b, int n)
{
    float part[8] = {0};
    for (int i = 0; i < n; i += 8)
        for (int k = 0; k < 8; k++) {
            const float d = a[i + k] - b[i + k];
            part[k] += d * d;
        }
    double sum = 0;
    for (int k = 0; k < 8; k++) sum += part[k];
    return sum;
}

/* Of more images than MOST, MOST images in even distances are compared; of images in a file, MOST_OF_FILE, because
 * reading them competes with the training. */
static dg_err look_through(search *s, const dg_images *images, dg_size size, int channels)
{
    const size_t image = images->bytes;
    const int most = images->memory ? MOST : MOST_OF_FILE, n = images->count < most ? images->count : most;
    float seen[VALUES] = {0};
    uint8_t *pixels = malloc(image);
    dg_err e = pixels ? DG_OK : dg_fail(DG_DEVICE, "nearest.png: out of memory");
    for (int c = 0; c < s->cells; c++) {
        reduce(s->seen[c], s->pixels + (size_t)c * image, size, channels);
        s->least[c] = DBL_MAX;
    }
    for (int i = 0; i < n && !e; i++) {
        const int from = (int)((int64_t)i * images->count / n);
        e = dg_images_read(images, from, pixels);
        if (!e) reduce(seen, pixels, size, channels);
        for (int c = 0; c < s->cells && !e; c++) {
            const double d = distance(s->seen[c], seen, VALUES);
            if (d < s->least[c]) s->least[c] = d, s->nearest[c] = from;
        }
    }
    free(pixels);
    return e;
}

static void cut(search *s, const dg_image *grid, dg_size size, int channels)
{
    const int columns = (grid->W - GAP) / (size.W + GAP), rows = (grid->H - GAP) / (size.H + GAP);
    s->cells = columns * rows < SHOWN ? columns * rows : SHOWN;
    uint8_t *to = s->pixels;
    for (int c = 0; c < s->cells; c++)
        for (int y = 0; y < size.H; y++)
            for (int x = 0; x < size.W; x++, to += channels) {
                const int row = c / columns * (size.H + GAP) + GAP + y, column = c % columns * (size.W + GAP) + GAP + x;
                memcpy(to, grid->pixels + ((size_t)row * (size_t)grid->W + (size_t)column) * (size_t)grid->C,
                       (size_t)channels);
            }
}

static dg_err draw(const search *s, const dg_images *images, dg_size size, int channels, dg_image *out)
{
    const size_t image = images->bytes;
    dg_err e = DG_OK;
    const int columns = s->cells < ROW ? s->cells : ROW, rows = 2 * ((s->cells + columns - 1) / columns);
    uint8_t *cells = calloc((size_t)rows * (size_t)columns, image);
    if (!cells) return dg_fail(DG_DEVICE, "nearest.png: out of memory");
    for (int c = 0; c < s->cells && !e; c++) {
        uint8_t *at = cells + (size_t)(c / columns * 2 * columns + c % columns) * image;
        memcpy(at, s->pixels + (size_t)c * image, image);
        e = dg_images_read(images, s->nearest[c], at + (size_t)columns * image);
    }
    if (!e) e = dg_sheet(cells, rows * columns, size, channels, rows, columns, out);
    free(cells);
    return e;
}

static dg_err write_png(const dg_directory *dir, const char *path, const dg_image *im, uint64_t epoch)
{
    char file[4400], number[24];
    snprintf(file, sizeof file, "%s/nearest.png", path);
    snprintf(number, sizeof number, "%ju", (uintmax_t)epoch);
    const dg_text text[] = {{"Software", dg_version}, {"Epoch", number}};
    return dg_png_write_in(dir, file, im, text, 2);
}

static dg_err search_all(const dg_directory *dir, const char *path, const dg_image *grid, uint64_t epoch,
                         const dg_images *images, dg_size size, int channels)
{
    search *s = calloc(1, sizeof *s);
    dg_image im = {0};
    if (s) s->pixels = malloc((size_t)SHOWN * dg_size_values(size, channels));
    dg_err e = s && s->pixels ? DG_OK : dg_fail(DG_DEVICE, "nearest.png: out of memory");
    if (!e) {
        cut(s, grid, size, channels);
        e = look_through(s, images, size, channels);
        if (!e) e = draw(s, images, size, channels, &im);
    }
    if (!e) e = write_png(dir, path, &im, epoch);
    dg_image_free(&im);
    if (s) free(s->pixels);
    free(s);
    return e;
}

dg_err dg_nearest_write(const dg_directory *dir, const char *path, uint64_t epoch, const dg_images *images,
                        dg_size size, int channels)
{
    char file[4400];
    dg_image grid;
    snprintf(file, sizeof file, "%s/epoch-%04ju.png", path, (uintmax_t)epoch);
    dg_err e = dg_report_image_read(dir->fd, file, channels == 4, &grid);
    if (e) return e;
    const bool ours = (grid.W - GAP) % (size.W + GAP) == 0 && (grid.H - GAP) % (size.H + GAP) == 0 && grid.W > size.W &&
                      grid.H > size.H;
    if (ours) e = search_all(dir, path, &grid, epoch, images, size, channels);
    dg_image_free(&grid);
    return e;
}

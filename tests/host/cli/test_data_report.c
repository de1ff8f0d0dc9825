/* Tests the report of `dcgan data DIR`. */
#include "host/cli/commands.h"
#include "host/figure/images.h"
#include "host/data/dataset_folder.h"

#include <cjson/cJSON.h>

static char out_file[600], sheet[600];

/* Runs `dcgan data` and returns its malloc'd output. */
static char *run(const dg_dataset_options *o, const char *to, bool json, dg_err *e)
{
    fflush(stdout);
    int screen = dup(1), fd = open(out_file, O_CREAT | O_TRUNC | O_WRONLY, 0666);
    dup2(fd, 1);
    *e = dg_data_report(o, NULL, 0, &(dg_data_outputs){.sheet = to, .json = json});
    fflush(stdout);
    dup2(screen, 1);
    close(screen);
    close(fd);
    blob b;
    if (blob_load(&b, out_file)) abort();
    blob_put(&b, "", 1);
    return (char *)b.data;
}

static void has(const char *text, const char *what)
{
    DG_CHECKF(strstr(text, what), "\"%s\" is not in:\n%s", what, text);
}

static int number(const cJSON *j, const char *key)
{
    const cJSON *n = cJSON_GetObjectItemCaseSensitive(j, key);
    return cJSON_IsNumber(n) ? n->valueint : -1;
}

static void text_report(const dg_dataset_options *o)
{
    dg_err e;
    char *t = run(o, NULL, false, &e);
    DG_WORKS(e);
    has(t, ": 23 usable ");
    has(t, " 1 other file");
    has(t, "for the network: 8 x 8 x 3, 0.0 MiB, fingerprint ");
    has(t, "kinds:\n        1  PNG grey\n       21  PNG RGB\n        1  JPEG colour\n");
    has(t, "        1  grey\n");
    has(t, "       21  8 x 8\n        1  4 x 4\n        1  20 x 10\n");
    has(t, "        1  smaller than the network's 8 x 8");
    has(t, "duplicates: 3 ");
    has(t, "  00.png\n    = copy-1.png\n    = copy-2.png\n  07.png\n    = copy-7.png\n");
    has(t,
        "skipped: empty file (1), neither PNG, JPEG, WebP, BMP, GIF nor TIFF (1)\n  bad\\x1b.png: empty file\n  notes: "
        "neither");
    for (const char *p = t; *p; p++) DG_CHECK((unsigned char)*p >= 0x20 || *p == '\n');
    free(t);
}

static void json_report(const dg_dataset_options *o)
{
    dg_err e;
    char *t = run(o, NULL, true, &e);
    cJSON *j = cJSON_Parse(t);
    if (DG_CHECK(!e && j)) {
        DG_CHECK(number(j, "count") == 23 && number(j, "bad") == 1 && number(j, "size") == 8);
        DG_CHECK(number(j, "bytes") == 23 * 192 && number(j, "smaller") == 1 && number(j, "without_colour") == 1);
        DG_CHECK(number(cJSON_GetObjectItem(j, "kinds"), "PNG RGB") == 21);
        DG_CHECK(cJSON_GetArraySize(cJSON_GetObjectItem(j, "sizes")) == 3);
        DG_CHECK(number(cJSON_GetArrayItem(cJSON_GetObjectItem(j, "sizes"), 0), "count") == 21);
        const cJSON *twins = cJSON_GetObjectItem(j, "duplicates"), *skips = cJSON_GetObjectItem(j, "skipped");
        DG_CHECK(cJSON_GetArraySize(twins) == 2 && cJSON_GetArraySize(cJSON_GetArrayItem(twins, 0)) == 3);
        DG_CHECK(cJSON_GetArraySize(skips) == 2);
        const cJSON *name = cJSON_GetObjectItem(cJSON_GetArrayItem(skips, 0), "name");
        DG_CHECK(name && !strcmp(name->valuestring, "bad\\x1b.png"));
    }
    cJSON_Delete(j);
    free(t);
}

static void contact_sheet(dg_dataset_options o)
{
    dg_err e;
    for (o.channels = 1; o.channels <= 3; o.channels += 2) {
        char *t = run(&o, sheet, false, &e);
        free(t);
        blob b;
        dg_image im;
        if (!DG_CHECKF(!e && !blob_load(&b, sheet), "%s", dg_message())) continue;
        if (DG_CHECK(!dg_image_decode(b.data, b.bytes, &(dg_decode_options){0}, &im))) {
            /* the sheet has 3 rows of 8 images and borders of 2 pixels */
            DG_CHECKF(im.W == 8 * 10 + 2 && im.H == 3 * 10 + 2, "%d x %d", im.W, im.H);
            for (uint32_t i = 0; o.channels == 3 && i < 24; i++)
                DG_CHECK(im.pixels[3 * (2 * im.W + 2) + (int)i] == noise_byte(0, i));
        }
        dg_image_free(&im);
        blob_free(&b);
    }
}

static void decoded(const dg_dataset_options *o)
{
    static const uint8_t palette[768], clear[256];
    static const png_spec key = {.W = 4, .H = 4, .depth = 8, .colour = 3, .palette = palette, .trans = clear};
    dg_err e;
    uint8_t rows[16] = {0}, deep[96] = {0};
    save("key.png", png_by_libpng(&key, rows));
    save("deep.png", png_by_libpng(&(png_spec){.W = 4, .H = 4, .depth = 16, .colour = 2}, deep));
    char *t = run(o, NULL, false, &e);
    has(t, "        1  PNG palette\n");
    has(t, "        1  with transparent pixels\n");
    has(t, "        1  with 16 bits");
    has(t, "1 of 45 ");
    free(t);
    t = run(o, NULL, true, &e);
    cJSON *j = cJSON_Parse(t);
    DG_CHECK(number(j, "with_alpha") == 1 && number(j, "reduced_to_8_bits") == 1 && number(j, "turned") == 0);
    cJSON_Delete(j);
    free(t);
}

/* The report is complete even if training would refuse the folder. */
static void bad_folder(const dg_dataset_options *o)
{
    dg_err e;
    for (int i = 0; i < 5; i++) {
        char name[32];
        snprintf(name, sizeof name, "broken-%d.jpg", i);
        save(name, (blob){0});
    }
    char *t = run(o, NULL, false, &e);
    DG_CHECK(e == DG_DATA && strstr(dg_message(), "6 of 29 images cannot be read"));
    has(t, " 6 un");
    has(t, "  broken-4.jpg: empty file\n");
    free(t);
    for (int i = 1; i <= 20; i++) /* makes the report combine image sizes to ranges */
        save(temp_text("size-%d.png", i), png_noise(i, 30, (uint32_t)i));
    t = run(o, NULL, false, &e);
    has(t, "        1  shorter side 1 to 1\n");
    has(t, "       30  shorter side 8 to 15\n");
    free(t);
    decoded(o);
}

static void command(void)
{
    dg_options o = {.command = DG_CMD_DATA};
    DG_REFUSED(dg_cmd_data(&o), DG_USAGE, "needs one folder");
    char *dir[] = {root, root};
    o.operand = dir;
    o.operands = 2;
    DG_CHECK(dg_cmd_data(&o) == DG_USAGE);
    o.operands = 1;
    o.model = (char *)(uintptr_t) "no-such-model";
    DG_REFUSED(dg_cmd_data(&o), DG_USAGE, "no-such-model");
}

int main(void)
{
    begin_at("cats");
    snprintf(out_file, sizeof out_file, "%s", temp_path("out"));
    snprintf(sheet, sizeof sheet, "%s", temp_path("sheet.png"));
    save_noise(root, 0, 18, 8);
    save("copy-1.png", png_noise(8, 8, 0));
    save("copy-2.png", png_noise(8, 8, 0));
    save("copy-7.png", png_noise(8, 8, 7));
    static const uint8_t grey_rows[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    save("grey.png", png_by_libpng(&(png_spec){.W = 4, .H = 4, .depth = 8, .colour = 0}, grey_rows));
    save("photo.jpg", jpeg_smooth(20, 10, 1));
    save("bad\x1b.png", (blob){0});
    save_text("notes", "note");
    dg_dataset_options o = {.dir = root, .size = dg_square(8), .channels = 3, .threads = 1};
    text_report(&o);
    json_report(&o);
    contact_sheet(o);
    bad_folder(&o);
    command();
    end();
    return dg_test_report();
}

/* Tests that written images have the dataset's bytes, and where they are written. */
#include "dataset_folder.h"

#include <sys/stat.h>

enum { SIDE = 8 };

static char to[700];

static void image(const char *name, int side)
{
    char path[700];
    snprintf(path, sizeof path, "%s", at(name));
    for (char *p = path + strlen(root) + 1; (p = strchr(p, '/')); *p++ = '/') {
        *p = 0;
        mkdir(path, 0777);
    }
    save(name, png_noise(side, side + 3, (unsigned)(side * 31 + name[0])));
}

static void start(void)
{
    begin_at("images");
    snprintf(to, sizeof to, "%s", temp_path("out"));
}

static dg_dataset_options labelled(int channels)
{
    dg_dataset_options o = options();
    o.channels = channels;
    o.labelled = true;
    return o;
}

static dg_err put(const dg_dataset *d) { return dg_dataset_write(d, root, to, 2, NULL, NULL); }

/* Decodes without resizing. */
static bool is_image(const dg_dataset *d, int i, const char *name)
{
    dg_image im;
    blob b;
    const dg_decode_options how = {.keep_alpha = d->channels == 4};
    const size_t bytes = (size_t)d->channels * SIDE * SIDE;
    if (blob_load(&b, temp_text("%s/%s", to, name)) || dg_image_decode(b.data, b.bytes, &how, &im)) return false;
    if (d->channels == 1) dg_image_grey(&im);
    const bool same = im.W == SIDE && im.H == SIDE && im.C == d->channels &&
                      !memcmp(im.pixels, d->pixels + (size_t)i * bytes, bytes);
    dg_image_free(&im);
    blob_free(&b);
    return same;
}

static void flat(void)
{
    static const int channels[] = {1, 3, 4};
    start();
    image("a.png", 11);
    image("b.png", 8);
    for (int i = 0; i < 3; i++) {
        const dg_dataset_options o = labelled(channels[i]);
        dg_dataset d, again;
        if (!loads(&o, &d)) continue;
        DG_CHECKF(!put(&d), "%s", dg_message());
        DG_CHECK(is_image(&d, 0, "image-0000000.png") && is_image(&d, 1, "image-0000001.png"));
        DG_CHECK(!is_image(&d, 0, "image-0000001.png"));
        dg_dataset_options of = o;
        of.dir = to;
        if (loads(&of, &again)) DG_CHECK(again.count == 2 && again.fingerprint == d.fingerprint);
        dg_dataset_free(&again);
        dg_dataset_free(&d);
        temp_remove(to);
    }
    end();
}

static void folders(void)
{
    start();
    image("train/a.png", 9);
    image("train/b.png", 10);
    image("test/a.png", 11);
    save_text("labels.csv", "train/a.png,.x/y\ntrain/b.png,2\ntest/a.png,2\n");
    const dg_dataset_options o = labelled(3);
    dg_dataset d;
    if (loads(&o, &d)) {
        DG_CHECKF(!put(&d), "%s", dg_message());
        DG_CHECK(is_image(&d, 0, "train/_x_y/image-0000000.png") && is_image(&d, 1, "train/2/image-0000001.png") &&
                 is_image(&d, 2, "test/2/image-0000002.png"));
    }
    dg_dataset_free(&d);
    save_text("labels.csv", "train/a.png,a/b\ntrain/b.png,a_b\ntest/a.png,a_b\n");
    temp_remove(to);
    if (loads(&o, &d)) DG_CHECK(put(&d) == DG_DATA && strstr(dg_message(), "the classes a/b and a_b"));
    DG_CHECK(access(to, F_OK) != 0);
    dg_dataset_free(&d);
    end();
}

static void refused(const dg_dataset *d, const char *why)
{
    DG_CHECKF(put(d) == DG_USAGE && strstr(dg_message(), why), "\"%s\" expected, got \"%s\"", why, dg_message());
}

static void existing(void)
{
    start();
    image("a/1.png", 9);
    image("b/1.png", 10);
    image("b/2.png", 11);
    dg_dataset_options o = labelled(3);
    dg_dataset d, other;
    struct stat before, after;
    if (!loads(&o, &d)) return;
    DG_CHECK(!put(&d));
    DG_CHECK(!unlink(temp_text("%s/b/image-0000001.png", to)) &&
             !stat(temp_text("%s/a/image-0000000.png", to), &before));
    DG_CHECK(!put(&d) && is_image(&d, 1, "b/image-0000001.png")); /* an interrupted command is repeated */
    DG_CHECK(!stat(temp_text("%s/a/image-0000000.png", to), &after) && before.st_ino == after.st_ino);
    save_text("labels.csv", "a/1.png,a\nb/1.png,b\nb/2.png,a\n"); /* equal pixels, but other labels */
    if (loads(&o, &other)) refused(&other, "out: contains a/image-0000000.png");
    dg_dataset_free(&other);
    unlink(at("labels.csv"));
    o.resize = DG_RESIZE_NEAREST;
    if (loads(&o, &other)) refused(&other, "out: contains a/image-0000000.png");
    dg_dataset_free(&other);
    DG_CHECK(!symlink("nowhere", temp_text("%s/b/link", to)));
    refused(&d, "out: contains b/link");
    DG_CHECK(!unlink(temp_text("%s/b/link", to)));
    temp_put(temp_path("out/b/text"), "x", 1);
    refused(&d, "out: contains b/text");
    snprintf(to, sizeof to, "%s/", root);
    refused(&d, "is inside of");
    snprintf(to, sizeof to, "%s", at("new/folder"));
    refused(&d, "is inside of");
    DG_CHECK(access(at("new"), F_OK) != 0);
    snprintf(to, sizeof to, "%s-2", root); /* a longer name is another folder */
    DG_CHECK(!put(&d));
    temp_remove(to);
    dg_dataset_free(&d);
    end();
}

DG_TESTS(flat, folders, existing)

/* Tests class folders, training and test folders, and the random selection of test images from each class. */
#include "dataset_folder.h"

#include <sys/stat.h>

static const char *const tree[] = {"a/1.png", "a/2.png", "a/deep/3.png", "a-b/1.png", "c/1.png", "c/2.png"};

static void folder(const char *name)
{
    char path[1200];
    snprintf(path, sizeof path, "%s/%s", root, name);
    for (char *p = path + strlen(root) + 1; (p = strchr(p, '/')); *p++ = '/') {
        *p = 0;
        mkdir(path, 0777);
    }
}

/* Saves an image of noise whose seed depends on its name. */
static void image(const char *name)
{
    uint32_t seed = 1;
    for (const char *p = name; *p; p++) seed = 31 * seed + (uint8_t)*p;
    folder(name);
    save(name, png_noise(8, 8, seed));
}

static void images(const char *const *name, size_t n, const char *below)
{
    for (size_t i = 0; i < n; i++) image(temp_text("%s%s", below, name[i]));
}

static dg_dataset_options labelled(void)
{
    dg_dataset_options o = options();
    o.labelled = true;
    return o;
}

/* Returns the image names in order. "|" precedes the first test image. */
static char *names_of(const dg_dataset *d)
{
    static char out[4096];
    size_t at_byte = 0;
    *out = 0;
    for (int i = 0; i < d->count; i++)
        at_byte += (size_t)snprintf(out + at_byte, sizeof out - at_byte, "%s%s%s", i ? " " : "",
                                    i == d->train ? "| " : "", d->name[i]);
    return out;
}

static void names_are(const dg_dataset *d, const char *want)
{
    DG_CHECKF(!strcmp(names_of(d), want), "\"%s\" expected, got \"%s\"", want, names_of(d));
}

static void check_images(const dg_dataset *d, size_t skip)
{
    for (int i = 0; i < d->count && d->label; i++) {
        const char *name = d->name[i] + (i < d->train ? skip
                                         : skip       ? skip - 1
                                                      : 0),
                   *class = d->class_name[d->label[i]];
        DG_CHECKF(!strncmp(name, class, strlen(class)) && name[strlen(class)] == '/', "%s is labelled %s", d->name[i],
                  class);
        dg_dataset alone;
        char dir[1200];
        snprintf(dir, sizeof dir, "%s/%s", root, d->name[i]);
        *strrchr(dir, '/') = 0;
        dg_dataset_options o = options();
        o.dir = dir;
        if (!loads(&o, &alone)) continue;
        int k = 0;
        while (k < alone.count && strcmp(alone.name[k], strrchr(d->name[i], '/') + 1)) k++;
        DG_CHECKF(k < alone.count && !memcmp(alone.pixels + k * 192, d->pixels + i * 192, 192), "pixels of %s",
                  d->name[i]);
        dg_dataset_free(&alone);
    }
}

static void class_folders(void)
{
    begin();
    images(tree, 6, "");
    mkdir(at("empty"), 0777);
    save_text("b.txt", "no image");
    dg_dataset d;
    dg_dataset_options o = labelled();
    if (loads(&o, &d)) {
        names_are(&d, "a-b/1.png a/1.png a/2.png a/deep/3.png c/1.png c/2.png");
        DG_CHECK(d.classes == 3 && d.train == 6 && !d.unclassified && !strcmp(d.class_name[0], "a") &&
                 !strcmp(d.class_name[1], "a-b") && !strcmp(d.class_name[2], "c"));
        check_images(&d, 0);
    }
    const uint64_t with_labels = d.fingerprint;
    dg_dataset_free(&d);
    o.labelled = false; /* the images stay, but the fingerprint excludes labels */
    if (loads(&o, &d)) {
        names_are(&d, "a-b/1.png a/1.png a/2.png a/deep/3.png c/1.png c/2.png");
        DG_CHECK(d.fingerprint == dg_dataset_fingerprint(&d, 1) && d.fingerprint != with_labels && !d.aside);
    }
    dg_dataset_free(&d);
    o = labelled();
    o.cache = cache;
    for (int i = 0; i < 2; i++)
        LOADS(&o, d, d.cached == i && d.classes == 3 && d.label[0] == 1 && d.fingerprint == with_labels);
    o.limit = 4;
    if (loads(&o, &d)) names_are(&d, "a-b/1.png a/1.png a/2.png c/1.png");
    dg_dataset_free(&d);
    image("0.png");
    LOADS(&o, d, !d.classes && !d.label && strstr(dg_dataset_unclassified(&d), "0.png"));
    end();
    begin();
    image("a/1.png");
    LOADS(&o, d, !d.classes && strstr(dg_dataset_unclassified(&d), "class"));
    end();
    begin();
    image("1.png");
    LOADS(&o, d, !d.classes && !d.unclassified);
    end();
}

static void parts(void)
{
    static const char *const test[] = {"test/c/9.png", "test/a/7.png", "test/a/8.png"};
    begin();
    images(tree, 6, "train/");
    images(test, 3, "");
    dg_dataset d;
    dg_dataset_options o = labelled();
    if (loads(&o, &d)) {
        names_are(&d, "train/a-b/1.png train/a/1.png train/a/2.png train/a/deep/3.png train/c/1.png train/c/2.png "
                      "| test/a/7.png test/a/8.png test/c/9.png");
        DG_CHECK(d.classes == 3 && d.label[6] == 0 && d.label[8] == 2);
        check_images(&d, 6);
    }
    dg_dataset_free(&d);
    o.test = "0";
    LOADS(&o, d, d.train == 6 && d.count == 6 && d.usable == 9);
    o.test = NULL;
    o.limit = 2;
    if (loads(&o, &d)) names_are(&d, "train/a-b/1.png train/a/1.png | test/a/7.png test/c/9.png");
    dg_dataset_free(&d);
    o = options();
    LOADS(&o, d, d.count == 6 && d.train == 6 && d.aside == 3 && !strncmp(d.name[0], "train/", 6));
    image("valid/a/1.png");
    LOADS(&o, d, d.count == 6 && d.aside == 3);
    image("test/dog/1.png");
    o.labelled = true;
    fails(&o, DG_DATA, "/test/dog/1.png: ");
    o.labelled = false;
    LOADS(&o, d, d.count == 6 && d.aside == 4);
    o.least = 7;
    fails(&o, DG_DATA, "only 6 usable");
    o.least = 0;
    image("test/0.png"); /* an image outside of class folders makes all images training images */
    LOADS(&o, d, d.count == 12 && d.train == 12 && strstr(d.unclassified, "test/0.png"));
    unlink(at("test/0.png"));
    image("more/a/1.png");
    LOADS(&o, d, d.count == 12 && strstr(d.unclassified, "more/"));
    end();
}

static void other_parts(void)
{
    static const char *const files[] = {"train/a/1.png", "train/b/1.png", "valid/a/2.png", "dev/b/3.png"};
    begin();
    images(files, 4, "");
    dg_dataset d;
    dg_dataset_options o = labelled();
    if (loads(&o, &d)) names_are(&d, "train/a/1.png train/b/1.png | valid/a/2.png");
    DG_CHECK(d.classes == 2);
    dg_dataset_free(&d);
    o.limit = 1;
    if (loads(&o, &d)) names_are(&d, "train/a/1.png | valid/a/2.png");
    dg_dataset_free(&d);
    o = options();
    o.limit = 3;
    LOADS(&o, d, d.train == 2 && d.count == 2 && d.aside == 1);
    o = labelled();
    image("cats/1.png"); /* with a class folder next to train and valid folders, there are no classes */
    LOADS(&o, d, !d.classes && strstr(d.unclassified, "cats/"));
    end();
    begin(); /* without a folder train, the folder test is not a test part, and the file val is not a folder */
    static const char *const no_parts[] = {"b/1.png", "test/a/2.png"};
    images(no_parts, 2, "");
    save_text("val", "a text");
    o = options();
    o.limit = 1;
    LOADS(&o, d, d.count == 1 && d.train == 1 && !d.aside && !strcmp(d.name[0], "b/1.png"));
    o.limit = 2;
    LOADS(&o, d, d.count == 2 && d.train == 2 && !d.aside);
    end();
}

static void shares(void)
{
    static const int sizes[] = {1, 2, 3, 7, 10, 10};
    begin();
    for (int c = 0; c < 6; c++)
        for (int i = 0; i < sizes[c]; i++) image(temp_text("%c/%d.png", 'a' + c, i));
    static const struct {
        const char *share;
        int test[6];
    } want[] = {{"0.5", {0, 1, 1, 3, 5, 5}},
                {"0.01", {0, 1, 1, 1, 1, 1}},
                {".99", {0, 1, 2, 6, 9, 9}},
                {"0.7", {0, 1, 2, 4, 7, 7}},
                {"1e-1", {0, 1, 1, 1, 1, 1}}};
    dg_dataset_options o = labelled();
    dg_dataset d;
    char first[4096];
    for (size_t k = 0; k < sizeof want / sizeof *want; k++) {
        o.test = want[k].share;
        if (!loads(&o, &d)) continue;
        int n[6] = {0};
        for (int i = d.train; i < d.count; i++) n[d.label[i]]++;
        DG_CHECKF(!memcmp(n, want[k].test, sizeof n), "share %s: %d %d %d %d %d", o.test, n[0], n[1], n[2], n[3], n[4]);
        check_images(&d, 0);
        char drawn[2][11] = {"", ""}; /* digits in the names of test images of classes 4 and 5 */
        for (int i = d.train; i < d.count; i++)
            if (d.label[i] >= 4) strcat(drawn[d.label[i] - 4], (char[]){d.name[i][2], 0});
        if (!k) DG_CHECKF(strcmp(drawn[0], drawn[1]), "of both classes %s", drawn[0]);
        if (!k) snprintf(first, sizeof first, "%s", names_of(&d));
        dg_dataset_free(&d);
    }
    o.test = "0.5";
    o.threads = 1;
    if (loads(&o, &d)) names_are(&d, first);
    dg_dataset_free(&d);
    o.seed = 1;
    if (loads(&o, &d)) DG_CHECKF(strcmp(names_of(&d), first), "another seed draws the same: %s", first);
    dg_dataset_free(&d);
    o.labelled = false;
    LOADS(&o, d, d.count == 18 && d.train == 18 && d.aside == 15);
    static const char *const wrong[] = {"1", "1.5", "2e3"};
    for (int i = 0; i < 3; i++) {
        o.test = wrong[i];
        fails(&o, DG_USAGE, "share");
    }
    end();
}

static void other_folder(void)
{
    static const char *const test[] = {"t/c/1.png", "t/a/1.png"};
    begin();
    images(tree, 6, "all/");
    images(test, 2, "");
    save_text("t/a/bad.png", "no image");
    for (int i = 0; i < 12; i++) image(temp_text("t/c/more%d.png", i));
    char dir[700], other[700];
    snprintf(dir, sizeof dir, "%s/all", root);
    snprintf(other, sizeof other, "%s/t", root);
    dg_dataset_options o = labelled();
    dg_dataset d;
    o.dir = dir;
    o.test = other;
    o.skipped = skipped;
    if (loads(&o, &d)) {
        DG_CHECK(d.train == 6 && d.count == 20 && d.label[6] == 0 && d.label[19] == 2 && d.skips == 1);
        DG_CHECKF(!strcmp(d.name[6], temp_text("%s/a/1.png", other)), "%s", d.name[6]);
        DG_CHECK(*reason_of(&d, temp_text("%s/a/bad.png", other)));
    }
    dg_dataset_free(&d);
    o.labelled = false;
    LOADS(&o, d, d.count == 6 && !d.skips && !d.aside);
    o.labelled = true;
    image("t/dog/1.png");
    fails(&o, DG_DATA, "/t/dog/1.png: ");
    image("t/0.png");
    fails(&o, DG_DATA, "0.png");
    o.test = "/nowhere/at/all";
    fails(&o, DG_DATA, "/nowhere/at/all: No such file");
    end();
}

static void one_class(void)
{
    char *cats = "cats";
    const dg_dataset d = {.classes = 1, .class_name = &cats};
    DG_CHECK(dg_dataset_check_classes(&d, "dir", "cnn", 1) == DG_OK);
    DG_CHECK(dg_dataset_check_classes(&d, "dir", "cnn", 3) == DG_DATA);
    DG_CHECKF(strstr(dg_message(), "dir: has only 1 class, cats; "), "%s", dg_message());
}

DG_TESTS(one_class, class_folders, parts, other_parts, shares, other_folder)

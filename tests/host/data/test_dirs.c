/* Tests datasets of several folders: names, classes, test images, caches, limits; and the text that names them. */
#include "dataset_folder.h"
#include "host/data/dirs.h"
#include "host/files/made.h"

#include <sys/stat.h>

static void image(const char *name, uint32_t seed)
{
    char path[1200];
    snprintf(path, sizeof path, "%s/%s", root, name);
    for (char *p = path + strlen(root) + 1; (p = strchr(p, '/')); *p++ = '/') {
        *p = 0;
        mkdir(path, 0777);
    }
    save(name, png_noise(8, 8, seed));
}

static char *dirs(const char *a, const char *b)
{
    static char text[2000];
    snprintf(text, sizeof text, "%s/%s,%s/%s", root, a, root, b);
    return text;
}

static void names_are(const dg_dataset *d, const char *const *want, int n)
{
    DG_CHECKF(d->count == n, "%d images", d->count);
    for (int i = 0; i < n && i < d->count; i++)
        DG_CHECKF(!strcmp(d->name[i], at(want[i])), "image %d is %s, not %s", i, d->name[i], want[i]);
}

static void flat(void)
{
    begin();
    image("b/2.png", 3), image("b/1.png", 2), image("a/1.png", 1);
    save("a/z.png", blob_of("\x89PNG\r\n\x1a\n", 8));
    for (int i = 0; i < 20; i++) image(temp_text("a/more%02d.png", i), 100);
    dg_dataset_options o = options();
    dg_dataset d, one = {0};
    o.dir = dirs("b", "a");
    if (loads(&o, &d)) {
        const char *const want[] = {"b/1.png", "b/2.png", "a/1.png"};
        DG_CHECK(d.count == 23 && d.usable == 23 && d.skips == 1 && !strcmp(d.skip[0].name, at("a/z.png")));
        for (int i = 0; i < 3; i++) DG_CHECKF(!strcmp(d.name[i], at(want[i])), "%s", d.name[i]);
        DG_CHECK(!d.classes && strstr(dg_dataset_unclassified(&d), "/b has no classes: "));
        o.dir = temp_text("%s/b", root);
        if (loads(&o, &one)) DG_CHECK(!memcmp(one.pixels, d.pixels, 2 * 8 * 8 * 3));
        dg_dataset_free(&one);
    }
    dg_dataset_free(&d);
    o.dir = dirs("b", "a");
    o.strict = true;
    fails(&o, DG_DATA, temp_text("%s/a/z.png: ", root));
    o.strict = false;
    o.limit = 3;
    LOADS(&o, d, d.count == 3 && !strcmp(d.name[2], at("a/1.png")));
    o.dir = dirs("b", "none");
    fails(&o, DG_DATA, "/none: ");
    mkdir(at("empty"), 0777);
    o.dir = dirs("b", "empty");
    fails(&o, DG_DATA, "/empty: no images");
    end();
}

static void classes(void)
{
    begin();
    image("x/dog/1.png", 1), image("x/cat/1.png", 2), image("y/cat/1.png", 3), image("y/bird/1.png", 4);
    dg_dataset_options o = options();
    o.labelled = true;
    o.dir = dirs("x", "y");
    dg_dataset d;
    if (loads(&o, &d)) {
        static const char *const want[] = {"x/cat/1.png", "x/dog/1.png", "y/bird/1.png", "y/cat/1.png"};
        static const char *const class[] = {"cat", "dog", "bird"};
        static const int label[] = {0, 1, 2, 0};
        names_are(&d, want, 4);
        DG_CHECK(d.classes == 3 && d.train == 4);
        for (int i = 0; i < d.classes; i++) DG_CHECKF(!strcmp(d.class_name[i], class[i]), "%s", d.class_name[i]);
        for (int i = 0; i < d.count && d.label; i++) DG_CHECKF(d.label[i] == label[i], "image %d", i);
    }
    dg_dataset_free(&d);
    o.test = "0.5"; /* of the only class with two images */
    LOADS(&o, d, d.train == 3 && d.count == 4);
    o.test = NULL;
    o.limit = 3; /* one image of each class */
    LOADS(&o, d, d.count == 3 && d.label[0] == 0 && d.label[1] == 1 && d.label[2] == 2);
    end();
}

/* The parts of a folder may be in any letter case. */
static void parts(void)
{
    begin();
    image("x/Train/a/1.png", 1), image("x/Train/b/1.png", 2), image("x/Valid/a/2.png", 3);
    image("y/TRAIN/a/3.png", 4), image("y/TRAIN/b/3.png", 8), image("y/Test/b/4.png", 5), image("y/val/b/5.png", 6);
    dg_dataset_options o = options();
    o.labelled = true;
    dg_dataset d;
    o.dir = at("x");
    LOADS(&o, d, d.train == 2 && d.count == 3 && d.classes == 2 && !strcmp(d.name[2], "Valid/a/2.png"));
    o.labelled = false;
    o.limit = 1; /* not of the test images */
    LOADS(&o, d, d.train == 1 && d.aside == 1 && !strcmp(d.name[0], "Train/a/1.png"));
    o.limit = 0, o.labelled = true;
    o.dir = dirs("x", "y");
    if (loads(&o, &d)) {
        static const char *const want[] = {"x/Train/a/1.png", "x/Train/b/1.png", "y/TRAIN/a/3.png",
                                           "y/TRAIN/b/3.png", "x/Valid/a/2.png", "y/Test/b/4.png"};
        names_are(&d, want, 6); /* y/val is left out, because y/Test has priority */
        DG_CHECK(d.train == 4 && d.classes == 2 && d.label[4] == 0 && d.label[5] == 1);
    }
    dg_dataset_free(&d);
    image("y/train/a/6.png", 7); /* train/ has priority, and TRAIN/ is neither */
    o.dir = at("y");
    LOADS(&o, d, !d.classes && strstr(dg_dataset_unclassified(&d), "TRAIN/ is next to train/ and Test/"));
    end();
}

static void cached(void)
{
    begin();
    image("a/1.png", 1), image("b/1.png", 2);
    dg_dataset_options o = options();
    dg_dataset d;
    o.dir = dirs("a", "b");
    o.cache = cache;
    uint64_t fingerprint = 0;
    for (int i = 0; i < 2; i++) {
        if (loads(&o, &d)) DG_CHECK(d.count == 2 && d.cached == i && (!i || d.fingerprint == fingerprint));
        fingerprint = d.fingerprint;
        dg_dataset_free(&d);
    }
    DG_CHECK(!access(cache, F_OK) && !access(temp_text("%s-2", cache), F_OK));
    o.dir = dirs("b", "a"); /* another order */
    LOADS(&o, d, !d.cached && d.fingerprint != fingerprint);
    end();
}

static void texts(void)
{
    begin();
    mkdir(at("a"), 0777), mkdir(at("b"), 0777), mkdir(at("a,b"), 0777);
    dg_dirs d;
    dg_dirs_split(at("a,b"), &d); /* there is a folder of this name */
    DG_CHECK(d.n == 1 && !strcmp(d.dir[0], at("a,b")));
    dg_dirs_split("none,other//,,third,", &d);
    DG_CHECK(d.n == 3 && !strcmp(d.dir[1], "other") && !strcmp(d.dir[2], "third"));
    dg_err e;
    char *both = dg_dirs_add(at("a"), at("b"), &e), *again = both ? dg_dirs_add(both, at("../x/a"), &e) : NULL;
    DG_CHECK(both && !strcmp(both, dirs("a", "b")));
    free(again);
    again = both ? dg_dirs_add(both, temp_text("%s/./a", root), &e) : NULL;
    DG_CHECK(again && !e && !strcmp(again, both)); /* given twice */
    DG_CHECK(dg_dirs_same(both, temp_text("%s/./a,%s/b", root, root)) && !dg_dirs_same(both, dirs("b", "a")));
    DG_CHECK(!dg_dirs_same(both, at("a")));
    free(again);
    DG_CHECK(!dg_dirs_add(both, at("a,b"), &e) && e == DG_USAGE && strstr(dg_message(), "comma"));
    free(both);
    char text[DG_DIRS_BYTES] = "a,b";
    DG_CHECK(!chdir(root) && !chdir("a"));
    dg_dirs_absolute(text, sizeof text); /* here, "a,b" are two missing folders */
    DG_CHECKF(strstr(text, "/a/a,") && strstr(text, "/a/b") && *text == '/', "%s", text);
    DG_CHECK(!chdir("/"));
    char many[3 * (DG_DIRS_MAX + 1) + 1] = "";
    for (int i = 0; i <= DG_DIRS_MAX; i++) snprintf(many + strlen(many), sizeof many - strlen(many), "%d,", i % 10);
    dg_dirs_split(many, &d);
    DG_CHECK(d.n == 1 && !strcmp(d.dir[0], many));
    end();
}

DG_TESTS(texts, flat, classes, parts, cached)

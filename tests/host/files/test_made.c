/* Tests that dcgan does not train on files that it made, and writes images only into folders without other files. */
#include "host/data/synthesize/synthesize.h"
#include "host/files/made.h"
#include "host/figure/images.h"
#include "host/data/dataset_folder.h"

static blob with_texts(const dg_text *text, int n)
{
    uint8_t pixels[9 * 7 * 3];
    for (uint32_t i = 0; i < sizeof pixels; i++) pixels[i] = noise_byte(5, i);
    void *data;
    blob b = {0};
    if (dg_png_encode(&(dg_image){9, 7, 3, pixels}, text, n, &data, &b.bytes)) abort();
    b.data = data;
    b.room = b.bytes;
    return b;
}

static blob by_dcgan(const char *key)
{
    return with_texts((dg_text[]){{"Software", "dcgan 0.0.9 (0123456789)"}, {key, "caf\xc3\xa9"}}, 2);
}

static void recognised(void)
{
    blob b = by_dcgan("Run");
    DG_CHECK(dg_made_by_us(b.data, b.bytes) && dg_made_by_us(b.data, 64) && !dg_made_by_us(b.data, 50));
    for (size_t n = 0; n <= b.bytes; n++) {
        uint8_t *exact = malloc(n ? n : 1);
        memcpy(exact, b.data, n);
        DG_CHECKF(dg_made_by_us(exact, n) == (n >= 56), "the first %zu bytes", n);
        free(exact);
    }
    for (size_t i = 0; i < 56; i++) { /* bytes 12 to 36 are not read */
        b.data[i] ^= 0x80;
        DG_CHECKF(dg_made_by_us(b.data, b.bytes) == (i >= 12 && i < 37), "byte %zu", i);
        b.data[i] ^= 0x80;
    }
    blob_free(&b);
    static const struct {
        dg_text text;
        bool made;
    } other[] = {
        {{"Software", "dcgan 1"}, true},
        {{"Software", "gimp"}, false},
        {{"Software", "dcgan"}, false},
        {{"Comment", "dcgan 0.1.0"}, false},
        {{"software", "dcgan 1"}, false},
        {{"Softwar", "dcgan 1"}, false},
        {{"Source", "drawn by dcgan, seed 1, number 2"}, false},
    };
    for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
        b = with_texts(&other[i].text, 1);
        DG_CHECKF(dg_made_by_us(b.data, b.bytes) == other[i].made, "%s: %s", other[i].text.key, other[i].text.value);
        blob_free(&b);
    }
    b = png_noise(5, 5, 1);
    DG_CHECK(!dg_made_by_us(b.data, b.bytes));
    blob_free(&b);
}

static dg_dataset_options cached(void)
{
    dg_dataset_options o = options();
    o.cache = cache;
    o.skipped = skipped;
    return o;
}

static bool finds(dg_dataset *d, int count, int skips, int made, int hidden)
{
    const dg_dataset_options o = cached();
    const dg_err e = dg_dataset_load(&o, d);
    return DG_CHECKF(!e && d->count == count && d->skips == skips && d->made == made && d->hidden == hidden,
                     "%d \"%s\": %d images, %d skipped, %d made, %d hidden", (int)e, e ? dg_message() : "", d->count,
                     d->skips, d->made, d->hidden);
}

static void leave_a_run(const char *name)
{
    mkdir(at(name), 0777);
    static const char *const file[] = {"config.ini", "log.csv", "run.lock", "checkpoint.safetensors"};
    for (size_t i = 0; i < sizeof file / sizeof *file; i++)
        save_text(temp_text("%s/%s", name, file[i]), i == 2 ? "" : name);
    for (int i = 0; i < 12; i++) save(temp_text("%s/epoch-%04d.png", name, i), by_dcgan("Run"));
    save_text(temp_text("%s/.epoch-0012.png.77-1.dcgan-tmp", name), "half a pic");
}

/* Files of runs in a dataset folder must not change the dataset, its fingerprint or its cache. */
static void same_set(void)
{
    dg_dataset a, b;
    save_text("bad.png", "broken");
    blob cut = png_noise(5, 5, 3);
    cut.bytes -= 20;
    save("cut.png", cut);
    save_text("note", "text");
    finds(&a, 20, 3, 0, 0);
    leave_a_run("run");
    mkdir(at(".git"), 0777);
    save(".git/in.png", png_noise(3, 3, 1));
    save(".hidden.png", png_noise(3, 3, 1));
    save_text("._05.png", "\x01");
    save("grid.png", by_dcgan("Checkpoint"));
    if (finds(&b, 20, 7, 13, 4)) {
        DG_CHECK(b.fingerprint == a.fingerprint && b.cached && !memcmp(a.pixels, b.pixels, 20 * 192));
        for (int i = 0; i < 20; i++) DG_CHECK(!strcmp(a.name[i], b.name[i]));
        static const char *const want[] = {"bad.png",        "cut.png",     "note",        "run/checkpoint.safetensors",
                                           "run/config.ini", "run/log.csv", "run/run.lock"};
        for (int i = 0; i < 7; i++)
            DG_CHECKF(!strcmp(b.skip[i].name, want[i]) && b.skip[i].bad == (i < 2), "%s: %s", b.skip[i].name,
                      b.skip[i].reason);
        DG_CHECKF(!strncmp(b.skip[1].reason, "PNG: ", 5), "%s", b.skip[1].reason);
        char text[128];
        DG_CHECK(strstr(dg_left_out(&b, text, sizeof text), "13 ") == text && strstr(text, " 4 hidden"));
    }
    dg_dataset_free(&b);
    leave_a_run("run-2");
    if (finds(&b, 20, 11, 25, 5)) DG_CHECK(b.fingerprint == a.fingerprint && b.cached);
    dg_dataset_free(&b);
    unlink(cache); /* makes a new cache while the folder contains files of runs */
    if (finds(&b, 20, 11, 25, 5)) DG_CHECK(b.fingerprint == a.fingerprint && !b.cached);
    dg_dataset_free(&b);
    if (finds(&b, 20, 11, 25, 5)) DG_CHECK(b.fingerprint == a.fingerprint && b.cached);
    dg_dataset_free(&b);
    temp_remove(at("run-2"));
    if (finds(&b, 20, 7, 13, 4))
        DG_CHECK(b.fingerprint == a.fingerprint && b.cached && b.skip[1].bad && !b.skip[2].bad);
    dg_dataset_free(&b);
    save("one-more.png", png_noise(5, 5, 100));
    if (finds(&b, 21, 7, 13, 4)) DG_CHECK(b.fingerprint != a.fingerprint && !b.cached);
    dg_dataset_free(&b);
    save("one-more.png", png_noise(5, 5, 101));
    if (finds(&b, 21, 7, 13, 4)) DG_CHECK(!b.cached);
    dg_dataset_free(&b);
    save_text("note.jpg", "named like an image");
    const dg_dataset_options o = cached();
    DG_REFUSED(dg_dataset_load(&o, &b), DG_DATA, "3 of 24 images cannot be read");
    dg_dataset_free(&a);
}

static void limits_and_nothing(void)
{
    dg_dataset d;
    dg_dataset_options o = cached();
    o.limit = 3;
    o.cache = NULL;
    save("000.png", by_dcgan("Run")); /* sorted before the first image */
    DG_CHECK(!dg_dataset_load(&o, &d) && d.count == 3 && d.made == 1);
    dg_dataset_free(&d);
    char run[600];
    snprintf(run, sizeof run, "%s", at("run"));
    o.dir = run;
    DG_CHECK(dg_dataset_load(&o, &d) == DG_DATA && strstr(dg_message(), ": no ") &&
             strstr(dg_message(), "left out: 12 "));
}

static void folders(void)
{
    char dir[600];
    dg_dataset d;
    dg_dataset_options o = cached();
    snprintf(dir, sizeof dir, "%s", temp_path("drawn"));
    o.dir = dir;
    o.cache = NULL;
    DG_CHECKF(!dg_synthesize(dir, 4, dg_square(16), 1, 0) && !dg_synthesize(dir, 6, dg_square(16), 1, 0), "%s",
              dg_message());
    DG_CHECKF(!dg_dataset_load(&o, &d) && d.count == 6 && d.made == 0, "drawn cats are there to be trained on: %s",
              dg_message());
    dg_dataset_free(&d);
    DG_REFUSED(dg_synthesize(root, 4, dg_square(16), 1, 0), DG_USAGE, "00.png");
    DG_CHECK(access(at("cat-00000.png"), F_OK) != 0);

    static const char *const names[] = {"seed-*.png", "grid.png", NULL};
    char mine[600], path[700];
    snprintf(mine, sizeof mine, "%s", temp_path("mine"));
    DG_CHECK(!dg_only_ours(mine, names, "Software", "dcgan "));
    mkdir(mine, 0777);
    DG_CHECK(!dg_only_ours(mine, names, "Software", "dcgan "));
    blob b = by_dcgan("Checkpoint"), foreign = png_noise(4, 4, 1);
    static const struct {
        const char *name;
        bool ours, good;
    } file[] = {
        {"seed-0001.png", true, true},   {"grid.png", true, true},        {".DS_Store", false, true},
        {"epoch-0001.png", true, false}, {"seed-0002.png", false, false}, {"\x1b[31m", false, false},
    };
    for (size_t i = 0; i < sizeof file / sizeof *file; i++) {
        snprintf(path, sizeof path, "%s/%s", mine, file[i].name);
        DG_CHECK(!blob_save(file[i].ours ? &b : &foreign, path));
        const dg_err e = dg_only_ours(mine, names, "Software", "dcgan ");
        DG_CHECKF(e == (file[i].good ? DG_OK : DG_USAGE) && !strchr(dg_message(), '\x1b'), "%s: %d \"%s\"",
                  file[i].name, (int)e, dg_message());
        if (!file[i].good) unlink(path);
    }
    snprintf(path, sizeof path, "%s/seed-0003.png", mine);
    DG_CHECK(!symlink("seed-0001.png", path) && dg_only_ours(mine, names, "Software", "dcgan ") == DG_USAGE);
    DG_CHECK(!unlink(path) && !mkfifo(path, 0666) && dg_only_ours(mine, names, "Software", "dcgan ") == DG_USAGE);
    DG_CHECK(dg_synthesize(mine, 1, dg_square(16), 1, 0) == DG_USAGE);
    blob_free(&b);
    blob_free(&foreign);
}

static void make_folder(void)
{
    begin_at("cats");
    save_noise(root, 0, 20, 5);
}

DG_TESTS(make_folder, recognised, same_set, limits_and_nothing, folders, end)

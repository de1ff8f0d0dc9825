/* Tests the cache of decoded images. A valid cache is used, an invalid cache is rebuilt, and other files are never
 * overwritten. */
#include "cache_head.h"
#include "dataset_folder.h"

#include <sys/time.h>
#include <zlib.h>

static char other_cache[600];

static dg_dataset_options small(void)
{
    dg_dataset_options o = options();
    o.size = dg_square(4);
    o.cache = cache;
    return o;
}

static int same_images(const dg_dataset *a, const dg_dataset *b)
{
    if (a->count != b->count || a->fingerprint != b->fingerprint || !dg_same_size(a->size, b->size) ||
        a->channels != b->channels)
        return 0;
    size_t image = dg_size_values(a->size, a->channels);
    const dg_images of[] = {dg_dataset_images(a), dg_dataset_images(b)};
    uint8_t *pixels[] = {malloc(image + 1), malloc(image + 1)};
    int equal = 1;
    for (int i = 0; i < a->count; i++)
        equal &= !dg_images_read(&of[0], i, pixels[0]) && !dg_images_read(&of[1], i, pixels[1]) &&
                 !memcmp(pixels[0], pixels[1], image) && a->hash[i] == b->hash[i];
    free(pixels[0]);
    free(pixels[1]);
    for (int i = 0; i < a->count; i++)
        equal &= !strcmp(a->name[i], b->name[i]) && a->width[i] == b->width[i] && a->height[i] == b->height[i] &&
                 a->kind[i] == b->kind[i] && a->did[i] == b->did[i];
    return equal;
}

static int same(const dg_dataset *a, const dg_dataset *b)
{
    int equal = same_images(a, b) && a->skips == b->skips;
    for (int i = 0; equal && i < a->skips; i++)
        equal &= !strcmp(a->skip[i].name, b->skip[i].name) && !strcmp(a->skip[i].reason, b->skip[i].reason) &&
                 a->skip[i].bad == b->skip[i].bad;
    return equal;
}

static dg_dataset truth; /* the dataset as loaded without a cache */

/* Compares a loaded dataset with `truth`. The dataset must come from the cache if and only if `cached` is 1. */
static int load(const dg_dataset_options *o, int cached)
{
    dg_dataset d;
    dg_err e = dg_dataset_load(o, &d);
    int ok = !e && same(&d, &truth) && d.cached == cached;
    dg_dataset_free(&d);
    return ok;
}

static void renew_truth(dg_dataset_options o)
{
    o.cache = NULL;
    dg_dataset_free(&truth);
    dg_err e = dg_dataset_load(&o, &truth);
    DG_WORKS(e);
}

static void reloads(const dg_dataset_options *o)
{
    renew_truth(*o);
    DG_CHECK(load(o, 0) && load(o, 1));
}

static void keyed(void)
{
    dg_dataset_options o = small();
    renew_truth(o);
    DG_CHECK(truth.count == 12 && truth.skips == 2 && (truth.did[11] & ~DG_GREY) == 1u << DG_DID_HALVE);
    DG_CHECK(load(&o, 0) && load(&o, 1) && load(&o, 1));
    o.threads = 1;
    DG_CHECK(load(&o, 1));

    dg_dataset_options other[] = {o, o, o, o, o, o, o, o, o};
    other[0].size = dg_square(8);
    other[1].channels = 1;
    other[2].fit = DG_FIT_PAD;
    other[3].decode.alpha = DG_ALPHA_WHITE;
    other[4].decode.exif = false;
    other[5].limit = 5;
    other[6].decode.max_pixels = 30;
    other[7].size = (dg_size){4, 8};
    other[8].size = (dg_size){8, 4};
    for (int i = 0; i < 9; i++) {
        renew_truth(other[i]);
        DG_CHECKF(load(other + i, 0) && load(other + i, 1), "setting %d", i);
        renew_truth(o);
        DG_CHECKF(load(&o, 0), "setting %d and back", i);
    }

    /* The cache becomes invalid if a file is changed, renamed, added or removed. */
    save("03.png", png_noise(5, 5, 77));
    reloads(&o);
    struct stat st;
    DG_CHECK(!stat(at("04.png"), &st));
    struct timespec t[2] = {st.st_atim, st.st_mtim};
    t[1].tv_nsec = (t[1].tv_nsec + 1) % 1000000000;
    DG_CHECK(!utimensat(AT_FDCWD, at("04.png"), t, 0));
    DG_CHECK(load(&o, 0) && load(&o, 1));
    DG_CHECK(!rename(at("05.png"), at("a5.png")));
    reloads(&o);
    save("new.png", png_noise(5, 5, 78));
    reloads(&o);
    unlink(at("new.png"));
    reloads(&o);
    DG_CHECK(!symlink("nothing", at("dangling")));
    renew_truth(o);
    /* A file that is not an image changes the list of skipped files, but does not make the cache invalid. */
    DG_CHECK(truth.skips == 3 && load(&o, 1) && load(&o, 1));

    /* Requirements for datasets also apply to cached images. */
    dg_dataset d;
    o.least = 13;
    DG_REFUSED(dg_dataset_load(&o, &d), DG_DATA, "at least 13");
    o.least = 0;
    o.strict = true;
    DG_REFUSED(dg_dataset_load(&o, &d), DG_DATA, "bad.png");

    o = small();
    snprintf(other_cache, sizeof other_cache, "%s", at("cache"));
    o.cache = other_cache;
    DG_CHECK(load(&o, 0) && load(&o, 1));
    unlink(o.cache);
}

enum { HEADER = CACHE_HEADER, USED = sizeof(cache_head) };

/* Most bytes of the header are unused and are tried in steps. */
static size_t next(size_t at) { return at < USED || at + 61 >= HEADER ? at + 1 : at + 61; }

static void damaged(void)
{
    dg_dataset_options o = small();
    o.size = dg_square(1), o.limit = 4, o.threads = 1; /* a short cache file */
    renew_truth(o);
    DG_CHECK(load(&o, 0));
    blob whole;
    DG_CHECK(!blob_load(&whole, o.cache) && whole.bytes > HEADER + 120 && whole.bytes < HEADER + 500);
    int wrong = 0;
    fflush(stderr);
    int screen = dup(2), null = open("/dev/null", O_WRONLY);
    dup2(null, 2);
    for (size_t n = 0; n < whole.bytes; n = next(n)) {
        blob cut = {whole.data, n, n};
        wrong += blob_save(&cut, o.cache) || !load(&o, 0);
    }
    for (size_t i = 0; i < whole.bytes; i = next(i)) {
        whole.data[i] ^= (uint8_t)(1 << i % 8);
        /* the cache is rebuilt if its first 16 bytes are intact */
        wrong += blob_save(&whole, o.cache) || !load(&o, 0) || (i >= 16 && !load(&o, 1));
        whole.data[i] ^= (uint8_t)(1 << i % 8);
    }
    DG_CHECKF(wrong == 0, "%d damaged caches were not dealt with", wrong);
    blob_put(&whole, "x", 1);
    DG_CHECK(!blob_save(&whole, o.cache) && load(&o, 0) && load(&o, 1));

    /* A file that is not a cache is never overwritten. */
    blob text = {0};
    blob_put(&text, "my diary, longer than sixteen bytes", 35);
    DG_CHECK(!blob_save(&text, o.cache) && load(&o, 0) && load(&o, 0));
    blob after;
    DG_CHECK(!blob_load(&after, o.cache) && after.bytes == 35 && !memcmp(after.data, text.data, 35));
    blob_free(&after);
    blob_free(&text);
    blob_free(&whole);

    /* Images are loaded even if no cache file can be created. */
    snprintf(other_cache, sizeof other_cache, "%s", temp_path("no/such/folder"));
    o.cache = other_cache;
    DG_CHECK(load(&o, 0));
    o.cache = root;
    DG_CHECK(load(&o, 0));
    snprintf(other_cache, sizeof other_cache, "%s", temp_path("fifo"));
    o.cache = other_cache;
    DG_CHECK(!mkfifo(o.cache, 0666) && load(&o, 0));
    dup2(screen, 2);
    close(screen);
    close(null);
}

/* Images that stay in a file are those of memory: in a temporary file, in a new cache, and in an existing cache. */
static void stay(void)
{
    dg_dataset_options all[] = {small(), small(), small(), small()};
    all[1].channels = 1;
    all[2].limit = 7;
    all[3].labelled = true;
    all[3].test = "0.4"; /* images in another order */
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        dg_dataset_options o = all[i];
        char path[64];
        dg_dataset d, other;
        unlink(cache);
        renew_truth(o);
        o.may_stay = true;
        o.most_mb = 1e-6;
        for (int turn = 0; turn < 3; turn++) {
            o.cache = turn ? cache : NULL;
            DG_WORKS(dg_dataset_load(&o, &d));
            DG_CHECKF(same(&d, &truth) && !d.pixels && d.file && d.train == truth.train && d.cached == (turn == 2),
                      "options %zu, turn %d", i, turn);
            dg_dataset_free(&d);
        }
        /* another process reads the file of this one, in memory or not, without opening images */
        o.keep_file = true;
        o.cache = NULL;
        for (int stays = 0; stays < 2; stays++) {
            o.most_mb = stays ? 1e-6 : 1;
            DG_WORKS(dg_dataset_load(&o, &d));
            DG_CHECK(same(&d, &truth) && (d.pixels == NULL) == stays && d.file);
            dg_dataset_options o2 = all[i];
            o2.other_file = dg_dataset_shared_path(&d, path, sizeof path);
            o2.cache = NULL;
            o2.may_stay = !stays;
            DG_WORKS(dg_dataset_load(&o2, &other));
            DG_CHECK(same_images(&other, &truth) && (other.pixels != NULL) == stays && other.train == truth.train);
            dg_dataset_free(&other);
            dg_dataset_free(&d);
        }
    }
}

/* A cache in which an image is damaged is found when the image is read, and rebuilt if the images fit into memory. */
static void damaged_image(void)
{
    dg_dataset_options o = small();
    dg_dataset d;
    renew_truth(o);
    unlink(cache);
    DG_CHECK(load(&o, 0));
    const int fd = open(cache, O_RDWR);
    DG_CHECK(pwrite(fd, "?", 1, HEADER + 5 * 48 + 7) == 1);
    close(fd);
    o.may_stay = true;
    o.most_mb = 1e-6;
    DG_WORKS(dg_dataset_load(&o, &d));
    const dg_images images = dg_dataset_images(&d);
    uint8_t one[48];
    for (int i = 0; i < d.count; i++) {
        const dg_err e = dg_images_read(&images, i, one);
        if (i == 5) DG_REFUSED(e, DG_DATA, "06.png: wrong checksum; remove the file");
        else DG_WORKS(e);
    }
    dg_dataset_free(&d);
    DG_CHECK(load(
        &(dg_dataset_options){
            .dir = o.dir, .size = dg_square(4), .channels = 3, .decode = o.decode, .threads = 2, .cache = cache},
        0));
}

/* A forged cache: two images have the same slot. */
static void forged(void)
{
    dg_dataset_options o = small();
    renew_truth(o);
    unlink(cache);
    DG_CHECK(load(&o, 0));
    blob b;
    DG_CHECK(!blob_load(&b, cache));
    const size_t images = (size_t)truth.count, lists = HEADER + images * 48, slots = lists + 16 * images;
    memcpy(b.data + slots + 4, b.data + slots, 4);
    memset(b.data + 20, 0, 4);
    const uint32_t crc = (uint32_t)crc32(crc32(0, b.data, HEADER), b.data + lists, (uInt)(b.bytes - lists));
    memcpy(b.data + 20, &crc, 4);
    DG_CHECK(!blob_save(&b, cache) && load(&o, 0) && load(&o, 1));
    blob_free(&b);
}

int main(void)
{
    begin_at("cats");
    for (int i = 0; i < 12; i++) save(temp_text("%02d.png", i), png_noise(3 + i % 4, 4, (uint32_t)i));
    const uint8_t deep[6 * 6 * 4] = {0};
    save("11.png", png_by_libpng(&(png_spec){.W = 6, .H = 4, .depth = 16, .colour = 2}, deep));
    save("bad.png", (blob){0});
    save_text("note\n.txt", "text");
    keyed();
    stay();
    damaged_image();
    forged();
    damaged();
    dg_dataset_free(&truth);
    end();
    return dg_test_report();
}

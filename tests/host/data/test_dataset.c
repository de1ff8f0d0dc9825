/* Tests datasets that are loaded from folders of images. */
#include "child.h"
#include "dataset_folder.h"
#include "host/data/dataset_internal.h"

#include <sys/socket.h>
#include <sys/un.h>

/* Loads images of mixed formats from nested folders. The dataset is sorted by the bytes of the file names. */
static void plain_folder(void)
{
    begin();
    mkdir(at("sub"), 0777), mkdir(at("sub/deep"), 0777), mkdir(at("dir.png"), 0777);
    save("b.PNG", png_noise(8, 8, 1));
    save("a.jpeg", jpeg_smooth(30, 20, 2));
    save("Z", png_noise(8, 8, 3)); /* the content determines the format */
    save("sub/deep/x.jpg", png_noise(8, 8, 4));
    save("sub.png", jpeg_smooth(16, 16, 5));
    save("dir.png/in.png", png_noise(8, 8, 6));
    save_text("caption.txt", "a cat");
    static const char *const order[] = {"Z", "a.jpeg", "b.PNG", "dir.png/in.png", "sub.png", "sub/deep/x.jpg"};
    dg_dataset_options o = options();
    o.skipped = skipped;
    dg_dataset d;
    if (loads(&o, &d) && DG_CHECK(d.count == 6)) {
        for (int i = 0; i < 6; i++) DG_CHECKF(!strcmp(d.name[i], order[i]), "%s at %d", d.name[i], i);
        DG_CHECK(d.width[1] == 30 && d.height[1] == 20 && dg_same_size(d.size, dg_square(8)) && d.channels == 3 &&
                 !d.cached);
        DG_CHECK(d.kind[0] == DG_KIND_PNG_RGB && d.kind[1] == DG_KIND_JPEG_COLOUR);
        for (uint32_t i = 0; i < 192; i++)
            if (!DG_CHECK(d.pixels[2 * 192 + i] == noise_byte(1, i))) break;
        DG_CHECK(d.skips == 1 && bad_count(&d) == 0 &&
                 !strcmp(reason_of(&d, "caption.txt"), "neither PNG, JPEG, WebP, BMP, GIF nor TIFF"));
    }
    /* The list of skipped files is not a part of the dataset, and is removed if it is empty. */
    blob list;
    DG_CHECK(!blob_load(&list, o.skipped));
    blob_put(&list, "", 1);
    DG_CHECKF(!strcmp((char *)list.data, "caption.txt\tneither PNG, JPEG, WebP, BMP, GIF nor TIFF\n"), "%s",
              (char *)list.data);
    blob_free(&list);
    uint64_t fingerprint = d.fingerprint;
    dg_dataset_free(&d);
    unlink(at("caption.txt"));
    LOADS(&o, d, d.skips == 0 && d.fingerprint == fingerprint && access(o.skipped, F_OK));

    o.channels = 1;
    if (loads(&o, &d)) {
        uint8_t r = noise_byte(1, 0), g = noise_byte(1, 1), b = noise_byte(1, 2);
        DG_CHECK(d.pixels[2 * 64] == (19595 * r + 38470 * g + 7471 * b + 32768) >> 16);
        DG_CHECK(d.fingerprint != fingerprint);
    }
    dg_dataset_free(&d);
    end();
}

static void same_for_any_threads(void)
{
    begin();
    for (int i = 0; i < 150; i++)
        save(temp_text("%03d.png", i * 37 % 150),
             i % 10 == 7 ? jpeg_smooth(5 + i, 200 - i, 1) : png_noise(1 + i % 31, 1 + i % 17, (uint32_t)i));
    save_text("070.png", "broken");
    dg_dataset_options o = options();
    uint64_t fingerprint = 0;
    static const int threads[] = {1, 2, 3, 7};
    for (int t = 0; t < 4; t++) {
        o.threads = threads[t];
        dg_dataset d;
        if (loads(&o, &d)) {
            DG_CHECK(d.count == 149 && d.skips == 1);
            for (int i = 1; i < d.count; i++) DG_CHECK(strcmp(d.name[i - 1], d.name[i]) < 0);
            DG_CHECK(t == 0 || d.fingerprint == fingerprint);
            fingerprint = d.fingerprint;
        }
        dg_dataset_free(&d);
    }
    dg_dataset a, b;
    o.limit = 60;
    if (loads(&o, &a)) DG_CHECK(a.count == 60 && a.skips == 0 && !strcmp(a.name[59], "059.png"));
    o.limit = 72; /* skips the corrupt file 070.png */
    if (loads(&o, &b)) DG_CHECK(b.count == 72 && b.skips == 1 && !memcmp(a.pixels, b.pixels, 60 * 192));
    dg_dataset_free(&a);
    dg_dataset_free(&b);

    o.limit = 0;
    save("000.png", png_noise(1, 1, 999));
    if (loads(&o, &a)) DG_CHECK(a.fingerprint != fingerprint);
    dg_dataset_free(&a);
    end();
}

static void odd_names(void)
{
    static const char *const name[] = {
        "new\nline.png",
        "tab\t.png",
        "\x1b[31mred.png",
        "quote\"'.png",
        "-rf",
        "--help.png",
        "\xff\xfe.png",
        "\xe7\x8c\xab.png",
        "\xd7\x97\xd7\xaa\xd7\x95\xd7\x9c.png",
        "caf\xc3\xa9.png",
        "cafe\xcc\x81.png",
        "a..png",
        "~.",
        "space .png ",
        " ",
        "$(reboot).png",
        "%s%n.png",
        "back\\slash.png",
        "\xe2\x80\xaegnp.png",
        "\x7f.png",
    };
    int n = (int)(sizeof name / sizeof *name);
    begin();
    char longest[256];
    memset(longest, 'n', 255);
    longest[255] = 0;
    save(longest, png_noise(3, 3, 1));
    for (int i = 0; i < n; i++) save(name[i], png_noise(3, 3, (uint32_t)i));
    dg_dataset_options o = options();
    o.skipped = skipped;
    dg_dataset d;
    if (loads(&o, &d)) {
        DG_CHECK(d.count == n + 1 && d.skips == 0);
        for (int i = 1; i < d.count; i++) DG_CHECK(strcmp(d.name[i - 1], d.name[i]) < 0);
    }
    dg_dataset_free(&d);

    /* The list of corrupt images and the message contain no control characters except tabs and newlines. */
    for (int i = 0; i < n; i++) save_text(name[i], "broken");
    for (int i = 0; i < 12 * n; i++) save(temp_text("more%d.png", i), png_noise(1, 1, 1));
    LOADS(&o, d, d.skips == n);
    blob list;
    DG_CHECK(!blob_load(&list, o.skipped));
    int lines = 0, odd = 0;
    for (size_t i = 0; i < list.bytes; i++) {
        uint8_t c = list.data[i];
        lines += c == '\n';
        odd += (c < 0x20 && c != '\n' && c != '\t') || c == 0x7f || c == 0xff;
    }
    DG_CHECKF(lines == n && odd == 0, "%d lines, %d odd bytes", lines, odd);
    blob_free(&list);
    o.strict = true;
    fails(&o, DG_DATA, ": neither PNG, JPEG, WebP, BMP, GIF nor TIFF");
    for (const char *p = dg_message(); *p; p++) DG_CHECK((unsigned char)*p >= 0x20);
    end();
}

static void make_socket(const char *path)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    int s = socket(AF_UNIX, SOCK_STREAM, 0);
    if (strlen(path) < sizeof a.sun_path) strcpy(a.sun_path, path);
    DG_CHECK(s >= 0 && !bind(s, (struct sockaddr *)&a, sizeof a));
    close(s);
}

static void odd_folder(void)
{
    begin();
    mkdir(at("sub"), 0777), mkdir(at("empty"), 0777);
    save_noise(at("sub"), 0, 90, 2);
    DG_CHECK(!symlink("..", at("sub/loop")));
    DG_CHECK(!symlink("self.png", at("self.png")));
    DG_CHECK(!symlink("zero-byte.png/x", at("below-file.png")));
    DG_CHECK(!symlink("nothing", at("dangling.png")));
    DG_CHECK(!symlink("sub/01.png", at("link")));
    DG_CHECK(!symlink("sub", at("linked-folder")));
    DG_CHECK(!symlink("/dev/zero", at("zero.png")));
    DG_CHECK(!symlink("/proc/self/mem", at("mem.png")));
    DG_CHECK(!link(at("sub/02.png"), at("twin.png")));
    DG_CHECK(!mkfifo(at("fifo.png"), 0666));
    DG_CHECK(!symlink("fifo.png", at("to-fifo")));
    make_socket(at("socket"));
    save_text("zero-byte.png", "");
    save_text("._sub.jpg", "\x01"); /* a hidden resource fork of macOS */
    int fd = open(at("huge.png"), O_CREAT | O_WRONLY, 0666);
    DG_CHECK(fd >= 0 && !ftruncate(fd, (off_t)1 << 40) && pwrite(fd, "\x89PNG\r\n\x1a\n", 8, 0) == 8);
    close(fd);

    dg_dataset_options o = options();
    dg_dataset d;
    if (loads(&o, &d)) {
        static const struct {
            const char *name, *reason;
            int bad;
        } want[] = {
            {"sub/loop", "a symbolic link to a folder (these are not followed)", 0},
            {"linked-folder", "a symbolic link to a folder (these are not followed)", 0},
            {"self.png", "a loop of symbolic links", 1},
            {"below-file.png", "a symbolic link: Not a directory", 1},
            {"dangling.png", "a dangling symbolic link", 1},
            {"zero.png", "a symbolic link to a device", 1},
            {"mem.png", "empty file", 1},
            {"fifo.png", "a FIFO", 1},
            {"to-fifo", "a symbolic link to a FIFO", 0},
            {"socket", "a socket", 0},
            {"zero-byte.png", "empty file", 1},
            {"huge.png", "a file of 1099511627776 bytes, the limit is 67108864", 1},
        };
        int n = (int)(sizeof want / sizeof *want), bad = 0;
        for (int i = 0; i < n; i++) {
            DG_CHECKF(!strcmp(reason_of(&d, want[i].name), want[i].reason), "%s: %s", want[i].name,
                      reason_of(&d, want[i].name));
            bad += want[i].bad;
        }
        DG_CHECKF(d.count == 92 && d.skips == n && bad_count(&d) == bad && d.hidden == 1,
                  "%d good, %d skipped, %d bad, "
                  "%d hidden",
                  d.count, d.skips, bad_count(&d), d.hidden);
    }
    dg_dataset_free(&d);
    end();
}

/* Creates a folder in the directory fd and returns the new folder's descriptor. Closes fd. */
static int deeper(int fd, const char *name)
{
    if (mkdirat(fd, name, 0777)) abort();
    const int next = openat(fd, name, O_RDONLY | O_DIRECTORY);
    close(fd);
    return next;
}

static void deep_paths(void)
{
    begin();
    char path[8192] = "";
    size_t n = 0;
    int fd = open(root, O_RDONLY | O_DIRECTORY);
    for (int depth = 1; depth <= 70; depth++) {
        fd = deeper(fd, "d");
        n += (size_t)snprintf(path + n, sizeof path - n, "d/");
        if (depth != 64 && depth != 65) continue;
        strcpy(path + n, "x.png");
        save(path, png_noise(1, 1, 1));
    }
    close(fd);
    dg_dataset_options o = options();
    dg_dataset d;
    fails(&o, DG_DATA, " 64 ");
    o.skip_unreadable = true;
    if (loads(&o, &d)) {
        DG_CHECK(d.count == 1 && d.skips == 1 && strlen(d.name[0]) == 2 * 64 + 5);
        DG_CHECK(strstr(d.skip[0].reason, " 64 "));
    }
    dg_dataset_free(&d);
    end();

    begin(); /* the path exceeds the system's limit */
    save("fine.png", png_noise(1, 1, 1));
    char name[251];
    memset(name, 'l', 250);
    name[250] = 0;
    fd = open(root, O_RDONLY | O_DIRECTORY);
    for (int depth = 0; depth < 20; depth++) fd = deeper(fd, name);
    close(fd);
    if (loads(&o, &d)) {
        DG_CHECK(d.count == 1 && d.skips == 1);
        DG_CHECK(d.skips && strstr(d.skip[0].reason, "more than 4096 bytes"));
    }
    dg_dataset_free(&d);
    end();
}

static void rules(void)
{
    begin();
    dg_dataset_options o = options();
    fails(&o, DG_DATA, ": no ");
    o.dir = at("missing");
    fails(&o, DG_DATA, "No such file or directory");
    save("0.png", png_noise(2, 2, 1));
    o.dir = at("0.png");
    fails(&o, DG_DATA, "not a folder");
    o.dir = root;
    o.channels = 2;
    fails(&o, DG_USAGE, "1, 3 or 4");
    o.channels = 3;
    o.size = dg_square(0);
    fails(&o, DG_USAGE, "size 0");
    o.size = dg_square(4097);
    fails(&o, DG_USAGE, "size 4097");
    o.size = dg_square(8);
    o.least = 2;
    fails(&o, DG_DATA, "only 1 usable");
    o.least = 0;
    for (int i = 1; i < 18; i++) save(temp_text("%d.png", i), png_noise(2, 2, 1));
    save_text("bad1.png", "x");
    save_text("bad2.jpg", "\xff\xd8\xff\xd9");
    dg_dataset d;
    LOADS(&o, d, d.count == 18 && bad_count(&d) == 2); /* a tenth of the images may be corrupt */
    for (int i = 0; i < 100; i++) save_text(temp_text("%d.txt", i), "a caption");
    LOADS(&o, d, d.count == 18 && bad_count(&d) == 2 && d.skips == 102);
    /* Two reasons for skipped files are counted as one if they differ only in numbers. */
    blob cut = png_noise(2, 2, 1);
    cut.bytes = 40, blob_save(&cut, at("cut40.png"));
    cut.bytes = 44, blob_save(&cut, at("cut44.png"));
    fails(&o, DG_DATA, "PNG: cut off after N bytes (2), ");
    unlink(at("cut44.png"));
    fails(&o, DG_DATA, "PNG: cut off after 40 bytes (1)");
    unlink(at("cut40.png"));
    blob_free(&cut);
    save_text("bad3.bmp", "BM");
    fails(&o, DG_DATA, "3 of 21 ");
    fails(&o, DG_DATA, "BMP: damaged header (1)");
    o.skipped = skipped;
    fails(&o, DG_DATA, "skipped.txt");
    DG_CHECK(!access(o.skipped, R_OK));
    o.strict = true;
    for (o.threads = 1; o.threads < 4; o.threads++) fails(&o, DG_DATA, "/bad1.png: ");
    unlink(at("bad1.png"));
    save("5.png", (blob){0});
    fails(&o, DG_DATA, "/5.png: empty file");
    volatile sig_atomic_t stop = 1;
    o.stop = &stop;
    fails(&o, DG_FAILED, "stopped");
    end();

    begin();
    save("good", png_noise(1, 1, 1));
    save_text("bad", "x");
    for (int i = 0; i < 12000; i++)
        if (link(at(i % 10 || i >= 10000 ? "good" : "bad"), at(temp_text("%05d.png", i)))) abort();
    o = options();
    LOADS(&o, d, d.count == 11001 && bad_count(&d) == 1000);
    save_text("another.png", "x");
    fails(&o, DG_DATA, "1001 of 12002");
    end();
}

static int pixels_for(void *images, char *message)
{
    const dg_dataset_options o = options();
    uint8_t *pixels = NULL;
    const dg_err e = dg_dataset_pixels(&o, *(const long *)images, &pixels);
    snprintf(message, 256, "%s", e ? strstr(dg_message(), "images of") : "");
    free(pixels);
    return (int)e;
}

static void too_large(void)
{
    begin();
    char message[256];
    long many = 1L << 44, some = 4L << 20; /* 768 MiB */
    DG_CHECK(pixels_for(&many, message) == DG_DEVICE &&
             strstr(message, "8 x 8 x 3 need 3377699720.5 MB of memory, but "));
    if (!DG_SANITIZED) {
        const child_result r = in_child(pixels_for, &some, 800 << 20);
        DG_CHECKF(r.code == DG_DEVICE && strstr(r.message, "but ulimit -v allows ") &&
                      strstr(r.message, "MB are left; use"),
                  "%d %s", r.code, r.message);
        some /= 2;
        DG_CHECK(in_child(pixels_for, &some, 800 << 20).code == DG_OK);
    }
    end();
}

DG_TESTS(too_large, plain_folder, same_for_any_threads, odd_names, odd_folder, deep_paths, rules)

/* Tests that a generator gives the same images for any batch size, and that unsuitable checkpoints are refused. */
#include "host/infer/generator.h"
#include "host/infer/labeller.h"

#include <stdio.h>
#include <string.h>

#include "host/checkpoint/checkpoint_files.h"

enum { IMAGES = 7, BYTES = 16 * 16 * 3 };

static const dg_device cpu = {.device = "cpu", .threads = 1};

static void images(dg_generator *g)
{
    uint8_t all[IMAGES][BYTES], one[BYTES];
    float in[IMAGES * 6], later[6];
    DG_CHECK(g->inputs == 6);
    dg_generator_z(g, in, 0, IMAGES);
    dg_generator_z(g, later, 4, 1);
    DG_CHECK(!memcmp(in + 4 * 6, later, sizeof later) && memcmp(in, later, sizeof later) != 0);

    DG_WORKS(dg_generator_images(g, 0, IMAGES, -1, all[0], "seed"));
    for (int i = 0; i < IMAGES; i++) {
        DG_CHECK(!dg_generator_images(g, (uint64_t)i, 1, -1, one, "seed") && !memcmp(one, all[i], BYTES));
        DG_CHECK(!dg_generator_make(g, in + 6 * i, 1, one, "frame", 0) && !memcmp(one, all[i], BYTES));
        DG_CHECK(!i || memcmp(all[i], all[i - 1], BYTES) != 0);
    }
    in[6 + 2] = NAN;
    DG_REFUSED(dg_generator_make(g, in, 3, all[0], "frame", 10), DG_NUMBERS, "frame 11");
}

static void nvidia_hardware(void)
{
    static const struct {
        const char *vendor, *class; /* of a PCI device; NULL: no file */
        bool found;
    } row[] = {
        {"0x10de\n", "0x030200\n", true},
        {"0x10de\n", "0x030000\n", true},
        {"0x10de\n", "0x040300\n", false},
        {"0x8086\n", "0x030000\n", false},
        {NULL, "0x030200\n", false},
        {"0x10de\n", NULL, false},
        {"", "", false},
    };
    const char *const file[] = {temp_path("pci/0000:01:00.0/vendor"), temp_path("pci/0000:01:00.0/class")};
    char devices[600];
    snprintf(devices, sizeof devices, "%s", temp_path("pci"));
    DG_CHECK(!dg_nvidia_hardware(devices));
    mkdir(devices, 0777), mkdir(temp_path("pci/0000:00:00.0"), 0777), mkdir(temp_path("pci/0000:01:00.0"), 0777);
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        const char *const text[] = {row[i].vendor, row[i].class};
        for (int k = 0; k < 2; k++) {
            unlink(file[k]);
            if (text[k]) temp_put(file[k], text[k], strlen(text[k]));
        }
        DG_CHECKF(dg_nvidia_hardware(devices) == row[i].found, "row %zu", i);
    }
}

int main(void)
{
    machine x;
    dg_generator *g = NULL;
    dg_labeller *l = NULL;
    temp_make("generator");
    nvidia_hardware();
    char path[600], cut[600];
    snprintf(path, sizeof path, "%s/checkpoint.safetensors", temp_dir);
    snprintf(cut, sizeof cut, "%s/cut.safetensors", temp_dir);
    if (!machine_up(&x, &tiny, DG_F32, true)) return dg_test_report();
    machine_steps(&x, 0, 2);
    machine_keep(&x, 2, path);

    if (DG_WORKS(dg_generator_open(&cpu, path, &g))) {
        DG_CHECK(g->info.step == 2 && strstr(g->origin, "step 2"));
        images(g);
    }
    dg_generator_close(g);
    g = NULL;
    if (edit_file(path, cut, &(edit){.tensor = "G.main.0.weight", .drop = true}))
        DG_REFUSED(dg_generator_open(&cpu, cut, &g), DG_IO, "G.main.0.weight");
    dg_generator_close(g);
    DG_CHECK(dg_labeller_open(&cpu, path, &l) == DG_USAGE);
    dg_labeller_close(l);
    machine_down(&x);
    temp_remove(temp_dir);
    return dg_test_report();
}

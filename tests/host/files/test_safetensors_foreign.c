/* Tests tensor names and value types of safetensors files from other programs. */
#include <math.h>
#include <stdint.h>

#include "host/files/safetensors_internal.h"
#include "tempdir.h"
#include "test.h"

static void names(void)
{
    static const struct {
        const char *name, *plain;
    } row[] = {
        {"main.0.weight", "main.0.weight"},
        {"module.main.0.weight", "main.0.weight"},
        {"_orig_mod.module.main.0.weight", "main.0.weight"},
        {"main._orig_mod.0.weight", "main.0.weight"},
        {"netG.main.0.weight", "G.main.0.weight"},
        {"model.netD.module.main.0.weight", "D.main.0.weight"},
        {"generator.model.main.0.weight", "G.main.0.weight"},
        {"netG.netD.main.0.weight", "G.netD.main.0.weight"},
        {"G.main.0.weight", "G.main.0.weight"},
        {"layer1.0.model.weight", "layer1.0.model.weight"},
        {"modules.main", "modules.main"},
        {"module", "module"},
        {"module.", ""},
        {"model.module", "module"},
        {".module.a", ".a"},
        {"", ""},
        {"..", ".."},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        char out[128];
        dg_st_plain_name(row[i].name, out);
        DG_CHECKF(!strcmp(out, row[i].plain), "%s: %s", row[i].name, out);
    }
}

static void values(void)
{
    enum { N = 65536 };
    static float wide[N];
    for (int brain = 0; brain < 2; brain++) {
        for (uint32_t i = 0; i < N; i++) memcpy((char *)wide + 2 * N + 2 * i, &(uint16_t){(uint16_t)i}, 2);
        dg_st_widen(wide, N, brain ? DG_ST_BRAIN : DG_ST_HALF);
        for (uint32_t i = 0; i < N; i++) {
            uint32_t bits;
            memcpy(&bits, wide + i, 4);
            const int exponent = (int)(i >> 10 & 31), fraction = (int)(i & 1023);
            const double want = exponent ? ldexp(fraction + 1024, exponent - 25) : ldexp(fraction, -24);
            const bool special = exponent == 31;
            const bool same = brain     ? bits == i << 16
                              : special ? (bits & 0x7fffffff) == (0x7f800000u | (uint32_t)fraction << 13)
                                        : fabs((double)wide[i]) == want;
            if (!same || bits >> 31 != i >> 15) DG_CHECKF(false, "%d, %x: %x", brain, i, bits);
        }
    }
    DG_CHECK(dg_st_narrow_type("F16") == DG_ST_HALF && dg_st_narrow_type("BF16") == DG_ST_BRAIN);
    DG_CHECK(dg_st_narrow_type("F32") == DG_ST_SAME && dg_st_narrow_type("F8_E5M2") == DG_ST_SAME);
}

/* Weight files of other formats are refused with a line of Python that converts the file. */
static void other_files(void)
{
    static const struct {
        const char *begin;
        size_t bytes;
        const char *says;
    } row[] = {
        {"PK\3\4\0\0\x08\x08\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x10\0\0\0archive/data.pkl", 46, "['state_dict']"},
        {"PK\3\4\x14\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\5\0\0\0w.npy12345", 40, "save_file(dict(numpy.load("},
        {"\x08\x07\x12\x07pytorch\x1a", 12, "onnx.numpy_helper.to_array"},
        {"\x08\x07\x3a\x07graph:\x12\x01", 12, "onnx.numpy_helper.to_array"},
        {"\x08\0\x12\x07pytorch\x1a", 12, "not a valid safetensors file"},
        {"\x08\x20\x12\x07pytorch\x1a", 12, "not a valid safetensors file"},
        {"GGUF\3\0\0\0\0\0\0\0", 12, "save_file(net.state_dict()"},
        {"\x89HDF\r\n\x1a\n\0\0\0\0", 12, "save_file(net.state_dict()"},
        {"\x80\2}q\0X\0\0\0\0\0\0", 12, "torch.load("},
        {"\x08\x07\x41\x07\0\0\0\0\0\0\0\0", 12, "not a valid safetensors file"},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        dg_st *st;
        const char *path = temp_path("weights");
        temp_put(path, row[i].begin, row[i].bytes);
        DG_CHECKF(dg_st_open(path, 0, &st) == DG_IO && strstr(dg_message(), row[i].says), "%zu: %s", i, dg_message());
    }
}

DG_TESTS_IN("foreign", names, values, other_files)

/* Tests expressions over the latents of seeds, and files of latents. */
#include "host/infer/latents.h"

#include <math.h>
#include <string.h>

#include "host/checkpoint/checkpoint_files.h"

enum { LATENT = 6 };
static const dg_device cpu = {.device = "cpu", .threads = 1};

static void refused_expressions(void)
{
    static const char *const row[][2] = {
        {"", "position 1: expected a seed"},
        {"7 + ", "position 5: expected a seed"},
        {"7 + *2", "position 5: expected a seed"},
        {"(3 + 4", "position 1: this parenthesis is not closed"},
        {"3 4", "position 3: expected + - * / or the end"},
        {"0x7", "position 2: expected + - * / or the end"},
        {"1.2.3", "position 1: this is not a number"},
        {"2 * .", "position 5: this is not a number"},
        {"0.5", "is a number, not a latent"},
        {"9007199254740992", "is a number, not a latent"},
        {"7 + 0.5", "is a number, not a latent"},
        {"(3 - 4) + 0.5", "position 9: cannot add a number and a latent"},
        {"(1 - 2) * (3 - 4)", "position 9: cannot multiply two latents"},
        {"7 / (3 - 4)", "position 3: cannot divide by a latent"},
        {"7 / 0", "position 3: division by 0"},
        {"7 - 7", "the sum is 0"},
        {"3 * (5 - 5) / 2", "the sum is 0"},
        {"((((((((((((((((((((1))))))))))))))))))))", "1"},
        {"(((((((((((((((((((((1)))))))))))))))))))))", "position 21: too many nested"},
        {"---------------------1", "position 21: too many nested"},
        {"11111111111111111111111111111111111111111", "position 1: the number has too many digits"},
        {"1+2+3+4+5+6+7+8+9+10+11+12+13+14+15+16+17+18+19+20+21+22+23+24+25+26+27+28+29+30+31+32+33",
         "more than 32 different seeds"},
        {"9007199254740991", "9007199254740991"},
    };
    char large[600] = "";
    for (int i = 0; i < 30; i++) strcat(large, "9999999999999.*");
    strcat(large, "1");
    dg_z_sum sum;
    DG_REFUSED(dg_z_parse(large, &sum), DG_USAGE, "too large");
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        const dg_err e = dg_z_parse(row[i][0], &sum);
        const bool valid = row[i][1][0] >= '0' && row[i][1][0] <= '9';
        DG_CHECKF(valid ? !e && sum.terms == 1 && sum.seed[0] == strtoull(row[i][1], NULL, 10)
                        : e == DG_USAGE && strstr(dg_message(), row[i][1]) != NULL,
                  "%s: %d \"%s\"", row[i][0], (int)e, e ? dg_message() : "");
    }
}

/* Compares an expression with the sum of the latents of seeds 3, 7 and 12 with these factors. */
static void evaluated(const dg_generator *g, const char *text, double of_3, double of_7, double of_12)
{
    float z[LATENT], seed[3][LATENT];
    const double factor[] = {of_3, of_7, of_12};
    const int combined = (of_3 != 0) + (of_7 != 0) + (of_12 != 0);
    double want[LATENT], squares = 0;
    dg_z_sum sum;
    dg_generator_z(g, seed[0], 3, 1);
    dg_generator_z(g, seed[1], 7, 1);
    dg_generator_z(g, seed[2], 12, 1);
    for (int i = 0; i < LATENT; i++) {
        want[i] = 0;
        for (int k = 0; k < 3; k++) want[i] += factor[k] * (double)seed[k][i];
        squares += want[i] * want[i];
    }
    if (!DG_WORKS(dg_z_parse(text, &sum)) || !DG_WORKS(dg_z_evaluate(g, &sum, z))) return;
    for (int i = 0; i < LATENT; i++) {
        const double exact = combined > 1 ? want[i] * sqrt(LATENT / squares) : want[i];
        DG_CHECKF(fabs((double)z[i] - exact) < 1e-6, "%s: value %d is %g, not %g", text, i, (double)z[i], exact);
    }
}

static void expressions(const dg_generator *g)
{
    float z[LATENT], seven[LATENT];
    dg_z_sum sum;
    evaluated(g, "7", 0, 1, 0);
    evaluated(g, " - 7 ", 0, -1, 0);
    evaluated(g, "7 + 0.5*(3 - 12)", 0.5, 1, -0.5);
    evaluated(g, "7+(3-12)/2", 0.5, 1, -0.5);
    evaluated(g, "7 + 1/2*(3 - 12)", 0.5, 1, -0.5);
    evaluated(g, "2*7", 0, 2, 0);
    evaluated(g, "7*0.5", 0, 0.5, 0);
    evaluated(g, "7/2/2", 0, 0.25, 0);
    evaluated(g, "2*3*7", 0, 6, 0);
    evaluated(g, "3 - 7 - 12", 1, -1, -1);
    evaluated(g, "3 - (7 - 12)", 1, -1, 1);
    evaluated(g, "-(3 + 7)*+2 + 3", -1, -2, 0);
    evaluated(g, "0*3 + 7", 0, 1, 0);
    dg_generator_z(g, seven, 7, 1);
    DG_CHECK(!dg_z_parse("7 + 3 - 3", &sum) && !dg_z_evaluate(g, &sum, z) && !memcmp(z, seven, sizeof z));
}

static void put(const char *path, const char *name, dg_type type, int rank, const int64_t *dim, const void *data)
{
    dg_st_tensor t = {.type = type, .rank = rank, .data = data, .bytes = dg_type_bytes(type)};
    snprintf(t.name, sizeof t.name, "%s", name);
    for (int i = 0; i < rank; i++) t.bytes *= (size_t)(t.dim[i] = dim[i]);
    DG_WORKS(dg_st_write(path, &t, 1, NULL, 0, false));
}

static void files(void)
{
    static const float two[2 * LATENT] = {1, -2, 3.5F, 0, 1e-3F, 7, 8, 9, 10, 11, 12, 13}, nan[LATENT] = {0, 1, NAN};
    static const double wide[LATENT] = {1, 2, 3, 4, 5, 0.1};
    static const int64_t one_vector[] = {1, LATENT}, maps[] = {1, LATENT, 1, 2};
    const char *path = temp_path("z.safetensors");
    float *z = NULL;
    int n = 0;
    DG_WORKS(dg_z_write(path, two, NULL, 2, LATENT, "seeds", "3-4"));
    DG_CHECK(!dg_z_read(path, LATENT, &z, &n) && n == 2 && !memcmp(z, two, sizeof two));
    free(z);
    DG_REFUSED(dg_z_read(path, LATENT + 1, &z, &n), DG_IO,
               "shape 2 x 6 x 1 x 1 and type F32; the generator needs N x 7");
    DG_CHECK(!z);
    put(path, "z", DG_F64, 2, one_vector, wide);
    DG_CHECK(!dg_z_read(path, LATENT, &z, &n) && n == 1 && z[5] == 0.1F);
    free(z);
    put(path, "z", DG_I64, 2, one_vector, wide);
    DG_REFUSED(dg_z_read(path, LATENT, &z, &n), DG_IO, "type I64");
    put(path, "z", DG_F32, 4, maps, two);
    DG_REFUSED(dg_z_read(path, LATENT, &z, &n), DG_IO, "shape 1 x 6 x 1 x 2");
    put(path, "z", DG_F32, 2, one_vector, nan);
    DG_REFUSED(dg_z_read(path, LATENT, &z, &n), DG_IO, "value 2 of latent 0 is nan");
    put(path, "x", DG_F32, 2, one_vector, two);
    DG_REFUSED(dg_z_read(path, LATENT, &z, &n), DG_IO, "has no tensor z");
    DG_REFUSED(dg_z_read(temp_path("none"), LATENT, &z, &n), DG_IO, "cannot open");
}

int main(void)
{
    machine x;
    dg_generator *g = NULL;
    temp_make("latents");
    const char *path = temp_path("checkpoint.safetensors");
    refused_expressions();
    files();
    if (!machine_up(&x, &tiny, DG_F32, true)) return dg_test_report();
    machine_steps(&x, 0, 2);
    machine_keep(&x, 2, path);
    if (DG_WORKS(dg_generator_open(&cpu, path, &g))) expressions(g);
    dg_generator_close(g);
    machine_down(&x);
    temp_remove(temp_dir);
    return dg_test_report();
}

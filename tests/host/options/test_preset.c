/* Tests the values that --preset sets, and the options that override them. */
#include "host/options/option_table.h"
#include "command_line.h"
#include "tempdir.h"
#include "test.h"

static dg_options o;

static dg_err parse(const char *line)
{
    dg_options_free(&o);
    return parse_line(line, &o);
}

/* Checks that `line` sets option `name` to `value`, and that config.ini contains this value. */
static void leaves(const char *line, const char *name, const char *value)
{
    char now[100], saved[200];
    const dg_option *t = dg_option_find(name);
    if (!DG_CHECKF(parse(line) == DG_OK, "'%s': %s", line, dg_message())) return;
    dg_option_get(&o, t, now, sizeof now);
    DG_CHECKF(!strcmp(now, value), "'%s': %s %s, not %s", line, name, now, value);
    snprintf(saved, sizeof saved, "\n%s = %s\n", name, value);
    DG_CHECKF(strstr(o.resolved, saved), "'%s': config.ini lacks%s", line, saved);
}

static void averages_nothing(const char *line)
{
    const dg_err e = parse(line);
    DG_CHECKF(!e && o.job.ema == 0, "'%s': %d, --ema %g", line, (int)e, o.job.ema);
}

static void test_small(void)
{
    leaves("-d a --preset small", "ema", "0.995");
    leaves("-d a --loss hinge --preset small", "loss", "hinge");
    leaves("-d a --ema 0.9 --preset small", "ema", "0.9"); /* --ema overrides --preset in any order */
    averages_nothing("-d a --preset small --ema=0");
    leaves("-d a --preset paper --preset small", "ema", "0.995");
    averages_nothing("-d a --preset small --preset none");
    setenv("DCGAN_EMA", "0.5", 1);
    leaves("-d a --preset small", "ema", "0.5");
    unsetenv("DCGAN_EMA");
    setenv("DCGAN_PRESET", "none", 1); /* DCGAN_PRESET has no effect, because it would prevent --resume */
    leaves("-d a", "ema", "0.995");
    unsetenv("DCGAN_PRESET");
}

/* Checks which preset `line` chooses without --preset, and which values of --ema and --ema-half-life it has. */
static void chooses(const char *line, const char *preset, const char *ema, const char *half_life)
{
    const char *const expected[][2] = {{"preset", preset}, {"ema", ema}, {"ema-half-life", half_life}};
    if (!DG_CHECKF(parse(line) == DG_OK, "'%s': %s", line, dg_message())) return;
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        char now[100];
        dg_option_get(&o, dg_option_find(expected[i][0]), now, sizeof now);
        DG_CHECKF(!strcmp(now, expected[i][1]), "'%s': %s %s, not %s", line, expected[i][0], now, expected[i][1]);
    }
}

static void test_auto(void)
{
    static const char *const own[][2] = {{"[train]\nema = 0.5\n", "0.5"}, {"[train]\nloss = hinge\n", "0"}};
    size_t n;
    char *tiny = temp_slurp("tests/tiny.cfg", &n);
    if (!DG_CHECK(tiny != NULL)) return;
    chooses("-d a", "small", "0.995", "0");
    chooses("-d a --preset auto", "small", "0.995", "0");
    chooses("-d a --model residual-32x3 --loss rpgan --r1 0.1", "small", "0.995", "0");
    chooses("batch dcgan32 -d a", "small", "0.995", "0");
    chooses("-d a --ema 0", "none", "0", "0");
    chooses("-d a --ema 0.9", "none", "0.9", "0");
    chooses("-d a --ema-half-life 512", "none", "0", "512");
    chooses("-d a --preset none", "none", "0", "0");
    chooses("-d a --model cnn-mnist", "auto", "0", "0");
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        char text[2000];
        temp_put(temp_path("own.cfg"), text, (size_t)snprintf(text, sizeof text, "%s%s", tiny, own[i][0]));
        chooses(temp_text("-d a --model %s", temp_path("own.cfg")), "none", own[i][1], "0");
    }
    free(tiny);
    temp_put(temp_path("old.ini"), "[run]\nbatch = 32\n", 17);
    chooses(temp_text("-d a --config %s", temp_path("old.ini")), "none", "0", "0");
    temp_put(temp_path("new.ini"), "[run]\npreset = small\nema = 0.9\n", 31);
    chooses(temp_text("-d a --config %s", temp_path("new.ini")), "small", "0.9", "0");
    chooses(temp_text("-d a --config %s --preset auto", temp_path("new.ini")), "small", "0.9", "0");
}

static void test_paper(void)
{
    static const char config[] = "[run]\nloss = hinge\nflip = yes\n",
                      says[] = "[train]\nlr = 0.01\nlr_d = 0.02\nlr_g = 0.03\nbeta1 = 0.9\nbeta2 = 0.99\neps = 1e-3\n"
                               "optimizer = sgd\nmomentum = 0.9\nschedule = 3:0.1\nstart = he\nloss = hinge\n"
                               "ema = 0.5\naugment = cutout\nflip = yes\n";
    static const char *const plain[][2] = {{"lr", "0.0002"},     {"lr-d", "0"},        {"lr-g", "0"},
                                           {"beta1", "0.5"},     {"beta2", "0.999"},   {"eps", "1e-08"},
                                           {"loss", "bce"},      {"momentum", "0"},    {"ema", "0"},
                                           {"augment", "none"},  {"flip", "no"},       {"start", "dcgan"},
                                           {"schedule", "none"}, {"optimizer", "adam"}};
    char text[2000], line[3000];
    size_t n;
    char *tiny = temp_slurp("tests/tiny.cfg", &n);
    if (!DG_CHECK(tiny != NULL)) return;
    temp_put(temp_path("c.ini"), config, sizeof config - 1);
    temp_put(temp_path("own.cfg"), text, (size_t)snprintf(text, sizeof text, "%s%s", tiny, says));
    free(tiny);
    snprintf(line, sizeof line, "-d a --model %s", temp_path("own.cfg"));
    leaves(line, "loss", "hinge");
    leaves(line, "momentum", "0.9");
    snprintf(line, sizeof line, "-d a --model %s --config %s --preset paper", temp_path("own.cfg"), temp_path("c.ini"));
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) leaves(line, plain[i][0], plain[i][1]);
    DG_CHECK(!o.job.augment && !o.changes);
    leaves(temp_text("-d a --config %s --preset small", temp_path("c.ini")), "ema", "0.995");
}

static void test_steady(void)
{
    static const char *const values[][3] = {
        {"--model dcgan32", "model", "dcgan32-spectral"},
        {"--model dcgan32 --norm-d none", "model", "dcgan32-nonorm"},
        {"--model dcgan32 --norm-d model", "model", "dcgan32"},
        {"--model bilinear-32x3", "model", "bilinear-32x3"},
        {"--size 16", "model", "dcgan-16x3-spectral"},
        {"", "loss", "rpgan"},
        {"", "lr", "0.001"},
        {"", "lr-end", "0.00025"},
        {"", "ema-half-life", "auto"},
        {"--schedule none", "lr-end", "0"}, /* a replaced schedule resets its end values */
        {"--schedule 3:0.1", "beta2-end", "0"},
        {"--optimizer sgd --momentum 0.5", "beta2-end", "0"},
        {"--lr 0.003", "lr", "0.003"},
        {"--ema 0.9", "ema-half-life", "0"},
    };
    char line[200];
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        snprintf(line, sizeof line, "-d a --preset steady %s", values[i][0]);
        leaves(line, values[i][1], values[i][2]);
        leaves(line, "preset", "steady");
    }
    DG_CHECK(!parse("-d a --model dcgan32 --preset steady") && !strcmp(o.out, "samples/a-dcgan32"));
    DG_CHECK(!parse("-d a --model dcgan32 --norm-d spectral") && !strcmp(o.out, "samples/a-dcgan32-spectral"));
}

DG_TESTS_IN("preset", test_small, test_auto, test_paper, test_steady)

/* Tests unusual checkpoints and files of single networks. */
#include "checkpoint_files.h"
#include "host/checkpoint/checkpoint_layout.h"

static const char *const good = "good.safetensors", *const edited = "edited.safetensors";

enum { MOST = 9 };
typedef struct {
    int layers;                 /* of the generator */
    int64_t first, last, after; /* channels of G's input, of the last layer's input, and of G's output */
    int64_t d;                  /* channels of D's first layer, or 0 if the file has no D */
    const char *prefix, *what;  /* what: expected error, or NULL if the file is accepted */
} shapes;

static void derived(const shapes *c)
{
    static char zeros[1 << 17];
    static dg_model model;
    dg_st_tensor t[MOST];
    dg_st *st = NULL;
    int n = 0;
    memset(t, 0, sizeof t);
    for (int i = 0; i < c->layers; i++, n++) {
        const int64_t in = i ? i + 1 < c->layers ? 2 : c->last : c->first, out = i + 1 < c->layers ? 1 : c->after;
        t[n] = (dg_st_tensor){.rank = 4, .dim = {in, out, 1, 1}, .data = zeros, .bytes = (size_t)(in * out) * 4};
        snprintf(t[n].name, sizeof t[n].name, "%smain.%d.weight", c->prefix, 3 * i);
    }
    if (c->d) {
        t[n] = (dg_st_tensor){.rank = 4, .dim = {c->d, 1, 1, 1}, .data = zeros, .bytes = (size_t)c->d * 4};
        snprintf(t[n++].name, sizeof t[0].name, "D.main.0.weight");
    }
    const char *path = temp_path("shapes.safetensors");
    DG_CHECKF(!dg_st_write(path, t, n, NULL, 0, false) && !dg_st_read(path, 0, &st), "%s", dg_message());
    const dg_err e = dg_ck_derive(st, path, &model);
    DG_CHECKF(c->what ? e && strstr(dg_message(), c->what) : !e, "%d layers, %jd: %d %s", c->layers, (intmax_t)c->first,
              (int)e, e ? dg_message() : "");
    DG_CHECK(c->what || (dg_same_size(model.size, dg_square(4 << (c->layers - 1))) && model.channels == (int)c->after));
    dg_st_free(st);
}

static void test_shapes(void)
{
    static const char not_stock[] = "the tensors are not those of a generator of PyTorch's DCGAN example";
    static const shapes cases[] = {
        {4, 100, 64, 3, 64, "G.", NULL},    {3, 5, 4, 1, 0, "", NULL},
        {2, 100, 64, 3, 0, "", not_stock},  {8, 100, 64, 3, 0, "", not_stock},
        {4, 4097, 64, 3, 0, "", not_stock}, {4, 100, 16385, 1, 0, "", not_stock},
        {4, 100, 64, 4, 0, "", not_stock},  {4, 100, 64, 3, 16385, "G.", not_stock},
        {0, 0, 0, 0, 64, "G.", not_stock},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) derived(&cases[i]);
}

typedef dg_err reader(const char *path, dg_job *into);

static dg_err load(const char *path, dg_job *into)
{
    dg_st *st = NULL;
    const dg_err e = dg_st_read(path, 0, &st);
    if (e) return e;
    const dg_err loaded = dg_checkpoint_load(st, path, into);
    dg_st_free(st);
    return loaded;
}

static dg_err open_it(const char *path, dg_job *into)
{
    (void)into;
    open_file f;
    const dg_err e = one_open(path, &f);
    one_close(&f);
    return e;
}

/* Loads a file as initial weights. */
static dg_err begin(const char *path, dg_job *into)
{
    dg_st *st = NULL;
    unsigned nets = 0;
    const dg_err e = dg_weights_open(path, &into->model, &st);
    if (e) return e;
    const dg_err put = dg_weights_put(st, path, into, &nets);
    dg_st_free(st);
    return put ? put : nets ? DG_OK : DG_FAILED;
}

static void test_edits(void)
{
    static const struct {
        reader *as;
        edit of;
        const char *what;
    } cases[] = {
        {load, {.key = "format", .text = "tar"}, "format tar"},
        {load, {.key = "step"}, "step = (missing)"},
        {load, {.tensor = "G.main.0.weight", .flat = true}, "has shape"},
        {load, {.tensor = "adam.v.G.main.0.weight", .value = -1, .at = 1}, "it cannot be negative"},
        {load, {.bare = true}, "no training state"},
        {load, {.tensor = NULL}, NULL},
        {open_it, {.key = "config"}, NULL}, /* `dcgan import` writes no config */
        {open_it, {.key = "epoch", .text = "-1"}, "epoch = -1"},
        {open_it, {.key = "epoch", .text = "x"}, "epoch = x"},
        {open_it, {.key = "format", .text = DG_NETWORK_FORMAT}, "newer"},
        {open_it, {.bare = true}, NULL},
        {begin, {.tensor = NULL}, NULL},
        {begin, {.bare = true}, NULL},
        {begin, {.key = "format", .text = "tar"}, "format tar"},
        {begin, {.tensor = "D.main.0.weight", .drop = true, .bare = true}, "has no tensor D.main.0.weight"},
        {begin, {.tensor = "G.main.0.weight", .drop = true, .bare = true}, "has no tensor G.main.0.weight or main.0"},
        {begin, {.tensor = "G.main.0.weight", .rename = "ema.G.main.0.weight", .bare = true}, "no layer for tensor"},
    };
    static machine a;
    if (!machine_up(&a, &tiny, DG_F32, true)) return;
    dg_checkpoint_info info = machine_info(&a, 0);
    char config[] = "[run]\n";
    info.config = config;
    DG_WORKS(machine_save(&a, &info, temp_path(good)));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (!edit_file(temp_path(good), temp_path(edited), &cases[i].of)) continue;
        const dg_err e = cases[i].as(temp_path(edited), &a.g);
        DG_CHECKF(cases[i].what ? e && strstr(dg_message(), cases[i].what) : !e, "case %zu: (%d) %s", i, (int)e,
                  e ? dg_message() : "");
    }
    machine_down(&a);
}

static void test_precisions(void)
{
    static const struct {
        const char *of_file;
        dg_type of_job;
        dg_err want;
    } cases[] = {{"fp32", DG_F32, DG_OK},    {"fp64", DG_F64, DG_OK},    {"tf32", DG_F32, DG_OK},
                 {"fp64", DG_F32, DG_USAGE}, {"tf32", DG_F64, DG_USAGE}, {"bf16", DG_F32, DG_USAGE}};
    static machine a;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        dg_checkpoint_info info = {0};
        if (!machine_up(&a, &tiny, cases[i].of_job, true)) return;
        snprintf(info.precision, sizeof info.precision, "%s", cases[i].of_file);
        const dg_err e = dg_checkpoint_precision(&info, "a file", a.b);
        DG_CHECKF(e == cases[i].want && (!e || strstr(dg_message(), "cannot resume with fp")), "%zu: %d %s", i, (int)e,
                  e ? dg_message() : "");
        machine_down(&a);
    }
}

DG_TESTS_IN("odd", test_shapes, test_edits, test_precisions)

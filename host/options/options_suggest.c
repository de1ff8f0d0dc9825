/* Options and commands by name, and the nearest name for "did you mean". */
#include "host/options/option_table.h"

#include <ctype.h>
#include <string.h>

enum { NAME_MAX_LENGTH = 40 };

/* Names of options before version 0.1.0, and their present names. */
static const char *const aliases[][2] = {{"other-pictures", "allow-data-change"},
                                         {"least-steps", "min-steps"},
                                         {"from", "min-batch"},
                                         {"most", "max-batch"}};

/* Options of other trainers (PyTorch examples, StyleGAN, pix2pix, lightweight-gan), in lower case without - and _. Of
 * `ours`, the first option that the command has is suggested. */
static const struct {
    const char *name, *ours[2], *absent; /* absent: why dcgan has no such option */
} others[] = {
    {"batchsize", {"batch"}, 0},
    {"batchgpu", {"batch"}, 0},
    {"learningrate", {"lr"}, 0},
    {"glr", {"lr-g"}, 0},
    {"dlr", {"lr-d"}, 0},
    {"b1", {"beta1"}, 0},
    {"b2", {"beta2"}, 0},
    {"numepochs", {"epochs"}, 0},
    {"nepochs", {"epochs"}, 0},
    {"nepoch", {"epochs"}, 0},
    {"niter", {"epochs"}, 0},
    {"iterations", {"steps"}, 0},
    {"numtrainsteps", {"steps"}, 0},
    {"maxsteps", {"steps"}, 0},
    {"output", {"out"}, 0},
    {"outputdir", {"out"}, 0},
    {"outdir", {"out"}, 0},
    {"outf", {"out"}, 0},
    {"outpath", {"out"}, 0},
    {"name", {"out"}, 0},
    {"resultsdir", {"out"}, 0},
    {"modelsdir", {"out"}, 0},
    {"checkpointsdir", {"out"}, 0},
    {"savedir", {"out"}, 0},
    {"logdir", {"out"}, 0},
    {"dataroot", {"data"}, 0},
    {"datadir", {"data"}, 0},
    {"datapath", {"data"}, 0},
    {"dataset", {"data"}, 0},
    {"workers", {"threads"}, 0},
    {"numworkers", {"threads"}, 0},
    {"numthreads", {"threads"}, 0},
    {"jobs", {"threads"}, 0},
    {"mirror", {"flip"}, 0},
    {"horizontalflip", {"flip"}, 0},
    {"network", {"model"}, 0},
    {"arch", {"model"}, 0},
    {"manualseed", {"seed"}, 0},
    {"randomseed", {"seed"}, 0},
    {"gpu", {"device"}, 0},
    {"gpuid", {"device"}, 0},
    {"cuda", {"device"}, 0},
    {"imagesize", {"size", "model"}, 0},
    {"imgsize", {"size", "model"}, 0},
    {"imsize", {"size", "model"}, 0},
    {"resolution", {"size", "model"}, 0},
    {"loadsize", {"size", "model"}, 0},
    {"cropsize", {"size", "model"}, 0},
    {"nc", {"channels"}, 0},
    {"inputnc", {"channels"}, 0},
    {"imagechannels", {"channels"}, 0},
    {"continue", {"resume"}, 0},
    {"continuetrain", {"resume"}, 0},
    {"checkpoint", {"resume"}, 0},
    {"ckpt", {"resume"}, 0},
    {"loadfrom", {"resume"}, 0},
    {"netg", {"init"}, 0},
    {"netd", {"init"}, 0},
    {"pretrained", {"init"}, 0},
    {"tolerance", {"tol"}, 0},
    {"num", {"count"}, 0},
    {"numimages", {"count"}, 0},
    {"numsamples", {"count"}, 0},
    {"numgenerate", {"count"}, 0},
    {"saveevery", {"checkpoint-every"}, 0},
    {"savefreq", {"checkpoint-every"}, 0},
    {"saveepochfreq", {"checkpoint-every"}, 0},
    {"snap", {"checkpoint-every"}, 0},
    {"sampleinterval", {"sample-every"}, 0},
    {"displayfreq", {"sample-every"}, 0},
    {"calculatefidevery", {"eval-every"}, 0},
    {"ganmode", {"loss"}, 0},
    {"losstype", {"loss"}, 0},
    {"aug", {"augment"}, 0},
    {"augtypes", {"augment"}, 0},
    {"lrpolicy", {"schedule"}, 0},
    {"lrscheduler", {"schedule"}, 0},
    {"etamin", {"lr-end"}, 0},
    {"tmax", {"schedule-length"}, 0},
    {"weightdecay", {"decay"}, 0},
    {"labelsmoothing", {"smoothing"}, 0},
    {"emadecay", {"ema"}, 0},
    {"amp", {"precision"}, 0},
    {"fp16", {"precision"}, 0},
    {"bf16", {"precision"}, 0},
    {"preprocess", {"fit"}, 0},
    {"nz", {0}, "a model file sets the length of z: latent = N"},
    {"latentdim", {0}, "a model file sets the length of z: latent = N"},
    {"zdim", {0}, "a model file sets the length of z: latent = N"},
    {"ngf", {0}, "a model file sets the widths of G: filters = N"},
    {"ndf", {0}, "a model file sets the widths of D: filters = N"},
    {"ngpu", {0}, "a run uses one GPU: --device cuda:N chooses the GPU"},
    {"gpus", {0}, "a run uses one GPU: --device cuda:N chooses the GPU"},
    {"gpuids", {0}, "a run uses one GPU: --device cuda:N chooses the GPU"},
    {"multigpus", {0}, "a run uses one GPU: --device cuda:N chooses the GPU"},
    {"nocuda", {0}, "--device cpu uses no GPU"},
    {"mps", {0}, "Apple GPUs are not supported: use --device cpu"},
    {"accel", {0}, "--device cuda or --device cpu chooses the device (default: auto)"},
    {"noflip", {0}, "images are mirrored only with --flip"},
    {"shuffle", {0}, "every epoch has its own order, which --seed determines"},
    {"kimg", {0}, "the length of a run is --epochs N, or --steps N"},
    {"ncritic", {0}, "each step updates D once and G once"},
    {"gradientaccumulateevery", {0}, "each step is one batch: --batch N, as large as fits"},
    {"usewandb", {0}, "logs are files: log.csv, log.jsonl, and --tensorboard"},
    {"wandb", {0}, "logs are files: log.csv, log.jsonl, and --tensorboard"},
    {"printfreq", {0}, "log.csv in the run directory has every step"},
};

static void plain_name(const char *name, char *out, size_t size)
{
    size_t n = 0;
    for (; *name && n + 1 < size; name++)
        if (*name != '-' && *name != '_') out[n++] = (char)tolower((unsigned char)*name);
    out[n] = 0;
}

/* Optimal string alignment distance. */
static int distance(const char *a, const char *b)
{
    int n = (int)strlen(a), m = (int)strlen(b), row[3][NAME_MAX_LENGTH + 1];
    if (n > NAME_MAX_LENGTH || m > NAME_MAX_LENGTH) return 2 * NAME_MAX_LENGTH;
    for (int j = 0; j <= m; j++) row[0][j] = j;
    for (int i = 1; i <= n; i++) {
        int *now = row[i % 3], *above = row[(i + 2) % 3], *two = row[(i + 1) % 3];
        now[0] = i;
        for (int j = 1; j <= m; j++) {
            int best = above[j - 1] + (a[i - 1] != b[j - 1]);
            if (above[j] + 1 < best) best = above[j] + 1;
            if (now[j - 1] + 1 < best) best = now[j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && two[j - 2] + 1 < best)
                best = two[j - 2] + 1;
            now[j] = best;
        }
    }
    return row[n % 3][m];
}

void dg_name_nearer(const char *name, const char *typed, const char **best, int *nearest)
{
    int d = distance(typed, name);
    if (d < *nearest && d <= 1 + (int)strlen(typed) / 5) {
        *nearest = d;
        *best = name;
    }
}

const dg_option *dg_option_find(const char *name)
{
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
        if (!strcmp(aliases[i][0], name)) name = aliases[i][1];
    for (const dg_option *t = dg_option_table; t->name; t++)
        if (!strcmp(t->name, name)) return t;
    return NULL;
}

const char *dg_option_alias(const dg_option *t)
{
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
        if (!strcmp(aliases[i][1], t->name)) return aliases[i][0];
    return NULL;
}

const char *dg_option_nearest(const char *name, dg_command command)
{
    const char *best = NULL;
    int nearest = NAME_MAX_LENGTH;
    char typed[64], ours[64];
    plain_name(name, typed, sizeof typed);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        for (int k = 0; k < 2 && others[i].ours[k] && !strcmp(typed, others[i].name); k++) {
            const dg_option *t = dg_option_find(others[i].ours[k]);
            if (t && t->commands >> command & 1) return t->name;
        }
    for (const dg_option *t = dg_option_table; t->name; t++) {
        plain_name(t->name, ours, sizeof ours);
        if (t->commands >> command & 1 && !strcmp(typed, ours)) return t->name;
    }
    for (const dg_option *t = dg_option_table; t->name; t++)
        if (t->commands >> command & 1) dg_name_nearer(t->name, name, &best, &nearest);
    dg_name_nearer("help", name, &best, &nearest);
    dg_name_nearer("version", name, &best, &nearest);
    return best;
}

const char *dg_command_nearest(const char *name)
{
    const char *best = NULL;
    int nearest = NAME_MAX_LENGTH;
    for (int c = 0; c < DG_CMDS; c++) dg_name_nearer(dg_commands[c].name, name, &best, &nearest);
    dg_name_nearer("help", name, &best, &nearest);
    return best;
}

const char *dg_option_absent(const char *name)
{
    char typed[64];
    plain_name(name, typed, sizeof typed);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (!strcmp(typed, others[i].name)) return others[i].absent;
    return NULL;
}

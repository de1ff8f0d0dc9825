/* Options and commands by name, and the nearest name for "did you mean". */
#include "host/options/option_table.h"

#include <ctype.h>
#include <string.h>

enum { NAME_MAX_LENGTH = 40 };

/* Option names before version 0.1.0, and the present names. */
static const char *const aliases[][2] = {{"other-pictures", "allow-data-change"},
                                         {"least-steps", "min-steps"},
                                         {"from", "min-batch"},
                                         {"most", "max-batch"}};

/* Options of other trainers (PyTorch examples, StyleGAN, pix2pix, lightweight-gan), in lower case without - and _. For
 * these options, error messages suggest the first option in `ours` that the command accepts. */
static const struct {
    const char *ours[2], *names;
} others[] = {
    {{"batch"}, "batchsize batchgpu"},
    {{"lr"}, "learningrate"},
    {{"lr-g"}, "glr"},
    {{"lr-d"}, "dlr"},
    {{"beta1"}, "b1"},
    {{"beta2"}, "b2"},
    {{"epochs"}, "numepochs nepochs nepoch niter"},
    {{"steps"}, "iterations numtrainsteps maxsteps"},
    {{"out"}, "output outputdir outdir outf outpath name resultsdir modelsdir checkpointsdir savedir logdir"},
    {{"data"}, "dataroot datadir datapath dataset"},
    {{"threads"}, "workers numworkers numthreads jobs"},
    {{"flip"}, "mirror horizontalflip"},
    {{"model"}, "network arch"},
    {{"seed"}, "manualseed randomseed"},
    {{"device"}, "gpu gpuid cuda"},
    {{"size", "model"}, "imagesize imgsize imsize resolution loadsize cropsize"},
    {{"channels"}, "nc inputnc imagechannels"},
    {{"resume"}, "continue continuetrain checkpoint ckpt loadfrom"},
    {{"init"}, "netg netd pretrained"},
    {{"tol"}, "tolerance"},
    {{"count"}, "num numimages numsamples numgenerate"},
    {{"checkpoint-every"}, "saveevery savefreq saveepochfreq snap"},
    {{"sample-every"}, "sampleinterval displayfreq"},
    {{"eval-every"}, "calculatefidevery"},
    {{"loss"}, "ganmode losstype"},
    {{"augment"}, "aug augtypes"},
    {{"schedule"}, "lrpolicy lrscheduler"},
    {{"lr-end"}, "etamin"},
    {{"schedule-length"}, "tmax"},
    {{"decay"}, "weightdecay"},
    {{"smoothing"}, "labelsmoothing"},
    {{"ema"}, "emadecay"},
    {{"precision"}, "amp fp16 bf16"},
    {{"fit"}, "preprocess"},
};

/* Options of other trainers that have no counterpart in dcgan, with the reason. */
static const struct {
    const char *why, *names;
} absent[] = {
    {"a model file sets the length of z: latent = N", "nz latentdim zdim"},
    {"a model file sets the widths of G: filters = N", "ngf"},
    {"a model file sets the widths of D: filters = N", "ndf"},
    {"a run uses one GPU: --device cuda:N chooses the GPU", "ngpu gpus gpuids multigpus"},
    {"--device cpu uses no GPU", "nocuda"},
    {"Apple GPUs are not supported: use --device cpu", "mps"},
    {"--device cuda or --device cpu chooses the device (default: auto)", "accel"},
    {"images are mirrored only with --flip", "noflip"},
    {"every epoch has its own order, which --seed determines", "shuffle"},
    {"the length of a run is --epochs N, or --steps N", "kimg"},
    {"each step updates D once and G once", "ncritic"},
    {"each training step uses one batch: --batch N sets its size", "gradientaccumulateevery"},
    {"logs are files: log.csv, log.jsonl, and --tensorboard", "usewandb wandb"},
    {"log.csv in the run directory has every step", "printfreq"},
};

static bool has_word(const char *words, const char *word)
{
    const size_t n = strlen(word);
    for (const char *s = words; n && (s = strstr(s, word)); s += n)
        if ((s == words || s[-1] == ' ') && (!s[n] || s[n] == ' ')) return true;
    return false;
}

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
        for (int k = 0; k < 2 && others[i].ours[k] && has_word(others[i].names, typed); k++) {
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
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++)
        if (has_word(absent[i].names, typed)) return absent[i].why;
    return NULL;
}

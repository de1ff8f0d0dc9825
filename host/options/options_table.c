/* The tables of options and commands. */
#include "host/options/option_table.h"

#include <stddef.h>

#define WORD(NAME, word, ...) "|" word
#define AT(member) offsetof(dg_options, member)
#define NO_RANGE 0, 0
#define RUN "Run"
#define TRAINING "Training"
#define IMAGES "Images"
#define MACHINE "Machine"
#define OTHER "Output"
#define SAMPLES "Samples and datasets"
#define MEASURES "Measurement"

enum {
    T = 1 << DG_CMD_TRAIN,
    G = 1 << DG_CMD_GENERATE,
    I = 1 << DG_CMD_INTERPOLATE,
    Z = 1 << DG_CMD_FIND,
    D = 1 << DG_CMD_DATA,
    P = 1 << DG_CMD_PLAN,
    N = 1 << DG_CMD_BATCH,
    R = 1 << DG_CMD_REPLAY,
    C = 1 << DG_CMD_CHECK,
    B = 1 << DG_CMD_BENCH,
    Q = 1 << DG_CMD_PROFILE,
    U = 1 << DG_CMD_TUNE,
    F = 1 << DG_CMD_INFO,
    X = 1 << DG_CMD_EXPORT,
    M = 1 << DG_CMD_IMPORT,
    K = 1 << DG_CMD_CLASSIFY,
    E = 1 << DG_CMD_EVAL,
    W = 1 << DG_CMD_REPORT,
    O = 1 << DG_CMD_DOCTOR,
    V = 1 << DG_CMD_VERIFY,
    EVERY = (1 << DG_CMDS) - 1,
    SAVED = DG_OPT_SAVED,
    RESULT = DG_OPT_SAVED | DG_OPT_RESULT,
    ARGV = DG_OPT_ARGV_ONLY,
    ABOVE = DG_OPT_ABOVE_MIN,
    BELOW = DG_OPT_BELOW_MAX,
    FIXED = DG_OPT_FIXED,
    MODEL = DG_OPT_MODEL,
    IF_SET = DG_OPT_IF_SET,
    COMMON = DG_OPT_COMMON,
    OUTPUT = DG_OPT_OUTPUT
};

const dg_option dg_option_table[] = {
    {"data", 'd', "DIR", DG_OPT_TEXT, AT(data), NO_RANGE, NULL, NULL, RUN, T | D | N | C | E | V, SAVED | COMMON,
     "dataset: folder, zip archive, MNIST or CIFAR files",
     "dcgan searches a dataset folder and its subfolders for PNG, JPEG, WebP, BMP, GIF and TIFF images. If a dataset "
     "folder "
     "has no images, dcgan reads its IDX or CIFAR files or NumPy arrays. The classes of images are those in labels.csv "
     "or "
     "dataset.json, or class folders. Several folders are one dataset: --data a --data b, or --data a,b."},
    {"model", 'm', "MODEL", DG_OPT_TEXT, AT(model), NO_RANGE, "dcgan64-paper", NULL, RUN,
     T | D | P | N | B | Q | U | M | C | E, SAVED | FIXED | COMMON, "built-in network or model file",
     "Built-in GANs are dcgan28, dcgan32, dcgan64-paper, dcgan64, dcgan128, and dcgan-NxC, bilinear-NxC, residual-NxC "
     "and r3gan-NxC for N x N images with C channels; dcgan-WxHxC is for images W wide and H high. Built-in "
     "classifiers are cnn-mnist, vgg16-cifar, resnet50 and "
     "all other classifiers in models/. Without --model, the command import derives the model from the weights. To "
     "evaluate a folder of samples, dcgan eval requires --model, which gives the image size and the discriminator."},
    {"size", 0, "N|WxH", DG_OPT_SIZE, AT(size), 0, 1024, "0", NULL, RUN, T | D | P | N, COMMON,
     "GAN for N x N or W x H images; 0 = use --model",
     "The GAN that --size builds has the layers of the DCGAN paper. For training, the sides are 16 to 256; if only "
     "--channels is given, --size is 64. W is the width and H the height. The shorter side of W x H is 4, 5, 6 or 7 "
     "times a power of two, for example "
     "64 in 64x96, and the longer side a multiple of this power. The command data reads or draws images of 8 to 1024 "
     "pixels per side."},
    {"channels", 0, "N", DG_OPT_INT, AT(channels), 0, 4, "0", NULL, RUN, T | D | P | N, 0,
     "image channels of the GAN that --size builds: 1, 3 or 4; 0 = auto",
     "1: grey, 3: colour, 4: colour with alpha. If --size is given, the default of --channels is 3."},
    {"norm-d", 0, "NORM", DG_OPT_CHOICE, AT(norm_d), NO_RANGE, "model", "model|spectral|none", RUN, T | P | N, 0,
     "normalization of the discriminator",
     "With --norm-d spectral, D of a built-in model has spectral norm instead of batch norm; the name of this model is "
     "MODEL-spectral. With --norm-d none, D has biases and no normalization, and initial weights that keep the "
     "variance of activations; the name of this model is MODEL-nonorm. In your own model file, set norm = spectral in "
     "the layers of D instead, or set norm = none, bias = yes and start = gain."},
    {"out", 'o', "PATH", DG_OPT_TEXT, AT(out), NO_RANGE, NULL, NULL, RUN, T | G | I | Z | U | X | M | W,
     OUTPUT | COMMON, "output directory or file; - is standard output",
     "The commands train, generate, interpolate and find write a directory. The commands export, import, report and "
     "tune write a file. The default output of train is samples/DATA-MODEL, with a number if this directory exists. "
     "The default output of report is report.html in the run directory. The default output of tune is a file such as "
     "sm_90.tune."},
    {"config", 'c', "FILE", DG_OPT_TEXT, AT(config), NO_RANGE, NULL, NULL, RUN, T, 0,
     "option values from the config.ini of a run",
     "The environment and the command line override the values in the config.ini."},
    {"init", 0, "RUN|FILE", DG_OPT_TEXT, AT(init), NO_RANGE, NULL, NULL, RUN, T, SAVED | IF_SET | FIXED | COMMON,
     "initial weights from a run, checkpoint or generator",
     "A run with --init starts at epoch 1, usually on another dataset. Without --model, a run with --init has the "
     "model of the initial weights. If the file of initial weights has only a generator (from dcgan or PyTorch), D is "
     "initialised at random."},
    {"resume", 'r', "[CHECKPOINT]", DG_OPT_RESUME, AT(resume), NO_RANGE, NULL, NULL, RUN, T, ARGV | COMMON,
     "continue the run in --out, from its newest checkpoint",
     "To resume from an older checkpoint, give it as CHECKPOINT. A resumed run has the option values of its "
     "config.ini, unless an option is given again. If the dataset has changed, --resume starts a new run with the "
     "weights of the old run."},
    {"from-epoch", 0, "N", DG_OPT_INT, AT(from_epoch), 0, 1000000, "0", NULL, RUN, T, ARGV,
     "epoch to which a run is rewound; 0 = no rewind",
     "--from-epoch N resumes a run from the checkpoint of epoch N, if --keep has kept this checkpoint. dcgan moves the "
     "results of later epochs to later-than-NNNN/ in the run directory."},
    {"allow-data-change", 0, NULL, DG_OPT_FLAG, AT(allow_data_change), NO_RANGE, "no", NULL, RUN, T, ARGV,
     "with --resume: continue the run although the dataset changed",
     "Without --allow-data-change, --resume with a changed dataset starts a new run from the old run's weights."},
    {"dry-run", 0, NULL, DG_OPT_CHOICE, AT(dry_run), NO_RANGE, NULL, "no|yes|ops", RUN, T, ARGV | COMMON,
     "print time and memory of the run, then exit",
     "A dry run trains no model and writes no files. With --dry-run=ops, dcgan also lists every op with its memory."},
    {"epochs", 'e', "N", DG_OPT_AUTO, AT(epochs), 1, 1000000, "auto", NULL, TRAINING, T, SAVED | MODEL | COMMON,
     "total epochs, with those before --resume",
     "With --epochs auto, a GAN trains for 25 epochs, but at least 8,000 steps (4,000 with fewer than 1,000 "
     "images) and at most 40,000 steps. For classifiers, the default of --epochs is 25."},
    {"steps", 0, "N", DG_OPT_LONG, AT(steps), 0, 1e15, "0", NULL, TRAINING, T | N | R | Z, SAVED,
     "maximum number of steps; 0 = no limit",
     "A run stops after N steps in total, or after --epochs if that is earlier. The command replay compares at most N "
     "training steps. With --rule, the command batch times N training steps per batch size, or 1,000 if N is 0. The "
     "command find makes N steps of gradient descent, or 500 if N is 0."},
    {"batch", 'b', "N", DG_OPT_AUTO, AT(batch), 1, 65536, "64", NULL, TRAINING, T | P | B | Q | U | C,
     RESULT | MODEL | COMMON, "batch size; auto = the fastest",
     "If the dataset has fewer images than one batch, the default batch size is reduced to 32, 16 and so on. With "
     "--batch auto, dcgan train first searches the fastest batch size, as dcgan batch does. Only dcgan train accepts "
     "--batch auto."},
    {"shards", 0, "N", DG_OPT_AUTO, AT(job.shards), 1, DG_MAX_SHARDS, "auto", NULL, TRAINING, T | P | C,
     RESULT | IF_SET | MODEL, "parts of a batch with own batch statistics, a power of two",
     "The gradient of a batch is the mean of the gradients of its shards, added in a fixed order. Batch norm and the "
     "losses use the images of one shard, so the shards are like smaller batches whose gradients are accumulated. "
     "--batch must be a multiple of N. The last batch of an epoch leaves out up to N - 1 images. The processes of a "
     "run share the shards; with --shards auto, N is the number of processes at the first start, at least 1."},
    {"lr", 0, "X", DG_OPT_REAL, AT(lr), 0, 10, "0.0002", NULL, TRAINING, T, RESULT | MODEL | ABOVE, "learning rate",
     "For classifiers, the default learning rate is 0.001."},
    {"lr-d", 0, "X", DG_OPT_REAL, AT(lr_d), 0, 10, "0", NULL, TRAINING, T, RESULT | MODEL,
     "learning rate of the discriminator; 0 = value of --lr", "Used only for GANs."},
    {"lr-g", 0, "X", DG_OPT_REAL, AT(lr_g), 0, 10, "0", NULL, TRAINING, T, RESULT | MODEL,
     "learning rate of the generator; 0 = value of --lr", "Used only for GANs."},
    {"beta1", 0, "X", DG_OPT_REAL, AT(job.beta1), 0, 1, "0.5", NULL, TRAINING, T, RESULT | MODEL | BELOW,
     "decay rate of Adam's first moment", "For classifiers, the default of --beta1 is 0.9."},
    {"beta2", 0, "X", DG_OPT_REAL, AT(job.beta2), 0, 1, "0.999", NULL, TRAINING, T, RESULT | MODEL | BELOW,
     "decay rate of Adam's second moment", "Used only with --optimizer adam."},
    {"eps", 0, "X", DG_OPT_REAL, AT(job.eps), 0, 1, "1e-8", NULL, TRAINING, T, RESULT | MODEL | ABOVE,
     "epsilon of Adam, Adagrad and Adadelta",
     "As in torch.optim, epsilon is added to the denominator of the weight update."},
    {"optimizer", 0, "NAME", DG_OPT_CHOICE, AT(job.optimizer), NO_RANGE, "adam", "adam|sgd|adagrad|adadelta", TRAINING,
     T | N, RESULT | IF_SET | MODEL | FIXED, "optimizer",
     "The optimizers compute the same updates as those of torch.optim. --resume cannot change the optimizer of a run."},
    {"momentum", 0, "X", DG_OPT_REAL, AT(job.momentum), 0, 1, "0", NULL, TRAINING, T, RESULT | IF_SET | MODEL | BELOW,
     "momentum of SGD", "Used only with --optimizer sgd."},
    {"nesterov", 0, NULL, DG_OPT_FLAG, AT(job.nesterov), NO_RANGE, "no", NULL, TRAINING, T, RESULT | IF_SET | MODEL,
     "use Nesterov momentum", "Used only with --optimizer sgd and --momentum."},
    {"rho", 0, "X", DG_OPT_REAL, AT(job.rho), 0, 1, "0.9", NULL, TRAINING, T, RESULT | IF_SET | MODEL | BELOW,
     "decay rate of Adadelta's running averages", "Used only with --optimizer adadelta."},
    {"decay", 0, "X", DG_OPT_REAL, AT(job.decay), 0, 1, "0", NULL, TRAINING, T, RESULT | IF_SET | MODEL | FIXED,
     "weight decay: L2 penalty that is added to the gradient",
     "Weight decay does not apply to biases and norm parameters. Used only with --optimizer sgd, adagrad or adadelta."},
    {"accumulator", 0, "X", DG_OPT_REAL, AT(job.accumulator), 0, 1e6, "0", NULL, TRAINING, T, RESULT | IF_SET | MODEL,
     "initial value of Adagrad's sums of squares", "Used only with --optimizer adagrad."},
    {"schedule", 0, "E:X,...", DG_OPT_TEXT, AT(schedule), NO_RANGE, NULL, NULL, TRAINING, T, RESULT | IF_SET | MODEL,
     "schedule: cosine, or epoch:factor pairs, such as 30:0.1,40:0.01",
     "With E:X, each learning rate becomes X times its initial value after epoch E. With --schedule cosine, an option "
     "with an end value, such as --lr with --lr-end, changes to this end value along half a cosine. With --schedule "
     "none, dcgan ignores the schedule of a model file."},
    {"schedule-length", 0, "N", DG_OPT_AUTO, AT(schedule_length), 1, 2e9, "auto", NULL, TRAINING, T,
     RESULT | IF_SET | MODEL, "length of --schedule cosine as a number of images shown",
     "After the end of a schedule, the scheduled values stay constant. With --schedule-length auto, the length is 80% "
     "of the images that the new run will show. A resumed run keeps its schedule length, also with more epochs."},
    {"lr-end", 0, "X", DG_OPT_REAL, AT(lr_end), 0, 10, "0", NULL, TRAINING, T, RESULT | IF_SET | MODEL,
     "learning rate at the end of --schedule cosine; 0 = value of --lr",
     "--lr-d and --lr-g change by the same factor as --lr."},
    {"beta2-end", 0, "X", DG_OPT_REAL, AT(job.beta2_end), 0, 1, "0", NULL, TRAINING, T, RESULT | IF_SET | MODEL | BELOW,
     "beta2 at the end of --schedule cosine; 0 = value of --beta2",
     "The bias correction of Adam uses the current beta2, as in torch.optim. Used only with --optimizer adam."},
    {"smoothing", 0, "X", DG_OPT_REAL, AT(job.smoothing), 0, 1, "0", NULL, TRAINING, T, RESULT | IF_SET | MODEL | BELOW,
     "label smoothing: target fraction spread evenly over all classes", "Used only for classifiers."},
    {"start", 0, "INIT", DG_OPT_CHOICE, AT(job.start), NO_RANGE, "dcgan", "dcgan|normal|he|glorot|torch", TRAINING, T,
     RESULT | IF_SET | MODEL, "initial weights",
     "dcgan: weights from N(0, 0.02), norm scales from N(1, 0.02). normal: weights from N(0, --start-sigma). torch: "
     "the default initialisation of PyTorch's layers. For classifiers, the default of --start is he."},
    {"start-sigma", 0, "X", DG_OPT_REAL, AT(job.start_sigma), 0, 10, "0.02", NULL, TRAINING, T, RESULT | IF_SET | MODEL,
     "standard deviation of the weights with --start normal",
     "The option --start-bias sets the standard deviation of the biases."},
    {"start-bias", 0, "X", DG_OPT_REAL, AT(job.start_bias), 0, 10, "0", NULL, TRAINING, T, RESULT | IF_SET | MODEL,
     "standard deviation of the biases with --start normal",
     "With --start normal and --start-bias 0, the initial value of all biases is 0."},
    {"preset", 0, "NAME", DG_OPT_CHOICE, AT(preset), NO_RANGE, "auto", "auto|none|small|paper|steady", TRAINING, T | N,
     ARGV | SAVED | IF_SET | COMMON, "recipe",
     "--preset auto means small for a GAN, and none for a classifier, for a model with a section [train], and with "
     "--config, --ema or --ema-half-life. --preset steady sets loss, gradient penalties and schedules as in R3GAN, "
     "with spectral norm in the discriminator. --preset small sets --ema 0.995. --preset paper sets the recipe of the "
     "DCGAN paper and overrides "
     "the model and config files. Options on the command line override the values of a preset."},
    {"loss", 0, "NAME", DG_OPT_CHOICE, AT(job.loss), NO_RANGE, "bce", &(DG_LOSSES(WORD))[1], TRAINING, T | N,
     RESULT | IF_SET | MODEL | FIXED, "GAN loss",
     "bce: binary cross entropy. lsgan: least squares. hinge: hinge loss. ralsgan: relativistic average least squares. "
     "rpgan: relativistic pairs of a real image and a sample."},
    {"r1", 0, "GAMMA", DG_OPT_REAL, AT(job.r1), 0, 1e6, "0", NULL, TRAINING, T | N, RESULT | IF_SET | MODEL | FIXED,
     "weight of D's gradient penalty on real images; 0 = none",
     "--r1 adds GAMMA / 2 times the mean squared norm of D's gradient to the loss of D (Mescheder et al. 2018). A "
     "gradient penalty requires a D without batch norm: give --norm-d none or spectral. The columns r1 and r2 of the "
     "log have the mean squared gradient norms."},
    {"r2", 0, "GAMMA", DG_OPT_REAL, AT(job.r2), 0, 1e6, "0", NULL, TRAINING, T | N, RESULT | IF_SET | MODEL | FIXED,
     "weight of D's gradient penalty on samples; 0 = none",
     "The recipe of R3GAN (Huang et al. 2024) has --loss rpgan and equal values of --r1 and --r2."},
    {"r1-end", 0, "GAMMA", DG_OPT_REAL, AT(job.r1_end), 0, 1e6, "0", NULL, TRAINING, T, RESULT | IF_SET | MODEL,
     "weight of R1 at the end of --schedule cosine; 0 = value of --r1",
     "In the recipe of R3GAN, the final weight of R1 is a tenth of --r1."},
    {"r2-end", 0, "GAMMA", DG_OPT_REAL, AT(job.r2_end), 0, 1e6, "0", NULL, TRAINING, T, RESULT | IF_SET | MODEL,
     "weight of R2 at the end of --schedule cosine; 0 = value of --r2",
     "In the recipe of R3GAN, the final weight of R2 is a tenth of --r2."},
    {"ema", 0, "X", DG_OPT_REAL, AT(job.ema), 0, 1, "0", NULL, TRAINING, T | N, RESULT | IF_SET | MODEL | FIXED | BELOW,
     "decay of an exponential moving average of G's weights; 0 = none",
     "A usual value of --ema is 0.995. Grids and the commands generate, eval and export use the averaged weights."},
    {"ema-half-life", 0, "IMAGES", DG_OPT_AUTO_REAL, AT(job.ema_half_life), 0, 1e9, "0", NULL, TRAINING, T | N,
     RESULT | IF_SET | MODEL | FIXED, "half-life of the moving average of G's weights; 0 = none",
     "Give either --ema-half-life or --ema. The decay per training step is 0.5^(batch size / IMAGES). With --schedule "
     "cosine, the half-life of the moving average rises from 0 to IMAGES. With auto, IMAGES is 2.5% of the schedule "
     "length, or without --schedule cosine 2% of the images that the run will show."},
    {"augment", 0, "LIST", DG_OPT_TEXT, AT(augment), NO_RANGE, NULL, NULL, TRAINING, T | D | N, RESULT | IF_SET | MODEL,
     "augmentations of the discriminator's inputs, or none",
     "LIST is a comma-separated list of color, translation and cutout, which are applied at random to real and "
     "generated images. With --augment none, dcgan ignores the augmentations of a model file. The command data uses "
     "--augment for --aug-preview."},
    {"augment-p", 0, "X", DG_OPT_REAL, AT(job.augment_p), 0, 1, "1", NULL, TRAINING, T | N,
     RESULT | IF_SET | MODEL | ABOVE, "probability with which each augmentation of --augment applies",
     "With --schedule cosine, the probability of augmentations rises from 0 to X, because D memorises images only "
     "after many epochs."},
    {"seed", 's', "N", DG_OPT_U64, AT(seed), NO_RANGE, "1", NULL, TRAINING, T | D | N | C | E | Z,
     RESULT | FIXED | COMMON, "seed of all random numbers",
     "Runs with the same seed give the same bits. The command data uses the seed to draw images and to select the test "
     "images of --test. The commands eval and find use the seed to choose real images."},
    {"conditional", 0, NULL, DG_OPT_FLAG, AT(conditional), NO_RANGE, "no", NULL, TRAINING, T | N,
     RESULT | IF_SET | MODEL | FIXED | COMMON, "train a GAN that draws images of a given class",
     "The classes are those of the dataset: a folder per class, a file labels.csv or dataset.json, or labels of IDX "
     "and CIFAR files. A conditional GAN is trained with a model named MODEL-Nclasses for N classes. dcgan generate "
     "--class NAME then draws a class."},
    {"class-fade", 0, "N", DG_OPT_AUTO, AT(class_fade), 0, 2e9, "auto", NULL, TRAINING, T, RESULT | IF_SET | MODEL,
     "with --conditional: images shown until classes count fully",
     "The discriminator ignores classes for the first third of N images, then their weight rises to 1. With 0, classes "
     "count from the start. With auto, N is 30% of the images that the run will show if the dataset has fewer than 500 "
     "images per class, else 0."},
    {"flip", 0, NULL, DG_OPT_FLAG, AT(job.flip), NO_RANGE, "no", NULL, TRAINING, T | N, RESULT | MODEL,
     "mirror images horizontally with probability 0.5", "The choice of the mirrored images depends on --seed."},
    {"drop-last", 0, NULL, DG_OPT_FLAG, AT(drop_last), NO_RANGE, "no", NULL, TRAINING, T | N, RESULT | MODEL,
     "omit the last batch of an epoch if it is short",
     "Without --drop-last, the last batch of an epoch may be smaller than --batch."},
    {"fit", 0, "MODE", DG_OPT_CHOICE, AT(fit), NO_RANGE, "crop", "crop|pad|stretch", IMAGES, T | D | N | C | K | E | Z,
     RESULT, "conversion of images to squares",
     "crop: cut the longer side. pad: add borders. stretch: change the aspect ratio."},
    {"resize", 0, "MODE", DG_OPT_CHOICE, AT(filter), NO_RANGE, "bilinear", "bilinear|nearest", IMAGES,
     T | D | N | C | K | E | Z, RESULT | IF_SET, "interpolation",
     "With --resize nearest, pixel art keeps its hard edges."},
    {"alpha", 0, "MODE", DG_OPT_CHOICE, AT(alpha), NO_RANGE, "white", "drop|white|black", IMAGES,
     T | D | N | C | K | E | Z, RESULT, "transparency",
     "white, black: composite images over this colour. drop: ignore the alpha channel. Models with four channels keep "
     "the alpha channel."},
    {"orient", 0, "MODE", DG_OPT_EITHER, AT(exif), NO_RANGE, "exif", "ignore|exif", IMAGES, T | D | N | C | K | E | Z,
     RESULT, "orientation of photographs", "exif: rotate each image to its EXIF orientation. ignore: do not rotate."},
    {"strict", 0, NULL, DG_OPT_FLAG, AT(strict), NO_RANGE, "no", NULL, IMAGES, T | D | N | C | K | E | Z, SAVED,
     "fail at the first unreadable image", "Without --strict, dcgan skips and lists unreadable images."},
    {"skip-unreadable", 0, NULL, DG_OPT_FLAG, AT(skip_unreadable), NO_RANGE, "no", NULL, IMAGES,
     T | D | N | C | K | E | Z, SAVED | IF_SET, "skip unreadable folders with a warning",
     "Without --skip-unreadable, an unreadable folder is an error."},
    {"limit", 0, "N", DG_OPT_INT, AT(limit), 0, 2e9, "0", NULL, IMAGES, T | D | N | C | K | E | Z, RESULT,
     "maximum number of images; 0 = no limit",
     "dcgan uses the first N files of the dataset. For a classifier, and for a dataset with train/ and test/, dcgan "
     "uses N training images and N test images, evenly distributed over the classes."},
    {"test", 0, "DIR|X", DG_OPT_TEXT, AT(test), NO_RANGE, NULL, NULL, IMAGES, T | D | N, RESULT | IF_SET,
     "test set: a folder with the same classes, or a fraction of each class",
     "Test images are never used for training. With --test 0, a classifier has no test set. By default, the test set "
     "is test/, valid/, t10k-... or test_batch.bin in --data, if one of them exists."},
    {"cache", 0, "FILE", DG_OPT_TEXT, AT(cache), NO_RANGE, NULL, NULL, IMAGES, T | D | N | C, SAVED | OUTPUT,
     "file that caches the decoded images",
     "Later training runs with the same dataset and image options read the cache file."},
    {"sample-every", 0, "N", DG_OPT_AUTO, AT(sample_every), 0, 1000000, "auto", NULL, OTHER, T, SAVED,
     "epochs between grids of samples; 0 = never",
     "dcgan also writes a grid after the last epoch. auto: a grid after every epoch, but at most 300 grids."},
    {"checkpoint-every", 0, "N", DG_OPT_TEXT, AT(checkpoints), NO_RANGE, "auto", NULL, OTHER, T, SAVED,
     "epochs between checkpoints; 0 = only at the end",
     "With --checkpoint-every auto, dcgan writes a checkpoint after every epoch, or fewer checkpoints if epochs are "
     "faster than the disk."},
    {"keep", 0, "N", DG_OPT_INT, AT(keep), 0, 1000000, "1", NULL, OTHER, T, SAVED,
     "number of older checkpoints to keep", "dcgan always keeps the newest checkpoint and the best checkpoint."},
    {"grid", 0, "RxC", DG_OPT_GRID, AT(grid_rows), 1, 64, "8x8", NULL, OTHER, T, SAVED,
     "number of rows and columns of the grids of samples",
     "Each cell of the grid is generated from the same latent vector in every epoch."},
    {"no-curves", 0, NULL, DG_OPT_FLAG, AT(no_curves), NO_RANGE, "no", NULL, OTHER, T, SAVED,
     "no effect; accepted because config.ini of older runs has it",
     "Older versions drew the curves of report.html also in curves.png."},
    {"no-report", 0, NULL, DG_OPT_FLAG, AT(no_report), NO_RANGE, "no", NULL, OTHER, T, SAVED | IF_SET,
     "do not write report.html", "After the run, `dcgan report` can write report.html."},
    {"tensorboard", 0, NULL, DG_OPT_FLAG, AT(tensorboard), NO_RANGE, "no", NULL, OTHER, T, SAVED | IF_SET,
     "also write the log and the grids to a TensorBoard file",
     "The TensorBoard file is events.out.tfevents.run in the run directory."},
    {"preview", 0, "[MODE]", DG_OPT_CHOICE, AT(preview), NO_RANGE, "no", "no|yes|blocks|sixel|kitty", OTHER, T, 0,
     "newest grid, shown in the terminal",
     "The grid is drawn by half-block characters in 24-bit colour. yes, or no value: only if stderr is a terminal. "
     "blocks: always. sixel and kitty, which older versions had, mean blocks."},
    {"eval-every", 0, "N", DG_OPT_INT, AT(eval_every), 0, 1000000, "0", NULL, OTHER, T, SAVED | IF_SET,
     "epochs between evaluations; 0 = never",
     "Like dcgan eval, an evaluation during training compares up to 1,000 samples with as many real images, and logs "
     "the metrics. The last epoch is evaluated, too. dcgan keeps the checkpoint with the smallest Frechet distance as "
     "checkpoint-best.safetensors."},
    {"stop-on-collapse", 0, NULL, DG_OPT_FLAG, AT(stop_on_collapse), NO_RANGE, "no", NULL, OTHER, T, SAVED,
     "stop with exit code 8 when samples collapse or losses diverge",
     "Before --stop-on-collapse ends a run, dcgan saves a checkpoint. The page docs/guide/doctor.md defines when "
     "samples collapse and when losses diverge."},
    {"onnx", 0, "[FILE]", DG_OPT_TEXT, AT(onnx), NO_RANGE, NULL, NULL, OTHER, X, 0,
     "write an ONNX file: FILE, or that of --out",
     "The exported network is in evaluation mode and accepts any batch size."},
    {"c", 0, "[FILE]", DG_OPT_TEXT, AT(c), NO_RANGE, NULL, NULL, OTHER, X, ARGV,
     "write the generator as a C file without dependencies: FILE, or that of --out",
     "The C file is a program that writes the sample of a seed, and compiles as C99, C11 and C++."},
    {"html", 0, "[FILE]", DG_OPT_TEXT, AT(html), NO_RANGE, NULL, NULL, OTHER, X, ARGV,
     "write the generator as an HTML page for browsers: FILE, or that of --out",
     "The page works offline and on phones. It has samples, walks between two seeds, principal directions, classes "
     "and PNG files."},
    {"weights", 0, "TYPE", DG_OPT_CHOICE, AT(weights), NO_RANGE, "auto", "auto|fp32|fp16|int8", OTHER, X, ARGV,
     "type of the weights, for --html and --c",
     "auto is fp16 for --html and fp32 for --c. Files with fp16 and int8 weights have half and a quarter of the size. "
     "dcgan prints how much samples differ from those of fp32 weights, in grey levels."},
    {"network", 0, "NAME", DG_OPT_TEXT, AT(network), NO_RANGE, NULL, NULL, OTHER, X, 0, "network to export: G or D",
     "By default, dcgan exports the generator of a GAN, or the classifier."},
    {"json", 0, NULL, DG_OPT_FLAG, AT(json), NO_RANGE, "no", NULL, OTHER, D | P | N | R | B | Q | F | K | E | O | Z, 0,
     "print results as JSON", "The page docs/formats.md describes the JSON output of batch, doctor, eval and find."},
    {"force", 0, NULL, DG_OPT_FLAG, AT(force), NO_RANGE, "no", NULL, OTHER,
     T | G | I | Z | K | E | D | N | C | U | X | M | W, ARGV,
     "also replace input files and files that dcgan did not make",
     "With --force, dcgan eval accepts samples of several checkpoints. dcgan never replaces a run directory."},
    {"quiet", 'q', NULL, DG_OPT_FLAG, AT(quiet), NO_RANGE, "no", NULL, OTHER, EVERY, 0, "print no progress",
     "With --quiet, dcgan still prints warnings and errors to standard error."},
    {"count", 'n', "N", DG_OPT_INT, AT(count), 1, 1000000, NULL, NULL, SAMPLES, G | D | E | Z, 0, "number of images",
     "The default of --count is 16 for the command generate, 1000 for --synthesize, and half of the real images, at "
     "most 5000, for the command eval. The command find uses N images, chosen by --seed, and N of --held-out; the "
     "default is all images, or at most 200 with --held-out."},
    {"seeds", 0, "A-B", DG_OPT_SEEDS, AT(seed_first), 0, 9007199254740991.0, NULL, NULL, SAMPLES, G | I, 0,
     "range of seeds, one image per seed",
     "By default, the command generate starts at seed 0, and the command interpolate uses the seeds 1-5."},
    {"class", 0, "NAME,...", DG_OPT_TEXT, AT(class_names), NO_RANGE, NULL, NULL, SAMPLES, G | I, ARGV,
     "class of the samples of a conditional GAN; all = as in the dataset",
     "NAME is the name of a class, or its number from 0 on. With several classes, the samples have these classes in "
     "turn. dcgan interpolate with several classes leads each latent vector from class to class."},
    {"by-class", 0, NULL, DG_OPT_FLAG, AT(by_class), NO_RANGE, "no", NULL, SAMPLES, G, ARGV,
     "write one sample per seed and class, with a folder per class",
     "The classes are those of --class, or all classes. The grid has a row per class; each column has one latent "
     "vector."},
    {"write-z", 0, "FILE", DG_OPT_TEXT, AT(write_z), NO_RANGE, NULL, NULL, SAMPLES, G, OUTPUT,
     "file for the latent vectors, for PyTorch and ONNX",
     "FILE is a safetensors file with the tensor z of shape (N, latent, 1, 1) and, for a conditional GAN, the tensor "
     "class of shape (N)."},
    {"read-z", 0, "FILE", DG_OPT_TEXT, AT(read_z), NO_RANGE, NULL, NULL, SAMPLES, G | I, ARGV,
     "file with the latent vectors, instead of seeds",
     "FILE is a safetensors file with the tensor z of shape (N, latent, 1, 1) or (N, latent), for example from "
     "--write-z."},
    {"z", 0, "SUM", DG_OPT_TEXT, AT(z), NO_RANGE, NULL, NULL, SAMPLES, G, ARGV,
     "latent vector as a sum over seeds, for example \"7 + 0.5*(3 - 12)\"",
     "A whole number is the latent vector of this seed, unless it multiplies or divides a latent vector. A sum of "
     "several seeds is scaled to the norm of a normally distributed vector."},
    {"truncation", 0, "X", DG_OPT_REAL, AT(truncation), 0, 1, "1", NULL, SAMPLES, G | I, ABOVE,
     "factor of the latent vectors; below 1: less varied images",
     "The latent vectors of seeds, of --z and of --read-z are multiplied by X."},
    {"direction", 0, "A-B", DG_OPT_SEEDS, AT(direction_first), 1, 4096, NULL, NULL, SAMPLES, I, ARGV,
     "interpolate along principal directions A to B, from seed 1",
     "The principal directions are the latent directions that change the output of the generator's first layer most, "
     "in decreasing order. The strip has a row per seed and direction."},
    {"starts", 0, "N", DG_OPT_INT, AT(starts), 1, 64, "4", NULL, SAMPLES, Z, 0,
     "number of starts of the search per image",
     "The search begins at the latent vectors of the N samples nearest to the image, out of 1,024, and keeps the best "
     "result."},
    {"features", 0, "X", DG_OPT_REAL, AT(features), 0, 1e6, "1", NULL, SAMPLES, Z, 0,
     "weight of the discriminator's layers; 0 = compare pixels only",
     "The search compares pixels and the outputs of the inner layers of the discriminator. A file without a "
     "discriminator allows only pixels."},
    {"held-out", 0, "DIR", DG_OPT_TEXT, AT(held_out), NO_RANGE, NULL, NULL, SAMPLES, Z, 0,
     "real images that the generator was not trained on, for a memorisation test",
     "With --held-out, the other images must be training images. The command find then prints the share of training "
     "images that are found better than the best 5% of held-out images."},
    {"frames", 0, "N", DG_OPT_INT, AT(steps_between), 1, 1000, "16", NULL, SAMPLES, I, 0,
     "number of frames between two images of a walk",
     "The GIF of an interpolation has every frame; the strip has only some frames."},
    {"walks", 0, "N", DG_OPT_INT, AT(walks), 1, 64, "1", NULL, SAMPLES, I, 0, "number of interpolations in the GIF",
     "The first interpolation uses the seeds of --seeds, the second uses as many of the next seeds, and so on."},
    {"scale", 0, "N", DG_OPT_INT, AT(scale), 0, 32, "0", NULL, SAMPLES, G | I | Z | W, 0,
     "magnification of grid, strip or GIF; 0 = to about 800 pixels",
     "dcgan magnifies an image by repeating its pixels, without smoothing. The option --scale does not apply to single "
     "images and to the grids of a training run."},
    {"raw", 0, "PIPE", DG_OPT_TEXT, AT(raw), NO_RANGE, NULL, NULL, SAMPLES, G | I, ARGV | OUTPUT,
     "pipe for the images, instead of files; - = standard output",
     "With --raw, dcgan writes the images of generate or the frames of walk.gif to a pipe and no files. The option "
     "--raw-format sets the format."},
    {"raw-format", 0, "NAME", DG_OPT_CHOICE, AT(raw_format), NO_RANGE, "y4m", "y4m|rgb", SAMPLES, G | I, ARGV,
     "format of --raw",
     "y4m: YUV4MPEG2 with a header, 4:4:4, BT.601, which ffmpeg reads. rgb: three bytes per pixel without a header."},
    {"gif", 0, "FILE", DG_OPT_TEXT, AT(gif), NO_RANGE, NULL, NULL, SAMPLES, W, ARGV | OUTPUT,
     "file for a GIF of the grids of a run",
     "The frames of the GIF show the grids from the first epoch to the newest."},
    {"synthesize", 0, NULL, DG_OPT_FLAG, AT(synthesize), NO_RANGE, "no", NULL, SAMPLES, D, ARGV,
     "draw cat faces into DIR instead of reading it", "With --classes, dcgan draws shapes instead of cat faces."},
    {"classes", 0, "N", DG_OPT_INT, AT(classes), 0, 10, "0", NULL, SAMPLES, D, 0,
     "with --synthesize: kinds of shapes, 2 to 10, or 0 for cats",
     "dcgan draws each kind of shape into a folder of its own."},
    {"sheet", 0, "FILE", DG_OPT_TEXT, AT(sheet), NO_RANGE, NULL, NULL, SAMPLES, D | K, OUTPUT,
     "file for a contact sheet of the given images, as the network sees them",
     "The contact sheet of dcgan classify also shows the predicted class of each image."},
    {"write", 0, "OUT", DG_OPT_TEXT, AT(write), NO_RANGE, NULL, NULL, SAMPLES, D, ARGV | OUTPUT,
     "folder for the images as the network sees them, as PNG",
     "dcgan writes the resized images into OUT, in one folder per class if the dataset has classes. If the dataset has "
     "test images, OUT has the folders train/ and test/. Other programs can compare these images with samples."},
    {"aug-preview", 0, "FILE", DG_OPT_TEXT, AT(aug_preview), NO_RANGE, NULL, NULL, SAMPLES, D, OUTPUT,
     "file for a preview of --augment",
     "The preview shows eight images, and below each image its augmented versions in seven training steps."},
    {"top", 0, "N", DG_OPT_INT, AT(top), 1, 16384, "1", NULL, SAMPLES, K, 0, "number of classes printed per image",
     "The classes of an image are printed in order of decreasing probability."},
    {"classifier", 0, "RUN|FILE", DG_OPT_TEXT, AT(classifier), NO_RANGE, NULL, NULL, SAMPLES, E, 0,
     "trained classifier, for metrics by class",
     "The classifier must have been trained on images like those of --data. The metrics by class are the class "
     "distribution of the samples and the Frechet distance of the classifier's features."},
    {"two-sample", 0, NULL, DG_OPT_FLAG, AT(two_sample), NO_RANGE, "no", NULL, SAMPLES, E, 0,
     "train a classifier to separate samples from real images",
     "dcgan trains this classifier on half of the images and prints its accuracy on the other half."},
    {"inception", 0, "FILE", DG_OPT_TEXT, AT(inception), NO_RANGE, NULL, NULL, SAMPLES, E | T, SAVED | IF_SET,
     "Inception weights, for FID and KID",
     "The file is pytorch-fid's pt_inception-2015-12-05-6726825d.pth, or its conversion by dcgan import. With other "
     "weights, the distance is not called FID. During training, --inception needs --eval-every."},
    {"inception-resize", 0, "NAME", DG_OPT_CHOICE, AT(inception_resize), NO_RANGE, "pytorch-fid",
     "pytorch-fid|clean-fid", SAMPLES, E | T, SAVED | IF_SET, "image resizing for FID",
     "Images are resized to 299 x 299 pixels. pytorch-fid: bilinear without antialiasing. clean-fid: bicubic with "
     "antialiasing."},
    {"inception-count", 0, "N", DG_OPT_INT, AT(inception_count), 4, 1000000, NULL, NULL, SAMPLES, E, 0,
     "maximum number of samples, and of real images, for FID and KID",
     "By default, all images are compared. A generator makes as many samples as there are real images, at most "
     "50,000."},
    {"moments", 0, "FILE", DG_OPT_TEXT, AT(moments), NO_RANGE, NULL, NULL, SAMPLES, E | T, SAVED | IF_SET | OUTPUT,
     "file of the real images' Inception moments (.npz): read, or else written",
     "If FILE exists, the command reads the mean and covariance from it instead of computing the features of the real "
     "images; then there is no KID. pytorch-fid reads and writes such files, too."},
    {"repeats", 0, "N", DG_OPT_INT, AT(repeats), 1, 100000, "10", NULL, MEASURES, B | Q | U, 0,
     "number of repetitions of each measurement", "More repetitions reduce the noise of a measurement."},
    {"seconds", 0, "S", DG_OPT_REAL, AT(seconds), 0, 1e6, "0", NULL, MEASURES, U | N | T, 0,
     "time limit in seconds; 0 = depends on the command",
     "By default, dcgan tune has no time limit and times every kernel variant. With a time limit, dcgan tune gives "
     "expensive ops more of the time. The batch-size search of dcgan batch and of --batch auto takes 60 s by default, "
     "or 20 s if training steps are short. With --sweep, the default of --seconds is 2 s per batch size."},
    {"min-batch", 0, "N", DG_OPT_INT, AT(min_batch), 0, 65536, "0", NULL, MEASURES, N | T, 0,
     "smallest batch size to try; 0 = 8, or 32 if --rule is given", "dcgan batch and --batch auto use --min-batch."},
    {"max-batch", 0, "N", DG_OPT_INT, AT(max_batch), 1, 65536, "65536", NULL, MEASURES, N | T, 0,
     "largest batch size to try",
     "dcgan batch and --batch auto use --max-batch. dcgan skips batch sizes that do not fit into memory."},
    {"within", 0, "X", DG_OPT_REAL, AT(within), 0, 100, "3", NULL, MEASURES, N | T, BELOW,
     "loss of throughput that the choice may cause, in percent",
     "dcgan batch and --batch auto use --within. dcgan chooses the smallest batch size whose measured throughput is at "
     "most X / 4 percent below the best; the rest of X is a margin for measurement errors."},
    {"min-steps", 0, "N", DG_OPT_INT, AT(min_steps), 1, 1000000000, "32", NULL, MEASURES, N | T, 0,
     "minimum number of steps per epoch",
     "dcgan batch and --batch auto use --min-steps. A larger batch size makes fewer weight updates per epoch."},
    {"rule", 0, "NAME", DG_OPT_CHOICE, AT(rule), NO_RANGE, "none", "none|usage|epoch-time|energy", MEASURES, N, 0,
     "rule for the batch size",
     "The rules usage and epoch-time are from Serizawa and Tatebe (2019). usage: search the smallest batch size that "
     "uses the device fully. epoch-time: grow the batch size until the time of an epoch hardly changes. energy: the "
     "batch size with the least energy per image, by the counters of CPUs (RAPL) or of the GPU (NVML)."},
    {"sweep", 0, "A-B:STEP", DG_OPT_TEXT, AT(sweep), NO_RANGE, NULL, NULL, MEASURES, N, 0,
     "range of batch sizes to time, for example 10-500:10",
     "With --sweep, dcgan batch prints times and chooses no batch size. Without STEP, the batch sizes after A are the "
     "powers of two, and 1.5 times these powers, up to B."},
    {"merge", 0, NULL, DG_OPT_FLAG, AT(merge), NO_RANGE, "no", NULL, MEASURES, U, ARGV, "merge tuning files",
     "If two rows of the tuning files have the same op and shape, dcgan keeps the faster row."},
    {"predict", 0, "GPU", DG_OPT_TEXT, AT(predict), NO_RANGE, NULL, NULL, MEASURES, Q, ARGV,
     "GPU whose times are predicted, for example h200",
     "With --predict, dcgan measures nothing. --predict also accepts a100 and rtx4090."},
    {"in-graph", 0, NULL, DG_OPT_FLAG, AT(in_graph), NO_RANGE, "no", NULL, MEASURES, Q, ARGV,
     "also time each launch of a GPU within a CUDA graph",
     "dcgan times CUDA graphs of the first 1, 2, ... launches of a step. The differences of these times are the costs "
     "of the launches where they run in training, and add up to the time of the step."},
    {"arch", 0, "GPU", DG_OPT_TEXT, AT(arch), NO_RANGE, NULL, NULL, MEASURES, P, ARGV,
     "GPU to plan for, for example sm_90 or h200",
     "With --arch, dcgan plans for a GPU that this machine may not have."},
    {"fit", 0, NULL, DG_OPT_FLAG, AT(largest), NO_RANGE, "no", NULL, MEASURES, P, ARGV,
     "print the largest batch size that fits, and nothing else",
     "The memory is that of the GPU that --arch names, or without --arch that of --device."},
    {"tol", 0, "X", DG_OPT_REAL, AT(tol), 0, 1e9, NULL, NULL, MEASURES, R, ABOVE,
     "largest relative difference that passes",
     "The default tolerance is 1e-9 with fp64, 1e-3 with fp32, 0.5 with fp16 and 1 with bf16."},
    {"alone", 0, NULL, DG_OPT_FLAG, AT(alone), NO_RANGE, "no", NULL, MACHINE, T, ARGV,
     "train alone, although a launcher started several processes",
     "Without --alone, the processes that mpirun or srun starts train one network together."},
    {"group-timeout", 0, "SECONDS", DG_OPT_INT, AT(group_timeout), 1, 1000000, "300", NULL, MACHINE, T, ARGV,
     "time without a message after which the processes end",
     "Used only if several processes train together. The time in which rank 0 loads images, evaluates or writes files "
     "does not count."},
    {"device", 0, "NAME", DG_OPT_TEXT, AT(device), NO_RANGE, "auto", NULL, MACHINE,
     T | G | I | Z | K | E | P | N | R | B | Q | U | C | V, SAVED, "device: auto, cpu, cuda or cuda:N",
     "auto: a GPU that dcgan supports, otherwise the CPU."},
    {"list-devices", 0, NULL, DG_OPT_FLAG, AT(list_devices), NO_RANGE, "no", NULL, MACHINE,
     T | G | I | Z | K | E | P | N | R | B | Q | U | C | V, ARGV, "list the devices of this machine, then exit",
     "Each printed line has a device name that --device accepts."},
    {"tuning", 0, "FILE", DG_OPT_TEXT, AT(tuning), NO_RANGE, NULL, NULL, MACHINE,
     T | G | I | Z | K | E | P | N | R | B | Q | U | C | V, SAVED,
     "tuning file: variants and parameters of CUDA operations",
     "dcgan tune writes tuning files. A tuning file overrides the built-in tuning tables."},
    {"fuse", 0, "LIST", DG_OPT_TEXT, AT(fuse), NO_RANGE, "all", NULL, MACHINE,
     T | G | I | Z | K | E | P | N | R | B | Q | C, SAVED, "fused CUDA kernels: all, none, a list, or all but -NAME",
     "LIST has names of fusions, separated by commas; -NAME turns off the fusion NAME. The sums of a fused kernel are "
     "rounded differently than the sums of single ops."},
    {"no-graph", 0, NULL, DG_OPT_FLAG, AT(no_graph), NO_RANGE, "no", NULL, MACHINE,
     T | G | I | Z | K | E | N | R | B | Q | V, 0, "launch CUDA operations one by one",
     "With --no-graph, an error message names the op that failed. Without a CUDA graph, kernel launches are slower; "
     "the results have the same bits."},
    {"image-memory", 0, "MB", DG_OPT_REAL, AT(image_memory), 0, 1e9, "0", NULL, MACHINE, T | D | V, SAVED,
     "limit of host memory for images in MB; 0 = half of what is free",
     "Images that need more memory stay in a file and are read during training: in the file of --cache, or in a "
     "temporary file in TMPDIR (default /var/tmp). The weights do not depend on it. On a CPU, a run trains on a copy "
     "of "
     "the dataset, which --device-memory limits."},
    {"device-memory", 0, "MB", DG_OPT_REAL, AT(device_memory), 0, 1e9, "0", NULL, MACHINE, T | P | N | V, SAVED,
     "limit of device memory for training in MB; 0 = no limit",
     "If the dataset does not fit into the memory that --device-memory allows, dcgan streams it from the host."},
    {"precision", 0, "TYPE", DG_OPT_CHOICE, AT(precision), NO_RANGE, "auto", "auto|fp32|fp64|bf16|fp16", MACHINE,
     T | G | I | Z | K | E | P | N | R | B | Q | U | C, RESULT | FIXED, "precision",
     "With bf16 and fp16, dcgan computes in fp32, and rounds the operands of convolutions for tensor cores. bf16 "
     "requires sm_80 or newer; fp16 also runs on sm_75 and scales gradients. auto: bf16 on sm_80 and newer, otherwise "
     "fp32. The default precision of the commands check and replay is fp32. The default precision of the commands "
     "generate, interpolate, find, classify and eval is that of training, if the device supports it."},
    {"conv", 0, "NAME", DG_OPT_CHOICE, AT(conv), NO_RANGE, "auto", "auto|direct|winograd|gemm", MACHINE,
     T | G | I | Z | K | E | P | N | R | B | Q | C, RESULT | FIXED, "CPU algorithm of convolutions",
     "winograd: minimal filtering, for kernels twice as wide as the stride, and for 3x3 kernels with stride 1. gemm: "
     "matrix products, for dense layers and 1x1 kernels. auto: the fastest algorithm for each layer."},
    {"threads", 't', "N", DG_OPT_INT, AT(threads), 0, 1024, "0", NULL, MACHINE,
     T | G | I | Z | K | E | D | P | N | R | B | Q | C | V, SAVED,
     "number of CPU threads; 0 = OMP_NUM_THREADS, or every core",
     "The results of dcgan do not depend on the number of threads."},
    {0},
};
_Static_assert(sizeof dg_option_table / sizeof *dg_option_table <= DG_OPTIONS_MAX, "more options than DG_OPTIONS_MAX");

// clang-format off
const dg_command_info dg_commands[DG_CMDS] = {
    [DG_CMD_TRAIN] = {"train", "", 0, 0, "train a GAN or a classifier (the default command)",
        "The command train writes its results to a run directory. Runs with the same seed give the same bits, for any "
        "number of threads and after any interruption. A model file with layers [C.1], [C.2] and so on describes a "
        "classifier; each folder of the dataset is a class.",
        {"dcgan --data cats/ --epochs 300 :: train a GAN; results in samples/cats-dcgan64-paper/",
         "dcgan --resume --out samples/cats-dcgan64-paper --epochs 400 :: resume the run and train up to epoch 400",
         "dcgan --data kittens/ --init samples/cats-dcgan64-paper :: start a new run from the weights of a run",
         "dcgan --data digits/ --model cnn-mnist --test 0.1 :: train a classifier, one class per folder",
         "dcgan --data digits/ --size 28 --channels 1 --dry-run :: print time and memory of the run"}},
    [DG_CMD_GENERATE] = {"generate", "RUN|CHECKPOINT", 1, 1, "generate images with a trained generator",
        "For a run directory, the command generate uses the newest checkpoint of the run. The command generate writes "
        "one PNG file per seed, and a grid of all images.",
        {"dcgan generate samples/cats-dcgan64-paper -n 64 --out images/ :: write 64 images and a grid",
         "dcgan generate run/checkpoint-0200.safetensors --seeds 7-9 --out images/ :: images of seeds 7 to 9",
         "dcgan generate samples/cats-dcgan64-paper --z \"7 + 0.5*(3 - 12)\" --out images/ :: "
         "latent arithmetic over seeds",
         "dcgan generate samples/pets-dcgan32 --class cat -n 64 --out images/ :: images of a class"}},
    [DG_CMD_INTERPOLATE] = {"interpolate", "RUN|CHECKPOINT", 1, 1, "interpolate between samples: a strip and a GIF",
        "The latent vectors between two seeds follow a great circle.",
        {"dcgan interpolate samples/cats-dcgan64-paper --seeds 1-5 --out walk/",
         "dcgan interpolate samples/cats-dcgan64-paper --raw - | ffmpeg -v error -i - -y walk.mp4",
         "dcgan interpolate samples/cats-dcgan64-paper --direction 1-6 :: a strip per principal direction"}},
    [DG_CMD_FIND] = {"find", "RUN|CHECKPOINT IMAGES...", 2, 1000, "find the latent vectors of images",
        "The command find writes the latent vectors, the images that the generator makes from them, and a grid, and "
        "prints the mean difference of each image in grey levels.",
        {"dcgan find samples/cats-dcgan64-paper cat.png --fit crop --out found/ :: "
         "found/latents.safetensors, found/grid.png",
         "dcgan interpolate samples/cats-dcgan64-paper --read-z found/latents.safetensors",
         "dcgan find samples/cats-dcgan64-paper cats/ --held-out other-cats/ --fit crop :: test for memorisation"}},
    [DG_CMD_CLASSIFY] = {"classify", "RUN|CHECKPOINT IMAGES...", 2, 1000, "classify images with a trained classifier",
        "For each image, the command classify prints the path, the most likely class and the probability of this "
        "class.",
        {"dcgan classify samples/digits-cnn-mnist scans/ --sheet scans.png :: draw a contact sheet",
         "dcgan classify run/best.safetensors a.png b.png --top 3 --json"}},
    [DG_CMD_EVAL] = {"eval", "RUN|CHECKPOINT|IMAGES", 1, 1, "evaluate samples against real images",
        "The command eval prints the sliced Wasserstein distance, the Frechet distance, recall, coverage, and the "
        "distance to the nearest real image. For each metric, it also prints the real-vs-real baseline: the value "
        "between two sets of real images.",
        {"dcgan eval samples/cats-dcgan64-paper --data cats/ :: print metrics and their baselines",
         "dcgan eval samples/digits-gan --data digits/ --classifier runs/eyes :: print metrics by class",
         "dcgan eval samples/cats-dcgan64-paper --data cats/ --two-sample :: print metrics and a two-sample test",
         "dcgan eval others/ --data cats/ --model dcgan64 :: evaluate a folder of 64 x 64 samples"}},
    [DG_CMD_DATA] = {"data", "DIR", 0, 1, "check a dataset, or draw one with --synthesize",
        "The command data prints the number of images, image sizes, unreadable files, duplicates and advice.",
        {"dcgan data cats/ --sheet cats.png :: draw a contact sheet",
         "dcgan data cats/ --size 64 --write real/ :: write the images as a network of 64 x 64 pixels sees them",
         "dcgan data --synthesize toy/ --count 1000 :: draw 1,000 cat faces",
         "dcgan data --synthesize shapes/ --classes 10 --size 32 :: draw ten classes of 100 images"}},
    [DG_CMD_PLAN] = {"plan", "[MODEL]", 0, 1, "print every op of a network with shapes, bytes and FLOPs",
        "For a GPU, the command plan also prints how each op is launched, and why.",
        {"dcgan plan dcgan64 --batch 128",
         "dcgan plan dcgan64 --device cuda :: print launches on the GPU of this machine",
         "dcgan plan dcgan64 --arch sm_80 --tuning a.tune :: print launches on another GPU",
         "dcgan plan dcgan128 --fit --arch rtx4090 :: print the largest batch size that fits this GPU"}},
    [DG_CMD_BATCH] = {"batch", "[MODEL]", 0, 1, "find the fastest batch size for a network and a dataset",
        "The command batch prints a table of timed batch sizes, the chosen batch size, and the reason for the choice.",
        {"dcgan batch dcgan64-paper --data cats/ :: time batch sizes and choose one",
         "dcgan batch dcgan64-paper --data cats/ --rule epoch-time :: choose the batch size by a published rule",
         "dcgan batch dcgan64-paper --data cats/ --sweep 10-500:10 :: time a range of batch sizes"}},
    [DG_CMD_REPLAY] = {"replay", "FILE", 1, 1, "repeat a recorded PyTorch run and compare the results",
        "The command replay prints the largest relative difference of each tensor and fails if one is above --tol.",
        {"dcgan replay tests/golden/oracle16.safetensors --precision fp64 --tol 1e-9"}},
    [DG_CMD_CHECK] = {"check", "[MODEL]", 0, 1, "compare a training step on two backends (CPU, GPU), op by op",
        "The command check stops at the first op whose results differ by more than rounding errors.",
        {"dcgan check dcgan64-paper --device cuda :: compare the GPU with the CPU",
         "dcgan check dcgan32 --device cpu --batch 9 :: compare fast and reference CPU kernels"}},
    [DG_CMD_BENCH] = {"bench", "[MODEL...]", 0, 16, "measure the speed of this machine and of training steps",
        "The command bench prints the peak FLOP/s and the memory bandwidth of the machine, and the step time and "
        "throughput of each model.",
        {"dcgan bench dcgan64-paper --batch 64"}},
    [DG_CMD_PROFILE] = {"profile", "[MODEL]", 0, 1, "time every op of a training step",
        "The command profile prints the measured time of each op and the time that the cost model predicts.",
        {"dcgan profile dcgan64-paper --batch 64",
         "dcgan profile dcgan64 --batch 128 --predict h200 :: predict the times of kernels on a GPU"}},
    [DG_CMD_TUNE] = {"tune", "[MODEL]", 0, 16, "find the fastest kernel variant of each op on this GPU",
        "The command tune writes a tuning file, which the option --tuning reads.",
        {"dcgan tune dcgan64-paper --batch 64 --out my.tune :: find the fastest variants for --tuning my.tune",
         "dcgan tune dcgan64 --batch 128 --seconds 120 --out my.tune :: tune for two minutes, expensive ops first",
         "dcgan tune --merge a.tune b.tune --out both.tune"}},
    [DG_CMD_INFO] = {"info", "RUN|FILE", 1, 1, "describe a run or a file of dcgan",
        "The command info accepts run directories, checkpoints, images, networks, caches, logs, model files and tuning "
        "files.",
        {"dcgan info samples/cats-dcgan64-paper", "dcgan info images/grid.png"}},
    [DG_CMD_EXPORT] = {"export", "RUN|CHECKPOINT [OUT]", 1, 2, "export a network to PyTorch, ONNX, C or a browser",
        "By default, the command export writes the generator of a GAN, or the classifier. The tensors in an exported "
        "safetensors file have PyTorch's names.",
        {"dcgan export samples/cats-dcgan64-paper --out generator.safetensors",
         "dcgan export samples/cats-dcgan64-paper --onnx generator.onnx",
         "dcgan export samples/cats-dcgan64-paper --html cats.html :: a page that makes samples in a browser",
         "dcgan export samples/cats-dcgan64-paper --c cats.c :: a C program that makes samples",
         "dcgan export run/best.safetensors --out digits.safetensors"}},
    [DG_CMD_IMPORT] = {"import", "WEIGHTS [OUT]", 1, 2, "import weights of dcgan or PyTorch into a checkpoint",
        "Without --model, the command import derives the model from the weights.",
        {"dcgan import generator.safetensors --model dcgan64 --out new.safetensors"}},
    [DG_CMD_REPORT] = {"report", "RUN|LOG...", 1, 7, "write the report of one or more runs as an HTML page",
        "The report is a single HTML file for a browser. The report of a log file without a run directory, such as a "
        "copy of log.csv, requires --out.",
        {"dcgan report samples/cats-dcgan64-paper :: write report.html again",
         "dcgan report samples/cats-dcgan64-paper --gif cats.gif :: write a GIF of the grids",
         "dcgan report samples/cats-a samples/cats-b --out compare.html :: compare two runs"}},
    [DG_CMD_DOCTOR] = {"doctor", "RUN|LOG", 1, 1, "diagnose the training of a GAN",
        "The command doctor prints which training problems occurred, when they occurred, and what to try.",
        {"dcgan doctor samples/cats-dcgan64-paper :: diagnose the log and the grids"}},
    [DG_CMD_VERIFY] = {"verify", "RUN|CHECKPOINT", 1, 1, "repeat the training since an older checkpoint and compare",
        "The command verify shows that the newest checkpoint of a run follows from an older one, with the dataset, the "
        "settings, the program and the device of the run. All tensors must have the same bits. The older checkpoint is "
        "CHECKPOINT, or the newest one that --keep has kept. The run directory is not changed.",
        {"dcgan verify samples/cats-dcgan64-paper :: repeat the training since the older checkpoint",
         "dcgan verify run/checkpoint-0200.safetensors :: repeat all steps since epoch 200"}},
};
// clang-format on

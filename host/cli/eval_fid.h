/* FID and KID of `dcgan eval --inception`. */
#pragma once

#include "host/data/dataset.h"
#include "host/inception/fid.h"
#include "host/options/options.h"

typedef struct {
    dg_inception *net; /* NULL without --inception */
    dg_fid_set real, other;
    dg_fid value, least; /* least: real-vs-real baseline, of `half` images per set */
    int half;            /* 0: no baseline */
    bool from_file;      /* the moments of real images are those of --moments */
    dg_err unwritten;    /* error of writing --moments, after which eval prints its results */
} dg_eval_fid;

/* Open the network, and read --moments if the file exists. */
dg_err dg_eval_fid_open(const dg_options *o, dg_eval_fid *f);
void dg_eval_fid_close(dg_eval_fid *f);

/* Returns the number of samples of a generator, for a dataset of `reals` images. */
int dg_eval_fid_samples(const dg_options *o, const dg_eval_fid *f, int reals);

/* Compare `images` samples with the real images. Writes --moments if the file did not exist. */
dg_err dg_eval_fid_measure(const dg_options *o, const dg_dataset *reals, const uint8_t *samples, int images,
                           dg_progress *progress, dg_eval_fid *f);

/* Print lines of the table of metrics, and below the table what the lines compare. */
void dg_eval_fid_rows(const dg_eval_fid *f);
void dg_eval_fid_notes(const dg_options *o, const dg_eval_fid *f);
/* Print items of the list "metrics" after `n` others, and the object "inception". */
void dg_eval_fid_metrics(const dg_eval_fid *f, int n);
void dg_eval_fid_json(const dg_options *o, const dg_eval_fid *f);

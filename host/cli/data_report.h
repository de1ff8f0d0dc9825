/* What `dcgan data` prints. */
#ifndef DG_DATA_REPORT_H
#define DG_DATA_REPORT_H

#include "host/data/dataset.h"

/* Counts, histogram of sizes, skipped files with reasons, exact duplicates, and a
 * contact sheet PNG as the network sees the images (out may be NULL: no sheet). Result on stdout. classifier: the
 * model that would be trained, which tells so many classes apart, NULL: a GAN, which takes no labels; the fingerprint
 * and what is refused are those of its training. */
dg_err dg_data_report(const dg_dataset_options *o, const char *classifier, int classes, const char *sheet, bool json);

#endif
